/*
 * runtime/ports.c, restart.c, recovery.c and warm_restart.c, the life of the ports, with data cores that
 * answer when the test lets them and a device that only records whether it runs: what is asked of
 * which core and when, and when the application is told.
 */
#include "tests/unit/rig/host.h"

#include <setjmp.h>

#include "runtime/balancer.h"
#include "runtime/buckets.h"
#include "runtime/elastic.h"
#include "runtime/move.h"
#include "runtime/rules.h"
#include "runtime/shared.h"
#include "drivers/nic.h"
#include "abi/kcall.h"

#define DATA_CORES 3
#define RESTARTS 20
#define BUCKETS 8u /* of the device's table */
#define AREA 0x8000u    /* taken by the application's tables, */
#define AREAS 3         /* and how many times that fits */
#define PRIVATE 0x4000u /* taken beside them */
#define TABLES 0x80000u

struct core_self self;
static unsigned cards = 1; /* of the machines that begin */

static struct world {
	struct boot_info info;
	struct app app;
	bool runs;           /* the device */
	unsigned starts, told; /* calls of nic_ops.start, and of the hook `ports` */
	unsigned stops, parks;
	int park_error;
	int probe_error, ready_error; /* E_AGAIN: the device is late */
	uint64_t pairs;      /* in service, */
	uint64_t spread;     /* and those that frames are spread over */
	unsigned spreads;    /* calls of nic_ops.table */
	uint8_t table[BUCKETS]; /* as of the last of them, or of the start */
	unsigned moved;      /* entries that the last call has changed */
	int stop_error, start_error, spread_error; /* for one pair */
	struct nic_rule rule[NIC_RULES_MAX]; /* of the device */
	unsigned rules, rules_set;
	int rules_error;
	bool gone;
	bool hangs;          /* watch_port */
	bool hopeless;       /* the application's new tables are unusable */
	const uint8_t *adopted; /* whose warm restart it has been told of */
	unsigned said_restarted; /* lines that report a port restarted alone */
	uint64_t bound;      /* ports that data core 1 cannot release */
	uint32_t less;       /* features that the device has no more */
	int port_error;      /* of nic_ops.start */
	bool sick;           /* nic_link.restart */
	bool down;           /* its link */
	unsigned waiting;    /* frames in the transmit ring of each pair, */
	unsigned sent_late;  /* and how many of them the device still sends while it is stopped */
	unsigned said_dropped; /* lines that report such frames dropped */
	unsigned links;      /* calls of the hook `link` */
	unsigned control_woken;
	unsigned skipped;    /* data cores (one bit each) whose earlier messages were dropped */
	size_t area;         /* bytes that it takes from published memory */
	jmp_buf anew;        /* the program has restarted itself */
} w;

#define ALL_PAIRS ((1u << DATA_CORES) - 1)

/* --- stand-ins for the rest of core/ --- */

static uint8_t *area(void)
{
	size_t bytes;
	return core_published_area(&bytes);
}

static void build_tables(void)
{
	assert_int_equal(core_published_take(w.area), E_OK);
	assert_non_null(core_private_alloc(PRIVATE));
	memset(area(), 1, w.area);
}

static bool restore(const void *old, size_t bytes)
{
	w.adopted = old;
	assert_int_equal(bytes, AREA);
	assert_true(area() >= w.adopted + bytes || area() + w.area <= w.adopted);
	return !w.hopeless;
}

static void look_elsewhere(void) {}

int64_t kcall(enum kcall number, uint64_t a, uint64_t b, uint64_t c)
{
	(void)c;
	if (number == KCALL_LEND) { /* each has its pair */
		assert_int_equal(b, a);
		return E_OK;
	}
	assert_int_equal(number, KCALL_RESTART);
	assert_int_equal(a, 0);
	longjmp(w.anew, 1);
}

void core_mirror(uint32_t in, uint32_t out) { assert_int_equal(in | out, 0); }
void core_trace_ports(uint32_t ports) { assert_int_equal(ports, 0); }
void core_move_ports(uint32_t ports) { published_header()->move_in = ports; }

bool watch_port(unsigned p, bool up)
{
	(void)p;
	return up && w.hangs;
}

static void ports_told(void)
{
	w.told++;
}

static void link_told(unsigned port, const struct nic_link *link)
{
	(void)port, (void)link;
	w.links++;
}

static const struct control_hooks hooks = {
	.start = build_tables, .ports = ports_told, .link = link_told, .restore = restore};

const struct app *core_app(void) { return &w.app; }
void app_choose(void) {}
void crash_turn(void) {}
void core_event(enum core_event_number number, uint64_t first, uint64_t second)
{
	(void)number, (void)first, (void)second;
}
void core_log(const char *format, ...) { (void)format; }
void core_print(const char *line) { (void)line; }

void core_log_at(enum log_level level, const char *format, ...)
{
	(void)level;
	w.said_restarted += strstr(format, "restarted after") != NULL;
	w.said_dropped += strstr(format, "frames that waited to be sent are dropped") != NULL;
}
void core_wake(unsigned core)
{
	assert_in_range(core, 0, DATA_CORES);
	w.control_woken += core == 0;
}
void ring_punt_skip(unsigned d)
{
	assert_in_range(d, 0, DATA_CORES - 1);
	w.skipped |= 1u << d;
}
uint64_t ring_deficit(unsigned core) { return core - core; }
uint64_t core_option_number(const char *name, uint64_t otherwise) { return name ? otherwise : 0; }

bool core_option(const char *name, char *out, size_t size)
{
	(void)name, (void)out, (void)size;
	return false;
}

uint64_t host_tsc;

/* --- the driver --- */

static bool match(const struct pci_dev *dev) { return dev->vendor != PCI_VENDOR_NONE; }
static size_t ring_bytes(const struct nic *nic) { return nic ? 100 : 0; }
static void stop(struct nic *nic)
{
	w.runs = nic == NULL;
	w.waiting -= w.sent_late;
	w.stops++;
}

/* Only what runs is parked. */
static int park(struct nic *nic)
{
	assert_true(nic && w.runs);
	w.parks++;
	w.runs = w.park_error != E_OK;
	return w.park_error;
}

static int ready(struct nic *nic)
{
	assert_int_equal(nic->pairs_max, 0);
	return w.ready_error;
}

static int ready_again(struct nic *nic)
{
	return nic->pairs_max ? w.ready_error : E_DEVICE;
}

static void link(struct nic *nic, struct nic_link *out)
{
	assert_true(nic && w.runs);
	*out = (struct nic_link){.up = !w.down, .gone = w.gone, .restart = w.sick};
}

static int probe(struct nic *nic, const struct pci_dev *dev)
{
	assert_ptr_equal(nic->pci, dev);
	if (w.probe_error == E_OK)
		nic->pairs_max = DATA_CORES;
	return w.probe_error;
}

static int start(struct nic *nic, const struct nic_config *config, struct nic_shared *shared)
{
	assert_non_null(nic);
	w.starts++;
	if (w.port_error)
		return w.port_error;
	shared->pairs = (uint8_t)config->pairs;
	shared->features = NIC_LINK & ~w.less;
	w.runs = true;
	w.waiting = 0;
	w.pairs = w.spread = ALL_PAIRS;
	shared->buckets = nic->ops->table ? BUCKETS : 0;
	for (unsigned b = 0; b < BUCKETS; b++)
		w.table[b] = (uint8_t)(b % config->pairs);
	w.rules = 0;
	return E_OK;
}

/* A pair that frames are still steered to must not be stopped: some devices cannot do that. */
static int pair_stop(struct nic *nic, unsigned pair)
{
	assert_true(nic && w.runs);
	assert_true(w.pairs >> pair & 1);
	assert_false(w.spread >> pair & 1);
	for (unsigned i = 0; i < w.rules; i++)
		assert_false(w.rule[i].pairs >> pair & 1);
	w.pairs &= ~(1ull << pair);
	return w.stop_error;
}

static int pair_start(struct nic *nic, const struct nic_config *config, unsigned pair,
                      struct nic_shared *shared)
{
	const struct core_shm *o = core_shm_of(data_core(pair));
	assert_true(nic && w.runs);
	assert_ptr_equal(shared, published_header()->nic);
	assert_int_equal(config->pairs, DATA_CORES);
	assert_ptr_equal(config->mem[pair].cnt, o->nic);
	assert_int_equal(config->mem[pair].core, data_core(pair));
	assert_false(o->restarted); /* the memory is zeroed */
	w.pairs |= 1ull << pair;
	return w.start_error;
}

static int set_table(struct nic *nic, const uint8_t *pair_of)
{
	assert_true(nic && w.runs);
	w.spread = 0;
	w.moved = 0;
	for (unsigned b = 0; b < BUCKETS; b++) {
		assert_in_range(pair_of[b], 0, DATA_CORES - 1);
		w.spread |= 1ull << pair_of[b];
		w.moved += pair_of[b] != w.table[b];
		w.table[b] = pair_of[b];
	}
	w.spreads++;
	return w.spread_error;
}

/* A rule names pairs that are served. */
static int set_rules(struct nic *nic, const struct nic_rule *r, unsigned n)
{
	assert_true(nic && w.runs && n <= NIC_RULES_MAX);
	memcpy(w.rule, r, n * sizeof *r);
	w.rules = n;
	w.rules_set++;
	for (unsigned i = 0; i < n; i++)
		assert_true(r[i].pairs && (r[i].pairs & ~w.spread) == 0);
	return w.rules_error;
}

static const char *rules_refused(const struct nic *nic, const struct nic_rule *r)
{
	assert_non_null(nic);
	if (r->proto == 98 && r->pairs & (r->pairs - 1))
		return "no groups";
	return r->proto == 99 ? "no such protocol" : NULL;
}

/* As many as `place` says. Rings that run are never read. */
static unsigned rx_left(const struct nic_shared *shared, unsigned pair, const void *mem,
                        uint64_t place)
{
	assert_false(w.runs && w.pairs >> pair & 1);
	assert_in_range(shared->pairs, 1, DATA_CORES);
	if (shared->pairs < DATA_CORES)
		return 0;
	assert_ptr_equal(mem, (void *)(uintptr_t)core_shm_of(data_core(pair))->ring_mem[0]);
	return (unsigned)place;
}

static unsigned tx_left(struct nic *nic, unsigned pair, const void *mem)
{
	assert_true(nic && w.pairs >> pair & 1);
	assert_ptr_equal(mem, (void *)(uintptr_t)core_shm_of(data_core(pair))->ring_mem[0]);
	return w.waiting;
}

static void release(struct nic_queue *q)
{
	fail_msg("called on the control core: %p", (void *)q);
}

static struct nic_ops ops = {.name = "test", .match = match, .probe = probe,
                             .ring_bytes = ring_bytes, .start = start, .stop = stop,
                             .rx_left = rx_left,
                             .link = link};
const char *nic_name_without_driver(uint16_t vendor, uint16_t device)
{
	(void)vendor, (void)device;
	return NULL;
}

const struct nic_ops *const nic_drivers[] = {&ops};
const unsigned nic_driver_count = 1;

/* --- data cores --- */

/* Data core d has done what it was asked to do. */
static void answer(unsigned d)
{
	struct core_shm *o = core_shm_of(data_core(d));
	if (published_header()->phase[d] == PORTS_PREPARE)
		o->restarted = o->nic[0].rx_place = 0;
	if (published_header()->phase[d] == PORTS_CLEAR)
		o->nic[0].rx_place = 0;
	if (published_header()->phase[d] == PORTS_LEAVE)
		o->bound = d == 1 ? w.bound : 0;
	o->epoch = published_header()->asked[d];
}

static void all_answer(void)
{
	for (unsigned d = 0; d < DATA_CORES; d++)
		answer(d);
	ports_turn();
}

static enum ports_phase asked_of(unsigned d)
{
	return (enum ports_phase)published_header()->phase[d];
}

/* The phase that all are asked for. */
static enum ports_phase asked(void)
{
	for (unsigned d = 1; d < DATA_CORES; d++)
		assert_int_equal(asked_of(d), asked_of(0));
	return asked_of(0);
}

/* A machine whose ports have been asked to prepare; the probe ends with this error. */
static void begin_with(int probe_error)
{
	w = (struct world){.probe_error = probe_error,
	                   .info = {.cores = DATA_CORES + 1, .data_cores = DATA_CORES,
	                            .first_data_core = 1, .tsc_hz = 1000000000, .pci_count = cards},
	                   .app = {.control = &hooks, .data_tables = look_elsewhere},
	                   .area = AREA};
	for (unsigned i = 0; i < cards; i++)
		w.info.pci[i] = (struct pci_dev){.vendor = 0x1234};
	self = (struct core_self){.info = &w.info, .clock = clock_make(1000000000)};
	static _Alignas(4096) uint8_t published[PUBLISHED_HEADER + AREAS * AREA], tables[TABLES];
	static _Alignas(64) uint8_t shm[DATA_CORES + 1][CORE_SHM_AREA];
	memset(published, 0, sizeof published);
	for (unsigned c = 0; c <= DATA_CORES; c++)
		memset(shm[c], 0, sizeof(struct core_shm));
	memset(tables, 0xa5, sizeof tables);
	w.info.published = (uintptr_t)published;
	w.info.published_bytes = sizeof published;
	w.info.core[0].tables = (uintptr_t)tables;
	w.info.core[0].tables_bytes = sizeof tables;
	w.info.core[0].roles = CORE_CONTROL;
	for (unsigned c = 0; c <= DATA_CORES; c++)
		w.info.core[c].shm = (uintptr_t)shm[c];
	self.counters = &core_shm_of(0)->counters;
	host_tsc = 0;
	tables_init();
	ports_init();
	assert_int_equal(asked(), PORTS_STOPPED);
	all_answer();
	assert_int_equal(asked(), PORTS_PREPARE);
	assert_false(w.runs);
	ops.table = NULL;
	ops.pair_stop = NULL;
	ops.rules = NULL;
	ops.rules_refused = NULL;
	ops.park = NULL;
	ops.tx_left = NULL;
	ops.release = NULL;
	core_set_rules(&(struct core_rule){0}, 0);
	core_set_elastic(0, 50);
}

/* A machine whose ports have been asked to attach, while no data core has done so. */
static int begin(void **state)
{
	(void)state;
	begin_with(E_OK);
	all_answer();
	assert_int_equal(asked(), PORTS_RUNNING);
	assert_true(w.runs);
	assert_int_equal(w.told, 0);
	return 0;
}

/* The ports run, and the device can stop and start one pair alone. */
static int begin_running(void **state)
{
	begin(state);
	ops.pair_stop = pair_stop;
	ops.pair_start = pair_start;
	ops.table = set_table;
	published_header()->nic[0].buckets = BUCKETS; /* the port has started without */
	buckets_reset(0, DATA_CORES);
	all_answer();
	assert_true(core_ports_running());
	return 0;
}

static void comes_anew(unsigned d)
{
	core_shm_of(data_core(d))->restarted = 1;
	core_shm_of(data_core(d))->epoch = 0; /* kept or not: it is ignored */
	ports_turn();
}

/* Data core d does what it is asked to: prepares, and polls. */
static void answers_and_polls(unsigned d)
{
	const uint64_t served = w.spread;
	assert_int_equal(asked_of(d), PORTS_PREPARE);
	ports_turn();
	assert_false(w.pairs >> d & 1);
	answer(d);
	ports_turn();
	assert_int_equal(asked_of(d), PORTS_RUNNING);
	assert_true(w.pairs >> d & 1);
	ports_turn();
	assert_int_equal(w.spread, served); /* the core has no buffers yet */
	answer(d);
	ports_turn();
}

static void all_is_well(void)
{
	assert_int_equal(asked(), PORTS_RUNNING);
	assert_true(core_ports_running());
	assert_int_equal(w.pairs, ALL_PAIRS);
	assert_int_equal(w.spread, ALL_PAIRS);
	assert_int_equal(ports_deadline(), UINT64_MAX);
}

static void restarts_all(void)
{
	assert_false(core_ports_running());
	assert_int_equal(asked(), PORTS_STOPPED);
	w.stop_error = w.start_error = w.spread_error = 0;
	for (unsigned phase = 0; phase < 3; phase++)
		all_answer();
	all_is_well();
}

static void left_unread(uint64_t a, uint64_t b, uint64_t c)
{
	core_shm_of(data_core(0))->nic[0].rx_place = a;
	core_shm_of(data_core(1))->nic[0].rx_place = b;
	core_shm_of(data_core(2))->nic[0].rx_place = c;
}

/* --- the tests --- */

/* The control program fails and restarts. */
static void fails(void)
{
	host_tsc += 6000000000; /* not too often */
	tables_init();
	ports_init();
}

/* The port restarts alone, step by step: its device is stopped when all data cores have left it and started when
 * all have cleared its rings. The ports run meanwhile, and the application is not told. `who`: the data core that has
 * restarted, or DATA_CORES: none. */
static void restarts_alone(unsigned who)
{
	static const enum ports_phase phase[] = {PORTS_LEAVE, PORTS_CLEAR, PORTS_JOIN};
	const unsigned starts = w.starts, told = w.told, links = w.links, said = w.said_restarted;
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned d = 0; d < DATA_CORES; d++) {
			assert_int_equal(asked_of(d), d != who || i == 0 ? phase[i]
			                              : i == 1           ? PORTS_PREPARE
			                                                 : PORTS_RUNNING);
			assert_int_equal(published_header()->restarting, 1);
			assert_true(core_ports_running());
			assert_int_equal(ports_deadline(), self.now_tsc); /* no core sleeps meanwhile */
			assert_int_equal(w.runs, i != 1);
			ports_check_link(); /* asks a device that is stopped nothing */
			answer(d);
			ports_turn();
		}
	}
	all_is_well();
	assert_int_equal(w.starts, starts + 1);
	assert_int_equal(w.told, told);
	assert_int_equal(w.links, links);
	assert_int_equal(w.said_restarted, said + 1);
}

/* A device that sends nothing is started again, if its driver says that this helps. */
static void hangs(void **s)
{
	(void)s;
	w.hangs = true;
	ports_check_link();
	ports_turn();
	all_is_well();
	ops.start_mends = true;
	for (unsigned i = 0; i < RESTARTS; i++) {
		ops.park = i & 1 ? park : NULL;
		w.hangs = true;
		ports_check_link();
		w.hangs = false;
		ports_turn();
		restarts_alone(DATA_CORES);
		assert_int_equal(w.parks, i / 2 + (i & 1));
	}
	ops.start_mends = false;
}

/* A device that asks for it is stopped, not parked: the same state would stay. Its frames are counted once. */
static void asks_for_a_restart(void **s)
{
	(void)s;
	ops.park = park;
	for (unsigned i = 1; i <= RESTARTS; i++) {
		const unsigned stops = w.stops;
		left_unread(1, 10, 100);
		w.sick = true;
		ports_check_link();
		w.sick = false;
		ports_turn();
		restarts_alone(DATA_CORES);
		assert_int_equal(w.stops, stops + 1);
		assert_int_equal(w.parks, 0);
		assert_int_equal(core_port_stats(0)->rx_unread, 111 * i);
	}
}

static void is_sick(void)
{
	w.sick = true;
	ports_check_link();
	w.sick = false;
	ports_turn();
	assert_int_equal(asked(), PORTS_LEAVE);
}

/* Then all ports restart: an application has the ring, or has set the device's clock or rate, or the device is not
 * the same as before. */
static void cannot_restart_alone(void **s)
{
	(void)s;
	is_sick();
	w.bound = 1;
	all_answer();
	w.bound = 0;
	restarts_all();
	is_sick();
	all_answer();
	w.less = NIC_LINK;
	all_answer();
	restarts_all();
	w.less = 0;
	restart_bind(0);
	w.sick = true;
	ports_check_link();
	w.sick = false;
	ports_turn();
	restarts_all();
	restart_bind(0); /* for a data core whose pair the device cannot stop alone, too */
	w.spread_error = E_TIMEOUT;
	comes_anew(1);
	restarts_all();
	is_sick(); /* and nothing of it lasts */
	restarts_alone(DATA_CORES);
}

/* The link is down, and each pair has this many frames. */
static void loses_link(unsigned waiting)
{
	ops.tx_left = tx_left;
	ops.release = release;
	w.down = true;
	w.waiting = waiting;
	ports_check_link();
	ports_turn();
}

static void regains_link(void)
{
	w.down = false;
	ports_check_link();
	ports_turn();
}

/* The cores leave the port, and its device is stopped and started. */
static void leaves_port(void)
{
	static const enum ports_phase phase[] = {PORTS_LEAVE, PORTS_CLEAR, PORTS_JOIN};
	const unsigned starts = w.starts, said = w.said_dropped;
	for (unsigned i = 0; i < ARRAY_LEN(phase); i++) {
		assert_int_equal(asked(), phase[i]);
		assert_int_equal(published_header()->restarting, 1);
		assert_int_equal(published_header()->left, 1); /* PORTS_JOIN leaves it out */
		assert_int_equal(w.runs, i != 1);
		all_answer();
	}
	assert_int_equal(w.starts, starts + 1);
	assert_int_equal(w.said_dropped, said + 1);
	all_is_well();
}

/* Frames are queued while the link is down: one restart, and the cores use the port when the link is up. Only then
 * is the application told. */
static void loses_link_with_frames(void **s)
{
	(void)s;
	for (unsigned i = 1; i <= RESTARTS; i++) {
		const unsigned links = w.links;
		loses_link(7);
		assert_int_equal(w.links, links + 1);
		leaves_port();
		assert_int_equal(core_port_stats(0)->tx_unsent, 7 * DATA_CORES * i);
		for (unsigned k = 0; k < 5; k++) {
			loses_link(7); /* it stays down, whatever the ring says */
			all_is_well();
		}
		w.waiting = 0;
		regains_link();
		assert_int_equal(asked(), PORTS_JOIN);
		assert_int_equal(published_header()->restarting, 1);
		assert_int_equal(published_header()->left, 0);
		ports_check_link();
		assert_int_equal(w.links, links + 1);
		all_answer();
		assert_int_equal(w.links, links + 2);
		all_is_well();
	}
	assert_int_equal(w.said_restarted, 0);
}

/* The link returns after the control core has looked, and the device sends some frames before it is stopped: these
 * are not counted as unsent. */
static void regains_link_before_stop(void **s)
{
	(void)s;
	w.sent_late = 5;
	loses_link(7);
	leaves_port();
	w.sent_late = 0;
	assert_int_equal(core_port_stats(0)->tx_unsent, (7 - 5) * DATA_CORES);
}

/* Nothing is queued, or an application has the ring, or the driver cannot return the buffers: nothing restarts. */
static void loses_link_and_stays(void **s)
{
	(void)s;
	const unsigned starts = w.starts;
	loses_link(0);
	assert_int_equal(asked(), PORTS_RUNNING);
	assert_true(ports_deadline() != UINT64_MAX); /* frames may still come */
	core_shm_of(data_core(1))->bound = 1;
	loses_link(7);
	assert_int_equal(asked(), PORTS_RUNNING);
	core_shm_of(data_core(1))->bound = 0;
	restart_bind(0);
	loses_link(7);
	assert_int_equal(asked(), PORTS_RUNNING);
	restart_reset();
	loses_link(7);
	leaves_port();
	regains_link();
	all_answer();
	ops.release = NULL;
	w.down = true;
	w.waiting = 7;
	ports_check_link();
	ports_turn();
	assert_int_equal(asked(), PORTS_RUNNING);
	assert_int_equal(published_header()->left, 0);
	assert_int_equal(w.starts, starts + 1);
}

/* While the cores do not use the port: the device asks for a restart, a data core restarts, the control program
 * fails. The port stays left. All ports restart: it is used like the others. */
static void left_through_restarts(void **s)
{
	(void)s;
	loses_link(7);
	leaves_port();
	is_sick();
	for (unsigned phase = 0; phase < 3; phase++)
		all_answer();
	all_is_well();
	comes_anew(1);
	answers_and_polls(1);
	all_is_well();
	assert_int_equal(published_header()->left, 1);
	fails();
	ports_turn();
	assert_int_equal(asked(), PORTS_TABLES);
	all_answer();
	all_is_well();
	assert_int_equal(published_header()->left, 1);
	regains_link();
	assert_int_equal(asked(), PORTS_JOIN);
	all_answer();
	all_is_well();
	loses_link(7);
	leaves_port();
	core_ports_restart("test");
	w.down = false;
	restarts_all();
	assert_int_equal(published_header()->left, 0);
}

/* The link is up before the cores have left: they use the port at once. */
static void regains_link_meanwhile(void **s)
{
	(void)s;
	const unsigned links = w.links;
	loses_link(7);
	w.down = false;
	for (unsigned phase = 0; phase < 3; phase++) {
		ports_check_link();
		all_answer();
	}
	ports_turn();
	assert_int_equal(asked(), PORTS_JOIN);
	assert_int_equal(published_header()->left, 0);
	assert_int_equal(w.links, links + 1);
	all_answer();
	assert_int_equal(w.links, links + 2);
	all_is_well();
}

/* It does not start: it is told that its link is down, and the data cores poll on. It is late: it follows alone. */
static void does_not_come_back(void **s)
{
	(void)s;
	ops.ready = ready_again;
	w.ready_error = E_AGAIN;
	for (unsigned i = 0; i < 2; i++) {
		const unsigned links = w.links, said = w.said_restarted;
		is_sick();
		w.port_error = i ? E_AGAIN : E_DEVICE;
		all_answer();
		all_answer();
		all_answer();
		w.port_error = 0;
		assert_true(core_ports_running());
		assert_int_equal(asked(), PORTS_RUNNING);
		assert_int_equal(published_header()->nic[0].pairs, 0);
		assert_int_equal(w.links, links + 1);
		assert_int_equal(w.said_restarted, said);
		if (i == 0) {
			core_ports_restart("test");
			restarts_all();
		}
	}
	ports_check_link();
	ports_turn();
	assert_int_equal(asked(), PORTS_RUNNING);
	w.ready_error = E_OK;
	ports_check_link();
	ports_turn();
	const unsigned links = w.links;
	for (unsigned phase = 0; phase < 3; phase++)
		all_answer();
	all_is_well();
	assert_int_equal(w.links, links + 1);
}

/* A data core restarts in each step; it answers, and is recovered when the port is back. */
static void one_comes_anew_meanwhile(void **s)
{
	(void)s;
	for (unsigned at = 0; at < 3; at++) {
		is_sick();
		for (unsigned i = 0; i < 3; i++) {
			if (i == at)
				comes_anew(2);
			all_answer();
		}
		assert_int_equal(w.said_restarted, at + 1);
		ports_turn();
		answers_and_polls(2);
		all_is_well();
	}
}

/* One that dies for good in each step: all ports restart without it. */
static void one_dies_in_each_step(void **s)
{
	(void)s;
	for (unsigned at = 0; at < 3; at++) {
		is_sick();
		for (unsigned i = 0; i < at; i++)
			all_answer();
		w.info.status[data_core(1)].state = CORE_DEAD;
		ports_turn();
		assert_false(core_ports_running());
		w.info.status[data_core(1)].state = CORE_RUNNING;
		restarts_all();
	}
}

/* All ports restart, and their device keeps its link if it can; it is stopped if it cannot, and where
 * no data core is left. */
static void parked(void **s)
{
	(void)s;
	ops.park = park;
	for (unsigned i = 0; i < 4; i++) {
		const unsigned stops = w.stops, parks = w.parks, starts = w.starts;
		w.park_error = i & 1 ? E_DEVICE : E_OK;
		core_ports_restart("test");
		assert_true(w.runs);
		all_answer();
		assert_false(w.runs);
		assert_int_equal(w.parks, parks + 1);
		assert_int_equal(w.stops, stops + (i & 1));
		all_answer();
		assert_int_equal(w.starts, starts + 1);
		all_answer();
		all_is_well();
	}
	const unsigned stops = w.stops;
	w.park_error = E_OK;
	for (unsigned d = 0; d < DATA_CORES; d++)
		w.info.status[data_core(d)].state = CORE_DEAD;
	ports_turn();
	ports_turn();
	assert_int_equal(w.stops, stops + 1);
	assert_false(core_ports_running());
}

/* A device that is not ready is left aside, and the ports restart with it once it is. */
static void comes_late(void **s)
{
	(void)s;
	w.ready_error = E_AGAIN;
	begin_with(E_AGAIN);
	ops.ready = ready;
	w.ready_error = E_AGAIN;
	all_answer();
	assert_int_equal(w.starts, 0);
	assert_int_equal(asked(), PORTS_STOPPED);
	all_answer();
	for (unsigned i = 0; i < 10; i++) {
		ports_check_link();
		assert_int_equal(asked(), PORTS_STOPPED);
		assert_true(ports_settled());
		assert_true(ports_deadline() != UINT64_MAX); /* no core sleeps for ever */
	}
	w.ready_error = w.probe_error = E_OK;
	ports_check_link();
	all_answer();
	assert_int_equal(asked(), PORTS_PREPARE);
	all_answer();
	assert_int_equal(w.starts, 1);
	all_answer();
	all_is_well();
}

/* One that never is: nothing is asked any more. */
static void never_comes(void **s)
{
	(void)s;
	begin_with(E_AGAIN);
	ops.ready = ready;
	all_answer();
	w.ready_error = E_TIMEOUT;
	ports_check_link();
	ports_check_link();
	assert_int_equal(ports_deadline(), UINT64_MAX);
	assert_int_equal(asked(), PORTS_STOPPED);
	core_ports_restart("test");
	all_answer();
	all_answer();
	assert_int_equal(w.starts, 0);
}

/* Once told that the ports run, the application may send: no frame may meet a queue without
 * buffers. */
static void told_when_all_poll(void **s)
{
	(void)s;
	for (unsigned d = 0; d < DATA_CORES; d++) {
		ports_turn();
		assert_int_equal(w.told, 0);
		assert_false(core_ports_running());
		assert_false(ports_let_go());
		assert_int_equal(ports_deadline(), self.now_tsc); /* and no core sleeps meanwhile */
		answer(d);
	}
	ports_turn();
	assert_int_equal(w.told, 1);
	assert_true(core_ports_running());
}

/* Fewer pairs than cores: those on the node of the card get them. */
static void pairs_near_the_card(void **s)
{
	static const struct {
		uint16_t card;
		uint8_t pair[DATA_CORES];
	} row[] = {{1, {NO_PAIR, 0, 1}}, {0, {0, 1, NO_PAIR}}, {PCI_NODE_NONE, {0, 1, NO_PAIR}}, {5, {0, 1, NO_PAIR}}};
	(void)s;
	for (unsigned c = 0; c <= DATA_CORES; c++)
		w.info.core[c].node = c >= 2; /* data cores 1 and 2 */
	kept()->nic[0].pairs_max = 2;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		w.info.pci[0].node = row[i].card;
		core_ports_restart("test");
		all_answer();
		assert_int_equal(published_header()->pairs, 2);
		assert_memory_equal(published_header()->pair_of, row[i].pair, DATA_CORES);
		all_answer();
		all_answer();
	}
	kept()->nic[0].pairs_max = 1; /* and with one pair, another core only if there is none */
	w.info.pci[0].node = 1;
	core_ports_restart("test");
	all_answer();
	assert_memory_equal(published_header()->pair_of, ((uint8_t[]){NO_PAIR, 0, NO_PAIR}), DATA_CORES);
}

/* The idle mode set last is in force, whenever it was set: before the ports run, while they run,
 * and when they are stopped and started again. */
static void idle_is_as_said_last(void **s)
{
	(void)s;
	const uint32_t *sleep = &published_header()->idle_sleep;
	for (unsigned turn = 0; turn < 12; turn++) {
		core_set_idle(turn % 2 ? CORE_IDLE_POLL : CORE_IDLE_SLEEP, turn);
		assert_int_equal(*sleep, turn % 2 == 0);
		assert_int_equal(published_header()->idle_spin_us, turn);
		if (turn == 4 || turn == 9)
			core_ports_restart("a test");
		all_answer();
		assert_int_equal(*sleep, turn % 2 == 0);
	}
	assert_int_equal(core_idle_spin_us(), 11);
	assert_true(core_ports_running());
	assert_int_equal(w.told, 3);
}

/* Dead cores answer nothing; one that dies while it attaches leaves its pair to the living. */
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
	assert_int_equal(published_header()->pairs, DATA_CORES - 1);
	assert_int_equal(published_header()->pair_of[1], NO_PAIR);
}

/* A data core that restarted, while it attached or later, has lost its buffers. The device cannot
 * stop one pair alone: while the ports attach all restart, later this one. */
static void one_comes_anew(void **s)
{
	(void)s;
	for (unsigned i = 0; i < RESTARTS; i++) {
		for (unsigned d = 0; d < i % (DATA_CORES + 1); d++)
			answer(d);
		ports_turn();
		core_shm_of(data_core(i % DATA_CORES))->restarted = 1;
		ports_turn();
		if (i % (DATA_CORES + 1) == DATA_CORES) {
			restarts_alone(i % DATA_CORES);
			core_ports_restart("test");
		}
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
	assert_int_equal(w.starts, RESTARTS + RESTARTS / (DATA_CORES + 1) + 1);
	assert_int_equal(w.told, RESTARTS / (DATA_CORES + 1) + 1);
}

/* The kernel says that data core d's program has failed, and has not started it again yet. */
static void breaks(unsigned d)
{
	w.info.status[data_core(d)].failed_tsc = ++host_tsc;
	w.info.status[data_core(d)].state = CORE_FAILED;
	ports_turn();
	assert_true(core_ports_running());
}

static void is_started_again(unsigned d)
{
	w.info.status[data_core(d)].state = CORE_RUNNING;
	ports_turn();
}

/* Only buckets of that pair have left it, to all others in turn. */
static void buckets_of_others_stay(unsigned d)
{
	unsigned away = 0, got[DATA_CORES] = {0};
	for (unsigned b = 0; b < BUCKETS; b++)
		if (b % DATA_CORES == d) {
			away++;
			got[w.table[b]]++;
		} else {
			assert_int_equal(w.table[b], b % DATA_CORES);
		}
	assert_int_equal(w.moved, away);
	for (unsigned k = 0; k < DATA_CORES; k++)
		assert_in_range(got[k], k == d ? 0 : away / (DATA_CORES - 1), k == d ? 0 : (away + 1) / (DATA_CORES - 1));
}

/* The frames of a failed core go to the others before its program is started again, once, and its pair is left
 * alone. They return to it when it polls. */
static void frames_go_elsewhere_at_once(void **s)
{
	(void)s;
	for (unsigned i = 0; i < RESTARTS; i++) {
		const unsigned d = i % DATA_CORES, before = w.spreads;
		assert_false(recovery_is_coming());
		breaks(d);
		assert_true(recovery_is_coming());
		assert_int_equal(w.spread, ALL_PAIRS & ~(1u << d));
		buckets_of_others_stay(d);
		assert_int_equal(w.pairs, ALL_PAIRS);
		assert_int_equal(asked(), PORTS_RUNNING);
		assert_int_equal(ports_deadline(), UINT64_MAX); /* the kernel's wake-ups suffice */
		ports_turn();
		is_started_again(d);
		assert_int_equal(w.spreads, before + 1);
		comes_anew(d);
		answers_and_polls(d);
		all_is_well();
		for (unsigned b = 0; b < BUCKETS; b++)
			assert_int_equal(w.table[b], b % DATA_CORES);
	}
	assert_int_equal(w.starts, 1);
}

/* Others fail meanwhile: before the first is started again, and while it is being recovered. No frames go to a core
 * that does not poll, and when no core is left the table stays as it is. */
static void frames_of_several_go_elsewhere(void **s)
{
	(void)s;
	breaks(1);
	breaks(0);
	assert_int_equal(w.spread, 4);
	is_started_again(1); /* its program has not begun yet */
	comes_anew(0);
	assert_int_equal(w.spread, 4);
	is_started_again(0);
	const unsigned before = w.spreads;
	breaks(2);
	assert_int_equal(w.spread, 4);
	assert_int_equal(w.spreads, before);
	is_started_again(2);
	answers_and_polls(0);
	assert_int_equal(w.spread, 1);
	comes_anew(2);
	answers_and_polls(2);
	comes_anew(1);
	answers_and_polls(1);
	all_is_well();
	assert_int_equal(w.starts, 1);
}

/* It fails again while it is being recovered. */
static void frames_stay_elsewhere(void **s)
{
	(void)s;
	breaks(1);
	is_started_again(1);
	comes_anew(1);
	answer(1);
	ports_turn();
	breaks(1);
	assert_int_equal(w.spread, ALL_PAIRS & ~2u);
	is_started_again(1);
	comes_anew(1);
	answers_and_polls(1);
	all_is_well();
}

/* The control core has not run between the failure and the start of the next program, or of the program after it. */
static void failure_is_seen_late(void **s)
{
	(void)s;
	w.info.status[data_core(1)].failed_tsc = ++host_tsc;
	ports_turn();
	assert_int_equal(w.spread, ALL_PAIRS & ~2u);
	w.info.status[data_core(1)].failed_tsc = ++host_tsc;
	comes_anew(1);
	assert_int_equal(w.spread, ALL_PAIRS & ~2u);
	answers_and_polls(1);
	all_is_well();
	assert_false(recovery_lead_is_due() || recovery_is_coming());
}

/* A device that refuses is asked again when the program has been started, and all its pairs are restarted. After a
 * restart of all ports nothing is left of a failure. */
static void device_keeps_frames(void **s)
{
	(void)s;
	w.spread_error = E_TIMEOUT;
	breaks(1);
	assert_int_equal(asked(), PORTS_RUNNING);
	is_started_again(1);
	comes_anew(1);
	w.spread_error = 0;
	restarts_alone(1);
	breaks(2);
	w.info.status[data_core(2)].state = CORE_DEAD;
	ports_turn();
	assert_false(recovery_is_coming());
	w.info.status[data_core(2)].state = CORE_RUNNING;
	restarts_all();
}

/* The others are asked nothing, and the application is told nothing. */
static void one_is_revived(void **s)
{
	(void)s;
	for (unsigned i = 0; i < RESTARTS; i++) {
		const unsigned d = i % DATA_CORES;
		uint64_t before[DATA_CORES];
		memcpy(before, published_header()->asked, sizeof before);
		comes_anew(d);
		assert_int_equal(w.spread, ALL_PAIRS & ~(1u << d));
		assert_int_equal(ports_deadline(), self.now_tsc); /* no core sleeps meanwhile */
		answers_and_polls(d);
		all_is_well();
		for (unsigned k = 0; k < DATA_CORES; k++)
			assert_int_equal(published_header()->asked[k], before[k] + (k == d ? 2 : 0));
	}
	assert_int_equal(w.starts, 1);
	assert_int_equal(w.told, 1);
}

/* --- a bucket moves (move.h) --- */

#define BUCKET 5u /* at home with pair 2 */
#define FROM 2u
#define TO 0u

static uint64_t counted(enum counter c)
{
	return core_shm_of(0)->counters.v[c];
}

static void pass_ns(uint64_t ns)
{
	host_tsc += clock_ticks(&self.clock, ns) + 1;
	self.now_tsc = host_tsc;
	ports_turn();
}

/* The move has begun: TO is to hold the bucket. */
static void begins_to_move(void)
{
	self.clock = clock_make(1000000000);
	w.app.moves = true;
	assert_null(core_move_bucket(0, BUCKET, data_core(TO)));
	assert_true(core_move_busy());
	assert_int_equal(asked_of(TO), PORTS_HOLD);
	assert_int_equal(published_header()->move_in, 1);
	assert_int_equal(published_header()->moving[0][0], 1ull << BUCKET);
	assert_non_null(core_move_bucket(0, 1, data_core(TO))); /* one at a time */
	assert_int_equal(ports_deadline(), self.now_tsc);
	ports_turn();
	assert_int_equal(w.spreads, 0); /* TO has not answered */
}

static void holds_and_settles(void)
{
	begins_to_move();
	answer(TO);
	ports_turn();
	assert_int_equal(w.spreads, 1);
	assert_int_equal(w.moved, 1);
	assert_int_equal(w.table[BUCKET], TO);
	assert_int_equal(asked_of(FROM), PORTS_RUNNING); /* the table has just been set */
	ports_turn();
	assert_int_equal(asked_of(FROM), PORTS_RUNNING);
	pass_ns(MOVE_SETTLE_NS);
	assert_int_equal(asked_of(FROM), PORTS_PASS);
	ports_turn();
	assert_int_equal(asked_of(TO), PORTS_HOLD);
}

/* In the order of move.h; what FROM has punted comes before what TO will punt. */
static void bucket_moves(void **s)
{
	(void)s;
	holds_and_settles();
	core_shm_of(data_core(FROM))->punt_head = 3;
	answer(FROM);
	ports_turn();
	ports_turn();
	core_shm_of(0)->punt_tail[FROM] = 2;
	ports_turn();
	assert_int_equal(asked_of(TO), PORTS_HOLD);
	core_shm_of(0)->punt_tail[FROM] = 3;
	ports_turn();
	assert_int_equal(asked_of(TO), PORTS_RELEASE);
	assert_int_equal(published_header()->move_in, 1); /* until TO has released it */
	answer(TO);
	ports_turn();
	assert_false(core_move_busy());
	assert_int_equal(published_header()->move_in, 0);
	assert_int_equal(counted(CNT_buckets_moved), 1);
	assert_int_equal(counted(CNT_moved_early), 0);
	const struct core_moves to = core_moves_of(data_core(TO)), from = core_moves_of(data_core(FROM));
	assert_true(to.taken == 1 && to.given == 0 && from.taken == 0 && from.given == 1);
	assert_int_equal(to.has, BUCKETS / DATA_CORES + 2);
	assert_string_equal(core_move_bucket(0, BUCKET, data_core(TO)), "that core has it");
	/* The bucket is at home there: TO fails, and it goes elsewhere and returns. */
	breaks(TO);
	assert_int_not_equal(w.table[BUCKET], TO);
	is_started_again(TO);
	comes_anew(TO);
	answers_and_polls(TO);
	assert_int_equal(w.table[BUCKET], TO);
	assert_int_equal(w.starts, 1);
}

static void move_refused(void **s)
{
	(void)s;
	assert_non_null(core_move_bucket(0, BUCKET, data_core(TO))); /* the application does not allow it */
	w.app.moves = true;
	assert_non_null(core_move_bucket(0, 0, data_core(1)));
	assert_non_null(core_move_bucket(0, BUCKETS, data_core(1)));
	assert_non_null(core_move_bucket(0, BUCKET, 0));
	assert_non_null(core_move_bucket(0, BUCKET, data_core(DATA_CORES)));
	published_header()->owner_of[1] = 0;
	assert_non_null(core_move_bucket(0, BUCKET, data_core(TO)));
	published_header()->owner_of[1] = STEER_NOBODY;
	published_header()->nic[0].buckets = 0;
	assert_string_equal(core_move_bucket(0, BUCKET, data_core(TO)), "its card has no table to be set");
	published_header()->nic[0].buckets = BUCKETS;
	assert_int_equal(w.spreads, 0);
	assert_int_equal(asked(), PORTS_RUNNING);
}

/* A core fails in any step: TO is asked to release, the failed core is recovered, and no other is asked anything. */
static void core_fails_in_a_move(void **s)
{
	for (unsigned which = 0; which < 2; which++)
		for (unsigned settled = 0; settled < 2; settled++) {
			const unsigned d = which ? TO : FROM;
			begin_running(s);
			if (settled)
				holds_and_settles();
			else
				begins_to_move();
			const uint64_t early = counted(CNT_moved_early);
			breaks(d);
			assert_int_equal(counted(CNT_moved_early), early + settled);
			assert_int_equal(asked_of(TO), PORTS_RELEASE);
			assert_int_equal(published_header()->move_in, 1);
			answer(which ? FROM : TO);
			is_started_again(d);
			comes_anew(d);
			answers_and_polls(d);
			ports_turn();
			answer(TO);
			ports_turn();
			assert_false(core_move_busy());
			assert_int_equal(published_header()->move_in, 0);
			assert_int_equal(w.spread, ALL_PAIRS);
			assert_int_equal(w.table[BUCKET], settled ? TO : FROM);
			assert_int_equal(w.starts, 1);
		}
}

/* A core does not answer in time: nothing has changed yet, or the bucket is released early. */
static void core_is_late_in_a_move(void **s)
{
	begins_to_move();
	pass_ns(MOVE_LATE_NS);
	assert_int_equal(asked_of(TO), PORTS_RELEASE);
	assert_int_equal(w.spreads, 0);
	answer(TO);
	ports_turn();
	assert_false(core_move_busy());
	assert_int_equal(counted(CNT_moved_early), 0);
	begin_running(s);
	holds_and_settles();
	pass_ns(MOVE_LATE_NS);
	assert_int_equal(asked_of(FROM), PORTS_RELEASE);
	assert_int_equal(asked_of(TO), PORTS_RELEASE);
	assert_int_equal(counted(CNT_moved_early), 1);
	answer(TO);
	ports_turn();
	assert_int_equal(counted(CNT_buckets_moved), 1);
	begin_running(s);
	holds_and_settles();
	core_shm_of(data_core(FROM))->punt_head = 3;
	answer(FROM);
	ports_turn();
	pass_ns(MOVE_LATE_NS); /* this core serves no messages */
	assert_int_equal(asked_of(TO), PORTS_RELEASE);
	assert_int_equal(counted(CNT_moved_early), 1);
}

/* The device does not take the table: the port restarts, and with it the table as at a start. */
static void table_is_not_set(void **s)
{
	(void)s;
	begins_to_move();
	w.spread_error = E_TIMEOUT;
	answer(TO);
	ports_turn();
	assert_true(restart_due());
	assert_int_equal(asked_of(TO), PORTS_RELEASE);
	assert_int_equal(buckets_home(0, BUCKET), TO);
}

/* --- flows with state move with their bucket --- */

static const char *no_reason(uint64_t why) { return why ? "damaged" : "none"; }
static const struct app_flows flows_there = {.why = no_reason}; /* the rest is of data cores, which are played here */

/* All has been passed and punted: FROM is asked to give, TO to take. Returns the number of this time. */
static uint32_t gives_and_takes(unsigned from, unsigned to)
{
	answer(from);
	ports_turn();
	ports_turn();
	assert_int_equal(asked_of(from), PORTS_GIVE);
	assert_int_equal(asked_of(to), PORTS_TAKE);
	const struct published *s = published_header();
	assert_true(s->move_from == from && s->move_to == to && s->move_open && s->move_number);
	ports_turn();
	assert_int_equal(asked_of(to), PORTS_TAKE);
	return s->move_number;
}

static void is_released(void)
{
	assert_int_equal(asked_of(FROM), PORTS_RELEASE);
	assert_int_equal(asked_of(TO), PORTS_RELEASE);
	answer(TO);
	ports_turn();
	assert_true(core_move_busy()); /* FROM does not know yet */
	answer(FROM);
	ports_turn();
	assert_false(core_move_busy());
	assert_false(published_header()->move_open);
}

static void flows_move(void **s)
{
	(void)s;
	w.app.flows = &flows_there;
	holds_and_settles();
	gives_and_takes(FROM, TO);
	for (unsigned i = 0; i < 5; i++) { /* progress of either core moves the deadline */
		pass_ns(MOVE_LATE_NS * 9 / 10);
		core_shm_of(data_core(i % 2 ? TO : FROM))->flows_steps++;
		ports_turn();
		assert_int_equal(asked_of(TO), PORTS_TAKE);
	}
	answer(FROM);
	ports_turn();
	assert_int_equal(asked_of(FROM), PORTS_GIVE);
	answer(TO);
	ports_turn();
	is_released();
	assert_int_equal(counted(CNT_buckets_moved), 1);
	assert_int_equal(counted(CNT_moved_early) + counted(CNT_moves_undone), 0);
	assert_int_equal(w.table[BUCKET], TO);
}

/* One flow has not been taken, or nothing goes on: the bucket goes back, in the same steps. */
static void flows_go_back(void **s)
{
	for (unsigned late = 0; late < 2; late++) {
		begin_running(s);
		w.app.flows = &flows_there;
		const uint64_t taken = core_moves_of(data_core(TO)).taken;
		holds_and_settles();
		const uint32_t number = gives_and_takes(FROM, TO);
		if (late) {
			pass_ns(MOVE_LATE_NS);
		} else {
			core_shm_of(data_core(FROM))->flows_stay = 1;
			answer(FROM);
			answer(TO);
			ports_turn();
		}
		assert_int_equal(asked_of(FROM), PORTS_HOLD);
		assert_int_equal(w.table[BUCKET], TO);
		answer(FROM);
		ports_turn();
		assert_int_equal(w.table[BUCKET], FROM);
		pass_ns(MOVE_SETTLE_NS);
		assert_int_equal(asked_of(TO), PORTS_PASS);
		assert_int_not_equal(gives_and_takes(TO, FROM), number);
		core_shm_of(data_core(TO))->flows_stay = 0;
		answer(TO);
		answer(FROM);
		ports_turn();
		is_released();
		assert_int_equal(counted(CNT_buckets_moved), 0);
		assert_int_equal(counted(CNT_moves_undone), 1);
		assert_int_equal(core_moves_of(data_core(TO)).taken, taken);
		core_shm_of(data_core(FROM))->flows_stay = 0;
	}
}

/* A core fails in the middle: the move begins again once it is back, and ends. */
static void core_fails_among_flows(void **s)
{
	for (unsigned which = 0; which < 3; which++)
		for (unsigned settled = 0; settled < 2; settled++) {
			const unsigned d = which == 0 ? FROM : which == 1 ? TO : 1;
			begin_running(s);
			w.app.flows = &flows_there;
			if (settled) {
				holds_and_settles();
				gives_and_takes(FROM, TO);
			} else {
				begins_to_move();
			}
			const uint32_t number = published_header()->move_number;
			breaks(d);
			is_started_again(d);
			comes_anew(d);
			answers_and_polls(d);
			ports_turn();
			assert_int_equal(asked_of(TO), PORTS_HOLD);
			answer(TO);
			ports_turn();
			assert_int_equal(w.table[BUCKET], TO);
			pass_ns(MOVE_SETTLE_NS);
			assert_int_equal(asked_of(FROM), PORTS_PASS);
			assert_int_equal(gives_and_takes(FROM, TO), number + 1);
			answer(FROM);
			answer(TO);
			ports_turn();
			is_released();
			assert_int_equal(w.starts, 1);
		}
}

/* A port that restarts alone has the table it had, because the state of flows stays where it is. */
static void table_stays_with_flows(void **s)
{
	for (unsigned with = 0; with < 2; with++) {
		begin_running(s);
		w.app.flows = with ? &flows_there : NULL;
		holds_and_settles();
		if (with)
			gives_and_takes(FROM, TO);
		else
			for (unsigned i = 0; i < 3; i++) {
				answer(FROM);
				ports_turn();
			}
		answer(FROM);
		answer(TO);
		ports_turn();
		answer(FROM);
		answer(TO);
		ports_turn();
		assert_false(core_move_busy());
		assert_int_equal(w.table[BUCKET], TO);
		restart_port(0, "test");
		ports_turn();
		restarts_alone(DATA_CORES);
		assert_int_equal(w.table[BUCKET], with ? TO : FROM);
		assert_int_equal(buckets_home(0, BUCKET), with ? TO : FROM);
	}
}

/* Rules. */
static void flows_refused_by_name(void **s)
{
	(void)s;
	const struct core_rule r = {0, data_core(0), data_core(0), {.proto = 17, .dst_port = 1}};
	w.app.moves = true;
	w.app.flows = &flows_there;
	assert_null(core_moves_refused(0));
	core_set_rules(&r, 1);
	assert_string_equal(core_moves_refused(0), "rules steer flows past the table");
	w.app.flows = NULL;
	assert_null(core_moves_refused(0));
	core_set_rules(&r, 0);
}

/* The load is even, or uneven and small: no look opens a window. Uneven twice: one is opened, and the busiest core's
 * buckets move. */
static void load_is_balanced(void **s)
{
	(void)s;
	const uint64_t second = 1000000000;
	static const unsigned busy[][DATA_CORES] = {{90, 85, 80}, {40, 0, 0}, {90, 0, 0}, {90, 90, 90}};
	self.clock = clock_make(second);
	w.app.moves = true;
	core_set_balance(true);
	pass_ns(second + 1);
	for (unsigned i = 0; i < ARRAY_LEN(busy); i++) {
		for (unsigned d = 0; d < DATA_CORES; d++)
			core_shm_of(data_core(d))->stats.busy_cycles += second / 100 * busy[i][d];
		pass_ns(second);
		assert_int_equal(published_header()->sampling, 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(published_header()->sampling, 0);
		core_shm_of(data_core(0))->stats.busy_cycles += second / 100 * 90;
		pass_ns(second);
	}
	const uint32_t window = published_header()->sampling;
	assert_int_not_equal(window, 0);
	assert_int_equal(published_header()->move_in, 1);
	struct load_counts *c = core_shm_loads(data_core(0));
	c->total = 100;
	c->v[0][3] = c->v[0][6] = 50;
	core_shm_of(data_core(0))->loads_window = window;
	pass_ns(BALANCER_SAMPLE_NS);
	assert_int_equal(published_header()->sampling, 0);
	pass_ns(1);
	assert_true(core_move_busy());
	assert_true(published_header()->moving[0][0] == 1u << 3 || published_header()->moving[0][0] == 1u << 6);
	assert_true(asked_of(1) == PORTS_HOLD || asked_of(2) == PORTS_HOLD);
}

/* Data core d alone is busy, until its packets are counted by bucket. Returns where. */
static struct load_counts *busy_until_sampled(unsigned d)
{
	for (unsigned looks = 0; !published_header()->sampling; looks++) {
		assert_in_range(looks, 0, 8);
		core_shm_of(data_core(d))->stats.busy_cycles += SECOND_NS / 100 * 90;
		pass_ns(SECOND_NS);
	}
	struct load_counts *c = core_shm_loads(data_core(d));
	memset(c, 0, sizeof *c);
	c->total = 100;
	core_shm_of(data_core(d))->loads_window = published_header()->sampling;
	return c;
}

static void finish_move(void);

/* A bucket that has moved stays for BALANCER_ROUNDS rounds, though it would gain, and then may move again. */
static void moved_buckets_rest(void **s)
{
	(void)s;
	const unsigned bucket = 7;
	unsigned d = bucket % DATA_CORES;
	self.clock = clock_make(SECOND_NS);
	w.app.moves = true;
	core_set_balance(true);
	for (unsigned round = 0; round < 2 * (BALANCER_ROUNDS + 1); round++) {
		const bool rests = round % (BALANCER_ROUNDS + 1) != 0;
		busy_until_sampled(d)->v[0][bucket] = 50;
		pass_ns(BALANCER_SAMPLE_NS);
		pass_ns(1);
		assert_int_equal(core_move_busy(), !rests);
		if (rests)
			continue;
		assert_int_equal(published_header()->moving[0][0], 1u << bucket);
		finish_move();
		assert_int_not_equal(w.table[bucket], d);
		d = w.table[bucket];
	}
}

/* Flows with state move by their hash, whichever port their packets come by: a bucket's load is that of its number on
 * all ports. */
static void load_of_all_ports_counts(void **s)
{
	cards = 2;
	begin(s);
	cards = 1;
	ops.table = set_table;
	for (unsigned p = 0; p < 2; p++) {
		published_header()->nic[p].buckets = BUCKETS;
		buckets_reset(p, DATA_CORES);
	}
	all_answer();
	assert_true(core_ports_running());
	self.clock = clock_make(SECOND_NS);
	w.app.moves = true;
	w.app.flows = &flows_there;
	core_set_balance(true);
	struct load_counts *c = busy_until_sampled(0);
	c->v[0][3] = 10;
	c->v[1][3] = 30;
	c->v[0][6] = 20; /* more than the other on the first port */
	pass_ns(BALANCER_SAMPLE_NS);
	pass_ns(1);
	assert_true(core_move_busy());
	for (unsigned p = 0; p < 2; p++)
		assert_int_equal(published_header()->moving[p][0], 1u << 3);
}

/* --- elastic cores (elastic.h) --- */

#define LOOK ELASTIC_LOOK_NS

/* A look finds the cores busy for so many percent of the time. */
static void look_finds(unsigned a, unsigned b, unsigned c)
{
	const unsigned percent[DATA_CORES] = {a, b, c};
	for (unsigned d = 0; d < DATA_CORES; d++)
		core_shm_of(data_core(d))->stats.busy_cycles += LOOK / 100 * percent[d];
	pass_ns(LOOK);
}

static void finish_move(void)
{
	for (unsigned turns = 0; core_move_busy(); turns++) {
		for (unsigned d = 0; d < DATA_CORES; d++)
			answer(d);
		pass_ns(MOVE_SETTLE_NS);
		assert_true(turns < 10);
	}
}

static void begins_elastic(unsigned minimum)
{
	self.clock = clock_make(1000000000);
	w.app.moves = true;
	core_set_balance(false);
	core_set_elastic(minimum, 50);
	pass_ns(LOOK);
}

/* Idle cores give their flows away, one core at a time, the last one first. */
static void gathers_on(unsigned pairs)
{
	while (core_pairs_in_use() > pairs) {
		const unsigned before = core_pairs_in_use();
		for (unsigned i = 0; !core_move_busy(); i++) {
			assert_true(i <= ELASTIC_LOOKS);
			look_finds(1, 1, 1);
		}
		assert_int_equal(core_pairs_in_use(), before - 1);
		finish_move();
		for (unsigned b = 0; b < BUCKETS; b++)
			assert_true(w.table[b] < before - 1);
	}
}

static void press(unsigned d)
{
	core_shm_of(data_core(d))->pressed++;
	pass_ns(1);
}

/* Flows with state are not gathered; the same load, of flows without, is. */
static void flows_are_not_gathered(void **s)
{
	(void)s;
	w.app.flows = &flows_there;
	begins_elastic(1);
	for (unsigned i = 0; i < 4 * ELASTIC_LOOKS; i++)
		look_finds(1, 1, 1);
	assert_false(core_move_busy());
	assert_int_equal(core_pairs_in_use(), DATA_CORES);
	move_plan();
	for (unsigned b = 1; b < BUCKETS; b++)
		move_plan_bucket(0, b, 0);
	assert_string_equal(move_begin(), "flows with state move from one core to one other");
	/* A pair has no bucket any more, and the control program is new: the pair is in use all the same. */
	for (unsigned b = 0; b < BUCKETS; b++)
		if (buckets_home(0, b) == DATA_CORES - 1)
			buckets_move(0, b, 0);
	elastic_reset();
	assert_int_equal(core_pairs_in_use(), DATA_CORES);
	buckets_reset(0, DATA_CORES);
	w.app.flows = NULL;
	gathers_on(1);
}

static void flows_are_gathered(void **s)
{
	(void)s;
	struct published *p = published_header();
	begins_elastic(1);
	assert_int_equal(core_pairs_in_use(), DATA_CORES);
	assert_true(p->pressed_ticks == UINT64_MAX);
	gathers_on(1);
	assert_true(p->pressed_ticks == 50000);
	assert_int_equal(counted(CNT_cores_gathered), 2);
	for (unsigned i = 0; i < 20; i++)
		look_finds(1, 0, 0);
	assert_int_equal(core_pairs_in_use(), 1);
	assert_false(core_move_busy());
	/* a busy core gets another one beside it, with half of its buckets */
	look_finds(ELASTIC_BUSY + 1, 0, 0);
	assert_int_equal(core_pairs_in_use(), 2);
	assert_int_equal(asked_of(1), PORTS_HOLD);
	finish_move();
	assert_int_equal(core_moves_of(data_core(0)).has, BUCKETS / 2);
	assert_int_equal(w.table[0], 0);
	assert_true(p->pressed_ticks == 50000);
	/* one that is pressed gets all of them at once */
	press(1);
	assert_int_equal(core_pairs_in_use(), DATA_CORES);
	assert_true(p->pressed_ticks == UINT64_MAX);
	finish_move();
	for (unsigned d = 0; d < DATA_CORES; d++)
		assert_in_range(core_moves_of(data_core(d)).has, BUCKETS / DATA_CORES, BUCKETS / DATA_CORES + 1);
	assert_int_equal(counted(CNT_cores_spread), 2);
	assert_int_equal(counted(CNT_moved_early), 0);
	assert_int_equal(w.starts, 1);
}

/* A long turn is reported if it had many packets. */
static void long_turns_are_reported(void **s)
{
	(void)s;
	const struct core_shm *o = core_shm_of(self.id);
	elastic_note_turn(ELASTIC_PACKETS - 1);
	assert_int_equal(o->pressed + w.control_woken, 0);
	elastic_note_turn(ELASTIC_PACKETS);
	elastic_note_turn(2 * ELASTIC_PACKETS);
	assert_int_equal(o->pressed, 2);
	assert_int_equal(w.control_woken, 2);
}

/* As long as one core less would be too busy, or without `cores minimum`, nothing is gathered. */
static void flows_stay(void **s)
{
	(void)s;
	begins_elastic(2);
	for (unsigned i = 0; i < 20; i++)
		look_finds(28, 28, 28);
	assert_int_equal(core_pairs_in_use(), DATA_CORES);
	for (unsigned i = 0; i < 20; i++)
		look_finds(1, 1, i % 2 ? 1 : 90); /* not in succession */
	assert_int_equal(core_pairs_in_use(), DATA_CORES);
	gathers_on(2);
	for (unsigned i = 0; i < 20; i++)
		look_finds(1, 1, 0);
	assert_int_equal(core_pairs_in_use(), 2); /* the minimum */
	core_set_elastic(0, 0);
	pass_ns(1);
	assert_int_equal(core_pairs_in_use(), DATA_CORES);
	finish_move();
	for (unsigned i = 0; i < 20; i++)
		look_finds(0, 0, 0);
	assert_int_equal(core_pairs_in_use(), DATA_CORES);
	assert_int_equal(ports_deadline() > self.now_tsc, true);
	core_set_elastic(DATA_CORES + 1, 50); /* there are no more */
	for (unsigned i = 0; i < 20; i++)
		look_finds(0, 0, 0);
	assert_int_equal(core_pairs_in_use(), DATA_CORES);
}

/* After cores were pressed, flows are not gathered for a rest, which doubles if they are pressed again soon. */
static void bursts_are_remembered(void **s)
{
	(void)s;
	begins_elastic(2);
	gathers_on(2);
	uint64_t rest = ELASTIC_REST_NS;
	for (unsigned i = 0; i < 6; i++) {
		press(0);
		finish_move();
		const uint64_t since = host_tsc;
		while (core_pairs_in_use() == DATA_CORES)
			look_finds(1, 1, 1);
		rest = rest * 2 < ELASTIC_REST_MAX_NS ? rest * 2 : ELASTIC_REST_MAX_NS;
		assert_in_range(host_tsc - since, rest - LOOK, rest + ELASTIC_LOOKS * LOOK);
		finish_move();
	}
	host_tsc += 3 * ELASTIC_REST_MAX_NS;
	press(0); /* long after: the first rest again */
	finish_move();
	const uint64_t since = host_tsc;
	while (core_pairs_in_use() == DATA_CORES)
		look_finds(1, 1, 1);
	assert_in_range(host_tsc - since, ELASTIC_REST_NS - LOOK, ELASTIC_REST_NS + ELASTIC_LOOKS * LOOK);
}

/* Whatever homes a port has, also after it alone has restarted: the first pairs get all, the new ones alone take, and as
 * few buckets move as possible. */
static void buckets_are_planned(void **s)
{
	(void)s;
	seed_random("buckets_are_planned");
	for (unsigned run = 0; run < 20000; run++) {
		static const unsigned sizes[] = {8, 64, 128, 512};
		const unsigned n = sizes[random_below(4)], all = 2 + random_below(15);
		const unsigned before = 1 + random_below(all), now = 1 + random_below(all);
		const bool strays = random_below(4) == 0;
		uint8_t home[NIC_BUCKETS_MAX], was[NIC_BUCKETS_MAX];
		unsigned of[NIC_PAIRS_MAX] = {0};
		uint64_t from = 0, to = 0;
		for (unsigned b = 0; b < n; b++)
			was[b] = home[b] = (uint8_t)(b == 0 ? 0 : random_below(strays ? all : before));
		elastic_spread(home, n, before, now);
		assert_int_equal(home[0], 0);
		for (unsigned b = 0; b < n; b++) {
			assert_true(home[b] < now);
			of[home[b]]++;
			if (home[b] == was[b])
				continue;
			from |= 1ull << was[b];
			to |= 1ull << home[b];
			assert_true(was[b] >= now || (home[b] >= before && now > before));
		}
		assert_int_equal(from & to, 0);
		for (unsigned i = before; i < now && !strays; i++) /* a new pair has its share, unless it would be the largest */
			assert_true(of[i] >= n / now / 2 || of[i] + 1 >= n / now);
	}
}

static void has_rules(unsigned n, unsigned first_pair)
{
	assert_int_equal(w.rules, n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(w.rule[i].pairs, 1ull << (first_pair + i));
		assert_int_equal(w.rule[i].dst_port, first_pair + i + 1);
	}
}

/* Rules reach the card at once, and again whenever it starts; those of a core that restarts leave it meanwhile. */
static void rules_follow_the_cores(void **s)
{
	(void)s;
	struct core_rule r[DATA_CORES] = {0};
	for (unsigned d = 0; d < DATA_CORES; d++)
		r[d] = (struct core_rule){0, data_core(d), data_core(d), {.proto = 17, .dst_port = (uint16_t)(d + 1)}};
	ops.rules = set_rules;
	ops.rules_refused = rules_refused;
	assert_null(core_rule_refused(&r[0]));
	core_set_rules(r, DATA_CORES);
	has_rules(DATA_CORES, 0);
	for (unsigned d = 0; d < DATA_CORES; d++)
		assert_null(core_rule_state(d));
	comes_anew(0);
	has_rules(DATA_CORES - 1, 1);
	assert_string_equal(core_rule_state(0), "the core restarts");
	assert_null(core_rule_state(1));
	core_set_rules(r, DATA_CORES); /* a commit meanwhile */
	has_rules(DATA_CORES - 1, 1);
	answers_and_polls(0);
	all_is_well();
	has_rules(DATA_CORES, 0);
	assert_null(core_rule_state(0));
	core_ports_restart("test");
	all_answer();
	assert_string_equal(core_rule_state(0), "the port does not run");
	all_answer();
	all_answer();
	assert_true(core_ports_running());
	has_rules(DATA_CORES, 0);
	core_set_rules(r, 0);
	has_rules(0, 0);
}

/* A core that restarts is left out of its group; without any core left, the rule is not in force. */
static void a_group_goes_on_without_a_core(void **s)
{
	(void)s;
	const struct core_rule r[] = {{0, data_core(0), data_core(1), {.proto = 17}}};
	ops.rules = set_rules;
	ops.rules_refused = rules_refused;
	core_set_rules(r, 1);
	assert_int_equal(w.rule[0].pairs, 3);
	comes_anew(0);
	assert_int_equal(w.rules, 1);
	assert_int_equal(w.rule[0].pairs, 2);
	assert_null(core_rule_state(0));
	answers_and_polls(0);
	all_is_well();
	assert_int_equal(w.rule[0].pairs, 3);
	core_set_rules(r, 0);
}

static void rules_that_cannot_be(void **s)
{
	(void)s;
	struct core_rule r = {0, data_core(1), data_core(1), {.proto = 17}};
	ops.rules = NULL;
	ops.rules_refused = NULL;
	assert_string_equal(core_rule_refused(&r), "it cannot steer by rule");
	ops.rules = set_rules;
	ops.rules_refused = rules_refused;
	assert_null(core_rule_refused(&r));
	r.match.proto = 99;
	assert_string_equal(core_rule_refused(&r), "no such protocol");
	r = (struct core_rule){0, data_core(0), data_core(1), {.proto = 98}};
	assert_string_equal(core_rule_refused(&r), "no groups");
	r.last = r.core;
	assert_null(core_rule_refused(&r));
	r = (struct core_rule){0, data_core(DATA_CORES), data_core(DATA_CORES), {.proto = 17}};
	assert_string_equal(core_rule_refused(&r), "no data core has this number");
	r.core = data_core(0);
	assert_string_equal(core_rule_refused(&r), "no data core has this number");
	r.core = r.last = data_core(0);
	w.rules_error = E_DEVICE;
	core_set_rules(&r, 1);
	assert_string_equal(core_rule_state(0), "the card has failed to take it");
	w.rules_error = E_OK;
	core_set_rules(&r, 1);
	assert_null(core_rule_state(0));
	assert_int_equal(w.rules, 1);
	w.info.status[data_core(0)].state = CORE_DEAD;
	ports_turn();
	all_answer();
	all_answer();
	all_answer();
	assert_true(core_ports_running());
	assert_string_equal(core_rule_state(0), "the core has no queue pair of its own");
	assert_int_equal(w.rules, 0);
}

/* Frames in stopped rings are counted once: of one pair; when its stop fails and all ports are
 * stopped; of all pairs, including that of a dead core; and when they are stopped again before any
 * core has prepared its rings. */
static void what_nobody_read_is_counted(void **s)
{
	(void)s;
	const struct nic_stats *stats = core_port_stats(0);
	left_unread(1, 10, 100);
	comes_anew(1);
	assert_int_equal(stats->rx_unread, 10);
	answers_and_polls(1);
	all_is_well();
	w.stop_error = E_TIMEOUT;
	comes_anew(2);
	assert_int_equal(stats->rx_unread, 10);
	assert_int_equal(asked(), PORTS_LEAVE);
	core_ports_restart("test");
	w.info.status[data_core(0)].state = CORE_DEAD;
	all_answer();
	assert_int_equal(asked(), PORTS_PREPARE);
	assert_int_equal(stats->rx_unread, 111);
	core_ports_restart("again");
	all_answer();
	assert_int_equal(asked(), PORTS_PREPARE);
	assert_int_equal(stats->rx_unread, 111);
}

/* A core that restarts while it is being recovered: before it has prepared, after that, before it
 * polls. */
static void one_comes_again_and_again(void **s)
{
	(void)s;
	comes_anew(1);
	comes_anew(1);
	assert_int_equal(asked_of(1), PORTS_PREPARE);
	answer(1);
	comes_anew(1); /* the pair is started, and must be stopped again */
	ports_turn();
	assert_int_equal(w.spread, ALL_PAIRS & ~2u);
	answers_and_polls(1);
	all_is_well();
	assert_int_equal(w.starts, 1);
}

/* No frames are steered to either of them until it polls. */
static void two_are_revived(void **s)
{
	(void)s;
	comes_anew(2);
	comes_anew(0);
	assert_int_equal(w.spread, ALL_PAIRS & ~4u); /* cores are recovered one at a time */
	answers_and_polls(2);
	assert_int_equal(w.spread, 4 | 2);
	ports_turn();
	assert_int_equal(w.spread, 4 | 2);
	answers_and_polls(0);
	all_is_well();
	assert_int_equal(w.starts, 1);
}

/* Then no core takes received frames; still no pair is stopped that frames are steered to. */
static void all_come_anew(void **s)
{
	(void)s;
	for (unsigned d = 0; d < DATA_CORES; d++)
		core_shm_of(data_core(d))->restarted = 1;
	ports_turn();
	assert_int_equal(w.spread, ALL_PAIRS & ~1u);
	for (unsigned d = 0; d < DATA_CORES; d++) {
		answers_and_polls(d);
		ports_turn();
	}
	all_is_well();
	assert_int_equal(w.starts, 1);
}

/* It dies for good, in each step: all ports are restarted, without it. */
static void one_dies_while_it_is_revived(void **s)
{
	(void)s;
	for (unsigned steps = 0; steps < 2; steps++) {
		comes_anew(1);
		if (steps) {
			answer(1);
			ports_turn();
		}
		w.info.status[data_core(1)].state = CORE_DEAD;
		ports_turn();
		assert_false(core_ports_running());
		w.info.status[data_core(1)].state = CORE_RUNNING;
		restarts_all();
	}
}

/* What the device cannot do for one pair is done for all of the port's; if it fails in the middle, for all ports. */
static void device_fails(void **s)
{
	(void)s;
	w.spread_error = E_TIMEOUT;
	comes_anew(1);
	w.spread_error = 0;
	restarts_alone(1);
	w.stop_error = E_AGAIN;
	comes_anew(1);
	w.stop_error = 0;
	restarts_alone(1);
	w.start_error = E_DEVICE;
	comes_anew(1);
	answer(1);
	ports_turn();
	restarts_all();
	comes_anew(1);
	answer(1);
	ports_turn();
	w.spread_error = E_DEVICE;
	answer(1);
	ports_turn();
	w.spread_error = 0;
	ports_turn();
	restarts_alone(DATA_CORES);
	assert_int_equal(w.starts, 5);
}

/* A device that is gone is not used, and the core polls the other ports. */
static void device_is_gone(void **s)
{
	(void)s;
	w.gone = true;
	ports_check_link();
	w.pairs = 0;
	comes_anew(1);
	answer(1);
	ports_turn();
	answer(1);
	ports_turn();
	assert_true(core_ports_running());
	assert_int_equal(asked(), PORTS_RUNNING);
	assert_int_equal(w.pairs, 0);
	assert_int_equal(w.spread, ALL_PAIRS);
}

/* --- a control program that takes over --- */

static void takes_over(void)
{
	const unsigned starts = w.starts, told = w.told, links = w.links;
	const uint8_t *before = area();
	fails();
	assert_false(core_ports_running());
	ports_turn();
	assert_int_equal(asked(), PORTS_TABLES);
	assert_ptr_equal(w.adopted, before);
	assert_ptr_equal((uint8_t *)published_header() + PUBLISHED_HEADER + published_header()->area, area());
	assert_int_equal(w.links, links + 1);
	for (unsigned d = 0; d < DATA_CORES; d++) {
		ports_turn();
		assert_false(core_ports_running());
		assert_false(ports_let_go());
		answer(d);
	}
	w.skipped = 0;
	ports_turn();
	assert_int_equal(w.skipped, ALL_PAIRS); /* messages punted by the old tables */
	all_is_well();
	assert_true(w.runs);
	assert_int_equal(w.starts, starts); /* the device is not affected */
	assert_int_equal(w.told, told + 1);
}

/* Its tables alternate between two places; memory given to the device stays where it is. */
static void program_takes_over(void **s)
{
	(void)s;
	const void *dma = ports_nic(0)->dma;
	for (unsigned i = 0; i < RESTARTS; i++) {
		w.adopted = NULL;
		takes_over();
		assert_ptr_equal(ports_nic(0)->dma, dma);
		uint8_t *p = core_private_alloc(PRIVATE);
		assert_true(p + PRIVATE <= (const uint8_t *)dma || p > (const uint8_t *)dma);
	}
	comes_anew(1); /* and everything else is as before */
	answers_and_polls(1);
	all_is_well();
}

/* The new program has stopped the ports, as at the first start. */
static void starts_from_nothing(void)
{
	assert_int_equal(asked(), PORTS_STOPPED);
	restarts_all();
	assert_int_equal(published_header()->area, 0);
	takes_over();
}

static void program_does_not_take_over(void **s)
{
	(void)s;
	warm_restart_open(); /* it fails within a driver */
	fails();
	starts_from_nothing();

	published_header()->phase[1] = PORTS_PREPARE;
	fails();
	published_header()->phase[1] = PORTS_STOPPED;
	starts_from_nothing();

	core_shm_of(data_core(2))->epoch--;
	fails();
	starts_from_nothing();

	w.info.status[data_core(0)].state = CORE_DEAD;
	fails();
	w.info.status[data_core(0)].state = CORE_RUNNING;
	starts_from_nothing();

	w.app.data_tables = NULL;
	fails();
	w.app.data_tables = look_elsewhere;
	starts_from_nothing();

	w.info.published_bytes -= 2 * AREA; /* no room for another set */
	published_header()->area = 0;
	fails();
	w.info.published_bytes += 2 * AREA;
	starts_from_nothing();
}

/* A record of the devices with any bit changed is not trusted. */
static void devices_are_not_believed(void **s)
{
	(void)s;
	uint8_t *begin = (uint8_t *)&kept()->ports, *end = (uint8_t *)&kept()->nic[1];
	for (uint8_t *p = begin; p < end; p++) {
		*p ^= 0x10;
		fails();
		assert_int_equal(asked(), PORTS_STOPPED);
		restarts_all();
	}
	takes_over();
}

/* Nor is a changed list of memory pieces accepted: then there are none. */
static void pieces_are_not_believed(void **s)
{
	(void)s;
	size_t bytes;
	uint8_t *journal = core_persist_alloc(CORE_PERSIST_JOURNAL, 100);
	memset(journal, 7, 100);
	takes_over();
	assert_ptr_equal(core_persist_find(CORE_PERSIST_JOURNAL, &bytes), journal);
	assert_int_equal(bytes, 4096);
	warm_restart_open(); /* also where the ports are restarted */
	fails();
	restarts_all();
	assert_ptr_equal(core_persist_find(CORE_PERSIST_JOURNAL, &bytes), journal);
	assert_int_equal(journal[99], 7);
	kept()->piece[0].bytes += 4096;
	fails();
	assert_int_equal(asked(), PORTS_STOPPED);
	assert_null(core_persist_find(CORE_PERSIST_JOURNAL, &bytes));
	restarts_all();
}

/* What it builds is unusable: the next program does not try. */
static void program_gives_up(void **s)
{
	(void)s;
	w.hopeless = true;
	fails();
	if (!setjmp(w.anew)) {
		ports_turn();
		fail();
	}
	assert_int_equal(w.starts, 1);
	fails();
	w.hopeless = false;
	starts_from_nothing();
}

/* The cause of the failures may be in what it takes over. */
static void program_takes_over_too_often(void **s)
{
	(void)s;
	takes_over();
	takes_over();
	host_tsc -= 4000000000;
	fails();
	assert_int_equal(asked(), PORTS_STOPPED);
	restarts_all();
}

/* A data core that restarts meanwhile is recovered afterwards; one that dies is not waited for. */
static void data_core_fails_meanwhile(void **s)
{
	(void)s;
	fails();
	ports_turn();
	answer(0);
	answer(2);
	core_shm_of(data_core(1))->restarted = 1;
	ports_turn();
	assert_true(core_ports_running());
	ports_turn();
	answers_and_polls(1);
	all_is_well();
	fails();
	ports_turn();
	answer(0);
	answer(1);
	w.info.status[data_core(2)].state = CORE_DEAD;
	ports_turn();
	assert_true(core_ports_running());
	ports_turn();
	assert_int_equal(asked(), PORTS_STOPPED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(told_when_all_poll, begin),
		cmocka_unit_test_setup(pairs_near_the_card, begin_running),
		cmocka_unit_test_setup(idle_is_as_said_last, begin),
		cmocka_unit_test_setup(hangs, begin_running),
		cmocka_unit_test_setup(asks_for_a_restart, begin_running),
		cmocka_unit_test_setup(cannot_restart_alone, begin_running),
		cmocka_unit_test_setup(does_not_come_back, begin_running),
		cmocka_unit_test_setup(regains_link_before_stop, begin_running),
		cmocka_unit_test_setup(loses_link_with_frames, begin_running),
		cmocka_unit_test_setup(loses_link_and_stays, begin_running),
		cmocka_unit_test_setup(left_through_restarts, begin_running),
		cmocka_unit_test_setup(regains_link_meanwhile, begin_running),
		cmocka_unit_test_setup(one_comes_anew_meanwhile, begin_running),
		cmocka_unit_test_setup(one_dies_in_each_step, begin_running),
		cmocka_unit_test_setup(parked, begin_running),
		cmocka_unit_test(comes_late),
		cmocka_unit_test(never_comes),
		cmocka_unit_test_setup(one_dies_meanwhile, begin),
		cmocka_unit_test_setup(one_comes_anew, begin),
		cmocka_unit_test_setup(rules_follow_the_cores, begin_running),
		cmocka_unit_test_setup(a_group_goes_on_without_a_core, begin_running),
		cmocka_unit_test_setup(rules_that_cannot_be, begin_running),
		cmocka_unit_test_setup(frames_go_elsewhere_at_once, begin_running),
		cmocka_unit_test_setup(frames_of_several_go_elsewhere, begin_running),
		cmocka_unit_test_setup(frames_stay_elsewhere, begin_running),
		cmocka_unit_test_setup(failure_is_seen_late, begin_running),
		cmocka_unit_test_setup(device_keeps_frames, begin_running),
		cmocka_unit_test_setup(one_is_revived, begin_running),
		cmocka_unit_test_setup(what_nobody_read_is_counted, begin_running),
		cmocka_unit_test_setup(one_comes_again_and_again, begin_running),
		cmocka_unit_test_setup(two_are_revived, begin_running),
		cmocka_unit_test_setup(all_come_anew, begin_running),
		cmocka_unit_test_setup(one_dies_while_it_is_revived, begin_running),
		cmocka_unit_test_setup(device_fails, begin_running),
		cmocka_unit_test_setup(device_is_gone, begin_running),
		cmocka_unit_test_setup(program_takes_over, begin_running),
		cmocka_unit_test_setup(program_does_not_take_over, begin_running),
		cmocka_unit_test_setup(devices_are_not_believed, begin_running),
		cmocka_unit_test_setup(pieces_are_not_believed, begin_running),
		cmocka_unit_test_setup(program_gives_up, begin_running),
		cmocka_unit_test_setup(program_takes_over_too_often, begin_running),
		cmocka_unit_test_setup(data_core_fails_meanwhile, begin_running),
		cmocka_unit_test_setup(bucket_moves, begin_running),
		cmocka_unit_test_setup(move_refused, begin_running),
		cmocka_unit_test_setup(core_fails_in_a_move, begin_running),
		cmocka_unit_test_setup(core_is_late_in_a_move, begin_running),
		cmocka_unit_test_setup(flows_are_gathered, begin_running),
		cmocka_unit_test_setup(flows_stay, begin_running),
		cmocka_unit_test_setup(long_turns_are_reported, begin_running),
		cmocka_unit_test_setup(bursts_are_remembered, begin_running),
		cmocka_unit_test(buckets_are_planned),
		cmocka_unit_test_setup(table_is_not_set, begin_running),
		cmocka_unit_test_setup(flows_move, begin_running),
		cmocka_unit_test_setup(flows_go_back, begin_running),
		cmocka_unit_test_setup(core_fails_among_flows, begin_running),
		cmocka_unit_test_setup(flows_refused_by_name, begin_running),
		cmocka_unit_test_setup(flows_are_not_gathered, begin_running),
		cmocka_unit_test_setup(table_stays_with_flows, begin_running),
		cmocka_unit_test_setup(load_is_balanced, begin_running),
		cmocka_unit_test_setup(moved_buckets_rest, begin_running),
		cmocka_unit_test(load_of_all_ports_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
