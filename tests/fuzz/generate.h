// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Random programs. A program is generated with some care for validity, and then interpreted. If
/// the interpreter finds an undefined or inexact operation, repair() simplifies its place, until
/// the whole program is valid.

#pragma once

#include "tests/fuzz/interpret.h"

namespace weft::fuzz {

struct GeneratedProgram {
   Program program;
   Expected expected;
};

/// The same program for the same arguments. With texels, a third of the programs have images or
/// texel buffers.
GeneratedProgram generate(uint64_t seed, const std::vector<MatrixOperation> &operations,
                          bool with_texels);

} // namespace weft::fuzz
