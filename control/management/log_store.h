/*
 * The event log on the disk: the value "events" of the store (control/storage/storage.h), text in the lines of `show
 * logging`, the newest last, of this boot and of earlier ones.
 *
 * The store writes all values at once, so messages are collected: a write begins LOG_STORE_SOON_NS after a message of
 * LOG_ERR or more urgent, LOG_STORE_NS after others, and LOG_STORE_SOON_NS after the write before at the earliest. A
 * power cut loses the messages since.
 */
#ifndef CONTROL_MANAGEMENT_LOG_STORE_H
#define CONTROL_MANAGEMENT_LOG_STORE_H

#include "lib/types.h"

#define LOG_STORE_NAME "events"
#define LOG_STORE_MAX 32768u /* bytes of the value; older lines go */
#define LOG_STORE_SOON_NS 5000000000ull
#define LOG_STORE_NS 60000000000ull

/* A row of the timers in control/control.c. */
uint64_t log_store_timer(void);

#endif
