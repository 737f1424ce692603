"""Changes of the configuration from the console of the real image (control/cli/configure.h): over TCP
by users who cut themselves off, under traffic, and with a text of a million lines."""
import re
import threading
import time

from conftest import LEFT_ROUTER, RIGHT_HOST, eventually, pings, router_config
from test_remote import REMOTE, SECRET, Terminal

NET = "203.0.113.1"  # behind the right host
NET2 = "198.51.100.3"  # another address of the right host


def logged_in(lab, t):
    t.expect("Password: ")
    t.type(SECRET + "\r")
    t.expect("r1# ")


def test_session_lost_and_rolled_back(make_lab):
    """A user whose commit cuts off the session has not lost the machine: it rolls back."""
    lab = make_lab(router_config(extra=REMOTE))
    before = lab.router.command("show running-config")
    with Terminal(lab.left, ["telnet", LEFT_ROUTER]) as t:
        logged_in(lab, t)
        t.type("configure\rinterface eth0\rip address 192.0.2.77/24\rshow | compare\r")
        assert "- ip address 192.0.2.1/24" in t.expect(r"\n\+ ip address 192\.0\.2\.77/24")
        t.type("commit confirmed 15s\r")
        t.expect("it is rolled back in 15 s")
        lab.router.expect("configuration: in force, ", 10)
        lab.router.wait_up()
        assert lab.left.ping("192.0.2.77")[0]
        t.type("commit\r")  # no output follows: the address is gone
        lab.router.expect("it is rolled back", 30)
        lab.router.wait_up()
    assert lab.router.command("show running-config") == before
    with Terminal(lab.left, ["telnet", LEFT_ROUTER]) as t:
        logged_in(lab, t)
        t.type("show configuration history\r")
        assert "the roll-back" in t.expect("192.0.2.2")
        t.type("configure\rhostname r9\rcommit confirmed 15s\r")
        t.expect(r"r9\(config\)# ")
        t.type("commit\r")
        t.expect("confirmed")
        time.sleep(16)
        t.type("end\r")
        t.expect(r"r9# ")
    pings(lab.left, RIGHT_HOST)


def test_console_moves_live(make_lab):
    """A user who moves the console server keeps the session; the next one uses the new port."""
    lab = make_lab(router_config(extra=REMOTE))
    with Terminal(lab.left, ["telnet", LEFT_ROUTER]) as t:
        logged_in(lab, t)
        t.type("configure\rconsole server port 2323\rcommit\r")
        assert "the ports restart" not in t.expect("\ncommitted")
        t.type("end\rshow version\r")
        t.expect("Hayate ")
        with Terminal(lab.left, ["telnet", LEFT_ROUTER, "2323"]) as other:
            logged_in(lab, other)
        t.type("configure\rno console server\rno console access\rno console password\r"
               "commit confirmed 10s\r")
        t.expect("it is rolled back in 10 s")
        lab.router.expect("it is rolled back", 30)
        with Terminal(lab.left, ["telnet", LEFT_ROUTER, "2323"]) as other:
            logged_in(lab, other)


class Stream:
    """Numbered datagrams from the left host to NET, a thousand a second; records which of them
    arrive."""

    def __init__(self, lab):
        self.left, self.right = lab.left.socket(), lab.right.socket()
        self.right.bind((NET, 9000))
        self.right.settimeout(1)
        self.sent, self.came, self.stop = 0, set(), False
        self.threads = [threading.Thread(target=work) for work in (self.send, self.receive)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc):
        self.stop = True
        for thread in self.threads:
            thread.join()
        self.left.close()
        self.right.close()

    def send(self):
        while not self.stop:
            self.left.sendto(b"%d" % self.sent, (NET, 9000))
            self.sent += 1
            time.sleep(0.001)

    def receive(self):
        while True:
            try:
                self.came.add(int(self.right.recv(100)))
            except TimeoutError:
                if self.stop:
                    return


def test_commits_under_traffic_lose_nothing(make_lab):
    """Only routes change: the prefix of the traffic gets another next hop and back, others come and
    go, and no packet is lost."""
    lab = make_lab(router_config(extra="ip route 203.0.113.0/24 %s\n" % RIGHT_HOST))
    lab.right.ip("address", "add", NET2 + "/24", "dev", "eth0")
    lab.right.ip("address", "add", NET + "/32", "dev", "lo")
    for address in RIGHT_HOST, NET2, NET:
        pings(lab.left, address)
    hops = [RIGHT_HOST, NET2]
    lab.router.command("configure")
    with Stream(lab) as stream:
        for n in range(20):
            lab.router.command("no ip route 203.0.113.0/24")
            lab.router.command("ip route 203.0.113.0/24 %s" % hops[1 - n % 2])
            lab.router.command("%sip route 10.%d.0.0/16 null0" % ("no " if n % 2 else "", n // 2))
            said = lab.router.command("commit")
            assert "committed" in said and "restart" not in said, said
        eventually(lambda: stream.sent > 3000, 30, "time to see it")
    missing = set(range(stream.sent)) - stream.came
    assert not missing, (len(missing), sorted(missing)[:10], stream.sent)
    lab.router.command("end")
    assert "203.0.113.0/24 %s" % RIGHT_HOST in lab.router.command("show running-config")


def test_filters_change_under_traffic(make_lab):
    """Rules of an access list in use are added, removed and renumbered, and the list is applied to
    another interface as well. Packets that are always permitted are not lost; packets that a commit
    denies stop with it."""
    lab = make_lab(router_config(extra=" ip access-group F out\nip access-list F\n"
                                 " permit icmp any any\n permit udp any any eq 9000\n"
                                 "ip route 203.0.113.0/24 %s\n" % RIGHT_HOST))
    lab.right.ip("address", "add", NET + "/32", "dev", "lo")
    for address in RIGHT_HOST, NET:
        pings(lab.left, address)
    lab.router.command("configure")
    with Stream(lab) as stream:
        for n in range(20):
            lab.router.command("ip access-list F")
            lab.router.command("%s" % ("no 15" if n % 2 else "15 deny udp any any range 9001 9999"))
            lab.router.command("%d deny tcp any host 10.0.0.%d" % (1 + n % 9, n))
            lab.router.command("resequence F %d 5" % (10 + n % 3))
            lab.router.command("interface eth0")
            lab.router.command("%sip access-group F in" % ("no " if n % 2 else ""))
            said = lab.router.command("commit")
            assert "committed" in said and "restart" not in said, said
        eventually(lambda: stream.sent > 3000, 30, "time to see it")
    missing = set(range(stream.sent)) - stream.came
    assert not missing, (len(missing), sorted(missing)[:10], stream.sent)
    before = lab.router.balanced()
    assert before.get("drop_acl_in", 0) == before.get("drop_acl_out", 0) == 0
    lab.router.command("ip access-list F")
    lab.router.command("1 deny udp any any eq 9000")
    assert "committed" in lab.router.command("commit")
    with Stream(lab) as stream:
        eventually(lambda: stream.sent > 100, 30, "time to see it")
    assert not stream.came
    assert "1 deny udp any any eq 9000 (%d matches)" % stream.sent in \
        lab.router.command("show access-lists F")


def test_session_lost_to_a_filter(make_lab):
    """A user whose filter cuts off the session gets the same session back when the commit is rolled
    back: no port is restarted."""
    lab = make_lab(router_config(extra=REMOTE))
    before = lab.router.command("show running-config")
    with Terminal(lab.left, ["telnet", LEFT_ROUTER]) as t:
        logged_in(lab, t)
        t.type("configure\rip access-list OFF\rdeny tcp any any\rpermit ip any any\r"
               "interface eth0\rip access-group OFF in\rcommit confirmed 10s\r")
        lab.router.expect("not yet confirmed", 10)
        assert lab.left.ping(LEFT_ROUTER)[0]
        t.type("show version\r")
        lab.router.expect("it is rolled back", 30)
        t.expect("Hayate", timeout_s=30)
        t.type("end\r")
        t.expect(r"r1# ")
    assert lab.router.command("show running-config") == before


def test_idle_changes_live(make_lab):
    """A data core that halts between packets is told to poll, to halt again, and to poll for a second, which
    is longer than the time between two packets."""
    lab = make_lab(router_config(extra="idle sleep\n"))
    pings(lab.left, RIGHT_HOST)

    def sleeps():
        before = lab.router.cores()[-1]["sleeps"]
        pings(lab.left, RIGHT_HOST, count=5)
        return lab.router.cores()[-1]["sleeps"] - before
    lab.router.command("configure")
    assert sleeps() >= 5
    for mode in "poll", "sleep", "sleep spin 1000000":
        lab.router.command("idle " + mode)
        said = lab.router.command("commit")
        assert "committed" in said and "restart" not in said, said
        assert sleeps() >= 5 if mode == "sleep" else sleeps() == 0, mode


def test_a_million_routes(make_lab, record_property):
    """The routes are read in seconds, with progress output, and are in the table."""
    lines = ["ip route %d.%d.%d.%d/28 198.51.100.%d\n" %
             (11 + (n >> 20), n >> 12 & 255, n >> 4 & 255, (n & 15) << 4, 2 + n % 3)
             for n in range(1000000)]
    began = time.monotonic()
    lab = make_lab(router_config(extra="".join(lines)), "--memory", "3G", timeout_s=240)
    took = time.monotonic() - began
    text = lab.router.text
    progress = [[int(n) for n in re.findall(r"configuration: (\d+) " + what, text)]
                for what in ("lines read", "of 1000000 routes entered")]
    assert progress == [sorted(numbers) for numbers in progress]
    ready = float(re.search(r"ready: .* ([\d.]+) ms after boot", text)[1])
    print("ready %.1f s after boot, %.1f s in all, progress %s" % (ready / 1000, took, progress))
    # boot, reading, checks and entering: none says anything in its first second
    assert ready < 4000 or any(progress), text
    lab.right.ip("address", "add", "11.244.35.241/32", "dev", "lo")
    pings(lab.left, "11.244.35.241")
    lab.router.command("configure")
    lab.router.command("ip route 203.0.113.0/24 198.51.100.2")
    assert "committed" in lab.router.command("commit")
    lab.router.command("end")
