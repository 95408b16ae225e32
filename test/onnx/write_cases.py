#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the node tests of the installed Python package onnx as folders: write_cases.py FOLDER.

The package has them as code. Each becomes NAME/model.onnx and NAME/test_data_set_0/{input,output}_N.pb. Tolerances that are
not the usual ones are in NAME/tolerance: the relative and the absolute one.
"""

import os
import sys

try:
    from onnx import TensorProto, numpy_helper
    from onnx.backend.test.case import node
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

USUAL = (1e-3, 1e-7)


def to_proto(value, info):
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    return value if isinstance(value, TensorProto) else numpy_helper.from_array(value, info.name)


def write(path, message):
    with open(path, "wb") as file:
        file.write(message.SerializeToString())


def main(folder):
    for case in node.collect_testcases(None):
        data = os.path.join(folder, case.name, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        write(os.path.join(folder, case.name, "model.onnx"), case.model)
        inputs, outputs = case.data_sets[0]
        for name, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for i, value in enumerate(values):
                write(os.path.join(data, f"{name}_{i}.pb"), to_proto(value, infos[i]))
        if (case.rtol, case.atol) != USUAL:
            with open(os.path.join(folder, case.name, "tolerance"), "w") as file:
                file.write(f"{case.rtol} {case.atol}\n")


if __name__ == "__main__":
    main(sys.argv[1])
