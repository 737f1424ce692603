/* See dhcp4.h. */
#include "net/dhcp/dhcp4.h"

#include "lib/bytes.h"
#include "lib/mem.h"

#define COOKIE 0x63825363u /* RFC 2131 3: 99, 130, 83, 99 */
#define OVERLOAD_FILE 1
#define OVERLOAD_SNAME 2

bool dhcp4_has_options(const uint8_t *message, unsigned len)
{
	return len >= DHCP4_OPTIONS && be32_load(message + DHCP4_COOKIE) == COOKIE;
}

/* The option at *pos of a field, after padding. Moves *pos behind it. False: the field ends; *whole: as it should. */
static bool next(const uint8_t *field, unsigned len, unsigned *pos, const uint8_t **option, bool *whole)
{
	*whole = true;
	while (*pos < len && field[*pos] == DHCP4_OPT_PAD)
		(*pos)++;
	if (*pos >= len || field[*pos] == DHCP4_OPT_END)
		return false;
	*whole = *pos + 2 <= len && *pos + 2u + field[*pos + 1] <= len;
	*option = field + *pos;
	*pos += 2;
	if (*whole)
		*pos += (*option)[1];
	return *whole;
}

static bool is_whole(const uint8_t *field, unsigned len)
{
	const uint8_t *option;
	bool whole;
	for (unsigned pos = 0; next(field, len, &pos, &option, &whole);)
		;
	return whole;
}

static void add_field(struct dhcp4_options *o, const uint8_t *at, unsigned len)
{
	o->field[o->fields].at = at;
	o->field[o->fields++].len = len;
}

enum counter dhcp4_options(const uint8_t *message, unsigned len, struct dhcp4_options *out)
{
	uint8_t overload = 0;
	out->fields = 0;
	if (!dhcp4_has_options(message, len) || !is_whole(message + DHCP4_OPTIONS, len - DHCP4_OPTIONS))
		return CNT_drop_dhcp_malformed;
	add_field(out, message + DHCP4_OPTIONS, len - DHCP4_OPTIONS);
	const int n = dhcp4_option(out, DHCP4_OPT_OVERLOAD, &overload, 1);
	if (n == E_NOENT)
		return CNT_NONE;
	if (n != 1 || overload == 0 || overload > (OVERLOAD_FILE | OVERLOAD_SNAME))
		return CNT_drop_dhcp_malformed;
	if (overload & OVERLOAD_FILE)
		add_field(out, message + DHCP4_FILE, DHCP4_FILE_BYTES);
	if (overload & OVERLOAD_SNAME)
		add_field(out, message + DHCP4_SNAME, DHCP4_SNAME_BYTES);
	for (unsigned f = 1; f < out->fields; f++)
		if (!is_whole(out->field[f].at, out->field[f].len))
			return CNT_drop_dhcp_malformed;
	return CNT_NONE;
}

int dhcp4_option(const struct dhcp4_options *o, enum dhcp4_option_code code, uint8_t *out, unsigned room)
{
	const uint8_t *option;
	unsigned n = 0;
	bool found = false, whole;
	for (unsigned f = 0; f < o->fields; f++)
		for (unsigned pos = 0; next(o->field[f].at, o->field[f].len, &pos, &option, &whole);) {
			if (option[0] != code)
				continue;
			if (option[1] > room - n)
				return E_NOMEM;
			memcpy(out + n, option + 2, option[1]);
			n += option[1];
			found = true;
		}
	return found ? (int)n : E_NOENT;
}

bool dhcp4_option_u32(const struct dhcp4_options *o, enum dhcp4_option_code code, uint32_t *out)
{
	uint8_t value[4];
	if (dhcp4_option(o, code, value, sizeof value) != sizeof value)
		return false;
	*out = be32_load(value);
	return true;
}

enum dhcp4_type dhcp4_type(const struct dhcp4_options *o)
{
	uint8_t type;
	if (dhcp4_option(o, DHCP4_OPT_TYPE, &type, 1) != 1 || type > DHCP4_INFORM)
		return (enum dhcp4_type)0;
	return (enum dhcp4_type)type;
}

void dhcp4_begin(struct dhcp4_build *b, uint8_t *at, uint8_t op, enum dhcp4_type type, uint32_t xid,
                 const uint8_t *chaddr)
{
	*b = (struct dhcp4_build){.at = at, .len = DHCP4_OPTIONS};
	memset(at, 0, DHCP4_BYTES_MIN);
	at[DHCP4_OP] = op;
	at[DHCP4_HTYPE] = DHCP4_ETHERNET;
	at[DHCP4_HLEN] = 6;
	be32_store(at + DHCP4_XID, xid);
	memcpy(at + DHCP4_CHADDR, chaddr, 6);
	be32_store(at + DHCP4_COOKIE, COOKIE);
	dhcp4_put(b, DHCP4_OPT_TYPE, &(uint8_t){(uint8_t)type}, 1);
}

void dhcp4_put(struct dhcp4_build *b, enum dhcp4_option_code code, const void *data, unsigned n)
{
	if (b->len + 2 + n + 1 > DHCP4_BYTES_MAX || n > 255) {
		b->full = true;
		return;
	}
	b->at[b->len] = (uint8_t)code;
	b->at[b->len + 1] = (uint8_t)n;
	memcpy(b->at + b->len + 2, data, n);
	b->len += 2 + n;
}

void dhcp4_put_u32(struct dhcp4_build *b, enum dhcp4_option_code code, uint32_t value)
{
	uint8_t bytes[4];
	be32_store(bytes, value);
	dhcp4_put(b, code, bytes, sizeof bytes);
}

unsigned dhcp4_end(struct dhcp4_build *b)
{
	b->at[b->len++] = DHCP4_OPT_END;
	for (; b->len < DHCP4_BYTES_MIN; b->len++)
		b->at[b->len] = DHCP4_OPT_PAD;
	return b->len;
}
