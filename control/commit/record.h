/*
 * The record of commits in the store (control/storage/), which outlives the machine: of each commit a
 * value "history/NUMBER",
 *
 *     ! commit NUMBER
 *     ! time 2026-11-29T21:44:05Z          or "unknown"
 *     ! by NAME
 *     ! comment TEXT
 *     the whole configuration              or nothing, if it is longer than a share of the store
 *
 * which is a configuration itself. The oldest go first: there are RECORD_MOST, and less if they are long.
 */
#ifndef CONTROL_COMMIT_RECORD_H
#define CONTROL_COMMIT_RECORD_H

#include "control/text/text.h"

#define RECORD_MOST 20
#define RECORD_FOLDER "history/"

struct record {
	uint32_t number;
	unsigned ago;       /* `rollback ago` restores it; 0: it is the running configuration */
	struct text time, by, comment;
	struct text config; /* empty: it was too long */
};

/* From now on commits are recorded. Called once, when the configuration of the boot is in force. */
void commit_record_start(void);

/* The n-th newest record, from 0; valid until something is put into the store. False: there is none. */
bool commit_record_get(unsigned n, struct record *r);

/* The record of the configuration `ago` commits ago, over boots. False: there is none. */
bool commit_record_find(unsigned ago, struct record *r);

#endif
