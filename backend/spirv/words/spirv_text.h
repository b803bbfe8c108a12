// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Assembles, disassembles and validates modules by SPIRV-Tools, for developers and tests.

#pragma once

#include "nir_passes/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::spirv {

/// The module in SPIRV-Tools' assembly, with friendly names. Empty if it cannot be parsed.
std::string disassemble(std::span<const uint32_t> words);

/// The words of a module in SPIRV-Tools' assembly. A comment `; Version: 1.3` above the first
/// instruction, as spirv-dis writes it, sets the version; without such a comment it is 1.6. An
/// Error names line and column.
Result<std::vector<uint32_t>> assemble(const std::string &text);

/// Validates with the rules of the oldest Vulkan version that accepts the module's version, and
/// only with memory layouts that every device allows.
Result<bool> validate(std::span<const uint32_t> words);

} // namespace weft::spirv
