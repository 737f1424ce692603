/* See packet.h. */
#include "net/bfd/packet.h"

#include "lib/bytes.h"

#define BFD_VERSION 1

enum counter bfd_packet_read(const uint8_t *data, unsigned n, struct bfd_packet *out)
{
	if (n < BFD_PACKET_LEN)
		return CNT_drop_bfd_malformed;
	*out = (struct bfd_packet){
		.diag = data[0] & 0x1f,
		.state = (enum bfd_state)(data[1] >> 6),
		.flags = data[1] & 0x3f,
		.detect_mult = data[2],
		.my_discr = be32_load(data + 4),
		.your_discr = be32_load(data + 8),
		.desired_tx_us = be32_load(data + 12),
		.required_rx_us = be32_load(data + 16),
		.required_echo_us = be32_load(data + 20),
	};
	if (data[0] >> 5 != BFD_VERSION || data[3] < BFD_PACKET_LEN || data[3] > n)
		return CNT_drop_bfd_malformed;
	if (out->detect_mult == 0 || out->my_discr == 0 || out->flags & BFD_MULTIPOINT)
		return CNT_drop_bfd_malformed;
	if (out->your_discr == 0 && out->state != BFD_DOWN && out->state != BFD_ADMIN_DOWN)
		return CNT_drop_bfd_malformed;
	return out->flags & BFD_AUTH ? CNT_drop_bfd_auth : CNT_NONE;
}

void bfd_packet_write(uint8_t *out, const struct bfd_packet *p)
{
	out[0] = (uint8_t)(BFD_VERSION << 5 | (p->diag & 0x1f));
	out[1] = (uint8_t)((unsigned)p->state << 6 | (p->flags & 0x3f));
	out[2] = p->detect_mult;
	out[3] = BFD_PACKET_LEN;
	be32_store(out + 4, p->my_discr);
	be32_store(out + 8, p->your_discr);
	be32_store(out + 12, p->desired_tx_us);
	be32_store(out + 16, p->required_rx_us);
	be32_store(out + 20, p->required_echo_us);
}

const char *bfd_state_name(enum bfd_state s)
{
	static const char *const names[] = {"admin-down", "down", "init", "up"};
	return names[s & 3];
}

const char *bfd_diag_name(uint8_t diag)
{
	static const char *const names[] = {
		"no diagnostic", "control detection time expired", "echo function failed",
		"neighbour signalled session down", "forwarding plane reset", "path down",
		"concatenated path down", "administratively down", "reverse concatenated path down",
	};
	return diag < ARRAY_LEN(names) ? names[diag] : "unknown";
}
