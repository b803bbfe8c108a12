// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/component_type.h"

#include <cstdint>
#include <vector>

namespace weft {

/// The invocations that have a matrix together.
enum class MatrixScope : uint8_t { subgroup, workgroup };

/// One row of VkCooperativeMatrixPropertiesKHR: result (M×N) = A (M×K) · B (K×N) + C (M×N).
struct MatrixOperation {
   uint32_t m, n, k;
   ComponentType a, b, c, result;
   bool saturating;
   MatrixScope scope = MatrixScope::subgroup;

   bool operator==(const MatrixOperation &) const = default;
};

/// Operations of many sizes: one row of VkCooperativeMatrixFlexibleDimensionsPropertiesNV.
struct FlexibleOperation {
   /// Its m, n and k are the numbers of which sizes are multiples.
   MatrixOperation granularity;
   uint32_t max_dimension; ///< of m, n and k
   /// The workgroup that operations of workgroup scope are for.
   uint32_t workgroup_invocations = 0;

   bool covers(const MatrixOperation &) const;
};

/// What a program may use: the one description from which it is advertised and against which
/// shaders are checked.  A matrix type is legal when it is an operand of some operation.
struct MatrixSupport {
   std::vector<MatrixOperation> operations;
   std::vector<FlexibleOperation> flexible = {};

   bool covers(const MatrixOperation &) const;
};

/// Puts operations first whose tiles have no more rows than the subgroup has invocations.  Programs
/// take the first that suits them, and some rely on that: llama.cpp's kernels divide the
/// invocations by the rows.
void prefer_small_tiles(std::vector<MatrixOperation> &, uint32_t subgroup_size);

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

/// What a back end wants of matrices.
struct MatrixLowering {
   MatrixForm form = MatrixForm::registers;
   /// With tiles, the operations that the back end has.  A shader's matrices are kept, or cut into
   /// such tiles.  Where that does not go above a driver, they become registers.
   std::vector<MatrixOperation> native = {};
   /// Matrices keep within their storage buffers, element by element
   /// (cooperativeMatrixRobustBufferAccess); a back end with private tiles sees to it itself.
   bool robust_access = false;
   /// Registers multiply 8-bit integers by nir_op_*dot_4x8_*, four at a time.
   bool dot_product_4x8 = false;
};

/// The shape in which a back end wants its NIR.
enum class FinalForm : uint8_t {
   /// Memory as addresses, system values by subgroup: for generators of machine code.
   machine,
   /// What SPIR-V can say stays as it is: variables, images, all subgroup operations, built-in
   /// inputs.
   spirv,
};

/// What the driver below takes, for FinalForm::spirv.
struct SpirvForm {
   /// Subgroup operations on 8 and 16 bits.
   bool small_subgroup_operands = true;
   /// A shader may keep matrices and have reductions and scans of the subgroup; else these become
   /// shuffles where it keeps matrices.
   bool subgroup_arithmetic_with_matrices = true;
   /// Of accesses to uniform and storage buffers that the shader makes apart, each is in the
   /// buffer's range or not, whatever the others are (robustBufferAccess2).  Else those within 16
   /// bytes may share a fate, which is what robustBufferAccess allows.
   bool scalar_bounds = false;
};

/// What the passes lower to.  Plain data: the layer fills it from the driver's queries, the CPU
/// driver from CPUID, a test from a literal.
struct Target {
   /// Invocations per subgroup of the pipeline being compiled.
   uint32_t subgroup_size;
   MatrixSupport matrices;
   MatrixLowering lowering;
   FinalForm form = FinalForm::machine;
   SpirvForm spirv = {};
};

} // namespace weft
