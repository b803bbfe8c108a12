# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""The contents of a release archive, for the packages that are made from it."""

import os
import pathlib
import re
import tarfile

#: For users of the archive, not for packages.
LEFT_OUT = {"README.md"}


def read_archive(path):
    """Version, time in seconds, and (name in the archive's folder, mode, contents) of each file."""
    version = re.fullmatch(r"weft-(.+)-linux-x86_64\.tar\.xz", pathlib.Path(path).name)[1]
    files, time = [], 0
    with tarfile.open(path) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            time = max(time, int(member.mtime))
            if member.isfile() and name not in LEFT_OUT:
                files.append((name, 0o755 if member.mode & 0o100 else 0o644,
                              archive.extractfile(member).read()))
    return version, int(os.environ.get("SOURCE_DATE_EPOCH", time)), sorted(files)
