"""Buckets of a card's indirection table move between data cores (runtime/move.h): no packet is lost, and none of a flow
overtakes another one."""
import ipaddress
import re
import struct

import pytest
from conftest import LEFT_HOST, RIGHT_HOST, eventually, pings, received, router_config
from flows import FIRST_PORT, Flows

COUNT = 24
# of Microsoft's RSS documents, as drivers/nic.h
KEY = int.from_bytes(bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa"))
BUCKETS = 128
RATE = 10000  # frames a second of the fast flow
MOVES = 20
WINDOW = 24  # of each flow: many are in the rings of the core that gives the bucket up
RSS = ("--qemu-arg=-global", "--qemu-arg=virtio-net-pci.rss=on")


def toeplitz(data):
    value = 0
    for at, byte in enumerate(data):
        for bit in range(8):
            if byte & 0x80 >> bit:
                value ^= KEY >> 320 - 32 - (8 * at + bit) & 0xffffffff
    return value


def bucket(source, target, source_port, port):
    return toeplitz(ipaddress.ip_address(source).packed + ipaddress.ip_address(target).packed +
                    struct.pack("!HH", source_port, port)) % BUCKETS


def bucket_of(flow):
    """The bucket of a UDP flow from the left to the right host, between equal ports."""
    return bucket(LEFT_HOST, RIGHT_HOST, flow.to[1], flow.to[1])


def move(router, number, core):
    """Moves a bucket of eth0. False: it is there already."""
    before = router.counters()["buckets_moved"]
    said = router.command("test move eth0 bucket %d core %d" % (number, core))
    if "that core has it" in said:
        return False
    assert "begun" in said, said
    eventually(lambda: router.counters()["buckets_moved"] == before + 1, 20, "the bucket has moved")
    return True


def test_hash_of_the_documents():
    """The verification suite of Microsoft's documents, IPv4 with ports."""
    assert toeplitz(bytes([66, 9, 149, 187, 161, 142, 100, 80]) + struct.pack("!HH", 2794, 1766)) == 0x51ccc178
    assert FIRST_PORT < 65536 - COUNT


@pytest.mark.parametrize("nic", ["virtio", "ixgbe", "igb", "igc", "mlx5"])
def test_moves_keep_order(make_lab, nic):
    lab = make_lab(None, "--append", "test=1", *(RSS if nic == "virtio" else ()), cpus=4)
    router = lab.router
    pings(lab.left, RIGHT_HOST)
    with Flows(lab.left, lab.right, RIGHT_HOST, COUNT) as flows:
        flows.run(0.3)
        assert flows.settle() == []
        buckets = sorted({bucket_of(flow) for flow in flows.list} - {0})
        assert len(buckets) > COUNT // 2
        for flow in flows.list:
            flow.window = WINDOW
        moves = 0
        for core in (3, 1):
            with flows.sending():
                moves += sum(move(router, number, core) for number in buckets)
            assert flows.settle() == []
            assert not any(flow.lost for flow in flows.list)
            assert not flows.overtaken()
            before = received(router)
            sent = sum(flow.sent for flow in flows.list if bucket_of(flow))
            flows.run(0.3)
            assert flows.settle() == []
            grown = [b - a for a, b in zip(before, received(router))]
            sent = sum(flow.sent for flow in flows.list if bucket_of(flow)) - sent
            assert grown[core] >= sent, (core, sent, grown)
        counters = router.counters()
        print("%d moves; %d packets held meanwhile" % (moves, counters["move_held"]))
        assert counters["buckets_moved"] == moves >= len(buckets)
        assert counters["moved_early"] == 0
        assert not counters.drops()


@pytest.mark.parametrize("nic", ["ixgbe", "mlx5"])
def test_one_fast_flow(make_router, nic):
    """The generator's stream, whose frames always wait in the old core's rings, moves from core to core. The generator
    judges the order of every frame."""
    router = make_router(router_config(), "--append", "test=1", cpus=4,
                         ports=("wire:gen:rate=%d;start=manual" % RATE, "wire:sink"))
    number = bucket("192.0.2.2", "198.51.100.2", 1024, 9)
    assert number
    router.model("port 0 gen start")
    eventually(lambda: router.counters()["forwarded"] >= RATE // 10, 60, "frames")
    before = router.model("stats")["streams"][0]["reordered"]  # while the neighbour was being resolved
    for i in range(MOVES):
        move(router, number, (1, 2, 3)[i % 3])
    router.model("port 0 gen stop")
    router.balanced()
    stream = router.model("stats")["streams"][0]
    counters = router.counters()
    print("%d frames, %d held" % (stream["received"], counters["move_held"]))
    assert stream["received"] > RATE // 10 and counters["move_held"] > 0
    assert stream["reordered"] == before, stream
    assert counters["moved_early"] == 0 and counters["buckets_moved"] >= MOVES - 1


@pytest.mark.each_ring
@pytest.mark.parametrize("nic", ["virtio", "ixgbe", "igb", "igc", "mlx5"])
def test_load_is_balanced(make_lab, nic):
    """All flows of the load begin on core 1: some move, by themselves, and each stays in order."""
    lab = make_lab(None, "--append", "test=1 balance-above=2", *(RSS if nic == "virtio" else ()), cpus=4)
    router = lab.router
    pings(lab.left, RIGHT_HOST)
    assert re.search(r"^eth0: core 1 43 core 2 43 core 3 42$", router.command("show load-balance"), re.M)
    with Flows(lab.left, lab.right, RIGHT_HOST, 4 * COUNT) as flows:
        mine = [flow for flow in flows.list if bucket_of(flow) % 3 == 0]
        assert len({bucket_of(flow) for flow in mine}) > 10
        for flow in set(flows.list) - set(mine):
            flow.most = 0  # it sends nothing
        first = received(router)

        def run_until_moved():
            flows.run(1.0)
            return router.counters()["buckets_moved"] >= 4
        eventually(run_until_moved, 60, "buckets have moved")
        flows.run(0.5)
        assert flows.settle() == []
        assert first[2:] != received(router)[2:]
        assert not flows.overtaken()

    def ended():
        """The last round has ended: the cores have what the counter says."""
        before = router.counters()["buckets_moved"]
        cores = router.cores()
        whole = cores[2]["taken"] + cores[3]["taken"] + cores[1]["taken"] == before
        return cores if whole and router.counters()["buckets_moved"] == before else None
    cores = eventually(ended, 20, "the end of a round")
    counters = router.counters()
    print("%d buckets moved; %d packets held meanwhile" % (counters["buckets_moved"], counters["move_held"]))
    assert cores[1]["given"] >= 4
    assert sum(core["given"] for core in cores) == sum(core["taken"] for core in cores)
    assert sum(core["buckets"] for core in cores) == 2 * BUCKETS
    assert counters["moved_early"] == 0
    assert not counters.drops()


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_load_is_left(make_lab, nic):
    """`load-balance off`: nothing moves, though the same load would be moved."""
    lab = make_lab(router_config(extra="load-balance off\n"), "--append", "test=1 balance-above=2", cpus=4)
    router = lab.router
    pings(lab.left, RIGHT_HOST)
    assert "load-balance off" in router.command("show load-balance")
    with Flows(lab.left, lab.right, RIGHT_HOST, 4 * COUNT) as flows:
        for flow in flows.list:
            flow.most = flow.most if bucket_of(flow) % 3 == 0 else 0
        flows.run(6.0)
        assert router.counters()["buckets_moved"] == 0
        router.command("configure")
        router.command("load-balance on")
        assert "restart" not in router.command("commit")
        router.command("end")

        def run_until_moved():
            flows.run(1.0)
            return router.counters()["buckets_moved"] > 0
        eventually(run_until_moved, 60, "buckets have moved")
        assert flows.settle() == []


def test_card_without_a_table(make_lab):
    """virtio without RSS: the console says so."""
    router = make_lab(None, "--append", "test=1", cpus=4).router
    shown = router.command("show load-balance")
    assert "load-balance on" in shown
    assert "eth0: its card has no table to be set" in shown
    assert "its card has no table to be set" in router.command("test move eth0 bucket 1 core 2")
