/*
 * The mlx5 driver and the ConnectX-5 model in one process: from power-on through traffic to stop.
 */
#include "tests/unit/rig/mlx5_port.h"

#include "lib/bytes.h"
#include "net/rss.h"
#include "tests/unit/rig/nicsim_frames.h"
#include "tools/nicsim/json.h"


static struct flow flow_of(unsigned k, unsigned payload)
{
	struct flow w = {.version = k & 1 ? 6 : 4,
	                 .protocol = k & 2 ? 17 : 6,
	                 .sport = (uint16_t)(1000 + k * 13),
	                 .dport = (uint16_t)(80 + k / 4),
	                 .payload = payload};
	for (unsigned i = 0; i < 16; i++) {
		w.src[i] = (uint8_t)(10 + i * (k + 1));
		w.dst[i] = (uint8_t)(20 + i + k);
	}
	return w;
}

static void probe_learns(void **s)
{
	(void)s;
	static const uint8_t mac[6] = {0x02, 0x00, 0x5e, 0x00, 0x53, 0x01};
	power();
	if (port_probe() != E_OK)
		fail_msg("%s", port.nic.error);
	assert_memory_equal(port.nic.mac, mac, 6);
	assert_int_equal(port.nic.pairs_max, 64);
	assert_int_equal(port.nic.features, ALL | NIC_VLAN);
	unsigned len = numbered(1, 100);
	uint64_t writes = rig.dma_writes;
	rig_force(f, len, 0);
	rig_run(1000000);
	assert_int_equal(rig.dma_writes, writes); /* no frame moves before start */
}

/* In what the model says of itself. */
static void expect_stats(const char *what)
{
	struct json j;
	json_init(&j);
	json_object(&j, NULL);
	rig.m->ops->stats(rig.m, &j);
	json_end(&j);
	if (!strstr(json_text(&j), what))
		fail_msg("%s, not %s", json_text(&j), what);
	json_free(&j);
}

/* The card sends and obeys no PAUSE frames, which it does when it is new. */
static void no_pause(void **s)
{
	power();
	expect_stats("\"pause_sent\":true,\"pause_obeyed\":true");
	teardown(s);
	up(1, ALL, STANDARD);
	expect_stats("\"pause_sent\":false,\"pause_obeyed\":false");
}

/* How often the model's link has fallen. */
static unsigned long link_downs(void)
{
	struct json j;
	json_init(&j);
	json_object(&j, NULL);
	rig.m->ops->stats(rig.m, &j);
	json_end(&j);
	const char *at = strstr(json_text(&j), "\"link_downs\":");
	assert_non_null(at);
	unsigned long n = strtoul(at + 13, NULL, 10);
	json_free(&j);
	return n;
}

/* Restarts of the queues, of one pair or of all, and of the only one: the link never falls. It does
 * when the port is stopped. */
static void link_stays(void **s)
{
	for (unsigned pairs = 1; pairs <= 3; pairs++) {
		up(pairs, ALL, STANDARD);
		const unsigned long downs = link_downs();
		for (unsigned i = 0; i < 5; i++) {
			assert_int_equal(pair_leave(i % pairs), E_OK);
			rig_force(f, numbered(i, 100), 0);
			rig_run(100000000);
			assert_int_equal(pair_return(i % pairs), E_OK);
			assert_true(link_now().up);
			rig_run(100000000);
			assert_true(link_now().up);
			assert_int_equal(mlx5_ops.park(&port.nic), E_OK);
			rig_force(f, numbered(i, 100), 0);
			rig_run(100000000);
			assert_int_equal(port_start(pairs, ALL, STANDARD, 1000), E_OK);
			port_attach();
			assert_true(link_now().up);
			rig_receive(f, numbered(i, 100));
			assert_int_equal(rx_all(0), 1);
			assert_int_equal(tx(0), 1);
			rig_run(1000000);
			struct rig_frame got;
			assert_true(rig_sent(&got));
			assert_int_equal(got.bytes, 100);
		}
		assert_int_equal(link_downs(), downs);
		port_stop();
		assert_int_equal(link_downs(), downs + 1);
		teardown(s);
	}
}

/* Cores ring in pages of their own, as far as there are some: eight. */
static void doorbell_pages(void **s)
{
	(void)s;
	uint32_t page[10];
	up(10, ALL, STANDARD);
	for (unsigned q = 0; q < 10; q++) {
		unsigned from = port.traced;
		take(q, f, numbered(q, 80));
		assert_int_equal(tx(q), 1);
		int at = find_access(from, WRITES, 4096, rig.m->ops->bar_bytes[0] - 4096);
		assert_true(at >= 0);
		page[q] = port.trace[at].offset / 4096;
		for (unsigned k = 0; k < q; k++)
			assert_int_equal(page[k] == page[q], k % 8 == q % 8);
	}
}

static void lives(void **s)
{
	for (unsigned pairs = 1; pairs <= 8; pairs++) {
		up(pairs, ALL, STANDARD);
		assert_int_equal(link_now().mbps, 100000);
		port_stop();
		if (port_start(pairs, ALL, STANDARD, 1000) != E_OK)
			fail_msg("%s", port.nic.error);
		port_attach();
		port_stop();
		teardown(s);
	}
}

static void receives(void **s)
{
	(void)s;
	uint64_t bytes = 0;
	up(1, ALL, STANDARD);
	for (unsigned i = 0; i < 5000; i++) {
		unsigned len = numbered(i, 60 + i % 1455);
		assert_true(rig_receive(f, len));
		bytes += len;
		if (i % 64 < 63)
			continue;
		assert_int_equal(rx_all(0), 64);
		for (unsigned k = 0; k < 64; k++) {
			const struct pkt *p = &port.pair[0].hands[k];
			unsigned seq = i - 63 + k;
			numbered(seq, 60 + seq % 1455);
			assert_int_equal(p->len, 60 + seq % 1455);
			assert_memory_equal(p->data, f, p->len);
			assert_int_equal(p->interface, 5);
		}
		let_go(0);
		assert_buffers();
	}
	rx_all(0);
	assert_int_equal(port.pair[0].cnt.rx_pkts, 5000);
	assert_int_equal(port.pair[0].cnt.rx_bytes, bytes);
	assert_int_equal(port.pair[0].cnt.mmio_writes, 0); /* no write at all */
}

/* A frame that can share a title with those around it, or one in 40 that cannot. */
static unsigned kind_of(unsigned seq)
{
	if (seq % 40 != 39)
		return numbered(seq, 60 + seq % 1455);
	struct flow w = flow_of(seq / 40, seq % 1000);
	return make_ip(f, &w);
}

/* Completions of bursts are compressed, and the driver takes any number at a time. */
static void receives_bursts(void **s)
{
	(void)s;
	struct port_pair *pair = &port.pair[0];
	uint32_t in = 0, out = 0;
	seed_random("receives_bursts");
	up(1, ALL, STANDARD);
	while (out < 20000) {
		rig_gather();
		for (unsigned n = 1 + random_below(64); n; n--, in++)
			rig_force(f, kind_of(in), 0);
		rig_burst();
		while (out != in) {
			unsigned n = rx(0, 1 + random_below(100));
			assert_in_range(n, 1, in - out);
			for (unsigned k = 0; k < n; k++, out++) {
				const struct pkt *p = &pair->hands[k];
				assert_int_equal(p->len, kind_of(out));
				assert_memory_equal(p->data, f, p->len);
				assert_int_equal(p->flags, out % 40 == 39 ? PKT_CSUM_OK : 0);
			}
			let_go(0);
		}
		assert_int_equal(rx(0, 1), 0);
	}
	assert_int_equal(pair->cnt.rx_pkts, in);
	assert_int_equal(pair->cnt.rx_bad_desc + pair->cnt.mmio_writes, 0);
}

static void sends(void **s)
{
	(void)s;
	unsigned seq = 0, bursts = 0;
	up(1, ALL, STANDARD);
	while (seq < 5000) {
		for (unsigned n = 1 + seq % 97; n; n--, seq++)
			take(0, f, numbered(seq, 60 + seq % 1455));
		while (port.pair[0].nhands) {
			bursts += tx(0) > 0;
			rig_run(20000);
		}
	}
	rig_run(1000000);
	assert_int_equal(tx(0), 0);
	assert_int_equal(port.pair[0].cnt.mmio_writes, bursts);
	assert_int_equal(rig_sent_count(), seq);
	for (unsigned i = 0; i < seq; i++) {
		struct rig_frame got;
		assert_true(rig_sent(&got));
		assert_int_equal(got.bytes, numbered(i, 60 + i % 1455));
		assert_memory_equal(got.data, f, got.bytes);
	}
	assert_int_equal(port.pair[0].cnt.tx_pkts, seq);
	assert_int_equal(port.pair[0].pool.free, POOL_MAX - (1024 - 8));
}

static void filters(void **s)
{
	(void)s;
	static const uint8_t others[6] = {0x02, 0, 0x5e, 0, 0x53, 0x99};
	static const uint8_t group[6] = {0x01, 0, 0x5e, 1, 2, 3};
	static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	up(1, ALL, STANDARD);
	unsigned len = numbered(1, 80);
	memcpy(f, others, 6);
	rig_force(f, len, 0);
	assert_int_equal(rx_all(0), 0);
	memcpy(f, group, 6);
	rig_force(f, len, 0);
	assert_int_equal(rx_all(0), 1);
	memcpy(f, all, 6);
	rig_force(f, len, 0);
	assert_int_equal(rx_all(0), 1);
}

/* Each flow goes to the queue that RSS selects, the same on every card. */
static void rss_is_toeplitz(void **s)
{
	(void)s;
	static const uint8_t key[] = NIC_RSS_KEY;
	up(4, ALL, STANDARD);
	for (unsigned k = 0; k < 400; k++) {
		struct flow w = flow_of(k, 30);
		uint32_t src = be32_load(w.src), dst = be32_load(w.dst);
		uint32_t hash = w.version == 6 ? rss_hash_tcp6(key, w.src, w.dst, w.sport, w.dport)
		                               : rss_hash_tcp4(key, src, dst, w.sport, w.dport);
		rig_receive(f, make_ip(f, &w));
		for (unsigned q = 0; q < 4; q++) {
			unsigned n = rx_all(q);
			if (n != (hash % 128 % 4 == q))
				fail_msg("flow %u: %u frames on queue %u, hash %x", k, n, q, hash);
			let_go(q);
		}
	}
	/* Packets without ports by their addresses; what is not IP to the first queue. */
	struct flow w = flow_of(4, 30);
	w.protocol = 1;
	uint32_t hash = rss_hash_ip4(key, be32_load(w.src), be32_load(w.dst));
	rig_receive(f, make_ip(f, &w));
	assert_int_equal(rx_all(hash % 4), 1);
	rig_receive(f, numbered(3, 90));
	assert_int_equal(rx_all(0), 1);
}

static void receive_checksums(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	for (unsigned k = 0; k < 16; k++) {
		struct flow w = flow_of(k, 100 + k);
		unsigned bad = k / 4;
		w.tagged = k == 3 || k == 0;
		unsigned len = make_ip(f, &w), l3 = w.tagged ? 18 : 14;
		if (bad == 1)
			f[len - 1] ^= 1;
		if (bad == 2 && w.version == 4)
			f[l3 + 10] ^= 1;
		rig_receive(f, len);
		assert_int_equal(rx_all(0), 1);
		bool good = bad != 1 && !(bad == 2 && w.version == 4);
		if (port.pair[0].hands[0].flags != (good ? PKT_CSUM_OK : 0))
			fail_msg("%u: flags %x", k, port.pair[0].hands[0].flags);
		let_go(0);
	}
}

/* As the stack leaves it: with the pseudo header's sum in the field. */
static struct pkt *take_partial(const struct flow *w)
{
	unsigned len = make_ip(f, w), l3 = w->tagged ? 18 : 14;
	unsigned l4 = l3 + (w->version == 4 ? 20 : 40);
	unsigned offset = w->protocol == 6 ? 16 : 6;
	static uint8_t was[70000];
	memcpy(was, f, len);
	unsigned bytes = (w->protocol == 6 ? 20 : 8) + w->payload;
	be16_store(f + l4 + offset,
	           slow_sum(f, 0, slow_pseudo(f + l3, w->version, w->protocol, bytes)));
	struct pkt *p = take(0, f, len);
	memcpy(f, was, len);
	p->flags |= PKT_CSUM_PARTIAL;
	*pkt_meta(&port.pair[0].pool, p->buf) =
		(struct pkt_meta){.csum_start = (uint16_t)l4,
	                          .csum_offset = (uint16_t)offset,
	                          .hdr_bytes = (uint16_t)(l4 + bytes - w->payload)};
	return p;
}

static void transmit_checksums(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	for (unsigned k = 0; k < 16; k++) {
		struct flow w = flow_of(k, 100 + k);
		struct rig_frame got;
		w.tagged = k >= 8;
		take_partial(&w);
		assert_int_equal(tx(0), 1);
		rig_run(100000);
		assert_true(rig_sent(&got));
		assert_int_equal(got.bytes, make_ip(f, &w));
		assert_memory_equal(got.data, f, got.bytes);
	}
}

static void segmentation(void **s)
{
	(void)s;
	up(1, ALL, BUF_STRIDE_JUMBO);
	for (unsigned k = 0; k < 2; k++) {
		struct flow w = flow_of(k, 8000);
		struct pkt *p = take_partial(&w);
		p->flags |= PKT_TSO;
		pkt_meta(&port.pair[0].pool, p->buf)->mss = 1400;
		assert_int_equal(tx(0), 1);
		rig_run(1000000);
		unsigned head = k ? 74 : 54, at = head;
		for (unsigned i = 0; i < 6; i++) {
			struct rig_frame got;
			unsigned n = i < 5 ? 1400 : 1000;
			assert_true(rig_sent(&got));
			assert_int_equal(got.bytes, head + n);
			assert_memory_equal(got.data + head, f + at, n);
			uint32_t pseudo = slow_pseudo(got.data + 14, w.version, 6, 20 + n);
			assert_int_equal(slow_sum(got.data + head - 20, 20 + n, pseudo), 0xffff);
			if (!k)
				assert_int_equal(slow_sum(got.data + 14, 20, 0), 0xffff);
			at += n;
		}
		assert_int_equal(rig_sent_count(), 0);
	}
}

static void vlan_tags(void **s)
{
	(void)s;
	up(1, ALL | NIC_VLAN, STANDARD);
	struct flow w = flow_of(0, 200);
	struct rig_frame got;
	w.tagged = true;
	w.tci = 0x6123;
	rig_receive(f, make_ip(f, &w));
	assert_int_equal(rx_all(0), 1);
	struct pkt *p = &port.pair[0].hands[0];
	assert_int_equal(p->flags, PKT_CSUM_OK | PKT_VLAN);
	assert_int_equal(pkt_meta(&port.pair[0].pool, p->buf)->vlan_tci, 0x6123);
	assert_memory_equal(p->data + 12, f + 16, p->len - 12u);
	p->flags &= (uint8_t)~PKT_CSUM_OK;
	assert_int_equal(tx(0), 1); /* and sent again */
	rig_run(100000);
	assert_true(rig_sent(&got));
	assert_int_equal(got.bytes, make_ip(f, &w));
	assert_memory_equal(got.data, f, got.bytes);
}

static void large_frames(void **s)
{
	(void)s;
	struct rig_frame got;
	up(1, ALL, BUF_STRIDE_JUMBO);
	unsigned most = BUF_STRIDE_JUMBO - BUF_DATA_OFFSET;
	unsigned len = numbered(7, most);
	rig_receive(f, len);
	assert_int_equal(rx_all(0), 1);
	assert_int_equal(port.pair[0].hands[0].len, len);
	assert_memory_equal(port.pair[0].hands[0].data, f, len);
	assert_int_equal(tx(0), 1);
	rig_run(100000);
	assert_true(rig_sent(&got));
	assert_int_equal(got.bytes, len);
	/* The card drops a frame with one byte more: the queue works on. */
	rig_force(f, numbered(8, most + 1), 0);
	rig_receive(f, numbered(9, 100));
	assert_int_equal(rx_all(0), 1);
	assert_false(port.pair[0].q.broken);
}

static void short_frames(void **s)
{
	(void)s;
	struct rig_frame got;
	up(1, ALL, STANDARD);
	for (unsigned len = 14; len < 60; len++) {
		take(0, f, numbered(len, len));
		assert_int_equal(tx(0), 1);
		rig_run(100000);
		assert_true(rig_sent(&got));
		assert_int_equal(got.bytes, 60);
		assert_memory_equal(got.data, f, len);
	}
}

static void empty_pool(void **s)
{
	(void)s;
	struct nic_stats sum = {0};
	power();
	assert_int_equal(port_probe(), E_OK);
	assert_int_equal(port_start(1, ALL, STANDARD, 100), E_OK);
	port_attach();
	while (!link_now().up)
		rig_run(1000000);
	for (unsigned i = 0; i < 150; i++)
		rig_force(f, numbered(i, 60), 0);
	assert_int_equal(rx_all(0), 100);
	for (unsigned i = 0; i < 30; i++) {
		rig_run(100000000);
		link_now();
	}
	mlx5_ops.stats(&port.nic, &sum);
	assert_true(sum.rx_no_desc + sum.rx_missed >= 50);
	let_go(0);
	rx_all(0);
	rig_receive(f, numbered(1, 60));
	assert_int_equal(rx_all(0), 1);
}

/* A core that requests an interrupt gets one for the next frame, and none otherwise. */
static void interrupts(void **s)
{
	(void)s;
	up(2, ALL, STANDARD);
	struct nic_queue *q = &port.pair[0].q;
	rig_receive(f, numbered(0, 60)); /* at line rate a record of zero counts as armed, once */
	assert_int_equal(rx_all(0), 1);
	let_go(0);
	memset(rig.irqs, 0, sizeof rig.irqs);
	for (unsigned i = 0; i < 200; i++) { /* the EQ wraps around */
		rig_receive(f, numbered(i, 60));
		rig_run(100000);
		assert_int_equal(rig.irqs[1], i);
		assert_int_equal(rx_all(0), 1);
		assert_false(mlx5_ops.rx_interrupt(q, true));
		rig_run(100000);
		assert_int_equal(rig.irqs[1], i);
		rig_receive(f, numbered(i, 60));
		rig_run(100000);
		assert_int_equal(rig.irqs[1], i + 1);
		mlx5_ops.rx_interrupt(q, false);
		assert_int_equal(rx_all(0), 1);
		let_go(0);
	}
	/* A frame that came before is reported at once. */
	rig_receive(f, numbered(1, 60));
	rig_run(100000);
	assert_true(mlx5_ops.rx_interrupt(q, true));
}

/* Doorbells that take long to arrive: no event comes in between, and then one for all. */
static void interrupts_asked_for_again(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	struct nic_queue *q = &port.pair[0].q;
	assert_false(mlx5_ops.rx_interrupt(q, true));
	unsigned writes = port.writes;
	for (unsigned i = 0; i < 100; i++) {
		mlx5_ops.rx_interrupt(q, false);
		assert_false(mlx5_ops.rx_interrupt(q, true));
	}
	assert_int_equal(port.writes, writes);
	assert_int_equal(q->cnt->irq_arms, 1);
	memset(rig.irqs, 0, sizeof rig.irqs);
	rig_receive(f, numbered(1, 60));
	rig_run(100000);
	assert_int_equal(rig.irqs[1], 1);
	assert_int_equal(rx_all(0), 1);
	assert_false(mlx5_ops.rx_interrupt(q, true));
	assert_int_equal(q->cnt->irq_arms, 2);
}

/* Cores that go to sleep at the same time, all with doorbells in the one UAR page. */
static void interrupts_of_all_pairs(void **s)
{
	(void)s;
	enum { PAIRS_ASLEEP = 8 };
	up(PAIRS_ASLEEP, ALL, STANDARD);
	for (unsigned round = 0; round < 20; round++) {
		memset(rig.irqs, 0, sizeof rig.irqs);
		for (unsigned q = 0; q < PAIRS_ASLEEP; q++)
			assert_false(mlx5_ops.rx_interrupt(&port.pair[q].q, true));
		for (unsigned i = 0; i < 64; i++) {
			struct flow w = {.version = 4, .protocol = 17, .sport = (uint16_t)(977 * i)};
			rig_receive(f, make_ip(f, &w));
		}
		rig_run(100000);
		for (unsigned q = 0; q < PAIRS_ASLEEP; q++) {
			assert_int_equal(rig.irqs[1 + q], 1);
			assert_true(rx_all(q) > 0);
			let_go(q);
		}
	}
}

/* A restarted control core finds a device that runs, and nothing else that would stop it. */
static void probe_of_a_running_device(void **s)
{
	(void)s;
	up(2, ALL, STANDARD);
	rig_receive(f, numbered(1, 60));
	rig_run(100000);
	memset(&port.nic.priv, 0, sizeof port.nic.priv);
	assert_int_equal(port_probe(), E_OK);
	assert_int_equal(port_start(2, ALL, STANDARD, 1000), E_OK);
	port_attach();
	while (!link_now().up)
		rig_run(1000000);
	rig_receive(f, numbered(2, 60));
	assert_int_equal(rx_all(0), 1);
}

static void link_goes_down_and_up(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	for (unsigned i = 0; i < 3; i++) {
		rig_carrier(i & 1);
		for (unsigned k = 0; k < 4; k++) {
			rig_run(100000000);
			link_now();
		}
		assert_int_equal(link_now().up, i & 1);
	}
}

static void slots(void **s)
{
	(void)s;
	static struct nic_slot slot[NIC_SLOTS_MAX];
	static uint8_t *mem;
	up(1, ALL, STANDARD);
	struct nic_queue *q = &port.pair[0].q;
	assert_int_equal(mlx5_ops.slots_open(q), NIC_SLOTS_MAX);
	mem = rig_mem(rig_alloc(NIC_SLOTS_MAX * 128, 128), NIC_SLOTS_MAX * 128);
	for (unsigned i = 0; i < NIC_SLOTS_MAX; i++) {
		slot[i] = (struct nic_slot){mem + i * 128 + 32, 60 + i % 8};
		numbered(i, slot[i].len);
		memcpy(slot[i].data, f, slot[i].len);
	}
	mlx5_ops.slots_put(q, 0, slot, NIC_SLOTS_MAX);
	for (unsigned sent = 0, seen = 0; sent < 20000;) {
		unsigned n = mlx5_ops.slots_free(q);
		n = n < 100 + sent % 77 ? n : 100 + sent % 77;
		slots_send(0, n, 60 * n);
		sent += n;
		rig_run(50000);
		for (struct rig_frame got; rig_sent(&got); seen++) {
			assert_int_equal(got.bytes, slot[seen % NIC_SLOTS_MAX].len);
			assert_memory_equal(got.data, slot[seen % NIC_SLOTS_MAX].data, got.bytes);
		}
	}
	rig_run(1000000);
	assert_int_equal(mlx5_ops.slots_free(q), NIC_SLOTS_MAX);
	slot[0] = (struct nic_slot){mem + 32, q->slot_len_max};
	assert_int_equal(q->slot_len_max, STANDARD - BUF_DATA_OFFSET);
	mlx5_ops.slots_put(q, 20000 % NIC_SLOTS_MAX, slot, 1);
	slots_send(0, 1, slot[0].len);
	rig_run(1000000);
	assert_true(rig_sent(&(struct rig_frame){0}));
	assert_int_equal(mlx5_ops.slots_free(q), NIC_SLOTS_MAX);
}

#define TESTS \
	cmocka_unit_test_teardown(no_pause, teardown), \
		cmocka_unit_test_teardown(link_stays, teardown), \
	cmocka_unit_test_teardown(doorbell_pages, teardown), \
		cmocka_unit_test_teardown(lives, teardown), cmocka_unit_test_teardown(receives, teardown), \
		cmocka_unit_test_teardown(receives_bursts, teardown), \
		cmocka_unit_test_teardown(sends, teardown), \
		cmocka_unit_test_teardown(filters, teardown), \
		cmocka_unit_test_teardown(rss_is_toeplitz, teardown), \
		cmocka_unit_test_teardown(receive_checksums, teardown), \
		cmocka_unit_test_teardown(transmit_checksums, teardown), \
		cmocka_unit_test_teardown(segmentation, teardown), \
		cmocka_unit_test_teardown(vlan_tags, teardown), \
		cmocka_unit_test_teardown(large_frames, teardown), \
		cmocka_unit_test_teardown(short_frames, teardown), \
		cmocka_unit_test_teardown(empty_pool, teardown), \
		cmocka_unit_test_teardown(interrupts, teardown), \
		cmocka_unit_test_teardown(interrupts_asked_for_again, teardown), \
		cmocka_unit_test_teardown(interrupts_of_all_pairs, teardown), \
		cmocka_unit_test_teardown(probe_of_a_running_device, teardown), \
		cmocka_unit_test_teardown(link_goes_down_and_up, teardown), \
		cmocka_unit_test_teardown(slots, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(probe_learns, teardown), TESTS,
	};
	const struct CMUnitTest fast[] = {TESTS};
	return cmocka_run_group_tests_name("strict", tests, strict, NULL) +
	       cmocka_run_group_tests_name("line rate", fast, line_rate, NULL);
}
