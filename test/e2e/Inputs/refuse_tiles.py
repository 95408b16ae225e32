# SPDX-License-Identifier: Apache-2.0
"""Runs a command for which the kernel refuses the tile registers of x86: arch_prctl(ARCH_REQ_XCOMP_PERM) fails."""
import ctypes
import os
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
ARCH_PRCTL, ARCH_REQ_XCOMP_PERM = 158, 0x1023
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL_WITH_EPERM = 0x7FFF0000, 0x00050001
program = [(LOAD, 0, 0, 0), (EQUAL, 0, 3, ARCH_PRCTL), (LOAD, 0, 0, 16), (EQUAL, 0, 1, ARCH_REQ_XCOMP_PERM), (RETURN, 0, 0, FAIL_WITH_EPERM),
           (RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header):
    sys.exit("no filter of system calls: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
