// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::weftc {

/// Reads the words of a file, or of the standard input for "-". The file is a module or its text in
/// SPIRV-Tools' assembly.
Result<std::vector<uint32_t>> read_spirv(const std::string &path);

} // namespace weft::weftc
