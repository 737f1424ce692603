/*
 * State of one ConnectX-5 and what its files call of each other.
 *
 * What the guest makes by commands are objects: each kind lies in an array of struct nic, and its
 * number, by which commands and queue entries name it, is the index plus the first number of the
 * kind. Kinds have disjoint numbers where the manual lets them, and a number is not given again
 * before all others have been: a driver that mixes two up, or uses one too long, is caught.
 */
#ifndef NICSIM_MLX5_STATE_H
#define NICSIM_MLX5_STATE_H

#include "tools/nicsim/mlx5/spec.h"
#include "tools/nicsim/model.h"
#include "tools/nicsim/packet/headers.h"

#define VECTORS 64
#define NEVER   UINT64_MAX

#define CMD_DATA_MAX (16u << 10) /* of a command, each way */
#define PAGES_MAX    1024u       /* that the guest may have given */
#define TIMER_KHZ    156250u

/* How many there can be of what, and how large: what the capabilities say. */
enum {
	LOG_EQS = 6,
	LOG_EQ_SIZE_MAX = 16,
	LOG_CQS = 10,
	LOG_CQ_SIZE_MAX = 16,
	LOG_MKEYS = 8,
	LOG_PDS = 6,
	LOG_TDS = 4,
	LOG_SQS = 8,
	LOG_RQS = 8,
	LOG_WQ_SIZE_MAX = 15,
	LOG_RQ_STRIDE_MIN = 4,
	LOG_RQ_STRIDE_MAX = 9,
	WQE_BYTES_MAX = 1024,
	LOG_TISES = 6,
	LOG_TIRS = 7,
	LOG_RQTS = 5,
	LOG_RQT_SIZE_MAX = 9,
	COUNTERS = 64,
	LOG_LIST_MAX = 7,
	LOG_TABLES = 6,
	LOG_FT_SIZE_MAX = 16,
	FT_LEVELS = 64,
	LOG_FTES = 12,
};

enum fault {
	FAULT_INITIALIZING,
	FAULT_COMMAND_TIMEOUT,
	FAULT_COMMAND_STATUS,
	FAULT_COMMAND_DELIVERY,
	FAULT_HEALTH_STUCK,
	FAULT_HEALTH_SYNDROME,
	FAULTS_OF_MLX5,
};

/* --- commands, cmd.c --- */

struct command {
	const struct command_row *row;
	const uint8_t *in;
	uint8_t *out; /* zeroed before */
	uint32_t in_bytes, out_bytes;
};

/* A command's own part: checks all, then acts, and says how it went. */
typedef enum status (*command_do)(struct model *m, struct command *c);

/* Bits of a command's fixed input that may be set, of the row of 32 at `at`: all others are reserved.
 * Lists end with bits 0. */
struct input_bits {
	uint16_t at;
	uint32_t bits;
};

/* What the HCA's state must be, as in the bring-up sequence of "Driver Initialization":
 *
 *     DISABLED --ENABLE_HCA--> ENABLED --INIT_HCA--> READY
 *     READY --TEARDOWN_HCA--> ENABLED --DISABLE_HCA--> DISABLED                        */
enum hca_state { HCA_DISABLED, HCA_ENABLED, HCA_READY };
enum when { WHEN_ALWAYS, WHEN_ENABLED, WHEN_READY };

struct command_row {
	uint16_t opcode;
	const char *name;
	uint16_t in_bytes, out_bytes; /* at least; of the input, the fixed part */
	enum when when;
	command_do run;
	const struct input_bits *bits; /* NULL: none but opcode and op_mod */
};

/* --- the whole --- */

struct nic {
	/* --- mlx5.c --- */
	uint64_t born;      /* when it was reset: counters and timer start there */
	uint64_t ready_due; /* when INITIALIZING clears; 0: it has */
	uint64_t stuck_at;  /* fault health-stuck: since when */

	/* --- cmd.c --- */
	uint64_t queue;      /* bus address of the command queue */
	uint32_t rung;       /* slots whose doorbell has rung */
	uint64_t command_due;
	uint8_t in[CMD_DATA_MAX], out[CMD_DATA_MAX];
	uint64_t commands, commands_refused;

	/* --- hca.c --- */
	enum hca_state state;
	uint16_t issi;
	uint64_t page[PAGES_MAX]; /* given by the guest, in no order */
	unsigned pages;
	uint8_t general[256]; /* the general capabilities as they are; caps.c */
};

static inline struct nic *nic_of(const struct model *m)
{
	return m->state;
}

/* The registers as bytes in the guest's order. */
static inline uint8_t *registers(const struct model *m)
{
	return (uint8_t *)m->bar0;
}

/* --- cmd.c --- */
void cmd_reset(struct model *m);
void cmd_doorbell(struct model *m, uint32_t slots);
void cmd_work(struct model *m);
uint64_t cmd_deadline(const struct model *m);
/*
 * The command does not do: reports why, and gives it a syndrome. Returns `status`. What a driver may
 * ask for to find out whether it is there (STATUS_BAD_OP) is no violation.
 */
enum status refuse(struct model *m, struct command *c, enum status status, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* --- commands.c --- */
const struct command_row *command_find(uint16_t opcode); /* NULL: no such command */

/* --- caps.c --- */
void caps_reset(struct model *m);
/* Of the general capabilities as they are. */
static inline uint32_t cap(const struct model *m, struct field f)
{
	return field_get(nic_of(m)->general, f);
}
#define CAP_CMDIF_CHECKSUM FIELD(0x40, 15, 14)
enum { CHECKSUM_OFF = 0, CHECKSUM_INITIAL = 1, CHECKSUM_ON = 3 };
enum status caps_query(struct model *m, struct command *c);
enum status caps_set(struct model *m, struct command *c);

/* --- hca.c --- */
void hca_reset(struct model *m);
enum status hca_enable(struct model *m, struct command *c);
enum status hca_disable(struct model *m, struct command *c);
enum status hca_init(struct model *m, struct command *c);
enum status hca_teardown(struct model *m, struct command *c);
enum status hca_query_issi(struct model *m, struct command *c);
enum status hca_set_issi(struct model *m, struct command *c);
enum status hca_query_pages(struct model *m, struct command *c);
enum status hca_manage_pages(struct model *m, struct command *c);
enum status hca_driver_version(struct model *m, struct command *c);
enum status hca_query_adapter(struct model *m, struct command *c);

#endif
