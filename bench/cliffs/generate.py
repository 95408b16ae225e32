#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workloads of a seed: generate.py [--seed S] [--count N] [--device KIND] [--family NAME] prints their programs."""
import argparse

import fixed
import memory
import products
import sweep
from workload import Draw

# Family -> weight; matmul and convolution have the most ways to be drawn.
FAMILIES = {
    memory.elementwise: 2, memory.broadcast: 2, memory.injective: 3, memory.reduction: 4, memory.normalization: 3, memory.scan: 1,
    memory.gather: 2, products.matmul: 7, products.convolution: 5, products.transposed_convolution: 1, memory.pooling: 1,
    memory.resize: 1, products.attention: 2,
}
# The most elements of a tensor and operations of a product.
LIMITS = {"cpu": (1 << 23, 3e9), "cuda": (1 << 26, 4e11), "tiny": (256, 4e4)}


def make(family, seed, dynamic, scale):
    elements, flops = LIMITS[scale]
    made = family(Draw(seed, dynamic, elements, flops, tiny=scale == "tiny"))
    made.dynamic = dynamic
    return made


def draw_workloads(seed, count, scale):
    """Pairs of the same sizes, static and dynamic. The first N of a seed are the same whatever the count."""
    found, deck, number = [], [], 0
    while len(found) < count:
        if not deck:
            deck = [family for family, weight in FAMILIES.items() for _ in range(weight)]
            Draw(f"{seed}/deck/{number}", False, 1, 1).random.shuffle(deck)
        family = deck.pop()
        for dynamic in (False, True):
            made = make(family, f"{seed}/{number}", dynamic, scale)
            made.name = f"{number:03}.{made.family}.{'dynamic' if dynamic else 'static'}"
            found.append(made)
        number += 1
    return found[:count]


def workloads(options, scale):
    """What the options ask for: `sweep`, or `table` and `count` of `seed`."""
    if options.sweep:
        return sweep.pairs(scale, options.seed)
    chosen = fixed.table(scale) if options.table else []
    chosen += draw_workloads(options.seed, options.count, scale)
    return chosen


def add_options(parser):
    parser.add_argument("--seed", default="1", help="which workloads are drawn (default: 1)")
    parser.add_argument("--count", type=int, default=150, help="how many; half of them are dynamic variants (default: 150)")
    parser.add_argument("--table", action="store_true", help="the fixed workloads too")
    parser.add_argument("--sweep", action="store_true", help="kernels of one dynamic size over a sweep of it, beside their static forms, and nothing else")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--device", default="cpu", choices=sorted(LIMITS))
    parser.add_argument("--family", default="")
    options = parser.parse_args()
    for one in workloads(options, options.device):
        if options.family in one.family:
            print(f"# {one.name}: {one.note}\n# torch: {' | '.join(one.torch)}\n# numpy: {one.numpy}\n{one.program}")


if __name__ == "__main__":
    main()
