/* control/crypto: the TLS client beside the TLS server, in memory: which certificates it takes, and why not the others. */
#include "tests/unit/rig/host.h"

#include "control/crypto/library.h"
#include "control/crypto/tls.h"
#include "lib/civil.h"
#include "runtime/runtime.h"
#include "tests/unit/rig/certificates.h"

#define PIPE 32768

struct core_self self;
uint64_t host_tsc;

/* --- two ends of a connection --- */

struct end {
	struct end *other;
	uint8_t in[PIPE];
	uint32_t n;
	uint64_t damage; /* number of the received byte that is damaged, from 1; 0: none */
	uint64_t received;
};

static struct end client_end, server_end;

static uint32_t receive(void *arg, uint8_t *to, uint32_t n)
{
	struct end *e = arg;
	n = n < e->n ? n : e->n;
	memcpy(to, e->in, n);
	memmove(e->in, e->in + n, e->n - n);
	e->n -= n;
	return n;
}

static uint32_t send(void *arg, const uint8_t *from, uint32_t n)
{
	struct end *e = ((struct end *)arg)->other;
	n = n < PIPE - e->n ? n : PIPE - e->n;
	memcpy(e->in + e->n, from, n);
	if (e->damage > e->received && e->damage <= e->received + n)
		e->in[e->n + (e->damage - e->received) - 1] ^= 0x10;
	e->received += n;
	e->n += n;
	return n;
}

static const struct tls_io io = {receive, send};

static void connect(void)
{
	memset(&client_end, 0, sizeof client_end);
	memset(&server_end, 0, sizeof server_end);
	client_end.other = &server_end;
	server_end.other = &client_end;
}

static uint64_t day(unsigned year, unsigned month, unsigned d)
{
	const struct civil c = {year, month, d, 12, 0, 0};
	return (uint64_t)civil_seconds(&c) * 1000000000;
}

static void trust(const char *pem)
{
	const char *why = tls_trust_pem((const uint8_t *)pem, strlen(pem));
	if (why)
		fail_msg("%s", why);
}

static void serve(const char *pem)
{
	assert_null(tls_use_pem((const uint8_t *)pem, strlen(pem), NULL));
}

static struct tls_peer named(const char *name)
{
	struct tls_peer p = {.utc_ns = day(2026, 6, 1)};
	snprintf(p.name, sizeof p.name, "%s", name);
	return p;
}

/* A whole connection. TLS_FAILURES: both sides are ready, and data went both ways; else why the client has failed. */
static enum tls_failure reach(const struct tls_peer *peer)
{
	enum tls_failure why;
	uint8_t data[8];
	const size_t before = crypto_use().used;
	connect();
	struct tls *c = tls_open_client(&io, &client_end, peer, &why), *s = tls_open(&io, &server_end);
	assert_non_null(s);
	enum tls_step at = TLS_MORE, there = TLS_MORE;
	for (unsigned i = 0; c && i < 200 && at != TLS_FAILED && (at != TLS_READY || there != TLS_READY); i++) {
		at = tls_handshake(c);
		there = tls_handshake(s);
	}
	if (at == TLS_READY) {
		assert_int_equal(there, TLS_READY);
		assert_true(tls_write(c, "question", 8));
		assert_int_equal(tls_read(s, data, 8), 8);
		assert_true(tls_write(s, data, 8));
		assert_int_equal(tls_read(c, data, 8), 8);
		assert_memory_equal(data, "question", 8);
		tls_end(s);
		assert_int_equal(tls_read(c, data, 8), TLS_ENDED);
		why = TLS_FAILURES;
	} else if (c) {
		assert_int_equal(at, TLS_FAILED);
		why = tls_failure(c);
		assert_true(*tls_failure_text(why) && *tls_failure_word(why));
		assert_int_equal(tls_handshake(s), TLS_FAILED); /* the client's alert, or what is left of it */
	}
	tls_close(c);
	tls_close(s);
	if (before > crypto_use().used || crypto_use().used > before + 4096) /* the store of keys, and what trust_take makes */
		fail_msg("%zu bytes were in use, %zu are", before, crypto_use().used);
	return why;
}

static int setup(void **state)
{
	(void)state;
	assert_true(crypto_start());
	serve(server_pem);
	trust(authority_pem);
	return 0;
}

static void test_names(void **state)
{
	static const char *const good[] = {"syslog.example", "SYSLOG.example", "a.logs.example"};
	static const char *const bad[] = {"ignored.example", "logs.example", "a.b.logs.example", "xsyslog.example", "example",
	                                  "syslog.example.org", "192.0.2.9"};
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(good); i++) {
		const struct tls_peer p = named(good[i]);
		assert_int_equal(reach(&p), TLS_FAILURES);
	}
	for (unsigned i = 0; i + 1 < ARRAY_LEN(bad); i++) {
		const struct tls_peer p = named(bad[i]);
		assert_int_equal(reach(&p), TLS_FAILURE_NAME);
	}
	const struct tls_peer p = named("rsa.example");
	serve(leaf_pem);
	assert_int_equal(reach(&p), TLS_FAILURES);
}

static void test_addresses(void **state)
{
	const struct net_addr six = {{be32_make(0x20010db8).raw, 0, 0, be32_make(9).raw}};
	struct tls_peer p = {.utc_ns = day(2026, 6, 1), .addr = net_addr_ip4(0xc0000209)};
	(void)state;
	assert_int_equal(reach(&p), TLS_FAILURES);
	p.addr = net_addr_ip4(0xc000020a);
	assert_int_equal(reach(&p), TLS_FAILURE_NAME);
	p.addr = six;
	assert_int_equal(reach(&p), TLS_FAILURES);
	p.addr.w[3] = 0;
	assert_int_equal(reach(&p), TLS_FAILURE_NAME);
	serve(leaf_pem); /* it has no address */
	p.addr = net_addr_ip4(0xc0000209);
	assert_int_equal(reach(&p), TLS_FAILURE_NAME);
}

static void test_dates(void **state)
{
	struct tls_peer p = named("syslog.example");
	(void)state;
	p.utc_ns = day(2025, 12, 31);
	assert_int_equal(reach(&p), TLS_FAILURE_FUTURE);
	p.utc_ns = day(2026, 1, 1);
	assert_int_equal(reach(&p), TLS_FAILURES);
	p.utc_ns = day(2026, 12, 31);
	assert_int_equal(reach(&p), TLS_FAILURES);
	p.utc_ns = day(2027, 1, 2);
	assert_int_equal(reach(&p), TLS_FAILURE_EXPIRED);
	p.utc_ns = 0;
	assert_int_equal(reach(&p), TLS_FAILURE_NO_TIME);
	/* the authority itself */
	p = named("rsa.example");
	p.utc_ns = day(2037, 1, 1);
	serve(leaf_pem);
	assert_int_equal(reach(&p), TLS_FAILURE_EXPIRED);
}

static void test_trust(void **state)
{
	struct tls_peer p = named("syslog.example");
	char both[4096];
	(void)state;
	trust(stranger_pem); /* of the same name */
	assert_int_equal(tls_trusted(), 1);
	assert_int_equal(reach(&p), TLS_FAILURE_UNTRUSTED);
	snprintf(both, sizeof both, "Stranger:\n%s\nand the right one\n%s", stranger_pem, authority_pem);
	trust(both);
	assert_int_equal(tls_trusted(), 2);
	assert_int_equal(reach(&p), TLS_FAILURES);
	trust("");
	assert_int_equal(tls_trusted(), 0);
	assert_int_equal(reach(&p), TLS_FAILURE_NO_TRUST);
	/* a certificate that trusts itself */
	trust(client_pem);
	serve(server_pem);
	assert_int_equal(reach(&p), TLS_FAILURE_UNTRUSTED);
}

static void test_bad_texts(void **state)
{
	char text[4096];
	static char large[65537];
	(void)state;
	memset(large, 'x', sizeof large);
	assert_string_equal(tls_trust_check((const uint8_t *)large, sizeof large), "it is too large");
	assert_non_null(tls_trust_check((const uint8_t *)"nothing", 7));
	assert_non_null(tls_trust_pem((const uint8_t *)"nothing", 7));
	assert_int_equal(tls_trusted(), 1); /* as before */
	assert_null(tls_trust_check((const uint8_t *)authority_pem, strlen(authority_pem)));
	snprintf(text, sizeof text, "%s%s", authority_pem, stranger_pem);
	text[strlen(authority_pem) + 40] = '!'; /* one of two is damaged */
	assert_non_null(tls_trust_check((const uint8_t *)text, strlen(text)));
	for (unsigned i = 60; i + 60 < strlen(authority_pem); i++) { /* any damage: refused, or another certificate */
		memcpy(text, authority_pem, strlen(authority_pem) + 1);
		text[i] = text[i] == 'A' ? 'B' : 'A';
		(void)tls_trust_check((const uint8_t *)text, strlen(text));
	}
	memcpy(text, authority_pem, strlen(authority_pem) + 1);
	text[strlen(authority_pem) / 2] = '!';
	assert_non_null(tls_trust_check((const uint8_t *)text, strlen(text)));
}

/* The largest file, of a hundred and more certificates, leaves the heap to as many sessions as there may be. */
static void test_largest(void **state)
{
	static char text[65537];
	struct tls *all[22];
	const struct tls_peer p = named("syslog.example");
	enum tls_failure why;
	size_t n = 0;
	(void)state;
	for (const size_t one = strlen(authority_pem); n + one < sizeof text; n += one)
		memcpy(text + n, authority_pem, one);
	text[n] = 0;
	trust(text);
	assert_in_range(tls_trusted(), 100, 200);
	assert_null(tls_trust_check((const uint8_t *)text, n));
	connect();
	for (unsigned i = 0; i < ARRAY_LEN(all); i++)
		assert_non_null(all[i] = i < 6 ? tls_open_client(&io, &client_end, &p, &why) : tls_open(&io, &server_end));
	assert_int_equal(reach(&p), TLS_FAILURES);
	for (unsigned i = 0; i < ARRAY_LEN(all); i++)
		tls_close(all[i]);
}

/* A fingerprint stands for everything else: authority, name, date, and the time of day. */
static void test_fingerprint(void **state)
{
	static const uint8_t fingerprint[SHA256_BYTES] = {
		0x10, 0xc9, 0xa1, 0xaf, 0x11, 0x28, 0x5a, 0x99, 0xf9, 0xd5, 0xd4, 0x33, 0xd6, 0x03, 0x07, 0x0e,
		0x6d, 0xb6, 0x22, 0xee, 0x7a, 0x66, 0x16, 0x6b, 0x99, 0xf6, 0x7f, 0xe3, 0xbd, 0x4b, 0xf6, 0x0e};
	struct tls_peer p = {.name = "any.example", .pinned = true};
	(void)state;
	memcpy(p.fingerprint, fingerprint, sizeof p.fingerprint);
	trust("");
	assert_int_equal(reach(&p), TLS_FAILURES);
	p.fingerprint[31] ^= 1;
	assert_int_equal(reach(&p), TLS_FAILURE_PIN);
	trust(authority_pem); /* which does not help */
	p = named("syslog.example");
	p.pinned = true;
	assert_int_equal(reach(&p), TLS_FAILURE_PIN);
}

/* What the peer sends is damaged: never is a handshake completed with it unseen. */
static void test_damage(void **state)
{
	const struct tls_peer p = named("syslog.example");
	(void)state;
	unsigned n = 0;
	for (uint64_t at = 1, all = UINT64_MAX; at <= all; at += 37, n++) {
		enum tls_failure why;
		connect();
		client_end.damage = at;
		struct tls *c = tls_open_client(&io, &client_end, &p, &why), *s = tls_open(&io, &server_end);
		enum tls_step step = TLS_MORE;
		for (unsigned i = 0; i < 200 && step != TLS_FAILED && step != TLS_READY; i++) {
			step = tls_handshake(c);
			(void)tls_handshake(s);
		}
		all = step == TLS_READY ? client_end.received : all;
		if (at <= client_end.received && step == TLS_READY)
			fail_msg("byte %llu", (unsigned long long)at);
		tls_close(c);
		tls_close(s);
	}
	assert_in_range(n, 15, 100);
}

/* A peer that answers with an alert, or with something that is not TLS. */
static void test_alerts(void **state)
{
	static const struct {
		uint8_t bytes[8], n;
		enum tls_failure why;
	} answers[] = {
		{{21, 3, 1, 0, 2, 2, 70}, 7, TLS_FAILURE_AGREE}, /* protocol_version, of a server with TLS 1.1 */
		{{21, 3, 3, 0, 2, 2, 40}, 7, TLS_FAILURE_AGREE}, /* handshake_failure */
		{{21, 3, 3, 0, 2, 2, 80}, 7, TLS_FAILURE_ALERT}, /* internal_error */
		{"220 smtp", 8, TLS_FAILURE_PROTOCOL},
	};
	const struct tls_peer p = named("syslog.example");
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(answers); i++) {
		enum tls_failure why;
		enum tls_step step = TLS_MORE;
		connect();
		struct tls *c = tls_open_client(&io, &client_end, &p, &why);
		memcpy(client_end.in, answers[i].bytes, answers[i].n);
		client_end.n = answers[i].n;
		for (unsigned k = 0; k < 20 && step != TLS_FAILED; k++)
			step = tls_handshake(c);
		assert_int_equal(step, TLS_FAILED);
		assert_int_equal(tls_failure(c), answers[i].why);
		tls_close(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_names, setup),
		cmocka_unit_test_setup(test_addresses, setup),
		cmocka_unit_test_setup(test_dates, setup),
		cmocka_unit_test_setup(test_trust, setup),
		cmocka_unit_test_setup(test_bad_texts, setup),
		cmocka_unit_test_setup(test_largest, setup),
		cmocka_unit_test_setup(test_fingerprint, setup),
		cmocka_unit_test_setup(test_damage, setup),
		cmocka_unit_test_setup(test_alerts, setup),
	};
	return cmocka_run_group_tests_name("tls_client", tests, NULL, NULL);
}
