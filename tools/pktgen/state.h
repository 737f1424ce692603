/*
 * The state that all files of the generator on the control core read: the plan and the present run.
 */
#ifndef PKTGEN_STATE_H
#define PKTGEN_STATE_H

#include "tools/pktgen/plan.h"

/* control.c writes the members up to `error`. The plan has no streams if there is no script or if
 * the script is wrong; in the latter case `error` has the reason. */
struct generator {
	struct plan plan;
	bool has_script, is_bad;
	char error[320];
	/* written by runs.c */
	uint64_t runs;     /* runs and tests begun since the program started */
	uint64_t begun_ns; /* uptime when the present one began */
	bool testing;      /* the present one is a test of RFC 2544 */
	bool reported;     /* the end of the present one has been reported; set by control.c */
};
extern struct generator generator;

uint32_t generator_burst(void); /* frames for one doorbell */

#endif
