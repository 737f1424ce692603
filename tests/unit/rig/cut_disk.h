/* A disk whose power is cut at a request: what was flushed is there, and of what was written since any sectors are. */
#ifndef TESTS_UNIT_RIG_CUT_DISK_H
#define TESTS_UNIT_RIG_CUT_DISK_H

#include "tests/unit/rig/host.h"

#include "disk/disk.h"

#define CUT_SECTOR 512u

struct cut_disk {
	uint8_t *safe, *now; /* what a power cut leaves in any case; what a read returns */
	size_t bytes;
	int cut;             /* so many requests are left; below 0: no limit */
	int fails;           /* the request after so many fails; below 0: none */
	bool drops;          /* writes change nothing */
	unsigned requests;
};

/* The caller frees it by cut_disk_free. */
static inline void cut_disk_make(struct cut_disk *d, size_t bytes)
{
	*d = (struct cut_disk){.safe = calloc(1, bytes), .now = calloc(1, bytes), .bytes = bytes, .cut = -1, .fails = -1};
	assert_non_null(d->safe);
	assert_non_null(d->now);
}

static inline void cut_disk_free(struct cut_disk *d)
{
	free(d->safe);
	free(d->now);
}

static inline void cut_disk_copy(struct cut_disk *d, const uint8_t *from)
{
	memcpy(d->safe, from, d->bytes);
	memcpy(d->now, from, d->bytes);
	d->requests = 0;
	d->cut = d->fails = -1;
	d->drops = false;
}

/* Serves one request. False: the power has been cut. */
static inline bool cut_disk_serve(struct cut_disk *d, const struct disk_request *r, int *error)
{
	*error = E_OK;
	if (r->op == DISK_NONE)
		return true;
	if (d->cut == 0) {
		for (size_t at = 0; at < d->bytes; at += CUT_SECTOR)
			if (random_below(2))
				memcpy(d->safe + at, d->now + at, CUT_SECTOR);
		memcpy(d->now, d->safe, d->bytes);
		return false;
	}
	d->cut -= d->cut > 0;
	d->requests++;
	if (d->fails == 0) {
		d->fails = -1;
		*error = E_DEVICE;
		return true;
	}
	d->fails -= d->fails > 0;
	assert_true(r->at % CUT_SECTOR == 0 && r->bytes % CUT_SECTOR == 0 && r->at + r->bytes <= d->bytes);
	assert_true((r->bytes == 0) == (r->op == DISK_FLUSH));
	if (r->op == DISK_READ)
		memcpy(r->data, d->now + r->at, r->bytes);
	else if (r->op == DISK_WRITE && !d->drops)
		memcpy(d->now + r->at, r->data, r->bytes);
	else if (r->op == DISK_FLUSH)
		memcpy(d->safe, d->now, d->bytes);
	return true;
}

#endif
