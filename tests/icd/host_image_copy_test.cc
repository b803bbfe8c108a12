// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_host_image_copy: random copies between memory and images, compared with a scalar model of
/// both. Memory around the regions is poisoned.

#include "tests/icd/image_fixture.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace weft::icd_test {

namespace {

constexpr VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
constexpr uint8_t poison = 0xa5;

/// Texels of an aspect, or blocks, which are copied whole.
struct Unit {
   VkFormat format;
   uint32_t bytes, side = 1;
};
/// Formats of one size are copied to each other.
constexpr Unit units[] = {
   {VK_FORMAT_R8_UNORM, 1},
   {VK_FORMAT_S8_UINT, 1},
   {VK_FORMAT_R16_SFLOAT, 2},
   {VK_FORMAT_R5G6B5_UNORM_PACK16, 2},
   {VK_FORMAT_D16_UNORM, 2},
   {VK_FORMAT_R8G8B8A8_SRGB, 4},
   {VK_FORMAT_A2B10G10R10_UNORM_PACK32, 4},
   {VK_FORMAT_E5B9G9R9_UFLOAT_PACK32, 4},
   {VK_FORMAT_X8_D24_UNORM_PACK32, 4},
   {VK_FORMAT_D32_SFLOAT_S8_UINT, 4},
   {VK_FORMAT_R16G16B16A16_SINT, 8},
   {VK_FORMAT_R64_UINT, 8},
   {VK_FORMAT_BC1_RGBA_SRGB_BLOCK, 8, 4},
   {VK_FORMAT_BC4_SNORM_BLOCK, 8, 4},
   {VK_FORMAT_R32G32B32_SFLOAT, 12},
   {VK_FORMAT_R32G32B32A32_UINT, 16},
   {VK_FORMAT_R64G64B64A64_SINT, 32},
   {VK_FORMAT_BC7_UNORM_BLOCK, 16, 4},
};

uint32_t units_of(uint32_t texels, uint32_t side)
{
   return (texels + side - 1) / side;
}

/// An image and the bytes that it should have.
struct Model {
   TestImage image;
   Unit unit;
   std::vector<std::vector<uint8_t>> levels; ///< [slice][row][column] of units

   bool is_3d() const { return image.recipe.type == VK_IMAGE_TYPE_3D; }
   uint32_t columns(uint32_t level) const { return units_of(image.extent(level).width, unit.side); }
   uint32_t rows(uint32_t level) const { return units_of(image.extent(level).height, unit.side); }
   uint32_t slices(uint32_t level) const
   {
      return is_3d() ? image.extent(level).depth : image.recipe.layers;
   }
   uint8_t *at(uint32_t level, uint32_t slice, uint32_t row, uint32_t column)
   {
      return levels[level].data() +
             ((uint64_t(slice) * rows(level) + row) * columns(level) + column) * unit.bytes;
   }
};

/// A part of a level, in units and slices.
struct Region {
   uint32_t level, column, row, slice, columns, rows, slices;
};

} // namespace

class HostImageCopyTest : public ImageTest {
protected:
   void SetUp() override
   {
      ImageTest::SetUp();
      copy_to_image = device_function<PFN_vkCopyMemoryToImageEXT>("vkCopyMemoryToImageEXT");
      copy_to_memory = device_function<PFN_vkCopyImageToMemoryEXT>("vkCopyImageToMemoryEXT");
      copy_image = device_function<PFN_vkCopyImageToImageEXT>("vkCopyImageToImageEXT");
      transition = device_function<PFN_vkTransitionImageLayoutEXT>("vkTransitionImageLayoutEXT");
      get_layout =
         device_function<PFN_vkGetImageSubresourceLayout2EXT>("vkGetImageSubresourceLayout2EXT");
      ASSERT_TRUE(copy_to_image && copy_to_memory && copy_image && transition && get_layout);
   }

   uint32_t below(uint32_t end) { return uint32_t(random() % end); }

   ImageRecipe random_recipe(const Unit &unit)
   {
      constexpr VkImageType types[] = {VK_IMAGE_TYPE_1D, VK_IMAGE_TYPE_2D, VK_IMAGE_TYPE_3D};
      const VkImageType type = types[unit.side > 1 ? 1 + below(2) : below(3)];
      ImageRecipe recipe = {
         .format = unit.format,
         .type = type,
         .extent = {1 + below(40), type == VK_IMAGE_TYPE_1D ? 1 : 1 + below(30),
                    type == VK_IMAGE_TYPE_3D ? 1 + below(7) : 1},
         .layers = type == VK_IMAGE_TYPE_3D ? 1 : 1 + below(5),
         .tiling = below(2) ? VK_IMAGE_TILING_OPTIMAL : VK_IMAGE_TILING_LINEAR,
         .usage = VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT,
      };
      const uint32_t largest =
         std::max({recipe.extent.width, recipe.extent.height, recipe.extent.depth});
      for (uint32_t size = largest; size > 1 && below(3); size /= 2)
         recipe.levels++;
      return recipe;
   }

   void make_general(const TestImage &image)
   {
      const VkHostImageLayoutTransitionInfoEXT info = {
         .sType = VK_STRUCTURE_TYPE_HOST_IMAGE_LAYOUT_TRANSITION_INFO_EXT,
         .image = image.handle,
         .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
         .newLayout = general,
         .subresourceRange = {aspect_of(image.recipe.format), 0, VK_REMAINING_MIP_LEVELS, 0,
                              VK_REMAINING_ARRAY_LAYERS},
      };
      EXPECT_VK(transition(device, 1, &info));
   }

   std::vector<uint8_t> random_bytes(size_t size)
   {
      std::vector<uint8_t> bytes(size);
      for (uint8_t &byte : bytes)
         byte = uint8_t(random());
      return bytes;
   }

   /// An image with random bytes, copied by the host.
   Model make_model(const Unit &unit, const ImageRecipe &recipe)
   {
      Model model = {make_image(recipe), unit, {}};
      make_general(model.image);
      for (uint32_t l = 0; l < recipe.levels; ++l) {
         const Region whole = {l, 0, 0, 0, model.columns(l), model.rows(l), model.slices(l)};
         model.levels.push_back(
            random_bytes(size_t(whole.columns) * whole.rows * whole.slices * unit.bytes));
         to_image(model, whole, {model.levels[l]}, 0, 0);
      }
      return model;
   }

   Region random_region(const Model &m)
   {
      Region r;
      r.level = below(m.image.recipe.levels);
      r.column = below(m.columns(r.level));
      r.row = below(m.rows(r.level));
      r.slice = below(m.slices(r.level));
      r.columns = 1 + below(m.columns(r.level) - r.column);
      r.rows = 1 + below(m.rows(r.level) - r.row);
      r.slices = 1 + below(m.slices(r.level) - r.slice);
      return r;
   }

   VkImageSubresourceLayers layers_of(const Model &m, const Region &r)
   {
      return {aspect_of(m.unit.format), r.level, m.is_3d() ? 0 : r.slice, m.is_3d() ? 1 : r.slices};
   }
   VkOffset3D offset_of(const Model &m, const Region &r)
   {
      return {int32_t(r.column * m.unit.side), int32_t(r.row * m.unit.side),
              m.is_3d() ? int32_t(r.slice) : 0};
   }
   /// In texels; a level's last block may have fewer.
   VkExtent3D extent_of(const Model &m, const Region &r)
   {
      const VkExtent3D level = m.image.extent(r.level);
      const auto texels = [&](uint32_t first, uint32_t count, uint32_t size) {
         return std::min(count * m.unit.side, size - first * m.unit.side);
      };
      return {texels(r.column, r.columns, level.width), texels(r.row, r.rows, level.height),
              m.is_3d() ? r.slices : 1};
   }

   void to_image(const Model &m, const Region &r, const std::vector<uint8_t> &memory,
                 uint32_t row_length, uint32_t image_height, VkHostImageCopyFlagsEXT flags = 0)
   {
      const VkMemoryToImageCopyEXT copy = {
         .sType = VK_STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY_EXT,
         .pHostPointer = memory.data(),
         .memoryRowLength = row_length,
         .memoryImageHeight = image_height,
         .imageSubresource = layers_of(m, r),
         .imageOffset = offset_of(m, r),
         .imageExtent = extent_of(m, r),
      };
      const VkCopyMemoryToImageInfoEXT info = {
         .sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO_EXT,
         .flags = flags,
         .dstImage = m.image.handle,
         .dstImageLayout = general,
         .regionCount = 1,
         .pRegions = &copy,
      };
      EXPECT_VK(copy_to_image(device, &info));
   }

   void to_memory(const Model &m, const Region &r, std::vector<uint8_t> *memory,
                  uint32_t row_length, uint32_t image_height, VkHostImageCopyFlagsEXT flags = 0)
   {
      const VkImageToMemoryCopyEXT copy = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_TO_MEMORY_COPY_EXT,
         .pHostPointer = memory->data(),
         .memoryRowLength = row_length,
         .memoryImageHeight = image_height,
         .imageSubresource = layers_of(m, r),
         .imageOffset = offset_of(m, r),
         .imageExtent = extent_of(m, r),
      };
      const VkCopyImageToMemoryInfoEXT info = {
         .sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_MEMORY_INFO_EXT,
         .flags = flags,
         .srcImage = m.image.handle,
         .srcImageLayout = general,
         .regionCount = 1,
         .pRegions = &copy,
      };
      EXPECT_VK(copy_to_memory(device, &info));
   }

   /// Copies a part between image and memory whose rows and slices have gaps; the model's part is
   /// where the rule of "Buffer and Image Addressing" places it.
   void copy_with_gaps(Model &m, bool writes)
   {
      const Region r = random_region(m);
      const bool has_gaps = below(2);
      const uint32_t row = has_gaps ? r.columns + below(4) : r.columns,
                     height = has_gaps ? r.rows + below(4) : r.rows;
      const size_t size = size_t(row) * height * r.slices * m.unit.bytes;
      std::vector<uint8_t> memory = writes ? random_bytes(size) : std::vector(size, poison),
                           expected = memory;
      for (uint32_t z = 0; z < r.slices; ++z) {
         for (uint32_t y = 0; y < r.rows; ++y) {
            for (uint32_t x = 0; x < r.columns; ++x) {
               uint8_t *in_image = m.at(r.level, r.slice + z, r.row + y, r.column + x),
                       *in_memory =
                          expected.data() + ((size_t(z) * height + y) * row + x) * m.unit.bytes;
               memcpy(writes ? in_image : in_memory, writes ? in_memory : in_image, m.unit.bytes);
            }
         }
      }
      const uint32_t row_texels = has_gaps ? row * m.unit.side : 0,
                     height_texels = has_gaps ? height * m.unit.side : 0;
      if (writes)
         to_image(m, r, memory, row_texels, height_texels);
      else
         to_memory(m, r, &memory, row_texels, height_texels);
      ASSERT_EQ(memory, expected);
   }

   /// Layers become slices if only one of the images has three dimensions.
   void copy_between(Model &from, Model &to)
   {
      Region a = random_region(from), b = random_region(to);
      a.columns = b.columns = std::min(a.columns, b.columns);
      a.rows = b.rows = std::min(a.rows, b.rows);
      a.slices = b.slices = std::min(a.slices, b.slices);
      VkExtent3D extent = extent_of(from, a);
      const VkExtent3D other = extent_of(to, b);
      // Blocks at the edge of one image may be whole in the other one.
      if (from.unit.side > 1 && to.unit.side > 1 &&
          (extent.width != other.width || extent.height != other.height))
         return;
      if (from.is_3d() || to.is_3d())
         extent.depth = a.slices;
      const VkImageCopy2 copy = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_COPY_2,
         .srcSubresource = layers_of(from, a),
         .srcOffset = offset_of(from, a),
         .dstSubresource = layers_of(to, b),
         .dstOffset = offset_of(to, b),
         .extent = extent,
      };
      const VkCopyImageToImageInfoEXT info = {
         .sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_IMAGE_INFO_EXT,
         .srcImage = from.image.handle,
         .srcImageLayout = general,
         .dstImage = to.image.handle,
         .dstImageLayout = general,
         .regionCount = 1,
         .pRegions = &copy,
      };
      EXPECT_VK(copy_image(device, &info));
      for (uint32_t z = 0; z < a.slices; ++z) {
         for (uint32_t y = 0; y < a.rows; ++y)
            memcpy(to.at(b.level, b.slice + z, b.row + y, b.column),
                   from.at(a.level, a.slice + z, a.row + y, a.column), a.columns * to.unit.bytes);
      }
   }

   /// Compares all bytes, as the queue reads them.
   void expect_texels(const Model &m)
   {
      for (uint32_t l = 0; l < m.image.recipe.levels; ++l) {
         const TestBuffer after = make_buffer(m.levels[l].size());
         memset(after.map, poison, after.size);
         read_back(m.image, after, l);
         ASSERT_EQ(memcmp(after.map, m.levels[l].data(), after.size), 0)
            << "format " << m.unit.format << ", level " << l;
      }
   }

   PFN_vkCopyMemoryToImageEXT copy_to_image = nullptr;
   PFN_vkCopyImageToMemoryEXT copy_to_memory = nullptr;
   PFN_vkCopyImageToImageEXT copy_image = nullptr;
   PFN_vkTransitionImageLayoutEXT transition = nullptr;
   PFN_vkGetImageSubresourceLayout2EXT get_layout = nullptr;
};

TEST_F(HostImageCopyTest, RandomRegions)
{
   for (int round = 0; round < 3; ++round) {
      for (const Unit &unit : units) {
         Model model = make_model(unit, random_recipe(unit));
         for (int i = 0; i < 20; ++i) {
            copy_with_gaps(model, below(2));
            if (HasFatalFailure())
               return;
         }
         expect_texels(model);
      }
   }
}

TEST_F(HostImageCopyTest, RandomRegionsOfTwoImages)
{
   unsigned copies = 0;
   for (int round = 0; round < 4; ++round) {
      for (const Unit &from_unit : units) {
         for (const Unit &to_unit : units) {
            // Depths and stencils are copied to the same format.
            const bool has_colors = aspect_of(from_unit.format) == VK_IMAGE_ASPECT_COLOR_BIT &&
                                    aspect_of(to_unit.format) == VK_IMAGE_ASPECT_COLOR_BIT;
            if (!has_colors ? from_unit.format != to_unit.format : from_unit.bytes != to_unit.bytes)
               continue;
            Model from = make_model(from_unit, random_recipe(from_unit)),
                  to = make_model(to_unit, random_recipe(to_unit));
            if ((from.image.recipe.type == VK_IMAGE_TYPE_1D) !=
                (to.image.recipe.type == VK_IMAGE_TYPE_1D))
               continue;
            for (int i = 0; i < 8; ++i)
               copy_between(from, to);
            expect_texels(from);
            expect_texels(to);
            ++copies;
         }
      }
   }
   EXPECT_GT(copies, 30u);
}

/// A subresource to memory and to another image of the same parameters, without any other layout of
/// its bytes being known.
TEST_F(HostImageCopyTest, WholeSubresourcesAsTheyAre)
{
   for (const Unit &unit : units) {
      const ImageRecipe recipe = random_recipe(unit);
      Model from = make_model(unit, recipe), to = make_model(unit, recipe);
      for (uint32_t level = 0; level < recipe.levels; ++level) {
         for (uint32_t layer = 0; layer < recipe.layers; ++layer) {
            const VkImageSubresource2EXT subresource = {
               .sType = VK_STRUCTURE_TYPE_IMAGE_SUBRESOURCE_2_EXT,
               .imageSubresource = {aspect_of(unit.format), level, layer},
            };
            VkSubresourceHostMemcpySizeEXT size = {
               .sType = VK_STRUCTURE_TYPE_SUBRESOURCE_HOST_MEMCPY_SIZE_EXT};
            VkSubresourceLayout2EXT layout = {.sType = VK_STRUCTURE_TYPE_SUBRESOURCE_LAYOUT_2_EXT,
                                              .pNext = &size};
            get_layout(device, from.image.handle, &subresource, &layout);
            const uint32_t slices = from.is_3d() ? from.slices(level) : 1;
            const Region whole = {level, 0, 0, layer, from.columns(level), from.rows(level),
                                  slices};
            const size_t texels = size_t(whole.columns) * whole.rows * slices * unit.bytes;
            ASSERT_GE(size.size, texels);
            std::vector<uint8_t> memory(size.size + 64, poison);
            to_memory(from, whole, &memory, 0, 0, VK_HOST_IMAGE_COPY_MEMCPY_EXT);
            for (size_t i = size.size; i < memory.size(); ++i)
               ASSERT_EQ(memory[i], poison);
            if (below(2))
               continue;
            to_image(to, whole, memory, 0, 0, VK_HOST_IMAGE_COPY_MEMCPY_EXT);
            memcpy(to.at(level, layer, 0, 0), from.at(level, layer, 0, 0), texels);
         }
      }
      expect_texels(from);
      expect_texels(to);
   }
}

/// A transition keeps the texels that the host has written to a linear image.
TEST_F(HostImageCopyTest, Transitions)
{
   const ImageRecipe recipe = {.format = VK_FORMAT_R16_UINT,
                               .extent = {9, 5, 1},
                               .layers = 2,
                               .tiling = VK_IMAGE_TILING_LINEAR,
                               .usage = VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT};
   Model model = make_model({VK_FORMAT_R16_UINT, 2}, recipe);
   VkHostImageLayoutTransitionInfoEXT infos[2];
   for (uint32_t layer = 0; layer < 2; ++layer)
      infos[layer] = {
         .sType = VK_STRUCTURE_TYPE_HOST_IMAGE_LAYOUT_TRANSITION_INFO_EXT,
         .image = model.image.handle,
         .oldLayout = general,
         .newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
         .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, layer, 1},
      };
   EXPECT_VK(transition(device, 2, infos));
   for (VkHostImageLayoutTransitionInfoEXT &info : infos)
      std::swap(info.oldLayout, info.newLayout);
   EXPECT_VK(transition(device, 2, infos));
   expect_texels(model);
}

TEST_F(HostImageCopyTest, Properties)
{
   VkPhysicalDeviceHostImageCopyPropertiesEXT copies = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES_EXT};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &copies};
   vkGetPhysicalDeviceProperties2(physical, &properties);
   ASSERT_GE(copies.copySrcLayoutCount, 2u);
   ASSERT_GE(copies.copyDstLayoutCount, 2u);
   EXPECT_TRUE(std::ranges::any_of(copies.optimalTilingLayoutUUID, [](uint8_t b) { return b; }));
   std::vector<VkImageLayout> from(copies.copySrcLayoutCount), to(copies.copyDstLayoutCount);
   copies.pCopySrcLayouts = from.data();
   copies.pCopyDstLayouts = to.data();
   vkGetPhysicalDeviceProperties2(physical, &properties);
   for (const std::vector<VkImageLayout> &layouts : {from, to}) {
      EXPECT_EQ(std::ranges::count(layouts, general), 1);
      EXPECT_EQ(std::ranges::count(layouts, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL), 1);
      EXPECT_EQ(std::ranges::count(layouts, VK_IMAGE_LAYOUT_UNDEFINED), 0);
   }
   const VkImageLayout second = from[1];
   from[1] = VK_IMAGE_LAYOUT_MAX_ENUM;
   copies.copySrcLayoutCount = 1;
   vkGetPhysicalDeviceProperties2(physical, &properties);
   EXPECT_EQ(copies.copySrcLayoutCount, 1u);
   EXPECT_EQ(from[1], VK_IMAGE_LAYOUT_MAX_ENUM) << second;
}

/// Each format that is sampled is also copied by the host (VkPhysicalDeviceHostImageCopyFeatures).
TEST_F(HostImageCopyTest, FormatsOfImages)
{
   unsigned count = 0;
   for (int number = VK_FORMAT_R4G4_UNORM_PACK8; number <= VK_FORMAT_BC7_SRGB_BLOCK; ++number) {
      const auto format = VkFormat(number);
      VkFormatProperties3 features = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3};
      VkFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2,
                                        .pNext = &features};
      vkGetPhysicalDeviceFormatProperties2(physical, format, &properties);
      for (const VkFormatFeatureFlags2 f :
           {features.optimalTilingFeatures, features.linearTilingFeatures})
         EXPECT_TRUE(!(f & VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT) ||
                     f & VK_FORMAT_FEATURE_2_HOST_IMAGE_TRANSFER_BIT_EXT)
            << number;
      VkHostImageCopyDevicePerformanceQueryEXT performance = {
         .sType = VK_STRUCTURE_TYPE_HOST_IMAGE_COPY_DEVICE_PERFORMANCE_QUERY_EXT};
      VkImageFormatProperties2 limits = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                         .pNext = &performance};
      const VkPhysicalDeviceImageFormatInfo2 info = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
         .format = format,
         .type = VK_IMAGE_TYPE_2D,
         .tiling = VK_IMAGE_TILING_OPTIMAL,
         .usage = VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT,
      };
      const bool has_feature =
         features.optimalTilingFeatures & VK_FORMAT_FEATURE_2_HOST_IMAGE_TRANSFER_BIT_EXT;
      const VkResult result = vkGetPhysicalDeviceImageFormatProperties2(physical, &info, &limits);
      EXPECT_EQ(result, has_feature ? VK_SUCCESS : VK_ERROR_FORMAT_NOT_SUPPORTED) << number;
      if (has_feature) {
         EXPECT_TRUE(performance.optimalDeviceAccess) << number;
         ++count;
      }
   }
   EXPECT_GE(count, std::size(units));
}

} // namespace weft::icd_test
