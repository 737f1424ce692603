/*
 * bpf(2): see linux.h. libbpf is not used, so that the program can be a static one for any kernel.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int linux_map(uint32_t type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries)
{
	union bpf_attr attr = {.map_type = type, .key_size = key_bytes, .value_size = value_bytes,
	                       .max_entries = entries};
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

static int load(const void *insns, uint32_t count, char *log)
{
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_XDP, .insns = address(insns), .insn_cnt = count,
	                       .license = address("GPL")};
	if (log) {
		attr.log_buf = address(log);
		attr.log_size = LOG_BYTES;
		attr.log_level = 1;
	}
	return bpf(BPF_PROG_LOAD, &attr);
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

int linux_map_delete(int map, const void *key)
{
	return element(BPF_MAP_DELETE_ELEM, map, key, NULL);
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
