# SPDX-License-Identifier: Apache-2.0
import asyncio
import os
import subprocess
import sys
import threading
import unittest

import tern
from support import ADD, KERNELS, TestCase, needs_compiler, needs_numpy, numpy, values


@needs_compiler
class KernelsTest(TestCase):
    def test_text(self):
        exe = tern.compile(ADD)
        self.assertEqual(exe.functions, ["add"])
        a, b, c = tern.tensor([1.0, 2, 3]), tern.tensor([10.0, 20, 30]), tern.empty(3)
        self.assertIsNone(exe.add(a, b, c))
        self.assertEqual(values(c), [11, 22, 33])
        self.assertEqual(values(exe.add(a, b)), [11, 22, 33])
        self.assertEqual(values(exe(B=b, A=a)), [11, 22, 33])
        self.assertEqual(values(exe["add"](a, B=b)), [11, 22, 33])
        self.assertEqual(exe.signature("add"), "add(A: float32[n], B: float32[n], C: float32[n] (written))")
        self.assertIn("add(A, B, C)", repr(exe.add))

    def test_save_and_load(self):
        for name in ("add.so", "add.tern"):
            path = self.folder / name
            tern.compile(ADD).save(path)
            info = tern.inspect(path)
            self.assertEqual(info["meta"]["functions"][0]["name"], "add")
            loaded = tern.load(path)
            self.assertEqual(values(loaded.add(tern.tensor([1.0]), tern.tensor([2.0]))), [3.0])
            self.fails(ValueError, "was loaded from a file", loaded.save, path)

    def test_another_machine(self):
        path = self.folder / "add.c"
        exe = tern.compile(KERNELS / "add.tir", target="c")
        exe.save(path)
        self.assertIn("add", path.read_text())
        self.assertIn("add", exe.source("c"))

    def test_scalars_and_results(self):
        exe = tern.compile("""
            func scale(A: float32[n], s: float32, k: int64, B: float32[n * k]) {
              for i in 0..n, j in 0..k { B[i * k + j] = A[i] * s }
            }
        """)
        self.assertEqual(values(exe.scale(tern.tensor([1.0, 2]), 2, 3)), [2, 2, 2, 4, 4, 4])
        self.assertEqual(values(exe.scale(tern.tensor([3.0]), 0.5, k=1)), [1.5])
        self.fails(TypeError, "argument 1 (s)", exe.scale, tern.tensor([1.0]), "x", 1, tern.empty(1))
        self.fails(TypeError, "argument 2 (k)", exe.scale, tern.tensor([1.0]), 1, 1.5, tern.empty(1))

    def test_errors(self):
        exe = tern.compile(ADD)
        a = tern.tensor([1.0, 2])
        self.fails(TypeError, "got float64 tensor", exe.add, a, tern.tensor([1.0, 2], "float64"), tern.empty(2))
        self.fails(ValueError, "expected extent 0 to be n = 2", exe.add, a, tern.empty(3), tern.empty(2))
        self.fails(TypeError, "argument 1 (B): expected an array", exe.add, a, [1, 2], a)
        self.fails(TypeError, "B is missing", exe.add, a)
        self.fails(TypeError, "has 3 parameters, 4 were given", exe.add, a, a, a, a)
        self.fails(TypeError, "no parameter 'D'", exe.add, a, D=a)
        self.fails(TypeError, "given twice", exe.add, a, A=a)
        self.fails(KeyError, "did you mean 'add'?", lambda: exe["ad"])
        with self.assertRaisesRegex(AttributeError, "the functions are add"):
            exe.sub
        self.fails(ValueError, "text:1:", tern.compile, "func add(A: float32[n]) { A[0] = B[0] }\n")
        self.fails(tern.ParseError, "'B' is not defined", tern.compile, "func add(A: float32[n]) { A[0] = B[0] }\n")
        self.fails(ValueError, "nonsense", tern.compile, ADD, target="nonsense")
        self.fails(TypeError, "no option fast", tern.compile, ADD, fast=True)
        self.fails(TypeError, "got int", tern.compile, 3)
        self.fails(ValueError, "tern.load reads compiled ones", tern.compile, "model.so")
        self.fails(ValueError, "inputs and dims are for models", tern.compile, ADD, inputs={"A": (3,)})
        self.fails(tern.Error, "nowhere.so", tern.load, "nowhere.so")
        self.fails(tern.Error, "nowhere.onnx", tern.compile, "nowhere.onnx")
        (self.folder / "bad.so").write_bytes(b"no file of Tern")
        self.fails(tern.Error, "bad.so", tern.load, self.folder / "bad.so")
        out_of_bounds = tern.compile(
            "func f(A: float32[n], i: int64) { A[i] = 0.0 }\n", bounds_checks=True
        )
        self.fails(IndexError, "A", out_of_bounds.f, tern.empty(2), 5)

    def test_many_parameters(self):
        names = [f"A{i}" for i in range(20)]
        text = f"func f({', '.join(f'{n}: float32[1]' for n in names)}) {{ A0[0] = {' + '.join(f'{n}[0]' for n in names[1:])} }}\n"
        exe = tern.compile(text)
        arrays = [tern.tensor([1.0]) for _ in names]
        exe.f(*arrays)
        self.assertEqual(values(arrays[0]), [19.0])

    def test_threads(self):
        exe = tern.compile(ADD)
        failures = []

        def work(number):
            a, b, c = tern.tensor([float(number)] * 64), tern.tensor([1.0] * 64), tern.empty(64)
            for _ in range(200):
                exe.add(a, b, c)
                if values(c) != [number + 1.0] * 64:
                    failures.append(number)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_async(self):
        exe = tern.compile(ADD)

        async def both():
            one = tern.tensor([1.0])
            return await asyncio.gather(exe.run_async(one, one), exe.run_async(one, tern.tensor([2.0])))

        self.assertEqual([values(t) for t in asyncio.run(both())], [[2.0], [3.0]])

    def test_explain_and_profile(self):
        exe = tern.compile(KERNELS / "matmul.tir")
        report = exe.explain()
        self.assertIn("matmul", report)
        self.assertTrue(report._repr_html_().startswith("<pre>"))
        timing = exe.profile(repeat=3, dims={"n": 8, "k": 8, "m": 8})
        self.assertEqual(len(timing.times), 3)
        self.assertIn("best", repr(timing))
        self.fails(ValueError, "give A, or the dims of float32[n, k]", exe.profile)

    def test_operators_of_other_packages(self):
        """A library that an entry point names and that is not there is a warning; others are loaded."""
        package = self.folder / "ops-1.dist-info"
        package.mkdir()
        (package / "METADATA").write_text("Metadata-Version: 2.1\nName: ops\nVersion: 1\n")
        (package / "entry_points.txt").write_text("[tern.operators]\nmy_ops = ops_package:folder\n")
        (self.folder / "ops_package.py").write_text("folder = '/nowhere/ops'\n")
        script = """
import warnings
import tern
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tern.compile("func f(A: float32[1]) { A[0] = 1.0 }\\n")
message = "".join(str(warning.message) for warning in caught)
assert "entry point my_ops of tern.operators" in message, message
assert "libtern_codegen_my_ops.so" in message and "/nowhere/ops" in message, message
"""
        environment = {**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{self.folder}"}
        subprocess.run([sys.executable, "-c", script], check=True, env=environment)

    def test_targets(self):
        kinds = tern.targets()
        self.assertIn("opencl", [kind["name"] for kind in kinds])
        self.assertIn("what it makes", repr(kinds))
        self.assertTrue(kinds.default_host)

    @needs_numpy
    def test_numpy(self):
        exe = tern.compile(ADD)
        a, b = numpy.arange(5, dtype="float32"), numpy.ones(5, "float32")
        c = numpy.zeros(5, "float32")
        exe.add(a, b, c)
        self.assertTrue((c == a + b).all())
        exe.add(c[:3], b[:3], a[:3])
        self.assertEqual(a.tolist(), [2, 3, 4, 3, 4])
        self.fails(ValueError, "expected", exe.add, a[::2], b[:3], c[:3])
        c.flags.writeable = False
        self.fails(ValueError, "argument 2 (C): the function writes to this array, and it is read-only", exe.add, a, b, c)


if __name__ == "__main__":
    unittest.main()
