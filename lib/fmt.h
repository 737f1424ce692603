/*
 * printf for code without a C library. Conversions: %d %i %u %x %X %c %s %p %% with the flags
 * '-' and '0', width and precision (also '*'), and the lengths hh h l ll z. No floating point.
 * Unlike a C library's, %p is all digits of the address, without 0x.
 */
#ifndef LIB_FMT_H
#define LIB_FMT_H

#include "lib/types.h"

typedef __builtin_va_list fmt_va_list;

/* Writes at most size bytes with the final NUL (size may be 0); returns the length the whole
 * text would have, as snprintf does. */
size_t fmt_format(char *buf, size_t size, const char *format, ...) PRINTF_LIKE(3, 4);
size_t fmt_vformat(char *buf, size_t size, const char *format, fmt_va_list args)
	PRINTF_LIKE(3, 0);

#define FMT_IP4_MAX 16    /* "255.255.255.255" and NUL */
#define FMT_PREFIX_MAX 19 /* "255.255.255.255/32" and NUL */
#define FMT_MAC_MAX 18    /* "00:00:00:00:00:00" and NUL */

/* Each writes into buf and returns buf. Addresses in host byte order. */
char *fmt_ip4(char buf[FMT_IP4_MAX], uint32_t addr);
char *fmt_prefix(char buf[FMT_PREFIX_MAX], uint32_t prefix, unsigned plen);
char *fmt_mac(char buf[FMT_MAC_MAX], const uint8_t mac[6]);

#endif
