/*
 * How late the host serves a CPU: a thread at the highest real-time priority sleeps for half a millisecond again
 * and again, and measures how much later it runs. It precedes every other thread of the CPU, so what it finds is
 * the host's or the kernel's doing, not a neighbour's. It also reads how long another thread could have run and
 * had no CPU: what that finds may be a neighbour's doing too.
 *
 *     stall_probe THREAD CPU
 *
 * Prints for each wake-up that is over REPORT_NS late, and each wait of the other thread as long: `cpu` or
 * `thread`, CLOCK_MONOTONIC of the end in seconds, microseconds. Runs until it is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 500000
#define REPORT_NS 2000000
#define SECOND_NS 1000000000ll

static int64_t ns_of(const struct timespec *t) { return t->tv_sec * SECOND_NS + t->tv_nsec; }

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ns / SECOND_NS, ns % SECOND_NS};
}

static int schedstat; /* of the other thread */

/* Nanoseconds that the other thread has waited for a CPU (proc(5), schedstat: its second number). It is
 * told when the thread runs again. */
static int64_t waited(void)
{
	char text[128] = "";
	long long ran = 0, waits = 0;
	if (pread(schedstat, text, sizeof text - 1, 0) <= 0 || sscanf(text, "%lld %lld", &ran, &waits) != 2)
		exit(0); /* it has ended */
	return waits;
}

static void report(const char *what, int64_t end_ns, int64_t late_ns)
{
	if (late_ns > REPORT_NS)
		printf("%s %.6f %lld\n", what, (double)end_ns / SECOND_NS, (long long)late_ns / 1000);
}

static void probe(void)
{
	int64_t before = waited();
	struct timespec now;
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		const int64_t due = ns_of(&now) + PERIOD_NS;
		const struct timespec until = timespec_of(due);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
		clock_gettime(CLOCK_MONOTONIC, &now);
		const int64_t waits = waited();
		report("cpu", ns_of(&now), ns_of(&now) - due);
		report("thread", ns_of(&now), waits - before);
		before = waits;
	}
}

int main(int argc, char **argv)
{
	const struct sched_param priority = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};
	char path[64];
	cpu_set_t set;
	if (argc != 3) {
		fprintf(stderr, "usage: stall_probe THREAD CPU\n");
		return 2;
	}
	snprintf(path, sizeof path, "/proc/%d/schedstat", atoi(argv[1]));
	schedstat = open(path, O_RDONLY | O_CLOEXEC);
	CPU_ZERO(&set);
	CPU_SET((unsigned)atoi(argv[2]), &set);
	if (schedstat < 0 || sched_setaffinity(0, sizeof set, &set) != 0 ||
	    sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
		fprintf(stderr, "stall_probe: %s, CPU %s: %s\n", path, argv[2], strerror(errno));
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	probe();
}
