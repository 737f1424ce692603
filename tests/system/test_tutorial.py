"""docs/xdp.md: its tutorial is typed line by line, in an empty folder and in two terminals. What the document
prints as output must appear; numbers that depend on compiler, machine and time may differ (VARIES).

The terminals have their own /run/netns, so namespaces have the tutorial's names and end with the test.
Everything is done as written except what SHIMS replaces. HAYATE_TUTORIAL="chroot DIR" types it in another
root, in its folder /root/tutorial, without shims; HAYATE_SOURCE is the address of the clone there.

A block of the document is, by its form:

    `sh`                         lines for a shell: on the first terminal if one of them starts the router,
                                 else on the second
    lines with `r1# ` and so on  lines for the router's console, each with the output that it must have
    after a sentence with        a file of that name
    `NAME`: at its end
    else                         output of the block before it
"""
import contextlib
import os
import re
import subprocess
import time

from launcher.guest import ROOT, Guest

DOCUMENT = os.path.join(ROOT, "docs", "xdp.md")
# What CI has, but must not install again; and a server to clone from.
SHIMS = {"apt-get": "exit 0", "git": 'ln -s "%s" hayate' % ROOT}
CLONE = "https://example.org/hayate"
ENTER = os.environ.get("HAYATE_TUTORIAL", "").split()
HOME = "/root/tutorial"

BLOCK = re.compile(r"(?P<before>[^\n]*)\n+```(?P<kind>[a-z]*)\n(?P<text>.*?)^```$", re.M | re.S)
FILE = re.compile(r"`([\w.]+)`:$")
PROMPT = re.compile(r"r1(?:\([a-z-]+\))?# ?(.*)")
VARIES = re.compile(r'(?<=_us":)\d+|(?<=file_bytes":)\d+|\d+(?= (?:us|bytes|instructions|verified)\b)|'
                    r"(?<=pass )\d+|(?<=code )\d+|(?<=time )\d+(?=ms)")
ROUTER = "tools/hayate run"
READS = "curl -sS http"  # may be typed again, until counters of data cores have arrived


class Terminal(Guest):
    """A shell on pipes; a router's console while one runs in it."""

    STDERR = subprocess.STDOUT  # in the order in which a reader sees it

    def words(self, arguments):
        return arguments

    def enter(self, line):
        self.child.stdin.write(line.encode() + b"\n")

    def shell(self, line, timeout_s=900.0):
        """Types a line; returns what was printed until its end."""
        self.skip()
        begun = self.mark
        self.enter(line)
        self.enter('echo "[$?]"')
        status = self.expect(r"^\[(\d+)\]$", timeout_s, "the end of `%s`" % line)
        said = self.text[begun:status.start()]
        assert status.group(1) == "0", "%s\n%s" % (line, said)
        return said

    def boot(self, line):
        self.skip()
        self.enter(line + '; echo "[$?]"')
        self.wait_ready(120)
        self.wait_prompt()
        self.wait_links()

    def poweroff(self):
        self.send("poweroff")
        assert self.expect(r"\[(\d+)\]$", 60, "the end of the router").group(1) == "0"


def printed(wanted, said):
    """Are the lines wanted among those said, in this order?"""
    lines = iter(said.replace("\r", "").splitlines())
    return all(any(re.fullmatch(pattern_of(line), other.rstrip()) for other in lines) for line in wanted)


def pattern_of(line):
    return r"\d+".join(re.escape(part) for part in VARIES.split(line))


def dialogue(text):
    """[(command, the lines that it prints)] of a block of the console."""
    said = []
    for line in text.splitlines():
        prompt = PROMPT.match(line)
        if prompt:
            said.append((prompt[1], []))
        else:
            said[-1][1].append(line)
    return said


def again(act, wanted, timeout_s=20):
    """Acts until the wanted lines have been printed."""
    deadline = time.monotonic() + timeout_s
    while not printed(wanted, said := act()):
        assert time.monotonic() < deadline, "expected\n%s\nbut saw\n%s" % ("\n".join(wanted), said)
        time.sleep(0.2)


class Reader:
    """Does what the document says."""

    def __init__(self, router, host, folder):
        self.router, self.host, self.folder = router, host, folder
        self.said, self.last = "", ""

    def console(self, text):
        for command, wanted in dialogue(text):
            if command == "poweroff":
                self.router.poweroff()
            elif wanted:
                again(lambda: self.router.command(command), wanted)
            else:
                said = self.router.command(command).replace("committed", "").strip()
                assert not said or said.startswith("configuration: "), "%s\n%s" % (command, said)

    def shell(self, text):
        self.said = ""
        terminal = self.router if ROUTER in text else self.host
        for line in text.splitlines():
            line = line.replace(CLONE, os.environ.get("HAYATE_SOURCE", CLONE))
            if ROUTER in line:
                terminal.boot(line)
            else:
                self.said += terminal.shell(line)
            self.last = line

    def output(self, text):
        wanted = text.splitlines()
        if printed(wanted, self.said):
            return
        assert self.last.startswith(READS), "%s\nexpected\n%sbut printed\n%s" % (self.last, text, self.said)
        again(lambda: self.host.shell(self.last), wanted)

    def block(self, before, kind, text):
        name = FILE.search(before)
        if kind == "sh":
            self.shell(text)
        elif name:
            with open(os.path.join(self.folder, name[1]), "w", encoding="utf-8") as file:
                file.write(text)
        elif PROMPT.match(text):
            self.console(text)
        else:
            self.output(text)


def shims(folder):
    """The PATH with SHIMS, which are in this folder."""
    folder.mkdir()
    for name, text in SHIMS.items():
        (folder / name).write_text("#!/bin/sh\n%s\n" % text)
        (folder / name).chmod(0o755)
    return "%s:%s" % (folder, os.environ["PATH"])


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        return file.read().split()[0]


@contextlib.contextmanager
def terminals(folder, log):
    """Two shells in the folder, which end with all that runs in them."""
    with Terminal(["unshare", "--mount", "--pid", "--fork", "--kill-child", *ENTER, "bash"], log + "-1.log") as first:
        first.shell("mkdir -p /run/netns && mount -t tmpfs none /run/netns")
        inside = ["nsenter", "--mount", "--pid", "--target", child_of(first.child.pid)]
        with Terminal([*inside, *ENTER, "bash"], log + "-2.log") as second:
            for terminal in (first, second):
                terminal.shell("cd %s" % folder)
            yield first, second


def test_xdp(tmp_path, log_path, monkeypatch):
    with open(DOCUMENT, encoding="utf-8") as file:
        section = re.search(r"^## Tutorial\n.*?(?=^## )", file.read(), re.M | re.S)[0]
    if ENTER:
        folder, outside = HOME, ENTER[1] + HOME
    else:
        folder = outside = str(tmp_path / "job")
        monkeypatch.setenv("PATH", shims(tmp_path / "bin"))
    os.makedirs(outside)
    with terminals(folder, log_path) as (first, second):
        reader = Reader(first, second, outside)
        for block in BLOCK.finditer(section):
            reader.block(**block.groupdict())
