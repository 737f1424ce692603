/*
 * See storage.h.
 *
 *     state       leaves when
 *     STARTING    all disks are ready or have failed
 *     SEARCHING   the partition tables of all disks have been read, one disk after the other
 *     OPENING     the newest whole generation has been read
 *     OPEN        the disk fails → NONE
 *     NONE        never
 *
 * Memory, which outlives the program (CORE_PERSIST_STORAGE):
 *
 *     what drivers use | struct kept | buffer of requests | values | values that are being written, or were read
 *
 * The values have a seal, a hash. A program that restarts and finds it valid goes on with them: they are at least as
 * new as what is on the disk. Otherwise it takes the disk's.
 */
#include "control/storage/storage.h"

#include "disk/generations.h"
#include "disk/gpt.h"
#include "disk/layout.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "lib/siphash.h"
#include "runtime/runtime.h"
#include "runtime/walltime.h"

#define BOOT_WAIT_NS 20000000000ull
#define ROOM_LEAST (512u << 10)
#define ROOM_MOST (8u << 20)
#define ROOM_SHARE 32 /* of the free memory */
#define CALLERS_MAX 16
#define STEPS_MAX 4 /* requests a turn, if the disk answers at once */

enum state { STARTING, SEARCHING, OPENING, OPEN, NONE };

struct kept {
	uint64_t seal; /* of the values; 0: they are being changed, or there are none */
	uint64_t bytes;
};
#define KEPT_BYTES 4096u
#define BUFFER_BYTES GENERATION_PIECE
_Static_assert(sizeof(struct kept) <= KEPT_BYTES && BUFFER_BYTES >= GPT_BUFFER, "fits");

struct caller {
	void (*done)(void *arg, int error);
	void *arg;
	uint64_t change; /* its change of the values, which a write of `changes` or later contains */
};

static struct {
	bool started;
	enum state state;
	const char *why;
	struct kept *kept;
	uint8_t *buffer;
	struct values values, copy; /* copy.at: of what is being written, or was read */
	bool have;                  /* values are valid */
	struct gpt gpt;
	struct generations g;
	unsigned looked;   /* disks whose tables have been read */
	unsigned found;    /* partitions */
	unsigned disk;     /* of the partition, if found */
	uint64_t at, bytes;
	bool asked;        /* a request is under way */
	bool writing;
	uint64_t changes;  /* of the values, since the program started */
	uint64_t writes_of; /* changes that are contained in what is being written */
	uint64_t written;  /* changes that are on the disk */
	uint64_t write_count, write_errors, written_ns, begun_ns;
	bool said;         /* that a write has failed */
	struct caller caller[CALLERS_MAX];
	unsigned callers;
} store = {.disk = DISKS_MAX, .why = "there is no disk", .state = NONE};

static const struct siphash_key seal_key = {0x6879617465207374, 0x6f72656420766c73};

/* --- memory --- */

static uint64_t seal(void)
{
	return siphash24(&seal_key, store.values.at, store.values.bytes) ^ store.values.bytes ^ 1;
}

static void changed(void)
{
	store.kept->bytes = store.values.bytes;
	__atomic_store_n(&store.kept->seal, seal(), __ATOMIC_RELEASE);
}

static void unseal(void) { __atomic_store_n(&store.kept->seal, 0, __ATOMIC_SEQ_CST); }

static size_t driver_bytes(void)
{
	return self.info->iommu.units ? align_up(disks_bytes(), CORE_LEND_UNIT) : disks_bytes();
}

/* The memory of an earlier program, or new memory; NULL: there is not enough. */
static uint8_t *take_memory(size_t *bytes)
{
	uint8_t *at = core_persist_find(CORE_PERSIST_STORAGE, bytes);
	if (at)
		return at;
	const size_t room = core_pages(u64_min(u64_max(core_private_left() / ROOM_SHARE, ROOM_LEAST), ROOM_MOST));
	*bytes = driver_bytes() + KEPT_BYTES + BUFFER_BYTES + 2 * room;
	return core_persist_alloc_aligned(CORE_PERSIST_STORAGE, *bytes);
}

static void lend(uint8_t *at, size_t bytes)
{
	for (unsigned i = 0; i < self.info->pci_count && self.info->iommu.units; i++)
		if (self.info->pci[i].kind == PCI_DISK && core_lend(i, at, bytes) != E_OK)
			core_log_at(LOG_WARNING, "iommu: disks can access the memory of network cards: the IOMMU does "
			                         "not answer, or has one map for all devices");
}

static void lay_out(uint8_t *at, size_t bytes)
{
	const size_t room = align_down((bytes - driver_bytes() - KEPT_BYTES - BUFFER_BYTES) / 2, CACHE_LINE);
	at += driver_bytes();
	store.kept = (struct kept *)(void *)at;
	store.buffer = at + KEPT_BYTES;
	store.values = (struct values){.at = store.buffer + BUFFER_BYTES, .room = room};
	store.copy = (struct values){.at = store.values.at + room, .room = room};
}

/* The values of the program before this one. */
static void take_values(void)
{
	store.values.bytes = store.kept->bytes;
	store.have = store.kept->seal && store.values.bytes <= store.values.room && store.kept->seal == seal() &&
	             values_are_whole(&store.values);
}

void storage_start(void)
{
	size_t bytes;
	if (store.started)
		return;
	store.started = true;
	store.begun_ns = core_now_ns();
	if (disks_bytes() == 0)
		return;
	uint8_t *at = take_memory(&bytes);
	if (!at) {
		store.why = "there is not enough memory";
		core_log_at(LOG_ERR, "storage: %s", store.why);
		return;
	}
	lay_out(at, bytes);
	take_values();
	lend(at, driver_bytes());
	disks_start(at);
	store.state = STARTING;
	store.why = "the disks are starting";
}

/* --- the partition --- */

static void none(const char *why)
{
	store.state = NONE;
	store.why = why;
	core_log_at(LOG_WARNING, "storage: %s: nothing is stored", why);
}

/* The end of a request: of a partition table, or of the store. */
static void table_done(void *arg, int error)
{
	(void)arg;
	store.asked = false;
	gpt_done(&store.gpt, error);
}

static void store_done(void *arg, int error)
{
	(void)arg;
	store.asked = false;
	generations_done(&store.g, error);
}

static void search_disk(void)
{
	const struct blk *b = &disks_get(store.looked)->blk;
	gpt_begin(&store.gpt, b->sector, b->sectors, &GPT_TYPE_STORE, store.buffer);
}

static void next_disk(void)
{
	while (store.looked < disks_count() && disks_get(store.looked)->blk.state == BLK_FAILED)
		store.looked++;
	if (store.looked < disks_count())
		search_disk();
}

static void open_store(void)
{
	if (store.found > 1) {
		none("there are several partitions of Hayate's, and it is not clear which one counts");
	} else if (store.found == 0) {
		none(disks_count() ? "no disk has a partition of Hayate's" : "there is no disk that can be used");
	} else if (generations_open(&store.g, store.bytes, store.buffer, store.copy.at, store.copy.room) != E_OK) {
		none("Hayate's partition is too small");
	} else {
		store.state = OPENING;
	}
}

/* Reads on in a table. True: there is something to do at once. */
static bool search(void)
{
	struct disk_request r;
	if (store.looked == disks_count()) {
		open_store();
		return true;
	}
	if (gpt_request(&store.gpt, &r)) {
		store.asked = disks_ask(store.looked, &r, table_done, NULL) == E_OK;
		if (!store.asked)
			gpt_done(&store.gpt, E_DEVICE);
		return true;
	}
	if (store.gpt.found && store.found == 0) {
		store.disk = store.looked;
		store.at = store.gpt.at;
		store.bytes = store.gpt.bytes;
	}
	store.found += store.gpt.found + store.gpt.more;
	store.looked++;
	next_disk();
	return true;
}

/* --- the store --- */

/* Asks for the next request of the store; false: there is none. */
static bool ask(void)
{
	struct disk_request r;
	if (!generations_request(&store.g, &r))
		return false;
	r.at += r.op == DISK_FLUSH ? 0 : store.at;
	store.asked = disks_ask(store.disk, &r, store_done, NULL) == E_OK;
	if (!store.asked)
		generations_done(&store.g, E_DEVICE);
	return true;
}

/* What has been read becomes the values, unless an earlier program has left values. */
static void take_read(void)
{
	if (!store.have) {
		unseal();
		memcpy(store.values.at, store.copy.at, store.copy.bytes);
		store.values.bytes = store.copy.bytes;
		store.have = true;
		changed();
	} else if (store.values.bytes != store.copy.bytes ||
	           memcmp(store.values.at, store.copy.at, store.copy.bytes) != 0) {
		store.changes++; /* its last change had not been written */
	}
}

static void opened(void)
{
	const struct generations *g = &store.g;
	store.copy.bytes = (size_t)g->bytes;
	if (g->error == E_NOMEM) {
		none("the store is larger than the memory for it");
	} else if (g->error) {
		none("Hayate's partition cannot be read");
	} else {
		if (g->number == 0)
			values_clear(&store.copy);
		if (!values_are_whole(&store.copy)) {
			none("the store holds something else than named values");
			return;
		}
		if (g->damaged)
			core_log_at(LOG_WARNING, "storage: a generation on disk%u is not whole: a write was cut, "
			                         "or the disk has lost it", store.disk);
		take_read();
		store.state = OPEN;
		store.why = disks_get(store.disk)->blk.writable ? NULL : "the disk is read only";
		core_log_at(LOG_INFO, "storage: disk%u, %s: generation %llu", store.disk,
		            disks_get(store.disk)->blk.name, (unsigned long long)g->number);
	}
}

static void begin_write(void)
{
	memcpy(store.copy.at, store.values.at, store.values.bytes);
	store.copy.bytes = store.values.bytes;
	store.writes_of = store.changes;
	store.writing = generations_write(&store.g, store.copy.at, store.copy.bytes) == E_OK;
}

/* Calls those whose changes are in the write that has ended. */
static void tell(int error)
{
	struct caller ready[CALLERS_MAX];
	unsigned n = 0, left = 0;
	for (unsigned i = 0; i < store.callers; i++)
		if (store.caller[i].change <= store.writes_of)
			ready[n++] = store.caller[i];
		else
			store.caller[left++] = store.caller[i];
	store.callers = left; /* before the calls, which may put */
	for (unsigned i = 0; i < n; i++)
		ready[i].done(ready[i].arg, error);
}

static void write_ended(void)
{
	const int error = store.g.error;
	store.writing = false;
	store.written = store.writes_of; /* after an error too: it is tried again with the next change */
	if (error == E_OK) {
		store.write_count++;
		store.written_ns = core_now_ns();
		store.said = false;
	} else {
		store.write_errors++;
		if (!store.said)
			core_log_at(LOG_ERR, "storage: disk%u: %s: the last changes are not stored", store.disk,
			          error == E_INVAL ? "it does not keep what is written to it" : "it cannot be written");
		store.said = true;
	}
	tell(error == E_OK ? E_OK : E_DEVICE);
}

/* True: there is something to do at once. */
static bool advance(void)
{
	if (store.asked)
		return false;
	switch (store.state) {
	case STARTING:
		if (disks_starting())
			return false;
		store.state = SEARCHING;
		next_disk();
		return true;
	case SEARCHING:
		return search();
	case OPENING:
		if (!ask())
			opened();
		return true;
	case OPEN:
		if (store.writing && !ask())
			write_ended();
		else if (!store.writing && store.written != store.changes && !store.why)
			begin_write();
		else
			return store.asked;
		return true;
	default:
		return false;
	}
}

static void watch_disk(void)
{
	if (store.state == OPEN && disks_get(store.disk)->blk.state == BLK_FAILED)
		store.why = "the disk has failed";
}

uint64_t storage_timer(void)
{
	uint64_t due = disks_turn();
	bool more = true;
	for (unsigned i = 0; i < STEPS_MAX && more; i++) {
		more = advance();
		if (more)
			due = disks_turn();
	}
	watch_disk();
	return more && !store.asked ? core_now_ns() : due;
}

bool storage_may_start(void)
{
	storage_start();
	if (store.state == NONE || store.state == OPEN)
		return true;
	if (core_now_ns() - store.begun_ns > BOOT_WAIT_NS) {
		core_log_at(LOG_WARNING,
		            "storage: a disk takes too long: the machine starts without its stored values");
		return true;
	}
	(void)storage_timer();
	return false;
}

/* --- values --- */

bool storage_present(void) { return store.have; }

int storage_get(const char *name, const uint8_t **data, size_t *n)
{
	return store.have ? values_get(&store.values, name, data, n) : E_NOENT;
}

bool storage_next(size_t *at, struct values_entry *e) { return store.have && values_next(&store.values, at, e); }

uint64_t storage_changes(void) { return store.changes; }

uint8_t *storage_behind(size_t *room) { return store.have ? values_behind(&store.values, room) : NULL; }

static int may_change(bool calls)
{
	if (!store.have)
		return E_NOENT;
	if (store.why && store.state >= OPEN)
		return E_DEVICE;
	return calls && store.callers == CALLERS_MAX ? E_AGAIN : E_OK;
}

static void note_change(void (*done)(void *arg, int error), void *arg)
{
	changed();
	store.changes++;
	if (done)
		store.caller[store.callers++] = (struct caller){done, arg, store.changes};
}

/* What a partition of this size, and the memory, have room for. */
static size_t most(void)
{
	return store.state == OPEN ? (size_t)u64_min(store.values.room, generations_most(&store.g)) : store.values.room;
}

int storage_put(const char *name, const void *data, size_t n, void (*done)(void *arg, int error), void *arg)
{
	int error = may_change(done);
	if (error != E_OK)
		return error;
	struct values limited = store.values;
	limited.room = most();
	unseal();
	error = values_put(&limited, name, data, n, walltime_ns() / 1000000000);
	store.values.bytes = limited.bytes;
	if (error == E_OK)
		note_change(done, arg);
	else
		changed();
	return error;
}

int storage_remove(const char *name, void (*done)(void *arg, int error), void *arg)
{
	int error = may_change(done);
	if (error != E_OK)
		return error;
	unseal();
	error = values_remove(&store.values, name);
	if (error == E_OK)
		note_change(done, arg);
	else
		changed();
	return error;
}

void storage_status(struct storage_status *s)
{
	*s = (struct storage_status){
		.disk = store.disk, .at = store.at, .bytes = store.bytes, .generation = store.g.number,
		.damaged = store.g.damaged, .used = store.have ? store.values.bytes : 0,
		.most = store.have ? most() : 0, .writes = store.write_count, .write_errors = store.write_errors,
		 .written_ns = store.written_ns, .writing = store.writing,
		.unwritten = store.have && (store.written != store.changes || store.said), .why = store.why,
	};
}
