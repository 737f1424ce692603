/* A frame between a wire and a model: complete, without preamble and FCS. */
#ifndef NICSIM_FRAME_H
#define NICSIM_FRAME_H

#include <stdint.h>

#define FRAME_MAX   16384 /* bytes; longest that a wire carries */
#define FRAME_BURST 64    /* most frames in one call */

struct frame {
	const uint8_t *data; /* the call that passes it says who owns it, and until when */
	uint32_t bytes;      /* 1 to FRAME_MAX: a model pads what its medium does not allow */
	uint32_t flags;      /* enum frame_flags */
	uint64_t at;         /* time in ns when its end arrived, if the wire knows; 0: now */
};

enum frame_flags {
	FRAME_BAD_FCS = 1, /* arrived damaged; no wire produces this, but tests do */
	/* The wire has made the frame and vouches for it: untagged IPv4 without options that is no
	 * fragment, with nothing behind it, UDP of the right length, both checksums there and right. */
	FRAME_UDP4 = 2,
};

static inline uint64_t frames_bytes(const struct frame *v, unsigned n)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < n; i++)
		bytes += v[i].bytes;
	return bytes;
}

#endif
