/* The engine's next hops and distances as those of routes. */
#ifndef CONTROL_ENGINE_HOPS_H
#define CONTROL_ENGINE_HOPS_H

#include "control/engine/engine.h"
#include "net/rib/rib.h"

/* A route's hops in the form of rib_set, each once. */
struct engine_hops {
	unsigned hops;
	struct rib_hop hop[RIB_ROUTES_MAX];
};

#define ENGINE_NO_INTERFACE (-1)

/* Our interface with that index on the engine; ENGINE_NO_INTERFACE: none, or the index is 0. */
int engine_interface_of(uint32_t ifindex);
/* Is it a destination that routes may have? */
bool engine_is_destination(const struct rib_prefix *p);

/* The distance of a protocol's routes. */
uint8_t engine_distance(enum fpm_protocol p);

/* Translates the n hops of a route of that family and protocol, some of them unusable. Returns
 * ENGINE_REFUSED_NOT if at least one can be used; else why not the last one. */
enum engine_refusal engine_hops(struct engine_hops *out, const struct fpm_hop *hop, unsigned n,
                                enum fpm_protocol protocol, bool six);

/* Takes over those hops of a prefix that a former base has left and that can be used. False: none. */
bool engine_hops_previous(struct engine_hops *out, const struct rib_previous *left);

/* The one hop of a route that discards packets. */
void engine_nowhere(struct engine_hops *out, enum fpm_route_type type, enum fpm_protocol protocol);

#endif
