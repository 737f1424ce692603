"""The routing engine's routes change while the router forwards: of a million prefixes that a feeder has
stated by FPM, as zebra does, 50,000 get another next hop each second.

Measured as the console's churn is (churn.py), with and without changes in turns, in one boot: over
vhost-user, with packets to all prefixes, of which none may be lost; and between null ports, whose packets
go by 16,384 more routes of the engine that do not change.
"""
import contextlib
import os
import re
import sys

from churn import Source, null, null_routes, virtio
from engine import Feeder, prefixes, settled
from load import ROOT, BenchError, build_tools, hugepages
from launcher import netlab
from table import HOPS, Full, hop

sys.path.append(os.path.join(ROOT, "tests"))
from fpm_frames import frame, route  # noqa: E402

RATE = 50000
SECONDS = 2  # of changes, in a turn
ROUTER, ENGINE = "172.31.0.1", "172.31.0.2"


def write(path, routes):
    with open(path, "wb") as file:
        for prefix, to in routes:
            file.write(frame(route(prefix, to)))
    return path


class Engine(Source):
    name, rates, most = "engine.churn", (RATE,), ()

    def __init__(self, table, work, host):
        super().__init__(table)
        self.memory = "4G"
        self.host = host
        lines = list(table.lines())
        self.number = len(lines)
        numbers = [(prefix, int(number)) for prefix, number in lines]
        self.all = write(os.path.join(work, "all"), ((prefix, hop(number)) for prefix, number in numbers))
        chosen = numbers[::max(1, len(numbers) // RATE)][:RATE]
        # each second all of them change, and after SECONDS they are as at first
        self.changes = [write(os.path.join(work, "change%d" % n), (
            (prefix, hop(1 + (number - 1 + (n + 1) % SECONDS) % HOPS)) for prefix, number in chosen))
            for n in range(SECONDS)]
        self.nulls = os.path.join(work, "nulls")
        self.feeder = None

    def ports(self):
        return [self.host.port]

    def configuration(self, text, port):
        return text + "interface eth%d\n ip address %s/24\nrouting engine %s\n" % (port, ROUTER, ENGINE)

    def routes(self, number):
        return ""

    @contextlib.contextmanager
    def connected(self, router, nulls):
        self.host.wait_for_link()
        with contextlib.ExitStack() as stack:
            self.feeder = Feeder(stack, self.host, ROUTER)
            self.feeder.send(self.all)
            if nulls:
                self.feeder.send(write(self.nulls, null_routes(nulls)))
            settled(router, self.number + nulls)
            self.stated = prefixes(router)
            yield

    @contextlib.contextmanager
    def changing(self, router, rate):
        got = {}
        before = messages(router)
        if rate:
            for path in self.changes:
                self.feeder.begin(path, rate)
        yield got
        if rate:
            seconds = sum(float(self.feeder.answer()) for _ in self.changes)
            if prefixes(router) != self.stated:
                raise BenchError("not the prefixes of before:\n" + router.command("show routing engine"))
            changes = messages(router) - before
            got.update(changes=changes, per_second=changes / seconds, refused=refused(router))


def messages(router):
    return int(re.search(r"^message +route +(\d+)", router.command("show routing engine"), re.M)[1])


def refused(router):
    return sum(map(int, re.findall(r"^refused +\S+ +(\d+)", router.command("show routing engine"), re.M)))


def engine_churn(results, work, accel, runs):
    build_tools()
    with hugepages() as huge, netlab.Host("engine") as host:
        host.configure(ENGINE + "/24", ROUTER)
        source = Engine(Full(work), work, host)
        virtio(results, work, accel, huge, runs, source)
        null(results, work, accel, runs, source)
