/* See ntp_text.h. */
#include "control/host/ntp_text.h"

#include "lib/fmt.h"

typedef unsigned long long ull;

static char *decimal(char buf[NTP_TEXT_MAX], int64_t ns, unsigned unit, unsigned digits)
{
	const ull size = (ull)(ns < 0 ? -ns : ns);
	fmt_format(buf, NTP_TEXT_MAX, "%s%llu.%0*llu", ns < 0 ? "-" : "", size / unit, (int)digits, size % unit);
	return buf;
}

char *ntp_text_ms(char buf[NTP_TEXT_MAX], int64_t ns) { return decimal(buf, ns, 1000000, 6); }
char *ntp_text_s(char buf[NTP_TEXT_MAX], int64_t ns) { return decimal(buf, ns, NTP_SECOND_NS, 9); }

char *ntp_text_ppm(char buf[NTP_TEXT_MAX], int32_t frequency)
{
	return decimal(buf, (int64_t)frequency * 1000000000 / (1ll << 32), 1000, 3);
}

char *ntp_text_reference(char buf[NTP_TEXT_MAX], unsigned stratum, uint32_t id)
{
	if (id == 0) {
		fmt_format(buf, NTP_TEXT_MAX, "-");
	} else if (stratum <= 1) {
		unsigned n = 0;
		for (int shift = 24; shift >= 0; shift -= 8) {
			const char c = (char)(id >> shift);
			if (c)
				buf[n++] = c > ' ' && c <= '~' ? c : '?';
		}
		buf[n] = '\0';
	} else {
		fmt_ip4(buf, id);
	}
	return buf;
}

const char *ntp_text_verdict(const struct ntp_server *s)
{
	static const char *const words[] = {[NTP_REJECTED] = "rejected",  [NTP_FALSETICKER] = "falseticker",
	                                    [NTP_OUTLIER] = "outlier",    [NTP_COMBINED] = "candidate",
	                                    [NTP_SYSTEM_PEER] = "system peer"};
	if (net_addr_is_any(&s->addr))
		return "unresolved";
	return s->denied ? "denied" : words[s->verdict];
}
