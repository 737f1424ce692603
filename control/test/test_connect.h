/* A connection that the machine opens, for tests. */
#ifndef CONTROL_TEST_TEST_CONNECT_H
#define CONTROL_TEST_TEST_CONNECT_H

#include "control/console/shell.h"

/* The command, whose words are in sh->argv. */
void test_connect(struct shell *sh);

#endif
