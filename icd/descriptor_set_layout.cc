// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/descriptor_set_layout.h"

#include "icd/device.h"
#include "icd/physical_device.h"
#include "icd/sampler.h"
#include "weft_entrypoints.h"

#include "vk_alloc.h"
#include "vk_log.h"
#include "vk_util.h"

#include "util/mesa-blake3.h"

#include <algorithm>

namespace weft {

uint32_t descriptor_bytes(VkDescriptorType type)
{
   switch (type) {
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
      return sizeof(cpu::BufferDescriptor);
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
      return sizeof(TexelDescriptor);
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
      return sizeof(ImageDescriptor);
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
   case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT: // in layouts of graphics pipelines
      return sizeof(SampledImageDescriptor);
   case VK_DESCRIPTOR_TYPE_SAMPLER:
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
      return sizeof(CombinedDescriptor);
   case VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
      return 1;
   default:
      return 0;
   }
}

uint32_t descriptor_bytes(VkDescriptorType type, const VkMutableDescriptorTypeCreateInfoEXT *info,
                          uint32_t index)
{
   if (type != VK_DESCRIPTOR_TYPE_MUTABLE_EXT)
      return descriptor_bytes(type);
   if (!info || index >= info->mutableDescriptorTypeListCount ||
       info->pMutableDescriptorTypeLists[index].descriptorTypeCount == 0)
      return sizeof(CombinedDescriptor);
   const VkMutableDescriptorTypeListEXT &list = info->pMutableDescriptorTypeLists[index];
   uint32_t largest = 0;
   for (uint32_t i = 0; i < list.descriptorTypeCount; i++) {
      const uint32_t bytes = descriptor_bytes(list.pDescriptorTypes[i]);
      if (bytes == 0)
         return 0;
      largest = std::max(largest, bytes);
   }
   return largest;
}

uint32_t DescriptorBinding::bytes_of(uint32_t elements) const
{
   return align(elements * stride, sizeof(cpu::BufferDescriptor));
}

const DescriptorBinding *DescriptorSetLayout::find(uint32_t number) const
{
   const DescriptorBinding *end = bindings + binding_count;
   const DescriptorBinding *b = std::lower_bound(
      static_cast<const DescriptorBinding *>(bindings), end, number,
      [](const DescriptorBinding &binding, uint32_t n) { return binding.number < n; });
   return b != end && b->number == number ? b : nullptr;
}

uint32_t DescriptorSetLayout::data_size_with(uint32_t variable_count) const
{
   if (binding_count == 0)
      return 0;
   const DescriptorBinding &last = bindings[binding_count - 1];
   // The compiler uses the layout's size of inline data as its bound.
   if (last.type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
      return data_size;
   return pool_bytes_with(variable_count);
}

uint32_t DescriptorSetLayout::pool_bytes_with(uint32_t variable_count) const
{
   if (binding_count == 0)
      return 0;
   const DescriptorBinding &last = bindings[binding_count - 1];
   return last.offset + last.bytes_of(std::min(variable_count, last.count));
}

} // namespace weft

using namespace weft;

namespace {

bool has_immutable_samplers(const VkDescriptorSetLayoutBinding &b)
{
   return b.pImmutableSamplers && (b.descriptorType == VK_DESCRIPTOR_TYPE_SAMPLER ||
                                   b.descriptorType == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER);
}

uint32_t count_immutable_samplers(const VkDescriptorSetLayoutCreateInfo &info)
{
   uint32_t count = 0;
   for (uint32_t i = 0; i < info.bindingCount; i++)
      count += has_immutable_samplers(info.pBindings[i]) ? info.pBindings[i].descriptorCount : 0;
   return count;
}

/// Copies a binding's samplers. Returns the number of the first one.
uint32_t add_samplers(DescriptorSetLayout *layout, const VkDescriptorSetLayoutBinding &b)
{
   if (!has_immutable_samplers(b))
      return no_sampler;
   const uint32_t first = layout->sampler_count;
   for (uint32_t i = 0; i < b.descriptorCount; i++) {
      VK_FROM_HANDLE(Sampler, sampler, b.pImmutableSamplers[i]);
      layout->samplers[layout->sampler_count++] = {sampler->conversion, sampler->descriptor};
   }
   return first;
}

/// The samplers with a conversion; images of their binding have several planes.
uint32_t count_conversions(const VkDescriptorSetLayoutBinding &b)
{
   if (!has_immutable_samplers(b) || b.descriptorType == VK_DESCRIPTOR_TYPE_SAMPLER)
      return 0;
   return uint32_t(std::count_if(b.pImmutableSamplers, b.pImmutableSamplers + b.descriptorCount,
                                 [](VkSampler handle) {
                                    VK_FROM_HANDLE(Sampler, sampler, handle);
                                    return sampler->vk.ycbcr_conversion != nullptr;
                                 }));
}

/// An array has conversions for all elements or for none.
bool is_mixed(const VkDescriptorSetLayoutBinding &b)
{
   const uint32_t count = count_conversions(b);
   return count > 0 && count < b.descriptorCount;
}

/// Sets offsets and totals; the bindings must be sorted.
void lay_out(DescriptorSetLayout *layout)
{
   constexpr VkDescriptorBindingFlags unknown = VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT |
                                                VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT;
   for (uint32_t i = 0; i < layout->binding_count; i++) {
      DescriptorBinding &b = layout->bindings[i];
      layout->has_unknown_data |= (b.flags & unknown) != 0;
      b.offset = layout->data_size;
      layout->data_size += b.bytes_of(b.count);
      b.dynamic_index = layout->dynamic_count;
      if (is_dynamic(b.type))
         layout->dynamic_count += b.count;
   }
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL
weft_CreateDescriptorSetLayout(VkDevice _device, const VkDescriptorSetLayoutCreateInfo *pCreateInfo,
                               const VkAllocationCallbacks *, VkDescriptorSetLayout *pSetLayout)
{
   VK_FROM_HANDLE(Device, device, _device);

   // Layouts are reference-counted and may outlive their handle, so the device's allocator provides
   // their memory.
   const size_t binding_bytes = pCreateInfo->bindingCount * sizeof(DescriptorBinding);
   const size_t size = sizeof(DescriptorSetLayout) + binding_bytes +
                       count_immutable_samplers(*pCreateInfo) * sizeof(ImmutableSampler);
   auto *layout =
      static_cast<DescriptorSetLayout *>(vk_descriptor_set_layout_zalloc(&device->vk, size));
   if (!layout)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   layout->bindings = reinterpret_cast<DescriptorBinding *>(layout + 1);
   layout->samplers =
      reinterpret_cast<ImmutableSampler *>(layout->bindings + pCreateInfo->bindingCount);

   const VkDescriptorSetLayoutBindingFlagsCreateInfo *flags_info =
      vk_find_struct_const(pCreateInfo->pNext, DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO);
   const VkMutableDescriptorTypeCreateInfoEXT *mutable_info =
      vk_find_struct_const(pCreateInfo->pNext, MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT);
   for (uint32_t i = 0; i < pCreateInfo->bindingCount; i++) {
      const VkDescriptorSetLayoutBinding &b = pCreateInfo->pBindings[i];
      if (b.descriptorCount == 0)
         continue;
      layout->bindings[layout->binding_count++] = {
         .number = b.binding,
         .type = b.descriptorType,
         .flags = flags_info && flags_info->bindingCount > 0 ? flags_info->pBindingFlags[i] : 0,
         .count = b.descriptorCount,
         .stride = count_conversions(b) > 0 ? uint32_t(sizeof(ConvertedDescriptor))
                                            : descriptor_bytes(b.descriptorType, mutable_info, i),
         .sampler = add_samplers(layout, b),
      };
   }
   std::sort(
      layout->bindings, layout->bindings + layout->binding_count,
      [](const DescriptorBinding &a, const DescriptorBinding &b) { return a.number < b.number; });
   lay_out(layout);

   mesa_blake3 hash;
   _mesa_blake3_init(&hash);
   _mesa_blake3_update(&hash, layout->bindings, layout->binding_count * sizeof(DescriptorBinding));
   _mesa_blake3_update(&hash, layout->samplers, layout->sampler_count * sizeof(ImmutableSampler));
   _mesa_blake3_final(&hash, layout->vk.blake3);

   *pSetLayout = DescriptorSetLayout_to_handle(layout);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_GetDescriptorSetLayoutSupport(
   VkDevice _device, const VkDescriptorSetLayoutCreateInfo *pCreateInfo,
   VkDescriptorSetLayoutSupport *pSupport)
{
   VK_FROM_HANDLE(Device, device, _device);

   uint64_t descriptors = 0, dynamic = 0;
   bool known_kinds = true;
   const VkDescriptorSetLayoutBinding *last = nullptr;
   const VkMutableDescriptorTypeCreateInfoEXT *mutable_info =
      vk_find_struct_const(pCreateInfo->pNext, MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT);
   for (uint32_t i = 0; i < pCreateInfo->bindingCount; i++) {
      const VkDescriptorSetLayoutBinding &b = pCreateInfo->pBindings[i];
      if (!last || b.binding > last->binding)
         last = &b;
      if (b.descriptorCount == 0)
         continue;
      if (is_dynamic(b.descriptorType))
         dynamic += b.descriptorCount;
      else if (is_mixed(b) || descriptor_bytes(b.descriptorType, mutable_info, i) == 0)
         known_kinds = false;
      else if (b.descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
         descriptors += DIV_ROUND_UP(uint64_t(b.descriptorCount), sizeof(cpu::BufferDescriptor));
      else
         descriptors += b.descriptorCount;
   }
   uint64_t limit = device->vk.physical->properties.maxPerSetDescriptors;
   pSupport->supported = known_kinds && descriptors <= limit && dynamic <= 2 * max_dynamic_buffers;

   VkDescriptorSetVariableDescriptorCountLayoutSupport *variable =
      vk_find_struct(pSupport->pNext, DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_LAYOUT_SUPPORT);
   if (variable) {
      const VkDescriptorSetLayoutBindingFlagsCreateInfo *flags_info =
         vk_find_struct_const(pCreateInfo->pNext, DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO);
      bool is_variable = last && flags_info && flags_info->bindingCount > 0 &&
                         (flags_info->pBindingFlags[last - pCreateInfo->pBindings] &
                          VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT);
      variable->maxVariableDescriptorCount = 0;
      if (is_variable && pSupport->supported) {
         bool inline_data = last->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
         variable->maxVariableDescriptorCount =
            inline_data ? device->vk.physical->properties.maxInlineUniformBlockSize
                        : uint32_t(limit - (descriptors - last->descriptorCount));
      }
   }
}
