#include "tests/unit/prefixes.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/host.h"

/* The global table by length, from 8 on (901,899 in all), and how it clusters: prefixes longer than
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
	return access(file(), R_OK) == 0;
}

/* The file as text; NULL: it is not there. For pclose(). */
static FILE *lines_open(void)
{
	char command[300];
	if (!prefixes_present())
		return NULL;
	snprintf(command, sizeof command, "gzip -dc '%s'", file());
	return popen(command, "r");
}

unsigned prefixes_load(struct prefix **out)
{
	FILE *f = lines_open();
	if (!f)
		return 0;
	unsigned n = 0, room = 1 << 20;
	*out = malloc(room * sizeof **out);
	char line[100];
	while (fgets(line, sizeof line, f)) {
		unsigned a, b, c, d, plen;
		if (sscanf(line, "%u.%u.%u.%u/%u", &a, &b, &c, &d, &plen) != 5)
			continue;
		if (n == room)
			*out = realloc(*out, (room *= 2) * sizeof **out);
		(*out)[n++] = (struct prefix){a << 24 | b << 16 | c << 8 | d, plen};
	}
	pclose(f);
	return n;
}

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
		(*out)[i] = (struct prefix){addr & mask(plen), plen};
	}
	return n;
}

uint32_t prefix_nh(struct prefix p)
{
	return 1 + ((p.addr ^ p.plen * 0x85ebca6bu) * 0x9e3779b1u >> 26);
}

/* --- IPv6 --- */

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

unsigned prefixes6_load(struct prefix6 **out)
{
	FILE *f = lines_open();
	if (!f)
		return 0;
	unsigned n = 0, room = 1 << 20;
	*out = malloc(room * sizeof **out);
	char line[100], *slash;
	while (n < room && fgets(line, sizeof line, f)) {
		slash = strchr(line, '/');
		if (!slash)
			continue;
		*slash = 0;
		if (inet_pton(AF_INET6, line, (*out)[n].addr) == 1)
			(*out)[n++].plen = (uint32_t)strtoul(slash + 1, NULL, 10);
	}
	pclose(f);
	return n;
}

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
			                  : (struct prefix6){{0x20}, 3};
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
	}
	for (unsigned c = 0; c < CLUSTERS6; c++)
		free(cluster[c]);
	return n;
}

uint32_t prefix6_nh(const struct prefix6 *p)
{
	uint64_t high;
	memcpy(&high, p->addr, sizeof high);
	return 1 + (uint32_t)((high ^ p->plen * 0x85ebca6bu) * 0x9e3779b97f4a7c15u >> 58);
}
