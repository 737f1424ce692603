/*
 * The runtime of a core program: what an application may use at ring 3. One instance per core, each
 * with its own copy of every variable (ARCHITECTURE.md, invariant 1): what one core's hooks store
 * in a variable, another core's do not see. Cores share the snapshot, which the control core writes
 * (core_snapshot_area), words of each core's own (core_shared_area), and messages (core_punt,
 * core_inject).
 *
 * The loop (core/loop.c) owns the core. On a data core a turn is:
 *
 *     rx_burst of each port → app->rx_vector(packets) → core_tx(...) ... → one tx_burst per port
 *
 * On the control core a turn serves messages from the data cores, the console and timers. With
 * one CPU both turns alternate on the same core, and talk through the same rings.
 *
 * To add an application: fill in one `struct app`, list its name in core/apps.h, include its header
 * in apps/apps.c. Its control hooks may call what stands under "control core", its data hooks what
 * stands under "data core", both of them the rest.
 */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#define HAYATE_VERSION "0.1"

#include "core/apps.h"
#include "drivers/nic.h"
#include "hal/boot_info.h"
#include "hal/clock.h"
#include "hal/core_hand.h"
#include "hal/vector.h"
#include "lib/pkt.h"
#include "lib/types.h"
#include "net/counters.h"

/* --- this core --- */

/* Drops by what pkt.port was: for the application that is an interface, of which there are at most so
 * many. */
#define CORE_INTERFACES_MAX 128
struct drop_counts {
	uint64_t v[CORE_INTERFACES_MAX][CNT_DROPS]; /* the first is CNT_DROP_FIRST */
};

struct core_self {
	const struct boot_info *info;
	unsigned id;
	uint32_t roles;            /* enum core_role */
	struct clock clock;
	uint64_t now_tsc;          /* TSC at the start of this turn */
	struct counters *counters; /* these two are this core's own, in its outbox */
	struct drop_counts *drops;
	struct bufpool pool;       /* data cores */
	size_t area;               /* where core_snapshot_area() begins: bytes behind the header */
};

extern struct core_self self;

/* Time of this turn in nanoseconds since the TSC was zero. */
uint64_t core_now_ns(void);

/* The same in microseconds: two multiplications, no division. */
static inline uint64_t core_now_us(void) { return clock_us(&self.clock, self.now_tsc); }

/* Fills `bytes` with random bytes that nobody else can guess, different ones on every core. Cold:
 * up to a millisecond where the CPU has no generator of its own (core/random.c). */
void core_random(void *out, size_t bytes);

/* Counts one event, or n. */
static inline void count(enum counter c) { self.counters->v[c]++; }
static inline void count_n(enum counter c, uint64_t n) { self.counters->v[c] += n; }

/* Counts the fate of a packet that came in by that interface; one of no number: of none. */
static inline void count_at(unsigned interface, enum counter c)
{
	unsigned reason = (unsigned)c - CNT_DROP_FIRST;
	count(c);
	if (reason < CNT_DROPS && interface < CORE_INTERFACES_MAX)
		self.drops->v[interface][reason]++;
}

/* Prints a line on the console. Cold. */
void core_log(const char *format, ...) PRINTF_LIKE(1, 2);

/* Ends or restarts the machine. */
_Noreturn void core_exit(unsigned code);
_Noreturn void core_reboot(void);

/* Marks the packet being worked on, of a vector of so many, for the fault report. There is none any
 * more once core_hand.data is 0. */
static inline void core_hand_set(const struct pkt *p, unsigned vector)
{
	core_hand = (struct core_hand){(uint64_t)(uintptr_t)p->data, p->len, (uint16_t)vector, p->port};
}

/* --- applications --- */

/* A message between a data core and the control core: a frame and why it was handed over. */
struct core_msg {
	uint16_t len;  /* bytes of the frame */
	uint8_t port;  /* punt: pkt.port, as the application left it; inject: the port to send it
	                * out of */
	uint8_t flags; /* of the packet, enum pkt_flags (never PKT_CSUM_PARTIAL) */
	uint32_t kind; /* the application's */
	uint32_t arg;  /* the application's */
	uint16_t core; /* who sent it */
	uint16_t traced; /* punt: core_trace.number when it was sent */
	uint8_t frame[];
};

#define CORE_PUNT_KINDS 8

/*
 * An application: functions are there unless it says "or NULL". apps/discard/discard.c is the
 * smallest example. When each hook is called, those of the control plane by the names in struct
 * control_hooks:
 *
 *   start           control  the ports stand still, no data core reads the snapshot
 *   data_bytes      data     after that, before this core's buffers are laid out anew
 *   data_start      data     the ports are about to run: each data core, the ones that stand by too
 *   rx_vector, inject, data_timer
 *                   data     in every turn of a core that polls, until the ports are stopped
 *   link            control  first for each port whose link is up, then for each change
 *   adopt, data_tables
 *                   control, data  in the place of ports standing still, when the control program has
 *                            come up anew (core/takeover.c): start, link, adopt; then data_tables on
 *                            each data core, between two turns; then ports
 *   ports           control  after that
 *   msg, timer      control  from then on; while the ports do not run, timer alone
 *   key             control  whenever something is typed, once core_console_open() has been called
 *
 * From start on it begins again whenever the ports have to: an MTU that wants other buffers, a control
 * core that came up anew. Data cores have new pools then; a program that was restarted also has its
 * variables as they were linked. For a data core that came up anew nothing but data_bytes and
 * data_start is called, on it alone, where the cards can do that (core/revive.c): what start has made
 * is as it was then, and may have been changed since.
 *
 * Each packet that rx_vector gets, and each message without PKT_OWN that msg gets, ends in one fate
 * (net/counters.h), counted once; that is checked. core_drop() counts it, core_punt() leaves it to
 * the control core. Who sends packets on by core_tx() counts them (CNT_forwarded), less those
 * without room: core_tx_flush_all() says how many it has counted as dropped. What is made here
 * carries PKT_OWN and has no fate.
 */

/* What an application does on the control core, and what it has data cores do for that. All present
 * ones share a control plane, and with it one set of these: plane_hooks (control/plane.h). */
struct control_hooks {
	/* Build the tables in core_snapshot_area(), from nothing. core_set_mtu(), core_set_app() and
	 * the first core_set_idle() are for here. */
	void (*start)(void);

	/*
	 * Beside the tables in force, which the program before this one has left, start has built new
	 * ones, and `link` has told of all links: takes over from `old`, the core_snapshot_area() of
	 * that program, `bytes` long, what start could not know: who the neighbours are. What is there
	 * may be broken. Data cores look at the new tables next. False: these would not do for what
	 * those did, and the ports are to be restarted. Or NULL: they always are.
	 */
	bool (*adopt)(const void *old, size_t bytes);

	/* What start prepared is in force. The ports run, or cannot: no device could be started, no
	 * data core is left (core_ports_running() tells). */
	void (*ports)(void);

	/* A port's link went up or down; down is what it counts as before. */
	void (*link)(unsigned port, const struct nic_link *link);

	/* A frame that a data core punted. The message is valid during the call. */
	void (*msg)(const struct core_msg *m);

	/* How many kinds of message data cores punt, from 0 on, CORE_PUNT_KINDS at most: the ring is
	 * shared out among them and the ports, so that a flood of one kind by one port does not keep
	 * out the others. */
	unsigned punt_kinds;

	/* A byte typed on the console. */
	void (*key)(uint8_t c);

	/* Does what is due. Returns the TSC of the next timer, UINT64_MAX for none. Called again
	 * then, and after each of the others, which may have set an earlier one. */
	uint64_t (*timer)(void);

	/* Data core: packets to be looked at, as core_tap() has asked for: those that the port has
	 * just received, or is about to be given for sending (`out`; one whose ring is full may yet
	 * drop them). They are others': nothing of them is changed. */
	void (*tap)(const struct pkt *v, unsigned n, unsigned port, bool out);

	/* Data core: in the place of rx_vector, where core_watch() asks for it. Gives the packets to
	 * that, all of them, in as many vectors as it likes, in their order. */
	void (*trace)(struct pkt *v, unsigned n, unsigned port);

	/* Data core: the control core injected this frame: in a buffer of this core now, which passes
	 * to the hook; p->port is the port named there, p->flags PKT_OWN. */
	void (*inject)(struct pkt *p, uint32_t kind, uint32_t arg);
};

struct app_extension;
struct app {
	const struct control_hooks *control;

	/* What it adds to the control plane (control/extension.h), or NULL. */
	const struct app_extension *extension;

	/* Bytes of memory that this core is to have beside its packet buffers (core_data_memory), of
	 * the `room` that both share. Or NULL: none. */
	size_t (*data_bytes)(size_t room);

	/* Find the tables in core_snapshot_area(), forget what was kept of packets. */
	void (*data_start)(void);

	/* The tables are others: find them. Of packets and connections nothing is forgotten. Or NULL:
	 * that cannot be done while the ports run. */
	void (*data_tables)(void);

	/*
	 * n packets, 1 to PKT_VECTOR_MAX, received by one port. Their buffers pass to the application,
	 * which hands each, once and before it returns, to core_tx(), core_punt() or core_drop(). v
	 * is its own to change meanwhile. What it has read in the snapshot (a route, an adjacency)
	 * is good for this turn only (core_quiesce).
	 */
	void (*rx_vector)(struct pkt *v, unsigned n, unsigned port);

	/*
	 * Does what is due at self.now_tsc; may call core_tx(). Returns the TSC of the next timer,
	 * UINT64_MAX for none: the core does not sleep beyond it. Called again then, and in every turn
	 * that moved packets or messages, which may have set an earlier one, and when a port has
	 * room again (core_tx_full). Or NULL: no timers, which costs a turn three instructions.
	 */
	uint64_t (*data_timer)(void);

	/*
	 * What it sends by a port are answers to what came in by it, one each, beside what can wait
	 * (core_tx_full). So while the answers to a vector might not fit nothing is received by it:
	 * requests wait in the device's ring, or are lost there, at no cost to us. Not when the
	 * device has taken nothing for 20 ms: the other end may be waiting for us in the same way.
	 * False: who forwards, for a port that is full must not stop what goes elsewhere.
	 */
	bool answers;

	/* A message of the control plane's to the application, by its hook `inject`: the frame's
	 * buffer passes on, PKT_OWN. Or NULL: there are none. */
	void (*data_msg)(struct pkt *p, uint32_t arg);
};

/* apps/apps.c */
extern const struct app *const core_apps[CORE_APP_COUNT];

/*
 * The application that runs: app=WORD of the kernel command line, if there is one of that name,
 * else what core_set_app() said (control core, in control_hooks.start), else the first. The others'
 * start does not run, so one that has control hooks of its own can be chosen by app= only.
 */
enum core_app_number core_app_number(void);
const struct app *core_app(void);
void core_set_app(enum core_app_number number);

/* --- data core --- */

/*
 * The packets to be sent by one port at the end of the vector. When the device's ring has no room
 * they stay and are offered again in the next turn: CORE_OUT_HOLD packets at most, so that a burst
 * survives a short ring (QEMU's tap: 256) and a port that stands still blocks no other. Of these
 * CORE_OUT_KEPT places are kept for what the machine itself sends (PKT_OWN), as many for what
 * passes through it: by a port that is sent more than it takes neither keeps out the other, so who
 * answers ARP, or is asked for a page, does so in a flood as well. An application of answers
 * (app->answers) keeps none: all that it sends is its own.
 *
 * Packets that can wait where they come from (TCP's) take the first CORE_OUT_ROOM places alone:
 * core_tx_full(). The others are for what nobody keeps: the answers to a vector, and what the
 * control core sends. An application of answers (app->answers) is given no vector while one would
 * not fit.
 */
#define CORE_OUT_HOLD 768
#define CORE_OUT_KEPT 64
#define CORE_OUT_ROOM 384
#define CORE_OUT_MAX (CORE_OUT_HOLD + PKT_VECTOR_MAX)
struct core_out {
	struct pkt v[CORE_OUT_MAX]; /* first, so that none lies across two cache lines */
	unsigned n;
	unsigned held; /* the first of them: have been offered before */
	bool full; /* core_tx_full() has said so, and data_timer will be called when it is over */
} __attribute__((aligned(64)));

extern struct core_out core_outs[NIC_PORTS_MAX]; /* for core_tx() */

/* Sends what waits for `port` now and holds the rest. What cannot be held is dropped: received
 * packets as drop_tx_full, those with PKT_OWN as originated_drop_tx. */
void core_tx_flush(unsigned port);

/*
 * Sends what waits for all ports: the end of a vector, called by the runtime after rx_vector, or
 * by an application that needs the result earlier. Returns how many received packets were dropped
 * since the last call: they were not forwarded after all.
 */
unsigned core_tx_flush_all(void);

/*
 * Queues a packet for sending by `port`, one that exists; its buffer passes to the runtime. It
 * leaves at the end of the vector, or earlier when CORE_OUT_MAX are waiting.
 */
static inline void core_tx(unsigned port, const struct pkt *p)
{
	struct core_out *o = &core_outs[port];
	o->v[o->n++] = *p;
	if (unlikely(o->n == CORE_OUT_MAX))
		core_tx_flush(port);
}

/* The rest of core_tx_full. */
bool core_tx_fill(unsigned port);

/*
 * Has `port` no room for a packet that can wait? Then there is none until data_timer has been
 * called: when half of CORE_OUT_ROOM is free, so that the device gets bursts. A port that has taken
 * nothing for 2 s has room: what it is given is lost, and who waits for it does not for ever.
 */
static inline bool core_tx_full(unsigned port)
{
	const struct core_out *o = &core_outs[port];
	return unlikely(o->n >= CORE_OUT_ROOM || o->full) && (o->full || core_tx_fill(port));
}

/* Packets that this core has had sent by `port`, or that wait for it, so far. Cold. */
uint64_t core_tx_given(unsigned port);

/* The packet that is being followed through this data core, by control_hooks.trace. */
struct core_trace {
	uint16_t number;   /* 0: none is */
	uint16_t messages; /* that have gone to the control core because of it */
};
extern struct core_trace core_trace;

/* Is the vector in hand one packet, which is being followed? To be asked once a vector. */
static inline bool core_traces(void) { return unlikely(core_trace.number != 0); }

/*
 * What a packet may ask for by whatever port it leaves: the enum nic_features that every started
 * port has, as of before data_start. PKT_CSUM_PARTIAL may be asked for in any case: where a device
 * does not complete it, its driver does. PKT_TSO of a version of IP and PKT_USO may not where it
 * lacks them: nobody cuts but the device.
 */
uint32_t core_tx_features(void);

/*
 * Sending by slots: for an application that sends prepared frames again and again by a port (a
 * generator). Its frames are its own, complete, in memory of core_data_memory(), each with
 * NIC_SLOT_ROOM zero bytes before it, which stay. The ring has so many slots, sent in order, each
 * in its turn: the application counts them from 0, slot k is sent again as k + slots. What a slot
 * sends it says in its table; sending what has not changed costs no look at it.
 *
 * A frame, with the room before it, is the device's from core_slots_send() until room has come
 * round to it: slot k may be changed once core_slots_room() reaches it. Table entries may be
 * changed at any time; what is sent is what they say when core_slots_send() is called.
 *
 * Everybody's core_tx() goes on, for frames in one piece that ask for nothing but a checksum: they
 * leave between the application's, which loses no slot by that, and before them when they wait.
 *
 * Slots end with the ports: to be opened anew after data_start, by data_timer or rx_vector.
 */

/*
 * Gives this core's queue of `port` slots, or begins anew with slot 0 if it has them. `table` has
 * NIC_SLOTS_MAX entries, the application's to keep; all of them count as changed. Returns how many
 * slots there are, a power of two; E_AGAIN while the device has anything left to send, or the port
 * does not run; E_NOTSUP when its driver has no slots.
 */
int core_slots_open(unsigned port, struct nic_slot *table);

/* The longest frame that a slot may have, FCS not counted. */
uint32_t core_slots_len_max(unsigned port);

/* How many slots may be sent now, which may be fewer than are free (nic_ops.slots_free): to be
 * asked before each send. Sends what core_tx() has left for the port first. 0 also when its device
 * is gone. */
unsigned core_slots_room(unsigned port);

/* The table says something new for the next n slots to be sent. */
void core_slots_changed(unsigned port, unsigned n);

/* Sends the next n slots, n at most the room; `bytes` of frames, for the port's counters. */
void core_slots_send(unsigned port, unsigned n, uint64_t bytes);

/*
 * Sends a packet such as core_tx() takes at once, and has the device note when
 * (nic_ops.time_stamps). E_AGAIN: there is no room now; E_NOTSUP: the device has no clock. The
 * buffer is the caller's then. From the first success on the port has slots.
 */
int core_tx_stamped(unsigned port, const struct pkt *p);

/* The device has sent everything, or never will: the end of a run. */
bool core_slots_idle(unsigned port);

/* The queue pair that this data core polls on every port, while the ports run; E_NOENT: it stands
 * by. */
int core_pair(void);

/* Whether this core may sleep when it finds no work, from now on: not while work is due at a time
 * that the end of a sleep would miss. It may, once data_start has been called. */
void core_stay_awake(bool awake);

/* The end of a packet: counts why and frees it. */
static inline void core_drop(const struct pkt *p, enum counter reason)
{
	count_at(p->port, reason);
	pkt_free(&self.pool, p);
}

/* Copies a received packet to the control core, which decides its fate, and frees it. A ring that
 * is full, or has no room for that kind by that port (control_hooks.punt_kinds), drops it as drop_punt_full.
 * PKT_CSUM_PARTIAL must have been completed. */
void core_punt(const struct pkt *p, uint32_t kind, uint32_t arg);

/* The same for a packet of our own making, which has no fate: in one piece or several, its checksum
 * is completed. Dropped as originated_drop_tx when it is too long for a message, or to be cut: who
 * makes such frames sends again what is lost, in single segments first. */
void core_punt_own(const struct pkt *p, uint32_t kind, uint32_t arg);

/* What app->data_bytes has asked for, from data_start on: undefined whenever the ports are started,
 * 64-byte aligned, this core's alone to write. */
void *core_data_memory(size_t *bytes);

/* Packets were forwarded: the first call notes the time, for boot-to-first-packet. */
void core_note_forwarded(void);

/* This core's own words that all others can read (in its outbox), 64-byte aligned. When its program
 * starts the first CORE_SHARED_ZEROED bytes are zero, the others as they were left. */
#define CORE_SHARED_ZEROED 0x10000u
void *core_shared_area(size_t *bytes);

/* The same of another core, from any core. */
const void *core_shared_area_of(unsigned core);

/* --- control core --- */

/*
 * Copies a frame of `len` bytes (<= core_frame_max()) to the data core that polls queue pair
 * `pair` < core_data_count(), which gets it by control_hooks.inject. E_AGAIN when its ring is full
 * or the ports do not run, E_INVAL when the frame is too long.
 */
int core_inject(unsigned pair, unsigned port, const uint8_t *frame, unsigned len, uint32_t kind,
                uint32_t arg);

/* Data cores that poll queues; each of them can send by any port. 0 while the ports are stopped. */
unsigned core_data_count(void);

/* The queue pair that `core` polls on every port; E_NOENT: none. */
int core_pair_of(unsigned core);

/* Bytes of the longest frame that a buffer and a message hold. As of the last control_hooks.start:
 * what core_set_mtu() says there counts when it is over. */
unsigned core_frame_max(void);

/* Whether that memory is of the arena of `core`, where its core_data_memory() lies: then it may be
 * read, and what it holds is the other's word. */
bool core_arena_has(unsigned core, const void *at, uint64_t bytes);

/* The part of the snapshot region that is the application's; 64-byte aligned, at the same address in
 * all cores, writable by the control core. */
void *core_snapshot_area(size_t *bytes);

/* Bytes of the snapshot region that are not of that area: where the tables of the program before this
 * one are, if it has taken over. */
size_t core_snapshot_beside(void);

/* How large that area may become: it grows into what core_private_alloc() has not given yet. */
size_t core_snapshot_most(void);

/* It is so large at least from now on, and never smaller again. E_NOMEM: it cannot be. */
int core_snapshot_take(size_t bytes);

/* Takes zeroed private memory of the control core, page aligned; NULL when there is not enough.
 * Nothing is given back but by a restart of the program: not by the next control_hooks.start. */
void *core_private_alloc(size_t bytes);
size_t core_private_left(void); /* in one piece */
size_t core_private_used(void);

/*
 * The same, but it outlives the program: one that comes up anew in the same boot finds it where it
 * is, as it was left, be it in the middle of a change. Of each there is one piece: asked for again
 * it is another one, and the former is lost. NULL: there is not enough, or there are too many
 * pieces.
 */
enum core_kept { CORE_KEPT_DEVICES /* the runtime's own: many pieces */, CORE_KEPT_JOURNAL, CORE_KEPTS };
void *core_private_keep(enum core_kept what, size_t bytes);

/* What is kept, and its size in whole pages; NULL: nothing is. */
void *core_private_kept(enum core_kept what, size_t *bytes);

/* How much less private memory, and less of the snapshot, would do for what control_hooks.start has
 * built: a program that takes over has what is left beside it. Nothing, unless it is said. */
void core_set_spare(size_t private_bytes, size_t snapshot_bytes);

/* In control_hooks.start: the tables are for `adopt` to judge. Better none than such as do not do. */
bool core_takes_over(void);

/* From now on what is typed goes to control_hooks.key; until then it waits in the kernel. */
void core_console_open(void);

/* Prints bytes on the console as they are. */
void core_console_write(const char *text, size_t bytes);

/*
 * Quiescence (ARCHITECTURE.md, invariant 2): returns when every data core has finished the turn
 * it was in, so that none still holds what it read from the snapshot before. Takes microseconds; a
 * core that sleeps, is dead or is this one holds nothing. False when a core does not come round
 * within 2 s (far longer than a host takes a CPU away for): what readers may still use must be left
 * as it is. The ports are then being restarted, and until all data cores have let go of them every
 * call returns false at once.
 */
bool core_quiesce(void);

/*
 * From now on data cores show control_hooks.tap what the ports in `in` receive, a bit each, and
 * what those in `out` are given for sending; what slots send is not among it. core_tap(0, 0) ends
 * it: with the next core_quiesce() nobody looks any more.
 */
void core_tap(uint32_t in, uint32_t out);

/* From now on data cores give control_hooks.trace what the ports in `ports` receive, a bit each, for
 * it to give on; core_watch(0) ends it, as above. */
void core_watch(uint32_t ports);

/* Asks for the ports to be stopped and started again (new buffer size, core restarted). Returns at
 * once; control_hooks.start follows. `why` is for the console. */
void core_ports_restart(const char *why);

/* Has the kernel start the program of another core anew, wherever it is, with a report; unless it
 * sleeps or is in the kernel just now. */
void core_restart(unsigned core);

/* For tests: from now on it looks as if drivers were at work; on the control core. */
void core_test_driver(void);

/* KCALL_TEST_DMA of a struct pci_dev's index. */
int core_test_dma(unsigned device);

/* Has the kernel fail in the way that is so called; returns, false, when there is none. */
bool core_test_panic(const char *kind);

/* The hash of the configuration that is in force, for reports and for struct boot_info; 0: there is none
 * just now. */
void core_note_config(uint64_t hash);

/* The kept report of a program's failure with the least number above `after`; false: there is none. */
bool core_crash_next(uint64_t after, struct crash *to);

/*
 * Text of what the program of a report left, piece by piece from i = 0, at most `most` packets of it:
 * whole lines, up to CORE_CRASH_PIECE bytes with the NUL. Returns their length; 0: there are no more.
 */
#define CORE_CRASH_PIECE 1024
size_t core_crash_piece(const struct crash *c, unsigned i, unsigned most, char *text);

/* Where a reader of a report is, text and what is left: all zero at first. */
struct core_crash_walk {
	uint32_t text, piece;
};

/* The next piece of it: CORE_CRASH_PIECE bytes at most. 0: that was all. */
size_t core_crash_read(const struct crash *c, struct core_crash_walk *at, unsigned most, char *text);

/* The MTU that decides the buffers' size: set in control_hooks.start, bytes of IP packet. */
void core_set_mtu(unsigned mtu);

/* What a core without work does, unless idle= on the kernel command line says. AUTO: a guest of a
 * hypervisor sleeps, a machine of its own polls. Data cores heed it at once, whatever the ports do. */
enum core_idle { CORE_IDLE_AUTO, CORE_IDLE_POLL, CORE_IDLE_SLEEP };
void core_set_idle(enum core_idle idle);
enum core_idle core_idle_mode(void); /* as in force: poll or sleep */

/* --- what anybody may look at (control core) --- */

unsigned core_port_count(void); /* 0 until the first control_hooks.start, then it stays */
const struct nic *core_port_nic(unsigned port);
bool core_port_link(unsigned port, struct nic_link *link); /* false: the ports do not run */
bool core_ports_running(void);

/* Sum over the data cores. */
void core_port_counters(unsigned port, struct nic_counters *sum);

/* What the device has counted, since its first start; all zero for one that does not count. */
const struct nic_stats *core_port_stats(unsigned port);

/* Has the device limit what queue pair `pair` (core_pair_of) sends by `port`, until the ports stop
 * or the link changes: nic_ops.rate. E_NOTSUP: it cannot. E_AGAIN: it does not run. */
int core_port_rate(unsigned port, unsigned pair, uint32_t kbps, uint32_t *set);

/* The device of a port, for time_start, time_now and time_stamps of its operations, until the ports
 * stop; NULL: it has no clock, or does not run. */
struct nic *core_port_clock(unsigned port);

/* Sum over all cores; what dead ones had in hand is in drop_restart. */
void core_counters(struct counters *sum);

/* The drops of packets that came in by that interface, over all cores. What has no interface, as
 * what was in hand at a restart, is in core_counters() alone; read that later, and it is never
 * less. */
void core_drops(unsigned interface, uint64_t sum[CNT_DROPS]);

struct core_stats {
	uint64_t turns;       /* loops, each ending in a quiescent point (core_quiesce) */
	uint64_t busy_turns;  /* loops that moved packets */
	uint64_t busy_cycles; /* TSC ticks in those */
	uint64_t rx_pkts;     /* packets received */
	uint64_t sleeps;      /* times halted */
	uint64_t first_forward_tsc; /* TSC when this core first sent a packet; 0: not yet */
	uint64_t pool_free;   /* buffers */
	uint64_t pool_count;
};
const struct core_stats *core_stats_of(unsigned core);

/* Value of `name=` on the kernel command line; false when absent or too long. */
bool core_option(const char *name, char *buf, size_t size);
uint64_t core_option_number(const char *name, uint64_t fallback);

#endif
