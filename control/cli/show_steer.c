/* `show steer`: the rules that steer received packets to data cores. docs/console.md specifies the form, which is an
 * interface. */
#include "control/cli/show.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/forwarding/steer_rules.h"

void show_steer(struct shell *sh)
{
	const struct config *c = &running.config;
	char text[CONFIG_STEER_TEXT], name[CONFIG_IF_NAME_SIZE];
	if (c->steer_count == 0)
		shell_print(sh, "there are no rules\n");
	for (unsigned i = 0; i < c->steer_count; i++) {
		const struct steer_state s = steer_rules_state(i);
		shell_print(sh, "%s %s: ", config_key_name(name, c->steer[i].interface),
		            config_steer_text(text, &c->steer[i]));
		if (s.why == NULL)
			shell_print(sh, "in force\n");
		else if (s.in_force == 0)
			shell_print(sh, "not in force: %s\n", s.why);
		else
			shell_print(sh, "in force for %u of %u prefixes: %s\n", s.in_force, s.rules, s.why);
	}
}
