/*
 * The ixgbe driver and a well-behaved 82599 model in one process: from power-on to stop.
 * test_ixgbe_traffic.c has the frames in between, test_ixgbe_faults.c a model that misbehaves.
 */
#include "tests/unit/rig/ixgbe_port.h"

#include "drivers/intel/device.h"
#include "tools/nicsim/82599/82599.h"

/* Registers from the datasheet, for the trace. */
enum {
	CTRL = 0x0,
	ESDP = 0x20,
	CORECTL = 0x14f00,
	SW_FW_SYNC = 0x10160,
	RXCSUM = 0x5000,
	MTQC = 0x8120,
	TXPBSIZE = 0xcc00,
	EICR = 0x800,
	EICS = 0x808,
	LINKS = 0x42a4,
	EIMC = 0x888,
	EIMS = 0x880,
	EEC = 0x10010,
	RDRXCTL = 0x2f00,
	AUTOC = 0x42a0,
	PCS1GANA = 0x4218,
	MSRWD = 0x4260,
	RXMPC = 0x3fa0,
	RXPBSIZE = 0x3c00,
	RDBAL = 0x1000,
	RDT = 0x1018,
	SRRCTL = 0x2100,
	DCA_RXCTRL = 0x2200,
	RXDCTL = 0x1028,
	SECRXCTRL = 0x8d00,
	RXCTRL = 0x3000,
	RTTDCS = 0x4900,
	TDBAL = 0x6000,
	TDT = 0x6018,
	DMATXCTL = 0x4a80,
	TXDCTL = 0x6028,
	GPIE = 0x898,
	I2CCTL = 0x28,
};

/* --- start --- */

static void matches_its_devices(void **s)
{
	(void)s;
	static const uint16_t ours[] = {0x10fb, 0x1557, 0x10f8, 0x10f7, 0x154d, 0x1528, 0x1560, 0x1563, 0x15d1};
	static const uint16_t others[] = {0x10ed, 0x1515, 0x100e, 0x10d3, 0x1572, 0x1565, 0x10b6};
	struct pci_dev d = {.vendor = 0x8086};
	for (unsigned i = 0; i < ARRAY_LEN(ours); i++) {
		d.device = ours[i];
		d.vendor = 0x8086;
		assert_true(ixgbe_ops.match(&d));
		d.vendor = 0x15b3;
		assert_false(ixgbe_ops.match(&d));
	}
	d.vendor = 0x8086;
	for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
		d.device = others[i];
		assert_false(ixgbe_ops.match(&d));
	}
}

static void probe_learns(void **s)
{
	(void)s;
	static const uint8_t mac[6] = {0x02, 0x00, 0x5e, 0x00, 0x53, 0x01};
	power();
	if (port_probe() != E_OK)
		fail_msg("%s", port.nic.error);
	assert_memory_equal(port.nic.mac, mac, 6);
	assert_int_equal(port.nic.pairs_max, 16);
	assert_int_equal(port.nic.mtu_max, NIC_MTU_MAX);
	assert_int_equal(port.nic.features, ALL | NIC_VLAN);
	assert_true(port.nic.mmio_reads > 0 && port.nic.mmio_writes > 0);
	/* No frame moves before start. */
	unsigned len = make_udp(1, 100);
	rig_force(frame, len, 0);
	rig_run(1000000);
	assert_int_equal(rig.dma_writes, 0);
}

/* Boards that are named and not driven: a reason each, and no register of theirs is touched. */
static void names_what_it_does_not_drive(void **s)
{
	(void)s;
	static const struct {
		uint16_t device;
		const char *why;
	} row[] = {
		{0x151c, "82599"}, {0x1558, "QSFP"}, {0x154f, "82599"}, {0x155d, "bypass"}, {0x15aa, "X552"},
		{0x15ac, "X552"},  {0x15ad, "X552"}, {0x15b0, "X552"},  {0x15c2, "X553"},   {0x15c4, "X553"},
		{0x15c8, "token"}, {0x15ce, "X553"}, {0x15e5, "X553"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		power_of(row[i].device, 64);
		assert_true(ixgbe_ops.match(&port.pci));
		assert_int_equal(port_probe(), E_NOTSUP);
		assert_non_null(strstr(port.nic.error, "not driven"));
		assert_non_null(strstr(port.nic.error, row[i].why));
		assert_int_equal(port.traced, 0);
		assert_int_equal(port.command, 0); /* nor can it do DMA */
		teardown(NULL);
	}
}

/* A BAR that is not mapped, or is too small. */
static void probe_without_registers(void **s)
{
	(void)s;
	power();
	port.pci.bar[0].bytes = 0x10000;
	assert_int_equal(port_probe(), E_NOTSUP);
	assert_non_null(port.nic.error);
	port.pci.bar[0] = (struct pci_bar){0, 0};
	assert_int_equal(port_probe(), E_NOTSUP);
	assert_int_equal(port.traced, 0);
}

/* 4.6.3, 4.6.7, 4.6.8: start-up in the manual's order. */
static void start_is_in_order(void **s)
{
	(void)s;
	static const struct {
		enum kind kind;
		uint32_t offset, bytes;
		const char *what;
	} order[] = {
		{WRITES, EIMC, 4, "interrupts off"},
		{WRITES, CTRL, 4, "master disable"},
		{WRITES, CTRL, 4, "reset"},
		{WRITES, EIMC, 4, "interrupts off again"},
		{READS, EEC, 4, "auto-read done"},
		{READS, RDRXCTL, 4, "DMA initialised"},
		{READS, RXMPC, 4, "statistics"},
		{WRITES, RXPBSIZE, 4, "receive"},
		{WRITES, RDBAL, 4, "receive ring"},
		{WRITES, SRRCTL, 4, "its buffers"},
		{WRITES, RXDCTL, 4, "its start"},
		{READS, RXDCTL, 4, "and that it has started"},
		{WRITES, RXCTRL, 4, "receive path"},
		{WRITES, RTTDCS, 4, "transmit"},
		{WRITES, TDBAL, 4, "transmit ring"},
		{WRITES, DMATXCTL, 4, "transmit path"},
		{WRITES, TXDCTL, 4, "transmit queue"},
		{READS, TXDCTL, 4, "and that it has started"},
		{WRITES, GPIE, 4, "interrupts"},
		{WRITES, EIMS, 4, "and on"},
	};
	power();
	assert_int_equal(port_probe(), E_OK);
	port.traced = 0;
	if (port_start(2, ALL, STANDARD, 1600) != E_OK)
		fail_msg("%s", port.nic.error);
	int at = -1;
	for (unsigned i = 0; i < ARRAY_LEN(order); i++) {
		at = find_access((unsigned)at + 1, order[i].kind, order[i].offset, order[i].bytes);
		if (at < 0)
			fail_msg("step %u (%s) is missing or out of order", i, order[i].what);
	}
	/* Interrupts stay off until the end; tails are written only with zero. */
	for (unsigned i = 0; i < port.traced; i++) {
		const struct access *a = &port.trace[i];
		if (a->write && a->offset == EIMS)
			assert_int_equal(i, at);
		if (a->write && (a->offset == RDT || a->offset == TDT))
			assert_int_equal(a->value, 0);
	}
	/* After CTRL.RST no register is accessed for a millisecond (8.2.3.1.1), and 10 ms pass
	 * (4.6.3.2). */
	int reset = -1;
	for (unsigned i = 0; i < port.traced; i++) {
		const struct access *a = &port.trace[i];
		if (a->write && a->offset == CTRL && a->value & 0x4000008)
			reset = (int)i;
	}
	assert_true(reset >= 0);
	assert_true(port.trace[reset + 1].at - port.trace[reset].at >= 1000000);
	int eec = find_access((unsigned)reset, READS, EEC, 4);
	assert_true(port.trace[eec].at - port.trace[reset].at >= 11000000);
	assert_int_equal(port.shared.pairs, 2);
	assert_int_equal(port.shared.features, ALL);
	assert_int_equal(port.routed[0], 1);
	assert_int_equal(port.routed[1], 2);
	assert_int_equal(port.routed[2], 3);
}

/* First write from record `from` on to a register with these bits set to this value; fails the test
 * if there is none. */
static unsigned wrote(unsigned from, uint32_t offset, uint32_t mask, uint32_t value)
{
	for (unsigned i = from; i < port.traced; i++) {
		const struct access *a = &port.trace[i];
		if (a->write && a->offset == offset && (a->value & mask) == value)
			return i;
	}
	fail_msg("%05x is not written as %x/%x", offset, value, mask);
	return 0;
}

/* Steps whose absence no frame would reveal. */
static void quiet_steps(void **s)
{
	(void)s;
	up(2, ALL, STANDARD);
	/* 10.5.4: the module's init sequence is played while we hold the MAC's registers; 4.6.4:
	 * then AUTOC is written with LMS bit 2 inverted, and then with its final value. */
	unsigned taken = wrote(0, SW_FW_SYNC, 0xa, 0xa);
	unsigned played = wrote(taken, CORECTL, 0, 0);
	unsigned away = wrote(played, AUTOC, 0xf000, 0xf000);
	/* PAUSE is off, so 1000BASE-X does not advertise it. */
	assert_in_range(wrote(played, PCS1GANA, 0x180, 0), played, away);
	unsigned back = wrote(away, AUTOC, 0xf000, 0x7000);
	unsigned given = wrote(back, SW_FW_SYNC, 0xa, 0);
	assert_int_equal(wrote(taken + 1, SW_FW_SYNC, 0, 0), given);
	wrote(0, RXCSUM, UINT32_MAX, 0x3000);
	/* No relaxed ordering of what the card writes; 4.6.7: bit 12, too. */
	for (unsigned q = 0; q < 2; q++)
		wrote(0, DCA_RXCTRL + 4 * q, 0xb000, 0);
	/* 4.6.8: the arbiter is disabled while the layout of the queues changes. */
	unsigned still = wrote(0, RTTDCS, 0x40, 0x40), moves = wrote(still, RTTDCS, 0x40, 0);
	assert_in_range(wrote(0, MTQC, UINT32_MAX, 0), still, moves);
	assert_in_range(wrote(0, TXPBSIZE, UINT32_MAX, 160 << 10), still, moves);
	/* The link is read after its interrupt has been acknowledged. */
	unsigned from = port.traced;
	link_now();
	unsigned ack = wrote(from, EICR, UINT32_MAX, 0x10100000);
	assert_int_equal(wrote(ack, EIMS, UINT32_MAX, 0x10100000), ack + 1);
	assert_int_equal(find_access(from, READS, LINKS, 4), ack + 2);
	/* Stop: frames from the wire, queues, receive path, DMA, reset. */
	from = port.traced;
	port_stop();
	from = wrote(from, SECRXCTRL, 0x2, 0x2);
	for (unsigned q = 0; q < 2; q++) {
		from = wrote(from, RXDCTL + 0x40 * q, 0x2000000, 0);
		assert_true(find_access(from, READS, RXDCTL + 0x40 * q, 4) > (int)from);
	}
	for (unsigned q = 0; q < 2; q++)
		from = wrote(from, TXDCTL + 0x40 * q, 0x2000000, 0);
	from = wrote(from, RXCTRL, 1, 0);
	from = wrote(from, CTRL, 4, 4);
	wrote(from, CTRL, 0x4000000, 0x4000000);
}

/* Transmit queues that the system before us has left on, whichever they are, are flushed before DMA is disabled. */
static void queues_left_on(void **s)
{
	(void)s;
	static const unsigned ours[] = {0, 1, 127};
	power();
	assert_int_equal(port_probe(), E_OK);
	assert_int_equal(port_start(2, ALL, STANDARD, 1600), E_OK);
	rig_write(TDBAL + 0x40 * 127 + 8, 128); /* TDLEN */
	rig_write(TXDCTL + 0x40 * 127, 0x2000000);
	const unsigned from = port.traced;
	assert_int_equal(port_probe(), E_OK);
	const unsigned off = wrote(from, CTRL, 4, 4);
	for (unsigned i = 0; i < ARRAY_LEN(ours); i++)
		assert_in_range(wrote(from, TXDCTL + 0x40 * ours[i], 0x6000000, 0x4000000), from, off);
	assert_int_equal(find_access(from, WRITES, TXDCTL + 0x40 * 2, 4), -1);
	/* The second time there is nothing to flush. */
	const unsigned then = port.traced;
	assert_int_equal(port_probe(), E_OK);
	assert_int_equal(find_access(then, WRITES, TXDCTL, 4), -1);
}

static void start_refuses_nonsense(void **s)
{
	(void)s;
	power();
	assert_int_equal(port_probe(), E_OK);
	unsigned before = port.traced;
	struct nic_ring_mem mem[17];
	size_t bytes = ixgbe_ops.ring_bytes(&port.nic);
	for (unsigned i = 0; i < 17; i++)
		mem[i] = (struct nic_ring_mem){rig.memory + RIG_NOTHING, bytes, 0, NULL};
	const struct nic_config bad[] = {
		{0, ALL, STANDARD, mem},
		{17, ALL, STANDARD, mem},
		{1, ALL, 2048, mem},
		{1, ALL, 0, mem},
	};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(ixgbe_ops.start(&port.nic, &bad[i], &port.shared), E_INVAL);
	mem[0].bytes--;
	struct nic_config config = {1, ALL, STANDARD, mem};
	assert_int_equal(ixgbe_ops.start(&port.nic, &config, &port.shared), E_INVAL);
	mem[0] = (struct nic_ring_mem){rig.memory + RIG_NOTHING + 64, bytes, 0, NULL};
	assert_int_equal(ixgbe_ops.start(&port.nic, &config, &port.shared), E_INVAL);
	assert_int_equal(port.traced, before);
	/* A pool with other buffers than the device was configured for. */
	assert_int_equal(port_start(1, ALL, STANDARD, 100), E_OK);
	struct port_pair *p = &port.pair[0];
	p->pool.stride = BUF_STRIDE_JUMBO;
	struct nic_queue q = {.ops = &ixgbe_ops, .pool = &p->pool, .cnt = &p->cnt};
	assert_int_equal(ixgbe_ops.attach(&q, &port.shared, 0, p->mem), E_INVAL);
}

static void link_comes_up(void **s)
{
	(void)s;
	static const uint16_t devices[] = {0x10fb, 0x10f8};
	for (unsigned i = 0; i < ARRAY_LEN(devices); i++) {
		if (i)
			rig_stop(NULL);
		power_of(devices[i], 64);
		assert_int_equal(port_probe(), E_OK);
		assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
		port_attach();
		struct nic_link l = link_within(1000);
		assert_true(l.up && !l.gone);
		assert_int_equal(l.mbps, 10000);
	}
}

/* SFF-8472, table 5-3: each kind of module with its init sequence from the EEPROM and its mode. An
 * unknown kind is used without a sequence, which is told. */
static void modules(void **s)
{
	(void)s;
	enum { NONE, COPPER, OPTICAL };
	static const struct {
		struct sfp_codes module;
		uint8_t kind, mode; /* AUTOC.LMS */
	} row[] = {
		{{.ten = 0x10}, OPTICAL, 3}, {{.ten = 0x20}, OPTICAL, 3}, /* SR, LR */
		{{.cable = 4}, COPPER, 3},   {{.ten = 0x10, .one = 1, .cable = 4}, COPPER, 3}, /* a passive cable */
		{{.cable = 8}, OPTICAL, 3},                             /* an active cable */
		{{.one = 1}, OPTICAL, 2},    {{.one = 2}, OPTICAL, 2},    /* 1000BASE-SX, LX */
		{{.one = 8}, OPTICAL, 2},    {{.ten = 0x10, .one = 1}, OPTICAL, 3}, /* T; both speeds */
		{{.ten = 0x80}, OPTICAL, 3},                            /* ER */
		/* by their rates: 1000BASE-BX10; 10GBASE-BX, and a cable that says the same; 100BASE-BX10 */
		{{.one = 0x40, .rate = 13, .km = 10}, OPTICAL, 2},
		{{.rate = 103, .km = 10}, OPTICAL, 3}, {{.cable = 4, .rate = 103, .km = 10}, COPPER, 3},
		{{.one = 0x40, .rate = 2, .km = 10}, NONE, 3},
		{{.rate = 103}, NONE, 3},    {{.ten = 0x40, .one = 4, .km = 1}, NONE, 3}, /* nothing known; LRM and CX */
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		if (i)
			rig_stop(NULL);
		power_of(0x10fb, 64);
		uint16_t *eeprom = intel_82599_eeprom(rig.m), *sequences = &eeprom[eeprom[0x2b]];
		intel_82599_set_module(rig.m, row[i].module);
		sequences[2]++; /* that of copper begins a word later, its first word is 0x202; */
		sequences[4]--; /* the sum of all words is unchanged */
		assert_int_equal(port_probe(), E_OK);
		assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
		port_attach();
		bool told = false;
		for (unsigned ms = 0; ms < 500; ms++, rig_run(1000000))
			told |= link_now().why != NULL;
		int played = find_access(0, WRITES, CORECTL, 4), set = find_access(0, WRITES, AUTOC, 4);
		assert_int_equal(told, row[i].kind == NONE);
		assert_int_equal(played >= 0, row[i].kind != NONE);
		assert_true(set >= 0);
		if (row[i].kind != NONE)
			assert_int_equal(port.trace[played].value, row[i].kind == COPPER ? 0x202 : 0x101);
		wrote((unsigned)set, AUTOC, 0xf000, row[i].mode << 13 | 0x1000);
	}
}

/* Data from a module is valid while its clock is high, which a slow module may delay: the result is
 * the same (I2C-bus specification, 3.1.9). A module that never releases the clock counts as
 * unknown. */
static void slow_modules(void **s)
{
	(void)s;
	static const struct {
		uint64_t stretch_ns;
		bool known;
	} row[] = {{0, true}, {50000, true}, {900000, true}, {1000000000, false}};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		if (i)
			rig_stop(NULL);
		power_of(0x10fb, 64);
		intel_82599_set_stretch(rig.m, row[i].stretch_ns);
		assert_int_equal(port_probe(), E_OK);
		assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
		port_attach();
		assert_true(link_within(1000).up);
		assert_int_equal(find_access(0, WRITES, CORECTL, 4) >= 0, row[i].known);
	}
}

/* The control core has other work: a look at the link has at most one byte on the wires (9 clocks of some 22 us), and if
 * nobody answers also the end of it (9 more), even if it has to ask for all bytes. */
static void a_look_is_short(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 2; i++) {
		if (i)
			rig_stop(NULL);
		power_of(0x10fb, 64);
		intel_82599_set_module(rig.m, (struct sfp_codes){.one = 0x40, .rate = 13, .km = 10});
		assert_int_equal(port_probe(), E_OK);
		assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
		port_attach();
		if (i)
			rig_fault("module-out");
		for (unsigned look = 0; look < 500; look++, rig_run(1000000)) {
			const uint64_t before = rig.now;
			link_now();
			assert_true(rig.now - before < 500000);
		}
	}
}

static void link_changes_are_told(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	for (unsigned i = 0; i < 6; i++) {
		bool comes = i % 2;
		rig.irqs[0] = 0;
		rig_carrier(comes);
		rig_run(50000000);
		assert_true(rig.irqs[0] > 0);
		assert_int_equal(link_now().up, comes);
		assert_int_equal(link_now().mbps, comes ? 10000 : 0);
	}
	assert_false(link_now().gone);
}

/* Crosstalk may look like a link where no module is in the cage. */
static void an_empty_cage_has_no_link(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	rig_fault("module-out");
	rig_write(AUTOC, rig_read(AUTOC) | 1); /* FLU: LINKS.UP whatever the wire says */
	assert_true(rig_read(LINKS) & 1u << 30);
	assert_false(link_now().up);
	rig_fault_clear("module-out");
	assert_true(link_now().up);
}

/* An error in the card's own memory (EICR.ECC) raises the interrupt; link asks for a restart, each time, once. */
static void memory_errors_are_told(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	for (unsigned starts = 0; starts < 3; starts++) {
		assert_null(link_now().why);
		rig.irqs[0] = 0;
		rig_fault("memory-error");
		rig_run(1000000);
		assert_true(rig.irqs[0] > 0);
		uint32_t set;
		assert_int_equal(ixgbe_ops.rate(&port.nic, 0, 0, &set), E_OK); /* these acknowledge nothing */
		assert_int_equal(ixgbe_ops.time_start(&port.nic), port.nic.no_clock ? E_NOTSUP : E_OK);
		struct nic_link l = link_now();
		assert_true(l.up && !l.gone && l.restart);
		assert_string_equal(l.why, "an error in the card's memory (EICR.ECC)");
		l = link_now();
		assert_true(!l.why && !l.restart); /* acknowledged */
		rig_fault_clear("memory-error");
		port_stop();
		assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
		port_attach();
	}
}

/* A link that does not come up at once is tried again every two seconds, with the laser on, until it does; the other
 * port's or the firmware's semaphore is waited for, but not for longer than its holder may keep it. */
static void link_is_tried_again(void **s)
{
	(void)s;
	static const struct {
		uint64_t restarts;      /* that the link needs; two in each attempt */
		unsigned after, within; /* ms */
	} row[] = {{2, 0, 200}, {3, 1900, 2300}, {10, 7900, 9000}};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		if (i)
			rig_stop(NULL);
		power();
		rig_fault_arg("link-late", row[i].restarts);
		assert_int_equal(port_probe(), E_OK);
		rig_write(ESDP, 1u << 3); /* another system has switched the laser off */
		assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
		port_attach();
		assert_false(row[i].after && link_within(row[i].after).up);
		assert_true(link_within(row[i].within - row[i].after).up);
	}
	rig_stop(NULL);
	power();
	assert_int_equal(port_probe(), E_OK);
	assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
	port_attach();
	rig_write(SW_FW_SYNC, 1u << 3 << 5); /* the firmware holds MAC_CSR, for ever */
	assert_int_equal(link_now().again_us, 5000);
	for (unsigned ms = 0; ms < 900; ms++, rig_run(1000000))
		assert_false(link_now().up); /* the attempt will end what the system before us has left */
	assert_int_equal(find_access(0, WRITES, AUTOC, 4), -1);
	for (unsigned ms = 0; ms < 500; ms++, rig_run(1000000))
		link_now();
	assert_true(link_now().up);
	assert_true(find_access(0, WRITES, AUTOC, 4) >= 0);
}

/* What the card says in the middle of an attempt is not the link's state, however seldom somebody looks. */
static void up_means_up(void **s)
{
	(void)s;
	for (unsigned ms = 1; ms < 70; ms += 3) {
		if (ms > 1)
			rig_stop(NULL);
		power();
		assert_int_equal(port_probe(), E_OK);
		assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
		port_attach();
		for (unsigned i = 0; i < 100; i++) {
			rig_run(ms * 1000000);
			if (link_now().up)
				assert_true(rig_read(LINKS) & 1u << 30);
		}
		assert_true(link_now().up);
	}
}

/* A module with two speeds finds the one of the other end, and is told by SDP5. */
static void two_speeds(void **s)
{
	(void)s;
	static const bool ends[] = {false, true, false};
	power();
	intel_82599_set_module(rig.m, (struct sfp_codes){.ten = 0x10, .one = 1});
	assert_int_equal(port_probe(), E_OK);
	assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
	port_attach();
	for (unsigned i = 0; i < ARRAY_LEN(ends); i++) {
		intel_82599_set_partner(rig.m, ends[i]);
		rig_run(50000000);
		if (i)
			assert_false(link_now().up);
		struct nic_link l = link_within(9000);
		assert_true(l.up);
		assert_int_equal(l.mbps, ends[i] ? 1000 : 10000);
		assert_int_equal(rig_read(ESDP) & 0x2028, ends[i] ? 0x2000 : 0x2020);
	}
	rig_stop(NULL);
	power();
	intel_82599_set_module(rig.m, (struct sfp_codes){.ten = 0x10, .one = 1});
	intel_82599_set_partner(rig.m, true);
	assert_int_equal(port_probe(), E_OK);
	assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
	port_attach();
	assert_false(link_within(4000).up); /* two attempts at 10 Gb/s */
	assert_true(link_within(1500).up);
}

/* Nor does a backplane, whose negotiation AUTOC configures; bits of a cage's AUTOC are left alone. */
static void pause_is_not_advertised(void **s)
{
	(void)s;
	static const struct {
		uint16_t device;
		uint32_t pause;
	} row[] = {{0x10f8, 0}, {0x10fb, 0x30000000}};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		power_of(row[i].device, 64);
		assert_int_equal(port_probe(), E_OK);
		assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
		port_attach();
		assert_true(link_within(5000).up);
		assert_int_equal(rig_read(AUTOC) & 0x30000000, row[i].pause);
		assert_int_equal(rig_read(PCS1GANA) & 0x180, 0);
		teardown(NULL);
	}
}

/* A port that is started again keeps its link: the other end sees nothing. */
static void restart_keeps_the_link(void **s)
{
	(void)s;
	up(2, ALL, STANDARD);
	port_stop();
	assert_true(rig_read(LINKS) & 1u << 30);
	unsigned from = port.traced;
	assert_int_equal(port_start(2, ALL, STANDARD, 1600), E_OK);
	port_attach();
	for (unsigned ms = 0; ms < 3000; ms++, rig_run(1000000))
		assert_true(link_now().up);
	assert_int_equal(find_access(from, WRITES, AUTOC, 4), -1);
}

/* A port that is stopped in the middle of an attempt gives the semaphores back. */
static void stop_ends_an_attempt(void **s)
{
	(void)s;
	power();
	intel_82599_set_module(rig.m, (struct sfp_codes){.ten = 0x10, .one = 1});
	assert_int_equal(port_probe(), E_OK);
	for (unsigned ms = 0; ms < 80; ms += 7) {
		assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
		port_attach();
		for (unsigned i = 0; i < ms; i++, rig_run(1000000))
			link_now();
		port_stop();
		assert_int_equal(rig_read(SW_FW_SYNC) & 0xa, 0);
	}
}

/* Without MSI-X no interrupt tells of a change: the link is looked at once a second even while the core sleeps. */
static void link_without_vectors(void **s)
{
	(void)s;
	power_of(0x10fb, 1);
	assert_int_equal(port_probe(), E_OK);
	assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
	port_attach();
	assert_true(link_within(1000).up);
	assert_int_equal(link_now().again_us, 1000000);
	rig_stop(NULL);
	up(1, ALL, STANDARD);
	assert_int_equal(link_now().again_us, 0);
}

/* --- interrupts --- */

static void interrupts_wake_a_core_that_asked(void **s)
{
	(void)s;
	up(3, ALL, STANDARD);
	unsigned len = make_udp(1, 100), q = 0;
	rig_receive(frame, len);
	rig_run(10000000);
	for (unsigned i = 0; i < 3; i++) {
		q = rx(i, 256) ? i : q;
		let_go(i);
		assert_int_equal(rig.irqs[1 + i], 0); /* not requested */
	}
	struct nic_queue *nq = &port.pair[q].q;
	for (unsigned round = 0; round < 20; round++) {
		/* Left over from the time without a request: at most one spurious interrupt. */
		for (unsigned i = 0; i < 2; i++) {
			assert_false(ixgbe_ops.rx_interrupt(nq, true));
			rig_run(10000000);
		}
		unsigned irqs = rig.irqs[1 + q];
		rig_receive(frame, len);
		rig_run(10000000);
		assert_int_equal(rig.irqs[1 + q], irqs + 1);
		rig_receive(frame, len); /* masked by the first */
		rig_run(10000000);
		assert_int_equal(rig.irqs[1 + q], irqs + 1);
		assert_true(ixgbe_ops.rx_interrupt(nq, true)); /* do not sleep */
		assert_false(ixgbe_ops.rx_interrupt(nq, false) && rx(q, 256) == 0);
		rx(q, 256);
		let_go(q);
		irqs = rig.irqs[1 + q];
		rig_receive(frame, len);
		rig_run(10000000);
		assert_int_equal(rig.irqs[1 + q], irqs);
		assert_int_equal(rx(q, 256), 1);
		let_go(q);
	}
	assert_true(port.pair[q].cnt.irq_arms > 0);
}

/* Too few vectors: the core is told not to sleep. */
static void without_vectors_nobody_sleeps(void **s)
{
	(void)s;
	power_of(0x10fb, 2);
	assert_int_equal(port_probe(), E_OK);
	assert_int_equal(port_start(2, ALL, STANDARD, 1600), E_OK);
	port_attach();
	unsigned before = port.traced;
	assert_true(ixgbe_ops.rx_interrupt(&port.pair[0].q, true));
	assert_int_equal(port.traced, before);
	assert_int_equal(port.routed[0], 0);
}

/* X540: no module, its firmware handles the link; another size of the receive packet buffer. (The
 * model is an 82599, on which X540's additional semaphore bits read as free.) */
static void x540_starts(void **s)
{
	(void)s;
	power_of(0x1528, 64);
	intel_82599_set_phy(rig.m, 3); /* left in low power */
	assert_int_equal(port_probe(), E_OK);
	port.traced = 0;
	assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
	port_attach();
	assert_true(link_within(1000).up);
	/* It advertises no PAUSE (7.16), and negotiates anew (7.0) for that. */
	unsigned at = wrote(0, MSRWD, UINT32_MAX, 0x0001);
	wrote(at, MSRWD, UINT32_MAX, 0x1200);
	assert_int_equal(find_access(0, WRITES, AUTOC, 4), -1);
	assert_int_equal(find_access(0, WRITES, I2CCTL, 4), -1);
	assert_int_equal(port.trace[find_access(0, WRITES, RXPBSIZE, 4)].value, 384 << 10);
	port_stop();
	/* The next start leaves the link alone. */
	port.traced = 0;
	assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
	port_attach();
	assert_true(link_now().up);
	assert_int_equal(find_access(0, WRITES, MSRWD, 4), -1);
	port_stop();
}

/* X540's hardware holds the flash by a bit of its own; the 82599 has no such bit. */
static void the_flash_is_waited_for(void **s)
{
	(void)s;
	for (unsigned x540 = 0; x540 < 2; x540++) {
		power_of(x540 ? 0x1528 : 0x10fb, 64);
		assert_int_equal(port_probe(), E_OK);
		rig_write(SW_FW_SYNC, 0x10);
		assert_int_equal(intel_lock_now(&port.nic, INTEL_SYNC_PHY0, false), E_OK);
		assert_int_equal(intel_lock_now(&port.nic, INTEL_SYNC_EEP, false), x540 ? E_AGAIN : E_OK);
		rig_write(SW_FW_SYNC, 0);
		assert_int_equal(intel_lock_now(&port.nic, INTEL_SYNC_EEP, false), E_OK);
		teardown(NULL);
	}
}

/* --- stop --- */

static void stop_means_stop(void **s)
{
	(void)s;
	static uint8_t before[RIG_MEMORY];
	unsigned len = make_udp(1, 300);
	for (unsigned round = 0; round < 3; round++) {
		if (round == 0) {
			up(4, ALL, STANDARD);
		} else {
			if (port_start(4, ALL, STANDARD, 1600) != E_OK)
				fail_msg("%s", port.nic.error);
			port_attach();
			assert_true(link_within(3000).up);
		}
		for (unsigned i = 0; i < 100; i++) {
			len = make_udp(i, 300);
			assert_true(rig_receive(frame, len));
		}
		unsigned got = 0;
		for (unsigned q = 0; q < 4; q++)
			got += rx_all(q);
		assert_int_equal(got, 100);
		for (unsigned q = 0; q < 4; q++)
			tx(q);
		for (unsigned i = 0; i < 50; i++)
			rig_receive(frame, len); /* in transit */
		port_stop();
		memcpy(before, rig.memory + RIG_NOTHING, RIG_MEMORY - RIG_NOTHING);
		for (unsigned i = 0; i < 100; i++)
			rig_force(frame, len, 0);
		rig_run(1000000000);
		assert_memory_equal(before, rig.memory + RIG_NOTHING, RIG_MEMORY - RIG_NOTHING);
		assert_buffers();
		struct rig_frame f;
		while (rig_sent(&f))
			;
	}
	port_stop(); /* stopping twice does no harm, */
	port_stop();
	rig_stop(NULL);
	power(); /* nor does stop before the first start */
	assert_int_equal(port_probe(), E_OK);
	port_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_its_devices),
		cmocka_unit_test_teardown(probe_learns, teardown),
		cmocka_unit_test(names_what_it_does_not_drive),
		cmocka_unit_test_teardown(probe_without_registers, teardown),
		cmocka_unit_test_teardown(start_is_in_order, teardown),
		cmocka_unit_test_teardown(quiet_steps, teardown),
		cmocka_unit_test_teardown(queues_left_on, teardown),
		cmocka_unit_test_teardown(start_refuses_nonsense, teardown),
		cmocka_unit_test_teardown(link_comes_up, teardown),
		cmocka_unit_test_teardown(modules, teardown),
		cmocka_unit_test_teardown(slow_modules, teardown),
		cmocka_unit_test_teardown(a_look_is_short, teardown),
		cmocka_unit_test_teardown(link_changes_are_told, teardown),
		cmocka_unit_test_teardown(an_empty_cage_has_no_link, teardown),
		cmocka_unit_test(pause_is_not_advertised),
		cmocka_unit_test_teardown(memory_errors_are_told, teardown),
		cmocka_unit_test_teardown(link_is_tried_again, teardown_forgiving),
		cmocka_unit_test_teardown(up_means_up, teardown),
		cmocka_unit_test_teardown(two_speeds, teardown),
		cmocka_unit_test_teardown(restart_keeps_the_link, teardown),
		cmocka_unit_test_teardown(stop_ends_an_attempt, teardown),
		cmocka_unit_test_teardown(link_without_vectors, teardown),
		cmocka_unit_test_teardown(interrupts_wake_a_core_that_asked, teardown),
		cmocka_unit_test_teardown(without_vectors_nobody_sleeps, teardown),
		cmocka_unit_test_teardown(x540_starts, teardown),
		cmocka_unit_test(the_flash_is_waited_for),
		cmocka_unit_test_teardown(stop_means_stop, teardown),
	};
	int failed = cmocka_run_group_tests_name("strict", tests, strict, NULL);
	return failed + cmocka_run_group_tests_name("line rate", tests, line_rate, NULL);
}
