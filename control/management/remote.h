/*
 * The console over TCP (docs/configuration.md, `console server`): the commands of the serial
 * console, for clients that the access list admits and that know a password. Clients use Telnet
 * (net/telnet.h) or plain lines, over the management's TCP (control/host/tcp_control.h).
 *
 * Telnet does not encrypt: anyone who sees the packets can read the password and the session. The
 * access list must name a network on which nobody else listens.
 *
 * Everything that a client can cause is bounded:
 *     connections   REMOTE_SHELLS that are logged in, and REMOTE_LOGINS that are not. Sources (an
 *                   address, for IPv6 a /64) compete for both by the rules of places.h. A login
 *                   with the right password may also replace a session that has been idle for
 *                   REMOTE_QUIET_NS. Otherwise a new connection is reset, and a login is refused
 *     memory        sessions are allocated at the start. A command's output waits there for the
 *                   peer; output beyond REMOTE_OUT_BYTES is cut, and a line says so
 *     time          REMOTE_LOGIN_NS for the password. A session ends after REMOTE_IDLE_NS without a
 *                   key and without output taken by the peer
 *     work          a step of a password's check and REMOTE_KEYS keys of a session in a turn of the
 *                   control core. No key is read while output of the previous command waits
 *     guesses       REMOTE_TRIES per connection, and login.h's of all servers together; waiting for
 *                   one does not count against REMOTE_LOGIN_NS
 *
 * While the configuration states users, a session is one's, and may do what his role allows (remote_role).
 *
 * Sessions of the SSH server (ssh.h) are here too: remote_attach() begins one on a stream whose user has
 * logged in already. It competes for a shell like a login by Telnet.
 *
 * Deliberately missing: a history across sessions, the size of the client's terminal.
 */
#ifndef CONTROL_MANAGEMENT_REMOTE_H
#define CONTROL_MANAGEMENT_REMOTE_H

#include "control/console/shell.h"
#include "control/text/role.h"
#include "lib/types.h"
#include "net/addr.h"

#define REMOTE_SHELLS 4
#define REMOTE_LOGINS 4
#define REMOTE_SESSIONS (REMOTE_SHELLS + REMOTE_LOGINS)
#define REMOTE_OUT_BYTES (256u << 10) /* more than 2000 routes of either family */
#define REMOTE_TRIES 3
#define REMOTE_LOGIN_NS (30 * SECOND_NS)
#define REMOTE_QUIET_NS (60 * SECOND_NS)
#define REMOTE_IDLE_NS (600 * SECOND_NS)
#define REMOTE_KEYS 64

/* Hooks of control/cli/, set before remote_prepare(). open: gives a new session's shell its
 * commands. close: the session of `who` (users.h) ends. */
struct remote_console {
	void (*open)(struct shell *sh);
	void (*close)(struct shell *sh, const char *who);
};
extern const struct remote_console *remote_console;

/* At the start: allocates the memory, once. False: there is not enough. */
bool remote_prepare(void);

/* Called after tcp_control_start(): there are no sessions. */
void remote_start(void);

/* Listens on a TCP port. TCP must have been started. */
void remote_listen(uint16_t port);

/*
 * Begins a session on an encrypted stream, whose user has logged in (empty or any name while no users are
 * stated); sets stream->app. terminal: the shell echoes and prompts; otherwise only its commands print.
 * command: is run instead of keys from the stream, line by line, and the session ends; len 0: there is
 * none. False: all sessions are in use, or the command is too long.
 */
struct stream;
bool remote_attach(struct stream *stream, const char *user, bool terminal, struct text command);

/* The exit status of such a session when it closes its stream: 1 if it has no terminal and a line of its
 * output began with "% ", as errors do; else 0. */
uint32_t remote_status(const struct stream *stream);

/* Called before tcp_control_stop(): ends the sessions' commands and forgets the sessions. */
void remote_stop(void);

/* Does the work that is due. Returns core_now_ns() of the next call, UINT64_MAX for none. */
uint64_t remote_timer(void);

/* Ends this shell's session; false: the shell is the serial console's. */
bool remote_leave(struct shell *sh);

/* The peer of this shell's session; false: the shell is the serial console's. */
bool remote_peer(const struct shell *sh, struct net_addr *peer);

/* What this shell's user may do: everything on the serial console, and after a login without users. */
enum role remote_role(const struct shell *sh);

/* Its user; empty: the serial console, or a login without users. */
const char *remote_user(const struct shell *sh);

/* The connection of this shell's session; false: the shell is the serial console's. */
struct tcp_info;
bool remote_connection(const struct shell *sh, struct tcp_info *info);

/* Called when the hostname changes. */
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
