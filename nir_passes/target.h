// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/matrix_support.h"

#include <cstdint>
#include <vector>

namespace weft {

/// What becomes of matrices.
enum class MatrixForm : uint8_t {
   /// Each is an array with the components of the invocation, by register_map.h; nothing is left of
   /// them.
   registers,
   /// Each is such an array, by element_map.h; loads, stores and muladds stay whole (tile_*_weft).
   private_tiles,
   /// They stay matrices, of the driver below; loads, stores and muladds are tile_*_weft.
   driver_tiles,
};

/// What a back end wants of matrices.  Plain data: the layer fills it from the driver's queries, the
/// CPU driver from CPUID, a test from a literal.  What programs may use is another matter
/// (MatrixSupport).
struct Target {
   /// Invocations per subgroup of the pipeline being compiled.
   uint32_t subgroup_size;
   MatrixForm form = MatrixForm::registers;
   /// With tiles, the operations that the back end has.  A shader's matrices are kept, or cut into
   /// such tiles.  Where that does not go above a driver, they become registers.
   std::vector<MatrixOperation> native = {};
   /// Matrices keep within their storage buffers, element by element
   /// (cooperativeMatrixRobustBufferAccess); a back end with private tiles sees to it itself.
   bool robust_access = false;
   /// Shared memory that may be added for matrices of workgroup scope
   /// (cooperativeMatrixWorkgroupScopeReservedSharedMemory).
   uint32_t staging_bytes = 0;
   /// Subgroups of a workgroup load B together (lower_cmat_scope).
   bool cuts_b = false;
   /// A matrix of workgroup scope is whole in each subgroup (lower_cmat_scope).
   bool keeps_scope_whole = false;
   /// Registers multiply 8-bit integers by nir_op_*dot_4x8_*, four at a time.
   bool dot_product_4x8 = false;
};

} // namespace weft
