/*
 * See remote.h. A session is a connection and the shell on it; its states:
 *
 *     LOGIN   --a line, with users a second one--> CHECK                    --REMOTE_LOGIN_NS, peer's FIN--> CLOSE
 *     CHECK   --right--> SHELL, or CLOSE when all are in use
 *             --wrong (login.h)--> LOGIN, the third time CLOSE
 *     SHELL   --exit, peer's FIN and all input processed, REMOTE_IDLE_NS, another login--> CLOSE
 *     CLOSE   sends the remaining output, then FIN; --CLOSE_NS--> (reset)
 *
 * TCP's callbacks convert input into keys, which wait in in[]; remote_timer runs the commands.
 * Ctrl-C (or Telnet's interrupt) overtakes all that waits, as on a terminal (POSIX INTR): keys
 * typed before it and output that TCP does not have yet are discarded. A key counts as consumed for
 * TCP when it is read from in[], so in[], which is as large as TCP's window, never overflows.
 *
 * Output is written to out[] in Telnet's encoding. A command may fill out[] up to OUT_COMMANDS; the
 * rest is for the prompt, the line being typed, and the notice that output was cut. A command with
 * long output (shell_stream) is called for more as the peer takes its output. A session that is
 * logged in holds one of REMOTE_SHELLS long buffers until its connection is gone. first[] holds the
 * few lines before the login, and the last line of a session that makes room for another login.
 */
#include "control/management/remote.h"

#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/console/shell.h"
#include "dataplane/state.h"
#include "control/management/login.h"
#include "control/management/users.h"
#include "control/management/places.h"
#include "control/host/stream.h"
#include "control/host/tcp_control.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "net/telnet.h"

#define CTRL(letter) ((letter) & 0x1f)
#define DEL '\x7f'

#define IN_MAX TCP_CONTROL_RCV_BUF
#define ANSWERS_MAX 512
#define FIRST_OUT 1024
#define OUT_COMMANDS (REMOTE_OUT_BYTES - 2048)
#define OUT_EASY 1024     /* with more bytes waiting in out[], no key is read */
#define STREAM_ROOM 16384 /* with more bytes waiting in out[], a command with long output pauses */
#define STREAM_PIECES 64  /* of such a command in a turn */
#define TCP_AHEAD 16384   /* bytes given to TCP, which an interrupt does not discard */
#define PIECE 1400
#define CLOSE_NS (5 * SECOND_NS)
#define SHORT_NS (SECOND_NS / 100) /* retry interval while buffers are short */

enum session_state { SESSION_LOGIN, SESSION_CHECK, SESSION_SHELL, SESSION_CLOSE };

struct session {
	struct shell shell;
	struct stream *stream;    /* NULL: free */
	struct net_addr peer;
	enum session_state state;
	uint64_t due_ns;          /* deadline of the state */
	uint64_t asked_ns;        /* CHECK: when the state began */
	struct telnet telnet;
	bool heard_fin, said_fin;
	bool welcome;             /* the password was right */
	bool echo_off;            /* the shell's echo is discarded: the peer shows its own input */
	bool encrypted;           /* the session is of remote_attach: no Telnet, bytes as they are */
	bool deaf;                /* it runs a command, and what the stream delivers is discarded */
	bool line_begins, failed; /* without a terminal: at the start of a line of output; one was an error */
	unsigned tries;           /* wrong passwords */
	bool asks_user;           /* LOGIN: the line is the user's name, not the password */
	unsigned user_len;        /* CONFIG_USER_SIZE: too long */
	char user[CONFIG_USER_SIZE]; /* empty: no users were stated when the session logged in */
	struct login login;       /* CHECK: of the password */
	unsigned password_len;    /* more than LOGIN_PASSWORD_MAX: too long */
	char password[LOGIN_PASSWORD_MAX];
	uint64_t cut;             /* bytes that did not fit into out[] since the last prompt */
	uint32_t answers_len;     /* answers to Telnet's options, sent before out[] */
	uint8_t answers[ANSWERS_MAX];
	uint32_t in_at, in_len;   /* keys: in[in_at] to in[in_len - 1] */
	uint8_t in[IN_MAX];
	uint32_t out_at, out_len, out_size;
	uint8_t *out;             /* first[], or one of outs[] */
	uint8_t first[FIRST_OUT];
};

struct remote_stats remote_stats;
const struct remote_console *remote_console;

static struct session *sessions; /* REMOTE_SESSIONS */
static uint8_t (*outs)[REMOTE_OUT_BYTES]; /* REMOTE_SHELLS */

/* --- start --- */

bool remote_prepare(void)
{
	if (!sessions)
		sessions = core_private_alloc(REMOTE_SESSIONS * sizeof *sessions);
	if (!outs)
		outs = core_private_alloc(REMOTE_SHELLS * sizeof *outs);
	return sessions && outs;
}

/* --- output --- */

static uint32_t waiting(const struct session *s)
{
	return s->out_len - s->out_at;
}

static size_t encode(struct session *s, uint8_t *to, const char *text, size_t n)
{
	if (!s->encrypted)
		return telnet_put(&s->telnet, to, text, n);
	memcpy(to, text, n);
	return n;
}

/* Appends the text to out[]. False: nothing was appended, because more than `limit` would wait. */
static bool put(struct session *s, const char *text, size_t n, uint32_t limit)
{
	const size_t most = 2 * n + 1; /* telnet_put */
	if (waiting(s) + most > limit)
		return false;
	if (s->out_len + most > s->out_size) {
		memmove(s->out, s->out + s->out_at, waiting(s));
		s->out_len -= s->out_at;
		s->out_at = 0;
	}
	s->out_len += (uint32_t)encode(s, s->out + s->out_len, text, n);
	return true;
}

static void PRINTF_LIKE(2, 3) say(struct session *s, const char *format, ...)
{
	char text[160];
	fmt_va_list args;
	__builtin_va_start(args, format);
	size_t n = fmt_vformat(text, sizeof text, format, args);
	__builtin_va_end(args);
	put(s, text, n < sizeof text ? n : sizeof text - 1, s->out_size);
}

/* Notes whether output of a script has a line that begins with "%", which is an error. */
static void note_errors(struct session *s, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		s->failed |= s->line_begins && text[i] == '%';
		s->line_begins = text[i] == '\n';
	}
}

/* The shell's output function. */
static void write_out(struct shell *sh, const char *text, size_t len)
{
	struct session *s = (struct session *)(void *)((char *)sh - offsetof(struct session, shell));
	bool command = shell_runs(sh);
	if (s->state != SESSION_SHELL || s->echo_off)
		return;
	if (sh->quiet)
		note_errors(s, text, len);
	if (s->cut && !command) {
		say(s, "\r\n... output cut: %llu bytes more\r\n", (unsigned long long)s->cut);
		s->cut = 0;
	}
	/* after a cut the rest of the command's output is cut too, so that there is one gap */
	if ((s->cut && command) || !put(s, text, len, command ? OUT_COMMANDS : s->out_size))
		s->cut += len;
}

/* Gives TCP as much output as it has room for. True: buffers are short, try again later. */
static bool send_out(struct session *s)
{
	/* an encrypted stream limits what TCP has ahead itself */
	const uint32_t kept = s->encrypted ? 0 : TCP_CONTROL_SND_BUF - TCP_AHEAD;
	uint32_t room = stream_room(s->stream), n;
	if (s->said_fin || (s->answers_len == 0 && waiting(s) == 0))
		return false;
	if (tcp_control_is_short())
		return true;
	n = s->answers_len ? stream_send(s->stream, s->answers, s->answers_len) : 0;
	s->answers_len -= n;
	memmove(s->answers, s->answers + n, s->answers_len);
	while (s->answers_len == 0 && waiting(s) && room > kept) {
		n = stream_send(s->stream, s->out + s->out_at, waiting(s) < PIECE ? waiting(s) : PIECE);
		s->out_at += n;
		room = stream_room(s->stream);
		if (n == 0)
			break; /* buffers ran out: an acknowledgement will free some */
	}
	if (waiting(s) == 0)
		s->out_at = s->out_len = 0;
	return false;
}

/* --- places --- */

static bool has_shell(const struct session *s)
{
	return s->out != s->first;
}

static const struct net_addr *holder(unsigned place, bool shell)
{
	const struct session *s = &sessions[place];
	return s->stream && has_shell(s) == shell ? &s->peer : NULL;
}

static const struct net_addr *shell_holder(unsigned place) { return holder(place, true); }
static const struct net_addr *login_holder(unsigned place) { return holder(place, false); }

/* A free buffer for long output; NULL: all are in use. */
static uint8_t *free_out(void)
{
	for (unsigned k = 0; k < REMOTE_SHELLS; k++) {
		unsigned i = 0;
		while (i < REMOTE_SESSIONS && !(sessions[i].stream && sessions[i].out == outs[k]))
			i++;
		if (i == REMOTE_SESSIONS)
			return outs[k];
	}
	return NULL;
}

/*
 * Chooses the session that is to make room for another, among those that are logged in (`shell`) or
 * among the others: one that is being closed; otherwise, of the source that holds most, the one
 * nearest to its deadline, which has been idle, or has been logging in, for longest. *most: how
 * many its source holds; UINT32_MAX if it is being closed.
 */
static struct session *dispensable(bool shell, unsigned *most)
{
	const places_holder_fn held_by = shell ? shell_holder : login_holder;
	struct session *found = NULL;
	for (unsigned i = 0; i < REMOTE_SESSIONS; i++) {
		struct session *s = &sessions[i];
		if (!held_by(i))
			continue;
		unsigned held = s->state == SESSION_CLOSE
		                        ? UINT32_MAX
		                        : places_held(held_by, REMOTE_SESSIONS, &s->peer);
		if (found && (held < *most || (held == *most && s->due_ns >= found->due_ns)))
			continue;
		found = s;
		*most = held;
	}
	return found;
}

/* The logged-in session that has been idle for longest. There must be one. */
static struct session *quietest(void)
{
	struct session *found = NULL;
	for (unsigned i = 0; i < REMOTE_SESSIONS; i++)
		if (shell_holder(i) && (!found || sessions[i].due_ns < found->due_ns))
			found = &sessions[i];
	return found;
}

/* --- the end --- */

static void log_peer(const struct session *s, const char *what)
{
	char who[USERS_WHO_SIZE];
	log_event(LOG_NOTICE, "LOGIN", "console: %s %s", users_who(who, s->user, &s->peer), what);
}

/* Ends the session's command and shell, and erases its password. */
static void put_down(struct session *s)
{
	s->state = SESSION_CLOSE;
	if (shell_is_busy(&s->shell) || shell_takes_lines(&s->shell))
		shell_input(&s->shell, CTRL('C'));
	if (s->welcome) {
		char who[USERS_WHO_SIZE];
		remote_console->close(&s->shell, users_who(who, s->user, &s->peer));
		log_peer(s, "logged out");
	}
	s->welcome = false;
	memset(s->password, 0, sizeof s->password);
	login_forget(&s->login);
}

static void to_close(struct session *s)
{
	put_down(s);
	s->due_ns = core_now_ns() + CLOSE_NS;
}

/* The connection is gone: frees the session. */
static void forget(struct session *s)
{
	put_down(s);
	s->stream = NULL;
	remote_stats.sessions--;
}

/* The session of a shell; NULL: the shell is the serial console's. */
static struct session *session_of(const struct shell *sh)
{
	for (unsigned i = 0; sessions && i < REMOTE_SESSIONS; i++)
		if (sh == &sessions[i].shell)
			return &sessions[i];
	return NULL;
}

bool remote_leave(struct shell *sh)
{
	struct session *s = session_of(sh);
	if (s)
		to_close(s);
	return s != NULL;
}

bool remote_peer(const struct shell *sh, struct net_addr *peer)
{
	const struct session *s = session_of(sh);
	if (s)
		*peer = s->peer;
	return s != NULL;
}

bool remote_connection(const struct shell *sh, struct tcp_info *info)
{
	const struct session *s = session_of(sh);
	if (s)
		stream_info(s->stream, info);
	return s != NULL;
}

enum role remote_role(const struct shell *sh)
{
	const struct session *s = session_of(sh);
	return s && s->user[0] ? users_role(s->user) : ROLE_CONFIGURE;
}

const char *remote_user(const struct shell *sh)
{
	const struct session *s = session_of(sh);
	return s ? s->user : "";
}

void remote_set_hostname(const char *name)
{
	for (unsigned i = 0; sessions && i < REMOTE_SESSIONS; i++)
		if (sessions[i].stream)
			shell_set_hostname(&sessions[i].shell, name);
}

void remote_stop(void)
{
	for (unsigned i = 0; sessions && i < REMOTE_SESSIONS; i++)
		if (sessions[i].stream)
			forget(&sessions[i]);
}

/* --- login --- */

static void ask_password(struct session *s)
{
	s->asks_user = false;
	s->password_len = 0;
	say(s, "Password: ");
}

/* Begins a login: asks for the user, if there are any, and the password. */
static void ask_who(struct session *s)
{
	s->state = SESSION_LOGIN;
	s->asks_user = running.config.users.count > 0;
	s->user_len = 0;
	memset(s->user, 0, sizeof s->user);
	if (s->asks_user)
		say(s, "Username: ");
	else
		ask_password(s);
}

/* True while the password's check has not begun, because guesses are limited. */
static bool waits_for_turn(const struct session *s)
{
	return s->stream && s->state == SESSION_CHECK && s->login.state == LOGIN_WAIT;
}

static void ask_login(struct session *s)
{
	s->state = SESSION_CHECK;
	s->asked_ns = core_now_ns();
	login_ask(&s->login, &s->peer, (struct text){s->user, s->user_len}, s->password, s->password_len);
	memset(s->password, 0, sizeof s->password);
}

static void password_key(struct session *s, uint8_t key)
{
	switch (key) {
	case '\r':
	case '\n':
		say(s, "\r\n");
		ask_login(s);
		break;
	case '\b':
	case DEL:
		s->password_len -= s->password_len > 0 && s->password_len <= LOGIN_PASSWORD_MAX;
		break;
	case CTRL('C'):
	case CTRL('U'):
		s->password_len = 0;
		break;
	case CTRL('D'):
		to_close(s);
		break;
	default:
		if (s->password_len < LOGIN_PASSWORD_MAX)
			s->password[s->password_len] = (char)key;
		s->password_len += s->password_len <= LOGIN_PASSWORD_MAX;
	}
}

/* The name is shown while it is typed, unless the peer shows its own input (RFC 857). */
static void user_key(struct session *s, uint8_t key)
{
	const bool echo = telnet_echoes(&s->telnet);
	switch (key) {
	case '\r':
	case '\n':
		say(s, "\r\n");
		ask_password(s);
		break;
	case '\b':
	case DEL:
		if (s->user_len == 0)
			break;
		s->user[--s->user_len] = 0;
		say(s, "%s", echo ? "\b \b" : "");
		break;
	case CTRL('C'):
	case CTRL('U'):
		say(s, "\r\n");
		ask_who(s);
		break;
	case CTRL('D'):
		to_close(s);
		break;
	default:
		if (!text_is_printable((char)key) || s->user_len == CONFIG_USER_SIZE)
			break;
		if (s->user_len < CONFIG_USER_SIZE - 1)
			s->user[s->user_len] = (char)key;
		s->user_len++;
		say(s, "%.*s", echo, (const char *)&key);
	}
}

static void set_out(struct session *s, uint8_t *out, uint32_t size)
{
	s->out = out;
	s->out_size = size;
	s->out_at = s->out_len = 0;
	s->cut = 0;
}

/* Ends a session so that another one may have its long buffer. Tells the peer, unless the session
 * is already being closed. */
static void make_room(struct session *s)
{
	struct stream *stream = s->stream;
	if (s->state == SESSION_CLOSE) {
		forget(s);
		stream_abort(stream);
		return;
	}
	remote_stats.full++;
	set_out(s, s->first, sizeof s->first);
	say(s, "\r\nclosed: another login needs the session\r\n");
	log_peer(s, "made room for another login");
	to_close(s);
}

/* Gives a session with the right password a long buffer: a free one, or that of a session that
 * makes room. False: there is neither. */
static bool take_shell(struct session *s, uint64_t now)
{
	uint8_t *out = free_out();
	if (!out) {
		unsigned most, held = places_held(shell_holder, REMOTE_SESSIONS, &s->peer);
		struct session *old = dispensable(true, &most);
		const bool fair = places_may_take(held, most);
		old = fair ? old : quietest();
		if (!fair && now + REMOTE_IDLE_NS < old->due_ns + REMOTE_QUIET_NS)
			return false;
		out = old->out;
		make_room(old);
	}
	const uint32_t n = waiting(s), at = s->out_at;
	set_out(s, out, REMOTE_OUT_BYTES);
	memcpy(out, s->first + at, n);
	s->out_len = n;
	return true;
}

static void let_in(struct session *s, uint64_t now)
{
	if (!take_shell(s, now)) {
		remote_stats.full++;
		log_peer(s, "found all sessions in use");
		say(s, "all sessions are in use\r\n");
		to_close(s);
		return;
	}
	remote_stats.logins++;
	log_peer(s, "logged in");
	s->welcome = true;
	s->state = SESSION_SHELL;
	s->due_ns = now + REMOTE_IDLE_NS;
	shell_start(&s->shell);
}

static void tell_wrong(struct session *s)
{
	remote_stats.wrong++;
	if (s->user[0] && !config_user(&running.config, text_of(s->user)))
		s->user[0] = 0; /* what somebody typed: it may be a password */
	log_peer(s, "sent a wrong password");
	s->tries++;
	say(s, "wrong password\r\n");
	if (s->tries == REMOTE_TRIES)
		to_close(s);
	else
		ask_who(s);
}

/* Does a part of the check; returns the time of the next call. */
static uint64_t check(struct session *s, uint64_t now)
{
	const bool waited = waits_for_turn(s);
	const uint64_t due = login_step(&s->login, now);
	const enum login_state state = s->login.state;
	if (waited && !waits_for_turn(s))
		s->due_ns += now - s->asked_ns;
	if (state != LOGIN_RIGHT && state != LOGIN_WRONG)
		return due;
	login_forget(&s->login);
	if (state == LOGIN_RIGHT)
		let_in(s, now);
	else
		tell_wrong(s);
	return now;
}

/* --- keys --- */

static bool is_typed(const struct session *s)
{
	return s->in_at < s->in_len;
}

static uint8_t next_key(struct session *s)
{
	uint8_t key = s->in[s->in_at++];
	if (!s->deaf) /* a command's keys did not come from the stream */
		stream_consumed(s->stream, 1);
	return key;
}

/* Appends a key. False: there is no room, which TCP's window rules out. */
static bool add_key(struct session *s, uint8_t key)
{
	memmove(s->in, s->in + s->in_at, s->in_len - s->in_at);
	s->in_len -= s->in_at;
	s->in_at = 0;
	if (s->in_len == IN_MAX)
		return false;
	s->in[s->in_len++] = key;
	return true;
}

/* May the next key be read? If it is an interrupt, take_byte has emptied out[]. */
static bool has_key(const struct session *s)
{
	if (!is_typed(s))
		return false;
	if (s->state == SESSION_SHELL)
		return waiting(s) <= OUT_EASY &&
		       (!shell_is_busy(&s->shell) || s->in[s->in_at] == CTRL('C'));
	return s->state == SESSION_LOGIN;
}

static void read_keys(struct session *s)
{
	for (unsigned i = 0; i < REMOTE_KEYS && has_key(s); i++) {
		uint8_t key = next_key(s);
		if (s->state == SESSION_LOGIN) {
			(s->asks_user ? user_key : password_key)(s, key);
			continue;
		}
		/* RFC 857: a peer that has not asked us to echo shows its own input */
		s->echo_off = !s->encrypted && !telnet_echoes(&s->telnet) && text_is_printable((char)key) && key != '?';
		const enum core_pace pace = core_pace(PACE_LONG); /* a byte may end a command */
		shell_input(&s->shell, (char)key);
		(void)core_pace(pace);
		s->echo_off = false;
	}
}

/* Discards the keys and the output that wait. */
static void flush(struct session *s)
{
	if (!s->deaf)
		stream_consumed(s->stream, s->in_len - s->in_at);
	s->in_at = s->in_len = 0;
	s->out_at = s->out_len = 0;
	s->cut = 0;
}

/* The shell's key for an event of Telnet; 0: none. "Are you there" makes the shell show its line
 * again. */
static uint8_t key_of(unsigned event)
{
	switch (event) {
	case TELNET_INTERRUPT:
		return CTRL('C');
	case TELNET_ARE_YOU_THERE:
		return CTRL('L');
	case TELNET_ERASE_CHARACTER:
		return DEL;
	case TELNET_ERASE_LINE:
		return CTRL('U');
	default:
		return event < 256 ? (uint8_t)event : 0;
	}
}

/* Processes a received byte. True: it is a key, which now waits in in[]. */
static bool take_byte(struct session *s, uint8_t byte)
{
	uint8_t answer[TELNET_ANSWER_MAX];
	unsigned n = 0;
	uint8_t key = s->encrypted ? byte : key_of(telnet_input(&s->telnet, byte, answer, &n));
	/* a peer that sends many options and reads no answers gets no more of them */
	if (n <= ANSWERS_MAX - s->answers_len) {
		memcpy(s->answers + s->answers_len, answer, n);
		s->answers_len += n;
	}
	if (key == CTRL('C'))
		flush(s);
	return key != 0 && add_key(s, key);
}

/* --- time --- */

static void expire(struct session *s)
{
	struct stream *stream = s->stream;
	if (s->state == SESSION_CLOSE) {
		forget(s);
		stream_abort(stream);
		return;
	}
	s->failed = true;
	say(s, s->state == SESSION_SHELL ? "\r\nclosed: nothing was typed for 10 minutes\r\n"
	                                 : "\r\nclosed: the login took too long\r\n");
	to_close(s);
}

/* True if the peer has sent FIN and all its input has been processed. */
static bool is_over(const struct session *s)
{
	return s->heard_fin && !is_typed(s) &&
	       (s->state == SESSION_LOGIN ||
	        (s->state == SESSION_SHELL && !shell_is_busy(&s->shell) && waiting(s) == 0));
}

/* Continues a command with long output while at most STREAM_ROOM bytes wait, for STREAM_PIECES
 * pieces at most. True: it could continue at once. */
static bool stream(struct session *s)
{
	for (unsigned i = 0; i < STREAM_PIECES; i++) {
		if (s->state != SESSION_SHELL || !shell_has_more(&s->shell) || waiting(s) > STREAM_ROOM)
			return false;
		shell_more(&s->shell);
	}
	return true;
}

/* Does a session's work that is due; returns the time of the next call. */
static uint64_t serve(struct session *s, uint64_t now)
{
	uint64_t due;
	if (now >= s->due_ns && !waits_for_turn(s))
		expire(s);
	if (!s->stream)
		return UINT64_MAX;
	read_keys(s);
	due = s->state == SESSION_CHECK ? check(s, now) : UINT64_MAX;
	const bool more = stream(s);
	if (is_over(s))
		to_close(s);
	if (send_out(s))
		due = due < now + SHORT_NS ? due : now + SHORT_NS;
	if (s->state == SESSION_CLOSE && waiting(s) == 0 && !s->said_fin) {
		s->said_fin = true;
		stream_close(s->stream);
	}
	if (more || has_key(s) || is_over(s))
		return now;
	if (waits_for_turn(s))
		return due;
	return due < s->due_ns ? due : s->due_ns;
}

uint64_t remote_timer(void)
{
	uint64_t due = UINT64_MAX;
	if (!tcp_control || !sessions)
		return due;
	for (unsigned i = 0; i < REMOTE_SESSIONS; i++) {
		struct session *s = &sessions[i];
		uint64_t next = s->stream ? serve(s, core_now_ns()) : UINT64_MAX;
		due = next < due ? next : due;
	}
	return due;
}

/* --- connections --- */

static void active(struct session *s)
{
	if (s->state == SESSION_SHELL)
		s->due_ns = core_now_ns() + REMOTE_IDLE_NS;
}

/* Finds a place to log in for a new connection from `from`: a free one, or one of a source that
 * holds more. NULL: there is none. */
static struct session *take_place(const struct net_addr *from)
{
	struct session *s = NULL;
	unsigned logins = 0, most;
	for (unsigned i = 0; i < REMOTE_SESSIONS; i++) {
		logins += login_holder(i) != NULL;
		if (!s && !sessions[i].stream)
			s = &sessions[i];
	}
	if (logins < REMOTE_LOGINS)
		return s; /* not NULL: at most REMOTE_SHELLS are logged in */
	s = dispensable(false, &most);
	if (!places_may_take(places_held(login_holder, REMOTE_SESSIONS, from), most))
		return NULL;
	struct stream *stream = s->stream;
	remote_stats.full += s->state != SESSION_CLOSE;
	forget(s);
	stream_abort(stream);
	return s;
}

/* Begins a session at a free place, with the fields that both kinds have. The others, mostly buffers, are
 * written before they are read. */
static void begin(struct session *s, struct stream *stream, const struct net_addr *peer)
{
	s->stream = stream;
	s->peer = *peer;
	s->heard_fin = s->said_fin = s->welcome = s->echo_off = s->encrypted = s->deaf = s->failed = false;
	s->line_begins = true;
	s->state = SESSION_LOGIN;
	s->tries = 0;
	s->login.state = LOGIN_IDLE;
	s->in_at = s->in_len = 0;
	s->answers_len = 0;
	set_out(s, s->first, sizeof s->first);
	shell_init(&s->shell, NULL, 0, write_out);
	shell_set_streams(&s->shell);
	remote_console->open(&s->shell);
	shell_set_hostname(&s->shell, running.config.hostname);
	remote_stats.sessions++;
	stream->arg = s;
	s->due_ns = core_now_ns() + REMOTE_LOGIN_NS;
}

static bool on_accept(struct stream *stream)
{
	struct session *s;
	struct tcp_info info;
	stream_info(stream, &info);
	if (!config_admits(&running.config.console.access, &info.remote)) {
		remote_stats.refused++;
		return false;
	}
	s = take_place(&info.remote);
	if (!s) {
		remote_stats.full++;
		return false;
	}
	begin(s, stream, &info.remote);
	s->answers_len = telnet_hello(&s->telnet, s->answers);
	say(s, "%s\r\nThis connection is not encrypted. An SSH server is (\"ssh server\").\r\n",
	    running.config.hostname);
	ask_who(s);
	return true;
}

static uint32_t on_data(struct stream *stream, const uint8_t *data, uint32_t n)
{
	struct session *s = stream->arg;
	uint32_t done = 0;
	for (uint32_t i = 0; i < n; i++)
		done += s->state == SESSION_CLOSE || s->deaf || !take_byte(s, data[i]);
	stream_consumed(stream, done);
	active(s);
	return n;
}

static void on_acked(struct stream *stream, uint32_t bytes)
{
	if (bytes)
		active(stream->arg);
}

static void on_fin(struct stream *stream)
{
	struct session *s = stream->arg;
	s->heard_fin = true;
}

static void on_closed(struct stream *stream, int why)
{
	(void)why;
	forget(stream->arg);
}

static const struct stream_app app = {.accept = on_accept, .data = on_data, .acked = on_acked, .fin = on_fin,
                                      .closed = on_closed};

bool remote_attach(struct stream *stream, const char *user, bool terminal, struct text command)
{
	struct tcp_info info;
	stream_info(stream, &info);
	struct session *s = command.len < IN_MAX ? take_place(&info.remote) : NULL;
	if (!s) {
		remote_stats.full++;
		return false;
	}
	stream->app = &app;
	begin(s, stream, &info.remote);
	s->encrypted = true;
	memset(s->user, 0, sizeof s->user);
	if (running.config.users.count)
		fmt_format(s->user, sizeof s->user, "%s", user);
	if (!terminal)
		shell_set_quiet(&s->shell);
	if (command.len) {
		memcpy(s->in, command.at, command.len);
		s->in[command.len] = '\n';
		s->in_len = (uint32_t)command.len + 1;
		s->deaf = s->heard_fin = true;
	}
	let_in(s, core_now_ns());
	s->failed = s->state != SESSION_SHELL;
	return true;
}

uint32_t remote_status(const struct stream *stream)
{
	const struct session *s = stream->arg;
	return s->failed;
}

void remote_start(void)
{
	remote_stats.sessions = 0;
}

void remote_listen(uint16_t port)
{
	stream_listen(port, &app);
}
