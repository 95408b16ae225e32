#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# target_table.sh BUILD [FILE [KIND...]]: compiles a kernel (.tir) or a model (.onnx, with recorded inputs and outputs beside it, MODEL.NAME.npy)
# for every target there is, or for these kinds, and prints what came of it: the file, its size, the time that took, where it was executed,
# and the largest error, of a kernel against the interpreter, of a model against what is recorded. BUILD/../cross-* hold tern-run for other
# machines. A stand-in for a device's driver is a folder of libraries, lib/standin/KIND of this build or of another beside it.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd) file=${2:-$root/examples/kernels/bias_gelu.tir}
tern=$build/bin/tern
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export POCL_CACHE_DIR=$work/pocl TERN_CACHE=0

is_model=0 data=()
if [[ $file == *.onnx ]]; then
  is_model=1 program=$file
  while read -r role name; do
    data+=("$([[ $role == input ]] && echo --input || echo --check)" "$name=${file%.onnx}.$name.npy")
  done < <("$tern" inspect "$file" | sed -nE 's/^(input|output) +([^:]*): .*/\1 \2/p')
else
  # Sizes that are no multiple of anything.
  program=$work/$(basename "$file")
  {
    grep -v '^# cts:' "$file"
    echo "# cts: dims n=61 m=71"
  } >"$program"
fi
"$tern" targets >"$work/targets" || exit 1
# fact KIND WORD: what `tern targets` says of a kind, the lines that start with WORD.
fact() { awk -v kind="$1" -v word="$2" '/^[a-z0-9_]+  / { current = $1 } current == kind && $1 == word { $1 = ""; print substr($0, 2) }' "$work/targets"; }

failures=0
line() { printf '%-38s %-36s %9s %9s   %-40s %s\n' "$@"; }
line target emitted bytes compiled executed "largest error"

# On a terminal, a row that is being made.
pending() { [[ ! -t 1 ]] || printf '\033[2m%-38s %s\033[0m\r' "$1" "$2"; }
clear_pending() { [[ ! -t 1 ]] || printf '\033[K'; }

# row NAME TARGET FILE WHERE [COMMAND...]: compiles to FILE; the command runs the suite's case, WHERE says on what. Without a
# command WHERE says why there is none. A model is run by run_model instead.
row() {
  local name=$1 target=$2 file=$work/$3 where=$4 start emitted time text error=-
  shift 4
  pending "$name" "compiling"
  start=$(date +%s%N)
  if ! "$tern" compile "$program" -t "$target" -o "$file" >/dev/null 2>"$work/stderr"; then
    clear_pending
    if ((is_model)) && [[ $(fact "${name%%,*}" role) == device ]]; then
      printf '%-38s not yet: %s\n' "$name" "$(sed -n '1s/^tern: error: //p' "$work/stderr" | cut -c -120)"
      return
    fi
    line "$name" "FAILED: $(head -n 1 "$work/stderr" | cut -c -80)" - - - -
    failures=$((failures + 1))
    return
  fi
  time=$((($(date +%s%N) - start) / 1000000))
  emitted=$(emitted_as "$file")
  if (($#)); then
    pending "$name" "running: $where"
    if ((is_model)); then text=$(run_model "$file" "$@" 2>&1); else text=$("$@" --program "$program" --full -v 2>&1); fi
    case $? in
      0) error=$(sed -nE 's/^ok .*largest error (.*)/\1/p; s/^.*: largest error ([^ ]*) absolute.*/\1/p' <<<"$text") ;;
      77) where=$(sed -n "s/^SKIPPED: //; s|$root/||; s|build/[^ ]*/../|build/|; s/ (.*//; 1p" <<<"$text") ;;
      *) error="FAILED: $(grep -m 1 -E 'FAIL|error' <<<"$text")" && failures=$((failures + 1)) ;;
    esac
  fi
  clear_pending
  line "$name" "$emitted" "$(stat -c %s "$file")" "$time ms" "$where" "$error"
}

# run_model FILE COMMAND...: the command is what runs the suite; what stands before `tern cts` in it (an emulator, a driver's
# environment) runs the model too.
run_model() {
  local file=$1 before=() machine
  shift
  while (($#)) && [[ $1 != "$tern" ]]; do
    before+=("$1")
    shift
  done
  case "${before[*]}" in
    */emulated.sh)
      machine=$3
      local runner=$build/../cross-$machine/bin/tern-run
      command -v "qemu-$machine" >/dev/null || { echo "SKIPPED: qemu-$machine is not installed" && return 77; }
      [[ -x $runner ]] || { echo "SKIPPED: build/cross-$machine is not built" && return 77; }
      "qemu-$machine" -L "/usr/$machine-linux-gnu" "$runner" "$file" "${data[@]}"
      ;;
    *.sh | *.sh\ * | *TERN_BUILD=*)
      # Lavapipe's environment is one for any program; others run the suite alone.
      [[ ${before[0]} == */with_lavapipe.sh ]] || { echo "SKIPPED: the suite alone runs here" && return 77; }
      "${before[@]}" "$tern" run "$file" "${data[@]}"
      ;;
    *) "${before[@]}" "$tern" run "$file" "${data[@]}" ;;
  esac
}

# "a.tern" -> ".tern: x86_64-linux-gnu, cl"
emitted_as() {
  local parts
  parts=$("$tern" inspect "$1" 2>/dev/null | sed -nE 's/^host code +//p; s/^source +module [0-9]+, ([a-z0-9]+):.*/\1/p' | sort -u | paste -sd' ')
  echo ".${1##*.}${parts:+ with ${parts// /, }}"
}

device_rows() {
  local kind=$1 target=$1 name standin= folder
  for folder in "$build"/../*/lib/standin/"$kind" "$build/lib/standin/$kind"; do
    ! compgen -G "$folder/lib*" >/dev/null || standin=$folder
  done
  name=$(fact "$kind" device | head -n 1 | cut -d' ' -f2- | sed 's/^ *//')
  if [[ $name ]]; then
    local with=()
    case "$name" in
      *llvmpipe*) with=("$root/tern/backend/vulkan/test/with_lavapipe.sh" "$build") ;;
    esac
    case "$name" in
      *pthread* | *llvmpipe* | *SwiftShader* | *pocl*) name="software driver (${name:0:20})" ;;
    esac
    row "$kind" "$kind" "$kind.tern" "${name:0:40}" "${with[@]}" "$tern" cts "$kind"
  elif [[ $standin ]]; then
    # It may want code that says more.
    [[ ! -e $standin/target ]] || target=$(<"$standin/target")
    row "$kind" "$target" "$kind.tern" "stand-in driver" env LD_LIBRARY_PATH="$standin" TERN_STANDIN_CACHE="$work/standin" "$tern" cts "$target"
  elif grep -qs '^# Runs on: ' "$root/tern/backend/$kind/test/cts.sh"; then
    local own=$root/tern/backend/$kind/test/cts.sh
    row "$kind" "$kind" "$kind.tern" "$(sed -n 's/^# Runs on: //p' "$own")" env TERN_BUILD="$build" "$own" "$tern" "$kind"
  else
    row "$kind" "$kind" "$kind.tern" "needs device"
  fi
}

# A kind that compiles for other machines does so for all that are linked for, and runs where they are emulated.
machine_rows() {
  local kind=$1 machine
  row "$kind" "$kind" "$kind.so" "natively" "$tern" cts "$kind"
  fact "$kind" attribute | grep -q -e '^-mtriple' || return 0
  for machine in aarch64 riscv64 x86_64; do
    [[ $machine != "$(uname -m)" ]] || continue
    row "$kind, $machine" "$kind -mtriple=$machine-linux-gnu" "$machine.so" "emulator (qemu-$machine)" \
      "$root/test/cts/emulated.sh" "$tern" "$build/.." "$machine" "$kind -mtriple=$machine-linux-gnu" --
  done
  ((!is_model)) || return 0  # of functions alone
  row "$kind, wasm32" "$kind -mtriple=wasm32-unknown-unknown" wasm32.wasm "node" "$root/test/cts/wasm.sh" "$tern"
  for machine in arm-linux-gnueabihf s390x-linux-gnu; do
    row "$kind, ${machine%%-*}" "$kind -mtriple=$machine" "$machine.o" "object alone"
  done
}

plain_rows() {
  ((!is_model)) || return 0
  fact "$1" attribute | grep -q -e '^-api' || return 0
  row "$1, plain functions" "$1 -api=plain" plain.c "natively" "$tern" cts "$1 -api=plain"
  row "$1, plain functions, cortex-m3" "$1 -api=plain" cortex.c "emulator (qemu-system-arm)" "$root/test/cts/plain.sh" "$tern" cortex-m3
}

kinds=("${@:3}")
((${#kinds[@]})) || mapfile -t kinds < <(awk '/^[a-z0-9_]+  / { print $1 }' "$work/targets")
for kind in "${kinds[@]}"; do
  [[ $(fact "$kind" codegen) == yes* ]] || { line "$kind" "codegen $(fact "$kind" codegen)" - - - - && continue; }
  case "$(fact "$kind" role) $kind" in
    device*) device_rows "$kind" ;;
    # What all are compared with; it makes no files.
    *" interp") ;;
    *) machine_rows "$kind" && plain_rows "$kind" ;;
  esac
done
exit $((failures > 0))
