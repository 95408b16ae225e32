# SPDX-License-Identifier: Apache-2.0
"""The kernels of examples/kernels that the bench measures: arguments, sizes, and what torch does the same with. Imports nothing."""

# Tensor: name, dtype, shape, fill (bytes, floats, below:N, csr, or out). A number is a scalar argument.
ROWS, PER_ROW = 200000, 16
ATTENTION = [("Q", "float32", [1024, 64], "floats"), ("K", "float32", [1024, 64], "floats"), ("V", "float32", [1024, 64], "floats"), ("O", "float32", [1024, 64], "out")]
WORKLOADS = {
    "histogram": {"args": [("A", "uint8", [1 << 24], "bytes"), ("H", "int32", [256], "out")], "sizes": [1 << 24]},
    "histogram_atomic": {"args": [("A", "uint8", [1 << 24], "bytes"), ("H", "int32", [256], "out")], "sizes": [1 << 24], "peer": "histogram", "devices": ["cuda"]},
    "scatter_add": {"args": [("X", "float32", [65536, 128], "floats"), ("index", "uint8", [65536], "bytes"), ("Y", "float32", [256, 128], "out")],
                    "sizes": [65536, 128], "tolerance": 1e-3},
    "scatter_add_atomic": {"args": [("X", "float32", [65536, 128], "floats"), ("index", "uint8", [65536], "bytes"), ("Y", "float32", [256, 128], "out")],
                           "sizes": [65536, 128], "peer": "scatter_add", "devices": ["cuda"], "tolerance": 1e-3},
    "prefix_sum": {"args": [("X", "int32", [1 << 23], "below:100"), ("Y", "int32", [1 << 23], "out")], "sizes": [1 << 23]},
    "top_k": {"args": [("X", "float32", [256, 65536], "floats"), ("values", "float32", [256, 8], "out"), ("indices", "int32", [256, 8], "out")],
              "sizes": [256, 65536]},
    "top_k_threads": {"args": [("X", "float32", [256, 65536], "floats"), ("values", "float32", [256, 8], "out"), ("indices", "int32", [256, 8], "out")],
                      "sizes": [256, 65536], "peer": "top_k", "devices": ["cuda"]},
    "radix_sort": {"args": [("X", "uint32", [1 << 22], "bytes"), ("Y", "uint32", [1 << 22], "out")], "sizes": [1 << 22], "devices": ["cpu"]},
    "radix_sort_threads": {"args": [("X", "uint32", [1 << 22], "bytes"), ("Y", "uint32", [1 << 22], "out")], "sizes": [1 << 22], "peer": "radix_sort",
                           "devices": ["cuda"]},
    "radix_sort_warps": {"args": [("X", "uint32", [1 << 22], "bytes"), ("Y", "uint32", [1 << 22], "out")], "sizes": [1 << 22], "peer": "radix_sort",
                         "devices": ["cuda"]},
    "threefry": {"args": [("key", "uint32", [2], "bytes"), ("Y", "uint32", [2, 1 << 22], "out")], "sizes": [1 << 22]},
    "spmv": {"args": [("begin", "int32", [ROWS + 1], f"csr:{PER_ROW}"), ("column", "int32", [ROWS * PER_ROW], f"below:{ROWS}"),
                      ("value", "float32", [ROWS * PER_ROW], "floats"), ("x", "float32", [ROWS], "floats"), ("y", "float32", [ROWS], "out")], "sizes": [ROWS]},
    "smith_waterman": {"args": [("A", "uint8", [256, 256], "bases"), ("B", "uint8", [256, 128], "bases"), ("score", "int32", [256], "out")], "sizes": [256, 256],
                       "devices": ["cpu"]},
    "smith_waterman_warps": {"args": [("A", "uint8", [8192, 256], "bases"), ("B", "uint8", [8192, 128], "bases"), ("score", "int32", [8192], "out")], "sizes": [8192, 256],
                               "devices": ["cuda"]},
    "jacobi": {"args": [("U", "float32", [1024, 1024], "floats"), 10, ("V", "float32", [1024, 1024], "out")], "sizes": [1024, 1024, 10]},
    # CUDA C++ fuses multiplications and additions, so that points at the border take another number of steps.
    "mandelbrot": {"args": [("Y", "int32", [512, 768], "out")], "sizes": [512, 768], "cuda_tolerance": 256},
    "attention": {"args": ATTENTION, "sizes": [1024, 1024], "tolerance": 1e-5},
    "attention_threads": {"args": ATTENTION, "sizes": [1024, 1024], "tolerance": 1e-5, "devices": ["cuda"]},
}

# Sizes at which others publish figures (README.md), for GPUs: shapes that take the place of the above, what is counted (in billions), and
# how many there are, from the tensors by name.
LARGE = {
    "prefix_sum": ({"X": [1 << 25], "Y": [1 << 25]}, "elements", lambda t: 1 << 25),
    "radix_sort_warps": ({"X": [1 << 28], "Y": [1 << 28]}, "keys", lambda t: 1 << 28),
    "threefry": ({"Y": [2, 1 << 28]}, "bytes", lambda t: 8 << 28),
    "smith_waterman_warps": ({"A": [1 << 17, 512], "B": [1 << 17, 128], "score": [1 << 17]}, "cells", lambda t: (1 << 17) * 512 * 128),
    "mandelbrot": ({"Y": [8192, 12288]}, "steps", lambda t: t["Y"].sum().item()),
}


def chosen(device, only):
    """Names and workloads of a device."""
    return {name: work for name, work in WORKLOADS.items() if device in work.get("devices", ["cpu", "cuda"]) and only in name}


def enlarged(name, work):
    """A workload of LARGE."""
    shapes = LARGE[name][0]
    return {**work, "args": [spec if isinstance(spec, int) else (*spec[:2], shapes.get(spec[0], spec[2]), spec[3]) for spec in work["args"]]}


def torch_peers(torch, source):
    """Name -> function of the tensors by name; what torch has no operator for is compiled from `source` (peers.cu)."""
    functional = torch.nn.functional
    compiled = {}

    def launch(name, output, blocks, tensors, *sizes):
        if name not in compiled:
            compiled[name] = torch.cuda._compile_kernel(source[source.index("extern"):], name)
        result = torch.empty_like(output)
        compiled[name](grid=blocks, block=(256, 1, 1), args=[*tensors, result, *sizes])
        return result

    def threefry(t):
        n = t["Y"].shape[1]
        return launch("threefry", t["Y"], (-(-n // 256), 1, 1), [t["key"]], n)

    def mandelbrot(t):
        n, m = t["Y"].shape
        return launch("mandelbrot", t["Y"], (-(-m // 256), n, 1), [], n, m)

    def jacobi(t):
        v = t["U"].clone()
        for _ in range(20):
            w = v.clone()
            w[1:-1, 1:-1] = (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]) * 0.25
            v = w
        return v

    def spmv(t):
        if "matrix" not in t:
            t["matrix"] = torch.sparse_csr_tensor(t["begin"], t["column"], t["value"], size=(len(t["y"]), len(t["x"])))
        return t["matrix"] @ t["x"]

    top_k = lambda t: torch.topk(t["X"], 8).values
    radix_sort = lambda t: torch.sort(t["X"].view(torch.int32)).values
    histogram = lambda t: torch.bincount(t["A"], minlength=256)
    scatter = lambda t: torch.zeros_like(t["Y"]).index_add_(0, t["index"].int(), t["X"])
    attention = lambda t: functional.scaled_dot_product_attention(t["Q"][None, None], t["K"][None, None], t["V"][None, None], scale=0.125)[0, 0]
    return {
        "histogram": histogram, "histogram_atomic": histogram, "scatter_add": scatter, "scatter_add_atomic": scatter,
        "prefix_sum": lambda t: torch.cumsum(t["X"], 0, dtype=torch.int32),
        "top_k": top_k, "top_k_threads": top_k, "radix_sort_threads": radix_sort, "radix_sort_warps": radix_sort,
        "spmv": spmv, "jacobi": jacobi, "threefry": threefry, "mandelbrot": mandelbrot,
        "attention": attention, "attention_threads": attention,
    }
