/*
 * One machine as a host process: frames and commands on stdin, frames and text on stdout. By it the
 * packet tests (tests/packet/) say "at time t put these bytes in; expect these bytes out, nothing
 * else, and these counters".
 *
 * Real, compiled under ASan and UBSan (packet.mk has the list): apps/, control/, dataplane/, disk/, bpf/, net/,
 * tools/pktgen/, runtime/ but loop.c and pci.c, lib/ but mem.c. The core has both roles, as with one CPU.
 * Twins: the kernel (kcall() below), the clock (hal/clock.h here: virtual, 1 tick = 1 ns), the
 * CPU's random numbers (hal/random.h here: 1, 2, 3), the NIC (tests/host/wires.h), the loop
 * (loop_run() below instead of runtime/loop.c) and the buffer pool's ASan poisoning (lib/pkt.h here).
 *
 *     harness [-p PORTS] [-c CONFIG-FILE] [-m MTU-MAX-OF-DEVICES] [-o "KERNEL OPTIONS"]
 *             [-d PORT]...         devices that do not start
 *             [-s KIB]             size of published memory: data-plane state and forwarding table; without,
 *                                  it grows into the control core's tables, which then follow it
 *             [-T MIB]             size of the control core's tables; without, 28
 *             [-t]                 devices segment what they send: NIC_TSO, NIC_USO
 *             [-r N|N+]            the N-th request for memory is refused, +: and all after it
 *             [-D FILE | -R FILE]  a disk; -R: read only (tests/host/disk.h)
 *             [-l]                 the control program alone, which may fail: tests/host/lives.h
 *
 * Commands, one a line. All but `in` are answered; the last line of an answer is `done`. The start
 * of the machine is answered as well.
 *
 *     in PORT HEX [partial START OFFSET | ok]   a frame arrives; it waits for the next turn, so
 *                                  several in a row are one vector. partial, ok: enum pkt_flags
 *     run                          turns until nothing moves
 *     time NS                      the same while time passes, timer by timer
 *     sleep                        would the core sleep now? sleep NS (0: no timer ends it), or
 *                                  sleep - (no). As runtime/loop.c does when nothing moved for long
 *     away NS                      time passes and the machine does nothing: its host is busy
 *     link PORT up|down|gone       plugs or pulls a cable, or removes the card; 10 ms pass, until
 *                                  the machine notices
 *     speed PORT MBPS              the card reports that speed; 10 ms pass
 *     missed PORT N                the device counts frames for which it had no space
 *     key HEX                      bytes typed on the console; 10 ms pass, until they are read
 *     room PORT N                  N more frames can be sent by the port; -1: no limit
 *     break PORT                   the device breaks the protocol at its next send
 *     own tx PORT HEX PIECES [partial START OFFSET | tso START OFFSET MSS HEADERS | uso ...]
 *                                  the machine itself sends a frame by core_tx, in that many
 *                                  pieces, from buffers that it holds until the frame is sent
 *     own punt HEX PIECES [...]    the same by core_punt_own: it waits for its neighbour
 *     group PREFIX LEN HOP...      makes or changes a route by several next hops
 *                                  (control/forwarding/groups.h): neighbours, or ethN; without any, removes
 *                                  it. group N: its number
 *     lie HEX N                    a data core out of control: the next record of a trace is
 *                                  these bytes, and the position advances by N
 *     fpm HEX                      a frame of the routing engine, without a connection
 *     reserve N                    takes buffers from the pool until N are left; -1: returns them
 *     refuse memory|buffers N [on] the N-th request from now on is refused (tests/host/refuse.h),
 *                                  on: and all after it; 0: none
 *     asked                        asked memory N REFUSED, asked buffers N REFUSED: requests since
 *                                  the last `refuse` of each; private BYTES: in use by the control
 *                                  core
 *     disk cut N | refuse N | mute N   the power is off after N more writes or flushes; N more requests are
 *                                  served; after N more the disk answers no more
 *     disk writes                  disk N: writes and flushes so far
 *     crash TEXT                   a report of a failed program, as the kernel would keep it
 *     restart                      stops and starts the ports
 *     anew N|N+ [driver]           with -l: the program fails, within a driver's work or not, and
 *                                  restarts; the N-th request for memory is refused as by -r;
 *                                  0: none
 *     counters                     counter NAME KIND VALUE ..., received N, waiting N
 *     features                     features N: core_tx_features
 *
 * Answers: out PORT HEX [partial START OFFSET] [tso|uso MSS HEADERS] | text HEX (console) |
 *          counters as above | done
 *
 * After every command:
 * 1. Every buffer is in the pool, held for a full transmit ring, reserved by the test, or, while
 *    there are TCP connections, theirs. Shared buffers count their holders.
 * 2. received = sum of the fates + waiting.
 *
 * Otherwise the process ends with a line on stderr, as it does for an assert or a sanitizer's
 * report.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control/engine/apply.h"
#include "control/forwarding/groups.h"
#include "control/forwarding/routes.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/forwarding/subnets.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/neighbour6.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "net/nd.h"
#include "control/management/stats.h"
#include "control/host/tcp_control.h"
#include "dataplane/tcp_data.h"
#include "control/text/text.h"
#include "runtime/shared.h"
#include "abi/kcall.h"
#include "net/ip4.h"
#include "tests/host/code_window.h"
#include "tests/host/disk.h"
#include "tests/host/lines.h"
#include "tests/host/lives.h"
#include "tests/host/refuse.h"
#include "tests/host/wires.h"

#define LINE_BYTES 65536
#define FRAME_MAX 16384
#define ARENA_BYTES (12u << 20)
#define TABLES_BYTES (28u << 20)
#define LIVES_TABLES_BYTES (96u << 20) /* where the tables of two programs may lie side by side */
#define PUBLISHED_BYTES (8u << 20) /* at first */
#define SHARE_UNIT (2u << 20)
#define TSC_HZ 1000000000u /* a tick is a nanosecond */
#define TURNS_MAX 1000000u /* without coming to rest: the machine is in an endless loop */
#define HOUSEKEEPING_NS 10000000u /* of runtime/control.c */
#define POLL_NS 1000u
#define IDLE_TURNS 3       /* a timer may send, its message moves, the result settles */

uint64_t host_tsc = TSC_HZ; /* a second after "boot" */

static unsigned port_total = 2;
static uint32_t published_kib; /* 0: not given */
static size_t tables_bytes; /* 0: not given */
static bool many_lives;

/* --- the kernel --- */

static uint8_t *typed; /* on the console, not yet read */
static size_t typed_left;

static struct boot_info info;

static int share_tables(uint64_t bytes)
{
	struct core_memory *m = &info.core[0];
	if (bytes == 0 || bytes % SHARE_UNIT || bytes >= m->tables_bytes)
		return E_INVAL;
	for (unsigned i = 0; i < info.regions; i++)
		if (info.region[i].at < m->tables + bytes)
			return E_INVAL;
	if (refuse_memory())
		return E_NOMEM;
	m->tables += bytes;
	m->tables_bytes -= bytes;
	info.published_bytes += bytes;
	return E_OK;
}

int64_t kcall(enum kcall number, uint64_t a, uint64_t b, uint64_t c)
{
	switch (number) {
	case KCALL_LOG:
		fputs("text ", stdout);
		print_hex((const uint8_t *)(uintptr_t)a, b);
		putchar('\n');
		return 0;
	case KCALL_EXIT:
	case KCALL_REBOOT:
		printf("%s\ndone\n", number == KCALL_EXIT ? "exit" : "reboot");
		fflush(stdout);
		exit(number == KCALL_EXIT ? (int)a : 0);
	case KCALL_ASSERT:
		fflush(stdout);
		fprintf(stderr, "%s:%" PRIu64 ": assertion failed: %s\n",
		        (const char *)(uintptr_t)b, c, (const char *)(uintptr_t)a);
		abort();
	case KCALL_CONSOLE_READ:
		if (typed_left == 0)
			return E_AGAIN;
		typed_left--;
		return *typed++;
	case KCALL_CONFIG_HASH:
		info.config_hash = a;
		return E_OK;
	case KCALL_SHARE:
		return share_tables(a);
	case KCALL_REGION:
		return refuse_memory() ? E_NOMEM : host_region(&info, a, b, c);
	case KCALL_CODE_WRITE:
		return host_code_write(&info, a, (const void *)(uintptr_t)b, c);
	case KCALL_RESTART:
		lives_end(&info, host_tsc, 0, false);
	default:
		return E_AGAIN;
	}
}

/* --- messages to the control core, poisoned behind their frame (linked with --wrap) --- */

struct core_msg *__real_ring_punt_next(unsigned d);
struct core_msg *__wrap_ring_punt_next(unsigned d);
void __real_ring_punt_done(unsigned d);
void __wrap_ring_punt_done(unsigned d);

static const struct core_msg *served;

static size_t room_behind(const struct core_msg *m)
{
	return core_frame_max() - m->len;
}

struct core_msg *__wrap_ring_punt_next(unsigned d)
{
	struct core_msg *m = __real_ring_punt_next(d);
	if (m)
		ASAN_POISON_MEMORY_REGION(m->frame + m->len, room_behind(m));
	served = m;
	return m;
}

void __wrap_ring_punt_done(unsigned d)
{
	ASAN_UNPOISON_MEMORY_REGION(served->frame + served->len, room_behind(served));
	__real_ring_punt_done(d);
}

/* --- the machine's memory --- */

static uint64_t take(size_t bytes)
{
	if (many_lives)
		return (uint64_t)(uintptr_t)lives_memory(bytes);
	/* Untouched pages cost nothing. */
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		broken("no memory");
	return (uint64_t)(uintptr_t)p;
}

static void read_config(const char *path)
{
	FILE *f = fopen(path, "rb");
	long n;
	if (!f || fseek(f, 0, SEEK_END) != 0 || (n = ftell(f)) < 0 || fseek(f, 0, SEEK_SET) != 0)
		broken("%s: cannot be read", path);
	char *text = malloc((size_t)n ? (size_t)n : 1); /* exact: the parser must not read further */
	if (!text || fread(text, 1, (size_t)n, f) != (size_t)n)
		broken("%s: cannot be read", path);
	fclose(f);
	info.config = (uint64_t)(uintptr_t)text;
	info.config_bytes = (uint64_t)n;
}

static void make_machine(void)
{
	info.tsc_hz = TSC_HZ;
	info.cores = info.data_cores = 1;
	info.first_data_core = 0;
	info.hypervisor = 1;
	info.tsc_invariant = 1;
	info.published_bytes = published_kib ? (uint64_t)published_kib << 10 : PUBLISHED_BYTES;
	if (tables_bytes == 0)
		tables_bytes = many_lives ? LIVES_TABLES_BYTES : TABLES_BYTES;
	info.published = take(info.published_bytes + tables_bytes);
	uint64_t tables =
	        published_kib ? take(tables_bytes) : info.published + info.published_bytes;
	info.pci_count = port_total;
	info.core[0] = (struct core_memory){.roles = CORE_CONTROL | CORE_DATA,
	                                    .shm = take(3 * CORE_SHM_AREA),
	                                    .shm_bytes = 3 * CORE_SHM_AREA,
	                                    .arena = take(ARENA_BYTES),
	                                    .arena_bytes = ARENA_BYTES,
	                                    .tables = tables,
	                                    .tables_bytes = tables_bytes};
	if (many_lives) {
		info.cores = 2;
		info.first_data_core = 1;
		info.core[0].roles = CORE_CONTROL;
		info.core[1] =
		        (struct core_memory){.roles = CORE_DATA, .shm = take(2 * CORE_SHM_AREA)};
		info.status[1].state = CORE_RUNNING;
	}
	info.status[0].state = CORE_RUNNING;
	strcpy(info.loader, "harness");
	strcpy(info.cpu, "host");
	strcpy(info.build_id, "0123456789abcdef0123456789abcdef01234567");
	for (unsigned p = 0; p < port_total; p++) {
		info.pci[p] = (struct pci_dev){.index = (uint16_t)p, .bdf = (uint16_t)(p << 3)};
		wires[p].link_up = true;
		wires[p].mbps = 1000;
		wires[p].tx_room = -1;
	}
	if (host_disk_is_there()) {
		info.pci[port_total] = host_disk_pci(port_total);
		info.pci_count++;
	}
	if (many_lives && lives_go_on(&info, &host_tsc))
		host_code_go_on(&info);
}

/* --- what must hold between commands --- */

static struct pkt *reserved;
static unsigned reserved_count;

static uint8_t *owners;   /* by buffer: how many own it exclusively */
static uint16_t *holders; /* by buffer: how many share it */

static void mark_owner(uint32_t buf, const char *where)
{
	if (buf >= self.pool.count)
		broken("buffer %u does not exist (%s)", buf, where);
	if (owners[buf]++)
		broken("buffer %u has two owners (%s)", buf, where);
}

static void mark_holder(uint32_t buf, const char *where)
{
	if (buf >= self.pool.count)
		broken("buffer %u does not exist (%s)", buf, where);
	holders[buf]++;
}

static void mark_packet(const struct pkt *p, const char *where)
{
	const struct pkt_frag *f = pkt_frags(&self.pool, p->buf);
	if (p->flags & PKT_SHARED)
		mark_holder(p->buf, where);
	else
		mark_owner(p->buf, where);
	for (unsigned n = p->flags & PKT_CHAIN ? pkt_meta(&self.pool, p->buf)->frags : 0; n; n--, f++)
		mark_holder(f->buf, where);
}

/* Each buffer has exactly one owner, or as many holders as it counts. */
static void check_buffers(void)
{
	const struct bufpool *pool = &self.pool;
	owners = realloc(owners, pool->count + 1);
	holders = realloc(holders, (pool->count + 1) * sizeof *holders);
	memset(owners, 0, pool->count + 1);
	memset(holders, 0, (pool->count + 1) * sizeof *holders);
	bool in_slots = false; /* a frame of the machine itself may lie there */
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
		in_slots |= !core_slots_idle(p);
	for (uint32_t i = 0; i < pool->free; i++)
		mark_owner(pool->stack[i], "pool");
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
		for (unsigned i = 0; i < core_outs[p].n; i++)
			mark_packet(&core_outs[p].v[i], "held for a port");
	for (unsigned i = 0; i < reserved_count; i++)
		mark_owner(reserved[i].buf, "reserved");
	bool tcp = tcp_data && tcp_connections(tcp_data) > 0; /* it holds some, known to no one else */
	for (uint32_t i = 0; i < pool->count; i++) {
		if (!owners[i] && !holders[i] && !tcp && !in_slots)
			broken("buffer %u leaked", i);
		if (holders[i] && (owners[i] || holders[i] > buf_holders(pool, i) ||
		                   (holders[i] < buf_holders(pool, i) && !tcp)))
			broken("buffer %u has %u owners, %u holders and counts %u", i, owners[i],
			       holders[i], buf_holders(pool, i));
	}
}

/* Without connections all buffers of the management are in its pool. */
static void check_management(void)
{
	if (tcp_control && tcp_connections(tcp_control) == 0 &&
	    tcp_control_pool.free != tcp_control_pool.count)
		broken("the management lost %u buffers", tcp_control_pool.count - tcp_control_pool.free);
}

static uint64_t received(void)
{
	uint64_t n = 0;
	for (unsigned p = 0; p < core_port_count(); p++) {
		struct nic_counters c;
		core_port_counters(p, &c);
		n += c.rx_pkts;
	}
	return n;
}

static uint64_t waiting(const struct counters *c)
{
	return stats_waiting(c);
}

static void check_fates(void)
{
	struct counters c;
	uint64_t fates = 0;
	core_counters(&c);
	for (unsigned i = 0; i < CNT_MAX; i++)
		if (counter_desc[i].kind != COUNTER_INFO)
			fates += c.v[i];
	if (received() != fates + waiting(&c))
		broken("received %" PRIu64 ", fates %" PRIu64 ", waiting %" PRIu64, received(), fates,
		       waiting(&c));
	if (forwarding.ready && adjacency_waiting > arp_pending(&neighbours.arp) + nd_pending(&neighbours.nd))
		broken("%" PRIu64 " packets wait for a neighbour, ARP knows of %u", adjacency_waiting,
		       arp_pending(&neighbours.arp));
}

/* Fates that need not have an interface: of packets lost at a restart, and of fragments. */
static bool may_be_nowhere(unsigned fate)
{
	return fate == CNT_drop_restart || fate == CNT_reassembled ||
	       strncmp(counter_desc[fate].name, "drop_frag_", 10) == 0;
}

/* The fates by interface: none is missing; no port has more than it has received; and if nothing
 * waits and all have an interface, each port has as many. */
static void check_interfaces(void)
{
	/* VLANs get other numbers when the ports restart; those of the switch are of no one port */
	static bool tagged;
	const struct dp_state *v = dp_get();
	uint64_t at[NIC_PORTS_MAX] = {0}, count[CNT_FATES], nowhere = 0;
	struct counters all;
	core_counters(&all);
	stats_fates(DP_INTERFACES_MAX, false, count);
	for (unsigned i = 0; i < CNT_FATES; i++) {
		if (count[i] && !may_be_nowhere(i) && !tagged)
			broken("%s: %" PRIu64 " without interface", counter_desc[i].name, count[i]);
		nowhere += count[i];
	}
	tagged |= v->tagged != 0;
	for (unsigned n = 0; n < v->ifs; n++) {
		stats_fates(n, false, count);
		if (dp_exists(v, n) && dp_is_svi(&v->interface[n])) {
			tagged = true;
			continue;
		}
		for (unsigned i = 0; i < CNT_FATES && dp_has_link(v, n); i++)
			at[v->interface[n].port] += count[i];
	}
	for (unsigned p = 0; p < core_port_count() && forwarding.ready && !tagged; p++) {
		struct nic_counters c;
		core_port_counters(p, &c);
		if (at[p] > c.rx_pkts || (at[p] < c.rx_pkts && !nowhere && !waiting(&all)))
			broken("eth%u: received %" PRIu64 ", fates %" PRIu64, p, c.rx_pkts, at[p]);
	}
}

/* --- time --- */

/* One turn of the loop, as in runtime/loop.c. */
static bool turn(void)
{
	bool moved = self.roles & CORE_DATA && data_turn();
	struct core_shm *out = core_shm_of(self.id);
	if (!moved)
		moved = control_turn();
	ring_wake_peers();
	shared_store(&out->stats.turns, out->stats.turns + 1);
	if (many_lives)
		lives_data_core();
	self.now_tsc = host_tsc;
	return moved;
}

/* Turns until nothing moves. Ports that are not settled keep moving. */
static void settle(void)
{
	unsigned idle = 0, turns = 0;
	self.now_tsc = host_tsc;
	while (idle < IDLE_TURNS) {
		idle = turn() || !ports_settled() ? 0 : idle + 1;
		if (++turns == TURNS_MAX)
			broken("the machine does not come to rest");
	}
}

static uint64_t next_deadline(void)
{
	uint64_t control = control_deadline(), data = many_lives ? UINT64_MAX : data_deadline();
	return control < data ? control : data;
}

static void pass_time(uint64_t ns)
{
	uint64_t end = host_tsc + ns;
	settle();
	uint64_t step = 1; /* as long as something has to be called all the time */
	for (uint64_t next; host_tsc < end && (next = next_deadline()) <= end;) {
		step = next > host_tsc ? 1 : step < POLL_NS ? 2 * step : POLL_NS;
		host_tsc = next > host_tsc ? next : host_tsc + step;
		settle();
	}
	if (host_tsc < end)
		host_tsc = end;
	settle();
}

/* --- commands --- */

static unsigned port_argument(void)
{
	unsigned long p = strtoul(argument(), NULL, 10);
	if (p >= port_total)
		broken("no port %lu", p);
	return (unsigned)p;
}

static void command_in(void)
{
	struct wire *w = &wires[port_argument()];
	struct rx_frame f = {0};
	size_t n;
	f.bytes = parse_hex(argument(), FRAME_MAX, &n);
	const char *flag = strtok(NULL, " \n");
	if (w->rx_head == RX_QUEUE_MAX)
		broken("too much for the wire");
	f.len = (uint16_t)n;
	if (flag && strcmp(flag, "ok") == 0) {
		f.flags = PKT_CSUM_OK;
	} else if (flag) {
		f.flags = PKT_CSUM_PARTIAL;
		f.csum_start = (uint16_t)strtoul(argument(), NULL, 10);
		f.csum_offset = (uint16_t)strtoul(argument(), NULL, 10);
	}
	w->rx[w->rx_head++] = f;
}

/* An interrupt ends the sleep; the control core looks at console and links within 10 ms. */
static void wake(void)
{
	control_woken();
	pass_time(HOUSEKEEPING_NS);
}

static void command_key(void)
{
	uint8_t *bytes = parse_hex(argument(), LINE_BYTES, &typed_left);
	typed = bytes;
	wake();
	if (typed_left)
		broken("the console is not read");
	free(bytes);
}

static void command_link(void)
{
	unsigned port = port_argument();
	const char *state = argument();
	wires[port].link_up = strcmp(state, "up") == 0;
	wires[port].gone = strcmp(state, "gone") == 0;
	wake();
}

static void command_speed(void)
{
	unsigned port = port_argument();
	wires[port].mbps = (uint32_t)strtoul(argument(), NULL, 10);
	wake();
}

static void give_back_reserved(void)
{
	while (reserved_count)
		pkt_free(&self.pool, &reserved[--reserved_count]);
	free(reserved);
	reserved = NULL;
}

static void command_reserve(void)
{
	long left = strtol(argument(), NULL, 10);
	give_back_reserved();
	if (left < 0)
		return;
	reserved = calloc(self.pool.count, sizeof *reserved);
	while (self.pool.free > (uint32_t)left && pkt_take(&self.pool, &reserved[reserved_count]))
		reserved_count++;
}

/* As TCP does: payload in buffers that the sender keeps while they are sent. */
static struct pkt own_packet(const uint8_t *bytes, size_t n, unsigned pieces)
{
	struct bufpool *pool = &self.pool;
	struct pkt p, body;
	size_t first = pieces > 1 ? 80 : n, at = first;
	if (!pkt_take(pool, &p) || n < first + pieces - 1 || pieces > 1 + PKT_FRAGS_MAX)
		broken("no buffer, or too many pieces");
	memcpy(p.data, bytes, first);
	p.len = (uint16_t)first;
	p.flags = PKT_OWN | PKT_SHARED | (pieces > 1 ? PKT_CHAIN : 0);
	*pkt_meta(pool, p.buf) = (struct pkt_meta){.refs = 1,
	                                         .frags = (uint8_t)(pieces - 1),
	                                         .frag_bytes = (uint16_t)(n - first)};
	for (unsigned i = 1; i < pieces; i++) {
		size_t part = i + 1 < pieces ? (n - first) / (pieces - 1) : n - at;
		if (!pkt_take(pool, &body) || part > buf_room(pool))
			broken("no buffer, or too small");
		pkt_meta(pool, body.buf)->refs = 1;
		memcpy(body.data, bytes + at, part);
		pkt_frags(pool, p.buf)[i - 1] =
			(struct pkt_frag){body.buf, BUF_DATA_OFFSET, (uint16_t)part};
		at += part;
	}
	return p;
}

static uint16_t number_argument(void)
{
	return (uint16_t)strtoul(argument(), NULL, 10);
}

static void command_own(void)
{
	const char *how = argument();
	bool punted = strcmp(how, "punt") == 0;
	unsigned port = punted ? 0 : port_argument();
	size_t n;
	uint8_t *bytes = parse_hex(argument(), FRAME_MAX, &n);
	struct pkt p = own_packet(bytes, n, number_argument());
	struct pkt_meta *m = pkt_meta(&self.pool, p.buf);
	const char *word = strtok(NULL, " \n");
	free(bytes);
	if (word) {
		bool tso = strcmp(word, "tso") == 0, uso = strcmp(word, "uso") == 0;
		m->csum_start = number_argument();
		m->csum_offset = number_argument();
		m->mss = tso || uso ? number_argument() : 0;
		m->hdr_bytes = tso || uso ? number_argument() : 0;
		p.flags |= PKT_CSUM_PARTIAL | (tso ? PKT_TSO : 0) | (uso ? PKT_USO : 0);
	}
	if (punted)
		core_punt_own(&p, PUNT_OWN,
		              dp_next_hop4(dp_get(), ip4_dst(p.data + ETH_HLEN)));
	else
		core_tx(port, &p);
	settle();
}

/* The next hop to a neighbour, pinned. */
static uint16_t pinned(const char *word)
{
	struct net_addr to;
	uint32_t ip;
	if (text_parse_ip4(text_of(word), &ip) == 0) {
		to = net_addr_ip4(ip);
		uint32_t nh = neighbour_next_hop((unsigned)subnet_interface(&to), ip);
		arp_pin(&neighbours.arp, nh - NH_NEIGHBOUR);
		return (uint16_t)nh;
	}
	if (text_parse_ip6(text_of(word), &to) != 0)
		broken("%s is no address", word);
	uint32_t nh = neighbour6_next_hop((unsigned)subnet_interface(&to), &to);
	nd_pin(&neighbours.nd, nh - NH_NEIGHBOUR6);
	return (uint16_t)nh;
}

/* Makes or changes a route by several next hops; without any, removes it. ethN: any host on that
 * link (the last letter is the port's number). */
static void command_group(void)
{
	const char *prefix = argument();
	unsigned plen = number_argument(), n = 0;
	uint16_t member[ECMP_MEMBERS_MAX];
	struct net_addr six;
	uint32_t four = 0;
	bool is4 = text_parse_ip4(text_of(prefix), &four) == 0;
	if (!is4 && text_parse_ip6(text_of(prefix), &six) != 0)
		broken("%s is no address", prefix);
	for (const char *w; (w = strtok(NULL, " \n"));)
		member[n++] = *w == 'e' ? (uint16_t)(NH_CONNECTED + w[3] - '0') : pinned(w);
	uint32_t nh = is4 ? fib4_get(&forwarding.fib, four, plen) : fib6_get(&forwarding.fib6, &six, plen);
	if (nh != NH_NONE && n) {
		group_change(nh, member, NULL, n);
	} else if (n) {
		nh = group_make(member, NULL, n);
		if (is4)
			fib4_insert(&forwarding.fib, four, plen, nh);
		else
			fib6_insert(&forwarding.fib6, &six, plen, nh);
	} else {
		if (is4)
			fib4_remove(&forwarding.fib, four, plen);
		else
			fib6_remove(&forwarding.fib6, &six, plen);
		group_free(nh);
	}
	printf("group %u\n", nh - NH_GROUP);
	settle();
}

/* As if a connection of the engine had brought it. */
static void command_fpm(void)
{
	static uint8_t acknowledged[65536];
	size_t n, sent = 0;
	uint8_t *frame = parse_hex(argument(), FPM_FRAME_MAX, &n);
	if (fpm_check(frame, (uint32_t)n, NULL) != FPM_OK)
		broken("a malformed frame");
	engine_apply(frame, (uint32_t)n, acknowledged, sizeof acknowledged, &sent);
	routes_settle();
	free(frame);
	settle();
}

static void command_lie(void)
{
	struct trace_ring *r = dp_trace_ring();
	size_t n;
	uint8_t *bytes = parse_hex(argument(), FRAME_MAX, &n);
	if (n != sizeof r->slot[0])
		broken("a record has %zu bytes", sizeof r->slot[0]);
	if (r->number != dp_get()->trace.number)
		r->head = 0;
	memcpy(&r->slot[r->head % TRACE_SLOTS], bytes, n);
	free(bytes);
	r->number = dp_get()->trace.number;
	r->head += strtoull(argument(), NULL, 10);
	settle();
}

static void command_refuse(void)
{
	const bool buffers = strcmp(argument(), "buffers") == 0;
	const uint64_t n = strtoull(argument(), NULL, 10);
	refuse(buffers ? REFUSE_BUFFERS : REFUSE_MEMORY, n, strtok(NULL, " \n") != NULL);
}

static void command_asked(void)
{
	static const char *const kinds[] = {"memory", "buffers"};
	for (enum refuse_kind k = 0; k < REFUSE_KINDS; k++)
		printf("asked %s %" PRIu64 " %" PRIu64 "\n", kinds[k], refuse_asked(k),
		       refuse_refused(k));
	printf("private %zu\n", core_private_used());
}

static void command_anew(void)
{
	const char *n = argument();
	if (strtok(NULL, " \n"))
		core_test_driver();
	lives_end(&info, host_tsc, strtoull(n, NULL, 10), strchr(n, '+') != NULL);
}

static void command_disk(void)
{
	const char *what = argument();
	if (strcmp(what, "writes") == 0)
		printf("disk %u\n", host_disk_writes());
	else if (strcmp(what, "cut") == 0)
		host_disk_cut((unsigned)strtoul(argument(), NULL, 10));
	else
		host_disk_refuse((unsigned)strtoul(argument(), NULL, 10), strcmp(what, "mute") == 0);
}

static void command_crash(void)
{
	struct crash *c = &info.crash[0];
	const char *text = strtok(NULL, "\n");
	c->tsc = host_tsc;
	c->bytes = (uint32_t)snprintf(c->text, sizeof c->text, "%s\n", text ? text : "");
	c->number++;
}

static void command_sleep(void)
{
	settle();
	bool waiting = ring_messages_waiting();
	waiting |= data_arm();
	uint64_t deadline = next_deadline();
	data_disarm();
	if (waiting || deadline <= host_tsc)
		puts("sleep -");
	else
		printf("sleep %" PRIu64 "\n", deadline == UINT64_MAX ? 0 : deadline - host_tsc);
}

static void command_counters(void)
{
	static const char *const kinds[] = {"fate", "drop", "info"};
	struct counters c;
	core_counters(&c);
	for (unsigned i = 0; i < CNT_MAX; i++)
		printf("counter %s %s %" PRIu64 "\n", counter_desc[i].name,
		       kinds[counter_desc[i].kind], c.v[i]);
	printf("received %" PRIu64 "\nwaiting %" PRIu64 "\n", received(), waiting(&c));
}

/* Returns false for commands without an answer. */
static bool command(char *line)
{
	const char *word = strtok(line, " \n");
	if (!word)
		return false;
	if (strcmp(word, "in") == 0) {
		command_in();
		return false;
	}
	if (strcmp(word, "run") == 0)
		settle();
	else if (strcmp(word, "time") == 0)
		pass_time(strtoull(argument(), NULL, 10));
	else if (strcmp(word, "sleep") == 0)
		command_sleep();
	else if (strcmp(word, "away") == 0)
		host_tsc += strtoull(argument(), NULL, 10);
	else if (strcmp(word, "speed") == 0)
		command_speed();
	else if (strcmp(word, "link") == 0)
		command_link();
	else if (strcmp(word, "key") == 0)
		command_key();
	else if (strcmp(word, "own") == 0)
		command_own();
	else if (strcmp(word, "group") == 0)
		command_group();
	else if (strcmp(word, "fpm") == 0)
		command_fpm();
	else if (strcmp(word, "lie") == 0)
		command_lie();
	else if (strcmp(word, "reserve") == 0)
		command_reserve();
	else if (strcmp(word, "refuse") == 0)
		command_refuse();
	else if (strcmp(word, "asked") == 0)
		command_asked();
	else if (strcmp(word, "anew") == 0)
		command_anew();
	else if (strcmp(word, "crash") == 0)
		command_crash();
	else if (strcmp(word, "disk") == 0)
		command_disk();
	else if (strcmp(word, "features") == 0)
		printf("features %u\n", core_tx_features());
	else if (strcmp(word, "counters") == 0)
		command_counters();
	else if (strcmp(word, "room") == 0) {
		struct wire *w = &wires[port_argument()];
		w->tx_room = strtol(argument(), NULL, 10);
		settle();
	} else if (strcmp(word, "missed") == 0) {
		struct wire *w = &wires[port_argument()];
		w->missed += strtoull(argument(), NULL, 10);
	} else if (strcmp(word, "break") == 0) {
		wires[port_argument()].breaks = true;
	} else if (strcmp(word, "restart") == 0) {
		give_back_reserved();
		core_ports_restart("the test said so");
		settle();
	} else
		broken("unknown command %s", word);
	return true;
}

static void answered(void)
{
	check_buffers();
	check_management();
	check_fates();
	check_interfaces();
	puts("done");
	fflush(stdout);
}

void loop_run(void)
{
	static char line[LINE_BYTES];
	settle();
	answered();
	while (fgets(line, sizeof line, stdin))
		if (command(line))
			answered();
	exit(0);
}

_Noreturn void core_main(const struct boot_info *boot, unsigned id);

int main(int argc, char **argv)
{
	int option;
	while ((option = getopt(argc, argv, "p:c:m:o:d:D:R:s:T:tr:l")) != -1) {
		if (option == 'p')
			port_total = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 'c')
			read_config(optarg);
		else if (option == 'm')
			device_mtu_max = (uint32_t)strtoul(optarg, NULL, 10);
		else if (option == 'D' || option == 'R')
			host_disk_open(optarg, option == 'R');
		else if (option == 's')
			published_kib = (uint32_t)strtoul(optarg, NULL, 10);
		else if (option == 'T')
			tables_bytes = strtoul(optarg, NULL, 10) << 20;
		else if (option == 't')
			devices_cut = true;
		else if (option == 'l')
			many_lives = true;
		else if (option == 'r')
			refuse(REFUSE_MEMORY, strtoull(optarg, NULL, 10), strchr(optarg, '+') != NULL);
		else if (option == 'd')
			wires[strtoul(optarg, NULL, 10) % NIC_PORTS_MAX].dead = true;
		else if (option == 'o')
			snprintf(info.cmdline, sizeof info.cmdline, "%s", optarg);
		else
			broken("see the head of tests/host/harness.c");
	}
	if (port_total == 0 || port_total > NIC_PORTS_MAX)
		broken("1 to %d ports", NIC_PORTS_MAX);
	make_machine();
	core_main(&info, 0);
}
