/* See fmt.h. One pass over the format; every byte goes through put(), which alone knows the end. */
#include "lib/fmt.h"

#include "lib/mem.h"

struct out {
	char *buf;
	size_t size;
	size_t len; /* of the whole text, also beyond size */
};

struct spec {
	bool left, zero, upper;
	unsigned width;
	int precision; /* -1: none */
	unsigned length; /* bytes of the argument */
};

static void put(struct out *o, char c)
{
	if (o->len + 1 < o->size)
		o->buf[o->len] = c;
	o->len++;
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
	for (size_t i = 0; i < n; i++)
		put(o, text[i]);
	if (s->left)
		pad(o, ' ', n, s->width);
}

static void put_number(struct out *o, const struct spec *s, uint64_t v, unsigned base, bool negative)
{
	char digits[24];
	size_t n = 0;
	do {
		unsigned d = (unsigned)(v % base);
		digits[sizeof digits - ++n] =
			(char)(d < 10 ? '0' + d : (s->upper ? 'A' : 'a') + d - 10);
		v /= base;
	} while (v);
	size_t min = s->precision > 0 ? (size_t)s->precision : 0;
	size_t total = (n > min ? n : min) + negative;
	bool zeros = s->zero && !s->left && s->precision < 0;
	if (!s->left && !zeros)
		pad(o, ' ', total, s->width);
	if (negative)
		put(o, '-');
	if (zeros)
		pad(o, '0', total, s->width);
	pad(o, '0', n, min);
	for (size_t i = sizeof digits - n; i < sizeof digits; i++)
		put(o, digits[i]);
	if (s->left)
		pad(o, ' ', total, s->width);
}

static const char *parse_number(const char *f, unsigned *value)
{
	*value = 0;
	while (*f >= '0' && *f <= '9')
		*value = *value * 10 + (unsigned)(*f++ - '0');
	return f;
}

static const char *parse_length(const char *f, struct spec *s)
{
	s->length = sizeof(int);
	for (;; f++) {
		if (*f == 'h')
			s->length /= 2;
		else if (*f == 'l' || *f == 'z')
			s->length = *f == 'l' && f[1] == 'l' ? 8 : sizeof(long);
		else
			return f;
		if (*f == 'l' && f[1] == 'l')
			f++;
	}
}

static uint64_t truncate_unsigned(uint64_t v, unsigned bytes)
{
	return bytes >= 8 ? v : v & ((1ull << (8 * bytes)) - 1);
}

static int64_t truncate_signed(int64_t v, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;
	return (int64_t)((uint64_t)v << shift) >> shift;
}

size_t fmt_vformat(char *buf, size_t size, const char *format, fmt_va_list args)
{
	struct out o = {buf, size, 0};
	for (const char *f = format; *f; f++) {
		if (*f != '%') {
			put(&o, *f);
			continue;
		}
		struct spec s = {.precision = -1};
		for (f++; *f == '-' || *f == '0'; f++) {
			s.left |= *f == '-';
			s.zero |= *f == '0';
		}
		if (*f == '*') {
			int w = __builtin_va_arg(args, int);
			s.left |= w < 0;
			s.width = (unsigned)(w < 0 ? -w : w);
			f++;
		} else {
			f = parse_number(f, &s.width);
		}
		if (*f == '.') {
			unsigned p = 0;
			if (f[1] == '*') {
				s.precision = __builtin_va_arg(args, int);
				f += 2;
			} else {
				f = parse_number(f + 1, &p);
				s.precision = (int)p;
			}
		}
		f = parse_length(f, &s);
		if (*f == '\0')
			break;
		if (*f == 'd' || *f == 'i') {
			int64_t v = s.length == 8 ? __builtin_va_arg(args, long long)
			                          : __builtin_va_arg(args, int);
			v = truncate_signed(v, s.length);
			put_number(&o, &s, v < 0 ? -(uint64_t)v : (uint64_t)v, 10, v < 0);
		} else if (*f == 'u' || *f == 'x' || *f == 'X') {
			uint64_t v = s.length == 8 ? __builtin_va_arg(args, unsigned long long)
			                           : __builtin_va_arg(args, unsigned);
			s.upper = *f == 'X';
			put_number(&o, &s, truncate_unsigned(v, s.length), *f == 'u' ? 10 : 16, false);
		} else if (*f == 'p') {
			s.precision = 2 * sizeof(void *);
			put_number(&o, &s, (uintptr_t)__builtin_va_arg(args, void *), 16, false);
		} else if (*f == 'c') {
			char c = (char)__builtin_va_arg(args, int);
			put_text(&o, &s, &c, 1);
		} else if (*f == 's') {
			const char *t = __builtin_va_arg(args, const char *);
			size_t n = 0;
			t = t ? t : "(null)";
			while ((s.precision < 0 || n < (size_t)s.precision) && t[n])
				n++;
			put_text(&o, &s, t, n);
		} else {
			put(&o, *f); /* %% and what nobody should write */
		}
	}
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

char *fmt_ip4(char buf[FMT_IP4_MAX], uint32_t addr)
{
	fmt_format(buf, FMT_IP4_MAX, "%u.%u.%u.%u", addr >> 24, addr >> 16 & 255, addr >> 8 & 255,
	           addr & 255);
	return buf;
}

char *fmt_prefix(char buf[FMT_PREFIX_MAX], uint32_t prefix, unsigned plen)
{
	fmt_format(buf, FMT_PREFIX_MAX, "%u.%u.%u.%u/%u", prefix >> 24, prefix >> 16 & 255,
	           prefix >> 8 & 255, prefix & 255, plen);
	return buf;
}

char *fmt_mac(char buf[FMT_MAC_MAX], const uint8_t mac[6])
{
	fmt_format(buf, FMT_MAC_MAX, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
	           mac[4], mac[5]);
	return buf;
}
