/*
 * A value in memory that outlives the control program (core_persist_alloc), of which a program may fail in the
 * middle of a change: the next one finds the value of before or the new one, never a mixture.
 *
 *     versions 2   a write goes to the older of two copies. While it is under way, the newer one counts
 *     versions 1   a write goes to the only copy. While it is under way, there is no value: for what is of no use
 *                  when it is old
 *
 * Each copy has a number, which grows with each write, and a seal, a hash of number and value (SipHash-2-4). The
 * valid copy with the greatest number counts. The key is known: a seal proves that a write came to its end, and
 * that nothing has been damaged by chance since. A value is not to be trusted more than the program that wrote it:
 * its reader checks what it uses.
 *
 * For the control core.
 */
#ifndef RUNTIME_SEALED_H
#define RUNTIME_SEALED_H

#include "runtime/runtime.h"

struct sealed {
	enum core_persist what;
	unsigned versions;
	size_t bytes; /* of a value; its alignment is at most 16 */
	/* private */
	uint8_t *at;     /* NULL: no memory, or it has not been looked for */
	uint64_t number; /* of the newest version; 0: none */
};

#define SEALED(kind, copies, type) {.what = (kind), .versions = (copies), .bytes = sizeof(type)}

/* Finds the memory of an earlier program, or takes new memory. False: there is none. */
bool sealed_take(struct sealed *s);

/* The newest version, in place until the next write; NULL: there is none. Finds the memory of an earlier program
 * and takes none. */
const void *sealed_newest(struct sealed *s);

/* True if nothing has been written, and nothing forgotten, since the memory was taken: the machine has just booted. */
bool sealed_is_new(const struct sealed *s);

/* Memory for the next version, with any contents, to be filled before sealed_end(); NULL: there is no memory. */
void *sealed_begin(struct sealed *s);
void sealed_end(struct sealed *s);

/* Both, with a copy of the value. There is memory. */
void sealed_write(struct sealed *s, const void *value);

/* There is no version any more. What sealed_newest() has returned keeps its contents until the next write. */
void sealed_forget(struct sealed *s);

#endif
