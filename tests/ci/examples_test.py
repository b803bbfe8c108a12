#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Shaders and commands of examples/ run and give the right results. examples/ci runs with an
archive made from BUILD, and fails for the planted reasons. Workflows name scripts that exist, and
actions by their hashes.

usage: examples_test.py BUILD GLSLANG
"""

import hashlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples/ci"
# A system's own headers may be older than the extension.
INCLUDES, = (ROOT / "subprojects").glob("mesa-*/include")
DRIVER = "lib/libvulkan_weft.so"

# A test-backend-ops with the output of the real one.
OPS = """#!/bin/sh
[ "$*" = "test -b Vulkan0 -o MUL_MAT" ] || exit 2
echo 'ggml_vulkan: 0 = Weft (Weft) | int dot: 1 | matrix cores: {matrices}'
echo '  {count}/{count} tests passed'
echo '  Backend Vulkan0: OK'
exit {status}
"""
SKIPPED = "#!/bin/sh\necho 'Backend 1/1: CPU'\necho '  Skipping'\necho '1/1 backends passed'\necho OK\n"


class Examples(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.environment = os.environ | {"WEFT_SHADER_CACHE_DIR": str(self.folder)}
        for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_INSTANCE_LAYERS"):
            self.environment.pop(name, None)

    def run_here(self, *command, **options):
        return subprocess.run(command, cwd=self.folder, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)

    def make_archive(self, driver=True):
        """An archive with the release's layout; its path and hash."""
        tree = self.folder / "tree/weft-0.0.0"
        files = {"bin/weft-run": BUILD / "tools/weft_run/weft-run"}
        if driver:
            files[DRIVER] = BUILD / "icd/libvulkan_weft.so"
        for path, source in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, tree / path)
        manifest, = (BUILD / "icd").glob("weft_icd.*.json")
        described = json.loads(manifest.read_text())
        described["ICD"]["library_path"] = f"../../../{DRIVER}"
        copy = tree / "share/vulkan/icd.d" / manifest.name
        copy.parent.mkdir(parents=True)
        copy.write_text(json.dumps(described))
        archive = self.folder / "weft.tar.xz"
        with tarfile.open(archive, "w:xz", preset=0) as packed:
            packed.add(tree, tree.name)
        return archive, hashlib.sha256(archive.read_bytes()).hexdigest()

    def unpack(self, archive, sha256):
        return self.run_here(EXAMPLES / "action/weft.sh", archive, sha256, self.folder / "weft")

    def test_programs(self):
        archive, sha256 = self.make_archive()
        unpacked = self.unpack(archive, sha256)
        self.assertEqual(unpacked.returncode, 0, unpacked.stdout)
        self.assertTrue(json.loads((self.folder / "weft.json").read_text())["has_matrices"])
        # A second time it needs no archive.
        archive.unlink()
        self.assertEqual(self.unpack(archive, sha256).returncode, 0)

        built = self.run_here(GLSLANG, "-V", "--target-env", "vulkan1.3", "-o", "product.spv",
                              ROOT / "examples/product/product.comp")
        self.assertEqual(built.returncode, 0, built.stdout)
        built = self.run_here("c++", "-std=c++20", "-Wall", "-Werror", f"-I{INCLUDES}", "-o",
                              "product", ROOT / "examples/product/product.cc", "-lvulkan")
        self.assertEqual(built.returncode, 0, built.stdout)
        for program in (["./product"], [sys.executable, ROOT / "examples/product/product.py"]):
            ran = self.run_here("weft/bin/weft-run", *program, "product.spv")
            self.assertRegex(ran.stdout, "^Weft.*: 256 elements are right\n$")
            self.assertEqual(ran.returncode, 0)
            # The profile has other sizes of matrices only.
            ran = self.run_here("weft/bin/weft-run", "--profile", "lavapipe", *program, "product.spv")
            self.assertIn("no device has the matrices", ran.stdout)
            self.assertNotEqual(ran.returncode, 0)

    def test_archive_with_another_hash(self):
        archive, sha256 = self.make_archive(driver=False)
        unpacked = self.unpack(archive, sha256[::-1])
        self.assertIn("has another hash", unpacked.stdout)
        self.assertEqual(unpacked.returncode, 1)
        self.assertFalse((self.folder / "weft").exists())

    def test_no_device(self):
        unpacked = self.unpack(*self.make_archive(driver=False))
        self.assertIn("no device has cooperative matrices", unpacked.stdout)
        self.assertEqual(unpacked.returncode, 1)

    def test_backend_ops(self):
        for text, status in ((OPS.format(matrices="KHR_coopmat", count=7, status=0), 0),
                             (OPS.format(matrices="NV_coopmat2v", count=70, status=0), 0),
                             (OPS.format(matrices="NV_coopmat2v", count=70, status=3), 3),
                             (OPS.format(matrices="KHR_coopmat", count=0, status=0), 1),
                             (OPS.format(matrices="none", count=7, status=0), 1), (SKIPPED, 1)):
            for name, program in (("test-backend-ops", text),
                                  ("weft-run", '#!/bin/sh\nshift\nexec "$@"\n')):
                (self.folder / name).write_text(program)
                (self.folder / name).chmod(0o755)
            self.environment["PATH"] = f"{self.folder}:{os.environ['PATH']}"
            ran = self.run_here(EXAMPLES / "test_backend_ops.sh", "-o", "MUL_MAT")
            self.assertEqual(ran.returncode, status, text + ran.stdout)


def halves(random, count):
    """Whole numbers with which sums are exact."""
    return [random.randrange(-8, 9) for _ in range(count)]


def product(a, b, m, n, k):
    return [float(sum(a[r * k + i] * b[i * n + c] for i in range(k)))
            for r in range(m) for c in range(n)]


class Shaders(unittest.TestCase):
    """Runs the shaders by every path and compares with numbers computed here."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        seed = int(os.environ.get("WEFT_SEED", "1"))
        print(f"seed {seed}")
        self.random = random.Random(seed)

    def run_shader(self, name, inputs, out_floats, *options):
        """The last buffer's floats; the others' bytes are `inputs`."""
        module = ROOT / "examples/shaders" / name
        if module.suffix == ".comp":
            module = self.folder / "shader.spv"
            subprocess.run([GLSLANG, "-V", "--target-env", "vulkan1.3", "-o", module,
                            ROOT / "examples/shaders" / name], check=True,
                           stdout=subprocess.DEVNULL)
        buffers = []
        for binding, data in enumerate(inputs):
            file = self.folder / f"{binding}.bin"
            file.write_bytes(data)
            buffers += ["--buffer", f"0.{binding}={file}"]
        out, saved = f"0.{len(inputs)}", self.folder / "out.bin"
        ran = subprocess.run(
            [BUILD / "tools/weftc/weftc", "--run", "--compare", "all", *options, *buffers,
             "--buffer", f"{out}=zero:{4 * out_floats}", "--save", f"{out}={saved}", module],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertGreater(ran.stdout.count("agrees with tiles"), 3, ran.stdout)
        return list(struct.unpack(f"{out_floats}f", saved.read_bytes()))

    def test_gemm(self):
        m, n, k = 64, 128, 64
        a, b = halves(self.random, m * k), halves(self.random, k * n)
        c = self.run_shader("gemm.comp", [struct.pack(f"{len(x)}e", *x) for x in (a, b)], m * n,
                            "--workgroups", "2,1,1", "--spec", f"1={n}")
        self.assertEqual(c, product(a, b, m, n, k))

    def test_sum(self):
        a, b = halves(self.random, 16 * 64), halves(self.random, 64 * 16)
        c = self.run_shader("sum.spvasm", [struct.pack(f"{len(x)}f", *x) for x in (a, b)], 256)
        self.assertEqual(c, product(a, b, 16, 16, 64))

    def test_tensor(self):
        m, n, k = 100, 72, 96
        a, weights = halves(self.random, m * k), [self.random.randrange(16) for _ in range(n * k)]
        scales = [2.0 ** self.random.randrange(-2, 3) for _ in range(n * k // 32)]
        packed, b = b"", [0.0] * (k * n)
        for block, scale in enumerate(scales):
            w = weights[block * 32:block * 32 + 32]
            packed += struct.pack("e", scale) + bytes(
                w[2 * i] | w[2 * i + 1] << 4 for i in range(16))
            for i in range(32):
                row, column = divmod(block * 32 + i, k)
                b[column * n + row] = scale * (w[i] - 8)
        c = self.run_shader("tensor.comp", [struct.pack(f"{len(a)}e", *a), packed], m * n,
                            "--workgroups", "2,2,1")
        self.assertEqual(c, product(a, b, m, n, k))

    def test_softmax(self):
        x = [self.random.uniform(-4, 4) for _ in range(256)]
        y = self.run_shader("softmax.comp", [struct.pack("256f", *x)], 256, "--tolerance", "1e-5")
        for row in range(16):
            powers = [math.exp(v - max(x[row * 16:row * 16 + 16])) for v in x[row * 16:row * 16 + 16]]
            for got, power in zip(y[row * 16:row * 16 + 16], powers):
                # Vulkan's exp may be off by 3 + 2·|x| ulp, with |x| ≤ 8 here; sum and quotient by
                # 16 and 3 more.
                self.assertAlmostEqual(got, power / sum(powers), delta=64 * 2 ** -23)


class Readme(unittest.TestCase):
    """The README's commands, each block in a folder that looks like examples/."""

    def test_commands(self):
        text = (ROOT / "examples/README.md").read_text()
        blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 3)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "build").symlink_to(BUILD)
            shutil.copytree(ROOT / "examples", folder / "examples")
            programs = folder / "programs"
            programs.mkdir()
            (programs / "glslangValidator").symlink_to(GLSLANG)
            script = "set -e\n" + "".join(blocks).replace(
                "-lvulkan", f"-lvulkan -I{INCLUDES}")
            # WebGPU needs a package of npm; roots_test.py has it.
            script = "\n".join(line for line in script.split("\n") if "node " not in line)
            environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}",
                                        "WEFT_SHADER_CACHE_DIR": str(folder)}
            ran = subprocess.run(["bash", "-c", script], cwd=folder / "examples", env=environment,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertEqual(ran.stdout.count("256 elements are right"), 2, ran.stdout)


class Workflows(unittest.TestCase):
    FILES = [*(ROOT / ".github/workflows").iterdir(), *EXAMPLES.rglob("*.yml")]

    def steps(self):
        for file in self.FILES:
            described = yaml.safe_load(file.read_text())
            jobs = [*described.get("jobs", {}).values(), described.get("runs")]
            for job in filter(None, jobs):
                for step in job["steps"]:
                    yield file.name, step

    def test_actions_are_named_by_hash(self):
        found = 0
        for file, step in self.steps():
            if not step.get("uses", "./").startswith("./"):
                found += 1
                self.assertRegex(step["uses"], r"^[\w-]+/[\w-]+@[0-9a-f]{40}$", file)
        self.assertGreater(found, 8)

    def scripts(self):
        for file, step in self.steps():
            if "run" in step:
                yield file, step["run"]
        gitlab = yaml.safe_load((EXAMPLES / "gitlab.yml").read_text())["matrices"]
        yield "gitlab.yml", "\n".join(gitlab["before_script"] + gitlab["script"])

    def test_commands(self):
        found = 0
        for file, script in self.scripts():
            plain = re.sub(r"\$\{\{.*?\}\}", "X", script)
            checked = subprocess.run(["bash", "-n"], input=plain, text=True, stderr=subprocess.PIPE)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""), f"{file}: {script}")
            for path in re.findall(r"(?<![\w/-])(?:ci|examples)/[\w/.]+", plain):
                found += 1
                self.assertTrue((ROOT / path).exists(), f"{file}: {path}")
        self.assertGreater(found, 8)

    def test_every_client(self):
        nightly = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text())
        usage = subprocess.run([ROOT / "ci/clients", "--help"], check=True, text=True,
                               stdout=subprocess.PIPE).stdout
        self.assertEqual(sorted(nightly["jobs"]["clients"]["strategy"]["matrix"]["client"]),
                         sorted(re.search(r"\{([\w,]+)\}", usage)[1].split(",")))


if __name__ == "__main__":
    BUILD, GLSLANG = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1], verbosity=2)
