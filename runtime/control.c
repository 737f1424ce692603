/*
 * The control core's turn: messages from the data cores, the states of the ports, timers, and
 * housekeeping (console, links). Housekeeping enters the kernel or reads a device register, so an awake
 * core does it only every 10 ms, however busy it is. A woken core does it once before it sleeps for
 * long. A sleeping core is not woken for it.
 */
#include "runtime/shared.h"
#include "runtime/bundle.h"
#include "runtime/walltime.h"
#include "abi/kcall.h"
#include "lib/mem.h"
#include "lib/number.h"

#define HOUSEKEEPING_NS 10000000ull
#define LINK_EVERY 10 /* housekeepings */
#define MESSAGES_PER_TURN 64
#define QUIESCE_NS 2000000000ull

static uint64_t timer_tsc; /* next timer of the application */
static uint64_t house_tsc; /* earliest time of the next housekeeping */
static bool house_due;     /* the core was woken since the last housekeeping */
static bool console_open;  /* the application takes typed bytes */
static unsigned house_count;

void control_init(void)
{
	house_due = true;
	random_share();
	tables_init();
	walltime_start();
	ports_init();
}

bool control_event(enum log_level level, const char *line)
{
	return !core_app()->control->event || core_app()->control->event(level, line);
}

bool control_log(const char *line)
{
	if (!console_open || !core_app()->control->log)
		return false;
	core_app()->control->log(line);
	return true;
}

void core_console_write(const char *text, size_t bytes)
{
	kcall(KCALL_LOG, (uint64_t)(uintptr_t)text, bytes, 0);
}

void core_note_config(uint64_t hash)
{
	kcall(KCALL_CONFIG_HASH, hash, 0, 0);
}

/* Has data cores look closer at the vectors of ports that need anything. */
static void look_at(struct published *s)
{
	__atomic_store_n(&s->looked_at, s->mirror_in | s->trace_in | s->programs_in | s->move_in | s->sample_in,
	                 __ATOMIC_RELEASE);
}

/* The same for what they send. */
static void look_out(struct published *s)
{
	__atomic_store_n(&s->looked_out, s->mirror_out | s->bundled, __ATOMIC_RELEASE);
}

void core_bundle(unsigned port, uint32_t members)
{
	struct published *s = published_header();
	if (members)
		__atomic_store_n(&s->bundle[port], bundle_buckets(s->bundle[port], members), __ATOMIC_RELAXED);
	__atomic_store_n(&s->bundled, members ? s->bundled | 1u << port : s->bundled & ~(1u << port),
	                 __ATOMIC_RELEASE); /* the buckets were written before */
	look_out(s);
}

void core_mirror(uint32_t in, uint32_t out)
{
	struct published *s = published_header();
	/* release: data that the mirror hook needs was written before */
	__atomic_store_n(&s->mirror_in, in, __ATOMIC_RELEASE);
	__atomic_store_n(&s->mirror_out, out, __ATOMIC_RELEASE);
	look_at(s);
	look_out(s);
}

void core_trace_ports(uint32_t ports)
{
	struct published *s = published_header();
	__atomic_store_n(&s->trace_in, ports, __ATOMIC_RELEASE); /* as in core_mirror */
	look_at(s);
}

void core_sample_ports(uint32_t ports)
{
	struct published *s = published_header();
	__atomic_store_n(&s->sample_in, ports, __ATOMIC_RELEASE); /* as in core_mirror */
	look_at(s);
}

void core_program_ports(uint32_t ports)
{
	struct published *s = published_header();
	__atomic_store_n(&s->programs_in, ports, __ATOMIC_RELEASE); /* as in core_mirror */
	look_at(s);
}

void core_move_ports(uint32_t ports)
{
	struct published *s = published_header();
	__atomic_store_n(&s->move_in, ports, __ATOMIC_RELEASE); /* as in core_mirror */
	look_at(s);
}

void core_wake(unsigned core)
{
	barrier_full();
	if (core != self.id && shared_load(&core_shm_of(core)->parked))
		kcall(KCALL_WAKE, core, 0, 0);
}

static bool serve_messages(void)
{
	bool any = false;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		for (unsigned i = 0; core_ports_running() && i < MESSAGES_PER_TURN; i++) {
			const struct core_msg *m = ring_punt_next(d);
			if (!m)
				break;
			any = true;
			if (m->len <= core_frame_max())
				core_app()->control->msg(m);
			else /* the sender's program is corrupt and about to fault */
				count_n(CNT_drop_restart, !(m->flags & PKT_OWN));
			ring_punt_done(d);
		}
	return any;
}

static bool housekeeping(void)
{
	bool any = false, woken = house_due;
	house_tsc = self.now_tsc + clock_ticks(&self.clock, HOUSEKEEPING_NS);
	house_due = false;
	const enum core_pace pace = core_pace(PACE_LONG); /* a byte may end a command */
	for (int64_t c; console_open && (c = kcall(KCALL_CONSOLE_READ, 0, 0, 0)) >= 0; any = true)
		core_app()->control->key((uint8_t)c);
	(void)core_pace(pace);
	if (house_count++ % LINK_EVERY == 0 || woken)
		ports_check_link();
	return any;
}

void core_console_open(void)
{
	console_open = true;
	house_due = true; /* something may have been typed already */
}

bool control_turn(void)
{
	bool settled = ports_settled();
	const enum core_pace pace = core_pace(PACE_LONG);
	ports_turn();
	(void)core_pace(pace);
	if (ports_settled() != settled)
		timer_tsc = 0; /* the application has been started again */
	bool any = serve_messages();
	lines_turn();
	if (self.now_tsc >= timer_tsc && ports_settled())
		timer_tsc = core_app()->control->timer();
	else if (any)
		timer_tsc = 0; /* a message may have set an earlier timer */
	crash_turn();
	watch_turn();
	if (self.now_tsc >= house_tsc) {
		any |= housekeeping();
		timer_tsc = 0; /* a key (ping) or a link (announcements) may have set an earlier timer */
	}
	return any;
}

uint64_t control_deadline(void)
{
	uint64_t t = ports_deadline();
	if (ports_settled() && timer_tsc < t)
		t = timer_tsc;
	if (house_due && house_tsc < t)
		t = house_tsc;
	return u64_min(t, watch_deadline());
}

void control_woken(void)
{
	house_due = true;
}

void core_wake_control(void)
{
	ring_wake_later(0);
	if (self.id == 0)
		control_woken();
}

/* A failed program reads nothing any more; the next one begins without pointers. */
static bool is_without_program(unsigned core)
{
	const uint32_t state = self.info->status[core].state;
	return state == CORE_DEAD || state == CORE_FAILED;
}

bool core_quiesce(void)
{
	uint64_t turns[CORES_MAX];
	if (!core_ports_running())
		return ports_let_go();
	uint64_t end = clock_tsc() + clock_ticks(&self.clock, QUIESCE_NS);
	barrier_full(); /* the caller's stores are visible before the turns are read */
	for (unsigned d = 0; d < self.info->data_cores; d++)
		turns[d] = shared_load(&core_shm_of(data_core(d))->stats.turns);
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		unsigned c = data_core(d);
		const struct core_shm *o = core_shm_of(c);
		while (c != self.id && shared_load(&o->stats.turns) == turns[d] &&
		       !shared_load(&o->parked) && !is_without_program(c)) {
			if (clock_tsc() > end) {
				core_log_at(LOG_ERR, "core %u does not finish its turn", c);
				core_event(EVENT_unquiet, c, 0);
				core_ports_restart("what data cores read cannot be changed");
				return false;
			}
			core_alive();
			cpu_relax();
		}
	}
	return true;
}
