// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Whose matrix element a byte of a buffer is.

#pragma once

#include "tools/runner/runner.h"

#include <array>
#include <optional>
#include <string>

namespace weft::runner {

struct ElementOwner {
   uint32_t store;     ///< which of the module's matrix stores wrote it: 1 for the first
   std::string matrix; ///< "16x16 f32 (accumulator)"
   uint32_t row, col;  ///< of the element in the matrix
   uint32_t subgroup;  ///< in its workgroup
   std::array<uint32_t, 3> workgroup; ///< modulo 128
   struct Place {
      uint32_t invocation, component;
   };
   Place in_tiles, in_registers; ///< by the element map and by the register map
};

/// Runs the shader some more times, with the numbers of rows, columns and so on in place of the
/// elements that it stores; by `path`, or without the way through SPIR-V if it has that.  Nothing
/// if no matrix store wrote there last, or if the numbers change what the shader does.
std::optional<ElementOwner> find_owner(const Dispatch &, const Path &, size_t buffer,
                                       uint64_t offset);

} // namespace weft::runner
