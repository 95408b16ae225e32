# SPDX-License-Identifier: Apache-2.0
"""The Python of docs/python.md, from top to bottom."""

import linecache
import os
import re
import shutil
import unittest

from support import MODELS, ROOT, TestCase, needs_compiler


def blocks(page):
    """Indented blocks of a page: (line, text)."""
    lines = page.split("\n")
    start = None
    for number, line in enumerate([*lines, "end"]):
        is_inside = line.startswith("    ") or (start is not None and not line)
        if is_inside and start is None:
            start = number
        elif not is_inside and start is not None:
            yield start + 1, "\n".join(line[4:] for line in lines[start:number]).rstrip() + "\n"
            start = None


@needs_compiler
class DocsTest(TestCase):
    def test_python(self):
        page = (ROOT / "docs" / "python.md").read_text()
        shutil.copy(MODELS / "mnist.onnx", self.folder)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        names = {"__name__": "docs"}
        executed = 0
        for line, text in blocks(page):
            if re.match(r"\$|\[", text):
                continue
            if text.startswith("import torch"):
                try:
                    import torch  # noqa: F401
                except ImportError:
                    continue
            name = f"docs/python.md:{line}"
            linecache.cache[name] = (len(text), None, text.splitlines(True), name)  # for @tern.kernel
            exec(compile(text, name, "exec"), names)
            executed += 1
        self.assertGreater(executed, 7)


if __name__ == "__main__":
    unittest.main()
