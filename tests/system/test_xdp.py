"""XDP programs on the real image (docs/xdp.md): loaded with the boot and over HTTP, run by data cores on
every card, replaced under load, kept through restarts. The programs are tests/bpf/programs/*.c, and those of
Debian's xdp-tools."""
import json
import os
import re
import subprocess
import time

import pytest
from launcher import options
from conftest import (LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, WEB, eventually, pings, reaches,
                      router_config)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
OBJECTS = os.path.join(ROOT, "build", "bpf")
API = "http://%s/api/v1/" % LEFT_ROUTER


def path_of(name):
    return os.path.join(OBJECTS, name + ".o")


def with_xdp(port=0, *lines):
    block = "interface eth%d\n" % port
    return router_config(extra=WEB).replace(block, block + "".join(" xdp %s\n" % line for line in lines))


def boot(make_lab, *lines, objects=(), cpus=None, port=0):
    words = ["--append", "test=1"]
    for name in {line.split()[0] for line in lines} | set(objects):
        words += ["--program", "%s=%s" % (name, path_of(name))]
    return make_lab(with_xdp(port, *lines), *words, cpus=cpus)


def curl(host, *arguments):
    """(status, parsed answer) of a request."""
    said = host.run(["curl", "-sS", "-w", "\n%{http_code}", *arguments], timeout_s=60, check=True).stdout
    body, _, status = said.rpartition("\n")
    return int(status), json.loads(body) if body.strip().startswith("{") else body


def put(host, name, path, api=API):
    return curl(host, "-T", path, api + "programs/" + name)


def results(lab, port="eth0"):
    """{program: {action: count}} of a port, on the console."""
    rows = {}
    for line in lab.router.command("show xdp").splitlines():
        if line.startswith(port + " "):
            head, _, rest = line.partition(":")
            words = rest.split()
            rows[head.split()[5]] = {a: int(n) for a, n in zip(words[::2], words[1::2])}
    return rows


def test_boot_and_count(make_lab):
    """A program of the boot module counts, and what it passes is forwarded."""
    lab = boot(make_lab, "count")
    pings(lab.left, RIGHT_HOST)
    assert results(lab)["count"]["pass"] >= 3
    assert re.search(r"key: 00 00 00 00  value: (?!00)", lab.router.command("show xdp map counters hex"))
    assert re.search(r'key: 0  value: \{"packets":[1-9]\d*,"bytes":', lab.router.command("show xdp map counters"))
    lab.router.balanced()


@pytest.mark.one_card
def test_drop_by_commit_and_back(make_lab):
    """`xdp` and `no xdp` are live; the console never says that ports restart."""
    lab = boot(make_lab, objects=("drop",))
    pings(lab.left, RIGHT_HOST)
    for line in ("configure", "interface eth0", "xdp drop"):
        lab.router.command(line)
    assert "restart" not in lab.router.command("commit")
    assert not reaches(lab.left, RIGHT_HOST)
    lab.router.command("no xdp")
    lab.router.command("commit")
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 20)
    assert lab.router.balanced()["drop_xdp"] > 0


@pytest.mark.each_ring
def test_tx_and_redirect(make_lab):
    """The program sends ARP requests back by the port that received them: nobody learns the router's
    address, and each one is counted as sent. On the other port every frame returns (XDP_TX)."""
    lab = boot(make_lab, "redirect", objects=("tx",))
    for line in ("configure", "interface eth1", "xdp tx", "commit"):
        lab.router.command(line)
    for host, other in ((lab.left, RIGHT_HOST), (lab.right, LEFT_HOST)):
        host.run(["ping", "-c", "3", "-W", "1", other], timeout_s=30)
    eventually(lambda: results(lab)["redirect"]["redirect"] >= 1, 10)
    eventually(lambda: results(lab, "eth1")["tx"]["tx"] >= 1, 10)
    assert lab.router.balanced()["xdp_sent"] >= 2


@pytest.mark.one_card
def test_http(make_lab):
    """PUT, GET, DELETE of programs; entries of maps; reasons of refusals."""
    lab = boot(make_lab, "five_tuple")
    status, answer = put(lab.left, "counting", path_of("count"))
    assert (status, answer["name"], answer["maps_new"]) == (201, "counting", ["counters"])
    status, answer = put(lab.left, "counting", path_of("count"))
    assert (status, answer["version"], answer["maps_kept"]) == (200, 2, ["counters"])
    status, answer = put(lab.left, "bad", os.path.join(ROOT, "README.md"))
    assert status == 422 and answer["error"]
    names = {o["name"]: o for o in curl(lab.left, API + "programs")[1]["objects"]}
    assert set(names) == {"five_tuple", "counting"} and names["five_tuple"]["in_use"]
    assert curl(lab.left, "-X", "DELETE", API + "programs/five_tuple")[0] == 409
    assert curl(lab.left, "-X", "DELETE", API + "programs/counting")[0] == 200
    assert curl(lab.left, API + "programs/counting")[0] == 404
    key = "c0000202c6336402" + "0000" * 2 + "01000000"
    assert curl(lab.left, "-X", "PUT", API + "maps/blocked?key=%s&value=%s" % (key, "00" * 8))[0] == 200
    assert curl(lab.left, "-X", "PUT", API + "maps/blocked?key=00&value=00")[0] == 400
    entries = curl(lab.left, API + "maps/blocked")[1]["entries"]
    assert [e["key"] for e in entries] == [key]
    assert curl(lab.left, "-X", "DELETE", API + "maps/blocked?key=" + key)[0] == 200
    assert 'hayate_xdp_packets_total{interface="eth0",object="five_tuple",program="five_tuple",action="pass"}' \
        in curl(lab.left, "http://%s/metrics" % LEFT_ROUTER)[1]
    lab.router.balanced()


# What bpftool 7.1 prints on Linux (`bpftool -j map dump`, "formatted") for this entry of five_tuple.o.
TUPLE = "c0000202c63364020000000001000000"
TUPLE_NAMED = ('{"source":33685696,"destination":40121286,"source_port":0,"destination_port":0,"protocol":1,'
               '"zero":[0,0,0]}')


@pytest.mark.nics([options.DEFAULT_NIC])
def test_names(make_lab):
    """Keys and values by the names of the object's types, on the console and as JSON; without types as bytes;
    still so after a restart of the control program."""
    lab = boot(make_lab, objects=("five_tuple", "globals", "legacy_maps"))
    lab.router.command("xdp map blocked set key hex %s value 5" % TUPLE)
    spaced = " ".join(TUPLE[i:i + 2] for i in range(0, 32, 2))
    for restarts in range(2):
        assert "key: %s  value: 5\n" % TUPLE_NAMED in lab.router.command("show xdp map blocked")
        assert "key: %s  value: 05 00 00 00 00 00 00 00\n" % spaced in lab.router.command("show xdp map blocked hex")
        entry, = curl(lab.left, API + "maps/blocked")[1]["entries"]
        assert entry["formatted"] == {"key": json.loads(TUPLE_NAMED), "value": 5} and entry["key"] == TUPLE
        assert "key: 00 00 00 00  value: {" in lab.router.command("show xdp map globals/.data")
        entry, = curl(lab.left, API + "maps/globals/.data")[1]["entries"]
        assert set(entry["formatted"]) == {"value"} and entry["formatted"]["value"]
        entries = curl(lab.left, API + "maps/legacy_maps/packets")[1]["entries"]
        assert entries and not any("formatted" in entry for entry in entries)
        if restarts == 0:
            lab.router.faults_expected = True
            lab.router.skip()
            lab.router.send("test fault ud core 0")
            lab.router.expect(r"control program: goes on", 30)
            lab.router.wait_prompt(20)
    lab.router.balanced()


def memory_rows(router):
    """[(of, KiB, for)] of `show memory`."""
    return [(m[1].strip(), int(m[2]), m[3])
            for m in re.finditer(r"^(\S.{13}) +(\d+)  (.+)$", router.command("show memory"), re.M)]


@pytest.mark.nics([options.DEFAULT_NIC])
def test_memory_shown(make_lab):
    """`show memory` and metrics have the regions of programs, which do not exist before the first one; the lines
    add up to the machine's memory."""
    lab = boot(make_lab)
    seen = []
    for name in (None, "five_tuple", "per_cpu", "redirect"):
        if name:
            assert put(lab.left, name, path_of(name))[0] == 201
        rows = memory_rows(lab.router)
        assert 0 <= rows[0][1] - sum(kib for _, kib, _ in rows[1:]) <= len(rows), rows
        seen.append({what: kib for of, kib, what in rows if of == "XDP programs"})
        text = curl(lab.left, "http://%s/metrics" % LEFT_ROUTER)[1]
        metrics = {(kind, state): int(n) for kind, state, n in
                   re.findall(r'^hayate_xdp_memory_bytes\{kind="(\w+)",state="(\w+)"\} (\d+)$', text, re.M)}
        assert sum(n for (_, state), n in metrics.items() if state == "free") >> 10 == seen[-1].get("not used", 0)
        for kind, what in (("code", "code"), ("shared", "maps that data cores share"),
                           ("own", "maps with a part for each data core"),
                           ("control", "objects, maps that data cores read")):
            assert metrics.get((kind, "used"), 0) >> 10 == seen[-1].get(what, 0)
    assert not seen[0]
    assert "maps that data cores share" in seen[1] and "maps with a part for each data core" not in seen[1]
    assert seen[2]["maps with a part for each data core"] > 0
    before = seen[-1]["maps that data cores share"]
    assert curl(lab.left, "-X", "DELETE", API + "programs/five_tuple")[0] == 200
    after = {what: kib for of, kib, what in memory_rows(lab.router) if of == "XDP programs"}
    assert after["maps that data cores share"] < before and after["not used"] > seen[-1]["not used"]


def entries_of(numbers, value=1):
    """Entries of five_tuple's map."""
    return [{"key": "0a%06xc6336402" % n + "0000" * 2 + "11000000", "value": "%016x" % value} for n in numbers]


@pytest.mark.nics(["virtio"])  # maps are above the driver
def test_lists_of_entries(make_lab, tmp_path):
    """PUT of many entries in one request; what GET answers is such a list. A list with a mistake
    changes nothing; where the map is full, the answer says how many were set. Others are answered meanwhile."""
    lab = boot(make_lab, "five_tuple")
    path = tmp_path / "list"

    def send(content):
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return curl(lab.left, "-T", str(path), API + "maps/blocked")

    def entries():
        return curl(lab.left, API + "maps/blocked")[1]["entries"]

    wrong = entries_of(range(100))
    wrong[99]["key"] = "00"
    status, answer = send(wrong)
    assert status == 400 and answer["entries"] == 0 and answer["error"].startswith("entry 99: the key has"), answer
    status, answer = send(json.dumps(entries_of(range(3)))[:-1])
    assert status == 400 and "entry 3" in answer["error"], answer
    status, answer = send(entries_of(range(3)) + [{"key": wrong[0]["key"]}])
    assert status == 400 and "there is no value" in answer["error"], answer
    assert send("nothing")[0] == 400 and entries() == []
    assert send(entries_of([7])[0]) == (200, {})
    assert send([]) == (200, {"entries": 0})
    assert send(entries_of(range(1000))) == (200, {"entries": 1000})
    saved = curl(lab.left, API + "maps/blocked")[1]
    assert len(saved["entries"]) == 1000
    for entry in saved["entries"]:
        entry["value"] = "02" + "00" * 7
    assert send(saved) == (200, {"entries": 1000})
    by_key = sorted((e["key"], e["value"]) for e in saved["entries"])
    assert sorted((e["key"], e["value"]) for e in entries()) == by_key
    words = ["curl", "-sS", "-T", str(path), API + "maps/blocked"]
    path.write_text(json.dumps(entries_of(range(10001))))  # the map has room for 10,000
    child = lab.left.popen(words, stdout=subprocess.PIPE, text=True)
    while child.poll() is None:
        assert curl(lab.left, API + "maps")[0] == 200
        lab.router.command("show xdp")
    answer = json.loads(child.stdout.read())
    assert answer["entries"] == 10000 and answer["error"].startswith("entry 10000: the map is full"), answer
    assert "used 10000" in lab.router.command("show xdp map blocked", 60)
    lab.router.balanced()


@pytest.mark.each_ring
def test_replacement_under_load(make_lab):
    """An object is replaced twenty times while a flood passes: nothing is lost, the map keeps counting."""
    lab = boot(make_lab, "count")
    pings(lab.left, RIGHT_HOST)
    with lab.flood(RIGHT_HOST):
        for n in range(20):
            status, answer = put(lab.right, "count", path_of("count"), "http://%s/api/v1/" % RIGHT_ROUTER)
            assert status == 200 and answer["maps_kept"] == ["counters"], answer
    counters = lab.router.balanced()
    drops = {name: n for name, n in counters.items() if name.startswith("drop_xdp")}
    assert not any(drops.values()), drops
    assert results(lab)["count"]["pass"] > 100


@pytest.mark.one_card
def test_control_program_restarts(make_lab):
    """A new control program goes on with the objects; data cores run them meanwhile; maps keep entries."""
    lab = boot(make_lab, "five_tuple", cpus=3)
    pings(lab.left, RIGHT_HOST)
    key = "hex c0000202c63364020000000001000000"
    lab.router.command("xdp map blocked set key %s value 0" % key)
    assert not reaches(lab.left, RIGHT_HOST)
    lab.router.faults_expected = True
    lab.router.skip()
    lab.router.send("test fault ud core 0")
    lab.router.expect(r"control program: goes on", 30)
    lab.router.wait_prompt(20)
    assert not reaches(lab.left, RIGHT_HOST)
    assert "used 1" in lab.router.command("show xdp map blocked")
    assert put(lab.left, "five_tuple", path_of("five_tuple"))[1]["maps_kept"] == ["blocked"]
    assert not reaches(lab.left, RIGHT_HOST)
    lab.router.command("xdp map blocked delete key " + key)
    eventually(lambda: reaches(lab.left, RIGHT_HOST), 20)


SEND = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(b"x", (sys.argv[1], 7777))
"""


def spring(host):
    host.run(["/usr/bin/python3", "-c", SEND, RIGHT_HOST], timeout_s=20, check=True)


@pytest.mark.each_ring
def test_program_that_faults(make_lab):
    """Code of a program is damaged: the report names object, program and instruction; the core comes back and
    the other goes on; the counts of all packets add up; loading the object again mends it."""
    lab = boot(make_lab, "trap trap", cpus=3)
    router = lab.router
    pings(lab.left, RIGHT_HOST)
    spring(lab.left)
    eventually(lambda: results(lab)["trap"]["drop"] == 1, 20)  # a tail call's result is its caller's
    router.faults_expected = True
    for instruction in (2, 4):
        assert router.command("test xdp trap sprung %d" % instruction).strip() == ""
        router.skip()
        spring(lab.left)
        core = router.expect(r"^\*\*\* invalid opcode on core (\d) in the core program", 20, "the report").group(1)
        router.expect(r"core %s: program restarted" % core, 10)
        router.expect(r"^  xdp code\+0x[0-9a-f]+: program sprung of trap, instruction %d\r?$" % instruction, 20,
                      "the program's name")
        # alone: the ports and the other core go on
        assert router.wait_back() is None
        router.wait_links()
        pings(lab.left, RIGHT_HOST)
        pings(lab.right, LEFT_HOST)
        assert "program sprung of trap, instruction %d" % instruction in router.command("show crash")
        status, answer = put(lab.left, "trap", path_of("trap"))
        assert status == 200, answer
    dropped = results(lab)["trap"]["drop"]
    spring(lab.left)
    eventually(lambda: results(lab)["trap"]["drop"] == dropped + 1, 20)
    router.balanced()


PUT_AND_RESET = """
import socket, struct, sys, time
s = socket.create_connection((sys.argv[1], 80))
file = open(sys.argv[2], "rb").read()
head = "PUT /api/v1/programs/slow HTTP/1.1\\r\\nHost: %s\\r\\nContent-Length: %d\\r\\n\\r\\n"
s.sendall((head % (sys.argv[1], len(file))).encode() + file)
time.sleep(float(sys.argv[3]))
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
s.close()
"""


@pytest.mark.one_card
@pytest.mark.parametrize("cpus", [1, 2])
def test_slow_verification(make_lab, cpus):
    """While a program is verified for long, the machine answers other clients and the console. A client that
    resets its connection stops it and leaves nothing."""
    lab = boot(make_lab, objects=("drop",), cpus=cpus)
    words = ["curl", "-sS", "-T", path_of("slow"), API + "programs/slow"]
    child = lab.left.popen(words)
    answered = 0
    while child.poll() is None:
        status, answer = curl(lab.left, API + "programs")
        answered += child.poll() is None and status == 200
        lab.router.command("show xdp")
    assert child.wait() == 0 and answered, "nobody was answered meanwhile"
    slow, = (o for o in curl(lab.left, API + "programs")[1]["objects"] if o["name"] == "slow")
    print("verified in %(verify_us)u us, compiled in %(compile_us)u us, %(longest_us)u us at a time" % slow)
    assert slow["longest_us"] < slow["verify_us"] / 3, slow
    assert curl(lab.left, "-X", "DELETE", API + "programs/slow")[0] == 200
    assert reaches(lab.left, RIGHT_HOST)
    lab.left.run(["/usr/bin/python3", "-c", PUT_AND_RESET, LEFT_ROUTER, path_of("slow"), str(slow["verify_us"] / 4e6)],
                 timeout_s=20, check=True)
    eventually(lambda: put(lab.left, "drop", path_of("drop"))[0] == 200, 20)
    assert curl(lab.left, API + "programs/slow")[0] == 404
    lab.router.balanced()


XDP_TOOLS = "/usr/lib/x86_64-linux-gnu/bpf"


@pytest.mark.nics([options.DEFAULT_NIC])
def test_xdp_tools_objects(make_lab):
    """Debian's xdp-tools, unmodified: which objects load, and why the others do not."""
    lab = boot(make_lab, objects=("drop",))
    loads, refused = set(), {}
    for name in sorted(os.listdir(XDP_TOOLS)):
        status, answer = put(lab.left, "x", os.path.join(XDP_TOOLS, name))
        if status in (200, 201):
            loads.add(name)
            curl(lab.left, "-X", "DELETE", API + "programs/x")
        else:
            refused[name] = answer["error"]
    print(loads, refused)
    assert set(refused) == {"xdpdump_bpf.o"}, refused  # it traces functions (fentry): nothing is of XDP
    assert len([n for n in loads if n.startswith("xdpfilt_")]) == 10, loads
