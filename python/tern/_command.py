# SPDX-License-Identifier: Apache-2.0
"""The commands tern and tern-run of an installed package."""

import os
import sys


def _run(name):
    folder = os.path.dirname(os.path.abspath(__file__))
    # Libraries that the wheel brings find each other there.
    libraries = [os.path.join(folder, "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
    os.execv(os.path.join(folder, "bin", name), [name, *sys.argv[1:]])


def run_compiler():
    _run("tern")


def run_runtime():
    _run("tern-run")
