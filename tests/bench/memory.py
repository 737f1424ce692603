"""The memory of an idle TCP connection: in the library, and in Linux. (In the image, the guest's
memory divided by the connections it holds: services.idle_connections.)

State is the memory of the connection itself, the whole includes all memory reserved for it.
"""
import contextlib
import os
import re
import resource
import subprocess
import time

from load import TOOLS, BenchError
from services import ECHO, IDLE, build, mkdir, on_linux

SPARE_FILES = 100
FIGURES = ("bytes_per_connection", "state_bytes_per_connection")


def idle_memory(results, work, huge):
    missing = build(["stack_bench", "tcp_load", "epoll_echo"])
    if missing:
        raise BenchError("; ".join(missing))
    library(results)
    in_linux(results, mkdir(work, "memory"), huge)


def library(results):
    """A million connections in one process, by stack_bench: state is the tables, the whole includes
    the packet buffers."""
    made = subprocess.run([os.path.join(TOOLS, "stack_bench"), "-r", "1", "idle.%d" % IDLE],
                          capture_output=True, text=True, timeout=120, check=False)
    if made.returncode != 0:
        raise BenchError("stack_bench: " + made.stderr.strip()[-200:])
    for line in made.stdout.splitlines():
        name, figure, value = (line.split() + [""] * 3)[:3]
        if name == "idle.%d" % IDLE and figure in FIGURES:
            results.add("tcp.library.idle." + figure, [float(value)], "bytes", "lower", "host")


def in_linux(results, work, huge):
    """As many connections to epoll_echo as its limit of open files allows. State is the growth of
    the kernel's slabs (sockets, files, epoll), the whole includes the process. The slabs are shared
    by the machine, so they include what other programs allocate meanwhile."""
    def now():
        slab = kib("/proc/meminfo", "Slab")
        return (len(os.listdir("/proc/%d/fd" % server)), slab,
                slab + kib("/proc/%d/status" % server, "VmRSS"))

    with contextlib.ExitStack() as stack:
        load = on_linux(stack, work, huge, ["tcp"])
        server, = load.partners
        files = resource.prlimit(server, resource.RLIMIT_NOFILE)[0]
        before = now()
        load.open("rr", min(IDLE, files - SPARE_FILES), 64, ECHO, 1)
        time.sleep(1)  # memory used only for opening is released
        there, state, whole = (after - first for after, first in zip(now(), before))
    results.add("peer.epoll.tcp.idle.connections", [there], "connections", "higher", "host")
    for figure, grown in zip(FIGURES, (whole, state)):
        results.add("peer.epoll.tcp.idle." + figure, [grown * 1024 / there], "bytes", "lower",
                    "host")


def kib(path, name):
    with open(path, encoding="ascii") as file:
        return int(re.search(r"^%s:\s+(\d+) kB$" % name, file.read(), re.MULTILINE).group(1))
