"""The console of a real machine: the output formats that tools/launcher/guest.py parses, and
`ping`."""
import os
import re
import sys

import pytest
from machine import *
from siphash import siphash24

sys.path.insert(0, os.path.join(ROOT, "tools"))
from launcher.guest import parse_counters, parse_interfaces, parse_table  # noqa: E402

ROUTED = CONFIG + "ip route 10.0.0.0/8 198.51.100.2\nip route 10.9.0.0/16 null0\n"


def test_show_counters(m):
    m.route(udp(A, B))
    m.send(0, padded(ether(A, ROUTER[0]) / udp(A, "8.8.8.8")))
    m.take_all(0)
    counters = parse_counters(m.console("show counters"))
    assert counters["forwarded"] == 1 and counters["drop_ip4_no_route"] == 1
    assert counters.balance == (4, 4, 0)
    everything = parse_counters(m.console("show counters all"))
    assert set(everything) == set(m.counters())


def test_show_counters_while_packets_wait(m):
    m.send(0, ether(A, ROUTER[0]) / udp(A, B2))
    m.take(1)
    counters = parse_counters(m.console("show counters"))
    assert counters.balance == (3, 2, 1) and not counters.unbalanced()


def test_show_interfaces(m):
    m.route(udp(A, B))
    said = m.console("show interfaces")
    interfaces = parse_interfaces(said)
    assert set(interfaces) == {"eth0", "eth1"}
    assert interfaces["eth0"]["up"] and interfaces["eth1"]["up"]
    assert interfaces["eth0"]["rx_pkts"] == 2 and interfaces["eth1"]["rx_pkts"] == 1
    assert interfaces["eth1"]["tx_pkts"] == 4 and interfaces["eth1"]["mmio_reads"] == 0
    assert "mac %s, mtu 1500" % ROUTER[0].mac in said and "address 192.0.2.1/24" in said
    m.link(1, False)
    assert not parse_interfaces(m.console("show interfaces"))["eth1"]["up"]


def table(m, line):
    """The rows of a table by port name."""
    return {row["port"]: row for row in parse_table(m.console(line))}


def test_show_interfaces_counters(m):
    m.route(udp(A, B))
    m.command("missed 0 3")
    rows = table(m, "show interfaces counters")
    interfaces = parse_interfaces(m.console("show interfaces"))
    for port, row in rows.items():
        for name in ("rx_pkts", "rx_bytes", "tx_pkts", "tx_bytes"):
            assert row[name] == interfaces[port][name]
    assert [rows["eth%d" % p]["rx_drops"] for p in (0, 1)] == [3, 0]
    assert all(row["rx_errors"] == row["tx_errors"] == 0 for row in rows.values())


def test_packets_that_a_port_did_not_take(m):
    """A full port holds a number of packets; further ones are counted for that port."""
    m.command("room 1 0")
    for _ in range(10):
        m.send(0, *[ether(A, ROUTER[0]) / udp(A, B)] * 200)
    dropped = m.counters()["drop_tx_full"]
    rows = table(m, "show interfaces counters")
    assert dropped > 1000 and rows["eth1"]["tx_drops"] == dropped and rows["eth0"]["tx_drops"] == 0
    m.command("room 1 -1")
    m.time(SECOND)
    assert len(m.take_all(1)) == 2000 - dropped


def test_clear_counters(m):
    """The console's own counters restart; the balance and the counters of others do not."""
    m.route(udp(A, B))
    m.send(0, padded(ether(A, ROUTER[0]) / udp(A, "8.8.8.8")))
    m.take_all(0)
    before = m.counters()
    assert m.console("clear counters") == ""
    said = m.console("show counters")
    assert "forwarded" not in said and re.search(r"^counted for 0 s$", said, re.M)
    assert parse_counters(said).balance == (4, 4, 0)
    assert all(row[name] == 0 for row in table(m, "show interfaces counters").values()
               for name in ("rx_pkts", "rx_bytes", "tx_pkts", "tx_bytes", "rx_drops"))
    m.time(5 * SECOND)
    m.route(udp(A, B))
    said = m.console("show counters")
    counters = parse_counters(said)
    assert dict(counters) == {"forwarded": 1} and "counted for 5 s\n" in said
    assert counters.balance == (5, 5, 0) and m.counters()["forwarded"] == before["forwarded"] + 1
    rows = table(m, "show interfaces counters")
    assert (rows["eth0"]["rx_pkts"], rows["eth1"]["tx_pkts"]) == (1, 1)
    assert parse_interfaces(m.console("show interfaces"))["eth0"]["rx_pkts"] == 1
    m.command("restart")
    assert parse_counters(m.console("show counters"))["forwarded"] == 1
    m.take_all(0), m.take_all(1)


def test_show_counters_drops(m):
    m.send(0, padded(ether(A, ROUTER[0]) / udp(A, "8.8.8.8")))
    m.take_all(0)
    said = m.console("show counters drops")
    assert re.match(r"drop_ip4_no_route +1  no route to the destination\nreceived ", said)
    assert "all or drops" in m.console("show counters dorps")


def test_show_interfaces_rates(m):
    m.text = ""
    m.key("show interfaces rates 2\r")
    for _ in range(5):
        m.route(udp(A, B, size=1000))
    m.time(3 * SECOND)
    assert m.text.endswith("r1# ")
    said = m.text.replace("\r", "").split("\n", 1)[1].rsplit("\n", 1)[0]
    rows = {row["port"]: row for row in parse_table(said)}
    assert rows["eth0"] == dict(port="eth0", rx_pkts_s=2, rx_mbit_s=0.0, tx_pkts_s=0, tx_mbit_s=0.0)
    assert rows["eth1"]["tx_pkts_s"] == 2


def test_show_interfaces_rates_interrupted(m):
    m.text = ""
    m.key("show interfaces rates 60\r")
    m.key("\x03")
    assert m.text.endswith("^C\r\nr1# ")
    m.time(61 * SECOND)
    assert m.text.endswith("^C\r\nr1# ")
    assert "from 1 to 60" in m.console("show interfaces rates 61")


def test_brief(make):
    m = make(CONFIG + " ip address 172.16.0.1/16 secondary\n ipv6 address 2001:db8::1/64\n"
             "interface eth2\n shutdown\n", ports=3)
    assert [tuple(row.values()) for row in parse_table(m.console("show ip interface brief"))] == [
        ("eth0", "192.0.2.1/24", "up", "in_use", "primary"),
        ("eth1", "198.51.100.1/24", "up", "in_use", "primary"),
        ("eth1", "172.16.0.1/16", "up", "in_use", "secondary"),
        ("eth2", "-", "up", "shutdown", "-")]
    assert {tuple(row.values()) for row in parse_table(m.console("show ipv6 interface brief"))} == {
        ("eth0", "-", "up", "no_address", "-"), ("eth2", "-", "up", "shutdown", "-"),
        ("eth1", ROUTER[1].link_local + "/64", "up", "in_use", "valid"),
        ("eth1", "2001:db8::1/64", "up", "in_use", "valid")}


def summary(m, line):
    """The counts by prefix length, and the sum; checked against the list."""
    listed = m.console(line).splitlines()[:-1]
    start = len(m.text)
    m.key(line + " summary\r")
    m.time(10 * MS)
    said = m.text[start:].replace("\r", "")
    assert said.endswith("%d prefixes\nr1# " % len(listed))
    rows = parse_table(said.split("\n", 1)[1].rsplit("\n", 2)[0])
    lengths = [int(text.split()[1].split("/")[1]) for text in listed]
    assert {row["length"]: row["prefixes"] for row in rows} == {
        n: lengths.count(n) for n in set(lengths)}
    return rows


def test_show_ip_route_summary(make):
    """More routes than the control core counts in one turn."""
    routes = "".join("ip route 10.%d.%d.0/24 null0\n" % (n >> 8, n & 255) for n in range(1900))
    m = make(ROUTED.replace("10.9.0.0/16", "10.99.0.0/16") + routes)
    assert len(summary(m, "show ip route")) == 5


def test_show_ipv6_route_summary(make):
    m = make(CONFIG + " ipv6 address 2001:db8:2::1/64\nipv6 route 2001:db8:9::/48 null0\n"
             "ipv6 route ::/0 null0\n")
    assert {row["length"]: row["prefixes"] for row in summary(m, "show ipv6 route")} == {
        0: 1, 48: 1, 64: 1}


def test_show_arp(m):
    rows = parse_table(m.console("show arp"))
    assert [(r["address"], r["mac"], r["port"], r["state"]) for r in rows] == [
        (A.ip, A.mac, "eth0", "reachable"), (B.ip, B.mac, "eth1", "reachable")]
    m.time(10 * SECOND)
    assert [r["age_s"] for r in parse_table(m.console("show arp"))] == [10, 10]
    m.send(0, ether(A, ROUTER[0]) / udp(A, B2), ether(A, ROUTER[0]) / udp(A, B2))
    m.take(1)
    row = parse_table(m.console("show arp"))[2]
    assert (row["address"], row["mac"], row["state"], row["waiting"]) == (B2.ip, "-", "incomplete",
                                                                          2)


def test_show_ip_route(make):
    m = make(ROUTED)
    m.learn(A)
    lines = [line.split() for line in m.console("show ip route").splitlines()]
    assert ["S", "10.0.0.0/8", "via", B.ip, "eth1", "[1]", "(unresolved)"] in lines
    assert ["S", "10.9.0.0/16", "null0", "[1]"] in lines
    assert ["C", "192.0.2.0/24", "connected", "eth0"] in lines
    assert ["L", "192.0.2.1/32", "local"] in lines
    assert ["L", "192.0.2.255/32", "broadcast"] in lines
    assert ["N", "192.0.2.2/32", "neighbour", A.ip, "eth0"] in lines
    assert lines[-1] == [str(len(lines) - 1), "prefixes"]
    assert m.console("show ip route 10.1.1.1").split()[:4] == ["S", "10.0.0.0/8", "via", B.ip]
    assert m.console("show ip route 10.9.1.1").split() == ["S", "10.9.0.0/16", "null0", "[1]"]
    # a prefix: not the longer ones that its first address has
    assert m.console("show ip route 192.0.2.0/24").split() == ["C", "192.0.2.0/24", "connected", "eth0"]
    assert m.console("show ip route 10.9.0.0/17").split() == ["S", "10.9.0.0/16", "null0", "[1]"]
    assert m.console("show ip route 8.0.0.0/5") == "no route\n"
    assert m.console("show ip route 8.8.8.8") == "no route\n"
    assert "neither" in m.console("show ip route nonsense")


def test_show_cores_version_config(m):
    row = parse_table(m.console("show cores"))[0]
    assert row["core"] == 0 and row["role"] == "control+data" and row["state"] == "running"
    assert row["rx_pkts"] == 2
    version = m.console("show version")
    assert re.match(r"Hayate \S+, application router\n", version)
    assert "boot_to_first_forward_us" not in version
    m.route(udp(A, B))
    assert re.search(r"^boot_to_first_forward_us \d+$", m.console("show version"), re.M)
    config = m.console("show running-config")
    assert "hostname r1\n" in config and " ip address 198.51.100.1/24\n" in config


def configuration_hash(m):
    """The hash in `show version`."""
    return re.search(r"^configuration ([0-9a-f]{16})$", m.console("show version"), re.M).group(1)


def test_configuration_hash(m):
    """The hash of the running configuration, after each commit."""
    def expected(machine):
        return "%016x" % siphash24(machine.console("show running-config").encode())
    first = configuration_hash(m)
    assert first == expected(m)
    for line in ("hostname r2", "ip route 10.77.0.0/16 null0"):
        for typed in ("configure", line, "commit", "end"):
            m.console(typed)
        assert configuration_hash(m) == expected(m) != first
    for typed in ("configure", "rollback 2", "commit", "end"):
        m.console(typed)
    assert configuration_hash(m) == expected(m) == first


def test_running_config_is_a_configuration(make):
    """A machine with the printed configuration prints the same."""
    first = make(ROUTED)
    text = first.console("show running-config")
    second = make(text)
    assert second.console("show running-config") == text
    second.learn(A, B)
    second.route(udp(A, "10.1.1.1"))


@pytest.mark.parametrize("line,said", [("nonsense", "unknown word"), ("show", "incomplete"),
                                       ("ping 1.2.3", "not an address, and no name"),
                                       ("ping 192.0.2.2 count 0", "count takes"),
                                       ("ping 192.0.2.2 size 9 count", "count takes"),
                                       ("ping 192.0.2.2 cuont 3", 'unknown word "cuont"'),
                                       ("test fault null", "test=1"),
                                       ("test churn 10 1", "test=1")])
def test_errors(m, line, said):
    assert said in m.console(line)


def test_help_and_listing(m):
    said = m.console("help")
    for word in ("show interfaces", "show ip route", "ping", "reload", "clear arp"):
        assert word in said
    m.text = ""
    m.key("show ?")
    assert "counters" in m.text and "interfaces" in m.text


def ping_request(m, src, dst):
    frame = m.take(dst.port).frame
    ip = IP(frame[14:])
    assert (ip.src, ip.dst, ip.ttl, ip[ICMP].type) == (src.ip, dst.ip, 64, 8)
    assert Ether(frame).dst == dst.mac and Ether(frame).src == src.mac
    want = bytes(ether(src, dst) / IP(src=src.ip, dst=dst.ip, id=0, flags="DF", ttl=64) / ICMP(
        id=ip[ICMP].id, seq=ip[ICMP].seq) / ip[ICMP].payload)
    assert frame == want
    return IP(bytes(ip)[:ip.len])


def reply_to(request, src):
    return ether(src, ROUTER[src.port]) / IP(src=request.dst, dst=request.src) / ICMP(
        type=0, id=request[ICMP].id, seq=request[ICMP].seq) / request[ICMP].payload


def test_ping(m):
    """RFC 1122 3.2.2.6: each answer is matched and timed."""
    m.text = ""
    m.key("ping 192.0.2.2 count 3\r")
    for n in range(3):
        request = ping_request(m, ROUTER[0], A)
        assert request[ICMP].seq == n + 1
        m.time(MS)
        m.send(0, reply_to(request, A))
        m.expect_nothing()
        m.time(201 * MS)
    assert m.text.count("64 bytes from 192.0.2.2: seq=") == 3
    assert "3 sent, 3 received" in m.text and m.text.endswith("r1# ")
    m.expect_counters(icmp_tx_echo_request=3, delivered_icmp=3)


def test_ping_from_the_address_of_that_subnet(make):
    """RFC 1122 3.3.4.3: of several addresses, the one in the destination's subnet."""
    m = make(CONFIG + " ip address 172.16.0.1/16 secondary\n", boot=False)
    m.time(3 * SECOND)
    m.take_all(1)
    m.take_all(0)
    second = Station(1, "172.16.0.1", ROUTER[1].mac)
    host = Station(1, "172.16.5.5", "02:bb:00:00:05:05")
    m.send(1, arp_request(host, second.ip))
    m.expect(1, arp_reply(second, host))
    m.key("ping 172.16.5.5 count 1\r")
    ping_request(m, second, host)


def test_ping_nobody(m):
    """Only timers act: three requests, and the output for the operator."""
    m.text = ""
    m.key("ping 192.0.2.9 count 2\r")
    m.time(5 * SECOND)
    assert m.take_all(0) == [padded(arp_request(ROUTER[0], "192.0.2.9"))] * 3
    assert m.text.count("no answer to seq=") == 2
    assert "2 sent, 0 received" in m.text and m.text.endswith("r1# ")


def test_ping_is_told_of_an_error(make):
    m = make(ROUTED)
    m.learn(B)
    m.text = ""
    m.key("ping 10.1.1.1 count 1\r")
    out = IP(m.take(1).frame[14:])
    m.send(1, ether(B, ROUTER[1]) / icmp_error(B, out, 3, 1).copy())
    assert "destination unreachable (type 3, code 1)" in m.text
    assert "1 sent, 0 received" in m.text


@pytest.mark.parametrize("field", ["id", "seq"])
def test_ping_ignores_errors_about_others(make, field):
    """RFC 792: the quoted identifier and sequence number say which request an error is about."""
    m = make(ROUTED)
    m.learn(B)
    m.text = ""
    m.key("ping 10.1.1.1 count 1\r")
    out = IP(m.take(1).frame[14:])
    other = out.copy()
    setattr(other[ICMP], field, getattr(out[ICMP], field) ^ 1)
    m.send(1, ether(B, ROUTER[1]) / icmp_error(B, other, 11, 0).copy())
    assert "from" not in m.text and "sent" not in m.text  # it still waits
    m.send(1, ether(B, ROUTER[1]) / icmp_error(B, out, 11, 0).copy())
    assert "from 198.51.100.2: time exceeded (type 11, code 0)" in m.text and "1 sent, 0 received" in m.text


def test_ping_nowhere(m):
    assert "no route to that host" in m.console("ping 8.8.8.8")
    assert "own address" in m.console("ping 198.51.100.1")


def test_ping_interrupted(m):
    m.text = ""
    m.key("ping 192.0.2.2 count 100\r")
    ping_request(m, ROUTER[0], A)
    m.key("\x03")
    assert "1 sent, 0 received" in m.text and m.text.endswith("r1# ")
    m.time(10 * SECOND)
    m.expect_nothing()


def test_ping_outlives_a_restart_of_the_ports(m):
    """The ping continues and ends; the console does not remain busy."""
    m.text = ""
    m.key("ping 192.0.2.2 count 2\r")
    ping_request(m, ROUTER[0], A)
    m.command("restart")
    m.time(10 * SECOND)
    m.take_all(0)
    m.take_all(1)
    assert m.text.count("no answer to seq=") == 2
    assert "2 sent, 0 received" in m.text and m.text.endswith("r1# ")


def test_log_lines_do_not_disturb_the_prompt(m):
    m.key("show ar")
    m.text = ""
    m.link(1, False)
    assert "eth1: link down\r\n" in m.text and m.text.endswith("r1# show ar")
    m.key("p\r")
    assert "address" in m.text
