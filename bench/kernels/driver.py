#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels of examples/kernels beside plain C at -O3 with as many threads: the time of each, and Tern's over the peer's (the median of
rounds that take turns).

    ./dev bench kernels [--only scan]                             # here, on the CPU
    ./dev bench kernels --device cuda --prepare FOLDER            # a folder to carry to a machine with a GPU; FOLDER/run.py FOLDER there, beside torch
    ./dev bench kernels --cpu sapphirerapids --prepare FOLDER     # one for another CPU; there with OMP_NUM_THREADS and TERN_NUM_THREADS
"""
import argparse
import os
import shutil
import subprocess
import sys

import workloads

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TARGETS = {"cpu": "llvm -mcpu={cpu}", "cuda": "nvidia/h200"}
DEVICE_HOST = "llvm -mtriple=x86_64-linux-gnu"


def prepare(options, folder):
    """The folder: kernels/, lib/, device, and what runs them."""
    for part in ("kernels", "lib"):
        os.makedirs(os.path.join(folder, part), exist_ok=True)
    cpu = options.device == "cpu"
    for name in workloads.chosen(options.device, options.only):
        output = os.path.join(folder, "kernels", name + (".so" if cpu else ".tern"))
        command = [options.tern, "compile", os.path.join(ROOT, "examples", "kernels", name + ".tir"), "-t", options.target or TARGETS[options.device].format(cpu=options.cpu), "-o", output]
        subprocess.run(command + ([] if cpu else ["--host", DEVICE_HOST]), check=True)
    for name in ["libtern_runtime.so"] + ([] if cpu else [f"libtern_runtime_{options.device}.so"]):
        shutil.copy(os.path.join(options.runtime, "lib", name), os.path.join(folder, "lib", name))
    with open(os.path.join(folder, "device"), "w", encoding="utf-8") as file:
        file.write(options.device + "\n")
    if cpu:
        command = [options.cc, "-O3", f"-march={options.cpu}", "-fopenmp", "-shared", "-fPIC", os.path.join(HERE, "peers.c"), "-o", os.path.join(folder, "peers.so"), "-lm"]
        subprocess.run(command, check=True)
    if options.prepare:
        for path in (os.path.join(HERE, "run.py"), os.path.join(HERE, "workloads.py"), os.path.join(HERE, "peers.cu"), os.path.join(HERE, "..", "cliffs", "binding.py")):
            shutil.copy(path, folder)


def main():
    parser = argparse.ArgumentParser(prog="./dev bench kernels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=sorted(TARGETS))
    parser.add_argument("--prepare", metavar="FOLDER", help="compile into this folder, and do not run")
    parser.add_argument("--only", default="", help="kernels whose names have this in them")
    parser.add_argument("--rounds", default="7")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--target", help="what Tern compiles for (cpu: %s, cuda: %s)" % (TARGETS["cpu"], TARGETS["cuda"]))
    parser.add_argument("--cpu", default="native", help="the CPU that Tern and the peers are compiled for")
    parser.add_argument("--cc", default="gcc", help="compiles the peers")
    parser.add_argument("--runtime", metavar="FOLDER", default="build/release", help="the build whose runtime is used")
    parser.add_argument("--tern", metavar="FILE", default="build/release/bin/tern")
    options = parser.parse_args()
    folder = options.prepare or os.path.join("build", "bench", "kernels")
    prepare(options, folder)
    if options.prepare:
        return 0
    if options.device != "cpu":
        sys.exit(f"--device {options.device} needs --prepare FOLDER; run.py in that folder runs it where the device is")
    threads = str(options.threads)
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "TERN_NUM_THREADS": threads}
    return subprocess.run([sys.executable, os.path.join(HERE, "run.py"), folder, "--rounds", options.rounds, "--only", options.only], check=False, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
