"""Routes from FRRouting's zebra (Debian 12: 8.4): from a client's first message to zebra until the last
route is in Hayate's forwarding table, and back; then the same with a zebra that has no FPM, into the
forwarding table of Linux alone.

The client does what sharpd's `sharp install routes` does: one ROUTE_ADD a route, of consecutive host
routes to one next hop, through zebra's own socket. (Debian's package has no sharpd.) A zebra with FPM
installs each route in its kernel as well, so it does all the work of the other one, and FPM's beside it.
"""
import contextlib
import os
import socket
import statistics
import struct
import threading
import time

from load import progress
from parties import (FAMILY, HOP, Cpu, Lab, Probe, daemons, nowhere, until, waits)

ROUTES = {4: 1000000, 6: 200000}
FIRST = {4: "10.0.0.0", 6: "2001:db8:8000::"}
SETTLED_S = 1.0  # after which zebra's threads have ended what they do with the last routes

# --- zebra's client ---

HELLO, ROUTE_ADD, ROUTE_DELETE = 18, 8, 9  # FRRouting 8.4, lib/zclient.h, zebra_message_types_t
SHARP = 23                                 # and lib/route_types.txt
ALLOW_RECURSION, MESSAGE_NEXTHOP, UNICAST = 1, 1, 1
HOP_KIND = {4: 2, 6: 4}  # enum nexthop_types_t: IPV4, IPV6


def zapi(command, body):
    """A message of version 6: length, marker, version, VRF, command (zclient_create_header)."""
    return struct.pack("!HBBIH", 10 + len(body), 254, 6, 0, command) + body


def messages(command, family, first, count):
    """One message for each of `count` consecutive host routes (zapi_route_encode)."""
    octets = 4 if family == 4 else 16
    fixed = struct.pack("!BHIIBBB", SHARP, 0, ALLOW_RECURSION, MESSAGE_NEXTHOP, UNICAST,
                        FAMILY[family], 8 * octets)
    hop = struct.pack("!HIBB", 1, 0, HOP_KIND[family], 0) + \
        socket.inet_pton(FAMILY[family], HOP[family]) + bytes(4)
    head, start = zapi(command, fixed + bytes(octets) + hop)[:10] + fixed, number_of(family, first)
    return b"".join(head + (start + n).to_bytes(octets, "big") + hop for n in range(count))


def number_of(family, address):
    return int.from_bytes(socket.inet_pton(FAMILY[family], address), "big")


def last(family, count):
    octets = 4 if family == 4 else 16
    return socket.inet_ntop(FAMILY[family], (number_of(family, FIRST[family]) + count - 1)
                            .to_bytes(octets, "big"))


class Client:
    """A client of zebra. A context manager; what zebra says is read and dropped."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(path))
        self.sock.sendall(zapi(HELLO, struct.pack("!BHIBB", SHARP, 0, 0, 0, 0)))
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        with contextlib.suppress(OSError):
            while self.sock.recv(65536):
                pass

    def start(self, data):
        """Sends that in a thread, whose `taken_s` says at its end how long zebra took to read it."""
        def work():
            began = time.monotonic()
            self.sock.sendall(data)
            thread.taken_s = time.monotonic() - began
        thread = threading.Thread(target=work)
        thread.start()
        return thread

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.reader.join()
        self.sock.close()
        return False


# --- measurements ---

def to_hayate(lab, client, family, number, data, gone):
    """One way: seconds, CPU times, waits."""
    before = lab.waited()
    cpu = Cpu({"zebra": lab.engine.running["zebra"].pid, "QEMU": lab.pid}, lab.control)
    began = time.monotonic()
    sending = client.start(data)
    got = {}
    with Probe(lab, family, last(family, number)) as probe:
        if not gone:
            until(probe.arrives, 0.02, "the last route forwards")
            got["forwards"] = time.monotonic() - began
        until(lambda: lab.stated() == (0 if gone else number), 0.1, "all routes")
    got["all"] = time.monotonic() - began
    sending.join()
    got["read"] = sending.taken_s
    got["cpu"] = cpu.since()
    got["waited"] = {name: ms - before[name] for name, ms in lab.waited().items()}
    time.sleep(SETTLED_S)
    lab.check_refused()
    return got


def has_route(host, family, address):
    return host.run(["ip", "-%d" % family, "route", "get", "fibmatch", address]).returncode == 0


def to_linux(host, client, family, number, data, gone):
    cpu = Cpu({"zebra": host.running["zebra"].pid})
    began = time.monotonic()
    sending = client.start(data)
    until(lambda: has_route(host, family, last(family, number)) != gone, 0.1, "all routes in Linux")
    got = {"all": time.monotonic() - began, "cpu": cpu.since()}
    sending.join()
    got["read"] = sending.taken_s
    time.sleep(SETTLED_S)
    return got


WAYS = {"installed": (ROUTE_ADD, False), "withdrawn": (ROUTE_DELETE, True)}


def turns(results, work, accel, rounds):
    """{(family, way): [(Hayate's, Linux')]}; both are up all the time, and take turns."""
    measured = {(family, way): [] for family in ROUTES for way in WAYS}
    with contextlib.ExitStack() as stack:
        lab = Lab(stack, work, accel)
        frr = daemons()
        linux = stack.enter_context(frr.FrrHost("linux", frr.installed()))
        nowhere(linux)
        linux.start("zebra", "", "-s", "90000000")
        lab.engine.start_zebra()
        until(lab.connected, 0.2, "zebra's connection")
        until((linux.work / "zserv.api").exists, 0.2, "zebra")
        ours = stack.enter_context(Client(lab.engine.work / "zserv.api"))
        theirs = stack.enter_context(Client(linux.work / "zserv.api"))
        for _ in range(rounds):
            for family, number in ROUTES.items():
                for way, (command, gone) in WAYS.items():
                    data = messages(command, family, FIRST[family], number)
                    pair = (to_hayate(lab, ours, family, number, data, gone),
                            to_linux(linux, theirs, family, number, data, gone))
                    measured[family, way].append(pair)
                    progress("zebra, IPv%d, %s: %.1f s, without FPM %.1f s; load %.1f" % (
                        family, way, pair[0]["all"], pair[1]["all"], os.getloadavg()[0]))
        said = waits(lab.engine)
        results.note("zebra towards Hayate, at the end of all: " + ", ".join(
            "%s %d" % (name, said[name]) for name in said
            if "peak" in name or "full" in name or "longest" in name))
    return measured


def explain(got):
    """Who worked and who waited, of a way to Hayate."""
    zebra = got["cpu"]["zebra"]
    most = max(zebra, key=zebra.get)
    waited = got["waited"]
    return ("in %.1f s zebra used %.1f s of CPU, its thread `%s` %.1f s, `dplane_fpm_nl` %.1f s; QEMU %.1f s, of "
            "these the control core %.1f s; all programs of the machine %.1f s; of %.1f s with data to send, TCP "
            "waited %.2f s for Hayate's window" % (
                got["all"], sum(zebra.values()), most, zebra[most], zebra["dplane_fpm_nl"],
                sum(got["cpu"]["QEMU"].values()), got["cpu"]["control core"]["all"],
                got["cpu"]["machine"]["all"], waited["busy"] / 1e3, waited["rwnd_limited"] / 1e3))


def zebra(results, work, accel, rounds):
    for (family, way), pairs in turns(results, work, accel, rounds).items():
        ours, theirs = zip(*pairs)
        name, number = "engine.zebra.ip%d.%s" % (family, way), ROUTES[family]
        results.add(name, [number / got["all"] for got in ours], "routes/s", "higher", accel,
                    "the same zebra without FPM, into Linux", [number / got["all"] for got in theirs])
        results.add(name + ".ratio", [b["all"] / a["all"] for a, b in pairs], "of those without", "higher",
                    accel)
        results.add(name + ".window_limited", [got["waited"]["rwnd_limited"] / 10 / got["all"] for got in ours],
                    "% of time", "lower", accel)
        got = sorted(ours, key=lambda one: one["all"])[len(ours) // 2]
        results.note("%s: %s; without FPM zebra used %.1f s" % (
            name, explain(got), statistics.median(sum(one["cpu"]["zebra"].values()) for one in theirs)))
