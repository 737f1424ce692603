/* See http_auth.h. */
#include "control/management/http_auth.h"

#include "control/config/running.h"
#include "control/console/log.h"
#include "control/management/users.h"
#include "control/text/base64.h"
#include "lib/mem.h"
#include "runtime/runtime.h"

#define REMEMBER_NS (600 * SECOND_NS)
#define REMEMBERED 16
#define CREDENTIALS_MAX (CONFIG_USER_SIZE + LOGIN_PASSWORD_MAX) /* NAME:PASSWORD */

/* A password that was right. */
static struct {
	uint8_t key[SHA256_BYTES];  /* of credentials and user's hash */
	uint64_t used_ns;           /* 0: free */
} right[REMEMBERED];

/* A user and a source that the log has named. */
static struct {
	char user[CONFIG_USER_SIZE];
	struct net_addr from;
	uint64_t used_ns;
} known[REMEMBERED];

static uint8_t secret[32]; /* of the keys; drawn at the first use */
static bool has_secret;

static bool is_fresh(uint64_t used_ns, uint64_t now)
{
	return used_ns && now - used_ns < REMEMBER_NS;
}

/* --- the event log --- */

static void log_in(const struct http_auth *a)
{
	char who[USERS_WHO_SIZE];
	const uint64_t now = core_now_ns();
	unsigned oldest = 0, i;
	for (i = 0; i < REMEMBERED; i++) {
		if (is_fresh(known[i].used_ns, now) && strcmp(known[i].user, a->user) == 0 &&
		    net_addr_equal(&known[i].from, &a->from))
			break;
		oldest = known[i].used_ns < known[oldest].used_ns ? i : oldest;
	}
	if (i == REMEMBERED) {
		log_event(LOG_NOTICE, "LOGIN", "http: %s logged in", users_who(who, a->user, &a->from));
		i = oldest;
	}
	memcpy(known[i].user, a->user, sizeof known[i].user);
	known[i].from = a->from;
	known[i].used_ns = now;
}

static void log_refusal(const struct http_auth *a, const char *what)
{
	static uint64_t next_ns;
	static uint32_t left_out;
	char who[USERS_WHO_SIZE];
	const bool exists = config_user(&running.config, text_of(a->user)) != NULL;
	if (core_now_ns() < next_ns) {
		left_out++;
		return;
	}
	if (left_out)
		log_event(LOG_WARNING, "LOGIN", "http: %u further refusals", left_out);
	log_event(LOG_WARNING, "LOGIN", "http: %s sent a wrong %s", users_who(who, exists ? a->user : "", &a->from),
	          what);
	left_out = 0;
	next_ns = core_now_ns() + SECOND_NS;
}

/* --- passwords --- */

/* The key under which a password is remembered: it depends on a secret and on the hash of the user's password. */
static void key_of(uint8_t key[SHA256_BYTES], struct text credentials, const struct config_user *u)
{
	struct sha256 s;
	const uint32_t len = (uint32_t)credentials.len;
	if (!has_secret)
		core_random(secret, sizeof secret);
	has_secret = true;
	sha256_init(&s);
	sha256_add(&s, secret, sizeof secret);
	sha256_add(&s, &len, sizeof len);
	sha256_add(&s, credentials.at, credentials.len);
	if (u)
		sha256_add(&s, &u->password, sizeof u->password);
	sha256_end(&s, key);
}

static bool is_remembered(const uint8_t key[SHA256_BYTES])
{
	const uint64_t now = core_now_ns();
	bool found = false;
	for (unsigned i = 0; i < REMEMBERED; i++) {
		unsigned differ = 0;
		for (unsigned k = 0; k < SHA256_BYTES; k++)
			differ |= right[i].key[k] ^ key[k];
		if (differ || !is_fresh(right[i].used_ns, now))
			continue;
		right[i].used_ns = now;
		found = true;
	}
	return found;
}

static void remember(const uint8_t key[SHA256_BYTES])
{
	unsigned oldest = 0;
	for (unsigned i = 1; i < REMEMBERED; i++)
		oldest = right[i].used_ns < right[oldest].used_ns ? i : oldest;
	memcpy(right[oldest].key, key, SHA256_BYTES);
	right[oldest].used_ns = core_now_ns();
}

static void let_in(struct http_auth *a, const struct config_user *u)
{
	a->state = HTTP_AUTH_RIGHT;
	a->role = u->role;
	memcpy(a->user, u->name, sizeof a->user);
	log_in(a);
}

static void begin_basic(struct http_auth *a, struct text token)
{
	char credentials[CREDENTIALS_MAX];
	const int n = base64_decode(token, (uint8_t *)credentials, sizeof credentials);
	const struct text all = {credentials, n > 0 ? (size_t)n : 0};
	const size_t colon = text_find(all, ':');
	a->state = HTTP_AUTH_WRONG;
	if (colon == all.len || colon >= sizeof a->user)
		return;
	memcpy(a->user, credentials, colon);
	a->user[colon] = 0;
	const struct config_user *u = config_user(&running.config, text_of(a->user));
	key_of(a->key, all, u);
	if (u && u->has_password && is_remembered(a->key)) {
		let_in(a, u);
	} else {
		a->state = HTTP_AUTH_CHECK;
		login_ask(&a->login, &a->from, text_of(a->user), credentials + colon + 1, all.len - colon - 1);
	}
	memset(credentials, 0, sizeof credentials);
}

/* --- tokens --- */

static void begin_bearer(struct http_auth *a, struct text token)
{
	uint8_t hash[SHA256_BYTES];
	sha256_of(token.at, token.len, hash);
	const struct config_user *u = config_token_user(&running.config, hash);
	a->token = true;
	if (u) {
		let_in(a, u);
		return;
	}
	a->state = HTTP_AUTH_WRONG;
	log_refusal(a, "token");
}

/* --- interface --- */

void http_auth_begin(struct http_auth *a, const struct http_request *r, const struct net_addr *from)
{
	struct text rest = text_of(r->field[HTTP_AUTHORIZATION]), scheme, token = {"", 0};
	a->state = HTTP_AUTH_NONE;
	a->role = running.config.users.count ? ROLE_NONE : ROLE_CONFIGURE;
	a->token = false;
	a->user[0] = 0;
	a->from = *from;
	a->login.state = LOGIN_IDLE;
	if (running.config.users.count == 0 || !text_next_word(&rest, &scheme))
		return;
	(void)text_next_word(&rest, &token);
	if (text_is_word(scheme, text_of("Basic")))
		begin_basic(a, token);
	else if (text_is_word(scheme, text_of("Bearer")))
		begin_bearer(a, token);
	else
		a->state = HTTP_AUTH_WRONG;
}

uint64_t http_auth_step(struct http_auth *a, uint64_t now_ns)
{
	const uint64_t due = login_step(&a->login, now_ns);
	const enum login_state state = a->login.state;
	const struct config_user *u = config_user(&running.config, text_of(a->user));
	if (state != LOGIN_RIGHT && state != LOGIN_WRONG)
		return due;
	login_forget(&a->login);
	if (state == LOGIN_RIGHT && u) {
		remember(a->key);
		let_in(a, u);
	} else {
		a->state = HTTP_AUTH_WRONG;
		log_refusal(a, "password");
	}
	memset(a->key, 0, sizeof a->key);
	return now_ns;
}

void http_auth_forget(struct http_auth *a)
{
	login_forget(&a->login);
	memset(a->key, 0, sizeof a->key);
}
