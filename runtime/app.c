/*
 * The choice of the application. Its number is in published memory, so it is the same on all cores.
 * The command line takes precedence over the configuration, which the control core reads later.
 */
#include "runtime/shared.h"
#include "lib/mem.h"

static bool is_given; /* by the command line */

enum core_app_number core_app_number(void)
{
	return (enum core_app_number)published_header()->app;
}

const struct app *core_app(void)
{
	return core_apps[core_app_number()];
}

void core_set_app(enum core_app_number number)
{
	if (!is_given)
		published_header()->app = number;
}

void app_choose(void)
{
	char word[BOOT_CMDLINE_MAX];
	published_header()->app = 0;
	if (!core_option("app", word, sizeof word))
		return;
	for (unsigned n = 0; n < CORE_APP_COUNT; n++) {
		if (strcmp(core_app_word((enum core_app_number)n), word) == 0) {
			published_header()->app = n;
			is_given = true;
			return;
		}
	}
	core_log("app= on the kernel command line takes one of: " CORE_APPS(CORE_APP_WORD, ", ")
	         "; there is no application \"%s\"", word);
}
