/*
 * assert() for our own bugs, on in every build. assert_fail() is supplied by whoever links:
 * the kernel, the core runtime, or the host tests. A host's <assert.h> gives way.
 */
#ifndef LIB_ASSERT_H
#define LIB_ASSERT_H

_Noreturn void assert_fail(const char *expr, const char *file, unsigned line);

#undef assert
#define assert(expr) \
	do { \
		if (__builtin_expect(!(expr), 0)) \
			assert_fail(#expr, __FILE__, __LINE__); \
	} while (0)

#endif
