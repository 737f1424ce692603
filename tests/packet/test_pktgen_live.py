"""The progress of a generator's run: rows on a terminal, lines elsewhere, the page for programs."""
import json
import re

from generator import GENERATOR, STREAM, TESTS, play, script, start
from machine import *
from test_remote import HASH, Session

TWO = STREAM + " rate 1000pps\n" + STREAM.replace("stream a", "stream b") + " rate 500pps\n no stamp\n"


class Terminal:
    """A minimal terminal with 24 rows and 80 columns."""

    def __init__(self):
        self.rows = [""]
        self.row = self.column = 0
        self.scrolled = 0

    def write(self, text):
        for piece in re.findall(r"\x1b\[(\d*)([A-Z])|([^\x1b])", text):
            number, letter, char = piece
            if letter == "A":
                assert int(number) <= self.row, "the cursor would leave the screen"
                self.row -= int(number)
            elif letter == "K":
                self.rows[self.row] = self.rows[self.row][:self.column]
            elif letter == "J":
                self.rows[self.row] = self.rows[self.row][:self.column]
                del self.rows[self.row + 1:]
            else:
                assert not letter, letter
                self.put(char)

    def put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\b":
            self.column -= 1
        elif char == "\n":
            self.down()
        else:
            assert 0x20 <= ord(char) <= 0x7e, char
            if self.column == 80:
                self.down()
                self.column = 0
            row = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = row[:self.column] + char + row[self.column + 1:]
            self.column += 1

    def down(self):
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append("")
        if len(self.rows) > 24:
            del self.rows[0]
            self.row -= 1
            self.scrolled += 1


def shows(g):
    t = Terminal()
    t.write(g.text)
    return t


def back(g, ns, step=50 * MS):
    """Time passes; eth0's frames come back by eth1."""
    for _ in range(ns // step):
        g.time(step)
        frames = [f for f in g.take_all(0) if f[12:14] == b"\x08\x00"]
        g.take_all(1)
        if frames:
            g.send(1, *frames)


def test_rows_stay_where_they_are(make):
    g = make(script(TWO))
    start(g, 10)
    back(g, 3500 * MS)
    first = shows(g)
    rows = first.rows
    at = next(i for i, row in enumerate(rows) if row.startswith("stream "))
    assert re.fullmatch(r" +2\.9 s   29 %  8 s left  sending", rows[at - 1]), rows
    assert re.fullmatch(r"a +(1\.000k|999) +67\d\.\dk? +\S+ +\S+k +\d+ +0( +\S+s){3}", rows[at + 1]), rows
    assert re.fullmatch(r"b +(500|499) +33\d\.\dk", rows[at + 2]), rows
    assert rows[at + 3].startswith("all ") and rows[at + 4] == "" and len(rows) == at + 5
    back(g, 3 * SECOND)
    second = shows(g)
    assert len(second.rows) == len(rows) and second.scrolled == 0
    assert second.rows[:at - 1] == rows[:at - 1] and second.rows[at - 1] != rows[at - 1]
    back(g, 6 * SECOND)
    last = shows(g).rows
    assert not any("pps   bit/s" in row for row in last), last
    assert any("received 10000, lost 0" in row for row in last) and last[-1] == "r1# "


def test_messages_stay_above(make):
    """System messages in between are not overwritten, and do not damage the rows."""
    g = make(script(TWO))
    start(g, 10)
    back(g, 2 * SECOND)
    g.link(1, False)
    back(g, 2 * SECOND)
    rows = shows(g).rows
    said = [i for i, row in enumerate(rows) if "eth1" in row and "down" in row]
    heads = [i for i, row in enumerate(rows) if row.startswith("stream ")]
    assert len(said) == 1 and len(heads) == 2 and heads[0] < said[0] < heads[1], rows
    g.link(1, True)
    g.key("\x03")
    back(g, 2 * SECOND)
    assert "INVALID: a link was down" in g.text


def test_many_streams_fit(make):
    many = "".join(STREAM.replace("stream a", "stream s%d" % i) + " rate 10pps\n" for i in range(32))
    g = make(script(many))
    start(g, 5)
    back(g, 3 * SECOND)
    t = shows(g)
    assert "and 14 more" in t.rows and sum(row.startswith("s") for row in t.rows) == 18 + 1
    assert any(row.startswith("all") for row in t.rows)
    back(g, 4 * SECOND)
    assert "Run of 4.9" in g.text or "Run of 5.0" in g.text


def test_lines_where_they_stay(make):
    g = make(script(TWO), options="live=lines")
    start(g, 3)
    back(g, 5 * SECOND)
    assert "\x1b" not in g.text
    lines = re.findall(r"^ +\d\.\d s +\d+ %.*sent \S+pps .* missing \d+ reordered 0", g.text,
                       re.M)
    assert 2 <= len(lines) <= 3, g.text


def test_rows_of_a_test(make):
    """The current trial and the state of its search; the lines of trials stay above."""
    text = TESTS.replace("trial 8ms", "trial 1500ms").replace("search 1%% to 10%%", "search 0.1%% to 0.2%%")
    g = make(script(text % ("throughput", "64", "0.1%")))
    g.key("rfc2544 start\r")
    back(g, SECOND)
    assert "trial 1: throughput, 64 bytes, at 0.200 %" in shows(g).rows
    play(g, lambda frames: frames[1:])
    rows = shows(g).rows
    assert sum(row.startswith("trial ") for row in rows) == 2, rows
    assert "2 trials, 0 invalid" in g.text


def test_page_of_the_present_run(make):
    from test_http import Client
    g = make(script(TWO, GENERATOR + WEB))
    g.learn(A)
    c = Client(g)

    def ask():
        status, fields, content = c.get("/api/v1/run.json")
        assert (status, fields["Content-Type"]) == (200, "application/json")
        return json.loads(content)
    idle = ask()
    assert (idle["run"], idle["busy"], idle["state"]) == (0, False, "no run yet")
    g.key("start 10\r")
    g.time(1500 * MS)
    g.send(1, *[f for f in g.take_all(0) if f[12:14] == b"\x08\x00" and f[23] == 17])
    g.time(2 * SECOND)
    g.take_all(0)
    now = ask()
    assert (now["run"], now["busy"], now["state"], now["trial"]) == (1, True, "sending", None)
    assert 0.3 < now["progress"] < 0.4 and 3e9 < now["elapsed_ns"] < 4e9
    a, b = now["streams"]
    assert (a["name"], a["tx_fps"], b["stamped"]) == ("a", 1000, False)
    assert 1000 < a["received"] < 2000 and a["missing"] == a["sent"] - a["received"]
    assert a["latency"]["count"] == a["received"] and "received" not in b
    assert now["all"]["sent"] == a["sent"] + b["sent"]
    g.time(12 * SECOND)
    g.take_all(0)
    over = ask()
    assert (over["busy"], over["state"], over["progress"]) == (False, "done", 1)
    assert over["streams"][0]["sent"] == 10000


REMOTE = "console server\nconsole access 192.0.2.0/24\n" + HASH + "\n"


def remote(make):
    g = make(script(STREAM.replace("port eth0 to eth1", "port eth1") + " rate 10pps\n",
                    GENERATOR + REMOTE))
    g.learn(A)
    return g, Session(g).login()


def test_end_on_a_console_over_tcp(make):
    """The session that started the run receives the result."""
    g, s = remote(make)
    s.type(b"start 2\r\n")
    g.time(3 * SECOND)
    said = s.hear().said
    assert "sent 20 frames" in said and said.endswith("r1# ")
    g.take_all(1)


def test_console_that_goes_away(make):
    """The session's run ends, and only the system log reports it; another session may then start
    one."""
    g, s = remote(make)
    s.type(b"start 60\r\n")
    g.time(2 * SECOND)
    s.send("RA")
    g.time(100 * MS)
    g.take_all(0)
    other = Session(g, sport=40001).login()
    g.time(3 * SECOND)
    assert other.hear().said == "\r\nr1# " and "the run is over: valid" in g.text
    assert "done" in other.run(b"show run")
    g.take_all(1)


def test_pacing_of_each_stream(make):
    """Each stream has its own histogram."""
    g = make(script(STREAM + " rate 1000pps\n limit 1000 frames\n" + STREAM.replace(
        "stream a", "stream b") + " rate 100pps\n limit 50 frames\n"))
    start(g)
    back(g, 3 * SECOND)
    counts = re.findall(r"pacing error ns: min", g.text)
    assert len(counts) == 2
    g.key("show report json\r")
    g.time(100 * MS)
    said = g.text.replace("\r", "")
    data = json.loads(re.search(r"^--- report\.json\n(.*)\n--- end$", said, re.M | re.S)[1])
    assert [s["pacing_error"]["count"] for s in data["run"]["streams"]] == [1000, 50]
