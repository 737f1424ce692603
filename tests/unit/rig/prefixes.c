#include "tests/unit/rig/prefixes.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/bytes.h"
#include "net/fib/fib.h"
#include "tests/unit/rig/host.h"
#include "tests/unit/rig/routes_file.h"

/* The global table by length, from 8 on (901,899 in all), and its clustering: prefixes longer than
 * 16 lie in 25,398 different /16, those longer than 24 in 451 different /24. */
static const uint32_t histogram[33 - 8] = {
	16, 13, 38, 103, 299, 581, 1203, 2100, 13490, 8235, 13798, 24870, 42611, 50750, 108623,
	96510, 537698, 20, 3, 11, 18, 17, 3, 3, 886,
};
#define CLUSTERS_16 25398
#define CLUSTERS_24 451

static uint32_t mask(unsigned plen)
{
	return plen ? ~0u << (32 - plen) : 0;
}

static const char *file(void)
{
	const char *path = getenv("PREFIXES");
	return path ? path : GLOBAL_PREFIXES;
}

bool prefixes_present(void)
{
	return getenv("PREFIXES") || access(file(), R_OK) == 0;
}

/* --- a file --- */

/* Next hops of a file, by number from 1 on; a prefix without one gets a next hop by its value. */
struct hops {
	struct file_route *route; /* the first with each */
	uint32_t count, room, last;
};

static uint32_t spread4(uint32_t addr, unsigned plen)
{
	return 1 + ((addr ^ plen * 0x85ebca6bu) * 0x9e3779b1u >> 26);
}

static uint32_t spread6(const uint8_t *addr, unsigned plen)
{
	uint64_t high;
	memcpy(&high, addr, sizeof high);
	return 1 + (uint32_t)((high ^ plen * 0x85ebca6bu) * 0x9e3779b97f4a7c15u >> 58);
}

static bool same_hop(const struct file_route *a, const struct file_route *b)
{
	return a->hop_bytes == b->hop_bytes && memcmp(a->hop, b->hop, sizeof a->hop) == 0;
}

/* Searches from the last one found: neighbouring prefixes often share it. */
static uint32_t hop_number(struct hops *h, const struct file_route *r)
{
	for (uint32_t k = 0; k < h->count; k++) {
		uint32_t i = (h->last + k) % h->count;
		if (same_hop(&h->route[i], r)) {
			h->last = i;
			return i + 1;
		}
	}
	if (h->count == h->room)
		h->route = realloc(h->route, (h->room = 2 * h->room + 64) * sizeof *r);
	h->route[h->count++] = *r;
	if (h->count >= FIB_NH_LIMIT) {
		fprintf(stderr, "%s: more next hops than a table can have\n", file());
		exit(1);
	}
	return h->count;
}

struct loading {
	unsigned addr_bytes;
	struct prefix *four;
	struct prefix6 *six;
	unsigned n, room;
	struct hops hops;
};

static void loading_take(void *ctx, const struct file_route *r)
{
	struct loading *l = ctx;
	if (r->addr_bytes != l->addr_bytes)
		return;
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 1 << 20;
		if (l->addr_bytes == 4)
			l->four = realloc(l->four, l->room * sizeof *l->four);
		else
			l->six = realloc(l->six, l->room * sizeof *l->six);
	}
	uint32_t nh = r->hop_bytes ? hop_number(&l->hops, r) : 0;
	if (l->addr_bytes == 4) {
		uint32_t addr = be32_load(r->addr);
		l->four[l->n++] = (struct prefix){addr, r->plen, nh ? nh : spread4(addr, r->plen)};
	} else {
		struct prefix6 *p = &l->six[l->n++];
		memcpy(p->addr, r->addr, sizeof p->addr);
		p->plen = r->plen;
		p->nh = nh ? nh : spread6(r->addr, r->plen);
	}
}

static struct loading load(unsigned addr_bytes)
{
	struct loading l = {.addr_bytes = addr_bytes};
	const char *error = prefixes_present() ? routes_read(file(), loading_take, &l) : NULL;
	if (error) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	free(l.hops.route);
	return l;
}

unsigned prefixes_load(struct prefix **out)
{
	struct loading l = load(4);
	*out = l.four;
	return l.n;
}

unsigned prefixes6_load(struct prefix6 **out)
{
	struct loading l = load(16);
	*out = l.six;
	return l.n;
}

/* --- IPv4, made up --- */

static uint32_t unicast(void)
{
	return (1 + random_below(223)) << 24 | (random64() & 0xffffff);
}

unsigned prefixes_make(struct prefix **out, unsigned n)
{
	static uint32_t c16[CLUSTERS_16], c24[CLUSTERS_24];
	*out = malloc(n * sizeof **out);
	for (unsigned i = 0; i < CLUSTERS_16; i++)
		c16[i] = unicast() & mask(16);
	for (unsigned i = 0; i < CLUSTERS_24; i++)
		c24[i] = (c16[random_below(CLUSTERS_16)] | (random64() & 0xffff)) & mask(24);
	for (unsigned i = 0; i < n; i++) {
		uint32_t pick = random_below(GLOBAL_COUNT);
		unsigned plen = 8;
		for (; plen < 32 && pick >= histogram[plen - 8]; plen++)
			pick -= histogram[plen - 8];
		uint32_t addr = unicast();
		if (plen > 24)
			addr = c24[random_below(CLUSTERS_24)] | (random64() & 0xff);
		else if (plen > 16)
			addr = c16[random_below(CLUSTERS_16)] | (random64() & 0xffff);
		addr &= mask(plen);
		(*out)[i] = (struct prefix){addr, plen, spread4(addr, plen)};
	}
	return n;
}

/* --- IPv6, made up --- */

/* By length, from 16 on; and in how many different prefixes of a length the longer ones lie. */
static const uint32_t histogram6[129 - 16] = {
	1, 0, 0, 1, 16, 3, 7, 8, 30, 8, 15, 20, 193, 4371, 650, 284, 22548, 2926, 2603, 1043, 5996, 880,
	1617, 1377, 13418, 901, 2301, 1001, 14365, 1553, 3039, 3153, 75488, 11, 3, 0, 1, 0, 0, 1, 24, 0,
	20, 0, 2, 0, 0, 0, 184, [112 - 16] = 2, [122 - 16] = 1, [124 - 16] = 4, 9, 19, 42, 6,
};
static const struct {
	unsigned plen, count;
} clusters6[] = {{16, 59}, {20, 610}, {24, 7224}, {28, 18708}, {32, 10906}, {40, 19078},
                 {44, 25903}, {48, 104}, {64, 82}};
#define CLUSTERS6 ARRAY_LEN(clusters6)

/* Fills the bits from number `from` on at random, up to plen, with zeros behind. */
static void random_bits(struct prefix6 *p, unsigned from, unsigned plen)
{
	for (unsigned i = from; i < 128; i++) {
		uint8_t bit = (uint8_t)(0x80 >> i % 8);
		p->addr[i / 8] &= (uint8_t)~bit;
		if (i < plen && random_below(2))
			p->addr[i / 8] |= bit;
	}
	p->plen = plen;
}

unsigned prefixes6_make(struct prefix6 **out, unsigned n)
{
	struct prefix6 *cluster[CLUSTERS6];
	*out = malloc(n * sizeof **out);
	for (unsigned c = 0; c < CLUSTERS6; c++) {
		cluster[c] = malloc(clusters6[c].count * sizeof *cluster[c]);
		for (unsigned i = 0; i < clusters6[c].count; i++) {
			cluster[c][i] = c ? cluster[c - 1][random_below(clusters6[c - 1].count)]
			                  : (struct prefix6){.addr = {0x20}, .plen = 3};
			random_bits(&cluster[c][i], c ? clusters6[c - 1].plen : 3, clusters6[c].plen);
		}
	}
	for (unsigned i = 0; i < n; i++) {
		uint32_t pick = random_below(GLOBAL_COUNT6);
		unsigned plen = 16, c = 0;
		for (; plen < 128 && pick >= histogram6[plen - 16]; plen++)
			pick -= histogram6[plen - 16];
		while (c + 1 < CLUSTERS6 && clusters6[c + 1].plen < plen)
			c++;
		(*out)[i] = cluster[c][random_below(clusters6[c].count)];
		random_bits(&(*out)[i], clusters6[c].plen, plen);
		(*out)[i].nh = spread6((*out)[i].addr, plen);
	}
	for (unsigned c = 0; c < CLUSTERS6; c++)
		free(cluster[c]);
	return n;
}

void prefix_draw(uint8_t *to, unsigned octets, const uint8_t *prefix, unsigned plen)
{
	random_fill(to, octets);
	for (unsigned i = 0; i < octets; i++) {
		const unsigned bits = plen > 8 * i ? plen - 8 * i : 0; /* bits left */
		const uint8_t host = (uint8_t)(bits < 8 ? 0xff >> bits : 0);
		to[i] = (uint8_t)((to[i] & host) | (prefix[i] & ~host));
	}
}
