/* show errdisable: ports that BPDU guard or storm control has disabled. See commands.h. */
#include "apps/switch/commands.h"

#include "apps/switch/errdisable.h"
#include "apps/switch/spanning.h"
#include "apps/switch/tables.h"
#include "control/config/running.h"

const char *const switch_causes[SWITCH_CAUSES] = {
	[SWITCH_CAUSE_GUARD] = "bpduguard", [SWITCH_CAUSE_STORM] = "storm-control"};

bool switch_disabled(unsigned port, enum switch_cause cause)
{
	return cause == SWITCH_CAUSE_GUARD ? spanning_is_guarded(port) : errdisable_ports() >> port & 1;
}

static uint64_t recovery_ns(unsigned port, enum switch_cause cause)
{
	return cause == SWITCH_CAUSE_GUARD ? spanning_recovery_ns(port) : errdisable_recovery_ns(port);
}

static void show_port(struct shell *sh, unsigned port, enum switch_cause cause)
{
	char left[24] = "-";
	const uint64_t at = recovery_ns(port, cause), now = core_now_ns();
	if (at != UINT64_MAX)
		fmt_format(left, sizeof left, "%llu", (unsigned long long)(at > now ? (at - now) / SECOND_NS : 0));
	shell_print(sh, PORT_COLUMN " %-14s %10s\n", tables_port_name(port), switch_causes[cause], left);
}

void show_errdisable(struct shell *sh)
{
	const struct config_stp *c = &running.config.stp;
	const bool recovers[SWITCH_CAUSES] = {
		[SWITCH_CAUSE_GUARD] = c->recovers, [SWITCH_CAUSE_STORM] = c->storm_recovers};
	for (unsigned k = 0; k < SWITCH_CAUSES; k++)
		shell_print(sh, "recovery_%s %s\n", switch_causes[k], recovers[k] ? "on" : "off");
	shell_print(sh, "recovery_interval_s %u\n\n", c->recovery_s);
	shell_print(sh, PORT_COLUMN " %-14s %10s\n", "port", "cause", "recovery_s");
	for (unsigned p = 0; p < core_port_count(); p++)
		for (unsigned k = 0; k < SWITCH_CAUSES; k++)
			if (switch_disabled(p, (enum switch_cause)k))
				show_port(sh, p, (enum switch_cause)k);
}
