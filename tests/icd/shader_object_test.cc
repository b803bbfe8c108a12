// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_shader_object: compute shaders from SPIR-V and from binaries.

#include "tests/icd/pipeline_fixture.h"

#include "tests/backend/cpu/seed.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>

namespace weft::icd_test {
namespace {

class ShaderObjectTest : public PipelineTest {
protected:
   void SetUp() override
   {
      PipelineTest::SetUp();
      create_shaders = device_function<PFN_vkCreateShadersEXT>("vkCreateShadersEXT");
      destroy_shader = device_function<PFN_vkDestroyShaderEXT>("vkDestroyShaderEXT");
      get_binary = device_function<PFN_vkGetShaderBinaryDataEXT>("vkGetShaderBinaryDataEXT");
      bind_shaders = device_function<PFN_vkCmdBindShadersEXT>("vkCmdBindShadersEXT");
      ASSERT_TRUE(create_shaders && destroy_shader && get_binary && bind_shaders);
   }

   VkShaderCreateInfoEXT shader_info(std::span<const uint32_t> words) const
   {
      return {
         .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
         .stage = VK_SHADER_STAGE_COMPUTE_BIT,
         .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
         .codeSize = words.size_bytes(),
         .pCode = words.data(),
         .pName = "main",
         .setLayoutCount = uint32_t(recipe.sets.size()),
         .pSetLayouts = recipe.sets.data(),
         .pSpecializationInfo = recipe.specialization,
      };
   }

   VkShaderCreateInfoEXT binary_info(std::span<const uint8_t> binary) const
   {
      VkShaderCreateInfoEXT info = shader_info({});
      info.codeType = VK_SHADER_CODE_TYPE_BINARY_EXT;
      info.codeSize = binary.size();
      info.pCode = binary.data();
      return info;
   }

   VkResult try_shader(const VkShaderCreateInfoEXT &info, VkShaderEXT *shader)
   {
      const VkResult result = create_shaders(device, 1, &info, nullptr, shader);
      if (*shader)
         clean_up.push_back([this, made = *shader] { destroy_shader(device, made, nullptr); });
      return result;
   }

   VkShaderEXT make_shader(const VkShaderCreateInfoEXT &info)
   {
      VkShaderEXT shader = VK_NULL_HANDLE;
      EXPECT_VK(try_shader(info, &shader)) << messages;
      return shader;
   }

   std::vector<uint8_t> binary_of(VkShaderEXT shader)
   {
      size_t size = 0;
      EXPECT_VK(get_binary(device, shader, &size, nullptr));
      std::vector<uint8_t> binary(size);
      EXPECT_VK(get_binary(device, shader, &size, binary.data()));
      EXPECT_EQ(size, binary.size());
      return binary;
   }

   void bind(VkCommandBuffer cmd, VkShaderEXT shader)
   {
      const VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
      bind_shaders(cmd, 1, &stage, &shader);
   }

   /// Dispatches one workgroup; before that, the buffer has other numbers than the shader writes.
   void dispatch_shader(VkShaderEXT shader)
   {
      memset(out.map, 0xa5, out.size);
      VkCommandBuffer cmd = begin();
      bind(cmd, shader);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
      vkCmdDispatch(cmd, 1, 1, 1);
      run(cmd);
   }

   PFN_vkCreateShadersEXT create_shaders = nullptr;
   PFN_vkDestroyShaderEXT destroy_shader = nullptr;
   PFN_vkGetShaderBinaryDataEXT get_binary = nullptr;
   PFN_vkCmdBindShadersEXT bind_shaders = nullptr;
};

TEST_F(ShaderObjectTest, FromSpirv)
{
   const uint32_t data[] = {77, 1};
   const VkSpecializationMapEntry entries[] = {{7, 0, 4}, {8, 4, 4}};
   const VkSpecializationInfo info = {2, entries, sizeof(data), data};
   recipe.specialization = &info;
   dispatch_shader(make_shader(shader_info(spirv)));
   EXPECT_EQ(out.as()[0], 11u);
   EXPECT_EQ(out.as()[1], 77u);
   EXPECT_EQ(out.as()[2], 1u);
}

TEST_F(ShaderObjectTest, RequiredSubgroupSizes)
{
   for (const uint32_t size : {8, 16, 32, 64}) {
      const VkShaderRequiredSubgroupSizeCreateInfoEXT required = {
         .sType = VK_STRUCTURE_TYPE_SHADER_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT,
         .requiredSubgroupSize = size,
      };
      VkShaderCreateInfoEXT info = shader_info(spirv);
      info.pNext = &required;
      dispatch_shader(make_shader(info));
      EXPECT_EQ(out.as()[3], size);
   }
}

TEST_F(ShaderObjectTest, BinaryRoundTrip)
{
   const uint32_t number = 4711;
   const VkSpecializationMapEntry entry = {7, 0, 4};
   const VkSpecializationInfo constants = {1, &entry, sizeof(number), &number};
   recipe.specialization = &constants;
   const VkShaderEXT shader = make_shader(shader_info(spirv));
   const std::vector<uint8_t> binary = binary_of(shader);
   EXPECT_EQ(binary, binary_of(shader));

   std::vector<uint8_t> too_small(binary.size() - 1, 0x5a);
   size_t size = too_small.size();
   EXPECT_EQ(get_binary(device, shader, &size, too_small.data()), VK_INCOMPLETE);
   EXPECT_EQ(size, 0u);
   EXPECT_EQ(size_t(std::ranges::count(too_small, 0x5a)), too_small.size());

   const VkShaderEXT loaded = make_shader(binary_info(binary));
   dispatch_shader(loaded);
   EXPECT_EQ(out.as()[1], number);
   EXPECT_EQ(binary_of(loaded), binary);
}

/// The programs of a shader grow with its dispatches, its binary does not.
TEST_F(ShaderObjectTest, BinaryOfAShaderWithSeveralPrograms)
{
   const auto expected = [](uint32_t x, uint32_t way) {
      for (uint32_t i = 0; i < 16; i++)
         x = (x ^ way) * (2 * way + 3) + (x >> (way + 1));
      return x;
   };
   recipe.push_bytes = 4;
   layout = make_layout(recipe);
   const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 4};
   const std::vector<uint32_t> words = e2e::compile_glsl(std::string(e2e::glsl_header) + two_ways);
   VkShaderCreateInfoEXT info = shader_info(words);
   info.pushConstantRangeCount = 1;
   info.pPushConstantRanges = &push;
   const VkShaderEXT shader = make_shader(info);
   const std::vector<uint8_t> binary = binary_of(shader);
   VkShaderCreateInfoEXT from_binary = binary_info(binary);
   from_binary.pushConstantRangeCount = 1;
   from_binary.pPushConstantRanges = &push;
   for (const VkShaderEXT s : {shader, make_shader(from_binary)}) {
      for (const uint32_t way : {0, 1}) {
         out.as()[0] = 99 + way;
         VkCommandBuffer cmd = begin();
         bind(cmd, s);
         vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                                 nullptr);
         vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &way);
         vkCmdDispatch(cmd, 1, 1, 1);
         run(cmd);
         EXPECT_EQ(out.as()[1], expected(99 + way, way));
      }
   }
   EXPECT_EQ(binary_of(shader), binary);
}

/// Any damage is found: the header and the programs have a hash.
TEST_F(ShaderObjectTest, DamagedBinariesAreIncompatible)
{
   const std::vector<uint8_t> binary = binary_of(make_shader(shader_info(spirv)));
   std::mt19937 random(cpu::test::test_seed());
   for (int i = 0; i < 300; i++) {
      std::vector<uint8_t> damaged = binary;
      // The first bytes are the header.
      const size_t reach = i % 2 ? damaged.size() : std::min<size_t>(damaged.size(), 112);
      const size_t at = random() % reach;
      if (i % 3 == 0)
         damaged.resize(at);
      else
         damaged[at] ^= 1 << random() % 8;
      VkShaderEXT shader = VK_NULL_HANDLE;
      EXPECT_EQ(try_shader(binary_info(damaged), &shader), VK_INCOMPATIBLE_SHADER_BINARY_EXT)
         << "byte " << at << (i % 3 ? "" : ", truncated");
      EXPECT_EQ(shader, VkShaderEXT(VK_NULL_HANDLE));
   }
   EXPECT_NE(messages.find("vkCreateShadersEXT: the binary is truncated"), std::string::npos);
}

TEST_F(ShaderObjectTest, TheIdentityOfBinariesIsReported)
{
   VkPhysicalDeviceShaderObjectPropertiesEXT properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_PROPERTIES_EXT};
   VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                      .pNext = &properties};
   vkGetPhysicalDeviceProperties2(physical, &all);
   const std::vector<uint8_t> binary = binary_of(make_shader(shader_info(spirv)));
   const auto uuid = std::span(properties.shaderBinaryUUID);
   EXPECT_FALSE(std::ranges::search(binary, uuid).empty());
   EXPECT_FALSE(std::ranges::all_of(uuid, [](uint8_t byte) { return byte == 0; }));
}

/// A shader that fails leaves the others as they are, and the first failure is the result.
TEST_F(ShaderObjectTest, OneOfSeveralFails)
{
   std::vector<uint32_t> bad = spirv;
   bad[0] ^= 1;
   std::vector<uint8_t> damaged = binary_of(make_shader(shader_info(spirv)));
   damaged.back() ^= 1;
   std::vector<VkShaderCreateInfoEXT> infos(20, shader_info(spirv));
   infos[7] = binary_info(damaged);
   infos[9] = shader_info(bad);
   infos[12].stage = VK_SHADER_STAGE_VERTEX_BIT;
   std::vector<VkShaderEXT> shaders(infos.size(), VkShaderEXT(uintptr_t(0x77)));
   EXPECT_EQ(create_shaders(device, uint32_t(infos.size()), infos.data(), nullptr, shaders.data()),
             VK_INCOMPATIBLE_SHADER_BINARY_EXT);
   for (size_t i = 0; i < shaders.size(); i++) {
      EXPECT_EQ(shaders[i] == VK_NULL_HANDLE, i == 7 || i == 9 || i == 12) << i;
      if (shaders[i]) {
         dispatch_shader(shaders[i]);
         EXPECT_EQ(out.as()[1], 22u);
      }
      destroy_shader(device, shaders[i], nullptr);
   }
   EXPECT_NE(messages.find("no stage but compute"), std::string::npos);
}

/// A pipeline replaces a shader object and the reverse; null and other stages' shaders do not.
TEST_F(ShaderObjectTest, TheLastBoundShaderRuns)
{
   const uint32_t number = 4711;
   const VkSpecializationMapEntry entry = {0, 0, 4};
   const VkSpecializationInfo constants = {1, &entry, sizeof(number), &number};
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
   recipe.specialization = &constants;
   const VkShaderEXT shader = make_shader(shader_info(spirv));
   const auto result_of = [&](const std::function<void(VkCommandBuffer)> &bind_both) {
      out.as()[0] = 0;
      VkCommandBuffer cmd = begin();
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
      bind_both(cmd);
      vkCmdDispatch(cmd, 1, 1, 1);
      run(cmd);
      return out.as()[0];
   };
   EXPECT_EQ(result_of([&](VkCommandBuffer cmd) {
                bind(cmd, shader);
                vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
             }),
             11u);
   EXPECT_EQ(result_of([&](VkCommandBuffer cmd) {
                vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
                bind(cmd, shader);
             }),
             number);
   EXPECT_EQ(result_of([&](VkCommandBuffer cmd) {
                bind(cmd, shader);
                const VkShaderStageFlagBits vertex = VK_SHADER_STAGE_VERTEX_BIT;
                bind_shaders(cmd, 1, &vertex, nullptr);
             }),
             number);
   // Without a shader, a dispatch has no effect.
   EXPECT_EQ(result_of([&](VkCommandBuffer cmd) {
                bind(cmd, shader);
                bind(cmd, VK_NULL_HANDLE);
             }),
             0u);
}

/// The dynamic buffers of the sets are numbered by the layouts of a binary, too.
TEST_F(ShaderObjectTest, DynamicOffsets)
{
   const char *const two_sets = R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0) buffer A { uint a[]; };
      layout(set = 2, binding = 0) buffer B { uint b[]; };
      void main() { a[0] = 100 + b[0]; })";
   constexpr VkDescriptorType dynamic = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
   recipe.sets = {make_set_layout({binding(0, dynamic)}), make_set_layout({}),
                  make_set_layout({binding(0, dynamic)})};
   layout = make_layout(recipe);
   const VkDescriptorSet sets[] = {make_set(recipe.sets[0]), make_set(recipe.sets[1]),
                                   make_set(recipe.sets[2])};
   const TestBuffer in = make_buffer(256);
   for (uint32_t i = 0; i < 64; i++)
      in.as()[i] = i;
   write_buffer(sets[0], 0, dynamic, out, 0, 64);
   write_buffer(sets[2], 0, dynamic, in, 0, 64);
   const std::vector<uint32_t> words = e2e::compile_glsl(std::string(e2e::glsl_header) + two_sets);
   const VkShaderEXT shader = make_shader(shader_info(words));
   const std::vector<uint8_t> binary = binary_of(shader);
   for (const VkShaderEXT s : {shader, make_shader(binary_info(binary))}) {
      memset(out.map, 0, out.size);
      VkCommandBuffer cmd = begin();
      bind(cmd, s);
      const uint32_t offsets[] = {64, 128};
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 3, sets, 2, offsets);
      vkCmdDispatch(cmd, 1, 1, 1);
      run(cmd);
      EXPECT_EQ(out.as()[16], 132u);
      EXPECT_EQ(out.as()[0], 0u);
   }
}

} // namespace
} // namespace weft::icd_test
