"""What `hayate demo` and `hayate rfc2544` share: they make a lab, say each step, take it down."""
import contextlib
import os
import shutil
import signal
import sys
import time

from . import netlab
from .errors import EXIT_DEMO, EXIT_SIGNAL, LauncherError
from .guest import LAUNCHER, PYTHON, GuestError
from .options import KERNEL


class Failure(Exception):
    """Something that was to be shown did not work."""


class Steps:
    """Progress: one line per step, said before it starts and completed when it ends."""

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


def conduct(name, programs, options, body):
    """body(options, steps, stack) in a machine that has these programs and lets us make namespaces;
    whatever ends it, what lies on the stack is taken down. Returns body's exit code, None being 0."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    steps = Steps()
    try:
        _check_machine(name, programs, options)
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


def _check_machine(name, programs, options):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        raise LauncherError("not installed: %s (tools/deps.sh install run)" % ", ".join(missing))
    kernel = options.image or KERNEL
    if not os.path.isfile(kernel):
        raise LauncherError("%s: no such file (build it with: make)" % kernel)
    reason = netlab.usable()
    if reason and os.geteuid() != 0:
        netlab.become_root_in_user_namespace([PYTHON, LAUNCHER, *sys.argv[1:]])
        reason += "; this machine does not let users make them: run `sudo tools/hayate %s`" % name
    if reason:
        raise LauncherError(reason)
