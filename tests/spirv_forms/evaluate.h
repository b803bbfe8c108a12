// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Evaluates the SPIR-V of a small shader of 32-bit integers, booleans and matrices, for one
/// invocation.  Tests of the rewriter use it, since it shares nothing with a compiler.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::forms {

/// Runs main().  Its one storage buffer is a struct of one runtime array of words, `buffer`.  A
/// cooperative matrix has matrix_components words, which lie side by side in the buffer; arithmetic
/// works on each word.  Throws std::runtime_error at an unknown instruction, and where the outcome
/// depends on an undefined value.
constexpr uint32_t matrix_components = 4;
std::vector<uint32_t> evaluate(std::span<const uint32_t> spirv, std::vector<uint32_t> buffer);

} // namespace weft::forms
