"""Latencies of an open-loop generator (open_loop.h), merged over turns, and the noise of a CPU."""
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
NAMES = {"p50": "median", "p90": "90 %", "p99": "99 %", "p999": "99.9 %", "p9999": "99.99 %", "max": "worst"}


def pairs(words):
    """[(ns, count)] of words NS:COUNT."""
    return [tuple(map(int, word.split(":"))) for word in words]


def split(words):
    """The words of an answer before, between and behind its bars."""
    parts = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


class Times:
    """All latencies of a point; in nanoseconds."""

    def __init__(self):
        self.cells, self.count, self.longest = {}, 0, 0.0
        self.left_out, self.lost, self.marked, self.ns, self.gone_ns, self.sent = 0, 0, 0, 0.0, 0.0, 0

    def add(self, answer):
        """answer: {sent, marked, returned, left_out, ns, gone_ns, max, cells}; of `marked` packets with a
        stamp so many came back."""
        for ns, count in answer["cells"]:
            self.cells[ns] = self.cells.get(ns, 0) + count
            self.count += count
        self.longest = max(self.longest, answer["max"])
        self.lost += max(0, answer["marked"] - answer["returned"])
        for name in ("left_out", "marked", "ns", "gone_ns", "sent"):
            setattr(self, name, getattr(self, name) + answer[name])

    def quantile(self, share):
        """The latency that this share of the packets did not exceed. Lost packets exceed all."""
        wanted, seen = share * (self.count + self.lost), 0
        for ns, count in sorted(self.cells.items()):
            seen += count
            if seen > wanted:
                return min(ns, self.longest)
        return None if self.lost > (1 - share) * (self.count + self.lost) else self.longest

    def over(self, ns):
        """The share of packets that took longer, or were lost."""
        slow = sum(count for value, count in self.cells.items() if value > ns)
        return (slow + self.lost) / (self.count + self.lost)

    def figures(self):
        """{quantile, max: us}; None: more than that share of the packets was lost."""
        found = {name: self.quantile(share) for name, share in QUANTILES.items()}
        found["max"] = self.longest
        return {name: value and value / 1e3 for name, value in found.items()}


class Noise:
    """The gaps that a spinning program sees of a CPU. A packet that arrives at a random time waits for
    the end of a gap; quantile() is of that wait, and so can be compared with a latency."""

    def __init__(self):
        self.gaps, self.ns, self.longest = [], 0.0, 0.0

    def add(self, ns, longest, gaps):
        self.ns += ns
        self.longest = max(self.longest, longest)
        self.gaps += gaps

    def over(self, ns):
        """The share of arrivals that wait longer."""
        return sum((gap - ns) * count for gap, count in self.gaps if gap > ns) / self.ns

    def quantile(self, share):
        low, high = 0.0, self.longest
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self.over(middle) > 1 - share else (low, middle)
        return high

    def figures(self):
        found = {name: self.quantile(share) / 1e3 for name, share in QUANTILES.items()}
        found["max"] = self.longest / 1e3
        return found
