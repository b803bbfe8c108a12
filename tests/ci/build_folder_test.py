#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Tests of ci/build_folder.py, on a project of one target."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD_FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "ci/build_folder.py"


class BuildFolderTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.source = pathlib.Path(scratch.name)

    def configure(self, command, *options):
        (self.source / "meson.build").write_text(
            "project('p', default_options: ['buildtype=release'])\n"
            "custom_target('t', output: 't.txt', build_by_default: true,\n"
            f"  command: ['sh', '-c', '{command}', 'sh', '@OUTPUT@'])\n")
        subprocess.run(["meson", "setup", "b", *options], cwd=self.source, check=True,
                       stdout=subprocess.DEVNULL)

    def build(self, *arguments):
        return subprocess.run([sys.executable, BUILD_FOLDER, "b", *arguments], cwd=self.source,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def test_builds(self):
        self.configure("echo noise; touch $1")
        built = self.build("-Dbuildtype=release", "all")
        self.assertEqual(built.returncode, 0, built.stdout)
        self.assertTrue((self.source / "b/t.txt").exists())
        self.assertIn("built, 1 steps", built.stdout)
        self.assertNotIn("noise", built.stdout)
        again = self.build("all")
        self.assertEqual((again.returncode, again.stdout), (0, ""))

    def test_failure_shows_what_was_said(self):
        self.configure("echo because; exit 3")
        built = self.build("all")
        self.assertNotEqual(built.returncode, 0)
        self.assertIn("because", built.stdout)

    def test_unknown_target(self):
        self.configure("touch $1")
        built = self.build("nothing")
        self.assertNotEqual(built.returncode, 0)
        self.assertIn("nothing", built.stdout)

    def test_other_options_are_replaced(self):
        self.configure("touch $1", "-Dbuildtype=debug")
        built = self.build("-Dbuildtype=release", "all")
        self.assertEqual(built.returncode, 0, built.stdout)
        self.assertIn("buildtype=debug, buildtype=release is needed", built.stdout)
        self.assertNotIn("is needed", self.build("-Dbuildtype=release", "all").stdout)

    def test_options_that_are_lists(self):
        self.configure("touch $1", "-Dforce_fallback_for=a,b")
        self.assertNotIn("is needed", self.build("-Dforce_fallback_for=a,b", "all").stdout)
        self.assertIn("force_fallback_for=a,b, force_fallback_for=a is needed",
                      self.build("-Dforce_fallback_for=a", "all").stdout)


if __name__ == "__main__":
    unittest.main()
