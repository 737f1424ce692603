/* `show bfd`. docs/console.md specifies the form, which is an interface. */
#include "control/cli/show.h"
#include "control/config/running.h"
#include "control/console/shell.h"
#include "control/engine/bfd.h"
#include "dataplane/state.h"
#include "lib/fmt.h"
#include "runtime/runtime.h"

typedef unsigned long long ull;

static ull seconds_since(uint64_t ns)
{
	return (ull)((core_now_ns() - ns) / SECOND_NS);
}

static void print_session(struct shell *sh, const struct engine_bfd_session *e)
{
	char peer[FMT_ADDR_MAX], local[FMT_ADDR_MAX];
	const struct bfd_session *s = &e->s;
	shell_print(sh, "peer %s local %s%s%s%s %s since %llu s%s\n", fmt_addr(peer, e->peer.w),
	            net_addr_is_any(&e->local) ? "any" : fmt_addr(local, e->local.w),
	            e->multihop ? " multihop" : "", e->interface == ENGINE_BFD_ANYWHERE ? "" : " ",
	            e->interface == ENGINE_BFD_ANYWHERE ? "" : dp_name(dp_get(), e->interface),
	            bfd_state_name(s->state), seconds_since(e->changed_ns), e->stale ? " stale" : "");
	shell_print(sh, "  discriminators local %u remote %u, diagnostic %s, remote %s\n",
	            s->local_discr, s->remote_discr, bfd_diag_name(s->diag),
	            bfd_diag_name(s->remote_diag));
	shell_print(sh, "  transmit every %u us, receive %u us, multiplier %u; remote %u us, %u us, %u\n",
	            s->tx_us, s->wish.required_rx_us, s->wish.detect_mult, s->remote_desired_tx_us,
	            s->remote_required_rx_us, s->remote_mult);
	shell_print(sh, "  interval %u us, detection time %llu us%s\n", bfd_session_interval_us(s),
	            (ull)(bfd_session_detect_ns(s) / 1000), bfd_session_polls(s) ? ", polling" : "");
	shell_print(sh, "  packets received %llu, sent %llu, up %u, down %u\n", (ull)e->rx_packets,
	            (ull)e->tx_packets, e->ups, e->downs);
	if (e->downs)
		shell_print(sh, "  last down %llu s ago: %s\n", seconds_since(e->down_ns),
		            bfd_diag_name(e->down_diag));
}

void show_bfd(struct shell *sh)
{
	const struct config_engine *c = &running.config.engine;
	const struct engine_bfd_stats *s = &engine_bfd_stats;
	unsigned sessions = 0, up = 0;
	if (!c->bfd_port) {
		shell_print(sh, "bfd is not configured\n");
		return;
	}
	for (unsigned n = 0; n < ENGINE_BFD_SESSIONS; n++) {
		const struct engine_bfd_session *e = engine_bfd_session(n);
		sessions += e != NULL;
		up += e && e->s.state == BFD_UP;
	}
	show_engine_connection(sh, c->bfd_port, &s->connection);
	shell_print(sh, "sessions %u, up %u, latest packet %llu us late, unsent %llu\n", sessions, up,
	            (ull)s->late_us, (ull)s->unsent);
	shell_print(sh, "connections %llu, foreign %llu, malformed %llu, messages %llu, unknown %llu\n",
	            (ull)s->connection.connections, (ull)s->connection.foreign,
	            (ull)s->connection.malformed, (ull)s->messages, (ull)s->unknown);
	show_engine_disconnected(sh, &s->connection);
	for (unsigned r = ENGINE_BFD_ACCEPTED + 1; r < ENGINE_BFD_REFUSALS_END; r++)
		show_engine_count(sh, "refused", engine_bfd_refusal_name((enum engine_bfd_refusal)r),
		            s->refused[r]);
	for (unsigned n = 0; n < ENGINE_BFD_SESSIONS; n++)
		if (engine_bfd_session(n))
			print_session(sh, engine_bfd_session(n));
}
