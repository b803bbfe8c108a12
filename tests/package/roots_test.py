#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Installs the packages on systems that have nothing, uses them there and removes them.

usage: roots_test.py [--roots FOLDER] PACKAGES

PACKAGES is the folder in which ci/package has left archive, wheel, npm package and Debian packages.
The systems are roots of distributions with a Vulkan loader and, for wheel and npm package, Python
and node. mmdebstrap makes them in FOLDER (build-package/roots), where they stay. Ubuntu's need its
keyring (Debian 13's package ubuntu-keyring) and a mirror that has it. Debian packages are for the
Debian that built them. Needs root, and network once.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parent.parent.parent / "ci")]
import client_root
import client_webgpu
import package_test

ROOT = package_test.ROOT
BARE = {"bookworm": "debian", "trixie": "debian", "jammy": "ubuntu", "noble": "ubuntu"}
KEYRINGS = {"debian": client_root.KEYRING,
            "ubuntu": "/usr/share/keyrings/ubuntu-archive-keyring.gpg"}
SECONDS = 10  # of a CPU
PLACE = "opt/Wëft hier"
# The files of a root after its packages are installed, without a compiler.
USERS = "python3,python3-venv,nodejs,npm"
# llama.cpp's own tests are in the Debian that follows, for its C library.
FOREIGN = "libvulkan1,mesa-vulkan-drivers,nodejs,python3,python3-venv," + ",".join(
    name + "/forky" for name in ("libc6", "libc-bin", "libggml0", "libggml0-backend-vulkan", "libllama0",
                                 "llama.cpp-tests"))
BACKEND_OPS = "usr/libexec/x86_64-linux-gnu/llama.cpp-tests/test-backend-ops"


def make_root(name, suite, packages, others=()):
    """The root NAME of a distribution's suite; packages/OTHER are from one of the other suites."""
    root = OPTIONS.roots / name
    if root.exists():
        return root
    kind = BARE[suite]
    if not pathlib.Path(KEYRINGS[kind]).exists():
        raise unittest.SkipTest(f"no {KEYRINGS[kind]}")
    uri = client_root.mirror().rstrip("/").removesuffix("debian") + kind
    proxy = subprocess.run(["apt-config", "shell", "P", "Acquire::http::Proxy"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.strip()
    options = [f'--aptopt=Acquire::http::Proxy "{proxy[3:-1]}";'] if proxy else []
    root.parent.mkdir(parents=True, exist_ok=True)
    unfinished = root.with_name(name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    if others:
        options.append("--setup-hook=" + client_root.PIN)
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--include=" + packages, *options,
                    suite, unfinished,
                    *(f"deb [signed-by={KEYRINGS[kind]} check-valid-until=no] {uri} {each} main"
                      for each in (suite, *others))], check=True)
    unfinished.rename(root)
    return root


def npm_install(folder, package):
    subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix",
                    folder, package], check=True)


def cpu_seconds():
    """CPU time of the programs that have ended; unlike a clock, it excludes other programs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Root:
    """A root that stays unchanged: writes go to a layer above it."""

    def __init__(self, base, scratch):
        self.path = scratch / "root"
        self.written = scratch / "written"
        for folder in (self.path, self.written, scratch / "work"):
            folder.mkdir()
        # The layer's folders cannot lie on another overlay: memory.
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                        f"lowerdir={base},upperdir={self.written},workdir={scratch / 'work'}", self.path],
                       check=True)
        for kind, target in (("proc", "proc"), ("tmpfs", "tmp"), ("tmpfs", "dev/shm")):
            (self.path / target).mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", kind, kind, self.path / target], check=True)
        for device in ("null", "zero", "urandom", "random"):
            (self.path / "dev" / device).touch()
            subprocess.run(["mount", "--bind", f"/dev/{device}", self.path / "dev" / device], check=True)

    def run(self, *command, variables=None, **options):
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"} | (variables or {})
        return subprocess.run(["chroot", self.path, "env", "-i",
                               *(f"{name}={value}" for name, value in environment.items()), *command],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                              check=False, **options)

    def left_files(self):
        """The files that were written and still exist."""
        return sorted(str(path.relative_to(self.written)) for path in self.written.rglob("*")
                      if path.is_file() and not path.parts[len(self.written.parts)] in ("dev", "proc"))


class RootsTest(unittest.TestCase):
    def enter(self, base):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        mount = ["mount", "-t", "tmpfs", "tmpfs", scratch.name]
        subprocess.run(mount, check=True)
        self.addCleanup(subprocess.run, ["umount", "--recursive", "--lazy", scratch.name], check=False)
        root = Root(base, pathlib.Path(scratch.name))
        for tool in ("gcc", "g++", "cc", "clang"):
            self.assertFalse((root.path / "usr/bin" / tool).exists())
        (root.path / "tmp/product").mkdir()
        for file in PRODUCT:
            shutil.copy(file, root.path / "tmp/product")
        return root

    def product(self, root):
        return ["/tmp/product/" + pathlib.Path(file).name for file in PRODUCT] + ["Weft"]

    def assert_verified(self, ran):
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertEqual(ran.stdout.splitlines()[-1], "verified", ran.stdout)

    def package(self, pattern):
        found = sorted(OPTIONS.packages.glob(pattern))
        if not found:
            self.skipTest(f"no {pattern} in {OPTIONS.packages}")
        return found[-1]

    def test_archive(self):
        archive = self.package("weft-*-linux-x86_64.tar.xz")
        for suite in BARE:
            with self.subTest(suite=suite):
                root = self.enter(make_root(suite, suite, "libvulkan1"))
                start = cpu_seconds()
                (root.path / PLACE).mkdir()
                subprocess.run(["tar", "-xf", archive, "-C", root.path / PLACE], check=True)
                unpacked = cpu_seconds()
                (folder,) = (root.path / PLACE).iterdir()
                weft_run = f"/{PLACE}/{folder.name}/bin/weft-run"
                self.assert_verified(root.run(weft_run, *self.product(root)))
                end = cpu_seconds()
                print(f"{suite}: {unpacked - start:.1f} s of a CPU for unpacking, {end - unpacked:.1f} s until "
                      "it is verified", flush=True)
                self.assertLess(end - start, SECONDS)
                info = root.run(weft_run, "--info", "--cpu")
                self.assertEqual(info.returncode, 0, info.stdout)
                # The archive also works on a read-only file system.
                subprocess.run(["mount", "-o", "remount,ro", root.path], check=True)
                self.assert_verified(root.run(weft_run, *self.product(root), variables={"HOME": "/opt/x"}))

    def test_container_recipe(self):
        """The steps of the Dockerfile, without Docker; its packages are in the root already."""
        archive = self.package("weft-*-linux-x86_64.tar.xz")
        root = self.enter(make_root("trixie", "trixie", "libvulkan1"))
        variables = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
        done = []
        for line in (ROOT / "ci/packaging/Dockerfile").read_text().splitlines():
            step, _, rest = line.partition(" ")
            if step == "ADD":
                self.assertEqual(rest, "${ARCHIVE} /opt/")
                subprocess.run(["tar", "-xf", archive, "-C", root.path / "opt"], check=True)
            elif step == "RUN" and not rest.startswith("apt-get "):
                ran = root.run("sh", "-c", rest)
                self.assertEqual(ran.returncode, 0, ran.stdout)
            elif step == "ENV":
                name, _, value = rest.partition("=")
                variables[name] = value
            elif step == "CMD":
                ran = root.run(*json.loads(rest), variables=variables)
                self.assertEqual(ran.returncode, 0, ran.stdout)
                self.assertRegex(ran.stdout, "VK_KHR_cooperative_matrix +native")
            else:
                continue
            done.append(step)
        self.assertEqual(done, ["ADD", "RUN", "ENV", "CMD"])
        # Programs in this root find the driver without weft-run.
        self.assert_verified(root.run(*self.product(root), variables=variables))

    def test_wheel(self):
        wheel = self.package("*.whl")
        root = self.enter(make_root("users", "trixie", "libvulkan1," + USERS))
        shutil.copy(wheel, root.path / "tmp")
        before = root.left_files()
        self.assertEqual(root.run("python3", "-m", "venv", "/opt/venv").returncode, 0)
        pip = ["/opt/venv/bin/pip", "--no-cache-dir", "--disable-pip-version-check"]
        # pip compiles itself when it is first used.
        root.run(*pip, "list")
        empty = root.left_files()
        ran = root.run(*pip, "install", "--no-index", f"/tmp/{wheel.name}")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        python = ["/opt/venv/bin/python", "-m", "weft_vulkan"]
        self.assert_verified(root.run(*python, "run", *self.product(root)))
        self.assert_verified(root.run("/opt/venv/bin/weft-run", *self.product(root)))
        self.assertIn("VK_KHR_cooperative_matrix", root.run(*python, "info").stdout)
        self.assertEqual(root.run(*python, "nonsense").returncode, 2)
        # The variables act in the process itself, and its children inherit them.
        script = ("import subprocess, sys, weft_vulkan; changed = weft_vulkan.activate(gpu=True)\n"
                  "assert changed['WEFT_DEVICE_TYPE'] == 'integrated-gpu', changed\n"
                  "import ctypes; loader = ctypes.CDLL('libvulkan.so.1')\n"
                  "info = (ctypes.c_uint64 * 8)(1); instance = ctypes.c_void_p()\n"
                  "assert loader.vkCreateInstance(info, None, ctypes.byref(instance)) == 0\n"
                  "count = ctypes.c_uint32()\n"
                  "loader.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None)\n"
                  "assert count.value == 1, count\n"
                  "sys.exit(subprocess.run(sys.argv[1:]).returncode)")
        self.assert_verified(root.run("/opt/venv/bin/python", "-c", script, *self.product(root)))
        ran = root.run(*pip, "uninstall", "--yes", "weft-vulkan")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        left = set(root.left_files()) - set(empty)
        self.assertEqual([name for name in left if not name.startswith("root/.cache/weft_shader_cache/")], [])
        self.assertNotEqual(left, set())
        self.assertNotEqual(before, empty)

    def test_npm(self):
        package = self.package("*.tgz")
        root = self.enter(make_root("users", "trixie", "libvulkan1," + USERS))
        shutil.copy(package, root.path / "tmp")
        (root.path / "opt/app").mkdir()
        (root.path / "opt/app/package.json").write_text("{}\n")
        npm = ["npm", "--offline", "--no-audit", "--no-fund", "--cache", "/tmp/npm", "--prefix", "/opt/app"]
        ran = root.run(*npm, "install", f"/tmp/{package.name}")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        command = "/opt/app/node_modules/.bin/weft-vulkan"
        self.assert_verified(root.run(command, "run", *self.product(root)))
        self.assertIn("VK_KHR_cooperative_matrix", root.run(command, "info").stdout)
        self.assertEqual(root.run(command, "nonsense").returncode, 2)
        self.assertEqual(root.run(command, "run", "sh", "-c", "exit 7").returncode, 7)
        script = ("const {spawnSync} = require('child_process');\n"
                  "require('/opt/app/node_modules/weft-vulkan').activate();\n"
                  "const ran = spawnSync(process.argv[1], process.argv.slice(2), {stdio: 'inherit'});\n"
                  "process.exit(ran.status);")
        self.assert_verified(root.run("node", "-e", script, *self.product(root)))
        ran = root.run(*npm, "uninstall", "weft-vulkan")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        left = [name for name in root.left_files() if not name.startswith(
            ("root/.cache/weft_shader_cache/", "opt/app/package", "opt/app/node_modules/.package-lock", "tmp/"))]
        self.assertEqual(left, [])

    def test_foreign_programs(self):
        """llama.cpp's tests by the wheel; Dawn by the npm package, with the layer on lavapipe."""
        wheel, package = self.package("*.whl"), self.package("*.tgz")
        if not shutil.which("npm"):
            self.skipTest("no npm")
        base = make_root("foreign", "trixie", FOREIGN, ["forky"])
        if not (base / "opt/webgpu").exists():
            npm_install(base / "opt/webgpu.unfinished", client_webgpu.WEBGPU)
            (base / "opt/webgpu.unfinished").rename(base / "opt/webgpu")
        root = self.enter(base)
        shutil.copy(wheel, root.path / "tmp")
        root.run("python3", "-m", "venv", "/opt/venv")
        ran = root.run("/opt/venv/bin/pip", "install", "--no-index", f"/tmp/{wheel.name}")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        ran = root.run("/opt/venv/bin/python", "-m", "weft_vulkan", "run", "--gpu", "/" + BACKEND_OPS, "test",
                       "-b", "Vulkan0", "-o", "MUL_MAT", "-p", "type_a=f16,type_b=f(16|32),m=16,n=[0-9]+,k=256")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertRegex(ran.stdout, r"Weft on .* matrix cores: NV_coopmat2")
        (passed, of), = re.findall(r"([0-9]+)/([0-9]+) tests passed", ran.stdout)
        self.assertEqual(passed, of)
        self.assertGreater(int(of), 5)
        print(f"llama.cpp by the wheel: {passed} of {of}", flush=True)

        npm_install(root.path / "opt/webgpu", package)
        shutil.copy(ROOT / "examples/product/product.mjs", root.path / "opt/webgpu")
        product = "/opt/webgpu/product.mjs"
        # Without the layer, the device has no matrices.
        self.assertIn("no subgroup matrices", root.run("node", product).stdout)
        activate = "require('/opt/webgpu/node_modules/weft-vulkan').activate({layer: true}); import('%s');"
        for command in (["/opt/webgpu/node_modules/.bin/weft-vulkan", "run", "--layer", "node", product],
                        ["node", "-e", activate % product]):
            ran = root.run(*command)
            self.assertEqual(ran.returncode, 0, ran.stdout)
            self.assertIn("elements are right", ran.stdout)

    def test_deb(self):
        debs = [path for path in sorted(OPTIONS.packages.glob("*.deb")) if "-dbgsym_" not in path.name]
        suite = platform.freedesktop_os_release().get("VERSION_CODENAME")
        if not debs or BARE.get(suite) != "debian":
            self.skipTest(f"no Debian packages in {OPTIONS.packages}, or none for {suite}")
        names = [package_test.output("dpkg-deb", "--field", path, "Package").strip() for path in debs]
        depends = {alternatives.split()[0] for path in debs for alternatives in
                   package_test.output("dpkg-deb", "--field", path, "Depends").split(",")} - set(names)
        root = self.enter(make_root(suite + "-deb", suite, ",".join(["vulkan-tools", *sorted(depends)])))
        for path in debs:
            shutil.copy(path, root.path / "tmp")
        before = root.left_files()
        path = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        ran = root.run("dpkg", "--install", *("/tmp/" + path.name for path in debs), variables=path)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        # Programs find the driver without settings, and the layer on request.
        self.assert_verified(root.run(*self.product(root)))
        self.assertRegex(root.run("vulkaninfo", "--summary").stdout, r"deviceName += Weft")
        self.assert_verified(root.run("weft-run", "--cpu", "--layer", *self.product(root),
                                      variables={"WEFT_LOWERING": "registers"}))
        info = root.run("weft-run", "--info")
        self.assertEqual(info.returncode, 0, info.stdout)
        for program in ("weft-run", "weftc"):
            self.assertRegex(root.run(program, "--version").stdout, f"^{program} [0-9]")
        ran = root.run("dpkg", "--purge", *names, variables=path)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertEqual(root.run("dpkg-query", "--show", "weft*").returncode, 1)
        left = [name for name in sorted(set(root.left_files()) - set(before)) if not name.startswith(
            ("root/.cache/weft_shader_cache/", "var/lib/dpkg/", "var/log/", "etc/ld.so.cache",
             "var/cache/ldconfig/"))]
        self.assertEqual(left, [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__.strip())
    parser.add_argument("--roots", type=lambda path: pathlib.Path(path).resolve(),
                        default=ROOT / "build-package/roots")
    parser.add_argument("packages", type=pathlib.Path)
    OPTIONS, others = parser.parse_known_args()
    if "WEFT_CLIENTS_INSIDE" not in os.environ:
        sys.exit(client_root.run_in_namespaces())
    with tempfile.TemporaryDirectory() as built:
        PRODUCT = package_test.build_product(pathlib.Path(built))
        if not PRODUCT:
            sys.exit("roots_test.py: glslang 15 or a C compiler is missing")
        unittest.main(argv=[sys.argv[0], *others])
