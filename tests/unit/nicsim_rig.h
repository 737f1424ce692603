/*
 * A host for NIC models inside the test's own process: guest memory with checked DMA, MSI-X
 * vectors that are counted, a wire whose both ends the test holds, a clock the test sets. The model
 * is the one that runs behind vfio-user under QEMU, unchanged; the driver, where there is one, is
 * the product's, with the registers of tests/unit/twin/hal/mmio.h leading to rig_read and
 * rig_write.
 *
 * Guest memory lies at MEMORY_WINDOW, where it lies on the real machine, so hal/dma.h is tested as
 * it is: bus = address - MEMORY_WINDOW. A test poisons with ASan what the device must not touch.
 *
 * Every test ends in rig_stop, which fails when the model has seen a violation or a bad address
 * that the test did not announce with rig_expect_violation.
 *
 * Time stands still but for rig_run and rig_tick_ns: a wait of the driver ends because each
 * register access takes that long, and the model is given its turns meanwhile.
 */
#ifndef TESTS_UNIT_NICSIM_RIG_H
#define TESTS_UNIT_NICSIM_RIG_H

#include "tests/unit/host.h"
#include "tools/nicsim/model.h"
#include "tools/nicsim/wires/wire.h"

#define RIG_MEMORY (64u << 20)
#define RIG_NOTHING 4096u /* below this bus address there is no memory */
#define RIG_VECTORS 64
#define RIG_SENT_MAX 8192 /* frames from the model that nobody has taken yet */

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
	uint64_t tick_ns; /* what one register access takes (400 by default) */
	enum rig_mode mode;
	uint8_t *memory;  /* bus address 0 */
	uint64_t brk;     /* next free bus address of rig_alloc */
	unsigned irqs[RIG_VECTORS]; /* MSI-X messages by vector: the test clears them */
	bool allow_bad_dma;
	struct wire wire;
	struct rig_frame sent[RIG_SENT_MAX]; /* ring, sent_out .. sent_in */
	unsigned sent_in, sent_out;
	uint64_t violations_seen; /* announced by rig_expect_violation */
	uint64_t dma_reads, dma_writes;
} rig;

/* Powers the model on, with the carrier up, at time 1 s. MAC 02:00:5e:00:53:01. */
void rig_start(const struct model_ops *ops, enum rig_mode mode);
int rig_stop(void **state);

/* Registers of BAR 0, as the guest does it. */
uint32_t rig_read(uint32_t offset);
void rig_write(uint32_t offset, uint32_t value);

/* Zeroed guest memory from a pool that rig_start empties; returns its bus address. */
uint64_t rig_alloc(size_t bytes, size_t align);

/* Host address of guest memory; fails the test when out of bounds. */
void *rig_mem(uint64_t bus, size_t bytes);
uint64_t rig_bus(const volatile void *p);

/*
 * Shows in which order the device touches memory: the page at bus address `page` is taken away from
 * it until its first access, at which moment the eight bytes at `word`, in another page, are looked
 * at. rig_watched ends it and returns them; it fails when nobody has touched the page.
 */
void rig_watch(uint64_t page, uint64_t word);
uint64_t rig_watched(void);

/* One turn of the model; true when it moved a frame. */
bool rig_work(void);

/* Lets `ns` pass: the model works whenever its deadline asks for it, and at the end, each time
 * until nothing moves. */
void rig_run(uint64_t ns);

/* A frame (without FCS) arrives. False: the model had no room and was not given it. */
bool rig_receive(const void *data, uint32_t bytes);
/* The same, whether there is room or not, with enum frame_flags. */
void rig_force(const void *data, uint32_t bytes, uint32_t flags);
/* Frames that arrive from now on, FRAME_BURST at most, wait, and come in one call. */
void rig_gather(void);
void rig_burst(void);

/* The oldest frame sent by the model; data is valid until the next call. False: none. */
bool rig_sent(struct rig_frame *out);
unsigned rig_sent_count(void);

/* The cable is plugged in or pulled out. */
void rig_carrier(bool up);

/* A fault by name, with its standard argument or another one. */
void rig_fault(const char *name);
void rig_fault_arg(const char *name, uint64_t arg);
void rig_fault_clear(const char *name);

/* There has been at least one violation since the last call (or the start), the last of which
 * mentions `text`; those up to now no longer fail rig_stop. */
void rig_expect_violation(const char *text);
bool rig_violated(void);

/* Forgives all up to now: for tests that do nothing but break rules. */
void rig_forgive(void);

#endif
