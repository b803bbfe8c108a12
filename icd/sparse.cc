// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/sparse.h"

#include "backend/cpu/runtime/residency.h"
#include "icd/buffer.h"
#include "icd/device_memory.h"
#include "icd/device_pages.h"
#include "icd/image.h"

#include "vk_queue.h"
#include "vk_util.h"

#include <cstring>
#include <sys/mman.h>

namespace weft {
namespace {

/// Pages of zeros that take memory when they are written.
uint8_t *map_unbound(uint8_t *at, uint64_t size)
{
   void *map = mmap(at, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
   return map == MAP_FAILED ? nullptr : static_cast<uint8_t *>(map);
}

/// 0 if the resource is to be captured.
uint64_t captured_address(const void *next)
{
   uint64_t address = 0;
   if (const VkBufferOpaqueCaptureAddressCreateInfo *info =
          vk_find_struct_const(next, BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO))
      address = info->opaqueCaptureAddress;
   const VkOpaqueCaptureDescriptorDataCreateInfoEXT *data =
      vk_find_struct_const(next, OPAQUE_CAPTURE_DESCRIPTOR_DATA_CREATE_INFO_EXT);
   if (data && data->opaqueCaptureDescriptorData)
      memcpy(&address, data->opaqueCaptureDescriptorData, sizeof(address));
   return address;
}

/// The pages must be parts of one mapping: the kernel looks at the first only.
bool alias(uint8_t *at, uint8_t *pages, uint64_t size)
{
   return mremap(pages, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED;
}

/// The tiles of a bind are parts of the memory one after the other, by columns, rows and slices.
template <typename Visit>
void for_each_tile_row(const Image &image, const VkSparseImageMemoryBind &bind, const Visit &visit)
{
   const Tiles &tiles = image.layout.tiles;
   if (bind.subresource.mipLevel >= tiles.levels)
      return; // the mip tail is bound as a whole
   const ImageLevel &level = image.level(bind.subresource.mipLevel);
   const uint32_t side = image.layout.texel_side, width = side << tiles.width_bits,
                  height = side << tiles.height_bits;
   const bool is_3d = image.vk.image_type == VK_IMAGE_TYPE_3D;
   const uint32_t first_slice = is_3d ? uint32_t(bind.offset.z) : bind.subresource.arrayLayer,
                  slices = is_3d ? bind.extent.depth : 1;
   VkSparseMemoryBind row = {
      .size = uint64_t(DIV_ROUND_UP(bind.extent.width, width)) * tile_bytes,
      .memory = bind.memory,
      .memoryOffset = bind.memoryOffset,
   };
   for (uint32_t slice = first_slice; slice < first_slice + slices; slice++) {
      for (uint32_t y = 0; y < DIV_ROUND_UP(bind.extent.height, height); y++) {
         row.resourceOffset = level.offset + slice * level.slice_pitch +
                              (uint32_t(bind.offset.y) / height + y) * level.row_pitch +
                              uint64_t(uint32_t(bind.offset.x) / width) * tile_bytes;
         visit(row);
         row.memoryOffset += row.size;
      }
   }
}

template <typename Visit>
void for_each_bind(const vk_queue_submit *submit, const Visit &visit)
{
   const auto visit_all = [&](uint8_t *resource, uint32_t count, const VkSparseMemoryBind *binds) {
      for (uint32_t i = 0; i < count; i++)
         visit(resource, binds[i]);
   };
   for (uint32_t i = 0; i < submit->buffer_bind_count; i++) {
      const VkSparseBufferMemoryBindInfo &info = submit->buffer_binds[i];
      VK_FROM_HANDLE(Buffer, buffer, info.buffer);
      visit_all(buffer->address, info.bindCount, info.pBinds);
   }
   for (uint32_t i = 0; i < submit->image_opaque_bind_count; i++) {
      const VkSparseImageOpaqueMemoryBindInfo &info = submit->image_opaque_binds[i];
      VK_FROM_HANDLE(Image, image, info.image);
      visit_all(image->address, info.bindCount, info.pBinds);
   }
   for (uint32_t i = 0; i < submit->image_bind_count; i++) {
      const VkSparseImageMemoryBindInfo &info = submit->image_binds[i];
      VK_FROM_HANDLE(Image, image, info.image);
      for (uint32_t j = 0; j < info.bindCount; j++)
         for_each_tile_row(*image, info.pBinds[j],
                           [&](const VkSparseMemoryBind &bind) { visit(image->address, bind); });
   }
}

} // namespace

VkResult reserve_sparse(uint64_t size, bool may_be_replayed, const void *next, uint8_t **out)
{
   size = align64(size, page_size);
   const uint64_t captured = may_be_replayed ? captured_address(next) : 0;
   *out =
      may_be_replayed ? map_replayable(captured, size, MAP_PRIVATE) : map_unbound(nullptr, size);
   if (*out && cpu::mark_unbound(uintptr_t(*out), size))
      return VK_SUCCESS;
   if (*out) {
      munmap(*out, size);
      return VK_ERROR_OUT_OF_HOST_MEMORY;
   }
   return captured ? VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS : VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

void release_sparse(uint8_t *start, uint64_t size)
{
   size = align64(size, page_size);
   cpu::mark_bound(uintptr_t(start), size);
   munmap(start, size);
}

uint32_t count_sparse_binds(const vk_queue_submit *submit)
{
   uint32_t count = 0;
   for_each_bind(submit, [&](uint8_t *, const VkSparseMemoryBind &) { count++; });
   return count;
}

void resolve_sparse_binds(const vk_queue_submit *submit, SparseBind *out)
{
   for_each_bind(submit, [&](uint8_t *resource, const VkSparseMemoryBind &bind) {
      VK_FROM_HANDLE(DeviceMemory, memory, bind.memory);
      *out++ = {
         .at = resource + bind.resourceOffset,
         .size = align64(bind.size, page_size),
         .pages = memory ? memory->map + bind.memoryOffset : nullptr,
      };
   });
}

bool bind_sparse(const SparseBind &bind)
{
   if (!(bind.pages ? alias(bind.at, bind.pages, bind.size)
                    : map_unbound(bind.at, bind.size) != nullptr))
      return false;
   const auto mark = bind.pages ? cpu::mark_bound : cpu::mark_unbound;
   return mark(uintptr_t(bind.at), bind.size);
}

} // namespace weft
