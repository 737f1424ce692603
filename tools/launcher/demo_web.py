"""`hayate demo --app web`: a host, the web server, and what curl says of its files."""
import gzip
import hashlib
import io
import os
import random
import re
import tarfile
import tempfile
import time

from . import lab, netlab
from .lab import Failure
from .options import data_cores

SERVER, CLIENT = "192.0.2.1", "192.0.2.2"
BASE = "http://" + SERVER
CONFIG = """\
hostname hayate
http server port 8080
http access 192.0.2.0/24
interface eth0
 ip address %s/24
""" % SERVER
FILES, PARALLEL = 200, 8
MIB = 1 << 20
PROGRAMS = ("ip", "curl")


def run(options):
    return lab.conduct("demo --app web", PROGRAMS, options, _demo)


def _demo(options, steps, stack):
    work = stack.enter_context(tempfile.TemporaryDirectory(prefix="hayate-demo-"))
    print("\n  host                          Hayate, the web server\n"
          "  %-12s eth0 ------- %s, the files of a folder in memory\n" % (CLIENT, SERVER))
    steps.step("making a host and a site")
    host = stack.enter_context(netlab.Host("host", data_cores(options.cpus)))
    host.configure(CLIENT + "/24", SERVER)
    site = os.path.join(work, "site")
    files = _site(site)
    steps.done("%d files, %.1f MiB" % (len(files), sum(map(len, files.values())) / MIB))
    server = lab.boot(options, steps, stack, work, "web", CONFIG, [host.port], ["--site", site])
    host.wait_for_link()
    _page(steps, host, files)
    _conditions(steps, host, files)
    _everything(steps, host, files, os.path.join(work, "fetched"))
    _big(steps, host, files, os.path.join(work, "big"))
    _another(steps, host, files, work)

    steps.step("asking the server")
    counters, said = server.counters(), server.command("show web")
    if counters["web_server_errors"]:
        raise Failure("the server met errors: %s" % dict(counters))
    lab.end(server)
    steps.done("")
    print("\n" + "".join("  " + line + "\n" for line in said.splitlines()))


def _site(folder):
    """Makes the folder; returns {path of the site: content}."""
    rng = random.Random(1)
    files = {"/d%d/%d.bin" % (n % 10, n): rng.randbytes(int(2 ** rng.uniform(0, 17))) for n in range(FILES)}
    files["/index.html"] = b"<!doctype html><title>Hayate</title><p>Served from memory, by the cores that poll the card.\n"
    files["/style.css"] = b"p { margin: 1em; }\n" * 500
    files["/style.css.gz"] = gzip.compress(files["/style.css"], mtime=0)
    files["/big.bin"] = rng.randbytes(16 * MIB)
    for path, content in files.items():
        full = folder + path
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(content)
    return files


def _curl(host, *words):
    said = host.run(["curl", "-sS", "--max-time", "60", *words], timeout_s=90)
    if said.returncode:
        raise Failure("curl %s: %s" % (" ".join(words), said.stderr.strip()))
    return said.stdout


def _page(steps, host, files):
    steps.step("the page, and its head")
    if _curl(host, BASE + "/").encode() != files["/index.html"]:
        raise Failure("the page is not the file")
    head = _curl(host, "-I", BASE + "/")
    tag = re.search(r"^ETag: (\S+)$", head, re.MULTILINE)
    if not tag:
        raise Failure("no ETag in\n" + head)
    steps.done("200, ETag " + tag.group(1))


def _status(host, *words):
    return _curl(host, "-o", os.devnull, "-w", "%{http_code} %{size_download}", *words).split()


def _conditions(steps, host, files):
    steps.step("compressed, unchanged, a part, missing")
    asks = {"gzip": ["-H", "Accept-Encoding: gzip", BASE + "/style.css"],
            "unchanged": ["-H", "If-None-Match: *", BASE + "/style.css"],
            "part": ["-r", "100-199", BASE + "/big.bin"],
            "missing": [BASE + "/none"]}
    got = {name: _status(host, *words) for name, words in asks.items()}
    expected = {"gzip": ["200", str(len(files["/style.css.gz"]))], "unchanged": ["304", "0"], "part": ["206", "100"],
                "missing": ["404", got["missing"][1]]}
    if got != expected:
        raise Failure("answers are %s, not %s" % (got, expected))
    steps.done("%s of %d bytes, 304, 206, 404" % (got["gzip"][1], len(files["/style.css"])))


def _everything(steps, host, files, folder):
    steps.step("every file, over %d connections" % PARALLEL)
    words = ["--parallel", "--parallel-max", str(PARALLEL), "--create-dirs", "--fail"]
    for path in files:
        words += ["-o", folder + path, BASE + path]
    began = time.monotonic()
    _curl(host, *words)
    took = time.monotonic() - began
    for path, content in files.items():
        with open(folder + path, "rb") as file:
            if file.read() != content:
                raise Failure("%s arrived changed" % path)
    steps.done("each byte is right, %.0f ms" % (1000 * took))


def _big(steps, host, files, to):
    content = files["/big.bin"]
    steps.step("%d MiB on one connection" % (len(content) // MIB))
    speed = float(_curl(host, "-o", to, "-w", "%{speed_download}", BASE + "/big.bin"))
    with open(to, "rb") as file:
        if hashlib.sha256(file.read()).digest() != hashlib.sha256(content).digest():
            raise Failure("it arrived changed")
    steps.done("%.0f MiB/s" % (speed / MIB))


def _another(steps, host, files, work):
    """A download goes on from the site that is replaced meanwhile."""
    page, content = b"<!doctype html><title>Hayate</title><p>Another site.\n", files["/big.bin"]
    to, archive = os.path.join(work, "slow"), os.path.join(work, "another.tar")
    steps.step("another site by PUT, during a download")
    download = host.popen(["curl", "-sS", "--limit-rate", "8M", "-o", to, BASE + "/big.bin"])
    with tarfile.open(archive, "w") as tar:
        entry = tarfile.TarInfo("index.html")
        entry.size = len(page)
        tar.addfile(entry, io.BytesIO(page))
    deadline = time.monotonic() + 30
    while not os.path.exists(to) or not os.path.getsize(to):
        if time.monotonic() > deadline or download.poll() is not None:
            raise Failure("the download does not begin")
        time.sleep(0.01)
    _curl(host, "--fail-with-body", "--retry", "5", "-T", archive, BASE + ":8080/api/v1/site")
    if _curl(host, BASE + "/").encode() != page:
        raise Failure("the page is not that of the other site")
    under_way = download.poll() is None
    if download.wait(60):
        raise Failure("the download failed")
    with open(to, "rb") as file:
        if file.read() != content:
            raise Failure("the download arrived changed")
    steps.done("the new page is there; the download %s" % ("went on, and is whole" if under_way else "was over first"))
