/*
 * The user that sent a request (RFC 9110 11), known by name and password (Basic, RFC 7617) or by a token (Bearer,
 * RFC 6750).
 *
 *     http_auth_begin(&a, &request, &from);
 *     ... in the server's timer, until a.state is not HTTP_AUTH_CHECK:
 *     due_ns = http_auth_step(&a, now_ns);
 *     ... a.role and a.user say what the request may do
 *
 * While the configuration states no users, every client has the role ROLE_CONFIGURE and no name.
 *
 * A password is checked by login.h, which limits guesses. One that was right is remembered, as a keyed hash, for
 * REMEMBER_NS (http_auth.c) after its last use, because clients send it with every request. It is forgotten when the
 * user's password changes. A wrong token costs its sender nothing: a guess at 256 random bits is hopeless.
 *
 * The event log has a line when a user comes from a source that he has not come from for REMEMBER_NS, and for each
 * refusal, at most one a second.
 */
#ifndef CONTROL_MANAGEMENT_HTTP_AUTH_H
#define CONTROL_MANAGEMENT_HTTP_AUTH_H

#include "control/management/login.h"
#include "control/text/role.h"
#include "net/http/http.h"

enum http_auth_state {
	HTTP_AUTH_NONE,  /* no credentials, or no users: role says which */
	HTTP_AUTH_CHECK, /* the password is being checked */
	HTTP_AUTH_RIGHT,
	HTTP_AUTH_WRONG,
};

struct http_auth {
	enum http_auth_state state;
	enum role role;              /* ROLE_NONE: nobody */
	bool token;                  /* the credentials are a token */
	char user[CONFIG_USER_SIZE]; /* empty: nobody, or there are no users */
	struct net_addr from;
	uint8_t key[SHA256_BYTES];   /* CHECK: what is remembered if the password is right */
	struct login login;
};

/* The request is well formed. `a` is all zero, or has been used and forgotten. */
void http_auth_begin(struct http_auth *a, const struct http_request *r, const struct net_addr *from);

/* In CHECK: does the work that is due. Returns core_now_ns() of the next call. */
uint64_t http_auth_step(struct http_auth *a, uint64_t now_ns);

/* Ends a check, in any state: the request is gone or answered. */
void http_auth_forget(struct http_auth *a);

#endif
