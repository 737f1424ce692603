/*
 * printf for code without a C library. Conversions: %d %i %u %x %X %c %s %p %% with the flags
 * '-' and '0', width and precision (also '*'), and the lengths hh h l ll z. No floating point.
 * Unlike in a C library, %p prints all digits of the address, without 0x.
 */
#ifndef LIB_FMT_H
#define LIB_FMT_H

#include "lib/types.h"

typedef __builtin_va_list fmt_va_list;

/* Write at most size bytes including the final NUL (size may be 0). They return the length of the
 * complete text, like snprintf. */
size_t fmt_format(char *buf, size_t size, const char *format, ...) PRINTF_LIKE(3, 4);
size_t fmt_vformat(char *buf, size_t size, const char *format, fmt_va_list args)
	PRINTF_LIKE(3, 0);

/* Text that grows, with a NUL behind it. What does not fit is cut off and sets `full`; from then on
 * nothing is added. */
struct fmt_buf {
	char *at;
	size_t size, used; /* used < size */
	bool full;
};

void fmt_put(struct fmt_buf *b, const char *format, ...) PRINTF_LIKE(2, 3);
void fmt_vput(struct fmt_buf *b, const char *format, fmt_va_list args) PRINTF_LIKE(2, 0);
void fmt_put_bytes(struct fmt_buf *b, const char *bytes, size_t len);

#define FMT_IP4_MAX 16    /* "255.255.255.255" and NUL */
#define FMT_PREFIX_MAX 19 /* "255.255.255.255/32" and NUL */
#define FMT_PCI_MAX 13    /* "0000:00:00.0" and NUL */
#define FMT_MAC_MAX 18    /* "00:00:00:00:00:00" and NUL */

#define FMT_IP6_MAX 46    /* "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255" and NUL */
#define FMT_PREFIX6_MAX 50 /* FMT_IP6_MAX and "/128" */
#define FMT_ADDR_MAX FMT_IP6_MAX
#define FMT_JSON_MAX 7    /* "\u003c" and NUL */

/* Each writes into buf and returns buf. IPv4 addresses in host byte order. */
char *fmt_ip4(char buf[FMT_IP4_MAX], uint32_t addr);
char *fmt_prefix(char buf[FMT_PREFIX_MAX], uint32_t prefix, unsigned plen);
char *fmt_mac(char buf[FMT_MAC_MAX], const uint8_t mac[6]);

/* A PCI function, "01:00.0", or "0001:01:00.0" in a segment other than 0; bdf: bus << 8 | device << 3 |
 * function. */
char *fmt_pci(char buf[FMT_PCI_MAX], uint16_t segment, uint16_t bdf);

/* An IPv6 address, 16 bytes as on the wire (a struct net_addr), in the canonical form of RFC 5952: no
 * leading zeros, lower case, "::" for the longest run of at least two zero groups, the first of equal
 * runs. IPv4-mapped addresses end in dotted decimal (RFC 5952 section 5). */
char *fmt_ip6(char buf[FMT_IP6_MAX], const void *addr);
char *fmt_prefix6(char buf[FMT_PREFIX6_MAX], const void *prefix, unsigned plen);

/* An address of either family, 16 bytes; an IPv4-mapped one is written as an IPv4 address. */
char *fmt_addr(char buf[FMT_ADDR_MAX], const void *addr);

/* What stands for a byte in a JSON string (RFC 8259 7). '<' is escaped as well: "</script>" in a string
 * would end the script of a page. */
char *fmt_json(char buf[FMT_JSON_MAX], char c);

#endif
