/* See commit.h. */
#include "control/commit/commit.h"

#include "control/config/config_parse.h"
#include "control/forwarding/filter.h"
#include "control/commit/load.h"
#include "control/commit/servers.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/console/serial.h"
#include "control/console/shell.h"
#include "control/engine/bfd.h"
#include "control/engine/engine.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/policy.h"
#include "control/forwarding/steer_rules.h"
#include "control/link/bundle.h"
#include "control/forwarding/tables.h"
#include "control/host/dhcp_client.h"
#include "control/host/dhcp_relay.h"
#include "control/host/output.h"
#include "control/host/vxlan.h"
#include "control/host/ntp_control.h"
#include "control/link/lldp_control.h"
#include "control/config/journal.h"
#include "control/management/plugin.h"
#include "control/management/logging.h"
#include "control/monitor/sflow.h"
#include "control/management/remote.h"
#include "control/programs/programs.h"
#include "control/forwarding/routes.h"
#include "runtime/events.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

#define RULES_MORE 16
#define RESTART_NS 100000000ull /* time for the output of `commit` to reach the terminal */

/* See candidate.h, history.h; `next` is built in memory that the running configuration does not
 * use. */
static struct {
	bool locked; /* commit_lock */
	bool begun; /* the candidate is based on the running configuration */
	struct candidate candidate;
	uint32_t added4_room, added6_room;
	uint32_t rules_most; /* rules of access lists that there must be room for */
	struct history history;
	struct config *next;
	struct config_memory memory; /* of next */
	char comment[HISTORY_COMMENT_SIZE]; /* of the next commit */
	bool waits;                  /* next takes effect when the ports restart */
	bool asked;                  /* that restart has been requested */
	uint64_t restart_ns;         /* when to request it */
	uint64_t stopped_tsc;
	uint64_t confirm_ns;         /* when the last commit is rolled back; 0: never */
	bool on_boot;                /* the running one is based on the boot's: journal_stage */
	char by[HISTORY_BY_SIZE], by_comment[HISTORY_COMMENT_SIZE]; /* of the last commit */
} commit;

void (*commit_before_change)(void);
void (*commit_after)(const char *by, const char *comment);

static const char *const NO_MEMORY = "there is not enough memory to change the configuration";

/* --- memory --- */

/* Allocates *at, unless that has been done. What has been allocated stays so if the rest fails. */
static bool take(void *at, size_t bytes)
{
	void **p = at;
	*p = *p ? *p : core_private_alloc(bytes);
	return *p != NULL;
}

/* Makes room for added routes of each family. Those that there are are lost if the room grows. */
static bool take_added(uint32_t four, uint32_t six)
{
	struct candidate *c = &commit.candidate;
	struct candidate_routes *r = c->routes;
	if (!core_private_grow((void **)&c->added4, &commit.added4_room, four, sizeof *c->added4) ||
	    !core_private_grow((void **)&c->added6, &commit.added6_room, six, sizeof *c->added6))
		return false;
	r[CANDIDATE_IP4].added_max = u32_max(four, CANDIDATE_ROUTES_MAX);
	r[CANDIDATE_IP6].added_max = u32_max(six, CANDIDATE_ROUTES_MAX);
	return true;
}

static bool take_memory(void)
{
	struct candidate *c = &commit.candidate;
	return take(&commit.history.bytes, HISTORY_BYTES) &&
	       take(&c->parsed, sizeof *c->parsed) &&
	       take(&commit.next, sizeof *commit.next);
}

/* Makes room for so many bytes of statements and half of CANDIDATE_TEXT_LEAST more. The old contents are lost.
 * Private memory is never freed, so a new allocation is half as large again as the configuration. */
static bool take_texts(size_t bytes)
{
	struct candidate *c = &commit.candidate;
	if (c->text && bytes + CANDIDATE_TEXT_LEAST / 2 <= c->text_max)
		return true;
	const size_t max = u64_max(bytes + bytes / 2 + CANDIDATE_TEXT_LEAST / 2,
	                           CANDIDATE_TEXT_LEAST);
	char *texts = max <= UINT32_MAX ? core_private_alloc(3 * max) : NULL;
	if (!texts)
		return false;
	c->text_max = (uint32_t)max;
	c->text = texts;
	c->draft = texts + max;
	c->running_text = texts + 2 * max;
	return true;
}

/* Makes room for as many rules of access lists as there have ever been, and for RULES_MORE that may
 * be entered before the next call. The memory is for the rules of the next configuration; until a
 * commit builds that, the candidate parses its rules there. */
static bool take_rules(uint32_t rules)
{
	struct config_memory *m = &commit.memory;
	struct candidate *c = &commit.candidate;
	const uint32_t all = u32_min(CONFIG_ACL_RULES_MAX, rules + RULES_MORE);
	if (all > commit.rules_most)
		commit.rules_most = u32_min(CONFIG_ACL_RULES_MAX, 2 * all);
	if (!core_private_grow((void **)&m->acl_rules, &m->acl_rule_max, commit.rules_most,
	                sizeof *m->acl_rules))
		return false;
	m->acl_rule_max = u32_min(m->acl_rule_max, CONFIG_ACL_RULES_MAX);
	c->acl_rules = m->acl_rules;
	c->acl_rule_max = m->acl_rule_max;
	return true;
}

static bool take_bits(enum candidate_family f, uint32_t routes)
{
	struct candidate_routes *r = &commit.candidate.routes[f];
	uint32_t bytes = r->gone_max / 8;
	if (!core_private_grow((void **)&r->gone, &bytes, routes / 8 + 1, 1))
		return false;
	r->gone_max = bytes * 8;
	return true;
}

/* Makes the candidate equal to the running configuration. E_NOMEM: there is not enough memory. */
static int begin(void)
{
	if (!take_bits(CANDIDATE_IP4, running.config.route_count) ||
	    !take_bits(CANDIDATE_IP6, running.config.route6_count) ||
	    !take_texts(candidate_text_bytes(&running.config)) || !take_rules(running.config.acl_rule_count) ||
	    !take_added(CANDIDATE_ROUTES_MAX, CANDIDATE_ROUTES_MAX))
		return E_NOMEM;
	return candidate_reset(&commit.candidate, &running.config);
}

static uint32_t rules_entered(void)
{
	return config_count_lines(commit.candidate.text, commit.candidate.len).rules;
}

struct candidate *commit_candidate(const char **why)
{
	if (commit.locked) {
		*why = "a script is changing the configuration";
		return NULL;
	}
	if (commit.waits) {
		*why = "a commit is restarting the ports";
		return NULL;
	}
	commit.begun = commit.begun || (take_memory() && begin() == E_OK);
	*why = NO_MEMORY;
	if (commit.begun) /* without memory for more the next rule is refused */
		(void)take_rules(rules_entered());
	return commit.begun ? &commit.candidate : NULL;
}

/* Makes room in the next configuration's memory for so many routes. */
static bool take_next_routes(uint32_t four, uint32_t six)
{
	struct config_memory *m = &commit.memory;
	const uint32_t words = config_scratch_words(four) + config_scratch_words(six);
	m->scratch = running.memory.scratch;
	m->scratch_words = running.memory.scratch_words;
	if (!core_private_grow((void **)&m->routes, &m->route_max, four, sizeof *m->routes) ||
	    !core_private_grow((void **)&m->routes6, &m->route6_max, six, sizeof *m->routes6) ||
	    !core_private_grow((void **)&m->scratch, &m->scratch_words, words, sizeof *m->scratch))
		return false;
	running.memory.scratch = m->scratch;
	running.memory.scratch_words = m->scratch_words;
	return true;
}

static bool take_next_memory(void)
{
	const struct candidate *c = &commit.candidate;
	return take_next_routes(candidate_route_count(c, CANDIDATE_IP4), candidate_route_count(c, CANDIDATE_IP6));
}

/* --- a script's changes --- */

struct candidate *commit_lock(const char **why)
{
	struct candidate *c = commit_candidate(why);
	if (c && candidate_changed(c)) {
		*why = "the candidate has changes of a console that are not committed";
		return NULL;
	}
	if (c && commit_unconfirmed_s()) {
		*why = "the last commit waits to be confirmed";
		return NULL;
	}
	commit.locked = c != NULL;
	return c;
}

void commit_unlock(void)
{
	if (!commit.locked)
		return;
	commit.locked = false;
	if (!commit.waits)
		commit.begun = begin() == E_OK;
}

struct candidate *commit_locked(void)
{
	return &commit.candidate;
}

bool commit_room(uint32_t four, uint32_t six, uint32_t rules)
{
	if (!take_rules(rules_entered() + rules))
		return false;
	return take_added(u32_max(four, CANDIDATE_ROUTES_MAX), u32_max(six, CANDIDATE_ROUTES_MAX));
}

static void progress(uint32_t lines)
{
	(void)lines;
	core_alive();
}

/* A script stays the boot's: a text may repeat it, or leave it out. */
static bool same_script(const struct config_script *a, const struct config_script *b)
{
	if (a->line == 0)
		return true;
	struct text x = a->text, y = b->text;
	while (x.len && x.at[x.len - 1] == '\n')
		x.len--;
	while (y.len && y.at[y.len - 1] == '\n')
		y.len--;
	return b->line != 0 && strcmp(a->name, b->name) == 0 && x.len == y.len && (x.len == 0 || text_equal(x, y));
}

/* Makes the candidate what `next` says. */
static int take_next(struct text_error *err)
{
	struct candidate *c = &commit.candidate;
	uint32_t added[CANDIDATE_FAMILIES];
	const size_t bytes = candidate_text_bytes(commit.next);
	if (!take_texts(bytes) || candidate_reset(c, &running.config) != E_OK)
		return text_fail(err, 0, text_of(""), "%s", NO_MEMORY);
	candidate_match(c, commit.next, commit.memory.scratch, added);
	core_alive();
	if (!take_added(u32_max(added[CANDIDATE_IP4], CANDIDATE_ROUTES_MAX),
	                u32_max(added[CANDIDATE_IP6], CANDIDATE_ROUTES_MAX)))
		return text_fail(err, 0, text_of(""), "%s", NO_MEMORY);
	candidate_take(c, commit.next);
	return E_OK;
}

int commit_replace(struct text text, struct config_wrong *wrong, struct text_error *err)
{
	const struct config_lines lines = config_count_lines(text.at, text.len);
	wrong->count = 0;
	if (!take_rules(lines.rules) || !take_next_routes(lines.ip, lines.ipv6))
		return text_fail(err, 0, text_of(""), "%s", NO_MEMORY);
	struct config_memory m = commit.memory;
	m.progress = progress;
	m.wrong = wrong;
	int e = config_parse(text.at, text.len, &m, commit.next, err);
	if (e == E_OK && !same_script(&commit.next->script, &running.config.script))
		e = text_fail(err, commit.next->script.line, text_of("script"),
		              "a script cannot be changed here: only the file that the machine boots with has one");
	core_alive();
	return e == E_OK ? take_next(err) : e;
}

const struct config *commit_next(void)
{
	return commit.next;
}

/* --- what a commit would do --- */

bool commit_line_restarts(char sign, struct text line)
{
	const struct statement *s = config_statement_of(line);
	return sign != ' ' && !(s && (s->how & STATEMENT_LIVE));
}

static void note_restart(void *ctx, char sign, struct text line)
{
	*(bool *)ctx |= commit_line_restarts(sign, line);
}

/* The application that will run: the command line's, if that has overridden the configuration. */
static enum core_app_number app_of(const struct config *next)
{
	return running.config.application == core_app_number() ? next->application : core_app_number();
}

enum commit_effect commit_check(struct text_error *err)
{
	struct candidate *c = &commit.candidate;
	bool restart = !running.applied || !forwarding.ready, as_it_is;
	if (!candidate_changed(c))
		return COMMIT_NOTHING;
	c->fault[0] = 0;
	if (!take_next_memory()) {
		text_fail(err, 1, text_of(""), "%s", NO_MEMORY);
		return COMMIT_REFUSED;
	}
	if (candidate_build(c, &commit.memory, commit.next, err) != E_OK)
		return COMMIT_REFUSED;
	core_alive();
	if (load_check(commit.next, app_of(commit.next), err) != E_OK)
		return COMMIT_REFUSED;
	if (filter_prepare(commit.next, err) != E_OK) {
		candidate_fault(c, err->line);
		return COMMIT_REFUSED;
	}
	core_alive();
	if (!forwarding_room(commit.next, &as_it_is)) {
		text_fail(err, 1, text_of(""), "there is not enough memory for its tables");
		return COMMIT_REFUSED;
	}
	if (!servers_certificates(commit.next, err))
		return COMMIT_REFUSED;
	if (!servers_room(commit.next)) {
		text_fail(err, 1, text_of(""), "there is not enough memory for its servers");
		return COMMIT_REFUSED;
	}
	if (!lldp_control_room(commit.next)) {
		text_fail(err, 1, text_of(""), "there is not enough memory for LLDP neighbours");
		return COMMIT_REFUSED;
	}
	candidate_compare(c, note_restart, &restart);
	return restart || !as_it_is ? COMMIT_RESTART : COMMIT_LIVE;
}

/* --- into force --- */

/* Makes `next` the running configuration. The memory of the old one is for the one after `next`. */
static void swap(void)
{
	running.number++;
	core_event(EVENT_commit, running.number, 0);
	core_note_config(0); /* until config_hash_timer knows the new hash */
	struct config_memory was = running.memory;
	was.routes = running.config.routes;
	was.routes6 = running.config.routes6;
	was.acl_rules = running.config.acl_rules;
	running.config = *commit.next;
	running.memory = commit.memory;
	commit.memory = was;
	running.applied = true;
	commit.locked = false;
	commit.begun = begin() == E_OK;
}

static void tell_after(void)
{
	if (commit_after)
		commit_after(commit.by, commit.by_comment);
}

/* A route is removed or added: its prefix gets the routes of the next configuration. */
static void change_route(void *ctx, const struct config_route *r, const struct config_route6 *r6)
{
	(void)ctx;
	core_alive(); /* there may be a hundred thousand */
	const struct config *next = commit.next;
	const uint32_t *scratch = commit.memory.scratch;
	if (r)
		routes_change(r, next, config_route_first(next, scratch, r->prefix, r->plen));
	else
		routes_change6(r6, next,
		               config_route6_first(next, scratch, &r6->prefix, r6->plen));
}

/* Setting the ICMP limit restarts it, so an unchanged one is not set. */
static bool differ_limits(const struct config *a, const struct config *b)
{
	return a->icmp_rate != b->icmp_rate || a->icmp_burst != b->icmp_burst;
}

static void apply_live(void)
{
	struct candidate *c = &commit.candidate;
	if (commit_before_change)
		commit_before_change();
	candidate_each_route(c, '+', change_route, NULL);
	candidate_each_route(c, '-', change_route, NULL);
	routes_settle();
	filter_switch(commit.next);
	neighbour_change(commit.next);
	engine_change(commit.next);
	engine_bfd_change(commit.next);
	servers_change(commit.next);
	if (differ_limits(&running.config, commit.next))
		local_limit(commit.next);
	if (running.config.idle != commit.next->idle || running.config.idle_spin_us != commit.next->idle_spin_us)
		core_set_idle((enum core_idle)commit.next->idle, commit.next->idle_spin_us);
	core_set_balance(!commit.next->balance_off);
	core_set_elastic(commit.next->cores_minimum, commit.next->cores_wake_up_us);
	swap();
	(void)programs_chains_change(&running.config); /* or the ports restart, and with them the chains */
	tell_after();
	vxlan_set();
	policy_set();
	steer_rules_set(&running.config);
	bundle_configure();
	shell_set_hostname(&serial_console, running.config.hostname);
	remote_set_hostname(running.config.hostname);
	lldp_control_changed();
	dhcp_relay_changed();
	logging_configure();
	ntp_control_changed();
	sflow_configure();
	if (plugin_get() && plugin_get()->changed)
		plugin_get()->changed();
}

static void apply(enum commit_effect effect, const char *by, const char *comment, uint64_t confirm_ns)
{
	commit.confirm_ns = confirm_ns ? core_now_ns() + confirm_ns : 0;
	fmt_format(commit.by, sizeof commit.by, "%s", by);
	fmt_format(commit.by_comment, sizeof commit.by_comment, "%s", comment);
	log_event(LOG_NOTICE, "CONFIG-COMMIT", "configuration: committed by %s%s", by,
	          confirm_ns ? ", not yet confirmed" : "");
	if (comment[0])
		log_event(LOG_NOTICE, "CONFIG-COMMIT", "configuration: its comment is \"%s\"", comment);
	if (effect == COMMIT_RESTART) {
		commit.waits = true;
		commit.asked = false;
		engine_leave("the ports restart");
		engine_bfd_leave("the ports restart");
		dhcp_client_leave(commit.next);
		commit.restart_ns = core_now_ns() + RESTART_NS;
	} else {
		apply_live();
	}
}

void commit_comment(const char *comment)
{
	fmt_format(commit.comment, sizeof commit.comment, "%s", comment);
}

bool commit_apply(enum commit_effect effect, const char *by, uint64_t confirm_ns)
{
	char comment[HISTORY_COMMENT_SIZE];
	memcpy(comment, commit.comment, sizeof comment);
	commit.comment[0] = 0;
	if (history_keep(&commit.history, &commit.candidate, core_now_ns(), by))
		history_comment(&commit.history, comment);
	else if (confirm_ns)
		return false;
	if (!journal_stage(&commit.candidate, commit.on_boot))
		log_event(LOG_WARNING, "CONFIG", "configuration: no memory to keep this commit: if the control program "
		            "fails, the boot's configuration comes back");
	if (!confirm_ns)
		journal_seal();
	apply(effect, by, comment, confirm_ns);
	return true;
}

void commit_take(void)
{
	if (!commit.waits)
		return;
	commit.waits = false;
	commit.stopped_tsc = clock_tsc();
	swap();
	tell_after();
	remote_set_hostname(running.config.hostname);
}

void commit_done(void)
{
	if (commit.stopped_tsc)
		log_event(LOG_NOTICE, "CONFIG", "configuration: in force, %llu ms after the ports stopped",
		          (unsigned long long)clock_ns(&self.clock, clock_tsc() - commit.stopped_tsc) /
		          1000000);
	commit.stopped_tsc = 0;
}

/* --- after the program has failed --- */

/* Makes the candidate the running configuration before any tables are built, as at a boot. */
static bool boot_with(struct text_error *err)
{
	struct candidate *c = &commit.candidate;
	c->fault[0] = 0;
	if (!candidate_changed(c))
		return true;
	if (!take_next_memory() || candidate_build(c, &commit.memory, commit.next, err) != E_OK ||
	    load_check(commit.next, app_of(commit.next), err) != E_OK)
		return false;
	swap();
	return commit.begun;
}

/* Enters the journal's changes of routes, at most as many at a time as a candidate may add. */
static bool resume_routes(struct text rest, struct text_error *err)
{
	struct text line;
	unsigned entered = 0;
	if (rest.len > 0 && rest.at[rest.len - 1] != '\n')
		return false; /* the last line is incomplete */
	while (text_next_line(&rest, &line)) {
		if (candidate_enter_change(&commit.candidate, line, err) != E_OK)
			return false;
		if (++entered % CANDIDATE_ROUTES_MAX == 0 && !boot_with(err))
			return false;
	}
	return true;
}

void commit_forget_boot(void)
{
	commit.on_boot = false;
}

static bool resume(const struct journal_found *found, struct text_error *err)
{
	const char *why;
	return commit_candidate(&why) &&
	       candidate_set_text(&commit.candidate, found->statements, err) == E_OK &&
	       resume_routes(found->routes, err) && boot_with(err);
}

void commit_resume(void)
{
	struct journal_found found;
	struct text_error err = {0};
	const bool any = journal_find(&found);
	commit.on_boot = running.applied;
	if (found.unconfirmed)
		log_event(LOG_WARNING, "CONFIG", "configuration: the last commit, which nobody had confirmed, is gone");
	if (!any)
		return;
	const bool other = found.on_boot != commit.on_boot;
	if (!other && resume(&found, &err)) {
		log_event(LOG_NOTICE, "CONFIG", "configuration: the last commit is in force again");
		return;
	}
	if (core_takes_over()) { /* a start with all memory, without warm restart, may succeed */
		running.applied = false;
		return;
	}
	log_event(LOG_ERR, "CONFIG", "configuration: the commits since the boot are lost: %s",
	            other      ? "they are based on another configuration than this start's"
	            : err.line ? "they cannot be read any more"
	                       : NO_MEMORY);
	journal_forget();
	if (running.number) /* a part of them is already running: restart without it */
		core_restart(self.id);
}

/* --- confirming --- */

uint64_t commit_unconfirmed_s(void)
{
	const uint64_t now = core_now_ns();
	if (!commit.confirm_ns)
		return 0;
	return commit.confirm_ns > now ? (commit.confirm_ns - now + SECOND_NS - 1) / SECOND_NS : 1;
}

void commit_confirm(const char *by)
{
	commit.confirm_ns = 0;
	journal_seal();
	log_event(LOG_NOTICE, "CONFIG-CONFIRM", "configuration: confirmed by %s", by);
}

int commit_restore(struct text text, struct text_error *err)
{
	static struct config_wrong wrong;
	const char *why;
	if (!commit_candidate(&why))
		return text_fail(err, 0, text_of(""), "%s", why);
	int e = candidate_reset(&commit.candidate, &running.config);
	if (e == E_OK)
		e = commit_replace(text, &wrong, err);
	else
		text_fail(err, 0, text_of(""), "%s", NO_MEMORY);
	if (e != E_OK)
		(void)candidate_reset(&commit.candidate, &running.config);
	return e;
}

int commit_rollback(unsigned n)
{
	return history_restore(&commit.history, n, &commit.candidate);
}

const struct history_version *commit_version(unsigned n)
{
	return history_version(&commit.history, n);
}

/* Puts the previous configuration into force, which the journal already holds. */
static void apply_back(enum commit_effect effect)
{
	static const char by[] = "the roll-back";
	(void)history_keep(&commit.history, &commit.candidate, core_now_ns(), by);
	apply(effect, by, "", 0);
}

/* The last commit has not been confirmed in time. */
static void roll_back(void)
{
	struct text_error err;
	enum commit_effect effect = COMMIT_REFUSED;
	commit.confirm_ns = 0;
	journal_drop();
	log_event(LOG_WARNING, "CONFIG-ROLLBACK",
	          "configuration: nobody confirmed the last commit in time, it is rolled back");
	if (commit_rollback(1) == E_OK)
		effect = commit_check(&err);
	if (effect == COMMIT_REFUSED) /* it was in force before, so only memory can be missing */
		log_event(LOG_ERR, "CONFIG-ROLLBACK", "configuration: the last commit cannot be rolled back: %s",
		          NO_MEMORY);
	else if (effect != COMMIT_NOTHING)
		apply_back(effect);
}

uint64_t commit_timer(void)
{
	const uint64_t now = core_now_ns();
	if (commit.waits && !commit.asked && now >= commit.restart_ns) {
		commit.asked = true;
		core_ports_restart("the configuration has changed");
	}
	if (commit.confirm_ns && !commit.waits && now >= commit.confirm_ns) {
		const enum core_pace pace = core_pace(PACE_LONG);
		roll_back();
		(void)core_pace(pace);
	}
	if (commit.waits)
		return commit.asked ? UINT64_MAX : commit.restart_ns;
	return commit.confirm_ns ? commit.confirm_ns : UINT64_MAX;
}
