/*
 * The contract between device models, their hosts, and their wires.
 *
 * A model is a PCI function made of memory and rules. It is a passive object: its owner calls it
 * with register accesses, with frames, and with the time; it answers through the host (struct
 * sim_host: DMA, interrupts) and its wire. It has no thread, opens nothing, waits for nothing. So
 * the same model runs behind vfio-user under QEMU (port.h, vfio_user.h) and inside one process
 * together with a driver under ASan (tests/unit/rig/nicsim_rig.h).
 *
 * 1. All calls for one model come from one thread and do not nest: the functions that a model calls
 *    (DMA, interrupts, wire) never call it back.
 * 2. Time is in nanoseconds of CLOCK_MONOTONIC, or of the test's own clock. It is in m->now, which
 *    the caller sets before every call; it does not change during a call.
 * 3. The guest's CPUs write its memory and mapped registers while the model reads them: the model
 *    reads each field once, then checks and uses that copy. Data that the guest polls is stored
 *    last, by __atomic_store_n(…, __ATOMIC_RELEASE); the guest's indices are loaded before the data
 *    they point at (__ATOMIC_ACQUIRE).
 * 4. Models are written from the manuals and share no header with the drivers, so that one
 *    misreading cannot hide in both. They trust nothing from the guest: forbidden driver behaviour
 *    is a violation (model_violation), reported with the register's name, counted, and answered as
 *    the device would, or ignored.
 *
 * To add a model: fill in one struct model_ops and add it to models[] (models.c). testdev.c is a
 * minimal one; packet/ has the packet processing common to Ethernet cards. docs/nicsim.md lists the
 * other steps.
 */
#ifndef NICSIM_MODEL_H
#define NICSIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/nicsim/frame.h"
#include "tools/nicsim/reg.h"

struct json;
struct model;
struct wire;

/* --- what a model is given --- */

enum dma_access { DMA_READ, DMA_WRITE }; /* from the device's point of view */

/* A piece of guest memory that is one piece for the host, too. */
struct dma_piece {
	uint64_t bus, bytes;
	uint8_t *at;
	bool writable;
};

/* The model's host. `ctx` belongs to the host. Models call model_dma and model_irq, which count. */
struct sim_host {
	void *ctx;
	/* Returns the host address of guest memory [bus, bus + bytes), valid until the next call
	 * into the model from outside. NULL: the range is not one piece of guest memory that the
	 * device may access in this way, or the guest has not enabled bus mastering. */
	void *(*dma)(void *ctx, uint64_t bus, uint64_t bytes, enum dma_access access);
	/* Fires MSI-X vector `vector`: an event, lost while the guest has the vector masked or
	 * disabled. */
	void (*irq)(void *ctx, unsigned vector);
	/* The piece around `bus`, as long valid; false: dma would return NULL, or is to be asked. May
	 * be NULL. */
	bool (*piece)(void *ctx, uint64_t bus, struct dma_piece *out);
};

/* --- faults --- */

/* One fault that a model (or every model) can be told to show. */
struct fault_kind {
	const char *name; /* as in fault=NAME[:ARG]; differs from those in port_faults (port.h) */
	const char *arg;  /* name of its argument for --help ("MS", "N"); NULL: takes none */
	uint64_t standard; /* value when the argument is left out */
	const char *help; /* one line */
};

#define FAULTS_MAX 32

/* --- the contract --- */

#define MAPPED_MAX  16  /* ranges of BAR 0 */
#define VECTORS_MAX 256 /* of MSI-X */

/* The constants of a model; model_create asserts what can be checked. Every function is required
 * unless marked "may be NULL". */
struct model_ops {
	const char *name;  /* as in model=NAME */
	const char *title; /* for --help: "Intel 82599ES 10 GbE (8086:10fb)" */

	size_t state_bytes; /* of the model's own state, zeroed by model_create */

	/*
	 * PCI identity. bar_bytes[i]: a power of two from 4096, BAR 0 at most 2^32, or 0: no such
	 * BAR. bar_is_64: this BAR and the next are one 64-bit BAR. Capabilities: their offsets,
	 * from 0x40, without overlap (PM 8 bytes, MSI-X 12, PCIe 60); 0: none. pcie_speed and
	 * pcie_lanes are of the trained link.
	 */
	uint16_t vendor, device, subsystem_vendor, subsystem;
	uint32_t class_code; /* 0x020000 */
	uint8_t revision;
	uint64_t bar_bytes[6];
	bool bar_is_64[6];
	uint8_t msix_cap, pcie_cap, pm_cap;
	uint8_t pcie_speed; /* 1: 2.5, 2: 5, 3: 8 GT/s */
	uint8_t pcie_lanes;
	unsigned msix_vectors; /* up to VECTORS_MAX */
	uint8_t msix_bar;
	uint32_t msix_table, msix_pba; /* offsets in that BAR; the model sees no accesses there */

	/*
	 * Page-aligned ranges of BAR 0 that line-rate mode maps into the guest, up to MAPPED_MAX;
	 * ends with bytes 0. The guest writes m->bar0 there directly: no call, no trace, no check,
	 * no clear on read. Values coalesce, and a repeated write of the same value is invisible.
	 * Such pages carry state (a tail), not events. Accesses may still trap.
	 */
	const struct bar_range { uint64_t offset, bytes; } *mapped;

	const struct reg_row *regs; /* of BAR 0, ends with a NULL name; NULL: no register table */
	const struct fault_kind *faults; /* ends with a NULL name; NULL: none */

	/* Sets the state after power-on: no carrier, no fault. m->bar0 is already zero. Called
	 * once. */
	void (*create)(struct model *m);
	/* Frees what is not in m->state; may be NULL. */
	void (*destroy)(struct model *m);

	/* PCI function-level or bus reset, or the guest has disconnected: restores the state after
	 * power-on, m->bar0 included. Carrier, faults and the fields of struct model stay as they
	 * are. No DMA, no interrupt, no frame. */
	void (*reset)(struct model *m);

	/*
	 * Access to a BAR (not to MSI-X structures). bytes is 1, 2, 4 or 8, inside the BAR, at any
	 * offset. `value` is as an x86 load or store has it: the byte at `offset` is the lowest. A
	 * card with big-endian registers swaps. A 64-bit access of the guest may come as one of 8
	 * bytes or as two of 4, the low offset first; a model must accept both.
	 */
	uint64_t (*read)(struct model *m, unsigned bar, uint64_t offset, unsigned bytes);
	void (*write)(struct model *m, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value);

	/*
	 * How many frames receive() would take now without loss, at most `max`. A model that is
	 * reset, disabled or whose link is down accepts and discards frames as the device would, so
	 * it returns max.
	 */
	unsigned (*rx_room)(struct model *m, unsigned max);

	/*
	 * n <= FRAME_BURST frames arrive, possibly more than rx_room returned. Frames without room
	 * are counted as the device counts them (82599: RXMPC) and in m->rx_missed. The caller
	 * keeps the frames. Not called while there is no carrier.
	 */
	void (*receive)(struct model *m, const struct frame *v, unsigned n);

	/*
	 * Does what is due at m->now: checks doorbells (in line-rate mode the guest's writes send
	 * no message), sends, moderates interrupts, runs timers and faults. Called after accesses,
	 * at the deadline, and again soon after it has returned true: it moved a frame. It may
	 * therefore leave work for the next call, and should do so after some hundred frames,
	 * because other ports wait.
	 */
	bool (*work)(struct model *m);

	/*
	 * When work() must be called even if nothing happens; at or before m->now: at once;
	 * UINT64_MAX: never. In strict mode the model is not called before that time unless the
	 * guest accesses a register or a frame arrives. So a model that learns of work, or of room
	 * for frames, only from guest memory (doorbell records) must set a near deadline while it
	 * waits for them: frames stay at the wire until a later rx_room call returns more than 0.
	 */
	uint64_t (*deadline)(struct model *m);

	/* The cable: the carrier of the wire has changed (m->carrier). */
	void (*carrier)(struct model *m);

	/* A fault was set, set again or cleared (m->faults, m->fault_arg); may be NULL. */
	void (*fault)(struct model *m, unsigned index);

	/* Adds the model's own statistics to the open JSON object: json_u64(j, name, value)... */
	void (*stats)(struct model *m, struct json *j);
};

/* One port. The comments name the writer of each field, apart from model_create. */
struct model {
	const struct model_ops *ops;
	unsigned port; /* number on the command line, for messages */
	struct sim_host host;
	struct wire *wire; /* receives sent frames (model_send); may be NULL in tests */
	void *state;       /* the model: ops->state_bytes */
	uint32_t *bar0;    /* the model, and the guest where mapped: storage of BAR 0 */
	uint8_t mac[6];    /* station address in the model's EEPROM or firmware */
	bool line_rate;    /* the guest writes the ranges in ops->mapped without a message to us */
	bool carrier;      /* the owner: the other end of the wire is up */
	bool masters;      /* the owner: the guest lets the device access memory (PCI bus mastering); a model
	                      leaves its queues alone while it does not */
	bool removed;      /* the owner: surprise removal; no accesses and no frames arrive then */
	uint64_t now;      /* the owner, before every call into the model */
	struct dma_piece piece; /* model_reach: the one found last; none at the begin of a call */

	/* model_fault_set and _clear: bit i and argument belong to ops->faults[i]. */
	uint32_t faults;
	uint64_t fault_arg[FAULTS_MAX];
	uint64_t fault_count[FAULTS_MAX]; /* model_fault_strikes */

	/* Statistics common to all models. */
	uint64_t reads, writes;       /* model_read, model_write: BAR accesses that trapped */
	uint64_t rx_frames, rx_bytes; /* the model: delivered into guest memory */
	uint64_t rx_missed;           /* the model: arrived, but there was no room */
	uint64_t rx_refused;          /* the model: arrived, but was damaged, not for this card,
	                                 or the card was not receiving. Every frame from the wire
	                                 is one of these three, or waits in the card */
	uint64_t tx_frames, tx_bytes; /* model_send: handed to the wire */
	uint64_t tx_lost;             /* the model: frames to send while the link was down; Intel's
	                                 cards hold these instead */
	uint64_t tx_segments;         /* the model: of the frames sent and lost, those after the
	                                 first that were cut from one packet. The guest has thus
	                                 sent tx_frames + tx_lost - tx_segments packets */
	uint64_t irqs;                /* model_irq */
	uint64_t dma_errors;          /* model_dma: addresses that are not guest memory */
	uint64_t violations;          /* model_violation, as is the next field */
	char last_violation[256];
	struct reg_stats *reg_stats; /* model_read, model_write: per row of ops->regs */
	FILE *trace;                 /* the owner; NULL: no trace */
};

/* --- for owners of a model --- */

/* Makes a model. bar0 is zeroed memory of ops->bar_bytes[0] bytes, owned by the caller. NULL: no
 * memory. */
struct model *model_create(const struct model_ops *ops, unsigned port, const struct sim_host *host,
                           struct wire *wire, uint32_t *bar0, const uint8_t mac[6], bool line_rate,
                           uint64_t now);
void model_destroy(struct model *m); /* NULL: does nothing */

/*
 * Entry points for accesses from the guest: set m->now, count, trace, check against the register
 * table (reg.h), read all ones when the device is removed, then call ops->read/write.
 */
uint64_t model_read(struct model *m, unsigned bar, uint64_t offset, unsigned bytes, uint64_t now);
void model_write(struct model *m, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value,
                 uint64_t now);

/* Index in ops->faults of `name`, or -1. */
int model_fault_find(const struct model_ops *ops, const char *name);
void model_fault_set(struct model *m, unsigned index, uint64_t arg);
void model_fault_clear(struct model *m, unsigned index);

/* --- for models --- */

static inline bool model_fault(const struct model *m, unsigned index)
{
	return m->faults >> index & 1;
}

/* For a fault whose argument is N, "one in N": true for one call in N while the fault is on. */
bool model_fault_strikes(struct model *m, unsigned index);

/* The row of the register of BAR 0 at `offset`. */
struct reg_ref model_reg(const struct model *m, uint32_t offset);

/*
 * Reports forbidden behaviour of the guest: printed once per message (the first 100 of a port),
 * always counted and traced. The message names the register, the queue, and what was expected.
 */
void model_violation(struct model *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Begins every call from outside that may access guest memory: mappings change between calls. */
static inline void model_enter(struct model *m)
{
	m->piece.bytes = 0;
}

/* The slow path of model_reach: another piece. */
void *model_reach_other(struct model *m, uint64_t bus, uint64_t bytes, enum dma_access access);

/* Guest memory as sim_host.dma returns it, without asking the host for every address of a piece. */
static inline void *model_reach(struct model *m, uint64_t bus, uint64_t bytes, enum dma_access access)
{
	const struct dma_piece *p = &m->piece;
	const uint64_t offset = bus - p->bus;
	if (__builtin_expect(offset < p->bytes && bytes <= p->bytes - offset &&
	                             (p->writable || access == DMA_READ), 1))
		return p->at + offset;
	return model_reach_other(m, bus, bytes, access);
}

/* A copy of the piece found last, for loops: the compiler can keep it in registers. `limit` is short
 * by a frame, so one comparison is enough for any frame; 0: there is no such piece. */
struct dma_view {
	uint64_t bus, limit;
	uint8_t *at;
};

static inline struct dma_view model_view(const struct model *m, enum dma_access access)
{
	const struct dma_piece *p = &m->piece;
	const bool fits = p->bytes > FRAME_MAX && (p->writable || access == DMA_READ);
	return (struct dma_view){p->bus, fits ? p->bytes - FRAME_MAX : 0, p->at};
}

/* model_reach for at most FRAME_MAX bytes; may renew the view. */
static inline void *model_view_reach(struct model *m, struct dma_view *v, uint64_t bus, uint64_t bytes,
                                     enum dma_access access)
{
	if (__builtin_expect(bus - v->bus < v->limit, 1))
		return v->at + (bus - v->bus);
	void *at = model_reach(m, bus, bytes, access);
	*v = model_view(m, access);
	return at;
}

/* Counts and reports an address that is not guest memory. Returns NULL. */
void *model_dma_error(struct model *m, uint64_t bus, uint64_t bytes, const char *what);

/* model_reach; NULL is counted in dma_errors and reported as a violation of `what`, the register or
 * descriptor that held the address. */
static inline void *model_dma(struct model *m, uint64_t bus, uint64_t bytes, enum dma_access access,
                              const char *what)
{
	void *at = model_reach(m, bus, bytes, access);
	return __builtin_expect(at != NULL, 1) ? at : model_dma_error(m, bus, bytes, what);
}

/* Fires an MSI-X vector and counts it. */
void model_irq(struct model *m, unsigned vector);

/* Passes a frame, or n <= FRAME_BURST of them in order, to the wire and counts them. The caller may
 * reuse the bytes afterwards. */
void model_send(struct model *m, const uint8_t *data, uint32_t bytes);
void model_send_all(struct model *m, const struct frame *v, unsigned n);

extern const struct model_ops *const models[];
extern const unsigned model_count;

#endif
