"""Starts nicsim for a test. NICSIM is its path; `make test-nicsim` uses the sanitised build."""
import json
import os
import socket
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TREE, "tests")]

from guest import Guest, TestDevice  # noqa: E402

pytest_plugins = ["layer"]

NICSIM = os.environ.get("NICSIM", os.path.join(TREE, "build", "nicsim"))
VIOLATIONS = 3


class Nicsim:
    """A running nicsim with ports of model=test, one per wire (or whole --port texts)."""

    def __init__(self, directory, wires, *arguments, control=True):
        self.directory = str(directory)
        self.stats_path = os.path.join(self.directory, "stats.json")
        self.control_path = os.path.join(self.directory, "control")
        self.guests = []
        argv = [NICSIM, "--stats", self.stats_path]
        for index, wire in enumerate(wires):
            argv += ["--port", "model=test,socket=%s,wire=%s" % (self.socket(index), wire)]
        if control:
            argv += ["--control", self.control_path]
        self.errors = open(os.path.join(self.directory, "errors"), "w+")
        self.process = subprocess.Popen(argv + list(arguments), stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True)
        self.ready = self.process.stdout.readline()
        self.commands = None

    def socket(self, index):
        return os.path.join(self.directory, "port%d" % index)

    def guest(self, index=0, **options):
        guest = Guest(self.socket(index), **options)
        self.guests.append(guest)
        return guest

    def device(self, index=0, **options):
        return TestDevice(self.guest(index), **options)

    def command(self, line):
        """Sends one line to the control socket; returns the answer."""
        if self.commands is None:
            self.commands = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.commands.settimeout(10)
            self.commands.connect(self.control_path)
            self.answers = self.commands.makefile("r")
        self.commands.sendall(line.encode() + b"\n")
        return json.loads(self.answers.readline())

    def stats(self):
        answer = self.command("stats")
        assert answer.pop("ok") is True
        return answer

    def port(self, index=0):
        return self.stats()["ports"][index]

    def stream(self):
        streams = self.stats()["streams"]
        assert len(streams) == 1
        return streams[0]

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read()

    def stop(self):
        """Ends nicsim; returns (exit status, last statistics). Fails if a sanitiser reported an
        error."""
        for guest in self.guests:
            guest.close()
        if self.commands:
            self.answers.close()
            self.commands.close()
            self.commands = None
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("nicsim does not end at SIGTERM")
        self.process.stdout.close()
        text = self.stderr()
        assert "Sanitizer" not in text and "runtime error" not in text, text
        try:
            with open(self.stats_path) as f:
                return self.process.returncode, json.load(f)
        except FileNotFoundError:
            return self.process.returncode, None


@pytest.fixture
def nicsim(tmp_path):
    """nicsim("sink", "gen;…", "--once") starts one. At the end of the test nicsim is stopped and
    must have reported no violation, unless the test stopped it and checked that itself."""
    running = []

    def start(*arguments, **options):
        wires = [a for a in arguments if not a.startswith("--")]
        rest = [a for a in arguments if a.startswith("--")]
        directory = tmp_path / str(len(running))
        directory.mkdir()
        running.append(Nicsim(directory, wires, *rest, **options))
        assert running[-1].ready == "nicsim: ready\n", running[-1].stderr()
        return running[-1]

    yield start
    for n in running:
        alive = n.process.poll() is None
        status, _ = n.stop()
        assert not alive or status == 0, "status %s: %s" % (status, n.stderr())
