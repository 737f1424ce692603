/* See generations.h. */
#include "disk/generations.h"

#include "lib/assert.h"
#include "lib/bytes.h"
#include "lib/mem.h"
#include "lib/number.h"

/* The header; numbers are little-endian, the rest is 0. */
#define MAGIC "Hayate: generation\n"
#define MAGIC_BYTES 32
#define VERSION 1
#define AT_VERSION 32
#define AT_NUMBER 40
#define AT_BYTES 48
#define AT_CONTENT 64 /* SHA-256 of the content */
#define AT_SELF (GENERATION_HEADER - SHA256_BYTES) /* of the header before it */

enum state {
	IDLE,
	READ_HEADER,     /* of slot 0, then 1 */
	READ_CONTENT,    /* of the newest slot; if it is damaged, of the other */
	WRITE_CONTENT, FLUSH_CONTENT, WRITE_HEADER, FLUSH_HEADER,
	CHECK_HEADER, CHECK_CONTENT,
};

static uint64_t slot_at(const struct generations *g) { return g->slot * g->slot_bytes; }

uint64_t generations_most(const struct generations *g) { return g->slot_bytes - GENERATION_HEADER; }
bool generations_idle(const struct generations *g) { return g->state == IDLE; }

int generations_open(struct generations *g, uint64_t bytes, uint8_t *buffer, uint8_t *memory, uint64_t room)
{
	if (bytes < GENERATION_LEAST)
		return E_INVAL;
	*g = (struct generations){.slot_bytes = align_down(bytes / 2, GENERATION_HEADER), .buffer = buffer,
	                          .memory = memory, .room = room, .state = READ_HEADER};
	return E_OK;
}

int generations_write(struct generations *g, const uint8_t *content, uint64_t bytes)
{
	assert(g->state == IDLE);
	if (bytes > generations_most(g))
		return E_NOMEM;
	g->content = content;
	g->made = (struct slot){.number = g->number + 1, .bytes = bytes};
	g->slot = g->made.number % 2;
	g->at = 0;
	sha256_init(&g->hash);
	g->state = bytes ? WRITE_CONTENT : FLUSH_CONTENT;
	return E_OK;
}

/* --- requests --- */

/* Bytes of the content that the next request is about. */
static uint32_t piece(const struct generations *g, uint64_t bytes)
{
	return (uint32_t)u64_min(bytes - g->at, GENERATION_PIECE);
}

static void content_request(const struct generations *g, struct disk_request *r, enum disk_op op, uint64_t bytes)
{
	*r = (struct disk_request){.op = op, .at = slot_at(g) + GENERATION_HEADER + g->at,
	                           .bytes = (uint32_t)align_up(piece(g, bytes), GENERATION_HEADER), .data = g->buffer};
}

static void header_request(const struct generations *g, struct disk_request *r, enum disk_op op)
{
	*r = (struct disk_request){.op = op, .at = slot_at(g), .bytes = GENERATION_HEADER, .data = g->buffer};
}

static void fill_piece(struct generations *g)
{
	const uint32_t n = piece(g, g->made.bytes), whole = (uint32_t)align_up(n, GENERATION_HEADER);
	memcpy(g->buffer, g->content + g->at, n);
	memset(g->buffer + n, 0, whole - n);
}

static void fill_header(struct generations *g)
{
	uint8_t *h = g->buffer;
	memset(h, 0, GENERATION_HEADER);
	memcpy(h, MAGIC, sizeof MAGIC);
	le32_store(h + AT_VERSION, VERSION);
	le64_store(h + AT_NUMBER, g->made.number);
	le64_store(h + AT_BYTES, g->made.bytes);
	memcpy(h + AT_CONTENT, g->made.digest, SHA256_BYTES);
	sha256_of(h, AT_SELF, h + AT_SELF);
}

bool generations_request(struct generations *g, struct disk_request *r)
{
	switch (g->state) {
	case IDLE:
		return false;
	case READ_HEADER:
	case CHECK_HEADER:
		header_request(g, r, DISK_READ);
		return true;
	case READ_CONTENT:
		content_request(g, r, DISK_READ, g->of[g->slot].bytes);
		return true;
	case CHECK_CONTENT:
		content_request(g, r, DISK_READ, g->made.bytes);
		return true;
	case WRITE_CONTENT:
		fill_piece(g);
		content_request(g, r, DISK_WRITE, g->made.bytes);
		return true;
	case WRITE_HEADER:
		fill_header(g);
		header_request(g, r, DISK_WRITE);
		return true;
	default:
		*r = (struct disk_request){.op = DISK_FLUSH};
		return true;
	}
}

/* --- opening --- */

static void end(struct generations *g, int error)
{
	g->error = error;
	g->state = IDLE;
}

static void content_read(struct generations *g);

/* Reads the header in the buffer. True: it is whole. *ours: it is, or once was, a header of ours. */
static bool read_header(const struct generations *g, struct slot *s, bool *ours)
{
	const uint8_t *h = g->buffer;
	uint8_t digest[SHA256_BYTES];
	*ours = memcmp(h, MAGIC, sizeof MAGIC) == 0;
	sha256_of(h, AT_SELF, digest);
	*s = (struct slot){.number = le64_load(h + AT_NUMBER), .bytes = le64_load(h + AT_BYTES)};
	memcpy(s->digest, h + AT_CONTENT, SHA256_BYTES);
	return *ours && memcmp(digest, h + AT_SELF, SHA256_BYTES) == 0 && le32_load(h + AT_VERSION) == VERSION &&
	       s->number > 0 && s->number % 2 == g->slot && s->bytes <= generations_most(g);
}

/* Begins to read the content of the newest slot that has not been tried; without one the opening ends. */
static void read_newest(struct generations *g)
{
	const unsigned newest = g->of[1].number > g->of[0].number;
	for (unsigned i = 0; i < 2; i++) {
		const unsigned slot = newest ^ i;
		if (g->of[slot].number == 0 || g->tried >> slot & 1)
			continue;
		if (g->of[slot].bytes > g->room) {
			end(g, E_NOMEM);
			return;
		}
		g->slot = (uint8_t)slot;
		g->tried |= (uint8_t)(1u << slot);
		g->at = 0;
		sha256_init(&g->hash);
		g->state = READ_CONTENT;
		if (g->of[slot].bytes == 0)
			content_read(g);
		return;
	}
	end(g, g->unread ? E_DEVICE : E_OK);
}

static void content_read(struct generations *g)
{
	const struct slot *s = &g->of[g->slot];
	uint8_t digest[SHA256_BYTES];
	const uint32_t n = piece(g, s->bytes);
	memcpy(g->memory + g->at, g->buffer, n);
	sha256_add(&g->hash, g->buffer, n);
	g->at += n;
	if (g->at < s->bytes)
		return;
	sha256_end(&g->hash, digest);
	if (memcmp(digest, s->digest, SHA256_BYTES) != 0) {
		g->damaged = true;
		read_newest(g);
		return;
	}
	g->number = s->number;
	g->bytes = s->bytes;
	end(g, E_OK);
}

static void next_header(struct generations *g)
{
	if (g->slot == 0)
		g->slot = 1;
	else
		read_newest(g);
}

static void header_read(struct generations *g)
{
	struct slot s;
	bool ours;
	if (read_header(g, &s, &ours))
		g->of[g->slot] = s;
	else
		g->damaged |= ours;
	next_header(g);
}

/* The other slot may be readable. */
static void cannot_read(struct generations *g)
{
	g->unread = g->damaged = true;
	if (g->state == READ_HEADER)
		next_header(g);
	else
		read_newest(g);
}

/* --- writing --- */

static void content_written(struct generations *g)
{
	const uint32_t n = piece(g, g->made.bytes);
	sha256_add(&g->hash, g->buffer, n);
	g->at += n;
	if (g->at == g->made.bytes)
		g->state = FLUSH_CONTENT;
}

static void content_checked(struct generations *g)
{
	const uint32_t n = piece(g, g->made.bytes);
	if (memcmp(g->buffer, g->content + g->at, n) != 0) {
		end(g, E_INVAL);
		return;
	}
	g->at += n;
	if (g->at < g->made.bytes)
		return;
	g->number = g->made.number;
	g->bytes = g->made.bytes;
	end(g, E_OK);
}

static void header_checked(struct generations *g)
{
	struct slot s;
	bool ours;
	if (!read_header(g, &s, &ours) || s.number != g->made.number || s.bytes != g->made.bytes ||
	    memcmp(s.digest, g->made.digest, SHA256_BYTES) != 0) {
		end(g, E_INVAL);
		return;
	}
	g->at = 0;
	g->state = CHECK_CONTENT;
	if (g->made.bytes == 0)
		content_checked(g);
}

void generations_done(struct generations *g, int error)
{
	assert(g->state != IDLE);
	if (error && (g->state == READ_HEADER || g->state == READ_CONTENT)) {
		cannot_read(g);
		return;
	}
	if (error) {
		end(g, E_DEVICE);
		return;
	}
	switch (g->state) {
	case READ_HEADER:
		header_read(g);
		break;
	case READ_CONTENT:
		content_read(g);
		break;
	case WRITE_CONTENT:
		content_written(g);
		break;
	case FLUSH_CONTENT:
		sha256_end(&g->hash, g->made.digest);
		g->state = WRITE_HEADER;
		break;
	case WRITE_HEADER:
		g->state = FLUSH_HEADER;
		break;
	case FLUSH_HEADER:
		g->state = CHECK_HEADER;
		break;
	case CHECK_HEADER:
		header_checked(g);
		break;
	default:
		content_checked(g);
		break;
	}
}
