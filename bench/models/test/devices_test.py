#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""devices_test.py TERN: what devices.py says of a small model, beside the host and ahead of time, and of one that is refused."""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parents[2] / "test/models"


def main():
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("SKIPPED: there is no numpy")
        return 77

    def devices(*words):
        done = subprocess.run([sys.executable, HERE.parent / "devices.py", "--tern", sys.argv[1], "-t", "llvm", *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results.json"
        code, text = devices(MODELS / "mnist.onnx", "--results", results)
        assert code == 0 and "right, error" in text, text
        assert json.loads(results.read_text())["mnist"]["llvm"]["error"] == 0, "the host differs from itself"
    code, text = devices("--aot", MODELS / "mnist.onnx", MODELS / "resnet.onnx")
    lines = text.splitlines()
    assert code == 0 and lines[0].endswith("the same bits"), text
    assert "all extents have to be known" in lines[1], text
    return 0


if __name__ == "__main__":
    sys.exit(main())
