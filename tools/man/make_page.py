#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Makes a man page from the --help of a program.
usage: make_page.py PROGRAM VERSION SUMMARY SECTIONS OUTPUT

--help gives synopsis, description, options and exit status; SECTIONS is a file of further sections.
"""

import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"  (-\S.*?)(?:  +(\S.*))?$")


def escape(text):
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return r"\&" + text if text.startswith((".", "'")) else text


def page(name, version, summary, usage, sections):
    lines = usage.splitlines()
    out = [rf'.TH {name.upper()} 1 "" "Weft {version}"', ".SH NAME",
           escape(name) + r" \- " + escape(summary), ".SH SYNOPSIS", ".nf"]
    while lines[0]:
        out.append(escape(lines.pop(0).replace("usage: ", "").strip()))
    out += [".fi", ".SH DESCRIPTION"]
    in_options = False
    for line in lines:
        option = OPTION.match(line)
        if option and not line.startswith("   "):
            out += [".TP", rf"\fB{escape(option[1])}\fR", escape(option[2] or "")]
        elif re.fullmatch(r"[A-Z][^.]*:", line):
            if not in_options:
                out.append(".SH OPTIONS")
            in_options = True
            out += [".SS " + escape(line[:-1])]
        elif line.startswith("Exit status: "):
            out += [".SH EXIT STATUS", escape(line.removeprefix("Exit status: ").capitalize())]
        elif line:
            out.append(escape(line.strip()))
        else:
            out.append(".PP")
    while out[-1] == ".PP":
        out.pop()
    text = "\n".join(line for line, following in zip(out, out[1:] + [""])
                     if line and not (line == ".PP" and following.startswith(".S")))
    return text + "\n" + sections


def main(program, version, summary, sections, output):
    usage = subprocess.run([program, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
    pathlib.Path(output).write_text(page(pathlib.Path(program).name, version, summary, usage,
                                         pathlib.Path(sections).read_text()))


if __name__ == "__main__":
    main(*sys.argv[1:])
