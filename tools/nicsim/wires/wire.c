/* Common to all wires: counting, and the bounds of every frame. */
#include "tools/nicsim/wires/wire.h"

#include <stddef.h>

unsigned wire_pull(struct wire *w, struct frame *v, unsigned max, uint64_t now)
{
	if (max > FRAME_BURST)
		max = FRAME_BURST;
	if (max == 0)
		return 0;
	unsigned n = w->ops->pull(w, v, max, now);
	w->to_model_frames += n;
	w->to_model_bytes += frames_bytes(v, n);
	return n;
}

/* No wire has to expect a frame of another length. */
static bool is_right(const struct frame *f)
{
	return f->bytes - 1 < FRAME_MAX;
}

static void send_each(struct wire *w, const struct frame *v, unsigned n, uint64_t now)
{
	for (unsigned i = 0; i < n; i++) {
		if (is_right(&v[i]))
			w->ops->send(w, v[i].data, v[i].bytes, now);
		else
			w->dropped++;
	}
}

void wire_send(struct wire *w, const struct frame *v, unsigned n, uint64_t bytes, uint64_t now)
{
	uint32_t right = w->ops->send_all != NULL;
	for (unsigned i = 0; i < n; i++)
		right &= is_right(&v[i]);
	w->from_model_frames += n;
	w->from_model_bytes += bytes;
	if (right)
		w->ops->send_all(w, v, n, now);
	else
		send_each(w, v, n, now);
}

void wire_reset_stats(struct wire *w)
{
	w->to_model_frames = w->to_model_bytes = w->from_model_frames = w->from_model_bytes = 0;
	w->dropped = 0;
	if (w->ops->reset_stats)
		w->ops->reset_stats(w);
}
