#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh C_API_TEST MAKE_TEST_FILES: the program in C, with files of both kinds to load.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$2" "$directory"
for file in m.so m.tern; do "$1" "$directory/$file" "$directory/x.npy" "$directory/model.tern" "$directory/outputs.tern"; done
