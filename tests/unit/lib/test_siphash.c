/*
 * lib/siphash against the published vectors: those of the reference implementation for key bytes
 * 00 01 .. 0f and messages 00 01 .. of each length.
 */
#include "tests/unit/rig/host.h"

#include "lib/siphash.h"

static const struct siphash_key key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

/* of 0, 1 .. 63 bytes */
static const uint64_t sip24[64] = {
	0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d,
	0xcf2794e0277187b7, 0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137,
	0x93f5f5799a932462, 0x9e0082df0ba9e4b0, 0x7a5dbbc594ddb9f3, 0xf4b32f46226bada7,
	0x751e8fbc860ee5fb, 0x14ea5627c0843d90, 0xf723ca908e7af2ee, 0xa129ca6149be45e5,
	0x3f2acc7f57c29bdb, 0x699ae9f52cbe4794, 0x4bc1b3f0968dd39c, 0xbb6dc91da77961bd,
	0xbed65cf21aa2ee98, 0xd0f2cbb02e3b67c7, 0x93536795e3a33e88, 0xa80c038ccd5ccec8,
	0xb8ad50c6f649af94, 0xbce192de8a85b8ea, 0x17d835b85bbb15f3, 0x2f2e6163076bcfad,
	0xde4daaaca71dc9a5, 0xa6a2506687956571, 0xad87a3535c49ef28, 0x32d892fad841c342,
	0x7127512f72f27cce, 0xa7f32346f95978e3, 0x12e0b01abb051238, 0x15e034d40fa197ae,
	0x314dffbe0815a3b4, 0x027990f029623981, 0xcadcd4e59ef40c4d, 0x9abfd8766a33735c,
	0x0e3ea96b5304a7d0, 0xad0c42d6fc585992, 0x187306c89bc215a9, 0xd4a60abcf3792b95,
	0xf935451de4f21df2, 0xa9538f0419755787, 0xdb9acddff56ca510, 0xd06c98cd5c0975eb,
	0xe612a3cb9ecba951, 0xc766e62cfcadaf96, 0xee64435a9752fe72, 0xa192d576b245165a,
	0x0a8787bf8ecb74b2, 0x81b3e73d20b49b6f, 0x7fa8220ba3b2ecea, 0x245731c13ca42499,
	0xb78dbfaf3a8d83bd, 0xea1ad565322a1a0b, 0x60e61c23a3795013, 0x6606d7e446282b93,
	0x6ca4ecb15c5f91e1, 0x9f626da15c9625f3, 0xe51b38608ef25f57, 0x958a324ceb064572,
};

/* of 0, 8 .. 56 bytes */
static const uint64_t sip13[8] = {
	0xabac0158050fc4dc, 0x369095118d299a8e, 0xcc4fdd1a7d908b66, 0xf464aeb267349c8c,
	0x81157b6c16a7b60d, 0xc1d2363299e41531, 0x9f3143f8df074c46, 0xb4bcc0db243c6d75,
};

static void published_vectors(void **s)
{
	(void)s;
	uint8_t message[64 + 8];
	for (unsigned at = 0; at < 8; at++) { /* any alignment */
		for (unsigned i = 0; i < 64; i++)
			message[at + i] = (uint8_t)i;
		for (unsigned n = 0; n < 64; n++)
			assert_true(siphash24(&key, message + at, n) == sip24[n]);
	}
}

/* However the bytes are divided. */
static void published_vectors_in_pieces(void **s)
{
	(void)s;
	uint8_t message[64];
	for (unsigned i = 0; i < 64; i++)
		message[i] = (uint8_t)i;
	for (unsigned n = 0; n < 64; n++)
		for (unsigned size = 1; size <= n + 1; size++) {
			struct siphash24 h = siphash24_begin(&key);
			for (unsigned at = 0; at < n; at += size)
				siphash24_add(&h, message + at, n - at < size ? n - at : size);
			assert_true(siphash24_end(&h) == sip24[n]);
		}
}

static void published_vectors_by_words(void **s)
{
	(void)s;
	uint64_t word[8];
	for (unsigned i = 0; i < 8; i++)
		word[i] = 0x0706050403020100 + i * 0x0808080808080808;
	for (unsigned n = 0; n < 8; n++)
		assert_true(siphash13_words(&key, word, n) == sip13[n]);
}

/* Beyond 255 bytes the length wraps in the last word and nowhere else. */
static void long_messages_differ(void **s)
{
	(void)s;
	static uint8_t message[1024];
	uint64_t before = 0;
	for (unsigned n = 0; n <= sizeof message; n++) {
		uint64_t hash = siphash24(&key, message, n);
		assert_true(hash != before);
		before = hash;
	}
	assert_true(siphash24(&key, message, 8) != siphash24(&key, message, 264));
}

/* Each bit of key and message changes about half of the bits of the hash. */
static void every_bit_counts(void **s)
{
	(void)s;
	uint64_t in[5], changed24 = 0, changed13 = 0;
	unsigned tries = 0;
	seed_random("every_bit_counts");
	for (int round = 0; round < 200; round++)
		for (unsigned bit = 0; bit < 320; bit++, tries++) {
			random_fill(in, sizeof in);
			struct siphash_key k = {in[3], in[4]};
			uint64_t was24 = siphash24(&k, in, 24), was13 = siphash13_words(&k, in, 3);
			in[bit / 64] ^= (uint64_t)1 << bit % 64;
			k = (struct siphash_key){in[3], in[4]};
			was24 ^= siphash24(&k, in, 24);
			was13 ^= siphash13_words(&k, in, 3);
			assert_true(was24 != 0 && was13 != 0);
			changed24 += (unsigned)__builtin_popcountll(was24);
			changed13 += (unsigned)__builtin_popcountll(was13);
		}
	assert_in_range(changed24 * 100 / tries, 3180, 3220);
	assert_in_range(changed13 * 100 / tries, 3180, 3220);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_vectors),
		cmocka_unit_test(published_vectors_in_pieces),
		cmocka_unit_test(published_vectors_by_words),
		cmocka_unit_test(long_messages_differ),
		cmocka_unit_test(every_bit_counts),
	};
	return cmocka_run_group_tests_name("siphash", tests, NULL, NULL);
}
