#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peer.py MODEL.onnx THREADS SECONDS: ONNX Runtime's time for the same."""

import sys
import time

import numpy as np
import onnxruntime as ort

path, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
options = ort.SessionOptions()
options.intra_op_num_threads = threads
options.log_severity_level = 3
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
port = session.get_inputs()[0]
x = np.zeros([1 if isinstance(n, str) else n for n in port.shape], np.float16 if "16" in port.type else np.float32)
session.run(None, {port.name: x})
best, end = 1e9, time.perf_counter() + seconds
while time.perf_counter() < end or best == 1e9:
    start = time.perf_counter()
    session.run(None, {port.name: x})
    best = min(best, time.perf_counter() - start)
print(f"{path} threads {threads}: ONNX Runtime {ort.__version__} {best * 1e6:.1f} us")
