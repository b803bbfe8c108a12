#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Compares the numbers of nir_passes/spirv_enums.h with SPIR-V's grammar.

    spirv_enums_test.py HEADER GRAMMAR
"""

import json
import pathlib
import re
import sys

ENUMERATOR = re.compile(
    r"\bWeftSpv(Op|Capability|Decoration|FPEncoding|TensorAddressingOperands)(\w+) = (\w+),")


def numbers_of(grammar):
    """The number of each (kind, name)."""
    numbers = {}
    for instruction in grammar["instructions"]:
        for name in [instruction["opname"], *instruction.get("aliases", [])]:
            numbers["Op", name.removeprefix("Op")] = instruction["opcode"]
    for kind in grammar["operand_kinds"]:
        for enumerant in kind.get("enumerants", []):
            for name in [enumerant["enumerant"], *enumerant.get("aliases", [])]:
                numbers[kind["kind"], name] = int(str(enumerant["value"]), 0)
    return numbers


def main():
    header, grammar = (pathlib.Path(path) for path in sys.argv[1:])
    numbers = numbers_of(json.loads(grammar.read_text()))
    text = header.read_text()
    found = ENUMERATOR.findall(text)
    wrong = [f"{kind}{name} is {number}, but {numbers.get((kind, name), 'unknown')} in the grammar"
             for kind, name, number in found if numbers.get((kind, name)) != int(number, 0)]
    if len(found) != text.count("WeftSpv"):
        wrong.append(f"{text.count('WeftSpv')} names, but {len(found)} have a known kind")
    print("\n".join(wrong) or f"{len(found)} numbers agree with the grammar")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
