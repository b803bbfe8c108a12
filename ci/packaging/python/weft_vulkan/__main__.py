# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""usage: python -m weft_vulkan run [option...] PROGRAM [argument...]
       python -m weft_vulkan info [--json] [option...]

run    starts a Vulkan program on Weft's CPU device, with the options of weft-run
info   reports for each device its cooperative matrices, or the reason why it lacks them
"""

import os
import sys

from . import weft_run


def start(arguments):
    """Becomes weft-run."""
    os.execv(weft_run, ["weft-run", *arguments])


def run_program():
    """The command weft-run of an environment."""
    start(sys.argv[1:])


def main(arguments):
    command, *others = arguments or [""]
    if command == "run":
        start(others)
    if command == "info":
        start(["--info", *others])
    if command == "--version":
        start(["--version"])
    asked = command in ("-h", "--help")
    print(__doc__.strip(), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
