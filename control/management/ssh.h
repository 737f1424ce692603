/*
 * The SSH server (docs/ssh.md, `ssh server`): the console (remote.h) for clients that the access list
 * admits and whose users log in by a key or a password. The protocol is net/ssh/, the cryptography
 * control/crypto/ssh_crypto.h.
 *
 * A connection is a plain stream (control/host/stream.h). Its session channel is a stream too, over which
 * remote.c serves a shell: with a terminal as over Telnet, without one, or for a command, without prompt
 * and echo.
 *
 *     connection --ssh_input--> struct ssh --data--> remote.c
 *     connection <--ssh_output-- struct ssh <--ssh_send-- remote.c
 *
 * Everything that a client can cause is bounded:
 *     connections   SSH_SESSIONS, for which sources compete by the rules of places.h until they are
 *                   logged in. A client that has not exchanged keys within SSH_KEX_NS makes room for a
 *                   source without a connection; sessions of the console by remote.h's
 *     memory        sessions are allocated at the start
 *     time          SSH_LOGIN_NS to log in, and again to start a shell or command. remote.h's afterwards
 *     work          one operation with a public key in a turn of the control core, and other work for at
 *                   least as long before the next; sources take turns
 *     guesses       login.h's for passwords, SSH_PASSWORD_TRIES and SSH_TRIES (net/ssh/ssh.h) a connection
 *
 * The host key is Ed25519, made from random bytes when the server is first configured. It lies on the disk
 * (control/storage/storage.h), and in memory that survives the control program (runtime/sealed.h).
 */
#ifndef CONTROL_MANAGEMENT_SSH_H
#define CONTROL_MANAGEMENT_SSH_H

#include "control/console/shell.h"
#include "lib/types.h"
#include "net/ssh/ssh.h"

#define SSH_SESSIONS 8
#define SSH_LOGIN_NS (30 * SECOND_NS)
#define SSH_KEX_NS (5 * SECOND_NS)
#define SSH_REKEY_NS (3600 * SECOND_NS) /* RFC 4253 9 */

/* At the start: allocates the memory and makes the host key, once. False: there is not enough, or no
 * entropy. */
bool ssh_prepare(void);

/* Called after tcp_control_start(): there are no sessions. */
void ssh_start(void);

/* Listens on a TCP port, and prints the host key's fingerprint. TCP must have been started. */
void ssh_listen(uint16_t port);

/* Called before remote_stop(): forgets the sessions. */
void ssh_stop(void);

/* Does the work that is due. Returns core_now_ns() of the next call, UINT64_MAX for none. */
uint64_t ssh_timer(void);

/* The command "show ssh". */
void show_ssh(struct shell *sh);

/* For /metrics. */
struct ssh_stats {
	uint64_t logins_key, logins_password;
	uint64_t wrong;    /* passwords */
	uint64_t refused;  /* connections from addresses that the access list does not name */
	uint64_t full;     /* connections refused or ended: all places were in use */
	uint64_t timeouts; /* connections that did not log in, or start anything, in time */
	uint64_t failed[SSH_FAILURES]; /* connections by the client's fault, or ours, that ended them */
	uint32_t sessions; /* now */
};
extern struct ssh_stats ssh_stats;

/* The word of a failure in metrics. */
const char *ssh_failure_word(enum ssh_failure failure);

#endif
