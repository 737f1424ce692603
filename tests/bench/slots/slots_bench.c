/*
 * The cost of the drivers' rings on this host, in TSC cycles a packet, by packets per doorbell: the
 * product's own objects (runtime/slots.c, drivers' rings) with a device that is only memory. The
 * device works between two measurements on the same core, so a figure includes every instruction,
 * but no cache line from another core. Kinds sent from slots: `fixed`, frames stay; `lengths`,
 * every descriptor is rewritten. `tx_burst`: the same frames as packets; `rx_burst`: packets
 * received, and their buffers replaced; `forward`: received and sent without access to the frames;
 * `route`: the router's vector path in between (slots_route.h), with frames in the cache, unlike
 * frames that a device's core wrote; `full`: the same with a million routes, and random
 * destinations in them; `ip6`: the same over IPv6, with 160,000 routes; `vlan`: `route` from a VLAN to
 * the same VLAN; `filter` and `verify`: `route` with a filter of 1,000 rules for received packets, or a
 * check of their sources.
 *
 * `mlx5 one`: one frame per send WQE, `many`: as many as fit; `mini`: in addition, received frames
 * have mini CQEs, in sessions of SESSION. Best of ROUNDS, and the median. Usage: slots_bench
 * [DEVICE [KIND]], those that begin with these words; slots_bench -c DEVICE KIND for gate.py: the
 * number of packets that one round of bursts of COUNTED_BURST passes through measured()
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "apps/router/router.h"
#include "runtime/shared.h"
#include "drivers/intel/ring.h"
#include "drivers/ixgbe/spec.h"
#include "drivers/mlx5/ring.h"
#include "drivers/null/null.h"
#include "drivers/virtio_net/ring.h"
#include "abi/layout.h"
#include "tests/bench/slots/slots_route.h"

#define RING 1024
#define FRAME 60
#define BUFFERS 2048
#define PACKETS 20000 /* in one round: short, so that some rounds are not interrupted */
#define ROUNDS 101
#define COUNTED_BURST 32
#define SESSION 64 /* frames whose completions are compressed together */
#define MEMORY_BYTES (16u << 20)

struct core_self self;
struct core_out core_outs[NIC_PORTS_MAX];
uint64_t core_forwards;
struct coredump core_dump_area;

static struct virtio_ring virtio, virtio_rx;
static struct intel_rx ixgbe_rx;
static struct intel_tx ixgbe;
static struct mlx5_rx mlx5_rx;
static struct mlx5_tx mlx5;
static volatile uint64_t doorbell64;
static volatile uint32_t rx_tail;
static struct nic_counters cnt;
static struct nic_queue queue;
static struct nic_slot table[NIC_SLOTS_MAX];
static struct bufpool pool;
static uint32_t stack[BUFFERS];
static volatile uint32_t doorbell;
static bool broken;
static uint8_t *memory;

struct nic_queue *data_queue(unsigned port) { return port == 0 ? &queue : NULL; }
void data_note_stall(unsigned port) { (void)port; }
void data_bind(unsigned port) { (void)port; }

/* A full ring is an error of ours: the device is fast. */
void core_tx_flush(unsigned port)
{
	struct core_out *o = &core_outs[port];
	if (o->n && queue.ops->tx_burst(&queue, o->v, o->n) != o->n)
		abort();
	o->n = 0;
}

void core_tx_flush_all(void)
{
	core_tx_flush(0);
	core_forwards = 0;
}

/* --- the drivers' operations, as in virtio_net.c and the others --- */

static unsigned virtio_open(struct nic_queue *q)
{
	(void)q;
	return virtio_slots_open(&virtio, &pool, &cnt, &broken);
}
static void virtio_put(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n)
{
	(void)q;
	virtio_slots_put(&virtio, first, s, n);
}
static unsigned virtio_free(struct nic_queue *q)
{
	return virtio_slots_free(&virtio, &cnt, &q->broken);
}
static void virtio_send(struct nic_queue *q, unsigned n, uint64_t bytes)
{
	(void)q;
	virtio_slots_send(&virtio, &cnt, n, bytes);
}
static unsigned virtio_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	(void)q;
	return virtio_tx_burst(&virtio, &pool, &cnt, v, n, &broken);
}

static unsigned virtio_receive(struct nic_queue *q, struct pkt *v, unsigned max)
{
	(void)q;
	return virtio_rx_burst(&virtio_rx, &pool, &cnt, v, max, true, &broken);
}

static unsigned ixgbe_open(struct nic_queue *q)
{
	(void)q;
	return intel_slots_open(&ixgbe, &pool, &cnt, &broken);
}
static void ixgbe_put(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n)
{
	(void)q;
	intel_slots_put(&ixgbe, first, s, n);
}
static unsigned ixgbe_free(struct nic_queue *q)
{
	return intel_slots_free(&ixgbe, &cnt, &q->broken);
}
static void ixgbe_send(struct nic_queue *q, unsigned n, uint64_t bytes)
{
	(void)q;
	intel_slots_send(&ixgbe, &cnt, n, bytes);
}
static unsigned ixgbe_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	(void)q;
	return intel_tx_burst(&ixgbe, &pool, &cnt, v, n, &broken);
}

static unsigned ixgbe_receive(struct nic_queue *q, struct pkt *v, unsigned max)
{
	(void)q;
	return intel_rx_burst(&ixgbe_rx, &pool, &cnt, v, max);
}

static unsigned mlx5_open(struct nic_queue *q)
{
	(void)q;
	return mlx5_slots_open(&mlx5, &pool, &cnt, &broken);
}
static void mlx5_put(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n)
{
	(void)q;
	mlx5_slots_put(&mlx5, first, s, n);
}
static unsigned mlx5_free(struct nic_queue *q)
{
	return mlx5_slots_free(&mlx5, &cnt, &q->broken);
}
static void mlx5_send(struct nic_queue *q, unsigned n, uint64_t bytes)
{
	(void)q;
	mlx5_slots_send(&mlx5, &cnt, n, bytes);
}
static unsigned mlx5_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	(void)q;
	return mlx5_tx_burst(&mlx5, &pool, &cnt, v, n, &broken);
}

static unsigned mlx5_receive(struct nic_queue *q, struct pkt *v, unsigned max)
{
	(void)q;
	return mlx5_rx_burst(&mlx5_rx, &pool, &cnt, v, max, &broken);
}

/* --- devices: complete what was sent; n frames arrive --- */

static uint32_t arrived; /* number of frames that have arrived */
static bool routed;      /* frames are to be routed */

static void write_frame(uint32_t buf, uint32_t offset, uint32_t seq)
{
	if (routed)
		route_frame(buf_base(&pool, buf) + offset, seq);
}

static void virtio_start(void)
{
	virtio_ring_init(&virtio, memory, RING);
	virtio.doorbell = &doorbell;
	virtio.used->flags = VIRTQ_USED_F_NO_NOTIFY; /* like a device that polls */
	virtio_ring_init(&virtio_rx, memory + virtio_ring_bytes(RING), RING);
	virtio_rx.doorbell = &doorbell;
	virtio_rx.used->flags = VIRTQ_USED_F_NO_NOTIFY;
	virtio_rx_fill(&virtio_rx, RING, &pool, &cnt);
}

static void virtio_device(void)
{
	uint16_t to = virtio.avail->idx, at = virtio.used->idx;
	for (; at != to; at++)
		virtio.used->ring[at % RING].id = virtio.avail->ring[at % RING];
	__atomic_store_n(&virtio.used->idx, to, __ATOMIC_RELEASE);
}

static void virtio_arrive(unsigned n)
{
	if ((uint16_t)(virtio_rx.avail->idx - arrived) < n)
		abort();
	for (; n; n--, arrived++) {
		uint16_t id = virtio_rx.avail->ring[arrived % RING];
		uint32_t buf = virtio_rx.owner[id];
		*(struct virtio_net_hdr *)(void *)(buf_base(&pool, buf) + BUF_DATA_OFFSET -
		                                   sizeof(struct virtio_net_hdr)) =
			(struct virtio_net_hdr){.num_buffers = 1};
		write_frame(buf, BUF_DATA_OFFSET, arrived);
		virtio_rx.used->ring[arrived % RING] =
			(struct virtq_used_elem){id, FRAME + sizeof(struct virtio_net_hdr)};
	}
	__atomic_store_n(&virtio_rx.used->idx, (uint16_t)arrived, __ATOMIC_RELEASE);
}

static void ixgbe_start(void)
{
	intel_tx_init(&ixgbe, memory, RING);
	ixgbe.tail_reg = &doorbell;
	intel_rx_init(&ixgbe_rx, memory, RING, RING, &pool);
	ixgbe_rx.tail_reg = &rx_tail;
	ixgbe_rx.bad_mask = IXGBE_RXD_RXE;
	ixgbe_rx.csum_mask = INTEL_RXD_L4I | IXGBE_RXD_TCPE | IXGBE_RXD_IPE;
	intel_rx_fill(&ixgbe_rx, &pool, &cnt);
}

static void ixgbe_device(void)
{
	__atomic_store_n(ixgbe.written_head, doorbell, __ATOMIC_RELEASE);
}

static void ixgbe_arrive(unsigned n)
{
	const uint64_t done = INTEL_RXD_DD | INTEL_RXD_EOP | INTEL_RXD_L4I;
	if ((rx_tail - arrived) % RING < n)
		abort();
	for (; n; n--, arrived++) {
		union intel_rx_desc *d = &ixgbe_rx.desc[arrived % RING];
		write_frame(ixgbe_rx.owner[arrived % RING], INTEL_RX_OFFSET, arrived);
		d->wb.info = 0;
		__atomic_store_n(&d->wb.status, done | (uint64_t)FRAME << INTEL_RXD_LENGTH_SHIFT,
		                 __ATOMIC_RELEASE);
	}
}

static uint32_t executed, reported; /* WQEBBs, CQEs */

static void mlx5_make(bool multi, bool compressed)
{
	mlx5_tx_init(&mlx5, memory, MLX5_RING_LOG_SIZE);
	mlx5.doorbell = &doorbell64;
	mlx5.sqn_word = 0x5500;
	mlx5.multi = multi;
	executed = reported = 0;
	mlx5_rx_init(&mlx5_rx, memory, MLX5_RING_LOG_SIZE, &pool, 0);
	mlx5_rx.csum_mask = MLX5_CQE_H_OK;
	if (compressed)
		mlx5_rx_compressed(&mlx5_rx);
	mlx5_rx_fill(&mlx5_rx, &pool, &cnt);
}

static void mlx5_one_start(void) { mlx5_make(false, false); }
static void mlx5_many_start(void) { mlx5_make(true, false); }
static void mlx5_mini_start(void) { mlx5_make(true, true); }

/* Writes a CQE for each WQE that requests one. */
static void mlx5_device(void)
{
	uint32_t to = executed + (uint16_t)(be32_load(mlx5.dbr + MLX5_DBR_SEND) - executed);
	while (executed != to) {
		const uint8_t *wqe = mlx5.wqe + executed % RING * MLX5_WQEBB_BYTES;
		uint8_t *cqe = mlx5.cq.cqe + reported % RING * MLX5_CQE_BYTES;
		if (wqe[MLX5_WQE_FLAGS_BYTE] & MLX5_WQE_CQE) {
			be16_store(cqe + MLX5_CQE_WQE_COUNTER, (uint16_t)executed);
			__atomic_store_n(cqe + MLX5_CQE_OP_OWN, reported++ / RING & 1, __ATOMIC_RELEASE);
		}
		executed += (wqe[7] + MLX5_SEGMENTS_OF_WQEBB - 1) / MLX5_SEGMENTS_OF_WQEBB;
	}
}

static uint8_t *mlx5_place(uint32_t i)
{
	return mlx5_rx.cq.cqe + (arrived + i) % RING * MLX5_CQE_BYTES;
}

/* Writes the CQE of the next frames, with this byte count and format. */
static void mlx5_complete(unsigned frames, uint32_t byte_count, unsigned format)
{
	uint8_t *cqe = mlx5_place(0), owner = arrived / RING & 1;
	raw64_store(cqe + MLX5_CQE_HEADERS, MLX5_CQE_H_OK);
	be32_store(cqe + MLX5_CQE_BYTE_COUNT, byte_count);
	be16_store(cqe + MLX5_CQE_WQE_COUNTER, (uint16_t)arrived);
	__atomic_store_n(cqe + MLX5_CQE_OP_OWN,
	                 (uint8_t)(MLX5_CQE_RESP_SEND << MLX5_CQE_OPCODE_SHIFT | format | owner),
	                 __ATOMIC_RELEASE);
	arrived += frames;
}

/* Writes frames into the buffers of n WQEs, which must be posted. */
static void mlx5_fill(unsigned n)
{
	if ((uint16_t)(be32_load(mlx5_rx.dbr + MLX5_DBR_RECEIVE) - arrived) < n)
		abort();
	for (uint32_t seq = arrived; seq != arrived + n; seq++)
		write_frame(mlx5_rx.owner[seq % RING], BUF_DATA_OFFSET, seq);
}

static void mlx5_arrive(unsigned n)
{
	mlx5_fill(n);
	for (; n; n--)
		mlx5_complete(1, FRAME, 0);
}

static void mlx5_arrive_mini(unsigned n)
{
	mlx5_fill(n);
	for (unsigned k; n; n -= k) {
		k = n < SESSION ? n : SESSION;
		for (unsigned i = 0; k > 1 && i < k; i++)
			be32_store(mlx5_place(i < MLX5_MINI_CQES ? 1 : i - i % MLX5_MINI_CQES) +
			                   i % MLX5_MINI_CQES * MLX5_MINI_CQE_BYTES +
			                   MLX5_MINI_CQE_BYTE_COUNT, FRAME);
		mlx5_complete(k, k > 1 ? k : FRAME, k > 1 ? MLX5_CQE_COMPRESSED : 0);
	}
}

static void no_device(void)
{
}

static const struct nic_ops virtio_ops = {.name = "virtio_net",
                                          .rx_burst = virtio_receive,
                                          .tx_burst = virtio_burst,
                                          .slots_open = virtio_open,
                                          .slots_put = virtio_put,
                                          .slots_free = virtio_free,
                                          .slots_send = virtio_send};
static const struct nic_ops ixgbe_slot_ops = {.name = "ixgbe",
                                              .rx_burst = ixgbe_receive,
                                              .tx_burst = ixgbe_burst,
                                              .slots_open = ixgbe_open,
                                              .slots_put = ixgbe_put,
                                              .slots_free = ixgbe_free,
                                              .slots_send = ixgbe_send};

static const struct nic_ops mlx5_slot_ops = {.name = "mlx5",
                                             .rx_burst = mlx5_receive,
                                             .tx_burst = mlx5_burst,
                                             .slots_open = mlx5_open,
                                             .slots_put = mlx5_put,
                                             .slots_free = mlx5_free,
                                             .slots_send = mlx5_send};

static const char *const kinds[] = {"fixed", "lengths", "tx_burst", "rx_burst", "forward", "route",
                                    "full", "ip6", "vlan", "filter", "verify"};
enum kind { FIXED, LENGTHS, TX_BURST, RX_BURST, FORWARD, ROUTE, FULL, IP6, VLAN, FILTER, VERIFY, KINDS };
static const enum route_table tables[KINDS] = {
	[FULL] = ROUTE_FULL, [IP6] = ROUTE_SIX, [VLAN] = ROUTE_VLAN, [FILTER] = ROUTE_FILTER,
	[VERIFY] = ROUTE_VERIFY};

struct device {
	const char *name;
	enum kind first, last; /* the kinds that the device supports */
	const struct nic_ops *ops;
	void (*start)(void);
	void (*sent)(void);
	void (*arrive)(unsigned n);
};

static const struct device devices[] = {
	{"null", FIXED, FIXED, &null_ops, no_device, no_device, NULL},
	{"virtio_net", FIXED, VERIFY, &virtio_ops, virtio_start, virtio_device, virtio_arrive},
	{"ixgbe", FIXED, VERIFY, &ixgbe_slot_ops, ixgbe_start, ixgbe_device, ixgbe_arrive},
	{"mlx5 one", FIXED, VERIFY, &mlx5_slot_ops, mlx5_one_start, mlx5_device, mlx5_arrive},
	{"mlx5 many", FIXED, VERIFY, &mlx5_slot_ops, mlx5_many_start, mlx5_device, mlx5_arrive},
	{"mlx5 mini", RX_BURST, VERIFY, &mlx5_slot_ops, mlx5_mini_start, mlx5_device,
	 mlx5_arrive_mini},
};

/* --- measuring --- */

static inline uint64_t tsc(void)
{
	__builtin_ia32_lfence();
	uint64_t t = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return t;
}

static uint64_t tsc_cost(void)
{
	uint64_t least = UINT64_MAX;
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t t = tsc(), d = tsc() - t;
		least = d < least ? d : least;
	}
	return least;
}

static void send_slots(enum kind kind, unsigned n, uint32_t *next)
{
	if (core_slots_room(0) < n)
		abort();
	if (kind == LENGTHS) {
		for (unsigned i = 0; i < n; i++, ++*next)
			table[*next % RING].len = FRAME + *next % 3;
		core_slots_changed(0, n);
	}
	core_slots_send(0, n, n * FRAME);
}

/* Runs before the clock is read: makes the packets to send, or lets frames arrive. */
static void prepare(enum kind kind, const struct device *d, struct pkt *v, unsigned n)
{
	for (unsigned i = 0; kind == TX_BURST && i < n; i++) {
		pkt_alloc(&pool, &v[i]);
		v[i].len = FRAME;
	}
	if (kind >= RX_BURST)
		d->arrive(n);
	__builtin_ia32_mfence(); /* stores are visible, as those of another core would be */
}

/* Vectors are adjacent, as in runtime/data.c. */
static unsigned route(unsigned n)
{
	unsigned done = 0, got = 1;
	for (; done < n && got; done += got) {
		struct pkt *v = (struct pkt *)(void *)&core_dump_area.v[core_dump_area.next];
		got = queue.ops->rx_burst(&queue, v, u32_min(n - done, PKT_VECTOR_MAX));
		if (!got)
			break;
		coredump_note(&core_dump_area, got);
		router_app.rx_vector(v, got, 0);
		core_tx_flush_all();
	}
	return done;
}

/* What a figure includes; returns the number of packets. A function of its own for callgrind. */
static __attribute__((noipa)) unsigned measured(enum kind kind, struct pkt *v, unsigned n,
                                                uint32_t *next)
{
	unsigned done = n;
	if (kind < TX_BURST)
		send_slots(kind, n, next);
	if (kind == RX_BURST || kind == FORWARD)
		done = queue.ops->rx_burst(&queue, v, n);
	if (kind >= ROUTE)
		done = route(n);
	if (kind == TX_BURST || kind == FORWARD)
		done = queue.ops->tx_burst(&queue, v, done);
	return done;
}

static double round_of(enum kind kind, unsigned n, const struct device *d, uint64_t overhead)
{
	static struct pkt v[RING];
	static uint32_t next;
	uint64_t sum = 0;
	unsigned bursts = PACKETS / n, done = n;
	for (unsigned b = 0; b < bursts && done == n; b++) {
		prepare(kind, d, v, n);
		uint64_t t = tsc();
		done = measured(kind, v, n, &next);
		sum += tsc() - t - overhead;
		for (unsigned i = 0; kind == RX_BURST && i < done; i++)
			pkt_free(&pool, &v[i]);
		d->sent();
	}
	if (done != n)
		abort();
	return (double)sum / ((double)bursts * n);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static void start(const struct device *d, enum kind kind)
{
	memset(memory, 0, 1u << 20);
	bufpool_init(&pool, memory + (4u << 20), stack, BUFFERS, BUF_STRIDE_STANDARD);
	queue = (struct nic_queue){.ops = d->ops, .pool = &pool, .cnt = &cnt};
	arrived = 0;
	routed = kind >= ROUTE;
	route_table(tables[kind]);
	d->start();
	for (unsigned i = 0; i < RING; i++) /* a generator's frames, adjacent in memory */
		table[i] = (struct nic_slot){memory + (2u << 20) + 128 * i + 64, FRAME};
	if (kind < TX_BURST && core_slots_open(0, table) != RING)
		abort();
}

static void measure(const struct device *d, enum kind kind)
{
	static const unsigned bursts[] = {1, 4, 16, 32, 64, 256, 512};
	uint64_t overhead = tsc_cost();
	printf("%-10s %-8s", d->name, kinds[kind]);
	for (unsigned b = 0; b < ARRAY_LEN(bursts); b++) {
		double r[ROUNDS];
		start(d, kind);
		for (unsigned i = 0; i < ROUNDS; i++)
			r[i] = round_of(kind, bursts[b], d, overhead);
		qsort(r, ROUNDS, sizeof r[0], by_value);
		printf("  %6.2f (%6.2f)", r[0], r[ROUNDS / 2]);
	}
	printf("\n");
}

static bool begins(const char *word, const char *with)
{
	return strncmp(word, with, strlen(with)) == 0;
}

/* One round for callgrind. */
static void one_round(const struct device *d, enum kind kind)
{
	start(d, kind);
	round_of(kind, COUNTED_BURST, d, 0);
	printf("counted %u\n", PACKETS / COUNTED_BURST * COUNTED_BURST);
}

int main(int argc, char **argv)
{
	const bool counted = argc > 1 && strcmp(argv[1], "-c") == 0;
	argc -= counted, argv += counted;
	const char *wanted = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";
	memory = mmap((void *)(uintptr_t)MEMORY_WINDOW, MEMORY_BYTES, PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	madvise(memory, MEMORY_BYTES, MADV_HUGEPAGE); /* like a core's packet memory */
	memset(memory, 0, MEMORY_BYTES);
	route_start(counted ? 100000 : 1000000, counted ? 20000 : 160000);
	if (!counted)
		printf("%-19s  cycles a packet, best (median), by packets a doorbell: 1 4 16 32 64 256 512\n",
	       "");
	for (enum kind kind = FIXED; kind < KINDS; kind++)
		for (const struct device *d = devices; d < devices + ARRAY_LEN(devices); d++)
			if (kind >= d->first && kind <= d->last && begins(d->name, wanted) &&
			    begins(kinds[kind], what))
				(counted ? one_round : measure)(d, kind);
	return 0;
}
