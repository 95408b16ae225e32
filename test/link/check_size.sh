#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check_size.sh LIB BYTES: stripped, the library has fewer bytes.
set -eu
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1"
size=$(wc -c <"$stripped")
echo "$1: $size bytes"
[ "$size" -lt "$2" ] || { echo "at most $2 were expected" >&2; exit 1; }
