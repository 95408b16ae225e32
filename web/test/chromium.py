#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives Chromium without a window: opens pages, evaluates JavaScript in them, takes pictures. WebGPU runs on the CPU (SwiftShader).

    with PageServer({"/": folder}) as server, Browser() as browser:
        page = browser.open(server.url + "/index.html")
        assert page.evaluate("await something()") == 42
        page.screenshot("x.png")

As a command: chromium.py --serve /=FOLDER [--writable /] [--size WxH] [--timeout S] [--eval JS] [--screenshot FILE] PATH
"""
import argparse
import base64
import fcntl
import json
import os
import re
import select
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from page_server import PageServer  # noqa: E402

SKIPPED = 77  # the exit status of a test that cannot run here

FLAGS = [
    "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",  # a camera
    "--headless", "--no-sandbox", "--remote-debugging-pipe", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader",
    # SwiftShader takes minutes for the code that clears large workgroup memory; what a program reads it has written.
    "--enable-dawn-features=disable_workgroup_init",
    "--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--disable-quic", "--disable-breakpad", "--disable-crash-reporter", "--disable-dev-shm-usage",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--hide-scrollbars", "--mute-audio",
]


class BrowserError(Exception):
    """What Chromium or a page said went wrong."""


def find_browser():
    """The path of Chromium, or None. TERN_CHROMIUM names another than the one on the path."""
    return shutil.which(os.environ.get("TERN_CHROMIUM", "chromium"))


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Browser:
    """One Chromium with a profile of its own, until the end of the `with`."""

    def __init__(self, flags=(), timeout=60):
        self._timeout, self._flags = timeout, list(flags)
        self._next_id, self._buffer, self._pages, self._replies = 0, b"", {}, {}

    def __enter__(self):
        binary = find_browser()
        if not binary:
            raise BrowserError("there is no chromium here (Debian's package chromium)")
        self._profile = tempfile.mkdtemp(prefix="tern-chromium-")
        self._log = open(os.path.join(self._profile, "log"), "w+b")
        try:
            self._start(binary)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self, binary):
        child_in, self._to_child = os.pipe()
        self._from_child, child_out = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        # Numbers that none of 0 to 4 is among, so that no step below undoes another.
        above = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (child_in, child_out)]
        actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, self._log.fileno(), 1),
                   (os.POSIX_SPAWN_DUP2, self._log.fileno(), 2), (os.POSIX_SPAWN_DUP2, above[0], 3),
                   (os.POSIX_SPAWN_DUP2, above[1], 4)]
        environment = dict(os.environ, HOME=self._profile, **self._other_cpu())
        arguments = [binary, *FLAGS, f"--user-data-dir={self._profile}/profile", *self._flags, "about:blank"]
        self._pid = os.posix_spawn(binary, arguments, environment, file_actions=actions, setpgroup=0)
        for fd in (child_in, child_out, null, *above):
            os.close(fd)
        self.command("Browser.getVersion")

    def _other_cpu(self):
        """On machines whose CPU reports the name of one with SVE but has none, SwiftShader must be told another name; TERN_BUILD is
        the build with the library that does so (tern/backend/vulkan/test/cpuinfo.c)."""
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            cpu = file.read()
        library = os.path.join(os.environ.get("TERN_BUILD", ""), "lib", "libtern_test_cpuinfo.so")
        if "0xd40" not in cpu or re.search(r"\bsve\b", cpu) or not os.path.exists(library):
            return {}
        told = os.path.join(self._profile, "cpuinfo")
        with open(told, "w", encoding="utf-8") as file:
            file.write(cpu.replace("0xd40", "0xd0c"))
        return {"LD_PRELOAD": library, "TERN_TEST_CPUINFO": told}

    def __exit__(self, *_):
        """Ends Chromium and whatever it started."""
        if getattr(self, "_pid", None):
            self._ask_to_end()
            os.close(self._to_child)
            _kill(self._pid)
            os.waitpid(self._pid, 0)
            os.close(self._from_child)
        self._log.close()
        deadline = time.monotonic() + 10
        while (left := self._processes()) and time.monotonic() < deadline:
            for pid in left:
                _kill(pid)
            time.sleep(0.02)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _ask_to_end(self):
        try:
            self.send("Browser.close")
            deadline = time.monotonic() + 2
            while os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None and time.monotonic() < deadline:
                time.sleep(0.02)
        except BrowserError:
            pass  # it has ended

    def _processes(self):
        """Those that Chromium started: its profile is their home, and nobody else's."""
        home, found = f"HOME={self._profile}".encode(), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if home in file.read().split(b"\0"):
                        found.append(int(pid))
            except OSError:
                pass  # it ended, or is someone else's
        return found

    # ---- messages: JSON, each ended by a zero byte

    def _fail(self, what):
        self._log.flush()
        self._log.seek(0)
        tail = self._log.read().decode(errors="replace").splitlines()[-10:]
        raise BrowserError("\n".join([what, *tail]))

    def _receive(self, deadline):
        """Takes in one message; an answer is kept for who waits for it, an event goes to its page."""
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._from_child], [], [], left)[0]:
                raise TimeoutError("no answer from the page in time")
            data = os.read(self._from_child, 1 << 20)
            if not data:
                self._fail("chromium ended")
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        if "id" in message:
            self._replies[message["id"]] = message
        elif message.get("sessionId") in self._pages:
            self._pages[message["sessionId"]].on_event(message["method"], message["params"])

    def send(self, method, session=None, **params):
        self._next_id += 1
        message = {"id": self._next_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            try:
                data = data[os.write(self._to_child, data):]
            except BrokenPipeError:
                self._fail("chromium ended")
        return self._next_id

    def wait(self, done, timeout=None):
        deadline = time.monotonic() + (timeout or self._timeout)
        while not done():
            self._receive(deadline)

    def command(self, method, session=None, timeout=None, **params):
        """Of the DevTools protocol; returns its result."""
        number = self.send(method, session, **params)
        self.wait(lambda: number in self._replies or self._crashed(session), timeout)
        if self._crashed(session):
            raise BrowserError("the page crashed")
        reply = self._replies.pop(number)
        if "error" in reply:
            raise BrowserError(f"{method}: {reply['error']['message']}")
        return reply["result"]

    def _crashed(self, session):
        return session in self._pages and self._pages[session].crashed

    def open(self, url, size=(1280, 800), scale=1, mobile=False, timeout=None):
        """A page with the address, loaded."""
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Inspector"):
            page.command(f"{domain}.enable")
        page.resize(size, scale, mobile)
        page.navigate(url, timeout)
        return page


class Page:
    """A page of a browser. `console` has the lines it wrote, `problems` those of them that are errors."""

    def __init__(self, browser, session, target):
        self._browser, self._session, self._target = browser, session, target
        self.console, self.problems, self.crashed, self._loaded = [], [], False, False

    def command(self, method, timeout=None, **params):
        return self._browser.command(method, self._session, timeout, **params)

    def on_event(self, method, params):
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Inspector.targetCrashed":
            self.crashed = True
        elif method == "Runtime.consoleAPICalled":
            text = " ".join(str(a.get("value", a.get("description", a["type"]))) for a in params["args"])
            self._note(text, params["type"] in ("error", "assert"))
        elif method == "Runtime.exceptionThrown":
            self._note(_describe(params["exceptionDetails"]), True)
        elif method == "Log.entryAdded":
            entry = params["entry"]
            self._note(f"{entry['text']} {entry.get('url', '')}".strip(), entry["level"] == "error")

    def _note(self, text, is_problem):
        self.console.append(text)
        if is_problem:
            self.problems.append(text)

    def resize(self, size, scale=1, mobile=False):
        self.command("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=scale, mobile=mobile)

    def navigate(self, url, timeout=None):
        self._loaded = False
        result = self.command("Page.navigate", timeout, url=url)
        if result.get("errorText"):
            raise BrowserError(f"{url}: {result['errorText']}")
        self._browser.wait(lambda: self._loaded or self.crashed, timeout)

    def evaluate(self, script, timeout=None):
        """What the script is: an expression, or the body of an async function with `return`. What it gives must be JSON."""
        body = script if "return" in script else f"return ({script});"
        result = self.command("Runtime.evaluate", timeout, expression=f"(async () => {{ {body}\n}})()", awaitPromise=True,
                              returnByValue=True, userGesture=True)
        if "exceptionDetails" in result:
            raise BrowserError(_describe(result["exceptionDetails"]))
        return result["result"].get("value")

    def screenshot(self, path, whole=False):
        """Writes a PNG of the window, or of the whole page."""
        data = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        self._browser.command("Target.closeTarget", targetId=self._target)


def _describe(details):
    exception = details.get("exception", {})
    return exception.get("description") or str(exception.get("value", details.get("text")))


def skip_without_browser():
    """For tests: ends with the status of a skipped one where Chromium is missing."""
    if not find_browser():
        print("skipped: there is no chromium here")
        sys.exit(SKIPPED)


def main():
    parser = argparse.ArgumentParser(description="opens a page in Chromium")
    parser.add_argument("path", help="of the page, as in /index.html")
    parser.add_argument("--serve", action="append", default=[], metavar="PREFIX=FOLDER")
    parser.add_argument("--writable", action="append", default=[], metavar="PREFIX", help="where pages may PUT files")
    parser.add_argument("--size", default="1280x800")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--eval", metavar="JS", help="what to print, as JSON")
    parser.add_argument("--screenshot", metavar="FILE")
    args = parser.parse_args()
    skip_without_browser()
    folders = dict(pair.split("=", 1) for pair in args.serve)
    with PageServer(folders, args.writable) as server, Browser(timeout=args.timeout) as browser:
        page = browser.open(server.url + args.path, tuple(map(int, args.size.split("x"))))
        try:
            if args.eval:
                print(json.dumps(page.evaluate(args.eval)))
            if args.screenshot:
                page.screenshot(args.screenshot)
        except (BrowserError, TimeoutError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        finally:
            for line in page.console:
                print(f"console: {line}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
