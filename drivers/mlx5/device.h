/*
 * What the files of the device half share: its state, registers (device.c), time-outs (timeouts.c),
 * commands (cmd.c) and their trace (trace.c), the firmware's pages (pages.c), events (events.c), reset (reset.c),
 * bring-up and teardown (hca.c), queues (queues.c) and their errors (mend.c), flow steering
 * (steering.c, rules.c), port and link (port.c), firmware health (health.c).
 *
 * The device is a firmware that is controlled by commands. A command occupies a slot: an entry of
 * the command queue, with input and output, which continue in mailbox blocks beyond 16 bytes. There
 * are three slots, so that one command never waits for another:
 *
 *   MLX5_SLOT_MAIN        commands of start and stop, one after the other; waited for
 *   MLX5_SLOT_PAGES       pages that the firmware wants or returns, also during a main command that
 *                         cannot end before it has them
 *   MLX5_SLOT_BACKGROUND  link, counters, queues in error state: posted in one call of
 *                         nic_ops.link, polled in the next
 *
 * Functions that return int return E_OK or a negative enum error with nic->error set. All may wait
 * unless their comment says otherwise. Every wait ends: after a deadline with E_TIMEOUT, or with
 * E_DEVICE when the device no longer answers (registers read all ones).
 *
 * Invariants
 * 1. A command that did not end in time may still write into its mailboxes: `dead` is set, no
 *    further command is given, and stop disables the device's bus mastership. If firmware does not
 *    return its pages, stop disables bus mastership as well, and the device counts as dead. Only a
 *    function level reset revives it (mlx5_revive), once until a start succeeds.
 * 2. Every object that was created is on a list: those of a pair on the pair's, those of rules on theirs, others on
 *    the device's. Undoing the device's from its end down to `base`, then those of the pairs, then the rest needs
 *    no other state.
 * 3. A page is either in the pool or the firmware's (a bit for each). A page that the firmware
 *    returns is looked up there before it is accepted.
 */
#ifndef DRIVERS_MLX5_DEVICE_H
#define DRIVERS_MLX5_DEVICE_H

#include "drivers/mlx5/spec.h"
#include "drivers/nic.h"

enum mlx5_slot_name { MLX5_SLOT_MAIN, MLX5_SLOT_PAGES, MLX5_SLOT_BACKGROUND, MLX5_SLOTS };

/* Mailbox blocks of each slot, for input and output each; they bound the longest input and
 * output. */
#define MLX5_MAIN_BLOCKS 8 /* capabilities are 16 + 8 * 512 bytes */
#define MLX5_PAGES_BLOCKS 4
#define MLX5_BACKGROUND_BLOCKS 1
#define MLX5_BLOCKS (2 * (MLX5_MAIN_BLOCKS + MLX5_PAGES_BLOCKS + MLX5_BACKGROUND_BLOCKS))
#define MLX5_LENGTH(blocks) (MLX5_CMD_INLINE_BYTES + (blocks) * MLX5_BLOCK_DATA_BYTES)
_Static_assert(MLX5_LENGTH(MLX5_MAIN_BLOCKS) >= MLX5_CAP_BYTES, "the longest");

struct mlx5_slot {
	uint8_t *entry;   /* in the command queue */
	uint8_t *in_block, *out_block; /* the first of each chain */
	uint8_t *in, *out; /* input and output, contiguous, each at most */
	uint32_t most;
	uint32_t in_bytes, out_bytes; /* of the current command */
	uint8_t number;   /* number of the entry */
	uint8_t token;
	bool busy;        /* the firmware has it */
	uint64_t deadline;
};

/* Pages for the firmware, taken in chunks from nic->dma_more. */
#define MLX5_CHUNK_PAGES 256
#define MLX5_CHUNKS_MAX 256 /* 256 MiB: firmware of large cards asks for about ten */
#define MLX5_PAGES_AT_ONCE (MLX5_PAGES_BLOCKS * MLX5_BLOCK_DATA_BYTES / 8)

struct mlx5_pages {
	uint32_t chunks;
	uint32_t given;    /* pages that the firmware owns */
	int32_t wanted;    /* more pages it has asked for; negative: it returns that many */
	uint16_t function; /* the firmware's ID for our function */
	int error;         /* the last one since pages were last requested */
	uint32_t next;     /* where to look for a free page */
	struct mlx5_chunk {
		uint8_t *base;
		uint64_t given[MLX5_CHUNK_PAGES / 64];
	} chunk[MLX5_CHUNKS_MAX];
};

/* A created object: the command that undoes it, and its arguments. */
#define MLX5_OBJECTS_MAX 512
struct mlx5_object {
	uint16_t undo; /* enum mlx5_command */
	uint32_t id;
	uint32_t table; /* for groups and entries of flow tables */
};

#define MLX5_RQT_LOG_MAX 7
#define MLX5_RQT_MAX (1u << MLX5_RQT_LOG_MAX)

struct mlx5_caps {
	uint32_t pairs;       /* the queues suffice for this many */
	uint32_t wqe_bytes;   /* longest send WQE */
	uint32_t rqt_size;    /* entries, a power of two */
	uint32_t lso_bytes;   /* longest payload to be segmented; 0: none */
	uint8_t log_wq_size, log_cq_size;
	uint8_t inline_mode;  /* headers that send WQEs must contain: 0 none, 1 L2, 2 IP, 3 L4 */
	bool vport_inline;    /* the SQ may choose it */
	bool csum, vlan_strip, vlan_insert;
	bool cqe_compression; /* of received frames */
	bool multi_send;      /* send WQEs with many frames; used only with inline_mode 0 */
	bool frag_match;      /* flow tables can match fragments, */
	bool vlan_match;      /* and VLANs */
	uint8_t flow_level;   /* the highest of flow tables for received frames */
	bool port_manager;    /* port registers are for this function to write */
	bool eswitch_manager; /* the driver enters addresses in the card's own table */
	bool driver_version;
	bool relaxed_write, relaxed_read; /* PCIe's relaxed ordering for packets */
	bool no_lb_uc, no_lb_mc; /* local loopback of unicast, of multicast, can be disabled */
};

/* What a start does without if the firmware refuses it, as it does to a virtual function, and to a
 * function whose port belongs to several hosts. */
#define MLX5_OPTIONAL(X) \
	X(MTU, "PMTU (frame length)") \
	X(UP, "PAOS (port up)") \
	X(PAUSE, "PFCC (flow control)") \
	X(SPEED, "PTYS (speed)") \
	X(ERRORS, "PPCNT (errors)") \
	X(DISCARDS, "PPCNT (discards)") \
	X(Q_COUNTER, "Q counters")

enum mlx5_optional {
#define MLX5_OPTIONAL_NAME(name, text) MLX5_WITHOUT_##name,
	MLX5_OPTIONAL(MLX5_OPTIONAL_NAME)
#undef MLX5_OPTIONAL_NAME
};

enum mlx5_queue { MLX5_QUEUE_RECEIVE, MLX5_QUEUE_SEND, MLX5_QUEUES };

/* What became of a pair's queues: in nic_shared.priv, read by its data core. */
struct mlx5_fate {
	uint16_t mended[MLX5_QUEUES]; /* error count up to which the queue was returned to RDY */
	bool hopeless;                /* one of the queues will not be mended */
};

/* Pages of doorbells that pairs share. With one for all queues Linux got 9 instead of 56 Mpps out of a
 * ConnectX-8 when it rang for every packet (its series "net/mlx5e: Use multiple doorbells", September
 * 2025). */
#define MLX5_UARS_MAX 8

#define MLX5_PAIR_OBJECTS 5 /* EQ, two CQs, SQ, RQ */
struct mlx5_pair {
	uint32_t sqn, rqn, rx_cqn, tx_cqn, eqn; /* eqn 0: no EQ of its own */
	struct mlx5_object object[MLX5_PAIR_OBJECTS];
	uint32_t objects;
	const struct nic_counters *cnt; /* the data core's counters */
	struct mlx5_fate *fate;
};

#define MLX5_KINDS_OBJECTS 30 /* of mlx5_group_table, at most */

/* Steering by rule (rules.c): a table, an RQT and a TIR for each pair, tables for each set of several pairs, a group
 * and an entry for each rule and for all else. */
#define MLX5_RULE_OBJECTS \
	(1 + 2 * NIC_PAIRS_MAX + NIC_RULE_GROUPS_MAX * MLX5_KINDS_OBJECTS + 2 * (NIC_RULES_MAX + 1))
struct mlx5_rules {
	struct nic_rule rule[NIC_RULES_MAX]; /* in force */
	uint32_t n;
	uint32_t root, root_group[2]; /* the table of level 0, and its entries' groups */
	uint32_t kinds;               /* the table of level 2 */
	uint32_t table;               /* the rules', or `kinds` */
	uint32_t current;             /* set of the objects in use */
	struct mlx5_rule_objects {
		struct mlx5_object object[MLX5_RULE_OBJECTS];
		uint32_t count;
	} set[2];
};

#define MLX5_EQ_LOG_SIZE 6 /* 64 events: one page */
#define MLX5_ERROR_BYTES 192

/* Memory of the device half, from nic->dma_more. The device reads and writes the first members,
 * which lie as its alignment requires. */
struct mlx5_memory {
	uint8_t queue[MLX5_PAGE_BYTES];
	uint8_t eq[MLX5_PAGE_BYTES];
	uint8_t drop_cq[MLX5_PAGE_BYTES], drop_rq[MLX5_PAGE_BYTES];
	uint8_t block[MLX5_BLOCKS][MLX5_BLOCK_STRIDE];
	uint8_t drop_records[2][CACHE_LINE]; /* doorbell records of that CQ and RQ */
	uint8_t text[2][MLX5_LENGTH(MLX5_MAIN_BLOCKS) + MLX5_LENGTH(MLX5_PAGES_BLOCKS) +
	                MLX5_LENGTH(MLX5_BACKGROUND_BLOCKS)];
	struct mlx5_slot slot[MLX5_SLOTS];
	struct mlx5_pages pages;
	struct mlx5_object object[MLX5_OBJECTS_MAX];
	struct mlx5_pair pair[NIC_PAIRS_MAX];
	struct mlx5_rules rules;
	char error[MLX5_ERROR_BYTES];
};
_Static_assert(offsetof(struct mlx5_memory, eq) % MLX5_PAGE_BYTES == 0 &&
                       offsetof(struct mlx5_memory, block) % MLX5_BLOCK_STRIDE == 0,
               "aligned as the device wants them, in pages");

/* In nic->priv. */
struct mlx5_device {
	volatile uint8_t *regs;
	struct mlx5_memory *memory;
	struct mlx5_timeouts { /* in us; timeouts.c */
		uint32_t queue, command, teardown, reclaim;
		bool stated; /* by the device */
	} timeouts;
	struct {             /* firmware that is initialising: mlx5_ready */
		uint64_t end; /* deadline; 0: not waited for */
		bool reset;   /* it has been reset once */
	} starting;
	bool revived;        /* since the last successful start */
	struct mlx5_caps caps;
	uint32_t objects;    /* on the list */
	uint32_t base;       /* of these, the ones that pairs refer to */
	struct mlx5_pair *making; /* on whose list new objects go; NULL: the device's, or */
	struct mlx5_rule_objects *making_rules; /* on that of rules, if not NULL */
	uint32_t pairs;      /* running; 0: stopped, or */
	uint32_t promiscuous; /* it was started with NIC_PROMISC: 1, or 0 */
	uint32_t parked;     /* as many were running before mlx5_park; 0: not parked */
	uint32_t drop_rqn;   /* an RQ without buffers: what is steered there is dropped */
	uint16_t uar[MLX5_UARS_MAX]; /* our UAR pages: pair i has number i % uars, the device half 0 */
	uint32_t uars;
	uint32_t eqn, eq_index; /* async EQ; eqn is 0 and there is no EQ until has_eq */
	uint32_t pd, domain, lkey, tis, counter_set;
	uint32_t rqt, rqt_first; /* of all pairs, with several; of the first one */
	uint64_t spread;         /* the pairs in these tables; 0: the RQ that drops */
	uint8_t tokens;      /* the last one used */
	uint8_t refused, told; /* enum mlx5_optional, one bit each: by this start, by any */
	bool virtual;        /* a virtual function */
	bool enabled;        /* ENABLE_HCA has to be undone, */
	bool initialised;    /* and INIT_HCA as well */
	bool has_eq;
	bool dead;           /* invariant 1 */
	bool unwinding;      /* nic->error keeps the original reason */
	struct {             /* the queue that is being mended (mend.c) */
		uint8_t step, pair, queue;
		uint16_t errors; /* error count when mending began */
	} mend;
	struct {             /* health.c, as of the last look */
		uint64_t due; /* time of the next look */
		uint64_t end; /* deadline for the counter to change */
		uint32_t count;
		uint8_t syndrome;
	} health;
	/* port.c */
	uint8_t query;       /* the last query */
	bool port_changed;   /* since the link was queried */
	bool link_up;
	uint32_t mbps;
	uint8_t complained;  /* queries already reported as failed, one bit each */
	struct {             /* the device's values at the last look */
		uint64_t fcs, lengths, others, discards, tx_errors;
		uint32_t no_buffer;
	} counted;
	struct nic_stats news; /* since the last call of nic_ops.stats */
};
_Static_assert(sizeof(struct mlx5_device) <= sizeof(((struct nic *)0)->priv), "fits");

static inline struct mlx5_device *mlx5_device(struct nic *nic)
{
	return (struct mlx5_device *)(void *)nic->priv;
}

/* --- device.c --- */

uint32_t mlx5_read(struct nic *nic, enum mlx5_reg reg);
void mlx5_write(struct nic *nic, enum mlx5_reg reg, uint32_t value);
bool mlx5_gone(struct nic *nic);

/* Sets nic->error and returns `error`; if the device is gone, E_DEVICE whatever `error` is. */
int mlx5_fail(struct nic *nic, int error, const char *why);

/* Wait at most `us` until the bits of the mask are as wanted, or until INITIALIZING is clear. */
int mlx5_wait(struct nic *nic, enum mlx5_reg reg, uint32_t mask, uint32_t wanted, uint32_t us,
              const char *why);
int mlx5_wait_ready(struct nic *nic, uint32_t us, const char *why);

/* To be called in the loop of a wait until `end` for `what`; *due is 0 at first. */
void mlx5_waits(struct nic *nic, uint64_t *due, uint64_t end, const char *what);

/* --- timeouts.c --- */

/* The time-outs that hold before the device states any. */
void mlx5_timeouts_start(struct nic *nic);
/* Reads the time-outs that the initialisation segment states; later those of a register. */
void mlx5_timeouts_read(struct nic *nic);
void mlx5_timeouts_query(struct nic *nic);
/* As nic_ops.ready. */
int mlx5_ready(struct nic *nic);
/* The same, but E_AGAIN only after two seconds. */
int mlx5_ready_soon(struct nic *nic);

/* --- cmd.c --- */

/* Gives the command queue to the firmware. INITIALIZING must be clear. */
int mlx5_cmd_open(struct nic *nic);

/* Begins a command in the slot, which must not be busy. Returns the input, zeroed except for opcode
 * and op_mod, to be filled in. The last output remains beyond out_bytes. */
uint8_t *mlx5_cmd_begin(struct nic *nic, enum mlx5_slot_name name, enum mlx5_command command,
                        uint32_t op_mod, uint32_t in_bytes, uint32_t out_bytes);

/* Gives the command to the firmware. Does not wait. */
void mlx5_cmd_post(struct nic *nic, enum mlx5_slot_name name);

/* Polls the command. E_AGAIN: not done; E_OK: mlx5_cmd_out() has the output. Does not wait. */
int mlx5_cmd_poll(struct nic *nic, enum mlx5_slot_name name);

/* Posts the main command that was begun, and waits until it ends. */
int mlx5_cmd_run(struct nic *nic);
/* Runs a whole command whose only argument is the number of an object, or that has none. */
int mlx5_cmd_simple(struct nic *nic, enum mlx5_command command, uint32_t op_mod, uint32_t id);

/* Waits until the slot is not busy. Returns how the command ended; E_OK if the slot was not
 * busy. */
int mlx5_cmd_drain(struct nic *nic, enum mlx5_slot_name name);

static inline const uint8_t *mlx5_cmd_out(struct nic *nic, enum mlx5_slot_name name)
{
	return mlx5_device(nic)->memory->slot[name].out;
}

/* True if the last command failed because the firmware does not know it. */
bool mlx5_cmd_unknown(struct nic *nic);

const char *mlx5_cmd_name(uint32_t opcode);

/* --- trace.c --- */

/* Passes the command to nic->trace: its input before it runs, its output afterwards. */
void mlx5_trace_command(const struct nic *nic, const struct mlx5_slot *s, bool input);

/* --- pages.c --- */

/* Gives the firmware the pages that it needs now, MLX5_QUERY_PAGES_BOOT or _INIT. */
int mlx5_pages_give(struct nic *nic, uint32_t when);
/* Takes back all pages. */
int mlx5_pages_reclaim(struct nic *nic);
/* The firmware has been reset: all pages are in the pool. */
void mlx5_pages_forget(struct nic *nic);
/* An event has requested pages (negative: offers them back). Does not wait. */
void mlx5_pages_event(struct nic *nic, uint16_t function, int32_t pages);
/* Continues what was requested. Does not wait. */
void mlx5_pages_turn(struct nic *nic);

/* --- events.c --- */

int mlx5_events_start(struct nic *nic);
/* Takes all pending events, and requests the next interrupt. Does not wait. */
void mlx5_events_poll(struct nic *nic);

/* --- reset.c --- */

/* Last resort: prevents all DMA of the device, by its bus mastership. */
void mlx5_cut_off(struct nic *nic);
/* Resets the function to its state after power-on, without bus mastership; its firmware may still
 * be initialising. E_NOTSUP: the function cannot be reset. */
int mlx5_reset(struct nic *nic);
/* The device answers, and mlx5_reset is supported. */
bool mlx5_can_reset(struct nic *nic);
/* Resets a device that is dead and forgets all that its firmware had. E_NOTSUP: it cannot be reset,
 * or has been in vain. E_AGAIN: its firmware is initialising. */
int mlx5_revive(struct nic *nic);

/* --- hca.c --- */

/* Ends what a previous driver has left running. To be called before any memory is used, because the
 * device may still access that memory. */
int mlx5_hca_forget(struct nic *nic);
/* Brings a function from its state after power-on to one that can have queues, and back. Where an
 * orderly teardown fails, mlx5_hca_down disables bus mastership. */
int mlx5_hca_up(struct nic *nic);
void mlx5_hca_down(struct nic *nic);

/* True of CPUs, by EBX of CPUID leaf 0 and EAX of leaf 1, whose root ports run short of credits if
 * writes are relaxed: Linux (drivers/pci/quirks.c) and DPDK (mlx5_common.c) leave that off there. */
bool mlx5_cpu_stalls(uint32_t ebx0, uint32_t eax1);

/* Runs the main command that was begun. It creates an object, whose number is returned in *id;
 * `undo` destroys it. */
int mlx5_create(struct nic *nic, enum mlx5_command undo, uint32_t *id);
/* The second step of mlx5_create, after the command. `table`: for groups and entries of flow
 * tables. */
int mlx5_created(struct nic *nic, enum mlx5_command undo, uint32_t id, uint32_t table);
/* Destroys one object, which is on no list any more. */
int mlx5_destroy_object(struct nic *nic, const struct mlx5_object *o);
/* Destroys all objects, the last one first. */
void mlx5_destroy_all(struct nic *nic);
/* Destroys the pair's objects, up to the first error. */
int mlx5_destroy_pair(struct nic *nic, struct mlx5_pair *pair);

/* --- queues.c --- */

/* UAR pages, domains, key and counters, which the queues of so many pairs share. */
int mlx5_shared_start(struct nic *nic, unsigned pairs);
int mlx5_pair_start(struct nic *nic, const struct nic_config *config, unsigned i, bool irq,
                    struct mlx5_pair *pair);

/* As nic_ops.park. */
int mlx5_park(struct nic *nic);
/* As nic_ops.pair_stop; and its counterpart, with `pair` as it was before. */
int mlx5_pair_stop(struct nic *nic, unsigned i);
int mlx5_pair_again(struct nic *nic, const struct nic_config *config, unsigned i, bool irq);

/* Begins the command that moves a queue from one state to another. */
void mlx5_modify_begin(struct nic *nic, enum mlx5_slot_name slot, const struct mlx5_pair *pair,
                       enum mlx5_queue queue, uint32_t from, uint32_t to);

/* --- mend.c --- */

/* To be called once the pairs exist. Earlier errors are not counted against them. */
void mlx5_mend_start(struct nic *nic);
/* The same for one pair; and its end, before it is destroyed. E_AGAIN: it is being mended. */
void mlx5_mend_pair(struct nic *nic, unsigned pair);
int mlx5_mend_leave(struct nic *nic, unsigned pair);
/* Posts a background command if a queue is in error state; true: it has posted one. */
bool mlx5_mend_turn(struct nic *nic);
/* To be called with the result of a background command; false: it was not one of
 * mlx5_mend_turn's. */
bool mlx5_mend_answered(struct nic *nic, int error);
/* From now on no queue is mended. */
void mlx5_mend_end(struct nic *nic);

/* --- steering.c --- */

/* Steers frames to the first `pairs` of memory->pair. */
int mlx5_steering_start(struct nic *nic, unsigned pairs);
/* As nic_ops.table; and the number of entries, of which one pair has only one. */
int mlx5_table(struct nic *nic, const uint8_t *pair_of);
uint16_t mlx5_buckets(const struct mlx5_device *d);
/* A table of these pairs, one bit each, round robin. 0: received frames are dropped, until the next table. */
int mlx5_spread(struct nic *nic, uint64_t pairs);

/* A comparison: a field of the outer headers and its value. A mask of 0 ends the list. */
struct mlx5_match {
	uint32_t field, mask, value;
};
#define MLX5_MATCHES 16

/* A flow table of 2^log_size entries. */
int mlx5_flow_table(struct nic *nic, uint32_t level, uint32_t log_size, uint32_t *id);
/* Makes entries `first` to `last` of the table compare the fields for which the matches have a
 * mask. */
int mlx5_flow_group(struct nic *nic, uint32_t table, uint32_t first, uint32_t last,
                    const struct mlx5_match m[MLX5_MATCHES], uint32_t *group);
/* Enters entry `index`, of this group: packets that match go to a table or a TIR, MLX5_DESTINATION_... */
int mlx5_flow_entry(struct nic *nic, uint32_t table, uint32_t group, uint32_t index,
                    const struct mlx5_match m[MLX5_MATCHES], uint32_t to_type, uint32_t to);
/* A TIR that leads to the pair's receive queue. */
int mlx5_tir_of_pair(struct nic *nic, unsigned pair, uint32_t *tir);
/* A flow table that spreads frames over the receive queues of these pairs, several, one bit each, as level 2 spreads
 * them over all. */
int mlx5_group_table(struct nic *nic, uint64_t pairs, uint32_t *table);
/* Has the entries of the root lead to this table. After an error some may. */
int mlx5_root_leads_to(struct nic *nic, uint32_t table);

/* --- rules.c --- */

/* As nic_ops.rules_refused and rules. */
const char *mlx5_rules_refused(const struct nic *nic, const struct nic_rule *r);
int mlx5_rules(struct nic *nic, const struct nic_rule *r, unsigned n);
/* Removes all rules if one of them names the pair, whose queue is to be destroyed. */
int mlx5_rules_leave(struct nic *nic, unsigned pair);
/* Destroys all objects of rules. Ignores errors: the device is stopped. */
void mlx5_rules_end(struct nic *nic);

/* --- health.c --- */

#define MLX5_HEALTH_LOOK_US 2000000

/* From here on the health counter has to advance. */
void mlx5_health_start(struct nic *nic);
/* False: the device no longer answers. Sets *why if there is something to report, as text to be
 * shown. Does not wait. */
bool mlx5_health_turn(struct nic *nic, const char **why);

/* --- port.c --- */

/* Opens the port for frames up to *frame_bytes, FCS not counted, or to the port's maximum if that
 * is less. The port neither receives longer frames, for which buffers are too small, nor sends
 * them. The same again for a port that is open. */
int mlx5_port_start(struct nic *nic, uint32_t *frame_bytes);
int mlx5_port_again(struct nic *nic, uint32_t *frame_bytes);
/* To be called with the error of an optional command. E_OK if it was none, or if the firmware has
 * refused the command, which the next mlx5_link reports. */
int mlx5_without(struct nic *nic, enum mlx5_optional what, int error);
static inline bool mlx5_is_without(struct nic *nic, enum mlx5_optional what)
{
	return mlx5_device(nic)->refused >> what & 1;
}
/* Learns MAC address and inline mode. */
int mlx5_vport_learn(struct nic *nic);
/* As in nic_ops: do not wait. */
void mlx5_link(struct nic *nic, struct nic_link *out);
void mlx5_stats(struct nic *nic, struct nic_stats *sum);

#endif
