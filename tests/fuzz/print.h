// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A program as GLSL, and as a module with the parts that the supported GLSL cannot express.
///
/// Bindings 0, 1, … of set 0 are the memories that are storage buffers, in order. The push
/// constants are `push_words` words, then the addresses of the memories that are buffer references,
/// in order.

#pragma once

#include "tests/fuzz/program.h"

namespace weft::fuzz {

std::string to_glsl(const Program &);
/// If the program has vector decode functions, turns, blocked layouts or `maintenance1`, functions
/// by certain names become instructions: see tests/e2e/spirv_edits.h.
std::vector<uint32_t> to_spirv(const Program &);

} // namespace weft::fuzz
