/*
 * Which queue pair takes which bucket of a port's indirection table (nic_ops.table). Control core only.
 *
 * Each bucket has a home: the pair that takes it while all data cores poll. Homes survive the control program
 * (struct persistent). While a core does not poll, the buckets at
 * home with its pair, and no others, go to other pairs.
 */
#ifndef RUNTIME_BUCKETS_H
#define RUNTIME_BUCKETS_H

#include "lib/types.h"

/* Bucket i of port p is at home with pair i modulo the number of pairs, as the device has it after its start
 * (nic_ops.table). */
void buckets_reset(unsigned p, unsigned pairs);

/* Has the device direct received packets to these pairs only: one bit each, at least one, all of them started. The port
 * is there (ports_is_there). E_NOTSUP: the device chooses by itself; otherwise an error of nic_ops.table. */
int buckets_set(unsigned p, uint64_t pairs);

/* The pair with which bucket b of port p, below nic_shared.buckets, is at home. */
unsigned buckets_home(unsigned p, unsigned b);

/* Bucket b of port p is at home with that pair from now on. The device learns it by the next buckets_set. */
void buckets_move(unsigned p, unsigned b, unsigned pair);

/* Port p has started while the others run: has its device direct each bucket to the home it had. An error as of
 * buckets_set; E_INVAL: a home is a pair that the port has no more. */
int buckets_keep(unsigned p);

#endif
