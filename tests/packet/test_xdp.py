"""XDP programs on the ports of a router (docs/xdp.md): results, helpers, chains, maps over console and HTTP,
replacement. The programs are tests/bpf/programs/*.c, compiled by clang."""
import json
import os
import random
import re
import struct

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from ip6 import CONFIG6, hop6, learn6, udp6
from machine import (A, B, CONFIG, ROOT, ROUTER, WEB, Machine, ether, hop, padded, udp)
from test_http import Client

OBJECTS = os.path.join(ROOT, "build", "bpf")


def program(name):
    with open(os.path.join(OBJECTS, name + ".o"), "rb") as file:
        return file.read()


def module(config, **objects):
    """The boot module: the configuration, then each object under its name."""
    data = config.encode()
    for name, file in objects.items():
        data += b"file program/%s %d\n" % (name.encode(), len(file)) + file
    return data


def with_xdp(*lines, port=0):
    """CONFIG with these statements in the block of a port."""
    block = "interface eth%d\n" % port
    return CONFIG.replace(block, block + "".join(" xdp %s\n" % line for line in lines))


@pytest.fixture
def boot():
    machines = []

    def start(*lines, config=None, ports=2, port=0, **objects):
        if not objects:
            objects = {name: program(name) for name in {line.split()[0] for line in lines}}
        machines.append(Machine(module(config or with_xdp(*lines, port=port), **objects), ports=ports))
        return machines[-1]
    yield start
    for m in machines:
        m.expect_nothing()
        m.close()


def counts(m, port="eth0"):
    """[(object, program, {action: count})] of a port."""
    rows = []
    for line in m.console("show xdp").splitlines():
        if line.startswith(port + " "):
            head, _, rest = line.partition(":")
            words = rest.split()
            rows.append((*head.split()[4:6], {a: int(n) for a, n in zip(words[::2], words[1::2])}))
    return rows


def test_drop(boot):
    m = boot("drop")
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / udp(A, B))
    assert m.counted() == {"drop_xdp": 1}
    (name, function, action), = counts(m)
    assert (name, function) == ("drop", "drop")
    assert action == {"pass": 0, "drop": action["drop"], "tx": 0, "redirect": 0, "aborted": 0}
    assert action["drop"] >= 1


def hexes(data):
    return "hex " + data.hex()


def test_pass_tx_redirect(boot):
    """Each result ends in the right fate, and the frame leaves as the program has changed it."""
    m = boot("tx", config=with_xdp("pass named").replace("interface eth1\n", "interface eth1\n xdp tx\n"),
             **{"pass": program("pass"), "tx": program("tx")})
    m.learn(A)
    frame = ether(A, ROUTER[1]) / udp(A, B)
    m.counted()
    m.send(1, frame)
    m.expect(1, ether(ROUTER[1], A) / udp(A, B))
    m.expect_counters(forwarded=1, xdp_sent=1)
    assert counts(m, "eth1")[0][2]["tx"] >= 1
    assert counts(m)[0][:2] == ("pass", "named")


def test_aborted(boot):
    m = boot("pass aborted")
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / udp(A, B))
    m.expect_counters(drop_xdp_aborted=1)


FATES = {0: "drop_xdp_aborted", 1: "drop_xdp", 2: "forwarded", 3: "forwarded", 4: "drop_xdp_redirect",
         7: "drop_xdp_aborted"}  # by action


@pytest.mark.parametrize("changes", [0, 1])
@pytest.mark.parametrize("behind", [(), ("count",)])
@pytest.mark.parametrize("seed", range(2))
def test_mixed_vector(boot, seed, behind, changes):
    """Packets of one vector have all results, at random: each port's are in order, each is counted."""
    rng = random.Random(seed)
    m = boot("result change" if changes else "result keep", *behind)
    m.learn(A, B)
    actions = [rng.choice(list(FATES)) for _ in range(250)]
    frames = [padded(ether(A, ROUTER[0]) / IP(src="10.1.0.%d" % action, dst=B.ip, id=n) /
                     UDP(sport=7, dport=9, chksum=0)) for n, action in enumerate(actions)]
    m.counted()
    before = counts(m)
    m.send(0, *frames)
    for frame, action in zip(frames, actions):
        frame = Ether(bytes(frame))
        frame[UDP].sport += changes
        if action == 2:
            m.expect(1, padded(ether(ROUTER[1], B) / hop(frame[IP])))
        elif action == 3:
            m.expect(0, frame)
    wanted = {"xdp_sent": actions.count(3)}
    for action in actions:
        wanted[FATES[action]] = wanted.get(FATES[action], 0) + 1
    m.expect_counters(**wanted)
    after = counts(m)
    assert {name: n - before[0][2][name] for name, n in after[0][2].items()} == {
        "pass": actions.count(2), "drop": actions.count(1), "tx": actions.count(3), "redirect": actions.count(4),
        "aborted": actions.count(0) + actions.count(7)}
    if behind:
        assert after[1][2]["pass"] - before[1][2]["pass"] == actions.count(2)


@pytest.mark.parametrize("action", [1, 2])
def test_vector_of_one_result(boot, action):
    m = boot("result")
    m.learn(A, B)
    frames = [padded(ether(A, ROUTER[0]) / IP(src="10.1.0.%d" % action, dst=B.ip, id=n) / UDP(sport=7, dport=9))
              for n in range(256)]
    m.counted()
    m.send(0, *frames)
    for frame in frames if action == 2 else []:
        m.expect(1, padded(ether(ROUTER[1], B) / hop(Ether(frame)[IP])))
    m.expect_counters(**{FATES[action]: 256})


def test_redirect_map(boot):
    """An empty device map gives the result in the flags; an entry sends to that port; bpf_redirect by
    number; no such interface; a link that is down."""
    m = boot("redirect")
    m.counted()
    frame = ether(A, B) / udp(A, B)
    m.send(0, ether(A, ROUTER[0]) / udp(A, ROUTER[0].ip))  # nothing there: XDP_PASS
    assert "drop_udp_port" in m.counted()
    m.take_all(0)
    assert m.console("xdp map ports set key 0 value 2") == ""
    m.send(0, frame)
    m.expect(1, frame)
    m.expect_counters(forwarded=1, xdp_sent=1)
    m.send(0, Ether(src=A.mac, dst=B.mac, type=0x0806) / Raw(bytes(46)))  # back by its own port
    m.expect(0, Ether(src=A.mac, dst=B.mac, type=0x0806) / Raw(bytes(46)))
    m.counted()
    m.link(1, False)
    m.counted()
    m.send(0, frame)
    m.expect_counters(drop_xdp_redirect=1)
    m.link(1, True)
    assert "no interface has the ifindex 99" in m.console("xdp map ports set key 0 value 99")
    assert "the key has 4 bytes" in m.console("xdp map ports set key 0x100000000 value 2")
    assert m.console("xdp map ports delete key 0") == ""
    m.take_all(1)


@pytest.mark.parametrize("chain, counts_on", [
    ("pass", True), ("rewrite look", True), ("rewrite store", False), ("rewrite store_bytes", False),
    ("rewrite head", False), ("rewrite jump", False), ("pass, rewrite store", False)])
def test_csum_flag(boot, chain, counts_on):
    """The card's judgement of a checksum (which is wrong here) counts until a program of the chain may change
    the packet."""
    m = boot(*chain.split(", "))
    m.learn(A, B)
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / udp(A, ROUTER[0].ip, dport=9, chksum=0x1234), flags="ok")
    assert ("drop_udp_port" if counts_on else "drop_udp_malformed") in m.counted()
    m.take_all(0)


def test_partial_checksum_is_completed(boot):
    m = boot("pass")
    m.learn(A, B)
    packet = udp(A, B)
    good = bytes(ether(ROUTER[1], B) / hop(packet))
    frame = bytearray(bytes(ether(A, ROUTER[0]) / packet))
    # the sum of the pseudo header alone, as a virtio peer leaves it
    pseudo = bytes(frame[26:34]) + bytes([0, 17]) + bytes(frame[38:40])
    words = sum(struct.unpack(">%dH" % (len(pseudo) // 2), pseudo))
    frame[40:42] = struct.pack(">H", (words & 0xffff) + (words >> 16))
    m.send(0, bytes(frame), flags="partial 34 6")
    out = m.take(1)
    assert out.partial is None and out.frame == padded(good)
    m.counted()


def test_encapsulate(boot):
    """A header of 20 bytes finds room, though drivers leave 8 before a frame."""
    m = boot("encapsulate")
    m.counted()
    frame = bytes(ether(A, ROUTER[0]) / udp(A, B, size=1000))
    m.send(0, frame)
    out = m.take(0).frame
    outer = IP(out[14:])
    assert out[:14] == frame[:14] and outer.proto == 4 and (outer.src, outer.dst) == ("192.0.2.1", "192.0.2.2")
    assert bytes(outer.payload) == frame[14:]
    check = outer.copy()
    del check.chksum
    assert IP(bytes(check)).chksum == outer.chksum
    m.counted()


def test_cut(boot):
    m = boot("encapsulate cut")
    frame = bytes(ether(A, ROUTER[0]) / udp(A, B, size=1000))
    m.send(0, frame)
    assert m.take(0).frame == frame[:128]
    m.counted()


def test_vlan_tag_is_seen(boot):
    """The program sees the frame before the tag is taken out; XDP_TX returns it with its tag."""
    m = boot("tx", config=with_xdp("tx") + "interface eth0.100\n ip address 203.0.113.1/24\n")
    tagged = Ether(src=A.mac, dst=ROUTER[0].mac) / Dot1Q(vlan=100) / udp(A, B)
    m.counted()
    m.send(0, tagged)
    m.expect(0, Ether(src=ROUTER[0].mac, dst=A.mac) / Dot1Q(vlan=100) / udp(A, B))
    m.counted()


def test_redirect_to_vlan_adds_the_tag(boot):
    m = boot("redirect", config=with_xdp("redirect") +
             "interface eth1.100\n ip address 203.0.113.1/24\n")
    index = next(line.split()[2] for line in m.console("show xdp interfaces").splitlines()
                 if line.startswith("eth1.100 "))
    m.console("xdp map ports set key 0 value " + index)
    m.counted()
    m.send(0, ether(A, B) / udp(A, B))
    out = m.take(1).frame
    assert out == bytes(Ether(src=A.mac, dst=B.mac) / Dot1Q(vlan=100) / Raw(bytes(padded(
        ether(A, B) / udp(A, B)))[14:])).replace(b"\x81\x00\x00\x64\x90\x00", b"\x81\x00\x00\x64\x08\x00") or \
        out[12:18] == b"\x81\x00\x00\x64\x08\x00"
    assert out[18:] == bytes(udp(A, B)) + bytes(len(out) - 18 - len(bytes(udp(A, B))))
    m.counted()


def test_maps_on_the_console(boot):
    """A filter by a hash: entries by the console, in bytes and as numbers; counts read back."""
    m = boot("five_tuple")
    m.learn(A, B)
    packet = udp(A, B, sport=1111, dport=2222)
    key = bytes([192, 0, 2, 2, 198, 51, 100, 2]) + struct.pack(">HH", 1111, 2222) + bytes([17, 0, 0, 0])
    m.route(packet)
    assert m.console("xdp map blocked set key %s value 0" % hexes(key)) == ""
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / packet, ether(A, ROUTER[0]) / packet)
    m.expect_counters(drop_xdp=2)
    shown = m.console("show xdp map blocked hex")
    assert "used 1" in shown and "key: " + " ".join("%02x" % b for b in key) in shown
    assert "value: 02 00 00 00 00 00 00 00" in shown
    assert m.console("xdp map five_tuple/blocked delete key " + hexes(key)) == ""
    assert "there is no such entry" in m.console("xdp map blocked delete key " + hexes(key))
    assert "the key has 16 bytes" in m.console("xdp map blocked set key 1 value 0")
    assert m.console("xdp map blocked set key %s value 0 cpu 0" % hexes(key)) == "the cores share this map: it takes no cpu\n"
    assert "no object has such a map" in m.console("show xdp map nothing")
    m.counted()
    m.route(packet)
    m.counted()


def test_a_reading_that_ends_early(boot):
    """The next one begins with the first entry that there is, not where the one before ended."""
    m = boot("five_tuple", config=with_xdp("five_tuple") + WEB)
    m.learn(A, B)
    client = Client(m)
    for key in ("01" * 16, "02" * 16):
        assert m.console("xdp map blocked set key hex %s value 0" % key) == ""
        entries = json.loads(client.get("/api/v1/maps/blocked?limit=1")[2])["entries"]
        assert [e["key"] for e in entries] == [key]
        assert m.console("xdp map blocked delete key hex " + key) == ""
    client.close()
    m.take_all(0)
    m.counted()


def test_globals_and_printing(boot):
    m = boot("globals")
    m.counted()
    m.send(0, *[ether(A, ROUTER[0]) / udp(A, B, dport=1500)] * 3)
    m.expect_counters(drop_xdp=3)
    m.time(10 ** 9)
    assert "xdp: core 0, eth0: port 1500 of " in m.text
    shown = m.console("show xdp map .bss")
    value = json.loads(re.search(r"^key: 00 00 00 00  value: (.*)$", shown, re.M)[1])
    assert value["dropped"] == 3 and value["hit"] == [3 if i == 1500 % 16 else 0 for i in range(16)]
    assert value["seen"] >= 3 and value["last_bytes"] >= 42


def test_printing_is_limited(boot):
    """A program that prints for every packet: the console gets some lines, and how many were lost."""
    m = boot("globals")
    for _ in range(4):
        m.send(0, *[ether(A, ROUTER[0]) / udp(A, B, dport=1500)] * 50)
    m.time(3 * 10 ** 9)
    assert m.text.count("port 1500 of") == 32
    assert "168 more lines were lost" in m.text
    m.counted()


def test_tail_calls(boot):
    m = boot("tail_calls dispatch")
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / udp(A, B))
    m.expect(0, ether(A, ROUTER[0]) / udp(A, B))
    m.expect_counters(forwarded=1, xdp_sent=1)
    m.send(0, Ether(src=A.mac, dst=B.mac, type=0x86dd) / Raw(bytes(50)))
    m.expect_counters(drop_xdp=1)
    m.send(0, Ether(src=A.mac, dst=B.mac, type=0x9999) / Raw(bytes(50)))
    m.expect_counters(drop_xdp=1)
    shown = m.console("show xdp map calls")
    assert re.search(r"^key: 3  value: 3[34]$", shown, re.M)
    assert m.console("xdp map programs set key 0 value program ip6") == ""
    m.send(0, ether(A, ROUTER[0]) / udp(A, B))
    m.expect_counters(drop_xdp=1)


def test_ring_buffer(boot):
    m = boot("ring")
    m.learn(A, B)
    m.route(udp(A, B))
    shown = m.console("show xdp events events")
    assert "cpu 0, 24 bytes:" in shown and "1 records" in shown
    assert "c0 00 02 02 c6 33 64 02" in shown
    assert m.console("show xdp events events") == "0 records\n"
    m.counted()


def test_per_cpu_maps(boot):
    m = boot("per_cpu")
    m.learn(A, B)
    for _ in range(3):
        m.route(udp(A, B))
    assert "key: c0 00 02 02  value cpu 0: 03 00 00 00 00 00 00 00" in m.console("show xdp map sources hex")
    assert re.search(r'^key: 33685696  value cpu 0: \{"packets":3,"bytes":\d+\}$', m.console("show xdp map sources"), re.M)
    m.key("xdp map sources set key hex c0000202 value hex " + "00" * 16 + " cpu 0\r")  # wider than the row
    assert "value cpu 0: 00 00 00 00" in m.console("show xdp map sources hex")
    m.counted()


FIB = {"success": 0, "blackhole": 1, "unreachable": 2, "prohibit": 3, "not forwarded": 4, "no neighbour": 7,
       "too long": 8}


def fib_answer(m):
    """(result, ifindex, MTU) of the last bpf_fib_lookup of fib.c."""
    value = re.search(r"value: ([0-9a-f ]+)", m.console("show xdp map last hex")).group(1)
    return struct.unpack("<qII", bytes.fromhex(value))


def with_fib(config):
    return config.replace("interface eth0\n", "interface eth0\n xdp fib\n")


def test_fib_lookup(boot):
    """bpf_fib_lookup, IPv4: the program forwards as the router would; each of the other results."""
    m = boot("fib", config=with_fib(CONFIG) + "ip route 10.1.0.0/16 blackhole\nip route 10.2.0.0/16 unreachable\n"
             "ip route 10.3.0.0/16 prohibit\nip route 10.4.0.0/16 %s\n" % B.ip)
    m.learn(A, B)
    packet = udp(A, B)
    m.counted()

    def ask(dst, size=32):
        m.send(0, ether(A, ROUTER[0]) / IP(src=A.ip, dst=dst, flags="DF") / UDP(sport=1, dport=2) / Raw(bytes(size)))
        return fib_answer(m)
    assert ask("198.51.100.77")[0] == FIB["no neighbour"]  # passed to the router, which asks
    assert len(m.take_all(1)) == 1
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(1, ether(ROUTER[1], B) / hop(packet))
    m.expect_counters(forwarded=1, xdp_sent=1)
    assert fib_answer(m) == (FIB["success"], 2, 1500)
    assert ask("10.4.5.6") == (FIB["success"], 2, 1500)  # the gateway's address
    assert m.take(1).frame[:6] == bytes.fromhex(B.mac.replace(":", ""))
    for dst, result in (("10.1.0.1", "blackhole"), ("10.2.0.1", "unreachable"), ("10.3.0.1", "prohibit"),
                        ("192.0.2.1", "not forwarded"), ("192.0.2.255", "not forwarded"),
                        ("9.9.9.9", "not forwarded")):
        assert ask(dst)[0] == FIB[result], dst
    m.take_all(0)
    m.take_all(1)
    m.counted()


def test_fib_lookup_mtu(boot):
    m = boot("fib", config=with_fib(CONFIG).replace("interface eth1\n", "interface eth1\n mtu 1000\n"))
    m.learn(A, B)
    m.send(0, ether(A, ROUTER[0]) / udp(A, B, size=972))
    assert fib_answer(m) == (FIB["success"], 2, 1000)
    m.take(1)
    m.send(0, ether(A, ROUTER[0]) / udp(A, B, size=973))
    assert fib_answer(m)[::2] == (FIB["too long"], 1000)
    m.take_all(0)
    m.take_all(1)
    m.counted()


def test_fib_lookup6(boot):
    """The same for IPv6; a link-local destination is on the port that received the packet."""
    m = boot("fib", config=with_fib(CONFIG6) + "ipv6 route 2001:db8:a1::/48 blackhole\n"
             "ipv6 route 2001:db8:a2::/48 unreachable\nipv6 route 2001:db8:a3::/48 prohibit\n"
             "ipv6 route 2001:db8:a4::/48 %s\n" % B.ip6)
    learn6(m, A, B)
    packet = udp6(A, B)
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / packet)
    m.expect(1, ether(ROUTER[1], B) / hop6(packet))
    m.expect_counters(forwarded=1, xdp_sent=1)
    assert fib_answer(m) == (FIB["success"], 2, 1500)
    for dst, result in (("2001:db8:a1::1", "blackhole"), ("2001:db8:a2::1", "unreachable"),
                        ("2001:db8:a3::1", "prohibit"), ("2001:db8:a4::1", "success"),
                        ("2001:db8:1::1", "not forwarded"), ("2001:db9::1", "not forwarded"),
                        ("2001:db8:2::77", "no neighbour"), ("ff02::5", "not forwarded")):
        packet.dst = dst
        m.send(0, ether(A, ROUTER[0]) / packet)
        assert fib_answer(m)[0] == FIB[result], dst
    m.take_all(0)
    m.take_all(1)
    m.counted()


def test_metadata(boot):
    """bpf_xdp_adjust_meta: what a program puts before the frame the next one of the chain finds there; the
    application and the wire do not see it. Sizes that are refused."""
    m = boot("meta sizes", "meta put", "meta get")
    for size in (18, 100, 1400):
        m.counted()
        frame = bytes(ether(A, ROUTER[0]) / udp(A, B, size=size))
        m.send(0, frame)
        m.expect(0, frame)
        m.expect_counters(forwarded=1, xdp_sent=1)
    assert [row[2]["aborted"] for row in counts(m)] == [0, 0, 0]
    m = boot("meta get", "meta put")  # the other way round: nothing is there, and the packet is forwarded
    m.learn(A, B)
    m.route(udp(A, B))
    m.counted()


def test_heads_that_are_refused(boot):
    """bpf_xdp_adjust_head moves the start of the frame to its last Ethernet header at most, whatever the number."""
    m = boot("meta heads")
    m.learn(A, B)
    for size in (18, 1400):
        m.route(udp(A, B, size=size))
    assert [row[2]["aborted"] for row in counts(m)] == [0]
    m.counted()


def test_perf_events(boot):
    """bpf_perf_event_output, with the beginning of the packet behind the program's data; events over HTTP, as
    lines of JSON, each once."""
    m = boot("perf", config=with_xdp("perf") + WEB)
    m.learn(A, B)
    m.console("show xdp events events")
    packets = [udp(A, B, dport=port) for port in (1000, 2000, 3000)]
    for packet in packets:
        m.route(packet)
    client = Client(m)
    status, fields, content = client.get("/api/v1/maps/perf/events/events")
    said = [json.loads(line) for line in content.decode().splitlines()]
    frames = [padded(ether(A, ROUTER[0]) / packet) for packet in packets]
    want = [(struct.pack("<II", 0xfeedbeef, len(frame)) + frame[:34]).hex() for frame in frames]
    assert status == 200 and [e["data"][:len(want[0])] for e in said[:3]] == want
    assert all(e["cpu"] == 0 and e["bytes"] >= 42 for e in said)
    again = client.get("/api/v1/maps/perf/events/events")[2].decode()
    assert not any(w in again for w in want)
    client.close()
    m.take_all(0)
    m.counted()


def test_ring_events_over_http(boot):
    m = boot("ring", config=with_xdp("ring") + WEB)
    m.learn(A, B)
    m.route(udp(A, B))
    client = Client(m)
    said = [json.loads(line) for line in client.get("/api/v1/maps/events/events")[2].decode().splitlines()]
    assert any(e["bytes"] == 24 and e["data"][32:] == "c0000202c6336402" for e in said), said
    assert client.get("/api/v1/maps/nothing/events")[0] == 404
    client.close()
    m.take_all(0)
    m.counted()


def put_request(path, file, expect=False):
    head = "PUT %s HTTP/1.1\r\nHost: 192.0.2.1\r\nContent-Length: %d\r\n%s\r\n" % (
        path, len(file), "Expect: 100-continue\r\n" if expect else "")
    return head.encode()


def test_put_waits_for_100_continue(boot):
    """RFC 9110 10.1.1: the client sends the content after 100 (Continue). If the head is refused already, the
    refusal comes instead."""
    m = boot(config=CONFIG.replace("arp timeout 60\n", "") + WEB, unused=program("pass"))
    m.learn(A, B)
    file = program("count")
    client = Client(m)
    client.ask(put_request("/api/v1/programs/count", file, expect=True))
    assert client.got == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.got = b""
    client.ask(file)
    status, fields, content = client.answer()
    assert status == 201 and json.loads(content)["maps_new"] == ["counters"], content
    assert fields["Connection"] == "close"
    client = Client(m, sport=40002)
    client.ask(put_request("/api/v1/status.json", file, expect=True))
    assert client.got.startswith(b"HTTP/1.1 405 "), client.got[:80]
    assert "object count version 1" in m.console("show xdp")
    client = Client(m, sport=40001)
    client.ask(put_request("/api/v1/programs/count", b"x" * (1 << 20), expect=True)[:-2].replace(
        b"1048576", b"1048577") + b"\r\n")
    assert client.got.startswith(b"HTTP/1.1 413 "), client.got[:80]
    m.take_all(0)
    m.counted()


def test_put_of_a_client_that_goes(boot):
    """A client that goes in the middle of the content leaves nothing; the next one is served."""
    m = boot(config=CONFIG.replace("arp timeout 60\n", "") + WEB, unused=program("pass"))
    m.learn(A, B)
    file = program("count")
    client = Client(m)
    client.ask(put_request("/api/v1/programs/count", file) + file[:1000])
    client.send("R")
    client = Client(m, sport=40001)
    client.ask(put_request("/api/v1/programs/count", file) + file)
    assert client.answer()[0] == 201
    client.close()
    m.take_all(0)
    m.counted()


def test_chain(boot):
    """libxdp's order: by priority, then as configured; early's results PASS and DROP go on, ordinary's only
    PASS."""
    m = boot("chain ordinary", "chain late", "chain early", "drop")
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / udp(A, B))
    m.expect_counters(drop_xdp=1)
    rows = counts(m)
    assert [row[1] for row in rows] == ["early", "ordinary", "drop", "late"]
    assert [sum(row[2].values()) > 0 for row in rows] == [True, True, True, False]


def test_configuration(boot):
    """A commit that names an unknown object is refused with line and reason; `no xdp`; live."""
    m = boot("drop", config=CONFIG, drop=program("drop"), **{"pass": program("pass")})
    m.learn(A, B)
    m.route(udp(A, B))
    m.console("configure")
    m.console("interface eth0")
    m.console("xdp nothing")
    said = m.console("commit")
    assert "there is no object of that name" in said, said
    m.console("no xdp nothing")
    m.console("xdp pass nothing")
    assert "no program of that name" in m.console("commit")
    m.console("no xdp")
    m.console("xdp drop")
    assert "restart" not in m.console("commit")
    m.counted()
    m.send(0, ether(A, ROUTER[0]) / udp(A, B))
    m.expect_counters(drop_xdp=1)
    assert " xdp drop\n" in m.console("show running-config")
    m.console("no xdp drop")
    m.console("commit")
    m.route(udp(A, B))
    m.console("interface lo0")
    assert "programs run on ports" in m.console("xdp drop") + m.console("commit")


def test_bad_module(boot):
    """An object that cannot be loaded is named with its reason; a configuration that needs it is not
    applied."""
    m = boot(config=with_xdp("drop"), drop=b"\x7fELF" + bytes(100))
    assert "xdp: object drop of the boot module: " in m.text
    assert "there is no object of that name" in m.text and "nothing of the configuration is applied" in m.text
