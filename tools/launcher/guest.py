"""A Hayate console as an object, and the ONE place that parses its output.

Formats relied on (docs/console.md is the reference; a change there requires a change here):

  prompt          `hostname# `, at the start of a line (CR starts one too: typed text is erased before a
                  message of the system)
  ready line      `ready: 2 ports, 1 data core, 12.3 ms after boot`
  show counters   `NAME  VALUE …` one per line, names as in net/counters.h, zeros may be left
                  out; the last line is `received R = fates F + waiting W`
  show interfaces a block per port, whose first line starts with `ethN`; in a block every
                  `NAME VALUE`, `NAME=VALUE`, `NAME: VALUE` or `VALUE NAME` with names such as
                  rx_pkts, tx_pkts, mmio_reads, mmio_writes
  show cores      a table: a line of column heads, then a line per core

What the launcher and QEMU say on stderr joins the console's text in whole lines, and never within a line of the
console or the output of a command.

Reading never sleeps for a fixed time: every wait is for a pattern, with a deadline.
"""
import os
import re
import select
import signal
import subprocess
import sys
import time

from . import process
from .options import ROOT

LAUNCHER = os.path.join(ROOT, "tools", "hayate")
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable

PROMPT = re.compile(r"(?<![^\r\n])([A-Za-z0-9][A-Za-z0-9._-]*(?:\([a-z-]+\))?# )")
READY = re.compile(r"(?<![^\r\n])ready: (\d+) ports?, (\d+) data cores?, ([\d.]+) ms after boot")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][0-9A-B]|\x1bc")


class GuestError(Exception):
    """The guest did not do what was expected; the text has its last output."""


class Guest:
    """`hayate run …` as a child, its console on pipes.

    arguments: those of `hayate run`, application first. log: path of the console's transcript.
    echo: a function called with every piece of text as it arrives.
    """

    STDERR = subprocess.PIPE

    def __init__(self, arguments, log=None, echo=None):
        self.text = ""       # all console output, escapes removed
        self.mark = 0        # end of the consumed part
        self.log = open(log, "w", encoding="utf-8") if log else None
        self.echo = echo
        self.pending = b""
        self.aside = b""     # of stderr, not yet in `text`
        self.commanding = False
        self.eof = False
        self.started = time.monotonic()
        self.child = process.popen(self.words(list(arguments)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=self.STDERR, bufsize=0)
        for stream in self._streams():
            os.set_blocking(stream.fileno(), False)

    def words(self, arguments):
        """The command that is the child."""
        return [PYTHON, LAUNCHER, "run"] + arguments

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
        return False

    def _streams(self):
        return [stream for stream in (self.child.stdout, self.child.stderr) if stream and not stream.closed]

    def _read(self, timeout_s):
        """Reads output that arrives within timeout_s. False at the end of the console."""
        if self.eof:
            return False
        ready = select.select(self._streams(), [], [], max(0.0, timeout_s))[0]
        if self.child.stderr in ready:
            self._read_aside()
        if self.child.stdout not in ready:
            return True
        data = self.child.stdout.read(65536)
        if data == b"":
            self.eof = True
            self._end_aside()
            return False
        if data:
            data = self.pending + data
            # An escape sequence may be split: hold back an incomplete one.
            cut = data.rfind(b"\x1b", max(0, len(data) - 16))
            self.pending = b""
            if cut >= 0 and not _ESCAPES.match(data[cut:].decode("latin-1")):
                data, self.pending = data[:cut], data[cut:]
            self._add(_ESCAPES.sub("", data.decode("utf-8", "replace")))
        return True

    def _add(self, text, at=None):
        """Adds text: at the end, or at a place of what is there."""
        if at is None:
            self.text += text
        else:
            self.text = self.text[:at] + text + self.text[at:]
            if at < self.mark:
                self.mark += len(text)
        if self.log:
            self.log.write(text.replace("\r", ""))
            self.log.flush()
        if self.echo:
            self.echo(text)

    def _read_aside(self):
        """Reads stderr. Its whole lines go before the console's last line, unless a command is running."""
        data = self.child.stderr.read(65536)
        if data == b"":
            self.child.stderr.close()
        self.aside += data or b""
        end = self.aside.rfind(b"\n") + 1
        if end and not self.commanding:
            text, self.aside = self.aside[:end].decode("utf-8", "replace"), self.aside[end:]
            self._add(text, self.text.rfind("\n") + 1)

    def _end_aside(self):
        """The console has ended: the rest of stderr follows."""
        if self.child.stderr and not self.child.stderr.closed:
            self.aside += self.child.stderr.read() or b""
        self._add(self.aside.decode("utf-8", "replace"))
        self.aside = b""

    def poll(self):
        """Reads output that has arrived, without waiting."""
        while not self.eof and select.select(self._streams(), [], [], 0)[0]:
            self._read(0)

    def skip(self):
        """Marks all output so far as consumed, so the next expect() ignores it."""
        self.poll()
        self.mark = len(self.text)

    def expect(self, pattern, timeout_s=20.0, what=None):
        """Waits until `pattern` matches unconsumed text; consumes up to its end."""
        regex = re.compile(pattern, re.MULTILINE) if isinstance(pattern, str) else pattern
        deadline = time.monotonic() + timeout_s
        while True:
            match = regex.search(self.text, self.mark)
            if match:
                self.mark = match.end()
                return match
            left = deadline - time.monotonic()
            if left <= 0:
                raise GuestError("%s not seen within %g s; the console's last output:\n%s"
                                 % (what or repr(regex.pattern), timeout_s, self.tail()))
            if not self._read(left):
                match = regex.search(self.text, self.mark)
                if match:
                    continue
                raise GuestError("the machine ended while waiting for %s; its last output:\n%s"
                                 % (what or repr(regex.pattern), self.tail()))

    def tail(self, lines=25):
        return "\n".join(self.text.replace("\r", "").splitlines()[-lines:])

    def wait_ready(self, timeout_s=60.0):
        """Waits for `ready:`. Returns (ports, data cores, milliseconds after boot)."""
        match = self.expect(READY, timeout_s, "the ready line")
        return int(match.group(1)), int(match.group(2)), float(match.group(3))

    def wait_prompt(self, timeout_s=20.0):
        self.expect(PROMPT, timeout_s, "the prompt")

    def send(self, line):
        try:
            self.child.stdin.write(line.encode() + b"\r")
        except OSError:
            raise GuestError("the machine has ended; its last output:\n" + self.tail()) from None

    def command(self, line, timeout_s=20.0):
        """Types a command; returns its output, lines ending in \\n, without echo and prompt."""
        self.skip()
        self.commanding = True
        try:
            self.send(line)
            self.expect(re.escape(line) + r"\s*?\r?\n", timeout_s, "the echo of `%s`" % line)
            start = self.mark
            # Up to the first prompt: a message of the system and another prompt may follow.
            match = self.expect(PROMPT, timeout_s, "the end of `%s`" % line)
        finally:
            self.commanding = False
        return self.text[start:match.start()].replace("\r", "")

    def wait_exit(self, timeout_s=20.0):
        """Waits for the machine to end; returns the launcher's exit code."""
        deadline = time.monotonic() + timeout_s
        while self._read(deadline - time.monotonic()):
            if time.monotonic() >= deadline:
                raise GuestError("the machine did not end within %g s; its last output:\n%s"
                                 % (timeout_s, self.tail()))
        return self.child.wait(max(1.0, deadline - time.monotonic()))

    def close(self):
        """Ends the machine in any state."""
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + 5
            while not self.eof and time.monotonic() < deadline:
                self._read(0.2)
            process.stop(self.child)
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            if stream:
                stream.close()
        if self.log:
            self.log.close()
            self.log = None

    # Console output as numbers.

    def counters(self):
        return parse_counters(self.command("show counters"))

    def interfaces(self):
        return parse_interfaces(self.command("show interfaces"))

    def cores(self):
        return parse_table(self.command("show cores"))

    def wait_links(self, names=None, timeout_s=20.0):
        """Waits until these interfaces, or all, are up: after `ready:` a card may take time to bring up its
        link."""
        deadline = time.monotonic() + timeout_s
        while True:
            blocks = self.interfaces()
            down = [name for name in names or blocks if not blocks[name]["up"]]
            if not down:
                return
            if time.monotonic() > deadline:
                raise GuestError("no link within %g s: %s" % (timeout_s, ", ".join(down)))
            time.sleep(0.05)


class Counters(dict):
    """Counter name -> value; a counter that is not printed is 0. balance: (received, fates, waiting) as
    printed."""

    balance = None

    def __missing__(self, key):
        return 0

    def drops(self):
        return {name: value for name, value in self.items()
                if name.startswith("drop_") and value}

    def unbalanced(self):
        """'' if every received packet has a fate or waits, else the discrepancy."""
        if self.balance is None:
            return "no line `received R = fates F + waiting W`"
        received, fates, waiting = self.balance
        if received != fates + waiting:
            return "received %d, fates %d, waiting %d: %+d unexplained" % (
                received, fates, waiting, received - fates - waiting)
        return ""


def parse_counters(text):
    counters = Counters()
    for line in text.splitlines():
        match = re.match(r"\s*received\s+(\d+)\s*=\s*fates\s+(\d+)\s*\+\s*waiting\s+(\d+)", line)
        if match:
            counters.balance = tuple(int(number) for number in match.groups())
            continue
        match = re.match(r"\s*([a-z][a-z0-9_]*)\s+(\d+)\b", line)
        if match:
            counters[match.group(1)] = int(match.group(2))
    return counters


def parse_interfaces(text):
    """{'eth0': {'up': True, 'rx_pkts': 12, …}, 'eth0.100': …, 'lo0': …}"""
    interfaces = {}
    block = None
    for line in text.splitlines():
        match = re.match(r"(eth\d+(?:\.\d+)?|lo\d+)\b(.*)", line)
        if match:
            block = interfaces.setdefault(match.group(1), {})
            block["up"] = bool(re.search(r"\bup\b", match.group(2)))
            line = match.group(2)
        if block is None:
            continue
        for name, value in re.findall(r"\b([a-z][a-z0-9_]*)\s*[=:]?\s+?(\d+)\b(?![.:/])", line):
            block.setdefault(name, int(value))
        for name, value in re.findall(r"\b([a-z][a-z0-9_]*)=(\d+)\b(?![.:/])", line):
            block.setdefault(name, int(value))
        for value, name in re.findall(r"(?<![.:/\w])(\d+) ([a-z][a-z0-9]*_[a-z0-9_]*)\b", line):
            block.setdefault(name, int(value))
    return interfaces


def parse_table(text):
    """[{column head: value}, …] of a table whose first line has the heads. Numbers are converted; heads
    and values are single words."""
    rows = []
    heads = None
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if heads is None:
            heads = [word.lower() for word in words]
            continue
        row = {}
        for head, word in zip(heads, words):
            try:
                row[head] = int(word)
            except ValueError:
                try:
                    row[head] = float(word)
                except ValueError:
                    row[head] = word
        rows.append(row)
    return rows
