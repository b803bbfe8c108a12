// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// One small shader per advertised feature that the end-to-end tests do not need.

#include "tests/icd/fixture.h"

#include "tests/e2e/glsl.h"
#include "tests/spirv/assemble.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weft::icd_test {

class FeatureTest : public IcdTest {
protected:
   /// Runs a shader with a storage buffer `out_size` bytes long at set 0, binding 0.
   TestBuffer run_shader(const std::string &glsl, VkDeviceSize out_size, uint32_t groups = 1,
                         std::span<const uint8_t> push = {})
   {
      TestBuffer out = make_buffer(out_size);
      PipelineRecipe recipe;
      recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
      recipe.push_bytes = uint32_t(push.size());
      recipe.specialization = specialization;
      VkPipelineLayout layout = make_layout(recipe);
      VkPipeline pipeline = make_pipeline(glsl, recipe, layout);
      if (!pipeline)
         return out;
      VkDescriptorSet set = make_set(recipe.sets[0]);
      write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
      VkCommandBuffer cmd = begin();
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
      if (!push.empty())
         vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, uint32_t(push.size()),
                            push.data());
      vkCmdDispatch(cmd, groups, 1, 1);
      run(cmd);
      return out;
   }

   const VkSpecializationInfo *specialization = nullptr; ///< of run_shader()
};

TEST_F(FeatureTest, WorkgroupMemoryStartsAsZeros)
{
   // The first dispatch fills the shared memory that the second one gets.
   const char *glsl = R"(
      #extension GL_EXT_null_initializer : require
      layout(local_size_x = 64) in;
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      shared uint scratch[1000] = {};
      void main()
      {
         uint sum = 0;
         for (uint i = 0; i < 1000; i++) sum |= scratch[i];
         barrier();
         for (uint i = gl_LocalInvocationID.x; i < 1000; i += 64) scratch[i] = 0xffffffffu;
         data[gl_GlobalInvocationID.x] = sum + 1;
      })";
   TestBuffer out = run_shader(glsl, 64 * 4 * 16, 16);
   for (uint32_t value : out.as())
      ASSERT_EQ(value, 1u);
}

TEST_F(FeatureTest, SmallTypesInPushConstants)
{
   const char *glsl = R"(
      layout(local_size_x = 1) in;
      layout(push_constant, scalar) uniform Push { uint8_t a; int8_t b; uint16_t c; float16_t d; uint64_t e; };
      layout(set = 0, binding = 0, scalar) buffer Out { int data[4]; uint64_t last; };
      void main() { data[0] = int(a); data[1] = int(b); data[2] = int(c); data[3] = int(d); last = e; })";
   const uint8_t push[16] = {200, 0xfe, 0x34, 0x12, 0x00, 0x44 /* 4.0 */, 0, 0, 1, 2, 3,
                             4,   5,    6,    7,    8};
   TestBuffer out = run_shader(glsl, 24, 1, push);
   EXPECT_EQ(out.as<int32_t>()[0], 200);
   EXPECT_EQ(out.as<int32_t>()[1], -2);
   EXPECT_EQ(out.as<int32_t>()[2], 0x1234);
   EXPECT_EQ(out.as<int32_t>()[3], 4);
   EXPECT_EQ(out.as<uint64_t>()[2], 0x0807060504030201u);
}

TEST_F(FeatureTest, FloatAtomics)
{
   const char *glsl = R"(
      #extension GL_EXT_shader_atomic_float : require
      #extension GL_EXT_shader_atomic_float2 : require
      layout(local_size_x = 64) in;
      layout(set = 0, binding = 0, scalar) buffer Out { float sum, low, high, swapped; double dsum, dlow, dhigh, from_shared; };
      shared float shared_sum;
      shared double shared_high;
      void main()
      {
         float x = float(gl_GlobalInvocationID.x) - 100;
         if (gl_LocalInvocationID.x == 0) { shared_sum = 0; shared_high = -1000; }
         barrier();
         atomicAdd(sum, x);
         atomicMin(low, x);
         atomicMax(high, x);
         atomicExchange(swapped, 3.0);
         atomicAdd(dsum, double(x));
         atomicMin(dlow, double(x));
         atomicMax(dhigh, double(x));
         atomicAdd(shared_sum, 1.0);
         atomicMax(shared_high, double(x));
         barrier();
         if (gl_LocalInvocationID.x == 0) atomicAdd(from_shared, double(shared_sum) + shared_high);
      })";
   TestBuffer out = run_shader(glsl, 48, 8);
   double sum = 0;
   for (int i = 0; i < 512; i++)
      sum += i - 100;
   EXPECT_EQ(out.as<float>()[0], float(sum));
   EXPECT_EQ(out.as<float>()[1], -100.0f);
   EXPECT_EQ(out.as<float>()[2], 411.0f);
   EXPECT_EQ(out.as<float>()[3], 3.0f);
   EXPECT_EQ(out.as<double>()[2], sum);
   EXPECT_EQ(out.as<double>()[3], -100.0);
   EXPECT_EQ(out.as<double>()[4], 411.0);
   // Each of the 8 workgroups adds 64 and its highest.
   double from_shared = 0;
   for (int group = 0; group < 8; group++)
      from_shared += 64 + group * 64 + 63 - 100;
   EXPECT_EQ(out.as<double>()[5], from_shared);
}

TEST_F(FeatureTest, ExplicitLayoutOfWorkgroupMemory)
{
   const char *glsl = R"(
      #extension GL_EXT_shared_memory_block : require
      layout(local_size_x = 32) in;
      layout(set = 0, binding = 0) buffer Out { uint data[32]; };
      shared A { uint words[32]; };
      shared B { uint8_t bytes[128]; };
      void main()
      {
         uint i = gl_LocalInvocationID.x;
         words[i] = 0x04030201u * (i + 1);
         barrier();
         uint k = (i + 1) % 32;
         data[i] = uint(bytes[4 * k + 2]);
      })";
   TestBuffer out = run_shader(glsl, 128);
   for (uint32_t i = 0; i < 32; i++)
      ASSERT_EQ(out.as()[i], ((0x04030201u * ((i + 1) % 32 + 1)) >> 16) & 0xff);
}

TEST_F(FeatureTest, VulkanMemoryModel)
{
   const char *glsl = R"(
      #pragma use_vulkan_memory_model
      layout(local_size_x = 64) in;
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      shared uint scratch[64];
      void main()
      {
         uint i = gl_LocalInvocationID.x;
         atomicStore(scratch[i], i * 3, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsRelease);
         controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
         data[i] = atomicLoad(scratch[63 - i], gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsAcquire);
      })";
   TestBuffer out = run_shader(glsl, 256);
   for (uint32_t i = 0; i < 64; i++)
      ASSERT_EQ(out.as()[i], (63 - i) * 3);
}

TEST_F(FeatureTest, NonSemanticInstructionsAreIgnored)
{
   const char *glsl = R"(
      #extension GL_EXT_debug_printf : require
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0) buffer Out { uint data; };
      void main() { debugPrintfEXT("value %d", 3); data = 7; })";
   EXPECT_EQ(run_shader(glsl, 4).as()[0], 7u);
}

TEST_F(FeatureTest, DenormalsAndSignedZerosAreKept)
{
   const char *glsl = R"(
      #extension GL_EXT_spirv_intrinsics : require
      spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4464], 4459, 32);
      spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);
      spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4467], 4462, 32);
      layout(local_size_x = 1) in;
      layout(push_constant) uniform Push { float a; float b; float c; };
      layout(set = 0, binding = 0) buffer Out { float data[4]; };
      void main() { data[0] = a * b; data[1] = c * 0.0; data[2] = a + b - a; data[3] = c - c; })";
   const float push[3] = {1e-30f, 1e-10f, -1.0f};
   uint8_t bytes[12];
   memcpy(bytes, push, 12);
   TestBuffer out = run_shader(glsl, 16, 1, bytes);
   EXPECT_EQ(out.as<float>()[0], 1e-30f * 1e-10f);
   EXPECT_NE(out.as<float>()[0], 0.0f);
   EXPECT_TRUE(std::signbit(out.as<float>()[1]));
   EXPECT_EQ(out.as<float>()[2], push[0] + push[1] - push[0]);
   EXPECT_FALSE(std::signbit(out.as<float>()[3]));
}

TEST_F(FeatureTest, NullDescriptorsReadZeros)
{
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER),
                                   binding(1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER),
                                   binding(2, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER)})};
   // Null descriptors return zeros, even if robust access is off.
   VkPipelineRobustnessCreateInfoEXT robustness = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT,
      .storageBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT,
      .uniformBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT,
      .vertexInputs = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT,
      .images = VK_PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_DISABLED_EXT,
   };
   recipe.next = &robustness;
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0) buffer Out { uint data[4]; };
      layout(set = 0, binding = 1) buffer In { uint words[]; } nothing;
      layout(set = 0, binding = 2) uniform Const { uint word; } none;
      void main()
      {
         nothing.words[3] = 5;
         data[0] = nothing.words[5] + 1;
         data[1] = nothing.words.length() + 2;
         data[2] = none.word + 3;
      })",
                                       recipe, layout);
   VkDescriptorSet set = make_set(recipe.sets[0]);
   TestBuffer out = make_buffer(16);
   write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
   write_buffer(set, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, TestBuffer());
   write_buffer(set, 2, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, TestBuffer());
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   EXPECT_EQ(out.as()[0], 1u);
   EXPECT_EQ(out.as()[1], 2u);
   EXPECT_EQ(out.as()[2], 3u);
}

TEST_F(FeatureTest, ShaderModuleInThePipeline)
{
   std::vector<uint32_t> spirv =
      e2e::compile_glsl("#version 460\nlayout(local_size_x = 1) in;\n"
                        "layout(set = 0, binding = 0) buffer Out { uint x; };\n"
                        "void main() { x = 123; }");
   VkShaderModuleCreateInfo module = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = spirv.size() * 4,
      .pCode = spirv.data(),
   };
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage =
         {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .pNext = &module,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .pName = "main",
         },
      .layout = layout,
   };
   VkPipeline pipeline;
   ASSERT_VK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline));
   clean_up.push_back([this, pipeline] { vkDestroyPipeline(device, pipeline, nullptr); });
   VkDescriptorSet set = make_set(recipe.sets[0]);
   TestBuffer out = make_buffer(4);
   write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
   VkCommandBuffer inner = begin(VK_COMMAND_BUFFER_LEVEL_SECONDARY);
   vkCmdBindPipeline(inner, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(inner, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   vkCmdDispatch(inner, 1, 1, 1);
   ASSERT_VK(vkEndCommandBuffer(inner));
   // VK_EXT_nested_command_buffer: secondaries in secondaries.
   VkCommandBuffer outer = begin(VK_COMMAND_BUFFER_LEVEL_SECONDARY);
   vkCmdExecuteCommands(outer, 1, &inner);
   ASSERT_VK(vkEndCommandBuffer(outer));
   VkCommandBuffer cmd = begin();
   vkCmdExecuteCommands(cmd, 1, &outer);
   run(cmd);
   EXPECT_EQ(out.as()[0], 123u);
}

TEST_F(FeatureTest, IntegerDotProducts)
{
   const char *glsl = R"(
      #extension GL_EXT_integer_dot_product : require
      layout(local_size_x = 1) in;
      layout(push_constant) uniform Push { uint a; uint b; uint c; uint d; };
      layout(set = 0, binding = 0) buffer Out { uint data[16]; };
      void main()
      {
         data[0] = uint(dotPacked4x8EXT(int(a), int(b)));
         data[1] = dotPacked4x8EXT(a, b);
         data[2] = uint(dotPacked4x8EXT(a, int(b)));
         data[3] = uint(dotPacked4x8AccSatEXT(int(a), int(b), int(c)));
         data[4] = dotPacked4x8AccSatEXT(a, b, c);
         data[5] = uint(dotPacked4x8AccSatEXT(a, int(b), int(c)));
         i8vec4 sa = unpack8(int(a)), sb = unpack8(int(b));
         u8vec4 ua = unpack8(a), ub = unpack8(b);
         data[6] = uint(dotEXT(sa, sb));
         data[7] = dotEXT(ua, ub);
         data[8] = uint(dotEXT(ua.xyz, sb.xyz));
         data[9] = uint(dotAccSatEXT(sa, sb, int(c)));
         i16vec2 ha = unpack16(int(a)), hb = unpack16(int(b));
         data[10] = uint(dotEXT(ha, hb));
         data[11] = dotEXT(u16vec2(ha), u16vec2(hb));
         data[12] = uint(dotEXT(ivec3(a, c, 3), ivec3(b, d, 5)));
         data[13] = dotAccSatEXT(u16vec2(ha), u16vec2(hb), c);
         int64_t wide = dotEXT(i64vec2(int(a), int(c)), i64vec2(int(b), int(d)));
         data[14] = uint(wide);
         data[15] = uint(wide >> 32);
      })";
   const auto byte = [](uint32_t word, int i, bool is_signed) {
      const uint8_t b = uint8_t(word >> 8 * i);
      return is_signed ? int64_t(int8_t(b)) : int64_t(b);
   };
   const auto half = [](uint32_t word, int i, bool is_signed) {
      const uint16_t h = uint16_t(word >> 16 * i);
      return is_signed ? int64_t(int16_t(h)) : int64_t(h);
   };
   const auto bytes = [&](uint32_t a, bool a_signed, uint32_t b, bool b_signed, int count) {
      int64_t sum = 0;
      for (int i = 0; i < count; i++)
         sum += byte(a, i, a_signed) * byte(b, i, b_signed);
      return sum;
   };
   const auto halves = [&](uint32_t a, uint32_t b, bool is_signed) {
      return half(a, 0, is_signed) * half(b, 0, is_signed) +
             half(a, 1, is_signed) * half(b, 1, is_signed);
   };
   const auto clamp_signed = [](int64_t value) {
      return uint32_t(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
   };
   const auto clamp_unsigned = [](int64_t value) {
      return uint32_t(std::clamp<int64_t>(value, 0, UINT32_MAX));
   };
   const uint32_t cases[][4] = {
      {0x01020304, 0x05060708, 9, 10},
      {0x80808080, 0x80808080, 0x7fffffff, 1},
      {0xff80fe7f, 0x7f80ff01, 0x80000000, 0xffffffff},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xfffffff0},
      {0x80008000, 0x80008000, 0x7ffffff0, 0x12345678},
      {0x80000000, 0x7f7f7f7f, 0x80000000, 0x80000000},
   };
   for (const auto &c : cases) {
      uint8_t push[16];
      memcpy(push, c, 16);
      TestBuffer out = run_shader(glsl, 64, 1, push);
      const uint32_t a = c[0], b = c[1];
      const int64_t sum = int32_t(c[2]);
      const uint64_t wide = uint64_t(int64_t(int32_t(a))) * uint64_t(int64_t(int32_t(b))) +
                            uint64_t(sum) * uint64_t(int64_t(int32_t(c[3])));
      const uint32_t expected[16] = {
         uint32_t(bytes(a, true, b, true, 4)),
         uint32_t(bytes(a, false, b, false, 4)),
         uint32_t(bytes(a, false, b, true, 4)),
         clamp_signed(bytes(a, true, b, true, 4) + sum),
         clamp_unsigned(bytes(a, false, b, false, 4) + c[2]),
         clamp_signed(bytes(a, false, b, true, 4) + sum),
         uint32_t(bytes(a, true, b, true, 4)),
         uint32_t(bytes(a, false, b, false, 4)),
         uint32_t(bytes(a, false, b, true, 3)),
         clamp_signed(bytes(a, true, b, true, 4) + sum),
         uint32_t(halves(a, b, true)),
         uint32_t(halves(a, b, false)),
         a * b + c[2] * c[3] + 15,
         // A sum of products that needs more than 32 bits is undefined.
         halves(a, b, false) > UINT32_MAX ? out.as()[13]
                                          : clamp_unsigned(halves(a, b, false) + c[2]),
         uint32_t(wide),
         uint32_t(wide >> 32),
      };
      for (int i = 0; i < 16; i++)
         EXPECT_EQ(out.as()[i], expected[i]) << i << std::hex << " of " << a << " and " << b;
   }
}

/// VK_KHR_shader_clock: later readings are greater, in each scope.
TEST_F(FeatureTest, ClocksAdvance)
{
   const char *glsl = R"(
      #extension GL_ARB_shader_clock : require
      #extension GL_EXT_shader_realtime_clock : require
      layout(local_size_x = 32) in; shared uint slow[32];
      layout(set = 0, binding = 0) buffer Out { uint64_t data[]; };
      void main()
      {
         const uint i = gl_LocalInvocationIndex;
         data[4 * i] = clockARB(); data[4 * i + 2] = packUint2x32(clockRealtime2x32EXT());
         for (uint k = 0; k < 100; k++) { slow[i] = k * i; barrier(); }
         data[4 * i + 1] = clockARB() + uint64_t(slow[i] & 0u);
         data[4 * i + 3] = clockRealtimeEXT();
      })";
   const TestBuffer out = run_shader(glsl, 32 * 32);
   for (uint32_t i = 0; i < 64; i++)
      EXPECT_LT(out.as<uint64_t>()[2 * i], out.as<uint64_t>()[2 * i + 1]) << i;
}

TEST_F(FeatureTest, ExpectAndAssume)
{
   const char *glsl = R"(
      #extension GL_EXT_expect_assume : require
      layout(local_size_x = 8) in;
      layout(push_constant) uniform Push { uint n; };
      layout(set = 0, binding = 0) buffer Out { uint data[8]; };
      void main()
      {
         uint i = gl_LocalInvocationID.x;
         assumeEXT(n > 3u);
         data[i] = expectEXT(i, 2u) == 2u ? n : i;
         if (expectEXT(i > n, false)) data[i] += 100;
      })";
   uint8_t push[4] = {5, 0, 0, 0};
   TestBuffer out = run_shader(glsl, 32, 1, push);
   for (uint32_t i = 0; i < 8; i++)
      EXPECT_EQ(out.as()[i], (i == 2 ? 5u : i) + (i > 5 ? 100 : 0)) << i;
}

/// Pointers to storage buffers and shared memory that the shader chooses at run time; GLSL lacks
/// them.
TEST_F(FeatureTest, VariablePointers)
{
   const char *const text = R"(
      OpCapability Shader
      OpCapability VariablePointers
      OpExtension "SPV_KHR_variable_pointers"
      OpMemoryModel Logical GLSL450
      OpEntryPoint GLCompute %main "main" %first %second %shared_words %index
      OpExecutionMode %main LocalSize 16 1 1
      OpDecorate %index BuiltIn LocalInvocationIndex
      OpDecorate %first DescriptorSet 0
      OpDecorate %first Binding 0
      OpDecorate %second DescriptorSet 0
      OpDecorate %second Binding 1
      OpDecorate %block Block
      OpMemberDecorate %block 0 Offset 0
      OpDecorate %array ArrayStride 4
      OpDecorate %pointer ArrayStride 4
      OpDecorate %shared_pointer ArrayStride 4
      %void = OpTypeVoid
      %function = OpTypeFunction %void
      %uint = OpTypeInt 32 0
      %bool = OpTypeBool
      %c0 = OpConstant %uint 0
      %c1 = OpConstant %uint 1
      %c2 = OpConstant %uint 2
      %c3 = OpConstant %uint 3
      %c15 = OpConstant %uint 15
      %c16 = OpConstant %uint 16
      %c264 = OpConstant %uint 264
      %array = OpTypeRuntimeArray %uint
      %block = OpTypeStruct %array
      %block_pointer = OpTypePointer StorageBuffer %block
      %pointer = OpTypePointer StorageBuffer %uint
      %shared_array = OpTypeArray %uint %c16
      %shared_array_pointer = OpTypePointer Workgroup %shared_array
      %shared_pointer = OpTypePointer Workgroup %uint
      %input_pointer = OpTypePointer Input %uint
      %first = OpVariable %block_pointer StorageBuffer
      %second = OpVariable %block_pointer StorageBuffer
      %shared_words = OpVariable %shared_array_pointer Workgroup
      %index = OpVariable %input_pointer Input
      %main = OpFunction %void None %function
      %entry = OpLabel
      %i = OpLoad %uint %index
      %bit = OpBitwiseAnd %uint %i %c1
      %odd = OpINotEqual %bool %bit %c0
      %in_first = OpAccessChain %pointer %first %c0 %i
      %in_second = OpAccessChain %pointer %second %c0 %i
      %chosen = OpSelect %pointer %odd %in_first %in_second
      %value = OpLoad %uint %chosen
      %mirror = OpISub %uint %c15 %i
      %slot = OpAccessChain %shared_pointer %shared_words %mirror
      OpStore %slot %value
      OpControlBarrier %c2 %c2 %c264
      %own = OpAccessChain %shared_pointer %shared_words %i
      %other = OpAccessChain %shared_pointer %shared_words %c3
      %from = OpSelect %shared_pointer %odd %own %other
      %read = OpLoad %uint %from
      %to = OpPtrAccessChain %pointer %chosen %c16
      OpStore %to %read
      OpReturn
      OpFunctionEnd)";
   const std::vector<uint32_t> spirv = test::assemble(text);

   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER),
                                   binding(1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline)) << messages;
   TestBuffer buffers[2] = {make_buffer(128), make_buffer(128)};
   for (uint32_t i = 0; i < 16; i++) {
      buffers[0].as()[i] = 1000 + i;
      buffers[1].as()[i] = 2000 + i;
   }
   VkDescriptorSet set = make_set(recipe.sets[0]);
   write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers[0]);
   write_buffer(set, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers[1]);
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   for (uint32_t i = 0; i < 16; i++) {
      const uint32_t lane = i % 2 ? 15 - i : 15 - 3; // the writer of the slot that is read
      const uint32_t value = (lane % 2 ? 1000 : 2000) + lane;
      EXPECT_EQ(buffers[i % 2 ? 0 : 1].as()[16 + i], value) << i;
      EXPECT_EQ(buffers[i % 2 ? 1 : 0].as()[16 + i], 0u) << i;
   }
}

/// Specialization constants of every size that the API allows, without alignment.
TEST_F(FeatureTest, SpecializationConstantsOfAllSizes)
{
   const char *glsl = R"(
      #extension GL_EXT_shader_explicit_arithmetic_types : require
      layout(local_size_x = 1) in;
      layout(constant_id = 1) const uint8_t u8 = uint8_t(1);
      layout(constant_id = 2) const int8_t i8 = int8_t(2);
      layout(constant_id = 3) const uint16_t u16 = uint16_t(3);
      layout(constant_id = 4) const int16_t i16 = int16_t(4);
      layout(constant_id = 5) const float16_t f16 = float16_t(5.0);
      layout(constant_id = 6) const uint64_t u64 = 6ul;
      layout(constant_id = 7) const int64_t i64 = 7l;
      layout(constant_id = 8) const float64_t f64 = 8.0lf;
      layout(constant_id = 9) const bool flag = false;
      layout(constant_id = 10) const float f32 = 10.0;
      layout(set = 0, binding = 0) buffer Out { int64_t data[10]; };
      void main()
      {
         data[0] = int64_t(u8); data[1] = int64_t(i8);
         data[2] = int64_t(u16); data[3] = int64_t(i16);
         data[4] = int64_t(float(f16) * 8.0);
         data[5] = int64_t(u64); data[6] = i64;
         data[7] = int64_t(f64 * 4.0);
         data[8] = flag ? 1l : 0l; data[9] = int64_t(f32 * 2.0);
      })";
   std::vector<uint8_t> bytes = {0xee};
   std::vector<VkSpecializationMapEntry> entries;
   const auto add = [&](uint32_t id, const auto &value) {
      entries.push_back({id, uint32_t(bytes.size()), sizeof(value)});
      const auto *first = reinterpret_cast<const uint8_t *>(&value);
      bytes.insert(bytes.end(), first, first + sizeof(value));
   };
   add(6, uint64_t(0x8000'0001'0000'0002));
   add(1, uint8_t(0xfe));
   add(7, int64_t(-5'000'000'000));
   add(2, int8_t(-3));
   add(3, uint16_t(0xfffe));
   add(8, -1.25);
   add(4, int16_t(-300));
   add(9, VkBool32(VK_TRUE));
   add(5, uint16_t(0xc100)); // -2.5 as f16
   add(10, 0.5f);
   bytes.push_back(0xee);
   const VkSpecializationInfo info = {uint32_t(entries.size()), entries.data(), bytes.size(),
                                      bytes.data()};
   const TestBuffer defaults = run_shader(glsl, 80);
   const int64_t plain[] = {1, 2, 3, 4, 40, 6, 7, 32, 0, 20};
   specialization = &info;
   const TestBuffer set = run_shader(glsl, 80);
   const int64_t expected[] = {
      0xfe, -3, 0xfffe, -300, -20, int64_t(0x8000'0001'0000'0002), -5'000'000'000, -5, 1, 1};
   for (uint32_t i = 0; i < 10; i++) {
      EXPECT_EQ(defaults.as<int64_t>()[i], plain[i]) << i;
      EXPECT_EQ(set.as<int64_t>()[i], expected[i]) << i;
   }
}

/// Khronos' validation layers instrument shaders only on devices with all of these.
TEST_F(FeatureTest, ShadersCanBeInstrumented)
{
   VkPhysicalDeviceVulkan12Features features12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
   VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                         .pNext = &features12};
   vkGetPhysicalDeviceFeatures2(physical, &features);
   EXPECT_TRUE(features.features.fragmentStoresAndAtomics);
   EXPECT_TRUE(features.features.vertexPipelineStoresAndAtomics);
   EXPECT_TRUE(features.features.shaderInt64);
   EXPECT_TRUE(features12.timelineSemaphore);
   EXPECT_TRUE(features12.bufferDeviceAddress);
   EXPECT_TRUE(features12.vulkanMemoryModel);
   EXPECT_TRUE(features12.vulkanMemoryModelDeviceScope);
   EXPECT_TRUE(features12.scalarBlockLayout);
   EXPECT_TRUE(features12.storageBuffer8BitAccess);
   EXPECT_TRUE(features12.uniformAndStorageBuffer8BitAccess);
}

} // namespace weft::icd_test
