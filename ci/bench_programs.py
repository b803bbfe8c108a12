# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""ci/bench programs: the time until the first result of foreign programs."""

import os
import pathlib
import statistics
import subprocess
import threading
import time

import client_libraries
import client_webgpu
from client_root import GGML, fail

# For each name: the command, and variables. All print a line with the word `pass` or `ok` for each
# result.
PROGRAMS = {
    'VkFFT': (client_libraries.vkfft_command, {}),
    'whisper.cpp': (client_libraries.whisper_command, GGML),
    'vkd3d': (client_libraries.vkd3d_command, {}),
    "Deno's wgpu": (client_webgpu.wgpu_command, {}),
    'TensorFlow.js': (client_webgpu.tfjs_command, {}),
    'Dawn': (client_webgpu.dawn_command, {}),
    'ONNX Runtime': (client_webgpu.onnx_command, {}),
    'ncnn': (client_libraries.ncnn_command, {}),
}
SEED = '20261129'
LONGEST = 300  # seconds until the first result
AFTERWARDS = 20  # seconds in which a process may go on, so that it fills its cache


def processor_seconds(except_for):
    """Of all processes in the namespace but one, and of children that have ended."""
    ticks = 0
    for file in pathlib.Path('/proc').glob('[0-9]*/stat'):
        if int(file.parent.name) in except_for:
            continue
        try:
            fields = file.read_text().rpartition(')')[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf('SC_CLK_TCK')


def first_result(root, command, variables):
    """(seconds, seconds of CPUs) from the start of the process to its first result; None if that
    takes too long."""
    # The processes that run already: this one, and the one that began the namespace.
    others = {int(file.name) for file in pathlib.Path('/proc').glob('[0-9]*')}
    start = time.monotonic()
    taken = None
    with subprocess.Popen(root.command(command, variables), stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL) as process:
        killer = threading.Timer(LONGEST, process.kill)
        killer.start()
        for line in process.stdout:
            if 'FAIL' in line:
                fail(f'a wrong result: {line}')
            if {'pass', 'ok'} & set(line.split()):
                taken = time.monotonic() - start, processor_seconds(others)
                break
        killer.cancel()
        try:
            process.communicate(timeout=AFTERWARDS)
        except subprocess.TimeoutExpired:
            process.kill()
    return taken


def bench_programs(root, arguments, driver):
    """Weft's device and lavapipe alternately, first with an empty home, then with the caches of the
    first process; medians."""
    lavapipe = root.driver('lavapipe-26.1')
    print(f'peer: {root.describe_device(lavapipe)}', flush=True)
    peers = {'Weft': driver | {'WEFT_QUEUE': 'graphics'}, 'lavapipe': lavapipe}
    programs = {name: program for name, program in PROGRAMS.items() if arguments.case in name}
    print(f'== until the first result: s (s of CPUs), medians of {arguments.rounds}, alternately\n'
          f'{"":14}{"":5}' + ''.join(f'{peer:>18}' for peer in peers) + '  lavapipe ÷ Weft')
    results, faster = {}, True
    for name, (make_command, variables) in programs.items():
        command = make_command(root) + [SEED]
        times = {}
        for turn in range(arguments.rounds):
            for peer, device in peers.items():
                home = f'/weft/{name.replace(" ", "-")}{turn}-{peer}'
                for state in ('cold', 'warm'):
                    times.setdefault(state, {}).setdefault(peer, []).append(first_result(
                        root, command, variables | device |
                        {'HOME': home, 'MESA_SHADER_CACHE_DISABLE': 'false'}))
        for state, by_peer in times.items():
            row = {peer: [statistics.median(values) for values in zip(*pairs)]
                   for peer, pairs in by_peer.items() if all(pairs)}
            shown = [f'{row[peer][0]:9.2f} ({row[peer][1]:6.2f})' if peer in row else
                     f'over {LONGEST} s' for peer in peers]
            ratio = row['lavapipe'][0] / row['Weft'][0] if len(row) == len(peers) else None
            print(f'{name:14}{state:5}' + ''.join(f'{text:>18}' for text in shown) +
                  (f'{ratio:10.2f}' if ratio else ''), flush=True)
            results[f'{name}, {state}'] = row
            faster &= 'Weft' in row
    return results, faster
