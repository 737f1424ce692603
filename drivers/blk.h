/*
 * The contract between drivers of disks and the control core, which alone uses disks. Nothing waits: a driver does
 * what can be done now, and is called again.
 *
 *   match      for each PCI function
 *   begin      once, if match returned true; the device must not reach memory afterwards until step enables it
 *   step       again and again, every 10 ms while the state is BLK_STARTING, and often while a request is under way
 *   submit     one request, in state BLK_READY
 *   stop       before the memory is used for something else; the device reaches none afterwards
 *
 * State and figures are in struct blk. What the device says is untrusted until checked: a device that does not
 * answer, or breaks the rules, gets BLK_FAILED with `why`, and is stopped. It may be begun anew.
 */
#ifndef DRIVERS_BLK_H
#define DRIVERS_BLK_H

#include "abi/pci.h"
#include "disk/disk.h"
#include "hal/clock.h"
#include "lib/types.h"

#define BLK_DMA_BYTES 65536 /* aligned to itself, in memory dma_addr() accepts */
#define BLK_REQUEST_MAX 32768 /* bytes */
#define BLK_NAME_MAX 41
#define BLK_DEADLINE_NS 10000000000ull /* for a request: a disk that spins up, or maps flash anew, takes seconds */

enum blk_state {
	BLK_STARTING,
	BLK_READY,  /* for a request */
	BLK_BUSY,   /* with one */
	BLK_FAILED, /* for good; why says why */
};

struct blk {
	/* the caller's, before begin */
	const struct pci_dev *pci;
	const struct clock *clock;
	uint8_t *dma;              /* BLK_DMA_BYTES */
	/* the driver's */
	const struct blk_ops *ops;
	enum blk_state state;
	const char *why;
	int result;                /* of the last request, in state BLK_READY: E_OK, or E_DEVICE: it was refused */
	uint32_t sector;           /* bytes, once it is ready: 512 to 4096 */
	uint64_t sectors;
	bool writable;
	char name[BLK_NAME_MAX];   /* the manufacturer's, printable */
	uint64_t priv[24];
};

struct blk_ops {
	const char *name;
	bool (*match)(const struct pci_dev *dev);
	void (*begin)(struct blk *b);
	void (*step)(struct blk *b);
	/* r->at and r->bytes are multiples of the sector, and on the disk; at most BLK_REQUEST_MAX bytes. The
	 * driver copies. */
	void (*submit)(struct blk *b, const struct disk_request *r);
	void (*stop)(struct blk *b);
};

/* For drivers whose device takes a request in parts: the first `bytes` bytes of *r have ended with `result`, and a
 * read has brought what is at `data`. True: another part is to be sent, and *r begins with it. False: the request
 * has ended. */
static inline bool blk_part_ended(struct blk *b, struct disk_request *r, uint32_t bytes, const uint8_t *data,
                                  int result)
{
	if (result == E_OK && r->op == DISK_READ)
		__builtin_memcpy(r->data, data, bytes);
	r->data += bytes;
	r->at += bytes;
	r->bytes -= bytes;
	if (result == E_OK && r->bytes)
		return true;
	b->result = result;
	b->state = BLK_READY;
	return false;
}

extern const struct blk_ops *const blk_drivers[];
extern const unsigned blk_driver_count;

#endif
