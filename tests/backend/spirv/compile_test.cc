// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What the compiler makes of small shaders: valid for each version of SPIR-V, with what it should keep, and asking for no more than it needs.

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

const std::string memory = R"(
   layout(std140, binding = 0) uniform U { vec4 v[4]; float f; mat3 m; uvec2 pair; } u;
   layout(std430, binding = 1) buffer S { uint n; uint64_t big; uint8_t bytes[]; } s[4];
   layout(binding = 2) coherent buffer T { uint t[]; };
   layout(binding = 3) volatile buffer W { uint w[]; };
   layout(scalar, binding = 4) restrict readonly buffer R { f16vec3 r[]; };
   layout(binding = 5) buffer D { uint d[]; } many[];
   layout(push_constant) uniform Push { uint i; uint j; vec2 offset[3]; };
   shared uint sums[64];
   void main() {
      const uint id = gl_GlobalInvocationID.x;
      float values[7];
      for (uint k = 0; k < 7; ++k)
         values[k] = u.v[k & 3][k >> 1] + float(r[k].y);
      t[id] = uint(values[id % 7] + u.m[1][2] + offset[j].y);
      w[id] = w[id + 1] + s[i & 3].bytes.length() + u.pair.y;
      s[1].bytes[id] = uint8_t(id);
      atomicAdd(sums[id & 63], 3);
      atomicMax(s[0].n, id);
      atomicCompSwap(t[0], id, 5);
      atomicAdd(s[2].big, 0x100000000ul);
      memoryBarrierBuffer();
      barrier();
      many[nonuniformEXT(id)].d[0] = sums[id & 63] + many[i].d.length();
   })";

const std::string control_flow = R"(
   layout(binding = 0) buffer B { int b[]; };
   int f(int x) { if (x > 3) return x * 2; for (int i = 0; i < x; ++i) { if (b[i] == 7) return i; } return -1; }
   void main() {
      int n = int(gl_LocalInvocationIndex), sum = 0;
      for (int i = 0; i < n; ++i) {
         if ((i & 3) == 1) continue;
         do { sum += f(i); if (sum > 1000) break; } while (b[sum & 63] < i);
         switch (sum % 5) { case 0: sum += 1; case 1: sum *= 3; break; case 4: continue; default: sum -= i; }
      }
      b[n] = sum;
   })";

const std::string subgroups = R"(
   layout(binding = 0) buffer B { uint b[]; };
   layout(binding = 1) buffer F { float f[]; };
   layout(binding = 2) buffer V { uvec4 v[]; };
   void main() {
      uint x = b[gl_GlobalInvocationID.x];
      float y = f[gl_GlobalInvocationID.x];
      bool p = x > 3;
      uint r = subgroupAdd(x) + subgroupExclusiveMin(x) + subgroupInclusiveXor(x) + subgroupClusteredMax(x, 4);
      r += subgroupShuffle(x, x & 3) + subgroupShuffleXor(x, 1) + subgroupShuffleUp(x, 1) + subgroupShuffleDown(x, 2);
      r += subgroupBroadcast(x, 3) + subgroupBroadcastFirst(x) + subgroupQuadBroadcast(x, 1);
      r += subgroupQuadSwapHorizontal(x) + subgroupQuadSwapVertical(x) + subgroupQuadSwapDiagonal(x);
      r += uint(subgroupElect()) + uint(subgroupAny(p)) + uint(subgroupAll(p)) + uint(subgroupAllEqual(y));
      uvec4 m = subgroupBallot(p);
      r += subgroupBallotBitCount(m) + subgroupBallotInclusiveBitCount(m) + subgroupBallotFindLSB(m);
      r += uint(subgroupInverseBallot(m)) + uint(subgroupBallotBitExtract(m, x));
      r += subgroupRotate(x, 3) + gl_SubgroupID + gl_NumSubgroups + gl_SubgroupSize + gl_SubgroupLtMask.x;
      f[gl_GlobalInvocationID.x] = subgroupMul(y) + subgroupMin(y) + subgroupExclusiveAdd(y);
      v[gl_GlobalInvocationID.x] = m + subgroupAdd(v[x]);
      b[gl_GlobalInvocationID.x] = r + uint(subgroupOr(p));
   })";

const std::string images = R"(
   #extension GL_EXT_samplerless_texture_functions : enable
   #extension GL_EXT_texture_shadow_lod : enable
   layout(binding = 0) uniform sampler2D plain;
   layout(binding = 1) uniform texture2D textures[4];
   layout(binding = 2) uniform sampler samplers[2];
   layout(binding = 3, rgba8) uniform image2D target;
   layout(binding = 4, r32ui) uniform coherent uimage1D counters;
   layout(binding = 5, r32i) uniform iimageBuffer texels;
   layout(binding = 6) uniform usamplerBuffer fetched;
   layout(binding = 7) uniform sampler2DArrayShadow shadow;
   layout(binding = 8, rgba16f) uniform writeonly image2DArray layers[3];
   layout(binding = 9) uniform samplerCube cube;
   layout(binding = 10) uniform sampler2DMS samples;
   layout(binding = 11) buffer B { vec4 b[]; };
   layout(binding = 12) uniform isampler3D volume;
   void main() {
      const uint id = gl_GlobalInvocationID.x;
      const vec2 at = vec2(id) / 64;
      vec4 sum = textureLod(plain, at, 1.0) + textureLodOffset(plain, at, 0.0, ivec2(1, -1));
      sum += textureGrad(plain, at, vec2(0.1), vec2(0.2)) + textureGather(plain, at, 2);
      sum += textureLod(sampler2D(textures[nonuniformEXT(id & 3)], samplers[1]), at, 0.0);
      sum += texelFetch(textures[id & 1], ivec2(id), 0) + textureLod(cube, vec3(at, 1), 0.0);
      sum += imageLoad(target, ivec2(id)) + texelFetch(samples, ivec2(id), 2) + vec4(texelFetch(volume, ivec3(id), 1));
      sum.x += textureLod(shadow, vec4(at, 1, 0.5), 0.0) + float(texelFetch(fetched, int(id)).y);
      imageStore(target, ivec2(id), sum);
      imageStore(layers[id % 3], ivec3(id), sum);
      sum.y += float(imageAtomicAdd(counters, int(id), 3) + imageAtomicMin(texels, int(id), -3));
      imageStore(texels, int(id), ivec4(sum));
      sum.z += float(imageSize(target).x + imageSize(counters) + textureSize(plain, 0).y + textureSize(fetched));
      sum.w += float(textureQueryLevels(plain) + textureSamples(samples) + imageAtomicCompSwap(counters, 0, 1, 2));
      b[id] = sum;
   })";

const std::string types = R"(
   layout(binding = 0) buffer B { uint b[]; };
   layout(binding = 1) buffer D { double d[]; };
   layout(binding = 2) buffer L { int64_t l[]; };
   layout(binding = 3) buffer H { float16_t h[]; };
   layout(binding = 4) buffer C { i8vec4 c[]; };
   void main() {
      const uint id = gl_GlobalInvocationID.x;
      d[id] = sqrt(d[id]) * d[id + 1] + double(l[id]) + floor(d[0]);
      l[id] = (l[id] / 3) << (id & 63) | int64_t(d[3]) + abs(l[5]) % 7;
      h[id] = exp2(h[id]) + float16_t(b[1]) * sin(h[3]) + pow(h[4], h[5]) + mod(h[6], h[7]);
      c[id] = c[id + 1] * c[2] - i8vec4(h[id]);
      precise float p = float(b[2]) * 1.5 + float(b[3]);
      uint carry, low, high;
      umulExtended(b[4], b[5], high, low);
      b[id] = findMSB(b[6]) + bitCount(b[7]) + bitfieldReverse(b[8]) + findLSB(b[9]) + uaddCarry(b[1], b[2], carry) +
              packHalf2x16(vec2(p, b[1])) + packUnorm4x8(vec4(p)) + high + uint(isnan(p)) + uint(isinf(p)) +
              bitfieldExtract(b[3], 3, 5) + uint(unpackHalf2x16(b[4]).y) + uint(sign(p)) + carry + uint(atan(p, 2.0)) +
              uint(ldexp(p, 3)) + uint(roundEven(p)) + uint(smoothstep(0.0, 1.0, p)) + uint(unpackSnorm2x16(b[1]).x);
   })";

struct Shader {
   const char *name;
   const std::string &glsl;
};

const Shader all_shaders[] = {
   {"matrices", matrices},   {"memory", memory}, {"control_flow", control_flow},
   {"subgroups", subgroups}, {"images", images}, {"types", types}};

TEST(Compile, EveryVersionIsValid)
{
   for (const Shader &shader : all_shaders) {
      const test::Source source = test::compile(shader.glsl);
      for (const uint32_t version : spirv_versions) {
         SCOPED_TRACE(testing::Message() << shader.name << ", version " << std::hex << version);
         spirv::Driver driver = spirv::full_driver();
         driver.spirv_version = version;
         const auto module = spirv::compile(source.shader_source(), options_for(driver));
         ASSERT_TRUE(module) << module.error().message;
         const Result<bool> valid = spirv::validate(module->words);
         EXPECT_TRUE(valid) << valid.error().message << spirv::disassemble(module->words);
      }
   }
}

TEST(Compile, EverySubgroupSizeIsValid)
{
   for (const uint32_t size : {4, 8, 16, 32, 64, 128}) {
      SCOPED_TRACE(testing::Message() << size << " invocations");
      const std::string text = compiled(matrices, spirv::full_driver(), size);
      EXPECT_TRUE(has(text, "OpEntryPoint GLCompute")) << text;
      EXPECT_FALSE(has(text, "CooperativeMatrix"));
      EXPECT_FALSE(has(text, "Shuffle"));
   }
}

/// What glslang makes of shared memory with the Vulkan memory model: it is said with each access.
TEST(Compile, AvailabilityOfSharedMemoryIsSaidWithAccesses)
{
   const std::string text = compiled(R"(
      #pragma use_vulkan_memory_model
      shared uint s[64];
      layout(binding = 0) buffer B { uint b[]; };
      void main() {
         s[gl_LocalInvocationIndex] = b[gl_LocalInvocationIndex];
         barrier();
         b[gl_LocalInvocationIndex] = s[gl_LocalInvocationIndex ^ 1];
      })");
   EXPECT_EQ(count(text, "MakePointerAvailable"), 1u) << text;
   EXPECT_EQ(count(text, "MakePointerVisible"), 1u) << text;
   EXPECT_EQ(count(text, "Barrier"), 1u) << text;
}

TEST(Compile, PartialBarriersAreLeftOutWhereTheyAreHarmful)
{
   const std::string glsl = R"(
      shared uint s[64];
      layout(binding = 0) buffer B { uint b[]; };
      void main() {
         s[gl_LocalInvocationIndex] = b[gl_LocalInvocationIndex];
         controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared,
                        gl_SemanticsAcquireRelease);
         b[gl_LocalInvocationIndex] = s[gl_LocalInvocationIndex ^ 1];
      })";
   EXPECT_EQ(count(compiled(glsl), "OpControlBarrier"), 1u);
   spirv::Driver driver = spirv::full_driver();
   driver.partial_barriers = false;
   EXPECT_EQ(count(compiled(glsl, driver), "Barrier"), 0u);
   EXPECT_FALSE(has(compiled("#pragma use_vulkan_memory_model\n" + glsl, driver), "MakePointer"));
}

/// Everything that can be done with a matrix.
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

/// For a driver with all that there is in one shape.
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

/// Matrices of halves, and arithmetic of 16 bits, on drivers that can but store these.
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

TEST(Compile, TellsHowTheModuleHasToRun)
{
   for (const bool matrix : {true, false}) {
      const test::Source source = test::compile(matrix ? matrices : control_flow);
      const auto module = spirv::compile(source.shader_source(), options_for(spirv::full_driver()));
      ASSERT_TRUE(module) << module.error().message;
      EXPECT_EQ(module->local_size[0], 64u);
      EXPECT_EQ(module->local_size[1], 1u);
      EXPECT_EQ(module->local_size[2], 1u);
      EXPECT_EQ(module->needs_full_subgroups, matrix);
   }
}

/// Two accumulators of 16×8 instead of one of 16×16; for the saturating sum 8×8×8 will not do.
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
      return spirv::matrix_owner(nullptr, source.shader_source(), 32, {operations}, native);
   };
   using enum spirv::MatrixOwner;
   EXPECT_EQ(owner(same, none), layer);
   EXPECT_EQ(owner(same, other), layer);
   EXPECT_EQ(owner(same, same), driver);
   EXPECT_EQ(owner(other, none), unknown);
   // The layer's own of flexible dimensions.
   EXPECT_EQ(spirv::matrix_owner(nullptr, source.shader_source(), 32,
                                 {other, {{{8, 8, 8, f, f, g, g, false}, 64}}}, other),
             layer);
   const std::vector<uint32_t> words(source.spirv.begin(), source.spirv.begin() + 40);
   EXPECT_EQ(spirv::matrix_owner(nullptr, {words, "main", {}}, 32, {same}, none), unknown);

   // Matrices of a workgroup, and what later extensions do with them, may be the driver's only.
   EXPECT_EQ(spirv::matrix_owner(nullptr, test::compile(tensor_addressing).shader_source(), 32,
                                 {same}, same),
             unknown);
   std::string workgroup = matrices;
   for (size_t at; (at = workgroup.find("gl_ScopeSubgroup")) != std::string::npos;)
      workgroup.replace(at, strlen("gl_ScopeSubgroup"), "gl_ScopeWorkgroup");
   EXPECT_EQ(
      spirv::matrix_owner(nullptr, test::compile(workgroup).shader_source(), 32, {same}, same),
      unknown);
}

TEST(Compile, ASizeThatIsNoSubgroupsIsRefused)
{
   EXPECT_TRUE(has(compiled(control_flow, spirv::full_driver(), 48), "subgroup size 48"));
   EXPECT_TRUE(has(compiled(control_flow, spirv::full_driver(), 2), "subgroup size 2"));
}

TEST(Compile, CapabilitiesAreThoseThatAreNeeded)
{
   const std::string text = compiled(control_flow);
   EXPECT_EQ(count(text, "OpCapability"), 2u) << text; /* Shader, VulkanMemoryModel */

   const std::string halves = compiled("layout(binding = 0) buffer B { uint b[]; };"
                                       "void main() { b[0] = b[1] + 2; }");
   EXPECT_FALSE(has(halves, "Int16"));
   EXPECT_FALSE(has(halves, "8Bit"));
}

TEST(Compile, AMissingFeatureIsNamed)
{
   spirv::Driver driver = spirv::full_driver();
   driver.float64 = false;
   EXPECT_TRUE(has(compiled(types, driver), "shaderFloat64"));

   driver = spirv::full_driver();
   driver.subgroup_operations &= ~0x40u;
   EXPECT_TRUE(has(compiled(subgroups, driver), "clustered"));

   driver = spirv::full_driver();
   driver.buffer_device_address = false;
   EXPECT_TRUE(has(compiled(matrices, driver), "bufferDeviceAddress"));
}

TEST(Compile, BuffersOfWordsWillDo)
{
   spirv::Driver driver = spirv::full_driver();
   driver.storage_buffer_8bit = driver.storage_buffer_16bit = false;
   for (const std::string &source : {memory, matrices}) {
      const std::string text = compiled(source, driver);
      EXPECT_FALSE(has(text, "StorageBuffer8BitAccess")) << text;
      EXPECT_FALSE(has(text, "StorageBuffer16BitAccess")) << text;
   }
   const std::string text = compiled("layout(binding = 0) buffer B { uint8_t b[]; };"
                                     "void main() { b[gl_LocalInvocationIndex] = b[1]; }",
                                     driver);
   EXPECT_EQ(count(text, "OpAtomicCompareExchange"), 1u) << text;
   EXPECT_EQ(count(text, "OpAtomicAnd"), 0u) << text;
}

TEST(Compile, QualifiersAreKept)
{
   const std::string text = compiled(memory);
   EXPECT_TRUE(has(text, "NonUniform")) << text;
   EXPECT_TRUE(has(text, "Restrict"));
   EXPECT_TRUE(has(text, "NonWritable"));
   EXPECT_TRUE(has(text, "Volatile|"));
   EXPECT_TRUE(has(text, "MakePointerAvailable|NonPrivatePointer"));
}

TEST(Compile, AlignmentGivesWideAccesses)
{
   const std::string wide = compiled("layout(binding = 0) buffer B { uvec4 b[]; };"
                                     "void main() { b[0] = b[gl_LocalInvocationIndex]; }");
   EXPECT_TRUE(has(wide, "OpLoad %v4uint")) << wide;
   EXPECT_EQ(count(wide, "OpVariable %_ptr_StorageBuffer"), 1u);
   /* An index, not a byte offset that is divided again. */
   EXPECT_FALSE(has(wide, "OpShift"));
}

TEST(Compile, PreciseIsNotContracted)
{
   EXPECT_TRUE(has(compiled(types), "NoContraction"));
   EXPECT_FALSE(has(compiled(control_flow), "NoContraction"));
}

TEST(Compile, FloatControlsAreKept)
{
   const std::string text = compiled(R"(
      #extension GL_EXT_spirv_intrinsics : enable
      spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);
      spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4467], 4462, 32);
      layout(binding = 0) buffer B { float b[]; };
      void main() { b[0] = b[1] + b[2]; })");
   EXPECT_TRUE(has(text, "SignedZeroInfNanPreserve 32")) << text;
   EXPECT_TRUE(has(text, "RoundingModeRTE 32")) << text;
   EXPECT_FALSE(has(compiled(types), "RoundingMode"));
}

TEST(Compile, SpecializationIsFolded)
{
   test::Source source = test::compile(R"(
      layout(constant_id = 7) const uint N = 3;
      layout(binding = 0) buffer B { uint b[]; };
      void main() { b[0] = N * 1000; })");
   source.constant_ids = {7};
   source.constant_values = {5};
   const auto module = spirv::compile(source.shader_source(), options_for(spirv::full_driver()));
   ASSERT_TRUE(module) << module.error().message;
   EXPECT_TRUE(has(spirv::disassemble(module->words), "%uint_5000"));
}

TEST(DeclaresAny, ReadsExtensions)
{
   const std::vector<uint32_t> none, spirv = test::compile(matrices).spirv;
   const std::string matrices_of_khr[] = {"SPV_EXT_float8", "SPV_KHR_cooperative_matrix"},
                     others[] = {"SPV_EXT_float8", "SPV_KHR_cooperative"};
   EXPECT_TRUE(spirv::declares_any(spirv, none, matrices_of_khr));
   EXPECT_FALSE(spirv::declares_any(spirv, none, others));
}

TEST(DeclaresAny, ReadsCapabilities)
{
   const std::vector<uint32_t> cooperative = {5430, 6022}, none;
   EXPECT_TRUE(spirv::declares_any(test::compile(matrices).spirv, cooperative));
   EXPECT_FALSE(spirv::declares_any(test::compile(matrices).spirv, none));
   EXPECT_FALSE(spirv::declares_any(test::compile(memory).spirv, cooperative));
   EXPECT_FALSE(spirv::declares_any({}, cooperative));
   const uint32_t short_module[] = {0x07230203, 0x00010600};
   EXPECT_FALSE(spirv::declares_any(short_module, cooperative));
   const uint32_t noise[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
   EXPECT_FALSE(spirv::declares_any(noise, cooperative));
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

/// Bounds are the buffer's own; shared and global memory have none.
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

/// What lies along k in memory is loaded as the dot products want it, without a byte being touched.
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
   /* Nor with robust access, but by those at the edge: four bytes for each of 4×8 and 2×8 words. */
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
