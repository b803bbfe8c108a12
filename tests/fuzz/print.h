// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A program as GLSL, and as a module, with what the GLSL in reach cannot say.
///
/// Bindings 0, 1, … of set 0 are the memories that are storage buffers, in order; the push constants
/// are `push_words` words, then the addresses of the memories that are buffer references, in order.

#pragma once

#include "tests/fuzz/program.h"

namespace weft::fuzz {

std::string to_glsl(const Program &);
/// Where the program has vector decode functions, turns, blocked layouts or `maintenance1`, functions
/// by certain names become instructions: those of tests/e2e/glsl.h.
std::vector<uint32_t> to_spirv(const Program &);

} // namespace weft::fuzz
