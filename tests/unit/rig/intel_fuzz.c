#include "tests/unit/rig/intel_fuzz.h"

#include "tests/unit/rig/nicsim_frames.h"

void fuzz_step(const struct fuzz_guest *g, unsigned faults)
{
	const uint32_t offset = g->offset();
	struct rig_frame out;
	switch (random_below(g->own ? 9 : 8)) {
	case 0:
		rig_read(offset);
		break;
	case 1:
		if (random_below(10) == 0)
			g->set_up();
		break;
	case 2:
		g->memory();
		break;
	case 3:
		some_frames(2000, random_below(4) ? 1 : 200);
		break;
	case 4:
		rig_run(random_below(100000));
		break;
	case 8:
		g->own();
		break;
	default:
		if (offset != g->ctrl || random_below(20) == 0)
			rig_write(offset, g->value(offset));
	}
	if (random_below(500) == 0)
		rig_fault_arg(rig.m->ops->faults[random_below(faults)].name, random_below(50));
	if (random_below(100) == 0)
		rig.m->faults = 0;
	if (random_below(100) == 0)
		rig.piece = random_below(2) ? 4096u << random_below(8) : 0;
	while (rig_sent(&out))
		;
	assert_in_range(rig.m->ops->rx_room(rig.m, 64), 0, 64);
}
