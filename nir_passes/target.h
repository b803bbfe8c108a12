// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>
#include <vector>

namespace weft {

/// A matrix component type, by the values of VkComponentTypeKHR.
enum class ComponentType : uint32_t {
   f16 = 0,
   f32 = 1,
   f64 = 2,
   s8 = 3,
   s16 = 4,
   s32 = 5,
   s64 = 6,
   u8 = 7,
   u16 = 8,
   u32 = 9,
   u64 = 10,
};

/// As in messages and symbols: "f16", "s8".
const char *component_type_name(ComponentType);
unsigned component_bits(ComponentType);

/// One row of VkCooperativeMatrixPropertiesKHR at subgroup scope: result (M×N) = A (M×K) · B (K×N)
/// + C (M×N).
struct MatrixOperation {
   uint32_t m, n, k;
   ComponentType a, b, c, result;
   bool saturating;

   bool operator==(const MatrixOperation &) const = default;
};

/// Puts operations first whose tiles have no more rows than the subgroup has invocations.  Programs
/// take the first that suits them, and some rely on that: llama.cpp's kernels divide the
/// invocations by the rows.
void prefer_small_tiles(std::vector<MatrixOperation> &, uint32_t subgroup_size);

/// The shape in which a back end wants its NIR.
enum class FinalForm : uint8_t {
   /// Memory as addresses, system values by subgroup: for generators of machine code.
   machine,
   /// What SPIR-V can say stays as it is: variables, images, all subgroup operations, built-in
   /// inputs.
   spirv,
};

/// What the passes lower to.  Plain data: the layer fills it from the driver's queries, the CPU
/// driver from CPUID, a test from a literal.
struct Target {
   /// Invocations per subgroup of the pipeline being compiled.
   uint32_t subgroup_size;

   /// The operations a program may use.  A matrix type is legal when it is an operand of one of
   /// them. What is advertised to applications is this table and nothing else.
   std::vector<MatrixOperation> operations;

   /// The back end keeps tiles: loads, stores and muladds stay whole (tile_*_weft).  Otherwise
   /// every matrix becomes registers.
   bool native_tiles;

   FinalForm form = FinalForm::machine;
   /// For FinalForm::spirv: the operations for which the driver takes SPIR-V's own cooperative
   /// matrices.  A shader whose matrices can be built from these keeps them, in those shapes;
   /// every other one gets registers.
   std::vector<MatrixOperation> native_operations = {};
   /// The back end has subgroup operations on 8 and 16 bits.
   bool small_subgroup_operands = true;
   /// Matrices as registers keep within their storage buffers, element by element
   /// (cooperativeMatrixRobustBufferAccess).  A back end with tiles sees to it itself.
   bool robust_access = false;
   /// Matrices as registers multiply 8-bit integers by nir_op_*dot_4x8_*, four at a time.
   bool dot_product_4x8 = false;
};

} // namespace weft
