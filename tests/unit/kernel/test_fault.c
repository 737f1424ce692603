/*
 * kernel/fault with kernel/crash: what a report says and who prints it, and which failures restart a core, stop it, or
 * end the machine.
 */
#include "tests/unit/rig/host.h"

#include "hal/clock.h"
#include "kernel/cpu.h"

static uint64_t ticks, bad_address;
static uint64_t model_tsc(void) { return ticks; }
static uint64_t host_cr2(void) { return bad_address; }
_Noreturn static void host_halt(void);
#define clock_tsc model_tsc
#define cr2_read host_cr2
#define cpu_halt_forever host_halt
#include "kernel/crash.c"
#include "kernel/fault.c"

#define SECOND 1000ull
#define MEMORY 0x500000u /* what the program may read */
#define CURRENT_AT 0x800u
#define STACK_AT 0x900u

enum end { RESTARTED = 1, HALTED, FAILED };

struct core cores[CORES_MAX];
static struct boot_info info;
struct boot_info *boot_info = &info;
const char kernel_build_id[] = "0123abcd";
static unsigned current;
static jmp_buf out;
static unsigned wakes, seized, failed_with;
static char printed[3 * CRASH_TEXT_MAX];
static size_t printed_bytes;
static uint8_t memory[0x1000];

struct core *core_self(void) { return &cores[current]; }
bool core_has_stack(void) { return true; }
uint64_t tsc_hz(void) { return SECOND; }
void apic_send(uint32_t id, enum vector vector)
{
	assert_true(id == cores[0].apic_id && vector == VECTOR_WAKE);
	wakes++;
}
void machine_seize(void) { seized++; }
_Noreturn void machine_fail(unsigned code)
{
	failed_with = code;
	longjmp(out, FAILED);
}
_Noreturn static void host_halt(void) { longjmp(out, HALTED); }
_Noreturn void program_run(struct core *c)
{
	assert_ptr_equal(c, &cores[current]);
	assert_int_equal(info.status[current].state, CORE_FAILED); /* until it runs */
	info.status[current].state = CORE_RUNNING;
	longjmp(out, RESTARTED);
}
void console_print_whole(const char *text, size_t bytes)
{
	assert_true(printed_bytes + bytes < sizeof printed);
	memcpy(printed + printed_bytes, text, bytes);
	printed[printed_bytes += bytes] = '\0';
}
void console_print(const char *format, ...)
{
	char text[300];
	fmt_va_list args;
	__builtin_va_start(args, format);
	console_print_whole(text, fmt_vformat(text, sizeof text, format, args));
	__builtin_va_end(args);
}
void keep_add(const char *text, size_t bytes) { (void)text, (void)bytes; }
void mce_note(void) {}
void mce_say(void (*to)(const char *format, ...)) { (void)to; }
void coredump_copy(vm_space_t space, struct crash *to) { (void)space, (void)to; }
uint64_t program_symbol(const char *name) { return strcmp(name, "core_current") == 0 ? MEMORY + CURRENT_AT : 0; }

/* The control core is told of the failure before the report is written. */
const char *function_of(uint64_t addr, bool returns, uint64_t *offset)
{
	assert_int_equal(info.status[current].state, CORE_FAILED);
	assert_true(info.status[current].failed_tsc == ticks && wakes == (current != 0));
	*offset = addr & 0xff;
	return addr >> 8 == 0x4011 ? returns ? "caller" : "function" : NULL;
}
bool vm_copy_from_user(vm_space_t space, void *dst, uint64_t virt, size_t bytes)
{
	(void)space;
	if (virt < MEMORY || virt - MEMORY > sizeof memory || bytes > sizeof memory - (virt - MEMORY))
		return false;
	memcpy(dst, memory + (virt - MEMORY), bytes);
	return true;
}

static struct trap_frame frame;

static int setup(void **s)
{
	(void)s;
	info = (struct boot_info){.cores = 3, .config_hash = 0x77};
	memset(memory, 0, sizeof memory);
	begun = 0;
	memset(writing, 0, sizeof writing);
	for (unsigned i = 0; i < 3; i++) {
		cores[i] = (struct core){.id = i, .apic_id = 40 + i};
		info.core[i].roles = i == 0 ? CORE_CONTROL : CORE_DATA;
		info.status[i].state = CORE_RUNNING;
	}
	ticks = 1000 * SECOND;
	frame = (struct trap_frame){.vector = 13, .cs = SEG_USER_CODE, .rip = 0x401110, .rbp = MEMORY + STACK_AT};
	return 0;
}

static enum end fault(unsigned core, const char *what)
{
	current = core;
	wakes = seized = failed_with = 0;
	printed[printed_bytes = 0] = '\0';
	const int end = setjmp(out);
	if (end == 0)
		fault_in_program(&frame, what);
	assert_null(cores[core].crash);
	return (enum end)end;
}

/* More than five in ten seconds, counted from the first. */
static void too_often(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 5; i++, ticks += 2 * SECOND)
		assert_int_equal(fault(1, NULL), RESTARTED);
	assert_int_equal(info.status[1].faults, 5);
	assert_int_equal(fault(2, NULL), RESTARTED); /* another core has a count of its own */
	assert_int_equal(fault(1, NULL), HALTED); /* ten seconds after the first */
	assert_int_equal(info.status[1].state, CORE_DEAD);
	assert_true(info.status[1].faults == 6 && wakes >= 2);
	setup(NULL);
	for (unsigned i = 0; i < 5; i++, ticks += 2 * SECOND)
		assert_int_equal(fault(1, NULL), RESTARTED);
	ticks++;
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(fault(1, NULL), RESTARTED); /* the next ten seconds */
	assert_int_equal(fault(1, NULL), HALTED);
	setup(NULL);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(fault(0, NULL), RESTARTED);
	assert_int_equal(fault(0, NULL), FAILED); /* no machine without a control core */
	assert_true(failed_with == EXIT_FAULT_LOOP && seized == 1);
	assert_non_null(strstr(printed, "*** core 0: more than 5 faults in 10 s, stopped\n"));
	assert_non_null(strstr(printed, "*** core 0, the control core, has failed too often\n"));
}

/* The kernel prints the control core's report; the control core prints those of the others, and is woken for it. */
static void who_prints(void **s)
{
	(void)s;
	assert_int_equal(fault(0, "stuck"), RESTARTED);
	assert_non_null(strstr(printed, "*** stuck on core 0 in the core program\n"));
	assert_true(info.crash[0].number == 1 && info.crash[0].core == 0 && wakes == 0);
	assert_int_equal(fault(1, "stuck"), RESTARTED);
	assert_string_equal(printed, "");
	assert_int_equal(wakes, 2); /* at its failure, and for its report */
	assert_true(info.crash[1].number == 2 && info.crash[1].core == 1 && info.crash[1].tsc == ticks);
	writing[2] = true; /* another core is writing where this report would go: it is printed at once */
	assert_int_equal(fault(2, "stuck"), RESTARTED);
	assert_non_null(strstr(printed, "*** stuck on core 2 in the core program\n"));
	assert_non_null(strstr(printed, "*** core 2: program restarted\n"));
}

static void put(uint32_t at, uint64_t v) { memcpy(memory + at, &v, 8); }

static const char *text(void)
{
	static char copy[CRASH_TEXT_MAX + 1];
	memcpy(copy, info.crash[0].text, info.crash[0].bytes);
	copy[info.crash[0].bytes] = '\0';
	return copy;
}

static void what_it_says(void **s)
{
	static const struct {
		uint64_t error;
		const char *text;
	} row[] = {{4, "  read at 0000000000000123: no page is there\n"},
	           {7, "  write at 0000000000000123: the page does not allow it\n"},
	           {0x15, "  execute at 0000000000000123: the page does not allow it\n"}};
	const struct core_current packet = {MEMORY, 18, 4, 3};
	(void)s;
	bad_address = 0x123;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		setup(NULL);
		memcpy(memory + CURRENT_AT, &packet, sizeof packet);
		for (unsigned b = 0; b < 18; b++)
			memory[b] = (uint8_t)b;
		put(STACK_AT, MEMORY + STACK_AT + 32); /* the caller's frame, and where it goes on */
		put(STACK_AT + 8, 0x401120);
		put(STACK_AT + 32, MEMORY + STACK_AT); /* a frame below: the backtrace ends */
		put(STACK_AT + 40, CODE_WINDOW + 0x10);
		frame.vector = 14;
		frame.error = row[i].error;
		frame.rax = 0xfeed;
		assert_int_equal(fault(1, NULL), RESTARTED);
		assert_non_null(strstr(text(), "*** page fault on core 1 in the core program (vector 14, error "));
		assert_non_null(strstr(text(), row[i].text));
		assert_non_null(strstr(text(), "  build 0123abcd\n  configuration 0000000000000077\n"));
		assert_non_null(strstr(text(), "  rax 000000000000feed"));
		assert_non_null(strstr(text(), "  backtrace\n    0000000000401110  function+0x10\n    0000000000401120  caller+0x20\n"
		                               "    0000000070000010\n  current packet: port 3, 18 bytes, one of a vector of 4\n"
		                               "    00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f\n    10 11\n"
		                               "*** core 1: program restarted\n"));
		assert_int_equal(info.crash[0].code, CODE_WINDOW + 0xf); /* the call, not what is behind it */
	}
	setup(NULL);
	frame.vector = TRAP_BREAKPOINT; /* a call to the kernel: rip is behind it */
	frame.rbp = 0;
	assert_int_equal(fault(1, "assertion failed"), RESTARTED);
	assert_non_null(strstr(text(), "*** assertion failed on core 1 in the core program\n"));
	assert_non_null(strstr(text(), "    000000000040110f  function+0xf\n"));
	assert_null(strstr(text(), "current packet"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(too_often, setup),
		cmocka_unit_test_setup(who_prints, setup),
		cmocka_unit_test_setup(what_it_says, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
