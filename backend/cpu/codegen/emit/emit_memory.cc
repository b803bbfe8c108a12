// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads and stores, by their plans (access_plan.h).
///
/// An address that all lanes share makes a scalar access; strided_access.h has the code for
/// addresses that differ. This file handles the kinds of memory: buffers, which may differ from
/// lane to lane, and scratch. There, a component of private memory is next to the same component of
/// the other lanes.

#include "backend/cpu/codegen/access/guarded_block.h"
#include "backend/cpu/codegen/access/rematerializer.h"
#include "backend/cpu/codegen/access/strided_access.h"
#include "backend/cpu/codegen/vectors/lane_array.h"

#include <algorithm>

namespace weft::cpu {

using llvm::Value;

namespace {

/// The address of one component of a scalar access; harmless memory if it is out of bounds.
Value *component_pointer(Translator &t, const Access &access, const Region &region, Value *offset,
                         unsigned component)
{
   llvm::IRBuilder<> &b = t.b;
   const bool checks =
      region.size && (access.space == Space::buffer ? t.options.robust_buffer_access
                                                    : access.space == Space::constant);
   if (checks) // modulo 2^32: offsets of accesses that passes joined may wrap
      offset = b.CreateAdd(offset, b.getInt32(component * access.bytes));
   Value *pointer = pointer_to(t, region, offset);
   if (!checks)
      return b.CreateConstGEP1_64(b.getInt8Ty(), pointer, uint64_t(component) * access.bytes);
   Value *ok = in_bounds(t, region, offset, access.bytes);
   return b.CreateSelect(ok, pointer, harmless_memory(t, access.store));
}

Values load_uniform(Translator &t, const Access &access, const Region &region, Value *offset)
{
   t.accesses.uniform++;
   Values result;
   for (unsigned c = 0; c < access.components; c++)
      result.push_back(load_from(t, access, t.int_type(access.bytes * 8),
                                 component_pointer(t, access, region, offset, c)));
   return result;
}

void store_uniform(Translator &t, const Access &access, const Region &region, Value *offset,
                   llvm::ArrayRef<Value *> data)
{
   t.accesses.uniform++;
   for (unsigned c = 0; c < data.size(); c++)
      store_to(t, access, data[c], component_pointer(t, access, region, offset, c));
}

/// Private memory keeps a component of all lanes together: component c of lane l is at (o + c*s) *
/// W + l*s. Returns the byte offsets of a component in the subgroup's scratch memory.
Value *scratch_offsets(Translator &t, const Access &access, unsigned component)
{
   llvm::IRBuilder<> &b = t.b;
   const uint32_t beyond = access.constant_offset + component * access.bytes;
   Value *offsets = t.value(*access.offset);
   const auto constant = [&](uint64_t v) { return llvm::ConstantInt::get(offsets->getType(), v); };
   offsets = b.CreateMul(b.CreateAdd(offsets, constant(beyond)), constant(t.W));
   return b.CreateAdd(offsets, b.CreateMul(t.lane_numbers(32), constant(access.bytes)));
}

/// A component's vector of all lanes, if they share one offset.
Value *scratch_row(Translator &t, const Access &access, unsigned component)
{
   return scratch_pointer(t, *access.offset, access.constant_offset + component * access.bytes,
                          access.bytes);
}

Region scratch_region(Translator &t)
{
   return {t.scratch, t.b.getInt64(t.info.private_bytes)};
}

void load_scratch(Translator &t, nir_intrinsic_instr *intr, const AccessPlan &plan)
{
   const Access &access = plan.access;
   llvm::Type *vector = t.vector_of(t.int_type(access.bytes * 8));
   for (unsigned c = 0; c < intr->def.num_components; c++) {
      Value *v =
         plan.form == AccessForm::private_row
            ? t.b.CreateAlignedLoad(vector, scratch_row(t, access, c), llvm::Align(access.bytes))
            : load_strided({t, plan, scratch_region(t), scratch_offsets(t, access, c)})[0];
      // Memory that was never written is undef for LLVM, on which code must not branch.
      t.define(intr->def, c, t.b.CreateFreeze(v));
   }
}

void store_scratch(Translator &t, nir_intrinsic_instr *intr, const AccessPlan &plan)
{
   const Access &access = plan.access;
   llvm::Type *vector = t.vector_of(t.int_type(access.bytes * 8));
   const llvm::Align align(access.bytes);
   u_foreach_bit(c, nir_intrinsic_write_mask(intr))
   {
      if (plan.form != AccessForm::private_row) {
         Value *offsets = scratch_offsets(t, access, c);
         store_strided({t, plan, scratch_region(t), offsets}, {t.varying(intr->src[0], c)});
         continue;
      }
      Value *row = scratch_row(t, access, c), *v = t.varying(intr->src[0], c);
      if (t.mask)
         v = t.b.CreateSelect(t.mask, v, t.b.CreateAlignedLoad(vector, row, align));
      t.b.CreateAlignedStore(v, row, align);
   }
}

/// Each lane may have another buffer: one lane goes after the other.
Values load_from_own_buffers(Translator &t, const Access &access)
{
   llvm::Type *vector = t.vector_of(t.int_type(access.bytes * 8));
   std::vector<LaneArray> results;
   for (unsigned c = 0; c < access.components; c++)
      results.emplace_back(t, llvm::Constant::getNullValue(vector));
   const LaneArray slots(t, t.varying(*access.index, 0)),
      descriptors(t, t.varying(*access.index, 1)), offsets(t, offset_value(t, access));
   t.for_each_lane(t.mask, [&](Value *lane) {
      const Region region = buffer_region(t, slots.lane(lane), descriptors.lane(lane));
      const Values loaded = load_uniform(t, access, region, offsets.lane(lane));
      for (unsigned c = 0; c < access.components; c++)
         results[c].set_lane(lane, loaded[c]);
   });
   Values vectors;
   for (const LaneArray &result : results)
      vectors.push_back(result.vector());
   return vectors;
}

/// The distance (i64, bytes) from a load's memory to the memory that it prefetches; null if the
/// address for the next workgroup cannot be rematerialized, or is the same.
Value *prefetch_distance(Translator &t, const Prefetch &prefetch, Value *offsets)
{
   llvm::IRBuilder<> &b = t.b;
   switch (prefetch.purpose) {
   case Prefetch::For::nothing:
      break;
   case Prefetch::For::later_iteration:
      return b.getInt64(uint64_t(prefetch.distance));
   case Prefetch::For::next_workgroup: {
      if (!t.workgroup_x)
         break;
      Value *first = t.first_lane(offsets),
            *next = Rematerializer(b, t.workgroup_x, t.next_workgroup_x)(first);
      return next == first ? nullptr : b.CreateSExt(b.CreateSub(next, first), b.getInt64Ty());
   }
   }
   return nullptr;
}

/// One address for all lanes. Vectors of offsets are dynamically uniform.
Value *uniform_offset(Translator &t, const Access &access)
{
   Value *offset = offset_value(t, access);
   return offset->getType()->isVectorTy() ? t.b.CreateExtractElement(offset, t.first_active_lane())
                                          : offset;
}

Values load_by_plan(Translator &t, const AccessPlan &plan)
{
   const Access &access = plan.access;
   if (plan.form == AccessForm::own_buffers)
      return load_from_own_buffers(t, access);
   const Region region = region_of(t, access);
   if (plan.form == AccessForm::uniform)
      return load_uniform(t, access, region, uniform_offset(t, access));
   StridedAccess strided = {t, plan, region, offset_value(t, access)};
   if (!strided.is_lanewise())
      strided.prefetch_distance = prefetch_distance(t, plan.prefetch, strided.offsets);
   return load_strided(strided);
}

void store_to_own_buffers(Translator &t, const nir_src &source, const AccessPlan &plan)
{
   const Access &access = plan.access;
   Value *offset = offset_value(t, access);
   const LaneArray slots(t, t.varying(*access.index, 0)),
      descriptors(t, t.varying(*access.index, 1)), offsets(t, offset);
   std::vector<LaneArray> data;
   for (unsigned c = 0; c < access.components; c++)
      data.emplace_back(t, t.varying(source, plan.first_component + c));
   t.for_each_lane(t.mask, [&](Value *lane) {
      const Region region = buffer_region(t, slots.lane(lane), descriptors.lane(lane));
      Values own;
      for (const LaneArray &component : data)
         own.push_back(component.lane(lane));
      store_uniform(t, access, region, offsets.lane(lane), own);
   });
}

/// Stores the components from the plan's first on.
void store_by_plan(Translator &t, const nir_src &source, const AccessPlan &plan)
{
   if (plan.form == AccessForm::own_buffers)
      return store_to_own_buffers(t, source, plan);
   const Access &access = plan.access;
   Value *offset = offset_value(t, access);
   const Region region = region_of(t, access);
   Values data;
   for (unsigned c = plan.first_component; c < plan.first_component + access.components; c++) {
      // If all active lanes write to one address, any of them may be the last.
      data.push_back(plan.form == AccessForm::uniform ? t.first_active(source, c)
                                                      : t.varying(source, c));
   }
   if (plan.form == AccessForm::uniform)
      store_uniform(t, access, region, offset, data);
   else
      store_strided({t, plan, region, offset}, data);
}

void emit_buffer_size(Translator &t, nir_intrinsic_instr *intr)
{
   llvm::IRBuilder<> &b = t.b;
   const nir_src &index = intr->src[0];
   if (t.is_uniform(intr->def)) {
      const Region region = buffer_region(t, t.first_active(index, 0), t.first_active(index, 1));
      t.define(intr->def, 0, b.CreateTrunc(region.size, b.getInt32Ty()));
      return;
   }
   llvm::Type *vector = t.vector_of(b.getInt32Ty());
   LaneArray sizes(t, llvm::Constant::getNullValue(vector));
   const LaneArray slots(t, t.varying(index, 0)), descriptors(t, t.varying(index, 1));
   t.for_each_lane(t.mask, [&](Value *lane) {
      const Region region = buffer_region(t, slots.lane(lane), descriptors.lane(lane));
      sizes.set_lane(lane, b.CreateTrunc(region.size, b.getInt32Ty()));
   });
   t.define(intr->def, 0, sizes.vector());
}

/// If the lanes' places lie close together, loads the run of memory around them and shuffles it;
/// else null.
Value *load_run_of_scratch(Translator &t, Value *place, const LaneOffsets &fixed, uint32_t bytes)
{
   llvm::IRBuilder<> &b = t.b;
   if (fixed.from_first.empty() || !fixed.assumptions.empty())
      return nullptr;
   const auto [least, most] = std::ranges::minmax(fixed.from_first);
   const int64_t extent = most - least + bytes;
   if (extent > std::min<int64_t>(2 * t.W * bytes, t.info.private_bytes))
      return nullptr;
   llvm::SmallVector<int, 64> order;
   for (const int64_t n : fixed.from_first) {
      if ((n - least) % bytes != 0)
         return nullptr;
      order.push_back(int((n - least) / bytes));
   }
   Value *begin = b.CreateAdd(t.first_lane(place), b.getInt32(uint32_t(least)));
   begin = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, begin,
                                   b.getInt32(t.info.private_bytes - uint32_t(extent)));
   auto *type = llvm::FixedVectorType::get(t.int_type(bytes * 8), unsigned(extent / bytes));
   Value *run = b.CreateAlignedLoad(type, pointer_to(t, scratch_region(t), begin), llvm::Align(1));
   return b.CreateShuffleVector(run, order);
}

/// A load of constants by an index of few values.
bool look_up(Translator &t, const nir_def &def)
{
   for (unsigned c = 0; c < def.num_components; c++) {
      Value *found = emit_table(t, def, c);
      if (!found)
         return false;
      t.define(def, c, found);
   }
   return true;
}

} // namespace

Value *load_from_scratch(Translator &t, Value *place, const LaneOffsets &fixed, uint32_t bytes)
{
   llvm::IRBuilder<> &b = t.b;
   Value *v;
   if (place->getType()->isVectorTy()) {
      v = load_run_of_scratch(t, place, fixed, bytes);
      if (!v) {
         const PlanContext context = plan_context(t);
         const Access number = {.space = Space::scratch, .components = 1, .bytes = bytes};
         const AccessPlan plan =
            plan_load(context, {.access = number,
                                .lanes = lane_addresses(context, {}, fixed, bytes),
                                .has_bound = true,
                                .has_constant_bound = true,
                                .is_checked = true,
                                .has_mask = t.mask != nullptr});
         v = load_strided({t, plan, scratch_region(t), place})[0];
      }
   } else {
      Value *last = b.getInt32(t.info.private_bytes - bytes);
      place = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, place, last);
      v = b.CreateAlignedLoad(t.int_type(bytes * 8), pointer_to(t, scratch_region(t), place),
                              llvm::Align(1));
   }
   // Undef, as in load_scratch().
   return b.CreateFreeze(v);
}

void store_elements(Translator &t, Value *memory, Value *offsets, const LanePattern &pattern,
                    llvm::ArrayRef<Value *> elements)
{
   const unsigned bytes = elements[0]->getType()->getScalarSizeInBits() / 8;
   const Access run = {.space = Space::scratch,
                       .store = true,
                       .components = unsigned(elements.size()),
                       .bytes = bytes};
   const AccessPlan plan = plan_store(plan_context(t), {.access = run,
                                                        .lanes = {pattern},
                                                        .has_bound = false,
                                                        .has_constant_bound = false,
                                                        .is_checked = false,
                                                        .has_mask = t.mask != nullptr});
   store_strided({t, plan, Region{memory, nullptr}, offsets},
                 Values(elements.begin(), elements.end()));
}

void require_conditions(Translator &t, nir_intrinsic_instr *intr, BranchCondition &condition)
{
   const AccessPlan &plan = t.plans->of(intr).front();
   const Region region = region_of(t, plan.access);
   StridedAccess{t, plan, region, offset_value(t, plan.access)}.require(condition);
}

bool emit_memory(Translator &t, nir_intrinsic_instr *intr)
{
   switch (intr->intrinsic) {
   case nir_intrinsic_get_ssbo_size:
      emit_buffer_size(t, intr);
      return true;
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
   case nir_intrinsic_shared_atomic:
   case nir_intrinsic_shared_atomic_swap:
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
      return false;
   default:
      break;
   }
   const std::optional<Access> access = decode_access(intr);
   if (!access)
      return false;
   if (access->bytes == 0) {
      t.fail("booleans in memory have 32 bits");
      return true;
   }
   const llvm::ArrayRef<AccessPlan> plans = t.plans->of(intr);
   if (access->space == Space::scratch) {
      access->store ? store_scratch(t, intr, plans.front()) : load_scratch(t, intr, plans.front());
   } else if (access->store) {
      for (const AccessPlan &run : plans)
         store_by_plan(t, intr->src[0], run);
   } else if (!look_up(t, intr->def)) {
      const Values result = load_by_plan(t, plans.front());
      for (unsigned c = 0; c < access->components; c++)
         t.define(intr->def, c, result[c]);
   }
   return true;
}

} // namespace weft::cpu
