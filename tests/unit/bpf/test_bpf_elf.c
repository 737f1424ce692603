/* The loader on objects built piece by piece: headers, sections, symbols, functions, relocations and calls,
 * right and wrong. Types and maps are in test_bpf_btf.c, objects of compilers in test_bpf_objects.c. */
#include "tests/unit/rig/bpf_elf.h"

#include "bpf/object/object.h"

#define CALL(to) {BPF_JMP | BPF_CALL, 0, BPF_CALL_LOCAL, 0, to}
#define WIDE(r, kind, n) {BPF_LD | BPF_IMM | BPF_DW, r, kind, 0, n}, {0, 0, 0, 0, 0}

static struct make m;

static const struct bpf_insn pass[] = {MOV(0, 2), EXIT};

static void begin(void)
{
	make_begin(&m);
}

static void loads(void) { make_expect(&m, NULL); }

static void refused(const char *reason) { make_expect(&m, reason); }

/* An object with one program, finished, for changes of its bytes. */
static void simple(void)
{
	begin();
	make_code(&m, "xdp", "main", pass, 2);
	make_file(&m);
	make_end(&m);
}

static void changed(size_t at, uint64_t value, unsigned bytes, const char *reason)
{
	uint8_t *copy = malloc(m.bytes);
	memcpy(copy, m.file, m.bytes);
	assert_true(at + bytes <= m.bytes);
	memcpy(copy + at, &value, bytes);
	assert_false(make_load(copy, m.bytes));
	if (!strstr(made_why.text, reason))
		fail_msg("\"%s\" instead of \"%s\"", made_why.text, reason);
	free(copy);
}

static void smallest(void **s)
{
	(void)s;
	begin();
	make_code(&m, "xdp", "main", pass, 2);
	loads();
	assert_int_equal(made.program_count, 1);
	assert_string_equal(made.programs[0].name, "main");
	assert_string_equal(made.programs[0].section, "xdp");
	assert_int_equal(made.programs[0].count, 2);
	assert_memory_equal(made.programs[0].insns, pass, sizeof pass);
	assert_int_equal(made.programs[0].priority, 50);
	assert_int_equal(made.programs[0].chain_on, 1 << 2);
	assert_int_equal(made.map_count + made.slot_count, 0);
	assert_string_equal(made.license, "");
}

static void header(void **s)
{
	(void)s;
	simple();
	changed(0, 0x7f, 4, "not an ELF file");
	changed(4, 1, 1, "not a 64-bit little-endian");
	changed(5, 2, 1, "not a 64-bit little-endian");
	changed(6, 0, 1, "not a 64-bit little-endian");
	changed(16, 2, 2, "not a relocatable object");
	changed(18, 62, 2, "ELF machine 62 is not BPF");
	changed(40, m.bytes - 63, 8, "section headers end behind the file");
	changed(40, UINT64_MAX, 8, "section headers end behind the file");
	changed(58, 63, 2, "section headers of 63 bytes");
	changed(60, 0, 2, "0 section headers");
	changed(60, 0xff00, 2, "65280 section headers");
	changed(62, 1, 2, "outside of the table of names");
	changed(62, 0xffff, 2, "outside of the table of names");
	for (size_t n = 0; n < 64; n++)
		assert_false(make_load(m.file, n));
}

/* Section 1 is the code, 2 .BTF, 3 .symtab, 4 its names, 5 the names of sections. */
static void sections(void **s)
{
	(void)s;
	simple();
	const size_t code = m.headers + 64, symtab = m.headers + 3 * 64, names = m.headers + 4 * 64;
	changed(code, 4000, 4, "section 1: its name");
	changed(code + 24, m.bytes, 8, "section 1 ends behind the file");
	changed(code + 24, UINT64_MAX, 8, "section 1 ends behind the file");
	changed(code + 32, 1u << 31, 8, "section 1 is larger");
	changed(code + 32, 15, 8, "15 bytes are not a number of instructions");
	changed(symtab + 56, 16, 8, "entries are not of 24 bytes");
	changed(symtab + 32, 47, 8, "entries are not of 24 bytes");
	changed(symtab + 4, ELF_PROGBITS, 4, "no symbol table");
	changed(symtab + 40, 3, 4, "symbol 0: its name");
	changed(symtab + 40, 99, 4, "symbol 0: its name");
	changed(names + 32, 4, 8, "section 4: the last string has no end");
	changed(names + 32, 0, 8, "symbol 0: its name");
	uint64_t at;
	memcpy(&at, m.file + symtab + 24, 8);
	changed(at + 24, 77, 4, "symbol 1: its name");
	changed(at + 24 + 6, 9, 2, "symbol 1 (main) is in section 9");
	changed(at + 24 + 6, 0xfff1, 2, "no XDP program");
	changed(at + 24 + 4, 0, 1, "no XDP program");
}

/* Which sections have programs, and which functions are programs. */
static void programs(void **s)
{
	(void)s;
	static const char *const names[] = {"xdp",         "xdp/name", "xdp.frags",
	                                    "xdp.frags/x", "xdp_old",  "xdpother"};
	begin();
	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		char function[20];
		snprintf(function, sizeof function, "f%u", i);
		make_code(&m, names[i], function, pass, 2);
	}
	make_code(&m, "tc", "classifier", pass, 2);
	make_code(&m, ".text", "helper", pass, 2);
	make_section(&m, "xdp_metadata", ELF_PROGBITS, 0, NULL, 8);
	loads();
	assert_int_equal(made.program_count, ARRAY_LEN(names));
	for (unsigned i = 0; i < ARRAY_LEN(names); i++)
		assert_string_equal(made.programs[i].section, names[i]);

	/* two in one section, by the order of the code, and a local one, which is none */
	static const struct bpf_insn three[] = {MOV(0, 1), EXIT, MOV(0, 2), EXIT, MOV(0, 3), EXIT};
	begin();
	const unsigned code = make_section(&m, "xdp", ELF_PROGBITS, ELF_EXECUTE, three, sizeof three);
	make_symbol(&m, "last", ELF_FUNC, ELF_WEAK, code, 32, 16);
	make_symbol(&m, "hidden", ELF_FUNC, ELF_LOCAL, code, 16, 16);
	make_symbol(&m, "first", ELF_FUNC, ELF_GLOBAL, code, 0, 16);
	make_symbol(&m, "label", ELF_NOTYPE, ELF_GLOBAL, code, 8, 0);
	loads();
	assert_int_equal(made.program_count, 2);
	assert_string_equal(made.programs[0].name, "first");
	assert_string_equal(made.programs[1].name, "last");
	assert_int_equal(made.programs[1].insns[0].imm, 3);

	begin();
	make_code(&m, "tc", "classifier", pass, 2);
	make_code(&m, "fentry/x", "tracer", pass, 2);
	refused("no XDP program: no global function in a section xdp...; sections of code: tc, fentry/x");
	begin();
	refused("sections of code: none");
}

static void functions(void **s)
{
	(void)s;
	static const struct {
		uint64_t at, size;
		const char *reason;
	} wrong[] = {
		{0, 0, "function main: offset or size"},
		{4, 8, "function main: offset or size"},
		{0, 12, "function main: offset or size"},
		{0, 24, "function main ends behind its section"},
		{16, 8, "function main ends behind its section"},
		{UINT64_MAX - 7, 16, "function main ends behind its section"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(wrong); i++) {
		begin();
		const unsigned code = make_section(&m, "xdp", ELF_PROGBITS, ELF_EXECUTE, pass, sizeof pass);
		make_symbol(&m, "main", ELF_FUNC, ELF_GLOBAL, code, wrong[i].at, wrong[i].size);
		refused(wrong[i].reason);
	}
	begin();
	make_symbol(&m, "other", ELF_FUNC, ELF_LOCAL, make_code(&m, "xdp", "main", pass, 2), 8, 8);
	refused("functions main and other overlap");
	begin();
	make_code(&m, "xdp", "main", pass, 2);
	make_code(&m, "xdp/2", "main", pass, 2);
	refused("two programs are called main");
	begin();
	make_code(&m, "xdp", "ma\x1b[n", pass, 2);
	refused("program ma?[n: the name may not have a byte 0x1b");
	for (const char *c = "\"\\</?&%# "; *c; c++) {
		const char name[] = {'a', *c, 0}, section[] = {'x', 'd', 'p', '/', *c, 0};
		begin();
		make_code(&m, "xdp", name, pass, 2);
		refused("the name may not have a byte 0x");
		begin();
		make_code(&m, section, "main", pass, 2);
		if (*c == ' ')
			refused("section xdp/ : the name may not have a byte 0x20");
		else
			loads();
	}
	begin();
	make_code(&m, "xdp", "_Z1.a-9$", pass, 2);
	loads();
	begin();
	make_code(&m, "xdp", "", pass, 2);
	refused("program: the name is empty");
	begin();
	make_code(&m, "xdp", "a23456789a23456789a23456789a23456789a23456789a23456789a23456789a234", pass, 2);
	refused("longer than 63 characters");
	begin();
	make_code(&m, "xdp/a23456789a23456789a23456789a23456789a23456789a23456789a23456789a234", "main", pass,
	          2);
	refused("longer than 63 characters");
}

static void many(void **s)
{
	(void)s;
	for (unsigned n = BPF_OBJECT_PROGRAMS; n <= BPF_OBJECT_PROGRAMS + 1; n++) {
		begin();
		for (unsigned i = 0; i < n; i++) {
			char name[20];
			snprintf(name, sizeof name, "f%u", i);
			make_code(&m, "xdp", name, pass, 2);
		}
		if (n == BPF_OBJECT_PROGRAMS)
			loads();
		else
			refused("more than 64 programs");
	}
	begin();
	make_code(&m, "xdp", "main", pass, 2);
	for (unsigned i = 0; i < 256; i++)
		make_section(&m, "tc", ELF_PROGBITS, ELF_EXECUTE, pass, sizeof pass);
	refused("more than 256 sections of code");
}

/* --- relocations of wide instructions --- */

static const struct bpf_insn wide[] = {WIDE(1, 0, 0), MOV(0, 2), EXIT};

static void one_wide(const struct bpf_insn *insns, unsigned n, uint64_t at, uint32_t type, const char *reason)
{
	begin();
	const unsigned code = make_code(&m, "xdp", "main", insns, n);
	const unsigned data = make_section(&m, ".data", ELF_PROGBITS, 0, NULL, 32);
	make_relocation(&m, code, at, type, make_symbol(&m, "x", ELF_OBJECT, ELF_GLOBAL, data, 8, 4));
	make_expect(&m, reason);
}

static void wides(void **s)
{
	(void)s;
	one_wide(wide, 4, 0, R_BPF_64_64, NULL);
	assert_int_equal(made.programs[0].insns[0].src, BPF_WIDE_VALUE);
	assert_int_equal(made.programs[0].insns[0].imm, 0);
	assert_int_equal(made.programs[0].insns[1].imm, 8);
	one_wide(wide, 4, 0, R_BPF_64_32, "a wide instruction has a relocation of type 10");
	one_wide(wide, 4, 4, R_BPF_64_64, "relocation 0 of section xdp is not at an instruction");
	one_wide(wide, 4, 32, R_BPF_64_64, "relocation 0 of section xdp is not at an instruction");
	one_wide(wide, 4, UINT64_MAX - 7, R_BPF_64_64, "relocation 0 of section xdp is not at an instruction");
	one_wide(wide, 4, 8, R_BPF_64_64, "instruction 0 of function main: the second half of a wide");
	one_wide(wide, 4, 16, R_BPF_64_64,
	         "instruction 2 of function main: a relocation at an instruction that takes none");
	const struct bpf_insn cut[] = {MOV(0, 2), EXIT, wide[0]};
	one_wide(cut, 3, 16, R_BPF_64_64, "instruction 2 of function main: the second half of a wide");
	/* the second half is another function's first instruction */
	const struct bpf_insn shared[] = {wide[0], wide[1], EXIT};
	begin();
	const unsigned code = make_section(&m, "xdp", ELF_PROGBITS, ELF_EXECUTE, shared, sizeof shared);
	make_symbol(&m, "main", ELF_FUNC, ELF_GLOBAL, code, 0, 8);
	make_symbol(&m, "other", ELF_FUNC, ELF_LOCAL, code, 8, 16);
	refused("instruction 0 of function main: the second half of a wide");
	const struct bpf_insn two[] = {wide[0], wide[0], MOV(0, 2), EXIT};
	one_wide(two, 4, 0, R_BPF_64_64, "instruction 0 of function main: the second half of a wide");
	for (int32_t imm = 23; imm <= 24; imm++) {
		const struct bpf_insn far[] = {WIDE(1, 0, imm), EXIT};
		one_wide(far, 3, 0, R_BPF_64_64,
		         imm < 24 ? NULL : "the address of x lies outside of section .data");
	}
	const struct bpf_insn before[] = {WIDE(1, 0, -9), EXIT};
	one_wide(before, 3, 0, R_BPF_64_64, "the address of x lies outside of section .data");
	for (int kind = 1; kind < 16; kind++) {
		const struct bpf_insn forged[] = {WIDE(1, (uint8_t)kind, 0), EXIT};
		begin();
		make_code(&m, "xdp", "main", forged, 3);
		make_section(&m, ".data", ELF_PROGBITS, 0, NULL, 8);
		refused("without a relocation");
	}
}

static void wide_targets(void **s)
{
	(void)s;
	static const struct {
		unsigned section;
		uint8_t bind;
		const char *reason;
	} cases[] = {
		{0, ELF_GLOBAL, "x is not in the object: the kernel's symbols (__ksym) do not exist here"},
		{0, ELF_WEAK, NULL}, {0xfff1, ELF_GLOBAL, "symbol x is in no section"},
		{2, ELF_GLOBAL, "section other is neither maps nor data"},
		{1, ELF_GLOBAL, "the address of a function in xdp"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
		begin();
		const unsigned code = make_code(&m, "xdp", "main", wide, 4);
		make_section(&m, "other", ELF_PROGBITS, 0, NULL, 8);
		make_relocation(&m, code, 0, R_BPF_64_64,
		                make_symbol(&m, "x", 0, cases[i].bind, cases[i].section, 0, 0));
		if (cases[i].reason) {
			refused(cases[i].reason);
			continue;
		}
		loads();
		assert_int_equal(made.programs[0].insns[0].src, BPF_WIDE_NUMBER);
		assert_int_equal(made.programs[0].insns[0].imm, 0);
	}
}

static void tables_of_relocations(void **s)
{
	(void)s;
	begin();
	unsigned code = make_code(&m, "xdp", "main", wide, 4);
	make_relocation(&m, code, 0, R_BPF_64_64, 99);
	refused("relocation 0 of section xdp: symbol 99 does not exist");
	begin();
	code = make_code(&m, "xdp", "main", wide, 4);
	make_relocation(&m, code, 0, R_BPF_64_64, 1);
	make_relocation(&m, code, 0, R_BPF_64_64, 1);
	refused("section xdp: two relocations of one instruction");
	for (unsigned type = ELF_RELA; type <= ELF_REL; type += ELF_REL - ELF_RELA) {
		begin();
		code = make_code(&m, "xdp", "main", wide, 4);
		const unsigned more = make_section(&m, ".more", type, 0, NULL, 0);
		m.sections[more].info = code;
		m.sections[more].entry = 16;
		make_relocation(&m, code, 0, R_BPF_64_64, 1);
		refused("section xdp: relocations with addends, or in two sections");
	}
}

/* --- calls --- */

/* main (xdp) calls a (.text) by name and b (.text) by section and addend; a calls c (xdp, local) by name
 * and b without a relocation; c calls main. Nothing else is copied. */
static void calls(void **s)
{
	(void)s;
	static const struct bpf_insn text[] = {
		MOV(0, 77), EXIT, /* not called */
		MOV(0, 10), CALL(-1), CALL(1), EXIT, /* a */
		MOV(0, 20), EXIT, /* b */
	};
	static const struct bpf_insn xdp[] = {CALL(-1), CALL(5), MOV(0, 1), EXIT, /* main */
	                                      MOV(0, 30), CALL(-6), EXIT /* c */};
	begin();
	const unsigned code = make_section(&m, "xdp", ELF_PROGBITS, ELF_EXECUTE, xdp, sizeof xdp);
	const unsigned functions_at = make_section(&m, ".text", ELF_PROGBITS, ELF_EXECUTE, text, sizeof text);
	make_symbol(&m, "main", ELF_FUNC, ELF_GLOBAL, code, 0, 32);
	const unsigned c = make_symbol(&m, "c", ELF_FUNC, ELF_LOCAL, code, 32, 24);
	make_symbol(&m, "idle", ELF_FUNC, ELF_LOCAL, functions_at, 0, 16);
	const unsigned a = make_symbol(&m, "a", ELF_FUNC, ELF_GLOBAL, functions_at, 16, 32);
	make_symbol(&m, "b", ELF_FUNC, ELF_LOCAL, functions_at, 48, 16);
	make_relocation(&m, code, 0, R_BPF_64_32, a);
	make_relocation(&m, code, 8, R_BPF_64_32,
	                make_symbol(&m, "", ELF_SECTION, ELF_LOCAL, functions_at, 0, 0));
	make_relocation(&m, functions_at, 24, R_BPF_64_32, c);
	loads();
	/* main 0, a 4, c 8, b 11 */
	static const struct bpf_insn want[] = {
		CALL(3), CALL(9),    MOV(0, 1), EXIT, MOV(0, 10), CALL(2), CALL(4),
		EXIT,    MOV(0, 30), CALL(-10), EXIT, MOV(0, 20), EXIT,
	};
	assert_int_equal(made.program_count, 1);
	assert_int_equal(made.programs[0].count, ARRAY_LEN(want));
	assert_memory_equal(made.programs[0].insns, want, sizeof want);
}

static void one_call(struct bpf_insn call, unsigned section, uint64_t value, uint32_t type, const char *reason)
{
	const struct bpf_insn main_insns[] = {call, EXIT};
	begin();
	const unsigned code = make_code(&m, "xdp", "main", main_insns, 2);
	make_code(&m, ".text", "f", pass, 2);
	if (type)
		make_relocation(&m, code, 0, type,
		                make_symbol(&m, "x", ELF_NOTYPE, ELF_WEAK, section, value, 0));
	refused(reason);
}

static void wrong_calls(void **s)
{
	(void)s;
	const struct bpf_insn call = CALL(-1);
	one_call(call, 2, 8, R_BPF_64_32, "the call by x does not lead to the beginning of a function");
	one_call(call, 2, 16, R_BPF_64_32, "does not lead to the beginning");
	one_call(call, 2, 3, R_BPF_64_32, "does not lead to the beginning");
	one_call(call, 2, UINT64_MAX - 7, R_BPF_64_32, "does not lead to the beginning");
	one_call(call, 0xfff1, 0, R_BPF_64_32, "does not lead to the beginning");
	one_call(call, 3, 0, R_BPF_64_32, "does not lead to the beginning");
	one_call(call, 0, 0, R_BPF_64_32, "x is not in the object: the kernel's functions do not exist here");
	one_call(call, 2, 0, R_BPF_64_64, "a call has a relocation of type 1");
	one_call((struct bpf_insn)CALL(0), 0, 0, 0, "instruction 0 of function main: the call does not lead");
	one_call((struct bpf_insn)CALL(INT32_MAX), 0, 0, 0, "the call does not lead");
	one_call((struct bpf_insn)CALL(INT32_MIN), 0, 0, 0, "the call does not lead");
	struct bpf_insn other = call;
	for (unsigned kind = 2; kind < 16; kind++) {
		other.src = kind & 15;
		one_call(other, 0, 0, 0, "the kernel's functions do not exist here");
	}
	other.src = BPF_CALL_HELPER;
	one_call(other, 2, 0, R_BPF_64_32, "a relocation at an instruction that takes none");
}

/* A chain of n functions, each of `each` instructions, of which the first calls the next. */
static void chain_of(unsigned n, unsigned each)
{
	struct bpf_insn *insns = calloc((size_t)n * each, sizeof *insns);
	begin();
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < each; k++)
			insns[i * each + k] = pass[k == each - 1];
		if (i + 1 < n)
			insns[i * each] = (struct bpf_insn)CALL((int)each - 1);
	}
	const unsigned code = make_section(&m, "xdp", ELF_PROGBITS, ELF_EXECUTE, insns, n * each * 8);
	for (unsigned i = 0; i < n; i++) {
		char name[20];
		snprintf(name, sizeof name, "f%u", i);
		make_symbol(&m, name, ELF_FUNC, i ? ELF_LOCAL : ELF_GLOBAL, code, (uint64_t)i * each * 8,
		            (uint64_t)each * 8);
	}
	free(insns);
}

static void limits(void **s)
{
	(void)s;
	chain_of(BPF_FUNCTIONS_MAX, 2);
	loads();
	assert_int_equal(made.programs[0].count, 2 * BPF_FUNCTIONS_MAX);
	chain_of(BPF_FUNCTIONS_MAX + 1, 2);
	refused("program f0 has more than 256 functions");
	chain_of(2, BPF_INSNS_MAX / 2);
	loads();
	chain_of(2, BPF_INSNS_MAX / 2 + 1);
	refused("program f0 has more than 65536 instructions");
}

/* Each amount of memory is enough or refused; there is no other end. */
static void memory(void **s)
{
	(void)s;
	chain_of(8, 3);
	make_file(&m);
	bool enough = false;
	for (size_t room = 0; room < 30000; room += 16) {
		const bool ok = make_load_in(m.file, m.bytes, room);
		assert_true(ok || !enough);
		assert_true(ok || strstr(made_why.text, "no memory"));
		enough = ok;
	}
	assert_true(enough);
	make_end(&m);
}

static void license(void **s)
{
	(void)s;
	char text[70];
	for (unsigned n = 62; n <= 65; n++) {
		begin();
		make_code(&m, "xdp", "main", pass, 2);
		memset(text, 'L', sizeof text);
		text[n] = 0;
		make_section(&m, "license", ELF_PROGBITS, 0, text, n + 1);
		if (n < BPF_NAME)
			loads();
		else
			refused("section license: longer than 63 characters");
	}
	begin();
	make_code(&m, "xdp", "main", pass, 2);
	make_section(&m, "license", ELF_PROGBITS, 0, "Dual BSD/GPL", 12); /* without an end */
	loads();
	assert_string_equal(made.license, "Dual BSD/GPL");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smallest),
		cmocka_unit_test(header),
		cmocka_unit_test(sections),
		cmocka_unit_test(programs),
		cmocka_unit_test(functions),
		cmocka_unit_test(many),
		cmocka_unit_test(wides),
		cmocka_unit_test(wide_targets),
		cmocka_unit_test(tables_of_relocations),
		cmocka_unit_test(calls),
		cmocka_unit_test(wrong_calls),
		cmocka_unit_test(limits),
		cmocka_unit_test(memory),
		cmocka_unit_test(license),
	};
	return cmocka_run_group_tests_name("bpf_elf", tests, NULL, NULL);
}
