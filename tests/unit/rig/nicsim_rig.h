/*
 * A host for NIC models inside the test's own process: guest memory with checked DMA, counted MSI-X
 * messages, a wire with both ends in the test, a clock that the test sets. The model is the one
 * that runs behind vfio-user under QEMU, unchanged. The driver, where there is one, is the
 * product's; the registers of tests/unit/twin/hal/mmio.h lead to rig_read and rig_write.
 *
 * Guest memory lies at MEMORY_WINDOW, its address on the real machine, so hal/dma.h is tested as it
 * is: bus = address - MEMORY_WINDOW. A test poisons with ASan what the device must not access.
 *
 * Every test ends in rig_stop, which fails if the model has seen a violation or a bad address that
 * the test did not announce with rig_expect_violation.
 *
 * Time stands still except for rig_run and rig_tick_ns: a wait of the driver ends because each
 * register access takes that long, and the model gets its turns meanwhile.
 */
#ifndef TESTS_UNIT_RIG_NICSIM_RIG_H
#define TESTS_UNIT_RIG_NICSIM_RIG_H

#include "tests/unit/rig/host.h"
#include "tools/nicsim/model.h"
#include "tools/nicsim/wires/wire.h"

#define RIG_MEMORY (64u << 20)
#define RIG_NOTHING 4096u /* below this bus address there is no memory */
#define RIG_VECTORS 64
#define RIG_SENT_MAX 8192 /* frames from the model not yet taken */

enum rig_mode {
	RIG_STRICT,    /* every access is a call, as when it traps */
	RIG_LINE_RATE, /* the ranges in ops->mapped are plain memory */
};

struct rig_frame {
	uint32_t bytes;
	uint64_t at; /* ns */
	uint8_t *data;
};

extern struct rig {
	struct model *m;
	uint64_t now;     /* ns; set it or use rig_run */
	uint64_t tick_ns; /* time of one register access (default 400) */
	enum rig_mode mode;
	uint8_t *memory;  /* bus address 0 */
	uint64_t brk;     /* next free bus address of rig_alloc */
	unsigned irqs[RIG_VECTORS]; /* MSI-X messages by vector; the test clears them */
	bool allow_bad_dma;
	struct wire wire;
	struct rig_frame sent[RIG_SENT_MAX]; /* ring, sent_out .. sent_in */
	unsigned sent_in, sent_out;
	uint64_t violations_seen; /* announced by rig_expect_violation */
	uint64_t dma_reads, dma_writes; /* host.dma was asked */
	uint64_t piece; /* bytes of the pieces that memory has for host.piece, a power of two from
	                   RIG_NOTHING on; 0: none, so that host.dma is asked for every address */
} rig;

/* Powers the model on, with the carrier up, at time 1 s. MAC 02:00:5e:00:53:01. */
void rig_start(const struct model_ops *ops, enum rig_mode mode);
int rig_stop(void **state);

/* Access registers of BAR 0 as the guest does. */
uint32_t rig_read(uint32_t offset);
void rig_write(uint32_t offset, uint32_t value);

/* Zeroed guest memory from a pool that rig_start empties; returns its bus address. */
uint64_t rig_alloc(size_t bytes, size_t align);

/* Host address of guest memory; fails the test if out of bounds. */
void *rig_mem(uint64_t bus, size_t bytes);
uint64_t rig_bus(const volatile void *p);

/*
 * Shows in which order the device accesses memory. The page at bus address `page` is made
 * inaccessible to it until its first access; at that moment the eight bytes at `word`, in another
 * page, are read. rig_watched ends the watch and returns them; it fails if the page was not
 * accessed.
 */
void rig_watch(uint64_t page, uint64_t word);
uint64_t rig_watched(void);

/* One turn of the model; true if it moved a frame. */
bool rig_work(void);

/* Lets `ns` pass: the model works at each of its deadlines, and at the end, each time until nothing
 * moves. */
void rig_run(uint64_t ns);

/* A frame (without FCS) arrives. False: the model had no space and did not get it. */
bool rig_receive(const void *data, uint32_t bytes);
/* The same whether there is space or not, with enum frame_flags. */
void rig_force(const void *data, uint32_t bytes, uint32_t flags);
/* Frames that arrive from now on, at most FRAME_BURST, wait, and are delivered in one call. */
void rig_gather(void);
void rig_burst(void);

/* Takes the oldest frame sent by the model; its data is valid until the next call. False: none. */
bool rig_sent(struct rig_frame *out);
unsigned rig_sent_count(void);

/* Plugs or pulls the cable. */
void rig_carrier(bool up);

/* Injects a fault by name, with its standard argument or another one. */
void rig_fault(const char *name);
void rig_fault_arg(const char *name, uint64_t arg);
void rig_fault_clear(const char *name);

/* There was at least one violation since the last call (or the start), and the last one mentions
 * `text`. Violations up to now no longer fail rig_stop. */
void rig_expect_violation(const char *text);
bool rig_violated(void);

/* Forgives all violations up to now: for tests that only break rules. */
void rig_forgive(void);

#endif
