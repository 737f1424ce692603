"""A headless Chromium inside a host, driven over its own pipe (--remote-debugging-pipe: JSON, each
message ended by NUL, commands on descriptor 3 and answers on 4). There is no driver program and no
WebSocket, and nothing listens on a port.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

COMMAND = ("exec 3<&%d 4>&%d %d<&- %d>&-; exec chromium --headless=new --no-sandbox --disable-gpu "
           "--disable-dev-shm-usage --no-first-run --disable-background-networking "
           "--disable-component-update --disable-sync --hide-scrollbars --user-data-dir=%s "
           "--remote-debugging-pipe about:blank")


class BrowserError(Exception):
    """Chromium did not do what it was told."""


class Browser:
    def __init__(self, host, timeout_s=60):
        if not shutil.which("chromium"):
            raise BrowserError("chromium is not installed: tools/deps.sh install test")
        self.host, self.timeout_s = host, timeout_s
        self.profile = tempfile.mkdtemp(prefix="hayate-browser-")
        to_read, self.to = os.pipe()
        self.come, from_write = os.pipe()
        # high numbers: 3 and 4 may be these very pipes (bash, because dash accepts only one digit)
        low = [os.dup2(fd, 200 + i) for i, fd in enumerate((to_read, from_write))]
        for fd in (to_read, from_write):
            os.close(fd)
        self.child = host.popen(["bash", "-c", COMMAND % (*low, *low, self.profile)], pass_fds=low,
                                start_new_session=True, stderr=subprocess.DEVNULL)
        for fd in low:
            os.close(fd)
        self.rest, self.number, self.events = b"", 0, []
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def _message(self, deadline):
        while b"\0" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.come], [], [], left)[0]:
                raise BrowserError("chromium does not answer")
            piece = os.read(self.come, 1 << 20)
            if not piece:
                raise BrowserError("chromium ended (code %s)" % self.child.poll())
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        """One command of the DevTools protocol; returns its result, and keeps events that arrive
        meanwhile."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout_s
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserError("%s: %s" % (method, answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.call("Page.navigate", url=url)

    def run(self, expression):
        """The value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise BrowserError(result["exceptionDetails"])
        return result["result"].get("value")

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def errors(self):
        """The errors in the browser's console, and exceptions of the page."""
        return [e["params"] for e in self.events
                if e["method"] == "Runtime.exceptionThrown" or
                (e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] == "error") or
                (e["method"] == "Runtime.consoleAPICalled" and e["params"]["type"] == "error")]

    def requests(self):
        """The addresses of all requests by the page."""
        return {e["params"]["request"]["url"] for e in self.events
                if e["method"] == "Network.requestWillBeSent"}

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.child.wait(10)
        except Exception:  # it must end either way
            self.child.kill()
            self.child.wait()
        os.close(self.to)
        os.close(self.come)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
        return False
