// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What a module says about the memory it wants: its buffers and push constants with their layout.
/// Reads the declarations only, of any bytes whatever; what it does not understand it leaves out.

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
   uint64_t offset; ///< where in the buffer it begins

   std::string name() const; ///< "f16", "u32", "s8"
};

/// A type with an explicit layout, as a tree of arrays and structs.
struct MemoryType {
   struct Member {
      uint64_t offset;
      std::vector<MemoryType> type; ///< one
   };

   std::optional<Scalar> scalar;    ///< nothing but this, at offset 0
   std::vector<Member> members;     ///< of a struct
   std::vector<MemoryType> element; ///< of an array: one
   uint64_t stride = 0;
   uint64_t length = 0; ///< 0: of any length (runtime array)

   /// Bytes, of a runtime array those before it.
   uint64_t size() const;
   /// Bytes of an element of the runtime array at its end, 0 if there is none.
   uint64_t runtime_stride() const;
   /// The scalar that a byte belongs to; nothing for padding.
   std::optional<Scalar> scalar_at(uint64_t byte) const;
};

struct DeclaredBuffer {
   uint32_t set, binding;
   uint32_t count; ///< of descriptors: 1, or an array's length
   bool uniform;   ///< a uniform buffer
   std::string name;
   MemoryType type;
};

struct ShaderInterface {
   std::vector<DeclaredBuffer> buffers; ///< by set and binding, each once
   std::optional<MemoryType> push_constants;
   std::vector<std::string> entry_points; ///< of compute shaders
};

/// With the source's specialization constants for lengths of arrays.
ShaderInterface read_interface(const ShaderSource &);

} // namespace weft::runner
