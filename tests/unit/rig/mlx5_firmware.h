/*
 * A firmware that implements just enough for drivers/mlx5's device half. It reads commands as the
 * PRM defines them ("Command Interface"), with offsets of its own, and fails the test for what a
 * card would refuse: signatures, tokens, block numbers, lengths, commands in the wrong state, pages
 * or objects left behind. The model of a whole card is tools/nicsim/mlx5; this one misbehaves on
 * demand.
 *
 * Time passes with each read of the TSC, and commands are executed then: fw.delay_ns after the
 * doorbell.
 */
#ifndef TESTS_UNIT_RIG_MLX5_FIRMWARE_H
#define TESTS_UNIT_RIG_MLX5_FIRMWARE_H

#include "drivers/mlx5/mlx5.h"
#include "tests/unit/rig/guest.h"

#define FW_LOG_MAX 4096
#define FW_PAGES_MAX 4096
#define FW_OBJECTS_MAX 512
#define FW_CAP_BYTES 4096

/* The commands it got, in order. */
struct fw_command {
	uint16_t opcode, op_mod;
	uint8_t in[128]; /* the beginning */
	uint32_t in_bytes;
	unsigned entry;
};

enum fw_state { FW_OFF, FW_ENABLED, FW_INITIALISED };

extern struct fw {
	/* the machine */
	struct pci_dev pci;
	struct clock clock;
	struct nic nic;
	uint64_t now; /* ns */
	uint64_t tick_ns; /* time of a register access, and the least time of a TSC read */
	size_t brk, room; /* of the device half's memory: used up to, ends at */
	uint16_t pci_command;
	unsigned routed[64]; /* core + 1 by MSI-X entry */
	/* the card */
	enum fw_state state;
	uint32_t queue_low, queue_high;
	uint64_t delay_ns;
	uint64_t due[32];         /* when each entry is executed; 0: nothing there */
	unsigned boot_pages, init_pages;
	unsigned pages;           /* that it owns */
	uint64_t page[FW_PAGES_MAX];
	unsigned objects;         /* created and not destroyed */
	uint16_t undo[FW_OBJECTS_MAX]; /* what destroys each object: the last must go first, */
	bool any_order;                /* except that this flag lifts the order */
	uint32_t next_id;
	uint8_t caps[8][FW_CAP_BYTES]; /* by type */
	uint8_t vport_mac[6];
	uint8_t inline_mode;
	bool link;
	uint32_t eth_oper;        /* PTYS */
	uint32_t frame_max;       /* PMTU */
	uint64_t errors[32];      /* 64-bit counters of PPCNT group 0, then group 1 */
	uint32_t out_of_buffer;
	uint32_t health;
	bool health_stuck;
	uint32_t synd, rfr;
	/* events */
	uint64_t eq;              /* bus address of the async one; 0: none */
	uint32_t eqn, eq_in;
	uint32_t eq_armed;        /* the consumer index that it was last told */
	/* faults to be injected */
	bool removed, initialising;
	uint64_t init_ns;         /* initialisation after a reset; ~0: for ever */
	uint64_t init_until;      /* it is initialising until then */
	bool heals;               /* a reset ends FW_HANG */
	uint32_t exec_to, init_to; /* time-outs as the initialisation segment has them */
	uint32_t dtor[16];         /* as the register DTOR has them */
	bool clings;              /* the interface cannot be disabled */
	bool flr;                 /* the card supports function level reset */
	uint64_t back;            /* when its configuration space answers again */
	unsigned resets;
	uint32_t bar;             /* the first BAR, as written */
	unsigned at;              /* the command with this number, counted from 1, ... */
	enum fw_fault {
		FW_NONE,
		FW_STATUS,
		FW_HANG,
		FW_DELIVERY,
		FW_TOKEN,
		FW_REMOVE,
		FW_WANT_PAGES,
	} fault;
	int32_t want;             /* FW_WANT_PAGES: pages wanted before the command ends */
	/* Changes an answer that is ready, or the status in byte 0x3f of the entry. While it is set
	 * nothing that depends on answers is checked. */
	void (*lie)(uint8_t *entry, uint8_t *out, uint32_t out_bytes);
	unsigned lying_page;      /* ordinal of the returned page that is not its own: */
	uint64_t lying_bits;      /* bits of its address that are wrong */
	/* what happened */
	unsigned logged;
	struct fw_command log[FW_LOG_MAX];
	unsigned doorbells;
} fw;

/* Power-on: everything as in a ConnectX-5, no driver yet. */
void fw_power(unsigned vectors);

int fw_probe(void);
int fw_start(unsigned pairs, struct nic_shared *shared);
void fw_stop(void);
/* For one pair of those that fw_start has started: all steps of a restart of its core (spread over
 * the others, stop, start, spread), up to the first error. */
int fw_pair_again(unsigned pair, struct nic_shared *shared);

/* Nothing that start made is left: no object, no page, HCA disabled. */
void fw_assert_clean(void);

/* Puts an event into the async EQ, with these big-endian words from 0x20 on. */
void fw_event(uint8_t type, uint8_t sub_type, uint32_t word0, uint32_t word1);

/* Puts 64 raw bytes into the async EQ, `ahead` of the next place, and the owner bit. */
void fw_raw_event(const uint8_t eqe[63], unsigned ahead, uint8_t owner);

/* How often the command was given, and its first position from `from` on; -1: none. */
unsigned fw_count(uint16_t opcode);
int fw_find(unsigned from, uint16_t opcode);

#endif
