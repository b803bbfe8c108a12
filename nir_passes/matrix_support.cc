// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrix_support.h"

#include "threads/until_unload.h"

#include <algorithm>

namespace weft {

bool rounds_sums(const MatrixOperation &op)
{
   return component_type_info(op.result).kind == NumberKind::real && component_bits(op.result) < 32;
}

bool is_nv_operation(const MatrixOperation &op)
{
   using enum ComponentType;
   const auto is_later = [](ComponentType type) {
      return type == bf16 || type == e4m3 || type == e5m2;
   };
   return op.scope == MatrixScope::subgroup && !op.saturating && !is_later(op.a) &&
          !is_later(op.b) && !is_later(op.c) && !is_later(op.result);
}

namespace {

struct Shape {
   uint32_t m, n, k;
};

constexpr Shape shapes[] = {{16, 16, 16}, {8, 8, 8}, {16, 8, 16}, {16, 8, 8}, {8, 16, 16}};
constexpr Shape integer_shapes[] = {{16, 16, 32}, {16, 8, 32}, {8, 16, 32}};
/// Shapes of 64 bytes along k.
constexpr Shape deep_integer_shape = {16, 16, 64}, deep_bf16_shape = {16, 16, 32};
/// Shapes for types whose components are widened first.
constexpr Shape widened_shapes[] = {{16, 16, 16}, {8, 8, 8}};

struct Types {
   ComponentType a, b, c;
};

std::vector<MatrixOperation> list_operations(bool with_deep)
{
   using enum ComponentType;
   std::vector<MatrixOperation> list;
   const auto add = [&](const Shape &s, const Types &types, bool saturating = false) {
      list.push_back({s.m, s.n, s.k, types.a, types.b, types.c, types.c, saturating});
   };
   constexpr Types floats[] = {{f16, f16, f32}, {f16, f16, f16}, {f32, f32, f32}, {f64, f64, f64}};
   for (const Types &types : floats)
      for (const Shape &s : shapes)
         add(s, types);

   /* Sums modulo 2^32 have no signedness; u32 saturates for unsigned factors only. */
   constexpr Types bytes[] = {
      {s8, s8, s32}, {s8, u8, s32}, {u8, s8, s32}, {u8, u8, s32}, {u8, u8, u32}};
   constexpr Types modular[] = {{s8, s8, u32}, {s8, u8, u32}, {u8, s8, u32}};
   const auto add_bytes = [&](const Shape &s) {
      for (const bool saturating : {false, true})
         for (const Types &types : bytes)
            add(s, types, saturating);
      for (const Types &types : modular)
         add(s, types);
   };
   for (const Shape &s : shapes)
      add_bytes(s);
   for (const Shape &s : integer_shapes)
      add_bytes(s);

   /* Integer sums that wrap have no signedness. */
   constexpr Types widened[] = {
      {bf16, bf16, f32},  {bf16, bf16, bf16}, {e4m3, e4m3, f32}, {e4m3, e4m3, f16},
      {e4m3, e4m3, e4m3}, {e5m2, e5m2, f32},  {e5m2, e5m2, f16}, {e5m2, e5m2, e5m2},
      {e4m3, e5m2, f32},  {e4m3, e5m2, f16},  {e5m2, e4m3, f32}, {e5m2, e4m3, f16},
      {s8, s8, s8},       {s8, s8, u8},       {u8, u8, s8},      {u8, u8, u8},
      {s16, s16, s16},    {s16, s16, u16},    {u16, u16, s16},   {u16, u16, u16},
      {s16, s16, s32},    {s16, s16, u32},    {u16, u16, s32},   {u16, u16, u32},
      {s32, s32, s32},    {s32, s32, u32},    {u32, u32, s32},   {u32, u32, u32},
      {s64, s64, s64},    {s64, s64, u64},    {u64, u64, s64},   {u64, u64, u64},
   };
   for (const Types &types : widened) {
      for (const Shape &s : widened_shapes) {
         add(s, types);
         const NumberKind kind = component_type_info(types.c).kind;
         if (kind != NumberKind::real && kind == component_type_info(types.a).kind)
            add(s, types, true);
      }
   }
   if (with_deep) {
      add_bytes(deep_integer_shape);
      add(deep_bf16_shape, {bf16, bf16, f32});
      add(deep_bf16_shape, {bf16, bf16, bf16});
   }
   return list;
}

} // namespace

const std::vector<MatrixOperation> &matrix_operations()
{
   // Threads may still compile while the process exits.
   static const auto &operations =
      until_unload(new std::vector<MatrixOperation>(list_operations(false)));
   return operations;
}

const std::vector<MatrixOperation> &cpu_matrix_operations()
{
   // As in matrix_operations().
   static const auto &operations =
      until_unload(new std::vector<MatrixOperation>(list_operations(true)));
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
