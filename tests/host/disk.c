/* See disk.h. */
#include "tests/host/disk.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/blk.h"
#include "tests/host/lines.h"

#define SECTOR 512

static struct {
	int fd;
	bool there, read_only, mute;
	off_t bytes;
	unsigned cut, refuse; /* requests until then */
	unsigned writes;
	struct disk_request request;
} disk = {.cut = UINT_MAX, .refuse = UINT_MAX};

void host_disk_open(const char *path, bool read_only)
{
	struct stat s;
	disk.fd = open(path, read_only ? O_RDONLY : O_RDWR);
	if (disk.fd < 0 || fstat(disk.fd, &s) != 0)
		broken("%s: cannot be opened", path);
	disk.there = true;
	disk.read_only = read_only;
	disk.bytes = s.st_size;
}

bool host_disk_is_there(void) { return disk.there; }

struct pci_dev host_disk_pci(unsigned index)
{
	return (struct pci_dev){.index = (uint16_t)index, .bdf = (uint16_t)(index << 3), .kind = PCI_DISK};
}

void host_disk_cut(unsigned n) { disk.cut = n; }

void host_disk_refuse(unsigned n, bool mute)
{
	disk.refuse = n;
	disk.mute = mute;
}

unsigned host_disk_writes(void) { return disk.writes; }

static bool match(const struct pci_dev *dev) { return dev->kind == PCI_DISK; }

static void begin(struct blk *b)
{
	b->state = BLK_STARTING;
	b->why = NULL;
}

static int serve(const struct disk_request *r)
{
	ssize_t n = (ssize_t)r->bytes;
	if (r->op == DISK_READ)
		n = pread(disk.fd, r->data, r->bytes, (off_t)r->at);
	else if (disk.cut > 0 && r->op == DISK_WRITE)
		n = pwrite(disk.fd, r->data, r->bytes, (off_t)r->at);
	disk.writes += r->op != DISK_READ;
	disk.cut -= disk.cut > 0 && disk.cut != UINT_MAX && r->op != DISK_READ;
	return n == (ssize_t)r->bytes ? E_OK : E_DEVICE;
}

static void step(struct blk *b)
{
	if (b->state == BLK_STARTING) {
		strcpy(b->name, "a file");
		b->sector = SECTOR;
		b->sectors = (uint64_t)disk.bytes / SECTOR;
		b->writable = !disk.read_only;
		b->state = BLK_READY;
		return;
	}
	if (b->state != BLK_BUSY)
		return;
	if (disk.refuse == 0 && disk.mute) {
		b->state = BLK_FAILED;
		b->why = "it does not answer";
		return;
	}
	b->result = disk.refuse == 0 ? E_DEVICE : serve(&disk.request);
	disk.refuse -= disk.refuse > 0 && disk.refuse != UINT_MAX;
	b->state = BLK_READY;
}

static void submit(struct blk *b, const struct disk_request *r)
{
	disk.request = *r;
	b->state = BLK_BUSY;
}

static void stop(struct blk *b) { b->state = BLK_FAILED; }

static const struct blk_ops ops = {
	.name = "file",
	.match = match,
	.begin = begin,
	.step = step,
	.submit = submit,
	.stop = stop,
};
const struct blk_ops *const blk_drivers[] = {&ops};
const unsigned blk_driver_count = 1;
