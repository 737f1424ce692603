/*
 * Wires: what the cable of a model's port is plugged into. The main loop moves frames:
 *
 *     n = wire_pull(w, v, room)  →  model->ops->receive(v, n)         towards the guest
 *     model_send → wire_send(w, v, n, …)                               from the guest
 *
 * A wire that paces itself (gen with a rate, pcap with time stamps, link with a rate) delivers a
 * frame when its time has come, whether the model has room or not (`realtime`): the model then
 * counts the loss. The frames of others (tap, stream, gen flat out) wait at their source until
 * there is room.
 */
#ifndef NICSIM_WIRE_H
#define NICSIM_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/nicsim/frame.h"

struct json;
struct wire;

/* All functions are required unless marked NULL. Bytes are without FCS; time is that of clock.h. */
struct wire_ops {
	const char *name;
	/* Returns up to max <= FRAME_BURST frames that are due at `now`. Their bytes stay valid
	 * until the next wire_pull of this wire. Fewer than max: there are no more at the
	 * moment. */
	unsigned (*pull)(struct wire *w, struct frame *v, unsigned max, uint64_t now);
	/* Takes a frame from the model, of 1 to FRAME_MAX bytes; copies or consumes it before it
	 * returns. A frame that cannot be taken is counted in w->dropped. Never calls a model. */
	void (*send)(struct wire *w, const uint8_t *data, uint32_t bytes, uint64_t now);
	/* The same of n <= FRAME_BURST frames, in order; their flags mean nothing. NULL: `send` takes
	 * them one by one. */
	void (*send_all)(struct wire *w, const struct frame *v, unsigned n, uint64_t now);
	/* When the next frame is due, or pull has other work, even if no descriptor wakes us; at or
	 * before `now`: at once; UINT64_MAX: never. */
	uint64_t (*deadline)(struct wire *w, uint64_t now);
	/* Whether the other end is up, apart from w->pulled. Called between turns, and when
	 * w->pulled changes. */
	bool (*carrier)(struct wire *w);
	void (*stats)(struct wire *w, struct json *j); /* into the open object; may be NULL */
	void (*reset_stats)(struct wire *w);           /* of its own statistics; may be NULL */
	void (*close)(struct wire *w);                 /* frees w */
};

struct wire {
	const struct wire_ops *ops;
	int fd;        /* the wire: poll for POLLIN; -1: none. It may change in any call */
	bool realtime; /* the wire: see above */
	bool patient;  /* the wire: sends nothing before a guest can receive (gen, pcap) */
	bool pulled;   /* the port: the cable is out at our end; the other end sees that */
	uint64_t to_model_frames, to_model_bytes;     /* wire_pull */
	uint64_t from_model_frames, from_model_bytes; /* wire_send */
	uint64_t dropped; /* both: frames from the model that the wire could not take */
};

/* Call the ops of the same names, and count. To add a wire: open.h. */
unsigned wire_pull(struct wire *w, struct frame *v, unsigned max, uint64_t now);
/* bytes: of all of them. */
void wire_send(struct wire *w, const struct frame *v, unsigned n, uint64_t bytes, uint64_t now);
void wire_reset_stats(struct wire *w);

#endif
