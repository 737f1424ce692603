/*
 * The text of a configuration: the input as it is. Either it is valid, and means the same when
 * printed and read again, or a line of it has an error, and then nothing of it is kept
 * (tests/unit/rig/config_rig.h).
 */
#include "tests/fuzz/rig.h"

#include "tests/unit/rig/config_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	survive((const char *)data, size);
	return 0;
}
