/*
 * The hook of XDP programs; see xdp.h.
 *
 * What a driver delivers is one frame in one buffer (drivers/nic.h), so there are no fragments. A
 * checksum that a virtio peer has left to us (PKT_CSUM_PARTIAL), and a tag that a card has taken out
 * (PKT_VLAN), are put into the frame first: programs see it as it would be on a wire. PKT_CSUM_OK does
 * not survive a chain with a program that may change the packet (struct bpf_verdict, writes_packet).
 */
#include "dataplane/state.h"
#include "dataplane/vlan.h"
#include "lib/mem.h"
#include "lib/number.h"

#define AHEAD 4 /* frames to prefetch */

struct xdp_now xdp_now;

void xdp_tables(void)
{
	const struct dp_state *v = dp_get();
	struct dp_xdp_shared *s = dp_xdp_shared();
	bpf_core = self.id;
	if (s->started != v->started) {
		memset(s->action, 0, sizeof s->action);
		memset(&s->prints, 0, sizeof s->prints);
		s->started = v->started;
	}
	for (uint32_t i = 0; i < u32_min(v->xdp.maps, DP_XDP_MAPS_MAX); i++)
		if (v->xdp.map[i])
			bpf_map_recover(v->xdp.map[i], self.id);
}

/* --- sending --- */

/* Puts the tag back that the card has taken out, or a VLAN's before sending. There are
 * BUF_DATA_OFFSET - BUF_FRAME_LEAST bytes for it before a received frame, fewer if a program has used
 * them: then the frame moves. False: there is no room for it. */
static bool put_tag(struct pkt *p, uint16_t tci)
{
	uint8_t *base = buf_base(&self.pool, p->buf), *least = base + BUF_FRAME_LEAST;
	const uint8_t *end = base + self.pool.stride;
	if (p->len < ETH_HLEN)
		return false;
	if (p->data < least + ETH_TAG_LEN) {
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

/* May a frame of so many bytes be sent by the interface? As Linux' xdp_ok_fwd_dev: its link is up, and
 * the frame is no longer than its MTU, an Ethernet header and a tag. */
static bool may_send(const struct dp_state *v, unsigned interface, unsigned len)
{
	return dp_has_link(v, interface) && dp_link_is_up(v, interface) &&
	       len <= v->interface[interface].mtu + (unsigned)(ETH_HLEN + ETH_TAG_LEN);
}

/* Sends a frame by an interface, which may_send; false: a tag finds no room. The buffer is then still
 * the caller's. */
static bool send(struct pkt *p, unsigned interface)
{
	const struct dp_interface *ifp = &dp_get()->interface[interface];
	if (ifp->vid) {
		struct dp_carried *c = &dp_counted()->carried[interface];
		const uint32_t len = p->len;
		if (!put_tag(p, ifp->vid))
			return false;
		c->tx_pkts++;
		c->tx_bytes += len;
	}
	p->flags &= PKT_OWN;
	core_tx(ifp->port, p);
	return true;
}

/* --- several receivers --- */

/* A copy of the frame for one more receiver, which is a packet of our own. */
static void send_copy(const struct pkt *p, unsigned interface)
{
	struct pkt copy;
	if (!pkt_alloc(&self.pool, &copy)) {
		count(CNT_originated_drop_no_buffer);
		return;
	}
	copy.len = p->len;
	copy.interface = p->interface;
	copy.flags = PKT_OWN;
	memcpy(copy.data, p->data, p->len);
	if (!send(&copy, interface)) {
		count(CNT_originated_drop_tx);
		pkt_free(&self.pool, &copy);
	}
}

/* Sends to all interfaces of a device map: the last one gets the frame itself, the others copies.
 * False: there was none. */
static bool send_all(struct pkt *p, const struct bpf_map *map, uint32_t flags)
{
	const struct dp_state *v = dp_get();
	uint32_t key, next, last = DP_INTERFACES_MAX;
	bool more = bpf_map_next(map, NULL, &key);
	for (unsigned i = 0; more && i < map->entries; i++) {
		const uint32_t *value = bpf_map_lookup(map, &key);
		const uint32_t to = value ? dp_interface_of_index(*value) : UINT32_MAX;
		const bool skip = flags & XDP_F_EXCLUDE_INGRESS && to == xdp_now.port;
		if (!skip && to < DP_INTERFACES_MAX && may_send(v, to, p->len)) {
			if (last < DP_INTERFACES_MAX)
				send_copy(p, last);
			last = to;
		}
		more = bpf_map_next(map, &key, &next);
		key = next;
	}
	return last < DP_INTERFACES_MAX && send(p, last);
}

/* --- results --- */

/* What a vector's packets became. */
struct tally {
	unsigned kept, sent, dropped, aborted, lost;
};

static void redirect(struct pkt *v, struct pkt *p, struct tally *t)
{
	const uint32_t to = xdp_now.context.redirect_to;
	bool sent = false;
	switch ((enum xdp_redirect)xdp_now.context.redirect_kind) {
	case XDP_TO_STACK:
		v[t->kept++] = *p;
		return;
	case XDP_TO_INDEX:
		sent = dp_interface_of_index(to) < DP_INTERFACES_MAX &&
		       may_send(dp_get(), dp_interface_of_index(to), p->len) &&
		       send(p, dp_interface_of_index(to));
		break;
	case XDP_TO_ALL:
		sent = send_all(p, xdp_now.to_map, to);
		break;
	case XDP_TO_NOBODY:
		break;
	}
	t->sent += sent;
	if (!sent) {
		pkt_free(&self.pool, p);
		t->lost++;
	}
}

/* Does with a packet what the chain has decided, but for XDP_PASS. */
static void act(struct pkt *v, struct pkt *p, uint32_t action, struct tally *t)
{
	switch ((enum xdp_action)action) {
	case XDP_DROP:
		pkt_free(&self.pool, p);
		t->dropped++;
		return;
	case XDP_TX:
		if (may_send(dp_get(), xdp_now.port, p->len)) {
			(void)send(p, xdp_now.port); /* a port has no tag of its own */
			t->sent++;
			return;
		}
		pkt_free(&self.pool, p);
		t->lost++;
		return;
	case XDP_REDIRECT:
		redirect(v, p, t);
		return;
	case XDP_ABORTED:
	default:
		pkt_free(&self.pool, p);
		t->aborted++;
		return;
	}
}

static void settle(unsigned port, const struct tally *t)
{
	const struct {
		enum counter fate;
		unsigned n;
	} drop[] = {{CNT_drop_xdp, t->dropped}, {CNT_drop_xdp_aborted, t->aborted},
	            {CNT_drop_xdp_redirect, t->lost}};
	for (unsigned i = 0; i < ARRAY_LEN(drop); i++)
		if (drop[i].n) {
			count_n(drop[i].fate, drop[i].n);
			count_interface(port, drop[i].fate, drop[i].n);
		}
	if (t->sent) {
		core_forwarded(port, t->sent);
		count_n(CNT_xdp_sent, t->sent);
	}
}

/* --- the vector --- */

/* The rare frames that need something before a program may see them. False: there was no room, and the
 * frame passes unseen. */
COLD static bool prepare(struct pkt *p)
{
	pkt_csum_complete(&self.pool, p);
	if (p->flags & PKT_VLAN) {
		if (!put_tag(p, pkt_meta(&self.pool, p->buf)->vlan_tci))
			return false;
		p->flags &= (uint8_t)~PKT_VLAN;
	}
	return !(p->flags & (PKT_CHAIN | PKT_SHARED));
}

static inline void enter(struct bpf_xdp *x, const struct pkt *p)
{
	uint8_t *base = buf_base(&self.pool, p->buf);
	x->data = x->data_meta = p->data;
	x->data_end = p->data + p->len;
	x->start = base + BUF_FRAME_LEAST;
	x->end = base + self.pool.stride;
	x->redirect_kind = XDP_TO_NOBODY;
}

/* Runs the chain on the packet in hand. */
static inline uint32_t run(const struct dp_xdp_chain *c, uint64_t (*action)[XDP_ACTIONS])
{
	for (uint32_t i = 0; i < c->programs; i++) {
		uint64_t (*code)(struct bpf_xdp *) = (void *)(uintptr_t)c->program[i].code;
		xdp_now.context.tail_calls = 0;
		uint32_t result = (uint32_t)code(&xdp_now.context);
		if (unlikely(result >= XDP_ACTIONS))
			result = XDP_ABORTED;
		action[c->program[i].slot][result]++;
		if (!(c->program[i].chain_on >> result & 1))
			return result;
	}
	return XDP_PASS;
}

/* New code may be in use: dp_xdp.code_tsc. */
static inline void see_code(void)
{
	static uint64_t seen;
	const uint64_t now = __atomic_load_n(&dp_get()->xdp.code_tsc, __ATOMIC_ACQUIRE);
	if (unlikely(now != seen)) {
		core_code_sync();
		seen = now;
	}
}

unsigned xdp_vector(struct pkt *v, unsigned n, unsigned port)
{
	const struct dp_xdp_chain *c = __atomic_load_n(&dp_get()->xdp.chain[port], __ATOMIC_ACQUIRE);
	uint64_t (*action)[XDP_ACTIONS] = dp_xdp_shared()->action[port];
	struct bpf_xdp *x = &xdp_now.context;
	struct tally t = {0};
	if (!c)
		return n;
	see_code();
	x->ingress_ifindex = dp_ifindex(port);
	x->rx_queue_index = (uint32_t)core_pair();
	xdp_now.port = port;
	xdp_now.stack_end = __builtin_frame_address(0);
	for (unsigned i = 0; i < n; i++) {
		struct pkt p = v[i];
		if (likely(i + AHEAD < n))
			__builtin_prefetch(v[i + AHEAD].data);
		core_current_set(&p, n);
		if (unlikely(p.flags & ~PKT_CSUM_OK) && !prepare(&p)) {
			v[t.kept++] = p;
			continue;
		}
		enter(x, &p);
		const uint32_t result = run(c, action);
		p.data = x->data;
		p.len = (uint16_t)(x->data_end - x->data);
		if (c->changes)
			p.flags &= (uint8_t)~PKT_CSUM_OK;
		if (result == XDP_PASS)
			v[t.kept++] = p;
		else
			act(v, &p, result, &t);
	}
	core_current.data = 0;
	settle(port, &t);
	return t.kept;
}
