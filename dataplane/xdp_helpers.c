/*
 * Helpers of XDP programs that need the machine (bpf-helpers(7)). Those on maps, rings and checksums are
 * in bpf/maps/; bpf_fib_lookup is in xdp_fib.c, bpf_trace_printk in xdp_print.c. The verifier has
 * checked the types of all arguments, and that memory is as long as its size says; numbers are the
 * program's.
 *
 * bpf_xdp_adjust_head and bpf_xdp_adjust_meta never lack room before the frame while there is room
 * behind it: the frame then moves within its buffer. The verifier has programs read data and data_end
 * anew behind these calls. In Linux a driver leaves 256 bytes instead.
 */
#include "dataplane/state.h"
#include "lib/mem.h"
#include "lib/siphash.h"

#define SLACK 64 /* bytes by which a frame moves beyond what is needed, so that it seldom moves twice */
#define META_MAX 32 /* bytes of metadata; a multiple of 4: Linux' xdp_metalen_invalid */

#define EACCES (-13)

static uint64_t error(int64_t e) { return (uint64_t)e; }

static struct bpf_xdp *context_of(uint64_t r1)
{
	return (struct bpf_xdp *)(uintptr_t)r1;
}

/* --- time, numbers --- */

static uint64_t ktime_get_ns(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	(void)a, (void)b, (void)c, (void)d, (void)e;
	return clock_ns(&self.clock, clock_tsc());
}

/* The time of this turn: as Linux' clock of ticks, cheaper and less exact. */
static uint64_t ktime_get_coarse_ns(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	(void)a, (void)b, (void)c, (void)d, (void)e;
	return core_now_ns();
}

/* Unpredictable from outside, but no secret: xorshift64* (Vigna, 2016) from a seed of each core. */
static uint64_t get_prandom_u32(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	static uint64_t state;
	(void)a, (void)b, (void)c, (void)d, (void)e;
	if (unlikely(state == 0)) {
		const uint64_t from[2] = {self.id, clock_tsc()};
		const struct siphash_key key = {dp_get()->flow_seed, dp_get()->started};
		state = siphash24(&key, from, sizeof from) | 1;
	}
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * 0x2545f4914f6cdd1dull) >> 32);
}

static uint64_t get_smp_processor_id(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	(void)a, (void)b, (void)c, (void)d, (void)e;
	return self.id;
}

/* --- where the frame goes --- */

static uint64_t redirect(uint64_t ifindex, uint64_t flags, uint64_t c, uint64_t d, uint64_t e)
{
	(void)c, (void)d, (void)e;
	if (flags)
		return XDP_ABORTED;
	xdp_now.context.redirect_kind = XDP_TO_INDEX;
	xdp_now.context.redirect_to = (uint32_t)ifindex;
	return XDP_REDIRECT;
}

static uint64_t redirect_map(uint64_t r1, uint64_t key, uint64_t flags, uint64_t d, uint64_t e)
{
	const struct bpf_map *map = (const struct bpf_map *)(uintptr_t)r1;
	const bool ports = map->type == BPF_MAP_DEVMAP || map->type == BPF_MAP_DEVMAP_HASH;
	const uint64_t known = XDP_F_RESULT | (ports ? XDP_F_BROADCAST | XDP_F_EXCLUDE_INGRESS : 0);
	const uint32_t index = (uint32_t)key;
	struct bpf_xdp *x = &xdp_now.context;
	(void)d, (void)e;
	if (flags & ~known)
		return XDP_ABORTED;
	if (flags & XDP_F_BROADCAST) {
		xdp_now.to_map = map;
		x->redirect_kind = XDP_TO_ALL;
		x->redirect_to = (uint32_t)flags;
		return XDP_REDIRECT;
	}
	const uint32_t *value = map->type == BPF_MAP_XSKMAP ? NULL : bpf_map_lookup(map, &index);
	if (!value || *value == 0) {
		x->redirect_kind = XDP_TO_NOBODY;
		return flags & XDP_F_RESULT;
	}
	x->redirect_kind = ports ? XDP_TO_INDEX : XDP_TO_STACK;
	x->redirect_to = *value;
	return XDP_REDIRECT;
}

/* --- the frame --- */

/* Moves metadata and frame towards the end of the buffer, so that `wanted` bytes are free before them.
 * False: there is not so much. */
static bool make_room(struct bpf_xdp *x, size_t wanted)
{
	const size_t room = (size_t)(x->end - x->data_end);
	size_t by = wanted - (size_t)(x->data_meta - x->start) + SLACK;
	by = by < room ? by : room;
	if ((size_t)(x->data_meta - x->start) + by < wanted)
		return false;
	buf_extend(x->data_end, by);
	memmove(x->data_meta + by, x->data_meta, (size_t)(x->data_end - x->data_meta));
	x->data_meta += by;
	x->data += by;
	x->data_end += by;
	return true;
}

static uint64_t adjust_head(uint64_t r1, uint64_t delta, uint64_t c, uint64_t d, uint64_t e)
{
	struct bpf_xdp *x = context_of(r1);
	const int64_t by = (int32_t)delta; /* the program may pass any: in 32 bits a sum could overflow */
	const size_t meta = (size_t)(x->data - x->data_meta);
	(void)c, (void)d, (void)e;
	if (by > 0 && x->data_end - x->data < by + ETH_HLEN)
		return error(BPF_EINVAL);
	if (by < 0 && (size_t)(x->data_meta - x->start) < (size_t)-by && !make_room(x, (size_t)-by))
		return error(BPF_EINVAL);
	if (meta)
		memmove(x->data_meta + by, x->data_meta, meta);
	x->data_meta += by;
	x->data += by;
	return 0;
}

static uint64_t adjust_meta(uint64_t r1, uint64_t delta, uint64_t c, uint64_t d, uint64_t e)
{
	struct bpf_xdp *x = context_of(r1);
	const int64_t bytes = x->data - x->data_meta - (int32_t)delta;
	(void)c, (void)d, (void)e;
	if (bytes < 0 || bytes > META_MAX || bytes % 4)
		return error(bytes < 0 ? BPF_EINVAL : EACCES);
	if (x->data - x->start < bytes && !make_room(x, (size_t)bytes))
		return error(BPF_EINVAL);
	x->data_meta = x->data - bytes;
	return 0;
}

static uint64_t adjust_tail(uint64_t r1, uint64_t delta, uint64_t c, uint64_t d, uint64_t e)
{
	struct bpf_xdp *x = context_of(r1);
	const int64_t len = x->data_end - x->data + (int32_t)delta;
	(void)c, (void)d, (void)e;
	if (len < ETH_HLEN || len > x->end - x->data)
		return error(BPF_EINVAL);
	if ((int32_t)delta > 0) {
		buf_extend(x->data_end, (size_t)(int32_t)delta);
		memset(x->data_end, 0, (size_t)(int32_t)delta); /* no bytes of an earlier frame */
	}
	x->data_end = x->data + len;
	return 0;
}

static uint64_t get_buff_len(uint64_t r1, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	const struct bpf_xdp *x = context_of(r1);
	(void)b, (void)c, (void)d, (void)e;
	return (uint64_t)(x->data_end - x->data);
}

static uint8_t *bytes_at(const struct bpf_xdp *x, uint32_t offset, uint32_t len)
{
	const uint64_t all = (uint64_t)(x->data_end - x->data);
	return offset <= all && len <= all - offset ? x->data + offset : NULL;
}

static uint64_t load_bytes(uint64_t r1, uint64_t offset, uint64_t to, uint64_t len, uint64_t e)
{
	const uint8_t *at = bytes_at(context_of(r1), (uint32_t)offset, (uint32_t)len);
	(void)e;
	if (!at)
		return error(BPF_EINVAL);
	memcpy((void *)(uintptr_t)to, at, (uint32_t)len);
	return 0;
}

static uint64_t store_bytes(uint64_t r1, uint64_t offset, uint64_t from, uint64_t len, uint64_t e)
{
	uint8_t *at = bytes_at(context_of(r1), (uint32_t)offset, (uint32_t)len);
	(void)e;
	if (!at)
		return error(BPF_EINVAL);
	memmove(at, (const void *)(uintptr_t)from, (uint32_t)len);
	return 0;
}

bpf_helper xdp_helper(unsigned id)
{
	switch (id) {
	case BPF_FN_KTIME_GET_NS:
	case BPF_FN_KTIME_GET_BOOT_NS: return ktime_get_ns; /* this machine is never suspended */
	case BPF_FN_KTIME_GET_COARSE_NS: return ktime_get_coarse_ns;
	case BPF_FN_TRACE_PRINTK: return xdp_trace_printk;
	case BPF_FN_GET_PRANDOM_U32: return get_prandom_u32;
	case BPF_FN_GET_SMP_PROCESSOR_ID: return get_smp_processor_id;
	case BPF_FN_REDIRECT: return redirect;
	case BPF_FN_REDIRECT_MAP: return redirect_map;
	case BPF_FN_XDP_ADJUST_HEAD: return adjust_head;
	case BPF_FN_XDP_ADJUST_META: return adjust_meta;
	case BPF_FN_XDP_ADJUST_TAIL: return adjust_tail;
	case BPF_FN_FIB_LOOKUP: return xdp_fib_lookup;
	case BPF_FN_XDP_GET_BUFF_LEN: return get_buff_len;
	case BPF_FN_XDP_LOAD_BYTES: return load_bytes;
	case BPF_FN_XDP_STORE_BYTES: return store_bytes;
	default: return NULL;
	}
}
