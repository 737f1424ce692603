/* See pcap.h. Section numbers are those of the format's own draft. */
#include "tools/pktgen/frames/pcap.h"

#include "lib/bytes.h"
#include "net/pcapng.h"
#include "tools/pktgen/wide.h"

#define NS 1000000000ull

/* pcap, 4 and 5 */
#define PCAP_MAGIC_US 0xa1b2c3d4u
#define PCAP_MAGIC_NS 0xa1b23c4du
#define PCAP_HEADER 24
#define PCAP_RECORD 16
#define PCAP_FCS_SAID (1u << 26) /* bit P: the FCS length is present */
#define PCAP_FCS_SHIFT 28        /* in words of 16 bits */

/* pcapng, 3.1 and 4: bytes */
#define NG_BLOCK_MIN 12 /* type, length, and length again */
#define NG_SECTION_MIN 28
#define NG_INTERFACE_BODY 8
#define NG_ENHANCED_BODY 20
#define NG_SIMPLE_BODY 4

/* The body of a block, or its options. */
struct body {
	const uint8_t *at;
	size_t len;
};

static int fail(struct pcap *p, const char *why)
{
	p->why = why;
	p->at = p->end;
	return E_INVAL;
}

static uint16_t load16(const struct pcap *p, const uint8_t *at)
{
	uint16_t v = raw16_load(at);
	return p->swapped ? __builtin_bswap16(v) : v;
}

static uint32_t load32(const struct pcap *p, const uint8_t *at)
{
	uint32_t v = raw32_load(at);
	return p->swapped ? __builtin_bswap32(v) : v;
}

static uint64_t load64(const struct pcap *p, const uint8_t *at)
{
	uint64_t v = raw64_load(at);
	return p->swapped ? __builtin_bswap64(v) : v;
}

static size_t left(const struct pcap *p)
{
	return (size_t)(p->end - p->at);
}

/* --- a packet, of either format --- */

static uint64_t ns_of(const struct pcap_interface *i, uint64_t ticks)
{
	static const uint64_t ten[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, NS};
	uint64_t offset = (uint64_t)i->offset_s * NS;
	if (i->binary) {
		struct wide ns = wide_mul(ticks, NS);
		return offset + (i->exponent ? ns.high << (64 - i->exponent) | ns.low >> i->exponent : ns.low);
	}
	if (i->exponent <= 9)
		return offset + ticks * ten[9 - i->exponent];
	return offset + ticks / (i->exponent <= 18 ? ten[i->exponent - 9] : NS);
}

/* Removes the FCS if it was captured. */
static int give(const struct pcap_interface *i, struct pcap_packet *out)
{
	uint32_t wire = out->wire_len > i->fcs_bytes ? out->wire_len - i->fcs_bytes : 0;
	out->len = out->len < wire ? out->len : wire;
	out->wire_len = wire;
	return 1;
}

/* --- pcap --- */

static int open_classic(struct pcap *p, uint32_t magic)
{
	if (left(p) < PCAP_HEADER)
		return fail(p, "the file ends within its header");
	uint32_t link = load32(p, p->at + 20);
	uint32_t fcs = link & PCAP_FCS_SAID ? 2 * (link >> PCAP_FCS_SHIFT) : 0;
	if (load16(p, p->at + 4) != 2)
		return fail(p, "it is pcap of an unknown version");
	if ((link & 0xffff) != PCAPNG_LINK_ETHERNET)
		return fail(p, "its packets are no Ethernet frames");
	p->interfaces = 1;
	p->interface[0] = (struct pcap_interface){
		.exponent = magic == PCAP_MAGIC_NS ? 9 : 6, .fcs_bytes = (uint8_t)fcs};
	p->at += PCAP_HEADER;
	return E_OK;
}

static int next_classic(struct pcap *p, struct pcap_packet *out)
{
	if (left(p) == 0)
		return 0;
	p->packet++;
	if (left(p) < PCAP_RECORD)
		return fail(p, "the file ends within the packet's header");
	const uint8_t *r = p->at;
	uint64_t tick = p->interface[0].exponent == 9 ? 1 : 1000;
	*out = (struct pcap_packet){r + PCAP_RECORD, load32(p, r + 8), load32(p, r + 12),
	                            load32(p, r) * NS + load32(p, r + 4) * tick};
	if (out->len > left(p) - PCAP_RECORD)
		return fail(p, "the file ends within the packet");
	p->at += PCAP_RECORD + out->len;
	return give(&p->interface[0], out);
}

/* --- pcapng --- */

/* The byte order of the section that begins at p->at (4.1). */
static int read_order(struct pcap *p)
{
	if (left(p) < NG_SECTION_MIN)
		return fail(p, "the file ends within a section header");
	uint32_t order = raw32_load(p->at + 8);
	p->swapped = order == __builtin_bswap32(PCAPNG_ORDER);
	if (order != PCAPNG_ORDER && !p->swapped)
		return fail(p, "a section header has no byte-order magic");
	if (load16(p, p->at + 12) != 1)
		return fail(p, "it is pcapng of an unknown version");
	p->interfaces = 0;
	return E_OK;
}

static int read_resolution(struct pcap *p, struct pcap_interface *i, uint8_t value)
{
	i->binary = value >> 7;
	i->exponent = value & 0x7f;
	if (i->exponent > (i->binary ? 63 : 18))
		return fail(p, "an interface's time resolution (if_tsresol) is below 10^-18 or 2^-63 s");
	return E_OK;
}

/* 4.2 counts if_fcslen in bits but gives 4 as the example, so there are files with either. */
static int read_fcs(struct pcap *p, struct pcap_interface *i, uint8_t value)
{
	if (value != 0 && value != 4 && value != 32)
		return fail(p, "an interface's FCS (if_fcslen) is not that of Ethernet");
	i->fcs_bytes = value ? 4 : 0;
	return E_OK;
}

/* Options of an Interface Description Block (3.5, 4.2). */
static int read_options(struct pcap *p, struct pcap_interface *i, struct body o)
{
	int error = E_OK;
	while (o.len >= 4 && error == E_OK) {
		uint16_t code = load16(p, o.at), len = load16(p, o.at + 2);
		size_t whole = 4 + ((len + 3u) & ~3u);
		if (code == PCAPNG_END)
			break;
		if (whole > o.len)
			return fail(p, "an option is longer than its block");
		if (code == PCAPNG_IF_TSRESOL && len == 1)
			error = read_resolution(p, i, o.at[4]);
		else if (code == PCAPNG_IF_FCSLEN && len == 1)
			error = read_fcs(p, i, o.at[4]);
		else if (code == PCAPNG_IF_TSOFFSET && len == 8)
			i->offset_s = (int64_t)load64(p, o.at + 4);
		o = (struct body){o.at + whole, o.len - whole};
	}
	return error;
}

static int read_interface(struct pcap *p, struct body b)
{
	if (b.len < NG_INTERFACE_BODY)
		return fail(p, "an interface description is too short");
	if (p->interfaces == PCAP_INTERFACES_MAX)
		return fail(p, "it has more than 64 interfaces");
	if (load16(p, b.at) != PCAPNG_LINK_ETHERNET)
		return fail(p, "one of its interfaces is not Ethernet");
	struct pcap_interface *i = &p->interface[p->interfaces];
	*i = (struct pcap_interface){.snaplen = load32(p, b.at + 4), .exponent = 6};
	p->interfaces++;
	return read_options(p, i, (struct body){b.at + NG_INTERFACE_BODY, b.len - NG_INTERFACE_BODY});
}

static int read_enhanced(struct pcap *p, struct body b, struct pcap_packet *out)
{
	p->packet++;
	if (b.len < NG_ENHANCED_BODY)
		return fail(p, "the packet's block is too short");
	uint32_t number = load32(p, b.at);
	if (number >= p->interfaces)
		return fail(p, "the packet is of an interface that is not described");
	const struct pcap_interface *i = &p->interface[number];
	uint64_t ticks = (uint64_t)load32(p, b.at + 4) << 32 | load32(p, b.at + 8);
	*out = (struct pcap_packet){b.at + NG_ENHANCED_BODY, load32(p, b.at + 12), load32(p, b.at + 16),
	                            ns_of(i, ticks)};
	if (out->len > b.len - NG_ENHANCED_BODY)
		return fail(p, "the packet is longer than its block");
	p->last_ns = out->ns;
	return give(i, out);
}

/* A Simple Packet Block has no time and no captured length; the snap length of interface 0 gives
 * the captured length (4.4). */
static int read_simple(struct pcap *p, struct body b, struct pcap_packet *out)
{
	p->packet++;
	if (b.len < NG_SIMPLE_BODY)
		return fail(p, "the packet's block is too short");
	if (p->interfaces == 0)
		return fail(p, "the packet is of an interface that is not described");
	const struct pcap_interface *i = &p->interface[0];
	uint32_t wire = load32(p, b.at);
	uint32_t len = i->snaplen && i->snaplen < wire ? i->snaplen : wire;
	if (len > b.len - NG_SIMPLE_BODY)
		return fail(p, "the packet is longer than its block");
	*out = (struct pcap_packet){b.at + NG_SIMPLE_BODY, len, wire, p->last_ns};
	return give(i, out);
}

/* Takes the block at p->at, which moves behind it. */
static int take_block(struct pcap *p, uint32_t *type, struct body *body)
{
	if (left(p) < NG_BLOCK_MIN)
		return fail(p, "the file ends within a block");
	/* this type reads the same in either byte order; read_order then finds the section's */
	if (raw32_load(p->at) == PCAPNG_SECTION && read_order(p) != E_OK)
		return E_INVAL;
	uint32_t len = load32(p, p->at + 4);
	*type = load32(p, p->at);
	if (len < NG_BLOCK_MIN || len % 4 != 0)
		return fail(p, "a block's length is invalid");
	if (len > left(p))
		return fail(p, "the file ends within a block");
	if (load32(p, p->at + len - 4) != len)
		return fail(p, "a block's two lengths are not the same");
	*body = (struct body){p->at + 8, len - NG_BLOCK_MIN};
	p->at += len;
	return E_OK;
}

static int next_ng(struct pcap *p, struct pcap_packet *out)
{
	while (left(p) > 0) {
		uint32_t type;
		struct body body;
		if (take_block(p, &type, &body) != E_OK)
			return E_INVAL;
		if (type == PCAPNG_ENHANCED)
			return read_enhanced(p, body, out);
		if (type == PCAPNG_SIMPLE)
			return read_simple(p, body, out);
		if (type == PCAPNG_PACKET_OLD)
			return fail(p, "it has Packet Blocks, which are obsolete: convert it with editcap");
		if (type == PCAPNG_INTERFACE && read_interface(p, body) != E_OK)
			return E_INVAL;
	}
	return 0;
}

/* --- both --- */

int pcap_open(struct pcap *p, const uint8_t *file, size_t bytes)
{
	*p = (struct pcap){.at = file, .end = file + bytes};
	if (bytes < 4)
		return fail(p, "it is neither a pcap nor a pcapng file");
	uint32_t magic = raw32_load(file);
	p->is_ng = magic == PCAPNG_SECTION;
	if (p->is_ng)
		return E_OK;
	p->swapped = magic == __builtin_bswap32(PCAP_MAGIC_US) ||
	             magic == __builtin_bswap32(PCAP_MAGIC_NS);
	magic = load32(p, file);
	if (magic == PCAP_MAGIC_US || magic == PCAP_MAGIC_NS)
		return open_classic(p, magic);
	return fail(p, "it is neither a pcap nor a pcapng file");
}

int pcap_next(struct pcap *p, struct pcap_packet *out)
{
	return p->is_ng ? next_ng(p, out) : next_classic(p, out);
}
