/* kernel/smp: which cores are started, in which order, and cores that do not start. */
#include "tests/unit/rig/host.h"

#include "hal/clock.h"
#include "kernel/vm.h"

static uint8_t low[4096]; /* the page in which cores start */
static void *host_phys(uint64_t phys)
{
	assert_int_equal(phys, 0x8000);
	return low;
}
static uint64_t model_tsc(void);
#define vm_phys host_phys
#define clock_tsc model_tsc
#include "kernel/smp.c"

#define SELF 7 /* APIC ID */

/* one behind the other, as in boot/ap.asm */
__asm__(".pushsection .rodata\n"
        ".globl ap_trampoline, ap_trampoline_end\n"
        "ap_trampoline: .byte 0xfa, 0xfc\n"
        "ap_trampoline_end:\n"
        ".popsection");
volatile uint32_t ap_ticket;
struct core cores[CORES_MAX];
static struct boot_info info;
struct boot_info *boot_info = &info;
static struct acpi acpi;
static bool x2apic;
static uint64_t now;
static uint32_t inits[CORES_MAX], sipis[CORES_MAX]; /* APIC IDs, in order */
static unsigned init_count, sipi_count;
static uint32_t dead, late; /* APIC IDs of cores that do not start, or only when others have; 0: none */
static bool late_waits;
static uint64_t page; /* vm_low_page */
static char said[300];

static uint64_t model_tsc(void) { return now += 1000; }
uint64_t tsc_hz(void) { return 1000000000; }
void tsc_wait_us(uint64_t us) { now += us * 1000; }
uint32_t apic_id(void) { return SELF; }
bool apic_is_x2apic(void) { return x2apic; }
uint64_t vm_low_page(void) { return page; }
void vm_map_stack(unsigned core) { assert_in_range(core, 1, CORES_MAX - 1); }
void apic_send_init(uint32_t id)
{
	assert_int_equal(sipi_count, 0); /* all INITs, then 10 ms */
	inits[init_count++] = id;
}

static void takes_a_ticket(void) { ap_tsc[ap_ticket++] = model_tsc(); }

void apic_send_sipi(uint32_t id, uint64_t at)
{
	assert_int_equal(at, 0x8000);
	assert_memory_equal(low, ap_trampoline, 2);
	sipis[sipi_count++] = id;
	if (late_waits && id != dead)
		takes_a_ticket();
	late_waits = id == late;
	if (id != dead && id != late)
		takes_a_ticket();
}

void console_print(const char *format, ...)
{
	const size_t at = strlen(said);
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(said + at, sizeof said - at, format, args);
	__builtin_va_end(args);
}

/* Not called by any test here. */
void apic_send_nmi(uint32_t id) { (void)id; }
struct core *core_self(void) { return &cores[0]; }
void core_setup(struct core *c) { (void)c; }
_Noreturn void program_run(struct core *c) { (void)c; abort(); }

static unsigned start(unsigned count, const uint32_t *ids, unsigned limit)
{
	acpi = (struct acpi){.cores = count};
	memcpy(acpi.apic_ids, ids, count * sizeof *ids);
	init_count = sipi_count = 0;
	late_waits = false;
	said[0] = '\0';
	memset((void *)ap_tsc, 0, sizeof ap_tsc);
	return smp_start(&acpi, limit);
}

static int setup(void **s)
{
	(void)s;
	x2apic = true;
	dead = late = 0;
	page = 0x8000;
	return 0;
}

#define IDS(...) (sizeof (uint32_t[]){__VA_ARGS__} / 4), (const uint32_t[]){__VA_ARGS__}

static void started(unsigned count, const uint32_t *ids)
{
	assert_true(init_count == count && sipi_count == count);
	assert_memory_equal(inits, ids, count * sizeof *ids);
	assert_memory_equal(sipis, ids, count * sizeof *ids);
}

/* In ACPI's order, those with short IDs first. */
static void order(void **s)
{
	(void)s;
	assert_int_equal(start(IDS(7, 2, 300, 254, 255, 4), CORES_MAX), 6);
	started(IDS(2, 254, 4, 300, 255));
	assert_string_equal(said, "");
	assert_int_equal(start(IDS(300, 2, 7, 4), 3), 3); /* cores=3 */
	started(IDS(2, 4));
	assert_int_equal(start(IDS(7, 2), 1), 1);
	assert_int_equal(init_count, 0);
	assert_int_equal(start(IDS(7, 2), 0), 1);
	assert_int_equal(start(IDS(7), CORES_MAX), 1);
	assert_int_equal(init_count, 0);
	for (unsigned i = 1; i < 3; i++)
		assert_int_equal(ap_stacks[i], STACK_BASE + i * STACK_SLOT + STACK_TRAP_TOP);
}

/* Without x2APIC no message reaches IDs above 254. */
static void short_ids_only(void **s)
{
	(void)s;
	x2apic = false;
	assert_int_equal(start(IDS(7, 255, 2, 256), CORES_MAX), 2);
	started(IDS(2));
	assert_string_equal(said, "smp: 2 of 4 cores are not used: their APIC IDs are above 254, and the CPU has no x2APIC\n");
}

/* A core that does not start is reported. The remaining ones are then started at once; their numbers have no gap. */
static void does_not_start(void **s)
{
	(void)s;
	dead = 2;
	const uint64_t began = now;
	assert_int_equal(start(IDS(7, 1, 2, 3, 4), CORES_MAX), 4);
	started(IDS(1, 2, 3, 4));
	assert_string_equal(said, "smp: 1 of 5 cores did not start\n");
	assert_true(now - began < 3 * AP_START_US * 1000ull); /* one wait for it when it is its turn, one at the end */
	setup(NULL);
	late = 2; /* it comes after the others have been sent for */
	assert_int_equal(start(IDS(7, 1, 2, 3, 4), CORES_MAX), 5);
	assert_string_equal(said, "");
}

static void no_low_page(void **s)
{
	(void)s;
	page = 0;
	assert_int_equal(start(IDS(7, 1), CORES_MAX), 1);
	assert_int_equal(init_count, 0);
	assert_string_equal(said, "smp: 1 of 2 cores are not used: no memory below 640 KiB is free for their start\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(order, setup),
		cmocka_unit_test_setup(short_ids_only, setup),
		cmocka_unit_test_setup(does_not_start, setup),
		cmocka_unit_test_setup(no_low_page, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
