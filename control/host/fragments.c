/* See fragments.h. */
#include "lib/pkt.h"
#include "runtime/runtime.h"
#include "control/host/fragments.h"

#include "control/host/output.h"
#include "control/host/output6.h"
#include "net/icmp4.h"
#include "net/icmp6.h"
#include "lib/mem.h"

#define DATAGRAMS 64 /* fewer if memory is scarce: each takes 67 KiB */
#define DATAGRAMS_MIN 4
#define SHARE 8      /* at most 1/8 of the memory left */

static struct reassembly table;
static void *memory;
static size_t memory_bytes;
static struct reassembly_params params;
static bool started;

/* Sends time exceeded in reassembly, with data of the first fragment (RFC 792, RFC 4443 3.3). */
static void timed_out(void *ctx, unsigned interface, const uint8_t *packet, unsigned len)
{
	(void)ctx;
	if (packet[0] >> 4 == 4)
		local_error(packet, len, ICMP4_TIME_EXCEEDED, ICMP4_TIME_REASSEMBLY);
	else
		local6_error(interface, packet, len, ICMP6_TIME_EXCEEDED, ICMP6_TIME_REASSEMBLY, 0);
}

static bool take_memory(void)
{
	params = REASSEMBLY_PARAMS_DEFAULT;
	params.datagrams = DATAGRAMS;
	while (params.datagrams > DATAGRAMS_MIN &&
	       reassembly_memory_bytes(&params) > core_private_left() / SHARE)
		params.datagrams /= 2;
	params.per_source = params.datagrams / 4;
	memory_bytes = reassembly_memory_bytes(&params);
	memory = core_private_alloc(memory_bytes);
	return memory != NULL;
}

int fragments_start(void)
{
	struct siphash_key key;
	started = memory || take_memory();
	if (!started)
		return E_NOMEM;
	count_n(CNT_drop_restart, memory_bytes && table.cnt ? table.held : 0);
	core_random(&key, sizeof key);
	return reassembly_init(&table, &params, memory, memory_bytes, &key, self.counters, timed_out,
	                       NULL);
}

enum counter fragments_input(unsigned interface, const uint8_t *ip, unsigned len,
                             const struct ip6_upper *up, struct reassembly_result *out)
{
	static uint8_t copy[BUF_STRIDE_JUMBO]; /* an atomic fragment is changed in place */
	if (!up)
		return reassembly_input4(&table, interface, ip, core_now_ns(), out);
	memcpy(copy, ip, len);
	return reassembly_input6(&table, interface, copy, up, core_now_ns(), out);
}

uint64_t fragments_timer(void)
{
	return started ? reassembly_tick(&table, core_now_ns()) : UINT64_MAX;
}

uint32_t fragments_waiting(void)
{
	return started ? reassembly_held(&table) : 0;
}
