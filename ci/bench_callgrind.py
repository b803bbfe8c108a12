# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""ci/bench callgrind: instructions that valgrind counts, which do not depend on other programs of
the machine. valgrind has no AVX-512, so all code is for AVX2.

A kernel's instructions per workgroup are the difference of two runs, divided by the difference of
their workgroups. For the compiler, the run with fewer workgroups counts, from the start of the
process on. Shaders that bench/instructions.json lacks are not compared."""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from client_root import SOURCE, fail

FOLDER = SOURCE / 'bench/compute'
TRACKED = SOURCE / 'bench/instructions.json'
WEFTC = SOURCE / 'build/tools/weftc/weftc'
TARGETS = ['tools/weftc/weftc']
WORKGROUPS = (2, 10)
BUFFER_BYTES = 1 << 20

# Push constants of common.glsl. By default, n = 1 << 18: all invocations work.
DEFAULT_CONSTANTS = '262144,1,1,0.5,0.25'
CONSTANTS = {
    'barrier': '64,0,0,0,0', 'barrier_xor': '64,0,0,0,0',
    'bitonic_global': '262144,1024,512,0,0',
    'convolution': '256,0,0,0,0', 'dot_bytes': '4096,0,0,0,0',
    'gemm_block': '256,0,0,0,0', 'gemm_naive': '256,0,0,0,0', 'gemm_tiled': '256,0,0,0,0',
    'mandelbrot': '1024,256,0,0.0024,0.0024', 'nbody': '4096,0,0,0.01,0',
    'stencil': '64,0,0,0.4,0.1', 'stencil_bindings': '64,0,0,0.4,0.1', 'transpose': '512,0,0,0,0',
}
# These have their own sizes, or are steps of other kernels.
WITHOUT = {'gemm_naive_constant', 'gemm_tiled_constant', 'zeros', 'scan_sums', 'scan_add'}
# The kernels of one_peer.cc whose work is that of the shader.
PEERS = ('copy', 'saxpy', 'reduce_shared', 'reduce_subgroup', 'histogram', 'gather', 'scatter',
         'sha256', 'dot_bytes', 'barrier', 'barrier_xor')
# The largest growth that is no failure. The compiler's instructions depend on addresses a little.
TOLERANCE = {'workgroup': 1.01, 'compiler': 1.03}


def glslang():
    """glslang's compiler: the system's, or the one that the build made."""
    built = (SOURCE / 'build/subprojects').glob('glslang*/glslangValidator')
    return shutil.which('glslangValidator') or next(map(str, built), None) or fail(
        'glslangValidator is missing')


def count(command, folder):
    """Instructions of a command's last process."""
    with tempfile.TemporaryDirectory(dir=folder) as out:
        ran = subprocess.run(
            ['valgrind', '--tool=callgrind', f'--callgrind-out-file={out}/%p', *command],
            env=os.environ | {'WEFT_THREADS': '1', 'OMP_NUM_THREADS': '1',
                              'WEFT_SHADER_CACHE_DISABLE': 'true'},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if ran.returncode != 0:
            fail(f'{" ".join(map(str, command))} failed:\n{ran.stderr}')
        # weftc runs a shader in a child, which ends before weftc but began with its instructions.
        return max(int(re.search(r'^(?:totals|summary): (\d+)', path.read_text(), re.M)[1])
                   for path in pathlib.Path(out).iterdir())


def slope(counts):
    return (counts[1] - counts[0]) / (WORKGROUPS[1] - WORKGROUPS[0])


def count_shader(name, folder, peer):
    """compiler, workgroup and, if it has a kernel, C++: instructions of a shader."""
    module = folder / f'{name}.spv'
    subprocess.run([glslang(), '--quiet', '-V', '--target-env', 'vulkan1.3',
                    FOLDER / f'{name}.comp', '-o', module], check=True)
    buffers = [f'--buffer=0.{binding}={folder}/numbers' for binding in range(4)
               if f'(binding = {binding})' in (FOLDER / f'{name}.comp').read_text()]
    counts = [count([WEFTC, '--run', '--isa', 'avx2', '--workgroups', f'{groups},1,1', '--push',
                     CONSTANTS.get(name, DEFAULT_CONSTANTS), *buffers, '--timeout', '600', module],
                    folder) for groups in WORKGROUPS]
    result = {'compiler': counts[0], 'workgroup': round(slope(counts))}
    if name in PEERS:
        result['C++'] = round(slope([count([peer, name, str(groups)], folder)
                                     for groups in WORKGROUPS]))
    return result


def print_row(name, row, tracked):
    """Whether the counts have not grown from the tracked file, within the tolerance."""
    remarks = []
    for what, tolerance in TOLERANCE.items():
        before = tracked.get(name, {}).get(what)
        if before and row[what] != before:
            grown = row[what] > before * tolerance
            remarks.append(f"{what} {row[what] / before:.3f} of before{' GREW' if grown else ''}")
    peer = f"{row['C++']:12,}{row['C++'] / row['workgroup']:8.2f}" if 'C++' in row else ' ' * 20
    print(f"{name:18}{row['compiler']:15,}{row['workgroup']:12,}{peer}  {', '.join(remarks)}",
          flush=True)
    return not any('GREW' in remark for remark in remarks)


def bench_callgrind(part, record):
    """The counts by shader, and whether none grew. With `record`, writes the tracked file."""
    if not shutil.which('valgrind'):
        fail('valgrind is missing')
    tracked = json.loads(TRACKED.read_text()) if TRACKED.exists() else {}
    names = sorted(path.stem for path in FOLDER.glob('*.comp')
                   if path.stem not in WITHOUT and part in path.stem)
    print(f'{"instructions":18}{"compiler":>15}{"workgroup":>12}{"C++":>12}{"÷":>8}')
    results, right = {}, True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # Words that are a permutation, as in one_peer.cc; as floats they are small.
        words = BUFFER_BYTES // 4
        (folder / 'numbers').write_bytes(b''.join(
            (i * 48271 % words).to_bytes(4, 'little') for i in range(words)))
        peer = folder / 'one_peer'
        subprocess.run(['c++', '-std=c++20', '-O3', '-march=x86-64-v3', '-Wno-psabi', '-fopenmp', f'-I{SOURCE}',
                        '-o', peer, *(FOLDER / f'{source}.cc' for source in
                                      ('one_peer', 'peers', 'wide_peers'))], check=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for shader, row in zip(names, pool.map(
                    lambda shader: count_shader(shader, folder, peer), names)):
                results[shader] = row
                right &= print_row(shader, row, tracked)
    if record:
        TRACKED.write_text(json.dumps(tracked | results, indent=2, sort_keys=True) + '\n')
        print(f'written: {TRACKED}')
    return results, right or record
