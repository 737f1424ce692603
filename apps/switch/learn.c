/* See learn.h. */
#include "apps/switch/learn.h"

#include "lib/mem.h"
#include "runtime/runtime.h"

#define REPORT_AGAIN_NS 100000000ull
#define RECENT 1024 /* stations reported last, by hash */

uint16_t *learn_marks;
static const struct switch_shared *shared;
static struct {
	uint64_t word;
	uint64_t again_ns; /* not before */
} recent[RECENT];

static struct switch_core *own(void) { return dp_plugin_shared(); }

size_t learn_bytes(size_t room)
{
	const struct fdb *fdb = dp_get()->plugin_more;
	const size_t bytes = fdb ? fdb_slots(fdb) * sizeof(uint16_t) : 0;
	return bytes <= room / 2 ? bytes : 0;
}

void learn_start(const struct switch_shared *s, const struct fdb *fdb, bool fresh)
{
	size_t bytes;
	uint16_t *marks = core_data_memory(&bytes);
	shared = s;
	learn_marks = fdb && bytes >= fdb_slots(fdb) * sizeof *marks ? marks : NULL;
	if (fresh && learn_marks)
		memset(learn_marks, 0, fdb_slots(fdb) * sizeof *marks);
	memset(recent, 0, sizeof recent);
	shared_store(&own()->marks, (uint64_t)(uintptr_t)learn_marks);
	shared_store(&own()->head, shared_load(&s->taken[self.id]));
}

uint16_t learn_mark(void) { return (uint16_t)(core_now_ns() >> shared->mark_shift); }

/* Multiplicative hashing (Knuth 6.4): the upper bits depend on all bits. A collision only repeats a
 * report. */
static unsigned recent_of(uint64_t word) { return (unsigned)(word * 0x9e3779b97f4a7c15u >> 54); }
_Static_assert(RECENT == 1 << (64 - 54), "recent_of");

COLD void learn_report(uint64_t station, unsigned port)
{
	struct switch_core *o = own();
	const uint64_t word = station | port, now = core_now_ns(), head = o->head;
	const unsigned r = recent_of(word);
	if (recent[r].word == word && now < recent[r].again_ns)
		return;
	if (head - shared_load(&shared->taken[self.id]) >= SWITCH_REPORTS) {
		count(CNT_switch_reports_lost);
		return;
	}
	recent[r].word = word;
	recent[r].again_ns = now + REPORT_AGAIN_NS;
	o->report[head % SWITCH_REPORTS] = word;
	shared_store(&o->head, head + 1);
	core_wake_control();
}
