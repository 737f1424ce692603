/*
 * What the machine remembers over power cuts: named values, on the one partition of the machine's disks that is of
 * Hayate's type (disk/layout.h). docs/storage.md is for users.
 *
 *     "startup-config"    the configuration for the next boot
 *     "history/..."       earlier configurations
 *     "keys/..."          keys and certificates
 *     "crash/..."         crash reports
 *     "events"            the event log
 *     "dhcp/..."          addresses of interfaces that DHCP servers have lent
 *     "files/..."         users' files
 *
 * All values are one archive (values.h), kept in memory, and written as a whole as a new generation
 * (disk/generations.h): whenever the power is cut, all values are those of before a write or all are those after it.
 * Values put while a write is under way go together into the next one. So one put costs a write of all values: a
 * caller that has news often collects them.
 *
 * Without a disk, or without that partition, storage_present() is false and nothing is stored. Values survive a
 * restart of the control program in memory, and are there at once.
 *
 * Nothing waits. The disk is asked by storage_timer(); before the first start of the control plane, by
 * storage_may_start().
 */
#ifndef CONTROL_STORAGE_STORAGE_H
#define CONTROL_STORAGE_STORAGE_H

#include "control/storage/disks.h"
#include "control/storage/values.h"

/* Is there a store, whose values have been read? In control_plane_start of the first program it is known. */
bool storage_present(void);

/* The value as last put, whether it has reached the disk or not; *data is valid until the next storage_put or _remove.
 * E_NOENT: there is no such value, or no store. */
int storage_get(const char *name, const uint8_t **data, size_t *n);

/* Grows with each change of the values. */
uint64_t storage_changes(void);

/* Memory in which a long value may be built for the next storage_put: *room bytes. NULL: there is no store. */
uint8_t *storage_behind(size_t *room);

/* Sets a value, which is copied at once. When it is on the disk, or could not be written, `done` (or NULL) is called
 * with E_OK or E_DEVICE: from storage_timer(), later. A value that could not be written stays in memory, and the next
 * put tries again. E_NOENT: there is no store. E_DEVICE: the disk has failed, or is read only. E_INVAL: no possible
 * name (values.h). E_NOMEM: the store is full. E_AGAIN: too many callers wait. Then `done` is not called and nothing
 * has changed. */
int storage_put(const char *name, const void *data, size_t n, void (*done)(void *arg, int error), void *arg);

/* Removes a value likewise; E_NOENT: there is none. */
int storage_remove(const char *name, void (*done)(void *arg, int error), void *arg);

/* For storage_get and others in a walk over all values: as values_next(). */
bool storage_next(size_t *at, struct values_entry *e);

/* control_hooks.may_start: starts the disks, and says true when the store has been opened, or there is none, or a
 * disk takes too long. */
bool storage_may_start(void);

/* For a program that takes over: starts the disks, unless that has been done. */
void storage_start(void);

uint64_t storage_timer(void);

/* For people, metrics, and those that divide the store's room. */
struct storage_status {
	unsigned disk;          /* of the partition; DISKS_MAX: none */
	uint64_t at, bytes;     /* of the partition; 0: none */
	uint64_t generation;    /* on the disk; 0: none yet */
	bool damaged;           /* a slot was not whole, or could not be read, when the store was opened */
	size_t used, most;      /* bytes of values, and of the most there may be */
	uint64_t writes, write_errors;
	uint64_t written_ns;    /* core_now_ns() of the last successful write; 0: none */
	bool writing;           /* a write is under way */
	bool unwritten;         /* there are values that are not on the disk */
	const char *why;        /* there is no store, or nothing can be written to it: why; NULL */
};
void storage_status(struct storage_status *s);

#endif
