/*
 * How the bytes of a map's keys and values divide into named fields: the loader makes a layout of each map out
 * of BTF (bpf/object/types.c), and bpf_layout_print writes bytes as JSON by it, as bpftool's `map dump` does.
 *
 * A layout is one piece of memory without addresses, so it can be copied: the head, the nodes, the names. Nodes
 * are a tree in preorder: behind a node follow those that belong to it. A layout may come from damaged memory:
 * bpf_layout_print reads nothing outside of the layout and the data, and ends.
 */
#ifndef BPF_LAYOUT_H
#define BPF_LAYOUT_H

#include "lib/fmt.h"
#include "lib/types.h"

#define BPF_LAYOUT_NODES 192 /* of a map; with more it has no layout */
#define BPF_LAYOUT_NAMES 3072 /* bytes, with a NUL behind each */
#define BPF_LAYOUT_DEPTH 16

enum bpf_node_kind {
	BPF_NODE_STRUCT,     /* members follow; a union has several at one place */
	BPF_NODE_ARRAY,      /* its element follows, one node with what belongs to it */
	BPF_NODE_UNSIGNED,   /* up to 64 bits, as the next four */
	BPF_NODE_SIGNED,
	BPF_NODE_BOOL,
	BPF_NODE_POINTER,
	BPF_NODE_ENUM,       /* its enumerators follow */
	BPF_NODE_ENUMERATOR, /* `at` and `bits` are the lower and upper half of its value, sign-extended */
	BPF_NODE_TEXT,       /* an array of char */
	BPF_NODE_BYTES,      /* anything else */
};

struct bpf_node {
	uint8_t kind;    /* enum bpf_node_kind */
	uint8_t is_signed; /* of an enum */
	uint16_t below;  /* number of nodes that belong to it */
	uint16_t name;   /* offset in the names */
	uint32_t at;     /* in bits, from the beginning of what it belongs to, or of the element */
	uint32_t bits;
	uint32_t count;  /* elements of an array */
};

struct bpf_layout {
	uint32_t bytes; /* of all of it */
	uint16_t nodes;
	uint16_t key, value; /* 1 + the index of the node; 0: it has no types */
	struct bpf_node node[];
	/* names */
};

/*
 * Writes `bytes` bytes, a key or a value, by the node numbered `root` (layout->key or ->value, of a layout in
 * `room` bytes of memory). False, and `out` is as before: there is no such node, the data are shorter than it,
 * the layout is damaged, or the text does not fit.
 */
bool bpf_layout_print(const struct bpf_layout *layout, size_t room, unsigned root, const uint8_t *data, uint32_t bytes,
                      struct fmt_buf *out);

#endif
