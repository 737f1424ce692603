"""The DHCP relay agents: IPv4 (RFC 1542 4.1, RFC 3046) and IPv6 (RFC 8415 19), byte for byte. Messages are
built by scapy. net/dhcp is also tested by tests/unit/net/dhcp, against real servers and clients by
tests/system/test_dhcp.py."""
import pytest
from ip6 import *
from machine import *
from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.dhcp6 import (DHCP6_Advertise, DHCP6_RelayForward, DHCP6_RelayReply, DHCP6_Solicit, DHCP6OptIfaceId)
from scapy.layers.l2 import Dot1Q
from test_configure import run

SERVER, SERVER2 = "198.51.100.2", "198.51.100.3"  # B and B2
CLIENT = "02:c1:00:00:00:01"
HELPER = CONFIG.replace("192.0.2.1/24\n", "192.0.2.1/24\n ip helper-address %s\n" % SERVER)
OPTION82 = "ip dhcp relay information option\n"
GROUP, GROUP_MAC = "ff02::1:2", "33:33:00:01:00:02"
CONFIG6 = """\
interface eth0
 ipv6 address 2001:db8:1::1/64
 ipv6 nd ra suppress
 ipv6 dhcp relay destination 2001:db8:2::2
interface eth1
 ipv6 address 2001:db8:2::1/64
 ipv6 nd ra suppress
"""


def dhcp(op=1, options=(("message-type", "discover"), "end"), pad=300, **fields):
    """A message of at least 300 octets (RFC 1542 2.1)."""
    values = dict(op=op, xid=0x1234, chaddr=bytes.fromhex(CLIENT.replace(":", "")), flags=0)
    values.update(fields)
    data = bytes(BOOTP(**values) / DHCP(options=list(options)))
    return data.ljust(pad, b"\0")


def discover(data, src="0.0.0.0", dst="255.255.255.255", mac=CLIENT, to=BROADCAST, sport=68, dport=67, **udp_fields):
    return Ether(src=mac, dst=to) / IP(src=src, dst=dst) / UDP(sport=sport, dport=dport, **udp_fields) / Raw(data)


def relayed(data, server=SERVER, giaddr="192.0.2.1", mac=B.mac, ident=1, hops=1):
    """The request as the router sends it: hops and giaddr are changed, nothing else."""
    data = data[:3] + bytes([hops]) + data[4:24] + socket.inet_aton(giaddr) + data[28:]
    return Ether(src=ROUTER[1].mac, dst=mac) / IP(src="198.51.100.1", dst=server, id=ident, ttl=64) / \
        UDP(sport=67, dport=67) / Raw(data)


def from_server(data, src=SERVER, dst="192.0.2.1"):
    return Ether(src=B.mac, dst=ROUTER[1].mac) / IP(src=src, dst=dst) / UDP(sport=67, dport=67) / Raw(data)


def to_client(data, dst="192.0.2.77", mac=CLIENT):
    return Ether(src=ROUTER[0].mac, dst=mac) / IP(src="192.0.2.1", dst=dst, id=0, flags="DF", ttl=64) / \
        UDP(sport=67, dport=68) / Raw(data)


@pytest.fixture
def r(make):
    m = make(HELPER)
    m.learn(B)
    return m


def test_off_delivers_nothing(m):
    """Without a relay agent a request is an ordinary broadcast from 0.0.0.0, and IPv6's group is nobody's."""
    m.send(0, discover(dhcp()))
    m.expect_counters(drop_ip4_src_martian=1)
    m.send(0, discover(dhcp(), src=A.ip))
    m.expect_counters(drop_ip4_link_bcast=1)
    m.send(1, from_server(dhcp(op=2, giaddr="192.0.2.1")))
    m.expect(1, ether(ROUTER[1], B) / icmp_error(ROUTER[1], from_server(dhcp(op=2, giaddr="192.0.2.1"))[IP], 3, 3))
    m.expect_counters(drop_udp_port=1, icmp_tx_unreach_port=1)
    assert m.console("show ip dhcp relay").splitlines()[-1].split()[0] == "interface"


def test_only_the_interface_of_the_clients(r):
    """The interface of the server has no relay agent."""
    r.send(1, discover(dhcp()))
    r.expect_counters(drop_ip4_src_martian=1)
    r.expect_nothing()


def test_request(r):
    r.send(0, discover(dhcp()))
    r.expect(1, relayed(dhcp()))
    r.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1)
    r.send(0, discover(dhcp(), chksum=0))  # without a checksum (RFC 768)
    r.expect(1, relayed(dhcp(), ident=2))
    r.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1)
    # a client that rebinds has its address
    r.send(0, discover(dhcp(ciaddr=A.ip), src=A.ip))
    r.expect(1, relayed(dhcp(ciaddr=A.ip), ident=3))
    r.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1)
    # BOOTP with another vendor's area goes unchanged too
    bootp = dhcp()[:236] + bytes(64)
    r.send(0, discover(bootp))
    r.expect(1, relayed(bootp, ident=4))
    r.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1)


def test_all_servers(make):
    m = make(HELPER.replace(SERVER, SERVER + "\n ip helper-address " + SERVER2))
    m.learn(B, B2)
    m.send(0, discover(dhcp()))
    m.expect(1, relayed(dhcp()))
    m.expect(1, relayed(dhcp(), SERVER2, mac=B2.mac, ident=2))
    m.expect_counters(delivered_dhcp=1, udp_tx=2, dhcp_tx=2)
    table = m.console("show ip dhcp relay")
    assert [line.split() for line in table.splitlines()[-3:]] == [
        ["eth0", "ipv4", "1", "2", "0", "0", "0", "0", "0"], ["server", SERVER], ["server", SERVER2]]


def test_reply(r):
    """RFC 2131 4.1: to the client's address without ARP, or to all if it asks for that or has none."""
    offer = dict(op=2, giaddr="192.0.2.1", yiaddr="192.0.2.77", options=(("message-type", "offer"), "end"))
    r.send(1, from_server(dhcp(**offer)))
    r.expect(0, to_client(dhcp(**offer)))
    for other in (dict(flags=0x8000), dict(yiaddr="0.0.0.0"), dict(htype=6), dict(hlen=16)):
        data = dhcp(**{**offer, **other})
        r.send(1, from_server(data))
        r.expect(0, to_client(data, "255.255.255.255", BROADCAST))
    inform = dhcp(**{**offer, "yiaddr": "0.0.0.0", "ciaddr": "192.0.2.78"})
    r.send(1, from_server(inform))
    r.expect(0, to_client(inform, "192.0.2.78"))
    r.expect_counters(delivered_dhcp=6, udp_tx=6, dhcp_tx=6)
    assert r.console("show ip dhcp relay").splitlines()[-2].split()[:5] == ["eth0", "ipv4", "0", "0", "6"]


def test_replies_dropped(r):
    """A reply that names no interface with a relay agent, or that a client sends."""
    r.send(1, from_server(dhcp(op=2, giaddr="198.51.100.1", yiaddr="198.51.100.7")))
    r.send(1, from_server(dhcp(op=2, giaddr="203.0.113.9")))
    r.expect_counters(drop_dhcp_unwanted=2)
    r.send(0, discover(dhcp(op=2, giaddr="192.0.2.1")))
    r.expect_counters(drop_dhcp_unwanted=1)
    assert "strays_ipv4 2" in r.console("show ip dhcp relay")
    # one with a malformed option, and one that is too short
    r.send(1, from_server(dhcp(op=2, giaddr="192.0.2.1")[:240] + b"\x35\xff\x01"))
    r.send(1, from_server(dhcp(op=2, giaddr="192.0.2.1")[:230]))
    r.expect_counters(drop_dhcp_malformed=2)


def test_hops(r, make):
    """RFC 1542 4.1.1: a request that more than 16 agents have had, or as many as the configuration says."""
    r.send(0, discover(dhcp(hops=16)))
    r.expect(1, relayed(dhcp(), hops=17))
    r.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1)
    r.send(0, discover(dhcp(hops=17)))
    r.expect_counters(drop_dhcp_hops=1)
    m = make("ip dhcp relay maximum-hops 2\n" + HELPER)
    m.learn(B)
    m.send(0, discover(dhcp(hops=3)))
    m.expect_counters(drop_dhcp_hops=1)


@pytest.mark.parametrize("inserts", [False, True])
def test_behind_another_agent(make, inserts):
    """giaddr stays as it is, and so does option 82; a giaddr of ours came from nobody else."""
    r = make(OPTION82 * inserts + HELPER)
    r.learn(B)
    other = dhcp(giaddr="10.1.1.1", hops=1, options=(("message-type", "discover"), (82, b"\x01\x01x"), "end"))
    r.send(0, Ether(src=A.mac, dst=ROUTER[0].mac) / IP(src=A.ip, dst="192.0.2.1") / UDP(sport=67, dport=67) / Raw(other))
    r.expect(1, relayed(other, giaddr="10.1.1.1", hops=2))
    r.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1)
    r.send(0, discover(dhcp(giaddr="198.51.100.1")))
    r.expect_counters(drop_dhcp_unwanted=1)


@pytest.mark.parametrize("policy", ["drop", "keep", "replace"])
def test_option82(make, policy):
    """RFC 3046 2.1: the last option of a request; a reply loses it. By the policy for an option of the client's own."""
    m = make(OPTION82 + "ip dhcp relay information policy %s\n" % policy + HELPER)
    m.learn(B)
    ours = (82, b"\x01\x04eth0")
    plain = (("message-type", "discover"), (12, b"pc"))
    m.send(0, discover(dhcp(options=(*plain, "end"))))
    m.expect(1, relayed(dhcp(options=(*plain, ours, "end"))))
    m.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1)
    reply = dict(op=2, giaddr="192.0.2.1", yiaddr="192.0.2.77")
    m.send(1, from_server(dhcp(options=(("message-type", "offer"), ours, (51, b"\0\0\1\0"), "end"), **reply)))
    m.expect(0, to_client(dhcp(options=(("message-type", "offer"), (51, b"\0\0\1\0"), "end"), **reply)))
    theirs = dhcp(options=(("message-type", "offer"), (82, b"\x01\x04eth1"), "end"), **reply)
    m.send(1, from_server(theirs))
    m.expect(0, to_client(theirs))
    m.expect_counters(delivered_dhcp=2, udp_tx=2, dhcp_tx=2)
    m.send(0, discover(dhcp(options=(("message-type", "discover"), (82, b"\x01\x01x"), (12, b"pc"), "end"))))
    if policy == "drop":
        m.expect_counters(drop_dhcp_agent=1)
        return
    m.expect(1, relayed(dhcp(options=(*plain, ours, "end") if policy == "replace" else
                             (("message-type", "discover"), (82, b"\x01\x01x"), (12, b"pc"), "end")), ident=2))
    m.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1)


def test_option82_without_room(make):
    m = make(OPTION82 + HELPER)
    m.learn(B)
    full = dhcp(options=(("message-type", "discover"), *((12, b"x" * 250),) * 4, (12, b"y" * 213), "end"))
    assert 1465 < len(full) <= 1472
    m.send(0, discover(full))
    m.expect(1, relayed(full))
    m.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1, dhcp_relay_no_room=1)


def test_what_is_no_request(r):
    """Malformed messages and packets, by name. Other ports, fragments and sources are dropped as without an agent."""
    r.send(0, discover(dhcp()[:239]), discover(b""), discover(b"\3" + dhcp()[1:]), discover(dhcp(pad=1473)),
           discover(dhcp()[:240] + b"\x0c\x20abc"), discover(dhcp(options=(("message-type", "discover"), (52, b"\4")))))
    r.expect_counters(drop_dhcp_malformed=6)
    r.send(0, discover(dhcp(), chksum=0x1234))
    r.expect_counters(drop_udp_malformed=1)
    r.send(0, discover(dhcp(), dport=68), discover(dhcp(), dport=69))
    r.expect_counters(drop_ip4_src_martian=2)
    r.send(0, discover(dhcp(), src="192.0.2.1"))
    r.expect_counters(drop_ip4_src_local=1)
    bad = bytearray(bytes(discover(dhcp())))
    bad[24] ^= 1
    r.send(0, bytes(bad))
    r.expect_counters(drop_ip4_checksum=1)
    p = discover(dhcp())
    p[IP].flags = "MF"
    r.send(0, p)
    r.expect_counters(drop_ip4_src_martian=1)
    r.send(0, discover(dhcp(), src="127.0.0.1"))
    r.expect_counters(drop_ip4_src_martian=1)


def test_server_unreachable(make):
    """No route to a server: the copy is lost, the request is not amplified."""
    m = make(CONFIG.replace("192.0.2.1/24\n", "192.0.2.1/24\n ip helper-address 10.9.9.9\n"))
    m.send(0, discover(dhcp()))
    m.expect_counters(delivered_dhcp=1, originated_drop_tx=1)


def test_access_list(make):
    m = make("ip access-list L\n deny udp any any eq 67\n permit ip any any\n" +
             HELPER.replace("192.0.2.1/24\n", "192.0.2.1/24\n ip access-group L in\n"))
    m.learn(B)
    m.send(0, discover(dhcp()))
    m.expect_counters(drop_acl_in=1, icmp_err_suppressed=1)


def test_vlan(make):
    """A VLAN of a port has an agent of its own."""
    m = make(OPTION82 + CONFIG + "interface eth0.7\n ip address 10.7.0.1/24\n ip helper-address %s\n" % SERVER)
    m.learn(B)
    tagged = discover(dhcp())
    tagged = Ether(src=CLIENT, dst=BROADCAST) / Dot1Q(vlan=7) / tagged[IP]
    m.send(0, tagged)
    m.expect(1, relayed(dhcp(options=(("message-type", "discover"), (82, b"\x01\x06eth0.7"), "end")), giaddr="10.7.0.1"))
    m.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1)
    offer = dhcp(op=2, giaddr="10.7.0.1", yiaddr="10.7.0.9")
    m.send(1, from_server(offer, dst="10.7.0.1"))
    m.expect(0, Ether(src=ROUTER[0].mac, dst=CLIENT) / Dot1Q(vlan=7) /
             IP(src="10.7.0.1", dst="10.7.0.9", id=0, flags="DF", ttl=64) / UDP(sport=67, dport=68) / Raw(offer))
    m.send(0, discover(dhcp()))  # the untagged one has none
    m.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1, drop_ip4_src_martian=1)


def test_live(m):
    """The statements take effect without a restart of the ports."""
    run(m, "configure", "interface eth0", "ip helper-address " + SERVER)
    assert "restart" not in run(m, "commit")
    m.send(0, discover(dhcp()))
    m.expect(1, relayed(dhcp()))
    run(m, "configure", "interface eth0", "no ip helper-address " + SERVER)
    assert "restart" not in run(m, "commit")
    m.counted()
    m.send(0, discover(dhcp()))
    m.expect_counters(drop_ip4_src_martian=1)


# --- IPv6 ---

def solicit(data=None, src="fe80::c1:ff:fe00:1", dst=GROUP, sport=546, mac=CLIENT, to=GROUP_MAC):
    data = bytes(DHCP6_Solicit(trid=0x123456)) if data is None else data
    return Ether(src=mac, dst=to) / IPv6(src=src, dst=dst, hlim=1) / UDP(sport=sport, dport=547) / Raw(data)


def forward(data, peer="fe80::c1:ff:fe00:1", hops=0, link="2001:db8:1::1", name=b"eth0"):
    return bytes(DHCP6_RelayForward(hopcount=hops, linkaddr=link, peeraddr=peer) / DHCP6OptIfaceId(ifaceid=name)) + \
        b"\0\x09" + len(data).to_bytes(2, "big") + data


def reply6(data, peer="fe80::c1:ff:fe00:1", link="2001:db8:1::1", name=b"eth0"):
    options = bytes(DHCP6OptIfaceId(ifaceid=name)) if name else b""
    return bytes(DHCP6_RelayReply(linkaddr=link, peeraddr=peer)) + options + \
        (b"\0\x09" + len(data).to_bytes(2, "big") + data if data is not None else b"")


def server6(data, dst="2001:db8:2::1"):
    return Ether(src=B.mac, dst=ROUTER[1].mac) / IPv6(src=B.ip6, dst=dst) / UDP(sport=547, dport=547) / Raw(data)


def sent6(m, port):
    """The UDP packets over IPv6 that the machine has sent."""
    return [f for f in map(Ether, m.take_all(port)) if UDP in f]


def knows_client(m):
    """The machine knows the client's MAC address."""
    mac = bytes.fromhex(CLIENT.replace(":", ""))
    m.send(0, Ether(src=CLIENT, dst=ROUTER[0].mac) / IPv6(src="fe80::c1:ff:fe00:1", dst=ROUTER[0].link_local, hlim=255) /
           ICMPv6ND_NS(tgt=ROUTER[0].link_local) / Raw(bytes([1, 1]) + mac))
    m.take_all(0)
    m.counted()


@pytest.fixture
def six(make):
    m = make(CONFIG6)
    learn6(m, B)
    knows_client(m)
    return m


def test_request6(six):
    data = bytes(DHCP6_Solicit(trid=0x123456))
    six.send(0, solicit())
    sent, = sent6(six, 1)
    assert (sent.dst, sent[IPv6].src, sent[IPv6].dst, sent[UDP].sport, sent[UDP].dport) == \
        (B.mac, "2001:db8:2::1", "2001:db8:2::2", 547, 547)
    assert bytes(sent[UDP].payload) == forward(data)
    six.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1)
    # another agent's message (19.1.2): the link is told unless its address says it
    for hops, src, link in ((0, "fe80::c1:ff:fe00:1", "2001:db8:1::1"), (7, "2001:db8:1::99", "::")):
        nested = forward(data, hops=hops, link="2001:db8:9::1")
        six.send(0, solicit(nested, src=src, sport=547))
        sent, = sent6(six, 1)
        assert bytes(sent[UDP].payload) == forward(nested, src, hops + 1, link)
    six.expect_counters(delivered_dhcp=2, udp_tx=2, dhcp_tx=2)


def test_requests6_dropped(six):
    data = bytes(DHCP6_Solicit(trid=1))
    six.send(0, solicit(forward(data, hops=8), sport=547))
    six.expect_counters(drop_dhcp_hops=1)
    six.send(0, solicit(b"\1\0"), solicit(b""), solicit(forward(data)[:33]), solicit(data + bytes(1450)))
    six.expect_counters(drop_dhcp_malformed=4)
    six.send(0, solicit(bytes(DHCP6_Advertise())), solicit(reply6(data)))
    six.expect_counters(drop_dhcp_unwanted=2)
    six.send(1, solicit())  # no agent listens there
    six.expect_counters(drop_ip6_multicast=1)


def test_reply6(six):
    advertise = bytes(DHCP6_Advertise(trid=0x123456))
    for link, name in (("2001:db8:1::1", b"eth0"), ("2001:db8:1::1", None), ("::", b"eth0")):
        six.send(1, server6(reply6(advertise, link=link, name=name)))
        sent, = sent6(six, 0)
        assert (sent.dst, sent[IPv6].src, sent[IPv6].dst, sent[UDP].sport, sent[UDP].dport) == \
            (CLIENT, ROUTER[0].link_local, "fe80::c1:ff:fe00:1", 547, 546)
        assert bytes(sent[UDP].payload) == advertise
        six.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1)
    nested = reply6(advertise, name=None)
    six.send(1, server6(reply6(nested)))
    sent, = sent6(six, 0)
    assert sent[UDP].dport == 547 and bytes(sent[UDP].payload) == nested  # for the next agent
    six.expect_counters(delivered_dhcp=1, udp_tx=1, dhcp_tx=1)


def test_replies6_dropped(six):
    advertise = bytes(DHCP6_Advertise(trid=1))
    six.send(1, server6(reply6(advertise, name=b"eth1")), server6(reply6(advertise, name=None, link="::")),
             server6(reply6(advertise, peer="2001:db8:2::2")))
    six.expect_counters(drop_dhcp_unwanted=3)
    six.send(1, server6(reply6(None)), server6(reply6(b"")), server6(reply6(b"\2\0")), server6(reply6(advertise)[:33]),
             server6(reply6(advertise)[:-1]), server6(reply6(advertise, peer="ff02::1")), server6(reply6(b"\1\0\0\0")))
    six.expect_counters(drop_dhcp_malformed=7)
    six.send(1, server6(bytes(DHCP6_Solicit())))
    six.expect_counters(drop_dhcp_unwanted=1)


def test_live6(make):
    m = make(CONFIG6.replace(" ipv6 dhcp relay destination 2001:db8:2::2\n", ""))
    learn6(m, B)
    m.send(0, solicit())
    m.expect_counters(drop_ip6_multicast=1)
    run(m, "configure", "interface eth0", "ipv6 dhcp relay destination 2001:db8:2::2")
    assert "restart" not in run(m, "commit")
    m.send(0, solicit())
    assert len(sent6(m, 1)) == 1
    run(m, "configure", "interface eth0", "no ipv6 dhcp relay destination 2001:db8:2::2")
    assert "restart" not in run(m, "commit")
    m.settle()  # reports of the group
    m.counted()
    m.send(0, solicit())
    m.expect_counters(drop_ip6_multicast=1)
