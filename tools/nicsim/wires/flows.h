/*
 * Judges test traffic of generators outside this process. Flows are identified by the number in
 * their stamps (judge.h); frame numbers increase by one from that of the first received frame.
 *
 * A frame is intact if the checksums of IP, UDP, TCP or ICMP and of the stamp are right, lengths
 * agree, nothing follows the IP packet, and byte i of the payload is pattern[i], with i counted as
 * if there were no VLAN tags. All other bytes before the stamp must equal those of the flow's first
 * frame, which the statistics show. So a check of that one frame covers every byte of every frame;
 * only bytes that may vary (flows_vary) are covered by checksums alone.
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

/* "FIRST-LAST/ONE/...": these bytes of a frame may differ from the first frame's, and from the
 * pattern if they are payload. False: malformed text. */
bool flows_vary(struct flows *f, const char *text);

/* False: not a generator's frame, or the flow table is full. */
bool flows_frame(struct flows *f, const uint8_t *data, uint32_t bytes);

void flows_stats(const struct flows *f, struct json *j);
void flows_reset(struct flows *f);

#endif
