/* The plan as text; see script.h, invariant 3. Defaults are left out, except ports, stamps and
 * seeds, which a reader may not know. */
#include "lib/assert.h"
#include "lib/fmt.h"
#include "net/eth.h"
#include "tools/pktgen/script/script_parse.h"

struct printer {
	script_write_fn write;
	void *ctx;
};

static void PRINTF_LIKE(2, 3) print(const struct printer *p, const char *format, ...)
{
	char text[200];
	__builtin_va_list args;
	__builtin_va_start(args, format);
	size_t n = fmt_vformat(text, sizeof text, format, args);
	__builtin_va_end(args);
	assert(n < sizeof text);
	p->write(p->ctx, text, n);
}

/* --- numbers --- */

/* The largest n, up to `most`, with 1000^n <= value: a row of the units 1, k, M, G, T. 0 for 0. */
static unsigned scale_of(uint64_t value, unsigned most)
{
	unsigned n = 0;
	for (uint64_t unit = 1000; n < most && value >= unit; unit *= 1000)
		n++;
	return n;
}

static void print_percent(const struct printer *p, uint64_t value, unsigned exponent)
{
	char number[SCRIPT_NUMBER_MAX];
	print(p, "%s%%", script_scaled(number, value, exponent));
}

static void print_rate(const struct printer *p, const struct plan_rate *r)
{
	static const char *const prefix[] = {"", "k", "M", "G", "T"};
	char number[SCRIPT_NUMBER_MAX];
	unsigned scale;
	switch (r->unit) {
	case PLAN_FLAT:
		print(p, "flat");
		break;
	case PLAN_PERCENT:
		print_percent(p, r->value, SCRIPT_PERCENT_EXPONENT);
		break;
	case PLAN_PPS:
		scale = scale_of(r->value, 3);
		print(p, "%s%spps", script_scaled(number, r->value, 3 * scale), prefix[scale]);
		break;
	default:
		scale = scale_of(r->value, 4);
		print(p, "%s%sbps%s", script_scaled(number, r->value, 3 * scale), prefix[scale],
		      r->unit == PLAN_L2_BPS ? " l2" : "");
	}
}

static void print_time(const struct printer *p, uint64_t ns)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	char number[SCRIPT_NUMBER_MAX];
	unsigned scale = scale_of(ns, 3);
	print(p, "%s%s", script_scaled(number, ns, 3 * scale), unit[scale]);
}

static void print_limit(const struct printer *p, const char *word, const struct plan_limit *l)
{
	print(p, "%s", word);
	if (l->ns != 0) {
		print(p, " ");
		print_time(p, l->ns);
	}
	if (l->frames != 0)
		print(p, "%s %llu frames", l->ns != 0 ? " or" : "", (unsigned long long)l->frames);
	print(p, "\n");
}

static void print_sizes(const struct printer *p, const uint16_t *size, unsigned sizes)
{
	for (unsigned i = 0; i < sizes; i++)
		print(p, "%s%u", i ? "/" : "", size[i] + PLAN_FCS_BYTES);
	print(p, "\n");
}

/* --- streams --- */

static void print_addresses(const struct printer *p, const struct plan_stream *s)
{
	char src[FMT_ADDR_MAX], dst[FMT_ADDR_MAX];
	fmt_addr(src, &s->src);
	fmt_addr(dst, &s->dst);
	switch (s->proto) {
	case PLAN_UDP:
	case PLAN_TCP:
		print(p, " %s %s port %u %s port %u", s->proto == PLAN_UDP ? "udp" : "tcp", src, s->sport,
		      dst, s->dport);
		break;
	case PLAN_ICMP:
		print(p, " icmp %s %s identifier %u sequence %u", src, dst, s->sport, s->dport);
		break;
	default:
		print(p, " ip %s %s", src, dst);
	}
	if (s->proto == PLAN_TCP) {
		print(p, " flags %s", s->tcp_flags ? "" : "none");
		for (unsigned bit = 0, more = 0; bit < 8; bit++)
			if (s->tcp_flags & 1u << bit)
				print(p, "%s%s", more++ ? "/" : "", script_tcp_flags[bit]);
	}
	print(p, "\n");
}

static void print_size(const struct printer *p, const struct plan_stream *s)
{
	if (s->size_mode == PLAN_SIZES_LIST) {
		print(p, " size ");
		print_sizes(p, s->size, s->sizes);
		return;
	}
	print(p, " size random %u %u seed %llu\n", s->size[0] + PLAN_FCS_BYTES,
	      s->size[1] + PLAN_FCS_BYTES, (unsigned long long)s->size_seed);
}

static void print_target(const struct printer *p, const struct plan_stream *s,
                         const struct plan_field *f)
{
	static const char *const words[] = {
		[PLAN_MAC_SRC] = "source mac", [PLAN_MAC_DST] = "destination mac", [PLAN_VLAN] = "vlan",
		[PLAN_IP_SRC] = "source address", [PLAN_IP_DST] = "destination address",
		[PLAN_PORT_SRC] = "source port", [PLAN_PORT_DST] = "destination port",
	};
	if (f->where == PLAN_PAYLOAD)
		print(p, " vary payload offset %u bytes %u", f->offset, f->bytes);
	else if (s->proto == PLAN_ICMP && f->where == PLAN_PORT_SRC)
		print(p, " vary identifier");
	else if (s->proto == PLAN_ICMP && f->where == PLAN_PORT_DST)
		print(p, " vary sequence");
	else
		print(p, " vary %s", words[f->where]);
}

static void print_value(const struct printer *p, const struct plan_stream *s,
                        const struct plan_field *f, const char *before, uint64_t v)
{
	char text[FMT_ADDR_MAX];
	uint8_t mac[6];
	struct net_addr a = f->where == PLAN_IP_SRC ? s->src : s->dst;
	switch (f->where) {
	case PLAN_MAC_SRC:
	case PLAN_MAC_DST:
		be16_store(mac, (uint16_t)(v >> 32));
		be32_store(mac + 2, (uint32_t)v);
		fmt_mac(text, mac);
		break;
	case PLAN_IP_SRC:
	case PLAN_IP_DST:
		if (s->v6)
			a.w[2] = be32_make((uint32_t)(v >> 32)).raw;
		a.w[3] = be32_make((uint32_t)v).raw;
		fmt_addr(text, &a);
		break;
	default:
		fmt_format(text, sizeof text, "%llu", (unsigned long long)v);
	}
	print(p, "%s%s", before, text);
}

static void print_field(const struct printer *p, const struct plan_stream *s,
                        const struct plan_field *f)
{
	print_target(p, s, f);
	if (f->mode == PLAN_LIST) {
		for (unsigned i = 0; i < f->count; i++)
			print_value(p, s, f, i ? "/" : " list ", f->list[i]);
		print(p, "\n");
		return;
	}
	const bool random = f->mode == PLAN_RANDOM;
	const uint64_t last = f->first + (f->count - 1) * (random ? 1 : f->step);
	print_value(p, s, f, random ? " random " : " increment ", f->first);
	print_value(p, s, f, " ", last);
	if (random)
		print(p, " seed %llu", (unsigned long long)f->seed);
	else if (f->step != 1)
		print(p, " step %llu", (unsigned long long)f->step);
	print(p, "\n");
}

static void print_sending(const struct printer *p, const struct plan_stream *s)
{
	if (s->ramp_ns != 0) {
		print(p, " ramp ");
		print_rate(p, &s->rate);
		print(p, " to ");
		print_rate(p, &s->rate_end);
		print(p, " over ");
		print_time(p, s->ramp_ns);
		print(p, "\n");
	} else if (s->rate.unit != PLAN_RECORDED) {
		print(p, " rate ");
		print_rate(p, &s->rate);
		print(p, "%s\n", s->card_rate ? " hardware" : "");
	}
	if (s->burst != 1)
		print(p, " burst %u\n", s->burst);
	if (s->weight != 1)
		print(p, " weight %u\n", s->weight);
	if (s->limit.ns != 0 || s->limit.frames != 0)
		print_limit(p, " limit", &s->limit);
}

static void print_replay(const struct printer *p, const struct plan_stream *s)
{
	char number[SCRIPT_NUMBER_MAX];
	print(p, " replay %s\n", s->replay.file);
	if (s->rate.unit == PLAN_RECORDED && s->rate.value != PLAN_SPEED_ONE)
		print(p, " speed %s\n", script_scaled(number, s->rate.value, PLAN_SPEED_EXPONENT));
	if (s->replay.rounds == 0)
		print(p, " loop forever\n");
	else if (s->replay.rounds != 1)
		print(p, " loop %llu\n", (unsigned long long)s->replay.rounds);
	print_sending(p, s);
}

/* The statements of a stream that does not replay a capture. */
static void print_made(const struct printer *p, const struct plan_stream *s, bool rfc2544)
{
	if (s->cores != 0)
		print(p, " cores %u\n", s->cores);
	for (unsigned i = 0; i < s->vlans; i++)
		print(p, " vlan %u priority %u%s\n", s->vlan[i] & 0xfffu, s->vlan[i] >> 13u,
		      s->vlan[i] & 0x1000 ? " dei" : "");
	print_addresses(p, s);
	if (s->ttl != 64)
		print(p, " ttl %u\n", s->ttl);
	if (s->tos != 0)
		print(p, " tos %u\n", s->tos);
	if (!rfc2544)
		print_size(p, s);
	print(p, " %s\n", s->stamped ? "stamp" : "no stamp");
	if (!rfc2544)
		print_sending(p, s);
	else if (s->weight != 1)
		print(p, " weight %u\n", s->weight);
	for (unsigned i = 0; i < s->fields; i++)
		print_field(p, s, &s->field[i]);
}

static void print_stream(const struct printer *p, const struct plan_stream *s, bool rfc2544)
{
	char mac[FMT_MAC_MAX];
	print(p, "stream %s\n port eth%u", s->name, s->port);
	if (s->port_in != PLAN_PORT_NONE)
		print(p, " to eth%u", s->port_in);
	print(p, "\n");
	if (!eth_is_zero(s->mac_src))
		print(p, " mac source %s\n", fmt_mac(mac, s->mac_src));
	if (!eth_is_zero(s->mac_dst))
		print(p, " mac destination %s\n", fmt_mac(mac, s->mac_dst));
	if (s->replay.file[0] != 0)
		print_replay(p, s);
	else
		print_made(p, s, rfc2544);
}

/* --- the rest --- */

static void print_answer(const struct printer *p, const struct plan_answer *a)
{
	char prefix[FMT_PREFIX6_MAX];
	if (net_addr_is_ip4(&a->prefix))
		fmt_prefix(prefix, net_addr_to_ip4(&a->prefix), a->plen - 96u);
	else
		fmt_prefix6(prefix, &a->prefix, a->plen);
	print(p, "answer eth%u %s\n", a->port, prefix);
}

static void print_line_rate(const struct printer *p, unsigned port, uint64_t bps)
{
	const struct plan_rate rate = {PLAN_L1_BPS, bps};
	print(p, "line eth%u ", port);
	print_rate(p, &rate);
	print(p, "\n");
}

static void print_probe(const struct printer *p, const struct plan_probe *q)
{
	char src[FMT_ADDR_MAX], dst[FMT_ADDR_MAX];
	print(p, "probe eth%u to eth%u", q->port, q->port_in);
	if (q->ip)
		print(p, " %s %s", fmt_addr(src, &q->src), fmt_addr(dst, &q->dst));
	print(p, " every ");
	print_time(p, q->every_ns);
	print(p, "\n");
}

static void print_capture(const struct printer *p, unsigned port, const struct plan_capture *c)
{
	print(p, "capture eth%u", port);
	if (c->size != PLAN_FRAME_MAX)
		print(p, " size %u", c->size);
	if (c->frames != 0)
		print(p, " frames %llu", (unsigned long long)c->frames);
	print(p, "\n");
}

static void print_rfc2544(const struct printer *p, const struct plan_rfc2544 *r)
{
	print(p, "rfc2544");
	for (unsigned test = PLAN_THROUGHPUT; test < PLAN_TESTS; test++)
		if (r->tests & 1u << test)
			print(p, " %s", script_tests[test]);
	print(p, "\n sizes ");
	print_sizes(p, r->size, r->sizes);
	print(p, " trial ");
	print_time(p, r->duration_ns);
	print(p, "\n settle ");
	print_time(p, r->settle_ns);
	print(p, "\n learn ");
	print_time(p, r->learn_ns);
	print(p, "\n rest ");
	print_time(p, r->rest_ns);
	print(p, "\n loss ");
	print_percent(p, r->loss_ppm, 4);
	print(p, "\n resolution ");
	print_percent(p, r->resolution, SCRIPT_PERCENT_EXPONENT);
	print(p, "\n search ");
	print_percent(p, r->rate_min, SCRIPT_PERCENT_EXPONENT);
	print(p, " to ");
	print_percent(p, r->rate_max, SCRIPT_PERCENT_EXPONENT);
	print(p, "\n");
	if (r->repeats != 0)
		print(p, " repeat %u\n", r->repeats);
}

void script_print(const struct plan *plan, script_write_fn write, void *ctx)
{
	const struct printer p = {write, ctx};
	for (unsigned i = 0; i < plan->answers; i++)
		print_answer(&p, &plan->answer[i]);
	for (unsigned port = 0; port < PLAN_PORTS_MAX; port++)
		if (plan->line_bps[port] != 0)
			print_line_rate(&p, port, plan->line_bps[port]);
	if (plan->catch_up_ns != 0) {
		print(&p, "catch-up ");
		print_time(&p, plan->catch_up_ns);
		print(&p, "\n");
	}
	if (plan->verify)
		print(&p, "verify\n");
	if (plan->probe.every_ns != 0)
		print_probe(&p, &plan->probe);
	for (unsigned port = 0; port < PLAN_PORTS_MAX; port++)
		if (plan->capture[port].size != 0)
			print_capture(&p, port, &plan->capture[port]);
	for (unsigned i = 0; i < plan->streams; i++)
		print_stream(&p, &plan->stream[i], plan->has_rfc2544);
	if (plan->has_rfc2544)
		print_rfc2544(&p, &plan->rfc2544);
	if (plan->autostart)
		print_limit(&p, "run", &plan->limit);
}
