#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The networks of networks.py as torch modules with the same weights. Needs numpy and torch (2.4 or later).

    from torch_networks import make
    module = make("resnet50", seed=1)                # in eval mode, float32, on the CPU
    logits = module(data=images)                     # inputs have the names they have in the .onnx; several outputs are a tuple
    print(module.weights_sha256)                     # as make.py prints it for the .onnx

    torch_networks.py SEED [NAME ...] [--onnx FOLDER]

checks each module: that its weights have the hash of those of networks.py, and, where onnxruntime is installed, that its outputs are those of
FOLDER/NAME.onnx, or of a model written for the check, within 1e-4 of their range.
"""
import argparse
import pathlib
import sys
import tempfile

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import networks
from model_builder import weights_sha256  # networks.py says where it is

TOLERANCE = 1e-4


# ---- ResNet-50

class ConvNorm(nn.Module):
    def __init__(self, channels, filters, kernel, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(channels, filters, kernel, stride, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(filters)

    def forward(self, x):
        return self.norm(self.conv(x))


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride, has_projection):
        super().__init__()
        self.reduce = ConvNorm(channels, width, 1)
        self.middle = ConvNorm(width, width, 3, stride)
        self.expand = ConvNorm(width, 4 * width, 1)
        self.project = ConvNorm(channels, 4 * width, 1, stride) if has_projection else nn.Identity()

    def forward(self, x):
        y = functional.relu(self.reduce(x))
        y = functional.relu(self.middle(y))
        return functional.relu(self.expand(y) + self.project(x))


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = ConvNorm(3, 64, 7, 2)
        stages, channels = [], 64
        for stage, (width, count) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
            blocks = []
            for block in range(count):
                blocks.append(Bottleneck(channels, width, 2 if stage > 0 and block == 0 else 1, has_projection=block == 0))
                channels = 4 * width
            stages.append(nn.Sequential(*blocks))
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(channels, 1000)

    def forward(self, data):
        x = functional.max_pool2d(functional.relu(self.stem(data)), 3, stride=2, padding=1)
        x = functional.adaptive_avg_pool2d(self.stages(x), 1)
        return self.head(x.flatten(1))


# ---- BERT-base and ViT-B/16

class Attention(nn.Module):
    """Self-attention; `mask` is added to the scores."""

    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(size, size) for _ in range(4))

    def forward(self, x, mask=None):
        q, k, v = (split_heads(linear(x), self.heads) for linear in (self.query, self.key, self.value))
        return self.output(join_heads(functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)))


def split_heads(x, heads):
    """[batch, tokens, heads * each] -> [batch, heads, tokens, each]"""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def join_heads(x):
    return x.transpose(1, 2).flatten(2)


class BertLayer(nn.Module):
    """Normalizes after each residual."""

    def __init__(self, size, heads, epsilon):
        super().__init__()
        self.attention = Attention(size, heads)
        self.norm1 = nn.LayerNorm(size, epsilon)
        self.up = nn.Linear(size, 4 * size)
        self.down = nn.Linear(4 * size, size)
        self.norm2 = nn.LayerNorm(size, epsilon)

    def forward(self, x, mask):
        x = self.norm1(self.attention(x, mask) + x)
        return self.norm2(self.down(functional.gelu(self.up(x))) + x)


class BertBase(nn.Module):
    def __init__(self, size=768, heads=12, epsilon=1e-12):
        super().__init__()
        self.words = nn.Embedding(30522, size)
        self.positions = nn.Embedding(512, size)
        self.kinds = nn.Embedding(2, size)
        self.norm = nn.LayerNorm(size, epsilon)
        self.layers = nn.ModuleList(BertLayer(size, heads, epsilon) for _ in range(12))
        self.pooler = nn.Linear(size, size)

    def forward(self, input_ids, attention_mask, token_type_ids):
        x = self.words(input_ids) + self.kinds(token_type_ids)
        x = self.norm(x + self.positions.weight[:input_ids.shape[1]])
        mask = (1 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class VitLayer(nn.Module):
    """Normalizes before attention and before the MLP."""

    def __init__(self, size, heads, epsilon):
        super().__init__()
        self.norm1 = nn.LayerNorm(size, epsilon)
        self.attention = Attention(size, heads)
        self.norm2 = nn.LayerNorm(size, epsilon)
        self.up = nn.Linear(size, 4 * size)
        self.down = nn.Linear(4 * size, size)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class VitB16(nn.Module):
    def __init__(self, size=768, heads=12, epsilon=1e-6):
        super().__init__()
        self.patches = nn.Conv2d(3, size, 16, stride=16)
        self.class_token = nn.Parameter(torch.zeros(1, 1, size))
        self.positions = nn.Parameter(torch.zeros(1, 197, size))
        self.layers = nn.Sequential(*(VitLayer(size, heads, epsilon) for _ in range(12)))
        self.norm = nn.LayerNorm(size, epsilon)
        self.head = nn.Linear(size, 1000)

    def forward(self, pixels):
        x = self.patches(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        return self.head(self.norm(self.layers(x))[:, 0])


# ---- a block of Llama

def rotate(x, cos, sin):
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-high, low], dim=-1) * sin


class LlamaBlock(nn.Module):
    def __init__(self, size=2048, heads=32, groups=8, inner=8192, longest=4096):
        super().__init__()
        self.heads, self.groups, each = heads, groups, size // heads
        self.norm1 = nn.RMSNorm(size, 1e-5)
        self.query = nn.Linear(size, size, bias=False)
        self.key = nn.Linear(size, groups * each, bias=False)
        self.value = nn.Linear(size, groups * each, bias=False)
        self.output = nn.Linear(size, size, bias=False)
        self.norm2 = nn.RMSNorm(size, 1e-5)
        self.gate = nn.Linear(size, inner, bias=False)
        self.up = nn.Linear(size, inner, bias=False)
        self.down = nn.Linear(inner, size, bias=False)
        self.register_buffer("cos", torch.zeros(longest, each))
        self.register_buffer("sin", torch.zeros(longest, each))

    def forward(self, hidden, position_ids, mask, past_key, past_value):
        y = self.norm1(hidden)
        cos, sin = self.cos[position_ids][:, None], self.sin[position_ids][:, None]
        q = rotate(split_heads(self.query(y), self.heads), cos, sin)
        k = torch.cat([past_key, rotate(split_heads(self.key(y), self.groups), cos, sin)], dim=2)
        v = torch.cat([past_value, split_heads(self.value(y), self.groups)], dim=2)
        # Not enable_gqa: of older versions of torch, no fused kernel takes it together with a mask in float32.
        each_k, each_v = (x.repeat_interleave(self.heads // self.groups, dim=1) for x in (k, v))
        mixed = functional.scaled_dot_product_attention(q, each_k, each_v, attn_mask=mask)
        x = hidden + self.output(join_heads(mixed))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y)), k, v


# ---- weights

MODULES = {"resnet50": ResNet50, "bert_base": BertBase, "vit_b16": VitB16, "llama_block": LlamaBlock}


def is_weight(array):
    """Not the operands of shape arithmetic, nor numbers such as epsilon, which are in a module's code."""
    return array.dtype == np.float32 and array.ndim > 0


def module_of(builder):
    """With the builder's weights. Their names are those of the module's parameters and buffers; one too many, one missing or one of another shape
    is an error."""
    # ONNX's MatMul has B as K x N, nn.Linear as N x K.
    transposed = {node.inputs[1] for node in builder.nodes if node.op_type == "MatMul"}

    def turned(name, array):
        return array.T if name in transposed else array

    weights = {name: torch.from_numpy(turned(name, array)).clone(memory_format=torch.contiguous_format)
               for name, array in builder.weights.items() if is_weight(array)}
    with torch.device("meta"):  # without torch's own random weights, which would be replaced
        module = MODULES[builder.name]()
    module.load_state_dict(weights, strict=True, assign=True)
    state = module.state_dict()
    module.weights_sha256 = weights_sha256(
        {name: turned(name, state[name].numpy()) if is_weight(array) else array for name, array in builder.weights.items()})
    return module.eval().requires_grad_(False)


def make(name, seed):
    """A module; `weights_sha256` is the hash of the weights it was given."""
    if name not in MODULES:
        raise ValueError(f"there is no network {name}; there are {', '.join(MODULES)}")
    return module_of(networks.NETWORKS[name](seed))


# ---- the check

def padded_inputs(name):
    """A batch of two, one of them padded. example_inputs() has neither: a mask that is ignored would go unseen."""
    random = np.random.RandomState(8)
    if name == "bert_base":
        ids, kinds = (random.randint(0, rows, [2, 9]).astype(np.int64) for rows in (30522, 2))
        mask = (np.arange(9)[None, :] < np.array([[9], [5]])).astype(np.int64)
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
    one = networks.example_inputs(name, tokens=6, past=3)
    two = {key: (array[:, :, ::-1] if key.startswith("past") else array[:, ::-1]).copy() for key, array in one.items() if key != "mask"}
    two["position_ids"] = one["position_ids"] + 4000
    two["mask"] = one["mask"].copy()
    two["mask"][..., :2] = np.finfo(np.float32).min
    return {key: np.concatenate([array, two[key]]) for key, array in one.items()}


def outputs_of(module, builder, feeds):
    with torch.inference_mode():
        results = module(**{name: torch.from_numpy(array) for name, array in feeds.items()})
    return dict(zip([name for name, _, _ in builder.outputs], results if isinstance(results, tuple) else (results,), strict=True))


def largest_error(actual, expected):
    """Of all outputs, relative to the range of each; infinite where a shape differs or something is not a number."""
    worst = 0.0
    for name, want in expected.items():
        got = actual[name].numpy()
        if got.shape != want.shape:
            return np.inf
        error = np.abs(got.astype(np.float64) - want).max() / max(float(np.ptp(want)), 1e-30)
        worst = max(worst, error if np.isfinite(error) else np.inf)
    return worst


def check(name, seed, runtime, folder):
    """Prints what it finds. Returns what is wrong, or nothing."""
    builder = networks.NETWORKS[name](seed)
    module, wanted = module_of(builder), builder.weights_sha256()
    print(f"{name}: sha256 {module.weights_sha256}", end="", flush=True)
    if module.weights_sha256 != wanted:
        return f"those of networks.py have {wanted}"
    if not runtime:
        return ""
    with tempfile.TemporaryDirectory() as temporary:
        path = (folder or pathlib.Path(temporary)) / f"{name}.onnx"
        if not folder:
            builder.write(path)
        session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    all_feeds = [networks.example_inputs(name)] + ([padded_inputs(name)] if name in ("bert_base", "llama_block") else [])
    outputs = [info.name for info in session.get_outputs()]
    error = max(largest_error(outputs_of(module, builder, feeds), dict(zip(outputs, session.run(None, feeds)))) for feeds in all_feeds)
    print(f", outputs of {path.name} within {error:.1e} of their range", end="")
    return "" if error <= TOLERANCE else f"more than {TOLERANCE} of the range"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of " + ", ".join(MODULES))
    parser.add_argument("--onnx", type=pathlib.Path, metavar="FOLDER", help="of the files that make.py wrote")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in MODULES]
    if unknown:
        parser.error(f"there is no network {', '.join(unknown)}; there are {', '.join(MODULES)}")
    names = arguments.names or list(MODULES)
    try:
        import onnxruntime
    except ImportError:
        if arguments.onnx:
            parser.error("--onnx needs onnxruntime, which is not installed")
        onnxruntime = None
        print("onnxruntime is not installed: outputs are not compared")
    if arguments.onnx:
        missing = [str(path) for path in (arguments.onnx / f"{name}.onnx" for name in names) if not path.is_file()]
        if missing:
            parser.error(f"there is no {', '.join(missing)}; make.py {arguments.seed} -o {arguments.onnx} writes them")
    wrong = 0
    for name in names:
        fault = check(name, arguments.seed, onnxruntime, arguments.onnx)
        print(f"  WRONG: {fault}" if fault else "", flush=True)
        wrong += bool(fault)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
