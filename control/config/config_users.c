/* The statements of users; see config_parse.h and docs/configuration.md. */
#include "control/config/config_parse.h"

#include "control/text/base64.h"
#include "lib/bytes.h"

#define NAME_WANTED \
	"a user's name has 1 to 20 characters: small letters, digits, - and _, and begins with a letter or _"

/* --- words --- */

static bool is_user_name(struct text w)
{
	if (w.len == 0 || w.len >= CONFIG_USER_SIZE)
		return false;
	for (size_t i = 0; i < w.len; i++) {
		const char c = w.at[i];
		const bool letter = (c >= 'a' && c <= 'z') || c == '_';
		if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-')))
			return false;
	}
	return true;
}

/* The user of word i; a new one if there is none of this name. */
static int find_user(struct parser *p, unsigned i, unsigned *user)
{
	struct config_users *u = &p->out->users;
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	const struct text name = p->w.word[i];
	if (!is_user_name(name))
		return FAIL(p, i, NAME_WANTED);
	for (*user = 0; *user < u->count; (*user)++)
		if (text_equal(name, text_of(u->user[*user].name)))
			return 0;
	if (u->count == CONFIG_USERS_MAX)
		return FAIL(p, i, "too many users; at most %d", CONFIG_USERS_MAX);
	struct config_user *new = &u->user[u->count++];
	memcpy(new->name, name.at, name.len);
	new->line = p->w.line;
	return 0;
}

/* --- role --- */

static int parse_role(struct parser *p, unsigned i, struct config_user *u)
{
	const char *why;
	const enum role role = role_of_word(words_at(&p->w, i));
	if (u->role_line != 0)
		return FAIL(p, i - 1, "this user's role stands already at line %u", u->role_line);
	if (role == ROLE_NONE)
		return FAIL(p, i, "expected the role: read, operate or configure");
	if (i + 1 < p->w.n) {
		if (!words_is(&p->w, i + 1, "password"))
			return FAIL(p, i + 1, "expected password or the end of the line");
		int error = words_expect(&p->w, i + 2);
		if (error != 0 || (error = words_end(&p->w, i + 3)) != 0)
			return error;
		if (password_parse(p->w.word[i + 2], &u->password, &why) != E_OK)
			return FAIL(p, i + 2, "%s", why);
		u->has_password = true;
	}
	u->role = role;
	u->role_line = p->w.line;
	return 0;
}

/* --- keys of SSH --- */

static const char *const key_types[CONFIG_SSH_TYPES] = {
	[CONFIG_SSH_ED25519] = "ssh-ed25519",
	[CONFIG_SSH_P256] = "ecdsa-sha2-nistp256",
};

const char *config_ssh_type(enum config_ssh_type type)
{
	return key_types[type];
}

/* RFC 4253 6.6: a key begins with its type, as a string with its length in front. */
static bool has_type(const uint8_t *blob, size_t n, const char *type)
{
	const size_t len = strlen(type);
	return n >= 4 + len && be32_load(blob) == len && memcmp(blob + 4, type, len) == 0;
}

int config_ssh_key_blob(const struct config_ssh_key *k, uint8_t blob[CONFIG_SSH_BLOB_MAX])
{
	return base64_decode(text_of(k->text), blob, CONFIG_SSH_BLOB_MAX);
}

static int parse_key(struct parser *p, unsigned i, unsigned user)
{
	/* ssh-ed25519: RFC 8709 4; ecdsa-sha2-nistp256: RFC 5656 3.1, an uncompressed point */
	static const int bytes[CONFIG_SSH_TYPES] = {[CONFIG_SSH_ED25519] = 51, [CONFIG_SSH_P256] = 104};
	struct config_users *u = &p->out->users;
	uint8_t blob[CONFIG_SSH_BLOB_MAX];
	struct config_ssh_key k = {.user = (uint8_t)user, .line = p->w.line};
	int error = words_expect(&p->w, i);
	if (error != 0 || (error = words_end(&p->w, i + 2)) != 0)
		return error;
	while (k.type < CONFIG_SSH_TYPES && !text_equal(p->w.word[i], text_of(key_types[k.type])))
		k.type++;
	if (k.type == CONFIG_SSH_TYPES)
		return FAIL(p, i, "the type of a key is ssh-ed25519 or ecdsa-sha2-nistp256");
	const struct text key = words_at(&p->w, i + 1);
	if (key.len < sizeof k.text)
		memcpy(k.text, key.at, key.len);
	if (key.len >= sizeof k.text || config_ssh_key_blob(&k, blob) != bytes[k.type] ||
	    !has_type(blob, sizeof blob, key_types[k.type]))
		return FAIL(p, i + 1, "expected an OpenSSH public key of this type in base64, without a comment");
	for (unsigned j = 0; j < u->keys; j++)
		if (u->key[j].user == user && strcmp(u->key[j].text, k.text) == 0)
			return FAIL(p, i + 1, "this key stands already at line %u", u->key[j].line);
	if (u->keys == CONFIG_USER_KEYS_MAX)
		return FAIL(p, i, "too many keys; at most %d of all users", CONFIG_USER_KEYS_MAX);
	unsigned at = u->keys; /* in the order of users, as they are printed */
	for (; at > 0 && u->key[at - 1].user > user; at--)
		u->key[at] = u->key[at - 1];
	u->key[at] = k;
	u->keys++;
	return 0;
}

/* --- tokens --- */

static int parse_token(struct parser *p, unsigned i, unsigned user)
{
	struct config_users *u = &p->out->users;
	struct config_token t = {.user = (uint8_t)user, .line = p->w.line};
	const struct text w = words_at(&p->w, i);
	if (text_parse_hex(w, t.hash, sizeof t.hash) != E_OK)
		return FAIL(p, i, "expected the SHA-256 hash of a token, 64 hexadecimal digits, as "
		                  "\"tools/hayate token\" prints it");
	int error = words_end(&p->w, i + 1);
	if (error != 0)
		return error;
	for (unsigned j = 0; j < u->tokens; j++)
		if (memcmp(u->token[j].hash, t.hash, sizeof t.hash) == 0)
			return FAIL(p, i, "this token stands already at line %u", u->token[j].line);
	if (u->tokens == CONFIG_TOKENS_MAX)
		return FAIL(p, i, "too many tokens; at most %d of all users", CONFIG_TOKENS_MAX);
	unsigned at = u->tokens; /* likewise */
	for (; at > 0 && u->token[at - 1].user > user; at--)
		u->token[at] = u->token[at - 1];
	u->token[at] = t;
	u->tokens++;
	return 0;
}

/* --- the statement --- */

int config_username(struct parser *p, unsigned i)
{
	unsigned user = 0;
	int error = find_user(p, i, &user);
	if (error != 0)
		return error;
	if (words_is(&p->w, i + 1, "role"))
		return parse_role(p, i + 2, &p->out->users.user[user]);
	if (words_is(&p->w, i + 1, "ssh-key"))
		return parse_key(p, i + 2, user);
	if (words_is(&p->w, i + 1, "token"))
		return parse_token(p, i + 2, user);
	return FAIL(p, i + 1, "expected role, ssh-key or token");
}

int config_check_users(const struct config *c, struct text_error *err)
{
	for (unsigned i = 0; i < c->users.count; i++)
		if (c->users.user[i].role_line == 0)
			return text_fail(err, c->users.user[i].line, text_of(c->users.user[i].name),
			                 "this user has no role; add a line \"username %s role ROLE\"",
			                 c->users.user[i].name);
	return 0;
}

/* --- use --- */

const struct config_user *config_user(const struct config *c, struct text name)
{
	for (unsigned i = 0; i < c->users.count; i++)
		if (text_equal(name, text_of(c->users.user[i].name)))
			return &c->users.user[i];
	return NULL;
}

const struct config_user *config_token_user(const struct config *c, const uint8_t hash[SHA256_BYTES])
{
	const struct config_user *found = NULL;
	for (unsigned i = 0; i < c->users.tokens; i++) {
		unsigned differ = 0;
		for (unsigned k = 0; k < SHA256_BYTES; k++)
			differ |= c->users.token[i].hash[k] ^ hash[k];
		if (differ == 0)
			found = &c->users.user[c->users.token[i].user];
	}
	return found;
}

bool config_hides(struct text line, struct text *shown)
{
	struct text rest = line, word = {line.at, 0};
	if (!text_next_word(&rest, &word))
		return false;
	const bool user = text_is_word(word, text_of("username"));
	if (!user && !text_is_word(word, text_of("console")))
		return false;
	while (text_next_word(&rest, &word)) {
		if (!text_is_word(word, text_of("password")) && !(user && text_is_word(word, text_of("token"))))
			continue;
		*shown = (struct text){line.at, (size_t)(word.at + word.len - line.at)};
		if (text_next_word(&rest, &word))
			return true;
	}
	return false;
}
