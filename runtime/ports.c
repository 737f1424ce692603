/*
 * The state machine of the ports, on the control core. There is one for all ports, because all share
 * buffers and cores. It never waits, so that with one CPU the data turn of the same core can respond.
 *
 *     state       entered by                    leaves when
 *     STOPPING    start, core_ports_restart     every data core has released the ports → all NICs
 *                                               stopped, application's tables rebuilt → PREPARING
 *     PREPARING   above                         every data core has zeroed its ring memory →
 *                                               NICs started → ATTACHING
 *     ATTACHING   above                         every data core polls its queues → RUNNING; or a
 *                                               data core died or restarted → STOPPING
 *     RUNNING     above                         a data core that polls died, or what has failed cannot
 *                                               be restarted alone (restart.c) → STOPPING
 *     IDLE        no port could be started, or  core_ports_restart
 *                 no data core is left alive
 *     TAKING, SWITCHING                         warm_restart.c
 *
 * A port that does not start, or whose device no longer responds, is reported and stays stopped; the
 * others run. A device that is not ready yet (nic_ops.ready) keeps its number; once it is ready the
 * ports restart with it.
 *
 * A dead data core (kernel's status) holds nothing and counts as having answered. Only living cores get
 * queue pairs; pair_of[] in published memory says which core polls which pair.
 */
#include "runtime/shared.h"
#include "runtime/balancer.h"
#include "runtime/elastic.h"
#include "runtime/move.h"
#include "abi/kcall.h"
#include "drivers/nic.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

#define ANSWER_WARN_NS 2000000000ull /* a data core that takes longer is reported */
#define MTU_DEFAULT 1500
#define PAGE_BYTES 4096u
#define WAIT_SAY_NS 20000000000ull /* between reports of a wait */
#define LATE_US 100000 /* between looks at a device that is not ready */
#define DOWN_US 100000 /* between looks at a link that has just gone down, */
#define DOWN_LOOKS 10
#define DOWN_LONG_US 1000000 /* and later, for frames that wait */
#define STATS_EVERY 32 /* link checks: some seconds, long before a 32-bit counter overflows */

enum state { STOPPING, PREPARING, ATTACHING, RUNNING, IDLE, TAKING, SWITCHING };

static enum state state;
static struct nic *nics; /* nics and stats survive this program, for a warm restart */
static struct nic_stats *stats;
static struct nic_link links[NIC_PORTS_MAX];
static unsigned nic_count;
static bool probed;
static unsigned mtu = MTU_DEFAULT;
static uint32_t promiscuous; /* ports, one bit each */
static uint64_t asked_tsc; /* time of the last request to the data cores */
static uint64_t look_tsc; /* time at which a sleeping core must check the links; UINT64_MAX: never */
static bool warned;
static uint32_t has_run; /* ports, one bit each, that have run since all ports started together */
static enum core_idle idle_wish;
static bool steering = true;

static void enter(enum state next)
{
	state = next;
	core_event(EVENT_ports, next, nic_count);
}

void ports_ask(unsigned d, enum ports_phase phase)
{
	struct published *s = published_header();
	s->phase[d] = (uint8_t)phase;
	shared_store(&s->asked[d], s->asked[d] + 1);
	core_wake(data_core(d));
}

bool ports_answered(unsigned d)
{
	return shared_load(&core_shm_of(data_core(d))->epoch) == published_header()->asked[d];
}

void ports_asked(void)
{
	asked_tsc = clock_tsc(); /* probes may have taken long */
	warned = false;
}

static void publish(enum ports_phase phase)
{
	ports_asked();
	for (unsigned d = 0; d < self.info->data_cores; d++)
		ports_ask(d, phase);
}

void ports_init(void)
{
	struct published *s = published_header();
	elastic_init();
	nics = kept()->nic;
	stats = kept()->stats;
	if (warm_restart_possible()) {
		nic_count = (unsigned)kept()->ports;
		probed = true;
		enter(TAKING);
		return;
	}
	warm_restart_open();
	kept()->taking = 0;
	memset(nics, 0, NIC_PORTS_MAX * sizeof *nics);
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
		stats[p] = (struct nic_stats){.rx_unread = s->lives > 1 ? stats[p].rx_unread : 0,
		                             .tx_unsent = s->lives > 1 ? stats[p].tx_unsent : 0};
	tables_forget_devices();
	probed = false;
	nic_count = 0;
	app_choose();
	enter(STOPPING);
	s->buf_stride = s->buf_stride ? s->buf_stride : BUF_STRIDE_STANDARD;
	s->slots = s->slots ? s->slots : 1;
	publish(PORTS_STOPPED);
}

bool ports_all_answered(void)
{
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		unsigned c = data_core(d);
		if (self.info->status[c].state == CORE_DEAD || ports_answered(d))
			continue;
		if (!warned &&
		    self.now_tsc - asked_tsc > clock_ticks(&self.clock, ANSWER_WARN_NS)) {
			core_log_at(LOG_ERR, "core %u does not answer the control core", c);
			warned = true;
		}
		return false;
	}
	return true;
}

/* --- STOPPING → PREPARING --- */

static const struct nic_ops *driver_for(const struct pci_dev *dev, uint8_t *index)
{
	for (unsigned i = 0; i < nic_driver_count; i++)
		if (nic_drivers[i]->match(dev)) {
			*index = (uint8_t)i;
			return nic_drivers[i];
		}
	return NULL;
}

static void *device_memory(size_t bytes)
{
	return core_persist_alloc(CORE_PERSIST_DEVICES, bytes);
}

static void tell_without_driver(const struct pci_dev *dev)
{
	const char *name = nic_name_without_driver(dev->vendor, dev->device);
	char at[FMT_PCI_MAX];
	core_log_at(LOG_WARNING,
	            "pci %s: %s, %04x:%04x: there is no driver, left out", fmt_pci(at, dev->segment, dev->bdf),
	         name ? name : "network card", dev->vendor, dev->device);
}

static const char *refusal[BOOT_PCI_MAX]; /* why a function is no port, though there is a driver */

/* As nic.waits. Like a turn of this core it shows that the core is not stuck (watch.c). */
static void waits(struct nic *nic, const char *what, uint32_t seconds)
{
	static uint64_t said_tsc;
	struct core_stats *own = &core_shm_of(self.id)->stats;
	uint64_t now = clock_tsc();
	shared_store(&own->turns, own->turns + 1);
	if (said_tsc && now - said_tsc < clock_ticks(&self.clock, WAIT_SAY_NS))
		return;
	said_tsc = now;
	core_log("eth%u: %s: waiting for %s, up to %u s", (unsigned)(nic - nics), nic->ops->name, what,
	         seconds);
}

void ports_report_late(unsigned p)
{
	core_log_at(LOG_WARNING, "eth%u: %s: %s: its port is started later", p, nics[p].ops->name,
	         nics[p].error ? nics[p].error : "not ready");
}

/* What the configuration needs to know of a port, until probe says: a locally administered address,
 * and no reason to refuse an MTU. */
static void be_late(unsigned p)
{
	nics[p].late = NIC_LATE;
	nics[p].mtu_max = NIC_MTU_MAX;
	nics[p].mac[0] = 2;
	nics[p].mac[5] = (uint8_t)p;
}

static void probe(const struct pci_dev *dev)
{
	struct nic *nic = &nics[nic_count];
	uint8_t driver;
	const struct nic_ops *ops = driver_for(dev, &driver);
	if (!ops)
		tell_without_driver(dev);
	if (!ops || nic_count == NIC_PORTS_MAX)
		return;
	*nic = (struct nic){.ops = ops,
	                    .pci = dev,
	                    .dma = device_memory(NIC_DMA_BYTES),
	                    .dma_more = device_memory,
	                    .trace = core_option_number("nic-trace", 0) ? core_print : NULL,
	                    .waits = waits,
	                    .clock = &self.clock};
	int e = nic->dma ? ops->probe(nic, dev) : E_NOMEM;
	if (e == E_AGAIN) {
		be_late(nic_count);
		ports_report_late(nic_count);
	} else if (e != E_OK) {
		const char *why = nic->error ? nic->error : e == E_NOMEM ? "not enough memory" : "cannot be used";
		if (dev->vendor != PCI_VENDOR_NONE)
			refusal[dev->index] = why;
		char name[FMT_PCI_MAX];
		core_log_at(LOG_ERR, "pci %s: %s: %s (error %d), left out",
			            fmt_pci(name, dev->segment, dev->bdf), ops->name, why, -e);
		return;
	}
	published_header()->device[nic_count] = dev->vendor == PCI_VENDOR_NONE ? NO_DEVICE : dev->index;
	published_header()->nic[nic_count++].driver = driver;
}

/* Creates as many null ports as the option says. */
static void probe_null(const char *option, const struct pci_dev *dev)
{
	uint64_t n = core_option_number(option, 0);
	for (unsigned i = 0; i < n && i < NIC_PORTS_MAX; i++)
		probe(dev);
}

/* Devices become eth0, eth1, ... in the order of their PCI addresses; then come the null ports. */
static void probe_all(void)
{
	static const struct pci_dev source = {.vendor = PCI_VENDOR_NONE, .device = NIC_NULL_SOURCE};
	static const struct pci_dev clients = {.vendor = PCI_VENDOR_NONE, .device = NIC_NULL_CLIENTS};
	static const struct pci_dev sink = {.vendor = PCI_VENDOR_NONE, .device = NIC_NULL_SINK};
	for (unsigned i = 0; i < self.info->pci_count; i++)
		if (self.info->pci[i].kind == PCI_NETWORK)
			probe(&self.info->pci[i]);
	probe_null("null", &source);
	probe_null("null-clients", &clients);
	probe_null("null-sinks", &sink);
	probed = true;
}

static void lose(unsigned p, int e)
{
	nics[p].late = NIC_LOST;
	core_log_at(LOG_ERR, "eth%u: %s: %s (error %d); this port is not started", p, nics[p].ops->name,
	         nics[p].error ? nics[p].error : "cannot be used", -e);
}

/* Probes the devices that have become ready since probe_all. */
static void probe_late(void)
{
	for (unsigned p = 0; p < nic_count; p++) {
		struct nic *nic = &nics[p];
		if (nic->late != NIC_HERE || nic->pairs_max)
			continue;
		int e = nic->ops->probe(nic, nic->pci);
		if (e == E_AGAIN)
			nic->late = NIC_LATE;
		else if (e != E_OK)
			lose(p, e);
	}
}

/* Buffers hold the largest frame that any interface may carry. */
static uint32_t stride_wanted(void)
{
	return mtu + NIC_FRAME_OVERHEAD <= BUF_STRIDE_STANDARD - BUF_DATA_OFFSET ? BUF_STRIDE_STANDARD
	                                                                          : BUF_STRIDE_JUMBO;
}

/* A message ring has as many slots as fit its area, before the lanes of receive packet steering. */
static void choose_buffers(struct published *s)
{
	s->buf_stride = stride_wanted();
	unsigned slots = RING_SLOTS_MAX;
	while ((size_t)slots * (s->buf_stride + CACHE_LINE) > STEER_LANES)
		slots /= 2;
	s->slots = slots;
}

static bool is_dead(unsigned d)
{
	return self.info->status[data_core(d)].state == CORE_DEAD;
}

/* The NUMA node of most cards; PCI_NODE_NONE: of none it is known. */
static unsigned home_node(void)
{
	unsigned count[NODES_MAX] = {0}, home = PCI_NODE_NONE;
	for (unsigned p = 0; p < nic_count; p++) {
		const unsigned node = nics[p].pci->vendor == PCI_VENDOR_NONE ? PCI_NODE_NONE : nics[p].pci->node;
		if (node < NODES_MAX && ++count[node] > (home == PCI_NODE_NONE ? 0 : count[home]))
			home = node;
	}
	return home;
}

/* Gives each living data core a queue pair, as long as every NIC has another one: those on the node of most
 * cards first. */
static void assign_pairs(struct published *s)
{
	unsigned most = nic_count ? NIC_PAIRS_MAX : 0;
	for (unsigned p = 0; p < nic_count; p++)
		if (nics[p].pairs_max && nics[p].pairs_max < most)
			most = nics[p].pairs_max;
	const unsigned home = home_node();
	most = (unsigned)u64_min(most, u64_max(core_option_number("pairs", most), 1));
	s->pairs = 0;
	memset(s->pair_of, NO_PAIR, sizeof s->pair_of);
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned d = 0; d < self.info->data_cores && s->pairs < most; d++) {
			const bool near = home == PCI_NODE_NONE || self.info->core[data_core(d)].node == home;
			if (near == (pass == 0) && !is_dead(d))
				s->pair_of[d] = (uint8_t)s->pairs++;
		}
}

/* Decides which data cores take packets from which (steer.h): none with one CPU, or if it is off. */
static void assign_workers(struct published *s)
{
	bool alive[CORES_MAX];
	unsigned node[CORES_MAX];
	const bool on = steering && core_app()->steers && self.info->first_data_core > 0;
	memset(s->owner_of, STEER_NOBODY, sizeof s->owner_of);
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		alive[d] = !is_dead(d);
		node[d] = self.info->core[data_core(d)].node;
	}
	if (on && s->pairs)
		steer_plan(self.info->data_cores, s->pair_of, alive, node, s->owner_of);
}

/* Has the kernel map for each worker the buffers of its owner, and for others none. */
static void lend_buffers(struct published *s)
{
	for (unsigned d = 0; self.info->first_data_core && d < self.info->data_cores; d++) {
		const unsigned of = s->owner_of[d] == STEER_NOBODY ? d : s->owner_of[d];
		const struct steer_pool *p = &core_shm_of(data_core(of))->steer_pool;
		const uint64_t bytes = of == d ? 0 : p->bytes;
		int64_t e = kcall(KCALL_LEND, data_core(d), data_core(of) + bytes, p->base);
		if (of != d && (e != E_OK || bytes == 0)) {
			core_log_at(LOG_WARNING, "core %u: too little memory: it stands by", data_core(d));
			s->owner_of[d] = STEER_NOBODY;
		}
	}
}

/* True if a data core with a queue pair is dead. */
static bool holder_died(void)
{
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (unlikely(is_dead(d)) && published_header()->pair_of[d] != NO_PAIR)
			return true;
	return false;
}

/* Reads the device's counters, if it has any and responds. */
void ports_read_stats(unsigned p)
{
	if (nics[p].ops->stats && published_header()->nic[p].pairs && !links[p].gone)
		nics[p].ops->stats(&nics[p], &stats[p]);
}

/* From here on the ports are stopped; data cores have released them. */
static void enter_idle(void)
{
	for (unsigned p = 0; p < nic_count; p++) /* some may be parked */
		nics[p].ops->stop(&nics[p]);
	published_header()->ports = 0;
	publish(PORTS_STOPPED);
	enter(IDLE);
	core_app()->control->ports();
}

static void enter_preparing(void)
{
	struct published *s = published_header();
	if (!probed)
		probe_all();
	probe_late();
	for (unsigned p = 0; p < nic_count; p++)
		restart_stop_port(p);
	s->ports = 0;
	s->left = 0;
	s->area = self.area;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		ring_punt_skip(d); /* before the rings' geometry changes */
	core_app()->control->start();
	s->idle_sleep = core_idle_mode() == CORE_IDLE_SLEEP;
	choose_buffers(s);
	s->ports = nic_count;
	for (unsigned p = 0; p < nic_count; p++)
		s->ring_bytes[p] = align_up(nics[p].ops->ring_bytes(&nics[p]), PAGE_BYTES);
	assign_pairs(s);
	assign_workers(s);
	if (nic_count && s->pairs == 0) {
		core_log_at(LOG_CRIT, "no data core is left alive: the ports are stopped");
		enter_idle();
		return;
	}
	publish(PORTS_PREPARE);
	enter(PREPARING);
}

/* --- PREPARING → ATTACHING → RUNNING --- */

const struct nic_config *ports_config(unsigned p)
{
	static struct nic_ring_mem mem[NIC_PAIRS_MAX];
	static struct nic_config config;
	const struct published *s = published_header();
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		unsigned c = data_core(d);
		if (s->pair_of[d] != NO_PAIR)
			mem[s->pair_of[d]] = (struct nic_ring_mem){
				(void *)(uintptr_t)core_shm_of(c)->ring_mem[p], s->ring_bytes[p], c,
				&core_shm_of(c)->nic[p]};
	}
	config = (struct nic_config){.pairs = s->pairs,
	                             .features = (nics[p].features & ~(uint32_t)NIC_VLAN) |
	                                         (core_app()->promiscuous || promiscuous >> p & 1 ? NIC_PROMISC : 0),
	                             .buf_bytes = s->buf_stride,
	                             .mem = mem};
	return &config;
}

/* What all started ports can do. A port that restarts alone must not have less. */
static uint32_t common_features(const struct published *s)
{
	uint32_t all = UINT32_MAX;
	for (unsigned p = 0; p < nic_count; p++)
		if (s->nic[p].pairs)
			all &= s->nic[p].features;
	return all == UINT32_MAX ? 0 : all;
}

static void enter_attaching(void)
{
	if (holder_died()) { /* it has not prepared its ring memory */
		core_ports_restart("a data core died");
		return;
	}
	lend_buffers(published_header());
	published_header()->move_open = false;
	unsigned started = 0;
	for (unsigned p = 0; p < nic_count; p++)
		started += restart_start_port(p) == E_OK;
	memset(links, 0, sizeof links);
	if (nic_count && started == 0) {
		enter_idle();
		return;
	}
	published_header()->features = common_features(published_header());
	publish(PORTS_RUNNING);
	enter(ATTACHING);
}

/* The application is told only now. It then starts to send, and a queue that has no buffers yet would
 * lose the answers. */
static void enter_running(void)
{
	enter(RUNNING);
	restart_reset();
	elastic_reset();
	for (unsigned p = 0; p < nic_count; p++)
		if (published_header()->nic[p].pairs)
			has_run |= 1u << p;
	warm_restart_seal(nic_count);
	ports_check_link();
	core_app()->control->ports();
}

/* --- TAKING → SWITCHING --- */

/* The cards have the rules of the previous control program. */
static void give_rules(void)
{
	for (unsigned p = 0; p < nic_count; p++)
		if (published_header()->nic[p].pairs && !links[p].gone && rules_set(p, UINT64_MAX) != E_OK)
			rules_report(p);
}

static void take_over(void)
{
	struct published *s = published_header();
	if (!warm_restart_begin() || stride_wanted() != s->buf_stride)
		warm_restart_give_up("what it has built does not do for what runs");
	s->area = self.area;
	publish(PORTS_TABLES);
	enter(SWITCHING);
}

/* --- ATTACHING, RUNNING → STOPPING --- */

void core_ports_restart(const char *why)
{
	if (state == STOPPING)
		return;
	if (state == TAKING || state == SWITCHING)
		warm_restart_give_up(why);
	warm_restart_open();
	core_log_at(LOG_WARNING, "ports restart: %s", why);
	restart_reset();
	has_run = 0;
	publish(PORTS_STOPPED);
	enter(STOPPING);
}

static bool data_core_restarted(void)
{
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (shared_load(&core_shm_of(data_core(d))->restarted) && !is_dead(d))
			return true;
	return false;
}

/* False: the ports are being stopped, because a data core died or restarted. */
static bool holders_are_well(void)
{
	if (unlikely(holder_died()))
		core_ports_restart("a data core died");
	else if (unlikely(data_core_restarted()))
		core_ports_restart("a data core was restarted");
	return state != STOPPING;
}

static void running(void)
{
	if (unlikely(holder_died())) {
		core_ports_restart("a data core died");
	} else if (unlikely(restart_due() || data_core_restarted() || recovery_lead_is_due())) {
		warm_restart_open();
		balancer_reset();
		move_abandon();
		recovery_lead();
		if (!restart_turn())
			core_ports_restart(restart_failure());
		else if (state == RUNNING && !restart_busy())
			warm_restart_seal(nic_count);
	} else {
		if (unlikely(move_busy()))
			move_turn();
		elastic_turn();
		balancer_turn(core_pairs_in_use());
	}
}

/* The application may have to wait before the first start, for what it is configured by. */
static bool may_start(void)
{
	static bool may;
	may = may || !core_app()->control->may_start || core_app()->control->may_start();
	return may;
}

void ports_turn(void)
{
	switch (state) {
	case STOPPING:
		if (ports_all_answered() && may_start())
			enter_preparing();
		break;
	case PREPARING:
		if (ports_all_answered())
			enter_attaching();
		break;
	case ATTACHING:
		if (holders_are_well() && ports_all_answered())
			enter_running();
		break;
	case RUNNING:
		running();
		break;
	case TAKING:
		take_over();
		break;
	case SWITCHING:
		if (warm_restart_ended()) {
			give_rules();
			enter_running();
		}
		break;
	case IDLE:
		break;
	}
}

bool ports_let_go(void)
{
	return state == PREPARING || state == IDLE || state == TAKING || (state == STOPPING && ports_all_answered());
}

uint64_t ports_deadline(void)
{
	if (state == RUNNING && !restart_due() && !move_busy())
		return u64_min(look_tsc, u64_min(balancer_deadline(), elastic_deadline()));
	return state == IDLE ? look_tsc : self.now_tsc;
}

static void say_why(unsigned p)
{
	const char *name = nics[p].ops->name, *why = links[p].why;
	if (links[p].gone)
		core_log_at(LOG_ERR, "eth%u: %s: the device no longer answers%s%s", p, name, why ? ": " : "",
		            why ? why : "");
	else if (why)
		core_log_at(LOG_ERR, "eth%u: %s: %s", p, name, why);
}

/* Asks the devices that are not ready. A port that has run restarts alone. True: all restart, because the device is
 * new to applications, or no port runs. */
static bool look_for_late(void)
{
	bool ready = false, alone;
	for (unsigned p = 0; p < nic_count; p++) {
		if (nics[p].late != NIC_LATE)
			continue;
		int e = nics[p].ops->ready(&nics[p]);
		alone = state == RUNNING && has_run >> p & 1;
		if (e == E_OK)
			nics[p].late = NIC_HERE;
		else if (e != E_AGAIN)
			lose(p, e);
		if (e == E_OK && alone)
			restart_port(p, "the device is ready");
		ready |= e == E_OK && !alone;
		look_tsc = u64_min(look_tsc, nic_deadline(&nics[p], LATE_US));
	}
	if (ready)
		core_ports_restart("a device is ready");
	return ready;
}

/* Checks a link; true if the application must be told. After a warm restart it is told of every
 * link. */
static bool look_at_link(unsigned p, bool read_stats)
{
	const struct nic_link was = links[p];
	nics[p].ops->link(&nics[p], &links[p]);
	say_why(p);
	if (links[p].gone)
		links[p].up = false;
	else if (read_stats)
		ports_read_stats(p);
	if (links[p].restart)
		restart_port(p, links[p].why ? links[p].why : "the device asks for it");
	if (links[p].again_us)
		look_tsc = u64_min(look_tsc, nic_deadline(&nics[p], links[p].again_us));
	if (links[p].up && restart_left(p)) {
		links[p].up = false; /* until data cores use it */
		restart_join(p);
	}
	if (links[p].up != was.up || links[p].gone != was.gone)
		core_event(EVENT_link, p, links[p].gone ? 2 : links[p].up);
	return links[p].up != was.up || state == TAKING;
}

/* True if frames wait in the rings of a port whose link is down. The card would send them when the link returns. */
static bool has_frames(unsigned p)
{
	static uint8_t looks[NIC_PORTS_MAX]; /* since the link was up, at most DOWN_LOOKS */
	const struct nic_shared *shared = &published_header()->nic[p];
	struct nic *nic = &nics[p];
	if (!nic->ops->tx_left || !shared->pairs || links[p].gone || restart_left(p))
		return false;
	if (links[p].up) {
		looks[p] = 0;
		return false;
	}
	looks[p] += looks[p] < DOWN_LOOKS;
	look_tsc = u64_min(look_tsc, nic_deadline(nic, looks[p] < DOWN_LOOKS ? DOWN_US : DOWN_LONG_US));
	for (unsigned pair = 0; pair < shared->pairs; pair++)
		if (nic->ops->tx_left(nic, pair, ports_config(p)->mem[pair].mem))
			return restart_may(p);
	return false;
}

void ports_link_again(unsigned p)
{
	links[p].gone = links[p].restart = false;
}

/* The link of a port that has not started again; true if the application must be told. */
static bool end_link(unsigned p)
{
	const bool up = links[p].up;
	links[p].up = false;
	if (up)
		core_event(EVENT_link, p, 0);
	return up;
}

void ports_check_link(void)
{
	static unsigned looks;
	bool read_stats = looks++ % STATS_EVERY == 0, news[NIC_PORTS_MAX] = {false};
	look_tsc = UINT64_MAX;
	if (state == IDLE)
		look_for_late();
	if (state != RUNNING && state != TAKING)
		return;
	warm_restart_open();
	if (state == RUNNING && look_for_late())
		return;
	for (unsigned p = 0; p < nic_count; p++) {
		core_alive(); /* a look reads device registers, on a busy host for tens of milliseconds */
		if (published_header()->nic[p].pairs && !links[p].gone && !restart_has(p))
			news[p] = look_at_link(p, read_stats);
		else if (!published_header()->nic[p].pairs && !restart_has(p))
			news[p] = end_link(p);
	}
	for (unsigned p = 0; p < nic_count && state == RUNNING; p++)
		if (nics[p].ops->start_mends && !restart_has(p) && watch_port(p, links[p].up))
			restart_port(p, "the device sends nothing although its link is up");
	for (unsigned p = 0; p < nic_count && state == RUNNING && !restart_busy(); p++)
		if (!restart_has(p) && has_frames(p))
			restart_leave(p);
	if (!restart_busy())
		warm_restart_seal(nic_count);
	for (unsigned p = 0; p < nic_count; p++)
		if (news[p])
			core_app()->control->link(p, &links[p]);
}

/* --- state and counters --- */

void core_set_mtu(unsigned m) { mtu = m; }
void core_set_promiscuous(uint32_t ports) { promiscuous = ports; }
void core_set_steering(bool on) { steering = on; }
void core_set_idle(enum core_idle idle, uint32_t spin_us)
{
	idle_wish = idle;
	__atomic_store_n(&published_header()->idle_spin_us, spin_us, __ATOMIC_RELAXED);
	__atomic_store_n(&published_header()->idle_sleep, core_idle_mode() == CORE_IDLE_SLEEP,
	                 __ATOMIC_RELAXED);
	for (unsigned d = 0; d < self.info->data_cores; d++)
		core_wake(data_core(d)); /* a halted core reads it when it wakes */
}

unsigned core_port_count(void) { return nic_count; }
const struct nic *core_port_nic(unsigned port) { return &nics[port]; }

struct core_card core_card(unsigned index)
{
	const struct pci_dev *dev = &self.info->pci[index];
	uint8_t driver;
	const struct nic_ops *ops = driver_for(dev, &driver);
	for (unsigned p = 0; p < nic_count; p++)
		if (nics[p].pci == dev)
			return (struct core_card){.port = p, .driver = nics[p].ops->name};
	if (!ops)
		return (struct core_card){.port = UINT32_MAX,
		                          .name = nic_name_without_driver(dev->vendor, dev->device)};
	return (struct core_card){.port = UINT32_MAX, .driver = ops->name,
	                          .why = refusal[index]               ? refusal[index]
	                                 : nic_count == NIC_PORTS_MAX ? "there are as many ports as can be"
	                                                              : "it was left out at the first start"};
}
struct nic *ports_nic(unsigned p) { return &nics[p]; }
bool core_ports_running(void) { return state == RUNNING; }
bool ports_settled(void) { return state == RUNNING || state == IDLE; }

enum core_idle core_idle_mode(void)
{
	char text[8];
	enum core_idle idle = idle_wish;
	if (core_option("idle", text, sizeof text))
		idle = strcmp(text, "poll") == 0    ? CORE_IDLE_POLL
		       : strcmp(text, "sleep") == 0 ? CORE_IDLE_SLEEP
		                                    : idle;
	/* A guest shares its host's CPUs; bare metal has no other use for them. */
	if (idle == CORE_IDLE_AUTO)
		idle = self.info->hypervisor ? CORE_IDLE_SLEEP : CORE_IDLE_POLL;
	return idle;
}

uint32_t core_idle_spin_us(void) { return published_header()->idle_spin_us; }

bool ports_is_there(unsigned p)
{
	return state == RUNNING && published_header()->nic[p].pairs && !links[p].gone;
}

bool core_port_link(unsigned port, struct nic_link *link)
{
	*link = links[port];
	return state == RUNNING;
}

void core_port_counters(unsigned port, struct nic_counters *sum)
{
	uint64_t *to = (uint64_t *)sum;
	memset(sum, 0, sizeof *sum);
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const uint64_t *from = (const uint64_t *)&core_shm_of(data_core(d))->nic[port];
		for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
			to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	}
}

const struct nic_stats *core_port_stats(unsigned port)
{
	if (state == RUNNING) {
		warm_restart_open();
		ports_read_stats(port);
		if (!restart_busy())
			warm_restart_seal(nic_count);
	}
	return &stats[port];
}

int core_port_rate(unsigned port, unsigned pair, uint32_t kbps, uint32_t *set)
{
	struct nic *nic = &nics[port];
	if (state != RUNNING || links[port].gone || pair >= published_header()->nic[port].pairs)
		return E_AGAIN;
	if (!nic->ops->rate)
		return E_NOTSUP;
	warm_restart_open();
	int e = nic->ops->rate(nic, pair, kbps, set);
	if (e == E_OK)
		restart_bind(port);
	if (!restart_busy())
		warm_restart_seal(nic_count);
	return e;
}

struct nic *core_port_clock(unsigned port)
{
	struct nic *nic = &nics[port];
	bool runs = state == RUNNING && port < nic_count && !links[port].gone;
	if (!runs || !nic->ops->time_start)
		return NULL;
	restart_bind(port);
	return nic;
}

void core_fates(unsigned interface, uint64_t sum[CNT_FATES])
{
	memset(sum, 0, CNT_FATES * sizeof *sum);
	for (unsigned c = 0; interface < CORE_INTERFACES_MAX && c < self.info->cores; c++) {
		const uint64_t *v = core_shm_fates(c)->v[interface];
		for (unsigned i = 0; shared_load(&core_shm_of(c)->fates_clean) && i < CNT_FATES; i++)
			sum[i] += __atomic_load_n(&v[i], __ATOMIC_RELAXED);
	}
}

void core_counters(struct counters *sum)
{
	memset(sum, 0, sizeof *sum);
	for (unsigned c = 0; c < self.info->cores; c++)
		for (unsigned i = 0; i < CNT_MAX; i++)
			sum->v[i] += __atomic_load_n(&core_shm_of(c)->counters.v[i], __ATOMIC_RELAXED);
	/* A dead core cannot count the frames that it was processing. */
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (is_dead(d))
			sum->v[CNT_drop_restart] += ring_deficit(data_core(d));
}

const struct core_stats *core_stats_of(unsigned core)
{
	return &core_shm_of(core)->stats;
}
