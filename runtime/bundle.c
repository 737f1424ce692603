/* See bundle.h. */
#include "runtime/bundle.h"

#include "runtime/flow.h"
#include "runtime/shared.h"

_Static_assert(NIC_PORTS_MAX <= 16, "a bucket has four bits");

static unsigned bucket_of(uint64_t buckets, unsigned i) { return (unsigned)(buckets >> i * 4 & 15); }

static uint64_t with(uint64_t buckets, unsigned i, unsigned port)
{
	return (buckets & ~(15ull << i * 4)) | (uint64_t)port << i * 4;
}

/* The member with the fewest buckets, or with the most. */
static unsigned extreme(const unsigned *has, uint32_t members, bool most)
{
	int found = -1;
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
		if (members >> p & 1 && (found < 0 || (most ? has[p] > has[found] : has[p] < has[found])))
			found = (int)p;
	return (unsigned)found;
}

uint64_t bundle_buckets(uint64_t was, uint32_t members)
{
	unsigned has[16] = {0};
	uint64_t now = was;
	assert(members && members >> NIC_PORTS_MAX == 0);
	for (unsigned i = 0; i < BUNDLE_BUCKETS; i++)
		has[bucket_of(was, i)]++;
	for (unsigned i = 0; i < BUNDLE_BUCKETS; i++) {
		const unsigned port = bucket_of(now, i), least = extreme(has, members, false);
		if (members >> port & 1)
			continue;
		now = with(now, i, least);
		has[least]++;
	}
	for (;;) {
		const unsigned most = extreme(has, members, true), least = extreme(has, members, false);
		unsigned i = 0;
		if (has[most] - has[least] <= 1)
			return now;
		while (bucket_of(now, i) != most)
			i++;
		now = with(now, i, least);
		has[most]--;
		has[least]++;
	}
}

uint64_t bundle_hash(uint64_t seed, const uint8_t *frame, unsigned bytes)
{
	const uint64_t flow = flow_hash(seed, frame, bytes);
	if (flow || bytes < FLOW_ETH_BYTES)
		return flow;
	return flow_finish(flow_mix(flow_mix(seed, raw64_load(frame)), raw64_load(frame + 6)));
}

/* To 01:80:c2:00:00:00 to 0f, which no bridge forwards (IEEE 802.1Q table 8-1). */
static bool is_of_port(const struct pkt *p)
{
	return p->len >= FLOW_ETH_BYTES && be32_load(p->data) == 0x0180c200 && be16_load(p->data + 4) < 16;
}

void bundle_spread(unsigned port)
{
	const struct published *s = published_header();
	const uint64_t buckets = __atomic_load_n(&s->bundle[port], __ATOMIC_RELAXED), seed = s->secret[1];
	struct core_out *o = &core_outs[port];
	const unsigned n = o->n;
	unsigned kept = o->held; /* these have been offered to the port's own ring */
	for (unsigned i = kept; i < n; i++) {
		const struct pkt *p = &o->v[i];
		const unsigned to = is_of_port(p) ? port
		                                  : bundle_port(buckets, bundle_hash(seed, p->data, p->len));
		if (to != port)
			core_tx(to, p);
		else
			o->v[kept++] = *p;
	}
	o->n = kept;
}
