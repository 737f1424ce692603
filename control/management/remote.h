/*
 * The console over TCP (docs/configuration.md, `console server`): the commands of the serial
 * console for those whom the access list admits and who know the password, by Telnet (net/telnet.h)
 * or as plain lines, over the management's TCP (control/host/tcp_control.h).
 *
 * Telnet hides nothing from who sees the packets: neither the password nor what it opens. The
 * access list has to name a network where nobody else listens.
 *
 * Everything a client can make it do is bounded:
 *     connections   REMOTE_SHELLS that are logged in, and REMOTE_LOGINS that are not. Sources (an
 *                   address, of IPv6 a /64) compete for either by the rules of places.h. A right
 *                   password also takes the place of a session that has been idle for
 *                   REMOTE_QUIET_NS. Otherwise a new connection is reset, and a login is refused
 *     memory        a session's, taken at the start. What a command prints waits in it for the peer;
 *                   what is beyond REMOTE_OUT_BYTES is cut, and a line says so
 *     time          REMOTE_LOGIN_NS to say the password; a session without a key and without output
 *                   that gets on ends after REMOTE_IDLE_NS
 *     work          REMOTE_STEPS of a password's hash and REMOTE_KEYS keys of a session in a turn of
 *                   the control core; no key is read while the output of the command before waits
 *     guesses       REMOTE_TRIES of a connection, told to be wrong after REMOTE_WRONG_NS; of all
 *                   together REMOTE_GUESSES at once, and one more every REMOTE_GUESS_NS.
 *                   Sources take turns; waiting for a turn does not count against
 *                   REMOTE_LOGIN_NS. A right password gives its own back
 *
 * Deliberately missing: users (there is one password), encryption, a history across sessions.
 */
#ifndef CONTROL_MANAGEMENT_REMOTE_H
#define CONTROL_MANAGEMENT_REMOTE_H

#include "control/console/shell.h"
#include "lib/types.h"
#include "net/addr.h"

#define REMOTE_SHELLS 4
#define REMOTE_LOGINS 4
#define REMOTE_SESSIONS (REMOTE_SHELLS + REMOTE_LOGINS)
#define REMOTE_OUT_BYTES (256u << 10) /* more than 2000 routes of either family */
#define REMOTE_PASSWORD_MAX 128       /* bytes; a longer one is a wrong one */
#define REMOTE_TRIES 3
#define REMOTE_GUESSES 5
#define REMOTE_GUESS_NS (10 * SECOND_NS)
#define REMOTE_WRONG_NS (2 * SECOND_NS)
#define REMOTE_LOGIN_NS (30 * SECOND_NS)
#define REMOTE_QUIET_NS (60 * SECOND_NS)
#define REMOTE_IDLE_NS (600 * SECOND_NS)
#define REMOTE_STEPS 32 /* some 30 us */
#define REMOTE_KEYS 64

/* What a session's shell is for (control/cli/): its commands when it begins; what it leaves behind,
 * told to the others, when the one from `who` ends. Set before remote_prepare(). */
struct remote_console {
	void (*open)(struct shell *sh);
	void (*close)(struct shell *sh, const char *who);
};
extern const struct remote_console *remote_console;

/* At the start: takes the memory, once. False: there is not enough. */
bool remote_prepare(void);

/* tcp_control_start() was called: there are no sessions. */
void remote_start(void);

/* On a TCP port, of an instance that has started. */
void remote_listen(uint16_t port);

/* Before tcp_control_stop(): forgets the sessions and ends what runs in them. */
void remote_stop(void);

/* Does what is due. core_now_ns() of the next time; UINT64_MAX: none. */
uint64_t remote_timer(void);

/* Ends the session that this shell is of; false: it is of none, but the serial console's. */
bool remote_leave(struct shell *sh);

/* Who is at the other end of the session that this shell is of; false: it is the serial console's. */
bool remote_peer(const struct shell *sh, struct net_addr *peer);

/* The connection of the session that this shell is of; false: it is the serial console's. */
struct tcp_info;
bool remote_connection(const struct shell *sh, struct tcp_info *info);

/* The machine has another name. */
void remote_set_hostname(const char *name);

/* For /metrics. */
struct remote_stats {
	uint64_t logins;
	uint64_t wrong;   /* passwords */
	uint64_t refused; /* connections from addresses that the access list does not name */
	uint64_t full;    /* connections and logins refused or ended: all sessions were in use */
	uint32_t sessions; /* now */
};
extern struct remote_stats remote_stats;

#endif
