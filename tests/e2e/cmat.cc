// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/cmat.h"

#include <algorithm>
#include <cstring>

namespace weft::e2e {

std::string MatrixType::glsl() const
{
   static const char *const uses[] = {"gl_MatrixUseA", "gl_MatrixUseB", "gl_MatrixUseAccumulator"};
   return std::string("coopmat<") + oracle::format(type).glsl + ", gl_ScopeSubgroup, " +
          std::to_string(rows) + ", " + std::to_string(cols) + ", " + uses[int(use)] + ">";
}

std::string MatrixType::name() const
{
   static const char *const uses[] = {"A", "B", "accumulator"};
   return std::to_string(rows) + "x" + std::to_string(cols) + " " + oracle::format(type).name +
          " " + uses[int(use)];
}

MatrixType a_type(const MatrixOperation &op)
{
   return {op.a, op.m, op.k, Use::a};
}

MatrixType b_type(const MatrixOperation &op)
{
   return {op.b, op.k, op.n, Use::b};
}

MatrixType c_type(const MatrixOperation &op)
{
   return {op.c, op.m, op.n, Use::accumulator};
}

MatrixType result_type(const MatrixOperation &op)
{
   return {op.result, op.m, op.n, Use::accumulator};
}

std::string operation_name(const MatrixOperation &op)
{
   return std::to_string(op.m) + "x" + std::to_string(op.n) + "x" + std::to_string(op.k) + " " +
          oracle::format(op.a).name + "·" + oracle::format(op.b).name + "+" +
          oracle::format(op.c).name + "→" + oracle::format(op.result).name +
          (op.saturating ? " saturating" : "");
}

bool is_small_float(ComponentType type)
{
   return type == ComponentType::bf16 || type == ComponentType::e4m3 || type == ComponentType::e5m2;
}

/// Names a row of the device's list uniquely.
static std::string row_name(const VkCooperativeMatrixPropertiesKHR &row)
{
   std::string name;
   for (const uint32_t part : {row.MSize, row.NSize, row.KSize, uint32_t(row.AType),
                               uint32_t(row.BType), uint32_t(row.CType), uint32_t(row.ResultType),
                               row.saturatingAccumulation, uint32_t(row.scope)})
      name += std::to_string(part) + " ";
   return name;
}

std::vector<MatrixOperation> matrix_operations(const Device &device, SmallFloats small_floats)
{
   std::vector<MatrixOperation> operations;
   for (const VkCooperativeMatrixPropertiesKHR &row : device.matrix_properties) {
      bool known = true, small = false;
      for (const VkComponentTypeKHR type : {row.AType, row.BType, row.CType, row.ResultType}) {
         known &= oracle::has_format(ComponentType(type));
         small |= is_small_float(ComponentType(type));
      }
      if (row.scope != VK_SCOPE_SUBGROUP_KHR)
         skip_for_all("matrix operation of another scope than the subgroup", row_name(row));
      else if (!known)
         skip_for_all("matrix operation with a component type that the oracle does not know",
                      row_name(row));
      else if (!small || small_floats == SmallFloats::with)
         operations.push_back({row.MSize, row.NSize, row.KSize, ComponentType(row.AType),
                               ComponentType(row.BType), ComponentType(row.CType),
                               ComponentType(row.ResultType), bool(row.saturatingAccumulation)});
   }
   return operations;
}

bool one_of_many(oracle::Random &random, const MatrixOperation &op)
{
   const oracle::Format &format = oracle::format(op.a);
   return format.is_float || format.bytes > 1 || oracle::draw(random, 4) == 0;
}

std::vector<MatrixType> matrix_types(const Device &device, SmallFloats small_floats)
{
   std::vector<MatrixType> types;
   for (const MatrixOperation &op : matrix_operations(device, small_floats)) {
      for (const MatrixType &type : {a_type(op), b_type(op), c_type(op), result_type(op)}) {
         if (std::find(types.begin(), types.end(), type) == types.end())
            types.push_back(type);
      }
   }
   return types;
}

bool has_small_floats(const std::vector<MatrixType> &types)
{
   return std::ranges::any_of(types, [](const MatrixType &t) { return is_small_float(t.type); });
}

std::string missing_matrix_feature(const Device &device, ComponentType type)
{
   const oracle::Format &f = oracle::format(type);
   if (type == ComponentType::bf16)
      return device.bfloat16_features.shaderBFloat16CooperativeMatrix ? "" : "bfloat16 matrices";
   if (is_small_float(type) && !device.float8_features.shaderFloat8CooperativeMatrix)
      return "float8 matrices";
   // If the driver lacks these types, the layer computes with words, and loads and stores parts of
   // words.
   if (f.bytes == 1 &&
       !(device.features12.shaderInt8 && device.features12.storageBuffer8BitAccess) &&
       !device.has_weft_layer)
      return "8-bit types";
   if (f.bytes == 2 && !(device.features11.storageBuffer16BitAccess || device.has_weft_layer))
      return "16-bit storage";
   if (f.bytes == 8 && !(f.is_float ? device.features.shaderFloat64 : device.features.shaderInt64))
      return f.is_float ? "shaderFloat64" : "shaderInt64";
   return "";
}

std::string missing_feature(const Device &device, ComponentType type)
{
   const oracle::Format &f = oracle::format(type);
   if (f.bytes == 2 && !is_small_float(type) &&
       !(f.is_float ? device.features12.shaderFloat16 : device.features.shaderInt16))
      return f.is_float ? "shaderFloat16" : "shaderInt16";
   if (f.bytes == 1 && !is_small_float(type) && !device.features12.shaderInt8)
      return "shaderInt8";
   return missing_matrix_feature(device, type);
}

oracle::Matrix random_matrix(oracle::Random &random, const MatrixType &type, oracle::Inputs inputs)
{
   return oracle::random_matrix(random, type.type, type.rows, type.cols, inputs);
}

oracle::MuladdRules muladd_rules(const Device &device, ComponentType factor, ComponentType result)
{
   const bool at_least_f32 = device.is_weft && !device.float16_sums;
   return {.internal_roundoff = oracle::internal_roundoff(result, at_least_f32),
           .may_truncate = !device.is_weft,
           .keeps_specials = device.is_weft,
           .may_flush = device.is_weft && factor == ComponentType::bf16};
}

uint32_t line_bytes(const MatrixType &type, bool column_major)
{
   return (column_major ? type.rows : type.cols) * type.component_bytes();
}

uint32_t required_alignment(const MatrixType &type, bool column_major)
{
   return std::min(16u, line_bytes(type, column_major));
}

size_t extent(const MatrixType &type, const Placement &placement)
{
   return placement.address(type, type.rows - 1, type.cols - 1) + type.component_bytes();
}

void place(const oracle::Matrix &matrix, const MatrixType &type, const Placement &placement,
           std::span<std::byte> memory)
{
   for (uint32_t row = 0; row < type.rows; row++) {
      for (uint32_t col = 0; col < type.cols; col++)
         memcpy(&memory[placement.address(type, row, col)], matrix.at(row, col),
                type.component_bytes());
   }
}

oracle::Matrix pick(const MatrixType &type, const Placement &placement,
                    std::span<const std::byte> memory)
{
   oracle::Matrix matrix(type.type, type.rows, type.cols);
   for (uint32_t row = 0; row < type.rows; row++) {
      for (uint32_t col = 0; col < type.cols; col++)
         memcpy(matrix.at(row, col), &memory[placement.address(type, row, col)],
                type.component_bytes());
   }
   return matrix;
}

Placement random_placement(oracle::Random &random, const MatrixType &type, bool column_major,
                           uint32_t element_bytes)
{
   static constexpr uint32_t paddings[] = {0, 0, 1, 2, 3, 5};
   const uint32_t unit = std::max(required_alignment(type, column_major), element_bytes);
   const uint32_t tight = (line_bytes(type, column_major) + unit - 1) / unit * unit;
   Placement placement;
   placement.column_major = column_major;
   placement.stride = tight + unit * paddings[oracle::draw(random, std::size(paddings))];
   placement.offset = unit * oracle::draw(random, 8);
   return placement;
}

static std::string hex(const std::byte *bytes, size_t count)
{
   std::string text;
   for (size_t i = 0; i < count; i++) {
      char digits[4];
      snprintf(digits, sizeof(digits), "%02x ", unsigned(bytes[i]));
      text += digits;
   }
   return text;
}

testing::AssertionResult stored_as_expected(const oracle::Expectation &expected,
                                            const MatrixType &type, const Placement &placement,
                                            std::span<const std::byte> memory,
                                            std::span<const std::byte> before)
{
   std::vector<bool> inside(memory.size());
   uint32_t wrong = 0;
   std::string first;
   for (uint32_t row = 0; row < type.rows; row++) {
      for (uint32_t col = 0; col < type.cols; col++) {
         const size_t address = placement.address(type, row, col);
         std::fill_n(inside.begin() + address, type.component_bytes(), true);
         if (std::optional<std::string> why = expected.mismatch(row, col, &memory[address])) {
            if (wrong++ == 0)
               first = "element (" + std::to_string(row) + ", " + std::to_string(col) + ") " +
                       *why + "; its bytes " + hex(&memory[address], type.component_bytes()) +
                       (memcmp(&memory[address], &before[address], type.component_bytes()) == 0
                           ? "(never written)"
                           : "");
         }
      }
   }
   if (wrong)
      return testing::AssertionFailure()
             << wrong << " of " << type.rows * type.cols << " elements wrong, first: " << first;
   for (size_t i = 0; i < memory.size(); i++) {
      if (!inside[i] && memory[i] != before[i])
         return testing::AssertionFailure()
                << "byte " << i << " outside of the matrix was overwritten (matrix at "
                << placement.offset << ", stride " << placement.stride << ", ends at "
                << extent(type, placement) << ")";
   }
   return testing::AssertionSuccess();
}

std::string buffer_block(uint32_t binding, const std::string &element, const std::string &name)
{
   const std::string number = std::to_string(binding);
   return "layout(set = 0, binding = " + number + ", std430) buffer Block" + number + " { " +
          element + " data[]; } " + name + ";\n";
}

} // namespace weft::e2e
