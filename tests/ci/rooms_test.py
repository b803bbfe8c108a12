#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Sources keep to the table "Rooms" of docs/architecture.md, READMEs name each file, and code for
one CPU family stays in folders of its name.

A file may include its own folder, the folders above it, and each folder that the table names for
its own, directly or through others. The table has no cycle, no folder without sources, no folder
too few, and allows nothing that no file uses.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs/architecture.md"
ROW = re.compile(r"^\| `([\w/]+)/` \|([^|]*)\|$")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
READMES = ("nir_passes", "backend/cpu", "backend/spirv")
WITHOUT_README = {"pch"}
FAMILY = "x86"
HEADERS_OF_FAMILY = re.compile(r"\w*intrin\.h|\bcpuid\.h|IntrinsicsX86")
# Names of the family's instructions in C++, LLVM and assembly, of its registers' size and of its
# functions.
OF_FAMILY = re.compile(
    HEADERS_OF_FAMILY.pattern + r"|\b_mm\d*_|__builtin_(ia32|cpu)_|Intrinsic::x86_|llvm\.x86\.|"
    r"LLVMInitializeX86|x86_64-|no_caller_saved_registers|\b(__)?asm(__)?( volatile)? ?\(|_ZGV|"
    r"\bvector_bits [=!]= (128|256|512)\b")


def read_table(text):
    """Folder → folders that it names."""
    section = text.split("\n## Rooms\n", 1)[1].split("\n## ", 1)[0]
    return {match[1]: re.findall(r"`([\w/]+)/`", match[2])
            for line in section.splitlines() if (match := ROW.match(line))}


def closure(table, room, below=()):
    """All folders that a folder reaches; a cycle is a ValueError."""
    if room in below:
        raise ValueError(" → ".join([*below, room]))
    reached = set()
    for named in table.get(room, []):
        reached |= {named} | closure(table, named, (*below, room))
    return reached


def folders_above(folder):
    return {str(parent) for parent in pathlib.PurePath(folder).parents} - {"."}


def check_includes(table, files):
    """Faults of the table and of the files, path → text."""
    faults, used = [], set()
    try:
        allowed = {room: closure(table, room) | {room} | folders_above(room) for room in table}
    except ValueError as cycle:
        return [f"the table has a cycle: {cycle}"]
    folders = {str(pathlib.PurePath(path).parent) for path in files}
    faults += [f"{folder}/ has no row" for folder in sorted(folders - set(table))]
    faults += [f"{room}/ has a row and no sources" for room in sorted(set(table) - folders)]
    for path, text in files.items():
        folder = str(pathlib.PurePath(path).parent)
        for included in INCLUDE.findall(text):
            target = str(pathlib.PurePath(included).parent)
            if target not in folders:
                continue
            used.add((folder, target))
            if folder in allowed and target not in allowed[folder]:
                faults.append(f"{path} includes {included}")
    faults += [f"no file of {room}/ includes {named}/" for room, row in table.items()
               for named in row if (room, named) not in used]
    return faults


def check_readmes(paths, readmes):
    """Files that the README above them does not name."""
    for path in paths:
        for folder, text in readmes.items():
            pure = pathlib.PurePath(path)
            if path.startswith(folder + "/") and pure.parent.name not in WITHOUT_README:
                if not re.search(rf"`{re.escape(pure.stem)}(\.h)?`", text):
                    yield f"{folder}/README.md does not name {pure.name}"


def check_family(files, pattern=OF_FAMILY):
    """Code of the family outside its folders."""
    for path, text in files.items():
        if FAMILY not in pathlib.PurePath(path).parent.parts:
            code = re.sub(r"//.*", "", text)
            for found in dict.fromkeys(match[0] for match in pattern.finditer(code)):
                yield f"{path}: {found} belongs into a folder {FAMILY}/"


def check_of_itself():
    """The checks find planted faults."""
    table = {"low": [], "high": ["low"], "high/room": ["low"]}
    good = {"low/a.h": "", "high/b.h": '#include "low/a.h"\n',
            "high/room/c.cc": '#include "high/b.h"\n#include "low/a.h"\n'}
    assert check_includes(table, good) == []
    assert check_includes(table, good | {"low/d.cc": '#include "high/b.h"\n'})
    assert check_includes(table | {"low": ["high"]}, good)
    assert check_includes(table | {"none": []}, good)
    assert check_includes(table, good | {"other/e.cc": ""})
    assert check_includes({"low": [], "high": ["low", "high/room"], "high/room": ["low"]}, good)
    assert not list(check_readmes(["low/a.h"], {"low": "`a`"}))
    assert list(check_readmes(["low/a.h"], {"low": "`b`"}))
    for code in ("#include <immintrin.h>", "b.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd);",
                 "_mm_pause();", "if (target.vector_bits == 512)"):
        assert list(check_family({"low/a.cc": code}))
        assert not list(check_family({"low/x86/a.cc": code, "low/b.cc": "// " + code}))


def main():
    check_of_itself()
    table = read_table(DOCUMENT.read_text(encoding="utf-8"))
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "*.cc", "*.c", "*.h"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    top = {room.split("/")[0] for room in table}
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in listed
             if (ROOT / name).exists()}
    files = {name: text for name, text in texts.items() if name.split("/")[0] in top and
             pathlib.PurePath(name).parent.name not in WITHOUT_README}
    faults = check_includes(table, files)
    faults += check_readmes(
        files, {folder: (ROOT / folder / "README.md").read_text() for folder in READMES})
    faults += check_family(files)
    faults += check_family(texts, HEADERS_OF_FAMILY)
    for fault in dict.fromkeys(faults):
        print(fault)
    print(f"{len(table)} folders, {len(files)} files, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
