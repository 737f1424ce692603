/* See capture.h. */
#include "control/monitor/capture.h"

#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/shell.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "control/host/tcp_control.h"
#include "control/monitor/watch_words.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/pcapng.h"
#include "runtime/walltime.h"

#define COUNT_MAX 1000000000
#define POLL_NS (SECOND_NS / 500) /* between reads of the rings, at most */
#define CLOSE_NS (5 * SECOND_NS)
#define NO_CORE CORES_MAX
#define BLOCK_MAX (MIRROR_FRAME_MAX + PCAPNG_OTHER_MAX)
#define BATCH_BYTES 16384 /* blocks are made until they have so many bytes, and given to TCP at once */
#define STORE_BYTES (8u << 20) /* at 400,000 small frames a second what is sent in 190 ms */
#define STORE_BYTES_LEAST (1u << 18)
#define STORE_SHARE 4 /* the store takes at most a quarter of the memory that is left */
#define STORE_KIND 0  /* tcp_send_outside: nothing else of the control core is outside its pool */

typedef unsigned long long ull;

enum state { IDLE, WAITING, ON, ENDING, CLOSING };

/* The command's arguments. */
struct order {
	uint32_t in, out; /* ports, a bit each */
	uint32_t snaplen;
	uint32_t count;   /* frames; 0: no limit */
	struct match match;
};

/* The next record of a data core's ring. */
struct source {
	bool ready;
	uint64_t at;    /* bytes of the ring read so far */
	uint64_t bytes; /* of the record */
	struct mirror_record record;
};

static struct capture {
	enum state state;
	struct shell *sh; /* the console that waits for the end; NULL: none does any more */
	struct tcp_conn *conn; /* the reader */
	struct order order;
	uint64_t number;
	uint64_t epoch_ns; /* walltime_epoch() at the begin */
	uint64_t due_ns;  /* deadline for the reader to take data */
	uint64_t frames;  /* given to the reader */
	uint64_t given[NIC_PORTS_MAX]; /* the same by port */
	uint32_t begun;   /* header blocks made: the section, then one for each port */
	uint32_t ended;   /* statistics blocks made: one for each port */
	uint32_t number_of[NIC_PORTS_MAX]; /* the number of each port among the section's interfaces */
	/* A ring of blocks. Those that TCP has are kept until they are acknowledged. A block may end
	 * behind `size`; that part is also at the start. */
	uint8_t *store;   /* NULL: there has been no capture */
	uint32_t size;    /* behind it there are BLOCK_MAX bytes more */
	uint32_t in, out; /* places in the store: of the next block, and of the next byte for TCP */
	uint32_t waiting; /* bytes between them */
	struct source source[]; /* by core, for the cores there are */
} *capture;

bool capture_prepare(void)
{
	if (!capture)
		capture = core_private_alloc(sizeof *capture + self.info->cores * sizeof(struct source));
	return capture != NULL;
}

/* Takes the memory of the store, once there is a capture: behind all tables, and a program that takes over
 * does without it. False: there is too little. */
static bool take_store(void)
{
	struct capture *c = capture;
	const size_t share = align_down(core_private_left() / STORE_SHARE, CACHE_LINE);
	const uint32_t size = share < STORE_BYTES ? (uint32_t)share : STORE_BYTES;
	if (c->store)
		return true;
	if (size < STORE_BYTES_LEAST)
		return false;
	c->store = core_private_alloc(size + BLOCK_MAX);
	if (!c->store)
		return false;
	c->size = size;
	forwarding_spare_more(size + BLOCK_MAX);
	return true;
}

/* --- the end --- */

/* The sum of all data cores' counts of a port. */
static struct mirror_count counted(unsigned port)
{
	struct mirror_count sum = {0};
	for (unsigned i = 0; i < self.info->cores; i++) {
		const struct mirror_ring *r = mirror_ring_of(i);
		const struct mirror_count *c = &r->count[port];
		if (!(self.info->core[i].roles & CORE_DATA) ||
		    __atomic_load_n(&r->number, __ATOMIC_ACQUIRE) != capture->number)
			continue;
		sum.seen += __atomic_load_n(&c->seen, __ATOMIC_RELAXED);
		sum.wanted += __atomic_load_n(&c->wanted, __ATOMIC_RELAXED);
		sum.dropped += __atomic_load_n(&c->dropped, __ATOMIC_RELAXED);
	}
	return sum;
}

static void say_end(struct shell *sh, const char *why)
{
	uint64_t wanted = 0, given = 0, dropped = 0;
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++) {
		const struct mirror_count sum = counted(p);
		wanted += sum.wanted;
		dropped += sum.dropped;
		given += capture->given[p];
	}
	shell_print(sh, "%s: %llu frames, %llu given to the reader, no room for %llu\n", why,
	            (ull)wanted, (ull)given, (ull)dropped);
}

/* Ends the capture: the reader is gone, or there was none. */
static void finish(const char *why)
{
	struct shell *sh = capture->sh;
	core_mirror(0, 0);
	capture->state = IDLE;
	capture->conn = NULL;
	capture->sh = NULL;
	if (!sh)
		return;
	say_end(sh, why);
	shell_done(sh);
}

static void give_up(const char *why)
{
	struct tcp_conn *conn = capture->conn;
	finish(why);
	if (conn)
		tcp_abort(conn);
}

/* Stops copying frames. Those in the rings are still sent. */
static void end(void)
{
	core_mirror(0, 0);
	capture->state = ENDING;
}

/* Ctrl-C, or the console's session is over. */
static void cancel(struct shell *sh)
{
	if (capture->state == WAITING) {
		finish("no reader came");
		return;
	}
	if (capture->state == ON)
		end();
	/* the console does not wait for a slow reader, which still gets the rest */
	capture->sh = NULL;
	say_end(sh, "ended");
	shell_done(sh);
}

void capture_stop(void)
{
	if (capture && capture->state != IDLE)
		finish("the ports restart");
	core_mirror(0, 0);
}

/* --- the blocks --- */

/* The port's number among the interfaces of the pcapng section, which are the captured ports. */
static uint32_t interface_of(unsigned port)
{
	uint32_t ports = capture->order.in | capture->order.out, n = 0;
	for (unsigned p = 0; p < port; p++)
		n += ports >> p & 1;
	return n;
}

/* The port of the section's interface n; NIC_PORTS_MAX: there is none. */
static unsigned port_of(uint32_t n)
{
	uint32_t ports = capture->order.in | capture->order.out;
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
		if (ports >> p & 1 && n-- == 0)
			return p;
	return NIC_PORTS_MAX;
}

/* Makes the next header block, of the section or an interface; 0: all are made. */
static size_t head_block(uint8_t *out)
{
	struct capture *c = capture;
	struct nic_link link;
	char name[CONFIG_IF_NAME_SIZE];
	if (c->begun++ == 0)
		return pcapng_section(out, "Hayate " HAYATE_VERSION);
	unsigned port = port_of(c->begun - 2);
	if (port == NIC_PORTS_MAX) {
		c->begun--;
		return 0;
	}
	config_key_name(name, port | (uint32_t)capture->order.match.vlan << 8);
	uint64_t mbps = core_port_link(port, &link) ? link.mbps : 0;
	return pcapng_interface(out, name, c->order.snaplen, mbps * 1000000);
}

/* Reads the next record of that core's ring; false: there is none. A malformed record ends the
 * capture: the data core's program is faulty (mirror_ring.h, invariant 3). */
static bool look(unsigned core)
{
	struct source *s = &capture->source[core];
	const struct mirror_ring *r = mirror_ring_of(core);
	if (s->ready || __atomic_load_n(&r->number, __ATOMIC_ACQUIRE) != capture->number)
		return s->ready;
	uint64_t head = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
	if (head == s->at)
		return false;
	s->bytes = mirror_ring_look(r, mirror_ring_bytes(), head, s->at, &s->record, MIRROR_FRAME_MAX);
	if (s->bytes == 0 || s->record.port >= NIC_PORTS_MAX) {
		end();
		return false;
	}
	s->ready = true;
	return true;
}

/* The core whose next record is the oldest, NO_CORE: there is none. */
static unsigned oldest(void)
{
	unsigned best = NO_CORE;
	for (unsigned i = 0; i < self.info->cores; i++) {
		const struct source *s = &capture->source[i];
		if (self.info->core[i].roles & CORE_DATA && look(i) &&
		    (best == NO_CORE || s->record.ns < capture->source[best].record.ns))
			best = i;
	}
	return best;
}

static size_t packet_block(uint8_t *out)
{
	struct capture *c = capture;
	unsigned core = oldest();
	if (core == NO_CORE)
		return 0;
	struct source *s = &c->source[core];
	const struct pcapng_packet packet = {.interface = c->number_of[s->record.port],
	                                     .len = s->record.kept,
	                                     .wire_len = s->record.len,
	                                     .ns = s->record.ns - c->epoch_ns,
	                                     .dropped = s->record.dropped,
	                                     .out = s->record.out};
	mirror_ring_get(mirror_ring_of(core), mirror_ring_bytes(), s->at, &s->record, out + PCAPNG_DATA_AT);
	s->at += s->bytes;
	s->ready = false;
	__atomic_store_n(&dp_get()->capture.tail[core], s->at, __ATOMIC_RELEASE);
	c->given[s->record.port]++;
	if (++c->frames == c->order.count)
		end();
	return pcapng_packet(out, &packet);
}

static size_t statistics_block(uint8_t *out)
{
	struct capture *c = capture;
	unsigned port = port_of(c->ended);
	if (port == NIC_PORTS_MAX)
		return 0;
	const struct mirror_count sum = counted(port);
	const struct pcapng_statistics s = {.interface = c->ended++,
	                                    .ns = core_now_ns() - c->epoch_ns,
	                                    .received = sum.seen,
	                                    .dropped = sum.dropped,
	                                    .delivered = c->given[port]};
	return pcapng_statistics(out, &s);
}

/* Makes the next block; 0: there is none now. */
static size_t next_block(uint8_t *out)
{
	struct capture *c = capture;
	size_t n = head_block(out);
	bool enough = c->order.count && c->frames == c->order.count;
	if (n == 0 && !enough)
		n = packet_block(out);
	if (n == 0 && c->state == ENDING)
		n = statistics_block(out);
	return n;
}

/* --- the reader --- */

/* Can the store take any block? What the reader has not acknowledged is in it too. */
static bool has_room(void)
{
	const struct capture *c = capture;
	return c->size - c->waiting - tcp_unacked(c->conn) >= BLOCK_MAX;
}

/* Makes blocks, about BATCH_BYTES of them. False: there is none, or no room. */
static bool make_blocks(void)
{
	struct capture *c = capture;
	const uint32_t before = c->waiting;
	size_t n = 0;
	while (c->waiting - before < BATCH_BYTES && has_room() &&
	       (n = next_block(c->store + c->in)) > 0) {
		c->waiting += (uint32_t)n;
		c->in += (uint32_t)n;
		if (c->in >= c->size) {
			c->in -= c->size;
			memcpy(c->store, c->store + c->size, c->in);
		}
	}
	return c->waiting - before >= BATCH_BYTES;
}

/* Half of the buffers are for other connections. */
static bool may_send(void)
{
	return tcp_control_spare() > tcp_control_pool.count / 4;
}

/* Gives TCP the blocks that wait, as far as it has room. */
static void send_blocks(void)
{
	struct capture *c = capture;
	uint32_t n = 1;
	while (c->waiting && n && may_send()) {
		n = u32_min(c->waiting, c->size - c->out);
		n = tcp_send_outside(c->conn, c->store + c->out, n, STORE_KIND);
		c->waiting -= n;
		c->out = c->out + n == c->size ? 0 : c->out + n;
	}
}

/* Sends for up to a turn's time; returns the time of the next call. */
static uint64_t send_some(uint64_t now)
{
	struct capture *c = capture;
	const uint64_t until = clock_tsc() + clock_ticks(&self.clock, CAPTURE_TURN_NS);
	bool more;
	do {
		more = make_blocks();
		send_blocks();
	} while (more && clock_tsc() < until);
	if (c->waiting == 0 && c->state == ENDING && port_of(c->ended) == NIC_PORTS_MAX) {
		c->state = CLOSING;
		c->due_ns = now + CLOSE_NS;
		tcp_close(c->conn);
		return c->due_ns;
	}
	if (c->waiting == 0 && tcp_unacked(c->conn) == 0)
		c->due_ns = now + CAPTURE_STALL_NS; /* the reader has everything so far */
	return more ? now : now + POLL_NS;
}

uint64_t capture_timer(void)
{
	struct capture *c = capture;
	uint64_t now = core_now_ns();
	if (!c || c->state == IDLE || c->state == WAITING)
		return UINT64_MAX;
	if (now >= c->due_ns) {
		give_up(c->state == CLOSING ? "ended" : "the reader takes nothing");
		return UINT64_MAX;
	}
	return c->state == CLOSING ? c->due_ns : send_some(now);
}

static bool begin(struct tcp_conn *conn, const struct tcp_info *info)
{
	struct dp_capture *v = &dp_get()->capture;
	struct capture *c = capture;
	if (!core_quiesce())
		return false;
	memset(v, 0, sizeof *v);
	/* a number that is in no ring, not even from before a restart of this program */
	c->number = v->number = clock_tsc();
	c->epoch_ns = walltime_epoch();
	v->snaplen = c->order.snaplen;
	v->match = c->order.match;
	v->flow = (struct match_flow){info->local, info->remote, info->local_port, info->remote_port};
	c->conn = conn;
	c->state = ON;
	c->due_ns = core_now_ns() + CAPTURE_STALL_NS;
	c->frames = c->begun = c->ended = c->in = c->out = c->waiting = 0;
	memset(c->given, 0, sizeof c->given);
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
		c->number_of[p] = interface_of(p);
	for (unsigned i = 0; i < self.info->cores; i++) {
		c->source[i].ready = false;
		c->source[i].at = 0;
	}
	tcp_set_snd_buf(conn);
	core_mirror(c->order.in, c->order.out);
	return true;
}

static bool on_accept(struct tcp_conn *conn)
{
	struct tcp_info info;
	tcp_info(conn, &info);
	return capture->state == WAITING &&
	       config_admits(&running.config.capture.access, &info.remote) && begin(conn, &info);
}

/* Input from the reader is discarded. Its FIN, which nc sends at the end of its input, ends
 * nothing. */
static void on_data(struct tcp_conn *conn, struct pkt *p)
{
	uint32_t len = p->len;
	pkt_free(&tcp_control_pool, p);
	tcp_consumed(conn, len);
}

static void on_acked(struct tcp_conn *conn, uint32_t bytes)
{
	(void)conn;
	if (bytes && capture->state != CLOSING)
		capture->due_ns = core_now_ns() + CAPTURE_STALL_NS;
}

static void on_closed(struct tcp_conn *conn, int why)
{
	(void)conn;
	(void)why;
	finish(capture->state == CLOSING ? "ended" : "the reader is gone");
}

void capture_listen(uint16_t port)
{
	static const struct tcp_app app = {.accept = on_accept, .data = on_data, .acked = on_acked,
	                                   .closed = on_closed};
	const struct tcp_listen l = {.addr = NET_ADDR_ANY, .port = port, .app = &app};
	int e = tcp_listen(tcp_control, &l);
	assert(e == E_OK);
}

/* --- the command --- */

/* Parses the command's arguments. False: one is wrong, and an error was printed. */
static bool read_order(struct shell *sh, struct order *o, char **word, unsigned n)
{
	uint16_t vlan;
	uint32_t ports = watch_ports(word[0], &vlan);
	if (!ports) {
		shell_print(sh, "there is no port %s; say ethN, ethN.VLAN or all\n", word[0]);
		return false;
	}
	word++;
	n--;
	bool in = n && strcmp(word[0], "in") == 0, out = n && strcmp(word[0], "out") == 0;
	bool both = n && strcmp(word[0], "both") == 0;
	*o = (struct order){.in = out ? 0 : ports, .out = in ? 0 : ports, .snaplen = MIRROR_FRAME_MAX};
	word += in | out | both;
	n -= in | out | both;
	if (!watch_option(sh, word, &n, "snaplen", MIRROR_FRAME_MAX, &o->snaplen) ||
	    !watch_option(sh, word, &n, "count", COUNT_MAX, &o->count))
		return false;
	return watch_filter(sh, &o->match, vlan, word, n);
}

void capture_command(struct shell *sh)
{
	struct order order;
	if (!capture || !dp_get()->capture_port || !core_ports_running()) {
		shell_print(sh, "there is no capture server: the configuration needs the lines "
		                "\"capture server\" and \"capture access PREFIX\"\n");
		return;
	}
	if (capture->state != IDLE) {
		shell_print(sh, "a capture is on: there is one at a time\n");
		return;
	}
	if (!read_order(sh, &order, sh->argv, sh->argc))
		return;
	if (!take_store()) {
		shell_print(sh, "there is not enough memory for a capture\n");
		return;
	}
	capture->order = order;
	capture->state = WAITING;
	capture->sh = sh;
	capture->number = 0;
	shell_print(sh, "waiting for a reader at TCP port %u, such as: nc ADDRESS %u | wireshark -k "
	                "-i -\n", dp_get()->capture_port, dp_get()->capture_port);
	shell_set_busy(sh, cancel);
}
