/*
 * The server side of SSH 2: RFC 4253 (transport), 4252 (authentication), 4254 (connection), 8308
 * (extensions), 8332 (rsa-sha2), 5656 (ECDH, ECDSA), 8731 (curve25519), 8709 (ed25519), 5647 as OpenSSH's
 * aes-gcm (PROTOCOL 1.6), chacha20-poly1305@openssh.com, strict key exchange
 * (draft-miller-sshm-strict-kex).
 *
 * A connection (struct ssh) is a function of the bytes received and of its owner's calls. It has no
 * socket, no clock and no cryptography: it calls struct ssh_crypto for that, and struct ssh_ops for what a
 * client asks for. It allocates nothing.
 *
 *     ssh_input()                         bytes came
 *     ssh_work()                          while ssh_has_work(): one operation with a public key, which
 *                                         takes milliseconds; the owner decides when
 *     ssh_password_is()                   answers ssh_ops.password
 *     ssh_send(), ssh_consumed(), ssh_end()  the session's data
 *     ssh_output(), ssh_sent()            bytes to be sent
 *
 * A connection has these parts: identification, key exchange, authentication (publickey, password), one session
 * channel with one shell or command. ssh_is_over(): nothing more is processed; the owner sends what
 * ssh_output() has and closes the connection.
 *
 * Invariants
 * 1. Bounded: a packet is at most SSH_PACKET_MAX bytes, and is processed only if its answers fit into
 *    out[] (SSH_OUT_RESERVE). A client that reads nothing is not read from.
 * 2. A packet whose work is not done, or whose password is not judged, stays in in[] and no later one is
 *    processed.
 * 3. While our KEXINIT is out and our NEWKEYS is not (RFC 4253 7.1), messages of authentication and
 *    connection wait in late[].
 * 4. Nothing that came is used before its packet's tag was verified, except the length, which is checked
 *    against SSH_PACKET_MAX. In the first key exchange packets have no tag; with a strict client none but
 *    the expected ones is accepted.
 * 5. Any error ends the connection with a DISCONNECT, and `failed` says why.
 *
 * Missing on purpose: compression, CBC, MACs apart from the ciphers, SHA-1, host certificates, more than
 * one channel, forwarding of any kind, sftp, signals, keyboard-interactive.
 *
 * Units: bytes. Numbers are in host order.
 */
#ifndef NET_SSH_SSH_H
#define NET_SSH_SSH_H

#include "lib/types.h"
#include "net/ssh/wire.h"

#define SSH_PACKET_MAX 35000u  /* whole packets; RFC 4253 6.1 */
#define SSH_IN_BYTES (SSH_PACKET_MAX + 4096)
#define SSH_OUT_BYTES 16384u
#define SSH_OUT_RESERVE 4096u  /* of out[], for what is not the session's data */
#define SSH_LATE_BYTES 1024u
#define SSH_KEXINIT_MAX 8192u  /* payload of the client's; OpenSSH's have some 1500 */
#define SSH_ID_MAX 255u        /* RFC 4253 4.2 */
#define SSH_USER_MAX 32u       /* bytes of a user's name */
#define SSH_WINDOW 4095u       /* received data that is not consumed */
#define SSH_TRIES 12u          /* failed requests for authentication, of any method */
#define SSH_PASSWORD_TRIES 3u
#define SSH_REKEY_BYTES (1ull << 30)     /* RFC 4253 9 */
#define SSH_REKEY_PACKETS (1ull << 30)   /* RFC 4344 3.1: before 2^31 */

/* --- cryptography --- */

enum ssh_kex { SSH_CURVE25519_SHA256, SSH_ECDH_NISTP256 };
enum ssh_cipher { SSH_AES256_GCM, SSH_AES128_GCM, SSH_CHACHA20_POLY1305, SSH_CIPHERS };
enum ssh_key { SSH_ED25519, SSH_ECDSA_NISTP256, SSH_RSA_SHA256, SSH_RSA_SHA512, SSH_KEYS };

#define SSH_POINT_MAX 65     /* a point of P-256, uncompressed (SEC 1 2.3.3); X25519 and Ed25519 have 32 */
#define SSH_SIGNATURE 64     /* Ed25519 (RFC 8032), or r and s of ECDSA, 32 bytes each in network order */
#define SSH_SECRET 32
#define SSH_HASH 32          /* SHA-256 */
#define SSH_TAG 16
#define SSH_NONCE 12
#define SSH_CIPHER_KEY_MAX 64

/* A public key of a user. */
struct ssh_public {
	enum ssh_key kind;
	struct ssh_text point;             /* not of RSA */
	struct ssh_text modulus, exponent; /* of RSA, without leading zeros */
};

/* State of a cipher in one direction, for ssh_crypto alone. */
struct ssh_cipher_state {
	uint32_t handle[2];
	uint8_t key[SSH_CIPHER_KEY_MAX];
};

/* False is a failure, which ends the connection (or, of verify, refuses the key). `in` may be any bytes. */
struct ssh_crypto {
	bool (*random)(void *out, uint32_t n);
	bool (*sha256)(const void *in, uint32_t n, uint8_t out[SSH_HASH]);

	/* Makes an ephemeral key: its public part goes to share[] (32 or SSH_POINT_MAX bytes), the secret
	 * that it shares with the client's public part, big-endian as RFC 8731 3.1 and RFC 5656 4 have
	 * it, to secret[]. A peer of a wrong length, not on the curve, or of small order is refused. */
	bool (*agree)(enum ssh_kex kex, struct ssh_text peer, uint8_t share[SSH_POINT_MAX],
	              uint8_t secret[SSH_SECRET]);

	/* The host key's public part; returns its bytes, 0: there is no key of this kind. */
	uint32_t (*host_key)(enum ssh_key kind, uint8_t point[SSH_POINT_MAX]);
	bool (*sign)(enum ssh_key kind, const void *in, uint32_t n, uint8_t signature[SSH_SIGNATURE]);
	bool (*verify)(const struct ssh_public *key, struct ssh_text message, struct ssh_text signature);

	/* A cipher with a key of ssh_cipher_key() bytes. cipher_end erases it. */
	bool (*cipher_begin)(struct ssh_cipher_state *c, enum ssh_cipher cipher, const uint8_t *key);
	void (*cipher_end)(struct ssh_cipher_state *c, enum ssh_cipher cipher);

	/* Encrypts a packet of n bytes in place and writes the tag behind it; decrypts and verifies one. The
	 * first 4 bytes are its length. AES-GCM: they are the additional data; the nonce is all 12 bytes.
	 * ChaCha20-Poly1305: `open` is given them encrypted, and leaves them so; the nonce is the
	 * last 8 bytes. */
	bool (*seal)(struct ssh_cipher_state *c, enum ssh_cipher cipher, const uint8_t nonce[SSH_NONCE],
	             uint8_t *packet, uint32_t n);
	bool (*open)(struct ssh_cipher_state *c, enum ssh_cipher cipher, const uint8_t nonce[SSH_NONCE],
	             uint8_t *packet, uint32_t n);

	/* ChaCha20-Poly1305 alone; NULL: that cipher is not offered. Decrypts the length. */
	bool (*length)(struct ssh_cipher_state *c, const uint8_t nonce[SSH_NONCE], const uint8_t in[4],
	               uint8_t out[4]);
};

/* Bytes of a cipher's key: OpenSSH's two of ChaCha20 count as one. */
static inline uint32_t ssh_cipher_key(enum ssh_cipher cipher)
{
	return cipher == SSH_AES128_GCM ? 16 : cipher == SSH_AES256_GCM ? 32 : 64;
}

/* --- what a client asks for --- */

struct ssh;

/* Called during ssh_input, ssh_work, ssh_sent, ssh_consumed and ssh_password_is. None may free or reset the
 * struct ssh, nor call functions below but ssh_consumed and those that only look. */
struct ssh_ops {
	/* May this user log in with this key? blob: the public key as RFC 4253 6.6 encodes it. Answered before
	 * the client has proved that it has the private key. */
	bool (*knows_key)(struct ssh *s, struct ssh_text user, struct ssh_text blob);

	/* The user says a password. The owner judges it and calls ssh_password_is() later. */
	void (*password)(struct ssh *s, struct ssh_text user, struct ssh_text password);

	/* The user (s->user) is logged in. blob: the key; empty: by password. */
	void (*logged_in)(struct ssh *s, struct ssh_text blob);

	/* A shell (command.n 0), or a command, is to be started, once. s->pty: the client has a terminal.
	 * False: it is refused. Data then comes by data. */
	bool (*start)(struct ssh *s, struct ssh_text command);

	/* n bytes for it; it takes all, and calls ssh_consumed() for them. */
	void (*data)(struct ssh *s, const uint8_t *data, uint32_t n);

	/* The client sends no more; or, `closed`, it has closed the session. */
	void (*ended)(struct ssh *s, bool closed);
};

/* --- a connection --- */

/* Why a connection ended; SSH_FINE: it has not, or the client ended it. */
enum ssh_failure {
	SSH_FINE,
	SSH_BAD_ID,        /* no SSH 2 */
	SSH_BAD_PACKET,    /* length, padding, or fields that contradict each other */
	SSH_BAD_TAG,
	SSH_BAD_ORDER,     /* a message that may not come now */
	SSH_NO_ALGORITHM,  /* none in common */
	SSH_BAD_SHARE,     /* the client's part of the key exchange */
	SSH_NOT_LOGGED_IN, /* too many failed requests for authentication */
	SSH_TOO_MUCH,      /* more than the window, or requests during a key exchange than wait */
	SSH_CRYPTO_FAILED, /* an operation of ours */
	SSH_CLOSED,        /* by the owner: ssh_close() */
	SSH_FAILURES,
};

enum ssh_work { SSH_NO_WORK, SSH_WORK_AGREE, SSH_WORK_SIGN, SSH_WORK_VERIFY, SSH_WAIT_PASSWORD };

/* One direction. */
struct ssh_direction {
	bool on;              /* encrypted */
	enum ssh_cipher cipher;
	struct ssh_cipher_state state;
	uint8_t nonce[SSH_NONCE]; /* of AES-GCM: RFC 5647 7.1 */
	uint32_t seq;         /* of the next packet */
	uint64_t bytes, packets; /* with this key */
};

/* All fields but user, pty, columns, rows, failed, rekey_bytes and ctx are private. */
struct ssh {
	const struct ssh_crypto *crypto;
	const struct ssh_ops *ops;
	void *ctx;                /* the owner's */
	bool over;
	enum ssh_failure failed;
	enum ssh_work work;

	/* transport */
	struct ssh_direction in, out, next_in;
	bool has_id;              /* the client's identification has come */
	bool kex_ours;            /* our KEXINIT was sent, our NEWKEYS not */
	bool kex_theirs;          /* the client's KEXINIT has come, its NEWKEYS not */
	bool share_taken;         /* the client's ECDH_INIT has come, its NEWKEYS not */
	bool strict, ext_info;    /* what the client can */
	bool keyed;               /* the first key exchange is over */
	bool skip_guess;          /* the next packet is a wrong guess (RFC 4253 7) */
	enum ssh_kex kex;
	enum ssh_key host_key;
	enum ssh_cipher cipher_in, cipher_out;
	uint8_t share[SSH_POINT_MAX], secret[SSH_SECRET], hash[SSH_HASH], session_id[SSH_HASH];
	uint32_t share_len;
	uint64_t rekey_bytes;     /* SSH_REKEY_BYTES */

	/* authentication */
	bool service, logged_in;
	unsigned tries, password_tries;
	char user[SSH_USER_MAX + 1];

	/* the session channel: ours has the number 0 */
	bool open, started, pty, eof_in, close_in, close_out;
	uint32_t peer, peer_window, peer_max;
	uint32_t window, consumed; /* what the client may send; what it may not know yet */
	uint32_t columns, rows;

	/* buffers */
	uint32_t in_at, in_len, out_at, out_len, late_len;
	uint32_t packet;          /* of the first packet in in[]: its bytes if it was decrypted; else 0 */
	uint32_t client_id_len, client_init_len, server_init_len;
	uint8_t client_id[SSH_ID_MAX], client_init[SSH_KEXINIT_MAX], server_init[1024];
	uint8_t late[SSH_LATE_BYTES], scratch[SSH_KEXINIT_MAX + 2048];
	uint8_t out_buf[SSH_OUT_BYTES], in_buf[SSH_IN_BYTES];
};

/* Begins a connection: our identification and KEXINIT wait to be sent. All of *s is written. False:
 * the crypto lacks randomness or a host key. */
bool ssh_begin(struct ssh *s, const struct ssh_crypto *crypto, const struct ssh_ops *ops, void *ctx);

/* Ends it in memory: keys are erased. Called once for each ssh_begin. */
void ssh_forget(struct ssh *s);

/* Takes received bytes: as many as there is room for, which it returns; after the end all. */
uint32_t ssh_input(struct ssh *s, const void *data, uint32_t n);

/* Room for received bytes. */
static inline uint32_t ssh_in_room(const struct ssh *s) { return SSH_IN_BYTES - (s->in_len - s->in_at); }

/* True if an operation with a public key is to be done; ssh_work does one. */
static inline bool ssh_has_work(const struct ssh *s)
{
	return !s->over && s->work != SSH_NO_WORK && s->work != SSH_WAIT_PASSWORD;
}
void ssh_work(struct ssh *s);

/* The verdict that ssh_ops.password asked for. */
void ssh_password_is(struct ssh *s, bool right);

/* Bytes to be sent, at *at; ssh_sent: the first n of them have been. */
uint32_t ssh_output(struct ssh *s, const uint8_t **at);
void ssh_sent(struct ssh *s, uint32_t n);

/* Sends data of the session: as many bytes as there is room for, which it returns. */
uint32_t ssh_send(struct ssh *s, const void *data, uint32_t n);
uint32_t ssh_send_room(const struct ssh *s);

/* n bytes given to ssh_ops.data have been processed: the window opens by them. */
void ssh_consumed(struct ssh *s, uint32_t n);

/* The shell or command has ended, with a status. No more is sent behind what was. */
void ssh_end(struct ssh *s, uint32_t status);

/* True if both sides have closed the session. */
static inline bool ssh_session_is_closed(const struct ssh *s) { return s->close_in && s->close_out; }

/* Begins a key exchange, unless one goes on. For an owner that counts time (RFC 4253 9: an hour). */
void ssh_rekey(struct ssh *s);

/* Ends the connection with a DISCONNECT. */
void ssh_close(struct ssh *s, const char *why);
static inline bool ssh_is_over(const struct ssh *s) { return s->over; }

/* True once the first key exchange is over. */
static inline bool ssh_is_keyed(const struct ssh *s) { return s->keyed; }

/* Reads a public key blob (RFC 4253 6.6, 5656 3.1, 8709 4), with the SSH_RSA_SHA256 kind for RSA. False: it
 * is none that verify can take. */
bool ssh_read_public(struct ssh_text blob, struct ssh_public *out);

/* The cipher of what we send; "none" before the first key exchange. */
const char *ssh_cipher_name(const struct ssh *s);

/* The name of a host key, or of a user key's signatures. */
const char *ssh_key_name(enum ssh_key kind);

/* Writes a host key as a blob (the inverse of ssh_read_public) from its point. */
void ssh_put_host_key(struct ssh_writer *w, enum ssh_key kind, const uint8_t *point, uint32_t n);

#endif
