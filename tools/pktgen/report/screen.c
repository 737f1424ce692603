/* See screen.h. */
#include "tools/pktgen/report/screen.h"

#include "lib/fmt.h"
#include "tools/pktgen/report/report_out.h"

typedef unsigned long long ull;

#define SHORT 12 /* bytes of a short number */

/* value / one with `figures` digits (3 or 4) and the unit: "1.23us", "12.34M". If more digits stand
 * before the point, all of these are written. */
static char *digits(char buf[SHORT], uint64_t value, uint64_t one, unsigned figures,
                    const char *unit)
{
	unsigned before = 1, decimals = 0;
	for (uint64_t whole = value / one; whole >= 10; whole /= 10)
		before++;
	for (; one >= 10 && before + decimals < figures; decimals++)
		one /= 10;
	char text[REPORT_NUMBER];
	fmt_format(buf, SHORT, "%s%s", report_fixed(text, value / one, decimals), unit);
	return buf;
}

/* At most six characters if n is below 10^17: "999999", "1.23M". */
static char *count(char buf[SHORT], uint64_t n)
{
	if (n < 1000000)
		return digits(buf, n, 1, 3, "");
	if (n < 1000000000)
		return digits(buf, n, 1000000, 3, "M");
	return n < 1000000000000 ? digits(buf, n, 1000000000, 3, "G")
	                         : digits(buf, n, 1000000000000, 3, "T");
}

/* A rate in frames or bits a second: "440", "20.00k", "14.88M". */
static char *rate(char buf[SHORT], uint64_t n)
{
	if (n < 1000)
		return digits(buf, n, 1, 4, "");
	if (n < 1000000)
		return digits(buf, n, 1000, 4, "k");
	return n < 1000000000 ? digits(buf, n, 1000000, 4, "M")
	                      : digits(buf, n, 1000000000, 4, "G");
}

static char *duration(char buf[SHORT], uint64_t ns)
{
	if (ns < 1000)
		return digits(buf, ns, 1, 3, "ns");
	if (ns < 1000000)
		return digits(buf, ns, 1000, 3, "us");
	return ns < 1000000000 ? digits(buf, ns, 1000000, 3, "ms")
	                       : digits(buf, ns, 1000000000, 3, "s");
}

uint64_t screen_left_ns(const struct screen_progress *p)
{
	return wide_mul_div(p->elapsed_ns, 1000 - p->permille, p->permille);
}

/* The beginning of a line and of a screen: "  12.3 s   20 %  49 s left". */
static void add_progress(struct fmt_buf *l, const struct screen_progress *p)
{
	fmt_put(l, "%4llu.%llu s", (ull)(p->elapsed_ns / 1000000000),
	    (ull)(p->elapsed_ns / 100000000 % 10));
	if (p->permille == SCREEN_UNKNOWN)
		return;
	fmt_put(l, "  %3u %%", p->permille / 10);
	if (p->permille > 0 && p->permille < 1000)
		fmt_put(l, "  %llu s left", (ull)((screen_left_ns(p) + 999999999) / 1000000000));
}

unsigned screen_head(char *line, const struct screen_progress *p)
{
	struct fmt_buf l = {.at = line, .size = SCREEN_COLUMNS};
	add_progress(&l, p);
	fmt_put(&l, "  %s", p->state);
	return (unsigned)l.used;
}

unsigned screen_titles(char *line)
{
	struct fmt_buf l = {.at = line, .size = SCREEN_COLUMNS};
	fmt_put(&l, "%-10s%8s%8s%8s%8s%9s%7s%7s%7s%7s", "stream", "tx pps", "bit/s", "rx pps",
	    "bit/s", "missing", "reord", "p50", "p99", "max");
	return (unsigned)l.used;
}

unsigned screen_row(char *line, const struct screen_row *row)
{
	struct fmt_buf l = {.at = line, .size = SCREEN_COLUMNS};
	char a[SHORT], b[SHORT], c[SHORT], d[SHORT], e[SHORT];
	fmt_put(&l, "%-10.10s%8s%8s", row->name, rate(a, row->tx_fps),
	    rate(b, row->tx_bps));
	if (row->stamped)
		fmt_put(&l, "%8s%8s%9s%7s", rate(a, row->rx_fps),
		    rate(b, row->rx_bps), count(c, row->missing),
		    count(d, row->reordered));
	if (row->stamped && row->latency.count)
		fmt_put(&l, "%7s%7s%7s", duration(c, row->latency.p[P50]),
		    duration(d, row->latency.p[P99]), duration(e, row->latency.max));
	return (unsigned)l.used;
}

unsigned screen_more(char *line, unsigned streams)
{
	struct fmt_buf l = {.at = line, .size = SCREEN_COLUMNS};
	fmt_put(&l, "and %u more", streams);
	return (unsigned)l.used;
}

static void add_bound(struct fmt_buf *l, const char *what, uint64_t value, bool frames)
{
	char text[REPORT_NUMBER];
	fmt_put(l, ", %s %s%s", what, report_fixed(text, value, frames ? 0 : 3), frames ? "" : " %");
}

unsigned screen_trial(char *line, uint32_t number, const struct trial *trial,
                      const struct rfc2544_bounds *bounds)
{
	struct fmt_buf l = {.at = line, .size = SCREEN_COLUMNS};
	bool frames = trial->frames > 0;
	fmt_put(&l, "trial %u: %s, %u bytes", number, report_test(trial->test),
	    trial->size + PLAN_FCS_BYTES);
	add_bound(&l, frames ? "burst" : "at", frames ? trial->frames : trial->rate, frames);
	if (trial->attempt > 1)
		fmt_put(&l, ", attempt %u", trial->attempt);
	if (bounds->has_low)
		add_bound(&l, "passes", bounds->low, frames);
	if (bounds->has_high)
		add_bound(&l, "fails", bounds->high, frames);
	return (unsigned)l.used;
}

unsigned screen_line(char *line, const struct screen_progress *p, const struct screen_row *all)
{
	struct fmt_buf l = {.at = line, .size = SCREEN_LINE};
	char a[SHORT], b[SHORT], c[SHORT], d[SHORT], e[SHORT];
	add_progress(&l, p);
	fmt_put(&l, "  sent %spps %sbit/s", rate(a, all->tx_fps),
	    rate(b, all->tx_bps));
	fmt_put(&l, "  received %spps %sbit/s  missing %llu reordered %llu",
	    rate(a, all->rx_fps), rate(b, all->rx_bps), (ull)all->missing,
	    (ull)all->reordered);
	if (all->latency.count)
		fmt_put(&l, "  p50 %s p99 %s max %s", duration(c, all->latency.p[P50]),
		    duration(d, all->latency.p[P99]), duration(e, all->latency.max));
	return (unsigned)l.used;
}
