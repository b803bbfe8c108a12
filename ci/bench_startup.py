# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""ci/bench startup: the time of a process until Vulkan has computed its first small product."""

import pathlib
import statistics
import subprocess
import sys
import tempfile

from client_root import SOURCE, fail

sys.path.append(str(SOURCE / 'tests/package'))
import package_test

LAYER_MANIFEST = 'explicit_layer.d/VkLayer_weft_cooperative_matrix.json'
TARGETS = ['layer/libVkLayer_weft_cooperative_matrix.so']
STEPS = ('instance', 'device', 'pipeline', 'result')


def first_product(root, program, variables, matrices, home):
    """One process: step → (milliseconds, milliseconds of CPUs) until it had ended."""
    module = [program[1] if matrices else '', program[2]]
    ran = root.run([program[0], '--times', *module], variables |
                   {'HOME': home, 'MESA_SHADER_CACHE_DISABLE': 'false'},
                   stdout=subprocess.PIPE, text=True)
    lines = ran.stdout.splitlines()
    if ran.returncode != 0 or lines[-2].endswith('matrix') != matrices:
        fail(f'the product failed, or was another than asked for:\n{ran.stdout}')
    return {line.split()[0]: tuple(map(float, line.split()[1:])) for line in lines
            if line.split()[0] in STEPS}


def bench_startup(root, arguments, driver):
    """Each driver in alternating processes, first with an empty home, then with the cache of the
    first process; medians."""
    with tempfile.TemporaryDirectory() as folder:
        built = package_test.build_product(pathlib.Path(folder))
        if not built:
            fail('glslang 15 or a C compiler is missing')
        program = [root.install_binary(pathlib.Path(file)) for file in built[:1]]
        for file in built[1:]:
            copy = root.weft / pathlib.Path(file).name
            copy.write_bytes(pathlib.Path(file).read_bytes())
            program.append(f'/weft/{copy.name}')
    lavapipe = root.driver('lavapipe-26.1')
    print(f'peer: {root.describe_device(lavapipe)}', flush=True)
    layers = arguments.unpacked / 'share/vulkan' if arguments.unpacked else SOURCE / 'build/layer'
    layer = root.layers([layers / LAYER_MANIFEST]) | {'WEFT_LOWERING': 'registers'}
    peers = {'Weft, matrix': (driver, True), 'Weft, scalar': (driver, False),
             'lavapipe, matrix': (lavapipe, True), 'lavapipe, scalar': (lavapipe, False),
             'lavapipe with the layer, matrix': (lavapipe | layer, True)}
    times = {}
    for turn in range(arguments.rounds):
        for peer, (variables, matrices) in peers.items():
            home = f'/weft/startup{turn}-{peer.replace(" ", "-")}'
            for state in ('cold', 'warm'):
                taken = first_product(root, program, variables, matrices, home)
                for step, pair in taken.items():
                    times.setdefault((peer, state), {}).setdefault(step, []).append(pair)
    print(f'== until the first product: ms (ms of CPUs), medians of {arguments.rounds} by turns\n'
          f'{"":38}' + ''.join(f'{step:>16}' for step in STEPS))
    results = {}
    for (peer, state), steps in times.items():
        row = {step: [statistics.median(values) for values in zip(*pairs)]
               for step, pairs in steps.items()}
        print(f'{peer:32} {state:5}' +
              ''.join(f'{row[step][0]:9.1f} ({row[step][1]:4.0f})' for step in STEPS), flush=True)
        results[f'{peer}, {state}'] = row
    return results, True
