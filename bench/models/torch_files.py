# SPDX-License-Identifier: Apache-2.0
"""Models that come as .onnx files, as torch modules with the weights of the file. Needs numpy and torch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional

import randomize
from torch_networks import ResNet50

PARTS = {"w": "conv.weight", "bn_s": "norm.weight", "bn_b": "norm.bias", "bn_rm": "norm.running_mean", "bn_riv": "norm.running_var"}
BRANCHES = {"branch2a": "reduce", "branch2b": "middle", "branch2c": "expand", "branch1": "project"}


def initializers(path):
    """(name, array) of those in float32."""
    graph = randomize.all_of(memoryview(path.read_bytes()), 7)[0]
    for tensor in randomize.all_of(graph, 5):
        shape = randomize.int64s_in(tensor, 1)
        raw = randomize.all_of(tensor, 9)
        if raw and randomize.all_of(tensor, 2) == [1]:
            yield randomize.text_of(tensor, 8), np.frombuffer(raw[0], dtype="<f4").reshape(shape).copy()


class LightResNet50(ResNet50):
    """caffe2's, with a softmax behind the head."""

    def forward(self, data):
        return functional.softmax(super().forward(data), dim=-1)


def resnet_name(name):
    """gpu_0/res3_0_branch2a_bn_s_0 -> stages.1.0.reduce.norm.weight"""
    name = name.removeprefix("gpu_0/").removesuffix("_0")
    if name.startswith("pred_"):
        return {"pred_w": "head.weight", "pred_b": "head.bias"}[name]
    if "conv1" in name:
        return "stem." + PARTS[name.removeprefix("res_").removeprefix("conv1_")]
    stage, block, branch, part = name.removeprefix("res").split("_", 3)
    return f"stages.{int(stage) - 2}.{block}.{BRANCHES[branch]}.{PARTS[part]}"


def light_resnet50(path, seed):
    module = LightResNet50()
    # Small ones are in the file as they are, beside numbers that nothing reads.
    small = {name: array for name, array in initializers(path) if name.rsplit("_", 2)[-2] in ("s", "b", "rm", "riv")}
    weights = small | dict(randomize.weights(seed, path))
    state = {resnet_name(name): torch.from_numpy(array) for name, array in weights.items()}
    wanted = {name for name in module.state_dict() if not name.endswith("num_batches_tracked")}
    if wanted != set(state):
        raise ValueError(f"{path} and the module have different weights: {sorted(wanted ^ set(state))[:3]}")
    module.load_state_dict(state, strict=False)
    return module


class EncoderLayer(nn.Module):
    """Normalizes after each residual. Heads attend along the first axis, as torch's do without batch_first."""

    def __init__(self, size, heads, inner):
        super().__init__()
        self.heads = heads
        self.in_proj, self.out_proj = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.linear1, self.linear2 = nn.Linear(size, inner), nn.Linear(inner, size)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).permute(1, 2, 0, 3) for part in self.in_proj(x).chunk(3, dim=-1))
        mixed = functional.scaled_dot_product_attention(q, k, v).permute(2, 0, 1, 3).flatten(2)
        x = self.norm1(x + self.out_proj(mixed))
        return self.norm2(x + self.linear2(functional.relu(self.linear1(x))))


class TinyBert(nn.Module):
    def __init__(self, words=30522, size=16, heads=2, inner=32):
        super().__init__()
        self.encoder, self.fc = nn.Embedding(words, size), nn.Linear(size, words)
        self.layers = nn.Sequential(*(EncoderLayer(size, heads, inner) for _ in range(2)))

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.fc(self.layers(self.encoder(input_ids * attention_mask + token_type_ids)))


def bert_mlm_tiny(path, _):
    """Both layers have the same weights, and all biases of a norm are those of the projection, as the file has it."""
    found = {name: torch.from_numpy(array) for name, array in initializers(path)}
    prefix, module = "transformer_encoder.layers.0.", TinyBert()
    bias, scale = found[prefix + "self_attn.out_proj.bias"], found[prefix + "norm1.weight"]
    layer = {"in_proj.weight": found["onnx::MatMul_264"].T, "in_proj.bias": found[prefix + "self_attn.in_proj_bias"],
             "out_proj.weight": found[prefix + "self_attn.out_proj.weight"], "out_proj.bias": bias,
             "linear1.weight": found["onnx::MatMul_265"].T, "linear1.bias": found[prefix + "linear1.bias"],
             "linear2.weight": found["onnx::MatMul_266"].T, "linear2.bias": found[prefix + "linear2.bias"],
             "norm1.weight": scale, "norm1.bias": bias, "norm2.weight": scale, "norm2.bias": bias}
    state = {f"layers.{i}.{name}": array for i in range(2) for name, array in layer.items()}
    state |= {"encoder.weight": found["encoder.weight"], "fc.weight": found["onnx::MatMul_270"].T, "fc.bias": found["fc.bias"]}
    module.load_state_dict(state, strict=True)
    return module


FILES = {make.__name__: make for make in (light_resnet50, bert_mlm_tiny)}


def make(path, seed):
    """The module of a file of FILES; light models have the random weights that randomize.py gives them."""
    return FILES[path.stem](path, seed).eval().requires_grad_(False)
