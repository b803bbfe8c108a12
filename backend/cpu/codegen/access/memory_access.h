// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A NIR memory access taken apart: where it goes, within which bounds, and how its lanes lie to
/// each other.

#pragma once

#include "backend/cpu/codegen/translator.h"

namespace weft::cpu {

/// A piece of memory with a uniform beginning.
struct Region {
   llvm::Value *base; ///< ptr; null: offsets are addresses
   llvm::Value
      *size; ///< i64 bytes from base that may be accessed; null: there is no bound to check
};

enum class Space { buffer, shared, global, scratch, push_constant, constant };

struct Access {
   Space space;
   bool store;
   const nir_src *index = nullptr; ///< buffers: (slot, offset of the descriptor)
   const nir_src *offset;          ///< bytes; global: the address
   uint32_t constant_offset = 0;   ///< to be added to it
   unsigned components, bytes;     ///< bytes of one component
   bool is_volatile = false;
   bool invariant = false; ///< the memory does not change while the kernel runs

   unsigned element() const { return components * bytes; } ///< bytes per lane
};

/// How to take the intrinsic apart; nothing if it is not a memory access.
std::optional<Access> decode_access(nir_intrinsic_instr *);

/// The buffer that a uniform (slot, offset of the descriptor) names.
Region buffer_region(Translator &, llvm::Value *slot, llvm::Value *descriptor);
/// The memory of a space other than buffers, or of a buffer with uniform index.
Region region_of(Translator &, const Access &);

/// The offset's value with constant_offset added: i32 (i64 in global memory), a scalar if uniform.
llvm::Value *offset_value(Translator &, const Access &);

/// i1: may `bytes` bytes from `offset` (i32 or i64) on be accessed?  Null when there is no bound.
llvm::Value *in_bounds(Translator &, const Region &, llvm::Value *offset, uint64_t bytes);

/// Conditions that are looked at together, with a branch for all of them.
class Conditions {
public:
   explicit Conditions(Translator &t) : t(t) {}

   void require(llvm::Value *condition); ///< i1; null: nothing to look at
   /// Of a number (i32 or i64) that none of the mask's bits is set.
   void require_zeros(llvm::Value *number, uint64_t mask);
   /// The same as require(in_bounds()).
   void require_in_bounds(const Region &, llvm::Value *offset, uint64_t bytes);
   llvm::Value *all() const; ///< i1; null when there is nothing to look at

private:
   Translator &t;
   llvm::Value *hold = nullptr;       ///< i1
   llvm::Value *excess = nullptr;     ///< i64: negative if something is out of bounds
   llvm::Value *wrong_bits = nullptr; ///< i64
};

/// The offsets from which on some bytes may be accessed, in 32 bits: half the vectors.
struct Bound {
   llvm::Value *any_fits; ///< i1: there is such an offset
   llvm::Value *last;     ///< i32: the largest, if there is
};
Bound bound_of(Translator &, const Region &, uint64_t bytes);

/// The same as in_bounds() for a vector of offsets: <W x i1>.
llvm::Value *lanes_in_bounds(Translator &, const Region &, llvm::Value *offsets, uint64_t bytes);

/// base + offset.
llvm::Value *pointer_to(Translator &, const Region &, llvm::Value *offset);

/// What begins `offset` bytes (i32, the same for all lanes) and `beyond` into each invocation's private memory and takes
/// `bytes` of it there.  An offset that is out of bounds, which no shader may have, gives another place of the same
/// memory.
llvm::Value *scratch_pointer(Translator &, const nir_src &offset, int64_t beyond, uint32_t bytes);

/// The numbers of `bytes` bytes that begin at a place (i32) in the subgroup's private memory: a
/// scalar, or of a vector of places each lane's own, with what is known of their distances.
llvm::Value *load_from_scratch(Translator &, llvm::Value *place, const LaneOffsets &,
                               uint32_t bytes);

/// Stores each lane's elements one after the other, from its offset (<W x i32>) in private memory on,
/// which runs from lane to lane in that pattern.
void store_elements(Translator &, llvm::Value *memory, llvm::Value *offsets, const LanePattern &,
                    llvm::ArrayRef<llvm::Value *> elements);

/// 128 bytes of zeros for loads, or to be overwritten by stores, that must not reach memory.
llvm::Value *harmless_memory(Translator &, bool store);

} // namespace weft::cpu
