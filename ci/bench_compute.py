# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""ci/bench compute: ordinary compute shaders, alternately on Weft's device, on lavapipe 26.1 and in
C++ (g++ of Debian 13, -O3 -march=native, OpenMP)."""

import json
import shutil
import subprocess

from client_root import SOURCE, fail

FOLDER = 'bench/compute'
TIMES = ('wall', 'cpu')


def compile_shaders(root):
    """Compiles the shaders in the root. Returns the folder of the modules there."""
    shutil.copytree(SOURCE / FOLDER, root.weft / 'modules')
    for shader in sorted((SOURCE / FOLDER).glob('*.comp')):
        compiled = root.run(['glslangValidator', '--quiet', '-V', '--target-env', 'vulkan1.3',
                             f'/weft/modules/{shader.name}', '-o',
                             f'/weft/modules/{shader.stem}.spv'])
        if compiled.returncode != 0:
            fail(f'{shader.name} does not compile')
    return '/weft/modules'


def bench_compute(root, arguments, driver):
    """The medians of each case, and whether the devices and C++ have the same results."""
    others = [f'/weft/source/{FOLDER}/{name}.cc' for name in ('cases', 'peers', 'wide_peers')]
    program = root.compile(f'{FOLDER}/compute.cc', 'vulkan',
                           options=('-O3', '-march=native', '-fopenmp', *others))
    modules = compile_shaders(root)
    lavapipe = root.driver('lavapipe-26.1')
    both = driver | {'VK_DRIVER_FILES': f"{driver['VK_DRIVER_FILES']}:{lavapipe['VK_DRIVER_FILES']}",
                     'WEFT_SHADER_CACHE_DISABLE': 'true', 'MESA_SHADER_CACHE_DISABLE': 'true',
                     # By default, OpenMP's threads spin for milliseconds after their work. This
                     # time would count for C++, and for the device that runs next.
                     'OMP_WAIT_POLICY': 'passive'}
    names = []
    results = {}
    with subprocess.Popen(root.command([program, modules, str(arguments.rounds), arguments.case],
                                       both), stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            row = json.loads(line)
            if 'devices' in row and 'case' not in row:
                names = row['devices']
                print(f'== {" and ".join(names)}, and C++, alternately; ms of CPUs (wall time)\n'
                      f'{"":36}{"C++":>17}{"Weft":>17}{"lavapipe":>17}'
                      f'{"C++ ÷ Weft":>12}{"lavapipe ÷ Weft":>17}{"first run":>11}', flush=True)
            elif 'case' in row:
                results[row['case']] = named = name_times(row, names)
                print_row(row['case'], named)
    print_worst(results)
    return results, process.returncode == 0


def name_times(row, names):
    weft = next(i for i, name in enumerate(names) if name.startswith('Weft'))
    named = {'C++': dict(zip(TIMES, row['C++']))}
    for who, device in (('Weft', row['devices'][weft]), ('lavapipe', row['devices'][1 - weft])):
        named[who] = dict(zip(TIMES, device['run'])) | {
            'first': dict(zip(TIMES, device['first'])), 'right': device['right']}
    return named


def ratio(row, peer):
    """How many times as fast as a peer Weft is, by CPU time."""
    return row[peer]['cpu'] / row['Weft']['cpu']


def print_row(case, row):
    def show(who):
        return f"{row[who]['cpu']:9.2f}" + f"({row[who]['wall']:.2f})".rjust(8)
    wrong = ''.join(f'  WRONG: {who}' for who in ('Weft', 'lavapipe') if not row[who]['right'])
    print(f'{case:36}' + show('C++') + show('Weft') + show('lavapipe') +
          f"{ratio(row, 'C++'):12.2f}{ratio(row, 'lavapipe'):17.2f}"
          f"{row['Weft']['first']['cpu']:11.1f}" + wrong, flush=True)


def print_worst(results):
    for peer in ('C++', 'lavapipe'):
        if results:
            case = min(results, key=lambda name: ratio(results[name], peer))
            print(f'the worst beside {peer}: {ratio(results[case], peer):.2f}, {case}')
