// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Converts operations to the structs that queries for cooperative matrices return, for driver and
/// layer. Leaves sType and pNext, which the application sets.

#pragma once

#include "nir_passes/matrix_support.h"

#include <vulkan/vulkan_core.h>

#include <optional>

namespace weft {

/// Sets the members for component types.
template <typename Properties>
void write_types(const MatrixOperation &op, Properties &p)
{
   p.AType = decltype(p.AType)(op.a);
   p.BType = decltype(p.BType)(op.b);
   p.CType = decltype(p.CType)(op.c);
   if constexpr (requires { p.DType; })
      p.DType = decltype(p.DType)(op.result);
   else
      p.ResultType = decltype(p.ResultType)(op.result);
}

/// Fills VkCooperativeMatrixPropertiesNV or …KHR: one shape, at subgroup scope.
template <typename Properties>
void write_operation(const MatrixOperation &op, Properties &p)
{
   p.MSize = op.m;
   p.NSize = op.n;
   p.KSize = op.k;
   write_types(op, p);
   if constexpr (requires { p.saturatingAccumulation; })
      p.saturatingAccumulation = op.saturating;
   p.scope = decltype(p.scope)(VK_SCOPE_SUBGROUP_KHR);
}

/// The inverse of write_operation(): a driver's operation; nothing for another scope.
inline std::optional<MatrixOperation> read_operation(const VkCooperativeMatrixPropertiesKHR &p)
{
   if (p.scope != VK_SCOPE_SUBGROUP_KHR)
      return std::nullopt;
   return MatrixOperation{p.MSize,
                          p.NSize,
                          p.KSize,
                          ComponentType(p.AType),
                          ComponentType(p.BType),
                          ComponentType(p.CType),
                          ComponentType(p.ResultType),
                          p.saturatingAccumulation == VK_TRUE};
}

/// Fills the structs of flexible dimensions: multiples of a shape.
template <typename Properties>
void write_multiples(const MatrixOperation &op, Properties &p)
{
   p.MGranularity = op.m;
   p.NGranularity = op.n;
   p.KGranularity = op.k;
   write_types(op, p);
}

inline void write_flexible(const FlexibleOperation &flexible,
                           VkCooperativeMatrixFlexibleDimensionsPropertiesNV &p)
{
   const MatrixOperation &op = flexible.granularity;
   write_multiples(op, p);
   p.saturatingAccumulation = op.saturating;
   p.scope = op.scope == MatrixScope::workgroup ? VK_SCOPE_WORKGROUP_KHR : VK_SCOPE_SUBGROUP_KHR;
   p.workgroupInvocations = flexible.workgroup_invocations;
}

} // namespace weft
