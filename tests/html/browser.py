"""Drives a headless Chromium by its DevTools protocol over a pipe: no other package is needed."""
import base64, json, os, shutil, signal, subprocess, tempfile

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--disable-dev-shm-usage", "--remote-debugging-pipe"]


def find():
    """The browser's path; None if there is none (tools/install-packages --browser)."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One tab. What the page logs as an error, throws, or asks of the network is kept."""

    def __init__(self, width=1280, height=900, dark=False, phone=False):
        self.profile = tempfile.mkdtemp(prefix="quench-browser-")
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()
        high = [os.dup(one) for one in (to_read, from_write)]  # 3 and 4 may be among them

        def descriptors():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen([find(), *FLAGS, f"--user-data-dir={self.profile}", "about:blank"], preexec_fn=descriptors,
                                        pass_fds=(3, 4, *high), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for one in (to_read, from_write, *high):
            os.close(one)
        self.next_id, self.held, self.session = 0, b"", None
        self.errors, self.requests, self.loaded = [], [], False
        target = next(one for one in self.send("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.resize(width, height, phone)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.to_write)
        os.close(self.from_read)
        shutil.rmtree(self.profile, ignore_errors=True)

    def send(self, method, **parameters):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.held:
            piece = os.read(self.from_read, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.held += piece
        text, self.held = self.held.split(b"\0", 1)
        event = json.loads(text)
        self.note(event.get("method"), event.get("params", {}))
        return event

    def note(self, method, said):
        if method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
            self.errors.append(" ".join(str(one.get("value", one.get("description"))) for one in said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.errors.append(said["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def resize(self, width, height, phone=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone)

    def open(self, path):
        """Milliseconds from the start of the navigation to the second frame after the load."""
        self.loaded = False
        self.send("Page.navigate", url=f"file://{os.path.abspath(path)}")
        while not self.loaded:
            self.receive()
        return self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(performance.now()))))")

    def run(self, script):
        """The value of an expression; a promise is waited for."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "a script failed"))
        return answer["result"].get("value")

    def middle(self, selector):
        """Of the first such element, in the window, after scrolling it there."""
        return self.run(f"""(() => {{ const one = document.querySelector({json.dumps(selector)});
            one.scrollIntoView({{ block: 'center', behavior: 'instant' }}); const box = one.getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2]; }})()""")

    def hover(self, x, y):
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector):
        x, y = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=name)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def settle(self):
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 60))))")

    def shot(self, path, clip_height=None):
        """A picture of the window, or of the page's first `clip_height` pixels."""
        more = {}
        if clip_height:
            width = self.run("document.documentElement.clientWidth")
            more = {"clip": {"x": 0, "y": 0, "width": width, "height": clip_height, "scale": 1}, "captureBeyondViewport": True}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png", **more)["data"]))
