// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A program as GLSL for e2e::compile_glsl().
///
/// Bindings 0, 1, … of set 0 are the memories that are storage buffers, in order; the push constants
/// are `push_words` words, then the addresses of the memories that are buffer references, in order.

#pragma once

#include "tests/fuzz/program.h"

namespace weft::fuzz {

std::string to_glsl(const Program &);

} // namespace weft::fuzz
