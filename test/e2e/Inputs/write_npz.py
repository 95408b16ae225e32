# SPDX-License-Identifier: Apache-2.0
"""write_npz.py FILE NAME ARRAY.npy [compressed]: an archive of one array, as numpy.savez writes it."""
import sys
import zipfile

method = zipfile.ZIP_DEFLATED if len(sys.argv) > 4 else zipfile.ZIP_STORED
with zipfile.ZipFile(sys.argv[1], "w", method) as archive, open(sys.argv[3], "rb") as array:
    with archive.open(sys.argv[2] + ".npy", "w", force_zip64=True) as member:
        member.write(array.read())
