/* The console's commands for tests of Hayate itself; they work with test=1 on the command line. */
#ifndef CONTROL_TEST_TEST_COMMANDS_H
#define CONTROL_TEST_TEST_COMMANDS_H

/* Adds them to the console's commands. Called once. */
void test_commands_add(void);

#endif
