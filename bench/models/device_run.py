#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the models of a folder that device.py prepared, on a GPU, beside torch.compile (mode reduce-overhead, which uses CUDA graphs; no TF32).

    device_run.py FOLDER [--only NAME] [--json FILE] [--starts fp32]

Needs python3 with torch and numpy, and the driver. Every model has a process of its own, which runs both; they prepare at once and are measured one after
another. A latency is from the call to the result of the device, with inputs and outputs there: the median of a round, and the least of all rounds."""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS, CALLS, QUEUED = 6, 40, 30
BETWEEN_RUNS = 30.0  # microseconds: a longer pause is not one between kernels of a run


def example_inputs(entry):
    import networks
    import numpy as np

    if entry["model"] == "light_resnet50":
        return {"gpu_0/data_0": networks.example_inputs("resnet50")["data"]}
    if entry["model"] == "bert_mlm_tiny":
        ids = np.random.RandomState(7).randint(0, 30000, entry["shapes"]["input_ids"]).astype(np.int64)
        return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    return networks.example_inputs(entry["model"])


# ---- one model, in its process

class TernModel:
    """A session whose inputs and outputs are torch's tensors."""

    def __init__(self, runtime, path, inputs, outputs):
        import ctypes
        import torch

        self.runtime, self.library, self.kept = runtime, runtime.library, []
        model, self.session = ctypes.c_void_p(), ctypes.c_void_p()
        runtime.check(self.library.tern_model_load(os.fsencode(path), ctypes.byref(model)))
        runtime.check(self.library.tern_session_create(model, ctypes.byref(self.session)))
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        rename = ctypes.pythonapi.PyCapsule_SetName
        rename.restype, rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
        for bind, tensors in ((self.library.tern_session_bind_input, inputs), (self.library.tern_session_bind_output, outputs)):
            for name, tensor in tensors.items():
                capsule, made = torch.utils.dlpack.to_dlpack(tensor), ctypes.c_void_p()
                runtime.check(self.library.tern_tensor_from_dlpack(ctypes.c_void_p(pointer(capsule, b"dltensor")), ctypes.byref(made)))
                rename(capsule, b"used_dltensor")
                runtime.check(bind(self.session, name.encode(), made))
                self.kept.append(capsule)

    def __call__(self):
        if self.library.tern_session_run_bound(self.session):
            raise RuntimeError(self.library.tern_last_error().decode())


def largest_error(actual, expected):
    worst = 0.0
    for got, want in zip(actual, expected):
        got, want = got.double(), want.double()
        error = ((got - want).abs().max() / max((want.max() - want.min()).item(), 1e-30)).item()
        worst = max(worst, error if math.isfinite(error) else math.inf)
    return worst


def latency(torch, call):
    times = []
    for _ in range(CALLS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def queued(torch, call):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(QUEUED):
        call()
    torch.cuda.synchronize()
    return 1e6 * (time.perf_counter() - start) / QUEUED


def profile(torch, call, runs=5):
    """Of the kernels of a run, by torch's profiler: microseconds by name, and pauses between one and the next."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(runs):
            call()
            torch.cuda.synchronize()
            time.sleep(0.002)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiler.export_chrome_trace(file.name)
        events = json.loads(pathlib.Path(file.name).read_text())["traceEvents"]
    events = sorted((e["ts"], e["dur"], e["name"]) for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
    kernels, gaps = {}, []
    for (ts, dur, name), after in zip(events, events[1:] + [(math.inf, 0, "")]):
        one = kernels.setdefault(name, [0, 0.0])
        one[0], one[1] = one[0] + 1 / runs, one[1] + dur / runs
        if after[0] - ts - dur < BETWEEN_RUNS:
            gaps.append(after[0] - ts - dur)
    ranked = sorted(([name, round(count, 2), round(us, 2)] for name, (count, us) in kernels.items()), key=lambda row: -row[2])
    return {"kernels": ranked, "busy_us": sum(row[2] for row in ranked), "count": len(events) / runs,
            "gap_us": statistics.median(gaps) if gaps else None, "gap_mean_us": statistics.fmean(gaps) if gaps else None}


def work(folder, entry):
    say = lambda message: print(json.dumps(message), flush=True)  # noqa: E731
    sys.path.insert(0, str(folder))
    import torch
    import binding
    import torch_files
    import torch_networks

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    stream = torch.cuda.Stream()
    torch.cuda.set_stream(stream)
    runtime = binding.Runtime(str(folder / "lib" / "libtern_runtime.so"))
    runtime.use_stream(runtime.device("cuda"), stream.cuda_stream)
    result = dict(entry)
    with torch.inference_mode():
        light = folder / f"{entry['model']}.onnx"
        module = (torch_files.make(light, entry["seed"]) if light.exists() else torch_networks.make(entry["model"], entry["seed"])).cuda()
        feed = {name: torch.from_numpy(array).cuda() for name, array in example_inputs(entry).items()}
        # Names of torch's are those of the .onnx where they are identifiers.
        as_list = lambda value: list(value) if isinstance(value, tuple) else [value]  # noqa: E731
        given = lambda tensors: {name.replace("gpu_0/data_0", "data"): tensor for name, tensor in tensors.items()}  # noqa: E731
        expected = as_list(module(**given(feed)))
        outputs = dict(zip(entry["outputs"], [torch.zeros_like(tensor) for tensor in expected]))
        torch.cuda.synchronize()
        start = time.perf_counter()
        tern = TernModel(runtime, folder / f"{entry['stem']}.tern", feed, outputs)
        for _ in range(4):
            tern()
            torch.cuda.synchronize()
            result.setdefault("first_s", time.perf_counter() - start)
        result["error"] = largest_error(outputs.values(), expected)
        calls = {"tern": tern}
        for library in entry["offload"]:
            calls[library] = TernModel(runtime, folder / f"{entry['stem']}.{library}.tern", feed, outputs)
            for _ in range(4):
                calls[library]()
            torch.cuda.synchronize()
            result[f"{library}_error"] = largest_error(outputs.values(), expected)
        say({"stage": f"error {result['error']:.2e}, first result after {result['first_s']:.2f} s"})
        if entry["precision"] != "fp32":
            dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[entry["precision"]]
            module = module.to(dtype)
            feed = {name: tensor.to(dtype) if tensor.is_floating_point() else tensor for name, tensor in feed.items()}
            result["torch_error"] = largest_error(as_list(module(**given(feed))), expected)
        del expected
        compiled, arguments = torch.compile(module, mode="reduce-overhead"), given(feed)
        peer = lambda: compiled(**arguments)  # noqa: E731
        calls["torch"] = peer
        try:
            for _ in range(5):
                peer()
                torch.cuda.synchronize()
        except Exception as error:  # pylint: disable=broad-except
            result["torch_failed"] = str(error).strip().splitlines()[0][:300]
            del calls["torch"]
        say({"stage": "ready"})
        sys.stdin.readline()
        for name, call in calls.items():
            for _ in range(10):
                call()
        for turn in range(ROUNDS):
            for name, call in sorted(calls.items(), reverse=turn % 2 == 1):
                for measure in (latency, queued):
                    key = f"{name}_{measure.__name__}_us"
                    result[key] = min(result.get(key, math.inf), measure(torch, call))
        for name, call in calls.items():
            result[f"{name}_profile"] = profile(torch, call)
    say({"result": result})
    sys.stdout.flush()
    os._exit(0)  # libraries of devices may wait at the interpreter's end


# ---- all of them

def start_times(folder, entry, environment):
    """Seconds of a process of its own, from its start to its first result: without and with what the first left on disk."""
    import numpy as np

    command = [str(folder / "bin" / "tern-run"), str(folder / f"{entry['stem']}.tern")]
    for number, (name, array) in enumerate(example_inputs(entry).items()):
        np.save(folder / f"input{number}.npy", array)
        command += ["--input", f"{name}={folder}/input{number}.npy"]
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=90)
        times.append(time.perf_counter() - begin)
        if done.returncode:
            return {"start_failed": (done.stderr or done.stdout).strip()[:300]}
    return {"first_start_s": times[0], "second_start_s": min(times[1:])}


class Worker:
    def __init__(self, folder, entry, environment):
        self.entry, self.last = entry, "began"
        self.process = subprocess.Popen([sys.executable, __file__, str(folder), "--worker", json.dumps(entry)], env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def answer(self, wanted):
        for line in iter(self.process.stdout.readline, ""):
            if line.startswith("{"):
                message = json.loads(line)
                if message.get("stage") == wanted or wanted in message:
                    return message
                self.last = message.get("stage", self.last)
                print(f"  {self.entry['stem']}: {self.last}", flush=True)
        return None

    def measure(self):
        if not self.answer("ready"):
            return self.entry | {"failed": self.process.communicate()[1].strip()[-600:]}
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self.answer("result")
        return answer["result"] if answer else self.entry | {"failed": self.process.communicate()[1].strip()[-600:]}


def show(result):
    if "failed" in result:
        return f"{result['stem']:24} FAILED: {result['failed']}"
    text = f"{result['stem']:24} error {result['error']:.1e}"
    for measure in ("latency", "queued"):
        tern, torch = (result.get(f"{name}_{measure}_us") for name in ("tern", "torch"))
        text += f"  {measure} tern {tern:8.1f} us" + (f" torch {torch:8.1f} us ratio {torch / tern:5.2f}" if torch else f" {result['torch_failed'][:60]}")
    for library in result["offload"]:
        text += f"  {library} {result[f'{library}_latency_us']:8.1f} us, error {result[f'{library}_error']:.1e}"
    one = result["tern_profile"]
    text += f"  {one['count']:.0f} kernels {one['busy_us']:.1f} us" + (f", gap {one['gap_us']:.2f} us" if one["gap_us"] is not None else "")
    if "first_start_s" in result:
        text += f"  start {result['first_start_s']:.2f} s, again {result['second_start_s']:.2f} s"
    return text


def summary(results, precision):
    ratios = [r["torch_latency_us"] / r["tern_latency_us"] for r in results if r["precision"] == precision and r.get("torch_latency_us")]
    if ratios:
        print(f"{precision}: geomean of {len(ratios)} ratios {math.exp(statistics.fmean(map(math.log, ratios))):.2f}, least {min(ratios):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="", help="models whose names have this in them")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--starts", default="fp32", help="precisions of which the start of a process is measured (fp32)")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    sys.path.insert(0, str(folder))
    if options.worker:
        return work(folder, json.loads(options.worker))
    import weights_apart

    places = [str(folder / "lib"), "/usr/local/cuda/lib64", os.environ.get("LD_LIBRARY_PATH", "")]
    environment = os.environ | {"LD_LIBRARY_PATH": ":".join(filter(None, places)), "TERN_CACHE_DIR": str(folder / "cache")}
    entries = [entry for entry in json.loads((folder / "models.json").read_text()) if options.only in entry["stem"]]
    begin = time.time()
    for name in dict.fromkeys(entry["model"] for entry in entries):
        light = folder / f"{name}.onnx"
        mine = [entry for entry in entries if entry["model"] == name]
        arrays = weights_apart.sources(name, mine[0]["seed"], light if light.exists() else None) if mine[0]["is_random"] else {}
        for entry in mine:
            for stem in [entry["stem"], *(f"{entry['stem']}.{library}" for library in entry["offload"])]:
                weights_apart.join(folder, stem, arrays)
    print(f"files are whole after {time.time() - begin:.0f} s", flush=True)
    starts = {}
    for entry in entries:
        if entry["precision"] not in options.starts.split(","):
            starts[entry["stem"]] = {}
            continue
        try:
            starts[entry["stem"]] = start_times(folder, entry, environment)
        except subprocess.TimeoutExpired:
            starts[entry["stem"]] = {"start_failed": "took more than 90 s"}
        print(f"  {entry['stem']}: {starts[entry['stem']]}, {time.time() - begin:.0f} s", flush=True)
    workers = [Worker(folder, entry, environment) for entry in entries]
    results = []
    for worker in workers:
        results.append(worker.measure() | starts[worker.entry["stem"]])
        print(show(results[-1]), f"[{time.time() - begin:.0f} s]", flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1))
    for precision in dict.fromkeys(entry["precision"] for entry in entries):
        summary(results, precision)
    return 0


if __name__ == "__main__":
    sys.exit(main())
