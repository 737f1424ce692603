/*
 * What all files of the generator on the control core read: the plan, and the present run.
 */
#ifndef PKTGEN_STATE_H
#define PKTGEN_STATE_H

#include "tools/pktgen/plan.h"

/* The plan of the script. It has no streams when there is no script or the script is wrong; then
 * `error` says why. control.c writes it. */
struct generator {
	struct plan plan;
	bool has_script, is_bad;
	char error[320];
	/* of runs.c */
	uint64_t runs;     /* begun since the machine started */
	uint64_t begun_ns; /* the present one, after the start of the machine */
	bool testing;      /* the present one is a test of RFC 2544 */
	bool reported;     /* control.c: the end of the present one has been told */
};
extern struct generator generator;

uint32_t generator_burst(void); /* frames for one doorbell */

#endif
