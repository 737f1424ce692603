"""`hayate run pktgen --report DIR --capture FILE`, or one of the two options: a run or an RFC 2544 test
without an operator at the console.

The machine is a child, as in the tests. When its script has ended (docs/pktgen.md, Operation), the
launcher fetches the report in its three forms and the capture as base64, and stops the machine.
"""
import base64
import binascii
import os
import re
import sys

from . import guest
from .errors import EXIT_INVALID, EXIT_MISSING, EXIT_TIMEOUT, LauncherError, usage

OVER = re.compile(r"the (run|test) is over: (.*?); `show report` shows the results")
FAILED = re.compile(r"the (?:run is over: failed|test failed): ([^\r\n]*)")
WRONG = re.compile(r"the generator has no streams|the script does not start: [^\r\n]*")
FORMS = {"txt": "", "json": " json", "html": " html"}


def check(options):
    name = "--report" if options.report is not None else "--capture"
    if options.app != "pktgen" or not options.script:
        raise usage("%s: only with pktgen and --script" % name)
    if options.console != "stdio":
        raise usage("%s: the console is needed for it; leave --console out" % name)
    directory = os.path.dirname(os.path.abspath(options.capture or ""))
    if not os.path.isdir(directory):
        raise LauncherError("%s: no such directory" % directory)


def child_arguments(words):
    """The words of the command line without `--report DIR` and `--capture FILE`."""
    own = ("--report", "--capture")
    out = []
    words = iter(words)
    for word in words:
        if word in own:
            next(words, None)
        elif word.partition("=")[0] not in own:
            out.append(word)
    return out


def _between_marks(machine, command, name):
    # A long test sends several megabytes over the serial line.
    said = machine.command(command, 600)
    match = re.search(r"--- %s\n(.*)\n--- end" % re.escape(name), said, re.S)
    if not match:
        raise LauncherError("no %s: %s" % (name, said[-200:].strip()))
    return match[1] + "\n"


def _write_reports(machine, directory):
    for name, argument in FORMS.items():
        with open(os.path.join(directory, "report." + name), "w", encoding="utf-8") as file:
            file.write(_between_marks(machine, "show report" + argument, "report." + name)
                       if argument else machine.command("show report", 600))


def capture(machine):
    """The pcapng file of the last run, read from the console."""
    text = _between_marks(machine, "show capture base64", "capture.pcapng")
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error as error:
        raise LauncherError("the console damaged the capture: %s" % error) from None


def take(arguments, directory, timeout_s=None, capture_path=None):
    """Runs the machine of these `hayate run` arguments to the end of its script. Writes the three reports
    to the existing directory and the capture to its file; either may be None. True: all was valid."""
    try:
        with guest.Guest(arguments, echo=sys.stdout.write) as machine:
            machine.wait_ready(120)
            ended = re.compile("%s|%s|%s" % (OVER.pattern, FAILED.pattern, WRONG.pattern))
            said = machine.expect(ended, timeout_s or 1e9, "the end of the run")[0]
            if not OVER.search(said) and not said.startswith("the test failed"):
                raise LauncherError(said, EXIT_INVALID)
            if said.startswith("the test failed"):
                machine.expect(OVER, 20, "the end of the test")
            machine.echo = None
            if directory is not None:
                _write_reports(machine, directory)
            if capture_path is not None:
                with open(capture_path, "wb") as file:
                    file.write(capture(machine))
    except guest.GuestError as error:
        late = "--timeout ran out" in str(error)
        raise LauncherError(str(error), EXIT_TIMEOUT if late else EXIT_MISSING) from None
    good = OVER.search(said)
    return bool(good) and (good[2] == "valid" or good[2].endswith(" 0 invalid"))


def run(options, words):
    """words: the command line after `hayate run`. Returns the exit code."""
    check(options)
    if options.report is not None:
        os.makedirs(options.report, exist_ok=True)
    valid = take(child_arguments(words), options.report, options.timeout, options.capture)
    print()
    if options.report is not None:
        print("reports: %s" % os.path.join(options.report, "report.{txt,json,html}"))
    if options.capture is not None:
        print("capture: %s" % options.capture)
    return 0 if valid else EXIT_INVALID
