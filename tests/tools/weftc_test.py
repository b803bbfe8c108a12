#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""weftc's command line, on a matrix shader.  usage: weftc_test.py WEFTC GLSLANG"""

import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

from weftc_shaders import ARRAYS, ENDLESS, FAR, SCALARS, SHADER, SIZES

ALL_PATHS = ["tiles", "registers", "spirv-tiles", "spirv-registers"]


class Weftc(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.module = cls.compile("shader", SHADER)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def compile(cls, name, source):
        module = cls.path(name + ".spv")
        if not os.path.exists(module):
            with open(cls.path(name + ".comp"), "w", encoding="utf-8") as file:
                file.write(source)
            subprocess.run([GLSLANG, "--target-env", "vulkan1.3", "-V", cls.path(name + ".comp"),
                            "-o", module], check=True, stdout=subprocess.DEVNULL)
        return module

    def weftc(self, *arguments, stdin=None):
        return subprocess.run([WEFTC, *arguments], input=stdin, capture_output=True, check=False)

    def emit(self, *arguments):
        result = self.weftc(*arguments, self.module)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout.decode()

    def refuse(self, *arguments, status=1):
        result = self.weftc(*arguments)
        self.assertEqual(result.returncode, status)
        self.assertEqual(result.stdout, b"")
        return result.stderr.decode()

    def test_nir(self):
        text = self.emit()
        self.assertIn("@tile_muladd_weft", text)
        self.assertNotIn("deref", text)

    def test_registers(self):
        text = self.emit("--registers", "--subgroup-size", "16")
        self.assertNotIn("tile_", text)
        self.assertIn("ffma", text)
        self.assertNotIn("@shuffle", text)

    def test_passes(self):
        text = self.emit("--emit=passes")
        order = [text.index("// after " + name)
                 for name in ("spirv_to_nir", "opt_cmat_copies", "lower_cmat", "lower_descriptors")]
        self.assertEqual(order, sorted(order))
        self.assertIn("@cmat_muladd", text)
        plan = text.index("// plan_cmat_form: private tiles")
        self.assertLess(text.index("// after opt_cmat_copies"), plan)
        self.assertLess(plan, text.index("// after lower_cmat#"))

    def test_passes_to_the_end(self):
        scalars = self.compile("scalars", SCALARS)

        def emit(*arguments):
            result = self.weftc("--target", target, *arguments, scalars)
            self.assertEqual(result.returncode, 0, result.stderr.decode())
            # The numbers of values are not always the same.
            return re.sub(r"%\d+", "%", " ".join(result.stdout.decode().split()))

        for target, last in (("cpu", "nir_divergence_analysis"), ("layer", "nir_convert_from_ssa")):
            shown = emit("--emit=passes").split("// after ")
            names = [text.split("#")[0] for text in shown]
            order = [names.index(name) for name in ("lower_descriptors", "opt_combine_accesses", last)]
            self.assertEqual(order, sorted(order))
            self.assertEqual(names[-1], last)
            self.assertTrue([text for text in shown
                             if re.match(r"nir_opt_cse#1 \(optional pass number \d+\) ", text)])
            # The translator gets the last text.
            application, shader = shown[-1].split(" ", 1)
            self.assertEqual(shader, emit())
            self.assertEqual(emit("--stop-after", application), shader)

    def test_accesses(self):
        result = self.weftc("--emit=accesses", self.compile("arrays", ARRAYS))
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        text = result.stdout.decode()
        self.assertRegex(text, r"^block \d+:\n")
        self.assertRegex(text, r"%\d+ load_ssbo, 1 x 8 bits: runs of 32 lanes, step 1; "
                               r"if 32 bytes in bounds\n")
        self.assertRegex(text, r"%\d+ store_ssbo, 1 x 8 bits: runs of 32 lanes, step 1; "
                               r"if 32 bytes in bounds\n")

    def test_llvm(self):
        text = self.emit("--emit=llvm")
        self.assertIn("define zeroext i1 @weft_kernel(", text)
        self.assertRegex(text, r"call void @weft_tile_muladd_16x16x16_f16_f16_f16_f16\(ptr")
        for symbol in ("@weft_tile_pack_a_row_16x16x16_f16_f16",
                       "@weft_tile_pack_b_row_16x16x16_f16_f16"):
            self.assertEqual(text.count(f"call void {symbol}_robust("), 1)
            self.assertIn(f"{symbol}(", self.emit("--emit=llvm", "--no-robust"))
        self.assertEqual(text.count("call void @weft_tile_store_row_16x16_2_robust("), 1)

    def test_assembly(self):
        text = self.emit("--emit=asm")
        self.assertRegex(text, r"weft_kernel:")
        self.assertEqual(len(re.findall(r"\tcall.*weft_tile_muladd_16x16x16", text)), 1)
        self.assertRegex(text, r"\n\tretq")
        registers = self.emit("--emit=asm", "--registers", "--isa", "avx2")
        self.assertNotIn("weft_tile", registers)
        self.assertRegex(registers, r"vfmadd\d+ps\t.*%ymm")
        self.assertNotIn("%zmm", registers)
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            has_avx512 = "avx512dq" in file.read()
        if has_avx512:
            self.assertIn("%zmm", self.emit("--emit=asm", "--registers", "--isa", "avx512"))

    def test_spirv(self):
        text = self.emit("--emit=spirv-text")
        self.assertIn("OpEntryPoint GLCompute", text)
        self.assertNotIn("CooperativeMatrix", text)
        module = self.path("out.spv")
        self.assertEqual(self.emit("--emit=spirv", "-o", module), "")
        with open(module, "rb") as file:
            words = file.read()
        self.assertEqual(words[:4], bytes.fromhex("03022307"))
        # The result is an ordinary shader.
        self.assertEqual(self.weftc("--emit=nir", module).returncode, 0)
        self.assertEqual(self.weftc("--emit=spirv", self.module).stdout, words)

    def test_driver(self):
        def header(*arguments):
            return self.emit("--emit=spirv-text", *arguments)

        def version(*arguments):
            result = self.weftc("--emit=spirv", *arguments, self.module)
            self.assertEqual(result.returncode, 0, result.stderr)
            return struct.unpack("<2I", result.stdout[:8])[1]

        self.assertEqual(version(), 0x10600)
        self.assertEqual(version("--spirv-version", "1.4"), 0x10400)
        native = header("--native", "16x16x16", "--native", "8x8x8")
        self.assertIn("OpCooperativeMatrixMulAddKHR", native)
        self.assertIn("OpCapability CooperativeMatrixKHR", native)
        self.assertNotIn("CooperativeMatrix", header("--native", "8x8x16"))
        self.assertIn("OpCooperativeMatrixMulAddKHR", header("--driver", "nvidia"))
        self.assertNotIn("CooperativeMatrix", header("--driver", "lavapipe"))
        # Robust loads look at the buffer's length.
        self.assertNotIn("OpArrayLength", header())
        self.assertIn("OpArrayLength", header("--robust"))

        file = self.path("driver.txt")

        def described(text):
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
            return "--driver", file

        self.assertEqual(version(*described("# a comment\nspirv-version 1.5\n\n")), 0x10500)
        self.assertIn("OpCooperativeMatrixMulAddKHR",
                      header(*described("native 16x16x16 f16 f16 f16 f16 # own\n")))
        emit = ("--emit=spirv", "-o", self.path("none"))
        # The shader needs the invocation's number, but no f16 and no elements of 16 bits.
        words = header(*described("base lavapipe\nwithout float16 storage_buffer_16bit"))
        self.assertNotIn("OpCapability Float16", words)
        self.assertNotIn("OpCapability StorageBuffer16BitAccess", words)
        message = self.refuse(*emit, *described("base lavapipe\nsubgroup-operations vote"),
                              self.module)
        self.assertIn("there are: none", message)
        for text, expected in (("wit int8", "line 1: 'wit'"), ("\nwith int7", "line 2: int7"),
                               ("base mine", "expected full"), ("spirv-version 2.0", "1.3 to 1.6"),
                               ("native 16x16 f16", "MxNxK"), ("subgroup-size 5", "expected 4"),
                               ("subgroup-operations basic wave", "wave: expected one of basic")):
            self.assertIn(expected, self.refuse(*emit, *described(text), self.module))
        self.assertIn("neither", self.refuse(*emit, "--driver", "other", self.module))
        self.assertFalse(os.path.exists(self.path("none")))

    REPORT = {
        "weftDriverReport": 2, "deviceName": "A device", "driverName": "driver 1.2", "driverID": 22,
        "driverVersion": 1, "deviceType": 1, "apiVersion": "1.2.198", "hasFeatureQueries": True,
        "hasComputeQueue": True, "extensions": {"VK_EXT_subgroup_size_control": 2},
        "matrixExtensions": [],
        "features": ["subgroupSizeControl", "vulkanMemoryModel", "shaderInt16", "shaderInt8"],
        "subgroupSize": 16, "minSubgroupSize": 8, "maxSubgroupSize": 32, "supportedOperations": 3,
        "supportedStages": 32, "requiredSubgroupSizeStages": 32, "maxComputeWorkgroupSubgroups": 64,
        "shaderSignedZeroInfNanPreserveFloat16": True,
        "shaderSignedZeroInfNanPreserveFloat32": True,
        "shaderSignedZeroInfNanPreserveFloat64": False, "maxComputeWorkGroupInvocations": 1024,
        "maxComputeSharedMemorySize": 32768, "matrices": [], "matrixWorkgroups": None}

    def report(self, **changes):
        file = self.path("report.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(self.REPORT | changes, out, indent=1)
        return "--driver", file

    def plan(self, **changes):
        result = self.weftc("--emit=plan", *self.report(**changes))
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def test_driver_report(self):
        plan = self.plan()
        self.assertTrue(plan.startswith("A device\n"))
        self.assertRegex(plan, r"\nVK_KHR_cooperative_matrix +lowered by the layer\n")
        self.assertRegex(plan, r"\nVK_NV_cooperative_matrix2 +absent: the driver has no subgroup "
                               r"shuffles\n")
        self.assertRegex(plan, r"\nsubgroups +16 invocations; a pipeline may require 8 to 32\n")
        self.assertIn("\n  16x16x16 f16 f16 f32 f32\n", plan)
        self.assertRegex(self.plan(requiredSubgroupSizeStages=0), r"subgroups +blocks of 16")
        self.assertRegex(self.plan(features=[]),
                         r"VK_KHR_cooperative_matrix +absent: no vulkanMemoryModel")
        output = self.path("plan.txt")
        self.assertEqual(self.weftc("--emit=plan", *self.report(), "-o", output).stdout, b"")
        with open(output, encoding="utf-8") as file:
            self.assertEqual(file.read(), plan)

        # The module is for the driver's version, and without its missing features.
        module = self.emit("--emit=spirv-text", *self.report())
        binary = self.weftc("--emit=spirv", *self.report(), self.module).stdout
        self.assertEqual(struct.unpack("<2I", binary[:8])[1], 0x10500)
        self.assertNotIn("OpCapability Float16", module)
        self.assertIn("OpCapability Int16", module)
        # The plan has blocks, so the module uses no subgroup operation.
        blocks = self.emit("--emit=spirv-text", *self.report(requiredSubgroupSizeStages=0))
        self.assertNotIn("GroupNonUniform", blocks)
        native = {"MSize": 16, "NSize": 16, "KSize": 16, "AType": 0, "BType": 0, "CType": 0,
                  "ResultType": 0, "saturatingAccumulation": False, "scope": 3}
        tiles = self.emit("--emit=spirv-text", *self.report(
            extensions={"VK_EXT_subgroup_size_control": 2, "VK_KHR_cooperative_matrix": 2},
            matrixExtensions=["VK_KHR_cooperative_matrix"], matrices=[native],
            features=self.REPORT["features"] + ["shaderFloat16", "storageBuffer16BitAccess"]))
        self.assertIn("OpCooperativeMatrixMulAddKHR", tiles)

    def test_bad_driver_reports(self):
        emit = ("--emit=spirv", "-o", self.path("none"), self.module)
        for changes, expected in (({"subgroupSize": 24}, "subgroupSize is no power of two"),
                                  ({"features": ["int8"]}, 'features: unknown name "int8"'),
                                  ({"matrices": 1}, "matrices is not a list"),
                                  ({"teapot": 1}, "unknown member 'teapot'")):
            driver = self.report(**changes)
            message = self.refuse(*emit, *driver)
            self.assertIn(f"--driver {driver[1]}: {expected}", message)
            self.assertEqual(self.refuse("--emit=plan", *driver).split("--driver")[1],
                             message.split("--driver")[1])
        self.assertIn("lowers nothing above this driver", self.refuse(*emit, *self.report(features=[])))
        driver = self.report()
        with open(driver[1], "r+", encoding="utf-8") as file:
            file.truncate(100)
        self.assertRegex(self.refuse(*emit, *driver), r"parse error at line \d+, column \d+")
        self.assertIn("not a report", self.refuse("--emit=plan"))
        self.assertIn("neither full", self.refuse("--emit=plan", "--driver", "none"))
        self.assertIn("takes no input file",
                      self.refuse("--emit=plan", *self.report(), self.module, status=2))
        self.assertFalse(os.path.exists(self.path("none")))

    def test_layer(self):
        text = self.emit("--target=layer", "--emit=passes")
        self.assertIn("// after lower_access_units", text)
        self.assertNotIn("// after nir_divergence_analysis", text)
        nir = self.emit("--target=layer")
        self.assertNotIn("@cmat_", nir)
        self.assertNotIn("@tile_", nir)
        self.assertNotEqual(nir, self.emit("--registers"))
        self.assertIn("16, 16, A", self.emit("--target=layer", "--native", "16x16x16"))

    def test_map(self):
        drawing = xml.fromstring(self.emit("--emit=map", "--subgroup-size", "32"))
        cells = [t.text for t in drawing.iter("{http://www.w3.org/2000/svg}text")
                 if t.get("class") == "cell"]
        self.assertEqual(len(cells), 256)
        self.assertEqual(cells[0], "0.0")
        self.assertEqual(cells[2 * 16 + 3], "3.1")
        self.assertEqual(len(set(cells)), 256)

    def test_register_map(self):
        drawing = xml.fromstring(self.emit("--emit=register-map", "--subgroup-size", "16"))
        svg = "{http://www.w3.org/2000/svg}"
        titles = [t.text for t in drawing.iter(svg + "text") if t.get("class") == "title"]
        self.assertEqual(titles, ["16x16 f16 (A)", "16x16 f16 (B)", "16x16 f16 (accumulator)"])
        cells = [t.text for t in drawing.iter(svg + "text") if t.get("class") == "cell"]
        owners = [t.text for t in drawing.iter(svg + "title")]
        self.assertEqual(len(cells), 3 * 256)
        # A grid of 4 by 4 invocations: each has 4 rows of A, 4 columns of B and 4 by 4 elements.
        self.assertEqual(cells[3 * 16 + 15], "0.63")
        self.assertEqual(cells[4 * 16], "4.0")
        self.assertEqual(owners[4 * 16], "component 0 of invocations 4 5 6 7")
        self.assertEqual(cells[256 + 5], "1.1")
        self.assertEqual(owners[256 + 5], "component 1 of invocations 1 5 9 13")
        self.assertEqual(cells[512 + 9 * 16 + 5], "9.5")
        self.assertEqual(len(set(cells[512:])), 256)

    def stats(self, module, *arguments):
        result = self.weftc("--stats", *arguments, module)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return json.loads(result.stdout)

    def test_statistics(self):
        stats = self.stats(self.module)
        self.assertEqual(stats["kernels"], {"weft_tile_muladd_16x16x16_f16_f16_f16_f16": 1,
                                            "weft_tile_pack_a_row_16x16x16_f16_f16_robust": 1,
                                            "weft_tile_pack_b_row_16x16x16_f16_f16_robust": 1,
                                            "weft_tile_store_row_16x16_2_robust": 1})
        self.assertEqual(stats["calls"], 4)
        self.assertEqual(stats["subgroups"], 2)
        # The sum is private, factors are shared.
        self.assertGreaterEqual(stats["stack_bytes"], 512)
        self.assertGreaterEqual(stats["stack_bytes"] + stats["shared_bytes"], 3 * 512)
        self.assertGreater(stats["code_bytes"], stats["instructions"])
        phases = stats["phases_ms"]
        self.assertEqual(list(phases), ["front_end", "nir_passes", "llvm_ir", "llvm_passes",
                                        "machine_code", "link"])
        self.assertTrue(all(ms > 0 for ms in phases.values()))
        self.assertGreater(stats["passes"]["nir_opt_cse"]["runs"], 2)

        scalars = self.stats(self.compile("scalars", SCALARS), "--isa", "avx2")
        # values[group] and the push constant; values[i] and the result; values[2 * i];
        # values[index].
        accesses = scalars["accesses"]
        self.assertGreaterEqual(accesses["uniform"], 2)
        self.assertGreaterEqual(accesses["contiguous"], 2)
        self.assertGreaterEqual(accesses["strided"], 1)
        self.assertGreaterEqual(accesses["gathered"], 1)
        self.assertEqual(scalars["kernels"], {})
        registers = self.stats(self.module, "--registers", "--isa", "avx2")
        self.assertEqual(registers["kernels"], {})
        self.assertGreater(registers["spills"], 0)

        layer = self.stats(self.module, "--target=layer")
        self.assertGreater(layer["words"], layer["instructions"])
        self.assertIn("lower_access_units", layer["passes"])

    def test_pass_control(self):
        def applications(*arguments):
            text = self.emit("--emit=passes", *arguments)
            return re.findall(r"// after (\S+)", text)

        every = applications()
        self.assertIn("nir_opt_cse#1", every)
        self.assertFalse([a for a in applications("--skip", "nir_opt_cse")
                          if a.startswith("nir_opt_cse")])
        self.assertNotIn("nir_opt_cse#1", applications("--skip", "nir_opt_cse#1"))
        required = r"nir_opt_(algebraic|algebraic_late|constant_folding|deref)#"
        self.assertFalse([a for a in applications("--pass-limit", "0")
                          if "opt_" in a and not re.match(required, a)])
        middle = every[len(every) // 2]
        self.assertEqual(applications("--stop-after", middle)[-1], middle)
        nir = self.emit("--stop-after", "opt_cmat_copies")
        self.assertIn("@cmat_muladd", nir)
        # The selection of passes affects the phases behind NIR too.
        self.assertNotEqual(self.emit("--emit=llvm", "--pass-limit", "0"),
                            self.emit("--emit=llvm"))
        self.assertIn("not an optional pass",
                      self.refuse("--skip", "lower_cmat", self.module, status=2))
        self.assertIn("would not have run",
                      self.refuse("--skip", "nir_opt_cse#1000", self.module))
        self.assertIn("did not run", self.refuse("--stop-after", "lower_frobs", self.module))
        self.assertIn("PASS#NUMBER", self.refuse("--skip", "nir_opt_cse#x", self.module, status=2))

    def run_shader(self, module, *arguments, status=0):
        result = self.weftc("--run", *arguments, module)
        self.assertEqual(result.returncode, status, result.stdout.decode() + result.stderr.decode())
        return result.stdout.decode()

    def test_compare(self):
        text = self.run_shader(self.module, "--compare", "all", "--seed", "5",
                               "--buffer", "1.2=random:2048")
        self.assertIn("seed 5\nbuffer 1.2 Data: 2048 bytes, random\n", text)
        for path in ALL_PATHS:
            self.assertIn(path + "/avx2: agrees with tiles\n", text)
        self.assertEqual(text, self.run_shader(self.module, "--compare", "all", "--seed", "5",
                                               "--buffer", "1.2=random:2048"))
        scalars = self.compile("scalars", SCALARS)
        text = self.run_shader(scalars, "--workgroups", "3", "--compare", ",".join(ALL_PATHS))
        self.assertEqual(text.count("agrees with"), 3)
        # Optional passes are optional.
        for module in (self.module, scalars, self.compile("arrays", ARRAYS)):
            self.run_shader(module, "--compare", "all", "--pass-limit", "0")

    def test_given_buffers(self):
        scalars = self.compile("scalars", SCALARS)
        values = struct.pack("32I64f", *[0] * 32, *range(64))
        with open(self.path("in.bin"), "wb") as file:
            file.write(values)
        text = self.run_shader(scalars, "--buffer", "0.0=zero:136", "--buffer",
                               "0.1=" + self.path("in.bin"), "--push", "3",
                               "--save", "0.0=" + self.path("out.bin"))
        self.assertIn("buffer 0.0: 0 9 18 27 36 45 54 63 ...", text)
        with open(self.path("out.bin"), "rb") as file:
            result = struct.unpack("34f", file.read())
        self.assertEqual(result, tuple(9.0 * i for i in range(32)) + (0, 0))

    def test_difference(self):
        module = self.compile("sizes", SIZES)
        text = self.run_shader(module, "--path", "tiles/w8", "--compare",
                               "spirv-tiles/w8,registers/w16", "--workgroups", "2", status=3)
        self.assertIn("spirv-tiles/w8: agrees with tiles/w8\n", text)
        self.assertIn("registers/w16: differs from tiles/w8\n", text)
        # Element (2, 5) of the column-major matrix, behind 16 floats.
        self.assertIn(f"buffer 0.0, byte {(16 + 5 * 16 + 2) * 4} (f32): 16 instead of 8; "
                      "values that differ: 3\n", text)
        self.assertIn("element (row 2, column 5) of a matrix 16x16 f32 (accumulator), stored by "
                      "matrix store 2 of the shader in subgroup 0 of workgroup (0, 0, 0)\n", text)
        # The maps give: 37 = 4 * 8 + 5; the third block of 16 by 2.
        self.assertIn("as tiles: component 4 of invocation 5; as registers: component 5 of "
                      "invocation 2\n", text)
        # No pass has the fault.
        result = self.weftc("--bisect", "--path", "tiles/w8", "--reference", "tiles/w16", module)
        self.assertEqual(result.returncode, 1)
        self.assertIn("wrong even without optional passes", result.stderr.decode())
        result = self.weftc("--bisect", module)
        self.assertEqual(result.returncode, 1)
        self.assertIn("right with all passes", result.stderr.decode())

    def test_runs_that_fail(self):
        self.assertIn("did not end within 1000 ms",
                      self.refuse("--run", "--timeout", "1", self.compile("endless", ENDLESS)))
        far = self.compile("far", FAR)
        self.run_shader(far)
        self.assertIn("crashed (Segmentation fault)",
                      self.refuse("--run", "--path", "tiles/unchecked", far))
        text = self.run_shader(far, "--compare", "registers/unchecked", status=1)
        self.assertIn("registers/unchecked: crashed", text)
        self.assertIn("declares no such buffer",
                      self.refuse("--run", "--buffer", "3.4=zero:4", far))
        self.assertIn("No such file", self.refuse("--run", "--buffer", "0.0=none", far))

    def test_damaged_modules(self):
        with open(self.module, "rb") as file:
            words = file.read()
        numbers = random.Random(7)
        for _ in range(60):
            damaged = bytearray(words)
            for _ in range(3):
                damaged[numbers.randrange(20, len(words))] = numbers.randrange(256)
            length = len(words) if numbers.random() < 0.7 else 4 * numbers.randrange(len(words) // 4)
            result = self.weftc("--run", "--timeout", "5", "-", stdin=bytes(damaged[:length]))
            self.assertIn(result.returncode, (0, 1), result.stderr)

    def test_constants(self):
        self.assertIn("16, 8, B", self.emit("--spec", "3=8", "--emit=passes"))
        message = self.refuse("--spec", "3=7", self.module)
        self.assertIn("the cooperative matrix 16x7 f16 (B) is not supported", message)
        self.assertIn("16x16 f16", message)

    def test_assembly(self):
        text = self.emit("--emit=spirv-text").encode()
        again = self.weftc("--emit=spirv-text", "-", stdin=text)
        self.assertEqual(again.returncode, 0, again.stderr.decode())
        self.assertIn(b"OpEntryPoint GLCompute", again.stdout)
        # The version stands in a comment before the first instruction; without it, it is the
        # newest.
        for version in (5, 6):
            versioned = f"; Version: 1.{version}\n".encode() + text
            self.assertEqual(self.weftc("--emit=nir", "-", stdin=versioned).returncode, 0)
        older = self.weftc("--emit=nir", "-", stdin=b"; Version: 1.4\n" + text)
        self.assertIn("requires one of these extensions: SPV_KHR_vulkan_memory_model",
                      older.stderr.decode())
        message = self.weftc("-", stdin=b"; Version: 1.3\n  OpCapability Nothing\n").stderr.decode()
        self.assertIn("line 2, column 16: Invalid capability 'Nothing'", message)
        self.assertIn("weftc: -: ", self.weftc("-", stdin=b"nothing at all").stderr.decode())

    def test_input_and_output(self):
        with open(self.module, "rb") as file:
            words = file.read()
        result = self.weftc("-", stdin=words)
        self.assertEqual(result.returncode, 0)
        output = os.path.join(self.folder.name, "out.nir")
        self.assertEqual(self.emit("-o", output), "")
        with open(output, "rb") as file:
            self.assertEqual(file.read(), result.stdout)

    def test_bad_modules(self):
        self.assertIn("the module's compute entry points are: main",
                      self.refuse("--entry", "other", self.module))
        self.assertIn("No such file", self.refuse(self.module + "x"))
        self.assertIn("not whole words", self.weftc("-", stdin=b"a\0c").stderr.decode())
        self.assertIn("invalid SPIR-V", self.weftc("-", stdin=b"ab\0d" * 9).stderr.decode())
        self.assertIn("empty", self.weftc("-", stdin=b"").stderr.decode())

    def test_bad_usage(self):
        self.assertIn("no input file", self.refuse(status=2))
        self.assertIn("expected one of nir", self.refuse("--emit=words", self.module, status=2))
        self.assertIn("ID=VALUE", self.refuse("--spec", "3", self.module, status=2))
        self.assertIn("expected one of 8", self.refuse("--subgroup-size", "12", self.module, status=2))
        self.assertIn("unknown option --frobnicate",
                      self.refuse("--frobnicate", self.module, status=2))
        self.assertIn("needs a value", self.refuse("--entry", status=2))
        for option, value, expected in (
                ("--buffer", "0=zero:4", "SET.BINDING"), ("--buffer", "0.0=zero:x", "SET.BINDING"),
                ("--buffer", "0.0=", "SET.BINDING"), ("--path", "tile", "expected tiles"),
                ("--compare", "tiles,", "expected tiles"), ("--workgroups", "1,2,3,4", "X,Y,Z"),
                ("--workgroups", "-1", "X,Y,Z"), ("--tolerance", "x", "not a number"),
                ("--push", "1,,2", "'' is not a value"), ("--seed", "x", "not a number"),
                ("--timeout", "0", "seconds"), ("--save", "0.0", "SET.BINDING"),
                ("--isa", "sse", "avx2"), ("--target", "gpu", "layer"),
                ("--spirv-version", "1.9", "1.3 to 1.6"), ("--native", "16", "MxNxK"),
                ("--pass-limit", "-1", "not a number")):
            self.assertIn(expected, self.refuse("--run", option, value, self.module, status=2))
        self.assertIn("--seed goes with --run",
                      self.refuse("--seed", "3", self.module, status=2))
        self.assertIn("--native goes with",
                      self.refuse("--native", "16x16x16", self.module, status=2))
        self.assertIn("--registers goes with",
                      self.refuse("--emit=spirv", "--registers", self.module, status=2))
        self.assertIn("--target=layer goes with",
                      self.refuse("--emit=asm", "--target=layer", self.module, status=2))
        self.assertIn("limits the passes itself",
                      self.refuse("--bisect", "--pass-limit", "3", self.module, status=2))
        self.assertIn("--emit=map", self.emit("--help"))
        self.assertLess(max(map(len, self.emit("--help").splitlines())), 101)


if __name__ == "__main__":
    WEFTC, GLSLANG = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
