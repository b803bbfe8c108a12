// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The paths of a shader through Weft's compilers to this machine's CPU.

#pragma once

#include "backend/cpu/cpu_features.h"
#include "nir_passes/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runner {

enum class Matrices : uint8_t { tiles, registers };

struct Path {
   /// The form of matrices on the CPU: tiles of the back end, or registers. Through SPIR-V: whether
   /// the described driver has the CPU's matrices, or none.
   Matrices matrices = Matrices::tiles;
   /// Compiles by spirv::compile() first, as the layer does; the CPU back end, with tiles, is then
   /// the driver below.
   bool through_spirv = false;
   /// The highest instruction set to use; unset: the machine's, limited by WEFT_ISA.
   std::optional<cpu::InstructionSet> instruction_set = {};
   uint32_t subgroup_size = 0; ///< 8, 16, 32 or 64; 0: the CPU back end's default
   /// Accesses out of a buffer's bounds read zeros and write nothing.
   bool robust_access = true;
   /// Compiled for one dispatch, without the sides of branches that the dispatch does not take.
   bool specialized = false;

   bool operator==(const Path &) const = default;
};

/// "tiles", "registers/avx2", "spirv-tiles", "spirv-registers/avx512/w16",
/// "tiles/unchecked/specialized".
std::string name(const Path &);

/// The inverse of name(); an Error that lists the valid words.
Result<Path> parse_path(std::string_view);

/// Both forms of matrices, directly and through SPIR-V, for each instruction set of this machine.
/// The first is the driver's path.
std::vector<Path> all_paths(uint32_t subgroup_size = 0, bool robust_access = true);

} // namespace weft::runner
