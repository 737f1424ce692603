/*
 * The judgement of test traffic that no generator of this process has made: of flows by the number
 * in their stamps (judge.h), whose numbers go up by one from that of the first frame that came.
 *
 * What is whole: the sums of IP, UDP, TCP or ICMP and of the stamp are right, lengths agree,
 * nothing follows the IP packet, and byte i of the payload is pattern[i], i counted as if there
 * were no VLAN tags. What is alike: all other bytes before the stamp are those of the flow's first
 * frame, which the statistics show. So with one look at that, every byte of every frame has been
 * looked at; those that are to vary (flows_vary) are in the sums only.
 */
#ifndef NICSIM_WIRES_FLOWS_H
#define NICSIM_WIRES_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/nicsim/frame.h"
#include "tools/nicsim/wires/judge.h"

struct json;
struct flows;

/* NULL: no memory. */
struct flows *flows_open(void);
void flows_close(struct flows *f);

/* "FIRST-LAST/ONE/...": these bytes of frames need not be those of the first one, and those of the
 * payload not of the pattern. False: what it says is wrong. */
bool flows_vary(struct flows *f, const char *text);

/* False: no frame of a generator, or of more flows than there is room for. */
bool flows_frame(struct flows *f, const uint8_t *data, uint32_t bytes);

void flows_stats(const struct flows *f, struct json *j);
void flows_reset(struct flows *f);

#endif
