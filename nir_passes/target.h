// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/matrix_support.h"

#include <cstdint>
#include <vector>

namespace weft {

/// The lowered form of matrices.
enum class MatrixForm : uint8_t {
   /// A matrix is an array with the invocation's components, by register_map.h; no matrix operation
   /// remains.
   registers,
   /// A matrix is an array by element_map.h; loads, stores and muladds stay whole (tile_*_weft).
   private_tiles,
   /// Matrices stay the driver's matrices; loads, stores and muladds are tile_*_weft.
   driver_tiles,
};

/// A back end's requirements for matrices. Plain data: the layer fills it from the driver's
/// queries, the CPU driver from CPUID, a test from a literal. MatrixSupport describes the matrices
/// that programs may use.
struct Target {
   /// Invocations per subgroup of the pipeline being compiled.
   uint32_t subgroup_size;
   MatrixForm form = MatrixForm::registers;
   /// With tiles: the back end's operations. Matrices that are not such tiles are cut into them. If
   /// that is impossible above a driver, they become registers.
   std::vector<MatrixOperation> native = {};
   /// Accesses to matrices stay within their storage buffers, element by element
   /// (cooperativeMatrixRobustBufferAccess). A back end with private tiles implements that itself.
   bool robust_access = false;
   /// Shared memory that may be added for matrices of workgroup scope
   /// (cooperativeMatrixWorkgroupScopeReservedSharedMemory).
   uint32_t staging_bytes = 0;
   /// The subgroups of a workgroup load B together (lower_cmat_scope).
   bool cuts_b = false;
   /// Each subgroup holds the whole of a matrix of workgroup scope (lower_cmat_scope).
   bool keeps_scope_whole = false;
   /// Registers multiply 8-bit integers by nir_op_*dot_4x8_*, four at a time.
   bool dot_product_4x8 = false;
   /// Registers sum products of f16 in f16 where the result is f16; else in f32.
   bool float16_sums = false;
};

} // namespace weft
