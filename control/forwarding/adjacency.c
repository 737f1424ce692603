/* See adjacency.h. */
#include "control/forwarding/fate.h"
#include "control/forwarding/adjacency.h"
#include "dataplane/vlan.h"

#include "lib/mem.h"
#include "net/ip4.h"

static void set_state(struct adj *a, enum adj_state state)
{
	__atomic_store_n(&a->state, state, __ATOMIC_RELEASE);
}

void adjacency_new(uint32_t nh, unsigned interface, uint64_t gateway)
{
	struct adj *a = adjacency_of(nh);
	a->port = dp_get()->interface[interface].port;
	a->interface = (uint8_t)interface;
	a->gateway = gateway;
	a->mtu = adjacency_is_six(nh) ? dp_get()->interface6[interface].mtu
	                              : dp_get()->interface[interface].mtu;
	set_state(a, ADJ_UNRESOLVED);
}

static void write_header(struct adj *a, uint32_t nh, const uint8_t *mac)
{
	vlan_adjacency(a, &dp_get()->interface[a->interface], mac,
	               adjacency_is_six(nh) ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
}

void adjacency_new_beside(uint32_t nh, uint32_t known)
{
	const struct adj *other = adjacency_of(known);
	adjacency_new(nh, other->interface, 0);
	write_header(adjacency_of(nh), nh, other->header); /* no data core reads it: nothing led here */
	set_state(adjacency_of(nh), other->state);
}

void adjacency_up(uint32_t nh, const uint8_t *mac)
{
	struct adj *a = adjacency_of(nh);
	set_state(a, ADJ_UNRESOLVED);
	if (!core_quiesce()) /* dataplane/state.h, rule 2 */
		return; /* the ports are being restarted; then the neighbour is resolved anew */
	write_header(a, nh, mac);
	/* a static neighbour is known while its link is down; later neighbour_link sets it */
	if (dp_link_is_up(dp_get(), a->interface))
		set_state(a, ADJ_FORWARD);
}

void adjacency_down(uint32_t nh)
{
	set_state(adjacency_of(nh), ADJ_UNRESOLVED);
}

void adjacency_link(uint32_t nh, bool up)
{
	set_state(adjacency_of(nh), up ? ADJ_FORWARD : ADJ_UNRESOLVED);
}

void adjacency_free(uint32_t nh)
{
	/* If a data core does not pass a quiescent point, the ports are restarted. Until then the
	 * adjacency stays as it is, even when its number is reused: only one in ADJ_SPECIAL is
	 * given to a new neighbour. */
	if (core_quiesce())
		adjacency_of(nh)->state = ADJ_SPECIAL;
}

struct dp_carried adjacency_carried[DP_INTERFACES_MAX];
uint64_t adjacency_waiting;
void (*adjacency_tell_unreachable)(unsigned interface, const uint8_t *ip, unsigned len);

/* A copy of the frame with the tag of that VLAN; NULL: it is too long. */
static const uint8_t *with_tag(const uint8_t *frame, unsigned *len, unsigned vid)
{
	static uint8_t tagged[BUF_STRIDE_JUMBO];
	if (*len + ETH_TAG_LEN > sizeof tagged)
		return NULL;
	memcpy(tagged, frame, 2 * ETH_ALEN);
	eth_tag_build(tagged, vid);
	memcpy(tagged + 2 * ETH_ALEN + ETH_TAG_LEN, frame + 2 * ETH_ALEN, *len - 2 * ETH_ALEN);
	*len += ETH_TAG_LEN;
	return tagged;
}

static void note_sent(unsigned interface, unsigned len)
{
	adjacency_carried[interface].tx_pkts++;
	adjacency_carried[interface].tx_bytes += len;
}

/* All frames of an interface of the switch leave by one pair, so they stay in order. */
static bool send_in_switch(unsigned interface, unsigned pair, const uint8_t *frame, unsigned len)
{
	note_sent(interface, len);
	return core_inject(pair, 0, frame, len, INJECT_APP,
	                   APP_BRIDGE + dp_get()->interface[interface].vid) == E_OK;
}

bool adjacency_send(unsigned interface, unsigned pair, const uint8_t *frame, unsigned len)
{
	const struct dp_interface *ifp = &dp_get()->interface[interface];
	unsigned n = core_data_count();
	if (pair >= n)
		pair = n ? ifp->port % n : 0;
	/* A loopback has no link. On one that is down the frame would wait in the ring, and the port would restart
	 * to be rid of it (runtime/restart.c). */
	if (dp_is_loopback(ifp) || !dp_link_is_up(dp_get(), interface))
		return false;
	if (dp_is_svi(ifp)) /* the data core finds the port */
		return send_in_switch(interface, n ? interface % n : 0, frame, len);
	if (ifp->vid) {
		note_sent(interface, len);
		frame = with_tag(frame, &len, ifp->vid);
	}
	return n && frame && core_inject(pair, ifp->port, frame, len, INJECT_TX, 0) == E_OK;
}

bool adjacency_send_whole(uint32_t nh, const struct bufpool *pool, const struct pkt *p)
{
	const struct adj *a = adjacency_of(nh);
	const struct dp_interface *ifp = &dp_get()->interface[a->interface];
	const struct pkt_meta *meta = pkt_meta(pool, p->buf);
	const unsigned n = core_data_count();
	if (a->state != ADJ_FORWARD || a->header_bytes != ETH_HLEN || dp_is_loopback(ifp) || dp_is_svi(ifp) ||
	    !dp_link_is_up(dp_get(), a->interface) || meta->hdr_bytes + meta->mss - ETH_HLEN > a->mtu || n == 0)
		return false;
	memcpy(p->data, a->header, ETH_HLEN);
	return core_inject_whole(ifp->port % n, ifp->port, pool, p, INJECT_TX) == E_OK;
}

/* Writes the Ethernet header of an adjacency, without its tag. */
static void put_header(uint8_t *frame, const struct adj *a)
{
	memcpy(frame, a->header, 2 * ETH_ALEN);
	memcpy(frame + 2 * ETH_ALEN, a->header + a->header_bytes - 2, 2);
}

void adjacency_send_own(unsigned interface, const uint8_t *frame, unsigned len)
{
	uint8_t padded[ETH_FRAME_MIN] = {0};
	if (len < ETH_FRAME_MIN)
		frame = memcpy(padded, frame, len);
	if (!adjacency_send(interface, PAIR_ANY, frame, len < ETH_FRAME_MIN ? ETH_FRAME_MIN : len))
		count(CNT_originated_drop_tx);
}

/* --- frames that wait --- */

static enum frame_origin origin_of(const uint8_t *frame)
{
	return (enum frame_origin)frame[0];
}

void adjacency_mark(uint8_t *frame, enum frame_origin origin, unsigned pair)
{
	frame[0] = (uint8_t)origin;
	frame[1] = (uint8_t)pair;
	frame[ADJACENCY_FROM] = (uint8_t)fate_interface;
	trace_mark(frame + ADJACENCY_TRACE);
	adjacency_waiting += origin == FRAME_TRANSIT;
}

/* Sends a packet that waited and is larger than its link's MTU in fragments. It has no DF, as the
 * data core has checked. */
static bool send_fragments(const struct adj *a, unsigned pair, const uint8_t *frame)
{
	static uint8_t piece[BUF_STRIDE_JUMBO];
	struct ip4_frag it;
	bool sent = ip4_frag_init(&it, frame + ETH_HLEN, a->mtu) == E_OK;
	unsigned n;
	put_header(piece, a);
	while (sent && (n = ip4_frag_next(&it, piece + ETH_HLEN, sizeof piece - ETH_HLEN)) > 0) {
		sent = adjacency_send(a->interface, pair, piece, eth_pad(piece, n + ETH_HLEN));
		count_n(CNT_fragments_created, sent);
	}
	count_n(CNT_fragmented, sent);
	return sent;
}

void adjacency_release(uint32_t nh, uint8_t *frame, unsigned len)
{
	const struct adj *a = adjacency_of(nh);
	enum frame_origin origin = origin_of(frame);
	unsigned pair = frame[1], from = frame[ADJACENCY_FROM];
	bool cut = len - ETH_HLEN > a->mtu && !adjacency_is_six(nh);
	put_header(frame, a);
	bool sent = cut ? send_fragments(a, pair, frame) : adjacency_send(a->interface, pair, frame, len);
	if (origin == FRAME_TRANSIT) {
		adjacency_waiting--;
		count_at(from, sent ? CNT_forwarded : CNT_drop_tx_full);
	} else if (!sent) {
		count(CNT_originated_drop_tx);
	}
}

void adjacency_unreachable(unsigned interface, const uint8_t *frame, unsigned len)
{
	bool followed = trace_resume(frame + ADJACENCY_TRACE, TRACE_LOST);
	if (origin_of(frame) == FRAME_TRANSIT) {
		adjacency_waiting--;
		count_at(frame[ADJACENCY_FROM], CNT_drop_neigh_unreachable);
		adjacency_tell_unreachable(interface, frame + ETH_HLEN, len - ETH_HLEN);
	}
	if (followed)
		trace_leave();
}

void adjacency_lost(const uint8_t *frame)
{
	if (origin_of(frame) != FRAME_TRANSIT)
		return;
	adjacency_waiting--;
	count_at(frame[ADJACENCY_FROM], CNT_drop_neigh_queue);
}

/* --- for both tables --- */

static uint32_t next_hop_of(const void *ctx, unsigned index)
{
	return *(const uint32_t *)ctx + index;
}

void adjacency_op_tx(void *ctx, unsigned interface, const uint8_t *frame, unsigned len)
{
	(void)ctx;
	adjacency_send_own(interface, frame, len);
}

void adjacency_op_down(void *ctx, unsigned index)
{
	adjacency_down(next_hop_of(ctx, index));
}

void adjacency_op_release(void *ctx, unsigned index, uint8_t *frame, unsigned len)
{
	bool followed = trace_resume(frame + ADJACENCY_TRACE, origin_of(frame) == FRAME_OWN
	                                                            ? TRACE_OWN_SENT
	                                                            : TRACE_TRANSIT_SENT);
	adjacency_release(next_hop_of(ctx, index), frame, len);
	if (followed)
		trace_leave();
}

void adjacency_op_lost(void *ctx, unsigned index, uint8_t *frame, unsigned len)
{
	(void)ctx;
	(void)index;
	(void)len;
	bool followed = trace_resume(frame + ADJACENCY_TRACE, TRACE_LOST);
	adjacency_lost(frame);
	if (followed)
		trace_leave();
}

void adjacency_op_count(void *ctx, enum counter counter, unsigned n)
{
	(void)ctx;
	count_n(counter, n);
}
