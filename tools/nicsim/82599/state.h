/*
 * The state of one 82599, and the functions shared by its files.
 *
 * Register values are in m->bar0, part of which line-rate mode shares with the guest. This struct
 * holds what is not a register, or must not be read back from memory that the guest can write.
 */
#ifndef NICSIM_82599_STATE_H
#define NICSIM_82599_STATE_H

#include "tools/nicsim/82599/82599.h"
#include "tools/nicsim/82599/spec.h"
#include "tools/nicsim/model.h"
#include "tools/nicsim/packet/headers.h"
#include "tools/nicsim/packet/toeplitz.h"

#define QUEUES 128
#define STATIONS 128 /* RAL/RAH pairs */
#define STAT_QUEUES 16
#define VECTORS 64
#define FIFO_BYTES (512u << 10)
#define TSO_MAX (256u << 10) /* PAYLEN has 18 bits */
#define TX_FRAME_MAX (FRAME_MAX - 8u) /* leaves room for a tag and an FCS */
#define EEPROM_WORDS 8192
#define RETA_MAX 512
#define PHY_REGS 16
#define NEVER UINT64_MAX

enum fault {
	FAULT_RESET_STUCK,
	FAULT_EEPROM_CHECKSUM,
	FAULT_EEPROM_STUCK,
	FAULT_RXDCTL_STUCK,
	FAULT_TXDCTL_STUCK,
	FAULT_NO_DMA_DONE,
	FAULT_SECRX_LATE,
	FAULT_MASTER_STUCK,
	FAULT_RX_STUCK,
	FAULT_HEAD_STUCK,
	FAULT_WRITEBACK_DELAY,
	FAULT_WRITEBACK_LOST,
	FAULT_BAD_LENGTH,
	FAULT_ERROR_BITS,
	FAULT_DD_GARBAGE,
	FAULT_STAMP_LOST,
	FAULT_LINK_LATE,
	FAULT_MODULE_OUT,
	FAULT_SEND_HANGS,
	FAULT_FIRMWARE_STUCK,
	FAULT_MEMORY_ERROR,
	FAULTS_OF_82599,
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

/* The rate limiter of a transmit queue, limiter.c. */
struct limiter {
	uint32_t config; /* RTTBCNRC */
	uint32_t part;   /* fraction of `next`, in units of 1 / (10 * 2^14) ns */
	uint64_t next;   /* when the queue's next frame may leave */
};

/* The clock, timesync.c. */
struct timesync {
	uint64_t base, since; /* SYSTIM was `base` at time `since` (ns) */
	uint64_t latched;     /* when SYSTIML was read, for SYSTIMH */
	bool has_latched;
};

/* Frames that wait for descriptors, fifo.c. */
struct fifo {
	uint32_t in, out, used; /* offsets in bytes */
	uint32_t frames;
	uint32_t limit; /* of `used`: RXPBSIZE[0] */
	uint8_t bytes[FIFO_BYTES];
};

enum i2c_phase { I2C_IDLE, I2C_ADDRESS, I2C_OFFSET, I2C_DATA, I2C_READ };

struct sfp {
	bool scl;       /* the level of the clock line */
	bool let_go, sda; /* as released by the host: the clock and data */
	uint64_t held;  /* until when the module holds a released clock low */
	bool out;       /* as driven by the module: open drain */
	bool ack;       /* in the ninth bit */
	bool nak;       /* the host did not acknowledge */
	enum i2c_phase phase;
	uint8_t bits, shift, page, offset;
};

/* A PHY on the MDIO bus, phy.c. */
struct phy {
	bool there;
	uint8_t address;
	uint16_t reg; /* of the last address cycle */
	uint16_t value[PHY_REGS];
};

/* What differs between the chips. */
struct variant {
	bool x550;               /* semaphore REGSMP, EEPROM by the firmware, link by the PHY */
	uint32_t fifo_bytes;     /* of the receive packet buffer */
	unsigned reta_entries;
	uint8_t reta_mask;       /* bits of an entry */
	uint8_t eeprom_last;     /* last of the first words that the EEPROM's checksum covers */
	uint16_t eeprom_sections; /* bitmap of the words that point to sections it covers */
};

/* The registers of 8.2.3.23, by their names; stats.c. */
struct stats82599 {
	uint64_t prc[6], ptc[6]; /* by size_class() */
	uint64_t gprc, bprc, mprc, gptc, gorc, gotc, bptc, mptc, tor, tpr, tpt;
	uint64_t crcerrs, rlec, ruc, roc, rjc, rxmpc, rxnfgpc;
	uint64_t rxdgpc, rxdgbc, txdgpc, txdgbc;
	uint64_t qprc[STAT_QUEUES], qprdc[STAT_QUEUES], qbrc[STAT_QUEUES];
	uint64_t qptc[STAT_QUEUES], qbtc[STAT_QUEUES];
};

struct nic {
	/* --- reset and link, 82599.c --- */
	uint64_t reset_done;  /* when CTRL.RST clears; 0: no reset under way */
	uint64_t rx_off;      /* when SECRXCTRL.RX_DIS was set */
	uint64_t link_due;    /* when the link comes up; NEVER: not training */
	bool link;
	bool hangs;           /* FAULT_SEND_HANGS has come since the last reset */
	bool partner_is_slow; /* the other end uses 1 Gb/s */
	uint32_t mbps;        /* X550: speed of the other end */
	uint32_t restarts;    /* of the link, since reset */
	const struct variant *variant;
	struct phy phy;
	uint64_t command_done; /* of the host interface; NEVER: no command under way */
	uint16_t eeprom[EEPROM_WORDS];
	uint64_t eerd_done;   /* NEVER: no read under way */
	struct sfp sfp;
	struct sfp_codes module; /* in the cage */
	uint64_t stretch_ns;     /* intel_82599_set_stretch */
	struct timesync timesync;

	/* --- interrupts, intr.c --- */
	uint64_t cause;       /* queue causes 0 .. 63 (EICR 15:0 and the _EX registers) */
	uint64_t mask;        /* EIMS of these */
	uint32_t other_cause, other_mask; /* EICR, EIMS 30:16 */
	uint64_t pending;     /* vectors that wait for their EITR */
	uint64_t may_fire[VECTORS]; /* ns */
	uint64_t irq_due;     /* earliest may_fire of the pending vectors */

	/* --- queues --- */
	uint64_t call;        /* counts calls from outside: host addresses are valid for one call */
	uint64_t settle_due;  /* earliest `settles` of all queues; NEVER: none */
	struct rxq rx[QUEUES];
	struct txq tx[QUEUES];
	struct limiter limiter[QUEUES];
	uint64_t rx_on[2], tx_on[2]; /* bitmaps of enabled queues */
	uint64_t tx_due;      /* when tx_work has more work; NEVER: nothing */
	uint64_t scan_due;    /* line-rate: next scan of all queues' ENABLE */
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

	struct stats82599 s;
};

static inline struct nic *nic_of(const struct model *m)
{
	return m->state;
}

static inline uint32_t get(const struct model *m, uint32_t offset)
{
	return __atomic_load_n(&m->bar0[offset / 4], __ATOMIC_RELAXED);
}

static inline void set(struct model *m, uint32_t offset, uint32_t value)
{
	__atomic_store_n(&m->bar0[offset / 4], value, __ATOMIC_RELAXED);
}

/* The register block of a queue, which begins at its RDBAL or TDBAL. */
static inline uint32_t rx_block(unsigned q)
{
	return q < 64 ? RDBAL + 64 * q : RDBAL_64 + 64 * (q - 64);
}

static inline uint32_t tx_block(unsigned q)
{
	return TDBAL + 64 * q;
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

/* --- eeprom.c --- */
void eeprom_make(struct model *m);
void eeprom_write(struct model *m, uint32_t offset, uint32_t value);
void eeprom_work(struct model *m);

/* --- 82599.c --- */
void nic_power_on(struct model *m, const struct variant *v);
void link_update(struct model *m);

/* --- phy.c --- */
/* Puts a PHY on the bus. */
void phy_make(struct model *m, uint8_t address, bool low_power);
bool phy_low_power(const struct phy *p);
/* A write of MSCA with its command bit. True: negotiation begins anew. */
bool phy_command(struct model *m, uint32_t msca);

/* --- x550.c --- */
void host_write(struct model *m, uint32_t value); /* HICR */
void host_work(struct model *m);
/* LINKS, bits 29:27. */
uint32_t x550_speed(uint32_t mbps);

/* --- sfp.c --- */
void sfp_write(struct model *m, uint32_t value);
uint32_t sfp_read(struct model *m);

/* --- intr.c --- */
void intr_reset(struct model *m);
uint32_t intr_read(struct model *m, uint32_t offset);
void intr_write(struct model *m, uint32_t offset, uint32_t value);
void intr_other(struct model *m, uint32_t bits);
/* The queue has an event to report. */
void intr_rx_queue(struct model *m, unsigned queue);
void intr_tx_queue(struct model *m, unsigned queue);
void intr_work(struct model *m);

/* --- stats.c --- */
/* True if the offset is a statistics register; *value is its value, which the read clears. */
bool stats_read(struct model *m, uint32_t offset, uint32_t *value);
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
static inline unsigned rx_stat_index(const struct model *m, unsigned queue)
{
	return get(m, RQSMR + (queue & ~3u)) >> queue % 4 * 8 & 15;
}
static inline unsigned tx_stat_index(const struct model *m, unsigned queue)
{
	return get(m, TQSM + (queue & ~3u)) >> queue % 4 * 8 & 15;
}
struct json;
void stats_json(struct model *m, struct json *j);

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
struct checked offload_check(const uint8_t *frame, uint32_t bytes, struct headers *h);
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
	MAC_DAMAGED, /* passed on because of FCTRL.SBP */
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
/* A frame arrives from the transmit side of the MAC (HLREG0.LPBK). */
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

/* --- limiter.c --- */
void limiter_reset(struct model *m);
/* Writes of RTTDQSEL and RTTBCNRC. */
void limiter_select(struct model *m, uint32_t value);
void limiter_write(struct model *m, uint32_t value);
/* The queue was empty and now has frames. */
void limiter_wake(struct model *m, unsigned queue);
/* The queue sends a frame of `bytes`, including the FCS. */
void limiter_charge(struct model *m, unsigned queue, uint32_t bytes);

/* --- timesync.c --- */
void timesync_reset(struct model *m);
/* True if the offset is a time-stamping register with side effects. */
bool timesync_read(struct model *m, uint32_t offset, uint32_t *value);
bool timesync_write(struct model *m, uint32_t offset, uint32_t value);
/* A frame with the 1588 bit set leaves. */
void timesync_sent(struct model *m, unsigned queue);
/* For a frame of at least 60 bytes without a tag. False: timesync_received would return false. */
bool timesync_may_want(const struct model *m, const uint8_t *frame, uint32_t type);
/* A good frame arrived at `at` (ns; 0: now). True: it was time-stamped. */
bool timesync_received(struct model *m, const uint8_t *frame, uint32_t bytes, uint64_t at);

/* --- tso.c --- */
/* Sends the gathered frame of `bytes` as segments, with a VLAN tag if `tag` is not NULL (as for
 * tx_emit). Invalid headers are a violation, and nothing is sent. */
void tso_send(struct model *m, unsigned queue, const struct tx_context *c, uint32_t bytes,
              uint32_t olinfo, const struct tx_context *tag);
/* Sends a finished frame to the wire or loopback: inserts `tag` unless NULL, pads, counts. */
void tx_emit(struct model *m, unsigned queue, const uint8_t *data, uint32_t bytes,
             const struct tx_context *tag);

#endif
