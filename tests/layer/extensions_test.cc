// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The table of extensions, and the places that have to agree with it.

#include "layer/plan/extensions.h"
#include "tests/layer/fixture.h"

#include "layer/struct_chain.h"

namespace weft::layer_test {

namespace {

using layer::extension_rows;
using layer::ExtensionRow;

class Extensions : public LayerTest {};

/// The commands of a physical device that the layer answers.
std::vector<std::string> queries()
{
   std::vector<std::string> names;
   for (const ExtensionRow &row : extension_rows()) {
      if (row.query)
         names.emplace_back(row.query);
   }
   return names;
}

TEST_F(Extensions, RowsAreInOrderAndAfterTheirBase)
{
   for (size_t i = 0; i < extension_rows().size(); i++) {
      const ExtensionRow &row = extension_rows()[i];
      EXPECT_EQ(size_t(row.extension), i);
      EXPECT_EQ(layer::find_extension(row.name), &row);
      EXPECT_TRUE(row.base == layer::Extension::none || row.base < row.extension) << row.name;
      EXPECT_EQ(layer::struct_size(row.features),
                (sizeof(VkBaseInStructure) + row.feature_count * sizeof(VkBool32) + 7) / 8 * 8)
         << row.name;
   }
   EXPECT_EQ(layer::find_extension("VK_KHR_swapchain"), nullptr);
}

TEST_F(Extensions, QueriesAreAnsweredWhateverTheDriverHas)
{
   ASSERT_VK(create_instance());
   for (const std::string &query : queries()) {
      EXPECT_TRUE(layer.pfnGetInstanceProcAddr(instance, query.c_str())) << query;
      EXPECT_TRUE(layer.pfnGetPhysicalDeviceProcAddr(instance, query.c_str())) << query;
   }
}

// Loaders before 1.3.211 answer the layer's query for a driver's command with a command of their
// own, and keep the layer's answer. Without an answer, programs call a null pointer later.
TEST_F(Extensions, QueriesAreAnsweredWhileTheInstanceIsMade)
{
   const auto unfinished = reinterpret_cast<VkInstance>(&layer);
   for (const std::string &query : queries())
      EXPECT_TRUE(layer.pfnGetPhysicalDeviceProcAddr(unfinished, query.c_str())) << query;
   EXPECT_FALSE(layer.pfnGetPhysicalDeviceProcAddr(unfinished, "vkGetPhysicalDeviceFeatures2"));
}

} // namespace

} // namespace weft::layer_test
