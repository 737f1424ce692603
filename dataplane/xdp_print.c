/*
 * bpf_trace_printk (bpf-helpers(7)): formats as Linux' bpf_bprintf_prepare allows it, and leaves the line
 * in this core's ring for the control core, which prints it on the console (control/programs/print.c). A
 * line that finds no room is counted and lost: a program cannot stop its core by printing.
 *
 *     %%  %d %i %u %x %X, each also with l, ll, h, hh; %c %p
 *     %s %pks %pus      text in the program's stack or its packet; elsewhere: as in Linux for an address
 *                       that cannot be read, nothing
 *     %pI4 %pi4 %pI6 %pi6   addresses there, in network order
 *
 * The format has up to FORMAT_MAX bytes. Up to three conversions, with '-', '0' and a width. Others, and a format
 * that does not end in NUL or has bytes that are neither printable nor white space: -22, and nothing is printed.
 */
#include "dataplane/state.h"
#include "lib/fmt.h"
#include "lib/mem.h"

#define ARGUMENTS 3
#define FORMAT_MAX 256

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* How many bytes at this address of a program may be read: in its stack, or in its packet. An argument of
 * bpf_trace_printk is any number. */
static size_t readable(uint64_t at)
{
	const uint64_t low = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	const uint64_t high = (uint64_t)(uintptr_t)xdp_now.stack_end;
	const uint64_t data = (uint64_t)(uintptr_t)xdp_now.context.data_meta;
	const uint64_t end = (uint64_t)(uintptr_t)xdp_now.context.data_end;
	if (at >= low && at < high)
		return high - at;
	return at >= data && at < end ? end - at : 0;
}

static void put_text(struct fmt_buf *b, uint64_t at)
{
	const char *s = (const char *)(uintptr_t)at;
	for (size_t left = readable(at); left && *s; left--, s++) {
		const char c = *s >= ' ' && *s <= '~' ? *s : '?';
		fmt_put_bytes(b, &c, 1);
	}
}

static void put_address(struct fmt_buf *b, uint64_t at, bool six)
{
	const uint8_t *a = (const uint8_t *)(uintptr_t)at;
	char text[FMT_ADDR_MAX];
	if (readable(at) < (six ? 16 : 4))
		return;
	fmt_put(b, "%s", six ? fmt_ip6(text, a) : fmt_ip4(text, be32_load(a)));
}

/* A conversion: the text between '%' and its last letter. */
struct conversion {
	bool left, zero;
	unsigned width, longs, shorts;
};

/* The number of the conversion's type. */
static uint64_t number_of(const struct conversion *c, uint64_t n, bool is_signed)
{
	if (c->longs)
		return n;
	if (c->shorts == 1)
		return is_signed ? (uint64_t)(int64_t)(int16_t)n : (uint16_t)n;
	if (c->shorts)
		return is_signed ? (uint64_t)(int64_t)(int8_t)n : (uint8_t)n;
	return is_signed ? (uint64_t)(int64_t)(int32_t)n : (uint32_t)n;
}

static void put_number(struct fmt_buf *b, const struct conversion *c, char letter, uint64_t n)
{
	const bool is_signed = letter == 'd' || letter == 'i';
	const int width = c->left ? -(int)c->width : (int)c->width;
	char text[72];
	n = number_of(c, n, is_signed);
	/* a literal for each: the compiler compares formats with their arguments */
	if (is_signed)
		c->zero ? fmt_format(text, sizeof text, "%0*lld", width, (long long)n)
		        : fmt_format(text, sizeof text, "%*lld", width, (long long)n);
	else if (letter == 'u')
		c->zero ? fmt_format(text, sizeof text, "%0*llu", width, (unsigned long long)n)
		        : fmt_format(text, sizeof text, "%*llu", width, (unsigned long long)n);
	else if (letter == 'x')
		c->zero ? fmt_format(text, sizeof text, "%0*llx", width, (unsigned long long)n)
		        : fmt_format(text, sizeof text, "%*llx", width, (unsigned long long)n);
	else
		c->zero ? fmt_format(text, sizeof text, "%0*llX", width, (unsigned long long)n)
		        : fmt_format(text, sizeof text, "%*llX", width, (unsigned long long)n);
	fmt_put(b, "%s", text);
}

/* %p and what may follow it. Returns how many letters that is; 0: not allowed. */
static unsigned put_pointer(struct fmt_buf *b, const char *after, uint64_t n)
{
	const bool address = after[0] == 'I' || after[0] == 'i';
	if (address && (after[1] == '4' || after[1] == '6')) {
		put_address(b, n, after[1] == '6');
		return 3;
	}
	if ((after[0] == 'k' || after[0] == 'u') && after[1] == 's') {
		put_text(b, n);
		return 3;
	}
	if (after[0] >= 'A' && after[0] <= 'z')
		return 0;
	fmt_put(b, "%016llx", (unsigned long long)n);
	return 1;
}

/* One conversion behind its '%'. Returns how many bytes of the format it takes; 0: not allowed. */
static unsigned put_one(struct fmt_buf *b, const char *at, const uint64_t *n)
{
	struct conversion c = {0};
	const char *s = at;
	for (; *s == '-' || *s == '0' || *s == ' ' || *s == '#' || *s == '+'; s++) {
		c.left |= *s == '-';
		c.zero |= *s == '0';
	}
	for (; is_digit(*s); s++)
		c.width = c.width < 64 ? c.width * 10 + (unsigned)(*s - '0') : 64;
	c.width = c.width < 64 ? c.width : 64;
	for (; *s == 'l'; s++)
		c.longs++;
	for (; *s == 'h'; s++)
		c.shorts++;
	if (!n || c.longs > 2 || c.shorts > 2)
		return 0;
	switch (*s) {
	case 'd': case 'i': case 'u': case 'x': case 'X':
		put_number(b, &c, *s, *n);
		return (unsigned)(s - at) + 1;
	case 'c':
		fmt_put(b, "%c", (char)*n >= ' ' && (char)*n <= '~' ? (char)*n : '?');
		return (unsigned)(s - at) + 1;
	case 's':
		put_text(b, *n);
		return (unsigned)(s - at) + 1;
	case 'p': {
		const unsigned letters = put_pointer(b, s + 1, *n);
		return letters ? (unsigned)(s - at) + letters : 0;
	}
	default:
		return 0;
	}
}

/* False: the format is not allowed. */
static bool format_line(struct fmt_buf *b, const char *s, const uint64_t *arguments)
{
	unsigned used = 0;
	for (; *s; s++) {
		const bool space = *s == '\n' || *s == '\t' || *s == '\r';
		if (!space && (*s < ' ' || *s > '~'))
			return false;
		if (*s != '%' || s[1] == '%') {
			s += *s == '%';
			fmt_put_bytes(b, space ? " " : s, 1);
			continue;
		}
		const unsigned n = put_one(b, s + 1, used < ARGUMENTS ? &arguments[used++] : NULL);
		if (n == 0)
			return false;
		s += n;
	}
	return true;
}

uint64_t xdp_trace_printk(uint64_t r1, uint64_t bytes, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t arguments[ARGUMENTS] = {a, b, c};
	char format[FORMAT_MAX]; /* a copy: others may write where it lies */
	struct dp_xdp_prints *ring = &dp_xdp_shared()->prints;
	const uint64_t tail = __atomic_load_n(&dp_get()->xdp.printed[self.id], __ATOMIC_ACQUIRE);
	struct dp_xdp_print *line = &ring->line[ring->head % DP_XDP_PRINTS];
	char text[sizeof line->text + 1];
	struct fmt_buf out = {.at = text, .size = sizeof text};
	text[0] = 0;
	if ((uint32_t)bytes == 0 || (uint32_t)bytes > FORMAT_MAX)
		return (uint64_t)(int64_t)BPF_EINVAL;
	memcpy(format, (const void *)(uintptr_t)r1, (uint32_t)bytes);
	if (format[(uint32_t)bytes - 1] != 0 || !format_line(&out, format, arguments))
		return (uint64_t)(int64_t)BPF_EINVAL;
	while (out.used && text[out.used - 1] == ' ')
		out.used--;
	if (ring->head - tail >= DP_XDP_PRINTS) {
		ring->lost++;
		return out.used;
	}
	line->len = (uint16_t)out.used;
	line->port = (uint16_t)xdp_now.port;
	memcpy(line->text, text, out.used);
	__atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
	return out.used;
}
