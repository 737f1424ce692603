/*
 * Connections that move (net/tcp/move.h): the input brings a connection of one instance into a
 * state, damages the messages in which it leaves, and is then a program for its peer, its application
 * and the clock at the other instance.
 *
 * Messages are real ones with some bytes changed, so that most get past the first checks. Invariants
 * that are checked, beside those of the sanitizers and assertions:
 * 1. A refusal leaves nothing behind: no connection, no buffer. The old instance goes on.
 * 2. Whatever is taken makes progress: after tcp_tick the deadline lies in the future.
 * 3. A connection that is not damaged is taken, there and back, as often as it moves.
 * 4. At the end all buffers are back, no connection is left, no timer is armed.
 */
#include "tests/fuzz/input.h"

#include "net/ip.h"
#include "net/tcp/move_image.h"

#define US net_addr_ip4(IP4(192, 0, 2, 1))
#define PEER net_addr_ip4(IP4(192, 0, 2, 2))
#define BUFS 96u
#define STRIDE BUF_STRIDE_STANDARD
#define MSGS 128
#define ETH_BYTES 14
#define SECOND 1000000u

enum target {
	AT_SYN_SENT, AT_SYN_RECEIVED, AT_ESTABLISHED, AT_FIN_WAIT_1, AT_FIN_WAIT_2, AT_CLOSE_WAIT,
	AT_CLOSING, AT_LAST_ACK, AT_TIME_WAIT, AT_COUNT
};

enum op { OP_TIME, OP_ACK, OP_DATA, OP_SACK, OP_SEND, OP_CLOSE, OP_CONSUME, OP_FIN, OP_MOVE, OP_COUNT };

struct core {
	struct bufpool pool;
	struct counters cnt;
	struct tcp *tcp;
	void *mem;
	struct tcp_move_in in;
};

static struct {
	struct core core[2];
	struct tcp_params params;
	struct tcp_conn *c; /* as its application knows it */
	unsigned at;        /* its core */
	uint64_t now_us;
	uint32_t nxt, una, max; /* the peer's next number; what it acknowledges; the highest it saw */
	uint32_t held;
	bool ts, damaged;
	uint32_t tsval;
} lab;

/* The messages of the last move. */
static uint8_t msg[MSGS][TCP_MOVE_MSG_MIN];
static uint32_t len[MSGS];
static unsigned msgs;

static _Alignas(64) uint8_t buffers[2][BUFS * STRIDE];
static uint32_t stack[2][BUFS];

/* --- the application --- */

static bool on_accept(struct tcp_conn *c)
{
	lab.c = c;
	return true;
}

static void on_data(struct tcp_conn *c, struct pkt *p)
{
	struct core *k = &lab.core[lab.core[1].tcp == tcp_instance(c)];
	lab.held += p->len;
	pkt_free(&k->pool, p);
}

static void on_closed(struct tcp_conn *c, int why)
{
	(void)c;
	(void)why;
	lab.c = NULL;
}

static const struct tcp_app app = {.accept = on_accept, .data = on_data, .closed = on_closed};

static uint32_t on_leave(struct tcp_conn *c, uint8_t *to)
{
	assert(c == lab.c);
	memcpy(to, &lab.held, sizeof lab.held);
	return sizeof lab.held;
}

static bool on_join(struct tcp_conn *c, const uint8_t *from, uint32_t n)
{
	if (n != sizeof lab.held || memcmp(from, &lab.held, n) != 0 || tcp_unconsumed(c) != lab.held)
		return false;
	lab.c = c;
	return true;
}

static const struct tcp_move_app apps[] = {{.app = &app, .leave = on_leave, .join = on_join}};

/* --- segments --- */

static void on_tx(void *ctx, struct pkt *p)
{
	struct core *k = ctx;
	const uint8_t *tcp = p->data + ETH_BYTES + 20;
	unsigned n = p->len - ETH_BYTES - 20u - (tcp[12] >> 4) * 4u;
	uint32_t seq = be32_load(tcp + 4), end = seq + n + !!(tcp[13] & (TCP_SYN | TCP_FIN));
	if (tcp[13] & TCP_SYN) {
		lab.una = seq + 1;
		lab.max = seq + 1;
	}
	if ((int32_t)(end - lab.max) > 0 && !(tcp[13] & TCP_RST))
		lab.max = end;
	if ((tcp[12] >> 4) == 8 && tcp[22] == 8)
		lab.tsval = be32_load(tcp + 24);
	pkt_free(&k->pool, p);
}

static const struct tcp_ops ops = {.tx = on_tx};

struct segment {
	uint32_t seq, ack;
	uint16_t wnd, len;
	uint8_t flags, options_len, options[40];
};

static struct segment right(uint8_t flags)
{
	struct segment s = {.seq = lab.nxt, .ack = lab.max, .wnd = 65535, .flags = flags};
	if (lab.ts) {
		be32_store(s.options, 0x0101080a);
		be32_store(s.options + 4, (uint32_t)(lab.now_us / 1000));
		be32_store(s.options + 8, flags & TCP_ACK ? lab.tsval : 0);
		s.options_len = 12;
	}
	return s;
}

static void put(const struct segment *s)
{
	struct core *k = &lab.core[lab.at];
	const struct net_addr us = US, peer = PEER;
	struct pkt p;
	if (!pkt_alloc(&k->pool, &p))
		return;
	unsigned header = 20u + s->options_len;
	uint8_t *tcp = p.data + ETH_BYTES + 20;
	tcp_header_put(tcp, 1000, 7, s->seq, s->ack, header, s->flags, s->wnd, 0);
	memcpy(tcp + 20, s->options, s->options_len);
	memset(tcp + header, 0x55, s->len);
	ip_header_put(tcp, header + s->len, 20, &peer, &us, 6, 0);
	p.len = (uint16_t)(ETH_BYTES + 20 + header + s->len);
	p.flags = PKT_CSUM_OK;
	tcp_input(k->tcp, &p, 1, lab.now_us);
}

static void put_syn(uint8_t how)
{
	struct segment s = right((uint8_t)(TCP_SYN | (how & 8 ? TCP_ECE | TCP_CWR : 0)));
	static const uint8_t most[12] = {2, 4, 5, 0xb4, 1, 3, 3, 7, 1, 1, 4, 2};
	if (how & 2) {
		memcpy(s.options + s.options_len, most, sizeof most);
		s.options_len += sizeof most;
	}
	lab.nxt++;
	put(&s);
}

static void put_flags(uint8_t flags)
{
	struct segment s = right(flags);
	lab.nxt += !!(flags & TCP_FIN);
	put(&s);
}

static void put_data(uint16_t bytes, uint32_t gap)
{
	struct segment s = right(TCP_ACK);
	s.len = bytes % 1400;
	s.seq += gap;
	lab.nxt += gap ? 0 : s.len;
	put(&s);
}

static void put_sack(uint32_t from, uint32_t bytes)
{
	struct segment s = right(TCP_ACK);
	uint8_t *o = s.options + s.options_len;
	s.ack = lab.una;
	be32_store(o, 0x0101050au);
	be32_store(o + 4, lab.una + from);
	be32_store(o + 8, lab.una + from + bytes);
	s.options_len += 12;
	put(&s);
}

static void send(uint32_t n)
{
	static const uint8_t bytes[8192];
	if (lab.c)
		tcp_send(lab.c, bytes, n % sizeof bytes);
}

/* --- time --- */

static void pass(uint64_t us)
{
	struct tcp *t = lab.core[lab.at].tcp;
	uint64_t until = lab.now_us + us;
	unsigned ticks = 0;
	while (tcp_deadline(t) <= until) {
		if (tcp_deadline(t) > lab.now_us)
			lab.now_us = tcp_deadline(t);
		tcp_tick(t, lab.now_us);
		assert(tcp_deadline(t) > lab.now_us);
		assert(ticks++ < us / 1000 + 5000);
	}
	lab.now_us = until;
}

/* --- moving --- */

static struct tcp_conn *the_connection(unsigned at)
{
	uint32_t cursor = 0;
	return tcp_next(lab.core[at].tcp, &cursor, UINT32_MAX);
}

static void damage(struct input *in)
{
	unsigned m = take8(in) % msgs;
	uint16_t at = take16(in);
	uint32_t value = take32(in);
	uint8_t how = take8(in);
	if (len[m] == 0)
		return;
	at = (uint16_t)(at % len[m]);
	if (how == 255) /* cut off */
		len[m] = at;
	else if (how & 1) /* a word */
		memcpy(msg[m] + at / 4u * 4u, &value, at / 4u * 4u + 4 <= len[m] ? 4 : 0);
	else if (how & 2) /* near what it is */
		msg[m][at] = (uint8_t)(msg[m][at] + (value & 3) - 1);
	else
		msg[m][at] = (uint8_t)value;
}

/* Moves the connection, if there is one, to the other core. */
static void move(struct input *in, unsigned damages)
{
	struct core *from = &lab.core[lab.at], *to = &lab.core[1 - lab.at];
	struct tcp_conn *c = the_connection(lab.at);
	struct tcp_move_out out;
	enum tcp_move r = TCP_MOVE_MORE;
	if (!c)
		return;
	uint32_t unused = to->pool.free;
	assert(tcp_move_begin(&out, c) == E_OK);
	msgs = 0;
	while (msgs < MSGS &&
	       (len[msgs] = tcp_move_write(&out, msg[msgs], TCP_MOVE_MSG_MIN)) != 0)
		msgs++;
	assert(msgs && msgs < MSGS);
	for (unsigned i = 0; i < damages; i++)
		damage(in);
	for (unsigned i = 0; i < msgs && r != TCP_MOVE_TAKEN && r <= TCP_MOVE_SKIPPED; i++) {
		uint8_t *exact = exactly(msg[i], len[i]);
		r = tcp_move_read(to->tcp, &to->in, exact, len[i], lab.now_us);
		free(exact);
	}
	/* Scarce buffers are the only reason to refuse what was never damaged. */
	lab.damaged |= damages > 0;
	assert(lab.damaged || r == TCP_MOVE_TAKEN || r == TCP_MOVE_BUFFERS);
	tcp_move_drop(to->tcp, &to->in);
	if (r != TCP_MOVE_TAKEN) {
		assert(to->pool.free == unused && tcp_connections(to->tcp) == 0);
		assert(tcp_move_ended(from->tcp, out.id, false));
		return;
	}
	assert(tcp_move_ended(from->tcp, out.id, true));
	assert(tcp_connections(from->tcp) == 0 && tcp_deadline(from->tcp) == UINT64_MAX);
	assert(from->pool.free == from->pool.count);
	lab.at = 1 - lab.at;
}

/* --- the program --- */

static void reach(enum target target, uint8_t how, struct input *in)
{
	if (target == AT_SYN_SENT) {
		const struct tcp_open o = {.local = US, .remote = PEER, .local_port = 7, .remote_port = 1000,
		                           .app = &app, .data = "hello", .data_len = how & 16 ? 5 : 0};
		lab.c = tcp_connect(lab.core[0].tcp, &o, lab.now_us, NULL);
		return;
	}
	put_syn(how);
	if (target == AT_SYN_RECEIVED)
		return;
	put_flags(TCP_ACK);
	if (how & 16)
		put_data(100, 0);
	if (how & 32)
		send(take16(in));
	if (how & 64)
		put_sack(1000u * (1 + take8(in) % 4), 1000u * (1 + take8(in) % 4));
	if (how & 128) {
		put_data(take16(in), 2000);
		put_data(take16(in), 100 + take16(in) % 8000);
	}
	bool we = target == AT_FIN_WAIT_1 || target == AT_FIN_WAIT_2 || target == AT_CLOSING ||
	          target == AT_TIME_WAIT;
	if (we && lab.c)
		tcp_close(lab.c);
	if (target == AT_CLOSING)
		lab.max--;
	if (target == AT_FIN_WAIT_2 || target == AT_TIME_WAIT)
		put_flags(TCP_ACK);
	if (target >= AT_CLOSE_WAIT)
		put_flags(TCP_ACK | TCP_FIN);
	if (target == AT_LAST_ACK && lab.c)
		tcp_close(lab.c);
}

static void step(struct input *in)
{
	uint32_t n;
	switch ((enum op)(take8(in) % OP_COUNT)) {
	case OP_TIME:
		n = take16(in);
		pass(n >> 15 ? (n & 0x1ff) * (uint64_t)SECOND : n * 10ull);
		break;
	case OP_ACK:
		lab.una = lab.max;
		put_flags(TCP_ACK);
		break;
	case OP_DATA:
		n = take16(in);
		put_data((uint16_t)n, take8(in) & 1 ? n : 0);
		break;
	case OP_SACK:
		n = take16(in);
		put_sack(n, take16(in));
		break;
	case OP_SEND:
		send(take16(in));
		break;
	case OP_CLOSE:
		if (lab.c)
			tcp_close(lab.c);
		break;
	case OP_CONSUME:
		if (lab.c && lab.held)
			tcp_consumed(lab.c, 1);
		lab.held -= lab.c && lab.held;
		break;
	case OP_FIN:
		put_flags(TCP_ACK | TCP_FIN);
		break;
	default:
		move(in, take8(in) % 3);
	}
}

static void begin(uint8_t how)
{
	memset(&lab, 0, sizeof lab);
	struct tcp_params *p = &lab.params;
	*p = TCP_PARAMS_DEFAULT;
	p->connections = 2;
	p->listeners = 1;
	p->reassembly_bufs = 32;
	p->pool_reserve = 8;
	p->rcv_buf = p->snd_buf = 32768;
	p->congestion = how & 4 ? CC_NEWRENO : CC_CUBIC;
	p->keepalive_ms = 10000;
	lab.ts = how & 1;
	lab.nxt = 1;
	lab.now_us = 50 * SECOND;
	for (unsigned i = 0; i < 2; i++) {
		struct core *k = &lab.core[i];
		const struct siphash_key key = {1, i};
		size_t bytes = align_up(tcp_memory_bytes(p), 64);
		bufpool_init(&k->pool, buffers[i], stack[i], BUFS, STRIDE);
		k->mem = aligned_alloc(64, bytes);
		memset(k->mem, 0, bytes);
		k->tcp = tcp_init(k->mem, p, &k->pool, &k->cnt, &key, &ops, k, lab.now_us);
		tcp_move_apps(k->tcp, apps, ARRAY_LEN(apps));
		assert(tcp_listen(k->tcp, &(struct tcp_listen){.port = 7, .app = &app}) == E_OK);
	}
}

static void end(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct core *k = &lab.core[i];
		struct tcp_conn *c;
		lab.at = i;
		while ((c = the_connection(i)) != NULL) {
			tcp_abort(c);
			tcp_tick(k->tcp, lab.now_us);
		}
		assert(tcp_connections(k->tcp) == 0 && tcp_deadline(k->tcp) == UINT64_MAX);
		assert(k->pool.free == k->pool.count);
		free(k->mem);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t target = take8(&in), how = take8(&in);
	begin(how);
	reach((enum target)(target % AT_COUNT), how, &in);
	move(&in, target / AT_COUNT % 8);
	while (in.n)
		step(&in);
	end();
	return 0;
}
