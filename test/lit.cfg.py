# SPDX-License-Identifier: Apache-2.0
"""Text tests: every .tir and .test file says in its RUN lines how it is run and checked."""
import ctypes
import glob
import os
import platform
import shutil
import subprocess

import lit.formats

config.name = "tern"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".tir", ".test"]
config.excludes = ["cts", "golden", "Inputs"]
config.test_source_root = os.path.dirname(__file__)

build = lit_config.params["build"]
config.test_exec_root = os.path.join(build, "test", "lit")
# What one test has compiled, others need not; of an earlier run, by another compiler maybe, nothing is left.
config.environment["TERN_CACHE_DIR"] = os.path.join(config.test_exec_root, "tern-cache")
shutil.rmtree(config.environment["TERN_CACHE_DIR"], ignore_errors=True)
config.environment["POCL_CACHE_DIR"] = os.path.join(config.test_exec_root, "pocl-cache")
config.environment["MESA_SHADER_CACHE_DISABLE"] = "true"
for name in ("TERN_UPDATE_GOLDEN", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "MALLOC_PERTURB_", "GLIBC_TUNABLES"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

llvm_tools = lit_config.params["llvm_tools"]
config.environment["PATH"] = os.pathsep.join([llvm_tools, os.environ["PATH"]])

root = os.path.dirname(config.test_source_root)
config.substitutions += [
    ("%tern-run", os.path.join(build, "bin", "tern-run")),
    ("%tern", os.path.join(build, "bin", "tern")),
    ("%golden", os.path.join(config.test_source_root, "golden.sh")),
    ("%standin", "env LD_LIBRARY_PATH=" + os.pathsep.join(glob.glob(os.path.join(build, "lib", "standin", "*"))) +
                 " TERN_STANDIN_STRICT=1 TERN_CACHE=0 TERN_STANDIN_CACHE=" + os.path.join(build, "test", "standin-cache")),
    ("%lib", os.path.join(build, "lib")),
    ("%features", lit_config.params["features"]),
    ("%root", root),
    ("%examples", os.path.join(root, "examples")),
]

# The runtime for another machine, run by an emulator, where it was built beside.
cross = {"x86_64": "aarch64", "aarch64": "x86_64"}.get(platform.machine())
cross_run = os.path.join(os.path.dirname(build), f"cross-{cross}", "bin", "tern-run")
if cross and shutil.which(f"qemu-{cross}") and os.path.exists(cross_run):
    config.available_features.add("cross")
    config.substitutions += [
        ("%cross-run", f"qemu-{cross} -L /usr/{cross}-linux-gnu {cross_run}"),
        ("%cross-triple", f"{cross}-linux-gnu"),
    ]

# This machine's runtime on an older CPU, where an emulator can do that.
old_cpu = ["qemu-x86_64", "-cpu", "Nehalem", os.path.join(build, "bin", "tern-run")]
if platform.machine() == "x86_64" and shutil.which(old_cpu[0]) and subprocess.run([*old_cpu, "--help"], capture_output=True).returncode == 0:
    config.available_features.add("old-cpu")
    config.substitutions.insert(0, ("%old-cpu-run", " ".join(old_cpu)))

config.available_features.add(platform.machine())
config.available_features |= {"standin-" + os.path.basename(path) for path in glob.glob(os.path.join(build, "lib", "standin", "*"))}
config.available_features |= set(lit_config.params["features"].split(","))

# ./dev test --full: what takes longer.
if os.environ.get("TERN_TEST_FULL") == "1":
    config.available_features.add("full")

# What some tests need and few machines have.
if subprocess.run(["python3", "-c", "import numpy"], capture_output=True).returncode == 0:
    config.available_features.add("numpy")
if any(subprocess.run(["python3", "-c", f"import ctypes; ctypes.CDLL('{name}').cblas_sgemm"], capture_output=True).returncode == 0
       for name in ("libopenblas.so.0", "libblis.so.4", "libcblas.so.3", "libblas.so.3")):
    config.available_features.add("blas")
for name in ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"):
    try:
        ctypes.CDLL(name)
        config.available_features.add("nvrtc")
    except OSError:
        pass
for program in ("chromium", "gdb", "qemu-hexagon", "spirv-as"):
    if shutil.which(program):
        config.available_features.add(program)
if subprocess.run(["python3", "-c", "import tvm_ffi, numpy"], capture_output=True).returncode == 0:
    config.available_features.add("tvm-ffi")
with open("/proc/cpuinfo", encoding="utf-8") as cpu:
    flags = cpu.read().split()
# A CPU whose name promises SVE, which it has not: Mesa's driver for the CPU is told another name.
preload = os.path.join(build, "lib", "libtern_test_cpuinfo.so")
if "0xd40" in flags and "sve" not in flags and os.path.exists(preload):
    os.makedirs(config.test_exec_root, exist_ok=True)
    other = os.path.join(config.test_exec_root, "cpuinfo")
    with open("/proc/cpuinfo", encoding="utf-8") as cpu, open(other, "w", encoding="utf-8") as file:
        file.write(cpu.read().replace("0xd40", "0xd0c"))
    config.environment["LD_PRELOAD"], config.environment["TERN_TEST_CPUINFO"] = preload, other
for flag in ("amx_int8", "avx512_vnni"):
    if flag in flags:
        config.available_features.add(flag)
