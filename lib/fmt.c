/* See fmt.h. One pass over the format. Every byte goes through put() or put_bytes(), the only functions
 * that check the end of the buffer. */
#include "lib/fmt.h"

#include "lib/bytes.h"
#include "lib/divide.h"
#include "lib/mem.h"

struct out {
	char *buf;
	size_t size;
	size_t len; /* of the whole text, also beyond size */
};

/* One conversion, between '%' and its letter. */
struct spec {
	bool left, zero, upper;
	unsigned width;
	int precision;   /* below 0: none */
	unsigned length; /* bytes of an integer argument */
};

/* A struct, because on some ABIs a va_list parameter is a pointer, so its address has another type. */
struct args {
	fmt_va_list list;
};

static void put(struct out *o, char c)
{
	if (o->len + 1 < o->size)
		o->buf[o->len] = c;
	o->len++;
}

/* Copies text at once. With put() each byte would wait for the length stored by the previous one. The
 * text is short, so a loop is faster than memcpy's `rep`. */
static void put_bytes(struct out *o, const char *text, size_t n)
{
	size_t room = o->len + 1 < o->size ? o->size - 1 - o->len : 0;
	size_t fits = n < room ? n : room;
	char *buf = o->buf;
	size_t at = o->len;
	for (size_t i = 0; i < fits; i++)
		buf[at + i] = text[i];
	o->len += n;
}

static void pad(struct out *o, char c, size_t have, size_t want)
{
	for (; have < want; have++)
		put(o, c);
}

static void put_text(struct out *o, const struct spec *s, const char *text, size_t n)
{
	if (!s->left)
		pad(o, ' ', n, s->width);
	put_bytes(o, text, n);
	if (s->left)
		pad(o, ' ', n, s->width);
}

static void put_string(struct out *o, const struct spec *s, const char *text)
{
	size_t n = 0;
	text = text ? text : "(null)";
	while ((s->precision < 0 || n < (size_t)s->precision) && text[n])
		n++;
	put_text(o, s, text, n);
}

/* Writes the sign ('\0': none) and at least `precision` digits of v. */
static void put_number(struct out *o, const struct spec *s, char sign, uint64_t v, unsigned base)
{
	char digits[24];
	size_t n = 0;
	do {
		uint64_t quotient = divide(v, base);
		unsigned d = (unsigned)(v - quotient * base);
		digits[sizeof digits - ++n] =
			(char)(d < 10 ? '0' + d : (s->upper ? 'A' : 'a') + d - 10);
		v = quotient;
	} while (v);
	size_t min = s->precision > 0 ? (size_t)s->precision : 0;
	size_t total = (n > min ? n : min) + (sign != '\0');
	bool zeros = s->zero && !s->left && s->precision < 0;
	if (!s->left && !zeros)
		pad(o, ' ', total, s->width);
	if (sign)
		put(o, sign);
	if (zeros)
		pad(o, '0', total, s->width);
	pad(o, '0', n, min);
	put_bytes(o, digits + sizeof digits - n, n);
	if (s->left)
		pad(o, ' ', total, s->width);
}

static void put_signed(struct out *o, const struct spec *s, int64_t v)
{
	put_number(o, s, v < 0 ? '-' : '\0', v < 0 ? -(uint64_t)v : (uint64_t)v, 10);
}

static const char *parse_number(const char *f, unsigned *value)
{
	*value = 0;
	while (*f >= '0' && *f <= '9')
		*value = *value * 10 + (unsigned)(*f++ - '0');
	return f;
}

static const char *parse_width(const char *f, struct spec *s, struct args *a)
{
	if (*f != '*')
		return parse_number(f, &s->width);
	int w = __builtin_va_arg(a->list, int);
	s->left |= w < 0;
	s->width = (unsigned)(w < 0 ? -w : w);
	return f + 1;
}

static const char *parse_precision(const char *f, struct spec *s, struct args *a)
{
	unsigned p;
	if (*f != '.')
		return f;
	if (f[1] == '*') {
		s->precision = __builtin_va_arg(a->list, int);
		return f + 2;
	}
	f = parse_number(f + 1, &p);
	s->precision = (int)p;
	return f;
}

static const char *parse_length(const char *f, struct spec *s)
{
	for (;; f++)
		if (*f == 'h')
			s->length /= 2;
		else if (*f == 'z')
			s->length = sizeof(size_t);
		else if (*f == 'l')
			s->length = f[-1] == 'l' ? sizeof(long long) : sizeof(long);
		else
			return f;
}

/* Parses the text between '%' and the conversion letter; returns the letter's position. */
static const char *parse_spec(const char *f, struct spec *s, struct args *a)
{
	*s = (struct spec){.precision = -1, .length = sizeof(int)};
	for (; *f == '-' || *f == '0'; f++) {
		s->left |= *f == '-';
		s->zero |= *f == '0';
	}
	f = parse_width(f, s, a);
	f = parse_precision(f, s, a);
	return parse_length(f, s);
}

static uint64_t take_unsigned(const struct spec *s, struct args *a)
{
	if (s->length == 8)
		return __builtin_va_arg(a->list, unsigned long long);
	return __builtin_va_arg(a->list, unsigned) & ((1ull << (8 * s->length)) - 1);
}

static int64_t take_signed(const struct spec *s, struct args *a)
{
	unsigned shift = 64 - 8 * s->length;
	int64_t v = s->length == 8 ? __builtin_va_arg(a->list, long long)
	                           : __builtin_va_arg(a->list, int);
	return (int64_t)((uint64_t)v << shift) >> shift;
}

static void convert(struct out *o, char letter, struct spec *s, struct args *a)
{
	switch (letter) {
	case 'd':
	case 'i':
		put_signed(o, s, take_signed(s, a));
		break;
	case 'u':
		put_number(o, s, '\0', take_unsigned(s, a), 10);
		break;
	case 'x':
	case 'X':
		s->upper = letter == 'X';
		put_number(o, s, '\0', take_unsigned(s, a), 16);
		break;
	case 'p':
		s->precision = 2 * sizeof(void *);
		put_number(o, s, '\0', (uintptr_t)__builtin_va_arg(a->list, void *), 16);
		break;
	case 'c': {
		char c = (char)__builtin_va_arg(a->list, int);
		put_text(o, s, &c, 1);
		break;
	}
	case 's':
		put_string(o, s, __builtin_va_arg(a->list, const char *));
		break;
	default:
		put(o, letter); /* %% and invalid conversions */
	}
}

size_t fmt_vformat(char *buf, size_t size, const char *format, fmt_va_list args)
{
	struct out o = {buf, size, 0};
	struct args a;
	__builtin_va_copy(a.list, args);
	for (const char *f = format; *f; f++) {
		struct spec s;
		size_t plain = 0;
		while (f[plain] && f[plain] != '%')
			plain++;
		put_bytes(&o, f, plain);
		f += plain;
		if (*f == '\0')
			break;
		f = parse_spec(f + 1, &s, &a);
		if (*f == '\0')
			break;
		convert(&o, *f, &s, &a);
	}
	__builtin_va_end(a.list);
	if (size)
		buf[o.len < size ? o.len : size - 1] = '\0';
	return o.len;
}

size_t fmt_format(char *buf, size_t size, const char *format, ...)
{
	fmt_va_list args;
	__builtin_va_start(args, format);
	size_t n = fmt_vformat(buf, size, format, args);
	__builtin_va_end(args);
	return n;
}

void fmt_vput(struct fmt_buf *b, const char *format, fmt_va_list args)
{
	const size_t room = b->size - b->used;
	if (b->full)
		return;
	size_t n = fmt_vformat(b->at + b->used, room, format, args);
	b->full = n >= room;
	b->used += b->full ? room - 1 : n;
}

void fmt_put(struct fmt_buf *b, const char *format, ...)
{
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vput(b, format, args);
	__builtin_va_end(args);
}

void fmt_put_bytes(struct fmt_buf *b, const char *bytes, size_t len)
{
	const size_t room = b->full ? 0 : b->size - b->used - 1, n = len < room ? len : room;
	memcpy(b->at + b->used, bytes, n);
	b->used += n;
	b->at[b->used] = '\0';
	b->full |= n < len;
}

char *fmt_ip4(char buf[FMT_IP4_MAX], uint32_t addr)
{
	fmt_format(buf, FMT_IP4_MAX, "%u.%u.%u.%u", addr >> 24, addr >> 16 & 255, addr >> 8 & 255,
	           addr & 255);
	return buf;
}

char *fmt_prefix(char buf[FMT_PREFIX_MAX], uint32_t prefix, unsigned plen)
{
	char addr[FMT_IP4_MAX];
	fmt_format(buf, FMT_PREFIX_MAX, "%s/%u", fmt_ip4(addr, prefix), plen);
	return buf;
}

char *fmt_pci(char buf[FMT_PCI_MAX], uint16_t segment, uint16_t bdf)
{
	size_t n = segment ? fmt_format(buf, FMT_PCI_MAX, "%04x:", segment) : 0;
	fmt_format(buf + n, FMT_PCI_MAX - n, "%02x:%02x.%x", bdf >> 8, bdf >> 3 & 31, bdf & 7);
	return buf;
}

char *fmt_mac(char buf[FMT_MAC_MAX], const uint8_t mac[6])
{
	fmt_format(buf, FMT_MAC_MAX, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
	           mac[4], mac[5]);
	return buf;
}

/* RFC 4291 2.5.5.2 */
static bool is_mapped(const uint8_t *a)
{
	return raw64_load(a) == 0 && be32_load(a + 8) == 0xffff;
}

/* RFC 5952 4.2: the groups that "::" replaces; *from is 8 if there are none. */
static void longest_zeros(const uint8_t *a, unsigned *from, unsigned *end)
{
	*from = *end = 8;
	unsigned best = 1;
	for (unsigned i = 0; i < 8; i++) {
		unsigned n = 0;
		while (i + n < 8 && be16_load(a + 2 * (i + n)) == 0)
			n++;
		if (n > best) {
			best = n;
			*from = i;
			*end = i + n;
		}
		i += n;
	}
}

char *fmt_ip6(char buf[FMT_IP6_MAX], const void *addr)
{
	const uint8_t *a = addr;
	if (is_mapped(a)) {
		char ip4[FMT_IP4_MAX];
		fmt_format(buf, FMT_IP6_MAX, "::ffff:%s", fmt_ip4(ip4, be32_load(a + 12)));
		return buf;
	}
	unsigned from, end;
	longest_zeros(a, &from, &end);
	size_t n = 0;
	for (unsigned i = 0; i < 8; i++) {
		if (i == from) {
			n += fmt_format(buf + n, FMT_IP6_MAX - n, "::");
			i = end - 1;
			continue;
		}
		n += fmt_format(buf + n, FMT_IP6_MAX - n, i == 0 || i == end ? "%x" : ":%x",
		                (unsigned)be16_load(a + 2 * i));
	}
	return buf;
}

char *fmt_prefix6(char buf[FMT_PREFIX6_MAX], const void *prefix, unsigned plen)
{
	char addr[FMT_IP6_MAX];
	fmt_format(buf, FMT_PREFIX6_MAX, "%s/%u", fmt_ip6(addr, prefix), plen);
	return buf;
}

char *fmt_addr(char buf[FMT_ADDR_MAX], const void *addr)
{
	const uint8_t *a = addr;
	return is_mapped(a) ? fmt_ip4(buf, be32_load(a + 12)) : fmt_ip6(buf, a);
}

char *fmt_json(char buf[FMT_JSON_MAX], char c)
{
	if ((unsigned char)c < 0x20 || c == 0x7f || c == '<')
		fmt_format(buf, FMT_JSON_MAX, "\\u%04x", c);
	else
		fmt_format(buf, FMT_JSON_MAX, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
	return buf;
}
