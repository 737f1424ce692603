/* Layouts: keys and values of maps by the names that BTF has for their parts, of every kind of type; types that
 * are wrong or without end, which must leave the map without names; layouts that are damaged afterwards. */
#include "tests/unit/rig/bpf_elf.h"

#include "tests/unit/rig/bpf_contract.h"

static struct make m;
static const struct bpf_insn pass[] = {MOV(0, 2), EXIT};
static char text[4096];

#define FLAG (1u << 31) /* of a struct: bit fields have sizes; of an enumeration: signed */

/* --- building --- */

static void begin(void)
{
	make_begin(&m);
	make_code(&m, "xdp", "main", pass, 2);
	make_section(&m, ".maps", ELF_PROGBITS, 0, NULL, 256);
}

static uint32_t integer(const char *name, uint32_t bytes, uint32_t encoding)
{
	return make_type(&m, name, BTF_INT, 0, bytes, (uint32_t[]){encoding << 24 | 8 * bytes}, 1);
}

static uint32_t u8(void) { return integer("unsigned char", 1, 0); }
static uint32_t u32(void) { return integer("unsigned int", 4, 0); }
static uint32_t array(uint32_t of, uint32_t n)
{
	return make_type(&m, "", BTF_ARRAY, 0, 0, (uint32_t[]){of, u32(), n}, 3);
}

struct member {
	const char *name;
	uint32_t type, offset;
};

static uint32_t record(uint8_t kind, uint32_t bytes, uint32_t flag, unsigned n, const struct member *members)
{
	uint32_t words[3 * 64];
	assert_true(n <= 64);
	for (unsigned i = 0; i < n; i++) {
		words[3 * i] = make_string(&m, members[i].name);
		words[3 * i + 1] = members[i].type;
		words[3 * i + 2] = members[i].offset;
	}
	return make_type(&m, "s", kind, flag | n, bytes, words, 3 * n);
}
#define RECORD(kind, bytes, flag, ...) \
	record(kind, bytes, flag, sizeof((struct member[]){__VA_ARGS__}) / sizeof(struct member), \
	       (struct member[]){__VA_ARGS__})
#define STRUCT(bytes, ...) RECORD(BTF_STRUCT, bytes, 0, __VA_ARGS__)

/* Loads an object with the map `table`, of that key and that value. */
static void load(uint32_t key, uint32_t value)
{
	static const char *const names[] = {"type", "key", "value"};
	const uint32_t types[] = {make_number(&m, 1), make_pointer(&m, key), make_pointer(&m, value)};
	make_symbol(&m, "table", ELF_OBJECT, ELF_GLOBAL, 2, 0, 24);
	const uint32_t variable = make_variable(&m, "table", make_struct(&m, 3, names, types));
	make_datasec(&m, ".maps", 1, &variable);
	make_expect(&m, NULL);
}

static bool shown(const struct bpf_map_def *map, unsigned root, const void *data, uint32_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	if (bytes)
		memcpy(copy, data, bytes);
	const bool ok = map->layout &&
	                bpf_layout_contract(map->layout, map->layout->bytes, root, copy, bytes, text, sizeof text);
	free(copy);
	return ok;
}

static void expect(uint32_t type, const void *data, uint32_t bytes, const char *want)
{
	load(u32(), type);
	assert_int_equal(made.maps[0].value_bytes, bytes);
	assert_true(shown(&made.maps[0], made.maps[0].layout->value, data, bytes));
	assert_string_equal(text, want);
	assert_true(shown(&made.maps[0], made.maps[0].layout->key, "\1\0\1", 4));
	assert_string_equal(text, "65537");
}

/* The type of the value has no layout; the key has one. */
static void unknown(uint32_t type)
{
	load(u32(), type);
	assert_non_null(made.maps[0].layout);
	assert_int_equal(made.maps[0].layout->value, 0);
	assert_true(shown(&made.maps[0], made.maps[0].layout->key, "\1\0\0", 4));
}

/* --- kinds --- */

static void numbers(void **s)
{
	(void)s;
	static const uint8_t ones[16] = {254, 255, 255, 255, 255, 255, 255, 255, 1};
	static const char *const is_unsigned[] = {"254", "65534", "4294967294", "18446744073709551614"};
	for (unsigned i = 0; i < 4; i++) {
		begin();
		expect(integer("u", 1u << i, 0), ones, 1u << i, is_unsigned[i]);
		begin();
		expect(integer("i", 1u << i, 1), ones, 1u << i, "-2");
	}
	begin();
	expect(integer("__int128", 16, 1), ones, 16, "\"feffffffffffffff0100000000000000\"");
	begin();
	expect(integer("_Bool", 1, 4), "\1", 1, "true");
	begin();
	expect(integer("_Bool", 1, 4), "", 1, "false");
	begin();
	expect(make_pointer(&m, 0), ones, 8, "\"0xfffffffffffffffe\"");
	begin();
	expect(make_type(&m, "float", BTF_FLOAT, 0, 4, NULL, 0), ones, 4, "\"feffffff\"");
	begin(); /* 5 bits, from bit 2 on */
	expect(make_type(&m, "", BTF_INT, 0, 4, (uint32_t[]){0x00020005}, 1), "\x54\0\0", 4, "21");
	begin(); /* two of them */
	expect(array(make_type(&m, "", BTF_INT, 0, 4, (uint32_t[]){0x00020005}, 1), 2), "\x54\0\0\0\4\0\0", 8, "[21,1]");
}

static void enumerations(void **s)
{
	(void)s;
	const int32_t minus = -1;
	for (unsigned value = 0; value < 4; value++) {
		static const char *const want[] = {"\"ZERO\"", "1", "\"TWO\"", "3"};
		begin();
		const uint32_t words[] = {make_string(&m, "ZERO"), 0, make_string(&m, "TWO"), 2};
		expect(make_type(&m, "e", BTF_ENUM, 2, 4, words, 4), &value, 4, want[value]);
	}
	for (uint32_t flag = 0; flag <= 1; flag++) {
		begin();
		const uint32_t words[] = {make_string(&m, "MINUS"), UINT32_MAX};
		expect(make_type(&m, "e", BTF_ENUM, 1 | flag << 31, 4, words, 2), &minus, 4, "\"MINUS\"");
	}
	begin();
	const uint32_t wide[] = {make_string(&m, "WIDE"), 5, 7};
	expect(make_type(&m, "e", BTF_ENUM64, 1, 8, wide, 3), &(uint64_t){7ull << 32 | 5}, 8, "\"WIDE\"");
}

static void arrays(void **s)
{
	(void)s;
	begin();
	expect(array(array(u8(), 3), 2), "\1\2\3\4\5\6", 6, "[[1,2,3],[4,5,6]]");
	begin();
	expect(array(integer("char", 1, 1), 6), "eth0\0", 6, "\"eth0\"");
	begin();
	expect(array(integer("char", 1, 1), 4), "a\"<\0", 4, "\"a\\\"\\u003c\"");
	begin(); /* no NUL; something behind the NUL; not printable */
	expect(array(integer("char", 1, 1), 3), "abc", 3, "[97,98,99]");
	begin();
	expect(array(integer("char", 1, 1), 3), "a\0b", 3, "[97,0,98]");
	begin();
	expect(array(integer("char", 1, 1), 3), "\xff\1\0", 3, "[-1,1,0]");
	begin();
	const uint32_t pair = STRUCT(2, {"a", u8(), 0}, {"b", u8(), 8});
	expect(array(pair, 2), "\1\2\3\4", 4, "[{\"a\":1,\"b\":2},{\"a\":3,\"b\":4}]");
}

static void records(void **s)
{
	(void)s;
	begin();
	const uint32_t inner = STRUCT(4, {"x", u8(), 0}, {"y", u8(), 24});
	const uint32_t alias = make_type(&m, "inner_t", BTF_TYPEDEF, 0, make_type(&m, "", BTF_CONST, 0, inner, NULL, 0),
	                                 NULL, 0);
	expect(STRUCT(12, {"first", u32(), 0}, {"in", alias, 32}, {"last", u8(), 88}), "\1\0\0\0\2...\0\0\0\4", 12,
	       "{\"first\":1,\"in\":{\"x\":2,\"y\":46},\"last\":4}");
	begin(); /* as struct { union { __u32 word; __u8 bytes[4]; }; __u8 rest; } */
	const uint32_t both = RECORD(BTF_UNION, 4, 0, {"word", u32(), 0}, {"bytes", array(u8(), 4), 0});
	expect(STRUCT(8, {"", both, 0}, {"rest", u8(), 32}), "\1\2\0\0\7\0\0", 8,
	       "{\"word\":513,\"bytes\":[1,2,0,0],\"rest\":7}");
	begin(); /* the same union behind something, with a name and without */
	const uint32_t again = RECORD(BTF_UNION, 4, 0, {"word", u32(), 0}, {"half", u8(), 8});
	expect(STRUCT(12, {"a", u32(), 0}, {"", again, 32}, {"named", again, 64}), "\1\0\0\0\2\3\0\0\4\5\0", 12,
	       "{\"a\":1,\"word\":770,\"half\":3,\"named\":{\"word\":1284,\"half\":5}}");
	begin();
	const uint32_t number = u32(), sign = integer("int", 4, 1);
	expect(RECORD(BTF_STRUCT, 4, FLAG, {"a", number, 3 << 24}, {"b", sign, 5 << 24 | 3}, {"c", number, 20 << 24 | 12}),
	       "\xfa\xff\xff\x3f", 4, "{\"a\":2,\"b\":-1,\"c\":262143}");
	begin();
	expect(make_type(&m, "empty", BTF_STRUCT, 0, 8, NULL, 0), "\1\2\3\4\5\6\7", 8, "{}");
}

/* Variables of a section, at the places of their symbols. */
static void variables(void **s)
{
	(void)s;
	for (unsigned wrong = 0; wrong < 2; wrong++) {
		make_begin(&m);
		make_code(&m, "xdp", "main", pass, 2);
		make_section(&m, ".data", ELF_PROGBITS, 0, "\1\0\0\0\2\0\0", 8);
		make_symbol(&m, "second", ELF_OBJECT, ELF_LOCAL, 2, wrong ? 5 : 4, 4);
		make_symbol(&m, "first", ELF_OBJECT, ELF_GLOBAL, 2, 0, 4);
		const uint32_t number = u32();
		const uint32_t list[] = {make_variable(&m, "first", number), make_variable(&m, "second", number)};
		make_datasec(&m, ".data", 2, list);
		make_expect(&m, NULL);
		if (wrong) {
			assert_null(made.maps[0].layout); /* it ends behind the section */
			continue;
		}
		assert_true(shown(&made.maps[0], made.maps[0].layout->value, made.maps[0].initial, 8));
		assert_string_equal(text, "{\"first\":1,\"second\":2}");
		assert_int_equal(made.maps[0].layout->key, 0);
	}
}

/* --- what has no layout --- */

static void without_end(void **s)
{
	(void)s;
	begin(); /* struct s { struct s s; } */
	unknown(record(BTF_STRUCT, 8, 0, 1, (struct member[]){{"s", m.type_count, 0}}));
	begin();
	unknown(record(BTF_STRUCT, 8, 0, 1, (struct member[]){{"", m.type_count, 0}}));
	begin(); /* 40^16 members, all of them anonymous */
	struct member many[40];
	for (unsigned i = 0; i < 40; i++)
		many[i] = (struct member){"", m.type_count, 0};
	unknown(record(BTF_STRUCT, 8, 0, 40, many));
	begin(); /* a struct in an array in it */
	const uint32_t self = m.type_count, elements = self + 1;
	record(BTF_STRUCT, 8, 0, 1, (struct member[]){{"a", elements, 0}});
	make_type(&m, "", BTF_ARRAY, 0, 0, (uint32_t[]){self, self, 1}, 3);
	unknown(self);
	begin(); /* as deep as that */
	uint32_t type = u8();
	for (unsigned i = 0; i < BPF_LAYOUT_DEPTH; i++)
		type = record(BTF_STRUCT, 1, 0, 1, (struct member[]){{"in", type, 0}});
	unknown(type);
}

static void too_much(void **s)
{
	(void)s;
	static char names[64][8];
	struct member many[64];
	begin();
	const uint32_t byte = u8();
	for (unsigned i = 0; i < 64; i++) {
		snprintf(names[i], sizeof names[i], "m%u", i);
		many[i] = (struct member){names[i], byte, 8 * i};
	}
	const uint32_t inner = record(BTF_STRUCT, 64, 0, 64, many);
	unknown(STRUCT(192, {"a", inner, 0}, {"b", inner, 512}, {"c", inner, 1024}));
	begin();
	char name[200];
	memset(name, 'n', sizeof name);
	name[sizeof name - 1] = 0;
	unknown(STRUCT(1, {name, u8(), 0}));
}

static void wrong(void **s)
{
	(void)s;
	begin();
	unknown(STRUCT(4, {"a", u32(), 8}));
	begin();
	unknown(STRUCT(4, {"a", u32(), 0xffffffe0}));
	begin();
	unknown(STRUCT(4, {"a\nb", u8(), 0}));
	begin();
	unknown(STRUCT(4, {"a\"", u8(), 0}));
	begin();
	unknown(STRUCT(4, {"a", 0, 0})); /* void */
	begin();
	unknown(RECORD(BTF_STRUCT, 8, FLAG, {"a", u32(), 33 << 24}));
	begin();
	unknown(STRUCT(8, {"a", array(u32(), 0), 0}));
	begin();
	unknown(make_type(&m, "", BTF_INT, 0, 4, (uint32_t[]){0x00100018}, 1));
	begin();
	unknown(make_type(&m, "", BTF_INT, 0, 4, (uint32_t[]){0}, 1));
	begin(); /* 64 KiB is the longest value; longer ones are bpf_map_check's to refuse */
	unknown(array(u32(), 20000));
}

/* --- damage --- */

static void damaged_afterwards(void **s)
{
	(void)s;
	seed_random("bpf_layout");
	begin();
	const uint32_t inner = STRUCT(4, {"x", u8(), 0}, {"y", array(u8(), 3), 8});
	const uint32_t words[] = {make_string(&m, "ZERO"), 0, make_string(&m, "TWO"), 2};
	const uint32_t choice = make_type(&m, "e", BTF_ENUM, 2, 4, words, 4);
	load(u32(), STRUCT(24, {"in", inner, 0}, {"choice", choice, 32}, {"text", array(integer("char", 1, 1), 8), 64},
	                   {"pairs", array(inner, 2), 128}));
	const uint32_t bytes = made.maps[0].layout->bytes;
	uint8_t data[24], *good = malloc(bytes);
	memcpy(good, made.maps[0].layout, bytes);
	memcpy(data, "\1\2\3\4\2\0\0\0eth0\0\0\0\0\5\6\7\10\11\12\13\14", 24);
	unsigned shows = 0;
	for (unsigned i = 0; i < 200000; i++) {
		uint8_t *copy = malloc(bytes);
		memcpy(copy, good, bytes);
		for (unsigned n = 1 + random_below(3); n > 0; n--)
			copy[random_below(bytes)] = (uint8_t)random_below(256);
		shows += bpf_layout_contract((struct bpf_layout *)(void *)copy, random_below(8) ? bytes : random_below(bytes),
		                             1 + random_below(12), data, sizeof data, text, 1100);
		free(copy);
	}
	assert_true(shows > 10000 && shows < 190000);
	free(good);
}

/* Every byte of the BTF changed: the object loads or is refused, and what loads prints (bpf_object_contract). */
static void damaged_types(void **s)
{
	(void)s;
	begin();
	const uint32_t inner = STRUCT(4, {"x", u8(), 0}, {"y", array(u8(), 3), 8});
	load(inner, STRUCT(12, {"in", inner, 0}, {"", inner, 32}, {"text", array(integer("char", 1, 1), 4), 64}));
	assert_non_null(made.maps[0].layout);
	unsigned loaded = 0;
	for (size_t i = 0; i < m.bytes; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			m.file[i] ^= (uint8_t)(1u << bit);
			loaded += make_load(m.file, m.bytes);
			m.file[i] ^= (uint8_t)(1u << bit);
		}
	assert_true(loaded > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(enumerations), cmocka_unit_test(arrays), cmocka_unit_test(records),
		cmocka_unit_test(variables), cmocka_unit_test(without_end), cmocka_unit_test(too_much), cmocka_unit_test(wrong),
		cmocka_unit_test(damaged_afterwards), cmocka_unit_test(damaged_types),
	};
	return cmocka_run_group_tests_name("bpf_layout", tests, NULL, NULL);
}
