"""An XDP program is replaced while numbered packets pass, on every card: none is lost, repeated or overtaken,
and each one is judged by exactly one version, once. tests/bpf/programs/mark.c writes its version into the
packets, from its code and from its data; the test makes versions of one object, as files."""
import contextlib
import itertools
import select
import socket
import struct
import threading
import time

import pytest
from conftest import RIGHT_HOST, RIGHT_ROUTER, WEB, eventually, pings, router_config
from test_xdp import curl, path_of, put

PORT = 20000
VERSION = struct.pack("<I", 0x76657273)
WINDOW = 64  # packets in flight: fewer than any queue on the way holds
SO_NO_CHECK = 11  # of Linux: the program changes the data
API = "http://%s/api/v1/" % RIGHT_ROUTER
VERSIONS = 20


class Stream:
    """Numbered packets from left to right, in a thread, WINDOW of them in flight."""

    def __init__(self, lab):
        self.out, self.into = lab.left.socket(), lab.right.socket()
        self.out.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
        self.into.bind((RIGHT_HOST, PORT))
        self.sent = 0
        self.arrived = []  # (number, version in the data, version in the code, how often judged)
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.work)

    def work(self):
        while not self.ends.is_set():
            while self.sent - len(self.arrived) < WINDOW:
                self.out.sendto(struct.pack("<IIII", self.sent, 0, 0, 0), (RIGHT_HOST, PORT))
                self.sent += 1
            self.receive(0.1)

    def receive(self, wait_s):
        if select.select([self.into], [], [], wait_s)[0]:
            self.arrived.append(struct.unpack("<IIII", self.into.recv(100)))

    def version(self):
        return self.arrived[-1][1] if self.arrived else 0

    @contextlib.contextmanager
    def runs(self):
        self.thread.start()
        try:
            yield self
        finally:
            self.ends.set()
            self.thread.join()
            end = time.monotonic() + 10
            while len(self.arrived) < self.sent and time.monotonic() < end:
                self.receive(0.1)
            self.out.close()
            self.into.close()

    def judge(self, versions, since):
        """All arrived in order; the versions follow one another as given; each was in force when it was said
        to be: since has {index in versions: the number of the next packet}."""
        assert [packet[0] for packet in self.arrived] == list(range(self.sent)), "lost, repeated or overtaken"
        odd = [packet for packet in self.arrived if packet[1] != packet[2] or packet[3] != 1]
        assert not odd, "not judged once, by one version: %s" % odd[:5]
        runs = [(version, [packet[0] for packet in group])
                for version, group in itertools.groupby(self.arrived, key=lambda packet: packet[1])]
        assert [version for version, _ in runs] == versions
        for index, number in since.items():
            assert runs[index][1][0] <= number, "packet %d met version %d too late" % (number, versions[index])


def file_of(folder, version):
    with open(path_of("mark"), "rb") as file:
        data = file.read()
    assert data.count(VERSION) == 2
    path = folder / ("%d.o" % version)
    path.write_bytes(data.replace(VERSION, struct.pack("<I", version)))
    return str(path)


def boot(make_lab, folder):
    """A router with version 1 on eth0."""
    text = router_config(extra=WEB).replace("interface eth0\n", "interface eth0\n xdp mark\n")
    lab = make_lab(text, "--program", "mark=" + file_of(folder, 1), cpus=2)
    pings(lab.left, RIGHT_HOST)
    return lab


def meets(stream, version):
    """Waits until packets have been judged by that version, and then some more."""
    eventually(lambda: stream.version() == version, 60, "packets meet version %d" % version)
    number = stream.sent + 2 * WINDOW
    eventually(lambda: stream.sent > number, 60, "packets pass")


@pytest.mark.each_ring
def test_put(make_lab, tmp_path):
    """By PUT; the answer comes when the new version is in force."""
    lab = boot(make_lab, tmp_path)
    stream, since = Stream(lab), {}
    with stream.runs():
        meets(stream, 1)
        for version in range(2, VERSIONS + 1):
            status, said = put(lab.right, "mark", file_of(tmp_path, version), API)
            since[version - 1] = stream.sent + 1  # the thread may be between the packet and its count
            assert (status, said["version"]) == (200, version), said
            meets(stream, version)
    stream.judge(list(range(1, VERSIONS + 1)), since)
    lab.router.balanced()


@pytest.mark.each_ring
def test_commit(make_lab, tmp_path):
    """A commit puts one object in the place of another, ten times; at the end none."""
    lab = boot(make_lab, tmp_path)
    assert put(lab.right, "other", file_of(tmp_path, 2), API)[0] == 201
    names = {1: "mark", 2: "other"}
    stream, since, versions = Stream(lab), {}, [1]
    lab.router.command("configure")
    lab.router.command("interface eth0")
    with stream.runs():
        meets(stream, 1)
        for _ in range(10):
            before, now = versions[-1], 3 - versions[-1]
            lab.router.command("no xdp " + names[before])
            lab.router.command("xdp " + names[now])
            assert "committed" in lab.router.command("commit")
            since[len(versions)] = stream.sent + 1
            versions.append(now)
            meets(stream, now)
    stream.judge(versions, since)
    lab.router.command("end")
    assert {o["name"] for o in curl(lab.right, API + "programs")[1]["objects"]} == set(names.values())
    lab.router.balanced()
