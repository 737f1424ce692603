/*
 * The cost of updating prepared frames for their next transmission (tools/pktgen/frames/frames.h), per
 * kind of stream: TSC cycles a frame, median and best of ROUNDS, for frames in the caches. The
 * sources are compiled with the image's flags. Usage: frames_bench [FRAMES-OF-A-BURST]; or, for gate.py,
 * frames_bench -c KIND: the number of frames that measured() has updated, for the KIND-th alone
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/vector.h"
#include "lib/assert.h"
#include "tools/pktgen/frames/frames.h"

#define SLOTS 512        /* frames of a ring, each in a buffer of its own */
#define BUF_BYTES 4096
#define TURNS 16         /* passes over the ring in a measurement */
#define ROUNDS 201

_Noreturn void assert_fail(const char *expr, const char *file, unsigned line)
{
	fprintf(stderr, "%s:%u: assertion failed: %s\n", file, line, expr);
	abort();
}

static uint8_t *buf[SLOTS];
static unsigned kind, counted; /* the number of the kind that is next; -c: of the only one */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* A turn. A function of its own for callgrind: frames_make calls frames_patch too. */
static __attribute__((noipa)) void measured(const struct frames *f, unsigned burst, uint64_t n, uint32_t ns)
{
	for (unsigned i = 0; i < SLOTS; i += burst)
		frames_patch(f, buf + i, burst, n + i, ns);
}

static void measure(const char *what, const struct plan_stream *s, unsigned burst)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	static struct frames f;
	double cycles[ROUNDS];
	uint64_t n = 0;
	if (++kind != counted && counted)
		return;
	if (frames_init(&f, s, mac, mac, 1, 0, 1) != E_OK)
		exit(1);
	frames_use(&f, vector_bits());
	for (unsigned i = 0; i < SLOTS; i++)
		frames_make(&f, buf[i], i, 0);
	for (unsigned r = 0; r < (counted ? 1 : ROUNDS); r++) {
		uint64_t start = __builtin_ia32_rdtsc();
		for (unsigned t = 0; t < TURNS; t++, n += SLOTS)
			measured(&f, burst, n, (uint32_t)start);
		cycles[r] = (double)(__builtin_ia32_rdtsc() - start) / (TURNS * SLOTS);
	}
	if (counted) {
		printf("counted %u\n", TURNS * SLOTS);
		return;
	}
	qsort(cycles, ROUNDS, sizeof *cycles, by_value);
	printf("  %-52s %6.2f  (best %.2f)\n", what, cycles[ROUNDS / 2], cycles[0]);
}

/* The base for the other kinds: UDP over IPv4, stamped, 64 bytes with FCS. */
static struct plan_stream base(void)
{
	return (struct plan_stream){
		.proto = PLAN_UDP, .ttl = 64, .sizes = 1, .size = {60}, .stamped = true,
		.src = {{0, 0, BYTES_SWAP32(0xffff), 1}}, .dst = {{0, 0, BYTES_SWAP32(0xffff), 2}}};
}

static const struct plan_field source = {.where = PLAN_IP_SRC, .mode = PLAN_RANDOM,
                                         .first = 0x0a000000, .count = 1 << 24, .seed = 1};

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "-c") == 0)
		counted = (unsigned)atoi(argv[2]);
	unsigned burst = argc > 1 && !counted ? (unsigned)atoi(argv[1]) : 64;
	if (burst == 0 || SLOTS % burst != 0)
		return 1;
	for (unsigned i = 0; i < SLOTS; i++)
		buf[i] = (uint8_t *)aligned_alloc(BUF_BYTES, BUF_BYTES) + 64 + i % 29 * 64;
	if (!counted)
		printf("frames_patch, bursts of %u, TSC cycles a frame, median of %d:\n", burst, ROUNDS);
	struct plan_stream s = base();
	measure("stamp", &s, burst);
	s.fields = 1;
	s.field[0] = source;
	measure("stamp, random source address", &s, burst);
	s.stamped = false;
	measure("random source address alone", &s, burst);
	s = base();
	s.fields = 1;
	s.field[0] = source;
	s.field[0].mode = PLAN_INCREMENT;
	s.field[0].step = 1;
	measure("stamp, source address counted up", &s, burst);
	s.fields = 3;
	s.field[1] = (struct plan_field){.where = PLAN_PORT_SRC, .mode = PLAN_RANDOM, .count = 60000};
	s.field[2] = (struct plan_field){.where = PLAN_MAC_SRC, .mode = PLAN_INCREMENT, .step = 1,
	                                 .count = 1000, .first = 0x020000000000};
	measure("stamp, address counted, port random, MAC counted", &s, burst);
	s = base();
	s.sizes = 12;
	for (unsigned i = 0; i < s.sizes; i++)
		s.size[i] = i % 12 == 6 ? 1514 : i % 3 == 1 ? 590 : 60;
	measure("stamp, sizes of a list (IMIX)", &s, burst);
	s.sizes = 2;
	s.size_mode = PLAN_SIZES_RANDOM;
	s.size[0] = 60;
	s.size[1] = 1514;
	measure("stamp, random sizes", &s, burst);
	s = base();
	s.v6 = true;
	s.src = s.dst = (struct net_addr){{0x20, 1, 2, 3}};
	s.size[0] = 80;
	s.fields = 1;
	s.field[0] = source;
	measure("IPv6: stamp, random source address", &s, burst);
	return 0;
}
