/* show storm-control. See commands.h. */
#include "apps/switch/commands.h"

#include "apps/switch/tables.h"
#include "control/config/running.h"

static void show_class(struct shell *sh, unsigned port, enum switch_storm class, const uint64_t *fates)
{
	static const struct {
		const char *word;
		enum counter drop;
	} of[SWITCH_STORMS] = {
		[SWITCH_STORM_BROADCAST] = {"broadcast", CNT_drop_switch_storm_broadcast},
		[SWITCH_STORM_MULTICAST] = {"multicast", CNT_drop_switch_storm_multicast},
		[SWITCH_STORM_UNICAST] = {"unknown-unicast", CNT_drop_switch_storm_unicast},
	};
	const uint32_t level = config_switchport(&running.config, port)->storm[class];
	if (level)
		shell_print(sh, "%-8s %-16s %10u %12llu\n", tables_port_name(port), of[class].word, level,
		            (unsigned long long)fates[of[class].drop]);
}

/* Of all ports of a logical port. */
static void fates_of(unsigned logical, uint64_t *sum)
{
	uint64_t fates[CNT_FATES];
	memset(sum, 0, sizeof fates);
	for (unsigned p = 0; p < core_port_count(); p++) {
		if (config_logical(&running.config, p) != logical)
			continue;
		core_fates(p, fates);
		for (unsigned k = 0; k < CNT_FATES; k++)
			sum[k] += fates[k];
	}
}

void show_storm_control(struct shell *sh)
{
	uint64_t fates[CNT_FATES];
	shell_print(sh, "%-8s %-16s %10s %12s\n", "port", "class", "level_pps", "dropped");
	for (unsigned p = 0; p < core_port_count(); p++) {
		if (config_logical(&running.config, p) != p)
			continue;
		fates_of(p, fates);
		for (unsigned class = 0; class < SWITCH_STORMS; class++)
			show_class(sh, p, (enum switch_storm)class, fates);
	}
}
