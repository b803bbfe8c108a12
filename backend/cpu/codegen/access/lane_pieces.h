// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Accesses whose addresses differ from lane to lane.
///
/// Where lane analysis knows how addresses run from lane to lane, the access is made of one piece per
/// group of lanes: a vector when the lanes' elements touch, a scalar when they are the same, else
/// elements at constant distances.  Those pieces may read what belongs to inactive lanes, so they stand
/// behind one check that all of it is in bounds.  Where even the distances from lane 0's address are
/// constants (lane_offsets.h), all pieces have one scalar address, and what lies closely together is
/// loaded as whole vectors, of which shuffles take the elements.  What does not pass the check goes lane by
/// lane, by a call of lane_memory.h.  Everything else always does: in functions that a module has for each
/// form of access, and where an active lane is out of bounds in lane_memory.h, which looks at each
/// component.

#pragma once

#include "backend/cpu/codegen/access/memory_access.h"

#include "nir_passes/compile_limits.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace weft::cpu {

using Values = llvm::SmallVector<llvm::Value *, 16>;

/// How the addresses of an access run from lane to lane.
struct Reach {
   LanePattern pattern;
   const LaneOffsets *fixed = nullptr; ///< all from lane 0's; null: they are no constants
};

/// An access whose addresses differ from lane to lane.
struct Pieces {
   Translator &t;
   Region region;
   llvm::Value *offsets; ///< <W x i32 or i64>
   Reach reach;
   unsigned components, bytes;
   bool check; ///< active lanes may be out of bounds
   bool is_volatile, invariant;
   GuardedLoad decided = {};
   llvm::Value *ahead = nullptr; ///< i64: bytes to what is prefetched; null: nothing is
   bool is_soon = false;         ///< that is no more than a few thousand bytes later
   bool packed = false;          ///< the components are wanted as a packed vector too

   llvm::IRBuilder<> &b = t.b;
   const LanePattern &pattern() const { return reach.pattern; }
   unsigned element() const { return components * bytes; }
   unsigned groups() const { return t.W / pattern().group; }
   /// Bytes from a group's first address to its end; of all groups if they are fixed.
   uint64_t extent() const
   {
      if (reach.fixed)
         return uint64_t(std::ranges::max(reach.fixed->from_first)) + element();
      return uint64_t(pattern().group - 1) * uint64_t(pattern().step) + element();
   }
   /// Loads, if not of chunks.
   size_t pieces() const
   {
      return pattern().step == element() || pattern().step == 0 ? groups() : t.W;
   }
   /// Components that are loaded for each group: where it is one element for all its lanes, a power
   /// of two, so that the elements are whole parts of vectors; what lies behind is in bounds then.
   unsigned loaded() const
   {
      return pattern().step == 0 && region.size ? std::bit_ceil(components) : components;
   }
   void count() const
   {
      AccessCounts &counts = t.accesses;
      (!regular()                    ? counts.gathered
       : pattern().step == element() ? counts.contiguous
                                     : counts.strided)++;
   }
   bool regular() const
   {
      constexpr int64_t max_step = 65535;
      static_assert(max_step * 64 < limits::lane_reach);
      return reach.fixed ||
             (pattern().group > 1 && pattern().step >= 0 && pattern().step <= max_step);
   }
   /// Many elements go one by one anyway: in a function of the module that takes a little longer than
   /// instructions on the spot, and far less code.
   bool is_stored_in_pieces() const
   {
      constexpr size_t many = 8;
      return regular() && pattern().step != 0 && pieces() <= many;
   }
   llvm::Type *component_type() const { return t.int_type(bytes * 8); }
   llvm::Type *vector_type(unsigned n) const
   {
      return n == 1 ? component_type() : llvm::FixedVectorType::get(component_type(), n);
   }

   llvm::Value *load(llvm::Type *, llvm::Value *pointer);
   void prefetch(llvm::Type *, llvm::Value *pointer);
   llvm::Value *load_beginning(llvm::FixedVectorType *, llvm::Value *pointer, uint64_t count);
   void store(llvm::Value *, llvm::Value *pointer);
   llvm::Value *group_pointer(unsigned group);
   void require_assumed(const LaneAssumption &, Conditions &);
   void require_regular(Conditions &);
   void require_load(Conditions &);
   llvm::Value *cluster_offset();
   bool may_load_chunks() const;
   llvm::Value *load_chunk(llvm::Value *base, size_t chunk, uint64_t extent);
   llvm::Type *packed_type() const { return vector_type(t.W * components); }
   llvm::Value *slice(llvm::Value *all, unsigned first, unsigned count);
   Values load_same();
   std::vector<bool> chunks() const;
   Values take_components(llvm::ArrayRef<llvm::Value *> chunks);
   Values load_chunks(const std::vector<bool> &chunks);
   bool are_halves() const { return bytes == 2 && components % 2 == 0; }
   void remember_words(llvm::ArrayRef<llvm::Value *> halves, llvm::ArrayRef<llvm::Value *> words);
   Values components_of(llvm::Value *all);
   llvm::Value *load_registers(llvm::Value *base);
   // These load and store packed vectors (packed_values.h).
   llvm::Value *load_regular();
   bool has_masked_runs() const;
   bool has_masked_instructions() const;
   bool may_be_masked() const;
   llvm::Value *masked_group_pointer(unsigned group);
   template <typename Use>
   void for_each_masked_group(llvm::Value *mask, Use use);
   llvm::Value *active_in_bounds();
   llvm::Value *load_masked(llvm::Value *mask);
   void store_masked(llvm::Value *all, llvm::Value *mask);
   void store_regular(llvm::Value *all);

   /// What functions for accesses lane by lane take.
   struct LanewiseAccess {
      Region region;
      llvm::Value *active;         ///< i64 with a bit for each lane
      llvm::Value *offsets, *data; ///< pointers to the lanes' offsets and elements
   };
   bool is_address() const { return offsets->getType()->getScalarSizeInBits() == 64; }
   void call_lanewise(llvm::FunctionCallee, const LanewiseAccess &,
                      llvm::ArrayRef<llvm::Value *> more = {});
   void call_runtime(bool stores, const LanewiseAccess &);
   llvm::Function *lanewise_function(bool stores);
   llvm::Value *harmless_offsets();
   llvm::Value *lane_pointer(const LanewiseAccess &, llvm::Value *all_offsets, llvm::Value *lane);
   llvm::Value *lane_element(const LanewiseAccess &, llvm::Value *lane);
   template <typename Use>
   void for_each_lane(Use use);
   void access_row(bool stores, const LanewiseAccess &, llvm::Value *active,
                   llvm::Value *all_offsets);
   void gather(const LanewiseAccess &, llvm::Value *safe_offsets);
   void scatter(const LanewiseAccess &);
   bool is_exception(bool stores) const;
   void access_lanewise(bool stores, llvm::Value *data);
   llvm::Value *load_lanewise();
   void store_lanewise(llvm::Value *all);
};

Reach reach_of(Translator &, const LanePattern &, const LaneOffsets &, unsigned element);
Reach reach_of(Translator &, const nir_src &offset, unsigned element);

/// The chunks of memory (64 bytes) in which elements at these distances are, added to `used`.
void add_chunks(std::vector<bool> &used, llvm::ArrayRef<int64_t> from_first, uint64_t shift,
                unsigned element);

/// Each component's values of all lanes.
Values load_pieces(Pieces, Way = Way::ask);
void store_pieces(Pieces, const Values &data);

} // namespace weft::cpu
