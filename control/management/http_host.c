/* See http_host.h. */
#include "control/config/running.h"
#include "control/forwarding/interfaces.h"
#include "control/text/text.h"
#include "net/addr.h"
#include "net/ip6.h"
#include "control/management/http_host.h"

#include "lib/mem.h"

/* Parses an address from Host. IPv6 is in brackets; its zone has a meaning only for the client
 * (RFC 6874 4) and is ignored. */
static bool read_address(struct text t, struct net_addr *addr)
{
	uint32_t four;
	if (t.len > 2 && t.at[0] == '[') { /* the parser has checked the other bracket */
		struct text inner = {t.at + 1, t.len - 2};
		inner.len = text_find(inner, '%');
		return text_parse_ip6(inner, addr) == 0;
	}
	if (text_parse_ip4(t, &four) != 0)
		return false;
	*addr = net_addr_ip4(four);
	return true;
}

static bool is_configured(const struct net_addr *addr)
{
	const struct config_http *http = &running.config.http;
	for (unsigned i = 0; i < http->hosts; i++)
		if (!http->host[i].name[0] && net_addr_equal(&http->host[i].addr, addr))
			return true;
	return false;
}

static bool is_own_name(struct text name)
{
	const struct config_http *http = &running.config.http;
	if (name.len && name.at[name.len - 1] == '.')
		name.len--;
	for (unsigned i = 0; i < http->hosts; i++)
		if (http->host[i].name[0] && text_is_word(name, text_of(http->host[i].name)))
			return true;
	return text_is_word(name, text_of(running.config.hostname));
}

bool http_host_is_ours(const char *host)
{
	struct net_addr addr;
	const struct text t = text_of(host);
	if (read_address(t, &addr))
		return interfaces_have(&addr) || is_configured(&addr);
	return t.len && t.at[0] != '[' && is_own_name(t);
}
