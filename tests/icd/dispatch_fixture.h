// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tests that dispatch a shader with one pipeline, one layout and, mostly, one descriptor set.

#pragma once

#include "tests/icd/fixture.h"

namespace weft::icd_test {

constexpr VkDescriptorType storage = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
constexpr VkDescriptorType uniform = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
constexpr VkDescriptorType storage_dynamic = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
constexpr VkDescriptorType uniform_dynamic = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;

class DispatchTest : public IcdTest {
protected:
   /// One storage buffer at set 0, binding 0.
   void use_one_buffer(const char *glsl, VkDeviceSize size, uint32_t push_bytes = 0)
   {
      out = make_buffer(size);
      recipe.sets = {make_set_layout({binding(0, storage)})};
      recipe.push_bytes = push_bytes;
      layout = make_layout(recipe);
      pipeline = make_pipeline(glsl, recipe, layout);
      set = make_set(recipe.sets[0]);
      write_buffer(set, 0, storage, out);
   }

   VkCommandBuffer begin_bound()
   {
      VkCommandBuffer cmd = begin();
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      if (set)
         vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                                 nullptr);
      return cmd;
   }

   /// A template that writes to sets of the layout.
   VkDescriptorUpdateTemplate
   make_template(VkDescriptorSetLayout set_layout,
                 const std::vector<VkDescriptorUpdateTemplateEntry> &entries)
   {
      const VkDescriptorUpdateTemplateCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
         .descriptorUpdateEntryCount = uint32_t(entries.size()),
         .pDescriptorUpdateEntries = entries.data(),
         .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
         .descriptorSetLayout = set_layout,
      };
      VkDescriptorUpdateTemplate update = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateDescriptorUpdateTemplate(device, &info, nullptr, &update));
      clean_up.push_back(
         [this, update] { vkDestroyDescriptorUpdateTemplate(device, update, nullptr); });
      return update;
   }

   void write_inline(VkDescriptorSet to, uint32_t binding, uint32_t offset, const void *data,
                     uint32_t size)
   {
      const VkWriteDescriptorSetInlineUniformBlock block = {
         .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
         .dataSize = size,
         .pData = data,
      };
      const VkWriteDescriptorSet write = {
         .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .pNext = &block,
         .dstSet = to,
         .dstBinding = binding,
         .dstArrayElement = offset,
         .descriptorCount = size,
         .descriptorType = VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK,
      };
      vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
   }

   void dispatch_once()
   {
      VkCommandBuffer cmd = begin_bound();
      vkCmdDispatch(cmd, 1, 1, 1);
      run(cmd);
   }

   PipelineRecipe recipe;
   VkPipelineLayout layout = VK_NULL_HANDLE;
   VkPipeline pipeline = VK_NULL_HANDLE;
   VkDescriptorSet set = VK_NULL_HANDLE;
   TestBuffer out;
};

} // namespace weft::icd_test
