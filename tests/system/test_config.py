"""Wrong configurations: the console shows file, line and reason, nothing is applied, and the
console works."""
import re

import pytest
from conftest import LEFT_ROUTER, pings, router_config

# (name, text, line that must be named)
BAD = [
    ("unknown-word", "hostname r1\nfrobnicate yes\n", 2),
    ("bad-address", "interface eth0\n ip address 192.0.2.999/24\n", 2),
    ("bad-length", "interface eth0\n ip address 192.0.2.1/33\n", 2),
    ("outside-interface", "hostname r1\n ip address 192.0.2.1/24\n", 2),
    ("overlap", "interface eth0\n ip address 192.0.2.1/24\ninterface eth1\n"
                " ip address 192.0.2.2/24\n", 4),
    ("next-hop-no-host", "interface eth0\n ip address 192.0.2.1/24\n"
                         "ip route 10.0.0.0/8 192.0.2.255\n", 3),
    ("late-error", router_config() + "ip route 10.0.0.0/8\n", 6),
    ("binary", b"hostname r1\n\x00\xff\xfe\x01\n", 2),
    ("a-million-bad-lines", "frobnicate yes\n" * 1000000, 1),
    ("behind-a-million-lines", router_config() + "! a comment\n" * 1000000 + "frobnicate", 1000006),
    ("a-line-of-a-megabyte", "hostname r1\nhostname " + "a" * (1 << 20), 2),
    ("zeroes", b"hostname r1\n" + bytes(1 << 20), 2),
    ("all-ff", b"\xff" * (1 << 20), 1),
    ("a-file-that-is-cut", router_config() + "file a 9\nxyz", 6),
    ("mtu", "interface eth0\n mtu 20\n", 2),
]


@pytest.mark.parametrize("text,line", [entry[1:] for entry in BAD], ids=[e[0] for e in BAD])
def test_bad_configuration(make_router, text, line):
    router = make_router(text, wait=False)
    match = router.expect(r"^.*?([\w.-]+):(\d+): (.+?)\r?\n", 60, "file, line and reason")
    assert match.group(1) == "test.conf", match.group(0)
    assert int(match.group(2)) == line, match.group(0)
    assert len(match.group(3)) > 10, match.group(0)
    router.wait_prompt(60)
    shown = router.command("show running-config")
    assert "ip address" not in shown and "ip route" not in shown, shown
    assert router.command("show version")


def test_all_wrong_lines(make_router):
    """All wrong lines are reported, except those of a block that was not opened; the first 20, and
    the number of the others."""
    text = ("hostname a b\ninterface eth0\n ip address 192.0.2.999/24\n ip address 192.0.2.1/24 secondary\n"
            "interface eth99\n mtu 20\n" + "frobnicate\n" * 30)
    router = make_router(text, wait=False)
    router.wait_prompt(60)
    told = re.findall(r"test\.conf:(\d+): .+, at \"", router.text)
    assert told == [str(n) for n in (1, 3, 5, *range(7, 24))], router.text
    assert router.text.count("test.conf: 13 more lines are wrong") == 1, router.text
    assert router.text.count("nothing of the configuration is applied") == 1
    shown = router.command("show running-config")
    assert "interface" not in shown and "hostname a" not in shown, shown


def test_nothing_half_applied(make_lab):
    """A router whose last line is wrong does not even apply the right lines."""
    lab = make_lab(router_config() + "nonsense\n", wait=False)
    lab.router.expect(r"test\.conf:6: ", 60)
    lab.router.wait_prompt(60)
    assert "no address" in lab.router.command("show interfaces")
    for _ in range(2):
        answered, said = lab.left.ping(LEFT_ROUTER, wait_s=1)
        assert not answered, said


def test_no_configuration(make_router):
    router = make_router(None, wait=False)
    router.wait_prompt(60)
    assert router.command("show version")


def test_many_routes(make_lab):
    """A file of 20,000 routes is read, and its routes are used."""
    routes = "".join("ip route 10.%d.%d.0/24 198.51.100.2\n" % (n >> 8, n & 255)
                     for n in range(20000))
    lab = make_lab(router_config(extra=routes))
    lab.right.ip("address", "add", "10.78.31.5/32", "dev", "lo")  # the last route
    pings(lab.left, "10.78.31.5")
    answered, said = lab.left.ping("10.78.32.5")
    assert not answered and "Net Unreachable" in said, said


def test_more_routes_than_memory(make_lab):
    """Routes that do not fit are refused and counted, one line gives their number, and the others
    are used."""
    given = 450000
    routes = "".join("ip route %d.%d.%d.0/24 198.51.100.2\n" % (10 + (n >> 16), n >> 8 & 255, n & 255)
                     for n in range(given))
    lab = make_lab(router_config(extra=routes), "--memory", "96M")
    lab.right.ip("address", "add", "10.0.0.5/32", "dev", "lo")  # the first route
    lab.right.ip("address", "add", "16.221.207.5/32", "dev", "lo")  # the last
    told = re.findall(r"(\d+) routes do not fit into the forwarding table", lab.router.text)
    assert len(told) == 1, lab.router.tail()
    refused = int(told[0])
    summary = lab.router.command("show ip route summary")
    assert "%d refused: table full" % refused in summary, summary
    held = int(re.search(r"^24 +(\d+)", summary, re.M).group(1)) - 2  # the interfaces' subnets
    assert held > 1000 and refused > 1000 and held + refused == given, summary
    pings(lab.left, "10.0.0.5")
    answered, said = lab.left.ping("16.221.207.5")
    assert not answered and "Net Unreachable" in said, said
    assert lab.router.balanced()["drop_ip4_no_route"] > 0


def test_running_config_is_a_configuration(lab, make_router):
    """The output of `show running-config` boots the same router."""
    shown = lab.router.command("show running-config")
    again = make_router(shown)
    assert again.command("show running-config") == shown
    assert re.search(r"ip address 192\.0\.2\.1/24", shown), shown
