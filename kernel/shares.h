/* How much of the machine's memory each core and the snapshots get. */
#ifndef KERNEL_SHARES_H
#define KERNEL_SHARES_H

/*
 * Takes the memory of boot_info->cores cores and of the snapshots, and says in boot_info where it
 * is; what it holds is undefined. Pages for the address spaces remain. Boot core, once. Panics when
 * the memory does not suffice.
 */
void shares_take(void);

#endif
