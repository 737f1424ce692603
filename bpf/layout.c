/* Bytes as JSON by a layout: see layout.h. */
#include "bpf/layout.h"

/* What is being printed. */
struct print {
	const struct bpf_layout *layout;
	const char *names;
	uint32_t name_bytes;
	const uint8_t *data;
	uint64_t bits; /* of the data */
	struct fmt_buf *out;
};

static bool print_node(const struct print *p, unsigned i, unsigned end, uint64_t at, unsigned depth);

/* The index behind what belongs to node i; 0: that is not below `end`. */
static unsigned behind(const struct print *p, unsigned i, unsigned end)
{
	const unsigned next = i < end ? i + 1 + p->layout->node[i].below : 0;
	return next <= end ? next : 0;
}

static bool fits(const struct print *p, uint64_t at, uint64_t bits)
{
	return at <= p->bits && bits <= p->bits - at;
}

/* A name as a string. The loader took only identifiers. */
static void print_name(const struct print *p, const struct bpf_node *n)
{
	char escape[FMT_JSON_MAX];
	const char *c = n->name < p->name_bytes ? p->names + n->name : "";
	fmt_put(p->out, "\"");
	for (; *c && !p->out->full; c++)
		fmt_put(p->out, "%s", fmt_json(escape, *c >= ' ' && *c <= '~' ? *c : '?'));
	fmt_put(p->out, "\"");
}

/* Up to 64 bits at any place; the caller has checked that they are there. */
static uint64_t read_bits(const uint8_t *data, uint64_t at, uint32_t bits)
{
	uint64_t value = 0;
	for (uint32_t done = 0; done < bits;) {
		const uint32_t skip = (at + done) % 8, left = bits - done, now = left < 8 - skip ? left : 8 - skip;
		const uint64_t part = data[(at + done) / 8] >> skip & ((1u << now) - 1);
		value |= part << done;
		done += now;
	}
	return value;
}

static int64_t extend(uint64_t value, uint32_t bits)
{
	return bits == 0 || bits >= 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static void print_number(const struct print *p, uint64_t value, uint32_t bits, bool is_signed)
{
	if (is_signed)
		fmt_put(p->out, "%lld", (long long)extend(value, bits));
	else
		fmt_put(p->out, "%llu", (unsigned long long)value);
}

/* The name of an enumerator, or a number. */
static void print_enum(const struct print *p, unsigned i, unsigned end, uint64_t value)
{
	const struct bpf_node *n = &p->layout->node[i];
	const uint64_t wanted = n->is_signed ? (uint64_t)extend(value, n->bits) : value;
	for (unsigned k = i + 1; k < end; k++) {
		const struct bpf_node *e = &p->layout->node[k];
		if (e->kind == BPF_NODE_ENUMERATOR && ((uint64_t)e->bits << 32 | e->at) == wanted) {
			print_name(p, e);
			return;
		}
	}
	print_number(p, value, n->bits, n->is_signed);
}

static void print_bytes(const struct print *p, uint64_t at, uint32_t bits)
{
	fmt_put(p->out, "\"");
	for (uint32_t done = 0; done < bits && !p->out->full; done += 8)
		fmt_put(p->out, "%02x", (unsigned)read_bits(p->data, at + done, bits - done < 8 ? bits - done : 8));
	fmt_put(p->out, "\"");
}

#define STRING_MAX 1024 /* bytes of an array of char that is looked at as a string */

/* Is it a string: printable up to a NUL, and nothing but NULs from there? */
static bool is_string(const struct print *p, uint64_t at, uint32_t chars)
{
	bool ended = false;
	if (chars > STRING_MAX)
		return false;
	for (uint32_t i = 0; i < chars; i++) {
		const uint64_t c = read_bits(p->data, at + 8ull * i, 8);
		if (ended ? c != 0 : c && (c < ' ' || c > '~'))
			return false;
		ended |= c == 0;
	}
	return ended;
}

static void print_text(const struct print *p, uint64_t at, uint32_t chars)
{
	const bool string = is_string(p, at, chars);
	char escape[FMT_JSON_MAX];
	fmt_put(p->out, string ? "\"" : "[");
	for (uint32_t i = 0; i < chars && !p->out->full; i++) {
		const uint64_t c = read_bits(p->data, at + 8ull * i, 8);
		if (string && c)
			fmt_put(p->out, "%s", fmt_json(escape, (char)c));
		else if (!string)
			fmt_put(p->out, "%s%d", i ? "," : "", (int)extend(c, 8));
	}
	fmt_put(p->out, string ? "\"" : "]");
}

static bool print_members(const struct print *p, unsigned i, unsigned end, uint64_t at, unsigned depth)
{
	const unsigned first = i + 1;
	fmt_put(p->out, "{");
	for (i = first; i < end && !p->out->full; i = behind(p, i, end)) {
		const struct bpf_node *n = &p->layout->node[i];
		if (!behind(p, i, end))
			return false;
		fmt_put(p->out, "%s", i > first ? "," : "");
		print_name(p, n);
		fmt_put(p->out, ":");
		if (!print_node(p, i, end, at + n->at, depth))
			return false;
	}
	fmt_put(p->out, "}");
	return true;
}

static bool print_elements(const struct print *p, unsigned i, unsigned end, uint64_t at, unsigned depth)
{
	const struct bpf_node *n = &p->layout->node[i], *element = n + 1;
	const uint64_t stride = n->count ? n->bits / n->count : 0; /* an element may use less */
	if (i + 1 >= end)
		return false;
	fmt_put(p->out, "[");
	for (uint32_t k = 0; k < n->count && !p->out->full; k++) {
		fmt_put(p->out, "%s", k ? "," : "");
		if (!print_node(p, i + 1, end, at + k * stride + element->at, depth))
			return false;
	}
	fmt_put(p->out, "]");
	return true;
}

/* Node i, whose place in the data is `at`, and what belongs to it. */
static bool print_node(const struct print *p, unsigned i, unsigned end, uint64_t at, unsigned depth)
{
	const struct bpf_node *n = &p->layout->node[i];
	const unsigned next = behind(p, i, end);
	if (!next || depth == 0 || !fits(p, at, n->bits))
		return false;
	if (n->kind == BPF_NODE_STRUCT)
		return print_members(p, i, next, at, depth - 1);
	if (n->kind == BPF_NODE_ARRAY)
		return print_elements(p, i, next, at, depth - 1);
	if (n->kind == BPF_NODE_TEXT)
		print_text(p, at, n->bits / 8);
	else if (n->kind > BPF_NODE_ENUM || n->bits > 64)
		print_bytes(p, at, n->bits);
	else if (n->kind == BPF_NODE_ENUM)
		print_enum(p, i, next, read_bits(p->data, at, n->bits));
	else if (n->kind == BPF_NODE_BOOL)
		fmt_put(p->out, read_bits(p->data, at, n->bits) ? "true" : "false");
	else if (n->kind == BPF_NODE_POINTER)
		fmt_put(p->out, "\"0x%llx\"", (unsigned long long)read_bits(p->data, at, n->bits));
	else
		print_number(p, read_bits(p->data, at, n->bits), n->bits, n->kind == BPF_NODE_SIGNED);
	return true;
}

bool bpf_layout_print(const struct bpf_layout *layout, size_t room, unsigned root, const uint8_t *data, uint32_t bytes,
                      struct fmt_buf *out)
{
	if (!layout || room < sizeof *layout || room < layout->bytes || out->full)
		return false;
	const size_t nodes = sizeof *layout + layout->nodes * sizeof layout->node[0];
	if (root == 0 || root > layout->nodes || nodes >= layout->bytes)
		return false;
	const struct print p = {layout, (const char *)layout + nodes, (uint32_t)(layout->bytes - nodes), data,
	                        8ull * bytes, out};
	if (p.names[p.name_bytes - 1])
		return false;
	const size_t before = out->used;
	if (print_node(&p, root - 1, layout->nodes, layout->node[root - 1].at, BPF_LAYOUT_DEPTH) && !out->full)
		return true;
	out->used = before;
	out->at[before] = 0;
	out->full = false;
	return false;
}
