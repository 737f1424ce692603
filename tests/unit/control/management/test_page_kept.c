/* control/management/page.c and page_kept.c: a kept text equals the page made anew, whatever changes; who shares a
 * text, and when none is kept. */
#include "tests/unit/rig/host.h"

#include "control/management/page_kept.c"

static uint64_t now;
uint64_t core_now_ns(void) { return now; }

static bool no_memory;
static unsigned allocated;
void *core_private_alloc(size_t bytes)
{
	allocated++;
	return no_memory ? NULL : calloc(1, bytes);
}

/* A page of rows of every kind, that the tests change. */
#define ROWS_MAX 400
enum kind { VALUE, SAMPLE, PRINT, FAMILY, NOTHING, KINDS };
static struct row {
	enum kind kind;
	const char *name;
	char label[24];
	unsigned number;
	uint64_t value;
} rows[ROWS_MAX];
static uint32_t row_count;
static bool breaks, waits;
static unsigned walks;

static bool part(struct page_walk *w, struct page_text *t)
{
	const struct row *r = &rows[w->item];
	walks += w->item == 0;
	if (w->item >= row_count)
		return false;
	t->broken |= breaks;
	t->later |= waits;
	switch (r->kind) {
	case VALUE:
		page_value(t, r->name, r->value);
		break;
	case SAMPLE:
		page_sample(t, r->name, r->value, "a=\"%s\",b=\"%u\",c=\"%llu\"", r->label, r->number, (unsigned long long)r->number << 32);
		break;
	case PRINT:
		page_print(t, "%s{x=\"%s\"} %u.5\n", r->name, r->label, r->number);
		break;
	case FAMILY:
		page_family(t, r->name, "help", "gauge");
		break;
	default:
		break;
	}
	return true;
}

static bool part_end(struct page_walk *w, struct page_text *t)
{
	if (w->item == 0)
		page_value(t, "end", row_count);
	return w->item == 0;
}

static const page_part parts[] = {part, part_end, NULL};
static const struct page page = {.parts = parts, .keeps = true}, other = {.parts = parts, .keeps = true};

static char anew[2 * PAGE_KEPT_BYTES];

/* The page as a reader gets it whose page is not kept; returns its length. */
static uint32_t make_anew(void)
{
	struct page_walk w = {0};
	uint32_t n = 0;
	bool more = true;
	while (more) {
		struct page_text t = {.out = {.at = anew + n, .size = PAGE_ITEM_MAX + random_below(300)}};
		more = page_fill(&page, &w, &t);
		n += (uint32_t)t.out.used;
		assert_false(t.broken);
		assert_true(n + 2 * PAGE_ITEM_MAX < sizeof anew);
	}
	return n;
}

static struct page_kept *get(void)
{
	struct page_kept *k = page_kept(&page, page_kept_number());
	assert_non_null(k);
	const uint32_t n = make_anew();
	assert_int_equal(k->len, n);
	assert_memory_equal(k->text, anew, n);
	return k;
}

static const char *const names[] = {"one", "two", "a_longer_name_of_a_family_total"};

static uint64_t random_value(void)
{
	return random64() >> random_below(64);
}

static struct row random_row(void)
{
	struct row r = {.kind = random_below(KINDS), .name = names[random_below(ARRAY_LEN(names))], .number = random_below(3),
	                .value = random_below(2) ? random_value() : 0};
	const unsigned n = random_below(sizeof r.label);
	for (unsigned i = 0; i < n; i++)
		r.label[i] = (char)('a' + random_below(2));
	return r;
}

static int setup(void **state)
{
	(void)state;
	now = 0;
	no_memory = breaks = waits = false;
	row_count = 300;
	for (unsigned i = 0; i < ROWS_MAX; i++)
		rows[i] = random_row();
	assert_true(page_kept_prepare());
	page_kept_start();
	for (unsigned i = 0; i < PAGE_KEPT; i++)
		keeps[i].page = NULL;
	walks = 0;
	return 0;
}

static void change(void)
{
	struct row *r = &rows[random_below(row_count)];
	switch (random_below(8)) {
	case 0:
		*r = random_row();
		break;
	case 1:
		r->number = random_below(1000);
		break;
	case 2:
		row_count = 1 + random_below(ROWS_MAX);
		break;
	case 3:
		memmove(rows, rows + 1, sizeof rows - sizeof *rows); /* as if the first one had gone */
		break;
	case 4:
		r->label[random_below(3)] = 'b';
		break;
	default:
		r->value = random_value();
		break;
	}
}

/* Values alone change here, so the text is patched each time, and moves where they get shorter or longer. */
static void test_values(void **state)
{
	(void)state;
	struct page_kept *k = get();
	const uint32_t made = k->made, patched = k->patched;
	const unsigned rounds = random_rounds(4000);
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned n = random_below(30); n; n--) {
			struct row *r = &rows[random_below(row_count)];
			r->value = random_below(4) ? r->value + 1 : random_value();
			if (r->kind == PRINT)
				r->number = random_below(100000);
		}
		assert_ptr_equal(get(), k);
	}
	assert_int_equal(k->made, made);
	assert_int_equal(k->patched, patched + rounds);
}

static void test_changes(void **state)
{
	(void)state;
	struct page_kept *k = get();
	const uint32_t made = k->made, patched = k->patched;
	for (unsigned i = random_rounds(8000); i; i--) {
		for (unsigned n = random_below(3); n; n--)
			change();
		get();
	}
	assert_true(k->made > made + 100 && k->patched > patched + 100);
}

/* Each thing that a label depends on: another one is not taken for the old. */
static void test_labels(void **state)
{
	(void)state;
	row_count = 1;
	const struct row first = {.kind = SAMPLE, .name = "one", .label = "abcdefghijklmn", .number = 1, .value = 7};
	struct row others[6];
	for (unsigned i = 0; i < ARRAY_LEN(others); i++)
		others[i] = first;
	others[0].name = "two";
	others[1].number = 2;
	others[2].label[13] = 'x';
	others[3].label[13] = 0;
	others[4].label[7] = 0;
	others[5].kind = VALUE;
	for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
		rows[0] = first;
		const uint32_t made = get()->made;
		rows[0] = others[i];
		assert_int_equal(get()->made, made + 1);
	}
}

/* A request that came before the values were read shares them; a later one does not. */
static void test_shared(void **state)
{
	(void)state;
	const uint64_t before = page_kept_number();
	struct page_kept *k = page_kept(&page, before);
	const unsigned once = walks;
	assert_ptr_equal(page_kept(&page, before), k);
	assert_int_equal(walks, once);
	assert_ptr_not_equal(page_kept(&other, before), NULL);
	assert_true(walks > once);
	const unsigned twice = walks;
	assert_ptr_equal(page_kept(&page, page_kept_number()), k);
	assert_int_equal(walks, twice + 1);
}

/* What a reader has got a part of does not change, and without a free text none is kept. */
static void test_readers(void **state)
{
	(void)state;
	rows[0] = (struct row){.kind = VALUE, .name = "one", .value = 1};
	struct page_kept *a = get();
	a->readers++;
	const uint32_t len = a->len;
	char *copy = malloc(len);
	memcpy(copy, a->text, len);
	rows[0].value = 22;
	struct page_kept *b = get();
	assert_ptr_not_equal(a, b);
	b->readers += 2;
	rows[0].value = 333;
	assert_null(page_kept(&page, page_kept_number()));
	assert_int_equal(a->len, len);
	assert_memory_equal(a->text, copy, len);
	free(copy);
	b->readers--;
	assert_null(page_kept(&page, page_kept_number()));
	b->readers--;
	assert_ptr_equal(get(), b);
	a->readers--;
	page_kept_start();
}

/* Too many bytes, too many rows, broken, or later: not kept, and not tried again for a while. */
static void test_too_long(void **state)
{
	static struct row long_row = {.kind = PRINT};
	char name[PAGE_ITEM_MAX - 100];
	(void)state;
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	long_row.name = name;
	row_count = PAGE_KEPT_BYTES / (sizeof name + 8) - 1;
	assert_true(row_count < ROWS_MAX);
	for (unsigned i = 0; i < ROWS_MAX; i++)
		rows[i] = long_row;
	get();
	row_count += 2; /* patched beyond the end */
	assert_null(page_kept(&page, page_kept_number()));
	row_count -= 2;
	const unsigned before = walks;
	assert_null(page_kept(&page, page_kept_number()));
	assert_int_equal(walks, before);
	now += LONG_NS;
	get();
	/* the rows that are there become longer than there is room for */
	for (unsigned i = 0; i < row_count; i++)
		memset(rows[i].label, 'l', sizeof rows[i].label - 1);
	assert_null(page_kept(&page, page_kept_number()));
	for (unsigned i = 0; i < 2; i++) {
		now += LONG_NS;
		row_count = 3;
		breaks = i == 0;
		waits = i == 1;
		assert_null(page_kept(&page, page_kept_number()));
	}
}

static uint32_t many;
static bool part_many(struct page_walk *w, struct page_text *t)
{
	if (w->item < many)
		page_value(t, "v", w->item);
	return w->item < many;
}

static void test_too_many_rows(void **state)
{
	static const page_part list[] = {part_many, NULL};
	static const struct page rows_page = {.parts = list, .keeps = true};
	(void)state;
	many = PAGE_KEPT_ROWS;
	struct page_kept *k = page_kept(&rows_page, page_kept_number());
	assert_non_null(k);
	assert_int_equal(k->rows, PAGE_KEPT_ROWS);
	assert_ptr_equal(page_kept(&rows_page, page_kept_number()), k);
	many++;
	assert_null(page_kept(&rows_page, page_kept_number()));
}

static void test_no_memory(void **state)
{
	(void)state;
	free(keeps);
	keeps = NULL;
	no_memory = true;
	assert_false(page_kept_prepare());
	page_kept_start();
	no_memory = false;
	assert_true(page_kept_prepare());
	get();
	const unsigned before = allocated;
	assert_true(page_kept_prepare());
	assert_int_equal(allocated, before);
}

static bool part_counts(struct page_walk *w, struct page_text *t)
{
	assert_int_equal(w->cursor.n, w->item);
	w->cursor.n++;
	page_print(t, "x");
	return w->item < 2;
}

/* Each part begins with an empty cursor. */
static void test_cursor(void **state)
{
	static const page_part both[] = {part_counts, part_counts, NULL};
	static const struct page counted = {.parts = both};
	char out[16];
	struct page_walk w = {.part = 0};
	struct page_text t = {.out = {.at = out, .size = sizeof out}};
	(void)state;
	assert_false(page_fill(&counted, &w, &t));
	assert_int_equal(t.out.used, 6);
}

static void test_number_of_a_query(void **state)
{
	static const struct {
		const char *query;
		uint32_t number;
	} cases[] = {
		{"", 7},          {"limit=5", 5},       {"limit=0", 0},         {"x=1&limit=5", 5},   {"limit=5&x=1", 5},
		{"limit=5x", 7},  {"limit=", 7},        {"limit", 7},           {"limits=5", 7},      {"xlimit=5", 7},
		{"limit=-1", 7},  {"limitx5", 7},       {"limit=5&limit=6", 5}, {"limit=x&limit=6", 6},
		{"&&limit=5&", 5},
		{"limit=4294967295", UINT32_MAX}, {"limit=4294967296", 7},
	};
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(page_number(cases[i].query, "limit", 7), cases[i].number);
}

static int end(void **state)
{
	(void)state;
	free(keeps);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_values, setup),
		cmocka_unit_test_setup(test_changes, setup),
		cmocka_unit_test_setup(test_labels, setup),
		cmocka_unit_test_setup(test_shared, setup),
		cmocka_unit_test_setup(test_readers, setup),
		cmocka_unit_test_setup(test_too_long, setup),
		cmocka_unit_test_setup(test_too_many_rows, setup),
		cmocka_unit_test_setup(test_no_memory, setup),
		cmocka_unit_test(test_cursor),
		cmocka_unit_test(test_number_of_a_query),
	};
	seed_random("page_kept");
	return cmocka_run_group_tests(tests, NULL, end);
}
