# SPDX-License-Identifier: Apache-2.0
#
# What the tests of the package share. Sourced.
set -eu
export LC_ALL=C
# Of no user and no system.
export XDG_DATA_HOME=/nonexistent XDG_DATA_DIRS=/nonexistent
export CMAKE_GENERATOR=Ninja
unset TERN_BACKEND_PATH TERN_BACKEND_AUTOLOAD

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# quietly COMMAND...: shows what it says only if it fails.
quietly() {
  "$@" >"$directory/log" 2>&1 || {
    cat "$directory/log" >&2
    fail "$*"
  }
}
# expect TEXT COMMAND...: the command succeeds and prints TEXT somewhere.
expect() {
  text=$1
  shift
  quietly "$@"
  grep -q -F -e "$text" "$directory/log" || {
    cat "$directory/log" >&2
    fail "$*: no \"$text\""
  }
}
# refused TEXT COMMAND...: the command fails and says TEXT.
refused() {
  text=$1
  shift
  if "$@" >"$directory/log" 2>&1; then fail "$*: it succeeds"; fi
  grep -q -F -e "$text" "$directory/log" || {
    cat "$directory/log" >&2
    fail "$*: no \"$text\""
  }
}

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
