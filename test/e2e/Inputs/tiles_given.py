# SPDX-License-Identifier: Apache-2.0
"""Whether this process has the tile registers of x86, before and after a shared object is loaded."""
import ctypes
import sys

ARCH_PRCTL, ARCH_GET_XCOMP_PERM, TILE_DATA = 158, 0x1022, 18
libc = ctypes.CDLL(None)


def given():
    features = ctypes.c_uint64(0)
    libc.syscall(ctypes.c_long(ARCH_PRCTL), ctypes.c_long(ARCH_GET_XCOMP_PERM), ctypes.byref(features))
    return bool(features.value >> TILE_DATA & 1)


print("before:", given())
library = ctypes.CDLL(sys.argv[1])
print("after:", given())
