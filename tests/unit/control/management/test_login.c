/* control/management/login.c: right and wrong passwords, how many guesses there are, whose turn it is. */
#include "tests/unit/rig/host.h"

#include "control/management/login.c"

#define ITERATIONS 1000
#define S (1 * SECOND_NS)

struct running running;
static const char *user = ""; /* of all checks */

/* As control/config/config_users.c. */
const struct config_user *config_user(const struct config *c, struct text name)
{
	for (unsigned i = 0; i < c->users.count; i++)
		if (text_equal(name, text_of(c->users.user[i].name)))
			return &c->users.user[i];
	return NULL;
}

static struct net_addr source(uint8_t last) { return net_addr_ip4(0x0a000000u | last); }

static int setup(void **state)
{
	struct password_hash *h = &running.config.console.password;
	struct pbkdf2 p;
	(void)state;
	user = "";
	running.config.users.count = 0;
	running.config.console.password_line = 1;
	h->iterations = ITERATIONS;
	h->salt_len = 8;
	memcpy(h->salt, "saltsalt", 8);
	pbkdf2_begin(&p, "secret", 6, h->salt, 8, ITERATIONS);
	assert_true(pbkdf2_step(&p, ITERATIONS));
	pbkdf2_key(&p, h->hash);
	login_start();
	guesser = (struct net_addr){0};
	return 0;
}

/* Steps the check from `now` on, without time passing unless it asks for it; returns when it ended. */
static uint64_t finish_at(struct login *l, uint64_t now)
{
	for (;;) {
		const uint64_t due = login_step(l, now);
		if (l->state == LOGIN_RIGHT || l->state == LOGIN_WRONG)
			return now;
		assert_true(due != UINT64_MAX);
		now = due > now ? due : now;
	}
}

static enum login_state try_at(const char *password, uint64_t now, uint64_t *end)
{
	static const char nothing[sizeof(struct pbkdf2)];
	struct login l = {0};
	const struct net_addr from = source(1);
	login_ask(&l, &from, text_of(user), password, strlen(password));
	*end = finish_at(&l, now);
	assert_memory_equal(l.password, nothing, sizeof l.password);
	assert_memory_equal(&l.work, nothing, sizeof l.work);
	const enum login_state state = l.state;
	assert_int_equal(login_step(&l, now), UINT64_MAX);
	login_forget(&l);
	assert_int_equal(l.state, LOGIN_IDLE);
	return state;
}

static void test_verdicts(void **state)
{
	char text[LOGIN_PASSWORD_MAX + 2];
	uint64_t end;
	(void)state;
	assert_int_equal(try_at("secret", S, &end), LOGIN_RIGHT);
	assert_int_equal(end, S); /* at once */
	assert_int_equal(try_at("secreT", S, &end), LOGIN_WRONG);
	assert_int_equal(end, S + LOGIN_WRONG_NS);
	assert_int_equal(try_at("", S, &end), LOGIN_WRONG);
	memset(text, 0, sizeof text);
	memset(text, 'x', LOGIN_PASSWORD_MAX + 1);
	assert_int_equal(try_at(text, S, &end), LOGIN_WRONG);
}

/* With users only a user's own password is right; another name takes as long as a wrong password. */
static void test_users(void **state)
{
	struct config_users *u = &running.config.users;
	uint64_t end;
	(void)state;
	u->count = 2;
	memcpy(u->user[0].name, "ann", 4);
	u->user[0].has_password = true;
	u->user[0].password = running.config.console.password;
	memcpy(u->user[1].name, "bob", 4); /* by keys alone */
	user = "ann";
	assert_int_equal(try_at("secret", S, &end), LOGIN_RIGHT);
	assert_int_equal(try_at("wrong", S, &end), LOGIN_WRONG);
	static const char *const others[] = {"bob", "eve", "", "a-name-that-is-much-too-long-for-any-user"};
	for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
		user = others[i];
		assert_int_equal(try_at("secret", S, &end), LOGIN_WRONG);
		assert_int_equal(end, S + LOGIN_WRONG_NS);
	}
	u->count = 0;
	user = "";
	running.config.console.password_line = 0; /* no password: nobody */
	login_start();
	assert_int_equal(try_at("", S, &end), LOGIN_WRONG);
	assert_int_equal(try_at("secret", S, &end), LOGIN_WRONG);
}

/* A longer password is wrong even if what remains of it is right. */
static void test_too_long(void **state)
{
	struct password_hash *h = &running.config.console.password;
	char text[LOGIN_PASSWORD_MAX + 2] = {0};
	struct pbkdf2 p;
	uint64_t end;
	(void)state;
	memset(text, 'x', LOGIN_PASSWORD_MAX);
	pbkdf2_begin(&p, "", 0, h->salt, 8, ITERATIONS);
	assert_true(pbkdf2_step(&p, ITERATIONS));
	pbkdf2_key(&p, h->hash);
	assert_int_equal(try_at("", S, &end), LOGIN_RIGHT);
	text[LOGIN_PASSWORD_MAX] = 'x';
	assert_int_equal(try_at(text, S, &end), LOGIN_WRONG);
}

static void test_guesses(void **state)
{
	uint64_t end;
	(void)state;
	for (unsigned i = 0; i < 20; i++) { /* right ones cost none */
		assert_int_equal(try_at("secret", S, &end), LOGIN_RIGHT);
		assert_int_equal(end, S);
	}
	for (unsigned i = 0; i < LOGIN_GUESSES; i++) {
		assert_int_equal(try_at("wrong", S, &end), LOGIN_WRONG);
		assert_int_equal(end, S + LOGIN_WRONG_NS);
	}
	assert_int_equal(try_at("secret", S, &end), LOGIN_RIGHT); /* waits for a guess */
	assert_int_equal(end, S + LOGIN_GUESS_NS);
	assert_int_equal(try_at("wrong", end, &end), LOGIN_WRONG);
	assert_int_equal(try_at("wrong", end, &end), LOGIN_WRONG);
	assert_int_equal(end, S + 2 * LOGIN_GUESS_NS + LOGIN_WRONG_NS);
}

/* Another source's check comes before those of the source that has just guessed. */
static void test_turns(void **state)
{
	struct login l[4] = {{0}};
	const struct net_addr a = source(1), b = source(2);
	(void)state;
	guesses = 0;
	guess_ns = 10 * S;
	guesser = a;
	login_ask(&l[0], &a, text_of(user), "w", 1);
	login_ask(&l[1], &a, text_of(user), "w", 1);
	login_ask(&l[2], &b, text_of(user), "w", 1);
	login_ask(&l[3], &b, text_of(user), "w", 1);
	static const unsigned order[] = {2, 0, 3, 1};
	for (unsigned k = 0; k < 4; k++) {
		const uint64_t now = 10 * S + k * LOGIN_GUESS_NS;
		for (unsigned pass = 0; pass < 2; pass++)
			for (unsigned i = 0; i < 4; i++)
				login_step(&l[i], now);
		for (unsigned i = 0; i < 4; i++) {
			bool begun = false;
			for (unsigned j = 0; j <= k; j++)
				begun |= order[j] == i;
			assert_int_equal(l[i].state != LOGIN_WAIT, begun);
		}
	}
	for (unsigned i = 0; i < 4; i++)
		login_forget(&l[i]);
	assert_null(waiting);
}

static void test_forget(void **state)
{
	struct login l[3] = {{0}};
	const struct net_addr a = source(1);
	(void)state;
	guesses = 0;
	guess_ns = 10 * S;
	for (unsigned i = 0; i < 3; i++)
		login_ask(&l[i], &a, text_of(user), "w", 1);
	login_forget(&l[1]);
	assert_ptr_equal(l[0].next, &l[2]);
	login_forget(&l[0]);
	login_step(&l[2], 10 * S);
	assert_int_equal(l[2].state, LOGIN_CHECK);
	login_forget(&l[2]);
	assert_int_equal(l[2].state, LOGIN_IDLE);
	assert_null(waiting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_verdicts, setup),
		cmocka_unit_test_setup(test_users, setup),
		cmocka_unit_test_setup(test_too_long, setup),
		cmocka_unit_test_setup(test_guesses, setup),
		cmocka_unit_test_setup(test_turns, setup),
		cmocka_unit_test_setup(test_forget, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
