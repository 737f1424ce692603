/*
 * See record.h. What the machine runs when commit_record_start() is called may be what the newest record says, if
 * that commit was written as the startup configuration too; or something else. Commits since then are counted from
 * there.
 */
#include "control/commit/record.h"

#include "control/commit/commit.h"
#include "control/commit/print.h"
#include "control/console/log.h"
#include "control/storage/storage.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/rfc3339.h"
#include "runtime/walltime.h"

#define NAME_MAX 24
#define HEAD_MAX 512
#define SHARE 8 /* a record takes at most this part of the store */

static uint32_t last;   /* number of the newest record */
static uint32_t begun;  /* commits of this program have greater numbers */
static bool begun_in;   /* what ran then is record `begun` */
static bool said;

static bool is_record(const struct values_entry *e, uint32_t *number)
{
	const struct text name = text_of(e->name);
	const size_t folder = sizeof RECORD_FOLDER - 1;
	return name.len > folder && memcmp(name.at, RECORD_FOLDER, folder) == 0 &&
	       text_parse_u32((struct text){name.at + folder, name.len - folder}, 1, UINT32_MAX, number) == E_OK;
}

/* The rest of a line "! WORD TEXT"; empty if it is no such line. */
static struct text take_field(struct text *rest, const char *word)
{
	struct text line;
	const size_t n = strlen(word);
	if (!text_next_line(rest, &line) || line.len < n + 3 || memcmp(line.at, "! ", 2) != 0 ||
	    memcmp(line.at + 2, word, n) != 0)
		return (struct text){"", 0};
	return (struct text){line.at + n + 3, line.len - n - 3};
}

static void read_record(const struct values_entry *e, struct record *r)
{
	struct text rest = {(const char *)e->data, e->bytes};
	(void)take_field(&rest, "commit");
	r->time = take_field(&rest, "time");
	r->by = take_field(&rest, "by");
	r->comment = take_field(&rest, "comment");
	r->config = rest;
}

/* The numbers of the records, newest first; how many. */
static unsigned numbers(uint32_t list[RECORD_MOST])
{
	struct values_entry e;
	unsigned n = 0;
	uint32_t number;
	for (size_t at = 0; storage_next(&at, &e);) {
		if (!is_record(&e, &number))
			continue;
		unsigned i = n < RECORD_MOST ? n++ : RECORD_MOST - 1;
		for (; i > 0 && list[i - 1] < number; i--)
			list[i] = list[i - 1];
		list[i] = number;
	}
	return n;
}

/* Commits of this program that are recorded. */
static unsigned own(const uint32_t *list, unsigned n)
{
	unsigned m = 0;
	while (m < n && list[m] > begun)
		m++;
	return m;
}

bool commit_record_get(unsigned n, struct record *r)
{
	uint32_t list[RECORD_MOST], number;
	struct values_entry e;
	const unsigned all = numbers(list);
	if (n >= all)
		return false;
	for (size_t at = 0; storage_next(&at, &e);)
		if (is_record(&e, &number) && number == list[n]) {
			*r = (struct record){.number = number, .ago = n + (n >= own(list, all) && !begun_in)};
			read_record(&e, r);
			return true;
		}
	return false;
}

bool commit_record_find(unsigned ago, struct record *r)
{
	for (unsigned n = 0; commit_record_get(n, r); n++)
		if (r->ago == ago)
			return true;
	return false;
}

static bool forget_oldest(void)
{
	uint32_t list[RECORD_MOST];
	char name[NAME_MAX];
	const unsigned n = numbers(list);
	if (n == 0)
		return false;
	fmt_format(name, sizeof name, RECORD_FOLDER "%u", list[n - 1]);
	return storage_remove(name, NULL, NULL) == E_OK;
}

/* Builds a record behind the store's values; its length, 0: there is no room. */
static size_t build(uint8_t *at, size_t room, const char *by, const char *comment)
{
	struct storage_status s;
	char utc[RFC3339_MAX];
	storage_status(&s);
	if (room < HEAD_MAX)
		return 0;
	const size_t head = fmt_format((char *)at, HEAD_MAX, "! commit %u\n! time %s\n! by %s\n! comment %s\n", last,
	                               walltime_known() ? rfc3339_put(utc, walltime_ns(), 0) : "unknown", by, comment);
	const size_t share = s.most / SHARE;
	return head + print_running((char *)at + head, share < room - head ? share : room - head);
}

static void record(const char *by, const char *comment)
{
	uint32_t list[RECORD_MOST];
	char name[NAME_MAX];
	size_t room;
	int error = E_NOMEM;
	if (!storage_present())
		return;
	last++;
	fmt_format(name, sizeof name, RECORD_FOLDER "%u", last);
	while (numbers(list) >= RECORD_MOST && forget_oldest())
		;
	do {
		uint8_t *at = storage_behind(&room);
		const size_t n = build(at, room, by, comment);
		error = n ? storage_put(name, at, n, NULL, NULL) : E_NOMEM;
	} while (error == E_NOMEM && forget_oldest());
	if (error != E_OK && !said)
		log_event(LOG_WARNING, "CONFIG", "configuration: commits are not recorded: %s",
		          error == E_NOMEM ? "the store is full" : "the disk cannot be written");
	said = error != E_OK;
}

/* Is the configuration of the newest record the running one? */
static bool runs_newest(void)
{
	struct record r;
	size_t room;
	if (!commit_record_get(0, &r))
		return false;
	uint8_t *at = storage_behind(&room);
	const size_t n = print_running((char *)at, room);
	return n && text_equal(r.config, (struct text){(const char *)at, n});
}

void commit_record_start(void)
{
	uint32_t list[RECORD_MOST];
	if (commit_after || !storage_present())
		return;
	last = begun = numbers(list) ? list[0] : 0;
	begun_in = runs_newest();
	commit_after = record;
}
