/*
 * The event log: what happened on this machine, one line each, with severity and time. The console, `show logging`,
 * syslog hosts and the disk show the same messages.
 *
 * The messages lie in a ring of LOG_RECORDS places, in memory that outlives the control program. A new message
 * replaces the oldest. Each reader has a position of its own (log_next), so a slow reader loses the oldest messages
 * and nobody waits.
 *
 * Two limits:
 * 1. A message that repeats the one before it is not recorded again. After LOG_REPEAT_NS, or before the next other
 *    message, a line says how often it was repeated. The console prints each of them.
 * 2. A facility may send LOG_BURST messages at once and LOG_PER_S a second. Others are lost, on the console too, and
 *    a line says how many.
 *
 * For the control core. Messages of the runtime, and of data cores, come by control_hooks.event.
 */
#ifndef CONTROL_CONSOLE_LOG_H
#define CONTROL_CONSOLE_LOG_H

#include "lib/log_level.h"
#include "lib/types.h"
#include "runtime/runtime.h"

#define LOG_RECORDS 512
#define LOG_FACILITY 24 /* bytes, with NUL */
#define LOG_TEXT 448    /* likewise; a longer message is cut */
#define LOG_REPEAT_NS 30000000000ull
#define LOG_BURST 200
#define LOG_PER_S 20
#define LOG_NONE (-1) /* of struct log_levels: no messages */

/*
 * Records a message and prints it on the console. `facility` is a static word in capital letters, such as "LINK",
 * followed by "-" and a mnemonic if there are several kinds: "CONFIG-COMMIT". It is the MSGID of syslog: no blanks,
 * shorter than LOG_FACILITY. Control characters in the text become '?', because a part of it may come from a
 * neighbour.
 */
void log_event(enum log_level level, const char *facility, const char *format, ...) PRINTF_LIKE(3, 4);

/* True if a second has passed since *said_tsc, which is then set to now: for messages of progress. */
static inline bool log_is_due(uint64_t *said_tsc)
{
	const uint64_t now = clock_tsc();
	if (now - *said_tsc < self.info->tsc_hz)
		return false;
	*said_tsc = now;
	return true;
}

/* At each start of the control plane: takes memory, if no message has done so before. The console says if there is
 * none; messages then go to the console alone. */
void log_open(void);

/* control_hooks.event: a line of the runtime. True: the console is to print it. */
bool log_runtime(enum log_level level, const char *line);

/* Which messages go where: an enum log_level, or LOG_NONE. */
struct log_levels {
	int console;
	int buffered; /* those that `show logging` shows, unless asked for fewer */
	int others;   /* those that any other reader wants */
};
void log_set_levels(const struct log_levels *levels);
const struct log_levels *log_levels(void);

struct log_record {
	uint64_t number;        /* from 1 on; never again the same until the machine restarts */
	uint64_t since_boot_ns;
	uint64_t utc_ns;        /* since 1970 (runtime/walltime.h); 0: the time of day was not known */
	enum log_level level;
	char facility[LOG_FACILITY];
	char text[LOG_TEXT];
};

/* The next kept message from number *at on; *at becomes the number behind it. *at 0: from the oldest on. The
 * pointer is valid until the next log_event. NULL: there is none. Messages that a reader has lost are *at before
 * the call, less the number found. */
const struct log_record *log_next(uint64_t *at);

/* The number of the next message. */
uint64_t log_head(void);

/* `show logging` begins behind the last message. Other readers do not notice. log_first_shown: where it begins. */
void log_clear(void);
uint64_t log_first_shown(void);

struct log_stats {
	uint64_t messages[LOG_LEVELS]; /* recorded by this control program */
	uint64_t repeated;   /* messages that were not recorded because they repeated the one before */
	uint64_t suppressed; /* that were too many */
};
const struct log_stats *log_stats(void);

/* The message as a line without line end, as `show logging` has it: time of day in UTC, or seconds since boot;
 * "%LINK-5-UPDOWN", the facility with the severity in it; the text. Returns buf. */
#define LOG_LINE (LOG_TEXT + LOG_FACILITY + 48)
char *log_record_line(char buf[LOG_LINE], const struct log_record *r);

/* A row of the timers in control/control.c. */
uint64_t log_timer(void);

#endif
