# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for tests, driven over its debugging pipe.

Only what Python brings is used. The pipe carries JSON messages that end in a
NUL: no port is opened, and when this process dies so does the browser.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
]

KEYS = {"Enter": 13, "Escape": 27, "Backspace": 8, "/": 191, " ": 32, "Tab": 9,
        "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
MODIFIERS = {"alt": 1, "ctrl": 2, "shift": 8}


class Failed(Exception):
    """The browser, or the page in it, did not do what was asked."""


def find():
    """Where Chromium is, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Browser:
    """One browser with one page. Use it in a `with`."""

    def __init__(self, path, timeout=60):
        self.timeout = timeout
        self.number = 0
        self.session = None
        self.pending = b""
        self.problems = []  # what the console and exceptions said
        self.requests = []  # every address that was asked for
        self.profile = tempfile.mkdtemp(prefix="forkflame-chromium-")
        read_fd, their_write = os.pipe()
        their_read, write_fd = os.pipe()
        self.read_fd, self.write_fd = read_fd, write_fd

        def place_pipe():
            # Chromium wants the pipe as 3 and 4, whichever numbers it has now.
            source = fcntl.fcntl(their_read, fcntl.F_DUPFD, 10)
            sink = fcntl.fcntl(their_write, fcntl.F_DUPFD, 10)
            os.dup2(source, 3)
            os.dup2(sink, 4)

        self.process = subprocess.Popen(
            [path, *FLAGS, "--user-data-dir=" + self.profile,
             "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(3, 4),
            preexec_fn=place_pipe,
            start_new_session=True,
        )
        os.close(their_read)
        os.close(their_write)

    def __enter__(self):
        try:
            target = self.call("Target.createTarget", url="about:blank")
            attached = self.call("Target.attachToTarget",
                                 targetId=target["targetId"], flatten=True)
            self.session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(domain + ".enable")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End the browser: asked first, then its own process group."""
        try:
            self.session = None
            self.call("Browser.close", timeout=5)
        except (Failed, OSError):
            pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.read_fd)
        os.close(self.write_fd)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self, deadline):
        """The next message, or None at the deadline."""
        while b"\0" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if not select.select([self.read_fd], [], [], left)[0]:
                return None
            data = os.read(self.read_fd, 1 << 20)
            if not data:
                raise Failed("the browser went away")
            self.pending += data
        text, self.pending = self.pending.split(b"\0", 1)
        return json.loads(text)

    def _note(self, message):
        """Keep what events say that a test must know."""
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled":
            self.problems.append("console: " + json.dumps(params["args"])[:600])
        elif method == "Log.entryAdded":
            self.problems.append("log: " + params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, timeout=None, **params):
        """Call a method of the debugging protocol and return its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_fd, data):]
        deadline = time.monotonic() + (timeout or self.timeout)
        while True:
            answer = self._message(deadline)
            if answer is None:
                raise Failed(method + ": no answer in time")
            if answer.get("id") != self.number:
                self._note(answer)
                continue
            if "error" in answer:
                raise Failed(f"{method}: {answer['error']}")
            return answer["result"]

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failed(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, what):
        """Wait until an expression is true in the page."""
        deadline = time.monotonic() + self.timeout
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise Failed("waited in vain: " + what)
            time.sleep(0.02)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=scale, mobile=False)

    def scheme(self, name):
        """Make the system prefer "light" or "dark"."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": name}])

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, kind, x, y, modifier=None):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y,
                  button="left", buttons=1, clickCount=1,
                  modifiers=MODIFIERS.get(modifier, 0))

    def click(self, x, y, modifier=None):
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.press(kind, x, y, modifier)

    def drag(self, x, y, to_x, to_y, steps=12):
        """Press, move in steps and let go, as a person would."""
        self.move(x, y)
        self.press("mousePressed", x, y)
        for i in range(1, steps + 1):
            self.press("mouseMoved", x + (to_x - x) * i / steps,
                       y + (to_y - y) * i / steps)
        self.press("mouseReleased", to_x, to_y)

    def wheel(self, x, y, delta, modifier=None):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y,
                  deltaX=0, deltaY=delta,
                  modifiers=MODIFIERS.get(modifier, 0))

    def click_on(self, selector):
        """Click the middle of an element, as a person would."""
        x, y = self.evaluate(
            "(() => { const e = document.querySelector("
            f"{json.dumps(selector)}); e.scrollIntoView({{block: 'nearest'}});"
            "const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        self.click(x, y)

    def key(self, key, modifier=None):
        event = {"key": key, "windowsVirtualKeyCode": KEYS[key],
                 "modifiers": MODIFIERS.get(modifier, 0)}
        text = {"Enter": "\r", "/": "/", " ": " "}.get(key)
        down = dict(event, text=text) if text else event
        self.call("Input.dispatchKeyEvent", type="keyDown", **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
