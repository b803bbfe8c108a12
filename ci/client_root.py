# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""The Debian 13 root directory that ci/clients and ci/bench run their programs in.

It is made once by mmdebstrap (about 2 GB) and entered in a mount and process namespace of its
own, so nothing stays mounted or running however a run ends.
"""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
# ggml comes from the next Debian release: the shader compiler of Debian 13 knows no vector decode
# functions. No other package comes from that release unless it is named (PIN).
PACKAGES = ['ca-certificates', 'chromium', 'g++', 'glslang-dev', 'glslang-tools', 'libllvm19',
            'libvkfft-dev', 'libvulkan-dev', 'libvulkan1', 'nodejs', 'vulkan-tools',
            'vulkan-validationlayers', 'mesa-vulkan-drivers/trixie-backports'] + [
    name + '/forky' for name in
    ('libc6', 'libc6-dev', 'libc-bin', 'libc-dev-bin', 'libggml0', 'libggml-dev',
     'libggml0-backend-vulkan', 'libvkd3d-dev', 'libwhisper-dev')]
PIN = ('printf "Package: *\\nPin: release n=forky\\nPin-Priority: 100\\n" '
       '>"$1/etc/apt/preferences.d/forky"')
# Debian 13's own Mesa lies beside the one of backports, unpacked but not installed; so do the
# validation layers of the Debian that follows.
OTHER_MESA = 'opt/mesa-25.0'
NEW_VALIDATION = 'opt/new-validation'
UNPACKED = {OTHER_MESA: 'mesa-vulkan-drivers/trixie',
            NEW_VALIDATION: 'vulkan-validationlayers/forky'}


def unpack(folder, package):
    """A command for mmdebstrap that unpacks a package into a folder of the root."""
    return (f'mkdir "$1/{folder}" && cd "$1/{folder}" '
            '&& export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" '
            f'&& apt-get --quiet=2 --option APT::Sandbox::User=root download {package} '
            '&& dpkg-deb --extract *.deb . && rm *.deb')


# Names the packages of a finished root, so that a root of another list is made anew.
STAMP = 'opt/weft-packages'

INSTALLED_LAVAPIPE = '/usr/share/vulkan/icd.d/lvp_icd.json'
LAVAPIPES = ('lavapipe-25.0', 'lavapipe-26.1')

# Without this variable, ggml ignores CPU devices.
GGML = {'GGML_VK_VISIBLE_DEVICES': '0'}
NO_VECTORS = {'GGML_VK_DISABLE_COOPMAT2_DECODE_VECTOR': '1'}
KHR = {'GGML_VK_DISABLE_COOPMAT2': '1'}
SCALAR = KHR | {'GGML_VK_DISABLE_COOPMAT': '1'}
# lavapipe's own optimisations take minutes for some shaders.
QUICK_LAVAPIPE = {'GALLIVM_PERF': 'nopt'}


def fail(message):
    sys.exit(f'ci/{pathlib.Path(sys.argv[0]).name}: {message}')


def run(command, **options):
    return subprocess.run(command, check=True, **options)


def lowered():
    """Variables by which the layer lowers matrices that a driver has itself."""
    return {} if 'WEFT_LOWERING' in os.environ else {'WEFT_LOWERING': 'registers'}


def count_checks(root, command, variables):
    """Runs a program whose last line is `N passed, N failed`; the two numbers."""
    summary = None
    with subprocess.Popen(root.command(command, variables), stdout=subprocess.PIPE,
                          text=True) as process:
        for line in process.stdout:
            print(line, end='', flush=True)
            summary = re.fullmatch(r'(\d+) passed, (\d+) failed\n', line)
    if not summary:
        print(f'FAIL  the program ended with status {process.returncode} and no summary')
        return 0, 1
    passed, failed = int(summary[1]), int(summary[2])
    if process.returncode and not failed:
        print(f'FAIL  the program ended with status {process.returncode} after its summary')
        failed = 1
    return passed, failed


def check(root, arguments, command, variables):
    """Runs a program that takes a seed and ends with `N passed, N failed`; whether all passed."""
    seed = arguments.seed or random.randrange(1, 2**32)
    passed, failed = count_checks(root, command + [str(seed)], variables)
    return passed > 0 and failed == 0


def run_in_namespaces():
    """Runs the script again inside namespaces that end with it; its exit status."""
    if os.geteuid() != 0:
        fail('root rights are needed (chroot, mounts): run it with sudo')
    for tool, package in (('mmdebstrap', 'mmdebstrap'), ('unshare', 'util-linux')):
        if not shutil.which(tool):
            fail(f'{tool} is missing: apt-get install {package}')
    namespaces = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
    if subprocess.run(namespaces + ['true'], stderr=subprocess.DEVNULL).returncode != 0:
        fail('cannot make mount and process namespaces here (a container without CAP_SYS_ADMIN?)')
    # unshare itself ignores SIGTERM; when it is killed, everything in the namespaces is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    inside = subprocess.Popen(namespaces + [sys.executable] + sys.argv,
                              env=os.environ | {'WEFT_CLIENTS_INSIDE': '1'})
    try:
        return inside.wait()
    finally:
        inside.kill()


def mirror():
    """The Debian mirror that the host itself uses."""
    targets = subprocess.run(
        ['apt-get', 'indextargets', '--format', '$(RELEASE) $(COMPONENT) $(REPO_URI)',
         'Created-By: Packages'], capture_output=True, text=True).stdout
    for line in targets.splitlines():
        release, component, uri = line.split(maxsplit=2)
        if release in ('bookworm', 'trixie', 'stable') and component == 'main':
            return uri
    fail('apt knows no Debian mirror: its sources name neither bookworm, trixie nor stable')


def make_root(root):
    contents = '\n'.join(PACKAGES + list(UNPACKED.values())) + '\n'
    if (root / STAMP).exists():
        if (root / STAMP).read_text() == contents:
            return
        shutil.rmtree(root)
    elif root.exists():
        fail(f'{root} is not a root that this script has finished: remove it, or give --root')
    print(f'making a Debian 13 root in {root} (two minutes or so)', flush=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    unfinished = root.with_name(root.name + '.unfinished')
    shutil.rmtree(unfinished, ignore_errors=True)
    proxy = subprocess.run(['apt-config', 'shell', 'P', 'Acquire::http::Proxy'],
                           capture_output=True, text=True).stdout.strip()
    options = [f'--aptopt=Acquire::http::Proxy "{proxy[3:-1]}";'] if proxy else []
    uri = mirror()
    made = subprocess.run(
        ['mmdebstrap', '--quiet', '--variant=apt', '--include=' + ','.join(PACKAGES),
         '--setup-hook=' + PIN, *[f'--customize-hook={unpack(*what)}' for what in UNPACKED.items()],
         *options, 'trixie', unfinished] +
        [f'deb [signed-by={KEYRING} check-valid-until=no] {uri} {suite} main' for suite in
         ('trixie', 'trixie-backports', 'forky')])
    if made.returncode != 0:
        shutil.rmtree(unfinished, ignore_errors=True)
        fail('mmdebstrap failed; its messages are above')
    (unfinished / STAMP).write_text(contents)
    unfinished.rename(root)


class Root:
    """The root directory with its mounts; /weft in it is memory that only this run sees.

    A program runs with a dictionary of variables. driver() and layers() return the variables that
    choose the driver and the layers behind the Vulkan loader.
    """

    def __init__(self, path):
        self.path = path
        self.run_count = 0
        self.weft = path / 'weft'
        self.weft.mkdir(exist_ok=True)
        for kind, target in (('proc', 'proc'), ('tmpfs', 'weft'), ('tmpfs', 'tmp')):
            run(['mount', '-t', kind, kind, path / target])
        for tree in ('sys', 'dev'):
            run(['mount', '--rbind', '/' + tree, path / tree])
        for folder in ('lib', 'layers'):
            (self.weft / folder).mkdir()

    def command(self, command, variables={}):
        """The command line that runs `command` in the root; its caches start empty."""
        self.run_count += 1
        environment = {name: value for name, value in os.environ.items()
                       if name.startswith(('WEFT_', 'GGML_', 'LP_'))}
        environment |= {
            'PATH': '/usr/bin:/bin', 'LC_ALL': 'C.UTF-8', 'HOME': f'/weft/home{self.run_count}',
            'MESA_SHADER_CACHE_DISABLE': 'true'}
        environment |= variables
        return (['chroot', self.path, 'env', '-i'] +
                [f'{name}={value}' for name, value in environment.items()] + command)

    def run(self, command, variables={}, **options):
        return subprocess.run(self.command(command, variables), **options)

    def compile(self, source, *libraries, options=()):
        """Compiles a program of the source tree against the root's libraries. Returns its path in
        the root."""
        copy = self.weft / 'source'
        for folder in ('tests/clients', 'bench/compute', 'bench/ggml', 'bench/images'):
            shutil.copytree(SOURCE / folder, copy / folder, dirs_exist_ok=True)
        program = f'/weft/{pathlib.Path(source).stem}'
        compiled = self.run(['g++', '-std=c++20', '-O2', '-Wall', '-Wextra',
                             '-Wno-missing-field-initializers', '-I/weft/source', *options, '-o',
                             program, f'/weft/source/{source}'] +
                            [f'-l{library}' for library in libraries])
        if compiled.returncode != 0:
            fail(f'{source} does not compile in the Debian 13 root')
        return program

    def describe_device(self, variables):
        """Name and version of the driver's first device: a name in LAVAPIPES is the version at the
        time of writing."""
        shown = self.run(['vulkaninfo', '--summary'], variables, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True).stdout
        found = dict(re.findall(r'^\s*(deviceName|driverName|driverInfo)\s*= (.*)$', shown,
                                re.MULTILINE)[2::-1])
        return ', '.join(found.get(name, '?') for name in ('deviceName', 'driverName', 'driverInfo'))

    def hide(self, file):
        """Makes the file empty for this run."""
        run(['mount', '--bind', '/dev/null', self.path / file])

    def driver(self, name, folder='lib'):
        """One of LAVAPIPES or the path of a manifest. Two drivers of one file name need folders of
        their own in /weft."""
        if name == 'lavapipe-26.1':
            return {'VK_DRIVER_FILES': INSTALLED_LAVAPIPE}
        if name == 'lavapipe-25.0':
            mesa = self.path / OTHER_MESA
            described = json.loads((mesa / INSTALLED_LAVAPIPE[1:]).read_text())
            library, = mesa.glob('usr/lib/*/' + described['ICD']['library_path'])
            described['ICD']['library_path'] = f'/{library.relative_to(self.path)}'
            library_path = {}
        else:
            described = self.install(pathlib.Path(name), 'ICD', folder)
            library_path = {'LD_LIBRARY_PATH': f'/weft/{folder}'}
        (self.weft / f'driver-{folder}.json').write_text(json.dumps(described))
        return {'VK_DRIVER_FILES': f'/weft/driver-{folder}.json'} | library_path

    def layers(self, manifests):
        """Layers by their manifests, the first the nearest to the program."""
        names = []
        for manifest in manifests:
            described = self.install(manifest, 'layer')
            names.append(described['layer']['name'])
            (self.weft / 'layers' / f'{names[-1]}.json').write_text(json.dumps(described))
        return {'VK_INSTANCE_LAYERS': ':'.join(names), 'VK_ADD_LAYER_PATH': '/weft/layers',
                'LD_LIBRARY_PATH': '/weft/lib'} if names else {}

    def install(self, manifest, kind, folder='lib'):
        """Copies a library by its manifest; the manifest's contents with the new path."""
        try:
            described = json.loads(manifest.read_text())
        except OSError as error:
            fail(f'no manifest: {error} (build first, or name another)')
        library = pathlib.Path(described[kind]['library_path'])
        library = manifest.resolve().parent / library  # an absolute path stays as it is
        if not library.exists():
            fail(f'{manifest} names {library}, which does not exist')
        described[kind]['library_path'] = self.install_binary(library, folder)
        return described

    def install_binary(self, binary, folder='lib'):
        """Copies a library or a program, and its libraries that the root lacks, to a folder of
        /weft. Returns its path in the root."""
        lib = self.weft / folder
        lib.mkdir(exist_ok=True)
        shutil.copy(binary, lib)
        host = self.dependencies(subprocess.run(['ldd', binary], capture_output=True, text=True))
        copied = set()
        while True:
            linked = self.run(['ldd', f'/weft/{folder}/{binary.name}'], capture_output=True, text=True,
                              variables={'LD_LIBRARY_PATH': f'/weft/{folder}'})
            if linked.stderr:
                fail(f'{binary} does not load in the Debian 13 root:\n' + linked.stderr)
            missing = [name for name, path in self.dependencies(linked).items() if not path]
            if not missing:
                break
            for name in missing:
                if not host.get(name):
                    fail(f'{binary} needs {name}, which is not on this machine')
                if name in copied:
                    fail(f'{binary} needs {name}, and the loader does not take the copy of '
                         f'{host[name]}')
                copied.add(name)
                shutil.copy(host[name], lib / name)
        return f'/weft/{folder}/{binary.name}'

    @staticmethod
    def dependencies(ldd):
        """Library name → path, None where the loader finds none."""
        found = {}
        for line in ldd.stdout.splitlines():
            name, arrow, path = line.strip().partition(' => ')
            if arrow:
                found[name] = None if path == 'not found' else path.rsplit(' (', 1)[0]
        return found
