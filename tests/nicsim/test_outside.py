"""A sink judges generators outside this process."""
import pytest
from guest import wait_for
from stamped import KINDS, frame

ARP = bytes.fromhex("ffffffffffff 520000000001 0806 0001 0800 0604 0001 520000000001 c6336401 000000000000 c6336402")


def sink(nicsim, options="outside=on"):
    n = nicsim("sink;" + options)
    return n, n.device(0)


def judged(n, device, *frames):
    """Sends frames; returns the statistics of the wire."""
    before = n.port()["tx_frames"]
    for i in range(0, len(frames), 50):
        device.send(*frames[i:i + 50])
    wait_for(lambda: n.port()["tx_frames"] == before + len(frames))
    return n.port()["wire"]


def changed(data, at, bit=1):
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1:]


@pytest.mark.parametrize("kind", KINDS)
def test_every_byte(nicsim, kind):
    """The frames are recognised as intact; with any byte changed they are not."""
    n, device = sink(nicsim)
    good = frame(0, **KINDS[kind])
    wire = judged(n, device, good)
    (flow,) = wire["flows"]
    assert (flow["received"], flow["corrupted"], flow["altered"], wire["foreign"]) == (1, 0, 0, 0)
    assert good.startswith(bytes.fromhex(flow["headers"]))
    assert flow["sizes"] == {str(len(good) + 4): 1}
    wrong = [changed(frame(1 + at, **KINDS[kind]), at) for at in range(len(good))]
    wire = judged(n, device, *wrong)
    found = sum(each["corrupted"] + each["altered"] for each in wire["flows"])
    # unknown headers, or a flow with another number
    strange = wire["foreign"] + wire["corrupted_unknown"]
    assert found + strange == len(wrong), wire
    assert strange <= 16  # type of the frame, tags, protocol, magic, flow
    assert wire["flows"][0]["received"] == 1 + wire["flows"][0]["altered"]


def test_flows(nicsim):
    n, device = sink(nicsim)
    sizes = (64, 65, 1518, 9216)
    frames = [frame(100 + i // 2, sizes[i // 2 % 4], flow=7 + i % 2 * 32) for i in range(80)]
    wire = judged(n, device, *frames, ARP)
    assert wire["foreign"] == 1
    assert [flow["flow"] for flow in wire["flows"]] == [7, 39]
    for flow in wire["flows"]:
        assert (flow["first"], flow["sent"], flow["received"], flow["lost"]) == (100, 40, 40, 0)
        assert flow["sizes"] == {str(size): 10 for size in sizes}
        assert flow["received_bytes"] == 10 * sum(size - 4 for size in sizes)
    assert n.command("port 0 reset-stats")["ok"]
    assert n.port()["wire"]["flows"] == []


def test_what_is_missing(nicsim):
    n, device = sink(nicsim)
    order = [5, 6, 9, 8, 8, 3, 12]
    (flow,) = judged(n, device, *[frame(number) for number in order])["flows"]
    assert {name: flow[name] for name in ("first", "sent", "received", "lost", "reordered", "duplicates",
                                          "stale")} == {
        "first": 5, "sent": 8, "received": 5, "lost": 3, "reordered": 1, "duplicates": 1, "stale": 1}


def test_what_may_vary(nicsim):
    """Every other frame has another source port: an alteration unless the sink is told that it
    varies."""
    frames = [frame(i, ports=(1024 + i % 2, 9)) for i in range(10)]
    n, device = sink(nicsim)
    assert judged(n, device, *frames)["flows"][0]["altered"] == 5
    n, device = sink(nicsim, "outside=on;vary=34-35")
    assert judged(n, device, *frames)["flows"][0]["altered"] == 0


def test_payload_that_varies(nicsim):
    """The checksum of a varying payload is still verified."""
    good = bytearray(frame(1, 128))
    good[70:72], good[80:82] = good[80:82], good[70:72]  # the sum does not change
    n, device = sink(nicsim)
    assert judged(n, device, frame(0, 128), bytes(good))["flows"][0]["corrupted"] == 1
    n, device = sink(nicsim, "outside=on;vary=70-71/80/81")
    wire = judged(n, device, frame(0, 128), bytes(good), changed(frame(2, 128), 70))
    assert (wire["flows"][0]["received"], wire["flows"][0]["corrupted"]) == (2, 1)


def test_more_flows_than_there_is_room_for(nicsim):
    n, device = sink(nicsim)
    wire = judged(n, device, *[frame(0, flow=i * 997) for i in range(65)])
    assert (len(wire["flows"]), wire["foreign"]) == (64, 1)


def test_only_if_asked_for(nicsim):
    n, device = sink(nicsim, "arp=on")
    wire = judged(n, device, frame(0))
    assert wire["foreign"] == 1 and "flows" not in wire


def test_own_generators_stay_own(nicsim):
    n = nicsim("gen;start=manual;outside=on")
    device = n.device(0)
    wire = judged(n, device, frame(0), frame(0, flow=1))
    assert wire["corrupted"] == 1  # stream 0 has sent nothing yet
    assert [flow["flow"] for flow in wire["flows"]] == [1]
