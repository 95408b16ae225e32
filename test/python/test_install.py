# SPDX-License-Identifier: Apache-2.0
"""A person's path: the wheels in clean environments, a model from one to the other, and a notebook."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import MODELS, ROOT, TestCase, is_full, needs_compiler

BUILD = os.environ.get("TERN_BUILD")


CPP_PROGRAM = """
#include <cstdio>
#include <vector>

#include "tern/runtime/c_api.h"

int main(int, char** argv) {
  TernModel* model;
  TernSession* session;
  TernPort port;
  TernObject *image, *scores = nullptr;
  TernTensorView* view;
  if (tern_model_load(argv[1], &model) || tern_session_create(model, &session) || tern_model_input(model, 0, &port) ||
      tern_tensor_make(port.shape, port.ndim, port.dtype, {kTernDeviceCpu, 0}, &image) ||
      tern_tensor_get_view(image, &view))
    return std::puts(tern_last_error()), 1;
  for (int i = 0; i < 28 * 28; ++i) static_cast<float*>(view->data)[i] = 0.5f;
  if (tern_session_run(session, &image, 1, &scores, 1) || tern_tensor_get_view(scores, &view))
    return std::puts(tern_last_error()), 1;
  std::printf("scores of %d\\n", static_cast<int>(view->shape[1]));
}
"""


def run(*command, **options):
    """Runs a command; where it fails, its output is the message."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TERN_TEST"))}
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        **options,
    )
    if done.returncode != 0:
        raise AssertionError(f"{command}:\n{done.stdout}")
    return done.stdout


@unittest.skipUnless(is_full(), "./dev test --full installs the wheels")
@unittest.skipUnless(BUILD, "TERN_BUILD is not set")
@needs_compiler
class InstallTest(TestCase):
    def venv(self, name):
        folder = self.folder / name
        try:
            run(sys.executable, "-m", "venv", folder)
        except AssertionError as error:
            self.skipTest(f"no venv can be made (python3-venv): {error}")
        return folder / "bin"

    def install(self, folder, project, *options):
        run(
            folder / "pip", "install", "--no-index", "--no-build-isolation",
            "--config-settings", f"build-dir={BUILD}", *options, project,
        )  # fmt: skip

    def test_from_one_environment_to_another(self):
        compiler = self.venv("compiler")
        self.install(compiler, ROOT)
        model = self.folder / "mnist.so"
        script = f"""
import tern
exe = tern.compile({str(MODELS / "mnist.onnx")!r})
exe.save({str(model)!r})
print(tern.__version__, exe)
"""
        self.assertIn("tern.Model", run(compiler / "python", "-c", script, cwd=self.folder))
        self.assertIn("default host", run(compiler / "tern", "targets"))
        for test in ("tensor", "runtime", "models", "kernels", "language"):
            run(compiler / "python", ROOT / "test" / "python" / f"test_{test}.py", cwd=self.folder)

        runtime = self.venv("runtime")
        self.install(runtime, ROOT / "python" / "runtime")
        script = f"""
import tern
model = tern.load({str(model)!r})
image = tern.empty(model.inputs[0].shape)
memoryview(image).cast("B")[:] = bytes(image.nbytes)
print(model(image).shape)
try:
    tern.compile("x.onnx")
except tern.CompilerNotInstalled as error:
    print(error)
"""
        run(runtime / "python", ROOT / "test" / "python" / "test_tensor.py", cwd=self.folder)
        output = run(runtime / "python", "-c", script, cwd=self.folder)
        self.assertIn("(1, 10)", output)
        self.assertIn("the package tern has the compiler", output)
        self.assertIn("scores", run(runtime / "tern-run", model))
        size = sum(f.stat().st_size for f in (self.folder / "runtime").rglob("*tern*") if f.is_file())
        self.assertLess(size, 8 << 20)

    def test_from_python_to_cpp(self):
        """A model that Python saved, in a program that finds Tern with CMake."""
        import tern

        tern.compile(MODELS / "mnist.onnx").save(self.folder / "mnist.so")
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(Person LANGUAGES CXX)\n"
            "find_package(Tern REQUIRED COMPONENTS Runtime)\nadd_executable(person person.cc)\n"
            "target_link_libraries(person PRIVATE Tern::Runtime)\n"
        )
        (self.folder / "person.cc").write_text(CPP_PROGRAM)
        prefix = self.folder / "prefix"
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", "Runtime")
        run("cmake", "-G", "Ninja", "-S", self.folder, "-B", self.folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", self.folder / "build")
        self.assertIn("scores of 10", run(self.folder / "build" / "person", self.folder / "mnist.so"))

    def test_source_distribution(self):
        sys.path.insert(0, str(ROOT / "python" / "build_backend"))
        import tarfile

        import tern_build

        name = tern_build.build_sdist(str(self.folder))
        with tarfile.open(self.folder / name) as archive:
            names = archive.getnames()
        self.assertTrue(any(entry.endswith("/pyproject.toml") for entry in names))
        self.assertTrue(any(entry.endswith("/tern/compile.cc") for entry in names))


class NotebookTest(unittest.TestCase):
    @needs_compiler
    def test_cells(self):
        """The cells of the example, one after another; what they show is asked for as a notebook would."""
        notebook = json.loads((ROOT / "examples" / "python" / "first_steps.ipynb").read_text())
        names = {"__name__": "__main__"}
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for number, cell in enumerate(notebook["cells"]):
                    if cell["cell_type"] == "code":
                        self.execute(f"cell{number}.py", "".join(cell["source"]), names)
            finally:
                os.chdir(before)

    def execute(self, name, text, names):
        import ast

        # Kernels are read from their source, which a notebook keeps in files too.
        pathlib.Path(name).write_text(text)
        tree = ast.parse(text, os.path.abspath(name))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, os.path.abspath(name), "exec"), names)
        if last is not None:
            shown = eval(compile(ast.Expression(last.value), name, "eval"), names)
            if hasattr(shown, "_repr_html_"):
                self.assertTrue(shown._repr_html_())


class ScriptsTest(unittest.TestCase):
    @needs_compiler
    def test_examples(self):
        environment = {**os.environ, "TERN_MODELS": str(MODELS)}
        for script in sorted((ROOT / "examples" / "python").glob("*.py")):
            with self.subTest(script=script.name), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [sys.executable, str(script)], cwd=folder, env=environment, capture_output=True, text=True
                )
                if done.returncode == 77:
                    continue  # said what it needs
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class StubsTest(unittest.TestCase):
    def test_stubs_name_everything(self):
        import ast

        import tern

        tree = ast.parse((ROOT / "python" / "tern" / "__init__.pyi").read_text())
        named = set()
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                named.add(node.name)
            elif isinstance(node, ast.AnnAssign):
                named.add(node.target.id)
            elif isinstance(node, ast.ImportFrom):
                named.update(alias.asname or alias.name for alias in node.names)
        self.assertEqual(set(tern.__all__) - named, set())

    def test_mypy(self):
        try:
            from mypy import api
        except ImportError:
            self.skipTest("mypy is not installed")
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.py"
            program.write_text(
                "import tern\n"
                "exe = tern.compile('m.onnx', target='llvm')\n"
                "exe.save('m.so'); exe.add(1)\n"
                "model = tern.load('m.so')\n"
                "t: tern.Tensor = tern.empty((2, 3), 'float32')\n"
                "shape: tuple[int, ...] = t.shape\n"
                "bad: int = tern.inspect('m.so')\n"
            )
            output, errors, _ = api.run(["--strict", "--cache-dir", folder, str(program)])
        lines = [line for line in output.splitlines() if ": error:" in line]
        self.assertEqual(len(lines), 1, output + errors)
        self.assertIn(":7:", lines[0])


if __name__ == "__main__":
    unittest.main()
