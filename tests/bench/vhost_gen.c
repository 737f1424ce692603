/*
 * Packet generator and sink for the benchmarks, on DPDK's vhost driver.
 *
 * testpmd cannot send on one port and receive on another alone (its forwarding engines do the
 * same on every port), so this sends 64-byte UDP packets out of port 0 and counts what comes back
 * on port 1. One core does both. Buffers for sending have a pool of their own and keep their
 * contents in it: a packet is made by writing the destination and the lengths. (Sending the same
 * buffers by reference count cost two atomic operations a packet.)
 *
 *   vhost_gen EAL-OPTIONS -- DST-MAC FIRST-PREFIX PREFIXES
 *
 * Destinations are spread at random over PREFIXES consecutive /24 from FIRST-PREFIX on. Commands
 * on standard input, answers as one line on standard output:
 *
 *   link          link A B           1 where the peer has its rings up
 *   run SECONDS   run SENT RECEIVED BAD NANOSECONDS
 *                 BAD: sampled packets that are not a forwarded copy (TTL 63, addresses kept)
 *   quit
 */
#include <inttypes.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BURST 32
#define DESTINATIONS 16384
#define FRAME_BYTES 60 /* 64 on the wire, with the checksum */
#define SAMPLE_MASK 0x3ff

static struct rte_ipv4_hdr template_ip; /* destination and checksum zero */
static struct {
	rte_be32_t addr;
	uint16_t checksum;
} destination[DESTINATIONS];

static void die(const char *what)
{
	fprintf(stderr, "vhost_gen: %s\n", what);
	exit(1);
}

static void port_up(uint16_t port, struct rte_mempool *pool)
{
	struct rte_eth_conf conf = {0};
	if (rte_eth_dev_configure(port, 1, 1, &conf) != 0 ||
	    rte_eth_rx_queue_setup(port, 0, 1024, SOCKET_ID_ANY, NULL, pool) != 0 ||
	    rte_eth_tx_queue_setup(port, 0, 1024, SOCKET_ID_ANY, NULL) != 0 ||
	    rte_eth_dev_start(port) != 0)
		die("cannot start a port");
}

/* Once for every buffer of the sending pool: the packet, where allocation will find it. */
static void fill(struct rte_mempool *pool, void *dst, void *object, unsigned number)
{
	(void)pool;
	(void)number;
	struct rte_mbuf *m = object;
	rte_pktmbuf_reset_headroom(m);
	char *frame = rte_pktmbuf_mtod(m, char *);
	memset(frame, 0, FRAME_BYTES);
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)frame;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);
	eth->dst_addr = *(const struct rte_ether_addr *)dst;
	eth->src_addr = (struct rte_ether_addr){{0x52, 0x54, 0, 0, 0, 0x0a}};
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = 0x45;
	ip->total_length = rte_cpu_to_be_16(FRAME_BYTES - sizeof *eth);
	ip->time_to_live = 64;
	ip->next_proto_id = 17;
	ip->src_addr = rte_cpu_to_be_32(RTE_IPV4(192, 0, 2, 2));
	template_ip = *ip;
	udp->src_port = rte_cpu_to_be_16(1024);
	udp->dst_port = rte_cpu_to_be_16(9);
	udp->dgram_len = rte_cpu_to_be_16(FRAME_BYTES - sizeof *eth - sizeof *ip);
}

static struct rte_ipv4_hdr *ip_header(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, sizeof(struct rte_ether_hdr));
}

static void choose_destination(unsigned i, uint32_t addr)
{
	struct rte_ipv4_hdr ip = template_ip;
	ip.dst_addr = rte_cpu_to_be_32(addr);
	destination[i].addr = ip.dst_addr;
	destination[i].checksum = rte_ipv4_cksum(&ip);
}

static unsigned bad_packet(const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(eth + 1);
	if (m->pkt_len < FRAME_BYTES || eth->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4))
		return 1;
	/* A peer that swaps addresses and does not route leaves the TTL alone. */
	if (ip->time_to_live != 63 && ip->time_to_live != 64)
		return 1;
	return ip->src_addr != rte_cpu_to_be_32(RTE_IPV4(192, 0, 2, 2)) || rte_ipv4_cksum(ip) != 0;
}

static uint64_t receive(uint64_t *bad, uint64_t received)
{
	struct rte_mbuf *in[BURST];
	uint16_t n = rte_eth_rx_burst(1, 0, in, BURST);
	if (n > 0 && ((received ^ (received + n)) & ~(uint64_t)SAMPLE_MASK) != 0)
		*bad += bad_packet(in[0]);
	rte_pktmbuf_free_bulk(in, n);
	return n;
}

static void run(struct rte_mempool *pool, double seconds)
{
	struct rte_mbuf *out[BURST];
	uint64_t sent = 0, received = 0, bad = 0, hz = rte_get_tsc_hz();
	uint64_t start = rte_rdtsc(), end = start + (uint64_t)(seconds * (double)hz);
	unsigned at = 0;
	while (receive(&bad, 0) != 0) /* what an earlier run left in the ring */
		;
	bad = 0;
	while (rte_rdtsc() < end) {
		if (rte_pktmbuf_alloc_bulk(pool, out, BURST) != 0)
			die("the sending pool ran dry");
		for (unsigned i = 0; i < BURST; i++) {
			struct rte_ipv4_hdr *ip = ip_header(out[i]);
			ip->dst_addr = destination[at + i].addr;
			ip->hdr_checksum = destination[at + i].checksum;
			out[i]->data_len = out[i]->pkt_len = FRAME_BYTES;
		}
		uint16_t n = rte_eth_tx_burst(0, 0, out, BURST);
		rte_pktmbuf_free_bulk(out + n, BURST - n);
		sent += n;
		at = (at + BURST) % DESTINATIONS;
		received += receive(&bad, received);
	}
	uint64_t stop = rte_rdtsc();
	for (uint64_t last = stop; rte_rdtsc() - last < hz / 50;) { /* 20 ms for those in flight */
		uint64_t n = receive(&bad, received);
		received += n;
		if (n > 0)
			last = rte_rdtsc();
		if (rte_rdtsc() - stop > hz)
			break;
	}
	printf("run %" PRIu64 " %" PRIu64 " %" PRIu64 " %.0f\n", sent, received, bad,
	       (double)(stop - start) * 1e9 / (double)hz);
}

static void link_state(void)
{
	struct rte_eth_link a, b;
	if (rte_eth_link_get_nowait(0, &a) != 0 || rte_eth_link_get_nowait(1, &b) != 0)
		die("cannot read the link");
	printf("link %d %d\n", a.link_status, b.link_status);
}

int main(int argc, char **argv)
{
	int used = rte_eal_init(argc, argv);
	if (used < 0)
		die("EAL does not start");
	argc -= used;
	argv += used;
	struct rte_ether_addr dst;
	unsigned octet[4];
	if (argc != 4 || rte_ether_unformat_addr(argv[1], &dst) != 0 ||
	    sscanf(argv[2], "%u.%u.%u.%u", octet, octet + 1, octet + 2, octet + 3) != 4 ||
	    atoi(argv[3]) < 1 || rte_eth_dev_count_avail() != 2)
		die("usage: vhost_gen EAL-OPTIONS -- DST-MAC FIRST-PREFIX PREFIXES, two ports");
	uint32_t base = RTE_IPV4(octet[0], octet[1], octet[2], octet[3]);
	struct rte_mempool *pool = rte_pktmbuf_pool_create("receive", 8192 - 1, 256, 0,
	                                                   RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct rte_mempool *sending = rte_pktmbuf_pool_create(
		"send", 1024 - 1, 64, 0, RTE_PKTMBUF_HEADROOM + 128, SOCKET_ID_ANY);
	if (pool == NULL || sending == NULL)
		die("no memory for packets");
	rte_mempool_obj_iter(sending, fill, &dst);
	srandom(1);
	for (unsigned i = 0; i < DESTINATIONS; i++) {
		uint32_t prefix = (uint32_t)random() % (uint32_t)atoi(argv[3]);
		choose_destination(i, base + (prefix << 8) + 1 + (uint32_t)random() % 254);
	}
	port_up(0, pool);
	port_up(1, pool);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("up\n");

	char line[64];
	while (fgets(line, sizeof line, stdin) != NULL && strncmp(line, "quit", 4) != 0) {
		if (strncmp(line, "run ", 4) == 0)
			run(sending, atof(line + 4));
		else if (strncmp(line, "link", 4) == 0)
			link_state();
	}
	return 0;
}
