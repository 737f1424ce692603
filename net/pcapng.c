/* See pcapng.h. */
#include "net/pcapng.h"

#include "lib/mem.h"

#define SECTION_LENGTH_UNKNOWN UINT64_MAX
#define TSRESOL_NS 9       /* a tick is 10^-9 s */
#define FLAGS_INBOUND 1    /* 4.3.1, bits 0 and 1 */
#define FLAGS_OUTBOUND 2

/* A block under construction. */
struct block {
	uint8_t *start, *at;
};

/* Writes the low `bytes` bytes of v. */
static void put(struct block *b, uint64_t v, unsigned bytes)
{
	memcpy(b->at, &v, bytes);
	b->at += bytes;
}

static void put_padded(struct block *b, const void *data, size_t len)
{
	memcpy(b->at, data, len);
	b->at += len;
	put(b, 0, (unsigned)(-len & 3));
}

static void option(struct block *b, enum pcapng_option code, const void *value, unsigned len)
{
	put(b, code, 2);
	put(b, len, 2);
	put_padded(b, value, len);
}

static void option_text(struct block *b, enum pcapng_option code, const char *text)
{
	size_t len = strlen(text);
	option(b, code, text, len < PCAPNG_TEXT_MAX ? (unsigned)len : PCAPNG_TEXT_MAX);
}

static void option_number(struct block *b, enum pcapng_option code, uint64_t value)
{
	option(b, code, &value, sizeof value);
}

/* 3.1: type and length; the length is repeated at the end. */
static struct block begin(uint8_t *out, enum pcapng_block type)
{
	struct block b = {out, out};
	put(&b, type, 4);
	put(&b, 0, 4);
	return b;
}

static size_t end(struct block *b)
{
	put(b, PCAPNG_END, 4); /* end of the options */
	uint32_t len = (uint32_t)(b->at - b->start) + 4;
	put(b, len, 4);
	memcpy(b->start + 4, &len, sizeof len);
	return len;
}

/* 4.3: the high 32 bits come first, in either byte order. */
static void put_time(struct block *b, uint64_t ns)
{
	put(b, ns >> 32, 4);
	put(b, ns, 4);
}

size_t pcapng_section(uint8_t *out, const char *application)
{
	struct block b = begin(out, PCAPNG_SECTION);
	put(&b, PCAPNG_ORDER, 4);
	put(&b, 1, 2); /* version 1.0 */
	put(&b, 0, 2);
	put(&b, SECTION_LENGTH_UNKNOWN, 8);
	option_text(&b, PCAPNG_SECTION_APPLICATION, application);
	return end(&b);
}

size_t pcapng_interface(uint8_t *out, const char *name, uint32_t snaplen, uint64_t bps)
{
	static const uint8_t resolution = TSRESOL_NS;
	struct block b = begin(out, PCAPNG_INTERFACE);
	put(&b, PCAPNG_LINK_ETHERNET, 4); /* followed by two reserved bytes */
	put(&b, snaplen, 4);
	option_text(&b, PCAPNG_IF_NAME, name);
	if (bps)
		option_number(&b, PCAPNG_IF_SPEED, bps);
	option(&b, PCAPNG_IF_TSRESOL, &resolution, sizeof resolution);
	return end(&b);
}

size_t pcapng_packet(uint8_t *out, const struct pcapng_packet *p)
{
	const uint32_t flags = p->out ? FLAGS_OUTBOUND : FLAGS_INBOUND;
	struct block b = begin(out, PCAPNG_ENHANCED);
	put(&b, p->interface, 4);
	put_time(&b, p->ns);
	put(&b, p->len, 4);
	put(&b, p->wire_len, 4);
	if (p->data)
		memcpy(b.at, p->data, p->len);
	b.at += p->len;
	put(&b, 0, (unsigned)(-p->len & 3));
	option(&b, PCAPNG_PACKET_FLAGS, &flags, sizeof flags);
	if (p->dropped)
		option_number(&b, PCAPNG_PACKET_DROPPED, p->dropped);
	return end(&b);
}

size_t pcapng_statistics(uint8_t *out, const struct pcapng_statistics *s)
{
	struct block b = begin(out, PCAPNG_STATISTICS);
	put(&b, s->interface, 4);
	put_time(&b, s->ns);
	option_number(&b, PCAPNG_STATISTICS_RECEIVED, s->received);
	option_number(&b, PCAPNG_STATISTICS_DROPPED, s->dropped);
	option_number(&b, PCAPNG_STATISTICS_DELIVERED, s->delivered);
	return end(&b);
}
