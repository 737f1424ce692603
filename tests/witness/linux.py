"""A stock Debian Linux in QEMU as an object: `with LinuxGuest(…) as guest: guest.run("ip link")`.

1. It ends with the test in all cases: QEMU is killed with us (launcher/process.py).
2. Every wait has a deadline, and an error shows the kernel's last words.
3. Commands and answers go over a virtio-serial port, framed (agent.sh), so neither the console
   nor a command's output can disturb them.
"""
import base64
import os
import re
import select
import shutil
import socket
import subprocess
import tempfile
import time
from collections import namedtuple

import initramfs
from launcher import newqemu, nicsim, process
from launcher.ports import MAC_BASE, mac_of

# A boot takes 9 s of CPU time, but on a busy machine its real time is unknown. So the limit is the
# CPU time of QEMU; the limit of real time is only for a guest that sleeps and never wakes.
BOOT_CPU_S = 60
BOOT_S = 600
OUTPUT_MAX = 64 << 20

Result = namedtuple("Result", "status output")


class LinuxError(Exception):
    """The guest did not do what it was asked to do."""


class LinuxGuest:
    """devices: QEMU arguments of the cards under test. pass_fds: descriptors in these arguments.

    recipes: the contents of the file system. programs: files of static programs, for /bin. log: file
    for the kernel's console.
    """

    def __init__(self, devices=(), pass_fds=(), recipes=(initramfs.BASE,), memory_mib=1024, cpus=2,
                 log=None, append="", qemu_log=None, programs=()):
        self.directory = tempfile.mkdtemp(prefix="hayate-witness-")
        self.child = None
        self.agent, theirs = socket.socketpair()
        self.pending = b""
        self.sequence = 0
        self.log = log or os.path.join(self.directory, "console.log")
        self.errors = open(qemu_log or os.path.join(self.directory, "qemu.log"), "wb")
        try:
            qemu = newqemu.find()
            image = os.path.join(self.directory, "initramfs")
            kernel = initramfs.write(image, *recipes, programs=programs)
            argv = qemu.argv + [
                "-name", "witness", "-nodefaults", "-no-user-config", "-display", "none",
                "-no-reboot", "-machine", "q35,memory-backend=mem", "-accel", "tcg,thread=multi",
                # Shared, because a card's model reads and writes the guest's memory.
                "-object", "memory-backend-memfd,id=mem,size=%dM,share=on" % memory_mib,
                "-m", "%dM" % memory_mib, "-smp", str(cpus), "-cpu", "max",
                "-kernel", kernel, "-initrd", image,
                # panic=-1 and -no-reboot: a panic ends QEMU, and is noticed at once.
                # no_timer_check: on a busy host the timer's interrupt comes too late for this test,
                # and the kernel panics.
                # clocksource=hpet: on a busy host the kernel measures the TSC wrongly against the PIT, by a factor
                # of up to seven, and time by the TSC would run as much too fast. The HPET states its rate.
                "-append", "console=ttyS0 quiet loglevel=5 nokaslr mitigations=off tsc=reliable "
                "clocksource=hpet no_timer_check log_buf_len=8M panic=-1 ipv6.disable_ipv6=1 net.ifnames=0 "
                + append,
                "-chardev", "file,id=console,path=" + self.log, "-serial", "chardev:console",
                "-device", "virtio-serial-pci", "-chardev",
                "socket,id=agent,fd=%d" % theirs.fileno(),
                "-device", "virtserialport,chardev=agent,name=hayate.agent", *devices]
            self.child = process.popen(argv, stdin=subprocess.DEVNULL, stdout=self.errors,
                                       stderr=subprocess.STDOUT, env={**os.environ, **qemu.env},
                                       pass_fds=[theirs.fileno(), *pass_fds])
            theirs.close()
            started = time.monotonic()
            self.release = self._greeting()
            self.boot_s = time.monotonic() - started
            os.unlink(image)  # already read, and large: nothing remains if we are killed
        except BaseException:
            theirs.close()
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
        return False

    def close(self):
        if self.child is not None:
            process.stop(self.child)
        self.agent.close()
        self.errors.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def console(self):
        """The kernel's console output."""
        try:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                return file.read().replace("\r", "")
        except OSError:
            return ""

    def _fail(self, what):
        said = "\n".join(self.console().splitlines()[-25:])
        self.errors.flush()
        with open(self.errors.name, encoding="utf-8", errors="replace") as file:
            said += "\n" + file.read()[-2000:]
        raise LinuxError("%s; the guest's last words:\n%s" % (what, said))

    def _receive(self, deadline, what):
        """Reads more bytes from the agent into `pending`."""
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([self.agent], [], [], left)[0]:
            self._fail("%s: nothing in time" % what)
        data = self.agent.recv(1 << 16)
        if not data:
            self._fail("QEMU ended while waiting for " + what)
        self.pending += data

    def _greeting(self):
        """Waits for the agent; returns the kernel's release."""
        end = time.monotonic() + BOOT_S
        while not select.select([self.agent], [], [], 1)[0]:
            if time.monotonic() > end or _cpu_s(self.child.pid) > BOOT_CPU_S:
                self._fail("no greeting of the agent in %.1f s of a CPU" % _cpu_s(self.child.pid))
        return self._line(time.monotonic() + 10, "the agent's greeting").split()[1]

    def _line(self, deadline, what):
        while b"\n" not in self.pending:
            self._receive(deadline, what)
        line, self.pending = self.pending.split(b"\n", 1)
        return line.decode("ascii", "replace")

    def run(self, command, timeout_s=30.0, check=True):
        """Runs a shell script in the guest; returns its Result. check: a nonzero status fails."""
        self.sequence += 1
        script = base64.b64encode(command.encode()).decode()
        what = "`%s`" % command.strip()
        self.agent.sendall(b"%d %d %s\n" % (self.sequence, max(1, round(timeout_s)),
                                            script.encode()))
        # The guest kills the script at its own deadline, and must still report that.
        deadline = time.monotonic() + timeout_s + 10
        match = re.fullmatch(r"DONE (\d+) (\d+) (\d+)", self._line(deadline, what))
        if not match or int(match.group(1)) != self.sequence or int(match.group(3)) > OUTPUT_MAX:
            self._fail("%s: the agent answers nonsense" % what)
        status, size = int(match.group(2)), int(match.group(3))
        while len(self.pending) < size:
            self._receive(deadline, what)
        output, self.pending = self.pending[:size], self.pending[size:]
        text = output.decode("utf-8", "replace")
        if check and status != 0:
            self._fail("%s: %s:\n%s" % (what, "killed after %g s" % timeout_s if status >= 128
                                        else "status %d" % status, text))
        return Result(status, text)

    def output(self, command, timeout_s=30.0):
        return self.run(command, timeout_s).output

    def wait(self, condition, timeout_s=30.0):
        """Waits in the guest until the shell condition holds; fails after timeout_s."""
        self.run("until %s; do sleep 0.1; done" % condition, timeout_s)


def _cpu_s(pid):
    """CPU seconds of a process (proc(5): utime and stime)."""
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
        ticks = file.read().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def root_port(index):
    """QEMU arguments of a slot for a card: on the root bus a card would appear as part of the root
    complex."""
    return ["-device", "pcie-root-port,id=slot%d,chassis=%d,slot=%d" % (index, index, index)]


def modelled(index, directory):
    """QEMU arguments of a card that nicsim models; nicsim listens in `directory`."""
    return root_port(index) + nicsim.device_arguments(index, directory, bus="slot%d" % index)


def emulated(index, name, tap_fd):
    """QEMU arguments of a card emulated by QEMU itself, on a tap: tests this harness without a
    model of ours."""
    return root_port(index) + [
        "-netdev", "tap,id=eth%d,fd=%d,vhost=off" % (index, tap_fd),
        "-device", "%s,id=nic%d,netdev=eth%d,bus=slot%d,mac=%s,romfile="
        % (name, index, index, index, mac_of(MAC_BASE, index))]
