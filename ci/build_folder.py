#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Builds targets in a build folder, with a line of progress now and then.

usage: build_folder.py FOLDER [-DOPTION=VALUE…] [--native-file=FILE] [TARGET…]

With options, a folder that has other values is configured again, and one with another compiler from
scratch. The script prints the change, so that an old build is not mistaken for the requested one.
Third parties' warnings stay in FOLDER/ninja.log; if a target fails, the compiler's output about it
is printed.
"""

import ast
import configparser
import json
import os
import pathlib
import re
import subprocess
import sys
import time

INTERVAL = 15  # seconds between two lines of progress
NATIVE_FILE = "--native-file="
STATUS = re.compile(r"\[(\d+)/(\d+)\] ")


def say(message):
    print(f"setup: {message}", file=sys.stderr, flush=True)


def spelled(value):
    """The value as text for -D."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def different_options(folder, wanted):
    """(name, is, should be) for each option that the configured folder has otherwise."""
    text = subprocess.run(["meson", "introspect", "--buildoptions", folder], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    actual = {option["name"]: spelled(option["value"]) for option in json.loads(text)}
    return [(name, actual.get(name), value) for name, value in wanted.items()
            if actual.get(name) != value]


def native_files(folder):
    """The machine files that the folder was configured with. Meson keeps them in the folder."""
    command_line = configparser.ConfigParser(interpolation=None, delimiters=["="])
    command_line.read(pathlib.Path(folder, "meson-private", "cmd_line.txt"), encoding="utf-8")
    return ast.literal_eval(command_line.get("properties", "native_file", fallback="[]"))


def check_options(folder, options):
    wanted = dict(option[2:].split("=", 1) for option in options if option.startswith("-D"))
    different = different_options(folder, wanted)
    files = [option.split("=", 1)[1] for option in options if option.startswith(NATIVE_FILE)]
    names = [os.path.basename(file) for file in files]
    configured = [os.path.basename(file) for file in native_files(folder)]
    if configured != names:
        different.append(("--native-file", configured, names))
    if not different:
        return
    for name, is_value, value in different:
        say(f"{folder} has {name}={is_value}, {name}={value} is needed: it is configured anew")
    how = "--reconfigure" if configured == names else "--wipe"
    subprocess.run(["meson", "setup", how, folder, *options], check=True, stdout=sys.stderr)


def ninja(folder, targets):
    """ninja's exit status."""
    start = shown = time.monotonic()
    last, failures, failing = None, [], False
    # stdbuf: ninja prints each line at once, instead of blocks of a pipe's size.
    command = ["stdbuf", "-oL", "ninja", "-C", folder, *targets]
    with open(pathlib.Path(folder, "ninja.log"), "w", encoding="utf-8") as log, subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env=dict(os.environ, NINJA_STATUS="[%f/%t] ")) as process:
        for line in process.stdout:
            log.write(line)
            if status := STATUS.match(line):
                last, failing = status, False
            elif line.startswith("FAILED: "):
                failing = True
            elif line.startswith("ninja: ") and "Entering directory" not in line and \
                    "no work to do" not in line:
                failing = True
            if failing:
                failures.append(line)
            now = time.monotonic()
            if last and now - shown >= INTERVAL:
                shown = now
                say(f"{folder}: {last[1]} of {last[2]} steps, {now - start:.0f} s")
    if process.returncode:
        sys.stderr.write("".join(failures))
    elif last:
        say(f"{folder}: built, {last[2]} steps, {time.monotonic() - start:.0f} s")
    return process.returncode


def main(folder, *arguments):
    options = [argument for argument in arguments if argument.startswith(("-D", NATIVE_FILE))]
    if options:
        check_options(folder, options)
    return ninja(folder, [argument for argument in arguments if argument not in options])


if __name__ == "__main__":
    if sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(print(__doc__))
    sys.exit(main(*sys.argv[1:]))
