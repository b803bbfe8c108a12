// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// Whether the module's ids are so sparse that vtn's table of all numbers below the bound would be
/// much larger than the module. SPIR-V allows ids up to 4,194,303 in modules of any length
/// (Universal Limits).
bool has_sparse_ids(std::span<const uint32_t> words);

/// The same module, its ids numbered from 1 in the order in which they occur.
Result<std::vector<uint32_t>> compact_ids(std::span<const uint32_t> words);

} // namespace weft
