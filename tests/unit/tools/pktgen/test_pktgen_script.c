/*
 * tools/pktgen/script*.c: every statement, every mistake with its message, the round trip through
 * script_print, hostile text. Every accepted script must be a plan of which frames can be built.
 */
#include "tests/unit/rig/host.h"
#include "tests/host/plan_lines.h"

#include "lib/fmt.h"
#include "tools/pktgen/frames/frames.h"
#include "tools/pktgen/script/script.h"
#include "tools/pktgen/script/script_parse.h"

static struct plan plan, again, empty;
static struct text_error error;

/* Parses a copy of exactly len bytes, so that ASan detects a read beyond them. */
static int parse_bytes(const char *text, size_t len, struct plan *out)
{
	char *copy = malloc(len ? len : 1);
	memcpy(copy, text, len);
	memset(&error, 0x5a, sizeof error);
	int r = script_parse(copy, len, out, &error);
	free(copy);
	return r;
}

static void admit(const char *text)
{
	if (parse_bytes(text, strlen(text), &plan) != 0)
		fail_msg("line %u: %s, at \"%s\"", error.line, error.reason, error.word);
}

static char printed[128 * 1024];
static size_t printed_len;

static void collect(void *ctx, const char *text, size_t len)
{
	(void)ctx;
	assert_true(len < 200 && printed_len + len < sizeof printed);
	memcpy(printed + printed_len, text, len);
	printed_len += len;
	printed[printed_len] = 0;
}

/* Invariants 2 and 3 of script.h, for `plan`. */
static void check_plan(void)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	static struct frames f;
	for (unsigned i = 0; i < plan.streams; i++) {
		struct plan_stream s = plan.stream[i];
		if (s.replay.file[0] != 0)
			continue; /* its frames are not made */
		assert_int_equal(frames_init(&f, &s, mac, mac, i, 0, 1), E_OK);
		for (unsigned k = 0; k < plan.rfc2544.sizes; k++) {
			s.size[0] = plan.rfc2544.size[k];
			assert_int_equal(frames_init(&f, &s, mac, mac, i, 0, 1), E_OK);
		}
	}
	printed_len = 0;
	script_print(&plan, collect, NULL);
	if (parse_bytes(printed, printed_len, &again) != 0)
		fail_msg("printed text, line %u: %s, at \"%s\"\n%s", error.line, error.reason, error.word,
		         printed);
	forget_lines(&plan);
	forget_lines(&again);
	if (memcmp(&plan, &again, sizeof plan) != 0)
		fail_msg("another plan: %s", printed);
}

#define STREAM "stream s\n port eth0\n udp 192.0.2.10 198.51.100.10\n"
#define STREAM6 "stream s\n port eth0\n udp 2001:db8:1::10 2001:db8:2::10\n"
#define ICMP "stream s\n port eth0\n icmp 192.0.2.10 198.51.100.10\n"

static const char full[] =
	"\xef\xbb\xbf# all of it \xff\n"
	"answer eth0 192.0.2.0/24\r\n"
	"ANSWER eth1 2001:db8:2::/64   # behind a statement \x80\n"
	"line eth0 10Gbps # of virtio\n"
	"catch-up 1.5ms\n"
	"probe eth0 to eth1 2001:db8::1 2001:DB8::2 every 1ms # of PTP\n"
	"stream voice\n"
	" port eth0 to eth1\n"
	" cores 2\n"
	" mac source 02:00:00:00:00:01\n"
	" mac destination 0011.2233.4455\n"
	" vlan 100 priority 5 dei\n"
	" vlan 0\n"
	" udp 192.0.2.10 port 5000 198.51.100.10 port 6000\n"
	" ttl 9\n"
	" tos 184\n"
	" size random 72 1518 seed 4\n"
	" rate 1.5Mpps\n"
	" burst 16\n"
	" limit 10s or 1M frames\n"
	" vary source address increment 192.0.2.10 192.0.2.109\n"
	" vary destination port random 1024 65535 seed 7\n"
	" vary source mac increment 02:00:00:00:00:00 02:00:00:00:ff:ff step 256\n"
	" vary vlan list 1/2/4094\n"
	"! a comment leaves no block\n"
	" stamp\n"
	"stream bulk\n"
	" port ETH1\n"
	" tcp 2001:db8:1::10 port 80 2001:db8:2::10 flags syn/ack\n"
	" size 90/1518\n"
	" ramp 10% to 99.999% over 30s\n"
	" vary destination address random 2001:db8:2:: 2001:db8:2::ffff:ffff:ffff:fffe\n"
	" vary destination mac random 02:00:00:00:00:00 02:ff:ff:ff:ff:ff\n"
	" no stamp\n"
	"stream ping\n"
	" port eth0\n"
	" icmp 192.0.2.1 198.51.100.1 identifier 7 sequence 1\n"
	" size imix\n"
	" weight 3\n"
	" no stamp\n"
	" vary sequence increment 0 65535\n"
	" vary payload offset 0 bytes 1 list 1/255\n"
	" vary payload offset 1 bytes 8 random 0 18446744073709551614 seed 18446744073709551615\n"
	"stream raw\n"
	" port eth15\n"
	" ip ::1 ff02::1\n"
	" size 9220\n"
	" rate 8.5Gbps l2\n"
	" limit 7 frames\n"
	"run 2min or 5 frames";

static void test_full(void **state)
{
	(void)state;
	admit(full);
	assert_int_equal(plan.streams, 4);
	assert_int_equal(plan.answers, 2);
	assert_int_equal(plan.answer[0].plen, 120);
	assert_int_equal(plan.answer[1].port, 1);
	assert_true(plan.line_bps[0] == 10000000000u && plan.line_bps[1] == 0 && plan.line_line[0] == 4);
	assert_true(plan.catch_up_ns == 1500000);
	assert_true(plan.autostart && plan.limit.ns == 120000000000u && plan.limit.frames == 5);
	const struct plan_stream *s = &plan.stream[0];
	assert_string_equal(s->name, "voice");
	assert_int_equal(s->line, 7);
	const struct plan_probe *q = &plan.probe;
	assert_true(q->port == 0 && q->port_in == 1 && q->ip && q->every_ns == 1000000);
	assert_true(net_addr_equal(&q->src, &(struct net_addr){{0xb80d0120, 0, 0, 0x01000000}}));
	assert_true(s->port == 0 && s->port_in == 1 && s->cores == 2 && s->stamped && !s->resolve);
	assert_true(s->mac_src[5] == 1 && s->mac_dst[5] == 0x55);
	assert_true(s->vlans == 2 && s->vlan[0] == (5 << 13 | 0x1000 | 100) && s->vlan[1] == 0);
	assert_true(s->proto == PLAN_UDP && !s->v6 && s->sport == 5000 && s->dport == 6000);
	assert_int_equal(net_addr_to_ip4(&s->src), IP4(192, 0, 2, 10));
	assert_true(s->ttl == 9 && s->tos == 184 && s->burst == 16 && s->size_seed == 4);
	assert_true(s->size_mode == PLAN_SIZES_RANDOM && s->size[0] == 68 && s->size[1] == 1514);
	assert_true(s->rate.unit == PLAN_PPS && s->rate.value == 1500000);
	assert_true(s->limit.ns == 10000000000u && s->limit.frames == 1000000);
	assert_int_equal(s->fields, 4);
	assert_true(s->field[0].where == PLAN_IP_SRC && s->field[0].mode == PLAN_INCREMENT);
	assert_true(s->field[0].first == IP4(192, 0, 2, 10) && s->field[0].count == 100);
	assert_true(s->field[1].where == PLAN_PORT_DST && s->field[1].seed == 7);
	assert_true(s->field[1].first == 1024 && s->field[1].count == 64512);
	assert_true(s->field[2].count == 256 && s->field[2].step == 256);
	assert_true(s->field[3].where == PLAN_VLAN && s->field[3].list[2] == 4094);
	s = &plan.stream[1];
	assert_true(s->proto == PLAN_TCP && s->v6 && s->tcp_flags == 0x12 && s->dport == 9);
	assert_true(s->port_in == PLAN_PORT_NONE && !s->stamped && !s->resolve);
	assert_true(s->rate.unit == PLAN_PERCENT && s->rate.value == 10000);
	assert_true(s->rate_end.value == 99999 && s->ramp_ns == 30000000000u);
	assert_true(s->field[0].first == 0 && s->field[0].count == UINT64_MAX && s->field[0].seed == 1);
	s = &plan.stream[2];
	assert_true(s->sizes == 12 && s->weight == 3 && s->sport == 7 && s->dport == 1 && s->resolve);
	assert_true(s->field[2].count == UINT64_MAX && s->field[2].seed == UINT64_MAX);
	s = &plan.stream[3];
	assert_true(s->proto == PLAN_IP_ONLY && s->rate.unit == PLAN_L2_BPS && s->stamped);
	assert_true(s->rate.value == 8500000000u && s->size[0] == PLAN_FRAME_MAX);
	check_plan();
}

/* Valid scripts, and the interesting parts of their plans. */
static void test_good(void **state)
{
	(void)state;
	static const char *const rows[] = {
		"", "\n", "# nothing\n", "answer eth0 10.0.0.0/8\n",
		STREAM, STREAM "run\n", STREAM "run 10s", STREAM "run 1000000 frames\n",
		STREAM " size 64\n", STREAM " size 64/128/256/512/1024/1280/1518/9220\n",
		STREAM " size random 64 64\n", STREAM " rate flat\n weight 65535\n",
		STREAM " rate 1pps\n", STREAM " rate 14.880952Mpps\n", STREAM " rate 10Gbps\n",
		STREAM " rate 10gbps L1\n", STREAM " rate 0.001%\n", STREAM " rate 100%\n",
		STREAM " rate 1.5Gbps l2 hardware\n cores 1\n", STREAM " rate 100Tbps\n", STREAM " rate 1.000000001Gbps l2\n", STREAM " rate 100.00%\n",
		STREAM " ramp 1pps to 10Mpps over 1h\n", STREAM " ramp 1Mbps l2 to 1kbps l2 over 1ns\n",
		STREAM " limit 1.5h\n", STREAM " vlan 4094 priority 7\n size 68\n",
		STREAM6, STREAM " vlan 1\n", STREAM " vlan 1\n no stamp\n",
		STREAM " vlan 1\n size 64\n", /* no room for a stamp then */
		STREAM " vary payload offset 0 bytes 4 increment 0 9\n size 68\n",
		STREAM " vary source address list 192.0.2.1/192.0.2.9/0.0.0.0/255.255.255.255\n",
		STREAM " vary source port increment 0 65535 step 65535\n",
		STREAM " vary source port increment 7 7 step 4294967295\n",
		STREAM6 " vary source address list 2001:db8:1::/2001:db8:1::1/2001:db8:1:0:f:f:f:f\n",
		STREAM6 " size 84\n", STREAM6 " size 66\n no stamp\n", STREAM6 " size 66/1518\n",
		ICMP " vary identifier random 0 65535\n vary sequence random 0 65535\n",
		"stream a\n port eth0\n tcp 10.0.0.1 10.0.0.2 flags none\n size 76\n",
		"stream a\n port eth0\n tcp 10.0.0.1 10.0.0.2 flags fin/syn/rst/psh/ack/urg/ece/cwr\n "
		 "size 76",
		STREAM "rfc2544 throughput\n", STREAM "run\nrfc2544 latency frame-loss back-to-back\n",
		"rfc2544 throughput latency frame-loss back-to-back\n sizes 128/9220\n trial 10s\n"
		" settle 0s\n learn 0s\n rest 1500ms\n loss 0.0001%\n"
		" resolution 0.001%\n search 0.5% to 99.999%\n repeat 3\n"
		STREAM6 "run\n",
		"stream a\n port eth0\n udp 10.0.0.1 10.0.0.2\n rate 50%\n"
		"stream b\n port eth0\n udp 10.0.0.1 10.0.0.2\n ramp 50% to 1% over 1s\n"
		"stream c\n port eth1\n udp 10.0.0.1 10.0.0.2\n rate 100%\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		admit(rows[i]);
		check_plan();
	}
	admit(STREAM6 " size 66/1518\n");
	assert_false(plan.stream[0].stamped);
	admit(STREAM6 " size 84\n");
	assert_true(plan.stream[0].stamped);
	admit(STREAM6);
	assert_true(plan.stream[0].stamped && plan.stream[0].size[0] == 80);
	admit(STREAM " vary destination mac list 02:00:00:00:00:01\n");
	assert_false(plan.stream[0].resolve);
	admit(STREAM "rfc2544 throughput\n");
	assert_true(plan.rfc2544.duration_ns == 60000000000u && plan.rfc2544.sizes == 7);
	assert_true(plan.rfc2544.learn_ns == 2000000000 && plan.rfc2544.rest_ns == 5000000000);
	assert_true(plan.rfc2544.resolution == 100 && plan.rfc2544.rate_max == 100000);
}

/* Mistakes in a script of one stream: line 3 is its last, additions begin on line 4. */
static const struct mistake {
	const char *text;
	uint32_t line;
	const char *word, *reason;
} bad[] = {
	{"frob\n", 1, "frob", "unknown statement; expected answer, line, catch-up, verify, probe, "
	 "capture, stream, run or rfc2544"},
	{"capture\n", 1, "", "the line ends too early; expected \"capture ethN [size BYTES]"},
	{"capture lo\n", 1, "lo", "unknown port; expected eth0 to eth15"},
	{"capture eth0 size 13\n", 1, "13", "the bytes of a frame must be a decimal number from 14 to "},
	{"capture eth0 frames 0\n", 1, "0", "the number of frames must be a decimal number from 1 to "},
	{"capture eth0 frames\n", 1, "", "the line ends too early"},
	{"capture eth0 frames 5 size 64\n", 1, "size", "unexpected word"},
	{"capture eth1\ncapture eth1 size 64\n", 2, "eth1", "this port is captured already, by line 1"},
	{"verify all\n", 1, "all", "unexpected word; expected \"verify\""},
	{STREAM " frob\n", 4, "frob", "unknown statement; in a stream there are port, cores, mac, "
	 "vlan, "
	 "udp, tcp, icmp, ip, ttl, tos, size, stamp, no stamp, rate, ramp, burst, weight, limit, vary, "
	 "replay, speed and loop"},
	{"rfc2544 latency\n frob\n", 2, "frob", "unknown statement; in rfc2544 there are sizes, trial, "
	 "settle, learn, rest, loss, resolution, search and repeat"},
	{STREAM " mac 1\n", 4, "1", "expected source or destination after \"mac\""},
	{STREAM " no way\n", 4, "way", "expected stamp after \"no\""},
	{"size 64\n", 1, "size", "\"size\" belongs into a block of a stream; write \"stream NAME\" "
	 "before it"},
	{STREAM "run\n size 64\n", 5, "size", "\"size\" belongs into a block of a stream; write "
	 "\"stream NAME\" before it"},
	{STREAM " trial 10s\n", 4, "trial", "\"trial\" belongs into a block of rfc2544; write "
	 "\"rfc2544 TEST\" before it"},
	{STREAM " \x01\n", 4, "?", "byte 0x01 in column 2 is not plain ASCII text; only comments may "
	 "hold such bytes"},
	{STREAM " ttl 1\n ttl 2\n", 5, "ttl", "\"ttl\" stands already at line 4"},
	{"run\nrun\n", 2, "run", "\"run\" stands already at line 1"},
	/* script.c */
	{"answer\n", 1, "", "the line ends too early; expected \"answer ethN PREFIX\""},
	{"answer lan\n", 1, "lan", "unknown port; expected eth0 to eth15"},
	{"answer eth16 1.0.0.0/8\n", 1, "eth16", "unknown port; expected eth0 to eth15"},
	{"answer eth0 10.0.0.1\n", 1, "10.0.0.1", "expected a prefix such as 192.0.2.0/24 or "
	 "2001:db8::/64"},
	{"answer eth0 10.0.0.1/8\n", 1, "10.0.0.1/8", "the prefix has host bits set; did you mean "
	 "10.0.0.0/8?"},
	{"answer eth0 2001:db8::1/64\n", 1, "2001:db8::1/64", "the prefix has host bits set; did you "
	 "mean 2001:db8::/64?"},
	{"answer eth0 10.0.0.0/8 x\n", 1, "x", "unexpected word; expected \"answer ethN PREFIX\""},
	{"line eth0\n", 1, "", "the line ends too early; expected \"line ethN RATE\""},
	{"line eth16 1Gbps\n", 1, "eth16", "unknown port; expected eth0 to eth15"},
	{"line eth0 1Gbps x\n", 1, "x", "unexpected word; expected \"line ethN RATE\""},
	{"probe eth0\n", 1, "", "the line ends too early; expected \"probe ethN to ethN"},
	{"probe eth0 eth1\n", 1, "eth1", "expected \"to\" here"},
	{"probe eth0 to eth1 1.1.1.1\n", 1, "", "the line ends too early"},
	{"probe eth0 to eth1 1.1.1.1 ::1\n", 1, "::1", "both addresses must be of one version of IP"},
	{"probe eth0 to eth1 1.1.1.1 one\n", 1, "one", "expected an IPv4 or IPv6 address"},
	{"probe eth0 to eth1 every 999us\n", 1, "999us", "a probe is sent every 1ms at most"},
	{"probe eth0 to eth1 every 1s or so\n", 1, "or", "unexpected word"},
	{"probe eth0 to eth1\nprobe eth1 to eth0\n", 2, "probe", "\"probe\" stands already at line 1"},
	{"line eth0 999999bps\n", 1, "999999bps", "a line rate is in bits a second on the wire, such as "
	 "10Gbps; 1Mbps at least"},
	{"line eth0 1Gbps l2\n", 1, "1Gbps", "a line rate is in bits a second on the wire, such as "
	 "10Gbps; 1Mbps at least"},
	{"line eth0 100%\n", 1, "100%", "a line rate is in bits a second on the wire, such as "
	 "10Gbps; 1Mbps at least"},
	{"line eth0 1Gbps\nline eth1 1Gbps\nline eth0 1Gbps\n", 3, "eth0",
	 "the line rate of this port stands already at line 1"},
	{"answer eth0 10.0.0.0/8\nanswer eth0 10.0.0.0/8\n", 2, "10.0.0.0/8", "this prefix stands "
	 "already at line 1"},
	{"stream\n", 1, "", "the line ends too early; expected \"stream NAME\""},
	{"stream a b\n", 1, "b", "unexpected word; expected \"stream NAME\""},
	{"stream -a\n", 1, "-a", "a stream's name has 1 to 23 letters, digits and inner - _ ."},
	{"stream abcdefghijklmnopqrstuvwx\n", 1, "abcdefghijklmnopqrstuvwx", "a stream's name has 1 "
	 "to 23 letters, digits and inner - _ ."},
	{STREAM "stream S\n", 4, "S", "a stream of this name stands already at line 1"},
	{"rfc2544\n", 1, "", "the line ends too early; expected \"rfc2544 (throughput | latency | "
	 "frame-loss | back-to-back)...\""},
	{"rfc2544 run\n", 1, "run", "unknown test; expected throughput, latency, frame-loss or "
	 "back-to-back"},
	{"rfc2544 latency latency\n", 1, "latency", "this test stands twice"},
	{"rfc2544 latency\n trial 0s\n", 2, "0s", "a trial must be a time such as 10s, 500ms or 2min, "
	 "more than 0"},
	{"catch-up 10.1s\n", 1, "10.1s", "more than 10s cannot be caught up"},
	{"catch-up 1ms\ncatch-up 1ms\n", 2, "catch-up", "\"catch-up\" stands already at line 1"},
	{"rfc2544 latency\n settle 2\n", 2, "2", "the pause must be a time such as 10s, 500ms or 2min"},
	{"rfc2544 latency\n loss 100%\n", 2, "100%", "the loss must be from 0% to 99.9999%, with at "
	 "most 4 digits behind the point"},
	{"rfc2544 latency\n resolution 0%\n", 2, "0%", "the resolution must be from 0.001% to 100%, "
	 "with at most 3 digits behind the point"},
	{"rfc2544 latency\n search 0.0001% to 5%\n", 2, "0.0001%", "a rate must be from 0.001% to "
	 "100%, with at most 3 digits behind the point"},
	{"rfc2544 latency\n search 5% 6%\n", 2, "6%", "expected \"to\" here, as in \"search PERCENT to "
	 "PERCENT\""},
	{"rfc2544 latency\n search 5% to 4%\n", 2, "4%", "the upper rate is below the lower"},
	{"rfc2544 latency\n repeat 0\n", 2, "0", "the number of trials must be a decimal number from "
	 "1 to 1000"},
	/* script_value.c */
	{"run 0s\n", 1, "0s", "expected a time such as 10s, or a number of frames, more than 0"},
	{"run 10\n", 1, "", "the line ends too early; expected \"run [TIME | N frames | TIME or N "
	 "frames]\""},
	{"run 10 seconds\n", 1, "seconds", "expected \"frames\" here, as in \"run [TIME | N frames | "
	 "TIME or N frames]\""},
	{"run 10s or 5s\n", 1, "5s", "expected a number of frames"},
	{"run 10s 5\n", 1, "5", "unexpected word; expected \"run [TIME | N frames | TIME or N "
	 "frames]\""},
	/* 2^64 ns and 1526 s more, in hours */
	{"run 5124096h\n", 1, "5124096h", "expected a time such as 10s, or a number of "
	 "frames, more than 0"},
	{"run 99999999999h\n", 1, "99999999999h", "expected a time such as 10s, or a number of "
	 "frames, more than 0"},
	{STREAM " size 63\n", 4, "63", "a size is from 64 to 9220 bytes, FCS included; several are "
	 "such as 64/128/1518"},
	{STREAM " size 64/\n", 4, "64/", "a size is from 64 to 9220 bytes, FCS included; several are "
	 "such as 64/128/1518"},
	{STREAM " size 64/64/64/64/64/64/64/64/64/64/64/64/64/64/64/64/64\n", 4,
	 "64/64/64/64/64/64/64/64/64/64/64/64/64/64/64/64", "too many sizes; at most 16"},
	{STREAM " size random 100 90\n", 4, "90", "the largest size is below the least"},
	{STREAM " size random 64/65 90\n", 4, "64/65", "expected one size, not a list"},
	{STREAM " size random 64 90 seed x\n", 4, "x", "a seed must be a decimal number from 0 to "
	 "18446744073709551615"},
	{STREAM " size random 64 90 seed 18446744073709551616\n", 4, "18446744073709551616", "a seed "
	 "must be a decimal number from 0 to 18446744073709551615"},
	{STREAM " rate 0pps\n", 4, "0pps", "a rate is such as 1.5Mpps, 10Gbps, \"8Gbps l2\" or 50%, in "
	 "whole frames or bits a second, or in thousandths of a per cent"},
	{STREAM " rate 0.5pps\n", 4, "0.5pps", "a rate is such as"},
	{STREAM " rate 01pps\n", 4, "01pps", "a rate is such as"},
	{STREAM " rate 1.pps\n", 4, "1.pps", "a rate is such as"},
	{STREAM " rate 1.5.5Mpps\n", 4, "1.5.5Mpps", "a rate is such as"},
	{STREAM " rate 1000Tbps\n", 4, "1000Tbps", "a rate is such as"},
	{STREAM " rate 10\n", 4, "10", "a rate is such as"},
	{STREAM " rate 101%\n", 4, "101%", "a port sends no more than 100% of its rate"},
	{STREAM " rate 1pps l2\n", 4, "l2", "unexpected word; expected \"rate (flat | RATE "
	 "[hardware])\""},
	{STREAM " rate 5Gbps hardware\n", 4, "5Gbps", "a card limits bits of frames and FCS; "
	 "write such a rate, as in \"5Gbps l2 hardware\""},
	{STREAM " rate flat hardware\n", 4, "hardware", "unexpected word"},
	{STREAM " rate 1Gbps l2 hardware now\n", 4, "now", "unexpected word"},
	{STREAM " rate 1pps\n ramp 1pps to 2pps over 1s\n", 5, "ramp", "the stream has a rate "
	 "already, at line 4"},
	{STREAM " ramp 1pps to 2bps over 1s\n", 4, "2bps", "both rates of a ramp must be of one unit"},
	{STREAM " ramp flat to 2bps over 1s\n", 4, "flat", "a rate is such as"},
	{STREAM " ramp 1pps to 2pps\n", 4, "", "the line ends too early; expected \"ramp RATE to RATE "
	 "over TIME\""},
	/* script_stream.c */
	{STREAM " port eth1\n", 4, "port", "\"port\" stands already at line 2"},
	{"stream a\n port eth0 eth1\n", 2, "eth1", "expected \"to\" here, as in \"port ethN [to "
	 "ethN]\""},
	{STREAM " cores 0\n", 4, "0", "the number of cores must be a decimal number from 1 to 255"},
	{STREAM " stamp\n no stamp\n", 5, "no", "the stream has a line \"stamp\" already"},
	{STREAM " no stamp\n stamp\n", 5, "stamp", "\"no stamp\" stands already at line 4"},
	{STREAM " mac source 00:00\n", 4, "00:00", "expected a MAC address such as 00:11:22:33:44:55 "
	 "or 0011.2233.4455"},
	{STREAM " mac source ff:ff:ff:ff:ff:ff\n", 4, "ff:ff:ff:ff:ff:ff", "a source is one station; "
	 "this is a group address"},
	{STREAM " mac destination 00:00:00:00:00:00\n", 4, "00:00:00:00:00:00", "the MAC address is "
	 "all zero"},
	{STREAM " udp 1.1.1.1 2.2.2.2\n", 4, "udp", "the stream has its addresses already, at line 3"},
	{STREAM " icmp 1.1.1.1 2.2.2.2\n", 4, "icmp", "the stream has its addresses already, at line "
	 "3"},
	{"stream a\n udp 1.1.1.1 2001:db8::1\n", 2, "2001:db8::1", "both addresses must be of one "
	 "version of IP"},
	{"stream a\n udp 1.1.1 2.2.2.2\n", 2, "1.1.1", "expected an IPv4 or IPv6 address"},
	{"stream a\n udp 1.1.1.1 port 65536 2.2.2.2\n", 2, "65536", "a port must be a decimal number "
	 "from 0 to 65535"},
	{"stream a\n ip 1.1.1.1 port 1 2.2.2.2\n", 2, "port", "expected an IPv4 or IPv6 address"},
	{"stream a\n tcp 1.1.1.1 2.2.2.2 flags ack/ack\n", 2, "ack/ack", "flags are fin, syn, rst, "
	 "psh, ack, urg, ece, cwr, each once, with / between them, or none"},
	{"stream a\n icmp 1.1.1.1 2.2.2.2 sequence x\n", 2, "x", "the sequence number must be a "
	 "decimal number from 0 to 65535"},
	{STREAM " ttl 256\n", 4, "256", "the TTL or hop limit must be a decimal number from 0 to 255"},
	{STREAM " vlan 4095\n", 4, "4095", "a VLAN's ID must be a decimal number from 0 to 4094"},
	{STREAM " vlan 1 priority 8\n", 4, "8", "the priority must be a decimal number from 0 to 7"},
	{STREAM " vlan 1\n vlan 2\n vlan 3\n", 6, "vlan", "a frame has at most 2 tags"},
	{STREAM " burst 65537\n", 4, "65537", "a burst must be a decimal number from 1 to 65536"},
	{STREAM " weight 0\n", 4, "0", "a weight must be a decimal number from 1 to 65535"},
	/* script_vary.c */
	{STREAM " vary colour\n", 4, "colour", "expected source, destination, vlan, identifier, "
	 "sequence or payload"},
	{STREAM " vary source\n", 4, "", "the line ends too early; expected \"vary ("},
	{STREAM " vary source colour\n", 4, "colour", "expected mac, address or port"},
	{"stream a\n vary source port increment 1 2\n", 2, "port", "the line with the stream's "
	 "addresses must stand before this one"},
	{ICMP " vary source port increment 1 2\n", 4, "port", "only UDP and TCP have ports"},
	{STREAM " vary sequence increment 1 2\n", 4, "sequence", "only icmp has this field; the "
	 "icmp line must stand before this one"},
	{STREAM " vary vlan increment 1 2\n", 4, "vlan", "a line \"vlan ID\" must stand before this "
	 "one"},
	{STREAM " vary payload offset 0 bytes 3 increment 1 2\n", 4, "3", "a field of the payload has "
	 "1, 2, 4 or 8 bytes"},
	{STREAM " vary payload offset 0 bytes 1 increment 1 256\n", 4, "256", "a value must be a "
	 "decimal number from 0 to 255"},
	{STREAM " vary payload 0\n", 4, "0", "expected \"offset\" here, as in \"vary ("},
	{STREAM " vary source port shuffle 1 2\n", 4, "shuffle", "expected increment, random or list"},
	{STREAM " vary source port increment 2 1\n", 4, "1", "the last value is below the first"},
	{STREAM " vary source port increment 1 2 step 0\n", 4, "0", "a step must be a decimal number "
	 "from 1 to 4294967295"},
	{STREAM " vary source port increment 1 2 seed 0\n", 4, "seed", "unexpected word; expected "
	 "\"vary ("},
	{STREAM " vary source port list 1//2\n", 4, "1//2", "a value of the list is empty"},
	{STREAM " vary source port list 1/65536\n", 4, "65536", "a value must be a decimal number from "
	 "0 to 65535"},
	{STREAM " vary source port list "
	 "1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1\n",
	 4, "1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1", "too many values; at most 32"},
	{STREAM " vary source address list 2001:db8::1\n", 4, "2001:db8::1", "expected an IPv4 "
	 "address, as is the stream's"},
	{STREAM6 " vary source address list 1.1.1.1\n", 4, "1.1.1.1", "expected an IPv6 address, as "
	 "is the stream's"},
	{STREAM6 " vary destination address list 2001:db8:1::1\n", 4, "2001:db8:1::1", "the first 64 "
	 "bits must be those of the stream's address, 2001:db8:2::10"},
	{STREAM " vary source mac list 02:00\n", 4, "02:00", "expected a MAC address such as "
	 "00:11:22:33:44:55"},
	{STREAM " vary source port list 1\n vary source port list 2\n", 5, "source", "this varies "
	 "already, by line 4"},
	{STREAM " size 100\n vary payload offset 4 bytes 4 list 1\n vary payload offset 7 bytes 1 "
	 "list 1\n",
	 6, "payload", "these bytes overlap those of line 5"},
	{STREAM " size 100\n vary payload offset 0 bytes 8 random 0 18446744073709551615\n", 5,
	 "18446744073709551615", "the range is too large; a field has fewer than 2^64 values"},
	/* script_check.c */
	{"run\n", 1, "run", "there is no stream to run"},
	{"rfc2544 latency\n", 1, "rfc2544", "there is no stream to test with"},
	{"stream a\n", 1, "a", "the stream has no port; add a line \"port ethN\""},
	{"stream a\n port eth0\n", 1, "a", "the stream has no addresses; add a line such as \"udp "
	 "192.0.2.1 198.51.100.1\""},
	{STREAM6 " size 64\n", 4, "64", "a frame of this size has no room for headers and fields of "
	 "stream s; the least size is 66"},
	{STREAM " vary payload offset 9216 bytes 1 list 1\n", 1, "64", "a frame of this size has no "
	 "room for headers and fields of stream s; the least size is 9263"},
	{STREAM6 " stamp\n size 80\n", 5, "80", "a frame of this size has no room for headers, stamp "
	 "and fields of stream s; the least size is 84"},
	{STREAM " no stamp\n size 100/64\n vary payload offset 20 bytes 1 list 1\n", 5, "64", "a "
	 "frame of this size has no room for headers and fields of stream s; the least size is 67"},
	{STREAM6 "rfc2544 latency\n", 4, "64", "a frame of this size has no room for headers, stamp "
	 "and fields of stream s; the least size is 84"},
	{STREAM " rate 1pps\n weight 2\n", 5, "weight", "weights divide a port among its flat "
	 "streams; this one has a rate"},
	{STREAM " burst 2\n", 4, "burst", "a flat stream has no gaps between bursts; give it a rate"},
	{STREAM " rate 1Gbps l2 hardware\n burst 2\n", 5, "burst", "the card keeps the rate of line "
	 "4 and spaces frames evenly"},
	{STREAM " rate 1Gbps l2 hardware\n cores 2\n", 4, "s", "a stream whose rate the card keeps is "
	 "sent by one core"},
	{STREAM " rate 1Gbps l2 hardware\nstream b\n port eth0\n udp 1.1.1.1 2.2.2.2\n", 4, "s", "a "
	 "stream whose rate the card keeps has its port for itself; stream b at line 5 is sent by "
	 "eth0, too"},
	{"probe eth0 to eth1\n" STREAM "rfc2544 latency\n", 1, "probe", "probes go with a run, not with the "
	 "trials of rfc2544 at line 5"},
	{STREAM " rate 1pps\nrfc2544 latency\n", 4, "rate", "rfc2544 at line 5 says how its streams "
	 "are sent; a stream has no rate of its own then"},
	{STREAM " size 64\nrfc2544 latency\n", 4, "size", "rfc2544 at line 5 says how its streams are "
	 "sent; a stream has no size of its own then"},
	{STREAM " no stamp\nrfc2544 latency\n", 4, "no", "rfc2544 at line 5 counts and times frames by "
	 "their stamps"},
	{STREAM "run 1s\nrfc2544 latency\n", 4, "run", "rfc2544 at line 5 says how long its trials "
	 "are; write \"run\" alone"},
	{STREAM " rate 60%\nstream b\n port eth0\n udp 1.1.1.1 2.2.2.2\n rate 40.001%\n", 8, "b", "the "
	 "streams of eth0 ask for more than 100% of it together"},
};

static void reject(const struct mistake *m)
{
	if (parse_bytes(m->text, strlen(m->text), &plan) == 0)
		fail_msg("accepted: %s", m->text);
	if (error.line != m->line || strcmp(error.word, m->word) != 0 ||
	    strncmp(error.reason, m->reason, strlen(m->reason)) != 0)
		fail_msg("%s: %u: %s, at \"%s\"", m->text, error.line, error.reason, error.word);
	assert_memory_equal(&plan, &empty, sizeof plan);
}

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		reject(&bad[i]);
	char line[64];
	text_error_format(line, sizeof line, "a.gen", &(struct text_error){3, "x", "no"});
	assert_string_equal(line, "a.gen:3: no, at \"x\"");
	text_error_format(line, sizeof line, "a.gen", &(struct text_error){3, "", "no"});
	assert_string_equal(line, "a.gen:3: no");
}

#define REPLAY "stream r\n port eth0\n replay a/b.pcap\n"
#define NAME_TOO_LONG "0123456789012345678901234567890123456789012345678901234567890123"

static void test_replay(void **state)
{
	(void)state;
	static const char *const good[] = {
		REPLAY, REPLAY " speed 0.001\n", REPLAY " speed 1000\n loop forever\n limit 5s\n",
		REPLAY " rate flat\n weight 2\n loop 1000000000000\n", REPLAY " rate 50%\n burst 4\n",
		REPLAY " ramp 1pps to 9pps over 1s\n", REPLAY " loop 3\n limit 7 frames\nrun\n",
		"stream r\n port eth0 to eth1\n speed 2\n mac source 02:00:00:00:00:01\n replay x\n"
		" mac destination 02:00:00:00:00:02\n" STREAM,
	};
	static const struct mistake wrong[] = {
		{"stream r\n port eth0\n replay\n", 3, "", "the line ends too early; expected "
		 "\"replay FILE\""},
		{"stream r\n port eth0\n replay a b\n", 3, "b", "unexpected word"},
		{"stream r\n port eth0\n replay " NAME_TOO_LONG "\n", 3,
		 "01234567890123456789012345678901234567890123456",
		 "the name has 64 characters; at most 63 are kept"},
		{REPLAY " speed 0\n", 4, "0", "a speed is a number such as 0.5 or 2, from 0.001 to 1000"},
		{REPLAY " speed 1000.001\n", 4, "1000.001", "a speed is a number"},
		{REPLAY " speed 0.0001\n", 4, "0.0001", "a speed is a number"},
		{REPLAY " loop 0\n", 4, "0", "the number of rounds must be a decimal number from 1 to"},
		{REPLAY " loop ever\n", 4, "ever", "the number of rounds must be"},
		{REPLAY " speed 2\n rate 1pps\n", 4, "speed", "the stream has a rate; a speed changes"},
		{REPLAY " speed 2\n rate flat\n", 4, "speed", "the stream has a rate; a speed changes"},
		{REPLAY " burst 2\n", 4, "burst", "this replay keeps the times of its file"},
		{REPLAY " rate flat\n burst 2\n", 5, "burst", "a flat stream has no gaps between bursts"},
		{REPLAY " weight 2\n", 4, "weight", "weights divide a port among its flat streams"},
		{REPLAY " udp 1.1.1.1 2.2.2.2\n", 4, "udp", "stream r replays a file (line 3), "
		 "which already defines its frames"},
		{"stream r\n port eth0\n vlan 1\n no stamp\n replay a\n", 3, "vlan", "stream r replays a "
		 "file (line 5)"},
		{REPLAY " cores 2\n", 4, "cores", "stream r replays a file"},
		{REPLAY " ttl 64\n", 4, "ttl", "stream r replays a file"},
		{STREAM " loop 3\n", 4, "loop", "the stream replays nothing; add a line \"replay FILE\""},
		{STREAM " speed 1\n", 4, "speed", "the stream replays nothing; add a line"},
		{REPLAY "rfc2544 latency\n", 3, "replay", "rfc2544 chooses the frame sizes"},
		{"replay a\n", 1, "replay", "\"replay\" belongs into a block of a stream"},
	};
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		admit(good[i]);
		check_plan();
	}
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		reject(&wrong[i]);
	admit(REPLAY " speed 2.5\n loop 3\n");
	const struct plan_stream *s = &plan.stream[0];
	assert_string_equal(s->replay.file, "a/b.pcap");
	assert_true(s->rate.unit == PLAN_RECORDED && s->rate.value == 2500 && s->replay.rounds == 3);
	assert_true(s->cores == 1 && !s->resolve && !s->stamped);
	admit(REPLAY);
	assert_true(s->rate.unit == PLAN_RECORDED && s->rate.value == 1000 && s->replay.rounds == 1);
	admit(REPLAY " loop forever\n rate flat\n");
	assert_true(s->rate.unit == PLAN_FLAT && s->replay.rounds == 0);
}

static void add(char *text, const char *format, ...) PRINTF_LIKE(2, 3);

static void add(char *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsprintf(text + strlen(text), format, args);
	va_end(args);
}

/* The maximum number of everything, and one more. */
static void test_most(void **state)
{
	(void)state;
	static char text[64 * 1024];
	text[0] = 0;
	for (unsigned i = 0; i < PLAN_ANSWERS_MAX; i++)
		add(text, "answer eth%u 10.%u.0.0/16\n", i % 16, i);
	for (unsigned i = 0; i < PLAN_STREAMS_MAX; i++) {
		add(text, "stream s%u\n port eth0\n udp 2001:db8::1 2001:db8::2\n size 1518\n", i);
		for (unsigned k = 0; k < PLAN_FIELDS_MAX; k++)
			add(text, " vary payload offset %u bytes 4 list 1\n", 4 * k);
	}
	admit(text);
	check_plan();
	add(text, " vary vlan list 1\n");
	assert_int_equal(parse_bytes(text, strlen(text), &plan), E_INVAL);
	text[strlen(text) - 18] = 0;
	add(text, " vary source port list 1\n");
	assert_int_equal(parse_bytes(text, strlen(text), &plan), E_INVAL);
	assert_string_equal(error.reason, "too many fields; a stream has at most 8");
	text[strlen(text) - 25] = 0;
	admit(text);
	add(text, "answer eth0 11.0.0.0/8\n");
	assert_int_equal(parse_bytes(text, strlen(text), &plan), E_INVAL);
	assert_string_equal(error.reason, "too many answers; at most 32");
	text[strlen(text) - 23] = 0;
	add(text, "stream more\n");
	assert_int_equal(parse_bytes(text, strlen(text), &plan), E_INVAL);
	assert_string_equal(error.reason, "too many streams; at most 32");
	/* The longest list: 32 addresses of 39 characters. */
	text[0] = 0;
	add(text, STREAM6 " size 90\n vary source address list ");
	for (unsigned i = 0; i < PLAN_LIST_MAX; i++)
		add(text, "%s2001:0db8:0001:0000:aaaa:bbbb:cccc:%04x", i ? "/" : "", i);
	admit(text);
	check_plan();
	while (strlen(text) < SCRIPT_LINE_MAX + 200)
		add(text, " ");
	add(text, "x");
	assert_int_equal(parse_bytes(text, strlen(text), &plan), E_INVAL);
	assert_true(strstr(error.reason, "characters; at most 2047") != NULL);
}

static void test_ports(void **state)
{
	(void)state;
	admit(full);
	assert_int_equal(script_check_ports(&plan, 16, &error), 0);
	assert_int_equal(script_check_ports(&plan, 15, &error), E_INVAL);
	assert_int_equal(error.line, 44);
	assert_string_equal(error.word, "eth15");
	assert_string_equal(error.reason, "there is no such port; the machine has 15");
	assert_int_equal(script_check_ports(&plan, 1, &error), E_INVAL);
	assert_int_equal(error.line, 3);
	admit("stream a\n port eth0 to eth1\n udp 10.0.0.1 10.0.0.2\n");
	assert_int_equal(script_check_ports(&plan, 1, &error), E_INVAL);
	assert_string_equal(error.word, "eth1");
	admit("probe eth0 to eth1\n");
	assert_int_equal(script_check_ports(&plan, 2, &error), 0);
	assert_int_equal(script_check_ports(&plan, 1, &error), E_INVAL);
	assert_string_equal(error.word, "eth1");
	admit("\ncapture eth1\n");
	assert_int_equal(script_check_ports(&plan, 2, &error), 0);
	assert_int_equal(script_check_ports(&plan, 1, &error), E_INVAL);
	assert_int_equal(error.line, 2);
	assert_string_equal(error.word, "eth1");
	admit("line eth1 1Gbps\n");
	assert_int_equal(script_check_ports(&plan, 2, &error), 0);
	assert_int_equal(script_check_ports(&plan, 1, &error), E_INVAL);
	assert_int_equal(error.line, 1);
	assert_string_equal(error.word, "eth1");
}

static void test_capture(void **state)
{
	(void)state;
	admit("capture eth0\ncapture eth3 size 128 frames 1000000\nCAPTURE eth15 frames 1\n");
	assert_int_equal(plan_captured(&plan), 1 << 0 | 1 << 3 | 1 << 15);
	assert_true(plan.capture[0].size == PLAN_FRAME_MAX && plan.capture[0].frames == 0);
	assert_true(plan.capture[3].size == 128 && plan.capture[3].frames == 1000000);
	assert_true(plan.capture[15].size == PLAN_FRAME_MAX && plan.capture[15].frames == 1);
	check_plan();
	assert_non_null(strstr(printed, "capture eth0\ncapture eth3 size 128 frames 1000000\n"));
}

static void test_numbers(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		unsigned exponent;
		int result;
		uint64_t value;
	} rows[] = {
		{"0", 3, 0, 0}, {"1", 0, 0, 1}, {"1.5", 3, 0, 1500}, {"1.5", 1, 0, 15}, {"1.50", 1, 0, 15},
		{"1.55", 1, E_INVAL, 0}, {"1.", 3, E_INVAL, 0}, {".5", 3, E_INVAL, 0}, {"", 3, E_INVAL, 0},
		{"1e3", 3, E_INVAL, 0}, {"-1", 3, E_INVAL, 0}, {"00", 3, E_INVAL, 0}, {"0.001", 3, 0, 1},
		{"9999999999999999999", 0, 0, 9999999999999999999u},
		{"10000000000000000000", 0, E_INVAL, 0}, {"10", 18, E_INVAL, 0},
		{"9.999999999999999999", 18, 0, 9999999999999999999u},
	};
	char text[SCRIPT_NUMBER_MAX];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t v = 77;
		int r = script_decimal(text_of(rows[i].text), rows[i].exponent, &v);
		assert_int_equal(r, rows[i].result);
		assert_int_equal(v, r == 0 ? rows[i].value : 77);
	}
	assert_string_equal(script_scaled(text, 0, 0), "0");
	assert_string_equal(script_scaled(text, 0, 3), "0");
	assert_string_equal(script_scaled(text, 1, 3), "0.001");
	assert_string_equal(script_scaled(text, 1500, 3), "1.5");
	assert_string_equal(script_scaled(text, 2000, 3), "2");
	assert_string_equal(script_scaled(text, UINT64_MAX, 20), "0.18446744073709551615");
}

/* The manual's examples are valid scripts: the text between fences below "### Examples". */
static void test_manual(void **state)
{
	(void)state;
	static char text[64 * 1024];
	FILE *f = fopen("docs/pktgen.md", "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	char *at = strstr(text, "### Examples"), *end = strstr(text, "### Rules");
	assert_true(at != NULL && end > at);
	unsigned scripts = 0;
	for (*end = 0; (at = strstr(at, "```\n")) != NULL; scripts++) {
		at += 4;
		end = strstr(at, "```\n");
		assert_non_null(end);
		*end = 0;
		admit(at);
		assert_true(plan.streams > 0 && plan.autostart);
		check_plan();
		at = end + 4;
	}
	assert_int_equal(scripts, 4);
}

/* --- hostile text --- */

static void try_hostile(const char *text, size_t len)
{
	if (parse_bytes(text, len, &plan) == 0) {
		check_plan();
		return;
	}
	uint32_t lines = 1;
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	assert_in_range(error.line, 1, lines);
	assert_true(strlen(error.reason) > 10 && strlen(error.reason) < sizeof error.reason - 1);
	assert_true(strlen(error.word) < sizeof error.word);
	for (const char *c = error.word; *c; c++)
		assert_true(text_is_printable(*c));
	assert_memory_equal(&plan, &empty, sizeof plan);
}

static const char *const pieces[] = {
	"stream x\n", "run\n", "rfc2544 latency\n", " stamp\n", " no stamp\n", " size 64\n", " size "
	 "imix\n",
	" rate 50%\n", " vlan 1\n", " vary payload offset 3 bytes 2 random 0 65535\n", "/", " seed "
	 "1", ".",
	" step 3", "99999999999", " vary vlan list 1/2\n", "%", " sizes 128\n", "#", " weight "
	 "2\n", "::",
};

static size_t mutate(char *text, size_t len)
{
	size_t at = random_below((uint32_t)len), cut = 1 + random_below(20);
	const char *piece = pieces[random_below(ARRAY_LEN(pieces))];
	switch (random_below(5)) {
	case 0:
		text[at] = (char)random64();
		return len;
	case 1:
		text[at] = "\0\r\n\t 019./!:"[random_below(12)];
		return len;
	case 2: /* never all of it */
		cut = cut < len - at ? cut : (len - at) / 2;
		memmove(text + at, text + at + cut, len - at - cut);
		return len - cut;
	case 3:
		memmove(text + at + strlen(piece), text + at, len - at);
		memcpy(text + at, piece, strlen(piece));
		return len + strlen(piece);
	default: /* a line moved to another place */
		return random_below(8) == 0 ? at + 1 : len;
	}
}

static void test_hostile(void **state)
{
	(void)state;
	static char text[8192];
	seed_random("hostile");
	unsigned good = 0;
	for (int round = 0; round < 4000; round++) {
		size_t len = strlen(full);
		memcpy(text, full, len);
		for (uint32_t k = random_below(4); k < 4; k++)
			len = mutate(text, len);
		try_hostile(text, len);
		good += plan.streams > 0;
	}
	assert_true(good > 100);
	for (int round = 0; round < 1000; round++) {
		size_t len = random_below(600);
		for (size_t i = 0; i < len; i++)
			text[i] = (char)random64();
		try_hostile(text, len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full), cmocka_unit_test(test_good), cmocka_unit_test(test_bad),
		cmocka_unit_test(test_replay), cmocka_unit_test(test_capture),
		cmocka_unit_test(test_most), cmocka_unit_test(test_ports), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_manual), cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
