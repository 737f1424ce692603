/* The libraries' heap (control/crypto/library.c) for tests on the host. It is not from malloc, so ASan and
 * a test that counts blocks see what the library takes, and not the heap. */
#include <stdlib.h>

#include "control/crypto/library.h"
#include "runtime/runtime.h"

void *core_private_alloc(size_t bytes)
{
	static uint8_t heap[CRYPTO_HEAP] __attribute__((aligned(4096)));
	if (bytes == 0 || bytes > sizeof heap)
		abort();
	return heap;
}
