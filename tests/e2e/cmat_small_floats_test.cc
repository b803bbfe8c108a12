// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// bfloat16 and float8 beside loads, stores and products: conversions, with and without saturation,
/// and bfloat16's dot product.

#include "tests/e2e/cmat_program.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weft::e2e {

namespace {

using oracle::Expectation;
using oracle::Matrix;
using Type = ComponentType;

/// The oracle's conversion, which rounds once; to and from bfloat16 by way of f32
/// (SPV_KHR_bfloat16).
Matrix converted(const Matrix &source, Type to, bool saturate)
{
   Matrix result(to, source.rows, source.cols);
   for (uint32_t row = 0; row < source.rows; row++) {
      for (uint32_t col = 0; col < source.cols; col++) {
         double value = oracle::format(source.type).is_float ? source.real(row, col)
                                                             : double(source.integer(row, col));
         if (to == Type::bf16)
            value = float(value);
         if (saturate && !std::isnan(value))
            value = std::clamp(value, -oracle::largest_finite(to), oracle::largest_finite(to));
         oracle::encode_number(to, value, result.at(row, col));
      }
   }
   return result;
}

/// Weft's own driver returns exactly this value. Other drivers may round either way, and flush
/// numbers that are subnormal in either type (Vulkan, Precision and Operation of SPIR-V
/// Instructions). float8 is never flushed.
Expectation expected_of(const Device &device, const Matrix &source, Type to, bool saturate)
{
   Expectation expected(converted(source, to, saturate));
   if (!oracle::format(source.type).is_float)
      return expected;
   double tiny = 0;
   for (const Type type : {source.type, to}) {
      if (oracle::format(type).is_float && oracle::format(type).bytes > 1 &&
          !keeps_subnormals(device, type))
         tiny = std::max(tiny, oracle::smallest_normal(type));
   }
   for (size_t i = 0; i < expected.value.size(); i++) {
      const double value =
         std::fabs(source.real(uint32_t(i / source.cols), uint32_t(i % source.cols)));
      if (value < tiny)
         expected.bound[i] += value;
      if (!device.is_weft && oracle::format(to).is_float && std::isfinite(expected.value[i]))
         expected.bound[i] += 2 * oracle::unit_roundoff(to) * std::fabs(expected.value[i]);
   }
   return expected;
}

/// Decorates every conversion of a module to a float8 as saturating.
void saturate_conversions(std::vector<uint32_t> &spirv)
{
   constexpr uint32_t op_type_float = 22, op_type_matrix = 4456, op_f_convert = 115,
                      op_type_void = 19, op_decorate = 71, saturated = 4216;
   std::vector<uint32_t> types, results;
   size_t first_type = 0;
   for (size_t at = 5; at < spirv.size(); at += spirv[at] >> 16) {
      const uint32_t opcode = spirv[at] & 0xffff, *words = &spirv[at];
      const auto is_float8 = [&](uint32_t id) {
         return std::find(types.begin(), types.end(), id) != types.end();
      };
      if (!first_type && opcode == op_type_void)
         first_type = at;
      if ((opcode == op_type_float && words[2] == 8) ||
          (opcode == op_type_matrix && is_float8(words[2])))
         types.push_back(words[1]);
      if (opcode == op_f_convert && is_float8(words[1]))
         results.push_back(words[2]);
   }
   ASSERT_FALSE(results.empty());
   std::vector<uint32_t> decorations;
   for (uint32_t id : results)
      decorations.insert(decorations.end(), {3u << 16 | op_decorate, id, saturated});
   spirv.insert(spirv.begin() + ptrdiff_t(first_type), decorations.begin(), decorations.end());
}

/// A number half way between two neighbours of a type, or the number next to it in f64 or f32.
double near_tie(oracle::Random &random, Type type)
{
   const oracle::Format &format = oracle::format(type);
   const uint32_t magnitudes = 1u << (format.exponent_bits + format.fraction_bits);
   for (;;) {
      double neighbours[2];
      const uint32_t bits = oracle::draw(random, magnitudes - 1);
      for (uint32_t i = 0; i < 2; i++) {
         const uint64_t encoding = bits + i;
         neighbours[i] = oracle::decode_float(type, &encoding);
      }
      if (!std::isfinite(neighbours[0]) || !std::isfinite(neighbours[1]))
         continue;
      const double tie = (neighbours[0] + neighbours[1]) / 2,
                   sign = oracle::draw(random, 2) ? 1 : -1;
      const double side = oracle::draw(random, 2) ? INFINITY : 0;
      switch (oracle::draw(random, 3)) {
      case 0:
         return sign * tie;
      case 1:
         return sign * double(std::nextafter(float(tie), float(side)));
      default:
         return sign * std::nextafter(tie, side);
      }
   }
}

/// Numbers whose conversion to the other type is defined. Floats include numbers for which two
/// roundings give a wrong result.
Matrix convertible(oracle::Random &random, const MatrixType &from, Type to)
{
   constexpr oracle::Inputs kinds[] = {oracle::Inputs::extremes, oracle::Inputs::bits,
                                       oracle::Inputs::plain};
   const oracle::Format &from_format = oracle::format(from.type), &to_format = oracle::format(to);
   const bool floats = from_format.is_float && to_format.is_float;
   Matrix matrix =
      random_matrix(random, from, floats ? kinds[oracle::draw(random, 3)] : oracle::Inputs::whole);
   for (uint32_t row = 0; row < from.rows; row++) {
      for (uint32_t col = 0; col < from.cols; col++) {
         if (floats && is_small_float(to) && oracle::draw(random, 4) == 0)
            oracle::encode_float(from.type, near_tie(random, to), matrix.at(row, col));
         if (!to_format.is_float && !to_format.is_signed)
            oracle::encode_float(from.type, std::fabs(matrix.real(row, col)), matrix.at(row, col));
      }
   }
   return matrix;
}

/// Tests conversions from `type` to the other types of its shape. The device may lack both as
/// operands of one operation.
void convert(Device &device, oracle::Random &random, const MatrixType &type,
             const MatrixType &target, uint32_t subgroup_size, bool saturate)
{
   const Type to = target.type;
   MatrixProgram program = {.inputs = {type},
                            .outputs = {target},
                            .declarations = "",
                            .body = "r0 = $R0(m0);",
                            .subgroup_size = subgroup_size,
                            .edit = saturate ? saturate_conversions : nullptr};
   const std::vector<Matrix> m = {convertible(random, type, to)};
   const ProgramResult result = run_program(device, program, m);
   SCOPED_TRACE("to " + target.name() + (saturate ? ", saturating" : ""));
   EXPECT_MATRIX(expected_of(device, m[0], to, saturate), result.outputs[0]);
}

} // namespace

TEST(CmatSmallFloats, MatricesAreConverted)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   const std::vector<MatrixType> types = matrix_types(device, SmallFloats::with);
   if (!has_small_floats(types))
      GTEST_SKIP() << "no matrices of bfloat16 or float8";
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   // NVIDIA's driver 580 crashes on some conversions from or to bfloat16.
   const auto of_driver = [&](const MatrixType &type) {
      return type.type == Type::bf16 &&
             has_tiles_of_another_driver(device, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
   };
   uint32_t turn = 0;
   for (const MatrixType &from : types) {
      for (const MatrixType &to : types) {
         if (of_driver(from) || of_driver(to))
            continue;
         // Also to another use, with or without another type.
         const bool to_operand = device.matrix2_features.cooperativeMatrixConversions &&
                                 from.use == Use::accumulator && to.use != from.use;
         if (from.rows != to.rows || from.cols != to.cols ||
             !(to_operand || (from.use == to.use && from.type != to.type)) ||
             !(is_small_float(from.type) || is_small_float(to.type)))
            continue;
         if (const std::string missing = missing_features(device, {from, to}); !missing.empty()) {
            skip_case("needs " + missing);
            continue;
         }
         if (const std::string why = inexpressible(from.glsl() + to.glsl()); !why.empty()) {
            skip_case(why);
            continue;
         }
         const uint32_t size = sizes[turn++ % sizes.size()];
         const bool float8 =
            from.type != to.type && (to.type == Type::e4m3 || to.type == Type::e5m2);
         for (const bool saturate : {false, true}) {
            if (saturate && !(float8 && oracle::format(from.type).is_float))
               continue;
            // The two shapes and three uses have the same code here, so each run tests some of
            // them.
            if (oracle::draw(random, 3) != 0 || !selected(random, 4))
               continue;
            SCOPED_TRACE(from.name() + ", subgroup size " + std::to_string(size));
            convert(device, random, from, to, size, saturate);
            if (HasFailure())
               return;
         }
      }
   }
}

/// Functions for elements convert, compute and convert back; elements that are only moved keep
/// their bits.
TEST(CmatSmallFloats, SingleElements)
{
   Device &device = plain_device();
   if (!device.matrix2_features.cooperativeMatrixReductions)
      return skip_case("no cooperativeMatrixReductions");
   oracle::Random random = test_random();
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   uint32_t turn = 0;
   for (const MatrixType &type : matrix_types(device, SmallFloats::with)) {
      const MatrixType turned = {type.type, type.cols, type.rows, Use::b};
      if (!is_small_float(type.type) || type.use != Use::accumulator ||
          !missing_features(device, {type}).empty())
         continue;
      SCOPED_TRACE(type.name());
      const Matrix m = random_matrix(random, type, oracle::Inputs::plain);
      const MatrixProgram program = {
         .inputs = {type},
         .outputs = {type, type, turned},
         .declarations = R"(
$T0 place(const in uint row, const in uint col, const in $T0 x)
{
   return $T0(float(x) * 2.0 + float(row) - float(col));
}
$T0 larger(const in $T0 x, const in $T0 y) { return float(x) > float(y) ? x : y; }
)",
         .body = R"(   coopMatPerElementNV(r0, m0, place);
   coopMatReduceNV(r1, m0, gl_CooperativeMatrixReduceRowNV, larger);
   coopMatTransposeNV(r2, m0);
)",
         .subgroup_size = sizes[turn++ % sizes.size()],
      };
      const ProgramResult result = run_program(device, program, {m});
      for (uint32_t row = 0; row < type.rows; row++) {
         double largest = m.real(row, 0);
         for (uint32_t col = 0; col < type.cols; col++)
            largest = std::max(largest, m.real(row, col));
         for (uint32_t col = 0; col < type.cols; col++) {
            std::byte placed[4];
            oracle::encode_float(type.type, m.real(row, col) * 2 + double(row) - double(col),
                                 placed);
            EXPECT_EQ(result.outputs[0].real(row, col), oracle::decode_float(type.type, placed))
               << row << ", " << col;
            EXPECT_EQ(result.outputs[1].real(row, col), largest) << row << ", " << col;
            EXPECT_EQ(
               memcmp(result.outputs[2].at(col, row), m.at(row, col), type.component_bytes()), 0)
               << row << ", " << col;
         }
      }
   }
   if (turn == 0)
      skip_case("needs accumulators of small floats");
}

/// In GLSL the dot product is one of halves, which become bfloat16 in the module; so there are no
/// constants of them.
TEST(CmatSmallFloats, DotProduct)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   if (!device.bfloat16_features.shaderBFloat16DotProduct) {
      skip_case("needs shaderBFloat16DotProduct");
      return;
   }
   const std::vector<MatrixType> types = matrix_types(device);
   const auto single = std::ranges::find_if(types, [](const MatrixType &type) {
      return type.type == Type::f32 && type.use == Use::accumulator;
   });
   ASSERT_NE(single, types.end());
   MatrixProgram program = {.inputs = {*single, *single},
                            .outputs = {*single},
                            .declarations = "",
                            .body = R"(
   for (int i = 0; i < r0.length(); i++) {
      float x = m0[i], y = m1[i];
      r0[i] = float(dot(f16vec4(x, y, x + y, y), f16vec4(y, x, x, y)));
   })",
                            .subgroup_size = device.subgroup_sizes().front(),
                            .edit = [](std::vector<uint32_t> &spirv) {
                               constexpr uint32_t op_capability = 17, op_memory_model = 14,
                                                  op_extension = 10, op_type_float = 22;
                               std::vector<uint32_t> out(spirv.begin(), spirv.begin() + 5);
                               for (uint32_t capability : {5116, 5117})
                                  out.insert(out.end(), {2u << 16 | op_capability, capability});
                               uint32_t changed = 0;
                               bool declared = false;
                               for (size_t at = 5; at < spirv.size(); at += spirv[at] >> 16) {
                                  const uint32_t *w = &spirv[at], opcode = w[0] & 0xffff;
                                  if (!declared && opcode >= op_extension &&
                                      opcode <= op_memory_model) {
                                     declared = true;
                                     uint32_t text[5] = {};
                                     memcpy(text, "SPV_KHR_bfloat16", 16);
                                     out.push_back(6u << 16 | op_extension);
                                     out.insert(out.end(), text, text + 5);
                                  }
                                  if (opcode == op_type_float && w[2] == 16) {
                                     out.insert(out.end(), {4u << 16 | op_type_float, w[1], 16, 0});
                                     changed++;
                                  } else {
                                     out.insert(out.end(), w, w + (w[0] >> 16));
                                  }
                               }
                               EXPECT_EQ(changed, 1u);
                               spirv = out;
                            }};
   const std::vector<Matrix> m = {random_matrix(random, *single, oracle::Inputs::edges),
                                  random_matrix(random, *single, oracle::Inputs::plain)};
   const ProgramResult result = run_program(device, program, m);
   Expectation expected(m[0]);
   for (uint32_t row = 0; row < single->rows; row++) {
      for (uint32_t col = 0; col < single->cols; col++) {
         const auto narrow = [](double value) {
            uint16_t bits;
            oracle::encode_float(Type::bf16, value, &bits);
            return oracle::decode_float(Type::bf16, &bits);
         };
         const float fx = float(m[0].real(row, col)), fy = float(m[1].real(row, col));
         const double x = narrow(fx), y = narrow(fy), sum = narrow(fx + fy);
         const double terms[] = {x * y, y * x, sum * x, y * y};
         double value = 0, magnitude = 0;
         for (const double term : terms) {
            value += term;
            magnitude += std::fabs(term);
         }
         const size_t index = size_t(row) * single->cols + col;
         expected.value[index] = value;
         /* Products and sums in f32, one rounding to bfloat16. */
         expected.bound[index] = 8 * oracle::unit_roundoff(Type::f32) * magnitude +
                                 2 * oracle::unit_roundoff(Type::bf16) * std::fabs(value) +
                                 oracle::smallest_normal(Type::bf16);
      }
   }
   EXPECT_MATRIX(expected, result.outputs[0]);
}

} // namespace weft::e2e
