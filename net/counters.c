/* The names and meanings of the counters, made from the one list in counters.h. */
#include "net/counters.h"

const struct counter_desc counter_desc[CNT_MAX] = {
#define NET_COUNTER_DESC(name, kind, help) [CNT_##name] = {#name, help, COUNTER_##kind},
	NET_COUNTERS(NET_COUNTER_DESC)
#undef NET_COUNTER_DESC
};
