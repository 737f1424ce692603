/*
 * Values that outlive the control program (runtime/sealed.h). A write is cut off after any of its stores, and in any mixture of
 * the memory before and after it: the next program finds the value of before or the new one, with one copy perhaps none, and
 * goes on from there. So it is with each damaged bit.
 */
#include "tests/unit/rig/host.h"

#include "runtime/sealed.h"

struct value {
	uint64_t number;
	uint8_t bytes[93]; /* no multiple of a word */
};

static struct {
	_Alignas(16) uint8_t memory[8192];
	size_t bytes; /* of the piece; 0: there is none */
	unsigned taken;
	bool refuse;
} w;

void *core_persist_alloc(enum core_persist what, size_t bytes)
{
	assert_int_equal(what, CORE_PERSIST_CONTENT);
	assert_true(bytes <= sizeof w.memory);
	if (w.refuse)
		return NULL;
	w.taken++;
	w.bytes = bytes;
	return memset(w.memory, 0, sizeof w.memory);
}

void *core_persist_find(enum core_persist what, size_t *bytes)
{
	assert_int_equal(what, CORE_PERSIST_CONTENT);
	*bytes = w.bytes;
	return w.bytes ? w.memory : NULL;
}

static int begin(void **state)
{
	(void)state;
	memset(&w, 0, sizeof w);
	return 0;
}

/* A program that has just started. */
static struct sealed program(unsigned versions)
{
	return (struct sealed)SEALED(CORE_PERSIST_CONTENT, versions, struct value);
}

static struct value value_of(uint64_t number)
{
	struct value v;
	memset(&v, 0, sizeof v);
	v.number = number;
	for (size_t i = 0; i < sizeof v.bytes; i++)
		v.bytes[i] = (uint8_t)(number * 31 + i);
	return v;
}

static void write_number(struct sealed *s, uint64_t number)
{
	const struct value v = value_of(number);
	sealed_write(s, &v);
}

/* The number of the value that a new program finds; 0: none. A mixture is a failure. */
static uint64_t found(unsigned versions)
{
	struct sealed s = program(versions);
	const struct value *v = sealed_newest(&s);
	if (!v)
		return 0;
	const struct value want = value_of(v->number);
	assert_memory_equal(v->bytes, want.bytes, sizeof want.bytes);
	assert_true(v->number > 0);
	return v->number;
}

/* --- without failures --- */

static void versions_follow(void **state)
{
	(void)state;
	for (unsigned versions = 1; versions <= 2; versions++) {
		struct sealed s = program(versions);
		begin(NULL);
		assert_null(sealed_newest(&s));
		assert_null(sealed_begin(&s)); /* no memory yet */
		assert_false(sealed_is_new(&s));
		assert_int_equal(w.taken, 0);
		assert_true(sealed_take(&s));
		assert_true(sealed_is_new(&s) && sealed_newest(&s) == NULL);
		for (uint64_t n = 1; n < 10; n++) {
			write_number(&s, n);
			assert_int_equal(found(versions), n);
			assert_false(sealed_is_new(&s));
			if (n % 3 == 0) { /* another program goes on */
				s = program(versions);
				assert_true(sealed_take(&s));
			}
		}
		assert_int_equal(w.taken, 1);
	}
}

static void forgotten(void **state)
{
	(void)state;
	for (unsigned versions = 1; versions <= 2; versions++) {
		struct sealed s = program(versions), none = program(versions);
		sealed_forget(&none);
		begin(NULL);
		assert_true(sealed_take(&s));
		sealed_forget(&s);
		assert_false(sealed_is_new(&s));
		write_number(&s, 1);
		write_number(&s, 2);
		const struct value *v = sealed_newest(&s), want = value_of(2);
		sealed_forget(&s);
		assert_int_equal(found(versions), 0);
		assert_memory_equal(v, &want, sizeof want); /* until the next write */
		struct sealed next = program(versions);
		assert_true(sealed_take(&next) && !sealed_is_new(&next));
		write_number(&next, 3);
		assert_int_equal(found(versions), 3);
	}
}

static void no_memory(void **state)
{
	(void)state;
	struct sealed s = program(2);
	w.refuse = true;
	assert_false(sealed_take(&s));
	assert_null(sealed_begin(&s));
	w.refuse = false;
	assert_true(sealed_take(&s));
	write_number(&s, 1);
	/* a piece that is too small is not used */
	w.bytes = 2 * (sizeof(struct value) + 16) - 1;
	struct sealed next = program(2);
	assert_null(sealed_newest(&next));
	assert_true(sealed_take(&next));
	assert_int_equal(w.taken, 2);
	assert_true(sealed_is_new(&next));
}

/* --- writes that are cut off --- */

/* What is found, if anything, is the value of before or the new one; with two copies it is there. Another write succeeds. */
static uint64_t check_cut(unsigned versions, uint64_t before, uint64_t after)
{
	const uint64_t n = found(versions);
	assert_true(n == before || n == after || (versions == 1 && n == 0));
	struct sealed s = program(versions);
	assert_true(sealed_take(&s));
	if (versions == 2)
		assert_false(sealed_is_new(&s));
	uint8_t saved[sizeof w.memory];
	memcpy(saved, w.memory, sizeof saved);
	write_number(&s, after + 1);
	assert_int_equal(found(versions), after + 1);
	write_number(&s, after + 2);
	assert_int_equal(found(versions), after + 2);
	memcpy(w.memory, saved, sizeof saved);
	return n;
}

/* The program fails while it fills the memory between sealed_begin and sealed_end. */
static void cut_off_between(void **state)
{
	(void)state;
	for (unsigned versions = 1; versions <= 2; versions++) {
		struct sealed s = program(versions);
		begin(NULL);
		assert_true(sealed_take(&s));
		for (uint64_t n = 1; n < 6; n++) {
			const struct value v = value_of(n);
			for (size_t bytes = 0; bytes <= sizeof v; bytes++) {
				uint8_t *to = sealed_begin(&s);
				memcpy(to, &v, bytes);
				if (n > 1)
					assert_int_equal(check_cut(versions, n - 1, n), versions == 2 ? n - 1 : 0);
				else
					assert_int_equal(found(versions), 0);
			}
			sealed_end(&s);
			assert_int_equal(found(versions), n);
		}
	}
}

/* The memory is a mixture of before and after: a word is stored as a whole, in which order is not known. */
static void torn(void **state)
{
	(void)state;
	enum { WORDS = sizeof w.memory / 8 };
	static uint64_t before[WORDS], after[WORDS];
	unsigned old = 0, none = 0, differ[WORDS];
	seed_random("torn");
	for (unsigned versions = 1; versions <= 2; versions++) {
		struct sealed s = program(versions);
		begin(NULL);
		assert_true(sealed_take(&s));
		write_number(&s, 1);
		for (uint64_t n = 2; n < 40; n++) {
			unsigned words = 0;
			memcpy(before, w.memory, sizeof before);
			write_number(&s, n);
			memcpy(after, w.memory, sizeof after);
			for (unsigned i = 0; i < WORDS; i++)
				if (before[i] != after[i])
					differ[words++] = i;
			assert_true(words > 10);
			/* one word missing, one word only, then words at random */
			for (unsigned turn = 0; turn < 2 * words + 200; turn++) {
				for (unsigned i = 0; i < words; i++) {
					const bool is_new = turn < words ? i != turn : turn < 2 * words ? i == turn - words : random_below(2);
					memcpy(w.memory + 8 * differ[i], (is_new ? after : before) + differ[i], 8);
				}
				const uint64_t got = check_cut(versions, n - 1, n);
				old += got == n - 1;
				none += got == 0;
				if (turn < 2 * words)
					assert_true(got != n); /* a word is missing */
			}
			memcpy(w.memory, after, sizeof after);
			assert_int_equal(found(versions), n);
		}
	}
	assert_true(old > 1000 && none > 1000);
}

/* Each bit: with two copies the other one is found, or this one where the bit does not belong to it. */
static void damaged(void **state)
{
	(void)state;
	for (unsigned versions = 1; versions <= 2; versions++) {
		struct sealed s = program(versions);
		unsigned hits[3] = {0};
		begin(NULL);
		assert_true(sealed_take(&s));
		write_number(&s, 1);
		write_number(&s, 2);
		for (size_t bit = 0; bit < 8 * w.bytes; bit++) {
			w.memory[bit / 8] ^= (uint8_t)(1 << bit % 8);
			const uint64_t n = found(versions);
			assert_true(n < 3 && (versions == 2 ? n > 0 : n != 1));
			hits[n]++;
			w.memory[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		assert_int_equal(hits[versions - 1], 8 * (16 + sizeof(struct value))); /* head and value */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, begin)
		TEST(versions_follow), TEST(forgotten), TEST(no_memory), TEST(cut_off_between), TEST(torn), TEST(damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
