/*
 * Common definitions: the integer types of C, attributes, errors. All come from the compiler alone, so
 * net/ and lib/ build with -ffreestanding -nostdinc on any target (ARCHITECTURE.md, invariant 7).
 */
#ifndef LIB_TYPES_H
#define LIB_TYPES_H

typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __SIZE_TYPE__ size_t;

#ifndef UINT32_MAX
#define UINT32_MAX (~(uint32_t)0)
#endif
#ifndef UINT64_MAX
#define UINT64_MAX (~(uint64_t)0)
#endif

#ifndef NULL
#define NULL ((void *)0)
#endif
#ifndef bool
#define bool _Bool
#define true 1
#define false 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
/* A cold function: not inlined, and placed apart from hot code. */
#define COLD __attribute__((cold, noinline))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define CACHE_LINE 64

/* One enum of errors for the whole system; functions return 0 or a negative one of these. */
enum error {
	E_OK = 0,
	E_NOMEM = -1,    /* no memory, no buffer, table full */
	E_INVAL = -2,    /* invalid argument or text */
	E_NOENT = -3,    /* no such entry */
	E_TIMEOUT = -4,  /* a device did not respond in time */
	E_DEVICE = -5,   /* a device gave an invalid response or refused */
	E_NOTSUP = -6,   /* the device lacks a required feature */
	E_AGAIN = -7,    /* not now: ring full, queue full */
	E_RESET = -8,    /* the peer reset the connection */
	E_REFUSED = -9,  /* the peer refused the connection */
};

#endif
