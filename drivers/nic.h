/*
 * The contract between NIC drivers and everybody else.
 *
 * A NIC has two halves, because a port is shared and a queue is not (ARCHITECTURE.md, invariants 1, 2):
 *
 *   struct nic        the device: control core only. probe, start, link, stats, stop. May wait,
 *                     always with a deadline.
 *   struct nic_queue  one receive and one transmit queue: the one data core that polls it.
 *                     attach, rx_burst, tx_burst. Never waits, never enters the kernel, reads
 *                     no device register.
 *
 * They meet in `struct nic_shared`, plain data that the control core fills and publishes before
 * data cores attach, and never changes while any is attached.
 *
 * Life: match → probe → (start → attach by each data core → … → detach by each → stop)*.
 * stop gives all buffers back by forgetting them: the data cores rebuild their pools before
 * they attach again.
 *
 * To add a NIC: fill in one `struct nic_ops`, add it to nic_drivers[] in drivers/nic.c.
 */
#ifndef DRIVERS_NIC_H
#define DRIVERS_NIC_H

#include "hal/clock.h"
#include "hal/pci.h"
#include "lib/pkt.h"
#include "lib/types.h"

#define NIC_PORTS_MAX 16
#define NIC_PAIRS_MAX 64
#define NIC_DMA_BYTES 16384 /* page aligned */
#define NIC_FRAME_OVERHEAD 18 /* of a frame above its IP packet: Ethernet header, one VLAN tag */
#define NIC_MTU_MAX (BUF_STRIDE_JUMBO - BUF_DATA_OFFSET - NIC_FRAME_OVERHEAD) /* fits a buffer */

enum nic_features {
	NIC_RX_CSUM = 1, /* receives PKT_CSUM_PARTIAL / PKT_CSUM_OK */
	NIC_TX_CSUM = 2, /* sends PKT_CSUM_PARTIAL */
	NIC_LINK = 4,    /* reports link state; otherwise the link counts as up */
	NIC_RSS = 8,     /* spreads flows over the queues by Toeplitz hash */
	NIC_TSO = 16,    /* sends PKT_TSO */
	NIC_VLAN = 32,   /* takes tags out of received frames and puts them into sent ones: PKT_VLAN */
};

/* The key of Microsoft's RSS documents, first byte first: a flow has the same hash on every card,
 * and the one that other tools compute. */
#define NIC_RSS_KEY_BYTES 40
#define NIC_RSS_KEY \
	{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, \
	 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, \
	 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa}

/*
 * What a queue pair has counted. Written by the data core that polls it, read by anybody.
 * A received packet is counted when rx_burst hands it up, a sent one when tx_burst takes it.
 */
struct nic_counters {
	uint64_t rx_pkts;
	uint64_t rx_bytes;
	uint64_t tx_pkts;
	uint64_t tx_bytes;
	uint64_t tx_full;       /* times tx_burst could not take all packets: ring full */
	uint64_t rx_no_buffer;  /* refills that found the pool empty */
	uint64_t rx_bad_len;    /* device reported a length that the buffer cannot have */
	uint64_t rx_bad_desc;   /* device returned a descriptor that breaks the rules, or lost one */
	uint64_t tx_bad_desc;
	uint64_t rx_oversize;   /* frame spread over several buffers: dropped */
	uint64_t mmio_reads;    /* device registers read by this queue: 0 by invariant 4 */
	uint64_t mmio_writes;   /* doorbells written */
	uint64_t irq_arms;      /* times interrupts were asked for before sleeping */
};

/* What the control core publishes of a started port; read-only for data cores. */
struct nic_shared {
	uint8_t driver;      /* index into nic_drivers[]; the runtime's */
	uint8_t pairs;       /* queue pairs in use */
	uint8_t mac[6];
	uint32_t features;   /* enum nic_features, as negotiated */
	uint32_t mtu_max;    /* largest MTU the device takes, bytes */
	uint64_t priv[16 + 2 * NIC_PAIRS_MAX]; /* the driver's own: ring layout, doorbells */
};

/* The device half. Fields are the driver's to fill, everybody's (on the control core) to read. */
struct nic {
	const struct nic_ops *ops;
	const struct pci_dev *pci;
	unsigned pairs_max;
	uint32_t features;
	uint32_t mtu_max;
	uint8_t mac[6];
	uint64_t mmio_reads;  /* control half only: initialisation, link, stats */
	uint64_t mmio_writes;
	const char *error;    /* why the last call failed, for a person; static text */
	const struct clock *clock; /* for deadlines; set by the caller before probe */
	void *dma;            /* NIC_DMA_BYTES of zeroed DMA memory for the device half's own use, set
	                         by the caller before probe (control queues, mailboxes) */
	uint64_t priv[64];
};

/* The point in time `us` from now, and whether it is past: what ends every wait. */
static inline uint64_t nic_deadline(const struct nic *nic, uint32_t us)
{
	return clock_tsc() + clock_ticks(nic->clock, us * 1000ull);
}

static inline bool nic_past(uint64_t deadline)
{
	return (int64_t)(clock_tsc() - deadline) >= 0;
}

/* The queue half. */
struct nic_queue {
	const struct nic_ops *ops;
	struct bufpool *pool;
	struct nic_counters *cnt;
	uint8_t port; /* set by the caller: goes into every received packet */
	uint16_t burst; /* set by the caller: most packets he will ask for at once */
	bool broken; /* the device broke the protocol: polled no more, reported by the runtime */
	uint64_t priv[40];
};

struct nic_link {
	bool up;
	bool gone;     /* the device answers no more: pulled out, or dead */
	uint32_t mbps; /* 0: unknown */
};

/*
 * What the device itself has counted since start, summed over its queues: what drivers cannot see
 * because it never reached a ring. Written and read by the control core.
 */
struct nic_stats {
	uint64_t rx_missed;      /* no room in the device: the rings were not emptied fast enough */
	uint64_t rx_no_desc;     /* no descriptor in the ring of the frame's queue */
	uint64_t rx_crc;         /* FCS wrong */
	uint64_t rx_length;      /* too short, too long, or length field wrong */
	uint64_t rx_error;       /* any other receive error of MAC or PHY */
	uint64_t rx_filtered;    /* good frames for other stations */
	uint64_t tx_error;       /* frames given up */
};

/* What a port is to be started with. */
struct nic_config {
	unsigned pairs;
	uint32_t features;  /* of nic->features, those wanted */
	uint32_t buf_bytes; /* stride of the data cores' buffers: BUF_STRIDE_STANDARD or _JUMBO */
	const struct nic_ring_mem *mem; /* one for each pair */
};

/* Memory for the rings of one pair: in the arena of the data core that will poll it. */
struct nic_ring_mem {
	void *mem; /* page aligned, zeroed by the control core or the kernel before start */
	size_t bytes;
	unsigned core; /* whose interrupts the pair's MSI-X vector shall wake */
};

struct nic_ops {
	const char *name;

	/* True when this driver is for the device. Looks at IDs only. */
	bool (*match)(const struct pci_dev *dev);

	/* Resets the device and learns what it can do. E_TIMEOUT, E_DEVICE, E_NOTSUP; nic->error. */
	int (*probe)(struct nic *nic, const struct pci_dev *dev);

	/* Ring memory that one pair needs, bytes; the runtime rounds it up to pages. After probe. */
	size_t (*ring_bytes)(const struct nic *nic);

	/*
	 * Brings the device up with config->pairs queue pairs; fills `shared`, which is zero but for
	 * `driver`.
	 * The device may touch the rings from here on, buffers only once attached cores post them.
	 * On error the device is reset and `shared` is meaningless.
	 */
	int (*start)(struct nic *nic, const struct nic_config *config, struct nic_shared *shared);

	/* Stops all DMA; when it returns no memory is touched any more. */
	void (*stop)(struct nic *nic);

	/* Link state now; also acknowledges the device's link interrupt. Does not wait. */
	void (*link)(struct nic *nic, struct nic_link *out);

	/* Adds what the device has counted since the last call to *sum. NULL: it counts nothing. */
	void (*stats)(struct nic *nic, struct nic_stats *sum);

	/*
	 * Data core: takes over pair `pair`, whose rings lie in mem, and posts receive buffers
	 * from q->pool (q->pool, q->cnt and q->port are set by the caller). Buffers in the rings are the
	 * driver's until detach-by-stop.
	 */
	int (*attach)(struct nic_queue *q, const struct nic_shared *shared, unsigned pair, void *mem);

	/*
	 * Up to `max` (<= PKT_VECTOR_MAX) received packets into v; their buffers pass to the caller.
	 * Refills the ring.
	 */
	unsigned (*rx_burst)(struct nic_queue *q, struct pkt *v, unsigned max);

	/*
	 * Queues the first k <= n packets of v for sending and rings the doorbell at most once;
	 * returns k. Those k buffers pass to the driver, which frees them to q->pool when sent;
	 * the others stay the caller's. With n = 0 it only reclaims sent buffers.
	 */
	unsigned (*tx_burst)(struct nic_queue *q, const struct pkt *v, unsigned n);

	/*
	 * Asks for an interrupt at the next received packet (arm = true) or for none. Returns true
	 * when packets are already waiting, so that sleeping would lose them.
	 */
	bool (*rx_interrupt)(struct nic_queue *q, bool arm);
};

extern const struct nic_ops *const nic_drivers[];
extern const unsigned nic_driver_count;

#endif
