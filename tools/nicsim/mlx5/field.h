/*
 * Fields of the structures that device and driver exchange in memory: commands, contexts, queue
 * entries. All are big-endian, and the manual draws them as rows of 32 bits, bit 31 first. So a
 * field is a row and two of its bits, as in the manual:
 *
 *     #define CQC_LOG_CQ_SIZE FIELD(0x0c, 28, 24)
 *     field_get(context, CQC_LOG_CQ_SIZE)
 */
#ifndef NICSIM_MLX5_FIELD_H
#define NICSIM_MLX5_FIELD_H

#include <stdint.h>

#include "tools/nicsim/packet/bytes.h"

struct field {
	uint16_t at;       /* offset of the row in bytes */
	uint8_t high, low; /* bits of the row */
};

#define FIELD(at, high, low) ((struct field){at, high, low})
#define BIT(at, bit) FIELD(at, bit, bit)

static inline uint32_t field_mask(struct field f)
{
	return UINT32_MAX >> (31 - (f.high - f.low));
}

static inline uint32_t field_get(const uint8_t *p, struct field f)
{
	return be32(p + f.at) >> f.low & field_mask(f);
}

static inline void field_set(uint8_t *p, struct field f, uint32_t value)
{
	uint32_t row = be32(p + f.at) & ~(field_mask(f) << f.low);
	put_be32(p + f.at, row | (value & field_mask(f)) << f.low);
}

#endif
