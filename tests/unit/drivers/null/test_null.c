/* drivers/null: its frames are correct, and every buffer comes back. */
#include "tests/unit/rig/guest.h"

#include "drivers/null/null.h"
#include "net/eth.h"
#include "net/ip4.h"
#include "net/udp.h"

#define BUFFERS 300

static struct world {
	struct pci_dev dev;
	struct nic nic;
	struct nic_shared shared;
	struct nic_counters cnt;
	struct nic_queue queue;
	struct bufpool pool;
	uint32_t stack[BUFFERS];
	_Alignas(64) uint8_t mem[BUFFERS * BUF_STRIDE_STANDARD];
	struct pkt v[PKT_VECTOR_MAX];
} w;

static int start_port(uint16_t device)
{
	struct nic_ring_mem mem = {0};
	struct nic_config config = {.pairs = 1,
	                            .features = UINT32_MAX,
	                            .buf_bytes = BUF_STRIDE_STANDARD,
	                            .mem = &mem};
	w.dev = (struct pci_dev){.vendor = PCI_VENDOR_NONE, .device = device};
	assert_true(null_ops.match(&w.dev));
	w.shared = (struct nic_shared){0};
	w.nic = (struct nic){.ops = &null_ops, .pci = &w.dev};
	assert_int_equal(null_ops.probe(&w.nic, &w.dev), E_OK);
	assert_int_equal(null_ops.start(&w.nic, &config, &w.shared), E_OK);
	bufpool_init(&w.pool, w.mem, w.stack, BUFFERS, BUF_STRIDE_STANDARD);
	w.cnt = (struct nic_counters){0};
	w.queue = (struct nic_queue){.ops = &null_ops, .pool = &w.pool, .cnt = &w.cnt, .port = 3};
	return null_ops.attach(&w.queue, &w.shared, 0, NULL);
}

static int setup(void **s)
{
	(void)s;
	return start_port(NIC_NULL_SOURCE);
}

static int setup_clients(void **s)
{
	(void)s;
	return start_port(NIC_NULL_CLIENTS);
}

static int setup_sink(void **s)
{
	(void)s;
	return start_port(NIC_NULL_SINK);
}

/* What is sent is in the pool again, and nothing else was taken from it. */
static int teardown(void **s)
{
	(void)s;
	assert_int_equal(w.pool.free, BUFFERS);
	return 0;
}

static void no_device_is_its_own(void **s)
{
	const struct pci_dev virtio = {.vendor = 0x1af4, .device = 0x1041};
	(void)s;
	assert_false(null_ops.match(&virtio));
}

/* Each frame passes the checks of an IPv4 host, and each address occurs equally often. */
static void frames_of(bool clients)
{
	static uint8_t times[65536];
	memset(times, 0, sizeof times);
	for (unsigned burst = 0; burst < 512; burst++) { /* twice 65536 frames */
		assert_int_equal(null_ops.rx_burst(&w.queue, w.v, PKT_VECTOR_MAX), PKT_VECTOR_MAX);
		for (unsigned i = 0; i < PKT_VECTOR_MAX; i++) {
			const struct pkt *p = &w.v[i];
			const uint8_t *ip = p->data + ETH_HLEN;
			struct udp_datagram d;
			assert_int_equal(p->len, 60);
			assert_int_equal(p->interface, 3);
			assert_int_equal(p->flags, 0);
			assert_ptr_equal(p->data, buf_base(&w.pool, p->buf) + BUF_DATA_OFFSET);
			assert_memory_equal(p->data, w.nic.mac, ETH_ALEN);
			assert_int_equal(be16_load(p->data + 12), ETH_TYPE_IP4);
			assert_int_equal(ip4_check(ip, p->len - ETH_HLEN), CNT_NONE);
			const uint32_t many = clients ? ip4_src(ip) : ip4_dst(ip);
			assert_int_equal(clients ? ip4_dst(ip) : ip4_src(ip), 198u << 24 | 18 << 16 | 1);
			assert_int_equal(many >> 16, 198 << 8 | 19);
			times[many & 0xffff]++;
			assert_int_equal(udp_check(ip, p->len - ETH_HLEN, false, &d), CNT_NONE);
			assert_int_equal(d.dst_port, clients ? 7 : 9);
		}
		assert_int_equal(null_ops.tx_burst(&w.queue, w.v, PKT_VECTOR_MAX), PKT_VECTOR_MAX);
	}
	for (unsigned low = 0; low < 65536; low++)
		assert_int_equal(times[low], 2);
	assert_int_equal(w.cnt.rx_pkts, 131072);
	assert_int_equal(w.cnt.rx_bytes, 131072 * 60);
	assert_int_equal(w.cnt.tx_pkts, 131072);
	assert_int_equal(w.cnt.tx_bytes, 131072 * 60);
	assert_int_equal(w.cnt.rx_no_buffer, 0);
}

static void frames_are_right(void **s)
{
	(void)s;
	frames_of(false);
}

static void clients_ask_for_an_echo(void **s)
{
	(void)s;
	frames_of(true);
}

static void pool_is_empty(void **s)
{
	struct pkt more[PKT_VECTOR_MAX];
	(void)s;
	assert_int_equal(null_ops.rx_burst(&w.queue, w.v, PKT_VECTOR_MAX), PKT_VECTOR_MAX);
	unsigned n = null_ops.rx_burst(&w.queue, more, PKT_VECTOR_MAX);
	assert_int_equal(n, BUFFERS - PKT_VECTOR_MAX);
	assert_int_equal(w.cnt.rx_no_buffer, 1);
	assert_int_equal(null_ops.rx_burst(&w.queue, more + n, 1), 0);
	assert_int_equal(null_ops.tx_burst(&w.queue, more, n), n);
	assert_int_equal(null_ops.tx_burst(&w.queue, w.v, PKT_VECTOR_MAX), PKT_VECTOR_MAX);
	assert_int_equal(null_ops.tx_burst(&w.queue, NULL, 0), 0);
}

/* Whatever is sent is counted with all its bytes, and freed. */
static void any_kind_of_packet(void **s)
{
	(void)s;
	assert_int_equal(w.shared.features, NIC_TX_CSUM | NIC_SG | NIC_TSO | NIC_USO);
	frame_most = 1514;
	take_chain(&w.pool, &w.v[0], 1400, 7);
	w.v[0].flags |= PKT_CSUM_PARTIAL | PKT_TSO;
	take_frame(&w.pool, &w.v[1], 1);
	w.v[1].flags |= PKT_SHARED;
	pkt_meta(&w.pool, w.v[1].buf)->refs = 2;
	assert_int_equal(null_ops.tx_burst(&w.queue, w.v, 2), 2);
	assert_int_equal(w.cnt.tx_bytes, frame_len(1400) + frame_len(1));
	assert_int_equal(w.pool.free, BUFFERS - 1);
	buf_put(&w.pool, w.v[1].buf);
}

static void slots_only_count(void **s)
{
	struct nic_slot slot = {.data = w.v[0].data, .len = 60};
	(void)s;
	unsigned slots = null_ops.slots_open(&w.queue);
	assert_int_equal(slots & (slots - 1), 0);
	for (unsigned i = 0; i < 3 * slots; i++) {
		assert_int_equal(null_ops.slots_free(&w.queue), slots);
		null_ops.slots_put(&w.queue, i, &slot, 1);
		null_ops.slots_send(&w.queue, 5, 300);
	}
	assert_int_equal(w.cnt.tx_pkts, 15 * slots);
	assert_int_equal(w.cnt.tx_bytes, 900 * slots);
}

static void never_sleeps(void **s)
{
	(void)s;
	assert_true(null_ops.rx_interrupt(&w.queue, true));
}

/* They take no buffers either: frames they do not receive are not counted as lost for want of
 * buffers. */
static void sinks_are_silent(void **s)
{
	(void)s;
	assert_int_equal(null_ops.rx_burst(&w.queue, w.v, PKT_VECTOR_MAX), 0);
	assert_int_equal(w.cnt.rx_no_buffer, 0);
	assert_false(null_ops.rx_interrupt(&w.queue, true));
	take_frame(&w.pool, &w.v[0], 1);
	assert_int_equal(null_ops.tx_burst(&w.queue, w.v, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_device_is_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(sinks_are_silent, setup_sink, teardown),
		cmocka_unit_test_setup_teardown(frames_are_right, setup, teardown),
		cmocka_unit_test_setup_teardown(clients_ask_for_an_echo, setup_clients, teardown),
		cmocka_unit_test_setup_teardown(pool_is_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(any_kind_of_packet, setup, teardown),
		cmocka_unit_test_setup_teardown(slots_only_count, setup, teardown),
		cmocka_unit_test_setup_teardown(never_sleeps, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
