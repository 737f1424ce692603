/*
 * The binary packet protocol (RFC 4253 6) with ciphers that authenticate too:
 *
 *     length (4)  padding length (1)  payload  padding (4 or more)  [tag]
 *
 * Encrypted, `length` is outside of the blocks (RFC 5647 7.2, PROTOCOL.chacha20poly1305); in the clear it
 * counts.
 */
#include "net/ssh/inside.h"

#define HEAD 5
#define PADDING_MIN 4
#define BLOCK_PLAIN 8
#define BLOCK_MAX 16

static uint32_t block_of(const struct ssh_direction *d)
{
	return d->on && d->cipher != SSH_CHACHA20_POLY1305 ? BLOCK_MAX : BLOCK_PLAIN;
}

/* The nonce of the direction's next packet. */
static void nonce_of(const struct ssh_direction *d, uint8_t nonce[SSH_NONCE])
{
	memcpy(nonce, d->nonce, SSH_NONCE);
	if (d->cipher == SSH_CHACHA20_POLY1305) {
		memset(nonce, 0, SSH_NONCE);
		be32_store(nonce + 8, d->seq);
	}
}

/* The packet has been sent or received. RFC 5647 7.1: the last 8 bytes of the nonce count. */
static void advance(struct ssh_direction *d, uint32_t bytes)
{
	d->seq++;
	d->bytes += bytes;
	d->packets++;
	for (unsigned i = SSH_NONCE - 1; i >= 4 && ++d->nonce[i] == 0; i--)
		;
}

/* --- sending --- */

/* RFC 4253 7.1: what may not be sent between our KEXINIT and our NEWKEYS. */
static bool waits(const struct ssh *s, uint8_t number)
{
	return s->kex_ours && (number > MSG_KEX_LAST || number == MSG_SERVICE_ACCEPT);
}

/* Moves what waits to be sent to the buffer's start. */
static void compact(struct ssh *s)
{
	if (s->out_at == 0)
		return;
	memmove(s->out_buf, s->out_buf + s->out_at, s->out_len - s->out_at);
	s->out_len -= s->out_at;
	s->out_at = 0;
}

static uint32_t at_least_0(uint32_t left, uint32_t behind)
{
	return left > behind ? left - behind : 0;
}

struct ssh_writer ssh_message(struct ssh *s, uint8_t number)
{
	struct ssh_writer w;
	if (waits(s, number)) {
		w = (struct ssh_writer){.at = s->late + s->late_len + 2,
		                        .size = at_least_0(SSH_LATE_BYTES - s->late_len, 2)};
	} else {
		compact(s);
		w = (struct ssh_writer){.at = s->out_buf + s->out_len + HEAD,
		                        .size = at_least_0(SSH_OUT_BYTES - s->out_len,
		                                           HEAD + PADDING_MIN + BLOCK_MAX + SSH_TAG)};
	}
	ssh_put_u8(&w, number);
	return w;
}

/* Frames, encrypts and appends a payload of n bytes that stands at its place in out_buf. False: the crypto
 * failed. */
static bool seal(struct ssh *s, uint32_t n)
{
	struct ssh_direction *d = &s->out;
	uint8_t *packet = s->out_buf + s->out_len, nonce[SSH_NONCE];
	const uint32_t block = block_of(d), counted = (d->on ? HEAD - 4 : HEAD) + n;
	const uint32_t padding = PADDING_MIN + (2 * block - PADDING_MIN - counted % block) % block;
	const uint32_t bytes = HEAD + n + padding;
	be32_store(packet, bytes - 4);
	packet[4] = (uint8_t)padding;
	memset(packet + HEAD + n, 0, padding);
	if (d->on) {
		nonce_of(d, nonce);
		if (!s->crypto->random(packet + HEAD + n, padding) ||
		    !s->crypto->seal(&d->state, d->cipher, nonce, packet, bytes))
			return false;
	}
	s->out_len += bytes + (d->on ? SSH_TAG : 0);
	advance(d, bytes);
	return true;
}

void ssh_message_end(struct ssh *s, const struct ssh_writer *w)
{
	if (w->full) { /* in late[]; for out_buf SSH_OUT_RESERVE rules it out */
		ssh_fail(s, SSH_TOO_MUCH);
	} else if (s->over && w->at[0] != MSG_DISCONNECT) {
		return;
	} else if (waits(s, w->at[0])) {
		be16_store(s->late + s->late_len, (uint16_t)w->used);
		s->late_len += 2 + w->used;
	} else if (!seal(s, w->used)) {
		s->over = true; /* nothing can be said */
		s->failed = SSH_CRYPTO_FAILED;
	}
}

void ssh_late_flush(struct ssh *s)
{
	uint32_t at = 0;
	while (at < s->late_len) {
		const uint32_t n = be16_load(s->late + at);
		struct ssh_writer w = ssh_message(s, s->late[at + 2]);
		ssh_put_bytes(&w, s->late + at + 3, n - 1);
		ssh_message_end(s, &w);
		at += 2 + n;
	}
	s->late_len = 0;
}

uint32_t ssh_output(struct ssh *s, const uint8_t **at)
{
	*at = s->out_buf + s->out_at;
	return s->out_len - s->out_at;
}

/* --- receiving --- */

static bool bad(struct ssh *s, enum ssh_failure failure)
{
	ssh_fail(s, failure);
	return false;
}

/* The length field of the first packet, which has come. */
static uint32_t length_of(struct ssh *s)
{
	const struct ssh_direction *d = &s->in;
	const uint8_t *at = s->in_buf + s->in_at;
	uint8_t nonce[SSH_NONCE], clear[4];
	if (!d->on || d->cipher != SSH_CHACHA20_POLY1305)
		return be32_load(at);
	nonce_of(d, nonce);
	return s->crypto->length(&s->in.state, nonce, at, clear) ? be32_load(clear) : 1; /* 1: bad */
}

/* May a packet have this length? Of the encrypted part whole blocks. */
static bool is_length(const struct ssh_direction *d, uint32_t length)
{
	const uint32_t rest = 4 + (d->on ? SSH_TAG : 0), counted = length + (d->on ? 0 : 4);
	return length >= 1 + PADDING_MIN + 1 && length <= SSH_PACKET_MAX - rest &&
	       counted % block_of(d) == 0;
}

bool ssh_packet_next(struct ssh *s, struct ssh_text *payload)
{
	struct ssh_direction *d = &s->in;
	uint8_t *at = s->in_buf + s->in_at, nonce[SSH_NONCE];
	if (s->in_len - s->in_at < 4)
		return false;
	const uint32_t length = length_of(s), bytes = 4 + length, tag = d->on ? SSH_TAG : 0;
	if (!is_length(d, length))
		return bad(s, SSH_BAD_PACKET);
	if (s->in_len - s->in_at < bytes + tag)
		return false;
	nonce_of(d, nonce);
	if (d->on && !s->crypto->open(&d->state, d->cipher, nonce, at, bytes))
		return bad(s, SSH_BAD_TAG);
	be32_store(at, length);
	s->packet = bytes + tag;
	advance(d, bytes);
	if (at[4] < PADDING_MIN || at[4] > length - 2)
		return bad(s, SSH_BAD_PACKET);
	*payload = ssh_packet_held(s);
	return true;
}

struct ssh_text ssh_packet_held(const struct ssh *s)
{
	const uint8_t *at = s->in_buf + s->in_at;
	return (struct ssh_text){at + HEAD, be32_load(at) - 1 - at[4]};
}

void ssh_packet_done(struct ssh *s)
{
	memset(s->in_buf + s->in_at, 0, s->packet);
	s->in_at += s->packet;
	s->packet = 0;
	if (s->in_at == s->in_len)
		s->in_at = s->in_len = 0;
}
