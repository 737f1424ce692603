/* See login.h. */
#include "control/management/login.h"

#include "control/config/config.h"
#include "control/config/running.h"
#include "lib/mem.h"

static struct login *waiting; /* in order of arrival */

/* Guesses that may be made now. At guess_ns there is one more, up to LOGIN_GUESSES. */
static unsigned guesses = LOGIN_GUESSES;
static uint64_t guess_ns;
static struct net_addr guesser; /* the source of the last guess */

void login_start(void)
{
	guesses = LOGIN_GUESSES;
	waiting = NULL;
}

/* Number of guesses that may be made now. If 0, the next one may be made at guess_ns. */
static unsigned count_guesses(uint64_t now)
{
	if (guesses == LOGIN_GUESSES)
		guess_ns = now + LOGIN_GUESS_NS;
	for (; guesses < LOGIN_GUESSES && now >= guess_ns; guess_ns += LOGIN_GUESS_NS)
		guesses++;
	return guesses;
}

/* The check whose turn it is: the first one of another source than the last guess's, or else the
 * first. So a source that guesses on all its connections gets at most every other guess while another
 * source waits. */
static const struct login *first(void)
{
	for (const struct login *l = waiting; l; l = l->next)
		if (!net_addr_same_source(&l->from, &guesser))
			return l;
	return waiting;
}

static void stop_waiting(struct login *l)
{
	struct login **at = &waiting;
	while (*at && *at != l)
		at = &(*at)->next;
	if (*at)
		*at = l->next;
}

static void erase(struct login *l)
{
	memset(l->password, 0, sizeof l->password);
	memset(&l->work, 0, sizeof l->work);
	l->len = 0;
}

/* Of a user that does not exist: no password has this hash. */
static const struct password_hash nobody = {.iterations = 100000, .salt_len = PASSWORD_SALT_MIN};

/* The hash that a password is compared with. */
static const struct password_hash *hash_for(const struct login *l)
{
	const struct config *c = &running.config;
	const struct config_user *u = config_user(c, text_of(l->user));
	if (c->users.count == 0)
		return c->console.password_line ? &c->console.password : &nobody;
	return u && u->has_password ? &u->password : &nobody;
}

void login_ask(struct login *l, const struct net_addr *from, struct text user, const char *password, size_t n)
{
	struct login **at = &waiting;
	assert(l->state == LOGIN_IDLE);
	while (*at)
		at = &(*at)->next;
	*at = l;
	l->next = NULL;
	l->state = LOGIN_WAIT;
	l->from = *from;
	l->long_one = n > LOGIN_PASSWORD_MAX;
	l->len = l->long_one ? 0 : (uint8_t)n;
	memcpy(l->password, password, l->len);
	user.len = user.len < sizeof l->user ? user.len : 0;
	memcpy(l->user, user.at, user.len);
	l->user[user.len] = 0;
}

/* It is this one's turn. */
static void begin(struct login *l, uint64_t now)
{
	const struct password_hash *h = hash_for(l);
	stop_waiting(l);
	guesses--;
	guesser = l->from;
	l->state = LOGIN_CHECK;
	l->wrong_ns = now + LOGIN_WRONG_NS;
	pbkdf2_begin(&l->work, l->password, l->len, h->salt, h->salt_len, h->iterations);
}

static void end(struct login *l, enum login_state state)
{
	erase(l);
	l->state = state;
}

/* Computes a part of the hash; returns the time of the next call. */
static uint64_t check(struct login *l, uint64_t now)
{
	uint8_t key[SHA256_BYTES];
	if (!pbkdf2_step(&l->work, LOGIN_STEPS))
		return now;
	pbkdf2_key(&l->work, key);
	if (password_is(hash_for(l), key) && !l->long_one) {
		guesses += guesses < LOGIN_GUESSES;
		end(l, LOGIN_RIGHT);
	} else if (now < l->wrong_ns) {
		return l->wrong_ns;
	} else {
		end(l, LOGIN_WRONG);
	}
	return now;
}

uint64_t login_step(struct login *l, uint64_t now_ns)
{
	if (l->state == LOGIN_WAIT) {
		if (count_guesses(now_ns) == 0)
			return guess_ns;
		if (first() != l)
			return now_ns; /* another check takes the guess in this turn */
		begin(l, now_ns);
	}
	return l->state == LOGIN_CHECK ? check(l, now_ns) : UINT64_MAX;
}

void login_forget(struct login *l)
{
	if (l->state == LOGIN_WAIT)
		stop_waiting(l);
	end(l, LOGIN_IDLE);
}
