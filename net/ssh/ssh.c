/*
 * See ssh.h. Here: the life of a connection, identification, and which message goes where. packet.c has
 * packets, kex.c the key exchange, auth.c the log-in, channel.c the session.
 */
#include "net/ssh/inside.h"

/* RFC 4253 11.1 */
enum reason {
	REASON_PROTOCOL_ERROR = 2,
	REASON_KEY_EXCHANGE_FAILED = 3,
	REASON_MAC_ERROR = 5,
	REASON_BY_APPLICATION = 11,
	REASON_NO_MORE_AUTH_METHODS = 14,
};

static const struct {
	uint8_t reason;
	const char *text;
} failures[SSH_FAILURES] = {
	[SSH_FINE] = {REASON_BY_APPLICATION, ""},
	[SSH_BAD_ID] = {REASON_PROTOCOL_ERROR, "SSH 2 is required"},
	[SSH_BAD_PACKET] = {REASON_PROTOCOL_ERROR, "malformed packet"},
	[SSH_BAD_TAG] = {REASON_MAC_ERROR, "damaged packet"},
	[SSH_BAD_ORDER] = {REASON_PROTOCOL_ERROR, "unexpected message"},
	[SSH_NO_ALGORITHM] = {REASON_KEY_EXCHANGE_FAILED, "no algorithm in common"},
	[SSH_BAD_SHARE] = {REASON_KEY_EXCHANGE_FAILED, "invalid public key in the key exchange"},
	[SSH_NOT_LOGGED_IN] = {REASON_NO_MORE_AUTH_METHODS, "too many authentication failures"},
	[SSH_TOO_MUCH] = {REASON_PROTOCOL_ERROR, "more than the window allows"},
	[SSH_CRYPTO_FAILED] = {REASON_BY_APPLICATION, "internal error"},
	[SSH_CLOSED] = {REASON_BY_APPLICATION, "closed"},
};

static void disconnect(struct ssh *s, enum ssh_failure failure, const char *text)
{
	if (s->over)
		return;
	s->over = true;
	s->failed = failure;
	s->work = SSH_NO_WORK;
	struct ssh_writer w = ssh_message(s, MSG_DISCONNECT);
	ssh_put_u32(&w, failures[failure].reason);
	ssh_put_word(&w, text);
	ssh_put_word(&w, "");
	ssh_message_end(s, &w);
}

void ssh_fail(struct ssh *s, enum ssh_failure failure)
{
	disconnect(s, failure, failures[failure].text);
}

void ssh_close(struct ssh *s, const char *why)
{
	disconnect(s, SSH_CLOSED, why);
}

bool ssh_begin(struct ssh *s, const struct ssh_crypto *crypto, const struct ssh_ops *ops, void *ctx)
{
	memset(s, 0, sizeof *s);
	s->crypto = crypto;
	s->ops = ops;
	s->ctx = ctx;
	s->rekey_bytes = SSH_REKEY_BYTES;
	memcpy(s->out_buf, SSH_ID "\r\n", sizeof SSH_ID "\r\n" - 1);
	s->out_len = sizeof SSH_ID "\r\n" - 1;
	ssh_kex_begin(s);
	return !s->over;
}

static void end_direction(struct ssh *s, struct ssh_direction *d)
{
	if (d->on)
		s->crypto->cipher_end(&d->state, d->cipher);
	d->on = false;
}

void ssh_forget(struct ssh *s)
{
	end_direction(s, &s->in);
	end_direction(s, &s->out);
	end_direction(s, &s->next_in);
	memset(s, 0, sizeof *s);
	s->over = true;
}

/* --- messages --- */

/* Takes the client's identification (RFC 4253 4.2), which is its first line. False: it is incomplete. */
static bool read_id(struct ssh *s)
{
	const uint8_t *at = s->in_buf + s->in_at;
	const uint32_t have = s->in_len - s->in_at;
	uint32_t n = 0;
	while (n < have && n < SSH_ID_MAX && at[n] != '\n')
		n++;
	if (n == SSH_ID_MAX || (n == have && memcmp(at, "SSH-2.0-", have < 8 ? have : 8) != 0)) {
		ssh_fail(s, SSH_BAD_ID);
		return false;
	}
	if (n == have)
		return false;
	s->client_id_len = n && at[n - 1] == '\r' ? n - 1 : n;
	memcpy(s->client_id, at, s->client_id_len);
	s->in_at += n + 1;
	s->has_id = true;
	bool zero = false;
	for (uint32_t i = 0; i < s->client_id_len; i++)
		zero |= s->client_id[i] == 0;
	if (zero || s->client_id_len < 9 || memcmp(s->client_id, "SSH-2.0-", 8) != 0)
		ssh_fail(s, SSH_BAD_ID);
	return true;
}

static void unimplemented(struct ssh *s)
{
	struct ssh_writer w = ssh_message(s, MSG_UNIMPLEMENTED);
	ssh_put_u32(&w, s->in.seq - 1);
	ssh_message_end(s, &w);
}

/* Has no known message that number? RFC 4253 11.4: such a one is answered, and otherwise ignored. */
static bool is_unknown(uint8_t number)
{
	return number < MSG_DISCONNECT || (number > MSG_EXT_INFO && number < MSG_KEXINIT) ||
	       (number > MSG_NEWKEYS && number < MSG_ECDH_INIT) ||
	       (number > MSG_REQUEST_FAILURE && number < MSG_CHANNEL_OPEN) || number > MSG_CHANNEL_FAILURE;
}

/* May a message come now? RFC 4253 7.1, and strict key exchange for the first one. */
static bool may_come(const struct ssh *s, uint8_t number)
{
	const bool generic = number >= MSG_DISCONNECT && number <= MSG_DEBUG;
	if (number == MSG_DISCONNECT)
		return true;
	if (s->kex_theirs) {
		const uint8_t wanted = s->share_taken ? MSG_NEWKEYS : MSG_ECDH_INIT;
		return number == wanted || (generic && (s->keyed || !s->strict));
	}
	if (!s->keyed)
		return number == MSG_KEXINIT || generic;
	if (number == MSG_NEWKEYS || number == MSG_ECDH_INIT)
		return false;
	if (number >= MSG_USERAUTH_REQUEST && number <= MSG_USERAUTH_LAST)
		return s->service;
	return number < MSG_GLOBAL_REQUEST || s->logged_in;
}

static void service_request(struct ssh *s, struct ssh_reader *r)
{
	const struct ssh_text name = ssh_get_string(r);
	if (!ssh_get_end(r)) {
		ssh_fail(s, SSH_BAD_PACKET);
		return;
	}
	if (!ssh_text_is(name, "ssh-userauth")) {
		ssh_fail(s, SSH_BAD_ORDER);
		return;
	}
	s->service = true;
	struct ssh_writer w = ssh_message(s, MSG_SERVICE_ACCEPT);
	ssh_put_text(&w, name);
	ssh_message_end(s, &w);
}

static void dispatch(struct ssh *s, struct ssh_text payload)
{
	struct ssh_reader r = {payload.at, payload.n, false};
	const uint8_t number = ssh_get_u8(&r);
	if (s->skip_guess) {
		s->skip_guess = false;
		if (number >= MSG_ECDH_INIT && number <= MSG_KEX_LAST)
			return; /* RFC 4253 7.1: "the next packet MUST be silently ignored" */
	}
	if (is_unknown(number) && (s->keyed || !s->strict)) {
		unimplemented(s);
		return;
	}
	if (!may_come(s, number)) {
		ssh_fail(s, SSH_BAD_ORDER);
		return;
	}
	switch (number) {
	case MSG_DISCONNECT:
		s->over = true;
		break;
	case MSG_IGNORE:
	case MSG_UNIMPLEMENTED:
	case MSG_DEBUG:
	case MSG_EXT_INFO:
		break;
	case MSG_SERVICE_REQUEST:
		service_request(s, &r);
		break;
	case MSG_KEXINIT:
	case MSG_NEWKEYS:
	case MSG_ECDH_INIT:
		ssh_kex_input(s, number, &r, payload);
		break;
	case MSG_USERAUTH_REQUEST:
		ssh_auth_input(s, &r);
		break;
	default:
		if (number >= MSG_GLOBAL_REQUEST)
			ssh_channel_input(s, number, &r);
		else
			unimplemented(s); /* of authentication */
	}
}

/* A key is used for a limited amount (RFC 4253 9, RFC 4344 3). */
static void renew_keys(struct ssh *s)
{
	const uint64_t bytes = s->in.bytes > s->out.bytes ? s->in.bytes : s->out.bytes;
	const uint64_t packets = s->in.packets > s->out.packets ? s->in.packets : s->out.packets;
	if (packets > 2 * SSH_REKEY_PACKETS)
		ssh_fail(s, SSH_BAD_ORDER); /* the client does not answer our KEXINIT */
	else if (bytes > s->rekey_bytes || packets > SSH_REKEY_PACKETS)
		ssh_rekey(s);
}

void ssh_rekey(struct ssh *s)
{
	if (!s->over && s->keyed && !s->kex_ours && !s->kex_theirs && ssh_out_room(s) >= SSH_OUT_RESERVE / 2)
		ssh_kex_begin(s);
}

/* Processes packets as far as there are whole ones, room for their answers, and nothing to wait for. */
static void run(struct ssh *s)
{
	struct ssh_text payload;
	while (!s->over && s->work == SSH_NO_WORK && ssh_out_room(s) >= SSH_OUT_RESERVE) {
		if (!s->has_id) {
			if (!read_id(s))
				break;
			continue;
		}
		if (!ssh_packet_next(s, &payload))
			break;
		dispatch(s, payload);
		if (s->work == SSH_NO_WORK)
			ssh_packet_done(s);
	}
	if (s->over)
		return;
	ssh_channel_window(s);
	renew_keys(s);
}

uint32_t ssh_input(struct ssh *s, const void *data, uint32_t n)
{
	if (s->over)
		return n;
	const uint32_t room = ssh_in_room(s), taken = n < room ? n : room;
	if (taken > SSH_IN_BYTES - s->in_len) {
		memmove(s->in_buf, s->in_buf + s->in_at, s->in_len - s->in_at);
		s->in_len -= s->in_at;
		s->in_at = 0;
	}
	memcpy(s->in_buf + s->in_len, data, taken);
	s->in_len += taken;
	run(s);
	return s->over ? n : taken;
}

void ssh_work(struct ssh *s)
{
	if (!ssh_has_work(s))
		return;
	switch (s->work) {
	case SSH_WORK_AGREE:
		ssh_kex_agree(s);
		break;
	case SSH_WORK_SIGN:
		ssh_kex_sign(s);
		break;
	default:
		ssh_auth_verify(s);
	}
	if (s->over || s->work != SSH_NO_WORK)
		return;
	ssh_packet_done(s);
	run(s);
}

void ssh_sent(struct ssh *s, uint32_t n)
{
	s->out_at += n;
	if (s->out_at == s->out_len)
		s->out_at = s->out_len = 0;
	if (!s->over)
		run(s);
}
