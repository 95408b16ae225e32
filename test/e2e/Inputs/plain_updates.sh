#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# plain_updates.sh FILE TERN ARGS...: `TERN run FILE --check interp ARGS` of its functions, with odd sizes and many collisions.
set -euo pipefail
while read -r options; do
  read -ra words <<<"$options"
  "$2" run "$1" --check interp --entry "${words[@]}" "${@:3}"
done <<'END'
count --dim n=0
count --dim n=1
count --dim n=20011
kinds --dim n=331
rows --dim n=257
columns --dim n=301 --dim m=37
ordered --dim n=0 --dim m=5
ordered --dim n=301 --dim m=5
total --dim n=1003
inclusive --dim n=1
inclusive --dim n=5003
exclusive --dim n=5003
continued --dim n=1
continued --dim n=5003
row_scans --dim n=3 --dim m=2501
in_place --dim n=77
total_too --dim n=77
each --dim n=77 --dim m=9
END
