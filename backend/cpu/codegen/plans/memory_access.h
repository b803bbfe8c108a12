// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A memory access of NIR, decoded.

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>
#include <optional>

namespace weft::cpu {

enum class Space { buffer, shared, global, scratch, push_constant, constant };

struct Access {
   Space space = Space::buffer;
   bool store = false;
   const nir_src *index = nullptr;     ///< buffers: (slot, offset of the descriptor)
   const nir_src *offset = nullptr;    ///< bytes; global: the address
   uint32_t constant_offset = 0;       ///< to be added to `offset`
   unsigned components = 0, bytes = 0; ///< bytes of one component
   bool is_volatile = false;
   bool invariant = false; ///< nothing writes the memory while the kernel runs

   unsigned element() const { return components * bytes; } ///< bytes per lane
   /// Whether the lanes' buffers may differ.
   bool has_own_buffers() const { return index && index->ssa->divergent; }
};

/// Decodes an intrinsic; nothing if it is not a memory access.
std::optional<Access> decode_access(nir_intrinsic_instr *);

/// Whether the size of the access's memory is known to generated code. Nothing checks the bounds of
/// push constants and global memory.
bool has_bound(const Access &);

/// Whether that size is a constant of the program.
bool has_constant_bound(const Access &);

/// Whether an access can read its descriptor even if no lane executes it: a variable pointer may be
/// null.
bool has_descriptor(const Access &);

/// Whether an active lane may be out of bounds and then reads zeros or writes nothing. In other
/// spaces that is undefined behaviour.
bool needs_check(const Access &, bool robust_buffer_access);

} // namespace weft::cpu
