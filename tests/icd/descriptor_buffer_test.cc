// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Descriptors in buffers: of each type, written by the host, by copies and by shaders, null and
/// out of range.

#include "tests/icd/descriptor_buffer_fixture.h"

#include "tests/e2e/glsl.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace weft::icd_test {

namespace {

constexpr VkDescriptorType storage = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
constexpr VkDescriptorType uniform = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
constexpr uint32_t alignment = 16; // descriptorBufferOffsetAlignment

struct TestBinding {
   uint32_t number;
   Kind kind;
   uint32_t count;
};

/// A set of random bindings.
struct TestSet {
   std::vector<TestBinding> bindings;
   VkDescriptorSetLayout layout;
   uint32_t buffer;     ///< the number of its descriptor buffer
   VkDeviceSize offset; ///< from the address that is bound
};

/// A descriptor buffer and its contents, which arrive there before the dispatch.
struct Contents {
   TestBuffer buffer, staged;
   VkDeviceSize bound = 0; ///< from the buffer's beginning
   VkDeviceSize used = 0;

   uint8_t *staged_set(const TestSet &set) const { return staged.map + bound + set.offset; }
};

} // namespace

class DescriptorBufferTest : public DescriptorBufferFixture {
protected:
   static constexpr uint32_t out_binding = 60, zero_binding = 61;

   std::vector<TestBinding> random_bindings(bool all_kinds)
   {
      std::vector<TestBinding> bindings;
      const std::vector<Kind> &kinds = descriptor_kinds();
      const uint32_t count = all_kinds ? uint32_t(kinds.size()) : uint32_t(random() % 5);
      uint32_t number = 0;
      for (uint32_t i = 0; i < count; ++i) {
         number += uint32_t(random() % 3) + (i > 0);
         const Kind &kind = kinds[all_kinds ? i : random() % kinds.size()];
         bindings.push_back({number, kind, 1 + uint32_t(random() % 3)});
      }
      return bindings;
   }

   /// The sets lie behind each other in random buffers, with gaps.
   void place(TestSet &set, std::vector<Contents> &contents, bool is_first)
   {
      std::vector<VkDescriptorSetLayoutBinding> bindings;
      for (const TestBinding &b : set.bindings)
         bindings.push_back(binding(b.number, b.kind.type, b.count));
      if (is_first) {
         bindings.push_back(binding(out_binding, storage));
         bindings.push_back(binding(zero_binding, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE));
      }
      std::ranges::shuffle(bindings, random);
      set.layout = make_buffer_layout(bindings);
      set.buffer = uint32_t(random() % contents.size());
      Contents &c = contents[set.buffer];
      c.used += alignment * (random() % 9);
      set.offset = c.used;
      const VkDeviceSize size = buffers.size_of(set.layout);
      c.used += (size + alignment - 1) / alignment * alignment;
   }

   std::vector<Contents> make_contents()
   {
      std::vector<Contents> contents(1 + random() % 3);
      for (Contents &c : contents) {
         c.buffer = make_descriptor_buffer(64 << 10);
         c.staged = make_descriptor_buffer(64 << 10);
         c.bound = alignment * (random() % 9);
      }
      return contents;
   }

   /// Fills a buffer by the host at once, or by the command buffer.
   void fill_buffer(VkCommandBuffer cmd, const Contents &c, uint64_t way)
   {
      const VkBufferCopy all = {0, 0, c.buffer.size};
      if (way == 0)
         memcpy(c.buffer.map, c.staged.map, size_t(c.buffer.size));
      else if (way == 1)
         vkCmdCopyBuffer(cmd, c.staged.handle, c.buffer.handle, 1, &all);
      else
         copy_by_shader(cmd, address_of(c.staged), address_of(c.buffer), uint32_t(c.buffer.size));
   }

   /// A pipeline or a shader object.
   void bind_shader(VkCommandBuffer cmd, const std::string &glsl, const PipelineRecipe &recipe,
                    VkPipelineLayout layout, bool is_object)
   {
      if (!is_object)
         return vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE,
                                  make_buffer_pipeline(glsl, recipe, layout));
      const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + glsl);
      const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, recipe.push_bytes};
      const VkShaderCreateInfoEXT info = {
         .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
         .stage = VK_SHADER_STAGE_COMPUTE_BIT,
         .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
         .codeSize = spirv.size() * 4,
         .pCode = spirv.data(),
         .pName = "main",
         .setLayoutCount = uint32_t(recipe.sets.size()),
         .pSetLayouts = recipe.sets.data(),
         .pushConstantRangeCount = 1,
         .pPushConstantRanges = &range,
      };
      VkShaderEXT shader = VK_NULL_HANDLE;
      ASSERT_VK(device_function<PFN_vkCreateShadersEXT>("vkCreateShadersEXT")(device, 1, &info,
                                                                              nullptr, &shader));
      clean_up.push_back([this, shader] {
         device_function<PFN_vkDestroyShaderEXT>("vkDestroyShaderEXT")(device, shader, nullptr);
      });
      const VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
      device_function<PFN_vkCmdBindShadersEXT>("vkCmdBindShadersEXT")(cmd, 1, &stage, &shader);
   }

   /// GLSL that writes the numbers of a binding from `first` on: by constant indices, or in a loop.
   std::string read_all(const TestBinding &b, const std::string &name, size_t first)
   {
      const std::string place = "result[" + std::to_string(first) + " + ";
      if (random() % 2)
         return "   for (uint i = 0; i < " + std::to_string(b.count) + "; ++i)\n      " + place +
                "i] = " + b.kind.number(name + "[i + none]") + ";\n";
      std::string text;
      for (uint32_t e = 0; e < b.count; ++e) {
         const std::string index = std::to_string(e);
         text += "   " + place + index + "] = " + b.kind.number(name + "[" + index + "]") + ";\n";
      }
      return text;
   }

   /// Sets the offsets of all sets, in random parts, by either form of the command.
   void set_all_offsets(VkCommandBuffer cmd, VkPipelineLayout layout,
                        const std::vector<TestSet> &sets)
   {
      for (uint32_t first = 0; first < sets.size();) {
         const auto count = 1 + uint32_t(random() % (sets.size() - first));
         std::vector<uint32_t> numbers;
         std::vector<VkDeviceSize> offsets;
         for (uint32_t s = first; s < first + count; ++s) {
            numbers.push_back(sets[s].buffer);
            offsets.push_back(sets[s].offset);
         }
         const VkSetDescriptorBufferOffsetsInfoEXT info = {
            .sType = VK_STRUCTURE_TYPE_SET_DESCRIPTOR_BUFFER_OFFSETS_INFO_EXT,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
            .layout = layout,
            .firstSet = first,
            .setCount = count,
            .pBufferIndices = numbers.data(),
            .pOffsets = offsets.data(),
         };
         if (random() % 2)
            buffers.set_buffer_offsets_2(cmd, &info);
         else
            buffers.set_offsets(cmd, layout, first, numbers, offsets);
         first += count;
      }
   }
};

TEST_F(DescriptorBufferTest, Properties)
{
   const VkPhysicalDeviceDescriptorBufferPropertiesEXT &p = buffers.properties();
   EXPECT_EQ(p.descriptorBufferOffsetAlignment, alignment);
   EXPECT_TRUE(p.combinedImageSamplerDescriptorSingleArray);
   EXPECT_TRUE(p.bufferlessPushDescriptors);
   EXPECT_GE(p.maxDescriptorBufferBindings, 3u);
   EXPECT_GE(p.maxEmbeddedImmutableSamplers, 2032u);
   VkDeviceSize largest = 0;
   for (const Kind &kind : descriptor_kinds()) {
      const size_t size = buffers.size_of(kind.type);
      EXPECT_TRUE(size > 0 && size <= 256) << kind.type;
      largest = std::max<VkDeviceSize>(largest, size);
   }
   EXPECT_GE(p.maxSamplerDescriptorBufferRange, (1 << 11) * p.samplerDescriptorSize);
   EXPECT_GE(p.maxResourceDescriptorBufferRange, ((1 << 20) - (1 << 15)) * largest);
   EXPECT_GE(p.descriptorBufferAddressSpaceSize, 1u << 27);
   // Both sizes hold for the same descriptors.
   EXPECT_EQ(p.storageBufferDescriptorSize, p.robustStorageBufferDescriptorSize);
   EXPECT_EQ(p.uniformBufferDescriptorSize, p.robustUniformBufferDescriptorSize);
   EXPECT_EQ(p.storageTexelBufferDescriptorSize, p.robustStorageTexelBufferDescriptorSize);
   EXPECT_EQ(p.uniformTexelBufferDescriptorSize, p.robustUniformTexelBufferDescriptorSize);
}

/// Random sets at random places in random buffers. The buffers are poison while the command buffer
/// is recorded.
TEST_F(DescriptorBufferTest, EachTypeAndEachWayToWrite)
{
   for (unsigned round = 0; round < 6; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      std::vector<TestSet> sets(1 + random() % 4);
      std::vector<Contents> contents = make_contents();
      std::string declarations = kinds_header, body;
      std::vector<float> expected;
      PipelineRecipe recipe = {.push_bytes = 4};
      for (uint32_t s = 0; s < sets.size(); ++s) {
         sets[s].bindings = random_bindings(round == 0 && s == 0);
         place(sets[s], contents, s == 0);
         recipe.sets.push_back(sets[s].layout);
         uint8_t *staged = contents[sets[s].buffer].staged_set(sets[s]);
         for (const TestBinding &b : sets[s].bindings) {
            const std::string name = "x" + std::to_string(s) + "_" + std::to_string(b.number);
            declarations += b.kind.declare(s, b.number, name, b.count);
            body += read_all(b, name, expected.size());
            for (uint32_t e = 0; e < b.count; ++e) {
               expected.push_back(float(expected.size() + 1));
               put(b.kind.type, make_resource(b.kind.type, expected.back()),
                   place_of(sets[s].layout, staged, b.number, b.kind.type, e));
            }
         }
      }
      const TestBuffer out = make_random_buffer(256 * 4);
      uint8_t *first = contents[sets[0].buffer].staged_set(sets[0]);
      put_buffer(sets[0].layout, first, out_binding, storage, out);
      put(VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
          {.image = {VK_NULL_HANDLE, make_one_texel(0), VK_IMAGE_LAYOUT_GENERAL}},
          place_of(sets[0].layout, first, zero_binding, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE));
      declarations += "layout(local_size_x = 1) in;\n"
                      "layout(push_constant) uniform Push { uint none; };\n"
                      "layout(set = 0, binding = 61) uniform texture2D zero;\n"
                      "layout(set = 0, binding = 60) buffer Out { float result[]; };\n";

      const VkPipelineLayout layout = make_layout(recipe);
      VkCommandBuffer cmd = begin();
      std::vector<uint64_t> ways;
      std::vector<VkDeviceAddress> addresses;
      for (const Contents &c : contents) {
         ways.push_back(random() % 3);
         if (ways.back() > 0)
            fill_buffer(cmd, c, ways.back());
         addresses.push_back(address_of(c.buffer) + c.bound);
      }
      barrier(cmd);
      buffers.bind(cmd, addresses);
      set_all_offsets(cmd, layout, sets);
      bind_shader(cmd, declarations + "void main()\n{\n" + body + "}\n", recipe, layout,
                  round % 2 == 1);
      const uint32_t none = 0;
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &none);
      vkCmdDispatch(cmd, 1, 1, 1);
      for (size_t i = 0; i < contents.size(); ++i) {
         if (ways[i] == 0)
            fill_buffer(cmd, contents[i], 0);
      }
      run(cmd);
      for (size_t i = 0; i < expected.size(); ++i)
         ASSERT_EQ(out.as<float>()[i], expected[i]) << i << "\n" << declarations << body;
   }
}

/// A shader puts the descriptors of an array into another order before each dispatch.
TEST_F(DescriptorBufferTest, ShadersWriteDescriptors)
{
   constexpr uint32_t count = 16, steps = 6;
   const Kind &texels = descriptor_kinds()[3];
   ASSERT_EQ(texels.type, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER);
   PipelineRecipe recipe = {.push_bytes = 4};
   recipe.sets = {make_buffer_layout(
      {binding(0, storage, count), binding(1, texels.type, count), binding(2, storage)})};
   const VkPipelineLayout layout = make_layout(recipe);
   const VkPipeline pipeline =
      make_buffer_pipeline("layout(local_size_x = 16) in;\n"
                           "layout(push_constant) uniform Push { uint step; };\n" +
                              texels.declare(0, 1, "texels", count) +
                              R"(layout(binding = 0) buffer Number { float x; } numbers[16];
            layout(binding = 2) buffer Out { float result[]; };
            void main()
            {
               const uint i = gl_LocalInvocationIndex;
               result[16 * step + i] =
                  numbers[nonuniformEXT(i)].x + texelFetch(texels[nonuniformEXT(i)], 0).x;
            })",
                           recipe, layout);

   const VkDescriptorSetLayout set = recipe.sets[0];
   const TestBuffer target = make_descriptor_buffer(buffers.size_of(set)),
                    out = make_random_buffer(4 * count * steps),
                    staged = make_descriptor_buffer(2 * target.size);
   put_buffer(set, target.map, 2, storage, out);
   for (uint32_t i = 0; i < count; ++i) {
      put(storage, make_resource(storage, float(i)), place_of(set, staged.map, 0, storage, i));
      put(texels.type, make_resource(texels.type, float(100 * i)),
          place_of(set, staged.map, 1, texels.type, i));
   }
   VkCommandBuffer cmd = begin();
   std::vector<float> expected;
   for (uint32_t step = 0; step < steps; ++step) {
      std::array<std::array<uint32_t, count>, 2> order;
      for (uint32_t b = 0; b < 2; ++b) {
         const VkDescriptorType type = b == 0 ? storage : texels.type;
         const auto size = uint32_t(buffers.size_of(type));
         const VkDeviceSize offset = buffers.offset_of(set, b);
         std::iota(order[b].begin(), order[b].end(), 0);
         std::ranges::shuffle(order[b], random);
         for (uint32_t i = 0; i < count; ++i)
            copy_by_shader(cmd, address_of(staged) + offset + order[b][i] * size,
                           address_of(target) + offset + i * size, size);
      }
      for (uint32_t i = 0; i < count; ++i)
         expected.push_back(float(order[0][i] + 100 * order[1][i]));
      barrier(cmd);
      buffers.bind(cmd, {address_of(target)});
      buffers.set_offsets(cmd, layout, 0, {0}, {0});
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &step);
      vkCmdDispatch(cmd, 1, 1, 1);
      barrier(cmd);
   }
   run(cmd);
   for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(out.as<float>()[i], expected[i]) << i;
}

/// Accesses to words 0 to 15 of buffers of random ranges, and of null buffers, whose address is 0
/// or that have no description.
TEST_F(DescriptorBufferTest, RangesAndNullBuffers)
{
   constexpr VkDescriptorType uniform_texels = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
                              storage_texels = VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
   constexpr uint32_t words = 16, elements = 4;
   PipelineRecipe recipe;
   recipe.sets = {make_buffer_layout({binding(0, storage, elements), binding(1, uniform, elements),
                                      binding(2, storage_texels, elements),
                                      binding(3, uniform_texels, elements), binding(4, storage),
                                      binding(5, storage, elements)})};
   const VkPipelineLayout layout = make_layout(recipe);
   // The buffers of binding 5 and the texel buffers of binding 2 are written to.
   const VkPipeline pipeline = make_buffer_pipeline(R"(
      layout(local_size_x = 16) in;
      layout(binding = 0) buffer A { uint x[]; } as[4];
      layout(binding = 1, scalar) uniform B { uint x[16]; } bs[4];
      layout(binding = 2, r32ui) uniform uimageBuffer cs[4];
      layout(binding = 3) uniform usamplerBuffer ds[4];
      layout(binding = 4) buffer Out { uint result[]; };
      layout(binding = 5) buffer E { uint x[]; } es[4];
      void main()
      {
         const uint i = gl_LocalInvocationIndex;
         for (uint k = 0; k < 4; ++k) {
            uint at = 16 * (5 * k) + i;
            result[at] = as[k].x[i];
            result[at + 16] = bs[k].x[i];
            result[at + 32] = imageLoad(cs[k], int(i)).x;
            result[at + 48] = texelFetch(ds[k], int(i)).x;
            result[at + 64] = uint(imageSize(cs[k])) * 64u + uint(es[k].x.length());
            imageStore(cs[k], int(i), uvec4(i + 1000 * k));
            es[k].x[i] = i + 2000 * k;
         }
      })",
                                                    recipe, layout);
   const VkDescriptorSetLayout set = recipe.sets[0];
   for (unsigned round = 0; round < 12; ++round) {
      const TestBuffer target = make_descriptor_buffer(buffers.size_of(set)),
                       out = make_random_buffer(4 * words * 5 * elements);
      put_buffer(set, target.map, 4, storage, out);
      const VkDescriptorType types[] = {storage,        uniform, storage_texels,
                                        uniform_texels, storage, storage};
      TestBuffer data[6][elements];
      std::vector<uint32_t> before[6][elements];
      uint32_t counts[6][elements]; // of accessible words
      for (uint32_t b : {0, 1, 2, 3, 5}) {
         for (uint32_t k = 0; k < elements; ++k) {
            uint8_t *place = place_of(set, target.map, b, types[b], k);
            const auto offset = uint32_t(16 * (random() % 4));
            data[b][k] = make_random_buffer(4 * words + offset + 16);
            const auto all = data[b][k].as<uint32_t>();
            before[b][k].assign(all.begin() + offset / 4, all.end());
            counts[b][k] = 1 + uint32_t(random() % words);
            const uint64_t way = random() % 4;
            if (way == 0)
               buffers.get(types[b], {}, place);
            else if (way == 1)
               buffers.get_buffer(types[b], 0, VK_WHOLE_SIZE, place, VK_FORMAT_R32_UINT);
            else
               buffers.get_buffer(types[b], address_of(data[b][k]) + offset, 4 * counts[b][k],
                                  place, VK_FORMAT_R32_UINT);
            if (way < 2)
               counts[b][k] = 0;
            data[b][k].map += offset;
         }
      }
      run_with(target, layout, pipeline);
      for (uint32_t k = 0; k < elements; ++k) {
         for (uint32_t i = 0; i < words; ++i) {
            for (uint32_t b = 0; b < 4; ++b)
               ASSERT_EQ(out.as()[16 * (5 * k + b) + i], i < counts[b][k] ? before[b][k][i] : 0)
                  << "binding " << b << ", element " << k << ", word " << i;
            ASSERT_EQ(out.as()[16 * (5 * k + 4) + i], counts[2][k] * 64 + counts[5][k]);
            const auto written = [&](uint32_t b) {
               return reinterpret_cast<const uint32_t *>(data[b][k].map)[i];
            };
            ASSERT_EQ(written(2), i < counts[2][k] ? i + 1000 * k : before[2][k][i]) << i;
            ASSERT_EQ(written(5), i < counts[5][k] ? i + 2000 * k : before[5][k][i]) << i;
         }
      }
   }
}

/// A null image has no texels and no size; stores to it have no effect.
TEST_F(DescriptorBufferTest, NullImages)
{
   constexpr VkDescriptorType combined = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                              sampled = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
   PipelineRecipe recipe;
   recipe.sets = {make_buffer_layout({binding(0, storage), binding(1, storage_image, 2),
                                      binding(2, sampled, 2), binding(3, combined)})};
   const VkPipelineLayout layout = make_layout(recipe);
   const VkPipeline pipeline = make_buffer_pipeline(std::string(kinds_header) + R"(
      layout(local_size_x = 1) in;
      layout(binding = 0) buffer Out { float result[8]; };
      layout(binding = 1, r32f) uniform image2D stores[2];
      layout(binding = 2) uniform texture2D reads[2];
      layout(binding = 3) uniform sampler2D both;
      void main()
      {
         for (int i = 0; i < 2; ++i) {
            imageStore(stores[i], ivec2(0), vec4(7));
            result[i] = imageLoad(stores[i], ivec2(0)).x + imageSize(stores[i]).x;
            result[2 + i] = texelFetch(reads[i], ivec2(0), 0).x + textureSize(reads[i], 0).x;
         }
         result[4] = textureLod(both, vec2(0.5), 0).x;
         result[5] = textureSize(both, 0).x;
      })",
                                                    recipe, layout);
   const VkDescriptorSetLayout set = recipe.sets[0];
   const TestBuffer target = make_descriptor_buffer(buffers.size_of(set)),
                    out = make_random_buffer(32);
   put_buffer(set, target.map, 0, storage, out);
   const Resource sampler = make_resource(VK_DESCRIPTOR_TYPE_SAMPLER, 3);
   const Resource null = {.image = {sampler.image.sampler, VK_NULL_HANDLE}};
   for (const auto &[number, type] : {std::pair(1u, storage_image), std::pair(2u, sampled)}) {
      buffers.get(type, {}, place_of(set, target.map, number, type, 0));
      put(type, null, place_of(set, target.map, number, type, 1));
   }
   put(combined, null, place_of(set, target.map, 3, combined));
   run_with(target, layout, pipeline);
   for (uint32_t i = 0; i < 6; ++i)
      EXPECT_EQ(out.as<float>()[i], 0) << i;
}

/// Elements of random types among random lists, as in mutable_descriptor_test.cc. All types lie at
/// the beginning of an element.
TEST_F(DescriptorBufferTest, MutableElements)
{
   for (unsigned round = 0; round < 3; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      std::vector<Kind> chosen;
      std::vector<VkDescriptorType> list;
      size_t stride = 0;
      for (const Kind &kind : descriptor_kinds()) {
         if (round > 0 && random() % 2)
            continue;
         chosen.push_back(kind);
         list.push_back(kind.type);
         stride = std::max(stride, buffers.size_of(kind.type));
      }
      if (chosen.empty())
         continue;
      const VkMutableDescriptorTypeListEXT lists[] = {list_of(list)};
      const VkMutableDescriptorTypeCreateInfoEXT info = info_of(lists);
      PipelineRecipe recipe;
      recipe.sets = {make_buffer_layout(
         {binding(0, VK_DESCRIPTOR_TYPE_MUTABLE_EXT, mutable_elements),
          binding(1, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE), binding(2, uniform), binding(9, storage)},
         0, &info)};
      const VkDescriptorSetLayout set = recipe.sets[0];
      const TestBuffer target = make_descriptor_buffer(buffers.size_of(set)),
                       kinds = make_buffer(16 * mutable_elements),
                       out = make_random_buffer(4 * mutable_elements);
      for (uint32_t i = 0; i < mutable_elements; ++i) {
         const auto k = uint32_t(random() % chosen.size());
         kinds.as()[4 * i] = k;
         put(chosen[k].type, make_resource(chosen[k].type, float(i + 1)),
             target.map + buffers.offset_of(set, 0) + i * stride);
      }
      put(VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
          {.image = {VK_NULL_HANDLE, make_one_texel(0), VK_IMAGE_LAYOUT_GENERAL}},
          target.map + buffers.offset_of(set, 1));
      put_buffer(set, target.map, 2, uniform, kinds);
      put_buffer(set, target.map, 9, storage, out);
      const VkPipelineLayout layout = make_layout(recipe);
      const VkPipeline pipeline = make_buffer_pipeline(mutable_reader(chosen), recipe, layout);
      run_with(target, layout, pipeline);
      for (uint32_t i = 0; i < mutable_elements; ++i)
         ASSERT_EQ(out.as<float>()[i], float(i + 1)) << i << ", " << chosen[kinds.as()[4 * i]].type;
   }
}

/// Inline data lies in the buffer; the last binding needs memory for the elements in use only.
TEST_F(DescriptorBufferTest, InlineDataAndVariableCounts)
{
   constexpr uint32_t declared = 100, used = 5, words = 7;
   const VkDescriptorBindingFlags flags[] = {0, 0,
                                             VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT};
   const VkDescriptorSetLayoutBindingFlagsCreateInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
      .bindingCount = 3,
      .pBindingFlags = flags,
   };
   PipelineRecipe recipe;
   recipe.sets = {
      make_buffer_layout({binding(1, VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 4 * words),
                          binding(2, storage), binding(5, storage, declared)},
                         0, &flags_info)};
   const VkPipelineLayout layout = make_layout(recipe);
   const VkPipeline pipeline = make_buffer_pipeline(R"(
      layout(local_size_x = 8) in;
      layout(binding = 1, scalar) uniform Inline { uint x[7]; } block;
      layout(binding = 2) buffer Out { uint result[16]; };
      layout(binding = 5) buffer Many { uint x; } many[];
      void main()
      {
         const uint i = gl_LocalInvocationIndex;
         if (i < 7)
            result[i] = block.x[i];
         if (i < 5)
            result[8 + i] = many[nonuniformEXT(i)].x;
      })",
                                                    recipe, layout);
   const VkDescriptorSetLayout set = recipe.sets[0];
   const VkDeviceSize last = buffers.offset_of(set, 5), size = buffers.size_of(storage);
   EXPECT_GT(last, buffers.offset_of(set, 1));
   EXPECT_GT(last, buffers.offset_of(set, 2));
   EXPECT_GE(buffers.size_of(set), last + declared * size);
   const TestBuffer target = make_descriptor_buffer(last + used * size),
                    out = make_random_buffer(64), block = make_random_buffer(4 * words);
   put_buffer(set, target.map, 2, storage, out);
   memcpy(target.map + buffers.offset_of(set, 1), block.map, 4 * words);
   std::vector<TestBuffer> many;
   for (uint32_t i = 0; i < used; ++i) {
      many.push_back(make_random_buffer(4));
      put_buffer(set, target.map, 5, storage, many[i], i);
   }
   run_with(target, layout, pipeline);
   for (uint32_t i = 0; i < words; ++i)
      EXPECT_EQ(out.as()[i], block.as()[i]) << i;
   for (uint32_t i = 0; i < used; ++i)
      EXPECT_EQ(out.as()[8 + i], many[i].as()[0]) << i;
}

} // namespace weft::icd_test
