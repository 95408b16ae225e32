# SPDX-License-Identifier: Apache-2.0
import unittest

import tern
from support import TestCase, needs_compiler, values
from tern.lang import alloc, block, grid, init, parallel, reduce, spatial

WIDTH = 3


@needs_compiler
class LanguageTest(TestCase):
    def matmul(self):
        @tern.kernel
        def matmul(A: tern.float32["n", "k"], B: tern.float32["k", "m"], C: tern.float32["n", "m"]):
            """C = A * B"""
            for i, j, l in grid(n, m, k):  # noqa: F821
                with block("matmul", vi=spatial(n, i), vj=spatial(m, j), vk=reduce(k, l)):  # noqa: F821
                    with init():
                        C[vi, vj] = 0  # noqa: F821
                    C[vi, vj] += A[vi, vk] * B[vk, vj]  # noqa: F821

        return matmul

    def test_matmul(self):
        matmul = self.matmul()
        a, b = tern.tensor([[1.0, 2], [3, 4], [5, 6]]), tern.tensor([[1.0, 0, 2], [0, 1, 3]])
        expected = [[1, 2, 8], [3, 4, 18], [5, 6, 28]]
        self.assertEqual(values(matmul(a, b)), expected)
        self.assertEqual(matmul.__doc__, "C = A * B")
        self.assertIn("for i in 0..n, j in 0..m, l in 0..k", matmul.text)
        self.assertIn("for l in 0..k", matmul.show())
        schedule = matmul.schedule
        self.assertEqual(schedule.split("i", 2), ("i_0", "i_1"))
        jo, ji = schedule.split("j", 2, names=("jo", "ji"), tail="mask")
        schedule.reorder("i_0", jo, "l", "i_1", ji)
        self.assertIn("i_0, i_1 = split(i, 2)\n  jo, ji = split(j, 2, tail = mask)", schedule.text())
        self.assertIn("for i_0", matmul.show())
        self.assertEqual(values(matmul(a, b)), expected)
        self.fails(tern.Error, "nothing", schedule.split, "nothing", 2)
        self.fails(tern.Error, "splt", schedule.splt, "l", 2)
        self.assertEqual(len(schedule.steps), 3)
        self.assertEqual(schedule.undo(), "reorder(i_0, jo, l, i_1, ji)")
        schedule.reorder("i_0", "l", jo)  # as many steps as before, and another kernel
        self.assertEqual(values(matmul(a, b)), expected)
        self.assertEqual(len(matmul._compiled), 3)
        self.assertEqual(len(matmul.bench(repeat=2, dims={"n": 4, "k": 5, "m": 6}).times), 2)
        self.assertIn("matmul", matmul.explain())
        exe = tern.compile(matmul)
        exe.save(self.folder / "matmul.so")
        self.assertEqual(values(tern.load(self.folder / "matmul.so").matmul(a, b)), expected)

    def test_statements(self):
        @tern.kernel(reassociate=True)
        def mixed(A: tern.float32["n"], s: tern.int64, B: tern.float32["n"]):
            for i in parallel(n):  # noqa: F821
                x = A[i] if i % 2 == 0 else -A[i]
                t = alloc(tern.float32[1], scope="local")
                t[0] = tern.exp(x - x) + float32(s)  # noqa: F821
                if i < WIDTH and not (s == 100):
                    t[0] = t[0] + 1.0
                elif i == WIDTH:
                    t[0] *= 2
                else:
                    pass
                k = alloc(tern.int64[1], scope="local")
                k[0] = 0
                while k[0] < 2:
                    t[0] += 0.5
                    k[0] += 1
                B[i] = max(t[0], 0.0) ** 1.0

        result = mixed(tern.tensor([1.0] * 5), 1)
        self.assertEqual(values(result), [4, 4, 4, 5, 3])
        self.assertIn("attrs {reassociate = true}", mixed.text)

    def test_errors_have_python_places(self):
        with self.assertRaises(tern.ParseError) as caught:

            @tern.kernel
            def wrong(A: tern.float32["n"]):
                for i in range(n):  # noqa: F821
                    A[i] = 1.0 + C[i]  # noqa: F821

        message = str(caught.exception)
        with open(__file__) as file:
            line = next(i for i, text in enumerate(file, 1) if "1.0 + C[i]  #" in text)
        self.assertIn(f"test_language.py:{line}:34: error: 'C' is not defined", message)
        self.assertIn("A[i] = 1.0 + C[i]", message)
        self.assertRegex(message, r"\n +\^")

    def test_what_is_no_kernel(self):
        def no_type(A):
            A[0] = 1

        def chain(A: tern.float32[4]):
            for i in range(4):
                if 0 < i < 3:
                    A[i] = 1

        def reassigned(A: tern.float32[4]):
            x = 1.0
            x = 2.0
            A[0] = x

        def loop(A: tern.float32[4]):
            for i in A:
                A[i] = 1

        def defaults(A: tern.float32[4] = None):
            A[0] = 1

        def unknown_type(A: "complex64[4]"):  # noqa: F722, F821
            A[0] = 1

        def returns(A: tern.float32[4]):
            return A

        for function, text in (
            (no_type, "parameter A has no type"),
            (chain, "comparisons do not chain"),
            (reassigned, "'x' has a value already"),
            (loop, "a loop is over range, grid"),
            (defaults, "plain parameters"),
            (unknown_type, "'complex64' is no type"),
            (returns, "return is no statement"),
        ):
            with self.subTest(function=function.__name__):
                self.fails(tern.ParseError, text, tern.kernel, function)
                self.fails(tern.ParseError, "test_language.py:", tern.kernel, function)

    def test_lang_is_not_called(self):
        self.fails(TypeError, "inside of a kernel", grid, 3)


@needs_compiler
class BuilderTest(TestCase):
    def test_matmul_with_epilogue(self):
        A = tern.placeholder("A", "float32", "n", "k")
        B = tern.placeholder("B", "float32", "k", "m")
        bias = tern.placeholder("bias", "float32", "m")
        l = tern.reduce_axis("k", "l")
        product = tern.compute("product", ("n", "m"), lambda i, j: tern.sum(A[i, l] * B[l, j], l))
        result = tern.compute("result", ("n", "m"), lambda i, j: tern.maximum(product[i, j] + bias[j], 0.0))
        kernel = tern.build("linear", [A, B, bias], [result])
        a, b = tern.tensor([[1.0, -2], [3, 4]]), tern.tensor([[1.0, 0, 2], [0, 1, 3]])
        out = kernel(a, b, tern.tensor([0.5, 0.5, 0.5]))
        self.assertEqual(values(out), [[1.5, 0, 0], [3.5, 4.5, 18.5]])
        self.assertIn("block product", kernel.text)
        kernel.schedule.split("product.i", 2)
        self.assertEqual(values(kernel(a, b, tern.tensor([0.5, 0.5, 0.5]))), [[1.5, 0, 0], [3.5, 4.5, 18.5]])

    def test_reductions_and_selects(self):
        A = tern.placeholder("A", "float32", "n", "m")
        j = tern.reduce_axis("m", "j")
        most = tern.compute("most", ("n",), lambda i: tern.max_over(A[i, j], j))
        sign = tern.compute("sign", ("n",), lambda i: tern.where(most[i] >= 2.0, 1, -1).astype("int32"))
        kernel = tern.build("signs", [A], [most, sign])
        most_values, sign_values = kernel(tern.tensor([[1.0, 5, 2], [1, -1, 0]]))
        self.assertEqual((values(most_values), values(sign_values)), ([5, 1], [1, -1]))
        self.fails(TypeError, "2 axes, 1", lambda: A[0])
        self.fails(ValueError, "given twice", tern.build, "f", [A, A], [most])


if __name__ == "__main__":
    unittest.main()
