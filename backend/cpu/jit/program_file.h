// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The cache format of programs, of programs whose guards leave (plain_program.h), and of shaders
/// that are specialized per dispatch:
///
///    "WEFTPROG", "WEFTLEAV" or "WEFTSHDR" | cache_uuid() | ProgramInfo as 10 words
///    | bytes of the payload (64 bits) | XXH3 of everything else (64 bits)
///    | payload: the objects of jit/shared_function.h, or the lists of specialize/kept_shader.h
///
/// Numbers are little-endian. Files come from disk caches and from applications (VkPipelineCache),
/// so a reader trusts no field before the checksum matches.

#pragma once

#include "backend/cpu/compiler.h"
#include "nir_passes/result.h"

#include <cstddef>
#include <span>
#include <vector>

namespace weft::cpu {

enum class FileKind { program, leaving, shader };

struct ProgramFile {
   FileKind kind;
   ProgramInfo info;
   std::vector<std::byte> payload;
};

std::vector<std::byte> write_program_file(FileKind, const ProgramInfo &,
                                          std::span<const std::byte> payload);

/// An Error if the bytes are truncated or damaged, or come from another version of Weft or for
/// another CPU.
Result<ProgramFile> read_program_file(std::span<const std::byte>);

} // namespace weft::cpu
