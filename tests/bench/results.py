"""The table, and build/bench.json."""
import contextlib
import json
import os
import statistics

from load import ROOT

RESULTS = os.path.join(ROOT, "build", "bench.json")


class Results:
    def __init__(self):
        self.entries = []
        self.notes = []

    def note(self, text):
        """Adds a line below the table."""
        self.notes.append(text)

    def add(self, name, values, unit, better, accel, peer=None, peer_values=None):
        values = [value for value in values if value is not None]
        if not values:
            return
        self.entries.append({
            "name": name, "value": round(statistics.median(values), 4), "unit": unit,
            "better": better, "accel": accel, "runs": len(values), "peer": peer,
            "peer_value": round(statistics.median(peer_values), 4) if peer_values else None})

    def write(self):
        """Merges into the file: our entries replace those of the same name. Returns all."""
        old = []
        with contextlib.suppress(OSError, ValueError):
            with open(RESULTS, encoding="utf-8") as file:
                old = json.load(file)
        ours = {entry["name"] for entry in self.entries}
        everything = [entry for entry in old if entry.get("name") not in ours] + self.entries
        os.makedirs(os.path.dirname(RESULTS), exist_ok=True)
        with open(RESULTS + ".part", "w", encoding="utf-8") as file:
            json.dump(everything, file, indent=1)
            file.write("\n")
        os.replace(RESULTS + ".part", RESULTS)
        return everything

    def table(self):
        print("\n  %-48s %14s %-16s %14s  %-5s %s"
              % ("median of runs", "hayate", "", "peer", "accel", "runs"))
        for entry in self.entries:
            peer = "" if entry["peer_value"] is None else "%14.2f" % entry["peer_value"]
            print("  %-48s %14.2f %-16s %14s  %-5s %d" % (
                entry["name"], entry["value"], entry["unit"], peer, entry["accel"],
                entry["runs"]))
        peers = {entry["peer"] for entry in self.entries if entry["peer"]}
        for text in ["peer: " + peer for peer in sorted(peers)] + self.notes:
            print("  " + text)
