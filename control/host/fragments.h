/*
 * Fragments of packets to the machine itself, of both families (net/reassembly.h).
 */
#ifndef CONTROL_HOST_FRAGMENTS_H
#define CONTROL_HOST_FRAGMENTS_H

#include "net/reassembly.h"

/* Starts without any fragments; those that waited are counted as drop_restart. E_NOMEM. */
int fragments_start(void);

/*
 * Takes a fragment; up: NULL for IPv4. Results as reassembly_input4 and reassembly_input6: CNT_NONE
 * if it is kept or, with out->ip, if the packet is complete.
 */
enum counter fragments_input(unsigned interface, const uint8_t *ip, unsigned len,
                             const struct ip6_upper *up, struct reassembly_result *out);

/* Does what is due; returns core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t fragments_timer(void);

/* Fragments that wait for others: a gauge. */
uint32_t fragments_waiting(void);

#endif
