#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wrong_runner.sh TERN_RUN --batch FILE: tern-run, on inputs that were not asked for.
tab=$(printf '\t')
sed "s/--seed${tab}0/--seed${tab}1/" "$3" >"$3.wrong"
exec "$1" --batch "$3.wrong"
