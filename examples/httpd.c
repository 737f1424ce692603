/*
 * An HTTP/1.1 server without files (RFC 9110, 9112): GET /N returns N bytes of pattern.h, any other
 * path 404. Connections are persistent, and requests may be pipelined.
 *
 *     build/examples/httpd --dev tap0 --address 192.0.2.1/24
 *     curl http://192.0.2.1/1000000 | cksum
 *
 * No call blocks: a connection's state is the data it still has to send, and `acked` sends more. The
 * receive window is its only queue of requests: the server consumes data once it has read it, and reads
 * no request while an answer is being sent.
 *
 * Deliberately missing: request bodies (refused), ranges, TLS.
 */
#include <stdlib.h>
#include <string.h>

#include "examples/host.h"
#include "examples/pattern.h"

#define HEAD_MAX 4096 /* a request line with its header fields */
#define ANSWER_MAX 256

static struct host host;
static struct host_options options;
static uint32_t port = 80;
static uint64_t requests;

struct session {
	char head[HEAD_MAX];     /* head of the request being received */
	uint32_t head_len;
	char answer[ANSWER_MAX]; /* sent first, then `body` bytes of pattern */
	uint32_t answer_len, answer_sent;
	uint64_t body, body_sent;
	bool owes;               /* an answer is being sent; no request is read until it is complete */
	bool last;               /* the connection is closed after this answer */
	bool heard_fin;
};

/* --- answers --- */

static void answer(struct session *s, const char *status, uint64_t body, bool head_only)
{
	s->answer_len = (uint32_t)snprintf(
		s->answer, sizeof s->answer,
		"HTTP/1.1 %s\r\nServer: Hayate\r\nContent-Type: application/octet-stream\r\n"
		"Content-Length: %llu\r\n%s\r\n", status, (unsigned long long)body,
		s->last ? "Connection: close\r\n" : "");
	s->answer_sent = 0;
	s->body = head_only ? 0 : body;
	s->body_sent = 0;
	s->owes = true;
}

/* Sends as much of the answer as there is room for. */
static void push(struct tcp_conn *c)
{
	struct session *s = tcp_arg(c);
	if (s->answer_sent < s->answer_len)
		s->answer_sent += tcp_send(c, s->answer + s->answer_sent,
		                           s->answer_len - s->answer_sent);
	while (s->answer_sent == s->answer_len && s->body_sent < s->body) {
		uint64_t left = s->body - s->body_sent;
		uint32_t n, room = tcp_send_room(c);
		room = left < room ? (uint32_t)left : room;
		const uint8_t *bytes = pattern_at(s->body_sent, room, &n);
		n = n ? tcp_send(c, bytes, n) : 0;
		s->body_sent += n;
		if (n == 0)
			break;
	}
	s->owes = s->answer_sent < s->answer_len || s->body_sent < s->body;
}

/* --- requests --- */

/* Copies the value of a header field, in lower case, to `value`; false if there is no such field or the
 * value does not fit. */
static bool field(const char *head, const char *name, char *value, size_t size)
{
	size_t n = strlen(name);
	for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
		if (strncasecmp(line + 2, name, n) != 0 || line[2 + n] != ':')
			continue;
		const char *from = line + 3 + n;
		from += strspn(from, " \t");
		size_t len = strcspn(from, "\r");
		if (len >= size)
			return false;
		for (size_t i = 0; i < len; i++)
			value[i] = (char)(from[i] | (from[i] >= 'A' && from[i] <= 'Z') << 5);
		value[len] = '\0';
		return true;
	}
	return false;
}

/* Handles a complete head, ended by NUL: request line and fields. */
static void request(struct session *s, const char *head)
{
	char method[8], target[64], value[64];
	int minor = 0, end = 0;
	requests++;
	if (sscanf(head, "%7[A-Z] %63s HTTP/1.%1d%n", method, target, &minor, &end) != 3 ||
	    strncmp(head + end, "\r\n", 2) != 0 || target[0] != '/') {
		s->last = true;
		answer(s, "400 Bad Request", 0, false);
		return;
	}
	bool said = field(head, "connection", value, sizeof value);
	s->last = minor == 0 ? !said || !strstr(value, "keep-alive")
	                     : said && strstr(value, "close");
	bool has_body = field(head, "transfer-encoding", value, sizeof value) ||
	                (field(head, "content-length", value, sizeof value) && strcmp(value, "0"));
	char *after;
	uint64_t n = strtoull(target + 1, &after, 10);
	bool head_only = strcmp(method, "HEAD") == 0;
	if (has_body)
		s->last = true; /* otherwise the body would be read as a request */
	if (has_body)
		answer(s, "413 Content Too Large", 0, false);
	else if (!head_only && strcmp(method, "GET") != 0)
		answer(s, "405 Method Not Allowed\r\nAllow: GET, HEAD", 0, false);
	else if (*after || after == target + 1 || target[1] == '-')
		answer(s, "404 Not Found", 0, head_only);
	else
		answer(s, "200 OK", n, head_only);
}

/* Handles complete heads in the received data, one after another, as answers are sent. */
static void serve(struct tcp_conn *c)
{
	struct session *s = tcp_arg(c);
	while (!s->owes && !s->last) {
		s->head[s->head_len] = '\0';
		char *end = strstr(s->head, "\r\n\r\n");
		if (!end && s->head_len < HEAD_MAX - 1)
			break;
		uint32_t n = end ? (uint32_t)(end + 4 - s->head) : s->head_len;
		if (end) {
			end[2] = '\0';
			request(s, s->head);
		} else {
			s->last = true;
			answer(s, "431 Request Header Fields Too Large", 0, false);
		}
		memmove(s->head, s->head + n, s->head_len - n);
		s->head_len -= n;
		tcp_consumed(c, n);
		push(c);
	}
	if (!s->owes && (s->last || s->heard_fin))
		tcp_close(c);
}

/* --- a connection --- */

static bool on_accept(struct tcp_conn *c)
{
	tcp_set_arg(c, calloc(1, sizeof(struct session)));
	return tcp_arg(c);
}

/* Requests that do not fit wait at the peer: the window is as large as `head` (see main). */
static void on_data(struct tcp_conn *c, struct pkt *p)
{
	struct session *s = tcp_arg(c);
	uint32_t room = HEAD_MAX - 1 - s->head_len;
	if (s->last || p->len > room) { /* data after the last request, or beyond our window */
		tcp_consumed(c, p->len);
	} else {
		memcpy(s->head + s->head_len, p->data, p->len);
		s->head_len += p->len;
	}
	pkt_free(&host.pool, p);
	serve(c);
}

static void on_acked(struct tcp_conn *c, uint32_t n)
{
	(void)n;
	push(c);
	serve(c);
}

static void on_fin(struct tcp_conn *c)
{
	((struct session *)tcp_arg(c))->heard_fin = true;
	serve(c);
}

static void on_closed(struct tcp_conn *c, int why)
{
	(void)why;
	free(tcp_arg(c));
}

static void status(struct host *h, FILE *to)
{
	(void)h;
	fprintf(to, ",\"requests\":%llu", (unsigned long long)requests);
}

int main(int argc, char **argv)
{
	static const struct tcp_app app = {.accept = on_accept, .data = on_data, .acked = on_acked,
	                                   .fin = on_fin, .closed = on_closed};
	static const struct host_ops ops = {.status = status};
	const struct option_row own[] = {
		{"port", OPTION_U32, &port, "to listen on (80)"},
		{NULL, OPTION_ON, NULL, NULL},
	};
	host_defaults(&options);
	options.tcp.rcv_buf = options.tcp.rcv_buf_max = HEAD_MAX - 1;
	options_read(argc, argv, "httpd [OPTION]...   GET /N: N bytes", own,
	             host_options_table(&options), NULL, 0);
	host_open(&host, &options, &ops);
	struct tcp_listen l = {.addr = NET_ADDR_ANY, .port = (uint16_t)port, .nodelay = true,
	                       .fastopen = options.fastopen, .app = &app};
	if (tcp_listen(host.tcp, &l) != E_OK)
		return 1;
	host_run(&host);
	return 0;
}
