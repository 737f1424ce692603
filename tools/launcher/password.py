"""`hayate password`: makes the configuration statement for a password (control/config/password.h)."""
import base64
import getpass
import hashlib
import os
import sys

from .errors import LauncherError, usage

ITERATIONS = 100000  # a tenth of a second of the machine's control core
ITERATIONS_MIN, ITERATIONS_MAX = 1000, 10000000
BYTES_MAX = 128
SALT_BYTES = 16


def _base64(data):
    """Base64 in passlib's form: '.' instead of '+', no padding."""
    return base64.b64encode(data, b"./").decode().rstrip("=")


def line(password, iterations=ITERATIONS, salt=None):
    """The statement for a password (bytes)."""
    salt = salt or os.urandom(SALT_BYTES)
    key = hashlib.pbkdf2_hmac("sha256", password, salt, iterations)
    return "console password $pbkdf2-sha256$%d$%s$%s" % (iterations, _base64(salt), _base64(key))


def _ask():
    """Reads the password from the terminal, twice and without echo, or from the first line of a pipe."""
    if not os.isatty(0):
        return sys.stdin.buffer.readline().rstrip(b"\r\n")
    first = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != first:
        raise LauncherError("the two passwords differ")
    return first.encode()


def run(iterations):
    if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise usage("--iterations: %d to %d" % (ITERATIONS_MIN, ITERATIONS_MAX))
    password = _ask()
    if not 0 < len(password) <= BYTES_MAX:
        raise LauncherError("a password has 1 to %d bytes" % BYTES_MAX)
    # Bytes that a terminal would interpret as control keys.
    if any(byte < 0x20 or byte == 0x7f or byte == 0xff for byte in password):
        raise LauncherError("a password has no control characters")
    print(line(password, iterations))
    return 0
