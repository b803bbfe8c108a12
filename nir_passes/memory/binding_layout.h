// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>

namespace weft {

/// The location of a binding's descriptors: element i is in memory block `slot`, `offset + i *
/// stride` bytes from its beginning.
struct BindingLayout {
   uint32_t set, binding;
   uint32_t slot;
   uint32_t offset; ///< bytes
   uint32_t stride; ///< bytes between array elements, 0 for a single one
   uint32_t count;  ///< array elements; bytes of an inline uniform block
   /// The slot holds the binding's data itself (inline uniform block), not a descriptor.
   bool inline_data;
   bool variable_count = false; ///< a set may hold fewer elements than `count`
   /// An element holds a descriptor of any kind that fits: a sampler at its end, another kind at
   /// its beginning.
   bool is_mutable = false;
};

} // namespace weft
