// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The compiler's output for small shaders: valid for each version of SPIR-V, with the required
/// parts, and without unneeded requirements.

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

/// glslang's output for shared memory with the Vulkan memory model: each access states it.
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

TEST(Compile, ClocksAreRead)
{
   const std::string text = compiled(R"(
      #extension GL_ARB_shader_clock : enable
      #extension GL_EXT_shader_realtime_clock : enable
      layout(binding = 0) buffer B { uvec2 of_subgroup, of_device; };
      void main() { of_subgroup = clock2x32ARB(); of_device = clockRealtime2x32EXT(); })");
   EXPECT_TRUE(has(text, "OpCapability ShaderClockKHR")) << text;
   EXPECT_TRUE(has(text, "OpReadClockKHR %v2uint %uint_3")) << text;
   EXPECT_TRUE(has(text, "OpReadClockKHR %v2uint %uint_1")) << text;
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

} // namespace
} // namespace weft
