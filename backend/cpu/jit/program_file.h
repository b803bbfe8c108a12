// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Programs, and shaders that are to become some, as caches keep them:
///
///     "WEFTPROG" or "WEFTSHDR" | cache_uuid() | ProgramInfo as 8 words | bytes of the payload (64 bits)
///     | XXH3 of everything else (64 bits) | payload: an object file, or what programs.cc writes
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

enum class FileKind { program, shader };

struct ProgramFile {
   FileKind kind;
   ProgramInfo info;
   std::vector<std::byte> payload;
};

std::vector<std::byte> write_program_file(FileKind, const ProgramInfo &,
                                          std::span<const std::byte> payload);

Result<ProgramFile> read_program_file(std::span<const std::byte>);

} // namespace weft::cpu
