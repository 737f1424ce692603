"""vfio-user as QEMU uses it, and violations of the protocol."""
import mmap
import os
import random
import socket
import struct

import pytest

import guest as g
from guest import Guest, Refused, TestDevice, fired, wait_for
from test_frames import FRAME


def refused(number, call, *arguments, **options):
    with pytest.raises(Refused) as info:
        call(*arguments, **options)
    assert info.value.errno == number


EINVAL, EEXIST, ENOENT, ENOTSUP, EPROTO = 22, 17, 2, 95, 71


# --- like QEMU ---

def test_handshake(nicsim):
    guest = nicsim("sink").guest(greet=False)
    assert guest.greet() == {"capabilities": {"max_msg_fds": 8, "max_data_xfer_size": 4096}}
    body, _ = guest.request(g.GET_INFO, struct.pack("<IIII", 16, 0, 0, 0))
    assert struct.unpack("<IIII", body) == (16, 3, 9, 5)
    refused(EINVAL, guest.greet)


def test_regions_strict(nicsim):
    guest = nicsim("sink").guest()
    sizes = [0x2000, 0, 0x1000, 0, 0, 0, 0, 4096, 0]
    for index, size in enumerate(sizes):
        info, rest, fds = guest.region_info(index)
        assert info == (32, 3 if size else 0, index, 0, size, 0) and rest == b"" and fds == []
    refused(EINVAL, guest.region_info, 9)
    refused(EINVAL, guest.region_info, 0, argsz=31)


def test_regions_line_rate(nicsim):
    guest = nicsim("sink,mode=line-rate").guest()
    info, rest, fds = guest.region_info(0)
    assert info == (64, 15, 0, 32, 0x2000, 0) and rest == b"" and fds == []
    info, rest, fds = guest.region_info(0, argsz=64)
    assert info == (64, 15, 0, 32, 0x2000, 0)
    assert struct.unpack("<HHIIIQQ", rest) == (1, 1, 0, 1, 0, 0x1000, 0x1000)
    bar = mmap.mmap(fds[0], 0x2000)
    with pytest.raises(OSError):
        os.ftruncate(fds[0], 0)  # would shrink the server's file
    guest.write(0, TestDevice.SCRATCH, 77)
    assert struct.unpack_from("<I", bar, TestDevice.SCRATCH)[0] == 77
    os.close(fds[0])
    assert guest.region_info(7)[0] == (32, 3, 7, 0, 4096, 0)


def test_irq_info(nicsim):
    guest = nicsim("sink").guest()
    for index in range(5):
        assert guest.irq_info(index) == ((16, 9, 2, 3) if index == 2 else (16, 0, index, 0))
    refused(EINVAL, guest.irq_info, 5)


def test_posted_write_has_no_reply(nicsim):
    guest = nicsim("sink").guest()
    guest.write(0, TestDevice.SCRATCH, 1, posted=True)
    guest.write(0, TestDevice.SCRATCH, 0x12345678, posted=True)
    assert guest.read(0, TestDevice.SCRATCH) == 0x12345678
    guest.send(g.WRITE, struct.pack("<QII", 1 << 40, 0, 4) + bytes(4), flags=g.NO_REPLY)
    assert guest.read(0, TestDevice.SCRATCH) == 0x12345678


def test_message_in_pieces(nicsim):
    guest = nicsim("sink").guest()
    body = struct.pack("<QII", TestDevice.ID, 0, 4)
    message = struct.pack("<HHIII", 9, g.READ, 32, 0, 0) + body
    guest.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    for byte in message + message:
        guest.socket.sendall(bytes([byte]))
    for _ in range(2):
        ident, command, flags, error, reply, _ = guest.receive()
        assert (ident, command, flags, error) == (9, g.READ, 1, 0)
        assert reply[16:] == b"MISN"


# --- configuration space ---

def config(guest, offset, count):
    return guest.read(g.CONFIG, offset, count)


def test_config_space(nicsim):
    guest = nicsim("sink").guest()
    assert config(guest, 0, 4) == 0x10F01AF4
    found, at = {}, config(guest, 0x34, 1)
    while at:
        found[config(guest, at, 1)] = at
        at = config(guest, at + 1, 1)
    assert found == {1: 0x40, 0x11: 0x70, 0x10: 0xA0}
    assert config(guest, 0x72, 2) == 2 and config(guest, 0x74, 4) == 2
    assert config(guest, 0x78, 4) == 0x802
    assert config(guest, 0xA0 + 18, 2) & 0x3FF == 0x082  # x8 at 5 GT/s
    assert len(guest.request(g.READ, struct.pack("<QII", 0, 7, 4096))[0]) == 16 + 4096
    refused(EINVAL, guest.read, 7, 4095, 2)
    guest.write(g.CONFIG, 0, 0xFFFFFFFF)
    assert config(guest, 0, 4) == 0x10F01AF4


def test_bar_sizing(nicsim):
    guest = nicsim("sink").guest()
    for offset, size in ((0x10, 0x2000), (0x18, 0x1000)):
        assert config(guest, offset, 4) == 4
        guest.write(g.CONFIG, offset, 0xFFFFFFFF)
        guest.write(g.CONFIG, offset + 4, 0xFFFFFFFF)
        assert config(guest, offset, 8) == (1 << 64) - size + 4
    guest.write(g.CONFIG, 0x20, 0xFFFFFFFF)
    assert config(guest, 0x20, 4) == 0


def test_resets(nicsim):
    guest = nicsim("sink").guest()

    def dirty():
        guest.bus_master()
        guest.write(0, TestDevice.SCRATCH, 5)

    def is_clean():
        return (guest.read(0, TestDevice.SCRATCH), config(guest, 4, 2)) == (0, 0)

    dirty()
    guest.request(g.RESET)
    assert is_clean()
    dirty()
    guest.write(g.CONFIG, 0xA8, 0x8000, 2)  # function-level reset
    assert is_clean()
    dirty()
    guest.write(g.CONFIG, 0x44, 3, 2)  # D3hot, and back
    assert not is_clean()
    guest.write(g.CONFIG, 0x44, 0, 2)
    assert is_clean()


def test_msix_table_can_be_read_back(nicsim):
    guest = nicsim("sink").guest()
    assert guest.read(2, 12) == 1
    guest.write(2, 16, 0xFEE00000)
    assert guest.read(2, 16) == 0xFEE00000
    guest.write(2, 0x800, 0xFF)
    assert guest.read(2, 0x800) == 0


# --- interrupts ---

def test_vectors(nicsim):
    guest = nicsim("sink").guest()
    device = TestDevice(guest)
    guest.set_irqs(0x24, g.MSIX, 0, 1)  # no eventfd: QEMU enables MSI-X like this
    sent = guest.vector(1)
    device.send(FRAME)
    assert fired(sent) == 1
    guest.set_irqs(0x21, g.MSIX, 1, 1)  # fired by the client
    assert fired(sent) == 1
    guest.set_irqs(0x24, g.MSIX, 1, 1)
    device.send(FRAME)
    assert fired(sent, 0.1) == 0
    sent = guest.vector(1)
    guest.set_irqs(0x21, g.MSIX, 0, 0)
    device.send(FRAME)
    assert fired(sent, 0.1) == 0
    guest.set_irqs(0x21, 0, 0, 0)  # INTx


def test_vectors_refused(nicsim):
    guest = nicsim("sink").guest()
    fd = os.eventfd(0)
    for flags, index, start, count, fds in (
            (0x24, 2, 3, 1, [fd]), (0x24, 2, 0, 4, [fd] * 4), (0x24, 2, 0xFFFFFFFF, 2, [fd]),
            (0x24, 2, 0, 2, [fd]), (0x24, 2, 0, 1, [fd, fd]), (0x24, 0, 0, 1, [fd]),
            (0x24, 5, 0, 0, []), (0x22, 2, 0, 1, []), (0x0C, 2, 0, 1, [fd]), (0x21, 2, 0, 1, [fd]),
            (0x124, 2, 0, 1, [fd])):
        refused(EINVAL, guest.set_irqs, flags, index, start, count, fds)
    os.close(fd)
    assert guest.read(0, TestDevice.ID) == 0x4E53494D


def test_firing_never_blocks(nicsim):
    n = nicsim("sink")
    device = n.device(0)
    r, w = os.pipe()
    device.guest.set_irqs(0x24, g.MSIX, 1, 1, [w])
    for _ in range(300):
        device.guest.set_irqs(0x21, g.MSIX, 1, 1)
    full = os.eventfd(0xFFFFFFFE)
    os.write(full, struct.pack("<Q", 0xFFFFFFFFFFFFFFFE - 0xFFFFFFFE))
    device.guest.set_irqs(0x24, g.MSIX, 1, 1, [full])
    device.send(FRAME)
    assert device.guest.read(0, TestDevice.ID) == 0x4E53494D
    for fd in (r, w, full):
        os.close(fd)


# --- memory ---

def test_memory_comes_and_goes(nicsim):
    n = nicsim("sink")
    device = n.device(0)
    guest = device.guest
    device.send(FRAME)
    wait_for(lambda: n.port()["tx_frames"] == 1)
    guest.unmap()
    device.send(FRAME)
    wait_for(lambda: n.port()["dma_errors"] > 0)
    assert n.port()["tx_frames"] == 1
    guest.map(4 << 20, 4 << 20, offset=4 << 20)
    guest.map(1 << 32, 4096, fd=-1)  # without memory
    guest.map(0, 4 << 20)  # the ring last: its buffers are mapped by then
    device.send(FRAME)
    wait_for(lambda: n.port()["tx_frames"] == 3)
    guest.unmap(0, 0, flags=2)
    guest.map()
    status, stats = n.stop()
    assert status == 3 and "not the guest's memory" in stats["ports"][0]["last_violation"]


def test_memory_in_pieces(nicsim):
    """As behind an IOMMU: a frame may span two adjacent pieces, regardless of the order in which
    they were mapped and of their places in the file, but not if the second is missing."""
    n = nicsim("sink")
    device = n.device(0)
    guest = device.guest
    border = 6 << 20
    device.BUFFER = {device.TX: border - len(FRAME) // 2}
    guest.unmap()
    for start, end in ((border, 8 << 20), (0, 4 << 20), (4 << 20, border)):
        guest.map(start, end - start, offset=start)
    device.send(FRAME)
    wait_for(lambda: n.port()["tx_frames"] == 1)
    guest.unmap(border, 2 << 20)
    guest.map(border, 4096, offset=7 << 20)  # from another place in the file
    device.BUFFER = {device.TX: border - len(FRAME) // 2 - 16384}
    device.send(FRAME)
    wait_for(lambda: n.port()["tx_frames"] == 2)
    assert n.port()["dma_errors"] == 0
    guest.unmap(border, 4096)
    device.BUFFER = {device.TX: border - len(FRAME) // 2 - 2 * 16384}
    device.send(FRAME)
    wait_for(lambda: n.port()["dma_errors"] > 0)
    assert n.port()["tx_frames"] == 2
    assert n.stop()[0] == 3


def test_no_dma_without_bus_master(nicsim):
    n = nicsim("sink")
    device = n.device(0)
    device.guest.bus_master(False)
    device.send(FRAME)
    wait_for(lambda: n.port()["violations"])
    assert n.port()["tx_frames"] == 0
    assert n.stop()[0] == 3


def test_read_only_memory(nicsim):
    """A device cannot write memory that the guest has mapped read-only: no crash, no frame."""
    n = nicsim("sink")
    device = n.device(0)
    device.guest.unmap()
    device.guest.map(flags=1)
    device.send(FRAME)
    wait_for(lambda: n.port()["dma_errors"] > 0)
    assert n.port()["tx_frames"] == 0 and not device.is_done(device.TX, 0)
    assert n.stop()[0] == 3


def test_bad_maps(nicsim, tmp_path):
    guest = nicsim("sink").guest()
    guest.map()
    for address, size in ((0, 4096), (g.MEMORY - 4096, 8192), (0, g.MEMORY)):
        refused(EEXIST, guest.map, address, size)
    at = 1 << 32
    refused(EINVAL, guest.map, at, 0)
    refused(EINVAL, guest.map, at, g.MEMORY + 1)  # beyond the end of the file
    refused(EINVAL, guest.map, at, 4096, offset=g.MEMORY)
    refused(EINVAL, guest.map, at, 1 << 63)
    refused(EINVAL, guest.map, (1 << 64) - 4096, 8192)
    refused(EINVAL, guest.map, at, 4096, offset=(1 << 64) - 4096)
    refused(EINVAL, guest.map, at, 4096, flags=0x100)
    r, w = os.pipe()
    refused(EINVAL, guest.map, at, 4096, fd=r)
    os.close(r)
    os.close(w)
    (tmp_path / "ro").write_bytes(bytes(8192))
    ro = os.open(tmp_path / "ro", os.O_RDONLY)
    refused(13, guest.map, at, 4096, fd=ro)
    guest.map(at, 4096, fd=ro, flags=1)
    os.close(ro)
    refused(ENOENT, guest.unmap, 2 << 32, 4096)
    refused(EINVAL, guest.unmap, 0, 4096)  # would split the region
    refused(EINVAL, guest.unmap, 0, g.MEMORY, flags=1)
    refused(EINVAL, guest.unmap, 0, g.MEMORY, flags=2)
    guest.unmap(0, 2 << 32)  # both


def test_many_maps(nicsim):
    guest = nicsim("sink").guest()
    for i in range(512):
        guest.map(i << 20, 4096, offset=i << 12)
    refused(28, guest.map, 512 << 20, 4096)
    guest.unmap(0, 0, flags=2)
    guest.map()


# --- protocol violations ---

def test_bad_accesses(nicsim):
    guest = nicsim("sink").guest()
    for region, offset, count in ((0, 0x2000, 4), (0, 0x1FFE, 4), (0, (1 << 64) - 4, 4), (1, 0, 4),
                                  (0, 0, 3), (0, 0, 16), (0, 0, 0), (8, 0, 4), (9, 0, 4),
                                  (0xFFFFFFFF, 0, 4), (7, 0, 4097), (2, 0x1000, 1)):
        body = struct.pack("<QII", offset, region, count)
        refused(EINVAL, guest.request, g.READ, body)
        refused(EINVAL, guest.request, g.WRITE, body + bytes(count if count < 5000 else 0))
    for data in (b"", bytes(3), bytes(5)):
        refused(EINVAL, guest.request, g.WRITE, struct.pack("<QII", 12, 0, 4) + data)
    for offset, count in ((1, 1), (3, 2), (2, 8), (0x1FFF, 1)):
        guest.read(0, offset, count)


def test_unknown_commands(nicsim):
    guest = nicsim("sink").guest()
    for command in (0, g.IO_FDS, 11, 12, 14, 15, 16, 17, 18, 19, 255, 65535):
        refused(ENOTSUP, guest.request, command, bytes(64))


def test_short_bodies_and_unwanted_fds(nicsim):
    guest = nicsim("sink").guest()
    fd = os.eventfd(0)
    for command in range(1, 11):
        if command == g.IO_FDS:
            continue
        refused(EINVAL, guest.request, command, bytes(3))
    for command in (g.GET_INFO, g.REGION_INFO, g.READ, g.RESET, g.DMA_UNMAP):
        refused(EINVAL, guest.request, command, bytes(64), [fd])
    refused(EINVAL, guest.request, g.DMA_MAP, bytes(32), [fd, fd])
    os.close(fd)


def test_nothing_before_version(nicsim):
    guest = nicsim("sink").guest(greet=False)
    refused(EPROTO, guest.read, 0, 0)
    refused(EINVAL, guest.request, g.VERSION, struct.pack("<HH", 1, 0))
    guest.greet()


@pytest.mark.parametrize("size", [0, 1, 15, 16 + 8193, 0x7FFFFFFF, 0xFFFFFFFF])
def test_impossible_length(nicsim, size):
    n = nicsim("sink")
    guest = n.guest()
    guest.send(g.READ, bytes(16), size=size)
    assert guest.is_cut()
    n.guest().read(0, 0)
    assert "impossible length" in n.stderr()


def test_replies_are_no_commands(nicsim):
    n = nicsim("sink")
    for kind in (1, 2, 15):
        guest = n.guest()
        guest.send(g.GET_INFO, bytes(16), flags=kind)
        assert guest.is_cut()
        guest.close()


def test_too_many_fds(nicsim):
    n = nicsim("sink")
    fd = os.eventfd(0)
    for count in (9, 17, 200):
        guest = n.guest()
        guest.send(g.SET_IRQS, struct.pack("<IIIII", 20, 0x24, 2, 0, 1), [fd] * count)
        assert guest.is_cut()
        guest.close()
    os.close(fd)
    pid = n.process.pid
    n.guest().read(0, 0)
    assert len(os.listdir("/proc/%d/fd" % pid)) < 24  # no descriptor leaked


def test_replies_not_taken(nicsim):
    n = nicsim("sink")
    guest = n.guest()
    guest.socket.settimeout(1)
    body = struct.pack("<QII", 0, 7, 4096)
    try:
        for _ in range(4000):
            guest.send(g.READ, body)
    except (ConnectionError, socket.timeout):
        pass
    guest.socket.settimeout(g.TIMEOUT_S)
    assert guest.is_cut()
    guest.close()
    n.guest().read(0, 0)


def test_gone_and_back(nicsim):
    n = nicsim("sink")
    for cut in (0, 3, 16, 20):
        device = n.device(0)
        device.guest.vector(1)
        device.guest.write(0, device.SCRATCH, 9)
        device.guest.socket.sendall(struct.pack("<HHIII", 1, g.READ, 32, 0, 0)[:cut] + bytes(max(0, cut - 16)))
        device.guest.close()
        again = n.guest()
        assert again.read(0, TestDevice.SCRATCH) == 0 and config(again, 4, 2) == 0
        again.close()
    wait_for(lambda: len(os.listdir("/proc/%d/fd" % n.process.pid)) < 16)


def test_second_guest_waits(nicsim):
    n = nicsim("sink")
    first = n.guest()
    second = Guest(n.socket(0), greet=False)
    n.guests.append(second)
    first.close()
    second.greet()
    assert second.read(0, 0) == 0x4E53494D


def test_noise(nicsim):
    """Random messages, half of them almost valid. SEED=n selects another sequence."""
    seed = int(os.environ.get("SEED", "1"))
    print("seed %d" % seed)  # shown when it fails
    rng = random.Random(seed)
    n = nicsim("gen;rate=10k", "sink,mode=line-rate")
    numbers = [0, 1, 2, 3, 4, 7, 8, 16, 0x24, 0x21, 0x1000, 4096, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF]
    fd = os.eventfd(0, os.EFD_NONBLOCK)
    for round_ in range(60):
        guest = n.guest(round_ % 2)
        guest.socket.settimeout(0.02)
        try:
            guest.map()
            guest.bus_master()
            for _ in range(60):
                words = [rng.choice(numbers) for _ in range(rng.randrange(0, 12))]
                if rng.random() < 0.5:  # an access with the right length
                    words = [rng.randrange(0, 0x2000, 4), 0, rng.choice((0, 2, 7)), 4,
                             rng.choice(numbers) | rng.getrandbits(8)]
                guest.send(rng.choice((2, 3, 4, 5, 7, 8, 9, 10, 10, 10, 13, rng.randrange(20))),
                           struct.pack("<%dI" % len(words), *words),
                           [rng.choice((fd, guest.memory_fd))] * rng.choice((0, 0, 0, 1, 2)),
                           flags=rng.choice((0, 0, 0, 0x10)))
                guest.receive()
        except (OSError, struct.error):
            pass
        guest.close()
    os.close(fd)
    assert n.guest(0).read(0, TestDevice.ID) == 0x4E53494D
    assert n.stop()[0] in (0, 3)
