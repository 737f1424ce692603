/* See refuse.h. The linker's --wrap intercepts the control core's allocator. */
#include "tests/host/refuse.h"

#include <stddef.h>

#include "runtime/runtime.h"

static struct {
	uint64_t asked, refused, n;
	bool on;
} kinds[REFUSE_KINDS];

void refuse(enum refuse_kind kind, uint64_t n, bool on)
{
	kinds[kind].asked = kinds[kind].refused = 0;
	kinds[kind].n = n;
	kinds[kind].on = on;
}

uint64_t refuse_asked(enum refuse_kind kind) { return kinds[kind].asked; }

uint64_t refuse_refused(enum refuse_kind kind) { return kinds[kind].refused; }

static bool is_refused(enum refuse_kind kind)
{
	const uint64_t asked = ++kinds[kind].asked, n = kinds[kind].n;
	const bool refused = n && (kinds[kind].on ? asked >= n : asked == n);
	kinds[kind].refused += refused;
	return refused;
}

bool refuse_memory(void) { return is_refused(REFUSE_MEMORY); }

bool refuse_buffer(void) { return is_refused(REFUSE_BUFFERS); }

void *__real_core_private_alloc(size_t bytes);
void *__wrap_core_private_alloc(size_t bytes);
void *__real_core_persist_alloc(enum core_persist what, size_t bytes);
void *__wrap_core_persist_alloc(enum core_persist what, size_t bytes);
void *__real_core_persist_alloc_aligned(enum core_persist what, size_t bytes);
void *__wrap_core_persist_alloc_aligned(enum core_persist what, size_t bytes);

void *__wrap_core_private_alloc(size_t bytes)
{
	return refuse_memory() ? NULL : __real_core_private_alloc(bytes);
}

void *__wrap_core_persist_alloc(enum core_persist what, size_t bytes)
{
	return refuse_memory() ? NULL : __real_core_persist_alloc(what, bytes);
}

void *__wrap_core_persist_alloc_aligned(enum core_persist what, size_t bytes)
{
	return refuse_memory() ? NULL : __real_core_persist_alloc_aligned(what, bytes);
}
