/* See neigh_rig.h. */
#include "tests/unit/rig/neigh_rig.h"

const uint8_t our_mac[6] = {0x02, 0, 0, 0, 0, 0x01};
const uint8_t our_mac1[6] = {0x02, 0, 0, 0, 0, 0x02};
const uint8_t mac_a[6] = {0x02, 0, 0, 0, 0xaa, 0x0a};
const uint8_t mac_b[6] = {0x02, 0, 0, 0, 0xbb, 0x0b};
const uint8_t broadcast[6] = {255, 255, 255, 255, 255, 255};

unsigned given, released, refused, lost;
bool rig_up[64];
static char said[16384];

void say(const char *format, ...)
{
	size_t n = strlen(said);
	va_list args;
	va_start(args, format);
	vsnprintf(said + n, sizeof said - n, format, args);
	va_end(args);
}

void expect_at(const char *want, int line)
{
	if (strcmp(said, want) != 0)
		fail_msg("line %d:\n  said   %s\n  wanted %s", line, said, want);
	said[0] = '\0';
}

void hush(void) { said[0] = '\0'; }

void neigh_rig_reset(void)
{
	hush();
	given = released = refused = lost = 0;
	memset(rig_up, 0, sizeof rig_up);
}

void neigh_rig_frame(uint8_t f[60], uint8_t mark)
{
	memset(f, 0, 60);
	f[14] = mark;
	given++;
}

/* --- the ops --- */

void on_up(void *ctx, unsigned i, const uint8_t *mac)
{
	(void)ctx;
	rig_up[i] = true;
	say("up %u %02x; ", i, mac[5]);
}

void on_down(void *ctx, unsigned i)
{
	(void)ctx;
	assert_true(rig_up[i]);
	rig_up[i] = false;
	say("down %u; ", i);
}

void on_release(void *ctx, unsigned i, uint8_t *f, unsigned len)
{
	(void)ctx;
	assert_true(rig_up[i]);
	memset(f, 0xee, 14); /* the caller may write the header */
	released++;
	say("release %u #%u; ", i, len > 14 ? f[14] : 0);
}

void on_unreachable(void *ctx, unsigned i, uint8_t *f, unsigned len)
{
	(void)ctx;
	refused++;
	say("unreachable %u #%u; ", i, len > 14 ? f[14] : 0);
}

void on_lost(void *ctx, unsigned i, uint8_t *f, unsigned len)
{
	(void)ctx;
	lost++;
	say("lost %u #%u; ", i, len > 14 ? f[14] : 0);
}

void on_removed(void *ctx, unsigned i)
{
	(void)ctx;
	assert_false(rig_up[i]);
	say("removed %u; ", i);
}
