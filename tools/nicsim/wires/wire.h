/*
 * Wires: what the cable of a model's port is plugged into. The main loop moves frames:
 *
 *     n = wire_pull(w, v, room)  →  model->ops->receive(v, n)         towards the guest
 *     model_send → wire_send(w, data, bytes)                          from the guest
 *
 * A wire that paces itself (gen with a rate, pcap with time stamps, link with a rate) hands a frame
 * out when its time has come, whether the model has room or not (`realtime`): then the model counts
 * the loss. Others (tap, stream, gen flat out) wait in their source until there is room.
 */
#ifndef NICSIM_WIRE_H
#define NICSIM_WIRE_H

#include "tools/nicsim/model.h"

struct json;

struct wire_ops {
	const char *name;
	/* Up to max <= FRAME_BURST frames that are due at `now`. Their bytes stay valid until the
	 * next wire_pull of this wire. */
	unsigned (*pull)(struct wire *w, struct frame *v, unsigned max, uint64_t now);
	/* A frame from the model. Copied or consumed before it returns. */
	void (*send)(struct wire *w, const uint8_t *data, uint32_t bytes, uint64_t now);
	/* When the next frame is due though no descriptor wakes us; UINT64_MAX: never. */
	uint64_t (*deadline)(struct wire *w, uint64_t now);
	/* The other end is up. Asked about as often as w->pulled may have changed. */
	bool (*carrier)(struct wire *w);
	void (*stats)(struct wire *w, struct json *j); /* may be NULL, as reset_stats */
	void (*reset_stats)(struct wire *w);
	void (*close)(struct wire *w);
};

struct wire {
	const struct wire_ops *ops;
	int fd;        /* poll for POLLIN; -1: none */
	bool realtime; /* see above */
	bool patient;  /* starts nothing before a guest is there to receive (gen, pcap) */
	bool pulled;   /* the cable is out at our end: kept by the port, seen by the other end */
	uint64_t to_model_frames, to_model_bytes;     /* kept by wire_pull */
	uint64_t from_model_frames, from_model_bytes; /* kept by wire_send */
	uint64_t dropped; /* from the model, and the wire could not take them */
};

unsigned wire_pull(struct wire *w, struct frame *v, unsigned max, uint64_t now);
void wire_send(struct wire *w, const uint8_t *data, uint32_t bytes, uint64_t now);
void wire_reset_stats(struct wire *w);

#endif
