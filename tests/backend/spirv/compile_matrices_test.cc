// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The compiler's output for matrices: in registers, and as the driver's own.

#include "backend/spirv/compiler.h"
#include "backend/spirv/words/spirv_text.h"
#include "tests/backend/spirv/compiled.h"
#include "tests/nir_passes/shaders.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace weft {
namespace {

using test::compiled;
using test::count;
using test::has;
using test::options_for;
using test::spirv_versions;

const std::string matrices = R"(
   layout(binding = 0) readonly buffer A { float16_t a[]; };
   layout(binding = 1) readonly buffer B { float16_t b[]; };
   layout(binding = 2) buffer C { float c[]; };
   shared float16_t tile[512];
   layout(buffer_reference, scalar) buffer Floats { float data[]; };
   layout(push_constant, scalar) uniform Push { Floats address; uint stride, count; };
   void main() {
      coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> ma;
      coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb;
      coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> mc =
         coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
      for (uint k = 0; k < count; ++k) {
         tile[gl_LocalInvocationIndex] = b[k * 64 + gl_LocalInvocationIndex];
         barrier();
         coopMatLoad(ma, a, k * 16, stride, gl_CooperativeMatrixLayoutRowMajor);
         coopMatLoad(mb, tile, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
         mc = coopMatMulAdd(ma, mb, mc);
         barrier();
      }
      coopMatStore(mc, c, 0, stride, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(mc, address.data, 0, stride, gl_CooperativeMatrixLayoutRowMajor);
   })";

/// All operations on matrices.
const std::string matrix_operations = R"(
   #define M(type, use) coopmat<type, gl_ScopeSubgroup, 16, 16, use>
   #define ACC gl_MatrixUseAccumulator
   layout(binding = 0) buffer H { float16_t h[]; };
   layout(binding = 1) buffer I { int i[]; };
   layout(binding = 2) buffer J { int8_t j[]; };
   layout(binding = 3) buffer U { uint8_t u[]; };
   void main() {
      M(float16_t, ACC) a = M(float16_t, ACC)(1.5hf);
      M(float, ACC) b = (M(float, ACC)(a) / M(float, ACC)(3) - M(float, ACC)(2)) * 4.0;
      M(int, ACC) c = -M(int, ACC)(b) * M(int, ACC)(3) / M(int, ACC)(2);
      M(uint, ACC) d = M(uint, ACC)(b) / M(uint, ACC)(3);
      M(float, ACC) e = M(float, ACC)(c) + M(float, ACC)(d);
      for (int k = 0; k < e.length(); ++k) {
         e[k] = e[k] * 2;
         c[k] += int(a[k]);
      }
      M(int8_t, gl_MatrixUseA) s;
      M(uint8_t, gl_MatrixUseB) t;
      coopMatLoad(s, j, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(t, u, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
      c = coopMatMulAdd(s, t, c + M(int, ACC)(d), gl_MatrixOperandsSaturatingAccumulation);
      coopMatStore(M(float16_t, ACC)(e) + a, h, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(c, i, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
   })";

const std::string half_arithmetic = R"(
   layout(binding = 0) buffer H { float16_t h[]; };
   layout(binding = 1) buffer S { int16_t s[]; };
   layout(binding = 2) buffer U { uint u[]; };
   layout(binding = 3) buffer L { int64_t l[]; };
   layout(binding = 4) buffer D { double d[]; };
   layout(binding = 5) buffer J { int8_t j[]; };
   layout(binding = 6) buffer F { float f[]; };
   layout(buffer_reference, scalar) buffer Halves { float16_t data[]; };
   layout(push_constant, scalar) uniform Push { Halves address; };
   void main() {
      const uint i = gl_LocalInvocationIndex;
      coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
      coopMatLoad(m, h, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      float16_t x = h[i], sum = 0.0hf;
      for (uint k = 0; k < u[0]; k++)
         sum += x > 2.0hf ? sqrt(x) : min(-x, h[k]) / 3.0hf;
      address.data[i] = sum + address.data[i + 1];
      int16_t y = s[i];
      y = (y / s[i + 1]) << 2s | max(y, s[i + 2]) % 5s ^ (y >> 3s);
      s[i] = y < 7s ? y : -y;
      u[i] = packFloat2x16(f16vec2(x, sum)) + uint(uint16_t(y)) + packHalf2x16(unpackFloat2x16(u[i]));
      l[i] = int64_t(x) + int64_t(y) + packInt4x16(i16vec4(y, s[3], s[4], s[5]));
      d[i] = double(x) + double(y);
      j[i] = int8_t(y) + int8_t(x);
      f[i] = float(y) + float(float16_t(d[i + 1]) + float16_t(u[5]) + float16_t(y) + float16_t(y > 3s));
      h[i] = float16_t(f[i + 1]) + float16_t(l[3]) + uint16BitsToHalf(uint16_t(j[5]));
      coopMatStore(m * x + m, h, 256, 16, gl_CooperativeMatrixLayoutColumnMajor);
   })";

/// The module for a driver with all operations of one shape.
Result<spirv::CompiledModule> compiled_natively(const std::string &glsl, spirv::Driver driver,
                                                uint32_t m, uint32_t n, uint32_t k)
{
   const test::Source source = test::compile(glsl);
   spirv::CompileOptions options = options_for(driver);
   std::ranges::copy_if(options.operations, std::back_inserter(options.native_operations),
                        [&](const auto &op) { return op.m == m && op.n == n && op.k == k; });
   return spirv::compile(source.shader_source(), options);
}

TEST(Compile, NativeMatricesAreValid)
{
   for (const std::string &glsl : {matrices, matrix_operations}) {
      for (const uint32_t version : spirv_versions) {
         SCOPED_TRACE(testing::Message() << "version " << std::hex << version);
         spirv::Driver driver = spirv::full_driver();
         driver.spirv_version = version;
         const auto module = compiled_natively(glsl, driver, 16, 16, 16);
         ASSERT_TRUE(module) << module.error().message;
         const std::string text = spirv::disassemble(module->words);
         const Result<bool> valid = spirv::validate(module->words);
         EXPECT_TRUE(valid) << valid.error().message << text;
         EXPECT_EQ(count(text, "OpCooperativeMatrixMulAddKHR"), 1u) << text;
         EXPECT_EQ(count(text, "OpCapability CooperativeMatrixKHR"), 1u);
      }
   }
}

/// Matrices of halves, and arithmetic of 16 bits, on drivers that can only load and store 16 bits.
TEST(Compile, DriversWithoutArithmeticOf16Bits)
{
   for (const std::string *glsl : {&matrices, &half_arithmetic}) {
      for (const bool floats : {false, true}) {
         for (const bool integers : {false, true}) {
            SCOPED_TRACE(testing::Message() << "floats " << floats << ", integers " << integers);
            spirv::Driver driver = spirv::full_driver();
            driver.float16 = floats;
            driver.int16 = integers;
            const std::string text = compiled(*glsl, driver);
            const bool halves = floats && integers;
            EXPECT_TRUE(has(text, "OpCapability Shader")) << text;
            EXPECT_EQ(has(text, "OpCapability Float16"), halves) << text;
            EXPECT_EQ(has(text, "ackHalf2x16"), !halves || glsl == &half_arithmetic) << text;
            EXPECT_FALSE(!integers && has(text, "OpCapability Int16")) << text;
         }
      }
   }
}

/// Reductions of every kind, beside the driver's matrices, on a driver that does not take both.
TEST(Compile, NativeMatricesWithoutSubgroupArithmetic)
{
   const std::string glsl = R"(
      layout(binding = 0) buffer F { float f[]; };
      layout(binding = 1) buffer H { float16_t h[]; };
      layout(binding = 2) buffer U { uvec2 u[]; };
      void main() {
         coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
         coopMatLoad(m, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
         const uint i = gl_SubgroupInvocationID;
         const float x = subgroupAdd(f[i]) + subgroupExclusiveMul(f[i + 1]);
         if (u[i].x > 5)
            u[i] = subgroupInclusiveMax(u[i]) + subgroupClusteredXor(u[i + 1], 8);
         h[i] = subgroupMin(h[i]) + subgroupExclusiveAdd(h[i + 1]);
         coopMatStore(m * (subgroupOr(x > 1.0) ? x : 2.0), f, 0, 16,
                      gl_CooperativeMatrixLayoutRowMajor);
      })";
   for (const uint32_t version : spirv_versions) {
      for (const bool both : {true, false}) {
         for (const bool native : {true, false}) {
            spirv::Driver driver = spirv::full_driver();
            driver.spirv_version = version;
            driver.subgroup_arithmetic_with_matrices = both;
            driver.subgroup_extended_types = version % 2;
            const auto module = compiled_natively(glsl, driver, native ? 16 : 1, 16, 16);
            ASSERT_TRUE(module) << module.error().message;
            const std::string text = spirv::disassemble(module->words);
            const Result<bool> valid = spirv::validate(module->words);
            EXPECT_TRUE(valid) << valid.error().message << text;
            EXPECT_EQ(has(text, "OpCapability CooperativeMatrixKHR"), native) << text;
            EXPECT_EQ(has(text, "OpCapability GroupNonUniformArithmetic"), both || !native) << text;
         }
      }
   }
}

TEST(Compile, OwnMatricesAreLeftOutWhereTheyAreHarmful)
{
   for (const bool own : {true, false}) {
      spirv::Driver driver = spirv::full_driver();
      driver.own_matrices = own;
      const auto module = compiled_natively(matrices, driver, 16, 16, 16);
      ASSERT_TRUE(module) << module.error().message;
      const std::string text = spirv::disassemble(module->words);
      EXPECT_EQ(has(text, "OpCapability CooperativeMatrixKHR"), own) << text;
   }
}

/// For example two accumulators of 16×8 instead of one of 16×16. A saturating sum cannot be built
/// from 8×8×8.
TEST(Compile, NativeMatricesAreBuiltFromTheDriversShapes)
{
   for (const auto &[glsl, n, k, products] : {std::tuple(matrices, 16u, 16u, 1u),
                                              {matrices, 8u, 16u, 2u},
                                              {matrices, 8u, 8u, 4u},
                                              {matrix_operations, 8u, 16u, 2u},
                                              {matrix_operations, 8u, 8u, 0u}}) {
      const auto module = compiled_natively(glsl, spirv::full_driver(), 16, n, k);
      ASSERT_TRUE(module) << module.error().message;
      const std::string text = spirv::disassemble(module->words);
      EXPECT_TRUE(spirv::validate(module->words)) << text;
      EXPECT_EQ(count(text, "OpCooperativeMatrixMulAddKHR"), products) << text;
      EXPECT_EQ(has(text, "CooperativeMatrix"), products > 0);
   }
}

const std::string tensor_addressing = R"(
   #extension GL_NV_cooperative_matrix2 : enable
   layout(binding = 0) buffer A { float16_t a[]; };
   layout(constant_id = 0) const uint M = 128;
   layout(constant_id = 1) const uint K = 64;
   void main() {
      coopmat<float16_t, gl_ScopeWorkgroup, M, K, gl_MatrixUseA> m;
      tensorLayoutNV<2> layout_of_a = createTensorLayoutNV(2);
      layout_of_a = setTensorLayoutDimensionNV(layout_of_a, 128, 64);
      coopMatLoadTensorNV(m, a, 0, sliceTensorLayoutNV(layout_of_a, 0, M, 0, K));
      a[0] = m[0];
   })";

TEST(Compile, TellsADriversOwnMatricesFromOthers)
{
   const test::Source source = test::compile(matrices);
   const auto f = ComponentType::f16, g = ComponentType::f32;
   const std::vector<MatrixOperation> none, same = {{16, 16, 16, f, f, g, g, false}},
                                            other = {{16, 8, 16, f, f, g, g, false}};
   const auto owner = [&](const auto &operations, const auto &native) {
      return spirv::matrix_owner(nullptr, source.shader_source(), 32, {operations}, {native});
   };
   using enum spirv::MatrixOwner;
   EXPECT_EQ(owner(same, none), layer_only);
   EXPECT_EQ(owner(same, other), layer);
   EXPECT_EQ(owner(same, same), driver);
   EXPECT_EQ(owner(other, other), unknown);
   // The layer's own operations of flexible dimensions.
   EXPECT_EQ(spirv::matrix_owner(nullptr, source.shader_source(), 32,
                                 {other, {{{8, 8, 8, f, f, g, g, false}, 64}}}, {other}),
             layer);
   const std::vector<uint32_t> words(source.spirv.begin(), source.spirv.begin() + 40);
   EXPECT_EQ(spirv::matrix_owner(nullptr, {words, "main", {}}, 32, {same}, {none}), unknown);

   // Matrices of a workgroup, and operations of later extensions on them, may be the driver's only.
   EXPECT_EQ(spirv::matrix_owner(nullptr, test::compile(tensor_addressing).shader_source(), 32,
                                 {same}, {same}),
             unknown);
   std::string workgroup = matrices;
   for (size_t at; (at = workgroup.find("gl_ScopeSubgroup")) != std::string::npos;)
      workgroup.replace(at, strlen("gl_ScopeSubgroup"), "gl_ScopeWorkgroup");
   EXPECT_EQ(
      spirv::matrix_owner(nullptr, test::compile(workgroup).shader_source(), 32, {same}, {same}),
      unknown);

   // Component types that the driver lacks in a use; the layer may support them or not.
   const auto b = ComponentType::bf16;
   for (const MatrixOperation &lacking : {MatrixOperation{16, 16, 16, b, f, g, g, false},
                                          {16, 16, 16, f, b, g, g, false},
                                          {16, 16, 16, f, f, f, f, false}}) {
      EXPECT_EQ(owner(same, std::vector{lacking}), layer_only);
      EXPECT_EQ(owner(other, std::vector{lacking}), layer_only);
      // Types of the driver's extensions are its own.
      EXPECT_EQ(
         spirv::matrix_owner(nullptr, source.shader_source(), 32, {same}, {{lacking}, other}),
         layer);
   }
}

TEST(SupportedOperations, FollowTheDriver)
{
   using enum ComponentType;
   const auto uses = [](const std::vector<MatrixOperation> &list, ComponentType type) {
      return std::ranges::any_of(
         list, [&](const MatrixOperation &o) { return o.a == type || o.result == type; });
   };
   spirv::Driver driver = spirv::full_driver();
   const auto full = spirv::supported_operations(driver, 32);
   for (const ComponentType type : {f16, f32, f64, s8, u8, s32, u32})
      EXPECT_TRUE(uses(full, type)) << int(type);
   EXPECT_TRUE(spirv::supported_operations(driver, 2).empty());
   EXPECT_TRUE(spirv::supported_operations(driver, 48).empty());

   driver.float16 = driver.int16 = false;
   EXPECT_TRUE(uses(spirv::supported_operations(driver, 32), f16));
   driver.storage_buffer_8bit = driver.storage_buffer_16bit = false;
   EXPECT_TRUE(uses(spirv::supported_operations(driver, 32), f16));
   EXPECT_TRUE(uses(spirv::supported_operations(driver, 32), s8));
   driver.int8 = false;
   EXPECT_TRUE(uses(spirv::supported_operations(driver, 32), s8));
   driver.float64 = false;
   EXPECT_FALSE(uses(spirv::supported_operations(driver, 32), f64));
   EXPECT_TRUE(uses(spirv::supported_operations(driver, 32), f32));
   driver.subgroup_operations = 0;
   EXPECT_TRUE(spirv::supported_operations(driver, 32).empty());
}

/// The bounds come from the buffer; accesses to shared and global memory are not checked.
TEST(Compile, RobustMatrices)
{
   const test::Source source = test::compile(matrices);
   for (bool robust : {false, true}) {
      spirv::CompileOptions options = options_for(spirv::full_driver());
      options.robust_access = robust;
      for (uint32_t version : spirv_versions) {
         options.driver.spirv_version = version;
         const auto module = spirv::compile(source.shader_source(), options);
         ASSERT_TRUE(module) << module.error().message;
         const Result<bool> valid = spirv::validate(module->words);
         EXPECT_TRUE(valid) << valid.error().message << spirv::disassemble(module->words);
         EXPECT_EQ(count(spirv::disassemble(module->words), "= OpArrayLength"), robust ? 2u : 0u);
      }
   }
}

const std::string bytes = R"(
   layout(binding = 0, scalar) buffer A { int8_t a[]; };
   layout(binding = 1, scalar) buffer B { uint8_t b[]; };
   layout(binding = 2, scalar) buffer C { int c[]; };
   void main() {
      coopmat<int8_t, gl_ScopeSubgroup, 16, 32, gl_MatrixUseA> ma;
      coopmat<uint8_t, gl_ScopeSubgroup, 32, 16, gl_MatrixUseB> mb;
      coopmat<int, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> mc;
      coopMatLoad(ma, a, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(mb, b, 0, 32, gl_CooperativeMatrixLayoutColumnMajor);
      coopMatLoad(mc, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      mc = coopMatMulAdd(ma, mb, mc);
      coopMatStore(mc, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   })";

/// Bytes that lie along k in memory are loaded in the order that the dot products need, so no byte
/// moves.
TEST(Compile, BytesAreMultipliedByDotProducts)
{
   spirv::Driver driver = spirv::full_driver();
   for (uint32_t version : spirv_versions) {
      driver.spirv_version = version;
      const std::string text = compiled(bytes, driver);
      EXPECT_EQ(count(text, "= OpSUDot"), 64u) << text;
      EXPECT_EQ(has(text, "\"SPV_KHR_integer_dot_product\""), version < 0x00010600);
      for (const char *word : {"OpIMul", "Convert", "OpBitcast", "Int8", "%uchar"})
         EXPECT_FALSE(has(text, word)) << word;
   }
   /* Robust access moves bytes only at the edge: four bytes for each of 4×8 and 2×8 words. */
   spirv::CompileOptions options = options_for(driver);
   options.robust_access = true;
   const test::Source source = test::compile(bytes);
   const auto robust = spirv::compile(source.shader_source(), options);
   ASSERT_TRUE(robust) << robust.error().message;
   const std::string text = spirv::disassemble(robust->words);
   EXPECT_EQ(count(text, "= OpSUDot"), 64u);
   EXPECT_EQ(count(text, "= OpBitcast"), 48u);
   EXPECT_FALSE(has(text, "Convert"));

   driver.integer_dot_product = false;
   const std::string without = compiled(bytes, driver);
   EXPECT_FALSE(has(without, "Dot"));
   EXPECT_EQ(count(without, "= OpIMul"), 256u);
}

} // namespace
} // namespace weft
