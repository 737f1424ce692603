/* The one thing about packets that is not inline: cold checksums. */
#include "lib/pkt.h"

#include "lib/bytes.h"
#include "lib/csum.h"

void pkt_csum_complete(const struct bufpool *pool, struct pkt *p)
{
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	if (!(p->flags & PKT_CSUM_PARTIAL))
		return;
	assert(m->csum_start + m->csum_offset + 2u <= p->len); /* the driver has looked */
	uint16_t sum = csum_fold(csum_partial(p->data + m->csum_start, p->len - m->csum_start, 0));
	raw16_store(p->data + m->csum_start + m->csum_offset, sum ? sum : 0xffff);
	p->flags = (uint8_t)((p->flags & ~PKT_CSUM_PARTIAL) | PKT_CSUM_OK);
}
