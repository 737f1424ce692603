/*
 * The contract between NIC drivers and the runtime (core/ports.c, core/data.c), which calls them.
 * One PCI function is one port; a null port has none (PCI_VENDOR_NONE).
 *
 * A NIC has two halves, because a port is shared and a queue is not (ARCHITECTURE.md, Invariants):
 *
 *   struct nic        the device: control core only. May wait, always with a deadline (nic_past),
 *                     and enter the kernel (hal/pci.h).
 *   struct nic_queue  one receive and one transmit queue: the one data core that polls it. Never
 *                     waits, never enters the kernel, reads no device register.
 *
 * The calls, in their order. Those of one half never overlap; a data core's run beside the control
 * core's and beside those of the other data cores.
 *
 *   match         control  for each PCI function
 *   probe         control  once, if match said so. After an error: no other call, ever
 *   stop          control  when no data core has a queue: before each start, so also before the
 *                          first one and after one that failed
 *   rx_left       control  after stop, and after pair_stop, of each pair
 *   ring_bytes    control  before the data cores zero so much memory for each pair
 *   start         control  after they did. After an error the next call is stop
 *   attach        data     by each core that polls a pair
 *   rx_burst, tx_burst, rx_interrupt
 *                 data     until the core lets go of the pair, of which no call tells
 *   mend          data     of a broken queue, in place of the others
 *   slots_open    data     after attach: from its success on slots_put, slot_stamp, slots_free and
 *                          slots_send take the place of tx_burst
 *   link          control  between start and stop: at once, every 100 ms while it is awake, and
 *                          after nic_link.again_us
 *   rate, time_start, time_now, time_stamps
 *                 control  between start and stop
 *   stats         control  between start and stop: every few seconds, and before stop
 *   spread, pair_stop, pair_start
 *                 control  between start and stop, in this order, for a pair whose core has come up
 *                          anew; attach by that core, and spread, follow
 *
 * From stop on it begins again, for all ports together: another buffer size, a core that came up
 * anew where a driver has no pair_stop. Buffers in the rings need not be given back: data cores make
 * new pools.
 *
 * What a driver can rely on, and what it must not:
 *
 * 1. Each core has a copy of its own of every static variable (invariant 1). Nothing that the
 *    control core stored there is seen by a data core: what the queue half has to know goes into
 *    nic_shared.priv. Addresses of BARs, ring memory and constants are the same on all cores.
 * 2. Ring memory lies in the arena of the data core that will poll it, where the control core has
 *    no access: start gives its address to the device and leaves it alone. (With one CPU it would
 *    not fault. With two it does.) nic->dma, the other way round, is the control core's.
 * 3. A buffer has one owner: pool, ring, or whoever holds the struct pkt (lib/pkt.h); or, counted,
 *    several holders. A frame lies in its buffer from BUF_FRAME_LEAST or later; the bytes between
 *    pkt_meta and the frame, and those behind it (in a chain to BUF_FRAGS_OFFSET), are for the
 *    driver to write, while it has the packet. dma_addr() is what the device is told.
 * 4. What the device writes is a lie until checked. Bad frames are counted and dropped; a device
 *    after which a queue cannot go on sets q->broken: nothing but mend is called of that queue any
 *    more until attach, and when that does not help the runtime says so on the console. Nothing
 *    here logs or asserts for a device.
 *
 * To add a NIC: fill in one `struct nic_ops`, add it to nic_drivers[] in drivers/nic.c; the first
 * whose match says so has the device. The smallest driver is drivers/null/, the smallest of a
 * device drivers/virtio_net/.
 */
#ifndef DRIVERS_NIC_H
#define DRIVERS_NIC_H

#include "hal/clock.h"
#include "hal/pci.h"
#include "lib/number.h"
#include "lib/pkt.h"
#include "lib/types.h"

/* pci_dev.device of a null port. */
enum nic_null { NIC_NULL_SOURCE, NIC_NULL_SINK };

#define NIC_PORTS_MAX 16
#define NIC_SLOTS_MAX 1024 /* of a transmit ring */
#define NIC_SLOT_ROOM 12   /* zero bytes before a slot's frame, which the device may read */
#define NIC_PAIRS_MAX 64
#define NIC_DMA_BYTES 16384
#define NIC_FRAME_OVERHEAD 18 /* of a frame above its IP packet: Ethernet header, one VLAN tag */
#define NIC_MTU_MAX (BUF_STRIDE_JUMBO - BUF_DATA_OFFSET - NIC_FRAME_OVERHEAD) /* fits a buffer */

enum nic_features {
	NIC_RX_CSUM = 1, /* receives PKT_CSUM_PARTIAL / PKT_CSUM_OK */
	NIC_TX_CSUM = 2, /* the device completes PKT_CSUM_PARTIAL; without it the driver does */
	NIC_LINK = 4,    /* reports link state; otherwise the driver says up */
	NIC_RSS = 8,     /* spreads flows over the queues by Toeplitz hash, with NIC_RSS_KEY */
	NIC_TSO4 = 16,   /* sends PKT_TSO of IPv4, */
	NIC_VLAN = 32,   /* takes tags out of received frames and puts them into sent ones: PKT_VLAN */
	NIC_SG = 64,     /* sends PKT_CHAIN */
	NIC_USO = 128,   /* sends PKT_USO */
	NIC_TSO6 = 256,  /* and PKT_TSO of IPv6 */
	NIC_TSO = NIC_TSO4 | NIC_TSO6,
};

/* The key of Microsoft's RSS documents, first byte first: a flow has the same hash on every card,
 * and the one that other tools compute. */
#define NIC_RSS_KEY_BYTES 40
#define NIC_RSS_KEY \
	{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, \
	 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, \
	 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa}

/*
 * What a queue pair has counted since boot. Written by the data core that polls it, read by
 * anybody. The first four must be exact: the sum of all fates is compared with rx_pkts. Of the
 * others a driver counts those that can happen to it. To add one: a row in control/show.c shows it.
 */
struct nic_counters {
	uint64_t rx_pkts;       /* handed up by rx_burst */
	uint64_t rx_bytes;      /* of these frames, FCS not counted */
	uint64_t tx_pkts;       /* taken by tx_burst */
	uint64_t tx_bytes;
	uint64_t tx_full;       /* times tx_burst could not take all packets: ring full */
	uint64_t tx_dropped;    /* packets that no ring took in time: counted by the runtime */
	uint64_t rx_no_buffer;  /* refills that found the pool empty */
	uint64_t rx_bad_len;    /* device reported a length that the buffer cannot have */
	uint64_t rx_bad_desc;   /* device returned a descriptor that breaks the rules, or lost one */
	uint64_t tx_bad_desc;
	uint64_t rx_oversize;   /* frame spread over several buffers: dropped */
	uint64_t rx_queue_errors; /* times the device has put the queue into its error state: frames */
	uint64_t tx_queue_errors; /* that it had then are lost (nic_ops.mend) */
	uint64_t mmio_reads;    /* device registers read by this queue: 0 by invariant 4 */
	uint64_t mmio_writes;   /* doorbells and tails written, also to ask for an interrupt */
	uint64_t irq_arms;      /* times interrupts were asked for before sleeping */
	uint64_t rx_place;      /* no counter, but as long-lived: where the driver stands in the receive
	                           ring, for nic_ops.rx_left, written with rx_pkts. 0 when the ring's
	                           memory is zeroed */
};

/*
 * What the control core publishes of a started port; read-only for data cores. The runtime does
 * not change it while one has a queue, nor move it; the driver does only to tell queue halves what
 * became of their queue (nic_ops.mend). All but `driver` is zero when start is called, and start's
 * to fill.
 */
struct nic_shared {
	uint8_t driver;      /* index into nic_drivers[]; the runtime's */
	uint8_t pairs;       /* queue pairs in use; 0: not started */
	uint32_t features;   /* enum nic_features, as negotiated */
	uint64_t priv[16 + 2 * NIC_PAIRS_MAX]; /* the driver's own: ring layout, doorbells */
};

/* The device half. Everybody on the control core may read it. */
struct nic {
	/* filled in by the runtime before probe; the rest is zero then */
	const struct nic_ops *ops;
	const struct pci_dev *pci;
	const struct clock *clock; /* for nic_deadline */
	void *dma;            /* NIC_DMA_BYTES, zeroed, page aligned, for the device half's own DMA
	                         (control queues, mailboxes) */
	void *(*dma_more)(size_t bytes); /* more of the same, and for ever; NULL: not so much left */
	void (*trace)(const char *line); /* NULL, or who wants to see, line by line, what a firmware
	                                    is asked and answers */
	/* by probe */
	unsigned pairs_max;   /* 1 to NIC_PAIRS_MAX; the runtime uses as many as all NICs have */
	uint32_t features;    /* enum nic_features: what it can do */
	uint32_t mtu_max;     /* bytes of IP packet, at most NIC_MTU_MAX */
	uint8_t mac[6];       /* first byte of the address first; unicast */
	/* at any time */
	uint64_t mmio_reads;  /* of the device half: every access is counted */
	uint64_t mmio_writes;
	const char *error;    /* why the last call failed, for a person; static text or NULL */
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

/* The queue half: a data core's own memory. */
struct nic_queue {
	/* filled in by the runtime before attach; the rest is zero then */
	const struct nic_ops *ops;
	struct bufpool *pool;     /* of this core, for all its ports */
	struct nic_counters *cnt; /* not zeroed: they go on from the last attach */
	uint8_t port;             /* goes into every received packet */
	uint32_t rx_buffers;      /* most that may wait for frames in its ring, nic_rx_share(): attach
	                           * makes it less where the ring has fewer places */
	/* by the driver */
	bool broken; /* the device broke the protocol (rule 4) */
	const char *error; /* why mend has given up, for a person; static text or NULL: rule 4 */
	uint32_t slot_len_max; /* longest frame that a slot may have, FCS not counted; 0: any */
	uint64_t priv[40];
};

/* A word of nic_queue.priv, of which the report of a failed program tells: 1, 2, 4 or 8 bytes. */
struct nic_word {
	const char *name; /* NULL: behind the last */
	uint16_t offset;  /* from the start of priv */
	uint16_t bytes;
};
#define NIC_WORD(type, field) {#field, offsetof(type, field), sizeof(((type *)0)->field)}

/* The first pair from `from` on, round robin, of those in `pairs`, a bit each and at least one: what
 * nic_ops.spread fills a table with. */
static inline unsigned nic_next_pair(uint64_t pairs, unsigned from)
{
	from %= NIC_PAIRS_MAX;
	uint64_t above = pairs >> from;
	return above ? from + (unsigned)__builtin_ctzll(above) : (unsigned)__builtin_ctzll(pairs);
}

#define NIC_RX_BUFFERS_MIN 8 /* of a ring */

/*
 * Each receive ring's part of a core's buffers, of which all rings together have half: the others
 * are for what is processed, waits to be sent, or is made here. Else, in a machine of many ports
 * and little memory, the rings would take all of them, and nothing of our own could be sent.
 */
static inline uint32_t nic_rx_share(uint32_t buffers, unsigned ports)
{
	return u32_max(buffers / 2 / ports, NIC_RX_BUFFERS_MIN);
}

/* A frame that a slot of the transmit ring sends (nic_ops.slots_put). */
struct nic_slot {
	uint8_t *data; /* first byte, in memory that dma_addr() knows, NIC_SLOT_ROOM zeros before it */
	uint32_t len;  /* bytes, FCS not counted: 60, of tags as many more, or more */
};

/* Times that the device has taken, each told once (nic_ops.time_stamps). */
struct nic_stamps {
	bool sent, received;   /* there is one */
	uint64_t sent_ns;      /* of a frame with nic_ops.slot_stamp, by the device's clock */
	uint64_t received_ns;  /* of a PTP event message, */
	uint16_t number;       /* and its sequenceId */
};

struct nic_link {
	bool up;
	bool gone;     /* the device answers no more: pulled out, or dead. It is not asked again */
	uint32_t mbps; /* 0: unknown */
	uint32_t again_us; /* look again by then also if the core sleeps; 0: an interrupt tells */
	const char *why; /* gone: what tells so. Else: what has failed since the last look and is done
	                  * without. For a person; NULL: nothing to say */
};

/*
 * What the device itself has counted, summed over its queues: what drivers cannot see because it
 * never reached a ring. Written and read by the control core.
 */
struct nic_stats {
	uint64_t rx_missed;      /* no room in the device: the rings were not emptied fast enough */
	uint64_t rx_no_desc;     /* no descriptor in the ring of the frame's queue */
	uint64_t rx_crc;         /* FCS wrong */
	uint64_t rx_length;      /* too short, too long, or length field wrong */
	uint64_t rx_error;       /* any other receive error of MAC or PHY */
	uint64_t rx_filtered;    /* good frames for other stations */
	uint64_t tx_error;       /* frames given up */
	uint64_t queue_errors;   /* queues that stand still, of which no completion tells */
	uint64_t rx_unread;      /* placed in rings that were stopped before anybody read them: the
	                            runtime counts these (nic_ops.rx_left) */
};

/* Memory for the rings of one pair, of the data core that will poll it (rule 2). */
struct nic_ring_mem {
	void *mem; /* page aligned, zeroed by that core */
	size_t bytes; /* ring_bytes or more */
	unsigned core; /* whose sleep the pair's MSI-X vector shall end: pci_msix_route */
	const struct nic_counters *cnt; /* that core's of this port, until stop: to be looked at */
};

/* What a port is to be started with; valid during the call. */
struct nic_config {
	unsigned pairs;     /* 1 to nic->pairs_max */
	uint32_t features;  /* of nic->features, those wanted */
	uint32_t buf_bytes; /* stride of the data cores' buffers: BUF_STRIDE_STANDARD or _JUMBO */
	const struct nic_ring_mem *mem; /* one for each pair */
};

/* None is NULL unless it says so. An int is E_OK or a negative enum error, with nic->error set. */
struct nic_ops {
	const char *name; /* as the console shows it */
	const struct nic_word *words; /* where its rings stand; NULL: it has none */

	/* True when this driver is for the device. Looks at IDs only. */
	bool (*match)(const struct pci_dev *dev);

	/* Resets the device and learns what it can do; leaves it without DMA. dev is nic->pci.
	 * E_TIMEOUT, E_DEVICE, E_NOTSUP. */
	int (*probe)(struct nic *nic, const struct pci_dev *dev);

	/* Ring memory that one pair needs, bytes; the runtime rounds it up to pages. */
	size_t (*ring_bytes)(const struct nic *nic);

	/*
	 * Brings the device up with config->pairs queue pairs; fills `shared`. The device may touch
	 * the rings from here on, buffers only once attached cores post them. Routes an MSI-X
	 * vector of each pair to its core, and one for the link to core 0; none when the device has
	 * too few. After an error the device is reset, and `shared` meaningless.
	 */
	int (*start)(struct nic *nic, const struct nic_config *config, struct nic_shared *shared);

	/* Stops all DMA; when it returns no memory is touched any more. No harm if nothing runs. */
	void (*stop)(struct nic *nic);

	/* Frames that the device has placed in the receive ring of a pair that is stopped, and that the
	 * queue half has not taken: mem is what the pair was started with, place the last rx_place of
	 * its core, which may have failed since. Looks at nothing else: `nic` may have been found anew
	 * meanwhile. What the device has written there may be anything; never more than the ring
	 * holds. NULL: there are no rings. */
	unsigned (*rx_left)(const struct nic_shared *shared, unsigned pair, const void *mem,
	                    uint64_t place);

	/* Link state now; also acknowledges the device's link interrupt. Does not wait. */
	void (*link)(struct nic *nic, struct nic_link *out);

	/* Adds what the device has counted since the last call to *sum. Does not wait. May be NULL:
	 * it counts nothing. */
	void (*stats)(struct nic *nic, struct nic_stats *sum);

	/*
	 * One pair alone, while others are polled; both NULL: it cannot be done. After an error the
	 * next call is stop.
	 *
	 * pair_stop ends all DMA of the pair: when it returns none of its rings and buffers is touched
	 * any more. What was to be sent is sent, or lost. What is received for the pair from then on
	 * waits in the device, or is lost, without harm to the other pairs. E_AGAIN: not now.
	 * pair_start does for the pair what start did: `config` and `shared` are those of the start, but
	 * that the ring memory, zeroed again, may have moved, and that `shared` may be told something
	 * new of this pair.
	 */
	int (*pair_stop)(struct nic *nic, unsigned pair);
	int (*pair_start)(struct nic *nic, const struct nic_config *config, unsigned pair,
	                  struct nic_shared *shared);

	/* Spreads what is received over these pairs alone, a bit each, of those that were started; at
	 * least one. All of them is how it is after start. May be NULL, also with pair_stop: it cannot
	 * choose. */
	int (*spread)(struct nic *nic, uint64_t pairs);

	/*
	 * Takes over pair `pair`, whose rings lie in mem, and posts receive buffers from q->pool, as
	 * many as the ring, q->rx_buffers and the pool have; never more than the former two. After
	 * an error the queue counts as broken.
	 */
	int (*attach)(struct nic_queue *q, const struct nic_shared *shared, unsigned pair, void *mem);

	/*
	 * Up to `max` (1 to PKT_VECTOR_MAX) received packets into v, all fields set, 1 byte or
	 * more; their buffers pass to the caller. Refills the ring.
	 */
	unsigned (*rx_burst)(struct nic_queue *q, struct pkt *v, unsigned max);

	/*
	 * Queues the first k <= n packets of v for sending and rings the doorbell at most once;
	 * returns k. Those k buffers pass to the driver, which frees them to q->pool when sent; the
	 * others stay the caller's, to be offered again. n may be more than a vector, or more than
	 * the ring. With n = 0 (v may be NULL) it only reclaims sent buffers: nobody else does, so
	 * every call does.
	 *
	 * Frames may be shorter than Ethernet's 60 bytes: where there is a wire, device or driver
	 * pads them. Any packet may have PKT_CSUM_PARTIAL: what the device cannot complete, the
	 * driver does by pkt_csum_complete. PKT_TSO (of either version), PKT_USO, PKT_VLAN and
	 * PKT_CHAIN come only if shared->features had them; PKT_SHARED may come always, and its
	 * buffer is given back by buf_put, as are those of fragments. A packet is taken whole or
	 * not at all.
	 *
	 * All headers of a chain lie in its first piece. The driver may change them (checksums, and
	 * lengths where the device wants them so), and writes before them what is the device's: who
	 * keeps a PKT_SHARED buffer to send it again writes them anew, and does so when no ring has
	 * it any more, which pkt_meta.refs tells. The driver leaves fragments alone.
	 */
	unsigned (*tx_burst)(struct nic_queue *q, const struct pkt *v, unsigned n);

	/*
	 * The queue is broken: what the device half has to do about it is done in `link`, which is
	 * called more often meanwhile, as it learns from the counters. True: it is well again, all
	 * buffers have their owners, and q->broken is false; or it is not so far, and the call comes
	 * again in the next turn. False: it stays broken until attach. NULL: they all do.
	 */
	bool (*mend)(struct nic_queue *q);

	/*
	 * The core is about to sleep (arm = true) and wants an interrupt at the next received
	 * packet, or is awake again and wants none. True, after arming: it must not sleep, because
	 * packets wait already (look once more when the interrupt is armed, or one is lost in
	 * between) or because no interrupt would come.
	 */
	bool (*rx_interrupt)(struct nic_queue *q, bool arm);

	/*
	 * Sending by slots: for who sends prepared frames again and again (a generator). A slot is a
	 * place of the transmit ring with a descriptor that stays as it was put, so that sending it
	 * once more costs no store, and no look at the packet. Slots are sent in order, each after the
	 * one before, modulo the number that slots_open returns. Frames are complete (checksums,
	 * length, tags), in one piece, and the caller's: a slot that was sent, with its frame and
	 * NIC_SLOT_ROOM zero bytes before it, is the device's to read until slots_free has passed over
	 * it. The driver touches neither.
	 *
	 * All are NULL where a driver has no slots; slot_stamp also where the device has no clock.
	 */

	/*
	 * Takes back what tx_burst has sent. Returns 0 while the device has some of it yet; then the
	 * number of slots, a power of two up to NIC_SLOTS_MAX, and tx_burst is called no more until
	 * attach. The first slot to be sent is slot 0. None has a frame.
	 */
	unsigned (*slots_open)(struct nic_queue *q);

	/* These frames are what slots first, first + 1, ... send from now on: n of them, each our own
	 * as slots_free has it. */
	void (*slots_put)(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n);

	/* What was put into this slot has the time noted when it is sent, until another is put there. */
	void (*slot_stamp)(struct nic_queue *q, unsigned slot);

	/*
	 * How many slots, from the next one to be sent on, are ours. A ring may keep a slot back, and
	 * a driver may say fewer than there are: while the device has more than half of them, so that
	 * who sends all of them sends them in good portions; and, more than half, in the first call
	 * after slots_send, to spare a look at what the device writes. When the device has sent
	 * everything the number is what it was right after slots_open, in the second call at the
	 * latest, without anything more being sent.
	 */
	unsigned (*slots_free)(struct nic_queue *q);

	/* Sends the next n of them, n at most what slots_free said, `bytes` in all: both are what is
	 * counted in tx_pkts and tx_bytes. One doorbell at most; n = 0: none. */
	void (*slots_send)(struct nic_queue *q, unsigned n, uint64_t bytes);

	/*
	 * The device itself limits what pair `pair` sends to `kbps` kilobits a second, spaced evenly,
	 * counting frames and their FCS, neither preamble nor gap; 0: no limit, as after start. What
	 * it can do is coarser: *set is what is in force, kilobits a second, at or below the wish.
	 * E_INVAL: it cannot go so slowly, or the link is no faster. E_AGAIN: the link is down, and the
	 * limit is a part of its speed. To be said anew when that changes. NULL: it has no limiter.
	 */
	int (*rate)(struct nic *nic, unsigned pair, uint32_t kbps, uint32_t *set);

	/*
	 * The device's own clock, and the times at which frames have passed its MAC by it: of sent ones
	 * that have slot_stamp, of received ones that are event messages of PTP (IEEE 1588-2008; EtherType
	 * 0x88f7, or UDP to port 319). The device keeps one time each way until time_stamps takes it;
	 * frames meanwhile have none, and one may be missed under load.
	 *
	 * time_start sets the clock to 0. E_AGAIN: the link is down. To be said anew when its speed
	 * changes. time_now is in ns; it takes as long as reading two registers does, so two clocks are
	 * compared by reading one before and after the other. All NULL: it has none.
	 */
	int (*time_start)(struct nic *nic);
	uint64_t (*time_now)(struct nic *nic);
	void (*time_stamps)(struct nic *nic, struct nic_stamps *out);
};

extern const struct nic_ops *const nic_drivers[];
extern const unsigned nic_driver_count;

#endif
