#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants bugs in the compiler, one at a time, and checks that the random programs find each of them.

The bugs are planted in a copy of the sources under build/seeded. usage: test/fuzz/seeded_bugs.py [NUMBER...]
"""
import os
import re
import shutil
import subprocess
import sys

COPY = "build/seeded"
BUILD = COPY + "/build/release"
PROGRAMS = 2000

# (what is wrong, file, the text there, what it becomes)
BUGS = [
    ("the remainder is taken for smaller than it can be", "tern/arith/bounds.cc",
     "int64_t hi = IsInf(b.hi) ? kPosInf : b.hi - 1;", "int64_t hi = IsInf(b.hi) ? kPosInf : b.hi - 2;"),
    ("`or` with false is false", "tern/arith/simplify.cc",
     "int64_t neutral = kind == NodeKind::kAnd;", "int64_t neutral = 1;"),
    ("a value loaded before a loop is taken for what the loop reads", "tern/tir/transform/eliminate_common_subexpressions.cc",
     "    NoteWrites(node->body);\n    return node->With(min", "    return node->With(min"),
    ("a store that the next iteration reads is dead", "tern/tir/transform/remove_dead_code.cc",
     "    NoteReads(node->body);\n    threads_ +=", "    threads_ +="),
    ("a loop of one iteration is dropped", "tern/tir/transform/simplify.cc",
     "analyzer_.Bounds(node->extent).hi <= 0", "analyzer_.Bounds(node->extent).hi <= 1"),
    ("the dead branch is kept", "tern/tir/transform/simplify.cc",
     "if (*known) return Mutate(node->then_case);", "if (!*known) return Mutate(node->then_case);"),
    ("floor division truncates whatever the sign", "tern/tir/transform/legalize/lower_floor_division.cc",
     "if (!not_negative) return", "if (!not_negative && !self.dtype().is_scalar()) return"),
    ("a reduction is initialised at every step of its last axis but one", "tern/tir/transform/blocks/lower_blocks.cc",
     "first = first ? first && at_start : at_start;", "first = at_start;"),
    ("the init of an empty reduction runs", "tern/tir/transform/blocks/decompose_reductions.cc",
     "if (!arith::Analyzer().CanProve(runs))", "if (false)"),
    ("iterations are taken for independent", "tern/tir/transform/loops/vectorize_loops.cc",
     "if (IterationsAreIndependent(loop, distinct_, analyzer_)) return", "if (true) return"),
    ("unrolling starts at 0", "tern/tir/transform/loops/unroll_loops.cc",
     "Expr value = node->min + ir::IntImmNode", "Expr value = ir::IntImmNode"),
    ("a vector store writes its first lanes before it reads the last", "tern/tir/transform/loops/scalarize_vectors.cc",
     "if (Reads(value) || Reads(index) || (predicate.get() && Reads(predicate))) {", "if (false) {"),
    ("a lane that is off is written where vectors are scalars", "tern/tir/transform/loops/scalarize_vectors.cc",
     "if (!predicate) return store;", "return store;"),
    ("a masked load of the frame gives what is there", "tern/codegen/llvm/codegen_llvm.cc",
     "return builder_.CreateSelect(mask, all, llvm::Constant::getNullValue(all->getType()));", "return all;"),
    ("the tail of a vectorized loop has a lane too many", "tern/tir/transform/loops/lane_vectorizer.cc",
     "if (!strict) left_over = left_over", "if (strict) left_over = left_over"),
    ("an index of a flat buffer skips a dimension", "tern/tir/transform/memory/flatten_buffers.cc",
     "flat = flat * buffer->shape[d];", "flat = flat * buffer->shape[0];"),
    ("one thread too few", "tern/schedule/bind_threads.cc",
     "body = IfThenElseNode::Make(index < total, body, {}, span);",
     "body = IfThenElseNode::Make(index < total - Expr(1), body, {}, span);"),
    ("unsigned integers are compared as signed", "tern/codegen/llvm/codegen_llvm_expr.cc",
     "return is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;",
     "return llvm::CmpInst::ICMP_SLT;"),
]


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def build():
    result = run("cmake", "--build", BUILD, "-j2", "--target", "tern_fuzz_passes")
    if result.returncode != 0:
        sys.exit(result.stdout[-4000:])


def try_bug(number, what, path, text, planted):
    file = os.path.join(COPY, path)
    with open(file) as f:
        source = f.read()
    if source.count(text) != 1:
        sys.exit(f"bug {number}: {path} has the text {source.count(text)} times: {text}")
    with open(file, "w") as f:
        f.write(source.replace(text, planted))
    build()
    result = run(f"{BUILD}/bin/tern_fuzz_passes", "--count", str(PROGRAMS), "--targets", "llvm/3")
    with open(file, "w") as f:
        f.write(source)
    found = re.search(r"seed (\d+): (?:failed|crashed), stage: (.*)", result.stdout)
    print(f"{number:3}  {'program ' + found[1] if found else 'NOT FOUND':14}  {found[2] if found else '':44}  {what}", flush=True)
    return found is not None


def main():
    wanted = [int(arg) for arg in sys.argv[1:]] or range(1, len(BUGS) + 1)
    for file in run("git", "ls-files", "--cached", "--others", "--exclude-standard").stdout.split("\n"):
        if file and os.path.isfile(file):
            os.makedirs(os.path.join(COPY, os.path.dirname(file)), exist_ok=True)
            shutil.copy2(file, os.path.join(COPY, file))
    configured = run("cmake", "--preset", "release", cwd=COPY)
    if configured.returncode != 0:
        sys.exit(configured.stdout)
    found = [try_bug(number, *BUGS[number - 1]) for number in wanted]
    print(f"{sum(found)} of {len(found)} planted bugs were found")
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
