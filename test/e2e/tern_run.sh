#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tern_run.sh TERN_RUN MAKE_TEST_FILES: the command, from its arguments to its exit code and messages.
set -eu
export LC_ALL=C
tern_run=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$2" "$directory"
cd "$directory"

fail() {
  echo "FAILED: $1" >&2
  echo "--- output:" >&2
  cat out >&2
  exit 1
}
# expect CODE TEXT ARGS...: runs tern-run, which must leave with CODE and print TEXT (a fixed string) somewhere.
expect() {
  code=$1 text=$2
  shift 2
  status=0
  "$tern_run" "$@" >out 2>&1 || status=$?
  [ "$status" -eq "$code" ] || fail "tern-run $*: exit code $status, expected $code"
  grep -q -F -e "$text" out || fail "tern-run $*: no \"$text\""
}

expect 0 "usage: tern-run FILE" --help
expect 2 "tern-run: error: no file is given (see --help)"
expect 2 "tern-run: error: unknown option --nosuch; see --help" m.so --nosuch 1
expect 2 "tern-run: error: --repeat needs a value" m.so --repeat
expect 2 "tern-run: error: --repeat: expected an integer, got \"x\"" m.so --repeat x
expect 2 "tern-run: error: --dim: expected name=value, got \"n\"" m.so --dim n
expect 2 "nosuch.so: cannot be opened" nosuch.so
expect 2 "--entry is needed: the functions are add, call" m.so
expect 2 "there is no function ad (did you mean add?); the functions are add, call" m.so --entry ad
expect 2 "altered.so: the file was altered or truncated" altered.so --entry add

for file in m.so m.tern; do
  expect 0 "add  cpu:0  n=4  " $file --entry add --dim n=4 --input A=ones --input B=ones --output C=c.npy --repeat 2
  grep -q -F "C: 4 float32 sum=8" out || fail "the sum is wrong"
  grep -q -E "^2 calls: best .*s, median .*s; on the device: median .*s$" out || fail "the times are missing"
  expect 0 "C: largest error 0 absolute, 0 relative; within 1e-05" $file --entry add --dim n=4 --input A=ones --input B=ones --check C=c.npy
  expect 1 "over 1e-05" $file --entry add --dim n=4 --input A=ones --input B=zeros --check C=c.npy
  expect 0 "within 0.5" $file --entry add --dim n=4 --input A=ones --input B=zeros --check C=c.npy --tol 0.5
  expect 0 "n=4" $file --entry add --input A=c.npy
done
expect 2 "shapes differ: (5) and (4)" m.so --entry add --dim n=5 --check C=c.npy
expect 2 "add has no dimension m; it has n" m.so --entry add --dim m=5
expect 2 "--output: add has no tensor D" m.so --entry add --output D=d.npy

# Models: y = x + x + w, with w = (1, 2, 3, 4).
expect 0 "model  cpu:0  n=4  " model.tern --dim n=4 --input x=ones --output y=y.npy --profile --trace trace.json
grep -q -F "y: 4 float32 sum=18" out || fail "the sum is wrong"
grep -q -E "^add +2 " out || fail "the profile is missing"
grep -q -F '"name":"add"' trace.json || fail "the trace is wrong"
expect 0 "y: largest error 0 absolute" model.tern --dim n=4 --input x=ones --check y=y.npy --repeat 3
expect 1 "over 1e-05" model.tern --dim n=4 --input x=zeros --check y=y.npy
expect 2 "x has 5 elements, and w has 4" model.tern --dim n=5

# How a model is run: y = 2 x and z = 3 x.
expect 0 "z: 4 float32 sum=12" outputs.tern --dim n=4 --input x=ones --threads 2 --cpus 0 --denormals keep --timeout 60
grep -q -F "y: 4 float32 sum=8" out || fail "y is missing"
expect 0 "y: 4 float32 sum=8" outputs.tern --dim n=4 --input x=ones --select y --profile
! grep -q -F "z:" out || fail "z was not selected"
grep -q -E "^add +1 " out || fail "what only z needs was computed"
expect 2 "the model has no output v; its outputs are: y, z" outputs.tern --dim n=4 --select v
expect 2 "the run was not over at its deadline, after " outputs.tern --dim n=4 --timeout 1e-9
expect 2 "--threads: expected 1 to 1024, got 0" outputs.tern --dim n=4 --threads 0
expect 2 "--cpus: expected CPUs as in 0-3,6, got \"3-1\"" outputs.tern --dim n=4 --cpus 3-1
expect 2 "there is no CPU 65536" outputs.tern --dim n=4 --cpus 65536
expect 2 "--denormals: expected flush or keep, got \"some\"" outputs.tern --dim n=4 --denormals some
for flag in --profile "--trace t.json" "--threads 2" "--select C"; do
  expect 2 "m.so is no model: --profile, --trace, --threads, --cpus, --denormals, --timeout, --select, --device, --graphs and --state are for models" m.so --entry add $flag
done
expect 2 "model has no input z" model.tern --input z=ones
expect 2 "altered_model.tern: the weights were altered: the hash of their bytes 0 to 16 is wrong, where w lie" altered_model.tern --dim n=4
expect 2 "short_model.tern: the container is truncated" short_model.tern --dim n=4
TERN_VERIFY=off expect 0 "sum=" altered_model.tern --dim n=4
TERN_VERIFY=eager expect 2 "the weights were altered" altered_model.tern --dim n=4
expect 0 "add  cpu:0" model.tern --entry add

# Batches: a call per line, words between tabs, in one process; a call that fails does not end it.
tab=$(printf '\t')
cat >calls <<END
m.so${tab}--entry${tab}add${tab}--dim${tab}n=4${tab}--input${tab}A=ones${tab}--input${tab}B=ones${tab}--output${tab}C=batch one.npy
m.so${tab}--entry${tab}ad
m.tern${tab}--entry${tab}add${tab}--dim${tab}n=4${tab}--input${tab}A=ones${tab}--input${tab}B=zeros${tab}--check${tab}C=batch one.npy
m.so${tab}--entry${tab}add${tab}--dim${tab}n=4${tab}--offset${tab}3
END
expect 1 "call 1 begins" --batch calls
grep -q "^call 1 ok" out || fail "call 1 is not ok"
grep -q "^call 2 failed: there is no function ad" out || fail "call 2 has not failed"
grep -q "^call 3 failed: a check does not hold" out || fail "call 3 has not failed"
# The host code of the tests knows no offsets.
grep -q "^call 4 failed: add wrote to memory of C that holds none of its elements" out || fail "call 4 has not failed"
cmp -s c.npy "batch one.npy" || fail "the batch wrote something else"
head -n 1 calls >first
expect 0 "call 1 ok" --batch first
expect 2 "tern-run: error: nosuch: cannot be opened" --batch nosuch
expect 2 "is a folder; --batch expects a file with a call on each line" --batch .
expect 2 "--batch: the lines of calls name their files" m.so --batch calls
expect 2 "a tensor cannot have the offset -1" m.so --entry add --dim n=4 --offset -1
