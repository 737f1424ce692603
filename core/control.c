/*
 * The control core's turn: messages from the data cores, the life of the ports, timers, and
 * housekeeping (console, links). Housekeeping enters the kernel or reads a device register, so it
 * is done every 10 ms and not more often while the core is awake, whatever keeps it busy. A core
 * that was woken does it once more before it sleeps for long; one that is left alone sleeps on.
 */
#include "core/outbox.h"
#include "hal/kcall.h"
#include "lib/mem.h"
#include "lib/number.h"

#define HOUSEKEEPING_NS 10000000ull
#define LINK_EVERY 10 /* housekeepings */
#define MESSAGES_PER_TURN 64
#define SHARE_UNIT (2u << 20) /* of KCALL_SHARE */
#define QUIESCE_NS 2000000000ull

static uint64_t timer_tsc; /* next timer of the application */
static uint64_t house_tsc; /* housekeeping not before */
static bool house_due;     /* the core was woken since the last one */
static bool console_open;  /* the application takes what is typed */
static unsigned house_count;
static size_t private_used;

void control_init(void)
{
	house_due = true;
	ports_init();
}

size_t core_private_left(void)
{
	return self.info->core[self.id].tables_bytes - private_used;
}

size_t core_private_used(void) { return private_used; }

void *core_private_alloc(size_t bytes)
{
	bytes = align_up(bytes, 4096);
	if (bytes > core_private_left())
		return NULL;
	const struct core_memory *m = &self.info->core[self.id];
	private_used += bytes; /* from the end: the snapshot grows towards it */
	void *p = (uint8_t *)(uintptr_t)(m->tables + m->tables_bytes - private_used);
	memset(p, 0, bytes);
	return p;
}

/* What the snapshot may still take of the tables that follow it. */
static size_t shareable(void)
{
	const struct boot_info *b = self.info;
	const bool follow = b->core[self.id].tables == b->snapshot + b->snapshot_bytes;
	return follow && core_private_left() ? align_down(core_private_left() - 1, SHARE_UNIT) : 0;
}

size_t core_snapshot_most(void)
{
	return self.info->snapshot_bytes - SNAPSHOT_HEADER + shareable();
}

int core_snapshot_take(size_t bytes)
{
	const size_t have = self.info->snapshot_bytes - SNAPSHOT_HEADER;
	if (bytes > have + shareable())
		return E_NOMEM;
	if (bytes <= have)
		return E_OK;
	return kcall(KCALL_SHARE, align_up(bytes - have, SHARE_UNIT), 0, 0) == 0 ? E_OK : E_NOMEM;
}

void core_console_write(const char *text, size_t bytes)
{
	kcall(KCALL_LOG, (uint64_t)(uintptr_t)text, bytes, 0);
}

void core_tap(uint32_t in, uint32_t out)
{
	struct snapshot *s = snapshot_header();
	/* release: with them goes what the tap is to know */
	__atomic_store_n(&s->tap_in, in, __ATOMIC_RELEASE);
	__atomic_store_n(&s->tap_out, out, __ATOMIC_RELEASE);
	__atomic_store_n(&s->looked_at, in | s->trace_in, __ATOMIC_RELEASE);
}

void core_watch(uint32_t ports)
{
	struct snapshot *s = snapshot_header();
	__atomic_store_n(&s->trace_in, ports, __ATOMIC_RELEASE); /* as above */
	__atomic_store_n(&s->looked_at, ports | s->tap_in, __ATOMIC_RELEASE);
}

void core_wake(unsigned core)
{
	barrier_full();
	if (core != self.id && shared_load(&outbox_of(core)->parked))
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
			else /* its sender is out of its mind, and about to fault */
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
	for (int64_t c; console_open && (c = kcall(KCALL_CONSOLE_READ, 0, 0, 0)) >= 0; any = true)
		core_app()->control->key((uint8_t)c);
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
	ports_turn();
	if (ports_settled() != settled)
		timer_tsc = 0; /* the application has started over */
	bool any = serve_messages();
	if (self.now_tsc >= timer_tsc && ports_settled())
		timer_tsc = core_app()->control->timer();
	else if (any)
		timer_tsc = 0; /* what came may have set an earlier timer */
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

bool core_quiesce(void)
{
	uint64_t turns[CORES_MAX];
	if (!core_ports_running())
		return ports_let_go();
	uint64_t end = clock_tsc() + clock_ticks(&self.clock, QUIESCE_NS);
	barrier_full(); /* what the caller has written is visible before we look */
	for (unsigned d = 0; d < self.info->data_cores; d++)
		turns[d] = shared_load(&outbox_of(data_core(d))->stats.turns);
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		unsigned c = data_core(d);
		const struct outbox *o = outbox_of(c);
		while (c != self.id && shared_load(&o->stats.turns) == turns[d] &&
		       !shared_load(&o->parked) && self.info->status[c].state != CORE_DEAD) {
			if (clock_tsc() > end) {
				core_log("core %u does not finish its turn", c);
				core_ports_restart("what data cores read cannot be changed");
				return false;
			}
			cpu_relax();
		}
	}
	return true;
}
