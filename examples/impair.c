/* See impair.h. */
#include "examples/impair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/csum.h"
#include "net/eth.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define MILLION 1000000u

struct impair_frame {
	uint64_t at_us, order;
	uint32_t len;
	uint8_t bytes[];
};

/* --- rules --- */

static const struct {
	const char *name;
	size_t offset;
	double unit;
} words[] = {
	{"loss", offsetof(struct impair_rules, loss), MILLION / 100.0},
	{"duplicate", offsetof(struct impair_rules, duplicate), MILLION / 100.0},
	{"reorder", offsetof(struct impair_rules, reorder), MILLION / 100.0},
	{"corrupt", offsetof(struct impair_rules, corrupt), MILLION / 100.0},
	{"mark", offsetof(struct impair_rules, mark), MILLION / 100.0},
	{"delay", offsetof(struct impair_rules, delay_us), 1000},
	{"jitter", offsetof(struct impair_rules, jitter_us), 1000},
	{"late", offsetof(struct impair_rules, reorder_us), 1000},
	{"rate", offsetof(struct impair_rules, kbit), 1000},
	{"limit", offsetof(struct impair_rules, limit), 1},
};

/* Parses one `name=value`; returns the text after it, NULL if it is invalid. */
static const char *parse_word(struct impair_rules *rules, const char *text)
{
	for (unsigned k = 0; k < ARRAY_LEN(words); k++) {
		size_t n = strlen(words[k].name);
		if (strncmp(text, words[k].name, n) != 0 || text[n] != '=')
			continue;
		char *end;
		double value = strtod(text + n + 1, &end) * words[k].unit;
		if (end == text + n + 1 || !(value >= 0 && value < UINT32_MAX))
			return NULL;
		uint32_t whole = (uint32_t)(value + 0.5);
		memcpy((uint8_t *)rules + words[k].offset, &whole, sizeof whole);
		return end;
	}
	return NULL;
}

bool impair_init(struct impair *i, const char *text, uint64_t seed, unsigned head_bytes)
{
	*i = (struct impair){.head_bytes = head_bytes, .random = seed, .on = text && *text};
	i->rules = (struct impair_rules){.reorder_us = 2000, .limit = 20000};
	for (const char *p = text; p && *p;) {
		const char *end = parse_word(&i->rules, p);
		if (!end || (*end && *end != ',')) {
			fprintf(stderr, "impairment not understood: %s\n", p);
			return false;
		}
		p = *end ? end + 1 : end;
	}
	return true;
}

/* --- random numbers --- */

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t draw(struct impair *i)
{
	uint64_t z = i->random += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static bool happens(struct impair *i, uint32_t in_a_million)
{
	return in_a_million && draw(i) % MILLION < in_a_million;
}

/* --- the heap: by time, then by order --- */

static bool before(const struct impair_frame *a, const struct impair_frame *b)
{
	return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void heap_push(struct impair *i, struct impair_frame *f)
{
	if (i->waiting == i->room) {
		i->room = i->room ? 2 * i->room : 256;
		i->heap = realloc(i->heap, i->room * sizeof(struct impair_frame *));
		if (!i->heap)
			abort();
	}
	uint32_t pos = i->waiting++;
	for (; pos && before(f, i->heap[(pos - 1) / 2]); pos = (pos - 1) / 2)
		i->heap[pos] = i->heap[(pos - 1) / 2];
	i->heap[pos] = f;
}

static struct impair_frame *heap_pop(struct impair *i)
{
	struct impair_frame *top = i->heap[0], *f = i->heap[--i->waiting];
	uint32_t pos = 0;
	for (uint32_t child; (child = 2 * pos + 1) < i->waiting; pos = child) {
		if (child + 1 < i->waiting && before(i->heap[child + 1], i->heap[child]))
			child++;
		if (!before(i->heap[child], f))
			break;
		i->heap[pos] = i->heap[child];
	}
	i->heap[pos] = f;
	return top;
}

/* --- impairments --- */

/* True if the frame may be impaired: IP, but not ICMPv6. */
static bool is_ip(const uint8_t *eth, uint32_t len)
{
	const uint8_t *ip = eth + ETH_HLEN;
	if (len < ETH_HLEN + IP4_HLEN)
		return false;
	if (be16_load(eth + 12) == ETH_TYPE_IP4)
		return true;
	return be16_load(eth + 12) == ETH_TYPE_IP6 && len >= ETH_HLEN + IP6_HLEN &&
	       ip6_next(ip) != IP6_ICMP6;
}

/* Marks a packet as a router with a full queue does: Congestion Experienced, if its sender supports ECN
 * (RFC 3168 5). IPv4: the header checksum is updated. IPv6: the traffic class is bits 4 to 11, and the
 * ECN field is its last two. */
static void mark_ce(struct impair *i, uint8_t *ip)
{
	bool six = ip6_version(ip) == 6;
	uint8_t *at = ip + 1, ce = six ? 0x30 : 3;
	if ((*at & ce) == 0 || (*at & ce) == ce)
		return;
	uint16_t was = raw16_load(ip);
	*at |= ce;
	if (!six)
		raw16_store(ip + 10, csum_update16(raw16_load(ip + 10), was, raw16_load(ip)));
	i->counts.marked++;
}

static void damage(struct impair *i, uint8_t *eth, uint32_t len)
{
	uint64_t bit = draw(i) % ((uint64_t)(len - ETH_HLEN) * 8);
	eth[ETH_HLEN + bit / 8] ^= (uint8_t)(1u << bit % 8);
	i->counts.corrupted++;
}

/* The time at which a frame that enters the link now leaves it. */
static uint64_t leaves_at(struct impair *i, uint32_t len, uint64_t now_us)
{
	const struct impair_rules *r = &i->rules;
	uint64_t at = now_us;
	if (r->kbit) {
		if (i->busy_us < now_us)
			i->busy_us = now_us;
		i->busy_us += (uint64_t)len * 8000 / r->kbit;
		at = i->busy_us;
	}
	return at + r->delay_us + (r->jitter_us ? draw(i) % r->jitter_us : 0);
}

static void enter(struct impair *i, const void *frame, uint32_t len, uint64_t now_us)
{
	struct impair_frame *f = malloc(sizeof *f + len);
	if (!f)
		abort();
	*f = (struct impair_frame){.at_us = leaves_at(i, len, now_us), .order = i->order++,
	                           .len = len};
	memcpy(f->bytes, frame, len);
	uint8_t *eth = f->bytes + i->head_bytes;
	uint32_t eth_len = len - i->head_bytes;
	if (is_ip(eth, eth_len)) {
		if (happens(i, i->rules.reorder)) {
			f->at_us += i->rules.reorder_us;
			i->counts.reordered++;
		}
		if (happens(i, i->rules.mark))
			mark_ce(i, eth + ETH_HLEN);
		if (happens(i, i->rules.corrupt))
			damage(i, eth, eth_len);
	}
	heap_push(i, f);
}

void impair_put(struct impair *i, const void *frame, uint32_t len, uint64_t now_us)
{
	const uint8_t *eth = (const uint8_t *)frame + i->head_bytes;
	bool ip = is_ip(eth, len - i->head_bytes);
	if (ip && happens(i, i->rules.loss)) {
		i->counts.lost++;
		return;
	}
	if (i->waiting >= i->rules.limit) {
		i->counts.overflowed++;
		return;
	}
	enter(i, frame, len, now_us);
	if (ip && happens(i, i->rules.duplicate)) {
		enter(i, frame, len, now_us);
		i->counts.duplicated++;
	}
}

const uint8_t *impair_take(struct impair *i, uint64_t now_us, uint32_t *len)
{
	free(i->taken);
	i->taken = NULL;
	if (!i->waiting || i->heap[0]->at_us > now_us)
		return NULL;
	i->taken = heap_pop(i);
	i->counts.passed++;
	*len = i->taken->len;
	return i->taken->bytes;
}

uint64_t impair_deadline(const struct impair *i)
{
	return i->waiting ? i->heap[0]->at_us : UINT64_MAX;
}
