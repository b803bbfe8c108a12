// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A shader's programs as bytes that applications keep: the binaries of VK_EXT_shader_object and
/// VK_KHR_pipeline_binary.

#pragma once

#include "backend/cpu/compiler.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft {

/// The version of the layout of binaries (shaderBinaryVersion).
constexpr uint32_t shader_binary_version = 1;

struct KeyedPrograms {
   CacheKey key; ///< cpu::cache_key() of their shader
   std::shared_ptr<cpu::Programs> programs;
};

/// Empty if the programs could not be compiled.
std::vector<std::byte> write_binary(const KeyedPrograms &);
/// An Error for any bytes that this version of Weft did not write on this kind of CPU.
Result<KeyedPrograms> read_binary(std::span<const std::byte>, DiskCache *);

} // namespace weft
