# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""The measurements of ci/bench on this machine itself: bench/driver through the Vulkan loader,
beside the CPU's own limits and libraries."""

import json
import os
import statistics
import subprocess
import sys
import tempfile

from client_root import SOURCE, fail

DRIVER_MANIFEST = SOURCE / 'build/icd/weft_icd.x86_64.json'
PEAKS = 'bench/backend/cpu/backend_cpu_peaks_bench'
DRIVER = 'bench/driver/driver_bench'
WEFTC = 'tools/weftc/weftc'
TARGETS = ('icd/libvulkan_weft.so', PEAKS, DRIVER, WEFTC)
PACKAGES = ('libopenblas-dev', 'libdnnl-dev', 'python3-matplotlib')

# Types of the products, and the instructions that bound them, the best first.
GEMMS = {'f32': ('AVX-512 f32', 'AVX2 f32'), 'f16-f32': ('AVX-512 f32', 'AVX2 f32'),
         'bf16-f32': ('AMX bf16', 'AVX-512 bf16', 'AVX-512 f32', 'AVX2 f32'),
         's8-s32': ('AMX u8s8', 'AVX-512 u8s8', 'AVX-VNNI u8s8', 'AVX2 f32'),
         'u8s8-s32': ('AMX u8s8', 'AVX-512 u8s8', 'AVX-VNNI u8s8', 'AVX2 f32')}
OPERAND_BYTES = {'f32': 4, 'f16-f32': 2, 'bf16-f32': 2, 's8-s32': 1, 'u8s8-s32': 1}
SIZES = (256, 512, 1024, 2048)
OURS = ('Weft', 'direct')  # the second with a kernel for CPUs, without shared memory
WHO = OURS + ('OpenBLAS', 'oneDNN')
COSTS = {'dispatch/submit_and_wait': ('s', 'µs', 1e6),
         'dispatch/next_after_a_barrier': ('s', 'µs', 1e6),
         'barrier/4_subgroups': ('s', 'ns', 1e9),
         'copy/kernel': ('bytes_per_second', 'GB/s', 1e-9),
         'copy/memcpy': ('bytes_per_second', 'GB/s', 1e-9),
         'pipeline/cold': ('s', 'ms', 1e3),
         'pipeline/warm': ('s', 'ms', 1e3),
         'pipeline/memory': ('bytes', 'kB', 1e-3)}


def run_benchmarks(program, pattern, variables, repetitions):
    """Runs the benchmarks whose names match alternately: name → values of each counter."""
    with tempfile.NamedTemporaryFile('r', suffix='.json') as out:
        command = [SOURCE / 'build' / program, f'--benchmark_filter={pattern}',
                   f'--benchmark_repetitions={repetitions}', '--benchmark_min_time=0.1',
              '--benchmark_enable_random_interleaving=true', f'--benchmark_out={out.name}',
              '--benchmark_out_format=json']
        ran = subprocess.run(command, env=os.environ | variables, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        if ran.returncode != 0:
            fail(f'{program} failed:\n{ran.stdout}')
        lines = json.load(out)['benchmarks']
    results = {}
    for line in lines:
        if line['run_type'] != 'iteration':
            continue
        name = line['name'].replace('/real_time', '').split('/iterations:')[0]
        if line.get('error_occurred'):
            if line['error_message'] != 'not supported':
                fail(f"{name}: {line['error_message']}")
            continue
        values = results.setdefault(name, {})
        for key in 'OP/s', 's', 'bytes', 'bytes_per_second':
            if key in line:
                values.setdefault(key, []).append(line[key])
    return results


def medians_of(results, key):
    return {name: statistics.median(values[key]) for name, values in results.items()
            if key in values}


def measure_peaks(repetitions):
    """Operations per second by instructions, of one thread or all: the best of all rounds, because
    other tenants only cost speed."""
    print('== peaks of the instruction sets, GOP/s', flush=True)
    results = run_benchmarks(PEAKS, '.', {}, repetitions)
    peaks = {}
    for name, values in results.items():
        _, instructions, threads = name.split('/')
        peaks.setdefault(instructions, {})[int(threads.split(':')[1])] = max(values['OP/s'])
    for instructions, rates in peaks.items():
        print(f'{instructions:18}' + ''.join(f'{rate / 1e9:10.0f} ({threads} thread'
                                             f'{"s" if threads > 1 else ""})'
                                             for threads, rate in sorted(rates.items())))
    return {name: max(rates.values()) for name, rates in peaks.items()}


def peak_of(types, peaks):
    return next(peaks[name] for name in GEMMS[types] if name in peaks)


def measure_gemms(variables, peaks, repetitions):
    print(f"== products, GOP/s, medians of {repetitions} by turns (OpenBLAS in f32)\n{'':16}" +
          ''.join(f'{who:>10}' for who in WHO) + '   Weft ÷ best   ÷ peak', flush=True)
    gemms = {}
    for types in GEMMS:
        for size in SIZES:
            rates = medians_of(run_benchmarks(DRIVER, f'^gemm/{types}/.*/{size}/', variables,
                                              repetitions), 'OP/s')
            row = {who: rates[f'gemm/{types}/{who}/{size}'] for who in WHO
                   if f'gemm/{types}/{who}/{size}' in rates}
            others = [rate for who, rate in row.items() if who not in OURS]
            print(f'{types:10}{size:5} ' +
             ''.join(f'{row[who] / 1e9:10.1f}' if who in row else f'{"":10}' for who in WHO) +
                  (f"{row['Weft'] / max(others):14.2f}" if others else f'{"":14}') +
                  f"{row['Weft'] / peak_of(types, peaks):9.2f}", flush=True)
            gemms.setdefault(types, {})[size] = row
    return gemms


def measure_costs(variables, repetitions):
    print('== dispatches, barriers, copies, pipelines', flush=True)
    results = run_benchmarks(DRIVER, '^(dispatch|barrier|copy|pipeline)/', variables, repetitions)
    costs = {}
    for name, (key, unit, factor) in COSTS.items():
        for found, values in results.items():
            if found.startswith(name):
                costs[found] = statistics.median(values[key])
                print(f'{found:32}{costs[found] * factor:10.2f} {unit}')
    return costs


def measure_scaling(variables, repetitions):
    cpus = len(os.sched_getaffinity(0))
    counts = sorted({1 << i for i in range(cpus.bit_length()) if 1 << i <= cpus} | {cpus})
    print('== threads, GOP/s of a product of 1024', flush=True)
    scaling = {}
    for types in ('f16-f32', 's8-s32'):
        for threads in counts:
            name = f'gemm/{types}/Weft/1024'
            rate = medians_of(run_benchmarks(DRIVER, f'^{name}/', variables |
                                             {'WEFT_THREADS': str(threads)}, repetitions),
                         'OP/s')[name]
            scaling.setdefault(types, {})[threads] = rate
            print(f'{types:10}{threads:4} {rate / 1e9:10.1f}   '
                  f'{rate / scaling[types][1] / threads:5.2f} of linear', flush=True)
    return scaling


def measure_phases(variables, folder):
    """Milliseconds of each phase of compiling the product's shader."""
    run_benchmarks(DRIVER, '^pipeline/cold/', variables | {'WEFT_DUMP_SPIRV': folder}, 1)
    module = sorted(name for name in os.listdir(folder) if name.endswith('.spv'))[0]
    with open(f'{folder}/{module[:-4]}.args', encoding='utf-8') as arguments:
        command = [SOURCE / 'build' / WEFTC, *arguments.read().split(), '--stats',
                   f'{folder}/{module}']
    stats = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    print('== compiling the f16 product, ms')
    for phase, ms in stats['phases_ms'].items():
        print(f'{phase:16}{ms:8.1f}')
    return stats['phases_ms']


def plot(results, folder):
    # The package comes from Debian, even if another Python is the first in PATH.
    sys.path.append('/usr/lib/python3/dist-packages')
    try:
        import matplotlib
    except ImportError as error:
        print(f'no plots: {error}')
        return
    matplotlib.use('svg')
    from matplotlib import pyplot
    colours = {'Weft': '#2a6fbb', 'direct': '#7fb0e0', 'OpenBLAS': '#8a8f98', 'oneDNN': '#c9ccd1'}
    gemms, peaks = results['gemm'], results['peak']

    figure, axes = pyplot.subplots(figsize=(8, 4))
    for i, types in enumerate(gemms):
        for j, (who, rate) in enumerate(gemms[types][SIZES[-1]].items()):
            axes.bar(i + 0.2 * j, rate / 1e9, 0.18, color=colours[who],
                     label=who if i == 0 else None)
        axes.hlines(peak_of(types, peaks) / 1e9, i - 0.1, i + 0.7, colors='#c0392b',
                    label='peak of the instructions' if i == 0 else None)
    axes.set_xticks([i + 0.3 for i in range(len(gemms))], gemms)
    axes.set(ylabel='GOP/s', title=f'A product of {SIZES[-1]}³')
    axes.legend(fontsize=8)
    figure.savefig(folder / 'gemm.svg', bbox_inches='tight')

    figure, axes = pyplot.subplots(figsize=(8, 5))
    bandwidth = 2 * max(rate for name, rate in results['cost'].items() if name.startswith('copy'))
    for name, peak in peaks.items():
        corners = [1, peak / bandwidth, 2048]
        axes.loglog(corners, [min(peak, bandwidth * x) / 1e9 for x in corners], '-',
                    color='#8a8f98', linewidth=0.8)
        axes.annotate(name, (corners[-1], peak / 1e9), fontsize=7, va='center')
    for types, sizes in gemms.items():
        # Each operand is read once, the result written once, in 32 bits.
        points = [(2 * size / (2 * OPERAND_BYTES[types] + 4), row['Weft'] / 1e9)
                  for size, row in sizes.items()]
        axes.loglog(*zip(*points), 'o-', markersize=4, linewidth=0.8, label=types)
    axes.set(xlabel='operations per byte', ylabel='GOP/s',
             title=f'Roofline: products of {SIZES[0]}³ to {SIZES[-1]}³')
    axes.legend()
    figure.savefig(folder / 'roofline.svg', bbox_inches='tight')

    figure, axes = pyplot.subplots(figsize=(8, 1.8))
    start = 0
    for phase, ms in results['compile_ms'].items():
        axes.barh(0, ms, left=start, label=f'{phase} {ms:.1f}')
        start += ms
    axes.set(yticks=[], xlabel='ms', title='Compiling the f16 product')
    axes.legend(fontsize=7, ncols=3, loc='upper center', bbox_to_anchor=(0.5, -0.4))
    figure.savefig(folder / 'compile.svg', bbox_inches='tight')
    print('plots: ' + ', '.join(str(folder / f'{name}.svg')
                                for name in ('gemm', 'roofline', 'compile')))


def bench_driver(repetitions, folder):
    """Runs all benchmarks. Returns the results, in operations, bytes and seconds."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as shaders:
        # The cache exists, and is empty.
        variables = {'VK_DRIVER_FILES': str(DRIVER_MANIFEST), 'VK_ICD_FILENAMES':
                     str(DRIVER_MANIFEST), 'WEFT_SHADER_CACHE_DISABLE': 'false',
                'WEFT_SHADER_CACHE_DIR': cache}
        peaks = measure_peaks(repetitions)
        results = {'peak': peaks, 'gemm': measure_gemms(variables, peaks, repetitions),
              'cost': measure_costs(variables, repetitions),
              'threads': measure_scaling(variables, repetitions),
              'compile_ms': measure_phases(variables, shaders)}
    folder.mkdir(parents=True, exist_ok=True)
    plot(results, folder)
    return results
