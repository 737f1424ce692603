/* See monitor.h. The form of `show` output is an interface, as in control/cli/show.c. */
#include "apps/switch/monitor.h"

#include "apps/switch/tables.h"
#include "control/config/running.h"

/* The number of the destination for the frames of a port in one direction, plus one; 0: none. */
static uint8_t destination_of(unsigned port, bool tx)
{
	for (unsigned n = 0; running.applied && n < CONFIG_MONITORS; n++) {
		const struct config_monitor *m = &running.config.monitor[n];
		if (m->has_destination && (tx ? m->tx : m->rx) >> port & 1)
			return (uint8_t)(m->destination + 1);
	}
	return 0;
}

void monitor_publish(void)
{
	struct switch_shared *s = tables.shared;
	uint32_t rx = 0, tx = 0;
	for (unsigned p = 0; p < core_port_count(); p++) {
		const uint8_t in = destination_of(p, false), out = destination_of(p, true);
		__atomic_store_n(&s->mirror_rx[p], in, __ATOMIC_RELAXED);
		__atomic_store_n(&s->mirror_tx[p], out, __ATOMIC_RELAXED);
		rx |= (uint32_t)(in != 0) << p;
		tx |= (uint32_t)(out != 0) << p;
	}
	__atomic_store_n(&s->mirrored, tx << 16 | rx, __ATOMIC_RELAXED);
}

static void show_source(struct shell *sh, const struct config_monitor *m, unsigned port)
{
	const bool rx = m->rx >> port & 1, tx = m->tx >> port & 1;
	if (rx || tx)
		shell_print(sh, "  source %s %s\n", dp_name(dp_get(), port), rx && tx ? "both" : rx ? "rx" : "tx");
}

void show_monitor_session(struct shell *sh)
{
	bool any = false;
	for (unsigned n = 0; tables.shared && n < CONFIG_MONITORS; n++) {
		const struct config_monitor *m = &running.config.monitor[n];
		if (!m->line)
			continue;
		any = true;
		shell_print(sh, "session %u\n", n + 1);
		for (unsigned p = 0; p < core_port_count(); p++)
			show_source(sh, m, p);
		if (m->has_destination)
			shell_print(sh, "  destination %s %s\n", dp_name(dp_get(), m->destination),
			            tables.up >> m->destination & 1 ? "up" : "down");
		else
			shell_print(sh, "  destination -\n");
	}
	if (!any)
		shell_print(sh, "there are no sessions\n");
}
