/* See roles.h. */
#include "control/cli/roles.h"

#include "control/cli/commands.h"
#include "control/cli/configure.h"
#include "control/management/remote.h"

/* A command has the role of the rule with most words that it begins with. */
static const struct {
	const char *words;
	enum role role;
} rules[] = {
	{"help", ROLE_READ},
	{"exit", ROLE_READ},
	{"quit", ROLE_READ},
	{"show", ROLE_READ},
	{"show xdp events", ROLE_OPERATE}, /* takes them away from other readers */
	{"ping", ROLE_OPERATE},
	{"traceroute", ROLE_OPERATE},
	{"renew", ROLE_OPERATE},
	{"capture", ROLE_OPERATE},
	{"trace", ROLE_OPERATE},
	{"clear", ROLE_OPERATE},
	{"reload", ROLE_OPERATE},
	{"poweroff", ROLE_OPERATE},
	{"start", ROLE_OPERATE},
	{"stop", ROLE_OPERATE},
	{"rfc2544", ROLE_OPERATE},
	{"clock", ROLE_CONFIGURE},
	{"crypto", ROLE_CONFIGURE},
	{"configure", ROLE_CONFIGURE},
	{"upgrade", ROLE_CONFIGURE},
	{"install", ROLE_CONFIGURE},
	{"write", ROLE_CONFIGURE},
	{"copy", ROLE_CONFIGURE},
	{"erase", ROLE_CONFIGURE},
	{"xdp", ROLE_CONFIGURE},
	{"test", ROLE_CONFIGURE},
};

enum role roles_stated(const struct shell_command *c)
{
	unsigned best = 0;
	enum role role = ROLE_NONE;
	for (unsigned i = 0; i < ARRAY_LEN(rules); i++) {
		const unsigned n = text_count_words(text_of(rules[i].words));
		if (n > best && text_begins_with(text_of(c->words), text_of(rules[i].words))) {
			best = n;
			role = rules[i].role;
		}
	}
	return role;
}

/* A statement may begin with the words of a command, such as `capture server`. */
static enum role needed(const struct shell_command *c)
{
	const bool leaves = strcmp(c->words, "exit") == 0 || strcmp(c->words, "end") == 0;
	const enum role role = roles_stated(c);
	if (configure_is_own(c))
		return leaves ? ROLE_READ : ROLE_CONFIGURE;
	return role == ROLE_NONE ? ROLE_CONFIGURE : role;
}

bool roles_allow(struct shell *sh, const struct shell_command *c)
{
	const enum role has = remote_role(sh), needs = needed(c);
	if (has >= needs)
		return true;
	if (has == ROLE_NONE) {
		shell_print(sh, "%% the user %s is not configured any more\n", remote_user(sh));
		(void)remote_leave(sh);
	} else {
		shell_print(sh, "%% this needs the role %s; %s has the role %s\n", role_word(needs), remote_user(sh),
		            role_word(has));
	}
	return false;
}

void roles_print(struct shell *sh)
{
	unsigned count;
	const struct shell_command *c = commands_all(&count);
	for (unsigned i = 0; i < count; i++)
		if (c[i].run)
			shell_print(sh, "%-10s %s\n", role_word(roles_stated(&c[i])), c[i].words);
}
