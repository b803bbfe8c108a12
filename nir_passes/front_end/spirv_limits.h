// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/compile_limits.h"
#include "nir_passes/result.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

/// Refuses modules whose functions are beyond compile_limits.h. Reads only the words, which may be
/// invalid, and runs before code whose time or stack grows faster than the module. The validator
/// refuses recursion.
Result<bool> check_spirv_limits(std::span<const uint32_t> words, std::string_view entry_point);

} // namespace weft
