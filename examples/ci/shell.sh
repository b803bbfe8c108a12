#!/bin/sh
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
#
# For a CI that runs commands: WEFT_ARCHIVE and WEFT_SHA256 are set there, and the folder that
# WEFT_SHADER_CACHE_DIR names is kept between runs.

set -eu
here=$(dirname "$0")
"$here/action/weft.sh" "$WEFT_ARCHIVE" "$WEFT_SHA256" "$PWD/weft"
PATH=$PWD/weft/bin:$PATH

glslangValidator -V --target-env vulkan1.3 -o product.spv "$here/../product/product.comp"
g++ -std=c++20 -O2 -o product "$here/../product/product.cc" -lvulkan
weft-run ./product product.spv
weft-run python3 "$here/../product/product.py" product.spv
