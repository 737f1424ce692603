/*
 * Receive-side scaling, 7.1.2.8: the Toeplitz hash, with the key in RSSRK, over the fields that
 * MRQC enables; seven bits of it choose an entry of RETA,
 * nine in the X550, whose table goes on in ERETA.
 */
#include "tools/nicsim/intel/state.h"

void rss_refresh(struct model *m)
{
	struct nic *n = nic_of(m);
	uint8_t key[TOEPLITZ_KEY];
	n->rss_stale = false;
	/* 8.2.3.7.14: byte 0 of the key is the lowest byte of the first register */
	for (unsigned i = 0; i < TOEPLITZ_KEY; i++)
		key[i] = (uint8_t)(get(m, n->kind->rssrk + (i & ~3u)) >> 8 * (i & 3));
	toeplitz_make(&n->toeplitz, key);
	for (unsigned i = 0; i < n->kind->reta_entries; i++) {
		const uint32_t at = i < 128 ? n->kind->reta + (i & ~3u) : n->kind->ereta + ((i - 128) & ~3u);
		n->reta[i] = (uint8_t)(get(m, at) >> 8 * (i & 3)) & n->kind->reta_mask;
	}
}

/* 7.1.2.8.1: the most specific type that is enabled for the packet; fragments have no ports. */
static enum rss_type type_of(uint32_t mrqc, const struct headers *h)
{
	bool v4 = h->version == 4;
	if (h->l4 && h->protocol == IP_TCP && mrqc & (v4 ? MRQC_TCP4 : MRQC_TCP6))
		return v4 ? RSS_TCP4 : RSS_TCP6;
	if (h->l4 && h->protocol == IP_UDP && mrqc & (v4 ? MRQC_UDP4 : MRQC_UDP6))
		return v4 ? RSS_UDP4 : RSS_UDP6;
	if (v4 && mrqc & MRQC_IP4)
		return RSS_IP4;
	return h->version == 6 && mrqc & MRQC_IP6 ? RSS_IP6 : RSS_NONE;
}

enum rss_type rss_hash(const struct model *m, const uint8_t *frame, const struct headers *h,
                       uint32_t *hash)
{
	const struct toeplitz *t = &nic_of(m)->toeplitz;
	*hash = 0;
	enum rss_type type = h->version ? type_of(get(m, kind_of(m)->mrqc), h) : RSS_NONE;
	if (type == RSS_NONE)
		return type;
	const uint8_t *ip = frame + h->l3;
	*hash = h->version == 4 ? toeplitz(t, 0, ip + 12, 8) : toeplitz(t, 0, ip + 8, 32);
	if (type != RSS_IP4 && type != RSS_IP6)
		*hash ^= toeplitz(t, h->version == 4 ? 8 : 32, frame + h->l4, 4);
	return type;
}

unsigned rss_queue(const struct model *m, uint32_t hash)
{
	return nic_of(m)->reta[hash & (kind_of(m)->reta_entries - 1)];
}
