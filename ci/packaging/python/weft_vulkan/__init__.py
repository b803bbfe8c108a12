# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Weft: a Vulkan driver for the CPU and a Vulkan layer, with cooperative matrices.

    import weft_vulkan
    weft_vulkan.activate()    # before the process makes its first Vulkan instance

`python -m weft_vulkan run PROGRAM` starts another program on the CPU device, `python -m weft_vulkan
info` reports the devices that have matrices.
"""

import os
import pathlib
import subprocess

__all__ = ["activate", "folder", "weft_run"]

#: The unpacked archive: bin, lib, share, licenses.
folder = pathlib.Path(__file__).resolve().parent / "weft"
#: The program that knows the variables of Vulkan loaders of any age.
weft_run = folder / "bin/weft-run"


def activate(*, layer=False, add=False, gpu=False, profile=None):
    """Lets Vulkan instances that this process makes from now on find Weft's CPU device, and no
    other.

    layer:    the machine's own devices instead, with Weft's layer above them
    add:      the CPU device beside the machine's own
    gpu:      the CPU device presents itself as an integrated GPU
    profile:  the matrices of a vendor's device, such as "nvidia"

    Returns the variables of the environment that it set. They are the variables of `weft-run`, and
    processes that this one starts inherit them.
    """
    options = [option for option, wanted in
               (("--layer", layer), ("--add", add), ("--gpu", gpu)) if wanted]
    if profile is not None:
        options += ["--profile", profile]
    ran = subprocess.run([weft_run, *options, "env", "-0"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if ran.returncode:
        raise RuntimeError(ran.stderr.decode(errors="replace").strip())
    wanted = dict(line.split(b"=", 1) for line in ran.stdout.split(b"\0") if b"=" in line)
    changed = {name: value for name, value in wanted.items() if os.environb.get(name) != value}
    for name in set(os.environb) - set(wanted):
        del os.environb[name]
    os.environb.update(changed)
    return {os.fsdecode(name): os.fsdecode(value) for name, value in changed.items()}
