/*
 * What the verifier knows about numbers, against concrete execution: each scalar is made around a few
 * numbers; what an instruction computes from them must lie in the scalar that the verifier computes,
 * and a number for which a comparison holds must stay in the refined scalar.
 */
#include "tests/unit/rig/host.h"

#include "bpf/verifier/scalar.h"

#define ROUNDS 400000
#define NUMBERS 4u

struct sample {
	uint64_t x[NUMBERS];
	unsigned n;
	struct scalar s;
};

static bool in(const struct scalar *s, uint64_t x)
{
	return (x & ~s->t.mask) == s->t.value && x >= s->umin && x <= s->umax && (int64_t)x >= s->smin &&
		(int64_t)x <= s->smax && (uint32_t)x >= s->umin32 && (uint32_t)x <= s->umax32 &&
		(int32_t)x >= s->smin32 && (int32_t)x <= s->smax32;
}

/* Numbers near the places where something overflows are as likely as others. */
static uint64_t number(void)
{
	static const uint64_t edges[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff};
	switch (random_below(6)) {
	case 0: return edges[random_below(ARRAY_LEN(edges))] + random_below(5) - 2;
	case 1: return random_below(16);
	case 2: return (uint64_t)(int32_t)random64();
	case 3: return (uint32_t)random64();
	case 4: return random64() >> random_below(64);
	default: return random64();
	}
}

#define WIDEN(field, best, type, worse) \
	do { \
		if (random_below(3) == 0) \
			s->field = worse; \
		else \
			s->field = (type)(best); \
	} while (0)

/* Some of the bounds are left out, so that they have to be deduced. */
static void around(struct sample *m)
{
	struct scalar *s = &m->s;
	uint64_t umin = UINT64_MAX, umax = 0, ones = UINT64_MAX, zeros = UINT64_MAX;
	int64_t smin = INT64_MAX, smax = INT64_MIN;
	uint32_t umin32 = UINT32_MAX, umax32 = 0;
	int32_t smin32 = INT32_MAX, smax32 = INT32_MIN;
	for (unsigned i = 0; i < m->n; i++) {
		const uint64_t x = m->x[i];
		umin = x < umin ? x : umin;
		umax = x > umax ? x : umax;
		smin = (int64_t)x < smin ? (int64_t)x : smin;
		smax = (int64_t)x > smax ? (int64_t)x : smax;
		umin32 = (uint32_t)x < umin32 ? (uint32_t)x : umin32;
		umax32 = (uint32_t)x > umax32 ? (uint32_t)x : umax32;
		smin32 = (int32_t)x < smin32 ? (int32_t)x : smin32;
		smax32 = (int32_t)x > smax32 ? (int32_t)x : smax32;
		ones &= x;
		zeros &= ~x;
	}
	*s = scalar_unknown;
	WIDEN(umin, umin, uint64_t, 0);
	WIDEN(umax, umax, uint64_t, UINT64_MAX);
	WIDEN(smin, smin, int64_t, INT64_MIN);
	WIDEN(smax, smax, int64_t, INT64_MAX);
	WIDEN(umin32, umin32, uint32_t, 0);
	WIDEN(umax32, umax32, uint32_t, UINT32_MAX);
	WIDEN(smin32, smin32, int32_t, INT32_MIN);
	WIDEN(smax32, smax32, int32_t, INT32_MAX);
	const uint64_t unknown = ~(ones | zeros) | (random_below(2) ? random64() : 0);
	s->t = (struct tnum){ones & ~unknown, unknown};
	assert_true(scalar_deduce(s));
	for (unsigned i = 0; i < m->n; i++)
		if (!in(s, m->x[i]))
			fail_msg("deduction loses %#lx", m->x[i]);
}

static struct sample sample(void)
{
	struct sample m = {.n = 1 + random_below(NUMBERS)};
	const uint64_t base = number();
	for (unsigned i = 0; i < m.n; i++)
		m.x[i] = random_below(2) ? number() : base + random_below(64);
	around(&m);
	return m;
}

/* RFC 9669 4.1, written from the text. */
static uint64_t execute(uint64_t a, uint64_t b, unsigned op, bool is_signed, unsigned bits)
{
	if (bits == 32) {
		a = (uint32_t)a;
		b = (uint32_t)b;
	}
	const int64_t sa = bits == 32 ? (int32_t)a : (int64_t)a, sb = bits == 32 ? (int32_t)b : (int64_t)b;
	const unsigned count = (unsigned)b & (bits - 1);
	uint64_t r = 0;
	switch (op) {
	case BPF_ADD: r = a + b; break;
	case BPF_SUB: r = a - b; break;
	case BPF_MUL: r = a * b; break;
	case BPF_DIV:
		if (is_signed)
			r = sb == 0 ? 0 : sb == -1 ? 0 - (uint64_t)sa : (uint64_t)(sa / sb);
		else
			r = b ? a / b : 0;
		break;
	case BPF_MOD:
		if (is_signed)
			r = sb == 0 ? a : sb == -1 ? 0 : (uint64_t)(sa % sb);
		else
			r = b ? a % b : a;
		break;
	case BPF_OR: r = a | b; break;
	case BPF_AND: r = a & b; break;
	case BPF_XOR: r = a ^ b; break;
	case BPF_LSH: r = a << count; break;
	case BPF_RSH: r = a >> count; break;
	case BPF_ARSH: r = (uint64_t)(sa >> count); break;
	}
	return bits == 32 ? (uint32_t)r : r;
}

static void arithmetic(void **state)
{
	(void)state;
	const unsigned ops[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_MOD, BPF_OR, BPF_AND, BPF_XOR, BPF_LSH,
		BPF_RSH, BPF_ARSH};
	for (unsigned round = 0; round < ROUNDS; round++) {
		const struct sample a = sample();
		struct sample b = sample();
		const unsigned op = ops[random_below(ARRAY_LEN(ops))], bits = 32 << random_below(2);
		if (op >= BPF_LSH && op != BPF_XOR && random_below(3)) { /* counts that are in range */
			for (unsigned i = 0; i < b.n; i++)
				b.x[i] = random_below(bits);
			around(&b);
		}
		const bool is_signed = random_below(2);
		struct scalar r = a.s;
		scalar_alu(&r, &b.s, op, is_signed, bits);
		for (unsigned i = 0; i < a.n * b.n; i++) {
			const uint64_t x = a.x[i % a.n], y = b.x[i / a.n];
			const uint64_t z = execute(x, y, op, is_signed, bits);
			if (!in(&r, z))
				fail_msg("op %#x, %u bits, signed %d: %#lx and %#lx give %#lx", op, bits, is_signed, x, y,
				         z);
		}
	}
}

/* Of constants the verifier knows the exact result, so that tests of switches and tables go one way. */
static void arithmetic_of_constants_is_exact(void **state)
{
	(void)state;
	const unsigned ops[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_MOD, BPF_OR, BPF_AND, BPF_XOR, BPF_LSH,
		BPF_RSH, BPF_ARSH};
	for (unsigned round = 0; round < ROUNDS / 4; round++) {
		const uint64_t x = number(), y = number();
		const unsigned op = ops[random_below(ARRAY_LEN(ops))], bits = 32 << random_below(2);
		const bool is_signed = random_below(2);
		struct scalar r = scalar_const(x);
		const struct scalar src = scalar_const(y);
		scalar_alu(&r, &src, op, is_signed, bits);
		assert_true(scalar_is_const(&r));
		assert_true(r.t.value == execute(x, y, op, is_signed, bits));
	}
}

static void extensions(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const struct sample a = sample();
		const unsigned bits = 8u << random_below(4), up = 64 - bits;
		struct scalar zero = a.s, sign = a.s, swapped = a.s;
		scalar_zero_extend(&zero, bits);
		scalar_sign_extend(&sign, bits);
		scalar_swap(&swapped, bits < 16 ? 16 : bits);
		for (unsigned i = 0; i < a.n; i++) {
			assert_true(in(&zero, a.x[i] << up >> up));
			assert_true(in(&sign, (uint64_t)((int64_t)(a.x[i] << up) >> up)));
			assert_true(in(&swapped, __builtin_bswap64(a.x[i]) >> (bits < 16 ? 48 : up)));
		}
	}
}

static bool compare(uint64_t a, uint64_t b, unsigned op, unsigned bits)
{
	if (bits == 32) {
		a = (uint32_t)a;
		b = (uint32_t)b;
	}
	const int64_t sa = bits == 32 ? (int32_t)a : (int64_t)a, sb = bits == 32 ? (int32_t)b : (int64_t)b;
	switch (op) {
	case BPF_JEQ: return a == b;
	case BPF_JNE: return a != b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	case BPF_JLT: return a < b;
	case BPF_JLE: return a <= b;
	case BPF_JSGT: return sa > sb;
	case BPF_JSGE: return sa >= sb;
	case BPF_JSLT: return sa < sb;
	case BPF_JSLE: return sa <= sb;
	default: return a & b;
	}
}

static const unsigned jumps[] = {BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSGT, BPF_JSGE,
	BPF_JSLT, BPF_JSLE, BPF_JSET};

static void comparisons(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const struct sample a = sample();
		struct sample b = sample();
		if (random_below(2)) {
			b.x[0] = a.x[0]; /* equal ones are rare otherwise */
			b.n = 1 + random_below(b.n);
			around(&b);
		}
		const unsigned op = jumps[random_below(ARRAY_LEN(jumps))], bits = 32 << random_below(2);
		for (unsigned holds = 0; holds < 2; holds++) {
			struct scalar ra = a.s, rb = b.s;
			const bool possible = scalar_refine(&ra, &rb, op, holds, bits);
			for (unsigned i = 0; i < a.n * b.n; i++) {
				const uint64_t x = a.x[i % a.n], y = b.x[i / a.n];
				if (compare(x, y, op, bits) != holds)
					continue;
				if (!possible || !in(&ra, x) || !in(&rb, y))
					fail_msg("jump %#x, %u bits, holds %u: loses %#lx, %#lx", op, bits, holds, x, y);
			}
		}
	}
}

static void comparison_of_constants_is_exact(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS / 4; round++) {
		const uint64_t x = number(), y = random_below(3) ? number() : x;
		const unsigned op = jumps[random_below(ARRAY_LEN(jumps))], bits = 32 << random_below(2);
		for (unsigned holds = 0; holds < 2; holds++) {
			struct scalar a = scalar_const(x), b = scalar_const(y);
			assert_int_equal(scalar_refine(&a, &b, op, holds, bits), compare(x, y, op, bits) == holds);
		}
	}
}

/* What programs rely on: bounds that compilers' idioms give. */
static void idioms(void **state)
{
	(void)state;
	struct scalar a = scalar_unknown, k = scalar_const(0xff), shift = scalar_const(32), n = scalar_const(10);
	scalar_alu(&a, &k, BPF_AND, false, 64);
	assert_true(a.umin == 0 && a.umax == 255 && a.smax == 255);

	/* (int)x by two shifts, then 0 <= x < 10 */
	a = scalar_unknown;
	scalar_alu(&a, &shift, BPF_LSH, false, 64);
	scalar_alu(&a, &shift, BPF_ARSH, false, 64);
	assert_true(a.smin == INT32_MIN && a.smax == INT32_MAX);
	assert_true(scalar_refine(&a, &n, BPF_JSLT, true, 64));
	struct scalar zero = scalar_const(0);
	assert_true(scalar_refine(&a, &zero, BPF_JSGE, true, 64));
	assert_true(a.umin == 0 && a.umax == 9);

	/* a 32-bit comparison bounds the number that a 32-bit move then extends */
	a = scalar_unknown;
	assert_true(scalar_refine(&a, &n, BPF_JLT, true, 32));
	assert_true(a.umax == UINT64_MAX - UINT32_MAX + 9);
	scalar_zero_extend(&a, 32);
	assert_true(a.umax == 9);

	/* ihl: (x & 15) << 2 */
	a = scalar_loaded(1, false);
	struct scalar m = scalar_const(15), two = scalar_const(2);
	scalar_alu(&a, &m, BPF_AND, false, 64);
	scalar_alu(&a, &two, BPF_LSH, false, 64);
	assert_true(a.umax == 60 && a.t.mask == 60);
}

static int setup(void **state)
{
	(void)state;
	seed_random("bpf_scalar");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arithmetic), cmocka_unit_test(arithmetic_of_constants_is_exact),
		cmocka_unit_test(extensions), cmocka_unit_test(comparisons),
		cmocka_unit_test(comparison_of_constants_is_exact), cmocka_unit_test(idioms),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
