/* See upgrade.h. */
#include "disk/upgrade.h"

#include "lib/mem.h"

enum state {
	CHECK_FILE, ERASE_HEADER, FLUSH_ERASED, WRITE_IMAGE, FLUSH_IMAGE, READ_IMAGE, WRITE_HEADER, FLUSH_HEADER,
	READ_HEADER,
	END,
};

const char *upgrade_begin(struct upgrade *u, const uint8_t *file, uint64_t bytes, uint64_t partition_bytes,
                          uint8_t *buffer)
{
	*u = (struct upgrade){.file = file, .buffer = buffer, .state = CHECK_FILE};
	const char *why = bytes < IMAGE_HEADER ? "not an image of Hayate" : image_read(file, &u->image);
	if (why)
		return why;
	if (u->image.bytes != bytes - IMAGE_HEADER)
		return "the file has another length than its header says";
	if (partition_bytes < IMAGE_HEADER || u->image.bytes > partition_bytes - IMAGE_HEADER)
		return "the image is longer than the partition";
	u->header_at = partition_bytes - IMAGE_HEADER;
	sha256_init(&u->hash);
	return NULL;
}

static const uint8_t *piece(const struct upgrade *u) { return u->file + IMAGE_HEADER + u->at; }

bool upgrade_request(struct upgrade *u, struct disk_request *r)
{
	if (u->state == END)
		return false;
	*r = (struct disk_request){.op = DISK_FLUSH, .data = u->buffer};
	switch (u->state) {
	case CHECK_FILE:
		r->op = DISK_NONE;
		break;
	case ERASE_HEADER:
	case WRITE_HEADER:
	case READ_HEADER:
		r->op = u->state == READ_HEADER ? DISK_READ : DISK_WRITE;
		r->at = u->header_at;
		r->bytes = IMAGE_HEADER;
		if (u->state == ERASE_HEADER)
			memset(u->buffer, 0, IMAGE_HEADER);
		if (u->state == WRITE_HEADER)
			memcpy(u->buffer, u->file, IMAGE_HEADER);
		break;
	case WRITE_IMAGE:
	case READ_IMAGE:
		r->op = u->state == READ_IMAGE ? DISK_READ : DISK_WRITE;
		r->at = u->at;
		r->bytes = UPGRADE_PIECE;
		if (u->state == WRITE_IMAGE)
			memcpy(u->buffer, piece(u), UPGRADE_PIECE);
		break;
	default:
		break;
	}
	return true;
}

static void end(struct upgrade *u, const char *why)
{
	u->why = why;
	u->state = END;
}

/* A piece has been hashed: is it the last, and is the hash the header's? */
static void hashed(struct upgrade *u, enum state next, const char *wrong)
{
	uint8_t digest[SHA256_BYTES];
	u->at += UPGRADE_PIECE;
	if (u->at < u->image.bytes)
		return;
	sha256_end(&u->hash, digest);
	if (memcmp(digest, u->image.digest, sizeof digest) != 0) {
		end(u, wrong);
		return;
	}
	u->at = 0;
	sha256_init(&u->hash);
	u->state = next;
}

void upgrade_done(struct upgrade *u, int error)
{
	if (error) {
		const bool reading = u->state == READ_IMAGE || u->state == READ_HEADER;
		end(u, reading ? "the disk cannot be read" : "the disk cannot be written");
		return;
	}
	switch (u->state) {
	case CHECK_FILE:
		sha256_add(&u->hash, piece(u), UPGRADE_PIECE);
		hashed(u, ERASE_HEADER, "the image is damaged: it has another SHA-256 than its header says");
		break;
	case WRITE_IMAGE:
		u->at += UPGRADE_PIECE;
		if (u->at < u->image.bytes)
			break;
		u->at = 0;
		u->state = FLUSH_IMAGE;
		break;
	case READ_IMAGE:
		sha256_add(&u->hash, u->buffer, UPGRADE_PIECE);
		hashed(u, WRITE_HEADER, "the disk has not kept what was written");
		break;
	case READ_HEADER:
		end(u, memcmp(u->buffer, u->file, IMAGE_HEADER) ? "the disk has not kept what was written" : NULL);
		break;
	default:
		u->state++;
		break;
	}
}
