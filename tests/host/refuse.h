/*
 * Memory that is not given. Every request of the product's is counted, by its kind; a test has the
 * n-th from now on refused, or the n-th and all behind it, as an allocator refuses that has no more.
 * Nothing is refused before refuse() is called.
 */
#ifndef TESTS_HOST_REFUSE_H
#define TESTS_HOST_REFUSE_H

#include "lib/types.h"

enum refuse_kind {
	REFUSE_MEMORY,  /* core_private_alloc, core_private_keep, and what the snapshot grows by */
	REFUSE_BUFFERS, /* pkt_alloc of any pool */
	REFUSE_KINDS,
};

/* From now on the n-th request of that kind is refused, with `on` all after it too; n 0: none. What
 * was counted of that kind is zero. */
void refuse(enum refuse_kind kind, uint64_t n, bool on);

/* Requests since then. */
uint64_t refuse_asked(enum refuse_kind kind);

/* Of them, those that were refused. */
uint64_t refuse_refused(enum refuse_kind kind);

/* A request is made: is it refused? */
bool refuse_memory(void);
bool refuse_buffer(void);

#endif
