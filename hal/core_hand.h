/*
 * The packet a core program is working on, for the fault report. The program keeps one global
 * `core_hand`; the kernel finds it by name. Set when a stage looks at packets one by one off the
 * fast path, and once per vector on it.
 */
#ifndef HAL_CORE_HAND_H
#define HAL_CORE_HAND_H

#include "lib/types.h"

struct core_hand {
	uint64_t data; /* address of the frame; 0: none in hand */
	uint16_t len;
	uint16_t vector; /* packets in the vector it belongs to */
	uint8_t port;
};

extern struct core_hand core_hand;

#endif
