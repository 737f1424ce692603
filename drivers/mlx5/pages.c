/*
 * Memory for the firmware (PRM, QUERY_PAGES and MANAGE_PAGES): pages of 4 KiB that it wants at
 * bring-up, may request later, and returns at the end. The firmware alone uses them; the driver
 * only records which ones it has.
 *
 * Chunks come from nic->dma_more and are never freed: returned pages are given again.
 */
#include "drivers/mlx5/device.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "lib/assert.h"
#include "lib/mem.h"

#define CHUNK_BYTES ((size_t)MLX5_CHUNK_PAGES * MLX5_PAGE_BYTES)

static struct mlx5_pages *pages_of(struct nic *nic)
{
	return &mlx5_device(nic)->memory->pages;
}

/* --- the pool --- */

static uint64_t *word_of(struct mlx5_pages *p, uint32_t page)
{
	return &p->chunk[page / MLX5_CHUNK_PAGES].given[page % MLX5_CHUNK_PAGES / 64];
}

static uint64_t bus_of(const struct mlx5_pages *p, uint32_t page)
{
	return dma_addr(p->chunk[page / MLX5_CHUNK_PAGES].base +
	                (size_t)(page % MLX5_CHUNK_PAGES) * MLX5_PAGE_BYTES).bus;
}

static bool add_chunk(struct nic *nic)
{
	struct mlx5_pages *p = pages_of(nic);
	uint8_t *base = p->chunks < MLX5_CHUNKS_MAX ? nic->dma_more(CHUNK_BYTES) : NULL;
	if (base)
		p->chunk[p->chunks++] = (struct mlx5_chunk){.base = base};
	return base != NULL;
}

/* Takes a page that the firmware does not have, and marks it as the firmware's. */
static bool take_page(struct nic *nic, uint64_t *bus)
{
	struct mlx5_pages *p = pages_of(nic);
	uint32_t all = p->chunks * MLX5_CHUNK_PAGES;
	if (p->given == all) {
		p->next = all;
		if (!add_chunk(nic))
			return false;
		all += MLX5_CHUNK_PAGES;
	}
	for (;; p->next++) { /* ends: one page is free */
		p->next = p->next < all ? p->next : 0;
		if (!(*word_of(p, p->next) >> p->next % 64 & 1))
			break;
	}
	*word_of(p, p->next) |= 1ull << p->next % 64;
	*bus = bus_of(p, p->next);
	p->given++;
	return true;
}

/* False: the firmware does not have this page. */
static bool put_page(struct mlx5_pages *p, uint64_t bus)
{
	for (uint32_t c = 0; c < p->chunks; c++) {
		uint64_t at = bus - dma_addr(p->chunk[c].base).bus;
		uint32_t page = c * MLX5_CHUNK_PAGES + (uint32_t)(at / MLX5_PAGE_BYTES);
		if (at >= CHUNK_BYTES)
			continue;
		if (at % MLX5_PAGE_BYTES || !(*word_of(p, page) >> page % 64 & 1))
			return false;
		*word_of(p, page) &= ~(1ull << page % 64);
		p->given--;
		return true;
	}
	return false;
}

/* --- giving and taking: one MANAGE_PAGES at a time --- */

static uint8_t *begin(struct nic *nic, uint32_t op_mod, uint32_t n, uint32_t in_pages,
                      uint32_t out_pages)
{
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_PAGES, MLX5_MANAGE_PAGES, op_mod,
	                             MLX5_MANAGE_PAGES_PAS + 8 * in_pages,
	                             MLX5_MANAGE_PAGES_PAS + 8 * out_pages);
	mlx5_set(in, MLX5_MANAGE_PAGES_FUNCTION, pages_of(nic)->function);
	mlx5_set(in, MLX5_MANAGE_PAGES_ENTRIES, n);
	return in;
}

static void give_some(struct nic *nic)
{
	struct mlx5_pages *p = pages_of(nic);
	uint32_t wanted = (uint32_t)p->wanted;
	uint32_t n = wanted < MLX5_PAGES_AT_ONCE ? wanted : MLX5_PAGES_AT_ONCE;
	uint8_t *in = begin(nic, MLX5_MANAGE_PAGES_GIVE, n, n, 0);
	uint32_t got = 0;
	uint64_t bus;
	for (; got < n && take_page(nic, &bus); got++)
		mlx5_set64(in, MLX5_MANAGE_PAGES_PAS + 8 * got, bus);
	p->wanted -= (int32_t)n;
	if (got < n) { /* the firmware is told, and runs on with what it has, or fails */
		while (got--)
			put_page(p, mlx5_get64(in, MLX5_MANAGE_PAGES_PAS + 8 * got));
		begin(nic, MLX5_MANAGE_PAGES_CANT_GIVE, 0, 0, 0);
		p->wanted = 0;
		p->error = mlx5_fail(nic, E_NOMEM, "no memory for the pages that firmware wants");
	}
}

static void take_some(struct nic *nic)
{
	struct mlx5_pages *p = pages_of(nic);
	uint32_t offered = (uint32_t)-p->wanted;
	uint32_t n = offered < MLX5_PAGES_AT_ONCE ? offered : MLX5_PAGES_AT_ONCE;
	begin(nic, MLX5_MANAGE_PAGES_TAKE, n, 0, n);
	p->wanted += (int32_t)n;
}

/* Updates the pool by the result of the command. */
static void settle(struct nic *nic, int error)
{
	struct mlx5_slot *s = &mlx5_device(nic)->memory->slot[MLX5_SLOT_PAGES];
	struct mlx5_pages *p = pages_of(nic);
	uint32_t op_mod = mlx5_get(s->in, MLX5_IN_OP_MOD);
	uint32_t n = mlx5_get(s->out, MLX5_MANAGE_PAGES_OUT_ENTRIES);
	if (error != E_OK)
		p->error = error;
	if (error != E_OK && op_mod == MLX5_MANAGE_PAGES_GIVE && !mlx5_device(nic)->dead)
		for (uint32_t i = mlx5_get(s->in, MLX5_MANAGE_PAGES_ENTRIES); i--;)
			put_page(p, mlx5_get64(s->in, MLX5_MANAGE_PAGES_PAS + 8 * i)); /* refused */
	if (error != E_OK || op_mod != MLX5_MANAGE_PAGES_TAKE)
		return;
	bool good = n <= mlx5_get(s->in, MLX5_MANAGE_PAGES_ENTRIES);
	for (uint32_t i = 0; good && i < n; i++)
		good = put_page(p, mlx5_get64(s->out, MLX5_MANAGE_PAGES_PAS + 8 * i));
	if (!good)
		p->error = mlx5_fail(nic, E_DEVICE, "firmware gives back pages that it has not");
}

void mlx5_pages_turn(struct nic *nic)
{
	struct mlx5_slot *s = &mlx5_device(nic)->memory->slot[MLX5_SLOT_PAGES];
	struct mlx5_pages *p = pages_of(nic);
	if (s->busy) {
		int e = mlx5_cmd_poll(nic, MLX5_SLOT_PAGES);
		if (e == E_AGAIN)
			return;
		settle(nic, e);
	}
	if (mlx5_device(nic)->dead && p->error == E_OK)
		p->error = E_DEVICE;
	if (p->wanted == 0 || mlx5_device(nic)->dead)
		return;
	if (p->wanted > 0)
		give_some(nic);
	else
		take_some(nic);
	mlx5_cmd_post(nic, MLX5_SLOT_PAGES);
}

void mlx5_pages_event(struct nic *nic, uint16_t function, int32_t pages)
{
	struct mlx5_pages *p = pages_of(nic);
	int32_t most = (int32_t)(MLX5_CHUNKS_MAX * MLX5_CHUNK_PAGES);
	if (function == p->function && pages <= most && pages >= -most && p->wanted <= most &&
	    p->wanted >= -most)
		p->wanted += pages;
}

/* Continues until no request is left. */
static int turn_to_end(struct nic *nic)
{
	struct mlx5_pages *p = pages_of(nic);
	const struct mlx5_slot *s = &mlx5_device(nic)->memory->slot[MLX5_SLOT_PAGES];
	do {
		mlx5_pages_turn(nic);
		cpu_relax();
	} while (s->busy || (p->wanted && p->error == E_OK));
	return p->error;
}

int mlx5_pages_give(struct nic *nic, uint32_t when)
{
	struct mlx5_pages *p = pages_of(nic);
	int e = mlx5_cmd_simple(nic, MLX5_QUERY_PAGES, when, 0);
	const uint8_t *out = mlx5_cmd_out(nic, MLX5_SLOT_MAIN);
	uint32_t n = mlx5_get(out, MLX5_QUERY_PAGES_NUMBER);
	if (e != E_OK)
		return e;
	if (n > MLX5_CHUNKS_MAX * MLX5_CHUNK_PAGES)
		return mlx5_fail(nic, E_DEVICE, "firmware wants more pages than can be");
	p->function = (uint16_t)mlx5_get(out, MLX5_QUERY_PAGES_FUNCTION);
	p->wanted = (int32_t)n;
	p->error = E_OK;
	return turn_to_end(nic);
}

int mlx5_pages_reclaim(struct nic *nic)
{
	struct mlx5_pages *p = pages_of(nic);
	const uint32_t us = mlx5_device(nic)->timeouts.reclaim; /* without a page being returned */
	uint64_t end = nic_deadline(nic, us);
	mlx5_cmd_drain(nic, MLX5_SLOT_PAGES);
	p->wanted = 0;
	p->error = E_OK;
	while (p->given) {
		uint32_t had = p->given;
		p->wanted = -(int32_t)p->given;
		int e = turn_to_end(nic);
		if (e != E_OK)
			return e;
		if (p->given < had)
			end = nic_deadline(nic, us);
		else if (nic_past(end))
			return mlx5_fail(nic, E_TIMEOUT, "firmware does not give its pages back");
	}
	return E_OK;
}

void mlx5_pages_forget(struct nic *nic)
{
	struct mlx5_pages *p = pages_of(nic);
	for (uint32_t c = 0; c < p->chunks; c++)
		memset(p->chunk[c].given, 0, sizeof p->chunk[c].given);
	p->given = 0;
	p->wanted = 0;
	p->error = E_OK;
}
