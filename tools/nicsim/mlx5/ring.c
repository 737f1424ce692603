/*
 * Queues in the guest's memory: entries of equal size in pages that need not be contiguous ("Work
 * Queue Structure", PAS lists). The pages are given once, when the queue is created. Each call of
 * the model looks the memory up again, because mappings change between calls: all pages at once if
 * they are one piece, else entry by entry.
 */
#include <stdlib.h>

#include "tools/nicsim/mlx5/state.h"

enum status ring_make(struct model *m, struct command *c, struct ring *r, uint32_t pas)
{
	const uint64_t page = 1ull << r->log_page;
	const uint64_t bytes = 1ull << (r->log_size + r->log_stride);
	const uint64_t pages = bytes > page ? bytes / page : 1;
	if (r->log_page > LOG_RING_PAGE_MAX)
		return refuse(m, c, STATUS_BAD_PARAM, "pages of 2^%u bytes", r->log_page);
	if (c->in_bytes < pas + 8 * pages)
		return refuse(m, c, STATUS_BAD_INPUT_LENGTH, "%u bytes, but the queue has %u pages",
		              c->in_bytes, (unsigned)pages);
	uint64_t *list = malloc(pages * sizeof *list);
	if (list == NULL)
		return refuse(m, c, STATUS_NO_RESOURCES, "the model has no memory");
	for (uint64_t i = 0; i < pages; i++) {
		list[i] = be64(c->in + pas + 8 * i);
		if (list[i] % page || model_dma(m, list[i], bytes < page ? bytes : page, DMA_WRITE,
		                                "page of a queue") == NULL) {
			free(list);
			return refuse(m, c, STATUS_BAD_PARAM, "page %u of the queue", (unsigned)i);
		}
	}
	r->page = list;
	r->together = true;
	for (uint64_t i = 1; i < pages; i++)
		r->together &= list[i] == list[0] + i * page;
	return STATUS_OK;
}

void ring_free(struct ring *r)
{
	free(r->page);
	r->page = NULL;
}

/* The slow path of ring_at, for byte `at` of the queue. Pages that are not one piece of memory are
 * no violation, as long as each entry is available. */
uint8_t *ring_find(struct model *m, struct ring *r, uint64_t at, enum dma_access access,
                   const char *what)
{
	const uint64_t bytes = 1ull << (r->log_size + r->log_stride);
	const uint64_t within = at & ((1ull << r->log_page) - 1);
	if (r->call != nic_of(m)->call && r->together)
		r->at = model_reach(m, r->page[0], bytes, access);
	r->call = nic_of(m)->call;
	if (r->at)
		return r->at + at;
	return model_dma(m, r->page[at >> r->log_page] + within, 1u << r->log_stride, access, what);
}
