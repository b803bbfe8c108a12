#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""README's commands run as they are written.  usage: readme_test.py BUILD GLSLANG

Each block of shell commands runs alone, in a folder like the source tree with BUILD as its build/,
a `shader.spv` in it and a program `my_program` in PATH. Blocks that set up, build and test
everything are left out, because they run this test.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = ("ci/demo", "ci/setup")

SHADER = """#version 460
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Data { float data[]; };
void main() {
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
   coopMatLoad(m, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopMatStore(m, data, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
}
"""

# Fails unless the loader finds a device of Weft's driver.
MY_PROGRAM = """#!/bin/sh
vulkaninfo --summary | grep -q 'driverName.*Weft'
"""

# The loader goes on without a layer that it does not find.
SHOWS_LAYER = """
vulkaninfo --summary | grep VK_LAYER_WEFT_cooperative_matrix >/dev/null ||
   { echo "the loader does not find the layer"; exit 1; }
"""


class ReadmeTest(unittest.TestCase):
    def make_tree(self, folder):
        for entry in ROOT.iterdir():
            if not entry.name.startswith("build"):
                (folder / entry.name).symlink_to(entry)
        (folder / "build").symlink_to(BUILD)
        (folder / "shader.comp").write_text(SHADER)
        subprocess.run([GLSLANG, "--target-env", "vulkan1.3", "-V", "shader.comp", "-o",
                        "shader.spv"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        programs = folder / "programs"
        programs.mkdir()
        (programs / "my_program").write_text(MY_PROGRAM)
        (programs / "my_program").chmod(0o755)
        return programs

    def test_commands(self):
        blocks = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
        blocks = [block for block in blocks if not block.startswith(LEFT_OUT)]
        self.assertGreater(len(blocks), 3)
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch, "weft")
            folder.mkdir()
            programs = self.make_tree(folder)
            manifest = next(BUILD.glob("icd/weft_icd.*.json"))
            environment = dict(
                os.environ, PATH=f"{programs}:{os.environ['PATH']}", DESTDIR=scratch + "/installed",
                VK_DRIVER_FILES=str(manifest), VK_ICD_FILENAMES=str(manifest))
            for block in blocks:
                with self.subTest(block):
                    script = block + (SHOWS_LAYER if "VK_INSTANCE_LAYERS=" in block else "")
                    run = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder,
                                         env=environment, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, text=True)
                    self.assertEqual(run.returncode, 0, run.stdout[-2000:])


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv[1]).resolve()
    # Commands run in another folder than this test.
    GLSLANG = shutil.which(sys.argv[2]) or sys.exit(f"{sys.argv[2]}: no such program")
    GLSLANG = str(pathlib.Path(GLSLANG).resolve())
    unittest.main(argv=sys.argv[:1])
