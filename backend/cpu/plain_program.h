// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Programs whose guards leave (guard_plan.h), and the plain programs that run the left subgroups.
///
/// A program whose guards leave keeps its shader as bytes (kept_shader.h). When a guard first
/// fails, the plain program is compiled from them. Its guards have two copies of their blocks, so
/// it is as fast as the other program where they hold.

#pragma once

#include "backend/cpu/compiler.h"
#include "backend/cpu/specialize/kept_shader.h"

#include <memory>
#include <span>

namespace weft::cpu {

/// The place of a program in the cache. The cache may be null.
struct CachePlace {
   DiskCache *cache = nullptr;
   CacheKey key = {};
};

/// Adds the plain program to a program whose guards leave. The shader has passed
/// find_uniform_values(). The place is that of the result.
ProgramResult with_plain_program(std::shared_ptr<const Program>, std::shared_ptr<const KeptShader>,
                                 const CachePlace &);

/// Links the program of a file that has a place.
struct ProgramFile;
ProgramResult link_file(ProgramFile, const CpuFeatures &, const CachePlace &);
/// deserialize() of a program that has a place.
ProgramResult read_program(std::span<const std::byte>, const CpuFeatures &, const CachePlace &);

} // namespace weft::cpu
