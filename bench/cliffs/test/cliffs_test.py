#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cliffs_test.py BINARIES TARGET: every family of `./dev bench cliffs` at small sizes, on TARGET beside the interpreter, and beside numpy where
this Python has it; and the machinery."""
import concurrent.futures
import contextlib
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import driver  # pylint: disable=wrong-import-position
import generate  # pylint: disable=wrong-import-position
import onnx_model  # pylint: disable=wrong-import-position
import report  # pylint: disable=wrong-import-position
import run  # pylint: disable=wrong-import-position
import sweep  # pylint: disable=wrong-import-position
from workload import NARROW, Draw  # pylint: disable=wrong-import-position

BINARIES, TARGET = sys.argv[1:3]
TERN = os.path.join(BINARIES, "tern")
EACH = 3  # pairs of a family

try:
    import numpy
    import numpy_reference
except ImportError:
    numpy = None
try:
    import onnxruntime
except ImportError:
    onnxruntime = None


def save_indices(path, shape, fill):
    """Indices as a file of NumPy's, without NumPy."""
    kind, _, limit = fill.partition(":")
    count = 1
    for extent in shape:
        count *= extent
    source = random.Random(1)
    values = source.sample(range(count), count) if kind == "unique" else [source.randrange(int(limit)) for _ in range(count)]
    extents = "".join(f"{int(extent)}, " for extent in shape)
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({extents}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{count}q", *values))


def execute(workload, folder):
    """Runs the program and compares it with the interpreter; all tensors are in files then."""
    base = os.path.join(folder, workload.name)
    with open(base + ".tir", "w", encoding="utf-8") as file:
        file.write(workload.program)
    command = [TERN, "run", base + ".tir", "-t", TARGET, "--check", "interp"]
    dims = {}
    for tensor in [*workload.inputs, *workload.outputs]:
        dims |= {extent.name: int(extent) for extent in tensor.shape if extent.name and extent.name.isidentifier()}
        if ":" in tensor.fill:
            save_indices(f"{base}.{tensor.name}.in.npy", tensor.shape, tensor.fill)
            command += ["--input", f"{tensor.name}={base}.{tensor.name}.in.npy"]
        elif tensor.fill == "unit":  # a variance
            command += ["--input", f"{tensor.name}=ones"]
        command += ["--output", f"{tensor.name}={base}.{tensor.name}.npy"]
    for name, value in dims.items():
        command += ["--dim", f"{name}={value}"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def load(base, tensor):
    array = numpy.load(f"{base}.{tensor.name}.npy")
    return array.astype("float32") if tensor.dtype in NARROW else array


class FamiliesTest(unittest.TestCase):
    def test_every_family_is_computed_right(self):
        workloads = []
        for number, family in enumerate(generate.FAMILIES):
            for which in range(EACH):
                for dynamic in (False, True):
                    made = generate.make(family, f"test/{number}/{which}", dynamic, "tiny")
                    made.name = f"{family.__name__}.{which}.{dynamic}"
                    workloads.append(made)
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
            for workload, done in zip(workloads, pool.map(lambda workload: execute(workload, folder), workloads)):
                with self.subTest(workload.name, note=workload.note):
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr + workload.program)
                    if numpy:
                        self.compare(workload, os.path.join(folder, workload.name))
        if not numpy:
            self.skipTest("the interpreter agrees; to compare with numpy this Python needs it")

    def test_a_sweep(self):
        """One program for all sizes of a kernel; those of few rows are computed right."""
        made = sweep.pairs("cpu")
        for kernel in sweep.kernels("cpu"):
            self.assertEqual(len({one.program for one in made if one.note == kernel and one.dynamic}), 1, kernel)
        with tempfile.TemporaryDirectory() as folder:
            for workload in made:
                if workload.name in ("sweep.layer_norm.0003.dynamic", "sweep.layer_norm_nine_steps.0001.static", "sweep.conv1x1_64x28.0001.static"):
                    done = execute(workload, folder)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr + workload.program)
                    if numpy:
                        self.compare(workload, os.path.join(folder, workload.name))

    def test_a_sweep_of_other_sizes(self):
        """A seed says which, and all of a kernel have the same other extents."""
        first, again, other = (sweep.pairs("cpu", seed) for seed in ("5", "5", "6"))
        self.assertEqual([one.program for one in first], [one.program for one in again])
        self.assertNotEqual([one.program for one in first], [one.program for one in other])
        for kernel in sweep.kernels("cpu"):
            self.assertEqual(len({one.program for one in first if one.note == kernel and one.dynamic}), 1, kernel)

    def compare(self, workload, base):
        space = {"np": numpy} | vars(numpy_reference) | {tensor.name: load(base, tensor) for tensor in workload.inputs}
        expected = eval(workload.numpy, space)  # pylint: disable=eval-used
        actual = load(base, workload.outputs[0])
        self.assertEqual(actual.shape, expected.shape, workload.numpy)
        error = numpy.abs(actual.astype("float64") - expected).max() / max(numpy.abs(expected).max(), 1e-30)
        self.assertLessEqual(error, workload.tolerance, workload.numpy)

    def test_a_seed_says_it_all(self):
        first, again = generate.draw_workloads("7", 30, "cpu"), generate.draw_workloads("7", 40, "cpu")
        self.assertEqual([one.program for one in first], [one.program for one in again[:30]])
        self.assertNotEqual([one.program for one in first], [one.program for one in generate.draw_workloads("8", 30, "cpu")])
        self.assertEqual([one.dynamic for one in first[:4]], [False, True, False, True])
        self.assertEqual({family.__name__ for family in generate.FAMILIES} - {"gather"}, {one.family for one in generate.draw_workloads("7", 300, "cpu")} - {"gather", "scatter"})

    def test_variants_have_the_same_sizes(self):
        made = generate.draw_workloads("3", 120, "cuda")
        for static, dynamic in zip(made[::2], made[1::2]):
            self.assertEqual(static.to_json()["inputs"], dynamic.to_json()["inputs"])
            self.assertIn("[n", dynamic.program)
            self.assertEqual(static.torch, dynamic.torch)

    def test_sizes_are_spread(self):
        draw = Draw(1, False, 1 << 20, 1e9)
        sizes = [draw.size(1, 8192) for _ in range(2000)]
        self.assertTrue(all(1 <= size <= 8192 for size in sizes))
        self.assertGreater(sum(size < 90 for size in sizes), 800)
        self.assertGreater(sum(size % 8 != 0 for size in sizes), 600)


class ModelsTest(unittest.TestCase):
    def test_every_family_has_a_model(self):
        families = set()
        for workload in generate.draw_workloads("9", 200, "tiny")[::2]:
            with self.subTest(workload.name, note=workload.note):
                try:
                    model = onnx_model.build(workload.to_json())
                except onnx_model.Unsupported as error:
                    self.assertIn("cummax", str(error))
                    continue
                families.add(workload.family)
                if numpy and onnxruntime and not any(tensor.dtype == "bfloat16" for tensor in workload.inputs):
                    self.compare(workload, model)
        self.assertEqual(families, {one.family for one in generate.draw_workloads("9", 200, "tiny")})
        if not (numpy and onnxruntime):
            self.skipTest("models are made; to run them this Python needs onnxruntime and numpy")

    def compare(self, workload, model):
        source, arrays = numpy.random.default_rng(1), {}
        for tensor in workload.inputs:
            kind, _, limit = tensor.fill.partition(":")
            made = (source.integers(0, int(limit), tensor.shape) if kind == "below" else source.permutation(int(limit)) if kind == "unique"
                    else source.integers(-128, 128, tensor.shape) if tensor.dtype.startswith("int") else source.random(tensor.shape))
            arrays[tensor.name] = made.astype(tensor.dtype)
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        try:
            actual = session.run(None, arrays)[0]
        except Exception as error:  # pylint: disable=broad-except
            self.fail(f"{error}: {workload.torch}")
        wide = {name: array.astype("float32") if array.dtype == "float16" else array for name, array in arrays.items()}
        expected = eval(workload.numpy, {"np": numpy} | vars(numpy_reference) | wide)  # pylint: disable=eval-used
        self.assertEqual(actual.shape, expected.shape, workload.torch)
        error = numpy.abs(actual.astype("float64") - expected).max() / max(numpy.abs(expected).max(), 1e-30)
        self.assertLessEqual(error, max(4 * workload.tolerance, 1e-3), workload.torch)

    def test_what_onnx_lacks_is_named(self):
        workload = generate.draw_workloads("1", 1, "tiny")[0].to_json()
        for text, name in (("torch.cummax(A, 0).values", "torch.cummax"), ("A.frobnicate()", "Tensor.frobnicate"), ("torch.relu(A, A)", "2 were given")):
            with self.assertRaisesRegex(onnx_model.Unsupported, name):
                onnx_model.build(workload | {"torch": [text], "inputs": [{"name": "A", "dtype": "float32", "shape": [2]}]})


class MachineryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def drive(self, *arguments):
        command = [sys.executable, os.path.join(HERE, "..", "driver.py"), "--binaries", BINARIES, "--output", os.path.join(self.folder, "out"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def test_a_folder_for_a_device(self):
        # Where the compiler has no code for x86-64, each workload says so.
        done = self.drive("--device", "cuda", "--count", "2", "--prepare", os.path.join(self.folder, "gpu"), "--runtime", self.runtime())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(self.folder, "gpu", "workloads.json"), encoding="utf-8") as file:
            made = json.load(file)["workloads"]
        self.assertEqual(len(made), 2)
        for workload in made:
            self.assertTrue(workload["failed"] or os.path.exists(os.path.join(self.folder, "gpu", "kernels", workload["name"] + ".tern")))
            self.assertTrue(workload["explain"])

    def runtime(self):
        """A build whose plugin need not be there."""
        path = os.path.join(self.folder, "build", "lib")
        os.makedirs(path)
        for name in ("libtern_runtime.so", "libtern_runtime_cuda.so"):
            with open(os.path.join(path, name), "w", encoding="utf-8"):
                pass
        return os.path.dirname(path)

    def test_a_device_is_elsewhere(self):
        done = self.drive("--device", "cuda", "--count", "0", "--runtime", self.runtime())
        self.assertEqual(done.returncode, 1)
        self.assertIn("--device cuda needs --prepare FOLDER", done.stderr)

    def test_what_is_not_compiled_is_said(self):
        workload = generate.draw_workloads("1", 1, "tiny")[0]
        workload.program = "func wrong("
        options = type("Options", (), {"device": "cpu", "cache": self.folder, "tern": TERN})
        os.makedirs(os.path.join(self.folder, "programs"))
        made = driver.compile_one(workload, options, TARGET, self.folder, "")
        self.assertIn("error", made["failed"])

    def test_a_run_goes_on(self):
        path = os.path.join(self.folder, "results.jsonl")
        workloads = [{"name": name, "key": "1"} for name in "abc"]
        self.assertEqual(run.read_results(path, workloads), ({}, None))
        for line in ('{"begin": "c"}', '{"name": "c", "key": "0"}', '{"begin": "a"}', '{"name": "a", "key": "1"}', '{"begin": "b"}', '{"name": "b"'):
            with open(path, "a", encoding="utf-8") as file:
                print(line, file=file)
        self.assertEqual(run.read_results(path, workloads), ({"a": {"name": "a", "key": "1"}}, "b"))

    def test_the_report(self):
        def entry(name, tern, **peers):
            return {"name": name, "key": "1", "status": "ok", "times": {"tern": tern, **peers}, "reasons": {}}

        workload = {"family": "scan", "key": "1", "note": "cumsum", "failed": None, "explain": ["scan (scan): no rule", "  not fuse_rows: it is no row", "  plan {x = 1}"]}
        names = ["001.scan.static", "001.scan.dynamic", "002.scan.static", "sweep.sum.0007.static", "sweep.sum.0007.dynamic"]
        with open(os.path.join(self.folder, "workloads.json"), "w", encoding="utf-8") as file:
            json.dump({"device": "cpu", "target": "t", "seed": "1", "workloads": [workload | {"name": name} for name in names]}, file)
        for one in (entry(names[0], 4.0, torch=2.0, numpy=1.0, compiled=0.5), entry(names[1], 8.0, torch=2.0), entry(names[0], 1.0, torch=1.0),
                    entry(names[3], 2.0), entry(names[4], 3.0), entry(names[2], 1.0, torch=9.0) | {"key": "of another compiler"},
                    {"name": names[2], "key": "1", "status": "wrong", "times": {"tern": 1.0}, "reasons": {"tern": "off by 3"}}):
            run.append(os.path.join(self.folder, "results.jsonl"), one)
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            self.assertEqual(report.print_folder(self.folder), 1)
        self.assertIn("002.scan.static (cumsum): wrong: off by 3", text.getvalue())
        self.assertIn("all: 2, geomean 0.250, least 0.2500; 0.0% >= 0.6, 0.0% >= 0.4, 100.0% >= 0.25", text.getvalue())
        self.assertIn("torch.compile: 1, geomean 0.125", text.getvalue())
        self.assertIn("dynamic over static time, of 2 pairs: geomean 1.732", text.getvalue())
        self.assertRegex(text.getvalue(), r"sum +7: 1.50\n")
        self.assertIn("scan (scan): no rule; not fuse_rows: it is no row\n", text.getvalue())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
