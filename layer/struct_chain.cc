// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/struct_chain.h"

#include <vulkan/vk_layer.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <utility>

namespace weft::layer {

namespace {

static_assert(sizeof(void *) == 8, "struct_sizes.inc is for pointers of 64 bits");

/// Sorted by type.
constexpr std::pair<uint32_t, uint32_t> struct_sizes[] = {
#include "layer/struct_sizes.inc"
};

size_t copyable_size(VkStructureType type)
{
   return type == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO ? sizeof(VkLayerDeviceCreateInfo)
                                                              : struct_size(type);
}

template <typename Block>
VkBaseOutStructure *as_struct(const Block &block)
{
   return reinterpret_cast<VkBaseOutStructure *>(block.get());
}

} // namespace

size_t struct_size(VkStructureType type)
{
   // Newer than the table of sizes.
   if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_LAYOUTS_FEATURES_ARM)
      return sizeof(VkPhysicalDeviceCooperativeMatrixLayoutsFeaturesARM);
   const auto found = std::ranges::lower_bound(struct_sizes, uint32_t(type), {},
                                               &std::pair<uint32_t, uint32_t>::first);
   return found != std::end(struct_sizes) && found->first == uint32_t(type) ? found->second : 0;
}

const void *find_struct(const void *chain, VkStructureType type)
{
   auto *s = static_cast<const VkBaseInStructure *>(chain);
   while (s && s->sType != type)
      s = s->pNext;
   return s;
}

StructChain::StructChain(const void *original)
    : uncopied(static_cast<const VkBaseInStructure *>(original))
{
   while (uncopied) {
      const size_t size = copyable_size(uncopied->sType);
      if (!size)
         break;
      memcpy(add(uncopied->sType, size), uncopied, size);
      uncopied = uncopied->pNext;
   }
}

VkBaseOutStructure *StructChain::add(VkStructureType type, size_t size)
{
   copies.push_back(std::make_unique<uint64_t[]>((size + 7) / 8));
   VkBaseOutStructure *s = as_struct(copies.back());
   s->sType = type;
   return s;
}

void *StructChain::find(VkStructureType type) const
{
   for (const Block &block : copies) {
      if (as_struct(block)->sType == type)
         return block.get();
   }
   return nullptr;
}

const void *StructChain::find_uncopied(VkStructureType type) const
{
   return find_struct(uncopied, type);
}

void *StructChain::append(VkStructureType type)
{
   const size_t size = copyable_size(type);
   assert(size);
   return add(type, size);
}

void StructChain::remove(VkStructureType type)
{
   std::erase_if(copies, [&](const Block &block) { return as_struct(block)->sType == type; });
}

void *StructChain::head()
{
   auto *next =
      const_cast<VkBaseOutStructure *>(reinterpret_cast<const VkBaseOutStructure *>(uncopied));
   for (auto block = copies.rbegin(); block != copies.rend(); ++block) {
      as_struct(*block)->pNext = next;
      next = as_struct(*block);
   }
   return next;
}

} // namespace weft::layer
