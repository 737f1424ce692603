"""Who uses the router's management during a soak, all at once: a routing engine whose routes change, an XDP
program that is replaced, captures by SSH, scrapes by HTTP, sessions and commits by HTTPS.

Each has a thread, which does its work again and again on the left host. A fault may end what it does; it
then tries again. Each must succeed again after a fault, like the flows of traffic (`waiting`). While the
router's memory is compared, all rest (`rest`): no session is open then.
"""
import contextlib
import os
import re
import socket
import ssl
import subprocess
import threading
import time

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, ROOT, eventually
from frr import Engine, installed
from launcher import password
from launcher.errors import LauncherError

TOKEN, TOKEN_LINE = password.token("robot", bytes(range(32)))
AUTHORIZATION = b"Authorization: Bearer %s\r\n" % TOKEN.encode()
ENGINE_ROUTES = 200
ENGINE_HOP = "192.0.2.9"  # nobody: no traffic goes there
REQUEST_S, SSH_S = 30, 60
PROGRAM = os.path.join(ROOT, "build", "bpf", "count.o")
FAILURES = (AssertionError, LauncherError, OSError, subprocess.SubprocessError, ValueError, pytest.fail.Exception)


def make_key(work):
    """A user's SSH key: the path of its private part."""
    path = str(work / "key")
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", path], check=True)
    return path


def statements(key):
    """What the router's configuration needs for all of them."""
    with open(key + ".pub", encoding="ascii") as file:
        public = " ".join(file.read().split()[:2])
    return ["username robot role configure", TOKEN_LINE, "username admin role configure",
            "username admin ssh-key " + public, "https server", "ssh server", "ssh access 192.0.2.0/24",
            "capture server", "capture access 192.0.2.0/24", "arp %s 02:aa:00:00:00:09" % ENGINE_HOP,
            "routing engine " + LEFT_HOST, "routing engine settle-time 20"]


def engine_host(cores):
    """The left host, which runs the routing engine too."""
    return Engine(installed(), LEFT_ROUTER, LEFT_HOST, name="left", queues=cores)


def request(host, method, path, body="", tls=True):
    """The body of an answer of status 200 or 201, over a connection of its own."""
    with host.socket(kind=socket.SOCK_STREAM) as plain:
        plain.settimeout(REQUEST_S)
        plain.connect((LEFT_ROUTER, 443 if tls else 80))
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        client = context.wrap_socket(plain) if tls else plain
        with client:
            body = body.encode() if isinstance(body, str) else body
            client.sendall(b"%s %s HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n"
                           b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n" %
                           (method.encode(), path.encode(), LEFT_ROUTER.encode(), AUTHORIZATION, len(body)) + body)
            data = b""
            while True:
                piece = client.recv(65536)
                if not piece:
                    break
                data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    if head[9:12] not in (b"200", b"201"):
        raise ValueError("%s %s: %s: %s" % (method, path, head[9:12].decode(), rest.decode().strip()))
    return rest.decode()


class Manager:
    def __init__(self, name, pause_s, once):
        self.name, self.pause_s, self.once = name, pause_s, once
        self.done, self.failed, self.said, self.last = 0, 0, "", -1.0


class Managers:
    """commits: held by whoever changes the configuration, so that `rollback 1` means his own commit."""

    def __init__(self, left, key, commits):
        self.left, self.key, self.commits = left, key, commits
        self.turn, self.active, self.resting, self.ended = threading.Condition(), 0, 0, False
        self.number = 0
        self.all = [Manager("scrape", 1, self._scrape), Manager("https", 1, self._https),
                    Manager("api commit", 2, self._commit), Manager("capture by ssh", 2, self._capture),
                    Manager("xdp replaced", 5, self._replace), Manager("engine", 1, self._routes)]
        self.threads = []

    # --- each one's work, once ---

    def _scrape(self):
        text = request(self.left, "GET", "/metrics", tls=False)
        assert "hayate_uptime_seconds" in text, text[-200:]

    def _https(self):
        assert '"eth0"' in request(self.left, "GET", "/api/v1/interfaces.json")

    def _commit(self):
        """A commit, and the one before it again. A fault between the two leaves the first: see `tidy`."""
        self.number += 1
        with self.commits:
            request(self.left, "PATCH", "/api/v1/config", "interface eth1\n description soak %03d\n" % (self.number % 1000))
            request(self.left, "PATCH", "/api/v1/config", "interface eth1\n no description\n")

    def _capture(self):
        ssh = ["ssh", "-F", "none", "-i", self.key, "-o", "LogLevel=ERROR", "-o", "StrictHostKeyChecking=no",
               "-o", "UserKnownHostsFile=/dev/null", "-o", "IdentityAgent=none", "-o", "IdentitiesOnly=yes",
               "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5",
               "admin@" + LEFT_ROUTER, "capture all count 20 udp"]
        child = self.left.popen(ssh, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)
        kill = threading.Timer(SSH_S, child.kill)
        kill.start()
        try:
            said = ""
            while "waiting for a reader" not in said:
                line = child.stdout.readline()
                assert line, "ssh: " + said
                said += line
            with self.left.socket(kind=socket.SOCK_STREAM) as reader:
                reader.settimeout(REQUEST_S)
                reader.connect((LEFT_ROUTER, 5555))
                size = 0
                while True:
                    piece = reader.recv(65536)
                    if not piece:
                        break
                    size += len(piece)
            said += child.stdout.read()
            assert child.wait() == 0 and "20 given to the reader" in said and size > 1000, said
        finally:
            kill.cancel()
            child.kill()
            child.wait()
            child.stdout.close()
            self.left.children.remove(child)

    def _replace(self):
        with open(PROGRAM, "rb") as file:
            request(self.left, "PUT", "/api/v1/programs/count", file.read())

    def _routes(self):
        """Takes one route of the engine's away, and gives it back."""
        route = "ip route 20.200.0.0/24 " + ENGINE_HOP
        self.left.say_static("no " + route)
        time.sleep(0.2)
        self.left.say_static(route)

    # --- all of them ---

    def start_engine(self):
        self.left.start_zebra()
        self.left.start_statics(*("ip route 20.200.%d.0/24 %s" % (n, ENGINE_HOP) for n in range(ENGINE_ROUTES)))

    def reconnect(self, router):
        """zebra notices the end of a connection when it next has something to write."""
        def is_connected():
            if re.search(r"\d connected since", router.command("show routing engine")):
                return True
            self._routes()
            return False
        eventually(is_connected, 60, "the routing engine is connected", every_s=1)

    def settle(self, router):
        """Returns once the router has all routes of the engine; while all rest. One that has just been given back is
        on its way through three daemons, and after a restart of the control program all are stated again."""
        self.reconnect(router)
        eventually(lambda: " stale 0," in router.command("show routing engine") and
                   " engine" in router.command("show ip route 20.200.0.0/24"), 60, "the engine's routes")

    def start(self):
        for manager in self.all:
            self.threads.append(threading.Thread(target=self._work, args=[manager]))
            self.threads[-1].start()

    def _work(self, manager):
        while True:
            with self.turn:
                self.turn.wait_for(lambda: self.ended or not self.resting)
                if self.ended:
                    return
                self.active += 1
            began = time.monotonic()
            try:
                manager.once()
                manager.done += 1
                manager.last = began
            except FAILURES as error:
                manager.failed += 1
                manager.said = str(error)
            finally:
                with self.turn:
                    self.active -= 1
                    self.turn.notify_all()
                    self.turn.wait_for(lambda: self.ended, manager.pause_s)

    @contextlib.contextmanager
    def rest(self):
        """Waits until each has ended what it does; none begins before the end of the `with`."""
        with self.turn:
            self.resting += 1
            self.turn.wait_for(lambda: not self.active)
        try:
            yield
        finally:
            with self.turn:
                self.resting -= 1
                self.turn.notify_all()

    def waiting(self, since):
        """The names of those whose work, begun after `since` (time.monotonic), has not succeeded yet."""
        return ["%s (%s)" % (one.name, one.said) for one in self.all if one.last < since]

    def tidy(self):
        """Takes back what an interrupted commit has left."""
        def taken_back():
            with contextlib.suppress(*FAILURES):
                return request(self.left, "PATCH", "/api/v1/config", "interface eth1\n no description\n")
        with self.commits:
            eventually(taken_back, 30, "the last commit over the API")

    def end(self):
        with self.turn:
            self.ended = True
            self.turn.notify_all()
        for thread in self.threads:
            thread.join(2 * SSH_S)
        self.threads = []

    def report(self):
        return ", ".join("%s %d times%s" % (one.name, one.done, ", interrupted %d times, at last by: %s" % (
            one.failed, one.said) if one.failed else "") for one in self.all)
