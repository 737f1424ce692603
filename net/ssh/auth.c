/*
 * Authentication (RFC 4252): publickey and password. A request is answered before the next is read; one that
 * takes time, because a signature is verified or the owner judges a password, keeps its packet (ssh.h,
 * invariant 2).
 */
#include "lib/assert.h"
#include "net/ssh/inside.h"

#define BLOB_MAX 600      /* of a public key: RSA of 4096 bits */
#define RSA_BYTES_MIN 256 /* modulus: 2048 bits (RFC 8332 5.1, NIST SP 800-131A) */
#define RSA_BYTES_MAX 512  /* 4096 bits */
#define RSA_EXPONENT_MAX 8

/* A request with its fields. */
struct request {
	struct ssh_text user, method;
	bool second;                        /* publickey: with a signature; password: with a new one */
	struct ssh_text password;
	struct ssh_text algorithm, blob, signature;
	uint32_t signed_bytes;              /* of the payload, before the signature */
};

/* --- keys and signatures --- */

bool ssh_read_public(struct ssh_text blob, struct ssh_public *out)
{
	struct ssh_reader r = {blob.at, blob.n, false};
	const struct ssh_text name = ssh_get_string(&r);
	if (blob.n > BLOB_MAX)
		return false;
	*out = (struct ssh_public){.kind = SSH_ED25519};
	if (ssh_text_is(name, "ssh-ed25519")) {
		out->point = ssh_get_string(&r);
		return ssh_get_end(&r) && out->point.n == 32;
	}
	if (ssh_text_is(name, "ecdsa-sha2-nistp256")) {
		const struct ssh_text curve = ssh_get_string(&r);
		out->kind = SSH_ECDSA_NISTP256;
		out->point = ssh_get_string(&r);
		return ssh_get_end(&r) && ssh_text_is(curve, "nistp256") && out->point.n == SSH_POINT_MAX &&
		       out->point.at[0] == 4; /* uncompressed */
	}
	if (!ssh_text_is(name, "ssh-rsa"))
		return false;
	out->kind = SSH_RSA_SHA256;
	out->exponent = ssh_get_positive(&r);
	out->modulus = ssh_get_positive(&r);
	return ssh_get_end(&r) && out->exponent.n <= RSA_EXPONENT_MAX && out->modulus.n >= RSA_BYTES_MIN &&
	       out->modulus.n <= RSA_BYTES_MAX;
}

/* Reads the key of a request, with the kind that its algorithm names. */
static bool read_key(const struct request *q, struct ssh_public *key)
{
	if (!ssh_read_public(q->blob, key))
		return false;
	if (key->kind == SSH_RSA_SHA256 && ssh_text_is(q->algorithm, ssh_key_name(SSH_RSA_SHA512)))
		key->kind = SSH_RSA_SHA512;
	return ssh_text_is(q->algorithm, ssh_key_name(key->kind));
}

/* A number of at most 32 bytes into 32, with zeros in front. */
static bool put_number(struct ssh_text n, uint8_t out[32])
{
	if (n.n > 32)
		return false;
	memset(out, 0, 32);
	memcpy(out + 32 - n.n, n.at, n.n);
	return true;
}

/* Reads a signature blob by a key. Of ECDSA, numbers[] gets r and s. */
static bool read_signature(struct ssh_text blob, const struct ssh_public *key, uint8_t numbers[SSH_SIGNATURE],
                           struct ssh_text *out)
{
	struct ssh_reader r = {blob.at, blob.n, false};
	const struct ssh_text name = ssh_get_string(&r);
	*out = ssh_get_string(&r);
	if (!ssh_get_end(&r) || !ssh_text_is(name, ssh_key_name(key->kind)))
		return false;
	if (key->kind == SSH_ED25519)
		return out->n == SSH_SIGNATURE;
	if (key->kind != SSH_ECDSA_NISTP256)
		return out->n > 0 && out->n <= key->modulus.n;
	struct ssh_reader pair = {out->at, out->n, false};
	const struct ssh_text first = ssh_get_positive(&pair), second = ssh_get_positive(&pair);
	*out = (struct ssh_text){numbers, SSH_SIGNATURE};
	return ssh_get_end(&pair) && put_number(first, numbers) && put_number(second, numbers + 32);
}

/* --- answers --- */

static void succeed(struct ssh *s, struct ssh_text blob)
{
	struct ssh_writer w = ssh_message(s, MSG_USERAUTH_SUCCESS);
	ssh_message_end(s, &w);
	s->logged_in = true;
	s->ops->logged_in(s, blob);
}

static void send_failure(struct ssh *s)
{
	struct ssh_writer w = ssh_message(s, MSG_USERAUTH_FAILURE);
	ssh_put_word(&w, s->password_tries < SSH_PASSWORD_TRIES ? "publickey,password" : "publickey");
	ssh_put_bool(&w, false); /* no partial success */
	ssh_message_end(s, &w);
}

static void refuse(struct ssh *s)
{
	s->tries++;
	if (s->tries >= SSH_TRIES)
		ssh_fail(s, SSH_NOT_LOGGED_IN);
	else
		send_failure(s);
}

/* RFC 4252 7: this key, with a signature, would do. */
static void accept_key(struct ssh *s, const struct request *q)
{
	struct ssh_writer w = ssh_message(s, MSG_USERAUTH_PK_OK);
	ssh_put_text(&w, q->algorithm);
	ssh_put_text(&w, q->blob);
	ssh_message_end(s, &w);
}

/* --- requests --- */

/* Reads a request behind its number. */
static bool read_request(struct ssh_reader *r, struct request *q)
{
	const uint8_t *payload = r->at - 1;
	*q = (struct request){.user = ssh_get_string(r)};
	const struct ssh_text service = ssh_get_string(r);
	q->method = ssh_get_string(r);
	if (r->bad || !ssh_text_is(service, "ssh-connection"))
		return false;
	if (ssh_text_is(q->method, "password")) {
		q->second = ssh_get_bool(r);
		q->password = ssh_get_string(r);
		if (q->second)
			(void)ssh_get_string(r);
	} else if (ssh_text_is(q->method, "publickey")) {
		q->second = ssh_get_bool(r);
		q->algorithm = ssh_get_string(r);
		q->blob = ssh_get_string(r);
		q->signed_bytes = (uint32_t)(r->at - payload);
		if (q->second)
			q->signature = ssh_get_string(r);
	} else {
		return true; /* its other fields are not known */
	}
	return ssh_get_end(r);
}

static bool take_user(struct ssh *s, struct ssh_text user)
{
	if (user.n == 0 || user.n > SSH_USER_MAX)
		return false;
	for (uint32_t i = 0; i < user.n; i++)
		if (user.at[i] <= ' ' || user.at[i] > '~')
			return false;
	memcpy(s->user, user.at, user.n);
	s->user[user.n] = 0;
	return true;
}

static void publickey(struct ssh *s, const struct request *q)
{
	struct ssh_public key;
	if (!read_key(q, &key) || !s->ops->knows_key(s, q->user, q->blob))
		refuse(s);
	else if (q->second)
		s->work = SSH_WORK_VERIFY;
	else
		accept_key(s, q);
}

void ssh_auth_input(struct ssh *s, struct ssh_reader *r)
{
	struct request q;
	if (s->logged_in)
		return; /* RFC 4252 5.1: such requests are ignored */
	if (!read_request(r, &q)) {
		ssh_fail(s, SSH_BAD_PACKET);
		return;
	}
	if (ssh_text_is(q.method, "none")) {
		refuse(s); /* RFC 4252 5.2: asks for the methods */
	} else if (!take_user(s, q.user)) {
		refuse(s);
	} else if (ssh_text_is(q.method, "publickey")) {
		publickey(s, &q);
	} else if (ssh_text_is(q.method, "password") && !q.second && s->password_tries < SSH_PASSWORD_TRIES) {
		s->work = SSH_WAIT_PASSWORD;
		s->ops->password(s, q.user, q.password);
	} else {
		refuse(s);
	}
}

/* RFC 4252 7: what is signed is the session identifier and the request up to the signature. */
void ssh_auth_verify(struct ssh *s)
{
	const struct ssh_text payload = ssh_packet_held(s);
	struct ssh_reader r = {payload.at + 1, payload.n - 1, false};
	struct ssh_writer w = {.at = s->scratch, .size = sizeof s->scratch};
	uint8_t numbers[SSH_SIGNATURE];
	struct ssh_text signature;
	struct ssh_public key;
	struct request q;
	const bool read = read_request(&r, &q) && read_key(&q, &key);
	assert(read); /* ssh_auth_input has */
	ssh_put_string(&w, s->session_id, SSH_HASH);
	ssh_put_bytes(&w, payload.at, q.signed_bytes);
	s->work = SSH_NO_WORK;
	if (!w.full && read_signature(q.signature, &key, numbers, &signature) &&
	    s->crypto->verify(&key, (struct ssh_text){w.at, w.used}, signature))
		succeed(s, q.blob);
	else
		refuse(s);
}

void ssh_password_is(struct ssh *s, bool right)
{
	if (s->over || s->work != SSH_WAIT_PASSWORD)
		return;
	s->work = SSH_NO_WORK;
	if (right) {
		succeed(s, (struct ssh_text){NULL, 0});
	} else {
		s->password_tries++;
		refuse(s);
	}
	if (s->over)
		return;
	ssh_packet_done(s);
	ssh_sent(s, 0); /* goes on with what has come meanwhile */
}
