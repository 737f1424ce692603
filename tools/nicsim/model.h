/*
 * The contract between device models, what carries them to a guest, and their wires.
 *
 * A model is a PCI function made of memory and rules. It is a passive object: whoever owns it calls
 * it with register accesses, with frames, and with the time; it answers through the host (struct
 * sim_host: DMA, interrupts) and its wire. It has no thread, opens nothing, waits for nothing. So
 * the same model runs behind vfio-user under QEMU (vfio_user.c) and inside one process together with
 * a driver under ASan (tests/unit/nicsim_rig.c).
 *
 * All calls for one model come from one thread. Time is in nanoseconds of CLOCK_MONOTONIC, or the
 * test's.
 *
 * Models are written from the manuals and share no header with the drivers, so that one misreading
 * cannot hide in both. They trust nothing from the guest: what a driver may not do is a violation,
 * reported with the register's name, counted, and answered as the device would (or by ignoring it).
 *
 * To add a model: fill in one struct model_ops, add it to models[] in models.c.
 */
#ifndef NICSIM_MODEL_H
#define NICSIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/nicsim/reg.h"

struct json;
struct model;
struct wire;

/* --- what a model is given --- */

enum dma_access { DMA_READ, DMA_WRITE }; /* as the device sees it */

/* Who carries the model. `ctx` is his own. */
struct sim_host {
	void *ctx;
	/* Host address of guest memory [bus, bus + bytes), valid until the next call into the model
	 * from outside; NULL when not all of it is the guest's memory. */
	void *(*dma)(void *ctx, uint64_t bus, uint64_t bytes, enum dma_access access);
	/* Fires MSI-X vector `vector` (no-op while masked or disabled: host's affair). */
	void (*irq)(void *ctx, unsigned vector);
};

/* A frame without FCS. */
struct frame {
	const uint8_t *data;
	uint32_t bytes;
	uint32_t flags; /* enum frame_flags */
};

enum frame_flags {
	FRAME_BAD_FCS = 1, /* arrived damaged (only wires asked to do that make such) */
};

#define FRAME_MAX 16384 /* bytes; longest that a wire carries */
#define FRAME_BURST 64  /* most frames in one call */

/* --- faults --- */

/* One fault a model (or every model) can be told to show. */
struct fault_kind {
	const char *name; /* as in fault=NAME[:ARG] */
	const char *arg;  /* name of its argument for --help ("MS", "N"); NULL: takes none */
	uint64_t standard; /* value when the argument is left out */
	const char *help; /* one line */
};

#define FAULTS_MAX 32

/* --- the contract --- */

struct model_ops {
	const char *name;  /* as in model=NAME */
	const char *title; /* for --help: "Intel 82599ES 10 GbE (8086:10fb)" */

	size_t state_bytes; /* of the model's own state, zeroed by model_create */

	/* PCI identity. bar_bytes[i] 0: no such BAR; bar_is_64: it and the next are one 64-bit BAR. */
	uint16_t vendor, device, subsystem_vendor, subsystem;
	uint32_t class_code; /* 0x020000 */
	uint8_t revision;
	uint64_t bar_bytes[6];
	bool bar_is_64[6];
	uint8_t msix_cap, pcie_cap, pm_cap; /* offsets of the capabilities; 0: none */
	unsigned msix_vectors;
	uint8_t msix_bar;
	uint32_t msix_table, msix_pba; /* offsets in that BAR */

	/* Page-aligned ranges of BAR 0 that line-rate mode maps into the guest; ends with bytes 0. */
	const struct bar_range { uint64_t offset, bytes; } *mapped;

	const struct reg_row *regs; /* of BAR 0, ends with a NULL name; NULL: no register table */
	const struct fault_kind *faults; /* ends with a NULL name */

	/* The state after power-on. m->bar0 is zeroed before. Called once. */
	void (*create)(struct model *m);
	void (*destroy)(struct model *m);

	/* PCI function-level or bus reset: as after power-on, wires and statistics kept. */
	void (*reset)(struct model *m);

	/* Access to a BAR (not MSI-X structures). bytes is 1, 2, 4 or 8. */
	uint64_t (*read)(struct model *m, unsigned bar, uint64_t offset, unsigned bytes);
	void (*write)(struct model *m, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value);

	/*
	 * How many frames receive() would take now without loss, at most `max`. A model that is
	 * reset, disabled or whose link is down takes and discards as the device would: it answers
	 * max.
	 */
	unsigned (*rx_room)(struct model *m, unsigned max);

	/* n <= FRAME_BURST frames arrive. Those without room are counted as the device counts them
	 * (82599: RXMPC). The frames are the caller's. */
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

	/* A fault was set or cleared (m->fault[]); may be NULL. */
	void (*fault)(struct model *m, unsigned index);

	/* Adds the model's own statistics to the JSON object that is open: json_u64(j, name, value)... */
	void (*stats)(struct model *m, struct json *j);
};

/* One port. Fields are set by model_create and model.c unless it says otherwise. */
struct model {
	const struct model_ops *ops;
	unsigned port; /* number on the command line, for messages */
	struct sim_host host;
	struct wire *wire; /* where sent frames go (wire_send); may be NULL in tests */
	void *state;       /* ops->state_bytes */
	uint32_t *bar0;    /* storage of BAR 0, shared with the guest where mapped */
	uint8_t mac[6];    /* station address in the model's EEPROM or firmware */
	bool line_rate;    /* the ranges in ops->mapped are written without anybody telling us */
	bool carrier;      /* the other end of the wire is up */
	bool removed;      /* surprise removal: reads give all ones, nothing else happens */
	uint64_t now;      /* set before every call into the model */

	uint64_t fault_arg[FAULTS_MAX]; /* argument of ops->faults[i] */
	uint32_t faults;                /* bit i: ops->faults[i] is on */

	/* Statistics common to all models, kept by model.c (accesses) and the model (the rest). */
	uint64_t reads, writes;          /* BAR accesses that trapped */
	uint64_t rx_frames, rx_bytes;    /* delivered into guest memory */
	uint64_t rx_missed;              /* arrived, no room */
	uint64_t tx_frames, tx_bytes;    /* handed to the wire */
	uint64_t irqs;                   /* MSI-X messages fired */
	uint64_t dma_errors;             /* addresses that are not the guest's memory */
	uint64_t violations;
	char last_violation[256];
	struct reg_stats *reg_stats;     /* per row of ops->regs, reads and writes */
	void *trace;                     /* FILE *, or NULL: no trace */
};

/* Makes a model; bar0 is memory of ops->bar_bytes[0] bytes, zeroed, the caller's. NULL: no memory. */
struct model *model_create(const struct model_ops *ops, unsigned port, const struct sim_host *host,
                           struct wire *wire, uint32_t *bar0, const uint8_t mac[6], bool line_rate,
                           uint64_t now);
void model_destroy(struct model *m);

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
static inline bool model_fault(const struct model *m, unsigned index)
{
	return m->faults >> index & 1;
}

/*
 * The guest did what it may not: printed once per kind of message (the first 100 of a port), always
 * counted. Say which register, which queue, and what was expected.
 */
void model_violation(struct model *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Guest memory, or NULL: then counted as dma_errors and reported as a violation of `what`. */
void *model_dma(struct model *m, uint64_t bus, uint64_t bytes, enum dma_access access,
                const char *what);

/* Fires an MSI-X vector and counts it. */
void model_irq(struct model *m, unsigned vector);

/* Hands a frame to the wire and counts it. The bytes are the caller's again afterwards. */
void model_send(struct model *m, const uint8_t *data, uint32_t bytes);

extern const struct model_ops *const models[];
extern const unsigned model_count;

#endif
