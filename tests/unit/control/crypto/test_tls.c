/* control/crypto/tls.c over the real Mbed TLS, against OpenSSL's client: the test carries the bytes, cuts, alters
 * and withholds them, and refuses memory. After each test the libraries have freed what its sessions took. */
#include "tests/unit/rig/host.h"
#include "tests/unit/rig/openssl_client.h"

#include <mbedtls/platform.h>
#include <psa/crypto.h>

#include "control/crypto/library.h"
#include "control/crypto/tls.h"
#include "lib/number.h"
#include "runtime/entropy.h"
#include "runtime/runtime.h"

#define QUEUE 65536
#define ALL UINT32_MAX

struct core_self self;
uint64_t host_tsc;

/* --- memory of the libraries: from malloc, so that ASan sees each block --- */

static long blocks;
static uint64_t requests, refuse_at; /* the request that is refused; 0: none */
static bool refuse_on;               /* all later ones too */

static void *blocks_calloc(size_t n, size_t size)
{
	requests++;
	if (refuse_at && (requests == refuse_at || (refuse_on && requests > refuse_at)))
		return NULL;
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
	random_fill(out, bytes);
	return true;
}

static void use_own_key(void)
{
	static const uint8_t secret[TLS_SECRET] = {[TLS_SECRET - 1] = 7};
	assert_true(tls_use_secret(secret));
}

static int setup(void **state)
{
	(void)state;
	seed_random("tls");
	assert_true(crypto_start());
	mbedtls_psa_crypto_free();
	assert_int_equal(mbedtls_platform_set_calloc_free(blocks_calloc, blocks_free), 0);
	assert_int_equal(psa_crypto_init(), PSA_SUCCESS);
	use_own_key();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tls_forget();
	mbedtls_psa_crypto_free();
	assert_int_equal(blocks, 0);
	return 0;
}

/* --- a connection --- */

struct queue {
	uint8_t bytes[QUEUE];
	uint32_t at, n;
};

static struct link {
	struct tls *t;              /* the server */
	struct openssl_client client;
	struct queue up, down;      /* to the server; to the client */
	uint32_t allowed;           /* bytes that may still reach the server */
	uint32_t piece;             /* at most, in one call */
	uint32_t room, room_of_turn; /* that the server may send; given again with each turn */
	uint32_t carried;           /* bytes that have reached the server */
	uint32_t flip;              /* of them, that with this number is altered; ALL: none */
	uint8_t mask;
	uint64_t events;
	bool ready, failed, ended, deaf; /* deaf: the server does not read */
	uint32_t read_max;          /* of the server's reads */
	uint8_t got[QUEUE];
	uint32_t n;
	long before;                /* blocks */
} link;

static uint32_t receive(void *arg, uint8_t *to, uint32_t n)
{
	struct link *l = arg;
	n = u32_min(u32_min(n, l->piece), u32_min(l->allowed, l->up.n - l->up.at));
	memcpy(to, l->up.bytes + l->up.at, n);
	for (uint32_t i = 0; i < n; i++)
		if (l->carried + i == l->flip)
			to[i] ^= l->mask;
	l->up.at += n;
	l->allowed -= l->allowed == ALL ? 0 : n;
	l->carried += n;
	l->events += n;
	return n;
}

static uint32_t transmit(void *arg, const uint8_t *from, uint32_t n)
{
	struct link *l = arg;
	n = u32_min(n, l->room);
	assert_in_range(l->down.n + n, 0, QUEUE);
	memcpy(l->down.bytes + l->down.n, from, n);
	l->down.n += n;
	l->room -= l->room == ALL ? 0 : n;
	l->events += n;
	return n;
}

static const struct tls_io io = {receive, transmit};

/* A session, or none; nothing has been carried. */
static bool link_begin(const struct openssl_wish *wish)
{
	memset(&link, 0, sizeof link);
	link.allowed = link.piece = link.room = link.room_of_turn = link.flip = ALL;
	link.read_max = TLS_WRITE_MAX;
	link.before = blocks;
	openssl_open(&link.client, wish);
	link.t = tls_open(&io, &link);
	return link.t != NULL;
}

/* Frees all; nothing is left of it. */
static void link_end(void)
{
	tls_close(link.t);
	openssl_close(&link.client);
	assert_int_equal(blocks, link.before);
}

static void serve(void)
{
	struct link *l = &link;
	uint8_t *to;
	int got;
	while (!l->ready && !l->failed) {
		const enum tls_step step = tls_handshake(l->t);
		l->ready = step == TLS_READY;
		l->failed = step == TLS_FAILED;
		l->events += l->ready || l->failed;
		if (step == TLS_WAIT)
			return;
	}
	while (l->ready && !l->failed && !l->ended && !l->deaf) {
		to = malloc(l->read_max); /* ASan knows its end */
		got = tls_read(l->t, to, l->read_max);
		assert_in_range(got + 2, 0, l->read_max + 2);
		if (got > 0) {
			assert_in_range(l->n + (uint32_t)got, 0, QUEUE);
			memcpy(l->got + l->n, to, (size_t)got);
			l->n += (uint32_t)got;
		}
		free(to);
		l->ended = got == TLS_ENDED;
		l->failed = got == TLS_BROKEN;
		l->events += got != 0;
		if (got <= 0)
			return;
	}
}

static void client_says(void)
{
	struct queue *q = &link.up;
	memmove(q->bytes, q->bytes + q->at, q->n - q->at);
	q->n -= q->at;
	q->at = 0;
	const uint32_t n = openssl_give(&link.client, q->bytes + q->n, QUEUE - q->n);
	q->n += n;
	link.events += n;
}

static void client_hears(void)
{
	openssl_take(&link.client, link.down.bytes, link.down.n);
	link.down.n = 0;
}

/* Until both sides wait. */
static void settle(void)
{
	uint64_t before;
	do {
		before = link.events;
		openssl_step(&link.client);
		client_says();
		link.room = link.room_of_turn;
		serve();
		client_hears();
	} while (link.events != before);
}

static void connect_both(const struct openssl_wish *wish)
{
	assert_true(link_begin(wish));
	settle();
	assert_true(link.ready && link.client.ready && !link.failed);
}

static void to_client(const void *bytes, uint32_t n)
{
	link.room = n + TLS_OVERHEAD;
	assert_true(tls_write(link.t, bytes, n));
	link.room = ALL;
	client_hears();
	openssl_step(&link.client);
}

/* A session that failed stays failed. */
static void failed_as(enum tls_failure why)
{
	uint8_t byte;
	assert_true(link.failed);
	assert_int_equal(tls_failure(link.t), why);
	if (!link.ready)
		assert_int_equal(tls_handshake(link.t), TLS_FAILED);
	assert_int_equal(tls_read(link.t, &byte, 1), TLS_BROKEN);
	assert_false(tls_write(link.t, &byte, 1));
	tls_end(link.t);
}

static const struct openssl_wish both[] = {{.version = TLS1_2_VERSION}, {.version = TLS1_3_VERSION}};
#define EACH_VERSION(wish) for (const struct openssl_wish *wish = both; wish < both + 2; wish++)

/* --- agreement --- */

static void every_suite(void **state)
{
	static const struct {
		struct openssl_wish wish;
		const char *suite;
	} rows[] = {
		{{.version = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"}, "TLS-ECDHE-ECDSA-WITH-AES-128-GCM-SHA256"},
		{{.version = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-AES256-GCM-SHA384"}, "TLS-ECDHE-ECDSA-WITH-AES-256-GCM-SHA384"},
		{{.version = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305", .groups = "X25519:P-256"},
		 "TLS-ECDHE-ECDSA-WITH-CHACHA20-POLY1305-SHA256"},
		{{.version = TLS1_3_VERSION, .suites = "TLS_AES_128_GCM_SHA256", .alpn = "http/1.1"}, "TLS1-3-AES-128-GCM-SHA256"},
		{{.version = TLS1_3_VERSION, .suites = "TLS_AES_256_GCM_SHA384", .groups = "X25519"}, "TLS1-3-AES-256-GCM-SHA384"},
		{{.version = TLS1_3_VERSION, .suites = "TLS_CHACHA20_POLY1305_SHA256", .groups = "P-521:P-384"},
		 "TLS1-3-CHACHA20-POLY1305-SHA256"}, /* HelloRetryRequest */
	};
	static uint8_t most[TLS_WRITE_MAX];
	(void)state;
	random_fill(most, sizeof most);
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		connect_both(&rows[i].wish);
		assert_string_equal(tls_suite(link.t), rows[i].suite);
		assert_string_equal(tls_version(link.t), rows[i].wish.version == TLS1_3_VERSION ? "TLSv1.3" : "TLSv1.2");
		openssl_write(&link.client, most, sizeof most);
		settle();
		assert_int_equal(link.n, sizeof most);
		assert_memory_equal(link.got, most, sizeof most);
		/* records of the least and of the most bytes, into exactly the room that is promised */
		to_client(most, 1);
		to_client(most, sizeof most);
		assert_int_equal(link.client.n, 1 + sizeof most);
		assert_memory_equal(link.client.got, most, 1);
		assert_memory_equal(link.client.got + 1, most, sizeof most);
		link_end();
	}
}

/* Each is refused with the alert of the RFC, and as something that was not agreed upon. */
static void nothing_in_common(void **state)
{
	static const struct {
		struct openssl_wish wish;
		int alert;
	} rows[] = {
		{{.version = TLS1_VERSION, .ciphers = "ALL"}, SSL_AD_PROTOCOL_VERSION},
		{{.version = TLS1_1_VERSION, .ciphers = "ALL"}, SSL_AD_PROTOCOL_VERSION},
		{{.version = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-AES128-SHA256"}, SSL_AD_HANDSHAKE_FAILURE},
		{{.version = TLS1_2_VERSION, .ciphers = "AES128-GCM-SHA256"}, SSL_AD_HANDSHAKE_FAILURE},
		{{.version = TLS1_2_VERSION, .ciphers = "DHE-RSA-AES128-GCM-SHA256"}, SSL_AD_HANDSHAKE_FAILURE},
		{{.version = TLS1_2_VERSION, .groups = "P-521"}, SSL_AD_HANDSHAKE_FAILURE},
		{{.version = TLS1_3_VERSION, .groups = "P-521"}, -1}, /* none is sent */
		{{.version = TLS1_2_VERSION, .alpn = "h2"}, SSL_AD_NO_APPLICATION_PROTOCOL},
		{{.version = TLS1_3_VERSION, .alpn = "h2"}, SSL_AD_NO_APPLICATION_PROTOCOL},
	};
	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_true(link_begin(&rows[i].wish));
		settle();
		failed_as(TLS_FAILURE_AGREE);
		assert_int_equal(link.client.alert, rows[i].alert);
		link_end();
	}
}

/* --- bytes --- */

static const char hello[] = "GET / HTTP/1.1\r\n\r\n";
#define HELLO (sizeof hello - 1)

/* Bytes of a client until the server is ready, and of a record behind them. */
static uint32_t bytes_of(const struct openssl_wish *wish, uint32_t *handshake)
{
	connect_both(wish);
	*handshake = link.carried;
	openssl_write(&link.client, hello, HELLO);
	settle();
	const uint32_t all = link.carried;
	link_end();
	return all;
}

static void says_hello(void)
{
	if (link.client.ready && !link.client.failed)
		openssl_write(&link.client, hello, HELLO);
	settle();
}

/* The stream of a client pauses at each byte, and goes on; and ends there. */
static void cut_at_every_byte(void **state)
{
	(void)state;
	EACH_VERSION(wish) {
		uint32_t handshake;
		const uint32_t all = bytes_of(wish, &handshake);
		for (uint32_t cut = 0; cut <= all; cut++) {
			assert_true(link_begin(wish));
			link.allowed = cut;
			settle();
			if (cut >= handshake)
				says_hello();
			assert_false(link.failed);
			assert_int_equal(link.ready, cut >= handshake);
			assert_int_equal(link.n, cut < all ? 0 : HELLO);
			if (random_below(random_rounds(4)) == 0) {
				link.allowed = ALL;
				settle();
				assert_true(link.ready && link.client.ready);
				if (cut < handshake)
					says_hello();
				assert_int_equal(link.n, HELLO);
				assert_memory_equal(link.got, hello, HELLO);
			}
			link_end();
		}
	}
}

/* Bytes one by one in both directions, and room for a few at a time. */
static void pieces(void **state)
{
	static const uint32_t sizes[] = {1, 2, 5, 100};
	(void)state;
	EACH_VERSION(wish)
		for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
			assert_true(link_begin(wish));
			link.piece = link.room_of_turn = sizes[i];
			settle();
			assert_true(link.ready && link.client.ready);
			says_hello();
			assert_int_equal(link.n, HELLO);
			to_client("answer", 6);
			assert_int_equal(link.client.n, 6);
			link_end();
		}
}

/* Records of the most bytes of RFC 8446 5.1, padded ones, and reads that take a part. */
static void long_records(void **state)
{
	static const struct openssl_wish padded = {.version = TLS1_3_VERSION, .padding = 512};
	static uint8_t most[SSL3_RT_MAX_PLAIN_LENGTH];
	(void)state;
	random_fill(most, sizeof most);
	EACH_VERSION(wish) {
		connect_both(wish);
		link.read_max = 1000;
		openssl_write(&link.client, most, sizeof most);
		openssl_write(&link.client, most, 1);
		settle();
		assert_int_equal(link.n, sizeof most + 1);
		assert_memory_equal(link.got, most, sizeof most);
		link_end();
	}
	connect_both(&padded);
	link.read_max = 1;
	says_hello();
	assert_int_equal(link.n, HELLO);
	link_end();
}

/* --- ends --- */

static void close_notify(void **state)
{
	uint8_t byte;
	(void)state;
	EACH_VERSION(wish) {
		/* the client first: the server may still answer */
		connect_both(wish);
		openssl_write(&link.client, hello, HELLO);
		SSL_shutdown(link.client.ssl);
		settle();
		assert_true(link.ended && link.n == HELLO);
		assert_int_equal(tls_read(link.t, &byte, 1), TLS_ENDED);
		to_client("answer", 6);
		assert_int_equal(link.client.n, 6);
		tls_end(link.t);
		client_hears();
		openssl_step(&link.client);
		assert_true(link.client.ended && !link.client.failed);
		link_end();
		/* the server first */
		connect_both(wish);
		tls_end(link.t);
		says_hello();
		assert_true(link.client.ended && !link.client.failed);
		assert_int_equal(link.n, HELLO);
		link_end();
		/* without room nothing goes out, and the session can be closed */
		connect_both(wish);
		link.room = 0;
		tls_end(link.t);
		assert_int_equal(link.down.n, 0);
		link_end();
	}
}

/* The client does not trust the certificate. In TLS 1.3 OpenSSL sends its alert without encryption, where the
 * server expects a tag (RFC 8446 6: alerts are encrypted as specified by the current connection state). */
static void alerts(void **state)
{
	(void)state;
	EACH_VERSION(wish) {
		assert_true(link_begin(wish));
		SSL_set_verify(link.client.ssl, SSL_VERIFY_PEER, NULL);
		settle();
		assert_true(link.client.failed);
		failed_as(wish->version == TLS1_3_VERSION ? TLS_FAILURE_RECORD : TLS_FAILURE_ALERT);
		link_end();
	}
}

/* TLS 1.2: refused by an alert (RFC 5246 7.2.2, no_renegotiation), which ends the session of this client. It
 * may ask again and again, but has to read the alerts. */
static void renegotiation(void **state)
{
	uint32_t asked = 0;
	(void)state;
	connect_both(&both[0]);
	assert_true(SSL_renegotiate(link.client.ssl));
	SSL_do_handshake(link.client.ssl);
	settle();
	assert_int_equal(link.client.alert, SSL_AD_NO_RENEGOTIATION);
	failed_as(TLS_FAILURE_ALERT);
	link_end();

	connect_both(&both[0]);
	link.room_of_turn = 0;
	for (; asked < 10 && !link.failed; asked++) {
		SSL_renegotiate(link.client.ssl);
		SSL_do_handshake(link.client.ssl);
		settle();
	}
	/* what the server sends now would be lost behind the alert that waits */
	failed_as(TLS_FAILURE_PROTOCOL);
	link_end();
}

/* TLS 1.3: Mbed TLS 3.6 has no KeyUpdate (RFC 8446 4.6.3), which ends the session. */
static void key_update(void **state)
{
	(void)state;
	connect_both(&both[1]);
	assert_true(SSL_key_update(link.client.ssl, SSL_KEY_UPDATE_REQUESTED));
	says_hello();
	failed_as(TLS_FAILURE_PROTOCOL);
	link_end();
}

/* A record that finds too little room breaks the session: it is not sent in part and forgotten. */
static void no_room(void **state)
{
	static uint8_t most[TLS_WRITE_MAX];
	(void)state;
	EACH_VERSION(wish)
		for (uint32_t room = 0; room < 100; room += 33) {
			connect_both(wish);
			link.room = room;
			assert_false(tls_write(link.t, most, sizeof most));
			link.failed = true;
			failed_as(TLS_FAILURE_PROTOCOL);
			link_end();
		}
}

/* --- wrong bytes --- */

/* Gives the server what lies in the queue, until it wants no more. */
static void feed(void)
{
	uint64_t before;
	do {
		before = link.events;
		serve();
	} while (before != link.events);
}

static void garbage(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t n;
		bool answered; /* by an alert */
	} rows[] = {
#define ROW(text, ...) {text, sizeof text - 1, __VA_ARGS__}
		ROW("GET / HTTP/1.1\r\n\r\n", false),
		ROW("SSH-2.0-OpenSSH_9.2\r\n", false),
		ROW("\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10", false), /* SSL 2.0 */
		ROW("\x16\x03\x01\xff\xff\x01\x00\x00\x00\x00", false),     /* a record that is too long */
		ROW("\x16\x03\x01\x00\x00\x16\x03\x01\x00\x00", false),     /* none in it */
		ROW("\x16\x02\x00\x00\x05\x01\x00\x00\x01\x00", true),
		ROW("\x16\x03\x01\x00\x05\x0e\x00\x00\x01\x00", true),      /* not a ClientHello */
		ROW("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", true),      /* a ClientHello of one byte */
		ROW("\x16\x03\x01\x00\x05\x01\xff\xff\xff\x00", false),     /* one of 16 MiB */
		ROW("\x17\x03\x03\x00\x05hello", true),
		ROW("\x14\x03\x03\x00\x01\x01", true),
		ROW("\x15\x03\x03\x00\x02\x02\x28", false),
		ROW("\x15\x03\x03\x00\x02\x01\x00", false),                 /* close_notify */
		ROW("\x18\x03\x03\x00\x03\x01\x40\x00", false),             /* a heartbeat */
#undef ROW
	};
	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		for (uint32_t piece = 1; piece < 100; piece += 98) {
			assert_true(link_begin(&both[0]));
			link.piece = piece;
			memcpy(link.up.bytes, rows[i].bytes, rows[i].n);
			link.up.n = rows[i].n;
			feed();
			/* of a long message the rest */
			for (unsigned more = 0; more < 2 && !link.failed; more++) {
				memcpy(link.up.bytes, "\x16\x03\x01\x40\x00", 5);
				memset(link.up.bytes + 5, 0, 0x4000);
				link.up.n = 5 + 0x4000;
				link.up.at = 0;
				feed();
			}
			if (!link.failed)
				fail_msg("row %u is not refused", i);
			if (rows[i].answered != (link.down.n >= 7 && link.down.bytes[0] == SSL3_RT_ALERT))
				fail_msg("row %u: %u bytes of answer", i, link.down.n);
			link_end();
		}
}

/* Each byte of a connection altered. Whatever comes of it, both sides agree on it; and a byte of data never
 * gets through. */
static void altered_at_every_byte(void **state)
{
	(void)state;
	EACH_VERSION(wish) {
		uint32_t handshake;
		const uint32_t all = bytes_of(wish, &handshake);
		for (uint32_t at = 0; at < all; at += 1 + random_below(4)) {
			assert_true(link_begin(wish));
			link.flip = at;
			link.mask = (uint8_t)(1u << random_below(8));
			settle();
			says_hello();
			if (at >= handshake) {
				assert_int_equal(link.n, 0);
				if (at >= handshake + 5)
					failed_as(TLS_FAILURE_RECORD);
			} else if (link.ready) {
				assert_int_equal(link.n, HELLO);
				assert_true(link.client.ready);
			}
			if (link.failed)
				assert_in_range(tls_failure(link.t), 0, TLS_FAILURES - 1);
			link_end();
		}
	}
}

/* --- memory --- */

/* Requests for memory of a whole connection. */
static uint64_t requests_of(const struct openssl_wish *wish)
{
	const uint64_t before = requests;
	connect_both(wish);
	says_hello();
	link_end();
	return requests - before;
}

/*
 * Memory is refused from each request on, or each alone: the session fails or goes on, its memory is freed, and
 * the next client is served.
 *
 * Most failures say that it was memory. But without the memory for a signature Mbed TLS tries its next algorithm,
 * so there may be none left, or one that the client refuses. And if it cannot store the second of two traffic keys
 * of TLS 1.3 (mbedtls_ssl_tls13_compute_*_transform), it forgets the first one, which then stays in PSA's store:
 * a block. teardown() destroys it.
 */
static void refused_memory(void **state)
{
	(void)state;
	EACH_VERSION(wish) {
		const uint64_t all = requests_of(wish);
		unsigned failures[TLS_FAILURES] = {0}, lost = 0, sum = 0;
		for (uint64_t n = 1; n <= all; n += 1 + n / 16 + random_below(3))
			for (unsigned on = 0; on < 2; on++) {
				refuse_on = on;
				refuse_at = requests + n;
				if (link_begin(wish)) {
					settle();
					assert_true(link.failed || (link.ready && link.client.ready));
					failures[tls_failure(link.t)] += link.failed;
				}
				refuse_at = 0;
				tls_close(link.t);
				link.t = NULL;
				assert_in_range(blocks - link.before, 0, wish->version == TLS1_3_VERSION);
				lost += blocks != link.before;
				link.before = blocks;
				link_end();
			}
		for (unsigned i = 0; i < TLS_FAILURES; i++)
			sum += failures[i];
		assert_in_range(lost, 0, sum / 10);
		assert_int_equal(failures[TLS_FAILURE_PROTOCOL] + failures[TLS_FAILURE_RECORD], 0);
		assert_true(sum > 30 && failures[TLS_FAILURE_MEMORY] > sum / 2);
		connect_both(wish);
		says_hello();
		assert_int_equal(link.n, HELLO);
		link_end();
	}
}

/* A session keeps the identity that it began with; without one there is no session. */
static void identities(void **state)
{
	uint8_t secret[TLS_SECRET];
	(void)state;
	assert_true(link_begin(&both[1]));
	assert_true(tls_secret_make(secret) && tls_use_secret(secret));
	settle();
	assert_true(link.ready && link.client.ready);
	tls_forget();
	says_hello();
	assert_int_equal(link.n, HELLO);
	openssl_close(&link.client);
	tls_close(link.t);
	assert_false(link_begin(&both[1]));
	link_end();
	use_own_key();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_suite), cmocka_unit_test(nothing_in_common), cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(pieces), cmocka_unit_test(long_records), cmocka_unit_test(close_notify),
		cmocka_unit_test(alerts), cmocka_unit_test(renegotiation), cmocka_unit_test(key_update),
		cmocka_unit_test(no_room), cmocka_unit_test(garbage), cmocka_unit_test(altered_at_every_byte),
		cmocka_unit_test(refused_memory), cmocka_unit_test(identities),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
