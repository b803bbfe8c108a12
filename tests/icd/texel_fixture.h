// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Texel buffers: their formats, their views, and shaders with texel buffers and storage buffers.

#pragma once

#include "tests/backend/cpu/seed.h"
#include "tests/icd/fixture.h"
#include "tests/oracle/block.h"
#include "tests/oracle/texel.h"

#include <random>
#include <string>
#include <vector>

namespace weft::icd_test {

constexpr VkDescriptorType uniform_texels = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
constexpr VkDescriptorType storage_texels = VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;

/// Uses of texel buffers that Vulkan requires of every device ("Required Format Support").
enum Required { none, fetches, stores };

struct Format {
   VkFormat format;
   const char *name;                ///< without VK_FORMAT_
   Required required = none;        ///< stores: fetches, too
   const char *qualifier = nullptr; ///< in GLSL, of formats that need no feature

   oracle::TexelLayout layout() const { return oracle::texel_layout(name); }
   bool is_compressed() const { return name[0] == 'B' && name[1] == 'C'; }
   oracle::BlockLayout blocks() const { return oracle::block_layout(name); }
   bool has(char component) const;
   /// "i" or "u" of GLSL's types.
   const char *prefix() const;
};

/// All formats that a driver may support for texel buffers, without 64-bit components.
const std::vector<Format> &texel_formats();
VkFormatFeatureFlags buffer_features(VkPhysicalDevice, VkFormat);

class TexelTest : public IcdTest {
protected:
   std::mt19937_64 random{cpu::test::test_seed()};

   TestBuffer make_random_buffer(VkDeviceSize size);
   VkBufferView make_view(const TestBuffer &, VkFormat, VkDeviceSize offset = 0,
                          VkDeviceSize range = VK_WHOLE_SIZE);
   void write_texels(VkDescriptorSet, uint32_t binding, VkDescriptorType, VkBufferView,
                     uint32_t element = 0);

   /// A pipeline with one texel buffer at binding 0 and storage buffers behind it.
   struct Program {
      VkPipelineLayout layout;
      VkDescriptorSetLayout set_layout;
      VkPipeline pipeline;
      VkDescriptorType texels;
   };
   Program make_program(const std::string &glsl, VkDescriptorType texels, uint32_t buffers,
                        const void *stage_next = nullptr);
   void run_program(const Program &, VkBufferView, const std::vector<TestBuffer> &,
                    uint32_t groups = 1);
   void bind_and_run(VkPipelineLayout, VkPipeline, VkDescriptorSet, uint32_t groups = 1);
};

} // namespace weft::icd_test
