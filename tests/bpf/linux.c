/*
 * bpf(2): see linux.h. libbpf is not used, so that the program can be a static one for any kernel.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tests/bpf/linux.h"

#define LOG_BYTES (4u << 20)

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	const long result = syscall(SYS_bpf, command, attr, sizeof *attr);
	return result < 0 ? -errno : (int)result;
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

int linux_map(uint32_t type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries, uint32_t flags)
{
	union bpf_attr attr = {.map_type = type, .key_size = key_bytes, .value_size = value_bytes,
	                       .max_entries = entries, .map_flags = flags};
	return bpf(BPF_MAP_CREATE, &attr);
}

/* The line before the statistics at the end of the log says why. */
static void last_words(const char *log, char *why, size_t why_bytes)
{
	const char *last = "", *line = log;
	size_t length = 0;
	while (*line) {
		const size_t n = strcspn(line, "\n");
		if (n && strncmp(line, "processed ", 10) && strncmp(line, "stack depth", 11) &&
		    strncmp(line, "verification time", 17) && strncmp(line, "mark_precise", 12)) {
			last = line;
			length = n;
		}
		line += n + (line[n] == '\n');
	}
	snprintf(why, why_bytes, "%.*s", (int)length, last);
}

static int load_with(const void *insns, uint32_t count, uint32_t flags, char *log)
{
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_XDP, .insns = address(insns), .insn_cnt = count,
	                       .license = address("GPL"), .prog_flags = flags};
	if (log) {
		attr.log_buf = address(log);
		attr.log_size = LOG_BYTES;
		attr.log_level = 1;
	}
	return bpf(BPF_PROG_LOAD, &attr);
}

static int load(const void *insns, uint32_t count, char *log)
{
	return load_with(insns, count, 0, log);
}

int linux_load(const void *insns, uint32_t count, char *why, size_t why_bytes)
{
	const int program = load(insns, count, NULL);
	if (program >= 0)
		return program;
	char *log = calloc(1, LOG_BYTES);
	const int again = load(insns, count, log);
	last_words(log, why, why_bytes);
	if (!why[0])
		snprintf(why, why_bytes, "%s", strerror(-program));
	free(log);
	return again;
}

int linux_run(int program, uint8_t *packet, uint32_t *bytes, uint32_t room, uint32_t *result)
{
	uint8_t in[2048];
	memcpy(in, packet, *bytes);
	union bpf_attr attr = {.test = {.prog_fd = (uint32_t)program, .data_in = address(in), .data_size_in = *bytes,
	                                .data_out = address(packet), .data_size_out = room, .repeat = 1}};
	const int error = bpf(BPF_PROG_TEST_RUN, &attr);
	*bytes = attr.test.data_size_out;
	*result = attr.test.retval;
	return error;
}

static int element(enum bpf_cmd command, int map, const void *key, const void *value)
{
	union bpf_attr attr = {.map_fd = (uint32_t)map, .key = address(key), .value = address(value)};
	return bpf(command, &attr);
}

int linux_map_lookup(int map, const void *key, void *value)
{
	return element(BPF_MAP_LOOKUP_ELEM, map, key, value);
}

int linux_map_update(int map, const void *key, const void *value)
{
	return element(BPF_MAP_UPDATE_ELEM, map, key, value);
}

int linux_map_next(int map, const void *key, void *next)
{
	return element(BPF_MAP_GET_NEXT_KEY, map, key, next);
}

int linux_map_delete(int map, const void *key)
{
	return element(BPF_MAP_DELETE_ELEM, map, key, NULL);
}

/* A page that the reader writes, and then, read-only, a page that Linux writes and the ring twice: the kernel's
 * Documentation/bpf/ringbuf.rst. */
bool linux_ring_open(struct linux_ring *ring, int map, uint32_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	const uint8_t *producer = mmap(NULL, page + 2 * (size_t)bytes, PROT_READ, MAP_SHARED, map, (off_t)page);
	if (consumer == MAP_FAILED || producer == MAP_FAILED)
		return false;
	*ring = (struct linux_ring){consumer, (const uint64_t *)producer, producer + page, bytes};
	return true;
}

const void *linux_ring_next(struct linux_ring *ring, uint32_t *bytes)
{
	while (*ring->consumer < __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE)) {
		const uint8_t *header = ring->data + (*ring->consumer & (ring->bytes - 1));
		uint32_t length;
		memcpy(&length, header, sizeof length);
		*bytes = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		__atomic_store_n(ring->consumer, *ring->consumer + ((*bytes + BPF_RINGBUF_HDR_SZ + 7) & ~7ull),
		                 __ATOMIC_RELEASE);
		if (!(length & BPF_RINGBUF_DISCARD_BIT))
			return header + BPF_RINGBUF_HDR_SZ;
	}
	return NULL;
}

unsigned linux_cpus(void)
{
	unsigned first = 0, last = 0;
	FILE *f = fopen("/sys/devices/system/cpu/possible", "r");
	if (f) {
		if (fscanf(f, "%u-%u", &first, &last) == 1)
			last = first;
		fclose(f);
	}
	return last + 1;
}

static bool loads(const struct bpf_insn *insns, uint32_t count)
{
	const int program = load(insns, count, NULL);
	if (program >= 0)
		close(program);
	return program >= 0;
}

bool linux_allows_bpf(void)
{
	/* before 5.11 the memory of maps counts as locked */
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	setrlimit(RLIMIT_MEMLOCK, &all);
	const struct bpf_insn insns[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS},
	                                 {.code = BPF_JMP | BPF_EXIT}};
	return loads(insns, 2);
}

bool linux_knows_v4(void)
{
	const struct bpf_insn insns[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 7},
	                                 {.code = BPF_ALU64 | BPF_MOV | BPF_X, .off = 8}, /* movsx */
	                                 {.code = BPF_JMP | BPF_EXIT}};
	return loads(insns, 3);
}

/* What the program returns for a packet of the loopback, whose ifindex is 1. The verifier remembers a state at
 * each jump's target, so that it prunes wherever it may. */
static uint32_t result_of(const struct bpf_insn *insns, uint32_t count)
{
	uint8_t packet[256] = {0};
	uint32_t bytes = 64, result = ~0u;
	const int program = load_with(insns, count, BPF_F_TEST_STATE_FREQ, NULL);
	if (program < 0)
		return ~0u;
	linux_run(program, packet, &bytes, sizeof packet, &result);
	close(program);
	return result;
}

#define MOV(r, n) {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (r), .imm = (n)}
#define IFINDEX(r) {.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = (r), .src_reg = 1, .off = 12}
#define SKIP_IF(op, r, n, count) {.code = BPF_JMP | (op) | BPF_K, .dst_reg = (r), .imm = (n), .off = (count)}
#define SLOT(size, r, op) {.code = BPF_STX | BPF_ATOMIC | (size), .dst_reg = 10, .src_reg = (r), .off = -8, .imm = (op)}

bool linux_fetch_is_load(void)
{
	/* The slot is 0 on the path that a verifier looks at first, and 1 on the other, which runs. */
	const struct bpf_insn insns[] = {IFINDEX(6), MOV(7, 1), SKIP_IF(BPF_JNE, 6, 0, 1), MOV(7, 0),
	                                 {.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 10, .src_reg = 7, .off = -8},
	                                 MOV(2, 0), SLOT(BPF_DW, 2, BPF_ADD | BPF_FETCH), MOV(0, 2),
	                                 SKIP_IF(BPF_JEQ, 2, 0, 1), MOV(0, 1), {.code = BPF_JMP | BPF_EXIT}};
	return result_of(insns, sizeof insns / sizeof insns[0]) == 1;
}

bool linux_cmpxchg_extends(void)
{
	/* Two paths join before the upper half of R0 is read; on the one that runs, CMPXCHG loads R0. */
	const struct bpf_insn insns[] = {{.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = 10, .off = -8, .imm = 5},
	                                 IFINDEX(6), {.code = BPF_LD | BPF_IMM | BPF_DW, .imm = 5}, {.imm = -1},
	                                 MOV(2, 9), SKIP_IF(BPF_JNE, 6, 0, 2), MOV(0, 7),
	                                 {.code = BPF_JMP | BPF_JA, .off = 1}, SLOT(BPF_W, 2, BPF_CMPXCHG),
	                                 {.code = BPF_ALU64 | BPF_RSH | BPF_K, .imm = 32}, {.code = BPF_JMP | BPF_EXIT}};
	return result_of(insns, sizeof insns / sizeof insns[0]) == 0;
}

bool linux_empty_slots_are_free(void)
{
	const struct bpf_insn one[] = {MOV(0, 1), {.code = BPF_JMP | BPF_EXIT}};
	const uint32_t slot = 1;
	const int progs = linux_map(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 2, 0), target = load(one, 2, NULL);
#define TAIL_CALL(slot) \
	{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6}, \
	{.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 2, .src_reg = BPF_PSEUDO_MAP_FD, .imm = progs}, {.imm = 0}, \
	MOV(3, slot), {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call}
	/* as often as the limit to the empty slot, then to the other */
	const struct bpf_insn insns[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1}, MOV(7, 33),
	                                 TAIL_CALL(0), {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 7, .imm = -1},
	                                 SKIP_IF(BPF_JNE, 7, 0, -7), TAIL_CALL(1), MOV(0, 0), {.code = BPF_JMP | BPF_EXIT}};
#undef TAIL_CALL
	linux_map_update(progs, &slot, &target);
	const uint32_t result = result_of(insns, sizeof insns / sizeof insns[0]);
	close(target);
	close(progs);
	return result == 1;
}

unsigned linux_release(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;
	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 ? 1000 * major + minor : 0;
}

unsigned linux_meta_max(void)
{
	const struct bpf_insn insns[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = -64},
	                                 {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_xdp_adjust_meta},
	                                 {.code = BPF_JMP | BPF_EXIT}};
	uint8_t packet[256] = {0};
	uint32_t bytes = 64, result = 1;
	const int program = load(insns, 3, NULL);
	linux_run(program, packet, &bytes, sizeof packet, &result);
	close(program);
	return result == 0 ? 255 : 32;
}
