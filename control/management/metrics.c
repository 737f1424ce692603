/*
 * /metrics: everything the machine counts, in Prometheus' text format 0.0.4. Names follow
 * Prometheus' conventions: base units in the name, _total at the end of counters, and labels that
 * tell apart the things counted (port, interface, core, reason, state).
 *
 * A row of `families` is a metric family; its function writes the samples. Of the registry
 * (net/counters.h), fates are hayate_packets_total, drops are hayate_drops_total, and each INFO
 * counter is a family of its own, hayate_NAME_total.
 */
#include "control/management/plugin.h"
#include "control/management/http.h"
#include "control/management/logging.h"
#include "control/engine/bfd.h"
#include "control/link/bundle.h"
#include "control/engine/engine.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "net/nd.h"
#include "control/forwarding/routes.h"
#include "control/management/page.h"
#include "control/management/remote.h"
#include "control/management/ssh.h"
#include "control/management/stats.h"
#include "control/management/tls_stream.h"
#include "control/host/stream.h"
#include "control/programs/programs.h"
#include "control/host/dhcp_client.h"
#include "control/host/dhcp_relay.h"
#include "control/host/vxlan.h"
#include "control/host/ntp_control.h"
#include "control/host/ntp_text.h"
#include "control/link/lldp_control.h"
#include "control/storage/storage.h"
#include "lib/fmt.h"
#include "lib/mem.h"

typedef unsigned long long ull;

static struct counters sum; /* of all cores, read by the last family that needed it */

struct family {
	const char *name, *type, *help;
	/* Writes sample i, or nothing if only later ones exist. False: there are no more. */
	bool (*sample)(const struct family *f, uint32_t i, struct page_text *t);
	uint32_t arg; /* for the function */
};

/* One sample without labels. */
static bool plain(const struct family *f, struct page_text *t, ull value)
{
	page_value(t, f->name, value);
	return true;
}

/* A time in ns as seconds. */
static void seconds(struct page_text *t, uint64_t ns)
{
	page_print(t, "%llu.%09llu\n", (ull)(ns / 1000000000u), (ull)(ns % 1000000000u));
}

/* --- the machine --- */

enum machine { MACHINE_MEMORY, MACHINE_MEMORY_USED, MACHINE_IMAGE, MACHINE_REFUSED,
	       MACHINE_INACTIVE, MACHINE_WAITING, MACHINE_CONFIG, MACHINE_HTTP, MACHINE_HTTP_REFUSED, MACHINE_HTTP_FULL,
	       MACHINE_HTTP_TIMEOUTS, MACHINE_CONSOLE, MACHINE_CONSOLE_LOGINS, MACHINE_CONSOLE_WRONG,
	       MACHINE_CONSOLE_REFUSED, MACHINE_CONSOLE_FULL, MACHINE_DMA_REFUSED };

static bool build_info(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i == 0)
		page_print(t, "%s{version=\"%s\",application=\"%s\"} 1\n", f->name, HAYATE_VERSION,
		           core_app_word(core_app_number()));
	return i == 0;
}

static bool uptime(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i)
		return false;
	page_print(t, "%s ", f->name);
	seconds(t, stats_uptime_ns());
	return true;
}

static bool machine(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i)
		return false;
	switch ((enum machine)f->arg) {
	case MACHINE_MEMORY:
		return plain(f, t, self.info->ram_bytes);
	case MACHINE_MEMORY_USED:
		return plain(f, t, self.info->ram_used_bytes);
	case MACHINE_IMAGE:
		return plain(f, t, self.info->image_bytes);
	case MACHINE_REFUSED:
		return plain(f, t, routes_refused());
	case MACHINE_INACTIVE:
		return plain(f, t, routes_rib()->idle);
	case MACHINE_WAITING:
		core_counters(&sum);
		return plain(f, t, stats_waiting(&sum));
	case MACHINE_CONFIG:
		return plain(f, t, running.applied);
	case MACHINE_HTTP:
		return plain(f, t, http_stats.sessions);
	case MACHINE_HTTP_REFUSED:
		return plain(f, t, http_stats.refused);
	case MACHINE_HTTP_FULL:
		return plain(f, t, http_stats.full);
	case MACHINE_HTTP_TIMEOUTS:
		return plain(f, t, http_stats.timeouts);
	case MACHINE_DMA_REFUSED:
		return plain(f, t, self.info->iommu.refused);
	case MACHINE_CONSOLE:
		return plain(f, t, remote_stats.sessions);
	case MACHINE_CONSOLE_LOGINS:
		return plain(f, t, remote_stats.logins);
	case MACHINE_CONSOLE_WRONG:
		return plain(f, t, remote_stats.wrong);
	case MACHINE_CONSOLE_REFUSED:
		return plain(f, t, remote_stats.refused);
	case MACHINE_CONSOLE_FULL:
		return plain(f, t, remote_stats.full);
	}
	return false;
}

enum tls_number { TLS_NOW, TLS_SHAKING, TLS_FULL };

static bool tls_figure(const struct family *f, uint32_t i, struct page_text *t)
{
	const uint64_t v = f->arg == TLS_NOW       ? tls_stats.sessions
	                   : f->arg == TLS_SHAKING ? tls_stats.shaking
	                                           : tls_stats.full;
	return i == 0 && plain(f, t, v);
}

static bool certificate_expiry(const struct family *f, uint32_t i, struct page_text *t)
{
	int64_t seconds;
	return i == 0 && tls_expiry(&seconds) && plain(f, t, (uint64_t)seconds);
}

static bool tls_handshakes(const struct family *f, uint32_t i, struct page_text *t)
{
	const struct tls_stats *s = f->arg ? &tls_client_stats : &tls_stats;
	if (i < ARRAY_LEN(tls_stats.handshakes))
		page_sample(t, f->name, s->handshakes[i], "version=\"TLSv1.%u\"", i + 2);
	return i < ARRAY_LEN(tls_stats.handshakes);
}

/* f->arg: 0 of the server, 1 of the client. */
static bool tls_failures(const struct family *f, uint32_t i, struct page_text *t)
{
	const struct tls_stats *s = f->arg ? &tls_client_stats : &tls_stats;
	const uint32_t n = f->arg ? TLS_FAILURES : TLS_FAILURES_SERVER, all = f->arg ? n + 2 : n + 1;
	if (i < all)
		page_sample(t, f->name, i < n ? s->failed[i] : i == n ? s->timeouts : s->cut,
		            "reason=\"%s\"",
		            i < n ? tls_failure_word((enum tls_failure)i) : i == n ? "timeout" : "cut");
	return i < all;
}

static bool client_failures(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i < STREAM_ENDS)
		page_sample(t, f->name, stream_stats.failed[i], "reason=\"%s\"", stream_end_word((enum stream_end)i));
	return i < STREAM_ENDS;
}

/* f->arg: the number of the figure. */
static bool ssh_figures(const struct family *f, uint32_t i, struct page_text *t)
{
	const uint64_t figures[] = {ssh_stats.sessions, ssh_stats.wrong, ssh_stats.refused, ssh_stats.full,
	                            ssh_stats.timeouts};
	return i == 0 && plain(f, t, figures[f->arg]);
}

static bool ssh_logins(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i < 2)
		page_sample(t, f->name, i ? ssh_stats.logins_password : ssh_stats.logins_key,
		            "method=\"%s\"", i ? "password" : "publickey");
	return i < 2;
}

static bool ssh_failures(const struct family *f, uint32_t i, struct page_text *t)
{
	const enum ssh_failure failure = i + 1; /* without SSH_FINE */
	if (failure >= SSH_CLOSED)
		return false;
	page_sample(t, f->name, ssh_stats.failed[failure], "reason=\"%s\"", ssh_failure_word(failure));
	return true;
}

static bool http_requests(const struct family *f, uint32_t i, struct page_text *t)
{
	static const unsigned digits[] = {2, 4, 5};
	if (i >= ARRAY_LEN(digits))
		return false;
	page_sample(t, f->name, http_stats.requests[digits[i]], "code=\"%uxx\"", digits[i]);
	return true;
}

static bool log_messages(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i >= LOG_LEVELS)
		return false;
	page_sample(t, f->name, log_stats()->messages[i], "level=\"%s\"", log_level_word((enum log_level)i));
	return true;
}

static bool log_suppressed(const struct family *f, uint32_t i, struct page_text *t)
{
	return i == 0 && plain(f, t, log_stats()->suppressed);
}

enum syslog_figure { SYSLOG_SENT, SYSLOG_LOST, SYSLOG_CONNECTED, SYSLOG_FAILED };

static bool has_tls_hosts(void)
{
	struct logging_stats h;
	unsigned i = 0;
	while (logging_stats(i, &h) && !h.tls)
		i++;
	return logging_stats(i, &h);
}

static bool syslog(const struct family *f, uint32_t i, struct page_text *t)
{
	char addr[FMT_ADDR_MAX];
	struct logging_stats h;
	if (!logging_stats(i, &h))
		return false;
	const uint64_t value[] = {h.sent, h.lost, h.version != NULL, h.failed};
	if (h.tls || f->arg < SYSLOG_CONNECTED)
		page_sample(t, f->name, value[f->arg], "host=\"%s\"", h.name[0] ? h.name : fmt_addr(addr, h.addr.w));
	return true;
}

static bool routes(const struct family *f, uint32_t i, struct page_text *t)
{
	static const char *const names[] = {"ipv4", "ipv6"};
	const struct fib_writer *const tables[] = {&forwarding.fib, &forwarding.fib6};
	if (i >= ARRAY_LEN(names))
		return false;
	page_sample(t, f->name, forwarding.ready ? fib_count(tables[i]) : 0, "family=\"%s\"", names[i]);
	return true;
}

/* The states of ARP, then those of ND. */
static bool neighbour_states(const struct family *f, uint32_t i, struct page_text *t)
{
	/* index i is all samples of an address family, which one walk of its table counts */
	uint32_t count[STATS_NEIGH_STATES];
	if (i > 1)
		return false;
	stats_neighbours(i ? &neighbours.nd.table : &neighbours.arp.table, count);
	for (unsigned state = 1; state <= (i ? ND_STATIC : ARP_STATIC); state++) /* 0: FREE */
		page_sample(t, f->name, count[state],
		            "family=\"%s\",state=\"%s\"", i ? "ipv6" : "ipv4",
		            i ? nd_state_name((enum nd_state)state) : arp_state_name((enum arp_state)state));
	return true;
}

/* Messages of a relay agent: those of interface i / 2 and of the family i % 2. arg: 0 requests, 1 replies, 2 copies to
 * servers. */
static bool dhcp_relay_of(const struct family *f, uint32_t i, struct page_text *t)
{
	const struct dp_state *v = dp_get();
	const uint32_t n = i / 2;
	if (n >= v->ifs)
		return false;
	if (!dp_exists(v, n) || !running.config.interface[n].relay_line[i % 2])
		return true;
	const struct dhcp_relay_counts *c = &dhcp_relay_counts[n][i % 2];
	const uint64_t value[] = {c->requests, c->replies, c->sent};
	page_sample(t, f->name, value[f->arg],
	            "interface=\"%s\",family=\"%s\"", dp_name(v, n), i % 2 ? "ipv6" : "ipv4");
	return true;
}

/* --- the DHCP client --- */

static bool dhcp_client_bound(const struct family *f, uint32_t i, struct page_text *t)
{
	unsigned interface;
	const struct dhcp_client *c = dhcp_client_at(i, &interface);
	if (c)
		page_sample(t, f->name, c->installed, "interface=\"%s\"", dp_name(dp_get(), interface));
	return c != NULL;
}

/* Seconds of the lease that are left. */
static bool dhcp_client_lease(const struct family *f, uint32_t i, struct page_text *t)
{
	unsigned interface;
	const struct dhcp_client *c = dhcp_client_at(i, &interface);
	if (c && c->installed)
		page_print(t, "%s{interface=\"%s\"} ", f->name, dp_name(dp_get(), interface));
	if (c && c->installed && c->lease.lease_s == DHCP_LEASE_FOREVER)
		page_print(t, "+Inf\n");
	else if (c && c->installed)
		page_print(t, "%u\n", dhcp_client_left_s(&c->lease, c->lease.lease_s));
	return c != NULL;
}

static bool any_lease(void)
{
	const struct dhcp_client *c;
	unsigned interface;
	for (unsigned i = 0; (c = dhcp_client_at(i, &interface)) != NULL; i++)
		if (c->installed)
			return true;
	return false;
}

static bool dhcp_client_messages(const struct family *f, uint32_t i, struct page_text *t)
{
	unsigned interface;
	const struct dhcp_client *c = dhcp_client_at(i / 2, &interface);
	if (c)
		page_sample(t, f->name, i % 2 ? c->counts.received : c->counts.sent,
		            "interface=\"%s\",direction=\"%s\"", dp_name(dp_get(), interface),
		            i % 2 ? "received" : "sent");
	return c != NULL;
}

static bool dhcp_client_lost(const struct family *f, uint32_t i, struct page_text *t)
{
	static const char *const reasons[] = {"refused", "conflict", "expired"};
	unsigned interface;
	const struct dhcp_client *c = dhcp_client_at(i / ARRAY_LEN(reasons), &interface);
	if (!c)
		return false;
	const uint64_t value[] = {c->counts.naks, c->counts.declines, c->counts.timeouts};
	page_sample(t, f->name, value[i % ARRAY_LEN(reasons)],
	            "interface=\"%s\",reason=\"%s\"", dp_name(dp_get(), interface), reasons[i % ARRAY_LEN(reasons)]);
	return true;
}

/* --- disks and the store --- */

enum store_figure { STORE_THERE, STORE_GENERATION, STORE_USED, STORE_MOST, STORE_WRITES, STORE_ERRORS };

static bool store(const struct family *f, uint32_t i, struct page_text *t)
{
	struct storage_status s;
	storage_status(&s);
	const uint64_t value[] = {storage_present() && !s.why, s.generation, s.used, s.most, s.writes, s.write_errors};
	if (i)
		return false;
	page_value(t, f->name, value[f->arg]);
	return true;
}

static bool disk_requests(const struct family *f, uint32_t i, struct page_text *t)
{
	static const char *const results[] = {"read", "written", "flushed", "failed"};
	if (i / ARRAY_LEN(results) >= disks_count())
		return false;
	const struct disk *d = disks_get(i / ARRAY_LEN(results));
	const uint64_t value[] = {d->reads, d->writes, d->flushes, d->errors};
	page_sample(t, f->name, value[i % ARRAY_LEN(results)],
	            "disk=\"disk%u\",result=\"%s\"", (unsigned)(i / ARRAY_LEN(results)),
	            results[i % ARRAY_LEN(results)]);
	return true;
}

static bool lldp_neighbours_of(const struct family *f, uint32_t i, struct page_text *t)
{
	const struct lldp *l = lldp_control_agent();
	if (!l || i >= l->ports)
		return false;
	page_sample(t, f->name, lldp_neighbours(l, i), "port=\"%s\"", dp_name(dp_get(), i));
	return true;
}

/* --- time --- */

enum ntp_figure { NTP_IS_SYNCHRONIZED, NTP_IS_STRATUM, NTP_IS_REACHABLE };

static bool ntp(const struct family *f, uint32_t i, struct page_text *t)
{
	const struct ntp_client *c = ntp_control_client();
	unsigned reachable = 0;
	for (unsigned k = 0; c && k < NTP_SERVERS_MAX; k++)
		reachable += c->server[k].used && c->server[k].reach;
	if (!c || i)
		return false;
	return plain(f, t, f->arg == NTP_IS_SYNCHRONIZED ? c->synchronized
	                   : f->arg == NTP_IS_STRATUM    ? ntp_client_stratum(c)
	                                                 : reachable);
}

/* Seconds, with a sign and a fraction. */
static bool ntp_offset(const struct family *f, uint32_t i, struct page_text *t)
{
	const struct ntp_client *c = ntp_control_client();
	char text[NTP_TEXT_MAX];
	if (!c || i)
		return false;
	page_print(t, "%s %s\n", f->name, ntp_text_s(text, c->offset_ns));
	return true;
}

/* --- the routing engine --- */

enum engine_figure { ENGINE_UP, ENGINE_PREFIXES, ENGINE_STALE, ENGINE_CONNECTIONS, ENGINE_FOREIGN,
		     ENGINE_MALFORMED };

static bool engine(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i)
		return false;
	switch ((enum engine_figure)f->arg) {
	case ENGINE_UP:
		return plain(f, t, engine_stats.connection.up);
	case ENGINE_PREFIXES:
		return plain(f, t, rib_stated(routes_rib()));
	case ENGINE_STALE:
		return plain(f, t, rib_stale(routes_rib()));
	case ENGINE_CONNECTIONS:
		return plain(f, t, engine_stats.connection.connections);
	case ENGINE_FOREIGN:
		return plain(f, t, engine_stats.connection.foreign);
	case ENGINE_MALFORMED:
		return plain(f, t, engine_stats.connection.malformed);
	}
	return false;
}

static bool engine_messages(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i < ENGINE_KINDS)
		page_sample(t, f->name, engine_stats.kind[i], "kind=\"%s\"", engine_kind_name((enum fpm_kind)i));
	return i < ENGINE_KINDS;
}

enum bfd_figure { FIGURE_BFD_CONNECTED, FIGURE_BFD_CONNECTIONS, FIGURE_BFD_FOREIGN,
		  FIGURE_BFD_MALFORMED, FIGURE_BFD_UNSENT };

static bool bfd(const struct family *f, uint32_t i, struct page_text *t)
{
	const struct engine_bfd_stats *s = &engine_bfd_stats;
	if (i)
		return false;
	switch ((enum bfd_figure)f->arg) {
	case FIGURE_BFD_CONNECTED:
		return plain(f, t, s->connection.up);
	case FIGURE_BFD_CONNECTIONS:
		return plain(f, t, s->connection.connections);
	case FIGURE_BFD_FOREIGN:
		return plain(f, t, s->connection.foreign);
	case FIGURE_BFD_MALFORMED:
		return plain(f, t, s->connection.malformed);
	case FIGURE_BFD_UNSENT:
		return plain(f, t, s->unsent);
	}
	return false;
}

static bool bfd_states(const struct family *f, uint32_t i, struct page_text *t)
{
	uint32_t sessions = 0;
	if (i > BFD_UP)
		return false;
	for (unsigned n = 0; n < ENGINE_BFD_SESSIONS; n++) {
		const struct engine_bfd_session *e = engine_bfd_session(n);
		sessions += e && e->s.state == (enum bfd_state)i;
	}
	page_sample(t, f->name, sessions, "state=\"%s\"", bfd_state_name((enum bfd_state)i));
	return true;
}

static bool bfd_refused(const struct family *f, uint32_t i, struct page_text *t)
{
	const uint32_t r = i + ENGINE_BFD_ACCEPTED + 1;
	if (r < ENGINE_BFD_REFUSALS_END)
		page_sample(t, f->name, engine_bfd_stats.refused[r],
		            "reason=\"%s\"", engine_bfd_refusal_name((enum engine_bfd_refusal)r));
	return r < ENGINE_BFD_REFUSALS_END;
}

/* What net/fpm skips or refuses, then what the engine's room refuses. */
static bool engine_refused(const struct family *f, uint32_t i, struct page_text *t)
{
	const uint32_t skip = i + FPM_SKIP_NONE + 1, refused = i - FPM_SKIPS_END + 2;
	if (skip < FPM_SKIPS_END)
		page_sample(t, f->name, engine_stats.skip[skip], "reason=\"%s\"", fpm_skip_name((enum fpm_skip)skip));
	else if (refused < ENGINE_REFUSALS_END)
		page_sample(t, f->name, engine_stats.refused[refused],
		            "reason=\"%s\"", engine_refusal_name((enum engine_refusal)refused));
	return skip < FPM_SKIPS_END || refused < ENGINE_REFUSALS_END;
}

/* Of each interface with a VNI. f->arg: frames, octets; then drops of the engine's frames. */
enum vxlan_figure { VXLAN_FRAMES, VXLAN_OCTETS, VXLAN_DROPPED };

static bool vxlan(const struct family *f, uint32_t n, struct page_text *t)
{
	const bool octets = f->arg == VXLAN_OCTETS;
	if (n >= running.config.interfaces)
		return false;
	if (!running.config.interface[n].engine_vni)
		return true;
	const struct vxlan_counts *c = &vxlan_counts[n];
	const char *name = dp_name(dp_get(), n);
	if (f->arg == VXLAN_DROPPED) {
		for (unsigned k = 0; k < VXLAN_DROPS; k++)
			if (c->drops[k])
				page_sample(t, f->name, c->drops[k],
				            "interface=\"%s\",reason=\"%s\"", name,
				            counter_desc[VXLAN_DROP_FIRST + k].name + strlen("drop_"));
		return true;
	}
	page_sample(t, f->name, octets ? c->up_octets : c->up_frames, "interface=\"%s\",direction=\"up\"", name);
	page_sample(t, f->name, octets ? c->down_octets : c->down_frames,
	            "interface=\"%s\",direction=\"down\"", name);
	return true;
}

/* --- the registry --- */

/* The counters of all cores, read for the first sample of a family. */
static void sum_for(uint32_t i)
{
	if (i == 0)
		core_counters(&sum);
}

static bool fates(const struct family *f, uint32_t i, struct page_text *t)
{
	sum_for(i);
	if (i < CNT_DROP_FIRST)
		page_sample(t, f->name, sum.v[i], "fate=\"%s\"", counter_desc[i].name);
	return i < CNT_DROP_FIRST;
}

static bool drops(const struct family *f, uint32_t i, struct page_text *t)
{
	const uint32_t n = CNT_DROP_FIRST + i;
	sum_for(i);
	if (n < CNT_FATES)
		page_sample(t, f->name, sum.v[n], "reason=\"%s\"", counter_desc[n].name + sizeof "drop_" - 1);
	return n < CNT_FATES;
}

/* Writes the fates of the kind f->arg that are not zero, and the last one, so that the family has a
 * sample. */
static bool fates_at(const struct family *f, uint32_t i, struct page_text *t)
{
	const bool drop = f->arg == COUNTER_DROP;
	struct stats_fate d;
	if (!stats_fate_next(i, (enum counter_kind)f->arg, &d))
		return false;
	t->empty = d.zeros;
	if (d.count || d.last)
		page_sample(t, f->name, d.count,
		            drop ? "interface=\"%s\",reason=\"%s\"" : "interface=\"%s\",fate=\"%s\"",
		            d.interface, d.name + (drop ? sizeof "drop_" - 1 : 0));
	return true;
}

/* i counts ports, positions in their chains and actions. */
static bool xdp_packets(const struct family *f, uint32_t i, struct page_text *t)
{
	const uint32_t port = i / (DP_XDP_CHAIN_MAX * XDP_ACTIONS), action = i % XDP_ACTIONS;
	struct programs_running r;
	if (port >= core_port_count())
		return false;
	if (programs_running_at(port, i / XDP_ACTIONS % DP_XDP_CHAIN_MAX, &r))
		page_sample(t, f->name, r.total[action],
		            "interface=\"%s\",object=\"%s\",program=\"%s\",action=\"%s\"",
		            dp_name(dp_get(), port), r.object->name, r.program->name, programs_action_word(action));
	return true;
}

static bool any_xdp(void)
{
	struct programs_running r;
	for (unsigned port = 0; port < core_port_count(); port++)
		if (programs_running_at(port, 0, &r))
			return true;
	return false;
}

/* Samples 2 * kind and 2 * kind + 1: what is in use of the regions of that kind, and what is free. */
static bool xdp_memory(const struct family *f, uint32_t i, struct page_text *t)
{
	static const char *const kinds[REGION_XDP_KINDS] = {
		[REGION_CODE] = "code", [REGION_SHARED] = "shared", [REGION_OWN] = "own", [REGION_CONTROL] = "control",
	};
	const enum region_kind kind = i / 2;
	if (kind >= REGION_XDP_KINDS)
		return false;
	const size_t bytes = core_region_bytes(kind), free = core_region_bytes_free(kind);
	if (bytes)
		page_sample(t, f->name, i % 2 ? free : bytes - free,
		            "kind=\"%s\",state=\"%s\"", kinds[kind], i % 2 ? "free" : "used");
	return true;
}

static bool any_region(void)
{
	for (enum region_kind kind = 0; kind < REGION_XDP_KINDS; kind++)
		if (core_region_bytes(kind))
			return true;
	return false;
}

/* Their families: NULL for fates, which share one. */
static const char *const info_names[CNT_MAX] = {
#define NAME_FATE(name) NULL
#define NAME_DROP(name) NULL
#define NAME_INFO(name) "hayate_" #name "_total"
#define NAME(name, kind, help) [CNT_##name] = NAME_##kind(name),
	NET_COUNTERS(NAME)
#undef NAME
};

/* The INFO counters, each a family of its own. */
static bool part_info(struct page_walk *w, struct page_text *t)
{
	const uint32_t n = w->item;
	if (n >= CNT_MAX)
		return false;
	sum_for(n);
	if (info_names[n]) {
		page_family(t, info_names[n], counter_desc[n].help, "counter");
		page_value(t, info_names[n], sum.v[n]);
	}
	return true;
}

/* --- ports --- */

/*
 * A port's counters, read once for a whole page, which uses them some forty times. Reading takes
 * cache lines away from the data cores that count in them, and each of the card's own counters
 * costs a register access (ixgbe). A page that takes longer than FIGURES_NS reads them again.
 */
#define FIGURES_NS (SECOND_NS / 1000)
static struct figures {
	uint64_t until_ns; /* valid until then; 0: to be read */
	struct nic_counters queue;
	const struct nic_stats *device;
} figures[NIC_PORTS_MAX];

static const struct figures *figures_of(unsigned port)
{
	struct figures *g = &figures[port];
	if (core_now_ns() >= g->until_ns) {
		core_port_counters(port, &g->queue);
		g->device = core_port_stats(port);
		g->until_ns = core_now_ns() + FIGURES_NS;
	}
	return g;
}

static void forget_figures(void)
{
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
		figures[p].until_ns = 0;
}

static bool port_link(const struct family *f, uint32_t i, struct page_text *t)
{
	struct nic_link link;
	if (i >= core_port_count())
		return false;
	bool up = core_port_link(i, &link) && link.up;
	uint64_t value = f->arg == 0 ? up : up ? link.mbps * 125000ull : 0;
	if (f->arg == 2)
		value = dp_in_use(&dp_get()->interface[i]);
	page_sample(t, f->name, value, "port=\"eth%u\"", i);
	return true;
}

static bool port_info(const struct family *f, uint32_t i, struct page_text *t)
{
	char mac[FMT_MAC_MAX];
	if (i >= core_port_count())
		return false;
	const struct nic *nic = core_port_nic(i);
	page_print(t, "%s{port=\"eth%u\",driver=\"%s\",mac=\"%s\"} 1\n", f->name, i, nic->ops->name,
	           fmt_mac(mac, nic->mac));
	return true;
}

/* The counter at f->arg of struct nic_counters. */
static bool port_counter(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i >= core_port_count())
		return false;
	page_sample(t, f->name, stats_word(&figures_of(i)->queue, f->arg), "port=\"eth%u\"", i);
	return true;
}

/* The counters of struct nic_counters and of the device in stats_reasons. f->arg: sent, not
 * received. */
static bool port_reason(const struct family *f, uint32_t i, struct page_text *t)
{
	const struct stats_reason *row;
	uint32_t port = i / stats_reason_count;
	if (port >= core_port_count())
		return false;
	row = &stats_reasons[i % stats_reason_count];
	if (row->sent != f->arg)
		return true;
	const struct figures *g = figures_of(port);
	const void *from = row->device ? (const void *)g->device : &g->queue;
	page_sample(t, f->name, stats_word(from, row->offset), "port=\"eth%u\",reason=\"%s\"", port, row->name);
	return true;
}

/* f->arg: 0 reads, 1 writes. Label `by`: data cores, or the control core. */
static bool port_mmio(const struct family *f, uint32_t i, struct page_text *t)
{
	uint32_t port = i / 2;
	if (port >= core_port_count())
		return false;
	const struct nic *nic = core_port_nic(port);
	const struct nic_counters *c = &figures_of(port)->queue;
	uint64_t data = f->arg ? c->mmio_writes : c->mmio_reads;
	page_sample(t, f->name, i % 2 == 0 ? data : f->arg ? nic->mmio_writes : nic->mmio_reads,
	            "port=\"eth%u\",by=\"%s\"", port, i % 2 ? "control" : "data");
	return true;
}

/* --- VLANs and loopbacks: the interfaces that are not ports --- */

static bool interface_is(const struct family *f, uint32_t i, struct page_text *t)
{
	const struct dp_state *v = dp_get();
	const uint32_t n = NIC_PORTS_MAX + i;
	if (n >= v->ifs)
		return false;
	if (dp_exists(v, n))
		page_sample(t, f->name, f->arg ? dp_in_use(&v->interface[n]) : stats_link_is_up(n),
		            "interface=\"%s\"", dp_name(v, n));
	return true;
}

/* The counter at f->arg of struct nic_counters, of a VLAN. Loopbacks have no such counters. */
static bool vlan_counter(const struct family *f, uint32_t i, struct page_text *t)
{
	const struct dp_state *v = dp_get();
	const uint32_t n = NIC_PORTS_MAX + i;
	struct nic_counters c;
	if (n >= v->ifs)
		return false;
	if (!dp_has_link(v, n))
		return true;
	stats_carried(n, &c);
	if (dp_is_svi(&v->interface[n]) || v->interface[n].bundle)
		page_sample(t, f->name, stats_word(&c, f->arg), "interface=\"%s\"", dp_name(v, n));
	else
		page_sample(t, f->name, stats_word(&c, f->arg), "interface=\"%s\",port=\"eth%u\"", dp_name(v, n),
		            v->interface[n].port);
	return true;
}

/* --- cores --- */

static bool core_info(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i >= self.info->cores)
		return false;
	page_sample(t, f->name, self.info->status[i].state != CORE_DEAD, "core=\"%u\",role=\"%s\"", i, stats_role(i));
	return true;
}

/* The counter at f->arg of struct core_stats. */
static bool core_counter(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i >= self.info->cores)
		return false;
	page_sample(t, f->name, stats_word(core_stats_of(i), f->arg), "core=\"%u\"", i);
	return true;
}

static bool core_busy(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i >= self.info->cores)
		return false;
	page_print(t, "%s{core=\"%u\"} ", f->name, i);
	seconds(t, clock_ns(&self.clock, stats_word(core_stats_of(i),
	                                            offsetof(struct core_stats, busy_cycles))));
	return true;
}

static bool core_faults(const struct family *f, uint32_t i, struct page_text *t)
{
	if (i >= self.info->cores)
		return false;
	page_sample(t, f->name, self.info->status[i].faults, "core=\"%u\"", i);
	return true;
}

/* --- TCP --- */

/* Sample i: core by core, the connections in each state. */
static bool tcp_states(const struct family *f, uint32_t i, struct page_text *t)
{
	uint32_t states = DP_TCP_STATES - 1, core = i / states, state = 1 + i % states, n;
	if (core >= self.info->cores)
		return false;
	if (stats_tcp(core, (enum tcp_state)state, &n))
		page_sample(t, f->name, n, "core=\"%u\",state=\"%s\"", core, stats_tcp_state((enum tcp_state)state));
	return true;
}

/* --- port channels --- */

/* Of a port channel: all, or those in use. */
static unsigned ports_of(unsigned channel, bool in_use)
{
	unsigned n = 0;
	for (unsigned p = 0; p < core_port_count(); p++)
		n += in_use ? bundle_ports(channel) >> p & 1 : config_channel_of(&running.config, p) == channel;
	return n;
}

/* arg 0: whether port channel i + 1 is up; 1: its ports by state, two samples each. */
static bool port_channel(const struct family *f, uint32_t i, struct page_text *t)
{
	const unsigned channel = (f->arg ? i / 2 : i) + 1;
	const bool in_use = i % 2;
	if (channel > CONFIG_CHANNELS_MAX)
		return false;
	if (ports_of(channel, false) == 0)
		return true;
	if (f->arg)
		page_sample(t, f->name, ports_of(channel, in_use),
		            "channel=\"port-channel%u\",state=\"%s\"", channel, in_use ? "distributing" : "configured");
	else
		page_sample(t, f->name, bundle_ports(channel) != 0, "channel=\"port-channel%u\"", channel);
	return true;
}

static bool has_port_channels(void)
{
	for (unsigned channel = 1; channel <= CONFIG_CHANNELS_MAX; channel++)
		if (ports_of(channel, false))
			return true;
	return false;
}

/* --- the list --- */

#define QUEUE(field) port_counter, offsetof(struct nic_counters, field)
#define VLAN(field) vlan_counter, offsetof(struct nic_counters, field)
#define CORE(field) core_counter, offsetof(struct core_stats, field)

static const struct family families[] = {
	{"hayate_build_info", "gauge", "Version and application; always 1", build_info, 0},
	{"hayate_uptime_seconds", "gauge", "Time since the kernel began", uptime, 0},
	{"hayate_memory_size_bytes", "gauge", "Usable memory of the machine", machine, MACHINE_MEMORY},
	{"hayate_dma_refused_total", "counter", "Accesses of cards that the IOMMU has refused", machine,
	 MACHINE_DMA_REFUSED},
	{"hayate_memory_used_bytes", "gauge", "Memory taken by kernel and cores", machine,
	 MACHINE_MEMORY_USED},
	{"hayate_image_size_bytes", "gauge", "Size of the loaded image", machine, MACHINE_IMAGE},
	{"hayate_config_applied", "gauge", "1 when the configuration was good and is in force", machine,
	 MACHINE_CONFIG},
	{"hayate_packets_total", "counter", "Received packets that were not dropped, by fate",
	 fates, 0},
	{"hayate_drops_total", "counter", "Received packets that were dropped, by reason", drops, 0},
	{"hayate_interface_drops_total", "counter",
	 "Drops above 0 by input interface and reason; no interface: a restart, or reassembly",
	 fates_at, COUNTER_DROP},
	{"hayate_interface_packets_total", "counter",
	 "Packets above 0 that were not dropped, by input interface and fate; no interface: reassembly",
	 fates_at, COUNTER_FATE},
	{"hayate_xdp_packets_total", "counter", "Results of XDP programs, by interface, program and action",
	 xdp_packets, 0},
	{"hayate_xdp_memory_bytes", "gauge", "Memory of XDP programs and their maps, used and free", xdp_memory, 0},
	{"hayate_packets_waiting", "gauge", "Received packets that wait for a neighbour or the control core",
	 machine, MACHINE_WAITING},
	{"hayate_port_up", "gauge", "1 when the link is up", port_link, 0},
	{"hayate_port_enabled", "gauge", "1 when the port has an address and is not shut down", port_link,
	 2},
	{"hayate_port_speed_bytes", "gauge", "Speed of the link in bytes a second; 0 when unknown",
	 port_link, 1},
	{"hayate_dhcp_client_bound", "gauge", "1 while the interface has an address of a DHCP server",
	 dhcp_client_bound, 0},
	{"hayate_dhcp_client_lease_seconds", "gauge", "Seconds until the lease ends unless it is extended",
	 dhcp_client_lease, 0},
	{"hayate_dhcp_client_messages_total", "counter", "Messages of the DHCP client, sent and used",
	 dhcp_client_messages, 0},
	{"hayate_dhcp_client_lost_total", "counter", "Addresses that the DHCP client had to give up, by reason",
	 dhcp_client_lost, 0},
	{"hayate_dhcp_relay_requests_total", "counter", "DHCP requests relayed to servers", dhcp_relay_of, 0},
	{"hayate_dhcp_relay_replies_total", "counter", "DHCP replies relayed to clients", dhcp_relay_of, 1},
	{"hayate_dhcp_relay_sent_total", "counter", "copies of DHCP requests sent to servers", dhcp_relay_of, 2},
	{"hayate_ntp_synchronized", "gauge", "1 while NTP servers set the time of day", ntp, NTP_IS_SYNCHRONIZED},
	{"hayate_ntp_stratum", "gauge", "Stratum of the machine; 16: not synchronized", ntp, NTP_IS_STRATUM},
	{"hayate_ntp_servers_reachable", "gauge", "NTP servers that have answered one of the last eight requests",
	 ntp, NTP_IS_REACHABLE},
	{"hayate_ntp_offset_seconds", "gauge", "Offset of the clock at its last update; positive: it was slow",
	 ntp_offset, 0},
	{"hayate_storage_usable", "gauge", "1 when the store on a disk can be read and written", store, STORE_THERE},
	{"hayate_storage_generation", "gauge", "Generation of the store on the disk", store, STORE_GENERATION},
	{"hayate_storage_used_bytes", "gauge", "Bytes of the values that are stored", store, STORE_USED},
	{"hayate_storage_size_bytes", "gauge", "Bytes of values that there is room for", store, STORE_MOST},
	{"hayate_storage_writes_total", "counter", "Generations written since the start", store, STORE_WRITES},
	{"hayate_storage_write_errors_total", "counter", "Generations that could not be written", store, STORE_ERRORS},
	{"hayate_disk_requests_total", "counter", "Requests of a disk by their result", disk_requests, 0},
	{"hayate_lldp_neighbors", "gauge", "LLDP neighbours of the port", lldp_neighbours_of, 0},
	{"hayate_port_channel_up", "gauge", "1 when a port of the port channel is in use", port_channel, 0},
	{"hayate_port_channel_ports", "gauge", "Ports of a port channel, configured and in use", port_channel, 1},
	{"hayate_port_info", "gauge", "Driver and MAC address; always 1", port_info, 0},
	{"hayate_port_receive_packets_total", "counter", "Frames received", QUEUE(rx_pkts)},
	{"hayate_port_receive_bytes_total", "counter", "Bytes received, without FCS",
	 QUEUE(rx_bytes)},
	{"hayate_port_transmit_packets_total", "counter", "Frames given to the device", QUEUE(tx_pkts)},
	{"hayate_port_transmit_bytes_total", "counter", "Bytes given to the device, without FCS",
	 QUEUE(tx_bytes)},
	{"hayate_port_transmit_ring_full_total", "counter", "Times the transmit ring was full",
	 QUEUE(tx_full)},
	{"hayate_port_receive_queue_errors_total", "counter",
	 "Times the device put a receive queue into its error state", QUEUE(rx_queue_errors)},
	{"hayate_port_transmit_queue_errors_total", "counter",
	 "Times the device put a transmit queue into its error state", QUEUE(tx_queue_errors)},
	{"hayate_port_receive_errors_total", "counter", "Frames that never became packets, by reason",
	 port_reason, false},
	{"hayate_port_transmit_errors_total", "counter", "Frames that the device did not send, by reason",
	 port_reason, true},
	{"hayate_port_mmio_reads_total", "counter",
	 "Device registers read, by data cores or the control core", port_mmio, 0},
	{"hayate_port_mmio_writes_total", "counter",
	 "Device registers written, by data cores or the control core", port_mmio, 1},
	{"hayate_port_interrupt_arms_total", "counter", "Times an interrupt was armed",
	 QUEUE(irq_arms)},
	{"hayate_interface_up", "gauge", "1 when the VLAN's port has a link; 1 for a loopback",
	 interface_is, 0},
	{"hayate_interface_enabled", "gauge",
	 "1 when the VLAN or loopback has an address and is not shut down", interface_is, 1},
	{"hayate_interface_receive_packets_total", "counter",
	 "Frames of the VLAN received; the port counts them too", VLAN(rx_pkts)},
	{"hayate_interface_receive_bytes_total", "counter",
	 "Bytes received on the VLAN, without tag and FCS", VLAN(rx_bytes)},
	{"hayate_interface_transmit_packets_total", "counter",
	 "Frames of the VLAN to be sent; the port counts them too", VLAN(tx_pkts)},
	{"hayate_interface_transmit_bytes_total", "counter",
	 "Bytes to be sent on the VLAN, without tag and FCS", VLAN(tx_bytes)},
	{"hayate_core_up", "gauge", "1 unless the core is stopped for good", core_info, 0},
	{"hayate_core_busy_seconds_total", "counter", "Time in turns that moved packets", core_busy, 0},
	{"hayate_core_busy_cycles_total", "counter", "TSC cycles in turns that moved packets",
	 CORE(busy_cycles)},
	{"hayate_core_turns_total", "counter", "Turns of the loop", CORE(turns)},
	{"hayate_core_busy_turns_total", "counter", "Turns that moved packets", CORE(busy_turns)},
	{"hayate_core_receive_packets_total", "counter", "Packets received by the core", CORE(rx_pkts)},
	{"hayate_core_sleeps_total", "counter", "Times the core halted", CORE(sleeps)},
	{"hayate_core_faults_total", "counter", "Times the core's program was restarted", core_faults, 0},
	{"hayate_core_buffers", "gauge", "Packet buffers of the core", CORE(pool_count)},
	{"hayate_core_buffers_free", "gauge", "Free packet buffers of the core", CORE(pool_free)},
	{"hayate_routes", "gauge", "Prefixes in the forwarding table by version of IP", routes, 0},
	{"hayate_routes_refused", "gauge", "Prefixes that did not fit into the forwarding table",
	 machine, MACHINE_REFUSED},
	{"hayate_routes_inactive", "gauge", "Prefixes none of whose routes can be used", machine,
	 MACHINE_INACTIVE},
	{"hayate_routing_engine_up", "gauge", "1 while the routing engine is connected", engine,
	 ENGINE_UP},
	{"hayate_routing_engine_prefixes", "gauge", "Prefixes that the routing engine has stated",
	 engine, ENGINE_PREFIXES},
	{"hayate_routing_engine_stale", "gauge", "Those that it has not stated since it disconnected",
	 engine, ENGINE_STALE},
	{"hayate_routing_engine_connections_total", "counter", "Connections of the routing engine",
	 engine, ENGINE_CONNECTIONS},
	{"hayate_routing_engine_foreign_total", "counter", "Connections reset because of their address",
	 engine, ENGINE_FOREIGN},
	{"hayate_routing_engine_malformed_total", "counter",
	 "Connections closed for a malformed frame", engine, ENGINE_MALFORMED},
	{"hayate_routing_engine_messages_total", "counter", "Messages of the routing engine by kind",
	 engine_messages, 0},
	{"hayate_routing_engine_refused_total", "counter",
	 "Messages of the routing engine that were not applied, by reason", engine_refused, 0},
	{"hayate_routing_engine_frames_total", "counter",
	 "Frames handed to the routing engine (up) and sent for it (down), by interface", vxlan,
	 VXLAN_FRAMES},
	{"hayate_routing_engine_bytes_total", "counter", "Their bytes, without FCS", vxlan,
	 VXLAN_OCTETS},
	{"hayate_routing_engine_drops_total", "counter",
	 "Frames of the routing engine that were not sent, above 0, by interface and reason", vxlan,
	 VXLAN_DROPPED},
	{"hayate_bfd_connected", "gauge", "1 while bfdd of the routing engine is connected", bfd,
	 FIGURE_BFD_CONNECTED},
	{"hayate_bfd_sessions", "gauge", "BFD sessions by state", bfd_states, 0},
	{"hayate_bfd_connections_total", "counter", "Connections of bfdd", bfd, FIGURE_BFD_CONNECTIONS},
	{"hayate_bfd_foreign_total", "counter", "Connections reset because of their address", bfd,
	 FIGURE_BFD_FOREIGN},
	{"hayate_bfd_malformed_total", "counter", "Connections closed for a malformed message", bfd,
	 FIGURE_BFD_MALFORMED},
	{"hayate_bfd_unsent_total", "counter", "BFD packets without source address or route", bfd,
	 FIGURE_BFD_UNSENT},
	{"hayate_bfd_refused_total", "counter", "Sessions that were not accepted, by reason",
	 bfd_refused, 0},
	{"hayate_neighbours", "gauge", "Neighbours by version of IP and state", neighbour_states, 0},
	{"hayate_tcp_connections", "gauge", "TCP connections by core and state", tcp_states, 0},
	{"hayate_log_messages_total", "counter", "Messages that the event log has recorded, by severity",
	 log_messages, 0},
	{"hayate_log_suppressed_total", "counter", "Messages that were lost because there were too many",
	 log_suppressed, 0},
	{"hayate_syslog_sent_total", "counter", "Messages sent to each syslog host", syslog, SYSLOG_SENT},
	{"hayate_syslog_lost_total", "counter", "Messages that a syslog host has missed", syslog, SYSLOG_LOST},
	{"hayate_syslog_connected", "gauge", "Is there a connection to the syslog host, by TLS", syslog,
	 SYSLOG_CONNECTED},
	{"hayate_syslog_failures_total", "counter", "Connections to the syslog host that failed or ended", syslog,
	 SYSLOG_FAILED},
	{"hayate_http_requests_total", "counter", "Answers of the HTTP server by class of status",
	 http_requests, 0},
	{"hayate_http_connections", "gauge", "Connections to the HTTP server", machine, MACHINE_HTTP},
	{"hayate_http_refused_total", "counter", "Connections that the access list refused", machine,
	 MACHINE_HTTP_REFUSED},
	{"hayate_http_full_total", "counter",
	 "Connections refused or reset because all sessions were in use", machine,
	 MACHINE_HTTP_FULL},
	{"hayate_http_timeouts_total", "counter", "Connections ended because the client was too slow",
	 machine, MACHINE_HTTP_TIMEOUTS},
	{"hayate_tls_handshakes_total", "counter", "TLS handshakes that were completed", tls_handshakes, 0},
	{"hayate_tls_failures_total", "counter", "TLS handshakes and sessions that failed, by reason", tls_failures, 0},
	{"hayate_tls_sessions", "gauge", "TLS sessions, with those in a handshake", tls_figure, TLS_NOW},
	{"hayate_tls_handshaking", "gauge", "TLS sessions in a handshake", tls_figure, TLS_SHAKING},
	{"hayate_https_certificate_expiry_timestamp_seconds", "gauge",
	 "When the certificate of HTTPS expires, since 1970", certificate_expiry, 0},
	{"hayate_tls_client_handshakes_total", "counter",
	 "TLS handshakes of connections that the machine opened, completed", tls_handshakes, 1},
	{"hayate_tls_client_failures_total", "counter", "TLS connections that the machine opened, failed, by reason",
	 tls_failures, 1},
	{"hayate_tcp_client_failures_total", "counter", "TCP connections that the machine opened, failed, by reason",
	 client_failures, 0},
	{"hayate_tls_refused_full_total", "counter", "TLS connections ended because all sessions were in use",
	 tls_figure, TLS_FULL},
	{"hayate_console_connections", "gauge", "Connections to the console server", machine,
	 MACHINE_CONSOLE},
	{"hayate_console_logins_total", "counter", "Successful logins", machine,
	 MACHINE_CONSOLE_LOGINS},
	{"hayate_console_wrong_passwords_total", "counter", "Wrong passwords", machine,
	 MACHINE_CONSOLE_WRONG},
	{"hayate_console_refused_total", "counter", "Connections that the access list refused", machine,
	 MACHINE_CONSOLE_REFUSED},
	{"hayate_console_full_total", "counter",
	 "Connections and logins refused or ended because all sessions were in use",
	 machine, MACHINE_CONSOLE_FULL},
	{"hayate_ssh_connections", "gauge", "Connections to the SSH server", ssh_figures, 0},
	{"hayate_ssh_logins_total", "counter", "Successful logins by SSH, by method", ssh_logins, 0},
	{"hayate_ssh_wrong_passwords_total", "counter", "Wrong passwords by SSH", ssh_figures, 1},
	{"hayate_ssh_refused_total", "counter", "Connections that the access list refused", ssh_figures, 2},
	{"hayate_ssh_full_total", "counter", "Connections refused or ended because all places were in use",
	 ssh_figures, 3},
	{"hayate_ssh_timeouts_total", "counter", "Connections that did not log in, or start anything, in time",
	 ssh_figures, 4},
	{"hayate_ssh_failures_total", "counter", "Connections that an error of the protocol ended, by reason",
	 ssh_failures, 0},
};

/* True if the family has no sample, because there are no such interfaces, no routing engine,
 * no LLDP, no disk or no port channel; it is then left out. */
static bool is_absent(const struct family *f)
{
	unsigned interface;
	int64_t seconds;
	const struct dp_state *v = dp_get();
	if (f->sample == certificate_expiry)
		return !tls_expiry(&seconds);
	if (f->sample == engine || f->sample == engine_messages || f->sample == engine_refused)
		return running.config.engine.line == 0;
	if (f->sample == xdp_packets)
		return !any_xdp();
	if (f->sample == xdp_memory)
		return !any_region();
	if (f->sample == dhcp_client_lease)
		return !any_lease();
	if (f->sample == dhcp_client_bound || f->sample == dhcp_client_messages || f->sample == dhcp_client_lost)
		return dhcp_client_at(0, &interface) == NULL;
	if (f->sample == dhcp_relay_of)
		return running.config.dhcp.relays == 0;
	if (f->sample == ntp || f->sample == ntp_offset)
		return ntp_control_client() == NULL;
	if (f->sample == store || f->sample == disk_requests)
		return disks_count() == 0;
	if (f->sample == lldp_neighbours_of)
		return lldp_control_agent() == NULL;
	if (f->sample == port_channel)
		return !has_port_channels();
	if (f->sample == syslog)
		return running.config.logging.hosts == 0 || (f->arg >= SYSLOG_CONNECTED && !has_tls_hosts());
	if (f->sample == vxlan)
		return dp_get()->engine_addr == 0;
	if (f->sample == bfd || f->sample == bfd_states || f->sample == bfd_refused)
		return running.config.engine.bfd_port == 0;
	if (f->sample != interface_is && f->sample != vlan_counter)
		return false;
	for (unsigned n = NIC_PORTS_MAX; n < v->ifs; n++)
		if (f->sample == interface_is ? dp_exists(v, n) : dp_has_link(v, n))
			return false;
	return true;
}

/* w->cursor.n: the family in the high 32 bits; in the low ones its sample plus one, 0: HELP and
 * TYPE. */
static bool part_families(struct page_walk *w, struct page_text *t)
{
	uint32_t n = (uint32_t)(w->cursor.n >> 32), sample = (uint32_t)w->cursor.n;
	const struct family *f = &families[n];
	if (n == ARRAY_LEN(families))
		return false;
	if (w->item == 0)
		forget_figures();
	if (sample == 0 && is_absent(f)) {
		w->cursor.n = (uint64_t)(n + 1) << 32;
		return true;
	}
	if (sample == 0) {
		page_family(t, f->name, f->help, f->type);
	} else if (!f->sample(f, sample - 1, t)) {
		w->cursor.n = (uint64_t)(n + 1) << 32;
		return true;
	}
	w->cursor.n += 1 + t->empty;
	t->empty = 0;
	return true;
}

/* The application's metrics. */
static bool part_extension(struct page_walk *w, struct page_text *t)
{
	const struct app_plugin *e = plugin_get();
	return e && e->metrics && e->metrics(w, t);
}

const page_part page_metrics[] = {part_families, part_extension, part_info, NULL};
