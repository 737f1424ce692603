/*
 * The management servers on the control core's TCP, and the TCP ports that they listen on. A commit
 * opens, moves and closes servers while the NIC ports run. Existing connections continue until they
 * end. An application that has its own TCP on data cores recognizes management connections by their
 * port (dp_is_management) and resets those of a port that has no server any more.
 */
#include "control/monitor/capture.h"
#include "control/management/http.h"
#include "control/management/https.h"
#include "control/management/https_identity.h"
#include "control/management/tls_stream.h"
#include "control/commit/load.h"
#include "control/commit/servers.h"
#include "control/crypto/tls.h"
#include "lib/mem.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/engine/bfd.h"
#include "control/engine/engine.h"
#include "control/console/log.h"
#include "dataplane/state.h"
#include "control/management/login.h"
#include "control/management/remote.h"
#include "control/management/ssh.h"
#include "control/host/stream.h"
#include "control/host/tcp_control.h"

/* The servers' sessions and half-open connections leave a place in TCP's table, so that a peer that
 * has answered a SYN cookie finds one, even if the server is to send first. */
#define OTHER_PEERS 3 /* the reader of a capture, zebra, bfdd */
_Static_assert(HTTP_SESSIONS + HTTP_LEAVING + REMOTE_SESSIONS + TLS_SESSIONS + SSH_SESSIONS + OTHER_PEERS +
               STREAM_CLIENTS + TCP_CONTROL_SYN_MAX < TCP_CONTROL_CONNECTIONS, "or SYNs would be lost");

enum server {
	SERVER_HTTP,
	SERVER_HTTPS,
	SERVER_CONSOLE,
	SERVER_SSH,
	SERVER_CAPTURE,
	SERVER_ENGINE,
	SERVER_BFD,
	SERVERS
};

static const struct {
	const char *name;
	bool (*prepare)(void);
	void (*start)(void);
	void (*listen)(uint16_t port);
} server[SERVERS] = {
	[SERVER_HTTP] = {"HTTP", http_prepare, http_start, http_listen},
	[SERVER_HTTPS] = {"HTTPS", https_prepare, NULL, https_listen},
	[SERVER_CONSOLE] = {"console", remote_prepare, remote_start, remote_listen},
	[SERVER_SSH] = {"SSH", ssh_prepare, ssh_start, ssh_listen},
	[SERVER_CAPTURE] = {"capture", capture_prepare, NULL, capture_listen},
	[SERVER_ENGINE] = {"routing engine", engine_prepare, NULL, engine_listen},
	[SERVER_BFD] = {"BFD", engine_bfd_prepare, NULL, engine_bfd_listen},
};

static bool started; /* the servers, since servers_prepare() */

/* The TCP port that a configuration gives to a server; 0: the server is not configured. */
static uint16_t wanted(const struct config *c, enum server s)
{
	return (uint16_t)(s == SERVER_HTTP      ? c->http.port
	                  : s == SERVER_HTTPS   ? c->http.tls_port
	                  : s == SERVER_CONSOLE ? c->console.port
	                  : s == SERVER_SSH     ? c->ssh.port
	                  : s == SERVER_CAPTURE ? c->capture.port
	                  : s == SERVER_BFD     ? c->engine.bfd_port
	                  : c->engine.line      ? c->engine.port
	                                        : 0);
}

static uint16_t *port_of(struct dp_state *v, enum server s)
{
	return s == SERVER_HTTP      ? &v->http_port
	       : s == SERVER_HTTPS   ? &v->https_port
	       : s == SERVER_CONSOLE ? &v->console_port
	       : s == SERVER_SSH     ? &v->ssh_port
	       : s == SERVER_CAPTURE ? &v->capture_port
	       : s == SERVER_BFD     ? &v->bfd_port
	                             : &v->engine_port;
}

#define NO_FILE "the boot module has no file of this name"

/* A file of the boot module; empty: there is none of that name. */
static struct text file_of(const char *name)
{
	struct text file = text_of("");
	return name[0] && module_file(&boot_module, text_of(name), &file) ? file : text_of("");
}

bool servers_certificates(const struct config *next, struct text_error *err)
{
	const struct text file = file_of(next->http.certificate), trust = file_of(next->trust);
	const char *why = NULL;
	if (next->http.certificate[0] && https_prepare()) /* else servers_room() says so */
		why = file.len ? tls_check_pem((const uint8_t *)file.at, file.len) : NO_FILE;
	if (why) {
		text_fail(err, next->http.certificate_line, text_of(next->http.certificate), "%s", why);
		return false;
	}
	if (next->trust[0])
		why = trust.len ? tls_trust_check((const uint8_t *)trust.at, trust.len) : NO_FILE;
	if (why)
		text_fail(err, next->trust_line, text_of(next->trust), "%s", why);
	return !why;
}

/* The identity of HTTPS is that of a configuration. */
static bool choose(const struct config *c)
{
	const struct text file = file_of(c->http.certificate);
	if (!c->http.certificate[0] || file.len)
		return https_choose(file);
	log_event(LOG_ERR, "HTTPS-KEY", "https: the boot module has no file %s", c->http.certificate);
	return false;
}

/* The authorities that TLS connections of ours trust are those of a configuration. */
static void trust(const struct config *c)
{
	const struct text file = file_of(c->trust);
	const char *why = tls_trust_pem((const uint8_t *)file.at, file.len);
	if (c->trust[0] && file.len == 0)
		why = NO_FILE;
	if (why)
		log_event(LOG_ERR, "TLS-TRUST", "trust certificate %s: %s", c->trust, why);
}

static bool prepare(enum server s)
{
	return stream_prepare() && server[s].prepare();
}

/* Starts TCP, unless a client has, and the servers without sessions, once. */
static void start_all(void)
{
	if (started)
		return;
	started = true;
	stream_start();
	login_start();
	for (enum server s = 0; s < SERVERS; s++)
		if (server[s].start)
			server[s].start();
}

void servers_prepare(struct dp_state *v)
{
	started = false;
	for (enum server s = 0; s < SERVERS; s++) {
		const uint16_t port = wanted(&running.config, s);
		*port_of(v, s) = port && prepare(s) ? port : 0;
		if (port && !*port_of(v, s))
			log_event(LOG_ERR, "SYSTEM-MEMORY", "not enough memory for the %s server: there is none",
			          server[s].name);
	}
	if (v->https_port && !choose(&running.config))
		v->https_port = 0;
	trust(&running.config);
}

bool servers_are_there(void)
{
	bool all = true;
	for (enum server s = 0; s < SERVERS; s++)
		all = all && *port_of(dp_get(), s) == wanted(&running.config, s);
	return all;
}

void servers_start(void)
{
	struct dp_state *v = dp_get();
	bool any = false;
	for (enum server s = 0; s < SERVERS; s++)
		any |= *port_of(v, s) != 0;
	if (!core_ports_running() || !any)
		return;
	start_all();
	for (enum server s = 0; s < SERVERS; s++)
		if (*port_of(v, s))
			server[s].listen(*port_of(v, s));
}

static bool differs_certificate(const struct config *next)
{
	return strcmp(next->http.certificate, running.config.http.certificate) != 0;
}

/* Does the commit open, move or close the server? HTTPS is also opened if it has been closed for want of a usable
 * certificate, and `next` has another one. */
static bool changes(const struct config *next, enum server s)
{
	return wanted(next, s) != wanted(&running.config, s) ||
	       (s == SERVER_HTTPS && wanted(next, s) && !*port_of(dp_get(), s) && differs_certificate(next));
}

bool servers_room(const struct config *next)
{
	bool room = true;
	for (enum server s = 0; s < SERVERS; s++)
		room = room && (!wanted(next, s) || !changes(next, s) || prepare(s));
	return room;
}

void servers_change(const struct config *next)
{
	struct dp_state *v = dp_get();
	const bool polls = core_ports_running();
	bool changed[SERVERS];
	for (enum server s = 0; s < SERVERS; s++)
		changed[s] = changes(next, s);
	if (next->http.tls_port && (changed[SERVER_HTTPS] || differs_certificate(next)))
		(void)choose(next); /* servers_certificates() has looked at both */
	if (strcmp(next->trust, running.config.trust) != 0)
		trust(next);
	for (enum server s = 0; s < SERVERS; s++) {
		const uint16_t was = *port_of(v, s);
		if (!changed[s])
			continue;
		if (was && polls)
			tcp_unlisten(tcp_control, was);
		__atomic_store_n(port_of(v, s), wanted(next, s), __ATOMIC_RELAXED);
	}
	/* all are closed before any is opened, because two servers may swap ports */
	for (enum server s = 0; polls && s < SERVERS; s++) {
		if (!changed[s] || !wanted(next, s))
			continue;
		start_all();
		server[s].listen(wanted(next, s));
	}
}
