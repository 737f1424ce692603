/*
 * A full table for benchmarks of the router, and destinations in it. The prefixes resemble the
 * global table's (tests/unit/rig/prefixes.h), are distinct and in random order, and each has one of 64
 * next hops by number. A generator's address is random inside a prefix drawn uniformly from the
 * table. So most destinations are in prefixes of /24 (/48), as most prefixes are, and a small
 * prefix gets as many packets as a large one.
 *
 *   route_table FAMILY ROUTES DESTINATIONS FOLDER
 *
 * writes FOLDER/routes, lines `PREFIX NUMBER`, with IPv6 addresses unabbreviated, as DPDK's l3fwd
 * requires; and FOLDER/destinations, 4 or 16 bytes each as on the wire. PREFIXES=file: that file's
 * routes instead (tests/unit/rig/routes_file.h), at most ROUTES. Prefixes that a router does not
 * forward, or that it has itself in these benchmarks, are omitted (192.0.2.0/24, 198.51.100.0/24,
 * 2001:db8::/32).
 */
#include "lib/bytes.h"
#include "net/ip4.h"
#include "tests/unit/rig/host.h"
#include "tests/unit/rig/prefixes.h"

#define HOPS 64
#define PATH_BYTES 4096

static unsigned family, octets; /* 4 and 4, or 6 and 16: IPv4 uses the first four octets */

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "route_table: %s\n", what);
	exit(1);
}

static bool is_used(const uint8_t *at)
{
	const uint32_t addr = be32_load(at);
	if (family == 6)
		return at[0] >> 5 == 1 && addr != 0x20010db8;
	return !ip4_src_is_martian(addr) && addr >> 8 != IP4(192, 0, 2, 0) >> 8 &&
	       addr >> 8 != IP4(198, 51, 100, 0) >> 8;
}

static uint32_t make4(struct prefix6 **out, uint32_t n, bool from_file)
{
	struct prefix *p;
	n = from_file ? prefixes_load(&p) : prefixes_make(&p, n);
	*out = calloc(n, sizeof **out);
	for (uint32_t i = 0; i < n; i++) {
		(*out)[i].plen = p[i].plen;
		(*out)[i].nh = p[i].nh;
		be32_store((*out)[i].addr, p[i].addr);
	}
	free(p);
	return n;
}

static uint32_t make(struct prefix6 **out, uint32_t n, bool from_file)
{
	if (family == 4)
		return make4(out, n, from_file);
	return from_file ? prefixes6_load(out) : prefixes6_make(out, n);
}

static int by_prefix(const void *left, const void *right)
{
	const struct prefix6 *a = left, *b = right;
	int order = memcmp(a->addr, b->addr, octets);
	return order ? order : (int)a->plen - (int)b->plen;
}

/* Keeps distinct and used prefixes, in random order; returns their number. */
static uint32_t select_used(struct prefix6 *p, uint32_t n)
{
	uint32_t kept = 0;
	qsort(p, n, sizeof *p, by_prefix);
	for (uint32_t i = 0; i < n; i++)
		if (is_used(p[i].addr) && (!kept || by_prefix(&p[kept - 1], &p[i]) != 0))
			p[kept++] = p[i];
	for (uint32_t i = kept; i > 1; i--) {
		uint32_t other = random_below(i);
		struct prefix6 swapped = p[i - 1];
		p[i - 1] = p[other];
		p[other] = swapped;
	}
	return kept;
}

static FILE *create(const char *folder, const char *name)
{
	char path[PATH_BYTES];
	if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
		die("the folder's name is too long");
	FILE *f = fopen(path, "w");
	if (!f)
		die("cannot write into the folder");
	return f;
}

static void close_written(FILE *f)
{
	if (ferror(f) | fclose(f))
		die("cannot write into the folder");
}

static void write_address(FILE *f, const uint8_t *a)
{
	if (family == 4)
		fprintf(f, "%u.%u.%u.%u", a[0], a[1], a[2], a[3]);
	for (unsigned i = 0; family == 6 && i < 16; i += 2)
		fprintf(f, "%s%02x%02x", i ? ":" : "", a[i], a[i + 1]);
}

static void write_routes(const char *folder, const struct prefix6 *p, uint32_t n)
{
	FILE *f = create(folder, "routes");
	for (uint32_t i = 0; i < n; i++) {
		write_address(f, p[i].addr);
		fprintf(f, "/%u %u\n", p[i].plen, 1 + (p[i].nh - 1) % HOPS);
	}
	close_written(f);
}

static void write_destinations(const char *folder, const struct prefix6 *p, uint32_t n, uint32_t many)
{
	FILE *f = create(folder, "destinations");
	for (uint32_t i = 0; i < many; i++) {
		uint8_t to[16];
		do {
			const struct prefix6 *q = &p[random_below(n)];
			prefix_draw(to, octets, q->addr, q->plen);
		} while (!is_used(to));
		fwrite(to, octets, 1, f);
	}
	close_written(f);
}

int main(int argc, char **argv)
{
	struct prefix6 *p;
	long routes = argc == 5 ? atol(argv[2]) : 0, many = argc == 5 ? atol(argv[3]) : 0;
	family = argc == 5 ? (unsigned)atoi(argv[1]) : 0;
	octets = family == 6 ? 16 : 4;
	if ((family != 4 && family != 6) || routes < 1 || routes > 1 << 24 || many < 1 || many > 1 << 24)
		die("usage: route_table 4|6 ROUTES DESTINATIONS FOLDER");
	seed_random("route_table");
	const bool from_file = getenv("PREFIXES") != NULL;
	uint32_t n = make(&p, (uint32_t)(routes + routes / 4), from_file); /* some are made twice */
	n = select_used(p, n);
	if (n < routes && (!from_file || n == 0))
		die("too few prefixes are different");
	n = n < routes ? n : (uint32_t)routes;
	write_routes(argv[4], p, n);
	write_destinations(argv[4], p, n, (uint32_t)many);
	free(p);
	return 0;
}
