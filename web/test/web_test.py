# SPDX-License-Identifier: Apache-2.0
"""What the tests in a browser share: compiled files, and a page to run JavaScript in."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Browser, skip_without_browser  # noqa: E402
from page_server import PageServer  # noqa: E402

TEST = os.path.dirname(os.path.abspath(__file__))
WEB = os.path.dirname(TEST)
ROOT = os.path.dirname(WEB)
WASM = "llvm -mtriple=wasm32-unknown-unknown"


class WebTest:
    """Compiled files lie under /files/, which pages may write to as well; the runtime is under /web/. `kernels` are the page's."""

    def __init__(self, build):
        skip_without_browser()
        os.environ["TERN_BUILD"] = build
        self.tern, self.tern_run = (os.path.join(build, "bin", name) for name in ("tern", "tern-run"))
        self._folder = tempfile.TemporaryDirectory(prefix="tern-web-")
        self.folder = self._folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, source, name, *arguments, target="webgpu"):
        hosts = ["--host", WASM] if target == "webgpu" else []
        subprocess.run([self.tern, "compile", source, "-t", target, *hosts, *arguments, "-o", self.path(name)], check=True)

    def __enter__(self):
        self._server = PageServer({"/files/": self.folder, "/web/demo/kernels/": self.folder, "/web/": WEB}, ["/files/"]).__enter__()
        self.url = self._server.url
        self.browser = Browser(timeout=300)
        self.browser.__enter__()
        return self

    def __exit__(self, *_):
        self.browser.__exit__()
        self._server.__exit__()
        self._folder.cleanup()

    def example(self, name):
        return os.path.join(ROOT, "examples", "kernels", name)

    def input(self, name):
        return os.path.join(TEST, "Inputs", name)

    def sized_matmul(self, size):
        """The page's product, of matrices of another size."""
        with open(os.path.join(WEB, "demo", "kernels", "matmul.tir"), encoding="utf-8") as file:
            text = file.read().replace("512", str(size))
        with open(self.path(f"matmul_{size}.tir"), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(f"matmul_{size}.tir")
