#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""No source file has more than 600 lines, except files that are listed here with a reason."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINES = 600
PATTERNS = ("*.c", "*.cc", "*.h", "*.inc", "*.mjs", "*.py", "*meson.build", "ci/*", "tests/*/plant")

# Path → reason.
EXCEPTIONS = {}


def check(sizes, exceptions):
    """Yields the faults of files and of exceptions. `sizes` maps a path to its number of lines."""
    for path, lines in sizes.items():
        if lines > LINES and path not in exceptions:
            yield f"{path}: {lines} lines"
    for path, reason in exceptions.items():
        if sizes.get(path, 0) <= LINES:
            yield f"{path} is an exception, and has {sizes.get(path, 0)} lines"
        if not reason:
            yield f"{path} is an exception without a reason"


def check_of_itself():
    """The check finds planted faults."""
    assert not list(check({"a": LINES, "b": LINES + 1}, {"b": "a reason"}))
    assert len(list(check({"a": LINES + 1}, {}))) == 1
    assert len(list(check({"a": LINES}, {"a": "a reason"}))) == 1
    assert len(list(check({}, {"a": "a reason"}))) == 1
    assert len(list(check({"a": LINES + 1}, {"a": ""}))) == 1


def main():
    check_of_itself()
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", *PATTERNS], cwd=ROOT,
                            stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    sizes = {path: (ROOT / path).read_text(encoding="utf-8").count("\n")
             for path in listed if (ROOT / path).is_file()}
    faults = list(check(sizes, EXCEPTIONS))
    for fault in faults:
        print(fault)
    print(f"{len(sizes)} files, {len(faults)} faults")
    return 1 if faults or not sizes else 0


if __name__ == "__main__":
    sys.exit(main())
