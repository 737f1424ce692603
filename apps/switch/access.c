/*
 * Access lists on ports of the switch (net/acl/acl.h, dataplane/filter.h).
 *
 *     in    frames that the VLAN rules let in, before their source is learned: a denied station is not
 *           learned. Frames to the machine itself too
 *     out   frames that are sent on, by the port that they leave by; a flooded frame is judged for each
 *           port. Not the machine's own frames
 *
 * `in` lists of MAC addresses judge every frame that the VLAN rules let in (net/acl/mac.h), before the lists of
 * IP judge those that it permits: a frame passes if all its lists permit it.
 *
 * A list of IPv4 or IPv6 judges frames with that EtherType, behind the VLAN tag if there is one. Other frames
 * pass: ARP, frames with a second tag, IP in other encapsulations. An IP packet whose header is not whole and
 * correct cannot be judged, so it is dropped under the reason of filter_readable: nothing passes a list
 * because it is malformed. The switch sends no ICMP errors.
 *
 * The lists may change at any time. One vector is judged by those that were in use when it arrived
 * (switching.lists, which is NULL while no interface has one).
 */
#include "apps/switch/access.h"

#include "dataplane/filter.h"
#include "dataplane/trace_note.h"

/* A device writes an uncompleted checksum where its sender, who may lie, has said. Unless that is the
 * checksum of the TCP or UDP header that a list reads, it is written now: a list must see what is sent. */
static void settle_checksum(struct pkt *p, unsigned head)
{
	struct pkt_headers h;
	if (likely(!(p->flags & PKT_CSUM_PARTIAL)))
		return;
	const bool known = pkt_find_headers(&self.pool, p, &h) && h.l3 == head &&
	                   (!h.ip4 || h.l4 - h.l3 == ip4_header_len(p->data + head));
	if (!known)
		pkt_csum_complete(&self.pool, p);
}

static inline unsigned head_of(bool tagged) { return ETH_HLEN + (tagged ? (unsigned)ETH_TAG_LEN : 0); }

/* Is the frame of that IP version? */
static inline bool is_ip(const struct pkt *p, unsigned head, bool six)
{
	return raw16_load(p->data + head - 2) == (six ? BE16(ETH_TYPE_IP6).raw : BE16(ETH_TYPE_IP4).raw);
}

static void deny(const struct access_frames *f, unsigned i, enum counter why)
{
	core_drop(&f->v[i], why);
	f->denied[i] = true;
}

/* Has a list of one version judge n of the frames. */
static void judge(const struct access_frames *f, const uint16_t *which, unsigned n, const struct dp_filter *list,
                  bool six, enum counter reason)
{
	static const uint8_t *ip[PKT_VECTOR_MAX];
	static uint32_t rule[PKT_VECTOR_MAX];
	static uint16_t asked[PKT_VECTOR_MAX];
	unsigned m = 0;
	for (unsigned k = 0; k < n; k++) {
		struct pkt *p = &f->v[which[k]];
		const unsigned head = head_of(f->tagged[which[k]]);
		if (f->denied[which[k]] || !is_ip(p, head, six))
			continue;
		settle_checksum(p, head);
		const enum counter why = filter_readable(p->data + head, p->len - head, six);
		if (unlikely(why != CNT_NONE)) {
			deny(f, which[k], why);
			continue;
		}
		ip[m] = p->data + head;
		asked[m++] = which[k];
	}
	filter_ask(list, ip, rule, m);
	for (unsigned k = 0; k < m; k++)
		if (!acl_permits(list->acl, rule[k]))
			deny(f, asked[k], filter_reason(list, rule[k], reason));
}

/* Has the lists of both versions judge n of the frames; list[1] is of IPv6. */
static void judge_both(const struct access_frames *f, const uint16_t *which, unsigned n,
                       const struct dp_filter list[2], enum counter reason)
{
	for (unsigned six = 0; six < 2; six++)
		if (list[six].acl)
			judge(f, which, n, &list[six], six, reason);
}

/* Has a list of MAC addresses judge the frames. */
static void judge_mac(const struct access_frames *f, unsigned n, const struct dp_filter_mac *list)
{
	uint64_t *count = &dp_counted()->filter[list->counts];
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *frame = f->v[i].data;
		const uint16_t type = be16_load(frame + head_of(f->tagged[i]) - 2);
		const uint32_t rule = acl_mac_first(list->acl, acl_mac_key(frame, type, f->vid[i]));
		count[rule]++;
		if (core_traces())
			trace_filter_mac(list, rule);
		if (!acl_mac_permits(list->acl, rule))
			deny(f, i, CNT_drop_acl_in);
	}
}

/* The lists of a logical port: of a bundle, those of its own interface. */
static const struct dp_filters *lists_of(unsigned port)
{
	const unsigned bundle = port < NIC_PORTS_MAX ? switching.dp->bundle_interface[port] : 0;
	return &switching.lists->interface[bundle ? bundle : port];
}

void access_in(const struct access_frames *f, unsigned n, unsigned port)
{
	const struct dp_filters *lists = lists_of(port);
	static uint16_t all[PKT_VECTOR_MAX];
	for (unsigned i = 0; i < n; i++)
		all[i] = (uint16_t)i;
	if (lists->mac.acl)
		judge_mac(f, n, &lists->mac);
	judge_both(f, all, n, lists->in, CNT_drop_acl_in);
}

void access_out(const struct access_frames *f, const uint16_t *which, const uint8_t *to, unsigned n)
{
	static uint16_t of_port[PKT_VECTOR_MAX];
	for (unsigned port = 0; port < NIC_PORTS_MAX; port++) {
		const struct dp_filter *list = lists_of(port)->out;
		unsigned m = 0;
		if (!list[0].acl && !list[1].acl)
			continue;
		for (unsigned k = 0; k < n; k++)
			if (to[k] == port)
				of_port[m++] = which[k];
		judge_both(f, of_port, m, list, CNT_drop_acl_out);
	}
}

/* The counter of the drop if the list of one version denies the packet, else CNT_NONE. */
static enum counter judge_one(struct pkt *p, unsigned head, const struct dp_filter *list, bool six)
{
	uint32_t rule;
	if (!list->acl || !is_ip(p, head, six))
		return CNT_NONE;
	settle_checksum(p, head);
	const uint8_t *ip = p->data + head;
	const enum counter why = filter_readable(ip, p->len - head, six);
	if (why != CNT_NONE)
		return why;
	filter_ask(list, &ip, &rule, 1);
	return acl_permits(list->acl, rule) ? CNT_NONE : filter_reason(list, rule, CNT_drop_acl_out);
}

uint32_t access_flood(struct pkt *p, bool tagged, uint32_t ports, enum counter *why)
{
	uint32_t permitted = 0;
	for (; ports; ports &= ports - 1) {
		const unsigned port = (unsigned)__builtin_ctz(ports);
		const struct dp_filter *list = lists_of(port)->out;
		enum counter bad = judge_one(p, head_of(tagged), &list[0], false);
		if (bad == CNT_NONE)
			bad = judge_one(p, head_of(tagged), &list[1], true);
		if (bad == CNT_NONE)
			permitted |= 1u << port;
		else
			*why = bad;
	}
	return permitted;
}
