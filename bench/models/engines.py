# SPDX-License-Identifier: Apache-2.0
"""Other engines that run ONNX models, each in a process of its own, so that memory is theirs alone and they can take turns.

    engines.py NAME MODEL.onnx INPUTS.npz THREADS OUTPUTS.npz

loads the model, writes its outputs, and prints one JSON object a line: {"ready": {...}} or {"error": "..."}; then, for each line SECONDS that it
reads, {"best_ms": ...} of the calls in so many seconds (three at least). An engine that is not installed says so.
"""
import json
import os
import sys
import time

import numpy

NAMES = ["onnxruntime", "torch", "tvm", "iree"]


def memory(field):
    """Of this process, in bytes: VmRSS, or VmHWM, the most so far."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field + ":"))


def onnxruntime_call(path, feed, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    yield None
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [info.name for info in session.get_outputs()]
    yield lambda: dict(zip(names, session.run(None, feed)))


def torch_call(path, feed, threads):
    """The networks of torch_networks.py; others have no module here."""
    import torch
    import torch_networks
    yield None
    stem = os.path.basename(path).split(".")[0]
    torch.set_num_threads(threads)
    module = torch_networks.make(stem, seed=1)
    given = {name: torch.from_numpy(array) for name, array in feed.items()}

    def call():
        with torch.inference_mode():
            outputs = module(**given)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return {str(i): output.numpy() for i, output in enumerate(outputs)}
    yield call


def tvm_call(path, feed, threads):
    os.environ["TVM_NUM_THREADS"] = str(threads)
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    yield None
    module = from_onnx(onnx.load(path), shape_dict={name: list(array.shape) for name, array in feed.items()}, keep_params_in_input=False)
    target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
    machine = relax.VirtualMachine(relax.build(module, target), tvm.cpu())
    params = [param.name for param in module["main"].params]
    given = [tvm.runtime.tensor(feed[name]) for name in params if name in feed]

    def call():
        outputs = machine["main"](*given)
        outputs = [outputs] if hasattr(outputs, "numpy") else list(outputs)
        return {str(i): output.numpy() for i, output in enumerate(outputs)}
    yield call


def iree_call(path, feed, threads):
    import subprocess
    import tempfile
    import iree.compiler.tools
    import iree.runtime as runtime
    yield None
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([sys.executable, "-m", "iree.compiler.tools.import_onnx", path, "--opset-version", "17", "-o", f"{folder}/m.mlir"],
                              capture_output=True, text=True)
        if made.returncode != 0:
            raise RuntimeError(made.stderr.strip().splitlines()[-1])
        code = iree.compiler.tools.compile_file(f"{folder}/m.mlir", target_backends=["llvm-cpu"], input_type="onnx",
                                                extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"])
    config = runtime.Config("local-sync" if threads == 1 else "local-task")
    context = runtime.SystemContext(config=config)
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
    module = context.modules[next(name for name in context.modules if name not in ("hal",))]
    function = next(module[name] for name in module.vm_module.function_names if not name.startswith("__") and not name.endswith("$async"))
    given = list(feed.values())

    def call():
        outputs = function(*given)
        outputs = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
        return {str(i): numpy.asarray(output) for i, output in enumerate(outputs)}
    yield call


def main():
    name, path, inputs, threads, outputs = sys.argv[1:]
    say = lambda message: print(json.dumps(message), flush=True)  # noqa: E731
    try:
        feed = dict(numpy.load(inputs))
        steps = globals()[f"{name}_call"](path, feed, int(threads))
        next(steps)  # what is imported is not the model's
        before, start = memory("VmRSS"), time.time()
        call = next(steps)
        first = call()
    except ImportError as error:
        return say({"error": f"not installed: {error}"})
    except Exception as error:  # whatever another project throws
        return say({"error": (str(error) or type(error).__name__).strip().splitlines()[0][:200]})
    arrays = {key: value for key, value in first.items() if isinstance(value, numpy.ndarray) and value.dtype.kind in "fiub"}
    for key, value in first.items():  # maps of ZipMap as their numbers
        if isinstance(value, list) and value and isinstance(value[0], dict):
            arrays[key] = numpy.array([list(row.values()) for row in value])
    numpy.savez(outputs, **arrays)
    say({"ready": {"load_s": time.time() - start}})
    for line in sys.stdin:
        begin, best, calls = time.perf_counter(), float("inf"), 0
        while calls < 3 or time.perf_counter() - begin < float(line):
            one = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - one)
            calls += 1
        say({"best_ms": 1e3 * best, "calls": calls, "peak_bytes": memory("VmHWM") - before})


if __name__ == "__main__":
    main()
