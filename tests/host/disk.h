/*
 * The disk of the machine of tests/host/harness.c: a file, and a driver of the contract drivers/blk.h.
 * A request ends at the next step of the driver.
 */
#ifndef TESTS_HOST_DISK_H
#define TESTS_HOST_DISK_H

#include <stdbool.h>

#include "abi/pci.h"

/* Sectors of 512 bytes; NULL: the machine has no disk. */
void host_disk_open(const char *path, bool read_only);
bool host_disk_is_there(void);

/* The function of the disk, to be listed. */
struct pci_dev host_disk_pci(unsigned index);

/* From now on: after n more writes the power is off: writes and flushes succeed, and nothing reaches the file. */
void host_disk_cut(unsigned n);

/* After n more requests each is refused, or (mute) the disk fails and answers no more. */
void host_disk_refuse(unsigned n, bool mute);

/* Writes and flushes so far. */
unsigned host_disk_writes(void);

#endif
