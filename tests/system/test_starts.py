"""Unusual starts: machines that have less than usual, or more, report that by name, and forward.
Other starts: test_boot.py (CPUs, memory, loaders), test_memory.py."""
import os
import re
import socket
import struct
import subprocess
import time

import pytest
from conftest import ACCEL, RIGHT_HOST, ROOT, pings, router_config

FAR, FAR_ROUTER = "203.0.113.2", "203.0.113.1"
FAR_MAC = bytes.fromhex("020000000203")


def test_numbers_of_cores(make_router):
    """Core N is CPU N at each start, so a user who assigns CPUs to a machine knows the role of
    each."""
    router = make_router(None, cpus=8)
    symbols = subprocess.run(["nm", os.path.join(ROOT, "build", "program.elf")], check=True,
                             capture_output=True, text=True).stdout
    address = int(re.search(r"^([0-9a-f]+) \w self$", symbols, re.MULTILINE)[1], 16)
    for _ in range(3):
        said = [router.qmp("human-monitor-command", **{  # core_self.id, by a pointer
            "command-line": "x /1dw %#x" % (address + 8), "cpu-index": cpu}) for cpu in range(8)]
        assert [int(text.split()[-1]) for text in said] == list(range(8)), said
        router.skip()
        router.send("reload")
        router.wait_up()


def test_many_cores(make_router):
    """More cores than a word has bits; those without a queue pair stand by."""
    router = make_router(None, "--memory", "3G", "--idle", "sleep", cpus=72, timeout_s=300, ports=())
    assert "hayate: 72 cores," in router.text
    assert len(router.cores()) == 72


@pytest.mark.parametrize("model,cpus,said", [
    (None, 8, "hayate: 8 cores,"),
    # the start chooses the lookups: AVX-512, AVX2, or neither
    ("max,-avx2", 2, "hayate: 2 cores,"),
    ("Nehalem", 2, "cpu Intel Core i7 9xx"),
], ids=["8-cpus", "no-avx2", "no-avx"])
def test_processors(make_lab, model, cpus, said):
    if model and ACCEL != "tcg":
        pytest.skip("KVM gives the guest the host's CPU")
    lab = make_lab(None, *(["--qemu-arg=-cpu", "--qemu-arg=" + model] if model else []), cpus=cpus)
    assert said in lab.router.text + lab.router.command("show version")
    assert len(lab.router.cores()) == cpus
    pings(lab.left, RIGHT_HOST)


@pytest.mark.parametrize("nic", ["ixgbe"])  # its QEMU can offer an x2APIC
@pytest.mark.parametrize("model,said", [("max", "x2APIC"), ("max,-x2apic", "xAPIC")])
def test_interrupt_controllers(make_lab, model, said):
    if ACCEL != "tcg":
        pytest.skip("KVM gives the guest the host's CPU")
    lab = make_lab(None, "--qemu-arg=-cpu", "--qemu-arg=" + model)
    assert re.search(r"^hayate: 2 cores, .*, %s, " % said, lab.router.text, re.MULTILINE)
    pings(lab.left, RIGHT_HOST)


def test_fewer_queues_than_cores(make_router, make_hosts):
    """A port with one queue pair serves one data core: without receive steering (test_steering.py) the others
    stand by."""
    left, right = make_hosts(1)
    router = make_router(router_config(extra="receive-steering off\n"), "--queues", "1", ports=(left.port, right.port), cpus=4)
    assert "ready: 2 ports, 1 data core," in router.text
    roles = re.findall(r"^\d+ +(\S+)", router.command("show cores"), re.MULTILINE)
    assert roles == ["control", "data", "stand-by", "stand-by"]
    pings(left, RIGHT_HOST)


def test_no_card(make_router):
    """The configured cards do not exist: nothing is applied, and the console works."""
    router = make_router(router_config(), ports=())
    assert 'test.conf:2: this machine has 0 ports, at "eth0"' in router.text
    assert "nothing of the configuration is applied" in router.text
    assert "ready: 0 ports," in router.text
    assert router.command("show interfaces") == ""


class Far:
    """A host at the other end of a card of QEMU's (-netdev stream): it answers ARP and echoes."""

    def __init__(self, path):
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(path)
        self.listening.listen(1)

    def attach(self):
        self.wire, _ = self.listening.accept()
        self.listening.close()

    def _answer(self, frame):
        back = frame[6:12] + FAR_MAC + frame[12:14]
        if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\1" and \
                frame[38:42] == socket.inet_aton(FAR):
            return back + frame[14:20] + b"\0\2" + FAR_MAC + frame[38:42] + frame[22:32]
        if frame[12:14] == b"\x08\0" and frame[23] == 1 and frame[34] == 8:
            total, = struct.unpack("!H", frame[36:38])
            total += 8 << 8  # the type field is now 0
            return back + frame[14:26] + frame[30:34] + frame[26:30] + b"\0\0" + \
                struct.pack("!H", (total & 0xffff) + (total >> 16)) + frame[38:]
        return None

    def serve(self, child):
        """Answers until the child process has ended; returns its exit code."""
        deadline = time.monotonic() + 20
        self.wire.settimeout(0.1)
        while child.poll() is None and time.monotonic() < deadline:
            try:
                head = self.wire.recv(4, socket.MSG_WAITALL)
            except TimeoutError:
                continue
            self.wire.settimeout(10)
            answer = self._answer(self.wire.recv(struct.unpack("!I", head)[0], socket.MSG_WAITALL))
            if answer:
                self.wire.sendall(struct.pack("!I", len(answer)) + answer)
            self.wire.settimeout(0.1)
        return child.poll()


@pytest.mark.parametrize("nic", ["ixgbe"])
def test_all_kinds_of_cards(make_router, make_hosts, tmp_path):
    """An 82599, a ConnectX and a virtio card in one machine forward to each other."""
    left, right = make_hosts()
    far = Far(str(tmp_path / "wire"))
    card = "virtio-net-pci,netdev=far,disable-legacy=on,addr=0x1e"
    router = make_router(router_config(extra="interface eth2\n ip address %s/24\n" % FAR_ROUTER),
                         "--nicsim-option", "1:model=mlx5", "--qemu-arg=-netdev",
                         "--qemu-arg=stream,id=far,addr.type=unix,addr.path=%s/wire" % tmp_path,
                         "--qemu-arg=-device", "--qemu-arg=" + card,
                         ports=(left.port, right.port), wait_for=["eth0", "eth1", "eth2"])
    far.attach()
    drivers = re.findall(r"^  device (\w+) at", router.command("show interfaces"), re.MULTILINE)
    assert drivers == ["ixgbe", "mlx5", "virtio_net"]
    pings(left, RIGHT_HOST)
    for host in (left, right):
        assert far.serve(host.popen(["ping", "-n", "-c", "2", "-W", "5", FAR])) == 0
