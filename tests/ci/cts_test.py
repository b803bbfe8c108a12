#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Tests of ci/cts: its log parser, and the whole of it on a stand-in for deqp-vk."""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
CTS = HERE.parent.parent / "ci/cts"


def load_cts():
    sys.dont_write_bytecode = True  # or ci/ would get a cache file
    loader = importlib.machinery.SourceFileLoader("cts", str(CTS))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("cts", loader))
    loader.exec_module(module)
    return module


cts = load_cts()


class LogParserTest(unittest.TestCase):
    def parse(self, text):
        parser = cts.LogParser()
        for line in text.splitlines(keepends=True):
            parser.feed(line)
        return parser

    def test_results(self):
        parser = self.parse(
            "dEQP Core starting..\n"
            "\nTest case 'a.b.c'..\n  Pass (Pass)\n"
            "\nTest case 'a.b.d'..\n  NotSupported (cooperativeMatrix (KHR) not supported at f.cpp:769)\n"
            "\nTest case 'a.b.e'..\n  Fail (Failed\nwith a second line)\n"
            "\nTest case 'a.b.f'..\n  InternalError (x)\n\nDONE!\n")
        self.assertIsNone(parser.running)
        self.assertEqual({case: result.kind for case, result in parser.results.items()},
                         {"a.b.c": "pass", "a.b.d": "not supported", "a.b.e": "fail", "a.b.f": "fail"})
        self.assertEqual(parser.results["a.b.d"].detail,
                         "NotSupported: cooperativeMatrix (KHR) not supported at f.cpp:769")
        self.assertEqual(parser.results["a.b.e"].detail, "Fail: Failed")

    def test_case_left_open(self):
        parser = self.parse("Test case 'a.b'..\n  Pass (Pass)\nTest case 'a.c'..\n")
        self.assertEqual(parser.running, "a.c")
        self.assertEqual(list(parser.results), ["a.b"])

    def test_noise_between_cases(self):
        parser = self.parse("  Pass (nothing runs yet)\nTest case 'a'..\ndriver says hello\n  Pass (Pass)\n")
        self.assertEqual(list(parser.results), ["a"])


class RunTest(unittest.TestCase):
    def run_cts(self, expected, *arguments):
        with tempfile.TemporaryDirectory() as scratch:
            expected_path = pathlib.Path(scratch, "expected.txt")
            expected_path.write_text(expected)
            return subprocess.run(
                [CTS, HERE / "fake_deqp_vk", "--icd", CTS, "--expected", expected_path, "--timeout", "5",
                 "--jobs", "2", "--batch", "5", *arguments],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def counts(self, output, row):
        line = next(line for line in output.splitlines() if line.startswith(row))
        return [int(word) for word in line[len(row):].split()]

    def test_crash_and_hang_cost_one_case_each(self):
        run = self.run_cts("")
        self.assertEqual(run.returncode, 1, run.stdout)
        # The columns: pass, fail, not supported, draws, crash, timeout.
        self.assertEqual(self.counts(run.stdout, "pipeline khr_a subgroup"), [2, 0, 0, 0, 1, 0])
        self.assertEqual(self.counts(run.stdout, "pipeline khr_a workgroup"), [0, 0, 2, 0, 0, 0])
        self.assertEqual(self.counts(run.stdout, "pipeline khr_b subgroup"), [0, 1, 0, 0, 0, 1])
        self.assertEqual(self.counts(run.stdout, "pipeline op_constant_null"), [1, 1, 0, 0, 0, 0])
        self.assertEqual(self.counts(run.stdout, "total"), [3, 2, 2, 0, 1, 1])
        self.assertIn("unexpected failures: 4\n", run.stdout)
        self.assertIn("add.crash  crash: exit status -6 driver: assertion failed", run.stdout)

    def test_crash_after_the_last_case(self):
        run = self.run_cts("", "--group", "memory_model", "--min-pass", "1")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertEqual(self.counts(run.stdout, "memory_model shared"), [1, 0, 0, 0, 1, 0])
        self.assertIn("comp.late_crash  crash: exit status -6", run.stdout)

    def test_expected_failures(self):
        run = self.run_cts("# comment\n*.fail  wrong sum\n*.crash  null pointer # really\n*.hang  endless\n",
                           "--min-pass", "3")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("\nexpected failures: 4\n", run.stdout)
        self.assertNotIn("unexpected", run.stdout)

    def test_expected_failure_that_passes(self):
        run = self.run_cts("*.sub.pass  old bug\n", "--filter", "*.pass")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("but passed (take it off the list): 1\n", run.stdout)

    def test_too_few_passes(self):
        run = self.run_cts("", "--filter", "*.unsupported")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("only 0 passed", run.stdout)

    def test_even_sample(self):
        run = self.run_cts("", "--group", "memory_model", "--group", "compute", "--every", "3")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(self.counts(run.stdout, "memory_model shared"), [1, 0, 0, 0, 0, 0])
        self.assertEqual(self.counts(run.stdout, "total"), [1, 0, 0, 0, 0, 0])

    def test_no_sample(self):
        run = self.run_cts("", "--every", "0")
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("--every: not a positive number", run.stdout)

    def test_reasons_without_places(self):
        run = self.run_cts("", "--filter", "*.unsupported", "--filter", "*.unsupported_here")
        self.assertIn("\nreasons of cases that are not supported: 1\n       2  no such feature\n",
                      run.stdout)

    def test_lost_passes(self):
        run = self.run_cts("*.fail  a\n*.crash  b\n*.hang  c\n")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("only 3 passed, at least 44805 should", run.stdout)

    def test_layer_that_breaks_a_case(self):
        run = self.run_cts("", "--group", "subgroups", "--layered")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("2 pass on the driver alone, 1 under the layer; 1 pass on the driver alone only\n",
                      run.stdout)
        self.assertIn("compute.fails_layered  fail: Fail: wrong under the layer", run.stdout)
        run = self.run_cts("*.fails_layered  more types\n", "--group", "subgroups", "--layered")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("compute.fails_layered  fail: more types", run.stdout)
        self.assertIn("0 pass on the driver alone only\n", run.stdout)
        run = self.run_cts("", "--group", "subgroups", "--layered", "--filter", "*.pass")
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_records(self):
        with tempfile.TemporaryDirectory() as scratch:
            records = pathlib.Path(scratch, "records.json")
            records.write_text('{"weft": {"subgroups": {"pass": 3}}, "other": {"compute": {"pass": 7}}}')
            groups = ["--group", "subgroups", "--group", "compute", "--records", records]
            run = self.run_cts("", *groups)
            self.assertEqual(run.returncode, 1, run.stdout)
            self.assertIn("only 3 passed, at least 4 should", run.stdout)
            self.assertEqual(self.counts(run.stdout, "subgroups   "), [2, 3])
            self.assertEqual(self.counts(run.stdout, "compute    "), [1, 7])
            run = self.run_cts("", *groups, "--record", "weft")
            self.assertEqual(run.returncode, 0, run.stdout)
            self.assertEqual(json.loads(records.read_text())["weft"]["subgroups"],
                             {"pass": 2, "fail": 0, "not supported": 0, "draws": 0, "crash": 0,
                              "timeout": 0})
            self.assertEqual(self.run_cts("", *groups).returncode, 0)

    def test_cases_that_draw(self):
        with tempfile.TemporaryDirectory() as scratch:
            results = pathlib.Path(scratch, "results.tsv")
            ssbo = ["--group", "ssbo", "--min-pass", "1"]
            run = self.run_cts("", *ssbo, "--results", results)
            self.assertEqual(run.returncode, 0, run.stdout)
            self.assertEqual(self.counts(run.stdout, "ssbo layout"), [1, 0, 0, 1, 0, 0])
            run = self.run_cts("", *ssbo, "--like", results)
            self.assertEqual(self.counts(run.stdout, "ssbo layout"), [1, 0, 0, 0, 0, 0])

    def test_part_is_no_record(self):
        run = self.run_cts("", "--every", "2", "--record", "weft")
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("--record: only whole groups are recorded", run.stdout)

    def test_groups_leave_graphics_and_each_other_out(self):
        run = self.run_cts("", "--group", "subgroups", "--group", "memory_model", "--group", "compute",
                           "--filter", "*.pass", "--filter", "*.fail*", "--min-pass", "2")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(self.counts(run.stdout, "subgroups vote"), [2, 0, 0, 0, 0, 0])
        self.assertEqual(self.counts(run.stdout, "compute pipeline"), [1, 0, 0, 0, 0, 0])
        self.assertEqual(self.counts(run.stdout, "memory_model shared"), [1, 0, 0, 0, 0, 0])
        self.assertEqual(self.counts(run.stdout, "total"), [4, 0, 0, 0, 0, 0])

    def test_pattern_without_reason(self):
        run = self.run_cts("*.fail\n")
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("no reason given", run.stdout)


if __name__ == "__main__":
    unittest.main()
