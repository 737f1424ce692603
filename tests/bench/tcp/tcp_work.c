/* The work of connections in the benchmarks of TCP: see tcp_work.h. */
#define _GNU_SOURCE
#include "tests/bench/tcp/tcp_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/mem.h"
#include "tests/bench/tcp/tcp_side.h"

#define SOURCE_AT 192     /* offset of a source's payload in its buffer: headers fit in front */
#define SOURCE_AHEAD 65536 /* bytes */
#define PAYLOAD_MAX 65536

static uint32_t random_below(struct work *w, uint32_t n)
{
	/* xorshift64* (Vigna 2016) */
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return (uint32_t)((w->random * 0x2545f4914f6cdd1dull >> 32) * n >> 32);
}

/* --- requests --- */

static void request_at(struct work_conn *wc, uint64_t begun_tsc)
{
	struct work *w = wc->work;
	const uint32_t len = w->ask ? (uint32_t)strlen(w->ask) : w->size;
	wc->wanted = w->size;
	wc->head = w->ask != NULL;
	wc->begun_tsc = begun_tsc;
	w->in_flight++;
	if (tcp_send(wc->conn, w->ask ? (const void *)w->ask : w->payload, len) != len) {
		fprintf(stderr, "a request was not taken\n");
		exit(1);
	}
}

static void request(struct work_conn *wc)
{
	request_at(wc, tsc_now());
}

bool work_request(struct work *w, uint64_t due_tsc)
{
	for (uint32_t i = 0; w->in_flight < w->connections && i < w->connections; i++) {
		struct work_conn *wc = &w->conn[w->turn];
		w->turn = w->turn + 1 < w->connections ? w->turn + 1 : 0;
		if (wc->wanted == 0 && wc->conn) {
			request_at(wc, due_tsc);
			return true;
		}
	}
	return false;
}

/* Chooses an idle connection, if only some are active at a time. */
static struct work_conn *choose(struct work *w)
{
	for (;;) {
		struct work_conn *wc = &w->conn[random_below(w, w->connections)];
		if (wc->wanted == 0 && wc->conn)
			return wc;
	}
}

static void response(struct work_conn *wc)
{
	struct work *w = wc->work;
	w->requests++;
	w->in_flight--;
	const uint64_t now = tsc_now();
	if (w->paced) {
		open_loop_clock(w->paced, now);
		open_loop_back(w->paced, wc->begun_tsc, now);
	} else if (w->latency) {
		histogram_add(w->latency, now - wc->begun_tsc);
	}
	if (w->kind == WORK_CRR)
		tcp_close(wc->conn);
	else if (w->running && !w->paced)
		request(w->busy ? choose(w) : wc);
}

/* --- bulk --- */

/*
 * Zero copy, and nothing is written: the bytes are those in the buffer. Sends no more than can
 * leave soon, because the rest would only leave the cache; half of the buffers are for reception.
 */
static void fill(struct work *w, struct tcp_conn *c)
{
	struct pkt p;
	struct tcp_info i;
	tcp_info(c, &i);
	uint32_t soon = (i.cwnd < i.snd_wnd ? i.cwnd : i.snd_wnd) + SOURCE_AHEAD;
	uint32_t queued = i.unsent + i.unacked;
	for (; queued < soon && tcp_send_room(c) >= w->mss; queued += w->mss) {
		if (w->pool->free < w->pool->count / 2 || !pkt_alloc(w->pool, &p))
			return;
		p.data = buf_base(w->pool, p.buf) + SOURCE_AT;
		p.len = (uint16_t)w->mss;
		if (tcp_send_pkt(c, &p) != E_OK) {
			pkt_free(w->pool, &p);
			return;
		}
	}
}

void work_run(struct work *w, bool run)
{
	w->running = run;
	if (!run || w->kind == WORK_CRR || w->paced)
		return;
	uint32_t n = w->kind == WORK_RR && w->busy ? w->busy : w->connections;
	for (uint32_t i = 0; i < n; i++) {
		struct work_conn *wc = &w->conn[i];
		uint32_t held = wc->held;
		wc->held = 0;
		if (held)
			tcp_consumed(wc->conn, held);
		if (w->kind == WORK_RR && w->busy)
			request(choose(w));
		else if (w->kind == WORK_RR && wc->wanted == 0) /* else a response is late */
			request(wc);
		else if (w->kind == WORK_SOURCE || w->kind == WORK_BOTH)
			fill(w, wc->conn);
	}
}

/* --- the client's applications --- */

static void connected(struct tcp_conn *c)
{
	struct work_conn *wc = tcp_arg(c);
	struct work *w = wc->work;
	w->established++;
	w->opening--;
	if (w->kind == WORK_CRR && w->size)
		request(wc);
	else if (w->kind == WORK_CRR)
		tcp_close(c);
}

/* Octets of the head of the HTTP response that the segment begins with. */
static uint32_t head_of(const struct pkt *p)
{
	static const char ok[] = "HTTP/1.1 200 ";
	const uint8_t *end = memmem(p->data, p->len, "\r\n\r\n", 4);
	if (p->len < sizeof ok || memcmp(p->data, ok, sizeof ok - 1) != 0 || !end) {
		fprintf(stderr, "a response does not begin with a whole head and status 200\n");
		exit(1);
	}
	return (uint32_t)(end + 4 - p->data);
}

/* Counts a piece of a response. Only an echo's contents are known, and of others the length. */
static void count_response(struct work_conn *wc, const struct pkt *p)
{
	struct work *w = wc->work;
	const uint32_t len = p->len - (wc->head ? head_of(p) : 0);
	wc->head = false;
	w->unlike += len > wc->wanted ||
	             (!w->ask && !w->other && memcmp(p->data, w->payload + w->size - wc->wanted, len) != 0);
	wc->wanted -= len < wc->wanted ? len : wc->wanted;
}

static void client_data(struct tcp_conn *c, struct pkt *p)
{
	struct work_conn *wc = tcp_arg(c);
	struct work *w = wc->work;
	uint32_t len = p->len;
	w->received_bytes += len;
	if (w->kind == WORK_RR || w->kind == WORK_CRR)
		count_response(wc, p);
	pkt_free(w->pool, p);
	if (w->kind == WORK_SINK && !w->running)
		wc->held += len;
	else
		tcp_consumed(c, len);
	if (wc->wanted == 0 && (w->kind == WORK_RR || w->kind == WORK_CRR))
		response(wc);
}

static void client_acked(struct tcp_conn *c, uint32_t bytes)
{
	struct work_conn *wc = tcp_arg(c);
	struct work *w = wc->work;
	w->acked_bytes += bytes;
	if (w->running && (w->kind == WORK_SOURCE || w->kind == WORK_BOTH))
		fill(w, c);
}

static void client_closed(struct tcp_conn *c, int why)
{
	struct work_conn *wc = tcp_arg(c);
	struct work *w = wc->work;
	w->ended++;
	w->failed += why != E_OK || w->kind != WORK_CRR;
	if (tcp_connections(w->tcp) && wc->wanted)
		w->in_flight--;
	wc->conn = NULL;
	wc->wanted = 0;
}

static const struct tcp_app client = {
	.connected = connected,
	.data = client_data,
	.acked = client_acked,
	.closed = client_closed,
};

static void open_one(struct work *w, uint32_t i, uint64_t now)
{
	int error = E_OK;
	struct work_conn *wc = &w->conn[i];
	*wc = (struct work_conn){.work = w, .begun_tsc = tsc_now()};
	wc->conn = tcp_connect(w->tcp,
	                       &(struct tcp_open){.local = w->local[i % w->locals],
	                                          .remote = w->server,
	                                          .remote_port = w->port,
	                                          .nodelay = true,
	                                          .app = &client,
	                                          .arg = wc},
	                       now, &error);
	if (!wc->conn) {
		fprintf(stderr, "connection %u cannot be opened: error %d\n", i, error);
		exit(1);
	}
	w->opening++;
}

bool work_turn(struct work *w, uint64_t now)
{
	if (w->kind == WORK_CRR) {
		for (uint32_t i = 0; i < w->connections && w->running; i++)
			if (!w->conn[i].conn)
				open_one(w, i, now);
		return true;
	}
	while (w->begun < w->connections && w->opening < WORK_HALF_OPEN)
		open_one(w, w->begun++, now);
	return w->established == w->connections;
}

/* --- a server --- */

static bool accept(struct tcp_conn *c)
{
	struct work *w = tcp_arg(c);
	w->established++;
	if (w->kind == WORK_SOURCE)
		fill(w, c);
	return true;
}

/* Received data goes back in its buffer, and counts against the window until it is acknowledged, so
 * there is always room. */
static void echo_data(struct tcp_conn *c, struct pkt *p)
{
	struct work *w = tcp_arg(c);
	if (tcp_send_pkt(c, p) != E_OK)
		pkt_free(w->pool, p);
}

static void sink_data(struct tcp_conn *c, struct pkt *p)
{
	struct work *w = tcp_arg(c);
	uint32_t len = p->len;
	w->received_bytes += len;
	pkt_free(w->pool, p);
	tcp_consumed(c, len);
}

static void server_acked(struct tcp_conn *c, uint32_t bytes)
{
	struct work *w = tcp_arg(c);
	w->acked_bytes += bytes;
	if (w->kind == WORK_SOURCE)
		fill(w, c);
	else
		tcp_consumed(c, bytes);
}

static void server_fin(struct tcp_conn *c)
{
	tcp_close(c);
}

static void server_closed(struct tcp_conn *c, int why)
{
	struct work *w = tcp_arg(c);
	w->ended++;
	w->failed += why != E_OK;
}

static const struct tcp_app echo_server = {.accept = accept,
                                           .data = echo_data,
                                           .acked = server_acked,
                                           .fin = server_fin,
                                           .closed = server_closed};
static const struct tcp_app bulk_server = {.accept = accept,
                                           .data = sink_data,
                                           .acked = server_acked,
                                           .fin = server_fin,
                                           .closed = server_closed};

void work_listen(struct work *w)
{
	const struct tcp_app *app = w->kind == WORK_ECHO ? &echo_server : &bulk_server;
	struct tcp_listen l = {.port = w->port, .nodelay = true, .app = app, .arg = w};
	if (tcp_listen(w->tcp, &l) != E_OK) {
		fprintf(stderr, "cannot listen\n");
		exit(1);
	}
}

void work_init(struct work *w)
{
	w->random = 0x9e3779b97f4a7c15u;
	w->conn = w->connections ? bench_memory(w->connections * sizeof *w->conn) : NULL;
	w->payload = bench_memory(PAYLOAD_MAX);
	for (uint32_t i = 0; i < PAYLOAD_MAX; i++)
		w->payload[i] = (uint8_t)(i * 7 + i / 256);
}

void work_free(struct work *w)
{
	if (w->conn)
		bench_memory_free(w->conn, w->connections * sizeof *w->conn);
	bench_memory_free(w->payload, PAYLOAD_MAX);
}
