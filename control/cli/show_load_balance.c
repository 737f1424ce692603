/* `show load-balance`: how the ports spread received packets over data cores. docs/console.md specifies the form, which
 * is an interface. */
#include "control/cli/show.h"
#include "control/console/shell.h"
#include "runtime/runtime.h"

/* The buckets of a port by core, or why they do not move. */
static void show_port(struct shell *sh, unsigned port)
{
	const char *why = core_moves_refused(port);
	if (why) {
		shell_print(sh, "eth%u: %s\n", port, why);
		return;
	}
	shell_print(sh, "eth%u:", port);
	for (unsigned core = 0; core < self.info->cores; core++)
		if (core_buckets(port, core))
			shell_print(sh, " core %u %u", core, core_buckets(port, core));
	shell_print(sh, "\n");
}

void show_load_balance(struct shell *sh)
{
	shell_print(sh, "load-balance %s\n", core_balances() ? "on" : "off");
	if (core_elastic_minimum())
		shell_print(sh, "cores %u of %u have flows; minimum %u, wake-up %u us\n", core_pairs_in_use(),
		            core_data_count(), core_elastic_minimum(), core_elastic_wake_up_us());
	for (unsigned port = 0; port < core_port_count(); port++)
		show_port(sh, port);
}
