#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Tests of tests/at_isa_level and tests/x86/with_emulated_tiles, on CPUs that are made up."""

import os
import pathlib
import subprocess
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
AT_ISA_LEVEL = TESTS / "at_isa_level"
LEVELS = ("avx2", "avx-vnni", "avx512f", "avx512-vnni", "avx512")


class AtIsaLevelTest(unittest.TestCase):
    def status_of(self, command, flags):
        """(exit status, output) of a command on a CPU with these flags."""
        with tempfile.NamedTemporaryFile("w") as cpuinfo:
            cpuinfo.write(f"processor\t: 0\nflags\t\t: fpu {flags} sse\nflags\t\t: fpu\n")
            cpuinfo.flush()
            run = subprocess.run(command, env=dict(os.environ, WEFT_TEST_CPUINFO=cpuinfo.name),
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return run.returncode, run.stdout.strip()

    def run_at(self, level, flags):
        """(exit status, output) of a program that prints WEFT_ISA."""
        return self.status_of([AT_ISA_LEVEL, level, "printenv", "WEFT_ISA"], flags)

    def levels_of(self, flags):
        """The levels at which programs run there."""
        runs = {level: self.run_at(level, flags) for level in LEVELS}
        for level, (status, shown) in runs.items():
            self.assertIn(status, (0, 77))
            self.assertEqual(shown == level, status == 0, shown)
        return [level for level, (status, _) in runs.items() if status == 0]

    def test_amx_is_emulated_on_cpus_with_the_kernels_other_instructions(self):
        command = [TESTS / "x86/with_emulated_tiles", "", "echo", "ran"]
        self.assertEqual(self.status_of(command, "avx512bw avx512_bf16"), (0, "ran"))
        for flags in "avx2", "avx512bw avx512_vnni", "avx512bw avx512_bf16 amx_tile":
            self.assertEqual(self.status_of(command, flags)[0], 77, flags)

    def test_levels_below_the_machines_own(self):
        self.assertEqual(self.levels_of("avx2"), [])
        self.assertEqual(self.levels_of("avx2 avx_vnni"), ["avx2"])
        self.assertEqual(self.levels_of("avx2 avx512bw"), ["avx2"])
        self.assertEqual(self.levels_of("avx2 avx512bw avx512_vnni"), ["avx2", "avx512f"])
        self.assertEqual(
            self.levels_of("avx2 avx_vnni avx512bw avx512_vnni avx512_bf16 amx_tile"),
            ["avx2", "avx-vnni", "avx512f", "avx512-vnni", "avx512"])

    def test_reason(self):
        self.assertEqual(self.run_at("avx512f", "avx2"),
                         (77, "this CPU lacks avx512f: code for it did not run"))
        self.assertIn("no more than avx2", self.run_at("avx2", "avx2")[1])

    def test_unknown_level(self):
        self.assertEqual(self.run_at("sse", "avx2")[0], 2)


if __name__ == "__main__":
    unittest.main()
