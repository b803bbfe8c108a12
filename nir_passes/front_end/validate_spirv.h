// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include <cstdint>
#include <span>

namespace weft {

/// Runs SPIRV-Tools' validator, with the rules of Vulkan 1.3 and the layouts that Weft's devices
/// allow. vtn relies on these rules. If a module breaks one, the Error has the validator's message.
Result<bool> validate_spirv(std::span<const uint32_t> words);

} // namespace weft
