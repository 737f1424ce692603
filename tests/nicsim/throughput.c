/*
 * What a frame costs nicsim, without QEMU: generator -> model -> the product's driver, which sends
 * each frame back -> model -> the generator, which judges it. The model is in line-rate mode. `make
 * nicsim-bench` prints the time of a frame in nicsim alone, by the TSC. -c: a fixed number of
 * frames instead, for tests/bench/gate.py, which counts the instructions of measured().
 *
 *     throughput-CARD [-c] [WIRE]
 */
#include <stdio.h>
#include <string.h>
#include <x86intrin.h>

#include "tests/unit/rig/model_port.h"
#include "tools/nicsim/dma.h"
#include "tools/nicsim/wires/judge.h"
#include "tools/nicsim/wires/open.h"

#define TURN_NS 3000
#define TURNS   200000
#define COUNTED 2000
#define WARM    200

static struct dma_map map;

/* As port.c has it. */
static void *host_dma(void *ctx, uint64_t bus, uint64_t bytes, enum dma_access access)
{
	(void)ctx;
	return rig.m->masters && !rig.m->removed ? dma_find(&map, bus, bytes, access) : NULL;
}

static bool host_piece(void *ctx, uint64_t bus, struct dma_piece *out)
{
	(void)ctx;
	return rig.m->masters && !rig.m->removed && dma_piece(&map, bus, out);
}

/* A turn of nicsim, as port_run has it. */
__attribute__((noinline)) static void measured(void)
{
	struct frame v[FRAME_BURST];
	struct model *m = rig.m;
	m->now = rig.now;
	unsigned n = m->ops->rx_room(m, FRAME_BURST);
	n = n ? wire_pull(m->wire, v, n, rig.now) : 0;
	if (n)
		m->ops->receive(m, v, n);
	m->ops->work(m);
}

/* Sends all frames back, to the other end of the wire. */
static void guest(void)
{
	rx(0, PKT_VECTOR_MAX);
	struct port_pair *p = &port.pair[0];
	for (unsigned i = 0; i < p->nhands; i++)
		memcpy(p->hands[i].data, "\x52\x54\0\0\x99\0", 6);
	if (p->nhands)
		tx(0);
}

int main(int argc, char **argv)
{
	const bool counts = argc > 1 && strcmp(argv[1], "-c") == 0;
	argv += counts;
	argc -= counts;
	line_rate(NULL);
	up(1, 0, STANDARD);
	struct wire *w = wire_open(argc > 1 ? argv[1] : "gen", 0, rig.m->mac);
	if (w == NULL)
		return 1;
	map.region[map.count++] =
	        (struct dma_region){.bytes = RIG_MEMORY, .at = rig.memory, .writable = true};
	rig.m->host.dma = host_dma;
	rig.m->host.piece = host_piece;
	rig.m->wire = w;
	uint64_t ticks = 0, before = 0;
	for (unsigned i = 0; i < (counts ? WARM + COUNTED : TURNS); i++) {
		if (i == WARM)
			before = streams[0].received;
		rig.now += TURN_NS;
		const uint64_t start = __rdtsc();
		measured();
		ticks += i >= WARM ? __rdtsc() - start : 0;
		guest();
	}
	const struct stream *s = &streams[0];
	if (counts)
		printf("counted %llu\n", (unsigned long long)(s->received));
	else
		printf("nicsim-bench: %s: %.1f TSC cycles a frame (%llu sent, %llu received, %llu bad)\n",
		       rig.m->ops->name, (double)ticks / (double)(s->received - before),
		       (unsigned long long)s->sent, (unsigned long long)s->received,
		       (unsigned long long)(s->corrupted + s->duplicates));
	return s->received == 0 || s->corrupted || s->duplicates || s->reordered || rig_violated();
}
