#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cliff bench: workloads that a seed draws from families, Tern beside torch, ONNX Runtime and numpy. Prints a histogram of the ratios, their geometric
mean, and the worst, with what the schedule rules say of them.

    ./dev bench cliffs --seed 1 --count 150                       # here, on the CPU
    ./dev bench cliffs --device cuda --prepare FOLDER             # a folder to carry to a machine with a GPU; run.py there
    ./dev bench cliffs --report FOLDER                            # of a folder that has results
    ./dev bench cliffs --beside-llvm opencl vulkan                # devices that are this machine's cores
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import sys

import beside_host
import generate
import onnx_model
import report

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cpu"))
import packages  # pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
TARGETS = {"cpu": "llvm -mcpu=native", "cuda": "nvidia/h200"}
DEVICE_HOST = "llvm -mtriple=x86_64-linux-gnu"
COMPILE_SECONDS = 120


def explain(tern, source, target):
    """What the rules say, without the steps."""
    command = [tern, "opt", source, "-t", target, "--explain-schedule"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMPILE_SECONDS)
    return [line.strip().removeprefix("# ") for line in done.stdout.splitlines() if line.strip().startswith("#")]


def compile_one(workload, options, target, folder, compiler):
    """Adds to the workload what the rules said, and why it was not compiled; files of the same compiler and program are not made again."""
    ending = ".so" if options.device == "cpu" else ".tern"
    key = hashlib.sha256("\0".join((compiler, target, workload.program)).encode()).hexdigest()[:24]
    cached = os.path.join(options.cache, key)
    source = os.path.join(folder, "programs", workload.name + ".tir")
    with open(source, "w", encoding="utf-8") as file:
        file.write(workload.program)
    if not os.path.exists(cached + ".json"):
        entry = {"explain": [], "failed": None}
        command = [options.tern, "compile", source, "-t", target, "-o", cached + ending]
        if options.device != "cpu":
            command += ["--host", DEVICE_HOST]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMPILE_SECONDS)
            if done.returncode != 0:
                entry["failed"] = (done.stderr.strip().splitlines() or [f"the compiler ended with status {done.returncode}"])[0][:300]
            entry["explain"] = explain(options.tern, source, target)
        except subprocess.TimeoutExpired:
            entry["failed"] = f"the compiler took more than {COMPILE_SECONDS} s"
        with open(cached + ".json", "w", encoding="utf-8") as file:
            json.dump(entry, file)
    with open(cached + ".json", encoding="utf-8") as file:
        entry = json.load(file)
    if not entry["failed"]:
        shutil.copyfile(cached + ending, os.path.join(folder, "kernels", workload.name + ending))
    return workload.to_json() | {"function": workload.family, "key": key} | entry


def write_model(workload, folder):
    """Its ONNX model; adds why there is none."""
    try:
        model = onnx_model.build(workload)
    except onnx_model.Unsupported as error:
        return workload | {"no_onnx": f"ONNX has no such operator: {error}"}
    with open(os.path.join(folder, "models", workload["name"] + ".onnx"), "wb") as file:
        file.write(model)
    return workload | {"no_onnx": ""}


def identity(tern):
    """Of a compiler: its files as they are."""
    library = os.path.join(os.path.dirname(tern), "..", "lib", "libtern_compiler.so")
    return " ".join(f"{os.path.getsize(path)}.{os.stat(path).st_mtime_ns}" for path in (tern, library) if os.path.exists(path))


def prepare(options, folder):
    """The folder: workloads.json, kernels/, programs/, models/, lib/ and what runs them."""
    shutil.rmtree(os.path.join(folder, "kernels"), ignore_errors=True)
    for part in ("kernels", "programs", "models", "lib"):
        os.makedirs(os.path.join(folder, part), exist_ok=True)
    os.makedirs(options.cache, exist_ok=True)
    chosen = generate.workloads(options, options.device)
    target, compiler = options.target or TARGETS[options.device], identity(options.tern)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        made = list(pool.map(lambda workload: compile_one(workload, options, target, folder, compiler), chosen))
    if options.device == "cpu":
        made = [write_model(workload, folder) for workload in made]
    for name in ["libtern_runtime.so"] + ([] if options.device == "cpu" else [f"libtern_runtime_{options.device}.so"]):
        shutil.copy(os.path.join(options.runtime, "lib", name), os.path.join(folder, "lib", name))
        if options.device != "cpu":
            strip = shutil.which("x86_64-linux-gnu-strip") or "strip"
            subprocess.run([strip, os.path.join(folder, "lib", name)], check=False, stderr=subprocess.DEVNULL)
    for name in ("run.py", "report.py", "binding.py", "numpy_reference.py"):
        shutil.copy(os.path.join(HERE, name), os.path.join(folder, name))
    data = {"device": options.device, "target": target, "seed": options.seed, "workloads": made}
    with open(os.path.join(folder, "workloads.json"), "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
    failed = [workload for workload in made if workload["failed"]]
    print(f"{folder}: {len(made)} workloads, {len(failed)} of them not compiled")
    for workload in failed:
        print(f"  {workload['name']}: {workload['failed']}")
    return data


def find_python(options):
    """One with torch: that of `--python`, or of the virtual environment of ./dev bench cpu."""
    if options.python:
        return options.python
    venv = os.path.join(options.output, "venv")
    reason = packages.install(venv, ["torch", "onnxruntime"]).get("torch")
    if reason:
        sys.exit(f"skipped: there is no torch to measure beside: {reason} (--python FILE names an interpreter that has it)")
    return packages.python(venv)


def parse():
    parser = argparse.ArgumentParser(prog="./dev bench cliffs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    generate.add_options(parser)
    parser.add_argument("--device", default="cpu", choices=sorted(TARGETS))
    parser.add_argument("--prepare", metavar="FOLDER", help="compile into this folder, and do not run")
    parser.add_argument("--report", metavar="FOLDER", help="print the results of this folder, and do not run")
    parser.add_argument("--beside-llvm", nargs="+", metavar="TARGET", choices=sorted(beside_host.LAUNCH),
                        help="time these targets, drivers for this machine's cores, beside llvm, and nothing else")
    parser.add_argument("--part", default="1/1", help="I/N: every N-th workload, from the I-th on")
    parser.add_argument("--limit", type=float, default=480, help="seconds, after which no workload is begun; the same command goes on (480)")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("--only", default="", help="workloads whose names have this in them")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--target", help="what Tern compiles for (cpu: %s, cuda: %s)" % (TARGETS["cpu"], TARGETS["cuda"]))
    parser.add_argument("--tern", metavar="FILE", help="another compiler than the one built here")
    parser.add_argument("--runtime", metavar="FOLDER", help="the build whose runtime is used (default: the compiler's)")
    parser.add_argument("--python", metavar="FILE", help="an interpreter that has torch")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="compilers at a time")
    parser.add_argument("--binaries", default="build/release/bin", help=argparse.SUPPRESS)
    parser.add_argument("--output", default="build/bench", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.tern = os.path.abspath(options.tern or os.path.join(options.binaries, "tern"))
    options.runtime = options.runtime or os.path.dirname(os.path.dirname(options.tern))
    options.cache = os.path.join(options.output, "cliffs", "cache")
    return options


def main():
    sys.stdout.reconfigure(line_buffering=True)
    options = parse()
    if options.report:
        return report.print_folder(options.report)
    if options.beside_llvm:
        return beside_host.run(options, explain)
    folder = options.prepare or os.path.join(options.output, "cliffs", f"{options.device}-{options.seed}")
    prepare(options, folder)
    if options.prepare:
        return 0
    if options.device != "cpu":
        sys.exit(f"--device {options.device} needs --prepare FOLDER; run.py in that folder runs it where the device is")
    command = [find_python(options), os.path.join(folder, "run.py"), folder, "--part", options.part, "--limit", str(options.limit), "--threads", str(options.threads),
               "--only", options.only] + ["--again"] * options.again
    status = subprocess.run(command, check=False).returncode
    report.print_folder(folder)
    return status


if __name__ == "__main__":
    sys.exit(main())
