/* test_ixgbe_driver.c once more, with completion by DD instead of head write-back (unit.mk). */
#include "tests/unit/test_ixgbe_driver.c"
