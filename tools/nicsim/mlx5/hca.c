/*
 * The HCA as a whole: enable, give pages, initialise, and the reverse ("Driver Initialization",
 * "Page Management"). The firmware keeps its tables in memory of the guest. QUERY_PAGES says how
 * many pages it wants, and INIT_HCA requires them. This model does not use the pages, but records
 * them, accepts none twice, and returns them on request.
 */
#include <string.h>

#include "tools/nicsim/mlx5/state.h"

#define BOOT_PAGES 16u
#define INIT_PAGES 64u /* in addition to BOOT_PAGES */
#define ISSI_KNOWN 2u  /* bit n: interface step n; 0 is older than the drivers' interface */

void hca_reset(struct model *m)
{
	struct nic *n = nic_of(m);
	object_end_all(m);
	n->state = HCA_DISABLED;
	n->issi = 0;
	n->pages = 0;
}

enum status hca_enable(struct model *m, struct command *c)
{
	struct nic *n = nic_of(m);
	if (n->state != HCA_DISABLED)
		return refuse(m, c, STATUS_BAD_SYS_STATE, "it is enabled");
	n->state = HCA_ENABLED;
	return STATUS_OK;
}

enum status hca_disable(struct model *m, struct command *c)
{
	struct nic *n = nic_of(m);
	if (n->state != HCA_ENABLED)
		return refuse(m, c, STATUS_BAD_SYS_STATE, "before TEARDOWN_HCA");
	if (n->pages)
		return refuse(m, c, STATUS_BAD_SYS_STATE, "%u pages have not been taken back",
		              n->pages);
	n->state = HCA_DISABLED;
	return STATUS_OK;
}

enum status hca_init(struct model *m, struct command *c)
{
	struct nic *n = nic_of(m);
	if (n->state != HCA_ENABLED)
		return refuse(m, c, STATUS_BAD_SYS_STATE, "it is initialised");
	if (n->pages < BOOT_PAGES + INIT_PAGES)
		return refuse(m, c, STATUS_LIMIT, "%u pages given, %u wanted", n->pages,
		              BOOT_PAGES + INIT_PAGES);
	n->state = HCA_READY;
	return STATUS_OK;
}

/* A driver may leave objects behind; they are destroyed. */
enum status hca_teardown(struct model *m, struct command *c)
{
	(void)c;
	object_end_all(m);
	eth_port_abandon(m);
	nic_of(m)->state = HCA_ENABLED;
	return STATUS_OK;
}

enum status hca_query_issi(struct model *m, struct command *c)
{
	field_set(c->out, FIELD(0x08, 15, 0), nic_of(m)->issi);
	field_set(c->out, FIELD(0x6c, 31, 0), ISSI_KNOWN);
	return STATUS_OK;
}

enum status hca_set_issi(struct model *m, struct command *c)
{
	uint32_t issi = field_get(c->in, FIELD(0x08, 15, 0));
	if (issi > 31 || !(ISSI_KNOWN >> issi & 1))
		return refuse(m, c, STATUS_BAD_PARAM, "interface step %u is not known", issi);
	nic_of(m)->issi = (uint16_t)issi;
	return STATUS_OK;
}

/* --- pages --- */

enum status hca_query_pages(struct model *m, struct command *c)
{
	const struct nic *n = nic_of(m);
	const uint32_t which = field_get(c->in, IN_OP_MOD);
	const uint32_t wanted = which == PAGES_BOOT ? BOOT_PAGES : BOOT_PAGES + INIT_PAGES;
	if (which < PAGES_BOOT || which > PAGES_REGULAR)
		return refuse(m, c, STATUS_BAD_PARAM, "op_mod %u", which);
	/* regular: pages wanted in addition, or to be returned (negative); neither ever occurs */
	field_set(c->out, PAGES_COUNT,
	          which == PAGES_REGULAR || n->pages > wanted ? 0 : wanted - n->pages);
	return STATUS_OK;
}

static bool is_given(const struct nic *n, uint64_t page)
{
	for (unsigned i = 0; i < n->pages; i++)
		if (n->page[i] == page)
			return true;
	return false;
}

static enum status give(struct model *m, struct command *c, uint32_t count)
{
	struct nic *n = nic_of(m);
	if (count > PAGES_MAX - n->pages)
		return refuse(m, c, STATUS_LIMIT, "%u pages more than %u", count, n->pages);
	if (c->in_bytes < PAGES_AT + 8 * count)
		return refuse(m, c, STATUS_BAD_INPUT_LENGTH, "%u pages in %u bytes", count,
		              c->in_bytes);
	const unsigned before = n->pages;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t page = be64(c->in + PAGES_AT + 8 * i);
		if (page % PAGE || is_given(n, page) ||
		    model_dma(m, page, PAGE, DMA_WRITE, "MANAGE_PAGES") == NULL) {
			n->pages = before;
			return refuse(m, c, STATUS_BAD_PARAM, "page %u is no page, or given before",
			              i);
		}
		n->page[n->pages++] = page;
	}
	return STATUS_OK;
}

static enum status take(struct model *m, struct command *c, uint32_t count)
{
	struct nic *n = nic_of(m);
	if (c->out_bytes < PAGES_AT + 8ull * count)
		return refuse(m, c, STATUS_BAD_OUTPUT_LENGTH, "%u pages in %u bytes", count,
		              c->out_bytes);
	/* an initialised device needs its pages */
	if (n->state == HCA_READY || count > n->pages)
		count = n->state == HCA_READY ? 0 : n->pages;
	for (uint32_t i = 0; i < count; i++)
		put_be64(c->out + PAGES_AT + 8 * i, n->page[--n->pages]);
	field_set(c->out, PAGES_TAKEN, count);
	return STATUS_OK;
}

enum status hca_manage_pages(struct model *m, struct command *c)
{
	const uint32_t count = field_get(c->in, PAGES_COUNT);
	if (field_get(c->in, PAGES_FUNCTION) != 0)
		return refuse(m, c, STATUS_BAD_PARAM, "there is no other function");
	switch (field_get(c->in, IN_OP_MOD)) {
	case PAGES_CANNOT_GIVE:
		return STATUS_OK;
	case PAGES_GIVE:
		return give(m, c, count);
	case PAGES_TAKE:
		return take(m, c, count);
	}
	return refuse(m, c, STATUS_BAD_PARAM, "op_mod %u", field_get(c->in, IN_OP_MOD));
}

/* --- versions and adapter identity --- */

enum status hca_driver_version(struct model *m, struct command *c)
{
	const char *text = (const char *)c->in + 0x10;
	if (memchr(text, '\0', 64) == NULL)
		return refuse(m, c, STATUS_BAD_PARAM, "the text does not end");
	return STATUS_OK;
}

enum status hca_query_adapter(struct model *m, struct command *c)
{
	(void)m;
	static const char board[16] = "MT_0000000012"; /* PSID: "ConnectX-5 EN, one port" */
	field_set(c->out, FIELD(0x28, 23, 0), 0x02c9); /* IEEE: Mellanox */
	field_set(c->out, FIELD(0x2c, 15, 0), 0x15b3);
	memcpy(c->out + 0x100, board, sizeof board);
	return STATUS_OK;
}
