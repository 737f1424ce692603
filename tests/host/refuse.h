/*
 * Refusal of memory. Every request of the product is counted, by kind. A test can have the n-th
 * request from now on refused, or the n-th and all after it, as by an allocator that is exhausted.
 * Nothing is refused before refuse() is called.
 */
#ifndef TESTS_HOST_REFUSE_H
#define TESTS_HOST_REFUSE_H

#include "lib/types.h"

enum refuse_kind {
	REFUSE_MEMORY,  /* core_private_alloc, core_persist_alloc and its _aligned, and growth of published memory */
	REFUSE_BUFFERS, /* pkt_alloc of any pool */
	REFUSE_KINDS,
};

/* From now on the n-th request of that kind is refused, with `on` all after it too; n 0: none.
 * Clears the counts of that kind. */
void refuse(enum refuse_kind kind, uint64_t n, bool on);

/* Requests since then. */
uint64_t refuse_asked(enum refuse_kind kind);

/* Of them, those that were refused. */
uint64_t refuse_refused(enum refuse_kind kind);

/* Count a request; true: it is refused. */
bool refuse_memory(void);
bool refuse_buffer(void);

#endif
