#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [OPTIONS]: checks and measures this folder's kernels on this machine's device. Needs its driver; for the conformance suite a
# C compiler; to compare, python3 with torch. A part that fails is reported, and the rest goes on.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 2

usage() {
  cat <<'END'
usage: run.sh [--device KIND] [--only PART] [--quick] [--limit SECONDS]

  --device KIND    this kind of device alone (default: all are checked, the first one is measured)
  --only PART      bench (times, beside torch's and bare launches), check (results against the interpreter's), cts (the
                   conformance suite) or python (torch's arrays, where `import tern` works); may stand several times
  --quick          few repeats, the smoke tier of the suite, no torch.compile
  --limit SECONDS  what does not fit is skipped (240)

The table is printed and stands in results/, as results.tsv and results.json, beside what the parts printed.
END
}

devices=() parts=() quick=0 limit=240
while (($#)); do
  case "$1" in
    --device | --only | --limit) [[ $# -gt 1 ]] || { echo "run.sh: error: $1 needs a value" >&2; exit 2; } ;;&
    --device) devices+=("$2") && shift ;;
    --only) parts+=("$2") && shift ;;
    --limit) limit=$2 && shift ;;
    --quick) quick=1 ;;
    -h | --help) usage && exit 0 ;;
    *) echo "run.sh: error: unknown option $1" >&2 && usage >&2 && exit 2 ;;
  esac
  shift
done
((${#parts[@]})) || parts=(bench check cts python)
for part in "${parts[@]}"; do
  [[ " bench check cts python " == *" $part "* ]] || { echo "run.sh: error: --only $part: bench, check, cts and python are legal" >&2; exit 2; }
done
if ! ((${#devices[@]})); then
  devices=($(ls kernels))
  # The one that is measured.
  [[ ! -d kernels/cuda ]] || devices=(cuda $(ls kernels | grep -vx cuda))
fi
for device in "${devices[@]}"; do
  [[ -d kernels/$device ]] || { echo "run.sh: error: --device $device: the folder has kernels for" $(ls kernels) >&2; exit 2; }
done

# Where NVRTC is, and the loader of Vulkan with the driver of NVIDIA (the one that needs no display).
export LD_LIBRARY_PATH="$PWD/lib:/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONWARNINGS=ignore TERN_CACHE_DIR=$PWD/results/cache
rm -rf results
mkdir -p results/cache
export POCL_CACHE_DIR=$PWD/results/cache
if [[ -e lib/libvulkan.so.1 && -z ${VK_ICD_FILENAMES:-} ]] && ldconfig -p 2>/dev/null | grep -q libEGL_nvidia; then
  echo '{"file_format_version": "1.0.0", "ICD": {"library_path": "libEGL_nvidia.so.0", "api_version": "1.3.0"}}' >results/nvidia_icd.json
  export VK_ICD_FILENAMES=$PWD/results/nvidia_icd.json
fi

wants() { [[ " ${parts[*]} " == *" $1 "* ]]; }
# within SECONDS COMMAND...: no longer than that, nor than the limit of all.
within() {
  local most=$1 left=$((limit - SECONDS))
  shift
  ((left < most)) && most=$left
  if ((most < 1)); then
    echo "skipped: the limit of $limit s is over"
    return 1
  fi
  timeout -k 5 "$most" "$@"
  local status=$?
  ((status != 124 && status != 137)) || echo "stopped after $most s"
  return $status
}
# report PART DEVICE NAME STATUS TIME TEXT: a line of the results; the time is in microseconds, or -.
report() {
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$@" >>results/results.tsv
  printf '  %-6s %-8s %-24s %-7s %s\n' "$1" "$2" "$3" "$4" "$6"
}
# "1.23 ms" -> 1230
microseconds() { awk '{ print $1 * ($2 == "s" ? 1e6 : $2 == "ms" ? 1e3 : 1) }' <<<"$1"; }
last_line() { grep -v '^$' "$1" | tail -n 1 | tr '\t' ' ' | cut -c -160; }

# ---- the parts

# launch_time PART WHOSE FROM TO [must]: the time in the line of the log that has both texts; without the line, a failure where it
# must be there.
launch_time() {
  local line
  if line=$(grep -m 1 "$3 [0-9.]* us $4" "$log"); then
    report "$1" "$device" "$2" ok "$(sed -E "s/.*$3 ([0-9.]+) us.*/\1/" <<<"$line")" "$line"
  elif [[ -n ${5:-} ]]; then
    report "$1" "$device" "$2" FAILED - "$(last_line "$log")"
  fi
}

bench() {
  local device=$1 file name log time repeat=50 kernel type size tensor outputs
  file=kernels/$device/trivial.float32.32.tern log=results/launch.$device.log
  within 30 bin/tern_bench_launch "$file" >"$log" 2>&1
  launch_time launch tern "through Tern:" "for a launch" must
  launch_time graph tern "through Tern:" "for a graph"
  if [[ $device == cuda ]]; then
    launch_time launch bare "cuLaunchKernel:" "for a launch" must
    launch_time graph bare "cuGraphLaunch:" "for a graph" must
  fi
  ((quick)) && repeat=10
  for file in kernels/"$device"/*.tern; do
    name=$(basename "$file" .tern)
    IFS=. read -r kernel type size <<<"$name"
    ((size >= 4096)) || continue
    log=results/bench.$device.$name.log outputs=()
    if ((has_torch)); then
      for tensor in reference/"$kernel.$type".*/*.npy; do
        tensor=$(basename "$tensor" .npy)
        outputs+=(--output "${tensor#*.}=$tensors/$name.$tensor.npy")
      done
    fi
    if within 40 bin/tern-run "$file" --repeat "$repeat" "${outputs[@]}" >"$log" 2>&1 && time=$(sed -nE 's/.* calls: .*median ([0-9.e+-]+ [mu]?s)$/\1/p' "$log") && [[ $time ]]; then
      report bench "$device" "$name" ok "$(microseconds "$time")" "$time"
    else
      report bench "$device" "$name" FAILED - "$(last_line "$log")"
    fi
  done
}

# Torch on the same device; nothing where it is not there.
compare() {
  local log=results/compare.log options=() name which status time text
  ((quick)) && options=(--quick)
  if ! ((has_torch)); then
    report torch - - skipped - "no python3 with torch and a device of its own"
    return
  fi
  within 120 python3 compare.py --tensors "$tensors" "${options[@]}" 2>>"$log" | while IFS=$'\t' read -r name which status time text; do
    if [[ $which ]]; then report "$which" torch "$name" "$status" "$time" "$text"; else report torch - - FAILED - "$name"; fi
  done
}

check() {
  local device=$1 folder name options file log tolerance text
  for folder in reference/*; do
    name=$(basename "$folder") options=() log=results/check.$device.$name.log
    for file in "$folder"/in.*.npy; do options+=(--input "$(basename "$file" .npy | cut -d. -f2)=$file"); done
    for file in "$folder"/out.*.npy; do options+=(--check "$(basename "$file" .npy | cut -d. -f2)=$file"); done
    tolerance=1e-5
    [[ $name != *float16* ]] || tolerance=2e-3
    if within 30 bin/tern-run "kernels/$device/$name.tern" "${options[@]}" --tol $tolerance >"$log" 2>&1; then
      report check "$device" "$name" ok - "$(last_line "$log")"
    else
      report check "$device" "$name" FAILED - "$(last_line "$log")"
    fi
  done
}

cts() {
  local device=$1 log=results/cts.$device.log options=(--full)
  ((quick)) && options=()
  if ! command -v cc gcc clang >/dev/null; then
    report cts "$device" suite skipped - "no C compiler for the host's part of the cases"
    return
  fi
  if within 150 bin/tern cts "$device" "${options[@]}" >"$log" 2>&1; then
    report cts "$device" suite ok - "$(last_line "$log")"
  else
    report cts "$device" suite FAILED - "$(last_line "$log") (results/cts.$device.log)"
  fi
}

# The package tern with torch's arrays; nothing where one of both is not there.
python_calls() {
  local log=results/python.log name part status time text
  if ! python3 -c 'import tern, torch, sys; sys.exit(not torch.cuda.is_available())' >"$log" 2>&1; then
    report python cuda - skipped - "no python3 with tern (pip install ./python/runtime), torch and a device: $(last_line "$log")"
    return
  fi
  within 60 python3 check_python.py kernels/cuda 2>>"$log" >"$log.lines" || report python cuda - FAILED - "$(last_line "$log")"
  while IFS=$'\t' read -r name part status time text; do report "$part" cuda "$name" "$status" "$time" "$text"; done <"$log.lines"
}

# ---- all of it

: >results/results.tsv
live=()
bin/tern targets >results/targets.log 2>&1
for device in "${devices[@]}"; do
  text=$(awk -v kind="$device" '/^[a-z]/ { current = $1 } current == kind && $1 == "device" { $1 = ""; print; exit }' results/targets.log)
  if [[ $text ]]; then
    live+=("$device") && report device "$device" - ok - "$text"
  else
    report device "$device" - absent - "$(awk -v kind="$device" '/^[a-z]/ { current = $1 } current == kind && /devices|absent/' results/targets.log | head -n 1)"
  fi
done
((${#live[@]})) || { echo "run.sh: error: none of the devices is there (results/targets.log)" >&2; exit 1; }
tensors=results/tensors has_torch=0
mkdir -p "$tensors"
! wants bench || ! python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' >results/torch.log 2>&1 || has_torch=1
if wants bench; then
  bench "${live[0]}"
  compare
  rm -rf "$tensors"
fi
[[ ! " ${live[*]} " == *" cuda "* ]] || ! wants python || python_calls
# What is not measured runs on all devices at once.
for device in "${live[@]}"; do
  {
    ! wants check || check "$device"
    ! wants cts || cts "$device"
  } &
done
wait

# ---- the table

awk -F'\t' '
  function gain(kernel, type, size, us,   bytes, n) {
    n = size
    if (kernel == "matmul") return sprintf("%.1f TFLOP/s", 2 * n * n * n / us / 1e6)
    bytes = (type == "float16" ? 2 : 4) * n * n * (kernel == "elementwise" ? 3 : 2)
    return sprintf("%.0f GB/s", bytes / us / 1e3)
  }
  function or_dash(x) { return x == "" ? "-" : x }
  $1 == "bench" { names[++count] = $3; ours[$3] = $5; state[$3] = $4 }
  $1 == "eager" || $1 == "compiled" { peer[$3, $1] = $5 }
  $1 == "launch" || $1 == "graph" { launch[$1, $3] = $5 }
  END {
    if (count) printf "\n%-26s %12s %15s %12s %14s %10s\n", "kernel", "tern us", "", "torch us", "compiled us", "ratio"
    for (i = 1; i <= count; ++i) {
      name = names[i]; split(name, part, ".")
      if (state[name] != "ok") { printf "%-26s %12s\n", name, state[name]; continue }
      best = peer[name, "compiled"]
      if (best == "" || best == "-") best = peer[name, "eager"]
      ratio = best == "" || best == "-" ? "-" : sprintf("%.2f", best / ours[name])
      printf "%-26s %12.1f %15s %12s %14s %10s\n", name, ours[name], gain(part[1], part[2], part[3], ours[name]), or_dash(peer[name, "eager"]), or_dash(peer[name, "compiled"]), ratio
    }
    split("launch graph", parts, " ")
    for (i = 1; i <= 2; ++i) {
      tern = launch[parts[i], "tern"]; bare = launch[parts[i], "bare"]
      if (tern > 0) printf "%-26s %12.3f %15s %12s %14s %10s\n", parts[i], tern, "", "bare " or_dash(bare), "-", bare > 0 ? sprintf("%.2f", bare / tern) : "-"
    }
  }' results/results.tsv | tee results/table.txt
awk -F'\t' '{ total[$1 "\t" $2]++; if ($4 == "ok") good[$1 "\t" $2]++ }
  END { for (key in total) { split(key, part, "\t"); printf "%-8s %-8s %d of %d ok\n", part[1], part[2], good[key], total[key] } }' results/results.tsv | sort | tee -a results/table.txt
awk -F'\t' 'BEGIN { print "[" }
  function text(x) { gsub(/\\/, "\\\\", x); gsub(/"/, "\\\"", x); gsub(/[\001-\037]/, " ", x); return "\"" x "\"" }
  { printf "%s{\"part\": %s, \"device\": %s, \"name\": %s, \"status\": %s, \"us\": %s, \"text\": %s}", (NR > 1 ? ",\n" : ""), text($1), text($2), text($3), text($4), ($5 == "-" || $5 == "" ? "null" : $5), text($6) }
  END { print "\n]" }' results/results.tsv >results/results.json
echo "took $SECONDS s; results/results.json has it all"
! grep -q $'\tFAILED\t' results/results.tsv
