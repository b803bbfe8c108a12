#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Every C and C++ file looks as .clang-format says. Exit status 77 (skipped) without the means."""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLANG_FORMAT = "clang-format-19"


def main():
    if not shutil.which(CLANG_FORMAT):
        print(f"{CLANG_FORMAT} is not installed")
        return 77
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "*.c", "*.cc", "*.h"],
                            cwd=ROOT, stdout=subprocess.PIPE, text=True)
    files = listed.stdout.split()
    if listed.returncode or not files:
        print("not a git checkout")
        return 77
    files = [file for file in files if pathlib.Path(ROOT, file).exists()]
    return subprocess.run([CLANG_FORMAT, "--dry-run", "-Werror", *files], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
