#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# complete.sh SCRIPT WORD...: what the script offers for the last of the words.
source "$1"
COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
_tern
printf '%s\n' "${COMPREPLY[@]}"
