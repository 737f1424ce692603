/*
 * Connects to a TCP service and exchanges verified data, or measures requests per second.
 *
 *     client 192.0.2.2 7 --send 1000000 --echo        sends, and compares the echo
 *     client 192.0.2.2 9 --send 1000000               sends, closes, waits for the peer's FIN
 *     client 192.0.2.2 19 --receive 1000000           receives, then closes
 *     client 192.0.2.2 7 --count 10000 --parallel 100 --send 10 --echo
 *     client 192.0.2.2 7 --requests 100000 --send 64  64 bytes there and back, repeatedly
 *
 * The client sends the pattern of pattern.h and compares received data with it (`mismatches`). It also
 * computes a CRC-32, for peers that send other data.
 */
#include <stdlib.h>
#include <string.h>

#include "examples/host.h"
#include "examples/pattern.h"

#define OPEN_BURST 64 /* most connections begun per turn */

static struct host host;
static struct host_options options;

static struct {
	struct net_addr local, remote;
	uint16_t port;
	uint64_t send, receive, requests;
	uint32_t count, parallel, local_port, urgent, abort_after, timeout_s;
	bool echo, hold, nodelay, keepalive;
} want = {.count = 1, .parallel = 1, .abort_after = UINT32_MAX};

static struct {
	uint64_t begun, connected, closed, reset, refused, timed_out, aborted, not_opened;
	uint64_t sent, received, mismatches, requests, urgent;
	uint32_t crc; /* of the data received by the connection that ended last */
	uint32_t open;
	uint64_t first_us, last_us;
} total;

struct session {
	uint64_t sent, received, requests;
	uint32_t crc;
	bool done; /* has sent and received everything */
	bool closed;
	struct tcp_conn *conn;
	struct session *next; /* in the list `holding` */
};

static struct session *holding;

/* --- sending --- */

static void finish(struct session *s)
{
	if (!s->closed)
		tcp_close(s->conn);
	s->closed = true;
}

/* With --hold no connection is closed before all are established. */
static void done(struct session *s)
{
	if (s->done)
		return;
	s->done = true;
	if (want.hold && total.connected < want.count) {
		s->next = holding;
		holding = s;
		return;
	}
	finish(s);
}

static void push(struct session *s)
{
	while (s->sent < want.send && !s->closed) {
		uint64_t left = want.send - s->sent;
		if (want.urgent && s->sent < want.urgent)
			left = want.urgent - s->sent;
		uint32_t n, room = tcp_send_room(s->conn);
		const uint8_t *bytes = pattern_at(s->sent, left < room ? (uint32_t)left : room, &n);
		bool urgent = want.urgent && s->sent + n == want.urgent;
		if (n)
			n = urgent ? tcp_send_urgent(s->conn, bytes, n) : tcp_send(s->conn, bytes, n);
		s->sent += n;
		total.sent += n;
		if (n == 0)
			break;
	}
	/* Without --receive and --requests our half is closed once everything is sent. */
	if (s->sent == want.send && !want.receive && !want.requests)
		done(s);
}

/* --- receiving --- */

static void connected(struct tcp_conn *c)
{
	struct session *s = tcp_arg(c);
	total.connected++;
	if (want.keepalive)
		tcp_set_keepalive(c, true);
	push(s);
}

static void one_more_request(struct session *s)
{
	s->requests++;
	total.requests++;
	if (total.requests >= want.requests) {
		done(s);
		return;
	}
	s->sent = s->received = 0;
	push(s);
}

static void leave_holding(const struct session *s)
{
	for (struct session **link = &holding; *link; link = &(*link)->next) {
		if (*link == s) {
			*link = s->next;
			break;
		}
	}
}

static void gone(struct session *s)
{
	leave_holding(s);
	total.crc = s->crc;
	total.open--;
	total.last_us = host.now_us;
	free(s);
}

static void data(struct tcp_conn *c, struct pkt *p)
{
	struct session *s = tcp_arg(c);
	if (!pattern_is(s->received, p->data, p->len))
		total.mismatches++;
	s->crc = pattern_crc32(s->crc, p->data, p->len);
	s->received += p->len;
	total.received += p->len;
	tcp_consumed(c, p->len);
	pkt_free(&host.pool, p);
	if (s->received >= want.abort_after) {
		total.aborted++;
		tcp_abort(c);
		gone(s);
	} else if (want.requests && s->received == want.send) {
		one_more_request(s);
	} else if (want.receive && s->received >= want.receive) {
		done(s);
	}
}

static void acked(struct tcp_conn *c, uint32_t n)
{
	(void)n;
	push(tcp_arg(c));
}

static void fin(struct tcp_conn *c)
{
	finish(tcp_arg(c));
}

static void urgent(struct tcp_conn *c)
{
	(void)c;
	total.urgent++;
}

static void closed(struct tcp_conn *c, int why)
{
	struct session *s = tcp_arg(c);
	if (why == E_OK)
		total.closed++;
	else if (why == E_RESET)
		total.reset++;
	else if (why == E_REFUSED)
		total.refused++;
	else
		total.timed_out++;
	if (why == E_OK && want.echo && s->received != want.send)
		total.mismatches++;
	gone(s);
}

static const struct tcp_app app = {
	.connected = connected, .data = data, .acked = acked, .fin = fin, .urgent = urgent,
	.closed = closed,
};

/* --- opening --- */

static bool open_one(uint64_t now_us)
{
	struct session *s = calloc(1, sizeof *s);
	struct tcp_open o = {
		.local = want.local, .remote = want.remote,
		.local_port = (uint16_t)want.local_port, .remote_port = want.port,
		.nodelay = want.nodelay, .app = &app, .arg = s,
	};
	if (!s)
		return false;
	if (options.fastopen) { /* the first bytes go with the SYN, if the peer's cookie is known */
		uint32_t n;
		o.fastopen = true;
		o.data = pattern_at(0, want.send < 1000 ? (uint32_t)want.send : 1000, &n);
		o.data_len = n;
		s->sent = n;
		total.sent += n;
	}
	s->conn = tcp_connect(host.tcp, &o, now_us, NULL);
	if (!s->conn) { /* no port or connection is free until one leaves TIME-WAIT */
		total.sent -= s->sent;
		free(s);
		total.not_opened++;
		return false;
	}
	total.begun++;
	total.open++;
	return true;
}

static bool turn(struct host *h, uint64_t now_us, uint64_t *wake_us)
{
	if (total.first_us == 0) {
		total.first_us = now_us;
		if (!host_source(h, &want.remote, &want.local)) {
			fputs("client: this host has no address of that family\n", stderr);
			return false;
		}
	}
	for (unsigned n = 0; total.begun < want.count && total.open < want.parallel; n++) {
		/* Not all in one turn: the device's queue would overflow with the answers. */
		if (n == OPEN_BURST || !open_one(now_us)) {
			*wake_us = n == OPEN_BURST ? now_us : now_us + 1000;
			break;
		}
	}
	while (holding && total.connected >= want.count) {
		struct session *s = holding;
		holding = s->next;
		finish(s);
	}
	if (want.timeout_s) {
		uint64_t end = total.first_us + (uint64_t)want.timeout_s * 1000000;
		if (now_us >= end)
			return false;
		if (end < *wake_us)
			*wake_us = end;
	}
	if (total.begun < want.count || total.open > 0)
		return true;
	/* First send frames that the impaired link still holds, such as the last ACK. */
	uint64_t held = tap_deadline(&h->tap);
	if (held < *wake_us)
		*wake_us = held + 1;
	return held != UINT64_MAX;
}

static void status(struct host *h, FILE *to)
{
	uint64_t end = total.open ? h->now_us : total.last_us;
	double seconds = (double)(end - total.first_us) / 1e6;
	fprintf(to, ",\"begun\":%llu,\"connected\":%llu,\"closed\":%llu,\"reset\":%llu",
	        (unsigned long long)total.begun, (unsigned long long)total.connected,
	        (unsigned long long)total.closed, (unsigned long long)total.reset);
	fprintf(to, ",\"refused\":%llu,\"timed_out\":%llu,\"aborted\":%llu,\"not_opened\":%llu",
	        (unsigned long long)total.refused, (unsigned long long)total.timed_out,
	        (unsigned long long)total.aborted, (unsigned long long)total.not_opened);
	fprintf(to, ",\"bytes_sent\":%llu,\"bytes_received\":%llu,\"crc\":%u,\"mismatches\":%llu",
	        (unsigned long long)total.sent, (unsigned long long)total.received, total.crc,
	        (unsigned long long)total.mismatches);
	fprintf(to, ",\"requests\":%llu,\"urgent\":%llu,\"seconds\":%.6f,\"requests_per_s\":%.0f",
	        (unsigned long long)total.requests, (unsigned long long)total.urgent, seconds,
	        seconds > 0 ? (double)total.requests / seconds : 0);
}

int main(int argc, char **argv)
{
	static const struct host_ops ops = {.turn = turn, .status = status};
	const struct option_row own[] = {
		{"send", OPTION_U64, &want.send, "bytes of each connection, or of each request"},
		{"receive", OPTION_U64, &want.receive, "bytes, then close (else the peer does)"},
		{"echo", OPTION_ON, &want.echo, "what is sent has to come back"},
		{"requests", OPTION_U64, &want.requests, "in all: --send bytes and echo each"},
		{"count", OPTION_U32, &want.count, "connections (1)"},
		{"parallel", OPTION_U32, &want.parallel, "of these at a time (1)"},
		{"hold", OPTION_ON, &want.hold, "close none before all are connected"},
		{"abort-after", OPTION_U32, &want.abort_after, "reset after so many bytes"},
		{"urgent", OPTION_U32, &want.urgent, "the first so many bytes are urgent"},
		{"local-port", OPTION_U32, &want.local_port, "to connect from"},
		{"nodelay", OPTION_ON, &want.nodelay, "Nagle's algorithm off"},
		{"keep-alive", OPTION_ON, &want.keepalive, "probes (--keepalive: ms)"},
		{"timeout", OPTION_U32, &want.timeout_s, "seconds, then end"},
		{NULL, OPTION_ON, NULL, NULL},
	};
	const char *words[2];
	host_defaults(&options);
	unsigned n = options_read(argc, argv, "client ADDRESS PORT [OPTION]...", own,
	                          host_options_table(&options), words, 2);
	if (n != 2 || !option_addr(words[0], &want.remote)) {
		fputs("client: ADDRESS PORT [OPTION]... (--help)\n", stderr);
		return 2;
	}
	want.port = (uint16_t)strtoul(words[1], NULL, 10);
	host_open(&host, &options, &ops);
	host_run(&host);
	return total.mismatches || total.closed != want.count;
}
