/*
 * The peer of a TLS session (control/crypto/tls.h over the real Mbed TLS), a client of our server or a server that we
 * are a client of: the bytes that it sends in a connection, from the first on.
 *
 *     byte 0   bit 0: we get one byte at a time; bit 1: we can send only some bytes at a time until
 *              the handshake is over; bit 2: we end the session after the first data; bit 3: we are the client,
 *              which trusts the authority of tests/unit/rig/certificates.h
 *     then     bytes
 *
 * Whatever comes: nothing is read or written beyond its buffer, a session that failed stays failed, and
 * closing it leaves no memory. The random generator begins anew for each input, with entropy that is always
 * the same, and so does the key. So we answer a peer that was recorded as we did then, and the seeds are whole
 * connections:
 *
 *     TLS_RECORD=4433:FILE build/fuzz/fuzz_tls     records the next connection to that port of 127.0.0.1
 *     TLS_RECORD=to4433:FILE build/fuzz/fuzz_tls   connects to that port, on which is, with the certificate and key of
 *                                                  server_pem: openssl s_server -accept 4433 -cert FILE -rev
 */
#include "tests/fuzz/input.h"

#include <arpa/inet.h>
#include <mbedtls/platform.h>
#include <psa/crypto.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/crypto/library.h"
#include "control/crypto/tls.h"
#include "runtime/entropy.h"
#include "runtime/runtime.h"
#include "tests/unit/rig/certificates.h"

#define NOON 1780315200000000000 /* 2026-06-01 12:00, when these certificates are valid */
#define OUT_BYTES (2 * (TLS_WRITE_MAX + TLS_OVERHEAD))

struct core_self self;

static long blocks; /* of the libraries' memory */

static void *blocks_calloc(size_t n, size_t size)
{
	blocks++;
	return calloc(n, size);
}

static void blocks_free(void *at)
{
	blocks -= at != NULL;
	free(at);
}

bool entropy_get(void *out, size_t bytes)
{
	memset(out, 0x5a, bytes);
	return true;
}

/* As after a boot, with the same key each time. */
static void start(void)
{
	static const uint8_t secret[TLS_SECRET] = {[TLS_SECRET - 1] = 7};
	assert(crypto_start());
	tls_forget();
	assert(tls_trust_pem(NULL, 0) == NULL);
	mbedtls_psa_crypto_free();
	assert(mbedtls_platform_set_calloc_free(blocks_calloc, blocks_free) == 0);
	assert(psa_crypto_init() == PSA_SUCCESS);
	assert(tls_use_secret(secret));
	assert(tls_trust_pem((const uint8_t *)authority_pem, strlen(authority_pem)) == NULL);
}

/* --- the peer --- */

struct peer {
	struct input in;
	uint8_t flags;
	bool ready;    /* the handshake is over */
	uint32_t room; /* bytes that we may send in this turn */
	int socket;    /* recording; else -1 */
	FILE *record;
};

static uint32_t live_receive(struct peer *c, uint8_t *to, uint32_t n)
{
	const ssize_t got = recv(c->socket, to, n, 0);
	if (got > 0)
		fwrite(to, 1, (size_t)got, c->record);
	c->in.n = got > 0;
	return got > 0 ? (uint32_t)got : 0;
}

static uint32_t receive(void *arg, uint8_t *to, uint32_t n)
{
	struct peer *c = arg;
	if (c->socket >= 0)
		return live_receive(c, to, n);
	if (c->flags & 1 && n > 1)
		n = 1;
	if (n > c->in.n)
		n = (uint32_t)c->in.n;
	memcpy(to, c->in.p, n);
	c->in.p += n;
	c->in.n -= n;
	return n;
}

static uint32_t send_bytes(void *arg, const uint8_t *from, uint32_t n)
{
	struct peer *c = arg;
	if (n > c->room)
		n = c->room;
	free(exactly(from, n)); /* ASan looks at each byte */
	c->room -= n;
	if (c->socket >= 0 && n && send(c->socket, from, n, MSG_NOSIGNAL) != (ssize_t)n)
		return 0;
	return n;
}

static const struct tls_io io = {receive, send_bytes};

/* Answers each piece of data by itself. Returns false when the session has ended. */
static bool serve(struct tls *t, struct peer *c)
{
	uint8_t *data = malloc(TLS_WRITE_MAX);
	const int n = tls_read(t, data, TLS_WRITE_MAX);
	assert(n <= (int)TLS_WRITE_MAX);
	c->room = OUT_BYTES;
	bool open = n >= 0;
	if (n > 0)
		open = tls_write(t, data, (uint32_t)n);
	if (!open || (n > 0 && c->flags & 4))
		tls_end(t);
	if (n > 0 && c->flags & 4)
		open = false;
	free(data);
	return open && (n > 0 || c->in.n > 0);
}

static void failed(struct tls *t)
{
	uint8_t byte;
	assert(tls_failure(t) < TLS_FAILURES);
	assert(tls_handshake(t) == TLS_FAILED);
	assert(tls_read(t, &byte, 1) < 0);
}

static void handshake(struct tls *t, struct peer *c)
{
	unsigned waits = 0; /* in a row, with nothing more to come */
	while (waits < 100) {
		c->room = c->flags & 2 ? 100 : OUT_BYTES;
		const size_t before = c->in.n;
		const enum tls_step step = tls_handshake(t);
		if (step == TLS_FAILED) {
			failed(t);
			return;
		}
		c->ready = step == TLS_READY;
		if (c->ready)
			return;
		waits = step == TLS_WAIT && c->in.n == before ? waits + 1 : 0;
	}
}

static void connection(struct peer *c)
{
	start();
	const long before = blocks;
	const struct tls_peer known = {.name = "syslog.example", .utc_ns = NOON};
	enum tls_failure why;
	struct tls *t = c->flags & 8 ? tls_open_client(&io, c, &known, &why) : tls_open(&io, c);
	assert(t);
	handshake(t, c);
	if (c->ready) {
		assert(*tls_version(t) && *tls_suite(t));
		c->room = OUT_BYTES;
		if (c->flags & 8)
			(void)tls_write(t, "hello\n", 6);
		while (serve(t, c))
			;
	}
	tls_close(t);
	assert(blocks == before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct peer c = {.in = {data, size}, .socket = -1};
	c.flags = take8(&c.in);
	connection(&c);
	return 0;
}

/* --- recording --- */

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	const char *wish = getenv("TLS_RECORD"), *file = wish ? strchr(wish, ':') : NULL;
	if (!file)
		return 0;
	const bool to = strncmp(wish, "to", 2) == 0;
	const struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(wish + (to ? 2 : 0))),
	                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (to ? connect(listener, (const struct sockaddr *)&at, sizeof at) != 0
	       : bind(listener, (const struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 1) != 0) {
		perror("TLS_RECORD");
		exit(1);
	}
	struct peer c = {.socket = to ? listener : accept(listener, NULL, NULL), .record = fopen(file + 1, "wb"),
	                 .flags = to ? 8 | 4 : 0};
	fputc(c.flags, c.record);
	c.in.n = 1;
	connection(&c);
	fclose(c.record);
	fprintf(stderr, "%s: the handshake is %s\n", file + 1, c.ready ? "over" : "not over");
	exit(0);
}
