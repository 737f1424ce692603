/* The four functions that GCC calls implicitly, and string helpers. lib/mem.c defines them in the image;
 * on the host the C library does. */
#ifndef LIB_MEM_H
#define LIB_MEM_H

#include "lib/types.h"

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);

/* True if the n bytes at s are exactly the text t. */
static inline bool text_is(const char *s, size_t n, const char *t)
{
	return strlen(t) == n && memcmp(s, t, n) == 0;
}

#endif
