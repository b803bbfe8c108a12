// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// One small shader per advertised feature that the end-to-end tests do not need.

#include "tests/icd/fixture.h"

#include "tests/e2e/glsl.h"

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
};

TEST_F(FeatureTest, WorkgroupMemoryStartsAsZeros)
{
   // The first round dirties the memory that the second is given.
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
         if (gl_LocalInvocationID.x == 0) atomicAdd(from_shared, double(shared_sum) + shared_high * 0);
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
   EXPECT_EQ(out.as<double>()[5], 512.0);
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
   // Even where robust access is off.
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

} // namespace weft::icd_test
