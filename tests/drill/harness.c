/*
 * TCP in a host process and in virtual time: packets and calls on stdin, packets and callbacks on
 * stdout. tests/drill/drill.py runs its scripts against it.
 *
 * Real, compiled under ASan and UBSan: net/ and lib/ (but mem.c). Twin: the buffer pool's ASan
 * poisoning (tests/host/lib/pkt.h). The application below does nothing by itself: it reports its
 * callbacks, keeps no buffer, and acts on command.
 *
 *     harness [NAME=VALUE]...      struct tcp_params by the names of its fields; `buffers`, of the
 *                                  pool; `start_us`, the time at which the instance is made;
 *                                  `tx_ring`, how many packets sent the device still holds;
 *                                  `family`, 4 or 6
 *
 * Commands, one a line, each answered; the last line of an answer is `done`:
 *
 *     in HEX...                    IP packets are received, as one vector
 *     icmp unreach|too_big MTU HEX an ICMP error that quotes these bytes of an IP packet
 *     time US                      time passes until then, to the microsecond
 *     until US                     the same, but only until a packet is sent
 *     listen PORT ARG fastopen|- nodelay|- any|-
 *     connect PORT fastopen|- nodelay|- HEX|-    to `remote`, with first data
 *     send ID HEX                  tcp_send
 *     sendpkt ID HEX               tcp_send_pkt
 *     urgent ID HEX                tcp_send_urgent
 *     close|abort ID               tcp_close, tcp_abort
 *     consumed ID N                tcp_consumed
 *     nodelay|keepalive ID 0|1     tcp_set_nodelay, tcp_set_keepalive
 *     user_timeout ID MS           tcp_set_user_timeout
 *     refuse 0|1                   accept refuses from now on
 *     orphan ID                    data that arrives from now on has no reader: it is answered by
 *                                  tcp_abort, as a host's sockets do (RFC 9293 3.6.1)
 *     info ID                      struct tcp_info and tcp_urgent
 *     counters                     those that are not zero; how many connections are in each state
 *     end                          everything must be released; the process ends
 *
 * Answers, before `now US` and `done`:
 *     out US HEX [MSS HEADER-BYTES]   with the two numbers: a TSO frame
 *     conn ID (of connect; -: none) | result N | gone (there is no such connection)
 *     event ID accept ARG|connected|data HEX|acked N|fin|urgent|closed WHY
 *     info NAME VALUE | counter NAME VALUE | state NUMBER N
 * Connections are numbered from 1 in the order in which they are accepted or begun.
 *
 * Invariants; if one fails the process ends with a line on stderr, as for an assert or a
 * sanitizer's report:
 * 1. Every buffer has one owner, and at the end all are in the pool.
 * 2. Every received packet was counted in one fate.
 * 3. A packet sent has no flag that params.offload does not allow.
 * 4. Nothing writes to a packet that the device still holds.
 * 5. tcp_tick moves tcp_deadline beyond the time it was called with.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/csum.h"
#include "lib/pkt.h"
#include "net/eth.h"
#include "net/ip.h"
#include "net/tcp/tcp.h"
#include "tests/host/lines.h"

#define LINE_BYTES (1u << 20)
#define FRAME_MAX 65536
#define CONNS_MAX 4096
#define TX_RING_MAX 1024
#define SPIN_MAX 100000u /* ticks that do not advance the deadline */
#define LINGER_US 600000000u /* for connections left at the end, above all in TIME-WAIT */

static struct tcp *tcp;
static struct tcp_params params;
static struct bufpool pool;
static struct counters counters;
static uint64_t now_us = 1000000, received, sent;
static uint32_t buffers = 2048, tx_ring;
static bool refuse;
static struct net_addr local, remote;

static struct {
	struct tcp_conn *c;
	bool orphan;
} conns[CONNS_MAX];
static uintptr_t conn_last; /* last number given; [0] is not used */

_Noreturn void assert_fail(const char *expr, const char *file, unsigned line)
{
	fflush(stdout);
	fprintf(stderr, "%s:%u: assertion failed: %s\n", file, line, expr);
	abort();
}

/* --- packets --- */

static uint8_t allowed_flags(void)
{
	unsigned flags = PKT_OWN | PKT_SHARED | PKT_CSUM_OK;
	if (params.offload & TCP_TX_CSUM)
		flags |= PKT_CSUM_PARTIAL;
	if (params.offload & TCP_TX_SG)
		flags |= PKT_CHAIN;
	if (params.offload & TCP_TX_TSO)
		flags |= PKT_TSO;
	return (uint8_t)flags;
}

/* The device returns packets late, in order. */
static struct {
	struct pkt p;
	uint64_t bytes;
} held[TX_RING_MAX];
static uint64_t held_first, held_last;

static uint64_t add_bytes(uint64_t hash, const uint8_t *b, size_t n)
{
	while (n--)
		hash = (hash ^ *b++) * 0x100000001b3u; /* FNV-1a */
	return hash;
}

static uint64_t hash_of(const struct pkt *p)
{
	uint64_t hash = add_bytes(0xcbf29ce484222325u, p->data, p->len);
	const struct pkt_frag *f = pkt_frags(&pool, p->buf);
	for (unsigned i = 0; p->flags & PKT_CHAIN && i < pkt_meta(&pool, p->buf)->frags; i++)
		hash = add_bytes(hash, buf_at(&pool, f[i].buf, f[i].offset), f[i].len);
	return hash;
}

static void give_back(uint32_t left)
{
	for (; held_last - held_first > left; held_first++) {
		struct pkt *p = &held[held_first % TX_RING_MAX].p;
		if (hash_of(p) != held[held_first % TX_RING_MAX].bytes)
			broken("a packet changed while the device had it");
		pkt_free(&pool, p);
	}
}

static void transmit(void *ctx, struct pkt *p)
{
	(void)ctx;
	if (p->flags & ~allowed_flags() || !(p->flags & PKT_OWN))
		broken("a packet is sent with flags %#x", p->flags);
	bool tso = p->flags & PKT_TSO;
	if (tso && !(p->flags & PKT_CSUM_PARTIAL))
		broken("a packet is to be cut up and has no partial checksum");
	if (!tso) /* a TSO frame is completed by what segments it */
		pkt_csum_complete(&pool, p);
	if (p->len < ETH_HLEN + ip_header_bytes(&remote))
		broken("a packet of %u bytes is sent", p->len);
	printf("out %" PRIu64 " ", now_us);
	print_hex(p->data + ETH_HLEN, (size_t)p->len - ETH_HLEN);
	if (p->flags & PKT_CHAIN) {
		const struct pkt_frag *f = pkt_frags(&pool, p->buf);
		for (unsigned i = 0; i < pkt_meta(&pool, p->buf)->frags; i++)
			print_hex(buf_at(&pool, f[i].buf, f[i].offset), f[i].len);
	}
	if (tso) {
		const struct pkt_meta *m = pkt_meta(&pool, p->buf);
		printf(" %u %u", m->mss, m->hdr_bytes - ETH_HLEN);
	}
	putchar('\n');
	sent++;
	held[held_last % TX_RING_MAX].bytes = hash_of(p);
	held[held_last++ % TX_RING_MAX].p = *p;
	give_back(tx_ring);
}

/* A received packet; what lies behind it may not be read. */
static struct pkt receive(const uint8_t *ip, size_t n)
{
	struct pkt p;
	if (n + ETH_HLEN > buf_room(&pool))
		broken("a packet of %zu bytes does not fit a buffer", n);
	if (!pkt_alloc(&pool, &p))
		broken("no buffer to receive with");
	memset(p.data, 0, ETH_HLEN);
	memcpy(p.data + ETH_HLEN, ip, n);
	p.len = (uint16_t)(n + ETH_HLEN);
	uint8_t *end = buf_base(&pool, p.buf) + pool.stride;
	ASAN_POISON_MEMORY_REGION(p.data + p.len, (size_t)(end - p.data) - p.len);
	bool good = ip_is_ip6(ip) ? ip6_check(p.data + ETH_HLEN, (unsigned)n) == CNT_NONE &&
	                                    ip6_next(ip) == IP6_TCP
	                          : ip4_check(p.data + ETH_HLEN, (unsigned)n) == CNT_NONE &&
	                                    !ip4_is_fragment(ip) && ip4_proto(ip) == IP4_PROTO_TCP;
	if (!good)
		broken("the test sends what IP would not pass on to TCP");
	received++;
	return p;
}

/* --- the application --- */

static uintptr_t id_of(struct tcp_conn *c)
{
	uintptr_t id = (uintptr_t)tcp_arg(c);
	if (id == 0 || id > conn_last || conns[id].c != c)
		broken("a callback for a connection that is not there");
	return id;
}

static uintptr_t id_new(void)
{
	if (conn_last + 1 == CONNS_MAX)
		broken("too many connections");
	return ++conn_last;
}

static bool on_accept(struct tcp_conn *c)
{
	if (refuse)
		return false;
	uintptr_t id = id_new();
	conns[id].c = c;
	printf("event %" PRIuPTR " accept %" PRIuPTR "\n", id, (uintptr_t)tcp_arg(c));
	tcp_set_arg(c, (void *)id);
	return true;
}

static void on_connected(struct tcp_conn *c)
{
	printf("event %" PRIuPTR " connected\n", id_of(c));
}

static void on_data(struct tcp_conn *c, struct pkt *p)
{
	uintptr_t id = id_of(c);
	if (p->len == 0)
		broken("nothing was given up as data");
	printf("event %" PRIuPTR " data ", id);
	print_hex(p->data, p->len);
	putchar('\n');
	pkt_free(&pool, p);
	if (conns[id].orphan) {
		conns[id].c = NULL;
		tcp_abort(c);
	}
}

static void on_acked(struct tcp_conn *c, uint32_t n)
{
	printf("event %" PRIuPTR " acked %" PRIu32 "\n", id_of(c), n);
}

static void on_fin(struct tcp_conn *c)
{
	printf("event %" PRIuPTR " fin\n", id_of(c));
}

static void on_urgent(struct tcp_conn *c)
{
	printf("event %" PRIuPTR " urgent\n", id_of(c));
}

static void on_closed(struct tcp_conn *c, int why)
{
	uintptr_t id = id_of(c);
	printf("event %" PRIuPTR " closed %d\n", id, why);
	conns[id].c = NULL;
}

static const struct tcp_app app = {
	.accept = on_accept,
	.connected = on_connected,
	.data = on_data,
	.acked = on_acked,
	.fin = on_fin,
	.urgent = on_urgent,
	.closed = on_closed,
};

/* --- time --- */

/* Lets time pass until `end`, or with `stop` until something has been sent. */
static void pass_time(uint64_t end, bool stop)
{
	uint64_t before = sent;
	unsigned spin = 0;
	for (uint64_t next; (next = tcp_deadline(tcp)) <= end && (!stop || sent == before);) {
		if (next > now_us)
			now_us = next, spin = 0;
		else if (++spin == SPIN_MAX)
			broken("the deadline stays at %" PRIu64 ", the time is %" PRIu64, next, now_us);
		tcp_tick(tcp, now_us);
	}
	if (stop && sent != before)
		return;
	if (end > now_us)
		now_us = end;
	tcp_tick(tcp, now_us);
}

/* --- commands --- */

static uint64_t number(void)
{
	return strtoull(argument(), NULL, 0);
}

static void command_in(void)
{
	struct pkt v[PKT_VECTOR_MAX];
	unsigned n = 0;
	for (const char *word; (word = strtok(NULL, " \n"));) {
		size_t bytes;
		uint8_t *ip = parse_hex(word, FRAME_MAX, &bytes);
		if (n == PKT_VECTOR_MAX)
			broken("too many packets at once");
		v[n++] = receive(ip, bytes);
		free(ip);
	}
	tcp_input(tcp, v, n, now_us);
}

static void command_icmp(void)
{
	bool too_big = strcmp(argument(), "too_big") == 0;
	uint32_t mtu = (uint32_t)number();
	size_t n;
	uint8_t *ip = parse_hex(argument(), FRAME_MAX, &n);
	tcp_icmp(tcp, ip, (unsigned)n, too_big ? TCP_ICMP_TOO_BIG : TCP_ICMP_UNREACH, mtu, now_us);
	free(ip);
}

static void command_listen(void)
{
	struct tcp_listen l = {.addr = local, .app = &app};
	l.port = (uint16_t)number();
	l.arg = (void *)(uintptr_t)number();
	l.fastopen = strcmp(argument(), "fastopen") == 0;
	l.nodelay = strcmp(argument(), "nodelay") == 0;
	if (strcmp(argument(), "any") == 0)
		l.addr = NET_ADDR_ANY;
	printf("result %d\n", tcp_listen(tcp, &l));
}

static void command_connect(void)
{
	struct tcp_open o = {.local = local, .remote = remote, .app = &app};
	size_t n;
	int error = E_OK;
	o.remote_port = (uint16_t)number();
	o.fastopen = strcmp(argument(), "fastopen") == 0;
	o.nodelay = strcmp(argument(), "nodelay") == 0;
	uint8_t *data = parse_hex(argument(), FRAME_MAX, &n);
	o.data = data;
	o.data_len = (uint32_t)n;
	uintptr_t id = id_new();
	o.arg = (void *)id;
	conns[id].c = tcp_connect(tcp, &o, now_us, &error);
	free(data);
	if (conns[id].c)
		printf("conn %" PRIuPTR "\n", id);
	else
		printf("conn -\nresult %d\n", error);
}

static void send_packet(struct tcp_conn *c, const uint8_t *data, size_t n)
{
	struct pkt p;
	if (!pkt_alloc(&pool, &p) || n > buf_room(&pool))
		broken("no buffer for what is to be sent");
	memcpy(p.data, data, n);
	p.len = (uint16_t)n;
	int error = tcp_send_pkt(c, &p);
	if (error)
		pkt_free(&pool, &p);
	printf("result %d\n", error);
}

static void command_send(struct tcp_conn *c, bool zero_copy, bool urgent)
{
	size_t n;
	uint8_t *data = parse_hex(argument(), FRAME_MAX, &n);
	if (zero_copy)
		send_packet(c, data, n);
	else
		printf("result %" PRIu32 "\n",
		       (urgent ? tcp_send_urgent : tcp_send)(c, data, (uint32_t)n));
	free(data);
}

static void command_info(const struct tcp_conn *c)
{
	struct tcp_info i;
	uint32_t urgent = 0;
	tcp_info(c, &i);
	bool mark = tcp_urgent(c, &urgent);
	printf("info state %d\ninfo mss %u\ninfo cwnd %u\ninfo ssthresh %u\ninfo flight %u\n"
	       "info unsent %u\ninfo unacked %u\ninfo snd_wnd %u\ninfo rcv_wnd %u\n",
	       i.state, i.mss, i.cwnd, i.ssthresh, i.flight, i.unsent, i.unacked, i.snd_wnd, i.rcv_wnd);
	printf("info srtt_us %u\ninfo rttvar_us %u\ninfo rto_us %u\ninfo min_rtt_us %u\n"
	       "info retransmits %u\ninfo timestamps %d\ninfo sack %d\ninfo window_scale %d\n"
	       "info ecn %d\ninfo in_recovery %d\ninfo send_room %u\ninfo urgent %d\n"
	       "info urgent_bytes %u\n",
	       i.srtt_us, i.rttvar_us, i.rto_us, i.min_rtt_us, i.retransmits, i.timestamps, i.sack,
	       i.window_scale, i.ecn, i.in_recovery, tcp_send_room(c), mark, urgent);
}

static void command_counters(void)
{
	for (unsigned i = 0; i < CNT_MAX; i++)
		if (counters.v[i])
			printf("counter %s %" PRIu64 "\n", counter_desc[i].name, counters.v[i]);
	for (unsigned i = TCP_SYN_SENT; i <= TCP_TIME_WAIT; i++)
		printf("state %u %" PRIu32 "\n", i, tcp_count(tcp, (enum tcp_state)i));
}

static void abort_conn(uintptr_t id)
{
	struct tcp_conn *c = conns[id].c;
	conns[id].c = NULL;
	tcp_abort(c);
}

/* Commands whose first argument is a connection. False: no such command. */
static bool command_on_connection(const char *word)
{
	static const char *const known[] = {"send", "sendpkt", "urgent", "close", "abort", "consumed",
	                                    "nodelay", "keepalive", "user_timeout", "orphan", "info"};
	unsigned k = 0;
	while (k < ARRAY_LEN(known) && strcmp(word, known[k]) != 0)
		k++;
	if (k == ARRAY_LEN(known))
		return false;
	uint64_t id = number();
	struct tcp_conn *c = id <= conn_last ? conns[id].c : NULL;
	if (!c) {
		puts("gone");
		return true;
	}
	switch (k) {
	case 0:
	case 1:
	case 2: command_send(c, k == 1, k == 2); break;
	case 3: tcp_close(c); break;
	case 4: abort_conn(id); break;
	case 5: tcp_consumed(c, (uint32_t)number()); break;
	case 6: tcp_set_nodelay(c, number() != 0); break;
	case 7: tcp_set_keepalive(c, number() != 0); break;
	case 8: tcp_set_user_timeout(c, (uint32_t)number()); break;
	case 9: conns[id].orphan = true; break;
	case 10: command_info(c); break;
	}
	return true;
}

static void check_pool(void)
{
	static uint8_t *seen;
	seen = realloc(seen, pool.count);
	memset(seen, 0, pool.count);
	for (uint32_t i = 0; i < pool.free; i++)
		if (pool.stack[i] >= pool.count || seen[pool.stack[i]]++)
			broken("buffer %u is twice in the pool", pool.stack[i]);
}

static void check_fates(void)
{
	uint64_t fates = 0;
	for (unsigned i = 0; i < CNT_MAX; i++)
		if (counter_desc[i].kind != COUNTER_INFO)
			fates += counters.v[i];
	if (fates != received)
		broken("received %" PRIu64 ", fates %" PRIu64, received, fates);
}

/* Ends all connections: those that the application holds by tcp_abort, the others by their
 * timers. */
static void command_end(void)
{
	for (uintptr_t id = 1; id <= conn_last; id++)
		if (conns[id].c)
			abort_conn(id);
	refuse = true;
	pass_time(now_us + LINGER_US, false);
	give_back(0);
	check_pool();
	check_fates();
	if (tcp_connections(tcp) != 0)
		broken("%u connections are left", tcp_connections(tcp));
	if (pool.free != pool.count)
		broken("%u of %u buffers leaked", pool.count - pool.free, pool.count);
	if (tcp_deadline(tcp) != UINT64_MAX)
		broken("a timer runs for nobody");
}

static void command(const char *word)
{
	bool timed = true; /* the loop's turn goes on with a tick */
	if (strcmp(word, "in") == 0)
		command_in();
	else if (strcmp(word, "time") == 0 || strcmp(word, "until") == 0)
		pass_time(number(), word[0] == 'u'), timed = false;
	else if (strcmp(word, "icmp") == 0)
		command_icmp();
	else if (strcmp(word, "listen") == 0)
		command_listen();
	else if (strcmp(word, "connect") == 0)
		command_connect();
	else if (strcmp(word, "refuse") == 0)
		refuse = number() != 0;
	else if (strcmp(word, "counters") == 0)
		command_counters();
	else if (strcmp(word, "end") == 0)
		command_end();
	else if (!command_on_connection(word))
		broken("unknown command %s", word);
	if (timed)
		tcp_tick(tcp, now_us);
	check_pool();
	check_fates();
	printf("now %" PRIu64 "\ndone\n", now_us);
	fflush(stdout);
}

/* --- start --- */

#define PARAMETERS(X) \
	X(connections) X(listeners) X(syn_max) X(fastopen_max) X(reassembly_bufs) X(rcv_buf) \
	X(rcv_buf_max) X(snd_buf) X(mtu) X(offload) X(pool_reserve) X(congestion) X(rto_min_ms) \
	X(rto_max_ms) X(delack_ms) X(syn_timeout_ms) X(user_timeout_ms) X(keepalive_ms) X(keepalive_interval_ms) \
	X(keepalive_probes) X(time_wait_ms) X(fin_wait2_ms) X(challenge_acks) X(ecn) X(timestamps) \
	X(sack) X(window_scale) X(port_first) X(port_last)

static void set_family(unsigned long long family)
{
	if (family != 4 && family != 6)
		broken("family %llu", family);
	local = family == 6 ? IP6(0x20010db8, 0, 0, 1) : net_addr_ip4(IP4(192, 0, 2, 1));
	remote = family == 6 ? IP6(0x20010db8, 0, 0, 2) : net_addr_ip4(IP4(192, 0, 2, 2));
}

static void set_parameter(char *text)
{
	char *value = strchr(text, '=');
	if (!value)
		broken("%s: NAME=VALUE", text);
	*value++ = '\0';
	unsigned long long n = strtoull(value, NULL, 0);
#define SET(name) \
	if (strcmp(text, #name) == 0) { \
		params.name = (__typeof__(params.name))n; \
		return; \
	}
	PARAMETERS(SET)
#undef SET
	if (strcmp(text, "buffers") == 0)
		buffers = (uint32_t)n;
	else if (strcmp(text, "start_us") == 0)
		now_us = n;
	else if (strcmp(text, "family") == 0)
		set_family(n);
	else if (strcmp(text, "tx_ring") == 0 && n < TX_RING_MAX)
		tx_ring = (uint32_t)n;
	else
		broken("%s: no such parameter", text);
}

static void *take(size_t align, size_t bytes)
{
	bytes = (bytes + align - 1) / align * align;
	void *p = aligned_alloc(align, bytes);
	if (!p)
		broken("no memory");
	return p;
}

int main(int argc, char **argv)
{
	static const struct siphash_key key = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
	static const struct tcp_ops ops = {.tx = transmit};
	static char line[LINE_BYTES];
	set_family(4);
	params = TCP_PARAMS_DEFAULT;
	params.connections = 64; /* few, so that a table that fills up is a short script */
	params.syn_max = 16;
	params.reassembly_bufs = 256;
	params.snd_buf = params.rcv_buf; /* windows do not grow unless a script says so */
	params.rcv_buf_max = 0;
	for (int i = 1; i < argc; i++)
		set_parameter(argv[i]);
	bufpool_init(&pool, take(CACHE_LINE, (size_t)buffers * BUF_STRIDE_STANDARD),
	             take(sizeof(uint32_t), buffers * sizeof(uint32_t)), buffers, BUF_STRIDE_STANDARD);
	void *memory = take(CACHE_LINE, tcp_memory_bytes(&params));
	memset(memory, 0xa5, tcp_memory_bytes(&params)); /* the memory may contain anything */
	tcp = tcp_init(memory, &params, &pool, &counters, &key, &ops, NULL, now_us);
	if (!tcp)
		broken("no instance");
	while (fgets(line, sizeof line, stdin)) {
		const char *word = strtok(line, " \n");
		bool last = word && strcmp(word, "end") == 0;
		if (word)
			command(word);
		if (last)
			return 0;
	}
	broken("the test went away");
}
