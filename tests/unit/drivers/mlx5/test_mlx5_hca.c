/*
 * The device half of the mlx5 driver against a firmware with every kind of fault: commands and
 * their errors, bring-up and teardown, the firmware's pages, events, link and counters.
 */
#include "tests/unit/rig/mlx5_firmware.h"

#include "drivers/mlx5/device.h"
#include "hal/cpuid.h"

#define GONE "device no longer answers (registers read all ones)"

static struct nic_shared shared;

static void up(unsigned pairs)
{
	fw_power(64);
	if (fw_probe() != E_OK || fw_start(pairs, &shared) != E_OK)
		fail_msg("%s", fw.nic.error);
}

static struct nic_link link_now(void)
{
	struct nic_link l;
	fw.now += 100000000;
	mlx5_ops.link(&fw.nic, &l);
	host_clock_tsc(); /* executes what was posted, */
	fw.now += 100000000;
	host_clock_tsc(); /* now at the latest */
	return l;
}

/* Calls link until the device counts as gone, or asks for a restart, which it does if a reset may help; returns how
 * many calls, and why. */
static unsigned looks_to_end(const char **why)
{
	for (unsigned looks = 1;; looks++) {
		struct nic_link l = link_now();
		*why = l.why;
		if (l.gone || l.restart) {
			assert_int_equal(l.restart, fw.flr && !fw.removed);
			assert_int_equal(l.gone, !l.restart);
			assert_false(l.up);
			return looks;
		}
		assert_true(looks < 400);
		if (l.why)
			fail_msg("said while it lives: %s", l.why);
	}
}

/* --- bring-up --- */

static void matches_its_devices(void **s)
{
	(void)s;
	static const uint16_t ours[] = {0x1013, 0x1014, 0x1015, 0x1016, 0x1017, 0x1018, 0x1019, 0x101a,
	                                0x101b, 0x101c, 0x101d, 0x101e, 0x101f, 0x1021};
	static const uint16_t others[] = {0x1003, 0x1011, 0x1012, 0x1020, 0x10fb, 0xa2d2};
	struct pci_dev d = {.vendor = 0x15b3};
	for (unsigned i = 0; i < ARRAY_LEN(ours); i++) {
		d.device = ours[i];
		assert_true(mlx5_ops.match(&d));
	}
	for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
		d.device = others[i];
		assert_false(mlx5_ops.match(&d));
	}
	d = (struct pci_dev){.vendor = 0x8086, .device = 0x1017};
	assert_false(mlx5_ops.match(&d));
}

static void probe_learns(void **s)
{
	(void)s;
	fw_power(64);
	if (fw_probe() != E_OK)
		fail_msg("%s", fw.nic.error);
	assert_memory_equal(fw.nic.mac, fw.vport_mac, 6);
	assert_int_equal(fw.nic.pairs_max, 64);
	assert_int_equal(fw.nic.mtu_max, NIC_MTU_MAX);
	assert_int_equal(fw.nic.features, NIC_LINK | NIC_RSS | NIC_RX_CSUM | NIC_TX_CSUM | NIC_TSO |
	                                          NIC_SG | NIC_VLAN);
	assert_null(fw.nic.error);
	fw_assert_clean();
}

/* The PRM's order, and what the firmware is told in the process. */
static void order_of_bring_up(void **s)
{
	(void)s;
	static const uint16_t order[] = {
		0x104, 0x10a, 0x10b, 0x107, 0x108, 0x108, 0x805, 0x100, 0x100, 0x109, 0x107, 0x108,
		0x108, 0x108, 0x102, 0x100, 0x100, 0x100, 0x10d, 0x754, /* all learnt */
		0x103, 0x108, 0x108, 0x108, 0x108, 0x105};
	fw_power(64);
	assert_int_equal(fw_probe(), E_OK);
	for (unsigned i = 0; i < ARRAY_LEN(order); i++)
		if (fw.log[i].opcode != order[i])
			fail_msg("command %u is 0x%x, not 0x%x", i, fw.log[i].opcode, order[i]);
	assert_int_equal(fw.logged, ARRAY_LEN(order));
	for (unsigned i = 0; i < fw.logged; i++) /* pages have the last entry to themselves */
		assert_int_equal(fw.log[i].entry, fw.log[i].opcode == 0x108 ? 31 : 0);
}

static void queues_and_their_end(void **s)
{
	(void)s;
	for (unsigned pairs = 1; pairs <= 4; pairs += 3) {
		up(pairs);
		unsigned tirs = pairs > 1 ? 9 : 1;
		assert_int_equal(shared.pairs, pairs);
		assert_int_equal(fw_count(0x301), 1 + pairs);
		assert_int_equal(fw_count(0x400), 2 * pairs + 1); /* one of the RQ that drops */
		assert_int_equal(fw_count(0x904), pairs);
		assert_int_equal(fw_count(0x905), pairs);
		assert_int_equal(fw_count(0x908), pairs + 1);
		assert_int_equal(fw_count(0x909), pairs + 1);
		assert_int_equal(fw_count(0x916), pairs > 1 ? 2 : 1); /* of all pairs, of the first */
		assert_int_equal(fw_count(0x900), tirs);
		assert_int_equal(fw_count(0x936), tirs + 2);
		for (unsigned i = 0; i <= pairs; i++)
			assert_int_equal(fw.routed[i], i ? i + 1 : 1);
		assert_int_equal(fw.pages, 1000);
		assert_true(fw_find(0, 0x829) < 0); /* not an e-switch manager */
		fw_stop();
		fw_assert_clean();
		assert_true(fw.pci_command & 4);
		fw_stop(); /* harmless */
		fw_assert_clean();
		size_t brk = fw.brk;
		assert_int_equal(fw_start(pairs, &shared), E_OK);
		fw_stop();
		assert_int_equal(fw.brk, brk); /* the same pages as before */
	}
}

/* What a previous driver has left running is ended before memory is used. If it cannot be ended,
 * the device accesses no memory either. */
static void left_running(void **s)
{
	(void)s;
	up(2);
	size_t brk = fw.brk;
	fw.clings = true;
	fw.tick_ns = 100000;
	assert_int_equal(fw_probe(), E_TIMEOUT);
	assert_string_equal(fw.nic.error, "firmware does not let go of the driver before");
	assert_int_equal(fw.brk, brk);
	assert_false(fw.pci_command & 4);
	fw.clings = false;
	assert_int_equal(fw_probe(), E_OK);
	assert_int_equal(fw_start(2, &shared), E_OK);
	fw_stop();
	fw_assert_clean();
}

/* In whatever state, a function that can be reset is reset. One in its state after power-on is
 * not. */
static void left_running_and_reset(void **s)
{
	(void)s;
	up(2);
	fw.clings = true;
	fw.flr = true;
	fw.bar = 0xfe00000c;
	fw.pci_command = 6;
	assert_int_equal(fw_probe(), E_OK);
	assert_int_equal(fw.resets, 1);
	assert_int_equal(fw.bar, 0xfe00000c);
	assert_int_equal(fw.pci_command & 2, 2);
	assert_int_equal(fw_start(2, &shared), E_OK);
	fw_stop();
	fw_assert_clean();
	fw_power(64);
	fw.flr = true;
	assert_int_equal(fw_probe(), E_OK);
	assert_int_equal(fw.resets, 0);
}

static void without_vectors(void **s)
{
	(void)s;
	fw_power(2);
	assert_int_equal(fw_probe(), E_OK);
	assert_int_equal(fw_start(2, &shared), E_OK);
	assert_int_equal(fw_count(0x301), 1);
	assert_int_equal(fw.routed[0], 0);
	fw_stop();
	fw_assert_clean();
}

/* The key allows relaxed ordering of what the card writes and reads as far as the card can. */
static void relaxed_ordering(void **s)
{
	(void)s;
	const bool off = mlx5_cpu_stalls(cpu_id(0, 0).b, cpu_id(1, 0).a); /* of this machine */
	assert_true(mlx5_cpu_stalls(0x756e6547, 0x306f2));  /* Haswell-EP, */
	assert_true(mlx5_cpu_stalls(0x756e6547, 0x406f1));  /* Broadwell-EP, */
	assert_false(mlx5_cpu_stalls(0x756e6547, 0x50654)); /* Skylake-SP, */
	assert_false(mlx5_cpu_stalls(0x68747541, 0x306f2)); /* AMD */
	for (unsigned caps = 0; caps < 4; caps++) {
		fw_power(64);
		fw.caps[0][0x1d] |= (uint8_t)(caps << 6);
		assert_int_equal(fw_probe(), E_OK);
		assert_int_equal(fw_start(1, &shared), E_OK);
		const uint8_t *mkc = fw.log[fw_find(0, 0x200)].in + 0x10;
		assert_int_equal(mkc[0x01] >> 2 & 1, !off && caps >> 1); /* write: bit 18 of the first word */
		assert_int_equal(mkc[0x3b] >> 6 & 1, !off && (caps & 1));  /* read */
		fw_stop();
		fw_assert_clean();
	}
}

static void e_switch_manager(void **s)
{
	(void)s;
	fw_power(64);
	fw.caps[0][0x34] |= 1; /* bit 24 */
	assert_int_equal(fw_probe(), E_OK);
	assert_int_equal(fw_start(1, &shared), E_OK);
	int at = fw_find(0, 0x829);
	assert_true(at >= 0);
	assert_memory_equal(fw.log[at].in + 0x22, fw.vport_mac, 6);
	fw_stop();
	assert_int_equal(fw_count(0x82b), 1);
	fw_assert_clean();
}

/* --- unsupported devices --- */

static void not_for_us(void **s)
{
	(void)s;
	fw_power(64);
	fw.caps[0][0x36] = 0; /* port_type: InfiniBand */
	assert_int_equal(fw_probe(), E_NOTSUP);
	assert_string_equal(fw.nic.error, "the port is not set to Ethernet");
	fw_assert_clean();
	fw_power(64);
	fw.caps[0][0x1b] = 0; /* log_max_cq: one */
	assert_int_equal(fw_probe(), E_NOTSUP);
	assert_string_equal(fw.nic.error, "it has one completion queue, and a queue pair needs two");
	fw_assert_clean();
	fw_power(64);
	fw.caps[7][0x40] = 0;
	assert_int_equal(fw_probe(), E_NOTSUP);
	fw_assert_clean();
	fw_power(64);
	fw.pci.bar[0].bytes = 4096;
	assert_int_equal(fw_probe(), E_NOTSUP);
	assert_int_equal(fw.doorbells, 0);
	fw_power(64);
	fw.room = fw.brk;
	assert_int_equal(fw_probe(), E_NOMEM);
	fw_power(64);
	fw.vport_mac[0] = 1;
	assert_int_equal(fw_probe(), E_DEVICE);
	fw_assert_clean();
}

#define SECOND 1000000000ull

/* As the runtime asks. */
static int wait_until_ready(void)
{
	for (;;) {
		int e = mlx5_ops.ready(&fw.nic);
		if (e != E_AGAIN)
			return e;
		fw.now += 100000000;
	}
}

static void never_ready(void **s)
{
	(void)s;
	fw_power(64);
	fw.initialising = true;
	fw.tick_ns = 100000;
	uint64_t from = fw.now;
	assert_int_equal(fw_probe(), E_AGAIN);
	assert_string_equal(fw.nic.error, "firmware is still in its initialisation");
	assert_in_range(fw.now - from, 1900000000, 2500000000); /* the other ports do not wait */
	assert_int_equal(wait_until_ready(), E_TIMEOUT);
	assert_string_equal(fw.nic.error, "firmware stays in its initialisation");
	assert_in_range(fw.now - from, 119 * SECOND, 123 * SECOND);
	assert_int_equal(fw.doorbells, 0);
	fw_power(64); /* one that can be reset is, and has the same time again */
	fw.initialising = true;
	fw.flr = true;
	fw.tick_ns = 100000;
	from = fw.now;
	assert_int_equal(fw_probe(), E_AGAIN);
	assert_int_equal(wait_until_ready(), E_TIMEOUT);
	assert_string_equal(fw.nic.error, "firmware stays in its initialisation, also after a reset");
	assert_in_range(fw.now - from, 239 * SECOND, 245 * SECOND);
	assert_int_equal(fw.resets, 1);
	assert_int_equal(fw.doorbells, 0);
}

/* Firmware that takes long is waited for, and then works; also one that a reset gets going. */
static void ready_late(void **s)
{
	(void)s;
	fw_power(64);
	fw.tick_ns = 100000;
	fw.init_until = fw.now + 100 * SECOND;
	assert_int_equal(fw_probe(), E_AGAIN);
	assert_int_equal(wait_until_ready(), E_OK);
	assert_int_equal(fw_probe(), E_OK);
	assert_int_equal(fw_start(2, &shared), E_OK);
	fw_stop();
	fw_assert_clean();
	fw_power(64);
	fw.tick_ns = 100000;
	fw.flr = true;
	fw.init_until = ~0ull;
	fw.init_ns = 30 * SECOND;
	assert_int_equal(fw_probe(), E_AGAIN);
	assert_int_equal(wait_until_ready(), E_OK);
	assert_int_equal(fw.resets, 1);
	assert_int_equal(fw_probe(), E_OK);
	assert_int_equal(fw_start(2, &shared), E_OK);
	fw_stop();
	fw_assert_clean();
}

static unsigned waited;

static void count_waits(struct nic *nic, const char *what, uint32_t seconds)
{
	assert_ptr_equal(nic, &fw.nic);
	assert_non_null(what);
	assert_true(seconds < 600);
	waited++;
}

/* Probes a device whose first command is never answered; returns how long that took. */
static uint64_t hang(uint32_t init_to, uint32_t exec_to)
{
	fw_power(64);
	fw.tick_ns = 100000;
	fw.init_to = init_to;
	fw.exec_to = exec_to;
	fw.at = 1;
	fw.fault = FW_HANG;
	fw.nic.waits = count_waits;
	waited = 0;
	uint64_t from = fw.now;
	assert_int_equal(fw_probe(), E_TIMEOUT);
	return fw.now - from;
}

/* A command has a minute, or what the device states: in ms, s, min or h, within limits (the rig's time
 * passes in steps that grow, so a wait takes up to half as long again). The runtime is told once a
 * second. */
static void time_for_a_command(void **s)
{
	(void)s;
	assert_in_range(hang(0, 0), 59 * SECOND, 96 * SECOND);
	assert_in_range(waited, 3, 61);
	assert_string_equal(fw.nic.error, "ENABLE_HCA(0x104) op_mod(0x0) failed, no answer in 60 s");
	assert_in_range(hang(0, 5000), 59 * SECOND, 96 * SECOND); /* states nothing */
	assert_in_range(hang(2000, 0), 59 * SECOND, 96 * SECOND);
	assert_in_range(hang(2000, 5000), 4 * SECOND, 8 * SECOND);
	assert_in_range(hang(2000, 1u << 29 | 90), 89 * SECOND, 144 * SECOND);
	assert_in_range(hang(2000, 2u << 29 | 2), 119 * SECOND, 192 * SECOND);
	assert_in_range(hang(2000, 3u << 29 | 0xfffff), 599 * SECOND, 960 * SECOND);
	assert_in_range(hang(2000, 7u << 29 | 0xfffff), 599 * SECOND, 960 * SECOND);
}

/* The other time-outs: of DTOR, asked only where the segment states some. */
static void time_to_let_go(void **s)
{
	(void)s;
	up(1);
	assert_int_equal(mlx5_device(&fw.nic)->timeouts.reclaim, 5000000);
	assert_int_equal(mlx5_device(&fw.nic)->timeouts.teardown, 3000000);
	fw_stop();
	fw_power(64);
	fw.init_to = 1u << 29 | 4;
	fw.exec_to = 1u << 29 | 20;
	fw.dtor[10] = 1u << 29 | 7;
	fw.dtor[12] = 900;
	assert_int_equal(fw_probe(), E_OK);
	assert_int_equal(mlx5_device(&fw.nic)->timeouts.queue, 4000000);
	assert_int_equal(mlx5_device(&fw.nic)->timeouts.command, 20000000);
	assert_int_equal(mlx5_device(&fw.nic)->timeouts.reclaim, 900000);
	assert_int_equal(mlx5_device(&fw.nic)->timeouts.teardown, 7000000);
	fw.fault = FW_STATUS; /* of DTOR: not an error */
	fw.at = fw.logged + 7;
	assert_int_equal(fw_start(1, &shared), E_OK);
	assert_int_equal(fw.log[fw.at - 1].in[10] << 8 | fw.log[fw.at - 1].in[11], 0xc00e);
	assert_null(fw.nic.error);
	fw_stop();
	fw_assert_clean();
}

/* Firmware that answers no more is reset once, and works; or is dead. */
static void revived(void **s)
{
	(void)s;
	up(2);
	unsigned all = fw.logged;
	for (unsigned at = 1; at <= all; at += 7) {
		fw_power(64);
		fw.flr = fw.heals = true;
		fw.at = at;
		fw.fault = FW_HANG;
		if (fw_probe() != E_OK || fw_start(2, &shared) != E_OK)
			fail_msg("command %u: %s", at, fw.nic.error);
		assert_int_equal(fw.resets, 1);
		assert_int_equal(fw.pci_command & 4, 4);
		assert_int_equal(fw.pages, 1000);
		fw_stop();
		fw_assert_clean();
		assert_true(fw.pci_command & 4);
	}
	up(1); /* one that dies while it runs is reset at the next start */
	fw.flr = fw.heals = true;
	fw.delay_ns = ~0ull >> 1;
	const char *why;
	looks_to_end(&why);
	fw_stop();
	assert_false(fw.pci_command & 4);
	fw.init_ns = 10 * SECOND; /* and needs time */
	assert_int_equal(fw_start(1, &shared), E_AGAIN);
	assert_int_equal(wait_until_ready(), E_OK);
	assert_int_equal(fw_start(1, &shared), E_OK);
	fw_stop();
	fw_assert_clean();
	fw.heals = false; /* in vain: it is not reset again and again */
	fw.init_ns = 0;
	fw.at = fw.logged + 1;
	fw.fault = FW_HANG;
	assert_int_equal(fw_start(1, &shared), E_TIMEOUT);
	assert_int_equal(fw.resets, 2);
	fw_stop();
	assert_int_equal(fw_start(1, &shared), E_DEVICE);
	assert_int_equal(fw.resets, 2);
	assert_false(fw.pci_command & 4);
}

static void removed(void **s)
{
	(void)s;
	fw_power(64);
	fw.removed = true;
	assert_int_equal(fw_probe(), E_DEVICE);
	assert_string_equal(fw.nic.error, GONE);
}

/* --- commands that fail --- */

static bool is_register(const struct fw_command *c, uint16_t id)
{
	return c->opcode == 0x805 && c->in[10] << 8 == (id & 0xff00) && c->in[11] == (id & 0xff);
}

/* What a start does without, as the notice names it; NULL: it needs the command. */
static const char *optional(const struct fw_command *c)
{
	return is_register(c, 0x5003)   ? "PMTU (frame length)"
	       : is_register(c, 0x5004) ? "PTYS (speed)"
	       : is_register(c, 0x5006) ? "PAOS (port up)"
	       : is_register(c, 0x5007) ? "PFCC (flow control)"
	       : is_register(c, 0x5008) ? "PPCNT (" /* errors, discards */
	       : c->opcode == 0x771 || c->opcode == 0x773 ? "Q counters"
	                                                  : NULL;
}

/* The notice of the last start comes once, whatever else is reported. */
static void expect_notice(const char *name)
{
	unsigned said = 0;
	for (unsigned i = 0; i < 20; i++) {
		struct nic_link l = link_now();
		assert_false(l.gone);
		if (!l.why)
			continue;
		assert_non_null(strstr(l.why, "firmware refuses, and the port does without: "));
		assert_non_null(strstr(l.why, name));
		said++;
	}
	assert_int_equal(said, 1);
}

/* Each command of a start is refused in turn: all objects made before are destroyed, in order, and
 * the error names the command. Or the port does without, and says so. */
static void each_refused(void **s)
{
	(void)s;
	up(2);
	unsigned probed = (unsigned)fw_find(1, 0x104), all = fw.logged;
	for (unsigned at = probed + 1; at <= all; at++) {
		fw_power(64);
		assert_int_equal(fw_probe(), E_OK);
		assert_int_equal(fw.logged, probed);
		fw.at = at;
		fw.fault = FW_STATUS;
		int e = fw_start(2, &shared);
		uint16_t opcode = fw.log[at - 1].opcode;
		if (opcode == 0x10d) { /* it is not required */
			assert_int_equal(e, E_OK);
			assert_null(fw.nic.error);
			fw_stop();
		} else if (optional(&fw.log[at - 1])) {
			assert_int_equal(e, E_OK);
			assert_null(fw.nic.error);
			expect_notice(optional(&fw.log[at - 1]));
			fw_stop();
		} else {
			char text[64];
			assert_int_equal(e, E_DEVICE);
			snprintf(text, sizeof text, "(0x%x) op_mod(0x%x) failed", opcode,
			         fw.log[at - 1].op_mod);
			assert_non_null(strstr(fw.nic.error, text));
			assert_non_null(strstr(fw.nic.error,
			                       "status bad resource(0x5), syndrome (0xabcdef)"));
		}
		fw_assert_clean();
		assert_true(fw.pci_command & 4);
		fw.fault = FW_NONE;
		assert_int_equal(fw_start(2, &shared), E_OK);
		fw_stop();
		fw_assert_clean();
	}
}

/* Firmware that allows no frame longer than its checksum: the port does not start. */
static void no_frames(void **s)
{
	(void)s;
	static const uint32_t most[] = {0, 3, 4, 10240};
	for (unsigned i = 0; i < ARRAY_LEN(most); i++) {
		fw_power(64);
		fw.frame_max = most[i];
		assert_int_equal(fw_probe(), E_OK);
		assert_int_equal(fw_start(2, &shared), most[i] > 4 ? E_OK : E_DEVICE);
		assert_true(most[i] > 4 || strstr(fw.nic.error, "PMTU"));
		if (most[i] > 4)
			fw_stop();
		fw_assert_clean();
	}
}

/* Each is never answered in turn: no further command, no DMA, and the call ends. */
static void each_hangs(void **s)
{
	(void)s;
	up(2);
	unsigned all = fw.logged;
	for (unsigned at = 1; at <= all; at++) {
		fw_power(64);
		fw.at = at;
		fw.fault = FW_HANG;
		int e = fw_probe();
		bool probed = e == E_OK;
		if (probed)
			e = fw_start(2, &shared);
		assert_int_equal(e, E_TIMEOUT);
		assert_non_null(strstr(fw.nic.error, "no answer"));
		assert_false(fw.pci_command & 4);
		assert_true(fw.now < 100 * SECOND);
		/* Pages have an entry of their own: one more command may be in progress. */
		assert_in_range(fw.doorbells, at, at + 1);
		unsigned doorbells = fw.doorbells;
		if (!probed)
			continue;
		fw_stop();
		assert_int_equal(fw_start(2, &shared), E_DEVICE);
		assert_int_equal(fw.doorbells, doorbells);
	}
}

/* One pair is restarted alone: five objects are destroyed, and five take their places. Each of
 * these commands fails in turn, and the port can still be stopped and started. */
static void pair_alone_refused(void **s)
{
	(void)s;
	up(3);
	fw.any_order = true;
	unsigned before = fw.logged, objects = fw.objects;
	assert_int_equal(fw_pair_again(1, &shared), E_OK);
	unsigned all = fw.logged;
	assert_int_equal(all - before, 2 + 5 + 7 + 2); /* queues are also made ready */
	assert_int_equal(fw.objects, objects);
	for (unsigned at = before + 1; at <= all; at++) {
		up(3);
		fw.any_order = true;
		fw.at = at;
		fw.fault = FW_STATUS;
		assert_int_equal(fw_pair_again(1, &shared), E_DEVICE);
		assert_non_null(fw.nic.error);
		fw.fault = FW_NONE;
		fw_stop();
		fw_assert_clean();
		fw.any_order = false;
		assert_int_equal(fw_start(3, &shared), E_OK);
		fw_stop();
		fw_assert_clean();
	}
}

/* A table that the device may not have taken still has the pairs of the one before: a pair that stops is taken out. */
static void table_refused(void **s)
{
	(void)s;
	uint8_t pair_of[MLX5_RQT_MAX] = {0};
	up(3);
	fw.any_order = true;
	fw.at = fw.logged + 1;
	fw.fault = FW_STATUS;
	assert_int_equal(mlx5_ops.table(&fw.nic, pair_of), E_DEVICE);
	fw.fault = FW_NONE;
	const unsigned before = fw.logged;
	assert_int_equal(mlx5_ops.pair_stop(&fw.nic, 1), E_OK);
	assert_int_equal(fw.logged - before, 2 + 5); /* both tables, the pair's objects */
	fw_stop();
	fw_assert_clean();
}

/* Other rules take the place of these. Returns the first error. */
static int change_rules(void)
{
	static const struct nic_rule first[] = {{.family = NIC_RULE_IP4, .proto = 17, .dst_port = 53, .pairs = 2},
	                                        {.family = NIC_RULE_IP6, .src = {1}, .src_plen = 32, .pairs = 6}},
	                             then[] = {{.family = NIC_RULE_IP4, .proto = 6, .dst_port = 53, .pairs = 4},
	                                       {.family = NIC_RULE_IP4, .dst = {1}, .dst_plen = 32, .pairs = 7},
	                                       {.vlan = 5, .pairs = 4}};
	int e = mlx5_ops.rules(&fw.nic, first, ARRAY_LEN(first));
	if (e == E_OK)
		e = mlx5_ops.rules(&fw.nic, then, ARRAY_LEN(then));
	return e == E_OK ? mlx5_ops.rules(&fw.nic, NULL, 0) : e;
}

/* Each command of changes of rules fails in turn, or is never answered: nothing is left behind, and the next change
 * succeeds. */
static void rules_fail(void **s)
{
	(void)s;
	up(3);
	fw.any_order = true;
	const unsigned before = fw.logged, objects = fw.objects;
	assert_int_equal(change_rules(), E_OK);
	const unsigned all = fw.logged;
	assert_int_equal(fw.objects, objects);
	fw_stop();
	fw_assert_clean();
	unsigned failed = 0;
	for (unsigned at = before + 1; at <= all; at++) {
		up(3);
		fw.any_order = true;
		fw.at = at;
		fw.fault = FW_STATUS;
		const int e = change_rules();
		failed += e != E_OK;
		assert_true(e == E_OK || (e == E_DEVICE && fw.nic.error));
		fw.fault = FW_NONE;
		assert_int_equal(change_rules(), E_OK);
		fw_stop();
		fw_assert_clean();
		up(3);
		fw.any_order = fw.flr = fw.heals = true;
		fw.at = at;
		fw.fault = FW_HANG;
		(void)change_rules();
		assert_int_equal(mlx5_ops.rules(&fw.nic, NULL, 0), E_DEVICE);
		fw.fault = FW_NONE;
		fw_stop();
		assert_int_equal(fw_start(3, &shared), E_OK);
		assert_int_equal(change_rules(), E_OK);
		fw_stop();
		fw_assert_clean();
	}
	assert_in_range(failed, (all - before) / 2, all - before);
}

/* A virtual function: what is the physical function's is not asked for. */
static void virtual_function(void **s)
{
	(void)s;
	fw_power(64);
	fw.pci.device = 0x1018;
	assert_int_equal(fw_probe(), E_OK);
	assert_int_equal(fw_start(2, &shared), E_OK);
	for (unsigned i = 0; i < fw.logged; i++) {
		assert_false(is_register(&fw.log[i], 0x7004));
		assert_false(is_register(&fw.log[i], 0x5006));
		assert_false(is_register(&fw.log[i], 0x5007));
	}
	fw_stop();
	fw_assert_clean();
	memset(fw.vport_mac, 0, 6);
	assert_int_equal(fw_start(2, &shared), E_DEVICE);
	assert_string_equal(fw.nic.error,
	                    "the virtual function has no MAC address: give it one on its host");
	fw_assert_clean();
	fw_power(64); /* a physical one whose port is not its own */
	fw.caps[0][0x34] &= 0x7f;
	assert_int_equal(fw_probe(), E_OK);
	assert_int_equal(fw_start(2, &shared), E_OK);
	for (unsigned i = 0; i < fw.logged; i++)
		assert_false(is_register(&fw.log[i], 0x5006) || is_register(&fw.log[i], 0x5007));
	fw_stop();
	fw_assert_clean();
}

/* Parks, and starts again with the same queues. */
static int park_and_start(unsigned pairs)
{
	int e = mlx5_ops.park(&fw.nic);
	if (e != E_OK) {
		fw_stop();
		return e;
	}
	return fw_start(pairs, &shared);
}

/* A restart of the queues only: HCA, steering and port stay as they are. Each of its commands fails
 * in turn, or is never answered, and the port starts as a whole. */
static void parked(void **s)
{
	(void)s;
	for (unsigned pairs = 1; pairs <= 3; pairs += 2) {
		up(pairs);
		fw.any_order = true;
		unsigned before = fw.logged, objects = fw.objects;
		assert_int_equal(park_and_start(pairs), E_OK);
		const unsigned all = fw.logged;
		assert_int_equal(fw.objects, objects);
		assert_int_equal(shared.pairs, pairs);
		for (unsigned i = before; i < all; i++) {
			uint16_t opcode = fw.log[i].opcode;
			assert_false(opcode >= 0x100 && opcode < 0x110); /* HCA */
			assert_false(opcode == 0x805 && fw.log[i].in[11] != 3); /* port; MTU may */
			assert_false(opcode >= 0x92f); /* flow tables */
			assert_false(opcode == 0x900 || opcode == 0x902 || opcode == 0x802);
		}
		fw_stop();
		fw_assert_clean();
		for (unsigned at = before + 1; at <= all; at++) {
			up(pairs);
			fw.any_order = true;
			fw.at = at;
			fw.fault = FW_STATUS;
			(void)park_and_start(pairs);
			fw.fault = FW_NONE;
			fw_stop();
			fw_assert_clean();
			assert_int_equal(fw_start(pairs, &shared), E_OK);
			fw_stop();
			fw_assert_clean();
			up(pairs);
			fw.any_order = fw.flr = fw.heals = true;
			fw.at = at;
			fw.fault = FW_HANG;
			if (park_and_start(pairs) != E_OK)
				assert_int_equal(fw_start(pairs, &shared), E_OK);
			fw_stop();
			fw_assert_clean();
		}
	}
	up(3); /* with other queues the port starts as a whole */
	fw.any_order = true;
	assert_int_equal(park_and_start(2), E_OK);
	assert_int_equal(shared.pairs, 2);
	fw_stop();
	fw_assert_clean();
	assert_int_equal(mlx5_ops.park(&fw.nic), E_NOTSUP);
	up(2); /* parked, and then not started */
	fw.any_order = true;
	assert_int_equal(mlx5_ops.park(&fw.nic), E_OK);
	fw_stop();
	fw_assert_clean();
}

static void each_removed(void **s)
{
	(void)s;
	up(1);
	unsigned all = fw.logged;
	for (unsigned at = 1; at <= all; at += 3) {
		fw_power(64);
		fw.at = at;
		fw.fault = FW_REMOVE;
		int e = fw_probe();
		if (e == E_OK)
			e = fw_start(1, &shared);
		assert_int_equal(e, E_DEVICE);
		assert_string_equal(fw.nic.error, GONE);
	}
}

static void delivery_errors(void **s)
{
	(void)s;
	fw_power(64);
	fw.at = 1;
	fw.fault = FW_DELIVERY;
	assert_int_equal(fw_probe(), E_DEVICE);
	assert_string_equal(fw.nic.error, "ENABLE_HCA(0x104) op_mod(0x0) failed, delivery status "
	                                  "firmware internal error(0x6)");
	fw_power(64);
	fw.at = 2; /* QUERY_ISSI has an output mailbox */
	fw.fault = FW_TOKEN;
	assert_int_equal(fw_probe(), E_DEVICE);
	assert_non_null(strstr(fw.nic.error, "failed, the answer has another command's token"));
	fw_assert_clean();
}

/* --- pages --- */

/* A command that cannot end before the firmware has more pages, or fewer. */
static void pages_amid_a_command(void **s)
{
	(void)s;
	static const int32_t wants[] = {1, 300, -5};
	for (unsigned i = 0; i < ARRAY_LEN(wants); i++) {
		fw_power(64);
		assert_int_equal(fw_probe(), E_OK);
		fw.fault = FW_WANT_PAGES;
		fw.want = wants[i];
		fw.at = fw.logged + 30; /* by then there is an EQ */
		if (fw_start(2, &shared) != E_OK)
			fail_msg("%s", fw.nic.error);
		assert_int_equal(fw.want, 0);
		assert_int_equal(fw.pages, 1000 + wants[i]);
		fw_stop();
		fw_assert_clean();
	}
}

static void pages_while_it_runs(void **s)
{
	(void)s;
	up(1);
	for (unsigned i = 0; i < 100; i++) { /* the EQ wraps around */
		fw_event(0x0b, 0, 7, 3);
		fw_event(0x0b, 0, 9, 100); /* of another function */
		link_now();
		link_now();
		assert_int_equal(fw.pages, 1003 + 3 * i);
	}
	fw_event(0x0b, 0, 7, (uint32_t)-100);
	link_now();
	link_now();
	assert_int_equal(fw.pages, 1200);
	fw_stop();
	fw_assert_clean();
}

static void no_memory_for_pages(void **s)
{
	(void)s;
	fw_power(64);
	fw.room = fw.brk + (3u << 20);
	assert_int_equal(fw_probe(), E_NOMEM);
	assert_string_equal(fw.nic.error, "no memory for the pages that firmware wants");
	fw_assert_clean();
	fw_power(64);
	fw.init_pages = 0x7fffffff;
	assert_int_equal(fw_probe(), E_DEVICE);
	assert_string_equal(fw.nic.error, "firmware wants more pages than can be");
	fw_assert_clean();
}

/* Little memory, then more: a probe with too little reports that and leaves nothing behind. A
 * started port works without the pages that firmware requests later, until there is memory. */
static void each_chunk_refused(void **s)
{
	(void)s;
	unsigned refused = 0;
	for (size_t room = 0; room < 8u << 20; room += 256u << 10) {
		fw_power(64);
		fw.room = fw.brk + room;
		const int e = fw_probe();
		if (e != E_OK) {
			assert_int_equal(e, E_NOMEM);
			assert_non_null(strstr(fw.nic.error, "no memory for "));
			fw_assert_clean();
			refused++;
			continue;
		}
		assert_int_equal(fw_start(1, &shared), E_OK);
		const unsigned pages = fw.pages;
		fw.room = fw.brk;
		fw_event(0x0b, 0, 7, 300);
		link_now();
		link_now();
		assert_in_range(fw.pages, pages, pages + 299);
		assert_string_equal(fw.nic.error, "no memory for the pages that firmware wants");
		const unsigned have = fw.pages;
		fw.room = fw.brk + (4u << 20);
		fw_event(0x0b, 0, 7, 300);
		link_now();
		link_now();
		assert_int_equal(fw.pages, have + 300);
		fw_stop();
		fw_assert_clean();
	}
	assert_true(refused >= 5); /* the commands' memory, then four chunks */
}

/* Pages in other memory, or not at the beginning of a page. */
static void pages_that_were_never_given(void **s)
{
	(void)s;
	static const uint64_t lies[] = {0x1000000, 8, 0x800};
	for (unsigned i = 0; i < ARRAY_LEN(lies); i++) {
		up(1);
		fw.lying_page = 20;
		fw.lying_bits = lies[i];
		fw_stop();
		assert_false(fw.pci_command & 4);
		/* Without DMA it cannot read commands: none is given, and none waited for. */
		unsigned doorbells = fw.doorbells;
		uint64_t from = fw.now;
		assert_int_equal(fw_start(1, &shared), E_DEVICE);
		assert_int_equal(fw.doorbells, doorbells);
		assert_true(fw.now - from < 1000000);
	}
}

/* The same at the end of the probe, which reports it. */
static void not_let_go_by_its_probe(void **s)
{
	(void)s;
	fw_power(64);
	fw.lying_page = 20;
	fw.lying_bits = 0x1000000;
	assert_int_equal(fw_probe(), E_TIMEOUT);
	assert_false(fw.pci_command & 4);
	assert_non_null(strstr(fw.nic.error, "at the end of its probe"));
}

/* --- link, counters, health --- */

static void link_by_events(void **s)
{
	(void)s;
	fw_power(64);
	fw.link = true;
	assert_int_equal(fw_probe(), E_OK);
	assert_int_equal(fw_start(1, &shared), E_OK);
	struct nic_link l = link_now(); /* known at once */
	assert_true(l.up && !l.gone);
	assert_int_equal(l.mbps, 100000);
	fw.link = false;
	fw_event(0x09, 1, 0, 0);
	link_now();
	assert_false(link_now().up);
	fw.link = true;
	fw.eth_oper = 1u << 27;
	fw_event(0x09, 4, 0, 0);
	link_now();
	assert_true(link_now().up);
	for (unsigned i = 0; i < 5; i++)
		l = link_now();
	assert_int_equal(l.mbps, 25000);
	fw.link = false; /* and finally without an event */
	for (unsigned i = 0; i < 6; i++)
		l = link_now();
	assert_false(l.up);
	fw_stop();
	fw_assert_clean();
}

/* nic_ops.link does not wait, whatever the firmware does. */
static void link_does_not_wait(void **s)
{
	(void)s;
	struct nic_link l;
	up(1);
	fw.delay_ns = 5000000000;
	for (unsigned i = 0; i < 40; i++) {
		uint64_t from = fw.now;
		mlx5_ops.link(&fw.nic, &l);
		assert_true(fw.now - from < 20000);
		fw.now += 100000000;
		assert_false(l.gone);
	}
	fw.delay_ns = 20000;
	fw_stop();
	fw_assert_clean();
}

static void counts(void **s)
{
	(void)s;
	struct nic_stats sum = {0};
	fw_power(64);
	fw.out_of_buffer = 0xfffffff0;
	for (unsigned i = 0; i < 32; i++)
		fw.errors[i] = 1000 * i;
	assert_int_equal(fw_probe(), E_OK);
	assert_int_equal(fw_start(1, &shared), E_OK);
	mlx5_ops.stats(&fw.nic, &sum);
	assert_int_equal(sum.rx_crc | sum.rx_missed | sum.rx_no_desc, 0); /* counted from start on */
	fw.errors[2] += 1; /* FCS */
	fw.errors[10] += 10; /* in-range length */
	fw.errors[12] += 20; /* too long */
	fw.errors[3] += 100; /* alignment */
	fw.errors[16 + 2] += 1000; /* discards */
	fw.errors[16 + 8] += 10000; /* transmit errors */
	fw.out_of_buffer += 0x20;
	fw_event(0x04, 0, 3, 0); /* for a CQ */
	fw_event(0x05, 0, 4, 0); /* for a WQ */
	for (unsigned i = 0; i < 8; i++)
		link_now();
	mlx5_ops.stats(&fw.nic, &sum);
	mlx5_ops.stats(&fw.nic, &sum);
	assert_int_equal(sum.rx_crc, 1);
	assert_int_equal(sum.rx_length, 30);
	assert_int_equal(sum.rx_error, 100);
	assert_int_equal(sum.rx_missed, 1000);
	assert_int_equal(sum.tx_error, 10000);
	assert_int_equal(sum.rx_no_desc, 0x20);
	assert_int_equal(sum.queue_errors, 2);
	fw_stop();
}

#define LOOKS_OF(ms) ((ms) / 200) /* each takes this long: link_now */

/* Dead firmware is detected in time, without reading its registers in each call. */
static void health(void **s)
{
	(void)s;
	const char *why;
	up(1);
	uint64_t reads = fw.nic.mmio_reads;
	for (unsigned i = 0; i < LOOKS_OF(20000); i++)
		assert_false(link_now().gone);
	assert_in_range(fw.nic.mmio_reads - reads, 10, 30);
	fw.health_stuck = true;
	assert_in_range(looks_to_end(&why), LOOKS_OF(4000), LOOKS_OF(8400));
	assert_string_equal(why, "the firmware's health counter stands still");
	up(1);
	fw.flr = fw.heals = true; /* it is reset, each time it happens */
	for (unsigned resets = 1; resets < 4; resets++) {
		fw.health_stuck = true;
		looks_to_end(&why);
		assert_string_equal(why, "the firmware's health counter stands still");
		fw_stop();
		fw.health_stuck = false;
		assert_int_equal(fw_start(1, &shared), E_OK);
		assert_int_equal(fw.resets, resets);
		assert_false(link_now().restart);
	}
	fw_stop();
	fw_assert_clean();
	up(1);
	fw.queue_low |= 0x100; /* nic_interface: disabled, by the firmware */
	assert_in_range(looks_to_end(&why), 1, LOOKS_OF(2400));
	assert_string_equal(why, "the firmware has disabled its interface to the driver");
	up(1);
	fw.queue_low |= 0x700; /* nic_interface: another function resets the firmware */
	assert_in_range(looks_to_end(&why), 1, LOOKS_OF(2400));
	assert_string_equal(why, "another function of the card resets the firmware");
	up(1);
	fw.removed = true;
	assert_in_range(looks_to_end(&why), 1, LOOKS_OF(2400));
	assert_null(why);
	fw_stop();
	up(1);
	fw.delay_ns = ~0ull >> 1; /* a query is never answered */
	looks_to_end(&why);
	assert_string_equal(why, "QUERY_VPORT_STATE(0x750) op_mod(0x0) failed, no answer in 60 s");
	fw_stop();
	assert_false(fw.pci_command & 4);
}

/* A syndrome is reported once; the device is given up when firmware requests recovery. */
static void syndromes(void **s)
{
	(void)s;
	const char *why = NULL, *hot = "firmware reports syndrome 0x10: high temperature";
	up(1);
	fw.synd = 0x10 << 16;
	for (unsigned i = 0; !why; i++) {
		struct nic_link l = link_now();
		assert_true(!l.gone && i < LOOKS_OF(2400));
		why = l.why;
	}
	assert_string_equal(why, hot);
	for (unsigned i = 0; i < LOOKS_OF(6000); i++)
		assert_null(link_now().why);
	fw.rfr = 1u << 31;
	looks_to_end(&why);
	assert_string_equal(why, hot);
	fw_stop();
}

/* Refused queries are reported once each, and repeated. */
static void questions_refused(void **s)
{
	(void)s;
	up(1);
	unsigned said = 0, asked = fw.logged;
	fw.fault = FW_STATUS;
	for (unsigned i = 0; i < 20; i++) {
		fw.at = fw.logged + 1;
		struct nic_link l = link_now();
		assert_false(l.gone);
		said += l.why != NULL;
		if (l.why)
			assert_non_null(strstr(l.why, " failed, status bad resource(0x5), syndrome "
			                              "(0xabcdef)"));
	}
	assert_int_equal(said, 5);
	assert_true(fw.logged - asked > 15);
	fw.at = 0;
	fw_stop();
	fw_assert_clean();
}

/* --- trace --- */

static char traced[65536];

static void trace_line(const char *line)
{
	assert_true(strlen(traced) + strlen(line) + 2 < sizeof traced);
	strcat(traced, line);
	strcat(traced, "\n");
}

/* As mlx5_core prints it: the entry, then each block, before and after. */
static void trace_is_mlx5_cores(void **s)
{
	(void)s;
	up(1);
	fw.nic.trace = trace_line;
	traced[0] = 0;
	mlx5_cmd_begin(&fw.nic, MLX5_SLOT_MAIN, MLX5_QUERY_NIC_VPORT_CONTEXT, 0, 16, 272);
	assert_int_equal(mlx5_cmd_run(&fw.nic), E_OK);
	const char *input = "cmd[0]: start dump\n"
			    "cmd[0]: dump command QUERY_NIC_VPORT_CONTEXT(0x754) INPUT\n"
			    "cmd[0]: 000: 07000000 00000010 00000000 00000000\n"
			    "cmd[0]: 010: 07540000 00000000 00000000 00000000\n"
			    "cmd[0]: 020: 00000000 00000000 00000000 00000000\n";
	assert_memory_equal(traced, input, strlen(input));
	assert_non_null(strstr(traced, "\n\ncmd[0]: end dump\ncmd[0]: start dump\n"
	                               "cmd[0]: dump command QUERY_NIC_VPORT_CONTEXT(0x754) "
	                               "OUTPUT\n"));
	assert_non_null(strstr(traced, "\n\ncmd[0]: command block:\ncmd[0]: 040: "));
	assert_non_null(strstr(traced, "\ncmd[0]: 130: 00000000 00000200 5e005301"));
	fw_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_its_devices),
		cmocka_unit_test(probe_learns),
		cmocka_unit_test(order_of_bring_up),
		cmocka_unit_test(queues_and_their_end),
		cmocka_unit_test(left_running),
		cmocka_unit_test(left_running_and_reset),
		cmocka_unit_test(without_vectors),
		cmocka_unit_test(relaxed_ordering),
		cmocka_unit_test(e_switch_manager),
		cmocka_unit_test(not_for_us),
		cmocka_unit_test(never_ready),
		cmocka_unit_test(ready_late),
		cmocka_unit_test(time_for_a_command),
		cmocka_unit_test(time_to_let_go),
		cmocka_unit_test(revived),
		cmocka_unit_test(removed),
		cmocka_unit_test(each_refused),
		cmocka_unit_test(no_frames),
		cmocka_unit_test(each_hangs),
		cmocka_unit_test(rules_fail),
		cmocka_unit_test(virtual_function),
		cmocka_unit_test(pair_alone_refused),
		cmocka_unit_test(table_refused),
		cmocka_unit_test(parked),
		cmocka_unit_test(each_removed),
		cmocka_unit_test(delivery_errors),
		cmocka_unit_test(pages_amid_a_command),
		cmocka_unit_test(pages_while_it_runs),
		cmocka_unit_test(no_memory_for_pages),
		cmocka_unit_test(each_chunk_refused),
		cmocka_unit_test(pages_that_were_never_given),
		cmocka_unit_test(not_let_go_by_its_probe),
		cmocka_unit_test(link_by_events),
		cmocka_unit_test(link_does_not_wait),
		cmocka_unit_test(counts),
		cmocka_unit_test(health),
		cmocka_unit_test(syndromes),
		cmocka_unit_test(questions_refused),
		cmocka_unit_test(trace_is_mlx5_cores),
	};
	return cmocka_run_group_tests(tests, guest_map, NULL);
}
