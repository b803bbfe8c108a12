#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Tests of ci/count_tests.py, on logs as Meson and GoogleTest write them."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

COUNT_TESTS = pathlib.Path(__file__).resolve().parent.parent.parent / "ci/count_tests.py"


class CountTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "meson-logs").mkdir()
        self.entries = []

    def add(self, name, result="OK", cases=None, stdout=""):
        """One test program; `cases` is its GoogleTest report, name → outcome."""
        self.entries.append({"name": "weft:suite / " + name, "result": result,
                             "returncode": 0 if result == "OK" else 1, "stdout": stdout})
        if cases is None:
            return
        inner = {"passed": "", "failed": '<failure message="a.cc:1&#10;it is wrong"/>',
                 "skipped": '<skipped message="a.cc:2&#10;no such device"/>', "notrun": ""}
        body = "".join(
            f'<testcase classname="suite" name="{case}" '
            f'status="{"notrun" if outcome == "notrun" else "run"}">{inner[outcome]}</testcase>'
            for case, outcome in cases.items())
        (self.folder / f"{name}.xml").write_text(
            f'<testsuites><testsuite name="suite">{body}</testsuite></testsuites>')

    def count(self):
        if self.entries:
            (self.folder / "meson-logs/testlog.json").write_text(
                "\n".join(json.dumps(entry) for entry in self.entries))
        run = subprocess.run([sys.executable, COUNT_TESTS, self.folder], stdout=subprocess.PIPE,
                             text=True)
        return run.returncode, run.stdout.splitlines()

    def test_cases_and_programs(self):
        self.add("gtest", cases={"one": "passed", "two": "passed", "off": "notrun"})
        self.add("plain")
        status, lines = self.count()
        self.assertEqual(lines[-1], "3 passed, 0 failed")
        self.assertEqual(status, 0)

    def test_failed_case(self):
        self.add("gtest", result="FAIL", cases={"one": "passed", "two": "failed"})
        status, lines = self.count()
        self.assertEqual(lines[-1], "1 passed, 1 failed")
        self.assertTrue(any("gtest: suite.two" in line for line in lines), lines)
        self.assertEqual(status, 1)

    def test_program_that_ends_badly_after_good_cases(self):
        self.add("gtest", result="ERROR", cases={"one": "passed"})
        status, lines = self.count()
        self.assertEqual(lines[-1], "1 passed, 1 failed")
        self.assertEqual(status, 1)

    def test_filter_that_matches_nothing(self):
        self.add("good", cases={"one": "passed"})
        self.add("empty", cases={})
        self.add("all_off", cases={"one": "notrun"})
        status, lines = self.count()
        self.assertEqual(lines[-1], "1 passed, 2 failed")
        self.assertEqual(status, 1)

    def test_unreadable_report(self):
        self.add("good", cases={"one": "passed"})
        for name, result in (("cut", "OK"), ("crashed", "FAIL")):
            self.add(name, result=result, cases={"one": "passed"})
            report = self.folder / f"{name}.xml"
            report.write_text(report.read_text()[:-5])
        status, lines = self.count()
        self.assertEqual(lines[-1], "1 passed, 2 failed")
        self.assertEqual(status, 1)

    def test_skips(self):
        self.add("gtest", cases={"one": "passed", "two": "skipped", "three": "skipped"})
        self.add("plain", result="SKIP", stdout="not installed\n")
        status, lines = self.count()
        self.assertIn("skipped: 2: no such device", lines)
        self.assertIn("skipped: 1: not installed", lines)
        self.assertEqual(lines[-1], "1 passed, 0 failed")
        self.assertEqual(status, 0)

    def test_what_sweeps_left_out(self):
        for name in ("first", "second"):
            self.add(name, cases={"one": "passed"},
                     stdout="cases: 40 run, 5 skipped\n  skipped      5: needs shaderInt8\n")
        _, lines = self.count()
        self.assertIn("combinations in sweeps: 80 run, 10 left out", lines)
        self.assertIn("left out: 10: needs shaderInt8", lines)

    def test_no_log(self):
        status, lines = self.count()
        self.assertEqual(lines[-1], "0 passed, 1 failed")
        self.assertEqual(status, 1)


if __name__ == "__main__":
    unittest.main()
