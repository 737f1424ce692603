/*
 * The contract between NIC drivers and the runtime (runtime/ports.c, runtime/data.c), which calls them.
 * One PCI function is one port; a null port has no PCI function (PCI_VENDOR_NONE).
 *
 * A NIC has two halves, because a port is shared and a queue is not (ARCHITECTURE.md, Invariants):
 *
 *   struct nic        the device: control core only. May wait, always with a deadline (nic_past),
 *                     and enter the kernel (abi/pci.h).
 *   struct nic_queue  one receive and one transmit queue: only the data core that polls it. Never
 *                     waits, never enters the kernel, reads no device register.
 *
 * The calls, in order. Calls of one half never overlap. The calls of a data core run concurrently
 * with those of the control core and of the other data cores.
 *
 *   match         control  for each PCI function
 *   probe         control  once, if match returned true. After an error there is no further call
 *   ready         control  after probe or start has returned E_AGAIN, every 100 ms, until it returns
 *                          something else; after E_OK the call that had returned E_AGAIN follows
 *   stop          control  when no data core has a queue: before each start, so also before the
 *                          first one and after one that failed
 *   park          control  in place of stop, between start and start
 *   rx_left       control  after stop, park and pair_stop, for each pair
 *   tx_left       control  for each pair: while it runs and the link is down, and after stop or park
 *   ring_bytes    control  before the data cores zero that much memory for each pair
 *   start         control  after they have zeroed it. After an error the next call is stop
 *   attach        data     by each core that polls a pair
 *   rx_burst, tx_burst, tx_pending, rx_interrupt
 *                 data     until the core releases the pair, which no call announces
 *   mend          data     on a broken queue, in place of the others
 *   release       data     after stop or park, by a core whose buffers stay in use; attach follows
 *   slots_open    data     after attach: once it has succeeded, slots_put, slot_stamp, slots_free
 *                          and slots_send replace tx_burst
 *   link          control  between start and stop: at once, every 100 ms while the core is awake,
 *                          and after nic_link.again_us
 *   rate, time_start, time_now, time_stamps
 *                 control  between start and stop
 *   stats         control  between start and stop: every few seconds, and before stop
 *   rules_refused control  after probe
 *   rules         control  between start and stop; after start there are none
 *   table         control  between start and stop
 *   pair_stop, pair_start
 *                 control  between start and stop, in this order, for a pair whose core has
 *                          restarted, after table; attach by that core, and table, follow
 *
 * After stop the sequence begins again. If all ports restart together, for example for another buffer
 * size, data cores make new pools, and the buffers in the rings need not be returned. If one port
 * restarts alone (runtime/restart.c), every core releases its queue and attaches it again.
 *
 * What a driver can rely on, and what it must obey:
 *
 * 1. Each core has its own copy of every static variable (invariant 1). A data core does not see
 *    what the control core stored in one: what the queue half has to know goes into
 *    nic_shared.priv. Addresses of BARs, ring memory and constants are the same on all cores.
 * 2. Ring memory lies in the arena of the data core that will poll it, and the control core has no
 *    access there: start only gives its address to the device. (With one CPU an access would not
 *    fault. With two it does.) Conversely, nic->dma belongs to the control core.
 * 3. A buffer has one owner: the pool, a ring, or the holder of the struct pkt (lib/pkt.h). A
 *    shared buffer has several holders, which are counted. A frame begins at BUF_FRAME_LEAST or
 *    later in its buffer. While the driver has the packet it may write the bytes between pkt_meta
 *    and the frame, and those behind the frame (in a chain up to BUF_FRAGS_OFFSET). The device is
 *    given dma_addr().
 * 4. What the device writes is untrusted until checked. Bad frames are counted and dropped. When
 *    the device leaves a queue unusable the driver sets q->broken: from then until attach only mend
 *    is called on that queue, and if mend gives up, the runtime reports it on the console. No
 *    driver logs or asserts because of a device.
 *
 * To add a NIC: fill in one `struct nic_ops` and add it to nic_drivers[] in drivers/nic.c. The
 * first driver whose match returns true gets the device. The smallest driver is drivers/null/; the
 * smallest for a real device is drivers/virtio_net/.
 */
#ifndef DRIVERS_NIC_H
#define DRIVERS_NIC_H

#include "hal/clock.h"
#include "abi/pci.h"
#include "lib/number.h"
#include "lib/pkt.h"
#include "lib/types.h"

/* pci_dev.device of a null port. */
enum nic_null { NIC_NULL_SOURCE, NIC_NULL_CLIENTS, NIC_NULL_SINK };

#define NIC_PORTS_MAX 16
#define NIC_SLOTS_MAX 1024 /* in a transmit ring */
#define NIC_SLOT_ROOM 12   /* zero bytes before a slot's frame, which the device may read */
#define NIC_PAIRS_MAX 64
#define NIC_BUCKETS_MAX 512 /* of an indirection table */
#define NIC_DMA_BYTES 16384
#define NIC_FRAME_OVERHEAD 18 /* of a frame beyond its IP packet: Ethernet header, one VLAN tag */
#define NIC_MTU_MAX (BUF_STRIDE_JUMBO - BUF_DATA_OFFSET - NIC_FRAME_OVERHEAD) /* fits a buffer */

enum nic_features {
	NIC_RX_CSUM = 1, /* delivers PKT_CSUM_PARTIAL / PKT_CSUM_OK */
	NIC_TX_CSUM = 2, /* the device completes PKT_CSUM_PARTIAL; without it the driver does */
	NIC_LINK = 4,    /* reports link state; without it link is always up */
	NIC_RSS = 8,     /* spreads flows over the queues by Toeplitz hash with NIC_RSS_KEY */
	NIC_TSO4 = 16,   /* sends PKT_TSO of IPv4 */
	NIC_VLAN = 32,   /* strips tags from received frames, inserts them into sent ones: PKT_VLAN */
	NIC_SG = 64,     /* sends PKT_CHAIN */
	NIC_USO = 128,   /* sends PKT_USO */
	NIC_TSO6 = 256,  /* sends PKT_TSO of IPv6 */
	NIC_TSO = NIC_TSO4 | NIC_TSO6,
	/* Of nic_config.features alone, in no nic->features: the port receives frames to any station, not
	 * only to its own address and to groups. Every device can. */
	NIC_PROMISC = 512,
};

/* The key of Microsoft's RSS documents, first byte first: a flow has the same hash on every card,
 * and the same as in other tools. */
#define NIC_RSS_KEY_BYTES 40
#define NIC_RSS_KEY \
	{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, \
	 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, \
	 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa}

/*
 * What a queue pair has counted since boot. Written by the data core that polls it, read by all.
 * The first four must be exact: the sum of all fates is compared with rx_pkts. Of the others a
 * driver counts those that can occur. To add a counter, add a row in control/cli/show.c, which prints
 * it.
 */
struct nic_counters {
	uint64_t rx_pkts;       /* returned by rx_burst */
	uint64_t rx_bytes;      /* of these frames, FCS not counted */
	uint64_t tx_pkts;       /* taken by tx_burst */
	uint64_t tx_bytes;
	uint64_t tx_full;       /* times tx_burst could not take all packets: ring full */
	uint64_t tx_dropped;    /* packets that no ring accepted in time: counted by the runtime */
	uint64_t tx_flushed;    /* packets dropped because the port was being restarted, or its
	                           link was down: likewise */
	uint64_t rx_no_buffer;  /* refills that found the pool empty */
	uint64_t rx_bad_len;    /* device reported a length that the buffer cannot have */
	uint64_t rx_bad_desc;   /* device returned a descriptor that breaks the rules, or lost one */
	uint64_t tx_bad_desc;
	uint64_t rx_oversize;   /* frame spread over several buffers: dropped */
	uint64_t rx_queue_errors; /* times the device has put the queue into its error state; the */
	uint64_t tx_queue_errors; /* frames it then had are lost (nic_ops.mend) */
	uint64_t mmio_reads;    /* device registers read by this queue: 0 by invariant 4 */
	uint64_t mmio_writes;   /* doorbells and tails written, also to request an interrupt */
	uint64_t irq_arms;      /* times interrupts were requested before sleeping */
	uint64_t rx_place;      /* not a counter, but as long-lived: the driver's position in the
	                           receive ring, for nic_ops.rx_left, written with rx_pkts. 0 when
	                           the ring's memory is zeroed */
};

/*
 * What the control core publishes about a started port; read-only for data cores. The runtime
 * neither changes nor moves it while a data core has a queue. The driver changes it only to tell
 * queue halves what became of their queue (nic_ops.mend). When start is called all but `driver` is
 * zero, and start fills it in.
 */
struct nic_shared {
	uint8_t driver;      /* index into nic_drivers[]; set by the runtime */
	uint8_t pairs;       /* queue pairs in use; 0: not started */
	uint16_t buckets;    /* entries of the device's indirection table, a power of two up to NIC_BUCKETS_MAX;
	                        0: nic_ops.table is NULL, or returns E_NOTSUP */
	uint32_t features;   /* enum nic_features, as negotiated */
	uint64_t priv[16 + 2 * NIC_PAIRS_MAX]; /* private to the driver: ring layout, doorbells */
};

/* The device half. Any code on the control core may read it. */
struct nic {
	/* filled in by the runtime before probe; the rest is zero then */
	const struct nic_ops *ops;
	const struct pci_dev *pci;
	const struct clock *clock; /* for nic_deadline */
	void *dma;            /* NIC_DMA_BYTES, zeroed, page aligned, for the device half's own DMA
	                         (control queues, mailboxes) */
	void *(*dma_more)(size_t bytes); /* more of the same, never freed; NULL: not enough left */
	void (*trace)(const char *line); /* gets what the firmware is asked and answers, by lines;
	                                    NULL: no trace */
	/* To be called once a second in a wait that takes longer: the runtime reports what is waited
	 * for, and for how many seconds at most, and does not take the control core for stuck. NULL:
	 * nobody listens. */
	void (*waits)(struct nic *nic, const char *what, uint32_t seconds);
	/* set by probe */
	unsigned pairs_max;   /* 1 to NIC_PAIRS_MAX; the runtime uses as many as all NICs have */
	uint32_t features;    /* enum nic_features: what the device can do */
	uint32_t mtu_max;     /* bytes of IP packet, at most NIC_MTU_MAX */
	uint8_t mac[6];       /* first byte of the address first; unicast */
	bool no_clock;        /* time_start always fails: not all cards of the driver have a clock that it drives */
	/* valid at any time */
	uint64_t mmio_reads;  /* by the device half: every access is counted */
	uint64_t mmio_writes;
	const char *error;    /* why the last call failed, to be shown; static text or NULL */
	uint8_t late;         /* enum nic_late; set by the runtime */
	uint64_t priv[64];
};

/* A device that is not ready keeps its number; pairs_max is 0 until it has been probed. */
enum nic_late {
	NIC_HERE,
	NIC_LATE, /* nic_ops.ready is asked */
	NIC_LOST, /* it did not become ready */
};

/* The TSC `us` microseconds from now, and whether such a deadline has passed. Every wait ends by
 * them. */
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
	struct nic_counters *cnt; /* not zeroed: counting goes on from the last attach */
	uint8_t port;             /* stored in every received packet */
	uint32_t rx_buffers;      /* most that may wait in the receive ring, nic_rx_share(): attach
	                           * lowers it if the ring has fewer descriptors */
	/* set by the driver */
	bool broken; /* the device violated the protocol (rule 4) */
	const char *error; /* why mend has given up, to be shown; static text or NULL (rule 4) */
	uint32_t slot_len_max; /* longest frame for a slot, FCS not counted; 0: any */
	uint64_t priv[40];
};

/* A word of nic_queue.priv that the report of a failed program prints: 1, 2, 4 or 8 bytes. */
struct nic_word {
	const char *name; /* NULL: end of the table */
	uint16_t offset;  /* from the start of priv */
	uint16_t bytes;
};
#define NIC_WORD(type, field) {#field, offsetof(type, field), sizeof(((type *)0)->field)}

/* The next pair at or after `from`, cyclically, of the set `pairs` (one bit each, at least one
 * set). */
static inline unsigned nic_next_pair(uint64_t pairs, unsigned from)
{
	from %= NIC_PAIRS_MAX;
	uint64_t above = pairs >> from;
	return above ? from + (unsigned)__builtin_ctzll(above) : (unsigned)__builtin_ctzll(pairs);
}

#define NIC_RX_BUFFERS_MIN 8 /* in a ring */

/*
 * The share of a core's buffers for each receive ring. All rings together get half. The other half
 * is for packets being processed, waiting to be sent, or originated here. Without this limit the
 * rings of a machine with many ports and little memory would take all buffers, and nothing of our
 * own could be sent.
 */
static inline uint32_t nic_rx_share(uint32_t buffers, unsigned ports)
{
	return u32_max(buffers / 2 / ports, NIC_RX_BUFFERS_MIN);
}

/* A rule that steers received frames to queue pairs (nic_ops.rules). A frame matches if all that the rule compares is
 * equal. Several pairs share the frames of a rule as RSS shares those of no rule. Numbers are in the CPU's
 * byte order. */
#define NIC_RULES_MAX 64      /* of a port */
#define NIC_RULE_GROUPS_MAX 8 /* different sets of several pairs in the rules of a port */
enum nic_rule_family { NIC_RULE_ALL, NIC_RULE_IP4, NIC_RULE_IP6 };
struct nic_rule {
	uint64_t pairs;              /* one bit each, at least one */
	uint32_t src[4], dst[4];     /* prefixes, first bits first, host bits 0; IPv4: word 0, the others 0 */
	uint8_t src_plen, dst_plen;  /* 0: any address */
	uint8_t family;              /* enum nic_rule_family; ALL: every frame, and nothing but the VLAN is compared */
	uint8_t proto;               /* IP protocol; 0: any */
	uint16_t src_port, dst_port; /* of TCP, UDP, SCTP; 0: any */
	uint16_t vlan;               /* of the 802.1Q tag; 0: any, or no tag */
};

/* Both compare the same and name the same pairs. */
static inline bool nic_rule_same(const struct nic_rule *a, const struct nic_rule *b)
{
	bool same = a->pairs == b->pairs && a->src_plen == b->src_plen && a->dst_plen == b->dst_plen &&
	            a->family == b->family && a->proto == b->proto && a->src_port == b->src_port &&
	            a->dst_port == b->dst_port && a->vlan == b->vlan;
	for (unsigned i = 0; i < ARRAY_LEN(a->src); i++)
		same &= a->src[i] == b->src[i] && a->dst[i] == b->dst[i];
	return same;
}

/* Word i of the mask of a prefix of plen bits: of src or dst of a rule. */
static inline uint32_t nic_rule_mask(unsigned plen, unsigned i)
{
	const unsigned bits = plen > 32 * i ? u32_min(plen - 32 * i, 32) : 0;
	return bits ? UINT32_MAX << (32 - bits) : 0;
}

/* A frame that a slot of the transmit ring sends (nic_ops.slots_put). */
struct nic_slot {
	uint8_t *data; /* first byte, in memory dma_addr() accepts, after NIC_SLOT_ROOM zeros */
	uint32_t len;  /* bytes, FCS not counted: at least 60, and 4 more for each tag */
};

/* Times that the device has taken, each reported once (nic_ops.time_stamps). */
struct nic_stamps {
	bool sent, received;   /* such a time is present */
	uint64_t sent_ns;      /* of a frame with nic_ops.slot_stamp, by the device's clock */
	uint64_t received_ns;  /* of a PTP event message */
	uint16_t number;       /* its sequenceId */
};

struct nic_link {
	bool up;
	bool gone;     /* the device no longer answers: removed or dead. It is not asked again */
	bool restart;  /* the device works again only after stop and start: `why` says what has failed */
	uint32_t mbps; /* 0: unknown */
	uint32_t again_us; /* look again by then even if the core sleeps; 0: an interrupt tells */
	const char *why; /* if gone or restart: how that was detected. Otherwise: what has failed
	                  * since the last look and is done without. To be shown; NULL: nothing to
	                  * report */
};

/*
 * What the device itself has counted, summed over its queues: events that drivers cannot see
 * because they never reached a ring. Written and read by the control core.
 */
struct nic_stats {
	uint64_t rx_missed;      /* no space in the device: rings not emptied fast enough */
	uint64_t rx_no_desc;     /* no descriptor in the ring of the frame's queue */
	uint64_t rx_crc;         /* FCS wrong */
	uint64_t rx_length;      /* too short, too long, or length field wrong */
	uint64_t rx_error;       /* any other receive error of MAC or PHY */
	uint64_t rx_filtered;    /* good frames for other stations */
	uint64_t tx_error;       /* frames that the device gave up */
	uint64_t queue_errors;   /* queues that stopped without any completion to report it */
	uint64_t rx_unread;      /* placed in rings that were stopped before anybody read them:
	                            counted by the runtime (nic_ops.rx_left) */
	uint64_t tx_unsent;      /* of tx_pkts, in rings that were stopped before the device sent them:
	                            likewise (nic_ops.tx_left) */
};

/* Memory for the rings of one pair, from the data core that will poll it (rule 2). */
struct nic_ring_mem {
	void *mem; /* page aligned, zeroed by that core */
	size_t bytes; /* at least ring_bytes */
	unsigned core; /* the core that the pair's MSI-X vector wakes: pci_msix_route */
	const struct nic_counters *cnt; /* that core's counters of this port, readable until stop */
};

/* How a port is to be started; valid during the call. */
struct nic_config {
	unsigned pairs;     /* 1 to nic->pairs_max */
	uint32_t features;  /* those wanted out of nic->features, and NIC_PROMISC */
	uint32_t buf_bytes; /* stride of the data cores' buffers: BUF_STRIDE_STANDARD or _JUMBO */
	const struct nic_ring_mem *mem; /* one per pair */
};

/* For a driver's start: E_INVAL, with nic->error set, if the port cannot be started so. */
static inline int nic_config_check(struct nic *nic, const struct nic_config *config, size_t ring_bytes,
                                   size_t ring_align)
{
	bool ok = config->pairs > 0 && config->pairs <= nic->pairs_max;
	ok &= config->buf_bytes == BUF_STRIDE_STANDARD || config->buf_bytes == BUF_STRIDE_JUMBO;
	for (unsigned q = 0; ok && q < config->pairs; q++)
		ok = config->mem[q].bytes >= ring_bytes && (uintptr_t)config->mem[q].mem % ring_align == 0;
	if (!ok)
		nic->error = "asked for more queues, or for other buffers, than the device has";
	return ok ? E_OK : E_INVAL;
}

/* No member is NULL unless its comment allows it. An int result is E_OK or a negative enum error,
 * with nic->error set. */
struct nic_ops {
	const char *name; /* as the console shows it */
	bool start_mends; /* stop (or park) and start mend a device that hangs */
	const struct nic_word *words; /* its ring state for reports; NULL: none */

	/* True if this driver is for the device. Reads IDs only. */
	bool (*match)(const struct pci_dev *dev);

	/* Resets the device and learns its capabilities; leaves it with DMA off. dev is nic->pci.
	 * E_TIMEOUT, E_DEVICE, E_NOTSUP; E_AGAIN: see ready. */
	int (*probe)(struct nic *nic, const struct pci_dev *dev);

	/* Can the device be probed, or started, now? E_AGAIN: not yet. Any other error: never. Waits
	 * for a reset at most. NULL: probe and start do not return E_AGAIN. */
	int (*ready)(struct nic *nic);

	/* Ring memory that one pair needs, in bytes; the runtime rounds it up to pages. */
	size_t (*ring_bytes)(const struct nic *nic);

	/*
	 * Brings the device up with config->pairs queue pairs; fills in `shared`. From here on the
	 * device may access the rings, and buffers once attached cores post them. Routes one MSI-X
	 * vector of each pair to its core, and one for the link to core 0; none if the device has
	 * too few. After an error the device is reset and `shared` is meaningless. E_AGAIN: see
	 * ready.
	 */
	int (*start)(struct nic *nic, const struct nic_config *config, struct nic_shared *shared);

	/* Stops all DMA; after it returns the device accesses no memory. Harmless if nothing
	 * runs. */
	void (*stop)(struct nic *nic);

	/* Stops all DMA to rings and buffers, as stop does, but keeps the device up and its link: the
	 * next start rebuilds the queues only. Received frames are dropped meanwhile. After an error,
	 * and before another sequence than start, the next call is stop. NULL: not supported. */
	int (*park)(struct nic *nic);

	/* Frames that the device has placed in the receive ring of a stopped pair and that the
	 * queue half has not taken. `mem` is the memory the pair was started with; `place` is the
	 * last rx_place of its core, which may have failed since. Reads nothing else: `nic` may
	 * have been probed again meanwhile. The ring's contents are untrusted; the result never
	 * exceeds the ring size. NULL: the driver has no rings. */
	unsigned (*rx_left)(const struct nic_shared *shared, unsigned pair, const void *mem,
	                    uint64_t place);

	/* Frames that wait in the transmit ring of a started pair, whose core may still send; of a pair that was
	 * stopped, those it had not sent by then. `mem` is the memory the pair was started with; its contents and
	 * the device's registers, which the call reads, are untrusted. The result never exceeds the ring size. Does
	 * not wait. NULL: the device holds no frame for long, whatever its link is. */
	unsigned (*tx_left)(struct nic *nic, unsigned pair, const void *mem);

	/* Link state now; also acknowledges the device's link interrupt, and takes the next step of an attempt
	 * to bring the link up. Does not wait; while the link is down it may take some milliseconds. */
	void (*link)(struct nic *nic, struct nic_link *out);

	/* Adds what the device has counted since the last call to *sum. Does not wait. May be NULL:
	 * the device counts nothing. */
	void (*stats)(struct nic *nic, struct nic_stats *sum);

	/*
	 * These two restart one pair while the others are polled; both NULL: not supported. After
	 * an error the next call is stop.
	 *
	 * pair_stop ends all DMA of the pair: after it returns the device accesses none of its
	 * rings and buffers. Frames queued for sending are sent or lost. Frames received for the
	 * pair from then on wait in the device or are lost, without harm to the other pairs.
	 * E_AGAIN: not now.
	 *
	 * pair_start does for the pair what start did. `config` and `shared` are those of start,
	 * except that the ring memory, zeroed again, may have moved. pair_start may update what
	 * `shared` says about this pair.
	 */
	int (*pair_stop)(struct nic *nic, unsigned pair);
	int (*pair_start)(struct nic *nic, const struct nic_config *config, unsigned pair,
	                  struct nic_shared *shared);

	/*
	 * Sets the indirection table: a packet whose hash, modulo nic_shared.buckets, is i goes to pair
	 * pair_of[i], which is started. Packets that are not hashed go where bucket 0 goes, or stay with pair 0. After
	 * start bucket i has pair i modulo the number of pairs. The device has the table when the call
	 * returns; frames that it has already assigned to a pair may still arrive there. May be NULL,
	 * even with pair_stop: the driver cannot choose. E_NOTSUP: this device cannot.
	 */
	int (*table)(struct nic *nic, const uint8_t *pair_of);

	/*
	 * Steering by rule: a frame that matches goes to the pairs of the first rule that it
	 * matches, all others go where `table` sends them. Both NULL: the device cannot.
	 *
	 * rules_refused tells why the device cannot have this rule: static text; NULL: it can. Of
	 * the rule's pairs only one matters: whether there are several. Accesses no register.
	 *
	 * rules replaces all rules by n others, at most NIC_RULES_MAX with NIC_RULE_GROUPS_MAX
	 * groups, whose pairs are started and which rules_refused allows. A rule that keeps its
	 * place and contents stays in force throughout; otherwise packets may go where `table`
	 * sends them meanwhile. E_DEVICE.
	 */
	const char *(*rules_refused)(const struct nic *nic, const struct nic_rule *r);
	int (*rules)(struct nic *nic, const struct nic_rule *r, unsigned n);

	/*
	 * Takes over pair `pair`, whose rings lie in mem, and posts receive buffers from q->pool:
	 * as many as the ring and q->rx_buffers allow and the pool has. After an error the queue
	 * counts as broken.
	 */
	int (*attach)(struct nic_queue *q, const struct nic_shared *shared, unsigned pair, void *mem);

	/*
	 * Returns all buffers in both rings to q->pool, with their other holders' rights kept; sent
	 * and unsent frames are not told apart. The device does not run and has no DMA. What it has
	 * written is not read. No slots are open (slots_open). NULL: not supported; the ports then
	 * restart together.
	 */
	void (*release)(struct nic_queue *q);

	/*
	 * Receives up to `max` (1 to PKT_VECTOR_MAX) packets into v, each of 1 byte or more, all
	 * fields set. Their buffers pass to the caller. Refills the ring.
	 */
	unsigned (*rx_burst)(struct nic_queue *q, struct pkt *v, unsigned max);

	/*
	 * Queues the first k <= n packets of v for sending and rings the doorbell at most once;
	 * returns k. Those k buffers pass to the driver, which frees them to q->pool once sent. The
	 * others remain the caller's, to be offered again. n may exceed a vector, or the ring. With
	 * n = 0 (v may be NULL) the call only reclaims sent buffers. Every call reclaims, because
	 * nothing else does.
	 *
	 * Frames may be shorter than Ethernet's 60 bytes: where there is a wire, device or driver
	 * pads them. Any packet may have PKT_CSUM_PARTIAL: the driver completes by
	 * pkt_csum_complete what the device cannot. PKT_TSO (of either version), PKT_USO, PKT_VLAN
	 * and PKT_CHAIN come only if shared->features had them. PKT_SHARED may always come; its
	 * buffer is returned by buf_put, as are those of fragments. A packet is taken whole or not
	 * at all.
	 *
	 * All headers of a chain lie in its first piece. The driver may change them (checksums, and
	 * lengths where the device requires it), and writes the device's own header before them.
	 * The holder of a PKT_SHARED buffer that sends it again must write the headers again, and
	 * may do so only when no ring has the buffer any more (pkt_meta.refs). The driver does not
	 * change fragments.
	 */
	unsigned (*tx_burst)(struct nic_queue *q, const struct pkt *v, unsigned n);

	/* Frames in the transmit ring that the device was not known to have sent when tx_burst was last called, or
	 * their descriptors. What other queues are given after the device has reported a frame leaves after it.
	 * Slots are not open. NULL: the device keeps no frame when tx_burst has returned. */
	unsigned (*tx_pending)(const struct nic_queue *q);

	/*
	 * Called on a broken queue. The device half does its part in `link`, which learns of the
	 * state from the counters and is called more often meanwhile. True: the queue is repaired,
	 * all buffers have their owners and q->broken is false; or repair is not finished, and the
	 * call comes again in the next turn. False: the queue stays broken until attach. NULL: no
	 * broken queue can be repaired.
	 */
	bool (*mend)(struct nic_queue *q);

	/*
	 * The core is about to sleep (arm = true) and wants an interrupt at the next received
	 * packet, or it is awake again and wants none. Returns true, after arming, if the core must
	 * not sleep: packets wait already, or no interrupt would come. The driver has to look for
	 * packets again after arming, or it misses one that arrived in between.
	 */
	bool (*rx_interrupt)(struct nic_queue *q, bool arm);

	/*
	 * Sending by slots, for an application that sends prepared frames repeatedly (a generator).
	 * A slot is a place of the transmit ring whose descriptor stays as put: sending it again
	 * costs no store and no look at the packet. Slots are sent in order, each after the one
	 * before, modulo the number that slots_open returns. Frames are complete (checksums,
	 * length, tags), in one piece, and owned by the caller. Once a slot is sent, the device may
	 * read its frame, and the NIC_SLOT_ROOM zero bytes before it, until slots_free has passed
	 * over the slot. The driver changes neither.
	 *
	 * All are NULL where a driver has no slots; slot_stamp also where the device has no clock.
	 */

	/*
	 * Reclaims what tx_burst has sent. Returns 0 while the device still has some of it.
	 * Afterwards returns the number of slots, a power of two up to NIC_SLOTS_MAX; tx_burst is
	 * then not called until attach. The first slot to be sent is slot 0. No slot has a frame
	 * yet.
	 */
	unsigned (*slots_open)(struct nic_queue *q);

	/* Sets the frames that slots first, first + 1, ... send from now on: n of them, each free
	 * as slots_free defines it. */
	void (*slots_put)(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n);

	/* Has the device take the sending time of the frame in this slot, until another frame is
	 * put there. */
	void (*slot_stamp)(struct nic_queue *q, unsigned slot);

	/*
	 * Number of slots, from the next one to be sent on, that the caller owns. A ring may keep
	 * one slot back. A driver may report fewer than there are, in two cases. While the device
	 * has more than half of them, so that a caller who sends all free slots sends large
	 * batches. And while the caller has more than half, in the first call after slots_send, to
	 * avoid reading what the device writes. Once the device has sent everything the number is
	 * what it was right after slots_open, by the second call at the latest, without anything
	 * more being sent.
	 */
	unsigned (*slots_free)(struct nic_queue *q);

	/* Sends the next n slots; n is at most what slots_free returned, and `bytes` is their
	 * total. Both are added to tx_pkts and tx_bytes. At most one doorbell; none for n = 0. */
	void (*slots_send)(struct nic_queue *q, unsigned n, uint64_t bytes);

	/*
	 * The device itself limits what pair `pair` sends to `kbps` kilobits a second, evenly
	 * spaced, counting frames with FCS but neither preamble nor gap. 0: no limit, as after
	 * start. The device's granularity is coarser: *set is the limit in force, at or below the
	 * request, in kilobits a second. E_INVAL: the limit is too low for the device, or not below
	 * the link's speed. E_AGAIN: the link is down, and the limit is a fraction of its speed. To
	 * be called again when that speed changes. NULL: the device has no limiter.
	 */
	int (*rate)(struct nic *nic, unsigned pair, uint32_t kbps, uint32_t *set);

	/*
	 * The device's own clock, and the times by it at which frames passed its MAC: sent frames
	 * that have slot_stamp, and received PTP event messages (IEEE 1588-2008; EtherType 0x88f7,
	 * or UDP to port 319). The device keeps one time per direction until time_stamps takes it.
	 * Frames in between get none, and under load a time may be missing.
	 *
	 * time_start sets the clock to 0. E_AGAIN: the link is down. To be called again when its
	 * speed changes. time_now is in ns. It takes as long as reading two registers, so to
	 * compare two clocks read one of them before and after the other. All NULL: the device has
	 * no clock.
	 */
	int (*time_start)(struct nic *nic);
	uint64_t (*time_now)(struct nic *nic);
	void (*time_stamps)(struct nic *nic, struct nic_stamps *out);
};

/*
 * For transmit rings that remember the owner of each descriptor or frame: the buffer's number, above `plain` if
 * it is not a plain packet's. Frees what the next n owners from `tail` on have, plain ones in blocks; the others
 * by free_odd, and with them their neighbours one by one.
 */
#define NIC_FREE_BLOCK 32u
#define NIC_FREE_SINGLY 8u

static inline __attribute__((always_inline)) void
nic_free_sent(struct bufpool *pool, const uint32_t *owner, uint32_t mask, uint32_t tail, uint32_t n,
              uint32_t plain, void (*free_odd)(struct bufpool *, uint32_t))
{
	while (n) {
		const uint32_t at = tail & mask;
		const uint32_t block = u32_min(u32_min(n, mask + 1 - at), NIC_FREE_BLOCK) & ~3u;
		if (likely(block) && likely(buf_free_block(pool, &owner[at], block, ~plain))) {
			n -= block;
			tail += block;
			continue;
		}
		for (uint32_t end = tail + u32_min(n, NIC_FREE_SINGLY); tail != end; tail++, n--) {
			const uint32_t buf = owner[tail & mask];
			if (likely(buf <= plain))
				buf_free(pool, buf);
			else
				free_odd(pool, buf);
		}
	}
}

extern const struct nic_ops *const nic_drivers[];
extern const unsigned nic_driver_count;

/* What a card is that has no driver here: virtual functions (SR-IOV). NULL: not known. */
const char *nic_name_without_driver(uint16_t vendor, uint16_t device);

#endif
