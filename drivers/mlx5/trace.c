/*
 * Commands as Linux's mlx5_core prints them with debug_mask=1, without what printk puts before each
 * line: to be compared with what that driver does to a card.
 */
#include "drivers/mlx5/device.h"

#include "lib/fmt.h"

#define LINE_BYTES 96

static void say(const struct mlx5_device *d, const char *format, ...) PRINTF_LIKE(2, 3);

static void say(const struct mlx5_device *d, const char *format, ...)
{
	char line[LINE_BYTES];
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(line, sizeof line, format, args);
	__builtin_va_end(args);
	d->trace(d->trace_arg, line);
}

static void dump(const struct mlx5_device *d, const struct mlx5_slot *s, const uint8_t *at,
                 uint32_t bytes, uint32_t offset)
{
	for (uint32_t i = 0; i < bytes; i += 16)
		say(d, "cmd[%d]: %03x: %08x %08x %08x %08x", s->number, offset + i,
		    be32_load(at + i), be32_load(at + i + 4), be32_load(at + i + 8),
		    be32_load(at + i + 12));
	say(d, "%s", "");
}

void mlx5_trace_command(const struct mlx5_device *d, const struct mlx5_slot *s, bool input)
{
	uint32_t op = mlx5_get(s->in, MLX5_IN_OPCODE);
	uint32_t bytes = input ? s->in_bytes : s->out_bytes, offset = MLX5_CMD_ENTRY_BYTES;
	const uint8_t *block = input ? s->in_block : s->out_block;
	say(d, "cmd[%d]: start dump", s->number);
	say(d, "cmd[%d]: dump command %s(0x%x) %s", s->number, mlx5_cmd_name(op), op,
	    input ? "INPUT" : "OUTPUT");
	dump(d, s, s->entry, MLX5_CMD_ENTRY_BYTES, 0);
	for (uint32_t at = MLX5_CMD_INLINE_BYTES; at < bytes;
	     at += MLX5_BLOCK_DATA_BYTES, block += MLX5_BLOCK_STRIDE) {
		say(d, "cmd[%d]: command block:", s->number);
		dump(d, s, block, MLX5_BLOCK_BYTES, offset);
		offset += MLX5_BLOCK_BYTES;
	}
	say(d, "cmd[%d]: end dump", s->number);
}
