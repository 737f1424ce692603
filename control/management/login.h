/*
 * Password checks of the management servers: of the user's password, or, while the configuration states no users,
 * of the console's. A check computes the password's hash in steps, because the
 * control core has other work; guesses are limited, so that no server helps an attacker to search.
 *
 *     login_ask(&l, &from, user, password, n);
 *     ... in the server's timer, until l.state is LOGIN_RIGHT or LOGIN_WRONG:
 *     due_ns = login_step(&l, now_ns);
 *
 *     IDLE    --login_ask--> WAIT --a guess is free and it is this one's turn--> CHECK
 *     CHECK   --right--> RIGHT    --wrong, LOGIN_WRONG_NS after the check began--> WRONG
 *     any     --login_forget--> IDLE
 *
 * Bounds, over all servers and connections together: LOGIN_GUESSES at once, and one more every
 * LOGIN_GUESS_NS. Sources (an address, for IPv6 a /64) take turns: the source of the last guess comes
 * after all others. A right password does not use up a guess. A step is LOGIN_STEPS iterations.
 *
 * The password and what is derived from it are erased as soon as they are not needed.
 */
#ifndef CONTROL_MANAGEMENT_LOGIN_H
#define CONTROL_MANAGEMENT_LOGIN_H

#include "control/config/config.h"
#include "lib/pbkdf2.h"
#include "lib/types.h"
#include "net/addr.h"
#include "runtime/runtime.h"

#define LOGIN_PASSWORD_MAX 128 /* bytes; a longer password is wrong */
#define LOGIN_GUESSES 5
#define LOGIN_GUESS_NS (10 * SECOND_NS)
#define LOGIN_WRONG_NS (2 * SECOND_NS)
#define LOGIN_STEPS 32 /* some 30 us */

enum login_state { LOGIN_IDLE, LOGIN_WAIT, LOGIN_CHECK, LOGIN_RIGHT, LOGIN_WRONG };

/* A check. All zeros is one in IDLE. While it is in WAIT it must not move or go. */
struct login {
	enum login_state state; /* for the server to read; the other fields are private */
	struct net_addr from;
	struct login *next;     /* WAIT: in order of arrival */
	uint64_t wrong_ns;      /* CHECK: when a wrong password is reported */
	struct pbkdf2 work;
	bool long_one;          /* longer than LOGIN_PASSWORD_MAX */
	char user[CONFIG_USER_SIZE]; /* empty: no such user can exist, or there are none */
	uint8_t len;
	char password[LOGIN_PASSWORD_MAX];
};

/* Called at the start of the servers: all guesses may be made. Checks may be in IDLE only. */
void login_start(void);

/* Begins a check, which must be in IDLE. User and password are copied. While users are stated, an unknown user, and
 * one without a password, costs a guess and the time of a wrong password. */
void login_ask(struct login *l, const struct net_addr *from, struct text user, const char *password, size_t n);

/* In WAIT and CHECK: does the work that is due; otherwise nothing. Returns core_now_ns() of the next
 * call, UINT64_MAX for none. */
uint64_t login_step(struct login *l, uint64_t now_ns);

/* Ends the check, in any state. */
void login_forget(struct login *l);

#endif
