// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Buffers' contents against each other, by the types that a shader declares for them.

#pragma once

#include "tools/runner/runner.h"
#include "tools/runner/shader_interface.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::runner {

/// The first scalar that differs.
struct Difference {
   size_t buffer; ///< its number
   Scalar scalar; ///< where it lies; a byte where the shader does not say
   std::string expected, found;
   uint64_t count; ///< scalars that differ, in all buffers
};

/// Numbers are the same if their bits are, floats if both are NaN, both zero, or no farther apart
/// than `tolerance` times the greater of them.
std::optional<Difference> compare(std::span<const Buffer> expected, std::span<const Buffer> found,
                                  const ShaderInterface &, double tolerance = 0);

/// The layout that the shader declares for a buffer; null for one that it does not know.
const MemoryType *type_of(const ShaderInterface &, const BufferPlace &);

/// As a person would write it.
std::string value_text(const Scalar &, const std::byte *);

} // namespace weft::runner
