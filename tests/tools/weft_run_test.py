#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""weft-run, in the build folder and in an installation that was moved.
usage: weft_run_test.py WEFT_RUN WEFTC DRIVER LAYER"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

LAYER_NAME = "VK_LAYER_WEFT_cooperative_matrix"
FAMILY = ["VK_KHR_cooperative_matrix", "VK_NV_cooperative_matrix", "VK_NV_cooperative_matrix2",
          "VK_NV_cooperative_matrix_decode_vector", "VK_EXT_cooperative_matrix_maintenance1",
          "VK_QCOM_cooperative_matrix_conversion", "VK_ARM_cooperative_matrix_layouts",
          "VK_KHR_shader_bfloat16", "VK_EXT_shader_float8"]


def run(*arguments, program=None, **variables):
    """The environment without the caller's variables that change the devices."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("WEFT_", "VK_"))} | variables
    return subprocess.run([program or WEFT_RUN, *map(str, arguments)], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=90, check=False)


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        # A folder as users have them.
        self.root = pathlib.Path(scratch.name, "Wëft in any folder")
        self.root.mkdir()

    def info(self, *options, status=0, **variables):
        ran = run("--info", "--json", *options, **variables)
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return json.loads(ran.stdout)

    def unpack(self):
        """An installation with manifests that are relative to themselves; returns its weft-run."""
        for folder in ("bin", "lib", "share/vulkan/icd.d", "share/vulkan/explicit_layer.d"):
            (self.root / folder).mkdir(parents=True)
        program = shutil.copy(WEFT_RUN, self.root / "bin")
        for library in (DRIVER, LAYER):
            (self.root / "lib" / library.name).symlink_to(library)
        driver = next(DRIVER.parent.glob("weft_icd.*.json"))
        layer = LAYER.parent / "explicit_layer.d/VkLayer_weft_cooperative_matrix.json"
        for manifest, kind, key, library in ((driver, "icd.d", "ICD", DRIVER),
                                             (layer, "explicit_layer.d", "layer", LAYER)):
            contents = json.loads(manifest.read_text())
            contents[key]["library_path"] = f"../../../lib/{library.name}"
            (self.root / "share/vulkan" / kind / manifest.name).write_text(json.dumps(contents))
        return program


class CommandLine(Scratch):
    def test_help_and_version(self):
        for option in ("--help", "-h"):
            ran = run(option)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertTrue(ran.stdout.startswith("usage: weft-run "))
            self.assertLess(max(map(len, ran.stdout.splitlines())), 101)
        self.assertRegex(run("--version").stdout, r"\Aweft-run \d+\.\d+\.\d+\n\Z")

    def test_wrong_command_lines(self):
        for arguments, what in ((["--teapot", "true"], "--teapot"), ([], "no program"),
                                (["--profile"], "needs a value"), (["--json", "true"], "--info"),
                                (["--info", "true"], "no program"),
                                (["--env", "true"], "no program"),
                                (["--describe-driver"], "needs a value"),
                                (["--describe-driver", "x", "true"], "no program")):
            ran = run(*arguments)
            self.assertEqual((ran.returncode, ran.stdout), (125, ""), arguments)
            self.assertIn(what, ran.stderr)
            self.assertTrue(ran.stderr.startswith("weft-run: "))

    def test_exit_statuses(self):
        self.assertEqual(run("sh", "-c", "exit 42").returncode, 42)
        self.assertEqual(run("sh", "-c", "kill -9 $$").returncode, -signal.SIGKILL)
        ran = run("/nonexistent/program")
        self.assertEqual(ran.returncode, 127)
        self.assertIn("/nonexistent/program", ran.stderr)
        self.assertEqual(run(self.root).returncode, 126)

    def test_the_programs_options_are_its_own(self):
        self.assertEqual(run("echo", "--layer", "--help").stdout, "--layer --help\n")
        self.assertEqual(run("--", "echo", "x").stdout, "x\n")

    def test_environment(self):
        shown = run("--env", "--layer", "--gpu").stdout
        script = shown + 'printf "%s\\n" "$VK_INSTANCE_LAYERS" "$WEFT_DEVICE_TYPE"'
        printed = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout
        self.assertEqual(printed, f"{LAYER_NAME}\nintegrated-gpu\n")
        for name, mode in (("VK_DRIVER_FILES", []), ("VK_ADD_DRIVER_FILES", ["--add"])):
            value = run(*mode, "printenv", name).stdout.strip()
            self.assertTrue(pathlib.Path(value).is_file(), value)


class Info(Scratch):
    def test_the_cpu_device(self):
        found = self.info("--cpu")
        [device] = found["chosen"]["devices"]
        self.assertTrue(device["name"].startswith("Weft "))
        self.assertEqual(device["type"], "CPU")
        self.assertRegex(device["driver_info"], r"\AWeft [0-9.]+ \(LLVM [0-9.]+; AVX.*\)\Z")
        self.assertEqual([e["name"] for e in device["extensions"]], FAMILY)
        self.assertEqual({e["support"] for e in device["extensions"]}, {"native"})
        self.assertIn({"m": 16, "n": 16, "k": 16, "a": "f16", "b": "f16", "c": "f32",
                       "result": "f32", "saturating": False, "scope": "subgroup"},
                      device["operations"])
        self.assertTrue(found["has_matrices"])

    def test_the_family_is_the_layers(self):
        manifest = json.loads((LAYER.parent / "explicit_layer.d/VkLayer_weft_cooperative_matrix.json")
                              .read_text())
        self.assertEqual([e["name"] for e in manifest["layer"]["device_extensions"]], FAMILY)

    def test_the_layer(self):
        """Above the CPU device it has nothing to do, or hides the matrices and lowers them."""
        def supports(**variables):
            found = self.info("--cpu", "--layer", **variables)["chosen"]
            self.assertTrue(found["layer"])
            return {e["name"]: e["support"] for e in found["devices"][0]["extensions"]}
        self.assertEqual(supports(), dict.fromkeys(FAMILY, "native"))
        self.assertEqual(supports(WEFT_LOWERING="registers"), dict.fromkeys(FAMILY, "lowered"))
        few = supports(WEFT_ICD_PROFILE="intel+identity")
        self.assertEqual(few["VK_KHR_cooperative_matrix"], "extended")
        self.assertEqual(few["VK_NV_cooperative_matrix2"], "lowered")

    def test_reasons(self):
        """The reason for missing matrices is printed without any variable."""
        refused = {"WEFT_PROFILE": "amd+identity", "WEFT_ICD_PROFILE": "none",
                   "WEFT_LOWERING": "registers"}
        found = self.info("--cpu", "--layer", status=1, **refused)
        self.assertFalse(found["has_matrices"])
        for extension in found["chosen"]["devices"][0]["extensions"]:
            self.assertEqual(extension["support"], "missing")
            self.assertIn("amd+identity is refused", extension["reason"])
        page = run("--info", "--cpu", "--layer", **refused).stdout
        self.assertIn("no cooperative matrices: amd+identity is refused", page)
        # The layer hides none of the driver's own matrices.
        del refused["WEFT_LOWERING"]
        self.assertTrue(self.info("--cpu", "--layer", **refused)["has_matrices"])

        page = run("--info", "--cpu", "--layer", WEFT_ICD_PROFILE="lavapipe",
                   WEFT_FLOAT8="never").stdout
        self.assertRegex(page, "VK_KHR_shader_bfloat16 +lowered by the layer\n")
        self.assertRegex(page, "VK_EXT_shader_float8 +missing: hidden .*WEFT_FLOAT8=always")

    def test_one_page(self):
        ran = run("--info", "--cpu")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertLess(len(ran.stdout.splitlines()), 40)
        for text in ("Weft on ", "VK_KHR_cooperative_matrix", "native", "shader cache",
                     "Vulkan loader "):
            self.assertIn(text, ran.stdout)

    def test_identities(self):
        def listed(profile):
            [device] = self.info("--cpu", "--profile", profile)["chosen"]["devices"]
            return device, [e["name"] for e in device["extensions"] if e["support"] == "native"]
        nvidia, extensions = listed("nvidia+identity")
        self.assertEqual(nvidia["name"], "NVIDIA H200")
        self.assertEqual(extensions, FAMILY[:3] + ["VK_KHR_shader_bfloat16"])
        for profile in ("amd", "intel", "apple"):
            device, extensions = listed(profile + "+identity")
            self.assertEqual(extensions, FAMILY[:1], profile)
            self.assertTrue(device["operations"])
        self.assertEqual(listed("intel+identity")[0]["min_subgroup_size"], 16)
        self.assertEqual(listed("nvidia")[1], FAMILY[:-1])

    def test_as_a_gpu(self):
        [device] = self.info("--cpu", "--gpu")["chosen"]["devices"]
        self.assertEqual(device["type"], "integrated GPU")

    def test_a_driver_that_dies(self):
        source = self.root / "dies.c"
        source.write_text("#include <stdlib.h>\n"
                          "__attribute__((constructor)) static void die(void) { abort(); }\n")
        library = self.root / "libdies.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        manifest = self.root / "dies.json"
        manifest.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": {
            "library_path": str(library), "api_version": "1.3.0"}}))
        found = self.info(VK_DRIVER_FILES=str(manifest), VK_ICD_FILENAMES=str(manifest))
        self.assertIn("Abort", found["layer"]["error"])
        self.assertEqual(len(found["cpu"]["devices"]), 1)

    def test_no_driver(self):
        found = self.info("--layer", status=1, VK_DRIVER_FILES="/nonexistent.json",
                          VK_ICD_FILENAMES="/nonexistent.json")
        self.assertIn("no driver", found["chosen"]["error"])


class DriverReport(Scratch):
    def test_report_of_the_cpu_device(self):
        """weftc plans for the report as the layer plans for the device."""
        variables = {"WEFT_ICD_PROFILE": "lavapipe"}
        ran = run("--describe-driver", "Weft", "--cpu", **variables)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        report = json.loads(ran.stdout)
        self.assertTrue(report["deviceName"].startswith("Weft "))
        self.assertEqual(len(report["matrices"]), 4)
        self.assertIn("vulkanMemoryModel", report["features"])
        file = self.root / "report.json"
        file.write_text(ran.stdout)
        plan = subprocess.run([WEFTC, "--emit=plan", "--driver", file], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        [device] = self.info("--cpu", "--layer", **variables)["chosen"]["devices"]
        states = {"native": "native", "extended": "native, and the layer adds to it",
                  "lowered": "lowered by the layer"}
        for extension in device["extensions"]:
            self.assertRegex(plan, rf"(?m)^{extension['name']} +{states[extension['support']]}$")
        operations = plan.split("\noperations\n")[1].split("\nmultiples")[0].splitlines()
        self.assertEqual(len(operations), len(device["operations"]))
        self.assertEqual(operations[0], "  8x8x8 f16 f16 f32 f32 (the driver's own)")

    def test_devices_that_are_not_there(self):
        ran = run("--describe-driver", "teapot", "--cpu")
        self.assertEqual((ran.returncode, ran.stdout), (125, ""))
        self.assertRegex(ran.stderr, r"no device with 'teapot' in its name; there are\n  Weft ")
        ran = run("--describe-driver", "", VK_DRIVER_FILES="/nonexistent.json",
                  VK_ICD_FILENAMES="/nonexistent.json")
        self.assertEqual(ran.returncode, 125)
        self.assertIn("no driver", ran.stderr)


class Installed(Scratch):
    def test_works_where_it_is(self):
        program = self.unpack()
        ran = run("--info", "--json", "--cpu", "--layer", program=program)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        found = json.loads(ran.stdout)
        self.assertTrue(found["driver_manifest"].startswith(str(self.root)))
        self.assertTrue(found["layer_manifest"].startswith(str(self.root)))
        self.assertTrue(found["chosen"]["layer"])

    def test_half_a_library(self):
        program = self.unpack()
        library = self.root / "lib" / DRIVER.name
        whole = library.read_bytes()
        library.unlink()
        for size in (len(whole) // 2, len(whole) - 1, 20, 0):
            library.write_bytes(whole[:size])
            ran = run("true", program=program)
            self.assertEqual(ran.returncode, 125)
            self.assertIn(f"{self.root}/lib/{DRIVER.name}, which is cut off", ran.stderr)
        library.write_bytes(whole)
        self.assertEqual(run("true", program=program).returncode, 0)

    def test_parts_that_are_missing(self):
        program = self.unpack()
        (self.root / "lib" / DRIVER.name).unlink()
        for arguments in (["true"], ["--info", "--cpu"]):
            ran = run(*arguments, program=program)
            self.assertEqual(ran.returncode, 1 if arguments[0] == "--info" else 125)
            self.assertIn(f"{self.root}/lib/{DRIVER.name}, which is not there",
                          ran.stdout + ran.stderr)
        # The layer does not need the driver.
        self.assertEqual(run("--layer", "true", program=program).returncode, 0)
        shutil.rmtree(self.root / "share")
        ran = run("--layer", "true", program=program)
        self.assertEqual(ran.returncode, 125)
        self.assertIn("no manifest of the layer in", ran.stderr)


if __name__ == "__main__":
    LAYER = pathlib.Path(sys.argv.pop()).resolve()
    DRIVER = pathlib.Path(sys.argv.pop()).resolve()
    WEFTC = pathlib.Path(sys.argv.pop()).resolve()
    WEFT_RUN = pathlib.Path(sys.argv.pop()).resolve()
    unittest.main()
