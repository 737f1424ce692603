/*
 * VLANs on a data core (IEEE 802.1Q). The tag of a received frame selects its interface and is
 * removed. While the application handles a frame, it has no tag. The header of the output adjacency
 * includes the tag to send (dataplane/state.h).
 *
 * A tag with VID 0 holds only a priority (802.1Q 6.9.1): the frame belongs to the port's own
 * interface. Priorities are neither read nor kept (RFC 1812 5.3.3.1 is about IP precedence).
 *
 * Deliberately missing: provider tags (802.1ad, 0x88a8) and frames with two tags.
 */
#ifndef DATAPLANE_VLAN_H
#define DATAPLANE_VLAN_H

#include "dataplane/state.h"
#include "runtime/runtime.h"
#include "lib/mem.h"
#include "net/eth.h"

/* Moves the start of a frame by `bytes`, and adjusts the position of its partial checksum. */
static inline void vlan_move(struct pkt *p, int bytes)
{
	p->data += bytes;
	p->len = (uint16_t)(p->len - bytes);
	if (p->flags & PKT_CSUM_PARTIAL) {
		struct pkt_meta *m = pkt_meta(&self.pool, p->buf);
		/* untrusted: a position within the header stays there, and is rejected later */
		m->csum_start = bytes > m->csum_start ? 0 : (uint16_t)(m->csum_start - bytes);
	}
}

static inline bool vlan_is_tagged(const struct pkt *p)
{
	return p->len >= ETH_HLEN + ETH_TAG_LEN &&
	       raw16_load(p->data + 12) == BE16(ETH_TYPE_VLAN).raw;
}

/* Removes the tag that the frame has. */
static inline void vlan_pop(struct pkt *p)
{
	eth_untag(p->data);
	vlan_move(p, ETH_TAG_LEN);
}

#define VLAN_UNKNOWN 0xffu

/* The interface of a received tagged frame; VLAN_UNKNOWN: its port has no such VLAN. If p->interface
 * is not a port, there is a second tag, and the first was removed before. */
static inline unsigned vlan_interface(const struct pkt *p, const struct dp_state *v)
{
	const unsigned vid = be16_load(p->data + 14) & ETH_VID_MASK;
	unsigned interface = 0;
	if (vid == 0)
		return p->interface;
	if (p->interface < NIC_PORTS_MAX && vid <= ETH_VID_MAX)
		interface = v->vlan[p->interface][vid];
	return interface ? interface : VLAN_UNKNOWN;
}

/* Removes the tag of a received frame, if it has one, sets p->interface to that of its VLAN, and
 * counts the frame there. False: the port has no such VLAN; the frame has been dropped. */
static inline bool vlan_untag(struct pkt *p, const struct dp_state *v, struct dp_carried *carried)
{
	if (likely(!vlan_is_tagged(p)))
		return true;
	const unsigned interface = vlan_interface(p, v);
	if (interface == VLAN_UNKNOWN) {
		core_drop(p, CNT_drop_vlan_unknown);
		return false;
	}
	vlan_pop(p);
	if (interface != p->interface) {
		carried[interface].rx_pkts++;
		carried[interface].rx_bytes += p->len;
	}
	p->interface = (uint8_t)interface;
	return true;
}

/* Adds a tag to a frame that begins with a whole Ethernet header. There are BUF_DATA_OFFSET -
 * BUF_FRAME_LEAST bytes for it before a received frame, fewer if a program has used them: then the frame
 * moves. tci: priority and VLAN (802.1Q 9.6). False: there is no room for it, and nothing has changed. */
static inline bool vlan_tag(struct pkt *p, uint16_t tci)
{
	uint8_t *base = buf_base(&self.pool, p->buf), *least = base + BUF_FRAME_LEAST;
	const uint8_t *end = base + self.pool.stride;
	if (unlikely(p->data < least + ETH_TAG_LEN)) {
		if (end - (p->data + p->len) < ETH_TAG_LEN)
			return false;
		buf_extend(p->data + p->len, ETH_TAG_LEN);
		memmove(p->data + ETH_TAG_LEN, p->data, p->len);
		p->data += ETH_TAG_LEN;
	}
	memmove(p->data - ETH_TAG_LEN, p->data, 2 * ETH_ALEN);
	vlan_move(p, -ETH_TAG_LEN);
	be16_store(p->data + 12, ETH_TYPE_VLAN);
	be16_store(p->data + 14, tci);
	return true;
}

/* Writes the header of an adjacency of that interface to station `mac`. type: EtherType, host
 * order. */
static inline void vlan_adjacency(struct adj *a, const struct dp_interface *ifp, const uint8_t *mac,
                                  uint16_t type)
{
	eth_header_build(a->header, mac, ifp->mac, type);
	a->header_bytes = ETH_HLEN;
	if (ifp->vid) {
		eth_tag_build(a->header, ifp->vid);
		be16_store(a->header + ETH_HLEN + ETH_TAG_LEN - 2, type);
		a->header_bytes = ETH_HLEN + ETH_TAG_LEN;
	}
}

/* Writes the header of a VLAN's adjacency; the frame begins with it. */
static inline void vlan_header_copy(uint8_t *frame, const uint8_t *header)
{
	const uint64_t stations = raw64_load(header), tag = raw64_load(header + 8);
	const uint16_t type = raw16_load(header + 16);
	raw64_store(frame, stations);
	raw64_store(frame + 8, tag);
	raw16_store(frame + 16, type);
}

/* Writes the Ethernet header of a frame that leaves by that adjacency. Counts the frame if the
 * interface is a VLAN. */
static inline void vlan_header(struct pkt *p, const struct adj *a, struct dp_carried *carried)
{
	if (likely(a->header_bytes == ETH_HLEN)) {
		eth_header_copy(p->data, a->header);
		return;
	}
	carried[a->interface].tx_pkts++;
	carried[a->interface].tx_bytes += p->len;
	vlan_move(p, -ETH_TAG_LEN);
	vlan_header_copy(p->data, a->header);
}

#endif
