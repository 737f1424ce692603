"""Impairments of a cable: frames get exactly the configured ones, and all are counted."""
import pytest
from guest import wait_for
from stamped import IP6, KINDS, frame, ones_sum

OTHER = bytes.fromhex("ffffffffffff525400123456 88b5") + bytes(50)  # not test traffic


def cable(nicsim, rules):
    n = nicsim("link:1;" + rules if rules else "link:1", "link:0")
    a, b = n.device(0), n.device(1)
    b.refill()
    return n, a, b


def through(n, a, b, frames):
    """The frames from the other end. Each n.port() is a turn of nicsim's loop, so once nicsim has
    all frames, the next turn moves those that the cable passes."""
    came = []
    before = n.port(0)["wire"]["from_model_frames"]
    for i in range(0, len(frames), 25):
        a.send(*frames[i:i + 25])
        sent = before + min(len(frames), i + 25)
        wait_for(lambda: n.port(0)["wire"]["from_model_frames"] == sent)
        wait_for(lambda: n.port(1)["rx_frames"] == n.port(1)["wire"]["to_model_frames"])
        for _ in range(n.port(1)["rx_frames"] - b.head):
            came.append(b.receive())
            b.refill(1)
    return came


def counted(n):
    wire = n.port(0)["wire"]
    return {name: wire[name] for name in ("lost", "corrupted", "duplicated", "reordered", "held")}


def test_exactly_these(nicsim):
    n, a, b = cable(nicsim, "loss=at:3/5;corrupt=at:7;duplicate=at:9;reorder=at:11/14")
    frames = [frame(i) for i in range(17)]
    came = through(n, a, b, frames)
    broken = [f for f in came if ones_sum(f[42:60]) != 0xFFFF]
    assert len(broken) == 1
    assert sum(x ^ y for x, y in zip(broken[0], frames[7])) == 1
    order = [7 if f in broken else frames.index(f) for f in came]
    assert order == [0, 1, 2, 4, 6, 7, 8, 9, 9, 10, 12, 11, 13, 15, 14, 16]
    assert counted(n) == {"lost": 2, "corrupted": 1, "duplicated": 1, "reordered": 2, "held": 0}


def test_every_so_many(nicsim):
    n, a, b = cable(nicsim, "loss=every:4")
    frames = [frame(i) for i in range(21)]
    assert through(n, a, b, frames) == [f for i, f in enumerate(frames) if i % 4 != 3]
    assert counted(n)["lost"] == 5


def test_overtaken_by_three(nicsim):
    """Copies do not count as overtaking; a frame due while another is held just passes."""
    n, a, b = cable(nicsim, "reorder=at:1/2/7;overtake=3;duplicate=at:8")
    frames = [frame(i) for i in range(12)]
    came = [frames.index(f) for f in through(n, a, b, frames)]
    assert came == [0, 2, 3, 4, 1, 5, 6, 8, 8, 9, 10, 7, 11]
    assert counted(n)["reordered"] == 2


@pytest.mark.parametrize("kind", KINDS)
def test_test_traffic_only(nicsim, kind):
    """Other traffic on the cable is neither counted nor impaired, and overtakes nothing."""
    n, a, b = cable(nicsim, "frames=stamped;loss=at:1;reorder=at:2;corrupt=at:4")
    frames = [frame(i, **KINDS[kind]) for i in range(6)]
    mixed = [f for each in frames for f in (OTHER, each)]
    came = through(n, a, b, mixed)
    assert came.count(OTHER) == 6
    came = [f for f in came if f != OTHER]
    assert [frames.index(f) if f in frames else None for f in came] == [0, 3, 2, None, 5]
    assert counted(n) == {"lost": 1, "corrupted": 1, "duplicated": 0, "reordered": 1, "held": 0}


def test_what_is_no_test_traffic(nicsim):
    """No stamp is searched for in fragments, packets with options and truncated frames."""
    n, a, b = cable(nicsim, "frames=stamped;loss=every:1")
    good = frame(0)
    others = [good[:59], good[:20] + b"\x20" + good[21:], good[:14] + b"\x46" + good[15:],
              good[:42] + b"XY" + good[44:], frame(0, addresses=IP6, size=80), OTHER]
    assert through(n, a, b, [good] + others) == others
    assert counted(n)["lost"] == 1


def test_at_random(nicsim):
    """The choice of frames is random; their number is counted."""
    n, a, b = cable(nicsim, "loss=10%;corrupt=0.05;duplicate=5%;reorder=10%;seed=7")
    frames = [frame(i) for i in range(1000)]
    came = through(n, a, b, frames)
    whole = [frames.index(f) for f in came if f in frames]
    highest, late, seen = -1, 0, set()
    for number in whole:
        late += number < highest and number not in seen
        highest = max(highest, number)
        seen.add(number)
    found = counted(n)
    assert len(came) - len(whole) == found["corrupted"]
    assert len(whole) - len(seen) == found["duplicated"]
    assert 1000 - len(seen) == found["lost"] + found["corrupted"] + found["held"]
    assert late == found["reordered"]
    assert all(20 < found[name] < 160 for name in ("lost", "corrupted", "duplicated", "reordered"))


def test_other_rules_while_it_runs(nicsim):
    n, a, b = cable(nicsim, "")
    frames = [frame(i) for i in range(4)]
    assert through(n, a, b, frames) == frames
    assert n.command("port 0 link loss=at:1 frames=stamped") == {"ok": True}
    assert through(n, a, b, frames) == frames[:1] + frames[2:]
    assert n.command("port 0 link reorder=at:3") == {"ok": True}
    assert counted(n)["lost"] == 0
    assert through(n, a, b, frames) == frames[:3] and counted(n)["held"] == 1
    assert n.command("port 0 link") == {"ok": True}
    assert through(n, a, b, frames) == frames[:1] + frames[3:] + frames[1:]
    assert counted(n)["held"] == 0
    for wrong in ("port 0 link loss=at:2/1", "port 0 link corrupt=every:0", "port 0 link delay=1us",
                  "port 0 link overtake=0", "port 0 link frames=some"):
        assert n.command(wrong)["ok"] is False
    assert nicsim("sink").command("port 0 link")["ok"] is False
