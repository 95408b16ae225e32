#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models that speed is measured on. Needs numpy.

    make.py SEED [NAME ...] [-o FOLDER]            resnet50, bert_base, vit_b16, llama_block, or some of them, as .onnx
    make.py SEED --randomize MODEL.onnx [-o FOLDER]  a model of constant fills (as those of onnx's backend tests), with weights

Speed on constant weights says little, and results on them hide channels that were mixed up. Weights are He-scaled, and the same bits
everywhere for one seed: files need not be copied, and the SHA-256 of the weights, which is printed, tells whether they are the same.
torch_networks.py has the same networks as torch modules.
"""
import argparse
import pathlib

import networks
import model_builder  # networks.py says where it is
import randomize


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of " + ", ".join(networks.NETWORKS))
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--randomize", type=pathlib.Path, action="append", default=[], metavar="MODEL")
    parser.add_argument("--repeating", action="store_true", help="weights repeat after 4096 elements: files that compress to little, for another machine")
    arguments = parser.parse_args()
    model_builder.PERIOD = 4096 if arguments.repeating else None
    unknown = [name for name in arguments.names if name not in networks.NETWORKS]
    if unknown:
        parser.error(f"there is no network {', '.join(unknown)}; there are {', '.join(networks.NETWORKS)}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    names = arguments.names or ([] if arguments.randomize else list(networks.NETWORKS))
    for name in names:
        builder = networks.NETWORKS[name](arguments.seed)
        path = arguments.output / f"{name}.onnx"
        builder.write(path)
        count = sum(array.size for array in builder.weights.values())
        print(f"{path}: {len(builder.nodes)} nodes, {count / 1e6:.1f} M weights, sha256 {builder.weights_sha256()}", flush=True)
    for model in arguments.randomize:
        path = arguments.output / f"{model.stem}_random.onnx"
        count = randomize.randomize(arguments.seed, model, path)
        print(f"{path}: {count} fills made weights")


if __name__ == "__main__":
    main()
