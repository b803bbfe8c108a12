// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Finds the matrix element that was stored to a byte of a buffer.

#pragma once

#include "tools/runner/runner.h"

#include <array>
#include <optional>
#include <string>

namespace weft::runner {

struct ElementOwner {
   uint32_t store;                    ///< number of the module's matrix store that wrote it, from 1
   std::string matrix;                ///< "16x16 f32 (accumulator)"
   uint32_t row, col;                 ///< of the element in the matrix
   uint32_t subgroup;                 ///< in its workgroup
   std::array<uint32_t, 3> workgroup; ///< modulo 128
   struct Place {
      uint32_t invocation, component;
   };
   Place in_tiles, in_registers; ///< by the element map and by the register map
};

/// Runs the shader a few more times with numbers of rows, columns and so on in place of the stored
/// elements. It uses `path`, but skips SPIR-V if `path` goes through it. Nothing if the byte's last
/// writer was no matrix store, or if the numbers change the shader's behaviour.
std::optional<ElementOwner> find_owner(const Dispatch &, const Path &, size_t buffer,
                                       uint64_t offset);

} // namespace weft::runner
