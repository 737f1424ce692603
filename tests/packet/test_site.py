"""The web application's site is replaced by a PUT of management while it serves (docs/web.md, docs/http.md)."""
import json
import random

import pytest
import test_http
from machine import *
from scapy.layers.inet import TCP
from test_web import BIG, FILES, WEB, Client, archive, module, parse

CONFIG = WEB + "arp %s %s\nhttp server port 8081\nhttp access 198.51.100.0/24\n" % (B.ip, B.mac)
SITE = "/api/v1/site"
NEW = {**FILES, "a.txt": b"another", "big.bin": random.Random(2).randbytes(1 << 20), "new.txt": b"new"}
GRACE = 60  # seconds; apps/web/store.h


@pytest.fixture
def web(make):
    return make(module(CONFIG), tables=64)


class Management(test_http.Client):
    """The same on the other side of the machine. Each has a port of its own: the connection ends behind a PUT."""
    ports = iter(range(50000, 60000))

    def __init__(self, m):
        super().__init__(m, dport=8081, src=B, sport=next(self.ports))

    def read(self, turns=2000):
        """Also what is made in later turns."""
        for _ in range(50):
            super().read(turns)
            if self.got and test_http.ANSWER_HEAD.match(self.got) or self.ended:
                break
            self.m.time(MS)
        return super().read(turns)


def head(data, more="", path=SITE):
    return ("PUT %s HTTP/1.1\r\nHost: r1\r\nContent-Length: %d\r\n%s\r\n" % (path, len(data), more)).encode()


def put(m, data):
    c = Management(m)
    c.ask(head(data) + data)
    status, fields, content = c.answer()
    assert status != 200 or fields["Connection"] == "close"
    c.close()
    return status, json.loads(content)


def state(m):
    c = Management(m)
    status, _, content = c.get(SITE, host="r1")
    assert status == 200
    c.close()
    return json.loads(content)


def get(m, name, sport, *fields):
    c = Client(m, sport=sport).open()
    answer = c.get(name, *fields)
    c.send("R")
    return answer


def test_replaced(web):
    c = Client(web).open()
    tag = c.get("/a.txt").fields["ETag"]
    same = c.get("/page.css").fields["ETag"]
    assert state(web)["site"]["source"] == "boot module"
    status, said = put(web, archive(NEW))
    assert status == 200 and said["uploads"] == 1
    assert said["site"]["source"] == "upload" and said["site"]["files"] == len(NEW)
    # the connection from before stays and has the new site; unchanged files keep their tags
    assert c.get("/a.txt").body == b"another" and c.get("/new.txt").body == b"new"
    assert c.get("/a.txt", "If-None-Match: " + tag).status == 200
    assert c.get("/page.css", "If-None-Match: " + same).status == 304
    assert "source      upload 1\n" in web.console("show web")
    web.time(SECOND)
    assert state(web)["answers_from_before"] == 0 and "before" not in web.console("show web")
    counted = web.counted()
    assert "tcp_aborts" not in counted and "web_replaced" not in counted


def test_many_times(web):
    """Each one is a whole site, and the memory of those before comes back."""
    rooms = set()
    for number in range(12):
        files = {"n": b"%d" % number, "x": bytes(1000 * number)}
        assert put(web, archive(files))[0] == 200
        web.time(SECOND)
        rooms.add(state(web)["room_bytes"])
        answer = get(web, "/n", 20000 + number)
        assert (answer.status, answer.body) == (200, b"%d" % number)
    assert len(rooms) <= 4 and min(rooms) > 1 << 20, rooms


class Slow:
    """A download of the big file, as far as a window of so many bytes allows at first."""

    def __init__(self, m, sport, window):
        self.c = Client(m, sport=sport).open()
        self.c.send("PA", b"GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\n", window=window)
        self.data = self.c.receive()

    def rest(self):
        self.c.send("A")
        return parse(self.data + self.c.everything())


def test_download_ends_as_it_began(web):
    """An answer under way is whole and of one version, a range of it too; the next request of the connection is answered from
    the new site."""
    slow = Slow(web, 30000, 5000)
    assert put(web, archive(NEW))[0] == 200
    assert "before" in web.console("show web") and state(web)["answers_from_before"] == 1
    web.time(SECOND)
    assert state(web)["answers_from_before"] == 1
    slow.data += slow.c.receive()
    assert get(web, "/a.txt", 30001).body == b"another"
    assert slow.rest().body == BIG
    assert slow.c.get("/big.bin").body == NEW["big.bin"]
    web.time(SECOND)
    assert state(web)["answers_from_before"] == 0


def test_second_upload_waits_for_answers(web):
    """While answers come from the site before, another upload is refused; after a minute it ends them."""
    third = archive({"a.txt": b"third"})
    slow = Slow(web, 30000, 5000)
    assert put(web, archive(NEW))[0] == 200
    status, said = put(web, third)
    assert status == 503 and "1 answers are still being sent from the site before" in said["error"]
    for _ in range(GRACE):  # the client reads, but slowly
        slow.c.send("A", window=3000)
        web.time(SECOND)
        slow.data += slow.c.receive()
    slow.c.send("A", window=3000)
    slow.data += slow.c.receive()
    status, said = put(web, third)
    assert status == 503 and "1 answers from the site before are being ended" in said["error"]
    assert "R" in str(Ether(web.take_all(0)[-1])[TCP].flags)
    assert web.counted()["web_replaced"] == 1
    assert get(web, "/a.txt", 30002).body == b"another"
    assert put(web, third)[0] == 200
    assert get(web, "/a.txt", 30003).body == b"third"


MIDDLE = {"a.txt": b"a", "middle.bin": random.Random(3).randbytes(62000)}


def begin_middle(web, sport):
    """All of an answer is queued, and none of it acknowledged; then another site comes. Nothing is copied, so the site before
    must stay."""
    assert put(web, archive(MIDDLE))[0] == 200
    web.time(SECOND)
    c = Client(web, sport=sport).open()
    c.ask("GET /middle.bin HTTP/1.1\r\nHost: x\r\n\r\n")
    data = c.receive()
    assert 0 < len(data) < 10000
    assert put(web, archive(NEW))[0] == 200
    web.time(SECOND)
    assert state(web)["answers_from_before"] == 0 and "before" in web.console("show web")
    status, said = put(web, archive(FILES))
    assert status == 503 and "0 answers are still being sent from the site before, and the rest of others" in said["error"]
    return c, data


def test_site_stays_until_its_bytes_are_acknowledged(web):
    c, data = begin_middle(web, 30100)
    c.send("A")
    answer = parse(data + c.everything())
    assert answer.body == MIDDLE["middle.bin"] and answer.rest == b""
    web.time(SECOND)
    assert "before" not in web.console("show web")
    assert c.get("/a.txt").body == b"another"
    assert put(web, archive(FILES))[0] == 200
    assert "web_replaced" not in web.counted()


def test_rest_that_is_not_acknowledged_is_ended(web):
    """After a minute another upload resets the connection, and may come then."""
    c, data = begin_middle(web, 30101)
    for second in range(GRACE):  # the client reads, but slowly: one or two segments a second
        c.send("A", window=1072 if second < GRACE // 2 else 536)
        web.time(SECOND)
        data += c.receive()
    status, said = put(web, archive(FILES))
    assert status == 503 and "0 answers from the site before are being ended, and others" in said["error"]
    assert "R" in str(Ether(web.take_all(0)[-1])[TCP].flags)
    assert web.counted()["web_replaced"] == 1
    assert put(web, archive(FILES))[0] == 200
    assert get(web, "/a.txt", 30102).body == FILES["a.txt"]


@pytest.mark.parametrize("change, why", [
    (lambda data: data[:3000], "cut off"),
    (lambda data: data[:1024] + b"x" + data[1025:], "a header has a wrong checksum"),
    (lambda data: b"no archive at all", "this is not a tar archive"),
    (lambda data: data[:100], "this is not a tar archive")])
def test_damaged_archive_changes_nothing(web, change, why):
    whole = archive({"first": b"1", "second": b"2" * 3000})
    status, said = put(web, change(whole))
    assert status == 422 and why in said["error"], said
    if len(change(whole)) > 512:
        assert "./first" in said["error"] or "./second" in said["error"], said
    assert get(web, "/a.txt", 30000).body == FILES["a.txt"]
    after = state(web)
    assert after["uploads"] == 0 and not after["loading"] and after["site"]["source"] == "boot module"
    assert put(web, whole)[0] == 200


def test_no_memory(web):
    """An archive for which there is no room is refused before it comes."""
    room = state(web)["room_bytes"]
    c = Management(web)
    c.ask(head(bytes(0)).replace(b"Length: 0", b"Length: %d" % (room + (4 << 20))))
    status, fields, content = c.answer()
    assert status == 413 and fields["Connection"] == "close"
    assert "not enough memory" in json.loads(content)["error"]
    c.close()
    c = Management(web)
    c.ask(head(bytes(0)).replace(b"Length: 0", b"Length: %d" % ((1 << 28) + 1)))
    assert c.answer()[0] == 413
    assert get(web, "/a.txt", 30000).body == FILES["a.txt"]


def test_refused_memory(make):
    """Whichever request for memory is refused: there is none, or all of it."""
    whole, outcomes = archive({"a.txt": b"another"}), set()
    for n in range(1, 8):
        m = make(CONFIG, tables=64)
        m.refuse("memory", n)
        status, said = put(m, whole)
        m.refuse("memory", 0)
        outcomes.add(status)
        assert (status, get(m, "/a.txt", 30000).status) in ((200, 200), (413, 503)), said
        assert put(m, whole)[0] == 200
    assert outcomes == {200, 413}


def test_what_is_left_out_is_named(web):
    """By the answer to the upload and by the page, the first 16; not more of a name than there is room for."""
    links = [("<%02d%s" % (number, "<" * 200), "none") for number in range(40)]
    status, said = put(web, archive({"a.txt": b"one"}, symlinks=links + [("b.txt", "a.txt")]))
    assert status == 200 and (said["site"]["files"], said["site"]["left_out"]) == (2, 40)
    why = "symbolic link to nothing in the archive"
    assert said["left_out_entries"] == [{"name": ("/" + name)[:127], "why": why} for name, _ in links[:16]]
    assert state(web)["left_out_entries"] == said["left_out_entries"]
    assert "  and 24 more\n" in web.console("show web")
    assert get(web, "/b.txt", 30000).body == b"one"
    assert put(web, archive(FILES))[1]["left_out_entries"] == []


def test_empty_and_removed(web):
    assert put(web, b"")[0] == 422
    c = Management(web)
    assert c.get(SITE, method="DELETE", host="r1")[0] == 405
    c.close()
    assert get(web, "/a.txt", 30000).body == FILES["a.txt"]


def test_client_that_goes(web):
    """The memory of half an upload is free again, whether its client resets the connection or is silent."""
    whole = archive(NEW)
    room = state(web)["room_bytes"]
    c = Management(web)
    c.send("PA", head(whole) + whole[:500])
    web.take_all(1)
    assert state(web)["loading"]
    assert "an upload takes more" in web.console("show web")
    c.send("R")
    web.time(SECOND // 10)
    assert not state(web)["loading"]
    c = Management(web)
    c.send("PA", head(whole) + whole[:500])
    web.take_all(1)
    web.time(21 * SECOND)
    web.take_all(1)
    after = state(web)
    assert not after["loading"] and after["room_bytes"] <= room
    assert put(web, whole)[0] == 200


def test_one_upload_at_a_time(web):
    whole = archive(NEW)
    c = Management(web)
    c.send("PA", head(whole) + whole[:500])
    web.take_all(1)
    other = Management(web)
    other.ask(head(whole, "Expect: 100-continue\r\n"))
    assert other.answer()[0] == 503
    other.close()
    c.ask(whole[500:])
    assert c.answer()[0] == 200


def test_expect_continue(web):
    """curl -T asks first, if the archive is large."""
    whole = archive(NEW)
    c = Management(web)
    c.ask(head(whole, "Expect: 100-continue\r\n"))
    assert c.got == b"HTTP/1.1 100 Continue\r\n\r\n"
    c.got = b""
    c.ask(whole)
    assert c.answer()[0] == 200


def test_without_a_site_before(make):
    m = make(CONFIG, tables=64)
    assert state(m)["site"] is None
    assert put(m, archive(NEW))[0] == 200
    assert get(m, "/new.txt", 30000).body == b"new"


def test_ports_restart(web):
    """A commit that restarts the ports ends the connections; the uploaded site stays."""
    slow = Slow(web, 30000, 5000)
    assert put(web, archive(NEW))[0] == 200
    assert state(web)["answers_from_before"] == 1
    web.command("restart")
    web.settle()
    del slow
    assert get(web, "/new.txt", 30001).body == b"new"
    web.time(SECOND)
    assert state(web)["answers_from_before"] == 0
    assert put(web, archive(FILES))[0] == 200
    assert get(web, "/new.txt", 30002).status == 404


def test_control_program_restarts(make):
    """A new control program goes on with the memory that the one before has left. tests/system has uploads."""
    m = make(module(CONFIG), lives=True, tables=64)
    m.time(20 * SECOND)
    said = m.console("show web").partition("room")[0]
    assert "files       %d\n" % len(FILES) in said
    for driver in (False, True, False):
        m.anew(amid_driver=driver)
        m.time(20 * SECOND)
        assert m.console("show web").partition("room")[0] == said


def test_links_share_a_tag(make):
    """A hard link has the content that its target had at that place of the archive."""
    m = make(module(WEB, links=[("link", "a.txt")]), tables=64)
    c = Client(m).open()
    assert c.get("/link").fields["ETag"] == c.get("/a.txt").fields["ETag"]
    assert c.get("/link").body == FILES["a.txt"]
