"""Exit codes of the launcher, and the exception that carries one of them.

Codes 0 to 63 are the guest's own (`poweroff CODE`, 1 = kernel panic, 2 = its control core kept
faulting) and are passed on. The launcher's own codes are higher, so a script can tell them apart.
"""

EXIT_INVALID = 120   # --report: a run or a trial was invalid, or the test could not be made
EXIT_DEMO = 121      # the demo ran, but something it shows did not work
EXIT_USAGE = 122     # an option or its value is wrong
EXIT_MISSING = 123   # this machine lacks something: a file, a program, a permission
EXIT_TIMEOUT = 124   # --timeout ran out
EXIT_QEMU = 125      # QEMU did not start, or crashed
EXIT_SIGNAL = 128    # + signal number: a signal stopped the launcher


class LauncherError(Exception):
    """Ends the launcher with one line on standard error and `code` as exit code."""

    def __init__(self, message, code=EXIT_MISSING):
        super().__init__(message)
        self.code = code


def usage(message):
    return LauncherError(message, EXIT_USAGE)
