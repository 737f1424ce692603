"""`--nic ixgbe`, `igc` and `mlx5`: the cards are nicsim's models, a process beside QEMU (docs/nicsim.md).

1. nicsim never outlives the launcher, and the launcher starts QEMU only once nicsim listens.
2. Its sockets are in a temporary directory of the run.
3. The launcher opens a tap and passes it on, as for QEMU, so nicsim needs no privilege for it.
4. If a model reports that the guest broke a rule (exit status 3), this is reported again at the end.
"""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

from . import ports, process
from .errors import EXIT_QEMU, LauncherError, usage
from .options import NIC_MODELS, ROOT

NICSIM = os.path.join(ROOT, "build", "nicsim")
START_S = 10
VIOLATIONS = 3  # nicsim's exit status


def check(options):
    """Makes all checks that are possible before anything is started."""
    for port in options.ports:
        if port.kind not in ("tap", "none", "wire"):
            raise usage("--port %s: not with --nic %s (tap, none, wire)" % (port.text, options.nic))
    for text in options.nicsim_option:
        _split(text, len(options.ports))
    if not os.access(NICSIM, os.X_OK):
        raise LauncherError("%s: no such program (build it with: make nicsim)" % NICSIM)


def _split(text, count):
    """(port or None, "KEY=VALUE") of one --nicsim-option."""
    head, colon, rest = text.partition(":")
    if not colon or not head.isdigit():
        head, rest = None, text
    elif int(head) >= count:
        raise usage("--nicsim-option %s: there is no port %s" % (text, head))
    if "=" not in rest:
        raise usage("--nicsim-option %s: [PORT:]KEY=VALUE, as in 0:fault=reset-stuck" % text)
    return None if head is None else int(head), rest


def ask(control, line, timeout_s=10):
    """Sends one line to the control socket of a running nicsim; returns the answer, a dictionary."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(timeout_s)
        sock.connect(control)
        with sock.makefile("rw", encoding="utf-8") as stream:
            stream.write(line + "\n")
            stream.flush()
            answer = json.loads(stream.readline())
    if not answer["ok"]:
        raise LauncherError("nicsim: %s: %s" % (line, answer["error"]))
    return answer


def socket_path(directory, index):
    return os.path.join(directory, "port%d" % index)


def _wire(port, fds):
    if port.kind == "tap":
        return "tap:" + port.argument if fds is None else "tap-fd:%d" % fds[0]
    return "none" if port.kind == "none" else port.argument


def command(options, directory, tap_fds=None):
    """nicsim's whole command line. tap_fds as for options.qemu_command."""
    argv = [NICSIM, "--die-with-parent"]
    for index, port in enumerate(options.ports):
        words = ["model=" + NIC_MODELS[options.nic],
                 "socket=" + socket_path(directory, index),
                 "wire=" + _wire(port, tap_fds and tap_fds.get(index)),
                 "mode=" + options.nic_mode,
                 "mac=" + (port.option("mac") or ports.mac_of(options.mac, index))]
        for text in options.nicsim_option:
            number, word = _split(text, len(options.ports))
            if number in (None, index):
                words.append(word)
        argv += ["--port", ",".join(words)]
    for name in ("control", "stats"):
        value = getattr(options, "nicsim_" + name)
        if value:
            argv += ["--" + name, value]
    return argv


class Nicsim:
    """The running models. `directory` holds their sockets."""

    def __init__(self, options, tap_fds):
        self.directory = tempfile.mkdtemp(prefix="hayate-nicsim-")
        self.child = None
        fds = [fd for fds in tap_fds.values() for fd in fds]
        try:
            argv = command(options, self.directory, tap_fds)
            with open(os.path.join(self.directory, "out"), "wb") as out:
                self.child = process.popen(argv, cpus=options.nicsim_cpus, pass_fds=fds, stdout=out,
                                           stdin=subprocess.DEVNULL)
            self._wait(len(options.ports))
        except BaseException:
            self.stop()
            raise

    def _wait(self, count):
        """Waits until every port listens."""
        deadline = time.monotonic() + START_S
        while not all(os.path.exists(socket_path(self.directory, i)) for i in range(count)):
            if self.child.poll() is not None:
                raise LauncherError("nicsim ended at once (status %d)" % self.child.returncode,
                                    EXIT_QEMU)
            if time.monotonic() > deadline:
                raise LauncherError("nicsim does not listen within %d s" % START_S, EXIT_QEMU)
            time.sleep(0.005)

    def stop(self):
        """Ends the models. Returns a message if a model found a violation or failed, else ''."""
        message = ""
        if self.child is not None:
            process.stop(self.child)
            if self.child.returncode == VIOLATIONS:
                message = "nicsim: the guest broke the rules of its card (see above)"
            elif self.child.returncode != 0:
                message = "nicsim failed (status %d)" % self.child.returncode
        shutil.rmtree(self.directory, ignore_errors=True)
        return message


def device_arguments(index, directory, **properties):
    """QEMU arguments of port `index`."""
    device = {"driver": "vfio-user-pci", "id": "nic%d" % index, **properties,
              "socket": {"type": "unix", "path": socket_path(directory, index)}}
    return ["-device", json.dumps(device, separators=(",", ":"))]
