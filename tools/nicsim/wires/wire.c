/* Common to all wires: counting, and the bounds of every frame. */
#include "tools/nicsim/wires/wire.h"

unsigned wire_pull(struct wire *w, struct frame *v, unsigned max, uint64_t now)
{
	if (max > FRAME_BURST)
		max = FRAME_BURST;
	if (max == 0)
		return 0;
	unsigned n = w->ops->pull(w, v, max, now);
	w->to_model_frames += n;
	for (unsigned i = 0; i < n; i++)
		w->to_model_bytes += v[i].bytes;
	return n;
}

void wire_send(struct wire *w, const uint8_t *data, uint32_t bytes, uint64_t now)
{
	w->from_model_frames++;
	w->from_model_bytes += bytes;
	if (bytes == 0 || bytes > FRAME_MAX) /* no wire has to expect such a frame */
		w->dropped++;
	else
		w->ops->send(w, data, bytes, now);
}

void wire_reset_stats(struct wire *w)
{
	w->to_model_frames = w->to_model_bytes = w->from_model_frames = w->from_model_bytes = 0;
	w->dropped = 0;
	if (w->ops->reset_stats)
		w->ops->reset_stats(w);
}
