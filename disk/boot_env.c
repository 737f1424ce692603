/* See boot_env.h. */
#include "disk/boot_env.h"

#include "lib/mem.h"

static const char head[] = "# GRUB Environment Block\n";
#define HEAD (sizeof head - 1)

/* Bytes up to and with the next line's end; 0: there is none, or it is filling. */
static size_t line_bytes(const uint8_t *block, size_t at)
{
	if (at >= BOOT_ENV_BYTES || block[at] == '#')
		return 0;
	for (size_t end = at; end < BOOT_ENV_BYTES; end++) {
		if (block[end] == '\\')
			end++;
		else if (block[end] == '\n')
			return end + 1 - at;
	}
	return 0;
}

static bool is_of(const uint8_t *line, size_t bytes, const char *name)
{
	const size_t n = strlen(name);
	return bytes > n + 1 && memcmp(line, name, n) == 0 && line[n] == '=';
}

/* The line of a variable; 0 with *bytes 0: there is none. */
static size_t find(const uint8_t *block, const char *name, size_t *bytes)
{
	for (size_t at = HEAD; (*bytes = line_bytes(block, at)) != 0; at += *bytes)
		if (is_of(block + at, *bytes, name))
			return at;
	return 0;
}

/* Copies a value of up to `room` - 1 characters. False: there is none, it is longer, or is not plain text. */
static bool value(const uint8_t *block, const char *name, char *to, size_t room)
{
	size_t bytes;
	const size_t line = find(block, name, &bytes);
	const size_t at = line + strlen(name) + 1, n = line + bytes - 1 - at;
	if (bytes == 0 || n >= room)
		return false;
	for (size_t i = 0; i < n; i++)
		if (block[at + i] <= ' ' || block[at + i] > '~' || block[at + i] == '\\')
			return false;
	memcpy(to, block + at, n);
	to[n] = 0;
	return true;
}

static unsigned image_of(const uint8_t *block, const char *name)
{
	char word[2];
	if (!value(block, name, word, sizeof word))
		return IMAGE_NONE;
	return word[0] == 'A' ? 0 : word[0] == 'B' ? 1 : IMAGE_NONE;
}

static bool is_id(const char *id)
{
	for (size_t i = 0; i < BOOT_ENV_ID; i++)
		if (!((id[i] >= '0' && id[i] <= '9') || (id[i] >= 'a' && id[i] <= 'f')))
			return false;
	return true;
}

bool boot_env_read(const uint8_t block[BOOT_ENV_BYTES], struct boot_env *e)
{
	char word[2];
	*e = (struct boot_env){.active = IMAGE_NONE, .trying = IMAGE_NONE};
	if (memcmp(block, head, HEAD) != 0 || !value(block, "id", e->id, sizeof e->id) ||
	    strlen(e->id) != BOOT_ENV_ID || !is_id(e->id))
		return false;
	e->active = image_of(block, "active");
	e->trying = image_of(block, "trying");
	e->tried = value(block, "tried", word, sizeof word) && word[0] == '1';
	return true;
}

/* Removes all lines of a variable. */
static void forget(uint8_t *block, const char *name)
{
	for (size_t at, bytes; (at = find(block, name, &bytes)) != 0;) {
		memmove(block + at, block + at + bytes, BOOT_ENV_BYTES - at - bytes);
		memset(block + BOOT_ENV_BYTES - bytes, '#', bytes);
	}
}

/* Appends NAME=C. */
static int set(uint8_t *block, const char *name, char c)
{
	size_t at = HEAD;
	for (size_t bytes; (bytes = line_bytes(block, at)) != 0;)
		at += bytes;
	const size_t n = strlen(name);
	if (at + n + 3 > BOOT_ENV_ATOMIC)
		return E_NOMEM;
	for (size_t i = 0; i < n + 3; i++)
		if (block[at + i] != '#') /* behind the last line lies something else than padding */
			return E_NOMEM;
	memcpy(block + at, name, n);
	block[at + n] = '=';
	block[at + n + 1] = (uint8_t)c;
	block[at + n + 2] = '\n';
	return E_OK;
}

int boot_env_write(uint8_t block[BOOT_ENV_BYTES], const struct boot_env *e)
{
	static const char *const names[] = {"active", "trying", "tried"};
	const char values[] = {image_letter(e->active), image_letter(e->trying), e->tried ? '1' : '-'};
	uint8_t made[BOOT_ENV_BYTES];
	memcpy(made, block, sizeof made);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		forget(made, names[i]);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (values[i] != '-' && set(made, names[i], values[i]) != E_OK)
			return E_NOMEM;
	/* The second sector would change: variables of the block lie there. */
	if (memcmp(made + BOOT_ENV_ATOMIC, block + BOOT_ENV_ATOMIC, BOOT_ENV_BYTES - BOOT_ENV_ATOMIC) != 0)
		return E_NOMEM;
	memcpy(block, made, sizeof made);
	return E_OK;
}

void boot_env_make(uint8_t block[BOOT_ENV_BYTES], const char id[BOOT_ENV_ID + 1])
{
	memset(block, '#', BOOT_ENV_BYTES);
	memcpy(block, head, HEAD);
	memcpy(block + HEAD, "id=", 3);
	memcpy(block + HEAD + 3, id, BOOT_ENV_ID);
	block[HEAD + 3 + BOOT_ENV_ID] = '\n';
	set(block, "active", 'A');
}
