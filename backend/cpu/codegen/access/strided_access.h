// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The code of accesses whose addresses differ from lane to lane, by their plans (access_plan.h).
///
/// Vector code reads or writes whole groups of lanes. With fixed distances from lane 0's address,
/// all its instructions share one scalar address. One branch checks the conditions of the plan,
/// unless a guard of the block has checked them.
///
/// If a condition fails, the access goes lane by lane, by a call of lane_memory.h. Words without a
/// pattern may lie in windows (window_access.cc), which a branch checks. Other accesses without a
/// pattern go lane by lane, by a function of the module for each form of access. If an
/// active lane is out of bounds, lane_memory.h takes over and checks each component.

#pragma once

#include "backend/cpu/codegen/access/region.h"
#include "backend/cpu/codegen/plans/access_plan.h"

#include <llvm/IR/MDBuilder.h>

#include <vector>

namespace weft::cpu {

/// Loads and stores of one access.
struct StridedAccess {
   Translator &t;
   const AccessPlan &plan;
   Region region;
   llvm::Value *offsets;                     ///< <W x i32 or i64>
   llvm::Value *prefetch_distance = nullptr; ///< i64, bytes; null: no prefetch

   llvm::IRBuilder<> &b = t.b;
   const LanePattern &pattern() const { return plan.pattern(); }
   const LaneOffsets *fixed() const { return plan.lanes.fixed; }
   unsigned components() const { return plan.access.components; }
   unsigned bytes() const { return plan.access.bytes; }
   unsigned element() const { return plan.access.element(); }
   llvm::Type *component_type() const { return t.int_type(bytes() * 8); }
   llvm::Type *vector_type(unsigned n) const
   {
      return n == 1 ? component_type() : llvm::FixedVectorType::get(component_type(), n);
   }
   llvm::Type *packed_type() const { return vector_type(t.W * components()); }

   /// Whether a guard of the block has checked the conditions. Addresses are emitted before the
   /// guard, so a load that computes an address checks its own conditions.
   bool is_guarded() const { return plan.is_guarded && t.emission; }
   bool is_lanewise() const
   {
      return plan.form == AccessForm::lanewise || (is_guarded() && !t.emission->guard_holds);
   }
   void count();
   void require(BranchCondition &);

   llvm::Value *load(llvm::Type *, llvm::Value *pointer);
   void prefetch(llvm::Type *, llvm::Value *pointer);
   llvm::Value *load_beginning(llvm::FixedVectorType *, llvm::Value *pointer, uint64_t count);
   void store(llvm::Value *, llvm::Value *pointer);
   llvm::Value *group_pointer(unsigned group);
   llvm::Value *first_offset();
   Values load_same();
   llvm::Value *load_chunk(llvm::Value *base, size_t chunk, uint64_t extent);
   Values take_components(llvm::ArrayRef<llvm::Value *> chunks, unsigned components,
                          unsigned bytes);
   Values load_chunks();
   bool are_halves() const { return bytes() == 2 && components() % 2 == 0; }
   void remember_words(llvm::ArrayRef<llvm::Value *> halves, llvm::ArrayRef<llvm::Value *> words);
   Values components_of(llvm::Value *all);
   llvm::Value *load_registers(llvm::Value *base);
   // The next functions load and store packed vectors (packed_values.h).
   llvm::Value *load_groups();
   llvm::Value *masked_group_pointer(unsigned group);
   template <typename Use>
   void for_each_masked_group(llvm::Value *mask, Use use);
   llvm::Value *accessed_lanes();
   llvm::Value *load_masked(llvm::Value *mask);
   void store_masked(llvm::Value *all, llvm::Value *mask);
   void store_groups(llvm::Value *all);
   llvm::Value *window_index();
   void require_windows(BranchCondition &, llvm::Value *index);
   llvm::Value *load_windows(llvm::Value *index);

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
   void for_each_group(unsigned at_once, Use use);
   void access_rows(bool stores, const LanewiseAccess &, llvm::Value *active,
                    llvm::Value *all_offsets);
   llvm::Value *offsets_of_rows(const LanewiseAccess &, const AccessPlan &rows);
   void gather(const LanewiseAccess &, llvm::Value *safe_offsets);
   void scatter(const LanewiseAccess &);
   llvm::Value *offsets_of_branch();
   void access_lanewise(bool stores, llvm::Value *data, bool is_rare);
   bool may_access_at_once() const;
   llvm::Type *element_vector();
   llvm::Value *element_pointers(llvm::Value *all_offsets);
   llvm::Value *gather_at_once(llvm::Value *active, llvm::Value *all_offsets);
   void scatter_at_once(llvm::Value *all, llvm::Value *active, llvm::Value *all_offsets);
   llvm::Value *active_in_bounds(llvm::Value *active, llvm::Value *all_offsets);
   llvm::Value *load_lanewise();
   void store_lanewise(llvm::Value *all);
};

/// Returns the values of `fast`. Unless `condition` is null, a branch selects `fast` or `slow`.
template <typename Fast, typename Slow>
Values choose(Translator &t, llvm::Value *condition, Fast fast, Slow slow)
{
   if (!condition)
      return fast();
   llvm::IRBuilder<> &b = t.b;
   llvm::BasicBlock *fast_block = t.block("pieces"), *slow_block = t.block("lanewise"),
                    *join = t.block("joined");
   b.CreateCondBr(condition, fast_block, slow_block,
                  llvm::MDBuilder(t.context).createBranchWeights(1000, 1));
   b.SetInsertPoint(slow_block);
   const Values slow_values = slow();
   slow_block = b.GetInsertBlock();
   b.CreateBr(join);
   b.SetInsertPoint(fast_block);
   const Values fast_values = fast();
   fast_block = b.GetInsertBlock();
   b.CreateBr(join);
   b.SetInsertPoint(join);
   Values values;
   for (unsigned i = 0; i < fast_values.size(); i++) {
      llvm::PHINode *phi = b.CreatePHI(fast_values[i]->getType(), 2);
      phi->addIncoming(fast_values[i], fast_block);
      phi->addIncoming(slow_values[i], slow_block);
      values.push_back(phi);
   }
   return values;
}

/// i1: whether every lane's bool is true.
llvm::Value *are_all(Translator &, llvm::Value *lane_bools);

/// A scalar or a vector, at any address.
llvm::Value *load_from(Translator &, const Access &, llvm::Type *, llvm::Value *pointer);
void store_to(Translator &, const Access &, llvm::Value *, llvm::Value *pointer);

/// The context of plans that no NIR access has (AccessPlans has the others).
PlanContext plan_context(const Translator &);

/// Returns one vector of all lanes per component.
Values load_strided(StridedAccess);
void store_strided(StridedAccess, const Values &data);

} // namespace weft::cpu
