// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layer's advertised extensions and features.

#include "tests/layer/query_fixture.h"

#include "layer/plan/extensions.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace weft::layer_test {
namespace {

/// The command follows Vulkan's rule for arrays, and the table's order.
TEST_F(Query, TellsToolsWhatBecomesOfEachExtension)
{
   ASSERT_VK(create_instance());
   auto extensions = matrix_extensions();
   ASSERT_EQ(extensions.size(), layer::extension_count);
   for (size_t i = 0; i < extensions.size(); i++)
      EXPECT_STREQ(extensions[i].extensionName, layer::extension_rows()[i].name);
   EXPECT_EQ(extensions[0].support, WEFT_MATRIX_SUPPORT_LOWERED);
   EXPECT_STREQ(extensions[0].reason, "");
   EXPECT_EQ(extensions.back().support, WEFT_MATRIX_SUPPORT_MISSING);
   EXPECT_STREQ(extensions.back().reason, "no matrices of float8");
   const auto query = instance_function<PFN_vkGetPhysicalDeviceMatrixExtensionsWEFT>(
      "vkGetPhysicalDeviceMatrixExtensionsWEFT");
   EXPECT_EQ(
      layer.pfnGetPhysicalDeviceProcAddr(instance, "vkGetPhysicalDeviceMatrixExtensionsWEFT"),
      PFN_vkVoidFunction(query));
   uint32_t count = 2;
   EXPECT_EQ(query(physical, &count, extensions.data()), VK_INCOMPLETE);
   EXPECT_EQ(count, 2u);
   destroy_instance();

   driver.features12.vulkanMemoryModel = VK_FALSE;
   ASSERT_VK(create_instance());
   for (const WeftMatrixExtension &extension : matrix_extensions()) {
      EXPECT_EQ(extension.support, WEFT_MATRIX_SUPPORT_MISSING);
      EXPECT_STREQ(extension.reason, "no vulkanMemoryModel");
   }
}

TEST_F(Query, AdvertisesWhereTheDriverCanCarryIt)
{
   ASSERT_VK(create_instance());
   EXPECT_TRUE(advertised());
   for (const char *command : {"vkGetPhysicalDeviceFeatures2", "vkGetPhysicalDeviceFeatures2KHR"}) {
      EXPECT_EQ(matrix_features(command).cooperativeMatrix, VK_TRUE);
      EXPECT_EQ(matrix_features(command).cooperativeMatrixRobustBufferAccess, VK_TRUE);
   }
   uint32_t subgroup_size = 0;
   EXPECT_EQ(supported_stages(&subgroup_size), VkShaderStageFlags(VK_SHADER_STAGE_COMPUTE_BIT));
   EXPECT_EQ(subgroup_size, 32u);
   const auto properties = matrix_properties();
   ASSERT_EQ(properties.size(), 3u);
   EXPECT_EQ(properties[1].MSize, 8u);
   EXPECT_EQ(properties[1].AType, VK_COMPONENT_TYPE_SINT8_KHR);
   EXPECT_EQ(properties[1].ResultType, VK_COMPONENT_TYPE_SINT32_KHR);
   EXPECT_EQ(properties[1].scope, VK_SCOPE_SUBGROUP_KHR);
}

TEST_F(Query, ExtensionsKeepToTheCapacity)
{
   ASSERT_VK(create_instance());
   auto enumerate = instance_function<PFN_vkEnumerateDeviceExtensionProperties>(
      "vkEnumerateDeviceExtensionProperties");
   uint32_t all = 0;
   EXPECT_VK(enumerate(physical, nullptr, &all, nullptr));
   EXPECT_GT(all, driver.extensions.size());
   for (uint32_t capacity = 0; capacity <= all + 1; capacity++) {
      std::vector<VkExtensionProperties> list(all + 2);
      uint32_t count = capacity;
      EXPECT_EQ(enumerate(physical, nullptr, &count, list.data()),
                capacity < all ? VK_INCOMPLETE : VK_SUCCESS);
      EXPECT_EQ(count, std::min(capacity, all));
      EXPECT_STREQ(list[count].extensionName, "");
   }
}

TEST_F(Query, ExtensionsOfALayer)
{
   ASSERT_VK(create_instance());
   auto enumerate = instance_function<PFN_vkEnumerateDeviceExtensionProperties>(
      "vkEnumerateDeviceExtensionProperties");
   VkExtensionProperties list[16];
   uint32_t count = 16;
   EXPECT_VK(enumerate(physical, "VK_LAYER_WEFT_cooperative_matrix", &count, list));
   ASSERT_GE(count, 1u);
   EXPECT_STREQ(list[0].extensionName, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   for (uint32_t i = 0; i < count; i++)
      EXPECT_EQ(std::ranges::count(driver.extensions, std::string(list[i].extensionName)), 0);
   count = 0;
   EXPECT_EQ(enumerate(physical, "VK_LAYER_WEFT_cooperative_matrix", &count, list), VK_INCOMPLETE);
   EXPECT_EQ(enumerate(physical, "VK_LAYER_other", &count, list), VK_ERROR_LAYER_NOT_PRESENT);

   auto of_instance = instance_function<PFN_vkEnumerateInstanceExtensionProperties>(
      "vkEnumerateInstanceExtensionProperties");
   count = 2;
   EXPECT_VK(of_instance("VK_LAYER_WEFT_cooperative_matrix", &count, list));
   ASSERT_EQ(count, 1u);
   EXPECT_STREQ(list[0].extensionName, VK_EXT_LAYER_SETTINGS_EXTENSION_NAME);
   EXPECT_EQ(of_instance(nullptr, &count, list), VK_ERROR_LAYER_NOT_PRESENT);

   VkLayerProperties layers[2];
   count = 2;
   EXPECT_VK(instance_function<PFN_vkEnumerateInstanceLayerProperties>(
      "vkEnumerateInstanceLayerProperties")(&count, layers));
   ASSERT_EQ(count, 1u);
   EXPECT_STREQ(layers[0].layerName, "VK_LAYER_WEFT_cooperative_matrix");
}

TEST_F(Query, Tools)
{
   ASSERT_VK(create_instance());
   auto get =
      instance_function<PFN_vkGetPhysicalDeviceToolProperties>("vkGetPhysicalDeviceToolProperties");
   uint32_t count = 77;
   EXPECT_VK(get(physical, &count, nullptr));
   EXPECT_EQ(count, 3u);
   for (uint32_t capacity = 0; capacity <= 4; capacity++) {
      VkPhysicalDeviceToolProperties tools[5] = {};
      count = capacity;
      EXPECT_EQ(get(physical, &count, tools), capacity < 3 ? VK_INCOMPLETE : VK_SUCCESS);
      ASSERT_EQ(count, std::min(capacity, 3u));
      const char *const names[] = {"Weft", "one", "two"};
      for (uint32_t i = 0; i < count; i++)
         EXPECT_STREQ(tools[i].name, names[i]);
      EXPECT_STREQ(tools[count].name, "");
   }
   driver.subgroup_operations = 0;
   destroy_instance();
   ASSERT_VK(create_instance());
   get =
      instance_function<PFN_vkGetPhysicalDeviceToolProperties>("vkGetPhysicalDeviceToolProperties");
   EXPECT_VK(get(physical, &count, nullptr));
   EXPECT_EQ(count, 2u);
}

/// An application's structs stay in their chains, with any contents.
TEST_F(Query, ChainsOfAnswersStayWhole)
{
   driver.native_matrices = true;
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   ASSERT_VK(create_instance());
   VkBaseOutStructure behind = {};
   VkPhysicalDeviceToolProperties tool = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TOOL_PROPERTIES, .pNext = &behind};
   uint32_t count = 1;
   EXPECT_EQ(instance_function<PFN_vkGetPhysicalDeviceToolProperties>(
                "vkGetPhysicalDeviceToolProperties")(physical, &count, &tool),
             VK_INCOMPLETE);
   EXPECT_EQ(tool.pNext, &behind);
   EXPECT_STREQ(tool.name, "Weft");

   VkCooperativeMatrixPropertiesKHR rows[2]; // one of the driver's, one of the layer's
   for (VkCooperativeMatrixPropertiesKHR &row : rows)
      row = {.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR, .pNext = &behind};
   count = 2;
   EXPECT_EQ(instance_function<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
                "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR")(physical, &count, rows),
             VK_INCOMPLETE);
   EXPECT_EQ(rows[0].KSize, 7u);
   EXPECT_EQ(rows[1].KSize, 16u);
   for (const VkCooperativeMatrixPropertiesKHR &row : rows)
      EXPECT_EQ(row.pNext, &behind);
}

struct Obstacle {
   const char *name;
   std::function<void(FakeDriver &, FakeCompiler &)> put;
};

class QueryObstacle : public Query, public testing::WithParamInterface<Obstacle> {};

TEST_P(QueryObstacle, AdvertisesNothing)
{
   GetParam().put(driver, compiler);
   ASSERT_VK(create_instance());
   EXPECT_FALSE(advertised());
   EXPECT_EQ(matrix_features().cooperativeMatrix, VK_FALSE);
   EXPECT_EQ(supported_stages(), VkShaderStageFlags(0));
   EXPECT_TRUE(matrix_properties().empty());
   EXPECT_EQ(create_matrix_device(), VK_ERROR_EXTENSION_NOT_PRESENT);
   ASSERT_EQ(messages.size(), 1u);
   EXPECT_NE(messages[0].find("no VK_KHR_cooperative_matrix on 'fake'"), std::string::npos);
   const VkPhysicalDeviceCooperativeMatrixFeaturesKHR feature = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .cooperativeMatrix = VK_TRUE,
   };
   // The driver judges a struct of an absent extension.
   EXPECT_VK(create_device({.pNext = &feature}));
   EXPECT_EQ(std::ranges::count(driver.device_chain, feature.sType), 1);
}

const Obstacle obstacles[] = {
   {"vulkan_1_0", [](FakeDriver &d, FakeCompiler &) { d.api_version = VK_API_VERSION_1_0; }},
   {"no_compute_queue",
    [](FakeDriver &d, FakeCompiler &) { d.queue_flags = VK_QUEUE_TRANSFER_BIT; }},
   {"no_memory_model",
    [](FakeDriver &d, FakeCompiler &) { d.features12.vulkanMemoryModel = VK_FALSE; }},
   {"no_subgroup_operations", [](FakeDriver &d, FakeCompiler &) { d.subgroup_operations = 0; }},
   {"no_subgroups_in_compute",
    [](FakeDriver &d, FakeCompiler &) { d.subgroup_stages = VK_SHADER_STAGE_FRAGMENT_BIT; }},
   {"subgroups_of_one",
    [](FakeDriver &d, FakeCompiler &) {
       d.subgroup_size = d.min_subgroup_size = d.max_subgroup_size = 1;
    }},
   {"nothing_to_lower", [](FakeDriver &, FakeCompiler &c) { c.operations.clear(); }},
};

INSTANTIATE_TEST_SUITE_P(Each, QueryObstacle, testing::ValuesIn(obstacles),
                         [](const auto &info) { return info.param.name; });

/// If pipelines cannot require a size, shaders rely on none: extensions whose matrices exchange
/// elements are missing, and the layer reports the reason.
TEST_F(Query, SubgroupsWhoseSizeIsOutOfHand)
{
   const std::function<void()> ways[] = {
      [&] { driver.features13.subgroupSizeControl = VK_FALSE; },
      [&] { driver.required_size_stages = VK_SHADER_STAGE_FRAGMENT_BIT; },
      [&] { driver.api_version = VK_API_VERSION_1_2; },
   };
   for (const auto &take_out_of_hand : ways) {
      take_out_of_hand();
      ASSERT_VK(create_instance());
      EXPECT_TRUE(advertised());
      uint32_t subgroup_size = 0;
      EXPECT_EQ(supported_stages(&subgroup_size), VkShaderStageFlags(VK_SHADER_STAGE_COMPUTE_BIT));
      EXPECT_EQ(subgroup_size, 32u);
      uint32_t missing = 0;
      for (const WeftMatrixExtension &extension : matrix_extensions()) {
         if (!strstr(extension.reason, "cannot require a subgroup size"))
            continue;
         missing++;
         EXPECT_EQ(extension.support, WEFT_MATRIX_SUPPORT_MISSING);
      }
      EXPECT_EQ(missing, 5u);
      EXPECT_VK(create_matrix_device());
      destroy_device();
      destroy_instance();
      driver.features13.subgroupSizeControl = VK_TRUE;
      driver.required_size_stages = VK_SHADER_STAGE_COMPUTE_BIT;
   }
}

TEST_F(Query, ApplicationBelowVulkan11)
{
   ASSERT_VK(create_instance(VK_API_VERSION_1_0));
   EXPECT_FALSE(advertised());
}

TEST_F(Query, BasicSubgroupOperationsAreEnough)
{
   driver.subgroup_operations = VK_SUBGROUP_FEATURE_BASIC_BIT;
   ASSERT_VK(create_instance());
   EXPECT_TRUE(advertised());
}

/// No size control is needed where there is one size only.
TEST_F(Query, FixedSubgroupSize)
{
   driver.features13.subgroupSizeControl = VK_FALSE;
   driver.min_subgroup_size = driver.max_subgroup_size = 32;
   ASSERT_VK(create_instance());
   EXPECT_TRUE(advertised());
}

TEST_F(Query, Vulkan11WithExtensions)
{
   driver.api_version = VK_API_VERSION_1_1;
   driver.extensions.push_back(VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME);
   driver.extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
   ASSERT_VK(create_instance());
   EXPECT_TRUE(advertised());
}

TEST_F(Query, ErrorsOfTheDriverComeThroughAndAreNotKept)
{
   ASSERT_VK(create_instance());
   auto enumerate = instance_function<PFN_vkEnumerateDeviceExtensionProperties>(
      "vkEnumerateDeviceExtensionProperties");
   uint32_t count = 0;
   for (VkResult error : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
      driver.fail("vkEnumerateDeviceExtensionProperties", error);
      EXPECT_EQ(enumerate(physical, nullptr, &count, nullptr), error);
      driver.fail("vkEnumerateDeviceExtensionProperties", error);
      EXPECT_EQ(create_matrix_device(), error);
   }
   EXPECT_TRUE(advertised());
}

} // namespace
} // namespace weft::layer_test
