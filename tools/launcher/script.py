"""`--script`, `--program` and `--site`: joins a configuration, a script for the packet generator, the captures that
it replays, objects of XDP programs, and the web server's archive in one file, because the guest takes one boot module
(docs/configuration.md, `script`)."""
import os
import re
import shutil
import tarfile

from .errors import EXIT_USAGE, LauncherError

NAME_MAX = 47
# Statements `replay FILE`.
REPLAY = re.compile(rb"^[ \t]*replay[ \t]+([^ \t\r\n]+)", re.I | re.M)
PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,30}")
MODULE_MAX = 2 << 30  # fits below 4 GiB, beside the devices


def name_of(path):
    """The file's name, in characters that the guest can print in an error."""
    return re.sub(r"[^A-Za-z0-9._+-]", "_", os.path.basename(path))[:NAME_MAX]


def captures(path, text):
    """{name in the script: path} of the captures that a script replays, which are in its directory."""
    names = dict.fromkeys(REPLAY.findall(text))
    return {name: os.path.join(os.fsencode(os.path.dirname(path)), name) for name in names}


def programs(words):
    """[(name in the guest, path)] of the words NAME=FILE of --program."""
    named = []
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or not PROGRAM.fullmatch(name):
            raise LauncherError("--program %s: expected NAME=FILE, NAME of 1 to 31 letters, digits, and "
                                "characters of -_." % word, EXIT_USAGE)
        if not os.path.isfile(path):
            raise LauncherError("--program %s: no such file" % path)
        if name in (other for other, _ in named):
            raise LauncherError("--program %s: given twice" % name, EXIT_USAGE)
        named.append((name, path))
    return named


def _add_file(out, name, path, what):
    try:
        with open(path, "rb") as file:
            out.write(b"file %s %d\n" % (name, os.fstat(file.fileno()).st_size))
            shutil.copyfileobj(file, out)
    except OSError as error:
        raise LauncherError("%s %s: %s" % (what, os.fsdecode(path), error.strerror)) from None


def site(path, work):
    """The tar archive of --site: the file itself, or one made in `work` of a folder's files."""
    if not os.path.exists(path):
        raise LauncherError("--site %s: no such file" % path)
    if not os.path.isdir(path):
        return path
    made = os.path.join(work, "site.tar")
    try:
        with tarfile.open(made, "w", format=tarfile.PAX_FORMAT, dereference=True) as tar:
            tar.add(path, arcname=".")
    except OSError as error:
        raise LauncherError("--site %s: %s" % (error.filename or path, error.strerror)) from None
    return made


def is_joined(options):
    """Does the boot module consist of several files?"""
    return bool(options.script or options.programs or options.site or options.files)


def named(files):
    """[(name, path)] of --file NAME=F."""
    found = []
    for text in files:
        name, _, path = text.partition("=")
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,63}", name) or name in ("site", "install") or not path:
            raise LauncherError("--file %s: NAME=F is expected; NAME has 1 to 63 letters, digits and characters of _.-, "
                                "and is neither site nor install" % text, EXIT_USAGE)
        if name in dict(found):
            raise LauncherError("--file %s: given twice" % name, EXIT_USAGE)
        found.append((name, path))
    return found


def module(options, work, install=None):
    """The file for the boot module: the configuration alone, None, or one made in `work`. install: an install file."""
    if not is_joined(options) and not install:
        return options.config
    made = os.path.join(work, "hayate-install.conf" if install else "hayate.conf")
    join(options.config, options.script, made, programs(options.programs),
         site(options.site, work) if options.site else None, install, named(options.files))
    return made


def join(config, script, to, objects=(), archive=None, install=None, others=()):
    """Writes the joined file to `to`; config, script, archive and install may be None. objects: see programs(), others:
    named()."""
    text = b""
    if config:
        with open(config, "rb") as file:
            text = file.read()
    if text and not text.endswith(b"\n"):
        text += b"\n"
    files = {}
    if script:
        with open(script, "rb") as file:
            rest = file.read()
        files = captures(script, rest)
        text += b"script " + name_of(script).encode() + b"\n" + rest
    if text and (files or objects or archive or install or others) and not text.endswith(b"\n"):
        text += b"\n"
    with open(to, "wb") as file:
        file.write(text)
        for name, path in files.items():
            _add_file(file, name, path, "%s replays" % script)
        for name, path in objects:
            _add_file(file, b"program/" + name.encode(), path, "--program")
        for name, path in others:
            _add_file(file, name.encode(), path, "--file")
        if archive:
            _add_file(file, b"site", archive, "--site")
        if install:
            _add_file(file, b"install", install, "--installer")
        if file.tell() > MODULE_MAX:
            raise LauncherError("the files have %d MiB; at most %d MiB can be loaded" %
                                (file.tell() >> 20, MODULE_MAX >> 20))
