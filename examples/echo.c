/*
 * The small services, by TCP and UDP on a tap device: echo (RFC 862, port 7), discard (RFC 863,
 * port 9), chargen (RFC 864, port 19).
 *
 *     build/examples/echo --dev tap0 --address 192.0.2.1/24 --address 2001:db8::1/64
 *
 * TCP echo is zero copy: received data is sent from the buffer it was received in. To be verifiable,
 * discard keeps a CRC-32 of the discarded data, and chargen sends the bytes of pattern.h instead of the
 * lines in RFC 864, which are only an example there. UDP chargen answers with as many bytes as the
 * request had, so it does not amplify floods. UDP echo and chargen do not answer a datagram from port 7
 * or 19, or two services could exchange datagrams forever.
 */
#include <stdlib.h>
#include <string.h>

#include "examples/host.h"
#include "examples/pattern.h"

enum { PORT_ECHO = 7, PORT_DISCARD = 9, PORT_CHARGEN = 19 };

static struct host host;
static struct host_options options;
static uint64_t chargen_bytes;
static bool close_first;

static struct {
	uint64_t echoed, discarded, generated, urgent;
	uint32_t discard_crc; /* of the connection to port 9 that was closed last */
	uint64_t discard_bytes;
} total;

/* --- echo: received data occupies the window until its echo is acknowledged, so there is room --- */

static bool echo_accept(struct tcp_conn *c)
{
	(void)c;
	return true;
}

static void echo_data(struct tcp_conn *c, struct pkt *p)
{
	uint32_t n = p->len;
	total.echoed += n;
	if (tcp_send_pkt(c, p) != E_OK) { /* this side has closed: --close-first */
		pkt_free(&host.pool, p);
		tcp_consumed(c, n);
	} else if (close_first) {
		tcp_close(c);
	}
}

static void echo_acked(struct tcp_conn *c, uint32_t n)
{
	tcp_consumed(c, n);
}

static void urgent(struct tcp_conn *c)
{
	(void)c;
	total.urgent++;
}

static void fin(struct tcp_conn *c)
{
	tcp_close(c);
}

static const struct tcp_app echo = {
	.accept = echo_accept, .data = echo_data, .acked = echo_acked, .fin = fin, .urgent = urgent,
};

/* --- discard --- */

struct discarded {
	uint64_t bytes;
	uint32_t crc;
};

static bool discard_accept(struct tcp_conn *c)
{
	struct discarded *d = calloc(1, sizeof *d);
	tcp_set_arg(c, d);
	return d;
}

static void discard_data(struct tcp_conn *c, struct pkt *p)
{
	struct discarded *d = tcp_arg(c);
	d->crc = pattern_crc32(d->crc, p->data, p->len);
	d->bytes += p->len;
	total.discarded += p->len;
	tcp_consumed(c, p->len);
	pkt_free(&host.pool, p);
}

static void discard_closed(struct tcp_conn *c, int why)
{
	struct discarded *d = tcp_arg(c);
	(void)why;
	total.discard_crc = d->crc;
	total.discard_bytes = d->bytes;
	free(d);
}

static const struct tcp_app discard = {
	.accept = discard_accept, .data = discard_data, .fin = fin, .urgent = urgent,
	.closed = discard_closed,
};

/* --- chargen: sends as much as there is room for, without end or up to --chargen-bytes --- */

static void chargen_fill(struct tcp_conn *c)
{
	uint64_t *at = tcp_arg(c);
	for (;;) {
		uint64_t left = chargen_bytes ? chargen_bytes - *at : UINT32_MAX;
		uint32_t n, room = tcp_send_room(c);
		const uint8_t *bytes = pattern_at(*at, left < room ? (uint32_t)left : room, &n);
		n = n ? tcp_send(c, bytes, n) : 0;
		*at += n;
		total.generated += n;
		if (n == 0)
			break;
	}
	if (chargen_bytes && *at == chargen_bytes)
		tcp_close(c);
}

static bool chargen_accept(struct tcp_conn *c)
{
	tcp_set_arg(c, calloc(1, sizeof(uint64_t)));
	if (!tcp_arg(c))
		return false;
	chargen_fill(c);
	return true;
}

static void chargen_data(struct tcp_conn *c, struct pkt *p)
{
	tcp_consumed(c, p->len);
	pkt_free(&host.pool, p);
}

static void chargen_acked(struct tcp_conn *c, uint32_t n)
{
	(void)n;
	chargen_fill(c);
}

static void chargen_closed(struct tcp_conn *c, int why)
{
	(void)why;
	free(tcp_arg(c));
}

/* A peer that has closed its half may still want all --chargen-bytes. */
static void chargen_fin(struct tcp_conn *c)
{
	if (!chargen_bytes)
		tcp_close(c);
}

static const struct tcp_app chargen = {
	.accept = chargen_accept, .data = chargen_data, .acked = chargen_acked, .fin = chargen_fin,
	.closed = chargen_closed,
};

/* --- UDP --- */

static void udp_chargen(struct pkt *p, const struct udp_datagram *d)
{
	uint32_t n;
	uint64_t at = 0;
	for (unsigned left = d->data_len; left; left -= n, at += n) {
		const uint8_t *bytes = pattern_at(at, left, &n);
		memcpy((uint8_t *)(uintptr_t)d->data + at, bytes, n);
	}
	struct udp_build b = {.src = d->dst, .dst = d->src, .src_port = d->dst_port,
	                      .dst_port = d->src_port, .ttl = IP4_TTL_DEFAULT, .df = true};
	uint8_t *ip = p->data + ETH_HLEN, *to = ip + ip_header_bytes(&d->src) + UDP_HLEN;
	/* The request may have had IP options or extension headers. */
	memmove(to, d->data, d->data_len);
	udp_packet_build(ip, p->len - ETH_HLEN, &b, to, d->data_len);
	p->flags = 0;
	host_reply(&host, p, ip);
}

static bool udp(struct host *h, const struct udp_datagram *d, struct pkt *p)
{
	bool loop = d->src_port == PORT_ECHO || d->src_port == PORT_CHARGEN;
	if (d->dst_port != PORT_ECHO && d->dst_port != PORT_CHARGEN && d->dst_port != PORT_DISCARD)
		return false;
	if (loop || d->dst_port == PORT_DISCARD) {
		pkt_free(&h->pool, p);
		return true;
	}
	h->cnt.v[CNT_udp_tx]++;
	if (d->dst_port == PORT_ECHO)
		host_reply(h, p, udp_echo_make(p->data + ETH_HLEN));
	else
		udp_chargen(p, d);
	return true;
}

/* --- the program --- */

static void status(struct host *h, FILE *to)
{
	(void)h;
	fprintf(to, ",\"echoed\":%llu,\"discarded\":%llu,\"generated\":%llu,\"urgent\":%llu",
	        (unsigned long long)total.echoed, (unsigned long long)total.discarded,
	        (unsigned long long)total.generated, (unsigned long long)total.urgent);
	fprintf(to, ",\"discard_bytes\":%llu,\"discard_crc\":%u",
	        (unsigned long long)total.discard_bytes, total.discard_crc);
}

static void listen_on(uint16_t port, const struct tcp_app *app)
{
	struct tcp_listen l = {.addr = NET_ADDR_ANY, .port = port, .fastopen = options.fastopen,
	                       .app = app};
	if (tcp_listen(host.tcp, &l) != E_OK)
		exit(1);
}

int main(int argc, char **argv)
{
	static const struct host_ops ops = {.udp = udp, .status = status};
	const struct option_row own[] = {
		{"chargen-bytes", OPTION_U64, &chargen_bytes, "then chargen closes (never)"},
		{"close-first", OPTION_ON, &close_first, "echo closes after what came first"},
		{NULL, OPTION_ON, NULL, NULL},
	};
	host_defaults(&options);
	options_read(argc, argv, "echo [OPTION]...   TCP and UDP ports 7, 9, 19", own,
	             host_options_table(&options), NULL, 0);
	host_open(&host, &options, &ops);
	listen_on(PORT_ECHO, &echo);
	listen_on(PORT_DISCARD, &discard);
	listen_on(PORT_CHARGEN, &chargen);
	host_run(&host);
	return 0;
}
