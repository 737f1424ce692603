/*
 * memcpy and related functions for the freestanding image. They use `rep` string instructions on eight
 * bytes at a time, which are fast on every CPU of the last decade and take few steps where ring 0 is
 * emulated (ARCHITECTURE.md, Kernel). Packet bytes are moved by the callers' own inline code instead.
 */
#include "lib/mem.h"

#if !__STDC_HOSTED__ /* the unit test has other names for them */
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef strlen
#undef strcmp
#undef strncmp
#endif

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	void *d = dst;
	size_t words = n / 8, rest = n % 8;
	__asm__ volatile("rep movsq" : "+D"(d), "+S"(src), "+c"(words) : : "memory");
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(src), "+c"(rest) : : "memory");
	return dst;
}

void *memmove(void *dst, const void *src, size_t n)
{
	uint8_t *d = dst;
	const uint8_t *s = src;
	if ((uintptr_t)d - (uintptr_t)s >= n)
		return memcpy(dst, src, n);
	while (n--)
		d[n] = s[n];
	return dst;
}

void *memset(void *dst, int c, size_t n)
{
	void *d = dst;
	uint64_t word = 0x0101010101010101ull * (uint8_t)c;
	size_t words = n / 8, rest = n % 8;
	__asm__ volatile("rep stosq" : "+D"(d), "+c"(words) : "a"(word) : "memory");
	__asm__ volatile("rep stosb" : "+D"(d), "+c"(rest) : "a"(word) : "memory");
	return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;
	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] - y[i];
	return 0;
}

size_t strlen(const char *s)
{
	size_t n = 0;
	while (s[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (uint8_t)*a - (uint8_t)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n && *a && *a == *b; n--)
		a++, b++;
	return n ? (uint8_t)*a - (uint8_t)*b : 0;
}
