/*
 * The port: link and its events, the counters of the MAC, and the registers that describe them,
 * which a driver reads and writes by ACCESS_REG ("Port Registers").
 *
 *     DOWN --cable in and admin up--> TRAINING --LINK_NS--> UP --cable out or admin down--> DOWN
 */
#include <string.h>

#include "tools/nicsim/mlx5/state.h"

#define LINK_NS  20000000
#define MTU_MAX  10240u /* these include Ethernet header, tag and FCS */
#define MTU_BORN 1522u
#define FCS      4u

/* Bits of eth_proto_*: link modes. */
#define MODE_100G_CR4 (1u << 20)
#define MODE_100G_SR4 (1u << 21)
#define MODE_100G_KR4 (1u << 22)
#define MODES         (MODE_100G_CR4 | MODE_100G_SR4 | MODE_100G_KR4)

/* --- link --- */

void eth_port_reset(struct model *m)
{
	struct eth_port *p = &nic_of(m)->port;
	nic_of(m)->link_downs += p->link;
	*p = (struct eth_port){
		.admin_up = true, .mtu = MTU_BORN, .modes = MODES, .link_due = NEVER,
		.pfcc = {[4] = 0x80, [8] = 0x80}}; /* pptx, pprx */
	eth_port_link(m);
}

static void set_link(struct model *m, bool up)
{
	struct eth_port *p = &nic_of(m)->port;
	uint8_t data[EQE_DATA_BYTES] = {[8] = 1 << 4}; /* port 1 */
	if (p->link == up)
		return;
	p->link = up;
	p->downs += !up;
	nic_of(m)->link_downs += !up;
	eq_event(m, EVENT_PORT, up ? PORT_UP : PORT_DOWN, data);
}

void eth_port_link(struct model *m)
{
	struct eth_port *p = &nic_of(m)->port;
	if (!m->carrier || !p->admin_up) {
		p->link_due = NEVER;
		set_link(m, false);
	} else if (!p->link && p->link_due == NEVER) {
		p->link_due = m->now + LINK_NS;
	}
}

/* A card may keep its link without a driver or not: it depends on its configuration. */
void eth_port_abandon(struct model *m)
{
	nic_of(m)->port.link_due = NEVER;
	set_link(m, false);
	eth_port_link(m);
}

void eth_port_work(struct model *m)
{
	struct eth_port *p = &nic_of(m)->port;
	if (p->link_due > m->now)
		return;
	p->link_due = NEVER;
	set_link(m, true);
}

/* --- counters --- */

bool eth_port_takes(struct model *m, const uint8_t *frame, uint32_t bytes, bool bad_fcs)
{
	static const uint16_t most[] = {64, 127, 255, 511, 1023, 1518, 2047, 4095, 8191};
	struct eth_port *p = &nic_of(m)->port;
	unsigned size = 0;
	if (bad_fcs) {
		p->bad_fcs++;
		return false;
	}
	if (bytes + FCS > p->mtu) {
		p->too_long++;
		return false;
	}
	while (size < SIZES - 1 && bytes + FCS > most[size])
		size++;
	p->sizes[size]++;
	p->frames[WAY_RX]++;
	p->octets[WAY_RX] += bytes + FCS;
	p->casts[WAY_RX][cast_of(frame)]++;
	return true;
}

void eth_port_sent_unicast(struct model *m, unsigned frames, uint64_t bytes)
{
	struct eth_port *p = &nic_of(m)->port;
	p->frames[WAY_TX] += frames;
	p->octets[WAY_TX] += bytes + (uint64_t)frames * FCS;
	p->casts[WAY_TX][CAST_UNI] += frames;
}

void eth_port_sent(struct model *m, const uint8_t *frame, uint32_t bytes)
{
	struct eth_port *p = &nic_of(m)->port;
	p->frames[WAY_TX]++;
	p->octets[WAY_TX] += bytes + FCS;
	p->casts[WAY_TX][cast_of(frame)]++;
}

/* The groups of PPCNT: 64-bit counters in the manual's order. */

static void put_list(uint8_t *out, const uint64_t *v, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		put_be64(out + 8 * i, v[i]);
}

static void ieee_802_3(const struct eth_port *p, uint8_t *out)
{
	const uint64_t v[] = {
		p->frames[WAY_TX], p->frames[WAY_RX], p->bad_fcs, 0 /* alignment */,
		p->octets[WAY_TX], p->octets[WAY_RX],
		p->casts[WAY_TX][CAST_MULTI], p->casts[WAY_TX][CAST_BROAD],
		p->casts[WAY_RX][CAST_MULTI], p->casts[WAY_RX][CAST_BROAD],
		0 /* in-range length */, 0 /* out of range */, p->too_long};
	put_list(out, v, sizeof v / sizeof v[0]);
}

static void rfc_2863(const struct eth_port *p, uint8_t *out)
{
	const uint64_t v[] = {
		p->octets[WAY_RX], p->casts[WAY_RX][CAST_UNI], p->discards,
		p->bad_fcs + p->too_long, 0 /* unknown protocols */, p->octets[WAY_TX],
		p->casts[WAY_TX][CAST_UNI],
		0 /* out discards */, 0 /* out errors */,
		p->casts[WAY_RX][CAST_MULTI], p->casts[WAY_RX][CAST_BROAD],
		p->casts[WAY_TX][CAST_MULTI], p->casts[WAY_TX][CAST_BROAD]};
	put_list(out, v, sizeof v / sizeof v[0]);
}

static void rfc_2819(const struct eth_port *p, uint8_t *out)
{
	const uint64_t v[] = {
		0 /* drop events */, p->octets[WAY_RX], p->frames[WAY_RX],
		p->casts[WAY_RX][CAST_BROAD], p->casts[WAY_RX][CAST_MULTI], p->bad_fcs,
		0 /* undersize */, p->too_long, 0 /* fragments */, 0 /* jabbers */,
		0 /* collisions */};
	const unsigned count = sizeof v / sizeof v[0];
	put_list(out, v, count);
	put_list(out + 8 * count, p->sizes, SIZES);
}

static void physical(const struct eth_port *p, uint8_t *out)
{
	put_be32(out + 0xc0, p->downs);
}

/* Priority 0 has all traffic, and there is no pause. */
static void priority(const struct eth_port *p, unsigned number, uint8_t *out)
{
	if (number)
		return;
	put_be64(out, p->octets[WAY_RX]);
	put_be64(out + 0x20, p->frames[WAY_RX]);
	put_be64(out + 0x28, p->octets[WAY_TX]);
	put_be64(out + 0x48, p->frames[WAY_TX]);
}

/* --- registers --- */

#define LOCAL_PORT FIELD(0x00, 23, 16)

/* Implements a register: takes `in` if `write`, then reads to `out`; both have room for the
 * register. Returns NULL, or an error text. */
typedef const char *(*register_do)(struct eth_port *p, const uint8_t *in, uint8_t *out, bool write);

static const char *paos(struct eth_port *p, const uint8_t *in, uint8_t *out, bool write)
{
	const struct field admin = FIELD(0x00, 11, 8), oper = FIELD(0x00, 3, 0);
	const struct field admin_enable = BIT(0x04, 31), events_enable = BIT(0x04, 30);
	const struct field events = FIELD(0x04, 1, 0);
	if (write && field_get(in, admin_enable)) {
		if (field_get(in, admin) != 1 && field_get(in, admin) != 2)
			return "admin_status";
		p->admin_up = field_get(in, admin) == 1;
	}
	if (write && field_get(in, events_enable))
		p->events = (uint8_t)field_get(in, events);
	field_set(out, admin, p->admin_up ? 1 : 2);
	field_set(out, oper, p->link ? 1 : 2);
	field_set(out, events, p->events);
	return NULL;
}

static const char *pmtu(struct eth_port *p, const uint8_t *in, uint8_t *out, bool write)
{
	const struct field most = FIELD(0x04, 31, 16), admin = FIELD(0x08, 31, 16);
	const struct field oper = FIELD(0x0c, 31, 16);
	if (write) {
		if (field_get(in, admin) > MTU_MAX)
			return "admin_mtu";
		p->mtu = field_get(in, admin);
	}
	field_set(out, most, MTU_MAX);
	field_set(out, admin, p->mtu);
	field_set(out, oper, p->mtu);
	return NULL;
}

static const char *ptys(struct eth_port *p, const uint8_t *in, uint8_t *out, bool write)
{
	const struct field mask = FIELD(0x00, 2, 0), can = FIELD(0x0c, 31, 0);
	const struct field admin = FIELD(0x18, 31, 0), oper = FIELD(0x24, 31, 0);
	if (field_get(in, mask) != 4)
		return "proto_mask is not Ethernet";
	if (write) {
		if (field_get(in, admin) & ~MODES)
			return "eth_proto_admin";
		p->modes = field_get(in, admin);
	}
	field_set(out, mask, 4);
	field_set(out, can, MODES);
	field_set(out, admin, p->modes);
	field_set(out, oper, p->link ? MODE_100G_SR4 : 0);
	return NULL;
}

/* Pause frames: on at power-on. The settings are stored; pause frames are neither sent nor obeyed. */
static const char *pfcc(struct eth_port *p, const uint8_t *in, uint8_t *out, bool write)
{
	if (write)
		memcpy(p->pfcc, in + 4, sizeof p->pfcc);
	memcpy(out + 4, p->pfcc, sizeof p->pfcc);
	return NULL;
}

static const char *pmlp(struct eth_port *p, const uint8_t *in, uint8_t *out, bool write)
{
	(void)p;
	(void)in;
	if (write)
		return "cannot be written";
	field_set(out, FIELD(0x00, 7, 0), 4); /* lanes 0 to 3 of module 0 */
	for (unsigned lane = 0; lane < 4; lane++)
		put_be32(out + 4 + 4 * lane, lane << 16);
	return NULL;
}

/* LINUX: the reason for a missing link: 1 taken down, 1024 no cable. */
static const char *pddr(struct eth_port *p, const uint8_t *in, uint8_t *out, bool write)
{
	if (write)
		return "cannot be written";
	put_be32(out + 4, be32(in + 4));
	put_be32(out + 0x0c, p->link ? 0 : p->admin_up ? 1024 : 1);
	return NULL;
}

static const char *ppcnt(struct eth_port *p, const uint8_t *in, uint8_t *out, bool write)
{
	uint8_t *set = out + 8;
	if (write || field_get(in, BIT(0x04, 31)))
		return "counters cannot be cleared";
	put_be32(out, be32(in));
	put_be32(out + 4, be32(in + 4));
	switch (field_get(in, FIELD(0x00, 5, 0))) {
	case 0x00:
		ieee_802_3(p, set);
		return NULL;
	case 0x01:
		rfc_2863(p, set);
		return NULL;
	case 0x02:
		rfc_2819(p, set);
		return NULL;
	case 0x10:
		priority(p, field_get(in, FIELD(0x04, 2, 0)), set);
		return NULL;
	case 0x12:
		physical(p, set);
		return NULL;
	case 0x03: /* RFC 3635, extended, discards, statistics: always 0 here */
	case 0x05:
	case 0x06:
	case 0x16:
		return NULL;
	}
	return "group";
}

/* LINUX: sets the host's byte order to little-endian, which the model assumes. */
static const char *host_endianness(struct eth_port *p, const uint8_t *in, uint8_t *out, bool write)
{
	(void)p;
	(void)in;
	(void)out;
	(void)write;
	return NULL;
}

/* LINUX: more time limits, each in seconds. */
static const char *dtor(struct eth_port *p, const uint8_t *in, uint8_t *out, bool write)
{
	/* from 0x14: health poll, dump, reset, flush, PCI sync, teardown, reactivation, pages back, and
	 * those of virtual functions */
	static const uint8_t seconds[] = {2, 60, 60, 2, 5, 3, 5, 5, 120};
	(void)p;
	(void)in;
	if (write)
		return "cannot be written";
	put_be32(out + 4, 1u << 29 | 2); /* PCI toggle */
	for (unsigned i = 0; i < sizeof seconds; i++)
		put_be32(out + 0x14 + 4 * i, 1u << 29 | seconds[i]);
	return NULL;
}

static const struct access_register {
	uint16_t id;
	const char *name;
	uint16_t bytes;
	register_do run;
} access_registers[] = {
	{0x5002, "PMLP", 64, pmlp},
	{0x5003, "PMTU", 16, pmtu},
	{0x5004, "PTYS", 64, ptys},
	{0x5006, "PAOS", 16, paos},
	{0x5007, "PFCC", 20, pfcc},
	{0x5008, "PPCNT", 256, ppcnt},
	{0x5031, "PDDR", 256, pddr},
	{0x7004, "HOST_ENDIANNESS", 16, host_endianness},
	{0xc00e, "DTOR", 64, dtor},
};

static const struct access_register *find_register(uint32_t id)
{
	for (unsigned i = 0; i < sizeof access_registers / sizeof access_registers[0]; i++)
		if (access_registers[i].id == id)
			return &access_registers[i];
	return NULL;
}

enum status eth_port_access(struct model *m, struct command *c)
{
	const uint32_t id = field_get(c->in, FIELD(0x08, 15, 0));
	const bool write = field_get(c->in, IN_OP_MOD) == 0;
	const uint8_t *in = c->in + ACCESS_AT;
	const struct access_register *r = find_register(id);
	if (id >= 0x5000 && id < 0x6000 && model_fault(m, FAULT_FOREIGN_PORT))
		return refuse(m, c, STATUS_BAD_OP, "the port belongs to another function");
	if (r == NULL)
		return refuse(m, c, STATUS_BAD_PARAM, "there is no register 0x%04x", id);
	if (c->in_bytes < ACCESS_AT + r->bytes)
		return refuse(m, c, STATUS_BAD_INPUT_LENGTH, "%s has %u bytes", r->name, r->bytes);
	if (c->out_bytes < ACCESS_AT + r->bytes)
		return refuse(m, c, STATUS_BAD_OUTPUT_LENGTH, "%s has %u bytes", r->name, r->bytes);
	if (id < 0x6000 && field_get(in, LOCAL_PORT) != 1)
		return refuse(m, c, STATUS_BAD_PARAM, "%s: there is no port %u", r->name,
		              field_get(in, LOCAL_PORT));
	if (id < 0x6000)
		field_set(c->out + ACCESS_AT, LOCAL_PORT, 1);
	const char *wrong = r->run(&nic_of(m)->port, in, c->out + ACCESS_AT, write);
	if (wrong)
		return refuse(m, c, STATUS_BAD_PARAM, "%s: %s", r->name, wrong);
	eth_port_link(m);
	return STATUS_OK;
}
