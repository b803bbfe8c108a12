// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"
#include "tools/weftc/arguments.h"

#include <cstdint>
#include <span>
#include <string>

namespace weft::weftc {

/// --stats: the costs and results of a compilation, as JSON.
Result<std::string> compile_statistics(const Arguments &, std::span<const uint32_t> words);

} // namespace weft::weftc
