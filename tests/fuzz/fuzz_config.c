/*
 * The text of a configuration: the input as it is. It is a good one, which says the same when it is
 * printed and read again, or an error in a line of it, and then nothing of it is kept
 * (tests/unit/config_rig.h).
 */
#include "tests/fuzz/rig.h"

#include "tests/unit/config_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	survive((const char *)data, size);
	return 0;
}
