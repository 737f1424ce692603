/*
 * What an application adds to the control plane: its own work on the control core, commands of the
 * console, pages of the web server, rows of /metrics, and memory that its data cores share with it.
 * An application that adds nothing has no plugin (runtime/runtime.h, struct app).
 *
 * All functions run on the control core and wait for nothing but core_quiesce(). Any may be NULL.
 *
 *   start    the tables of the data-plane state have been made, no data core looks; again with every start of
 *            the ports. The configuration may still be refused: running.applied
 *   ports    the ports run, or cannot (core_ports_running)
 *   link     a link went up or down
 *   timer    does what is due; returns the TSC of the next deadline, UINT64_MAX for none. Called
 *            again then, and after whatever the control core did
 */
#ifndef CONTROL_MANAGEMENT_PLUGIN_H
#define CONTROL_MANAGEMENT_PLUGIN_H

#include "control/management/page.h"
#include "control/console/shell.h"
#include "runtime/runtime.h"

struct app_plugin {
	void (*start)(void);
	void (*ports)(void);
	void (*link)(unsigned port, bool up);
	uint64_t (*timer)(void);

	/* Of published memory, written by the control core: dp->plugin_data, zeroed before each
	 * start. NULL there: there was no memory for it. */
	size_t published_bytes;

	/* Further bytes of it, not zeroed, asked for once before each start, when the configuration
	 * has been read: dp->plugin_more. NULL there: there was no memory for them, or none
	 * were wanted. */
	size_t (*published_more)(void);

	/* Of each data core's shared area: dp_plugin_shared(), dp_plugin_shared_of(core). It
	 * is not zeroed: that is for data_start. */
	size_t shared_bytes;

	const struct shell_command *commands; /* beside the plane's */
	unsigned command_count;
	const struct page *pages;
	unsigned page_count;
	page_part metrics;        /* behind the plane's rows of /metrics */
	bool takes_script;        /* `script` in the configuration is for it */
};

/* That of the application that runs, or NULL. */
static inline const struct app_plugin *plugin_get(void)
{
	return core_app()->plugin;
}

#endif
