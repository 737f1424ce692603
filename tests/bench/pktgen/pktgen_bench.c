/*
 * The cost of the generator's judge and pacing per frame on this host, in TSC cycles: the lowest of
 * many vectors, so with all data in the cache. A whole generator costs more.
 *
 *     pktgen_bench [rounds]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "lib/csum.h"
#include "net/eth.h"
#include "tools/pktgen/measure/judge.h"
#include "tools/pktgen/measure/pace.h"

#define VECTOR 64
#define STRIDE 2176 /* the distance of buffers */
#define NOW_STEP 1000000

static uint8_t frames[VECTOR][STRIDE];
static struct pkt v[VECTOR], rest[VECTOR];
static struct judge_result result;
static struct plan plan = {.streams = 1, .stream = {{.port_in = PLAN_PORT_NONE}}};

struct way {
	const char *name;
	bool v6, verify, own_time;
};

static const struct way ways[] = {
	{"judge, IPv4 UDP, 60 bytes", false, false, false},
	{"judge, each with a time of its own", false, false, true},
	{"judge, checksums too", false, true, false},
	{"judge, IPv6 UDP, 80 bytes", true, false, false},
};

/* Frame number n in its slot of the vector. */
static void make(const struct way *w, unsigned i, uint64_t n, uint64_t sent)
{
	uint8_t *d = frames[i] + BUF_DATA_OFFSET, *ip = d + ETH_HLEN, *udp = ip + (w->v6 ? 40 : 20);
	struct stamp t = {STAMP_MAGIC, 0, n, (uint32_t)sent, 0};
	uint16_t bytes = (uint16_t)(8 + STAMP_BYTES);
	t.check = csum_fold(csum_partial(&t, sizeof t, 0));
	memset(d, 0, 128);
	be16_store(d + 12, w->v6 ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
	ip[0] = w->v6 ? 0x60 : 0x45;
	be16_store(ip + (w->v6 ? 4 : 2), (uint16_t)(bytes + (w->v6 ? 0 : 20)));
	ip[w->v6 ? 6 : 9] = 17;
	if (!w->v6)
		raw16_store(ip + 10, csum_fold(csum_partial(ip, 20, 0)));
	be16_store(udp + 4, bytes); /* no checksum, so it cannot be wrong */
	memcpy(udp + 8, &t, sizeof t);
	v[i] = (struct pkt){.data = d, .len = (uint16_t)(udp + bytes - d)};
}

static void bench_judge(const struct way *w, unsigned rounds, void *memory)
{
	static struct judge j;
	uint64_t best = UINT64_MAX, now = NOW_STEP, n = 0;
	judge_init(&j, &plan, 1, memory, &result);
	judge_begin(&j, 0);
	j.verify = w->verify;
	for (unsigned r = 0; r < rounds; r++, now += NOW_STEP) {
		for (unsigned i = 0; i < VECTOR; i++)
			make(w, i, n++, now - 500 - (w->own_time ? (unsigned)rand() % 100000 : 0));
		uint64_t from = __rdtsc();
		judge_vector(&j, v, VECTOR, now, rest);
		uint64_t took = __rdtsc() - from;
		best = took < best ? took : best;
	}
	printf("%-36s %5.1f cycles a frame%s\n", w->name, (double)best / VECTOR,
	       result.received == n ? "" : "  (not all were judged)");
}

static void bench_pace(unsigned rounds)
{
	static struct pace p;
	struct plan_stream s = {.rate = {PLAN_PPS, 14880952}, .burst = 1, .sizes = 1, .size = {60}};
	struct pace_rate r = {.hz = 2600000000, .senders = 1, .owed_max = 2600000};
	uint64_t best = UINT64_MAX, sent = 1;
	pace_start(&p, &s, &r, 0);
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t now = (uint64_t)i * 5591, from = __rdtsc(); /* 32 frames later */
		unsigned n = pace_due(&p, now, NULL, VECTOR);
		pace_sent(&p, NULL, n);
		uint64_t took = __rdtsc() - from;
		if (n >= 31 && took / n < best / sent) {
			best = took;
			sent = n;
		}
	}
	printf("%-36s %5.1f cycles a frame\n", "pacing, 14.88 million frames/s",
	       (double)best / (double)sent);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 20000;
	void *memory = malloc(judge_bytes(1));
	for (unsigned i = 0; i < ARRAY_LEN(ways); i++)
		bench_judge(&ways[i], rounds, memory);
	bench_pace(rounds);
	free(memory);
	return 0;
}
