"""The accounts of a machine's ports, from the wire to the counters and back.

The machine's own counters are compared with those of independent parties: the model of the card
(nicsim), and the tap at the other end of its cable. For each port:

    wire to card      frames the wire gave = placed + missed + refused + waiting in the card
    card to us        frames placed in memory = rx_pkts + those our driver dropped, by name, or that
                      lay in rings which were stopped (rx_unread)
    us to card        tx_pkts - tx_unsent = frames sent - those cut from the same packet + lost without a link;
                      tx_unsent lay in rings which were stopped
    card to wire      frames sent = frames the wire took
    tap               frames the host sent = frames the wire gave

and for all ports together: every received packet has exactly one fate (Counters.unbalanced).

If ports, or queues of a failed core, were stopped meanwhile, or a cable was pulled, packets that
wait in a transmit ring are lost, and QEMU discards what its own card has taken from the tap. Then
"us to card" and "tap to us" only require that no party has more than the one before it. If cards
were made to fail on purpose, only the machine's own counters are checked. QEMU's models of real cards drop frames
for which a ring has no room, and count them nowhere: "tap to us" allows that.
"""

# Frames that the card gave us and we did not pass up.
DRIVER_DROPS = ("rx_bad_len", "rx_oversize", "rx_bad_desc")


def driver_frames(ours):
    return sum(ours.get(name, 0) for name in ("rx_pkts", "rx_unread") + DRIVER_DROPS)


def card_faults(port, ours, card, whole, sane=True):
    """The differences between a port and the model below. whole: nothing was stopped; sane: no
    fault of the card was set."""
    wire = card["wire"]
    inside = card["device"].get("packet_buffer_frames", 0)
    packets = card["tx_frames"] + card["tx_lost"] - card["tx_segments"]
    rows = [
        ("wire to card", wire["to_model_frames"],
         card["rx_frames"] + card["rx_missed"] + card["rx_refused"] + inside, True),
        ("card to wire", card["tx_frames"], wire["from_model_frames"], True),
    ]
    if sane:
        rows += [("card to us", card["rx_frames"], driver_frames(ours), True),
                 ("us to card", ours["tx_pkts"] - (ours.get("tx_unsent", 0) if whole else 0), packets, whole)]
    return wrong(port, rows)


def tap_faults(port, ours, host, whole, early, silent=False):
    """The same for a host's tap, whose frames QEMU's own card passes on. A frame that this card
    took from the tap before our driver had set the card up is discarded at the next reset (QEMU's
    qemu_flush_or_purge_queued_packets). early: the number of such frames."""
    lost = host["tx"] - driver_frames(ours)
    rows = [("tap to us", host["tx"], driver_frames(ours), whole and not silent and lost > early),
            ("us to tap", ours["tx_pkts"], host["rx"], whole)]
    return wrong(port, rows)


def wrong(port, rows):
    return ["eth%d, %s: %d and %d" % (port, what, first, second)
            for what, first, second, exact in rows
            if (first != second if exact else first < second)]


def tap_of(text):
    """(pid, device) of a port `tap:PID/NAME,…`, or None."""
    kind, _, rest = text.partition(":")
    pid, slash, device = rest.split(",")[0].partition("/")
    return (int(pid), device) if kind == "tap" and slash and pid.isdigit() else None


def tap_counts(tap):
    """The frames that the host has sent ("tx") and received ("rx") there; None: the tap is gone."""
    try:
        with open("/proc/%d/net/dev" % tap[0], encoding="ascii") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if name.strip() == tap[1]:
                    words = rest.split()
                    return {"rx": int(words[1]), "tx": int(words[9])}
    except OSError:
        pass
    return None


class Books:
    """The accounts of one machine, kept from its start. ports: the argument of `--port` for each
    port. silent: the cards drop frames without counting them."""

    def __init__(self, ports, silent=False):
        self.silent = silent
        self.taps = [tap_of(text) for text in ports]
        self.before = [tap and tap_counts(tap) for tap in self.taps]
        # frames that the host had sent when our ports first ran, once known
        self.early = [float("inf")] * len(ports)
        self.whole = True  # False: ports were stopped or cables pulled
        self.sane = True   # False: cards were made to fail
        self.counted = True  # False: the machine was rebooted, and its counters began at 0

    def _host(self, number):
        now = self.taps[number] and tap_counts(self.taps[number])
        before = self.before[number]
        return {name: now[name] - before[name] for name in now} if now and before else None

    def begin(self):
        """Called when our ports run for the first time."""
        for number in range(len(self.taps)):
            host = self._host(number)
            self.early[number] = host["tx"] if host else 0

    def unbalanced(self, ours, cards):
        """The accounts that do not balance, a line each; packets in flight also unbalance them.
        ours: as Guest.interfaces; cards: the models' statistics, or None."""
        found = []
        for number in range(len(self.taps)):
            mine, host = ours.get("eth%d" % number), self._host(number)
            if mine is None:
                continue
            if cards:
                found += card_faults(number, mine, cards[number], self.whole, self.sane)
            if cards and host:
                found += wrong(number, [("tap to wire", host["tx"],
                                         cards[number]["wire"]["to_model_frames"], True)])
            elif host:
                found += tap_faults(number, mine, host, self.whole, self.early[number], self.silent)
        return found
