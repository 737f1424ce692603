#!/usr/bin/python3
"""Runs packetdrill scripts against the TCP of net/tcp in virtual time (tests/drill/harness.c).

    tests/drill/drill.py [-v] SCRIPT...      reports the failure of each; -v: every packet

script.py has the language, harness.c the protocol of the process that is controlled here.

OPTIONS of a script (`--NAME=VALUE` lines at its top):
    tolerance_usecs   by how much a packet may be early or late; default 4000
    remote_isn        added to all sequence numbers of the peer, so that they wrap where wanted
    local_isn         the same for our numbers: the instance is made at the time at which RFC 6528's
                      clock gives the first connection this number
    family            4 or 6: the script uses numbers of that version of IP. Without it the script
                      is for both; over IPv6 MTUs are then 20 bytes larger than it says, so that
                      segment sizes are the same
    anything else     a parameter of the instance (struct tcp_params), or one of harness.c

Our sequence numbers are relative to the initial one, the peer's are as in the script. Our timestamps
are relative to the first that was expected by number, in ms.

The bytes that are written and received are functions of their place in the stream, so that the
content of each packet and each read() is checked too.

Socket calls: socket bind listen accept connect read recv write send sendto(MSG_FASTOPEN) shutdown
close fcntl setsockopt getsockopt. None of them waits. Beyond net/tcp/tcp.h they behave like a host's
sockets: received data is consumed by read(), close() with unread data is a reset (RFC 9293 3.6.1).
`sendpkt` is write() by tcp_send_pkt. `harness(WORDS...)` passes a command on unchanged.

Names in Python: for the connection last used, tcpi_NAME of struct tcp_info as our stack has them, and
`sock`; for the instance, cnt_NAME of net/counters.h and states[TCP_NAME]; `sent`, the last packet that
was expected. Assigned names are kept for later blocks.
"""
import argparse
import collections
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)

import wire  # noqa: E402
from script import ANY, ScriptError, parse  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
HARNESS = os.environ.get("HARNESS") or os.path.join(ROOT, "build", "drill", "harness")
LOCAL = {4: bytes((192, 0, 2, 1)), 6: bytes.fromhex("20010db8") + bytes(11) + b"\1"}
REMOTE = {4: bytes((192, 0, 2, 2)), 6: bytes.fromhex("20010db8") + bytes(11) + b"\2"}
IP6_MORE = 20  # bytes of its header
LOCAL_PORT, REMOTE_PORT = 8080, 40000
START_US = 1000000000
WRAP_US = ((1 << 32) - 250) * 1000  # a clock of 32-bit ms wraps soon after
FOREVER_US = 10000000000  # how long to wait for what may come at any time
MASK = 0xffffffff
STATES = ("TCP_CLOSED TCP_SYN_SENT TCP_SYN_RECEIVED TCP_ESTABLISHED TCP_FIN_WAIT_1 TCP_FIN_WAIT_2 "
          "TCP_CLOSE_WAIT TCP_CLOSING TCP_LAST_ACK TCP_TIME_WAIT").split()
ERRORS = {0: None, -1: "ENOMEM", -2: "EINVAL", -4: "ETIMEDOUT", -7: "EAGAIN", -8: "ECONNRESET",
          -9: "ECONNREFUSED"}
UNREACHABLE = ("net_unreachable host_unreachable protocol_unreachable port_unreachable frag_needed "
               "source_route_failed net_unknown host_unknown").split()

PATTERN = {side: random.Random(side).randbytes(65521) for side in ("ours", "theirs")}


def stream(side, start, n):
    """n bytes of a stream from byte `start` on."""
    out = PATTERN[side][start % 65521:][:n]
    while len(out) < n:
        out += PATTERN[side][:n - len(out)]
    return out


class Failure(Exception):
    """The stack did not do what the script requires."""


class HarnessError(Failure):
    """The process ended or broke an invariant."""


def seconds(us):
    return "%.6f" % (us / 1e6)


class Harness:
    """The process under control: a command in, the lines of its answer out."""

    def __init__(self, parameters):
        self.errors = tempfile.TemporaryFile()
        self.child = subprocess.Popen(
            [HARNESS] + ["%s=%s" % item for item in parameters.items()], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def ask(self, *words):
        try:
            self.child.stdin.write(" ".join(str(w) for w in words) + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            self.died()
        answer = []
        for line in self.child.stdout:
            if line == "done\n":
                return answer
            answer.append(line.split())
        return self.died()

    def end(self):
        """Its invariants must hold at the end, too, and the sanitizers must report nothing."""
        self.ask("end")
        if self.child.wait():
            self.died()

    def died(self):
        self.child.wait()
        self.errors.seek(0)
        raise HarnessError("the harness ended (%d):\n%s" % (
            self.child.returncode, self.errors.read().decode(errors="replace")[-6000:]))

    def close(self):
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()
        self.errors.close()


class Flow:
    """Maps a script's numbers of one connection to those on the wire."""

    def __init__(self, lport, rport):
        self.lport, self.rport = lport, rport  # lport None: an ephemeral one, not yet seen
        self.iss = None       # our ISN on the wire, 0 in the script
        self.ts = None        # our timestamps: wire minus script
        self.base = None      # sequence number of its SYN, as in the script
        self.peer_syn = None  # of its last SYN, which may differ
        self.anew = False     # it does: our ISN may differ too


class Socket:
    """What a file descriptor stands for."""

    def __init__(self):
        self.id = self.listener = None
        self.port = LOCAL_PORT
        self.accepted = collections.deque()
        self.received = self.read = self.written = 0
        self.fin = self.connected = self.closed = self.shut = False
        self.error = None
        self.options = {}


class Names(dict):
    """The names in a script's Python; a counter that is not present is 0."""

    def __missing__(self, name):
        if name.startswith("cnt_"):
            return 0
        raise KeyError(name)


class Run:
    """One script on one instance."""

    def __init__(self, text, name="script", verbose=False, start=START_US, family=4, **parameters):
        """parameters: those of the instance, unless the script sets them."""
        self.name, self.verbose = name, verbose
        options, self.events = parse(text, name)
        own, options = options, dict(parameters, **options)
        self.tolerance = int(options.pop("tolerance_usecs", 4000))
        self.remote_isn = int(options.pop("remote_isn", 0), 0) if "remote_isn" in options else 0
        self.local_isn = int(options.pop("local_isn"), 0) if "local_isn" in options else None
        self.family, self.more = family, 0
        if int(options.pop("family", family)) != family:
            raise Failure("%s is not for IPv%d" % (name, family))
        if family == 6 and "family" not in own:
            self.more = IP6_MORE
            options["mtu"] = int(options.get("mtu", 1500)) + self.more
        self.parameters = options
        self.start = start

    def begin(self):
        self.harness = Harness(dict(self.parameters, start_us=self.start, family=self.family))
        self.now = 0      # us since the start, as all times below
        self.base = 0     # what relative times are relative to
        self.outs = collections.deque()  # (time, Tcp) not yet expected by an event
        self.flows = {}   # by (lport, rport)
        self.flow = None  # the one of packets without ports
        self.fds, self.ids = {}, {}
        self.current = None
        self.cookie = b""
        self.names = Names((state, number) for number, state in enumerate(STATES))
        self.log = collections.deque(maxlen=12)

    def run(self):
        """Raises Failure at the first event that does not match."""
        if self.local_isn is not None:
            self.find_start()
        self.begin()
        try:
            for event in self.events:
                self.event(event)
            if self.outs:
                time, packet = self.outs[0]
                raise Failure("%s: a packet is left that was not expected\nactual packet: %s %s" % (
                    self.name, seconds(time), self.text(packet)))
            self.harness.end()
        except HarnessError as e:
            raise Failure("%s: %s" % (self.name, e)) from None
        finally:
            self.harness.close()

    def find_start(self):
        """The time at which the first connection gets the wanted number: RFC 6528's ISN is the sum
        of a clock of 4 us and a hash of addresses and ports."""
        goal, self.local_isn = self.local_isn, None
        found = Run("", self.name, start=self.start, family=self.family)
        found.parameters, found.events = self.parameters, list(itertools.takewhile(
            lambda e: e.kind != "out", self.events))
        found.begin()
        try:
            for event in found.events:
                found.event(event)
            found.advance(found.now + self.tolerance)
            isn = found.outs[0][1].seq
        except IndexError:
            raise Failure("%s: no packet shows our sequence number" % self.name) from None
        finally:
            found.harness.close()
        self.start += ((goal - isn) & MASK) * 4

    # --- the harness ---

    def ask(self, *words):
        """Runs a command; takes the packets and callbacks of its answer, and returns the rest."""
        rest = []
        for line in self.harness.ask(*words):
            if line[0] == "out":
                packet = bytes.fromhex(line[2])
                for segment in wire.segments(packet, *map(int, line[3:])) if line[3:] else [packet]:
                    self.sent(int(line[1]) - self.start, segment)
            elif line[0] == "event":
                self.callback(int(line[1]), line[2], line[3:])
            elif line[0] == "now":
                self.now = int(line[1]) - self.start
            else:
                rest.append(line)
        return rest

    def result(self, *words):
        """A command's result; None: the connection no longer exists."""
        answer = self.ask(*words)
        return int(answer[0][1]) if answer and answer[0][0] == "result" else None

    def sent(self, time, packet):
        try:
            decoded = wire.decode_ip_tcp(packet, LOCAL[self.family], REMOTE[self.family])
        except wire.Malformed as e:
            raise Failure("%s: a malformed packet is sent at %s: %s: %s" % (
                self.name, seconds(time), e, packet.hex())) from None
        self.outs.append((time, decoded))

    def callback(self, number, what, words):
        if what == "accept":
            sock = self.ids[number] = Socket()
            sock.id, sock.connected = number, True
            self.listening(int(words[0])).accepted.append(sock)
            return
        sock = self.ids[number]
        if what == "data":
            data = bytes.fromhex(words[0])
            if data != stream("theirs", sock.received, len(data)):
                raise Failure("%s: received bytes %d to %d are not those that were sent" % (
                    self.name, sock.received, sock.received + len(data)))
            sock.received += len(data)
        elif what == "connected":
            sock.connected = True
        elif what == "fin":
            sock.fin = True
        elif what == "closed":
            sock.closed, sock.error = True, ERRORS.get(int(words[0]), words[0])

    def listening(self, number):
        return next(s for s in self.fds.values() if s.listener == number)

    def advance(self, time, stop=False):
        if time > self.now or stop:
            self.ask("until" if stop else "time", self.start + max(time, self.now))

    # --- events ---

    def event(self, event):
        kind, start, end = event.time
        self.where = "%s:%d" % (self.name, event.line)
        if kind == "relative":
            start, end = start + self.base, end + self.base
        if event.kind == "out":
            self.base = self.expect(event, kind, start, end)
            return
        if kind == "any":
            start = self.now
        self.advance(start)
        self.base = start
        try:
            getattr(self, "event_" + event.kind)(event)
        except Failure as e:
            if isinstance(e, HarnessError):
                raise HarnessError("after line %d: %s\n%s" % (event.line, event.text, e)) from None
            raise

    def event_in(self, event):
        p = event.body
        flow = self.flow_of(p, ours=False)
        if "S" in p.flags:
            flow.anew = flow.anew or flow.peer_syn not in (None, p.seq)
            flow.peer_syn = p.seq
            flow.base = p.seq if flow.base is None else flow.base
        packet = self.build(p, flow)
        self.note("<", packet)
        self.ask("in", wire.encode_tcp(REMOTE[self.family], LOCAL[self.family], packet,
                                       "badcsum" in p.ip).hex())

    def event_icmp(self, event):
        p = event.body
        flow = self.flow_of(p, ours=True)
        if flow.lport is None:
            raise ScriptError("%s: no packet of this connection was seen" % self.where)
        quote = wire.Tcp(flow.lport, flow.rport, p.seq + (flow.iss or 0), 0, 16, 0, 0, [],
                         bytes(p.length), 0, True, 64)
        # the IP header and the 8 bytes that every host quotes (RFC 792)
        n = 48 if self.family == 6 else 28
        quoted = wire.encode_tcp(LOCAL[self.family], REMOTE[self.family], quote)[:n]
        what = "too_big" if p.code == "frag_needed" else "unreach"
        if p.code not in UNREACHABLE:
            raise ScriptError("%s: no such ICMP code: %s" % (self.where, p.code))
        self.ask("icmp", what, p.mtu + self.more, quoted.hex())

    def event_python(self, event):
        self.look()
        try:
            exec(compile(unindent(event.body), self.name, "exec"), {}, self.names)
        except Exception as e:  # any error in the script's Python
            values = {n: self.names[n] for n in sorted(set(re.findall(r"\w+", event.body)))
                      if n in self.names and n not in STATES or n.startswith("cnt_")}
            raise Failure("%s: error executing code: %s %s\nscript: %s\nactual: %s" % (
                self.where, type(e).__name__, e, event.body.strip(), values)) from None

    def look(self):
        """The names that Python sees of the connection and of the instance."""
        for name in [n for n in self.names if n.startswith(("cnt_", "tcpi_"))]:
            del self.names[name]
        self.names["states"] = [0] * len(STATES)
        if self.current and self.current.id:
            for line in self.ask("info", self.current.id):
                if line[0] == "info":
                    self.names["tcpi_" + line[1]] = int(line[2])
        for line in self.ask("counters"):
            if line[0] == "counter":
                self.names["cnt_" + line[1]] = int(line[2])
            elif line[0] == "state":
                self.names["states"][int(line[1])] = int(line[2])
        self.names["sock"] = self.current

    # --- packets ---

    def flow_of(self, p, ours):
        """The connection of a script's packet; `ours`: we send it, or sent it."""
        if p.ports is None:
            if self.flow is None:
                self.flow = self.flows.setdefault((LOCAL_PORT, REMOTE_PORT),
                                                  Flow(LOCAL_PORT, REMOTE_PORT))
            return self.flow
        lport, rport = p.ports if ours else p.ports[::-1]
        return self.flows.setdefault((lport, rport), Flow(lport, rport))

    def build(self, p, flow):
        """A packet comes in."""
        if flow.lport is None:
            raise ScriptError("%s: our port is not known: no SYN was expected" % self.where)
        if p.win is None:
            raise ScriptError("%s: what comes in has a window" % self.where)
        options = []
        for option in p.options:
            if option[0] == "sack":
                option = "sack", tuple((left + (flow.iss or 0), right + (flow.iss or 0))
                                       for left, right in option[1])
            elif option[0] == "TS" and option[2] and flow.ts is not None:
                option = "TS", option[1], option[2] + flow.ts
            elif option == ("FO", ANY):
                option = "FO", self.cookie
            options.append(option)
        ecn = [wire.ECN[w] for w in p.ip if w in wire.ECN]
        flags = sum(bit for letter, bit in wire.FLAGS if letter in p.flags)
        place = 0 if "S" in p.flags else p.seq - 1 - (flow.base or 0)
        return wire.Tcp(flow.rport, flow.lport, p.seq + self.remote_isn,
                        p.ack + (flow.iss or 0) if p.ack is not None else 0, flags, p.win,
                        p.urg or 0, options, stream("theirs", place, p.length),
                        ecn[0] if ecn else 0, "nodf" not in p.ip, 64)

    def expect(self, event, kind, start, end):
        """Waits for a packet and compares it; returns the time from which the next event counts."""
        limit = self.now + FOREVER_US if kind == "any" else end + self.tolerance
        if not self.outs:
            self.advance(limit, stop=True)
        if not self.outs:
            self.fail(event, "no packet was sent until %s" % seconds(limit))
        time, actual = self.outs.popleft()
        self.compare(event, time, actual)
        if kind != "any" and not start - self.tolerance <= time <= limit:
            wanted = seconds(start) if start == end else seconds(start) + "~" + seconds(end)
            self.fail(event, "timing error: expected outbound packet at %s sec but happened at %s"
                      " sec; tolerance %s sec" % (wanted, seconds(time), seconds(self.tolerance)),
                      time, actual)
        self.names["sent"] = actual
        return start if kind != "any" and start == end else time

    def compare(self, event, time, actual):
        p = event.body
        flow = self.flow_of(p, ours=True)
        if flow.lport is None and actual.flags & 2:
            self.flows.pop((None, flow.rport), None)
            flow.lport = actual.sport
            self.flows[flow.lport, flow.rport] = flow
        self.learn(p, flow, actual)
        self.note(">", actual, time)
        for field, expected, got in self.fields(p, flow, actual):
            if expected != got:
                self.fail(event, "live packet field %s: expected: %s vs actual: %s" % (
                    field, expected, got), time, actual)

    def learn(self, p, flow, actual):
        """Learns our initial sequence number and timestamp from the first packet that shows
        them."""
        if actual.flags & 2 and "S" in p.flags and (flow.iss is None or flow.anew):
            flow.iss = (actual.seq - p.seq) & MASK
            if flow.anew:
                flow.ts, flow.base, flow.anew = None, flow.peer_syn, False
        if p.options is not ANY and flow.ts is None:
            wanted = [o for o in p.options if o[0] == "TS" and o[1] != ANY]
            got = [o for o in actual.options if o[0] == "TS"]
            if wanted and got:
                flow.ts = got[0][1] - wanted[0][1]

    def fields(self, p, flow, actual):
        """Yields (name, as expected, as sent) of everything that is compared."""
        iss = flow.iss or 0
        yield "ports", (flow.lport, flow.rport), (actual.sport, actual.dport)
        # where PSH goes in a TSO frame is up to the card
        known = 0xff if int(self.parameters.get("offload", 0)) & 4 == 0 else 0xff & ~8
        yield "flags", wire.flag_text(sum(b for n, b in wire.FLAGS if n in p.flags) & known), \
            wire.flag_text(actual.flags & known)
        yield "seq", p.seq & MASK, (actual.seq - iss) & MASK
        yield "payload_len", p.length, len(actual.payload)
        if p.ack not in (None, ANY):
            yield "ack", p.ack & MASK, (actual.ack - self.remote_isn) & MASK
        if p.win not in (None, ANY):
            yield "window", p.win, actual.win
        yield "urg_ptr", p.urg or 0, actual.urg
        for word in p.ip:
            if word in wire.ECN:
                yield "ecn", word, {v: k for k, v in wire.ECN.items()}[actual.ecn]
            else:
                yield "df", word != "nodf", actual.df
        if p.length and iss:
            place = (p.seq + ("S" in p.flags) - 1) & MASK
            if place < 1 << 31:
                yield "payload", stream("ours", place, p.length).hex(), actual.payload.hex()
        if p.options is not ANY:
            yield from self.option_fields(p, flow, actual)

    def option_fields(self, p, flow, actual):
        """Order and padding are the sender's choice (RFC 9293 3.1) and not compared."""
        def clean(options):
            return {o[0] if o[0] != "hex" else o[1][:1]: o for o in options
                    if o[0] not in ("nop", "eol")}
        wanted, got = clean(p.options), clean(actual.options)
        yield "tcp_options", sorted(map(str, wanted)), sorted(map(str, got))
        for name, option in got.items():
            expected = wanted[name]
            if name == "sack":
                option = name, tuple(((l - self.remote_isn) & MASK, (r - self.remote_isn) & MASK)
                                     for l, r in option[1])
            elif name == "TS":
                option, expected = self.timestamps(flow, option, expected)
            elif name == "FO" and expected[1] == ANY:
                self.cookie = option[1]
                expected = name, option[1] or b"a cookie"
            elif ANY in expected[1:]:
                expected = option
            yield "option %s" % name, expected[1:], option[1:]

    def timestamps(self, flow, option, expected):
        """Our clock ticks in ms (RFC 7323 5.4 allows 1 ms to 1 s) and may be late as packets
        may."""
        value, echo = (option[1] - (flow.ts or 0)) & MASK, option[2]
        late = (value - expected[1] + (1 << 31) & MASK) - (1 << 31) if expected[1] != ANY else 0
        if abs(late) <= self.tolerance / 1000 + 1:
            value = expected[1]
        if expected[2] == ANY:
            echo = ANY
        return ("TS", value, echo), expected

    def text(self, packet):
        """An actual packet in the script's notation."""
        flow = self.flows.get((packet.sport, packet.dport))
        coming = flow is None
        flow = flow or self.flows.get((packet.dport, packet.sport)) or Flow(None, None)
        ours = flow.iss or 0
        seq = (packet.seq - (self.remote_isn if coming else ours)) & MASK
        ack = (packet.ack - (ours if coming else self.remote_isn)) & MASK
        words = [wire.flag_text(packet.flags), "%d:%d(%d)" % (
            seq, (seq + len(packet.payload)) & MASK, len(packet.payload))]
        words += ["ack %d" % ack] if packet.flags & 16 else []
        words += ["win %d" % packet.win] + (["urg %d" % packet.urg] if packet.flags & 32 else [])
        if packet.ecn:
            words.insert(0, "[%s]" % {v: k for k, v in wire.ECN.items()}[packet.ecn])
        return " ".join(words) + " <%s>" % ",".join(
            self.option_text(o, flow, coming) for o in packet.options)

    def option_text(self, option, flow, coming):
        if option[0] == "TS":
            ours = flow.ts or 0
            val, ecr = option[1] - (0 if coming else ours), option[2] - (ours if coming else 0)
            return "TS val %d ecr %d" % (val & MASK, ecr & MASK if option[2] else 0)
        if option[0] == "sack":
            base = (flow.iss or 0) if coming else self.remote_isn
            return "sack " + " ".join("%d:%d" % ((l - base) & MASK, (r - base) & MASK)
                                      for l, r in option[1])
        return " ".join(o.hex() if isinstance(o, bytes) else str(o) for o in option)

    def note(self, direction, packet, time=None):
        line = "  %s %s %s" % (seconds(self.now if time is None else time), direction,
                               self.text(packet))
        self.log.append(line)
        if self.verbose:
            print(line)

    def fail(self, event, why, time=None, actual=None):
        lines = ["%s: error handling packet: %s" % (self.where, why),
                 "script packet: " + event.text]
        if actual:
            lines.append("actual packet: %s > %s" % (seconds(time), self.text(actual)))
        lines += ["the packets before:"] + list(self.log)
        raise Failure("\n".join(lines))

    # --- system calls ---

    def event_call(self, event):
        call = event.body
        function = getattr(self, "call_" + call.name, None)
        if function is None:
            raise ScriptError("%s: no such call: %s" % (self.where, call.name))
        got = function(call)
        result, error = (-1, got) if isinstance(got, str) else (got or 0, None)
        if (result, error) != (call.result, call.error):
            raise Failure("%s: runtime error in %s call: expected result %s %s but got %s %s\n"
                          "script: %s\nthe packets before:\n%s" % (
                              self.where, call.name, call.result, call.error or "", result,
                              error or "", event.text, "\n".join(self.log)))

    def fd(self, call):
        try:
            self.current = self.fds[int(call.arguments[0])]
            return self.current
        except (KeyError, ValueError, IndexError):
            raise ScriptError("%s: no such file descriptor" % self.where) from None

    def call_socket(self, call):
        self.current = self.fds[call.result] = Socket()
        return call.result

    def call_bind(self, call):
        """bind(3, ..., ...); with a number for the address, to that port; `any` for its length: to
        any address."""
        sock = self.fd(call)
        sock.options["any"] = call.arguments[2] == "any"
        if call.arguments[1].isdigit():
            sock.port = int(call.arguments[1])

    def call_fcntl(self, call):
        self.fd(call)

    def call_listen(self, call):
        sock = self.fd(call)
        sock.listener = sock.port
        answer = self.result("listen", sock.port, sock.port,
                             "fastopen" if sock.options.get("TCP_FASTOPEN") else "-",
                             "nodelay" if sock.options.get("TCP_NODELAY") else "-",
                             "any" if sock.options.get("any") else "-")
        return ERRORS[answer] or 0

    def call_accept(self, call):
        listener = self.fd(call)
        if not listener.accepted:
            return "EAGAIN"
        self.current = self.fds[call.result] = listener.accepted.popleft()
        return call.result

    def connect(self, sock, data):
        self.flow = Flow(None, sock.options.get("port", LOCAL_PORT))
        self.flows[None, self.flow.rport] = self.flow
        answer = dict((a[0], a[1]) for a in self.ask(
            "connect", self.flow.rport, "fastopen" if data is not None else "-",
            "nodelay" if sock.options.get("TCP_NODELAY") else "-", (data or b"").hex() or "-"))
        if answer["conn"] == "-":
            return ERRORS[int(answer["result"])]
        sock.id = int(answer["conn"])
        self.ids[sock.id] = sock
        for name in ("SO_KEEPALIVE", "TCP_USER_TIMEOUT"):
            if name in sock.options:
                self.apply(sock, name, sock.options[name])
        return None

    def call_connect(self, call):
        sock = self.fd(call)
        if len(call.arguments) > 1 and call.arguments[1].isdigit():
            sock.options["port"] = int(call.arguments[1])
        return self.connect(sock, None) or "EINPROGRESS"

    def call_write(self, call, how="send"):
        sock, n = self.fd(call), int(call.arguments[2])
        if sock.error:
            error, sock.error = sock.error, None
            return error
        if sock.closed or sock.shut:
            return "EPIPE"
        data = stream("ours", sock.written, n).hex() or "-"
        taken = self.result(how, sock.id, data)
        if taken is None:
            return "EPIPE"
        if how == "sendpkt":
            taken = n if taken == 0 else 0
        sock.written += taken
        return taken if taken or not n else "EAGAIN"

    def call_sendpkt(self, call):
        return self.call_write(call, "sendpkt")

    def call_send(self, call):
        return self.call_write(call, "urgent" if "MSG_OOB" in call.arguments[3] else "send")

    def call_sendto(self, call):
        if "MSG_FASTOPEN" not in call.arguments[3]:
            return self.call_send(call)
        sock, n = self.fd(call), int(call.arguments[2])
        error = self.connect(sock, stream("ours", 0, n))
        sock.written = n
        return error or n

    def call_read(self, call):
        sock, n = self.fd(call), int(call.arguments[2])
        n = min(n, sock.received - sock.read)
        if n:
            sock.read += n
            self.ask("consumed", sock.id, n)
            return n
        if sock.error:
            error, sock.error = sock.error, None
            return error
        return 0 if sock.fin or sock.closed else "EAGAIN"

    call_recv = call_read

    def call_shutdown(self, call):
        sock = self.fd(call)
        if "RD" not in call.arguments[1] or "RDWR" in call.arguments[1]:
            sock.shut = True
            self.ask("close", sock.id)

    def call_close(self, call):
        sock = self.fd(call)
        del self.fds[int(call.arguments[0])]
        if sock.listener is not None or sock.id is None:
            self.fds[call.arguments[0] + " closed"] = sock  # nobody takes what it accepts
        elif sock.options.get("SO_LINGER") or sock.received > sock.read:
            self.ask("abort", sock.id)
        else:
            self.ask("orphan", sock.id)
            self.ask("close", sock.id)

    def apply(self, sock, name, value):
        commands = {"TCP_NODELAY": "nodelay", "SO_KEEPALIVE": "keepalive",
                    "TCP_USER_TIMEOUT": "user_timeout"}
        if name in commands:
            self.ask(commands[name], sock.id, value)

    def call_setsockopt(self, call):
        sock, name, value = self.fd(call), call.arguments[2], call.arguments[3]
        if name not in ("SO_REUSEADDR", "TCP_NODELAY", "SO_KEEPALIVE", "TCP_USER_TIMEOUT",
                        "TCP_FASTOPEN", "SO_LINGER"):
            raise ScriptError("%s: %s is an option of the instance: --NAME=VALUE" % (
                self.where, name))
        sock.options[name] = value = int(re.search(r"\d+", value).group())
        if sock.id is not None:
            self.apply(sock, name, value)

    def call_getsockopt(self, call):
        sock, name, wanted = self.fd(call), call.arguments[2], call.arguments[3].strip("[]")
        if name != "SO_ERROR":
            raise ScriptError("%s: only SO_ERROR; for the rest there is %%{ }%%" % self.where)
        error, sock.error = sock.error, None
        if (error or "0") != wanted:
            raise Failure("%s: SO_ERROR is %s\nscript: %s\nthe packets before:\n%s" % (
                self.where, error or 0, wanted, "\n".join(self.log)))

    def call_harness(self, call):
        """harness(refuse, 1) = 0: a command of harness.c; `sock` is the connection's number."""
        words = [str(self.current.id) if w == "sock" else w for w in call.arguments]
        return self.result(*words)


def unindent(text):
    """Removes the indent of Python behind `%{`, or in lines of its own."""
    lines = text.strip("\n").split("\n")
    margin = min((len(l) - len(l.lstrip()) for l in lines[1:] if l.strip()), default=0)
    first = lines[0].strip()
    if text.startswith("\n"):
        return "\n".join(l[len(lines[0]) - len(lines[0].lstrip()):] for l in lines)
    return "\n".join([first] + [l[margin:] for l in lines[1:]])


def families(path):
    """The versions of IP over which a script can be run."""
    with open(path, encoding="utf-8") as f:
        only = re.search(r"^--family=([46])$", f.read(), re.M)
    return (int(only.group(1)),) if only else (4, 6)


def run_file(path, **options):
    with open(path, encoding="utf-8") as f:
        Run(f.read(), os.path.relpath(path, ROOT), **options).run()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("scripts", nargs="+")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("-6", dest="family", action="store_const", const=6, default=4,
                        help="over IPv6")
    arguments = parser.parse_args()
    failed = 0
    for path in arguments.scripts:
        try:
            run_file(path, verbose=arguments.verbose, family=arguments.family)
        except (Failure, ScriptError) as e:
            print(e)
            failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
