"""Fates by receiving interface: drops by reason, packets forwarded and delivered; on the console, in
/metrics, in JSON. The sums equal the counters of each fate, and a commit that renumbers VLANs confuses
none. (The harness compares the sum of each port with what it received, after each command.)"""
import collections
import json

from ip6 import *
from machine import *
from prometheus_client.parser import text_string_to_metric_families
from scapy.layers.inet import ICMP, IPOption_NOP
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


# --- packets that were not dropped ---

def work(m):
    """Packets that are forwarded in the vector, on the slow path, in pieces and after waiting for their
    neighbour, and packets to the machine; each with its interface."""
    m.send(0, *[ether(A, ROUTER[0]) / udp(A, B)] * 5)
    m.send(1, ether(B, ROUTER[1]) / udp(B, A), ether(B, ROUTER[1]) / udp(B, A, options=NOP))
    m.send(1, ether(B, ROUTER[1]) / udp(B, A, size=1400))
    m.send(1, tagged(ether(HOST7, ROUTER[1]) / udp(HOST7, A)))
    m.send(0, ether(A, ROUTER[0]) / udp(A, "198.51.100.9"))
    m.send(1, arp_reply(Station(1, "198.51.100.9", "02:bb:00:00:00:09"), ROUTER[1]))
    m.send(0, padded(ether(A, ROUTER[0]) / IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(id=7)))
    m.send(0, ether(A, ROUTER[0]) / udp(A, B, ttl=1))
    for port in range(2):
        m.take_all(port)


NOP = [IPOption_NOP()] * 4
SMALL = BASE.replace("interface eth0\n", "interface eth0\n mtu 1000\n") + VLAN
# forwarded, delivered, dropped; A and B have sent an ARP request each, 198.51.100.9 an answer
WANT = {"eth0": (6, 2, 1), "eth1": (3, 2, 0), "eth1.7": (1, 0, 0)}


def blocks(m):
    """interface -> (forwarded, delivered, dropped), of the console."""
    rows = collections.defaultdict(list)
    for line in m.console("show interfaces").splitlines():
        words = line.split()
        if not line.startswith(" "):
            name = words[0]
        elif words[0] in ("forwarded", "delivered", "dropped"):
            rows[name].append(int(words[1]))
    return {name: tuple(row) for name, row in rows.items()}


def test_packets(make):
    m = make(SMALL)
    m.learn(A, B)
    work(m)
    assert blocks(m) == WANT
    said = json.loads(Client(m, sport=40001).get("/api/v1/interfaces.json")[2])["interfaces"]
    rows = {i["name"]: (i["forwarded"], i["delivered"], i["dropped"]) for i in said}
    segments = m.counters()["delivered_tcp"]
    assert segments and rows["eth1"] == WANT["eth1"] and rows["eth1.7"] == WANT["eth1.7"]
    assert rows["eth0"][0] == 6 and rows["eth0"][2] == 1 and 2 < rows["eth0"][1] <= 2 + segments


def test_packets_of_each_fate(make):
    m = make(SMALL)
    m.learn(A, B)
    work(m)
    text = Client(m).get("/metrics")[2].decode()
    family, = [f for f in text_string_to_metric_families(text) if f.name == "hayate_interface_packets"]
    by = {(s.labels["interface"], s.labels["fate"]): s.value for s in family.samples}
    assert by.pop(("", "judged")) == 0  # always present
    assert by.pop(("eth0", "delivered_tcp")) > 0
    assert by == {("eth0", "forwarded"): 6, ("eth0", "delivered_arp"): 1, ("eth0", "delivered_icmp"): 1,
                  ("eth1", "forwarded"): 3, ("eth1", "delivered_arp"): 2, ("eth1.7", "forwarded"): 1}


def test_packets_cleared(make):
    m = make(SMALL)
    m.learn(A, B)
    work(m)
    m.console("clear counters")
    assert set(blocks(m).values()) == {(0, 0, 0)}
    m.send(1, tagged(ether(HOST7, ROUTER[1]) / udp(HOST7, A)))
    m.take_all(0)
    assert blocks(m)["eth1.7"] == (1, 0, 0) and blocks(m)["eth1"] == (0, 0, 0)


def test_a_full_port(make):
    """A packet that its output port does not take is dropped, and not forwarded, where it came in."""
    m = make(BASE)
    m.learn(A, B)
    m.command("room 1 0")
    m.send(0, *[ether(A, ROUTER[0]) / udp(A, B)] * 250)
    for _ in range(4):
        m.send(0, *[ether(A, ROUTER[0]) / udp(A, B)] * 250)
    forwarded, delivered, dropped = blocks(m)["eth0"]
    assert forwarded + dropped == 1250 and dropped > 0 and delivered == 1
    assert m.counters()["drop_tx_full"] == dropped
    m.command("room 1 -1")
    m.time(10 * MS)
    m.take_all(1)
    m.take_all(0)
