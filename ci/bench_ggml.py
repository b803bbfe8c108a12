# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""The measurements of ci/bench with llama.cpp's ggml, in the Debian 13 root of
ci/client_root.py."""

import json
import shutil
import statistics
import subprocess

from client_root import GGML, KHR, NO_VECTORS, SCALAR, fail, run

NO_VULKAN = {'VK_DRIVER_FILES': '/nonexistent'}


# ---- A whole model

KINDS = ('f16', 'q8_0', 'q4_0', 'q4_K_M')
LAYERS = 8
TESTS = {'pp512': 'prompt', 'tg16': 'generation'}


def model_file(root, program, folder, kind):
    """The model's path in the root; it is written once."""
    name = f'{kind}.gguf'
    inside = root.weft / 'models'
    if not inside.exists():
        folder.mkdir(parents=True, exist_ok=True)
        inside.mkdir()
        run(['mount', '--bind', folder, inside])
    if not (folder / name).exists():
        print(f'writing a model of random weights, {folder / name}', flush=True)
        written = root.run([program, 'write', f'/weft/models/{name}.unfinished', kind, str(LAYERS)])
        if written.returncode != 0:
            fail('the model cannot be written')
        (folder / f'{name}.unfinished').rename(folder / name)
    return f'/weft/models/{name}'


def medians_of(pairs):
    return tuple(map(statistics.median, zip(*pairs)))


def measure_rates(root, program, file, rounds, variables):
    """Seconds per token by test and backend, medians of (wall, CPU); the errors of the logits;
    whether these are within their bound."""
    measured = {}
    with subprocess.Popen(root.command([program, 'run', file, str(rounds)], variables),
                          stdout=subprocess.PIPE, text=True) as process:
        for text in process.stdout:
            line = json.loads(text)
            if 'nmse' in line:
                errors = line['nmse']
                continue
            seconds = line['seconds'] / line['tokens'], line['cpu_seconds'] / line['tokens']
            print(f"  {line['backend']:8} {line['test']:6} {1 / seconds[0]:8.2f} tokens/s, "
                  f'{1 / seconds[1]:.2f} per CPU second', flush=True)
            measured.setdefault(line['test'], {}).setdefault(line['backend'], []).append(seconds)
    if process.returncode not in (0, 1):
        fail(f'bench/ggml/model.cc ended with status {process.returncode}')
    medians = {test: {backend: medians_of(seconds) for backend, seconds in backends.items()}
               for test, backends in measured.items()}
    return medians, errors, process.returncode == 0


def measure_first(root, program, file, rounds, variables):
    """Medians of the seconds from the start of a process to its first token, after a prompt of 64,
    and to its second, which takes mat-vec kernels. Measured cold, with an earlier process's cache,
    and on ggml's CPU backend."""
    seconds = {'cold': [], 'warm': [], 'CPU': []}
    for turn in range(rounds):
        home = {'HOME': f'/weft/home-first{turn}'}
        for name, backend, environment in (('cold', 'Vulkan0', variables | home),
                                           ('CPU', 'CPU', NO_VULKAN),
                                           ('warm', 'Vulkan0', variables | home)):
            # Reads the model into the page cache, so that no process waits for the disk.
            root.run(['cat', file], stdout=subprocess.DEVNULL)
            answer = root.run([program, 'first', backend, file], environment,
                              stdout=subprocess.PIPE, text=True)
            if answer.returncode != 0:
                fail(f'no first token from {backend}')
            times = json.loads(answer.stdout)
            print(f"  {name:8} loaded {times['loaded']:.2f} s, first token {times['first']:.2f} s, "
                  f"second {times['second']:.2f} s, CPU {times['cpu_seconds']:.2f} s", flush=True)
            seconds[name].append((times['first'], times['second']))
        shutil.rmtree(root.weft / f'home-first{turn}', ignore_errors=True)
    return {name: medians_of(times) for name, times in seconds.items()}


def measure_way(root, program, file, rounds, variables):
    """All results of one way to multiply, and whether the logits are right."""
    rates, errors, agree = measure_rates(root, program, file, rounds, variables)
    first = measure_first(root, program, file, rounds, variables)
    return rates | {'first token': first, 'nmse': errors}, agree


def show_rates(kind, rates, errors, remark=''):
    for test, name in TESTS.items():
        weft, cpu = rates[test]['Vulkan0'], rates[test]['CPU']
        print(f'{kind:8}{name + ", tokens/s":26}{1 / weft[0]:9.1f}{1 / cpu[0]:9.1f}'
              f'{cpu[0] / weft[0]:8.2f}{cpu[1] / weft[1]:13.2f}   nmse {errors[test]:.1e}{remark}')


def show_way(kind, result, remark=''):
    """The model's rows of the table, for one way to multiply."""
    show_rates(kind, result, result['nmse'], remark)
    cpu = result['first token']['CPU']
    for name in 'cold', 'warm':
        for which, weft, ggml in zip(('first', 'second'), result['first token'][name], cpu):
            print(f'{kind:8}{f"{which} token, {name}, s":26}{weft:9.2f}{ggml:9.2f}'
                  f'{weft / ggml:8.2f}{remark}')


def show_model(kind, result):
    show_way(kind, result)
    if bytes_of := result.get('products of bytes'):
        show_way(kind, bytes_of, ', products of bytes')


def bench_model(root, arguments, driver):
    """Prompt, generation and first tokens of a model on Weft's device and on ggml's CPU backend."""
    ours = driver | GGML
    program = root.compile('bench/ggml/model.cc', 'ggml', 'ggml-base')
    results, right = {}, True
    for kind in arguments.kinds.split(','):
        file = model_file(root, program, arguments.models.resolve(), kind)
        print(f'== {kind}', flush=True)
        results[kind], agree = measure_way(root, program, file, arguments.rounds, ours)
        right &= agree
        if kind != 'f16':
            # Without matrices, ggml converts the other factor of quantized blocks to bytes.
            print('  without matrices: products of bytes', flush=True)
            results[kind]['products of bytes'], agree = measure_way(root, program, file,
                                                                    arguments.rounds, ours | SCALAR)
            right &= agree
    print(f"\n{f'medians of {arguments.rounds}':34}{'Weft':>9}{'ggml CPU':>9}{'ratio':>8}"
          f"{'by CPU time':>13}")
    for kind, result in results.items():
        show_model(kind, result)
    if not right:
        print("FAIL: the two backends' logits differ")
    return results, right


# ---- One product

TYPES = ('f16', 'q8_0', 'q4_0', 'q4_K')
WEIGHTS = ('4096', '14336')  # m k
# Fewer columns, but still whole 128x128 tiles: lavapipe takes a quarter of the time.
LAVAPIPE_COLUMNS = '128'
FIRST_SHAPE = ('512', '256', '1024')  # m n k
MAX_NMSE = 5e-4


class Server:
    """A process that repeats one MUL_MAT on request."""

    def __init__(self, root, program, peer, kind, n):
        self.name, variables, backend = peer
        m, k = WEIGHTS
        if n != '1' and self.name.startswith('lavapipe'):
            n = LAVAPIPE_COLUMNS
        self.work = 2e-9 * int(m) * int(n) * int(k)
        self.rates = []
        self.cpu_rates = []
        self.process = subprocess.Popen(
            root.command([program, 'serve', backend, kind, m, n, k], variables),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.answer() != 'ready':
            fail(f'{self.name}: unexpected answer')

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            fail(f'{self.name}: mul_mat ended with status {self.process.wait()}')
        return line.strip()

    def measure(self):
        print(file=self.process.stdin, flush=True)
        seconds, cpu_seconds = map(float, self.answer().split())
        self.rates.append(self.work / seconds)
        self.cpu_rates.append(self.work / cpu_seconds)

    def finish(self):
        """The error of its results."""
        self.process.stdin.close()
        nmse = float(self.answer())
        self.process.wait()
        return nmse


def bench_mul_mat(root, program, peers, kind, n, rounds):
    """Rates by peer, and whether all are right."""
    print(f'== MUL_MAT {kind} m={WEIGHTS[0]} n={n} k={WEIGHTS[1]}'
          f'{f" (lavapipe: n={LAVAPIPE_COLUMNS})" if n != "1" else ""}, '
          f'median of {rounds} interleaved', flush=True)
    servers = [Server(root, program, peer, kind, n) for peer in peers]
    for _ in range(rounds):
        for server in servers:
            server.measure()
    right, rates = True, {}
    for server in servers:
        nmse = server.finish()
        right &= nmse < MAX_NMSE
        rates[server.name] = statistics.median(server.rates)
        print(f'{server.name:20} {rates[server.name]:8.2f} GFLOP/s '
              f'({min(server.rates):.2f} to {max(server.rates):.2f}), '
              f'{statistics.median(server.cpu_rates):.2f} GFLOP per CPU second, '
              f'nmse {nmse:.1e}{"" if nmse < MAX_NMSE else " FAIL"}', flush=True)
    for name, rate in rates.items():
        if name != 'Weft':
            print(f"ratio: {rates['Weft'] / rate:.2f} times {name}", flush=True)
    return rates, right


def bench_first(root, program, peers):
    """Seconds to the first product of a fresh process, cold; Weft also with its cache."""
    print(f'== first MUL_MAT f16 m={FIRST_SHAPE[0]} n={FIRST_SHAPE[1]} k={FIRST_SHAPE[2]} of a '
          'fresh process', flush=True)
    seconds = {}
    (_, ours, _), *others = peers
    home = {'HOME': '/weft/home-first-product'}
    # The peers take over a minute each, so they run once; Weft runs before, between and after them.
    order = [('Weft', ours | home, 'Vulkan0'), ('Weft, warm', ours | home, 'Vulkan0')]
    for peer in others:
        order += [peer, peers[0], order[1]]
    for name, variables, backend in order:
        first = root.run([program, 'first', backend, 'f16', *FIRST_SHAPE], variables,
                         stdout=subprocess.PIPE, text=True)
        if first.returncode != 0:
            fail(f'{name}: no right result')
        seconds.setdefault(name, []).append(float(first.stdout.split()[0]))
        print(f'  {name:20} {seconds[name][-1]:8.2f} s', flush=True)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, time in medians.items():
        print(f"{name:20} {time:8.2f} s, Weft's is {medians['Weft'] / time:.4f} of it")
    return medians


def bench_ggml(root, arguments, driver):
    """MUL_MAT on Weft's device, by its other matrix paths too, on lavapipe with its matrices and
    without, on ggml's CPU."""
    program = root.compile('bench/ggml/mul_mat.cc', 'ggml', 'ggml-base')
    lavapipe = root.driver('lavapipe-26.1') | GGML
    print(f'peer: {root.describe_device(lavapipe)}', flush=True)
    known = {'lavapipe, matrices': lavapipe, 'lavapipe, scalar': lavapipe | SCALAR}
    peers = [('Weft', driver | GGML, 'Vulkan0')]
    paths = [('Weft, NV_coopmat2', driver | GGML | NO_VECTORS, 'Vulkan0'),
             ('Weft, KHR_coopmat', driver | GGML | KHR, 'Vulkan0')]
    # Without matrices, ggml converts the other factor of quantized blocks to bytes.
    bytes_path = ('Weft, bytes', driver | GGML | SCALAR, 'Vulkan0')
    if 'lavapipe' in arguments.peers:
        peers += [(name, variables, 'Vulkan0') for name, variables in known.items()]
    if 'cpu' in arguments.peers:
        peers.append(('ggml CPU', NO_VULKAN, 'CPU'))
    results = {'first_s': bench_first(root, program, peers)}
    right = True
    for kind in arguments.types.split(','):
        for n in ('512', '1'):
            # One mat-vec kernel serves all matrix paths.
            these = [peer for peer in peers if n != '1' or peer[0] != 'lavapipe, scalar']
            these += paths if n != '1' and 'paths' in arguments.peers else []
            these += [bytes_path] if n != '1' and kind != 'f16' else []
            rates, agree = bench_mul_mat(root, program, these, kind, n, arguments.rounds)
            results[f'{kind} n={n}'] = rates
            right &= agree
    return results, right
