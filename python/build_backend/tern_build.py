# SPDX-License-Identifier: Apache-2.0
"""A build backend (PEP 517, PEP 660) that calls CMake and needs nothing else.

Settings (pip install . --config-settings NAME=VALUE):
  build-dir=PATH  where CMake builds; one that exists is used as it is
  llvm=bundle     the wheel has libLLVM inside; otherwise it is that of the system
  jobs=N          of the build
"""

import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
_package = "tern"


def set_package(name):
    """Which package is built: tern, or tern-runtime."""
    global _package
    _package = name


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_sdist = get_requires_for_build_wheel


# ---- what is built


def version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(Tern VERSION ([\d.]+)", text).group(1)


def _is_free_threaded():
    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def _uses_abi3():
    return sys.version_info >= (3, 12) and not _is_free_threaded()


def _python_tag():
    if _uses_abi3():
        return "cp312-abi3"
    number = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    return f"{number}-{number}{'t' if _is_free_threaded() else ''}"


def _platform_tag(is_complete):
    """Of wheels that need a library of the system besides libc and libstdc++: linux_x86_64."""
    machine = platform.machine()
    name, libc = platform.libc_ver()
    if name != "glibc" or not is_complete:
        return f"linux_{machine}"
    return f"manylinux_{libc.replace('.', '_')}_{machine}"


def _run(*command):
    print("+", *command, flush=True)
    if subprocess.run(command).returncode != 0:
        raise SystemExit(f"{command[0]} failed; docs/python.md says what building Tern needs")


def _build(settings):
    """Builds the package; returns the folder of the build."""
    is_runtime = _package == "tern-runtime"
    folder = pathlib.Path(settings.get("build-dir") or ROOT / "build" / ("wheel-runtime" if is_runtime else "wheel"))
    if shutil.which("cmake") is None:
        raise SystemExit("cmake is not found: building Tern needs cmake, a C++20 compiler and LLVM 22 (./dev setup)")
    suffix = ".abi3.so" if _uses_abi3() else sysconfig.get_config_var("EXT_SUFFIX")
    is_made = (folder / "CMakeCache.txt").exists()
    arguments = [
        f"-DPython3_EXECUTABLE={sys.executable}",
        f"-DTERN_PYTHON_ABI3={'ON' if _uses_abi3() else 'OFF'}",
    ]
    if not is_made:
        arguments += ["-DCMAKE_BUILD_TYPE=Release", "-DTERN_TESTS=OFF"]
        arguments += ["-DTERN_COMPILER=OFF"] if is_runtime else []
        arguments += ["-GNinja"] if shutil.which("ninja") else []
    # A build for a Python of the same version and ABI is one for this Python.
    if not is_made or not (folder / "lib" / "python" / "tern" / f"_tern{suffix}").exists():
        _run("cmake", "-S", str(ROOT), "-B", str(folder), *arguments)
    targets = ["tern_python", "tern_plugins", "tern-run"] + ([] if is_runtime else ["tern"])
    jobs = settings.get("jobs") or str(os.cpu_count() or 1)
    _run("cmake", "--build", str(folder), "--parallel", jobs, "--target", *targets)
    return folder


def _stage(folder, stage, bundle_llvm):
    """The files of the wheel. Returns whether it needs no other library of the system."""
    is_runtime = _package == "tern-runtime"
    package = stage / "tern"
    (package / "lib").mkdir(parents=True)
    (package / "bin").mkdir()
    for source in sorted((ROOT / "python" / "tern").iterdir()):
        if source.suffix in (".py", ".pyi", ".typed") or source.name == "py.typed":
            shutil.copy(source, package / source.name)
    installed = stage.parent / "installed"
    for component in ["Python", "Runtime"] + ([] if is_runtime else ["Compiler"]):
        _run("cmake", "--install", str(folder), "--prefix", str(installed), "--component", component)
    for extension in (installed / "python" / "tern").iterdir():
        shutil.copy(extension, package / extension.name)
    for library in sorted(installed.glob("lib*/**/libtern_*.so")):
        shutil.copy(library, package / "lib" / library.name)
    for tool in ["tern-run"] + ([] if is_runtime else ["tern"]):
        shutil.copy(installed / "bin" / tool, package / "bin" / tool)
    shutil.rmtree(installed)
    if is_runtime:
        return True
    outside = _needed(package / "lib" / "libtern_compiler.so")
    if bundle_llvm:
        for name, path in outside.items():
            shutil.copy(path, package / "lib" / name)
    return bundle_llvm or not outside


# What every machine of a manylinux tag has.
_EVERYWHERE = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|tern_.*))\.so.*")


def _needed(library):
    """The libraries of the system that a library needs: name -> path."""
    text = subprocess.run(["ldd", str(library)], capture_output=True, text=True).stdout
    return {name: path for name, path in re.findall(r"(\S+) => (/\S+)", text) if not _EVERYWHERE.fullmatch(name)}


# ---- wheels


def _metadata():
    summary = {
        "tern": "A tensor compiler: kernels and ONNX models, on any machine, for any device, into one file",
        "tern-runtime": "The runtime of Tern: runs compiled kernels and models",
    }[_package]
    readme = (ROOT / "README.md").read_text()
    return (
        f"Metadata-Version: 2.1\nName: {_package}\nVersion: {version()}\nSummary: {summary}\n"
        f"License: Apache-2.0\nRequires-Python: >=3.11\nDescription-Content-Type: text/markdown\n\n{readme}"
    )


def _entry_points():
    scripts = ["tern-run = tern._command:run_runtime"]
    if _package == "tern":
        scripts.append("tern = tern._command:run_compiler")
    return "[console_scripts]\n" + "\n".join(scripts) + "\n"


class _Wheel:
    """A wheel being written; the same files give the same bytes."""

    def __init__(self, folder, tag):
        distribution = _package.replace("-", "_")
        self.name = f"{distribution}-{version()}-{tag}.whl"
        self.info = f"{distribution}-{version()}.dist-info"
        self.tag = tag
        self.records = []
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        self.zip = zipfile.ZipFile(pathlib.Path(folder) / self.name, "w", zipfile.ZIP_DEFLATED)

    def add(self, name, data, is_executable=False):
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if is_executable else 0o100644) << 16
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(data)}\n")

    def finish(self):
        wheel = f"Wheel-Version: 1.0\nGenerator: tern_build\nRoot-Is-Purelib: false\nTag: {self.tag}\n"
        self.add(f"{self.info}/METADATA", _metadata().encode())
        self.add(f"{self.info}/WHEEL", wheel.encode())
        self.add(f"{self.info}/entry_points.txt", _entry_points().encode())
        self.add(f"{self.info}/LICENSE", (ROOT / "LICENSE").read_bytes())
        record = "".join(self.records) + f"{self.info}/RECORD,,\n"
        self.zip.writestr(zipfile.ZipInfo(f"{self.info}/RECORD", (2020, 1, 1, 0, 0, 0)), record)
        self.zip.close()
        return self.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    settings = config_settings or {}
    folder = _build(settings)
    with tempfile.TemporaryDirectory() as temporary:
        stage = pathlib.Path(temporary) / "wheel"
        is_complete = _stage(folder, stage, settings.get("llvm") == "bundle")
        wheel = _Wheel(wheel_directory, f"{_python_tag()}-{_platform_tag(is_complete)}")
        for path in sorted(stage.rglob("*")):
            if path.is_file():
                wheel.add(path.relative_to(stage).as_posix(), path.read_bytes(), "bin" in path.parts or path.suffix == ".so")
        return wheel.finish()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The package stays in the build tree; its Python sources are those of this one."""
    folder = _build(config_settings or {})
    wheel = _Wheel(wheel_directory, f"{_python_tag()}-{_platform_tag(False)}")
    wheel.add("tern.pth", f"{(folder / 'lib' / 'python').resolve()}\n".encode())
    return wheel.finish()


def build_sdist(sdist_directory, config_settings=None):
    if _package != "tern":
        raise SystemExit("tern-runtime is built from the sources of tern: python -m build --wheel python/runtime")
    base = f"tern-{version()}"
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        names = listed.stdout.split("\n")[:-1]
    else:
        names = [p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*") if p.is_file() and p.parts[len(ROOT.parts)] != "build"]
    path = pathlib.Path(sdist_directory) / f"{base}.tar.gz"
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        with tempfile.NamedTemporaryFile("w") as info:
            info.write(_metadata())
            info.flush()
            archive.add(info.name, f"{base}/PKG-INFO")
        for name in sorted(names):
            if (ROOT / name).is_file():
                archive.add(ROOT / name, f"{base}/{name}", recursive=False)
    return path.name
