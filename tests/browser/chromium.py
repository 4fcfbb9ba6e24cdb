"""A headless Chromium, driven through its DevTools pipe with nothing but the standard library.

As a program it takes a picture: chromium.py PAGE OUT.png [SECTION] [--dark] [--full]
"""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

PATIENCE = 120  # seconds for one answer, on a busy machine


def find():
    """The program, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="plait-chromium-", ignore_cleanup_errors=True)
        to_child, self.to = os.pipe()
        self.back, from_child = os.pipe()
        words = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
                 "--hide-scrollbars", "--force-device-scale-factor=1", "--remote-debugging-pipe",
                 "--user-data-dir=" + self.folder.name, "about:blank"]
        shell = 'exec "$@" 3<&%d 4>&%d' % (to_child, from_child)
        self.process = subprocess.Popen(["sh", "-c", shell, "sh", *words], pass_fds=(to_child, from_child),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.buffer = b""
        self.number = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.command("Browser.close")
            self.process.wait(10)
        except Exception:  # whatever it says at its end
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def receive(self, seconds):
        """The next message, or None after so many seconds."""
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
            if not ready:
                return None
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has gone")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def command(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            answer = self.receive(max(0, end - time.monotonic()))
            if answer is None:
                raise RuntimeError(f"no answer to {method}")
            if answer.get("id") != self.number:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def page(self, width=1366, height=768, dark=False):
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.command(domain + ".enable")
        page.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.command("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        return page


class Page:
    def __init__(self, browser, session):
        self.browser = browser
        self.session = session

    def command(self, method, **parameters):
        return self.browser.command(method, self.session, **parameters)

    def events(self, *methods):
        return [event["params"] for event in self.browser.events
                if event.get("sessionId") == self.session and event.get("method") in methods]

    def complaints(self):
        """Everything that the console has of errors and warnings."""
        said = [event["exceptionDetails"]["text"] + " " +
                event["exceptionDetails"].get("exception", {}).get("description", "")
                for event in self.events("Runtime.exceptionThrown")]
        said += [str(event["args"]) for event in self.events("Runtime.consoleAPICalled")
                 if event["type"] in ("error", "warning", "assert")]
        said += [event["entry"]["text"] for event in self.events("Log.entryAdded")
                 if event["entry"]["level"] in ("error", "warning")]
        return said

    def requests(self):
        return [event["request"]["url"] for event in self.events("Network.requestWillBeSent")]

    def open(self, address):
        self.command("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")
        self.settle()

    def evaluate(self, expression):
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, expression):
        def holds():
            try:
                return self.evaluate(expression)
            except RuntimeError:  # between two pages
                return False
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end:
                raise RuntimeError(f"never came true: {expression}")
            time.sleep(0.05)

    def settle(self):
        """Two frames later everything that was asked for is drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def key(self, name, text=None):
        keys = {"key": name, "windowsVirtualKeyCode": {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "Tab": 9}.get(name, 0)}
        if text:
            keys["text"] = text
        self.command("Input.dispatchKeyEvent", type="keyDown", **keys)
        self.command("Input.dispatchKeyEvent", type="keyUp", key=name)
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def picture(self, file, full=False):
        more = {}
        if full:
            size = self.command("Page.getLayoutMetrics")["cssContentSize"]
            more = {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.command("Page.captureScreenshot", format="png", **more)["data"]))


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    flags = set(sys.argv[1:]) - set(words)
    address = words[0] if "://" in words[0] else "file://" + os.path.abspath(words[0])
    with Browser() as browser:
        page = browser.page(dark="--dark" in flags)
        page.open(address)
        for place in words[2:]:  # an anchor to go to
            page.evaluate(f"document.getElementById({json.dumps(place)}).scrollIntoView()")
            page.settle()
        page.picture(words[1], full="--full" in flags)
        for line in page.complaints():
            print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
