/*
 * Start and timers of the control plane. control_plane_start builds everything from the
 * configuration while the runtime has stopped the data cores. From then on messages and timers
 * drive the control plane. The runtime may call control_plane_start again, after a fault or for a
 * commit; it then builds everything anew in the same memory.
 */
#include "control/engine/bfd.h"
#include "control/engine/engine.h"
#include "control/forwarding/adjacency.h"
#include "control/monitor/capture.h"
#include "control/test/churn.h"
#include "control/cli/commands.h"
#include "control/test/test_commands.h"
#include "control/commit/api.h"
#include "control/commit/commit.h"
#include "control/cli/configure.h"
#include "control/cli/storage_commands.h"
#include "control/commit/record.h"
#include "control/management/crash.h"
#include "control/management/plugin.h"
#include "control/forwarding/filter.h"
#include "control/host/fragments.h"
#include "control/forwarding/groups.h"
#include "control/forwarding/persist.h"
#include "control/management/http.h"
#include "control/management/log_store.h"
#include "control/management/logging.h"
#include "control/management/image_fetch.h"
#include "control/management/tls_stream.h"
#include "control/cli/show.h"
#include "control/cli/show_memory.h"
#include "control/commit/load.h"
#include "control/commit/servers.h"
#include "control/config/config.h"
#include "control/config/config_hash.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/console/serial.h"
#include "control/console/shell.h"
#include "control/forwarding/interfaces.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/neighbour6.h"
#include "control/forwarding/policy.h"
#include "control/forwarding/steer_rules.h"
#include "control/storage/boot_disk.h"
#include "control/storage/storage.h"
#include "control/forwarding/tables.h"
#include "control/host/dhcp_client.h"
#include "control/host/dhcp_relay.h"
#include "control/host/input.h"
#include "control/host/names.h"
#include "control/host/ntp_control.h"
#include "control/host/ping.h"
#include "control/host/stream.h"
#include "control/host/traceroute.h"
#include "control/host/punt.h"
#include "control/host/vxlan.h"
#include "control/link/bundle.h"
#include "control/link/lldp_control.h"
#include "control/restore.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "control/control.h"
#include "control/management/remote.h"
#include "control/management/ssh.h"
#include "control/forwarding/routes.h"
#include "control/programs/programs.h"
#include "control/management/stats.h"
#include "control/host/tcp_control.h"
#include "control/monitor/sflow.h"
#include "control/monitor/trace.h"

#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

#define FILTERS_SHARE 4 /* filter_start writes to at most a quarter of its room */

/* config.h does not include the headers of the console and the runtime */
_Static_assert(CONFIG_HOSTNAME_SIZE <= SHELL_HOSTNAME_SIZE, "no hostname is truncated");
_Static_assert((int)PUNT_KINDS <= CORE_PUNT_KINDS && (int)PUNT_WHOLE <= CORE_PUNT_WHOLE,
               "each kind has its part of the ring");
_Static_assert((int)CONFIG_IDLE_AUTO == (int)CORE_IDLE_AUTO &&
               (int)CONFIG_IDLE_POLL == (int)CORE_IDLE_POLL &&
               (int)CONFIG_IDLE_SLEEP == (int)CORE_IDLE_SLEEP, "control_plane_start converts them");

/* --- start --- */

/* Compiles the configuration's access lists behind the data-plane state's `used` bytes. Returns the
 * bytes reserved for lists; without lists, that memory is not yet taken. If the lists do not fit,
 * the configuration is not applied at all: without its filters it would have another meaning. */
static size_t start_filters(struct dp_state *v, size_t used)
{
	size_t bytes, have;
	core_published_area(&have);
	size_t room = u64_max(have, core_published_most() / 2); /* the rest is for private memory */
	if (running.config.acl_count && core_published_take(used + room / FILTERS_SHARE) != E_OK)
		room = have;
	if (filter_start(v, (uint8_t *)v + used, room - used, &bytes, &running.error) != E_OK)
		load_withdraw();
	return core_pages(bytes);
}

static void start_services(struct dp_state *v)
{
	v->services = running.config.services;
	/* `application echo` sets these defaults; app=echo on the command line comes without it */
	if (!services_any(&v->services, SERVICE_UDP) && !services_any(&v->services, SERVICE_TCP))
		services_default(&v->services);
	v->tcp_connections = running.config.tcp_connections;
	servers_prepare(v);
}

/* Adds the application's commands, and takes its part of published memory, behind the data-plane
 * state's `used` bytes. Returns the bytes of that part. */
static size_t place_plugin(struct dp_state *v, size_t used)
{
	const struct app_plugin *e = plugin_get();
	if (e && e->memory)
		e->memory();
	size_t more = e && e->published_more ? core_pages(e->published_more()) : 0;
	if (!shell_runs(&serial_console))
		commands_set(&serial_console);
	assert(!e || e->shared_bytes <= dp_plugin_room());
	const size_t room = core_published_most();
	if (!e || core_published_take(used + e->published_bytes) != E_OK)
		return 0;
	v->plugin_data = (uint8_t *)v + used;
	memset(v->plugin_data, 0, e->published_bytes);
	size_t bytes = core_pages(e->published_bytes);
	if (more == 0 || room - used < bytes + TABLES_LEAST ||
	    room - used - bytes - TABLES_LEAST < more ||
	    core_published_take(used + bytes + more) != E_OK)
		return bytes;
	v->plugin_more = (uint8_t *)v->plugin_data + bytes;
	return bytes + more;
}

/* Makes the tables besides the forwarding tables. Returns the name of what lacks memory, or
 * NULL. */
static const char *start_others(void)
{
	if (!neighbour_room(&running.config) || !neighbour6_room(&running.config))
		return "neighbours";
	if (fragments_start() != E_OK)
		return "fragments";
	memory_note("neighbours, fragments");
	if (!routes_start())
		return "routes";
	memory_note("routes of all sources");
	/* neighbours are a source of routes */
	return neighbour_start() == E_OK && neighbour6_start() == E_OK ? NULL : "neighbours";
}

/* A bundle, by its number, began to carry frames, or carries none any more. */
static void bundle_changed(unsigned port, bool up)
{
	interfaces_link_bundle(port, up);
	if (plugin_get() && plugin_get()->link)
		plugin_get()->link(port, up);
}

static void control_plane_start(void)
{
	static bool started, ok;
	struct dp_state *v;
	size_t have, dp_bytes = core_pages(sizeof *v);
	v = core_published_area(&have);
	assert(have >= dp_bytes); /* the kernel gives megabytes (kernel/shares.c) */
	count_n(CNT_drop_restart, adjacency_waiting);
	adjacency_waiting = 0;
	memset(v, 0, sizeof *v); /* no data core reads it: all have released the ports */
	v->started = clock_tsc();
	memset(adjacency_carried, 0, sizeof adjacency_carried);
	stats_restart();
	ssh_stop();
	remote_stop();
	capture_stop();
	engine_stop();
	engine_bfd_stop();
	trace_stop();
	lldp_control_stop();
	churn_forget();
	stream_stop();
	tls_stream_stop();
	tcp_control_stop();
	memory_note(started ? memory_later : "devices");
	if (!started) {
		storage_start();
		boot_disk_open();
		console_init();
		test_commands_add();
		remote_console = &configure_console;
		api_pages_add();
		ok = load_start();
		started = true;
		if (ok)
			commit_resume();
	} else {
		commit_take();
	}
	log_open();
	logging_configure();
	memory_note("configuration");
	core_alive();
	persist_open(running.config.engine.line != 0);
	dp_bytes += start_filters(v, dp_bytes);
	shell_set_hostname(&serial_console, running.config.hostname);
	core_set_app(running.config.application);
	dp_bytes += place_plugin(v, dp_bytes);
	memory_note("access lists, application");
	forwarding.ready = ok && forwarding_start(v, dp_bytes);
	memory_note("forwarding tables, the writer's part");
	core_alive();
	core_set_idle((enum core_idle)running.config.idle, running.config.idle_spin_us);
	core_set_steering(!running.config.steering_off);
	core_set_balance(!running.config.balance_off);
	core_set_elastic(running.config.cores_minimum, running.config.cores_wake_up_us);
	steer_rules_set(&running.config);
	interfaces_start(v);
	bundle_start(v, bundle_changed);
	policy_set();
	programs_chains_start(&running.config);
	groups_start();
	local_start();
	vxlan_start();
	const char *missing = forwarding.ready ? start_others() : ok ? "forwarding" : "the configuration";
	forwarding.ready = !missing;
	if (missing) {
		log_event(LOG_CRIT, "SYSTEM-MEMORY", "not enough memory for the tables (%s): nothing is forwarded", missing);
		memset(v->interface, 0, sizeof v->interface);
		persist_close();
		return;
	}
	interfaces_routes(v); /* before the configured routes, which may fill the table */
	routes_configured();
	interfaces_own6(v);
	engine_resume();
	start_services(v);
	lldp_control_start();
	sflow_configure();
	dhcp_relay_start();
	ntp_control_changed();
	dhcp_client_control_start();
	memory_note("management");
	if (plugin_get() && plugin_get()->start)
		plugin_get()->start();
}

static void report_ready(void)
{
	uint64_t us = clock_ns(&self.clock, clock_tsc() - self.info->tsc_boot) / 1000;
	unsigned cores = core_data_count();
	log_event(LOG_NOTICE, "SYSTEM-READY", "ready: %u port%s, %u data core%s, %llu.%llu ms after boot", core_port_count(),
	          core_port_count() == 1 ? "" : "s", cores, cores == 1 ? "" : "s",
	          (unsigned long long)us / 1000, (unsigned long long)us / 100 % 10);
}

static void control_plane_ports(void)
{
	static bool greeted;
	programs_settled();
	if (running.applied && forwarding.ready)
		routes_keep();
	if (!running.applied)
		load_report();
	else if (self.info->config_bytes == 0 && !load_from_store() && core_app_number() != CORE_APP_switch)
		log_event(LOG_WARNING, "CONFIG", "no configuration was given: all interfaces are down");
	servers_start();
	commit_record_start();
	commit_done();
	if (core_ports_running())
		report_ready();
	if (!greeted) {
		shell_start(&serial_console);
		core_console_open();
	}
	greeted = true;
	if (plugin_get() && plugin_get()->ports)
		plugin_get()->ports();
}

static void control_plane_link(unsigned port, const struct nic_link *link)
{
	log_event(link->up ? LOG_NOTICE : LOG_WARNING, "LINK-UPDOWN", "eth%u: link %s", port, link->up ? "up" : "down");
	interfaces_link(port, link->up);
	if (!forwarding.ready)
		return;
	if (config_channel_of(&running.config, port))
		bundle_link(port, link->up);
	else if (plugin_get() && plugin_get()->link)
		plugin_get()->link(port, link->up);
}

/* --- timers --- */

/* Reclaims retired parts of tables once no data core reads them, and continues pending changes of
 * routes. */
static uint64_t tables_timer(void)
{
	if (!forwarding.ready)
		return UINT64_MAX;
	if ((fib_retired(&forwarding.fib) || fib_retired(&forwarding.fib6) ||
	     host6_resting(&forwarding.hosts6) || groups_resting()) && core_quiesce()) {
		fib_reclaim(&forwarding.fib);
		fib_reclaim(&forwarding.fib6);
		host6_reclaim(&forwarding.hosts6);
		groups_reclaim();
		routes_retry();
	}
	return routes_work() ? core_now_ns() : routes_deadline();
}

static uint64_t tcp_timer(void)
{
	tcp_control_tick();
	return UINT64_MAX; /* tcp_control_deadline returns it */
}

/*
 * Each timer does what is due and returns core_now_ns() of its next deadline, UINT64_MAX for none.
 * All are called, in this order, at the earliest deadline and after everything else that the
 * control core did: a packet, a key or another timer may bring a deadline forward.
 */
static uint64_t (*const timers[])(void) = {
	engine_bfd_timer, /* first: its packets are the most urgent */
	bundle_timer, ping_timer, traceroute_timer, neighbour_timer, rates_timer, summary_timer, fragments_timer, commit_timer, churn_timer,
	config_hash_timer, engine_timer, tables_timer, tcp_timer, tls_stream_timer, http_timer, ssh_timer, remote_timer, capture_timer,
	trace_timer, programs_timer, crash_timer, storage_timer, boot_disk_timer, image_fetch_timer, storage_commands_timer,
	lldp_control_timer,
	dhcp_client_timer,
	names_timer, log_timer, logging_timer, log_store_timer, sflow_timer,
	ntp_control_timer,
	commands_timer,
	tls_stream_deadline, /* after http_timer */
	tcp_control_deadline, /* after all timers that send by TCP */
};

/* Converts a deadline to a TSC value; nothing else does. Only the time from now on is converted:
 * converting the whole time since boot to nanoseconds and back would round differently. */
static uint64_t tsc_of(uint64_t due_ns)
{
	const uint64_t now = core_now_ns(), tsc = self.now_tsc;
	if (due_ns <= now)
		return tsc;
	const uint64_t ticks = clock_ticks(&self.clock, due_ns - now); /* rounded down, hence + 1 */
	return due_ns < UINT64_MAX && ticks < UINT64_MAX - tsc ? tsc + ticks + 1 : UINT64_MAX;
}

static uint64_t control_plane_timer(void)
{
	const struct app_plugin *e = plugin_get();
	uint64_t due = UINT64_MAX;
	for (unsigned i = 0; i < ARRAY_LEN(timers); i++)
		due = u64_min(due, timers[i]());
	/* a plug-in's deadline is a TSC value already: its data cores compare it with the TSC */
	return u64_min(tsc_of(due), e && e->timer && forwarding.ready ? e->timer() : UINT64_MAX);
}

const struct control_hooks control_plane_hooks = {
	.may_start = storage_may_start,
	.start = control_plane_start,
	.restore = restore_tables,
	.ports = control_plane_ports,
	.link = control_plane_link,
	.msg = punt_input,
	.punt_kinds = PUNT_KINDS,
	.punt_whole = PUNT_WHOLE,
	.key = console_key,
	.event = log_runtime,
	.log = console_log_line,
	.timer = control_plane_timer,
	.mirror = mirror_vector,
	.sample = sample_vector,
	.trace = trace_vector,
	.code_name = programs_code_name,
	.programs = xdp_vector,
	.tables = xdp_tables,
	.inject = inject_frame,
};
