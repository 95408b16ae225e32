# SPDX-License-Identifier: Apache-2.0
"""Modules of torch, through its own ONNX exporter, in memory."""

import io
import warnings

from tern._errors import TypeError, ValueError


def to_onnx(source, inputs, dims):
    """(bytes of an ONNX model, its name, None)."""
    import torch

    name = type(source).__name__
    if isinstance(source, torch.export.ExportedProgram):
        if inputs:
            raise TypeError("inputs: an ExportedProgram has its example inputs already")
        return _export(torch, source, ()), name, None
    if inputs is None:
        raise TypeError(
            f"tern.compile({name}, ...): give inputs=..., an example input of the module, or a tuple of them"
        )
    examples = inputs if isinstance(inputs, (tuple, dict)) else (inputs,)
    if isinstance(examples, dict):
        return _export(torch, source.eval(), (), kwargs=examples, dims=dims), name, None
    return _export(torch, source.eval(), tuple(examples), dims=dims), name, None


def _export(torch, module, args, kwargs=None, dims=None):
    if dims:
        raise ValueError("dims: for dynamic shapes, give an ExportedProgram (torch.export with dynamic_shapes)")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import onnxscript  # noqa: F401  what the exporter of today needs

            program = torch.onnx.export(module, args, kwargs=kwargs, dynamo=True, verbose=False)
            return program.model_proto.SerializeToString()
        except ImportError:
            pass
        if not isinstance(module, torch.nn.Module):
            raise TypeError("an ExportedProgram needs the package onnxscript, which torch's exporter uses")
        memory = io.BytesIO()
        extra = {"dynamo": False} if "dynamo" in torch.onnx.export.__code__.co_varnames else {}
        torch.onnx.export(module, (*args, kwargs) if kwargs else args, memory, opset_version=17, **extra)
        return memory.getvalue()
