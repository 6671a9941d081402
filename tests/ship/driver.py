# SPDX-License-Identifier: MIT
"""A headless Chromium that is driven by chromedriver, with nothing but Python's library: the WebDriver protocol over HTTP."""
import base64
import contextlib
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # of the protocol
TAB, ENTER, SHIFT, DOWN, SPACE, NULL = "\ue004", "\ue007", "\ue008", "\ue015", " ", "\ue000"


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    def __init__(self, downloads):
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        self.process = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.address = f"http://127.0.0.1:{port}/session"
        options = {"binary": chromium(), "prefs": {"download.default_directory": str(downloads), "download.prompt_for_download": False},
                   "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.address += "/" + self.begin({"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def begin(self, wanted):
        for _ in range(100):
            with contextlib.suppress(urllib.error.URLError):
                return self.call("POST", "", wanted)
            time.sleep(0.1)
        raise RuntimeError("chromedriver does not answer")

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.address + path, method=method, headers={"Content-Type": "application/json"},
                                         data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def protocol(self, command, **given):
        """A command of the DevTools protocol."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": given})

    def visit(self, address):
        self.call("POST", "/url", {"url": address})

    def run(self, script, *given):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(given)})

    def element(self, name):
        return self.call("POST", "/element", {"using": "css selector", "value": f"#{name}"})[ELEMENT]

    def choose(self, name, path):
        """A file in an element that takes one."""
        self.call("POST", f"/element/{self.element(name)}/value", {"text": str(path)})

    def press(self, *keys):
        """Keys one after another, wherever the focus is; a pair is a key that is held, and another one."""
        steps = []
        for key in keys:
            held, *rest = key if isinstance(key, tuple) else (key,)
            steps += [{"type": "keyDown", "value": held}, *(one for key in rest for one in (
                {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key})), {"type": "keyUp", "value": held}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})

    def focused(self):
        return self.run("return document.activeElement.id || document.activeElement.textContent.trim()")

    def tab_to(self, name, back=False):
        """Presses Tab until the element has the focus, and returns what came before."""
        passed = []
        for _ in range(60):
            self.press((SHIFT, TAB) if back else TAB)
            passed.append(self.focused())
            if passed[-1] == name:
                return passed
        raise RuntimeError(f"Tab does not reach {name}, only {passed}")

    def text(self, name):
        return self.run("return document.getElementById(arguments[0]).innerText", name)

    def wait(self, what, seconds=60):
        """Until the script returns what is true."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = self.run(f"return {what}")
            if found:
                return found
            time.sleep(0.05)
        raise RuntimeError(f"not within {seconds} s: {what}; news: {self.text('news')!r}; alert: {self.text('alert')!r}")

    def screen(self, width, height, dark=False, phone=False):
        self.protocol("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.protocol("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def picture(self, path):
        data = self.protocol("Page.captureScreenshot", captureBeyondViewport=True, format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def spoken(self):
        """What a screen reader is given: (role, name) of each node that has a name."""
        nodes = self.protocol("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node["name"]["value"]) for node in nodes
                if not node["ignored"] and node.get("name", {}).get("value")]

    def log(self):
        return [one["message"] for one in self.call("POST", "/se/log", {"type": "browser"})]

    def close(self):
        with contextlib.suppress(Exception):
            self.call("DELETE", "")
        self.process.terminate()
        self.process.wait(20)
