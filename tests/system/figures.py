"""Recomputes every figure of the generator's report from the report's single trials and histogram
cells (docs/pktgen.md, Report)."""
import itertools

RANKS = {"p50_ns": 500000, "p90_ns": 900000, "p99_ns": 990000, "p99_9_ns": 999000, "p99_99_ns": 999900}


def median(values):
    """The lower of the two middle values."""
    return sorted(values)[(len(values) - 1) // 2]


def check_order(summary):
    """The order within a summary."""
    assert summary["min_ns"] <= summary["mean_ns"] <= summary["max_ns"]
    ranks = [summary[name] for name in ("min_ns", *RANKS, "max_ns")]
    assert ranks == sorted(ranks)


def check_cells(summary, cells):
    """Percentiles, mean and extremes of all samples, from their cells."""
    count = summary["count"]
    assert sum(n for _, _, n in cells) == count
    assert all(low <= high for low, high, _ in cells)
    assert all(a[1] < b[0] for a, b in itertools.pairwise(cells))
    assert cells[0][0] <= summary["min_ns"] <= cells[0][1]
    assert cells[-1][0] <= summary["max_ns"] <= cells[-1][1]
    assert sum(low * n for low, _, n in cells) <= summary["mean_ns"] * count + count
    assert sum(high * n for _, high, n in cells) >= summary["mean_ns"] * count - count
    sums = list(itertools.accumulate(n for _, _, n in cells))
    for name, millionths in RANKS.items():
        rank = max(1, -(-count * millionths // 1000000))
        low, high, _ = cells[next(i for i, n in enumerate(sums) if n >= rank)]
        assert low <= summary[name] <= high, (name, low, high)
    check_order(summary)


def check_stream(stream):
    """Checks a stream of a run."""
    assert stream["lost"] == max(0, stream["sent"] - stream["received"])
    assert stream["latency"]["count"] == stream["received"]
    if stream["received"]:
        check_cells(stream["latency"], stream["latency_cells"])
        assert stream["pdv_ns"] == stream["latency"]["p99_9_ns"] - stream["latency"]["min_ns"]


class Tests:
    """The tests of RFC 2544. data: the member rfc2544."""

    def __init__(self, data):
        self.data = data
        self.trials = {trial["trial"]: trial for trial in data["trials"]}
        assert sorted(self.trials) == list(range(1, len(self.trials) + 1))

    def of(self, result):
        """The trials of a result."""
        first, last = result["trials"]
        return [self.trials[number] for number in range(first, last + 1)]

    def fps(self, size, percent=100):
        return self.data["line_bps"] * round(percent * 1000) // (100000 * 8 * (size + 20))

    def passes(self, trial):
        allowed = self.data["loss_ppm"] if trial["test"] == "throughput" else 0
        return trial["valid"] and trial["sent"] and \
            trial["lost"] * 1000000 <= allowed * trial["sent"]

    def check(self):
        for size in self.data["sizes"]:
            assert size["line_fps"] == self.fps(size["size"])
        for trial in self.trials.values():
            self.check_trial(trial)
        owned = []
        for test in ("throughput", "latency", "frame_loss", "back_to_back"):
            for result in self.data[test]:
                if result["trials"]:
                    of = self.of(result)
                    assert {(t["test"], t["size"]) for t in of} == {(test, result["size"])}
                    owned += of
                if result["status"] == "done":
                    assert result["valid"]
                    getattr(self, "check_" + test)(result, of)
        assert len(owned) == len(self.trials)

    def check_trial(self, trial):
        assert trial["lost"] == max(0, trial["sent"] - trial["received"])
        assert (trial["why"] is None) == trial["valid"]
        if trial["received"]:
            assert trial["latency"]["count"] == trial["received"]
            check_order(trial["latency"])
        if trial["valid"] and "frames" in trial:
            assert trial["sent"] == trial["frames"]
        elif trial["valid"]:
            due = self.fps(trial["size"], trial["rate_percent"]) * trial["duration_ns"] / 1e9
            # per direction, the frame that is due at once, and the rounding of fps
            assert trial["sent"] > 0 and abs(trial["sent"] + trial["forgiven"] - due) <= 3, trial

    def check_throughput(self, result, of):
        """The result is the highest rate that passes: no trial above it does."""
        passed = self.trials[result["trial"]]
        rate = result["rate_percent"]
        assert passed in of and self.passes(passed) and passed["rate_percent"] == rate
        assert all(t["rate_percent"] > rate for t in of if t["valid"] and not self.passes(t))
        assert all(t["rate_percent"] <= rate for t in of if self.passes(t))
        assert result["fps"] == self.fps(result["size"], rate)
        assert abs(result["l1_bps"] - self.data["line_bps"] * rate / 100) <= 1
        assert abs(result["l2_bps"] - result["l1_bps"] * result["size"] / (result["size"] + 20)) <= 1

    def check_latency(self, result, of):
        """At the rate of throughput: the mean of the means, the extremes of all, the medians of the
        others."""
        (through,) = [t for t in self.data["throughput"] if t["size"] == result["size"]]
        assert result["rate_percent"] == through["rate_percent"]
        timed = [t for t in of if t["valid"] and t["received"]]
        assert result["repeats"] == len(timed)
        assert {t["rate_percent"] for t in of} == {result["rate_percent"]}
        each = [t["latency"] for t in timed]
        assert result["min_ns"] == min(t["min_ns"] for t in each)
        assert result["max_ns"] == max(t["max_ns"] for t in each)
        assert abs(result["mean_ns"] - sum(t["mean_ns"] for t in each) / len(each)) < 0.002
        assert abs(result["ipdv_mean_ns"] -
                   sum(t["ipdv_mean_ns"] for t in timed) / len(timed)) < 0.002
        for name in RANKS:
            assert result[name] == median([t[name] for t in each])
        assert result["pdv_ns"] == median([t["p99_9_ns"] - t["min_ns"] for t in each])

    def check_frame_loss(self, result, of):
        """Rates go down from the highest by 10 % of the line, until two in a row lose nothing."""
        rates = [t["rate_percent"] for t in of if t["attempt"] == 1]
        assert rates[0] == self.data["rate_max_percent"]
        assert all(abs(a - b - 10) < 0.001 for a, b in itertools.pairwise(rates))
        clean = [self.passes(t) for t in of]
        assert not any(a and b for a, b in itertools.pairwise(clean[:-1]))
        assert (clean[-1] and clean[-2]) or rates[-1] - 10 < self.data["rate_min_percent"]

    def check_back_to_back(self, result, of):
        """The longest burst that passes, in each repeat."""
        longest = [max(t["frames"] for t in of if t["repeat"] == repeat and self.passes(t))
                   for repeat in sorted({t["repeat"] for t in of})]
        assert result["repeats"] == len(longest)
        assert (result["min"], result["max"]) == (min(longest), max(longest))
        assert abs(result["mean"] - sum(longest) / len(longest)) < 0.002
