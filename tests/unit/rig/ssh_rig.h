/*
 * A client of net/ssh for tests, written from the RFCs without code of net/ssh but wire.h, and made-up
 * cryptography for both ends: SHA-256 is real; a cipher is XOR with the key's first byte, for ChaCha20's
 * lengths with the first byte of the key's second half, and a tag of SHA-256; a signature is the hash of the
 * message. It is deterministic.
 */
#ifndef TESTS_UNIT_RIG_SSH_RIG_H
#define TESTS_UNIT_RIG_SSH_RIG_H

#include "net/ssh/ssh.h"

/* Numbers of RFC 4250 4.1.2, once more. */
enum rig_number {
	RIG_DISCONNECT = 1, RIG_IGNORE = 2, RIG_UNIMPLEMENTED = 3, RIG_DEBUG = 4, RIG_SERVICE_REQUEST = 5, RIG_SERVICE_ACCEPT = 6,
	RIG_EXT_INFO = 7, RIG_KEXINIT = 20, RIG_NEWKEYS = 21, RIG_ECDH_INIT = 30, RIG_ECDH_REPLY = 31,
	RIG_AUTH = 50, RIG_AUTH_FAILURE = 51, RIG_AUTH_SUCCESS = 52, RIG_PK_OK = 60, RIG_GLOBAL = 80,
	RIG_GLOBAL_FAILURE = 82, RIG_OPEN = 90, RIG_OPENED = 91, RIG_OPEN_FAILURE = 92, RIG_ADJUST = 93,
	RIG_DATA = 94, RIG_EXTENDED = 95, RIG_EOF = 96, RIG_CLOSE = 97, RIG_REQUEST = 98, RIG_SUCCESS = 99,
	RIG_FAILURE = 100,
};

struct rig_side {
	bool on;
	uint8_t key[64], nonce[12];
	uint32_t seq;
};

/* The client, and the server under test. */
struct ssh_rig {
	struct ssh ssh;
	/* how the client behaves; set before rig_begin */
	bool strict, ext_info, guess, wrong_guess;
	const char *cipher;  /* NULL: aes256-gcm@openssh.com */
	/* what the owner of `ssh` was told */
	char start[256];     /* "shell" or "exec COMMAND"; "": nothing */
	char data[65536];
	uint32_t data_len;
	char password[200];  /* the last one asked about */
	unsigned logins, ended, closed;
	bool refuse_start;
	/* private */
	struct rig_side to, from, next_to, next_from;
	uint8_t session[32], hash[32], secret[32], client_init[1024], server_init[1024];
	uint32_t client_init_len, server_init_len;
	bool has_session;
	uint8_t in[1 << 18];
	uint32_t in_at, in_len;
	uint8_t message[1 << 16];
	struct ssh_writer w;
};

extern const struct ssh_crypto rig_crypto;

/* A connection to which the server has said its first words. */
void rig_begin(struct ssh_rig *r);

/* Takes what the server has sent, does its work. */
void rig_move(struct ssh_rig *r);

/* The next message of the server, behind its number; -1: there is none, -2: it is damaged. */
int rig_take(struct ssh_rig *r, struct ssh_reader *fields);

/* Bytes to the server, as they are; and a message: r->w is its writer. rig_frame returns the bytes of its packet. */
void rig_raw(struct ssh_rig *r, const void *data, uint32_t n);
struct ssh_writer *rig_message(struct ssh_rig *r, enum rig_number number);
uint32_t rig_frame(struct ssh_rig *r, uint8_t *packet);
void rig_send(struct ssh_rig *r);

/* The client's KEXINIT; the rest of a key exchange, whose messages the server answers. False: it did not. */
void rig_kexinit(struct ssh_rig *r);
bool rig_kex_rest(struct ssh_rig *r);

/* Identification and key exchange; and log-in by password; and a session with a shell. */
bool rig_connect(struct ssh_rig *r);
bool rig_login(struct ssh_rig *r);
bool rig_shell(struct ssh_rig *r);

/* A key of a user that the rig knows, "admin"; and what else it signs. */
extern const uint8_t rig_blob[51];

#endif
