/*
 * What the models of Intel's cards share: queues with their rings, the packet buffer, filters, offloads, RSS,
 * statistics of the MAC, reads of the EEPROM. A card is a struct intel_kind, which says where its registers are and
 * how it differs, with files of its own: 82599/, i226/.
 *
 *   desc.h      descriptors, bits         rx.c        a frame's path into its ring
 *   nic.c       calls of the contract
 *   filter.c    MAC, multicast, VLAN      offload.c   packet type, checksums
 *   nvm.c       EERD, SWSM                rss.c       hash, redirection
 *   stats.c     counters of the MAC       fifo.c      packet buffer
 *   late.c      delayed write-backs       rx_queue.c  receive rings, descriptors
 *   tx.c        transmit rings            tso.c       segmentation, transmission
 *
 * A card's state begins with a struct nic. Register values are in m->bar0, part of which line-rate mode may share
 * with the guest. The struct holds what is not a register, or must not be read back from memory that the guest can
 * write. Sections are those of desc.h.
 */
#ifndef NICSIM_INTEL_STATE_H
#define NICSIM_INTEL_STATE_H

#include "tools/nicsim/intel/desc.h"
#include "tools/nicsim/model.h"
#include "tools/nicsim/packet/headers.h"
#include "tools/nicsim/packet/toeplitz.h"

#define QUEUES 128
#define STATIONS 128 /* RAL/RAH pairs */
#define STAT_QUEUES 16
#define FIFO_BYTES (512u << 10)
#define TSO_MAX (256u << 10) /* PAYLEN has 18 bits */
#define TX_FRAME_MAX (FRAME_MAX - 8u) /* leaves room for a tag and an FCS */
#define EEPROM_WORDS 8192
#define RETA_MAX 512
#define NEVER UINT64_MAX
#define SCAN_NS 50000 /* line-rate: between scans of the ENABLE bits */

/* The faults of every card; its own begin at INTEL_FAULTS. */
enum {
	FAULT_EEPROM_STUCK,
	FAULT_RXDCTL_STUCK,
	FAULT_TXDCTL_STUCK,
	FAULT_RX_STUCK,
	FAULT_HEAD_STUCK,
	FAULT_WRITEBACK_DELAY,
	FAULT_WRITEBACK_LOST,
	FAULT_BAD_LENGTH,
	FAULT_ERROR_BITS,
	FAULT_DD_GARBAGE,
	FAULT_SEND_HANGS,
	INTEL_FAULTS,
};
#define INTEL_FAULT_ROWS \
	[FAULT_EEPROM_STUCK] = {"eeprom-stuck", NULL, 0, "EERD.DONE never sets"}, \
	[FAULT_RXDCTL_STUCK] = {"rxdctl-stuck", NULL, 0, "RXDCTL.ENABLE never changes"}, \
	[FAULT_TXDCTL_STUCK] = {"txdctl-stuck", NULL, 0, "TXDCTL.ENABLE never changes"}, \
	[FAULT_RX_STUCK] = {"rx-stuck", NULL, 0, "receive rings are not served"}, \
	[FAULT_HEAD_STUCK] = {"head-stuck", NULL, 0, "transmit rings are not served"}, \
	[FAULT_WRITEBACK_DELAY] = {"writeback-delay", "US", 100, "write-backs come US later"}, \
	[FAULT_WRITEBACK_LOST] = {"writeback-lost", "N", 100, "one write-back in N never comes"}, \
	[FAULT_BAD_LENGTH] = {"bad-length", "N", 100, "one frame in N is longer than its buffer"}, \
	[FAULT_ERROR_BITS] = {"error-bits", "N", 100, "one frame in N has RXE and TCPE set"}, \
	[FAULT_DD_GARBAGE] = {"dd-garbage", "N", 100, \
	                      "one receive write-back in N is random but for DD and EOP"}, \
	[FAULT_SEND_HANGS] = {"send-hangs", NULL, 0, "transmit rings are not served until the next reset"}

/* The MAC's settings, from whatever registers a card has for them. */
struct mac_mode {
	bool listens;    /* frames are received */
	bool sends;      /* transmission is enabled */
	bool loops;      /* sent frames come back */
	bool keeps_fcs;  /* the FCS goes to memory */
	bool keeps_bad;  /* damaged frames are passed on */
	bool checks_length; /* of the Ethernet header */
	bool pads;       /* short frames that are sent */
	bool strips_tag; /* of all queues */
	bool stamps;     /* received frames may be time-stamped */
	bool upe, mpe, bam;     /* accepts all unicast, all multicast, broadcast */
	bool mta_on, vlan_on;   /* the hash table, and the filter of tags, are in use */
	uint8_t mta_offset;     /* 0 to 3, 8.2.3.7.7 */
	uint16_t tag_type;      /* EtherType of a tag that is inserted */
	uint32_t longest;       /* received frame, with FCS and without a tag, */
	uint32_t tag_bytes;     /* and what a tag may add */
};

/* What differs between the cards. */
struct intel_kind {
	/* offsets in BAR 0; the queue blocks of 64 and above may lie elsewhere */
	uint32_t rx_base, rx_base_64, tx_base;
	uint32_t srrctl; /* in the block of a receive queue */
	uint32_t mrqc, rssrk, reta, ereta, rxcsum, ral, rah, mta, vfta, eerd, swsm;
	uint32_t tcp_flags; /* DTXTCPFLGL; DTXTCPFLGH follows */
	uint32_t rx_stat_map, tx_stat_map; /* a byte per queue, the counter that it uses; 0: its own number */
	unsigned queues, stations;
	/* bits */
	uint32_t mrqc_on;      /* of MRQC: RSS is on */
	uint8_t reta_mask;     /* of an entry */
	unsigned reta_entries; /* a power of two; those from 128 on are in ereta */
	uint32_t fifo_bytes;   /* of the receive packet buffer, FIFO_BYTES at most */
	uint32_t bsize_mask;   /* SRRCTL.BSIZEPACKET, KB */
	uint32_t drop_en;      /* SRRCTL */
	uint32_t queue_vme;    /* RXDCTL: tags are stripped; 0: for all queues elsewhere */
	uint32_t rxe, l4e, ipe; /* of a received descriptor */
	uint8_t octets_high;   /* bits of the high half of a counter of octets */
	const char *tx_enable; /* bit that must be set before a transmit queue is enabled; NULL: none must */

	void (*mode)(const struct model *m, struct mac_mode *out);
	/* A queue has written back; frames were lost for want of room in the packet buffer. */
	void (*rx_event)(struct model *m, unsigned queue);
	void (*tx_event)(struct model *m, unsigned queue);
	void (*overrun)(struct model *m);
	/* An access of the register at `at`, aligned and below bar_bytes[0]. */
	uint32_t (*read)(struct model *m, uint32_t at);
	void (*write)(struct model *m, uint32_t at, uint32_t value);

	/* Rates of transmit queues; NULL: none has any. next: when the next frame may leave, 0: no limit. wake: the
	 * queue was empty and now has frames. charge: it sends a frame, bytes with FCS. */
	uint64_t (*rate_next)(struct model *m, unsigned queue);
	void (*rate_wake)(struct model *m, unsigned queue);
	void (*rate_charge)(struct model *m, unsigned queue, uint32_t bytes);

	/* Time stamps; NULL: none. sent: a frame with the 1588 bit leaves. may_want: for a frame of at least 60 bytes
	 * without a tag; false: stamp_received would return false. received: a good frame arrived at `at` (ns; 0:
	 * now); true: it was time-stamped. */
	void (*stamp_sent)(struct model *m, unsigned queue);
	bool (*stamp_may_want)(const struct model *m, const uint8_t *frame, uint32_t type);
	bool (*stamp_received)(struct model *m, const uint8_t *frame, uint32_t bytes, uint64_t at);

	/* Whether a filter is on that chooses queues, before RSS; NULL: the card has none. The queue that one chooses
	 * for a frame; -1: none does. */
	bool (*steers)(const struct model *m);
	int (*steer)(struct model *m, const uint8_t *frame, const struct headers *h);
};

/* A write-back that is due later (fault writeback-delay). */
struct late {
	uint64_t due; /* set by late_add */
	uint64_t bus;
	uint64_t low, high; /* quad-words of the descriptor; LATE_TX_HEAD: low is the head */
	enum { LATE_RX_DESCRIPTOR, LATE_TX_STATUS, LATE_TX_HEAD } kind;
	uint8_t queue;
};
#define LATE_MAX 4096

struct rxq {
	bool enabled;
	uint64_t settles;   /* when ENABLE takes effect and reads back; 0: no change pending */
	uint8_t *at;        /* host address of the ring, for the call numbered at_call */
	uint64_t at_call;
	bool broken;        /* unusable ring: reported, ignored until enabled again */
	uint64_t ring;      /* bus address */
	uint32_t size;      /* descriptors */
	uint32_t head;      /* RDH */
	uint32_t tail;      /* RDT as accepted */
	uint32_t fetched;   /* descriptors from the head on whose buffers are prefetched */
	uint32_t buffer;    /* bytes: SRRCTL.BSIZEPACKET */
	uint32_t type;      /* SRRCTL.DESCTYPE */
	bool drop;          /* SRRCTL.DROP_EN */
	bool strip_vlan;    /* RXDCTL.VME */
	uint64_t moved;     /* when RDT moved last */
};

struct tx_context {
	bool valid;
	uint16_t vlan, mss;
	uint8_t maclen, l4len;
	uint16_t iplen;
	bool ipv4;
	uint8_t l4t;
};

struct txq {
	bool enabled; /* this and the next seven: as in struct rxq */
	uint64_t settles;
	uint8_t *at;
	uint64_t at_call;
	bool broken;
	uint64_t ring;
	uint32_t size;
	uint32_t head, tail; /* TDH, TDT as accepted */
	bool waiting;        /* a frame has begun but its EOP is missing, ... */
	uint64_t since;      /* ... since then, or since that was last reported */
	uint64_t head_wb; /* bus address, 0: descriptors are written back */
	struct tx_context context[2];
};

/* Frames that wait for descriptors, fifo.c. */
struct fifo {
	uint32_t in, out, used; /* offsets in bytes */
	uint32_t frames;
	uint32_t limit; /* of `used`: RXPBSIZE[0] */
	uint8_t bytes[FIFO_BYTES];
};

/* The registers of 8.2.3.23, by their names. */
struct intel_stats {
	uint64_t prc[6], ptc[6]; /* by size_class() */
	uint64_t gprc, bprc, mprc, gptc, gorc, gotc, bptc, mptc, tor, tpr, tpt;
	uint64_t crcerrs, rlec, ruc, roc, rjc, rxmpc, rxnfgpc;
	uint64_t rxdgpc, rxdgbc, txdgpc, txdgbc;
	uint64_t qprc[STAT_QUEUES], qprdc[STAT_QUEUES], qbrc[STAT_QUEUES];
	uint64_t qptc[STAT_QUEUES], qbtc[STAT_QUEUES];
};

struct nic {
	const struct intel_kind *kind;
	struct mac_mode mode; /* as of the call numbered mode_call; 0: none */
	uint64_t mode_call;

	/* --- reset and link --- */
	uint64_t reset_done;  /* when the reset ends; 0: no reset under way */
	uint64_t link_due;    /* when the link comes up; NEVER: not training */
	bool link;
	bool hangs;           /* FAULT_SEND_HANGS has come since the last reset */
	uint16_t eeprom[EEPROM_WORDS];
	uint64_t eerd_done;   /* NEVER: no read under way */

	/* --- queues --- */
	uint64_t call;        /* counts calls from outside: host addresses are valid for one call */
	uint64_t scan_due;    /* line-rate: next scan of all queues' ENABLE */
	uint64_t settle_due;  /* earliest `settles` of all queues; NEVER: none */
	struct rxq rx[QUEUES];
	struct txq tx[QUEUES];
	uint64_t rx_on[2], tx_on[2]; /* bitmaps of enabled queues */
	uint64_t tx_due;      /* when tx_work has more work; NEVER: nothing */
	struct fifo fifo;
	uint8_t gather[TSO_MAX + FRAME_MAX];
	uint8_t segment[FRAME_MAX + 64];
	uint8_t tagged[FRAME_MAX + 64];
	uint8_t with_fcs[FRAME_MAX + 4];

	/* --- receive filters and RSS, derived from registers when these change --- */
	bool filters_stale, rss_stale;
	uint64_t station[STATIONS]; /* RAL/RAH as 48-bit numbers in wire order */
	unsigned stations;
	uint8_t reta[RETA_MAX];
	struct toeplitz toeplitz;

	/* --- faults --- */
	struct late late[LATE_MAX];
	unsigned late_in, late_out;

	struct intel_stats s;
};

static inline struct nic *nic_of(const struct model *m)
{
	return m->state;
}

static inline const struct intel_kind *kind_of(const struct model *m)
{
	return nic_of(m)->kind;
}

static inline uint32_t get(const struct model *m, uint32_t offset)
{
	return __atomic_load_n(&m->bar0[offset / 4], __ATOMIC_RELAXED);
}

static inline void set(struct model *m, uint32_t offset, uint32_t value)
{
	__atomic_store_n(&m->bar0[offset / 4], value, __ATOMIC_RELAXED);
}

/* The MAC's settings; a card sets mode_call to 0 when they change within a call. */
static inline const struct mac_mode *mode_of(const struct model *m)
{
	struct nic *n = nic_of(m);
	if (n->mode_call != n->call) {
		n->mode = (struct mac_mode){0};
		n->kind->mode(m, &n->mode);
		n->mode_call = n->call;
	}
	return &n->mode;
}

/* The register block of a queue, which begins at its RDBAL or TDBAL. */
static inline uint32_t rx_block(const struct model *m, unsigned q)
{
	const struct intel_kind *k = kind_of(m);
	return q < 64 ? k->rx_base + 64 * q : k->rx_base_64 + 64 * (q - 64);
}

static inline uint32_t tx_block(const struct model *m, unsigned q)
{
	return kind_of(m)->tx_base + 64 * q;
}

/* Bitmaps of queues. */
static inline void queue_map_set(uint64_t map[2], unsigned q)
{
	map[q / 64] |= 1ull << (q & 63);
}

static inline void queue_map_clear(uint64_t map[2], unsigned q)
{
	map[q / 64] &= ~(1ull << (q & 63));
}

/* --- nic.c --- */
/* Begins every call from outside. */
struct nic *nic_enter(struct model *m);
/* Resets all that this header declares but the link. */
void nic_clear(struct model *m);
/* As in struct model_ops. */
uint64_t nic_read(struct model *m, unsigned bar, uint64_t offset, unsigned bytes);
void nic_write(struct model *m, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value);
unsigned nic_rx_room(struct model *m, unsigned max);
void nic_receive(struct model *m, const struct frame *v, unsigned count);
/* Moves frames both ways, and does write-backs that are due; true: a frame moved. */
bool nic_move(struct model *m);
/* Line-rate: takes notice of the ENABLE bits that the guest wrote in mapped pages, if that is due. */
void nic_scan(struct model *m);
/* When nic_move, nic_scan, eerd_work or the card's link have work. */
uint64_t nic_due(struct model *m);
uint64_t nic_earliest(uint64_t a, uint64_t b);

/* --- nvm.c --- */
/* A write of EERD; what is due of it. */
void eerd_write(struct model *m, uint32_t value);
void eerd_work(struct model *m);
/* A read of SWSM. */
uint32_t swsm_read(struct model *m);
/* Sets word 0x3f so that the words before it and it sum up to 0xbaba, plus `more`, the sum of other sections. */
void eeprom_seal(struct model *m, uint16_t more);

/* --- stats.c --- */
/* Reads the lower 32 bits and leaves the rest for the read of the high half; reads and clears. */
uint32_t stats_take_low(uint64_t *counter);
uint32_t stats_take_high(const struct model *m, uint64_t *counter);
uint32_t stats_take(uint64_t *counter);
/* True if the offset is a register of the MAC's statistics; *value is its value, which the read clears. */
bool stats_read_mac(struct model *m, uint32_t offset, uint32_t *value);
/* 64, 65-127, 128-255, 256-511, 512-1023, 1024 and more: bytes with FCS. */
static inline unsigned size_class(uint32_t bytes)
{
	if (bytes <= 64)
		return 0;
	unsigned log2 = 31 - (unsigned)__builtin_clz(bytes);
	return log2 > 10 ? 5 : log2 - 5;
}
void stats_rx_good(struct nic *n, const uint8_t *frame, uint32_t bytes);
void stats_rx_any(struct nic *n, uint32_t bytes);
void stats_tx(struct nic *n, const uint8_t *frame, uint32_t bytes);
static inline unsigned stat_index(const struct model *m, uint32_t map, unsigned queue)
{
	return map ? get(m, map + (queue & ~3u)) >> queue % 4 * 8 & 15 : queue % STAT_QUEUES;
}
static inline unsigned rx_stat_index(const struct model *m, unsigned queue)
{
	return stat_index(m, kind_of(m)->rx_stat_map, queue);
}
static inline unsigned tx_stat_index(const struct model *m, unsigned queue)
{
	return stat_index(m, kind_of(m)->tx_stat_map, queue);
}
struct json;
/* Adds what all cards have. */
void stats_json_common(struct model *m, struct json *j);

/* --- filter.c --- */
bool filter_accepts(struct model *m, const uint8_t *frame);
/* Whether a tagged frame passes, by its tag. */
bool filter_accepts_vlan(const struct model *m, uint16_t tci);

/* --- offload.c --- */
/* The descriptor fields for a received frame's contents. offload_check also fills in `h`. */
struct checked {
	uint32_t status; /* RXD_..., status and errors */
	uint32_t ptype;  /* PTYPE_... */
};
struct checked offload_check(const struct intel_kind *k, const uint8_t *frame, uint32_t bytes,
                             struct headers *h);
/* The same for a frame that its wire vouches for (FRAME_UDP4). */
static inline struct checked offload_vouched(uint32_t bytes, struct headers *h)
{
	*h = (struct headers){.l3 = 14, .l4 = 34, .end = (uint16_t)bytes, .version = 4, .protocol = IP_UDP};
	return (struct checked){.status = RXD_IPCS | RXD_L4CS | RXD_UDPCS, .ptype = PTYPE_IPV4 | PTYPE_UDP};
}
/* The payload sum of an IPv4 fragment. */
uint16_t offload_fragment_sum(const uint8_t *frame, const struct headers *h);

/* --- rss.c --- */
void rss_refresh(struct model *m);
enum rss_type rss_hash(const struct model *m, const uint8_t *frame, const struct headers *h,
                       uint32_t *hash);
unsigned rss_queue(const struct model *m, uint32_t hash);

/* --- fifo.c: the receive packet buffer --- */
/* The MAC's verdict on a frame. */
enum mac_verdict {
	MAC_GOOD,
	MAC_STAMPED, /* good, and time-stamped */
	MAC_DAMAGED, /* passed on because of mac_mode.keeps_bad */
	MAC_REFUSED,
};
struct waiting {
	const uint8_t *frame;
	uint32_t bytes;
	enum mac_verdict verdict;
};
void fifo_clear(struct fifo *f);
/* False: the buffer is full. */
bool fifo_put(struct fifo *f, const uint8_t *frame, uint32_t bytes, enum mac_verdict verdict);
/* The frame that has waited longest; it stays until fifo_pop. False: none. */
bool fifo_first(struct fifo *f, struct waiting *w);
void fifo_pop(struct fifo *f, const struct waiting *w);

/* --- rx.c --- */
void rx_reset(struct model *m);
void rx_forget(struct model *m); /* discards and counts the frames in the packet buffer */
bool rx_work(struct model *m);
unsigned rx_room(struct model *m, unsigned max);
void rx_receive(struct model *m, const struct frame *v, unsigned n);
/* A frame arrives from the transmit side of the MAC (mac_mode.loops). */
void rx_loop_back(struct model *m, const uint8_t *frame, uint32_t bytes);

/* --- late.c --- */
/* Queues a write-back, due FAULT_WRITEBACK_DELAY from now. */
void late_add(struct model *m, const struct late *l);
uint64_t late_deadline(const struct nic *n);
void late_work(struct model *m);

/* --- tx.c --- */
void tx_write(struct model *m, unsigned queue, uint32_t within, uint32_t value);
void tx_settle(struct model *m);
void tx_reset(struct model *m);
void tx_scan(struct model *m);
bool tx_work(struct model *m);

/* --- tso.c --- */
/* Sends the gathered frame of `bytes` as segments, with a VLAN tag if `tag` is not NULL (as for
 * tx_emit). Invalid headers are a violation, and nothing is sent. */
void tso_send(struct model *m, unsigned queue, const struct tx_context *c, uint32_t bytes,
              uint32_t olinfo, const struct tx_context *tag);
/* Sends a finished frame to the wire or loopback: inserts `tag` unless NULL, pads, counts. */
void tx_emit(struct model *m, unsigned queue, const uint8_t *data, uint32_t bytes,
             const struct tx_context *tag);

#endif
