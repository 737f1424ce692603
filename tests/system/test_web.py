"""The web application in the real image: curl fetches trees of files, on every card, while things fail."""
import contextlib
import gzip
import http.client
import io
import json
import os
import random
import socket
import subprocess
import tarfile
import threading

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, SLOW_FLOOD, child, eventually
from family import LEFT6, LEFT_ROUTER6, V6, addresses_up, both
from test_balance import RSS, bucket
from test_iommu import refused
from test_tcp import receive

CONFIG = """\
hostname w1
application web
interface eth0
 ip address %s/24
""" % LEFT_ROUTER
MIB = 1 << 20
MTIME = 1000000000  # Sun, 09 Sep 2001 01:46:40 GMT


def make_site(path, seed=0):
    """A folder of files of all lengths; {path of the site: content}."""
    rng = random.Random(seed)
    lengths = [0, 1, 2, 1447, 1448, 1449, 4096, 65535, 65536, 3 * MIB + 17]
    lengths += [int(2 ** rng.uniform(0, 18)) for _ in range(40)]
    files = {"/d%d/f%d.bin" % (number % 7, number): rng.randbytes(length) for number, length in enumerate(lengths)}
    files["/index.html"] = b"<!doctype html><title>w1</title>\n"
    files["/page.css"] = b"body { margin: 0 }\n" * 200
    files["/page.css.gz"] = gzip.compress(files["/page.css"], mtime=0)
    files["/big.bin"] = rng.randbytes(8 * MIB)
    for name, data in files.items():
        full = path / name[1:]
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(data)
        os.utime(full, (MTIME, MTIME))
    return files


class Web:
    def __init__(self, router, host, files, address):
        self.router, self.host, self.files = router, host, files
        self.base = "http://%s" % address

    def curl(self, *arguments, binary=False):
        child = self.host.popen(["curl", "-sS", "-g", "--max-time", "60", *arguments], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = child.communicate(timeout=90)
        assert child.returncode == 0, err
        return out if binary else out.decode()

    def get(self, name, *arguments):
        return self.curl(*arguments, self.base + name, binary=True)


@pytest.fixture
def make_web(make_router, make_hosts, tmp_path, nic):
    def make(*arguments, cpus=None, family=None, config=CONFIG, rss=False):
        host = make_hosts(max(1, (cpus or 2) - 1))[0]
        more = " ipv6 address %s/64\n" % LEFT_ROUTER6 if family is V6 else ""
        files = make_site(tmp_path / "site")
        router = make_router(config + more, "--site", str(tmp_path / "site"), "--memory", "384M", *arguments,
                             *(RSS if rss and nic == "virtio" else ()), app="web", ports=(host.port,), cpus=cpus)
        if family is V6:
            host.configure6(LEFT6 + "/64", LEFT_ROUTER6)
            addresses_up(router)
        return Web(router, host, files, "[%s]" % LEFT_ROUTER6 if family is V6 else LEFT_ROUTER)
    return make


@both
@pytest.mark.in_turn
def test_tree(make_web, family, tmp_path):
    """Every file, by 10 connections at the same time: each byte is right."""
    web = make_web(cpus=3, family=family)
    out = tmp_path / "out"
    words = ["--parallel", "--parallel-max", "10", "--create-dirs", "--fail"]
    for name in web.files:
        words += ["-o", str(out / name[1:]), web.base + name]
    web.curl(*words)
    for name, data in web.files.items():
        assert (out / name[1:]).read_bytes() == data, name
    counters = web.router.balanced()
    assert counters["web_requests"] == len(web.files) and counters["web_client_errors"] == 0
    assert "files       %d\n" % len(web.files) in web.router.command("show web")


def behind_an_iommu(make_web, model, tmp_path):
    """Cards read contents where they lie, and are refused nothing: those of the boot module, and of an upload."""
    web = make_web("--iommu", "--iommu-model", model, "--append", "test=1", config=CONFIG + MANAGEMENT)
    newer = changed(web.files, 1)
    assert web.get("/big.bin") == web.files["/big.bin"]
    with child(web.host, SLOW_FLOOD, LEFT_ROUTER):  # the card receives while its map changes
        assert upload(web, tar_of("newer.tar", newer, tmp_path))[0] == 200
    assert web.get("/big.bin") == newer["/big.bin"]
    assert refused(web.router) == (1, 1, 0)
    web.router.balanced()


@pytest.mark.each_ring
def test_behind_an_iommu(make_web, tmp_path):
    behind_an_iommu(make_web, "vtd", tmp_path)


@pytest.mark.nics(["ixgbe"])  # its QEMU remaps accesses by AMD's IOMMU, older ones do not
def test_behind_the_iommu_of_amd(make_web, tmp_path):
    behind_an_iommu(make_web, "amdvi", tmp_path)


@pytest.mark.one_card
def test_what_curl_can_do(make_web, tmp_path):
    web = make_web()
    big = web.files["/big.bin"]
    assert web.get("/") == web.files["/index.html"]
    assert web.get("/d0", "-L", "-o", os.devnull, "-w", "%{http_code}") == b"404"
    assert web.get("/big.bin", "-r", "1000-1999") == big[1000:2000]
    assert web.get("/big.bin", "-r", "-5") == big[-5:]
    parts = web.get("/big.bin", "-r", "0-9,100-199")
    assert big[:10] in parts and big[100:200] in parts and b"multipart" not in parts
    assert web.get("/page.css", "--compressed") == web.files["/page.css"]
    assert web.get("/page.css", "-H", "Accept-Encoding: gzip") == web.files["/page.css.gz"]
    status = ["-o", os.devnull, "-w", "%{http_code}"]
    assert web.get("/page.css", "-z", "Sun, 09 Sep 2001 01:46:40 GMT", *status) == b"304"
    assert web.get("/page.css", "-z", "Sun, 09 Sep 2001 01:46:39 GMT", *status) == b"200"
    tag = tmp_path / "tag"
    web.get("/page.css", "--etag-save", str(tag))
    assert web.get("/page.css", "--etag-compare", str(tag), *status) == b"304"
    part = tmp_path / "part"  # a download that was interrupted goes on
    part.write_bytes(big[:3 * MIB])
    web.get("/big.bin", "-C", "-", "-o", str(part))
    assert part.read_bytes() == big
    head = web.curl("-I", web.base + "/big.bin")
    assert "Content-Length: %d\r\n" % len(big) in head and "Last-Modified: Sun, 09 Sep 2001 01:46:40 GMT\r\n" in head
    assert web.get("/none", *status) == b"404" and web.get("/", "-d", "x", *status) == b"405"
    assert web.get("/big.bin", "--http1.0", "-o", str(part)) == b"" and part.read_bytes() == big
    web.router.balanced()


class Browsers:
    """Threads that fetch random files over connections that stay open, each from a port of its own. broken: those whose
    connection ended; wrong: answers that were not right, that is, of none of the versions as a whole."""

    def __init__(self, web, ports, timeout_s=60, versions=None):
        self.versions = versions or [web.files]
        self.web, self.ports, self.timeout_s = web, ports, timeout_s
        self.stop, self.served = threading.Event(), dict.fromkeys(ports, 0)
        self.broken, self.wrong = set(), []
        self.threads = [threading.Thread(target=self.run, args=(port,), daemon=True) for port in ports]

    def run(self, port):
        rng = random.Random(port)
        names = sorted(self.web.files)
        client = http.client.HTTPConnection(LEFT_ROUTER)
        try:
            client.sock = self.web.host.socket(socket.AF_INET, socket.SOCK_STREAM)
            client.sock.settimeout(self.timeout_s)
            client.sock.bind((LEFT_HOST, port))
            client.sock.connect((LEFT_ROUTER, 80))
            while not self.stop.is_set():
                name = rng.choice(names)
                client.request("GET", name)
                answer = client.getresponse()
                data = answer.read()
                if all(data != files[name] for files in self.versions) or answer.status != 200:
                    self.wrong.append((port, name, answer.status))
                self.served[port] += 1
        except (OSError, http.client.HTTPException):
            self.broken.add(port)
        finally:
            client.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *failure):
        self.stop.set()
        for thread in self.threads:
            thread.join(60)

    def go_on(self, ports):
        """Waits until each of these has been served again."""
        before = dict(self.served)
        eventually(lambda: all(self.served[port] > before[port] for port in ports), 60, "all of %s go on" % sorted(ports))


@pytest.mark.each_ring
def test_control_core_restarts(make_web, several_cpus):
    """The site is built anew at another place while answers are being sent from it: nobody notices."""
    web = make_web("--append", "test=1")
    web.router.faults_expected = True
    with Browsers(web, range(20000, 20008)) as browsers:
        browsers.go_on(browsers.ports)
        for _ in range(2):
            web.router.skip()
            web.router.send("test fault null core 0")
            web.router.expect(r"core 0: program restarted", 10)
            web.router.wait_up()
            browsers.go_on(browsers.ports)
    assert not browsers.wrong and not browsers.broken
    web.router.balanced()


@pytest.mark.parametrize("nic", ["virtio", "ixgbe", "mlx5"])
def test_core_dies_under_load(make_web, nic):
    """The other core's connections lose nothing; new ones are served by both again."""
    # else connections of core 1 may have moved before it dies
    web = make_web("--append", "test=1", cpus=3, rss=True, config=CONFIG + "load-balance off\n")
    web.router.faults_expected = True
    ports = range(20000, 20012)
    mine = {port for port in ports if bucket(LEFT_HOST, LEFT_ROUTER, port, 80) % 2 == 0}  # of core 1
    assert 2 < len(mine) < 10
    # a client that waits for the rest of an answer hears nothing more
    with Browsers(web, ports, timeout_s=15) as browsers:
        browsers.go_on(ports)
        web.router.send("test fault ud core 1")
        web.router.expect(r"core 1: program restarted", 10)
        web.router.wait_back()
        browsers.go_on(set(ports) - mine)
        eventually(lambda: browsers.broken == mine, 60, "the connections of core 1 have ended")
    assert not browsers.wrong
    with Browsers(web, range(21000, 21012)) as browsers:
        browsers.go_on(browsers.ports)
    assert not browsers.wrong and not browsers.broken
    web.router.balanced()


MANAGEMENT = "http server port 8080\nhttp access 0.0.0.0/0\n"


def tar_of(path, files, tmp_path):
    """An archive of files, for an upload."""
    whole = tmp_path / path
    with tarfile.open(whole, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo("." + name)
            info.size, info.mtime = len(data), MTIME
            tar.addfile(info, io.BytesIO(data))
    return whole


def upload(web, archive, *arguments):
    """(status, answer) of a PUT of the site by curl."""
    said = web.curl("--retry", "60", "--retry-delay", "1", "-w", "\n%{http_code}", "-T", str(archive), *arguments,
                    web.base + ":8080/api/v1/site")
    body, _, status = said.rpartition("\n")
    return int(status), json.loads(body)


def changed(files, seed):
    """The same names with other contents of the same lengths."""
    rng = random.Random(seed)
    return {name: rng.randbytes(len(data)) for name, data in files.items()}


@pytest.mark.in_turn
def test_replaced_while_it_serves(make_web, tmp_path):
    """Uploads by curl while files are downloaded: each answer is whole and of one version, and no connection ends. A damaged
    archive changes nothing."""
    web = make_web(cpus=3, config=CONFIG + MANAGEMENT)
    versions = [web.files, changed(web.files, 1), changed(web.files, 2)]
    archives = [tar_of("%d.tar" % n, files, tmp_path) for n, files in enumerate(versions)]
    archives.append(tmp_path / "damaged.tar")
    archives[3].write_bytes(archives[1].read_bytes()[:5 * MIB + 77])
    with Browsers(web, range(20000, 20008), versions=versions) as browsers:
        browsers.go_on(browsers.ports)
        for number in (1, 2, 0, 1):
            status, said = upload(web, archives[number])
            assert (status, said["site"]["files"]) == (200, len(web.files)), said
            assert web.get("/big.bin") == versions[number]["/big.bin"]
            browsers.go_on(browsers.ports)
        status, said = upload(web, archives[3])
        assert status == 422 and "cut off" in said["error"], said
        assert web.get("/page.css") == versions[1]["/page.css"]
    assert not browsers.wrong and not browsers.broken
    counters = web.router.balanced()
    assert counters["web_replaced"] == 0


@pytest.mark.each_ring
def test_upload_outlives_the_control_program(make_web, several_cpus, tmp_path):
    """A new control program goes on with the uploaded site, and with the memory of the one before, while answers are sent."""
    web = make_web("--append", "test=1", config=CONFIG + MANAGEMENT)
    web.router.faults_expected = True
    versions = [web.files, changed(web.files, 1)]
    archives = [tar_of("%d.tar" % n, files, tmp_path) for n, files in enumerate(versions)]
    assert upload(web, archives[1])[0] == 200
    with Browsers(web, range(20000, 20008), versions=versions[1:]) as browsers:
        browsers.go_on(browsers.ports)
        for number in (1, 2):
            web.router.skip()
            web.router.send("test fault null core 0")
            web.router.expect(r"core 0: program restarted", 10)
            web.router.wait_up()
            browsers.go_on(browsers.ports)
            assert "source      upload 1\n" in web.router.command("show web").replace("\r", "")
    assert not browsers.wrong and not browsers.broken
    status, said = upload(web, archives[0])
    assert status == 200 and said["uploads"] == 2
    assert web.get("/big.bin") == web.files["/big.bin"]
    web.router.balanced()


def linked_tree(root):
    """A folder with links as people make them; paths of requests that lead to a file."""
    release = root / "releases" / "v3"
    release.mkdir(parents=True)
    (release / "index.html").write_bytes(b"<p>three\n")
    (release / "app.js").write_bytes(b"three()\n" * 500)
    (root / "releases" / "v2").mkdir()
    (root / "releases" / "v2" / "index.html").write_bytes(b"<p>two\n")
    os.link(release / "app.js", root / "app.js")
    deep = release / ("d" * 90) / ("e" * 90)  # a text of more than 100 bytes needs GNU's 'K' or pax's linkpath
    deep.mkdir(parents=True)
    (deep / "far.html").write_bytes(b"<p>far\n")
    for name, text in (("latest", "releases/v3"), ("index.html", "latest/index.html"), ("releases/v3/before", "../v2"),
                       ("far.html", os.path.relpath(deep / "far.html", root)), ("chain.html", "far.html"),
                       ("dangling.html", "none.html"), ("absolute.html", str(release / "index.html")), ("outside", "../.."),
                       ("circle", "circle")):
        os.symlink(text, root / name)
    os.link(root / "chain.html", root / "releases" / "chain.html", follow_symlinks=False)  # there it leads nowhere
    return ["/", "/app.js", "/releases/v3/app.js", "/latest/", "/latest/app.js", "/latest/before/index.html", "/far.html",
            "/chain.html", "/index.html"]


@pytest.mark.one_card
def test_links_of_gnu_tar(make_web, tmp_path):
    """Debian's tar archives a tree with links in three formats: each path has what the kernel finds in the tree, and what cannot
    be followed is named."""
    web = make_web(config=CONFIG + MANAGEMENT)
    root, archive = tmp_path / "tree", tmp_path / "links.tar"
    paths = linked_tree(root)
    for form in ("gnu", "oldgnu", "posix"):
        subprocess.run(["tar", "--format=" + form, "-C", str(root), "-cf", str(archive), "."], check=True)
        status, said = upload(web, archive)
        assert status == 200, said
        left_out = {entry["name"]: entry["why"] for entry in said["left_out_entries"]}
        assert set(left_out) == {"/dangling.html", "/absolute.html", "/outside", "/circle", "/releases/chain.html"}, left_out
        for path in paths:
            name = path[1:] + ("index.html" if path.endswith("/") else "")
            assert web.get(path) == (root / name).read_bytes(), (form, path)
        for path in left_out:
            assert web.get(path, "-o", os.devnull, "-w", "%{http_code}") == b"404"
        tags = {web.curl("-I", web.base + path).partition("ETag: ")[2].partition("\r")[0]
                for path in ("/app.js", "/latest/app.js", "/releases/v3/app.js")}
        assert len(tags) == 1 and tags != {""}
        assert "\nLocation: /latest/\r" in web.curl("-I", web.base + "/latest")
    web.router.balanced()


def thousand_connections(stack, web, timeout_s):
    clients = []
    for _ in range(1000):
        client = stack.enter_context(web.host.socket(socket.AF_INET, socket.SOCK_STREAM))
        client.settimeout(timeout_s)
        client.connect((LEFT_ROUTER, 80))
        clients.append(client)
    return clients


def head_of_answer(client):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += client.recv(1)
    return head


@pytest.mark.one_card
def test_replaced_under_many_connections(make_web, tmp_path):
    """A thousand connections are open while the site is replaced: each gets the new one, none is dropped."""
    web = make_web(config=CONFIG + MANAGEMENT + "tcp connections 1200\n")
    new = changed(web.files, 1)
    archive = tar_of("new.tar", new, tmp_path)
    with contextlib.ExitStack() as stack:
        clients = thousand_connections(stack, web, 60)
        for turn, files in enumerate((web.files, new)):
            if turn:
                assert upload(web, archive)[0] == 200
            for client in clients:
                client.sendall(b"GET /page.css HTTP/1.1\r\nHost: w1\r\n\r\n")
            for client in clients:
                assert head_of_answer(client).startswith(b"HTTP/1.1 200 OK\r\n")
                assert receive(client, len(files["/page.css"])) == files["/page.css"]
    counters = web.router.balanced()
    assert counters["web_requests"] == 2000 and counters["web_replaced"] == 0


@pytest.mark.one_card
def test_many_connections(make_web):
    """A thousand connections are open at the same time, and each gets what it asks for, in any order."""
    web = make_web("--append", "", config=CONFIG + "tcp connections 1200\n")
    with contextlib.ExitStack() as stack:
        clients = thousand_connections(stack, web, 30)
        random.Random(1).shuffle(clients)
        for client in clients:
            client.sendall(b"GET /page.css HTTP/1.1\r\nHost: w1\r\n\r\n")
        for client in clients:
            assert head_of_answer(client).startswith(b"HTTP/1.1 200 OK\r\n")
            assert receive(client, len(web.files["/page.css"])) == web.files["/page.css"]
    web.router.balanced()
