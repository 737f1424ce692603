"""`--script`: joins a configuration, a script for the packet generator and the captures that it replays
in one file, because the guest takes one boot module (docs/configuration.md, `script`)."""
import os
import re
import shutil

from .errors import LauncherError

NAME_MAX = 47
# Statements `replay FILE`.
REPLAY = re.compile(rb"^[ \t]*replay[ \t]+([^ \t\r\n]+)", re.I | re.M)
MODULE_MAX = 2 << 30  # fits below 4 GiB, beside the devices


def name_of(path):
    """The file's name, in characters that the guest can print in an error."""
    return re.sub(r"[^A-Za-z0-9._+-]", "_", os.path.basename(path))[:NAME_MAX]


def captures(path, text):
    """{name in the script: path} of the captures that a script replays, which are in its directory."""
    names = dict.fromkeys(REPLAY.findall(text))
    return {name: os.path.join(os.fsencode(os.path.dirname(path)), name) for name in names}


def _add_file(out, name, path, script):
    try:
        with open(path, "rb") as file:
            out.write(b"file %s %d\n" % (name, os.fstat(file.fileno()).st_size))
            shutil.copyfileobj(file, out)
    except OSError as error:
        raise LauncherError("%s replays %s: %s" %
                            (script, os.fsdecode(path), error.strerror)) from None


def join(config, script, to):
    """Writes the joined file to `to`; config may be None."""
    text = b""
    if config:
        with open(config, "rb") as file:
            text = file.read()
    with open(script, "rb") as file:
        rest = file.read()
    if text and not text.endswith(b"\n"):
        text += b"\n"
    files = captures(script, rest)
    if files and not rest.endswith(b"\n"):
        rest += b"\n"
    with open(to, "wb") as file:
        file.write(text + b"script " + name_of(script).encode() + b"\n" + rest)
        for name, path in files.items():
            _add_file(file, name, path, script)
        if file.tell() > MODULE_MAX:
            raise LauncherError("%s and the captures that it replays have %d MiB; at most %d MiB "
                                "can be loaded" % (script, file.tell() >> 20, MODULE_MAX >> 20))
