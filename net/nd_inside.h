/* Shared by net/nd.c (neighbours), net/nd_input.c (received messages) and net/nd_local.c (our own
 * addresses). */
#ifndef NET_ND_INSIDE_H
#define NET_ND_INSIDE_H

#include "net/nd.h"
#include "net/nd_wire.h"

/* Sets the times of interfaces; addresses and groups are empty. */
void nd_local_init(struct nd *nd);

struct nd_local *nd_local_find(struct nd *nd, unsigned interface, const struct net_addr *addr);

/* True if addr may be a neighbour on the interface: unicast, link-local or on a subnet of ours
 * there, and neither ours nor the subnet-router anycast address. */
bool nd_is_on_link(const struct nd *nd, unsigned interface, const struct net_addr *addr);

/* Is any address on the interface still TENTATIVE? */
bool nd_local_is_pending(const struct nd *nd, unsigned interface);

/* Handles a solicitation for a TENTATIVE address of ours, from the unspecified address. The nonce
 * tells whether it is our own or another station's that wants the same address. */
void nd_local_probed(struct nd *nd, struct nd_local *l, const uint8_t *nonce, const uint8_t *mac);

/* A TENTATIVE address of ours belongs to another station. l is invalid afterwards. */
void nd_local_duplicate(struct nd *nd, struct nd_local *l, const uint8_t *mac);

/* Does the work due for our addresses; returns when the next is due. */
void nd_local_tick(struct nd *nd, uint64_t now_ns);
uint64_t nd_local_deadline(const struct nd *nd);

/* Is the MAC in use, or kept for later use (STALE)? */
bool nd_neigh_is_cached(const struct neigh *n);

/* Neighbour i answered: two-way reachability is confirmed (RFC 4861 7.3.1). */
void nd_neigh_confirmed(struct nd *nd, uint32_t i, const uint8_t *mac, uint64_t now_ns);

/* Only the neighbour's MAC is known. Queued frames are sent, which starts DELAY. */
void nd_neigh_unconfirmed(struct nd *nd, uint32_t i, const uint8_t *mac, uint64_t now_ns);

/* Sets IsRouter (RFC 4861 7.2.5) and reports a change to users that choose among routers. */
void nd_neigh_set_router(struct nd *nd, uint32_t i, bool router);

/* Sends a solicitation for target. nonce NULL: none. It carries our MAC unless src is
 * unspecified. */
struct nd_solicit {
	struct nd_envelope to;
	struct net_addr target;
	const uint8_t *nonce;
};
void nd_send_solicit(struct nd *nd, unsigned interface, const struct nd_solicit *s);

/* Sends an advertisement for an address of ours; dst_mac NULL: dst is a group. */
void nd_send_advert(struct nd *nd, const struct nd_local *l, const struct net_addr *dst,
                    const uint8_t *dst_mac, uint8_t flags);

#endif
