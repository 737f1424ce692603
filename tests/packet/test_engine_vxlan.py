"""The routing engine's interfaces (control/host/vxlan.c): frames of routing protocols go up to the
engine in VXLAN, and the engine's frames leave by our interfaces. tests/packet/test_engine.py has its
routes; tests/unit/net/test_vxlan.c and test_routing.c have the formats."""
import json

import pytest
from ip6 import *
from scapy.layers.inet import IPOption_Router_Alert, TCP, fragment
from scapy.layers.l2 import Dot1Q, Dot3, LLC
from test_engine import sports
from test_http import Client

# The engine has a port of its own.
ENGINE = Station(2, "203.0.113.2", "02:cc:00:00:00:02")
VNI = {0: 101, 1: 102}
ALL = "bgp bfd rip ldp ospf pim igmp isis lldp discovery"


def config(protocols=ALL, more="", engine="routing engine 203.0.113.2\n", ports=3):
    text = CONFIG6.replace("arp timeout 60\n", "")
    for n, vni in VNI.items():
        lines = " routing engine vni %d\n" % vni
        if protocols:
            lines += " routing engine protocols %s\n" % protocols
        text = text.replace("interface eth%d\n" % n, "interface eth%d\n%s" % (n, lines))
    if ports == 3:
        text += "interface eth2\n ip address 203.0.113.1/24\n"
    return text + more + engine + WEB


def start(make, text=None, **options):
    m = make(text or config(), ports=3, **options)
    m.learn(A, B, ENGINE)
    return m


@pytest.fixture
def e(make):
    return start(make)


def up(m, port, frame):
    """The machine hands the frame to the engine, unchanged."""
    out = Ether(m.take(2).frame)
    assert out.dst == ENGINE.mac and out.src == ROUTER[2].mac
    ip = out[IP]
    assert (ip.src, ip.dst, ip.ttl) == ("203.0.113.1", "203.0.113.2", 64)
    assert 49152 <= ip[UDP].sport <= 65535 and ip[UDP].dport == 4789
    packet = bytes(ip[UDP].payload)
    assert packet[:8] == bytes((8, 0, 0, 0)) + VNI[port].to_bytes(3, "big") + b"\0"
    assert packet[8:] == bytes(frame), Ether(packet[8:]).summary()
    whole = bytes(IP(src=ip.src, dst=ip.dst, tos=ip.tos, id=ip.id, ttl=64) /
                  UDP(sport=ip[UDP].sport, dport=4789) / Raw(packet))
    assert bytes(out)[14:14 + len(whole)] == whole, "length or checksum"


def down(port, frame, src=ENGINE, dst="203.0.113.1", vni=None, flags=8, **fields):
    """The engine's frame for an interface, in VXLAN."""
    header = bytes((flags, 0, 0, 0)) + (VNI[port] if vni is None else vni).to_bytes(3, "big") + b"\0"
    return ether(src, ROUTER[src.port]) / IP(src=src.ip, dst=dst, **fields) / \
        UDP(sport=50000, dport=4789) / Raw(header + bytes(frame))


def bgp(src, dst, flags="S", sport=33000, dport=179, ttl=1):
    return IP(src=getattr(src, "ip", src), dst=getattr(dst, "ip", dst), ttl=ttl) / \
        TCP(sport=sport, dport=dport, flags=flags, seq=7)


def bgp6(src, dst, sport=33000, dport=179, hlim=1):
    return IPv6(src=src, dst=dst, hlim=hlim) / TCP(sport=sport, dport=dport, flags="S", seq=7)


def group(address):
    octets = [int(x) for x in address.split(".")]
    return "01:00:5e:%02x:%02x:%02x" % (octets[1] & 127, octets[2], octets[3])


def to_group(src, address, payload, **fields):
    return Ether(src=src.mac, dst=group(address)) / IP(src=src.ip, dst=address, ttl=1, **fields) / payload


def to_group6(src, address, payload, **fields):
    return Ether(src=src.mac, dst=group_mac(address)) / \
        IPv6(src=src.link_local, dst=address, hlim=1, **fields) / payload


def isis(src, dst="01:80:c2:00:00:14"):
    return Dot3(src=src.mac, dst=dst) / LLC(dsap=0xfe, ssap=0xfe, ctrl=3) / Raw(b"\x83" + bytes(100))


OSPF = Raw(bytes((2, 1, 0, 44)) + bytes(40))
UP = {
    "bgp": lambda: ether(A, ROUTER[0]) / bgp(A, ROUTER[0]),
    "bgp from 179": lambda: ether(A, ROUTER[0]) / bgp(A, ROUTER[0], "SA", 179, 33000),
    "bgp to another address of ours": lambda: ether(A, ROUTER[0]) / bgp(A, ROUTER[1], ttl=255),
    "bgp by IPv6": lambda: ether(A, ROUTER[0]) / bgp6(A.ip6, ROUTER[0].ip6),
    "bgp by link-local": lambda: ether(A, ROUTER[0]) / bgp6(A.link_local, ROUTER[0].link_local),
    "bfd": lambda: ether(A, ROUTER[0]) / udp(A, ROUTER[0], 24, ttl=255, dport=3784),
    "bfd echo": lambda: ether(A, ROUTER[0]) / udp(A, ROUTER[0], 24, ttl=254, dport=3785),
    "bfd multihop": lambda: ether(A, ROUTER[0]) / udp(A, ROUTER[0], 24, dport=4784),
    "bfd by link-local": lambda: ether(A, ROUTER[0]) / IPv6(
        src=A.link_local, dst=ROUTER[0].link_local, hlim=255) / UDP(sport=50000, dport=3784) / Raw(bytes(24)),
    "rip": lambda: to_group(A, "224.0.0.9", UDP(sport=520, dport=520) / Raw(bytes(24))),
    "rip by unicast": lambda: ether(A, ROUTER[0]) / udp(A, ROUTER[0], dport=520),
    "rip by broadcast": lambda: Ether(src=A.mac, dst=BROADCAST) / udp(A, "255.255.255.255", dport=520),
    "ripng": lambda: to_group6(A, "ff02::9", UDP(sport=521, dport=521) / Raw(bytes(24))),
    "ldp hello": lambda: to_group(A, "224.0.0.2", UDP(sport=646, dport=646) / Raw(bytes(30))),
    "ldp session": lambda: ether(A, ROUTER[0]) / bgp(A, ROUTER[0], dport=646),
    "ospf hello": lambda: to_group(A, "224.0.0.5", OSPF, proto=89),
    "ospf to designated routers": lambda: to_group(A, "224.0.0.6", OSPF, proto=89),
    "ospf by unicast": lambda: ether(A, ROUTER[0]) / IP(src=A.ip, dst=ROUTER[0].ip, ttl=1, proto=89) / OSPF,
    "ospf fragment": lambda: ether(A, ROUTER[0]) / IP(src=A.ip, dst=ROUTER[0].ip, ttl=1, proto=89,
                                                     flags="MF", frag=3) / OSPF,
    "ospfv3": lambda: to_group6(A, "ff02::5", OSPF, nh=89),
    "ospfv3 to designated routers": lambda: to_group6(A, "ff02::6", OSPF, nh=89),
    "ospfv3 by unicast": lambda: ether(A, ROUTER[0]) / IPv6(
        src=A.link_local, dst=ROUTER[0].link_local, hlim=1, nh=89) / OSPF,
    "pim": lambda: to_group(A, "224.0.0.13", Raw(bytes(30)), proto=103),
    "igmp": lambda: to_group(A, "224.0.0.22", Raw(bytes(8)), proto=2, options=[IPOption_Router_Alert()]),
    "isis level 1": lambda: isis(A),
    "isis level 2": lambda: isis(A, "01:80:c2:00:00:15"),
    "isis on a point-to-point link": lambda: isis(A, "09:00:2b:00:00:05"),
    "lldp": lambda: Ether(src=A.mac, dst="01:80:c2:00:00:0e", type=0x88cc) / Raw(bytes(50)),
}


@pytest.mark.parametrize("name", UP)
def test_up(e, name):
    frame = padded(UP[name]())
    e.send(0, frame)
    up(e, 0, frame)
    e.expect_counters(delivered_engine=1, udp_tx=1)


@pytest.mark.parametrize("name", UP)
def test_not_handed_over_without_vni(make, name):
    """Without a VNI everything is as it was."""
    text = config()
    for n, vni in VNI.items():
        text = text.replace(" routing engine vni %d\n routing engine protocols %s\n" % (vni, ALL), "")
    m = start(make, text)
    m.send(0, UP[name]())
    m.take_all(0)
    assert not m.outs[2] and "delivered_engine" not in m.counted()


@pytest.mark.parametrize("word", ALL.split())
def test_only_protocols_of_the_interface(make, word):
    m = start(make, config(word))
    for name, frame in UP.items():
        m.send(0, frame())
        m.take_all(0)
        protocol = {"ripng": "rip", "ospfv3": "ospf"}.get(name.split(" ")[0], name.split(" ")[0])
        assert len(m.take_all(2)) == (protocol == word), name


def test_bfd_of_the_machine(make):
    """With `routing engine bfd` the sessions are the machine's own, so their packets stay here."""
    m = start(make, config(engine="routing engine 203.0.113.2\nrouting engine bfd\n"))
    for name in ("bfd", "bfd multihop", "bfd by link-local"):
        m.send(0, UP[name]())
        m.expect_counters(drop_bfd_malformed=1)
    assert not m.outs[2]
    bgp_frame = padded(UP["bgp"]())
    m.send(0, bgp_frame)
    up(m, 0, bgp_frame)


def test_never(e):
    """ARP, neighbour discovery, echo and other packets to the machine are its own."""
    for frame in (arp_request(A, ROUTER[0].ip), solicit(A, ROUTER[0].ip6),
                  ether(A, ROUTER[0]) / echo6(A, ROUTER[0]),
                  ether(A, ROUTER[0]) / IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(id=1, seq=1),
                  ether(A, ROUTER[0]) / udp(A, ROUTER[0], dport=3786),
                  ether(A, ROUTER[0]) / bgp(A, ROUTER[0], dport=178)):
        e.send(0, frame)
        assert e.take_all(0)
        assert not e.outs[2]


def test_transit_is_forwarded(e):
    """BGP between others is a packet as any."""
    e.route(bgp(A, B, ttl=64))
    e.route(udp(A, B, dport=3784))


def test_discovery_is_copied(e):
    """The machine answers a router solicitation itself too."""
    frame = padded(Ether(src=A.mac, dst=group_mac(ALL_ROUTERS)) / IPv6(
        src=A.link_local, dst=ALL_ROUTERS, hlim=255) / ICMPv6ND_RS() / ICMPv6NDOptSrcLLAddr(lladdr=A.mac))
    e.send(0, frame)
    up(e, 0, frame)
    assert "delivered_engine" not in e.counted()
    frame = padded(Ether(src=A.mac, dst=group_mac(ALL_NODES)) / IPv6(
        src=A.link_local, dst=ALL_NODES, hlim=255) / ICMPv6ND_RA() / ICMPv6NDOptSrcLLAddr(lladdr=A.mac))
    e.send(0, frame)
    up(e, 0, frame)
    # from beyond the link: not even looked at
    e.send(0, Ether(src=A.mac, dst=group_mac(ALL_NODES)) / IPv6(
        src=A.link_local, dst=ALL_NODES, hlim=254) / ICMPv6ND_RA())
    e.expect_nothing()
    e.time(10 * SECOND)
    for port in range(3):
        e.take_all(port)


def test_forged_sources(e):
    e.send(0, ether(A, ROUTER[0]) / bgp(ROUTER[1], ROUTER[0]))
    e.expect_counters(drop_ip4_src_local=1)
    e.send(0, ether(A, ROUTER[0]) / bgp6(ROUTER[1].ip6, ROUTER[0].ip6))
    e.expect_counters(drop_ip6_src_local=1)


def test_access_lists_come_first(make):
    text = config(more="ip access-list X\n deny tcp any any eq 179\n permit ip any any\n").replace(
        "interface eth0\n", "interface eth0\n ip access-group X in\n no ip unreachables\n")
    m = start(make, text)
    m.send(0, UP["bgp"]())
    m.expect_counters(drop_acl_in=1)
    m.send(0, UP["ospf hello"]())
    assert m.take(2)


def test_vlan_tag_is_removed(make):
    text = config(more="interface eth0.7\n ip address 10.7.0.1/24\n routing engine vni 7\n")
    m = start(make, text)
    inner = Ether(src=A.mac, dst=group("224.0.0.5")) / IP(src="10.7.0.2", dst="224.0.0.5", ttl=1, proto=89) / OSPF
    tagged = Ether(src=A.mac, dst=group("224.0.0.5")) / Dot1Q(vlan=7) / inner.payload
    VNI[7] = 7
    try:
        m.send(0, padded(tagged))
        up(m, 7, padded(tagged)[:12] + padded(tagged)[16:])
        hello = Ether(src=ROUTER[0].mac, dst=group("224.0.0.5")) / IP(
            src="10.7.0.1", dst="224.0.0.5", ttl=1, proto=89) / OSPF
        m.send(2, down(7, hello))
        want = Ether(src=ROUTER[0].mac, dst=group("224.0.0.5")) / Dot1Q(vlan=7) / hello.payload
        m.expect(0, bytes(want))
        m.counted()
        # a tag of the engine's would lead to another VLAN
        m.send(2, down(0, Ether(src=ROUTER[0].mac, dst=BROADCAST) / Dot1Q(vlan=7) / hello.payload))
        m.expect_counters(drop_vxlan_type=1)
    finally:
        del VNI[7]


DOWN = {
    "ospf hello": lambda: Ether(src=ROUTER[0].mac, dst=group("224.0.0.5")) / IP(
        src=ROUTER[0].ip, dst="224.0.0.5", ttl=1, proto=89) / OSPF,
    "broadcast": lambda: Ether(src=ROUTER[0].mac, dst=BROADCAST) / udp(ROUTER[0], "255.255.255.255", dport=520),
    "isis": lambda: isis(ROUTER[0]),
    "lldp": lambda: Ether(src=ROUTER[0].mac, dst="01:80:c2:00:00:0e", type=0x88cc) / Raw(bytes(60)),
    "router advertisement": lambda: Ether(src=ROUTER[0].mac, dst=group_mac(ALL_NODES)) / IPv6(
        src=ROUTER[0].link_local, dst=ALL_NODES, hlim=255) / ICMPv6ND_RA(),
    "to a station": lambda: ether(ROUTER[0], A2) / IP(src=ROUTER[0].ip, dst=A2.ip, ttl=1) / Raw(bytes(30)),
    "short": lambda: ether(ROUTER[0], A) / IP(src=ROUTER[0].ip, dst=A.ip, ttl=1),
}


@pytest.mark.parametrize("name", DOWN)
def test_down_as_it_is(e, name):
    frame = DOWN[name]()
    e.send(2, down(0, frame))
    e.expect(0, padded(frame))
    e.expect_counters(delivered_vxlan=1)


@pytest.mark.parametrize("ttl", (1, 64, 255))
def test_down_routed(e, ttl):
    """The TTL is not decremented."""
    packet = bgp(ROUTER[0], A, ttl=ttl)
    e.send(2, down(0, ether(ROUTER[0], ROUTER[0]) / packet))
    e.expect(0, ether(ROUTER[0], A) / packet)
    # by the route to the destination, wherever the engine sends it
    packet = bgp(ROUTER[0], B, ttl=ttl)
    e.send(2, down(0, ether(ROUTER[0], ROUTER[0]) / packet))
    e.expect(1, ether(ROUTER[1], B) / packet)
    e.expect_counters(delivered_vxlan=2)


def test_down_routed_waits_for_the_neighbour(e):
    packet = bgp(ROUTER[0], A2)
    e.send(2, down(0, ether(ROUTER[0], ROUTER[0]) / packet))
    e.expect(0, arp_request(ROUTER[0], A2.ip))
    e.send(0, arp_reply(A2, ROUTER[0]))
    e.expect(0, ether(ROUTER[0], A2) / packet)


@pytest.mark.parametrize("hlim", (1, 255))
def test_down_routed_ip6(e, hlim):
    learn6(e, A)
    packet = bgp6(ROUTER[0].ip6, A.ip6, hlim=hlim)
    e.send(2, down(0, ether(ROUTER[0], ROUTER[0]) / packet))
    e.expect(0, ether(ROUTER[0], A) / packet)
    # link-local: by the interface alone
    packet = bgp6(ROUTER[1].link_local, B.link_local, hlim=hlim)
    e.send(2, down(1, ether(ROUTER[1], ROUTER[1]) / packet))
    assert e.take(1).frame == padded(solicit(ROUTER[1], B.link_local, source=ROUTER[1].link_local))
    e.send(1, advert(B, ROUTER[1], target=B.link_local, dst_ip=ROUTER[1].link_local))
    e.expect(1, ether(ROUTER[1], B) / packet)
    assert e.counted()["delivered_vxlan"] == 2


REFUSED = {
    "another sender": (lambda: down(0, DOWN["isis"](), src=Station(2, "203.0.113.3", ENGINE.mac)), "sender"),
    "another of our addresses": (lambda: down(0, DOWN["isis"](), dst="192.0.2.1"), "sender"),
    "no VNI flag": (lambda: down(0, DOWN["isis"](), flags=0), "malformed"),
    "VNI 0": (lambda: down(0, DOWN["isis"](), vni=0), "malformed"),
    "unknown VNI": (lambda: down(0, DOWN["isis"](), vni=103), "vni"),
    "no Ethernet header": (lambda: down(0, bytes(13)), "malformed"),
    "no header": (lambda: ether(ENGINE, ROUTER[2]) / IP(src=ENGINE.ip, dst="203.0.113.1") /
                  UDP(sport=50000, dport=4789) / Raw(bytes((8, 0, 0, 0, 0, 0, 101))), "malformed"),
    "foreign source MAC": (lambda: down(0, ether(A, BROADCAST) / udp(ROUTER[0], A)), "source"),
    "source MAC of another interface": (lambda: down(1, DOWN["isis"]()), "source"),
    "foreign source address": (lambda: down(0, ether(ROUTER[0], ROUTER[0]) / bgp(A2, A)), "source"),
    "foreign IPv6 source address": (lambda: down(0, ether(ROUTER[0], ROUTER[0]) / bgp6(A2.ip6, A.ip6)), "source"),
    "ARP": (lambda: down(0, arp_request(ROUTER[0], A.ip)), "type"),
    "solicitation": (lambda: down(0, solicit(ROUTER[0], A.ip6)), "type"),
    "advertisement": (lambda: down(0, advert(ROUTER[0], A)), "type"),
    "wrong IPv4 checksum": (lambda: down(0, ether(ROUTER[0], ROUTER[0]) / IP(
        src=ROUTER[0].ip, dst=A.ip, chksum=1) / UDP()), "malformed"),
    "cut off": (lambda: down(0, bytes(ether(ROUTER[0], ROUTER[0]) / bgp(ROUTER[0], A))[:-1]), "malformed"),
    "IPv6 cut off": (lambda: down(0, bytes(ether(ROUTER[0], ROUTER[0]) / bgp6(ROUTER[0].ip6, A.ip6))[:-1]),
                     "malformed"),
    "802.3 length": (lambda: down(0, bytes(isis(ROUTER[0]))[:-1]), "malformed"),
    "too long": (lambda: down(0, Ether(src=ROUTER[0].mac, dst=BROADCAST, type=0x9000) / Raw(bytes(1501))), "too_big"),
    "no route": (lambda: down(0, ether(ROUTER[0], ROUTER[0]) / bgp(ROUTER[0], "8.8.8.8")), "route"),
    "to ourselves": (lambda: down(0, ether(ROUTER[0], ROUTER[0]) / bgp(ROUTER[0], ROUTER[1])), "route"),
    "to ourselves by IPv6": (lambda: down(0, ether(ROUTER[0], ROUTER[0]) / bgp6(ROUTER[0].ip6, ROUTER[0].link_local)),
                             "route"),
}


def pieces(frame, size=1480):
    """The frame in IP fragments of that many octets, if it is longer."""
    if len(frame[IP]) <= size + 20:
        return [frame]
    return [ether(ENGINE, ROUTER[2]) / piece for piece in fragment(IP(bytes(frame[IP])), size)]


@pytest.mark.parametrize("name", REFUSED)
def test_refused(e, name):
    make_frame, reason = REFUSED[name]
    e.send(2, *pieces(make_frame()))
    counted = e.counted()
    assert counted.pop("drop_vxlan_" + reason) == 1, counted
    assert set(counted) <= {"reassembled", "reassembled_packets"}
    e.expect_nothing()


def test_refused_by_another_interface(e):
    """The engine's address in a packet from elsewhere is forged."""
    packet = down(0, DOWN["isis"]())
    e.send(0, ether(A, ROUTER[0]) / packet[IP])
    e.expect_counters(drop_vxlan_sender=1)


def test_link_down(e):
    e.link(0, False)
    e.time(20 * MS)
    e.counted()
    e.send(2, down(0, DOWN["isis"]()))
    e.send(2, down(0, ether(ROUTER[0], ROUTER[0]) / bgp(ROUTER[0], A)))
    e.expect_counters(drop_vxlan_route=2)
    e.link(2, False)
    e.time(20 * MS)
    e.send(1, ether(B, ROUTER[1]) / bgp(B, ROUTER[1]))
    assert e.counted()["drop_engine_down"] == 1


def test_fragments(e):
    """A full frame and its 50 octets do not fit the engine's link of 1500."""
    frame = ether(A, ROUTER[0]) / bgp(A, ROUTER[0]) / Raw(bytes(1460))
    assert len(frame) == 1514
    e.send(0, frame)
    first, second = Ether(e.take(2).frame)[IP], Ether(e.take(2).frame)[IP]
    assert first.flags == "MF" and second.frag and first.id == second.id
    assert bytes(first.payload)[16:] + bytes(second.payload)[:1514 + 16 - len(first.payload)] == bytes(frame)
    assert e.counted()["delivered_engine"] == 1
    packet = bgp(ROUTER[0], A) / Raw(bytes(1460))
    e.send(2, *pieces(down(0, ether(ROUTER[0], ROUTER[0]) / packet)))
    e.expect(0, ether(ROUTER[0], A) / packet)
    assert e.counted()["delivered_vxlan"] == 1


def test_no_fragments_on_a_longer_link(make):
    m = start(make, config().replace("interface eth2\n", "interface eth2\n mtu 1550\n"), mtu_max=9000)
    frame = bytes(ether(A, ROUTER[0]) / bgp(A, ROUTER[0]) / Raw(bytes(1460)))
    m.send(0, frame)
    assert len(m.outs[2][0].frame) == 1550 + 14
    up(m, 0, frame)
    packet = bgp(ROUTER[0], A) / Raw(bytes(1460))
    m.send(2, down(0, ether(ROUTER[0], ROUTER[0]) / packet))
    m.expect(0, ether(ROUTER[0], A) / packet)


def test_statements_take_effect_at_once(make):
    """A commit gives and takes VNIs while the ports run."""
    m = start(make, CONFIG6.replace("arp timeout 60\n", "") + "interface eth2\n ip address 203.0.113.1/24\n" + WEB)

    def commit(*lines):
        m.console("configure")
        for line in lines:
            assert m.console(line) == "", line
        said = m.console("commit")
        m.console("end")
        return said

    bgp_frame = padded(UP["bgp"]())
    m.send(0, bgp_frame)
    assert Ether(m.take(0).frame)[TCP].flags == "RA"
    assert "restart" not in commit("routing engine 203.0.113.2", "interface eth0", "routing engine vni 101")
    m.send(0, bgp_frame)
    up(m, 0, bgp_frame)
    m.send(0, UP["pim"]())
    m.expect_nothing()
    commit("interface eth0", "routing engine protocols pim")
    m.send(0, UP["pim"]())
    up(m, 0, padded(UP["pim"]()))
    m.send(0, bgp_frame)
    assert Ether(m.take(0).frame)[TCP].flags == "RA"
    commit("interface eth0", "no routing engine protocols", "no routing engine vni")
    m.send(0, bgp_frame)
    assert Ether(m.take(0).frame)[TCP].flags == "RA"
    m.send(2, down(0, DOWN["isis"]()))
    m.take_all(2)  # port unreachable
    assert m.counted()["drop_udp_port"] == 1


def page(m):
    status, _, content = Client(m, src=A, sport=next(sports)).get("/api/v1/engine.json")
    assert status == 200
    m.counted()
    return json.loads(content)


def test_page(e):
    assert page(e) == {
        "address": "203.0.113.2", "source": "203.0.113.1", "bfd_port": None, "fpm_port": 2620,
        "vxlan_port": 4789, "connected": False, "interfaces": [
            {"name": "eth%d" % n, "index": VNI[n], "vni": VNI[n], "mac": ROUTER[n].mac, "mtu": 1500,
             "carrier": True, "addresses": [ROUTER[n].ip + "/24", ROUTER[n].ip6 + "/64"],
             "link_local": ROUTER[n].link_local} for n in range(2)]}
    e.link(1, False)
    e.time(20 * MS)
    assert [i["carrier"] for i in page(e)["interfaces"]] == [True, False]


def test_page_with_bfd(make):
    assert page(start(make, config(more="routing engine bfd\n")))["bfd_port"] == 50700


def test_page_without_engine(make):
    assert page(start(make, config(engine=""))) == {"address": None, "interfaces": []}


def test_source_of_another_subnet(make):
    m = start(make, config(more="interface lo0\n ip address 10.0.0.1/32\nrouting engine source 10.0.0.1\n"))
    assert page(m)["source"] == "10.0.0.1"
    m.send(0, UP["bgp"]())
    assert Ether(m.take(2).frame)[IP].src == "10.0.0.1"
    m.send(2, down(0, DOWN["isis"]()))
    m.counted()
    m.send(2, down(0, DOWN["isis"](), dst="10.0.0.1"))
    m.expect(0, padded(DOWN["isis"]()))
    m.expect_counters(delivered_vxlan=1)


def test_show(e):
    e.send(0, UP["bgp"]())
    e.take(2)
    e.send(2, down(0, DOWN["isis"]()))
    e.take(0)
    e.send(2, REFUSED["ARP"][0]())
    said = e.console("show routing engine")
    assert "VXLAN from 203.0.113.1 to 203.0.113.2\n" in said
    assert "eth0                vni 101 index 101, up 1 frames 60 octets, down 1 frames %d octets\n" % len(
        DOWN["isis"]()) in said
    assert "eth0                drop_vxlan_type    1\n" in said
    metrics = Client(e, src=A, sport=next(sports)).get("/metrics")[2].decode()
    assert 'hayate_routing_engine_frames_total{interface="eth0",direction="up"} 1\n' in metrics
    assert 'hayate_routing_engine_bytes_total{interface="eth0",direction="up"} 60\n' in metrics
    assert 'hayate_routing_engine_drops_total{interface="eth0",reason="vxlan_type"} 1\n' in metrics


def test_a_flood_starves_nobody(e):
    """The ring to the control core keeps places for each protocol, for ARP and for the machine's own
    packets. The harness does not empty it while frames arrive."""
    for _ in range(1000):
        e.queue(0, padded(UP["bgp"]()))
    others = [UP[name]() for name in ("bfd", "rip", "ospf hello", "ldp hello", "pim", "igmp", "isis level 1", "lldp")]
    own = [arp_request(A, ROUTER[0].ip), ether(A, ROUTER[0]) / IP(src=A.ip, dst=ROUTER[0].ip) / ICMP(id=1, seq=1)]
    e.send(0, *others, *own)
    assert len(e.take_all(0)) == len(own)
    got = [bytes(Ether(frame)[IP][UDP].payload)[8:] for frame in e.take_all(2)]
    assert sorted(frame for frame in got if frame != padded(UP["bgp"]())) == sorted(map(padded, others))
    counted = e.counted()
    assert counted["drop_engine_limit"] == 1000 - 512 and counted["drop_punt_full"] > 0


def test_each_protocol_has_its_rate(e):
    """A flood of LLDP is cut; nothing else is."""
    for _ in range(300):
        e.queue(0, padded(UP["lldp"]()))
    e.send(0, UP["bgp"](), arp_request(A, ROUTER[0].ip))
    got = [Ether(frame)[IP][UDP].payload for frame in e.take_all(2)]
    assert len(e.take_all(0)) == 1
    counted = e.counted()
    assert counted["drop_engine_limit"] == 300 - 32 and len(got) == 32 + 1
    assert "eth0                drop_engine_limit  268\n" in e.console("show routing engine")
