/*
 * Receive-side scaling, 7.1.2.8: Toeplitz hash with the key in RSSRK over the fields MRQC allows,
 * seven bits of it choose an entry of RETA.
 *
 * The hash is linear over its input bits, so it is the XOR of one table entry for each input byte:
 * the table is made when the key changes.
 */
#include "tools/nicsim/82599/state.h"

#define KEY_BYTES 40
#define INPUT_MAX 36 /* IPv6 addresses and ports */

void rss_refresh(struct model *m)
{
	struct nic *n = nic_of(m);
	uint8_t key[KEY_BYTES];
	n->rss_stale = false;
	/* 8.2.3.7.14: byte 0 of the key is the lowest of the first register */
	for (unsigned i = 0; i < KEY_BYTES; i++)
		key[i] = (uint8_t)(get(m, RSSRK + (i & ~3u)) >> 8 * (i & 3));
	for (unsigned i = 0; i < INPUT_MAX; i++) {
		uint64_t window = (uint64_t)be32(&key[i]) << 8 | key[i + 4];
		uint32_t *row = n->rss_table[i];
		row[0] = 0;
		for (unsigned b = 1; b < 256; b++) {
			unsigned top = 31 - (unsigned)__builtin_clz(b); /* bit 7 is first */
			row[b] = row[b & ~(1u << top)] ^ (uint32_t)(window >> (top + 1));
		}
	}
	for (unsigned i = 0; i < 128; i++)
		n->reta[i] = (uint8_t)(get(m, RETA + (i & ~3u)) >> 8 * (i & 3)) & 15;
}

/* Four bytes of the input at once: a loop over single ones took three times the instructions. */
static inline uint32_t four(const uint32_t (*t)[256], const uint8_t *p)
{
	return t[0][p[0]] ^ t[1][p[1]] ^ t[2][p[2]] ^ t[3][p[3]];
}

static uint32_t hash_ip6(const uint32_t (*t)[256], const uint8_t *p)
{
	uint32_t hash = 0;
	for (unsigned i = 0; i < 32; i += 4)
		hash ^= four(t + i, p + i);
	return hash;
}

/* 7.1.2.8.1: the most that is enabled for the packet; fragments have no ports. */
static enum rss_type type_of(uint32_t mrqc, const struct parsed *p)
{
	bool v4 = p->version == 4;
	if (p->l4 && p->protocol == 6 && mrqc & (v4 ? MRQC_TCP4 : MRQC_TCP6))
		return v4 ? RSS_TCP4 : RSS_TCP6;
	if (p->l4 && p->protocol == 17 && mrqc & (v4 ? MRQC_UDP4 : MRQC_UDP6))
		return v4 ? RSS_UDP4 : RSS_UDP6;
	if (v4 && mrqc & MRQC_IP4)
		return RSS_IP4;
	return p->version == 6 && mrqc & MRQC_IP6 ? RSS_IP6 : RSS_NONE;
}

enum rss_type rss_hash(const struct model *m, const uint8_t *frame, const struct parsed *p,
                       uint32_t *hash)
{
	const struct nic *n = nic_of(m);
	*hash = 0;
	enum rss_type type = p->version ? type_of(get(m, MRQC), p) : RSS_NONE;
	if (type == RSS_NONE)
		return type;
	const uint8_t *ip = frame + p->l2;
	const uint32_t (*t)[256] = n->rss_table;
	uint32_t h = p->version == 4 ? four(t, ip + 12) ^ four(t + 4, ip + 16) : hash_ip6(t, ip + 8);
	if (type != RSS_IP4 && type != RSS_IP6)
		h ^= four(t + (p->version == 4 ? 8 : 32), frame + p->l4);
	*hash = h;
	return type;
}

unsigned rss_queue(const struct model *m, uint32_t hash)
{
	return nic_of(m)->reta[hash & 127];
}
