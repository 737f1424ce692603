/* Removes the script's line numbers from a plan, so that two plans of the same meaning are equal
 * bytes. */
#ifndef TESTS_HOST_PLAN_LINES_H
#define TESTS_HOST_PLAN_LINES_H

#include <string.h>

#include "tools/pktgen/plan.h"

static inline void forget_lines(struct plan *p)
{
	p->rfc2544.line = p->probe.line = 0;
	memset(p->line_line, 0, sizeof p->line_line);
	for (unsigned i = 0; i < PLAN_PORTS_MAX; i++)
		p->capture[i].line = 0;
	for (unsigned i = 0; i < PLAN_STREAMS_MAX; i++)
		p->stream[i].line = p->stream[i].replay.line = 0;
	for (unsigned i = 0; i < PLAN_ANSWERS_MAX; i++)
		p->answer[i].line = 0;
}

#endif
