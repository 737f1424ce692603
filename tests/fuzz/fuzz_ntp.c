/*
 * net/ntp: a client of two servers with a clock. Instructions follow each other, each an octet (operation in the low 3 bits, server in
 * the next) and arguments:
 *     0  an answer of raw octets: length, octets
 *     1  an answer with the cookie of the last request, its other 40 octets raw
 *     2  a good answer whose clock is wrong by 16 bits of ms, with a delay of 8 bits of ms
 *     3  time passes, in units of 100 ms
 *     4  the server is configured anew, or not any more
 *     5  there is, or is no, route
 * After each the invariants of client.h must hold, and the clock is never changed by a server that does not answer.
 */
#include "tests/fuzz/input.h"

#include "lib/bytes.h"
#include "net/ntp/client.h"

#define SERVERS 2u
#define UTC 1795988645000000000ull

static struct ntp_client client;
static uint64_t now, clock_at, number;
static uint8_t request[SERVERS][NTP_BYTES];
static bool no_route, answered;

static uint64_t on_send(void *ctx, unsigned i, const uint8_t r[NTP_BYTES])
{
	(void)ctx;
	assert(i < SERVERS && client.server[i].used && !client.server[i].denied);
	memcpy(request[i], r, NTP_BYTES);
	return no_route ? 0 : now;
}

static uint64_t on_random(void *ctx)
{
	(void)ctx;
	return number = number * 6364136223846793005u + 1442695040888963407u;
}

static uint64_t on_clock(void *ctx, uint64_t at)
{
	(void)ctx, (void)at;
	return clock_at;
}

static void on_adjust(void *ctx, const struct ntp_order *o, uint64_t utc_minus_now, uint64_t at)
{
	(void)ctx;
	assert(answered && at == now && client.synchronized);
	assert(o->frequency <= NTP_FREQUENCY_MAX && o->frequency >= -NTP_FREQUENCY_MAX);
	assert(o->action == NTP_STEP || (o->offset_ns <= NTP_STEP_NS && o->offset_ns >= -NTP_STEP_NS && o->over_ns));
	clock_at = o->action == NTP_STEP ? utc_minus_now : clock_at + (uint64_t)o->offset_ns;
}

static const struct ntp_ops ops = {on_send, on_random, on_clock, on_adjust};

static void put_time(uint8_t *at, uint64_t ns)
{
	be32_store(at, (uint32_t)(ns / NTP_SECOND_NS + 2208988800u));
	be32_store(at + 4, (uint32_t)(((ns % NTP_SECOND_NS) << 32) / NTP_SECOND_NS));
}

static void give(unsigned i, const uint8_t *data, unsigned len)
{
	uint8_t *copy = malloc(len ? len : 1);
	const struct ntp_server before = client.server[i];
	memcpy(copy, data, len);
	answered = true;
	const enum counter why = ntp_client_input(&client, i, copy, len, now);
	answered = false;
	free(copy);
	assert(why == CNT_NONE || why == CNT_drop_ntp_malformed || why == CNT_drop_ntp_origin ||
	       why == CNT_drop_ntp_unsynchronized);
	if (why == CNT_NONE) /* the cookie was repeated, and not twice */
		assert(before.waiting && len >= NTP_BYTES && memcmp(data + 24, request[i] + 40, 8) == 0 &&
		       !client.server[i].waiting);
}

static void check(void)
{
	unsigned peers = 0;
	for (unsigned i = 0; i < NTP_SERVERS_MAX; i++) {
		const struct ntp_server *s = &client.server[i];
		assert(s->used || s->verdict == NTP_REJECTED);
		assert(s->burst <= NTP_BURST && (!s->denied || s->reach == 0));
		peers += s->verdict == NTP_SYSTEM_PEER;
		if (s->used)
			assert(ntp_server_distance(s) >= 0 && s->estimate.delay_ns >= 0 && s->estimate.jitter_ns >= 0);
	}
	assert(peers <= 1);
	assert(!client.synchronized || (client.server[client.peer].used && clock_at));
	assert(client.discipline.poll >= NTP_POLL_MIN && client.discipline.poll <= NTP_POLL_MAX);
	assert(ntp_client_root_dispersion(&client, now) >= 0);
}

static void step(struct input *in)
{
	const uint8_t op = take8(in);
	const unsigned i = op >> 3 & 1;
	uint8_t a[256] = {0};
	switch (op & 7) {
	case 0: {
		const unsigned n = take8(in);
		for (unsigned k = 0; k < n; k++)
			a[k] = take8(in);
		give(i, a, n);
		break;
	}
	case 1:
		for (unsigned k = 0; k < NTP_BYTES; k++)
			a[k] = k >= 24 && k < 32 ? request[i][k + 16] : take8(in);
		give(i, a, NTP_BYTES);
		break;
	case 2: {
		const int16_t wrong = (int16_t)take16(in);
		const uint64_t there = UTC + now + (uint64_t)((int64_t)wrong * 1000000);
		now += take8(in) * 1000000u;
		a[0] = 4 << 3 | 4;
		a[1] = 2;
		memcpy(a + 24, request[i] + 40, 8);
		put_time(a + 32, there);
		put_time(a + 40, there);
		give(i, a, NTP_BYTES);
		break;
	}
	case 3: {
		now += take16(in) * 100000000ull;
		const uint64_t due = ntp_client_tick(&client, now);
		assert(due > now);
		break;
	}
	case 4: {
		const uint8_t how = take8(in);
		const struct net_addr addr = net_addr_ip4(how & 8 ? 0 : 0xc0000202 + i);
		const struct ntp_server_options o = {.prefer = how & 1, .iburst = how & 2, .poll_min = (uint8_t)(4 + (how >> 4 & 3)),
		                                     .poll_max = (uint8_t)(7 + (how >> 6))};
		if (how & 4)
			ntp_server_clear(&client, i, now);
		else
			ntp_server_set(&client, i, how & 8 ? &NET_ADDR_ANY : &addr, &o, now);
		break;
	}
	default:
		no_route = op & 0x80;
	}
	check();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	now = 1000000000;
	clock_at = number = 0;
	no_route = answered = false;
	memset(request, 0, sizeof request);
	ntp_client_init(&client, &ops, NULL, 0);
	const struct ntp_server_options o = {.iburst = true, .poll_min = 6, .poll_max = 10};
	for (unsigned i = 0; i < SERVERS; i++) {
		const struct net_addr addr = net_addr_ip4(0xc0000202 + i);
		ntp_server_set(&client, i, &addr, &o, now);
	}
	ntp_client_tick(&client, now);
	while (in.n)
		step(&in);
	return 0;
}
