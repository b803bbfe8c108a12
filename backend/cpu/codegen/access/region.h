// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The memory of an access in generated code: base, bounds, pointers.

#pragma once

#include "backend/cpu/codegen/plans/memory_access.h"
#include "backend/cpu/codegen/translator.h"

namespace weft::cpu {

/// A range of memory with a uniform base.
struct Region {
   llvm::Value *base; ///< ptr; null: offsets are addresses
   llvm::Value *size; ///< i64: accessible bytes from base on; null: nothing checks a bound
};

/// The buffer of a uniform index (slot, offset of the descriptor).
Region buffer_region(Translator &, llvm::Value *slot, llvm::Value *descriptor);
/// The memory of a space other than buffers, or of a buffer with a uniform index.
Region region_of(Translator &, const Access &);

/// The offset plus constant_offset: i32 (i64 in global memory), a scalar if uniform.
llvm::Value *offset_value(Translator &, const Access &);

/// i1: whether `bytes` bytes from `offset` (i32 or i64) on are in bounds; null if there is no
/// bound.
llvm::Value *in_bounds(Translator &, const Region &, llvm::Value *offset, uint64_t bytes);

/// The code for conditions that one branch checks together.
class BranchCondition {
public:
   explicit BranchCondition(Translator &t) : t(t) {}

   void require(llvm::Value *condition); ///< i1; null: no condition
   /// Requires that the number's (i32 or i64) masked bits are at most `most`.
   void require_at_most(llvm::Value *number, uint64_t mask, uint64_t most);
   /// Equivalent to require(in_bounds()).
   void require_in_bounds(const Region &, llvm::Value *offset, uint64_t bytes);
   llvm::Value *all() const; ///< i1; null if nothing is required

private:
   void require_not_negative(llvm::Value *left); ///< i64

   Translator &t;
   llvm::Value *hold = nullptr;       ///< i1
   llvm::Value *excess = nullptr;     ///< i64: negative if a number is above its limit
   llvm::Value *wrong_bits = nullptr; ///< i64
};

/// The offsets from which a number of bytes is accessible, in 32 bits, which needs half the
/// vectors.
struct OffsetLimit {
   llvm::Value *any_fits; ///< i1: whether any offset fits
   llvm::Value *last;     ///< i32: the largest offset that fits, if any does
};
OffsetLimit offset_limit(Translator &, const Region &, uint64_t bytes);

/// in_bounds() for a vector of offsets: <W x i1>.
llvm::Value *lanes_in_bounds(Translator &, const Region &, llvm::Value *offsets, uint64_t bytes);

/// ptr: `offset` (i32 or i64, unsigned) bytes after the base; a vector for a vector of offsets.
/// Checks no bound.
llvm::Value *pointer_to(Translator &, const Region &, llvm::Value *offset);

/// Points to the object that begins `offset` (i32, the same for all lanes) plus `beyond` bytes into
/// each invocation's private memory and has `bytes` bytes there. A shader may not use an offset
/// that is out of bounds; such an offset is clamped to the same memory.
llvm::Value *scratch_pointer(Translator &, const nir_src &offset, int64_t beyond, uint32_t bytes);

/// Loads a number of `bytes` bytes from a place (i32) in the subgroup's private memory. The result
/// is a scalar. For a vector of places it is one number per lane; the LaneOffsets say how far the
/// places are apart.
llvm::Value *load_from_scratch(Translator &, llvm::Value *place, const LaneOffsets &,
                               uint32_t bytes);

/// Stores each lane's elements one after the other, from the lane's offset (<W x i32>) in private
/// memory on. The offsets have this pattern.
void store_elements(Translator &, llvm::Value *memory, llvm::Value *offsets, const LanePattern &,
                    llvm::ArrayRef<llvm::Value *> elements);

/// 128 bytes, zeros for loads and scratch for stores, for accesses that must not reach memory.
llvm::Value *harmless_memory(Translator &, bool store);

} // namespace weft::cpu
