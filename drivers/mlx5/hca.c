/*
 * Bring-up and teardown of the function (PRM, "Driver Initialization and Teardown"), in the
 * manual's order:
 *
 *   firmware ready, command queue, ENABLE_HCA, ISSI, boot pages, host endianness, capabilities read
 *   and set, init pages, INIT_HCA, driver version, capabilities read again
 *
 *   objects, TEARDOWN_HCA, pages back, DISABLE_HCA
 */
#include "drivers/mlx5/device.h"

#include "hal/cpuid.h"
#include "lib/assert.h"
#include "lib/mem.h"

/* We have no queue pairs. Firmware needs pages in proportion to their number, and some queue pairs
 * for itself. */
#define LOG_QP 12
#define INTEL_EBX 0x756e6547 /* of CPUID leaf 0: "Genu" */
#define DRIVER_VERSION "Hayate,mlx5,1.0.0"

/* --- objects --- */

int mlx5_created(struct nic *nic, enum mlx5_command undo, uint32_t id, uint32_t table)
{
	struct mlx5_device *d = mlx5_device(nic);
	struct mlx5_object o = {(uint16_t)undo, id, table};
	if (d->making_rules) {
		assert(d->making_rules->count < MLX5_RULE_OBJECTS);
		d->making_rules->object[d->making_rules->count++] = o;
	} else if (d->making) {
		assert(d->making->objects < MLX5_PAIR_OBJECTS);
		d->making->object[d->making->objects++] = o;
	} else {
		assert(d->objects < MLX5_OBJECTS_MAX);
		d->memory->object[d->objects++] = o;
	}
	return E_OK;
}

int mlx5_create(struct nic *nic, enum mlx5_command undo, uint32_t *id)
{
	int e = mlx5_cmd_run(nic);
	if (e != E_OK)
		return e;
	*id = mlx5_get(mlx5_cmd_out(nic, MLX5_SLOT_MAIN), MLX5_OUT_ID);
	return mlx5_created(nic, undo, *id, 0);
}

/* Begins the command that undoes an object, with its number in the given field. */
static uint8_t *begin_undo(struct nic *nic, const struct mlx5_object *o, uint32_t op_mod,
                           uint32_t bytes, uint32_t id_field)
{
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, (enum mlx5_command)o->undo, op_mod, bytes,
	                             MLX5_PLAIN_BYTES);
	mlx5_set(in, id_field, o->id);
	return in;
}

int mlx5_destroy_object(struct nic *nic, const struct mlx5_object *o)
{
	uint8_t *in;
	switch (o->undo) {
	case MLX5_DELETE_L2_TABLE_ENTRY:
		begin_undo(nic, o, 0, MLX5_L2_ENTRY_BYTES, MLX5_L2_ENTRY_INDEX);
		break;
	case MLX5_SET_FLOW_TABLE_ROOT:
		begin_undo(nic, o, MLX5_ROOT_DISCONNECT, MLX5_FLOW_BYTES, MLX5_FLOW_TABLE_ID);
		break;
	case MLX5_DESTROY_FLOW_TABLE:
		begin_undo(nic, o, 0, MLX5_FLOW_BYTES, MLX5_FLOW_TABLE_ID);
		break;
	case MLX5_DESTROY_FLOW_GROUP:
		in = begin_undo(nic, o, 0, MLX5_FLOW_BYTES, MLX5_FLOW_GROUP_ID);
		mlx5_set(in, MLX5_FLOW_TABLE_ID, o->table);
		break;
	case MLX5_DELETE_FLOW_TABLE_ENTRY:
		in = begin_undo(nic, o, 0, MLX5_FLOW_BYTES, MLX5_FLOW_INDEX);
		mlx5_set(in, MLX5_FLOW_TABLE_ID, o->table);
		break;
	default:
		begin_undo(nic, o, 0, MLX5_PLAIN_BYTES, MLX5_IN_ID);
	}
	return mlx5_cmd_run(nic);
}

/* Destroys the device's objects beyond the first `keep`. After a failure the next bring-up
 * recovers. */
static void destroy_down_to(struct nic *nic, uint32_t keep)
{
	struct mlx5_device *d = mlx5_device(nic);
	while (d->objects > keep) {
		const struct mlx5_object *o = &d->memory->object[--d->objects];
		if (o->undo == MLX5_DESTROY_EQ)
			d->has_eq = false;
		(void)mlx5_destroy_object(nic, o);
	}
}

int mlx5_destroy_pair(struct nic *nic, struct mlx5_pair *pair)
{
	int e = E_OK;
	while (pair->objects && e == E_OK) {
		e = mlx5_destroy_object(nic, &pair->object[pair->objects - 1]);
		pair->objects -= e == E_OK;
	}
	return e;
}

void mlx5_destroy_all(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	d->making = NULL;
	d->making_rules = NULL;
	mlx5_rules_end(nic);
	destroy_down_to(nic, d->base);
	for (unsigned i = NIC_PAIRS_MAX; i--;) {
		struct mlx5_pair *p = &d->memory->pair[i];
		while (p->objects)
			(void)mlx5_destroy_object(nic, &p->object[--p->objects]);
	}
	d->base = 0;
	destroy_down_to(nic, 0);
	d->has_eq = false;
}

/* --- capabilities --- */

static int query_caps(struct nic *nic, uint32_t type, uint32_t current, const uint8_t **caps)
{
	mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_QUERY_HCA_CAP, MLX5_CAP_OP_MOD(type, current),
	               MLX5_PLAIN_BYTES, MLX5_CAP_BYTES);
	*caps = mlx5_cmd_out(nic, MLX5_SLOT_MAIN) + MLX5_CAP;
	return mlx5_cmd_run(nic);
}

/* Sets the current capabilities with only the changes needed here. */
static int set_caps(struct nic *nic)
{
	const uint8_t *caps;
	int e = query_caps(nic, MLX5_CAP_GENERAL, 0, &caps);
	if (e != E_OK)
		return e;
	uint32_t log_qp = mlx5_get(caps, MLX5_CAP_LOG_MAX_QP);
	e = query_caps(nic, MLX5_CAP_GENERAL, 1, &caps);
	if (e != E_OK)
		return e;
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_SET_HCA_CAP,
	                             MLX5_CAP_OP_MOD(MLX5_CAP_GENERAL, 0), MLX5_CAP_BYTES,
	                             MLX5_PLAIN_BYTES);
	uint8_t *to = in + MLX5_CAP;
	memcpy(to, caps, MLX5_CAP_BYTES - MLX5_CAP);
	mlx5_set(to, MLX5_CAP_LOG_MAX_QP, log_qp < LOG_QP ? log_qp : LOG_QP);
	mlx5_set(to, MLX5_CAP_CMDIF_CHECKSUM, 0);
	mlx5_set(to, MLX5_CAP_LOG_UAR_PAGE_SIZE, 0); /* 4 KiB */
	mlx5_set(to, MLX5_CAP_CACHE_LINE_128, 0);
	return mlx5_cmd_run(nic);
}

bool mlx5_cpu_stalls(uint32_t ebx0, uint32_t eax1)
{
	static const uint8_t models[] = {0x3c, 0x3f, 0x45, 0x46,  /* Haswell */
	                                 0x3d, 0x47, 0x4f, 0x56}; /* Broadwell */
	uint32_t family = eax1 >> 8 & 15, model = (eax1 >> 4 & 15) | (eax1 >> 12 & 0xf0);
	for (unsigned i = 0; ebx0 == INTEL_EBX && family == 6 && i < ARRAY_LEN(models); i++)
		if (models[i] == model)
			return true;
	return false;
}

static int learn_general(struct nic *nic)
{
	struct mlx5_caps *c = &mlx5_device(nic)->caps;
	const uint8_t *caps;
	int e = query_caps(nic, MLX5_CAP_GENERAL, 1, &caps);
	if (e != E_OK)
		return e;
	if (mlx5_get(caps, MLX5_CAP_PORT_TYPE) != MLX5_PORT_TYPE_ETHERNET ||
	    !mlx5_get(caps, MLX5_CAP_ETH_NET_OFFLOADS) || !mlx5_get(caps, MLX5_CAP_NIC_FLOW_TABLE))
		return mlx5_fail(nic, E_NOTSUP, "the port is not set to Ethernet");
	const uint32_t log_cqs = mlx5_get(caps, MLX5_CAP_LOG_MAX_CQ);
	uint32_t log_pairs = u32_min(mlx5_get(caps, MLX5_CAP_LOG_MAX_RQ),
	                             mlx5_get(caps, MLX5_CAP_LOG_MAX_SQ));
	if (log_cqs == 0)
		return mlx5_fail(nic, E_NOTSUP, "it has one completion queue, and a queue pair needs two");
	log_pairs = u32_min(log_pairs, log_cqs - 1);
	c->pairs = log_pairs < 6 ? 1u << log_pairs : NIC_PAIRS_MAX;
	c->wqe_bytes = mlx5_get(caps, MLX5_CAP_MAX_WQE_SIZE_SQ);
	c->rqt_size = 1u << u32_min(mlx5_get(caps, MLX5_CAP_LOG_MAX_RQT_SIZE), MLX5_RQT_LOG_MAX);
	c->log_wq_size = (uint8_t)mlx5_get(caps, MLX5_CAP_LOG_MAX_WQ_SIZE);
	c->log_cq_size = (uint8_t)mlx5_get(caps, MLX5_CAP_LOG_MAX_CQ_SIZE);
	c->cqe_compression = mlx5_get(caps, MLX5_CAP_CQE_COMPRESSION);
	c->port_manager = mlx5_get(caps, MLX5_CAP_PORT_MANAGER) && !mlx5_device(nic)->virtual;
	c->eswitch_manager = mlx5_get(caps, MLX5_CAP_ESWITCH_MANAGER);
	bool relaxed = !mlx5_cpu_stalls(cpu_id(0, 0).b, cpu_id(1, 0).a);
	c->relaxed_write = relaxed && mlx5_get(caps, MLX5_CAP_RELAXED_WRITE);
	c->relaxed_read = relaxed && mlx5_get(caps, MLX5_CAP_RELAXED_READ);
	c->driver_version = mlx5_get(caps, MLX5_CAP_DRIVER_VERSION);
	c->no_lb_uc = mlx5_get(caps, MLX5_CAP_NO_LB_UC);
	c->no_lb_mc = mlx5_get(caps, MLX5_CAP_NO_LB_MC);
	return E_OK;
}

static int learn_ethernet(struct nic *nic)
{
	struct mlx5_caps *c = &mlx5_device(nic)->caps;
	const uint8_t *caps;
	int e = query_caps(nic, MLX5_CAP_ETHERNET, 1, &caps);
	if (e != E_OK)
		return e;
	uint32_t log_lso = mlx5_get(caps, MLX5_CAP_LOG_MAX_LSO);
	uint32_t mode = mlx5_get(caps, MLX5_CAP_WQE_INLINE_MODE);
	c->csum = mlx5_get(caps, MLX5_CAP_CSUM);
	c->multi_send = mlx5_get(caps, MLX5_CAP_ENHANCED_MULTI_SEND);
	c->vlan_strip = mlx5_get(caps, MLX5_CAP_VLAN);
	c->vlan_insert = mlx5_get(caps, MLX5_CAP_WQE_VLAN_INSERT);
	c->lso_bytes = log_lso ? 1u << log_lso : 0;
	c->vport_inline = mode == MLX5_CAP_INLINE_VPORT;
	c->inline_mode = mode == MLX5_CAP_INLINE_L2;
	return E_OK;
}

static int learn_flow_tables(struct nic *nic)
{
	const uint8_t *caps;
	int e = query_caps(nic, MLX5_CAP_FLOW_TABLE, 1, &caps);
	if (e == E_OK && (!mlx5_get(caps, MLX5_CAP_RX_FT_SUPPORT) ||
	                  mlx5_get(caps, MLX5_CAP_RX_MAX_FT_LEVEL) < 1))
		return mlx5_fail(nic, E_NOTSUP, "no flow tables for received frames");
	mlx5_device(nic)->caps.frag_match = mlx5_get(caps, MLX5_CAP_RX_OUTER_FRAG);
	mlx5_device(nic)->caps.vlan_match = mlx5_get(caps, MLX5_CAP_RX_OUTER_VID);
	mlx5_device(nic)->caps.flow_level = (uint8_t)mlx5_get(caps, MLX5_CAP_RX_MAX_FT_LEVEL);
	return e;
}

/* --- bring-up --- */

static int choose_issi(struct nic *nic)
{
	mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_QUERY_ISSI, 0, MLX5_PLAIN_BYTES,
	               MLX5_QUERY_ISSI_OUT_BYTES);
	int e = mlx5_cmd_run(nic);
	if (e != E_OK && !mlx5_cmd_unknown(nic))
		return e;
	uint32_t known = mlx5_get(mlx5_cmd_out(nic, MLX5_SLOT_MAIN), MLX5_QUERY_ISSI_SUPPORTED);
	if (e != E_OK || !(known >> MLX5_ISSI_ETHERNET & 1))
		return mlx5_fail(nic, E_NOTSUP, "firmware is too old for Ethernet queues (ISSI 0)");
	return mlx5_cmd_simple(nic, MLX5_SET_ISSI, 0, MLX5_ISSI_ETHERNET);
}

/* x86-64: what a host writes outside of big-endian structures is little-endian. */
static int set_endianness(struct nic *nic)
{
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_ACCESS_REG, MLX5_ACCESS_REG_WRITE,
	                             MLX5_ACCESS_REG_DATA + MLX5_HOST_ENDIANNESS_BYTES,
	                             MLX5_ACCESS_REG_DATA + MLX5_HOST_ENDIANNESS_BYTES);
	mlx5_set(in, MLX5_ACCESS_REG_ID, MLX5_HOST_ENDIANNESS);
	return mlx5_cmd_run(nic);
}

static int init_hca(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_INIT_HCA, 0, MLX5_INIT_HCA_BYTES,
	               MLX5_PLAIN_BYTES);
	int e = mlx5_cmd_run(nic);
	d->initialised = e == E_OK;
	return e;
}

/* For tools that inspect the card from outside; firmware that refuses it is not an error. */
static void tell_version(struct nic *nic)
{
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_SET_DRIVER_VERSION, 0,
	                             MLX5_DRIVER_VERSION_BYTES, MLX5_PLAIN_BYTES);
	_Static_assert(sizeof DRIVER_VERSION <= MLX5_TEXT_BYTES, "fits");
	memcpy(in + MLX5_DRIVER_VERSION_TEXT, DRIVER_VERSION, sizeof DRIVER_VERSION);
	if (mlx5_cmd_run(nic) != E_OK)
		nic->error = NULL;
}

static int enable(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	mlx5_timeouts_read(nic);
	int e = mlx5_cmd_open(nic);
	if (e == E_OK)
		e = mlx5_cmd_simple(nic, MLX5_ENABLE_HCA, 0, 0);
	d->enabled = e == E_OK;
	if (e == E_OK)
		e = choose_issi(nic);
	if (e == E_OK)
		e = mlx5_pages_give(nic, MLX5_QUERY_PAGES_BOOT);
	if (e == E_OK)
		mlx5_timeouts_query(nic);
	return e;
}

int mlx5_hca_up(struct nic *nic)
{
	int e = enable(nic);
	if (e == E_OK && !mlx5_device(nic)->virtual) /* the physical function sets it for all */
		e = set_endianness(nic);
	if (e == E_OK)
		e = set_caps(nic);
	if (e == E_OK)
		e = mlx5_pages_give(nic, MLX5_QUERY_PAGES_INIT);
	if (e == E_OK)
		e = init_hca(nic);
	if (e == E_OK)
		e = learn_general(nic);
	if (e == E_OK)
		e = learn_ethernet(nic);
	if (e == E_OK)
		e = learn_flow_tables(nic);
	if (e == E_OK && mlx5_device(nic)->caps.driver_version)
		tell_version(nic);
	return e;
}

/* Firmware prepared by TEARDOWN_HCA (fast) does without its driver from here on, as in mlx5_core.
 * Other firmware is expected to do the same. */
static int disable_interface(struct nic *nic)
{
	mlx5_write(nic, MLX5_CMDQ_ADDR_LOW, MLX5_NIC_DISABLED);
	int e = mlx5_wait(nic, MLX5_CMDQ_ADDR_LOW, MLX5_NIC_INTERFACE_MASK, MLX5_NIC_DISABLED,
	              mlx5_device(nic)->timeouts.teardown, "firmware does not let go of the driver before");
	if (e != E_OK)
		mlx5_cut_off(nic);
	return e;
}

/*
 * A previous owner of the function that ended suddenly (a control core that was restarted, a
 * program of the firmware's menu) has left a command queue, and perhaps objects and pages unknown
 * to us, so the normal teardown is not possible. The firmware is told that its driver is gone.
 * Then, whether it has accepted that or not, a reset ends everything, if the function supports one.
 */
int mlx5_hca_forget(struct nic *nic)
{
	uint32_t low = mlx5_read(nic, MLX5_CMDQ_ADDR_LOW);
	if (!(low & MLX5_CMDQ_ADDR_MASK) && !mlx5_read(nic, MLX5_CMDQ_ADDR_HIGH))
		return E_OK; /* as after power-on */
	int told = disable_interface(nic);
	int e = mlx5_reset(nic);
	return e == E_NOTSUP ? told : e;
}

void mlx5_hca_down(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	int e = E_OK;
	d->unwinding = true;
	if (d->enabled) {
		mlx5_cmd_drain(nic, MLX5_SLOT_BACKGROUND);
		mlx5_destroy_all(nic);
		if (d->initialised)
			e = mlx5_cmd_simple(nic, MLX5_TEARDOWN_HCA, 0, 0);
		if (e == E_OK)
			e = mlx5_pages_reclaim(nic);
		if (e == E_OK)
			e = mlx5_cmd_simple(nic, MLX5_DISABLE_HCA, 0, 0);
	}
	if (e != E_OK || d->dead) {
		mlx5_cut_off(nic);
		d->dead = true; /* it can no longer read commands */
	}
	d->enabled = d->initialised = false;
	d->parked = 0;
	d->unwinding = false;
}
