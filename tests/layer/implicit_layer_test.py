#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""The loader lists the implicit layer once, if its variable enables it and no other variable
disables it.

usage: implicit_layer_test.py BUILD MANIFEST

MANIFEST, which -Dlayer_manifest=implicit installs, lies with the library of BUILD in the folder
that the loader searches for the user's own layers. The subgroup size shows whether the layer is
active: the driver imitates one vendor, the layer another.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

NAME = "VK_LAYER_WEFT_cooperative_matrix"
ENABLE = {"ENABLE_VK_LAYER_WEFT_cooperative_matrix_1": "1"}
DISABLE = {"DISABLE_VK_LAYER_WEFT_cooperative_matrix_1": "1"}
LAYER, DRIVER = 32, 8  # subgroup sizes of the profiles nvidia and lavapipe


class ImplicitLayerTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        folder = pathlib.Path(self.scratch.name, "vulkan/implicit_layer.d")
        folder.mkdir(parents=True)
        manifest = json.loads(MANIFEST.read_text())
        library = pathlib.Path(manifest["layer"]["library_path"]).name
        manifest["layer"]["library_path"] = str(BUILD / "layer" / library)
        (folder / "weft.json").write_text(json.dumps(manifest))

    def vulkaninfo(self, **variables):
        icd = str(next(BUILD.glob("icd/weft_icd.*.json")))
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("WEFT_", "VK_"))}
        environment.update(variables, XDG_DATA_HOME=self.scratch.name, VK_DRIVER_FILES=icd,
                           VK_ICD_FILENAMES=icd, WEFT_ICD_PROFILE="lavapipe", WEFT_PROFILE="nvidia")
        return subprocess.run(["vulkaninfo"], env=environment, check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout

    def subgroup_size(self, **variables):
        shown = self.vulkaninfo(**variables)
        return int(re.search(r"\bsubgroupSize\s*= (\d+)", shown)[1])

    def test_variables(self):
        self.assertEqual(self.subgroup_size(), DRIVER)
        self.assertEqual(self.subgroup_size(**ENABLE), LAYER)
        self.assertEqual(self.subgroup_size(**ENABLE, VK_INSTANCE_LAYERS=NAME), LAYER)
        self.assertEqual(self.subgroup_size(**ENABLE, **DISABLE), DRIVER)

    def test_listed_once(self):
        self.assertEqual(self.vulkaninfo().count(f"{NAME} ("), 1)

    def test_one_manifest_is_installed(self):
        installed = json.loads((BUILD / "meson-info/intro-installed.json").read_text())
        manifests = [path for path in installed.values() if "_layer.d/" in path]
        self.assertEqual(len(manifests), 1, manifests)


if __name__ == "__main__":
    BUILD, MANIFEST = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
    unittest.main()
