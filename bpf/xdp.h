/*
 * The context of an XDP program: struct xdp_md of Linux' uapi/linux/bpf.h as programs see it, and
 * struct bpf_xdp, which is what R1 points to.
 *
 * In struct xdp_md all fields are 32 bits wide, among them the three that are addresses. The verifier
 * accepts only aligned 32-bit loads of them and marks these BPF_NOTE_CONTEXT; compiler and interpreter
 * read the field of struct bpf_xdp instead, at full width.
 */
#ifndef BPF_XDP_H
#define BPF_XDP_H

#include "lib/types.h"

/* A program's result. Any other number is XDP_ABORTED, and is counted as such. */
enum xdp_action { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT, XDP_ACTIONS };

/* Offsets of struct xdp_md. */
enum xdp_md {
	XDP_MD_DATA = 0,
	XDP_MD_DATA_END = 4,
	XDP_MD_DATA_META = 8,
	XDP_MD_INGRESS_IFINDEX = 12,
	XDP_MD_RX_QUEUE_INDEX = 16,
	XDP_MD_EGRESS_IFINDEX = 20,
};

/*
 * One packet on its way through the programs of an interface. The frame is in one piece:
 * start <= data_meta <= data <= data_end <= end. data_meta == data: there is no metadata;
 * data_meta == data + 1, as in Linux: the caller allows none.
 */
struct bpf_xdp {
	uint8_t *data;
	uint8_t *data_end;
	uint8_t *data_meta;
	uint32_t ingress_ifindex; /* of the interface that received the packet, 1 or more */
	uint32_t rx_queue_index;
	uint32_t egress_ifindex;
	/* For the helpers. */
	uint32_t redirect_to;
	uint32_t redirect_kind;   /* where XDP_REDIRECT sends it; 0: nowhere */
	uint32_t tail_calls;      /* made for this packet; tail_call counts them */
	uint8_t *start;           /* how far back and forth data and data_end may be moved; for programs that may */
	uint8_t *end;             /* change the packet (struct bpf_verdict, writes_packet) */
};

/* Where and how wide in struct bpf_xdp the field at that offset of struct xdp_md is; false: there is no
 * field. */
static inline bool xdp_field(unsigned md_offset, unsigned *offset, unsigned *bytes)
{
	switch (md_offset) {
	case XDP_MD_DATA: *offset = offsetof(struct bpf_xdp, data); *bytes = 8; return true;
	case XDP_MD_DATA_END: *offset = offsetof(struct bpf_xdp, data_end); *bytes = 8; return true;
	case XDP_MD_DATA_META: *offset = offsetof(struct bpf_xdp, data_meta); *bytes = 8; return true;
	case XDP_MD_INGRESS_IFINDEX: *offset = offsetof(struct bpf_xdp, ingress_ifindex); *bytes = 4; return true;
	case XDP_MD_RX_QUEUE_INDEX: *offset = offsetof(struct bpf_xdp, rx_queue_index); *bytes = 4; return true;
	case XDP_MD_EGRESS_IFINDEX: *offset = offsetof(struct bpf_xdp, egress_ifindex); *bytes = 4; return true;
	default: return false;
	}
}

#endif
