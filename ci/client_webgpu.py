# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""ci/clients' programs with a WebGPU inside: Dawn, Deno's wgpu, TensorFlow.js, ONNX Runtime's."""

import json
import os
import pathlib
import random
import shutil
import subprocess

from client_root import SOURCE, check, count_checks, fail, lowered

TESTS = SOURCE / 'tests/clients'
OUTPUT = SOURCE / 'build/clients'

WEBGPU = 'webgpu@0.6.2'
DENO = '@deno/linux-x64-glibc@2.9.6'
ONNX_RUNTIME = 'onnxruntime-node@1.30.0'
TFJS = [f'@tensorflow/{name}@4.22.0' for name in ('tfjs-core', 'tfjs-backend-cpu',
                                                  'tfjs-backend-webgpu')]
CHROMIUM_SWIFTSHADER = 'usr/lib/chromium/libvk_swiftshader.so'


def install_npm(root, package, *more):
    """A package of npm with others and the packages that they need, kept in the root; the folder
    of the first there. Scripts of packages do not run."""
    name = package.rpartition('@')[0]
    folder = pathlib.PurePath('opt', package.replace('/', '+'))
    if not (root.path / folder).exists():
        if not shutil.which('npm'):
            fail('npm is missing: apt-get install npm')
        unfinished = root.path / 'opt/npm.unfinished'
        shutil.rmtree(unfinished, ignore_errors=True)
        installed = subprocess.run(
            ['npm', 'install', '--silent', '--no-fund', '--no-audit', '--ignore-scripts',
             '--prefix', unfinished, package, *more])
        if installed.returncode != 0:
            fail(f'npm cannot install {package}')
        unfinished.rename(root.path / folder)
    return f'/{folder}/node_modules/{name}'


def make_executable(root, program):
    """Sets the bit that a script of the package would have set, and returns the program."""
    os.chmod(root.path / program[1:], 0o755)
    return program


def install_scripts(root):
    """The folder of the clients' scripts in the root."""
    shutil.copytree(TESTS, root.weft / 'clients', dirs_exist_ok=True)
    return '/weft/clients'


def build_identity_layer(root):
    """The layer by which Chromium accepts lavapipe; its manifest."""
    library = root.weft / 'libchromium_identity.so'
    built = root.run(['g++', '-std=c++20', '-O2', '-Wall', '-Wextra', '-shared', '-fPIC', '-o',
                      f'/weft/{library.name}', '/weft/clients/chromium_identity_layer.cc'])
    if built.returncode != 0:
        fail('tests/clients/chromium_identity_layer.cc does not compile')
    manifest = root.weft / 'chromium_identity.json'
    manifest.write_text(json.dumps({'file_format_version': '1.2.0', 'layer': {
        'name': 'VK_LAYER_WEFT_test_chromium_identity', 'type': 'GLOBAL',
        'library_path': str(library), 'api_version': '1.4.309', 'implementation_version': '1',
        'description': 'Gives devices the numbers of SwiftShader'}}))
    return manifest


def dawn_command(root):
    return ['node', f'{install_scripts(root)}/subgroup_matrix_node.mjs', install_npm(root, WEBGPU)]


def dawn(root, arguments, driver, layers):
    seed = arguments.seed or random.randrange(1, 2**32)
    options = [str(seed), arguments.only]
    print('== Dawn in node', flush=True)
    counts = [count_checks(root, dawn_command(root) + options, driver | root.layers(layers))]
    if not arguments.no_page:
        print('== headless Chromium', flush=True)
        page = OUTPUT / 'dawn.png'
        page.unlink(missing_ok=True)
        # Among several CPU devices, Chromium would prefer SwiftShader to the driver.
        root.hide(CHROMIUM_SWIFTSHADER)
        layers = [build_identity_layer(root), *layers]
        counts.append(count_checks(
            root, ['node', '/weft/clients/subgroup_matrix_browser.mjs', '/weft/page.png'] + options,
            driver | root.layers(layers)))
        if (root.weft / 'page.png').exists():
            OUTPUT.mkdir(parents=True, exist_ok=True)
            shutil.copy(root.weft / 'page.png', page)
            print(f'the page: {page}')
    passed, failed = map(sum, zip(*counts))
    print(f'{passed} passed, {failed} failed')
    return passed > 0 and failed == 0


def deno_command(root, script, *permissions):
    deno = make_executable(root, install_npm(root, DENO) + '/deno')
    return [deno, 'run', '--unstable-webgpu', '--allow-read', *permissions,
            f'{install_scripts(root)}/{script}']


def wgpu_command(root):
    return deno_command(root, 'wgsl_operations.mjs')


def wgpu(root, arguments, driver, layers):
    return check(root, arguments, wgpu_command(root), driver | root.layers(layers) | lowered())


def tfjs_command(root):
    return deno_command(root, 'tfjs_operations.mjs', '--allow-env') + [
        os.path.dirname(install_npm(root, *TFJS))]


def tfjs(root, arguments, driver, layers):
    return check(root, arguments, tfjs_command(root), driver | root.layers(layers) | lowered())


def onnx_command(root):
    return ['node', f'{install_scripts(root)}/onnx_operations.mjs',
            install_npm(root, ONNX_RUNTIME)]


def onnx(root, arguments, driver, layers):
    return check(root, arguments, onnx_command(root), driver | root.layers(layers) | lowered())
