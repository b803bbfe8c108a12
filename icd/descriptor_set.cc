// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/descriptor_set.h"

#include "icd/buffer.h"
#include "icd/buffer_view.h"
#include "icd/descriptor_set_layout.h"
#include "icd/image_view.h"
#include "icd/sampler.h"
#include "weft_entrypoints.h"

#include "vk_descriptor_update_template.h"
#include "vk_util.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace weft {
namespace {

cpu::BufferDescriptor make_descriptor(const VkDescriptorBufferInfo &info)
{
   VK_FROM_HANDLE(Buffer, buffer, info.buffer);
   if (!buffer)
      return {};
   uint64_t range = vk_buffer_range(&buffer->vk, info.offset, info.range);
   return describe_buffer(VkDeviceAddress(uintptr_t(buffer->address)) + info.offset, range);
}

/// An element of a binding. Advances to the next element, and from the last element of a binding to
/// the first of the next, as vkUpdateDescriptorSets does ("consecutive binding updates").
class Cursor {
public:
   Cursor(const DescriptorStorage &storage, uint32_t binding, uint32_t element)
       : storage(storage), binding(storage.layout->find(binding)), element(element)
   {
      skip_to_existing();
   }

   /// False behind the last binding, and for descriptors that shaders cannot use.
   bool valid() const { return binding && size() > 0; }
   uint32_t size() const
   {
      return is_dynamic(binding->type) ? sizeof(cpu::BufferDescriptor) : binding->stride;
   }
   void *descriptor() const
   {
      if (is_dynamic(binding->type))
         return &storage.dynamic[binding->dynamic_index + element];
      return storage.data + binding->offset + element * size();
   }

   /// Null if the descriptor's sampler is written with it.
   const ImmutableSampler *immutable_sampler() const
   {
      return binding->sampler == no_sampler ? nullptr
                                            : &storage.layout->samplers[binding->sampler + element];
   }

   void next()
   {
      element++;
      skip_to_existing();
   }

private:
   void skip_to_existing()
   {
      const DescriptorBinding *end = storage.layout->bindings + storage.layout->binding_count;
      while (binding && element >= binding->count) {
         element -= binding->count;
         binding = binding + 1 < end ? binding + 1 : nullptr;
      }
   }

   const DescriptorStorage &storage;
   const DescriptorBinding *binding;
   uint32_t element;
};

void write_descriptor(const Cursor &cursor, const VkDescriptorBufferInfo &info)
{
   const cpu::BufferDescriptor descriptor = make_descriptor(info);
   memcpy(cursor.descriptor(), &descriptor, sizeof(descriptor));
}

void write_descriptor(const Cursor &cursor, VkBufferView handle)
{
   VK_FROM_HANDLE(BufferView, view, handle);
   const TexelDescriptor descriptor = view ? view->descriptor : TexelDescriptor{};
   memcpy(cursor.descriptor(), &descriptor, sizeof(descriptor));
}

SamplerDescriptor sampler_of(const Cursor &cursor, const VkDescriptorImageInfo &info)
{
   if (const ImmutableSampler *immutable = cursor.immutable_sampler())
      return immutable->sampler;
   return sampler_descriptor(info.sampler);
}

bool is_converted(const Cursor &cursor)
{
   return cursor.size() == sizeof(ConvertedDescriptor);
}

/// Writes the sampler of a descriptor, at its end.
void write_sampler(const Cursor &cursor, const SamplerDescriptor &sampler)
{
   memcpy(static_cast<uint8_t *>(cursor.descriptor()) + cursor.size() - sizeof(sampler), &sampler,
          sizeof(sampler));
}

/// The same, with a conversion if the descriptor has one.
void write_sampler(const Cursor &cursor, const ImmutableSampler &sampler)
{
   if (!is_converted(cursor))
      return write_sampler(cursor, sampler.sampler);
   memcpy(static_cast<uint8_t *>(cursor.descriptor()) + offsetof(ConvertedDescriptor, conversion),
          &sampler, sizeof(sampler));
}

/// The sampler is in the descriptor since the set was made.
void write_planes(const Cursor &cursor, const VkDescriptorImageInfo &info)
{
   const ConvertedImageDescriptor descriptor = converted_descriptor(info.imageView);
   memcpy(cursor.descriptor(), &descriptor, sizeof(descriptor));
}

void write_descriptor(const Cursor &cursor, VkDescriptorType type,
                      const VkDescriptorImageInfo &info)
{
   if (type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER && is_converted(cursor))
      return write_planes(cursor, info);
   switch (type) {
   case VK_DESCRIPTOR_TYPE_SAMPLER:
      write_sampler(cursor, sampler_of(cursor, info));
      break;
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER: {
      const SampledImageDescriptor descriptor = sampled_descriptor(info.imageView);
      memcpy(cursor.descriptor(), &descriptor, sizeof(descriptor));
      write_sampler(cursor, sampler_of(cursor, info));
      break;
   }
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
   case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT: {
      const SampledImageDescriptor descriptor = sampled_descriptor(info.imageView);
      memcpy(cursor.descriptor(), &descriptor, sizeof(descriptor));
      break;
   }
   default: {
      const ImageDescriptor descriptor = storage_descriptor(info.imageView);
      memcpy(cursor.descriptor(), &descriptor, sizeof(descriptor));
      break;
   }
   }
}

/// An object in memory that need not be aligned.
template <typename T>
T read(const uint8_t *source)
{
   T object;
   memcpy(&object, source, sizeof(object));
   return object;
}

/// Writes bytes of an inline uniform block: array elements and counts are bytes there.
void write_inline_data(const DescriptorStorage &storage, uint32_t binding, uint32_t offset,
                       const void *data, uint32_t size)
{
   const DescriptorBinding *b = storage.layout->find(binding);
   if (b)
      memcpy(storage.data + b->offset + offset, data, size);
}

/// If one of both elements is mutable, the other has its type and may be smaller.
void copy_descriptor(const Cursor &from, const Cursor &to)
{
   const uint32_t bytes = std::min(from.size(), to.size());
   memcpy(to.descriptor(), from.descriptor(), bytes);
}

void copy_descriptors(const VkCopyDescriptorSet &copy)
{
   VK_FROM_HANDLE(DescriptorSet, src, copy.srcSet);
   VK_FROM_HANDLE(DescriptorSet, dst, copy.dstSet);

   const DescriptorBinding *b = src->layout->find(copy.srcBinding);
   if (b && b->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
      write_inline_data(dst->storage, copy.dstBinding, copy.dstArrayElement,
                        src->storage.data + b->offset + copy.srcArrayElement, copy.descriptorCount);
      return;
   }
   Cursor from(src->storage, copy.srcBinding, copy.srcArrayElement);
   Cursor to(dst->storage, copy.dstBinding, copy.dstArrayElement);
   for (uint32_t i = 0; i < copy.descriptorCount && from.valid() && to.valid(); i++) {
      copy_descriptor(from, to);
      if (const ImmutableSampler *sampler = to.immutable_sampler())
         write_sampler(to, *sampler);
      from.next();
      to.next();
   }
}

} // namespace

void write_immutable_samplers(const DescriptorStorage &storage, uint32_t size)
{
   for (uint32_t i = 0; i < storage.layout->binding_count; i++) {
      const DescriptorBinding &b = storage.layout->bindings[i];
      if (b.sampler == no_sampler)
         continue;
      for (uint32_t e = 0; e < b.count && b.offset + (e + 1) * b.stride <= size; e++) {
         Cursor cursor(storage, b.number, e);
         write_sampler(cursor, *cursor.immutable_sampler());
      }
   }
}

void write_descriptors(const DescriptorStorage &storage, const VkWriteDescriptorSet &write)
{
   if (write.descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
      const VkWriteDescriptorSetInlineUniformBlock *block =
         vk_find_struct_const(write.pNext, WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK);
      write_inline_data(storage, write.dstBinding, write.dstArrayElement, block->pData,
                        block->dataSize);
      return;
   }
   Cursor cursor(storage, write.dstBinding, write.dstArrayElement);
   for (uint32_t i = 0; i < write.descriptorCount && cursor.valid(); i++, cursor.next()) {
      switch (write.descriptorType) {
      case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
      case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
         write_descriptor(cursor, write.pTexelBufferView[i]);
         break;
      case VK_DESCRIPTOR_TYPE_SAMPLER:
      case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
      case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
      case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
      case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
         write_descriptor(cursor, write.descriptorType, write.pImageInfo[i]);
         break;
      default:
         write_descriptor(cursor, write.pBufferInfo[i]);
         break;
      }
   }
}

void write_descriptors(const DescriptorStorage &storage, const vk_descriptor_update_template *templ,
                       const void *data)
{
   for (uint32_t e = 0; e < templ->entry_count; e++) {
      const vk_descriptor_template_entry &entry = templ->entries[e];
      const uint8_t *source = static_cast<const uint8_t *>(data) + entry.offset;
      if (entry.type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
         write_inline_data(storage, entry.binding, entry.array_element, source, entry.array_count);
         continue;
      }
      Cursor cursor(storage, entry.binding, entry.array_element);
      for (uint32_t i = 0; i < entry.array_count && cursor.valid(); i++, cursor.next()) {
         const uint8_t *element = source + i * entry.stride;
         switch (entry.type) {
         case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
         case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
            write_descriptor(cursor, read<VkBufferView>(element));
            break;
         case VK_DESCRIPTOR_TYPE_SAMPLER:
         case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
         case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
         case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
         case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
            write_descriptor(cursor, entry.type, read<VkDescriptorImageInfo>(element));
            break;
         default:
            write_descriptor(cursor, read<VkDescriptorBufferInfo>(element));
            break;
         }
      }
   }
}

} // namespace weft

using namespace weft;

VKAPI_ATTR void VKAPI_CALL weft_UpdateDescriptorSets(VkDevice, uint32_t descriptorWriteCount,
                                                     const VkWriteDescriptorSet *pDescriptorWrites,
                                                     uint32_t descriptorCopyCount,
                                                     const VkCopyDescriptorSet *pDescriptorCopies)
{
   for (uint32_t i = 0; i < descriptorWriteCount; i++) {
      VK_FROM_HANDLE(DescriptorSet, set, pDescriptorWrites[i].dstSet);
      write_descriptors(set->storage, pDescriptorWrites[i]);
   }
   for (uint32_t i = 0; i < descriptorCopyCount; i++)
      copy_descriptors(pDescriptorCopies[i]);
}

VKAPI_ATTR void VKAPI_CALL weft_UpdateDescriptorSetWithTemplate(
   VkDevice, VkDescriptorSet descriptorSet, VkDescriptorUpdateTemplate descriptorUpdateTemplate,
   const void *pData)
{
   VK_FROM_HANDLE(DescriptorSet, set, descriptorSet);
   VK_FROM_HANDLE(vk_descriptor_update_template, templ, descriptorUpdateTemplate);
   write_descriptors(set->storage, templ, pData);
}
