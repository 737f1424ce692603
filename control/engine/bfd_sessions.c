/* See bfd_sessions.h. */
#include "control/engine/bfd_sessions.h"

#include "control/config/running.h"
#include "control/console/log.h"
#include "control/engine/hops.h"
#include "control/forwarding/neighbour.h"
#include "control/host/output.h"
#include "control/host/output6.h"
#include "control/host/udp_control.h"
#include "dataplane/state.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/ip4.h"

#define REMOTE_EVERY_NS SECOND_NS /* bfdd is told of changes of the peer's values at most so often */
#define FLAGS_KNOWN 0x7fu

static struct engine_bfd_session *session; /* ENGINE_BFD_SESSIONS; NULL: not prepared */
static unsigned used_end;                  /* numbers of all sessions are below */
static uint64_t next_ns; /* no session has anything to do before */
static uint64_t tell_ns; /* bfdd need not be told anything before */
static struct {
	struct core_punt_mark mark;
	uint64_t taken_ns; /* 0: there is none */
} judge;

bool bfd_sessions_prepare(void)
{
	const size_t bytes = ENGINE_BFD_SESSIONS * sizeof *session;
	if (session)
		return true;
	session = core_private_alloc(bytes);
	if (session)
		memset(session, 0, bytes);
	return session != NULL;
}

const struct engine_bfd_session *engine_bfd_session(unsigned n)
{
	return session && n < used_end && session[n].used ? &session[n] : NULL;
}

struct engine_bfd_session *bfd_sessions_find(uint32_t lid)
{
	for (unsigned n = 0; n < used_end; n++)
		if (session[n].used && session[n].s.local_discr == lid)
			return &session[n];
	return NULL;
}

/* Messages of the event log: a session is up, or no longer. */
static void log_change(const struct engine_bfd_session *e, bool was_up)
{
	char peer[FMT_ADDR_MAX];
	const char *const whom = fmt_addr(peer, e->peer.w);
	if (e->s.state == BFD_UP)
		log_event(LOG_NOTICE, "BFD-UPDOWN", "bfd: session with %s is up", whom);
	else if (was_up)
		log_event(LOG_WARNING, "BFD-UPDOWN", "bfd: session with %s is down: %s", whom,
		          bfd_diag_name(e->s.diag));
}

/* Notes what has changed for bfdd, for the figures and for the event log. */
static void note(struct engine_bfd_session *e, enum bfd_state before, unsigned changed)
{
	e->remote |= (changed & BFD_CHANGED_REMOTE) != 0;
	tell_ns = changed ? 0 : tell_ns;
	if (!(changed & BFD_CHANGED_STATE))
		return;
	e->tell = true;
	e->changed_ns = core_now_ns();
	e->ups += e->s.state == BFD_UP;
	log_change(e, before == BFD_UP);
	if (before != BFD_UP)
		return;
	e->fell = true;
	e->downs++;
	e->down_diag = e->s.diag;
	e->down_ns = e->changed_ns;
}

/* --- packets --- */

/* The source address, and the interface by which the peer is reached. False: none. */
static bool source_of(const struct engine_bfd_session *e, struct net_addr *src, int *interface)
{
	const struct dp_state *v = dp_get();
	const unsigned link = e->interface;
	bool ours;
	*src = e->local;
	if (net_addr_is_ip4(&e->peer)) {
		const uint32_t dst = net_addr_to_ip4(&e->peer);
		if (net_addr_is_any(src))
			*src = net_addr_ip4(local_source(dst));
		*interface = dp_interface_of(v, dp_next_hop4(v, dst));
		ours = dp_next_hop4(v, net_addr_to_ip4(src)) == NH_LOCAL;
	} else {
		if (net_addr_is_any(src) && !local6_source(&e->peer, link, src))
			return false;
		*interface = dp_interface_of(v, local6_next_hop(&e->peer, link));
		ours = local6_next_hop(src, link) == NH_LOCAL;
	}
	return ours && *interface >= 0;
}

static void send_packet(struct engine_bfd_session *e, const struct bfd_packet *p)
{
	static uint8_t frame[ETH_HLEN + IP6_HLEN + UDP_HLEN + BFD_PACKET_LEN];
	_Static_assert(sizeof frame >= ETH_FRAME_MIN, "local_output pads");
	uint8_t payload[BFD_PACKET_LEN];
	struct udp_build b = {.dst = e->peer, .src_port = e->source_port,
	                      .dst_port = e->multihop ? BFD_PORT_MULTIHOP : BFD_PORT_SINGLE_HOP,
	                      .tos = IP4_TOS_INTERNET_CONTROL, .ttl = BFD_TTL, .df = true};
	int out;
	if (!source_of(e, &b.src, &out) ||
	    (e->interface != ENGINE_BFD_ANYWHERE && out != e->interface)) {
		engine_bfd_stats.unsent++;
		return;
	}
	bfd_packet_write(payload, p);
	const unsigned n = udp_packet_build(frame + ETH_HLEN, sizeof frame - ETH_HLEN, &b, payload,
	                                    sizeof payload);
	if (net_addr_is_ip4(&e->peer))
		local_output(frame, ETH_HLEN + n);
	else
		local6_output_as_is(frame, ETH_HLEN + n, (unsigned)out);
	count(CNT_bfd_tx);
	e->tx_packets++;
}

static bool is_of(const struct engine_bfd_session *e, const struct udp_datagram *d,
                  unsigned interface)
{
	return e->used && e->multihop == (d->dst_port == BFD_PORT_MULTIHOP) &&
	       net_addr_equal(&e->peer, &d->src) &&
	       (net_addr_is_any(&e->local) || net_addr_equal(&e->local, &d->dst)) &&
	       (e->interface == ENGINE_BFD_ANYWHERE || e->interface == interface);
}

/* The session of a packet (RFC 5880 6.3, RFC 5881 3, RFC 5883 4.1): by its discriminator, which must
 * come from that session's peer, or without one by addresses and interface. NULL: none. */
static struct engine_bfd_session *session_of(const struct bfd_packet *p, const struct udp_datagram *d,
                                             unsigned interface)
{
	if (p->your_discr) {
		struct engine_bfd_session *e = bfd_sessions_find(p->your_discr);
		return e && is_of(e, d, interface) ? e : NULL;
	}
	for (unsigned n = 0; n < used_end; n++)
		if (is_of(&session[n], d, interface))
			return &session[n];
	return NULL;
}

/* The receiver of BFD's ports. */
static enum counter input(const struct udp_datagram *d, const struct udp_arrival *from)
{
	const uint8_t ttl = from->ttl;
	struct bfd_packet p;
	unsigned changed;
	enum counter fate = bfd_packet_read(d->data, d->data_len, &p);
	if (from->fragmented)
		return CNT_drop_udp_port;
	if (fate != CNT_NONE)
		return fate;
	if (d->dst_port == BFD_PORT_SINGLE_HOP && ttl != BFD_TTL) /* RFC 5881 5 */
		return CNT_drop_bfd_ttl;
	struct engine_bfd_session *e = session_of(&p, d, from->interface);
	if (!e)
		return CNT_drop_bfd_session;
	if (ttl < e->least_ttl)
		return CNT_drop_bfd_ttl;
	const enum bfd_state before = e->s.state;
	fate = bfd_session_receive(&e->s, &p, core_now_ns(), &changed);
	e->rx_packets++;
	note(e, before, changed);
	next_ns = u64_min(next_ns, bfd_session_deadline(&e->s));
	return fate;
}

void bfd_sessions_take(bool packets)
{
	static const uint16_t port[] = {BFD_PORT_SINGLE_HOP, BFD_PORT_MULTIHOP};
	for (unsigned n = 0; n < 2; n++) {
		const bool open = packets && udp_listen(port[n], input);
		assert(open == packets); /* clients' ports are above these */
		if (!open)
			udp_unlisten(port[n]);
	}
}

/* --- sessions --- */

static bool is_unicast(const struct net_addr *a, bool six)
{
	if (net_addr_is_ip4(a) == six)
		return false;
	if (six)
		return !net_addr_is_any(a) && !ip6_is_multicast(a);
	return !ip4_src_is_martian(net_addr_to_ip4(a));
}

/* The only interface of ours with this link-local address, which may be tentative yet. */
static int interface_with(const struct net_addr *local)
{
	int found = ENGINE_NO_INTERFACE;
	struct nd_address a;
	for (unsigned cursor = 0; nd_local_next(&neighbours.nd, &cursor, &a);) {
		if (!net_addr_equal(&a.addr, local))
			continue;
		if (found != ENGINE_NO_INTERFACE)
			return ENGINE_NO_INTERFACE;
		found = (int)a.interface;
	}
	return found;
}

/* The interface of a session of one hop. bfdd of FRR 10.3 states none of a session that it ran itself until it found
 * its data plane (bfd_session_disable() forgets the interface): then it is the interface that the session had, or the
 * one with its link-local address. */
static int interface_of(const struct bfd_dplane_session *m)
{
	const struct engine_bfd_session *e = bfd_sessions_find(m->lid);
	if (m->ifindex)
		return engine_interface_of(m->ifindex);
	if (e && !e->multihop && net_addr_equal(&e->peer, &m->dst) && net_addr_equal(&e->local, &m->src))
		return e->interface == ENGINE_BFD_ANYWHERE ? ENGINE_NO_INTERFACE : e->interface;
	return ip6_is_link_local(&m->src) ? interface_with(&m->src) : ENGINE_NO_INTERFACE;
}

/* Translates what bfdd states into the addresses, the interface and the wish of *e. */
static enum engine_bfd_refusal translate(const struct bfd_dplane_session *m,
                                         struct engine_bfd_session *e)
{
	const bool six = m->flags & BFD_DPLANE_IPV6;
	const bool multihop = m->flags & BFD_DPLANE_MULTIHOP;
	const bool on_link = ip6_is_link_local(&m->dst) || ip6_is_link_local(&m->src);
	const int n = multihop ? ENGINE_NO_INTERFACE : interface_of(m);
	if (m->flags & ~FLAGS_KNOWN)
		return ENGINE_BFD_REFUSED_FLAGS;
	if (m->lid == 0)
		return ENGINE_BFD_REFUSED_DISCRIMINATOR;
	if (!is_unicast(&m->dst, six) || (!net_addr_is_any(&m->src) && !is_unicast(&m->src, six)))
		return ENGINE_BFD_REFUSED_ADDRESS;
	if (on_link && (n == ENGINE_NO_INTERFACE || !dp_has_link(dp_get(), (unsigned)n)))
		return ENGINE_BFD_REFUSED_INTERFACE;
	if (m->min_tx_us < ENGINE_BFD_LEAST_US || m->min_rx_us < ENGINE_BFD_LEAST_US)
		return ENGINE_BFD_REFUSED_INTERVAL;
	if (m->detect_mult == 0)
		return ENGINE_BFD_REFUSED_MULTIPLIER;
	*e = (struct engine_bfd_session){
		.peer = m->dst,
		.local = m->src,
		.interface = n == ENGINE_NO_INTERFACE ? ENGINE_BFD_ANYWHERE : (uint8_t)n,
		.least_ttl = multihop ? m->ttl : BFD_TTL,
		.multihop = multihop,
		.s.wish = {.desired_tx_us = m->min_tx_us,
		           .required_rx_us = m->min_rx_us,
		           .detect_mult = m->detect_mult,
		           .passive = m->flags & BFD_DPLANE_PASSIVE,
		           .shutdown = m->flags & BFD_DPLANE_SHUTDOWN,
		           .cpi = m->flags & BFD_DPLANE_CBIT},
	};
	return ENGINE_BFD_ACCEPTED;
}

static bool is_same(const struct engine_bfd_session *a, const struct engine_bfd_session *b)
{
	return a->multihop == b->multihop && a->interface == b->interface &&
	       net_addr_equal(&a->peer, &b->peer) && net_addr_equal(&a->local, &b->local);
}

/* The session of the same peer; NULL: none. */
static struct engine_bfd_session *same_as(const struct engine_bfd_session *e)
{
	for (unsigned n = 0; n < used_end; n++)
		if (session[n].used && is_same(&session[n], e))
			return &session[n];
	return NULL;
}

static struct engine_bfd_session *free_place(void)
{
	for (unsigned n = 0; n < ENGINE_BFD_SESSIONS; n++)
		if (!session[n].used) {
			used_end = u32_max(used_end, n + 1);
			return &session[n];
		}
	return NULL;
}

/* Begins the session that `wanted` describes, in a free place. */
static enum engine_bfd_refusal begin(const struct engine_bfd_session *wanted, uint32_t lid)
{
	struct engine_bfd_session *e = free_place();
	uint32_t random[2];
	if (!e)
		return ENGINE_BFD_REFUSED_FULL;
	core_random(random, sizeof random);
	*e = *wanted;
	e->used = e->tell = true;
	tell_ns = 0;
	e->changed_ns = core_now_ns();
	e->source_port = (uint16_t)(BFD_SOURCE_PORT_FIRST + random[0] % (65536 - BFD_SOURCE_PORT_FIRST));
	bfd_session_init(&e->s, lid, &wanted->s.wish, random[1], e->changed_ns);
	next_ns = 0;
	return ENGINE_BFD_ACCEPTED;
}

enum engine_bfd_refusal bfd_sessions_state(const struct bfd_dplane_session *m)
{
	struct engine_bfd_session wanted;
	const enum engine_bfd_refusal refusal = translate(m, &wanted);
	struct engine_bfd_session *e = bfd_sessions_find(m->lid);
	if (refusal) {
		if (e) /* what bfdd had stated before is obsolete */
			bfd_sessions_end(e);
		return refusal;
	}
	if (e && !is_same(e, &wanted)) {
		bfd_sessions_end(e);
		e = NULL;
	}
	if (!e) {
		/* bfdd chooses new discriminators when it starts: its former session ends */
		struct engine_bfd_session *former = same_as(&wanted);
		if (former && !former->stale)
			return ENGINE_BFD_REFUSED_DUPLICATE;
		if (former)
			former->used = false;
		return begin(&wanted, m->lid);
	}
	const enum bfd_state before = e->s.state;
	note(e, before, bfd_session_change(&e->s, &wanted.s.wish, core_now_ns()));
	e->least_ttl = wanted.least_ttl;
	e->stale = false;
	e->tell = true;
	next_ns = tell_ns = 0;
	return ENGINE_BFD_ACCEPTED;
}

void bfd_sessions_end(struct engine_bfd_session *e)
{
	struct bfd_wish wish = e->s.wish;
	struct bfd_packet p;
	wish.shutdown = true;
	(void)bfd_session_change(&e->s, &wish, core_now_ns());
	if (bfd_session_send(&e->s, core_now_ns(), &p))
		send_packet(e, &p);
	e->used = false;
}

void bfd_sessions_make_stale(void)
{
	for (unsigned n = 0; n < used_end; n++)
		session[n].stale = true;
}

void bfd_sessions_end_stale(void)
{
	for (unsigned n = 0; n < used_end; n++)
		if (session[n].used && session[n].stale)
			bfd_sessions_end(&session[n]);
}

void bfd_sessions_forget(void)
{
	for (unsigned n = 0; n < used_end; n++)
		session[n].used = false;
	used_end = 0;
	judge.taken_ns = 0;
}

/* --- time --- */

/* Expires the session if its detection time ended by then and all packets of that time have been
 * served. True: ask again at once. */
static bool judge_session(struct engine_bfd_session *e, uint64_t now_ns)
{
	if (e->s.detect_ns > now_ns)
		return false;
	if (judge.taken_ns == 0) {
		core_punt_mark(&judge.mark);
		judge.taken_ns = now_ns;
	}
	if (!core_punt_passed(&judge.mark))
		return true;
	const enum bfd_state before = e->s.state;
	note(e, before, bfd_session_expire(&e->s, judge.taken_ns, now_ns));
	return e->s.detect_ns <= now_ns; /* it ended after the mark: with the next one */
}

static void note_lateness(const struct engine_bfd_session *e, uint64_t now_ns)
{
	if (e->s.state == BFD_UP && !e->s.final && now_ns > e->s.tx_due_ns)
		engine_bfd_stats.late_us = u64_max(engine_bfd_stats.late_us,
		                                   (now_ns - e->s.tx_due_ns) / 1000);
}

uint64_t bfd_sessions_work(uint64_t now_ns)
{
	bool judging = false;
	if (now_ns < next_ns)
		return next_ns;
	next_ns = UINT64_MAX;
	for (unsigned n = 0; n < used_end; n++) {
		struct engine_bfd_session *e = &session[n];
		struct bfd_packet p;
		if (!e->used)
			continue;
		const bool again = judge_session(e, now_ns);
		judging |= again;
		note_lateness(e, now_ns);
		while (bfd_session_send(&e->s, now_ns, &p))
			send_packet(e, &p);
		next_ns = u64_min(next_ns, again ? now_ns : bfd_session_deadline(&e->s));
	}
	if (judge.taken_ns && core_punt_passed(&judge.mark))
		judge.taken_ns = 0;
	return judging ? now_ns : next_ns;
}

/* --- what bfdd is told --- */

static unsigned message_about(struct engine_bfd_session *e, uint8_t *out, uint64_t now_ns)
{
	const bool down_first = e->fell && e->s.state == BFD_UP;
	const struct bfd_session *s = &e->s;
	e->fell = false;
	e->tell = down_first;
	e->remote = false;
	e->told_ns = now_ns;
	return bfd_dplane_write_state(out, &(struct bfd_dplane_state){
		.lid = s->local_discr,
		.rid = s->remote_discr,
		.remote_cpi = s->remote_flags & BFD_CPI,
		.remote_demand = s->remote_flags & BFD_DEMAND,
		.desired_tx_us = s->remote_desired_tx_us,
		.required_rx_us = s->remote_required_rx_us,
		.required_echo_us = s->remote_echo_us,
		.state = (uint8_t)(down_first ? BFD_DOWN : s->state),
		.remote_diag = s->remote_diag,
		.remote_mult = s->remote_mult,
	});
}

unsigned bfd_sessions_tell(uint8_t *out, uint64_t now_ns, uint64_t *due_ns)
{
	*due_ns = tell_ns;
	if (now_ns < tell_ns)
		return 0;
	tell_ns = UINT64_MAX;
	for (unsigned n = 0; n < used_end; n++) {
		struct engine_bfd_session *e = &session[n];
		const uint64_t remote_ns = e->told_ns + REMOTE_EVERY_NS;
		if (!e->used || e->stale) /* a stale one is told when it is stated */
			continue;
		if (e->tell || (e->remote && remote_ns <= now_ns)) {
			tell_ns = 0;
			return message_about(e, out, now_ns);
		}
		if (e->remote)
			tell_ns = u64_min(tell_ns, remote_ns);
	}
	*due_ns = tell_ns;
	return 0;
}
