/* See acl_rig.h. */
#include "tests/unit/rig/acl_rig.h"

#include "net/ip4.h"
#include "net/ip6.h"

#ifdef __x86_64__
#include "hal/vector.h"
#else
static unsigned vector_bits(void)
{
	return 0;
}
#endif

const char *const acl_path_name[ACL_PATHS] = {"scalar", "AVX2", "AVX-512"};

bool acl_path_runs(enum acl_path path)
{
	return path <= acl_path_for(vector_bits());
}

static bool is_icmp(const struct acl_probe *p)
{
	return p->proto == (p->six ? 58 : 1);
}

/* --- packets --- */

static void put_transport(uint8_t *l4, const struct acl_probe *p)
{
	uint8_t head[20] = {0};
	if (is_icmp(p)) {
		head[0] = (uint8_t)p->src_port;
		head[1] = (uint8_t)p->dst_port;
	} else {
		be16_store(head, p->src_port);
		be16_store(head + 2, p->dst_port);
		head[13] = p->flags;
	}
	memset(l4, 0xee, p->transport);
	if (p->offset == 0)
		memcpy(l4, head, p->transport < sizeof head ? p->transport : sizeof head);
}

static unsigned packet4(uint8_t *ip, const struct acl_probe *p)
{
	const struct ip4_build b = {.src = net_addr_to_ip4(&p->src),
	                            .dst = net_addr_to_ip4(&p->dst),
	                            .payload_len = (uint16_t)p->transport,
	                            .ttl = 64,
	                            .proto = p->proto};
	ip4_header_build(ip, &b);
	be16_store(ip + 6, (uint16_t)(p->offset / 8));
	ip4_checksum_set(ip);
	put_transport(ip + IP4_HLEN, p);
	return IP4_HLEN + p->transport;
}

static unsigned packet6(uint8_t *ip, const struct acl_probe *p)
{
	unsigned at = IP6_HLEN, next_at = 6;
	struct ip6_build b = {.src = p->src, .dst = p->dst, .hop_limit = 64};
	b.payload_len = (uint16_t)(8 * p->extensions + (p->offset ? 8 : 0) + p->transport);
	ip6_header_build(ip, &b);
	for (unsigned n = 0; n < p->extensions; n++, at += 8) {
		ip[next_at] = IP6_DEST_OPTIONS;
		memcpy(ip + at, "\0\0\1\4\0\0\0\0", 8); /* PadN */
		next_at = at;
	}
	if (p->offset) {
		ip[next_at] = IP6_FRAGMENT;
		memset(ip + at, 0, 8);
		be16_store(ip + at + 2, (uint16_t)p->offset);
		next_at = at;
		at += 8;
	}
	ip[next_at] = p->proto;
	put_transport(ip + at, p);
	return at + p->transport;
}

unsigned acl_packet(uint8_t *ip, const struct acl_probe *p)
{
	return p->six ? packet6(ip, p) : packet4(ip, p);
}

/* --- the oracle --- */

static bool is_in(const struct net_addr *a, const struct net_addr *prefix, unsigned plen)
{
	const uint8_t *x = (const uint8_t *)a->w, *y = (const uint8_t *)prefix->w;
	unsigned rest = plen % 8, whole = plen / 8;
	return memcmp(x, y, whole) == 0 && (rest == 0 || (x[whole] ^ y[whole]) >> (8 - rest) == 0);
}

static bool undetermined(const struct acl_probe *p)
{
	if (p->extensions + (p->offset != 0) > IP6_EXT_MAX)
		return true;
	if (p->offset)
		return p->proto == 6 && p->offset == 8;
	return (p->proto == 6 && p->transport < 20) || (p->proto == 17 && p->transport < 8) ||
	       (p->proto == 132 && p->transport < 12) || (is_icmp(p) && p->transport < 4);
}

static bool any_ports(struct acl_ports r)
{
	return r.first == 0 && r.last == 65535;
}

static bool port_fits(struct acl_ports r, bool there, unsigned port)
{
	return any_ports(r) || (there && port >= r.first && port <= r.last);
}

static bool fits(const struct acl_rule *r, const struct acl_probe *p)
{
	bool ports = p->proto == 6 || p->proto == 17 || p->proto == 132;
	unsigned dst = is_icmp(p) ? p->src_port << 8 | p->dst_port : p->dst_port;
	if (!is_in(&p->src, &r->src, r->src_plen) || !is_in(&p->dst, &r->dst, r->dst_plen) ||
	    (!r->any_proto && p->proto != r->proto))
		return false;
	if (r->fragments && !p->offset)
		return false;
	if (p->offset)
		return r->permit || (any_ports(r->src_port) && any_ports(r->dst_port) &&
		                     !r->established && !r->flags_mask);
	if (r->established && (p->proto != 6 || !(p->flags & (ACL_ACK | ACL_RST))))
		return false;
	if (r->flags_mask && (p->proto != 6 || (p->flags & r->flags_mask) != r->flags_value))
		return false;
	return port_fits(r->src_port, ports, p->src_port) &&
	       port_fits(r->dst_port, ports || is_icmp(p), dst);
}

uint32_t acl_oracle(const struct acl_rule *rule, uint32_t rules, const struct acl_probe *p)
{
	if (undetermined(p))
		return rules + ACL_UNDETERMINED;
	for (uint32_t i = 0; i < rules; i++)
		if (fits(&rule[i], p))
			return i;
	return rules + ACL_NO_RULE;
}

/* --- random rules and packets --- */

static const uint16_t services[] = {22, 25, 53, 80, 123, 179, 443, 993, 8080, 65535};

static void mask(struct net_addr *a, unsigned plen)
{
	*a = ip6_prefix_of(a, plen);
}

/* Prefix number n of a mix, always the same. Prefixes nest, because their first bits vary
 * little. */
static void prefix(struct net_addr *out, uint8_t *plen, bool six, unsigned n)
{
	uint64_t h = (n + 1) * 0x9e3779b97f4a7c15u;
	uint32_t a = (uint32_t)(h >> 32), b = (uint32_t)h;
	if (six) {
		static const uint8_t lengths[] = {32, 48, 48, 56, 64, 64, 64, 127, 128, 128};
		*plen = lengths[(b ^ a >> 7) % 10];
		*out = IP6(0x20010db8 + (a & 1), (a >> 8 & 0x3ff) << 16 | (a & 0xff), b & 0xf,
		           b >> 4 & 0xfff);
	} else {
		static const uint8_t lengths[] = {8, 16, 22, 24, 24, 24, 28, 31, 32, 32, 32, 32};
		*plen = (uint8_t)(96 + lengths[(b ^ a >> 7) % 12]);
		*out = net_addr_ip4(IP4(10, 0, 0, 0) | (a & 0xfff) << 8 | (b & 0xff));
	}
	mask(out, *plen);
}

static void random_address(struct net_addr *out, uint8_t *plen, bool six, unsigned mix,
                           unsigned any)
{
	if (random_below(100) < any) {
		*out = six ? NET_ADDR_ANY : net_addr_ip4(0);
		*plen = six ? 0 : 96;
	} else {
		prefix(out, plen, six, random_below(mix));
	}
}

static struct acl_ports random_ports(unsigned any)
{
	uint16_t first = services[random_below(ARRAY_LEN(services))];
	if (random_below(100) < any)
		return ACL_ANY_PORT;
	if (random_below(4))
		return (struct acl_ports){first, first};
	if (random_below(4) == 0)
		return (struct acl_ports){0, first};
	return (struct acl_ports){first, (uint16_t)(first + random_below(65536u - first))};
}

static void random_transport(struct acl_rule *r, bool six)
{
	unsigned kind = random_below(20);
	r->src_port = r->dst_port = ACL_ANY_PORT;
	if (kind < 8) {
		r->proto = 6;
		r->src_port = random_ports(90);
		r->dst_port = random_ports(20);
		r->established = kind == 0;
		if (kind == 1) {
			r->flags_mask = (uint8_t)random64();
			r->flags_value = r->flags_mask & (uint8_t)random64();
		}
	} else if (kind < 14) {
		r->proto = random_below(10) ? 17 : 132;
		r->src_port = random_ports(80);
		r->dst_port = random_ports(20);
	} else if (kind < 16) {
		unsigned type = random_below(20), code = random_below(3);
		r->proto = six ? 58 : 1;
		if (random_below(3))
			r->dst_port = (struct acl_ports){(uint16_t)(type << 8 | code),
			                                 (uint16_t)(type << 8 | (code ? code : 255))};
	} else {
		r->any_proto = kind < 19;
		r->proto = (uint8_t)(kind < 19 ? 0 : random_below(256));
		r->fragments = random_below(8) == 0;
	}
}

void acl_random_rules(struct acl_rule *rule, uint32_t rules, bool six, unsigned mix)
{
	for (uint32_t i = 0; i < rules; i++) {
		struct acl_rule *r = &rule[i];
		*r = (struct acl_rule){.permit = random_below(3) > 0};
		random_address(&r->src, &r->src_plen, six, mix, 50);
		random_address(&r->dst, &r->dst_plen, six, mix, 10);
		random_transport(r, six);
	}
}

/* An address in the prefix; now and then any address, in none. */
static struct net_addr random_host(const struct net_addr *in, unsigned plen, bool six)
{
	struct net_addr a = {{(uint32_t)random64(), (uint32_t)random64(), (uint32_t)random64(),
	                      (uint32_t)random64()}};
	struct net_addr kept = *in;
	uint8_t some;
	if (plen == (six ? 0 : 96) && random_below(4))
		prefix(&kept, &some, six, random_below(1000));
	else
		some = (uint8_t)plen;
	for (unsigned w = 0; w < 4; w++) {
		uint32_t bits = be32_make(ip6_mask_word(some, w)).raw;
		a.w[w] = (a.w[w] & ~bits) | (kept.w[w] & bits);
	}
	return a;
}

static uint16_t random_port(struct acl_ports p)
{
	if (any_ports(p))
		return random_below(2) ? services[random_below(ARRAY_LEN(services))]
		                       : (uint16_t)random64();
	return (uint16_t)(p.first + random_below(p.last - p.first + 1u));
}

struct acl_probe acl_random_probe(const struct acl_rule *rule, uint32_t rules, bool six)
{
	const struct acl_rule *r = &rule[random_below(rules)];
	struct acl_probe p = {.six = six, .proto = r->proto, .transport = 40};
	p.src = random_host(&r->src, r->src_plen, six);
	p.dst = random_host(&r->dst, r->dst_plen, six);
	if (r->any_proto)
		p.proto = random_below(3) ? 6 : (uint8_t)random_below(256);
	if (six && (p.proto == 0 || p.proto == 43 || p.proto == 44 || p.proto == 51 || p.proto == 60))
		p.proto = 17; /* these are extension headers, which the classifier skips */
	p.src_port = random_port(r->src_port);
	p.dst_port = random_port(r->dst_port);
	if (is_icmp(&p)) {
		p.src_port = p.dst_port >> 8;
		p.dst_port &= 255;
	}
	p.flags = random_below(4) ? ACL_ACK | ACL_PSH : (uint8_t)random64();
	if (random_below(20) == 0)
		p.offset = 8 * (1 + random_below(4));
	if (random_below(20) == 0)
		p.transport = random_below(24);
	if (six && random_below(20) == 0)
		p.extensions = random_below(IP6_EXT_MAX + 2);
	return p;
}
