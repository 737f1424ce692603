/*
 * The key exchange (RFC 4253 7 and 8 by RFC 5656 4 and RFC 8731), SHA-256 in all its methods:
 *
 *     KEXINIT both ways, ECDH_INIT --SSH_WORK_AGREE, SSH_WORK_SIGN--> ECDH_REPLY, NEWKEYS both ways
 *
 * With a client that knows strict key exchange (draft-miller-sshm-strict-kex) sequence numbers begin anew
 * with each NEWKEYS. With one that knows extensions EXT_INFO follows our first NEWKEYS (RFC 8308 2.4).
 */
#include "lib/assert.h"
#include "net/ssh/inside.h"

#define COOKIE 16

static const char *const kex_names[] = {"curve25519-sha256", "curve25519-sha256@libssh.org",
                                        "ecdh-sha2-nistp256"};
static const enum ssh_kex kex_methods[] = {SSH_CURVE25519_SHA256, SSH_CURVE25519_SHA256, SSH_ECDH_NISTP256};
static const char *const cipher_names[SSH_CIPHERS] = {"aes256-gcm@openssh.com", "aes128-gcm@openssh.com",
                                                      "chacha20-poly1305@openssh.com"};
static const char *const key_names[SSH_KEYS] = {"ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-256",
                                                "rsa-sha2-512"};
#define HOST_KEYS 2 /* the first of key_names */

/* Every cipher has its own tag, so no MAC is ever used (PROTOCOL 1.6). Names are here for clients that want
 * one in common nevertheless (RFC 4253 7.1). */
static const char macs[] = "hmac-sha2-256-etm@openssh.com,hmac-sha2-256";

#define STRICT_SERVER "kex-strict-s-v00@openssh.com"
#define STRICT_CLIENT "kex-strict-c-v00@openssh.com"
#define EXT_INFO_CLIENT "ext-info-c" /* RFC 8308 2.1 */

const char *ssh_cipher_name(const struct ssh *s)
{
	return s->out.on ? cipher_names[s->out.cipher] : "none";
}

const char *ssh_key_name(enum ssh_key kind) { return key_names[kind]; }

static bool has_host_key(const struct ssh *s, enum ssh_key kind)
{
	uint8_t point[SSH_POINT_MAX];
	return s->crypto->host_key(kind, point) > 0;
}

static bool has_cipher(const struct ssh *s, enum ssh_cipher cipher)
{
	return cipher != SSH_CHACHA20_POLY1305 || s->crypto->length;
}

/* --- our KEXINIT --- */

struct list {
	struct ssh_writer *w;
	uint32_t begin; /* of the names, behind their length */
};

static struct list list_begin(struct ssh_writer *w)
{
	ssh_put_u32(w, 0);
	return (struct list){w, w->used};
}

static void list_add(struct list *l, const char *name)
{
	if (l->w->used > l->begin)
		ssh_put_u8(l->w, ',');
	ssh_put_bytes(l->w, name, (uint32_t)strlen(name));
}

static void list_end(const struct list *l)
{
	if (!l->w->full)
		be32_store(l->w->at + l->begin - 4, l->w->used - l->begin);
}

static void put_kex(const struct ssh *s, struct ssh_writer *w)
{
	struct list l = list_begin(w);
	for (unsigned i = 0; i < ARRAY_LEN(kex_names); i++)
		list_add(&l, kex_names[i]);
	if (!s->keyed)
		list_add(&l, STRICT_SERVER);
	list_end(&l);
}

static void put_host_keys(const struct ssh *s, struct ssh_writer *w)
{
	struct list l = list_begin(w);
	for (unsigned i = 0; i < HOST_KEYS; i++)
		if (has_host_key(s, i))
			list_add(&l, key_names[i]);
	list_end(&l);
}

static void put_ciphers(const struct ssh *s, struct ssh_writer *w)
{
	struct list l = list_begin(w);
	for (unsigned i = 0; i < SSH_CIPHERS; i++)
		if (has_cipher(s, i))
			list_add(&l, cipher_names[i]);
	list_end(&l);
}

void ssh_kex_begin(struct ssh *s)
{
	uint8_t cookie[COOKIE];
	bool any = false;
	for (unsigned i = 0; i < HOST_KEYS; i++)
		any |= has_host_key(s, i);
	if (!any || !s->crypto->random(cookie, sizeof cookie)) {
		ssh_fail(s, SSH_CRYPTO_FAILED);
		return;
	}
	struct ssh_writer w = ssh_message(s, MSG_KEXINIT);
	ssh_put_bytes(&w, cookie, sizeof cookie);
	put_kex(s, &w);
	put_host_keys(s, &w);
	put_ciphers(s, &w);
	put_ciphers(s, &w);
	ssh_put_word(&w, macs);
	ssh_put_word(&w, macs);
	ssh_put_word(&w, "none"); /* compression */
	ssh_put_word(&w, "none");
	ssh_put_word(&w, "");     /* languages */
	ssh_put_word(&w, "");
	ssh_put_bool(&w, false);  /* no guess follows */
	ssh_put_u32(&w, 0);
	assert(!w.full && w.used <= sizeof s->server_init);
	memcpy(s->server_init, w.at, w.used);
	s->server_init_len = w.used;
	ssh_message_end(s, &w);
	s->kex_ours = true;
}

/* --- the client's --- */

/* The first of the client's names that we have: "the first algorithm on the client's list that is also on
 * the server's list". E_NOENT: there is none. */
static int choose(struct ssh_text list, const char *const *ours, unsigned n, const struct ssh *s,
                  bool (*has)(const struct ssh *s, unsigned i))
{
	struct ssh_text name;
	while (ssh_list_next(&list, &name))
		for (unsigned i = 0; i < n; i++)
			if (ssh_text_is(name, ours[i]) && (!has || has(s, i)))
				return (int)i;
	return E_NOENT;
}

static bool has_key_at(const struct ssh *s, unsigned i) { return has_host_key(s, (enum ssh_key)i); }
static bool has_cipher_at(const struct ssh *s, unsigned i) { return has_cipher(s, (enum ssh_cipher)i); }

/* Was a guess right? It is if both first names are ours (RFC 4253 7). */
static bool guessed(const struct ssh *s, struct ssh_text kex, struct ssh_text keys)
{
	const unsigned first_key = has_host_key(s, 0) ? 0 : 1;
	struct ssh_text a = {NULL, 0}, b = {NULL, 0};
	return ssh_list_next(&kex, &a) && ssh_list_next(&keys, &b) && ssh_text_is(a, kex_names[0]) &&
	       ssh_text_is(b, key_names[first_key]);
}

static void choose_all(struct ssh *s, struct ssh_reader *r)
{
	(void)ssh_get_bytes(r, COOKIE);
	const struct ssh_text kex = ssh_get_string(r), keys = ssh_get_string(r);
	const struct ssh_text ciphers_in = ssh_get_string(r), ciphers_out = ssh_get_string(r);
	(void)ssh_get_string(r); /* MACs */
	(void)ssh_get_string(r);
	const struct ssh_text compression_in = ssh_get_string(r), compression_out = ssh_get_string(r);
	(void)ssh_get_string(r); /* languages */
	(void)ssh_get_string(r);
	const bool follows = ssh_get_bool(r);
	(void)ssh_get_u32(r);
	if (!ssh_get_end(r)) {
		ssh_fail(s, SSH_BAD_PACKET);
		return;
	}
	const int method = choose(kex, kex_names, ARRAY_LEN(kex_names), s, NULL);
	const int key = choose(keys, key_names, HOST_KEYS, s, has_key_at);
	const int in = choose(ciphers_in, cipher_names, SSH_CIPHERS, s, has_cipher_at);
	const int out = choose(ciphers_out, cipher_names, SSH_CIPHERS, s, has_cipher_at);
	if (method < 0 || key < 0 || in < 0 || out < 0 || !ssh_list_has(compression_in, "none") ||
	    !ssh_list_has(compression_out, "none")) {
		ssh_fail(s, SSH_NO_ALGORITHM);
		return;
	}
	s->kex = kex_methods[method];
	s->host_key = (enum ssh_key)key;
	s->cipher_in = (enum ssh_cipher)in;
	s->cipher_out = (enum ssh_cipher)out;
	s->skip_guess = follows && !guessed(s, kex, keys);
	if (s->keyed)
		return;
	s->strict = ssh_list_has(kex, STRICT_CLIENT);
	s->ext_info = ssh_list_has(kex, EXT_INFO_CLIENT);
	if (s->strict && s->in.seq != 1)
		ssh_fail(s, SSH_BAD_ORDER); /* KEXINIT must be the first packet */
}

static void take_kexinit(struct ssh *s, struct ssh_reader *r, struct ssh_text payload)
{
	if (payload.n > SSH_KEXINIT_MAX) {
		ssh_fail(s, SSH_BAD_PACKET);
		return;
	}
	memcpy(s->client_init, payload.at, payload.n);
	s->client_init_len = payload.n;
	if (!s->kex_ours)
		ssh_kex_begin(s);
	s->kex_theirs = true;
	choose_all(s, r);
}

static void take_share(struct ssh *s, struct ssh_reader *r)
{
	const struct ssh_text share = ssh_get_string(r);
	if (!ssh_get_end(r)) {
		ssh_fail(s, SSH_BAD_PACKET);
		return;
	}
	if (share.n > sizeof s->share) {
		ssh_fail(s, SSH_BAD_SHARE);
		return;
	}
	memcpy(s->share, share.at, share.n);
	s->share_len = share.n;
	s->share_taken = true;
	s->work = SSH_WORK_AGREE;
}

static void take_newkeys(struct ssh *s, const struct ssh_reader *r)
{
	if (!ssh_get_end(r)) {
		ssh_fail(s, SSH_BAD_PACKET);
		return;
	}
	const uint32_t seq = s->in.seq;
	if (s->in.on)
		s->crypto->cipher_end(&s->in.state, s->in.cipher);
	s->in = s->next_in;
	s->in.seq = s->strict ? 0 : seq;
	s->next_in = (struct ssh_direction){.on = false};
	s->kex_theirs = s->share_taken = false;
	s->keyed = true;
}

void ssh_kex_input(struct ssh *s, uint8_t number, struct ssh_reader *r, struct ssh_text payload)
{
	if (number == MSG_KEXINIT)
		take_kexinit(s, r, payload);
	else if (number == MSG_ECDH_INIT)
		take_share(s, r);
	else
		take_newkeys(s, r);
}

/* --- the secret, and what is made of it --- */

void ssh_put_host_key(struct ssh_writer *w, enum ssh_key kind, const uint8_t *point, uint32_t n)
{
	ssh_put_word(w, key_names[kind]);
	if (kind == SSH_ECDSA_NISTP256)
		ssh_put_word(w, "nistp256"); /* RFC 5656 3.1 */
	ssh_put_string(w, point, n);
}

/* K_S as a string. */
static void put_host_key(const struct ssh *s, struct ssh_writer *w)
{
	uint8_t point[SSH_POINT_MAX], blob[128];
	struct ssh_writer b = {.at = blob, .size = sizeof blob};
	ssh_put_host_key(&b, s->host_key, point, s->crypto->host_key(s->host_key, point));
	ssh_put_string(w, blob, b.used);
}

void ssh_kex_agree(struct ssh *s)
{
	uint8_t ours[SSH_POINT_MAX];
	const struct ssh_text theirs = {s->share, s->share_len};
	if (!s->crypto->agree(s->kex, theirs, ours, s->secret)) {
		ssh_fail(s, SSH_BAD_SHARE);
		return;
	}
	const uint32_t n = s->kex == SSH_CURVE25519_SHA256 ? 32 : SSH_POINT_MAX;
	struct ssh_writer w = {.at = s->scratch, .size = sizeof s->scratch};
	ssh_put_string(&w, s->client_id, s->client_id_len);
	ssh_put_word(&w, SSH_ID);
	ssh_put_string(&w, s->client_init, s->client_init_len);
	ssh_put_string(&w, s->server_init, s->server_init_len);
	put_host_key(s, &w);
	ssh_put_text(&w, theirs);
	ssh_put_string(&w, ours, n);
	ssh_put_mpint(&w, s->secret, SSH_SECRET);
	assert(!w.full);
	const bool hashed = s->crypto->sha256(w.at, w.used, s->hash);
	memset(s->scratch, 0, w.used); /* with the secret */
	if (!hashed) {
		ssh_fail(s, SSH_CRYPTO_FAILED);
		return;
	}
	if (!s->keyed)
		memcpy(s->session_id, s->hash, SSH_HASH);
	memcpy(s->share, ours, n);
	s->share_len = n;
	s->work = SSH_WORK_SIGN;
}

/* RFC 4253 7.2: n bytes, at most two hashes, of the key with this letter. */
static bool derive(struct ssh *s, char letter, uint8_t *out, uint32_t n)
{
	uint8_t hash[2 * SSH_HASH];
	struct ssh_writer w = {.at = s->scratch, .size = sizeof s->scratch};
	ssh_put_mpint(&w, s->secret, SSH_SECRET);
	ssh_put_bytes(&w, s->hash, SSH_HASH);
	const uint32_t common = w.used;
	ssh_put_u8(&w, (uint8_t)letter);
	ssh_put_bytes(&w, s->session_id, SSH_HASH);
	bool ok = s->crypto->sha256(w.at, w.used, hash);
	if (ok && n > SSH_HASH) {
		w.used = common;
		ssh_put_bytes(&w, hash, SSH_HASH);
		ok = s->crypto->sha256(w.at, w.used, hash + SSH_HASH);
	}
	memcpy(out, hash, n);
	memset(hash, 0, sizeof hash);
	memset(s->scratch, 0, 256);
	return ok;
}

static bool begin_direction(struct ssh *s, struct ssh_direction *d, enum ssh_cipher cipher, char iv, char key)
{
	uint8_t bytes[SSH_CIPHER_KEY_MAX], nonce[SSH_NONCE];
	bool ok = derive(s, iv, nonce, SSH_NONCE) && derive(s, key, bytes, ssh_cipher_key(cipher));
	*d = (struct ssh_direction){.cipher = cipher, .seq = s->strict ? 0 : d->seq};
	memcpy(d->nonce, nonce, SSH_NONCE);
	ok = ok && s->crypto->cipher_begin(&d->state, cipher, bytes);
	d->on = ok;
	memset(bytes, 0, sizeof bytes);
	return ok;
}

/* Takes the new keys into use: ours at once, the client's with its NEWKEYS. */
static bool take_keys(struct ssh *s)
{
	if (s->out.on)
		s->crypto->cipher_end(&s->out.state, s->out.cipher);
	s->out.on = false;
	const bool ok = begin_direction(s, &s->out, s->cipher_out, 'B', 'D') &&
	                begin_direction(s, &s->next_in, s->cipher_in, 'A', 'C');
	memset(s->secret, 0, sizeof s->secret);
	return ok;
}

/* RFC 8308 3.1: the signatures that users' keys may make. */
static void send_ext_info(struct ssh *s)
{
	struct ssh_writer w = ssh_message(s, MSG_EXT_INFO);
	ssh_put_u32(&w, 1);
	ssh_put_word(&w, "server-sig-algs");
	struct list l = list_begin(&w);
	for (unsigned i = 0; i < SSH_KEYS; i++)
		list_add(&l, key_names[i]);
	list_end(&l);
	ssh_message_end(s, &w);
}

/* A signature as RFC 8709 6 and RFC 5656 3.1.2 encode it. */
static void put_signature(struct ssh_writer *w, enum ssh_key kind, const uint8_t signature[SSH_SIGNATURE])
{
	uint8_t numbers[2 * (4 + 1 + 32)], blob[128];
	struct ssh_writer n = {.at = numbers, .size = sizeof numbers}, b = {.at = blob, .size = sizeof blob};
	ssh_put_word(&b, key_names[kind]);
	if (kind == SSH_ECDSA_NISTP256) {
		ssh_put_mpint(&n, signature, 32);
		ssh_put_mpint(&n, signature + 32, 32);
		ssh_put_string(&b, numbers, n.used);
	} else {
		ssh_put_string(&b, signature, SSH_SIGNATURE);
	}
	ssh_put_string(w, blob, b.used);
}

void ssh_kex_sign(struct ssh *s)
{
	uint8_t signature[SSH_SIGNATURE];
	if (!s->crypto->sign(s->host_key, s->hash, SSH_HASH, signature)) {
		ssh_fail(s, SSH_CRYPTO_FAILED);
		return;
	}
	struct ssh_writer w = ssh_message(s, MSG_ECDH_REPLY);
	put_host_key(s, &w);
	ssh_put_string(&w, s->share, s->share_len);
	put_signature(&w, s->host_key, signature);
	ssh_message_end(s, &w);
	w = ssh_message(s, MSG_NEWKEYS);
	ssh_message_end(s, &w);
	s->kex_ours = false;
	s->work = SSH_NO_WORK;
	if (s->over || !take_keys(s)) {
		s->over = true; /* there is no key to say so */
		s->failed = SSH_CRYPTO_FAILED;
		return;
	}
	if (s->ext_info && !s->keyed)
		send_ext_info(s);
	ssh_late_flush(s);
}
