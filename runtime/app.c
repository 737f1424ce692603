/*
 * The choice of the application. Its number is in published memory, so it is the same on all cores.
 * The command line takes precedence over the configuration, which the control core reads later.
 */
#include "runtime/shared.h"
#include "lib/mem.h"

/* The application of that name; CORE_APP_COUNT: there is none. */
static unsigned named(const char *word)
{
	unsigned n = 0;
	while (n < CORE_APP_COUNT && strcmp(core_app_word((enum core_app_number)n), word) != 0)
		n++;
	return n;
}

enum core_app_number core_app_number(void)
{
	return (enum core_app_number)published_header()->app;
}

const struct app *core_app(void)
{
	return core_apps[core_app_number()];
}

/* Reads the command line each time: a control program that takes over from another has not called app_choose. */
void core_set_app(enum core_app_number number)
{
	char word[BOOT_CMDLINE_MAX];
	if (!core_option("app", word, sizeof word) || named(word) == CORE_APP_COUNT)
		published_header()->app = number;
}

void app_choose(void)
{
	char word[BOOT_CMDLINE_MAX];
	published_header()->app = 0;
	if (!core_option("app", word, sizeof word))
		return;
	const unsigned n = named(word);
	if (n < CORE_APP_COUNT)
		published_header()->app = n;
	else
		core_log_at(LOG_ERR, "app= on the kernel command line takes one of: " CORE_APPS(CORE_APP_WORD, ", ")
		         "; there is no application \"%s\"", word);
}
