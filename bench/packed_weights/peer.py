#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peer.py MODEL.onnx COPIES THREADS SECONDS: ONNX Runtime's time for the same."""

import sys
import time

import numpy as np
import onnxruntime as ort

path, copies, threads, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
options = ort.SessionOptions()
options.intra_op_num_threads = threads
options.log_severity_level = 3
sessions = [ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]) for _ in range(copies)]
port = sessions[0].get_inputs()[0]
x = np.zeros([1 if isinstance(n, str) else n for n in port.shape], np.float16 if "16" in port.type else np.float32)
best, end, again = 1e9, time.perf_counter() + seconds, 64 if copies == 1 else 1
while time.perf_counter() < end or best == 1e9:
    start = time.perf_counter()
    for _ in range(again):
        for session in sessions:
            session.run(None, {port.name: x})
    best = min(best, (time.perf_counter() - start) / again / copies)
print(f"{path} copies {copies} threads {threads}: ONNX Runtime {ort.__version__} {best * 1e6:.1f} us")
