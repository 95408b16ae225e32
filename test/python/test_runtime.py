# SPDX-License-Identifier: Apache-2.0
"""Files of the runtime's own tests: what tern-runtime does, without the compiler."""

import asyncio
import os
import shutil
import subprocess
import sys
import threading
import unittest

import tern
from support import TestCase, values

MAKE_FILES = os.path.join(os.environ.get("TERN_BUILD", ""), "bin", "tern_make_test_files")


@unittest.skipUnless(os.path.exists(MAKE_FILES), "TERN_BUILD has no tern_make_test_files")
class RuntimeTest(TestCase):
    def setUp(self):
        super().setUp()
        subprocess.run([MAKE_FILES, self.folder], check=True)

    def test_functions(self):
        for name in ("m.so", "m.tern"):
            kernels = tern.load(self.folder / name)
            self.assertEqual(kernels.signature("add"), "add(A: float32[n], B: float32[n], C: float32[n] (written))")
            self.assertEqual(values(kernels.add(tern.tensor([1.0, 2]), tern.tensor([3.0, 4]))), [4, 6])
            self.assertEqual(tern.inspect(self.folder / name)["format"], name.rpartition(".")[2])
            self.fails(ValueError, "explain it where it is compiled", kernels.explain)
            self.fails(ValueError, "loaded from a file", kernels.source)

    def test_functions_outlive_their_module(self):
        add = tern.load(self.folder / "m.so").add
        self.assertEqual(values(add(tern.tensor([1.0]), tern.tensor([2.0]))), [3.0])

    def test_models(self):
        model = tern.load(self.folder / "outputs.tern")
        y, z = model(tern.tensor([1.0, 2.0, 3.0, 4.0]))
        self.assertEqual((y.shape, z.shape), ((4,), (4,)))
        only = model.session(outputs=["z"])(tern.tensor([1.0, 2.0, 3.0, 4.0]))
        self.assertEqual(values(only), values(z))
        session = model.session()
        out = tern.empty(4)
        results = session.run({"x": [1.0, 2.0, 3.0, 4.0]}, out={"z": out})
        self.assertIs(results["z"], out)
        self.assertEqual(values(out), values(z))
        self.fails(tern.TimeoutError, "", model.session(timeout=1e-9), [1.0] * 4)
        self.assertFalse(session.cancel())

    def test_cancelled_task(self):
        model = tern.load(self.folder / "model.tern")

        async def main():
            task = asyncio.ensure_future(model.run_async(tern.tensor([1.0] * 4)))
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(main())

    def test_altered_files(self):
        for name in ("altered.so", "short_model.tern"):
            self.fails(tern.Error, name, tern.load, self.folder / name)

    def test_threads_share_a_session(self):
        """A second run at the same time is an error of Tern, and nothing else."""
        session = tern.load(self.folder / "model.tern").session()
        wrong = []

        def work():
            for _ in range(100):
                try:
                    session([1.0] * 4)
                except tern.Error:
                    pass
                except BaseException as error:
                    wrong.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_exit_with_everything_alive(self):
        """Objects that live until the interpreter ends are freed in any order."""
        script = f"""
import tern
model = tern.load({str(self.folder / 'model.tern')!r})
kernels = tern.load({str(self.folder / 'm.so')!r})
add, session = kernels.add, model.session()
x = tern.tensor([1.0] * 4)
y = session(x)
capsule, view = y.__dlpack__(), memoryview(x)
lent = tern.from_dlpack(bytearray(8))
"""
        subprocess.run([sys.executable, "-X", "dev", "-c", script], check=True)

    def test_entry_points(self):
        """Plugins of other packages are searched where these say."""
        package = self.folder / "site" / "npu-1.dist-info"
        package.mkdir(parents=True)
        (package / "METADATA").write_text("Metadata-Version: 2.1\nName: npu\nVersion: 1\n")
        (package / "entry_points.txt").write_text(
            "[tern.backends]\nnpu = npu_package:folder\nbroken = npu_package:nothing\n"
        )
        (self.folder / "site" / "npu_package.py").write_text("def folder():\n    return '/somewhere/npu'\n")
        shutil.copy(self.folder / "m.so", self.folder / "site")
        script = """
import os, warnings
import tern
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tern.load("m.so")
assert os.environ["TERN_BACKEND_PATH"].split(":")[-1] == "/somewhere/npu", os.environ["TERN_BACKEND_PATH"]
assert "entry point broken of tern.backends" in str(caught[0].message), caught
"""
        environment = {**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{self.folder / 'site'}"}
        subprocess.run([sys.executable, "-c", script], check=True, cwd=self.folder / "site", env=environment)


if __name__ == "__main__":
    unittest.main()
