/* control/crypto: known answers of the libraries as they are built here; start and refusals. */
#include "tests/unit/rig/host.h"

#include <sys/wait.h>
#include <unistd.h>

#include "control/crypto/known.h"
#include "control/crypto/library.h"
#include "runtime/runtime.h"

struct core_self self;
uint64_t host_tsc;
static bool no_memory;

/* Not from malloc: what lies in the heap is the library's. */
void *core_private_alloc(size_t bytes)
{
	static uint8_t heap[CRYPTO_HEAP] __attribute__((aligned(4096)));
	assert_in_range(bytes, 1, sizeof heap);
	return no_memory ? NULL : heap;
}

static void known_answers(void **s)
{
	struct crypto_known k;
	size_t before = 0;
	(void)s;
	assert_true(crypto_start());
	assert_string_equal(crypto_why(), "");
	for (unsigned round = 0; round < 2; round++) {
		unsigned n = 0;
		for (; crypto_known(n, &k); n++)
			if (!k.right)
				fail_msg("%s (%s)", k.name, k.source);
		assert_in_range(n, 18, 100);
		if (round)
			assert_int_equal(crypto_use().used, before); /* the first round made the store of keys */
		before = crypto_use().used;
	}
	assert_in_range(crypto_use().peak, before, CRYPTO_HEAP);
}

static void random_bytes(void **s)
{
	uint8_t a[100], b[100];
	unsigned same = 0;
	(void)s;
	assert_true(crypto_random(a, sizeof a) && crypto_random(b, sizeof b));
	for (unsigned i = 0; i < sizeof a; i++)
		same += a[i] == b[i];
	assert_in_range(same, 0, 10);
}

char *crypto_strstr(const char *text, const char *what);
char *crypto_strchr(const char *text, int c);
char *crypto_strncpy(char *restrict to, const char *restrict from, size_t n);
int sodium_memcmp(const void *a, const void *b, size_t bytes);
int sodium_is_zero(const unsigned char *n, size_t bytes);

/* What the libraries get in the place of a C library's, beside the C library's. */
static void functions(void **s)
{
	static const char *const texts[] = {"", "a", "aab", "-----BEGIN", "abcabcabd", "x-----BEGIN y"};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(texts); i++) {
		for (unsigned k = 0; k < ARRAY_LEN(texts); k++) {
			assert_ptr_equal(crypto_strstr(texts[i], texts[k]), strstr(texts[i], texts[k]));
			const size_t n = strlen(texts[i]) < strlen(texts[k]) ? strlen(texts[i]) : strlen(texts[k]);
			assert_int_equal(sodium_memcmp(texts[i], texts[k], n), memcmp(texts[i], texts[k], n) ? -1 : 0);
		}
		for (int c = 0; c < 128; c++)
			assert_ptr_equal(crypto_strchr(texts[i], c), strchr(texts[i], c));
		for (unsigned n = 0; n < 12; n++) {
			char a[12], b[12];
			memset(a, 'z', sizeof a);
			memset(b, 'z', sizeof b);
			crypto_strncpy(a, texts[i], n);
			for (unsigned j = 0, end = 0; j < n; j++) { /* strncpy, which the compiler warns about */
				b[j] = end ? 0 : texts[i][j];
				end = !b[j];
			}
			assert_memory_equal(a, b, sizeof a);
		}
	}
	static const uint8_t zeros[3], bits[] = {0, 0, 1};
	assert_int_equal(sodium_is_zero(zeros, 3), 1);
	assert_int_equal(sodium_is_zero(bits, 3), 0);
	assert_int_equal(sodium_is_zero(bits, 2), 1);
}

/* In a process of its own, because a failure lasts as long as the program. */
static void refused_memory(void **s)
{
	uint8_t out[8];
	int status;
	(void)s;
	const pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		no_memory = true;
		bool good = !crypto_start() && strcmp(crypto_why(), "there is no memory for cryptography") == 0;
		no_memory = false;
		good &= !crypto_start() && !crypto_random(out, sizeof out);
		_exit(!good);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_memory), /* before the libraries are started */
		cmocka_unit_test(known_answers), cmocka_unit_test(random_bytes), cmocka_unit_test(functions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
