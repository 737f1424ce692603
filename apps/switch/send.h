/* Sending by ports of the switch, on a data core: with or without a tag, to one port or to several. */
#ifndef APPS_SWITCH_SEND_H
#define APPS_SWITCH_SEND_H

#include "apps/switch/shared.h"
#include "dataplane/vlan.h"

/* This core's own, for the present vector. */
struct switching {
	const struct dp_state *dp;
	const struct switch_shared *shared;
	const struct fdb *fdb; /* NULL: there was no memory for one; all frames are flooded */
	uint32_t forwarding, learning; /* ports, one bit each, in these states */
	uint32_t mirror_rx, mirror_tx; /* source ports of monitor sessions, one bit each */
	const struct dp_filter_set *lists; /* access lists; NULL: no interface has one */
};
extern struct switching switching;

/* Reads the states of the ports, which are mirrored, and which access lists are in use; to be called for each
 * vector. */
void send_look(void);

/* Bytes of the frame without its tag, if it has one. */
static inline unsigned send_len(const struct pkt *p, bool tagged)
{
	return p->len - (tagged ? (unsigned)ETH_TAG_LEN : 0);
}

/* Gives the frame the form in which a port sends it: adds a tag of VLAN vid, removes the one it has, or
 * leaves it. False: there is no room for a tag. */
static inline bool send_form(struct pkt *p, bool tagged, bool wanted, unsigned vid)
{
	if (likely(tagged == wanted))
		return true;
	if (wanted)
		return vlan_tag(p, (uint16_t)vid);
	vlan_pop(p);
	return true;
}

/*
 * Sends a frame by several ports, one bit each and at least one, or drops it. Its buffer is not copied for
 * them but shared (PKT_SHARED), unless some of them send it with a tag and others without: then there is
 * one copy. One of the packets sent is the received one, which has the fate; the others are our own.
 * Returns whether that one is on its way; otherwise its drop has been counted.
 */
bool send_flood(struct pkt *p, bool tagged, struct switch_vlan vlan, unsigned vid, uint32_t ports);

/* A frame of the machine's own, without a tag, for VLAN vid: to the port of its station, or flooded. */
void send_own(struct pkt *p, unsigned vid);

/* A copy of a frame in one piece; it is a packet of our own. False: there is no buffer, which is counted. */
bool send_copy_of(const struct pkt *p, struct pkt *copy);

#endif
