#!/usr/bin/python3
"""The configuration of a machine with Python's standard library (docs/http.md).

    config.py URL replace FILE    makes FILE the whole configuration
    config.py URL change FILE     applies the statements of FILE

Prints what differs, commits it for a minute, looks whether the machine still answers, and confirms. If it does not
answer, the machine goes back by itself. TOKEN in the environment is the token of a user with the role configure.
Exit code: 0 done, or nothing to do; 1 refused; 3 rolled back.
"""
import json
import os
import sys
import time
import urllib.error
import urllib.request

CONFIRM_S = 60


class Refused(Exception):
    """The machine has refused the request: status, and the lines that are wrong."""

    def __init__(self, status, said):
        super().__init__("%d: %s" % (status, said.get("error")))
        self.status, self.said = status, said


class Machine:
    """The API of a machine. Each call is one request; JSON is parsed."""

    def __init__(self, url, token, timeout_s=30):
        self.url, self.token, self.timeout_s = url.rstrip("/") + "/api/v1/config", token, timeout_s

    def ask(self, method, path="", body=None, etag=None):
        """(answer, its ETag)"""
        request = urllib.request.Request(self.url + path, method=method, data=body)
        request.add_header("Authorization", "Bearer " + self.token)
        request.add_header("Accept", "application/json")
        if body is not None:
            request.add_header("Content-Type", "text/plain")
        if etag is not None:
            request.add_header("If-Match", etag)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:
                return json.load(answer), answer.headers["ETag"]
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            raise Refused(error.code, json.loads(text) if text.startswith("{") else {"error": text}) from error

    def config(self):
        """(statements, ETag)"""
        said, etag = self.ask("GET")
        return said["statements"], etag

    def apply(self, method, text, etag, **parameters):
        query = "&".join("%s=%s" % (name.replace("_", "-"), value) for name, value in parameters.items())
        return self.ask(method, "?" + query, text.encode("ascii"), etag)[0]


def answers(machine, seconds):
    """True as soon as the machine answers again: a restart of the ports takes a moment."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            machine.config()
            return True
        except (OSError, urllib.error.URLError):
            time.sleep(0.5)
    return False


def main(url, action, path):
    machine = Machine(url, os.environ["TOKEN"])
    method = {"replace": "PUT", "change": "PATCH"}[action]
    with open(path, encoding="ascii") as file:
        text = file.read()
    try:
        # The hash makes sure that what is shown is what is committed, also if somebody else is at work.
        _, etag = machine.config()
        said = machine.apply(method, text, etag, dry_run=1)
        if not said["changed"]:
            print("nothing to do")
            return 0
        print("\n".join(said["diff"]))
        if said["restarts"]:
            print("the ports restart for this")
        machine.apply(method, text, etag, confirm=CONFIRM_S, comment="config.py")
    except Refused as refused:
        print(refused, file=sys.stderr)
        for wrong in refused.said.get("errors", []):
            print("  line %s: %s: %s" % (wrong["line"], wrong["text"], wrong["reason"]), file=sys.stderr)
        return 1
    time.sleep(0.5)
    if not answers(machine, CONFIRM_S - 5):
        print("the machine does not answer: it rolls back", file=sys.stderr)
        return 3
    machine.ask("POST", "/confirm")
    print("confirmed")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in ("replace", "change"):
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
