#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""A type's full name is defined in one file. If a library had two types of one name in different
files, the linker would merge functions of both, such as functions of containers of them. No
compiler reports that. Exit status 77 (skipped) where git lists no files."""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OPEN = re.compile(r"namespace (?:([\w:]+) )?\{$")
CLOSE = re.compile(r"\} // namespace")
TYPE = re.compile(r"(?:struct|class|union|enum class|enum) (\w+)(?: final)?(?: : [^;]*)?(?: \{(?:\};)?)?$")


def definitions(lines):
    """Full names of the types that the lines define, except types that belong to one file."""
    namespaces = []
    for line in lines:
        if match := OPEN.match(line):
            namespaces.append(match[1])
        elif CLOSE.match(line) and namespaces:
            namespaces.pop()
        elif (match := TYPE.match(line)) and namespaces and None not in namespaces:
            yield "::".join([*namespaces, match[1]])


def main():
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "*.cc", "*.h"],
                            cwd=ROOT, stdout=subprocess.PIPE, text=True)
    places = collections.defaultdict(set)
    for name in listed.stdout.split():
        path = ROOT / name
        if path.exists():
            for definition in definitions(path.read_text(encoding="utf-8").splitlines()):
                places[definition].add(name)
    if listed.returncode or not places:
        print("not a git checkout")
        return 77
    twice = {name: files for name, files in places.items() if len(files) > 1}
    for name, files in twice.items():
        print(f"{name}: {', '.join(sorted(files))}")
    print(f"{len(places)} types")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
