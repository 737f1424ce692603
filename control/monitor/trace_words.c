/*
 * Prints the story of a followed packet: a line for each event, which begins with its kind. Every
 * number of the record is checked before it is used (trace_ring.h, invariant 3).
 */
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "net/arp.h"
#include "net/nd.h"
#include "control/forwarding/filter.h"
#include "control/monitor/trace.h"

#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/ip.h"
#include "net/match.h"

#define LINE_BYTES 320

/* --- the frame, in one line --- */

/* Where the IP packet begins in the head of a frame. */
static unsigned ip_at(const struct trace_record *r)
{
	return be16_load(r->head + 12) == ETH_TYPE_VLAN ? ETH_HLEN + ETH_TAG_LEN : ETH_HLEN;
}

static void put_proto(struct fmt_buf *l, const struct match_frame *f)
{
	static const struct {
		uint8_t number;
		const char *word;
	} row[] = {{IP4_PROTO_ICMP, "icmp"}, {IP4_PROTO_TCP, "tcp"}, {IP4_PROTO_UDP, "udp"},
	           {IP6_ICMP6, "icmp6"}};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++)
		if (f->proto == row[i].number) {
			fmt_put(l, ", %s", row[i].word);
			return;
		}
	fmt_put(l, ", protocol %u", f->proto);
}

/* Type and code of ICMP, unless the packet is a later fragment or has IPv6 extension headers. */
static void put_icmp(struct fmt_buf *l, const struct match_frame *f, const uint8_t *ip, unsigned len)
{
	unsigned at = f->type == ETH_TYPE_IP4 ? ip4_header_len(ip) : IP6_HLEN;
	bool four = f->type == ETH_TYPE_IP4 && f->proto == IP4_PROTO_ICMP &&
	            !(be16_load(ip + 6) & IP4_OFFSET_MASK);
	bool six = f->type == ETH_TYPE_IP6 && ip6_next(ip) == IP6_ICMP6;
	if ((four || six) && len >= at + 2)
		fmt_put(l, " type %u code %u", ip[at], ip[at + 1]);
}

static void put_ip(struct fmt_buf *l, const struct match_frame *f, const uint8_t *ip, unsigned len)
{
	put_proto(l, f);
	if (f->has_port)
		fmt_put(l, " %u > %u", f->src_port, f->dst_port);
	put_icmp(l, f, ip, len);
	if (f->type == ETH_TYPE_IP4 && be16_load(ip + 6) & (IP4_OFFSET_MASK | IP4_FLAG_MF))
		fmt_put(l, ", fragment at %u", (be16_load(ip + 6) & IP4_OFFSET_MASK) * 8u);
	fmt_put(l, ", ttl %u", f->type == ETH_TYPE_IP4 ? ip4_ttl(ip) : ip6_hop_limit(ip));
}

static void print_frame(struct shell *sh, const struct trace_record *r)
{
	unsigned len = u32_min(r->len, TRACE_HEAD);
	char a[FMT_ADDR_MAX], b[FMT_ADDR_MAX];
	char text[LINE_BYTES];
	struct fmt_buf l = {.at = text, .size = sizeof text};
	struct match_frame f;
	if (len < ETH_HLEN)
		return;
	match_read(&f, r->head, len);
	fmt_put(&l, "%s > %s", fmt_mac(a, r->head + ETH_ALEN), fmt_mac(b, r->head));
	if (f.vlan != MATCH_ANY)
		fmt_put(&l, ", vlan %u", f.vlan);
	if (f.type != ETH_TYPE_IP4 && f.type != ETH_TYPE_IP6 && f.type != ETH_TYPE_ARP)
		fmt_put(&l, ", type %04x", f.type);
	if (f.has_addr)
		fmt_put(&l, ", %s%s > %s", f.type == ETH_TYPE_ARP ? "arp " : "", fmt_addr(a, f.src.w),
		    fmt_addr(b, f.dst.w));
	if (f.has_addr && f.type != ETH_TYPE_ARP && len > ip_at(r) &&
	    be16_load(r->head + ip_at(r) - 2) == f.type) /* no second tag */
		put_ip(&l, &f, r->head + ip_at(r), len - ip_at(r));
	shell_print(sh, "  frame     %s\n", text);
}

/* --- notes --- */

/* An interface's name; "?" if there is none, because the number comes from a data core. */
static const char *name_of(unsigned interface)
{
	return dp_exists(dp_get(), interface) ? dp_name(dp_get(), interface) : "?";
}

/* A next hop in words, such as "via 192.0.2.1 eth1". */
static void next_hop_text(char *buf, size_t size, uint32_t nh)
{
	char text[FMT_ADDR_MAX];
	struct net_addr addr;
	if (nh < NH_CONNECTED) {
		fmt_format(buf, size, "%s", dp_special(nh));
	} else if (dp_is_connected(nh)) {
		fmt_format(buf, size, "connected %s, neighbour not asked for yet",
		           name_of(nh - NH_CONNECTED));
	} else if (nh < NH_NEIGHBOUR || nh >= NH_MAX || !forwarding.ready) {
		fmt_format(buf, size, "next hop %u", nh);
	} else {
		addr = neighbour_addr(nh);
		fmt_format(buf, size, "via %s %s", fmt_addr(text, addr.w),
		           name_of(dp_get()->adj[nh].interface));
	}
}

/* Returns the number of a group's members. *among: nh is one, or is on a link that is one. */
static unsigned members(uint32_t group, uint32_t nh, bool *among)
{
	const struct dp_state *v = dp_get();
	const uint16_t *member = v->group[group - NH_GROUP].member;
	int interface = nh < NH_MAX ? dp_interface_of(v, nh) : -1;
	unsigned n = 0;
	*among = false;
	for (unsigned i = 0; i < ECMP_MEMBERS_MAX; i++) {
		n += member[i] != NH_NONE;
		*among |= member[i] == nh ||
		          (dp_is_connected(member[i]) &&
		           interface == (int)(member[i] - NH_CONNECTED));
	}
	return n;
}

/* Does a prefix whose next hop is `to` lead to nh? */
static bool leads_to(uint32_t to, uint32_t nh)
{
	bool among = to == nh;
	if (dp_is_group(to) && !among)
		members(to, nh, &among);
	return among && to != NH_NONE;
}

/* Writes the longest prefix of dst that leads to nh, which the record does not contain. Returns the
 * prefix's next hop, which may be a group with nh as a member. NH_NONE: there is no such prefix, or
 * no longer. */
static uint32_t prefix_text4(char *buf, uint32_t dst, uint32_t nh)
{
	for (unsigned plen = 33; plen-- > 0;) {
		uint32_t prefix = dst & ip4_prefix_mask(plen), to = fib4_get(&forwarding.fib, prefix, plen);
		if (leads_to(to, nh)) {
			fmt_prefix(buf, prefix, plen);
			return to;
		}
	}
	return NH_NONE;
}

/* The same for IPv6. A connected prefix matches any nh: the data core found the neighbour on its
 * link by dp_host6. */
static uint32_t prefix_text6(char *buf, const struct net_addr *dst, uint32_t nh)
{
	for (unsigned plen = 129; plen-- > 0;) {
		const struct net_addr prefix = ip6_prefix_of(dst, plen);
		uint32_t to = fib6_get(&forwarding.fib6, &prefix, plen);
		if (leads_to(to, nh) || dp_is_connected(to)) {
			fmt_prefix6(buf, prefix.w, plen);
			return to;
		}
	}
	return NH_NONE;
}

/* The route to addr in words, such as "192.0.2.0/24 via 192.0.2.2 eth0". */
static void way_text(char *buf, size_t size, const struct net_addr *addr, uint32_t nh)
{
	char prefix[FMT_PREFIX6_MAX], hop[100], one_of[24] = "";
	bool four = net_addr_is_ip4(addr), known = forwarding.ready && nh != NH_NONE, among;
	uint32_t to = NH_NONE;
	if (known && four)
		to = prefix_text4(prefix, net_addr_to_ip4(addr), nh);
	else if (known && !ip6_is_link_local(addr) && !ip6_is_multicast(addr))
		to = prefix_text6(prefix, addr, nh);
	if (dp_is_group(to))
		fmt_format(one_of, sizeof one_of, "one of %u, ", members(to, nh, &among));
	next_hop_text(hop, sizeof hop, nh);
	fmt_format(buf, size, "%s%s%s%s", to == NH_NONE ? "" : prefix, to == NH_NONE ? "" : " ", one_of,
	           nh == to && dp_is_group(nh) ? "by any member" : hop);
}

/* The header fields of the packet. */
static struct match_frame frame_of(const struct trace_record *r)
{
	struct match_frame f;
	match_read(&f, r->head, u32_min(r->len, TRACE_HEAD));
	return f;
}

static void print_source(struct shell *sh, const struct trace_record *r, const struct trace_note *n)
{
	const struct match_frame f = frame_of(r);
	char text[160];
	way_text(text, sizeof text, &f.src, n->number);
	shell_print(sh, "  source    the route back is %s\n", text);
}

static void print_way(struct shell *sh, const struct trace_record *r, const struct trace_note *n)
{
	const struct match_frame f = frame_of(r);
	char text[160], mac[FMT_MAC_MAX];
	unsigned mtu = n->more & TRACE_WAY_MTU;
	way_text(text, sizeof text, &f.dst, n->number);
	shell_print(sh, "  route     %s\n", text);
	if (n->number < NH_NEIGHBOUR || n->number >= NH_MAX)
		return;
	if (n->more & TRACE_WAY_KNOWN)
		shell_print(sh, "  neighbour %s %s\n",
		            fmt_mac(mac, dp_get()->adj[n->number].header), name_of(n->port));
	else
		shell_print(sh, "  neighbour not known, or its link is down\n");
	shell_print(sh, "  mtu       %u, the packet has %u: %s\n", mtu, n->word,
	            n->word <= mtu ? "fits" : "too large");
}

static void print_filter(struct shell *sh, const struct trace_note *n)
{
	char text[300];
	const bool out = n->word & TRACE_FILTER_OUT, six = n->word & TRACE_FILTER_SIX;
	const enum config_filter_direction direction =
		n->word & TRACE_FILTER_MAC ? CONFIG_FILTER_IN_MAC
		: out                      ? six ? CONFIG_FILTER_OUT6 : CONFIG_FILTER_OUT4
		: six                      ? CONFIG_FILTER_IN6
		                           : CONFIG_FILTER_IN4;
	if (!dp_exists(dp_get(), n->port))
		return;
	filter_text(text, sizeof text, (n->word & TRACE_FILTER_SET) != 0, n->port, direction,
	            n->number);
	shell_print(sh, "  filter    %s %s, %s\n", name_of(n->port), out ? "out" : "in", text);
}

static void print_counted(struct shell *sh, const struct trace_note *n)
{
	static const char *const word[] = {[COUNTER_FATE] = "fate", [COUNTER_DROP] = "dropped",
	                                   [COUNTER_INFO] = "counted"};
	char times[16] = "";
	if (n->number >= CNT_MAX)
		return;
	const struct counter_desc *d = &counter_desc[n->number];
	if (n->more > 1)
		fmt_format(times, sizeof times, "%u x ", n->more);
	shell_print(sh, "  %-9s %s%s: %s\n", word[d->kind], times, d->name, d->help);
}

static void print_sent(struct shell *sh, const struct trace_note *n)
{
	char frames[32] = "", waits[48] = "";
	if (n->number > 1)
		fmt_format(frames, sizeof frames, ", %u frames", n->number);
	if (n->more)
		fmt_format(waits, sizeof waits, ", where %u wait for room in the ring", n->more);
	shell_print(sh, "  sent      eth%u%s%s\n", n->port, frames, waits);
}

static void print_punted(struct shell *sh, const struct trace_note *n)
{
	static const char *const what[PUNT_KINDS] = {
		[PUNT_ARP] = "an ARP message",
		[PUNT_ND] = "a neighbour discovery message",
		[PUNT_LOCAL] = "a packet to the machine itself",
		[PUNT_TCP] = "a segment to the machine itself",
		[PUNT_BFD] = "a BFD packet to the machine itself",
		[PUNT_BFD_MULTIHOP] = "a multihop BFD packet to the machine itself",
		[PUNT_FRAGMENT] = "a fragment to the machine itself",
		[PUNT_RESOLVE] = "a packet whose neighbour is not known",
		[PUNT_OWN] = "an answer of ours whose neighbour is not known",
		[PUNT_VXLAN] = "a VXLAN packet of the routing engine",
	};
	const char *const other = n->number < PUNT_LINK  ? "a frame for the routing engine"
	                          : n->number < PUNT_APP ? "a frame of a link protocol"
	                                                 : "a message for snooping";
	shell_print(sh, "  control   takes %s\n", n->number < PUNT_KINDS ? what[n->number] : other);
}

static bool counts(const struct trace_note *note, unsigned n, enum counter c)
{
	for (unsigned i = 0; i < n; i++)
		if (note[i].kind == TRACE_COUNTED && note[i].number == c)
			return true;
	return false;
}

/* The TTL of a packet that was forwarded, or that waits for its neighbour to be forwarded. */
static void print_ttl(struct shell *sh, const struct trace_record *r, const struct trace_notes *more)
{
	const uint8_t *ip = r->head + ip_at(r);
	unsigned ttl = ip_is_ip6(ip) ? ip6_hop_limit(ip) : ip4_ttl(ip);
	if (counts(r->note, u32_min(r->notes, TRACE_NOTES), CNT_forwarded) ||
	    (more->n && more->note[0].kind == TRACE_PUNTED && more->note[0].number == PUNT_RESOLVE))
		shell_print(sh, "  ttl       %u to %u\n", ttl, ttl - 1);
}

/* The name of the port at which stations are known: of its port channel, if it is in one. */
static const char *station_port(unsigned port)
{
	const unsigned bundle = dp_get()->bundle_interface[port];
	return name_of(bundle ? bundle : port);
}

/* The port is that of a station, or none. */
static void print_station(struct shell *sh, const char *word, uint32_t port, const char *unknown)
{
	if (port < NIC_PORTS_MAX)
		shell_print(sh, "  %-9s known at %s\n", word, station_port(port));
	else
		shell_print(sh, "  %-9s %s\n", word, unknown);
}

static void print_bridge(struct shell *sh, const struct trace_record *r, const struct trace_note *n)
{
	char unknown[64];
	const unsigned port = r->port % NIC_PORTS_MAX; /* of untrusted memory */
	fmt_format(unknown, sizeof unknown, "not known at %s: to be learned", station_port(port));
	shell_print(sh, "  vlan      %u\n", n->word);
	print_station(sh, "source", n->number == dp_get()->logical[port] ? n->number : NIC_PORTS_MAX, unknown);
	print_station(sh, "station", n->more, eth_is_multicast(r->head) ? "a group" : "not known");
}

static bool is_decision(const struct trace_note *n)
{
	return n->kind == TRACE_FILTER || n->kind == TRACE_SOURCE || n->kind == TRACE_WAY || n->kind == TRACE_BRIDGE;
}

static bool has_kind(const struct trace_note *note, unsigned n, enum trace_kind kind)
{
	for (unsigned i = 0; i < n; i++)
		if (note[i].kind == kind)
			return true;
	return false;
}

static void print_note(struct shell *sh, const struct trace_record *r, const struct trace_note *n)
{
	switch ((enum trace_kind)n->kind) {
	case TRACE_FILTER:
		print_filter(sh, n);
		break;
	case TRACE_SOURCE:
		print_source(sh, r, n);
		break;
	case TRACE_WAY:
		print_way(sh, r, n);
		break;
	case TRACE_BRIDGE:
		print_bridge(sh, r, n);
		break;
	case TRACE_COUNTED:
		print_counted(sh, n);
		break;
	case TRACE_SENT:
		print_sent(sh, n);
		break;
	default:
		break;
	}
}

/* Prints a note of the control core. */
static void print_more(struct shell *sh, const struct trace_note *n)
{
	if (n->kind == TRACE_PUNTED)
		print_punted(sh, n);
	else if (n->kind == TRACE_WAITS)
		shell_print(sh, "  control   it waits for its neighbour to answer\n");
	else if (n->kind == TRACE_SENT)
		shell_print(sh, "  control   %s\n", n->number ? "sends an answer of ours"
		                                              : "the neighbour is known: sends it");
	else
		print_counted(sh, n);
}

void trace_print(struct shell *sh, unsigned number, unsigned core, const struct trace_record *r,
                 const struct trace_notes *more, bool whole)
{
	unsigned notes = u32_min(r->notes, TRACE_NOTES);
	shell_print(sh, "packet %u\n", number);
	shell_print(sh, "  received  eth%u, core %u, queue %u, %u bytes\n", r->port, core, r->pair, r->len);
	print_frame(sh, r);
	if (notes && is_decision(&r->note[0]) && r->note[0].kind != TRACE_BRIDGE)
		shell_print(sh, "  header    correct\n");
	for (unsigned i = 0; i < notes; i++)
		if (is_decision(&r->note[i]))
			print_note(sh, r, &r->note[i]);
	if (!has_kind(r->note, notes, TRACE_BRIDGE))
		print_ttl(sh, r, more);
	for (unsigned i = 0; i < notes; i++)
		if (!is_decision(&r->note[i]))
			print_note(sh, r, &r->note[i]);
	for (unsigned i = 0; i < more->n; i++)
		print_more(sh, &more->note[i]);
	if (!whole)
		shell_print(sh, "  control   has not finished with it\n");
}
