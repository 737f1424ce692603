/*
 * assert() for our own bugs, enabled in every build. The kernel, the core runtime and the host tests
 * each supply assert_fail(). This macro replaces the one of a host's <assert.h>.
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
