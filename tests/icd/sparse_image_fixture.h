// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Partially resident images. A scalar model knows which block of memory is bound to each block of
/// an image, and the place of a texel in it.

#pragma once

#include "tests/icd/sparse_fixture.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::icd_test {

constexpr uint32_t block_bytes = 1 << 16;

/// A format whose texels are unsigned integers, with the shape of its blocks.
struct BlockShape {
   VkFormat format;
   uint32_t bytes, width, height, component_bytes;
   const char *qualifier; ///< in GLSL; null if it has no name there
};
constexpr BlockShape block_shapes[] = {
   {VK_FORMAT_R8_UINT, 1, 256, 256, 1, "r8ui"},
   {VK_FORMAT_R16_UINT, 2, 256, 128, 2, "r16ui"},
   {VK_FORMAT_R32_UINT, 4, 128, 128, 4, "r32ui"},
   {VK_FORMAT_R32G32_UINT, 8, 128, 64, 4, "rg32ui"},
   {VK_FORMAT_R32G32B32A32_UINT, 16, 64, 64, 4, "rgba32ui"},
   {VK_FORMAT_R64G64B64A64_UINT, 32, 64, 32, 8, nullptr},
};
/// The formats that GLSL names. Vulkan has standard shapes for them.
constexpr std::span standard_shapes = std::span(block_shapes).first<5>();

inline uint32_t round_up(uint32_t n, uint32_t unit)
{
   return (n + unit - 1) / unit;
}

class SparseImageTest : public SparseTest {
protected:
   /// A partially resident image and the block of memory that is bound to each of its blocks.
   struct SparseImage {
      TestImage image;
      BlockShape shape;
      VkSparseImageMemoryRequirements needed;
      Memory memory;                            ///< of all blocks
      std::vector<std::optional<uint32_t>> map; ///< by block_number()

      bool is_3d() const { return image.recipe.type == VK_IMAGE_TYPE_3D; }
      uint32_t slices(uint32_t level) const
      {
         return is_3d() ? image.extent(level).depth : image.recipe.layers;
      }
      uint32_t columns(uint32_t level) const
      {
         return round_up(image.extent(level).width, shape.width);
      }
      uint32_t rows(uint32_t level) const
      {
         return round_up(image.extent(level).height, shape.height);
      }
      uint32_t block_number(uint32_t level, uint32_t slice, uint32_t row, uint32_t column) const
      {
         uint32_t number = 0;
         for (uint32_t l = 0; l < level; ++l)
            number += slices(l) * rows(l) * columns(l);
         return number + (slice * rows(level) + row) * columns(level) + column;
      }
      /// The block of memory of a texel.
      std::optional<uint32_t> block_at(uint32_t level, uint32_t x, uint32_t y, uint32_t slice) const
      {
         return map[block_number(level, slice, y / shape.height, x / shape.width)];
      }
      /// The bytes of a texel in memory; null if its block is unbound.
      const uint8_t *texel(uint32_t level, uint32_t x, uint32_t y, uint32_t slice) const
      {
         const std::optional<uint32_t> block = block_at(level, x, y, slice);
         if (!block)
            return nullptr;
         const uint32_t place = y % shape.height * shape.width + x % shape.width;
         return reinterpret_cast<const uint8_t *>(memory.words.data()) +
                size_t(*block) * block_bytes + size_t(place) * shape.bytes;
      }
      /// The component R.
      uint32_t number(uint32_t level, uint32_t x, uint32_t y, uint32_t slice) const
      {
         uint32_t out = 0;
         if (const uint8_t *bytes = texel(level, x, y, slice))
            memcpy(&out, bytes, shape.component_bytes);
         return out;
      }
   };

   SparseImage make_sparse_image(const BlockShape &shape, const ImageRecipe &recipe)
   {
      SparseImage sparse = {.image = {.recipe = recipe}, .shape = shape};
      const VkImageCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
         .flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT |
                  VK_IMAGE_CREATE_SPARSE_ALIASED_BIT | recipe.flags,
         .imageType = recipe.type,
         .format = recipe.format,
         .extent = recipe.extent,
         .mipLevels = recipe.levels,
         .arrayLayers = recipe.layers,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .usage = recipe.usage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
      };
      EXPECT_VK(vkCreateImage(device, &info, nullptr, &sparse.image.handle));
      clean_up.push_back(
         [this, image = sparse.image.handle] { vkDestroyImage(device, image, nullptr); });
      VkMemoryRequirements all;
      vkGetImageMemoryRequirements(device, sparse.image.handle, &all);
      EXPECT_EQ(all.alignment, block_bytes);
      EXPECT_EQ(all.memoryTypeBits, 1u << memory_type);
      uint32_t count = 1;
      vkGetImageSparseMemoryRequirements(device, sparse.image.handle, &count, &sparse.needed);
      EXPECT_EQ(count, 1u);
      const VkSparseImageMemoryRequirements &needed = sparse.needed;
      EXPECT_EQ(needed.formatProperties.imageGranularity.width, shape.width);
      EXPECT_EQ(needed.formatProperties.imageGranularity.height, shape.height);
      EXPECT_EQ(needed.formatProperties.imageGranularity.depth, 1u);
      EXPECT_TRUE(needed.formatProperties.flags & VK_SPARSE_IMAGE_FORMAT_SINGLE_MIPTAIL_BIT);
      for (uint32_t level = 0; level < recipe.levels; ++level) {
         const VkExtent3D size = sparse.image.extent(level);
         EXPECT_EQ(level < needed.imageMipTailFirstLod,
                   size.width >= shape.width && size.height >= shape.height)
            << level;
      }
      if (needed.imageMipTailFirstLod < recipe.levels) {
         EXPECT_EQ(needed.imageMipTailOffset + needed.imageMipTailSize, all.size);
      }
      sparse.map.resize(sparse.block_number(needed.imageMipTailFirstLod, 0, 0, 0));
      return sparse;
   }

   /// Binds the mip tail, and rectangles of blocks to blocks of memory or to nothing. Later binds
   /// replace earlier ones. No block of memory is bound twice.
   void bind_at_random(SparseImage *sparse, bool binds_all = false)
   {
      std::vector<VkSparseImageMemoryBind> binds;
      uint32_t used = 0;
      for (uint32_t level = 0; level < sparse->needed.imageMipTailFirstLod; ++level) {
         for (uint32_t slice = 0; slice < sparse->slices(level); ++slice) {
            for (uint32_t row = 0; row < sparse->rows(level); ++row) {
               for (uint32_t column = 0; column < sparse->columns(level); ++column) {
                  if (binds_all || random() % 3)
                     binds.push_back(
                        rectangle(sparse, level, slice, row, column, binds_all, &used));
               }
            }
         }
      }
      const auto tail = uint32_t(sparse->needed.imageMipTailSize / block_bytes);
      sparse->memory = allocate((used + tail + 1) * (block_bytes / page), 0);
      for (uint32_t &word : sparse->memory.words)
         word = uint32_t(random());
      for (VkSparseImageMemoryBind &bind : binds) {
         bind.memory = bind.flags == unbound ? VK_NULL_HANDLE : sparse->memory.handle;
         bind.flags = 0;
      }
      const VkSparseImageMemoryBindInfo images = {sparse->image.handle, uint32_t(binds.size()),
                                                  binds.data()};
      const VkSparseMemoryBind tail_bind = {
         .resourceOffset = sparse->needed.imageMipTailOffset,
         .size = sparse->needed.imageMipTailSize,
         .memory = sparse->memory.handle,
         .memoryOffset = VkDeviceSize(used) * block_bytes,
      };
      const VkSparseImageOpaqueMemoryBindInfo tails = {sparse->image.handle, 1, &tail_bind};
      submit({.sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO,
              .imageOpaqueBindCount = tail ? 1u : 0u,
              .pImageOpaqueBinds = &tails,
              .imageBindCount = binds.empty() ? 0u : 1u,
              .pImageBinds = &images});
   }

   VkSparseImageMemoryBind rectangle(SparseImage *sparse, uint32_t level, uint32_t slice,
                                     uint32_t row, uint32_t column, bool is_single, uint32_t *used)
   {
      const auto below = [&](uint32_t limit) {
         return is_single ? 1 : 1 + uint32_t(random() % limit);
      };
      const uint32_t width = below(sparse->columns(level) - column),
                     height = below(sparse->rows(level) - row),
                     depth = sparse->is_3d() ? below(sparse->slices(level) - slice) : 1;
      const bool is_bound = is_single || random() % 4;
      const uint32_t first = *used;
      uint32_t number = first;
      for (uint32_t z = 0; z < depth; ++z) {
         for (uint32_t y = 0; y < height; ++y) {
            for (uint32_t x = 0; x < width; ++x) {
               auto &block =
                  sparse->map[sparse->block_number(level, slice + z, row + y, column + x)];
               block = is_bound ? std::optional(number++) : std::nullopt;
            }
         }
      }
      *used = number;
      const VkExtent3D size = sparse->image.extent(level);
      const BlockShape &shape = sparse->shape;
      return {
         .subresource = {VK_IMAGE_ASPECT_COLOR_BIT, level, sparse->is_3d() ? 0 : slice},
         .offset = {int32_t(column * shape.width), int32_t(row * shape.height),
                    int32_t(sparse->is_3d() ? slice : 0)},
         .extent = {std::min(width * shape.width, size.width - column * shape.width),
                    std::min(height * shape.height, size.height - row * shape.height), depth},
         .memoryOffset = is_bound ? VkDeviceSize(first) * block_bytes : 0,
         .flags = is_bound ? 0u : unbound,
      };
   }
   static constexpr VkSparseMemoryBindFlags unbound = ~0u; ///< until the memory is known

   /// An image of some blocks in each direction, with levels beyond them.
   SparseImage make_random_image(const BlockShape &shape, bool is_3d, VkImageUsageFlags usage)
   {
      const auto size = [&](uint32_t block) { return block + uint32_t(random() % (2 * block)); };
      const ImageRecipe recipe = {
         .format = shape.format,
         .type = is_3d ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D,
         .extent = {size(shape.width), size(shape.height), is_3d ? 1 + uint32_t(random() % 3) : 1},
         .levels = 1 + uint32_t(random() % 4),
         .layers = is_3d ? 1 : 1 + uint32_t(random() % 3),
         .usage = usage,
      };
      return make_sparse_image(shape, recipe);
   }

   template <typename F>
   static void for_each_texel(const SparseImage &sparse, uint32_t level, const F &f)
   {
      const VkExtent3D size = sparse.image.extent(level);
      size_t i = 0;
      for (uint32_t slice = 0; slice < sparse.slices(level); ++slice) {
         for (uint32_t y = 0; y < size.height; ++y) {
            for (uint32_t x = 0; x < size.width; ++x)
               f(i++, x, y, slice);
         }
      }
   }
   static size_t texels(const SparseImage &sparse, uint32_t level)
   {
      const VkExtent3D size = sparse.image.extent(level);
      return size_t(size.width) * size.height * sparse.slices(level);
   }

   VkImageView view_of(const SparseImage &sparse, uint32_t level, uint32_t levels)
   {
      return make_image_view(sparse.image,
                             sparse.is_3d() ? VK_IMAGE_VIEW_TYPE_3D : VK_IMAGE_VIEW_TYPE_2D_ARRAY,
                             level, 0, sparse.image.recipe.layers, levels);
   }

   /// Compares texels with the model, if their blocks are bound; read texels of others are zeros.
   void expect_model(const SparseImage &sparse, uint32_t level, const TestBuffer &buffer,
                     const std::string &kind)
   {
      if (level >= sparse.needed.imageMipTailFirstLod)
         return;
      constexpr uint8_t zeros[32] = {};
      size_t wrong = 0;
      for_each_texel(sparse, level, [&](size_t i, uint32_t x, uint32_t y, uint32_t z) {
         const uint8_t *model = sparse.texel(level, x, y, z);
         if (!model && kind == "written")
            return;
         wrong += memcmp(buffer.map + i * sparse.shape.bytes, model ? model : zeros,
                         sparse.shape.bytes) != 0;
      });
      ASSERT_EQ(wrong, 0u) << kind << ", level " << level << ", texels of " << sparse.shape.bytes;
   }

   /// Residency and the component R of all texels.
   void expect_loads(const SparseImage &sparse, uint32_t level, const TestBuffer &loads)
   {
      size_t wrong = 0;
      for_each_texel(sparse, level, [&](size_t i, uint32_t x, uint32_t y, uint32_t z) {
         const bool is_resident = sparse.texel(level, x, y, z) != nullptr;
         wrong += loads.as()[2 * i] != uint32_t(is_resident) ||
                  loads.as()[2 * i + 1] != sparse.number(level, x, y, z);
      });
      ASSERT_EQ(wrong, 0u) << "level " << level << ", texels of " << sparse.shape.bytes;
   }

   void check_storage(const SparseImage &sparse, uint32_t level)
   {
      if (level >= sparse.needed.imageMipTailFirstLod)
         return;
      const std::string head = "#extension GL_ARB_sparse_texture2 : require\n" +
                               grid(sparse, level) + "layout(binding = 0, " +
                               sparse.shape.qualifier + ") uniform uimage" +
                               (sparse.is_3d() ? "3D" : "2DArray") + " image;\n";
      const VkImageView view = view_of(sparse, level, 1);
      const TestBuffer out = make_random_buffer(groups(sparse, level).width * 64 * 8);
      run_shader(head + "layout(binding = 1) buffer Out { uvec2 results[]; };\n"
                        "void main()\n"
                        "{\n"
                        "   uvec4 texel;\n"
                        "   const int code = sparseImageLoadARB(image, texel_place(), texel);\n"
                        "   results[texel_number()] = uvec2(sparseTexelsResidentARB(code), "
                        "texel.x);\n"
                        "}",
                 {view}, {out}, groups(sparse, level));
      expect_loads(sparse, level, out);
      const bool is_atomic = sparse.shape.format == VK_FORMAT_R32_UINT;
      const std::string store = is_atomic ? "imageAtomicExchange(image, texel_place(), i);"
                                          : "imageStore(image, texel_place(), uvec4(i & 255u));";
      run_shader(head + "void main() { const uint i = texel_number(); " + store + " }", {view}, {},
                 groups(sparse, level));
      size_t wrong = 0;
      for_each_texel(sparse, level, [&](size_t i, uint32_t x, uint32_t y, uint32_t z) {
         if (sparse.texel(level, x, y, z))
            wrong += sparse.number(level, x, y, z) != (is_atomic ? i : i & 255);
      });
      ASSERT_EQ(wrong, 0u) << "level " << level << ", texels of " << sparse.shape.bytes;
   }

   static std::string grid(const SparseImage &sparse, uint32_t level)
   {
      const VkExtent3D size = sparse.image.extent(level);
      return "layout(local_size_x = 64) in;\n"
             "const uvec3 size = uvec3(" +
             std::to_string(size.width) + ", " + std::to_string(size.height) + ", " +
             std::to_string(sparse.slices(level)) +
             ");\n"
             "uint texel_number() { return gl_GlobalInvocationID.x; }\n"
             "ivec3 texel_place()\n"
             "{\n"
             "   const uint i = texel_number();\n"
             "   return ivec3(i % size.x, i / size.x % size.y, i / size.x / size.y);\n"
             "}\n";
   }
   static VkExtent3D groups(const SparseImage &sparse, uint32_t level)
   {
      return {uint32_t(texels(sparse, level) + 63) / 64, 1, 1};
   }
};

} // namespace weft::icd_test
