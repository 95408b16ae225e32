#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# crashing_runner.sh TERN_RUN WORD --batch FILE: tern-run, which dies in the calls whose line contains WORD.
tern_run=$1 word=$2
sed "/$word/"'q' "$4" >"$4.start"
if ! grep -q "$word" "$4.start"; then exec "$tern_run" --batch "$4"; fi
before=$(($(wc -l <"$4.start") - 1))
head -n $before "$4.start" >"$4.before"
"$tern_run" --batch "$4.before"
echo "call $((before + 1)) begins"
kill -SEGV $$
