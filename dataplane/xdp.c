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

typedef uint64_t (*xdp_code)(struct bpf_xdp *);

/* What becomes of a packet: XDP_PASS or XDP_DROP, which are still to be done and counted; or the following. If all
 * of a vector are XDP_PASS, or all XDP_DROP, their OR is that value, and no other vector has it. */
enum verdict {
	KEPT = 4, /* it passes */
	GONE,     /* it is another's already */
};

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

/* Puts the tag back that the card has taken out, or a VLAN's before sending. False: there is no room for
 * it. */
static bool put_tag(struct pkt *p, uint16_t tci) { return p->len >= ETH_HLEN && vlan_tag(p, tci); }

/* The longest frame that may be sent by the interface, as Linux' xdp_ok_fwd_dev: if its link is up, of its
 * MTU, an Ethernet header and a tag; else 0 bytes. */
static unsigned len_max(const struct dp_state *v, unsigned interface)
{
	const bool up = dp_has_link(v, interface) && !dp_is_svi(&v->interface[interface]) &&
	                dp_link_is_up(v, interface);
	return up ? v->interface[interface].mtu + (unsigned)(ETH_HLEN + ETH_TAG_LEN) : 0;
}

static bool may_send(const struct dp_state *v, unsigned interface, unsigned len)
{
	return len && len <= len_max(v, interface);
}

/* Queues a frame for a port. By members, because a copy of the whole struct soon after they were written would wait
 * until they are in the cache: they cannot be forwarded to one load (`tx` between null ports: 54 cycles, and 46). */
static inline void queue(unsigned port, const struct pkt *p)
{
	const struct pkt out = {p->data, p->buf, p->len, p->flags & PKT_OWN, p->interface};
	core_tx(port, &out);
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
	queue(ifp->port, p);
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
	unsigned sent, dropped, aborted, lost;
};

static void lose(struct pkt *p, struct tally *t)
{
	pkt_free(&self.pool, p);
	t->lost++;
}

static void transmit(struct pkt *p, struct tally *t)
{
	if (p->len > xdp_now.tx_len_max) {
		lose(p, t);
		return;
	}
	queue(xdp_now.port, p);
	t->sent++;
}

/* True: the packet passes. */
static bool redirect(struct pkt *p, struct tally *t)
{
	const uint32_t to = xdp_now.context.redirect_to;
	bool sent = false;
	switch ((enum xdp_redirect)xdp_now.context.redirect_kind) {
	case XDP_TO_STACK:
		return true;
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
	if (sent)
		t->sent++;
	else
		lose(p, t);
	return false;
}

/* Does with a packet what the chain has decided. True: it passes. */
static bool act(struct pkt *p, uint32_t action, struct tally *t)
{
	switch ((enum xdp_action)action) {
	case XDP_PASS:
		return true;
	case XDP_DROP:
		pkt_free(&self.pool, p);
		t->dropped++;
		return false;
	case XDP_TX:
		transmit(p, t);
		return false;
	case XDP_REDIRECT:
		return redirect(p, t);
	case XDP_ABORTED:
	default:
		pkt_free(&self.pool, p);
		t->aborted++;
		return false;
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

/* Counts what a program has returned, and returns the action that it stands for. */
static uint32_t count_result(uint64_t counts[XDP_ACTIONS], uint64_t returned)
{
	const uint32_t action = (uint32_t)returned < XDP_ACTIONS ? (uint32_t)returned : XDP_ABORTED;
	counts[action]++;
	return action;
}

/* Takes over where the program has put the packet. */
static inline void leave(struct pkt *p, const struct bpf_xdp *x)
{
	p->data = x->data;
	p->len = (uint16_t)(x->data_end - x->data);
	p->flags &= (uint8_t)~PKT_CSUM_OK;
}

/* The rest of a chain, when its first program has returned something else than the plain results of
 * run_vector: runs the others and does what they decide. */
static enum verdict finish(const struct dp_xdp_chain *c, uint64_t (*counts)[XDP_ACTIONS], uint64_t returned,
                           struct pkt *p, struct tally *t)
{
	uint32_t action = count_result(counts[c->program[0].slot], returned), chain_on = c->program[0].chain_on;
	for (uint32_t i = 1; chain_on >> action & 1 && i < c->programs; i++) {
		const xdp_code code = (xdp_code)(uintptr_t)c->program[i].code;
		xdp_now.context.tail_calls = 0;
		action = count_result(counts[c->program[i].slot], code(&xdp_now.context));
		chain_on = c->program[i].chain_on;
	}
	if (chain_on >> action & 1)
		action = XDP_PASS; /* behind the last program */
	if (c->changes)
		leave(p, &xdp_now.context);
	return act(p, action, t) ? KEPT : GONE;
}

/*
 * Runs a chain on a vector; verdict[i] gets what becomes of packet i. Returns all verdicts, joined by OR. Where the
 * first program's result is XDP_PASS or XDP_DROP and ends the chain, it is the verdict, still to be counted. For a
 * vector of such packets this loop is all that is done for each: with the call, 6 cycles (tests/bench/xdp.py; 25 when
 * it copied, counted and kept each packet at once). `changes` is a constant, c->changes: without it, context and
 * packets differ in nothing but what was written before the call.
 */
static inline __attribute__((always_inline)) uint32_t
run_vector(struct pkt *v, unsigned n, const struct dp_xdp_chain *c, struct tally *t, uint8_t *verdict, bool changes)
{
	struct bpf_xdp *const x = &xdp_now.context;
	uint64_t (*const counts)[XDP_ACTIONS] = dp_xdp_shared()->action[xdp_now.port];
	const xdp_code first = (xdp_code)(uintptr_t)c->program[0].code;
	const uint32_t chain_on = c->program[0].chain_on & ~(c->programs == 1 ? 1u << XDP_PASS : 0);
	const uint32_t plain = (1u << XDP_PASS | 1u << XDP_DROP) & ~chain_on;
	const struct pkt *const end = v + n;
	uint32_t all = 0;
	for (struct pkt *p = v; p < end; p++, verdict++) {
		if (likely(p + AHEAD < end))
			__builtin_prefetch(p[AHEAD].data);
		core_current_next(p);
		if (unlikely(p->flags & ~PKT_CSUM_OK) && !prepare(p)) {
			*verdict = KEPT;
			all |= KEPT;
			continue;
		}
		uint8_t *const data = p->data;
		x->data = x->data_meta = data;
		x->data_end = data + p->len;
		if (changes) {
			uint8_t *const base = buf_base(&self.pool, p->buf);
			x->start = base + BUF_FRAME_LEAST;
			x->end = base + self.pool.stride;
		}
		x->redirect_kind = XDP_TO_NOBODY;
		x->tail_calls = 0;
		uint32_t action = (uint32_t)first(x);
		if (unlikely(action >= XDP_ACTIONS || !(plain >> action & 1)))
			action = finish(c, counts, action, p, t);
		else if (changes)
			leave(p, x);
		*verdict = (uint8_t)action;
		all |= action;
	}
	return all;
}

/* Moves the packets that pass to the front, and frees those that are dropped; returns the number of the former. */
static unsigned sort_out(struct pkt *v, unsigned n, const uint8_t *verdict, unsigned *passed, unsigned *dropped)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < n; i++) {
		if (verdict[i] == XDP_DROP) {
			pkt_free(&self.pool, &v[i]);
			++*dropped;
		} else if (verdict[i] != GONE) {
			*passed += verdict[i] == XDP_PASS;
			v[kept++] = v[i];
		}
	}
	return kept;
}

/* The same, if `all` is the OR of the verdicts. Most vectors have only one. */
static unsigned take_verdicts(struct pkt *v, unsigned n, const uint8_t *verdict, uint32_t all,
                              uint64_t counts[XDP_ACTIONS], struct tally *t)
{
	unsigned passed = 0, dropped = 0, kept = 0;
	if (all == XDP_PASS) {
		passed = kept = n;
	} else if (all == XDP_DROP) {
		pkt_free_whole(&self.pool, v, n);
		dropped = n;
	} else {
		kept = sort_out(v, n, verdict, &passed, &dropped);
	}
	counts[XDP_PASS] += passed;
	counts[XDP_DROP] += dropped;
	t->dropped += dropped;
	return kept;
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
	const struct dp_state *dp = dp_get();
	const struct dp_xdp_chain *c = __atomic_load_n(&dp->xdp.chain[port], __ATOMIC_ACQUIRE);
	struct tally t = {0};
	uint8_t verdict[PKT_VECTOR_MAX];
	if (!c || n == 0)
		return n;
	assert(n <= PKT_VECTOR_MAX);
	see_code();
	xdp_now.context.ingress_ifindex = dp_ifindex(port);
	xdp_now.context.rx_queue_index = (uint32_t)core_pair();
	xdp_now.port = port;
	xdp_now.tx_len_max = len_max(dp, port);
	xdp_now.stack_end = __builtin_frame_address(0);
	uint64_t *const counts = dp_xdp_shared()->action[port][c->program[0].slot];
	core_current_set(&v[0], n);
	const uint32_t all = c->changes ? run_vector(v, n, c, &t, verdict, true)
	                                : run_vector(v, n, c, &t, verdict, false);
	core_current.data = 0;
	n = take_verdicts(v, n, verdict, all, counts, &t);
	settle(port, &t);
	return n;
}
