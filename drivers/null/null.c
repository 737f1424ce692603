/*
 * A port without a device. A source and clients make as many packets on the spot as they are asked
 * to receive; a sink receives none. All free what they are given to send, and their slots are always
 * free. It has two uses: to benchmark everything but the device (loop, application, buffer pool),
 * and to show the minimal driver (ARCHITECTURE.md, How to add).
 *
 * A frame is 60 bytes, 64 with FCS, and UDP. A source's goes from 198.18.0.1 to the discard port (RFC
 * 863) of 198.19.x.y, addresses that RFC 2544, appendix C, reserves for benchmarks; one of clients
 * from 198.19.x.y to the echo port (RFC 862) of 198.18.0.1. Each of 65536 consecutive frames of a
 * queue has a different x.y, far from the previous one, as a router's table would see it.
 */
#include "drivers/null/null.h"

#include "lib/csum.h"
#include "lib/mem.h"

#define FRAME_BYTES 60
#define STRIDE 40503 /* 65536 divided by the golden ratio, odd: visits every x.y, in large steps */

/* Offsets from the start of the frame. */
enum { IP = 14, IP_CSUM = IP + 10, IP_SRC = IP + 12, IP_DST = IP + 16, UDP_DST_PORT = IP + 22 };

struct frame {
	uint8_t bytes[64]; /* of which FRAME_BYTES count */
	uint32_t sum; /* of the IPv4 header, checksum and x.y zero */
	uint16_t low; /* x.y of the next frame */
	uint8_t at;   /* where x.y stands */
	bool silent;  /* a sink: there are no frames */
};

/* What a queue has to know of its port: nic_shared.priv. */
struct identity {
	uint8_t mac[6];
	uint8_t kind; /* enum nic_null */
};
_Static_assert(sizeof(struct frame) <= sizeof((struct nic_queue *)0)->priv, "fits a queue");

static struct frame *frame_of(struct nic_queue *q)
{
	return (struct frame *)(void *)q->priv;
}

/* --- control core --- */

static bool match(const struct pci_dev *dev)
{
	return dev->vendor == PCI_VENDOR_NONE;
}

static int probe(struct nic *nic, const struct pci_dev *dev)
{
	static uint8_t number;
	const uint8_t mac[6] = {0x02, 'n', 'u', 'l', 'l', number++}; /* locally administered */
	memcpy(nic->mac, mac, sizeof mac);
	(void)dev;
	nic->pairs_max = NIC_PAIRS_MAX;
	nic->mtu_max = NIC_MTU_MAX;
	/* Nobody looks at what is sent, so the driver need not complete it. */
	nic->features = NIC_TX_CSUM | NIC_SG | NIC_TSO | NIC_USO;
	return E_OK;
}

static size_t ring_bytes(const struct nic *nic)
{
	(void)nic;
	return 0;
}

static int start(struct nic *nic, const struct nic_config *config, struct nic_shared *shared)
{
	shared->pairs = (uint8_t)config->pairs;
	shared->features = nic->features & config->features;
	struct identity *id = (void *)shared->priv;
	memcpy(id->mac, nic->mac, sizeof id->mac);
	id->kind = (uint8_t)nic->pci->device;
	return E_OK;
}

static void stop(struct nic *nic)
{
	(void)nic;
}

/* All state of a queue is its core's. */
static int pair_stop(struct nic *nic, unsigned pair)
{
	(void)nic;
	(void)pair;
	return E_OK;
}

static int pair_start(struct nic *nic, const struct nic_config *config, unsigned pair,
                      struct nic_shared *shared)
{
	(void)config;
	(void)shared;
	return pair_stop(nic, pair);
}

static void link(struct nic *nic, struct nic_link *out)
{
	(void)nic;
	*out = (struct nic_link){.up = true};
}

/* --- data core --- */

static int attach(struct nic_queue *q, const struct nic_shared *shared, unsigned pair, void *mem)
{
	static const uint8_t rest[] = {
		0x02, 'p', 'e', 'e', 'r', 0x00, /* source address */
		0x08, 0x00, /* IPv4 */
		0x45, 0, 0, FRAME_BYTES - IP, 0, 0, 0, 0, 64, 17, 0, 0, /* 64 hops, UDP */
		198, 18, 0, 1, 198, 19, 0, 0,
		0xc0, 0x20, 0, 9, 0, FRAME_BYTES - IP - 20, 0, 0, /* 49184 to 9; no checksum */
	};
	struct frame *f = frame_of(q);
	static const uint8_t to_echo[] = {198, 19, 0, 0, 198, 18, 0, 1}; /* addresses of clients' frames */
	const struct identity *id = (const void *)shared->priv;
	const bool clients = id->kind == NIC_NULL_CLIENTS;
	(void)pair;
	(void)mem;
	q->rx_buffers = 0; /* there is no ring */
	f->silent = id->kind == NIC_NULL_SINK;
	f->at = (clients ? IP_SRC : IP_DST) + 2;
	memcpy(f->bytes, id->mac, sizeof id->mac);
	memcpy(f->bytes + 6, rest, sizeof rest);
	if (clients) {
		memcpy(f->bytes + IP_SRC, to_echo, sizeof to_echo);
		f->bytes[UDP_DST_PORT + 1] = 7;
	}
	f->sum = csum_partial(f->bytes + IP, 20, 0);
	return E_OK;
}

static void release(struct nic_queue *q)
{
	(void)q; /* it holds no buffers */
}

static unsigned rx_burst(struct nic_queue *q, struct pkt *v, unsigned max)
{
	struct frame *f = frame_of(q);
	unsigned n = 0;
	if (f->silent)
		return 0;
	for (; n < max && pkt_alloc(q->pool, &v[n]); n++) {
		uint16_t low = be16_make(f->low).raw;
		f->low += STRIDE;
		for (unsigned i = 0; i < sizeof f->bytes; i += 8)
			raw64_store(v[n].data + i, raw64_load(f->bytes + i));
		raw16_store(v[n].data + IP_CSUM, csum_fold(f->sum + low));
		raw16_store(v[n].data + f->at, low);
		v[n].len = FRAME_BYTES;
		v[n].interface = q->port;
	}
	q->cnt->rx_no_buffer += n < max;
	q->cnt->rx_pkts += n;
	q->cnt->rx_bytes += n * FRAME_BYTES;
	return n;
}

static unsigned tx_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		q->cnt->tx_bytes += pkt_bytes(q->pool, &v[i]);
		pkt_free(q->pool, &v[i]);
	}
	q->cnt->tx_pkts += n;
	return n;
}

/* Slots cost nothing and are always free: what remains is the cost of the sender itself. */
static unsigned slots_open(struct nic_queue *q)
{
	(void)q;
	return NIC_SLOTS_MAX;
}

static void slots_put(struct nic_queue *q, unsigned first, const struct nic_slot *s, unsigned n)
{
	(void)q;
	(void)first;
	(void)s;
	(void)n;
}

static unsigned slots_free(struct nic_queue *q)
{
	(void)q;
	return NIC_SLOTS_MAX;
}

static void slots_send(struct nic_queue *q, unsigned n, uint64_t bytes)
{
	q->cnt->tx_pkts += n;
	q->cnt->tx_bytes += bytes;
}

/* A source always has a packet, so a core with such a port never sleeps. A sink never has one. */
static bool rx_interrupt(struct nic_queue *q, bool arm)
{
	(void)arm;
	return !frame_of(q)->silent;
}

const struct nic_ops null_ops = {
	.name = "null",
	.match = match,
	.probe = probe,
	.ring_bytes = ring_bytes,
	.start = start,
	.stop = stop,
	.pair_stop = pair_stop,
	.pair_start = pair_start,
	.link = link,
	.attach = attach,
	.release = release,
	.rx_burst = rx_burst,
	.tx_burst = tx_burst,
	.rx_interrupt = rx_interrupt,
	.slots_open = slots_open,
	.slots_put = slots_put,
	.slots_free = slots_free,
	.slots_send = slots_send,
};
