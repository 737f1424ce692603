"""Common parts of `hayate demo` and `hayate rfc2544`: set up a lab, boot a machine, print each step, tear
it down."""
import contextlib
import os
import shutil
import signal
import sys
import time

from . import netlab
from .errors import EXIT_DEMO, EXIT_SIGNAL, LauncherError
from .guest import LAUNCHER, PYTHON, Guest, GuestError
from .options import KERNEL, choose_accel


class Failure(Exception):
    """Part of the demonstration did not work."""


class Steps:
    """Progress: one line per step, begun when the step starts and completed when it ends."""

    def __init__(self):
        self.begin = time.monotonic()
        self.open = False

    def step(self, text):
        self.done("")
        sys.stdout.write("[%5.1f s] %-44s " % (time.monotonic() - self.begin, text))
        sys.stdout.flush()
        self.open = True

    def done(self, text):
        if self.open:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
            self.open = False


class Stopped(BaseException):
    def __init__(self, number):
        super().__init__(number)
        self.number = number


def _stop(number, _frame):
    raise Stopped(number)


def conduct(name, programs, options, body, purpose="run"):
    """Runs body(options, steps, stack) after checking that this machine has the programs, which
    `tools/deps.sh install PURPOSE` installs, and allows network namespaces. The stack is unwound however
    body ends. Returns body's exit code, None being 0."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    steps = Steps()
    try:
        _check_machine(name, programs, options, purpose)
        with contextlib.ExitStack() as stack:
            return body(options, steps, stack) or 0
    except Stopped as stopped:
        steps.done("stopped")
        return EXIT_SIGNAL + stopped.number
    except (Failure, GuestError) as failure:
        steps.done("FAILED")
        raise LauncherError("%s: %s" % (name, failure), EXIT_DEMO) from None
    except LauncherError:
        steps.done("FAILED")
        raise


def boot(options, steps, stack, work, app, config, ports, more=()):
    """Boots a machine with that configuration; returns it once its links are up."""
    accel = choose_accel(options.accel)
    path = os.path.join(work, "demo.conf")
    with open(path, "w", encoding="ascii") as file:
        file.write(config)
    steps.step("booting the %s (%s, %d CPU%s, %s)"
               % (app, accel.upper(), options.cpus, "s" if options.cpus > 1 else "", options.nic))
    arguments = [app, "--config", path, "--accel", accel, "--cpus", str(options.cpus), "--nic", options.nic, *more]
    for port in ports:
        arguments += ["--port", port]
    for name in "qemu", "image":
        if getattr(options, name):
            arguments += ["--" + name, getattr(options, name)]
    guest = stack.enter_context(Guest(arguments))
    ready = guest.wait_ready()
    guest.wait_prompt()
    guest.wait_links()
    steps.done("ready %.1f ms after the kernel began" % ready[2])
    return guest


def end(guest):
    """Ends a machine, whose counters must add up."""
    wrong = guest.counters().unbalanced()
    if wrong:
        raise Failure("the counters do not add up: " + wrong)
    guest.send("poweroff")
    code = guest.wait_exit()
    if code != 0:
        raise Failure("the machine ended with code %d" % code)


def _check_machine(name, programs, options, purpose):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        raise LauncherError("not installed: %s (tools/deps.sh install %s)" % (", ".join(missing), purpose))
    kernel = options.image or KERNEL
    if not os.path.isfile(kernel):
        raise LauncherError("%s: no such file (build it with: make)" % kernel)
    reason = netlab.usable()
    if reason and os.geteuid() != 0:
        netlab.become_root_in_user_namespace([PYTHON, LAUNCHER, *sys.argv[1:]])
        reason += "; this machine does not let users make them: run `sudo tools/hayate %s`" % name
    if reason:
        raise LauncherError(reason)
