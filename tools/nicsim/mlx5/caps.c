/*
 * Capabilities ("HCA Capabilities"): pages of fields that say what the device can do. A field
 * missing from the tables below reads 0: not supported. Before INIT_HCA a driver may set some
 * fields of the general page, up to their maximum. It writes the whole page, and all other fields
 * must keep their values.
 *
 * The values are those of a ConnectX-5 where a driver could tell the difference, otherwise the
 * sizes of this model.
 */
#include <string.h>

#include "tools/nicsim/mlx5/state.h"

struct value {
	struct field field;
	uint32_t value;
};

#define PORT_MANAGER FIELD(0x34, 31, 31) /* vport_group_manager: the port is ours */

static const struct value general[] = {
	{FIELD(0x18, 23, 16), LOG_CQ_SIZE_MAX},
	{FIELD(0x18, 4, 0), LOG_CQS},
	{FIELD(0x1c, 31, 24), LOG_EQ_SIZE_MAX},
	{FIELD(0x1c, 23, 22), 3},                 /* relaxed_ordering_write, _read */
	{FIELD(0x1c, 21, 16), LOG_MKEYS},
	{FIELD(0x1c, 3, 0), LOG_EQS},
	{FIELD(0x20, 22, 16), 64},                /* log_max_mrw_sz */
	{FIELD(0x30, 30, 30), 1},                 /* vport_counters */
	{FIELD(0x30, 25, 16), COUNTERS},          /* max_qp_cnt */
	{PORT_MANAGER, 1},
	{FIELD(0x34, 25, 25), 1},                 /* nic_flow_table */
	{FIELD(0x34, 9, 8), 1},                   /* port_type: Ethernet */
	{FIELD(0x34, 7, 0), 1},                   /* num_ports */
	{FIELD(0x3c, 3, 0), 1},                   /* cqe_version */
	{CAP_CMDIF_CHECKSUM, CHECKSUM_INITIAL},
	{FIELD(0x40, 3, 3), 1},                   /* eth_net_offloads */
	{FIELD(0x44, 31, 31), 1},                 /* cq_oi */
	{FIELD(0x44, 29, 29), 1},                 /* cq_moderation */
	{FIELD(0x48, 21, 16), 1},                 /* uar_sz: log of MiB */
	{FIELD(0x48, 7, 0), 12},                  /* log_pg_sz */
	{FIELD(0x4c, 30, 30), 1},                 /* driver_version */
	{FIELD(0x4c, 29, 29), 1},                 /* pad_tx_eth_packet */
	{FIELD(0x4c, 20, 16), 9},                 /* log_bf_reg_size */
	{FIELD(0x50, 15, 0), WQE_BYTES_MAX},      /* max_wqe_sz_sq */
	{FIELD(0x54, 15, 0), 1u << LOG_RQ_STRIDE_MAX}, /* max_wqe_sz_rq */
	{FIELD(0x64, 28, 24), LOG_TDS},
	{FIELD(0x64, 20, 16), LOG_PDS},
	{FIELD(0x6c, 28, 24), LOG_RQS},
	{FIELD(0x6c, 20, 16), LOG_SQS},
	{FIELD(0x6c, 12, 8), LOG_TIRS},
	{FIELD(0x6c, 4, 0), LOG_TISES},
	{FIELD(0x70, 31, 31), 1},                 /* basic_cyclic_rcv_wqe */
	{FIELD(0x70, 20, 16), LOG_RQTS},
	{FIELD(0x70, 12, 8), LOG_RQT_SIZE_MAX},
	{FIELD(0x74, 28, 24), LOG_RQ_STRIDE_MAX},
	{FIELD(0x74, 20, 16), LOG_RQ_STRIDE_MIN},
	{FIELD(0x74, 12, 8), 6}, /* SQ strides, maximum and minimum: one WQEBB */
	{FIELD(0x74, 4, 0), 6},
	{FIELD(0x78, 4, 0), LOG_WQ_SIZE_MAX},
	{FIELD(0x7c, 30, 29), 3}, /* disable_local_lb_uc, disable_local_lb_mc */
	{FIELD(0x7c, 20, 16), LOG_LIST_MAX}, /* VLANs, groups, addresses of the vport */
	{FIELD(0x7c, 12, 8), LOG_LIST_MAX},
	{FIELD(0x7c, 4, 0), LOG_LIST_MAX},
	{FIELD(0x98, 31, 0), TIMER_KHZ / 1000},   /* device_frequency_mhz */
	{FIELD(0x9c, 31, 0), TIMER_KHZ},          /* device_frequency_khz */
	{FIELD(0xb4, 0, 0), 1},                   /* cqe_compression */
	{FIELD(0xb8, 15, 0), SESSION_MAX},        /* cqe_compression_max_num */
	{{0}, 0},
};

/* The fields that a driver may set, and their maximum. */
static const struct value settable[] = {
	{FIELD(0x10, 4, 0), 0},   /* log_max_qp: no QPs */
	{FIELD(0x2c, 15, 0), 0},  /* gid_table_size */
	{FIELD(0x30, 15, 0), 0},  /* pkey_table_size: 0 is 128 */
	{CAP_CMDIF_CHECKSUM, CHECKSUM_ON},
	{FIELD(0x90, 15, 0), 0},  /* log_uar_page_sz: 4 KiB */
	{{0}, 0},
};

static const struct value ethernet[] = {
	{FIELD(0x00, 31, 31), 1},  /* csum_cap */
	{FIELD(0x00, 30, 30), 1},  /* vlan_cap */
	{FIELD(0x00, 24, 24), 1},  /* wqe_vlan_insert */
	{FIELD(0x00, 23, 23), 1},  /* self_lb_en_modifiable */
	{FIELD(0x00, 20, 16), 18}, /* max_lso_cap: 256 KiB */
	{FIELD(0x00, 13, 12), 1},  /* wqe_inline_mode: as the vport context says */
	{FIELD(0x00, 11, 8), LOG_RQT_SIZE_MAX},
	{FIELD(0x00, 5, 5), 1},    /* enhanced_multi_pkt_send_wqe */
	{FIELD(0x04, 28, 28), 1},  /* cqe_checksum_full */
	{{0}, 0},
};

static const struct value flow_table[] = {
	/* for NIC receive */
	{FIELD(0x40, 31, 31), 1}, /* ft_support */
	{FIELD(0x40, 28, 28), 1}, /* flow_modify_en */
	{FIELD(0x40, 27, 27), 1}, /* modify_root */
	{FIELD(0x40, 26, 26), 1}, /* identified_miss_table_mode */
	{FIELD(0x40, 25, 25), 1}, /* flow_table_modify */
	{FIELD(0x40, 10, 10), 1}, /* ignore_flow_level */
	{FIELD(0x44, 29, 24), LOG_FT_SIZE_MAX},
	{FIELD(0x44, 7, 0), FT_LEVELS},
	{FIELD(0x4c, 7, 0), LOG_TABLES},
	{FIELD(0x50, 7, 0), 0}, /* log_max_destination: one */
	{FIELD(0x54, 7, 0), LOG_FTES},
	/* outer headers that can be matched, then those that can be matched bit by bit: MAC
	 * addresses, EtherType, IP version, tag, TTL; IP addresses, fragment, protocol, ECN, DSCP,
	 * ports, flags */
	{FIELD(0x60, 31, 24), 0xff},
	{FIELD(0x60, 19, 9), 0x7ff},
	{FIELD(0x70, 31, 24), 0xff},
	{FIELD(0x70, 19, 9), 0x7ff},
	{{0}, 0},
};

static void fill(uint8_t *page, const struct value *v)
{
	for (; v->field.high || v->value; v++)
		field_set(page, v->field, v->value);
}

void caps_reset(struct model *m)
{
	struct nic *n = nic_of(m);
	memset(n->general, 0, sizeof n->general);
	fill(n->general, general);
}

enum status caps_query(struct model *m, struct command *c)
{
	const uint32_t mode = field_get(c->in, IN_OP_MOD);
	uint8_t *page = c->out + CAP_AT;
	switch (mode >> 1) {
	case CAP_GENERAL:
		memcpy(page, nic_of(m)->general, sizeof nic_of(m)->general);
		if (model_fault(m, FAULT_FOREIGN_PORT))
			field_set(page, PORT_MANAGER, 0);
		if (!(mode & 1)) /* the maximum, not the current value */
			fill(page, settable);
		return STATUS_OK;
	case CAP_ETHERNET:
		fill(page, ethernet);
		return STATUS_OK;
	case CAP_FLOW_TABLE:
		fill(page, flow_table);
		return STATUS_OK;
	}
	return refuse(m, c, STATUS_BAD_PARAM, "capabilities %u are not there", mode >> 1);
}

enum status caps_set(struct model *m, struct command *c)
{
	struct nic *n = nic_of(m);
	uint8_t others[sizeof n->general];
	const uint8_t *page = c->in + CAP_AT;
	if (n->state != HCA_ENABLED)
		return refuse(m, c, STATUS_BAD_SYS_STATE, "after INIT_HCA");
	if (c->in_bytes < CAP_AT + sizeof others)
		return refuse(m, c, STATUS_BAD_INPUT_LENGTH, "not a whole page");
	if (field_get(c->in, IN_OP_MOD) >> 1 != CAP_GENERAL)
		return refuse(m, c, STATUS_BAD_PARAM, "not the general page");
	memcpy(others, page, sizeof others);
	if (model_fault(m, FAULT_FOREIGN_PORT)) /* which caps_query hides */
		field_set(others, PORT_MANAGER, field_get(n->general, PORT_MANAGER));
	for (const struct value *v = settable; v->field.high; v++) {
		if (field_get(page, v->field) > v->value)
			return refuse(m, c, STATUS_BAD_PARAM, "0x%02x: %u is more than %u",
			              v->field.at, field_get(page, v->field), v->value);
		field_set(others, v->field, field_get(n->general, v->field));
	}
	if (memcmp(others, n->general, sizeof others) != 0)
		return refuse(m, c, STATUS_BAD_PARAM, "a field that cannot be set is changed");
	memcpy(n->general, page, sizeof n->general);
	return STATUS_OK;
}
