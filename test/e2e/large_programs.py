# SPDX-License-Identifier: Apache-2.0
"""large_programs.py TERN TARGET PROGRAM...: compiles large programs, by name, within a limit of processor time.

What takes n * n steps, or doubles with each let, takes hours on these; the limit leaves much room for slow machines.
"""
import os
import resource
import subprocess
import sys
import tempfile

LIMIT_S = 60  # of processor time; seconds are expected


def chained_lets(count, inside):
    """Lets of which each is used twice by the next, inside of a block or in a plain loop."""
    lets = ["let x0 = A[v]"] + [f"let x{k} = x{k - 1} * x{k - 1} + x{k - 1}" for k in range(1, count)]
    body = "\n".join(lets + [f"B[v] = x{count - 1}"])
    body = f"block b(v: spatial(256) = i) {{\n{body}\n}}" if inside else f"let v = i\n{body}"
    return f"func f(A: float32[256], B: float32[256]) {{ for i in 0..256 {{\n{body}\n}} }}"


def index_lets(count):
    lets = ["let x0 = i"] + [f"let x{k} = (x{k - 1} * 3 + x{k - 1} // 7) % 1000" for k in range(1, count)]
    body = "\n".join(lets + [f"B[i] = A[x{count - 1}]"])
    return f"func f(A: float32[1000], B: float32[256]) {{ for i in 0..256 {{\n{body}\n}} }}"


def statements(count):
    body = "\n".join(f"B[i, {k}] = A[i, {k * 7 % count}] + {k % 10}.0" for k in range(count))
    return f"func f(A: float32[64, {count}], B: float32[64, {count}]) {{ for i in 0..64 {{\n{body}\n}} }}"


def buffers(count):
    allocs = [f"alloc T{k}: float32[64]" for k in range(count)]
    loops = [f"for i in 0..64 {{ T{k}[i] = {f'T{k - 1}' if k else 'A'}[i] + 1.0 }}" for k in range(count)]
    body = "\n".join(allocs + loops)
    return f"func f(A: float32[64], B: float32[64]) {{\n{body}\nfor i in 0..64 {{ B[i] = T{count - 1}[i] }} }}"


def loops(count):
    body = "\n".join(f"for i in 0..64 {{ B[i] = A[i] + {k % 10}.0 }}" for k in range(count))
    return f"func f(A: float32[64], B: float32[64]) {{\n{body}\n}}"


def unrolled(count):
    return (f"func f(A: float32[{count}], B: float32[{count}]) {{ for i in 0..{count} unrolled {{ "
            "B[i] = A[i] * 2.0 + 1.0 } }")


def nested(count):
    return ("func f(A: float32[1], B: float32[1]) {" + "".join(f"for i{k} in 0..2 {{" for k in range(count)) +
            "B[0] = A[0] + 1.0" + "}" * (count + 1))


def parameters(count):
    params = ", ".join(f"s{k}: float32" for k in range(count))
    return f"func f(A: float32[4], {params}) {{ for i in 0..4 {{ A[i] = s{count - 1} }} }}"


def sum_of_terms(count):
    return ("func f(A: float32[64], B: float32[64]) { for i in 0..64 { B[i] = " + " + ".join(["A[i]"] * count) + " } }")


PROGRAMS = {
    "lets_in_block": lambda: chained_lets(2000, True),
    "lets_in_loop": lambda: chained_lets(2000, False),
    "many_lets": lambda: chained_lets(20000, False),
    "index_lets": lambda: index_lets(2000),
    "statements": lambda: statements(20000),
    "some_statements": lambda: statements(4000),
    "buffers": lambda: buffers(1000),
    "loops": lambda: loops(2000),
    "some_loops": lambda: loops(200),
    "unrolled": lambda: unrolled(512),
    "nested": lambda: nested(100),
    "parameters": lambda: parameters(3000),
    "sum": lambda: sum_of_terms(900),
}


def main():
    tern, target, *names = sys.argv[1:]
    for name in names:
        with tempfile.TemporaryDirectory() as work:
            source = os.path.join(work, name + ".tir")
            with open(source, "w", encoding="utf-8") as file:
                file.write(PROGRAMS[name]())
            output = os.path.join(work, "out.c" if target == "c" else "out.tern")
            subprocess.run([tern, "compile", source, "-t", target, "-o", output], check=True,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S)))
        print(f"{target}: {name}")


main()
