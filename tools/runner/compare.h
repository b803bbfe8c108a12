// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares contents of buffers, by the types that a shader declares for them.

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
   size_t buffer; ///< the buffer's number
   Scalar scalar; ///< its location; a byte if the shader declares no type there
   std::string expected, found;
   uint64_t count; ///< number of differing scalars in all buffers
};

/// Numbers are equal if their bits are. Floats are also equal if both are NaN, both zero, or no
/// farther apart than `tolerance` times the greater one.
std::optional<Difference> compare(std::span<const Buffer> expected, std::span<const Buffer> found,
                                  const ShaderInterface &, double tolerance = 0);

/// The layout that the shader declares for a buffer; null for an undeclared one.
const MemoryType *type_of(const ShaderInterface &, const BufferPlace &);

/// The value in decimal notation.
std::string value_text(const Scalar &, const std::byte *);

} // namespace weft::runner
