/*
 * The echo application: the small services of RFC 862 (echo), 863 (discard) and 864 (character
 * generator) over UDP and TCP, at our own addresses. Nothing is forwarded (dataplane/host.h).
 *
 * The answer to a datagram returns in the same buffer, by the port and to the station that it came
 * from. TCP's segments are routed (dataplane/output.h).
 */
#include "apps/echo/echo.h"

#include "apps/echo/services.h"
#include "control/control.h"
#include "dataplane/host.h"
#include "dataplane/tcp_data.h"
#include "dataplane/tcp_move.h"

static size_t data_bytes(size_t room)
{
	return tcp_data_bytes(room, services_any(&dp_get()->services, SERVICE_TCP), 0);
}

static void data_start(void)
{
	chargen_init();
	host_start(udp_service);
	tcp_services_start(&dp_get()->services);
}

const struct app echo_app = {
	.control = &control_plane_hooks,
	.data_bytes = data_bytes,
	.data_start = data_start,
	.data_tables = host_tables,
	.rx_vector = host_vector,
	.vector_max = HOST_VECTOR,
	.steers = true,
	.moves = true,
	.flows = &tcp_move_flows,
	.data_timer = tcp_data_timer,
	.timer_slack_us = TCP_TIMER_SLACK_US,
	.data_msg = tcp_data_msg,
	.answers = true,
};
