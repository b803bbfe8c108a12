#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""The wheel and the npm package of a made-up archive: their files, and that they start weft-run.
tests/package has the tests of real archives."""

import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

PACKAGING = pathlib.Path(__file__).resolve().parent.parent.parent / "ci/packaging"
# Prints its arguments, and sets the variables of the real one.
WEFT_RUN = b"""#!/bin/sh
case $1 in --profile) echo "no profile $2" >&2; exit 125 ;; esac
for option; do case $option in --*) options="$options $option" ;; esac; done
[ "$1" != --info ] || { echo "info:$options"; exit 3; }
while case $1 in --*) ;; *) false ;; esac; do shift; done
unset WEFT_TEST_GONE
WEFT_TEST_OPTIONS="$options" exec "$@"
"""


class PackagingTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.archive = self.folder / "weft-1.2.3-linux-x86_64.tar.xz"
        with tarfile.open(self.archive, "w:xz") as archive:
            for name, mode, data in (("bin/weft-run", 0o755, WEFT_RUN), ("README.md", 0o644, b"no"),
                                     ("licenses/Weft.txt", 0o644, b"free")):
                entry = tarfile.TarInfo("weft-1.2.3-linux-x86_64/" + name)
                entry.size, entry.mode, entry.mtime = len(data), mode, 1_600_000_000
                archive.addfile(entry, io.BytesIO(data))

    def make(self, script, pattern):
        """The package; made twice with the same bytes."""
        made = []
        for name in ("one", "two"):
            (self.folder / name).mkdir()
            subprocess.run([sys.executable, "-B", PACKAGING / script, self.archive, self.folder / name],
                           check=True, stdout=subprocess.DEVNULL)
            made.append(next((self.folder / name).glob(pattern)))
        self.assertEqual(made[0].read_bytes(), made[1].read_bytes())
        return made[0]

    def run_program(self, *command, status=0, **variables):
        ran = subprocess.run(command, env=dict(os.environ, WEFT_TEST_GONE="1", PWD=os.getcwd(), **variables), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return ran.stdout + ran.stderr

    def test_wheel(self):
        wheel = self.make("make_wheel.py", "weft_vulkan-1.2.3-py3-none-manylinux_2_34_x86_64.whl")
        place = self.folder / "a place"
        with zipfile.ZipFile(wheel) as zipped:
            rows = {row[0]: row[1:] for row in csv.reader(
                io.TextIOWrapper(zipped.open("weft_vulkan-1.2.3.dist-info/RECORD")))}
            self.assertEqual(set(rows), set(zipped.namelist()))
            for entry in zipped.infolist():
                data = zipped.read(entry)
                if rows[entry.filename][0]:
                    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                    self.assertEqual(rows[entry.filename], [f"sha256={digest}", str(len(data))])
                path = zipped.extract(entry, place)
                os.chmod(path, entry.external_attr >> 16 & 0o777)
        self.assertIn("weft_vulkan-1.2.3.dist-info/licenses/Weft.txt", rows)
        self.assertNotIn("weft_vulkan/weft/README.md", rows)

        python = {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
        module = [sys.executable, "-m", "weft_vulkan"]
        self.assertEqual(self.run_program(*module, "info", "--json", status=3, **python), "info: --info --json\n")
        self.assertEqual(self.run_program(*module, "run", "--add", "printenv", "WEFT_TEST_OPTIONS", **python),
                         " --add\n")
        self.assertIn("usage: ", self.run_program(*module, "nonsense", status=2, **python))
        self.assertIn("usage: ", self.run_program(*module, "--help", **python))
        script = ("import os, weft_vulkan; changed = weft_vulkan.activate(layer=True, gpu=True)\n"
                  "assert changed == {'WEFT_TEST_OPTIONS': ' --layer --gpu'}, changed\n"
                  "assert 'WEFT_TEST_GONE' not in os.environ\n"
                  "os.execlp('printenv', 'printenv', 'WEFT_TEST_OPTIONS')")
        self.assertEqual(self.run_program(sys.executable, "-c", script, **python), " --layer --gpu\n")
        script = "import weft_vulkan; weft_vulkan.activate(profile='x')"
        self.assertIn("RuntimeError: no profile x",
                      self.run_program(sys.executable, "-c", script, status=1, **python))

    def test_npm(self):
        package = self.make("make_npm.py", "weft-vulkan-1.2.3.tgz")
        with tarfile.open(package) as packed:
            packed.extractall(self.folder)
        folder = self.folder / "package"
        self.assertEqual(json.loads((folder / "package.json").read_text())["version"], "1.2.3")
        self.assertFalse((folder / "weft/README.md").exists())
        if not shutil.which("node"):
            self.skipTest("node is not installed")
        self.assertEqual(self.run_program(folder / "run.js", "info", "--json", status=3), "info: --info --json\n")
        self.assertEqual(self.run_program(folder / "run.js", "run", "--add", "sh", "-c", "exit 9", status=9), "")
        self.assertEqual(self.run_program(folder / "run.js", "run", "sh", "-c", "kill -9 $$", status=137), "")
        self.assertIn("usage: ", self.run_program(folder / "run.js", status=2))
        script = ("const changed = require(process.argv[1]).activate({layer: true, gpu: true});\n"
                  "console.log(JSON.stringify(changed), process.env.WEFT_TEST_GONE);")
        self.assertEqual(self.run_program("node", "-e", script, folder),
                         '{"WEFT_TEST_OPTIONS":" --layer --gpu"} undefined\n')
        script = "require(process.argv[1]).activate({profile: 'x'})"
        self.assertIn("no profile x", self.run_program("node", "-e", script, folder, status=1))


if __name__ == "__main__":
    unittest.main()
