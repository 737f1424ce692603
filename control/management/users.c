/* See users.h. */
#include "control/management/users.h"

#include "control/config/running.h"

enum role users_role(const char *name)
{
	const struct config_user *u = config_user(&running.config, text_of(name));
	return u ? u->role : ROLE_NONE;
}

const char *users_who(char buf[USERS_WHO_SIZE], const char *name, const struct net_addr *from)
{
	char addr[FMT_ADDR_MAX];
	fmt_format(buf, USERS_WHO_SIZE, "%s%s%s", name, name[0] ? " from " : "", fmt_addr(addr, from->w));
	return buf;
}
