// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include <cstdint>
#include <span>

namespace weft {

/// SPIRV-Tools' validator, with the rules of Vulkan 1.3 and the layouts that our devices allow. The
/// gate before the front end, which trusts much of what it reads: an Error with the validator's
/// message for whatever breaks a rule.
Result<bool> validate_spirv(std::span<const uint32_t> words);

} // namespace weft
