#include "tests/unit/prefixes.h"

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

unsigned prefixes_load(struct prefix **out)
{
	char command[300];
	if (!prefixes_present())
		return 0;
	snprintf(command, sizeof command, "gzip -dc '%s'", file());
	FILE *f = popen(command, "r");
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
