#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models on devices beside the same models on the host: which run, and are their outputs the same? Needs numpy.

    devices.py -t opencl -t "cuda -arch=sm_90" MODEL.onnx ... [--shape MODEL:INPUT=1,512] [--dim MODEL:NAME=7]
    devices.py -t opencl -t vulkan MODEL.onnx ... --results FILE.json      # what is in the file already is not run again
    devices.py --results FILE.json --table                                 # as a table
    devices.py --aot -t llvm MODEL.onnx ...                 # programs ahead of time beside those of the virtual machine, bit by bit

By `tern run --check host`: inputs are random, and the same for both; an error is relative to the range of its output. Models light_* get
random weights. Drivers that are stood in for are found through LD_LIBRARY_PATH (docs/conformance.md). Extents that are not known, or that would take
stand-ins hours, are those of EXTENTS unless they are given. Times are of one run behind one that loads the kernels.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import numpy as np  # noqa: E402
import randomize  # noqa: E402

# Of models with extents of the caller's, by kind of target; "" is all the others.
EXTENTS = {
    "bert_mlm_tiny": {"": ["--dim", "batch=1", "--dim", "tokens=16"], "cuda": ["--dim", "batch=1", "--dim", "tokens=4"],
                      "rocm": ["--dim", "batch=1", "--dim", "tokens=1"], "metal": ["--dim", "batch=1", "--dim", "tokens=1"]},
    "gpt2_past_shrunk": {"": ["--dim", "batch_size=1", "--dim", "seq_len=7"]},
    "mobilenetv2_qdq_int8": {"": ["--dim", "batch=1"]},
    "ppocr_cls": {"": ["--input-shape", "x=1,3,48,96"], "cuda": ["--input-shape", "x=1,3,32,32"], "rocm": ["--input-shape", "x=1,3,32,32"],
                  "metal": ["--input-shape", "x=1,3,32,32"]},
    "silero_vad_v5": {"": ["--input-shape", "input=1,512", "--input-shape", "state=2,1,128"]},
    "squeezenet": {"": ["--input-shape", "data=1,3,227,227"]},
}
# Of the range of an output, where it is more than the usual 0.001. Of quantized models a sum of float32 in another order rounds to the next step of
# 8 bits where it is next to the middle between two (docs/vm.md), and the layers behind make more of that: of the scores of this one, some 100
# steps from the least to the largest, four were seen to be, and five may be.
TOLERANCES = {"mobilenetv2_qdq_int8": 0.05}
SAME_BITS = pathlib.Path(__file__).resolve().parents[2] / "test/models/aot/same_bits.sh"
# Inputs whose values decide what is run.
VALUES = {"silero_vad_v5": {"sr": np.array(16000, dtype=np.int64)}}


def run(command, seconds):
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not over after {seconds:g} s") from None
    if result.returncode:
        raise RuntimeError((result.stderr or result.stdout).strip() or f"exit status {result.returncode}")
    return result.stdout


def of_model(options, stem):
    return [option.split(":", 1)[1] for option in options if option.split(":", 1)[0] == stem]


def extents(arguments, stem, kind):
    given = [word for text in of_model(arguments.shape, stem) for word in ("--input-shape", text)]
    given += [word for text in of_model(arguments.dim, stem) for word in ("--dim", text)]
    known = EXTENTS.get(stem, {})
    return given or known.get(kind, known.get("", []))


def with_weights(path, folder):
    if not path.stem.startswith("light_"):
        return path
    model = folder / "model.onnx"
    if not model.exists():
        randomize.randomize(1, path, model)
    return model


def compare_bits(arguments, path, target, folder):
    """Whether the program ahead of time gives what the virtual machine's gives, or why there is none."""
    words = [str(with_weights(path, folder)), *extents(arguments, path.stem, target.split()[0])]
    try:
        text = run([SAME_BITS, arguments.tern, folder / "aot", target, ":".join(words)], arguments.seconds)
    except RuntimeError as failure:
        return "failed: " + " | ".join(str(failure).splitlines())[:400]
    return text.strip().split(": ", 1)[1]


def check(arguments, path, target, folder):
    """What came of one model on one target."""
    model = with_weights(path, folder)
    given = extents(arguments, path.stem, target.split()[0])
    for name, value in VALUES.get(path.stem, {}).items():
        np.save(folder / f"{name}.npy", value)
        given = [*given, "--input", f"{name}={folder}/{name}.npy"]
    start = time.time()
    result = {"extents": " ".join(word for word in extents(arguments, path.stem, target.split()[0]) if not word.startswith("--"))}
    try:
        text = run([arguments.tern, "run", model, "-t", target, *given, "--check", "host", "--repeat", str(arguments.repeat)], arguments.seconds)
    except RuntimeError as failure:
        text = str(failure)
        if not all(error <= TOLERANCES.get(path.stem, -1) for error in errors_in(text)) or not errors_in(text):
            return result | {"failed": " | ".join(text.splitlines())[:400]}
    errors = errors_in(text)
    return result | {"error": max(errors, default=0.0), "run": re.search(r"\w+:\d+ +([\d.e+-]+ \S+)", text).group(1), "seconds": time.time() - start}


def errors_in(text):
    return [float(error) for error in re.findall(r"largest error ([\d.e+-]+|nan|inf) of the range", text)]


def described(result):
    if "failed" in result:
        return "failed: " + result["failed"]
    return f"right, error {result['error']:8.1e}, {result['run']:>8} a run, {result['seconds']:6.1f} s in all"


def print_table(results):
    """Largest errors of those that are right, by model and target."""
    targets = list(dict.fromkeys(target for model in results.values() for target in model))
    print("| model | " + " | ".join(target.split()[0] for target in targets) + " |")
    print("|---" * (len(targets) + 1) + "|")
    for name, model in sorted(results.items()):
        usual = next((one["extents"] for one in model.values() if one["extents"]), "")
        cells = []
        for target in targets:
            one = model.get(target, {"failed": ""})
            other = f" ({one['extents']})" if one.get("extents", usual) != usual else ""
            cells.append("" if "failed" in one else f"{one['error']:.1e}{other}")
        if any(cells):
            print(f"| {name}{', ' + usual if usual else ''} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--tern", default="build/release/bin/tern")
    parser.add_argument("-t", "--target", action="append", default=[])
    parser.add_argument("--shape", action="append", default=[], help="MODEL:INPUT=1,512")
    parser.add_argument("--dim", action="append", default=[], help="MODEL:NAME=7")
    parser.add_argument("--seconds", type=float, default=600, help="that a model may take")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--results", type=pathlib.Path, help="a JSON file that keeps what was found; those that failed are tried again")
    parser.add_argument("--aot", action="store_true", help="compare programs ahead of time with those of the virtual machine, bit by bit")
    parser.add_argument("--table", action="store_true", help="print what --results has, and run nothing")
    arguments = parser.parse_args()
    results = json.loads(arguments.results.read_text()) if arguments.results and arguments.results.exists() else {}
    if arguments.table:
        return print_table(results)
    wrong = 0
    for path in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            for target in arguments.target:
                if arguments.aot:
                    found = compare_bits(arguments, path, target, pathlib.Path(folder))
                    print(f"{path.stem:24} {target:24} {found}", flush=True)
                    wrong += found.startswith(("DIFFERENT", "failed"))
                    continue
                known = results.setdefault(path.stem, {})
                if "failed" in known.get(target, {"failed": ""}):
                    known[target] = check(arguments, path, target, pathlib.Path(folder))
                    if arguments.results:
                        arguments.results.write_text(json.dumps(results, indent=1))
                print(f"{path.stem:24} {target:24} {described(known[target])}", flush=True)
                wrong += "failed" in known[target]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
