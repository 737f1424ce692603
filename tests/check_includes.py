#!/usr/bin/python3
"""Compares the #include and %include lines of the tree with the table of rooms (ARCHITECTURE.md).

    tests/check_includes.py [TREE]        prints violations, then `includes: N passed, N failed`
    tests/check_includes.py --self-test   proves on made-up trees that every rule can fail

Exit code: 0 when all is well, 1 otherwise.
"""

import os
import re
import tempfile

from check_run import run

# Room: what it may include in addition to its own files; "*" is anything. A room or an entry is a
# folder or a file; a file is in the most specific room. NAME stands for any one folder, so
# drivers/NAME/NAME.h is each driver's public header.
BELOW = ["lib", "net", "bpf", "runtime", "dataplane"]  # what the control plane stands on
# its rooms: each may include those before it
CONTROL = ["control/" + room for room in ("text", "crypto", "console", "storage", "config", "forwarding", "programs",
                                          "link", "host", "engine", "management", "monitor", "commit", "cli", "test")]
ROOMS = {
    "boot": [],
    "kernel": ["lib", "hal", "abi"],
    "abi": ["lib/types.h"],
    "hal": ["lib/types.h", "abi"],
    "lib": [],
    "disk": ["lib"],
    "drivers/nic.h": ["lib", "hal", "abi"],
    "drivers/blk.h": ["lib", "hal", "abi", "disk/disk.h"],
    "drivers/blk.c": ["lib", "drivers/blk.h", "drivers/NAME/NAME.h"],
    "drivers/nvme": ["lib", "hal", "abi", "drivers/blk.h", "disk/disk.h"],
    "drivers/virtio": ["lib", "hal", "abi"],
    "drivers/virtio_net": ["lib", "hal", "abi", "drivers/nic.h", "drivers/virtio"],
    "drivers/virtio_blk": ["lib", "hal", "abi", "drivers/blk.h", "disk/disk.h", "drivers/virtio"],
    "drivers/nic.c": ["lib", "hal", "abi", "drivers/nic.h", "drivers/NAME/NAME.h"],
    "drivers/intel": ["lib", "hal", "abi", "drivers/nic.h"],
    "drivers/igb": ["lib", "hal", "abi", "drivers/nic.h", "drivers/intel"],
    "drivers/ixgbe": ["lib", "hal", "abi", "drivers/nic.h", "drivers/intel"],
    "drivers/NAME": ["lib", "hal", "abi", "drivers/nic.h"],
    "net": ["lib"],
    "bpf": ["lib"],
    "runtime": ["lib", "hal", "abi", "drivers/nic.h", "net/counters.h", "net/rss.h"],
    "dataplane": ["lib", "net", "bpf", "runtime"],
    "control/text": ["lib", "net"],
    "control/crypto": BELOW + ["control/text"],
    "control/console": BELOW + CONTROL[:2],
    "control/storage": BELOW + CONTROL[:3] + ["disk", "drivers/blk.h"],
    "control/config": ["lib", "net", "runtime", "dataplane/services.h", "dataplane/verify.h",
                       "control/text", "control/crypto"],
    "control/forwarding": BELOW + CONTROL[:5],
    "control/programs": BELOW + CONTROL[:6],
    "control/link": BELOW + CONTROL[:7],
    "control/host": BELOW + CONTROL[:8],
    "control/engine": BELOW + CONTROL[:9],
    "control/management": BELOW + CONTROL[:10],
    "control/monitor": BELOW + CONTROL[:11],
    "control/commit": BELOW + CONTROL[:12],
    "control/cli": BELOW + CONTROL[:13],
    "control/test": BELOW + CONTROL[:14],
    "control": BELOW + CONTROL,
    "apps/apps.c": ["runtime", "apps/NAME/NAME.h", "tools/pktgen/pktgen.h"],
    "apps/NAME": ["lib", "net", "runtime", "dataplane", "control"],
    "examples": ["lib", "net"],
    "tools/nicsim": [],
    "tools/pktgen/plan.h": ["lib", "net"],
    "tools/pktgen/wide.h": ["lib"],
    "tools/pktgen/frames": ["lib", "net", "tools/pktgen/plan.h", "tools/pktgen/wide.h"],
    "tools/pktgen/script": ["lib", "net", "control/text", "tools/pktgen/plan.h",
                            "tools/pktgen/frames"],
    "tools/pktgen/measure": ["lib", "net", "tools/pktgen/plan.h", "tools/pktgen/wide.h",
                             "tools/pktgen/frames"],
    "tools/pktgen/report": ["lib", "tools/pktgen/plan.h", "tools/pktgen/measure"],
    "tools/pktgen": ["lib", "net", "runtime", "dataplane", "control", "tools/pktgen/plan.h",
                     "tools/pktgen/wide.h", "tools/pktgen/frames", "tools/pktgen/script",
                     "tools/pktgen/measure", "tools/pktgen/report"],
    "third": [],
    "tests": ["*"],
}

# Rooms that run on a host: the only ones that may include <system headers>.
HOSTED = {"examples", "tools/nicsim", "tests"}

# Headers of foreign code (third/), and the only room that may include them. The headers of a C library
# that foreign code includes are third/libc's.
FOREIGN = re.compile(r"(mbedtls|psa|sodium)/[a-z0-9_]+\.h$")
FOREIGN_ROOM = "control/crypto"

INCLUDE = re.compile(r'^\s*[#%]\s*include\s*(?:"([^"]*)"|<([^>]*)>|(\S+))')


def pattern(entry):
    """The regular expression of a room or an entry, for paths in it."""
    text = re.escape(entry).replace("NAME", r"(?P<name>[^/]+)", 1).replace("NAME", r"(?P=name)")
    return re.compile(text + r"(?:/.*)?$")


def room_of(path):
    """(row of the table, the room itself with NAME filled in), or (None, None)."""
    best = None, None
    for row in ROOMS:
        # A file directly in drivers/ or apps/ is in no driver and in no application.
        match = pattern(row).match(path)
        if not match or ("NAME" in row and path.count("/") <= row.count("/")):
            continue
        if best[0] is None or len(row.replace("NAME", "")) > len(best[0].replace("NAME", "")):
            best = row, row.replace("NAME", match.groupdict().get("name", ""))
    return best


def may_include(row, room, target):
    if room_of(target)[1] == room:
        return True
    return any(entry == "*" or pattern(entry).match(target) for entry in ROOMS[row])


def sources(tree):
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(f for f in folders if f != "build" and not f.startswith("."))
        for name in sorted(files):
            if name.endswith((".c", ".h", ".asm", ".inc")):
                yield os.path.relpath(os.path.join(folder, name), tree)


def includes(tree, path):
    """(line number, "quoted" or None, <system> or None) of every #include in a file."""
    with open(os.path.join(tree, path), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1), match.group(2)


def judge(tree, path, row, room, quoted, system):
    """The error in one #include; None if it is right."""
    if system is not None:
        foreign = row == FOREIGN_ROOM and FOREIGN.match(system) or row == "third"
        return None if row in HOSTED or foreign else \
            f"includes <{system}>, which room {room} may not: no system headers"
    if quoted is None:
        return "includes by a macro, which cannot be checked"
    if row == "tests" and os.path.isfile(os.path.join(tree, os.path.dirname(path), quoted)):
        return None  # a twin of a header includes the real one by a relative path
    if not os.path.isfile(os.path.join(tree, quoted)):
        return f"includes {quoted}, which is no path from the top of the tree"
    if not may_include(row, room, quoted):
        return f"includes {quoted}, which room {room} may not"
    return None


def cycle_in(edges):
    """One cycle of a graph {node: set of nodes} as a list of nodes, or None."""
    done = set()

    def visit(node, way):
        if node in way:
            return way[way.index(node):] + [node]
        if node in done:
            return None
        for following in sorted(edges.get(node, ())):
            found = visit(following, way + [node])
            if found:
                return found
        done.add(node)
        return None

    for start in sorted(edges):
        found = visit(start, [])
        if found:
            return found
    return None


def table_edges():
    """The arrows that the table allows, between its rows."""
    def row_of_entry(entry):
        # drivers/NAME/NAME.h is in the room drivers/NAME
        return max((row for row in ROOMS if entry == row or entry.startswith(row + "/")), key=len)

    return {row: {row_of_entry(e) for e in may if e != "*"} - {row} for row, may in ROOMS.items()}


def check(tree):
    """(number of correct includes, [violations])."""
    good, bad, edges = 0, [], {}
    for path in sources(tree):
        row, room = room_of(path)
        if row is None:
            bad.append(f"{path}:1: is in no room of the table")
            continue
        for number, quoted, system in includes(tree, path):
            wrong = judge(tree, path, row, room, quoted, system)
            if wrong:
                bad.append(f"{path}:{number}: {wrong}")
            else:
                good += 1
            other = room_of(quoted)[1] if quoted else None
            if other and other != room and row != "tests":
                edges.setdefault(room, set()).add(other)
    for name, graph in ("the table's rooms", table_edges()), ("the tree's rooms", edges):
        cycle = cycle_in(graph)
        if cycle:
            bad.append(f"{name} go in a circle: {' -> '.join(cycle)}")
        else:
            good += 1
    return good, bad


# --- self-test: trees of one or two files, and the expected verdicts ---

FILES = ["boot/mode.inc", "lib/types.h", "lib/bytes.h", "lib/pkt.h", "hal/dma.h", "abi/pci.h", "abi/kcall.h", "kernel/vm.h",
         "drivers/nic.h", "drivers/a/a.h", "drivers/a/ring.h", "drivers/b/b.h", "drivers/intel/ring.h",
         "net/ip4.h",
         "net/counters.h", "net/fib/fib.h", "runtime/runtime.h", "control/config/config.h", "dataplane/state.h",
         "apps/one/one.h", "apps/one/inner.h", "apps/two/two.h", "tests/unit/rig/host.h",
         "control/text/text.h", "control/console/shell.h", "dataplane/services.h",
         "tools/pktgen/plan.h", "tools/pktgen/wide.h", "tools/pktgen/run.h",
         "tools/pktgen/frames/frames.h", "tools/pktgen/script/script.h",
         "tools/pktgen/measure/judge.h", "tools/pktgen/report/report.h",
         "tools/nicsim/model.h", "examples/host.h"]

RIGHT = [
    ("boot/b.asm", "boot/mode.inc"),
    ("kernel/vm.c", "hal/dma.h"), ("kernel/vm.c", "lib/pkt.h"), ("kernel/vm.c", "kernel/vm.h"),
    ("kernel/vm.c", "abi/pci.h"), ("hal/dma.h", "lib/types.h"), ("hal/dma.h", "abi/pci.h"),
    ("abi/pci.h", "lib/types.h"), ("abi/pci.h", "abi/kcall.h"), ("hal/x.h", "hal/dma.h"),
    ("lib/pkt.h", "lib/types.h"), ("drivers/nic.h", "abi/pci.h"),
    ("drivers/nic.c", "drivers/a/a.h"), ("drivers/nic.c", "drivers/b/b.h"),
    ("drivers/nic.c", "drivers/nic.h"),
    ("drivers/a/a.c", "drivers/a/ring.h"), ("drivers/a/a.c", "drivers/nic.h"),
    ("drivers/igb/i.c", "drivers/intel/ring.h"), ("drivers/intel/r.c", "drivers/nic.h"),
    ("drivers/a/a.c", "hal/dma.h"), ("net/ip4.c", "lib/pkt.h"), ("net/ip4.c", "net/fib/fib.h"),
    ("net/fib/trie.c", "net/ip4.h"), ("runtime/data.c", "drivers/nic.h"),
    ("runtime/data.c", "net/counters.h"), ("runtime/data.c", "hal/dma.h"), ("control/c.c", "runtime/runtime.h"),
    ("dataplane/d.c", "runtime/runtime.h"), ("dataplane/d.c", "net/ip4.h"),
    ("control/c.c", "dataplane/state.h"), ("apps/one/one.c", "dataplane/state.h"),
    ("control/c.c", "net/ip4.h"), ("apps/apps.c", "apps/one/one.h"), ("apps/apps.c", "runtime/runtime.h"),
    ("apps/one/one.c", "apps/one/inner.h"), ("apps/one/one.c", "control/config/config.h"),
    ("apps/one/one.c", "net/fib/fib.h"), ("tools/nicsim/x/m.c", "tools/nicsim/model.h"),
    ("tools/nicsim/m.c", "<stdio.h>"), ("tests/unit/t.c", "drivers/a/ring.h"),
    ("tests/unit/t.c", "apps/one/inner.h"), ("tests/unit/t.c", "<stdio.h>"),
    ("tests/host/lib/pkt.h", "../../../lib/pkt.h"),
    ("examples/e.c", "examples/host.h"), ("examples/e.c", "net/ip4.h"),
    ("examples/e.c", "lib/pkt.h"), ("examples/e.c", "<stdio.h>"),
    ("control/text/t.c", "net/ip4.h"), ("control/text/t.c", "control/text/text.h"),
    ("control/config/config.h", "dataplane/services.h"),
    ("control/config/config.c", "control/text/text.h"),
    ("control/config/journal.c", "runtime/runtime.h"),
    ("control/commit/load.c", "control/config/config.h"),
    ("control/commit/load.c", "control/text/text.h"),
    ("tools/pktgen/plan.h", "net/ip4.h"), ("tools/pktgen/frames/f.c", "tools/pktgen/plan.h"),
    ("tools/pktgen/frames/f.c", "tools/pktgen/wide.h"),
    ("tools/pktgen/script/s.c", "control/text/text.h"),
    ("tools/pktgen/script/s.c", "tools/pktgen/frames/frames.h"),
    ("tools/pktgen/measure/m.c", "tools/pktgen/frames/frames.h"),
    ("tools/pktgen/report/r.c", "tools/pktgen/measure/judge.h"),
    ("tools/pktgen/run.h", "tools/pktgen/measure/judge.h"),
    ("tools/pktgen/control.c", "tools/pktgen/script/script.h"),
    ("tools/pktgen/control.c", "control/console/shell.h"),
    ("tools/pktgen/pages.c", "tools/pktgen/report/report.h"),
    ("control/crypto/c.c", "<psa/crypto.h>"), ("control/crypto/c.c", "<mbedtls/ssl.h>"),
    ("control/crypto/c.c", "<sodium/utils.h>"), ("third/libc/stdlib.h", "<stddef.h>"),
]

WRONG = [
    ("boot/b.c", "lib/types.h", "room boot may not"),
    ("boot/b.asm", "kernel/vm.h", "room boot may not"),
    ("kernel/trap.asm", "boot/mode.inc", "room kernel may not"),
    ("net/ip4.inc", "hal/dma.h", "room net may not"),
    ("kernel/vm.c", "net/ip4.h", "room kernel may not"),
    ("kernel/vm.c", "runtime/runtime.h", "room kernel may not"),
    ("hal/dma.h", "lib/pkt.h", "room hal may not"),
    ("hal/dma.h", "lib/bytes.h", "room hal may not"),
    ("hal/dma.h", "kernel/vm.h", "room hal may not"),
    ("abi/pci.h", "hal/dma.h", "room abi may not"),
    ("abi/pci.h", "lib/bytes.h", "room abi may not"),
    ("lib/pkt.h", "hal/dma.h", "room lib may not"),
    ("drivers/nic.h", "drivers/a/a.h", "room drivers/nic.h may not"),
    ("drivers/nic.c", "drivers/a/ring.h", "room drivers/nic.c may not"),
    ("drivers/a/a.c", "drivers/b/b.h", "room drivers/a may not"),
    ("drivers/a/a.c", "drivers/intel/ring.h", "room drivers/a may not"),
    ("drivers/intel/r.c", "drivers/a/a.h", "room drivers/intel may not"),
    ("drivers/a/a.c", "runtime/runtime.h", "room drivers/a may not"),
    ("drivers/a/a.c", "net/ip4.h", "room drivers/a may not"),
    ("net/ip4.c", "drivers/nic.h", "room net may not"),
    ("net/ip4.c", "hal/dma.h", "room net may not"),
    ("net/ip4.c", "<stdint.h>", "room net may not: no system headers"),
    ("lib/fmt.c", "<string.h>", "room lib may not: no system headers"),
    ("runtime/data.c", "net/ip4.h", "room runtime may not"),
    ("runtime/data.c", "drivers/a/a.h", "room runtime may not"),
    ("runtime/data.c", "apps/one/one.h", "room runtime may not"),
    ("runtime/data.c", "dataplane/state.h", "room runtime may not"),
    ("net/ip4.c", "dataplane/state.h", "room net may not"),
    ("dataplane/d.c", "control/config/config.h", "room dataplane may not"),
    ("dataplane/d.c", "abi/pci.h", "room dataplane may not"),
    ("control/c.c", "apps/one/one.h", "room control may not"),
    ("control/c.c", "drivers/a/a.h", "room control may not"),
    ("apps/apps.c", "apps/one/inner.h", "room apps/apps.c may not"),
    ("apps/one/one.c", "apps/two/two.h", "room apps/one may not"),
    ("apps/one/one.c", "kernel/vm.h", "room apps/one may not"),
    ("apps/one/one.c", "drivers/a/a.h", "room apps/one may not"),
    ("tools/nicsim/m.c", "drivers/a/ring.h", "room tools/nicsim may not"),
    ("tools/nicsim/m.c", "net/ip4.h", "room tools/nicsim may not"),
    ("tools/pktgen/g.c", "tools/nicsim/model.h", "room tools/pktgen may not"),
    ("tools/pktgen/plan.h", "tools/pktgen/wide.h", "room tools/pktgen/plan.h may not"),
    ("tools/pktgen/wide.h", "net/ip4.h", "room tools/pktgen/wide.h may not"),
    ("tools/pktgen/frames/f.c", "tools/pktgen/run.h", "room tools/pktgen/frames may not"),
    ("tools/pktgen/frames/f.c", "tools/pktgen/script/script.h",
     "room tools/pktgen/frames may not"),
    ("tools/pktgen/frames/f.c", "control/text/text.h", "room tools/pktgen/frames may not"),
    ("tools/pktgen/script/s.c", "tools/pktgen/measure/judge.h",
     "room tools/pktgen/script may not"),
    ("tools/pktgen/script/s.c", "control/config/config.h", "room tools/pktgen/script may not"),
    ("tools/pktgen/measure/m.c", "tools/pktgen/script/script.h",
     "room tools/pktgen/measure may not"),
    ("tools/pktgen/measure/m.c", "tools/pktgen/report/report.h",
     "room tools/pktgen/measure may not"),
    ("tools/pktgen/measure/m.c", "runtime/runtime.h", "room tools/pktgen/measure may not"),
    ("tools/pktgen/report/r.c", "tools/pktgen/run.h", "room tools/pktgen/report may not"),
    ("tools/pktgen/report/r.c", "control/console/shell.h", "room tools/pktgen/report may not"),
    ("control/text/t.c", "control/config/config.h", "room control/text may not"),
    ("control/text/t.c", "runtime/runtime.h", "room control/text may not"),
    ("control/config/c.c", "control/console/shell.h", "room control/config may not"),
    ("control/config/c.c", "dataplane/state.h", "room control/config may not"),
    ("control/config/c.c", "tools/pktgen/plan.h", "room control/config may not"),
    ("examples/e.c", "hal/dma.h", "room examples may not"),
    ("examples/e.c", "runtime/runtime.h", "room examples may not"),
    ("net/ip4.c", "examples/host.h", "room net may not"),
    ("net/ip4.c", "ip4.h", "no path from the top"),
    ("net/ip4.c", "../lib/pkt.h", "no path from the top"),
    ("net/ip4.c", "net/gone.h", "no path from the top"),
    ("tests/unit/t.c", "../gone.h", "no path from the top"),
    ("net/ip4.c", "MACRO", "by a macro"),
    ("control/crypto/c.c", "<string.h>", "room control/crypto may not: no system headers"),
    ("control/crypto/c.c", "<mbedtls/../stdio.h>", "room control/crypto may not"),
    ("control/crypto/c.c", "control/console/shell.h", "room control/crypto may not"),
    ("control/console/c.c", "<mbedtls/ssl.h>", "room control/console may not: no system headers"),
    ("net/ip4.c", "<psa/crypto.h>", "room net may not: no system headers"),
    ("third/libc/stdio.h", "lib/types.h", "room third may not"),
    ("attic/old.c", "lib/types.h", "in no room"),
]


def write(tree, path, text):
    path = os.path.join(tree, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def judged(lines):
    """check() of a tree of FILES to which each of `lines`, (file, what it includes), is added."""
    with tempfile.TemporaryDirectory() as tree:
        for path in FILES:
            write(tree, path, "")
        for path, what in lines:
            plain = what.startswith("<") or what == "MACRO"
            mark = "%" if path.endswith(".asm") else "  # "
            write(tree, path, "/* #include <no.h> */\n" + mark + "include " +
                  (what if plain else f'"{what}"') + "\n")
        return check(tree)[1]


def self_test():
    failures = [f"allowed, but refused: {line[0]} -> {line[1]}"
                for line in RIGHT if judged([line])]
    for path, what, reason in WRONG:
        bad = [b for b in judged([(path, what)]) if b.startswith(path + ":")]
        if len(bad) != 1 or reason not in bad[0]:
            failures.append(f"forbidden, but passed: {path} -> {what}: {bad}")
    bad = judged([("lib/pkt.h", "net/ip4.h"), ("net/ip4.h", "lib/pkt.h")])
    if not any("circle: lib -> net -> lib" in b for b in bad):
        failures.append(f"a circle of rooms was not seen: {bad}")
    if cycle_in({"a": {"b"}, "b": {"c"}, "c": set(), "d": {"b"}}) is not None:
        failures.append("a circle where there is none")
    return len(RIGHT) + len(WRONG) + 2, failures


if __name__ == "__main__":
    run("includes", __doc__, check, self_test)
