/*
 * Prints commands as Linux's mlx5_core prints them, without the prefix that printk adds, so that
 * they can be compared with what that driver sends to a card and the card returns. In Linux they
 * are dynamic debug messages:
 *
 *     modprobe mlx5_core dyndbg="func dump_command +p; func dump_buf +p"
 *
 * (not debug_mask=1, which omits the entry and all but the data of each block). Here the word
 * nic-trace=1 on the command line turns them on. tests/witness/test_mlx5.py compares the two.
 */
#include "drivers/mlx5/device.h"

#include "lib/fmt.h"

#define LINE_BYTES 96

static void say(const struct nic *nic, const char *format, ...) PRINTF_LIKE(2, 3);

static void say(const struct nic *nic, const char *format, ...)
{
	char line[LINE_BYTES];
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(line, sizeof line, format, args);
	__builtin_va_end(args);
	nic->trace(line);
}

static void dump(const struct nic *nic, const struct mlx5_slot *s, const uint8_t *at,
                 uint32_t bytes, uint32_t offset)
{
	for (uint32_t i = 0; i < bytes; i += 16)
		say(nic, "cmd[%d]: %03x: %08x %08x %08x %08x", s->number, offset + i,
		    be32_load(at + i), be32_load(at + i + 4), be32_load(at + i + 8),
		    be32_load(at + i + 12));
	say(nic, "%s", "");
}

void mlx5_trace_command(const struct nic *nic, const struct mlx5_slot *s, bool input)
{
	uint32_t op = mlx5_get(s->in, MLX5_IN_OPCODE);
	uint32_t bytes = input ? s->in_bytes : s->out_bytes, offset = MLX5_CMD_ENTRY_BYTES;
	const uint8_t *block = input ? s->in_block : s->out_block;
	say(nic, "cmd[%d]: start dump", s->number);
	say(nic, "cmd[%d]: dump command %s(0x%x) %s", s->number, mlx5_cmd_name(op), op,
	    input ? "INPUT" : "OUTPUT");
	dump(nic, s, s->entry, MLX5_CMD_ENTRY_BYTES, 0);
	for (uint32_t at = MLX5_CMD_INLINE_BYTES; at < bytes;
	     at += MLX5_BLOCK_DATA_BYTES, block += MLX5_BLOCK_STRIDE) {
		say(nic, "cmd[%d]: command block:", s->number);
		dump(nic, s, block, MLX5_BLOCK_BYTES, offset);
		offset += MLX5_BLOCK_BYTES;
	}
	say(nic, "cmd[%d]: end dump", s->number);
}
