# SPDX-License-Identifier: Apache-2.0
"""Peers from PyPI, in a virtual environment of their own. What cannot be had is skipped, with the reason."""
import json
import os
import platform
import shutil
import subprocess
import sys

# Name of the peer -> what pip installs.
PACKAGES = {
    "onnxruntime": ["numpy", "onnx", "onnxruntime"],
    "openblas-pypi": ["scipy-openblas32"],
    "mkl": ["mkl"],
    "dnnl-pypi": ["onednn-cpu-gomp", "onednn-devel-cpu-gomp"],
    "torch": ["numpy", "torch"],
}
# The package for x86-64 brings CUDA along, which is large.
TORCH_BYTES = 15e9


def python(folder):
    return os.path.join(folder, "bin", "python")


def pip(folder, arguments):
    """None, or why not."""
    command = [python(folder), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "--timeout", "15", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines() or ["pip failed"]
    return "pip: " + lines[-1].removeprefix("ERROR: ")


def install_torch(folder):
    if platform.machine() == "x86_64" and shutil.disk_usage(folder).free < TORCH_BYTES:
        return "there is too little room for the package"
    return pip(folder, PACKAGES["torch"])


def install(folder, wanted):
    """Peer -> None, or why it is not there. What was installed, or could not be, is not tried again until the folder is removed."""
    wanted = [name for name in PACKAGES if name in wanted]
    if not wanted:
        return {}
    record = os.path.join(folder, "peers.json")
    if not os.path.exists(python(folder)):
        done = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return {name: f"no virtual environment: {done.stdout.strip() or done.stderr.strip()}" for name in wanted}
    known = {}
    if os.path.exists(record):
        with open(record, encoding="utf-8") as file:
            known = json.load(file)
    for name in wanted:
        if name not in known:
            print(f"installing {name}", file=sys.stderr)
            known[name] = install_torch(folder) if name == "torch" else pip(folder, PACKAGES[name])
            with open(record, "w", encoding="utf-8") as file:
                json.dump(known, file)
    return {name: known[name] for name in wanted}
