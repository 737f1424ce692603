/* See trace.h. */
#include "dataplane/state.h"
#include "runtime/runtime.h"
#include "control/monitor/trace.h"

#include "control/management/remote.h"
#include "control/monitor/watch_words.h"
#include "lib/mem.h"
#include "lib/number.h"

typedef unsigned long long ull;

enum state { IDLE, ON, ENDING };

static struct trace {
	enum state state;
	struct shell *sh;
	const char *why; /* ENDING: the reason, for the last line */
	uint64_t number;
	uint32_t wanted;   /* packets */
	uint32_t seconds;
	unsigned followed; /* records taken */
	unsigned reported; /* stories printed */
	uint64_t due_ns;
	struct trace_stories stories;
	uint64_t at[CORES_MAX]; /* records taken from each ring */
} *trace;

/* --- stories --- */

static void tell(struct trace_story *s)
{
	if (s->recorded) {
		trace_print(trace->sh, s->number, s->core, &s->record, &s->more, trace_story_is_whole(s));
		trace->reported++;
	}
	s->used = false;
}

/* --- the end --- */

static ull missed(void)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < self.info->cores; i++) {
		const struct trace_ring *r = dp_trace_ring_of(i);
		if (self.info->core[i].roles & CORE_DATA &&
		    __atomic_load_n(&r->number, __ATOMIC_ACQUIRE) == trace->number)
			sum += __atomic_load_n(&r->missed, __ATOMIC_RELAXED);
	}
	return sum;
}

static void finish(const char *why)
{
	struct shell *sh = trace->sh;
	ull lost = missed();
	core_trace_ports(0);
	for (unsigned i = 0; i < TRACE_STORIES; i++)
		if (trace->stories.story[i].used)
			tell(&trace->stories.story[i]);
	trace->state = IDLE;
	trace_points_end();
	trace->sh = NULL;
	shell_print(sh, "%s: %u of %u packets followed", why, trace->reported, trace->wanted);
	if (lost)
		shell_print(sh, ", no room for %llu between them", lost);
	shell_print(sh, "\n");
	shell_done(sh);
}

static void cancel(struct shell *sh)
{
	(void)sh;
	finish("ended");
}

void trace_stop(void)
{
	if (trace && trace->state != IDLE)
		finish("the ports restart");
	core_trace_ports(0);
}

/* --- records --- */

/* Takes the next record of that core, if there is one and a story is free for it. */
static void take(unsigned core)
{
	const struct trace_ring *r = dp_trace_ring_of(core);
	uint64_t at = trace->at[core];
	if (__atomic_load_n(&r->number, __ATOMIC_ACQUIRE) != trace->number)
		return;
	uint64_t head = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
	if (head == at || head - at > TRACE_SLOTS)
		return;
	struct trace_story *s = trace_story_of(core, r->slot[at % TRACE_SLOTS].number);
	if (!s)
		return;
	s->record = r->slot[at % TRACE_SLOTS];
	s->recorded = true;
	s->number = ++trace->followed;
	trace->at[core] = at + 1;
	__atomic_store_n(&dp_get()->trace.tail[core], at + 1, __ATOMIC_RELEASE);
}

static void take_records(void)
{
	for (unsigned i = 0; i < self.info->cores; i++)
		if (self.info->core[i].roles & CORE_DATA && trace->followed < trace->wanted)
			take(i);
}

/* Stops following packets. The stories of those already followed are still printed. */
static void end(const char *why)
{
	core_trace_ports(0);
	trace->state = ENDING;
	trace->why = why;
}

/* Prints the first of the stories that are complete or due. False: there was no story left. */
static bool tell_one(uint64_t now)
{
	struct trace_story *first = NULL;
	bool any = false;
	for (unsigned i = 0; i < TRACE_STORIES; i++) {
		struct trace_story *s = &trace->stories.story[i];
		any |= s->used && s->recorded;
		if (s->used && (trace_story_is_whole(s) || now >= s->due_ns) && (!first || s->number < first->number))
			first = s;
	}
	if (first)
		tell(first);
	return any;
}

uint64_t trace_timer(void)
{
	struct trace *t = trace;
	uint64_t now = core_now_ns();
	if (!t || t->state == IDLE)
		return UINT64_MAX;
	take_records();
	if (t->state == ON && t->followed == t->wanted)
		end("done");
	else if (t->state == ON && now >= t->due_ns)
		end("time is up");
	if (!tell_one(now) && t->state == ENDING)
		finish(t->why);
	return t->state == IDLE ? UINT64_MAX : now + TRACE_POLL_NS;
}

/* --- the command --- */

static bool begin(struct shell *sh, uint32_t ports, const struct match *match)
{
	struct dp_trace *v = &dp_get()->trace;
	struct trace *t = trace;
	struct tcp_info info;
	if (!core_quiesce())
		return false;
	memset(v, 0, sizeof *v);
	/* a number that is in no ring, not even from before a restart of this program */
	t->number = v->number = clock_tsc();
	v->count = t->wanted;
	v->match = *match;
	if (remote_connection(sh, &info))
		v->flow = (struct match_flow){info.local, info.remote, info.local_port, info.remote_port};
	memset(t->at, 0, sizeof t->at);
	t->followed = t->reported = 0;
	t->due_ns = core_now_ns() + t->seconds * SECOND_NS;
	t->state = ON;
	trace_points_begin(&t->stories);
	t->sh = sh;
	core_trace_ports(ports);
	return true;
}

/* Parses the command's arguments. False: one is wrong, and an error was printed. */
static bool read_order(struct shell *sh, char **word, unsigned n, uint32_t *ports,
                       struct match *match)
{
	uint16_t vlan;
	*ports = watch_ports("all", &vlan);
	trace->seconds = TRACE_SECONDS;
	if (text_parse_u32(text_of(word[0]), 1, TRACE_MAX, &trace->wanted) != E_OK) {
		shell_print(sh, "how many packets: a number from 1 to %u\n", TRACE_MAX);
		return false;
	}
	word++;
	n--;
	if (n && strcmp(word[0], "on") == 0) {
		*ports = n > 1 ? watch_ports(word[1], &vlan) : 0;
		if (!*ports) {
			shell_print(sh, "there is no port %s; say ethN or ethN.VLAN\n", n > 1 ? word[1] : "");
			return false;
		}
		word += 2;
		n -= 2;
	}
	return watch_option(sh, word, &n, "timeout", TRACE_SECONDS_MAX, &trace->seconds) &&
	       watch_filter(sh, match, vlan, word, n);
}

void trace_command(struct shell *sh)
{
	struct match match;
	uint32_t ports;
	if (!trace)
		trace = core_private_alloc(sizeof *trace);
	if (!trace || !core_ports_running()) {
		shell_print(sh, "%s\n", trace ? "the ports do not run" : "not enough memory");
		return;
	}
	if (trace->state != IDLE) {
		shell_print(sh, "a trace is on: there is one at a time\n");
		return;
	}
	if (!read_order(sh, sh->argv, sh->argc, &ports, &match))
		return;
	if (!begin(sh, ports, &match)) {
		shell_print(sh, "a data core does not finish its turn\n");
		return;
	}
	shell_print(sh, "following %u packet%s, for %u s at most; Ctrl-C ends\n", trace->wanted,
	            trace->wanted == 1 ? "" : "s", trace->seconds);
	shell_set_busy(sh, cancel);
}
