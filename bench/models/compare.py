#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models beside ONNX Runtime, in one run: are the outputs the same, and how long does each take? Needs numpy and onnxruntime.

    compare.py [--tern build/release/bin/tern] [--target TARGET] [--threads 1,2] [--rounds 5] MODEL.onnx ...

Every model is compiled as it is, and with --no-fuse. The inputs are random, and the same for all. The three then run in turn, `rounds` times;
the best time of each counts, so that load from elsewhere hits all alike. An error is relative to the range of its output; a model is right
where the largest is below 1e-3 and the median below 1e-4. Ratios above 1 say that Tern is faster.
"""
import argparse
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime


def random_inputs(session, shapes):
    random = numpy.random.default_rng(7)
    feed = {}
    for info in session.get_inputs():
        shape = shapes.get(info.name) or [extent if isinstance(extent, int) and extent > 0 else 1 for extent in info.shape]
        kind = info.type[len("tensor("):-1]
        if kind.startswith(("int", "uint")):
            feed[info.name] = random.integers(0, 2, shape).astype(kind)
        elif kind == "bool":
            feed[info.name] = random.integers(0, 2, shape).astype(bool)
        else:
            feed[info.name] = random.standard_normal(shape).astype({"float": "float32", "double": "float64"}.get(kind, kind))
    return feed


def run(command, threads):
    result = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, TERN_NUM_THREADS=str(threads)))
    if result.returncode:
        raise RuntimeError((result.stderr or result.stdout).strip())
    return result.stdout


def numbers(session, feed):
    """The outputs by name: maps of ZipMap as their numbers, and no strings."""
    outputs = {}
    for info, value in zip(session.get_outputs(), session.run(None, feed)):
        if isinstance(value, list) and value and isinstance(value[0], dict):
            value = numpy.array([list(row.values()) for row in value])
        if isinstance(value, numpy.ndarray) and value.dtype.kind in "fiub":
            outputs[info.name] = value
    return outputs


def errors(actual, expected):
    """Of all outputs together: the largest and the largest median."""
    worst = median = 0.0
    for name, array in expected.items():
        path = actual / f"{name}.npy"
        if not path.exists():
            continue
        got, want = numpy.load(path).astype("float64"), array.astype("float64")
        if got.shape != want.shape:
            raise RuntimeError(f"output {name} is of shape {got.shape}, not {want.shape}")
        if want.size:
            scale = max(want.max() - want.min(), numpy.abs(want).max(), 1e-30)
            error = numpy.abs(got - want) / scale
            worst, median = max(worst, error.max()), max(median, float(numpy.median(error)))
    return worst, median


def best_milliseconds(output):
    """Of a line of tern run: '10 calls: best 1.23 ms, ...'."""
    number, unit = re.search(r"best ([\d.e+-]+) (ns|us|ms|s)\b", output).groups()
    return float(number) * {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}[unit]


def compare(arguments, path, threads, folder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    shapes = {name: [int(x) for x in shape.split(",")] for name, shape in (s.split("=") for s in arguments.input_shape)}
    feed = random_inputs(session, shapes)
    given = []
    for number, (name, array) in enumerate(feed.items()):
        numpy.save(folder / f"input{number}.npy", array)
        given += ["--input", f"{name}={folder}/input{number}.npy"]
    static = [word for name, array in feed.items() for word in ("--input-shape", f"{name}=" + ",".join(map(str, array.shape)))]
    outputs = numbers(session, feed)
    names = {name: re.sub(r"\W", "_", name) for name in outputs}
    start = time.time()
    for variant in ([], ["--no-fuse"]):
        run([arguments.tern, "compile", path, "-t", arguments.target, "--freeze", *static, *variant, "-o", folder / f"model{len(variant)}.so"], threads)
        if not variant:
            seconds = time.time() - start
    written = [word for name in outputs for word in ("--output", f"{name}={folder}/{names[name]}.npy")]
    run([arguments.tern, "run", folder / "model0.so", *given, *written], threads)
    worst, median = errors(folder, {names[name]: array for name, array in outputs.items()})
    best = [math.inf] * 3
    for turn in range(arguments.rounds):
        begin, calls = time.perf_counter(), 0
        while calls < 3 or time.perf_counter() - begin < arguments.seconds:
            one = time.perf_counter()
            session.run(None, feed)
            best[0] = min(best[0], 1e3 * (time.perf_counter() - one))
            calls += 1
        for which in ((1, 2), (2, 1))[turn % 2]:  # what follows ONNX Runtime is slower
            repeat = max(3, min(calls, 2000))
            out = run([arguments.tern, "run", folder / f"model{which - 1}.so", *given, "--repeat", str(repeat)], threads)
            best[which] = min(best[which], best_milliseconds(out))
    return worst, median, seconds, *best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--tern", default="build/release/bin/tern")
    parser.add_argument("--target", default="llvm -mcpu=native")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="that ONNX Runtime runs in a round; Tern makes as many calls")
    parser.add_argument("--input-shape", action="append", default=[], help="NAME=1,3,48,192; other dynamic extents are 1")
    arguments = parser.parse_args()
    wrong = 0
    print(f"{'model':28} threads {'error':>8} {'median':>8} {'compile s':>9} {'ORT ms':>9} {'Tern ms':>9} {'no-fuse':>9} {'vs ORT':>7} {'vs no-fuse':>10}")
    for threads in map(int, arguments.threads.split(",")):
        ratios = []
        for path in arguments.models:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    worst, median, seconds, ort, tern, apart = compare(arguments, path, threads, pathlib.Path(folder))
                except RuntimeError as error:
                    print(f"{path.stem:28} {threads:7} failed: {str(error)[:300]}", flush=True)
                    wrong += 1
                    continue
            right = worst < 1e-3 and median < 1e-4
            wrong += not right
            ratios.append(ort / tern)
            print(f"{path.stem:28} {threads:7} {worst:8.1e} {median:8.1e} {seconds:9.1f} {ort:9.3f} {tern:9.3f} {apart:9.3f} {ort / tern:7.2f} "
                  f"{apart / tern:10.2f}{'' if right else '  WRONG'}", flush=True)
        if ratios:
            print(f"{threads} threads, geomean of {len(ratios)}: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
