#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fallback.sh TERN TERN_RUN LIB PROGRAM DIRECTORY: for every kind of device there is. The bytes of a compiled file do not depend on the
# plugin: there, forced aside, or absent. Without it, compiling and looking at the file work, and running it says what is missing and where
# it was looked for. What was made without the plugin runs where it is.
set -euo pipefail
tern=$1 tern_run=$2 lib=$3 program=$4 directory=$5
rm -rf "$directory"
mkdir -p "$directory"/{bin,lib}
cp "$tern" "$tern_run" "$directory/bin"
for library in runtime compiler; do
  [[ ! -e $lib/libtern_$library.so ]] || cp "$lib/libtern_$library.so" "$directory/lib"
done

fail() {
  echo "FAILED: $kind: $*" >&2
  exit 1
}
# says TEXT COMMAND...: the command fails, and its message has the text.
says() {
  local text=$1 output
  shift
  if output=$("$@" 2>&1); then fail "$* did not fail"; fi
  [[ $output == *"$text"* ]] || fail "$*: no \"$text\" in: $output"
}

is_here() { grep -q "^    device     $1:0" "$directory/targets"; }

"$tern" targets >"$directory/targets"
kinds=$(awk '/^[a-z0-9_]+  / { kind = $1 } / role +device/ { device = kind } / codegen +yes/ && device == kind { print kind }' "$directory/targets")
checked=0
for kind in $kinds; do
  plugin=libtern_runtime_$kind.so
  at=$directory/$kind
  mkdir -p "$at"
  if [[ ! -e $lib/$plugin ]]; then
    "$tern" compile "$program" -t "$kind" -o "$at/here.tern"
    TERN_FORCE_FALLBACK=1 "$tern" compile "$program" -t "$kind" -o "$at/forced.tern"
    "$directory/bin/tern" compile "$program" -t "$kind" -o "$at/alone.tern"
    cmp "$at/here.tern" "$at/forced.tern" && cmp "$at/here.tern" "$at/alone.tern" || fail "the file depends on where it was made"
    echo "$kind has no plugin, and is the same without those of others"
    continue
  fi
  for ending in so tern; do
    "$tern" compile "$program" -t "$kind" -o "$at/plugin.$ending"
    TERN_FORCE_FALLBACK=1 "$tern" compile "$program" -t "$kind" -o "$at/forced.$ending"
    "$directory/bin/tern" compile "$program" -t "$kind" -o "$at/absent.$ending"
    cmp "$at/plugin.$ending" "$at/forced.$ending" || fail "TERN_FORCE_FALLBACK changes the .$ending file"
    cmp "$at/plugin.$ending" "$at/absent.$ending" || fail "the .$ending file depends on the plugin"

    missing="error: the $kind runtime is not loaded: $plugin was not found in $directory/lib"
    says "$missing" "$directory/bin/tern-run" "$at/plugin.$ending"
    text=$("$directory/bin/tern" inspect "$at/plugin.$ending")
    [[ $text == *"source     module 0"* ]] || fail "inspect shows no source: $text"
    [[ $text == *_kernel* ]] || fail "inspect shows no kernel: $text"
    # A machine without a device runs nothing, whoever made the file.
    if is_here "$kind"; then
      "$tern_run" "$at/absent.$ending" >/dev/null || fail "what was made without the plugin does not run"
    fi
  done
  says "$missing" "$directory/bin/tern" run "$program" -t "$kind"
  if is_here "$kind"; then says TERN_FORCE_FALLBACK env TERN_FORCE_FALLBACK=1 "$tern" run "$program" -t "$kind"; fi
  "$directory/bin/tern" targets >"$directory/absent"
  grep -q "absent: the $kind runtime is not loaded: $plugin was not found in $directory/lib" "$directory/absent" ||
    fail "tern targets does not say that the plugin is absent"
  echo "$kind is the same with and without its plugin"
  checked=$((checked + 1))
done
((checked > 0)) || { echo "FAILED: there is no kind of device with a plugin" >&2 && exit 1; }
