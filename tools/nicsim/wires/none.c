/* No cable: no frames, no carrier. */
#include <stdlib.h>

#include "tools/nicsim/wires/open.h"

static unsigned none_pull(struct wire *w, struct frame *v, unsigned max, uint64_t now)
{
	(void)w;
	(void)v;
	(void)max;
	(void)now;
	return 0;
}

static void none_send(struct wire *w, const uint8_t *data, uint32_t bytes, uint64_t now)
{
	(void)data;
	(void)bytes;
	(void)now;
	w->dropped++;
}

static uint64_t none_deadline(struct wire *w, uint64_t now)
{
	(void)w;
	(void)now;
	return UINT64_MAX;
}

static bool none_carrier(struct wire *w)
{
	(void)w;
	return false;
}

static void none_close(struct wire *w)
{
	free(w);
}

static const struct wire_ops none_ops = {
	.name = "none",
	.pull = none_pull,
	.send = none_send,
	.deadline = none_deadline,
	.carrier = none_carrier,
	.close = none_close,
};

struct wire *none_open(const struct wire_spec *s)
{
	struct wire *w = calloc(1, sizeof *w);
	if (s->options || *s->argument || w == NULL) {
		free(w);
		return wire_bad(s, "none", "takes no options");
	}
	w->ops = &none_ops;
	w->fd = -1;
	return w;
}
