# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""ci/clients' runs of Khronos' validation layers. They come from the Debian release after 13,
because the layers of Debian 13 (1.4.309) are older than extensions that the tests use."""

import json
import random
import subprocess

from client_root import NEW_VALIDATION, QUICK_LAVAPIPE, SOURCE, fail

END_TO_END_TESTS = SOURCE / 'build/tests/e2e/weft_e2e'

KHRONOS_VALIDATION = 'VK_LAYER_KHRONOS_validation'
# The same tests as in tests/e2e/meson.build: without bad input, which breaks rules on purpose.
VALIDATED_TESTS = 'Validation.*:Cmat*:ControlFlow.*:Memory.*:Subgroup.*:Types.*'
# Their shaders have vectors of eight components, to which the layers object without LongVectorEXT.
UNKNOWN_TO_VALIDATION = 'CmatTensor.*VectorDecode*'
VALIDATED_LAYER_TESTS = ':Layer.IsWhereItShouldBe:Layer.ShaderObjects'


def validation(root, arguments, driver, layers):
    if not END_TO_END_TESTS.exists():
        fail(f'{END_TO_END_TESTS} is missing: ninja -C build tests/e2e/weft_e2e')
    program = root.install_binary(END_TO_END_TESTS)
    variables = driver | root.layers(layers) | {
        'LD_LIBRARY_PATH': '/weft/lib', 'WEFT_TEST_VALIDATION': '1', 'WEFT_SWEEP': 'reduced',
        'VK_LAYER_ENABLE_MESSAGE_LIMIT': 'false'  # or they fall silent after ten of a kind
    } | QUICK_LAVAPIPE | install_new_validation(root)
    ours = variables.get('VK_INSTANCE_LAYERS')
    runs = []
    if arguments.driver == 'weft':
        variables['WEFT_TEST_DRIVER'] = 'weft'
        runs += [('on the driver', KHRONOS_VALIDATION, {})]
    if layers:
        registers = {'WEFT_LOWERING': 'registers', 'WEFT_TEST_LAYER': 'lowers'}
        # The driver has 8×8×8 tiles only, so that most matrices are built from several.
        tiles = {'WEFT_LOWERING': 'tiles', 'WEFT_TEST_LAYER': 'lowers',
                 'WEFT_ICD_PROFILE': 'lavapipe'}
        below = f'{ours}:{KHRONOS_VALIDATION}'
        runs += [('above the layer', f'{KHRONOS_VALIDATION}:{ours}', registers),
                 ('below the layer, registers', below, registers)]
        if arguments.driver == 'weft':
            runs += [('below the layer, tiles', below, tiles)]
    failed = []
    for title, order, settings in runs:
        print(f'== validation layers {title}', flush=True)
        tests = VALIDATED_TESTS + (VALIDATED_LAYER_TESTS if order != KHRONOS_VALIDATION else '')
        chosen = f'Validation.*:{arguments.only}' if arguments.only else tests
        command = [program, f'--gtest_filter={chosen}-{UNKNOWN_TO_VALIDATION}']
        seed = {'WEFT_SEED': str(arguments.seed)} if arguments.seed else {}
        settings = settings | seed | {'VK_INSTANCE_LAYERS': order}
        if root.run(command, variables | settings).returncode:
            failed.append(title)
    for title in failed:
        print(f'FAIL: validation layers {title}')
    print(f'{len(runs) - len(failed)} passed, {len(failed)} failed')
    return bool(runs) and not failed


# The line that the shader prints, then words of the layers' report.
PRINTED = 'numbers[1] is {}'
OUT_OF_BOUNDS = 'out of bounds'


def install_new_validation(root):
    """Makes the newer validation layers the only ones that the loader finds; variables for that."""
    manifest = root.path / NEW_VALIDATION / (
        'usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json')
    described = json.loads(manifest.read_text())
    library, = (root.path / NEW_VALIDATION).glob('usr/lib/*/libVkLayer_khronos_validation.so')
    described['layer']['library_path'] = f'/{library.relative_to(root.path)}'
    (root.weft / 'layers/khronos_validation.json').write_text(json.dumps(described))
    return {'VK_LAYER_PATH': '/weft/layers'}


def printf(root, arguments, driver, layers):
    program = root.compile('tests/clients/instrumented.cc', 'vulkan')
    module = '/weft/instrumented.spv'
    if root.run(['glslangValidator', '-V', '--target-env', 'vulkan1.3', '-o', module,
                 '/weft/source/tests/clients/instrumented.comp'],
                stdout=subprocess.DEVNULL).returncode != 0:
        fail('tests/clients/instrumented.comp does not compile')
    variables = driver | root.layers(layers) | install_new_validation(root)
    ours = variables.get('VK_INSTANCE_LAYERS')
    orders = [('on the driver', KHRONOS_VALIDATION)]
    if layers:
        orders += [('above the layer', f'{KHRONOS_VALIDATION}:{ours}'),
                   ('below the layer', f'{ours}:{KHRONOS_VALIDATION}')]
    prints = {'VK_LAYER_PRINTF_ONLY_PRESET': '1', 'VK_LAYER_PRINTF_TO_STDOUT': '1'}
    watches = {'VK_LAYER_GPUAV_ENABLE': '1', 'VK_LAYER_VALIDATE_CORE': '0'}
    multiplicand = random.Random(arguments.seed).randrange(1, 2**30)
    runs = [  # name, settings, the word written, texts that the output has and has not
        ('debug printf', prints, 0, PRINTED.format(3 * multiplicand), 'Validation Error'),
        ('printf switched off', {}, 0, 'the buffer holds', PRINTED.format('')),
        ('GPU-assisted validation, a right shader', watches, 0, 'the buffer holds',
         'Validation Error'),
        ('GPU-assisted validation, a write out of bounds', watches, 40, OUT_OF_BOUNDS, None)]
    failed = 0
    for place, order in orders:
        for name, settings, word, expected, unexpected in runs:
            ran = root.run([program, module, str(multiplicand), str(word)],
                           variables | settings | {'VK_INSTANCE_LAYERS': order},
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
            right = (ran.returncode == 0 and expected in ran.stdout and
                     not (unexpected and unexpected in ran.stdout))
            print(f'{"pass" if right else "FAIL"}  {place}: {name}', flush=True)
            if not right:
                failed += 1
                print(f'status {ran.returncode}, expected: {expected}\n{ran.stdout}')
    print(f'{len(orders) * len(runs) - failed} passed, {failed} failed')
    return failed == 0
