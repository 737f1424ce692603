/* What holds for any octets that net/fpm reads: for its unit test and its fuzz entry. */
#ifndef TESTS_UNIT_RIG_FPM_CONTRACT_H
#define TESTS_UNIT_RIG_FPM_CONTRACT_H

#include "net/fpm/fpm.h"
#include "net/fpm/nexthops.h"

/*
 * Reads n octets as the beginning of a stream, from an allocation of exactly that size. Of a complete
 * frame every message is decoded twice, its fields are checked, and it is acknowledged if it is a new
 * route. Objects go into the table, if there is one. Asserts the contract of fpm.h; returns the error.
 * *length: of the frame, 0 if it is incomplete or malformed.
 */
enum fpm_error fpm_contract(const uint8_t *data, uint32_t n, struct fpm_nexthops *t, uint32_t *length);

#endif
