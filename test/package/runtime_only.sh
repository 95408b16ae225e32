#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# runtime_only.sh CMAKE SOURCE BUILD: what the choice of backends builds and installs, from a runtime alone, and what can be done
# with it. BUILD is where an artifact for tests is made.
. "$(dirname "$0")/library.sh"
cmake=$1 source=$2 build=$3
# What was compiled in other directories need not be compiled here.
export CCACHE_BASEDIR="$source" CCACHE_NOHASHDIR=1
"$build/bin/tern_make_test_files" "$directory"

# runtime NAME OPTIONS...: builds and installs into $directory/NAME.
runtime() {
  name=$1
  shift
  quietly "$cmake" -S "$source" -B "$directory/$name-build" -DCMAKE_BUILD_TYPE=Release -DTERN_COMPILER=OFF \
    -DTERN_TESTS=OFF -DCMAKE_INSTALL_LIBDIR=lib "$@"
  quietly "$cmake" --build "$directory/$name-build" -j2
  quietly "$cmake" --install "$directory/$name-build" --prefix "$directory/$name"
}
# holds NAME FILES: these are all that lie in lib and bin of the installation.
holds() {
  found=$(cd "$directory/$1" && find bin lib -maxdepth 1 -type f | sort | tr '\n' ' ')
  [ "$found" = "$2 " ] || fail "$1 holds $found, expected $2"
}

runtime chosen -DTERN_BACKENDS=opencl
holds chosen "bin/tern-run lib/libtern_runtime.so lib/libtern_runtime_extra.so lib/libtern_runtime_opencl.so"
[ ! -e "$directory/chosen/include/tern/tir" ] || fail "a runtime alone installs headers of the compiler"
cp -r "$source/test/package/consumer" "$directory"
consumer() {
  quietly "$cmake" -S "$directory/consumer" -B "$directory/$1-consumer" -DCMAKE_PREFIX_PATH="$directory/$1"
  quietly "$cmake" --build "$directory/$1-consumer"
  expect 4 "$directory/$1-consumer/run_artifact" "$directory/m.so" add
}
consumer chosen
refused "this is Tern's runtime alone" \
  "$cmake" -S "$directory/consumer" -B "$directory/refused" -DCMAKE_PREFIX_PATH="$directory/chosen" -DWITH_COMPILER=ON

# Everything in one archive: no library of Tern is needed, nor looked for.
runtime static -DTERN_STATIC_RUNTIME=ON -DTERN_BACKENDS=opencl
holds static "bin/tern-run lib/libtern_runtime.a"
consumer static
if readelf -d "$directory/static-consumer/run_artifact" | grep -q tern; then fail "the program needs a library of Tern"; fi

refused "there is no backend 'nosuch'" \
  "$cmake" -S "$source" -B "$directory/wrong" -DTERN_COMPILER=OFF -DTERN_TESTS=OFF -DTERN_BACKENDS=nosuch
