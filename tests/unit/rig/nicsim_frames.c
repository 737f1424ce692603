#include "tests/unit/rig/nicsim_frames.h"

#include "tests/unit/rig/nicsim_rig.h"

#include <string.h>

uint8_t f[70000];

uint32_t numbered(uint32_t seq, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		f[i] = (uint8_t)(seq * 31 + i);
	memcpy(f, (uint8_t[]){2, 0, 0x5e, 0, 0x53, 1, 2, 0, 0x5e, 0, 0x53, 2, 0x88, 0xb5}, 14);
	memcpy(f + 14, &seq, 4);
	return bytes;
}

uint16_t slow_sum(const uint8_t *p, uint32_t bytes, uint32_t start)
{
	uint64_t sum = start;
	for (uint32_t i = 0; i < bytes; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

uint32_t slow_pseudo(const uint8_t *ip, unsigned version, unsigned protocol, uint32_t length)
{
	uint16_t sum = version == 4 ? slow_sum(ip + 12, 8, 0) : slow_sum(ip + 8, 32, 0);
	return sum + protocol + (length & 0xffff) + (length >> 16);
}

static uint8_t *put(uint8_t *p, uint32_t v, unsigned bytes)
{
	while (bytes--)
		*p++ = (uint8_t)(v >> 8 * bytes);
	return p;
}

static uint8_t *put_network(uint8_t *p, const struct flow *flow, uint32_t length)
{
	uint8_t *ip = p;
	if (flow->version == 4) {
		p = put(p, 0x4500, 2);
		p = put(p, 20 + length, 2);
		p = put(p, 0x1234, 2);
		p = put(p, 0x4000, 2);
		p = put(p, 64u << 8 | flow->protocol, 2);
		p = put(p, 0, 2);
		memcpy(p, flow->src, 4);
		memcpy(p + 4, flow->dst, 4);
		put(ip + 10, 0xffffu ^ slow_sum(ip, 20, 0), 2);
		return p + 8;
	}
	p = put(p, 0x60000000, 4);
	p = put(p, length, 2);
	p = put(p, (uint32_t)flow->protocol << 8 | 64, 2);
	memcpy(p, flow->src, 16);
	memcpy(p + 16, flow->dst, 16);
	return p + 32;
}

uint32_t make_ip(uint8_t *to, const struct flow *flow)
{
	static const uint8_t mac[12] = {0x02, 0, 0x5e, 0, 0x53, 1, 0x02, 0, 0x5e, 0, 0x53, 2};
	uint32_t header = flow->protocol == 6 ? 20 : flow->protocol == 17 ? 8 : 0;
	uint32_t length = header + flow->payload;
	uint8_t *p = to;
	memcpy(p, mac, 12);
	p += 12;
	if (flow->tagged) {
		p = put(p, 0x8100, 2);
		p = put(p, flow->tci, 2);
	}
	p = put(p, flow->version == 4 ? 0x0800 : 0x86dd, 2);
	uint8_t *ip = p;
	uint8_t *l4 = put_network(p, flow, length);
	memset(l4, 0, header);
	for (uint32_t i = 0; i < flow->payload; i++)
		l4[header + i] = (uint8_t)(i * 7 + 3);
	if (header) {
		put(put(l4, flow->sport, 2), flow->dport, 2);
		if (flow->protocol == 6)
			put(l4 + 12, 0x5018, 2);
		else
			put(l4 + 4, length, 2);
		uint32_t pseudo = slow_pseudo(ip, flow->version, flow->protocol, length);
		put(l4 + (flow->protocol == 6 ? 16 : 6), 0xffffu ^ slow_sum(l4, length, pseudo), 2);
	}
	uint32_t bytes = (uint32_t)(l4 - to) + length;
	for (; bytes < 60; bytes++)
		to[bytes] = 0;
	return bytes;
}

void some_frames(uint32_t payload, unsigned n)
{
	struct flow flow = {.version = random_below(2) ? 4 : 6, .protocol = random_below(2) ? 6 : 17,
	                    .payload = random_below(payload), .tagged = random_below(2)};
	uint32_t bytes = make_ip(f, &flow);
	for (unsigned changes = random_below(4); changes; changes--)
		f[random_below(bytes)] = (uint8_t)random64();
	if (random_below(8) == 0)
		bytes = 1 + random_below(FRAME_MAX);
	for (; n; n--)
		rig_force(f, bytes, random_below(10) == 0);
}
