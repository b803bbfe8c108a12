// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Scalar and vector arithmetic of every type, conversions, bit operations, and the mathematical
/// functions within the errors that Vulkan allows.

#include "tests/e2e/cmat_program.h"
#include "tests/e2e/compute.h"
#include "tests/e2e/spirv_edits.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

namespace weft::e2e {

namespace {

using oracle::Integer;

constexpr ComponentType integer_types[] = {
   ComponentType::s8,  ComponentType::u8,  ComponentType::s16, ComponentType::u16,
   ComponentType::s32, ComponentType::u32, ComponentType::s64, ComponentType::u64,
};
constexpr ComponentType float_types[] = {ComponentType::f16, ComponentType::f32,
                                         ComponentType::f64};

bool usable(const Device &device, ComponentType type)
{
   const std::string missing = missing_feature(device, type);
   if (!missing.empty())
      skip_case("needs " + missing);
   return missing.empty();
}

/// The allowed error of a result that is too small for a normal number.
double vanishing(const Device &device, ComponentType type)
{
   return keeps_subnormals(device, type) ? oracle::smallest_positive(type)
                                         : oracle::smallest_normal(type);
}

/// `count` numbers of the type, three to an invocation (x, y, z of the expressions), or one.
std::vector<std::byte> random_source(oracle::Random &random, ComponentType type, uint32_t count,
                                     oracle::Inputs inputs)
{
   std::vector<std::byte> source(size_t(count) * oracle::format(type).bytes);
   oracle::fill_random(random, type, inputs, source);
   return source;
}

struct IntegerExpression {
   const char *glsl;
   /// The result before it is cut to the type; nothing if it is undefined.
   std::function<std::optional<Integer>(Integer x, Integer y, const oracle::Format &)> value;
};

const std::vector<IntegerExpression> &integer_expressions()
{
   using Value = std::optional<Integer>;
   const auto shift_of = [](Integer y, const oracle::Format &f) {
      return int(y & Integer(8 * f.bytes - 1));
   };
   static const std::vector<IntegerExpression> all = {
      {"x + y", [](Integer x, Integer y, const oracle::Format &) -> Value { return x + y; }},
      {"x - y", [](Integer x, Integer y, const oracle::Format &) -> Value { return x - y; }},
      {"x * y",
       [](Integer x, Integer y, const oracle::Format &) -> Value {
          return Integer(uint64_t(x) * uint64_t(y)); // modulo 2^64 suffices
       }},
      {"x / y",
       [](Integer x, Integer y, const oracle::Format &) -> Value {
          return y == 0 || y == -1 ? Value() : x / y;
       }},
      // The sign of % with a negative operand is undefined in GLSL.
      {"x % y",
       [](Integer x, Integer y, const oracle::Format &) -> Value {
          return y <= 0 || x < 0 ? Value() : x % y;
       }},
      {"x & y", [](Integer x, Integer y, const oracle::Format &) -> Value { return x & y; }},
      {"x | y", [](Integer x, Integer y, const oracle::Format &) -> Value { return x | y; }},
      {"x ^ y", [](Integer x, Integer y, const oracle::Format &) -> Value { return x ^ y; }},
      {"~x", [](Integer x, Integer, const oracle::Format &) -> Value { return ~x; }},
      {"-x", [](Integer x, Integer, const oracle::Format &) -> Value { return -x; }},
      {"x << (y & $T($BITS - 1))",
       [=](Integer x, Integer y, const oracle::Format &f) -> Value {
          return Integer(uint64_t(x) << shift_of(y, f));
       }},
      {"x >> (y & $T($BITS - 1))",
       [=](Integer x, Integer y, const oracle::Format &f) -> Value { return x >> shift_of(y, f); }},
      {"min(x, y)",
       [](Integer x, Integer y, const oracle::Format &) -> Value { return std::min(x, y); }},
      {"max(x, y)",
       [](Integer x, Integer y, const oracle::Format &) -> Value { return std::max(x, y); }},
      {"clamp(x, min(y, $T(100)), max(y, $T(100)))",
       [](Integer x, Integer y, const oracle::Format &) -> Value {
          return std::clamp(x, std::min(y, Integer(100)), std::max(y, Integer(100)));
       }},
      {"x < y ? $T(1) : $T(2)",
       [](Integer x, Integer y, const oracle::Format &) -> Value { return x < y ? 1 : 2; }},
      {"x >= y ? x : y",
       [](Integer x, Integer y, const oracle::Format &) -> Value { return x >= y ? x : y; }},
      {"x == y || x != $T(3) ? x : $T(9)",
       [](Integer x, Integer y, const oracle::Format &) -> Value {
          return x == y || x != 3 ? x : Integer(9);
       }},
   };
   return all;
}

} // namespace

TEST(Types, IntegerArithmetic)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for (ComponentType type : integer_types) {
      if (!usable(device, type))
         continue;
      const oracle::Format &f = oracle::format(type);
      SCOPED_TRACE(f.name);
      const auto &expressions = integer_expressions();
      const uint32_t count = 256, per = uint32_t(expressions.size());
      std::string body = "   $T x = source.data[2 * id], y = source.data[2 * id + 1];\n";
      for (uint32_t i = 0; i < per; i++)
         body += "   target.data[id * " + std::to_string(per) + " + " + std::to_string(i) +
                 "] = $T(" + expressions[i].glsl + ");\n";
      const ComputeShader shader = {
         .source_type = f.glsl,
         .target_type = f.glsl,
         .declarations = "",
         .body = body,
         .words = {{"T", f.glsl}, {"BITS", std::to_string(8 * f.bytes)}}};
      const std::vector<std::byte> source =
         random_source(random, type, 2 * count, oracle::Inputs::edges);
      const std::vector<std::byte> target =
         run_compute(device, shader, source, size_t(count) * per * f.bytes);
      for (uint32_t id = 0; id < count; id++) {
         const Integer x = oracle::decode_int(type, &source[2 * id * f.bytes]);
         const Integer y = oracle::decode_int(type, &source[(2 * id + 1) * f.bytes]);
         for (uint32_t i = 0; i < per; i++) {
            const std::optional<Integer> expected = expressions[i].value(x, y, f);
            std::byte bits[8];
            if (expected)
               oracle::encode_int(type, *expected, bits);
            const std::byte *actual = &target[(size_t(id) * per + i) * f.bytes];
            ASSERT_TRUE(!expected || memcmp(bits, actual, f.bytes) == 0)
               << expressions[i].glsl << " of x = " << (long long)x << ", y = " << (long long)y
               << " is " << (long long)oracle::decode_int(type, actual) << ", expected "
               << (long long)oracle::decode_int(type, bits);
         }
      }
   }
}

namespace {

struct FloatExpression {
   const char *glsl;
   std::function<double(double x, double y, double z)> value;
   /// The allowed error in ulps, or the absolute error.
   double ulps, absolute = 0;
   bool only_f32 = false;
   /// The error bound of Weft's own driver, where it is smaller.
   std::optional<double> own_ulps = {};
};

/// glibc documents this bound for its vector functions.
constexpr double libmvec_ulps = 4;

/// x, y, z are in ±1 and not small; errors as in Vulkan's "Precision and Operation of SPIR-V
/// Instructions" (f32's for the functions). Weft's arithmetic rounds to nearest once. The error
/// of a composed function follows from its parts, except for NIR's polynomials (atan, asin, acos).
const std::vector<FloatExpression> &float_expressions()
{
   static const std::vector<FloatExpression> all = {
      {"x + y", [](double x, double y, double) { return x + y; }, 1, 0, false, 0.5},
      {"x - y", [](double x, double y, double) { return x - y; }, 1, 0, false, 0.5},
      {"x * y", [](double x, double y, double) { return x * y; }, 1, 0, false, 0.5},
      {"x / y", [](double x, double y, double) { return x / y; }, 2.5, 0, false, 0.5},
      {"-x", [](double x, double, double) { return -x; }, 0},
      {"abs(x)", [](double x, double, double) { return std::fabs(x); }, 0},
      {"sign(x)", [](double x, double, double) { return x > 0   ? 1
                                                        : x < 0 ? -1
                                                                : 0; }, 0},
      {"min(x, y)", [](double x, double y, double) { return std::min(x, y); }, 0},
      {"max(x, y)", [](double x, double y, double) { return std::max(x, y); }, 0},
      {"clamp(x, $T(-0.5), $T(0.25))",
       [](double x, double, double) { return std::clamp(x, -0.5, 0.25); }, 0},
      {"floor(x * $T(8))", [](double x, double, double) { return std::floor(x * 8); }, 0},
      {"ceil(x * $T(8))", [](double x, double, double) { return std::ceil(x * 8); }, 0},
      {"trunc(x * $T(8))", [](double x, double, double) { return std::trunc(x * 8); }, 0},
      {"roundEven(x * $T(8))", [](double x, double, double) { return std::nearbyint(x * 8); }, 0},
      {"fract(x)", [](double x, double, double) { return x - std::floor(x); }, 1, 1e-3, false, 0.5},
      {"x < y ? x : z", [](double x, double y, double z) { return x < y ? x : z; }, 0},
      // Fused or not: the product may be rounded before the sum.
      {"fma(x, y, z)", [](double x, double y, double z) { return x * y + z; }, 1, 2e-16},
      {"sqrt(abs(x))", [](double x, double, double) { return std::sqrt(std::fabs(x)); }, 4, 0,
       false, 0.5},
      {"inversesqrt(abs(x))", [](double x, double, double) { return 1 / std::sqrt(std::fabs(x)); },
       2, 0, false, 1.01},
      {"mix(x, y, z)", [](double x, double y, double z) { return x * (1 - z) + y * z; }, 1, 4e-16},
      {"step(x, y)", [](double x, double y, double) { return y < x ? 0 : 1; }, 0},
      {"exp(x)", [](double x, double, double) { return std::exp(x); }, 5, 0, true},
      {"exp2(x * 20.0)", [](double x, double, double) { return std::exp2(float(x) * 20.0f); }, 43,
       0, true, libmvec_ulps},
      {"log(abs(x))", [](double x, double, double) { return std::log(std::fabs(x)); }, 3, 0x1p-21,
       true},
      {"log2(abs(x) * 100.0)",
       [](double x, double, double) { return std::log2(std::fabs(float(x)) * 100.0f); }, 3, 0x1p-21,
       true},
      {"sin(x * 3.0)", [](double x, double, double) { return std::sin(float(x) * 3.0f); }, 0,
       0x1p-11, true, libmvec_ulps},
      {"cos(x * 3.0)", [](double x, double, double) { return std::cos(float(x) * 3.0f); }, 0,
       0x1p-11, true, libmvec_ulps},
      {"tan(x)", [](double x, double, double) { return std::tan(x); }, 0, 0x1p-8, true,
       2 * libmvec_ulps + 1},
      {"asin(x)", [](double x, double, double) { return std::asin(x); }, 4096, 0x1p-9, true},
      {"acos(x)", [](double x, double, double) { return std::acos(x); }, 4096, 0x1p-9, true},
      {"atan(x)", [](double x, double, double) { return std::atan(x); }, 4096, 0, true},
      {"atan(x, y)", [](double x, double y, double) { return std::atan2(x, y); }, 4096, 0, true},
      {"pow(abs(x), y * 4.0)",
       [](double x, double y, double) { return std::pow(std::fabs(x), y * 4); }, 80, 0, true},
      {"sinh(x)", [](double x, double, double) { return std::sinh(x); }, 64, 0x1p-20, true},
      {"cosh(x)", [](double x, double, double) { return std::cosh(x); }, 64, 0, true,
       libmvec_ulps + 3},
      {"tanh(x)", [](double x, double, double) { return std::tanh(x); }, 64, 0x1p-20, true},
      {"length(vec3(x, y, z))",
       [](double x, double y, double z) { return std::sqrt(x * x + y * y + z * z); }, 16, 0, true,
       1.5},
      {"dot(vec3(x, y, z), vec3(z, x, y))",
       [](double x, double y, double z) { return x * z + y * x + z * y; }, 0, 0x1p-20, true},
      {"ldexp(x, 5)", [](double x, double, double) { return std::ldexp(x, 5); }, 1, 0, true, 0},
   };
   return all;
}

} // namespace

TEST(Types, FloatArithmetic)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for (ComponentType type : float_types) {
      if (!usable(device, type))
         continue;
      const oracle::Format &f = oracle::format(type);
      SCOPED_TRACE(f.name);
      std::vector<FloatExpression> expressions;
      for (const FloatExpression &e : float_expressions()) {
         if (!e.only_f32 || type == ComponentType::f32)
            expressions.push_back(e);
      }
      const uint32_t count = 256, per = uint32_t(expressions.size());
      std::string body = "   $T x = source.data[3 * id], y = source.data[3 * id + 1], z = "
                         "source.data[3 * id + 2];\n";
      for (uint32_t i = 0; i < per; i++)
         body += "   target.data[id * " + std::to_string(per) + " + " + std::to_string(i) +
                 "] = $T(" + expressions[i].glsl + ");\n";
      const ComputeShader shader = {.source_type = f.glsl,
                                    .target_type = f.glsl,
                                    .declarations = "",
                                    .body = body,
                                    .words = {{"T", f.glsl}}};
      std::vector<std::byte> source = random_source(random, type, 3 * count, oracle::Inputs::plain);
      for (uint32_t i = 0; i < 3 * count; i++) {
         const double value = oracle::decode_float(type, &source[i * f.bytes]);
         if (std::fabs(value) < 0.01)
            oracle::encode_float(type, value < 0 ? -0.25 : 0.25, &source[i * f.bytes]);
      }
      const std::vector<std::byte> target =
         run_compute(device, shader, source, size_t(count) * per * f.bytes);
      for (uint32_t id = 0; id < count; id++) {
         const auto operand = [&](uint32_t i) {
            return oracle::decode_float(type, &source[(3 * id + i) * f.bytes]);
         };
         const double x = operand(0), y = operand(1), z = operand(2);
         for (uint32_t i = 0; i < per; i++) {
            const FloatExpression &e = expressions[i];
            const double actual =
               oracle::decode_float(type, &target[(size_t(id) * per + i) * f.bytes]);
            const double expected = e.value(x, y, z);
            // Sums of rounded products: an absolute error in units of their operands' last place.
            const double operands =
               e.absolute > 0 && !e.only_f32 ? 8 * oracle::unit_roundoff(type) : e.absolute;
            const bool own = device.is_weft && e.own_ulps;
            const double bound = 2 * oracle::unit_roundoff(type) * (own ? *e.own_ulps : e.ulps) *
                                    std::fabs(expected) +
                                 (own ? 0 : operands) + vanishing(device, type);
            ASSERT_LE(std::fabs(actual - expected), bound)
               << e.glsl << " of x = " << x << ", y = " << y << ", z = " << z << " is " << actual
               << ", expected " << expected;
         }
      }
   }
}

TEST(Types, Conversions)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   std::vector<ComponentType> types;
   for (ComponentType type : integer_types)
      types.push_back(type);
   for (ComponentType type : float_types)
      types.push_back(type);
   for (ComponentType from : types) {
      for (ComponentType to : types) {
         if (!usable(device, from) || !usable(device, to) || !selected(random, 4))
            continue;
         const oracle::Format &f = oracle::format(from), &t = oracle::format(to);
         SCOPED_TRACE(std::string(f.name) + " to " + t.name);
         std::vector<std::byte> source = random_source(random, from, 256, oracle::Inputs::edges);
         for (uint32_t i = 0; i < 256; i++) {
            std::byte *at = &source[i * f.bytes];
            if (f.is_float && !t.is_float) {
               // Numbers in the range of both types, with a fraction that the conversion removes.
               const double limit =
                  std::min(double(oracle::int_max(to)), oracle::largest_finite(from)) * 0.99;
               const double value =
                  std::uniform_real_distribution<double>(t.is_signed ? -1 : 0, 1)(random) *
                  std::min(limit, std::ldexp(1.0, int(i % 64)));
               oracle::encode_float(from, value, at);
            } else if (!f.is_float && t.is_float) {
               const Integer limit = Integer(std::min(oracle::largest_finite(to), 1e18));
               const Integer value = oracle::decode_int(from, at);
               if (value > limit || value < -limit)
                  oracle::encode_int(from, value % limit, at);
            }
         }
         const ComputeShader shader = {.source_type = f.glsl,
                                       .target_type = t.glsl,
                                       .declarations = "",
                                       .body = "   target.data[id] = $TO(source.data[id]);\n",
                                       .words = {{"TO", t.glsl}}};
         const std::vector<std::byte> target = run_compute(device, shader, source, 256 * t.bytes);
         for (uint32_t i = 0; i < 256; i++) {
            const std::byte *at = &source[i * f.bytes], *actual = &target[i * t.bytes];
            if (t.is_float) {
               const double expected = f.is_float ? oracle::decode_float(from, at)
                                                  : double(oracle::decode_int(from, at));
               const double bound =
                  2 * oracle::unit_roundoff(to) * std::fabs(expected) + vanishing(device, to);
               const double result = oracle::decode_float(to, actual);
               const bool subnormal =
                  f.is_float && std::fabs(expected) < oracle::smallest_normal(from);
               if (subnormal && result == 0 && !keeps_subnormals(device, from))
                  continue;
               ASSERT_LE(std::fabs(result - expected), bound) << expected;
            } else {
               const Integer expected = f.is_float ? Integer(oracle::decode_float(from, at))
                                                   : oracle::decode_int(from, at);
               std::byte bits[8];
               oracle::encode_int(to, expected, bits);
               ASSERT_EQ(memcmp(bits, actual, t.bytes), 0)
                  << "is " << (long long)oracle::decode_int(to, actual) << ", expected "
                  << (long long)expected;
            }
         }
      }
   }
}

TEST(Types, BitOperations)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   std::vector<uint32_t> source(256);
   for (uint32_t &x : source)
      x = oracle::draw(random, 8) ? uint32_t(random()) >> oracle::draw(random, 32) : 0;
   const ComputeShader shader = {.source_type = "uint",
                                 .target_type = "uint",
                                 .declarations = "",
                                 .body = R"(   const uint x = source.data[id];
   uint at = id * 12;
   target.data[at++] = bitCount(x);
   target.data[at++] = findLSB(x);
   target.data[at++] = findMSB(x);
   target.data[at++] = findMSB(int(x));
   target.data[at++] = bitfieldReverse(x);
   target.data[at++] = bitfieldExtract(x, 5, 9);
   target.data[at++] = bitfieldExtract(int(x), 5, 9);
   target.data[at++] = bitfieldInsert(x, 0x155, 7, 10);
   uint high, low;
   umulExtended(x, 0x9e3779b9u, high, low);
   target.data[at++] = high;
   target.data[at++] = low;
   target.data[at++] = packHalf2x16(unpackHalf2x16(x & 0x7bff7bffu));
   target.data[at++] = floatBitsToUint(uintBitsToFloat(x & 0x7effffffu) * 1.0) == 0u ? 0u : 1u;
)"};
   const std::vector<uint32_t> target =
      run_compute<uint32_t>(device, shader, source, source.size() * 12);
   for (uint32_t id = 0; id < source.size(); id++) {
      const uint32_t x = source[id];
      const auto msb = [](uint32_t v) { return v ? uint32_t(31 - __builtin_clz(v)) : ~0u; };
      uint32_t reversed = 0;
      for (int i = 0; i < 32; i++)
         reversed |= (x >> i & 1) << (31 - i);
      const uint64_t product = uint64_t(x) * 0x9e3779b9u;
      // A factor: a nonzero number, which may be flushed if it is subnormal.
      const uint32_t finite = x & 0x7effffff;
      const uint32_t expected[12] = {
         uint32_t(__builtin_popcount(x)),
         x ? uint32_t(__builtin_ctz(x)) : ~0u,
         msb(x),
         msb(int32_t(x) < 0 ? ~x : x),
         reversed,
         x >> 5 & 0x1ff,
         uint32_t(int32_t(x << 18) >> 23),
         (x & ~(0x3ffu << 7)) | 0x155u << 7,
         uint32_t(product >> 32),
         uint32_t(product),
         x & 0x7bff7bffu,
         finite == 0 ? 0u : 1u,
      };
      const bool may_vanish = finite < 0x00800000 && !keeps_subnormals(device, ComponentType::f32);
      for (uint32_t i = 0; i < (may_vanish ? 11 : 12); i++)
         ASSERT_EQ(target[id * 12 + i], expected[i])
            << "operation " << i << " of " << std::hex << x;
   }
}

/// GLSL of this age has no dot products of packed bytes: other instructions of the same form stand
/// for them.
TEST(Types, IntegerDotProducts)
{
   constexpr uint16_t op_bitwise_or = 197, op_bitwise_xor = 198, op_bitwise_and = 199,
                      op_bit_field_s_extract = 202;
   constexpr uint16_t op_s_dot = 4450, op_u_dot = 4451, op_su_dot = 4452, op_s_dot_acc_sat = 4453;
   Device &device = plain_device();
   if (!device.features13.shaderIntegerDotProduct) {
      skip_case("needs shaderIntegerDotProduct");
      GTEST_SKIP();
   }
   std::vector<uint32_t> spirv = compile_glsl(std::string(glsl_header) + R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer Source { int data[]; } source;
layout(set = 0, binding = 1, std430) buffer Target { int data[]; } target;
void main()
{
   const uint id = gl_GlobalInvocationID.x;
   const int x = source.data[3 * id], y = source.data[3 * id + 1], z = source.data[3 * id + 2];
   target.data[4 * id] = x & y;
   target.data[4 * id + 1] = int(uint(x) ^ uint(y));
   target.data[4 * id + 2] = x | y;
   target.data[4 * id + 3] = bitfieldExtract(x, y, z);
}
)");
   ASSERT_EQ(replace_by_packed_dot(spirv, op_bitwise_and, op_s_dot), 1u);
   ASSERT_EQ(replace_by_packed_dot(spirv, op_bitwise_xor, op_u_dot), 1u);
   ASSERT_EQ(replace_by_packed_dot(spirv, op_bitwise_or, op_su_dot), 1u);
   ASSERT_EQ(replace_by_packed_dot(spirv, op_bit_field_s_extract, op_s_dot_acc_sat), 1u);
   Pipeline pipeline(
      device, spirv,
      {.bindings = {1, 1}, .push_bytes = 0, .subgroup_size = 0, .spec_constants = {}});

   oracle::Random random = test_random();
   constexpr uint32_t count = 256;
   Buffer source(device, 3 * count * 4), target(device, 4 * count * 4);
   for (uint32_t i = 0; i < 3 * count; i++)
      source.as<uint32_t>()[i] = uint32_t(random());
   // Sums that saturate at either bound.
   for (uint32_t id = 0; id < count; id += 2)
      source.as<int32_t>()[3 * id + 2] =
         id % 4 ? INT32_MAX - int32_t(id % 8) : INT32_MIN + int32_t(id % 8);
   oracle::fill_poison(target.bytes());
   pipeline.dispatch({source, target}, {count / 64, 1, 1});
   count_case();
   for (uint32_t id = 0; id < count; id++) {
      const uint32_t x = source.as<uint32_t>()[3 * id], y = source.as<uint32_t>()[3 * id + 1];
      int32_t expected[4] = {};
      for (uint32_t i = 0; i < 4; i++) {
         const uint8_t ux = uint8_t(x >> 8 * i), uy = uint8_t(y >> 8 * i);
         expected[0] += int8_t(ux) * int8_t(uy);
         expected[1] += ux * uy;
         expected[2] += int8_t(ux) * uy;
      }
      expected[3] = int32_t(std::clamp<int64_t>(
         int64_t(expected[0]) + source.as<int32_t>()[3 * id + 2], INT32_MIN, INT32_MAX));
      for (uint32_t i = 0; i < 4; i++)
         ASSERT_EQ(target.as<int32_t>()[4 * id + i], expected[i])
            << "product " << i << " of " << std::hex << x << " and " << y;
   }
}

} // namespace weft::e2e
