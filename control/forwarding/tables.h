/* Memory of the forwarding tables, and their writers. */
#ifndef CONTROL_FORWARDING_TABLES_H
#define CONTROL_FORWARDING_TABLES_H

#include "control/config/config.h"
#include "control/forwarding/persist.h"
#include "dataplane/state.h"
#include "net/fib/fib.h"
#include "net/fib/host6.h"

struct forwarding {
	bool ready; /* all tables have memory: they, ARP and ND may be used */
	struct fib_writer fib, fib6;
	struct host6_writer hosts6;
};

extern struct forwarding forwarding;

#define TABLES_LEAST (4u << 20) /* minimum bytes of published memory to leave for the tables */
#define ROUTES_MAX (1u << 20)

/* Makes empty forwarding tables behind the data-plane state's `used` bytes. Takes their memory
 * once. False: there is not enough. */
bool forwarding_start(struct dp_state *v, size_t used);

/* True if there is memory for the tables of a configuration. Takes and keeps it for the tables of
 * IPv6, routes and neighbours. *as_it_is: the present tables suffice without a restart of the
 * ports. */
bool forwarding_room(const struct config *c, bool *as_it_is);

/* Tells the runtime by how much smaller tables would hold the configured routes, some more, and so many
 * of a routing engine (core_set_spare). */
void forwarding_tell_spare(uint32_t engine);

/* The same for private memory taken since then, which a program that takes over does without. */
void forwarding_spare_more(size_t bytes);

/* What the table of IPv6 has for a routing engine's prefixes. */
struct persist_six forwarding_engine6(void);

/* Bytes of published memory in use before the forwarding tables, and by these. */
void forwarding_published_used(size_t *before, size_t *tables);

#endif
