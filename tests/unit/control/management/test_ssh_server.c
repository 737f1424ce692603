/* control/management/ssh.c between a made-up TCP, a made-up net/ssh and a made-up console: limits of time, work and
 * places, what waits for passwords, and clients that take no output. */
#include "tests/unit/rig/host.h"

#undef fail /* of cmocka */
#include "control/management/ssh.c"

#define WIRES 16
#define S SECOND_NS

struct core_self self;
uint64_t host_tsc;
struct running running;
struct tcp *tcp_control = (struct tcp *)8; /* there is one; nothing looks into it */
static uint64_t now_ns;
static bool is_short;

uint64_t core_now_ns(void) { return now_ns; }
void *core_private_alloc(size_t bytes) { return calloc(1, bytes); }
bool tcp_control_is_short(void) { return is_short; }

/* --- the room around: nothing that these tests look at --- */

void *core_published_area(size_t *bytes)
{
	static struct dp_state state;
	*bytes = sizeof state;
	return &state;
}

void shell_print(struct shell *sh, const char *format, ...) { (void)sh, (void)format; }
bool crypto_start(void) { return true; }
const char *crypto_why(void) { return ""; }
void crypto_wipe(void *at, size_t bytes) { memset(at, 0, bytes); }
bool crypto_random(void *out, size_t bytes) { return memset(out, 7, bytes); }
const void *sealed_newest(struct sealed *s) { return s->at; }
bool sealed_take(struct sealed *s) { return (void)s, false; }
void sealed_write(struct sealed *s, const void *value) { (void)s, (void)value; }
bool storage_present(void) { return false; }

/* The blob of a stated key: four times the octet that is the key's `line`; of line 9 none. */
int config_ssh_key_blob(const struct config_ssh_key *k, uint8_t blob[CONFIG_SSH_BLOB_MAX])
{
	memset(blob, (int)k->line, 4);
	return k->line == 9 ? -1 : 4;
}

const char *users_who(char buf[USERS_WHO_SIZE], const char *name, const struct net_addr *from)
{
	(void)name, (void)from;
	return strcpy(buf, "");
}

int storage_get(const char *name, const uint8_t **data, size_t *n)
{
	(void)name, (void)data, (void)n;
	return E_NOENT;
}

int storage_put(const char *name, const void *data, size_t n, void (*done)(void *arg, int error), void *arg)
{
	(void)name, (void)data, (void)n, (void)done, (void)arg;
	return E_NOENT;
}

void log_event(enum log_level level, const char *facility, const char *format, ...)
{
	(void)level, (void)facility, (void)format;
}

/* The access list admits all but this address. */
static struct net_addr stranger;
bool config_admits(const struct config_access_list *l, const struct net_addr *addr)
{
	(void)l;
	return !net_addr_equal(addr, &stranger);
}

/* --- a made-up net/ssh: its fields are set by the tests; out_buf[out_at] to [out_len] waits --- */

#define HELLO 700
#define GOODBYE 60

static bool begins;
static const char *why_closed;
static unsigned forgotten, works, rekeys, right, wrong;
static uint64_t work_takes_ns;
static struct ssh *worked; /* the last one */

static bool made_up_sha256(const void *in, uint32_t n, uint8_t out[SSH_HASH])
{
	(void)in, (void)n;
	return memset(out, 1, SSH_HASH);
}

static uint32_t made_up_host_key(enum ssh_key kind, uint8_t point[SSH_POINT_MAX])
{
	(void)kind, (void)point;
	return 32;
}

const struct ssh_crypto ssh_crypto = {.sha256 = made_up_sha256, .host_key = made_up_host_key};
void ssh_crypto_set_host_key(const uint8_t seed[SSH_SEED]) { assert_int_equal(seed[0], 7); }

void ssh_put_host_key(struct ssh_writer *w, enum ssh_key kind, const uint8_t *point, uint32_t n)
{
	(void)w, (void)kind, (void)point, (void)n;
}

const char *ssh_key_name(enum ssh_key kind) { return (void)kind, ""; }
const char *ssh_cipher_name(const struct ssh *s) { return (void)s, ""; }

bool ssh_begin(struct ssh *s, const struct ssh_crypto *crypto, const struct ssh_ops *o, void *ctx)
{
	memset(s, 0, offsetof(struct ssh, out_buf));
	s->crypto = crypto;
	s->ops = o;
	s->ctx = ctx;
	s->out_len = HELLO;
	return begins;
}

void ssh_forget(struct ssh *s)
{
	(void)s;
	forgotten++;
}

uint32_t ssh_input(struct ssh *s, const void *data, uint32_t n)
{
	(void)data;
	s->in_len += n;
	assert_in_range(s->in_len, 0, SSH_IN_BYTES);
	return n;
}

uint32_t ssh_output(struct ssh *s, const uint8_t **at)
{
	*at = s->out_buf + s->out_at;
	return s->out_len - s->out_at;
}

void ssh_sent(struct ssh *s, uint32_t n)
{
	s->out_at += n;
	assert_in_range(s->out_at, 0, s->out_len);
}

void ssh_close(struct ssh *s, const char *why)
{
	if (s->over)
		return;
	s->over = true;
	s->failed = SSH_CLOSED;
	s->out_len += GOODBYE;
	why_closed = why;
}

void ssh_work(struct ssh *s)
{
	works++;
	worked = s;
	s->work = SSH_NO_WORK;
	now_ns += work_takes_ns;
}

void ssh_password_is(struct ssh *s, bool is_right)
{
	assert_false(s->over);
	s->work = SSH_NO_WORK;
	*(is_right ? &right : &wrong) += 1;
}

void ssh_rekey(struct ssh *s)
{
	(void)s;
	rekeys++;
}

uint32_t ssh_send(struct ssh *s, const void *data, uint32_t n) { return (void)s, (void)data, n; }
uint32_t ssh_send_room(const struct ssh *s) { return (void)s, 1000; }
void ssh_consumed(struct ssh *s, uint32_t n) { (void)s, (void)n; }
void ssh_end(struct ssh *s, uint32_t status) { (void)s, (void)status; }

/* --- a made-up login.c and console --- */

static enum login_state verdict; /* that the next step has */
static unsigned asked, given_up;

void login_ask(struct login *l, const struct net_addr *from, struct text user, const char *word, size_t n)
{
	(void)from, (void)user, (void)word, (void)n;
	assert_int_equal(l->state, LOGIN_IDLE);
	l->state = LOGIN_WAIT;
	asked++;
}

uint64_t login_step(struct login *l, uint64_t at)
{
	if (l->state == LOGIN_IDLE)
		return UINT64_MAX;
	l->state = verdict;
	return at + S;
}

void login_forget(struct login *l)
{
	given_up += l->state == LOGIN_WAIT || l->state == LOGIN_CHECK;
	l->state = LOGIN_IDLE;
}

static bool has_shell, was_terminal;
static unsigned console_closed;
static void console_ends(struct stream *s, int why) { (void)s, (void)why, console_closed++; }
static const struct stream_app console = {.closed = console_ends};

bool remote_prepare(void) { return true; }
uint32_t remote_status(const struct stream *stream) { return (void)stream, 0; }

bool remote_attach(struct stream *stream, const char *user, bool terminal, struct text command)
{
	(void)user, (void)command;
	was_terminal = terminal;
	stream->app = &console;
	return has_shell;
}

/* --- TCP --- */

static struct wire {
	struct stream below;
	struct net_addr from;
	uint32_t room, sent, consumed;
	unsigned closes, aborts;
} wires[WIRES];

static struct stream_app tcp; /* of ssh.c */
static struct wire *wire_of(const struct stream *s) { return (struct wire *)(uintptr_t)s; }
static uint32_t below_room(const struct stream *s) { return wire_of(s)->room; }
static void below_consumed(struct stream *s, uint32_t n) { wire_of(s)->consumed += n; }
static void below_close(struct stream *s) { assert_int_equal(wire_of(s)->closes++, 0); }
static void below_abort(struct stream *s) { assert_int_equal(wire_of(s)->aborts++, 0); }

static void below_info(const struct stream *s, struct tcp_info *info)
{
	*info = (struct tcp_info){.remote = wire_of(s)->from};
}

static uint32_t below_send(struct stream *s, const void *data, uint32_t n)
{
	struct wire *w = wire_of(s);
	(void)data;
	assert_true(!w->closes && !w->aborts);
	n = u32_min(n, w->room);
	w->room -= n;
	w->sent += n;
	return n;
}

static const struct stream_ops below_ops = {.send = below_send, .room = below_room, .consumed = below_consumed,
                                            .close = below_close, .abort = below_abort, .info = below_info};

void stream_listen(uint16_t port, const struct stream_app *app)
{
	assert_int_equal(port, 22);
	tcp = *app;
}

static int setup(void **unused)
{
	(void)unused;
	assert_true(ssh_prepare());
	ssh_stop();
	ssh_start();
	memset(&ssh_stats, 0, sizeof ssh_stats);
	memset(wires, 0, sizeof wires);
	memset(&worker, 0, sizeof worker);
	now_ns = 1000 * S;
	begins = has_shell = true;
	is_short = false;
	stranger = net_addr_ip4(1);
	verdict = LOGIN_WAIT;
	forgotten = works = rekeys = right = wrong = asked = given_up = console_closed = 0;
	work_takes_ns = 0;
	why_closed = "";
	ssh_listen(22);
	return 0;
}

/* A connection from that source; NULL: it is refused. */
static struct session *open_from(unsigned n, uint32_t source)
{
	struct wire *w = &wires[n];
	*w = (struct wire){.below.ops = &below_ops, .from = net_addr_ip4(source), .room = TCP_CONTROL_SND_BUF};
	return tcp.accept(&w->below) ? w->below.arg : NULL;
}

/* Calls the timer when it wants to be called, until then; fails if it is called without end. */
static void run_until(uint64_t then)
{
	uint64_t due = ssh_timer();
	for (unsigned calls = 0; due <= then; due = ssh_timer()) {
		assert_in_range(++calls, 0, 10000);
		now_ns = u64_max(now_ns, due);
	}
	now_ns = then;
}

/* --- time --- */

static void test_login_takes_too_long(void **unused)
{
	(void)unused;
	struct session *s = open_from(0, 1 << 8);
	run_until(1000 * S + SSH_LOGIN_NS - 1);
	assert_true(wires[0].sent == HELLO && !s->ssh.over && ssh_stats.sessions == 1);
	run_until(1000 * S + SSH_LOGIN_NS);
	assert_string_equal(why_closed, "the login took too long");
	assert_true(wires[0].sent == HELLO + GOODBYE && wires[0].closes == 1 && ssh_stats.timeouts == 1);
	run_until(now_ns + CLOSE_NS - 1);
	assert_int_equal(wires[0].aborts, 0);
	run_until(now_ns + 1);
	assert_true(wires[0].aborts == 1 && ssh_stats.sessions == 0 && ssh_stats.timeouts == 1 && forgotten == 1);
	assert_int_equal(ssh_stats.failed[SSH_CLOSED], 0); /* not a failure */
}

/* Its output fills TCP's part and waits. The time to log in ends all the same, and is counted once. */
static void test_who_takes_no_output(void **unused)
{
	(void)unused;
	for (unsigned short_of = 0; short_of < 2; short_of++) {
		setup(NULL);
		struct session *s = open_from(0, 1 << 8);
		is_short = short_of;
		wires[0].room = TCP_CONTROL_SND_BUF - (short_of ? 0 : TCP_AHEAD);
		run_until(1000 * S + SSH_LOGIN_NS);
		assert_true(wires[0].sent == 0 && s->ssh.over && wires[0].closes == 0);
		run_until(now_ns + CLOSE_NS);
		assert_true(wires[0].closes == 0 && wires[0].aborts == 1 && ssh_stats.sessions == 0);
		assert_int_equal(ssh_stats.timeouts, 1);
	}
}

static void test_ready_and_shell(void **unused)
{
	const struct ssh_text key = {(const uint8_t *)"k", 1}, none = {NULL, 0};
	(void)unused;
	struct session *s = open_from(0, 1 << 8);
	now_ns += SSH_LOGIN_NS - S;
	s->ssh.ops->logged_in(&s->ssh, key);
	assert_true(ssh_stats.logins_key == 1 && ssh_stats.logins_password == 0);
	run_until(now_ns + SSH_LOGIN_NS - 1); /* the time begins again */
	assert_false(s->ssh.over);
	assert_true(s->ssh.ops->start(&s->ssh, none));
	assert_true(s->attached && s->state == SESSION_SHELL);
	run_until(1000 * S + SSH_REKEY_NS - 1);
	assert_int_equal(rekeys, 0);
	run_until(1000 * S + SSH_REKEY_NS);
	assert_int_equal(rekeys, 1);
	run_until(1000 * S + 2 * SSH_REKEY_NS);
	assert_true(rekeys == 2 && !s->ssh.over);
	/* both sides close the session: the client has LINGER_NS to end the connection itself */
	s->ssh.close_in = s->ssh.close_out = true;
	const uint64_t closed = now_ns;
	run_until(closed + LINGER_NS - 1);
	assert_false(s->ssh.over);
	run_until(closed + LINGER_NS);
	assert_string_equal(why_closed, "the session has ended");
	assert_true(ssh_stats.timeouts == 0 && wires[0].closes == 1 && console_closed == 0);
	tcp.closed(&wires[0].below, E_OK);
	assert_true(console_closed == 1 && ssh_stats.sessions == 0);
}

static void test_nothing_was_started(void **unused)
{
	const struct ssh_text none = {NULL, 0};
	(void)unused;
	struct session *s = open_from(0, 1 << 8);
	s->ssh.ops->logged_in(&s->ssh, none);
	assert_int_equal(ssh_stats.logins_password, 1);
	has_shell = false;
	assert_false(s->ssh.ops->start(&s->ssh, none));
	assert_true(!s->attached && s->state == SESSION_READY);
	run_until(1000 * S + SSH_LOGIN_NS);
	assert_string_equal(why_closed, "nothing was started");
	assert_int_equal(ssh_stats.timeouts, 1);
}

/* A command has no terminal, even if the client has asked for one. The client's FIN ends the console's stream. */
static void test_terminal_and_fin(void **unused)
{
	static const struct ssh_text commands[] = {{NULL, 0}, {(const uint8_t *)"show version", 12}};
	(void)unused;
	for (unsigned i = 0; i < 4; i++) {
		struct session *s = open_from(i, (i + 1) << 8);
		s->ssh.pty = i & 1;
		assert_true(s->ssh.ops->start(&s->ssh, commands[i / 2]));
		assert_int_equal(was_terminal, i == 1);
		tcp.fin(&wires[i].below);
		assert_true(console_closed == i + 1 && !s->attached && s->ssh.over);
	}
}

/* --- passwords --- */

static struct session *ask(unsigned n)
{
	const struct ssh_text word = {(const uint8_t *)"secret", 6};
	struct session *s = open_from(n, (n + 1) << 8);
	s->ssh.work = SSH_WAIT_PASSWORD;
	s->ssh.ops->password(&s->ssh, word, word);
	assert_int_equal(s->login.state, LOGIN_WAIT);
	return s;
}

/* The time in which a password waits for a guess does not count; that of its check does. */
static void test_a_password_that_waits(void **unused)
{
	(void)unused;
	struct session *s = ask(0);
	run_until(1000 * S + 3 * SSH_LOGIN_NS);
	assert_false(s->ssh.over);
	verdict = LOGIN_CHECK;
	run_until(now_ns + S);
	const uint64_t waited = s->due_ns - 1000 * S - SSH_LOGIN_NS;
	assert_in_range(waited, 3 * SSH_LOGIN_NS, 3 * SSH_LOGIN_NS + 2 * S);
	verdict = LOGIN_WRONG;
	run_until(now_ns + S);
	assert_true(wrong == 1 && right == 0 && ssh_stats.wrong == 1 && s->login.state == LOGIN_IDLE);
	s->ssh.work = SSH_WAIT_PASSWORD;
	s->login.state = LOGIN_WAIT;
	verdict = LOGIN_RIGHT;
	run_until(now_ns + S);
	assert_true(wrong == 1 && right == 1 && ssh_stats.wrong == 1);
}

/* A client that has gone does not keep its place in the queue of guesses. */
static void test_who_goes_while_a_password_waits(void **unused)
{
	(void)unused;
	struct session *s = ask(0);
	tcp.fin(&wires[0].below);
	assert_true(s->ssh.over);
	run_until(now_ns + S);
	assert_true(given_up == 1 && s->login.state == LOGIN_IDLE && wires[0].closes == 1);
	run_until(now_ns + CLOSE_NS);
	assert_true(wires[0].aborts == 1 && right + wrong == 0 && ssh_stats.timeouts == 0);
}

/* --- keys --- */

/* A key lets its own user in, and nobody else. */
static void test_keys(void **unused)
{
	static const struct {
		const char *user, *blob;
		bool known;
	} rows[] = {
		{"admin", "\1\1\1\1", true},   {"admin", "\3\3\3\3", true},  {"reader", "\2\2\2\2", true},
		{"admin", "\2\2\2\2", false},  {"reader", "\1\1\1\1", false}, {"nobody", "\1\1\1\1", false},
		{"admin", "\1\1\1\4", false},  {"admin", "\1\1\1", false},    {"", "\1\1\1\1", false},
		{"reader", "\11\11\11\11", false}, {"admin2", "\1\1\1\1", false}, {"adm", "\1\1\1\1", false},
	};
	struct config_users *users = &running.config.users;
	struct session *s = open_from(0, 1 << 8);
	(void)unused;
	users->count = 2;
	strcpy(users->user[0].name, "admin");
	strcpy(users->user[1].name, "reader");
	users->keys = 4;
	users->key[0] = (struct config_ssh_key){.user = 0, .line = 1};
	users->key[1] = (struct config_ssh_key){.user = 1, .line = 2};
	users->key[2] = (struct config_ssh_key){.user = 0, .line = 3};
	users->key[3] = (struct config_ssh_key){.user = 1, .line = 9};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		const struct ssh_text user = {(const uint8_t *)rows[i].user, (uint32_t)strlen(rows[i].user)};
		const struct ssh_text blob = {(const uint8_t *)rows[i].blob, (uint32_t)strlen(rows[i].blob)};
		assert_int_equal(s->ssh.ops->knows_key(&s->ssh, user, blob), rows[i].known);
	}
	users->count = users->keys = 0;
}

/* --- bytes --- */

/* The window opens only as far as in_buf has room for a whole one. */
static void test_window(void **unused)
{
	static const uint8_t bytes[4000];
	(void)unused;
	struct session *s = open_from(0, 1 << 8);
	assert_int_equal(tcp.data(&wires[0].below, bytes, sizeof bytes), sizeof bytes);
	assert_int_equal(wires[0].consumed, sizeof bytes); /* there is room */
	s->ssh.in_len = SSH_IN_BYTES - TCP_CONTROL_RCV_BUF;
	tcp.data(&wires[0].below, bytes, 1000);
	assert_int_equal(wires[0].consumed, sizeof bytes);
	s->ssh.in_at = 400; /* 400 have been processed */
	ssh_timer();
	assert_true(wires[0].consumed == sizeof bytes + 400 && s->unconsumed == 600);
}

static void test_ahead(void **unused)
{
	(void)unused;
	struct session *s = open_from(0, 1 << 8);
	wires[0].room = TCP_CONTROL_SND_BUF - TCP_AHEAD + 1;
	ssh_timer();
	assert_int_equal(wires[0].sent, HELLO); /* one call of TCP, which may take more */
	s->ssh.out_len += 100;
	ssh_timer();
	assert_int_equal(wires[0].sent, HELLO);
	wires[0].room = TCP_CONTROL_SND_BUF;
	ssh_timer();
	assert_int_equal(wires[0].sent, HELLO + 100);
}

/* --- work --- */

/* One operation with a public key a turn, a rest of the same length behind it, and sources take turns. */
static void test_work(void **unused)
{
	struct session *s[3];
	(void)unused;
	for (unsigned i = 0; i < 3; i++) {
		s[i] = open_from(i, i < 2 ? 1 << 8 : 2 << 8); /* two of the same source */
		s[i]->ssh.work = SSH_WORK_AGREE;
	}
	work_takes_ns = 3000000;
	const uint64_t began = now_ns, due = ssh_timer();
	assert_true(works == 1 && worked == &s[0]->ssh);
	assert_int_equal(due, began + 2 * work_takes_ns);
	now_ns = due - 1;
	assert_int_equal(ssh_timer(), due);
	assert_int_equal(works, 1);
	now_ns = due;
	s[0]->ssh.work = SSH_WORK_SIGN;
	(void)ssh_timer();
	assert_true(works == 2 && worked == &s[2]->ssh); /* the other source's */
	now_ns += work_takes_ns;
	(void)ssh_timer();
	assert_true(works == 3 && worked == &s[1]->ssh); /* it has waited for longer than s[0] */
	now_ns += work_takes_ns;
	(void)ssh_timer();
	assert_true(works == 4 && worked == &s[0]->ssh);
}

/* --- places --- */

static void test_places(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < SSH_SESSIONS; i++) {
		assert_non_null(open_from(i, 1 << 8));
		now_ns += S / 10;
	}
	/* the source that holds most makes room: its session nearest to the deadline, which is the oldest */
	struct session *other = open_from(8, 2 << 8);
	assert_true(other && wires[0].aborts == 1 && wires[1].aborts == 0 && ssh_stats.full == 1);
	/* but not for itself */
	assert_null(open_from(9, 1 << 8));
	assert_true(ssh_stats.full == 2 && wires[1].aborts == 0 && ssh_stats.sessions == SSH_SESSIONS);
	/* a session that is being closed goes first, and is not counted */
	ssh_close(&((struct session *)wires[5].below.arg)->ssh, "");
	ssh_timer();
	assert_non_null(open_from(10, 2 << 8));
	assert_true(wires[5].aborts == 1 && ssh_stats.full == 2);
}

/* Each place is another source's: only clients that do not get on with the key exchange make room. */
static void test_places_of_many(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < SSH_SESSIONS; i++) {
		struct session *s = open_from(i, (i + 1) << 8);
		s->ssh.keyed = i != 3;
	}
	assert_null(open_from(8, 100 << 8));
	now_ns += SSH_KEX_NS - 1;
	assert_null(open_from(8, 100 << 8));
	now_ns++;
	assert_null(open_from(9, 5 << 8)); /* it has a place */
	assert_non_null(open_from(10, 100 << 8));
	assert_true(wires[3].aborts == 1 && ssh_stats.full == 4);
}

static void test_refused(void **unused)
{
	(void)unused;
	stranger = net_addr_ip4(1 << 8);
	assert_null(open_from(0, 1 << 8));
	assert_true(ssh_stats.refused == 1 && ssh_stats.full == 0 && ssh_stats.sessions == 0);
	begins = false;
	assert_null(open_from(1, 2 << 8));
	assert_true(ssh_stats.failed[SSH_CRYPTO_FAILED] == 1 && forgotten == 1 && ssh_stats.sessions == 0);
	begins = true;
	struct session *s = open_from(2, 2 << 8);
	s->ssh.failed = SSH_BAD_TAG; /* an error of the protocol */
	s->ssh.over = true;
	ssh_timer();
	assert_true(s->state == SESSION_CLOSE && wires[2].closes == 1);
	tcp.closed(&wires[2].below, E_OK);
	assert_true(ssh_stats.failed[SSH_BAD_TAG] == 1 && ssh_stats.sessions == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_login_takes_too_long, setup),
		cmocka_unit_test_setup(test_who_takes_no_output, setup),
		cmocka_unit_test_setup(test_ready_and_shell, setup),
		cmocka_unit_test_setup(test_nothing_was_started, setup),
		cmocka_unit_test_setup(test_terminal_and_fin, setup),
		cmocka_unit_test_setup(test_a_password_that_waits, setup),
		cmocka_unit_test_setup(test_who_goes_while_a_password_waits, setup),
		cmocka_unit_test_setup(test_keys, setup),
		cmocka_unit_test_setup(test_window, setup),
		cmocka_unit_test_setup(test_ahead, setup),
		cmocka_unit_test_setup(test_work, setup),
		cmocka_unit_test_setup(test_places, setup),
		cmocka_unit_test_setup(test_places_of_many, setup),
		cmocka_unit_test_setup(test_refused, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
