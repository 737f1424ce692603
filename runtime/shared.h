/*
 * The shared memory of the runtime (ARCHITECTURE.md, invariant 2). There are two kinds:
 *
 * struct core_shm    one per core. Only that core writes it; page tables enforce this.
 * struct published  written by the control core only, read by all.
 *
 * A message ring therefore lies in two shared memories: slots and head in the producer's, tail in
 * the consumer's. Slots are 64-byte aligned and all of one size. runtime/ring.c has the rules.
 *
 *     shared memory of a data core       header | punt ring (to the control core), lanes (runtime/steer.h)
 *     shared memory of the control core  header | inject ring to data core 0 | to data core 1 | ...
 *     both roles on one core      header | punt ring | inject ring
 */
#ifndef RUNTIME_SHARED_H
#define RUNTIME_SHARED_H

#include "runtime/runtime.h"
#include "runtime/events.h"
#include "runtime/steer.h"
#include "hal/barrier.h"

#define CORE_SHM_AREA 0x200000u /* bytes of the header area and of each ring */
#define RING_SLOTS_MAX 512
#define STEER_LANES 0x180000u /* offset in a data core's ring area, behind the punt ring */
_Static_assert(STEER_LANES + (STEER_WORKERS_MAX + 1) * STEER_SLOTS * sizeof(struct steer_ref) <= CORE_SHM_AREA,
               "lanes to all workers, and one to an owner");
#define SHARED_AREA 0x1a0000u /* end of the header area; belongs to the application */

/*
 * Zeroed by the kernel at boot; survives a restart of the core's program.
 *
 * Arranged by cache lines: the first fields change seldom, and other cores read them in every turn.
 * From `stats` on come the fields that the owner writes in every turn; others read them less often.
 */
struct core_shm {
	uint64_t epoch;         /* data core: the last value of `asked` that it has completed */
	uint64_t restarted;     /* data core: its program was restarted and has no ring memory yet */
	uint64_t stalled;       /* data core: ports, one bit each, whose devices take nothing to send */
	uint64_t bound;         /* data core: ports, one bit each, whose rings have an application's slots, or that
	                           it could not release at PORTS_LEAVE: they cannot restart alone */
	uint64_t fates_clean;   /* the owner has zeroed its core_shm_fates() */
	uint64_t events_clean;  /* the owner has zeroed its core_shm_events() */
	uint64_t lines_clean;   /* the owner has zeroed its core_shm_lines() */
	uint64_t parked;        /* the owner halts or is about to; wake it after writing to its rings */
	uint64_t pressed;       /* data core: turns that elastic_note_turn() has counted */
	uint64_t loads_window;  /* data core: the window of its core_shm_loads(); 0: of none */
	uint64_t flows_steps;   /* data core: grows while it gives flows away or takes them (move.h) */
	uint64_t flows_stay;    /* data core: flows of the last PORTS_GIVE that it has kept */
	uint64_t flows_why;     /* data core: why it has not taken one of the last PORTS_TAKE (struct core_flows) */
	uint64_t punt_head;     /* producer: data core */
	uint64_t inject_tail;   /* consumer: data core */
	uint64_t inject_head[CORES_MAX]; /* producer: control core, by data core index */
	uint64_t punt_tail[CORES_MAX] __attribute__((aligned(64))); /* consumer: control core, likewise */
	uint64_t punt_taken[CORES_MAX];  /* control core: messages it has begun to serve */
	uint64_t lines_read[CORES_MAX];  /* control core: lines of each core that are in the event log */
	uint64_t crash_printed[CRASHES_MAX]; /* control core: number of the last printed report, by slot */
	uint64_t ring_mem[NIC_PORTS_MAX]; /* data core: address for the rings of port p */
	struct core_stats stats __attribute__((aligned(64)));
	struct counters counters __attribute__((aligned(64)));
	struct nic_counters nic[NIC_PORTS_MAX] __attribute__((aligned(64)));
	struct steer_pool steer_pool;
	struct steer_lane lane[STEER_WORKERS_MAX]; /* to each worker of this core */
	struct steer_end steer_end;                /* from its owner */
};
_Static_assert(sizeof(struct core_shm) <= BOOT_HEADER_BYTES, "zeroed by the kernel");
_Static_assert(offsetof(struct core_stats, turns) == offsetof(struct core_pulse, turns) &&
                       offsetof(struct core_stats, marks) == offsetof(struct core_pulse, marks) &&
                       offsetof(struct core_stats, pace) == offsetof(struct core_pulse, pace),
               "the kernel reads them as struct core_pulse");
/* Lines that a data core has printed, for the event log. Line n is v[n % LINES_PLACES]. */
#define LINES_KEPT 8
#define LINES_PLACES (LINES_KEPT + 1) /* one more for the line that is being written */
struct line_ring {
	uint64_t count; /* lines so far; written last */
	struct core_line {
		uint64_t level; /* enum log_level */
		char text[248];
	} v[LINES_PLACES];
};

/* Packets that a data core has counted in a window, of one vector in BALANCER_EACH. */
struct load_counts {
	uint64_t total; /* also those of no bucket */
	uint32_t v[NIC_PORTS_MAX][NIC_BUCKETS_MAX];
};
_Static_assert(BOOT_HEADER_BYTES + sizeof(struct fate_counts) + sizeof(struct event_ring) + sizeof(struct load_counts) +
                       sizeof(struct line_ring) + SHARED_AREA <= CORE_SHM_AREA,
               "the fates by interface lie behind it, the events, the loads, the lines, and then the application's");

/* A request to a data core. */
enum ports_phase {
	PORTS_STOPPED, /* release the ports */
	PORTS_PREPARE, /* release the ports; then lay out buffers and zero ring memory for `ports` ports */
	PORTS_RUNNING, /* attach and poll */
	PORTS_TABLES,  /* keep polling, with the tables at `area` */
	/* The others keep running while the ports in `restarting` restart (runtime/restart.c): */
	PORTS_LEAVE, /* use them no more: packets for them are dropped */
	PORTS_CLEAR, /* return the buffers in their rings, and zero the rings */
	PORTS_JOIN,  /* attach and poll them again, except those in `left` */
	/* Of a data core that polls (runtime/move.h); a program that restarts waits as for PORTS_RUNNING: */
	PORTS_HOLD,    /* hold the buckets in `moving` */
	PORTS_PASS,    /* take and send all that the ports in `move_ports` have received by now */
	PORTS_GIVE,    /* give the application's state of flows of these buckets to data core `move_to` */
	PORTS_TAKE,    /* take it from data core `move_from` */
	PORTS_RELEASE, /* handle what is held, as fast as it can be sent */
};

/* At the start of published memory; the rest belongs to the application. */
struct published {
	/* Request number, by data core index. A change tells that core to read its phase and the fields
	 * after it; written last. */
	uint64_t asked[CORES_MAX];
	/* mirror_in | trace_in | programs_in | move_in | sample_in; changes at any time; read for every vector */
	uint32_t looked_at;
	uint32_t mirror_in, mirror_out; /* set by core_mirror(), at any time */
	uint32_t looked_out; /* mirror_out | bundled; changes at any time; read for every flush */
	uint32_t bundled;    /* ports, one bit each, with the numbers of bundles; set by core_bundle(), at any time */
	uint64_t bundle[NIC_PORTS_MAX]; /* their buckets (bundle.h); likewise */
	uint32_t trace_in;        /* set by core_trace_ports(), at any time */
	uint32_t programs_in;     /* set by core_program_ports(), at any time */
	uint32_t sample_in;       /* set by core_sample_ports(), at any time */
	uint32_t move_in;         /* set by core_move_ports(), at any time */
	uint32_t sampling;        /* number of the window in which load is counted by buckets (balancer.h); 0: none */
	uint64_t pressed_ticks;   /* a longer turn is reported (elastic.h); UINT64_MAX: none; changes at any time */
	uint8_t phase[CORES_MAX]; /* enum ports_phase, by data core index */
	uint32_t ports;
	uint32_t pairs; /* queue pairs in use on every port; data cores without one are on standby */
	uint32_t buf_stride;
	uint32_t idle_sleep; /* set by core_set_idle(), at any time */
	uint32_t idle_spin_us; /* likewise; 0: adaptive */
	uint32_t app; /* enum core_app_number */
	uint32_t slots; /* of every message ring */
	uint32_t lives; /* starts of the control program since boot */
	uint64_t area;  /* as in struct core_self, of the tables in force */
	uint32_t features;   /* enum nic_features that all ports had which started together */
	uint32_t restarting; /* ports, one bit each, of the phases from PORTS_LEAVE on */
	uint64_t secret[2];   /* core_secret() */
	uint32_t move_ports; /* ports, one bit each, of whose tables buckets move (move.h) */
	uint16_t move_bucket; /* of a move of flows with state: the bucket, on all these ports, */
	uint8_t move_from, move_to; /* indices of data cores, */
	uint8_t move_open;          /* it has begun, and not ended */
	uint32_t move_number;       /* of PORTS_GIVE and PORTS_TAKE: another one for each time; never 0 */
	uint32_t left;       /* ports, one bit each, that data cores do not use until their links are up (restart.c) */
	uint8_t owner_of[CORES_MAX]; /* by data core index: whose packets it takes, or STEER_NOBODY (steer.h) */
	uint8_t pair_of[CORES_MAX]; /* by data core index: the pair it polls on every port, or NO_PAIR */
	uint64_t ring_bytes[NIC_PORTS_MAX];
	uint16_t device[NIC_PORTS_MAX]; /* struct pci_dev.index of each port; NO_DEVICE: it has none */
	struct nic_shared nic[NIC_PORTS_MAX];
	uint64_t moving[NIC_PORTS_MAX][NIC_BUCKETS_MAX / 64]; /* these buckets, one bit each */
};
#define NO_DEVICE 0xffff
#define NO_PAIR 0xff /* on standby, or dead */
#define PUBLISHED_HEADER 0x10000u
_Static_assert(sizeof(struct published) <= PUBLISHED_HEADER, "the header of published memory");
_Static_assert(offsetof(struct published, ring_bytes) <= BOOT_HEADER_BYTES, "zeroed by the kernel");

/*
 * State that survives the control program, at the end of its tables. It is sealed by hashes, because a
 * failed program may have written anywhere. The pieces are sealed whenever one is added or removed, the
 * devices whenever their drivers have finished a change.
 */
#define PERSIST_PIECES_MAX 64
struct persist_piece {
	uint64_t at, bytes;
	uint64_t what; /* enum core_persist */
};
struct persistent {
	uint64_t pieces, pieces_seal;
	struct persist_piece piece[PERSIST_PIECES_MAX]; /* by address, highest first */
	uint64_t taking;        /* a warm restart has begun and not ended */
	uint64_t taken_tsc[2];  /* times at which the last two ended */
	uint64_t open;          /* drivers are changing devices, so the seal is invalid */
	uint64_t devices_seal;  /* hash of all that follows */
	uint64_t ports;
	uint64_t area_bytes;    /* published memory that the tables in force use */
	uint64_t needed;        /* least published memory that equivalent tables need */
	uint64_t private_needed; /* least private memory that equivalent tables need */
	struct nic nic[NIC_PORTS_MAX];
	struct nic_stats stats[NIC_PORTS_MAX];
	uint8_t home[NIC_PORTS_MAX][NIC_BUCKETS_MAX]; /* runtime/buckets.h */
};
#define PERSIST_BYTES 0x8000u
_Static_assert(sizeof(struct persistent) <= PERSIST_BYTES, "whole pages");

static inline struct core_shm *core_shm_of(unsigned core)
{
	return (struct core_shm *)(uintptr_t)self.info->core[core].shm;
}

static inline struct fate_counts *core_shm_fates(unsigned core)
{
	return (struct fate_counts *)(void *)((uint8_t *)core_shm_of(core) + BOOT_HEADER_BYTES);
}

static inline struct event_ring *core_shm_events(unsigned core)
{
	return (struct event_ring *)(void *)(core_shm_fates(core) + 1);
}

static inline struct load_counts *core_shm_loads(unsigned core)
{
	return (struct load_counts *)(void *)(core_shm_events(core) + 1);
}

static inline struct line_ring *core_shm_lines(unsigned core)
{
	return (struct line_ring *)(void *)(core_shm_loads(core) + 1);
}

static inline struct published *published_header(void)
{
	return (struct published *)(uintptr_t)self.info->published;
}

/* Core number of data core `d` (0 is the first data core), and the index d of this core. */
static inline unsigned data_core(unsigned d) { return self.info->first_data_core + d; }
static inline unsigned data_index(void) { return self.id - self.info->first_data_core; }

/* The forward lane of `owner` to its worker of that index; the return lane of a worker. By core number. */
static inline struct steer_ref *core_steer_lane(unsigned owner, unsigned lane)
{
	uint8_t *lanes = (uint8_t *)core_shm_of(owner) + CORE_SHM_AREA + STEER_LANES;
	return (struct steer_ref *)(void *)lanes + (size_t)lane * STEER_SLOTS;
}

static inline struct steer_ref *core_steer_back(unsigned worker)
{
	return core_steer_lane(worker, STEER_WORKERS_MAX);
}

/* True if the plan (runtime/steer_plan.c) has workers for data core d. */
static inline bool steer_has_workers(const struct published *s, unsigned d)
{
	for (unsigned i = 0; i < self.info->data_cores; i++)
		if (s->owner_of[i] == d)
			return true;
	return false;
}

/* --- runtime internals, by file --- */

/* app.c */
void app_choose(void); /* by the command line; the first if it names none or an unknown one */

/* loop.c */
_Noreturn void loop_run(void);

/* ring.c */
extern unsigned ring_from; /* data: the port whose packets are, or were last, being handled */
void rings_restart(void);              /* at the start of a program: skips messages waiting for it */
void ring_account_restart(void);       /* then: counts frames it was processing as drop_restart */
uint64_t ring_deficit(unsigned core);  /* frames received by that core that have no fate yet */
struct core_msg *ring_punt_next(unsigned d);   /* control: data core d's oldest message, or NULL */
void ring_punt_done(unsigned d);               /* control: frees its slot */
void ring_punt_skip(unsigned d);               /* control: drops all of d's, as drop_restart */
struct core_msg *ring_inject_next(void);       /* data: oldest message for this core, or NULL */
void ring_inject_done(void);
bool ring_inject_whole(const struct core_msg *m, struct pkt *p); /* data: takes a message of several slots; false:
                                                * it was dropped, and counted. Either way it is done */
void ring_inject_skip(void);                   /* data: drops all messages for this core */
void ring_wake_later(unsigned core);           /* ring_wake_peers wakes that core, if it sleeps */
void ring_wake_peers(void);                    /* wakes sleeping cores written to in this turn */
bool ring_messages_waiting(void);              /* for this core */

/* data.c */
void data_init(void);
bool data_turn(void);     /* true: packets or messages were moved */
unsigned data_turn_packets(void); /* packets that the last turn received */
uint64_t data_deadline(void); /* TSC of the next timer, the application's or for held packets */
bool data_awake(void);    /* core_stay_awake() */
bool data_arm(void);      /* requests interrupts; true: do not sleep, work is waiting */
void data_disarm(void);
struct nic_queue *data_queue(unsigned port); /* this core's queue while it polls, else NULL */
bool data_is_paused(unsigned port); /* an application that answers has no room for more answers there */
bool data_has_sent(void); /* no packet waits for room in a ring whose device takes any */
void data_note_stall(unsigned port); /* the port's ring is full and it has taken nothing */
/* Handles n packets, at most a vector, that `port` has received earlier, and sends. */
void data_handle(struct pkt *v, unsigned n, unsigned port);
void data_bind(unsigned port); /* until the port is attached again, its ring has an application's slots */

/* lines.c: what data cores print, for the event log */
void lines_start(void);            /* at the start of a program */
void lines_note(enum log_level level, const char *text); /* data core: it has printed this line */
void lines_turn(void);             /* control core: takes new lines */

/* slots.c */
bool slots_moved(void); /* the application has sent by slots since the last call */

/* memory.c */
void tables_init(void);         /* at the start of a control program */
struct persistent *kept(void);
void tables_forget_devices(void); /* before any device gets memory */
size_t tables_taken(void);      /* bytes of our part of published memory */
size_t tables_needed(void);     /* tables_taken, less core_set_spare's published_bytes */
size_t tables_private_needed(void);
/* Places our part of published memory beside the part that begins at `used` and takes `bytes`.
 * False: there is not enough memory, and nothing has been taken. */
bool tables_move(size_t used, size_t bytes, size_t needed, size_t private_needed);

/* Gives memory of the tables away as a region of that kind (KCALL_REGION): `bytes`, of REGION_OWN for each
 * data core, a multiple of REGION_UNIT. False: there is none, and nothing has changed. */
#define REGION_UNIT (2u << 20)
bool tables_region(enum region_kind kind, size_t bytes);

/* Parts of a region of that kind, of equal size. */
static inline unsigned regions_parts(enum region_kind kind)
{
	return kind == REGION_OWN ? self.info->data_cores : 1;
}

/* warm_restart.c */
bool warm_restart_possible(void);   /* the ports run, and the devices match their seal */
void warm_restart_open(void);       /* before calls of drivers that change devices */
void warm_restart_seal(unsigned ports); /* after such calls */
bool warm_restart_begin(void);      /* builds new tables beside those in force; false: not possible */
bool warm_restart_ended(void);      /* true once all data cores use the new tables */
_Noreturn void warm_restart_give_up(const char *why); /* restarts this program, and with it the ports */

/* ports.c */
void ports_init(void);
struct nic *ports_nic(unsigned p);
bool ports_is_there(unsigned p); /* the ports run, port p was started, and its device is not known to be gone */
/* Sends a request to data core d; ports_answered is true once d has completed it. */
void ports_ask(unsigned d, enum ports_phase phase);
bool ports_answered(unsigned d);
/* True if all living data cores have answered. One that takes long since ports_asked() is reported. */
bool ports_all_answered(void);
void ports_asked(void);
void ports_read_stats(unsigned p); /* adds the counters of a running device to kept()->stats */
void ports_report_late(unsigned p); /* its device is not ready to be probed or started */
void ports_link_again(unsigned p); /* its device has been started: it is not gone, whatever it was before */
/* The configuration to start port p, or one of its pairs; valid until the next call. */
const struct nic_config *ports_config(unsigned p);
/* Counts the frames that port p's device has placed in the ring of a stopped pair and that no core has
 * read. */
void ports_book_unread(unsigned p, unsigned pair);
void ports_turn(void);          /* advances the state machine of the ports; never waits long */
void ports_check_link(void);
bool ports_let_go(void);        /* the ports do not run, and no data core uses this program's tables */
bool ports_settled(void);       /* the ports run, or are stopped until core_ports_restart */
uint64_t ports_deadline(void);  /* TSC at which ports_turn must be called again; UINT64_MAX: none */

/* restart.c: while the ports run */
void restart_reset(void);          /* nothing is being restarted, and nothing binds an application to a device */
bool restart_turn(void);           /* false: all ports must be restarted instead, for restart_failure() */
bool restart_busy(void);           /* one is going on */
bool restart_due(void);            /* one is going on, or a port waits for one */
const char *restart_failure(void); /* static text */
bool restart_has(unsigned p);      /* port p is being restarted alone, or will be */
void restart_port(unsigned p, const char *reason); /* port p is to be restarted alone; the text is copied */
bool restart_may(unsigned p);      /* port p can restart alone: no application has bound it, and its driver can */
/* The link of port p is down, and frames wait in its rings. The port restarts alone, and data cores do not use it until
 * restart_join: packets for it are dropped. restart_left is true meanwhile. */
void restart_leave(unsigned p);
bool restart_left(unsigned p);
void restart_join(unsigned p);     /* the link is up again; the application is told once data cores use the port */
void restart_bind(unsigned p);     /* an application has set what a restart of port p alone would lose */
/* One port, with no data core using it. restart_stop_port parks its device if that keeps the link.
 * restart_start_port reports an error, which is one of nic_ops.start. */
void restart_stop_port(unsigned p);
int restart_start_port(unsigned p); /* while the ports run, its buckets stay at home if flows have state */

/* recovery.c: of data core d, which has restarted. The calls in order, on the control core; restart.c makes them. */
bool recovery_is_due(unsigned d);
/* While the ports run: gives the packets of data cores whose programs have just failed to the others, before the
 * kernel has started these programs again. */
bool recovery_lead_is_due(void);
void recovery_lead(void);
bool recovery_is_coming(void); /* packets have been given to others, and recovery_end has not given them back */
void recovery_reset(void);     /* all pairs have their packets, as after a start of all ports */
uint32_t recovery_begin(unsigned d); /* stops its pair; returns the ports, one bit each, that must restart for it */
/* In the following `ports` are those. Counts what its pair had received; starts the pair on all other ports (false:
 * a device has failed, and has been reported); spreads packets over the pair again; reports. */
void recovery_book_unread(unsigned d, uint32_t ports);
bool recovery_start_pairs(unsigned d, uint32_t ports);
void recovery_end(unsigned d);
void recovery_report(unsigned d, unsigned us);

/* random.c: control: makes the key of core_secret(), once after boot */
void random_share(void);

/* control.c: data cores pass vectors of these ports, one bit each, to move_look. */
void core_move_ports(uint32_t ports);

/* rules.c: gives port p, which has started, its rules whose cores poll one of these pairs, one bit each, and no others;
 * an error is one of nic_ops.rules. rules_report tells of it. */
int rules_set(unsigned p, uint64_t pairs);
void rules_report(unsigned p);

/* control.c */
void core_wake(unsigned core);   /* ends that core's sleep, if it sleeps */
void control_init(void);
bool control_turn(void);
uint64_t control_deadline(void); /* TSC of the next timer */
bool control_log(const char *line); /* false: not printed, the console is not open */
bool control_event(enum log_level level, const char *line); /* records it; false: the console is not to show it */
void control_woken(void);        /* after a sleep: check console and links soon */

/* crash.c */
void crash_turn(void);           /* prints the reports of failed programs */

/* coredump.c: data for a report of this core's failure, besides the packets received last */
enum coredump_kind {
	COREDUMP_POOL,    /* struct bufpool */
	COREDUMP_QUEUE,   /* struct nic_queue */
	COREDUMP_COUNTED, /* struct nic_counters */
	COREDUMP_WAITING, /* two 32-bit words, packets queued for a port: n, held */
};
void coredump_forget(void);
/* driver: index into nic_drivers[] */
void coredump_keep(enum coredump_kind kind, unsigned port, unsigned driver, const void *at, size_t bytes);

/* watch.c */
void watch_turn(void);           /* checks that the data cores make progress */
/* A data core's check of the control core, and the time of the next one. */
extern uint64_t watch_control_tsc;
void watch_control(void);
uint64_t watch_control_deadline(void); /* UINT64_MAX: it sleeps, or another core checks */
/* True, at most once a minute for each port, if port p has sent nothing for long although its link is up. */
bool watch_port(unsigned p, bool up);
uint64_t watch_deadline(void);   /* TSC of the next check; UINT64_MAX: there is nothing to check */

#endif
