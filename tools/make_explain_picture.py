#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a picture of what `tern explain` prints, for pages that cannot run it.

    tools/make_explain_picture.py build/release/bin/tern docs/images/explain.svg
"""
import html
import re
import subprocess
import sys

COMMAND = ["explain", "test/models/mnist.onnx"]
CHARACTER, LINE, LEFT, TOP = 7.25, 18, 18, 52  # in pixels


def coloured(line):
    """A line with rules, amounts and headings in colours."""
    text = html.escape(line)
    if line.startswith("call "):
        return f'<tspan class="h">{text}</tspan>'
    text = re.sub(r"\b(direct_convolution|winograd|packed_matmul|parallel_loops)\b", r'<tspan class="r">\1</tspan>', text)
    return re.sub(r"(\d[\d.]*) (k|M|G)?(FLOP|B)\b", r'<tspan class="n">\1 \2\3</tspan>', text)


def main():
    tern, output = sys.argv[1:]
    text = subprocess.run([tern, *COMMAND], check=True, capture_output=True, text=True).stdout
    lines = [f"$ tern {' '.join(COMMAND)}", *text.rstrip().splitlines()]
    width = int(max(map(len, lines)) * CHARACTER + 2 * LEFT)
    height = TOP + LINE * len(lines) + 10
    rows = "\n".join(f'<text x="{LEFT}" y="{TOP + LINE * i}" xml:space="preserve">{coloured(line)}</text>' for i, line in enumerate(lines) if line)
    with open(output, "w", encoding="utf-8") as file:
        file.write(f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">
<style>text {{ font: 12px "DejaVu Sans Mono", ui-monospace, Menlo, Consolas, monospace; fill: #d8e2e5 }} .h {{ fill: #8fa3aa }} .r {{ fill: #6fd0a8 }} .n {{ fill: #e8b66b }}</style>
<rect width="100%" height="100%" rx="10" fill="#14222a"/>
<circle cx="20" cy="18" r="5" fill="#e0685f"/><circle cx="38" cy="18" r="5" fill="#e3b14c"/><circle cx="56" cy="18" r="5" fill="#5fb56c"/>
{rows}
</svg>
""")


if __name__ == "__main__":
    main()
