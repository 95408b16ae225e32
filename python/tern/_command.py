# SPDX-License-Identifier: Apache-2.0
"""The commands tern and tern-run of an installed package."""

import os
import sys


def _run(name):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    os.execv(path, [name, *sys.argv[1:]])


def run_compiler():
    _run("tern")


def run_runtime():
    _run("tern-run")
