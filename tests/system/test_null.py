"""Ports without a device (`null=N`): an endless stream of packets through the whole router."""
import pytest
from conftest import eventually, router_config

NEXT_HOP = "198.51.100.2"
ROUTES = "arp %s 02:00:00:00:00:02\nip route 198.19.0.0/16 %s\n" % (NEXT_HOP, NEXT_HOP)


def another_turn(router):
    """Waits until every data core has finished the packets that it holds now."""
    def received():
        return [core["rx_pkts"] for core in router.cores() if "data" in core["role"]]
    before = received()
    eventually(lambda: all(now > then + 256 for now, then in zip(received(), before)), 20, "a turn")


@pytest.mark.parametrize("cpus", [1, 2, 3])
def test_forwarding_without_device(make_router, cpus):
    """Everything is forwarded to the one port of the route, and the console works. Packets are
    dropped only before their port is up, as with any device."""
    router = make_router(router_config() + ROUTES, "--append", "null=2", ports=(), cpus=cpus)
    eventually(lambda: router.counters()["forwarded"], 20, "forwarding")
    another_turn(router)
    was, first = router.interfaces(), router.counters()
    eventually(lambda: router.counters()["forwarded"] > first["forwarded"] + 100000, 20, "more")
    drops = {name: value - first[name] for name, value in router.counters().items()
             if name.startswith("drop_")}
    assert not any(drops.values()), drops
    blocks = router.interfaces()
    assert list(blocks) == ["eth0", "eth1"]
    assert blocks["eth0"]["tx_pkts"] == was["eth0"]["tx_pkts"]
    assert blocks["eth1"]["tx_pkts"] >= was["eth1"]["tx_pkts"] + 100000
    assert blocks["eth0"]["rx_bytes"] == 60 * blocks["eth0"]["rx_pkts"]
    assert "device null, mac 02:6e:75:6c:6c:01" in router.command("show interfaces")
    assert all(block["mmio_writes"] == 0 for block in blocks.values())


def test_beside_a_device(make_router):
    """Null ports come after those with a device, sixteen in all."""
    router = make_router(None, "--append", "null=99", ports=("none",))
    text = router.command("show interfaces")
    assert text.count("device virtio") == 1 and text.count("device null") == 15
    assert text.index("device virtio") < text.index("device null")


ECHO = """\
interface eth0
 ip address 198.18.0.1/24
service echo udp
arp 198.18.0.2 02:00:00:00:00:02
ip route 198.19.0.0/16 198.18.0.2
"""


@pytest.mark.parametrize("app, option, most", [("echo", "null-clients=1", 8), ("echo", "null-clients=1 burst=100", 100),
                                               ("router", "null=2", 2 * 256), ("router", "null=2 burst=7", 2 * 7)])
def test_packets_of_a_turn(make_router, app, option, most):
    """An application that answers takes short vectors (struct app, vector_max), one that forwards long ones; `burst`
    comes before both. The streams are endless, so a turn takes a whole vector of each port."""
    config, count = (ECHO, "udp_tx") if app == "echo" else (router_config() + ROUTES, "forwarded")
    router = make_router(config, "--append", option, app=app, ports=(), cpus=2)
    eventually(lambda: router.counters()[count] > 100000, 20, "packets")
    core = next(core for core in router.cores() if "data" in core["role"])
    assert most * 0.95 <= core["pkts_turn"] <= most
