/*
 * See storage_commands.h. A command that writes waits for the disk: its shell is busy until storage_put's `done`. One
 * at a time. Ctrl-C ends the waiting, and not the writing.
 */
#include "control/cli/storage_commands.h"

#include "control/cli/configure.h"
#include "control/commit/commit.h"
#include "control/commit/record.h"
#include "control/commit/startup.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/storage/storage.h"
#include "lib/fmt.h"
#include "lib/number.h"
#include "lib/rfc3339.h"
#include "runtime/walltime.h"

typedef unsigned long long ull;

static struct {
	struct shell *sh; /* NULL: nobody waits */
	bool under_way;
	bool after;       /* a commit is to come into force first: */
	uint32_t number;  /* running.number is greater then */
	char what[24];
} work;

static const char *reason(int error)
{
	struct storage_status s;
	storage_status(&s);
	return error == E_NOENT  ? s.why ? s.why : "there is no store"
	       : error == E_NOMEM ? "it is longer than the store has room for"
	       : error == E_AGAIN ? "too many writes are under way"
	                          : s.why ? s.why : "the disk could not be written";
}

static void finish(void)
{
	struct shell *sh = work.sh;
	work.sh = NULL;
	work.under_way = false;
	if (sh)
		shell_done(sh);
}

static void cancel(struct shell *sh)
{
	work.sh = NULL;
	shell_done(sh);
}

static void done(void *arg, int error)
{
	struct storage_status s;
	(void)arg;
	storage_status(&s);
	if (error == E_OK)
		log_event(LOG_NOTICE, "CONFIG-STARTUP",
		          "configuration: the startup configuration is %s, generation %llu", work.what,
		          (ull)s.generation);
	if (work.sh && error == E_OK)
		shell_print(work.sh, "%s\n", work.what);
	else if (work.sh)
		shell_print(work.sh, "%% %s\n", reason(error));
	finish();
}

/* True: the shell waits for it. */
static bool begin(struct shell *sh, const char *what)
{
	if (work.under_way) {
		shell_print(sh, "%% the startup configuration is being changed already\n");
		return false;
	}
	work.under_way = true;
	work.after = false;
	work.sh = sh;
	fmt_format(work.what, sizeof work.what, "%s", what);
	shell_set_busy(sh, cancel);
	return true;
}

static void begun(int error)
{
	if (error == E_OK)
		return;
	if (work.sh)
		shell_print(work.sh, "%% %s\n", reason(error));
	finish();
}

void write_memory(struct shell *sh)
{
	if (commit_unconfirmed_s())
		shell_print(sh, "%% the last commit waits to be confirmed: do that first, by commit\n");
	else if (begin(sh, "written"))
		begun(startup_write(done, NULL));
}

void write_after_commit(struct shell *sh, uint32_t number)
{
	if (!begin(sh, "written"))
		return;
	work.after = true;
	work.number = number;
}

uint64_t storage_commands_timer(void)
{
	if (work.under_way && work.after && running.number > work.number && core_ports_running()) {
		work.after = false;
		begun(startup_write(done, NULL));
	}
	return UINT64_MAX; /* a commit ends with a turn of all timers */
}

void erase_startup(struct shell *sh)
{
	const uint8_t *data;
	size_t n;
	if (storage_present() && storage_get(STARTUP_NAME, &data, &n) != E_OK)
		shell_print(sh, "%% there is no startup configuration\n");
	else if (begin(sh, "erased"))
		begun(storage_remove(STARTUP_NAME, done, NULL));
}

/* --- show startup-config --- */

struct startup_stream {
	size_t at;
	uint64_t changes; /* of the store */
	bool begun;
};
_Static_assert(sizeof(struct startup_stream) <= SHELL_STREAM_BYTES, "shell_stream keeps it");

static bool more_startup(struct shell *sh, void *own)
{
	struct startup_stream *s = own;
	const uint8_t *data;
	size_t n = 0, printed = 0;
	if (storage_get(STARTUP_NAME, &data, &n) != E_OK || (s->begun && s->changes != storage_changes())) {
		shell_print(sh,
		            s->begun ? "%% it has been changed meanwhile\n" : "there is no startup configuration\n");
		return false;
	}
	s->begun = true;
	s->changes = storage_changes();
	struct text rest = {(const char *)data + s->at, n - s->at}, line;
	while (rest.len > 0 && printed < SHELL_STREAM_PIECE / 2 && text_next_line(&rest, &line)) {
		const size_t whole = n - s->at - rest.len;
		configure_print(sh, line.at, u32_min((uint32_t)whole, SHELL_STREAM_PIECE / 2));
		s->at += whole;
		printed += whole;
	}
	return rest.len > 0;
}

void show_startup(struct shell *sh) { shell_stream(sh, more_startup); }

/* --- show history --- */

void show_record(struct shell *sh)
{
	struct record r;
	if (!commit_record_get(0, &r)) {
		shell_print(sh, "no commit is recorded%s\n", storage_present() ? "" : ": there is no store");
		return;
	}
	shell_print(sh, "%-8s %6s %-20s %-24s %s\n", "rollback", "commit", "time", "by", "comment");
	for (unsigned n = 0; commit_record_get(n, &r); n++)
		shell_print(sh, "%-8u %6u %-20.*s %-24.*s %.*s%s\n", r.ago, r.number, (int)r.time.len, r.time.at,
		            (int)r.by.len, r.by.at, (int)r.comment.len, r.comment.at,
		            r.config.len ? "" : " (its configuration was too long)");
}

/* --- show storage --- */

static void show_disk(struct shell *sh, unsigned n)
{
	const struct disk *d = disks_get(n);
	const struct blk *b = &d->blk;
	char at[FMT_PCI_MAX];
	shell_print(sh, "disk%u %s at %s", n, b->ops->name, fmt_pci(at, b->pci->segment, b->pci->bdf));
	if (b->state == BLK_FAILED)
		shell_print(sh, ", failed: %s", b->why);
	else if (b->state == BLK_STARTING)
		shell_print(sh, ", starting");
	else
		shell_print(sh, ", %s, %llu MiB, sectors of %u bytes%s", b->name, (ull)((b->sectors * b->sector) >> 20),
		            b->sector, b->writable ? "" : ", read only");
	shell_print(sh, "\n  requests: read %llu, written %llu, flushed %llu, failed %llu\n", (ull)d->reads,
	            (ull)d->writes, (ull)d->flushes, (ull)d->errors);
}

static void show_store(struct shell *sh, const struct storage_status *s)
{
	const uint64_t written = s->written_ns ? walltime_at(s->written_ns) : 0;
	char utc[RFC3339_MAX];
	shell_print(sh, "store on disk%u at byte %llu, %llu bytes, generation %llu%s\n", s->disk, (ull)s->at,
	            (ull)s->bytes, (ull)s->generation, s->damaged ? ", one was not whole at the start" : "");
	shell_print(sh, "  values %llu bytes of %llu%s\n", (ull)s->used, (ull)s->most,
	            s->writing ? ", being written" : s->unwritten ? ", not all on the disk" : "");
	shell_print(sh, "  writes %llu, failed %llu, last %s\n", (ull)s->writes, (ull)s->write_errors,
	            written         ? rfc3339_put(utc, written, 0)
	            : s->written_ns ? "at an unknown time"
	                            : "never since the start");
}

void show_storage(struct shell *sh)
{
	struct storage_status s;
	struct values_entry e;
	storage_status(&s);
	for (unsigned n = 0; n < disks_count(); n++)
		show_disk(sh, n);
	if (s.why)
		shell_print(sh, "%s: %s\n", storage_present() ? "nothing can be written" : "no store", s.why);
	if (s.bytes && s.disk < disks_count())
		show_store(sh, &s);
	for (size_t at = 0; storage_next(&at, &e);)
		shell_print(sh, "  %10llu %s\n", (ull)e.bytes, e.name);
}
