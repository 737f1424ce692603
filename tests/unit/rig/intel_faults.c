#include "tests/unit/rig/intel_faults.h"

#include "tests/unit/rig/packets.h"

#define CALL_NS 5000000000ull /* no call may take longer */

unsigned make_numbered(uint32_t seq)
{
	unsigned len = 64 + seq * 13 % 1400;
	memset(frame, (int)(seq * 7), len);
	ether(0x88b5);
	put32(frame + 14, seq);
	return len;
}

static uint64_t began;
static void begin(void) { began = rig.now; }
static void end_in_time(void) { assert_true(rig.now - began < CALL_NS); }

int timed_probe(void)
{
	begin();
	int e = port_probe();
	end_in_time();
	return e;
}

int timed_start(void)
{
	begin();
	int e = port_start(2, INTEL_FEATURES, STANDARD, 1600);
	end_in_time();
	return e;
}

void timed_stop(void)
{
	begin();
	port_stop();
	end_in_time();
}

unsigned traffic(unsigned n)
{
	unsigned came = 0;
	for (uint32_t i = 0; i < n; i++) {
		unsigned len = make_numbered(i);
		rig_force(frame, len, 0);
		struct port_pair *p = &port.pair[0];
		if (p->pool.free && p->nhands < POOL_MAX)
			take(0, frame, len);
		if (i % 32 != 31)
			continue;
		tx(0);
		let_go(0);
		rig_run(200000);
		for (unsigned q = 0; q < port.pairs; q++) {
			rx(q, PKT_VECTOR_MAX);
			for (unsigned k = 0; k < port.pair[q].nhands; k++) {
				const struct pkt *r = &port.pair[q].hands[k];
				const uint8_t *base = buf_base(&port.pair[q].pool, r->buf);
				assert_true(r->data >= base + BUF_META && r->len > 0);
				assert_true(r->data + r->len <= base + STANDARD);
			}
			came += port.pair[q].nhands;
			let_go(q);
		}
		assert_buffers();
		struct rig_frame f;
		while (rig_sent(&f))
			;
	}
	return came;
}

void assert_recovers(void)
{
	if (timed_probe() != E_OK || timed_start() != E_OK)
		fail_msg("%s", port.nic.error);
	port_attach();
	assert_true(link_within(5000).up);
	assert_int_equal(traffic(320), 320);
	timed_stop();
}

static void start_up(const struct start_up_fault *f, bool later)
{
	power();
	if (later)
		assert_int_equal(timed_probe(), E_OK);
	rig_fault(f->fault);
	const int e = later ? timed_start() : timed_probe();
	const int want = later ? f->start : f->probe;
	if (e != want || (want != E_OK && !strstr(port.nic.error, f->names)))
		fail_msg("%s: %d, %s", f->fault, e, port.nic.error ? port.nic.error : "-");
	const uint64_t writes = rig.dma_writes;
	for (unsigned k = 0; e != E_OK && k < 10; k++)
		rig_force(frame, make_numbered(k), 0);
	rig_run(10000000);
	if (e != E_OK)
		assert_int_equal(rig.dma_writes, writes);
	timed_stop();
	rig_fault_clear(f->fault);
	assert_recovers();
	rig_forgive();
	teardown(NULL);
}

void assert_start_up_names(const struct start_up_fault *f)
{
	start_up(f, false);
	start_up(f, true);
}
