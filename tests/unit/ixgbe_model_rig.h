/*
 * The whole ixgbe driver and the 82599 model in one process (nicsim_rig.h): registers of the one
 * are calls of the other, memory is shared, time passes with each register access and each look at
 * the TSC. Every register access is recorded.
 *
 * Every test ends in a teardown that finds each buffer of each pair with one owner, and a model
 * that saw no violation (unless announced).
 */
#ifndef TESTS_UNIT_IXGBE_MODEL_RIG_H
#define TESTS_UNIT_IXGBE_MODEL_RIG_H

#include "tests/unit/nicsim_rig.h"

#include "drivers/ixgbe/ixgbe.h"

#define PAIRS 16
#define POOL_MAX 3000
#define TRACE_MAX 400000
#define FRAME_BYTES_MAX 10000
#define ALL \
	(NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_RSS | NIC_TSO | NIC_USO | NIC_SG)
#define STANDARD BUF_STRIDE_STANDARD

struct access {
	uint32_t offset, value;
	bool write;
	uint64_t at; /* ns */
};

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
	uint64_t remove_at; /* 0: never */
	unsigned routed[RIG_VECTORS]; /* core + 1 by MSI-X entry */
	struct port_pair pair[PAIRS];
	unsigned traced;
	struct access trace[TRACE_MAX];
} port;

/* Of the tests that follow; as group set-ups of cmocka. */
int strict(void **state);
int line_rate(void **state);

/* Power-on of a device with this ID and with so many MSI-X vectors; no driver yet. */
void power(uint16_t device, unsigned vectors);

/* The parts of a life: each returns the driver's error. */
int port_probe(void);
int port_start(unsigned pairs, uint32_t features, uint32_t stride, unsigned buffers);
void port_attach(void);
void port_stop(void);

/* All of it for an 82599 of the usual kind; fails the test on an error. Waits for the link. */
void up(unsigned pairs, uint32_t features, uint32_t stride);

/* A burst of pair i into its hands, from its hands; lets go of them. */
unsigned rx(unsigned i, unsigned max);
unsigned tx(unsigned i);
void let_go(unsigned i);

/* All that has arrived, in bursts, with the model's turns in between: pair i's share. */
unsigned rx_all(unsigned i);

/* Takes a buffer of pair i in hand. */
struct pkt *take(unsigned i, const void *bytes, unsigned len);

/* A frame in the making: its Ethernet header, to the station; TCP or UDP over IPv4 with n bytes
 * behind the L4 header and a right checksum, of which its length is returned. */
extern uint8_t frame[FRAME_BYTES_MAX];
void ether(uint16_t type);
unsigned make_l4(uint8_t proto, uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport,
                 unsigned n, uint32_t seq);
unsigned make_udp(uint32_t seq, unsigned n);

/* The model has sent the first len bytes of `frame`, and nothing before. */
void assert_sent(unsigned len);

struct nic_link link_now(void);

/* The device is pulled out when the clock says so. */
void port_remove_at(uint64_t ns);

/* First record of the trace, from `from`, that is such an access of a register in
 * [offset, offset + bytes); -1: none. */
enum kind { READS, WRITES };
int find_access(unsigned from, enum kind kind, uint32_t offset, uint32_t bytes);

void assert_buffers(void);
int teardown(void **state);
/* For tests in which the device misbehaves on purpose: its violations are nobody's. */
int teardown_forgiving(void **state);

#endif
