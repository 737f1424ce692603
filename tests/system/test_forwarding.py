"""Real Linux hosts communicate through the router: ping, traceroute, TCP, UDP, fragments; equally
over IPv4 and IPv6, except for fragments made by a router, which only IPv4 has (RFC 8200 4.5)."""
import re

import pytest
from conftest import LEFT_HOST, RIGHT_HOST, pings, router_config
from family import V4, V6, both, lab_of, make_lab6, make_lab_of  # noqa: F401
from flows import Flows
from launcher import demo, options


@both
def test_ping(lab_of, family):
    pings(lab_of.left, family.right)
    pings(lab_of.right, family.left)
    pings(lab_of.left, family.left_router)
    pings(lab_of.left, family.right_router)  # the router's far address
    before = lab_of.router.balanced()["forwarded"]
    pings(lab_of.left, family.right, count=10)
    assert lab_of.router.balanced()["forwarded"] - before == 20


@pytest.mark.one_card
@both
def test_first_packet_is_not_lost(lab_of, family):
    """Packets wait in the router while it asks for the neighbour's address."""
    pings(lab_of.left, family.right, count=1)
    assert "drop_neigh_queue" not in lab_of.router.balanced().drops()


@pytest.mark.one_card
@both
def test_traceroute(lab_of, family):
    """By UDP, by ICMP echo, and by tracepath, which also measures the path MTU."""
    for host in (lab_of.left, lab_of.right):  # by default six answers at once, then none
        host.sysctl("net.ipv4.icmp_ratelimit", 0)
        host.sysctl("net.ipv6.icmp.ratelimit", 0)
    for method in ([], ["-I"]):
        for host, router, target in ((lab_of.left, family.left_router, family.right),
                                     (lab_of.right, family.right_router, family.left)):
            hops, said = host.traceroute(target, family.flag, *method)
            assert hops == [router, target], "%s%s" % (said, dict(lab_of.router.counters()))
    said = lab_of.left.run(["tracepath", family.flag, "-n", family.right]).stdout
    assert re.search(r"^ 1: +%s " % re.escape(family.left_router), said, re.MULTILINE), said
    assert re.search(r"^ 2: +%s .*reached" % re.escape(family.right), said, re.MULTILINE), said
    assert "pmtu 1500 hops 2" in said, said


@pytest.mark.one_card
@both
def test_ttl_is_counted_down(lab_of, family):
    assert "ttl=63 " in pings(lab_of.left, family.right, count=1)
    assert "ttl=64 " in pings(lab_of.left, family.left_router, count=1)


@pytest.mark.one_card
@both
def test_static_route(make_lab_of, family):
    lab = make_lab_of(extra=family.route)
    lab.right.add_loopback(family.inside)
    pings(lab.left, family.inside)


def explained(router, allowed):
    """The counters balance, and every drop has one of the allowed names."""
    counters = router.balanced()
    strange = {name: value for name, value in counters.drops().items() if name not in allowed}
    assert not strange, strange
    return counters


LOST = {"drop_tx_full", "drop_no_buffer"}
UNASKED = {"drop_ip6_multicast"}  # the hosts' MLD reports, sent to multicast routers


@both
@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_iperf_tcp(make_lab_of, family, cpus):
    """The transfer completes without a stall, and every packet is accounted for."""
    lab = make_lab_of(cpus=cpus)
    report = demo.iperf(lab.left, lab.right, family.right, 3, ["-P", "2", family.flag])
    assert not demo.stalls(report), report["intervals"]
    assert report["end"]["sum_received"]["bytes"] > 1 << 20
    counters = explained(lab.router, LOST | UNASKED)
    assert counters["forwarded"] * 1500 > report["end"]["sum_received"]["bytes"]


def test_every_data_core_forwards(lab):
    """Many flows use all data cores, and no packet of a flow is lost."""
    pings(lab.left, RIGHT_HOST)  # packets that wait for a neighbour may be lost
    with Flows(lab.left, lab.right, RIGHT_HOST, 64) as flows:
        flows.run(1)
        assert flows.settle() == []
        assert min(flow.sent for flow in flows.list) > 0
    cores = lab.router.cores()
    shares = [core["rx_pkts"] for core in cores[1:] or cores]  # with one CPU, core 0 has both roles
    if lab.router.nic == "vmxnet3":  # QEMU's card receives in one queue
        shares = shares[:1]
    assert min(shares) > 0, shares


@pytest.mark.each_ring
@both
def test_iperf_tcp_both_ways(lab_of, family):
    report = demo.iperf(lab_of.left, lab_of.right, family.right, 3, ["--bidir", family.flag])
    for key in ("sum_received", "sum_received_bidir_reverse"):
        assert report["end"][key]["bytes"] > 1 << 20, key
    explained(lab_of.router, LOST | UNASKED)


@pytest.mark.each_ring
@both
def test_iperf_udp(lab_of, family):
    """Nearly all packets that reach the router are forwarded, undamaged. On a busy machine the
    hosts also lose some, before a tap or in front of iperf3: the test ignores these."""
    lab = lab_of
    report = demo.iperf(lab.left, lab.right, family.right, 2,
                        ["-u", "-b", "20M", "-l", "1200", family.flag])
    counters = explained(lab.router, LOST | UNASKED)
    lost = sum(counters.drops().values())
    assert counters["forwarded"] > 1000 and lost < counters["forwarded"] / 20, counters
    assert report["end"]["sum"]["lost_percent"] < 100, report["end"]["sum"]
    udp = udp_of(lab.right, family)
    assert udp["InErrors"] == udp["RcvbufErrors"], udp


def udp_of(host, family):
    """Linux's own counters."""
    if family is V6:
        text = host.run(["cat", "/proc/net/snmp6"]).stdout
        return {name: int(n) for name, n in re.findall(r"^Udp6(\w+)\s+(\d+)$", text, re.MULTILINE)}
    names, values = re.findall(r"^Udp: (.*)$", host.run(["cat", "/proc/net/snmp"]).stdout,
                               re.MULTILINE)
    return dict(zip(names.split(), map(int, values.split())))


def udp_across(sender, receiver, address, size, count=5, family=V4):
    """Datagrams of `size` bytes arrive whole. Each is sent after the last has arrived."""
    payload = bytes(index * 7 & 0xFF for index in range(size))
    with receiver.socket(family.af) as server, sender.socket(family.af) as client:
        server.bind((address, 4000))
        server.settimeout(5)
        # Allows fragments on the path (IPv6: by the sender); otherwise Linux follows the path MTU.
        client.setsockopt(*family.may_fragment)
        for _ in range(count):
            client.sendto(payload, (address, 4000))
            assert server.recv(65536) == payload


@pytest.mark.each_ring
@both
def test_sender_fragments(lab_of, family):
    """Fragments made by the sender pass like any packet, in both directions."""
    for size in (1473, 4000, 20000, 65507):
        udp_across(lab_of.left, lab_of.right, family.right, size, family=family)
        udp_across(lab_of.right, lab_of.left, family.left, size, family=family)


@pytest.mark.each_ring
@pytest.mark.parametrize("mtu", [576, 1400])
def test_router_fragments(make_lab, mtu):
    """eth1 has a smaller MTU than eth0: the router fragments packets, and fragments of packets."""
    lab = make_lab(router_config(eth1_mtu=mtu), right_mtu=mtu)
    for size in (1472, 1473, 4000):
        udp_across(lab.left, lab.right, RIGHT_HOST, size, count=2)
        udp_across(lab.right, lab.left, LEFT_HOST, size, count=2)
    counters = lab.router.balanced()
    assert counters["fragmented"] > 0 and counters["fragments_created"] >= 2 * counters["fragmented"]
    # A fragment too large for the next link would have been lost, not counted: Linux received every
    # datagram whole.


@both
@pytest.mark.parametrize("cpus", [1, 2])
def test_jumbo_frames(make_lab_of, family, cpus):
    """With MTU 9000 on both sides large frames pass whole; larger packets are cut at 9000."""
    lab = make_lab_of(" mtu 9000", " mtu 9000", cpus=cpus, left_mtu=9000, right_mtu=9000)
    size = str(9000 - 8 - family.header)
    pings(lab.left, family.right, "-M", "do", "-s", size)
    pings(lab.left, family.left_router, "-M", "do", "-s", size)
    udp_across(lab.left, lab.right, family.right, int(size), count=2, family=family)
    udp_across(lab.right, lab.left, family.left, 20000, count=2, family=family)
    assert lab.router.balanced()["fragmented"] == 0


@pytest.mark.each_ring
def test_jumbo_to_standard(make_lab):
    """A 9000-byte packet for a 1500-byte link is fragmented, the first while ARP is unresolved."""
    config = router_config().replace("192.0.2.1/24", "192.0.2.1/24\n mtu 9000")
    lab = make_lab(config, left_mtu=9000)
    udp_across(lab.left, lab.right, RIGHT_HOST, 8972, count=2)
    assert lab.router.balanced()["fragmented"] == 2


@pytest.mark.one_card
@both
def test_tcp_finds_the_path_mtu(make_lab_of, family):
    """Linux learns the smaller MTU from the router's ICMP and continues (IPv4: TCP has DF set)."""
    lab = make_lab_of(eth1=" mtu %d" % family.mtu, right_mtu=family.mtu)
    # The right host's MSS would tell the left one: make it claim more than its link supports.
    lab.right.ip(family.flag, "route", "replace", "default", "via", family.right_router,
                 "advmss", str(1480 - family.header))
    report = demo.iperf(lab.left, lab.right, family.right, 2, [family.flag])
    assert report["end"]["sum_received"]["bytes"] > 100000
    counters = lab.router.balanced()
    dropped, told, _ = family.errors["size"]
    assert counters[told] > 0 and counters[dropped] > 0


@both
def test_no_device_register_is_read_while_forwarding(lab_of, family):
    """Invariant 4: the data path reads no device register and writes at most one per burst."""
    pings(lab_of.left, family.right)
    before = lab_of.router.interfaces()
    demo.iperf(lab_of.left, lab_of.right, family.right, 2, [family.flag])
    after = lab_of.router.interfaces()
    for name in ("eth0", "eth1"):
        assert after[name]["mmio_reads"] == before[name]["mmio_reads"], name
        packets = after[name]["tx_pkts"] - before[name]["tx_pkts"]
        assert after[name]["mmio_writes"] - before[name]["mmio_writes"] <= packets + 64


@pytest.mark.nics(["virtio"])
@pytest.mark.parametrize("cpus", [1, 3])
def test_device_that_keeps_the_order(make_hosts, make_router, nic, cpus):
    """Traffic is unchanged with VIRTIO_F_IN_ORDER, which the driver accepts when it is offered."""
    left, right = make_hosts(options.data_cores(cpus))
    router = make_router(router_config(), cpus=cpus,
                         ports=[host.port + ",in_order=on" for host in (left, right)])
    pings(left, RIGHT_HOST)
    report = demo.iperf(left, right, RIGHT_HOST, 3, ["--bidir", "-P", "2"])
    assert not demo.stalls(report), report["intervals"]
    for key in ("sum_received", "sum_received_bidir_reverse"):
        assert report["end"][key]["bytes"] > 1 << 20, key
    explained(router, LOST)
