/* The loader on objects built piece by piece: types, maps of both kinds, data, entries of program arrays,
 * places in a chain, CO-RE relocations. */
#include "tests/unit/rig/bpf_elf.h"

#include "bpf/maps/map.h"
#include "bpf/object/object.h"

#define WIDE(r, n) {BPF_LD | BPF_IMM | BPF_DW, r, 0, 0, n}, {0, 0, 0, 0, 0}

static struct make m;
static const struct bpf_insn pass[] = {MOV(0, 2), EXIT};

static void loads(void) { make_expect(&m, NULL); }

static void refused(const char *reason) { make_expect(&m, reason); }

/* Begins an object with a program and a section .maps, number 2. */
static void begin(void)
{
	make_begin(&m);
	make_code(&m, "xdp", "main", pass, 2);
	make_section(&m, ".maps", ELF_PROGBITS, 0, NULL, 256);
}

/* A map of BTF at `offset` of .maps; returns its variable. */
static uint32_t map_at(const char *name, unsigned offset, unsigned n, const char *const *names,
                       const uint32_t *types)
{
	make_symbol(&m, name, ELF_OBJECT, ELF_GLOBAL, 2, offset, 8 * n);
	return make_variable(&m, name, make_struct(&m, n, names, types));
}

static void one_map(unsigned n, const char *const *names, const uint32_t *types)
{
	const uint32_t variable = map_at("table", 0, n, names, types);
	make_datasec(&m, ".maps", 1, &variable);
}

static void by_numbers(void **s)
{
	(void)s;
	static const char *const names[] = {"type",      "key_size", "value_size", "max_entries",
	                                    "map_flags", "pinning",  "numa_node"};
	begin();
	const uint32_t types[] = {make_number(&m, 1),    make_number(&m, 4),    make_number(&m, 24),
	                          make_number(&m, 1000), make_number(&m, 0x81), make_number(&m, 1),
	                          make_number(&m, 0)};
	one_map(7, names, types);
	loads();
	assert_int_equal(made.map_count, 1);
	const struct bpf_map_def *map = &made.maps[0];
	assert_string_equal(map->name, "table");
	assert_int_equal(map->type, BPF_MAP_HASH);
	assert_int_equal(map->key_bytes, 4);
	assert_int_equal(map->value_bytes, 24);
	assert_int_equal(map->entries, 1000);
	assert_int_equal(map->flags, 0x81);
	assert_false(map->is_data);
	assert_null(map->initial);
}

/* Sizes by types: through typedefs, const, arrays of arrays, and together with numbers. */
static void by_types(void **s)
{
	(void)s;
	static const char *const names[] = {"type", "key", "value", "key_size"};
	for (unsigned key_bytes = 12; key_bytes <= 13; key_bytes++) {
		begin();
		const uint32_t integer = make_int(&m);
		const uint32_t row = make_type(&m, "", BTF_ARRAY, 0, 0, (uint32_t[]){integer, integer, 3}, 3);
		const uint32_t table = make_type(&m, "", BTF_ARRAY, 0, 0, (uint32_t[]){row, integer, 5}, 3);
		const uint32_t alias = make_type(&m, "row_t", BTF_TYPEDEF, 0,
		                                 make_type(&m, "", BTF_CONST, 0, row, NULL, 0), NULL, 0);
		const uint32_t types[] = {make_number(&m, 2), make_pointer(&m, alias), make_pointer(&m, table),
		                          make_number(&m, key_bytes)};
		one_map(4, names, types);
		if (key_bytes == 13) {
			refused("map table: key_size says 13 bytes, another member 12");
			continue;
		}
		loads();
		assert_int_equal(made.maps[0].key_bytes, 12);
		assert_int_equal(made.maps[0].value_bytes, 60);
	}
}

/* One member `name` of a type made by `make`. */
static void one_member(const char *name, uint32_t (*type)(void), const char *reason)
{
	begin();
	one_map(1, &name, (uint32_t[]){type()});
	refused(reason);
}

static uint32_t t_int(void) { return make_int(&m); }
static uint32_t t_five(void) { return make_number(&m, 5); }
static uint32_t t_void(void) { return make_pointer(&m, 0); }
static uint32_t t_cycle(void)
{
	return make_pointer(&m, make_type(&m, "c", BTF_TYPEDEF, 0, m.type_count, NULL, 0));
}
static uint32_t t_self(void) { return make_type(&m, "", BTF_CONST, 0, m.type_count, NULL, 0); }
static uint32_t t_array_of_itself(void)
{
	return make_pointer(&m, make_type(&m, "", BTF_ARRAY, 0, 0, (uint32_t[]){m.type_count, 0, 2}, 3));
}
static uint32_t t_huge(void)
{
	const uint32_t row = make_type(&m, "", BTF_ARRAY, 0, 0, (uint32_t[]){make_int(&m), 0, 0x10000}, 3);
	return make_pointer(&m, make_type(&m, "", BTF_ARRAY, 0, 0, (uint32_t[]){row, 0, 0x10000}, 3));
}
static uint32_t t_function(void) { return make_pointer(&m, make_type(&m, "", BTF_FUNC_PROTO, 0, 0, NULL, 0)); }

static void wrong_members(void **s)
{
	(void)s;
	one_member("max_entries", t_int, "map table: member max_entries is unknown, or not a number");
	one_member("max_entries", t_void, "not a number");
	one_member("max_entries", t_self, "not a number");
	one_member("inner", t_five, "map table: member inner is not supported");
	one_member("key", t_int, "map table: key is not a pointer to a type with a size");
	one_member("key", t_void, "not a pointer to a type with a size");
	one_member("key", t_cycle, "not a pointer to a type with a size");
	one_member("value", t_array_of_itself, "not a pointer to a type with a size");
	one_member("value", t_huge, "not a pointer to a type with a size");
	one_member("value", t_function, "not a pointer to a type with a size");
	static const char *const names[] = {"type", "values"};
	for (unsigned type = 1; type <= 14; type++) {
		if (type == BPF_MAP_PROG_ARRAY)
			continue;
		begin();
		one_map(2, names, (uint32_t[]){make_number(&m, type), make_int(&m)});
		refused(type == 12 ? "(BPF_MAP_TYPE_ARRAY_OF_MAPS)" : type == 13 ? "(BPF_MAP_TYPE_HASH_OF_MAPS)"
		                                                                 : "in program arrays only");
	}
}

static void wrong_maps(void **s)
{
	(void)s;
	static const char *const name = "type";
	begin();
	refused("no definition in BTF: compile with -g");
	begin();
	m.no_btf = true;
	refused("no definition in BTF: compile with -g");
	begin();
	make_datasec(&m, ".maps", 1, (uint32_t[]){make_int(&m)});
	refused("member 0 of .maps is not a variable");
	begin();
	make_datasec(&m, ".maps", 1, (uint32_t[]){make_variable(&m, "table", make_int(&m))});
	refused("map table: no symbol in .maps has this name");
	begin();
	make_symbol(&m, "table", ELF_OBJECT, ELF_GLOBAL, 2, 0, 8);
	make_datasec(&m, ".maps", 1, (uint32_t[]){make_variable(&m, "table", make_int(&m))});
	refused("map table: its type is not a struct");
	begin();
	const uint32_t twice = map_at("table", 0, 1, &name, (uint32_t[]){make_number(&m, 1)});
	make_datasec(&m, ".maps", 2, (uint32_t[]){twice, twice});
	refused("two maps are called table");
	begin();
	const uint32_t far = map_at("table", 0, 1, &name, (uint32_t[]){make_number(&m, 1)});
	m.symbols[m.symbol_count - 1].value = UINT64_MAX;
	make_datasec(&m, ".maps", 1, &far);
	refused("map table lies outside of its section");
}

static void too_many(void **s)
{
	(void)s;
	for (unsigned n = BPF_OBJECT_MAPS; n <= BPF_OBJECT_MAPS + 1; n++) {
		make_begin(&m);
		make_code(&m, "xdp", "main", pass, 2);
		for (unsigned i = 0; i < n; i++) {
			char name[20];
			snprintf(name, sizeof name, ".data.%u", i);
			make_section(&m, name, ELF_PROGBITS, 0, NULL, 1);
		}
		if (n == BPF_OBJECT_MAPS)
			loads();
		else
			refused("more than 64 maps");
	}
}

/* Instructions find their map by the symbol, or by the section and an offset. */
static void references(void **s)
{
	(void)s;
	static const char *const name = "type";
	static const struct bpf_insn code[] = {WIDE(1, 0), WIDE(2, 32), WIDE(3, 0), MOV(0, 2), EXIT};
	for (unsigned wrong = 0; wrong < 2; wrong++) {
		make_begin(&m);
		make_code(&m, "xdp", "main", code, 8);
		make_section(&m, ".maps", ELF_PROGBITS, 0, NULL, 64);
		const uint32_t first = map_at("first", 32, 1, &name, (uint32_t[]){make_number(&m, 1)});
		const uint32_t second = map_at("second", 0, 1, &name, (uint32_t[]){make_number(&m, 2)});
		make_datasec(&m, ".maps", 2, (uint32_t[]){first, second});
		make_relocation(&m, 1, 0, R_BPF_64_64, 2);
		make_relocation(&m, 1, 16, R_BPF_64_64,
		                make_symbol(&m, "", ELF_SECTION, ELF_LOCAL, 2, wrong, 0));
		make_relocation(&m, 1, 32, R_BPF_64_64, 3);
		if (wrong) {
			refused("instruction 2 of function main: no map begins at the address of .maps");
			continue;
		}
		loads();
		static const int32_t want[] = {0, 0, 1};
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(made.programs[0].insns[2 * i].src, BPF_WIDE_MAP);
			assert_int_equal(made.programs[0].insns[2 * i].imm, want[i]);
			assert_int_equal(made.programs[0].insns[2 * i + 1].imm, 0);
		}
		assert_int_equal(made.maps[0].type, 1);
		assert_int_equal(made.maps[1].type, 2);
	}
}

/* --- legacy --- */

static void legacy_of(unsigned maps, unsigned words, const uint32_t *data, uint32_t bytes)
{
	make_begin(&m);
	make_code(&m, "xdp", "main", pass, 2);
	make_section(&m, "maps", ELF_PROGBITS, 0, data, bytes);
	for (unsigned i = 0; i < maps; i++) {
		char name[20];
		snprintf(name, sizeof name, "map%u", i);
		make_symbol(&m, name, ELF_OBJECT, ELF_GLOBAL, 2, 4ull * words * i, 4 * words);
	}
}

static void legacy(void **s)
{
	(void)s;
	static const uint32_t five[] = {1, 4, 8, 100, 1, 2, 4, 16, 10, 0};
	legacy_of(2, 5, five, sizeof five);
	loads();
	assert_int_equal(made.map_count, 2);
	assert_string_equal(made.maps[0].name, "map0");
	assert_int_equal(made.maps[0].entries, 100);
	assert_int_equal(made.maps[0].flags, 1);
	assert_int_equal(made.maps[1].type, 2);
	assert_int_equal(made.maps[1].value_bytes, 16);
	static const uint32_t four[] = {1, 4, 8, 100, 2, 4, 16, 10};
	legacy_of(2, 4, four, sizeof four);
	loads();
	assert_int_equal(made.maps[1].type, 2);
	assert_int_equal(made.maps[1].flags, 0);
	uint32_t seven[] = {1, 4, 8, 100, 1, 0, 0};
	legacy_of(1, 7, seven, sizeof seven);
	loads();
	seven[6] = 1;
	legacy_of(1, 7, seven, sizeof seven);
	refused("map map0: its definition has more than five numbers");
	legacy_of(3, 5, five, sizeof five);
	refused("section maps: 40 bytes for 3 maps");
	legacy_of(0, 5, five, sizeof five);
	refused("section maps: 40 bytes for 0 maps");
	legacy_of(1, 5, five, 12);
	refused("section maps: 12 bytes for 1 maps");
	legacy_of(2, 6, five, sizeof five);
	refused("map map1 lies outside of its section");
	static const uint32_t outer[] = {12, 4, 4, 1, 0};
	legacy_of(1, 5, outer, sizeof outer);
	refused("maps of maps are not supported (BPF_MAP_TYPE_ARRAY_OF_MAPS)");
	static const uint32_t events[] = {4, 4, 4, 0, 0};
	legacy_of(1, 5, events, sizeof events);
	loads();
	assert_int_equal(made.maps[0].entries, BPF_CORES_MAX); /* none is stated: one a core */
}

/* --- data --- */

static void data(void **s)
{
	(void)s;
	make_begin(&m);
	make_code(&m, "xdp", "main", pass, 2);
	make_section(&m, ".data", ELF_PROGBITS, 0, "abc", 3);
	make_section(&m, ".rodata.str1.1", ELF_PROGBITS, 0, "de", 2);
	make_section(&m, ".bss", ELF_NOBITS, 0, NULL, 4096);
	make_section(&m, ".rodata", ELF_PROGBITS, 0, NULL, 0);
	make_section(&m, ".database", ELF_PROGBITS, 0, NULL, 8);
	loads();
	assert_int_equal(made.map_count, 3);
	static const struct bpf_map_def want[] = {
		{.name = ".data", .value_bytes = 3},
		{.name = ".rodata.str1.1", .value_bytes = 2, .flags = BPF_F_RDONLY_PROG},
		{.name = ".bss", .value_bytes = 4096},
	};
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(made.maps[i].name, want[i].name);
		assert_int_equal(made.maps[i].type, BPF_MAP_ARRAY);
		assert_int_equal(made.maps[i].value_bytes, want[i].value_bytes);
		assert_int_equal(made.maps[i].flags, want[i].flags);
		assert_true(made.maps[i].is_data);
	}
	assert_memory_equal(made.maps[0].initial, "abc", 3);
	assert_memory_equal(made.maps[1].initial, "de", 2);
	assert_null(made.maps[2].initial);
}

/* --- entries of program arrays --- */

/* A program array of 4 entries whose definition is at 64, with its entries from 64 + 24 on. */
static void slot(uint64_t offset, unsigned section, uint64_t value, const char *reason)
{
	static const char *const names[] = {"type", "max_entries", "key_size", "values"};
	static const char *const other[] = {"type"};
	begin();
	make_code(&m, "xdp/2", "second", pass, 2);
	make_code(&m, "tc", "third", pass, 2);
	const uint32_t a = map_at("other", 0, 1, other, (uint32_t[]){make_number(&m, 1)});
	const uint32_t types[] = {make_number(&m, 3), make_number(&m, 4), make_number(&m, 4), make_int(&m)};
	const uint32_t b = map_at("jumps", 64, 4, names, types);
	make_datasec(&m, ".maps", 2, (uint32_t[]){a, b});
	make_relocation(&m, 2, offset, 2 /* R_BPF_64_ABS64 */,
	                make_symbol(&m, "x", ELF_FUNC, ELF_WEAK, section, value, 0));
	m.symbols[m.symbol_count - 1].info = ELF_WEAK << 4;
	make_expect(&m, reason);
}

static void slots(void **s)
{
	(void)s;
	slot(64 + 24 + 16, 3, 0, NULL);
	assert_int_equal(made.slot_count, 1);
	assert_int_equal(made.slots[0].map, 1);
	assert_int_equal(made.slots[0].index, 2);
	assert_int_equal(made.slots[0].program, 1);
	assert_int_equal(made.maps[1].value_bytes, 4);
	slot(64 + 24 + 32, 3, 0, "where no map has an initial entry");
	slot(64 + 16, 3, 0, "where no map has an initial entry");
	slot(64 + 28, 3, 0, "where no map has an initial entry");
	slot(8, 3, 0, "section .maps: an address at 0x8, where no map has an initial entry");
	slot(UINT64_MAX, 3, 0, "where no map has an initial entry");
	slot(64 + 24, 4, 0, "map jumps: entry 0 is not an XDP program of this object (x)");
	slot(64 + 24, 3, 8, "is not an XDP program");
	slot(64 + 24, 0, 0, "is not an XDP program");
	slot(64 + 24, 0xfff1, 0, "is not an XDP program");
}

/* --- places in a chain --- */

static void place(const char *variable, const char *name, uint32_t (*type)(void), const char *reason)
{
	begin();
	m.sections[2].bytes = 0;
	const uint32_t v = make_variable(&m, variable,
	                                 name ? make_struct(&m, 1, &name, (uint32_t[]){type()}) : make_int(&m));
	make_datasec(&m, ".xdp_run_config", 1, &v);
	make_expect(&m, reason);
}

static uint32_t t_none(void) { return make_number(&m, 0); }

static void places(void **s)
{
	(void)s;
	place("_main", "priority", t_five, NULL);
	assert_int_equal(made.programs[0].priority, 5);
	assert_int_equal(made.programs[0].chain_on, 1 << 2);
	place("_main", "XDP_DROP", t_five, NULL);
	assert_int_equal(made.programs[0].priority, 50);
	assert_int_equal(made.programs[0].chain_on, 1 << 2 | 1 << 1);
	place("_main", "XDP_PASS", t_none, NULL);
	assert_int_equal(made.programs[0].chain_on, 0);
	place("_other", "priority", t_five, NULL);
	assert_int_equal(made.programs[0].priority, 50);
	place("main", "priority", t_five, NULL);
	assert_int_equal(made.programs[0].priority, 50);
	place("_main", "prio", t_five, ".xdp_run_config of program main: member prio is unknown");
	place("_main", "priority", t_int, ".xdp_run_config of program main: priority is not a number");
	place("_main", NULL, NULL, ".xdp_run_config of program main: not a struct");
	begin();
	m.sections[2].bytes = 0;
	make_datasec(&m, ".xdp_run_config", 1, (uint32_t[]){make_int(&m)});
	refused("member 0 of .xdp_run_config is not a variable");
}

/* --- damage of BTF --- */

static void types_only(void)
{
	begin();
	m.sections[2].bytes = 0;
}

static void damaged_types(void **s)
{
	(void)s;
	static const struct {
		uint8_t kind;
		uint32_t vlen, refers, words[6];
		unsigned n;
		const char *reason;
	} wrong[] = {
		{0, 0, 0, {0}, 0, ".BTF: type 1 is of an unknown kind"},
		{20, 0, 0, {0}, 0, ".BTF: type 1 is of an unknown kind"},
		{BTF_INT, 0, 4, {0}, 0, ".BTF: type 1 is of an unknown kind or is cut off"},
		{BTF_STRUCT, 2, 8, {0}, 5, ".BTF: type 1 is of an unknown kind or is cut off"},
		{BTF_DATASEC, 0xffff, 0, {0}, 6, "is cut off"},
		{BTF_PTR, 0, 2, {0}, 0, ".BTF: type 1 refers to a type that does not exist"},
		{BTF_ARRAY, 0, 0, {2, 0, 1}, 3, "refers to a type"},
		{BTF_ARRAY, 0, 0, {0, 2, 1}, 3, "refers to a type"},
		{BTF_STRUCT, 1, 8, {0, 2, 0}, 3, "refers to a type"},
		{BTF_DATASEC, 1, 0, {2, 0, 0}, 3, "refers to a type"},
		{BTF_FUNC_PROTO, 1, 0, {0, 2}, 2, "refers to a type"},
		{BTF_FUNC, 1, 99, {0}, 0, "refers to a type"},
		{BTF_VAR, 0, 99, {0}, 1, "refers to a type"},
		{BTF_DECL_TAG, 0, 99, {0}, 1, "refers to a type"},
		{BTF_UNION, 1, 8, {999, 0, 0}, 3, ".BTF: type 1 has a name outside"},
		{BTF_ENUM, 1, 4, {999, 0}, 2, "has a name outside"},
		{BTF_ENUM64, 1, 8, {999, 0, 0}, 3, "has a name outside"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(wrong); i++) {
		types_only();
		make_type(&m, "", wrong[i].kind, wrong[i].vlen, wrong[i].refers, wrong[i].words, wrong[i].n);
		refused(wrong[i].reason);
	}
}

static void kconfig(void **s)
{
	(void)s;
	static const uint32_t none[3 * 257];
	for (uint32_t n = 256; n <= 257; n++) {
		types_only();
		make_type(&m, ".kconfig", BTF_DATASEC, n, 0, none, 3 * n);
		if (n == 256)
			loads();
		else
			refused(".kconfig has more than 256 variables");
	}
}

/* Section 3 is .BTF: its header, word by word. */
static void damaged_header(void **s)
{
	(void)s;
	static const struct {
		unsigned word;
		uint32_t value;
		const char *reason;
	} wrong[] = {
		{0, 0x0001eb9e, ".BTF: magic 0xeb9e"},     {0, 0x0002eb9f, "version 2"},
		{1, 23, ".BTF: a header of 23 bytes"},     {1, 4000, ".BTF: a header of 4000 bytes"},
		{2, 4000, "end behind the section"},       {3, 4000, "end behind the section"},
		{3, UINT32_MAX, "end behind the section"}, {4, UINT32_MAX, "end behind the section"},
		{5, 0, "does not begin and end"},          {5, 3, "does not begin and end"},
		{5, UINT32_MAX, "end behind the section"}, {4, 0, "does not begin and end"},
	};
	types_only();
	make_int(&m);
	make_file(&m);
	uint64_t at;
	memcpy(&at, m.file + m.headers + 3 * 64 + 24, 8);
	for (unsigned i = 0; i < ARRAY_LEN(wrong); i++) {
		uint32_t old;
		memcpy(&old, m.file + at + 4 * wrong[i].word, 4);
		memcpy(m.file + at + 4 * wrong[i].word, &wrong[i].value, 4);
		assert_false(make_load(m.file, m.bytes));
		if (!strstr(made_why.text, wrong[i].reason))
			fail_msg("\"%s\" instead of \"%s\"", made_why.text, wrong[i].reason);
		memcpy(m.file + at + 4 * wrong[i].word, &old, 4);
	}
	/* the strings end the section: one byte more */
	++*(m.file + at + 4 * 5);
	assert_false(make_load(m.file, m.bytes));
	assert_non_null(strstr(made_why.text, "end behind the section"));
	make_end(&m);
}

/* --- CO-RE --- */

struct record {
	uint32_t each, section, count, at, type, access, kind;
};

static struct record core_begin(const char *type, uint32_t bytes)
{
	begin();
	m.sections[2].bytes = 0;
	const uint32_t id = make_type(&m, type, BTF_STRUCT, 0, bytes, NULL, 0);
	return (struct record){16, make_string(&m, "xdp"), 1, 8, id, make_string(&m, "0:0"), 0};
}

static void core_end(struct record r, uint32_t bytes, const char *reason)
{
	memcpy(m.ext, &r, sizeof r);
	m.ext_bytes = bytes;
	make_expect(&m, reason);
}

static void core(void **s)
{
	(void)s;
	const struct {
		const char *type;
		uint32_t bytes, kind;
		const char *reason;
	} cases[] = {
		{"xdp_md", 24, 0, NULL},
		{"xdp_md", 20, 2, NULL},
		{"iphdr", 20, 5, NULL},
		{"ethhdr", 14, 9, NULL},
		{"xdp_md", 28, 0,
	         "instruction 1 of function main needs xdp_md of a running kernel (CO-RE, kind 0)"},
		{"iphdr", 20, 6, "needs iphdr"},
		{"iphdr", 20, 10, "needs iphdr"},
		{"sk_buff", 232, 0, "needs sk_buff"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
		struct record r = core_begin(cases[i].type, cases[i].bytes);
		r.kind = cases[i].kind;
		core_end(r, sizeof r, cases[i].reason);
	}
	struct record r = core_begin("sk_buff", 232);
	make_code(&m, "tc", "other", pass, 2);
	r.section = make_string(&m, "tc"); /* not a part of a program */
	core_end(r, sizeof r, NULL);
}

static void damaged_core(void **s)
{
	(void)s;
	struct record r = core_begin("xdp_md", 24);
	core_end(r, sizeof r - 4, "the CO-RE relocations are damaged at offset 36");
	r = core_begin("xdp_md", 24);
	core_end(r, 8, "the CO-RE relocations are damaged");
	r = core_begin("xdp_md", 24);
	core_end(r, 3, "CO-RE relocations of 0 bytes");
	r = core_begin("xdp_md", 24);
	r.each = 12;
	core_end(r, sizeof r, "CO-RE relocations of 12 bytes");
	r = core_begin("xdp_md", 24);
	r.count = 0;
	core_end(r, sizeof r, "the CO-RE relocations are damaged");
	r = core_begin("xdp_md", 24);
	r.count = 0x10000001;
	core_end(r, sizeof r, "the CO-RE relocations are damaged");
	r = core_begin("xdp_md", 24);
	r.section = 9999;
	core_end(r, sizeof r, "the CO-RE relocations are damaged");
	r = core_begin("xdp_md", 24);
	r.section = make_string(&m, "none");
	core_end(r, sizeof r, "CO-RE relocations of section none, which has no code");
	for (uint32_t at = 4; at < 40; at += 12) {
		r = core_begin("xdp_md", 24);
		r.at = at;
		core_end(r, sizeof r, "is not at an instruction");
	}
	r = core_begin("xdp_md", 24);
	r.type = 2;
	core_end(r, sizeof r, "has a wrong type or string");
	r = core_begin("xdp_md", 24);
	r.access = 9999;
	core_end(r, sizeof r, "has a wrong type or string");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_numbers),
		cmocka_unit_test(by_types),
		cmocka_unit_test(wrong_members),
		cmocka_unit_test(wrong_maps),
		cmocka_unit_test(too_many),
		cmocka_unit_test(references),
		cmocka_unit_test(legacy),
		cmocka_unit_test(data),
		cmocka_unit_test(slots),
		cmocka_unit_test(places),
		cmocka_unit_test(damaged_types),
		cmocka_unit_test(damaged_header),
		cmocka_unit_test(kconfig),
		cmocka_unit_test(core),
		cmocka_unit_test(damaged_core),
	};
	return cmocka_run_group_tests_name("bpf_btf", tests, NULL, NULL);
}
