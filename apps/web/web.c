/* The web application: the hooks of struct app. Files over HTTP/1.1 (serve.h) at our own addresses; nothing is
 * forwarded (dataplane/host.h). */
#include "apps/web/web.h"

#include "apps/web/log.h"
#include "apps/web/plugin.h"
#include "apps/web/published.h"
#include "apps/web/serve.h"
#include "control/control.h"
#include "dataplane/host.h"
#include "dataplane/state.h"
#include "dataplane/tcp_data.h"
#include "dataplane/tcp_move.h"
#include "lib/number.h"

static size_t slots_bytes;
static bool serves; /* else there was no memory for TCP, or for what the control core publishes */

static size_t data_bytes(size_t room)
{
	slots_bytes = serve_slots_bytes(room);
	return tcp_data_bytes(room - slots_bytes, true, SERVE_CONN_BYTES) + slots_bytes;
}

static void data_start(void)
{
	const struct web_published *w = dp_get()->plugin_data;
	uint32_t connections;
	size_t bytes;
	host_start(NULL);
	log_start(w, true);
	serves = tcp_data && w;
	if (!serves)
		return;
	void *conns = tcp_data_own(&connections);
	uint8_t *end = (uint8_t *)core_data_memory(&bytes) + bytes;
	serve_start(conns, connections, end - slots_bytes, slots_bytes, w->port);
	serve_sites(w);
}

static void data_tables(void)
{
	const struct web_published *w = dp_get()->plugin_data;
	host_tables();
	log_start(w, false);
	if (serves)
		serve_sites(w);
}

static uint64_t data_timer(void)
{
	uint64_t due = tcp_data_timer();
	if (!serves)
		return due;
	if (unlikely(serve_expire()))
		due = tcp_data_timer();
	return u64_min(due, serve_deadline());
}

const struct app web_app = {
	.control = &control_plane_hooks,
	.plugin = &web_plugin,
	.data_bytes = data_bytes,
	.data_start = data_start,
	.data_tables = data_tables,
	.rx_vector = host_vector,
	.vector_max = HOST_VECTOR,
	.steers = true,
	.moves = true,
	.flows = &tcp_move_flows,
	.data_timer = data_timer,
	.timer_slack_us = TCP_TIMER_SLACK_US,
	.data_msg = tcp_data_msg,
	.answers = true,
	.content = true,
};
