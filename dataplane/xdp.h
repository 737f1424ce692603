/*
 * XDP programs on a data core: what the control core publishes about them, and what a core counts.
 *
 * A port's chain is the list of its programs, in order, as libxdp's dispatcher runs them: the result of
 * a program ends the chain, unless its chain_on has that result; behind the last program the packet
 * passes. The programs see every frame that the port has received, before the application does, with
 * its VLAN tag.
 *
 *     XDP_PASS      to the application
 *     XDP_DROP      dropped: drop_xdp
 *     XDP_TX        sent by the same port: forwarded, or drop_tx_full
 *     XDP_REDIRECT  sent by another interface: forwarded; drop_xdp_redirect if there is none of that
 *                   number, its link is down, or the frame is longer than its MTU and a tag allow. To
 *                   several interfaces of a device map: each gets a copy. To an entry of a CPU map: to
 *                   the application, on the core that received it, because each core takes its packets
 *                   from the card to the wire alone
 *     XDP_ABORTED, and any other number: drop_xdp_aborted
 *
 * The number of an interface (ifindex) is DP_IFINDEX: its number in struct dp_state, plus one.
 *
 * Invariants
 * 1. A chain in use is not written. To change one, the control core fills the port's other one, stores
 *    the pointer and calls core_quiesce(); then the old chain, and code and maps that only it used, are
 *    free. A data core reads the pointer once per vector. So no packet meets half of a change, and none
 *    is lost by it.
 * 2. struct bpf_map and code are written by the control core alone. What a program can write (values of
 *    maps, the packet) is never used as an address.
 * 3. Without programs on a port, its packets take not one instruction more.
 */
#ifndef DATAPLANE_XDP_H
#define DATAPLANE_XDP_H

#include "bpf/helpers.h"
#include "bpf/maps/map.h"
#include "bpf/program.h"
#include "bpf/xdp.h"
#include "lib/pkt.h"
#include "lib/types.h"
#include "runtime/runtime.h"

#define DP_XDP_CHAIN_MAX 10 /* programs of a port; as many as libxdp's dispatcher runs */
#define DP_XDP_SLOTS (2 * DP_XDP_CHAIN_MAX) /* of a port: counts of its chain and of the one before */
#define DP_XDP_MAPS_MAX 512 /* of all objects */

struct dp_xdp_program {
	uint64_t code;     /* uint64_t (*)(struct bpf_xdp *) */
	uint32_t chain_on; /* bit 1 << action: the next program runs */
	uint32_t slot;     /* of dp_xdp_shared.action: programs that follow each other share none */
};

struct dp_xdp_chain {
	uint32_t programs; /* 1 to DP_XDP_CHAIN_MAX */
	bool changes;      /* a program may change the packet */
	struct dp_xdp_program program[DP_XDP_CHAIN_MAX];
};

/* Part of struct dp_state. */
struct dp_xdp {
	const struct dp_xdp_chain *chain[NIC_PORTS_MAX]; /* in use: one of both[port]; NULL: none */
	struct dp_xdp_chain both[NIC_PORTS_MAX][2];
	uint64_t code_tsc; /* when code was last written: a core that sees a new value calls
	                    * core_code_sync() before any program */
	uint32_t maps; /* entries of map; grows and shrinks by single stores */
	const struct bpf_map *map[DP_XDP_MAPS_MAX]; /* NULL: a gap */
	uint64_t printed[CORES_MAX]; /* tail of struct dp_xdp_prints, by core; changes at any time */
};

/* Lines of bpf_trace_printk, for the control core: a ring. head lies here, tail in struct dp_xdp. */
#define DP_XDP_PRINTS 32
#define DP_XDP_PRINT_BYTES 120
struct dp_xdp_prints {
	uint64_t head;
	uint64_t lost; /* lines for which there was no room */
	struct dp_xdp_print {
		uint16_t len;
		uint16_t port;
		uint8_t text[DP_XDP_PRINT_BYTES - 4];
	} line[DP_XDP_PRINTS];
};

/* Part of a data core's shared memory. action[port][slot]: results of a program of the port's chain. XDP_PASS and
 * XDP_DROP of the first program are added behind a vector, so a fault within one loses them, as it loses
 * the packets. */
struct dp_xdp_shared {
	uint64_t started; /* dp_state.started when the counts were zeroed */
	uint64_t action[NIC_PORTS_MAX][DP_XDP_SLOTS][XDP_ACTIONS];
	struct dp_xdp_prints prints;
};

/* The ifindex of an interface, as programs see it, and back. */
static inline uint32_t dp_ifindex(unsigned interface) { return interface + 1; }
static inline unsigned dp_interface_of_index(uint32_t ifindex) { return ifindex - 1; }

/* control_hooks.programs: runs the port's chain on a vector. */
unsigned xdp_vector(struct pkt *v, unsigned n, unsigned port);

/* control_hooks.tables: counts begin with new tables, and locks that this core's previous program held
 * in maps are released. */
void xdp_tables(void);

/* --- for xdp_helpers.c, xdp_fib.c, xdp_print.c --- */

/* Flags of bpf_redirect_map (uapi/linux/bpf.h): the low bits are the result if nothing is found. */
enum xdp_redirect_flags {
	XDP_F_RESULT = 3, /* XDP_ABORTED to XDP_TX */
	XDP_F_BROADCAST = 8,
	XDP_F_EXCLUDE_INGRESS = 16,
};

/* What redirect_to is (struct bpf_xdp). */
enum xdp_redirect {
	XDP_TO_NOBODY,
	XDP_TO_INDEX, /* an ifindex */
	XDP_TO_ALL,   /* the entries of xdp_now.to_map; redirect_to: its flags */
	XDP_TO_STACK, /* the application */
};

/* The packet in hand. A core has one at a time: helpers without a context argument find it here. */
struct xdp_now {
	struct bpf_xdp context;
	const struct bpf_map *to_map;
	unsigned port;
	unsigned tx_len_max; /* of a frame that the port may send */
	const uint8_t *stack_end; /* the program's stack lies below */
};
extern struct xdp_now xdp_now;

/* Those of this room, by their number; NULL: none. The table for programs (control/programs/) has
 * these and those of bpf/. */
bpf_helper xdp_helper(unsigned id);

/* bpf_fib_lookup: see xdp_fib.c. */
uint64_t xdp_fib_lookup(uint64_t context, uint64_t params, uint64_t bytes, uint64_t flags, uint64_t unused);

/* bpf_trace_printk: see xdp_print.c. */
uint64_t xdp_trace_printk(uint64_t format, uint64_t bytes, uint64_t a, uint64_t b, uint64_t c);

#endif
