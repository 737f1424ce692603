"""The peers: DPDK in the guest's place over virtio-user, each with its own vhost generator."""
import contextlib
import itertools
import os
import pty
import re
import select
import shutil
import subprocess
import time

from load import (CPU_DATA, CPU_GENERATOR, TOOLS, BenchError, eal, own_group)
from launcher import ports, process

L3FWD_SOURCE = "/usr/share/dpdk/examples/l3fwd"
VIRTIO_USER_MODE = ",mrg_rxbuf=0,in_order=0,vectorized=1"  # the fastest mode of testpmd and l3fwd
NEXT_HOP_MAC = "52:54:00:00:00:0b"
READY_S = 120
SAID_MOST = 4096  # l3fwd prints every route
# rte_lpm scans all rules of a length to add one: a million would take many minutes
LPM_ROUTES = 1 << 17


def virtio_user(generator):
    words = []
    for index, path in enumerate(generator.sockets):
        words += ["--vdev", "net_virtio_user%d,path=%s,queues=1,queue_size=1024,mac=%s%s"
                  % (index, path, ports.mac_of(ports.MAC_BASE, index), VIRTIO_USER_MODE)]
    return words


@contextlib.contextmanager
def dpdk_under_load(words, ready, generator):
    """Runs a DPDK program in the guest's place; it prints `ready` (bytes) once it forwards. Yields
    its terminal."""
    # On a terminal, else it would not say why it ended; testpmd without -i ends with its terminal.
    terminal, theirs = pty.openpty()
    child = process.popen(words, stdin=theirs, stdout=theirs, stderr=theirs,
                          start_new_session=True)
    os.close(theirs)
    own_group(child.pid)
    said = b""

    try:
        deadline = time.monotonic() + READY_S
        while ready not in said:
            left = deadline - time.monotonic()
            try:
                if left > 0 and select.select([terminal], [], [], left)[0]:
                    said = said[-SAID_MOST:] + os.read(terminal, 65536)
                    continue
            except OSError:
                pass  # it has ended
            raise BenchError("%s does not forward: %s"
                             % (words[0], said.decode(errors="replace").strip()[-300:]))
        generator.wait_link()
        generator.partners = [
            int(thread) for thread in os.listdir("/proc/%d/task" % child.pid)
            if os.sched_getaffinity(int(thread)) == {CPU_DATA}]
        yield terminal
    finally:
        process.stop(child, 5)
        os.close(terminal)


def peer_testpmd(work, huge, generator, table, mode="mac"):
    words = ["dpdk-testpmd"] + eal("hayate-peer-%d" % os.getpid(), [CPU_GENERATOR, CPU_DATA], huge,
                                   256)
    words += virtio_user(generator)
    words += ["--", "--nb-cores=1", "--forward-mode=" + mode, "--eth-peer=1," + NEXT_HOP_MAC,
              "--txd=1024", "--rxd=1024"]
    return dpdk_under_load(words, b"Press enter to exit", generator)


def l3fwd(work, huge, generator, table, prefixes, lookup, mib, more=()):
    tables = []
    given = {4: ["192.88.99.0/24"], 6: ["2001:0200:0000:0001:0000:0000:0000:0000/64"]}
    given[table.family] = prefixes
    for name, lines in (("%d" % family, ("R%s 1\n" % prefix for prefix in given[family]))
                        for family in given):
        tables.append(os.path.join(work, "l3fwd" + name))
        with open(tables[-1], "w", encoding="ascii") as file:
            file.writelines(lines)
    words = [os.path.join(TOOLS, "l3fwd")]
    # One lcore: it needs a transmit queue for each.
    words += eal("hayate-peer-%d" % os.getpid(), [CPU_DATA], huge, mib)
    words += [*more, *virtio_user(generator)]
    words += ["--", "-p", "0x3", "--config=(0,0,%d),(1,0,%d)" % (CPU_DATA, CPU_DATA),
              "--lookup=" + lookup, "--parse-ptype", "--no-numa", "--eth-dest=1," + NEXT_HOP_MAC,
              "--rule_ipv4=" + tables[0], "--rule_ipv6=" + tables[1]]
    return dpdk_under_load(words, b"entering main loop on lcore %d" % CPU_DATA, generator)


def peer_l3fwd(work, huge, generator, table):
    """With a large table: as many of its routes as rte_lpm adds in reasonable time, and two that
    cover all other addresses. A look-up still costs the same one or two loads."""
    prefixes = table.prefixes()
    if table.family == 4 and table.routes > LPM_ROUTES:
        prefixes = itertools.chain(["0.0.0.0/1", "128.0.0.0/1"],
                                   itertools.islice(prefixes, LPM_ROUTES))
    return l3fwd(work, huge, generator, table, prefixes, "lpm", 256)


def peer_l3fwd_fib(work, huge, generator, table):
    """With all routes. rte_fib has AVX-512 look-ups, which the vector width enables."""
    return l3fwd(work, huge, generator, table, table.prefixes(), "fib", 768,
                 ["--force-max-simd-bitwidth=512"])


PEERS = {
    "l3fwd": (peer_l3fwd, "l3fwd, LPM, the same routes, virtio-user, same generator"),
    "testpmd": (peer_testpmd, "testpmd, mode mac (no look-up), virtio-user, same generator"),
}
FIB_PEER = (peer_l3fwd_fib, "l3fwd, FIB, the same routes, virtio-user, same generator")
FULL_PEERS = {
    4: {"l3fwd-fib": FIB_PEER,
        "l3fwd": (peer_l3fwd, "l3fwd, LPM, %d of the routes, virtio-user, same generator"
                  % LPM_ROUTES)},
    6: {"l3fwd-fib": FIB_PEER},
}


def build_l3fwd():
    """Builds it from Debian's sources, copied to build/, with two changes: capacity for the routes
    (it has 1024, and 65,536 in FIB mode), and no checksum offload requested (virtio-user has none,
    and l3fwd would not start). Returns why not, or None."""
    binary, copy = os.path.join(TOOLS, "l3fwd"), os.path.join(TOOLS, "l3fwd-source")
    if os.path.exists(binary) and os.path.getmtime(binary) > os.path.getmtime(__file__):
        return None
    if not os.path.exists(L3FWD_SOURCE):
        return "l3fwd: no %s (Debian package dpdk-doc)" % L3FWD_SOURCE
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(L3FWD_SOURCE, copy)
    for name, old, new in (
            ("l3fwd_lpm.c", r"(IPV4_L3FWD_LPM_MAX_RULES\s+)1024", r"\g<1>262144"),
            ("l3fwd_lpm.c", r"(IPV4_L3FWD_LPM_NUMBER_TBL8S) \(1 << 8\)", r"\1 (1 << 12)"),
            ("l3fwd_fib.c", r"(config_ipv4.max_routes = )\(1 << 16\)", r"\1(1 << 21)"),
            ("l3fwd_fib.c", r"(config.max_routes = )\(1 << 16\) - 1", r"\1(1 << 19)"),
            ("l3fwd_fib.c", r"(config.trie.num_tbl8 = )\(1 << 15\)", r"\1(1 << 18)"),
            ("main.c", r"\.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM", ".offloads = 0")):
        path = os.path.join(copy, name)
        with open(path, encoding="utf-8") as file:
            text, changed = re.subn(old, new, file.read())
        if changed != 1:
            return "l3fwd: %s is not as expected (another version of dpdk-doc?)" % name
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    common = os.path.join(os.path.dirname(L3FWD_SOURCE), "common")
    built = subprocess.run(["make", "-C", copy], capture_output=True, text=True, check=False,
                           env=dict(os.environ, CFLAGS="-march=native -w -I" + common,
                                    MAKEFLAGS=""))
    if built.returncode != 0:
        return "l3fwd does not compile: " + built.stderr.strip()[-300:]
    shutil.copy(os.path.join(copy, "build", "l3fwd"), binary)
    return None


def dpdk_version():
    result = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "dpdk"], capture_output=True,
                            text=True, check=False)
    return "DPDK " + (result.stdout or "of unknown version")
