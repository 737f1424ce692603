/* A frame on its way between a wire and a model: whole, without preamble and FCS. */
#ifndef NICSIM_FRAME_H
#define NICSIM_FRAME_H

#include <stdint.h>

#define FRAME_MAX   16384 /* bytes; longest that a wire carries */
#define FRAME_BURST 64    /* most frames in one call */

struct frame {
	const uint8_t *data; /* whose it is, and until when, says the call that hands it over */
	uint32_t bytes;      /* 1 to FRAME_MAX: a model pads what is shorter than its medium allows */
	uint32_t flags;      /* enum frame_flags */
	uint64_t at;         /* ns when its end arrived, if the wire knows; 0: now */
};

enum frame_flags {
	FRAME_BAD_FCS = 1, /* arrived damaged; no wire makes such, but tests do */
};

#endif
