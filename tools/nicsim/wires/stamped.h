/*
 * Finds the stamp of test traffic (struct stamp, judge.h), whoever generated it: after UDP, TCP or
 * ICMP, or directly after the IP header; over IPv4 without options or IPv6 without extension
 * headers, with up to two VLAN tags. Nothing in the frame is trusted; only the lengths are checked.
 */
#ifndef NICSIM_WIRES_STAMPED_H
#define NICSIM_WIRES_STAMPED_H

#include <stdbool.h>
#include <stdint.h>

#define STAMPED_TAGS 2

/* Offsets from the start of the frame. */
struct stamped {
	uint16_t tags;    /* bytes of VLAN tags */
	uint16_t l3;      /* IP header */
	uint16_t l4;      /* what follows it */
	uint16_t stamp;   /* the stamp */
	uint16_t end;     /* after the IP packet */
	uint8_t version;  /* 4 or 6 */
	uint8_t protocol;
};

/* False: there is no stamp. */
bool stamped_find(const uint8_t *data, uint32_t bytes, struct stamped *s);

#endif
