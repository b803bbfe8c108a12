#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Man pages and completions know each option that --help lists, and no others; every script of ci/
has --help.
usage: documents_test.py SOURCE BUILD PROGRAM...
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


class Documents(unittest.TestCase):
    def programs(self):
        for program in PROGRAMS:
            usage = subprocess.run([program, "--help"], check=True, stdout=subprocess.PIPE,
                                   text=True).stdout
            # Options are at the beginnings of lines; texts may mention options of other programs.
            listed = set()
            for line in usage.splitlines():
                if line.startswith("  -"):
                    listed |= options_in(line.split("   ")[0])
            self.assertIn("--help", listed)
            self.assertIn("--version", listed)
            yield program.name, listed

    def completion(self, name):
        return (SOURCE / "tools/completions" / name).read_text()

    def test_bash(self):
        for name, listed in self.programs():
            self.assertEqual(options_in(self.completion(name + ".bash")), listed)

    def test_zsh(self):
        for name, listed in self.programs():
            found = options_in("\n".join(re.findall(r"^  ['\"(].*$", self.completion("_" + name), re.M)))
            self.assertEqual(found - {"--info"} | {"--info"} & listed, listed)

    def test_fish(self):
        for name, listed in self.programs():
            found = {"--" + option for option in re.findall(r"-l (\S+)", self.completion(name + ".fish"))}
            self.assertEqual(found, listed)

    def test_bash_completes(self):
        def complete(name, *words):
            script = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                      f'_{name.replace("-", "_")}; printf "%s\\n" "${{COMPREPLY[@]}}"')
            file = SOURCE / "tools/completions" / (name + ".bash")
            return subprocess.run(["bash", "-c", script, file, *words], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout.split()
        self.assertEqual(complete("weft-run", "weft-run", "--la"), ["--layer"])
        self.assertEqual(complete("weft-run", "weft-run", "--profile", "nv"),
                         ["nvidia", "nvidia+identity"])
        self.assertNotIn("--layer", complete("weft-run", "weft-run", "cat", "--la"))
        self.assertEqual(complete("weftc", "weftc", "--emit", "=", "as"), ["asm"])
        self.assertEqual(complete("weftc", "weftc", "--target", "l"), ["layer"])

    def test_man_pages(self):
        for name, listed in self.programs():
            page = (BUILD / "tools/man" / (name + ".1")).read_text()
            self.assertLessEqual(listed, options_in(page.replace("\\fB", "").replace("\\-", "-")))
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES"):
                self.assertIn(f".SH {section}\n", page)
            if shutil.which("groff"):
                ran = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=page, text=True,
                                     capture_output=True, check=True)
                self.assertEqual(ran.stderr, "")

    def test_scripts(self):
        for script in sorted((SOURCE / "ci").rglob("*")):
            if not script.is_file() or not script.read_bytes().startswith(b"#!"):
                continue
            if script.is_relative_to(SOURCE / "ci/packaging") and not script.name.startswith("make_"):
                continue  # a part of a package
            for option in ("--help", "-h"):
                ran = subprocess.run([script, option], stdin=subprocess.DEVNULL, capture_output=True,
                                     text=True, timeout=60, check=False)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""), script)
                self.assertRegex(ran.stdout, r"(?i)\busage: \S*" + script.name)


if __name__ == "__main__":
    SOURCE, BUILD, *PROGRAMS = map(pathlib.Path, sys.argv[1:])
    del sys.argv[1:]
    unittest.main()
