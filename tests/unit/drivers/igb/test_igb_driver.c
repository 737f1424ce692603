/*
 * The igb driver and a well-behaved I226 model in one process: from power-on to stop, and the faults that start-up
 * names. tests/unit/drivers/test_hostile_card.c has the other faults, test_pair_alone.c the restart of a pair.
 */
#include "tests/unit/rig/igb_port.h"

#include "tests/unit/rig/intel_faults.h"
#include "tools/nicsim/i226/i226.h"

/* Registers of the manual, for the trace. */
enum {
	CTRL = 0x0,
	STATUS = 0x8,
	CTRL_EXT = 0x18,
	MDIC = 0x20,
	RCTL = 0x100,
	TCTL = 0x400,
	EEER = 0xe30,
	IPCNFG = 0xe38,
	ICR = 0x1500,
	GPIE = 0x1514,
	EIMS = 0x1524,
	EIMC = 0x1528,
	RXPBS = 0x2404,
	TXPBS = 0x3404,
	MTA = 0x5200,
	RAL = 0x5400,
	RAH = 0x5404,
	VFTA = 0x5600,
	CRCERRS = 0x4000,
	MPC = 0x4010,
	MRQC = 0x5818,
	SW_FW_SYNC = 0x5b5c,
	SWSM = 0x5b50,
	UTA = 0xa000,
	RDBAL = 0xc000,
	RXDCTL = 0xc028,
	RQDPC = 0xc030,
	TDBAL = 0xe000,
	TXDCTL = 0xe028,
};

static void start(unsigned pairs)
{
	if (port_start(pairs, INTEL_FEATURES, STANDARD, 1600) != E_OK)
		fail_msg("%s", port.nic.error);
}

static void matches_its_devices(void **s)
{
	(void)s;
	static const uint16_t ours[] = {0x10c9, 0x1521, 0x1533, 0x1539, 0x15f2, 0x15f3, 0x15f7, 0x15f8, 0x3100,
	                                0x3101, 0x5502, 0x0d9f, 0x125b, 0x125c, 0x125d, 0x125e};
	static const uint16_t others[] = {0x10ca, 0x1520, 0x10fb, 0x100e, 0x15fd, 0x125f}; /* the last two: no NVM */
	struct pci_dev d = {.vendor = 0x8086};
	for (unsigned i = 0; i < ARRAY_LEN(ours); i++) {
		d.device = ours[i];
		assert_true(igb_ops.match(&d));
	}
	for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
		d.device = others[i];
		assert_false(igb_ops.match(&d));
	}
	d = (struct pci_dev){.vendor = 0x15b3, .device = 0x125c};
	assert_false(igb_ops.match(&d));
}

static void probe_learns(void **s)
{
	(void)s;
	static const uint8_t mac[6] = {0x02, 0x00, 0x5e, 0x00, 0x53, 0x01};
	power();
	if (port_probe() != E_OK)
		fail_msg("%s", port.nic.error);
	assert_memory_equal(port.nic.mac, mac, 6);
	assert_int_equal(port.nic.pairs_max, 4);
	assert_int_equal(port.nic.mtu_max, NIC_MTU_MAX);
	assert_int_equal(port.nic.features, INTEL_FEATURES | NIC_VLAN);
	rig_force(frame, make_udp(1, 100), 0); /* no frame moves before start */
	rig_run(1000000);
	assert_int_equal(rig.dma_writes, 0);
}

/* Registers that the table names lie beyond a BAR that is too short. */
static void short_bar(void **s)
{
	(void)s;
	power();
	port.pci.bar[0].bytes = 0x10000;
	assert_int_equal(port_probe(), E_NOTSUP);
	assert_non_null(strstr(port.nic.error, "BAR 0"));
	assert_int_equal(port.traced, 0);
}

/* EEC: neither an EEPROM (bit 8) nor a flash (bit 19). */
static uint32_t no_eeprom(uint32_t value)
{
	return value & ~(1u << 8 | 1u << 19);
}

/* The I210 and later chips have their address from fuses then; the 82576 has none. */
static void without_eeprom(void **s)
{
	(void)s;
	static const struct {
		uint16_t device;
		int probe;
	} row[] = {{0x125c, E_OK}, {0x1533, E_OK}, {0x1539, E_OK}, {0x10c9, E_DEVICE}, {0x1521, E_DEVICE}};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		power_of(row[i].device, 10);
		port.lie = no_eeprom;
		const int e = port_probe();
		port.lie = NULL;
		assert_int_equal(e, row[i].probe);
		assert_true(e == E_OK || strstr(port.nic.error, "EEC.PRES"));
		teardown_forgiving(NULL);
	}
}

/* RAH.AV is clear, and there is no EEPROM whose words would change, too. */
static uint32_t invalid(uint32_t value)
{
	return no_eeprom(value) & ~(1u << 31);
}

/* 82576 8.10, RAL and RAH: an address that is invalid, of a group, or zero. */
static void addresses_that_are_none(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 4; i++) {
		power();
		port.lie = i == 0 ? invalid : NULL;
		rig.m->mac[0] |= i == 1;
		if (i == 2)
			memset(rig.m->mac, 0, 6);
		if (i == 3)
			memcpy(rig.m->mac, (const uint8_t[6]){0, 0, 0, 0, 0, 1}, 6);
		const int e = port_probe();
		port.lie = NULL;
		assert_int_equal(e, i == 3 ? E_OK : E_DEVICE);
		assert_true(e == E_OK || strstr(port.nic.error, "no station address"));
		teardown_forgiving(NULL);
	}
}

/* The EEPROM's semaphore is given back if its words cannot be read. */
static void failed_eeprom_is_let_go(void **s)
{
	(void)s;
	power();
	rig_fault("eeprom-stuck");
	assert_int_equal(port_probe(), E_TIMEOUT);
	assert_int_equal(rig_read(SW_FW_SYNC), 0);
	assert_int_equal(rig_read(SWSM), 0);
	rig_write(SWSM, 0);
}

static void start_is_in_order(void **s)
{
	(void)s;
	static const struct {
		enum kind kind;
		uint32_t offset;
		const char *what;
	} order[] = {
		{WRITES, EIMC, "interrupts off"},
		{WRITES, CTRL, "master disable"},
		{WRITES, CTRL, "reset"},
		{WRITES, EIMC, "interrupts off again"},
		{WRITES, CTRL, "the MAC follows the PHY"},
		{WRITES, IPCNFG, "no sleep"},
		{WRITES, SW_FW_SYNC, "the PHY's semaphore"},
		{WRITES, MDIC, "the PHY"},
		{WRITES, SW_FW_SYNC, "its release"},
		{READS, MPC, "counters cleared by reading"},
		{READS, CRCERRS, "all of them"},
		{WRITES, RXPBS, "receive"},
		{WRITES, RDBAL, "receive ring"},
		{WRITES, RXDCTL, "its start"},
		{READS, RXDCTL, "and that it has started"},
		{WRITES, RCTL, "receive path"},
		{WRITES, TDBAL, "transmit ring"},
		{WRITES, TXDCTL, "transmit queue"},
		{READS, TXDCTL, "and that it has started"},
		{WRITES, TCTL, "transmit path"},
		{WRITES, GPIE, "interrupts"},
		{WRITES, EIMS, "and on"},
	};
	power();
	assert_int_equal(port_probe(), E_OK);
	port.traced = 0;
	start(2);
	int at = -1;
	for (unsigned i = 0; i < ARRAY_LEN(order); i++) {
		at = find_access((unsigned)at + 1, order[i].kind, order[i].offset, 4);
		if (at < 0)
			fail_msg("step %u (%s) is missing or out of order", i, order[i].what);
	}
	port_attach();
	/* What a driver for time-sensitive queues may have left is gone, and nothing is held. */
	assert_int_equal(rig_read(RXPBS), 0xa2);
	assert_int_equal(rig_read(TXPBS), 0x04000014);
	assert_int_equal(rig_read(SW_FW_SYNC), 0);
	assert_int_equal(rig_read(SWSM), 0);
	rig_write(SWSM, 0);
}

static void buffers_of_another_driver(void **s)
{
	(void)s;
	power();
	rig_write(RXPBS, 0x22);
	rig_write(TXPBS, 0x04145145);
	assert_int_equal(port_probe(), E_OK);
	start(1);
	port_attach();
	assert_int_equal(rig_read(RXPBS), 0xa2);
	assert_int_equal(rig_read(TXPBS), 0x04000014);
}

/* 82576 4.5.9: the tables of filters may hold anything. All but the station's address (RAL, RAH 0) are written. */
static void filters_are_cleared(void **s)
{
	(void)s;
	static const struct {
		uint32_t offset;
		unsigned stride, first, count;
	} row[] = {{RAL, 8, 1, 16}, {RAH, 8, 1, 16}, {MTA, 4, 0, 128}, {VFTA, 4, 0, 128}, {UTA, 4, 0, 128}};
	power();
	assert_int_equal(port_probe(), E_OK);
	port.traced = 0;
	start(1);
	for (unsigned i = 0; i < ARRAY_LEN(row); i++)
		for (unsigned k = 0; k < row[i].count; k++) {
			const int at = find_access(0, WRITES, row[i].offset + row[i].stride * k, 4);
			assert_int_equal(at >= 0, k >= row[i].first);
			assert_true(at < 0 || port.trace[at].value == 0);
		}
	port_attach();
}

/* 82576 8.2.3: firmware is told of a driver from start to stop. */
static void firmware_is_told_of_the_driver(void **s)
{
	(void)s;
	up(1, INTEL_FEATURES, STANDARD);
	assert_int_equal(rig_read(CTRL_EXT) >> 28 & 1, 1);
	port.traced = 0;
	port_stop();
	const int at = find_access(0, WRITES, CTRL_EXT, 4);
	assert_true(at >= 0);
	assert_int_equal(port.trace[at].value >> 28 & 1, 0);
}

/* --- link --- */

/* 82576 8.2.1: speed, duplex and PAUSE that were forced before do not stay: FRCSPD, FRCDPX, RFCE. */
static uint32_t forced(uint32_t value)
{
	return value | 1u << 11 | 1u << 12 | 1u << 27;
}

static void the_mac_is_not_forced(void **s)
{
	(void)s;
	power();
	assert_int_equal(port_probe(), E_OK);
	port.traced = 0;
	port.lie = forced;
	start(1);
	port.lie = NULL;
	port_attach();
	int at = -1;
	do {
		at = find_access((unsigned)at + 1, WRITES, CTRL, 4);
		assert_true(at >= 0);
	} while (!(port.trace[at].value & 1u << 6)); /* SLU */
	assert_int_equal(port.trace[at].value & forced(0), 0);
}

/* 82576 8.8: ICR.FER. STATUS reads the same bit as 2.5 Gb/s. */
static uint32_t fatal_error(uint32_t value)
{
	return value | 1u << 22;
}

static uint32_t all_ones(uint32_t value)
{
	return value | UINT32_MAX;
}

static void memory_error_asks_for_a_restart(void **s)
{
	(void)s;
	up(1, INTEL_FEATURES, STANDARD);
	assert_false(link_now().restart);
	port.lie = fatal_error;
	const struct nic_link bad = link_now();
	port.lie = all_ones;
	const struct nic_link gone = link_now();
	port.lie = NULL;
	assert_true(bad.up && bad.restart && !bad.gone);
	assert_non_null(strstr(bad.why, "ICR.FER"));
	assert_true(gone.gone && !gone.up && !gone.restart);
	assert_false(link_now().restart);
}

/* 82576 8.7: SW_FW_SYNC has a bit for the PHY of each port; STATUS.LAN_ID says which port this is. */
static uint32_t lan_id;
static uint32_t of_port(uint32_t value)
{
	return (value & ~0xcu) | lan_id << 2;
}

static void each_port_has_its_semaphore(void **s)
{
	(void)s;
	static const uint32_t bit[] = {0x02, 0x04, 0x20, 0x40};
	for (lan_id = 0; lan_id < 4; lan_id++) {
		power();
		assert_int_equal(port_probe(), E_OK);
		port.traced = 0;
		port.lie = of_port;
		start(1);
		port.lie = NULL;
		const int at = find_access(0, WRITES, SW_FW_SYNC, 4);
		assert_true(at >= 0);
		assert_int_equal(port.trace[at].value & ~0xcu, bit[lan_id] & ~0xcu);
		assert_int_equal(port.trace[at].value & bit[lan_id], bit[lan_id]);
		port_attach();
		teardown_forgiving(NULL);
	}
}

/* 82576 8.2.4: MDIC.E. */
static uint32_t phy_error(uint32_t value)
{
	return value | 1u << 30;
}

static void phy_error_is_named(void **s)
{
	(void)s;
	power();
	assert_int_equal(port_probe(), E_OK);
	port.traced = 0;
	port.lie = phy_error;
	const int e = port_start(1, INTEL_FEATURES, STANDARD, 1600);
	port.lie = NULL;
	assert_int_equal(e, E_DEVICE);
	assert_non_null(strstr(port.nic.error, "MDIC.E"));
	const int taken = find_access(0, WRITES, SW_FW_SYNC, 4);
	assert_true(taken >= 0);
	assert_int_equal(port.trace[taken].value & 2, 2);
	const int given = find_access((unsigned)taken + 1, WRITES, SW_FW_SYNC, 4); /* not by the reset */
	assert_true(given >= 0);
	assert_int_equal(port.trace[given].value & 2, 0);
	start(1);
	port_attach();
	assert_true(link_within(1000).up);
}

static void speeds(void **s)
{
	(void)s;
	static const unsigned mbps[] = {2500, 1000, 100, 10};
	up(1, INTEL_FEATURES, STANDARD);
	for (unsigned i = 0; i < ARRAY_LEN(mbps); i++) {
		i226_set_partner(rig.m, mbps[i]);
		assert_false(link_now().up);
		const struct nic_link l = link_within(1000);
		assert_true(l.up);
		assert_int_equal(l.mbps, mbps[i]);
	}
}

/* Each row: a register of the PHY as another driver left it; each makes the driver negotiate anew. */
static void the_phy_is_put_right(void **s)
{
	(void)s;
	static const struct {
		unsigned device, reg;
		uint16_t clear, set;
	} row[] = {
		{0, 4, 0, 0x0c00},     /* advertises PAUSE */
		{7, 32, 0x0080, 0},    /* does not advertise 2.5 Gb/s */
		{0, 0, 0x1000, 0x0800}, /* has no power */
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		up(1, INTEL_FEATURES, STANDARD);
		port_stop();
		uint16_t *reg = i226_phy(rig.m, row[i].device, row[i].reg);
		*reg = (uint16_t)((*reg & ~row[i].clear) | row[i].set);
		start(1);
		port_attach();
		assert_false(link_now().up);
		assert_int_equal(link_within(1000).mbps, 2500);
		assert_int_equal(*i226_phy(rig.m, 0, 4) & 0x0c00, 0);
		assert_int_equal(*i226_phy(rig.m, 7, 32) & 0x0080, 0x0080);
		assert_int_equal(*i226_phy(rig.m, 0, 0) & 0x1800, 0x1000);
		assert_int_equal(*i226_phy(rig.m, 0, 13), 0); /* as other drivers expect it */
		teardown(NULL);
	}
}

static void restart_keeps_the_link(void **s)
{
	(void)s;
	up(2, INTEL_FEATURES, STANDARD);
	port_stop();
	start(2);
	port_attach();
	assert_true(link_now().up);
	assert_int_equal(traffic(320), 320);
}

static void link_changes_are_told(void **s)
{
	(void)s;
	up(2, INTEL_FEATURES, STANDARD);
	assert_int_equal(port.routed[0], 1); /* of the control core */
	for (unsigned i = 0; i < 3; i++) {
		memset(rig.irqs, 0, sizeof rig.irqs);
		rig_carrier(false);
		rig_run(1000000);
		assert_int_equal(rig.irqs[0], 1);
		assert_false(link_now().up);
		rig_carrier(true);
		rig_run(100000000);
		assert_int_equal(rig.irqs[0], 2);
		assert_true(link_now().up);
		assert_int_equal(link_now().again_us, 0);
	}
}

/* What is queued while the link is down is not sent, so stop does not wait for it (a full ring: 100 ms). */
static void stop_without_link_does_not_wait(void **s)
{
	(void)s;
	up(1, INTEL_FEATURES, STANDARD);
	rig_carrier(false);
	rig_run(1000000);
	assert_false(link_now().up);
	take(0, frame, make_udp(1, 100));
	assert_int_equal(tx(0), 1);
	const uint64_t before = rig.now;
	port_stop();
	assert_in_range(rig.now - before, 0, 50000000);
	assert_int_equal(rig_sent_count(), 0);
}

/* Four vectors of five are too few for four pairs: the driver looks at the link instead. */
static void link_without_vectors(void **s)
{
	(void)s;
	power_of(0x125c, 4);
	assert_int_equal(port_probe(), E_OK);
	start(4);
	port_attach();
	assert_true(link_within(1000).up);
	assert_int_equal(link_now().again_us, 1000000);
	assert_true(igb_ops.rx_interrupt(&port.pair[0].q, true)); /* the core polls */
}

/* EEE: a MAC that sleeps delays frames. */
static void no_sleep(void **s)
{
	(void)s;
	power();
	rig_write(EEER, 0x00070000);
	rig_write(IPCNFG, 0x1c);
	assert_int_equal(port_probe(), E_OK);
	rig_write(EEER, 0x00070000);
	rig_write(IPCNFG, 0x1c);
	port.traced = 0;
	start(1);
	port_attach();
	assert_int_equal(rig_read(EEER) & 0x00070000, 0);
	assert_int_equal(rig_read(IPCNFG) & 0x1c, 0);
}

/* --- frames --- */

static void four_pairs(void **s)
{
	(void)s;
	up(4, INTEL_FEATURES, STANDARD);
	for (uint32_t i = 0; i < 400; i++)
		rig_force(frame, make_udp(i, 20), 0);
	for (unsigned q = 0; q < 4; q++) {
		assert_true(rx_all(q) > 40); /* RSS by ports */
		let_go(q);
	}
	for (unsigned q = 0; q < 4; q++) {
		const unsigned len = make_udp(1000 + q, 30);
		take(q, frame, len);
		assert_int_equal(tx(q), 1);
		let_go(q);
		rig_run(100000);
		assert_sent(len);
	}
}

/* Without NIC_RX_CSUM nothing is said of checksums, though the card checks them. */
static void checksums_not_asked_for(void **s)
{
	(void)s;
	up(1, INTEL_FEATURES & ~NIC_RX_CSUM, STANDARD);
	rig_force(frame, make_udp(7, 50), 0);
	assert_int_equal(rx_all(0), 1);
	assert_int_equal(port.pair[0].hands[0].flags & PKT_CSUM_OK, 0);
	let_go(0);
}

/* The card writes as much as start has told it: a pool of other buffers is refused, of shorter ones above all. */
static void other_buffers_are_refused(void **s)
{
	(void)s;
	static const int differs[] = {-1024, 1024};
	up(1, INTEL_FEATURES, STANDARD);
	for (unsigned i = 0; i < ARRAY_LEN(differs); i++) {
		struct nic_queue q = port.pair[0].q;
		struct bufpool pool = port.pair[0].pool;
		pool.stride = (uint32_t)(STANDARD + differs[i]);
		q.pool = &pool;
		assert_int_equal(igb_ops.attach(&q, &port.shared, 0, port.pair[0].mem), E_INVAL);
	}
}

/* A tagged frame for us of `len` bytes. */
static void make_tagged(unsigned len)
{
	ether(0x8100);
	for (unsigned i = 14; i < len; i++)
		frame[i] = (uint8_t)i;
	frame[14] = 0xa1;
	frame[15] = 0x23;
	frame[16] = 0x88; /* IEEE 802: local experiments */
	frame[17] = 0xb5;
}

/* NIC_VLAN: the card strips and inserts tags; without it they stay in the frame. RLPML (82576 8.10) counts tag and
 * FCS: with its tag, a frame may be as long as a buffer and four bytes. */
static void tags(void **s)
{
	(void)s;
	const unsigned longest = STANDARD - BUF_DATA_OFFSET + 4;
	for (unsigned asked = 0; asked < 2; asked++) {
		up(1, INTEL_FEATURES | (asked ? NIC_VLAN : 0), STANDARD);
		const struct pkt *p = &port.pair[0].hands[0];
		make_tagged(100);
		rig_force(frame, 100, 0);
		assert_int_equal(rx_all(0), 1);
		assert_int_equal(p->len, asked ? 96 : 100);
		assert_int_equal(p->flags & PKT_VLAN, asked ? PKT_VLAN : 0);
		assert_memory_equal(p->data, frame, 12);
		assert_memory_equal(p->data + 12, frame + (asked ? 16 : 12), p->len - 12u);
		if (asked)
			assert_int_equal(pkt_meta(&port.pair[0].pool, p->buf)->vlan_tci, 0xa123);
		let_go(0);
		make_tagged(longest);
		rig_force(frame, longest, 0);
		rig_force(frame, longest + 1, 0);
		assert_int_equal(rx_all(0), asked);
		assert_true(!asked || p->len == longest - 4);
		let_go(0);
		struct nic_stats stats = {0};
		igb_ops.stats(&port.nic, &stats);
		assert_int_equal(stats.rx_length, 1);
		teardown(NULL);
	}
	up(1, INTEL_FEATURES | NIC_VLAN, STANDARD);
	make_tagged(100);
	struct pkt *p = take(0, frame + 4, 96);
	memcpy(p->data, frame, 12);
	p->flags = PKT_VLAN;
	pkt_meta(&port.pair[0].pool, p->buf)->vlan_tci = 0xa123;
	assert_int_equal(tx(0), 1);
	rig_run(100000);
	assert_sent(100);
}

/* 82576 8.10, SRRCTL.Drop_En: a queue whose core is slow loses frames, and the others receive theirs. */
static void a_slow_core_does_not_stop_the_others(void **s)
{
	(void)s;
	struct nic_stats stats = {0};
	up(2, INTEL_FEATURES, STANDARD);
	for (uint32_t i = 0; i < 6000; i++)
		rig_force(frame, make_udp(3, 20), 0);
	for (uint32_t i = 0; i < 100; i++)
		rig_force(frame, make_udp(i, 20), 0);
	const unsigned came[2] = {rx_all(0), rx_all(1)};
	assert_in_range(came[0] < came[1] ? came[0] : came[1], 20, 80);
	igb_ops.stats(&port.nic, &stats);
	assert_int_equal(stats.rx_missed, 0);
	assert_int_equal(stats.rx_no_desc, 6100 - came[0] - came[1]);
	for (unsigned q = 0; q < 2; q++)
		let_go(q);
}

static void checksums(void **s)
{
	(void)s;
	up(1, INTEL_FEATURES, STANDARD);
	const unsigned len = make_udp(7, 50);
	rig_force(frame, len, 0);
	frame[len - 1] ^= 1;
	rig_force(frame, len, 0);
	assert_int_equal(rx_all(0), 2);
	assert_true(port.pair[0].hands[0].flags & PKT_CSUM_OK);
	assert_false(port.pair[0].hands[1].flags & PKT_CSUM_OK);
	let_go(0);
}

static void a_core_that_asked_is_woken(void **s)
{
	(void)s;
	up(2, INTEL_FEATURES, STANDARD);
	for (unsigned q = 0; q < 2; q++)
		assert_int_equal(port.routed[1 + q], 2 + q);
	for (unsigned i = 0; i < 3; i++) {
		memset(rig.irqs, 0, sizeof rig.irqs);
		rig_force(frame, make_udp(2, 20), 0);
		rig_run(1000000);
		assert_int_equal(rig.irqs[1] + rig.irqs[2], 0); /* polled: masked */
		rx_all(0);
		rx_all(1);
		for (unsigned k = 0; k < 4; k++) { /* left over from before: at most one spurious interrupt each */
			let_go(k % 2);
			assert_false(igb_ops.rx_interrupt(&port.pair[k % 2].q, true));
			rig_run(1000000);
		}
		memset(rig.irqs, 0, sizeof rig.irqs);
		rig_force(frame, make_udp(2, 20), 0);
		rig_force(frame, make_udp(2, 20), 0);
		rig_run(1000000);
		assert_int_equal(rig.irqs[1] + rig.irqs[2], 1); /* once: it masks itself */
		for (unsigned q = 0; q < 2; q++) {
			igb_ops.rx_interrupt(&port.pair[q].q, false);
			rx_all(q);
			let_go(q);
		}
	}
}

/* --- statistics --- */

/* RQDPC keeps its value when it is read: each loss is counted once. */
static void losses_are_counted_once(void **s)
{
	(void)s;
	struct nic_stats stats = {0};
	up(2, INTEL_FEATURES, STANDARD); /* with two pairs, a full ring drops */
	for (uint32_t i = 0; i < 8000; i++)
		rig_force(frame, make_udp(i % 500, 20), 0);
	igb_ops.stats(&port.nic, &stats);
	const uint64_t lost = stats.rx_no_desc + stats.rx_missed;
	assert_true(lost > 1000);
	assert_int_equal(lost, rig.m->rx_missed);
	for (unsigned i = 0; i < 3; i++)
		igb_ops.stats(&port.nic, &stats);
	assert_int_equal(stats.rx_no_desc + stats.rx_missed, lost);
	for (unsigned q = 0; q < 2; q++) {
		rx_all(q);
		let_go(q);
	}
}

static void damaged_frames_are_counted(void **s)
{
	(void)s;
	struct nic_stats stats = {0};
	up(1, INTEL_FEATURES, STANDARD);
	for (unsigned i = 0; i < 3; i++)
		rig_force(frame, make_udp(i, 20), FRAME_BAD_FCS);
	rig_force(frame, 9800, 0);
	igb_ops.stats(&port.nic, &stats);
	assert_int_equal(stats.rx_crc, 3);
	assert_int_equal(stats.rx_length, 1);
	assert_int_equal(rx_all(0), 0);
}

/* The receive path was on before the transmit queue did not start. */
static void failed_start_receives_nothing(void **s)
{
	(void)s;
	power();
	assert_int_equal(port_probe(), E_OK);
	rig_fault("txdctl-stuck");
	assert_int_equal(port_start(1, INTEL_FEATURES, STANDARD, 1600), E_TIMEOUT);
	assert_int_equal(rig_read(RCTL) >> 1 & 1, 0);
	assert_int_equal(rig_read(RXDCTL) >> 25 & 1, 0);
	rig_fault_clear("txdctl-stuck");
	assert_recovers();
}

static void start_up_faults(void **s)
{
	(void)s;
	static const struct start_up_fault row[] = {
		{"reset-stuck", E_TIMEOUT, E_TIMEOUT, "CTRL.RST"},
		{"eeprom-checksum", E_DEVICE, E_OK, "checksum"},
		{"eeprom-stuck", E_TIMEOUT, E_OK, "EERD.DONE"},
		{"phy-stuck", E_OK, E_TIMEOUT, "MDIC.R"},
		{"rxdctl-stuck", E_OK, E_TIMEOUT, "RXDCTL.ENABLE"},
		{"txdctl-stuck", E_OK, E_TIMEOUT, "TXDCTL.ENABLE"},
		{"master-disable-stuck", E_OK, E_OK, ""},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++)
		assert_start_up_names(&row[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_its_devices),
		cmocka_unit_test_teardown(probe_learns, teardown),
		cmocka_unit_test_teardown(short_bar, teardown),
		cmocka_unit_test(without_eeprom),
		cmocka_unit_test(addresses_that_are_none),
		cmocka_unit_test_teardown(failed_eeprom_is_let_go, teardown),
		cmocka_unit_test_teardown(start_is_in_order, teardown),
		cmocka_unit_test_teardown(buffers_of_another_driver, teardown),
		cmocka_unit_test_teardown(filters_are_cleared, teardown),
		cmocka_unit_test_teardown(firmware_is_told_of_the_driver, teardown),
		cmocka_unit_test_teardown(the_mac_is_not_forced, teardown_forgiving),
		cmocka_unit_test_teardown(memory_error_asks_for_a_restart, teardown),
		cmocka_unit_test(each_port_has_its_semaphore),
		cmocka_unit_test_teardown(phy_error_is_named, teardown_forgiving),
		cmocka_unit_test_teardown(speeds, teardown),
		cmocka_unit_test(the_phy_is_put_right),
		cmocka_unit_test_teardown(restart_keeps_the_link, teardown),
		cmocka_unit_test_teardown(link_changes_are_told, teardown),
		cmocka_unit_test_teardown(stop_without_link_does_not_wait, teardown),
		cmocka_unit_test_teardown(link_without_vectors, teardown),
		cmocka_unit_test_teardown(no_sleep, teardown),
		cmocka_unit_test_teardown(four_pairs, teardown),
		cmocka_unit_test_teardown(checksums_not_asked_for, teardown),
		cmocka_unit_test_teardown(other_buffers_are_refused, teardown),
		cmocka_unit_test_teardown(tags, teardown),
		cmocka_unit_test_teardown(a_slow_core_does_not_stop_the_others, teardown),
		cmocka_unit_test_teardown(checksums, teardown),
		cmocka_unit_test_teardown(a_core_that_asked_is_woken, teardown),
		cmocka_unit_test_teardown(losses_are_counted_once, teardown),
		cmocka_unit_test_teardown(damaged_frames_are_counted, teardown),
		cmocka_unit_test_teardown(failed_start_receives_nothing, teardown),
		cmocka_unit_test(start_up_faults),
	};
	return cmocka_run_group_tests(tests, strict, NULL);
}
