// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Disassembles and validates this back end's modules by SPIRV-Tools, for developers and tests.

#pragma once

#include "nir_passes/result.h"

#include <cstdint>
#include <span>
#include <string>

namespace weft::spirv {

std::string disassemble(std::span<const uint32_t> words);

/// Validates with the rules of the oldest Vulkan version that accepts the module's version, and
/// only with memory layouts that every device allows.
Result<bool> validate(std::span<const uint32_t> words);

} // namespace weft::spirv
