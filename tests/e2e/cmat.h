// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Cooperative matrices of the tests: the types that the device advertises, their GLSL, and their
/// layout in memory.

#pragma once

#include "nir_passes/matrix_support.h"
#include "tests/e2e/cases.h"
#include "tests/oracle/matrix.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weft::e2e {

enum class Use { a, b, accumulator };

struct MatrixType {
   ComponentType type;
   uint32_t rows, cols;
   Use use;

   bool operator==(const MatrixType &) const = default;
   uint32_t component_bytes() const { return oracle::format(type).bytes; }
   std::string glsl() const; ///< coopmat<float16_t, gl_ScopeSubgroup, 16, 8, gl_MatrixUseB>
   std::string name() const; ///< "16x8 f16 B"
};

MatrixType a_type(const MatrixOperation &);
MatrixType b_type(const MatrixOperation &);
MatrixType c_type(const MatrixOperation &);
MatrixType result_type(const MatrixOperation &);
std::string operation_name(const MatrixOperation &); ///< "16x8x16 s8·u8→s32 sat"

oracle::Matrix random_matrix(oracle::Random &, const MatrixType &, oracle::Inputs);

/// bfloat16 and float8, which can be converted, moved and multiplied as matrices, and no more.
bool is_small_float(ComponentType);

enum class SmallFloats { without, with };

/// The operations at subgroup scope; operations of another scope are skipped and counted.
std::vector<MatrixOperation> matrix_operations(const Device &, SmallFloats = SmallFloats::without);
/// The types of the operands of these operations, without duplicates.
std::vector<MatrixType> matrix_types(const Device &, SmallFloats = SmallFloats::without);
/// Whether a type is bf16 or float8; drawn shapes may lack these types.
bool has_small_floats(const std::vector<MatrixType> &);

/// False for three of four operations on bytes, at random. They are many, and differ only in signs
/// and saturation; CmatMuladd tests all of them.
bool one_of_many(oracle::Random &, const MatrixOperation &);

/// The feature that the device lacks for arithmetic and buffer elements of a type, or an empty
/// text.
std::string missing_feature(const Device &, ComponentType);
/// The same for matrices that are only loaded, multiplied and stored, which need no arithmetic of
/// 16 bits.
std::string missing_matrix_feature(const Device &, ComponentType);

/// The bounds for one multiply-add of this device. Vulkan requires the result's precision, permits
/// truncation, and leaves infinities and NaN open. Weft's own driver guarantees f32 intermediates
/// for f16, rounding to nearest, and IEEE 754's infinities and NaN. It also keeps subnormal
/// numbers, except for bfloat16 factors, whose instructions flush them.
oracle::MuladdRules muladd_rules(const Device &, ComponentType factor, ComponentType result);

/// The place of a matrix in memory, in bytes. A row (or, column-major, a column) is contiguous.
struct Placement {
   bool column_major = false;
   uint32_t offset = 0, stride = 0;

   const char *glsl_layout() const
   {
      return column_major ? "gl_CooperativeMatrixLayoutColumnMajor"
                          : "gl_CooperativeMatrixLayoutRowMajor";
   }
   size_t address(const MatrixType &type, uint32_t row, uint32_t col) const
   {
      const uint32_t major = column_major ? col : row, minor = column_major ? row : col;
      return offset + size_t(major) * stride + size_t(minor) * type.component_bytes();
   }
};

/// Bytes of one row or column in memory, and the alignment of offset and stride: the smaller of
/// these bytes and 16 (VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986).
uint32_t line_bytes(const MatrixType &, bool column_major);
uint32_t required_alignment(const MatrixType &, bool column_major);
/// Bytes from 0 to the end of a placed matrix.
size_t extent(const MatrixType &, const Placement &);

void place(const oracle::Matrix &, const MatrixType &, const Placement &,
           std::span<std::byte> memory);
oracle::Matrix pick(const MatrixType &, const Placement &, std::span<const std::byte> memory);

/// A placement that the rules allow: tight, padded by one unit or padded by several, at an offset
/// of some units.  A unit is the larger of the required alignment and `element_bytes` (the size of
/// the buffer's elements).
Placement random_placement(oracle::Random &, const MatrixType &, bool column_major,
                           uint32_t element_bytes);

/// Checks the matrix in `memory`, and that every other byte is as in `before`.
testing::AssertionResult stored_as_expected(const oracle::Expectation &, const MatrixType &,
                                            const Placement &, std::span<const std::byte> memory,
                                            std::span<const std::byte> before);

/// A storage-buffer binding's declaration: `buffer Name { T name[]; }`.
std::string buffer_block(uint32_t binding, const std::string &element, const std::string &name);

} // namespace weft::e2e
