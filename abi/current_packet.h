/*
 * The packet a core program is working on, for the fault report. The program keeps one global
 * `core_current`, which the kernel finds by name. The fast path sets it once per vector. Code off the fast
 * path that handles packets one by one sets it for each.
 */
#ifndef ABI_CURRENT_PACKET_H
#define ABI_CURRENT_PACKET_H

#include "lib/types.h"

struct core_current {
	uint64_t data; /* address of the frame; 0: no packet */
	uint16_t len;
	uint16_t vector; /* packets in the vector it belongs to */
	uint8_t port;
};

extern struct core_current core_current;

#endif
