"""The routing engine's interfaces: Linux's own vxlan devices in the engine's host, made from
/api/v1/engine.json. Programs there and on the router's neighbours talk by TCP port 179 and by OSPF's
group through the router's ports. tests/packet/test_engine_vxlan.py has the single frames."""
import contextlib
import json
import socket
import struct

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, WEB, eventually, netlab, options, \
    reaches, router_config
from frr import Engine, FrrHost, installed
from test_engine import FAR

ENGINE_ROUTER, ENGINE_HOST = "203.0.113.1", "203.0.113.2"
BGP, OSPF = 179, 89
ALL_SPF_ROUTERS = "224.0.0.5"
ALL_L1_ISS = bytes.fromhex("0180c2000014")
BULK = bytes(i * 7 & 255 for i in range(200000))
TIMEOUT_S = 20
CONFIG = router_config().replace("interface eth0\n", "interface eth0\n routing engine vni 101\n").replace(
    "interface eth1\n", "interface eth1\n routing engine vni 102\n routing engine index 7\n") + """\
interface eth2
 ip address %s/24
routing engine %s
""" % (ENGINE_ROUTER, ENGINE_HOST) + WEB


def make_interfaces(engine):
    """One vxlan device for each interface of the page. Linux neither resolves neighbours there nor
    learns."""
    page = json.loads(engine.run(["curl", "-sS", "http://%s/api/v1/engine.json" % ENGINE_ROUTER],
                                 check=True).stdout)
    assert (page["address"], page["source"]) == (ENGINE_HOST, ENGINE_ROUTER)
    for i in page["interfaces"]:
        name = "v-" + i["name"]
        engine.ip("link", "add", "index", str(i["index"]), "name", name, "address", i["mac"],
                  "mtu", str(i["mtu"]), "type", "vxlan", "id", str(i["vni"]), "remote", page["source"],
                  "local", page["address"], "dstport", str(page["vxlan_port"]), "nolearning")
        engine.ip("link", "set", name, "arp", "off")
        for address in i["addresses"]:
            engine.ip("address", "add", address, "dev", name)
        engine.ip("link", "set", name, "up")
    assert [i["name"] for i in page["interfaces"]] == ["eth0", "eth1"]
    assert [i["index"] for i in page["interfaces"]] == [101, 7]


def stream(sender, receiver):
    """Sends BULK through a connection."""
    sender.settimeout(TIMEOUT_S)
    receiver.settimeout(TIMEOUT_S)
    got, sent = b"", 0
    while len(got) < len(BULK):
        if sent < len(BULK):
            sent += sender.send(BULK[sent:sent + 16384])
        got += receiver.recv(65536)
    assert got == BULK


def session(server, address, client, source=None):
    """A TCP connection to port 179 of that address, used both ways."""
    with server.socket(kind=socket.SOCK_STREAM) as listener, client.socket(kind=socket.SOCK_STREAM) as active:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.settimeout(TIMEOUT_S)
        listener.bind((address, BGP))
        listener.listen()
        active.settimeout(TIMEOUT_S)
        active.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)  # a neighbour on the link
        if source:
            active.bind((source, 0))
        active.connect((address, BGP))
        passive, peer = listener.accept()
        with passive:
            passive.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)
            assert not source or peer[0] == source
            stream(active, passive)
            stream(passive, active)


@contextlib.contextmanager
def ospf(host, address):
    """A raw socket that has joined OSPF's group on the interface with that address."""
    with host.socket(kind=socket.SOCK_RAW, protocol=OSPF) as s:
        own = socket.inet_aton(address)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(ALL_SPF_ROUTERS) + own)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, own)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
        s.settimeout(TIMEOUT_S)
        yield s


def hello(sender, receiver, source, number):
    """A packet to the group arrives with its TTL."""
    payload = struct.pack(">BBHI", 2, 1, 44, number) + bytes(36)
    sender.sendto(payload, (ALL_SPF_ROUTERS, 0))
    while True:
        packet, peer = receiver.recvfrom(2048)
        if packet[20:] == payload:
            break
    assert peer[0] == source and packet[8] == 1 and socket.inet_ntoa(packet[16:20]) == ALL_SPF_ROUTERS


def link_mac(host, dev):
    return bytes.fromhex(json.loads(host.ip("-j", "link", "show", "dev", dev))[0]["address"].replace(":", ""))


@contextlib.contextmanager
def isis(host, dev):
    """A packet socket that has joined IS-IS's group of level 1; (socket, MAC address)."""
    with host.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0004)) as s:  # ETH_P_802_2
        s.bind((dev, 0x0004))
        index = json.loads(host.ip("-j", "link", "show", "dev", dev))[0]["ifindex"]
        s.setsockopt(263, 1, struct.pack("iHH8s", index, 0, 6, ALL_L1_ISS))  # PACKET_ADD_MEMBERSHIP
        s.settimeout(TIMEOUT_S)
        yield s, link_mac(host, dev)


def isis_hello(sender, receiver, number):
    """An 802.3 frame to the group arrives; it is padded."""
    s, mac = sender
    payload = b"\xfe\xfe\3\x83" + bytes([number]) * 60
    frame = ALL_L1_ISS + mac + struct.pack(">H", len(payload)) + payload
    s.send(frame)
    while True:
        got = receiver[0].recv(2048)
        if got[14:] == payload:
            break
    assert got == frame


@pytest.mark.one_card
@pytest.mark.parametrize("nic", [options.DEFAULT_NIC, "ixgbe", "mlx5"])
def test_linux_vxlan(make_router, make_hosts):
    left, right = make_hosts()
    with netlab.Host("engine") as engine:
        engine.configure(ENGINE_HOST + "/24", ENGINE_ROUTER)
        router = make_router(CONFIG, cpus=2, ports=(left.port, right.port, engine.port))
        for host in (left, right, engine):
            host.wait_for_link()
        assert reaches(left, RIGHT_HOST) and reaches(engine, LEFT_HOST)
        make_interfaces(engine)
        session(engine, LEFT_ROUTER, left)
        session(right, RIGHT_HOST, engine, source=RIGHT_ROUTER)
        with ospf(left, LEFT_HOST) as neighbour, ospf(engine, LEFT_ROUTER) as daemon:
            for number in range(3):
                hello(neighbour, daemon, LEFT_HOST, number)
                hello(daemon, neighbour, LEFT_ROUTER, number + 10)
        with isis(left, "eth0") as neighbour, isis(engine, "v-eth0") as daemon:
            for number in range(3):
                isis_hello(neighbour, daemon, number)
                isis_hello(daemon, neighbour, number + 10)
        # the others still have their neighbours, and the machine its own TCP
        assert reaches(left, RIGHT_HOST)
        said = router.command("show routing engine")
        for name, vni in (("eth0", 101), ("eth1", 102)):
            assert "\n%-19s vni %d index " % (name, vni) in said, said
        assert "drop_vxlan" not in said and "drop_engine" not in said, said
        make_hosts.quiet()


OSPFD = """\
hostname %s
interface %s
 ip ospf hello-interval 1
 ip ospf dead-interval 4
 ip ospf retransmit-interval 3
router ospf
 ospf router-id %s
 timers throttle spf 0 50 50
 timers throttle lsa all 0
 timers lsa min-arrival 0
 network 192.0.2.0/24 area 0
 network 10.9.0.0/16 area 0
"""


def test_ospf_of_frr(make_router):
    """FRR's ospfd on the engine learns a route from that of a neighbour, through the router's port, and
    the router forwards by it."""
    frr = installed()
    with FrrHost("left", frr) as left, netlab.Host("right") as right, \
            Engine(frr, ENGINE_ROUTER, ENGINE_HOST) as engine:
        left.configure(LEFT_HOST + "/24", LEFT_ROUTER)
        right.configure(RIGHT_HOST + "/24", RIGHT_ROUTER)
        left.ip("address", "add", FAR + "/32", "dev", "lo")
        router = make_router(CONFIG, cpus=2, ports=(left.port, right.port, engine.port))
        for host in (left, right, engine):
            host.wait_for_link()
        assert reaches(right, LEFT_HOST) and not reaches(right, FAR)
        make_interfaces(engine)
        left.start("zebra")
        eventually((left.work / "zserv.api").exists, 20, "zebra runs")
        left.start("ospfd", OSPFD % ("left", "eth0", LEFT_HOST))
        engine.start_zebra()
        engine.start("ospfd", OSPFD % ("engine", "v-eth0", LEFT_ROUTER))
        route = "O %-18s via %s eth0 [110] engine\n" % (FAR + "/32", LEFT_HOST)
        eventually(lambda: route in router.command("show ip route %s/32" % FAR), 60)
        eventually(lambda: reaches(right, FAR), 10)
        # the neighbour is gone: after the dead interval the route, too
        left.end_children()
        eventually(lambda: route not in router.command("show ip route %s/32" % FAR), 30)
        for host in (left, right, engine):
            host.end_children()
