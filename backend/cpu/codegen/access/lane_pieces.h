// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Accesses whose addresses differ from lane to lane.
///
/// If lane analysis knows the addresses' pattern, an access becomes one piece per group of lanes. A
/// piece is a vector if the lanes' elements touch, a scalar if they are the same element, else
/// elements at constant distances. Pieces may read memory of inactive lanes, so one guard checks
/// that the whole extent is in bounds.
///
/// If even the distances from lane 0's address are constants (lane_offsets.h), all pieces share one
/// scalar address. Elements that lie close together are then loaded as whole vectors, and shuffles
/// extract them.
///
/// If the guard fails, the access goes lane by lane, by a call of lane_memory.h. Accesses without a
/// pattern always go lane by lane: a function of the module handles each form of access, and
/// lane_memory.h takes over where an active lane is out of bounds and checks each component.

#pragma once

#include "backend/cpu/codegen/access/memory_access.h"

#include "nir_passes/compile_limits.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace weft::cpu {

using Values = llvm::SmallVector<llvm::Value *, 16>;

/// How the addresses of an access change from lane to lane.
struct Reach {
   LanePattern pattern;
   const LaneOffsets *fixed = nullptr; ///< every lane's distance from lane 0; null: distances are
                                       ///< no constants
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
   llvm::Value *ahead = nullptr; ///< i64: distance in bytes to the prefetched memory; null: no
                                 ///< prefetch
   bool is_soon = false;         ///< `ahead` is at most a few thousand bytes
   bool packed = false;          ///< the components are also needed as a packed vector

   llvm::IRBuilder<> &b = t.b;
   const LanePattern &pattern() const { return reach.pattern; }
   unsigned element() const { return components * bytes; }
   unsigned groups() const { return t.W / pattern().group; }
   /// Bytes from a group's first address to its end; with fixed distances, those of all groups.
   uint64_t extent() const
   {
      if (reach.fixed)
         return uint64_t(std::ranges::max(reach.fixed->from_first)) + element();
      return uint64_t(pattern().group - 1) * uint64_t(pattern().step) + element();
   }
   /// The number of load instructions, unless the load uses chunks.
   size_t pieces() const
   {
      return pattern().step == element() || pattern().step == 0 ? groups() : t.W;
   }
   /// Components that one load reads for each group. Where all lanes of a group share an element,
   /// this is a power of two, so that elements are whole parts of vectors; the guard covers the
   /// bytes behind.
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
   /// A store of many elements writes them one by one in any case. A function of the module is
   /// slightly slower than inline instructions for that, and far less code.
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
   // The next functions load and store packed vectors (packed_values.h).
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

   /// Arguments of the functions for lanewise accesses.
   struct LanewiseAccess {
      Region region;
      llvm::Value *active;         ///< i64 with a bit for each lane
      llvm::Value *offsets, *data; ///< pointers to the lanes' offsets and to their elements
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

/// Adds to `used` the chunks of memory (64 bytes) that contain elements at these distances.
void add_chunks(std::vector<bool> &used, llvm::ArrayRef<int64_t> from_first, uint64_t shift,
                unsigned element);

/// Returns one vector of all lanes per component.
Values load_pieces(Pieces, Way = Way::ask);
void store_pieces(Pieces, const Values &data);

} // namespace weft::cpu
