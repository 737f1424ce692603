/*
 * The runtime of a core program: the interface for applications at ring 3. Each core has its own
 * instance and its own copy of every variable (ARCHITECTURE.md, invariant 1): the hooks of one core
 * do not see what those of another core store in a variable. Cores share published memory, which
 * the control core writes (core_published_area), an area that each core writes for itself
 * (core_shared_area), and messages (core_punt, core_inject).
 *
 * The loop (runtime/loop.c) owns the core. On a data core a turn is:
 *
 *     rx_burst of each port → app->rx_vector(packets) → core_tx(...) ... → one tx_burst per port
 *
 * On the control core a turn serves messages from the data cores, the console and timers. With
 * one CPU both turns alternate on the same core and communicate through the same rings.
 *
 * To add an application: fill in one `struct app`, list its name in runtime/apps.h, include its
 * header in apps/apps.c. Its control hooks may call the functions under "control core", its data
 * hooks those under "data core", both of them the rest.
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#define HAYATE_VERSION "0.2"

#include "runtime/apps.h"
#include "drivers/nic.h"
#include "abi/boot_info.h"
#include "abi/layout.h"
#include "hal/barrier.h"
#include "hal/clock.h"
#include "abi/current_packet.h"
#include "abi/pulse.h"
#include "hal/vector.h"
#include "lib/log_level.h"
#include "lib/pkt.h"
#include "lib/types.h"
#include "net/counters.h"

/* --- this core --- */

/* Fates of received packets by pkt.interface, below CORE_INTERFACES_MAX. */
#define CORE_INTERFACES_MAX 128
struct fate_counts {
	uint64_t v[CORE_INTERFACES_MAX][CNT_FATES];
};

struct core_self {
	const struct boot_info *info;
	unsigned id;
	uint32_t roles;            /* enum core_role */
	struct clock clock;
	uint64_t now_tsc;          /* TSC at the start of this turn */
	struct counters *counters; /* this core's counters, in its shared memory */
	struct fate_counts *fates; /* likewise */
	struct bufpool pool;       /* data cores */
	size_t area;               /* start of core_published_area(), in bytes behind the header */
	struct core_pulse *pulse;  /* in this core's shared memory; NULL: this is a test without a kernel */
};

extern struct core_self self;

#define SECOND_NS 1000000000ull

/* Time of this turn in nanoseconds since the TSC was zero. */
uint64_t core_now_ns(void);

/* core_now_ns in microseconds. */
static inline uint64_t core_now_us(void) { return clock_us(&self.clock, self.now_tsc); }

/* The TSC by which `ns` nanoseconds have passed since the start of this turn. Counted from now, not from time 0:
 * the two conversions round differently. */
static inline uint64_t core_tsc_after(uint64_t ns) { return self.now_tsc + clock_ticks(&self.clock, ns) + 1; }

/* Fills out with `bytes` unpredictable random bytes, different on every core. Cold: up to a millisecond
 * if the CPU has no random generator (runtime/random.c). */
void core_random(void *out, size_t bytes);

/* A random key that is the same on all cores, from the start of the ports on, and as long as the machine runs. */
void core_secret(uint64_t key[2]);

/* Counts one event, or n. */
static inline void count(enum counter c) { self.counters->v[c]++; }
static inline void count_n(enum counter c, uint64_t n) { self.counters->v[c] += n; }

/* Counts n fates of packets received by that interface for the interface alone: another call counts
 * them globally. The interface may be out of range. */
static inline void count_interface(unsigned interface, enum counter fate, uint64_t n)
{
	if (likely(interface < CORE_INTERFACES_MAX))
		self.fates->v[interface][fate] += n;
}

/* Counts the fate of a packet received by that interface. An out-of-range interface is counted globally
 * only. */
static inline void count_at(unsigned interface, enum counter c)
{
	count(c);
	if (likely(c < CNT_FATES))
		count_interface(interface, c, 1);
}

/* Prints a line on the console and records it in the event log; core_log: as LOG_NOTICE. Cold. */
void core_log(const char *format, ...) PRINTF_LIKE(1, 2);
void core_log_at(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prints a line on the console alone: for traces, which would fill the event log. Cold. */
#define CORE_LINE 254 /* bytes with NUL; of a longer line the rest is left out */
void core_print(const char *line);

/* Ends or restarts the machine. */
_Noreturn void core_exit(unsigned code);
_Noreturn void core_reboot(void);

/* Records for the fault report the packet being processed, and the size of its vector. Setting
 * core_current.data to 0 ends this. */
static inline void core_current_set(const struct pkt *p, unsigned vector)
{
	core_current = (struct core_current){(uint64_t)(uintptr_t)p->data, p->len, (uint16_t)vector,
	                                     p->interface};
}

/* The same for the next packet of a vector, all of which came by one port. */
static inline void core_current_next(const struct pkt *p)
{
	core_current.data = (uint64_t)(uintptr_t)p->data;
	core_current.len = p->len;
}

/* --- applications --- */

/* A message between a data core and the control core: a frame and its purpose. */
struct core_msg {
	uint16_t len;  /* bytes of the frame */
	uint8_t port;  /* punt: pkt.interface, as the application left it; inject: the output port */
	uint8_t flags; /* of the packet, enum pkt_flags (never PKT_CSUM_PARTIAL) */
	uint32_t kind; /* defined by the application */
	uint32_t arg;  /* defined by the application */
	uint16_t core; /* the sender */
	uint16_t traced; /* punt: core_trace.number at the time of sending */
	uint8_t frame[];
};

#define CORE_PUNT_KINDS 10
#define CORE_PUNT_WHOLE 16

/*
 * An application. A function pointer is required unless its comment says "or NULL".
 * apps/discard/discard.c is the smallest example. The hooks are called as follows; those of the control
 * plane have the names in struct control_hooks:
 *
 *   may_start       control  until it returns true, before the first start of a program
 *   start           control  the ports are stopped, no data core reads published memory
 *   data_bytes      data     after that, before this core's buffers are laid out again
 *   data_start      data     the ports are about to run; on each data core, including standby cores
 *   rx_vector, inject, data_timer
 *                   data     in every turn of a core that polls, until the ports are stopped
 *   link            control  first for each port whose link is up, then for each change
 *   restore, data_tables
 *                   control, data  after a restart of the control program while the ports run
 *                            (runtime/warm_restart.c): start, link, restore; then data_tables on each data
 *                            core, between two turns; then ports
 *   ports           control  after that
 *   msg, timer      control  from then on; while the ports do not run, timer alone
 *   key             control  for each typed byte, once core_console_open() has been called
 *
 * This sequence starts again from `start` whenever the ports must be restarted, for example because an
 * MTU needs other buffers or the control program was restarted. Data cores then have new pools. A
 * restarted program also has its variables as linked. If only a data core was restarted and the cards
 * allow it (runtime/recovery.c), only data_bytes and data_start are called, on that core alone. The tables
 * made by start are then those in force, with all later changes.
 *
 * Each packet passed to rx_vector, and each message without PKT_OWN passed to msg, ends in one fate
 * (net/counters.h), counted once; this is checked. core_drop() counts it, core_punt() leaves it to
 * the control core. An application that sends received packets on by core_tx() calls
 * core_forwarded(). A packet made here has PKT_OWN and no fate.
 */

/* The application's part on the control core, and its hooks on data cores for that part. All
 * applications share one control plane and its one set of hooks: control_plane_hooks (control/control.h). */
struct control_hooks {
	/* May `start` be called? Asked in every turn until it says so, before the first start of a program, while
	 * the ports are stopped: what the configuration is read from may need time. Not asked when the program
	 * takes over. */
	bool (*may_start)(void);

	/* Builds the tables in core_published_area(), from nothing. core_set_mtu(), core_set_app() and
	 * the first core_set_idle() belong here. */
	void (*start)(void);

	/*
	 * Takes over the previous control program's neighbours, which start could not know. `old`, `bytes`
	 * long, is the core_published_area() of that program, whose tables are still in force. Its contents
	 * may be corrupt. start has built new tables beside it, and `link` has been called for all links.
	 * Data cores use the new tables next. False: the new tables cannot replace the old ones, and the
	 * ports are restarted. Or NULL: they are always restarted.
	 */
	bool (*restore)(const void *old, size_t bytes);

	/* The tables that start built are in force. The ports run, or cannot run: no device could be
	 * started, or no data core is left (see core_ports_running()). */
	void (*ports)(void);

	/* A port's link went up or down. Before the first call a link counts as down. */
	void (*link)(unsigned port, const struct nic_link *link);

	/* A frame that a data core punted. The message is valid during the call. */
	void (*msg)(const struct core_msg *m);

	/* Numbers of message kinds that data cores punt: first punt_kinds (from 0 on, at most
	 * CORE_PUNT_KINDS), each divided among the ports, then punt_whole (at most CORE_PUNT_WHOLE),
	 * which are not divided because their senders limit their rate. The punt ring is divided among
	 * them, so a flood of one kind by one port does not starve the others. */
	unsigned punt_kinds, punt_whole;

	/* A byte typed on the console. */
	void (*key)(uint8_t c);

	/* Records a line of the runtime's, or of a data core's, in the event log, at any time after
	 * core_private_alloc() works. True: the console is to show it. */
	bool (*event)(enum log_level level, const char *line);

	/* Prints a line of the runtime's on the console, once that is open, around one that is being typed.
	 * NULL: the runtime prints it as it is. */
	void (*log)(const char *line);

	/* Does the work that is due. Returns the TSC of the next timer, UINT64_MAX for none. Called again
	 * at that time, and after each other hook, which may have set an earlier timer. */
	uint64_t (*timer)(void);

	/* Data core: packets requested by core_mirror(), which the port has just received or is about to
	 * send (`out`; a full ring may still drop them). The hook must not change the packets. */
	void (*mirror)(const struct pkt *v, unsigned n, unsigned port, bool out);

	/* Data core: packets received by ports given to core_sample_ports(). The hook must not change them. */
	void (*sample)(const struct pkt *v, unsigned n, unsigned port);

	/* Data core: called instead of rx_vector for ports given to core_trace_ports(). Passes all the packets
	 * on to rx_vector, in order, in any number of vectors. */
	void (*trace)(struct pkt *v, unsigned n, unsigned port);

	/* Data core: called for vectors of ports given to core_program_ports(), after mirror and before
	 * trace and rx_vector. Takes some packets, each of which ends in a fate, and moves the others to the
	 * front of v, in order. Returns how many these are. */
	unsigned (*programs)(struct pkt *v, unsigned n, unsigned port);

	/* Data core: called before data_start and before data_tables. Prepares what the other hooks on data
	 * cores need of the tables. */
	void (*tables)(void);

	/* Names code of users' programs, for the report of a failure at `at` (abi/boot_info.h, struct
	 * crash.code) that happened at TSC `tsc`: writes a text such as "program drop of filter, instruction
	 * 17", with NUL. False: unknown, or other code was there then. Or NULL: never known. */
	bool (*code_name)(uint64_t at, uint64_t tsc, char *text, size_t size);

	/* Data core: a frame that the control core injected, copied to a buffer of this core. The buffer
	 * passes to the hook; p->interface is the port given to core_inject(), p->flags is PKT_OWN (but see
	 * core_inject_whole). */
	void (*inject)(struct pkt *p, uint32_t kind, uint32_t arg);
};

/*
 * The state that data cores have of flows, and that moves with the flows (runtime/move.h): from one core, which gives
 * it, to another, which takes it. How it crosses is the application's. Both hooks are called once a turn, until they
 * return true: all flows for which core_flow_moves() have been given, or taken. Each call does a bounded part, because
 * packets of other flows wait meanwhile.
 */
struct core_flows {
	unsigned core;   /* the other one */
	uint32_t number; /* of this time: another one each time, never 0, the same on both sides */
	bool first;      /* the first call of this time */
	uint64_t steps;  /* += what this call has done, in any unit: a step without any for long is given up */
	uint64_t stay;   /* give: flows that have not been taken, and stay here */
	uint64_t why;    /* take: why not, in the words of `why` below */
};
struct app_flows {
	bool (*give)(struct core_flows *f);
	bool (*take)(struct core_flows *f);

	/* Both cores: there are no more calls of this time, whether or not all has been given and taken. */
	void (*end)(void);

	/* The control core: the text of a struct core_flows.why, which another core has written. Static; never NULL. */
	const char *(*why)(uint64_t why);
};

struct app_plugin;
struct app {
	const struct control_hooks *control;

	/* Additions to the control plane (control/management/plugin.h), or NULL. */
	const struct app_plugin *plugin;

	/* Bytes of memory that this core needs besides its packet buffers (core_data_memory); both come
	 * out of `room`. Or NULL: none. */
	size_t (*data_bytes)(size_t room);

	/* Locates the tables in core_published_area() and discards all state about packets. */
	void (*data_start)(void);

	/* Locates the new tables. State of packets and connections is kept. Or NULL: the application
	 * cannot change its tables while the ports run. */
	void (*data_tables)(void);

	/*
	 * n packets, 1 to PKT_VECTOR_MAX, received by one port. Their buffers pass to the
	 * application, which passes each, exactly once and before it returns, to core_tx(),
	 * core_punt() or core_drop(). It may change v. Anything it has read in published memory (a
	 * route, an adjacency) is valid in this turn only (core_quiesce).
	 */
	void (*rx_vector)(struct pkt *v, unsigned n, unsigned port);

	/*
	 * Most packets of a vector; 0: PKT_VECTOR_MAX. An application that forwards gains by long vectors.
	 * One that answers clients gains by short ones: they work on the first answers while it works on the
	 * next requests. With vectors that hold all that clients have under way, one side waits for the other.
	 * `burst` on the kernel command line comes before it.
	 */
	uint16_t vector_max;

	/*
	 * Does the work that is due at self.now_tsc; may call core_tx(). Returns the TSC of the next
	 * timer, UINT64_MAX for none; the core does not sleep beyond it. Called again at that time, after
	 * packets or messages, because these may have set an earlier timer, and when a port has room again
	 * (core_tx_full). Or NULL: no timers, which costs a turn three instructions.
	 */
	uint64_t (*data_timer)(void);

	/* How long data_timer may wait after a turn that moved packets or messages. The first turn that moves
	 * none calls it earlier. 0: it is called in the turn that moved them. */
	uint32_t timer_slack_us;

	/*
	 * True: the packets sent by a port are answers to packets received by it, one each, and packets
	 * that can wait (core_tx_full). While the answers to a vector might not fit, the port receives
	 * nothing: requests wait in the device's ring, or are lost there, at no cost to us. The exception
	 * is a device that has taken nothing for 20 ms, because its peer may be waiting for us likewise.
	 * False: an application that forwards; a full port must not stop traffic to other ports.
	 */
	bool answers;

	/* True: private memory that no table needs is for content (core_region_alloc), not for routes that may come. */
	bool content;

	/* True: the ports receive frames to any station (NIC_PROMISC), not only to their own addresses. */
	bool promiscuous;

	/* True: a core that has no queue pair may take packets from another (runtime/steer.h). Its hooks are
	 * then called as on a core with one. */
	bool steers;

	/* True: flows may move from one data core to another (runtime/move.h): the application keeps nothing about them
	 * on data cores that it needs, or that does not move by `flows`. */
	bool moves;
	const struct app_flows *flows; /* NULL: it has none */

	/* A message from the control plane to the application, delivered by its hook `inject`. The frame's
	 * buffer passes to the application; PKT_OWN is set. Or NULL: there are no messages. */
	void (*data_msg)(struct pkt *p, uint32_t arg);
};

/* apps/apps.c */
extern const struct app *const core_apps[CORE_APP_COUNT];

/*
 * The application that runs: app=WORD of the kernel command line, if WORD names one, else the argument
 * of core_set_app() (control core, in control_hooks.start), else the first. start of the other
 * applications does not run, so one with control hooks of its own can be chosen by app= only.
 */
enum core_app_number core_app_number(void);
const struct app *core_app(void);
void core_set_app(enum core_app_number number);

/* --- data core --- */

/*
 * The packets to be sent by one port at the end of the vector. If the device's ring is full, they are
 * held and offered again in the next turn. CORE_OUT_HOLD packets at most are held, so a burst survives
 * a short ring (QEMU's tap: 256) and a stalled port blocks no other. Of the places, CORE_OUT_KEPT are
 * reserved for packets of our own (PKT_OWN) and as many for forwarded ones. Neither kind can then crowd
 * out the other at an overloaded port: ARP and HTTP are answered during a flood too. An application
 * with app->answers reserves none, because all its packets are its own.
 *
 * Packets that can wait at their source (TCP's) may use only the first CORE_OUT_ROOM places:
 * core_tx_full(). The other places are for packets that no one retains: the answers to a vector, and
 * packets from the control core. An application with app->answers receives no vector while the answers
 * might not fit.
 */
#define CORE_OUT_HOLD 768
#define CORE_OUT_KEPT 64
#define CORE_OUT_ROOM 384
#define CORE_OUT_MAX (CORE_OUT_HOLD + PKT_VECTOR_MAX)
struct core_out {
	struct pkt v[CORE_OUT_MAX]; /* first, so that no element crosses a cache line */
	unsigned n;
	unsigned held; /* the first `held` packets have been offered before */
	bool full; /* core_tx_full() has returned true; data_timer is called once there is room */
} __attribute__((aligned(64)));

extern struct core_out core_outs[NIC_PORTS_MAX]; /* for core_tx() */

/* Sends the packets queued for `port` and holds those that do not fit. Beyond the limit they are
 * dropped: received packets as drop_tx_full, those with PKT_OWN as originated_drop_tx. */
void core_tx_flush(unsigned port);

/* Sends the packets queued for all ports, then counts those of core_forwarded(). The runtime calls it
 * once after each rx_vector. */
void core_tx_flush_all(void);

/* Packets of core_forwarded() that are not counted yet, less those that were dropped for lack of
 * room. */
extern uint64_t core_forwards;

/* Takes back the buffers that devices have sent. Needed only by who waits for one: sending and sleep do the same. */
void core_tx_reclaim(void);

/* n packets received by that interface have been passed to core_tx(): core_tx_flush_all() counts those
 * that were not dropped as forwarded. */
static inline void core_forwarded(unsigned interface, unsigned n)
{
	core_forwards += n;
	count_interface(interface, CNT_forwarded, n);
}

/*
 * Queues a packet for sending by `port`, which must exist; its buffer passes to the runtime. The packet
 * is sent at the end of the vector, or earlier when CORE_OUT_MAX packets are queued.
 */
static inline void core_tx(unsigned port, const struct pkt *p)
{
	struct core_out *o = &core_outs[port];
	o->v[o->n++] = *p;
	if (unlikely(o->n == CORE_OUT_MAX))
		core_tx_flush(port);
}

/*
 * Queues up to n packets, at most PKT_VECTOR_MAX, for one port: core_tx_begin returns where the first goes,
 * core_tx_end takes the place after the last. Nothing else may be queued for the port in between. Cheaper
 * than core_tx for each.
 */
static inline struct pkt *core_tx_begin(unsigned port, unsigned n)
{
	struct core_out *o = &core_outs[port];
	if (unlikely(o->n + n > CORE_OUT_MAX))
		core_tx_flush(port); /* holds CORE_OUT_HOLD at most */
	return &o->v[o->n];
}

static inline void core_tx_end(unsigned port, const struct pkt *end)
{
	struct core_out *o = &core_outs[port];
	o->n = (unsigned)(end - o->v);
	if (unlikely(o->n == CORE_OUT_MAX))
		core_tx_flush(port);
}

/* The slow path of core_tx_full. */
bool core_tx_fill(unsigned port);

/*
 * True if `port` has no room for a packet that can wait. It then stays full until data_timer is called,
 * once half of CORE_OUT_ROOM is free, so that the device gets bursts. A port that has taken nothing for
 * 2 s counts as having room: its packets are lost, so no sender waits forever.
 */
static inline bool core_tx_full(unsigned port)
{
	const struct core_out *o = &core_outs[port];
	return unlikely(o->n >= CORE_OUT_ROOM || o->full) && (o->full || core_tx_fill(port));
}

/* Packets that this core has sent by `port` or queued for it so far. Cold. */
uint64_t core_tx_given(unsigned port);

/* The packet that control_hooks.trace follows through this data core. */
struct core_trace {
	uint16_t number;   /* 0: none */
	uint16_t messages; /* messages sent to the control core because of it */
};
extern struct core_trace core_trace;

/* True if the current vector is a single packet that is being traced. To be called once per vector. */
static inline bool core_traces(void) { return unlikely(core_trace.number != 0); }

/*
 * The enum nic_features that every started port has, so a packet may use them whatever its output port.
 * Known before data_start is called. PKT_CSUM_PARTIAL is always allowed: if a device does not complete
 * the checksum, its driver does. PKT_TSO of either IP version and PKT_USO need the feature, because
 * only the device segments.
 */
uint32_t core_tx_features(void);

/*
 * Sending by slots: for an application that sends prepared frames repeatedly by a port (a generator).
 * The frames belong to the application. They are complete and lie in memory of core_data_memory(), each
 * preceded by NIC_SLOT_ROOM bytes that stay zero. The ring has a fixed number of slots, sent in order.
 * The application counts them from 0; slot k is sent again as k + slots. A table gives the contents of
 * each slot. An unchanged slot is sent without reading the table.
 *
 * A frame and the bytes before it belong to the device from core_slots_send() until the slot is free
 * again: slot k may be changed once core_slots_room() includes it. Table entries may be changed at any
 * time; core_slots_send() uses the entries as they are when it is called.
 *
 * core_tx() still works for every sender, for frames in one piece that need nothing but a checksum.
 * They are sent between the application's frames, which lose no slot, and queued ones go first.
 *
 * Slots end with the ports and must be opened again after data_start, by data_timer or rx_vector.
 */

/*
 * Opens slots on this core's queue of `port`, or restarts at slot 0 if they are open. `table` has
 * NIC_SLOTS_MAX entries and remains the application's; all entries count as changed. Returns the number
 * of slots, a power of two. E_AGAIN: the device still has frames to send, or the port does not run.
 * E_NOTSUP: its driver has no slots.
 */
int core_slots_open(unsigned port, struct nic_slot *table);

/* The longest frame that a slot may have, without FCS. */
uint32_t core_slots_len_max(unsigned port);

/* The number of slots that may be sent now, possibly fewer than are free (nic_ops.slots_free). To be
 * called before each send. Sends packets queued by core_tx() for the port first. 0 also if the device
 * is gone. */
unsigned core_slots_room(unsigned port);

/* The table entries of the next n slots to be sent have changed. */
void core_slots_changed(unsigned port, unsigned n);

/* Sends the next n slots, n at most the room; `bytes` is their total length, for the port's counters. */
void core_slots_send(unsigned port, unsigned n, uint64_t bytes);

/*
 * Sends a packet, of a kind that core_tx() accepts, at once, and has the device record the time
 * (nic_ops.time_stamps). E_AGAIN: there is no room now; E_NOTSUP: the device has no clock. On error the
 * caller keeps the buffer. From the first success on the port has slots.
 */
int core_tx_stamped(unsigned port, const struct pkt *p);

/* True if the device has sent everything, or never will: the end of a run. */
bool core_slots_idle(unsigned port);

/* The queue pair that this data core polls on every port, while the ports run, or that of the core whose
 * packets it takes; E_NOENT: the core is on standby. */
int core_pair(void);

/* Of a flow by the hash of its received packets (runtime/bucket_hash.h), for struct app_flows. core_flow_moves: it
 * moves between this core and another, or was the last to do so. core_flow_elsewhere: it moves now, and this core may
 * not have its state; also on a third core, which receives its packets while one of the two fails. Or this core has
 * given it away some seconds ago. */
bool core_flow_moves(uint32_t hash);
bool core_flow_elsewhere(uint32_t hash);

/* The last number of a struct core_flows; 0: there was none yet. */
uint32_t core_flows_number(void);

/* Forbids or allows this core to sleep when it finds no work. It must not sleep while work is due at a
 * time that a wake-up would miss. data_start resets this to allowed. */
void core_stay_awake(bool awake);

/* Drops a packet: counts the reason and frees it. */
static inline void core_drop(const struct pkt *p, enum counter reason)
{
	count_at(p->interface, reason);
	pkt_free(&self.pool, p);
}

/* Copies a received packet to the control core, which decides its fate, and frees it. If the ring is
 * full, or has no room for that kind and port (control_hooks.punt_kinds), the packet is dropped as
 * drop_punt_full. PKT_CSUM_PARTIAL must have been completed. */
void core_punt(const struct pkt *p, uint32_t kind, uint32_t arg);

/* core_punt for a packet of our own, which has no fate. It may be in several pieces; its checksum is
 * completed here. A packet that is too long for a message or needs segmentation is dropped as
 * originated_drop_tx; its sender retransmits, in single segments first. */
void core_punt_own(const struct pkt *p, uint32_t kind, uint32_t arg);

/* The memory requested by app->data_bytes, from data_start on. 64-byte aligned; only this core writes
 * it. Its contents are undefined after each start of the ports. */
void *core_data_memory(size_t *bytes);

/* An area in this core's shared memory that all cores can read, 64-byte aligned. When the core's
 * program starts, the first CORE_SHARED_ZEROED bytes are zero; the rest keeps its contents. */
#define CORE_SHARED_ZEROED 0x12000u
void *core_shared_area(size_t *bytes);

/* At the end of this turn the control core is woken, if it sleeps, and calls control_hooks.timer soon: for an
 * application whose data cores write something for it into core_shared_area(). */
void core_wake_control(void);

/* The shared area of another core, from any core. */
const void *core_shared_area_of(unsigned core);

/* Access to single words shared between cores. */
static inline uint64_t shared_load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void shared_store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Before calling code that another core has written since this core last called code at that address: the
 * processor may not have seen the new bytes otherwise (Intel SDM vol. 3A, 8.1.3, cross-modifying code).
 * Once for each change, not for each packet: a virtual machine leaves to its host for it. */
static inline void core_code_sync(void)
{
	uint32_t a = 0, c = 0;
	__asm__ volatile("cpuid" : "+a"(a), "+c"(c) : : "ebx", "edx", "memory");
}

/* --- control core --- */

/* How far data cores have filled their punt rings. core_punt_passed: the control core has served all
 * messages that were in them when the mark was taken. Bounded: later messages do not matter. */
struct core_punt_mark {
	uint64_t head[CORES_MAX];
};
void core_punt_mark(struct core_punt_mark *m);
bool core_punt_passed(const struct core_punt_mark *m);

/*
 * Copies a frame of `len` bytes (<= core_frame_max()) to the data core that polls queue pair
 * `pair` < core_data_count(). That core receives it by control_hooks.inject. E_AGAIN: the ring is full
 * or the ports do not run. E_INVAL: the frame is too long.
 */
int core_inject(unsigned pair, unsigned port, const uint8_t *frame, unsigned len, uint32_t kind,
                uint32_t arg);

/* Slots that the ring to that data core has free. 0 also while the ports do not run. */
unsigned core_inject_room(unsigned pair);

/*
 * The same as core_inject for a packet of `pool` that has PKT_TSO, PKT_CHAIN and PKT_CSUM_PARTIAL, the first of
 * which core_tx_features() must allow. The hook gets it with these flags. It takes core_inject_slots() of the ring.
 * The packet stays the caller's. E_INVAL: it has more bytes than PKT_FRAGS_MAX slots.
 */
int core_inject_whole(unsigned pair, unsigned port, const struct bufpool *pool, const struct pkt *p, uint32_t kind);
unsigned core_inject_slots(const struct bufpool *pool, const struct pkt *p);

/* The same, to a data core that polls a pair or takes packets from one that does. */
int core_inject_to(unsigned core, unsigned port, const uint8_t *frame, unsigned len, uint32_t kind, uint32_t arg);

/* Number of data cores that poll queues; each can send by any port. 0 while the ports are stopped. */
unsigned core_data_count(void);

/* The queue pair that `core` polls on every port; E_NOENT: none. */
int core_pair_of(unsigned core);

/* The queue pair from which `core` receives and by which it sends: its own, or that of the core whose packets
 * it takes (core_steered_from). E_NOENT: none. */
int core_pair_serving(unsigned core);

/* The core whose packets `core` takes, because it has no queue pair of its own (receive packet steering,
 * runtime/steer.h); E_NOENT: none. */
int core_steered_from(unsigned core);

/* Receive packet steering, where a card has fewer queue pairs than there are data cores; on unless set. In
 * control_hooks.start. */
void core_set_steering(bool on);

/* Begins to move a bucket of a port's indirection table to the data core `core` (runtime/move.h), or returns why
 * not: static text. core_move_busy: it is under way. */
const char *core_move_bucket(unsigned port, unsigned bucket, unsigned core);
bool core_move_busy(void);

/* Whether the control core balances the load of data cores by moving buckets (runtime/balancer.h); on unless set. In
 * control_hooks.start, or later. */
void core_set_balance(bool on);
bool core_balances(void);

/* Elastic cores (runtime/elastic.h): at low load the flows are gathered on `minimum` queue pairs or more; 0: never.
 * They are spread over all again when a packet may have waited for `wake_up_us`. In control_hooks.start, or later. */
void core_set_elastic(unsigned minimum, unsigned wake_up_us);
unsigned core_elastic_minimum(void);
unsigned core_elastic_wake_up_us(void);

/* Of core_data_count() queue pairs the first so many have the flows. */
unsigned core_pairs_in_use(void);

/* Why buckets of a running port cannot move: static text; NULL: they can. */
const char *core_moves_refused(unsigned port);

/* Buckets of a port that a core has; 0 of a card without a table. */
unsigned core_buckets(unsigned port, unsigned core);

/* Buckets of all ports that a data core has, and those moved to it and from it since the control program began. */
struct core_moves {
	uint64_t has, taken, given;
};
struct core_moves core_moves_of(unsigned core);

/* Bytes of the longest frame that a buffer and a message hold, as of the last control_hooks.start. A
 * core_set_mtu() in that hook takes effect after it returns. */
unsigned core_frame_max(void);

/* True if the memory lies in the arena of `core`, which holds its core_data_memory(). It may then be
 * read; its contents are untrusted. */
bool core_arena_has(unsigned core, const void *at, uint64_t bytes);

/* The application's part of published memory: 64-byte aligned, at the same address on all cores,
 * writable by the control core. */
void *core_published_area(size_t *bytes);

/* Bytes of published memory outside that area. After a warm restart they hold the previous
 * program's tables. */
size_t core_published_beside(void);

/* The largest possible size of the area: it can grow into memory that core_private_alloc() has not
 * given out. */
size_t core_published_most(void);

/* Makes the area at least so large; it never shrinks. E_NOMEM: not possible. */
int core_published_take(size_t bytes);

/* Takes zeroed private memory of the control core, page aligned; NULL if there is not enough. Only a
 * restart of the program frees it, not the next control_hooks.start. */
void *core_private_alloc(size_t bytes);

/* Room for `want` things of `each` bytes at *at, which holds *max: kept, or, since private memory is
 * never given back, taken anew for some more. What lay there is lost. False: there is no memory, and
 * nothing has changed. */
static inline bool core_private_grow(void **at, uint32_t *max, size_t want, size_t each)
{
	const size_t n = want + want / 8 + 64;
	if (*at && want <= *max)
		return true;
	void *new = n * each <= UINT32_MAX ? core_private_alloc(n * each) : NULL;
	if (!new)
		return false;
	*at = new;
	*max = (uint32_t)n;
	return true;
}

/* Bytes of whole pages that hold so many. */
static inline size_t core_pages(size_t bytes) { return (bytes + 4095) & ~(size_t)4095; }
size_t core_private_left(void); /* in one piece */
size_t core_private_used(void);

/*
 * core_private_alloc of memory that survives the program. A program restarted in the same boot finds it
 * at its address with its contents, possibly in the middle of a change. There is one piece of each
 * kind; a second call takes a new piece, and the old one is lost. NULL: not enough memory, or too many
 * pieces. CORE_PERSIST_PROGRAMS_WORK is not zeroed: it is up to 120 MiB, zeroing them took 160 ms in one piece,
 * and the loader writes whatever it reads (bpf_take).
 */
enum core_persist {
	CORE_PERSIST_DEVICES, /* the runtime's own: many pieces */
	CORE_PERSIST_JOURNAL, CORE_PERSIST_ROUTES, CORE_PERSIST_PROGRAMS, CORE_PERSIST_PROGRAMS_WORK, CORE_PERSIST_STP,
	CORE_PERSIST_CONTENT, CORE_PERSIST_ERRDISABLE, CORE_PERSIST_WALLTIME, CORE_PERSIST_LOG, CORE_PERSIST_STORAGE,
	CORE_PERSIST_STARTUP, CORE_PERSIST_SYSLOG, CORE_PERSIST_HTTPS, CORE_PERSIST_SSH, CORE_PERSIST_LOG_STORE,
	CORE_PERSIST_DHCP, CORE_PERSISTS
};
void *core_persist_alloc(enum core_persist what, size_t bytes);

/* The same, aligned to CORE_LEND_UNIT, for memory that core_lend() is given. */
#define CORE_LEND_UNIT (2u << 20)
void *core_persist_alloc_aligned(enum core_persist what, size_t bytes);

/* Behind an IOMMU, a disk (self.info->pci[device]) reaches no memory but what it is lent here, whole CORE_LEND_UNITs of
 * private memory, and network cards do not reach that. E_NOTSUP: there is no IOMMU, or all devices share a map.
 * E_DEVICE: the IOMMU does not answer. */
int core_lend(unsigned device, void *at, size_t bytes);

/* A kept piece, and its size in whole pages; NULL: none. */
void *core_persist_find(enum core_persist what, size_t *bytes);

/* By how much the private memory and published memory could be smaller and still hold the tables
 * that control_hooks.start has built. A program that takes over has only the memory beside these
 * tables. Both are 0 unless set. */
void core_set_spare(size_t private_bytes, size_t published_bytes);

/* True in control_hooks.start during a warm restart. start then builds complete tables or gives up:
 * with smaller ones the warm restart fails. */
bool core_takes_over(void);

/*
 * Memory of XDP programs (bpf/) and their maps, and of an application's content: the regions of abi/boot_info.h,
 * which says who writes and who reads each kind. There are none until the first request. They grow out of private
 * memory, in units of 2 MiB (REGION_OWN: for each data core), and never shrink: what is freed serves the next
 * request. All addresses are the same on all cores.
 *
 * Regions and their contents survive a restart of any core's program. What is in use is known to the
 * control program alone: a restarted one first claims what it goes on using, then allocates.
 */
#define CORE_REGION_ALIGN 64

/* Takes memory of that kind, aligned to CORE_REGION_ALIGN and zeroed; code: filled with int3; content: as it
 * is. Content leaves what core_content_room() says to the tables. Of
 * REGION_OWN `bytes` are for each data core, and the result is the address of data core 0's part. NULL:
 * there is not enough, or more than CORE_REGION_PIECES pieces are in use. */
#define CORE_REGION_PIECES 1024 /* of each kind */
void *core_region_alloc(enum region_kind kind, size_t bytes);

/* Gives back what core_region_alloc(kind, bytes) has returned. Code is erased. No data core may use it any
 * more: core_quiesce(). */
void core_region_free(enum region_kind kind, void *at, size_t bytes);

/* A restarted control program goes on using what a previous one has allocated with these arguments; its
 * contents stay. False: this is not free memory of a region. Before the first core_region_alloc of that
 * kind, because that one could take it. */
bool core_region_claim(enum region_kind kind, void *at, size_t bytes);

/* The part of data core d of what core_region_alloc(REGION_OWN) has returned. */
void *core_region_own(void *at, unsigned d);

/* Bytes that regions of content can still grow by. The rest of private memory is for tables, as many as a
 * control program needs that takes over while data cores continue, and for what changes of the configuration take. */
size_t core_content_room(void);

/* Bytes of all regions of that kind, as taken from the tables; and those of them that are free. */
size_t core_region_bytes(enum region_kind kind);
size_t core_region_bytes_free(enum region_kind kind);

/*
 * Copies code to memory of core_region_alloc(REGION_CODE). No program may write there, the control core's
 * neither. Code in use is not overwritten: write the new code to memory of its own, publish its address,
 * core_quiesce(), free the old memory. A data core calls core_code_sync() before it calls code at an
 * address for the first time. E_INVAL: beyond the regions.
 */
int core_code_write(void *at, const void *code, size_t bytes);

/* From now on typed bytes go to control_hooks.key; until then they wait in the kernel. */
void core_console_open(void);

/* Prints bytes on the console unchanged. */
void core_console_write(const char *text, size_t bytes);

/*
 * Quiescence (ARCHITECTURE.md, invariant 2): returns when every data core has finished its current
 * turn, so none still uses data that it read from published memory before. Takes microseconds. A
 * core that sleeps, is dead or is this one is not waited for. False if a core does not finish
 * within 2 s (a host preempts a CPU for far less): the caller must then leave data unchanged that
 * readers may still use. The ports are being restarted in this case, and every call returns false
 * at once until all data cores have released them.
 */
bool core_quiesce(void);

/*
 * From now on data cores pass to control_hooks.mirror the packets received by the ports in `in`,
 * one bit each, and those to be sent by the ports in `out`, without frames sent by slots.
 * core_mirror(0, 0) ends this; after the next core_quiesce() no core calls the hook any more.
 */
void core_mirror(uint32_t in, uint32_t out);

/* From now on core_tx() by `port` is to a bundle of these ports, one bit each (runtime/bundle.h); 0: by the
 * port itself. At any time. */
void core_bundle(unsigned port, uint32_t members);

/* From now on data cores pass the packets received by the ports in `ports`, one bit each, to
 * control_hooks.trace instead of rx_vector. core_trace_ports(0) ends this, like core_mirror(0, 0). */
void core_trace_ports(uint32_t ports);

/* From now on data cores pass the packets received by the ports in `ports`, one bit each, to
 * control_hooks.sample. core_sample_ports(0) ends this, like core_mirror(0, 0). */
void core_sample_ports(uint32_t ports);

/* From now on data cores pass the packets received by the ports in `ports`, one bit each, to
 * control_hooks.programs first. core_program_ports(0) ends this, like core_mirror(0, 0). */
void core_program_ports(uint32_t ports);

/* Requests a stop and restart of the ports (new buffer size, core restarted). Returns at once;
 * control_hooks.start follows. `why` is printed on the console. */
void core_ports_restart(const char *why);

/* Has the kernel restart the program of another core, with a report. Does nothing if that core sleeps or
 * is in the kernel at the moment. */
void core_restart(unsigned core);

/* To be called in loops of the control core whose work may add up to a second: the watchdog
 * (kernel/watchdog.h) takes a program that makes no progress for stuck. */
static inline void core_alive(void)
{
	if (self.pulse)
		__atomic_store_n(&self.pulse->marks, self.pulse->marks + 1, __ATOMIC_RELEASE);
}

/* States how long the work that begins now may take without progress. Returns what held before, which the
 * caller restores at the end. Both are signs of life: else the watchdog would judge what the slow work has taken
 * by the limit of the fast work that follows it. */
static inline enum core_pace core_pace(enum core_pace pace)
{
	if (!self.pulse)
		return pace;
	const enum core_pace before = (enum core_pace)self.pulse->pace;
	core_alive();
	__atomic_store_n(&self.pulse->pace, pace, __ATOMIC_RELEASE);
	return before;
}

/* For tests, on the control core: from now on drivers appear to be in the middle of a change. */
void core_test_driver(void);

/* KCALL_TEST_DMA of a struct pci_dev's index, at a region's last word; UINT32_MAX: the kernel's word.
 * core_test_message: by entry `entry` of the interrupt remapping table. */
int core_test_dma(unsigned device, unsigned region);
int core_test_message(unsigned device, unsigned entry);

/* The same at the last word of port `port`'s rings on the first data core. */
int core_test_rings(unsigned device, unsigned port);

/* Makes the kernel fail in the named way; returns false if there is no such way. */
bool core_test_panic(const char *kind);

/* Records the hash of the configuration in force in struct boot_info, for reports; 0: none at the
 * moment. */
void core_note_config(uint64_t hash);

/* The kept report of a program's failure with the smallest number above `after`; false: none. */
bool core_crash_next(uint64_t after, struct crash *to);

/*
 * Formats the data of a report's program, piece by piece from i = 0, with at most `most` packets. A
 * piece is whole lines, up to CORE_CRASH_PIECE bytes including the NUL. Returns its length; 0: the end.
 */
#define CORE_CRASH_PIECE 1024
size_t core_crash_piece(const struct crash *c, unsigned i, unsigned most, char *text);

/* A reader's position in a report, in its text and its data; all zero at first. */
struct core_crash_walk {
	uint32_t text, piece;
};

/* The next piece of the report, at most CORE_CRASH_PIECE bytes; 0: the end. */
size_t core_crash_read(const struct crash *c, struct core_crash_walk *at, unsigned most, char *text);

/* Sets the MTU that determines the size of buffers, in bytes of IP packet; in control_hooks.start. */
void core_set_mtu(unsigned mtu);

/* Has these ports, one bit each, receive frames to any station (NIC_PROMISC) whatever the application; in
 * control_hooks.start. */
void core_set_promiscuous(uint32_t ports);

/* What an idle core does, unless idle= on the kernel command line overrides it. AUTO: a guest of a
 * hypervisor sleeps, bare metal polls. Before it sleeps a core polls for spin_us microseconds without
 * work; 0: as long as runtime/idle.h chooses. Data cores obey at once, whether or not the ports run. */
enum core_idle { CORE_IDLE_AUTO, CORE_IDLE_POLL, CORE_IDLE_SLEEP };
void core_set_idle(enum core_idle idle, uint32_t spin_us);
enum core_idle core_idle_mode(void); /* in force: poll or sleep */
uint32_t core_idle_spin_us(void);    /* as last set */

/* --- state and counters (control core) --- */

unsigned core_port_count(void); /* 0 until the first control_hooks.start, then constant */
const struct nic *core_port_nic(unsigned port);

/* What became of the network function self.info->pci[index]. */
struct core_card {
	unsigned port;      /* UINT32_MAX: it is no port */
	const char *driver; /* NULL: no driver is for it */
	const char *why;    /* of a function that has a driver and is no port: the reason */
	const char *name;   /* of a function without driver: what it is; NULL: not known */
};
struct core_card core_card(unsigned index);
bool core_port_link(unsigned port, struct nic_link *link); /* false: the ports do not run */
bool core_ports_running(void);

/* Sum over the data cores. */
void core_port_counters(unsigned port, struct nic_counters *sum);

/* The device's own counters since its first start; all zero if it has none. */
const struct nic_stats *core_port_stats(unsigned port);

/* Limits the rate at which queue pair `pair` (core_pair_of) sends by `port`, until the ports stop or the
 * link changes (nic_ops.rate). E_NOTSUP: the device cannot. E_AGAIN: it does not run. */
int core_port_rate(unsigned port, unsigned pair, uint32_t kbps, uint32_t *set);

/* The device of a port, for its operations time_start, time_now and time_stamps; valid until the ports
 * stop. NULL: it has no clock, or does not run. */
struct nic *core_port_clock(unsigned port);

/* Sum over all cores. Packets that dead cores were processing are in drop_restart. */
void core_counters(struct counters *sum);

/* The fates of packets received by that interface, summed over all cores. Fates without an interface,
 * such as those at a restart, are in core_counters() alone. If core_counters() is read later, its drops
 * are never less. Forwarded packets are counted there at the end of their vector. */
void core_fates(unsigned interface, uint64_t sum[CNT_FATES]);

struct core_stats {
	uint64_t turns;       /* turns of the loop, each ending in a quiescent point (core_quiesce) */
	uint64_t marks;       /* of core_alive() */
	uint64_t pace;        /* enum core_pace; these three are struct core_pulse */
	uint64_t busy_turns;  /* turns that moved packets */
	uint64_t busy_cycles; /* TSC ticks in those */
	uint64_t rx_pkts;     /* packets received */
	uint64_t sleeps;      /* number of halts */
	uint64_t first_forward_tsc; /* TSC when this core first forwarded a packet; 0: not yet */
	uint64_t pool_free;   /* buffers */
	uint64_t pool_count;
};
const struct core_stats *core_stats_of(unsigned core);

/* Value of `name=` on the kernel command line; false if absent or too long. */
bool core_option(const char *name, char *buf, size_t size);
uint64_t core_option_number(const char *name, uint64_t fallback);

#endif
