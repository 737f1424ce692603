/*
 * Load generator for TCP and UDP servers, with the library itself as the client (net/, on one
 * core).
 *
 *   tcp_load [-o] vhost:SOCKET SERVER FIRST-LOCAL LOCALS [EAL-OPTION...]
 *   tcp_load [-o] tap:NAME SERVER FIRST-LOCAL LOCALS
 *   tcp_load packet:NAME SERVER FIRST-LOCAL LOCALS
 *   tcp_load [-o] self SERVER FIRST-LOCAL LOCALS
 *
 * -o: with checksum and segmentation offloads, if the other end supports them. SERVER and
 * FIRST-LOCAL have the same family. LOCALS consecutive addresses are the clients'; the program
 * answers ARP, or neighbour discovery, for them. `self` connects to an echo server in this process.
 * Commands on standard input, an answer in one line on standard output (first of all `up TSC-HZ`):
 *
 *   link                      link 0|1
 *   resolve [MAC]             resolve MAC     solicits for some seconds, unless MAC is given
 *   open KIND N SIZE PORT [BUSY]
 *                             open N MS       N connections, earlier ones are reset. KIND: rr, crr,
 *                                             source, sink, both (tcp_work.h). MS: time it took;
 *                                             N 0: not all were established within a minute
 *   get [PATH [FIELD]]        get             later requests of kinds rr and crr are GETs of that path, with
 *                                             that field of the head; SIZE is the file's. Without PATH: of
 *                                             an echo server
 *   contents same|other       contents        later responses are echoes, or as long as the request
 *                             with other contents
 *   run SECONDS               run NS REQUESTS ENDED RECEIVED ACKED  FAILED UNLIKE RETRANSMITS LOST
 *                                 IDLE ALL  MIN P50 P99 P999 MAX
 *                             ENDED: connections; RECEIVED, ACKED: bytes; UNLIKE: responses that
 *                             differ from the request; IDLE: share of the time in which nothing
 *                             moved: near 0 the generator was the limit; ALL: requests including
 *                             those before and after the time; times of requests in ns
 *   pace SECONDS RATE GAP-NS  pace SENT RETURNED LEFT-OUT NS GONE-NS MAX GAP-MAX | NS:COUNT... |
 *                             NS:COUNT...
 *                             requests at that rate a second, on connections of kind rr: by a schedule
 *                             (open_loop.h) and not as responses come. A request without an idle
 *                             connection waits, and that counts. GAP-NS: a turn that takes longer is
 *                             one in which this program was off its CPU
 *   flow SECONDS RATE GAP-NS SIZE PORT
 *                             flow ...     the same of datagrams, any number under way; a rate of 0:
 *                             FLOW_AHEAD under way at a time. IPv4 only
 *   udp SECONDS GAP-NS SIZE PORT
 *                             udp COUNT LOST LEFT-OUT MIN P50 P99 P999 MAX
 *                             one datagram at a time, round trip in ns. LEFT-OUT: samples during
 *                             which this program was off its core for GAP-NS or more, by its own
 *                             time stamps: they do not describe the server
 *   quit
 *
 * A request's time begins with tcp_send, not when its frame is on the wire, and ends when its
 * response is read: queueing in the generator counts, as for any client.
 *
 * Missing: more than one core, receiving large frames over vhost-user.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/eth.h"
#include "net/ip.h"
#include "net/nd_wire.h"
#include "net/udp.h"
#include "tests/bench/tcp/tcp_side.h"
#include "tests/bench/tcp/tcp_work.h"
#include "tests/bench/wire/wire.h"

#define VECTOR PKT_VECTOR_MAX
#define BUFFERS 131072
#define BUFFERS_LARGE 4096
#define STRIDE_LARGE 67584 /* for frames that the other end has not segmented */
#define HEADER_AT (BUF_DATA_OFFSET - WIRE_HEADER_BYTES)
_Static_assert(HEADER_AT >= BUF_META, "the header fits behind the buffer's own");
#define LARGE_SIZE 1200 /* of a response: above it has several segments, which come as one frame if the other end can */
#define LINK_MTU 1500
#define TCP_HEADER_BYTES 32 /* with timestamps */
#define RESOLVE_MS 4000 /* a new server first checks that its IPv6 address is unique */
#define LOST_MS 100
#define WARM_UP_MS 20
#define SETTLE_LOOKS 100
#define QUIET_LOOKS 10000
#define WARM_UP_DATAGRAMS 1000
#define OPEN_MS 60000

static const struct wire *wire; /* NULL: self */
static struct side client, server;
static struct work load, served;
static struct histogram latency;
static struct net_addr server_addr, local_first;
static uint32_t locals;
static bool six;
static unsigned ip_hlen; /* of sent packets */
static uint8_t mac[ETH_ALEN] = {0x52, 0x54, 0, 0, 0, 0x0a}, server_mac[ETH_ALEN];
static bool resolved, offloads;
static struct { bool csum, tso; } other; /* offloads that the other end accepts */
static uint64_t wire_lost; /* frames that were too large or lacked a buffer */

static void die(const char *what)
{
	fprintf(stderr, "tcp_load: %s\n", what);
	exit(1);
}

/* --- frames --- */

static bool send_frame(const void *frame, unsigned len)
{
	struct wire_header header = {.num_buffers = 1};
	struct iovec piece[] = {{&header, sizeof header}, {(void *)(uintptr_t)frame, len}};
	return wire->give(piece, 2);
}

/* RFC 826, offsets: 14 hardware 1, protocol 0x0800, 6, 4; 20 operation; 22 sender; 32 target. */
static void send_arp(uint16_t operation, const uint8_t *to, uint32_t from_addr, uint32_t to_addr)
{
	static const uint8_t fixed[] = {0, 1, 8, 0, 6, 4};
	static const uint8_t all[ETH_ALEN] = {255, 255, 255, 255, 255, 255};
	uint8_t f[ETH_FRAME_MIN] = {0};
	eth_header_build(f, to ? to : all, mac, ETH_TYPE_ARP);
	memcpy(f + 14, fixed, sizeof fixed);
	be16_store(f + 20, operation);
	eth_copy(f + 22, mac);
	be32_store(f + 28, from_addr);
	if (to)
		eth_copy(f + 32, to);
	be32_store(f + 38, to_addr);
	send_frame(f, sizeof f);
	wire->given();
}

static bool is_local(const struct net_addr *a)
{
	uint32_t n = be32_get((be32_t){a->w[3]}) - be32_get((be32_t){local_first.w[3]});
	const struct net_addr same = bench_address(&local_first, n);
	return n < locals && net_addr_equal(a, &same);
}

static void server_is_at(const uint8_t *at)
{
	eth_copy(server_mac, at);
	resolved = true;
}

static void arp_arrived(const uint8_t *f, unsigned len)
{
	if (len < 42)
		return;
	const struct net_addr from = net_addr_ip4(be32_load(f + 28)),
	                      to = net_addr_ip4(be32_load(f + 38));
	if (net_addr_equal(&from, &server_addr))
		server_is_at(f + 22);
	if (be16_load(f + 20) == 1 && is_local(&to))
		send_arp(2, f + 22, net_addr_to_ip4(&to), net_addr_to_ip4(&from));
}

/* A neighbour solicitation or advertisement (RFC 4861 4.3, 4.4). to_mac NULL: to a group. */
static void send_nd(uint8_t type, const uint8_t *to_mac, const struct net_addr *from,
                    const struct net_addr *to, const struct net_addr *target)
{
	uint8_t f[ND_FRAME_ICMP + ND_NEIGHBOUR_LEN + ND_MAC_OPT_LEN] = {0};
	uint8_t *icmp = f + ND_FRAME_ICMP;
	const struct nd_envelope e = {.src = *from, .dst = *to, .src_mac = mac, .dst_mac = to_mac};
	bool solicits = type == ICMP6_NEIGHBOUR_SOLICIT;
	icmp[0] = type;
	icmp[4] = solicits ? 0 : ND_NA_SOLICITED | ND_NA_OVERRIDE;
	net_addr_store(icmp + ND_TARGET, target);
	nd_mac_option_put(icmp + ND_NEIGHBOUR_LEN,
	                  solicits ? ND_OPT_SOURCE_MAC : ND_OPT_TARGET_MAC, mac);
	send_frame(f, nd_frame_finish(f, &e, sizeof f - ND_FRAME_ICMP));
	wire->given();
}

static void nd_arrived(const uint8_t *f, unsigned len)
{
	const uint8_t *icmp = f + ND_FRAME_ICMP;
	if (len < ND_FRAME_ICMP + ND_NEIGHBOUR_LEN || ip6_next(f + ETH_HLEN) != IP6_ICMP6)
		return;
	const struct net_addr target = net_addr_load(icmp + ND_TARGET), from = ip6_src(f + ETH_HLEN);
	if (icmp[0] == ICMP6_NEIGHBOUR_ADVERT && net_addr_equal(&target, &server_addr))
		server_is_at(f + ETH_ALEN);
	if (icmp[0] == ICMP6_NEIGHBOUR_SOLICIT && is_local(&target) && !net_addr_is_any(&from))
		send_nd(ICMP6_NEIGHBOUR_ADVERT, f + ETH_ALEN, &target, &from, &target);
}

/* Handles a frame that asks for us, or announces the server. */
static void other_arrived(const uint8_t *f, unsigned len)
{
	uint16_t type = len > ETH_HLEN ? be16_load(f + 12) : 0;
	if (type == ETH_TYPE_ARP && !six)
		arp_arrived(f, len);
	else if (type == ETH_TYPE_IP6 && six)
		nd_arrived(f, len);
}

static void ask_for_server(void)
{
	const struct net_addr group = ip6_solicited_node(&server_addr);
	if (six)
		send_nd(ICMP6_NEIGHBOUR_SOLICIT, NULL, &local_first, &group, &server_addr);
	else
		send_arp(1, NULL, net_addr_to_ip4(&local_first), net_addr_to_ip4(&server_addr));
}

static bool is_ours(const uint8_t *f, unsigned len, uint8_t proto)
{
	const uint8_t *ip = f + ETH_HLEN;
	struct net_addr to;
	if (len < ETH_HLEN + IP4_HLEN || be16_load(f + 12) != (six ? ETH_TYPE_IP6 : ETH_TYPE_IP4))
		return false;
	if (six) {
		if (ip6_check(ip, len - ETH_HLEN) != CNT_NONE || ip6_next(ip) != proto)
			return false;
		to = ip6_dst(ip);
	} else {
		if (ip4_check(ip, len - ETH_HLEN) != CNT_NONE || ip4_is_fragment(ip) ||
		    ip4_proto(ip) != proto)
			return false;
		to = net_addr_ip4(ip4_dst(ip));
	}
	return is_local(&to);
}

/* --- TCP over the wire --- */

static unsigned receive(struct pkt *v)
{
	unsigned n = 0;
	struct bufpool *pool = &client.pool;
	for (unsigned frames = 0; frames < VECTOR && pkt_alloc(pool, &v[n]); frames++) {
		uint8_t *at = v[n].data - WIRE_HEADER_BYTES;
		unsigned room = buf_room(pool) + WIRE_HEADER_BYTES, len = wire->take(at, room);
		struct wire_header header;
		memcpy(&header, at, sizeof header);
		bool fits = len > WIRE_HEADER_BYTES && len <= room &&
		            len - WIRE_HEADER_BYTES <= 65535;
		wire_lost += len != 0 && !fits;
		len -= WIRE_HEADER_BYTES;
		if (fits && is_ours(v[n].data, len, IP4_PROTO_TCP)) {
			v[n].len = (uint16_t)len;
			if (header.flags & (WIRE_NEEDS_CSUM | WIRE_DATA_VALID))
				v[n].flags = PKT_CSUM_OK;
			n++;
			continue;
		}
		if (fits)
			other_arrived(v[n].data, len);
		pkt_free(pool, &v[n]);
		if (len + WIRE_HEADER_BYTES == 0)
			break;
	}
	wire->taken();
	return n;
}

static bool send_packet(const struct pkt *p)
{
	const struct pkt_meta *m = pkt_meta(&client.pool, p->buf);
	struct wire_header header = {.num_buffers = 1};
	struct iovec piece[WIRE_PIECES_MAX] = {{&header, sizeof header}, {p->data, p->len}};
	unsigned n = 2;
	if (p->flags & PKT_CSUM_PARTIAL) {
		header.flags = WIRE_NEEDS_CSUM;
		header.csum_start = m->csum_start;
		header.csum_offset = m->csum_offset;
	}
	if (p->flags & PKT_TSO) {
		header.gso_type = six ? WIRE_GSO_TCPV6 : WIRE_GSO_TCPV4;
		header.gso_size = m->mss;
		header.hdr_len = m->hdr_bytes;
	}
	if (p->flags & PKT_CHAIN) {
		const struct pkt_frag *f = pkt_frags(&client.pool, p->buf);
		for (unsigned i = 0; i < m->frags; i++, f++) {
			void *at = (void *)(uintptr_t)buf_at(&client.pool, f->buf, f->offset);
			piece[n++] = (struct iovec){at, f->len};
		}
	}
	eth_header_build(p->data, server_mac, mac, six ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
	return wire->give(piece, n);
}

static unsigned transmit(void)
{
	unsigned n = 0;
	for (; side_waiting(&client); client.out_head++, n++) {
		const struct pkt *p = &client.out[client.out_head % SIDE_OUT];
		if (!send_packet(p))
			break;
		pkt_free(&client.pool, p);
	}
	wire->given();
	return n;
}

/* One turn; returns how many packets moved. */
static unsigned turn(void)
{
	static struct pkt v[VECTOR];
	uint64_t now = now_us();
	unsigned n;
	if (wire) {
		n = receive(v);
	} else {
		n = wire_carry(&client, &server, v, VECTOR);
		if (n)
			tcp_input(server.tcp, v, n, now);
		tcp_tick(server.tcp, now);
		n = wire_carry(&server, &client, v, VECTOR);
	}
	if (n)
		tcp_input(client.tcp, v, n, now);
	tcp_tick(client.tcp, now);
	work_turn(&load, now);
	return wire ? n + transmit() : n;
}

static void enter(void)
{
	if (wire)
		wire->enter(&other.csum, &other.tso);
	other.csum &= offloads;
	other.tso &= offloads;
}

static void leave(void)
{
	if (wire)
		wire->leave();
}

/* Lets packets in flight arrive, even at a server that sleeps. */
static void settle(void)
{
	for (unsigned i = 0; i < SETTLE_LOOKS; i++) {
		turn();
		if (wire) {
			wire->idle();
			usleep(50);
		}
	}
}

/* --- opening --- */

/* Transmits all queued resets; a late segment causes another one. */
static void send_resets(void)
{
	for (unsigned tries = 0; wire && side_waiting(&client) && tries < 100000; tries++)
		transmit();
}

static void close_all(void)
{
	if (!client.tcp)
		return;
	for (uint32_t i = 0; i < load.connections; i++) {
		if (load.conn[i].conn)
			tcp_abort(load.conn[i].conn);
		load.conn[i].conn = NULL;
		if (side_waiting(&client) > VECTOR)
			send_resets();
	}
	send_resets();
	work_free(&load);
	side_free(&client);
	if (!wire) {
		work_free(&served);
		side_free(&server);
	}
}

static struct tcp_params parameters(uint32_t connections)
{
	struct tcp_params p = TCP_PARAMS_DEFAULT;
	p.connections = connections;
	p.time_wait_ms = 1;
	p.port_first = 1024;
	p.port_last = 65535;
	p.offload = other.tso    ? TCP_TX_CSUM | TCP_TX_SG | TCP_TX_TSO
	            : other.csum ? TCP_TX_CSUM
	                         : 0;
	return p;
}

static void serve_self(uint32_t connections, uint16_t port)
{
	struct tcp_params p = parameters(connections + 64);
	side_make(&server, &p, BUFFERS, BUF_STRIDE_STANDARD);
	served = (struct work){.kind = WORK_ECHO, .tcp = server.tcp, .pool = &server.pool,
	                       .port = port};
	work_init(&served);
	work_listen(&served);
}

static int kind_of(const char *name)
{
	static const char *const names[] = {[WORK_RR] = "rr", [WORK_CRR] = "crr",
	                                    [WORK_SOURCE] = "source", [WORK_SINK] = "sink",
	                                    [WORK_BOTH] = "both"};
	for (unsigned i = 0; i < ARRAY_LEN(names); i++)
		if (names[i] && strcmp(names[i], name) == 0)
			return (int)i;
	die("no such kind of work");
	return -1;
}

static char ask[512]; /* the HTTP request; empty: none */

static void get(const char *path, const char *field)
{
	const int n = snprintf(ask, sizeof ask, "GET %s HTTP/1.1\r\nHost: bench\r\n%s%s\r\n", path, field,
	                       *field ? "\r\n" : "");
	if (n < 0 || (size_t)n >= sizeof ask)
		die("the request is too long");
	if (*path == 0)
		ask[0] = 0;
	printf("get\n");
}

static bool other_contents;

static void open_all(int kind, uint32_t n, uint32_t size, uint16_t port, uint32_t busy)
{
	enter();
	close_all();
	struct tcp_params p = parameters(n + 1024);
	bool large = wire && offloads && ((kind != WORK_RR && kind != WORK_CRR) || size > LARGE_SIZE);
	side_make(&client, &p, large ? BUFFERS_LARGE : BUFFERS,
	          large ? STRIDE_LARGE : BUF_STRIDE_STANDARD);
	load = (struct work){.kind = (enum work_kind)kind, .tcp = client.tcp, .pool = &client.pool,
	                     .server = server_addr, .port = port, .locals = locals,
	                     .connections = n, .busy = busy, .size = size,
	                     .ask = ask[0] ? ask : NULL,
	                     .other = other_contents,
	                     .mss = LINK_MTU - ip_hlen - TCP_HEADER_BYTES,
	                     .latency = &latency};
	for (uint32_t i = 0; i < locals; i++)
		load.local[i] = bench_address(&local_first, i);
	work_init(&load);
	if (!wire)
		serve_self(n, port);
	histogram_clear(&latency);
	uint64_t start = now_us(), moved = start;
	while (!work_turn(&load, now_us()) && now_us() - start < OPEN_MS * 1000ull) {
		if (turn()) {
			moved = now_us();
		} else if (wire && now_us() - moved > 1000) {
			wire->idle();
			usleep(50);
		}
	}
	if (kind != WORK_CRR && load.established != n)
		n = 0;
	uint64_t took = now_us() - start;
	settle();
	leave();
	printf("open %u %.1f\n", n, (double)took / 1e3);
}

/* --- running --- */

static double ns(double ticks)
{
	return ticks * 1e9 / tsc_hz();
}

static void say_times(void)
{
	printf(" %.0f %.0f %.0f %.0f %.0f\n", latency.count ? ns((double)latency.min) : 0,
	       ns(histogram_percentile(&latency, 0.5)), ns(histogram_percentile(&latency, 0.99)),
	       ns(histogram_percentile(&latency, 0.999)), ns((double)latency.max));
}

/* Runs until `end`; returns the ticks in which nothing moved. */
static uint64_t turns_until(uint64_t end)
{
	uint64_t idle = 0, quiet = 0, now = tsc_now(), next;
	for (; now < end; now = next) {
		bool moved = turn() != 0;
		next = tsc_now();
		idle += moved ? 0 : next - now;
		quiet = moved ? 0 : quiet + 1;
		if (wire && quiet > wire->patience) {
			wire->idle();
			quiet = 0;
		}
	}
	return idle;
}

/*
 * Runs until the first answer, and WARM_UP_MS more: then a sleeping server is awake, and queues
 * have their full length. Sleeps while nothing moves: with real-time priority this program would
 * keep the thread that passes the wake-up on (QEMU, a kernel worker) from its CPU.
 */
static void warm_up(void)
{
	uint64_t hz = (uint64_t)tsc_hz(), end = tsc_now() + hz / 2;
	for (unsigned moved = 0; moved < 2 && tsc_now() < end;) {
		if (turn()) {
			moved++;
		} else if (wire) {
			wire->idle();
			usleep(50);
		}
	}
	turns_until(tsc_now() + hz / 1000 * WARM_UP_MS);
}

static void run(double seconds)
{
	if (!client.tcp)
		die("nothing is open");
	enter();
	uint64_t hz = (uint64_t)tsc_hz(), start, all = load.requests;
	work_run(&load, true);
	warm_up();
	struct work before = load;
	uint64_t again = client.cnt.v[CNT_tcp_retransmits];
	histogram_clear(&latency);
	start = tsc_now();
	uint64_t idle = turns_until(start + (uint64_t)(seconds * (double)hz));
	uint64_t took = tsc_now() - start;
	struct work after = load;
	again = client.cnt.v[CNT_tcp_retransmits] - again;
	struct histogram kept = latency; /* responses after the time do not count */
	work_run(&load, false);
	uint64_t end = now_us() + 200000;
	for (unsigned quiet = 0; quiet < QUIET_LOOKS && now_us() < end;) /* data in flight */
		quiet = turn() || load.in_flight ? 0 : quiet + 1;
	settle();
	latency = kept;
	leave();
	printf("run %.0f %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 " %" PRIu64 " %.4f %" PRIu64,
	       ns((double)took), after.requests - before.requests, after.ended - before.ended,
	       after.received_bytes - before.received_bytes, after.acked_bytes - before.acked_bytes,
	       after.failed - before.failed, after.unlike - before.unlike, again,
	       client.lost + wire_lost, (double)idle / (double)took,
	       load.requests - all);
	say_times();
}

/* --- UDP, one at a time --- */

static unsigned make_datagram(uint8_t *f, unsigned size, uint16_t port)
{
	struct udp_build b = {.src = local_first, .dst = server_addr, .src_port = 40000,
	                      .dst_port = port, .ttl = 64, .df = true};
	eth_header_build(f, server_mac, mac, six ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
	uint8_t *ip = f + ETH_HLEN;
	unsigned len = udp_packet_build(ip, LINK_MTU, &b, ip + ip_hlen + UDP_HLEN, size);
	return eth_pad(f, ETH_HLEN + len);
}

/* Whether the frame is the answer to datagram `number`. */
static bool is_answer(const uint8_t *f, unsigned len, uint64_t number)
{
	uint64_t got;
	if (len < ETH_HLEN + ip_hlen + UDP_HLEN + sizeof got || !is_ours(f, len, IP_PROTO_UDP))
		return false;
	memcpy(&got, f + ETH_HLEN + ip_hlen + UDP_HLEN, sizeof got);
	return got == number && be16_load(f + ETH_HLEN + ip_hlen + 2) == 40000;
}

/* Waits for the answer; returns ticks since `start`, 0 if none came. *gap: the longest time between
 * two polls. nap: as in warm_up. */
static uint64_t await(uint64_t number, uint64_t start, uint64_t patience, bool nap, uint64_t *gap)
{
	uint8_t f[2048 + WIRE_HEADER_BYTES];
	uint64_t last = start, now;
	for (unsigned quiet = 0; last - start < patience; quiet++) {
		unsigned len = wire->take(f, sizeof f);
		now = tsc_now();
		*gap = now - last > *gap ? now - last : *gap;
		last = now;
		if (len == 0) {
			if (quiet >= wire->patience) {
				wire->idle();
				quiet = 0;
			}
			if (nap)
				usleep(50);
			continue;
		}
		wire->taken();
		if (len > sizeof f || len < WIRE_HEADER_BYTES)
			continue;
		if (is_answer(f + WIRE_HEADER_BYTES, len - WIRE_HEADER_BYTES, number))
			return now - start;
		other_arrived(f + WIRE_HEADER_BYTES, len - WIRE_HEADER_BYTES);
	}
	return 0;
}

static void udp(double seconds, double gap_ns, unsigned size, uint16_t port)
{
	uint8_t f[ETH_HLEN + LINK_MTU] = {0};
	uint64_t lost = 0, left_out = 0, number = tsc_now(), end;
	double hz = tsc_hz();
	if (!wire)
		die("there is no UDP within the process");
	unsigned most = LINK_MTU - ip_hlen - UDP_HLEN;
	size = size < sizeof number ? sizeof number : size > most ? most : size;
	enter();
	histogram_clear(&latency);
	end = tsc_now() + (uint64_t)(seconds * hz);
	unsigned ahead = WARM_UP_DATAGRAMS; /* not counted: they wake a sleeping server */
	for (uint64_t start; (start = tsc_now()) < end; number++) {
		uint64_t gap = 0;
		memcpy(f + ETH_HLEN + ip_hlen + UDP_HLEN, &number, sizeof number);
		unsigned len = make_datagram(f, size, port);
		start = tsc_now();
		if (!send_frame(f, len))
			continue;
		wire->given();
		uint64_t took = await(number, start, (uint64_t)(hz * LOST_MS / 1e3),
		                      ahead == WARM_UP_DATAGRAMS, &gap);
		if (ahead > 0) {
			ahead -= took != 0;
			end = ahead == 0 ? tsc_now() + (uint64_t)(seconds * hz) : end;
		} else if (took == 0) {
			lost++;
		} else if (ns((double)gap) >= gap_ns) {
			left_out++;
		} else {
			histogram_add(&latency, took);
		}
	}
	leave();
	printf("udp %" PRIu64 " %" PRIu64 " %" PRIu64, latency.count, lost, left_out);
	say_times();
}

/* --- by a schedule --- */

#define FLOW_AHEAD 256
#define FLOW_TURN 16 /* datagrams and answers of a turn: one is a system call on a tap */
#define LINGER_MS 20

static struct open_loop paced;

static void paced_begin(double seconds, double rate, double gap_ns)
{
	double hz = tsc_hz();
	open_loop_begin(&paced, tsc_now(), (uint64_t)(seconds * hz), rate > 0 ? hz / rate : 0,
	                (uint64_t)(gap_ns * hz / 1e9));
}

/* What it costs to wake the other end, or to wait for it, is no gap. */
static void paced_idle(void)
{
	wire->idle();
	paced.last = tsc_now();
}

static void paced_report(const char *what, const struct open_loop *over, uint64_t returned)
{
	printf("%s %" PRIu64 " %" PRIu64, what, over->sent, returned);
	open_loop_report(over, over->last, tsc_hz());
}

static void pace(double seconds, double rate, double gap_ns)
{
	if (!client.tcp || load.kind != WORK_RR || rate <= 0)
		die("requests at a rate need connections of kind rr");
	enter();
	work_run(&load, true);
	warm_up(); /* closed loop: it wakes the server */
	work_run(&load, false);
	for (uint64_t end = now_us() + 200000; load.in_flight && now_us() < end;)
		turn();
	load.paced = &paced;
	work_run(&load, true);
	uint64_t before = load.requests, quiet = 0;
	paced_begin(seconds, rate, gap_ns);
	for (uint64_t now = tsc_now(); open_loop_runs(&paced, now); now = tsc_now()) {
		uint64_t due = open_loop_due(&paced, now);
		for (unsigned i = 0; i < FLOW_TURN && i < due; i++, paced.sent++)
			if (!work_request(&load, open_loop_stamp(&paced, now)))
				break;
		quiet = turn() ? 0 : quiet + 1;
		if (wire && quiet > wire->patience) {
			paced_idle();
			quiet = 0;
		}
	}
	struct open_loop over = paced;
	uint64_t returned = load.requests - before;
	work_run(&load, false);
	for (uint64_t end = now_us() + 200000; load.in_flight && now_us() < end;)
		turn();
	load.paced = NULL;
	settle();
	leave();
	paced_report("pace", &over, returned);
}

/* Takes answers that are there, up to FLOW_TURN; returns how many are the flow's. */
static unsigned flow_answers(uint64_t run)
{
	uint8_t f[2048 + WIRE_HEADER_BYTES];
	const unsigned at = WIRE_HEADER_BYTES + ETH_HLEN + ip_hlen + UDP_HLEN;
	unsigned n = 0, len;
	for (unsigned i = 0; i < FLOW_TURN && (len = wire->take(f, sizeof f)) != 0; i++) {
		uint64_t stamp, now = tsc_now();
		if (len > sizeof f || len < WIRE_HEADER_BYTES)
			continue;
		if (!is_answer(f + WIRE_HEADER_BYTES, len - WIRE_HEADER_BYTES, run)) {
			other_arrived(f + WIRE_HEADER_BYTES, len - WIRE_HEADER_BYTES);
			continue;
		}
		memcpy(&stamp, f + at + sizeof run, sizeof stamp);
		open_loop_clock(&paced, now);
		n += open_loop_back(&paced, stamp, now);
	}
	wire->taken();
	return n;
}

static void flow(double seconds, double rate, double gap_ns, unsigned size, uint16_t port)
{
	uint8_t f[ETH_HLEN + LINK_MTU] = {0};
	uint8_t *payload = f + ETH_HLEN + ip_hlen + UDP_HLEN;
	uint64_t run = tsc_now(), returned = 0, all = 0;
	unsigned quiet = 0;
	if (!wire || six)
		die("there is no flow of UDP within the process, or over IPv6");
	size = size < 2 * sizeof run ? 2 * sizeof run : size > 1024 ? 1024 : size;
	memcpy(payload, &run, sizeof run);
	unsigned len = make_datagram(f, size, port);
	memset(payload - 2, 0, 2); /* no UDP checksum (RFC 768): the stamps differ */
	enter();
	for (unsigned answers = 0; answers < WARM_UP_DATAGRAMS && all < 4 * WARM_UP_DATAGRAMS; all++) {
		const uint64_t start = tsc_now();
		uint64_t gap = 0;
		if (send_frame(f, len))
			wire->given();
		answers += await(run, start, (uint64_t)(tsc_hz() * LOST_MS / 1e3), answers == 0, &gap) != 0;
	}
	run++;
	memcpy(payload, &run, sizeof run);
	paced_begin(seconds, rate, gap_ns);
	for (uint64_t now = tsc_now(); open_loop_runs(&paced, now); now = tsc_now()) {
		unsigned sent = 0;
		uint64_t due = open_loop_due(&paced, now);
		for (; sent < FLOW_TURN && sent < due; sent++, paced.sent++) {
			uint64_t stamp = open_loop_stamp(&paced, now);
			if (rate <= 0 && paced.sent - returned >= FLOW_AHEAD)
				break;
			memcpy(payload + sizeof run, &stamp, sizeof stamp);
			if (!send_frame(f, len))
				break;
		}
		wire->given();
		unsigned came = flow_answers(run);
		returned += came;
		quiet = sent + came ? 0 : quiet + 1;
		if (quiet > wire->patience) {
			paced_idle();
			quiet = 0;
		}
	}
	struct open_loop over = paced;
	uint64_t late = 0, end = now_us() + LINGER_MS * 1000;
	while (now_us() < end && returned + late < over.sent) {
		late += flow_answers(run);
		wire->idle();
	}
	leave();
	paced_report("flow", &over, returned + late);
}

/* --- commands --- */

static void resolve(const char *given)
{
	unsigned b[ETH_ALEN];
	if (given && sscanf(given, "%x:%x:%x:%x:%x:%x", b, b + 1, b + 2, b + 3, b + 4,
	                    b + 5) == 6) {
		for (unsigned i = 0; i < ETH_ALEN; i++)
			server_mac[i] = (uint8_t)b[i];
	} else if (wire) {
		uint8_t f[2048 + WIRE_HEADER_BYTES];
		resolved = false;
		enter();
		for (unsigned tries = 0; tries < RESOLVE_MS && !resolved; tries++) {
			if (tries % 100 == 0)
				ask_for_server();
			wire->idle();
			usleep(1000);
			for (unsigned len; (len = wire->take(f, sizeof f)) != 0; wire->taken())
				if (len <= sizeof f && len > WIRE_HEADER_BYTES + ETH_HLEN)
					other_arrived(f + WIRE_HEADER_BYTES, len - WIRE_HEADER_BYTES);
		}
		leave();
		if (!resolved) {
			printf("resolve none\n");
			return;
		}
	}
	printf("resolve %02x:%02x:%02x:%02x:%02x:%02x\n", server_mac[0], server_mac[1],
	       server_mac[2], server_mac[3], server_mac[4], server_mac[5]);
}

static struct net_addr address(const char *text)
{
	uint8_t bytes[16];
	if (inet_pton(AF_INET, text, bytes) == 1)
		return net_addr_ip4(be32_load(bytes));
	if (inet_pton(AF_INET6, text, bytes) != 1)
		die("that is no address");
	return net_addr_load(bytes);
}

static void attach(int argc, char **argv)
{
	if (argc >= 2 && strcmp(argv[1], "-o") == 0) {
		offloads = true;
		argc--;
		argv++;
	}
	if (argc < 5)
		die("usage: tcp_load [-o] WIRE SERVER FIRST-LOCAL LOCALS [EAL-OPTION...]");
	server_addr = address(argv[2]);
	local_first = address(argv[3]);
	six = !net_addr_is_ip4(&server_addr);
	if (net_addr_is_ip4(&local_first) == six)
		die("addresses of both families");
	ip_hlen = ip_header_bytes(&server_addr);
	locals = (uint32_t)atoi(argv[4]);
	if (locals < 1 || locals > WORK_LOCALS)
		die("too few or too many local addresses");
	argv[4] = argv[0]; /* EAL expects a program name before its options */
	if (strncmp(argv[1], "vhost:", 6) == 0)
		wire = wire_vhost_open(argc - 4, argv + 4, argv[1] + 6, offloads);
	else if (strncmp(argv[1], "tap:", 4) == 0)
		wire = wire_tap_open(argv[1] + 4, offloads);
	else if (strncmp(argv[1], "packet:", 7) == 0)
		wire = wire_packet_open(argv[1] + 7);
	else if (strcmp(argv[1], "self") != 0)
		die("no such wire");
	other.csum = other.tso = !wire;
}

int main(int argc, char **argv)
{
	attach(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("up %.0f\n", tsc_hz());
	now_us();
	char line[128], word[16];
	while (fgets(line, sizeof line, stdin) != NULL && strncmp(line, "quit", 4) != 0) {
		double seconds, rate, gap;
		unsigned n, size, port, busy = 0;
		char given[32] = "", field[64] = "";
		if (strncmp(line, "link", 4) == 0)
			printf("link %d\n", !wire || wire->is_up());
		else if (strncmp(line, "resolve", 7) == 0)
			resolve(sscanf(line, "resolve %31s", given) == 1 ? given : NULL);
		else if (strncmp(line, "get", 3) == 0) {
			(void)sscanf(line, "get %31s %63[^\n]", given, field);
			get(given, field);
		} else if (sscanf(line, "contents %31s", given) == 1) {
			other_contents = strcmp(given, "other") == 0;
			printf("contents\n");
		} else if (sscanf(line, "open %15s %u %u %u %u", word, &n, &size, &port, &busy) >= 4)
			open_all(kind_of(word), n, size, (uint16_t)port, busy);
		else if (sscanf(line, "run %lf", &seconds) == 1)
			run(seconds);
		else if (sscanf(line, "pace %lf %lf %lf", &seconds, &rate, &gap) == 3)
			pace(seconds, rate, gap);
		else if (sscanf(line, "flow %lf %lf %lf %u %u", &seconds, &rate, &gap, &size, &port) == 5)
			flow(seconds, rate, gap, size, (uint16_t)port);
		else if (sscanf(line, "udp %lf %lf %u %u", &seconds, &gap, &size, &port) == 4)
			udp(seconds, gap, size, (uint16_t)port);
		else
			printf("what?\n");
	}
	return 0;
}
