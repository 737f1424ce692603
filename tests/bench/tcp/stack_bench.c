/*
 * The cost of TCP itself: two instances of net/tcp in one process, joined by a wire that copies
 * (tcp_side.c), without a card or another core. Cycles are TSC ticks in the calls of the server's
 * instance, tcp_input and tcp_tick with the application that they call back. The client's and the
 * wire's work is not counted, but it shares the cache: on a core of its own, TCP would find more of
 * its data there.
 *
 * Not included: the card, and the checks before tcp_input (Ethernet, ip4_check). The code is that
 * of the image: the same objects of `make` (flags, lib/mem.c and all).
 *
 *   stack_bench [-6] [-p] [-r ROUNDS] [-s SECONDS] [-i CONNECTIONS] [PREFIX...]
 *
 * Measures figures whose names begin with one of the prefixes; without any, all. A round lasts
 * SECONDS; the median of ROUNDS and the best are printed. Each figure has a line: name, median,
 * unit, best, and further data. -i: number of idle connections, default a million. -p: real-time
 * priority, if allowed. -6: over IPv6; names then begin with `ip6.`, prefixes do not. -c: for gate.py,
 * the number of a figure's units that one round makes, in a time that counts calls.
 *
 *   rr.SIZE.CONNECTIONS   request/response, one outstanding on each connection
 *   rr.SIZE.of.TOTAL      the same on 256 connections at a time of all that are open, at random
 *   crr.SIZE              connect, one exchange of SIZE, close; 64 at a time
 *   bulk.tx, bulk.rx      the server sends, receives, on 1 connection and on 16
 *   idle                  memory of an established connection that is idle
 *   worst                 a segment of the streams that cost the most (tests/unit/rig/tcp_worst.h):
 *                         ranges, SACKs of 16,400 outstanding chunks
 *
 * `csum`: the port sums and verifies checksums; `tso`: it also segments large frames; `soft`: it
 * does neither.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/ip.h"
#include "tests/bench/tcp/tcp_side.h"
#include "tests/bench/tcp/tcp_work.h"
#include "tests/unit/rig/tcp_worst.h"

#define ROUNDS_MAX 1000
#define VECTOR PKT_VECTOR_MAX
#define BUFFERS 16384
#define CSUM TCP_TX_CSUM
#define TSO (TCP_TX_CSUM | TCP_TX_SG | TCP_TX_TSO)
#define AT_ONCE 256 /* requests outstanding, if not one per connection */

/* Shorter than a time slice of the host's scheduler: an interrupted round is one of many and does
 * not move the median. */
static unsigned rounds = 150;
static double seconds = 0.002;
#define WARM_UP_S 0.1 /* longer than a delayed ACK waits */
static uint32_t idle_connections = 1000000;
#define COUNTED_CALL_US 5
static bool counted, counting;
static char **wanted; /* prefixes, NULL at the end */
static bool six;
static uint64_t tsc_pair; /* ticks between two adjacent tsc_now() */

struct bench {
	struct side server, client;
	struct work served, load;
	uint64_t cycles;     /* in the server */
	uint64_t in, out;    /* packets of the server */
	uint64_t turns;
};

static bool is_wanted(const char *name)
{
	for (char **prefix = wanted; *prefix; prefix++)
		if (strncmp(name, *prefix, strlen(*prefix)) == 0)
			return true;
	return !*wanted;
}

static uint32_t mss(void)
{
	return six ? 1428 : 1448; /* of 1500 bytes with timestamps */
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void row(const char *name, const char *figure, double *values, unsigned n, const char *unit,
                bool higher, const char *more)
{
	qsort(values, n, sizeof *values, by_value);
	printf("%s%-24s %-22s %10.3f %-14s best %10.3f  %s\n", six ? "ip6." : "", name, figure,
	       values[n / 2], unit, values[higher ? n - 1 : 0], more);
	fflush(stdout);
}

static void measure_pair(void)
{
	tsc_pair = UINT64_MAX;
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t t = tsc_now();
		t = tsc_now() - t;
		tsc_pair = t < tsc_pair ? t : tsc_pair;
	}
}

/* --- two ends and a wire --- */

static void serve(struct bench *b, struct pkt *v, unsigned n, uint64_t now)
{
	if (n)
		tcp_input(b->server.tcp, v, n, now);
	tcp_tick(b->server.tcp, now);
}

/* The same when a figure is taken (-c), so that callgrind can count it alone. */
static __attribute__((noipa)) void measured(struct bench *b, struct pkt *v, unsigned n, uint64_t now)
{
	serve(b, v, n, now);
}

static void turn(struct bench *b)
{
	static struct pkt v[VECTOR];
	uint64_t now = now_us();
	unsigned n = wire_carry(&b->client, &b->server, v, VECTOR);
	uint32_t out = b->server.out_tail;
	uint64_t start = tsc_now();
	(counting ? measured : serve)(b, v, n, now);
	uint64_t took = tsc_now() - start;
	b->cycles += took > tsc_pair ? took - tsc_pair : 0;
	b->in += n;
	b->out += b->server.out_tail - out;
	b->turns++;

	n = wire_carry(&b->server, &b->client, v, VECTOR);
	if (n)
		tcp_input(b->client.tcp, v, n, now);
	tcp_tick(b->client.tcp, now);
	work_turn(&b->load, now);
}

static struct tcp_params parameters(uint32_t connections, uint32_t offload)
{
	struct tcp_params p = TCP_PARAMS_DEFAULT;
	p.connections = connections;
	p.offload = offload;
	return p;
}

/* The server's kind of work is `served`, the client's `load`; both ends have `offload`. */
static struct bench *begin(enum work_kind served, enum work_kind load, uint32_t connections,
                           uint32_t size, uint32_t offload)
{
	struct bench *b = bench_memory(sizeof *b);
	const struct net_addr address = six ? IP6(0x20010db8, 0, 0, 1)
	                                    : net_addr_ip4(IP4(192, 0, 2, 1));
	struct tcp_params p = parameters(connections + 64, offload);
	/* A response keeps its buffer until it is acknowledged: by the next request, or, if that is
	 * on another connection, after 40 ms. */
	uint32_t buffers = connections > BUFFERS ? 4 * BUFFERS : BUFFERS;
	side_make(&b->server, &p, buffers, BUF_STRIDE_STANDARD);
	p = parameters(connections + 1024, offload); /* TIME-WAIT is on the client's side */
	p.time_wait_ms = 1;
	p.port_first = 1024;
	p.port_last = 65535;
	side_make(&b->client, &p, 2 * BUFFERS, BUF_STRIDE_STANDARD);
	b->served = (struct work){.kind = served, .tcp = b->server.tcp, .pool = &b->server.pool,
	                          .port = 7, .mss = mss()};
	b->load = (struct work){.kind = load, .tcp = b->client.tcp, .pool = &b->client.pool,
	                        .port = 7, .mss = mss(), .server = address,
	                        .connections = connections, .size = size, .locals = 32};
	for (uint32_t i = 0; i < b->load.locals; i++)
		b->load.local[i] = bench_address(&address, 1 + i);
	work_init(&b->served);
	work_init(&b->load);
	work_listen(&b->served);
	return b;
}

static void fail(const char *what)
{
	fprintf(stderr, "stack_bench: %s\n", what);
	exit(1);
}

static void establish(struct bench *b)
{
	uint64_t end = now_us() + 60000000;
	while (!work_turn(&b->load, now_us())) {
		turn(b);
		if (now_us() > end)
			fail("the connections do not get established");
	}
	work_run(&b->load, true);
}

static void run_for(struct bench *b, double s)
{
	uint64_t end = now_us() + (uint64_t)(s * 1e6);
	b->cycles = b->in = b->out = b->turns = 0;
	while (now_us() < end)
		turn(b);
}

/* The wire loses nothing: a retransmission shows time taken by the host, or an error. */
static void note_again(const char *who, const struct counters *cnt)
{
	if (cnt->v[CNT_tcp_retransmits])
		printf("  note: %llu segments were sent again by the %s: %llu loss probes, "
		       "%llu timeouts, %llu recoveries\n",
		       (unsigned long long)cnt->v[CNT_tcp_retransmits], who,
		       (unsigned long long)cnt->v[CNT_tcp_tlp],
		       (unsigned long long)cnt->v[CNT_tcp_rto],
		       (unsigned long long)cnt->v[CNT_tcp_recoveries]);
}

static void end(struct bench *b)
{
	if (b->load.unlike)
		fail("a response was not like its request");
	if (b->load.failed)
		fail("a connection broke");
	if (b->server.lost || b->client.lost)
		fail("the wire lost packets");
	note_again("server", &b->server.cnt);
	note_again("client", &b->client.cnt);
	side_free(&b->server);
	side_free(&b->client);
	work_free(&b->served);
	work_free(&b->load);
	bench_memory_free(b, sizeof *b);
}

/* --- measurements --- */

/* -c: a round for callgrind. */
static void one_round(struct bench *b, const uint64_t *done)
{
	run_for(b, seconds);
	uint64_t before = *done;
	counting = true;
	run_for(b, seconds);
	counting = false;
	printf("counted %llu\n", (unsigned long long)(*done - before));
}

/* Measures rounds of a load that counts `done`: the server's cycles per count. */
static void per_done(struct bench *b, const char *name, const char *figure, const char *unit,
                     const uint64_t *done)
{
	double cycles[ROUNDS_MAX], in = 0, out = 0, turns = 0, all = 0;
	char more[128];
	if (counted) {
		one_round(b, done);
		return;
	}
	run_for(b, WARM_UP_S);
	uint64_t end = now_us() + (uint64_t)(seconds * rounds * 1e7) + 1000000;
	for (unsigned r = 0; r < rounds; r++) {
		uint64_t before = *done;
		run_for(b, seconds);
		double n = (double)(*done - before);
		if (n == 0 && now_us() < end) { /* the host gave the time to another */
			r--;
			continue;
		}
		if (n == 0)
			fail("nothing was done");
		cycles[r] = (double)b->cycles / n;
		in += (double)b->in;
		out += (double)b->out;
		turns += (double)b->turns;
		all += n;
	}
	snprintf(more, sizeof more, "%.2f segments in, %.2f out, %.0f a turn", in / all, out / all,
	         in / turns);
	row(name, figure, cycles, rounds, unit, false, more);
}

static void request_response(uint32_t size, uint32_t connections, uint32_t offload)
{
	char name[64];
	snprintf(name, sizeof name, "rr.%uB.%u%s", size, connections,
	         offload == CSUM ? ".csum" : ".soft");
	if (!is_wanted(name))
		return;
	struct bench *b = begin(WORK_ECHO, WORK_RR, connections, size, offload);
	establish(b);
	per_done(b, name, "cycles_per_request", "TSC cycles", &b->load.requests);
	end(b);
}

static void connect_close(uint32_t size)
{
	char name[64];
	snprintf(name, sizeof name, "crr.%uB.csum", size);
	if (!is_wanted(name))
		return;
	struct bench *b = begin(WORK_ECHO, WORK_CRR, 64, size, CSUM);
	establish(b);
	per_done(b, name, "cycles_per_connection", "TSC cycles", &b->load.ended);
	if (counted) {
		end(b);
		return;
	}
	double rate[1] = {(double)b->load.ended};
	uint64_t before = b->load.ended;
	run_for(b, seconds * rounds);
	rate[0] = tsc_hz() * (double)(b->load.ended - before) / (double)b->cycles / 1e6;
	row(name, "connections", rate, 1, "M/s of a core", true, "the server alone");
	end(b);
}

static void bulk(bool sends, uint32_t connections, uint32_t offload)
{
	char name[64];
	snprintf(name, sizeof name, "bulk.%s.%u%s", sends ? "tx" : "rx", connections,
	         offload == TSO    ? ".tso"
	         : offload == CSUM ? ".csum"
	                           : ".soft");
	if (!is_wanted(name))
		return;
	double bytes[ROUNDS_MAX];
	char more[128];
	struct bench *b = begin(sends ? WORK_SOURCE : WORK_SINK, sends ? WORK_SINK : WORK_SOURCE,
	                        connections, 0, offload);
	establish(b);
	const uint64_t *done = sends ? &b->served.acked_bytes : &b->served.received_bytes;
	if (counted) {
		one_round(b, done);
		end(b);
		return;
	}
	run_for(b, WARM_UP_S); /* the congestion window grows */
	uint64_t in = 0, out = 0, all = 0;
	for (unsigned r = 0; r < rounds; r++) {
		uint64_t before = *done;
		run_for(b, seconds);
		bytes[r] = (double)(*done - before) / (double)b->cycles;
		in += b->in;
		out += b->out;
		all += *done - before;
	}
	snprintf(more, sizeof more, "%.0f bytes a packet %s, %.1f packets %s for each",
	         (double)all / (double)(sends ? out : in), sends ? "sent" : "received",
	         sends ? (double)in / (double)out : (double)out / (double)in,
	         sends ? "received" : "sent");
	row(name, "bytes_per_cycle", bytes, rounds, "B/cycle", true, more);
	for (unsigned r = 0; r < rounds; r++)
		bytes[r] *= tsc_hz() * 8 / 1e9;
	row(name, "rate", bytes, rounds, "Gbit/s", true, "of a core, were the server all it did");
	end(b);
}

static double resident_bytes(void *p, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page, there = 0;
	unsigned char *in = malloc(pages);
	if (!in || mincore(p, bytes, in) != 0)
		return 0;
	for (size_t i = 0; i < pages; i++)
		there += in[i] & 1;
	free(in);
	return (double)(there * page);
}

static void idle(void)
{
	char name[64], of[64], more[128];
	snprintf(name, sizeof name, "idle.%u", idle_connections);
	snprintf(of, sizeof of, "rr.64B.of.%u.csum", idle_connections);
	if (!is_wanted(name) && !is_wanted(of))
		return;
	struct bench *b = begin(WORK_ECHO, WORK_RR, idle_connections, 64, CSUM);
	b->load.busy = AT_ONCE;
	uint64_t start = now_us(), all = 0;
	while (!work_turn(&b->load, now_us())) {
		turn(b);
		all = b->cycles;
	}
	double ms = (double)(now_us() - start) / 1e3;
	double cycles = (double)all / idle_connections;
	for (uint64_t until = now_us() + 300000; now_us() < until;) /* delayed ACKs and the like */
		turn(b);
	if (tcp_count(b->server.tcp, TCP_ESTABLISHED) != idle_connections)
		fail("not all connections are established");
	double bytes = (double)(b->server.table_bytes + b->server.pool_bytes);
	double each = bytes / idle_connections, mib = bytes / 1048576;
	double state = (double)b->server.table_bytes / idle_connections;
	double resident = resident_bytes(b->server.tables, b->server.table_bytes) +
	                  resident_bytes(b->server.buffers, (size_t)b->server.pool.count *
	                                                            b->server.pool.stride);
	snprintf(more, sizeof more, "%.0f MiB in all, %.0f resident; %u established in %.0f ms",
	         mib, resident / 1048576, tcp_count(b->server.tcp, TCP_ESTABLISHED), ms);
	row(name, "bytes_per_connection", &each, 1, "bytes", false, more);
	row(name, "state_bytes_per_connection", &state, 1, "bytes", false, "without packet buffers");
	row(name, "cycles_to_establish", &cycles, 1, "TSC cycles", false, "the server alone");
	run_for(b, 0.2);
	double tick = (double)b->cycles / (double)b->turns;
	row(name, "cycles_per_idle_turn", &tick, 1, "TSC cycles", false, "tcp_tick");
	work_run(&b->load, true);
	per_done(b, of, "cycles_per_request", "TSC cycles", &b->load.requests);
	end(b);
}

/* Every second byte from both ends inwards: no more ranges than are kept, then others. */
static void worst_range(struct worst *w, unsigned i)
{
	worst_segment(w, i % 2 ? 4000 - i : 2 * (i / 2 + 1), 1, NULL, 0);
}

/* One chunk from either end of what is outstanding by turns. */
static void worst_sack(struct worst *w, unsigned i)
{
	uint32_t at = w->una + WORST_MSS * (i % 2 ? 16300 - i : 20 + i);
	struct tcp_sack b = {at, at + WORST_MSS};
	worst_segment(w, 0, 0, &b, 1);
}

static void worst(const char *name, unsigned n, void (*each)(struct worst *w, unsigned i))
{
	if (!is_wanted(name))
		return;
	double cycles[ROUNDS_MAX];
	unsigned times = rounds < 9 ? rounds : 9;
	for (unsigned r = 0; r < times; r++) {
		struct worst w;
		worst_begin(&w, 40000, 1u << 20, 4u << 20);
		worst_fill(&w);
		uint64_t start = tsc_now();
		for (unsigned i = 0; i < n; i++)
			each(&w, i);
		cycles[r] = (double)(tsc_now() - start) / n;
		worst_end(&w);
	}
	row(name, "cycles_per_segment", cycles, times, "TSC cycles", false, "what it has sent included");
}

int main(int argc, char **argv)
{
	const struct sched_param first = {.sched_priority = 30};
	int option;
	while ((option = getopt(argc, argv, "6cpr:s:i:")) != -1) {
		if (option == '6')
			six = true;
		else if (option == 'c')
			counted = true;
		else if (option == 'p')
			sched_setscheduler(0, SCHED_FIFO, &first);
		else if (option == 'r')
			rounds = (unsigned)atoi(optarg);
		else if (option == 's')
			seconds = atof(optarg);
		else if (option == 'i')
			idle_connections = (uint32_t)atoi(optarg);
		else
			return 2;
	}
	if (rounds < 1 || rounds > ROUNDS_MAX)
		return 2;
	wanted = argv + optind;
	if (counted)
		bench_time_by_calls(COUNTED_CALL_US);
	measure_pair();
	if (!counted)
		printf("TSC %.1f MHz; a pair of time-stamps, taken off: %llu cycles; %u rounds of %g s\n",
	       tsc_hz() / 1e6, (unsigned long long)tsc_pair, rounds, seconds);

	static const uint32_t counts[] = {1, 16, 64, 256, 4096}, sizes[] = {1, 64};
	for (unsigned s = 0; s < ARRAY_LEN(sizes); s++)
		for (unsigned c = 0; c < ARRAY_LEN(counts); c++)
			request_response(sizes[s], counts[c], CSUM);
	request_response(64, 64, 0);
	request_response(1024, 64, CSUM);
	request_response(1024, 64, 0);
	connect_close(0);
	connect_close(64);
	static const uint32_t offloads[] = {0, CSUM, TSO};
	for (unsigned o = 0; o < ARRAY_LEN(offloads); o++) {
		bulk(true, 1, offloads[o]);
		bulk(true, 16, offloads[o]);
	}
	bulk(false, 1, 0);
	bulk(false, 1, CSUM);
	bulk(false, 16, CSUM);
	idle();
	worst("worst.ranges", 1000, worst_range);
	worst("worst.sacks", 4000, worst_sack);
	return 0;
}
