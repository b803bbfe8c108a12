// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The memory that a module declares: its buffers and push constants with their layout. Reads only
/// declarations, from arbitrary bytes, and ignores everything that it does not understand.

#pragma once

#include "nir_passes/shader_source.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::runner {

enum class ScalarKind : uint8_t { integer, signed_integer, floating };

struct Scalar {
   ScalarKind kind;
   uint32_t bytes;  ///< 1, 2, 4 or 8
   uint64_t offset; ///< its first byte in the buffer

   std::string name() const; ///< "f16", "u32", "s8"
};

/// A type with an explicit layout, as a tree of arrays and structs.
struct MemoryType {
   struct Member {
      uint64_t offset;
      std::vector<MemoryType> type; ///< exactly one
   };

   std::optional<Scalar> scalar;    ///< set for a scalar, at offset 0
   std::vector<Member> members;     ///< of a struct
   std::vector<MemoryType> element; ///< of an array: exactly one
   uint64_t stride = 0;
   uint64_t length = 0; ///< 0: runtime array

   /// The size in bytes; without the elements of a runtime array.
   uint64_t size() const;
   /// Bytes per element of the runtime array at the type's end; 0 if there is none.
   uint64_t runtime_stride() const;
   /// The scalar that contains a byte; nothing for padding.
   std::optional<Scalar> scalar_at(uint64_t byte) const;
};

struct DeclaredBuffer {
   uint32_t set, binding;
   uint32_t count; ///< descriptors: 1, or an array's length
   bool uniform;   ///< false: a storage buffer
   std::string name;
   MemoryType type;
};

struct ShaderInterface {
   std::vector<DeclaredBuffer> buffers; ///< sorted by set and binding, without duplicates
   std::optional<MemoryType> push_constants;
   std::vector<std::string> entry_points; ///< of compute shaders
};

/// Array lengths use the source's specialization constants.
ShaderInterface read_interface(const ShaderSource &);

} // namespace weft::runner
