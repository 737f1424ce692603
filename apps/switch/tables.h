/* The tables of the switch, which the control core writes. */
#ifndef APPS_SWITCH_TABLES_H
#define APPS_SWITCH_TABLES_H

#include "apps/switch/shared.h"
#include "control/text/text.h"

/* The control core's own. */
struct switch_tables {
	struct switch_shared *shared; /* NULL: there is no memory for the switch */
	struct fdb_writer fdb;        /* in use if has_fdb */
	bool has_fdb;
	uint32_t up; /* ports with a link, one bit each */
	uint32_t disabled; /* ports that do not switch though they have one (errdisable.h) */
	enum switch_state allowed[NIC_PORTS_MAX]; /* by the spanning tree, of a port that is up */
	enum switch_state state[NIC_PORTS_MAX];
};
extern struct switch_tables tables;

/* The size of the forwarding database's shared part, as much as memory allows; 0: none. To be called before each
 * start. Takes the private part, once. */
size_t tables_more(void);

/* Builds all tables from the configuration, without learned stations. */
void tables_start(void);

/* Is the port in use and not disabled, and has it a link? */
bool tables_is_up(unsigned port);

/* What the spanning tree allows the port to do while it is up. On return data cores do no more than that
 * (core_quiesce). tables_settle is to follow, once for several ports. */
void tables_allow(unsigned port, enum switch_state state);

/* Disables the port, or ends that. A disabled port switches as little as one without a link. On return data cores
 * heed it (core_quiesce). spanning_link and tables_settle are to follow, unless the machine starts. */
void tables_disable(unsigned port, bool disabled);

/* Sets the links of the machine's own interfaces: up if a port of the VLAN forwards. */
void tables_settle(void);

/* Is it a logical port: a port, or the number of a port channel, which is that of its first member? */
bool tables_is_logical(unsigned port);

/* "eth0", or "port-channel1" for the number of its bundle. */
const char *tables_port_name(unsigned port);

/* Reads the name of a port or of a port channel: the number of the logical port. False: there is none. */
bool tables_read_port(struct text name, uint32_t *port);

/* The link of a logical port. */
void tables_link(unsigned port, bool up);

/* The configuration has changed. */
void tables_changed(void);

/* The mark of this turn. */
uint16_t tables_mark(void);

/* The marks of each data core; NULL: it has none, or they do not lie in its arena. */
void tables_marks(const uint16_t *used[CORES_MAX]);

/* For how long a learned entry has not been used, as far as the marks tell: seconds. */
uint64_t tables_idle_s(const struct fdb_entry *e);

/* The next range of VLANs after VLAN `after` that are used, and have the same ports and interface. False: there is
 * none. */
bool tables_next_vlans(unsigned after, unsigned *first, unsigned *last);

/* Forgets learned stations, of a port and a VLAN or FDB_ANY. Returns how many. */
uint32_t tables_forget(uint32_t port, uint32_t vid);

/* The ageing time in marks; 0: stations do not age. */
uint16_t tables_age(void);

#endif
