/*
 * Users at work: what they may do now, and how lines of the log name them. Users are statements of the
 * configuration (control/config/config_users.c).
 */
#ifndef CONTROL_MANAGEMENT_USERS_H
#define CONTROL_MANAGEMENT_USERS_H

#include "control/config/config.h"
#include "lib/fmt.h"
#include "net/addr.h"

/* The role of a user in the running configuration; ROLE_NONE: there is no such user. */
enum role users_role(const char *name);

/* Writes "NAME from ADDRESS", without a name only the address; returns buf. */
#define USERS_WHO_SIZE (CONFIG_USER_SIZE + 6 + FMT_ADDR_MAX)
const char *users_who(char buf[USERS_WHO_SIZE], const char *name, const struct net_addr *from);

#endif
