/* A plugin of QEMU's (TCG) that counts the cache lines which guest CPUs take from each other.
 *
 * It models, for each line of 64 bytes of the guest's memory, infinite coherent caches: which CPUs
 * hold the line, and which one wrote it last. A transfer is
 *   - a load of a line that another CPU wrote and this CPU has not held since, or
 *   - a store to a line that another CPU holds, if any CPU has written it.
 * The first load of a line that nobody wrote is no transfer. What QEMU's devices read and write is
 * not seen, so DMA does not count.
 *
 * A transfer is of kind `data` if two CPUs other than CPU 0 take part, else `control`: CPU 0 runs the
 * control core. Transfers are kept by instruction, guest virtual line and kind. An instruction that reads
 * packets takes as many lines as there are buffers in use: its lines after the first ROWS_AN_INSTRUCTION
 * are counted in one row, with the address 0.
 *
 * Commands come by the FIFO `fifo=PATH`, one byte each: 'b' forgets all lines and transfers and
 * begins to count, 'e' ends it, 't' changes nothing. After each, PATH of `out=PATH` is the table so far:
 * written under another name, then renamed. Rows: kind, pc (hex), virtual address of the line (hex),
 * transfers, stores among them. The first row is `accesses N lost N`: accesses counted, transfers that the table had no room for.
 *
 * Missing on purpose: capacity and associativity (both only add misses to memory, not transfers)
 * and prefetching. QEMU's interface is declared here as docs/devel/tcg-plugins.rst describes it,
 * because Debian has no package with its header.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* QEMU's interface, from version PLUGIN_VERSION of it. */
typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
typedef void (*on_translation)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*on_access)(unsigned int, qemu_plugin_meminfo_t, uint64_t, void *);
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, on_translation);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, on_access, enum qemu_plugin_cb_flags,
				      enum qemu_plugin_mem_rw, void *);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t, uint64_t);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *);
int qemu_plugin_install(qemu_plugin_id_t, const void *, int, char **);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = PLUGIN_VERSION;

enum { LINE_LOG2 = 6, CPUS = 32, LINES = 1 << 24, SITES = 1 << 16, ROWS_AN_INSTRUCTION = 64 };

/* A line: bits 0 to 31 the CPUs that hold it, bits 32 to 39 1 + the CPU that wrote it last, or 0.
 * Lines above 1 GiB are outside the machines that tests/sharing/sharing.py makes. */
static _Atomic uint64_t *lines;
static atomic_bool counting;
static _Atomic uint64_t accesses[CPUS][8]; /* one host line each */

struct site {
	uint64_t pc, vline;
	bool data, used;
	uint32_t rows; /* in the row of vline 0: rows that its instruction has otherwise */
	uint64_t transfers, stores;
};
static struct site sites[SITES];
static uint64_t lost;
static pthread_mutex_t site_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *fifo_path, *out_path;

/* The row of these three, or NULL if 64 rows beside its place are taken by others. Under site_lock. */
static struct site *find_site(uint64_t pc, uint64_t vline, bool data)
{
	uint64_t hash = (pc * 31 + vline * 2 + data) * UINT64_C(0x9e3779b97f4a7c15);
	for (size_t i = 0; i < 64; i++) {
		struct site *at = &sites[((hash >> 40) + i) % SITES];
		if (!at->used || (at->pc == pc && at->vline == vline && at->data == data))
			return at;
	}
	return NULL;
}

static void count_transfer(uint64_t pc, uint64_t vline, bool data, bool store)
{
	pthread_mutex_lock(&site_lock);
	struct site *site = find_site(pc, vline, data), *rest = find_site(pc, 0, data);
	if (rest && site && !site->used) {
		if (!rest->used)
			*rest = (struct site){ .pc = pc, .data = data, .used = true };
		if (rest->rows < ROWS_AN_INSTRUCTION) {
			rest->rows++;
			site = find_site(pc, vline, data); /* the new row of the rest may have its place */
			if (site && !site->used)
				*site = (struct site){ .pc = pc, .vline = vline, .data = data, .used = true };
		} else {
			site = rest;
		}
	}
	if (site && site->used) {
		site->transfers++;
		site->stores += store;
	} else {
		lost++;
	}
	pthread_mutex_unlock(&site_lock);
}

static void touch(unsigned int cpu, uint64_t line, uint64_t vline, uint64_t pc, bool store)
{
	uint64_t self = UINT64_C(1) << cpu, was = atomic_load(&lines[line]), now;
	do {
		now = store ? self | (uint64_t)(cpu + 1) << 32 : was | self;
		if (now == was)
			return;
	} while (!atomic_compare_exchange_weak(&lines[line], &was, now));
	unsigned int writer = was >> 32 & 0xff;
	uint32_t others = (uint32_t)was & ~(uint32_t)self;
	/* A line is taken from its holders by a store, from its writer by a load. A load after the
	 * writer's, by a CPU that does not hold the line, comes from the writer too. */
	uint32_t from = store ? others : writer && !(was & self) ? UINT32_C(1) << (writer - 1) : 0;
	from &= ~(uint32_t)self;
	if (store && !writer)
		from = 0; /* only read so far: setting up, not sharing what is written */
	if (from)
		count_transfer(pc, vline, cpu && from & ~UINT32_C(1), store);
}

static void access_memory(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *pc)
{
	if (!atomic_load_explicit(&counting, memory_order_relaxed) || cpu >= CPUS)
		return;
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	if (!hw || qemu_plugin_hwaddr_is_io(hw))
		return;
	uint64_t first = qemu_plugin_hwaddr_phys_addr(hw);
	uint64_t size = UINT64_C(1) << qemu_plugin_mem_size_shift(info);
	bool store = qemu_plugin_mem_is_store(info);
	atomic_fetch_add_explicit(&accesses[cpu][0], 1, memory_order_relaxed);
	/* An access that crosses a page is translated for its first page only: stay inside it. */
	uint64_t last = first + size - 1;
	if (last >> 12 != first >> 12)
		last = first | 0xfff;
	for (uint64_t line = first >> LINE_LOG2; line <= last >> LINE_LOG2; line++)
		if (line < LINES)
			touch(cpu, line, (vaddr >> LINE_LOG2) + line - (first >> LINE_LOG2),
			      (uint64_t)(uintptr_t)pc, store);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		qemu_plugin_register_vcpu_mem_cb(insn, access_memory, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
						 (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
	}
}

static void begin(void)
{
	for (size_t i = 0; i < LINES; i++)
		if (atomic_load_explicit(&lines[i], memory_order_relaxed))
			atomic_store(&lines[i], 0);
	pthread_mutex_lock(&site_lock);
	memset(sites, 0, sizeof(sites));
	lost = 0;
	pthread_mutex_unlock(&site_lock);
	for (size_t i = 0; i < CPUS; i++)
		atomic_store(&accesses[i][0], 0);
	atomic_store(&counting, true);
}

static void write_table(void)
{
	char temporary[4096];
	snprintf(temporary, sizeof(temporary), "%s.new", out_path);
	FILE *out = fopen(temporary, "w");
	if (!out)
		return;
	uint64_t all = 0;
	for (size_t i = 0; i < CPUS; i++)
		all += atomic_load(&accesses[i][0]);
	pthread_mutex_lock(&site_lock);
	fprintf(out, "accesses %llu lost %llu\n", (unsigned long long)all, (unsigned long long)lost);
	for (size_t i = 0; i < SITES; i++)
		if (sites[i].transfers)
			fprintf(out, "%s %llx %llx %llu %llu\n", sites[i].data ? "data" : "control",
				(unsigned long long)sites[i].pc, (unsigned long long)sites[i].vline << LINE_LOG2,
				(unsigned long long)sites[i].transfers, (unsigned long long)sites[i].stores);
	pthread_mutex_unlock(&site_lock);
	if (!fclose(out))
		rename(temporary, out_path);
}

static void *obey(void *unused)
{
	int fd = open(fifo_path, O_RDWR); /* also a writer: read() waits for the next command */
	char command;
	while (fd >= 0 && read(fd, &command, 1) == 1) {
		if (command == 'b')
			begin();
		else if (command == 'e')
			atomic_store(&counting, false);
		write_table();
	}
	return unused;
}

/* Called by QEMU when it loads the plugin, before the machine starts. Returns 0, or -1 if an argument
 * is missing or memory is. */
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	pthread_t thread;
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "fifo=", 5))
			fifo_path = strdup(argv[i] + 5);
		else if (!strncmp(argv[i], "out=", 4))
			out_path = strdup(argv[i] + 4);
	}
	lines = calloc(LINES, sizeof(*lines)); /* 128 MiB, of which the kernel gives what is touched */
	if (!fifo_path || !out_path || !lines || pthread_create(&thread, NULL, obey, NULL))
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	return 0;
}
