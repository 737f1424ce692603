"""QEMU's side of vfio-user in Python: a guest with a memfd as its memory.

Guest behaves like QEMU's client as far as the server can tell; the raw calls (send, request) are
for tests that break the protocol. TestDevice drives model=test (tools/nicsim/testdev.c) as a driver
would.
"""
import array
import json
import mmap
import os
import select
import socket
import struct
import time

VERSION, DMA_MAP, DMA_UNMAP, GET_INFO, REGION_INFO, IO_FDS, IRQ_INFO, SET_IRQS, READ, WRITE = range(1, 11)
RESET = 13
REPLY, NO_REPLY, ERROR = 1, 0x10, 0x20
CONFIG = 7
MSIX = 2
MEMORY = 8 << 20
TIMEOUT_S = 10


class Refused(Exception):
    """An error reply; errno is its number."""

    def __init__(self, number):
        super().__init__(os.strerror(number))
        self.errno = number


def wait_for(condition, seconds=TIMEOUT_S, what="condition"):
    """Waits until condition() is true; returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("not within %g s: %s" % (seconds, what))
        time.sleep(0.002)


class Guest:
    def __init__(self, path, greet=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.connect(path)
        self.ident = 0
        self.memory_fd = os.memfd_create("guest")
        os.ftruncate(self.memory_fd, MEMORY)
        self.memory = mmap.mmap(self.memory_fd, MEMORY)
        self.eventfds = []
        if greet:
            self.greet()

    def close(self):
        self.socket.close()
        for fd in self.eventfds:
            os.close(fd)
        self.eventfds = []
        if self.memory_fd >= 0:
            os.close(self.memory_fd)
            self.memory_fd = -1

    # --- messages ---

    def send(self, command, body=b"", fds=(), flags=0, size=None, ident=None):
        self.ident = (self.ident + 1) & 0xFFFF
        head = struct.pack("<HHIII", self.ident if ident is None else ident, command,
                           16 + len(body) if size is None else size, flags, 0)
        socket.send_fds(self.socket, [head + body], list(fds))

    def receive_exactly(self, count, fds):
        data = b""
        while len(data) < count:
            piece, ancillary, _, _ = self.socket.recvmsg(count - len(data), socket.CMSG_SPACE(32))
            if not piece:
                raise ConnectionError("the server hung up")
            for _, _, raw in ancillary:
                got = array.array("i")
                got.frombytes(raw[:len(raw) // 4 * 4])
                fds.extend(got)
            data += piece
        return data

    def receive(self):
        """(id, command, flags, error, body, fds) of the next reply."""
        fds = []
        ident, command, size, flags, error = struct.unpack("<HHIII", self.receive_exactly(16, fds))
        body = self.receive_exactly(size - 16, fds) if size > 16 else b""
        return ident, command, flags, error, body, fds

    def request(self, command, body=b"", fds=()):
        """Sends, and returns (body, fds) of the reply; raises Refused."""
        self.send(command, body, fds)
        ident, echoed, flags, error, body, got = self.receive()
        assert (ident, echoed, flags & 0xF) == (self.ident, command, REPLY)
        if flags & ERROR:
            assert error != 0
            raise Refused(error)
        return body, got

    def is_cut(self):
        """True when the server closes the connection; data that it still sends is skipped."""
        try:
            while self.socket.recv(65536):
                pass
            return True
        except ConnectionError:
            return True
        except socket.timeout:
            return False

    # --- client requests ---

    def greet(self):
        text = json.dumps({"capabilities": {"max_msg_fds": 8, "max_data_xfer_size": 1048576}})
        body, _ = self.request(VERSION, struct.pack("<HH", 0, 0) + text.encode() + b"\0")
        assert struct.unpack_from("<HH", body) == (0, 0)
        return json.loads(body[4:].rstrip(b"\0"))

    def map(self, address=0, size=MEMORY, fd=None, offset=0, flags=3):
        fd = self.memory_fd if fd is None else fd
        self.request(DMA_MAP, struct.pack("<IIQQQ", 32, flags, offset, address, size),
                     [fd] if fd >= 0 else [])

    def unmap(self, address=0, size=MEMORY, flags=0):
        self.request(DMA_UNMAP, struct.pack("<IIQQ", 24, flags, address, size))

    def read(self, region, offset, count=4):
        body, _ = self.request(READ, struct.pack("<QII", offset, region, count))
        assert struct.unpack_from("<QII", body) == (offset, region, count)
        assert len(body) == 16 + count
        return int.from_bytes(body[16:], "little")

    def write(self, region, offset, value, count=4, posted=False):
        body = struct.pack("<QII", offset, region, count) + value.to_bytes(count, "little")
        if posted:
            self.send(WRITE, body, flags=NO_REPLY)
        else:
            self.request(WRITE, body)

    def region_info(self, index, argsz=32):
        body, fds = self.request(REGION_INFO, struct.pack("<IIIIQQ", argsz, 0, index, 0, 0, 0))
        return struct.unpack_from("<IIIIQQ", body), body[32:], fds

    def irq_info(self, index):
        body, _ = self.request(IRQ_INFO, struct.pack("<IIII", 16, 0, index, 0))
        return struct.unpack("<IIII", body)

    def set_irqs(self, flags, index, start, count, fds=()):
        self.request(SET_IRQS, struct.pack("<IIIII", 20, flags, index, start, count), fds)

    def vector(self, number):
        """Gives the device an eventfd for that vector; returns it."""
        fd = os.eventfd(0, os.EFD_NONBLOCK)
        self.eventfds.append(fd)
        self.set_irqs(0x24, MSIX, number, 1, [fd])
        return fd

    def bus_master(self, on=True):
        self.write(CONFIG, 4, 6 if on else 0, 2)


def fired(fd, seconds=TIMEOUT_S):
    """Waits for an eventfd; returns its count, 0 on timeout."""
    if not select.select([fd], [], [], seconds)[0]:
        return 0
    return int.from_bytes(os.read(fd, 8), "little")


class TestDevice:
    """A driver for model=test: rings of `size` descriptors at 1 MiB and 2 MiB, then the buffers.

    master=False: bus mastering is not enabled yet. A wire that starts on its own starts when it is.
    """

    __test__ = False  # not a test class, despite its name
    ID, CTRL, STATUS, SCRATCH, RECEIVED = 0, 4, 8, 12, 0x30
    RX, TX = 0x10, 0x20
    TAIL = {RX: 0x1000, TX: 0x1004}
    RING = {RX: 1 << 20, TX: 2 << 20}
    BUFFER = {RX: 3 << 20, TX: 5 << 20}

    def __init__(self, guest, size=64, master=True):
        self.guest = guest
        self.size = size
        self.tail = {self.RX: 0, self.TX: 0}
        self.head = 0  # of received frames
        guest.map()
        if master:
            guest.bus_master()
        for ring in (self.RX, self.TX):
            guest.write(0, ring, self.RING[ring])
            guest.write(0, ring + 4, 0)
            guest.write(0, ring + 8, size)
        guest.write(0, self.CTRL, 1)

    def descriptor(self, ring, index):
        return self.RING[ring] + index % self.size * 16

    def is_done(self, ring, index):
        return self.guest.memory[self.descriptor(ring, index) + 12] & 1

    def buffer(self, ring, index):
        return self.BUFFER[ring] + index % self.size * 16384

    def ring(self, ring):
        """Tells the device the tail."""
        self.guest.write(0, self.TAIL[ring], self.tail[ring] & 0xFFFFFFFF)

    def refill(self, count=None):
        for _ in range(self.size if count is None else count):
            index = self.tail[self.RX]
            struct.pack_into("<QII", self.guest.memory, self.descriptor(self.RX, index),
                             self.buffer(self.RX, index), 0, 0)
            self.tail[self.RX] += 1
        self.ring(self.RX)

    def send(self, *frames):
        for frame in frames:
            index = self.tail[self.TX]
            if index >= self.size:  # full until the device has completed that one
                wait_for(lambda: self.is_done(self.TX, index), what="room to send")
            at = self.buffer(self.TX, index)
            self.guest.memory[at:at + len(frame)] = frame
            struct.pack_into("<QII", self.guest.memory, self.descriptor(self.TX, index), at,
                             len(frame), 0)
            self.tail[self.TX] += 1
        self.ring(self.TX)

    def receive(self, seconds=TIMEOUT_S):
        """The next frame, or None on timeout. The caller returns its buffer (refill)."""
        at = self.descriptor(self.RX, self.head)
        deadline = time.monotonic() + seconds
        while not self.is_done(self.RX, self.head):
            if time.monotonic() > deadline:
                return None
            time.sleep(0.0005)
        count, = struct.unpack_from("<I", self.guest.memory, at + 8)
        struct.pack_into("<I", self.guest.memory, at + 12, 0)
        start = self.buffer(self.RX, self.head)
        self.head += 1
        return bytes(self.guest.memory[start:start + count])
