/* See pktgen_nicsim.h. */
#include "tests/unit/rig/pktgen_nicsim.h"

#include "tools/nicsim/wires/judge.h"

_Static_assert(NICSIM_FLOWS == STREAMS, "all that the judge knows");

static struct judge judge;

void nicsim_expect(uint64_t sent)
{
	judge_init();
	for (unsigned i = 0; i < STREAMS; i++) {
		streams[i] = (struct stream){0};
		stream_restart(&streams[i]);
		streams[i].sent = sent;
	}
}

int nicsim_admits(const uint8_t *frame, uint32_t bytes, unsigned flow)
{
	const struct stream *s = &streams[flow];
	const uint64_t before = s->received;
	judge_frame(&judge, frame, bytes, 0);
	return s->received == before + 1 && s->corrupted == 0 && judge.foreign == 0;
}
