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
# The packages of PyPI for x86-64 bring CUDA along, which is large and not needed; this index has others.
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
TORCH_WITH_CUDA_BYTES = 15e9


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
    if platform.machine() != "x86_64":
        return pip(folder, PACKAGES["torch"])
    if pip(folder, ["numpy"]) is None and pip(folder, ["--index-url", TORCH_INDEX, "torch"]) is None:
        return None
    if shutil.disk_usage(folder).free < TORCH_WITH_CUDA_BYTES:
        return f"{TORCH_INDEX} cannot be reached, and for the package of PyPI there is too little room"
    print("installing torch from PyPI, which is large", file=sys.stderr)
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
