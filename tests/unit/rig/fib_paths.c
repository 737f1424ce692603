#include "tests/unit/rig/fib_paths.h"

#ifdef __x86_64__
#include "hal/vector.h"
#else
static unsigned vector_bits(void)
{
	return 0;
}
#endif

const char *const fib_path_name[FIB_PATHS] = {"scalar", "AVX2", "AVX-512"};

bool fib_path_runs(enum fib_path path)
{
	return path <= fib_path_for(vector_bits());
}
