# SPDX-License-Identifier: Apache-2.0
"""The backend of ../build_backend, for the package without the compiler."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "build_backend"))

import tern_build  # noqa: E402

tern_build.set_package("tern-runtime")

from tern_build import (  # noqa: E402, F401
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)
