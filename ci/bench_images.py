# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""ci/bench images: accesses to images, alternately on Weft's device and on lavapipe 26.1. The same
kernels on buffers are measured beside them."""

import json
import shutil
import subprocess

from client_root import SOURCE, fail

FOLDER = 'bench/images'
TIMES = ('wall', 'cpu')


# The sources of texels that each shader has.
SHADERS = {'copy': ('storage', 'buffers'),
           'convolution': ('storage', 'fetched', 'sampled', 'buffers'),
           'resize': ('sampled', 'buffers'), 'table': ('sampled', 'buffers')}
FORMATS = ('rgba8', 'r32f')


def compile_shaders(root):
    """Compiles the shaders in the root. Returns the folder of the modules there."""
    shutil.copytree(SOURCE / FOLDER, root.weft / 'modules')
    for shader, sources in SHADERS.items():
        for pixels in FORMATS if shader != 'table' else FORMATS[:1]:
            for source in sources:
                compiled = root.run(
                    ['glslangValidator', '--quiet', '-V', '--target-env', 'vulkan1.3',
                     f'-D{pixels.upper()}', f'-D{source.upper()}', f'/weft/modules/{shader}.comp',
                     '-o', f'/weft/modules/{shader}-{pixels}-{source}.spv'])
                if compiled.returncode != 0:
                    fail(f'{shader}.comp does not compile')
    return '/weft/modules'


def bench_images(root, arguments, driver):
    """The medians of each case, and whether images and buffers have the same results."""
    program = root.compile(f'{FOLDER}/images.cc', 'vulkan')
    modules = compile_shaders(root)
    lavapipe = root.driver('lavapipe-26.1')
    both = driver | {'VK_DRIVER_FILES': f"{driver['VK_DRIVER_FILES']}:{lavapipe['VK_DRIVER_FILES']}"}
    names = []
    results = {}
    with subprocess.Popen(root.command([program, modules, str(arguments.rounds), arguments.case],
                                       both), stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            row = json.loads(line)
            if 'devices' in row:
                names = row['devices']
                print(f'== {" and ".join(names)}, alternately; ms of CPUs (wall time); '
                      'ratios of CPU time (wall time)\n'
                      f'{"":30}{"Weft":>16}{"its buffers":>16}{"lavapipe":>16}'
                      f'{"Weft ÷ lavapipe":>18}{"Weft ÷ buffers":>18}', flush=True)
            elif 'case' in row:
                results[row['case']] = named = name_times(row, names)
                print_row(row['case'], named)
    return results, process.returncode == 0


def name_times(row, names):
    weft = next(i for i, name in enumerate(names) if name.startswith('Weft'))
    other = 1 - weft
    return {'right': row['right'], 'difference': row['difference']} | {
        who: dict(zip(TIMES, times)) for who, times in
        (('Weft', row['image'][weft]), ('buffers', row['buffer'][weft]),
         ('lavapipe', row['image'][other]), ("lavapipe's buffers", row['buffer'][other]))}


def print_row(case, row):
    def show(who):
        return f"{row[who]['cpu']:8.2f}" + f"({row[who]['wall']:.2f})".rjust(8)

    def speed(who):
        return ''.join((f"{row[who]['cpu'] / row['Weft']['cpu']:10.2f}",
                        f"({row[who]['wall'] / row['Weft']['wall']:.2f})".rjust(8)))
    print(f'{case:30}' + show('Weft') + show('buffers') + show('lavapipe') + speed('lavapipe') +
          speed('buffers') + ('' if row['right'] else f"  WRONG by {row['difference']}"), flush=True)
