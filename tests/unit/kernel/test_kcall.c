/* kernel/kcall: which core may have whose program restarted, and when. */
#include "tests/unit/rig/host.h"

#include "kernel/cpu.h"
static void host_wait(void);
#define cpu_wait_for_interrupt host_wait
#include "kernel/kcall.c"

#define HZ 1000ull
#define CORES 3

uint64_t host_tsc;
struct core cores[CORES_MAX];
static struct boot_info info;
struct boot_info *boot_info = &info;
static unsigned caller, nmis;
static uint32_t nmi_to; /* APIC ID */

struct core *core_self(void) { return &cores[caller]; }

void apic_send_nmi(uint32_t id)
{
	nmis++;
	nmi_to = id;
}

static unsigned wakes;
static uint32_t wake_to; /* APIC ID */
void apic_send(uint32_t id, enum vector vector)
{
	assert_int_equal(vector, VECTOR_WAKE);
	wakes++;
	wake_to = id;
}

static uint64_t sleeps_until; /* the deadline of the last sleep */
static unsigned sleeps;
static bool takes_wakes, polled;
void apic_deadline(uint64_t tsc) { sleeps_until = tsc; }
void apic_take_wakes(bool take) { takes_wakes = take; }
static void host_wait(void)
{
	assert_true(takes_wakes && info.sleep[caller].asleep);
	sleeps++;
}
void watchdog_resume(struct core *c)
{
	assert_true(!takes_wakes && c == &cores[caller]);
}

/* Not called by any test here. */
int64_t pci_errors_look(void) { return 3; }
bool console_is_polled(void) { return polled; }
int console_read(void) { return E_AGAIN; }
void console_write(const char *text, size_t bytes) { (void)text, (void)bytes; }
int64_t iommu_look(void) { return 0; }
int64_t iommu_reserve(unsigned core, uint64_t device, uint64_t window, uint64_t bytes)
{
	(void)device, (void)window, (void)bytes;
	return (int64_t)core;
}
int64_t iommu_test(uint64_t device, uint64_t region) { return (int64_t)(device + region); }
int64_t selftest_panic(uint64_t kind) { return (int64_t)kind; }
int regions_add(uint64_t at, uint64_t bytes, uint64_t kind) { (void)bytes, (void)kind; return at ? E_OK : E_NOMEM; }
int regions_code_write(const struct core *c, uint64_t offset, uint64_t from, uint64_t bytes)
{
	(void)from, (void)bytes;
	assert_ptr_equal(c, &cores[0]);
	return offset ? E_OK : E_NOMEM;
}
int lend_serve(uint64_t to, uint64_t owner_bytes, uint64_t at) { return to && owner_bytes && at ? E_OK : E_INVAL; }
int partition_share(uint64_t bytes) { return bytes ? E_OK : E_INVAL; }
_Noreturn void machine_exit(unsigned code) { (void)code; abort(); }
_Noreturn void machine_reboot(void) { abort(); }
_Noreturn void program_run(struct core *c) { (void)c; abort(); }
_Noreturn void fault_in_program(struct trap_frame *f, const char *what)
{
	(void)f, (void)what;
	abort();
}

const char *program_function(uint64_t addr, uint64_t *offset)
{
	(void)addr, (void)offset;
	return NULL;
}

bool vm_copy_from_user(vm_space_t space, void *dst, uint64_t virt, size_t bytes)
{
	(void)space, (void)dst, (void)virt, (void)bytes;
	return false;
}

int64_t pci_config_read(uint64_t index, uint64_t offset, uint64_t size)
{
	(void)index, (void)offset, (void)size;
	return E_INVAL;
}

int64_t pci_config_write(uint64_t index, uint64_t offset, uint64_t size, uint32_t value)
{
	(void)index, (void)offset, (void)size, (void)value;
	return E_INVAL;
}

int64_t intr_route(uint64_t index, uint64_t entry, uint32_t apic_id)
{
	return (int64_t)(index << 16 | entry << 8 | apic_id);
}

/* Core 0 has the control role, the others are data cores; all have called just now. */
static int setup(void **s)
{
	(void)s;
	host_tsc = 1000 * HZ;
	info = (struct boot_info){.cores = CORES, .tsc_hz = HZ};
	nmis = 0;
	for (unsigned i = 0; i < CORES; i++) {
		cores[i] = (struct core){.id = i, .apic_id = 40 + i, .called_tsc = host_tsc};
		info.core[i].roles = i == 0 ? CORE_CONTROL : CORE_DATA;
		info.status[i].state = CORE_RUNNING;
	}
	return 0;
}

static int64_t call3(unsigned by, enum kcall number, uint64_t a, uint64_t b, uint64_t c)
{
	struct trap_frame f = {.rax = number, .rdi = a, .rsi = b, .rdx = c};
	caller = by;
	kcall_serve(&f);
	return (int64_t)f.rax;
}

static int64_t call(unsigned by, enum kcall number, uint64_t arg) { return call3(by, number, arg, 0, 0); }

/* A data core's claim that core 0 is stuck is refused until core 0 has been silent long enough. */
static void silence_of_core_0(void **s)
{
	(void)s;
	host_tsc += SILENT_S * HZ - 1;
	assert_int_equal(call(1, KCALL_RESTART, 0), E_AGAIN);
	assert_int_equal(nmis, 0);
	assert_false(cores[0].restart_asked);
	host_tsc += 1;
	assert_int_equal(call(1, KCALL_RESTART, 0), E_OK);
	assert_int_equal(nmis, 1);
	assert_int_equal(nmi_to, 40);
	assert_true(cores[0].restart_asked);
}

/* Any call, even an invalid one, shows that the core runs. */
static void a_call_ends_the_silence(void **s)
{
	(void)s;
	host_tsc += SILENT_S * HZ;
	assert_int_equal(call(0, (enum kcall)12345, 0), E_INVAL);
	assert_int_equal(call(1, KCALL_RESTART, 0), E_AGAIN);
	assert_int_equal(nmis, 0);
}

/* A halted core does not call, and is not stuck. */
static void asleep_is_not_silent(void **s)
{
	(void)s;
	host_tsc += 100 * SILENT_S * HZ;
	info.sleep[0].asleep = 1;
	assert_int_equal(call(1, KCALL_RESTART, 0), E_AGAIN);
	info.sleep[0].asleep = 0;
	info.status[0].state = CORE_DEAD;
	assert_int_equal(call(1, KCALL_RESTART, 0), E_AGAIN);
	assert_int_equal(nmis, 0);
}

static void data_core_asks_for_no_other(void **s)
{
	(void)s;
	host_tsc += SILENT_S * HZ;
	assert_int_equal(call(1, KCALL_RESTART, 2), E_INVAL);
	assert_int_equal(call(1, KCALL_RESTART, 1), E_INVAL);
	assert_int_equal(call(1, KCALL_RESTART, CORES), E_INVAL);
	assert_int_equal(nmis, 0);
}

/* The control core's request is obeyed at once, for any existing core. */
static void control_core_asks(void **s)
{
	(void)s;
	assert_int_equal(call(0, KCALL_RESTART, 2), E_OK);
	assert_int_equal(nmis, 1);
	assert_int_equal(nmi_to, 42);
	assert_true(cores[2].restart_asked && !cores[1].restart_asked);
	assert_int_equal(call(0, KCALL_RESTART, CORES), E_INVAL);
	assert_int_equal(call(0, KCALL_RESTART, UINT64_MAX), E_INVAL);
	assert_int_equal(nmis, 1);
}

/* Calls reserved for the control core are refused to others. */
static void roles(void **s)
{
	(void)s;
	assert_int_equal(call(1, KCALL_SHARE, 1), E_INVAL);
	assert_int_equal(call(1, KCALL_DMA_LOOK, 0), E_INVAL);
	assert_int_equal(call(1, KCALL_PCI_ERRORS, 0), E_INVAL);
	assert_int_equal(call(0, KCALL_PCI_ERRORS, 0), 3);
	assert_int_equal(call(1, KCALL_CONFIG_HASH, 7), E_INVAL);
	assert_int_equal(info.config_hash, 0);
	assert_int_equal(call(1, KCALL_REGION, 1), E_INVAL);
	assert_int_equal(call(1, KCALL_CODE_WRITE, 1), E_INVAL);
	assert_int_equal(call3(1, KCALL_LEND, 1, 2, 3), E_INVAL);
	assert_int_equal(call3(0, KCALL_LEND, 1, 2, 3), E_OK);
	assert_int_equal(call(0, KCALL_REGION, 1), E_OK);
	assert_int_equal(call(0, KCALL_CODE_WRITE, 1), E_OK);
	assert_int_equal(call(0, KCALL_SHARE, 1), E_OK);
	assert_int_equal(call(0, KCALL_DMA_LOOK, 0), E_OK);
	assert_int_equal(call(0, KCALL_CONFIG_HASH, 7), E_OK);
	assert_int_equal(info.config_hash, 7);
}

/* Cores are numbers of the program, which the kernel turns into APIC IDs; others than those in use do not exist. */
static void cores_by_number(void **s)
{
	(void)s;
	wakes = 0;
	assert_int_equal(call(1, KCALL_WAKE, 2), E_OK);
	assert_true(wakes == 1 && wake_to == 42);
	assert_int_equal(call(1, KCALL_WAKE, CORES), E_INVAL);
	assert_int_equal(call(1, KCALL_WAKE, UINT64_MAX), E_INVAL);
	assert_int_equal(wakes, 1);
	assert_int_equal(call3(1, KCALL_MSIX_ROUTE, 5, 6, 2), 5 << 16 | 6 << 8 | 42);
	assert_int_equal(call3(1, KCALL_MSIX_ROUTE, 5, 6, CORES), E_INVAL);
	assert_int_equal(call3(1, KCALL_MSIX_ROUTE, 5, 6, UINT64_MAX), E_INVAL);
}

/* A core sleeps until its deadline; core 0 looks for keys in between if no interrupt tells it of them. */
static void sleeping(void **s)
{
	static const struct {
		unsigned core;
		bool polled;
		uint64_t until, deadline; /* ticks from now; 0: none */
	} row[] = {{1, true, 500, 500}, {1, true, 0, 0}, {0, false, 500, 500}, {0, false, 0, 0}, {0, true, 500, 20},
	           {0, true, 0, 20}, {0, true, 7, 7}};
	(void)s;
	sleeps = 0;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		polled = row[i].polled;
		assert_int_equal(call(row[i].core, KCALL_SLEEP, row[i].until ? host_tsc + row[i].until : 0), E_OK);
		assert_int_equal(sleeps_until, row[i].deadline ? host_tsc + row[i].deadline : 0);
		assert_int_equal(info.sleep[row[i].core].asleep, 0);
	}
	assert_int_equal(sleeps, ARRAY_LEN(row));
	assert_int_equal(call(1, KCALL_SLEEP, host_tsc), E_OK); /* it has passed */
	assert_int_equal(sleeps, ARRAY_LEN(row));
	polled = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(sleeping, setup),
		cmocka_unit_test_setup(cores_by_number, setup),
		cmocka_unit_test_setup(silence_of_core_0, setup),
		cmocka_unit_test_setup(a_call_ends_the_silence, setup),
		cmocka_unit_test_setup(asleep_is_not_silent, setup),
		cmocka_unit_test_setup(data_core_asks_for_no_other, setup),
		cmocka_unit_test_setup(control_core_asks, setup),
		cmocka_unit_test_setup(roles, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
