/* See dmar.h. The units and the reserved memory are parsed in separate passes, so the scopes of each
 * kind are contiguous. */
#include "kernel/dmar.h"

#include "lib/bytes.h"

#define HEADER_BYTES 48 /* 8.1, including the 36 bytes of the ACPI header */
#define FLAGS_AT 37
#define FLAG_INTR_REMAP 1u

/* 8.2. Every structure begins with type and length, two bytes each. */
enum structure { DMAR_DRHD = 0, DMAR_RMRR = 1, DMAR_RHSA = 3 };
#define DRHD_BYTES 16 /* 8.3, before the scopes */
#define DRHD_ALL 1u
#define RMRR_BYTES 24 /* 8.4 */
#define RHSA_BYTES 20 /* 8.6 */

/* 8.3.1 */
#define SCOPE_BYTES 6 /* before the path */
enum scope_type { SCOPE_ENDPOINT = 1, SCOPE_BRIDGE = 2, SCOPE_IOAPIC = 3 };

/* Parses the bus and the path of the scope at p, whose length is valid. */
static int parse_path(struct dmar_scope *s, const uint8_t *p)
{
	unsigned hops = (p[1] - SCOPE_BYTES) / 2u;
	if (hops > DMAR_HOPS_MAX)
		return E_NOTSUP;
	*s = (struct dmar_scope){p[0] == SCOPE_BRIDGE, p[5], (uint8_t)hops, {0}};
	for (unsigned i = 0; i < hops; i++) {
		const uint8_t *hop = p + SCOPE_BYTES + 2 * i;
		if (hop[0] > 31 || hop[1] > 7)
			return E_INVAL;
		s->devfn[i] = (uint8_t)(hop[0] << 3 | hop[1]);
	}
	return E_OK;
}

/* of_unit: the scope is one of the newest unit's. */
static int parse_scope(struct dmar *d, const uint8_t *p, bool of_unit)
{
	if (p[0] == SCOPE_ENDPOINT || p[0] == SCOPE_BRIDGE)
		return d->scopes < DMAR_SCOPES_MAX ? parse_path(&d->scope[d->scopes++], p) : E_NOTSUP;
	if (p[0] != SCOPE_IOAPIC || !of_unit)
		return E_OK;
	if (d->ioapics == DMAR_IOAPICS_MAX)
		return E_NOTSUP;
	struct dmar_ioapic *io = &d->ioapic[d->ioapics++];
	io->id = p[4];
	io->unit = (uint8_t)(d->units - 1);
	return parse_path(&io->source, p);
}

/* Parses the scopes in [p, end). Scopes of timers are skipped. */
static int parse_scopes(struct dmar *d, const uint8_t *p, const uint8_t *end, bool of_unit)
{
	while (p < end) {
		if (end - p < SCOPE_BYTES + 2 || p[1] < SCOPE_BYTES + 2 || p[1] % 2 || p[1] > end - p)
			return E_INVAL;
		int e = parse_scope(d, p, of_unit);
		if (e != E_OK)
			return e;
		p += p[1];
	}
	return E_OK;
}

static int parse_drhd(struct dmar *d, const uint8_t *p, unsigned bytes)
{
	uint64_t regs = bytes >= DRHD_BYTES ? raw64_load(p + 8) : 0;
	if (regs == 0 || regs & 4095 || regs >> 52)
		return E_INVAL;
	if (raw16_load(p + 6) != 0) /* another segment */
		return E_OK;
	if (d->units == DMAR_UNITS_MAX)
		return E_NOTSUP;
	struct dmar_unit *u = &d->unit[d->units++];
	*u = (struct dmar_unit){regs, p[4] & DRHD_ALL, (uint16_t)d->scopes, 0, DMAR_NO_DOMAIN};
	int e = parse_scopes(d, p + DRHD_BYTES, p + bytes, true);
	u->scopes = (uint16_t)(d->scopes - u->first_scope);
	return e;
}

static int parse_rmrr(struct dmar *d, const uint8_t *p, unsigned bytes)
{
	if (bytes < RMRR_BYTES)
		return E_INVAL;
	return raw16_load(p + 6) == 0 ? parse_scopes(d, p + RMRR_BYTES, p + bytes, false) : E_OK;
}

/* The proximity domain of a unit, which is named by its registers. One of another segment is not listed. */
static int parse_rhsa(struct dmar *d, const uint8_t *p, unsigned bytes)
{
	if (bytes < RHSA_BYTES)
		return E_INVAL;
	for (unsigned n = 0; n < d->units; n++)
		if (d->unit[n].regs == raw64_load(p + 8))
			d->unit[n].domain = raw32_load(p + 16);
	return E_OK;
}

static int parse_structure(struct dmar *d, const uint8_t *p, unsigned bytes)
{
	switch (raw16_load(p)) {
	case DMAR_DRHD:
		return parse_drhd(d, p, bytes);
	case DMAR_RMRR:
		return parse_rmrr(d, p, bytes);
	default:
		return parse_rhsa(d, p, bytes);
	}
}

/* Parses all structures of one type. */
static int parse_all(struct dmar *d, const uint8_t *table, uint32_t bytes, enum structure type)
{
	for (uint32_t at = HEADER_BYTES; at < bytes;) {
		const uint8_t *p = table + at;
		if (bytes - at < 4 || raw16_load(p + 2) < 4 || raw16_load(p + 2) > bytes - at)
			return E_INVAL;
		unsigned length = raw16_load(p + 2);
		int e = E_OK;
		if (raw16_load(p) == type)
			e = parse_structure(d, p, length);
		if (e != E_OK)
			return e;
		at += length;
	}
	return E_OK;
}

int dmar_parse(struct dmar *d, const uint8_t *table, uint32_t bytes)
{
	*d = (struct dmar){.units = 0};
	int e = bytes < HEADER_BYTES ? E_INVAL : parse_all(d, table, bytes, DMAR_DRHD);
	d->remaps_interrupts = e == E_OK && table[FLAGS_AT] & FLAG_INTR_REMAP;
	d->first_reserved = (uint16_t)d->scopes;
	if (e == E_OK)
		e = parse_all(d, table, bytes, DMAR_RMRR);
	if (e == E_OK)
		e = parse_all(d, table, bytes, DMAR_RHSA);
	if (e != E_OK)
		*d = (struct dmar){.units = 0};
	return e;
}

int dmar_scope_bdf(const struct dmar_scope *s, dmar_buses_fn buses)
{
	unsigned bus = s->bus;
	for (unsigned i = 0; i + 1 < s->hops; i++) {
		unsigned behind = buses((uint16_t)(bus << 8 | s->devfn[i]));
		if (behind == 0)
			return -1;
		bus = behind & 0xff;
	}
	return (int)(bus << 8 | s->devfn[s->hops - 1]);
}

static bool covers(const struct dmar_scope *s, uint16_t bdf, dmar_buses_fn buses)
{
	int meant = dmar_scope_bdf(s, buses);
	if (meant < 0 || meant == bdf || !s->bridge)
		return meant == bdf;
	unsigned behind = buses((uint16_t)meant), bus = bdf >> 8;
	return behind && bus >= (behind & 0xff) && bus <= behind >> 8;
}

const struct dmar_ioapic *dmar_ioapic_of(const struct dmar *d, uint8_t id)
{
	for (unsigned i = 0; i < d->ioapics; i++)
		if (d->ioapic[i].id == id)
			return &d->ioapic[i];
	return NULL;
}

int dmar_unit_of(const struct dmar *d, uint16_t bdf, dmar_buses_fn buses)
{
	int all = -1;
	for (unsigned n = 0; n < d->units; n++) {
		const struct dmar_unit *u = &d->unit[n];
		for (unsigned i = 0; i < u->scopes; i++)
			if (covers(&d->scope[u->first_scope + i], bdf, buses))
				return (int)n;
		if (u->all)
			all = (int)n;
	}
	return all;
}
