#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check_library.sh LIB: the library needs nothing but the C and C++ libraries, has no undefined symbol of Tern, and exports nothing but
# Tern's own symbols; a plugin, its entry alone.
set -eu
export LC_ALL=C

needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in $needed; do
  case $name in
    libc.so.*|libm.so.*|libdl.so.*|libpthread.so.*|libstdc++.so.*|libgcc_s.so.*|ld-linux*.so.*) ;;
    *) echo "$1 needs $name" >&2; exit 1 ;;
  esac
done

undefined=$(nm -D -u --no-demangle "$1" | awk '{ print $NF }' | grep -E 'tern|TVMFFI' || true)
if [ -n "$undefined" ]; then
  echo "$1 has undefined symbols of Tern: $undefined" >&2
  exit 1
fi

case $1 in
  *libtern_runtime_*) own='^tern_plugin$' ;;
  *) own='^tern_|4tern' ;;
esac
foreign=$(nm -D --defined-only --no-demangle "$1" | awk '{ print $NF }' | grep -v -E "$own" || true)
if [ -n "$foreign" ]; then
  echo "$1 exports what it should not: $foreign" >&2
  exit 1
fi
