/*
 * The cost of nicsim itself per frame, without QEMU and with a trivial guest: generator →
 * model=test port 0 → "guest" that passes each buffer on → model=test port 1 → sink, all in this
 * thread. `make nicsim-bench`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/nicsim/clock.h"
#include "tools/nicsim/testdev.h"
#include "tools/nicsim/wires/judge.h"
#include "tools/nicsim/wires/open.h"

#define SIZE    1024 /* descriptors of a ring */
#define BUFFER  2048
#define SECONDS 2

struct desc {
	uint64_t address;
	uint32_t bytes, flags;
};

static _Alignas(4096) uint8_t memory[2 * SIZE * sizeof(struct desc) + SIZE * BUFFER];
static _Alignas(4096) uint32_t bar[2][0x2000 / 4];

static void *host_dma(void *ctx, uint64_t bus, uint64_t bytes, enum dma_access access)
{
	(void)ctx;
	(void)access;
	return bus <= sizeof memory && bytes <= sizeof memory - bus ? memory + bus : NULL;
}

static void host_irq(void *ctx, unsigned vector)
{
	(void)ctx;
	(void)vector;
}

static struct model *make(unsigned port, const char *wire, uint32_t base)
{
	static const uint8_t mac[6] = {2};
	const struct sim_host host = {NULL, host_dma, host_irq};
	struct wire *w = wire_open(wire, port, mac);
	if (w == NULL)
		exit(1);
	struct model *m =
	        model_create(&testdev_ops, port, &host, w, bar[port], mac, true, clock_now());
	if (m == NULL)
		exit(1);
	bar[port][base / 4] = port * SIZE * sizeof(struct desc);
	bar[port][base / 4 + 2] = SIZE;
	bar[port][1] = 1; /* CTRL.ENABLE */
	return m;
}

int main(int argc, char **argv)
{
	struct model *in = make(0, argc > 1 ? argv[1] : "gen", 0x10), *out = make(1, "sink", 0x20);
	struct desc *rx = (void *)memory, *tx = rx + SIZE;
	uint32_t *rx_tail = &bar[0][0x1000 / 4], *tx_tail = &bar[1][0x1004 / 4], head = 0;
	struct frame v[FRAME_BURST];
	for (unsigned i = 0; i < SIZE; i++)
		rx[i].address = (uint64_t)((uint8_t *)(tx + SIZE) - memory) + i * BUFFER;
	*rx_tail = SIZE;
	uint64_t start = clock_now(), now = start, turns = 0;
	for (; now - start < SECONDS * NS_PER_S; now = clock_now(), turns++) {
		in->now = out->now = now;
		unsigned n = in->ops->rx_room(in, FRAME_BURST);
		n = n ? wire_pull(in->wire, v, n, now) : 0;
		if (n)
			in->ops->receive(in, v, n);
		for (; rx[head % SIZE].flags; head++) { /* the guest */
			rx[head % SIZE].flags = 0;
			tx[head % SIZE] = rx[head % SIZE];
		}
		*tx_tail = head;
		out->ops->work(out);
		*rx_tail = SIZE + head;
	}
	const struct stream *s = &streams[0];
	double ns = (double)(now - start);
	printf("nicsim-bench: %.1f M frames/s, %.1f ns a frame (%llu sent, %llu received, %llu "
	       "bad)\n",
	       (double)s->received * 1e3 / ns, ns / (double)s->received,
	       (unsigned long long)s->sent, (unsigned long long)s->received,
	       (unsigned long long)(s->corrupted + s->duplicates));
	return s->received == 0 || s->corrupted || s->duplicates || s->reordered;
}
