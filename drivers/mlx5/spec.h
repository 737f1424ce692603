/*
 * Layouts and constants of the "Mellanox Adapters Programmer's Reference Manual (PRM)", revision
 * 0.40, as far as used here: ConnectX-4, ConnectX-4 Lx, and later cards with the same interface.
 * Where that edition is silent (ConnectX-5 and later), the layout is from Linux's mlx5_ifc.h.
 * Everything the device reads or writes is big-endian (field.h).
 *
 * Names are the manual's. X_BYTES is the length of an input or output structure.
 */
#ifndef DRIVERS_MLX5_SPEC_H
#define DRIVERS_MLX5_SPEC_H

#include "drivers/mlx5/field.h"

#define MLX5_VENDOR 0x15b3

/* --- initialisation segment, at the start of BAR 0 --- */

/* Name, offset, access; all are 32-bit words. */
#define MLX5_REGISTERS(X) \
	X(FW_REV, 0x0000, RO) \
	X(CMDIF_REV, 0x0004, RO) \
	X(CMDQ_ADDR_HIGH, 0x0010, RW) \
	X(CMDQ_ADDR_LOW, 0x0014, RW) \
	X(COMMAND_DOORBELL, 0x0018, WO) \
	X(INITIALIZING, 0x01fc, RO) \
	X(HEALTH_RFR, 0x0238, RO) \
	X(HEALTH_SYND, 0x023c, RO) \
	X(CMD_EXEC_TO, 0x0ff8, RO) \
	X(CMDQ_INIT_TO, 0x0ffc, RO) \
	X(HEALTH_COUNTER, 0x1010, RO)

enum mlx5_reg {
#define MLX5_REG_OFFSET(name, offset, access) MLX5_##name = (offset),
	MLX5_REGISTERS(MLX5_REG_OFFSET)
#undef MLX5_REG_OFFSET
	MLX5_INIT_SEGMENT_BYTES = 0x2000
};

#define MLX5_CMDIF_REV_SHIFT 16 /* CMDIF_REV: above the firmware's subminor revision */
#define MLX5_CMDIF_REV_KNOWN 5
#define MLX5_CMDQ_LOG_SIZE(low) ((low) >> 4 & 15)
#define MLX5_CMDQ_LOG_STRIDE(low) ((low) & 15)
#define MLX5_CMDQ_ADDR_MASK 0xfffff000u
#define MLX5_NIC_INTERFACE_MASK 0x700u /* in CMDQ_ADDR_LOW: 0 full driver */
#define MLX5_NIC_DISABLED 0x100u
#define MLX5_NIC_RESET 0x700u /* a function has asked for a reset of the firmware */
#define MLX5_INITIALIZING_BIT (1u << 31)
/* Time-outs that the device states (mlx5_ifc.h: default_timeout): value, and its unit: 0 ms, 1 s,
 * 2 min, 3 h. A CMDQ_INIT_TO of 0: the firmware states none. */
#define MLX5_TIMEOUT_UNIT MLX5_FIELD(0x00, 31, 29)
#define MLX5_TIMEOUT_VALUE MLX5_FIELD(0x00, 19, 0)
#define MLX5_HEALTH_RFR_BIT (1u << 31) /* request for recovery: the syndrome is permanent */
#define MLX5_HEALTH_SYNDROME(word) ((word) >> 16 & 255)
#define MLX5_HEALTH_COUNT(word) ((word) & 0xffffff)

/* --- UAR: page `index` of BAR 0, each 4096 bytes --- */

#define MLX5_UAR_BYTES 4096u
#define MLX5_UAR_CQ_ARM 0x20  /* 8 bytes: sequence, command and consumer index; CQ number */
#define MLX5_UAR_EQ_ARM 0x40  /* 4 bytes: EQ number, consumer index; asks for an interrupt */
#define MLX5_UAR_SQ_DOORBELL 0x800 /* 8 bytes: the first two words of the last WQE */
#define MLX5_EQ_ARM_EQN_SHIFT 24
#define MLX5_INDEX_MASK 0xffffffu /* consumer indices have 24 bits */
#define MLX5_CQ_ARM_SN_SHIFT 28   /* two bits: how many events there were; command 0: any CQE */

#define MLX5_PAGE_BYTES 4096u

/* --- command queue --- */

enum mlx5_command_entry {
	MLX5_CMD_ENTRY_BYTES = 64,
	MLX5_CMD_TYPE = 0x00,
	MLX5_CMD_IN_LENGTH = 0x04,
	MLX5_CMD_IN_POINTER = 0x08,
	MLX5_CMD_IN_DATA = 0x10,
	MLX5_CMD_OUT_DATA = 0x20,
	MLX5_CMD_OUT_POINTER = 0x30,
	MLX5_CMD_OUT_LENGTH = 0x38,
	MLX5_CMD_TOKEN = 0x3c,
	MLX5_CMD_SIGNATURE = 0x3d,
	MLX5_CMD_STATUS_OWN = 0x3f,
};
#define MLX5_CMD_INLINE_BYTES 16 /* of input and output inside the entry */
#define MLX5_CMD_TYPE_PCI 7
#define MLX5_CMD_OWNER_HW 1      /* STATUS_OWN; above it the delivery status */

enum mlx5_mailbox_block {
	MLX5_BLOCK_DATA_BYTES = 512,
	MLX5_BLOCK_RESERVED = 512,
	MLX5_BLOCK_NEXT = 560,
	MLX5_BLOCK_NUMBER = 568,
	MLX5_BLOCK_TOKEN = 573,
	MLX5_BLOCK_CONTROL_SIGNATURE = 574,
	MLX5_BLOCK_SIGNATURE = 575,
	MLX5_BLOCK_BYTES = 576,
	MLX5_BLOCK_STRIDE = 1024, /* aligned to this; ours are */
};

/* Name and opcode of the commands in use. */
#define MLX5_COMMANDS(X) \
	X(QUERY_HCA_CAP, 0x100) \
	X(INIT_HCA, 0x102) \
	X(TEARDOWN_HCA, 0x103) \
	X(ENABLE_HCA, 0x104) \
	X(DISABLE_HCA, 0x105) \
	X(QUERY_PAGES, 0x107) \
	X(MANAGE_PAGES, 0x108) \
	X(SET_HCA_CAP, 0x109) \
	X(QUERY_ISSI, 0x10a) \
	X(SET_ISSI, 0x10b) \
	X(SET_DRIVER_VERSION, 0x10d) \
	X(CREATE_MKEY, 0x200) \
	X(DESTROY_MKEY, 0x202) \
	X(CREATE_EQ, 0x301) \
	X(DESTROY_EQ, 0x302) \
	X(CREATE_CQ, 0x400) \
	X(DESTROY_CQ, 0x401) \
	X(QUERY_VPORT_STATE, 0x750) \
	X(QUERY_NIC_VPORT_CONTEXT, 0x754) \
	X(MODIFY_NIC_VPORT_CONTEXT, 0x755) \
	X(ALLOC_Q_COUNTER, 0x771) \
	X(DEALLOC_Q_COUNTER, 0x772) \
	X(QUERY_Q_COUNTER, 0x773) \
	X(ALLOC_PD, 0x800) \
	X(DEALLOC_PD, 0x801) \
	X(ALLOC_UAR, 0x802) \
	X(DEALLOC_UAR, 0x803) \
	X(ACCESS_REG, 0x805) \
	X(ALLOC_TRANSPORT_DOMAIN, 0x816) \
	X(DEALLOC_TRANSPORT_DOMAIN, 0x817) \
	X(SET_L2_TABLE_ENTRY, 0x829) \
	X(DELETE_L2_TABLE_ENTRY, 0x82b) \
	X(CREATE_TIR, 0x900) \
	X(DESTROY_TIR, 0x902) \
	X(CREATE_SQ, 0x904) \
	X(MODIFY_SQ, 0x905) \
	X(DESTROY_SQ, 0x906) \
	X(CREATE_RQ, 0x908) \
	X(MODIFY_RQ, 0x909) \
	X(DESTROY_RQ, 0x90a) \
	X(CREATE_TIS, 0x912) \
	X(DESTROY_TIS, 0x914) \
	X(CREATE_RQT, 0x916) \
	X(MODIFY_RQT, 0x917) \
	X(DESTROY_RQT, 0x918) \
	X(SET_FLOW_TABLE_ROOT, 0x92f) \
	X(CREATE_FLOW_TABLE, 0x930) \
	X(DESTROY_FLOW_TABLE, 0x931) \
	X(CREATE_FLOW_GROUP, 0x933) \
	X(DESTROY_FLOW_GROUP, 0x934) \
	X(SET_FLOW_TABLE_ENTRY, 0x936) \
	X(DELETE_FLOW_TABLE_ENTRY, 0x938)

enum mlx5_command {
#define MLX5_COMMAND_OPCODE(name, opcode) MLX5_##name = (opcode),
	MLX5_COMMANDS(MLX5_COMMAND_OPCODE)
#undef MLX5_COMMAND_OPCODE
};

/* The first words of every input and output, and the object's number, which most have in the
 * third. */
#define MLX5_IN_OPCODE MLX5_FIELD(0x00, 31, 16)
#define MLX5_IN_OP_MOD MLX5_FIELD(0x04, 15, 0)
#define MLX5_IN_ID MLX5_FIELD(0x08, 23, 0)
#define MLX5_OUT_STATUS MLX5_FIELD(0x00, 31, 24)
#define MLX5_OUT_SYNDROME MLX5_FIELD(0x04, 31, 0)
#define MLX5_OUT_ID MLX5_FIELD(0x08, 23, 0)
#define MLX5_PLAIN_BYTES 16

#define MLX5_STATUS_OK 0x00
#define MLX5_STATUS_BAD_OPERATION 0x02

/* --- initialisation and pages --- */

#define MLX5_QUERY_ISSI_OUT_BYTES 0x70
#define MLX5_QUERY_ISSI_SUPPORTED MLX5_FIELD(0x6c, 31, 0) /* bit i: interface i */
#define MLX5_ISSI_ETHERNET 1 /* Ethernet objects exist from this one on */

#define MLX5_QUERY_PAGES_BOOT 1 /* op_mod */
#define MLX5_QUERY_PAGES_INIT 2
#define MLX5_QUERY_PAGES_FUNCTION MLX5_FIELD(0x08, 15, 0)
#define MLX5_QUERY_PAGES_NUMBER MLX5_FIELD(0x0c, 31, 0)

#define MLX5_MANAGE_PAGES_CANT_GIVE 0 /* op_mod */
#define MLX5_MANAGE_PAGES_GIVE 1
#define MLX5_MANAGE_PAGES_TAKE 2
#define MLX5_MANAGE_PAGES_FUNCTION MLX5_FIELD(0x08, 15, 0)
#define MLX5_MANAGE_PAGES_ENTRIES MLX5_FIELD(0x0c, 31, 0)
#define MLX5_MANAGE_PAGES_OUT_ENTRIES MLX5_FIELD(0x08, 31, 0)
#define MLX5_MANAGE_PAGES_PAS 0x10 /* in input and output: 64-bit addresses */

#define MLX5_INIT_HCA_BYTES 0x20
#define MLX5_DRIVER_VERSION_BYTES 0x50
#define MLX5_DRIVER_VERSION_TEXT 0x10
#define MLX5_TEXT_BYTES 64

/* --- capabilities --- */

#define MLX5_CAP_BYTES 0x1010 /* in and out: 16 bytes, then one of the structures */
#define MLX5_CAP 0x10
#define MLX5_CAP_OP_MOD(type, current) ((type) << 1 | (current))
#define MLX5_CAP_GENERAL 0
#define MLX5_CAP_ETHERNET 1
#define MLX5_CAP_FLOW_TABLE 7

#define MLX5_CAP_LOG_MAX_QP MLX5_FIELD(0x10, 4, 0)
#define MLX5_CAP_LOG_MAX_CQ_SIZE MLX5_FIELD(0x18, 23, 16)
#define MLX5_CAP_LOG_MAX_CQ MLX5_FIELD(0x18, 4, 0)
#define MLX5_CAP_RELAXED_WRITE MLX5_FIELD(0x1c, 23, 23)
#define MLX5_CAP_RELAXED_READ MLX5_FIELD(0x1c, 22, 22)
#define MLX5_CAP_CACHE_LINE_128 MLX5_FIELD(0x2c, 27, 27)
#define MLX5_CAP_PORT_MANAGER MLX5_FIELD(0x34, 31, 31) /* vport_group_manager */
#define MLX5_CAP_ESWITCH_MANAGER MLX5_FIELD(0x34, 24, 24)
#define MLX5_CAP_NIC_FLOW_TABLE MLX5_FIELD(0x34, 25, 25)
#define MLX5_CAP_PORT_TYPE MLX5_FIELD(0x34, 9, 8)
#define MLX5_CAP_CMDIF_CHECKSUM MLX5_FIELD(0x40, 15, 14)
#define MLX5_CAP_ETH_NET_OFFLOADS MLX5_FIELD(0x40, 3, 3)
#define MLX5_CAP_DRIVER_VERSION MLX5_FIELD(0x4c, 30, 30)
#define MLX5_CAP_MAX_WQE_SIZE_SQ MLX5_FIELD(0x50, 15, 0)
#define MLX5_CAP_LOG_MAX_RQ MLX5_FIELD(0x6c, 28, 24)
#define MLX5_CAP_LOG_MAX_SQ MLX5_FIELD(0x6c, 20, 16)
#define MLX5_CAP_LOG_MAX_RQT_SIZE MLX5_FIELD(0x70, 12, 8)
#define MLX5_CAP_LOG_MAX_WQ_SIZE MLX5_FIELD(0x78, 4, 0)
#define MLX5_CAP_NO_LB_UC MLX5_FIELD(0x7c, 30, 30) /* disable_local_lb_uc, */
#define MLX5_CAP_NO_LB_MC MLX5_FIELD(0x7c, 29, 29) /* and _mc */
#define MLX5_CAP_LOG_UAR_PAGE_SIZE MLX5_FIELD(0x90, 15, 0)
#define MLX5_CAP_CQE_COMPRESSION MLX5_FIELD(0xb4, 0, 0)
#define MLX5_PORT_TYPE_ETHERNET 1

/* Ethernet offloads */
#define MLX5_CAP_CSUM MLX5_FIELD(0x00, 31, 31)
#define MLX5_CAP_VLAN MLX5_FIELD(0x00, 30, 30)
#define MLX5_CAP_WQE_VLAN_INSERT MLX5_FIELD(0x00, 24, 24)
#define MLX5_CAP_LOG_MAX_LSO MLX5_FIELD(0x00, 20, 16) /* bytes of payload; 0: unsupported */
#define MLX5_CAP_ENHANCED_MULTI_SEND MLX5_FIELD(0x00, 5, 5)
#define MLX5_CAP_WQE_INLINE_MODE MLX5_FIELD(0x00, 13, 12)
#define MLX5_CAP_INLINE_L2 0            /* always the Ethernet header */
#define MLX5_CAP_INLINE_VPORT 1         /* as set in the vport's context */

/* Flow tables; those for NIC receive begin at 0x40 */
#define MLX5_CAP_RX_FT_SUPPORT MLX5_FIELD(0x40, 31, 31)
#define MLX5_CAP_RX_MAX_FT_LEVEL MLX5_FIELD(0x44, 7, 0)
#define MLX5_CAP_RX_OUTER_VID MLX5_FIELD(0x60, 25, 25)
#define MLX5_CAP_RX_OUTER_FRAG MLX5_FIELD(0x60, 17, 17)

/* --- EQ --- */

#define MLX5_CREATE_EQ_CONTEXT 0x10
#define MLX5_CREATE_EQ_EVENTS 0x58 /* 256 bits in 64-bit words; the first has types 0 to 63 */
#define MLX5_CREATE_EQ_PAS 0x110
#define MLX5_EQC_LOG_SIZE MLX5_FIELD(0x0c, 28, 24)
#define MLX5_EQC_UAR_PAGE MLX5_FIELD(0x0c, 23, 0)
#define MLX5_EQC_INTR MLX5_FIELD(0x14, 11, 0)

enum mlx5_eqe {
	MLX5_EQE_BYTES = 64,
	MLX5_EQE_TYPE = 0x01,
	MLX5_EQE_PAGES_FUNCTION = 0x22,
	MLX5_EQE_PAGES_NUMBER = 0x24, /* negative: it returns pages */
	MLX5_EQE_OWNER = 0x3f,
};
enum mlx5_event {
	MLX5_EVENT_CQ_ERROR = 0x04,
	MLX5_EVENT_WQ_CATASTROPHIC = 0x05,
	MLX5_EVENT_PORT_CHANGE = 0x09,
	MLX5_EVENT_PAGE_REQUEST = 0x0b,
	MLX5_EVENT_WQ_INVALID_REQUEST = 0x10,
	MLX5_EVENT_WQ_ACCESS = 0x11,
};

/* --- keys, domains --- */

#define MLX5_CREATE_MKEY_BYTES 0x110
#define MLX5_CREATE_MKEY_CONTEXT 0x10
#define MLX5_MKC_RELAXED_WRITE MLX5_FIELD(0x00, 18, 18)
#define MLX5_MKC_LOCAL_WRITE MLX5_FIELD(0x00, 11, 11)
#define MLX5_MKC_LOCAL_READ MLX5_FIELD(0x00, 10, 10)
#define MLX5_MKC_QPN MLX5_FIELD(0x04, 31, 8)
#define MLX5_MKC_LENGTH64 MLX5_FIELD(0x0c, 31, 31)  /* all of the address space */
#define MLX5_MKC_PD MLX5_FIELD(0x0c, 23, 0)
#define MLX5_MKC_RELAXED_READ MLX5_FIELD(0x38, 6, 6)
#define MLX5_MKC_QPN_ANY 0xffffff

/* --- CQ --- */

#define MLX5_CREATE_CQ_CONTEXT 0x10
#define MLX5_CREATE_CQ_PAS 0x110
#define MLX5_CQC_COMPRESS MLX5_FIELD(0x00, 14, 14)
#define MLX5_CQC_MINI_FORMAT MLX5_FIELD(0x00, 13, 12) /* 0: with hash, 1: with checksum */
#define MLX5_CQC_LOG_SIZE MLX5_FIELD(0x0c, 28, 24)
#define MLX5_CQC_UAR_PAGE MLX5_FIELD(0x0c, 23, 0)
#define MLX5_CQC_EQN MLX5_FIELD(0x14, 7, 0)
#define MLX5_CQC_DBR_ADDR 0x38

enum mlx5_cqe {
	MLX5_CQE_BYTES = 64,
	MLX5_CQE_HEADERS = 0x18, /* 64 bits: QP number, checks, header types, tag: MLX5_CQE_H_... */
	MLX5_CQE_BYTE_COUNT = 0x2c,
	MLX5_CQE_END = 0x38, /* 64 bits: QP number, WQE counter, signature, opcode and owner */
	MLX5_CQE_WQE_COUNTER = 0x3c,
	MLX5_CQE_OP_OWN = 0x3f,
};
/* As x86-64 loads them: checksums of IP and of TCP or UDP are right (byte 0x1c); a tag was stripped
 * (byte 0x1d), which is big-endian in the last two bytes. */
#define MLX5_CQE_H_OK (6ull << 32)
#define MLX5_CQE_H_VLAN (1ull << 40)
#define MLX5_CQE_H_TAG_SHIFT 48
/* MLX5_CQE_OP_OWN */
#define MLX5_CQE_OWNER 1u
#define MLX5_CQE_SOLICITED 2u
#define MLX5_CQE_COMPRESSED (3u << 2) /* format: a title, with BYTE_COUNT frames in mini CQEs */
#define MLX5_CQE_OPCODE_SHIFT 4
#define MLX5_CQE_REQ 0u        /* a WQE of an SQ was executed */
#define MLX5_CQE_RESP_SEND 2u  /* a WQE of an RQ has a frame */
#define MLX5_CQE_REQ_ERROR 13u
#define MLX5_CQE_RESP_ERROR 14u
#define MLX5_CQE_INVALID 15u

/* Mini CQE: hash or checksum, then the byte count. Eight of them share a CQE's place. */
#define MLX5_MINI_CQE_BYTES 8
#define MLX5_MINI_CQE_BYTE_COUNT 4
#define MLX5_MINI_CQES 8
#define MLX5_MINI_WITH_CHECKSUM 1

/* --- WQ, in the contexts of SQ and RQ --- */

#define MLX5_WQ 0x30 /* in either context */
#define MLX5_WQ_TYPE MLX5_FIELD(0x00, 31, 28)
#define MLX5_WQ_TYPE_CYCLIC 1
#define MLX5_WQ_PD MLX5_FIELD(0x08, 23, 0)
#define MLX5_WQ_UAR_PAGE MLX5_FIELD(0x0c, 23, 0)
#define MLX5_WQ_DBR_ADDR 0x10
#define MLX5_WQ_LOG_STRIDE MLX5_FIELD(0x20, 19, 16)
#define MLX5_WQ_LOG_SIZE MLX5_FIELD(0x20, 4, 0)
#define MLX5_WQ_PAS 0xc0
/* The doorbell record of a WQ: two words. */
#define MLX5_DBR_RECEIVE 0
#define MLX5_DBR_SEND 4
/* The doorbell record of a CQ. */
#define MLX5_DBR_CONSUMER 0
#define MLX5_DBR_ARM 4

/* Inputs of CREATE and MODIFY */
#define MLX5_WQ_CONTEXT 0x20
#define MLX5_MODIFY_WQ_BYTES 0x110
#define MLX5_MODIFY_STATE MLX5_FIELD(0x08, 31, 28) /* the present state */
#define MLX5_STATE_RST 0
#define MLX5_STATE_RDY 1
#define MLX5_STATE_ERR 3

#define MLX5_SQC_ALLOW_MULTI_SEND MLX5_FIELD(0x00, 27, 27)
#define MLX5_SQC_MIN_INLINE MLX5_FIELD(0x00, 26, 24)
#define MLX5_SQC_STATE MLX5_FIELD(0x00, 23, 20)
#define MLX5_SQC_CQN MLX5_FIELD(0x08, 23, 0)
#define MLX5_SQC_TIS_LIST_SIZE MLX5_FIELD(0x20, 31, 16)
#define MLX5_SQC_TIS MLX5_FIELD(0x2c, 23, 0)

#define MLX5_RQC_VLAN_STRIP_DISABLE MLX5_FIELD(0x00, 28, 28)
#define MLX5_RQC_STATE MLX5_FIELD(0x00, 23, 20)
#define MLX5_RQC_CQN MLX5_FIELD(0x08, 23, 0)
#define MLX5_RQC_COUNTER_SET MLX5_FIELD(0x0c, 31, 24)

/* --- TIS, RQT, TIR --- */

#define MLX5_CREATE_TIS_BYTES 0xc0
#define MLX5_TIS_DOMAIN MLX5_FIELD(0x44, 23, 0) /* in the input */

#define MLX5_RQT_LIST 0x110 /* in the input of both commands */
#define MLX5_MODIFY_RQT_LIST MLX5_FIELD(0x14, 0, 0) /* the list shall be changed */
#define MLX5_RQT_MAX_SIZE MLX5_FIELD(0x34, 15, 0) /* in the input */
#define MLX5_RQT_ACTUAL_SIZE MLX5_FIELD(0x38, 15, 0)

#define MLX5_CREATE_TIR_BYTES 0x110
#define MLX5_TIR_DISPATCH MLX5_FIELD(0x24, 31, 28) /* in the input, like all of these */
#define MLX5_TIR_RQT MLX5_FIELD(0x40, 23, 0)
#define MLX5_TIR_HASH_FUNCTION MLX5_FIELD(0x44, 31, 28)
#define MLX5_TIR_DOMAIN MLX5_FIELD(0x44, 23, 0)
#define MLX5_TIR_TOEPLITZ_KEY 0x48 /* 40 bytes */
#define MLX5_TIR_HASH_FIELDS MLX5_FIELD(0x70, 31, 0)
#define MLX5_DISPATCH_INDIRECT 1
#define MLX5_HASH_INVERTED_XOR8 1
#define MLX5_HASH_TOEPLITZ 2
#define MLX5_HASH_L3_IP6 (1u << 31)
#define MLX5_HASH_L4_UDP (1u << 30)
#define MLX5_HASH_ADDRESSES 3u /* source, destination */
#define MLX5_HASH_PORTS 12u

/* --- flow tables --- */

#define MLX5_FLOW_BYTES 0x40 /* of inputs that are no longer than this */
#define MLX5_FLOW_TABLE_ID MLX5_FIELD(0x14, 23, 0)
#define MLX5_FLOW_GROUP_ID MLX5_FIELD(0x18, 31, 0)
#define MLX5_FLOW_INDEX MLX5_FIELD(0x20, 31, 0)
#define MLX5_CREATE_TABLE_LEVEL MLX5_FIELD(0x18, 23, 16)
#define MLX5_CREATE_TABLE_LOG_SIZE MLX5_FIELD(0x18, 7, 0)
#define MLX5_ROOT_DISCONNECT 1 /* op_mod */
#define MLX5_CREATE_GROUP_BYTES 0x400
#define MLX5_GROUP_START MLX5_FIELD(0x1c, 31, 0)
#define MLX5_GROUP_END MLX5_FIELD(0x24, 31, 0) /* the last one, inclusive */
#define MLX5_GROUP_CRITERIA_ENABLE MLX5_FIELD(0x3c, 7, 0)
#define MLX5_GROUP_CRITERIA 0x40
#define MLX5_CRITERIA_OUTER 1

#define MLX5_SET_FTE_BYTES 0x348 /* with one destination */
#define MLX5_FTE_MODIFY 1 /* op_mod: an entry that exists */
#define MLX5_FTE_MODIFY_MASK MLX5_FIELD(0x18, 7, 0)
#define MLX5_FTE_MODIFY_DESTINATIONS 4
#define MLX5_FTE_GROUP MLX5_FIELD(0x44, 31, 0)
#define MLX5_FTE_ACTION MLX5_FIELD(0x4c, 15, 0)
#define MLX5_FTE_DESTINATIONS MLX5_FIELD(0x50, 23, 0)
#define MLX5_FTE_MATCH 0x80
#define MLX5_FTE_DESTINATION_TYPE MLX5_FIELD(0x340, 31, 24)
#define MLX5_FTE_DESTINATION_ID MLX5_FIELD(0x340, 23, 0)
#define MLX5_FTE_ACTION_FORWARD 4
#define MLX5_DESTINATION_TABLE 1
#define MLX5_DESTINATION_TIR 2

/* Match fields: the outer headers come first, in criteria and match value. */
#define MLX5_MATCH_ETHERTYPE MLX5_FIELD(0x04, 15, 0)
#define MLX5_MATCH_DMAC_HIGH MLX5_FIELD(0x08, 31, 0)
#define MLX5_MATCH_DMAC_LOW MLX5_FIELD(0x0c, 31, 16)
#define MLX5_MATCH_VID MLX5_FIELD(0x0c, 11, 0) /* first_vid */
#define MLX5_MATCH_PROTOCOL MLX5_FIELD(0x10, 31, 24)
#define MLX5_MATCH_CVLAN MLX5_FIELD(0x10, 15, 15) /* the first tag is of 802.1Q */
#define MLX5_MATCH_FRAGMENT MLX5_FIELD(0x10, 13, 13)
#define MLX5_MATCH_TCP_SRC MLX5_FIELD(0x14, 31, 16)
#define MLX5_MATCH_TCP_DST MLX5_FIELD(0x14, 15, 0)
#define MLX5_MATCH_UDP_SRC MLX5_FIELD(0x1c, 31, 16)
#define MLX5_MATCH_UDP_DST MLX5_FIELD(0x1c, 15, 0)
#define MLX5_MATCH_SRC_IP(word) MLX5_FIELD(0x20 + 4 * (word), 31, 0) /* of IPv6 words 0 to 3, of IPv4 word 3 */
#define MLX5_MATCH_DST_IP(word) MLX5_FIELD(0x30 + 4 * (word), 31, 0)

/* --- vport and port --- */

#define MLX5_QUERY_VPORT_BYTES 0x110 /* without the list */
#define MLX5_QUERY_VPORT_CONTEXT 0x10
#define MLX5_MODIFY_VPORT_BYTES 0x208 /* with one address in the list */
#define MLX5_MODIFY_VPORT_CONTEXT 0x100
#define MLX5_MODIFY_VPORT_NO_LB_UC MLX5_FIELD(0x0c, 11, 11)
#define MLX5_MODIFY_VPORT_NO_LB_MC MLX5_FIELD(0x0c, 10, 10)
#define MLX5_MODIFY_VPORT_MTU MLX5_FIELD(0x0c, 6, 6)
#define MLX5_MODIFY_VPORT_PROMISC MLX5_FIELD(0x0c, 4, 4)
#define MLX5_MODIFY_VPORT_LIST MLX5_FIELD(0x0c, 2, 2)
#define MLX5_VPORT_MIN_INLINE MLX5_FIELD(0x00, 26, 24)
#define MLX5_VPORT_NO_LB_MC MLX5_FIELD(0x00, 2, 2)
#define MLX5_VPORT_NO_LB_UC MLX5_FIELD(0x00, 1, 1)
#define MLX5_VPORT_MTU MLX5_FIELD(0x24, 15, 0)
#define MLX5_VPORT_PROMISC_UC MLX5_FIELD(0xf0, 31, 31)
#define MLX5_VPORT_PROMISC_MC MLX5_FIELD(0xf0, 30, 30)
#define MLX5_VPORT_LIST_SIZE MLX5_FIELD(0xf0, 11, 0)
#define MLX5_VPORT_MAC_HIGH MLX5_FIELD(0xf4, 15, 0)
#define MLX5_VPORT_MAC_LOW MLX5_FIELD(0xf8, 31, 0)
#define MLX5_VPORT_ENTRY_HIGH MLX5_FIELD(0x100, 15, 0) /* in the list */
#define MLX5_VPORT_ENTRY_LOW MLX5_FIELD(0x104, 31, 0)
#define MLX5_VPORT_STATE MLX5_FIELD(0x0c, 3, 0) /* in QUERY_VPORT_STATE */
#define MLX5_VPORT_UP 1

#define MLX5_L2_ENTRY_BYTES 0x40
#define MLX5_L2_ENTRY_INDEX MLX5_FIELD(0x14, 23, 0)
#define MLX5_L2_ENTRY_HIGH MLX5_FIELD(0x20, 15, 0)
#define MLX5_L2_ENTRY_LOW MLX5_FIELD(0x24, 31, 0)

#define MLX5_ACCESS_REG_ID MLX5_FIELD(0x08, 15, 0)
#define MLX5_ACCESS_REG_DATA 0x10 /* in input and output */
#define MLX5_ACCESS_REG_WRITE 0   /* op_mod */
#define MLX5_ACCESS_REG_READ 1
#define MLX5_REG_PORT MLX5_FIELD(0x00, 23, 16) /* local_port, in all port registers */

#define MLX5_PMTU 0x5003
#define MLX5_PMTU_BYTES 16
#define MLX5_PMTU_MAX MLX5_FIELD(0x04, 31, 16)
#define MLX5_PMTU_ADMIN MLX5_FIELD(0x08, 31, 16)
#define MLX5_PMTU_OPER MLX5_FIELD(0x0c, 31, 16)

#define MLX5_PTYS 0x5004
#define MLX5_PTYS_BYTES 64
#define MLX5_PTYS_PROTO_MASK MLX5_FIELD(0x00, 2, 0)
#define MLX5_PTYS_PROTO_ETHERNET 4
#define MLX5_PTYS_EXT_ETH_OPER MLX5_FIELD(0x20, 31, 0)
#define MLX5_PTYS_ETH_OPER MLX5_FIELD(0x24, 31, 0)

#define MLX5_PAOS 0x5006
#define MLX5_PAOS_BYTES 16
#define MLX5_PAOS_ADMIN MLX5_FIELD(0x00, 11, 8)
#define MLX5_PAOS_ADMIN_ENABLE MLX5_FIELD(0x04, 31, 31) /* ase: ADMIN is valid */
#define MLX5_PAOS_UP 1

#define MLX5_PFCC 0x5007 /* PAUSE frames; priorities and watchdogs stay 0 */
#define MLX5_PFCC_BYTES 20
#define MLX5_PFCC_SEND MLX5_FIELD(0x08, 31, 31) /* pptx */
#define MLX5_PFCC_OBEY MLX5_FIELD(0x0c, 31, 31) /* pprx */

#define MLX5_PPCNT 0x5008
#define MLX5_PPCNT_BYTES 0x100
#define MLX5_PPCNT_GROUP MLX5_FIELD(0x00, 5, 0)
#define MLX5_PPCNT_IEEE_802_3 0
#define MLX5_PPCNT_RFC_2863 1
#define MLX5_PPCNT_COUNTERS 8 /* 64 bits each, from here */
#define MLX5_802_3_FCS_ERRORS 0x10
#define MLX5_802_3_ALIGNMENT_ERRORS 0x18
#define MLX5_802_3_IN_RANGE_LENGTH 0x50
#define MLX5_802_3_OUT_OF_RANGE_LENGTH 0x58
#define MLX5_802_3_TOO_LONG 0x60
#define MLX5_802_3_SYMBOL_ERRORS 0x68
#define MLX5_2863_IN_DISCARDS 0x10
#define MLX5_2863_OUT_ERRORS 0x40

#define MLX5_HOST_ENDIANNESS 0x7004
#define MLX5_HOST_ENDIANNESS_BYTES 16

#define MLX5_DTOR 0xc00e /* more time-outs, in the same format */
#define MLX5_DTOR_BYTES 0x40
#define MLX5_DTOR_TEARDOWN 0x28
#define MLX5_DTOR_RECLAIM 0x30

#define MLX5_Q_COUNTER_IN_BYTES 0x20
#define MLX5_Q_COUNTER_OUT_BYTES 0x100
#define MLX5_Q_COUNTER_SET MLX5_FIELD(0x1c, 7, 0)
#define MLX5_Q_COUNTER_OUT_OF_BUFFER MLX5_FIELD(0x30, 31, 0)

/* --- send WQE: units of 64 bytes (WQEBB), made of segments of 16 --- */

#define MLX5_WQEBB_BYTES 64
#define MLX5_SEGMENT_BYTES 16
#define MLX5_SEGMENTS_OF_WQEBB 4
#define MLX5_WQE_SEND 0x0a
#define MLX5_WQE_LSO 0x0e
#define MLX5_WQE_MULTI 0x29 /* enhanced multi-packet: one frame per data segment */
#define MLX5_WQE_INDEX_SHIFT 8 /* first word of the control segment: WQE index, opcode */
#define MLX5_WQE_SQN_SHIFT 8   /* second: SQ number, segments */
#define MLX5_WQE_CQE 8u        /* byte 11: request a completion */
#define MLX5_WQE_FLAGS_BYTE 11
/* Ethernet segment */
#define MLX5_ETH_CSUM_BYTE 4
#define MLX5_ETH_L3_CSUM (1u << 6)
#define MLX5_ETH_L4_CSUM (1u << 7)
#define MLX5_ETH_MSS 6
#define MLX5_ETH_INLINE_SIZE 12 /* of the header, which begins at once and continues in segments */
#define MLX5_ETH_INLINE 14
#define MLX5_ETH_INLINE_FIRST 2 /* bytes of it in this segment */
/* Data segment: byte count, lkey, 64-bit address */
#define MLX5_DATA_LKEY 4
#define MLX5_DATA_ADDRESS 8

#endif
