# SPDX-License-Identifier: Apache-2.0
import asyncio
import threading
import unittest

import tern
from support import MODELS, TestCase, is_full, needs_compiler, needs_numpy, numpy

try:
    import torch
except ImportError:
    torch = None


@needs_compiler
@needs_numpy
class ModelsTest(TestCase):
    @classmethod
    def setUpClass(cls):
        if tern._tern is None or numpy is None:
            return
        cls.exe = tern.compile(MODELS / "mnist.onnx")
        cls.image = numpy.load(MODELS / "mnist.image.npy")
        cls.scores = numpy.load(MODELS / "mnist.scores.npy")

    def right(self, scores):
        numpy.testing.assert_allclose(numpy.asarray(scores), self.scores, rtol=1e-4, atol=1e-4)

    def test_calls(self):
        self.right(self.exe(self.image))
        self.right(self.exe(image=self.image))
        self.right(self.exe(self.image.tolist()))
        self.right(self.exe.session(threads=1).run({"image": self.image})["scores"])
        out = numpy.zeros_like(self.scores)
        self.exe.session()(self.image, out={"scores": out})
        self.right(out)
        self.assertEqual(repr(self.exe.inputs), "[image: float32[1, 1, 28, 28]]")

    def test_save_and_load(self):
        for name in ("m.so", "m.tern"):
            self.exe.save(self.folder / name)
            info = tern.inspect(self.folder / name)
            self.assertEqual(info["model"]["outputs"], [{"name": "scores", "dtype": "float32", "shape": ["1", "10"]}])
            self.right(tern.load(self.folder / name)(self.image))

    def test_bytes(self):
        data = bytearray((MODELS / "mnist.onnx").read_bytes())
        exe = tern.compile(data)
        data[:] = bytes(len(data))  # are copied
        del data
        self.right(exe(self.image))

        class Proto:  # as onnx.ModelProto
            def SerializeToString(self):
                return (MODELS / "mnist.onnx").read_bytes()

        self.right(tern.compile(Proto(), inputs={"image": self.image})(self.image))

    def test_ahead_of_time(self):
        """For browsers: a file, and nothing that runs here."""
        model = tern.compile(MODELS / "mnist.onnx", target="c", executor="aot")
        model.save(self.folder / "mnist.tern")
        self.assertTrue((self.folder / "mnist.tern").stat().st_size > 24008)
        self.fails(tern.Error, "the executor aot is a .tern file here", model.save, self.folder / "mnist.so")
        self.fails(tern.Error, "no program for the runtime", model, self.image)
        self.fails(tern.Error, "expected vm or aot", tern.compile, MODELS / "mnist.onnx", executor="jit")

    def test_precision(self):
        narrow = tern.compile(MODELS / "mnist.onnx", precision="fp16")(self.image)
        self.assertEqual(numpy.asarray(narrow).dtype, numpy.float32)
        error = numpy.abs(numpy.asarray(narrow) - self.scores).max() / numpy.ptp(self.scores)
        self.assertTrue(0 < error < 0.01, error)
        self.fails(tern.Error, "expected fp16, bf16, mixed or tf32", tern.compile, MODELS / "mnist.onnx", precision="int8")

    def test_errors(self):
        self.fails(TypeError, "no input 'imag', did you mean 'image'?", self.exe, imag=self.image)
        self.fails(TypeError, "input image: float32[1, 1, 28, 28] is missing", self.exe)
        self.fails(TypeError, "has 1 inputs, 2 were given", self.exe, self.image, self.image)
        self.fails(tern.Error, "image", self.exe, self.image[:, :, :5])
        self.fails(tern.Error, "image", self.exe, self.image.astype("float64"))
        self.fails(TypeError, "no output 'score'", self.exe.session(), self.image, out={"score": self.scores})
        self.fails(ValueError, "denormals", self.exe.session, denormals="never")
        self.fails(tern.Error, "images", tern.compile, MODELS / "mnist.onnx", inputs={"images": (1, 1, 28, 28)})
        self.fails(tern.Error, "model", tern.compile, b"no model")
        self.fails(tern.TimeoutError, "", self.exe.session(timeout=1e-9), self.image)

    def test_threads(self):
        failures = []

        def work():
            for _ in range(20):
                try:
                    self.right(self.exe(self.image))
                except BaseException as error:
                    failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_async(self):
        async def main():
            results = await asyncio.gather(*[self.exe.run_async(self.image) for _ in range(3)])
            for scores in results:
                self.right(scores)

        asyncio.run(main())

    def test_profile_and_explain(self):
        profile = self.exe.profile(self.image, repeat=2)
        self.assertIn("us a run", repr(profile))
        self.assertIn("<table>", profile._repr_html_())
        self.assertTrue(all(calls == 1 for _, calls, _ in profile.rows[:-1]))
        report = self.exe.explain()
        self.assertIn("calls of", report)
        self.assertIn("srcdoc", report._repr_html_())
        self.assertIn("schedule", self.exe.explain(kernel=profile.rows[0][0].replace("_prepared", "")))
        self.assertIn("calls of", tern.explain(MODELS / "mnist.onnx", target="opencl"))

    def test_dims(self):
        exe = tern.compile(MODELS / "transformer.onnx")
        ids = numpy.load(MODELS / "transformer.input_ids.npy")
        mask = numpy.load(MODELS / "transformer.attention_mask.npy")
        expected = numpy.load(MODELS / "transformer.hidden.npy")
        results = exe.session().run({"input_ids": ids, "attention_mask": mask})
        numpy.testing.assert_allclose(results["hidden"].numpy(), expected, rtol=1e-3, atol=1e-3)
        only = exe.session(outputs=["hidden"])(ids, mask)
        numpy.testing.assert_allclose(only.numpy(), expected, rtol=1e-3, atol=1e-3)
        self.assertEqual(exe.specializations(), [])

    def test_specialize(self):
        ids = numpy.load(MODELS / "transformer.input_ids.npy")
        mask = numpy.load(MODELS / "transformer.attention_mask.npy")
        expected = numpy.load(MODELS / "transformer.hidden.npy")
        dims = dict(zip(("batch", "tokens"), ids.shape))
        for when in ("lazy", "eager"):
            exe = tern.compile((MODELS / "transformer.onnx").read_bytes(), specialize=when)
            session = exe.session(outputs=["hidden"])
            for _ in range(3):
                numpy.testing.assert_allclose(session(ids, mask).numpy(), expected, rtol=1e-3, atol=1e-3)
                states = [(one["dims"], one["state"]) for one in exe.specializations(wait=True)]
            self.assertEqual(states, [(dims, "ready")])
        with self.assertRaisesRegex(tern.ValueError, "expected off, lazy or eager"):
            tern.compile(MODELS / "transformer.onnx", specialize="always")


@needs_compiler
@unittest.skipUnless(torch, "torch is not installed")
class TorchTest(TestCase):
    def test_kernel_without_copies(self):
        exe = tern.compile("func double(A: float32[n], B: float32[n]) { for i in 0..n { B[i] = A[i] * 2 } }\n")
        a = torch.arange(5, dtype=torch.float32)
        b = torch.zeros(5)
        exe.double(a, b)
        self.assertEqual(b.tolist(), [0, 2, 4, 6, 8])
        result = torch.from_dlpack(exe.double(b))
        self.assertEqual(result.tolist(), [0, 4, 8, 12, 16])
        tensor = tern.from_dlpack(a)
        self.assertEqual(torch.from_dlpack(tensor).data_ptr(), a.data_ptr())

    def test_module(self):
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Linear(7, 13), torch.nn.GELU(), torch.nn.Linear(13, 3)).eval()
        x = torch.randn(5, 7)
        exe = tern.compile(module, inputs=x)
        path = self.folder / "module.so"
        exe.save(path)
        for model in (exe, tern.load(path)):
            with torch.no_grad():
                torch.testing.assert_close(torch.from_dlpack(model(x)), module(x), rtol=1e-4, atol=1e-4)
        self.fails(TypeError, "give inputs=", tern.compile, module)

    def test_exported_program(self):
        try:
            import onnxscript  # noqa: F401
        except ImportError:
            self.skipTest("onnxscript is not installed")
        module = torch.nn.Linear(4, 3).eval()
        x = torch.randn(2, 4)
        exe = tern.compile(torch.export.export(module, (x,)))
        with torch.no_grad():
            torch.testing.assert_close(torch.from_dlpack(exe(x)), module(x), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    unittest.main()
