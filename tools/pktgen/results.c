/*
 * The results of the last run or test, for reports. They are copied when the run ends, because the
 * next order clears the counters of data cores. trials.c keeps the trials of a test and only
 * appends to them. So a report taken during a test has the trials up to then.
 */
#include "tools/pktgen/results.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/serial.h"
#include "lib/rfc3339.h"
#include "runtime/walltime.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "tools/pktgen/conduct.h"
#include "tools/pktgen/probe.h"
#include "tools/pktgen/state.h"
#include "tools/pktgen/trials.h"

static struct {
	struct report report;
	char error[160];
	struct report_port port[NIC_PORTS_MAX];
	struct report_probe probe;
	struct histogram probed;
	char name[NIC_PORTS_MAX][8];
	char machine[160], started[64];
	char *script;
	struct report_stream *stream;
	struct judge_result *judged;
	struct pace_result *paced;
	struct rfc2544 tests;
	struct plan_name {
		char text[PLAN_NAME_BYTES];
	} stream_name[PLAN_STREAMS_MAX];
	bool has_memory;
	bool told;  /* the lack of memory has been logged */
	bool there; /* there are results */
	uint32_t number;
} r;

static bool take(void *at, size_t bytes)
{
	void **p = at;
	*p = *p ? *p : core_private_alloc(bytes);
	return *p != NULL;
}

/* Allocates the memory once, because the script does not change while the program runs. After a
 * failure the next call tries again to allocate the missing parts. */
static bool take_memory(void)
{
	const struct text script = running.config.script.text;
	const unsigned n = generator.plan.streams;
	if (r.has_memory)
		return true;
	r.has_memory = take(&r.script, script.len + 1) && take(&r.stream, n * sizeof *r.stream) &&
	               take(&r.judged, n * sizeof *r.judged) && take(&r.paced, n * sizeof *r.paced);
	if (!r.has_memory) {
		if (!r.told)
			console_log("there is not enough memory for reports");
		r.told = true;
		return false;
	}
	/* comments may contain any bytes, JSON may not */
	for (size_t i = 0; i < script.len; i++) {
		char c = script.at[i];
		bool kept = text_is_printable(c) || c == '\n' || c == '\t';
		r.script[i] = kept ? c : c == '\r' ? ' ' : '?';
	}
	return true;
}

static void take_machine(void)
{
	const struct boot_info *b = self.info;
	fmt_format(r.machine, sizeof r.machine, "%s, TSC %llu kHz, %s, %u data core%s", b->cpu,
	           (unsigned long long)(b->tsc_hz / 1000), b->hypervisor ? "a guest" : "bare metal",
	           core_data_count(), core_data_count() == 1 ? "" : "s");
	for (unsigned p = 0; p < core_port_count(); p++) {
		const struct nic *nic = core_port_nic(p);
		fmt_format(r.name[p], sizeof r.name[p], "eth%u", p);
		r.port[p] = (struct report_port){.name = r.name[p], .driver = nic->ops->name,
		                                 .bps = conduct_line_bps(&generator.plan, p),
		                                 .card_stamps = nic->ops->time_start && !nic->no_clock};
		memcpy(r.port[p].mac, nic->mac, sizeof r.port[p].mac);
	}
	r.report.version = HAYATE_VERSION;
	r.report.machine = r.machine;
	const uint64_t utc_ns = walltime_at(clock_ns(&self.clock, self.info->tsc_boot) + generator.begun_ns);
	char utc[RFC3339_MAX];
	fmt_format(r.started, sizeof r.started, "started %llu.%03llu s after boot%s%s",
	           (unsigned long long)(generator.begun_ns / 1000000000),
	           (unsigned long long)(generator.begun_ns / 1000000 % 1000), utc_ns ? ", " : "",
	           utc_ns ? rfc3339_put(utc, utc_ns, 3) : "");
	r.report.started = r.started;
	r.report.script = r.script;
	r.report.catch_up_ns = plan_catch_up_ns(&generator.plan);
	r.report.port = r.port;
	r.report.ports = core_port_count();
}

void results_stream(unsigned i, struct report_stream *out, struct judge_result *judged,
                    struct pace_result *paced)
{
	const struct plan_stream *s = &conduct_order()->plan.stream[i];
	struct run_sent sent;
	conduct_sent(i, &sent);
	conduct_judged(i, judged);
	pace_result_clear(paced);
	conduct_pacing(i, &paced->error);
	paced->sent = sent.frames;
	paced->forgiven = sent.forgiven;
	paced->behind = sent.behind;
	paced->worst_lag_ns = sent.worst_lag_ns;
	*out = (struct report_stream){
		.name = s->name, .port = s->port, .port_in = s->port_in, .stamped = s->stamped,
		.paced = s->rate.unit != PLAN_FLAT, .card_bps = conduct_card_bps(i),
		.sent = sent.frames, .sent_bytes = sent.bytes,
		.elapsed_ns = conduct_sent_ns(&sent), .in = judged, .pace = paced};
}

void results_run(struct report *run)
{
	const struct run_order *o = conduct_order();
	struct run_sent sent;
	conduct_sent_all(&sent);
	run->streams = o ? o->plan.streams : 0;
	run->elapsed_ns = conduct_sent_ns(&sent);
	run->flaw = conduct_flaw();
	run->error = conduct_state() == CONDUCT_FAILED ? conduct_error() : "";
}

bool results_probe(struct report_probe *out)
{
	const struct plan_probe *plan = &generator.plan.probe;
	const struct probe_result *found = probe_result();
	*out = (struct report_probe){plan->port, plan->port_in, found->sent, found->clock_error_ns,
	                             &found->latency};
	return found->sent != 0;
}

static void take_probe(void)
{
	if (!results_probe(&r.probe))
		return;
	/* the next run clears the present histogram while the report may be read */
	histogram_copy(&r.probed, r.probe.latency);
	r.probe.latency = &r.probed;
	r.report.probe = &r.probe;
}

static void take_run(void)
{
	results_run(&r.report);
	take_probe();
	r.report.stream = r.stream;
	for (unsigned i = 0; i < r.report.streams; i++) {
		results_stream(i, &r.stream[i], &r.judged[i], &r.paced[i]);
		/* the next order overwrites the plan that has the name */
		memcpy(r.stream_name[i].text, r.stream[i].name, PLAN_NAME_BYTES);
		r.stream[i].name = r.stream_name[i].text;
	}
}

void results_take(void)
{
	if (!take_memory())
		return;
	memset(&r.report, 0, sizeof r.report);
	take_machine();
	if (generator.testing) {
		memcpy(&r.tests, trials(), sizeof r.tests);
		r.report.rfc2544 = &r.tests;
		r.report.error = trials_error();
	} else {
		take_run();
	}
	fmt_format(r.error, sizeof r.error, "%s", r.report.error);
	r.report.error = r.error;
	r.there = true;
	r.number++;
}

const struct report *results(void)
{
	return r.there ? &r.report : NULL;
}

uint32_t results_number(void)
{
	return r.number;
}
