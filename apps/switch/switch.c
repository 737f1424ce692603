/*
 * The switch on a data core. One vector of one port goes through three passes, each over all its frames
 * (ARCHITECTURE.md, invariant 5). Ports are logical ones: a bundle of ports has one number, by which its
 * frames are learned and sent (dataplane/state.h, logical; runtime/bundle.h).
 *
 *     1. classify  VLAN and form of the frame; ingress rules (802.1Q 8.6.1, 8.6.2): the port carries the
 *                  VLAN, and is in a state that takes frames. Frames to reserved addresses go to
 *                  the control core, if it speaks their protocol, or are dropped. Then, where configured,
 *                  the access lists of the port (access.c).
 *     2. look up   sources and destinations in one batch (net/fdb). A source that is there at this port is
 *                  marked as used; another is reported (learn.c).
 *     3. send      to the port of the destination if that carries the VLAN and forwards (8.6.4), else to
 *                  all such ports, as far as storm control (storm.h) and snooping (snoop.h)
 *                  allow; never back. The tag is added, removed or left. Frames in a row to one port,
 *                  in the form in which they came, are sent at once. Before, where configured,
 *                  the access lists of the output ports.
 *
 * Frames of a flow stay in order: they take the same way through the passes, except in the moment in which
 * their destination is learned.
 *
 * Fates (net/counters.h). A frame that is sent on is `forwarded`, flooded or not. The copies of a flooded
 * one are our own packets (PKT_OWN), counted as switch_copies; those that find no room in a transmit ring
 * are originated_drop_tx. A frame to a group that the machine wants for itself (host.c) has the fate that
 * the control core gives it, and all that is flooded are copies.
 *
 * Deliberately missing: priorities (802.1Q 6.9.3: the tag's bits are kept where a tag stays, and are 0 in a
 * tag that is added), provider tags (0x88a8 is an EtherType like any other).
 */
#include "apps/switch/access.h"
#include "apps/switch/host.h"
#include "apps/switch/learn.h"
#include "apps/switch/mirror.h"
#include "apps/switch/plugin.h"
#include "apps/switch/send.h"
#include "apps/switch/snoop.h"
#include "apps/switch/storm.h"
#include "apps/switch/switch.h"
#include "control/control.h"
#include "dataplane/link_control.h"
#include "dataplane/trace_note.h"
#include "net/eth.h"

#define MAC_MASK 0xffffffffffffull

/* 01:80:c2:00:00:00 to 0f (802.1Q table 8-1), as loaded from a frame. */
#define RESERVED_MASK 0xf0ffffffffffull
#define RESERVED 0x00000000c28001ull

/* The frames of a vector that the ingress rules let in. They stay where they are, and close up. */
static struct passing {
	struct pkt *v;
	uint16_t vid[PKT_VECTOR_MAX];
	bool tagged[PKT_VECTOR_MAX];
	uint64_t station[2 * PKT_VECTOR_MAX]; /* of the sources; then, from n on, of the destinations */
	uint64_t to[PKT_VECTOR_MAX];
	unsigned n;
} passing;
/* The processor predicts the ends of no more runs: behind so many the rest of a vector is sent frame by frame. */
#define RUNS_MAX 6
_Static_assert(2 * PKT_VECTOR_MAX <= FDB_BATCH_MAX, "one look-up");

static void data_tables(void)
{
	dp_counted_start();
	switching = (struct switching){dp_get(), dp_get()->plugin_data, dp_get()->plugin_more, 0, 0, 0, 0, NULL};
	if (switching.shared) {
		learn_start(switching.shared, switching.fdb, false);
		storm_start(false);
	}
}

static void data_start(void)
{
	data_tables();
	if (switching.shared) {
		learn_start(switching.shared, switching.fdb, true);
		storm_start(true);
	}
}

/* --- pass 1 --- */

/* A checksum that a virtio peer has left to us lies behind the Ethernet header, or is none: the position is
 * the peer's word, and a device would write there, over a tag that has been checked. */
static void check_partial(struct pkt *p, unsigned headers)
{
	if (unlikely(p->flags & PKT_CSUM_PARTIAL) && pkt_meta(&self.pool, p->buf)->csum_start < headers)
		p->flags &= (uint8_t)~PKT_CSUM_PARTIAL;
}

/* The reason why a frame is not let in, or CNT_NONE. */
static inline enum counter refused(const struct pkt *p, unsigned port, unsigned vid, uint64_t to)
{
	const bool carried = switch_vlan_load(switching.shared, vid).member >> port & 1;
	if (unlikely((to & RESERVED_MASK) == RESERVED))
		return CNT_drop_switch_reserved;
	if (unlikely(!((switching.forwarding | switching.learning) >> port & 1)))
		return CNT_drop_switch_blocked;
	if (unlikely(!carried))
		return CNT_drop_switch_vlan;
	return likely(eth_is_station(p->data + ETH_ALEN)) ? CNT_NONE : CNT_drop_eth_src;
}

/* A frame to a reserved address may be of a protocol that the control core speaks; those have no tag. */
static COLD void refuse(struct pkt *p, enum counter why)
{
	if (why != CNT_drop_switch_reserved || vlan_is_tagged(p) || !link_control_punt(p, p->interface))
		core_drop(p, why);
}

static inline void classify(struct pkt *p, unsigned port, unsigned untagged)
{
	struct passing *s = &passing;
	if (unlikely(p->len < ETH_HLEN)) {
		core_drop(p, CNT_drop_eth_short);
		return;
	}
	bool tagged = vlan_is_tagged(p);
	unsigned vid = untagged;
	if (tagged) {
		vid = be16_load(p->data + 14) & ETH_VID_MASK;
		if (unlikely(vid == 0)) { /* the tag has only a priority (802.1Q 6.9.1) */
			vlan_pop(p);
			vid = untagged;
			tagged = false;
		}
	}
	const uint64_t to = raw64_load(p->data) & MAC_MASK;
	const enum counter why = refused(p, port, vid, to);
	if (unlikely(why != CNT_NONE)) {
		refuse(p, why);
		return;
	}
	check_partial(p, ETH_HLEN + (tagged ? ETH_TAG_LEN : 0));
	if (unlikely(&s->v[s->n] != p))
		s->v[s->n] = *p;
	s->vid[s->n] = (uint16_t)vid;
	s->tagged[s->n] = tagged;
	s->to[s->n] = to;
	s->station[s->n++] = fdb_station(p->data + ETH_ALEN, vid);
}

/* Takes the frames out of the vector that an access list has denied. found: their destinations, which close
 * up too; NULL before the look-up. */
static void close_up(const bool *denied, uint32_t *found)
{
	struct passing *s = &passing;
	unsigned m = 0;
	for (unsigned i = 0; i < s->n; i++) {
		if (denied[i])
			continue;
		s->v[m] = s->v[i];
		s->vid[m] = s->vid[i];
		s->tagged[m] = s->tagged[i];
		s->to[m] = s->to[i];
		s->station[m] = s->station[i];
		if (found)
			found[m] = found[i];
		m++;
	}
	s->n = m;
}

static __attribute__((noinline)) void filter_in(unsigned port)
{
	bool denied[PKT_VECTOR_MAX] = {false};
	struct passing *s = &passing;
	access_in(&(struct access_frames){s->v, s->tagged, s->vid, denied}, s->n, port);
	close_up(denied, NULL);
}

/* --- pass 2 --- */

/* Looks n stations up that may all be the same: those of a vector from a host, or of a stream to one, often are. */
static inline void look_up(const uint64_t *station, bool same, uint32_t *found, unsigned n)
{
	if (!same) {
		fdb_lookup_batch(switching.fdb, station, found, n);
		return;
	}
	const uint32_t it = fdb_lookup(switching.fdb, station[0]);
	for (unsigned i = 0; i < n; i++)
		found[i] = it;
}

/* Finds the stations of all frames: first the sources, then the destinations. Returns how many sources there are
 * to learn: one if all are the same. */
static unsigned look_up_all(uint32_t *found)
{
	struct passing *s = &passing;
	uint64_t from = 0, to = 0; /* bits in which not all are the same */
	for (unsigned i = 0; i < s->n; i++) {
		s->station[s->n + i] = s->to[i] << 16 | (uint64_t)s->vid[i] << 4;
		from |= s->station[i] ^ s->station[0];
		to |= s->station[s->n + i] ^ s->station[s->n];
	}
	if (from && to) {
		fdb_lookup_batch(switching.fdb, s->station, found, 2 * s->n);
	} else if (s->n) {
		look_up(s->station, !from, found, s->n);
		look_up(s->station + s->n, !to, found + s->n, s->n);
	}
	return from ? s->n : s->n != 0;
}

static void learn(const uint32_t *found, unsigned n, unsigned port)
{
	const struct passing *s = &passing;
	const uint16_t mark = learn_mark();
	uint16_t *marks = learn_marks;
	for (unsigned i = 0; i < n; i++) {
		const uint32_t slot = fdb_found_slot(found[i]);
		if (unlikely(found[i] == FDB_NONE || fdb_found_port(found[i]) != port)) {
			if (s->station[i] != fdb_station((const uint8_t *)&switching.shared->mac, s->vid[i]))
				learn_report(s->station[i], port);
		} else if (likely(marks) && unlikely(marks[slot] != mark)) {
			__atomic_store_n(&marks[slot], mark, __ATOMIC_RELAXED);
		}
	}
}

static COLD void note_stations(uint32_t source, uint32_t destination)
{
	trace_stations(passing.vid[0], source == FDB_NONE ? TRACE_NOWHERE : fdb_found_port(source),
	               destination == FDB_NONE ? TRACE_NOWHERE : fdb_found_port(destination));
}

/* --- pass 3 --- */

/* May the port flood the frame? CNT_NONE, or the reason why not (storm.h). */
static enum counter storm_check(const struct pkt *p, unsigned port)
{
	const enum switch_storm class = storm_class(p);
	const uint32_t limit = __atomic_load_n(&switching.shared->storm[port][class], __ATOMIC_RELAXED);
	return likely(limit == 0) ? CNT_NONE : storm_police(port, class, limit);
}

/* To all other ports of the VLAN. True: the received packet is on its way. */
static __attribute__((noinline)) bool flood(struct pkt *p, unsigned i, unsigned port, struct switch_vlan vlan)
{
	const bool tagged = passing.tagged[i];
	const unsigned tag = tagged ? ETH_TAG_LEN : 0, vid = passing.vid[i];
	struct snoop_way way = {vlan.member & switching.forwarding & ~(1u << port), CNT_drop_switch_no_port, false};
	const bool ours = vlan.interface && eth_is_multicast(p->data) &&
	                  host_wants(switching.dp, p, tag, vlan.interface);
	enum counter bad = storm_check(p, port);
	struct pkt copy;
	if (likely(bad == CNT_NONE) && eth_is_multicast(p->data))
		bad = snoop_route(p, tag, vid, port, &way);
	if (unlikely(bad != CNT_NONE)) {
		core_drop(p, bad);
		return false;
	}
	if (unlikely(switching.lists) && way.ports)
		way.ports = access_flood(p, tagged, way.ports, &way.why);
	count_n(CNT_switch_flooded, way.ports != 0);
	if (unlikely(ours || way.tell)) {
		pkt_csum_complete(&self.pool, p);
		if (way.ports && send_copy_of(p, &copy))
			count_n(CNT_switch_copies, send_flood(&copy, tagged, vlan, vid, way.ports));
		if (way.tell)
			snoop_tell(p, tag, vid, ours);
		if (ours)
			host_input(switching.dp, p, tag, vlan.interface);
		return false;
	}
	if (way.ports == 0) {
		core_drop(p, way.why);
		return false;
	}
	return send_flood(p, tagged, vlan, vid, way.ports);
}

/* The reason why a frame to a known station cannot be sent, or CNT_NONE. */
static inline enum counter unsendable(const struct pkt *p, bool tagged, unsigned port, unsigned to,
                                      struct switch_vlan vlan)
{
	if (unlikely(to == port))
		return CNT_drop_switch_same_port;
	if (unlikely(!((vlan.member & switching.forwarding) >> to & 1)))
		return CNT_drop_switch_no_port;
	return unlikely(send_len(p, tagged) > switching.shared->len_max[to]) ? CNT_drop_switch_too_big : CNT_NONE;
}

/*
 * Sends frames from number i on that leave by one port as they are, as long as they are of one VLAN and the port
 * takes their length. Returns how many. What is the same for all is asked once: without a device the switch takes
 * 39 cycles a frame instead of 44.
 */
static __attribute__((noinline)) unsigned run(const uint32_t *found, unsigned i, unsigned port)
{
	const struct passing *s = &passing;
	const unsigned vid = s->vid[i], to = fdb_found_port(found[i]);
	const bool tagged = s->tagged[i];
	const struct switch_vlan vlan = switch_vlan_load(switching.shared, vid);
	if (unlikely(to == port || !((vlan.member & switching.forwarding) >> to & 1) || tagged != (vlan.tagged >> to & 1)))
		return 0;
	const uint64_t ours = vlan.interface ? switching.shared->mac : ~0ull; /* no address has the upper bits */
	const unsigned most = switching.shared->len_max[to] + (tagged ? ETH_TAG_LEN : 0);
	struct pkt *end = core_tx_begin(to, s->n - i);
	const unsigned first = i;
	for (; i < s->n; i++) {
		if (unlikely(fdb_found_port(found[i]) != to || s->vid[i] != vid || s->tagged[i] != tagged) ||
		    unlikely(found[i] == FDB_NONE || s->to[i] == ours || s->v[i].len > most))
			break;
		*end++ = s->v[i];
	}
	core_tx_end(to, end);
	return i - first;
}

/* To the one port where its destination is. */
static inline bool unicast(struct pkt *p, unsigned i, unsigned port, unsigned to, struct switch_vlan vlan)
{
	const bool tagged = passing.tagged[i];
	enum counter why = unsendable(p, tagged, port, to, vlan);
	if (likely(why == CNT_NONE) && unlikely(!send_form(p, tagged, vlan.tagged >> to & 1, passing.vid[i])))
		why = CNT_drop_no_buffer;
	if (unlikely(why != CNT_NONE)) {
		core_drop(p, why);
		return false;
	}
	core_tx(to, p);
	return true;
}

/* Is the frame to the machine itself? */
static inline bool is_ours(unsigned i, struct switch_vlan vlan)
{
	return passing.to[i] == switching.shared->mac && vlan.interface;
}

/* Mirrors the frames that are to leave by one port, a source of a session. They get their form before, because
 * the mirrored frame shares it. */
static __attribute__((noinline)) void mirror_unicast(const uint32_t *found, unsigned port)
{
	struct passing *s = &passing;
	for (unsigned i = 0; i < s->n && switching.forwarding >> port & 1; i++) {
		const struct switch_vlan vlan = switch_vlan_load(switching.shared, s->vid[i]);
		if (is_ours(i, vlan) || found[i] == FDB_NONE)
			continue;
		const unsigned to = fdb_found_port(found[i]);
		const bool tagged = vlan.tagged >> to & 1;
		if (!(switching.mirror_tx >> to & 1) ||
		    unsendable(&s->v[i], s->tagged[i], port, to, vlan) != CNT_NONE)
			continue;
		if (!send_form(&s->v[i], s->tagged[i], tagged, s->vid[i]))
			continue; /* nor will it be sent */
		s->tagged[i] = tagged;
		mirror_sent(&s->v[i], to);
	}
}

/* Has the access lists of the output ports judge the frames that are to leave by one port. */
static __attribute__((noinline)) void filter_out(uint32_t *found, unsigned port)
{
	static uint16_t which[PKT_VECTOR_MAX];
	static uint8_t to[PKT_VECTOR_MAX];
	bool denied[PKT_VECTOR_MAX] = {false};
	struct passing *s = &passing;
	unsigned m = 0;
	for (unsigned i = 0; i < s->n && switching.forwarding >> port & 1; i++) {
		const struct switch_vlan vlan = switch_vlan_load(switching.shared, s->vid[i]);
		if (is_ours(i, vlan) || found[i] == FDB_NONE)
			continue;
		to[m] = (uint8_t)fdb_found_port(found[i]);
		which[m] = (uint16_t)i;
		m += unsendable(&s->v[i], s->tagged[i], port, to[m], vlan) == CNT_NONE;
	}
	access_out(&(struct access_frames){s->v, s->tagged, NULL, denied}, which, to, m);
	close_up(denied, found);
}

/* The port learns, but does not forward. */
static COLD void block(void)
{
	for (unsigned i = 0; i < passing.n; i++)
		core_drop(&passing.v[i], CNT_drop_switch_blocked);
}

/* Returns how many received packets are on their way. */
static unsigned send(const uint32_t *found, unsigned port)
{
	struct passing *s = &passing;
	const uint64_t mac = switching.shared->mac;
	unsigned forwarded = 0;
	if (unlikely(!(switching.forwarding >> port & 1))) {
		block();
		return 0;
	}
	for (unsigned i = 0, runs = 0; i < s->n;) {
		struct pkt *p = &s->v[i];
		core_current_next(p);
		const unsigned sent = runs++ < RUNS_MAX && found[i] != FDB_NONE ? run(found, i, port) : 0;
		if (sent) {
			forwarded += sent;
			i += sent;
			continue;
		}
		const struct switch_vlan vlan = switch_vlan_load(switching.shared, s->vid[i]);
		if (unlikely(s->to[i] == mac) && vlan.interface)
			host_input(switching.dp, p, s->tagged[i] ? ETH_TAG_LEN : 0, vlan.interface);
		else if (likely(found[i] != FDB_NONE))
			forwarded += unicast(p, i, port, fdb_found_port(found[i]), vlan);
		else
			forwarded += flood(p, i, port, vlan);
		i++;
	}
	return forwarded;
}

/* There was no memory for the tables. */
static COLD void refuse_all(const struct pkt *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		core_drop(&v[i], CNT_drop_port_down);
	core_current.data = 0;
}

static void rx_vector(struct pkt *v, unsigned n, unsigned port)
{
	uint32_t found[2 * PKT_VECTOR_MAX];
	struct passing *s = &passing;
	core_current_set(&v[0], n);
	if (unlikely(!switching.shared)) {
		refuse_all(v, n);
		return;
	}
	send_look();
	if (unlikely(switching.mirror_rx >> port & 1))
		mirror_received(v, n, port);
	s->v = v;
	s->n = 0;
	const unsigned logical = __atomic_load_n(&switching.dp->logical[port], __ATOMIC_RELAXED);
	const unsigned untagged = __atomic_load_n(&switching.shared->untagged[logical], __ATOMIC_RELAXED);
	for (unsigned i = 0; i < n; i++)
		classify(&v[i], logical, untagged);
	if (unlikely(switching.lists))
		filter_in(logical);
	if (likely(switching.fdb))
		learn(found, look_up_all(found), logical);
	else
		memset(found, 0xff, sizeof found); /* FDB_NONE */
	uint32_t *to = found + s->n;
	if (core_traces() && s->n)
		note_stations(found[0], to[0]);
	if (unlikely(switching.lists))
		filter_out(to, logical);
	if (unlikely(switching.mirror_tx))
		mirror_unicast(to, logical);
	core_forwarded(port, send(to, logical));
	core_current.data = 0;
}

static void data_msg(struct pkt *p, uint32_t arg)
{
	if (arg > APP_BRIDGE && arg - APP_BRIDGE <= ETH_VID_MAX && switching.shared)
		send_own(p, arg - APP_BRIDGE);
	else
		pkt_free(&self.pool, p);
}

const struct app switch_app = {
	.control = &control_plane_hooks,
	.plugin = &switch_plugin,
	.data_bytes = learn_bytes,
	.data_start = data_start,
	.data_tables = data_tables,
	.rx_vector = rx_vector,
	.promiscuous = true,
	.moves = true,
	.data_msg = data_msg,
};
