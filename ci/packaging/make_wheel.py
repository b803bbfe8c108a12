#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Makes the Python wheel from a release archive, the same bytes each time.

usage: make_wheel.py ARCHIVE FOLDER
"""

import base64
import hashlib
import pathlib
import sys
import time
import zipfile

from archive_files import read_archive

HERE = pathlib.Path(__file__).resolve().parent / "python"
# The archive needs glibc 2.34 at most (tests/package/package_test.py checks it).
TAG = "py3-none-manylinux_2_34_x86_64"
METADATA = """Metadata-Version: 2.1
Name: weft-vulkan
Version: {version}
Summary: A Vulkan driver for the CPU and a Vulkan layer, with cooperative matrices
License: MIT; LLVM, Boost.Context, zlib, zstd and libstdc++ inside have licences of their own
Keywords: vulkan,cooperative matrix,software rendering,ci
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""
WHEEL = f"Wheel-Version: 1.0\nGenerator: weft\nRoot-Is-Purelib: false\nTag: {TAG}\n"
ENTRY_POINTS = "[console_scripts]\nweft-run = weft_vulkan.__main__:run_program\n"


def make_wheel(archive, folder):
    version, seconds, contents = read_archive(archive)
    information = f"weft_vulkan-{version}.dist-info"
    files = [(f"weft_vulkan/{path.name}", 0o644, path.read_bytes())
             for path in sorted(HERE.glob("weft_vulkan/*.py"))]
    for name, mode, data in contents:
        files.append((f"weft_vulkan/weft/{name}", mode, data))
        if name.startswith("licenses/"):
            files.append((f"{information}/{name}", mode, data))
    texts = {"METADATA": METADATA.format(version=version, readme=(HERE / "readme.md").read_text()),
             "WHEEL": WHEEL, "entry_points.txt": ENTRY_POINTS}
    files += [(f"{information}/{name}", 0o644, text.encode()) for name, text in texts.items()]
    record = ""
    for name, _, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    record += f"{information}/RECORD,,\n"
    files.append((f"{information}/RECORD", 0o644, record.encode()))

    wheel = pathlib.Path(folder, f"weft_vulkan-{version}-{TAG}.whl")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
        for name, mode, data in files:
            entry = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3  # Unix
            zipped.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    print(wheel)


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        sys.exit(print(__doc__.strip()))
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    make_wheel(*sys.argv[1:])
