/*
 * Fields of the structures that the device shares with us in memory and in its registers. All are
 * big-endian 32-bit words. The manual (spec.h) names a field by the offset of its word and its
 * highest and lowest bit, and MLX5_FIELD does the same. 64-bit values are two words, the high one
 * first.
 */
#ifndef DRIVERS_MLX5_FIELD_H
#define DRIVERS_MLX5_FIELD_H

#include "lib/bytes.h"
#include "lib/types.h"

/* Word at byte `offset`, bits high to low. */
#define MLX5_FIELD(offset, high, low) ((offset) << 10 | (high) << 5 | (low))
/* The same field of a structure that begins at byte `at`. */
#define MLX5_AT(at, field) (((uint32_t)(at) << 10) + (field))

static inline uint32_t mlx5_field_offset(uint32_t field) { return field >> 10; }
static inline uint32_t mlx5_field_shift(uint32_t field) { return field & 31; }

static inline uint32_t mlx5_field_mask(uint32_t field)
{
	uint32_t bits = (field >> 5 & 31) - mlx5_field_shift(field) + 1;
	return UINT32_MAX >> (32 - bits);
}

static inline uint32_t mlx5_get(const uint8_t *at, uint32_t field)
{
	uint32_t word = be32_load(at + mlx5_field_offset(field));
	return word >> mlx5_field_shift(field) & mlx5_field_mask(field);
}

/* Keeps the other fields of the word; bits of the value beyond the field are dropped. */
static inline void mlx5_set(uint8_t *at, uint32_t field, uint32_t value)
{
	uint8_t *word = at + mlx5_field_offset(field);
	uint32_t mask = mlx5_field_mask(field), shift = mlx5_field_shift(field);
	be32_store(word, (be32_load(word) & ~(mask << shift)) | (value & mask) << shift);
}

static inline uint64_t mlx5_get64(const uint8_t *at, uint32_t offset)
{
	return (uint64_t)be32_load(at + offset) << 32 | be32_load(at + offset + 4);
}

static inline void mlx5_set64(uint8_t *at, uint32_t offset, uint64_t value)
{
	be32_store(at + offset, (uint32_t)(value >> 32));
	be32_store(at + offset + 4, (uint32_t)value);
}

#endif
