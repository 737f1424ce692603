/*
 * What an application adds to the control plane: its own work on the control core, commands of the
 * console, pages of the web server, rows of /metrics, and memory that its data cores share with it.
 * An application that adds nothing has no plugin (runtime/runtime.h, struct app).
 *
 * All functions run on the control core and wait for nothing but core_quiesce(). Any may be NULL.
 *
 *   memory   the configuration has been read, and no table has memory yet; at every start of the ports
 *   start    the tables of the data-plane state have been built and no data core uses them yet; at
 *            every start of the ports. running.applied: the configuration has not been refused
 *   ports    the ports run, or cannot be started (core_ports_running)
 *   link     a link went up or down: of a port, or of a port channel, by the number of its bundle (its ports'
 *            own are not told)
 *   changed  a commit has taken effect without a restart of the ports: running.config is another
 *   timer    does the work that is due; returns the TSC of the next deadline, UINT64_MAX for none.
 *            Called again then, and after any other work of the control core
 */
#ifndef CONTROL_MANAGEMENT_PLUGIN_H
#define CONTROL_MANAGEMENT_PLUGIN_H

#include "control/management/page.h"
#include "control/console/shell.h"
#include "runtime/runtime.h"

struct app_plugin {
	void (*memory)(void);
	void (*start)(void);
	void (*ports)(void);
	void (*link)(unsigned port, bool up);
	void (*changed)(void);
	uint64_t (*timer)(void);

	/* Size of the application's part of published memory, dp->plugin_data, which the control
	 * core writes. It is zeroed before each start. dp->plugin_data NULL: not enough memory. */
	size_t published_bytes;

	/* Returns the size of a second part, dp->plugin_more, which is not zeroed. Called once
	 * before each start, when the configuration has been read. dp->plugin_more NULL: not enough
	 * memory, or the size was 0. */
	size_t (*published_more)(void);

	/* Size of the application's part of each data core's shared memory: dp_plugin_shared(),
	 * dp_plugin_shared_of(core). It is not zeroed: data_start has to do that. */
	size_t shared_bytes;

	const struct shell_command *commands; /* in addition to those of control/cli/ */
	unsigned command_count;
	const struct page *pages;
	unsigned page_count;
	page_part metrics;        /* further families of /metrics */
	bool takes_script;        /* the application uses `script` of the configuration */
};

/* The running application's plug-in, or NULL. */
static inline const struct app_plugin *plugin_get(void)
{
	return core_app()->plugin;
}

#endif
