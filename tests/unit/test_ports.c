/*
 * core/ports.c, the life of the ports, with data cores that answer when the test lets them and a
 * device that only says whether it runs: what is asked of whom and when, and when the application
 * is told.
 */
#include "tests/unit/host.h"

#include "core/outbox.h"
#include "drivers/nic.h"

#define DATA_CORES 3
#define RESTARTS 20

struct core_self self;

static struct world {
	struct boot_info info;
	struct app app;
	bool runs;           /* the device */
	unsigned starts, told; /* calls of nic_ops.start, and of the hook `ports` */
} w;

/* --- what the rest of core/ has --- */

static void build_tables(void) {}

static void ports_told(void)
{
	w.told++;
}

static void link_told(unsigned port, const struct nic_link *link)
{
	(void)port, (void)link;
}

static const struct control_hooks hooks = {
	.start = build_tables, .ports = ports_told, .link = link_told};

const struct app *core_app(void) { return &w.app; }
void app_choose(void) {}
void core_log(const char *format, ...) { (void)format; }
void core_wake(unsigned core) { assert_in_range(core, 1, DATA_CORES); }
void ring_punt_skip(unsigned d) { assert_in_range(d, 0, DATA_CORES - 1); }
uint64_t ring_deficit(unsigned core) { return core - core; }
uint64_t core_option_number(const char *name, uint64_t otherwise) { return name ? otherwise : 0; }

bool core_option(const char *name, char *out, size_t size)
{
	(void)name, (void)out, (void)size;
	return false;
}

void *core_private_alloc(size_t bytes)
{
	static uint8_t memory[NIC_DMA_BYTES];
	return bytes <= sizeof memory ? memory : NULL;
}

uint64_t host_tsc;

/* --- the driver --- */

static bool match(const struct pci_dev *dev) { return dev->vendor != PCI_VENDOR_NONE; }
static size_t ring_bytes(const struct nic *nic) { return nic ? 100 : 0; }
static void stop(struct nic *nic) { w.runs = nic == NULL; }
static void link(struct nic *nic, struct nic_link *out) { out->up = nic != NULL; }

static int probe(struct nic *nic, const struct pci_dev *dev)
{
	assert_ptr_equal(nic->pci, dev);
	nic->pairs_max = DATA_CORES;
	return E_OK;
}

static int start(struct nic *nic, const struct nic_config *config, struct nic_shared *shared)
{
	assert_non_null(nic);
	shared->pairs = (uint8_t)config->pairs;
	w.runs = true;
	w.starts++;
	return E_OK;
}

static const struct nic_ops ops = {.name = "test", .match = match, .probe = probe,
                                   .ring_bytes = ring_bytes, .start = start, .stop = stop,
                                   .link = link};
const struct nic_ops *const nic_drivers[] = {&ops};
const unsigned nic_driver_count = 1;

/* --- data cores --- */

/* Data core d has done what it was asked. */
static void answer(unsigned d)
{
	struct outbox *o = outbox_of(data_core(d));
	if (snapshot_header()->phase == PORTS_STOPPED)
		o->restarted = 0;
	o->epoch = snapshot_header()->epoch;
}

static void all_answer(void)
{
	for (unsigned d = 0; d < DATA_CORES; d++)
		answer(d);
	ports_turn();
}

static enum ports_phase asked(void)
{
	return (enum ports_phase)snapshot_header()->phase;
}

/* A machine whose ports have been asked to attach, and no data core has done it. */
static int begin(void **state)
{
	(void)state;
	w = (struct world){.info = {.cores = DATA_CORES + 1, .data_cores = DATA_CORES,
	                            .first_data_core = 1, .tsc_hz = 1000000000, .pci_count = 1},
	                   .app = {.control = &hooks}};
	w.info.pci[0] = (struct pci_dev){.vendor = 0x1234};
	self = (struct core_self){.info = &w.info};
	static _Alignas(64) uint8_t snapshot[SNAPSHOT_HEADER];
	static _Alignas(64) struct outbox outbox[DATA_CORES + 1];
	memset(snapshot, 0, sizeof snapshot);
	memset(outbox, 0, sizeof outbox);
	w.info.snapshot = (uintptr_t)snapshot;
	for (unsigned c = 0; c <= DATA_CORES; c++)
		w.info.core[c].outbox = (uintptr_t)&outbox[c];
	ports_init();
	assert_int_equal(asked(), PORTS_STOPPED);
	all_answer();
	assert_int_equal(asked(), PORTS_PREPARE);
	assert_false(w.runs);
	all_answer();
	assert_int_equal(asked(), PORTS_RUNNING);
	assert_true(w.runs);
	assert_int_equal(w.told, 0);
	return 0;
}

/* --- the tests --- */

/* Who hears that the ports run may send: no frame is to find a queue without buffers. */
static void told_when_all_poll(void **s)
{
	(void)s;
	for (unsigned d = 0; d < DATA_CORES; d++) {
		ports_turn();
		assert_int_equal(w.told, 0);
		assert_false(core_ports_running());
		assert_false(ports_let_go());
		assert_int_equal(ports_deadline(), self.now_tsc); /* and nobody sleeps meanwhile */
		answer(d);
	}
	ports_turn();
	assert_int_equal(w.told, 1);
	assert_true(core_ports_running());
}

/* The dead answer nothing; one that dies while it attaches gives its pair to the living. */
static void one_dies_meanwhile(void **s)
{
	(void)s;
	unsigned dead = data_core(1);
	answer(0);
	w.info.status[dead].state = CORE_DEAD;
	ports_turn();
	assert_int_equal(asked(), PORTS_STOPPED);
	for (unsigned phase = 0; phase < 3; phase++) {
		answer(0);
		answer(2);
		ports_turn();
	}
	assert_int_equal(w.told, 1);
	assert_true(core_ports_running());
	assert_int_equal(snapshot_header()->pairs, DATA_CORES - 1);
	assert_int_equal(snapshot_header()->pair_of[1], NO_PAIR);
}

/* A data core that came up anew, while it attached or later, has lost its buffers. */
static void one_comes_anew(void **s)
{
	(void)s;
	for (unsigned i = 0; i < RESTARTS; i++) {
		for (unsigned d = 0; d < i % (DATA_CORES + 1); d++)
			answer(d);
		ports_turn();
		outbox_of(data_core(i % DATA_CORES))->restarted = 1;
		ports_turn();
		assert_int_equal(asked(), PORTS_STOPPED);
		assert_false(core_ports_running());
		all_answer();
		assert_false(w.runs);
		all_answer();
		assert_true(w.runs);
		assert_int_equal(asked(), PORTS_RUNNING);
	}
	all_answer();
	assert_true(core_ports_running());
	assert_int_equal(w.starts, RESTARTS + 1);
	assert_int_equal(w.told, RESTARTS / (DATA_CORES + 1) + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(told_when_all_poll, begin),
		cmocka_unit_test_setup(one_dies_meanwhile, begin),
		cmocka_unit_test_setup(one_comes_anew, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
