/*
 * The data of a failed program (abi/coredump.h). This file registers the memory that the kernel is to copy, and
 * formats the copy as text: the XDP program that ran, the state of the queues, the packets received last, newest
 * first, and the events of the core (runtime/events.h). All of it comes from a program that failed and may be
 * corrupt.
 *
 * A packet's bytes are those in its buffer at the time of the failure; a forwarded packet appears
 * as it was sent. Buffers go to the end of a receive ring, so the buffers of the last packets are
 * seldom reused. If one was, two packets name the same buffer, and the line of the older packet
 * says so. A buffer may also have been reused for a packet that the machine made itself; this is
 * not detected.
 */
#include "runtime/shared.h"
#include "lib/bytes.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

#define ETHER_BYTES 14
#define TAG_BYTES 4
#define IP4_BYTES 20
#define IP6_BYTES 40
#define ARP_BYTES 28
#define PROTO_TCP 6
#define PROTO_UDP 17

/* --- frames --- */

static const char *protocol_name(unsigned proto)
{
	switch (proto) {
	case 1: return "ICMP";
	case 2: return "IGMP";
	case PROTO_TCP: return "TCP";
	case PROTO_UDP: return "UDP";
	case 47: return "GRE";
	case 50: return "ESP";
	case 58: return "ICMPv6";
	case 89: return "OSPF";
	default: return NULL;
	}
}

/* Writes the protocol, and the ports if it has any; `bytes` bytes of its header are at `l4`. */
static void say_protocol(struct fmt_buf *p, unsigned proto, const uint8_t *l4, size_t bytes)
{
	const char *name = protocol_name(proto);
	if (name)
		fmt_put(p, " %s", name);
	else
		fmt_put(p, " protocol %u", proto);
	if ((proto == PROTO_TCP || proto == PROTO_UDP) && bytes >= 4)
		fmt_put(p, " %u > %u", be16_load(l4), be16_load(l4 + 2));
}

static void say_ip4(struct fmt_buf *p, const uint8_t *ip, size_t bytes)
{
	char from[FMT_IP4_MAX], to[FMT_IP4_MAX];
	if (bytes < IP4_BYTES) {
		fmt_put(p, " IPv4, cut");
		return;
	}
	unsigned hlen = (ip[0] & 15u) * 4, fragment = be16_load(ip + 6) & 0x1fff;
	fmt_put(p, " %s > %s", fmt_ip4(from, be32_load(ip + 12)), fmt_ip4(to, be32_load(ip + 16)));
	say_protocol(p, ip[9], ip + hlen, hlen >= IP4_BYTES && hlen < bytes && !fragment ? bytes - hlen : 0);
	fmt_put(p, " ttl %u%s", ip[8], fragment ? " fragment" : "");
}

static void say_ip6(struct fmt_buf *p, const uint8_t *ip, size_t bytes)
{
	char from[FMT_IP6_MAX], to[FMT_IP6_MAX];
	if (bytes < IP6_BYTES) {
		fmt_put(p, " IPv6, cut");
		return;
	}
	fmt_put(p, " %s > %s", fmt_ip6(from, ip + 8), fmt_ip6(to, ip + 24));
	say_protocol(p, ip[6], ip + IP6_BYTES, bytes - IP6_BYTES);
	fmt_put(p, " hop limit %u", ip[7]);
}

static void say_arp(struct fmt_buf *p, const uint8_t *arp, size_t bytes)
{
	char from[FMT_IP4_MAX], to[FMT_IP4_MAX];
	if (bytes < ARP_BYTES)
		fmt_put(p, " ARP, cut");
	else
		fmt_put(p, " ARP %s > %s operation %u", fmt_ip4(from, be32_load(arp + 14)),
		    fmt_ip4(to, be32_load(arp + 24)), be16_load(arp + 6));
}

/* Describes a frame, as far as its first bytes show. */
static void say_frame(struct fmt_buf *p, const uint8_t *f, size_t bytes)
{
	size_t l3 = ETHER_BYTES;
	while (bytes >= l3 + TAG_BYTES && (be16_load(f + l3 - 2) == 0x8100 || be16_load(f + l3 - 2) == 0x88a8)) {
		fmt_put(p, " vlan %u", be16_load(f + l3) & 0xfff);
		l3 += TAG_BYTES;
	}
	if (bytes < l3)
		return;
	unsigned type = be16_load(f + l3 - 2);
	switch (type) {
	case 0x0800: say_ip4(p, f + l3, bytes - l3); break;
	case 0x86dd: say_ip6(p, f + l3, bytes - l3); break;
	case 0x0806: say_arp(p, f + l3, bytes - l3); break;
	default: fmt_put(p, " type %04x", type);
	}
}

/* --- packets --- */

/* The index of the newest packet in the same buffer as the i-th; i if none is newer. */
static unsigned newer_in_buffer(const struct crash *c, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (c->pkt[k].handle.buf == c->pkt[i].handle.buf)
			return k;
	return i;
}

static void say_packet(struct fmt_buf *p, const struct crash *c, unsigned i)
{
	const struct coredump_pkt *k = &c->pkt[i];
	unsigned newer = newer_in_buffer(c, i);
	size_t bytes = k->bytes <= COREDUMP_HEADER ? k->bytes : 0;
	fmt_put(p, "  %3u port %u, %u bytes:", i + 1, k->handle.port, k->handle.len);
	if (newer != i) {
		fmt_put(p, " in the buffer of %u\n", newer + 1);
		return;
	}
	if (bytes == 0) {
		fmt_put(p, " not readable\n");
		return;
	}
	say_frame(p, k->header, bytes);
	for (size_t b = 0; b < bytes; b++)
		fmt_put(p, "%s%02x", b == 0 ? "\n      " : b % 4 == 0 ? " " : "", k->header[b]);
	fmt_put(p, "\n");
}

/* --- queues --- */

#define WHAT(kind, port, driver) ((kind) << 16 | (driver) << 8 | (port))
#define LINE_MOST 96 /* a word that would start after this column goes to the next line */

void coredump_forget(void)
{
	core_dump_area.parts = 0;
}

void coredump_keep(enum coredump_kind kind, unsigned port, unsigned driver, const void *at, size_t bytes)
{
	struct coredump *r = &core_dump_area;
	if (r->parts < COREDUMP_PARTS)
		r->part[r->parts++] = (struct coredump_part){(uint64_t)(uintptr_t)at, (uint32_t)bytes,
		                                            WHAT((unsigned)kind, port, driver)};
}

/* Writes "name value" in the line that starts at `line`, or in a new one. */
static void say_word(struct fmt_buf *p, size_t *line, const char *name, uint64_t value)
{
	if (p->used - *line > LINE_MOST) {
		*line = p->used + 1;
		fmt_put(p, "\n     ");
	}
	fmt_put(p, " %s %llu", name, (unsigned long long)value);
}

static uint64_t load(const void *at, size_t bytes)
{
	uint64_t v = 0;
	memcpy(&v, at, bytes < sizeof v ? bytes : sizeof v);
	return v;
}

static void say_queue(struct fmt_buf *p, unsigned port, unsigned driver, const struct nic_queue *q)
{
	const struct nic_ops *ops = driver < nic_driver_count ? nic_drivers[driver] : NULL;
	size_t line = p->used;
	fmt_put(p, "  port %u %s:%s", port, ops ? ops->name : "?", *(const uint8_t *)&q->broken ? " broken" : "");
	for (const struct nic_word *w = ops ? ops->words : NULL; w && w->name; w++)
		say_word(p, &line, w->name, load((const uint8_t *)q->priv + w->offset, w->bytes));
	fmt_put(p, "\n");
}

static void say_counted(struct fmt_buf *p, const struct nic_counters *c)
{
#define COUNTER(name) {#name, offsetof(struct nic_counters, name)}
	static const struct {
		const char *name;
		size_t offset;
	} counters[] = {
		COUNTER(rx_pkts),        COUNTER(rx_bytes),        COUNTER(rx_no_buffer), COUNTER(rx_bad_len),
		COUNTER(rx_bad_desc),    COUNTER(rx_oversize),     COUNTER(tx_pkts),      COUNTER(tx_bytes),
		COUNTER(tx_full),        COUNTER(tx_dropped),      COUNTER(tx_flushed),   COUNTER(tx_bad_desc),
		COUNTER(rx_queue_errors), COUNTER(tx_queue_errors), COUNTER(mmio_reads),  COUNTER(mmio_writes),
		COUNTER(irq_arms),
	};
	size_t line = p->used;
	_Static_assert(ARRAY_LEN(counters) * sizeof(uint64_t) == offsetof(struct nic_counters, rx_place),
	               "all that count");
	fmt_put(p, "     ");
	for (unsigned i = 0; i < ARRAY_LEN(counters); i++) {
		uint64_t n = load((const uint8_t *)c + counters[i].offset, sizeof n);
		if (n || i == 0)
			say_word(p, &line, counters[i].name, n);
	}
	fmt_put(p, "\n");
}

/* Describes a part of the program's memory; `bytes` bytes of it are at `state`. */
static void say_part(struct fmt_buf *p, uint32_t what, const uint8_t *state, size_t bytes)
{
	unsigned port = what & 0xff, driver = what >> 8 & 0xff;
	union {
		struct bufpool pool;
		struct nic_queue queue;
		struct nic_counters counted;
		uint32_t waiting[2];
	} u = {0};
	memcpy(&u, state, bytes < sizeof u ? bytes : sizeof u);
	switch (what >> 16) {
	case COREDUMP_POOL:
		fmt_put(p, "  buffers: %u of %u free\n", u.pool.free, u.pool.count);
		break;
	case COREDUMP_QUEUE:
		say_queue(p, port, driver, &u.queue);
		break;
	case COREDUMP_COUNTED:
		say_counted(p, &u.counted);
		break;
	case COREDUMP_WAITING:
		fmt_put(p, "      waiting %u, offered before %u\n", u.waiting[0], u.waiting[1]);
		break;
	default:
		fmt_put(p, "  %zu bytes of kind %x\n", bytes, what);
	}
}

/* Describes part i, if it lies within the state. */
static void say_part_of(struct fmt_buf *p, const struct crash *c, unsigned i)
{
	size_t at = 0;
	for (unsigned k = 0; k < i && at <= sizeof c->state; k++)
		at += align_up(c->part[k].bytes, 8);
	if (at <= sizeof c->state && c->part[i].bytes <= sizeof c->state - at)
		say_part(p, c->part[i].what, c->state + at, c->part[i].bytes);
	else
		fmt_put(p, "  part %u is cut\n", i);
}

/* --- XDP programs --- */

/* Names the code in which the program failed, or from which it had called what failed. */
static void say_code(struct fmt_buf *p, const struct crash *c)
{
	char name[160] = "";
	const struct control_hooks *h = core_app()->control;
	const bool known = h->code_name && h->code_name(c->code, c->tsc, name, sizeof name);
	fmt_put(p, "  xdp code+0x%llx: %s\n", (unsigned long long)(c->code - CODE_WINDOW),
	        known ? name : "no program is known there");
}

/* --- events --- */

#define EVENTS_A_PACKET 4 /* events shown per packet shown: 32 with eight packets */

/* Writes line i of the last events, newest last; nothing after the last line. */
static void say_event(struct fmt_buf *p, const struct crash *c, unsigned i, unsigned most)
{
	const uint64_t count = c->events.count;
	const uint64_t shown = u64_min(u64_min(count, EVENTS_KEPT), most);
	char line[CORE_EVENT_LINE];
	if (i == 0 && shown > 0)
		fmt_put(p, "  events, the newest at the end:\n");
	if (i == 0 || i > shown)
		return;
	core_event_line(&c->events.v[(count - shown + i - 1) % EVENTS_PLACES], line);
	fmt_put(p, "  %s", line);
}

static void say_packets(struct fmt_buf *p, const struct crash *c, unsigned i, unsigned shown, unsigned pkts)
{
	if (i == 0)
		fmt_put(p, "  packets received last, the newest first, as their buffers were then:\n");
	else if (i <= shown)
		say_packet(p, c, i - 1);
	else
		fmt_put(p, "  ... and %u more: show crash\n", pkts - shown);
}

size_t core_crash_piece(const struct crash *c, unsigned i, unsigned most, char *text)
{
	struct fmt_buf p = {.at = text, .size = CORE_CRASH_PIECE};
	const unsigned parts = c->parts < COREDUMP_PARTS ? (unsigned)c->parts : COREDUMP_PARTS;
	const unsigned pkts = c->pkts < COREDUMP_PKTS ? (unsigned)c->pkts : COREDUMP_PKTS;
	const unsigned shown = pkts < most ? pkts : most;
	const unsigned lines = pkts ? 1 + shown + (shown < pkts) : 0;
	const unsigned code = CODE_WINDOW_HAS(c->code);
	if (i < code)
		say_code(&p, c);
	else if ((i -= code) < parts)
		say_part_of(&p, c, i);
	else if (i - parts < lines)
		say_packets(&p, c, i - parts, shown, pkts);
	else
		say_event(&p, c, i - parts - lines, most * EVENTS_A_PACKET);
	if (p.full) /* cut: a line all the same */
		text[p.used - 1] = '\n';
	return p.used;
}
