"""`hayate run pktgen --report DIR`: a run or a test of RFC 2544 without anybody at the console.

The machine is a child, as in the tests. When its script has ended (docs/pktgen.md, Operation) the
report is asked for in its three forms and the machine is stopped.
"""
import os
import re
import sys

from . import guest
from .errors import EXIT_INVALID, EXIT_MISSING, EXIT_TIMEOUT, LauncherError, usage

OVER = re.compile(r"the (run|test) is over: (.*?); `show report` tells")
FAILED = re.compile(r"the (?:run is over: failed|test failed): ([^\r\n]*)")
WRONG = re.compile(r"the generator has no streams|the script does not start: [^\r\n]*")
FORMS = {"txt": "", "json": " json", "html": " html"}


def check(options):
    if options.app != "pktgen" or not options.script:
        raise usage("--report: only with pktgen and --script")
    if options.console != "stdio":
        raise usage("--report: the console is needed for it; leave --console out")


def child_arguments(words):
    """Those of the command line without `--report DIR`."""
    out = []
    words = iter(words)
    for word in words:
        if word == "--report":
            next(words, None)
        elif not word.startswith("--report="):
            out.append(word)
    return out


def _form(machine, name, argument):
    # several megabytes of a long test come by the serial line
    said = machine.command("show report" + argument, 600)
    if not argument:
        return said
    match = re.search(r"--- report\.%s\n(.*)\n--- end" % name, said, re.S)
    if not match:
        raise LauncherError("no report as %s: %s" % (name, said[-200:]))
    return match[1] + "\n"


def take(arguments, directory, timeout_s=None):
    """Runs the machine of these `hayate run` arguments to the end of its script and writes the three
    reports to the directory, which is there. True: all of it was valid."""
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
            for name, argument in FORMS.items():
                path = os.path.join(directory, "report." + name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(_form(machine, name, argument))
    except guest.GuestError as error:
        late = "--timeout ran out" in str(error)
        raise LauncherError(str(error), EXIT_TIMEOUT if late else EXIT_MISSING) from None
    good = OVER.search(said)
    return bool(good) and (good[2] == "valid" or good[2].endswith(" 0 invalid"))


def run(options, words):
    """words: the command line behind `hayate run`. Returns the exit code."""
    check(options)
    os.makedirs(options.report, exist_ok=True)
    valid = take(child_arguments(words), options.report, options.timeout)
    print("\nreports: %s" % os.path.join(options.report, "report.{txt,json,html}"))
    return 0 if valid else EXIT_INVALID
