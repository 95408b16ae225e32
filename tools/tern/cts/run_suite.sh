#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the cases of this folder, a conformance suite that `tern cts --export` wrote, with the runtime alone.
#   run.sh [COMMAND...]   COMMAND makes the calls: `tern-run` (the default), or one like `timeout 60 bin/tern-run`
# Exit status: 0 where all cases pass, 1 where one does not, 2 where nothing can be run.
set -u
# A command's file is named from where it was typed.
(($#)) || set -- tern-run
for ((i = 1; i <= $#; ++i)); do
  word=${!i}
  [[ $word != */* || ! -e $word ]] || word=$(realpath "$word")
  set -- "${@:1:i-1}" "$word" "${@:i+1}"
done
cd "$(dirname "$0")" || exit 2
mapfile -t cases <cases
declare -A failed=()
first=0
rest=$(mktemp)
trap 'rm -f "$rest"' EXIT

fail() {
  [[ -n ${failed[$1]:-} ]] || echo "FAIL  $1: $2"
  failed[$1]=1
}

# Where the command dies, the call that it was in has failed, and it is started again for the rest.
while ((first < ${#cases[@]})); do
  tail -n +$((first + 1)) calls >"$rest"
  begun=0 ended=0 last=
  while IFS= read -r line; do
    if [[ $line =~ ^call\ ([0-9]+)\ (begins|ok|failed:\ (.*))$ ]]; then
      begun=${BASH_REMATCH[1]}
      [[ ${BASH_REMATCH[2]} == begins ]] || ended=$begun
      [[ ${BASH_REMATCH[2]} != failed* ]] || fail "${cases[first + begun - 1]}" "${BASH_REMATCH[3]}"
    else
      last=$line
    fi
  done < <("$@" --batch "$rest" 2>&1; echo "exit status $?")
  if ((begun == 0)); then
    echo "run.sh: error: '$*' ended with $last before its first call" >&2
    exit 2
  fi
  ((begun == ended)) || fail "${cases[first + begun - 1]}" "the command ended in this call with $last"
  first=$((first + begun))
done
all=$(sort -u cases | wc -l)
echo "$((all - ${#failed[@]})) passed, ${#failed[@]} failed"
((${#failed[@]} == 0))
