# SPDX-License-Identifier: Apache-2.0
"""Devices that are this machine's cores, as pocl (opencl) and lavapipe (vulkan) are, beside llvm on the same cores: one small and one
medium workload of each family, with the reason where the device takes more than ten times as long."""
import array
import json
import math
import os
import re
import subprocess

import generate

SLOW = 10
# Elements of all tensors (products: an eighth of their multiplications, if that is more), at least.
SMALL, MEDIUM = 20_000, 300_000
SECONDS = 60
UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
# The targets: pocl's device is a processor.
TARGETS = {"opencl": "opencl -processor=1", "vulkan": "vulkan"}
# What a launch costs, in microseconds, measured with one element.
LAUNCH = {"opencl": 15, "vulkan": 50}
# Rules whose threads share memory, or have accumulators.
SHARING = re.compile(r"rule (\w*(?:matmul|attention|scan)|row_per_thread_block|row_reduction|column_reduction|shared_memory_transpose|staged_rows)\b")
REASONS = {
    "launch": "a launch takes as long as the host's whole loop",
    "half": "the driver converts float16 by integer arithmetic, element by element",
    "lanes": "the driver loads and stores element by element, each with a check of its bounds",
    "threads": "the driver's threads are a loop between barriers: what they accumulate is in memory",
    "atomics": "floats are added by a loop of compare-exchange, as OpenCL C 1.2 has no other way",
    "dots": "the host has instructions for dot products of these types, and OpenCL C has no name for them",
    "scalar": "the driver's compiler makes no vectors of these loops",
    "unknown": "not looked into",
}


def reason(kind, workload, seconds, rules):
    """Why a device takes long, by what was measured of drivers (README.md): the first that applies."""
    if seconds < 4 * LAUNCH[kind]:
        return "launch"
    if kind == "vulkan":
        return "lanes"
    if any(tensor.dtype == "float16" for tensor in workload.inputs):
        return "half"
    if "rule atomic_updates" in rules:
        return "atomics"
    if "rule widen_" in rules:
        return "dots"
    if SHARING.search(rules):
        return "threads"
    return "scalar" if re.search("rule coalesced_elementwise", rules) else "unknown"


def size(workload):
    elements = sum(math.prod(tensor.shape) for tensor in workload.inputs + workload.outputs)
    product = re.search(r"(\d+)x(\d+)x(\d+) [nt][nt]", workload.note)
    return max(elements, math.prod(map(int, product.groups())) / 8 if product else 0)


def choose(seed):
    """Static workloads: the smallest of each family that is large enough to be small, and to be medium."""
    families = {}
    for workload in generate.draw_workloads(seed, 400, "cpu"):
        if not workload.dynamic:
            families.setdefault(workload.family, []).append(workload)
    for members in families.values():
        members.sort(key=size)
        found = [next((member for member in members if size(member) >= least), members[-1]) for least in (SMALL, MEDIUM)]
        yield from found if found[0] is not found[1] else found[:1]


def write_indices(tensor, path):
    """A .npy file of indices in range, each once where they have to be."""
    count, limit = math.prod(tensor.shape), int(tensor.fill.split(":")[1])
    step = next(step for step in range(limit * 5 // 8 + 1, 2 * limit + 2) if math.gcd(step, limit) == 1)
    values = array.array("i" if tensor.dtype == "int32" else "q", [index * step % limit for index in range(count)])
    shape = "(" + "".join(f"{int(extent)}, " for extent in tensor.shape) + ")"
    header = f"{{'descr': '<i{values.itemsize}', 'fortran_order': False, 'shape': {shape}}}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + values.tobytes())


def measure(tern, source, target, inputs):
    """Microseconds of the best call; None where there is none, with the reason."""
    command = [tern, "run", source, "-t", target, "--repeat", "10", "--no-summary", *inputs]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None, f"more than {SECONDS} s"
    best = re.search(r"best ([\d.]+) (\w+)", done.stdout)
    if not best:
        return None, (done.stderr.strip().splitlines() or ["no time"])[0][:120]
    return float(best[1]) * UNITS[best[2]], ""


def run(options, explain):
    """Prints a line for each workload and device, and stores them in FOLDER/beside_llvm.jsonl."""
    folder = os.path.join(options.output, "cliffs", f"beside-{options.seed}")
    os.makedirs(folder, exist_ok=True)
    slow = 0
    with open(os.path.join(folder, "beside_llvm.jsonl"), "w", encoding="utf-8") as log:
        for workload in choose(options.seed):
            source = os.path.join(folder, workload.name + ".tir")
            with open(source, "w", encoding="utf-8") as file:
                file.write(workload.program)
            inputs = []
            for tensor in workload.inputs:
                if ":" in tensor.fill:
                    path = os.path.join(folder, f"{workload.name}.{tensor.name}.npy")
                    write_indices(tensor, path)
                    inputs += ["--input", f"{tensor.name}={path}"]
            host, _ = measure(options.tern, source, "llvm -mcpu=native", inputs)
            for kind in options.beside_llvm:
                device, failed = measure(options.tern, source, TARGETS[kind], inputs)
                entry = {"name": workload.name, "note": workload.note, "device": kind, "llvm_us": host, "device_us": device, "reason": failed}
                if host and device and device > SLOW * host:
                    entry["reason"] = REASONS[reason(kind, workload, device, " ".join(explain(options.tern, source, TARGETS[kind])))]
                    slow += 1
                times = f"{host:9.1f} {device:10.1f} us {device / host:7.1f}" if host and device else "no time"
                print(f"{kind:7} {workload.family:22} {workload.note[:44]:44} {times}  {entry['reason']}")
                log.write(json.dumps(entry) + "\n")
    print(f"more than {SLOW} times the time of llvm: {slow}; {log.name}")
    return 0
