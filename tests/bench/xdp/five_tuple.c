/* The filter of flows, with room for all flows of the load (drivers/null/null.c, wire/vhost_gen.c). */
#define FLOWS 65536
#include "tests/bpf/programs/five_tuple.c"
