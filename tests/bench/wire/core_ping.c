/*
 * The round trip of a cache line between two host CPUs, in nanoseconds. The test machines' host
 * moves the two CPUs (55, 115 or 550 ns), so a benchmark of two cores is meaningless without it.
 *
 *   core_ping CPU CPU
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 20000
#define TRIES 5

static _Alignas(128) atomic_uint ball;

static cpu_set_t only(const char *cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(atoi(cpu), &set);
	return set;
}

static void pin(const char *cpu)
{
	cpu_set_t set = only(cpu);
	if (sched_setaffinity(0, sizeof set, &set) != 0) {
		perror("core_ping: sched_setaffinity");
		exit(1);
	}
}

static void *answer(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < TRIES * ROUNDS; i++) {
		while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 1)
			;
		atomic_store_explicit(&ball, 2 * i + 2, memory_order_release);
	}
	return NULL;
}

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	double best = 1e18;
	pthread_t thread;
	pthread_attr_t attr;
	cpu_set_t far = only(argv[2]);
	pin(argv[1]);
	/* On its CPU from the start: with real-time priority, it could never leave ours. */
	if (pthread_attr_init(&attr) != 0 ||
	    pthread_attr_setaffinity_np(&attr, sizeof far, &far) != 0 ||
	    pthread_create(&thread, &attr, answer, NULL) != 0)
		return 1;
	for (unsigned t = 0; t < TRIES; t++) {
		double start = now_ns();
		for (unsigned i = t * ROUNDS; i < (t + 1) * ROUNDS; i++) {
			atomic_store_explicit(&ball, 2 * i + 1, memory_order_release);
			while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 2)
				;
		}
		double each = (now_ns() - start) / ROUNDS;
		best = each < best ? each : best;
	}
	pthread_join(thread, NULL);
	printf("%.0f\n", best);
	return 0;
}
