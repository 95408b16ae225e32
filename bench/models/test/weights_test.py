#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weights_test.py TERN: a compiled model whose weights are left out, and put in again, is the same bytes; with other weights it is refused."""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "tools")]


def main():
    try:
        import numpy as np
    except ImportError:
        print("SKIPPED: there is no numpy")
        return 77
    import weights_apart
    from model_builder import ModelBuilder

    tern = pathlib.Path(sys.argv[1])
    builder = ModelBuilder("net", opset=17, seed=3)
    x = builder.input("x", [5, 64])
    builder.output(builder.linear(builder.relu(builder.linear(x, "one", 64, 192)), "two", 192, 48), "y", [5, 48])
    with tempfile.TemporaryDirectory() as name:
        folder, apart = pathlib.Path(name), pathlib.Path(name) / "apart"
        apart.mkdir()
        builder.write(folder / "net.onnx")
        compiled = folder / "net.tern"
        subprocess.run([tern, "compile", folder / "net.onnx", "--prepack", "load", "-o", compiled], check=True, stdout=subprocess.DEVNULL)
        arrays = {key: array for key, array in builder.weights.items() if array.dtype == np.float32}
        weights_apart.split(compiled, arrays, apart)
        carried = (apart / "net.rest").stat().st_size
        assert carried == 0, f"{carried} bytes of weights are carried"
        assert weights_apart.join(apart, "net", arrays).read_bytes() == compiled.read_bytes(), "the file is another one"
        arrays["one.weight"] = arrays["one.weight"] + np.float32(1)
        other = weights_apart.join(apart, "net", arrays)
        done = subprocess.run([tern, "run", other], env=os.environ | {"TERN_VERIFY": "eager"}, capture_output=True, text=True, check=False)
        assert done.returncode != 0 and "altered" in done.stderr, done.stderr + done.stdout
    print("the same bytes; other weights are refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
