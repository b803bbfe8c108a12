// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_mutable_descriptor_type: elements of one binding that hold descriptors of several types,
/// and copies between them and elements of one type.

#include "tests/e2e/glsl.h"
#include "tests/icd/descriptor_kinds.h"

#include <span>
#include <string>
#include <vector>

namespace weft::icd_test {

namespace {

constexpr uint32_t count = mutable_elements;

bool is_texel_buffer(VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER ||
          type == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
}

bool is_buffer(VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER || type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
}

} // namespace

class MutableDescriptorTest : public KindsTest {
protected:
   void write(VkDescriptorSet set, uint32_t binding, uint32_t element, VkDescriptorType type,
              const Resource &resource)
   {
      vulkan::write_descriptor(device, set, binding, type, resource, element);
   }

   /// The same through a template.
   void write_by_template(VkDescriptorSetLayout layout, VkDescriptorSet set,
                          const std::vector<VkDescriptorType> &types,
                          const std::vector<Resource> &resources)
   {
      std::vector<VkDescriptorUpdateTemplateEntry> entries;
      for (uint32_t i = 0; i < types.size(); ++i) {
         const size_t member = is_buffer(types[i])         ? offsetof(Resource, buffer)
                               : is_texel_buffer(types[i]) ? offsetof(Resource, texels)
                                                           : offsetof(Resource, image);
         entries.push_back({0, i, 1, types[i], i * sizeof(Resource) + member, sizeof(Resource)});
      }
      const VkDescriptorUpdateTemplateCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
         .descriptorUpdateEntryCount = uint32_t(entries.size()),
         .pDescriptorUpdateEntries = entries.data(),
         .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
         .descriptorSetLayout = layout,
      };
      VkDescriptorUpdateTemplate handle;
      ASSERT_VK(vkCreateDescriptorUpdateTemplate(device, &info, nullptr, &handle));
      vkUpdateDescriptorSetWithTemplate(device, set, handle, resources.data());
      vkDestroyDescriptorUpdateTemplate(device, handle, nullptr);
   }

   void copy(VkDescriptorSet from, uint32_t from_binding, uint32_t from_element, VkDescriptorSet to,
             uint32_t to_binding, uint32_t to_element, uint32_t descriptors = 1)
   {
      const VkCopyDescriptorSet copy = {
         .sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
         .srcSet = from,
         .srcBinding = from_binding,
         .srcArrayElement = from_element,
         .dstSet = to,
         .dstBinding = to_binding,
         .dstArrayElement = to_element,
         .descriptorCount = descriptors,
      };
      vkUpdateDescriptorSets(device, 0, nullptr, 1, &copy);
   }

   /// The binding 0 is mutable among some types; 1 is a sampled image, 2 and 9 are buffers.
   VkDescriptorSetLayout make_mutable_layout(const std::vector<VkDescriptorType> &types)
   {
      const VkMutableDescriptorTypeListEXT lists[] = {list_of(types)};
      const VkMutableDescriptorTypeCreateInfoEXT info = info_of(lists);
      return make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_MUTABLE_EXT, count),
                              binding(1, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE),
                              binding(2, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER),
                              binding(9, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)},
                             0, &info);
   }

   VkDescriptorPool make_pool(const std::vector<VkDescriptorPoolSize> &sizes,
                              const std::vector<VkMutableDescriptorTypeListEXT> &lists,
                              VkDescriptorPoolCreateFlags flags = 0)
   {
      const VkMutableDescriptorTypeCreateInfoEXT info = info_of(lists);
      const VkDescriptorPoolCreateInfo pool_info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
         .pNext = lists.empty() ? nullptr : &info,
         .flags = flags,
         .maxSets = 8,
         .poolSizeCount = uint32_t(sizes.size()),
         .pPoolSizes = sizes.data(),
      };
      VkDescriptorPool result;
      EXPECT_VK(vkCreateDescriptorPool(device, &pool_info, nullptr, &result));
      clean_up.push_back([this, result] { vkDestroyDescriptorPool(device, result, nullptr); });
      return result;
   }

   VkResult allocate(VkDescriptorPool from, VkDescriptorSetLayout layout, VkDescriptorSet *set)
   {
      const VkDescriptorSetAllocateInfo info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
         .descriptorPool = from,
         .descriptorSetCount = 1,
         .pSetLayouts = &layout,
      };
      return vkAllocateDescriptorSets(device, &info, set);
   }

   /// A set of exactly the layout's descriptors.
   VkDescriptorSet make_mutable_set(VkDescriptorSetLayout layout,
                                    const std::vector<VkDescriptorType> &types)
   {
      const VkDescriptorPool from = make_pool({{VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 1},
                                               {VK_DESCRIPTOR_TYPE_MUTABLE_EXT, count},
                                               {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1},
                                               {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1}},
                                              {{}, list_of(types)});
      VkDescriptorSet set = VK_NULL_HANDLE;
      EXPECT_VK(allocate(from, layout, &set));
      return set;
   }
};

/// Random lists of types, and elements of random types. The descriptors arrive in the last set
/// through copies: a set with a binding per type, and a set with a range of mutable elements.
TEST_F(MutableDescriptorTest, EachTypeBesideTheOthers)
{
   for (unsigned round = 0; round < 8; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      std::vector<Kind> chosen;
      for (const Kind &kind : descriptor_kinds()) {
         if (round == 0 || random() % 2)
            chosen.push_back(kind);
      }
      if (chosen.empty())
         chosen.push_back(descriptor_kinds()[random() % descriptor_kinds().size()]);
      std::vector<VkDescriptorType> list;
      for (const Kind &kind : chosen)
         list.push_back(kind.type);

      std::vector<uint32_t> kind_of(count);
      std::vector<VkDescriptorType> types;
      std::vector<Resource> resources;
      for (uint32_t i = 0; i < count; ++i) {
         kind_of[i] = uint32_t(random() % chosen.size());
         types.push_back(list[kind_of[i]]);
         resources.push_back(make_resource(types[i], float(i + 1)));
      }

      PipelineRecipe recipe;
      recipe.sets = {make_mutable_layout(list)};
      const VkDescriptorSet first = make_mutable_set(recipe.sets[0], list),
                            second = make_mutable_set(recipe.sets[0], list),
                            last = make_mutable_set(recipe.sets[0], list);
      if (round % 2) {
         write_by_template(recipe.sets[0], first, types, resources);
      } else {
         for (uint32_t i = 0; i < count; ++i)
            write(first, 0, i, types[i], resources[i]);
      }
      std::vector<VkDescriptorSetLayoutBinding> plain_bindings;
      std::vector<VkDescriptorPoolSize> plain_sizes;
      for (uint32_t i = 0; i < count; ++i) {
         plain_bindings.push_back(binding(i, types[i]));
         plain_sizes.push_back({types[i], 1});
      }
      VkDescriptorSet plain = VK_NULL_HANDLE;
      ASSERT_VK(allocate(make_pool(plain_sizes, {}), make_set_layout(plain_bindings), &plain));
      for (uint32_t i = 0; i < count; ++i) {
         copy(first, 0, i, plain, i, 0);
         copy(plain, i, 0, second, 0, i);
      }
      copy(second, 0, 0, last, 0, 0, count);

      const TestBuffer kind_buffer = make_buffer(count * 16), out = make_buffer(count * 4);
      for (uint32_t i = 0; i < count; ++i)
         kind_buffer.as<uint32_t>()[4 * i] = kind_of[i];
      write_sampled(last, 1, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, make_one_texel(0), VK_NULL_HANDLE);
      write_buffer(last, 2, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, kind_buffer);
      write_buffer(last, 9, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
      const VkPipelineLayout layout = make_layout(recipe);
      bind_and_run(layout, make_pipeline(mutable_reader(chosen), recipe, layout), last);
      for (uint32_t i = 0; i < count; ++i)
         ASSERT_EQ(out.as<float>()[i], float(i + 1)) << "element " << i << ", type " << types[i];
   }
}

/// A pool has room for the largest type of its list, and for every type without a list.
TEST_F(MutableDescriptorTest, Pools)
{
   const std::vector<VkDescriptorType> small = {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER},
                                       large = {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                                VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER};
   const auto layout_of = [&](const std::vector<VkDescriptorType> &types) {
      const VkMutableDescriptorTypeListEXT lists[] = {list_of(types)};
      const VkMutableDescriptorTypeCreateInfoEXT info = info_of(lists);
      return make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_MUTABLE_EXT, count)},
                             VK_DESCRIPTOR_SET_LAYOUT_CREATE_HOST_ONLY_POOL_BIT_EXT, &info);
   };
   const auto sets_in = [&](const std::vector<VkMutableDescriptorTypeListEXT> &lists,
                            VkDescriptorSetLayout layout) {
      const VkDescriptorPool from = make_pool(
         {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1}, {VK_DESCRIPTOR_TYPE_MUTABLE_EXT, 2 * count}},
         lists, VK_DESCRIPTOR_POOL_CREATE_HOST_ONLY_BIT_EXT);
      uint32_t sets = 0;
      VkDescriptorSet set;
      VkResult result;
      while ((result = allocate(from, layout, &set)) == VK_SUCCESS)
         ++sets;
      EXPECT_EQ(result, VK_ERROR_OUT_OF_POOL_MEMORY);
      return sets;
   };
   // The first size is no mutable one, so its list does not matter.
   const VkMutableDescriptorTypeListEXT small_list = list_of(small), large_list = list_of(large);
   EXPECT_EQ(sets_in({large_list, small_list}, layout_of(small)), 2u);
   EXPECT_EQ(sets_in({small_list, large_list}, layout_of(large)), 2u);
   EXPECT_EQ(sets_in({large_list, small_list}, layout_of(large)), 0u);
   EXPECT_EQ(sets_in({}, layout_of(large)), 2u);
}

TEST_F(MutableDescriptorTest, SupportedLists)
{
   const auto is_supported = [&](const std::vector<VkDescriptorType> &types) {
      const VkMutableDescriptorTypeListEXT lists[] = {{}, list_of(types)};
      const VkMutableDescriptorTypeCreateInfoEXT list_info = info_of(lists);
      const VkDescriptorSetLayoutBinding bindings[] = {
         binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER),
         binding(1, VK_DESCRIPTOR_TYPE_MUTABLE_EXT, 4)};
      const VkDescriptorSetLayoutCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
         .pNext = &list_info,
         .bindingCount = 2,
         .pBindings = bindings,
      };
      VkDescriptorSetLayoutSupport support = {.sType =
                                                 VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_SUPPORT};
      vkGetDescriptorSetLayoutSupport(device, &info, &support);
      return support.supported == VK_TRUE;
   };
   for (const Kind &kind : descriptor_kinds())
      EXPECT_TRUE(is_supported({VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kind.type})) << kind.type;
   EXPECT_FALSE(is_supported(
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR}));
}

} // namespace weft::icd_test
