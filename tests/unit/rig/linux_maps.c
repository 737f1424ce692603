/* See linux_maps.h. */
#include "tests/unit/rig/linux_maps.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int64_t call(int command, union bpf_attr *attr)
{
	const long result = syscall(SYS_bpf, command, attr, sizeof *attr);
	return result < 0 ? -errno : result;
}

int linux_map(uint32_t type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries, uint32_t flags)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.map_type = type;
	attr.key_size = key_bytes;
	attr.value_size = value_bytes;
	attr.max_entries = entries;
	attr.map_flags = flags;
	return (int)call(BPF_MAP_CREATE, &attr);
}

int linux_bpf_allowed(void)
{
	const int map = linux_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	if (map >= 0)
		close(map);
	return map >= 0;
}

static int64_t element(int command, int map, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	attr.flags = flags;
	return call(command, &attr);
}

int64_t linux_map_update(int map, const void *key, const void *value, uint64_t flags)
{
	return element(BPF_MAP_UPDATE_ELEM, map, key, value, flags);
}

int64_t linux_map_lookup(int map, const void *key, void *value)
{
	return element(BPF_MAP_LOOKUP_ELEM, map, key, value, 0);
}

int64_t linux_map_delete(int map, const void *key) { return element(BPF_MAP_DELETE_ELEM, map, key, NULL, 0); }

int64_t linux_map_next(int map, const void *key, void *next)
{
	return element(BPF_MAP_GET_NEXT_KEY, map, key, next, 0);
}

unsigned linux_cpus(void)
{
	unsigned first = 0, last = 0;
	FILE *f = fopen("/sys/devices/system/cpu/possible", "r");
	if (!f || fscanf(f, "%u-%u", &first, &last) < 1)
		abort();
	fclose(f);
	return (last > first ? last : first) + 1;
}

int linux_xdp(const void *insns, uint32_t count)
{
	static char log[1 << 20];
	union bpf_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.prog_type = BPF_PROG_TYPE_XDP;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = count;
	attr.license = (uintptr_t) "Dual BSD/GPL";
	const int program = (int)call(BPF_PROG_LOAD, &attr);
	if (program >= 0)
		return program;
	attr.log_buf = (uintptr_t)log;
	attr.log_size = sizeof log;
	attr.log_level = 1;
	call(BPF_PROG_LOAD, &attr);
	fprintf(stderr, "%s\n", log);
	return program;
}

double linux_xdp_run(int program, uint32_t repeat, uint32_t *result)
{
	uint8_t packet[64] = {0};
	union bpf_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.test.prog_fd = (uint32_t)program;
	attr.test.data_in = (uintptr_t)packet;
	attr.test.data_size_in = sizeof packet;
	attr.test.repeat = repeat;
	const int64_t error = call(BPF_PROG_TEST_RUN, &attr);
	if (error) {
		fprintf(stderr, "BPF_PROG_TEST_RUN: %s\n", strerror((int)-error));
		abort();
	}
	*result = attr.test.retval;
	return attr.test.duration;
}
