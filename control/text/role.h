/*
 * Roles of users: what a session may do. Each role may do what the one before it may.
 *
 *     read        show commands; pages
 *     operate     also ping, captures, clearing of counters and tables, restarts
 *     configure   everything: the configuration, XDP programs, the site; sees hashes of passwords
 */
#ifndef CONTROL_TEXT_ROLE_H
#define CONTROL_TEXT_ROLE_H

#include "control/text/text.h"

enum role { ROLE_NONE, ROLE_READ, ROLE_OPERATE, ROLE_CONFIGURE, ROLES };

/* "none" for ROLE_NONE. */
static inline const char *role_word(enum role role)
{
	static const char *const words[ROLES] = {"none", "read", "operate", "configure"};
	return words[role];
}

/* The role of that name; ROLE_NONE: there is none. */
static inline enum role role_of_word(struct text word)
{
	for (enum role r = ROLE_READ; r < ROLES; r++)
		if (text_is_word(word, text_of(role_word(r))))
			return r;
	return ROLE_NONE;
}

#endif
