#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A module of torch: compiled, saved, loaded without torch's help, its tensors used without copies."""

import sys

import tern

try:
    import torch
except ImportError:
    print("torch is not installed")
    sys.exit(77)

module = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).eval()
x = torch.randn(8, 16)
exe = tern.compile(module, inputs=x)
exe.save("module.so")
y = torch.from_dlpack(tern.load("module.so")(x))
with torch.no_grad():
    torch.testing.assert_close(y, module(x), rtol=1e-4, atol=1e-4)
print(exe.profile(x))
