/*
 * The whole mlx5 driver and the ConnectX-5 model in one process (nicsim_rig.h): registers of the
 * one are calls of the other, memory is shared, time passes with each register access and each look
 * at the TSC.
 *
 * No burst reads a register, none that receives writes one, and one that sends writes at most one
 * doorbell: each call is looked at (ARCHITECTURE.md, Invariants, 4).
 *
 * Every test ends in a teardown that finds each buffer of each pair with one owner, and a model
 * that saw no violation (unless announced).
 */
#ifndef TESTS_UNIT_MLX5_MODEL_RIG_H
#define TESTS_UNIT_MLX5_MODEL_RIG_H

#include "tests/unit/nicsim_rig.h"

#include "drivers/mlx5/mlx5.h"

#define PAIRS 8
#define POOL_MAX 3000
#define ALL (NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_RSS | NIC_TSO | NIC_SG)

struct port_pair {
	struct nic_queue q;
	struct nic_counters cnt;
	struct bufpool pool;
	uint32_t stack[POOL_MAX];
	void *mem;
	unsigned nhands;
	struct pkt hands[POOL_MAX]; /* packets the test holds */
};

extern struct port {
	struct pci_dev pci;
	struct clock clock;
	struct nic nic;
	struct nic_shared shared;
	unsigned pairs;
	unsigned routed[RIG_VECTORS]; /* core + 1 by MSI-X entry */
	uint16_t command;             /* of configuration space */
	unsigned reads, writes;       /* of registers */
	struct port_pair pair[PAIRS];
} port;

/* Of the tests that follow; as group set-ups of cmocka. */
int strict(void **state);
int line_rate(void **state);

/* Power-on of a card with so many MSI-X vectors; no driver yet. */
void power(unsigned vectors);

/* The parts of a life: each returns the driver's error. */
int port_probe(void);
int port_start(unsigned pairs, uint32_t features, uint32_t stride, unsigned buffers);
void port_attach(void);
void port_stop(void);

/* All of it; fails the test on an error. Waits for the link. */
void up(unsigned pairs, uint32_t features, uint32_t stride);

/* A burst of pair i into its hands, from its hands; lets go of them. */
unsigned rx(unsigned i, unsigned max);
unsigned tx(unsigned i);
void let_go(unsigned i);
/* mlx5_ops.slots_send, looked at in the same way. */
void slots_send(unsigned i, unsigned n, uint64_t bytes);
/* All that has arrived, in bursts, with the model's turns in between: pair i's share. */
unsigned rx_all(unsigned i);

/* Takes a buffer of pair i in hand. */
struct pkt *take(unsigned i, const void *bytes, unsigned len);

struct nic_link link_now(void);

/* As the runtime has a broken queue mended; fails the test when that takes long. False: it stays
 * broken. */
bool mend(unsigned i);

void assert_buffers(void);
int teardown(void **state);
/* For tests in which the device misbehaves on purpose: its violations are nobody's. */
int teardown_forgiving(void **state);

#endif
