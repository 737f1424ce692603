/*
 * Commands to the firmware (PRM, "Command Interface"): entry, mailboxes, token, signatures, and
 * errors as readable text.
 *
 * Order: mailboxes and entry with its owner bit, then (write barrier) the doorbell. Owner bit
 * clear, then (acquire) status and output.
 *
 * The driver always computes signatures, because firmware may check them until it is told not to
 * (HCA_CAP.cmdif_checksum). It does not check signatures of answers: firmware that checks none
 * makes none. It does check the tokens of answers, which reveal a block of another command.
 */
#include "drivers/mlx5/device.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "lib/assert.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

#define LOG_SIZE_MIN 2     /* entries for our slots */
#define LOG_SIZE_MAX 5
#define LOG_STRIDE_MIN 6

const char *mlx5_cmd_name(uint32_t opcode)
{
	switch (opcode) {
#define NAME(name, value) case value: return #name;
	MLX5_COMMANDS(NAME)
#undef NAME
	default: return "unknown command opcode";
	}
}

static const char *status_text(uint32_t status)
{
	switch (status) {
	case 0x00: return "OK";
	case 0x01: return "internal error";
	case 0x02: return "bad operation";
	case 0x03: return "bad parameter";
	case 0x04: return "bad system state";
	case 0x05: return "bad resource";
	case 0x06: return "resource busy";
	case 0x08: return "limits exceeded";
	case 0x09: return "bad resource state";
	case 0x0a: return "bad index";
	case 0x0f: return "no resources";
	case 0x10: return "bad QP state";
	case 0x30: return "bad packet (discarded)";
	case 0x40: return "bad size too many outstanding CQEs";
	case 0x50: return "bad input length";
	case 0x51: return "bad output length";
	default: return "unknown status";
	}
}

/* Delivery status of the entry itself: the command was not even read. */
static const char *delivery_text(uint32_t status)
{
	switch (status) {
	case 0x1: return "signature error";
	case 0x2: return "token error";
	case 0x3: return "bad block number";
	case 0x4: return "output pointer not aligned to block size";
	case 0x5: return "input pointer not aligned to block size";
	case 0x6: return "firmware internal error";
	case 0x7: return "command input length error";
	case 0x8: return "command output length error";
	case 0x9: return "reserved fields not cleared";
	case 0x10: return "bad command descriptor type";
	default: return "unknown delivery status";
	}
}

/* --- the queue --- */

static const unsigned blocks_of[MLX5_SLOTS] = {
	[MLX5_SLOT_MAIN] = MLX5_MAIN_BLOCKS,
	[MLX5_SLOT_PAGES] = MLX5_PAGES_BLOCKS,
	[MLX5_SLOT_BACKGROUND] = MLX5_BACKGROUND_BLOCKS,
};

/* Pages use the last entry, as in other drivers: firmware may expect that. */
static void lay_out_slots(struct mlx5_memory *m, unsigned log_size, unsigned log_stride)
{
	uint8_t *block = m->block[0], *in = m->text[0], *out = m->text[1];
	for (unsigned i = 0; i < MLX5_SLOTS; i++) {
		struct mlx5_slot *s = &m->slot[i];
		unsigned number = i == MLX5_SLOT_PAGES ? (1u << log_size) - 1 : i;
		*s = (struct mlx5_slot){.number = (uint8_t)number};
		s->entry = m->queue + ((size_t)s->number << log_stride);
		s->in_block = block;
		s->out_block = block + (size_t)blocks_of[i] * MLX5_BLOCK_STRIDE;
		block += 2 * (size_t)blocks_of[i] * MLX5_BLOCK_STRIDE;
		s->in = in;
		s->out = out;
		s->most = MLX5_LENGTH(blocks_of[i]);
		in += s->most;
		out += s->most;
	}
}

int mlx5_cmd_open(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	uint32_t low = mlx5_read(nic, MLX5_CMDQ_ADDR_LOW);
	unsigned log_size = MLX5_CMDQ_LOG_SIZE(low), log_stride = MLX5_CMDQ_LOG_STRIDE(low);
	uint64_t bus = dma_addr(d->memory->queue).bus;
	if (mlx5_read(nic, MLX5_CMDIF_REV) >> MLX5_CMDIF_REV_SHIFT != MLX5_CMDIF_REV_KNOWN)
		return mlx5_fail(nic, E_NOTSUP, "command interface of another revision");
	if (log_size < LOG_SIZE_MIN || log_size > LOG_SIZE_MAX || log_stride < LOG_STRIDE_MIN ||
	    MLX5_PAGE_BYTES >> log_size >> log_stride == 0)
		return mlx5_fail(nic, E_DEVICE, "the command queue has a size that cannot be");
	memset(d->memory->queue, 0, MLX5_PAGE_BYTES);
	lay_out_slots(d->memory, log_size, log_stride);
	barrier_write();
	mlx5_write(nic, MLX5_CMDQ_ADDR_HIGH, (uint32_t)(bus >> 32));
	mlx5_write(nic, MLX5_CMDQ_ADDR_LOW, (uint32_t)bus);
	return mlx5_wait_ready(nic, d->timeouts.queue, "firmware does not take the command queue");
}

/* --- a command --- */

uint8_t *mlx5_cmd_begin(struct nic *nic, enum mlx5_slot_name name, enum mlx5_command command,
                        uint32_t op_mod, uint32_t in_bytes, uint32_t out_bytes)
{
	struct mlx5_slot *s = &mlx5_device(nic)->memory->slot[name];
	assert(!s->busy && in_bytes <= s->most && out_bytes <= s->most);
	s->in_bytes = in_bytes;
	s->out_bytes = out_bytes;
	memset(s->in, 0, in_bytes);
	memset(s->out, 0, out_bytes);
	mlx5_set(s->in, MLX5_IN_OPCODE, command);
	mlx5_set(s->in, MLX5_IN_OP_MOD, op_mod);
	return s->in;
}

/* XOR over all bytes including the signature is then all ones. */
static uint8_t signature(const uint8_t *at, size_t n)
{
	uint8_t sum = 0xff;
	while (n--)
		sum ^= *at++;
	return sum;
}

static unsigned blocks_for(uint32_t bytes)
{
	uint32_t beyond = bytes > MLX5_CMD_INLINE_BYTES ? bytes - MLX5_CMD_INLINE_BYTES : 0;
	return (beyond + MLX5_BLOCK_DATA_BYTES - 1) / MLX5_BLOCK_DATA_BYTES;
}

/* Chains the blocks that a text of `bytes` needs, fills them with its bytes (NULL: zero), and puts
 * the address of the first into the entry. */
static void put_blocks(const struct mlx5_slot *s, uint8_t *block, const uint8_t *text,
                       uint32_t bytes, unsigned pointer)
{
	unsigned n = blocks_for(bytes);
	mlx5_set64(s->entry, pointer, n ? dma_addr(block).bus : 0);
	for (unsigned i = 0; i < n; i++, block += MLX5_BLOCK_STRIDE) {
		uint32_t at = MLX5_CMD_INLINE_BYTES + i * MLX5_BLOCK_DATA_BYTES, left = bytes - at;
		memset(block, 0, MLX5_BLOCK_BYTES);
		if (text)
			memcpy(block, text + at,
			       left < MLX5_BLOCK_DATA_BYTES ? left : MLX5_BLOCK_DATA_BYTES);
		if (i + 1 < n)
			mlx5_set64(block, MLX5_BLOCK_NEXT, dma_addr(block + MLX5_BLOCK_STRIDE).bus);
		be32_store(block + MLX5_BLOCK_NUMBER, i);
		block[MLX5_BLOCK_TOKEN] = s->token;
		block[MLX5_BLOCK_CONTROL_SIGNATURE] =
			signature(block + MLX5_BLOCK_RESERVED,
		                  MLX5_BLOCK_CONTROL_SIGNATURE - MLX5_BLOCK_RESERVED);
		block[MLX5_BLOCK_SIGNATURE] = signature(block, MLX5_BLOCK_SIGNATURE);
	}
}

void mlx5_cmd_post(struct nic *nic, enum mlx5_slot_name name)
{
	struct mlx5_device *d = mlx5_device(nic);
	struct mlx5_slot *s = &d->memory->slot[name];
	uint8_t *e = s->entry;
	assert(!s->busy);
	s->busy = true;
	s->deadline = nic_deadline(nic, d->timeouts.command);
	if (++d->tokens == 0) /* 0 is not a token */
		d->tokens++;
	s->token = d->tokens;
	memset(e, 0, MLX5_CMD_ENTRY_BYTES);
	e[MLX5_CMD_TYPE] = MLX5_CMD_TYPE_PCI;
	be32_store(e + MLX5_CMD_IN_LENGTH, s->in_bytes);
	be32_store(e + MLX5_CMD_OUT_LENGTH, s->out_bytes);
	memcpy(e + MLX5_CMD_IN_DATA, s->in, u32_min(s->in_bytes, MLX5_CMD_INLINE_BYTES));
	put_blocks(s, s->in_block, s->in, s->in_bytes, MLX5_CMD_IN_POINTER);
	put_blocks(s, s->out_block, NULL, s->out_bytes, MLX5_CMD_OUT_POINTER);
	e[MLX5_CMD_TOKEN] = s->token;
	e[MLX5_CMD_STATUS_OWN] = MLX5_CMD_OWNER_HW;
	e[MLX5_CMD_SIGNATURE] = signature(e, MLX5_CMD_ENTRY_BYTES);
	if (nic->trace)
		mlx5_trace_command(nic, s, true);
	barrier_write();
	if (!d->dead)
		mlx5_write(nic, MLX5_COMMAND_DOORBELL, 1u << s->number);
}

/* --- its answer --- */

/* Sets the error to "NAME(opcode) op_mod(…) failed, " and the reason, in the words of mlx5_core,
 * and names the register, if any. */
static int failed(struct nic *nic, int error, const struct mlx5_slot *s, const char *format, ...)
	PRINTF_LIKE(4, 5);

static int failed(struct nic *nic, int error, const struct mlx5_slot *s, const char *format, ...)
{
	struct fmt_buf b = {.at = mlx5_device(nic)->memory->error, .size = MLX5_ERROR_BYTES};
	uint32_t op = mlx5_get(s->in, MLX5_IN_OPCODE);
	fmt_va_list args;
	if (mlx5_device(nic)->unwinding)
		return error;
	fmt_put(&b, "%s(0x%x) op_mod(0x%x) failed, ", mlx5_cmd_name(op), op,
	        mlx5_get(s->in, MLX5_IN_OP_MOD));
	__builtin_va_start(args, format);
	fmt_vput(&b, format, args);
	__builtin_va_end(args);
	if (op == MLX5_ACCESS_REG)
		fmt_put(&b, ", register 0x%x", mlx5_get(s->in, MLX5_ACCESS_REG_ID));
	nic->error = b.at;
	return error;
}

/* Copies the output from the mailboxes. False: a block has another command's token. */
static bool take_output(struct mlx5_slot *s)
{
	const uint8_t *block = s->out_block;
	memcpy(s->out, s->entry + MLX5_CMD_OUT_DATA, u32_min(s->out_bytes, MLX5_CMD_INLINE_BYTES));
	for (uint32_t at = MLX5_CMD_INLINE_BYTES; at < s->out_bytes;
	     at += MLX5_BLOCK_DATA_BYTES, block += MLX5_BLOCK_STRIDE) {
		if (block[MLX5_BLOCK_TOKEN] != s->token)
			return false;
		memcpy(s->out + at, block, u32_min(s->out_bytes - at, MLX5_BLOCK_DATA_BYTES));
	}
	return true;
}

/* Invariant 1. */
static int give_up(struct nic *nic, const struct mlx5_slot *s)
{
	mlx5_device(nic)->dead = true;
	if (mlx5_gone(nic))
		return mlx5_fail(nic, E_DEVICE, "");
	return failed(nic, E_TIMEOUT, s, "no answer in %u s",
	              mlx5_device(nic)->timeouts.command / 1000000);
}

int mlx5_cmd_poll(struct nic *nic, enum mlx5_slot_name name)
{
	struct mlx5_device *d = mlx5_device(nic);
	struct mlx5_slot *s = &d->memory->slot[name];
	/* before the read: a late answer still counts */
	bool late = d->dead || nic_past(s->deadline);
	uint8_t own = __atomic_load_n(&s->entry[MLX5_CMD_STATUS_OWN], __ATOMIC_ACQUIRE);
	assert(s->busy);
	if (own & MLX5_CMD_OWNER_HW) {
		s->busy = !late;
		return late ? give_up(nic, s) : E_AGAIN;
	}
	s->busy = false;
	bool taken = take_output(s);
	if (nic->trace)
		mlx5_trace_command(nic, s, false);
	if (own >> 1)
		return failed(nic, E_DEVICE, s, "delivery status %s(0x%x)", delivery_text(own >> 1),
		              own >> 1);
	if (!taken)
		return failed(nic, E_DEVICE, s, "the answer has another command's token");
	uint32_t status = mlx5_get(s->out, MLX5_OUT_STATUS);
	if (status != MLX5_STATUS_OK)
		return failed(nic, E_DEVICE, s, "status %s(0x%x), syndrome (0x%x)",
		              status_text(status), status, mlx5_get(s->out, MLX5_OUT_SYNDROME));
	return E_OK;
}

bool mlx5_cmd_unknown(struct nic *nic)
{
	return mlx5_get(mlx5_cmd_out(nic, MLX5_SLOT_MAIN), MLX5_OUT_STATUS) ==
	       MLX5_STATUS_BAD_OPERATION;
}

/* The firmware may need pages before it can end a command: events and pages are served
 * meanwhile. */
static int wait(struct nic *nic, enum mlx5_slot_name name)
{
	const struct mlx5_slot *s = &mlx5_device(nic)->memory->slot[name];
	const char *what = mlx5_cmd_name(mlx5_get(s->in, MLX5_IN_OPCODE));
	uint64_t due = 0;
	for (;;) {
		int e = mlx5_cmd_poll(nic, name);
		if (e != E_AGAIN)
			return e;
		mlx5_events_poll(nic);
		mlx5_pages_turn(nic);
		mlx5_waits(nic, &due, s->deadline, what);
		cpu_relax();
	}
}

int mlx5_cmd_run(struct nic *nic)
{
	mlx5_cmd_post(nic, MLX5_SLOT_MAIN);
	return wait(nic, MLX5_SLOT_MAIN);
}

int mlx5_cmd_simple(struct nic *nic, enum mlx5_command command, uint32_t op_mod, uint32_t id)
{
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, command, op_mod, MLX5_PLAIN_BYTES,
	                             MLX5_PLAIN_BYTES);
	mlx5_set(in, MLX5_IN_ID, id);
	return mlx5_cmd_run(nic);
}

int mlx5_cmd_drain(struct nic *nic, enum mlx5_slot_name name)
{
	return mlx5_device(nic)->memory->slot[name].busy ? wait(nic, name) : E_OK;
}
