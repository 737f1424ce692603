"""DPDK's own net_ixgbe on two ports of the model: testpmd forwards between two hosts.

It has a separate guest, because it needs huge pages and DPDK's libraries. uio_pci_generic gives it
the cards: Debian's kernel lacks VFIO's no-IOMMU mode, and the guest has no IOMMU.
"""
import json
import re
import subprocess

import initramfs
import pytest
from conftest import CARDS, Lab
from wire import IP, UDP, Wire, ethernet, ipv4, mac, udp

LEFT, RIGHT = "198.18.0.2", "198.18.0.3"
HUGE_PAGES = 256  # of 2 MiB


@pytest.fixture(scope="module")
def lab(request):
    made = Lab(CARDS["82599"], request.module.__name__, hosts=2,
               recipes=(initramfs.BASE, initramfs.DPDK), memory_mib=1536)
    try:
        for host, address in zip(made.hosts, (LEFT, RIGHT)):
            host.ip("link", "set", "eth0", "up")
            host.ip("address", "replace", address + "/24", "dev", "eth0")
        hand_over(made)
        yield made
    finally:
        made.close()


def hand_over(lab):
    """Binds the cards to uio_pci_generic, then starts a testpmd that forwards in the background."""
    lab.guest.run("echo %d >/proc/sys/vm/nr_hugepages" % HUGE_PAGES)
    assert int(lab.guest.output("cat /proc/sys/vm/nr_hugepages")) == HUGE_PAGES
    lab.guest.run("modprobe uio_pci_generic")
    slots = lab.guest.output("lspci -D -d %s" % lab.card.ids)
    slots = re.findall(r"^\S+", slots, re.MULTILINE)
    assert len(slots) == 2
    for slot in slots:
        lab.guest.run("cd /sys/bus/pci && echo uio_pci_generic >devices/%s/driver_override && "
                      "echo %s >drivers_probe" % (slot, slot))
    allowed = " ".join("-a " + slot for slot in slots)
    lab.guest.run("dpdk-testpmd -l 0-1 --iova-mode=pa -m 256 %s -- --forward-mode=io --auto-start "
                  "--nb-cores=1 --total-num-mbufs=8192 --stats-period=1 --no-mlockall "
                  "--no-lsc-interrupt >/tmp/testpmd 2>&1 & echo $! >/tmp/pid" % allowed)
    # Also continues if testpmd ends: test_probe then shows its output.
    lab.guest.wait("grep -q 'Port statistics' /tmp/testpmd || ! kill -0 $(cat /tmp/pid)", 60)


def text(lab):
    return lab.guest.output("cat /tmp/testpmd")


def test_probe(lab):
    said = text(lab)
    assert said.count("Probe PCI driver: net_ixgbe (%s)" % lab.card.ids) == 2, said
    assert re.findall(r"Port \d: ([0-9A-F:]{17})", said) == [lab.mac(0).upper(), lab.mac(1).upper()]
    assert len(re.findall(r"Port \d Link up at 10 Gbps", said)) == 2, said
    # uio_pci_generic has no interrupt for this card; DPDK reports that but does not need one.
    assert not re.search(r"EAL: Error (?!reading from file)|failed|Cannot|PANIC", said), said


def test_ping(lab):
    for _ in range(5):
        answered, said = lab.hosts[0].ping(RIGHT, wait_s=5)
        assert answered, said + text(lab)


def test_frames_unchanged(lab):
    """Every frame that enters on one side leaves on the other, unchanged and in order."""
    with Wire(lab.hosts[0]) as left, Wire(lab.hosts[1]) as right:
        sent = [ethernet(mac("02:00:00:00:00:22"), mac("02:00:00:00:00:11"), IP,
                         ipv4(LEFT, RIGHT, UDP, udp(LEFT, RIGHT, 7, 9, bytes([index]) * size)))
                for index, size in enumerate(list(range(18, 1400, 37)))]
        for frame in sent:
            left.send(frame)
        came = []

        def is_last(packet):
            came.append(packet.frame)
            return packet.frame == sent[-1]
        assert right.expect(is_last, 20), "%d of %d frames" % (len(came), len(sent))
        assert [frame for frame in came if frame in sent] == sent


def test_tcp(lab):
    server = lab.hosts[1].popen(["iperf3", "-s", "-1"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lab.eventually(lambda: ":5201 " in lab.hosts[1].run(["ss", "-Hltn"]).stdout, "the server")
    result = lab.hosts[0].run(["iperf3", "-J", "-t", "3", "-c", RIGHT], 60)
    server.wait(20)
    report = json.loads(result.stdout)
    assert "error" not in report, report["error"]
    assert report["end"]["sum_received"]["bytes"] > 1 << 20


def test_end(lab):
    """testpmd releases the cards cleanly."""
    lab.guest.run("kill -INT $(cat /tmp/pid); while kill -0 $(cat /tmp/pid) 2>/dev/null; do "
                  "sleep 0.2; done", 60)
    said = text(lab)
    assert "Bye..." in said and not re.search(r"Segmentation|PANIC", said), said[-3000:]
    for port in lab.models.ports():
        assert port["dma_errors"] == 0, port
