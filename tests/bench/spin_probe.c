/*
 * What a spinning program sees of a CPU: reads the TSC without end, at real-time priority if that is
 * allowed, and counts the gaps between two readings. In a gap the host, the kernel or a neighbour had
 * the CPU.
 *
 *     spin_probe CPU SECONDS
 *
 * Prints `spin NS LONGEST-NS | NS:COUNT...`: the time, the longest gap, and all gaps of REPORT_NS or
 * more. stall_probe.c, in contrast, asks how late a sleeping thread wakes.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/bench/open_loop.h"

#define REPORT_NS 200

static uint64_t tsc(void) { return __builtin_ia32_rdtsc(); }

static double seconds_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double tsc_hz(void)
{
	double from = seconds_now(), until;
	uint64_t first = tsc();
	do
		until = seconds_now();
	while (until - from < 0.05);
	return (double)(tsc() - first) / (until - from);
}

int main(int argc, char **argv)
{
	static struct open_loop o;
	const struct sched_param priority = {.sched_priority = sched_get_priority_max(SCHED_FIFO) - 1};
	cpu_set_t set;
	if (argc != 3) {
		fprintf(stderr, "usage: spin_probe CPU SECONDS\n");
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET((unsigned)atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0) {
		perror("spin_probe");
		return 1;
	}
	(void)sched_setscheduler(0, SCHED_FIFO, &priority); /* without, neighbours' time is in it */
	double hz = tsc_hz();
	uint64_t now = tsc(), begun = now, end = now + (uint64_t)(atof(argv[2]) * hz);
	open_loop_begin(&o, now, end - now, 0, (uint64_t)(REPORT_NS * hz / 1e9));
	for (; now < end; now = tsc())
		open_loop_clock(&o, now);
	printf("spin %.0f %.0f |", (double)(now - begun) * 1e9 / hz, (double)o.gap.max * 1e9 / hz);
	open_loop_print(&o.gap, 1e9 / hz);
	printf("\n");
	return 0;
}
