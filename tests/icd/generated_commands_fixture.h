// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Layouts of generated commands, and execution sets of pipelines or shader objects
/// (VK_EXT_device_generated_commands).

#pragma once

#include "tests/icd/fixture.h"

#include "tests/e2e/glsl.h"

#include <algorithm>
#include <array>
#include <vector>

namespace weft::icd_test {

constexpr uint32_t words = 12;    ///< push constants of the shaders
constexpr uint32_t kinds = 4;     ///< values of a specialization constant of the shaders
constexpr uint32_t buckets = 512; ///< numbers of the shaders' buffer
constexpr VkShaderStageFlags compute = VK_SHADER_STAGE_COMPUTE_BIT;
using Words = std::array<uint32_t, words>;

/// A layout of sequences and its tokens' data, which Vulkan's structs refer to.
struct Tokens {
   std::vector<VkIndirectCommandsLayoutTokenEXT> list;
   std::vector<VkIndirectCommandsPushConstantTokenEXT> pushes;
   VkIndirectCommandsExecutionSetTokenEXT set = {};
   uint32_t bytes = 0;

   Tokens() { pushes.reserve(words); }
   void add(VkIndirectCommandsTokenTypeEXT type, uint32_t size,
            VkIndirectCommandsTokenDataEXT data = {})
   {
      list.push_back({.sType = VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_TOKEN_EXT,
                      .type = type,
                      .data = data,
                      .offset = bytes});
      bytes += size;
   }
   void add_set(VkIndirectExecutionSetInfoTypeEXT type)
   {
      set = {.type = type, .shaderStages = compute};
      add(VK_INDIRECT_COMMANDS_TOKEN_TYPE_EXECUTION_SET_EXT, 4, {.pExecutionSet = &set});
   }
   /// `count` words from number `first` on.
   void add_push(uint32_t first, uint32_t count)
   {
      pushes.push_back({{compute, 4 * first, 4 * count}});
      add(VK_INDIRECT_COMMANDS_TOKEN_TYPE_PUSH_CONSTANT_EXT, 4 * count,
          {.pPushConstant = &pushes.back()});
   }
   void add_number(uint32_t word)
   {
      pushes.push_back({{compute, 4 * word, 4}});
      add(VK_INDIRECT_COMMANDS_TOKEN_TYPE_SEQUENCE_INDEX_EXT, 4, {.pPushConstant = &pushes.back()});
   }
   void add_dispatch() { add(VK_INDIRECT_COMMANDS_TOKEN_TYPE_DISPATCH_EXT, 12); }
};

class GeneratedCommandsFixture : public IcdTest {
protected:
   void SetUp() override
   {
      IcdTest::SetUp();
      load(create_layout, "vkCreateIndirectCommandsLayoutEXT");
      load(destroy_layout, "vkDestroyIndirectCommandsLayoutEXT");
      load(create_set, "vkCreateIndirectExecutionSetEXT");
      load(destroy_set, "vkDestroyIndirectExecutionSetEXT");
      load(write_pipelines, "vkUpdateIndirectExecutionSetPipelineEXT");
      load(write_shaders, "vkUpdateIndirectExecutionSetShaderEXT");
      load(get_requirements, "vkGetGeneratedCommandsMemoryRequirementsEXT");
      load(preprocess, "vkCmdPreprocessGeneratedCommandsEXT");
      load(execute, "vkCmdExecuteGeneratedCommandsEXT");
      load(bind_shaders, "vkCmdBindShadersEXT");
      load(begin_condition, "vkCmdBeginConditionalRenderingEXT");
      load(end_condition, "vkCmdEndConditionalRenderingEXT");

      recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
      recipe.push_bytes = sizeof(Words);
      layout = make_layout(recipe);
      descriptors = make_set(recipe.sets[0]);
      out = make_buffer(4 * buckets);
      write_buffer(descriptors, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
   }

   template <typename F>
   void load(F &function, const char *name)
   {
      function = device_function<F>(name);
      ASSERT_TRUE(function) << name;
   }

   /// One pipeline and one shader object of each kind.
   void make_shaders(const std::string &glsl, uint32_t count)
   {
      const auto spirv = e2e::compile_glsl(e2e::glsl_header + glsl);
      const auto create_shaders = device_function<PFN_vkCreateShadersEXT>("vkCreateShadersEXT");
      const auto destroy = device_function<PFN_vkDestroyShaderEXT>("vkDestroyShaderEXT");
      for (uint32_t kind = 0; kind < count; kind++) {
         const VkSpecializationMapEntry entry = {0, 0, 4};
         const VkSpecializationInfo constants = {1, &entry, 4, &kind};
         const VkPipelineCreateFlags2CreateInfo flags = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO,
            .flags = VK_PIPELINE_CREATE_2_INDIRECT_BINDABLE_BIT_EXT,
         };
         recipe.next = &flags;
         recipe.specialization = &constants;
         ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipelines[kind]));
         const VkPushConstantRange push = {compute, 0, sizeof(Words)};
         const VkShaderCreateInfoEXT info = {
            .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
            .flags = VK_SHADER_CREATE_INDIRECT_BINDABLE_BIT_EXT,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
            .codeSize = 4 * spirv.size(),
            .pCode = spirv.data(),
            .pName = "main",
            .setLayoutCount = 1,
            .pSetLayouts = recipe.sets.data(),
            .pushConstantRangeCount = 1,
            .pPushConstantRanges = &push,
            .pSpecializationInfo = &constants,
         };
         ASSERT_VK(create_shaders(device, 1, &info, nullptr, &shaders[kind]));
         clean_up.push_back([this, destroy, s = shaders[kind]] { destroy(device, s, nullptr); });
      }
      recipe.next = nullptr;
      recipe.specialization = nullptr;
   }

   VkIndirectCommandsLayoutCreateInfoEXT layout_info(const Tokens &tokens, uint32_t stride) const
   {
      return {
         .sType = VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_CREATE_INFO_EXT,
         .shaderStages = compute,
         .indirectStride = stride,
         .pipelineLayout = layout,
         .tokenCount = uint32_t(tokens.list.size()),
         .pTokens = tokens.list.data(),
      };
   }

   VkIndirectCommandsLayoutEXT
   make_commands_layout(const VkIndirectCommandsLayoutCreateInfoEXT &info)
   {
      VkIndirectCommandsLayoutEXT made = VK_NULL_HANDLE;
      EXPECT_VK(create_layout(device, &info, nullptr, &made)) << messages;
      clean_up.push_back([this, made] { destroy_layout(device, made, nullptr); });
      return made;
   }

   /// A set whose first element is the shader of this kind.
   VkIndirectExecutionSetEXT make_execution_set(bool of_shaders, uint32_t kind, uint32_t count)
   {
      const VkIndirectExecutionSetPipelineInfoEXT pipeline_info = {
         .sType = VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_PIPELINE_INFO_EXT,
         .initialPipeline = pipelines[kind],
         .maxPipelineCount = count,
      };
      const VkPushConstantRange push = {compute, 0, sizeof(Words)};
      const VkIndirectExecutionSetShaderInfoEXT shader_info = {
         .sType = VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_SHADER_INFO_EXT,
         .shaderCount = 1,
         .pInitialShaders = &shaders[kind],
         .maxShaderCount = count,
         .pushConstantRangeCount = 1,
         .pPushConstantRanges = &push,
      };
      VkIndirectExecutionSetCreateInfoEXT info = {
         .sType = VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT,
         .type = of_shaders ? VK_INDIRECT_EXECUTION_SET_INFO_TYPE_SHADER_OBJECTS_EXT
                            : VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT,
      };
      if (of_shaders)
         info.info.pShaderInfo = &shader_info;
      else
         info.info.pPipelineInfo = &pipeline_info;
      VkIndirectExecutionSetEXT made = VK_NULL_HANDLE;
      EXPECT_VK(create_set(device, &info, nullptr, &made)) << messages;
      clean_up.push_back([this, made] { destroy_set(device, made, nullptr); });
      return made;
   }

   void write_element(VkIndirectExecutionSetEXT set, bool of_shaders, uint32_t index, uint32_t kind)
   {
      if (of_shaders) {
         const VkWriteIndirectExecutionSetShaderEXT write = {
            .sType = VK_STRUCTURE_TYPE_WRITE_INDIRECT_EXECUTION_SET_SHADER_EXT,
            .index = index,
            .shader = shaders[kind],
         };
         write_shaders(device, set, 1, &write);
      } else {
         const VkWriteIndirectExecutionSetPipelineEXT write = {
            .sType = VK_STRUCTURE_TYPE_WRITE_INDIRECT_EXECUTION_SET_PIPELINE_EXT,
            .index = index,
            .pipeline = pipelines[kind],
         };
         write_pipelines(device, set, 1, &write);
      }
   }

   VkDeviceAddress address_of(const TestBuffer &buffer) const
   {
      const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                              .buffer = buffer.handle};
      return vkGetBufferDeviceAddress(device, &info);
   }

   /// Of the first pipeline, unless a set has others.
   VkGeneratedCommandsInfoEXT commands_info(VkIndirectCommandsLayoutEXT commands_layout,
                                            const TestBuffer &indirect, VkDeviceSize bytes,
                                            uint32_t max_count)
   {
      first_pipeline.pipeline = pipelines[0];
      return {
         .sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_INFO_EXT,
         .pNext = &first_pipeline,
         .shaderStages = compute,
         .indirectCommandsLayout = commands_layout,
         .indirectAddress = address_of(indirect),
         .indirectAddressSize = bytes,
         .maxSequenceCount = max_count,
      };
   }

   void expect(const VkGeneratedCommandsInfoEXT &info, const Words &push,
               std::span<const uint32_t> expected)
   {
      VkCommandBuffer cmd = begin();
      bind(cmd, false, 0, push);
      execute(cmd, VK_FALSE, &info);
      run(cmd);
      EXPECT_TRUE(std::ranges::equal(out.as(), expected));
   }

   void bind(VkCommandBuffer cmd, bool shader_object, uint32_t kind, const Words &push)
   {
      if (shader_object) {
         const VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
         bind_shaders(cmd, 1, &stage, &shaders[kind]);
      } else {
         vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[kind]);
      }
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &descriptors, 0,
                              nullptr);
      vkCmdPushConstants(cmd, layout, compute, 0, sizeof(Words), push.data());
   }

   PFN_vkCreateIndirectCommandsLayoutEXT create_layout = nullptr;
   PFN_vkDestroyIndirectCommandsLayoutEXT destroy_layout = nullptr;
   PFN_vkCreateIndirectExecutionSetEXT create_set = nullptr;
   PFN_vkDestroyIndirectExecutionSetEXT destroy_set = nullptr;
   PFN_vkUpdateIndirectExecutionSetPipelineEXT write_pipelines = nullptr;
   PFN_vkUpdateIndirectExecutionSetShaderEXT write_shaders = nullptr;
   PFN_vkGetGeneratedCommandsMemoryRequirementsEXT get_requirements = nullptr;
   PFN_vkCmdPreprocessGeneratedCommandsEXT preprocess = nullptr;
   PFN_vkCmdExecuteGeneratedCommandsEXT execute = nullptr;
   PFN_vkCmdBindShadersEXT bind_shaders = nullptr;
   PFN_vkCmdBeginConditionalRenderingEXT begin_condition = nullptr;
   PFN_vkCmdEndConditionalRenderingEXT end_condition = nullptr;

   VkGeneratedCommandsPipelineInfoEXT first_pipeline = {
      .sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_PIPELINE_INFO_EXT};
   PipelineRecipe recipe;
   VkPipelineLayout layout = VK_NULL_HANDLE;
   VkDescriptorSet descriptors = VK_NULL_HANDLE;
   std::array<VkPipeline, kinds> pipelines = {};
   std::array<VkShaderEXT, kinds> shaders = {};
   TestBuffer out;
};

} // namespace weft::icd_test
