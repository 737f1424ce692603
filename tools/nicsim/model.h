/*
 * The contract between device models, what carries them to a guest, and their wires.
 *
 * A model is a PCI function made of memory and rules. It is a passive object: whoever owns it calls
 * it with register accesses, with frames, and with the time; it answers through the host (struct
 * sim_host: DMA, interrupts) and its wire. It has no thread, opens nothing, waits for nothing. So
 * the same model runs behind vfio-user under QEMU (port.h, vfio_user.h) and inside one process
 * together with a driver under ASan (tests/unit/nicsim_rig.h).
 *
 * 1. All calls for one model come from one thread and do not nest: what a model calls (DMA,
 *    interrupts, wire) never calls it back.
 * 2. Time is in nanoseconds of CLOCK_MONOTONIC, or the test's. It is in m->now, which the caller
 *    sets before every call; it does not pass during one.
 * 3. The guest's CPUs write its memory, and mapped registers, while the model looks at them: each
 *    field is read once, and what was read is checked and used. What the guest waits for is stored
 *    last, by __atomic_store_n(…, __ATOMIC_RELEASE); its indices are loaded before what they point
 *    at (__ATOMIC_ACQUIRE).
 * 4. Models are written from the manuals and share no header with the drivers, so that one
 *    misreading cannot hide in both. They trust nothing from the guest: what a driver may not do is
 *    a violation (model_violation), reported with the register's name, counted, and answered as the
 *    device would, or by ignoring it.
 *
 * To add a model: fill in one struct model_ops and add it to models[] (models.c). testdev.c is one
 * as small as can be; packet/ has what any Ethernet card does with a packet. docs/nicsim.md lists
 * what else there is to do.
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

enum dma_access { DMA_READ, DMA_WRITE }; /* as the device sees it */

/* Who carries the model. `ctx` is his own. Models use model_dma and model_irq, which count. */
struct sim_host {
	void *ctx;
	/* Host address of guest memory [bus, bus + bytes), valid until the next call into the model
	 * from outside. NULL when not all of it is one piece of the guest's memory that the device
	 * may access so, or when the guest does not let the device be bus master. */
	void *(*dma)(void *ctx, uint64_t bus, uint64_t bytes, enum dma_access access);
	/* Fires MSI-X vector `vector`: an event, lost while the guest has it masked or disabled. */
	void (*irq)(void *ctx, unsigned vector);
};

/* --- faults --- */

/* One fault a model (or every model) can be told to show. */
struct fault_kind {
	const char *name; /* as in fault=NAME[:ARG]; none of port_faults (port.h) */
	const char *arg;  /* name of its argument for --help ("MS", "N"); NULL: takes none */
	uint64_t standard; /* value when the argument is left out */
	const char *help; /* one line */
};

#define FAULTS_MAX 32

/* --- the contract --- */

#define MAPPED_MAX  16  /* ranges of BAR 0 */
#define VECTORS_MAX 256 /* of MSI-X */

/* A constant of each model: model_create asserts what can be checked of it. Functions without
 * "may be NULL" must be there. */
struct model_ops {
	const char *name;  /* as in model=NAME */
	const char *title; /* for --help: "Intel 82599ES 10 GbE (8086:10fb)" */

	size_t state_bytes; /* of the model's own state, zeroed by model_create */

	/*
	 * PCI identity. bar_bytes[i]: a power of two from 4096, BAR 0 at most 2^32, or 0: no such
	 * BAR. bar_is_64: it and the next are one 64-bit BAR. Capabilities: their offsets, from 0x40,
	 * without overlap (PM 8 bytes, MSI-X 12, PCIe 60); 0: none. The link is what it has trained to.
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
	uint32_t msix_table, msix_pba; /* offsets in that BAR; the model never sees accesses there */

	/*
	 * Page-aligned ranges of BAR 0 that line-rate mode maps into the guest, up to MAPPED_MAX;
	 * ends with bytes 0. There the guest writes m->bar0 itself: no call, no trace, no check,
	 * nothing clears when read; values coalesce, and writing the same value again cannot be
	 * seen. Such pages carry state (a tail), not events. Accesses may trap all the same.
	 */
	const struct bar_range { uint64_t offset, bytes; } *mapped;

	const struct reg_row *regs; /* of BAR 0, ends with a NULL name; NULL: no register table */
	const struct fault_kind *faults; /* ends with a NULL name; NULL: none */

	/* The state after power-on: no carrier, no fault. m->bar0 is zeroed before. Called once. */
	void (*create)(struct model *m);
	/* Gives back what is not in m->state; may be NULL. */
	void (*destroy)(struct model *m);

	/* PCI function-level or bus reset, or the guest has gone: as after power-on, m->bar0
	 * included. Carrier, faults and the fields of struct model stay as they are; no DMA, no
	 * interrupt, no frame. */
	void (*reset)(struct model *m);

	/*
	 * Access to a BAR (not to MSI-X structures). bytes is 1, 2, 4 or 8, inside the BAR, at any
	 * offset. `value` is as an x86 load or store has it: the byte at `offset` lowest. A card
	 * with big-endian registers swaps. A 64-bit access of the guest may come as one of 8 bytes
	 * or as two of 4, the low offset first; a model takes both.
	 */
	uint64_t (*read)(struct model *m, unsigned bar, uint64_t offset, unsigned bytes);
	void (*write)(struct model *m, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value);

	/*
	 * How many frames receive() would take now without loss, at most `max`. A model that is
	 * reset, disabled or whose link is down takes and discards as the device would: it answers
	 * max.
	 */
	unsigned (*rx_room)(struct model *m, unsigned max);

	/*
	 * n <= FRAME_BURST frames arrive, also when rx_room has said less. Those without room are
	 * counted as the device counts them (82599: RXMPC) and in m->rx_missed. The frames are the
	 * caller's. Not called while there is no carrier.
	 */
	void (*receive)(struct model *m, const struct frame *v, unsigned n);

	/*
	 * Does what is due at m->now: looks at doorbells (in line-rate mode nobody tells), sends,
	 * moderates interrupts, runs timers and faults. Called after accesses, at the deadline, and
	 * again soon when it has returned true: it moved a frame. So it may leave the rest for the
	 * next call, and should after some hundred frames, for other ports wait.
	 */
	bool (*work)(struct model *m);

	/*
	 * When work() must be called though nothing happens, at or before m->now: at once;
	 * UINT64_MAX: never. In strict mode nobody looks at the model before that unless the guest
	 * accesses a register or a frame comes. So a model that learns of work, or of room for
	 * frames, from guest memory alone (doorbell records) must come back soon while it waits for
	 * that: frames stay at the wire until somebody sees that rx_room is more than 0.
	 */
	uint64_t (*deadline)(struct model *m);

	/* The cable: carrier from the wire has changed (m->carrier). */
	void (*carrier)(struct model *m);

	/* A fault was set, set anew or cleared (m->faults, m->fault_arg); may be NULL. */
	void (*fault)(struct model *m, unsigned index);

	/* Adds the model's own statistics to the JSON object that is open: json_u64(j, name, value)... */
	void (*stats)(struct model *m, struct json *j);
};

/* One port. After each field: who writes it, but for model_create. */
struct model {
	const struct model_ops *ops;
	unsigned port; /* number on the command line, for messages */
	struct sim_host host;
	struct wire *wire; /* where sent frames go (model_send); may be NULL in tests */
	void *state;       /* the model: ops->state_bytes */
	uint32_t *bar0;    /* the model, and the guest where mapped: storage of BAR 0 */
	uint8_t mac[6];    /* station address in the model's EEPROM or firmware */
	bool line_rate;    /* the guest writes the ranges in ops->mapped without anybody telling us */
	bool carrier;      /* the owner: the other end of the wire is up */
	bool removed;      /* the owner: surprise removal; neither accesses nor frames come then */
	uint64_t now;      /* the owner, before every call into the model */

	/* model_fault_set and _clear: bit i and argument of ops->faults[i]. */
	uint32_t faults;
	uint64_t fault_arg[FAULTS_MAX];
	uint64_t fault_count[FAULTS_MAX]; /* model_fault_strikes */

	/* Statistics common to all models. */
	uint64_t reads, writes;       /* model_read, model_write: BAR accesses that trapped */
	uint64_t rx_frames, rx_bytes; /* the model: delivered into guest memory */
	uint64_t rx_missed;           /* the model: arrived, no room */
	uint64_t rx_refused;          /* the model: arrived, and not for this card, damaged, or the
	                                 card did not listen. So each frame from the wire is one of
	                                 the three, or waits in the card */
	uint64_t tx_frames, tx_bytes; /* model_send: handed to the wire */
	uint64_t tx_lost;             /* the model: frames to be sent, and the link was down */
	uint64_t tx_segments;         /* the model: of both, those behind the first that were cut
	                                 from one packet. So tx_frames + tx_lost - tx_segments is
	                                 how many packets the guest has sent */
	uint64_t irqs;                /* model_irq */
	uint64_t dma_errors;          /* model_dma: addresses that are not the guest's memory */
	uint64_t violations;          /* model_violation, as the next */
	char last_violation[256];
	struct reg_stats *reg_stats; /* model_read, model_write: per row of ops->regs */
	FILE *trace;                 /* the owner; NULL: no trace */
};

/* --- for who owns a model --- */

/* Makes a model; bar0 is memory of ops->bar_bytes[0] bytes, zeroed, the caller's. NULL: no
 * memory. */
struct model *model_create(const struct model_ops *ops, unsigned port, const struct sim_host *host,
                           struct wire *wire, uint32_t *bar0, const uint8_t mac[6], bool line_rate,
                           uint64_t now);
void model_destroy(struct model *m); /* NULL: nothing */

/*
 * The door for accesses from the guest: sets m->now, counts, traces, checks against the register
 * table (reg.h), answers all ones when the device is removed, then calls ops->read/write.
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

/* A fault whose argument is N, "one in N": true for one call in N while it is on. */
bool model_fault_strikes(struct model *m, unsigned index);

/* The row of a register of BAR 0, by its offset. */
struct reg_ref model_reg(const struct model *m, uint32_t offset);

/*
 * The guest did what it may not: printed once per kind of message (the first 100 of a port), always
 * counted and traced. Say which register, which queue, and what was expected.
 */
void model_violation(struct model *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Guest memory as sim_host.dma gives it; NULL is counted in dma_errors and reported as a violation
 * of `what`, the register or descriptor that the address is from. */
void *model_dma(struct model *m, uint64_t bus, uint64_t bytes, enum dma_access access,
                const char *what);

/* Fires an MSI-X vector and counts it. */
void model_irq(struct model *m, unsigned vector);

/* Hands a frame to the wire and counts it. The bytes are the caller's again afterwards. */
void model_send(struct model *m, const uint8_t *data, uint32_t bytes);

extern const struct model_ops *const models[];
extern const unsigned model_count;

#endif
