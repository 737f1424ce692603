/* See ssh_rig.h. */
#include "tests/unit/rig/ssh_rig.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "lib/sha256.h"

#define CLIENT_ID "SSH-2.0-Rig_1"
#define SERVER_ID "SSH-2.0-Hayate"
#define LENGTH_KEY 32 /* PROTOCOL.chacha20poly1305: the second 256 bits encrypt lengths */

const uint8_t rig_blob[51] = "\0\0\0\x0bssh-ed25519\0\0\0\x20" "abcdefghijklmnopqrstuvwxyz012345";

/* --- made-up cryptography --- */

static bool c_random(void *out, uint32_t n)
{
	static uint8_t next;
	for (uint32_t i = 0; i < n; i++)
		((uint8_t *)out)[i] = next++;
	return true;
}

static bool c_sha256(const void *in, uint32_t n, uint8_t out[SSH_HASH])
{
	sha256_of(in, n, out);
	return true;
}

/* Shares are public; the secret is both XORed. */
static bool c_agree(enum ssh_kex kex, struct ssh_text peer, uint8_t share[SSH_POINT_MAX], uint8_t secret[SSH_SECRET])
{
	const uint32_t n = kex == SSH_CURVE25519_SHA256 ? 32 : 65;
	if (peer.n != n || peer.at[n - 1] == 0)
		return false;
	memset(share, 0xa5, n);
	for (unsigned i = 0; i < 32; i++)
		secret[i] = peer.at[i] ^ 0xa5;
	return true;
}

static uint32_t c_host_key(enum ssh_key kind, uint8_t point[SSH_POINT_MAX])
{
	memset(point, 'H', SSH_POINT_MAX);
	point[0] = 4;
	return kind == SSH_ED25519 ? 32 : kind == SSH_ECDSA_NISTP256 ? 65 : 0;
}

static bool c_sign(enum ssh_key kind, const void *in, uint32_t n, uint8_t signature[SSH_SIGNATURE])
{
	sha256_of(in, n, signature);
	memset(signature + 32, (int)kind + 1, 32);
	return true;
}

static bool c_verify(const struct ssh_public *key, struct ssh_text message, struct ssh_text signature)
{
	uint8_t hash[32];
	sha256_of(message.at, message.n, hash);
	return key->kind == SSH_ED25519 && signature.n == 64 && memcmp(signature.at, hash, 32) == 0;
}

static bool c_begin(struct ssh_cipher_state *c, enum ssh_cipher cipher, const uint8_t *key)
{
	memset(c, 0, sizeof *c);
	memcpy(c->key, key, ssh_cipher_key(cipher));
	c->handle[0] = 1;
	return true;
}

static void c_end(struct ssh_cipher_state *c, enum ssh_cipher cipher)
{
	(void)cipher;
	assert(c->handle[0] == 1); /* begun once, ended once */
	memset(c, 0, sizeof *c);
}

static void tag_of(const uint8_t *key, const uint8_t *nonce, const uint8_t *packet, uint32_t n, uint8_t tag[16])
{
	struct sha256 s;
	uint8_t hash[32];
	sha256_init(&s);
	sha256_add(&s, key, 16);
	sha256_add(&s, nonce, 12);
	sha256_add(&s, packet, n);
	sha256_end(&s, hash);
	memcpy(tag, hash, 16);
}

static void mix(const uint8_t *key, uint8_t *packet, uint32_t n, bool with_length)
{
	for (uint32_t i = with_length ? 0 : 4; i < n; i++)
		packet[i] ^= key[i < 4 ? LENGTH_KEY : 0];
}

static void seal_with(const uint8_t *key, bool with_length, const uint8_t *nonce, uint8_t *packet, uint32_t n)
{
	mix(key, packet, n, with_length);
	tag_of(key, nonce, packet, n, packet + n);
}

static bool open_with(const uint8_t *key, const uint8_t *nonce, uint8_t *packet, uint32_t n)
{
	uint8_t tag[16];
	tag_of(key, nonce, packet, n, tag);
	if (memcmp(tag, packet + n, 16) != 0)
		return false;
	mix(key, packet, n, false);
	return true;
}

static bool c_seal(struct ssh_cipher_state *c, enum ssh_cipher cipher, const uint8_t nonce[SSH_NONCE], uint8_t *packet,
                   uint32_t n)
{
	seal_with(c->key, cipher == SSH_CHACHA20_POLY1305, nonce, packet, n);
	return true;
}

static bool c_open(struct ssh_cipher_state *c, enum ssh_cipher cipher, const uint8_t nonce[SSH_NONCE], uint8_t *packet,
                   uint32_t n)
{
	(void)cipher;
	return open_with(c->key, nonce, packet, n);
}

static bool c_length(struct ssh_cipher_state *c, const uint8_t nonce[SSH_NONCE], const uint8_t in[4], uint8_t out[4])
{
	(void)nonce;
	for (unsigned i = 0; i < 4; i++)
		out[i] = in[i] ^ c->key[LENGTH_KEY];
	return true;
}

const struct ssh_crypto rig_crypto = {
	.random = c_random, .sha256 = c_sha256, .agree = c_agree, .host_key = c_host_key, .sign = c_sign,
	.verify = c_verify, .cipher_begin = c_begin, .cipher_end = c_end, .seal = c_seal, .open = c_open,
	.length = c_length,
};

/* --- the server's owner --- */

static bool o_knows_key(struct ssh *s, struct ssh_text user, struct ssh_text blob)
{
	(void)s;
	return ssh_text_is(user, "admin") && ssh_text_equal(blob, (struct ssh_text){rig_blob, sizeof rig_blob});
}

static void keep(char *to, size_t size, const char *front, struct ssh_text t)
{
	const size_t at = strlen(front), n = t.n < size - at - 1 ? t.n : size - at - 1;
	memcpy(to, front, at);
	if (n)
		memcpy(to + at, t.at, n);
	to[at + n] = 0;
}

static void o_password(struct ssh *s, struct ssh_text user, struct ssh_text password)
{
	struct ssh_rig *r = s->ctx;
	(void)user;
	keep(r->password, sizeof r->password, "", password);
}

static void o_logged_in(struct ssh *s, struct ssh_text blob)
{
	struct ssh_rig *r = s->ctx;
	(void)blob;
	r->logins++;
}

static bool o_start(struct ssh *s, struct ssh_text command)
{
	struct ssh_rig *r = s->ctx;
	if (r->refuse_start)
		return false;
	keep(r->start, sizeof r->start, command.n ? "exec " : "shell", command);
	return true;
}

static void o_data(struct ssh *s, const uint8_t *data, uint32_t n)
{
	struct ssh_rig *r = s->ctx;
	assert(n > 0 && n <= SSH_WINDOW);
	const uint32_t room = (uint32_t)sizeof r->data - r->data_len, kept = n < room ? n : room;
	memcpy(r->data + r->data_len, data, kept);
	r->data_len += kept;
}

static void o_ended(struct ssh *s, bool closed)
{
	struct ssh_rig *r = s->ctx;
	r->ended += !closed;
	r->closed += closed;
}

static const struct ssh_ops owner = {.knows_key = o_knows_key, .password = o_password, .logged_in = o_logged_in,
                                     .start = o_start, .data = o_data, .ended = o_ended};

/* --- packets of the client --- */

static bool is_chacha(const struct ssh_rig *r)
{
	return r->cipher && strncmp(r->cipher, "chacha20", 8) == 0;
}

static void nonce_of(const struct ssh_rig *r, const struct rig_side *side, uint8_t nonce[12])
{
	memcpy(nonce, side->nonce, 12);
	if (is_chacha(r)) {
		memset(nonce, 0, 12);
		be32_store(nonce + 8, side->seq);
	}
}

static void advance(struct rig_side *side)
{
	side->seq++;
	for (unsigned i = 12; i-- > 4;)
		if (++side->nonce[i])
			break;
}

void rig_move(struct ssh_rig *r)
{
	for (;;) {
		const uint8_t *at;
		const uint32_t n = ssh_output(&r->ssh, &at);
		if (n == 0 && !ssh_has_work(&r->ssh))
			return;
		if (n) {
			if (r->in_at) {
				memmove(r->in, r->in + r->in_at, r->in_len - r->in_at);
				r->in_len -= r->in_at;
				r->in_at = 0;
			}
			assert(n <= sizeof r->in - r->in_len);
			memcpy(r->in + r->in_len, at, n);
			r->in_len += n;
			ssh_sent(&r->ssh, n);
		}
		ssh_work(&r->ssh);
	}
}

int rig_take(struct ssh_rig *r, struct ssh_reader *fields)
{
	struct rig_side *side = &r->from;
	uint8_t *at, nonce[12];
	rig_move(r);
	at = r->in + r->in_at;
	if (r->in_len - r->in_at < 4)
		return -1;
	if (side->on && is_chacha(r))
		for (unsigned i = 0; i < 4; i++)
			at[i] ^= side->key[LENGTH_KEY];
	const uint32_t length = be32_load(at), bytes = 4 + length, tag = side->on ? 16 : 0;
	if (bytes > SSH_PACKET_MAX || r->in_len - r->in_at < bytes + tag)
		return -2; /* the server sends whole packets */
	nonce_of(r, side, nonce);
	if (side->on && is_chacha(r))
		for (unsigned i = 0; i < 4; i++)
			at[i] ^= side->key[LENGTH_KEY];
	if (side->on && !open_with(side->key, nonce, at, bytes))
		return -2;
	be32_store(at, length);
	advance(side);
	const uint32_t block = side->on && !is_chacha(r) ? 16 : 8;
	if (at[4] < 4 || at[4] + 1u > length || (side->on ? length : bytes) % block)
		return -2;
	r->in_at += bytes + tag;
	*fields = (struct ssh_reader){at + 6, length - 2 - at[4], false};
	return at[5];
}

void rig_raw(struct ssh_rig *r, const void *data, uint32_t n)
{
	const uint8_t *at = data;
	while (n) {
		const uint32_t taken = ssh_input(&r->ssh, at, n);
		at += taken;
		n -= taken;
		if (taken == 0 && !ssh_has_work(&r->ssh))
			return; /* the server waits for its owner */
		rig_move(r);
	}
}

struct ssh_writer *rig_message(struct ssh_rig *r, enum rig_number number)
{
	r->w = (struct ssh_writer){.at = r->message, .size = sizeof r->message};
	ssh_put_u8(&r->w, (uint8_t)number);
	return &r->w;
}

uint32_t rig_frame(struct ssh_rig *r, uint8_t *packet)
{
	struct rig_side *side = &r->to;
	const uint32_t block = side->on && !is_chacha(r) ? 16 : 8, n = r->w.used;
	uint32_t padding = 4;
	uint8_t nonce[12];
	while (((side->on ? 1 : 5) + n + padding) % block)
		padding++;
	const uint32_t bytes = 5 + n + padding;
	be32_store(packet, bytes - 4);
	packet[4] = (uint8_t)padding;
	memcpy(packet + 5, r->message, n);
	memset(packet + 5 + n, 'p', padding);
	nonce_of(r, side, nonce);
	if (side->on)
		seal_with(side->key, is_chacha(r), nonce, packet, bytes);
	advance(side);
	return bytes + (side->on ? 16 : 0);
}

void rig_send(struct ssh_rig *r)
{
	static uint8_t packet[(1 << 16) + 64];
	rig_raw(r, packet, rig_frame(r, packet));
}

/* --- the client's key exchange --- */

void rig_begin(struct ssh_rig *r)
{
	static const struct rig_side none;
	r->start[0] = r->password[0] = 0;
	r->data_len = r->logins = r->ended = r->closed = r->in_at = r->in_len = 0;
	r->refuse_start = r->has_session = false;
	r->to = r->from = r->next_to = r->next_from = none;
	const bool begun = ssh_begin(&r->ssh, &rig_crypto, &owner, r);
	assert(begun);
	rig_move(r);
	assert(r->in_len > sizeof SERVER_ID && memcmp(r->in, SERVER_ID "\r\n", sizeof SERVER_ID + 1) == 0);
	r->in_at = sizeof SERVER_ID + 1;
}

void rig_kexinit(struct ssh_rig *r)
{
	char kex[200] = "";
	struct ssh_writer *w = rig_message(r, RIG_KEXINIT);
	const char *cipher = r->cipher ? r->cipher : "aes256-gcm@openssh.com";
	const char *first = r->wrong_guess ? "ecdh-sha2-nistp521,curve25519-sha256" : "curve25519-sha256";
	keep(kex, sizeof kex, first, ssh_text_of(r->strict ? ",kex-strict-c-v00@openssh.com" : ""));
	keep(kex + strlen(kex), 20, r->ext_info ? ",ext-info-c" : "", ssh_text_of(""));
	ssh_put_bytes(w, "0123456789abcdef", 16);
	ssh_put_word(w, kex);
	ssh_put_word(w, "ssh-ed25519");
	for (unsigned i = 0; i < 2; i++)
		ssh_put_word(w, cipher);
	for (unsigned i = 0; i < 2; i++)
		ssh_put_word(w, "hmac-none-in-common");
	for (unsigned i = 0; i < 2; i++)
		ssh_put_word(w, "zlib,none");
	for (unsigned i = 0; i < 2; i++)
		ssh_put_word(w, "");
	ssh_put_bool(w, r->guess || r->wrong_guess);
	ssh_put_u32(w, 0);
	assert(w->used <= sizeof r->client_init);
	memcpy(r->client_init, w->at, w->used);
	r->client_init_len = w->used;
	rig_send(r);
	if (!r->wrong_guess)
		return;
	ssh_put_string(rig_message(r, RIG_ECDH_INIT), "a guess", 7);
	rig_send(r);
}

/* RFC 4253 7.2. */
static void derive(struct ssh_rig *r, char letter, uint8_t *out, uint32_t n)
{
	uint8_t text[256], hash[64];
	struct ssh_writer w = {.at = text, .size = sizeof text};
	ssh_put_mpint(&w, r->secret, 32);
	ssh_put_bytes(&w, r->hash, 32);
	const uint32_t at = w.used;
	ssh_put_u8(&w, (uint8_t)letter);
	ssh_put_bytes(&w, r->session, 32);
	sha256_of(text, w.used, hash);
	w.used = at;
	ssh_put_bytes(&w, hash, 32);
	sha256_of(text, w.used, hash + 32);
	memcpy(out, hash, n);
}

static void new_side(struct ssh_rig *r, struct rig_side *side, char iv, char key)
{
	*side = (struct rig_side){.on = true};
	derive(r, iv, side->nonce, 12);
	derive(r, key, side->key, 64);
}

/* Reads the server's reply and computes the exchange hash (RFC 5656 4). */
static bool take_reply(struct ssh_rig *r, const uint8_t share[32])
{
	static uint8_t text[4096];
	struct ssh_writer w = {.at = text, .size = sizeof text};
	struct ssh_reader f;
	uint8_t signature[32];
	if (rig_take(r, &f) != RIG_ECDH_REPLY)
		return false;
	const struct ssh_text key = ssh_get_string(&f), theirs = ssh_get_string(&f), signed_by = ssh_get_string(&f);
	if (!ssh_get_end(&f) || theirs.n != 32)
		return false;
	for (unsigned i = 0; i < 32; i++)
		r->secret[i] = share[i] ^ theirs.at[i];
	ssh_put_word(&w, CLIENT_ID);
	ssh_put_word(&w, SERVER_ID);
	ssh_put_string(&w, r->client_init, r->client_init_len);
	ssh_put_string(&w, r->server_init, r->server_init_len);
	ssh_put_text(&w, key);
	ssh_put_string(&w, share, 32);
	ssh_put_text(&w, theirs);
	ssh_put_mpint(&w, r->secret, 32);
	sha256_of(text, w.used, r->hash);
	if (!r->has_session)
		memcpy(r->session, r->hash, 32);
	r->has_session = true;
	sha256_of(r->hash, 32, signature);
	struct ssh_reader s = {signed_by.at, signed_by.n, false};
	const struct ssh_text name = ssh_get_string(&s), bytes = ssh_get_string(&s);
	return ssh_get_end(&s) && ssh_text_is(name, "ssh-ed25519") && bytes.n == 64 &&
	       memcmp(bytes.at, signature, 32) == 0;
}

/* RFC 8308 3.1: what users' keys may sign by. */
static bool is_ext_info(struct ssh_reader *f)
{
	return ssh_get_u32(f) == 1 && ssh_text_is(ssh_get_string(f), "server-sig-algs") &&
	       ssh_text_is(ssh_get_string(f), "ssh-ed25519,ecdsa-sha2-nistp256,rsa-sha2-256,rsa-sha2-512") &&
	       ssh_get_end(f);
}

bool rig_kex_rest(struct ssh_rig *r)
{
	const uint8_t share[32] = "the client's public part: 32 byt";
	const bool first = !r->has_session;
	struct ssh_reader f;
	if (rig_take(r, &f) != RIG_KEXINIT)
		return false;
	r->server_init_len = f.left + 1;
	memcpy(r->server_init, f.at - 1, r->server_init_len);
	ssh_put_string(rig_message(r, RIG_ECDH_INIT), share, 32);
	rig_send(r);
	if (!take_reply(r, share) || rig_take(r, &f) != RIG_NEWKEYS)
		return false;
	uint32_t seq = r->from.seq;
	new_side(r, &r->from, 'B', 'D');
	r->from.seq = r->strict ? 0 : seq;
	rig_message(r, RIG_NEWKEYS);
	rig_send(r);
	seq = r->to.seq;
	new_side(r, &r->to, 'A', 'C');
	r->to.seq = r->strict ? 0 : seq;
	return !first || !r->ext_info || (rig_take(r, &f) == RIG_EXT_INFO && is_ext_info(&f));
}

bool rig_connect(struct ssh_rig *r)
{
	rig_begin(r);
	rig_raw(r, CLIENT_ID "\r\n", sizeof CLIENT_ID + 1);
	rig_kexinit(r);
	return rig_kex_rest(r);
}

bool rig_login(struct ssh_rig *r)
{
	struct ssh_reader f;
	if (!rig_connect(r))
		return false;
	ssh_put_word(rig_message(r, RIG_SERVICE_REQUEST), "ssh-userauth");
	rig_send(r);
	if (rig_take(r, &f) != RIG_SERVICE_ACCEPT)
		return false;
	struct ssh_writer *w = rig_message(r, RIG_AUTH);
	ssh_put_word(w, "admin");
	ssh_put_word(w, "ssh-connection");
	ssh_put_word(w, "password");
	ssh_put_bool(w, false);
	ssh_put_word(w, "secret");
	rig_send(r);
	ssh_password_is(&r->ssh, strcmp(r->password, "secret") == 0);
	return rig_take(r, &f) == RIG_AUTH_SUCCESS;
}

bool rig_shell(struct ssh_rig *r)
{
	struct ssh_reader f;
	if (!rig_login(r))
		return false;
	struct ssh_writer *w = rig_message(r, RIG_OPEN);
	ssh_put_word(w, "session");
	ssh_put_u32(w, 7);     /* our number */
	ssh_put_u32(w, 40000); /* window */
	ssh_put_u32(w, 1000);  /* packet */
	rig_send(r);
	if (rig_take(r, &f) != RIG_OPENED || ssh_get_u32(&f) != 7)
		return false;
	w = rig_message(r, RIG_REQUEST);
	ssh_put_u32(w, 0);
	ssh_put_word(w, "shell");
	ssh_put_bool(w, true);
	rig_send(r);
	return rig_take(r, &f) == RIG_SUCCESS && ssh_get_u32(&f) == 7;
}
