// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What weftc reads from a module besides compiling it.

#pragma once

#include "nir_passes/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft::weftc {

/// The words of a file, or of the standard input for "-".
Result<std::vector<uint32_t>> read_spirv(const std::string &path);

/// The names of a module's compute entry points.
std::vector<std::string> entry_points(std::span<const uint32_t> words);

/// The (set, binding) pairs that a module's variables have.
std::vector<std::pair<uint32_t, uint32_t>> bindings(std::span<const uint32_t> words);

} // namespace weft::weftc
