// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrix_support.h"

#include <algorithm>

namespace weft {

bool is_nv_operation(const MatrixOperation &op)
{
   using enum ComponentType;
   const auto is_later = [](ComponentType type) {
      return type == bf16 || type == e4m3 || type == e5m2;
   };
   return op.scope == MatrixScope::subgroup && !op.saturating && !is_later(op.a) &&
          !is_later(op.b) && !is_later(op.c) && !is_later(op.result);
}

const std::vector<MatrixOperation> &widened_operations()
{
   using enum ComponentType;
   struct Types {
      ComponentType a, b, c;
   };
   static constexpr Types all_types[] = {
      {bf16, bf16, f32},  {bf16, bf16, bf16}, {e4m3, e4m3, f32}, {e4m3, e4m3, f16},
      {e4m3, e4m3, e4m3}, {e5m2, e5m2, f32},  {e5m2, e5m2, f16}, {e5m2, e5m2, e5m2},
      {e4m3, e5m2, f32},  {e4m3, e5m2, f16},  {e5m2, e4m3, f32}, {e5m2, e4m3, f16},
      {s8, s8, s8},       {u8, u8, u8},       {s16, s16, s16},   {u16, u16, u16},
      {s16, s16, s32},    {u16, u16, u32},    {s32, s32, s32},   {u32, u32, u32},
      {s64, s64, s64},    {u64, u64, u64},
   };
   static const std::vector<MatrixOperation> operations = [] {
      std::vector<MatrixOperation> list;
      for (const Types &types : all_types) {
         for (const uint32_t size : {16, 8})
            list.push_back({size, size, size, types.a, types.b, types.c, types.c, false});
      }
      return list;
   }();
   return operations;
}

std::vector<FlexibleOperation> flexible_operations(std::span<const MatrixOperation> operations,
                                                   uint32_t max_dimension)
{
   std::vector<FlexibleOperation> list;
   for (MatrixOperation op : operations) {
      op.m = op.n = op.k = 8;
      if (std::ranges::find(list, op, &FlexibleOperation::granularity) == list.end())
         list.push_back({op, max_dimension});
   }
   return list;
}

std::vector<FlexibleOperation> with_workgroup_scope(std::vector<FlexibleOperation> list,
                                                    std::span<const uint32_t> workgroups)
{
   const std::vector<FlexibleOperation> of_subgroups = list;
   for (const uint32_t invocations : workgroups) {
      for (FlexibleOperation operation : of_subgroups) {
         operation.granularity.scope = MatrixScope::workgroup;
         operation.workgroup_invocations = invocations;
         list.push_back(operation);
      }
   }
   return list;
}

bool FlexibleOperation::covers(const MatrixOperation &op) const
{
   MatrixOperation same_types = op;
   same_types.m = granularity.m;
   same_types.n = granularity.n;
   same_types.k = granularity.k;
   const auto fits = [&](uint32_t size, uint32_t unit) {
      return size > 0 && size % unit == 0 && size <= max_dimension;
   };
   return same_types == granularity && fits(op.m, granularity.m) && fits(op.n, granularity.n) &&
          fits(op.k, granularity.k);
}

bool MatrixSupport::covers(const MatrixOperation &op) const
{
   return std::ranges::find(operations, op) != operations.end() ||
          std::ranges::any_of(flexible, [&](const FlexibleOperation &f) { return f.covers(op); });
}

MatrixSupport MatrixSupport::in_workgroup(uint32_t invocations) const
{
   MatrixSupport support = *this;
   std::erase_if(support.flexible, [&](const FlexibleOperation &f) {
      return f.granularity.scope == MatrixScope::workgroup &&
             f.workgroup_invocations != invocations;
   });
   return support;
}

} // namespace weft
