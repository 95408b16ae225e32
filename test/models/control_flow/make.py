#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py DIRECTORY [--record]: small models with control flow, recurrent layers and shapes that depend on data: NAME.onnx, and what goes in,
NAME.INPUT.npy. With --record also what comes out, NAME.OUTPUT.npy, by ONNX Runtime. Needs numpy."""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import onnx_writer as onnx  # noqa: E402
from model_builder import uniform, write_npy  # noqa: E402

TYPES = {np.dtype(np.float32): "float", np.dtype(np.int64): "int64", np.dtype(np.int32): "int32", np.dtype(bool): "bool"}


def tensor(name, array):
    array = np.asarray(array)
    return onnx.tensor(name, TYPES[array.dtype], list(array.shape), array.tobytes())


def ints(name, *values):
    return tensor(name, np.array(values, np.int64))


def scalar(name, value):
    return tensor(name, np.array(value))


def weights(name, shape):
    return tensor(name, uniform(5, name, shape, -0.6, 0.6))


def control():
    """If, Loop and Scan that depend on data; results of one branch are longer than those of the other."""
    node, value = onnx.node, onnx.value_info
    then = onnx.graph("then", [node("Slice", ["x", "zero", "two"], ["head"]), node("Mul", ["head", "scale"], ["doubled"])], [],
                      [value("doubled", "float", [None, 4])])
    other = onnx.graph("other", [node("Relu", ["x"], ["positive"])], [], [value("positive", "float", [None, 4])])
    # Until the sum is too large: rows are added, and kept in a tensor that grows.
    body = onnx.graph("body", [
        node("Gather", ["x", "i"], ["row"], axis=0), node("Add", ["sum_in", "row"], ["sum_out"]),
        node("Unsqueeze", ["row", "zero"], ["row2"]), node("Concat", ["kept_in", "row2"], ["kept_out"], axis=0),
        node("ReduceMax", ["sum_out"], ["largest"], keepdims=0), node("Less", ["largest", "limit"], ["go"])],
        [value("i", "int64", []), value("go_in", "bool", []), value("sum_in", "float", [4]), value("kept_in", "float", [None, 4])],
        [value("go", "bool", []), value("sum_out", "float", [4]), value("kept_out", "float", [None, 4]), value("largest", "float", [])])
    step = onnx.graph("step", [node("Add", ["state_in", "item"], ["state_out"]), node("Tanh", ["state_out"], ["y"])],
                      [value("state_in", "float", [4]), value("item", "float", [4])],
                      [value("state_out", "float", [4]), value("y", "float", [4])])
    nodes = [
        node("ReduceSum", ["x"], ["total"], keepdims=0), node("Greater", ["total", "nothing"], ["is_positive"]),
        node("If", ["is_positive"], ["branch"], then_branch=then, else_branch=other), node("Exp", ["branch"], ["chosen"]),
        node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "first"], ["count"], axis=0),
        node("Loop", ["count", "yes", "start", "none"], ["sum", "kept", "maxima"], body=body),
        node("Scan", ["start", "x"], ["last", "steps"], body=step, num_scan_inputs=1, scan_input_directions=[1], scan_output_directions=[1])]
    constants = [ints("zero", 0), ints("two", 2), scalar("first", np.int64(0)), scalar("scale", np.float32(2)), scalar("limit", np.float32(1.5)),
                 scalar("nothing", np.float32(0)), scalar("yes", np.True_), tensor("start", np.zeros(4, np.float32)),
                 tensor("none", np.zeros((0, 4), np.float32))]
    outputs = [value(name, "float") for name in ("chosen", "sum", "kept", "maxima", "last", "steps")]
    main = onnx.graph("control", nodes, [value("x", "float", ["n", 4])], outputs, constants)
    return onnx.model(main, {"": 17}), {"x": uniform(5, "control", [7, 4], -1, 1.2)}


def selection():
    """As many results as the data say."""
    node, value = onnx.node, onnx.value_info
    nodes = [
        node("Greater", ["x", "half"], ["mask"]), node("NonZero", ["mask"], ["places"]),
        node("Greater", ["w", "half"], ["columns"]), node("Compress", ["x", "columns"], ["some"], axis=1), node("Mul", ["some", "two"], ["scaled"]),
        node("TopK", ["x", "k"], ["best", "best_at"], axis=0, largest=1), node("Exp", ["best"], ["best_exp"]),
        node("Cast", ["tens"], ["whole"], to=7), node("Unique", ["whole"], ["values", "first", "inverse", "counts"]),
        node("Mul", ["x", "ten"], ["tens"]),  # nodes may be in any order
        node("NonMaxSuppression", ["boxes", "scores", "most", "iou"], ["selected"]),
        node("Shape", ["places"], ["extents"]), node("ConstantOfShape", ["k"], ["filled"]), node("Expand", ["half", "k"], ["expanded"])]
    constants = [scalar("half", np.float32(0.3)), scalar("two", np.float32(2)), scalar("ten", np.float32(3)), ints("most", 3),
                 scalar("iou", np.float32(0.4))]
    feeds = {"x": uniform(6, "x", [5, 6], -1, 1), "w": uniform(6, "w", [6], -1, 1), "k": np.array([3], np.int64),
             "boxes": uniform(6, "boxes", [1, 12, 4], 0, 1), "scores": uniform(6, "scores", [1, 2, 12], 0, 1)}
    inputs = [value("x", "float", ["n", 6]), value("w", "float", [6]), value("k", "int64", [1]), value("boxes", "float", [1, 12, 4]),
              value("scores", "float", [1, 2, 12])]
    kinds = {"places": "int64", "scaled": "float", "best_exp": "float", "best_at": "int64", "values": "int64", "first": "int64", "inverse": "int64",
             "counts": "int64", "selected": "int64", "extents": "int64", "filled": "float", "expanded": "float"}
    main = onnx.graph("selection", nodes, inputs, [value(name, kind) for name, kind in kinds.items()], constants)
    return onnx.model(main, {"": 17}), feeds


def recurrent():
    """LSTM of two directions with lengths and peepholes, GRU of both forms, RNN backwards; any number of steps."""
    node, value = onnx.node, onnx.value_info
    size, hidden = 5, 6
    constants = []
    for name, gates, inputs, directions in (("lstm", 4, size, 2), ("gru", 3, 2 * hidden, 1), ("reset", 3, hidden, 1), ("rnn", 1, hidden, 1)):
        constants += [weights(f"{name}_w", [directions, gates * hidden, inputs]), weights(f"{name}_r", [directions, gates * hidden, hidden]),
                      weights(f"{name}_b", [directions, 2 * gates * hidden])]
    constants += [weights("peep", [2, 3 * hidden]), ints("shape", 0, 0, -1), ints("one", 1)]
    nodes = [
        node("LSTM", ["x", "lstm_w", "lstm_r", "lstm_b", "lens", "h0", "c0", "peep"], ["y1", "h1", "c1"], hidden_size=hidden,
             direction="bidirectional", activations=["Sigmoid", "Tanh", "Tanh", "HardSigmoid", "Softsign", "Relu"], activation_alpha=[0.3],
             activation_beta=[0.4], clip=2.0),
        node("Transpose", ["y1"], ["t1"], perm=[0, 2, 1, 3]), node("Reshape", ["t1", "shape"], ["x2"]),
        node("GRU", ["x2", "gru_w", "gru_r", "gru_b"], ["y2", "h2"], hidden_size=hidden), node("Squeeze", ["y2", "one"], ["x3"]),
        node("GRU", ["x3", "reset_w", "reset_r", "reset_b"], ["y3", "h3"], hidden_size=hidden, linear_before_reset=1, direction="reverse"),
        node("Squeeze", ["y3", "one"], ["x4"]), node("RNN", ["x4", "rnn_w", "rnn_r", "rnn_b", "lens"], ["y4", "h4"], hidden_size=hidden, direction="reverse")]
    inputs = [value("x", "float", ["steps", "batch", size]), value("lens", "int32", ["batch"]), value("h0", "float", [2, "batch", hidden]),
              value("c0", "float", [2, "batch", hidden])]
    feeds = {"x": uniform(7, "x", [10, 3, size], -1, 1), "lens": np.array([10, 4, 7], np.int32), "h0": uniform(7, "h0", [2, 3, hidden], -1, 1),
             "c0": uniform(7, "c0", [2, 3, hidden], -1, 1)}
    outputs = [value(name, "float") for name in ("y1", "h1", "c1", "h2", "h3", "y4", "h4")]
    return onnx.model(onnx.graph("recurrent", nodes, inputs, outputs, constants), {"": 17}), feeds


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (control, recurrent, selection):
        model, feeds = make()
        path = folder / f"{make.__name__}.onnx"
        path.write_bytes(model)
        for name, array in feeds.items():
            write_npy(folder / f"{make.__name__}.{name}.npy", array)
        if sys.argv[2:] == ["--record"]:
            import onnxruntime
            session = onnxruntime.InferenceSession(str(path))
            for info, array in zip(session.get_outputs(), session.run(None, feeds)):
                write_npy(folder / f"{make.__name__}.{info.name}.npy", array)


if __name__ == "__main__":
    main()
