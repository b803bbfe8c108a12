// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Small shaders for drivers that lack any one or two features, or all of them: the module is
/// valid, or the compiler names a feature that the driver lacks.

#include "backend/spirv/words/spirv_text.h"
#include "tests/backend/spirv/compiled.h"
#include "tools/runner/runner.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace weft {
namespace {

struct Feature {
   const char *name;
   bool spirv::Driver::*member;
};

/// The features of types, which come in pairs.
constexpr Feature types[] = {
   {"int8", &spirv::Driver::int8},
   {"int16", &spirv::Driver::int16},
   {"int64", &spirv::Driver::int64},
   {"float16", &spirv::Driver::float16},
   {"float64", &spirv::Driver::float64},
   {"storage_buffer_8bit", &spirv::Driver::storage_buffer_8bit},
   {"storage_buffer_16bit", &spirv::Driver::storage_buffer_16bit},
};
constexpr Feature others[] = {
   {"subgroup_extended_types", &spirv::Driver::subgroup_extended_types},
   {"vulkan_memory_model_device_scope", &spirv::Driver::vulkan_memory_model_device_scope},
   {"buffer_device_address", &spirv::Driver::buffer_device_address},
   {"integer_dot_product", &spirv::Driver::integer_dot_product},
   {"partial_barriers", &spirv::Driver::partial_barriers},
   {"subgroup_arithmetic_with_matrices", &spirv::Driver::subgroup_arithmetic_with_matrices},
   {"own_matrices", &spirv::Driver::own_matrices},
};

struct LesserDriver {
   std::string name;
   spirv::Driver driver = spirv::full_driver();

   void drop(const Feature &feature)
   {
      name += std::string(" without ") + feature.name;
      driver.*feature.member = false;
   }
};

std::vector<LesserDriver> lesser_drivers()
{
   std::vector<LesserDriver> list(1);
   LesserDriver least;
   for (const auto &features :
        {std::span<const Feature>(types), std::span<const Feature>(others)}) {
      for (const Feature &feature : features) {
         least.drop(feature);
         list.emplace_back().drop(feature);
      }
   }
   list.push_back(least);
   for (const Feature &first : types) {
      for (const Feature &second : types) {
         if (first.member == second.member)
            break;
         LesserDriver &lesser = list.emplace_back();
         lesser.drop(first);
         lesser.drop(second);
      }
   }
   return list;
}

/// Compiles the shader for drivers with all matrices or without any.
void expect_modules(const std::string &glsl, bool native = false)
{
   const test::Source source = test::compile(glsl);
   unsigned compiled = 0;
   for (const LesserDriver &lesser : lesser_drivers()) {
      SCOPED_TRACE("a driver" + lesser.name);
      spirv::CompileOptions options = test::options_for(lesser.driver);
      if (native)
         options.native_operations = options.operations;
      const auto module = spirv::compile(source.shader_source(), options);
      if (!module) {
         const std::string &why = module.error().message;
         EXPECT_TRUE(test::has(why, "lacks")) << why;
         EXPECT_FALSE(lesser.name.empty()) << why;
         continue;
      }
      ++compiled;
      const Result<bool> valid = spirv::validate(module->words);
      EXPECT_TRUE(valid) << (valid ? "" : valid.error().message)
                         << spirv::disassemble(module->words);
   }
   EXPECT_GE(compiled, 10u);
}

TEST(DriverFeatures, SubgroupOperationsOnHalves)
{
   expect_modules(R"(
      layout(binding = 0) buffer B { float16_t b[]; };
      layout(binding = 1) buffer F { uint f[]; };
      void main() {
         const uint i = gl_LocalInvocationIndex;
         const float16_t x = b[i];
         b[i] = subgroupAdd(x) + subgroupMul(x) + subgroupMin(x) + subgroupMax(x) +
                subgroupInclusiveAdd(x) + subgroupExclusiveMin(x) + subgroupClusteredMax(x, 4) +
                subgroupBroadcast(x, 3) + subgroupBroadcastFirst(x) + subgroupShuffle(x, i & 3) +
                subgroupShuffleXor(x, 1) + subgroupShuffleUp(x, 1) + subgroupShuffleDown(x, 1) +
                subgroupQuadBroadcast(x, 1) + subgroupQuadSwapDiagonal(x) + subgroupRotate(x, 1);
         f[i] = uint(subgroupAllEqual(x)) + uint(subgroupAllEqual(f16vec2(x, b[i + 64])));
      })");
}

TEST(DriverFeatures, SubgroupOperationsOnSmallIntegers)
{
   for (const char *type : {"int8_t", "uint8_t", "int16_t", "uint16_t", "int64_t"}) {
      SCOPED_TRACE(type);
      expect_modules(std::string("#define T ") + type + R"(
         layout(binding = 0) buffer B { T b[]; };
         layout(binding = 1) buffer F { uint f[]; };
         void main() {
            const uint i = gl_LocalInvocationIndex;
            const T x = b[i];
            b[i] = subgroupAdd(x) + subgroupMin(x) + subgroupExclusiveMax(x) + subgroupInclusiveXor(x) +
                   subgroupShuffle(x, i & 3) + subgroupRotate(x, 1) + subgroupQuadSwapHorizontal(x) +
                   subgroupClusteredAnd(x, 4) + subgroupBroadcastFirst(x);
            f[i] = uint(subgroupAllEqual(x));
         })");
   }
}

/// Atomic operations need types for which the driver may have no arithmetic.
TEST(DriverFeatures, AtomicOperationsOnFloats)
{
   for (const char *type : {"float16_t", "float", "double"}) {
      SCOPED_TRACE(type);
      expect_modules(std::string("#extension GL_EXT_shader_atomic_float : enable\n"
                                 "#extension GL_EXT_shader_atomic_float2 : enable\n#define T ") +
                     type + R"(
         layout(binding = 0) buffer B { T b[]; };
         layout(buffer_reference, scalar) buffer Reference { T r[]; };
         layout(push_constant) uniform Push { Reference reference; };
         shared T s[4];
         void main() {
            const uint i = gl_LocalInvocationIndex;
            T x = atomicAdd(b[1], b[i]) + atomicMin(b[2], b[i]) + atomicExchange(b[3], b[i]);
            x += atomicMax(reference.r[2], x);
            x += atomicAdd(s[i & 3], x) + atomicExchange(s[i & 3], x);
            b[i + 64] = x;
         })");
   }
}

TEST(DriverFeatures, Conversions)
{
   expect_modules(R"(
      layout(binding = 0) buffer H { float16_t h[]; };
      layout(binding = 1) buffer C { int8_t c[]; };
      layout(binding = 2) buffer S { uint16_t s[]; };
      layout(binding = 3) buffer U { uint u[]; };
      shared float16_t sh[64];
      shared int8_t sc[64];
      void main() {
         const uint i = gl_LocalInvocationIndex;
         const float16_t x = h[i];
         const int8_t y = c[i];
         const uint16_t z = s[i];
         sh[i] = x * float16_t(y) + float16_t(z);
         sc[i] = int8_t(x) + y;
         barrier();
         h[i] = mix(sh[63 - i], x, y > 3) + float16_t(u[i]);
         c[i] = sc[63 - i] >> (y & int8_t(3));
         s[i] = z / uint16_t(3) + uint16_t(y) + float16BitsToUint16(x);
         u[i] = packFloat2x16(f16vec2(x, h[1])) + pack32(u8vec4(y)) + pack32(u16vec2(z)) +
                uint(isnan(x)) + uint(x > float16_t(2)) + bitCount(u[i]);
      })");
}

TEST(DriverFeatures, WideTypes)
{
   expect_modules(R"(
      layout(binding = 0) buffer D { double d[]; };
      layout(binding = 1) buffer L { int64_t l[]; };
      layout(binding = 2) buffer H { float16_t h[]; };
      void main() {
         const uint i = gl_LocalInvocationIndex;
         d[i] = d[i + 1] * 2 + double(h[i]) + double(l[i]);
         l[i] = l[i + 1] / 3 + int64_t(d[i]) + int64_t(h[i]);
         h[i] = float16_t(d[i]) + float16_t(l[i]);
      })");
}

TEST(DriverFeatures, Memory)
{
   expect_modules(R"(
      layout(binding = 0) coherent buffer A { uint8_t a[]; };
      layout(binding = 1) volatile buffer B { f16vec3 b[]; };
      layout(buffer_reference, scalar) coherent buffer Reference { uint8_t r[]; };
      layout(push_constant) uniform Push { Reference reference; uint n; };
      layout(binding = 2) buffer C { uint c[]; } many[2];
      void main() {
         const uint i = gl_LocalInvocationIndex;
         b[i] = b[i + n];
         a[i] = reference.r[i + n];
         memoryBarrierBuffer();
         subgroupMemoryBarrier();
         reference.r[i] = a[i + 1];
         atomicAdd(many[n & 1].c[0], i);
      })");
}

TEST(DriverFeatures, Matrices)
{
   for (const char *type : {"float16_t", "float", "int8_t"}) {
      for (const bool native : {false, true}) {
         SCOPED_TRACE(testing::Message() << type << (native ? ", the driver's" : ""));
         const bool is_byte = type == std::string("int8_t");
         expect_modules(std::string("#define T ") + type + "\n#define R " +
                           (is_byte ? "int" : type) + R"(
            layout(binding = 0) buffer A { T a[]; };
            layout(binding = 1) buffer C { R c[]; };
            shared T s[512];
            void main() {
               coopmat<T, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x;
               coopmat<T, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> y;
               coopmat<R, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> z;
               s[gl_LocalInvocationIndex] = a[gl_LocalInvocationIndex];
               barrier();
               coopMatLoad(x, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
               coopMatLoad(y, s, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
               coopMatLoad(z, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
               for (int i = 0; i < x.length(); ++i)
                  x[i] = x[i] * a[i] + T(3);
               z = coopMatMulAdd(x, y, z) * c[1];
               c[gl_LocalInvocationIndex + 512] = z[0];
               coopMatStore(z, c, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
            })",
                        native);
      }
   }
}

/// Conversions in registers and of the driver's matrices.
TEST(DriverFeatures, ConversionsOfMatrices)
{
   for (const bool native : {false, true}) {
      SCOPED_TRACE(native);
      expect_modules(R"(
         layout(binding = 0) buffer A { float16_t a[]; };
         layout(binding = 1) buffer C { float c[]; };
         layout(binding = 2) buffer S { int8_t s[]; };
         #define M(T) coopmat<T, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
         void main() {
            M(float16_t) x;
            M(int8_t) b;
            coopMatLoad(x, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
            coopMatLoad(b, s, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
            M(float16_t) y = M(float16_t)(b) + x * float16_t(c[3]);
            coopMatStore(y, a, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
            coopMatStore(M(int8_t)(y), s, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
         })",
                     native);
   }
}

/// A product of matrices of an encoded float, 1.5 in all of A and 2 in all of B.
test::Source encoded_product(const std::string &type, const std::string &capabilities,
                             const std::string &extension, const std::string &numbers)
{
   return {.spirv = test::assemble(R"(
      OpCapability Shader
      OpCapability CooperativeMatrixKHR
      OpCapability VulkanMemoryModel
      )" + capabilities + R"(
      OpExtension "SPV_KHR_cooperative_matrix"
      OpExtension ")" + extension + R"("
      OpMemoryModel Logical Vulkan
      OpEntryPoint GLCompute %main "main" %x
      OpExecutionMode %main LocalSize 16 1 1
      OpDecorate %words ArrayStride 4
      OpDecorate %block Block
      OpMemberDecorate %block 0 Offset 0
      OpDecorate %x DescriptorSet 0
      OpDecorate %x Binding 0
      %void = OpTypeVoid
      %function = OpTypeFunction %void
      %uint = OpTypeInt 32 0
      %float = OpTypeFloat 32
      %encoded = OpTypeFloat )" + type +
                                      R"(
      %0 = OpConstant %uint 0
      %1 = OpConstant %uint 1
      %2 = OpConstant %uint 2
      %3 = OpConstant %uint 3
      %16 = OpConstant %uint 16
      %f0 = OpConstant %float 0
      )" + numbers + R"(
      %words = OpTypeRuntimeArray %float
      %block = OpTypeStruct %words
      %ptr_block = OpTypePointer StorageBuffer %block
      %ptr = OpTypePointer StorageBuffer %float
      %x = OpVariable %ptr_block StorageBuffer
      %A = OpTypeCooperativeMatrixKHR %encoded %3 %16 %16 %0
      %B = OpTypeCooperativeMatrixKHR %encoded %3 %16 %16 %1
      %C = OpTypeCooperativeMatrixKHR %float %3 %16 %16 %2
      %a = OpConstantComposite %A %e1_5
      %b = OpConstantComposite %B %e2
      %c = OpConstantComposite %C %f0
      %main = OpFunction %void None %function
      %entry = OpLabel
      %to = OpAccessChain %ptr %x %0 %0
      %d = OpCooperativeMatrixMulAddKHR %C %a %b %c
      OpCooperativeMatrixStoreKHR %to %d %0 %16
      OpReturn
      OpFunctionEnd)",
                                   0x00010500),
           .constant_values = {},
           .constant_ids = {}};
}

/// The back end has no types for them: a driver's matrices of 16 or 8 bits are not these.
TEST(DriverFeatures, EncodedFloatsAreNotLeftToTheDriver)
{
   const test::Source sources[] = {
      encoded_product("16 BFloat16KHR",
                      "OpCapability BFloat16TypeKHR\nOpCapability BFloat16CooperativeMatrixKHR",
                      "SPV_KHR_bfloat16",
                      "%e1_5 = OpConstant %encoded 0x3fc0\n%e2 = OpConstant %encoded 0x4000"),
      encoded_product(
         "8 Float8E4M3EXT", "OpCapability Float8EXT\nOpCapability Float8CooperativeMatrixEXT",
         "SPV_EXT_float8", "%e1_5 = OpConstant %encoded 0x3c\n%e2 = OpConstant %encoded 0x40")};
   for (const test::Source &source : sources) {
      spirv::CompileOptions options = test::options_for(spirv::full_driver());
      options.native_operations = options.operations;
      EXPECT_TRUE(
         std::ranges::any_of(options.native_operations, std::not_fn(spirv::may_be_native)));
      const auto module = spirv::compile(source.shader_source(), options);
      ASSERT_TRUE(module) << module.error().message;
      const Result<bool> valid = spirv::validate(module->words);
      const std::string text = spirv::disassemble(module->words);
      EXPECT_TRUE(valid) << (valid ? "" : valid.error().message) << text;
      EXPECT_FALSE(test::has(text, "OpTypeCooperativeMatrixKHR")) << text;

      runner::Path path;
      path.through_spirv = true;
      path.subgroup_size = 16;
      const auto found = runner::run(
         {.source = source.shader_source(), .buffers = {{{0, 0}, std::vector<std::byte>(1024)}}},
         path);
      ASSERT_TRUE(found) << found.error().message;
      float numbers[256];
      memcpy(numbers, found->front().bytes.data(), sizeof(numbers));
      for (const float number : numbers)
         ASSERT_EQ(number, 48);
   }
}

} // namespace
} // namespace weft
