"""Drops by reason and by receiving interface: on the console, in /metrics, in JSON. The sums equal
the counters of each reason, and a commit that renumbers VLANs confuses none."""
import collections
import json

from ip6 import *
from machine import *
from prometheus_client.parser import text_string_to_metric_families
from scapy.layers.l2 import Dot1Q
from test_configure import run
from test_http import Client

BASE = CONFIG.replace("arp timeout 60\n", "") + WEB
VLAN = """\
interface eth1.7
 ip address 10.7.0.1/24
"""
HOST7 = Station(1, "10.7.0.2", "02:bb:00:00:00:07")


def shown(m):
    """(interface, reason) -> count, from the console."""
    rows = [line.split()[:3] for line in m.console("show interfaces drops").splitlines()[1:]]
    return {(name, reason): int(n) for name, reason, n in rows}


def totals(rows):
    sums = collections.Counter()
    for (_, reason), n in rows.items():
        sums[reason] += n
    return dict(sums)


def registry(m):
    return {name: n for name, n in m.counters().items() if name.startswith("drop_") and n}


def tagged(frame, vid=7):
    eth = Ether(bytes(frame))
    return Ether(src=eth.src, dst=eth.dst) / Dot1Q(vlan=vid) / eth.payload


def lose(m):
    """Drops a few of each kind: in the vector and on the slow path, by the control core, in its
    queues."""
    m.learn(A, B)
    for _ in range(3):
        m.send(0, ether(A, ROUTER[0]) / udp(A, B, ttl=1))
    m.send(1, ether(B, ROUTER[1]) / udp(B, A, ttl=1), ether(B, ROUTER[1]) / udp(B, "8.8.8.8"))
    m.send(0, ether(A, ROUTER[0]) / udp("127.0.0.1", B))
    m.send(1, tagged(ether(HOST7, ROUTER[1]) / udp(HOST7, "8.8.8.8")),
           tagged(ether(HOST7, ROUTER[1]) / udp(HOST7, "8.8.8.9")))
    m.send(1, tagged(ether(HOST7, ROUTER[1]) / udp(HOST7, "8.8.8.8"), vid=99))
    m.send(1, ether(B, ROUTER[1]) / udp(B, ROUTER[1]))            # port unreachable
    m.send(0, arp_request(A, "192.0.2.77"))
    for i in range(2):                                            # no answer
        m.send(0, ether(A, ROUTER[0]) / udp(A, "198.51.100.99"))
    m.time(6 * SECOND)
    for port in range(2):
        m.take_all(port)


EXPECTED = {
    ("eth0", "drop_ip4_ttl"): 3, ("eth1", "drop_ip4_ttl"): 1, ("eth1", "drop_ip4_no_route"): 1,
    ("eth0", "drop_ip4_src_martian"): 1, ("eth1.7", "drop_ip4_no_route"): 2,
    ("eth1", "drop_vlan_unknown"): 1, ("eth1", "drop_udp_port"): 1,
    ("eth0", "drop_arp_not_ours"): 1, ("eth0", "drop_neigh_unreachable"): 2,
}


def test_console(make):
    m = make(BASE + VLAN)
    assert shown(m) == {}
    lose(m)
    assert shown(m) == EXPECTED
    assert totals(shown(m)) == registry(m)


def test_pages(make):
    m = make(BASE + VLAN)
    lose(m)
    text = Client(m, sport=40001).get("/metrics")[2].decode()
    families = {f.name: f for f in text_string_to_metric_families(text)}
    by = {(s.labels["interface"], "drop_" + s.labels["reason"]): s.value
          for s in families["hayate_interface_drops"].samples}
    assert by.pop(("", "drop_restart")) == 0  # always present
    assert by == EXPECTED
    assert totals(by) == {"drop_" + s.labels["reason"]: s.value
                          for s in families["hayate_drops"].samples if s.value}
    rows = json.loads(Client(m, sport=40002).get("/api/v1/drops.json")[2])["drops"]
    assert {(r["interface"], r["reason"]): r["value"] for r in rows} == EXPECTED


def test_cleared(make):
    m = make(BASE + VLAN)
    lose(m)
    m.console("clear counters")
    assert shown(m) == {}
    m.send(0, ether(A, ROUTER[0]) / udp(A, B, ttl=1))
    m.take_all(0)
    assert shown(m) == {("eth0", "drop_ip4_ttl"): 1}
    text = Client(m).get("/metrics")[2].decode()  # not cleared
    assert 'hayate_interface_drops_total{interface="eth0",reason="ip4_ttl"} 4\n' in text


def test_other_numbers(make):
    """eth0.5 gets the number that eth1.7 had: drops of eth1.7 then have no interface."""
    m = make(BASE + VLAN)
    lose(m)
    run(m, "configure", "interface eth0.5", "ip address 10.5.0.1/24")
    assert "restart" in m.console("commit")
    m.console("end")
    m.time(5 * SECOND)
    for port in range(2):
        m.take_all(port)
    want = {k: n for k, n in EXPECTED.items() if k[0] != "eth1.7"}
    rows = shown(m)
    assert rows.pop(("-", "drop_ip4_no_route")) == 2
    assert rows == want
    assert totals(shown(m)) == registry(m)
    m.send(1, tagged(ether(HOST7, ROUTER[1]) / udp(HOST7, "8.8.8.8")))
    assert shown(m)[("eth1.7", "drop_ip4_no_route")] == 1
    m.take_all(1)  # contains its error


def test_both_families_and_queues(make):
    """A packet that waited too long, or was pushed out of a neighbour's queue, still has its
    interface."""
    m = make(CONFIG6)
    m.learn(A, B)
    learn6(m, A, B)
    before = shown(m)
    for i in range(40):
        m.send(0, ether(A, ROUTER[0]) / udp6(A, "2001:db8:2::99"))
        m.send(1, ether(B, ROUTER[1]) / udp(B, "192.0.2.99"))
    m.time(10 * SECOND)
    rows = {k: n - before.get(k, 0) for k, n in shown(m).items()}
    for name in ("eth0", "eth1"):
        assert sum(rows.get((name, "drop_neigh_" + how), 0)
                   for how in ("queue", "unreachable")) == 40, rows
        m.take_all(int(name[3:]))
    assert totals(shown(m)) == registry(m)
