#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""ci/bench callgrind: its comparison with the tracked file, and the names in file and tables."""

import contextlib
import io
import json
import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / 'ci'))
import bench_callgrind


def is_accepted(workgroup, compiler):
    """Whether these counts are accepted after 10,000 and 1,000,000."""
    tracked = {'kernel': {'workgroup': 10000, 'compiler': 1000000}}
    with contextlib.redirect_stdout(io.StringIO()):
        return bench_callgrind.print_row('kernel', {'workgroup': workgroup, 'compiler': compiler},
                                         tracked)


class BenchCallgrindTest(unittest.TestCase):
    def test_growth_is_refused(self):
        self.assertTrue(is_accepted(10000, 1000000))
        self.assertTrue(is_accepted(5000, 500000))
        self.assertTrue(is_accepted(10050, 1010000))
        self.assertFalse(is_accepted(10200, 1000000))
        self.assertFalse(is_accepted(10000, 1050000))

    def test_new_shaders_are_accepted(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertTrue(bench_callgrind.print_row('new', {'workgroup': 1, 'compiler': 1}, {}))

    def test_slope(self):
        first, last = bench_callgrind.WORKGROUPS
        self.assertEqual(bench_callgrind.slope([100 + 7 * first, 100 + 7 * last]), 7)

    def test_names(self):
        shaders = {path.stem for path in bench_callgrind.FOLDER.glob('*.comp')}
        tracked = json.loads(bench_callgrind.TRACKED.read_text())
        for names in (tracked, bench_callgrind.CONSTANTS, bench_callgrind.PEERS,
                      bench_callgrind.WITHOUT):
            self.assertEqual(set(names) - shaders, set())


if __name__ == '__main__':
    unittest.main()
