/* What the files of net/ssh/ share. */
#ifndef NET_SSH_INSIDE_H
#define NET_SSH_INSIDE_H

#include "net/ssh/ssh.h"

/* Message numbers in use: RFC 4250 4.1.2, RFC 5656 7.1, RFC 8308 2.3. */
enum ssh_message {
	MSG_DISCONNECT = 1,
	MSG_IGNORE = 2,
	MSG_UNIMPLEMENTED = 3,
	MSG_DEBUG = 4,
	MSG_SERVICE_REQUEST = 5,
	MSG_SERVICE_ACCEPT = 6,
	MSG_EXT_INFO = 7,
	MSG_KEXINIT = 20,
	MSG_NEWKEYS = 21,
	MSG_ECDH_INIT = 30,
	MSG_ECDH_REPLY = 31,
	MSG_KEX_LAST = 49,
	MSG_USERAUTH_REQUEST = 50,
	MSG_USERAUTH_FAILURE = 51,
	MSG_USERAUTH_SUCCESS = 52,
	MSG_USERAUTH_PK_OK = 60,
	MSG_USERAUTH_LAST = 79,
	MSG_GLOBAL_REQUEST = 80,
	MSG_REQUEST_FAILURE = 82,
	MSG_CHANNEL_OPEN = 90,
	MSG_CHANNEL_OPEN_CONFIRMATION = 91,
	MSG_CHANNEL_OPEN_FAILURE = 92,
	MSG_CHANNEL_WINDOW_ADJUST = 93,
	MSG_CHANNEL_DATA = 94,
	MSG_CHANNEL_EXTENDED_DATA = 95,
	MSG_CHANNEL_EOF = 96,
	MSG_CHANNEL_CLOSE = 97,
	MSG_CHANNEL_REQUEST = 98,
	MSG_CHANNEL_SUCCESS = 99,
	MSG_CHANNEL_FAILURE = 100,
};

#define SSH_ID "SSH-2.0-Hayate"

/* --- ssh.c --- */

/* Ends the connection for this reason, with a DISCONNECT. */
void ssh_fail(struct ssh *s, enum ssh_failure failure);

/* --- packet.c --- */

/* A message to be sent: ssh_message begins it with its number, the caller writes its fields, ssh_message_end
 * ends it; one at a time. While invariant 3 of ssh.h says so it waits in late[]. */
struct ssh_writer ssh_message(struct ssh *s, uint8_t number);
void ssh_message_end(struct ssh *s, const struct ssh_writer *w);

/* Sends what waits in late[]. */
void ssh_late_flush(struct ssh *s);

static inline uint32_t ssh_out_room(const struct ssh *s) { return SSH_OUT_BYTES - (s->out_len - s->out_at); }

/* True: the next packet is there, with *payload, 1 byte or more, which stays valid until ssh_packet_done or
 * the next ssh_input. False: it is not complete, or the connection has ended because of it. */
bool ssh_packet_next(struct ssh *s, struct ssh_text *payload);

/* The payload of the packet that ssh_packet_next gave last. */
struct ssh_text ssh_packet_held(const struct ssh *s);

/* That packet has been processed: it is erased. */
void ssh_packet_done(struct ssh *s);

/* --- kex.c --- */

void ssh_kex_begin(struct ssh *s); /* sends our KEXINIT */
void ssh_kex_input(struct ssh *s, uint8_t number, struct ssh_reader *r, struct ssh_text payload);
void ssh_kex_agree(struct ssh *s); /* SSH_WORK_AGREE */
void ssh_kex_sign(struct ssh *s);  /* SSH_WORK_SIGN */

/* --- auth.c --- */

void ssh_auth_input(struct ssh *s, struct ssh_reader *r);
void ssh_auth_verify(struct ssh *s); /* SSH_WORK_VERIFY */

/* --- channel.c --- */

void ssh_channel_input(struct ssh *s, uint8_t number, struct ssh_reader *r);
void ssh_channel_window(struct ssh *s); /* opens the client's window, if that is due */

#endif
