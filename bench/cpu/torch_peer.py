# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the CPU, by its own kernels, oneDNN and MKL; with weights packed as its compiler would have them."""
import torch
import torch.nn.functional as functional

from python_worker import Unsupported, Worker


def tensor_of(array, dtype):
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor


def packed_matmul(a, b):
    """Products whose second operand oneDNN or MKL has put into an order of its own; what this build of PyTorch has of them."""
    weight = b.t().contiguous()
    found = []
    try:
        onednn = torch.ops.mkldnn._reorder_linear_weight(weight, a.shape[0])
        found.append(("onednn_packed", lambda: torch.ops.mkldnn._linear_pointwise(a, onednn, None, "none", [], "")))
        found[-1][1]()
    except Exception:  # pylint: disable=broad-except
        del found[:]
    try:
        packed = torch.ops.mkl._mkl_reorder_linear_weight(weight.to_mkldnn(), a.shape[0])
        call = lambda: torch.ops.mkl._mkl_linear(a, packed, weight, None, a.shape[0])
        call()
        found.append(("mkl_packed", call))
    except Exception:  # pylint: disable=broad-except
        pass
    return found


def matmul(case, tensors):
    a, b = tensors["A"], tensors["B"]
    if case.dtypes["A"] == "uint8":
        raise Unsupported("no product of uint8 and int8 without scales")
    if case.dtypes["A"] == "bfloat16":
        # To float32, as asked; where this build has only results in bfloat16, it has no such product.
        try:
            torch.mm(a, b, out_dtype=torch.float32)
        except Exception as error:
            raise Unsupported("products of bfloat16 are rounded to bfloat16") from error
        return [("mm", lambda: torch.mm(a, b, out_dtype=torch.float32))]
    out = torch.empty(case.shapes["C"])
    return [("mm", lambda: torch.mm(a, b, out=out)), *packed_matmul(a, b)]


def conv(case, tensors):
    x, w = tensors["X"], tensors["W"]
    stride, pad, groups = [case.number("stride")] * 2, [case.number("pad")] * 2, case.number("groups")
    found = [("conv2d", lambda: functional.conv2d(x, w, None, stride, pad, 1, groups))]
    try:
        packed = torch.ops.mkldnn._reorder_convolution_weight(w, pad, stride, [1, 1], groups, list(x.shape))
        call = lambda: torch.ops.mkldnn._convolution_pointwise(x, packed, None, pad, stride, [1, 1], groups, "none", [], "")
        if call().is_contiguous():
            found.append(("onednn_packed", call))
    except Exception:  # pylint: disable=broad-except
        pass
    return found


def row_work(case, tensors):
    x, m = tensors["X"], case.shapes["X"][-1]
    if case.kind == "softmax":
        out = torch.empty(case.shapes["Y"])
        return [("softmax", lambda: torch.softmax(x, -1, out=out))]
    if case.kind == "layernorm":
        return [("layer_norm", lambda: functional.layer_norm(x, (m,), tensors["scale"], tensors["shift"], 1e-5))]
    if case.kind == "bias_gelu":
        return [("add_gelu", lambda: functional.gelu(x + tensors["bias"]))]
    if case.kind == "sum":
        out = torch.empty(case.shapes["S"])
        return [("sum", lambda: torch.sum(x, -1, keepdim=x.dim() == 1, out=out))]
    if case.kind == "transpose":
        out = torch.empty(case.shapes["Y"])
        return [("copy", lambda: out.copy_(x.t()))]
    raise Unsupported(f"no {case.kind} here")


class Torch(Worker):
    def __init__(self, threads):
        super().__init__()
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.inference = torch.inference_mode()
        self.inference.__enter__()
        self.version = torch.__version__

    def variants(self, case):
        tensors = {name: tensor_of(array, case.dtypes[name]) for name, array in case.arrays.items()}
        made = {"matmul": matmul, "conv": conv}.get(case.kind, row_work)(case, tensors)
        return [(name, call, lambda call=call: call().numpy()) for name, call in made]
