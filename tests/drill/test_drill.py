"""Every script in scripts/, and proof that the runner can fail: each harmful change of a script
that passes must be found."""
import glob
import os

import pytest

import drill
import script
import wire

HERE = os.path.dirname(os.path.realpath(__file__))
SCRIPTS = sorted(glob.glob(os.path.join(HERE, "scripts", "*", "*.pkt")))


@pytest.fixture(autouse=True, scope="session")
def built():
    assert os.path.exists(drill.HARNESS), "%s is not built: make test-drill" % drill.HARNESS


@pytest.mark.parametrize("options", [
    {}, {"start": drill.WRAP_US, "tx_ring": 100}, {"offload": 15, "tx_ring": 100}],
    ids=["", "clock wraps, slow device", "offloads, slow device"])
@pytest.mark.parametrize("path", [p for p in SCRIPTS if 4 in drill.families(p)],
                         ids=lambda p: os.path.relpath(p, os.path.join(HERE, "scripts"))[:-4])
def test_script(path, options):
    """As it is; while 32-bit clocks wrap; with offloads as of cards; and while the device still has
    what is to be retransmitted: the packets on the wire must be the same."""
    run_script(path, options)


@pytest.mark.parametrize("path", [p for p in SCRIPTS if 6 in drill.families(p)],
                         ids=lambda p: os.path.relpath(p, os.path.join(HERE, "scripts"))[:-4])
def test_script_over_ip6(path):
    run_script(path, {"family": 6})


def run_script(path, options):
    why = None
    try:
        drill.run_file(path, **options)
    except (drill.Failure, script.ScriptError) as e:
        why = str(e)
    if why:
        pytest.fail(why, pytrace=False)


# --- the runner can fail ---

GOOD = """
+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK,TS val 100 ecr 0,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 1000 ecr 100,nop,wscale *>
+.1 < . 1:1(0) ack 1 win 500 <nop,nop,TS val 200 ecr 1000>
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 500) = 500
+0 > [noecn] P. 1:501(500) ack 1 <nop,nop,TS val 1100 ecr 200>
+.1 < . 1:1(0) ack 501 win 500 <nop,nop,TS val 300 ecr 1100>
+0 %{ assert tcpi_unacked == 0 }%
"""

# each change, and how it must be reported
BAD = {
    "flag": ("P. 1:501", ". 1:501", "field flags: expected: . vs actual: P."),
    "sequence number": ("1:501", "2:502", "field seq: expected: 2 vs actual: 1"),
    "length": ("1:501(500)", "1:502(501)", "field payload_len: expected: 501 vs actual: 500"),
    "acknowledgment": ("(500) ack 1", "(500) ack 2", "field ack: expected: 2 vs actual: 1"),
    "window": ("(500) ack 1", "(500) ack 1 win 7", "field window: expected: 7"),
    "urgent pointer": ("P. 1:501(500) ack 1", "PU. 1:501(500) ack 1 urg 3", "field flags"),
    "ECN": ("[noecn]", "[ect0]", "field ecn: expected: ect0 vs actual: noecn"),
    "DF": ("[noecn]", "[nodf]", "field df: expected: False vs actual: True"),
    "MSS": ("<mss 1460", "<mss 1400", "option mss: expected: (1400,) vs actual: (1460,)"),
    "option that is missing": ("mss 1460,sackOK", "mss 1460,sackOK,FO", "field tcp_options"),
    "option too many": ("mss 1460,sackOK", "mss 1460", "field tcp_options"),
    "timestamp": ("TS val 1100 ecr 200", "TS val 1200 ecr 200", "option TS: expected: (1200, 200)"),
    "echo": ("TS val 1100 ecr 200", "TS val 1100 ecr 201", "option TS: expected: (1100, 201)"),
    "too early": ("+0 > [noecn]", "+.02 > [noecn]", "expected outbound packet at 0.12"),
    "too late": ("+.1 < . 1:1(0) ack 501 win 500 <nop,nop,TS val 300 ecr 1100>",
                 "+.1 > P. 1:501(500) ack 1 <nop,nop,TS val 1200 ecr 200>",
                 "no packet was sent until"),
    "missing packet": ("+0 %{", "+0 > . 501:501(0) ack 1 <...>\n+0 %{", "no packet was sent until"),
    "surplus packet": ("+0 > [noecn] P. 1:501(500) ack 1 <nop,nop,TS val 1100 ecr 200>", "",
                       "a packet is left that was not expected"),
    "assertion": ("tcpi_unacked == 0", "tcpi_unacked == 1", "error executing code: AssertionError"),
    "result": ("500) = 500", "500) = 400", "error in write call: expected result 400  but got 500"),
    "errno": ("500) = 500", "500) = -1 EAGAIN", "expected result -1 EAGAIN but got 500"),
    "crash": ("+0 %{", "+0 harness(nonsense) = 0\n+0 %{", "the harness ended (3)"),
}


def run(text):
    drill.Run(text).run()


def test_good():
    run(GOOD)


@pytest.mark.parametrize("name", sorted(BAD))
def test_can_fail(name):
    old, new, told = BAD[name]
    assert old in GOOD
    with pytest.raises(drill.Failure) as failure:
        run(GOOD.replace(old, new, 1))
    assert told in str(failure.value)
    if "missing packet" in name:
        assert "script:12: " in str(failure.value)
        assert "script packet: +0 > . 501:501(0) ack 1 <...>" in str(failure.value)


def test_content_is_looked_at(monkeypatch):
    """Sent bytes other than those written, delivered bytes other than those received."""
    good = drill.stream
    for side, told in (("ours", "field payload"), ("theirs", "bytes 0 to 100 are not those")):
        calls = []

        def wrong_once(which, start, n):
            calls.append(which if n else None)
            return bytes(n) if calls.count(side) == 1 and which == side else good(which, start, n)
        monkeypatch.setattr(drill, "stream", wrong_once)
        with pytest.raises(drill.Failure, match=told):
            run(GOOD.replace(" <nop,nop,TS val 300", "\n+0 < P. 1:101(100) ack 501 win 500"
                             " <nop,nop,TS val 300").replace("ack 501 win 500\n", "ack 501 win 500"
                             " <nop,nop,TS val 300 ecr 1100>\n"))


def test_tolerance():
    late = GOOD.replace("+0 > [noecn]", "+.003 > [noecn]")
    run(late)
    run("--tolerance_usecs=3000\n" + late)
    with pytest.raises(drill.Failure, match="tolerance 0.002000"):
        run("--tolerance_usecs=2000\n" + late)


@pytest.mark.parametrize("line", [
    "0 < S 0:0(0) win 1 <mss>", "0 < S 0:1(0) win 1", "0 < . 1:1(0) win 1",
    "0 < S 0:0(0) ack 1 win 1", "0 < U. 1:1(0) ack 1 win 1", "socket(...) = 3", "0 < 0:0(0) win 1",
    "0 nothing", "0 > X 0:0(0)",
    "0~1 < S 0:0(0) win 1", "0 < S 0:0(0) win 1 <what 1>", "0 < icmp redirect [1:2(1)]",
    "0...1 read(3, ..., 1) = 0"])
def test_script_that_is_wrong(line):
    with pytest.raises(script.ScriptError, match="script:2: "):
        script.parse("// a comment\n" + line + "\n")


def test_instance_option_that_is_none():
    with pytest.raises(drill.Failure, match="no such parameter"):
        run("--no_such=1\n" + GOOD)


@pytest.mark.parametrize("family", [4, 6])
def test_wire_is_its_own_inverse(family):
    p = wire.Tcp(1, 2, 0xfffffff0, 7, 0x1f, 9, 0, [
        ("mss", 1460), ("nop",), ("wscale", 7), ("sackOK",), ("TS", 1, 2), ("FO", b"12345678"),
        ("hex", b"\x1e\x04ab")], b"payload", 2, True, 64)
    packet = wire.encode_tcp(drill.LOCAL[family], drill.REMOTE[family], p)
    back = wire.decode_ip_tcp(packet, drill.LOCAL[family], drill.REMOTE[family])
    assert [o for o in back.options if o != ("eol",)] == p.options
    assert back._replace(options=[]) == p._replace(options=[])
    hop_limit = [7] if family == 6 else []  # no checksum covers it
    for at in (i for i in range(len(packet)) if i not in hop_limit):
        broken = packet[:at] + bytes([packet[at] ^ 0x40]) + packet[at + 1:]
        with pytest.raises(wire.Malformed):
            wire.decode_ip_tcp(broken, drill.LOCAL[family], drill.REMOTE[family])
