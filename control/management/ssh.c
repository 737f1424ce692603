/*
 * See ssh.h. A session is a connection and the struct ssh on it:
 *
 *     LOGIN  --authenticated--> READY --shell or exec--> SHELL (remote.c has the session's stream)
 *     LOGIN, READY --SSH_LOGIN_NS--> CLOSE
 *     SHELL  --both sides have closed the channel--> DONE --LINGER_NS--> CLOSE
 *     any    --protocol error, the client's DISCONNECT or FIN--> CLOSE
 *     CLOSE  sends the remaining output within CLOSE_NS, then FIN; --CLOSE_NS--> (reset)
 *
 * Received bytes count as consumed for TCP as far as in_buf (net/ssh/ssh.h) has room for a whole window
 * besides them, so ssh_input always takes what comes.
 *
 * Output is given to TCP up to TCP_AHEAD, so that an interrupt on the console discards the rest in time.
 * remote.c calls the operations of the session's stream from timers only, never within a callback of
 * struct ssh.
 */
#include "control/management/ssh.h"

#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/crypto/library.h"
#include "control/crypto/ssh_crypto.h"
#include "control/host/stream.h"
#include "control/host/tcp_control.h"
#include "control/management/login.h"
#include "control/management/places.h"
#include "control/management/remote.h"
#include "control/management/users.h"
#include "control/storage/storage.h"
#include "control/text/base64.h"
#include "dataplane/state.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "runtime/sealed.h"

#define TCP_AHEAD 16384
#define CLOSE_NS (5 * SECOND_NS)
#define LINGER_NS SECOND_NS      /* for the client to end the connection itself */
#define SHORT_NS (SECOND_NS / 100) /* retry interval while buffers are short */
#define FINGERPRINT_MAX 64

enum session_state { SESSION_LOGIN, SESSION_READY, SESSION_SHELL, SESSION_DONE, SESSION_CLOSE };

struct session {
	struct stream *below;  /* the connection; NULL: the session is free */
	struct stream stream;  /* of the session channel; in SHELL remote.c's, while `attached` */
	bool attached;
	bool said_fin;
	enum session_state state;
	struct net_addr peer;
	uint32_t unconsumed;   /* received bytes that TCP counts against the window */
	uint64_t due_ns;       /* deadline of the state */
	uint64_t asked_ns;     /* while a password waits for a guess: since when */
	uint64_t rekey_ns;     /* when new keys are due */
	uint64_t since_ns;     /* when the connection was made */
	uint64_t turn;         /* for operations with public keys: a later one has a larger number */
	struct login login;
	struct ssh ssh;
};

struct ssh_stats ssh_stats;

static struct session *sessions; /* SSH_SESSIONS */
static uint64_t turns;
static uint64_t work_ns;        /* when the next operation with a public key may begin */
static struct net_addr worker;  /* the source of the last one */

/* --- start --- */

struct host_key {
	uint8_t seed[SSH_SEED];
};
#define STORED_KEY "keys/ssh-host-ed25519"
static struct sealed kept = SEALED(CORE_PERSIST_SSH, 1, struct host_key);

/* "SHA256:" and the hash in base64 without padding, as ssh-keygen -l prints it. */
static const char *fingerprint(char text[FINGERPRINT_MAX], struct ssh_text blob)
{
	uint8_t hash[SSH_HASH];
	char base64[BASE64_SIZE(SSH_HASH)];
	if (!ssh_crypto.sha256(blob.at, blob.n, hash))
		memset(hash, 0, sizeof hash);
	base64_encode(base64, hash, sizeof hash);
	base64[strlen(base64) - 1] = 0; /* its one '=' */
	fmt_format(text, FINGERPRINT_MAX, "SHA256:%s", base64);
	return text;
}

static const char *host_fingerprint(char text[FINGERPRINT_MAX])
{
	uint8_t point[SSH_POINT_MAX], blob[128];
	struct ssh_writer w = {.at = blob, .size = sizeof blob};
	ssh_put_host_key(&w, SSH_ED25519, point, ssh_crypto.host_key(SSH_ED25519, point));
	return fingerprint(text, (struct ssh_text){blob, w.used});
}

/* Takes the host key of the disk, or of an earlier program of this boot, or makes one; keeps it at both
 * places. */
static bool take_host_key(void)
{
	const struct host_key *earlier = sealed_newest(&kept);
	const uint8_t *stored = NULL;
	struct host_key key;
	size_t n = 0;
	if (storage_get(STORED_KEY, &stored, &n) != E_OK || n != sizeof key)
		stored = NULL;
	if (stored)
		memcpy(&key, stored, sizeof key);
	else if (earlier)
		key = *earlier;
	else if (!crypto_random(key.seed, sizeof key.seed))
		return false;
	if (sealed_take(&kept))
		sealed_write(&kept, &key);
	if (!stored && storage_present())
		(void)storage_put(STORED_KEY, &key, sizeof key, NULL, NULL);
	ssh_crypto_set_host_key(key.seed);
	crypto_wipe(&key, sizeof key);
	return true;
}

bool ssh_prepare(void)
{
	static bool keyed;
	if (!sessions)
		sessions = core_private_alloc(SSH_SESSIONS * sizeof *sessions);
	if (sessions && !crypto_start())
		log_event(LOG_ERR, "SSH-START", "ssh: %s", crypto_why());
	keyed = keyed || (sessions && crypto_start() && take_host_key());
	return keyed && remote_prepare();
}

/* --- output --- */

/* A password that is being checked is forgotten: its client has gone, or was too slow. */
static void to_close(struct session *s, uint64_t now)
{
	login_forget(&s->login);
	s->state = SESSION_CLOSE;
	s->due_ns = now + CLOSE_NS;
}

/* Gives TCP as much output as it has room for. True: buffers are short, try again later. */
static bool pump(struct session *s)
{
	const uint8_t *at;
	uint32_t n;
	if (ssh_is_over(&s->ssh) && s->state != SESSION_CLOSE)
		to_close(s, core_now_ns()); /* now: a client that takes no output must not stay */
	while ((n = ssh_output(&s->ssh, &at)) > 0) {
		if (s->said_fin || stream_room(s->below) <= TCP_CONTROL_SND_BUF - TCP_AHEAD)
			return false;
		if (tcp_control_is_short())
			return true;
		const uint32_t sent = stream_send(s->below, at, n);
		if (sent == 0)
			return false; /* an acknowledgement will free buffers */
		ssh_sent(&s->ssh, sent);
	}
	if (ssh_is_over(&s->ssh) && !s->said_fin) {
		s->said_fin = true;
		to_close(s, core_now_ns());
		stream_close(s->below);
	}
	return false;
}

/* Opens TCP's window as far as in_buf has room for a whole one. */
static void consume(struct session *s)
{
	const uint32_t room = ssh_in_room(&s->ssh), wanted = TCP_CONTROL_RCV_BUF - s->unconsumed;
	const uint32_t n = room > wanted ? u32_min(s->unconsumed, room - wanted) : 0;
	if (n == 0)
		return;
	s->unconsumed -= n;
	stream_consumed(s->below, n);
}

/* --- the end --- */

/* The session's stream ends for remote.c. */
static void detach(struct session *s, int why)
{
	if (s->attached)
		s->stream.app->closed(&s->stream, why);
	s->attached = false;
}

/* The connection is gone, or goes: frees the session. */
static void forget(struct session *s)
{
	detach(s, E_RESET);
	ssh_stats.failed[s->ssh.failed] += s->ssh.failed != SSH_FINE && s->ssh.failed != SSH_CLOSED;
	login_forget(&s->login);
	ssh_forget(&s->ssh);
	s->below = NULL;
	ssh_stats.sessions--;
}

static void reset(struct session *s)
{
	struct stream *below = s->below;
	forget(s);
	stream_abort(below);
}

void ssh_stop(void)
{
	for (unsigned i = 0; sessions && i < SSH_SESSIONS; i++)
		if (sessions[i].below)
			forget(&sessions[i]);
}

void ssh_start(void)
{
	ssh_stats.sessions = 0;
	work_ns = 0;
}

static void log_session(const struct session *s, enum log_level level, const char *facility, const char *what,
                        const char *more)
{
	char who[USERS_WHO_SIZE];
	log_event(level, facility, "ssh: %s %s%s", users_who(who, s->ssh.user, &s->peer), what, more);
}

/* --- the session's stream, for remote.c --- */

static struct session *of_stream(const struct stream *stream)
{
	return (struct session *)(void *)((char *)(uintptr_t)stream - offsetof(struct session, stream));
}

static uint32_t channel_send(struct stream *stream, const void *data, uint32_t n)
{
	struct session *s = of_stream(stream);
	const uint32_t taken = ssh_send(&s->ssh, data, n);
	(void)pump(s);
	return taken;
}

static uint32_t channel_room(const struct stream *stream) { return ssh_send_room(&of_stream(stream)->ssh); }
static void channel_consumed(struct stream *stream, uint32_t n) { ssh_consumed(&of_stream(stream)->ssh, n); }

static void channel_close(struct stream *stream)
{
	struct session *s = of_stream(stream);
	ssh_end(&s->ssh, remote_status(stream));
	(void)pump(s);
}

static void channel_abort(struct stream *stream)
{
	struct session *s = of_stream(stream);
	s->attached = false;
	reset(s);
}

static void channel_info(const struct stream *stream, struct tcp_info *info)
{
	stream_info(of_stream(stream)->below, info);
}

static void channel_set_rcv_buf(struct stream *stream, uint32_t bytes)
{
	(void)stream;
	(void)bytes; /* the channel's window is what a shell needs */
}

static const struct stream_ops channel_ops = {
	.send = channel_send, .room = channel_room, .consumed = channel_consumed, .close = channel_close,
	.abort = channel_abort, .info = channel_info, .set_rcv_buf = channel_set_rcv_buf,
};

/* --- what a client asks for --- */

/* Is the key one of the user's (`username NAME ssh-key`)? */
static bool knows_key(struct ssh *ssh, struct ssh_text user, struct ssh_text blob)
{
	const struct config_users *users = &running.config.users;
	const struct text name = {(const char *)user.at, user.n};
	uint8_t key[CONFIG_SSH_BLOB_MAX];
	(void)ssh;
	for (unsigned i = 0; i < users->keys; i++) {
		const int n = config_ssh_key_blob(&users->key[i], key);
		if (n > 0 && text_equal(name, text_of(users->user[users->key[i].user].name)) &&
		    ssh_text_equal(blob, (struct ssh_text){key, (uint32_t)n}))
			return true;
	}
	return false;
}

static void password(struct ssh *ssh, struct ssh_text user, struct ssh_text word)
{
	struct session *s = ssh->ctx;
	s->asked_ns = core_now_ns();
	login_ask(&s->login, &s->peer, (struct text){(const char *)user.at, user.n}, (const char *)word.at, word.n);
}

static void logged_in(struct ssh *ssh, struct ssh_text blob)
{
	struct session *s = ssh->ctx;
	char text[FINGERPRINT_MAX];
	ssh_stats.logins_key += blob.n > 0;
	ssh_stats.logins_password += blob.n == 0;
	s->state = SESSION_READY;
	s->due_ns = core_now_ns() + SSH_LOGIN_NS;
	if (blob.n)
		log_session(s, LOG_INFO, "SSH-LOGIN", "logged in by key ", fingerprint(text, blob));
	else
		log_session(s, LOG_INFO, "SSH-LOGIN", "logged in by password", "");
}

static bool start(struct ssh *ssh, struct ssh_text command)
{
	struct session *s = ssh->ctx;
	s->stream = (struct stream){.ops = &channel_ops};
	if (!remote_attach(&s->stream, ssh->user, ssh->pty && command.n == 0,
	                   (struct text){(const char *)command.at, command.n}))
		return false;
	s->attached = true;
	s->state = SESSION_SHELL;
	return true;
}

static void data(struct ssh *ssh, const uint8_t *bytes, uint32_t n)
{
	struct session *s = ssh->ctx;
	if (s->attached)
		(void)s->stream.app->data(&s->stream, bytes, n); /* takes a window */
}

static void ended(struct ssh *ssh, bool closed)
{
	struct session *s = ssh->ctx;
	if (closed)
		detach(s, E_OK);
	else if (s->attached)
		s->stream.app->fin(&s->stream);
}

static const struct ssh_ops ops = {.knows_key = knows_key, .password = password, .logged_in = logged_in,
                                   .start = start, .data = data, .ended = ended};

/* --- time --- */

/* Does a part of a password's check; returns the time of the next call. */
static uint64_t check_password(struct session *s, uint64_t now)
{
	const bool waited = s->login.state == LOGIN_WAIT;
	const uint64_t due = login_step(&s->login, now);
	const enum login_state state = s->login.state;
	if (waited && state != LOGIN_WAIT)
		s->due_ns += now - s->asked_ns; /* the wait does not count */
	if (state != LOGIN_RIGHT && state != LOGIN_WRONG)
		return due;
	login_forget(&s->login);
	if (state == LOGIN_WRONG) {
		ssh_stats.wrong++;
		log_session(s, LOG_WARNING, "SSH-PASSWORD", "sent a wrong password", "");
	}
	ssh_password_is(&s->ssh, state == LOGIN_RIGHT);
	return now;
}

static bool has_work(const struct session *s)
{
	return s->below && ssh_has_work(&s->ssh);
}

/* The source of the last operation comes after all others; otherwise the longest wait comes first. */
static bool goes_before(const struct session *a, const struct session *b)
{
	const bool a_again = net_addr_same_source(&a->peer, &worker);
	const bool b_again = net_addr_same_source(&b->peer, &worker);
	return a_again != b_again ? b_again : a->turn < b->turn;
}

/* Does one operation with a public key, if one is due; returns the time of the next. */
static uint64_t work(uint64_t now)
{
	struct session *next = NULL;
	for (unsigned i = 0; i < SSH_SESSIONS; i++)
		if (has_work(&sessions[i]) && (!next || goes_before(&sessions[i], next)))
			next = &sessions[i];
	if (!next)
		return UINT64_MAX;
	if (now < work_ns)
		return work_ns;
	const enum core_pace pace = core_pace(PACE_LONG);
	worker = next->peer;
	next->turn = ++turns;
	ssh_work(&next->ssh);
	(void)core_pace(pace);
	const uint64_t end = core_now_ns();
	work_ns = end + (end - now);
	return work_ns; /* perhaps another waits */
}

static void expire(struct session *s)
{
	if (s->state == SESSION_CLOSE) {
		reset(s);
		return;
	}
	ssh_stats.timeouts += s->state != SESSION_DONE;
	ssh_close(&s->ssh, s->state == SESSION_LOGIN   ? "the login took too long"
	                   : s->state == SESSION_READY ? "nothing was started"
	                                               : "the session has ended");
}

/* Does a session's work that is due; returns the time of the next call. */
static uint64_t serve(struct session *s, uint64_t now)
{
	uint64_t due = UINT64_MAX;
	if (now >= s->due_ns && s->state != SESSION_SHELL && s->login.state != LOGIN_WAIT)
		expire(s);
	if (!s->below)
		return due;
	if (s->ssh.work == SSH_WAIT_PASSWORD)
		due = check_password(s, now);
	if (s->state == SESSION_SHELL && ssh_session_is_closed(&s->ssh)) {
		s->state = SESSION_DONE;
		s->due_ns = now + LINGER_NS;
	}
	if (s->state == SESSION_SHELL && now >= s->rekey_ns) {
		ssh_rekey(&s->ssh);
		s->rekey_ns = now + SSH_REKEY_NS;
	}
	if (pump(s))
		due = u64_min(due, now + SHORT_NS);
	consume(s);
	return s->state == SESSION_SHELL      ? u64_min(due, s->rekey_ns)
	       : s->login.state == LOGIN_WAIT ? due
	                                      : u64_min(due, s->due_ns);
}

uint64_t ssh_timer(void)
{
	uint64_t due = UINT64_MAX;
	if (!tcp_control || !sessions || ssh_stats.sessions == 0)
		return due;
	due = work(core_now_ns());
	for (unsigned i = 0; i < SSH_SESSIONS; i++)
		if (sessions[i].below)
			due = u64_min(due, serve(&sessions[i], core_now_ns()));
	return due;
}

/* --- connections --- */

static const struct net_addr *login_holder(unsigned place)
{
	const struct session *s = &sessions[place];
	return s->below && s->state != SESSION_SHELL ? &s->peer : NULL;
}

/* The session that is to make room for another, among those without a shell: one that is being closed;
 * otherwise, of the source that holds most, the one nearest to its deadline. *most: how many its source
 * holds; UINT32_MAX if it is being closed. */
static struct session *dispensable(unsigned *most)
{
	struct session *found = NULL;
	for (unsigned i = 0; i < SSH_SESSIONS; i++) {
		struct session *s = &sessions[i];
		if (!login_holder(i))
			continue;
		const unsigned held = s->state == SESSION_CLOSE
		                              ? UINT32_MAX
		                              : places_held(login_holder, SSH_SESSIONS, &s->peer);
		if (found && (held < *most || (held == *most && s->due_ns >= found->due_ns)))
			continue;
		found = s;
		*most = held;
	}
	return found;
}

/* The oldest session whose first key exchange has not ended in time. NULL: there is none. */
static struct session *unkeyed(void)
{
	const uint64_t now = core_now_ns();
	struct session *found = NULL;
	for (unsigned i = 0; i < SSH_SESSIONS; i++) {
		struct session *s = &sessions[i];
		if (login_holder(i) && !ssh_is_keyed(&s->ssh) && now - s->since_ns >= SSH_KEX_NS &&
		    (!found || s->since_ns < found->since_ns))
			found = s;
	}
	return found;
}

/* Finds a place for a new connection from `from`: a free one, one of a source that holds more, or, if `from` has none,
 * one whose client does not get on with the key exchange. NULL: there is none. */
static struct session *take_place(const struct net_addr *from)
{
	const unsigned held = places_held(login_holder, SSH_SESSIONS, from);
	unsigned most = 0;
	for (unsigned i = 0; i < SSH_SESSIONS; i++)
		if (!sessions[i].below)
			return &sessions[i];
	struct session *s = dispensable(&most);
	if (s && !places_may_take(held, most))
		s = held ? NULL : unkeyed();
	if (!s)
		return NULL;
	ssh_stats.full += s->state != SESSION_CLOSE;
	reset(s);
	return s;
}

static bool on_accept(struct stream *below)
{
	struct tcp_info info;
	stream_info(below, &info);
	if (!config_admits(&running.config.ssh.access, &info.remote)) {
		ssh_stats.refused++;
		return false;
	}
	struct session *s = take_place(&info.remote);
	if (!s) {
		ssh_stats.full++;
		return false;
	}
	if (!ssh_begin(&s->ssh, &ssh_crypto, &ops, s)) {
		ssh_stats.failed[SSH_CRYPTO_FAILED]++;
		ssh_forget(&s->ssh);
		return false;
	}
	const uint64_t now = core_now_ns();
	s->below = below;
	s->attached = s->said_fin = false;
	s->state = SESSION_LOGIN;
	s->peer = info.remote;
	s->unconsumed = 0;
	s->due_ns = now + SSH_LOGIN_NS;
	s->rekey_ns = now + SSH_REKEY_NS;
	s->since_ns = now;
	s->turn = ++turns;
	s->login = (struct login){.state = LOGIN_IDLE};
	below->arg = s;
	ssh_stats.sessions++;
	return true;
}

static uint32_t on_data(struct stream *below, const uint8_t *bytes, uint32_t n)
{
	struct session *s = below->arg;
	s->unconsumed += n;
	const uint32_t taken = ssh_input(&s->ssh, bytes, n);
	consume(s);
	return taken;
}

static void on_acked(struct stream *below, uint32_t bytes)
{
	struct session *s = below->arg;
	if (s->attached)
		s->stream.app->acked(&s->stream, bytes);
}

/* The client sends no more, so it can acknowledge no close of the channel either. */
static void on_fin(struct stream *below)
{
	struct session *s = below->arg;
	detach(s, E_OK);
	ssh_close(&s->ssh, "closed");
}

static void on_closed(struct stream *below, int why)
{
	(void)why;
	forget(below->arg);
}

void ssh_listen(uint16_t port)
{
	static const struct stream_app app = {.accept = on_accept, .data = on_data, .acked = on_acked,
	                                      .fin = on_fin, .closed = on_closed};
	char text[FINGERPRINT_MAX];
	stream_listen(port, &app);
	log_event(LOG_NOTICE, "SSH-KEY", "ssh: the host key is %s %s", ssh_key_name(SSH_ED25519),
	          host_fingerprint(text));
}

/* --- for people --- */

const char *ssh_failure_word(enum ssh_failure failure)
{
	static const char *const words[SSH_FAILURES] = {
		[SSH_FINE] = "none", [SSH_BAD_ID] = "identification", [SSH_BAD_PACKET] = "packet",
		[SSH_BAD_TAG] = "tag", [SSH_BAD_ORDER] = "order", [SSH_NO_ALGORITHM] = "algorithms",
		[SSH_BAD_SHARE] = "share", [SSH_NOT_LOGGED_IN] = "authentication", [SSH_TOO_MUCH] = "window",
		[SSH_CRYPTO_FAILED] = "crypto", [SSH_CLOSED] = "closed",
	};
	return words[failure];
}

void show_ssh(struct shell *sh)
{
	static const char *const states[] = {[SESSION_LOGIN] = "login", [SESSION_READY] = "ready",
	                                     [SESSION_SHELL] = "session", [SESSION_DONE] = "done",
	                                     [SESSION_CLOSE] = "closing"};
	char text[FINGERPRINT_MAX], addr[FMT_ADDR_MAX];
	if (!dp_get()->ssh_port) {
		shell_print(sh, "there is no SSH server\n");
		return;
	}
	shell_print(sh, "port %u, host key %s %s\n", dp_get()->ssh_port, ssh_key_name(SSH_ED25519),
	            host_fingerprint(text));
	shell_print(sh, "%-24s %-20s %-8s %s\n", "peer", "user", "state", "cipher");
	for (unsigned i = 0; i < SSH_SESSIONS; i++) {
		const struct session *s = &sessions[i];
		if (s->below)
			shell_print(sh, "%-24s %-20s %-8s %s\n", fmt_addr(addr, s->peer.w),
			            s->ssh.user[0] ? s->ssh.user : "-", states[s->state],
			            ssh_cipher_name(&s->ssh));
	}
}
