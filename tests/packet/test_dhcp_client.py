"""The DHCP client (RFC 2131 4.4) with its ARP probes (RFC 5227), in virtual time: what it sends, and what its lease does to
addresses and routes. All its states: tests/unit/net/dhcp/test_dhcp_client.c; a real server: tests/system/test_dhcp.py."""
import json
import re

import pytest
from machine import *
from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.dns import DNS
from scapy.layers.l2 import Dot1Q
from test_configure import restarted, run
from test_http import Client

SERVER = Station(0, "192.0.2.2", "02:aa:00:00:00:02")  # A
ADDR = "192.0.2.77"
CONFIG_CLIENT = """\
hostname r1
interface eth0
 ip address dhcp hostname pc
interface eth1
 ip address 198.51.100.1/24
"""
MAC = ROUTER[0].mac
HOST = Station(0, ADDR, MAC)


def sent(m, port=0):
    """The DHCP messages that the machine has sent: [(frame, options)]. Other frames stay out."""
    frames = [Ether(f) for f in m.take_all(port)]
    return [(f, dict(o for o in f[DHCP].options if isinstance(o, tuple))) for f in frames if DHCP in f]


def asked(m, type_):
    """The one message that it has sent."""
    (frame, options), = sent(m)
    assert options["message-type"] == type_, options
    assert frame.src == MAC and frame[BOOTP].chaddr[:6] == bytes.fromhex(MAC.replace(":", ""))
    assert options["client_id"] == b"\1" + bytes.fromhex(MAC.replace(":", ""))
    return frame, options


def answer(m, request, type_, to=BROADCAST, dst="255.255.255.255", lease=3600, more=(), server=SERVER, port=0, **fields):
    options = [("message-type", type_), ("server_id", server.ip)]
    if type_ != "nak":
        fields.setdefault("yiaddr", ADDR)
        options += [("lease_time", lease), ("subnet_mask", "255.255.255.0"), *more]
    m.send(port, Ether(src=server.mac, dst=to) / IP(src=server.ip, dst=dst) / UDP(sport=67, dport=68) /
           BOOTP(op=2, xid=request[BOOTP].xid, chaddr=request[BOOTP].chaddr, **fields) / DHCP(options=[*options, "end"]))


def probes(m):
    """Virtual time until the probes are over; the machine has sent three."""
    m.time(6500 * MS)
    arps = [Ether(f) for f in m.take_all(0)]
    assert [(f[ARP].psrc, f[ARP].pdst) for f in arps[:3]] == [("0.0.0.0", ADDR)] * 3
    # the announcements (RFC 5227 2.3)
    later = [f[ARP].psrc for f in arps[3:] if ARP in f and f[ARP].pdst == ADDR]
    assert later in ([ADDR], [ADDR] * 2)


def boot(make, config=CONFIG_CLIENT, **options):
    m = make(config, boot=False, **options)
    m.time(2 * SECOND)
    m.seen = m.counters()
    m.take_all(1) if len(m.outs) > 1 else None
    return m


def lease(m, more=(("router", SERVER.ip),)):
    frame, _ = asked(m, 1)
    answer(m, frame, "offer", more=more)
    frame, _ = asked(m, 3)
    answer(m, frame, "ack", more=more)
    probes(m)
    m.time(3 * SECOND)
    m.take_all(0)


@pytest.fixture
def c(make):
    m = boot(make)
    lease(m)
    m.counted()
    return m


def test_exchange(make):
    """The bytes of an exchange, up to the address in use."""
    m = boot(make)
    frame, options = asked(m, 1)
    assert (frame.dst, frame[IP].src, frame[IP].dst, frame[UDP].sport, frame[UDP].dport) == \
        (BROADCAST, "0.0.0.0", "255.255.255.255", 68, 67)
    assert frame[BOOTP].flags == "B" and options["hostname"] == b"pc"
    assert list(options["param_req_list"]) == [1, 121, 3, 6, 15, 42, 51, 58, 59]
    assert len(frame[UDP].payload) >= 300
    answer(m, frame, "offer")
    frame, options = asked(m, 3)
    assert (options["requested_addr"], options["server_id"]) == (ADDR, SERVER.ip)
    assert list(options["param_req_list"]) == [1, 121, 3, 6, 15, 42, 51, 58, 59]
    # the server ignores the broadcast flag: unicast before the address is known
    answer(m, frame, "ack", to=MAC, dst=ADDR, more=[("router", SERVER.ip), ("name_server", "10.0.0.53")])
    m.expect_counters(delivered_dhcp=2, udp_tx=1, dhcp_tx=1)
    assert ": probing" in m.console("show dhcp lease")
    m.send(0, ether(SERVER, HOST) / IP(src=SERVER.ip, dst=ADDR) / ICMP())  # not ours yet
    m.expect_counters(drop_port_down=1)
    probes(m)
    m.time(3 * SECOND)
    m.take_all(0)
    text = m.console("show dhcp lease")
    for line in ("eth0: bound", "address %s/24" % ADDR, "server %s" % SERVER.ip, "route 0.0.0.0/0 via %s" % SERVER.ip,
                 "name-server 10.0.0.53"):
        assert line in text, text
    assert "H 0.0.0.0/0" in m.console("show ip route") and "C 192.0.2.0/24" in m.console("show ip route")
    assert " ip address dhcp hostname pc" in m.console("show running-config").splitlines()
    assert ADDR not in m.console("show running-config")
    # the machine answers at the address, and forwards by the default route
    m.take_all(0)
    m.send(0, arp_request(SERVER, ADDR))
    m.expect(0, arp_reply(HOST, SERVER))
    m.send(0, ether(SERVER, HOST) / IP(src=SERVER.ip, dst=ADDR) / ICMP(id=3))
    m.expect(0, ether(HOST, SERVER) / IP(src=ADDR, dst=SERVER.ip) / ICMP(type=0, id=3))
    m.learn(B)
    packet = udp(B, "10.1.2.3")
    m.send(1, ether(B, ROUTER[1]) / packet)
    m.expect(0, Ether(src=MAC, dst=SERVER.mac) / hop(packet))


def test_off_takes_nothing(m):
    """Without the statement nothing is delivered to the client's port."""
    m.send(0, Ether(src=A.mac, dst=BROADCAST) / IP(src=A.ip, dst="255.255.255.255") / UDP(sport=67, dport=68) / Raw(bytes(300)))
    m.expect_counters(drop_ip4_link_bcast=1)
    assert m.console("show dhcp lease").startswith("no interface takes its address")


def test_before_the_address_nothing_is_forwarded(make):
    m = boot(make)
    m.take_all(0)
    m.counted()
    m.send(0, ether(SERVER, HOST) / udp(SERVER, B), ether(SERVER, HOST) / IP(src=SERVER.ip, dst=ADDR) / UDP(dport=69))
    m.send(0, Ether(src=SERVER.mac, dst=BROADCAST) / IP(src=SERVER.ip, dst="255.255.255.255") / UDP(dport=67) / Raw(bytes(300)))
    m.expect_counters(drop_port_down=3)
    m.send(0, Ether(src=SERVER.mac, dst=BROADCAST) / IP(src=SERVER.ip, dst="255.255.255.255") /
           UDP(sport=67, dport=68) / Raw(bytes(300)))
    m.expect_counters(drop_dhcp_malformed=1)
    m.send(0, Ether(src=SERVER.mac, dst=BROADCAST) / IP(src=SERVER.ip, dst="255.255.255.255") /
           UDP(sport=68, dport=68) / Raw(bytes(300)))
    m.expect_counters(drop_dhcp_unwanted=1)


def hear_server(m):
    """The machine knows the server's MAC address for a while."""
    m.take_all(0)
    m.send(0, arp_request(SERVER, ADDR))
    m.expect(0, arp_reply(HOST, SERVER))


def test_name_servers(make):
    """The machine asks the name servers of the lease, and completes names by its domain, unless the configuration names others."""
    more = (("router", SERVER.ip), ("name_server", SERVER.ip), ("domain", b"Lab.Example\0"))
    m = boot(make)
    assert "there is no name server" in m.console("ping nobody.example")
    m.take_all(0)
    for config, server, name in (("", SERVER.ip, b"nobody.lab.example."),
                                 ("ip name-server 192.0.2.9\nip domain other.example\n", "192.0.2.9", b"nobody.other.example.")):
        m = boot(make, CONFIG_CLIENT + config)
        lease(m, more=more)
        assert "  domain lab.example" in m.console("show dhcp lease").splitlines()
        m.take_all(0)
        m.send(0, arp_request(Station(0, server, SERVER.mac), ADDR))
        m.take(0)
        m.key("ping nobody\r")
        m.time(10 * MS)
        question = Ether(m.take(0).frame)
        assert (question[IP].src, question[IP].dst, question[UDP].dport) == (ADDR, server, 53)
        assert question[DNS].qd[0].qname == name
        m.key("\x03")
        m.time(10 * SECOND)
        m.take_all(0)


def ntp_requests(m):
    """Where the machine sends NTP requests within 20 seconds."""
    m.take_all(0)
    hear_server(m)
    m.time(20 * SECOND)
    frames = [Ether(f) for f in m.take_all(0)]
    return {f[IP].dst for f in frames if UDP in f and f[UDP].dport == 123}


def test_ntp_servers(make):
    """The NTP servers of the lease set the clock, unless the configuration names others; they go with the lease."""
    more = (("router", SERVER.ip), ("NTP_server", SERVER.ip))
    m = boot(make)
    lease(m)
    assert m.console("show ntp status").startswith("ntp does not run")
    m = boot(make)
    lease(m, more=more)
    assert "  ntp-server %s" % SERVER.ip in m.console("show dhcp lease").splitlines()
    assert SERVER.ip in m.console("show ntp associations")
    assert ntp_requests(m) == {SERVER.ip}
    before = m.console("show ntp associations").split()
    hear_server(m)
    m.console("renew dhcp")
    m.time(10 * MS)
    frame, _ = asked(m, 3)
    answer(m, frame, "ack", to=MAC, dst=ADDR, more=more)
    after = m.console("show ntp associations").split()
    assert before[:3] == after[:3] and len(before) == len(after)  # the same association
    m.console("renew dhcp")
    m.time(10 * MS)
    frame, _ = asked(m, 3)
    answer(m, frame, "nak")
    assert m.console("show ntp status").startswith("ntp does not run")
    m.take_all(0)
    m = boot(make, CONFIG_CLIENT + "ntp server 192.0.2.9 iburst\n")
    lease(m, more=more)
    said = m.console("show ntp associations")
    assert "192.0.2.9" in said and SERVER.ip not in said
    m.take_all(0)


def test_page_and_metrics(make):
    """/api/v1/dhcp.json and /metrics, without a lease and with one."""
    config = CONFIG_CLIENT + " ip helper-address 192.0.2.9\n" + WEB

    ports = iter(range(40000, 41000))

    def get(path):
        m.learn(B)
        status, _, content = Client(m, src=B, router=ROUTER[1], sport=next(ports)).get(path, host=ROUTER[1].ip)
        assert status == 200
        m.take_all(1)
        return content.decode()

    def metrics():
        text = get("/metrics")
        return dict(re.findall(r"^hayate_dhcp_client_(\S+) (\S+)$", text, re.M)), text

    m = boot(make, config)
    (client,), (relay,) = (json.loads(get("/api/v1/dhcp.json"))[part] for part in ("clients", "relays"))
    assert client == {"interface": "eth0", "state": "selecting", "sent": 1, "received": 0, "naks": 0, "declines": 0, "timeouts": 0,
                      "address": None, "server": None, "lease_s": None, "left_s": None, "renew_s": None, "rebind_s": None,
                      "routes": [], "name_servers": [], "ntp_servers": [], "domain": None}
    assert relay == {"interface": "eth1", "family": "ipv4", "requests": 0, "replies": 0, "sent": 0}
    found, text = metrics()
    assert found.pop('messages_total{interface="eth0",direction="sent"}') == "1" and "lease_seconds" not in text
    assert found == {'bound{interface="eth0"}': "0", 'messages_total{interface="eth0",direction="received"}': "0",
                     **{'lost_total{interface="eth0",reason="%s"}' % why: "0" for why in ("refused", "conflict", "expired")}}
    m.take_all(0)

    m = boot(make, config)
    routes = [(24, "203.0.113.0"), (0, "0.0.0.0")]
    lease(m, more=(("router", SERVER.ip), ("name_server", "10.0.0.53", "10.0.0.54"), ("NTP_server", SERVER.ip),
                   ("domain", b"lab.example"),
                   ("classless_static_routes", ["%s/%d:%s" % (prefix, plen, SERVER.ip) for plen, prefix in routes])))
    client, = json.loads(get("/api/v1/dhcp.json"))["clients"]
    assert 3580 < client.pop("left_s") < 3600 and 1670 < client.pop("renew_s") < 1800 and 3120 < client.pop("rebind_s") < 3150
    assert client == {"interface": "eth0", "state": "bound", "sent": 2, "received": 2, "naks": 0, "declines": 0, "timeouts": 0,
                      "address": ADDR + "/24", "server": SERVER.ip, "lease_s": 3600,
                      "routes": [{"prefix": "%s/%d" % (prefix, plen), "via": SERVER.ip} for plen, prefix in routes],
                      "name_servers": ["10.0.0.53", "10.0.0.54"], "ntp_servers": [SERVER.ip], "domain": "lab.example"}
    m.take_all(0)
    hear_server(m)
    status, _, content = Client(m, src=SERVER, router=HOST).get("/healthz", host=ADDR)  # at the address of the lease
    assert (status, content) == (200, b"ok\n")
    found, _ = metrics()
    assert found['bound{interface="eth0"}'] == "1" and 3580 < int(found['lease_seconds{interface="eth0"}']) < 3600
    m.take_all(0)

    m = boot(make, config)  # a lease without an end
    frame, _ = asked(m, 1)
    answer(m, frame, "offer", lease=0xffffffff)
    frame, _ = asked(m, 3)
    answer(m, frame, "ack", lease=0xffffffff)
    probes(m)
    client, = json.loads(get("/api/v1/dhcp.json"))["clients"]
    assert (client["address"], client["lease_s"], client["left_s"]) == (ADDR + "/24", None, None)
    assert metrics()[0]['lease_seconds{interface="eth0"}'] == "+Inf"
    assert "lease_s infinite" in m.console("show dhcp lease")
    m.take_all(0)
    m = boot(make, "interface eth0\n ip address 192.0.2.1/24\ninterface eth1\n ip address 198.51.100.1/24\n" + WEB)
    assert "dhcp_client" not in get("/metrics")
    assert json.loads(get("/api/v1/dhcp.json")) == {"clients": [], "relays": []}
    m.take_all(0)


OTHER = Station(1, "198.51.100.2", "02:bb:00:00:00:02")  # B
ADDR1 = "198.51.100.77"


def lease_of(m, port, server, addr, more):
    """The lease of one of several interfaces with clients."""
    def request(type_):
        (frame, options), = sent(m, port)
        assert options["message-type"] == type_
        return frame
    answer(m, request(1), "offer", more=more, server=server, port=port, yiaddr=addr)
    answer(m, request(3), "ack", more=more, server=server, port=port, yiaddr=addr)


def test_two_interfaces(make):
    """Two leases with a default route: flows are spread over both, and the other one stays when one goes."""
    m = make("interface eth0\n ip address dhcp\ninterface eth1\n ip address dhcp\n", boot=False)
    m.time(2 * SECOND)
    lease_of(m, 0, SERVER, ADDR, [("router", SERVER.ip)])
    lease_of(m, 1, OTHER, ADDR1, [("router", OTHER.ip)])
    m.time(8 * SECOND)
    m.take_all(0), m.take_all(1)

    def defaults():
        return set(re.findall(r"via (\S+)", m.console("show ip route 203.0.113.9")))
    assert defaults() == {SERVER.ip, OTHER.ip}
    m.send(1, arp_request(OTHER, ADDR1))
    m.take_all(1)
    m.console("renew dhcp")
    m.time(10 * MS)
    (frame, _), = sent(m, 1)
    answer(m, frame, "nak", server=OTHER, port=1)
    assert defaults() == {SERVER.ip}
    assert "H 0.0.0.0/0" in m.console("show ip route")
    m.take_all(0), m.take_all(1)


def test_vlan(make):
    """A VLAN of a port: all is tagged."""
    m = make("interface eth0.10\n ip address dhcp\ninterface eth1\n ip address 198.51.100.1/24\n", boot=False)
    m.time(2 * SECOND)

    def said(kind):
        frames = [Ether(f) for f in m.take_all(0)]
        assert frames and all(f[Dot1Q].vlan == 10 for f in frames)
        return [f for f in frames if kind in f]

    def replies(request, type_, tag=10):
        m.send(0, Ether(src=SERVER.mac, dst=BROADCAST) / Dot1Q(vlan=tag) / IP(src=SERVER.ip, dst="255.255.255.255") /
               UDP(sport=67, dport=68) / BOOTP(op=2, xid=request[BOOTP].xid, chaddr=request[BOOTP].chaddr, yiaddr=ADDR) /
               DHCP(options=[("message-type", type_), ("server_id", SERVER.ip), ("lease_time", 3600),
                             ("subnet_mask", "255.255.255.0"), "end"]))
    (request,) = said(DHCP)
    m.counted()
    replies(request, "offer", 11)
    m.expect_counters(drop_vlan_unknown=1)
    replies(request, "offer")
    (request,) = said(DHCP)
    replies(request, "ack")
    m.time(7 * SECOND)
    assert [(f[ARP].psrc, f[ARP].pdst) for f in said(ARP)][:4] == [("0.0.0.0", ADDR)] * 3 + [(ADDR, ADDR)]
    m.time(3 * SECOND)
    m.take_all(0)
    assert "eth0.10: bound" in m.console("show dhcp lease")
    m.send(0, Ether(src=SERVER.mac, dst=BROADCAST) / Dot1Q(vlan=10) / arp_request(SERVER, ADDR)[ARP])
    (reply,) = said(ARP)
    assert (reply[ARP].psrc, reply[ARP].hwdst) == (ADDR, SERVER.mac)
    m.take_all(1)


def test_server_that_is_no_neighbour_yet(c):
    """The machine has forgotten the server's MAC address: it asks for that, and then for the lease."""
    c.time(600 * SECOND)
    c.take_all(0)
    c.console("renew dhcp")
    c.time(10 * MS)
    (frame,) = (Ether(f) for f in c.take_all(0))
    assert (frame[ARP].psrc, frame[ARP].pdst) == (ADDR, SERVER.ip)
    c.send(0, arp_reply(SERVER, HOST))
    frame, _ = asked(c, 3)
    assert (frame.dst, frame[BOOTP].ciaddr) == (SERVER.mac, ADDR)


def test_strict_source_verification(make):
    """RFC 3704: before there is a lease, no route leads to the server."""
    m = boot(make, CONFIG_CLIENT.replace("interface eth1", " ip verify unicast source reachable-via rx allow-default\ninterface eth1"))
    lease(m, more=())
    m.counted()
    m.send(0, ether(SERVER, HOST) / udp(Station(0, "10.9.9.9", SERVER.mac), B))
    m.expect_counters(drop_ip4_urpf=1)


def test_access_list(make):
    """The access list of the interface decides about a server's messages too."""
    config = CONFIG_CLIENT.replace("interface eth1", " ip access-group IN in\ninterface eth1") + "ip access-list IN\n"
    m = boot(make, config + " deny udp any any\n permit ip any any\n")
    frame, _ = asked(m, 1)
    m.counted()
    answer(m, frame, "offer")
    m.expect_counters(drop_acl_in=1, icmp_err_suppressed=1)
    m.take_all(0)
    lease(boot(make, config + " permit udp any eq 67 any eq 68\n deny ip any any\n"), more=())


def test_renewal(c):
    """T1: by unicast. The server names another default router: the route changes, the address stays."""
    left = int(re.search(r"renew_s (\d+)", c.console("show dhcp lease"))[1])
    assert 1670 < left < 1800  # up to a sixteenth before half of the lease
    c.time((left - 4) * SECOND)
    hear_server(c)
    c.time(6 * SECOND)
    frame, options = asked(c, 3)
    assert (frame.dst, frame[IP].src, frame[IP].dst, frame[BOOTP].ciaddr) == (SERVER.mac, ADDR, SERVER.ip, ADDR)
    assert "requested_addr" not in options and "server_id" not in options
    answer(c, frame, "ack", to=MAC, dst=ADDR, more=[("router", "192.0.2.3")])
    text = c.console("show dhcp lease")
    assert ": bound" in text and "route 0.0.0.0/0 via 192.0.2.3" in text
    assert int(re.search(r"left_s (\d+)", text)[1]) > 3590
    c.take_all(0)


def test_nak(c):
    """A server refuses the address: it goes at once, with its routes."""
    hear_server(c)
    c.console("renew dhcp")
    c.time(10 * MS)
    frame, _ = asked(c, 3)
    answer(c, frame, "nak")
    assert "%DHCP-4-UNBOUND: eth0: the address 192.0.2.77/24 is given up: a server has refused it" in c.console("show logging")
    assert ": init" in c.console("show dhcp lease")
    table = c.console("show ip route")
    assert "192.0.2" not in table and "0.0.0.0/0" not in table and "198.51.100.0/24" in table
    c.counted()
    c.send(0, ether(SERVER, HOST) / IP(src=SERVER.ip, dst=ADDR) / ICMP())
    c.expect_counters(drop_port_down=1)
    c.time(1100 * MS)
    lease(c)
    assert ": bound" in c.console("show dhcp lease")


def test_conflict(make):
    """Another station has the address: it is declined, and asked for another one ten seconds later."""
    m = boot(make)
    frame, _ = asked(m, 1)
    answer(m, frame, "offer")
    frame, _ = asked(m, 3)
    answer(m, frame, "ack")
    m.time(1100 * MS)
    m.take_all(0)
    m.send(0, Ether(src=A2.mac, dst=MAC) / ARP(op=2, hwsrc=A2.mac, psrc=ADDR, hwdst=MAC, pdst="0.0.0.0"))
    frame, options = asked(m, 4)
    assert (options["requested_addr"], options["server_id"], frame[IP].src) == (ADDR, SERVER.ip, "0.0.0.0")
    assert set(options) == {"message-type", "client_id", "requested_addr", "server_id"}  # RFC 2131, table 5
    m.time(9 * SECOND)
    m.expect_nothing()
    m.time(1100 * MS)
    asked(m, 1)
    assert "declines 1" in m.console("show dhcp lease")
    assert "%%DHCP-4-CONFLICT: eth0: %s has the offered address %s, which is declined" % (A2.mac, ADDR) in m.console("show logging")


def test_link(c):
    """The cable is pulled and put back: the machine asks whether the address holds. Meanwhile the lease may end."""
    c.link(0, False)
    c.time(60 * SECOND)
    assert c.take_all(0) == [] and "address %s/24" % ADDR in c.console("show dhcp lease")
    c.link(0, True)
    c.time(10 * MS)
    frame, options = asked(c, 3)
    assert (frame.dst, options["requested_addr"], frame[BOOTP].ciaddr) == (BROADCAST, ADDR, "0.0.0.0")
    answer(c, frame, "ack", more=[("router", SERVER.ip)])
    assert ": bound" in c.console("show dhcp lease") and "declines 0" in c.console("show dhcp lease")
    c.link(0, False)
    c.time(3601 * SECOND)
    assert c.take_all(0) == []
    assert "timeouts 1" in c.console("show dhcp lease") and "address" not in c.console("show dhcp lease")
    assert "192.0.2" not in c.console("show ip route")
    c.link(0, True)
    c.time(10 * MS)
    frame, options = asked(c, 1)
    assert options["requested_addr"] == ADDR


def test_silence(make):
    """The log says once that no server answers."""
    m = boot(make)
    m.time(50 * SECOND)
    assert "SILENCE" not in m.text
    m.time(200 * SECOND)
    m.take_all(0)
    assert m.console("show logging").count("%DHCP-4-SILENCE: eth0: no DHCP server has offered an address yet") == 1
    m.take_all(0)


def test_subnet_of_another_interface(make):
    """A lease that overlaps a configured subnet is not used."""
    m = boot(make, CONFIG_CLIENT.replace("198.51.100.1/24", "192.0.2.1/24"))
    frame, _ = asked(m, 1)
    answer(m, frame, "offer")
    frame, _ = asked(m, 3)
    answer(m, frame, "ack")
    m.time(6500 * MS)
    assert [o["message-type"] for _, o in sent(m)][0] == 4
    assert "lies in a subnet of another interface" in m.text
    m.take_all(0)


def test_configured_route_by_the_lease(make):
    """The gateway of a configured route is on the subnet of the lease; its distance is less than the server's."""
    m = boot(make, CONFIG_CLIENT + "ip route 0.0.0.0/0 192.0.2.3\nip route 10.9.0.0/16 192.0.2.2\n")
    lease(m)
    table = m.console("show ip route")
    assert "S 0.0.0.0/0" in table and "H 0.0.0.0/0" not in table and "S 10.9.0.0/16" in table


def test_removal_and_commit(c):
    """A commit that restarts the ports keeps the lease; without the statement the address is given back."""
    run(c, "configure", "interface eth1", "mtu 1400", "commit")
    restarted(c)
    assert ": bound" in c.console("show dhcp lease") and "H 0.0.0.0/0" in c.console("show ip route")
    c.send(0, arp_request(SERVER, ADDR))
    c.expect(0, arp_reply(HOST, SERVER))
    run(c, "configure", "interface eth0", "no ip address dhcp", "commit")
    c.time(10 * MS)
    frame, options = asked(c, 7)
    assert (frame[IP].src, frame[IP].dst, frame[BOOTP].ciaddr, options["server_id"]) == (ADDR, SERVER.ip, ADDR, SERVER.ip)
    restarted(c)
    assert "no interface takes" in c.console("show dhcp lease")


def test_switch(make):
    """The machine's own interface in a VLAN of the switch: broadcasts that concern it, and no others."""
    m = boot(make, "application switch\nspanning-tree mode none\ninterface vlan1\n ip address dhcp\n")
    frame, _ = asked(m, 1)
    m.take_all(1)
    answer(m, frame, "offer")
    frame, _ = asked(m, 3)
    answer(m, frame, "ack")
    m.time(10 * SECOND)
    assert "vlan1: bound" in m.console("show dhcp lease")
    m.take_all(0), m.take_all(1)
    m.send(0, arp_request(SERVER, ADDR))
    m.expect(0, arp_reply(HOST, SERVER))
    m.take_all(1)


def test_echo(make):
    """An application that is a host."""
    m = boot(make, "application echo\ninterface eth0\n ip address dhcp\n")
    lease(m)
    m.send(0, arp_request(SERVER, ADDR))
    m.expect(0, arp_reply(HOST, SERVER))
    m.send(0, ether(SERVER, HOST) / IP(src=SERVER.ip, dst=ADDR) / UDP(sport=1024, dport=7) / Raw(b"hello"))
    reply = Ether(m.take(0).frame)
    assert reply[IP].src == ADDR and reply[UDP].sport == 7
