/*
 * A full table for benchmarks of the router, and destinations in it: prefixes made up as the global
 * table's (tests/unit/prefixes.h), all different and in random order, each with one of 64 next hops
 * by number; and addresses for a generator, each anywhere in a prefix that is drawn from the table,
 * all prefixes alike. So most destinations lie behind /24, as most prefixes do, and a small prefix
 * gets as many packets as a large one.
 *
 *   route_table ROUTES DESTINATIONS FOLDER
 *
 * writes FOLDER/routes, lines `PREFIX NUMBER`, and FOLDER/destinations, 4 bytes each as on the wire.
 * PREFIXES=file: that file's routes instead (tests/unit/routes_file.h), ROUTES at most. Left out is
 * what a router does not forward or has itself in these benchmarks (192.0.2.0/24, 198.51.100.0/24).
 */
#include "lib/bytes.h"
#include "net/ip4.h"
#include "tests/unit/host.h"
#include "tests/unit/prefixes.h"

#define HOPS 64
#define PATH_BYTES 4096

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "route_table: %s\n", what);
	exit(1);
}

static bool is_used(uint32_t addr)
{
	return !ip4_src_is_martian(addr) && addr >> 8 != IP4(192, 0, 2, 0) >> 8 &&
	       addr >> 8 != IP4(198, 51, 100, 0) >> 8;
}

static int by_prefix(const void *left, const void *right)
{
	const struct prefix *a = left, *b = right;
	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return (int)a->plen - (int)b->plen;
}

/* Those that are different and used, in random order; returns how many. */
static uint32_t select_used(struct prefix *p, uint32_t n)
{
	uint32_t kept = 0;
	qsort(p, n, sizeof *p, by_prefix);
	for (uint32_t i = 0; i < n; i++)
		if (is_used(p[i].addr) && (!kept || by_prefix(&p[kept - 1], &p[i]) != 0))
			p[kept++] = p[i];
	for (uint32_t i = kept; i > 1; i--) {
		uint32_t other = random_below(i);
		struct prefix swapped = p[i - 1];
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

static void write_routes(const char *folder, const struct prefix *p, uint32_t n)
{
	FILE *f = create(folder, "routes");
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%u.%u.%u.%u/%u %u\n", p[i].addr >> 24, p[i].addr >> 16 & 255,
		        p[i].addr >> 8 & 255, p[i].addr & 255, p[i].plen, 1 + (p[i].nh - 1) % HOPS);
	close_written(f);
}

static void write_destinations(const char *folder, const struct prefix *p, uint32_t n, uint32_t many)
{
	FILE *f = create(folder, "destinations");
	for (uint32_t i = 0; i < many; i++) {
		uint8_t wire[4];
		uint32_t addr;
		do {
			const struct prefix *q = &p[random_below(n)];
			uint32_t host = q->plen < 32 ? UINT32_MAX >> q->plen : 0;
			addr = q->addr | ((uint32_t)random64() & host);
		} while (!is_used(addr));
		be32_store(wire, addr);
		fwrite(wire, sizeof wire, 1, f);
	}
	close_written(f);
}

int main(int argc, char **argv)
{
	long routes = argc == 4 ? atol(argv[1]) : 0, many = argc == 4 ? atol(argv[2]) : 0;
	struct prefix *p;
	if (routes < 1 || routes > 1 << 24 || many < 1 || many > 1 << 24)
		die("usage: route_table ROUTES DESTINATIONS FOLDER");
	seed_random("route_table");
	bool from_file = getenv("PREFIXES") != NULL;
	/* some are made twice */
	uint32_t n = from_file ? prefixes_load(&p) : prefixes_make(&p, (unsigned)(routes + routes / 4));
	n = select_used(p, n);
	if (n < routes && (!from_file || n == 0))
		die("too few prefixes are different");
	n = n < routes ? n : (uint32_t)routes;
	write_routes(argv[3], p, n);
	write_destinations(argv[3], p, n, (uint32_t)many);
	free(p);
	return 0;
}
