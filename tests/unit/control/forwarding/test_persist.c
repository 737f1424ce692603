/* control/forwarding/persist.c: which base the next program, or the next start of the ports, finds, however
 * the program before has ended and whatever it has written. */
#include "tests/unit/rig/host.h"

#include "control/forwarding/persist.c"

static uint8_t *piece;
static size_t piece_bytes;
static bool no_memory;
static struct dp_state state;
static const struct persist_six no_six;
static const struct rib_size small = {100, 50, 60, 10}, large = {1000, 500, 600, 10};

void *core_published_area(size_t *bytes)
{
	*bytes = sizeof state;
	return &state;
}

/* The old piece stays readable until the program ends: here until the next test. */
void *core_persist_alloc(enum core_persist what, size_t bytes)
{
	assert_int_equal(what, CORE_PERSIST_ROUTES);
	if (no_memory)
		return NULL;
	piece_bytes = align_up(bytes, 4096);
	piece = test_calloc(1, piece_bytes);
	return piece;
}

void *core_persist_find(enum core_persist what, size_t *bytes)
{
	assert_int_equal(what, CORE_PERSIST_ROUTES);
	*bytes = piece_bytes;
	return piece;
}

static void *begin(const struct rib_size *size)
{
	void *p = persist_begin(size);
	assert_non_null(p);
	assert_true((uint8_t *)p >= piece + HEADER_BYTES &&
	            (uint8_t *)p + rib_bytes(size) <= piece + piece_bytes);
	memset(p, 0x55, rib_bytes(size));
	return p;
}

/* A start of the control plane as far as here; returns the memory of the base. */
static void *start(const struct rib_size *size)
{
	persist_open(true);
	void *p = begin(size);
	persist_close();
	return p;
}

static void forget(void)
{
	test_free(piece);
	piece = NULL;
	piece_bytes = 0;
	no_memory = false;
}

static void halves_in_turn(void **s)
{
	(void)s;
	void *first = start(&small);
	assert_null(persist_previous()->memory);
	state.interface[3].key = 77;
	persist_commit(first, &small, (struct persist_six){9, 77});
	void *last = first;
	for (unsigned i = 0; i < 4; i++) {
		persist_open(true);
		assert_ptr_equal(persist_previous()->memory, last);
		assert_memory_equal(&persist_previous()->size, &small, sizeof small);
		assert_int_equal(persist_previous()->six.routes, 9);
		assert_int_equal(persist_previous()->six.bytes, 77);
		assert_int_equal(persist_previous()->key[3], 77);
		void *next = begin(&small);
		assert_ptr_not_equal(next, last);
		persist_close();
		assert_null(persist_previous()->memory);
		persist_commit(next, &small, (struct persist_six){9, 77});
		last = next;
	}
	forget();
}

/* One that gives up before persist_commit leaves the base before to the next one. */
static void a_program_gives_up(void **s)
{
	(void)s;
	void *first = start(&small);
	persist_commit(first, &small, no_six);
	for (unsigned i = 0; i < 3; i++)
		assert_ptr_not_equal(start(&small), first);
	persist_open(true);
	assert_ptr_equal(persist_previous()->memory, first);
	forget();
}

/* One that fails while it reads does so once. */
static void a_program_fails_while_it_reads(void **s)
{
	(void)s;
	persist_commit(start(&small), &small, no_six);
	persist_open(true);
	assert_non_null(persist_previous()->memory);
	persist_open(true); /* of the next program */
	assert_null(persist_previous()->memory);
	void *next = begin(&small);
	persist_close();
	persist_commit(next, &small, no_six);
	persist_open(true);
	assert_ptr_equal(persist_previous()->memory, next);
	forget();
}

static void not_wanted(void **s)
{
	(void)s;
	persist_open(false);
	assert_null(persist_previous()->memory);
	persist_close();
	persist_commit(start(&small), &small, no_six);
	persist_open(false);
	assert_null(persist_previous()->memory);
	persist_close();
	persist_open(true);
	assert_non_null(persist_previous()->memory);
	persist_close();
	persist_forget();
	persist_open(true);
	assert_null(persist_previous()->memory);
	forget();
}

/* A larger base takes a new piece, while what the old one has is read. */
static void growth(void **s)
{
	(void)s;
	void *first = start(&small);
	persist_commit(first, &small, no_six);
	uint8_t *old = piece;
	persist_open(true);
	no_memory = true;
	assert_null(persist_begin(&large));
	no_memory = false;
	assert_ptr_equal(persist_previous()->memory, first);
	void *more = begin(&large);
	assert_ptr_not_equal(piece, old);
	assert_ptr_equal(persist_previous()->memory, first);
	persist_close();
	persist_commit(more, &large, no_six);
	persist_open(true);
	assert_ptr_equal(persist_previous()->memory, more);
	assert_true((uint8_t *)begin(&large) > (uint8_t *)more);
	test_free(old);
	forget();
}

/* Any octet of the header is another one, or the piece has another size: nothing is left, and what is
 * begun then lies in the piece. */
static void a_broken_header(void **s)
{
	(void)s;
	for (unsigned i = 0; i < sizeof(struct header); i++) {
		persist_commit(start(&small), &small, no_six);
		piece[i] ^= (uint8_t)(1 + i % 255);
		persist_open(true);
		assert_null(persist_previous()->memory);
		begin(&small);
		forget();
	}
	persist_commit(start(&large), &large, no_six);
	piece_bytes = 3 * HEADER_BYTES;
	persist_open(true);
	assert_null(persist_previous()->memory);
	forget();
}

static void connection(void **s)
{
	(void)s;
	const struct net_addr mine = net_addr_ip4(0xc0000201);
	struct net_addr local;
	assert_int_equal(persist_connection(&local), 0);
	persist_note_connection(&mine, 4000); /* nowhere to note it */
	assert_int_equal(persist_connection(&local), 0);
	persist_commit(start(&small), &small, no_six);
	persist_note_connection(&mine, 4000);
	uint8_t *old = piece;
	begin(&large);
	assert_int_equal(persist_connection(&local), 4000);
	assert_true(net_addr_equal(&local, &mine));
	test_free(old);
	forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_in_turn),
		cmocka_unit_test(a_program_gives_up),
		cmocka_unit_test(a_program_fails_while_it_reads),
		cmocka_unit_test(not_wanted),
		cmocka_unit_test(growth),
		cmocka_unit_test(a_broken_header),
		cmocka_unit_test(connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
