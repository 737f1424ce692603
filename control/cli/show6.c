/* `show ipv6 neighbors`. The form follows the rules in show.c. */
#include "control/cli/show.h"
#include "control/console/shell.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "control/text/interface_name.h"
#include "dataplane/state.h"
#include "net/nd.h"

#include "lib/fmt.h"

typedef unsigned long long ull;

/* --- show ipv6 neighbors --- */

void show_neighbours6(struct shell *sh)
{
	char addr[FMT_IP6_MAX], mac[FMT_MAC_MAX];
	struct nd_entry e;
	shell_print(sh, "%-30s %-17s " INTERFACE_COLUMN " %-11s %-6s %8s %7s\n", "address", "mac", "port", "state",
	            "router", "age_s", "waiting");
	for (unsigned cursor = 0;
	     forwarding.ready && nd_next(&neighbours.nd, &cursor, core_now_ns(), &e);)
		shell_print(sh, "%-30s %-17s " INTERFACE_COLUMN " %-11s %-6s %8llu %7u\n", fmt_ip6(addr, e.addr.w),
		            eth_is_zero(e.mac) ? "-" : fmt_mac(mac, e.mac),
		            dp_name(dp_get(), e.interface), nd_state_name(e.state),
		            e.role == ND_ROLE_ROUTER ? "yes" : "no", (ull)(e.age_ns / 1000000000u),
		            e.pending);
}
