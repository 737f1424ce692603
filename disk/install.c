/* See install.h. Sections are those of the UEFI Specification 2.10. */
#include "disk/install.h"

#include "disk/boot_env.h"
#include "disk/layout.h"
#include "lib/bytes.h"
#include "lib/crc32.h"
#include "lib/mem.h"
#include "lib/number.h"

#define MAGIC "Hayate: install\n"
#define MAGIC_BYTES 16
#define VERSION 1
#define AT_VERSION 16
#define AT_PIECES 20
#define AT_BYTES 24
#define AT_DIGEST 32
#define AT_SELF (INSTALL_HEADER - SHA256_BYTES)

#define SECTOR 512
/* The partition table of the file, and of every disk: 5.3.2, table 5.5; 5.3.3, table 5.6. */
#define ENTRIES 128
#define ENTRY_BYTES 128
#define ENTRIES_BYTES (ENTRIES * ENTRY_BYTES)
#define TABLE_SECTORS (1 + ENTRIES_BYTES / SECTOR) /* header and entries */
#define HEADER_BYTES 92
#define HEADER_CRC 16
#define HEADER_MY_LBA 24
#define HEADER_OTHER_LBA 32
#define HEADER_LAST 48
#define HEADER_GUID 56
#define HEADER_ENTRIES_LBA 72
#define HEADER_ENTRIES 80
#define HEADER_ENTRY_BYTES 84
#define HEADER_ENTRIES_CRC 88
#define ENTRY_GUID 16
#define ENTRY_FIRST 32
#define MBR_SECTORS 458 /* of the protective partition; 5.2.3, table 5.4 */

/* The start of an empty disk, which has zeros there. A file system without a partition table may begin late: ISO 9660
 * at 32 KiB (ECMA-119, 6.2.1), btrfs at 64 KiB (its on-disk format, "Superblock"). */
#define LOOK_BYTES (1u << 20)

enum state {
	CHECK_FILE, LOOK_FIRST, LOOK_LAST, ERASE_FIRST, FLUSH_ERASED, WRITE_PIECES, WRITE_BACKUP, FLUSH_PIECES, READ_PIECES,
	READ_BACKUP, WRITE_TABLE, FLUSH_TABLE, WRITE_SECTOR, FLUSH_SECTOR, READ_FIRST,
	END,
};

/* --- the file --- */

static const char *read_header(struct install *i, uint64_t bytes)
{
	uint8_t self[SHA256_BYTES];
	if (bytes < INSTALL_HEADER || memcmp(i->file, MAGIC, MAGIC_BYTES) != 0)
		return "not an install file";
	sha256_of(i->file, AT_SELF, self);
	if (memcmp(self, i->file + AT_SELF, sizeof self) != 0 || le32_load(i->file + AT_VERSION) != VERSION)
		return "the install file's header is damaged or of another version";
	i->pieces = le32_load(i->file + AT_PIECES);
	i->disk_bytes = le64_load(i->file + AT_BYTES);
	const uint64_t index = align_up((uint64_t)i->pieces * 4, INSTALL_HEADER);
	if (i->pieces < 2 || index > bytes - INSTALL_HEADER || i->disk_bytes % INSTALL_PIECE != 0)
		return "the install file is impossible";
	i->index = i->file + INSTALL_HEADER;
	i->data = i->index + index;
	return NULL;
}

static uint32_t entry(const struct install *i, uint32_t n) { return le32_load(i->index + 4 * (uint64_t)n); }
static uint64_t number(const struct install *i, uint32_t n) { return entry(i, n) & ~INSTALL_ZEROS; }

/* The pieces ascend, the first has data, and the file ends with the last one's. */
static const char *check_index(const struct install *i)
{
	uint64_t data = 0;
	for (uint32_t n = 0; n < i->pieces; n++) {
		if (n ? number(i, n) <= number(i, n - 1) : entry(i, n) != 0)
			return "the install file is impossible";
		data += entry(i, n) & INSTALL_ZEROS ? 0 : INSTALL_PIECE;
	}
	if ((number(i, i->pieces - 1) + 1) * INSTALL_PIECE > i->disk_bytes ||
	    data != i->file_bytes - (uint64_t)(i->data - i->file))
		return "the install file is impossible";
	return NULL;
}

/* --- the partition table of this disk, in the first piece --- */

static void seal(uint8_t *header)
{
	le32_store(header + HEADER_CRC, 0);
	le32_store(header + HEADER_CRC, crc32_add(0, header, HEADER_BYTES));
}

static bool is_table(const uint8_t *header)
{
	return memcmp(header, "EFI PART", 8) == 0 && le64_load(header + HEADER_ENTRIES_LBA) == 2 &&
	       le32_load(header + HEADER_ENTRIES) == ENTRIES && le32_load(header + HEADER_ENTRY_BYTES) == ENTRY_BYTES;
}

static const char *make_first(struct install *i, const uint8_t *random)
{
	const struct gpt_guid env = GPT_TYPE_BOOT_ENV, none = {{0}};
	uint8_t *header = i->first + SECTOR, *entries = i->first + 2 * SECTOR;
	memcpy(i->first, i->data, INSTALL_PIECE);
	if (!is_table(header))
		return "the install file is impossible";
	for (unsigned n = 0; n < ENTRIES; n++) {
		uint8_t *e = entries + n * ENTRY_BYTES;
		if (memcmp(e, env.bytes, GPT_GUID_BYTES) == 0)
			i->env_at = le64_load(e + ENTRY_FIRST) * SECTOR + BOOT_ENV_AT;
		if (memcmp(e, none.bytes, GPT_GUID_BYTES) != 0)
			gpt_guid_make(e + ENTRY_GUID, random + n * GPT_GUID_BYTES);
	}
	if (i->env_at == 0)
		return "the install file is impossible";
	gpt_guid_make(header + HEADER_GUID, random + ENTRIES * GPT_GUID_BYTES);
	le64_store(header + HEADER_OTHER_LBA, i->sectors - 1);
	le64_store(header + HEADER_LAST, i->sectors - TABLE_SECTORS - 1);
	le32_store(header + HEADER_ENTRIES_CRC, crc32_add(0, entries, ENTRIES_BYTES));
	seal(header);
	le32_store(i->first + MBR_SECTORS, (uint32_t)u64_min(i->sectors - 1, UINT32_MAX));
	for (unsigned c = 0; c < BOOT_ENV_ID; c++)
		i->id[c] = "0123456789abcdef"[random[ENTRIES * GPT_GUID_BYTES + c / 2] >> (c % 2 ? 0 : 4) & 15];
	return NULL;
}

/* The last TABLE_SECTORS of the disk: entries, header. */
static void fill_backup(const struct install *i, uint8_t *to)
{
	uint8_t *header = to + ENTRIES_BYTES;
	memcpy(to, i->first + 2 * SECTOR, ENTRIES_BYTES);
	memcpy(header, i->first + SECTOR, SECTOR);
	le64_store(header + HEADER_MY_LBA, i->sectors - 1);
	le64_store(header + HEADER_OTHER_LBA, 1);
	le64_store(header + HEADER_ENTRIES_LBA, i->sectors - TABLE_SECTORS);
	seal(header);
}

/* Piece i->at as it is to be on the disk. */
static void fill_piece(const struct install *i, uint8_t *to)
{
	const uint64_t begin = number(i, i->at) * INSTALL_PIECE;
	if (entry(i, i->at) & INSTALL_ZEROS)
		memset(to, 0, INSTALL_PIECE);
	else
		memcpy(to, i->data + i->used, INSTALL_PIECE);
	if (i->env_at >= begin && i->env_at + BOOT_ENV_BYTES <= begin + INSTALL_PIECE)
		boot_env_make(to + (i->env_at - begin), i->id);
}

/* --- the steps --- */

const char *install_begin(struct install *i, const uint8_t *file, uint64_t bytes, uint32_t sector, uint64_t sectors,
                          const uint8_t random[INSTALL_RANDOM], bool force, uint8_t *memory)
{
	*i = (struct install){.file = file, .file_bytes = bytes, .sectors = sectors, .force = force, .first = memory,
	                      .want = memory + INSTALL_PIECE, .buffer = memory + 2 * INSTALL_PIECE, .state = CHECK_FILE};
	const char *why = read_header(i, bytes);
	if (!why)
		why = check_index(i);
	if (!why && sector != SECTOR)
		why = "the disk's sectors have another length than 512 bytes";
	if (!why && (sectors < TABLE_SECTORS || i->disk_bytes > (sectors - TABLE_SECTORS) * SECTOR))
		why = "the disk is too small";
	if (!why)
		why = make_first(i, random);
	sha256_init(&i->hash);
	return why;
}

static void piece_request(const struct install *i, struct disk_request *r, enum disk_op op)
{
	*r = (struct disk_request){.op = op, .at = number(i, i->at) * INSTALL_PIECE, .bytes = INSTALL_PIECE,
	                           .data = i->buffer};
	if (op == DISK_WRITE)
		fill_piece(i, i->buffer);
}

static void backup_request(const struct install *i, struct disk_request *r, enum disk_op op)
{
	*r = (struct disk_request){.op = op, .at = (i->sectors - TABLE_SECTORS) * SECTOR, .bytes = TABLE_SECTORS * SECTOR,
	                           .data = i->buffer};
	if (op == DISK_WRITE)
		fill_backup(i, i->buffer);
}

/* The first piece: erased, or with all but the first sector; or that sector. */
static void first_request(const struct install *i, struct disk_request *r)
{
	const uint32_t bytes = i->state == WRITE_SECTOR ? SECTOR : INSTALL_PIECE;
	*r = (struct disk_request){.op = DISK_WRITE, .bytes = bytes, .data = i->buffer};
	memcpy(i->buffer, i->first, INSTALL_PIECE);
	if (i->state != WRITE_SECTOR)
		memset(i->buffer, 0, i->state == WRITE_TABLE ? SECTOR : INSTALL_PIECE);
}

bool install_request(struct install *i, struct disk_request *r)
{
	switch (i->state) {
	case END:
		return false;
	case CHECK_FILE:
		*r = (struct disk_request){.op = DISK_NONE, .data = i->buffer};
		break;
	case LOOK_FIRST:
		*r = (struct disk_request){.op = DISK_READ, .at = (uint64_t)i->at * INSTALL_PIECE, .bytes = INSTALL_PIECE,
		                           .data = i->buffer};
		break;
	case READ_FIRST:
		*r = (struct disk_request){.op = DISK_READ, .bytes = INSTALL_PIECE, .data = i->buffer};
		break;
	case LOOK_LAST:
	case READ_BACKUP:
		backup_request(i, r, DISK_READ);
		break;
	case WRITE_BACKUP:
		backup_request(i, r, DISK_WRITE);
		break;
	case ERASE_FIRST:
	case WRITE_TABLE:
	case WRITE_SECTOR:
		first_request(i, r);
		break;
	case WRITE_PIECES:
		piece_request(i, r, DISK_WRITE);
		break;
	case READ_PIECES:
		piece_request(i, r, DISK_READ);
		break;
	default:
		*r = (struct disk_request){.op = DISK_FLUSH, .data = i->buffer};
		break;
	}
	return true;
}

static void end(struct install *i, const char *why)
{
	i->why = why;
	i->state = END;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	while (n && !*p) {
		p++;
		n--;
	}
	return n == 0;
}

/* Pieces at the start of the disk that are to be empty. */
static uint32_t look_pieces(const struct install *i)
{
	return (uint32_t)(u64_min(LOOK_BYTES, (i->sectors - TABLE_SECTORS) * SECTOR) / INSTALL_PIECE);
}

static void begin_pieces(struct install *i, enum state state)
{
	i->at = 1;
	i->used = INSTALL_PIECE;
	i->done = 1;
	i->state = state;
}

/* A piece has been written or read: on to the next one, or the next state. */
static void next_piece(struct install *i, enum state next)
{
	i->used += entry(i, i->at) & INSTALL_ZEROS ? 0 : INSTALL_PIECE;
	i->at++;
	i->done = i->at;
	if (i->at == i->pieces)
		i->state = next;
}

static void check_file(struct install *i)
{
	uint8_t digest[SHA256_BYTES];
	const uint64_t hashed = INSTALL_HEADER + i->hash.bytes;
	const uint64_t n = u64_min(i->file_bytes - hashed, INSTALL_PIECE);
	sha256_add(&i->hash, i->file + hashed, n);
	if (hashed + n < i->file_bytes)
		return;
	sha256_end(&i->hash, digest);
	if (memcmp(digest, i->file + AT_DIGEST, sizeof digest) != 0)
		end(i, "the install file is damaged: it has another SHA-256 than its header says");
	else
		i->state = LOOK_FIRST;
}

static void compare(struct install *i, size_t n, void (*next)(struct install *i))
{
	if (memcmp(i->buffer, i->want, n) != 0)
		end(i, "the disk has not kept what was written");
	else
		next(i);
}

static void piece_right(struct install *i) { next_piece(i, READ_BACKUP); }
static void backup_right(struct install *i) { i->state = WRITE_TABLE; }
static void all_right(struct install *i) { end(i, NULL); }

void install_done(struct install *i, int error)
{
	if (error) {
		end(i, "the disk cannot be read or written");
		return;
	}
	switch (i->state) {
	case CHECK_FILE:
		check_file(i);
		break;
	case LOOK_FIRST:
	case LOOK_LAST:
		if (!i->force && !is_zero(i->buffer, i->state == LOOK_FIRST ? INSTALL_PIECE : TABLE_SECTORS * SECTOR))
			end(i, "the disk is not empty");
		else if (i->state == LOOK_LAST || ++i->at == look_pieces(i))
			i->state++;
		break;
	case FLUSH_ERASED:
		begin_pieces(i, WRITE_PIECES);
		break;
	case WRITE_PIECES:
		next_piece(i, WRITE_BACKUP);
		break;
	case FLUSH_PIECES:
		begin_pieces(i, READ_PIECES);
		break;
	case READ_PIECES:
		fill_piece(i, i->want);
		compare(i, INSTALL_PIECE, piece_right);
		break;
	case READ_BACKUP:
		fill_backup(i, i->want);
		compare(i, TABLE_SECTORS * SECTOR, backup_right);
		break;
	case READ_FIRST:
		memcpy(i->want, i->first, INSTALL_PIECE);
		compare(i, INSTALL_PIECE, all_right);
		break;
	default:
		i->state++;
		break;
	}
}
