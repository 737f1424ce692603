/*
 * runtime/regions and runtime/memory: pieces of regions, regions out of the tables, what a restarted program
 * finds. The kernel is a twin that checks what it is asked. No piece, private allocation or kept piece
 * overlaps another, whatever the order of requests.
 */
#include "tests/unit/rig/host.h"

#include "runtime/memory.c"
#include "runtime/regions.c"

#define DATA_CORES 2
#define HUGE 0x200000u
#define PUBLISHED (2 * HUGE)
#define TABLES (24 * HUGE)
#define PIECES 200

struct core_self self;
static struct boot_info info;
static uint8_t *memory;
static uint8_t code[TABLES]; /* what the code window shows */
static bool refuses;         /* the kernel */
static unsigned calls;

static uint64_t twin_region(uint64_t at, uint64_t bytes, uint64_t kind)
{
	const struct core_memory *m = &info.core[0];
	const struct region r = {at, bytes, (uint32_t)kind, kind == REGION_CODE ? (uint32_t)core_region_bytes(kind) : 0};
	calls++;
	assert_true(kind < REGION_KINDS && bytes && (at | bytes) % HUGE == 0);
	assert_true(at >= m->tables && at + region_whole(&r) <= (uint64_t)(uintptr_t)kept());
	assert_false(is_in_region(at, region_whole(&r)));
	if (refuses || info.regions == REGIONS_MAX)
		return (uint64_t)E_NOMEM;
	if (kind == REGION_CODE)
		memset(code + r.offset, 0xcc, bytes);
	info.region[info.regions++] = r;
	return E_OK;
}

int64_t kcall(enum kcall number, uint64_t a, uint64_t b, uint64_t c)
{
	switch (number) {
	case KCALL_REGION:
		return (int64_t)twin_region(a, b, c);
	case KCALL_SHARE:
		info.core[0].tables += a;
		info.core[0].tables_bytes -= a;
		info.published_bytes += a;
		assert_false(is_in_region(info.published, info.published_bytes));
		return E_OK;
	case KCALL_CODE_WRITE:
		if (a > core_region_bytes(REGION_CODE) || c > core_region_bytes(REGION_CODE) - a)
			return E_INVAL;
		if (b)
			memcpy(code + a, (const void *)(uintptr_t)b, c);
		else
			memset(code + a, 0xcc, c);
		return E_OK;
	default:
		fail_msg("call %d", (int)number);
		return E_INVAL;
	}
}

/* The control program starts, or starts again. */
static void start(void)
{
	memset(kinds, 0, sizeof kinds);
	tables_init();
}

static int begin(void **s)
{
	(void)s;
	memory = aligned_alloc(HUGE, PUBLISHED + TABLES);
	assert_non_null(memory);
	memset(memory, 0xa5, PUBLISHED + TABLES);
	memset(memory, 0, PUBLISHED_HEADER);
	refuses = false;
	calls = 0;
	info = (struct boot_info){.cores = 1 + DATA_CORES, .data_cores = DATA_CORES, .first_data_core = 1,
	                          .published = (uintptr_t)memory, .published_bytes = PUBLISHED};
	info.core[0] = (struct core_memory){.roles = CORE_CONTROL, .tables = (uintptr_t)memory + PUBLISHED,
	                                    .tables_bytes = TABLES};
	self = (struct core_self){.info = &info};
	start();
	return 0;
}

static int end(void **s)
{
	(void)s;
	free(memory);
	return 0;
}

static bool is_all(const void *at, size_t bytes, uint8_t value)
{
	const uint8_t *p = at;
	for (size_t i = 0; i < bytes; i++)
		if (p[i] != value)
			return false;
	return true;
}

static const uint8_t *shown(const void *at) { return code + ((uintptr_t)at - CODE_WINDOW); }

/* Nothing is taken without a request. */
static void absent(void **s)
{
	const size_t before = core_private_left();
	(void)s;
	assert_int_equal(calls, 0);
	for (unsigned k = 0; k < REGION_KINDS; k++)
		assert_int_equal(core_region_bytes((enum region_kind)k), 0);
	assert_null(core_region_alloc(REGION_SHARED, 0));
	assert_int_equal(core_private_left(), before);
}

/* Pieces are zeroed or erased, aligned, apart, and come back. */
static void pieces(void **s)
{
	(void)s;
	uint8_t *a = core_region_alloc(REGION_SHARED, 100), *b = core_region_alloc(REGION_SHARED, 1);
	assert_true(a && b && is_all(a, 128, 0) && is_all(b, 64, 0));
	assert_ptr_equal(b, a + 128);
	memset(a, 1, 100);
	core_region_free(REGION_SHARED, a, 100);
	assert_ptr_equal(core_region_alloc(REGION_SHARED, 128), a);
	assert_true(is_all(a, 128, 0));
	assert_int_equal(core_region_bytes(REGION_SHARED), HUGE);
	assert_int_equal(core_region_bytes_free(REGION_SHARED), HUGE - 192);
	assert_int_equal(calls, 1);
}

static void of_each_core(void **s)
{
	(void)s;
	uint8_t *a = core_region_alloc(REGION_OWN, 1000);
	assert_non_null(a);
	assert_ptr_equal(core_region_own(a, 0), a);
	assert_ptr_equal(core_region_own(a, 1), a + HUGE);
	for (unsigned d = 0; d < DATA_CORES; d++) {
		assert_true(is_all(core_region_own(a, d), 1024, 0));
		memset(core_region_own(a, d), 7, 1000);
	}
	assert_int_equal(core_region_bytes(REGION_OWN), DATA_CORES * HUGE);
	assert_null(core_region_own(memory, 0));
	core_region_free(REGION_OWN, a, 1000);
	a = core_region_alloc(REGION_OWN, HUGE + 1);
	assert_ptr_equal(core_region_own(a, 1), a + 2 * HUGE);
	assert_true(is_all(core_region_own(a, 1), HUGE + 1, 0));
}

static void of_code(void **s)
{
	static const uint8_t bytes[] = {1, 2, 3};
	(void)s;
	void *a = core_region_alloc(REGION_CODE, 3), *b = core_region_alloc(REGION_CODE, 3 * HUGE);
	assert_int_equal((uintptr_t)a, CODE_WINDOW);
	assert_int_equal((uintptr_t)b, CODE_WINDOW + 64); /* across regions: the window is in one piece */
	assert_int_equal(info.region[1].offset, HUGE);
	assert_int_equal(core_code_write(a, bytes, sizeof bytes), E_OK);
	assert_memory_equal(shown(a), bytes, 3);
	assert_true(is_all(shown(a) + 3, 100, 0xcc));
	assert_int_equal(core_code_write((uint8_t *)b + 4 * HUGE, bytes, sizeof bytes), E_INVAL);
	core_region_free(REGION_CODE, a, 3);
	assert_true(is_all(shown(a), 64, 0xcc));
}

/* A refusal, by the kernel or for lack of memory, gives NULL and takes nothing. */
static void refused(void **s)
{
	(void)s;
	refuses = true;
	assert_null(core_region_alloc(REGION_SHARED, 1));
	assert_int_equal(info.regions, 0);
	refuses = false;
	assert_null(core_region_alloc(REGION_SHARED, TABLES));
	assert_null(core_region_alloc(REGION_SHARED, SIZE_MAX));
	assert_null(core_region_alloc(REGION_SHARED, SIZE_MAX - HUGE));
	assert_null(core_region_alloc(REGION_OWN, TABLES * 2 / 3));
	assert_int_equal(info.regions, 0);
	assert_non_null(core_region_alloc(REGION_SHARED, TABLES / 2));
	assert_null(core_region_alloc(REGION_SHARED, TABLES / 2));
	assert_non_null(core_region_alloc(REGION_SHARED, HUGE)); /* less than half as much again: but that fits */
	assert_non_null(core_region_alloc(REGION_SHARED, HUGE));
}

/* The number of pieces has a limit, so that giving back always has room. */
static void too_many(void **s)
{
	void *at[CORE_REGION_PIECES];
	(void)s;
	for (unsigned i = 0; i < CORE_REGION_PIECES; i++)
		assert_non_null(at[i] = core_region_alloc(REGION_CONTROL, 64));
	assert_null(core_region_alloc(REGION_CONTROL, 64));
	for (unsigned i = 0; i < CORE_REGION_PIECES; i += 2) /* as many holes as possible */
		core_region_free(REGION_CONTROL, at[i], 64);
	for (unsigned i = 1; i < CORE_REGION_PIECES; i += 2)
		core_region_free(REGION_CONTROL, at[i], 64);
	assert_int_equal(core_region_bytes_free(REGION_CONTROL), core_region_bytes(REGION_CONTROL));
}

/* A restarted program finds the regions with their contents. What it claims is not given to others; what it
 * does not claim is free. */
static void restart(void **s)
{
	(void)s;
	uint8_t *a = core_region_alloc(REGION_SHARED, 1000), *b = core_region_alloc(REGION_SHARED, 3000);
	uint8_t *own = core_region_alloc(REGION_OWN, 64);
	memset(b, 5, 3000);
	start();
	assert_true(is_all(b, 3000, 5));
	assert_false(core_region_claim(REGION_SHARED, b + 1, 3000));
	assert_false(core_region_claim(REGION_SHARED, b, HUGE));
	assert_false(core_region_claim(REGION_SHARED, memory, 64));
	assert_false(core_region_claim(REGION_SHARED, own, 64));
	assert_false(core_region_claim(REGION_CONTROL, b, 3000));
	assert_false(core_region_claim(REGION_OWN, own + HUGE, 64)); /* of another core */
	assert_true(core_region_claim(REGION_OWN, own, 64));
	assert_true(core_region_claim(REGION_SHARED, b, 3000));
	assert_false(core_region_claim(REGION_SHARED, b, 3000));
	assert_true(is_all(b, 3000, 5));
	assert_ptr_equal(core_region_alloc(REGION_SHARED, 1024), a);
	assert_ptr_not_equal(core_region_alloc(REGION_SHARED, 64), b);
	core_region_free(REGION_SHARED, b, 3000);
	assert_int_equal(calls, 2);
}

/* A failed program has overwritten the list of kept pieces: the regions are still known, for the kernel
 * keeps their list, and are not given out as private memory. */
static void list_is_damaged(void **s)
{
	(void)s;
	uint8_t *a = core_region_alloc(REGION_SHARED, 64);
	assert_non_null(core_persist_alloc(CORE_PERSIST_JOURNAL, 4096));
	memset(kept(), 0x77, 1000);
	start();
	for (uint8_t *p; (p = core_private_alloc(0x10000));)
		assert_true(p + 0x10000 <= a || p >= a + HUGE);
}

static bool are_apart(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes)
{
	return a + a_bytes <= b || b + b_bytes <= a;
}

/* The next program keeps all memory of devices, and of another kind the newest piece. All else is free again. */
static void kept_for_the_next(void **s)
{
	(void)s;
	uint8_t *low, *high = core_persist_alloc(CORE_PERSIST_DEVICES, 4096);
	size_t bytes;
	bool again = false;
	assert_non_null(core_private_alloc(4096)); /* so that the devices' pieces are two */
	low = core_persist_alloc(CORE_PERSIST_DEVICES, 8192);
	const uint8_t *old = core_persist_alloc(CORE_PERSIST_JOURNAL, 4096);
	const uint8_t *new = core_persist_alloc(CORE_PERSIST_JOURNAL, 4096);
	start();
	assert_ptr_equal(core_persist_find(CORE_PERSIST_JOURNAL, &bytes), new);
	for (uint8_t *p; (p = core_private_alloc(4096)); again |= p == old)
		assert_true(are_apart(p, 4096, high, 4096) && are_apart(p, 4096, low, 8192) && are_apart(p, 4096, new, 4096));
	assert_true(again);
}

/* A list that cannot be is not believed, though it has its seal: all memory counts as free. */
static void list_cannot_be(void **s)
{
	(void)s;
	enum { OVERLAPS, BELOW, BEHIND, TOO_LONG, PLACE, LENGTH, KIND, IN_REGION, WAYS };
	for (unsigned way = 0; way < WAYS; way++) {
		size_t bytes;
		end(s);
		begin(s);
		assert_non_null(core_region_alloc(REGION_SHARED, 64));
		assert_non_null(core_persist_alloc(CORE_PERSIST_JOURNAL, 4096));
		assert_non_null(core_persist_alloc(CORE_PERSIST_LOG, 4096));
		struct persistent *k = kept();
		struct persist_piece *p = &k->piece[1]; /* the lower one */
		assert_int_equal(p->at + p->bytes, k->piece[0].at);
		p->bytes += way == OVERLAPS || way == TOO_LONG ? 4096 : way == LENGTH ? 64 : 0;
		p->at -= way == LENGTH ? 4096 : way == PLACE ? 64 : 0;
		p->at = way == BELOW ? info.core[0].tables - 4096 : way == IN_REGION ? info.region[0].at : p->at;
		p->what = way == KIND ? CORE_PERSISTS : p->what;
		k->piece[0].at = way == BEHIND ? (uint64_t)(uintptr_t)k : k->piece[0].at;
		k->piece[0].bytes = way == TOO_LONG ? (uint64_t)(uintptr_t)k - k->piece[0].at + 4096 : k->piece[0].bytes;
		p->bytes -= way == TOO_LONG ? 4096 : 0;
		k->pieces_seal = pieces_seal(k);
		start();
		assert_null(core_persist_find(CORE_PERSIST_JOURNAL, &bytes));
		assert_null(core_persist_find(CORE_PERSIST_LOG, &bytes));
	}
}

/* Kept memory is zeroed, but the loader's, which may be large and whose contents do not matter. */
static void zeroed_or_not(void **s)
{
	(void)s;
	uint8_t *first = core_private_alloc(0x100000);
	memset(first, 0x77, 0x100000);
	start(); /* a new program: private memory is free again */
	const uint8_t *work = core_persist_alloc(CORE_PERSIST_PROGRAMS_WORK, 0x80000);
	assert_ptr_equal(work, first + 0x80000);
	for (unsigned i = 0; i < 0x80000; i++)
		assert_int_equal(work[i], 0x77);
	const uint8_t *list = core_persist_alloc(CORE_PERSIST_PROGRAMS, 0x40000);
	const uint8_t *other = core_private_alloc(0x40000);
	assert_true(list == first + 0x40000 && other == first);
	for (unsigned i = 0; i < 0x40000; i++)
		assert_true(list[i] == 0 && other[i] == 0);
}

static struct span {
	uint8_t *at;
	size_t bytes;
} spans[PIECES];

/* Marks a new piece, and checks that no other has been overwritten. */
static void add(unsigned n, void *at, size_t bytes)
{
	spans[n] = (struct span){at, bytes};
	memset(at, (int)(n + 1), bytes);
	for (unsigned i = 0; i <= n; i++)
		assert_true(spans[i].at[0] == i + 1 && spans[i].at[spans[i].bytes - 1] == i + 1);
}

/* Content leaves memory to the tables, takes no more than it needs, and is not cleared. */
static void content(void **s)
{
	(void)s;
	assert_non_null(core_private_alloc(5 * HUGE)); /* which a program that takes over needs again */
	const size_t room = core_content_room();
	assert_in_range(room, 10 * HUGE, core_private_left() - 5 * HUGE - CONTENT_SPARES);
	assert_null(core_region_alloc(REGION_CONTENT, room + 1));
	assert_int_equal(core_region_bytes(REGION_CONTENT), 0);
	uint8_t *at = core_region_alloc(REGION_CONTENT, room);
	assert_true(at && at[0] == 0xa5 && at[room - 1] == 0xa5);
	assert_int_equal(core_region_bytes(REGION_CONTENT), room);
	assert_int_equal(core_content_room(), 0);
	assert_null(core_region_alloc(REGION_CONTENT, 1));
	core_region_free(REGION_CONTENT, at, room);
	assert_ptr_equal(core_region_alloc(REGION_CONTENT, 100), at); /* also without room */
	assert_non_null(core_private_alloc(5 * HUGE));
}

/* Regions, private memory, kept pieces and published memory, in any order until nothing is left. */
static void side_by_side(void **s)
{
	static const enum region_kind written[] = {REGION_SHARED, REGION_OWN, REGION_CONTROL};
	(void)s;
	for (unsigned round = 0; round < 30; round++) {
		unsigned n = 0;
		end(s);
		begin(s);
		for (unsigned i = 0; i < PIECES && n < PIECES; i++) {
			const size_t bytes = 1 + random_below(random_below(3) ? 0x20000 : 2 * HUGE);
			void *at = NULL;
			switch (random_below(4)) {
			case 0: at = core_private_alloc(bytes); break;
			case 1: at = core_persist_alloc(CORE_PERSIST_DEVICES, bytes); break;
			case 2: at = core_region_alloc(written[random_below(3)], bytes); break;
			default: (void)core_published_take(PUBLISHED + random_below(TABLES));
			}
			if (at)
				add(n++, at, bytes);
		}
		assert_true(n > 5);
		tables_forget_devices();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(absent), TEST(pieces), TEST(of_each_core), TEST(of_code), TEST(refused), TEST(too_many),
		TEST(restart), TEST(list_is_damaged), TEST(kept_for_the_next), TEST(list_cannot_be),
		TEST(zeroed_or_not), TEST(content), TEST(side_by_side),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
