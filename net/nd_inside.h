/* What net/nd.c (neighbours), net/nd_input.c (messages that come in) and net/nd_local.c (our own
 * addresses) have of each other. */
#ifndef NET_ND_INSIDE_H
#define NET_ND_INSIDE_H

#include "net/nd.h"
#include "net/nd_wire.h"

/* Nothing but the times of ports; addresses and groups are empty. */
void nd_local_init(struct nd *nd);

struct nd_local *nd_local_find(struct nd *nd, unsigned port, const struct net_addr *addr);

/* Is addr one that a neighbour on the port may have: unicast, link-local or on a subnet of ours
 * there, and neither ours nor the anycast address of its routers. */
bool nd_is_on_link(const struct nd *nd, unsigned port, const struct net_addr *addr);

/* Is there an address on the port that may become VALID yet? */
bool nd_local_is_pending(const struct nd *nd, unsigned port);

/* A solicitation for a TENTATIVE address of ours, from the unspecified address: by its nonce our
 * own, or another station's that wants the same. */
void nd_local_probed(struct nd *nd, struct nd_local *l, const uint8_t *nonce, const uint8_t *mac);

/* A TENTATIVE address of ours is another's. l is not valid afterwards. */
void nd_local_duplicate(struct nd *nd, struct nd_local *l, const uint8_t *mac);

/* Does what is due with our addresses; when it is needed next. */
void nd_local_tick(struct nd *nd, uint64_t now_ns);
uint64_t nd_local_deadline(const struct nd *nd);

/* Is its MAC in use, or was and may be again? */
bool nd_neigh_is_cached(const struct neigh *n);

/* Neighbour i answered: two-way reachability is proved (RFC 4861 7.3.1). */
void nd_neigh_confirmed(struct nd *nd, uint32_t i, const uint8_t *mac, uint64_t now_ns);

/* Its MAC is known, and nothing more. What waits is sent, and so begins the time of DELAY. */
void nd_neigh_unconfirmed(struct nd *nd, uint32_t i, const uint8_t *mac, uint64_t now_ns);

/* IsRouter (RFC 4861 7.2.5): who chooses among routers has to know when one is none any more. */
void nd_neigh_set_router(struct nd *nd, uint32_t i, bool router);

/* Sends a solicitation for target. nonce NULL: none, and our MAC is told unless src is any. */
struct nd_solicit {
	struct nd_envelope to;
	struct net_addr target;
	const uint8_t *nonce;
};
void nd_send_solicit(struct nd *nd, unsigned port, const struct nd_solicit *s);

/* Sends an advertisement of an address of ours; dst_mac NULL: dst is a group. */
void nd_send_advert(struct nd *nd, const struct nd_local *l, const struct net_addr *dst,
                    const uint8_t *dst_mac, uint8_t flags);

#endif
