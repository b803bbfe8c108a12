// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Conversions between all component types of a shape and use, and bit casts between types of one
/// size.

#include "tests/e2e/cmat_program.h"
#include "tests/e2e/spirv_edits.h"
#include "tests/e2e/wide_components.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace weft::e2e {

namespace {

using oracle::Expectation;
using oracle::Integer;
using oracle::Matrix;

/// Whether `other` is another type with the same shape and this use, and the device supports it.
bool is_sibling(const Device &device, const MatrixType &type, Use use, const MatrixType &other)
{
   return other.rows == type.rows && other.cols == type.cols && other.use == use &&
          !(other == type) && missing_features(device, {other}).empty();
}

/// Whether GLSL can express one of the conversions; siblings() counts the conversions that it
/// cannot.
bool has_sibling(const Device &device, const MatrixType &type, Use use,
                 const std::function<bool(const MatrixType &)> &suits)
{
   return !types_beside(device, type, [&](const MatrixType &other) {
              return is_sibling(device, type, use, other) && suits(other);
           }).empty();
}

/// The siblings that `suits` accepts; in a reduced sweep some of them, at least one.
std::vector<MatrixType> siblings(const Device &device, oracle::Random &random,
                                 const MatrixType &type, Use use,
                                 const std::function<bool(const MatrixType &)> &suits)
{
   std::vector<MatrixType> found;
   for (const MatrixType &other : matrix_types(device)) {
      if (!is_sibling(device, type, use, other) || !suits(other))
         continue;
      if (const std::string why = inexpressible(type.glsl() + other.glsl()); !why.empty())
         skip_case(why);
      else
         found.push_back(other);
   }
   if (found.empty())
      return found;
   std::shuffle(found.begin(), found.end(), random);
   const MatrixType one = found.back();
   std::erase_if(found,
                 [&](const MatrixType &other) { return !(other == one) && !selected(random, 4); });
   return found;
}

double upper_limit(ComponentType type)
{
   return oracle::format(type).is_float ? oracle::largest_finite(type)
                                        : double(oracle::int_max(type));
}

double lower_limit(ComponentType type)
{
   return oracle::format(type).is_float ? -oracle::largest_finite(type)
                                        : double(oracle::int_min(type));
}

/// Numbers of `from` whose conversion to `to` is defined. For conversions from or to a float, they
/// are in the range of `to`.
Matrix convertible(const Device &device, oracle::Random &random, const MatrixType &from,
                   ComponentType to)
{
   const bool from_float = oracle::format(from.type).is_float,
              to_float = oracle::format(to).is_float;
   // Only Weft's own driver must handle infinity, NaN and overflow between floats.
   if (from_float && to_float && device.is_weft && oracle::draw(random, 2))
      return random_matrix(random, from, oracle::Inputs::extremes);
   Matrix matrix = random_matrix(random, from, oracle::Inputs::edges);
   if (!from_float && !to_float)
      return matrix;
   const double low = std::max(lower_limit(from.type), lower_limit(to));
   const double high = std::min(upper_limit(from.type), upper_limit(to));
   for (uint32_t i = 0; i < from.rows * from.cols; i++) {
      std::byte *at = matrix.at(i / from.cols, i % from.cols);
      // Floats to floats stay small now and then, so that subnormals and rounding both occur.
      if (from_float && to_float && i % 2)
         continue;
      const double span = std::ldexp(1.0, int(oracle::draw(random, 32)));
      const double value =
         std::uniform_real_distribution<double>(std::max(low, -span), std::min(high, span))(random);
      oracle::encode_number(from.type, value, at);
      const double stored = from_float ? oracle::decode_float(from.type, at)
                                       : double(oracle::decode_int(from.type, at));
      // Rounding to the source type may have crossed the limit.
      if (stored >= high || stored <= low)
         oracle::encode_number(from.type, to_float || low < 0 ? -1 : 1, at);
   }
   if (from_float && !to_float && lower_limit(to) == 0) {
      for (uint32_t i = 0; i < from.rows * from.cols; i++) {
         std::byte *at = matrix.at(i / from.cols, i % from.cols);
         oracle::encode_float(from.type, std::fabs(oracle::decode_float(from.type, at)), at);
      }
   }
   if (!oracle::format(from.type).is_signed) {
      for (uint32_t i = 0; i < from.rows * from.cols; i++) {
         std::byte *at = matrix.at(i / from.cols, i % from.cols);
         if (double(oracle::decode_int(from.type, at)) > high)
            oracle::encode_int(from.type, 1, at);
      }
   }
   return matrix;
}

Expectation converted(const Device &device, const Matrix &source, ComponentType to)
{
   const bool from_float = oracle::format(source.type).is_float;
   if (oracle::format(to).is_float) {
      Expectation expected =
         rounded(device, to, source.rows, source.cols, [&](uint32_t row, uint32_t col) {
            return from_float ? source.real(row, col) : double(source.integer(row, col));
         });
      // The source's subnormal numbers are normal in a wider type, but the device may flush them
      // before.
      if (from_float && !keeps_subnormals(device, source.type)) {
         for (size_t i = 0; i < expected.value.size(); i++) {
            const double value = std::fabs(expected.value[i]);
            if (value < oracle::smallest_normal(source.type))
               expected.bound[i] += value;
         }
      }
      return expected;
   }
   return exact_integers(to, source.rows, source.cols, [&](uint32_t row, uint32_t col) {
      return from_float ? Integer(source.real(row, col)) : source.integer(row, col);
   });
}

/// One matrix of `type` for each target, all in one shader. Components of 64 bits get a shader for
/// each target: LLVM needs more than 30 s for seven conversions of 32 components in an invocation.
void convert(Device &device, oracle::Random &random, const MatrixType &type,
             const std::vector<MatrixType> &targets, uint32_t subgroup_size)
{
   if (targets.empty())
      return;
   if (type.component_bytes() == 8 && targets.size() > 1) {
      for (const MatrixType &target : targets)
         convert(device, random, type, {target}, subgroup_size);
      return;
   }
   MatrixProgram program = {.inputs = {},
                            .outputs = targets,
                            .declarations = "",
                            .body = "",
                            .subgroup_size = subgroup_size};
   std::vector<Matrix> m;
   for (uint32_t i = 0; i < targets.size(); i++) {
      const std::string n = std::to_string(i);
      program.inputs.push_back(type);
      program.body += "   r" + n + " = " + targets[i].glsl() + "(m" + n + ");\n";
      m.push_back(convertible(device, random, type, targets[i].type));
   }
   const ProgramResult result = run_program(device, program, m);
   for (uint32_t i = 0; i < targets.size(); i++) {
      SCOPED_TRACE("to " + targets[i].name());
      EXPECT_MATRIX(converted(device, m[i], targets[i].type), result.outputs[i]);
   }
}

} // namespace

TEST(CmatConvert, BetweenComponentTypes)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   const auto fits = [&](const MatrixType &type, uint32_t) {
      return has_sibling(device, type, type.use, [](const MatrixType &) { return true; });
   };
   for_each_matrix_type(device, random, fits, [&](const MatrixType &type, uint32_t subgroup_size) {
      // Components of 64 bits have a shader of their own, without the types that stand for them.
      std::vector<MatrixType> targets, wide;
      for (const MatrixType &target :
           siblings(device, random, type, type.use, [](const MatrixType &) { return true; }))
         (target.component_bytes() == 8 ? wide : targets).push_back(target);
      convert(device, random, type, targets, subgroup_size);
      convert(device, random, type, wide, subgroup_size);
   });
}

/// VK_NV_cooperative_matrix2: an accumulator becomes A or B, of the same component type or another.
TEST(CmatConvert, ToOperands)
{
   Device &device = plain_device();
   if (!device.matrix2_features.cooperativeMatrixConversions)
      return skip_case("no cooperativeMatrixConversions");
   oracle::Random random = test_random();
   const auto fits = [&](const MatrixType &type, uint32_t) {
      const auto suits = [&](const MatrixType &other) {
         return !is_bit_cast(type.type, other.type);
      };
      return type.use == Use::accumulator &&
             (has_sibling(device, type, Use::a, suits) || has_sibling(device, type, Use::b, suits));
   };
   for_each_matrix_type(device, random, fits, [&](const MatrixType &type, uint32_t subgroup_size) {
      for (Use use : {Use::a, Use::b}) {
         std::vector<MatrixType> targets, wide;
         const auto suits = [&](const MatrixType &target) {
            return !is_bit_cast(type.type, target.type);
         };
         for (const MatrixType &target : siblings(device, random, type, use, suits))
            (target.component_bytes() == 8 ? wide : targets).push_back(target);
         convert(device, random, type, targets, subgroup_size);
         convert(device, random, type, wide, subgroup_size);
      }
   });
}

/// GLSL has a 16-bit integer in place of the double; its memory is an array of pairs of words.
TEST(CmatConvert, BetweenSingleAndDouble)
{
   constexpr uint16_t op_convert_f_to_s = 110, op_convert_s_to_f = 111, op_f_convert = 115;
   Device &device = plain_device();
   oracle::Random random = test_random();
   const std::vector<MatrixType> types = matrix_types(device);
   const auto doubled = [](const MatrixType &type) {
      return MatrixType{ComponentType::f64, type.rows, type.cols, type.use};
   };
   const auto fits = [&](const MatrixType &single, uint32_t) {
      if (single.type != ComponentType::f32)
         return false;
      const MatrixType twice = doubled(single);
      const bool can =
         std::count(types.begin(), types.end(), twice) && missing_features(device, {twice}).empty();
      if (!can)
         skip_case("needs matrices of f64");
      return can;
   };
   for_each_matrix_type(
      device, random, fits, [&](const MatrixType &single, uint32_t subgroup_size) {
         const MatrixType twice = doubled(single);
         const Words words = {
            {"SIZE", std::to_string(subgroup_size)},
            {"SINGLE", single.glsl()},
            {"DOUBLE", MatrixType{ComponentType::s16, single.rows, single.cols, single.use}.glsl()},
            {"COLS", std::to_string(single.cols)},
            {"BLOCKS",
             buffer_block(0, "float", "single_in") + buffer_block(1, "uvec2", "double_in") +
                buffer_block(2, "float", "single_out") + buffer_block(3, "uvec2", "double_out")},
         };
         std::vector<uint32_t> spirv =
            compile_glsl(std::string(glsl_header) + "#pragma use_vulkan_memory_model\n" +
                         expand(R"(
layout(local_size_x = $SIZE) in;
$BLOCKS
void main()
{
   $SINGLE s;
   $DOUBLE d;
   coopMatLoad(s, single_in.data, 0, $COLS, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(d, double_in.data, 0, $COLS, gl_CooperativeMatrixLayoutRowMajor);
   coopMatStore($SINGLE(d), single_out.data, 0, $COLS, gl_CooperativeMatrixLayoutRowMajor);
   coopMatStore($DOUBLE(s), double_out.data, 0, $COLS, gl_CooperativeMatrixLayoutRowMajor);
}
)",
                                words));
         ASSERT_EQ(replace_matrix_opcode(spirv, op_convert_f_to_s, op_f_convert), 1u);
         ASSERT_EQ(replace_matrix_opcode(spirv, op_convert_s_to_f, op_f_convert), 1u);
         replace_short_by_double(spirv);
         Pipeline pipeline(device, spirv,
                           {.bindings = {1, 1, 1, 1},
                            .push_bytes = 0,
                            .subgroup_size = subgroup_size,
                            .spec_constants = {}});

         const Matrix s = convertible(device, random, single, ComponentType::f64),
                      d = convertible(device, random, twice, ComponentType::f32);
         Buffer single_in(device, s.data.size()), double_in(device, d.data.size());
         Buffer single_out(device, s.data.size()), double_out(device, d.data.size());
         std::copy(s.data.begin(), s.data.end(), single_in.bytes().begin());
         std::copy(d.data.begin(), d.data.end(), double_in.bytes().begin());
         oracle::fill_poison(single_out.bytes());
         oracle::fill_poison(double_out.bytes());
         pipeline.dispatch({single_in, double_in, single_out, double_out});
         count_case();
         EXPECT_MATRIX(converted(device, d, ComponentType::f32),
                       pick(single, {false, 0, line_bytes(single, false)}, single_out.bytes()));
         EXPECT_MATRIX(converted(device, s, ComponentType::f64),
                       pick(twice, {false, 0, line_bytes(twice, false)}, double_out.bytes()));
      });
}

/// GLSL has no bit cast of a matrix; it has conversions, and OpBitcast has their form.
TEST(CmatConvert, BitCast)
{
   constexpr uint16_t op_convert_f_to_u = 109, op_convert_f_to_s = 110, op_convert_s_to_f = 111,
                      op_convert_u_to_f = 112, op_bitcast = 124;
   Device &device = plain_device();
   oracle::Random random = test_random();
   const auto fits = [&](const MatrixType &type, uint32_t) {
      return has_sibling(device, type, type.use, [&](const MatrixType &other) {
         return other.component_bytes() == type.component_bytes();
      });
   };
   for_each_matrix_type(device, random, fits, [&](const MatrixType &type, uint32_t subgroup_size) {
      const auto suits = [&](const MatrixType &target) {
         return target.component_bytes() == type.component_bytes();
      };
      for (const MatrixType &target : siblings(device, random, type, type.use, suits)) {
         SCOPED_TRACE("to " + target.name());
         const Matrix m = random_matrix(random, type, oracle::Inputs::bits);
         const MatrixProgram program = {
            .inputs = {type},
            .outputs = {target},
            .declarations = "",
            .body = "   r0 = $R0(m0);\n",
            .subgroup_size = subgroup_size,
            .edit =
               [&](std::vector<uint32_t> &spirv) {
                  for (uint16_t from :
                       {op_convert_f_to_u, op_convert_f_to_s, op_convert_s_to_f, op_convert_u_to_f})
                     replace_matrix_opcode(spirv, from, op_bitcast);
                  EXPECT_EQ(replace_matrix_opcode(spirv, op_bitcast, op_bitcast), 1u)
                     << "not a bit cast";
               },
         };
         const ProgramResult result = run_program(device, program, {m});
         EXPECT_EQ(result.outputs[0].data, m.data);
      }
   });
}

} // namespace weft::e2e
