#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs compiled kernels of examples/kernels beside plain C (cpu) or torch (cuda), in turn, and prints a table.

    run.py FOLDER [--rounds 7] [--only NAME] [--limit 10] [--large]

A kernel of which one call takes a tenth of the limit (seconds) or more is called once.

FOLDER has kernels/NAME.so or .tern, lib/ with the runtime, device (a word), and for the CPU peers.so."""
import argparse
import ctypes
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BYTES = {"uint8": 1, "int32": 4, "uint32": 4, "float32": 4}
SECONDS = 0.1  # of each in a round


def count(shape):
    product = 1
    for extent in shape:
        product *= extent
    return product


class Host:
    """Tensors and peers in memory; the time is the clock's, and the least of a round."""

    def __init__(self, folder):
        self.peers = ctypes.CDLL(os.path.join(folder, "peers.so"))
        self.peers.difference.restype = ctypes.c_double

    def make(self, dtype, shape, fill):
        elements = count(shape)
        memory = ctypes.create_string_buffer(elements * BYTES[dtype] + 64)
        address = ctypes.addressof(memory)
        pointer, size = ctypes.c_void_p(address + -address % 64), ctypes.c_int64(elements)
        kind, _, number = fill.partition(":")
        if kind == "bytes":
            self.peers.fill_bytes(pointer, ctypes.c_int64(elements * BYTES[dtype]))
        elif kind == "bases":
            self.peers.fill_bytes(pointer, size)
            values = (ctypes.c_uint8 * elements).from_address(pointer.value)
            values[:] = bytes(value & 3 for value in bytes(values))
        elif kind == "floats":
            self.peers.fill_floats(pointer, size)
        elif kind == "below":
            self.peers.fill_below(pointer, size, ctypes.c_int64(int(number)))
        elif kind == "csr":
            (ctypes.c_int32 * elements).from_address(pointer.value)[:] = range(0, elements * int(number), int(number))
        return memory, pointer.value

    def peer(self, name, work, tensors):
        function = getattr(self.peers, work.get("peer", name))
        own = {spec[0]: self.make(*spec[1:3], "") for spec in outputs(work)}
        args = [ctypes.c_void_p(own.get(spec[0], tensors[spec[0]])[1]) for spec in work["args"] if not isinstance(spec, int)]
        args += [ctypes.c_int64(size) for size in work["sizes"]]

        def difference():
            worst = 0.0
            for spec in outputs(work):
                a, b, size = own[spec[0]][1], tensors[spec[0]][1], count(spec[2]) * BYTES[spec[1]]
                if ctypes.string_at(a, size) == ctypes.string_at(b, size):
                    continue
                worst = max(worst, self.peers.difference(ctypes.c_void_p(a), ctypes.c_void_p(b), ctypes.c_int64(count(spec[2]))) if spec[1] == "float32" else float("inf"))
            return worst

        return lambda: function(*args), difference

    def once(self, call):
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    def round(self, call):
        time.sleep(0.004)  # threads that spin after a call stop
        call()
        best, begin = float("inf"), time.perf_counter()
        while time.perf_counter() - begin < SECONDS:
            start = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - start)
        return best


class Cuda:
    """Tensors and peers of torch; the time is that of events, the median of a round."""

    def __init__(self, _):
        import torch  # pylint: disable=import-outside-toplevel
        import workloads  # pylint: disable=import-outside-toplevel
        with open(os.path.join(HERE, "peers.cu"), encoding="utf-8") as file:
            self.torch, self.peers = torch, workloads.torch_peers(torch, file.read())
        self.generator = torch.Generator("cuda").manual_seed(1)

    def make(self, dtype, shape, fill):
        torch, kind, number = self.torch, *fill.partition(":")[::2]
        where = {"device": "cuda"}
        if kind == "floats":
            made = torch.rand(shape, generator=self.generator, **where) * 2 - 1
        elif kind in ("below", "bases"):
            made = torch.randint(0, int(number or 4), shape, generator=self.generator, **where).to(getattr(torch, dtype))
        elif kind == "csr":
            made = (torch.arange(shape[0], **where) * int(number)).to(torch.int32)
        else:
            made = torch.randint(0, 256, [count(shape) * BYTES[dtype]], generator=self.generator, dtype=torch.uint8, **where).view(getattr(torch, dtype)).view(shape)
        return made, made.data_ptr()

    def peer(self, name, work, tensors):
        if name not in self.peers:
            return None, lambda: 0.0
        named = {key: value[0] for key, value in tensors.items()}
        result = []

        def call():
            result[:] = [self.peers[name](named)]

        def difference():
            mine, theirs = named[outputs(work)[0][0]], result[0]
            if name.startswith("radix_sort"):  # torch sorts signed ones
                mine = mine.view(self.torch.int32).sort().values
            if mine.dtype == self.torch.uint32:
                mine, theirs = mine.view(self.torch.int32), theirs.view(self.torch.int32)
            return (mine.double() - theirs.double()).abs().max().item()

        return call, difference

    def once(self, call):
        start = time.perf_counter()
        call()
        self.torch.cuda.synchronize()
        return time.perf_counter() - start

    def round(self, call):
        call()
        self.torch.cuda.synchronize()
        pairs = [[self.torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(10)]
        for start, stop in pairs:
            start.record()
            call()
            stop.record()
        self.torch.cuda.synchronize()
        return statistics.median(start.elapsed_time(stop) for start, stop in pairs) * 1e-3


def outputs(work):
    return [spec for spec in work["args"] if not isinstance(spec, int) and spec[3] == "out"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--large", action="store_true", help="sizes of workloads.LARGE, and billions in a second; for GPUs")
    parser.add_argument("--limit", type=float, default=10, help="seconds that one kernel may take, about")
    options = parser.parse_args()
    sys.path[:0] = [HERE, os.path.join(HERE, "..", "cliffs")]
    import binding  # pylint: disable=import-outside-toplevel
    import workloads  # pylint: disable=import-outside-toplevel
    with open(os.path.join(options.folder, "device"), encoding="utf-8") as file:
        kind = file.read().strip()
    machine = Host(options.folder) if kind == "cpu" else Cuda(options.folder)
    runtime = binding.Runtime(os.path.join(options.folder, "lib", "libtern_runtime.so"))
    device, wrong = runtime.device(kind), 0
    print(f"{'kernel':20} {'Tern':>10} {'C' if kind == 'cpu' else 'torch':>10} {'of it':>7}")
    for name, work in workloads.chosen(kind, options.only).items():
        if options.large:
            if name not in workloads.LARGE:
                continue
            work = workloads.enlarged(name, work)
        module = runtime.load(os.path.join(options.folder, "kernels", name + (".so" if kind == "cpu" else ".tern")))
        tensors = {spec[0]: machine.make(*spec[1:4]) for spec in work["args"] if not isinstance(spec, int)}
        args = [spec if isinstance(spec, int) else (tensors[spec[0]][1], spec[1], spec[2]) for spec in work["args"]]
        tern = runtime.bind(runtime.function(module, name), device, args)
        peer, difference = machine.peer(name, work, tensors)
        machine.once(tern)  # compiles, where the driver does that
        mine, theirs, once = [], [], machine.once(tern)
        slow = once > options.limit / 10
        for _ in range(1 if slow else options.rounds):
            mine.append(once if slow else machine.round(tern))
            if peer:
                theirs.append(machine.round(peer))
        line = f"{name:20} {min(mine) * 1e3:7.3f} ms"
        billions = ""
        if options.large:
            _, unit, amount = workloads.LARGE[name]
            billions = f"  {amount({key: value[0] for key, value in tensors.items()}) / min(mine) * 1e-9:.1f} G {unit}/s"
        if peer:
            error = difference()
            ratio = statistics.median(a / b for a, b in zip(mine, theirs))
            line += f" {min(theirs) * 1e3:7.3f} ms {ratio:6.2f}x"
            if error > work.get(f"{kind}_tolerance", work.get("tolerance", 1e-5)):
                line += f"  WRONG: the largest difference is {error:.3g}"
                wrong += 1
        print(line + billions, flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
