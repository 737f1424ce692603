/* See state.h. */
#include "tools/pktgen/state.h"

#include "runtime/runtime.h"
#include "tools/pktgen/run.h"

#define BURST 64

struct generator generator;

uint32_t generator_burst(void)
{
	uint64_t n = core_option_number("tx-burst", BURST);
	return n >= 1 && n <= RUN_BURST_MAX ? (uint32_t)n : BURST;
}
