/*
 * The life of the ports, on the control core. One state machine for all ports, because buffers
 * and cores are shared by all: it never waits, so that with one CPU the data turn of the same
 * core can answer.
 *
 *     state       entered by                    leaves when
 *     STOPPING    start, core_ports_restart     every data core has let go → all NICs stopped,
 *                                               application's tables rebuilt → PREPARING
 *     PREPARING   above                         every data core has zeroed its ring memory →
 *                                               NICs started → RUNNING
 *     RUNNING     above                         a data core came up anew → STOPPING
 *     IDLE        no port could be started      core_ports_restart
 *
 * A data core that is dead (kernel's status) has nothing in hand and counts as having answered.
 */
#include "core/outbox.h"
#include "drivers/nic.h"
#include "lib/mem.h"

#define ANSWER_WARN_NS 2000000000ull /* a data core that takes longer is named */
#define ETHERNET_OVERHEAD 18         /* header and one VLAN tag */
#define MTU_DEFAULT 1500

enum state { STOPPING, PREPARING, RUNNING, IDLE };

static enum state state;
static struct nic nics[NIC_PORTS_MAX];
static struct nic_link links[NIC_PORTS_MAX];
static unsigned nic_count;
static bool probed;
static unsigned mtu = MTU_DEFAULT;
static uint64_t asked_tsc; /* when the data cores were told */
static bool warned;
static enum core_idle idle_wish;

static void publish(enum ports_phase phase)
{
	struct snapshot *s = snapshot_header();
	s->phase = phase;
	shared_store(&s->epoch, s->epoch + 1);
	asked_tsc = self.now_tsc;
	warned = false;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		core_wake(data_core(d));
}

void core_set_app(const char *name)
{
	for (unsigned i = 0; i < core_app_count; i++)
		if (strcmp(core_apps[i]->name, name) == 0)
			snapshot_header()->app = i;
}

/* What the command line says about the application; the configuration may, if it says nothing. */
static void choose_app(void)
{
	char name[16];
	snapshot_header()->app = 0;
	if (core_option("app", name, sizeof name))
		core_set_app(name);
}

void ports_init(void)
{
	struct snapshot *s = snapshot_header();
	choose_app();
	state = STOPPING;
	s->buf_stride = s->buf_stride ? s->buf_stride : BUF_STRIDE_STANDARD;
	s->slots = s->slots ? s->slots : 1;
	publish(PORTS_STOPPED);
}

static bool all_answered(void)
{
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		unsigned c = data_core(d);
		if (self.info->status[c].state == CORE_DEAD ||
		    shared_load(&outbox_of(c)->epoch) == snapshot_header()->epoch)
			continue;
		if (!warned &&
		    self.now_tsc - asked_tsc > clock_ticks(&self.clock, ANSWER_WARN_NS)) {
			core_log("core %u does not answer the control core", c);
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

/* Devices become eth0, eth1, ... in the order of their PCI addresses. */
static void probe_all(void)
{
	struct snapshot *s = snapshot_header();
	for (unsigned i = 0; i < self.info->pci_count && nic_count < NIC_PORTS_MAX; i++) {
		const struct pci_dev *dev = &self.info->pci[i];
		struct nic *nic = &nics[nic_count];
		uint8_t driver;
		const struct nic_ops *ops = driver_for(dev, &driver);
		if (!ops)
			continue;
		*nic = (struct nic){.ops = ops, .pci = dev, .dma = core_private_alloc(NIC_DMA_BYTES)};
		int e = nic->dma ? ops->probe(nic, dev) : E_NOMEM;
		if (e != E_OK) {
			core_log("pci %02x:%02x.%x: %s: %s (error %d), left out", dev->bdf >> 8,
			         dev->bdf >> 3 & 31, dev->bdf & 7, ops->name,
			         nic->error ? nic->error : "cannot be used", -e);
			continue;
		}
		s->nic[nic_count++].driver = driver;
	}
	probed = true;
}

/* Buffers hold the largest frame that any interface may carry; rings hold what fits an area. */
static void choose_buffers(struct snapshot *s)
{
	s->buf_stride = mtu + ETHERNET_OVERHEAD <= BUF_STRIDE_STANDARD - BUF_DATA_OFFSET
	                        ? BUF_STRIDE_STANDARD
	                        : BUF_STRIDE_JUMBO;
	unsigned slots = RING_SLOTS_MAX;
	while ((size_t)slots * (s->buf_stride + CACHE_LINE) > OUTBOX_AREA)
		slots /= 2;
	s->slots = slots;
}

static void enter_preparing(void)
{
	struct snapshot *s = snapshot_header();
	if (!probed)
		probe_all();
	for (unsigned p = 0; p < nic_count; p++)
		nics[p].ops->stop(&nics[p]);
	s->ports = 0;
	core_app()->control_start();
	s->idle_sleep = core_idle_mode() == CORE_IDLE_SLEEP;
	choose_buffers(s);
	s->ports = nic_count;
	s->pairs = nic_count ? self.info->data_cores : 0;
	for (unsigned p = 0; p < nic_count; p++) {
		s->ring_bytes[p] = nics[p].ops->ring_bytes(&nics[p]);
		if (nics[p].pairs_max < s->pairs)
			s->pairs = nics[p].pairs_max;
	}
	/* The rings are empty: nobody attached reads or writes them now. */
	rings_init();
	publish(PORTS_PREPARE);
	state = PREPARING;
}

/* --- PREPARING → RUNNING --- */

static int start_port(unsigned p)
{
	struct snapshot *s = snapshot_header();
	struct nic_ring_mem mem[NIC_PAIRS_MAX];
	uint8_t driver = s->nic[p].driver;
	for (unsigned d = 0; d < s->pairs; d++) {
		unsigned c = data_core(d);
		mem[d] = (struct nic_ring_mem){(void *)(uintptr_t)outbox_of(c)->ring_mem[p],
		                               s->ring_bytes[p], c};
	}
	int e = nics[p].ops->start(&nics[p], s->pairs, mem, &s->nic[p]);
	s->nic[p].driver = driver;
	return e;
}

static void enter_running(void)
{
	struct snapshot *s = snapshot_header();
	for (unsigned p = 0; p < nic_count; p++) {
		int e = start_port(p);
		if (e == E_OK)
			continue;
		core_log("eth%u: %s: %s (error %d); no port is started", p, nics[p].ops->name,
		         nics[p].error ? nics[p].error : "does not start", -e);
		for (unsigned q = 0; q < p; q++)
			nics[q].ops->stop(&nics[q]);
		s->ports = 0;
		publish(PORTS_STOPPED);
		state = IDLE;
		return;
	}
	publish(PORTS_RUNNING);
	state = RUNNING;
	memset(links, 0, sizeof links);
	ports_check_link();
	core_app()->control_ports(true);
}

/* --- RUNNING → STOPPING --- */

void core_ports_restart(const char *why)
{
	if (state == STOPPING)
		return;
	core_log("ports restart: %s", why);
	core_app()->control_ports(false);
	publish(PORTS_STOPPED);
	state = STOPPING;
}

static bool data_core_restarted(void)
{
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (shared_load(&outbox_of(data_core(d))->restarted))
			return true;
	return false;
}

void ports_turn(void)
{
	switch (state) {
	case STOPPING:
		if (all_answered())
			enter_preparing();
		break;
	case PREPARING:
		if (all_answered())
			enter_running();
		break;
	case RUNNING:
		if (unlikely(data_core_restarted()))
			core_ports_restart("a data core was restarted");
		break;
	case IDLE:
		break;
	}
}

uint64_t ports_deadline(void)
{
	return state == STOPPING || state == PREPARING ? self.now_tsc : UINT64_MAX;
}

void ports_check_link(void)
{
	for (unsigned p = 0; state == RUNNING && p < nic_count; p++) {
		struct nic_link now;
		nics[p].ops->link(&nics[p], &now);
		if (now.up == links[p].up)
			continue;
		links[p] = now;
		core_app()->control_link(p, &now);
	}
}

/* --- what anybody may ask --- */

void core_set_mtu(unsigned m) { mtu = m; }
void core_set_idle(enum core_idle idle) { idle_wish = idle; }
unsigned core_port_count(void) { return nic_count; }
const struct nic *core_port_nic(unsigned port) { return &nics[port]; }
bool core_ports_running(void) { return state == RUNNING; }

enum core_idle core_idle_mode(void)
{
	char text[8];
	enum core_idle idle = idle_wish;
	if (core_option("idle", text, sizeof text))
		idle = strcmp(text, "poll") == 0    ? CORE_IDLE_POLL
		       : strcmp(text, "sleep") == 0 ? CORE_IDLE_SLEEP
		                                    : idle;
	/* A guest shares its host; a machine of its own has nothing better to do than poll. */
	if (idle == CORE_IDLE_AUTO)
		idle = self.info->hypervisor ? CORE_IDLE_SLEEP : CORE_IDLE_POLL;
	return idle;
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
		const uint64_t *from = (const uint64_t *)&outbox_of(data_core(d))->nic[port];
		for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
			to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	}
}

void core_counters(struct counters *sum)
{
	memset(sum, 0, sizeof *sum);
	for (unsigned c = 0; c < self.info->cores; c++)
		for (unsigned i = 0; i < CNT_MAX; i++)
			sum->v[i] += __atomic_load_n(&outbox_of(c)->counters.v[i], __ATOMIC_RELAXED);
}

const struct core_stats *core_stats_of(unsigned core)
{
	return &outbox_of(core)->stats;
}

void *core_snapshot_area(size_t *bytes)
{
	*bytes = self.info->snapshot_bytes - SNAPSHOT_HEADER;
	return (uint8_t *)snapshot_header() + SNAPSHOT_HEADER;
}
