#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Makes the npm package from a release archive, the same bytes each time.

usage: make_npm.py ARCHIVE FOLDER
"""

import gzip
import io
import pathlib
import sys
import tarfile

from archive_files import read_archive

HERE = pathlib.Path(__file__).resolve().parent / "npm"


def make_npm(archive, folder):
    version, seconds, contents = read_archive(archive)
    package = (HERE / "package.json").read_text().replace("@version@", version)
    files = [("package.json", 0o644, package.encode()),
             ("README.md", 0o644, (HERE / "readme.md").read_bytes()),
             ("index.js", 0o644, (HERE / "index.js").read_bytes()),
             ("run.js", 0o755, (HERE / "run.js").read_bytes())]
    files += [(f"weft/{name}", mode, data) for name, mode, data in contents]
    path = pathlib.Path(folder, f"weft-vulkan-{version}.tgz")
    with open(path, "wb") as output, \
            gzip.GzipFile("", "wb", 9, output, mtime=seconds) as zipped, \
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as packed:
        for name, mode, data in files:
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode, entry.mtime = len(data), mode, seconds
            packed.addfile(entry, io.BytesIO(data))
    print(path)


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        sys.exit(print(__doc__.strip()))
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    make_npm(*sys.argv[1:])
