/* show storm-control. See commands.h. */
#include "apps/switch/commands.h"

#include "apps/switch/errdisable.h"
#include "apps/switch/tables.h"
#include "control/config/running.h"

static void show_class(struct shell *sh, unsigned port, enum switch_storm class, uint64_t dropped)
{
	static const char *const words[SWITCH_STORMS] = {
		[SWITCH_STORM_BROADCAST] = "broadcast",
		[SWITCH_STORM_MULTICAST] = "multicast",
		[SWITCH_STORM_UNICAST] = "unknown-unicast",
	};
	const struct config_switchport *c = config_switchport(&running.config, port);
	if (c->storm[class])
		shell_print(sh, PORT_COLUMN " %-16s %-8s %10u %12llu\n", tables_port_name(port), words[class],
		            c->storm_shutdown ? "shutdown" : "drop", c->storm[class], (unsigned long long)dropped);
}

void show_storm_control(struct shell *sh)
{
	uint64_t drops[SWITCH_STORMS];
	shell_print(sh, PORT_COLUMN " %-16s %-8s %10s %12s\n", "port", "class", "action", "level_pps", "dropped");
	for (unsigned p = 0; p < core_port_count(); p++) {
		if (!tables_is_logical(p))
			continue;
		errdisable_drops(p, drops);
		for (unsigned class = 0; class < SWITCH_STORMS; class++)
			show_class(sh, p, (enum switch_storm)class, drops[class]);
	}
}
