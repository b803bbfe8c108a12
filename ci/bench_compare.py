# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""ci/bench compare: alternates two builds of the driver, under the language model of bench/ggml."""

import json
import random
import statistics
import subprocess

from bench_ggml import TESTS, model_file
from client_root import GGML, SCALAR, fail

RESAMPLINGS = 2000
FIRST_TOKEN_SHARE = 5  # a cold first token takes seconds: one for so many of the other tests


def ratio(pairs):
    """Median of old ÷ new, and the interval that holds it with 95 % (bootstrap of the pairs)."""
    ratios = [old / new for old, new in pairs]
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(ratios, k=len(ratios)))
                     for _ in range(RESAMPLINGS))
    return (statistics.median(ratios), medians[int(RESAMPLINGS * 0.025)],
            medians[int(RESAMPLINGS * 0.975)])


class Server:
    """A process that holds a model and repeats its tests."""

    def __init__(self, root, program, file, variables):
        self.process = subprocess.Popen(
            root.command([program, 'serve', 'Vulkan0', file], variables),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            fail(f'bench/ggml/model.cc ended with status {self.process.wait()}')
        return line

    def measure(self, test):
        """Seconds and seconds of CPUs."""
        print(test, file=self.process.stdin, flush=True)
        return tuple(map(float, self.answer().split()))

    def finish(self):
        self.process.stdin.close()
        self.process.wait()


def by_turns(rounds, old, new):
    """Pairs of (old, new); every other round begins with the new one."""
    pairs = []
    for turn in range(rounds):
        if turn % 2:
            second, first = new(), old()
            pairs.append((first, second))
        else:
            pairs.append((old(), new()))
    return pairs


def compare_rates(root, program, file, rounds, builds):
    """Test → pairs of (wall, CPU) seconds. The processes run their warm-up one after the other, so
    that both have touched every page of weights before the first measurement."""
    servers = []
    for variables in builds:
        servers.append(Server(root, program, file, variables))
        if servers[-1].answer() != 'ready\n':
            fail('bench/ggml/model.cc: unexpected answer')
    measured = {name: by_turns(rounds, *(lambda s=server: s.measure(test) for server in servers))
                for test, name in TESTS.items()}
    for server in servers:
        server.finish()
    return measured


def compare_first(root, program, file, rounds, builds):
    """Pairs of (wall, CPU) seconds from a process's start to its second token, cold."""
    def first(variables):
        root.run(['cat', file], stdout=subprocess.DEVNULL)
        ran = root.run([program, 'first', 'Vulkan0', file], variables, stdout=subprocess.PIPE,
                       text=True)
        if ran.returncode != 0:
            fail('no first token')
        times = json.loads(ran.stdout)
        return times['second'], times['cpu_seconds']
    return by_turns(rounds, *(lambda v=variables: first(v) for variables in builds))


def bench_compare(root, arguments, _):
    """Old ÷ new time, by model, matrix path and test: above 1 the new build is faster."""
    builds = [root.driver(manifest.resolve(), folder) | GGML
              for manifest, folder in zip(arguments.builds, ('old', 'new'))]
    program = root.compile('bench/ggml/model.cc', 'ggml', 'ggml-base')
    results = {}
    print(f'== old ÷ new time, medians of {arguments.rounds} by turns [95 %]\n'
          f'{"":34}{"new, s":>9}{"by wall time":>22}{"by CPU time":>22}', flush=True)
    for kind in arguments.kinds.split(','):
        file = model_file(root, program, arguments.models.resolve(), kind)
        for path, variables in (('matrices', {}), ('bytes', SCALAR)):
            if kind == 'f16' and path == 'bytes':
                continue
            these = [build | variables for build in builds]
            tests = compare_rates(root, program, file, arguments.rounds, these)
            tests['second token, cold'] = compare_first(
                root, program, file, -(-arguments.rounds // FIRST_TOKEN_SHARE), these)
            for test, pairs in tests.items():
                wall, cpu = ([(old[i], new[i]) for old, new in pairs] for i in (0, 1))
                row = {'wall': ratio(wall), 'cpu': ratio(cpu),
                       'seconds': statistics.median(new for _, new in wall)}
                print(f'{kind + ", " + path + ", " + test:34}{row["seconds"]:9.3f}' +
                      ''.join('{:8.3f} [{:.3f} {:.3f}]'.format(*row[by]) for by in ('wall', 'cpu')),
                      flush=True)
                results[f'{kind}, {path}, {test}'] = row
    return results, True
