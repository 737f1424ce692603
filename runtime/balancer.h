/*
 * Balances the load of data cores by moving buckets (move.h) as balance.h chooses, on the control core.
 *
 *     state     leaves when
 *     WATCHING  the busiest core with a queue pair has been busy for BALANCER_BUSY percent of a second, or what the
 *               command line says (balance-above=N), and the idlest for less than BALANCER_GAP percent of that, twice
 *               in succession → SAMPLING
 *     SAMPLING  BALANCER_SAMPLE_NS have passed: each data core has counted packets by bucket, of one vector in
 *               BALANCER_EACH, until it had BALANCER_SAMPLES → MOVING
 *     MOVING    the chosen buckets have moved, one after the other → WATCHING, but not before BALANCER_REST_NS
 *
 * A core's load is divided among its buckets in proportion to their packets. A bucket that has moved rests for
 * BALANCER_ROUNDS rounds. While the load is even, or no core is busy, nothing is counted and nothing moves: data
 * cores then do nothing for it, and the control core compares the cores' busy cycles once a second, when it looks
 * at them anyway (watch.c). Hashing takes a core some 200 cycles a packet; BALANCER_EACH and BALANCER_SAMPLES keep
 * a busy core from losing packets by it: the receive ring holds what arrives in that time.
 */
#ifndef RUNTIME_BALANCER_H
#define RUNTIME_BALANCER_H

#include "abi/boot_info.h"
#include "lib/types.h"

#define BALANCER_LOOK_NS 1000000000ull
#define BALANCER_BUSY 50
#define BALANCER_GAP 80
#define BALANCER_SAMPLE_NS 200000000ull
#define BALANCER_EACH 8
#define BALANCER_SAMPLES 1024
#define BALANCER_REST_NS 3000000000ull
#define BALANCER_ROUNDS 4
#define BALANCER_MOVES 64 /* in a round */
#define BALANCER_PACKETS 32 /* that a core must have counted */

/* The load of data cores between two looks. */
struct load_meter {
	uint64_t tsc; /* of the last look; 0: none */
	uint64_t busy_cycles[CORES_MAX];
};

/* Looks. True: busy[] is the load, of BALANCE_FULL, of the cores that poll pairs, by pair, since the last look. False:
 * this is the first. */
bool load_measure(struct load_meter *m, uint32_t *busy);

/* While the ports run and none restarts, once a turn. The first `pairs` pairs have flows (elastic.h). */
void balancer_turn(unsigned pairs);
/* The TSC at which it must be called even if the core sleeps. */
uint64_t balancer_deadline(void);
/* Ends a round: a core or a port may have failed, or all ports start. */
void balancer_reset(void);

#endif
