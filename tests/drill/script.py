"""Parser of packetdrill's script language. It accepts:

    // comment, /* comment */, # comment
    --NAME=VALUE                              at the top: see OPTIONS in drill.py

    TIME < [IP] PORTS FLAGS SEQ:END(LEN) ack N win N urg N <OPTIONS>     a packet comes in
    TIME > ...                                                           is expected to be sent
    TIME < icmp unreachable CODE mtu N [SEQ:END(LEN)]                    about a packet of ours
    TIME call(arguments) = RESULT ERROR (comment)
    TIME %{ Python }%

TIME: `1.5` absolute, `+.1` after the last event, `+0~+.05` a range, `*` any time.
FLAGS: letters of `SFRPEWU.`, `-` none.
OPTIONS: mss N, wscale N, sackOK, sack A:B C:D, TS val N ecr N, FO COOKIE, nop, eol; `<...>`: any.
IP: `[noecn]`, `[ect0]`, `[ect1]`, `[ce]`.
`ack`, `win`, `urg` and options may be omitted. A packet that comes in then does not have them (`win`
is mandatory). An expected packet must not have them; but an omitted `win` or IP is not compared.

Beyond packetdrill: `40001 > 8080` (PORTS) names another connection; `[badcsum]` and `[nodf]` (IP);
`hex 1e04beef` is an option by its bytes; `*` stands for any number after `ack`, `win`, `val`,
`ecr`, `mss`, `wscale`; `FO *` is any cookie when expected, the cookie seen last when it comes in.

Not supported: blocking calls (`0...1`), shell commands, IPv6, UDP, tunnels.
"""
import collections
import re

ANY = "*"

Time = collections.namedtuple("Time", "kind start end")  # kind: absolute, relative, any; us
Event = collections.namedtuple("Event", "line text time kind body")
Packet = collections.namedtuple("Packet", "ip ports flags seq length ack win urg options")
Icmp = collections.namedtuple("Icmp", "code mtu ports seq length")
Call = collections.namedtuple("Call", "name arguments result error")

NUMBER = r"(?:\d+\.\d*|\.\d+|\d+)"
TIME = re.compile(r"(\*)|(\+?)(%s)(?:~(\+?)(%s))?(?=[\s%%])" % (NUMBER, NUMBER))
PACKET = re.compile(r"""
    (?:\[(?P<ip>[\w\s,]+)\]\s*)?
    (?:(?P<sport>\d+)\s*>\s*(?P<dport>\d+)\s+)?
    (?P<flags>[SFRPEWU.]+|-)\s+
    (?P<seq>\d+):(?P<end>\d+)\((?P<length>\d+)\)
    (?:\s+ack\s+(?P<ack>\d+|\*))?
    (?:\s+win\s+(?P<win>\d+|\*))?
    (?:\s+urg\s+(?P<urg>\d+))?
    (?:\s*<(?P<options>[^<>]*)>)?\s*$""", re.X)
ICMP = re.compile(r"icmp\s+unreachable\s+(\w+)(?:\s+mtu\s+(\d+))?\s*"
                  r"\[(?:(\d+)\s*>\s*(\d+)\s+)?(\d+):(\d+)\((\d+)\)\]\s*$")
CALL = re.compile(r"(\w+)\s*\((.*)\)\s*=\s*(-?\w+)(?:\s+(E[A-Z]+))?(?:\s*\([^)]*\))?\s*$", re.S)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|#[^\n]*|%\{.*?\}%", re.S)


class ScriptError(Exception):
    """The script cannot be read."""


def blank_comments(text):
    """Replaces comments with spaces, so that lines keep their numbers; leaves Python unchanged."""
    def blank(match):
        found = match.group()
        return found if found.startswith("%{") else re.sub(r"[^\n]", " ", found)
    return COMMENT.sub(blank, text)


def number(text):
    return text if text in (None, ANY) else int(text)


def split(text):
    """Splits at the commas that are outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [p.strip() for p in parts] if text.strip() else []


def parse_option(text):
    words = text.split()
    name = words[0] if words else ""
    if name in ("mss", "wscale") and len(words) == 2:
        return name, number(words[1])
    if name in ("sackOK", "nop", "eol") and len(words) == 1:
        return (name,)
    if name == "sack" and len(words) > 1:
        return name, tuple(tuple(int(edge) for edge in block.split(":")) for block in words[1:])
    if name == "TS" and len(words) == 5 and words[1] == "val" and words[3] == "ecr":
        return name, number(words[2]), number(words[4])
    if name == "FO" and len(words) <= 2:
        cookie = words[1] if len(words) == 2 else ""
        return name, ANY if cookie == ANY else bytes.fromhex(cookie)
    if name == "hex" and len(words) == 2:
        return name, bytes.fromhex(words[1])
    raise ScriptError("no such TCP option: %s" % text)


def parse_packet(text):
    m = PACKET.match(text)
    if not m:
        raise ScriptError("this is no packet")
    seq, end, length = int(m["seq"]), int(m["end"]), int(m["length"])
    if seq + length & 0xffffffff != end & 0xffffffff:
        raise ScriptError("%d:%d is not %d bytes" % (seq, end, length))
    if (m["ack"] is not None) != ("." in m["flags"]):
        raise ScriptError("`ack` and the flag `.` go together")
    if (m["urg"] is not None) != ("U" in m["flags"]):
        raise ScriptError("`urg` and the flag U go together")
    options = m["options"]
    if options is not None and options.strip() == "...":
        options = ANY
    else:
        options = [parse_option(o) for o in split(options or "")]
    return Packet((m["ip"] or "").replace(",", " ").split(),
                  (int(m["sport"]), int(m["dport"])) if m["sport"] else None,
                  m["flags"], seq, length, number(m["ack"]), number(m["win"]), number(m["urg"]),
                  options)


def parse_icmp(text):
    m = ICMP.match(text)
    if not m:
        raise ScriptError("this is no ICMP message that is known here")
    ports = (int(m[3]), int(m[4])) if m[3] else None
    return Icmp(m[1], int(m[2] or 0), ports, int(m[5]), int(m[7]))


def parse_call(text):
    m = CALL.match(text)
    if not m:
        raise ScriptError("this is no system call with a result")
    return Call(m[1], split(m[2]), int(m[3], 0), m[4])


def parse_time(text, position):
    m = TIME.match(text, position)
    if not m:
        raise ScriptError("a line begins with a time")
    if m[1]:
        return Time("any", 0, 0), m.end()
    start = round(float(m[3]) * 1e6)
    end = start if m[5] is None else round(float(m[5]) * 1e6)
    if m[5] is not None and m[4] != m[2]:
        raise ScriptError("a range has two times of one kind")
    return Time("relative" if m[2] else "absolute", start, end), m.end()


def end_of_event(text, position):
    """The end of a line; for a call the end of the line that closes its brackets."""
    end = text.find("\n", position)
    end = len(text) if end < 0 else end
    while text[position] not in "<>" and end < len(text) and \
            text.count("(", position, end) > text.count(")", position, end):
        end = text.find("\n", end + 1)
        end = len(text) if end < 0 else end
    return end


def parse_body(text, position):
    """(kind, body, end position) of the event whose time has been read."""
    if text.startswith("%{", position):
        end = text.index("}%", position)
        return "python", text[position + 2:end], end + 2
    end = end_of_event(text, position)
    body = text[position:end].strip()
    if body.startswith("<"):
        body = body[1:].strip()
        if body.startswith("icmp"):
            return "icmp", parse_icmp(body), end
        return "in", parse_packet(body), end
    if body.startswith(">"):
        return "out", parse_packet(body[1:].strip()), end
    return "call", parse_call(body), end


def parse(text, name="script"):
    """(options, events) of a script."""
    blank = blank_comments(text)
    options, events, position = {}, [], 0
    while True:
        position += len(blank[position:]) - len(blank[position:].lstrip())
        if position >= len(blank):
            return options, events
        line = blank.count("\n", 0, position) + 1
        try:
            m = re.compile(r"--(\w+)=(\S+)").match(blank, position)
            if m and not events:
                options[m[1]] = m[2]
                position = m.end()
                continue
            start = position
            time, position = parse_time(blank, position)
            position += len(blank[position:]) - len(blank[position:].lstrip(" \t"))
            kind, body, position = parse_body(blank, position)
            if time.end != time.start and kind != "out":
                raise ScriptError("only what is expected has a range of times")
        except (ScriptError, ValueError) as e:
            shown = text.splitlines()[line - 1]
            raise ScriptError("%s:%d: %s: %s" % (name, line, e, shown)) from None
        events.append(Event(line, text[start:position].strip(), time, kind, body))
