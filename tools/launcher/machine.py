"""One QEMU: start it, watch it, and report how it ended.

1. QEMU never outlives the launcher, and neither leaves files or processes of ours behind.
2. The terminal's state is always restored.
3. The guest's exit code is distinguished from QEMU's own: isa-debug-exit makes QEMU end with
   (code << 1) | 1, and QEMU itself ends with 1 if it cannot start. The launcher therefore keeps a
   control connection (QMP): once QEMU has greeted on it, an odd status is the guest's.
"""
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import tempfile
import termios
import time

from . import image, newqemu, nicsim, ports, process, script
from .errors import EXIT_QEMU, EXIT_SIGNAL, EXIT_TIMEOUT, LauncherError, usage
from .options import (AMDVI_QEMU, DEFAULT_APP, KEPT, KERNEL, NIC_MODELS, QEMU, QEMU_MODELS, disk_of, kernel_options,
                      modelled, port_queues, qemu_command)


class Terminal:
    """Saves the state of our standard streams and restores it. QEMU makes the terminal raw and the
    streams non-blocking, and does not undo this if it is killed."""

    def __enter__(self):
        self.flags = []
        self.modes = None
        for fd in (0, 1, 2):
            try:
                self.flags.append((fd, fcntl.fcntl(fd, fcntl.F_GETFL)))
            except OSError:
                continue
        if os.isatty(0):
            self.modes = termios.tcgetattr(0)
        return self

    def __exit__(self, *exc):
        for fd, flags in self.flags:
            fcntl.fcntl(fd, fcntl.F_SETFL, flags)
        if self.modes is not None:
            previous = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            termios.tcsetattr(0, termios.TCSANOW, self.modes)
            signal.signal(signal.SIGTTOU, previous)
        return False


class Signals:
    """Turns SIGTERM, SIGINT, SIGHUP and SIGCHLD into readable bytes, so that one poll waits for them, for
    QEMU and for the deadline."""

    STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

    def __enter__(self):
        self.reader, self.writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.old = {number: signal.signal(number, lambda *_: None)
                    for number in self.STOP + (signal.SIGCHLD,)}
        self.old_fd = signal.set_wakeup_fd(self.writer, warn_on_full_buffer=False)
        return self

    def __exit__(self, *exc):
        signal.set_wakeup_fd(self.old_fd)
        for number, handler in self.old.items():
            signal.signal(number, handler)
        os.close(self.reader)
        os.close(self.writer)
        return False

    def received(self):
        try:
            return [number for number in os.read(self.reader, 256) if number != signal.SIGCHLD]
        except BlockingIOError:
            return []


class Control:
    """Our end of QEMU's control connection: shows whether QEMU has started and whether KVM has failed."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""
        self.greeted = False
        self.failure = None
        self.open = True

    def readable(self):
        data = b""
        try:
            data = self.sock.recv(65536)
        except OSError:
            pass
        if not data:
            self.open = False
            return
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            self._message(json.loads(line))

    def _message(self, message):
        if "QMP" in message:
            self.greeted = True
            self._send("qmp_capabilities")
        elif message.get("event") == "STOP":
            self._send("query-status")
        elif isinstance(message.get("return"), dict):
            if message["return"].get("status") == "internal-error":
                self.failure = "KVM cannot run the guest any further (internal error)"

    def _send(self, command):
        try:
            self.sock.sendall(json.dumps({"execute": command}).encode() + b"\n")
        except OSError:
            self.open = False


def check(options):
    """Makes all checks that are possible before anything is started."""
    if modelled(options):
        nicsim.check(options)
    for port in options.ports:
        if port.kind == "wire" and not modelled(options):
            raise usage("--port %s: only with --nic %s" % (port.text, " or ".join(NIC_MODELS)))
    if options.boot == "kernel" and options.media != "disk":
        raise usage("--media %s: only with --boot bios, uefi or secure" % options.media)
    if options.media in KEPT and not options.image:
        raise usage("--media %s: needs --image, a disk that `hayate image --disk` has made" % options.media)
    if options.boot == "secure" and not options.image:
        raise usage("--boot secure: needs --image, one that `hayate image --sign-key` has made")
    if options.boot != "kernel" and options.image:
        for value, name in ((options.config, "--config"), (options.script, "--script"), (options.programs, "--program"),
                            (options.files, "--file"), (options.site, "--site"), (options.append, "--append"),
                            (options.idle, "--idle"), (options.app != DEFAULT_APP, options.app)):
            if value:
                raise usage("%s cannot be changed in a ready-made --image; leave --image out and "
                            "one is built" % name)
    if len(options.ports) > 16:
        raise usage("--port: %d given, at most 16" % len(options.ports))
    ports.parse_mac(options.mac)
    for path, what in ((options.config, "--config"), (options.script, "--script"),
                       (options.image or (KERNEL if options.boot == "kernel" else None), "image")):
        if path and not os.path.isfile(path):
            hint = "" if path in (options.config, options.script) else " (build it with: make)"
            raise LauncherError("%s %s: no such file%s" % (what, path, hint))
        if path and not os.access(path, os.R_OK):
            raise LauncherError("%s %s: not readable" % (what, path))
    for text in options.disks:
        path, _ = disk_of(text)
        if not os.path.isfile(path):
            raise LauncherError("--disk %s: no such file" % path)
        if not os.access(path, os.R_OK | os.W_OK):
            raise LauncherError("--disk %s: not readable and writable" % path)
    script.programs(options.programs)
    script.named(options.files)
    if options.script and options.app != "pktgen":
        raise usage("--script: %s takes none, pktgen does" % options.app)
    if options.site and options.app != "web":
        raise usage("--site: %s serves none, web does" % options.app)
    if options.site and not os.path.exists(options.site):
        raise LauncherError("--site %s: no such file" % options.site)
    if options.config and os.path.getsize(options.config) == 0:
        raise LauncherError("--config %s: the file is empty" % options.config)
    if options.qemu and not shutil.which(options.qemu):
        raise LauncherError("%s: no such program (tools/deps.sh install run)" % options.qemu)


def has_amdvi(options):
    return options.iommu and options.iommu_model.startswith("amdvi")


def wants_new_qemu(options):
    """True for features that QEMU in stable distributions lacks: cards, nicsim's or its own, AMD-Vi for them, and
    in_order."""
    return (modelled(options) or options.nic in QEMU_MODELS or has_amdvi(options) or
            any(port.option("in_order") == "on" for port in options.ports))


def find_qemu(options):
    """(the first words of QEMU's command line, additions to its environment)."""
    if options.qemu:
        return [options.qemu], {}
    if wants_new_qemu(options):
        minimum, device = newqemu.MINIMUM, newqemu.DEVICE
        if options.nic in QEMU_MODELS:
            minimum, device = QEMU_MODELS[options.nic], options.nic
        qemu = newqemu.find(max(minimum, AMDVI_QEMU) if has_amdvi(options) else minimum, device)
        return qemu.argv, qemu.env
    if not shutil.which(QEMU):
        raise LauncherError("%s: no such program (tools/deps.sh install run)" % QEMU)
    return [QEMU], {}


def run(options):
    """Runs the machine to its end and returns the launcher's exit code."""
    check(options)
    qemu = find_qemu(options)
    taps = {}
    models = None
    # GRUB's image, UEFI's variables, and a module joined of several files need temporary files.
    own = options.boot != "kernel" or script.is_joined(options)
    work = tempfile.mkdtemp(prefix="hayate-run-") if own else None
    try:
        with Signals() as signals:
            boot_image = options.image
            if script.is_joined(options):
                options.module = script.module(options, work)
            if options.boot != "kernel" and not options.image:
                boot_image = os.path.join(work, "hayate.iso")
                image.build(boot_image, config=options.module or options.config,
                            arguments=kernel_options(options),
                            default_app=options.app, timeout_s=0)
            for index, port in enumerate(options.ports):
                if port.kind == "tap":
                    header = {"header": 0} if modelled(options) else {}
                    taps[index] = ports.open_tap(port, port_queues(port, options), **header)
            stopped = signals.received()
            if stopped:
                return EXIT_SIGNAL + stopped[0]
            if modelled(options):
                models = nicsim.Nicsim(options, taps)
            code = _run_qemu(options, qemu, signals, taps, boot_image, work, models)
        wrong = models.stop() if models else ""
        models = None
        if wrong and code == 0:
            raise LauncherError(wrong, EXIT_QEMU)
        return code
    finally:
        if models:
            models.stop()
        for fds in taps.values():
            for fd in fds:
                os.close(fd)
        if work:
            shutil.rmtree(work, ignore_errors=True)
        for path in _sockets(options):
            try:
                os.unlink(path)
            except OSError:
                pass


def _sockets(options):
    """Paths where QEMU leaves a socket behind."""
    if options.qmp:
        yield options.qmp
    if options.console.startswith("unix:"):
        yield options.console[5:].split(",")[0]


def _run_qemu(options, qemu, signals, taps, boot_image, work, models):
    ours, theirs = socket.socketpair()

    def vars_copy(path):
        return shutil.copyfile(path, os.path.join(work, "variables.fd"))

    devices = _devices(options, models.directory) if models else None
    argv = qemu[0] + qemu_command(options, taps, boot_image, vars_copy, theirs.fileno(), devices)
    keep = [theirs.fileno()]
    if not models:
        keep += [fd for fds in taps.values() for fd in fds]
    with Terminal():
        child = process.popen(argv, pass_fds=keep, env={**os.environ, **qemu[1]})
        try:
            theirs.close()
            if options.pidfile:
                with open(options.pidfile, "w", encoding="ascii") as file:
                    file.write("%d\n" % child.pid)
            control = Control(ours)
            reason = _watch(child, control, signals, options.timeout)
        finally:
            process.stop(child)
            ours.close()
            if options.pidfile and os.path.exists(options.pidfile):
                os.unlink(options.pidfile)
    return _exit_code(child.returncode, control, reason)


def _watch(child, control, signals, timeout_s):
    """Waits for the end. Returns None if QEMU ended by itself, else the reason to end it: an exit code of
    ours or a message."""
    deadline = time.monotonic() + timeout_s if timeout_s else None
    poll = select.poll()
    poll.register(signals.reader, select.POLLIN)
    poll.register(control.sock, select.POLLIN)
    watching = True
    while True:
        wait_ms = None
        if deadline is not None:
            wait_ms = max(0, int((deadline - time.monotonic()) * 1000) + 1)
        ready = {fd for fd, _ in poll.poll(wait_ms)}
        if watching and control.sock.fileno() in ready:
            control.readable()
            if not control.open:
                poll.unregister(control.sock)
                watching = False
        stopped = signals.received() if signals.reader in ready else []
        if child.poll() is not None:
            while watching and select.select([control.sock], [], [], 0)[0] and control.open:
                control.readable()  # the greeting of a guest that ended at once
            return None
        if stopped:
            return EXIT_SIGNAL + stopped[0]
        if control.failure:
            return control.failure
        if deadline is not None and time.monotonic() >= deadline:
            return EXIT_TIMEOUT


def _exit_code(status, control, reason):
    if isinstance(reason, str):
        raise LauncherError(reason, EXIT_QEMU)
    if reason == EXIT_TIMEOUT:
        raise LauncherError("--timeout ran out; the machine was stopped", EXIT_TIMEOUT)
    if reason is not None:
        return reason
    if status < 0:
        raise LauncherError("QEMU was killed by %s" % signal.Signals(-status).name, EXIT_QEMU)
    if status == 0:
        return 0  # powered off by ACPI, or quit at QEMU's monitor
    if status & 1 and control.greeted:
        return status >> 1
    raise LauncherError("QEMU failed (status %d)" % status, EXIT_QEMU)


def qmp(path, command, **arguments):
    """Sends one command to a QEMU that was started with --qmp, on a connection of its own; returns the
    answer. (QEMU serves one connection at a time.)"""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(10)
        sock.connect(path)
        with sock.makefile("rw", encoding="utf-8") as stream:
            json.loads(stream.readline())  # the greeting
            for name, values in (("qmp_capabilities", {}), (command, arguments)):
                stream.write(json.dumps({"execute": name, "arguments": values}) + "\n")
                stream.flush()
                answer = json.loads(stream.readline())
                while "event" in answer:
                    answer = json.loads(stream.readline())
                if "error" in answer:
                    raise LauncherError("QEMU: %s: %s" % (name, answer["error"]["desc"]), EXIT_QEMU)
            return answer["return"]


def _devices(options, directory):
    return [word for index in range(len(options.ports))
            for word in nicsim.device_arguments(index, directory)]


def shown(options):
    """The command lines of `--print`: complete, except that taps are named instead of passed as file
    descriptors, and models listen in DIRECTORY."""
    image_name = options.image if options.boot != "kernel" else None
    if not modelled(options):
        qemu = find_qemu(options)[0] if wants_new_qemu(options) else [options.qemu or QEMU]
        return [qemu + qemu_command(options, None, image_name)]
    return [nicsim.command(options, "DIRECTORY"),
            find_qemu(options)[0] + qemu_command(options, None, image_name,
                                                 devices=_devices(options, "DIRECTORY"))]


