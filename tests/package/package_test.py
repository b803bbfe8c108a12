#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Checks a release archive.

usage: package_test.py ARCHIVE

The libraries' imports and exports are read from their symbol tables. The archive is unpacked under
a name with blanks and letters beyond ASCII, made read-only and moved, and product.c multiplies
matrices with it there. Then the same with parts missing or forbidden. roots_test.py tests it on
other distributions.
"""

import ctypes
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NEWEST = {"GLIBC": (2, 34), "GCC": (11,)}
NEEDED = {"libc.so.6", "libm.so.6", "libmvec.so.1", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
EXPORTED = {
    "libvulkan_weft.so": {"vk_icdGetInstanceProcAddr", "vk_icdGetPhysicalDeviceProcAddr",
                          "vk_icdNegotiateLoaderICDInterfaceVersion"},
    "libVkLayer_weft_cooperative_matrix.so": {"vkNegotiateLoaderLayerInterfaceVersion"},
}
LICENSES = {"Weft", "Mesa", "SPIRV-Tools", "SPIRV-Headers", "LLVM", "Boost.Context", "CLI11", "nlohmann-json", "zlib", "zstd",
            "libstdc++"}


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.place = pathlib.Path(cls.scratch.name, "wörk ünd матрица")
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(cls.place)
        (cls.folder,) = cls.place.iterdir()

    @classmethod
    def tearDownClass(cls):
        subprocess.run(["chmod", "-R", "u+w", cls.scratch.name], check=True)
        cls.scratch.cleanup()

    def elf_files(self):
        files = [path for path in self.folder.rglob("*")
                 if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
        self.assertGreaterEqual(len(files), 3)
        return files

    def test_versions_of_symbols(self):
        for path in self.elf_files():
            needs = output("readelf", "--version-info", "--wide", path)
            versions = set(re.findall(r"Name: ([A-Z]+)_([0-9.]+)", needs))
            self.assertIn(("GLIBC", "2.34"), versions, path)
            for library, version in versions:
                with self.subTest(file=path.name, version=f"{library}_{version}"):
                    self.assertIn(library, NEWEST)
                    self.assertLessEqual(tuple(map(int, version.split("."))), NEWEST[library])

    def test_needed_libraries(self):
        for path in self.elf_files():
            dynamic = output("readelf", "--dynamic", "--wide", path)
            needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
            self.assertLessEqual(needed, NEEDED, path)
            self.assertNotRegex(dynamic, r"RPATH|RUNPATH|TEXTREL")

    def test_exported_symbols(self):
        for path in self.elf_files():
            if path.name in EXPORTED:
                symbols = output("readelf", "--dyn-syms", "--wide", path)
                defined = re.findall(r" (?:GLOBAL|WEAK|UNIQUE) +\w+ +\d+ (\S+)$", symbols, re.MULTILINE)
                self.assertEqual(set(defined), EXPORTED[path.name])

    def test_nothing_of_the_machine_that_built_it(self):
        for path in self.folder.rglob("*"):
            if path.is_file():
                self.assertNotIn(os.fsencode(ROOT) + b"/", path.read_bytes(), path)

    def test_stripped(self):
        for path in self.elf_files():
            self.assertNotRegex(output("readelf", "--sections", "--wide", path),
                                r"\.symtab|\.debug_info")

    def test_licenses(self):
        texts = {path.stem: path.read_text() for path in (self.folder / "licenses").iterdir()}
        self.assertEqual(set(texts), LICENSES)
        for name, text in texts.items():
            self.assertGreater(len(text), 500, name)

    def test_manifests(self):
        manifests = list(self.folder.rglob("*.json"))
        self.assertEqual(len(manifests), 2, manifests)
        for path in manifests:
            manifest = json.loads(path.read_text())
            part = manifest.get("ICD") or manifest["layer"]
            self.assertEqual(part["library_arch"], "64")
            self.assertFalse(part["library_path"].startswith("/"))
            self.assertTrue((path.parent / part["library_path"]).is_file())

    def run_in(self, folder, *command, variables=None, **options):
        """The command by weft-run, without the caller's settings, and with its own cache."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("WEFT_", "VK_", "XDG_"))}
        environment.update({"HOME": str(self.place / "home")}, **(variables or {}))
        environment = {name: value for name, value in environment.items() if value is not None}
        return subprocess.run([folder / "bin/weft-run", *command], env=environment, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              **options)

    def assert_verified(self, ran):
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout.splitlines()[-1], "verified", ran.stdout)

    def product(self):
        if not PRODUCT:
            self.skipTest("glslang 15 or a C compiler is missing")
        return [*PRODUCT, "Weft"]

    def copy(self, name):
        """A copy of the archive's folder, to be damaged."""
        folder = self.place / name
        shutil.copytree(self.folder, folder, symlinks=True)
        return folder

    def test_runs_wherever_it_lies(self):
        product = self.product()
        other = self.copy("moved away")
        subprocess.run(["chmod", "-R", "a-w", other], check=True)
        for folder in (self.folder, other):
            self.assert_verified(self.run_in(folder, *product))
            # The driver imitates one vendor, the layer another.
            info = self.run_in(folder, "--info", "--json", "--cpu", "--layer",
                               variables={"WEFT_ICD_PROFILE": "lavapipe", "WEFT_PROFILE": "nvidia"})
            self.assertEqual(info.returncode, 0, info.stderr)
            self.assertIn("VK_NV_cooperative_matrix2", info.stdout)
            self.assert_verified(self.run_in(folder, "--cpu", "--layer", *product,
                                             variables={"WEFT_LOWERING": "registers"}))

    def test_beside_another_llvm(self):
        lavapipe = sorted(pathlib.Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
        if not lavapipe:
            self.skipTest("lavapipe is not installed")
        product = self.product()
        # Either driver may be loaded first.
        weft = str(next(self.folder.glob("share/vulkan/icd.d/*.json")))
        for drivers in ((weft, str(lavapipe[0])), (str(lavapipe[0]), weft)):
            both = {"VK_DRIVER_FILES": ":".join(drivers), "VK_ICD_FILENAMES": ":".join(drivers)}
            ran = self.run_in(self.folder, "env", *(f"{name}={value}" for name, value in both.items()),
                              *product, "llvmpipe")
            self.assert_verified(ran)

    def test_homes(self):
        product = self.product()
        sealed = self.place / "sealed"
        sealed.mkdir()
        sealed.chmod(0o555)
        file = self.place / "file"
        file.write_text("")
        for home in (None, "", str(sealed), str(file), "/nonexistent/home"):
            with self.subTest(home=home):
                self.assert_verified(self.run_in(self.folder, *product, variables={"HOME": home}))

    def test_one_cpu(self):
        cpu = min(os.sched_getaffinity(0))
        self.assert_verified(self.run_in(self.folder, *self.product(),
                                         preexec_fn=lambda: os.sched_setaffinity(0, {cpu})))

    def test_memory(self):
        """256 MB are enough; with less memory, it does not crash."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assert_verified(self.run_in(self.folder, *self.product()))
        self.assertLess(max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss), 256 << 10)
        for megabytes in (256, 160, 128):
            limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
            ran = self.run_in(self.folder, *self.product(), preexec_fn=limit)
            with self.subTest(megabytes=megabytes):
                self.assertGreaterEqual(ran.returncode, 0, ran.stderr)
                if ran.returncode:
                    self.assertNotEqual(ran.stderr, "")

    def test_forbidden_system_calls(self):
        """As in containers: memfd_create and perf_event_open fail."""
        if platform.machine() != "x86_64":
            self.skipTest("system calls are known for x86-64")
        self.assert_verified(self.run_in(self.folder, *self.product(),
                                         preexec_fn=lambda: forbid(319, 298)))

    def test_half_unpacked(self):
        folder = self.copy("half")
        library = folder / "lib/libvulkan_weft.so"
        library.write_bytes(library.read_bytes()[:library.stat().st_size // 2])
        cut_off = "names .*libvulkan_weft.so, which is cut off"
        ran = self.run_in(folder, "--info", "--cpu")
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertRegex(ran.stdout + ran.stderr, cut_off)
        self.assertRegex(self.run_in(folder, "true").stderr, cut_off)
        library.unlink()
        ran = self.run_in(folder, "true")
        self.assertEqual(ran.returncode, 125)
        self.assertRegex(ran.stderr, "names .*libvulkan_weft.so, which is not there")

    def test_manifest_moved_alone(self):
        folder = self.copy("alone")
        manifest = next(folder.glob("share/vulkan/icd.d/*.json"))
        shutil.rmtree(folder / "lib")
        self.assertRegex(self.run_in(folder, "true").stderr, "which is not there")
        manifest.unlink()
        ran = self.run_in(folder, "true")
        self.assertEqual(ran.returncode, 125)
        self.assertRegex(ran.stderr, "no manifest of the driver in .*icd.d")

    def driver_info(self, folder):
        """The driver's own version, and weft-run's version."""
        info = self.run_in(folder, "--info", "--json", "--cpu")
        self.assertEqual(info.returncode, 0, info.stderr)
        told = json.loads(info.stdout)
        return told["chosen"]["devices"][0]["driver_info"], told["version"]

    def test_library_of_another_version(self):
        """It runs, and reports both versions."""
        info, version = self.driver_info(self.folder)
        self.assertRegex(info, rf"^Weft {re.escape(version)} \(LLVM (19|2[0-2])\.[0-9]")
        folder = self.copy("other version")
        library = folder / "lib/libvulkan_weft.so"
        other = "9" * len(version)
        contents = library.read_bytes()
        changed = contents.replace(f"Weft {version} (LLVM".encode(), f"Weft {other} (LLVM".encode())
        self.assertNotEqual(contents, changed)
        library.write_bytes(changed)
        self.assertEqual(self.driver_info(folder), (info.replace(version, other, 1), version))
        self.assert_verified(self.run_in(folder, *self.product()))

    def test_commands(self):
        for program in ("weft-run", "weftc"):
            for option, words in (("--help", "usage: " + program), ("--version", program + " [0-9]")):
                shown = output(self.folder / "bin" / program, option)
                self.assertRegex(shown, words)
            self.assertTrue((self.folder / "share/man/man1" / (program + ".1")).is_file())
            self.assertTrue((self.folder / "share/bash-completion/completions" / program).is_file())


def forbid(*calls):
    """From now on, these system calls of x86-64 fail with EPERM in this process."""
    def step(code, jump_true, jump_false, k):
        return struct.pack("HBBI", code, jump_true, jump_false, k)
    load, equal, finish = 0x20, 0x15, 0x06
    steps = [step(load, 0, 0, 0)]
    for i, call in enumerate(calls):
        steps.append(step(equal, len(calls) - i, 0, call))
    steps += [step(finish, 0, 0, 0x7fff0000), step(finish, 0, 0, 0x00050000 | 1)]
    code = ctypes.create_string_buffer(b"".join(steps))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def build_product(folder):
    """The command of product.c, without the devices' names; None if it cannot be built."""
    found = [path for name in ("glslang", "glslangValidator") if (path := shutil.which(name))]
    found = sorted(map(str, ROOT.glob("build*/subprojects/glslang-*/glslangValidator"))) + found
    compiler = shutil.which("cc")
    if not found or not compiler:
        return None
    shaders = []
    for kind in ("matrix", "scalar"):
        shaders.append(str(folder / f"{kind}.spv"))
        made = subprocess.run([found[0], "-V", "--quiet", "--target-env", "vulkan1.3", "-o", shaders[-1],
                               HERE / f"product_{kind}.comp"], stdout=subprocess.DEVNULL, check=False)
        if made.returncode:
            return None
    includes = next(ROOT.glob("subprojects/mesa-*/include"))
    subprocess.run([compiler, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-isystem", includes, "-o",
                    folder / "product", HERE / "product.c", "-lvulkan"], check=True)
    return [str(folder / "product"), *shaders]


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(print(__doc__.strip()))
    ARCHIVE = sys.argv.pop(1)
    with tempfile.TemporaryDirectory() as built:
        PRODUCT = build_product(pathlib.Path(built))
        unittest.main()
