/*
 * The faults of the console command `test fault`, for tests of fault containment. Each ends the program
 * of the core that runs it, with the exceptions named in the table. The command needs test=1 on the
 * kernel command line (control/test/test_commands.c).
 */
#ifndef DATAPLANE_TEST_FAULT_H
#define DATAPLANE_TEST_FAULT_H

#include "lib/types.h"

/*
 * One row a fault: name, word of the command, kind, address (test_fault.c has its variables). A read,
 * write or jump uses an address in a way that the program may not. If it were permitted, it would
 * change nothing: a write stores the value that is there already.
 */
#define TEST_FAULTS(X) \
	X(TEST_FAULT_NULL,          "null",          TEST_READ,       0) \
	X(TEST_FAULT_WRITE,         "write",         TEST_WRITE,      test_fault_run) \
	X(TEST_FAULT_EXEC,          "exec",          TEST_EXEC,       variable) \
	X(TEST_FAULT_STACK,         "stack",         TEST_OTHER,      0) /* it overflows */ \
	X(TEST_FAULT_SMASH,         "smash",         TEST_OTHER,      0) /* a local array overflows */ \
	X(TEST_FAULT_UD,            "ud",            TEST_OTHER,      0) /* an invalid instruction */ \
	X(TEST_FAULT_DIVIDE,        "divide",        TEST_OTHER,      0) \
	X(TEST_FAULT_ASSERT,        "assert",        TEST_OTHER,      0) \
	X(TEST_FAULT_SPIN,          "spin",          TEST_OTHER,      0) /* a turn without end */ \
	X(TEST_FAULT_RESTART,       "restart",       TEST_OTHER,      0) /* of a healthy core */ \
	X(TEST_FAULT_CONSTANT,      "constant",      TEST_WRITE,      constant) \
	X(TEST_FAULT_BOOT_INFO,     "boot-info",     TEST_WRITE,      self.info) \
	X(TEST_FAULT_PUBLISHED,     "published",     TEST_WRITE,      self.info->published) /* on a data core */ \
	X(TEST_FAULT_SHARED,        "shared",        TEST_WRITE,      other->shm) \
	X(TEST_FAULT_ARENA,         "arena",         TEST_WRITE,      other->arena) \
	X(TEST_FAULT_TABLES,        "tables",        TEST_READ,       self.info->core[0].tables) /* on a data core */ \
	X(TEST_FAULT_KERNEL,        "kernel",        TEST_READ,       KERNEL_IMAGE) \
	X(TEST_FAULT_EXEC_STACK,    "exec-stack",    TEST_EXEC,       stack) \
	X(TEST_FAULT_EXEC_PUBLISHED, "exec-published", TEST_EXEC,     self.info->published) \
	X(TEST_FAULT_EXEC_ARENA,    "exec-arena",    TEST_EXEC,       mine->arena) \
	X(TEST_FAULT_EXEC_CONSTANT, "exec-constant", TEST_EXEC,       constant) \
	/* these need `test regions make` */ \
	X(TEST_FAULT_CODE_WRITE,    "code-write",    TEST_WRITE,      CODE_WINDOW) \
	X(TEST_FAULT_CODE_ALIAS,    "code-alias",    TEST_READ,       part_of(REGION_CODE, 0)) /* not by its window */ \
	X(TEST_FAULT_CODE_RUN,      "code-run",      TEST_EXEC,       CODE_WINDOW) \
	X(TEST_FAULT_CODE_ERASED,   "code-erased",   TEST_EXEC,       CODE_WINDOW + 0x1000) \
	X(TEST_FAULT_EXEC_MAP,      "exec-map",      TEST_EXEC,       part_of(REGION_SHARED, 0)) \
	/* these two on a data core */ \
	X(TEST_FAULT_OTHERS_MAP,    "others-map",    TEST_READ,       part_of(REGION_OWN, other_index())) \
	X(TEST_FAULT_CONTROL_MAP,   "control-map",   TEST_WRITE,      part_of(REGION_CONTROL, 0)) \
	X(TEST_FAULT_MARK,          "mark",          TEST_OTHER,      0) /* writes to its maps first */ \
	X(TEST_FAULT_CLI,           "cli",           TEST_PRIVILEGED, 0) \
	X(TEST_FAULT_PORT,          "port",          TEST_PRIVILEGED, 0) \
	X(TEST_FAULT_MSR,           "msr",           TEST_PRIVILEGED, 0) \
	X(TEST_FAULT_DRIVER,        "driver",        TEST_OTHER,      0) /* in a driver, control core */ \
	X(TEST_FAULT_SGDT,          "sgdt",          TEST_PRIVILEGED, 0) /* CPUs with UMIP refuse it at ring 3 */

#define TEST_FAULT_NAME(name, word, kind, address) name,
enum test_fault { TEST_FAULTS(TEST_FAULT_NAME) };

void test_fault_run(enum test_fault fault);

#endif
