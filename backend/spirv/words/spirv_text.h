// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// SPIRV-Tools on modules that this back end wrote, for people and tests.

#pragma once

#include "nir_passes/result.h"

#include <cstdint>
#include <span>
#include <string>

namespace weft::spirv {

std::string disassemble(std::span<const uint32_t> words);

/// The validator, with the rules of the oldest Vulkan that takes the module's version, and no
/// layout but what every device allows.
Result<bool> validate(std::span<const uint32_t> words);

} // namespace weft::spirv
