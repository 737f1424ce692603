/*
 * The control core's turn: messages from the data cores, the life of the ports, timers, and
 * housekeeping (console, links). Housekeeping enters the kernel or reads a device register, so it
 * is done at most every 10 ms, and when the core sleeps only after something has woken it.
 */
#include "core/outbox.h"
#include "hal/kcall.h"
#include "lib/mem.h"

#define HOUSEKEEPING_NS 10000000ull
#define LINK_EVERY 10 /* housekeepings */
#define MESSAGES_PER_TURN 64

static const struct app *app;
static uint64_t timer_tsc; /* next timer of the application */
static uint64_t house_tsc; /* housekeeping not before */
static bool house_due;     /* something happened since the last one */
static unsigned house_count;
static size_t private_used;

void control_init(const struct app *a)
{
	app = a;
	house_due = true;
	ports_init(a);
}

void *core_private_alloc(size_t bytes)
{
	const struct core_memory *m = &self.info->core[self.id];
	size_t all = self.roles & CORE_DATA ? m->arena_bytes / 2 : m->arena_bytes;
	bytes = (bytes + 4095) & ~(size_t)4095;
	if (bytes > all - private_used)
		return NULL;
	void *p = (uint8_t *)(uintptr_t)m->arena + private_used;
	private_used += bytes;
	memset(p, 0, bytes);
	return p;
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
	for (unsigned d = 0; core_ports_running() && d < self.info->data_cores; d++)
		for (unsigned i = 0; i < MESSAGES_PER_TURN; i++) {
			const struct core_msg *m = ring_punt_next(d);
			if (!m)
				break;
			any = true;
			if (m->len <= core_frame_max() && m->port < core_port_count())
				app->control_msg(m);
			ring_punt_done(d);
		}
	return any;
}

static bool housekeeping(void)
{
	bool any = false;
	house_tsc = self.now_tsc + clock_ticks(&self.clock, HOUSEKEEPING_NS);
	house_due = core_idle_mode() == CORE_IDLE_POLL;
	for (int64_t c; (c = kcall(KCALL_CONSOLE_READ, 0, 0, 0)) >= 0; any = true)
		app->control_key((uint8_t)c);
	if (house_count++ % LINK_EVERY == 0 || core_idle_mode() == CORE_IDLE_SLEEP)
		ports_check_link();
	return any;
}

bool control_turn(void)
{
	ports_turn();
	bool any = serve_messages();
	if (self.now_tsc >= timer_tsc && core_ports_running())
		timer_tsc = app->control_timer();
	else if (any)
		timer_tsc = 0; /* what came may have set an earlier timer */
	if (house_due && self.now_tsc >= house_tsc)
		any |= housekeeping();
	return any;
}

uint64_t control_deadline(void)
{
	uint64_t t = ports_deadline();
	if (core_ports_running() && timer_tsc < t)
		t = timer_tsc;
	if (house_due && house_tsc < t)
		t = house_tsc;
	return t;
}

void control_woken(void)
{
	house_due = true;
}

void core_mark_take(struct core_mark *m)
{
	for (unsigned d = 0; d < self.info->data_cores; d++)
		m->turns[d] = shared_load(&outbox_of(data_core(d))->turns);
}

bool core_mark_passed(const struct core_mark *m)
{
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const struct outbox *o = outbox_of(data_core(d));
		bool quiet = shared_load(&o->parked) ||
		             self.info->status[data_core(d)].state == CORE_DEAD;
		if (!quiet && shared_load(&o->turns) == m->turns[d])
			return false;
	}
	return true;
}
