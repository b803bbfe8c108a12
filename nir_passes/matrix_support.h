// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The matrix operations that are advertised to programs and that shaders are checked against.

#pragma once

#include "nir_passes/component_type.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// The invocations that share a matrix.
enum class MatrixScope : uint8_t { subgroup, workgroup };

/// One row of VkCooperativeMatrixPropertiesKHR: result (M×N) = A (M×K) · B (K×N) + C (M×N).
struct MatrixOperation {
   uint32_t m, n, k;
   ComponentType a, b, c, result;
   bool saturating;
   MatrixScope scope = MatrixScope::subgroup;

   bool operator==(const MatrixOperation &) const = default;
};

/// Whether sums are floats narrower than f32: they are added in f32 and then rounded.
bool rounds_sums(const MatrixOperation &);

/// Whether VK_NV_cooperative_matrix can list the operation: it has neither saturation nor the
/// component types of later extensions.
bool is_nv_operation(const MatrixOperation &);

/// The list of operations with fixed sizes. The CPU driver has all of them; the layer has the
/// operations on types that the driver below can hold. Types that few devices have in hardware,
/// narrow floats and integers of every size in every role, have only two shapes, 16x16x16 and
/// 8x8x8.
const std::vector<MatrixOperation> &matrix_operations();

/// The same and operations with 64 bytes along k, for CPUs that multiply so many at once:
/// 16x16x32 of bfloat16, 16x16x64 of 8-bit integers.
const std::vector<MatrixOperation> &cpu_matrix_operations();

/// Operations of many sizes: one row of VkCooperativeMatrixFlexibleDimensionsPropertiesNV.
struct FlexibleOperation {
   /// Sizes are multiples of its m, n and k.
   MatrixOperation granularity;
   uint32_t max_dimension; ///< of m, n and k
   /// The workgroup size for operations of workgroup scope.
   uint32_t workgroup_invocations = 0;

   bool covers(const MatrixOperation &) const;
};

/// An operation for each combination of types among the operations, with any multiple of 8 as M, N
/// and K.
std::vector<FlexibleOperation> flexible_operations(std::span<const MatrixOperation>,
                                                   uint32_t max_dimension);

/// The workgroup sizes for matrices of workgroup scope: the sizes that existing programs use.
constexpr std::array<uint32_t, 2> matrix_workgroups = {128, 256};
/// Adds the same operations for matrices of workgroup scope, in workgroups of these sizes.
std::vector<FlexibleOperation>
with_workgroup_scope(std::vector<FlexibleOperation>,
                     std::span<const uint32_t> workgroups = matrix_workgroups);

/// A matrix type is legal if it is an operand of some operation.
struct MatrixSupport {
   std::vector<MatrixOperation> operations;
   std::vector<FlexibleOperation> flexible = {};

   bool covers(const MatrixOperation &) const;
   /// The same support, without operations for workgroups of other sizes.
   MatrixSupport in_workgroup(uint32_t invocations) const;
};

} // namespace weft
