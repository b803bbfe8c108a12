// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// SPIRV-Tools' assembler.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::test {

/// Numeric ids of a text are kept, or replaced: SPIR-V has no id 0, so a text with %0 needs others.
enum class NumericIds { assigned, kept };

/// The words of a module in SPIR-V assembly. An error in the text is a std::runtime_error with its
/// line. The version is 1.3, 1.5 or 1.6.
std::vector<uint32_t> assemble(const std::string &text, uint32_t version = 0x00010600,
                               NumericIds ids = NumericIds::assigned);

} // namespace weft::test
