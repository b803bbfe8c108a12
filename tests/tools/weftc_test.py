#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""weftc's command line, on a matrix shader.  usage: weftc_test.py WEFTC GLSLANG"""

import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

SHADER = """#version 460
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
layout(local_size_x = 64) in;
layout(constant_id = 3) const uint N = 16;
layout(set = 1, binding = 2) buffer Data { float16_t data[]; };
#define MAT(rows, cols, use) coopmat<float16_t, gl_ScopeSubgroup, rows, cols, gl_MatrixUse##use>
void main() {
   MAT(16, 16, A) a;
   MAT(16, N, B) b;
   coopMatLoad(a, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(b, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   MAT(16, N, Accumulator) c = coopMatMulAdd(a, b, MAT(16, N, Accumulator)(0));
   coopMatStore(c, data, 512, 16, gl_CooperativeMatrixLayoutRowMajor);
}
"""


class Weftc(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        source = os.path.join(cls.folder.name, "shader.comp")
        cls.module = os.path.join(cls.folder.name, "shader.spv")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SHADER)
        subprocess.run([GLSLANG, "--target-env", "vulkan1.3", "-V", source, "-o", cls.module],
                       check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

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

    def test_llvm_and_assembly(self):
        self.assertIn("define ", self.emit("--emit=llvm"))
        self.assertIn("ret", self.emit("--emit=asm"))
        module = self.emit("--emit=spirv")
        self.assertIn("OpEntryPoint GLCompute", module)
        self.assertNotIn("CooperativeMatrix", module)

    def test_map(self):
        drawing = xml.fromstring(self.emit("--emit=map", "--subgroup-size", "32"))
        cells = [t.text for t in drawing.iter("{http://www.w3.org/2000/svg}text")
                 if t.get("class") == "cell"]
        self.assertEqual(len(cells), 256)
        self.assertEqual(cells[0], "0.0")
        self.assertEqual(cells[2 * 16 + 3], "3.1")
        self.assertEqual(len(set(cells)), 256)

    def test_constants(self):
        self.assertIn("16, 8, B", self.emit("--spec", "3=8", "--emit=passes"))
        message = self.refuse("--spec", "3=7", self.module)
        self.assertIn("the cooperative matrix 16x7 f16 (B) is not supported", message)
        self.assertIn("16x16 f16", message)

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
        self.assertIn("not whole words", self.weftc("-", stdin=b"abc").stderr.decode())
        self.assertIn("invalid SPIR-V", self.weftc("-", stdin=b"abcd" * 9).stderr.decode())
        self.assertIn("empty", self.weftc("-", stdin=b"").stderr.decode())

    def test_bad_usage(self):
        self.assertIn("no input file", self.refuse(status=2))
        self.assertIn("there are nir", self.refuse("--emit=words", self.module, status=2))
        self.assertIn("ID=VALUE", self.refuse("--spec", "3", self.module, status=2))
        self.assertIn("there are 8", self.refuse("--subgroup-size", "12", self.module, status=2))
        self.assertIn("unknown option --frobnicate",
                      self.refuse("--frobnicate", self.module, status=2))
        self.assertIn("needs a value", self.refuse("--entry", status=2))
        self.assertIn("--emit=map", self.emit("--help"))


if __name__ == "__main__":
    WEFTC, GLSLANG = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
