#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A folder of compiled models for a machine with a GPU, made on one without; device_run.py in it measures them there beside torch.compile. Needs numpy.

    ./dev bench models --device cuda --prepare FOLDER [--precision fp32,fp16] [--offload cublaslt] [--files DIRECTORY] [NAME ...]

Models are light_resnet50 (with random weights) and bert_mlm_tiny of --files, and vit_b16 and llama_block of networks.py. Weights that come from a seed are
not in the folder (weights_apart.py)."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import networks
import randomize
import weights_apart

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = {"cuda": "nvidia/h200"}
HOST = "llvm -mtriple=x86_64-linux-gnu"
SEED = 1
# Of files: input -> shape, and names of outputs.
FILES = {"light_resnet50": ({}, ["gpu_0/softmax_1"]),
         "bert_mlm_tiny": ({name: [8, 16] for name in ("input_ids", "attention_mask", "token_type_ids")}, ["logits"])}
MADE = {"vit_b16": ["logits"], "llama_block": ["out", "key", "value"]}
SCRIPTS = ["bench/models/device_run.py", "bench/models/networks.py", "bench/models/randomize.py", "bench/models/torch_files.py",
           "bench/models/torch_networks.py", "bench/models/weights_apart.py", "bench/cliffs/binding.py", "tools/model_builder.py", "tools/onnx_writer.py"]


def write_model(name, options, scratch):
    """The .onnx file, the shapes of its inputs, whether its weights come from the seed, and the light file, if it is made of one."""
    if name in MADE:
        path = scratch / f"{name}.onnx"
        builder = networks.NETWORKS[name](SEED)
        builder.write(path)
        return path, {key: list(array.shape) for key, array in networks.example_inputs(name).items()}, True, None
    light = options.files / f"{name}.onnx"
    if not light.exists():
        sys.exit(f"there is no {light}: --files DIRECTORY names where it is")
    shapes = FILES[name][0]
    if not any(fill for _, fill, _ in randomize.fills(memoryview(light.read_bytes()))):
        return light, shapes, False, light
    path = scratch / f"{name}.onnx"
    randomize.randomize(SEED, light, path)
    return path, shapes, True, light


def prepare(options, folder):
    shutil.rmtree(folder, ignore_errors=True)
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    entries, carried = [], 0
    for name in options.names or [*FILES, *MADE]:
        path, shapes, is_random, light = write_model(name, options, scratch)
        arrays = weights_apart.sources(name, SEED, light) if is_random else {}
        for precision in options.precision.split(","):
            stem = f"{name}.{precision}"
            command = [options.tern, "compile", str(path), "-t", options.target or TARGETS[options.device], "--host", HOST, "--freeze"]
            for key, shape in shapes.items():
                command += ["--input-shape", f"{key}=" + ",".join(map(str, shape))]
            if precision != "fp32":
                command += ["--precision", precision]
            made = []
            for variant in ["", *options.offload]:
                file = scratch / (f"{stem}.{variant}.tern" if variant else f"{stem}.tern")
                done = subprocess.run([*command, "-o", file, *(["--offload", variant] if variant else [])], capture_output=True, text=True, check=False)
                print((done.stdout + done.stderr).strip(), flush=True)
                if done.returncode == 0:
                    carried += weights_apart.split(file, arrays, folder)
                    made.append(variant)
                    file.unlink()
            if "" in made:
                entries.append({"model": name, "stem": stem, "precision": precision, "shapes": shapes, "seed": SEED, "is_random": is_random,
                                "offload": made[1:], "outputs": MADE[name] if name in MADE else FILES[name][1]})
        if light:
            shutil.copy(light, folder / f"{name}.onnx")
    shutil.rmtree(scratch)
    for part, names in (("lib", ["libtern_runtime.so", f"libtern_runtime_{options.device}.so"]), ("bin", ["tern-run"])):
        (folder / part).mkdir()
        for name in names:
            shutil.copy(pathlib.Path(options.runtime) / part / name, folder / part / name)
            subprocess.run([shutil.which("x86_64-linux-gnu-strip") or "strip", folder / part / name], check=False)
    for script in SCRIPTS:
        shutil.copy(HERE.parents[1] / script, folder)
    (folder / "models.json").write_text(json.dumps(entries, indent=1))
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"{folder}: {len(entries)} models, {size / 1e6:.1f} MB, of which {carried / 1e6:.1f} MB are models")


def main():
    parser = argparse.ArgumentParser(prog="./dev bench models --device cuda", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of " + ", ".join([*FILES, *MADE]))
    parser.add_argument("--device", default="cuda", choices=sorted(TARGETS))
    parser.add_argument("--prepare", required=True, type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--precision", default="fp32,fp16")
    parser.add_argument("--files", type=pathlib.Path, default=pathlib.Path("../shared/models"), help="where light_resnet50.onnx and bert_mlm_tiny.onnx are")
    parser.add_argument("--target")
    parser.add_argument("--offload", action="append", default=[], metavar="LIBRARY", help="measure the models offloaded to it too, as in --offload cublaslt")
    parser.add_argument("--tern", default="build/release/bin/tern")
    parser.add_argument("--runtime", help="the build whose runtime is used (default: the compiler's)")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in FILES and name not in MADE]
    if unknown:
        parser.error(f"there is no model {', '.join(unknown)}; there are {', '.join([*FILES, *MADE])}")
    options.runtime = options.runtime or os.path.dirname(os.path.dirname(os.path.abspath(options.tern)))
    prepare(options, options.prepare.resolve())


if __name__ == "__main__":
    main()
