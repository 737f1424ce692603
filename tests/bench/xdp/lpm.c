/* The filter of prefixes by destination address, which the load varies. */
#define ADDRESS daddr
#include "tests/bpf/programs/lpm.c"
