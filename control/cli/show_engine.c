/* `show routing engine`. docs/console.md specifies the form, which is an interface. */
#include "control/cli/show.h"
#include "control/config/running.h"
#include "control/console/shell.h"
#include "control/engine/engine.h"
#include "control/forwarding/routes.h"
#include "control/host/vxlan.h"
#include "control/management/stats.h"
#include "control/text/interface_name.h"
#include "lib/fmt.h"
#include "runtime/runtime.h"

typedef unsigned long long ull;

void show_engine_count(struct shell *sh, const char *what, const char *name, uint64_t n)
{
	if (n)
		shell_print(sh, "%-10s %-18s %llu\n", what, name, (ull)n);
}

void show_engine_connection(struct shell *sh, uint16_t port, const struct engine_connection_stats *s)
{
	char text[FMT_ADDR_MAX];
	shell_print(sh, "%s port %u %s since %llu s\n", fmt_addr(text, running.config.engine.addr.w), port,
	            s->up ? "connected" : "disconnected",
	            (ull)((core_now_ns() - s->since_ns) / SECOND_NS));
}

void show_engine_disconnected(struct shell *sh, const struct engine_connection_stats *s)
{
	if (s->closed)
		shell_print(sh, "last disconnected: %s\n", s->closed);
}

static void show_counts(struct shell *sh)
{
	const struct engine_stats *s = &engine_stats;
	for (unsigned k = 0; k < ENGINE_KINDS; k++)
		show_engine_count(sh, "message", engine_kind_name((enum fpm_kind)k), s->kind[k]);
	for (unsigned p = 0; p < FPM_PROTOCOLS_END; p++)
		show_engine_count(sh, "protocol", fpm_protocol_name((enum fpm_protocol)p), s->set[p]);
	for (unsigned k = FPM_SKIP_NONE + 1; k < FPM_SKIPS_END; k++)
		show_engine_count(sh, "skipped", fpm_skip_name((enum fpm_skip)k), s->skip[k]);
	for (unsigned r = ENGINE_REFUSED_NOT + 1; r < ENGINE_REFUSALS_END; r++)
		show_engine_count(sh, "refused", engine_refusal_name((enum engine_refusal)r), s->refused[r]);
	show_engine_count(sh, "acknowledged", "installed", s->acks);
	show_engine_count(sh, "acknowledged", "failed", s->acks_failed);
	show_engine_count(sh, "acknowledged", "lost", s->acks_lost);
}

static void show_drop(struct shell *sh, unsigned interface, enum counter why, uint64_t n)
{
	if (n)
		shell_print(sh, INTERFACE_COLUMN " %-18s %llu\n", dp_name(dp_get(), interface), counter_desc[why].name,
		            (ull)n);
}

/* Frames for the engine that an interface has dropped, and its own for that interface. */
static void show_drops(struct shell *sh, unsigned n)
{
	static const enum counter up[] = {CNT_drop_engine_limit, CNT_drop_engine_down};
	uint64_t fates[CNT_FATES];
	stats_fates(n, false, fates);
	for (unsigned k = 0; k < ARRAY_LEN(up); k++)
		show_drop(sh, n, up[k], fates[up[k]]);
	for (unsigned k = 0; k < VXLAN_DROPS; k++)
		show_drop(sh, n, (enum counter)(VXLAN_DROP_FIRST + k), vxlan_counts[n].drops[k]);
}

static void show_vxlan(struct shell *sh)
{
	const struct config *c = &running.config;
	char from[FMT_IP4_MAX], to[FMT_IP4_MAX];
	bool any = false;
	for (unsigned n = 0; n < c->interfaces; n++) {
		const struct vxlan_counts *v = &vxlan_counts[n];
		if (!c->interface[n].engine_vni)
			continue;
		if (!any)
			shell_print(sh, "VXLAN from %s to %s\n", fmt_ip4(from, config_engine_source_of(c)),
			            fmt_ip4(to, config_engine_remote(c)));
		any = true;
		shell_print(sh, INTERFACE_COLUMN " vni %u index %u, up %llu frames %llu octets, down %llu frames "
		                "%llu octets\n", dp_name(dp_get(), n), c->interface[n].engine_vni,
		            config_engine_index_of(&c->interface[n]), (ull)v->up_frames,
		            (ull)v->up_octets, (ull)v->down_frames, (ull)v->down_octets);
		show_drops(sh, n);
	}
}

void show_engine(struct shell *sh)
{
	const struct config_engine *c = &running.config.engine;
	const struct engine_stats *s = &engine_stats;
	const struct rib *r = routes_rib();
	if (!c->line) {
		shell_print(sh, "no routing engine is configured\n");
		return;
	}
	show_engine_connection(sh, c->port, &s->connection);
	shell_print(sh, "prefixes %u, stale %u, removed as stale %llu\n", rib_stated(r), rib_stale(r),
	            (ull)s->stale_removed);
	shell_print(sh, "connections %llu, foreign %llu, malformed %llu, frames %llu, octets %llu\n",
	            (ull)s->connection.connections, (ull)s->connection.foreign,
	            (ull)s->connection.malformed, (ull)s->frames, (ull)s->octets);
	show_engine_disconnected(sh, &s->connection);
	show_counts(sh);
	show_vxlan(sh);
}
