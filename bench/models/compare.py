#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models beside other engines, in one run: are the outputs the same, how long does each take, and how much memory? Needs numpy and onnxruntime.

    compare.py [--tern build/release/bin/tern] [--target TARGET] [--threads 1,all] [--rounds 5] [--engines onnxruntime,torch,tvm,iree]
               [--json FILE] [--html FILE] MODEL.onnx|FOLDER ...
    compare.py --prepare FOLDER [--target TARGET] MODEL.onnx|FOLDER ...     compiles, and measures nothing
    FOLDER/compare.py --prepared FOLDER [--threads 1,2] [...]               measures there, on a machine without the compiler

Every model is compiled for the shapes of its inputs, which are random and the same for all, and with --no-fuse. ONNX Runtime says what is right; engines
that are not installed, or do not take the model, are named and left out. They run in turn, `rounds` times, each in its own process; the best time of
each counts, so that load from elsewhere hits all alike. An error is relative to the range of its output; a model is right where the largest is below
1e-3 and the median below 1e-4. Ratios above 1 say that Tern is faster. Memory is the most that a process had while it ran the model, less what it had
before.
"""
import argparse
import html
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

import numpy
import onnxruntime

import engines
import inputs


def random_inputs(session, known):
    random = numpy.random.default_rng(7)
    feed = {}
    for info in session.get_inputs():
        given = known.get(re.sub(r"\d+$", "*", info.name), known.get(info.name))
        if isinstance(given, numpy.ndarray):
            feed[info.name] = given
            continue
        shape = given if given is not None else [extent if isinstance(extent, int) and extent > 0 else 1 for extent in info.shape]
        kind = info.type[len("tensor("):-1]
        if kind.startswith(("int", "uint")):
            feed[info.name] = random.integers(0, 2, shape).astype(kind)
        elif kind == "bool":
            feed[info.name] = random.integers(0, 2, shape).astype(bool)
        else:
            feed[info.name] = random.standard_normal(shape).astype({"float": "float32", "double": "float64"}.get(kind, kind))
    return feed


class Engine:
    """One of engines.py."""

    def __init__(self, name, path, folder, threads):
        self.name, self.outputs = name, folder / f"{name}.npz"
        command = [sys.executable, pathlib.Path(engines.__file__), name, path, folder / "inputs.npz", str(threads), self.outputs]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        answer = self.answer()
        self.error, self.load_s = answer.get("error"), answer.get("ready", {}).get("load_s")
        self.best_ms, self.peak_bytes, self.calls = math.inf, 0, 0

    def answer(self):
        for line in iter(self.process.stdout.readline, ""):
            if line.startswith("{"):
                return json.loads(line)
        return {"error": f"ended with status {self.process.wait()}"}

    def run(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        answer = self.answer()
        if "error" in answer:
            self.error = answer["error"]
            return
        self.best_ms = min(self.best_ms, answer["best_ms"])
        self.peak_bytes, self.calls = max(self.peak_bytes, answer["peak_bytes"]), answer["calls"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run(command, threads):
    """What it printed."""
    environment = dict(os.environ, TERN_NUM_THREADS=str(threads))
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(done.stdout.strip())
    return done.stdout


def errors(actual, expected):
    """Of all outputs together: the largest and the largest median."""
    worst = median = 0.0
    for name, array in expected.items():
        got, want = actual[name].astype("float64"), array.astype("float64")
        if got.shape != want.shape:
            raise RuntimeError(f"output {name} is of shape {got.shape}, not {want.shape}")
        if want.size:
            scale = max(want.max() - want.min(), numpy.abs(want).max(), 1e-30)
            error = numpy.abs(got - want) / scale
            worst, median = max(worst, error.max()), max(median, float(numpy.median(error)))
    return float(worst), median


def best_milliseconds(output):
    """Of a line of tern run: '10 calls: best 1.23 ms, ...'."""
    number, unit = re.search(r"best ([\d.e+-]+) (ns|us|ms|s)\b", output).groups()
    return float(number) * {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}[unit]


def compile_times(arguments, path, static, folder, threads):
    """Of the model as it is, without and with what the disk has; and without fusion, not measured."""
    command = [arguments.tern, "compile", path, "-t", arguments.target, "--freeze", *static]
    cache = {"TERN_CACHE_DIR": str(folder / "cache")}
    seconds = []
    for _ in ("cold", "warm"):
        start = time.time()
        os.environ.update(cache)
        run([*command, "-o", folder / "fused.so"], threads)
        os.environ.pop("TERN_CACHE_DIR")
        seconds.append(time.time() - start)
    if arguments.no_fuse:
        run([*command, "--no-fuse", "-o", folder / "apart.so"], threads)
    return seconds


def prepare(arguments, path, folder):
    """Puts the model, its inputs and the compiled files into a folder, and says in prepared.json what is there."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    known = inputs.of(path.stem)
    known.update((name, [int(x) for x in shape.split(",")]) for name, shape in (s.split("=") for s in arguments.input_shape))
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feed = random_inputs(session, known)
    del session
    os.symlink(path.resolve(), folder / f"{path.stem}.onnx")
    numpy.savez(folder / "inputs.npz", **feed)
    given, static = {}, []
    for number, (name, array) in enumerate(feed.items()):
        numpy.save(folder / f"input{number}.npy", array)
        given[name] = f"input{number}.npy"
        static += ["--input-shape", f"{name}=" + ",".join(map(str, array.shape))] if array.shape else []
    cold, warm = compile_times(arguments, path, static, folder, len(os.sched_getaffinity(0)))
    (folder / "prepared.json").write_text(json.dumps({"model": path.stem, "inputs": given, "compile_s": cold, "compile_warm_s": warm}), encoding="utf-8")


def measure(arguments, folder, threads):
    """Of what was prepared in a folder."""
    prepared = json.loads((folder / "prepared.json").read_text(encoding="utf-8"))
    path = folder / f"{prepared['model']}.onnx"
    given = [word for name, file in prepared["inputs"].items() for word in ("--input", f"{name}={folder / file}")]
    peers = [Engine(name, path, folder, threads) for name in arguments.engines.split(",")]
    missing = {peer.name: peer.error for peer in peers if peer.error}
    peers = [peer for peer in peers if not peer.error]
    if "onnxruntime" in missing:
        raise RuntimeError("onnxruntime: " + missing["onnxruntime"])
    expected = dict(numpy.load(folder / "onnxruntime.npz"))
    names = {name: f"{folder}/output{number}.npy" for number, name in enumerate(expected)}
    written = [word for name, file in names.items() for word in ("--output", f"{name}={file}")]
    runner = arguments.runner
    profile = run([runner, folder / "fused.so", *given, *written, "--repeat", "5", "--profile"], threads)
    most, before = re.search(r"memory: ([\d.]+) MB at most, ([\d.]+) MB before", profile).groups()
    peak = 1e6 * (float(most) - float(before))
    if arguments.profiles:
        (arguments.profiles / f"{prepared['model']}.{threads}.txt").write_text(profile, encoding="utf-8")
    worst, median = errors({name: numpy.load(file) for name, file in names.items()}, expected)
    which_files = [which for which in ("fused", "apart") if (folder / f"{which}.so").exists()]
    best = dict.fromkeys(which_files, math.inf)
    for turn in range(arguments.rounds):
        for peer in peers:
            peer.run(arguments.seconds)
        # What follows another engine is slower.
        for which in sorted(best, reverse=turn % 2 == 1):
            repeat = max(3, min(peers[0].calls, 2000))
            out = run([runner, folder / f"{which}.so", *given, "--repeat", str(repeat)], threads)
            best[which] = min(best[which], best_milliseconds(out))
    for peer in peers:
        peer.close()
    result = {"model": prepared["model"], "threads": threads, "error": worst, "median_error": median, "right": worst < 1e-3 and median < 1e-4,
              "missing": missing, "engines": {}}
    result["engines"]["tern"] = {"ms": best["fused"], "compile_s": prepared["compile_s"], "compile_warm_s": prepared["compile_warm_s"],
                                 "file_bytes": (folder / "fused.so").stat().st_size, "peak_bytes": peak}
    if "apart" in best:
        result["engines"]["tern --no-fuse"] = {"ms": best["apart"]}
    for peer in peers:
        if not peer.error:
            result["engines"][peer.name] = {"ms": peer.best_ms, "compile_s": peer.load_s, "peak_bytes": peer.peak_bytes}
    return result


def pack(arguments, files):
    """Writes a folder for another machine: an archive for each model, and what measures them."""
    target = arguments.prepare
    for name in ("bin", "lib"):
        (target / name).mkdir(parents=True, exist_ok=True)
    here = pathlib.Path(__file__).parent
    for file in ("compare.py", "engines.py", "inputs.py"):
        shutil.copy(here / file, target)
    shutil.copy(arguments.runner, target / "bin")
    shutil.copy(arguments.runner.parent.parent / "lib" / "libtern_runtime.so", target / "lib")
    for path in files:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            try:
                prepare(arguments, path, folder)
            except RuntimeError as error:
                print(f"{path.stem} was left out: {error}", flush=True)
                continue
            shutil.rmtree(folder / "cache", ignore_errors=True)
            with tarfile.open(target / f"{path.stem}.tar.xz", "w:xz", preset=4, dereference=True) as archive:
                archive.add(folder, arcname=".")
        print(f"{path.stem}: {megabytes((target / f'{path.stem}.tar.xz').stat().st_size)} MB", flush=True)


def ratio(result, engine):
    return result["engines"][engine]["ms"] / result["engines"]["tern"]["ms"] if engine in result["engines"] else None


def geomean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def summaries(results):
    """By threads and engine: the geomean of the ratios, each at most 2, and the least."""
    rows = []
    for threads in sorted({result["threads"] for result in results}):
        for engine in engines.NAMES:
            ratios = [r for result in results if result["threads"] == threads and (r := ratio(result, engine))]
            if ratios:
                rows.append({"threads": threads, "engine": engine, "models": len(ratios), "geomean": geomean([min(r, 2) for r in ratios]),
                             "least": min(ratios)})
    return rows


def megabytes(number):
    return "" if number is None else f"{number / 1e6:.1f}"


def write_html(path, results):
    cell = lambda text, right=True: f"<td{' class=n' if right else ''}>{html.escape(str(text))}</td>"  # noqa: E731
    rows = []
    for result in results:
        for name, one in result["engines"].items():
            against = "" if name == "tern" else f"{ratio(result, name):.2f}"
            rows.append("<tr>" + cell(result["model"], False) + cell(result["threads"]) + cell(name, False) + cell(f"{one['ms']:.3f}") + cell(against) +
                        cell("" if one.get("compile_s") is None else f"{one['compile_s']:.2f}") + cell(megabytes(one.get("file_bytes"))) +
                        cell(megabytes(one.get("peak_bytes"))) + cell(f"{result['error']:.1e}" if name == "tern" else "") + "</tr>")
        for name, why in result["missing"].items():
            rows.append("<tr>" + cell(result["model"], False) + cell(result["threads"]) + cell(name, False) + f"<td colspan=6>{html.escape(why)}</td></tr>")
    sums = "".join(f"<li>{row['threads']} threads, {row['engine']}: geomean {row['geomean']:.2f} of {row['models']} models (each at most 2), least "
                   f"{row['least']:.2f}</li>" for row in summaries(results))
    path.write_text("<!doctype html><meta charset=utf-8><title>Models beside other engines</title><style>body{font:14px sans-serif;margin:2em}"
                    "td,th{padding:2px 10px;border-bottom:1px solid #ddd;text-align:left}.n{text-align:right}table{border-collapse:collapse}</style>"
                    f"<h1>Models beside other engines</h1><ul>{sums}</ul><table><tr><th>model<th>threads<th>engine<th>ms<th>ratio<th>compile or load s"
                    f"<th>file MB<th>peak MB<th>error</tr>{''.join(rows)}</table>\n", encoding="utf-8")


def threads_of(text):
    return sorted({len(os.sched_getaffinity(0)) if word == "all" else int(word) for word in text.split(",")})


def measured(arguments, files):
    """(file, threads, result) of each; a RuntimeError is a result too."""
    for path in files:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            try:
                if arguments.prepared:
                    subprocess.run(["tar", "-xJf", path, "-C", folder], check=True)
                else:
                    prepare(arguments, path, folder)
            except RuntimeError as error:
                yield path, 0, error
                continue
            for threads in threads_of(arguments.threads):
                try:
                    yield path, threads, measure(arguments, folder, threads)
                except RuntimeError as error:
                    yield path, threads, error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path, help="files, and folders of files")
    parser.add_argument("--prepare", type=pathlib.Path, metavar="FOLDER", help="compile for another machine, and measure nothing")
    parser.add_argument("--prepared", type=pathlib.Path, metavar="FOLDER", help="measure what was prepared; MODEL ... are names")
    parser.add_argument("--tern", default="build/release/bin/tern")
    parser.add_argument("--target", default="llvm -mcpu=native")
    parser.add_argument("--threads", default="1,all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="that each engine runs in a round; Tern makes as many calls as ONNX Runtime")
    parser.add_argument("--engines", default=",".join(engines.NAMES), help="onnxruntime is always one")
    parser.add_argument("--no-fuse", action="store_true", help="also without fusion")
    parser.add_argument("--input-shape", action="append", default=[], help="NAME=1,3,48,192; other dynamic extents are those of inputs.py, or 1")
    parser.add_argument("--profiles", type=pathlib.Path, metavar="FOLDER", help="write tern run --profile of each model there")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--html", type=pathlib.Path)
    arguments = parser.parse_args()
    wanted = arguments.engines.split(",")
    arguments.engines = ",".join(["onnxruntime"] + [name for name in wanted if name != "onnxruntime"])
    arguments.runner = pathlib.Path(arguments.tern).with_name("tern-run")
    if arguments.profiles:
        arguments.profiles.mkdir(parents=True, exist_ok=True)
    if arguments.prepared:
        arguments.runner = (arguments.prepared / "bin" / "tern-run").resolve()
        files = [file for file in sorted(arguments.prepared.glob("*.tar.xz"))
                 if not arguments.models or file.name.removesuffix(".tar.xz") in map(str, arguments.models)]
    else:
        files = [file for path in arguments.models for file in (sorted(path.glob("*.onnx")) if path.is_dir() else [path])]
    if not files:
        parser.error("there are no models")
    if arguments.prepare:
        return pack(arguments, files)
    wrong, results = 0, []
    print(f"{'model':28} threads {'error':>8} {'cold s':>7} {'warm s':>7} {'MB':>7} {'peak':>7} {'ORT peak':>8} {'Tern ms':>9} {'ORT ms':>9} {'vs ORT':>7}  others")
    for path, threads, result in measured(arguments, files):
        if isinstance(result, RuntimeError):
            print(f"{path.name.split('.')[0]:28} {threads:7} failed: {str(result)[:300]}", flush=True)
            wrong += 1
            continue
        results.append(result)
        wrong += not result["right"]
        tern, ort = result["engines"]["tern"], result["engines"]["onnxruntime"]
        others = [f"{name} {ratio(result, name):.2f}" for name in result["engines"] if name not in ("tern", "onnxruntime")]
        print(f"{result['model']:28} {threads:7} {result['error']:8.1e} {tern['compile_s']:7.2f} {tern['compile_warm_s']:7.2f} {megabytes(tern['file_bytes']):>7} "
              f"{megabytes(tern['peak_bytes']):>7} {megabytes(ort['peak_bytes']):>8} {tern['ms']:9.3f} {ort['ms']:9.3f} "
              f"{ratio(result, 'onnxruntime'):7.2f}  {', '.join(others)}{'' if result['right'] else '  WRONG'}", flush=True)
    for row in summaries(results):
        print(f"{row['threads']} threads, {row['engine']}: geomean {row['geomean']:.3f} of {row['models']} models (each at most 2), least {row['least']:.2f}")
    for name in engines.NAMES:
        why = {result["missing"][name] for result in results if name in result["missing"]}
        if why:
            print(f"{name} was not measured: {'; '.join(sorted(why))[:300]}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"results": results, "summaries": summaries(results)}, indent=1) + "\n", encoding="utf-8")
    if arguments.html:
        write_html(arguments.html, results)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
