/*
 * The IPv4 neighbours as a machine whose instructions are the input: messages, frames to be sent,
 * own addresses, static entries, and time. The assertions of tests/unit/rig/neigh_rig.c about the ops
 * hold, no frame is lost or returned twice, and everything due was done.
 */
#include "tests/fuzz/rig.h"

#include "net/arp.h"
#include "net/ip4.h"
#include "tests/unit/rig/neigh_rig.h"

#define PORTS 3
#define NEIGHBOURS 4

enum op { MESSAGE, RAW, OUT, TIME, LOCAL, CLEAR, FLUSH, USED, STATIC, FORGET, PIN, ANNOUNCE, OPS };

static struct arp a;
static uint64_t now;
static bool pinned[NEIGHBOURS];

static void on_tx(void *ctx, unsigned port, const uint8_t *f, unsigned len)
{
	(void)ctx;
	assert_true(port < PORTS && len == ARP_FRAME_LEN);
	assert_memory_equal(f + 6, f + 22, 6); /* Ethernet source is the sender's address */
}

static void on_count(void *ctx, enum counter c, unsigned n)
{
	(void)ctx;
	(void)n;
	assert_true(c == CNT_arp_conflict || c == CNT_arp_tx_request || c == CNT_arp_tx_reply);
}

/* A few addresses, so that they collide: some on the subnet, broadcast, multicast, none. */
static uint32_t address(void)
{
	static const uint32_t odd[] = {0, 0xffffffff, IP4(224, 0, 0, 1), IP4(10, 0, 0, 255),
	                               IP4(127, 0, 0, 1)};
	uint8_t b = rig_u8();
	return b < 200 ? IP4(10, 0, b & 1, b / 2 % 8) : b < 240 ? odd[b % 5] : rig_u32();
}

static const uint8_t *station(void)
{
	static const uint8_t zero[6];
	const uint8_t *const all[] = {our_mac, our_mac1, mac_a, mac_b, broadcast, zero};
	return all[rig_u8() % 6];
}

static void message(void)
{
	uint8_t f[60] = {0};
	const uint8_t *sha = station();
	memcpy(f, rig_u8() & 1 ? broadcast : our_mac, 6);
	memcpy(f + 6, sha, 6);
	put16(f + 12, 0x0806);
	put16(f + 14, 1);
	put16(f + 16, 0x0800);
	f[18] = 6;
	f[19] = 4;
	put16(f + 20, 1 + rig_u8() % 2);
	memcpy(f + 22, sha, 6);
	put32(f + 28, address());
	put32(f + 38, address());
	arp_input(&a, rig_u8() % PORTS, f, sizeof f, now);
}

/* A frame of any length and contents, in memory of exactly that length. */
static void raw(void)
{
	unsigned n = 14 + rig_u8() % 50;
	uint8_t *f = malloc(n);
	random_fill(f, n);
	arp_input(&a, rig_u8() % PORTS, f, n, now);
	free(f);
}

static void out(void)
{
	unsigned port = rig_u8() % PORTS;
	int i = arp_neigh_get(&a, port, address());
	if (i < 0)
		return;
	uint8_t f[60];
	neigh_rig_frame(f, 1);
	arp_output(&a, (unsigned)i, f, sizeof f, now);
}

static void pin(void)
{
	unsigned i = rig_u8() % NEIGHBOURS;
	struct arp_entry e;
	bool there = false;
	for (unsigned cursor = 0; arp_next(&a, &cursor, now, &e);)
		there |= e.index == i;
	if (!there)
		return;
	pinned[i] ? arp_unpin(&a, i) : arp_pin(&a, i);
	pinned[i] = !pinned[i];
}

/* Whether data cores send to this neighbour, decided by the input. */
static bool on_in_use(void *ctx, unsigned index)
{
	(void)ctx;
	assert_in_range(index, 0, NEIGHBOURS - 1);
	return rig_u8() & 1;
}

/* Another station has an address of ours. */
static void on_conflict(void *ctx, unsigned interface, uint32_t ip, const uint8_t *mac)
{
	(void)ctx;
	assert_in_range(interface, 0, PORTS - 1);
	(void)ip; /* any: the program gives us any address */
	assert_false(mac[0] & 1); /* a group is no station */
}

static void step(enum op op)
{
	unsigned port;
	switch (op) {
	case MESSAGE: message(); break;
	case RAW: raw(); break;
	case OUT: out(); break;
	case TIME:
		now += rig_u8() * (rig_u8() & 1 ? 10000000000ull : 50000000ull);
		assert_true(arp_tick(&a, now) > now);
		break;
	case LOCAL:
		port = rig_u8() % PORTS;
		arp_add_local(&a, port, address(), rig_u8() % 33, our_mac);
		break;
	case CLEAR: arp_clear_local(&a, rig_u8() % PORTS); break;
	case FLUSH: arp_flush_interface(&a, rig_u8() % PORTS); break;
	case USED:
		port = rig_u8() % NEIGHBOURS;
		if (rig_up[port])
			arp_used(&a, port, now);
		break;
	case STATIC:
		port = rig_u8() % PORTS;
		arp_set_static(&a, port, address(), station());
		break;
	case FORGET:
		port = rig_u8() % PORTS;
		arp_forget(&a, port, address());
		break;
	case PIN: pin(); break;
	case ANNOUNCE: arp_announce(&a, rig_u8() % PORTS); break;
	default: break;
	}
	hush();
	assert_int_equal(given, released + refused + lost + arp_pending(&a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct arp_ops ops = {on_tx, on_up, on_down, on_release, on_unreachable,
	                                   on_lost, on_count, on_removed, on_in_use, on_conflict};
	struct arp_params p = ARP_PARAMS_DEFAULT;
	rig_input(data, size);
	neigh_rig_reset();
	memset(pinned, 0, sizeof pinned);
	now = 0;
	p.neighbours = NEIGHBOURS;
	p.queue = 3;
	p.pending = 8;
	p.frame_max = 100;
	void *mem = malloc(arp_memory_bytes(&p));
	assert_int_equal(arp_init(&a, &p, mem, arp_memory_bytes(&p), &ops, NULL), 0);
	arp_add_local(&a, 0, IP4(10, 0, 0, 1), 24, our_mac);
	arp_add_local(&a, 1, IP4(10, 0, 1, 1), 24, our_mac1);
	while (rig_more())
		step(rig_u8() % OPS);
	for (unsigned port = 0; port < PORTS; port++)
		arp_flush_interface(&a, port);
	assert_int_equal(given, released + refused + lost);
	free(mem);
	return 0;
}
