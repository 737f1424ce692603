/*
 * Reset, negotiation, and the start: what the device has to know is written into memory that it shares with us
 * (struct vmxnet3_shared), and one command has the device read it.
 *
 * Filters: the station's own address, broadcast, all multicast, all VLANs: data cores know which groups and VLANs
 * we are in. Receive offloads: checksums, tags. No LRO: a router must not merge frames.
 */
#include "drivers/vmxnet3/device.h"

#include "drivers/vmxnet3/ring.h"
#include "hal/barrier.h"
#include "hal/dma.h"
#include "lib/mem.h"

#define RSS_ENTRIES 32 /* as in Linux */
#define DRIVER_VERSION 0x01000000

int vmxnet3_reset(struct nic *nic)
{
	if (vmxnet3_gone(nic))
		return vmxnet3_fail(nic, E_DEVICE, "");
	vmxnet3_command(nic, VMXNET3_QUIESCE);
	vmxnet3_command(nic, VMXNET3_RESET);
	vmxnet3_write(nic, VMXNET3_DSAL, 0);
	vmxnet3_write(nic, VMXNET3_DSAH, 0);
	nic->error = NULL;
	return E_OK;
}

/*
 * Revision 4 lets us choose that UDP ports are hashed. Revision 2 is a device with RSS for certain: QEMU's, which has
 * none, is of revision 1. Later ones add nothing that we use.
 */
int vmxnet3_negotiate(struct nic *nic)
{
	static const uint32_t known[] = {VMXNET3_REVISION_4, VMXNET3_REVISION_2, VMXNET3_REVISION_1};
	const uint32_t offered = vmxnet3_read(nic, VMXNET3_VRRS);
	struct vmxnet3_device *d = vmxnet3_device(nic);
	if (offered == UINT32_MAX)
		return vmxnet3_fail(nic, E_DEVICE, "");
	d->revision = 0;
	for (unsigned i = 0; i < ARRAY_LEN(known) && !d->revision; i++)
		d->revision = offered & known[i];
	if (!d->revision)
		return vmxnet3_fail(nic, E_NOTSUP, "the device has no revision that the driver knows (VRRS)");
	vmxnet3_write(nic, VMXNET3_VRRS, d->revision);
	if (!(vmxnet3_read(nic, VMXNET3_UVRS) & VMXNET3_UPT_1))
		return vmxnet3_fail(nic, E_NOTSUP, "the device has no UPT version that the driver knows (UVRS)");
	vmxnet3_write(nic, VMXNET3_UVRS, VMXNET3_UPT_1);
	return E_OK;
}

int vmxnet3_learn_mac(struct nic *nic)
{
	const uint32_t low = vmxnet3_ask(nic, VMXNET3_GET_PERM_MAC_LO);
	const uint32_t high = vmxnet3_ask(nic, VMXNET3_GET_PERM_MAC_HI);
	for (unsigned i = 0; i < 6; i++)
		nic->mac[i] = (uint8_t)(i < 4 ? low >> 8 * i : high >> 8 * (i - 4));
	if (nic->mac[0] & 1 || (low | (high & 0xffff)) == 0)
		return vmxnet3_fail(nic, E_DEVICE, "the device has no valid address");
	return E_OK;
}

static uint64_t bus(const volatile void *p)
{
	return dma_addr(p).bus;
}

/* --- the shared memory --- */

static void describe_tx(struct vmxnet3_tx_queue *t, uint8_t *mem, uint8_t vector)
{
	const struct vmxnet3_layout l = vmxnet3_layout(VMXNET3_RING_SIZE);
	t->ring = bus(mem + l.tx_desc);
	t->comp_ring = bus(mem + l.tx_comp);
	t->ring_size = t->comp_ring_size = VMXNET3_RING_SIZE;
	t->vector = vector;
}

static void describe_rx(struct vmxnet3_rx_queue *r, uint8_t *mem, uint8_t vector)
{
	const struct vmxnet3_layout l = vmxnet3_layout(VMXNET3_RING_SIZE);
	r->ring[0] = bus(mem + l.rx_desc);
	r->ring[1] = bus(mem + l.body);
	r->comp_ring = bus(mem + l.rx_comp);
	r->ring_size[0] = VMXNET3_RING_SIZE;
	r->ring_size[1] = VMXNET3_RING_MULTIPLE;
	r->comp_ring_size = VMXNET3_RX_COMPS(VMXNET3_RING_SIZE);
	r->vector = vector;
}

/* A receive queue that only makes their number a power of two. RSS sends it nothing. */
static void describe_idle(const struct vmxnet3_memory *m, struct vmxnet3_rx_queue *r, uint8_t vector)
{
	r->ring[0] = r->ring[1] = bus(m->idle_desc);
	r->comp_ring = bus(m->idle_comp);
	r->ring_size[0] = r->ring_size[1] = VMXNET3_RING_MULTIPLE;
	r->comp_ring_size = 2 * VMXNET3_RING_MULTIPLE;
	r->vector = vector;
}

static void describe_queues(struct nic *nic, const struct nic_config *config)
{
	const struct vmxnet3_device *d = vmxnet3_device(nic);
	struct vmxnet3_memory *m = d->memory;
	const uint8_t silent = (uint8_t)(d->irq ? d->pairs + 1 : 0);
	for (unsigned q = 0; q < d->pairs; q++) {
		describe_tx(&m->queue[q].tx, config->mem[q].mem, silent);
		describe_rx(&m->queue[d->pairs + q].rx, config->mem[q].mem, (uint8_t)(d->irq ? q : 0));
	}
	for (unsigned q = d->pairs; q < d->rx_queues; q++)
		describe_idle(m, &m->queue[d->pairs + q].rx, silent);
}

static void describe_rss(struct nic *nic)
{
	static const uint8_t key[NIC_RSS_KEY_BYTES] = NIC_RSS_KEY;
	const struct vmxnet3_device *d = vmxnet3_device(nic);
	struct vmxnet3_memory *m = d->memory;
	m->rss = (struct vmxnet3_rss){.types = VMXNET3_RSS_TYPES,
	                              .function = VMXNET3_RSS_TOEPLITZ,
	                              .key_size = sizeof key,
	                              .table_size = RSS_ENTRIES};
	memcpy(m->rss.key, key, sizeof key);
	for (unsigned i = 0; i < RSS_ENTRIES; i++)
		m->rss.table[i] = (uint8_t)(i % d->pairs);
	m->shared.features |= VMXNET3_F_RSS;
	m->shared.rss = (struct vmxnet3_conf){1, sizeof m->rss, bus(&m->rss)};
}

static void describe(struct nic *nic, const struct nic_config *config)
{
	const struct vmxnet3_device *d = vmxnet3_device(nic);
	struct vmxnet3_memory *m = d->memory;
	const uint32_t room = config->buf_bytes - BUF_DATA_OFFSET - NIC_FRAME_OVERHEAD;
	memset(m, 0, sizeof *m);
	m->shared = (struct vmxnet3_shared){
		.magic = VMXNET3_MAGIC,
		.driver_version = DRIVER_VERSION,
		.os = VMXNET3_OS_64_LINUX,
		.revisions = d->revision,
		.upt_versions = VMXNET3_UPT_1,
		.features = (config->features & NIC_RX_CSUM ? VMXNET3_F_RX_CSUM : 0) |
	                    (config->features & NIC_VLAN ? VMXNET3_F_RX_VLAN : 0),
		.driver_data = bus(m->driver_data),
		.driver_data_len = sizeof m->driver_data,
		.queues = bus(m->queue),
		.queues_len = (d->pairs + d->rx_queues) * (uint32_t)sizeof m->queue[0],
		.mtu = u32_min(room, VMXNET3_MTU_MAX),
		.rx_pieces = 1,
		.tx_queues = (uint8_t)d->pairs,
		.rx_queues = (uint8_t)d->rx_queues,
		.auto_mask = d->auto_mask,
		.vectors = (uint8_t)(d->irq ? d->pairs + 2 : 1),
		.event_vector = (uint8_t)vmxnet3_event_vector(d),
		.interrupts_off = 1,
		.rx_mode = VMXNET3_MODE_UCAST | VMXNET3_MODE_BCAST | VMXNET3_MODE_ALL_MULTI |
		           (config->features & NIC_PROMISC ? VMXNET3_MODE_PROMISC : 0),
	};
	memset(m->shared.vlans, 0xff, sizeof m->shared.vlans);
	describe_queues(nic, config);
	if (d->pairs > 1)
		describe_rss(nic);
}

/* --- the start --- */

static int route_vectors(struct nic *nic, const struct nic_config *config)
{
	const struct vmxnet3_device *d = vmxnet3_device(nic);
	if (!d->irq)
		return E_OK; /* cores on this port poll without sleeping */
	int e = pci_msix_route(nic->pci, vmxnet3_event_vector(d), 0);
	for (unsigned q = 0; q < d->pairs && e == E_OK; q++)
		e = pci_msix_route(nic->pci, q, config->mem[q].core);
	return e == E_OK ? E_OK : vmxnet3_fail(nic, e, "interrupt vectors cannot be routed");
}

/* All masked, but that of events: a core unmasks its own before it sleeps. */
static void start_vectors(struct nic *nic)
{
	const struct vmxnet3_device *d = vmxnet3_device(nic);
	for (unsigned v = 0; v < (d->irq ? d->pairs + 2 : 1); v++)
		vmxnet3_mask(nic, v, !d->irq || v != vmxnet3_event_vector(d));
	if (d->irq)
		d->memory->shared.interrupts_off = 0;
}

/* The device may have another address than the permanent one from a driver before us. */
static void set_mac(struct nic *nic)
{
	const uint8_t *m = nic->mac;
	vmxnet3_write(nic, VMXNET3_MACL, m[0] | m[1] << 8 | m[2] << 16 | (uint32_t)m[3] << 24);
	vmxnet3_write(nic, VMXNET3_MACH, m[4] | (uint32_t)m[5] << 8);
}

/* UDP ports count in the hash too. Without it all datagrams between two hosts are one pair's. */
static int choose_fields(struct nic *nic)
{
	struct vmxnet3_device *d = vmxnet3_device(nic);
	if (d->pairs == 1 || d->revision != VMXNET3_REVISION_4)
		return E_OK;
	d->memory->shared.argument = VMXNET3_RSS_FIELDS;
	barrier_write();
	if (vmxnet3_ask(nic, VMXNET3_SET_RSS_FIELDS) != 0)
		return vmxnet3_fail(nic, E_DEVICE, "the device refuses to spread UDP (SET_RSS_FIELDS)");
	return E_OK;
}

int vmxnet3_activate(struct nic *nic, const struct nic_config *config)
{
	struct vmxnet3_device *d = vmxnet3_device(nic);
	d->pairs = config->pairs;
	for (d->rx_queues = 1; d->rx_queues < d->pairs;)
		d->rx_queues *= 2;
	d->irq = nic->pci->msix_vectors >= d->pairs + 2;
	const uint32_t intr = vmxnet3_ask(nic, VMXNET3_GET_CONF_INTR);
	d->auto_mask = (intr >> VMXNET3_CONF_MASK_SHIFT & VMXNET3_CONF_MASK_MODE) == 0;
	d->counted = (struct vmxnet3_counts){0};
	d->stopped = d->stops = 0;
	describe(nic, config);
	int e = route_vectors(nic, config);
	if (e != E_OK)
		return e;
	const uint64_t at = bus(&d->memory->shared);
	barrier_write();
	vmxnet3_write(nic, VMXNET3_DSAL, (uint32_t)at);
	vmxnet3_write(nic, VMXNET3_DSAH, (uint32_t)(at >> 32));
	if (vmxnet3_ask(nic, VMXNET3_ACTIVATE) != 0)
		return vmxnet3_fail(nic, E_DEVICE, "the device refuses its configuration (ACTIVATE)");
	set_mac(nic);
	vmxnet3_command(nic, VMXNET3_UPDATE_VLAN_FILTERS);
	vmxnet3_command(nic, VMXNET3_UPDATE_RX_MODE);
	e = choose_fields(nic);
	if (e == E_OK)
		start_vectors(nic);
	return e;
}
