"""`hayate password` and `hayate token`: make the configuration statements for a password (control/config/password.h)
and for a token of the API (docs/http.md)."""
import base64
import getpass
import hashlib
import os
import re
import sys

from .errors import LauncherError, usage

ITERATIONS = 100000  # a tenth of a second of the machine's control core
ITERATIONS_MIN, ITERATIONS_MAX = 1000, 10000000
BYTES_MAX = 128
SALT_BYTES = 16
ROLES = "read", "operate", "configure"
TOKEN_BYTES = 32
USER = re.compile("[a-z_][a-z0-9_-]{0,19}")


def _base64(data):
    """Base64 in passlib's form: '.' instead of '+', no padding."""
    return base64.b64encode(data, b"./").decode().rstrip("=")


def line(password, iterations=ITERATIONS, salt=None, user=None, role="configure"):
    """The statement for a password (bytes): of a user, or else of the console."""
    salt = salt or os.urandom(SALT_BYTES)
    key = hashlib.pbkdf2_hmac("sha256", password, salt, iterations)
    whose = "username %s role %s password" % (user, role) if user else "console password"
    return "%s $pbkdf2-sha256$%d$%s$%s" % (whose, iterations, _base64(salt), _base64(key))


def token(user, data=None):
    """A new token and the statement that makes it the user's. The machine knows only the hash."""
    data = base64.urlsafe_b64encode(data or os.urandom(TOKEN_BYTES)).decode().rstrip("=")
    text = "hayate_" + data
    return text, "username %s token %s" % (user, hashlib.sha256(text.encode()).hexdigest())


def _check_user(user):
    if not USER.fullmatch(user):
        raise usage("a user's name has 1 to 20 characters: small letters, digits, - and _, and begins with a "
                    "letter or _")


def _ask():
    """Reads the password from the terminal, twice and without echo, or from the first line of a pipe."""
    if not os.isatty(0):
        return sys.stdin.buffer.readline().rstrip(b"\r\n")
    first = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != first:
        raise LauncherError("the two passwords differ")
    return first.encode()


def run(iterations, user=None, role="configure"):
    if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise usage("--iterations: %d to %d" % (ITERATIONS_MIN, ITERATIONS_MAX))
    if user is not None:
        _check_user(user)
    password = _ask()
    if not 0 < len(password) <= BYTES_MAX:
        raise LauncherError("a password has 1 to %d bytes" % BYTES_MAX)
    # Bytes that a terminal would interpret as control keys.
    if any(byte < 0x20 or byte == 0x7f or byte == 0xff for byte in password):
        raise LauncherError("a password has no control characters")
    print(line(password, iterations, user=user, role=role))
    return 0


def run_token(user):
    """Prints the token on standard error, because it is shown this once, and the statement on standard output."""
    _check_user(user)
    text, statement = token(user)
    print("token, shown only now: %s" % text, file=sys.stderr)
    print(statement)
    return 0
