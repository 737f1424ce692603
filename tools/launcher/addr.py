"""`hayate addr`: finds the source lines of the addresses in a report (kernel/fault.c)."""
import os
import re
import subprocess
import sys

from . import options
from .errors import LauncherError

KERNEL = os.path.join(options.ROOT, "build", "hayate-debug.elf")
PROGRAM = os.path.join(options.ROOT, "build", "program.elf")

KERNEL_BASE = 0xffffffff80000000  # kernel/vm.h
BUILD = re.compile(r"^  build ([0-9a-f]{40})$")
ADDRESS = re.compile(r"\b([0-9a-f]{16})  ([A-Za-z_][\w.]*)\+0x([0-9a-f]+)\s*$")


class Place:
    """An address in line `number` of a report."""

    def __init__(self, number, match, exact):
        self.number = number
        self.at, self.name = int(match[1], 16), match[2]
        self.function = self.at - int(match[3], 16)
        # If it is a return address, the call is the instruction before it.
        self.asked = self.at if exact else self.at - 1


def places(lines):
    """The addresses of a report, by line index."""
    found, first = {}, True
    for i, line in enumerate(lines):
        match = ADDRESS.search(line)
        if match:
            found[i] = Place(i + 1, match, first)
            first = False
        elif line.strip() == "backtrace":
            first = True  # the first address is the instruction itself
    return found


def _tool(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        raise LauncherError("%s: not found (package binutils)" % words[0]) from None
    except subprocess.CalledProcessError as error:
        raise LauncherError(error.stderr.strip() or "%s failed" % words[0]) from None


def check_build(elf, lines):
    """Checks the report's build id against that of `elf`."""
    ours = re.search(r"Build ID: ([0-9a-f]{40})", _tool("readelf", "-n", elf))
    for i, line in enumerate(lines):
        match = BUILD.match(line)
        if match and ours and match[1] != ours[1]:
            raise LauncherError("line %d: the report is of build %s, %s is %s"
                                % (i + 1, match[1], os.path.relpath(elf), ours[1]))


def check(elf, asked):
    """Checks that `elf` has the report's functions at their addresses: the core program has no build id
    of its own, and old reports name none."""
    functions = set()
    for line in _tool("nm", elf).splitlines():
        words = line.split()
        if len(words) == 3:
            functions.add((int(words[0], 16), words[2]))
    for place in asked:
        if (place.function, place.name) not in functions:
            raise LauncherError("line %d: %s has no %s there: the report is of another build"
                                % (place.number, os.path.relpath(elf), place.name))


def resolve(elf, asked):
    """{address: [(function, file:line), ...]}, innermost inlined function first."""
    check(elf, asked)
    wanted = sorted({place.asked for place in asked})
    said = _tool("addr2line", "-a", "-f", "-i", "-e", elf, *("%x" % at for at in wanted))
    frames, here = {}, []
    lines = iter(said.splitlines())
    for line in lines:
        if line.startswith("0x"):
            here = frames.setdefault(int(line, 16), [])
        else:
            here.append((line, _short(next(lines))))
    return frames


def _short(where):
    """`where` without the tree's own folder and without addr2line's discriminator."""
    where = where.split(" (discriminator")[0]
    for folder in (options.ROOT + "/", "./"):
        where = where.removeprefix(folder)
    return where


def told(text, kernel=KERNEL, program=PROGRAM):
    """The report, with the source lines after each of its addresses."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    found = places(lines)
    if not found:
        raise LauncherError("there is no backtrace in it")
    check_build(kernel, lines)
    frames = {}
    for elf, of_kernel in ((kernel, True), (program, False)):
        asked = [p for p in found.values() if (p.at >= KERNEL_BASE) == of_kernel]
        if asked:
            frames[of_kernel] = resolve(elf, asked)
    out = []
    for i, line in enumerate(lines):
        out.append(line)
        if i in found:
            place = found[i]
            out += ["%26s%s at %s" % ("", name, where)
                    for name, where in frames[place.at >= KERNEL_BASE][place.asked]]
    return "\n".join(out)


def run(path, kernel, program):
    if path == "-":
        text = sys.stdin.read()
    else:
        with open(path, encoding="utf-8", errors="replace") as report:
            text = report.read()
    try:
        sys.stdout.write(told(text, kernel, program))
    except LauncherError as error:
        raise LauncherError("%s: %s" % (path, error), error.code) from None
    return 0
