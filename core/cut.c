/*
 * Packets of ours for segmentation where no device does it: a port without NIC_TSO or NIC_USO, or
 * the way to the control core, whose messages are single frames. Cold: TCP asks core_tx_features()
 * and makes such packets where all ports can.
 */
#include "core/outbox.h"
#include "net/gso.h"

bool cut_start(struct gso *g, const struct pkt *p)
{
	bool good = gso_init(g, &self.pool, p) == E_OK;
	count_n(CNT_originated_drop_tx, !good);
	return good;
}

bool cut_next(struct gso *g, struct pkt *to)
{
	if (g->done == g->payload)
		return false;
	if (!pkt_alloc(&self.pool, to)) {
		count(CNT_originated_drop_tx);
		return false;
	}
	return gso_next(g, to);
}

void core_tx_cut(unsigned port, const struct pkt *p)
{
	struct gso g;
	struct pkt segment;
	if (cut_start(&g, p))
		while (cut_next(&g, &segment))
			core_tx(port, &segment);
	pkt_free(&self.pool, p);
}
