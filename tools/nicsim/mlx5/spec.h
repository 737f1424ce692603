/*
 * Registers, commands, contexts and queue entries of a ConnectX-5, from the "Mellanox Adapters
 * Programmer's Reference Manual" (Ethernet part, revision 0.40). Later revisions number its
 * chapters differently, so chapters are cited by title. Details missing from the manual are from
 * public drivers for the device (Linux 6.1 mlx5_core, DPDK 22.11), marked LINUX.
 */
#ifndef NICSIM_MLX5_SPEC_H
#define NICSIM_MLX5_SPEC_H

#include "tools/nicsim/mlx5/field.h"

/*
 * BAR 0: initialisation segment, MSI-X table and PBA, then UAR pages of 4096 bytes. A UAR page is
 * named by its index, which counts pages from the start of the BAR. Real cards have 32 MiB.
 */
#define BAR_BYTES  (2u << 20)
#define PAGE       4096u
#define UAR_FIRST  4u
#define UAR_END    (BAR_BYTES / PAGE)
#define UAR_AT     (UAR_FIRST * PAGE)
#define MSIX_TABLE 0x2000
#define MSIX_PBA   0x3000

/* A register's bits as the guest's CPU sees them: the device is big-endian. */
#define BE(bits) __builtin_bswap32(bits)

#define PER_UAR PAGE, UAR_END - UAR_FIRST
#define MLX5_REGS(R) \
	/* --- Initialization Segment --- */ \
	R(FW_REV, 0x0000, 0, 1, REG_RO, 0, "Initialization Segment") \
	R(CMDIF_REV, 0x0004, 0, 1, REG_RO, 0, "Initialization Segment") \
	R(CMDQ_ADDR_H, 0x0010, 0, 1, REG_RW, BE(0xffffffff), "Initialization Segment") \
	R(CMDQ_ADDR_L, 0x0014, 0, 1, REG_RW, BE(0xfffff7ff), "Initialization Segment") \
	R(CMD_DOORBELL, 0x0018, 0, 1, REG_WO, BE(0xffffffff), "Initialization Segment") \
	R(INITIALIZING, 0x01fc, 0, 1, REG_RO, 0, "Initialization Segment") \
	R(HEALTH, 0x0200, 4, 16, REG_RO, 0, "Health Buffer") \
	R(CMD_EXEC_TO, 0x0ff8, 4, 2, REG_RO, 0, "LINUX: time limits: of a command, of the queue") \
	R(TIMER_H, 0x1000, 0, 1, REG_RO, 0, "Internal Timer") \
	R(TIMER_L, 0x1004, 0, 1, REG_RO, 0, "Internal Timer") \
	R(HEALTH_COUNTER, 0x1010, 0, 1, REG_RO, 0, "Health Counter") \
	/* --- UAR Page --- */ \
	R(CQ_ARM, UAR_AT + 0x020, PER_UAR, REG_WO, BE(0x31ffffff), "UAR: CQ doorbell") \
	R(CQ_ARM_CQN, UAR_AT + 0x024, PER_UAR, REG_WO, BE(0x00ffffff), "UAR: CQ doorbell") \
	R(EQ_ARM, UAR_AT + 0x040, PER_UAR, REG_WO, BE(0xffffffff), "UAR: EQ doorbell") \
	R(EQ_CI, UAR_AT + 0x048, PER_UAR, REG_WO, BE(0xffffffff), "UAR: EQ doorbell") \
	SQ_DOORBELL_ROWS(R, 0, 0x800) SQ_DOORBELL_ROWS(R, 1, 0xa00) \
	SQ_DOORBELL_ROWS(R, 2, 0xc00) SQ_DOORBELL_ROWS(R, 3, 0xe00)

/* Four send doorbells per page, with two buffers each, which a driver may use alternately: the
 * first eight bytes of the WQE's control segment. */
#define SQ_DOORBELL_ROWS(R, n, at) \
	R(SQ_DB##n, UAR_AT + at, PER_UAR, REG_WO, BE(0xffffffff), "UAR: send doorbell") \
	R(SQ_DB##n##_SQN, UAR_AT + at + 4, PER_UAR, REG_WO, BE(0xffffff3f), "UAR: send doorbell") \
	R(SQ_DB##n##_ALT, UAR_AT + at + 0x100, PER_UAR, REG_WO, BE(0xffffffff), \
	  "UAR: send doorbell") \
	R(SQ_DB##n##_ALT_SQN, UAR_AT + at + 0x104, PER_UAR, REG_WO, BE(0xffffff3f), \
	  "UAR: send doorbell")

enum reg_offset {
#define OFFSET(name, offset, ...) name = (offset),
	MLX5_REGS(OFFSET)
#undef OFFSET
};

/* Within a UAR page. */
enum { UAR_CQ_ARM = 0x20, UAR_EQ_ARM = 0x40, UAR_EQ_CI = 0x48, UAR_SQ_DB = 0x800 };

/* CMDQ_ADDR_L: address 31:12; nic_interface 10:8; log of entries 7:4, of their stride 3:0 */
#define CMDQ_LOG_SIZE   5u
#define CMDQ_LOG_STRIDE 6u
#define CMDQ_INTERFACE  0x700u
#define INITIALIZING_BUSY 0x80000000u
#define CMDIF_REVISION  5u
/* Health Buffer: byte offsets from its start, except for the firmware version */
enum { HEALTH_FW_VER = 0x30, HEALTH_SEVERITY = 0x38, HEALTH_SYNDROME = 0x3d };
#define HEALTH_FW_ERROR 0x01 /* the syndrome: internal error of the firmware */

/* --- Command Interface: an entry of the command queue --- */

#define CMD_BYTES 64u
enum {
	CMD_TYPE = 0x00, /* 7: PCIe */
	CMD_INLEN = 0x04,
	CMD_IN_PTR = 0x08,
	CMD_IN = 0x10, /* the first 16 bytes of the input */
	CMD_OUT = 0x20,
	CMD_OUT_PTR = 0x30,
	CMD_OUTLEN = 0x38,
	CMD_TOKEN = 0x3c,
	CMD_SIGNATURE = 0x3d,
	CMD_STATUS_OWN = 0x3f, /* status 7:1, owner 0 */
};
#define CMD_TYPE_PCIE   7
#define CMD_INLINE      16u
#define CMD_OWNER_HW    1u

/* Data that does not fit in the entry goes into a list of mailboxes. */
#define MAILBOX_BYTES 576u
#define MAILBOX_DATA  512u
#define MAILBOX_ALIGN 512u /* of their addresses: the low bits are reserved */
enum {
	MAILBOX_NEXT = 0x230,
	MAILBOX_NUMBER = 0x238,
	MAILBOX_TOKEN = 0x23d,
	MAILBOX_CTRL_SIGNATURE = 0x23e, /* of 0x200 to 0x23d */
	MAILBOX_SIGNATURE = 0x23f,
};

/* Whether the entry was valid; only then does the command have a status of its own. */
enum delivery {
	DELIVERY_OK = 0x00,
	DELIVERY_SIGNATURE = 0x01,
	DELIVERY_TOKEN = 0x02,
	DELIVERY_BLOCK_NUMBER = 0x03,
	DELIVERY_OUT_POINTER = 0x04,
	DELIVERY_IN_POINTER = 0x05,
	DELIVERY_INTERNAL = 0x06,
	DELIVERY_IN_LENGTH = 0x07,
	DELIVERY_OUT_LENGTH = 0x08,
	DELIVERY_RESERVED = 0x09,
	DELIVERY_BAD_TYPE = 0x10,
};

enum status {
	STATUS_OK = 0x00,
	STATUS_INTERNAL = 0x01,
	STATUS_BAD_OP = 0x02,
	STATUS_BAD_PARAM = 0x03,
	STATUS_BAD_SYS_STATE = 0x04,
	STATUS_BAD_RESOURCE = 0x05,
	STATUS_LIMIT = 0x08,
	STATUS_BAD_RES_STATE = 0x09,
	STATUS_BAD_INDEX = 0x0a,
	STATUS_NO_RESOURCES = 0x0f,
	STATUS_BAD_INPUT_LENGTH = 0x50,
	STATUS_BAD_OUTPUT_LENGTH = 0x51,
};

enum opcode {
	QUERY_HCA_CAP = 0x100,
	QUERY_ADAPTER = 0x101,
	INIT_HCA = 0x102,
	TEARDOWN_HCA = 0x103,
	ENABLE_HCA = 0x104,
	DISABLE_HCA = 0x105,
	QUERY_PAGES = 0x107,
	MANAGE_PAGES = 0x108,
	SET_HCA_CAP = 0x109,
	QUERY_ISSI = 0x10a,
	SET_ISSI = 0x10b,
	SET_DRIVER_VERSION = 0x10d,
	CREATE_MKEY = 0x200,
	DESTROY_MKEY = 0x202,
	CREATE_EQ = 0x301,
	DESTROY_EQ = 0x302,
	QUERY_EQ = 0x303,
	CREATE_CQ = 0x400,
	DESTROY_CQ = 0x401,
	QUERY_CQ = 0x402,
	MODIFY_CQ = 0x403,
	QUERY_VPORT_STATE = 0x750,
	QUERY_NIC_VPORT_CONTEXT = 0x754,
	MODIFY_NIC_VPORT_CONTEXT = 0x755,
	QUERY_VPORT_COUNTER = 0x770,
	ALLOC_Q_COUNTER = 0x771,
	DEALLOC_Q_COUNTER = 0x772,
	QUERY_Q_COUNTER = 0x773,
	ALLOC_PD = 0x800,
	DEALLOC_PD = 0x801,
	ALLOC_UAR = 0x802,
	DEALLOC_UAR = 0x803,
	ACCESS_REG = 0x805,
	ALLOC_TRANSPORT_DOMAIN = 0x816,
	DEALLOC_TRANSPORT_DOMAIN = 0x817,
	CREATE_TIR = 0x900,
	MODIFY_TIR = 0x901,
	DESTROY_TIR = 0x902,
	CREATE_SQ = 0x904,
	MODIFY_SQ = 0x905,
	DESTROY_SQ = 0x906,
	QUERY_SQ = 0x907,
	CREATE_RQ = 0x908,
	MODIFY_RQ = 0x909,
	DESTROY_RQ = 0x90a,
	QUERY_RQ = 0x90b,
	CREATE_TIS = 0x912,
	DESTROY_TIS = 0x914,
	CREATE_RQT = 0x916,
	MODIFY_RQT = 0x917,
	DESTROY_RQT = 0x918,
	SET_FLOW_TABLE_ROOT = 0x92f,
	CREATE_FLOW_TABLE = 0x930,
	DESTROY_FLOW_TABLE = 0x931,
	CREATE_FLOW_GROUP = 0x933,
	DESTROY_FLOW_GROUP = 0x934,
	SET_FLOW_TABLE_ENTRY = 0x936,
	DELETE_FLOW_TABLE_ENTRY = 0x938,
	MODIFY_FLOW_TABLE = 0x93c,
};

/* Common to all commands. */
#define IN_OPCODE  FIELD(0x00, 31, 16)
#define IN_OP_MOD  FIELD(0x04, 15, 0)
#define IN_NUMBER  FIELD(0x08, 23, 0) /* of the object, in commands about one */
#define OUT_STATUS FIELD(0x00, 31, 24)
#define OUT_SYNDROME FIELD(0x04, 31, 0)
#define OUT_NUMBER FIELD(0x08, 23, 0)

/* --- HCA: capabilities, pages --- */

/* QUERY_HCA_CAP, op_mod: page in 15:1; bit 0: current (1) or maximum (0) */
enum { CAP_GENERAL = 0, CAP_ETHERNET = 1, CAP_FLOW_TABLE = 7 };
#define CAP_AT    0x10
#define CAP_BYTES 4096u

enum { PAGES_BOOT = 1, PAGES_INIT = 2, PAGES_REGULAR = 3 };
enum { PAGES_CANNOT_GIVE = 0, PAGES_GIVE = 1, PAGES_TAKE = 2 };
#define PAGES_FUNCTION FIELD(0x08, 15, 0)
#define PAGES_COUNT    FIELD(0x0c, 31, 0)
#define PAGES_TAKEN    FIELD(0x08, 31, 0)
#define PAGES_AT       0x10

/* --- Event Queue --- */

#define EQE_BYTES 64u
#define EQE_DATA_BYTES 28u
#define COUNTER_MASK 0xffffffu /* of entries, in EQs and CQs */
#define EQC_AT       0x10
#define EQC_STATE    FIELD(0x00, 11, 8)
#define EQC_OFFSET   FIELD(0x08, 11, 6)
#define EQC_LOG_SIZE FIELD(0x0c, 28, 24)
#define EQC_UAR      FIELD(0x0c, 23, 0)
#define EQC_INTR     FIELD(0x14, 11, 0)
#define EQC_LOG_PAGE FIELD(0x18, 28, 24)
#define EQC_CI       FIELD(0x28, 23, 0)
#define EQC_PI       FIELD(0x2c, 23, 0)
#define EQ_EVENTS_AT 0x58 /* in CREATE_EQ: bit n of the first 64: takes events of type n */
#define EQ_PAS_AT    0x110
enum { EQ_ARMED = 0x9, EQ_FIRED = 0xa };
enum {
	EQE_TYPE = 0x01,
	EQE_SUBTYPE = 0x03,
	EQE_DATA = 0x20, /* EQE_DATA_BYTES */
	EQE_CQN = 0x38, /* of a completion */
	EQE_OWNER = 0x3f,
};
enum event {
	EVENT_COMPLETION = 0x00,
	EVENT_CQ_ERROR = 0x04,
	EVENT_PORT = 0x09,
	EVENT_COMMAND = 0x0a,
};
enum { PORT_DOWN = 1, PORT_UP = 4 };

/* --- Completion Queue --- */

#define CQE_BYTES 64u
#define CQC_AT        0x10
#define CQC_CQE_SIZE  FIELD(0x00, 23, 21)
#define CQC_OVERRUN_IGNORE BIT(0x00, 17)
#define CQC_COMPRESS  BIT(0x00, 14)
#define CQC_MINI_FORMAT FIELD(0x00, 13, 12)
#define CQC_STATE     FIELD(0x00, 11, 8)
#define CQC_STATUS    FIELD(0x00, 31, 28)
#define CQC_LOG_SIZE  FIELD(0x0c, 28, 24)
#define CQC_UAR       FIELD(0x0c, 23, 0)
#define CQC_PERIOD    FIELD(0x10, 27, 16)
#define CQC_MAX_COUNT FIELD(0x10, 15, 0)
#define CQC_EQN       FIELD(0x14, 31, 0)
#define CQC_LOG_PAGE  FIELD(0x18, 28, 24)
#define CQC_CI        FIELD(0x28, 23, 0)
#define CQC_PI        FIELD(0x2c, 23, 0)
#define CQC_DBR       0x38
#define CQ_PAS_AT     0x110
#define CQ_MODIFY     FIELD(0x0c, 31, 0)
enum { CQ_MODIFY_PERIOD = 1, CQ_MODIFY_COUNT = 2, CQ_MODIFY_OVERRUN = 4, CQ_MODIFY_MODE = 16 };
enum { CQ_STATE_ARMED_SOLICITED = 0x6, CQ_STATE_ARMED = 0x9, CQ_STATE_FIRED = 0xa };
#define CQ_STATUS_OVERFLOW 0x9
/* The doorbell record: consumer counter; then, as in the UAR, sequence number 29:28, solicited only
 * 24, consumer counter 23:0 */
#define CQ_SOLICITED 0x01000000u
#define CQ_RESERVED  0xce000000u /* the other bits above the counter are the doorbell's number */
enum {
	CQE_RSS_HASH = 0x0c,
	CQE_RSS_TYPE = 0x10,
	CQE_CHECKSUM = 0x14,
	CQE_FLAGS_RQPN = 0x18,
	CQE_OK = 0x1c,
	CQE_HEADERS = 0x1d,
	CQE_VLAN = 0x1e,
	CQE_BYTE_COUNT = 0x2c,
	CQE_TIMESTAMP = 0x30,
	CQE_SYNDROME = 0x37,
	CQE_OPCODE_QPN = 0x38,
	CQE_COUNTER = 0x3c,
	CQE_OP_OWN = 0x3f,
};
enum cqe_opcode {
	CQE_REQUESTER = 0x0,
	CQE_RECEIVED = 0x2,
	CQE_REQ_ERROR = 0xd,
	CQE_RX_ERROR = 0xe,
	CQE_INVALID = 0xf,
};
#define CQE_COMPRESSED 0x0cu /* LINUX: CQE_OP_OWN: format of a title; elsewhere 0 */
/* LINUX: mini CQE: hash, or checksum in its first half; byte count */
enum { MINI_CQE_BYTES = 8, MINI_CQES = CQE_BYTES / MINI_CQE_BYTES, MINI_CQE_BYTE_COUNT = 4 };
enum mini_format { MINI_HASH = 0, MINI_CHECKSUM = 1 };
enum { RSS_IPV4 = 1 << 2, RSS_IPV6 = 2 << 2, RSS_TCP = 1 << 6, RSS_UDP = 2 << 6 };
enum { CQE_L2_OK = 1, CQE_L3_OK = 2, CQE_L4_OK = 4 };
enum { CQE_STRIPPED = 1, CQE_FRAGMENT = 2, CQE_IPV6 = 1 << 2, CQE_IPV4 = 2 << 2 };
enum {
	CQE_L4_TCP = 1 << 4,
	CQE_L4_UDP = 2 << 4,
	CQE_L4_TCP_ACK = 3 << 4, /* without data */
	CQE_L4_TCP_DATA = 4 << 4, /* ACK with data */
};
enum cqe_syndrome {
	SYNDROME_NONE = 0x00,
	SYNDROME_LOCAL_LENGTH = 0x01,
	SYNDROME_LOCAL_QP_OP = 0x02,
	SYNDROME_LOCAL_PROTECTION = 0x04,
	SYNDROME_FLUSHED = 0x05,
};

/* --- Memory Key --- */

#define MKC_AT      0x10
#define MKC_MODE_HIGH FIELD(0x00, 28, 26)
#define MKC_FREE    BIT(0x00, 30)
#define MKC_LOCAL_WRITE BIT(0x00, 11)
#define MKC_LOCAL_READ  BIT(0x00, 10)
#define MKC_MODE    FIELD(0x00, 9, 8)
#define MKC_QPN     FIELD(0x04, 31, 8)
#define MKC_VARIANT FIELD(0x04, 7, 0)
#define MKC_LENGTH64 BIT(0x0c, 31)
#define MKC_PD      FIELD(0x0c, 23, 0)
#define MKC_START   0x10
#define MKC_LENGTH  0x18
#define MKC_MODE_PA 0
#define MKEY_NO_QPN 0xffffffu
#define LKEY_TERMINATE 0x100u /* LINUX: ends a scatter list */

/* --- Work Queue, within the contexts of SQ and RQ --- */

#define WQ_AT         0x30
#define WQ_TYPE       FIELD(0x00, 31, 28)
#define WQ_SIGNED     BIT(0x00, 27)
#define WQ_PADDING    FIELD(0x00, 26, 25)
#define WQ_OFFSET     FIELD(0x04, 20, 16)
#define WQ_PD         FIELD(0x08, 23, 0)
#define WQ_UAR        FIELD(0x0c, 23, 0)
#define WQ_DBR        0x10
#define WQ_HW_COUNTER FIELD(0x18, 31, 0)
#define WQ_LOG_STRIDE FIELD(0x20, 19, 16)
#define WQ_LOG_PAGE   FIELD(0x20, 12, 8)
#define WQ_LOG_SIZE   FIELD(0x20, 4, 0)
#define WQ_PAS        0xc0
enum { WQ_CYCLIC = 1 };
enum { DBR_RECEIVE = 0, DBR_SEND = 4, DBR_BYTES = 8 };

/* CREATE and MODIFY of SQ, RQ, TIS, TIR, RQT: offset of the context. */
#define CONTEXT_AT   0x20
#define MODIFY_STATE FIELD(0x08, 31, 28) /* the driver's idea of the state */
#define MODIFY_MASK  FIELD(0x14, 31, 0)
enum queue_state { QUEUE_RST = 0, QUEUE_RDY = 1, QUEUE_ERR = 3 };

/* --- SQ, RQ, TIS, TIR, RQT --- */

#define SQC_MIN_INLINE   FIELD(0x00, 26, 24)
#define SQC_FLUSH        BIT(0x00, 28)
#define SQC_STATE        FIELD(0x00, 23, 20)
#define SQC_CQN          FIELD(0x08, 23, 0)
#define SQC_TIS_COUNT    FIELD(0x20, 31, 16)
#define SQC_TIS          FIELD(0x2c, 23, 0)

#define RQC_KEEP_VLAN    BIT(0x00, 28)
#define RQC_FLUSH        BIT(0x00, 18)
#define RQC_SCATTER_FCS  BIT(0x00, 29)
#define RQC_MEMORY       FIELD(0x00, 27, 24)
#define RQC_STATE        FIELD(0x00, 23, 20)
#define RQC_CQN          FIELD(0x08, 23, 0)
#define RQC_COUNTER      FIELD(0x0c, 31, 24)
enum { RQ_MODIFY_KEEP_VLAN = 2, RQ_MODIFY_COUNTER = 8 };

#define TISC_TD          FIELD(0x24, 23, 0)

#define TIRC_TYPE        FIELD(0x04, 31, 28)
#define TIRC_RQN         FIELD(0x1c, 23, 0)
#define TIRC_SYMMETRIC   BIT(0x20, 31)
#define TIRC_RQT         FIELD(0x20, 23, 0)
#define TIRC_HASH        FIELD(0x24, 31, 28)
#define TIRC_SELF_LB     FIELD(0x24, 25, 24)
#define TIRC_TD          FIELD(0x24, 23, 0)
#define TIRC_KEY         0x28
#define TIRC_L3          BIT(0x50, 31) /* 1: IPv6 */
#define TIRC_L4          BIT(0x50, 30) /* 1: UDP */
#define TIRC_SELECTED    FIELD(0x50, 29, 0)
/* Despite its name self_lb_block, the field selects what is let in, as its older name self_lb_en
 * says: LINUX sets it for ethtool -t, DPDK for its loopback mode. */
enum { SELF_LB_UNICAST = 1, SELF_LB_MULTICAST = 2 };
enum { TIR_DIRECT = 0, TIR_INDIRECT = 1 };
enum { HASH_NONE = 0, HASH_INVERTED_XOR8 = 1, HASH_TOEPLITZ = 2 };
enum {
	SELECT_SRC_IP = 1,
	SELECT_DST_IP = 2,
	SELECT_SRC_PORT = 4,
	SELECT_DST_PORT = 8,
	SELECT_SPI = 16,
};
enum { TIR_MODIFY_LRO = 1, TIR_MODIFY_HASH = 4, TIR_MODIFY_SELF_LB = 16 };

#define RQTC_MAX         FIELD(0x14, 15, 0)
#define RQTC_SIZE        FIELD(0x18, 15, 0)
#define RQTC_LIST        0xf0

/* --- Flow Tables --- */

#define FLOW_TYPE        FIELD(0x10, 31, 24)
#define FLOW_TABLE       FIELD(0x14, 23, 0)
#define FLOW_TYPE_NIC_RX 0
#define TABLE_MISS       FIELD(0x18, 27, 24) /* CREATE_FLOW_TABLE, MODIFY_FLOW_TABLE */
#define TABLE_LEVEL      FIELD(0x18, 23, 16)
#define TABLE_LOG_SIZE   FIELD(0x18, 7, 0)
#define TABLE_MISS_ID    FIELD(0x1c, 23, 0)
#define TABLE_MODIFY     FIELD(0x0c, 15, 0)
enum { MISS_DEFAULT = 0, MISS_TABLE = 1 };
#define GROUP_START      FIELD(0x1c, 31, 0)
#define GROUP_END        FIELD(0x24, 31, 0)
#define GROUP_CRITERIA   FIELD(0x3c, 7, 0)
#define GROUP_MATCH      0x40
#define GROUP_ID         FIELD(0x18, 31, 0) /* DESTROY_FLOW_GROUP */
#define CRITERIA_OUTER   1
#define FTE_MODIFY       FIELD(0x18, 7, 0)
enum { FTE_MODIFY_ACTION = 1, FTE_MODIFY_TAG = 2, FTE_MODIFY_LIST = 4 };
#define FTE_ANY_LEVEL    BIT(0x18, 31)
#define FTE_INDEX        FIELD(0x20, 31, 0)
#define FTE_AT           0x40
#define FTE_GROUP        FIELD(0x04, 31, 0)
#define FTE_TAG          FIELD(0x08, 23, 0)
#define FTE_ACTION       FIELD(0x0c, 15, 0)
#define FTE_DESTINATIONS FIELD(0x10, 23, 0)
#define FTE_COUNTERS     FIELD(0x14, 23, 0)
#define FTE_VALUE        0x40
#define FTE_LIST         0x300
#define DEST_TYPE        FIELD(0x00, 31, 24)
#define DEST_ID          FIELD(0x00, 23, 0)
enum { ACTION_ALLOW = 1, ACTION_DROP = 2, ACTION_FORWARD = 4 };
enum { DEST_TABLE = 1, DEST_TIR = 2 };

/* Of the 512 bytes that can be matched, this model knows the first part: outer headers. */
#define MATCH_BYTES 64u
#define MATCH_WORDS (MATCH_BYTES / 8)
#define MATCH_ALL   512u
enum { MATCH_SMAC = 0x00, MATCH_DMAC = 0x08 };
#define MATCH_ETHERTYPE  FIELD(0x04, 15, 0)
#define MATCH_TCI        FIELD(0x0c, 15, 0)
#define MATCH_PROTOCOL   FIELD(0x10, 31, 24)
#define MATCH_TOS        FIELD(0x10, 23, 16)
#define MATCH_CVLAN      BIT(0x10, 15)
#define MATCH_FRAGMENT   BIT(0x10, 13)
#define MATCH_IP_VERSION FIELD(0x10, 12, 9)
#define MATCH_TCP_FLAGS  FIELD(0x10, 8, 0)
#define MATCH_TCP_PORTS  FIELD(0x14, 31, 0)
#define MATCH_TTL        FIELD(0x18, 7, 0)
#define MATCH_UDP_PORTS  FIELD(0x1c, 31, 0)
enum { MATCH_SRC_IP = 0x20, MATCH_DST_IP = 0x30 };

/* --- Port Registers --- */

#define ACCESS_AT 0x10u /* the register in ACCESS_REG; op_mod: 0 write, 1 read */

/* --- NIC Vport Context --- */

#define VPORT_OTHER       BIT(0x08, 31)
#define VPORT_NUMBER      FIELD(0x08, 15, 0)
#define VPORT_LIST_WANTED FIELD(0x0c, 26, 24) /* QUERY_NIC_VPORT_CONTEXT */
#define VPORT_SELECT      FIELD(0x0c, 31, 0)  /* MODIFY_NIC_VPORT_CONTEXT */
#define VPORT_QUERY_AT    0x10
#define VPORT_MODIFY_AT   0x100
#define VPORT_MIN_INLINE  FIELD(0x00, 26, 24)
#define VPORT_LOCAL_LB    FIELD(0x00, 2, 1) /* bits that disable it */
#define VPORT_EVENTS      FIELD(0x04, 31, 0)
#define VPORT_MTU         FIELD(0x24, 15, 0)
#define VPORT_GUIDS       0x28
#define VPORT_PROMISC     FIELD(0xf0, 31, 29)
#define VPORT_LIST_TYPE   FIELD(0xf0, 26, 24)
#define VPORT_LIST_SIZE   FIELD(0xf0, 11, 0)
#define VPORT_PERMANENT   0xf4
#define VPORT_LIST        0x100
enum { LIST_UNICAST = 0, LIST_MULTICAST = 1, LIST_VLAN = 2, LISTS = 3 };
enum { PROMISC_ALL = 1, PROMISC_MULTICAST = 2, PROMISC_UNICAST = 4 };
enum {
	SELECT_ADDRESSES = 1 << 2,
	SELECT_PERMANENT = 1 << 3,
	SELECT_PROMISC = 1 << 4,
	SELECT_EVENTS = 1 << 5,
	SELECT_MTU = 1 << 6,
	SELECT_MIN_INLINE = 1 << 7,
	SELECT_NO_LB_MULTICAST = 1 << 10,
	SELECT_NO_LB_UNICAST = 1 << 11,
};
enum { NO_LB_UNICAST = 1, NO_LB_MULTICAST = 2 };
#define VPORT_STATE_ADMIN FIELD(0x0c, 7, 4)
#define VPORT_STATE       FIELD(0x0c, 3, 0)

/* --- Send WQE --- */

#define WQEBB 64u
enum { WQE_DS = 16, WQE_CTRL_FLAGS = 0x0b, WQE_ETH = 0x10 };
#define WQE_INDEX  FIELD(0x00, 23, 8)
#define WQE_OPCODE FIELD(0x00, 7, 0)
#define WQE_QPN    FIELD(0x04, 31, 8)
#define WQE_DS_COUNT FIELD(0x04, 5, 0)
#define WQE_COMPLETION FIELD(0x08, 3, 2)
enum { WQE_NOP = 0x00, WQE_SEND = 0x0a, WQE_LSO = 0x0e, WQE_MULTI_PACKET = 0x29 };
enum { COMPLETION_ON_ERROR = 0, COMPLETION_FIRST_ERROR = 1, COMPLETION_ALWAYS = 2 };
/* Ethernet segment, from its start */
#define ETH_CSUM   FIELD(0x04, 31, 24)
#define ETH_MSS    FIELD(0x04, 13, 0)
#define ETH_INLINE FIELD(0x0c, 25, 16)
#define ETH_INSERT_VLAN BIT(0x0c, 31)
#define ETH_VLAN   FIELD(0x0c, 15, 0)
enum { ETH_INLINE_AT = 0x0e, ETH_CSUM_L3 = 0x40, ETH_CSUM_L4 = 0x80 };
/* Data segment */
#define SEG_INLINE BIT(0x00, 31)
#define SEG_BYTES  FIELD(0x00, 30, 0)
#define SEG_LKEY   FIELD(0x04, 31, 0)
enum { SEG_ADDRESS = 0x08 };
/* Bits of the control and Ethernet segments that must be 0 without capabilities that this model
 * lacks: opmod, inner checksums, the software parser, metadata. In rows of 32 bits from the start
 * of the WQE. */
#define WQE_RESERVED                                                                               \
	{0xff000000, 0x000000c0, 0x00ffff11, 0, 0xffffffff, 0x30ffc000, 0xffffffff, 0x7c000000}
/* Headers that must be inline, by min_wqe_inline_mode */
enum { INLINE_NONE = 0, INLINE_L2 = 1, INLINE_IP = 2, INLINE_TCP_UDP = 3 };

#endif
