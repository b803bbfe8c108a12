// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The bytes of a compiled program as caches keep them:
///
///     "WEFTPROG" | cache_uuid() | ProgramInfo as 8 words | bytes of the object (64 bits)
///     | XXH3 of everything else (64 bits) | object file
///
/// The numbers are little-endian.  Files come from disk caches and from applications (VkPipelineCache), so nothing in
/// them is believed before the checksum fits.

#pragma once

#include "backend/cpu/compiler.h"
#include "nir_passes/result.h"

#include <cstddef>
#include <span>
#include <vector>

namespace weft::cpu {

struct ProgramFile {
   ProgramInfo info;
   std::vector<std::byte> object;
};

std::vector<std::byte> write_program_file(const ProgramInfo &, std::span<const std::byte> object);

Result<ProgramFile> read_program_file(std::span<const std::byte>);

} // namespace weft::cpu
