/*
 * The shared memory of the runtime (ARCHITECTURE.md, invariant 2). Two kinds:
 *
 * struct outbox    one per core. That core alone writes it; page tables enforce it.
 * struct snapshot  written by the control core alone, read by all.
 *
 * A message ring therefore lies in two outboxes: slots and head in the producer's, tail in the
 * consumer's. Slots are 64-byte aligned and of one size. core/ring.c has the rules.
 *
 *     outbox of a data core       header | punt ring (to the control core)
 *     outbox of the control core  header | inject ring to data core 0 | to data core 1 | ...
 *     both roles on one core      header | punt ring | inject ring
 */
#ifndef CORE_OUTBOX_H
#define CORE_OUTBOX_H

#include "core/core.h"
#include "core/events.h"
#include "hal/barrier.h"

#define OUTBOX_AREA 0x200000u /* bytes of the header area and of each ring */
#define RING_SLOTS_MAX 512
#define SHARED_AREA 0x1a0000u /* end of the header area: the application's */

/*
 * Zeroed by the kernel at boot; survives a restart of the core's program.
 *
 * By cache lines: what comes first changes seldom, and others look at it in every turn of theirs.
 * What the owner writes in every turn begins with `stats`, and nobody else reads it as often.
 */
struct outbox {
	uint64_t epoch;         /* data core: last `asked` acted on */
	uint64_t restarted;     /* data core: came up anew, and has no ring memory to poll so far */
	uint64_t drops_clean;   /* the owner has zeroed its outbox_drops() */
	uint64_t events_clean;  /* and its outbox_events() */
	uint64_t parked;        /* owner halts or is about to: wake it after writing to its rings */
	uint64_t punt_head;     /* producer: data core */
	uint64_t inject_tail;   /* consumer: data core */
	uint64_t inject_head[CORES_MAX]; /* producer: control core, by data core index */
	uint64_t punt_tail[CORES_MAX] __attribute__((aligned(64))); /* consumer: as above */
	uint64_t punt_taken[CORES_MAX];  /* control core: messages it has begun to serve */
	uint64_t crash_printed[CRASHES_MAX]; /* control core: number of the report seen last, by place */
	uint64_t ring_mem[NIC_PORTS_MAX]; /* data core: where the rings of port p are to be */
	struct core_stats stats __attribute__((aligned(64)));
	struct counters counters __attribute__((aligned(64)));
	struct nic_counters nic[NIC_PORTS_MAX] __attribute__((aligned(64)));
};
_Static_assert(sizeof(struct outbox) <= BOOT_HEADER_BYTES, "zeroed by the kernel");
_Static_assert(BOOT_HEADER_BYTES + sizeof(struct drop_counts) + sizeof(struct event_ring) + SHARED_AREA <=
                       OUTBOX_AREA,
               "the drops by interface lie behind it, the events, and then the application's");

/* What a data core is to do. */
enum ports_phase {
	PORTS_STOPPED, /* let go of the ports */
	PORTS_PREPARE, /* the same; then fresh buffers and zeroed ring memory for `ports` ports */
	PORTS_RUNNING, /* attach and poll */
	PORTS_TABLES,  /* go on polling, by the tables at `area` */
};

/* At the start of the snapshot region; the rest is the application's. */
struct snapshot {
	/* By data core index: changes when that core is to look at its phase, and at what follows it;
	 * written last. */
	uint64_t asked[CORES_MAX];
	uint32_t looked_at; /* tap_in or trace_in: at any time; read for every vector */
	uint32_t tap_in, tap_out; /* core_tap(), at any time */
	uint32_t trace_in;        /* core_watch(), the same */
	uint8_t phase[CORES_MAX]; /* enum ports_phase, by data core index */
	uint32_t ports;
	uint32_t pairs; /* queue pairs in use on every port; data cores without one stand by */
	uint32_t buf_stride;
	uint32_t idle_sleep; /* core_set_idle(), at any time */
	uint32_t app; /* enum core_app_number */
	uint32_t slots; /* of every message ring */
	uint32_t lives; /* of the control program, since boot */
	uint64_t area;  /* struct core_self; of the part that is in force */
	uint8_t pair_of[CORES_MAX]; /* by data core index: the pair it polls on every port, NO_PAIR */
	uint64_t ring_bytes[NIC_PORTS_MAX];
	struct nic_shared nic[NIC_PORTS_MAX];
};
#define NO_PAIR 0xff /* stands by, or is dead */
#define SNAPSHOT_HEADER 0x10000u
_Static_assert(sizeof(struct snapshot) <= SNAPSHOT_HEADER, "snapshot header");
_Static_assert(offsetof(struct snapshot, ring_bytes) <= BOOT_HEADER_BYTES, "zeroed by the kernel");

/*
 * What outlives the control program, at the end of its tables. Sealed by hashes: a program that has
 * gone wrong may have written anywhere. The pieces are sealed whenever one comes or goes, the devices
 * whenever their drivers are through with them.
 */
#define KEPT_PIECES_MAX 64
struct kept_piece {
	uint64_t at, bytes;
	uint64_t what; /* enum core_kept */
};
struct kept {
	uint64_t pieces, pieces_seal;
	struct kept_piece piece[KEPT_PIECES_MAX]; /* by address, the highest first */
	uint64_t taking;        /* a takeover has begun, and has not ended */
	uint64_t taken_tsc[2];  /* when the last two ended */
	uint64_t open;          /* drivers are at work: the devices are not as they were sealed */
	uint64_t devices_seal;  /* of the rest */
	uint64_t ports;
	uint64_t area_bytes;    /* of the snapshot that the tables in force take, */
	uint64_t needed;        /* and what others like them need of it at least, */
	uint64_t private_needed; /* and of private memory */
	struct nic nic[NIC_PORTS_MAX];
	struct nic_stats stats[NIC_PORTS_MAX];
};
#define KEPT_BYTES 0x8000u
_Static_assert(sizeof(struct kept) <= KEPT_BYTES, "whole pages");

static inline struct outbox *outbox_of(unsigned core)
{
	return (struct outbox *)(uintptr_t)self.info->core[core].outbox;
}

static inline struct drop_counts *outbox_drops(unsigned core)
{
	return (struct drop_counts *)(void *)((uint8_t *)outbox_of(core) + BOOT_HEADER_BYTES);
}

static inline struct event_ring *outbox_events(unsigned core)
{
	return (struct event_ring *)(void *)(outbox_drops(core) + 1);
}

static inline struct snapshot *snapshot_header(void)
{
	return (struct snapshot *)(uintptr_t)self.info->snapshot;
}

/* Single words shared between cores go through these. */
static inline uint64_t shared_load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void shared_store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Data core `d` (0 is the first data core) and its core number. */
static inline unsigned data_core(unsigned d) { return self.info->first_data_core + d; }
static inline unsigned data_index(void) { return self.id - self.info->first_data_core; }

/* --- runtime internals, by file --- */

/* app.c */
void app_choose(void); /* by the command line; the first when it says nothing, or nonsense */

/* loop.c */
_Noreturn void loop_run(void);

/* ring.c */
extern unsigned ring_from; /* data: the port whose packets are being handled, or were last */
void rings_restart(void);              /* a program comes up: skips what waits for it */
void ring_account_restart(void);       /* and books what it had in hand before as drop_restart */
uint64_t ring_deficit(unsigned core);  /* frames that core has taken in, without a fate so far */
struct core_msg *ring_punt_next(unsigned d);   /* control: takes data core d's oldest, or NULL */
void ring_punt_done(unsigned d);               /* and gives its slot back */
void ring_punt_skip(unsigned d);               /* control: drops all of them, as drop_restart */
struct core_msg *ring_inject_next(void);       /* data: oldest message for this core, or NULL */
void ring_inject_done(void);
void ring_inject_skip(void);                   /* data: drops all of them */
void ring_wake_peers(void);                    /* ends the sleep of cores written to in this turn */
bool ring_messages_waiting(void);              /* for this core */

/* data.c */
void data_init(void);
bool data_turn(void);     /* true: packets or messages were moved */
uint64_t data_deadline(void); /* TSC of its next timer, the application's or for held packets */
bool data_awake(void);    /* core_stay_awake() */
bool data_arm(void);      /* asks for interrupts; true: do not sleep, work is waiting */
void data_disarm(void);
struct nic_queue *data_queue(unsigned port); /* this core's, while it polls; else NULL */
void data_note_stall(unsigned port); /* the port has no room and has taken nothing */

/* slots.c */
bool slots_moved(void); /* the application has sent something by slots since the last call */

/* tables.c */
void tables_init(void);         /* a control program comes up */
struct kept *kept(void);
void tables_forget_devices(void); /* before any of them is asked for memory */
size_t tables_taken(void);      /* bytes of our part of the snapshot */
size_t tables_needed(void);     /* and without what core_set_spare has said */
size_t tables_private_needed(void);
/* Our part of the snapshot is beside that which begins at `used` and takes `bytes`, from now on. False:
 * so much is not there, and nothing has been taken. */
bool tables_move(size_t used, size_t bytes, size_t needed, size_t private_needed);

/* takeover.c */
bool takeover_possible(void);   /* the ports run, and the devices are as they were left */
void takeover_open(void);       /* drivers are about to be called that change something */
void takeover_seal(unsigned ports); /* they are through with it */
bool takeover_begin(void);      /* builds new tables beside those in force. False: it cannot be done */
bool takeover_ended(void);      /* all data cores look at them */
_Noreturn void takeover_give_up(const char *why); /* begins anew, with a restart of the ports */

/* ports.c */
void ports_init(void);
struct nic *ports_nic(unsigned p);
/* Tells data core d; it has done so when ports_answered. */
void ports_ask(unsigned d, enum ports_phase phase);
bool ports_answered(unsigned d);
/* What port p is to be started with, or one of its pairs; valid until the next call. */
const struct nic_config *ports_config(unsigned p);
/* Counts what port p's device has placed in the ring of a pair that is stopped, and nobody has read. */
void ports_book_unread(unsigned p, unsigned pair);
void ports_turn(void);          /* advances the life of the ports; never waits long */
void ports_check_link(void);
bool ports_let_go(void);        /* they do not run, and no data core holds anything of them */
bool ports_settled(void);       /* they run, or stand still until core_ports_restart */
uint64_t ports_deadline(void);  /* TSC when ports_turn wants to be called again, UINT64_MAX none */

/* revive.c: while the ports run */
void revive_reset(void);        /* they have just been started: there is nobody */
bool revive_turn(void);         /* false: the ports have to be restarted instead, as has been said */
bool revive_busy(void);

/* control.c */
void core_wake(unsigned core);   /* ends that core's sleep, if it sleeps */
void control_init(void);
bool control_turn(void);
uint64_t control_deadline(void); /* TSC of the next timer */
void control_woken(void);        /* a sleep ended: look after console and links soon */

/* crash.c */
void crash_turn(void);           /* prints what data cores have failed of */

/* remains.c: what a report of this core's failure is to have, but the packets received last */
enum remains_kind {
	REMAINS_POOL,    /* struct bufpool */
	REMAINS_QUEUE,   /* struct nic_queue */
	REMAINS_COUNTED, /* struct nic_counters */
	REMAINS_WAITING, /* two 32-bit words, packets that wait for a port: n, held */
};
void remains_forget(void);
/* driver: index into nic_drivers[] */
void remains_keep(enum remains_kind kind, unsigned port, unsigned driver, const void *at, size_t bytes);

/* watch.c */
void watch_turn(void);           /* looks whether the data cores come round */
/* A data core looks after the control core, once its time has come. */
extern uint64_t watch_control_tsc;
void watch_control(void);
uint64_t watch_control_deadline(void); /* UINT64_MAX: it sleeps, or another core looks */
uint64_t watch_deadline(void);   /* TSC of the next look, UINT64_MAX: there is nobody to look at */

#endif
