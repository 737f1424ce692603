/*
 * The rings of virtio-net with a hostile device: two bytes of the input are a decision of
 * tests/unit/rig/virtio_liar.c; the lowest bit of the first says whether the device keeps the order. No
 * memory but its own is accessed, received packets are valid, no buffer is lost or owned twice.
 */
#include "tests/fuzz/rig.h"

#include "tests/unit/rig/virtio_liar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool mapped;
	if (!mapped)
		assert_int_equal(guest_map(NULL), 0);
	mapped = true;
	rig_input(data, size);
	set_in_order(rig_u8() & 1);
	liar_start();
	while (rig_more() && !w.broken)
		liar_round();
	return teardown(NULL);
}
