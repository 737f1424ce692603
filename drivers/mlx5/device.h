/*
 * What the files of the device half share: its state, registers (device.c), commands (cmd.c) and
 * their trace (trace.c), the firmware's pages (pages.c), events (events.c), reset (reset.c),
 * bring-up and teardown (hca.c), queues (queues.c) and their errors (mend.c), what leads frames to them (steering.c),
 * port and link (port.c), how the firmware is (health.c).
 *
 * The device is a firmware that is asked by commands. A command lies in a slot: an entry of the
 * command queue, with input and output, which go on in mailbox blocks when they are longer than 16
 * bytes. Three slots are used, so that one command never waits for another:
 *
 *   MLX5_SLOT_MAIN        what start and stop do, one after the other; waited for
 *   MLX5_SLOT_PAGES       pages that the firmware wants or gives back, also amid a main command
 *                         that cannot end before it has them
 *   MLX5_SLOT_BACKGROUND  link, counters, queues in error state: asked in one call of
 *                         nic_ops.link, looked at in the next
 *
 * Functions that return int return E_OK or a negative enum error with nic->error set. All may wait
 * unless it says otherwise, and all waits end: after a deadline with E_TIMEOUT, or with E_DEVICE
 * when the device answers no more (registers read all ones).
 *
 * Invariants
 * 1. A command that did not end in time may still write into its mailboxes: `dead` is set, no
 *    command is given any more, and stop takes bus mastership from the device. From firmware that
 *    does not let go of its pages stop takes it too, and it counts as dead.
 * 2. Whatever was created is on the list of objects; undoing it from the end needs nothing else.
 * 3. A page is in the pool or the firmware's (a bit for each); what the firmware gives back is
 *    looked up there before it is believed.
 */
#ifndef DRIVERS_MLX5_DEVICE_H
#define DRIVERS_MLX5_DEVICE_H

#include "drivers/mlx5/spec.h"
#include "drivers/nic.h"

enum mlx5_slot_name { MLX5_SLOT_MAIN, MLX5_SLOT_PAGES, MLX5_SLOT_BACKGROUND, MLX5_SLOTS };

/* Mailbox blocks of each slot, input and output alike, and so the longest input and output. */
#define MLX5_MAIN_BLOCKS 8 /* capabilities are 16 + 8 * 512 bytes */
#define MLX5_PAGES_BLOCKS 4
#define MLX5_BACKGROUND_BLOCKS 1
#define MLX5_BLOCKS (2 * (MLX5_MAIN_BLOCKS + MLX5_PAGES_BLOCKS + MLX5_BACKGROUND_BLOCKS))
#define MLX5_LENGTH(blocks) (MLX5_CMD_INLINE_BYTES + (blocks) * MLX5_BLOCK_DATA_BYTES)
_Static_assert(MLX5_LENGTH(MLX5_MAIN_BLOCKS) >= MLX5_CAP_BYTES, "the longest");

struct mlx5_slot {
	uint8_t *entry;   /* of the command queue */
	uint8_t *in_block, *out_block; /* the first of each chain */
	uint8_t *in, *out; /* input and output in one piece, of this length at most: */
	uint32_t most;
	uint32_t in_bytes, out_bytes; /* of the command at hand */
	uint8_t number;   /* of the entry */
	uint8_t token;
	bool busy;        /* the firmware has it */
	uint64_t deadline;
};

/* Pages for the firmware, taken in chunks from nic->dma_more. */
#define MLX5_CHUNK_PAGES 256
#define MLX5_CHUNKS_MAX 256 /* 256 MiB: firmware of large cards asks for some ten */
#define MLX5_PAGES_AT_ONCE (MLX5_PAGES_BLOCKS * MLX5_BLOCK_DATA_BYTES / 8)

struct mlx5_pages {
	uint32_t chunks;
	uint32_t given;    /* pages that the firmware has */
	int32_t wanted;    /* more pages it asked for; below 0: it gives so many back */
	uint16_t function; /* what the firmware calls us */
	int error;         /* the last one since somebody asked for pages */
	uint32_t next;     /* where to look for a free one */
	struct mlx5_chunk {
		uint8_t *base;
		uint64_t given[MLX5_CHUNK_PAGES / 64];
	} chunk[MLX5_CHUNKS_MAX];
};

/* What was created: the command that undoes it, and of what. */
#define MLX5_OBJECTS_MAX 512
struct mlx5_object {
	uint16_t undo; /* enum mlx5_command; 0: it is gone, and another will have its place */
	uint32_t id;
	uint32_t table; /* of groups and entries of flow tables */
};

struct mlx5_caps {
	uint32_t pairs;       /* queues for so many */
	uint32_t wqe_bytes;   /* longest send WQE */
	uint32_t rqt_size;    /* entries, a power of two */
	uint32_t lso_bytes;   /* longest payload to be cut; 0: none */
	uint8_t log_wq_size, log_cq_size;
	uint8_t inline_mode;  /* headers that send WQEs have to have: 0 none, 1 L2, 2 IP, 3 L4 */
	bool vport_inline;    /* it is the SQ's to say */
	bool csum, vlan_strip, vlan_insert;
	bool cqe_compression; /* of what is received */
	bool multi_send;      /* send WQEs with many frames; of use with inline_mode 0 only */
	bool frag_match;      /* flow tables know fragments */
	bool eswitch_manager; /* addresses are entered in the card's own table */
	bool driver_version;
	bool no_lb_uc, no_lb_mc; /* local loopback of unicast, of groups, can be disabled */
};

enum mlx5_queue { MLX5_QUEUE_RECEIVE, MLX5_QUEUE_SEND, MLX5_QUEUES };

/* What became of a pair's queues: in nic_shared.priv, for its data core to see. */
struct mlx5_fate {
	uint16_t mended[MLX5_QUEUES]; /* errors, by the queue's counter, after which it is in RDY */
	bool hopeless;                /* one of them will not be */
};

struct mlx5_pair {
	uint32_t sqn, rqn, rx_cqn, tx_cqn, eqn; /* eqn 0: none of its own */
	uint32_t object, objects; /* the first of its own on the list of objects, and how many */
	const struct nic_counters *cnt; /* the data core's */
	struct mlx5_fate *fate;
};

#define MLX5_EQ_LOG_SIZE 6 /* 64 events: one page */
#define MLX5_ERROR_BYTES 160

/* Memory of the device half, from nic->dma_more; the first members are the device's to read and
 * write, each where its alignment has it. */
struct mlx5_memory {
	uint8_t queue[MLX5_PAGE_BYTES];
	uint8_t eq[MLX5_PAGE_BYTES];
	uint8_t block[MLX5_BLOCKS][MLX5_BLOCK_STRIDE];
	uint8_t text[2][MLX5_LENGTH(MLX5_MAIN_BLOCKS) + MLX5_LENGTH(MLX5_PAGES_BLOCKS) +
	                MLX5_LENGTH(MLX5_BACKGROUND_BLOCKS)];
	struct mlx5_slot slot[MLX5_SLOTS];
	struct mlx5_pages pages;
	struct mlx5_object object[MLX5_OBJECTS_MAX];
	struct mlx5_pair pair[NIC_PAIRS_MAX];
	char error[MLX5_ERROR_BYTES];
};
_Static_assert(offsetof(struct mlx5_memory, eq) % MLX5_PAGE_BYTES == 0 &&
                       offsetof(struct mlx5_memory, block) % MLX5_BLOCK_STRIDE == 0,
               "aligned as the device wants them, in pages");

/* In nic->priv. */
struct mlx5_device {
	volatile uint8_t *regs;
	struct mlx5_memory *memory;
	struct mlx5_caps caps;
	uint32_t objects;    /* on the list */
	uint32_t refill;     /* where the next one goes that takes the place of one; 0: to the end */
	uint32_t pairs;      /* running; 0: stopped */
	uint32_t uar;        /* index of our page */
	uint32_t eqn, eq_index; /* async EQ; eqn 0 and no EQ until has_eq */
	uint32_t pd, domain, lkey, tis, counter_set;
	uint32_t rqt, rqt_first; /* with several pairs: of all, of the first one */
	uint8_t tokens;      /* the last one */
	bool enabled;        /* ENABLE_HCA is to be undone, */
	bool initialised;    /* INIT_HCA as well */
	bool has_eq;
	bool dead;           /* invariant 1 */
	bool unwinding;      /* nic->error stays what it is: why it came to this */
	struct {             /* the queue that is being mended (mend.c) */
		uint8_t step, pair, queue;
		uint16_t errors; /* that were counted when it began */
	} mend;
	struct {             /* health.c, as it was at the last look */
		uint64_t due; /* the next one */
		uint64_t end; /* of our patience with a counter that stands still */
		uint32_t count;
		uint8_t syndrome;
	} health;
	/* port.c */
	uint8_t query;       /* the last question */
	bool port_changed;   /* since it was asked for the link */
	bool link_up;
	uint32_t mbps;
	uint8_t complained;  /* of which questions, by bit */
	struct {             /* as the device had them at the last look */
		uint64_t fcs, lengths, others, discards, tx_errors;
		uint32_t no_buffer;
	} counted;
	struct nic_stats news; /* since nic_ops.stats was called */
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

/* Sets nic->error and returns `error`; E_DEVICE when the device is gone, which outdoes all. */
int mlx5_fail(struct nic *nic, int error, const char *why);

/* Waits at most `us` until the bits of the mask are as wanted, or until INITIALIZING is clear. */
int mlx5_wait(struct nic *nic, enum mlx5_reg reg, uint32_t mask, uint32_t wanted, uint32_t us,
              const char *why);
int mlx5_wait_ready(struct nic *nic, uint32_t us, const char *why);

/* --- cmd.c --- */

/* Gives the command queue to the firmware, whose INITIALIZING must be clear. */
int mlx5_cmd_open(struct nic *nic);

/* Begins a command of the slot, which must not be busy: returns the input, zeroed but for opcode
 * and op_mod, to be filled in. What lies beyond out_bytes of the last output stays. */
uint8_t *mlx5_cmd_begin(struct nic *nic, enum mlx5_slot_name name, enum mlx5_command command,
                        uint32_t op_mod, uint32_t in_bytes, uint32_t out_bytes);

/* Gives it to the firmware. Does not wait. */
void mlx5_cmd_post(struct nic *nic, enum mlx5_slot_name name);

/* Is it done? E_AGAIN: not yet; E_OK: mlx5_cmd_out() has the output. Does not wait. */
int mlx5_cmd_poll(struct nic *nic, enum mlx5_slot_name name);

/* Posts the main command that was begun, and waits for its end. */
int mlx5_cmd_run(struct nic *nic);
/* All of it for a command that has no more than the number of an object, or nothing, in it. */
int mlx5_cmd_simple(struct nic *nic, enum mlx5_command command, uint32_t op_mod, uint32_t id);

/* Waits until the slot is not busy; how it ended, E_OK also if it was not. */
int mlx5_cmd_drain(struct nic *nic, enum mlx5_slot_name name);

static inline const uint8_t *mlx5_cmd_out(struct nic *nic, enum mlx5_slot_name name)
{
	return mlx5_device(nic)->memory->slot[name].out;
}

/* The last command failed because the firmware does not know it. */
bool mlx5_cmd_unknown(struct nic *nic);

const char *mlx5_cmd_name(uint32_t opcode);

/* --- trace.c --- */

/* Tells nic->trace of the command, before (input) and after it ran. */
void mlx5_trace_command(const struct nic *nic, const struct mlx5_slot *s, bool input);

/* --- pages.c --- */

/* Gives the firmware the pages that it needs now, MLX5_QUERY_PAGES_BOOT or _INIT. */
int mlx5_pages_give(struct nic *nic, uint32_t when);
/* Takes all of them back. */
int mlx5_pages_reclaim(struct nic *nic);
/* An event has asked for pages (below 0: offers them). Does not wait. */
void mlx5_pages_event(struct nic *nic, uint16_t function, int32_t pages);
/* Goes on with what was asked. Does not wait. */
void mlx5_pages_turn(struct nic *nic);

/* --- events.c --- */

int mlx5_events_start(struct nic *nic);
/* Takes all events there are, and asks for the next interrupt. Does not wait. */
void mlx5_events_poll(struct nic *nic);

/* --- reset.c --- */

/* The last means: whatever the device wants to read or write, it cannot. */
void mlx5_cut_off(struct nic *nic);
/* The function is as after power-on, without bus mastership, its firmware perhaps initialising.
 * E_NOTSUP: it cannot be reset. */
int mlx5_reset(struct nic *nic);

/* --- hca.c --- */

/* Ends what somebody before us has left running; before the first memory is used, which may be
 * what the device still reads and writes. */
int mlx5_hca_forget(struct nic *nic);
/* The function as it is after power-on becomes one that can have queues, and back. What down cannot
 * do in an orderly way it does by taking bus mastership. */
int mlx5_hca_up(struct nic *nic);
void mlx5_hca_down(struct nic *nic);

/* Runs the main command that was begun; it makes an object whose number is returned in *id, and
 * `undo` takes it away again. */
int mlx5_create(struct nic *nic, enum mlx5_command undo, uint32_t *id);
/* What mlx5_create does behind the command. `table`: of groups and entries of flow tables. */
int mlx5_created(struct nic *nic, enum mlx5_command undo, uint32_t id, uint32_t table);
/* Takes away all objects, the last one first. */
void mlx5_destroy_all(struct nic *nic);
/* Takes away `n` of them from number `first` on, the last one first, and keeps their places. */
int mlx5_destroy_some(struct nic *nic, uint32_t first, uint32_t n);

/* --- queues.c --- */

/* UAR page, domains, key, counters: what the queues share. */
int mlx5_shared_start(struct nic *nic);
int mlx5_pair_start(struct nic *nic, const struct nic_config *config, unsigned i, bool irq,
                    struct mlx5_pair *pair);

/* As nic_ops.pair_stop; and its counterpart, with `pair` as it was before. */
int mlx5_pair_stop(struct nic *nic, unsigned i);
int mlx5_pair_again(struct nic *nic, const struct nic_config *config, unsigned i, bool irq);

/* Begins the command that takes a queue from one state to another. */
void mlx5_modify_begin(struct nic *nic, enum mlx5_slot_name slot, const struct mlx5_pair *pair,
                       enum mlx5_queue queue, uint32_t from, uint32_t to);

/* --- mend.c --- */

/* The pairs are there. Errors of before are none of theirs. */
void mlx5_mend_start(struct nic *nic);
/* The same of one pair; and its end, before it goes. E_AGAIN: it is being mended. */
void mlx5_mend_pair(struct nic *nic, unsigned pair);
int mlx5_mend_leave(struct nic *nic, unsigned pair);
/* Posts a background command if a queue is in error state; true: it has. */
bool mlx5_mend_turn(struct nic *nic);
/* The background command has ended so; false: it was none of mlx5_mend_turn's. */
bool mlx5_mend_answered(struct nic *nic, int error);
/* No queue is mended any more. */
void mlx5_mend_end(struct nic *nic);

/* --- steering.c --- */

/* To the first `pairs` of memory->pair. */
int mlx5_steering_start(struct nic *nic, unsigned pairs);
/* As nic_ops.spread. */
int mlx5_spread(struct nic *nic, uint64_t pairs);

/* --- health.c --- */

#define MLX5_HEALTH_LOOK_US 2000000

/* From here on it has to count. */
void mlx5_health_start(struct nic *nic);
/* False: the device answers no more. *why is set when there is something to say to a person. Does
 * not wait. */
bool mlx5_health_turn(struct nic *nic, const char **why);

/* --- port.c --- */

/* Opens the port for frames up to *frame_bytes, FCS not counted, or to what it can if that is less.
 * Longer ones it neither takes, for which buffers have no room, nor sends. */
int mlx5_port_start(struct nic *nic, uint32_t *frame_bytes);
/* Learns address and inline mode. */
int mlx5_vport_learn(struct nic *nic);
/* As nic_ops: do not wait. */
void mlx5_link(struct nic *nic, struct nic_link *out);
void mlx5_stats(struct nic *nic, struct nic_stats *sum);

#endif
