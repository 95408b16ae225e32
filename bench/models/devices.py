#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models on devices beside the same models on the host: which run, and are their outputs the same?

    devices.py -t opencl -t "cuda -arch=sm_90" MODEL.onnx ... [--shape MODEL:INPUT=1,512] [--dim MODEL:NAME=7]

By `tern run --check host`: inputs are random, and the same for both; an error is relative to the range of its output. Models light_* get
random weights. Drivers that are stood in for are found through
LD_LIBRARY_PATH (docs/conformance.md). Times are of one run behind one that loads the kernels.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import randomize  # noqa: E402


def run(command, seconds):
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not over after {seconds} s") from None
    if result.returncode:
        raise RuntimeError((result.stderr or result.stdout).strip() or f"exit status {result.returncode}")
    return result.stdout


def of_model(options, stem):
    return [option.split(":", 1)[1] for option in options if option.split(":", 1)[0] == stem]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--tern", default="build/release/bin/tern")
    parser.add_argument("-t", "--target", action="append", required=True)
    parser.add_argument("--shape", action="append", default=[], help="MODEL:INPUT=1,512")
    parser.add_argument("--dim", action="append", default=[], help="MODEL:NAME=7")
    parser.add_argument("--seconds", type=float, default=600, help="that a model may take")
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    wrong = 0
    for path in arguments.models:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            model = folder / "model.onnx"
            if path.stem.startswith("light_"):
                randomize.randomize(1, path, model)
            else:
                model = path
            given = [word for text in of_model(arguments.shape, path.stem) for word in ("--input-shape", text)]
            given += [word for text in of_model(arguments.dim, path.stem) for word in ("--dim", text)]
            for target in arguments.target:
                start = time.time()
                try:
                    text = run([arguments.tern, "run", model, "-t", target, *given, "--check", "host", "--repeat",
                                str(arguments.repeat)], arguments.seconds)
                except RuntimeError as failure:
                    print(f"{path.stem:24} {target:24} failed: {' | '.join(str(failure).splitlines())[:400]}", flush=True)
                    wrong += 1
                    continue
                errors = [float(error) for error in re.findall(r"largest error ([\d.e+-]+|nan|inf) of the range", text)]
                milliseconds = re.search(r"\w+:\d+ +([\d.e+-]+ \S+)", text)
                print(f"{path.stem:24} {target:24} right, error {max(errors, default=0):8.1e}, {milliseconds.group(1):>8} a run, "
                      f"{time.time() - start:6.1f} s in all", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
