/*
 * The hash of the running configuration. It identifies the configuration in the report of a
 * failure, and compares two machines, or a machine and a file. It is SipHash-2-4 with an all-zero
 * key, of the text that config_print writes and `show running-config` shows.
 *
 * Hashing a million routes takes a second. The work is done in slices, when the machine starts and
 * after each commit; there is no hash meanwhile.
 */
#include "runtime/runtime.h"
#include "control/config/config.h"
#include "control/config/config_hash.h"
#include "control/config/running.h"
#include "runtime/events.h"
#include "lib/siphash.h"

#define SLICE_NS 500000ull

static struct {
	bool begun, done;
	uint32_t number; /* running.number of the hashed configuration */
	uint64_t value;  /* once it is done */
	struct config_hasher h;
} hashing;

static void add(void *ctx, const char *text, size_t len)
{
	siphash24_add(ctx, text, len);
}

void config_hash_begin(struct config_hasher *h)
{
	static const struct siphash_key key; /* no secret: anybody may compute the hash again */
	h->at = (struct config_cursor){0};
	h->hash = siphash24_begin(&key);
}

bool config_hash_step(struct config_hasher *h, const struct config *c, uint64_t *hash)
{
	const uint64_t end = clock_tsc() + clock_ticks(&self.clock, SLICE_NS);
	while (config_print_next(c, &h->at, add, &h->hash))
		if (clock_tsc() > end)
			return false;
	*hash = siphash24_end(&h->hash);
	return true;
}

static bool is_current(void)
{
	return hashing.begun && hashing.number == running.number;
}

uint64_t config_hash_timer(void)
{
	if (!is_current()) {
		hashing.begun = true;
		hashing.done = false;
		hashing.number = running.number;
		config_hash_begin(&hashing.h);
	}
	if (hashing.done)
		return UINT64_MAX;
	if (!config_hash_step(&hashing.h, &running.config, &hashing.value))
		return core_now_ns();
	hashing.done = true;
	core_note_config(hashing.value);
	core_event(EVENT_configuration, hashing.number, hashing.value);
	return UINT64_MAX;
}

bool config_hash_now(uint64_t *hash)
{
	*hash = hashing.value;
	return is_current() && hashing.done;
}
