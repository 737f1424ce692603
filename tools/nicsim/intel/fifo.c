/*
 * The receive packet buffer (8.2.3.8.9): frames that wait for descriptors, oldest first. Records
 * are contiguous, {bytes, verdict, frame, pad to 8}. A record that does not fit before the end
 * starts at 0, after a record of length 0 that fills the rest.
 */
#include "tools/nicsim/intel/state.h"

#include <string.h>

#define RECORD_BYTES 8 /* before each frame */

static uint32_t room_of(uint32_t bytes)
{
	return RECORD_BYTES + ((bytes + 7) & ~7u);
}

void fifo_clear(struct fifo *f)
{
	f->in = f->out = f->used = f->frames = 0;
}

bool fifo_put(struct fifo *f, const uint8_t *frame, uint32_t bytes, enum mac_verdict verdict)
{
	uint32_t need = room_of(bytes);
	uint32_t skip = f->in + need > FIFO_BYTES ? FIFO_BYTES - f->in : 0;
	if (f->used + skip + need > f->limit)
		return false;
	if (skip) {
		memset(f->bytes + f->in, 0, RECORD_BYTES);
		f->in = 0;
	}
	const uint32_t record[2] = {bytes, verdict};
	memcpy(f->bytes + f->in, record, sizeof record);
	memcpy(f->bytes + f->in + RECORD_BYTES, frame, bytes);
	f->in = f->in + need == FIFO_BYTES ? 0 : f->in + need;
	f->used += skip + need;
	f->frames++;
	return true;
}

bool fifo_first(struct fifo *f, struct waiting *w)
{
	uint32_t record[2];
	if (f->frames == 0)
		return false;
	memcpy(record, f->bytes + f->out, sizeof record);
	if (record[0] == 0) {
		f->used -= FIFO_BYTES - f->out;
		f->out = 0;
		memcpy(record, f->bytes, sizeof record);
	}
	*w = (struct waiting){f->bytes + f->out + RECORD_BYTES, record[0], record[1]};
	return true;
}

void fifo_pop(struct fifo *f, const struct waiting *w)
{
	uint32_t need = room_of(w->bytes);
	f->out = f->out + need == FIFO_BYTES ? 0 : f->out + need;
	f->used -= need;
	f->frames--;
}
