/* net/ssh against a client of its own (tests/unit/rig/ssh_rig.h): key exchange, strict and not, by each
 * cipher, again under load; authentication; the session; what is refused. The data types by the examples
 * of RFC 4251 5. Real cryptography: tests/unit/control/crypto, and OpenSSH in tests/system/test_ssh.py. */
#include "tests/unit/rig/host.h"

#include "tests/unit/rig/ssh_rig.h"

static struct ssh_rig r;
static struct ssh_reader f;

static int setup(void **state)
{
	(void)state;
	memset(&r, 0, sizeof r);
	r.strict = r.ext_info = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ssh_forget(&r.ssh);
	return 0;
}

/* The connection has ended for this reason, which the client was told. */
static void expect_end(enum ssh_failure failure, uint32_t reason)
{
	int number;
	while ((number = rig_take(&r, &f)) >= 0 && number != RIG_DISCONNECT)
		;
	assert_int_equal(number, RIG_DISCONNECT);
	assert_int_equal(ssh_get_u32(&f), reason);
	assert_true(ssh_is_over(&r.ssh));
	assert_int_equal(r.ssh.failed, failure);
	assert_int_equal(rig_take(&r, &f), -1);
}

/* --- data types --- */

static void mpint(const char *number, uint32_t n, const char *wire, uint32_t bytes)
{
	uint8_t out[32];
	struct ssh_writer w = {.at = out, .size = sizeof out};
	ssh_put_mpint(&w, (const uint8_t *)number, n);
	assert_int_equal(w.used, bytes);
	assert_memory_equal(out, wire, bytes);
	if (n == 0)
		return;
	struct ssh_reader back = {out, bytes, false};
	const struct ssh_text t = ssh_get_positive(&back);
	assert_true(ssh_get_end(&back));
	assert_int_equal(t.n, n);
	assert_memory_equal(t.at, number, n);
}

static void test_types(void **state)
{
	(void)state;
	mpint("", 0, "\0\0\0\0", 4);
	mpint("\x09\xa3\x78\xf9\xb2\xe3\x32\xa7", 8, "\0\0\0\x08\x09\xa3\x78\xf9\xb2\xe3\x32\xa7", 12);
	mpint("\x80", 1, "\0\0\0\x02\0\x80", 6);
	struct ssh_reader negative = {(const uint8_t *)"\0\0\0\x02\xed\xcc", 6, false};
	(void)ssh_get_positive(&negative); /* -1234 */
	assert_true(negative.bad);
	struct ssh_reader empty = {(const uint8_t *)"\0\0\0\0", 4, false};
	(void)ssh_get_positive(&empty);
	assert_true(empty.bad);
	struct ssh_text list = ssh_text_of("zlib,none"), name;
	assert_true(ssh_list_next(&list, &name) && ssh_text_is(name, "zlib"));
	assert_true(ssh_list_next(&list, &name) && ssh_text_is(name, "none"));
	assert_false(ssh_list_next(&list, &name));
	assert_true(ssh_list_has(ssh_text_of("a,b"), "b"));
	assert_false(ssh_list_has(ssh_text_of("ab,c"), "b"));
	assert_false(ssh_list_has(ssh_text_of("a,B"), "b")); /* RFC 4251 6 */
	struct ssh_reader cut = {(const uint8_t *)"\0\0\0\x05" "abcd", 8, false};
	assert_int_equal(ssh_get_string(&cut).n, 0);
	assert_true(cut.bad && !ssh_get_end(&cut));
	uint8_t three[3];
	struct ssh_writer w = {.at = three, .size = 3};
	ssh_put_u32(&w, 1);
	assert_true(w.full && w.used == 0);
}

static void key(const char *front, uint32_t front_n, uint32_t n, bool good)
{
	uint8_t blob[2000] = {0};
	struct ssh_public p;
	memcpy(blob, front, front_n);
	assert_int_equal(ssh_read_public((struct ssh_text){blob, n}, &p), good);
}

#define ED "\0\0\0\x0bssh-ed25519\0\0\0\x20"
#define EC "\0\0\0\x13" "ecdsa-sha2-nistp256\0\0\0\x08nistp256\0\0\0\x41\x04"
#define RSA "\0\0\0\x07ssh-rsa\0\0\0\x03\x01\x00\x01\0\0\x01\x01\0\x80"

static void test_keys(void **state)
{
	(void)state;
	key(ED, sizeof ED - 1, 51, true);
	key(ED, sizeof ED - 1, 50, false);
	key(ED, sizeof ED - 1, 52, false);
	key(EC, sizeof EC - 1, 104, true);
	key(EC, sizeof EC - 1, 105, false);
	key("\0\0\0\x13" "ecdsa-sha2-nistp256\0\0\0\x08nistp256\0\0\0\x41\x02", 40, 104, false); /* compressed */
	key("\0\0\0\x13" "ecdsa-sha2-nistp256\0\0\0\x08nistp384\0\0\0\x41\x04", 40, 104, false);
	key(RSA, sizeof RSA - 1, 279, true); /* 2048 bits */
	key(RSA, sizeof RSA - 1, 278, false);
	key("\0\0\0\x07ssh-rsa\0\0\0\x03\x01\x00\x01\0\0\x01\x00\x00\x80", 24, 278, false); /* 2040 bits */
	key("\0\0\0\x07ssh-rsa\0\0\0\x03\x01\x00\x01\0\0\x02\x01\0\x80", 24, 535, true); /* 4096 bits */
	key("\0\0\0\x07ssh-rsa\0\0\0\x03\x01\x00\x01\0\0\x02\x01\x01\x80", 24, 535, false); /* 4104 bits */
	key("\0\0\0\x07ssh-dss\0\0\0\x01\x01", 16, 16, false);
	key("", 0, 0, false);
}

/* --- key exchange --- */

static void test_key_exchange(void **state)
{
	static const char *const ciphers[] = {"aes256-gcm@openssh.com", "aes128-gcm@openssh.com",
	                                      "chacha20-poly1305@openssh.com"};
	(void)state;
	for (unsigned c = 0; c < 3; c++)
		for (unsigned how = 0; how < 16; how++) {
			r.cipher = ciphers[c];
			r.strict = how & 1;
			r.ext_info = how & 2;
			r.wrong_guess = how & 4;
			r.guess = how & 8; /* alone: it is right */
			assert_true(rig_shell(&r));
			assert_string_equal(ssh_cipher_name(&r.ssh), r.cipher);
			assert_string_equal(r.start, "shell");
			/* again, by the client; then the session goes on */
			r.wrong_guess = false;
			rig_kexinit(&r);
			assert_true(rig_kex_rest(&r));
			assert_int_equal(ssh_send(&r.ssh, "hello", 5), 5);
			assert_int_equal(rig_take(&r, &f), RIG_DATA);
			assert_int_equal(ssh_get_u32(&f), 7);
			assert_true(ssh_text_is(ssh_get_string(&f), "hello") && ssh_get_end(&f));
			ssh_forget(&r.ssh);
		}
}

/* Strict key exchange: with a strict client, nothing unexpected in the first key exchange. */
static void test_strict(void **state)
{
	(void)state;
	for (unsigned strict = 0; strict < 2; strict++) {
		r.strict = strict;
		rig_begin(&r);
		rig_raw(&r, "SSH-2.0-Rig_1\r\n", 15);
		rig_kexinit(&r);
		ssh_put_word(rig_message(&r, RIG_IGNORE), "padding");
		rig_send(&r);
		if (strict)
			expect_end(SSH_BAD_ORDER, 2);
		else
			assert_true(rig_kex_rest(&r));
		ssh_forget(&r.ssh);
	}
	r.strict = true;
	rig_begin(&r);
	rig_raw(&r, "SSH-2.0-Rig_1\r\n", 15);
	ssh_put_word(rig_message(&r, RIG_IGNORE), "first");
	rig_send(&r);
	rig_kexinit(&r);
	expect_end(SSH_BAD_ORDER, 2);
}

static void test_no_algorithm(void **state)
{
	(void)state;
	r.cipher = "aes256-ctr";
	rig_begin(&r);
	rig_raw(&r, "SSH-2.0-Rig_1\r\n", 15);
	rig_kexinit(&r);
	expect_end(SSH_NO_ALGORITHM, 3);
}

/* A KEXINIT with a cipher and a compression of each direction, the client's first, and n bytes of languages. */
static void send_kexinit(const char *const cipher[2], const char *const compression[2], uint32_t n)
{
	static uint8_t languages[SSH_KEXINIT_MAX + 1];
	rig_begin(&r);
	rig_raw(&r, "SSH-2.0-Rig_1\r\n", 15);
	struct ssh_writer *w = rig_message(&r, RIG_KEXINIT);
	ssh_put_bytes(w, "0123456789abcdef", 16);
	ssh_put_word(w, "curve25519-sha256");
	ssh_put_word(w, "ssh-ed25519");
	for (unsigned i = 0; i < 2; i++)
		ssh_put_word(w, cipher[i]);
	for (unsigned i = 0; i < 2; i++)
		ssh_put_word(w, "");
	for (unsigned i = 0; i < 2; i++)
		ssh_put_word(w, compression[i]);
	ssh_put_word(w, "");
	memset(languages, 'l', sizeof languages);
	ssh_put_string(w, languages, n);
	ssh_put_bool(w, false);
	ssh_put_u32(w, 0);
	rig_send(&r);
}

/* RFC 4253 7.1: each direction has algorithms of its own. */
static void test_directions(void **state)
{
	static const char *const ciphers[] = {"aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com"};
	static const char *const none[] = {"none", "none"}, *const in[] = {"zlib", "none"},
	                         *const out[] = {"none", "zlib"};
	(void)state;
	send_kexinit(ciphers, none, 0);
	assert_false(ssh_is_over(&r.ssh));
	assert_true(r.ssh.cipher_in == SSH_AES128_GCM && r.ssh.cipher_out == SSH_CHACHA20_POLY1305);
	ssh_forget(&r.ssh);
	send_kexinit(ciphers, in, 0);
	expect_end(SSH_NO_ALGORITHM, 3);
	ssh_forget(&r.ssh);
	send_kexinit(ciphers, out, 0);
	expect_end(SSH_NO_ALGORITHM, 3);
}

/* The longest KEXINIT that is taken, and one more byte. */
static void test_long_kexinit(void **state)
{
	static const char *const ciphers[] = {"aes128-gcm@openssh.com", "aes128-gcm@openssh.com"};
	static const char *const none[] = {"none", "none"};
	(void)state;
	send_kexinit(ciphers, none, 0);
	const uint32_t rest = SSH_KEXINIT_MAX - r.w.used;
	ssh_forget(&r.ssh);
	send_kexinit(ciphers, none, rest);
	assert_int_equal(r.w.used, SSH_KEXINIT_MAX);
	assert_false(ssh_is_over(&r.ssh));
	ssh_forget(&r.ssh);
	send_kexinit(ciphers, none, rest + 1);
	expect_end(SSH_BAD_PACKET, 2);
}

static void send_share(void)
{
	ssh_put_string(rig_message(&r, RIG_ECDH_INIT), "the client's public part: 32 byt", 32);
	rig_send(&r);
}

/* A share comes once in an exchange. The server's own next exchange waits for the client's NEWKEYS. */
static void test_second_share(void **state)
{
	(void)state;
	for (unsigned again = 0; again < 2; again++) {
		assert_true(rig_shell(&r));
		rig_kexinit(&r);
		assert_int_equal(rig_take(&r, &f), RIG_KEXINIT);
		send_share();
		assert_int_equal(rig_take(&r, &f), RIG_ECDH_REPLY);
		assert_int_equal(rig_take(&r, &f), RIG_NEWKEYS);
		ssh_rekey(&r.ssh);
		assert_false(r.ssh.kex_ours);
		if (again) {
			send_share();
			assert_int_equal(r.ssh.failed, SSH_BAD_ORDER);
		}
		assert_int_equal(ssh_is_over(&r.ssh), again);
		ssh_forget(&r.ssh);
	}
}

static void test_bad_share(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 70; n++) { /* of zeros: all wrong, or refused by the crypto */
		uint8_t share[70] = {0};
		rig_begin(&r);
		rig_raw(&r, "SSH-2.0-Rig_1\r\n", 15);
		rig_kexinit(&r);
		ssh_put_string(rig_message(&r, RIG_ECDH_INIT), share, n);
		rig_send(&r);
		expect_end(SSH_BAD_SHARE, 3);
		ssh_forget(&r.ssh);
	}
}

static void test_identification(void **state)
{
	static const struct {
		const char *text;
		bool good;
	} ids[] = {{"SSH-2.0-x\r\n", true},   {"SSH-2.0-x y z\n", true}, {"SSH-1.99-x\r\n", false},
	           {"SSH-2.0-\r\n", false},   {"GET / HTTP/1.0\r\n", false}, {"\r\n", false},
	           {"SSH-1.5-x\r\n", false}};
	char longest[300];
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(ids); i++) {
		rig_begin(&r);
		rig_raw(&r, ids[i].text, (uint32_t)strlen(ids[i].text));
		assert_int_equal(ssh_is_over(&r.ssh), !ids[i].good);
		ssh_forget(&r.ssh);
	}
	rig_begin(&r); /* RFC 4253 4.2: "The null character MUST NOT be sent" */
	rig_raw(&r, "SSH-2.0-x\0y\r\n", 13);
	assert_int_equal(r.ssh.failed, SSH_BAD_ID);
	ssh_forget(&r.ssh);
	memset(longest, 'x', sizeof longest);
	memcpy(longest, "SSH-2.0-", 8);
	rig_begin(&r);
	rig_raw(&r, longest, 254);
	assert_false(ssh_is_over(&r.ssh));
	rig_raw(&r, "x", 1);
	assert_true(ssh_is_over(&r.ssh));
}

/* New keys after so many bytes, of the server's own accord; what it must answer meanwhile waits. */
static void test_rekey_by_server(void **state)
{
	char data[1000];
	(void)state;
	memset(data, 'd', sizeof data);
	for (unsigned c = 0; c < 2; c++) {
		r.cipher = c ? "chacha20-poly1305@openssh.com" : NULL;
		r.strict = c;
		assert_true(rig_shell(&r));
		r.ssh.rekey_bytes = 3000;
		unsigned taken = 0;
		while (!r.ssh.kex_ours) {
			assert_int_equal(ssh_send(&r.ssh, data, 1000), 1000);
			assert_int_equal(rig_take(&r, &f), RIG_DATA);
			taken++;
		}
		assert_in_range(taken, 2, 4);
		assert_int_equal(ssh_send_room(&r.ssh), 0);
		/* requests that were on their way */
		for (unsigned i = 0; i < 3; i++) {
			struct ssh_writer *w = rig_message(&r, RIG_GLOBAL);
			ssh_put_word(w, "keepalive@openssh.com");
			ssh_put_bool(w, true);
			rig_send(&r);
		}
		rig_kexinit(&r);
		assert_true(rig_kex_rest(&r));
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(rig_take(&r, &f), RIG_GLOBAL_FAILURE);
		assert_int_equal(ssh_send(&r.ssh, data, 1000), 1000);
		assert_int_equal(rig_take(&r, &f), RIG_DATA);
		ssh_forget(&r.ssh);
	}
}

/* RFC 4344 3.1: new keys after so many packets of either direction; a client that makes none is refused. */
static void test_rekey_by_packets(void **state)
{
	(void)state;
	for (unsigned out = 0; out < 2; out++) {
		assert_true(rig_shell(&r));
		uint64_t *packets = out ? &r.ssh.out.packets : &r.ssh.in.packets;
		/* `in` has counted the packet itself when it is asked */
		for (unsigned i = 0; i < 3; i++) {
			*packets = (i < 2 ? SSH_REKEY_PACKETS : 2 * SSH_REKEY_PACKETS) - !out + (i > 0);
			ssh_put_word(rig_message(&r, RIG_IGNORE), "");
			rig_send(&r);
			assert_int_equal(r.ssh.kex_ours, i > 0);
			assert_int_equal(ssh_is_over(&r.ssh), i == 2);
		}
		assert_int_equal(rig_take(&r, &f), RIG_KEXINIT);
		expect_end(SSH_BAD_ORDER, 2);
		ssh_forget(&r.ssh);
	}
}

/* A client that does not answer a KEXINIT may not make the server keep answers without end. */
static void test_late_is_bounded(void **state)
{
	(void)state;
	assert_true(rig_shell(&r));
	ssh_rekey(&r.ssh);
	for (unsigned i = 0; i < 2000 && !ssh_is_over(&r.ssh); i++) {
		struct ssh_writer *w = rig_message(&r, RIG_GLOBAL);
		ssh_put_word(w, "keepalive@openssh.com");
		ssh_put_bool(w, true);
		rig_send(&r);
	}
	expect_end(SSH_TOO_MUCH, 2);
}

/* --- packets --- */

static void expect_unimplemented(unsigned number)
{
	const uint32_t seq = r.to.seq;
	rig_message(&r, (enum rig_number)number);
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_UNIMPLEMENTED);
	assert_int_equal(ssh_get_u32(&f), seq);
	assert_false(ssh_is_over(&r.ssh));
}

static void test_damaged_packets(void **state)
{
	static uint8_t packet[256], whole[256];
	(void)state;
	for (unsigned c = 0; c < 2; c++) {
		r.cipher = c ? "chacha20-poly1305@openssh.com" : NULL;
		for (uint32_t at = 0;; at++) {
			assert_true(rig_login(&r));
			ssh_put_word(rig_message(&r, RIG_IGNORE), "some bytes");
			const uint32_t n = rig_frame(&r, whole);
			memcpy(packet, whole, n);
			if (at < n)
				packet[at] ^= 1;
			rig_raw(&r, packet, n);
			if (at == n)
				break;
			if (at == 2) { /* a longer one is awaited */
				assert_false(ssh_is_over(&r.ssh));
			} else {
				assert_true(ssh_is_over(&r.ssh));
				assert_int_equal(r.ssh.failed, at < 4 ? SSH_BAD_PACKET : SSH_BAD_TAG);
			}
			ssh_forget(&r.ssh);
		}
		assert_false(ssh_is_over(&r.ssh));
		ssh_forget(&r.ssh);
	}
}

/* RFC 4253 6 and RFC 5647 7.2: whole blocks, of 16 bytes by AES and of 8 by ChaCha20 and in the clear. */
static void test_blocks(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 2; c++)
		for (uint8_t length = 8; length <= 64; length++) {
			uint8_t head[4] = {0, 0, 0, length};
			r.cipher = c ? "chacha20-poly1305@openssh.com" : NULL;
			assert_true(rig_login(&r));
			for (unsigned i = 0; c && i < 4; i++)
				head[i] ^= r.to.key[32];
			rig_raw(&r, head, 4);
			assert_int_equal(ssh_is_over(&r.ssh), length % (c ? 8 : 16) != 0);
			ssh_forget(&r.ssh);
		}
}

/* RFC 5647 7.1: the invocation counter is 64 bits; it wraps, and the fixed field before it stays. */
static void test_nonce_carry(void **state)
{
	static const uint8_t counters[][8] = {{0x12, 255, 255, 255, 255, 255, 255, 255},
	                                      {255, 255, 255, 255, 255, 255, 255, 255}};
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_true(rig_login(&r));
		memcpy(r.to.nonce + 4, counters[i], 8);
		memcpy(r.ssh.in.nonce + 4, counters[i], 8);
		expect_unimplemented(192);
		expect_unimplemented(192);
		ssh_forget(&r.ssh);
	}
}

/* The padding: 4 bytes or more, and they leave a message number. */
static void test_paddings(void **state)
{
	(void)state;
	for (unsigned padding = 0; padding < 256; padding++) {
		uint8_t packet[16] = {[3] = sizeof packet - 4, (uint8_t)padding, RIG_IGNORE};
		rig_begin(&r);
		rig_raw(&r, "SSH-2.0-x\r\n", 11);
		rig_raw(&r, packet, sizeof packet);
		assert_int_equal(r.ssh.failed == SSH_BAD_PACKET, padding < 4 || padding > 10);
		ssh_forget(&r.ssh);
	}
}

/* The largest packet that RFC 4253 6.1 asks for, in pieces; and a larger one. */
static void test_large_packets(void **state)
{
	static uint8_t packet[1 << 16];
	(void)state;
	assert_true(rig_login(&r));
	static uint8_t zeros[34900];
	for (uint32_t n = 32768; n <= 34900; n += 2132) {
		ssh_put_string(rig_message(&r, RIG_IGNORE), zeros, n);
		const uint32_t bytes = rig_frame(&r, packet);
		for (uint32_t at = 0; at < bytes; at += 999)
			rig_raw(&r, packet + at, bytes - at < 999 ? bytes - at : 999);
		assert_false(ssh_is_over(&r.ssh));
	}
	uint8_t length[4] = {0, 0, 0x88, 0xb0}; /* 34992 and the tag */
	rig_raw(&r, length, 4);
	expect_end(SSH_BAD_PACKET, 2);
}

static void test_unknown_message(void **state)
{
	(void)state;
	assert_true(rig_login(&r));
	const uint32_t seq = r.to.seq;
	rig_message(&r, 192);
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_UNIMPLEMENTED);
	assert_int_equal(ssh_get_u32(&f), seq);
}

/* RFC 4253 11.4 and 7.1: an unknown message has this answer at any time, also during a key exchange,
 * unless that is strict. */
static void test_unknown_message_early(void **state)
{
	static const uint8_t numbers[] = {0, 8, 19, 22, 29, 83, 89, 101, 192, 255};
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(numbers); i++) {
		r.strict = false;
		rig_begin(&r);
		rig_raw(&r, "SSH-2.0-Rig_1\r\n", 15);
		assert_int_equal(rig_take(&r, &f), RIG_KEXINIT);
		expect_unimplemented(numbers[i]); /* before the client's KEXINIT */
		rig_kexinit(&r);
		expect_unimplemented(numbers[i]); /* within the exchange */
		ssh_forget(&r.ssh);
		assert_true(rig_connect(&r));
		expect_unimplemented(numbers[i]); /* before the log-in */
		ssh_forget(&r.ssh);
		r.strict = true;
		assert_true(rig_login(&r));
		rig_kexinit(&r);
		assert_int_equal(rig_take(&r, &f), RIG_KEXINIT);
		expect_unimplemented(numbers[i]); /* a later exchange is not strict */
		ssh_forget(&r.ssh);
		rig_begin(&r);
		rig_raw(&r, "SSH-2.0-Rig_1\r\n", 15);
		rig_kexinit(&r);
		rig_message(&r, (enum rig_number)numbers[i]);
		rig_send(&r);
		expect_end(SSH_BAD_ORDER, 2);
		ssh_forget(&r.ssh);
	}
}

/* RFC 4253 11.1 to 11.3: messages without an answer, and the client's end. */
static void test_generic_messages(void **state)
{
	(void)state;
	assert_true(rig_login(&r));
	ssh_put_word(rig_message(&r, RIG_IGNORE), "data");
	rig_send(&r);
	ssh_put_u32(rig_message(&r, RIG_UNIMPLEMENTED), 3);
	rig_send(&r);
	struct ssh_writer *w = rig_message(&r, RIG_DEBUG);
	ssh_put_bool(w, true);
	ssh_put_word(w, "text");
	ssh_put_word(w, "");
	rig_send(&r);
	ssh_put_u32(rig_message(&r, RIG_EXT_INFO), 0); /* RFC 8308 2.3 */
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), -1);
	assert_false(ssh_is_over(&r.ssh));
	w = rig_message(&r, RIG_DISCONNECT);
	ssh_put_u32(w, 11);
	ssh_put_word(w, "bye");
	ssh_put_word(w, "");
	rig_send(&r);
	assert_true(ssh_is_over(&r.ssh));
	assert_int_equal(r.ssh.failed, SSH_FINE);
	rig_message(&r, 192);
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), -1);
}

/* --- authentication --- */

static void service(void)
{
	assert_true(rig_connect(&r));
	ssh_put_word(rig_message(&r, RIG_SERVICE_REQUEST), "ssh-userauth");
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_SERVICE_ACCEPT);
}

static struct ssh_writer *auth(const char *user, const char *method)
{
	struct ssh_writer *w = rig_message(&r, RIG_AUTH);
	ssh_put_word(w, user);
	ssh_put_word(w, "ssh-connection");
	ssh_put_word(w, method);
	return w;
}

static void expect_failure(const char *methods)
{
	assert_int_equal(rig_take(&r, &f), RIG_AUTH_FAILURE);
	assert_true(ssh_text_is(ssh_get_string(&f), methods));
	assert_false(ssh_get_bool(&f));
	assert_true(ssh_get_end(&f));
}

static void test_password(void **state)
{
	(void)state;
	service();
	auth("admin", "none");
	rig_send(&r);
	expect_failure("publickey,password");
	for (unsigned i = 0; i < 3; i++) {
		struct ssh_writer *w = auth("admin", "password");
		ssh_put_bool(w, false);
		ssh_put_word(w, "wrong");
		rig_send(&r);
		assert_string_equal(r.password, "wrong");
		/* the next packet is not processed before the verdict */
		ssh_put_word(rig_message(&r, RIG_SERVICE_REQUEST), "ssh-userauth");
		rig_send(&r);
		assert_int_equal(rig_take(&r, &f), -1);
		ssh_password_is(&r.ssh, false);
		expect_failure(i < 2 ? "publickey,password" : "publickey");
		assert_int_equal(rig_take(&r, &f), RIG_SERVICE_ACCEPT);
	}
	r.password[0] = 0;
	struct ssh_writer *w = auth("admin", "password");
	ssh_put_bool(w, false);
	ssh_put_word(w, "secret");
	rig_send(&r);
	assert_string_equal(r.password, ""); /* the owner is not asked a fourth time */
	expect_failure("publickey");
	for (unsigned i = 0; i < SSH_TRIES; i++) {
		auth("admin", "none");
		rig_send(&r);
	}
	expect_end(SSH_NOT_LOGGED_IN, 14);
	assert_int_equal(r.logins, 0);
}

/* Any method counts, and the last failure that is allowed is answered. */
static void test_tries(void **state)
{
	(void)state;
	service();
	for (unsigned i = 1; i < SSH_TRIES; i++) {
		auth("admin", "none");
		rig_send(&r);
		expect_failure("publickey,password");
	}
	auth("admin", "none");
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_DISCONNECT);
	assert_true(ssh_is_over(&r.ssh) && r.ssh.failed == SSH_NOT_LOGGED_IN);
}

/* No password stays in memory when its request has been answered. */
static void test_password_is_erased(void **state)
{
	static const char secret[] = "a most secret word";
	(void)state;
	service();
	struct ssh_writer *w = auth("admin", "password");
	ssh_put_bool(w, false);
	ssh_put_word(w, secret);
	rig_send(&r);
	ssh_password_is(&r.ssh, true);
	assert_int_equal(rig_take(&r, &f), RIG_AUTH_SUCCESS);
	const char *at = (const char *)&r.ssh;
	for (size_t i = 0; i + sizeof secret - 1 <= sizeof r.ssh; i++)
		assert_true(memcmp(at + i, secret, sizeof secret - 1) != 0);
}

/* A request with the rig's key; `sign`: with a signature by this name, of which `damage` changes a bit. */
static void publickey_by(const char *user, bool sign, bool damage, const char *name)
{
	uint8_t text[1000], signature[4 + 11 + 4 + 64];
	struct ssh_writer *w = auth(user, "publickey");
	ssh_put_bool(w, sign);
	ssh_put_word(w, "ssh-ed25519");
	ssh_put_string(w, rig_blob, sizeof rig_blob);
	if (sign) {
		struct ssh_writer t = {.at = text, .size = sizeof text}, s = {.at = signature, .size = sizeof signature};
		uint8_t bytes[64] = {0};
		ssh_put_string(&t, r.session, 32);
		ssh_put_bytes(&t, w->at, w->used);
		rig_crypto.sha256(t.at, t.used, bytes);
		bytes[5] ^= damage;
		ssh_put_word(&s, name);
		ssh_put_string(&s, bytes, sizeof bytes);
		ssh_put_string(w, s.at, s.used);
	}
	rig_send(&r);
}

static void publickey(const char *user, bool sign, bool damage)
{
	publickey_by(user, sign, damage, "ssh-ed25519");
}

static void test_publickey(void **state)
{
	(void)state;
	service();
	publickey("somebody", false, false);
	expect_failure("publickey,password");
	publickey("somebody", true, false);
	expect_failure("publickey,password");
	publickey("admin", false, false);
	assert_int_equal(rig_take(&r, &f), RIG_PK_OK);
	assert_true(ssh_text_is(ssh_get_string(&f), "ssh-ed25519"));
	assert_memory_equal(ssh_get_string(&f).at, rig_blob, sizeof rig_blob);
	publickey("admin", true, true);
	expect_failure("publickey,password");
	publickey_by("admin", true, false, "ssh-ed25518"); /* the signature of another algorithm, RFC 8332 3.2 */
	expect_failure("publickey,password");
	assert_int_equal(r.logins, 0);
	publickey("admin", true, false);
	assert_int_equal(rig_take(&r, &f), RIG_AUTH_SUCCESS);
	assert_int_equal(r.logins, 1);
	assert_string_equal(r.ssh.user, "admin");
	publickey("admin", true, false); /* ignored from now on */
	assert_int_equal(rig_take(&r, &f), -1);
	assert_false(ssh_is_over(&r.ssh));
}

/* RFC 4252 5 and 8: what is refused without ending the connection, and a service that ends it. */
static void test_refused_requests(void **state)
{
	static const char *const names[] = {"", "ad min", "admin\x7f", "a-name-of-33-bytes-without-blanks"};
	(void)state;
	service();
	for (unsigned i = 0; i < ARRAY_LEN(names); i++) { /* the owner is not asked about such a user */
		struct ssh_writer *w = auth(names[i], "password");
		ssh_put_bool(w, false);
		ssh_put_word(w, "secret");
		rig_send(&r);
		expect_failure("publickey,password");
		assert_string_equal(r.password, "");
	}
	auth("admin", "hostbased");
	rig_send(&r);
	expect_failure("publickey,password");
	auth("admin", "keyboard-interactive");
	rig_send(&r);
	expect_failure("publickey,password");
	struct ssh_writer *w = auth("admin", "publickey");
	ssh_put_bool(w, false);
	ssh_put_word(w, "ssh-dss");
	ssh_put_string(w, rig_blob, sizeof rig_blob);
	rig_send(&r);
	expect_failure("publickey,password");
	w = auth("admin", "password"); /* a change of the password */
	ssh_put_bool(w, true);
	ssh_put_word(w, "old");
	ssh_put_word(w, "new");
	rig_send(&r);
	expect_failure("publickey,password");
	assert_string_equal(r.password, "");
	w = rig_message(&r, RIG_AUTH);
	ssh_put_word(w, "admin");
	ssh_put_word(w, "nonsense");
	ssh_put_word(w, "none");
	rig_send(&r);
	expect_end(SSH_BAD_PACKET, 2);
	ssh_forget(&r.ssh);
	/* RFC 4253 10 */
	assert_true(rig_connect(&r));
	ssh_put_word(rig_message(&r, RIG_SERVICE_REQUEST), "ssh-connection");
	rig_send(&r);
	expect_end(SSH_BAD_ORDER, 2);
}

static void test_order(void **state)
{
	static const uint8_t early[] = {RIG_AUTH, RIG_GLOBAL, RIG_OPEN, RIG_DATA, RIG_NEWKEYS, RIG_ECDH_INIT};
	(void)state;
	for (unsigned i = 0; i < sizeof early; i++) {
		assert_true(rig_connect(&r));
		rig_message(&r, early[i]);
		rig_send(&r);
		expect_end(SSH_BAD_ORDER, 2);
		ssh_forget(&r.ssh);
	}
}

/* --- the session --- */

static struct ssh_writer *request(const char *type)
{
	struct ssh_writer *w = rig_message(&r, RIG_REQUEST);
	ssh_put_u32(w, 0);
	ssh_put_word(w, type);
	ssh_put_bool(w, true);
	return w;
}

static struct ssh_writer *open_channel(const char *type, uint32_t number)
{
	struct ssh_writer *w = rig_message(&r, RIG_OPEN);
	ssh_put_word(w, type);
	ssh_put_u32(w, number);
	ssh_put_u32(w, 5000);
	ssh_put_u32(w, 5000);
	return w;
}

static void expect_refused(uint32_t number, uint32_t reason)
{
	assert_int_equal(rig_take(&r, &f), RIG_OPEN_FAILURE);
	assert_int_equal(ssh_get_u32(&f), number);
	assert_int_equal(ssh_get_u32(&f), reason);
}

static void test_session(void **state)
{
	(void)state;
	assert_true(rig_login(&r));
	ssh_put_word(open_channel("direct-tcpip", 1), "and more");
	rig_send(&r);
	expect_refused(1, 1);
	open_channel("nonsense", 2);
	rig_send(&r);
	expect_refused(2, 3);
	open_channel("session", 3);
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_OPENED);
	open_channel("session", 4);
	rig_send(&r);
	expect_refused(4, 4);
	ssh_put_word(request("env"), "LANG");
	ssh_put_word(&r.w, "C");
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_FAILURE);
	ssh_put_word(request("subsystem"), "sftp");
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_FAILURE);
	struct ssh_writer *w = request("pty-req");
	ssh_put_word(w, "xterm");
	for (uint32_t i = 0; i < 4; i++)
		ssh_put_u32(w, 80 + i);
	ssh_put_word(w, "");
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_SUCCESS);
	assert_true(r.ssh.pty && r.ssh.columns == 80 && r.ssh.rows == 81);
	ssh_put_word(request("exec"), "");
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_FAILURE);
	assert_string_equal(r.start, "");
	ssh_put_word(request("exec"), "show version");
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_SUCCESS);
	assert_string_equal(r.start, "exec show version");
	request("shell"); /* once */
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_FAILURE);
	w = request("pty-req"); /* too late, and the session keeps the terminal that it has */
	ssh_put_word(w, "xterm");
	for (uint32_t i = 0; i < 4; i++)
		ssh_put_u32(w, 80 + i);
	ssh_put_word(w, "");
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_FAILURE);
	assert_true(r.ssh.pty);
	w = request("window-change");
	for (uint32_t i = 0; i < 4; i++)
		ssh_put_u32(w, 132 + i);
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_SUCCESS);
	assert_int_equal(r.ssh.columns, 132);
	/* RFC 4254 6.2: "zero dimension parameters MUST be ignored" */
	w = request("window-change");
	for (uint32_t i = 0; i < 4; i++)
		ssh_put_u32(w, i == 1 ? 50 : 0);
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_SUCCESS);
	assert_true(r.ssh.columns == 132 && r.ssh.rows == 50);
	w = request("window-change");
	for (uint32_t i = 0; i < 4; i++)
		ssh_put_u32(w, i == 0 ? 100 : 0);
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_SUCCESS);
	assert_true(r.ssh.columns == 100 && r.ssh.rows == 50);
	/* the end: output, exit status, EOF, CLOSE */
	assert_int_equal(ssh_send(&r.ssh, "out", 3), 3);
	ssh_end(&r.ssh, 1);
	assert_int_equal(ssh_send(&r.ssh, "more", 4), 0);
	assert_int_equal(rig_take(&r, &f), RIG_DATA);
	assert_int_equal(rig_take(&r, &f), RIG_REQUEST);
	assert_int_equal(ssh_get_u32(&f), 3);
	assert_true(ssh_text_is(ssh_get_string(&f), "exit-status"));
	assert_false(ssh_get_bool(&f));
	assert_int_equal(ssh_get_u32(&f), 1);
	assert_int_equal(rig_take(&r, &f), RIG_EOF);
	assert_int_equal(rig_take(&r, &f), RIG_CLOSE);
	assert_false(ssh_session_is_closed(&r.ssh));
	ssh_put_u32(rig_message(&r, RIG_CLOSE), 0);
	rig_send(&r);
	assert_true(ssh_session_is_closed(&r.ssh));
	assert_int_equal(r.closed, 1);
	assert_int_equal(rig_take(&r, &f), -1);
}

/* RFC 4254 5.3: the client ends its half, then the session. A signal (6.9) is ignored. */
static void test_client_closes(void **state)
{
	(void)state;
	assert_true(rig_shell(&r));
	struct ssh_writer *w = rig_message(&r, RIG_REQUEST);
	ssh_put_u32(w, 0);
	ssh_put_word(w, "signal");
	ssh_put_bool(w, false);
	ssh_put_word(w, "INT");
	rig_send(&r);
	ssh_put_u32(rig_message(&r, RIG_EOF), 0);
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), -1);
	assert_true(r.ended == 1 && r.closed == 0);
	assert_int_equal(ssh_send(&r.ssh, "still", 5), 5);
	assert_int_equal(rig_take(&r, &f), RIG_DATA);
	ssh_put_u32(rig_message(&r, RIG_CLOSE), 0);
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_CLOSE);
	assert_int_equal(ssh_get_u32(&f), 7);
	assert_int_equal(r.closed, 1);
	assert_true(ssh_session_is_closed(&r.ssh));
	assert_int_equal(ssh_send(&r.ssh, "x", 1), 0);
	ssh_end(&r.ssh, 0);
	assert_int_equal(rig_take(&r, &f), -1);
}

static void send_eof(void)
{
	ssh_put_u32(rig_message(&r, RIG_EOF), 0);
	rig_send(&r);
}

static void send_data(uint32_t n);

/* RFC 4254 5.3: after its EOF the client sends no data. The owner is told of one EOF, and the window is not opened
 * again. */
static void test_after_eof(void **state)
{
	(void)state;
	assert_true(rig_shell(&r));
	send_data(SSH_WINDOW - 1);
	send_eof();
	send_eof();
	assert_int_equal(r.ended, 1);
	ssh_consumed(&r.ssh, SSH_WINDOW - 1);
	assert_int_equal(rig_take(&r, &f), -1);
	send_data(1);
	expect_end(SSH_TOO_MUCH, 2);
	assert_int_equal(r.data_len, SSH_WINDOW - 1);
	ssh_forget(&r.ssh);
	/* a shell does not start after EOF: it would have no input */
	assert_true(rig_login(&r));
	open_channel("session", 3);
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_OPENED);
	send_eof();
	request("shell");
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_FAILURE);
	assert_string_equal(r.start, "");
}

/* RFC 4254 5.3: after our CLOSE requests are not answered, and data is dropped. After its own CLOSE the client sends
 * nothing. */
static void test_after_close(void **state)
{
	(void)state;
	assert_true(rig_shell(&r));
	ssh_end(&r.ssh, 0);
	assert_int_equal(rig_take(&r, &f), RIG_REQUEST);
	assert_int_equal(rig_take(&r, &f), RIG_EOF);
	assert_int_equal(rig_take(&r, &f), RIG_CLOSE);
	request("env");
	rig_send(&r);
	send_data(100);
	assert_int_equal(rig_take(&r, &f), -1);
	assert_int_equal(r.data_len, 0);
	ssh_put_u32(rig_message(&r, RIG_CLOSE), 0);
	rig_send(&r);
	assert_false(ssh_is_over(&r.ssh));
	request("env");
	rig_send(&r);
	expect_end(SSH_BAD_ORDER, 2);
	assert_int_equal(r.closed, 1);
}

static void test_refused_start(void **state)
{
	(void)state;
	assert_true(rig_login(&r));
	open_channel("session", 3);
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_OPENED);
	r.refuse_start = true;
	request("shell");
	rig_send(&r);
	assert_int_equal(rig_take(&r, &f), RIG_FAILURE);
	assert_int_equal(ssh_send(&r.ssh, "x", 1), 0);
}

static void send_data(uint32_t n)
{
	static uint8_t data[SSH_WINDOW + 1];
	memset(data, 'k', n);
	struct ssh_writer *w = rig_message(&r, RIG_DATA);
	ssh_put_u32(w, 0);
	ssh_put_string(w, data, n);
	rig_send(&r);
}

static void test_windows(void **state)
{
	char data[3000];
	(void)state;
	assert_true(rig_shell(&r));
	/* ours */
	send_data(SSH_WINDOW);
	assert_int_equal(r.data_len, SSH_WINDOW);
	assert_int_equal(rig_take(&r, &f), -1);
	ssh_consumed(&r.ssh, 100);
	assert_int_equal(rig_take(&r, &f), -1);
	ssh_consumed(&r.ssh, SSH_WINDOW - 100);
	assert_int_equal(rig_take(&r, &f), RIG_ADJUST);
	assert_int_equal(ssh_get_u32(&f), 7);
	assert_int_equal(ssh_get_u32(&f), SSH_WINDOW);
	/* the client's: 40000, in packets of at most 1000 */
	memset(data, 'd', sizeof data);
	uint32_t sent = 0, n;
	while ((n = ssh_send(&r.ssh, data, sizeof data)) > 0) {
		assert_true(n <= 1000);
		sent += n;
		while (rig_take(&r, &f) >= 0)
			;
	}
	assert_int_equal(sent, 40000);
	struct ssh_writer *w = rig_message(&r, RIG_ADJUST);
	ssh_put_u32(w, 0);
	ssh_put_u32(w, 10);
	rig_send(&r);
	assert_int_equal(ssh_send(&r.ssh, data, sizeof data), 10);
	w = rig_message(&r, RIG_ADJUST);
	ssh_put_u32(w, 0);
	ssh_put_u32(w, UINT32_MAX); /* the largest window, RFC 4254 5.2 */
	rig_send(&r);
	assert_false(ssh_is_over(&r.ssh));
	w = rig_message(&r, RIG_ADJUST);
	ssh_put_u32(w, 0);
	ssh_put_u32(w, 1);
	rig_send(&r);
	expect_end(SSH_TOO_MUCH, 2);
}

static void test_more_than_the_window(void **state)
{
	(void)state;
	assert_true(rig_shell(&r));
	send_data(SSH_WINDOW + 1);
	expect_end(SSH_TOO_MUCH, 2);
	assert_int_equal(r.data_len, 0);
}

/* A client that takes no output is not read from once the buffer is full; no answer is lost. */
static void test_slow_reader(void **state)
{
	uint8_t packet[256];
	const uint8_t *at;
	(void)state;
	assert_true(rig_shell(&r));
	unsigned asked = 0;
	for (; asked < 5000; asked++) {
		struct ssh_writer *w = rig_message(&r, RIG_GLOBAL);
		ssh_put_word(w, "keepalive@openssh.com");
		ssh_put_bool(w, true);
		const uint32_t n = rig_frame(&r, packet);
		if (ssh_in_room(&r.ssh) < n)
			break;
		assert_int_equal(ssh_input(&r.ssh, packet, n), n);
		assert_true(ssh_output(&r.ssh, &at) <= SSH_OUT_BYTES - SSH_OUT_RESERVE + 64);
	}
	assert_in_range(asked, 500, 4999);
	unsigned answered = 0;
	while (rig_take(&r, &f) == RIG_GLOBAL_FAILURE)
		answered++;
	assert_int_equal(answered, asked);
	assert_false(ssh_is_over(&r.ssh));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_keys),
		cmocka_unit_test_setup(test_key_exchange, setup),
		cmocka_unit_test_setup(test_strict, setup),
		cmocka_unit_test_setup_teardown(test_no_algorithm, setup, teardown),
		cmocka_unit_test_setup_teardown(test_directions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_kexinit, setup, teardown),
		cmocka_unit_test_setup(test_second_share, setup),
		cmocka_unit_test_setup(test_bad_share, setup),
		cmocka_unit_test_setup_teardown(test_identification, setup, teardown),
		cmocka_unit_test_setup(test_rekey_by_server, setup),
		cmocka_unit_test_setup(test_rekey_by_packets, setup),
		cmocka_unit_test_setup_teardown(test_late_is_bounded, setup, teardown),
		cmocka_unit_test_setup(test_damaged_packets, setup),
		cmocka_unit_test_setup(test_blocks, setup),
		cmocka_unit_test_setup(test_nonce_carry, setup),
		cmocka_unit_test_setup(test_paddings, setup),
		cmocka_unit_test_setup_teardown(test_large_packets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_message, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_message_early, setup, teardown),
		cmocka_unit_test_setup_teardown(test_generic_messages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_password, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_password_is_erased, setup, teardown),
		cmocka_unit_test_setup_teardown(test_publickey, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_requests, setup, teardown),
		cmocka_unit_test_setup(test_order, setup),
		cmocka_unit_test_setup_teardown(test_session, setup, teardown),
		cmocka_unit_test_setup_teardown(test_client_closes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_after_eof, setup, teardown),
		cmocka_unit_test_setup_teardown(test_after_close, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_windows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more_than_the_window, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_reader, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
