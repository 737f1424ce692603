"""`--script`: a configuration and a script for the packet generator in one file, for the guest takes
one boot module (docs/configuration.md, `script`)."""
import os
import re

NAME_MAX = 47


def name_of(path):
    """The file's name as the guest may call it in an error."""
    return re.sub(r"[^A-Za-z0-9._+-]", "_", os.path.basename(path))[:NAME_MAX]


def join(config, script, to):
    """Writes both to the file `to`; config may be None."""
    text = b""
    if config:
        with open(config, "rb") as file:
            text = file.read()
    with open(script, "rb") as file:
        rest = file.read()
    if text and not text.endswith(b"\n"):
        text += b"\n"
    with open(to, "wb") as file:
        file.write(text + b"script " + name_of(script).encode() + b"\n" + rest)
