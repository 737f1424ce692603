/* Memory of the forwarding tables, and their writers. */
#ifndef CONTROL_FORWARDING_TABLES_H
#define CONTROL_FORWARDING_TABLES_H

#include "control/config/config.h"
#include "dataplane/state.h"
#include "net/fib/fib.h"
#include "net/fib/host6.h"

struct forwarding {
	bool ready; /* there was memory for the tables: they, ARP's and ND's may be used */
	struct fib_writer fib, fib6;
	struct host6_writer hosts6;
};

extern struct forwarding forwarding;

#define TABLES_LEAST (4u << 20) /* bytes of published memory, at least, where there is as much */
#define ROUTES_MAX (1u << 20)

/* Makes the forwarding tables, empty, behind the data-plane state's `used` bytes. Their memory is
 * taken once. False: there is not enough. */
bool forwarding_start(struct dp_state *v, size_t used);

/* Is there memory for the tables of a configuration? For those of IPv6 and of neighbours it is taken,
 * and kept. *as_it_is: the ports need not be restarted for that. */
bool forwarding_room(const struct config *c, bool *as_it_is);

/* Bytes of published memory in use: before the forwarding tables, and theirs. */
void forwarding_published_used(size_t *before, size_t *tables);

#endif
