/*
 * The spanning tree of the switch, on the control core: net/stp connected with the ports. There is one tree
 * for all VLANs.
 *
 *     spanning.c       links, BPDUs, configuration, time; what the ports may do (tables_allow)
 *     spanning_keep.c  the state of the protocol outlives the control program
 *     spanning_show.c  console and metrics
 */
#ifndef APPS_SWITCH_SPANNING_H
#define APPS_SWITCH_SPANNING_H

#include "apps/switch/shared.h"
#include "control/console/shell.h"
#include "control/management/page.h"
#include "lib/fmt.h"
#include "net/stp/stp.h"

_Static_assert(NIC_PORTS_MAX <= STP_PORTS_MAX, "every port has its place in the tree");

struct spanning {
	struct stp bridge;                   /* valid if runs */
	bool runs;                           /* else every port may forward */
	uint32_t cautious;                   /* ports that silence does not make an edge, one bit each */
	uint64_t cautious_ns;                /* when that ends */
	uint64_t guarded_ns[NIC_PORTS_MAX];  /* when BPDU guard disabled the port; valid while it is */
};
extern struct spanning spanning;

/* In the plug-in's start, behind tables_start. Ports without a link discard. */
void spanning_start(void);

/* The ports run: their links are known. */
void spanning_ports(void);

/* The link of a port, behind tables_link. */
void spanning_link(unsigned port);

/* The configuration has changed; behind tables_changed. */
void spanning_changed(void);

/* Does the work due; returns the TSC of the next, UINT64_MAX for none. */
uint64_t spanning_timer(void);

/* Has BPDU guard disabled the port? */
bool spanning_is_guarded(unsigned port);

/* When BPDU guard enables such a port again, in ns of the clock; UINT64_MAX: never. */
uint64_t spanning_recovery_ns(unsigned port);

/* --- spanning_keep.c --- */

enum spanning_kept {
	SPANNING_NEW,     /* the machine has just booted */
	SPANNING_LOST,    /* an earlier program, if there was one, has left no state that can be used */
	SPANNING_RESUMED, /* `spanning` is as the earlier program has left it */
};

/* Takes memory for the state, if there is none yet. To be called before each start, and before others take
 * private memory: what stays in its midst leaves a next program less of it in one piece. */
void spanning_keep_room(void);

/* Finds the state of an earlier program. It is used once: a program that fails with it does not leave it to
 * the next. */
enum spanning_kept spanning_resume(void);

/* Keeps the state. To be called when a call of net/stp has returned. */
void spanning_keep(void);

/* The state is not to be resumed: the protocol has been switched off. */
void spanning_forget(void);

/* --- spanning_show.c --- */

/* A bridge identifier: "32768 52:54:00:68:79:00". Returns text. */
#define SPANNING_ID_MAX (6 + FMT_MAC_MAX)
char *spanning_id(char text[SPANNING_ID_MAX], uint64_t id);

void spanning_show(struct shell *sh);
void spanning_show_port(struct shell *sh);
void spanning_clear_protocols(struct shell *sh);

/* A part of a page, whose items begin at `item`. */
bool spanning_metrics(uint32_t item, struct page_text *t);

/* JSON: the role of a port and what is at its link, as `,"role":…,"type":…`; the root, as an object. null: the
 * protocol is off. */
void spanning_json_port(unsigned port, struct page_text *t);
void spanning_json_root(struct page_text *t);

#endif
