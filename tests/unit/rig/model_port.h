/*
 * A port of a whole driver and the model of its card in one process (nicsim_rig.h): the driver's
 * register accesses are calls of the model, memory is shared, and time passes with each register
 * access and each read of the TSC. The linked `card` (ixgbe_port.c, x550_port.c, igb_port.c, mlx5_port.c) says which card it
 * is.
 *
 * No burst reads a register. A receiving burst writes at most as many as the card allows; a sending
 * one writes one, its doorbell, or sends nothing. Each call is checked (ARCHITECTURE.md,
 * Invariants, 4). Every register access is recorded.
 *
 * Every test ends in a teardown that finds each buffer of each pair with one owner, and a model
 * that saw no violation (unless announced).
 */
#ifndef TESTS_UNIT_RIG_MODEL_PORT_H
#define TESTS_UNIT_RIG_MODEL_PORT_H

#include "tests/unit/rig/nicsim_rig.h"

#include "drivers/nic.h"
#include "tests/unit/rig/guest.h"

#define PAIRS 16
#define POOL_MAX 3000
#define TRACE_MAX 400000
#define STANDARD BUF_STRIDE_STANDARD

struct port_pair {
	struct nic_queue q;
	struct nic_counters cnt;
	struct bufpool pool;
	uint32_t stack[POOL_MAX];
	void *mem, *buffers;
	unsigned nhands;
	struct pkt hands[POOL_MAX]; /* packets the test holds */
	unsigned left;              /* in its ring when it was stopped, nic_ops.rx_left */
};

extern const struct card {
	const struct model_ops *model;
	const struct nic_ops *driver;
	uint16_t vendor, device;     /* of the usual kind */
	unsigned rx_writes;          /* most registers that rx_burst writes */
	bool only_pair_alone;        /* even the only pair can be stopped and started alone */
	void (*assert_owners)(const struct port_pair *p); /* of its rings' buffers (guest.h) */
} card;

struct access {
	uint32_t offset, value;
	bool write;
	uint64_t at; /* ns */
};

extern struct port {
	struct pci_dev pci;
	struct clock clock;
	struct nic nic;
	struct nic_shared shared;
	unsigned pairs;
	unsigned routed[RIG_VECTORS]; /* core + 1 by MSI-X entry */
	uint16_t command;             /* of configuration space */
	uint64_t pending_until;       /* ns: requests of the device wait for their completion */
	uint16_t completion_timeout;  /* PCIe's Device Control 2 */
	uint64_t remove_at;           /* ns: the device is pulled out; 0: never */
	uint32_t (*lie)(uint32_t value); /* what the driver reads instead of value; NULL: value */
	uint64_t dma_next;            /* bus addresses: of what nic->dma_more gives next, */
	uint64_t rings;               /* and, behind that, of the rings and buffers of each start */
	unsigned reads, writes;       /* of registers */
	unsigned traced;
	struct port_pair pair[PAIRS];
	struct access trace[TRACE_MAX];
} port;

/* Mode of the tests that follow; as group set-ups of cmocka. */
int strict(void **state);
int line_rate(void **state);

/* Power-on of a card of the usual kind with 64 MSI-X vectors, or of another; no driver yet. */
void power(void);
void power_of(uint16_t device, unsigned vectors);

/* The steps of a port's life: each returns the driver's error. */
int port_probe(void);
int port_start(unsigned pairs, uint32_t features, uint32_t stride, unsigned buffers);
void port_attach(void);
void port_stop(void);

/* The restart of the core of pair i (runtime/recovery.c). Leave: frames are steered to the others, if
 * there are any, and the pair is stopped; its core's memory is poisoned. Return: with new memory
 * and buffers the pair is started, and served again. */
int pair_leave(unsigned i);
int pair_return(unsigned i);

/* All steps; fails the test on an error. Waits for the link. */
void up(unsigned pairs, uint32_t features, uint32_t stride);
struct nic_link link_now(void);
/* Looks at the link every millisecond until it is up, or for at most `ms`. */
struct nic_link link_within(unsigned ms);

/* A burst of pair i: receives packets into the test's hands, sends those in hand; let_go frees
 * them. */
unsigned rx(unsigned i, unsigned max);
unsigned tx(unsigned i);
void let_go(unsigned i);
/* nic_ops.slots_send, with the same checks. */
void slots_send(unsigned i, unsigned n, uint64_t bytes);
/* Receives all that has arrived, in bursts with the model's turns in between, for pair i. */
unsigned rx_all(unsigned i);

/* Takes a buffer of pair i in hand. */
struct pkt *take(unsigned i, const void *bytes, unsigned len);

/* Mends a broken queue as the runtime does; fails the test if that takes long. False: it stays
 * broken. */
bool mend(unsigned i);

/* First record of the trace, from `from` on, that is such an access of a register in [offset,
 * offset + bytes); -1: none. */
enum kind { READS, WRITES };
int find_access(unsigned from, enum kind kind, uint32_t offset, uint32_t bytes);

void assert_buffers(void);
int teardown(void **state);
/* For tests in which the device misbehaves on purpose: its violations do not count. */
int teardown_forgiving(void **state);

#endif
