// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The lists of matrices, above drivers with and without their own.

#include "tests/layer/query_fixture.h"

#include "layer/plan/extensions.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace weft::layer_test {
namespace {

TEST_F(Query, MatrixPropertiesKeepToTheCapacity)
{
   ASSERT_VK(create_instance());
   auto get = instance_function<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
   for (uint32_t capacity = 0; capacity <= 4; capacity++) {
      VkCooperativeMatrixPropertiesKHR list[5] = {};
      uint32_t count = capacity;
      EXPECT_EQ(get(physical, &count, list), capacity < 3 ? VK_INCOMPLETE : VK_SUCCESS);
      EXPECT_EQ(count, std::min(capacity, 3u));
      EXPECT_EQ(list[count].MSize, 0u);
   }
}

/// A pipeline may require any subgroup size, and must compile then.
TEST_F(Query, OperationsCompileAtEverySubgroupSize)
{
   compiler.size_without_last = 16; // not the default, least or largest size
   ASSERT_VK(create_instance());
   EXPECT_EQ(matrix_properties().size(), compiler.operations.size() - 1);
   destroy_instance();
   driver.min_subgroup_size = 32;
   ASSERT_VK(create_instance());
   EXPECT_EQ(matrix_properties().size(), compiler.operations.size());
}

/// The layer's own operations are listed behind the driver's.
TEST_F(Query, AddsToNativeMatrices)
{
   driver.native_matrices = true;
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   ASSERT_VK(create_instance());
   std::vector<std::string> names = extension_names();
   EXPECT_EQ(std::ranges::count(names, std::string(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME)), 1);
   names.resize(driver.extensions.size()); // the layer's own follow
   EXPECT_EQ(names, driver.extensions);
   EXPECT_EQ(matrix_features().cooperativeMatrix, VK_TRUE);
   EXPECT_EQ(matrix_features().cooperativeMatrixRobustBufferAccess, VK_TRUE); // the driver's word
   EXPECT_EQ(supported_stages(), VkShaderStageFlags(VK_SHADER_STAGE_ALL));
   const auto rows = matrix_properties();
   ASSERT_EQ(rows.size(), 1 + compiler.operations.size());
   EXPECT_EQ(rows[0].KSize, 7u);
   EXPECT_EQ(rows[1].KSize, 16u);

   // An entry of both is listed once.
   driver.native_properties.push_back(rows[1]);
   destroy_instance();
   ASSERT_VK(create_instance());
   EXPECT_EQ(matrix_properties().size(), 1 + compiler.operations.size());
}

TEST_F(Query, NativeMatricesThatCannotBeListed)
{
   driver.native_matrices = true;
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   driver.fail("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", VK_ERROR_OUT_OF_HOST_MEMORY);
   ASSERT_VK(create_instance());
   uint32_t count = 0;
   EXPECT_EQ(instance_function<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
                "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR")(physical, &count, nullptr),
             VK_ERROR_OUT_OF_HOST_MEMORY);
}

/// The layer has no operation to add, or cannot add one.
TEST_F(Query, StepsAsideForNativeMatrices)
{
   driver.native_matrices = true;
   compiler.operations = {{7, 7, 7, ComponentType::f16, ComponentType::f16, ComponentType::f16,
                           ComponentType::f16, false}};
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   driver.extensions.push_back(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
   ASSERT_VK(create_instance());
   std::vector<std::string> names = extension_names();
   EXPECT_EQ(std::ranges::count(names, std::string(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME)), 1);
   names.resize(driver.extensions.size()); // entries that the driver lacks follow
   EXPECT_EQ(names, driver.extensions);
   EXPECT_EQ(matrix_features().cooperativeMatrixRobustBufferAccess, VK_TRUE);
   EXPECT_EQ(supported_stages(), VkShaderStageFlags(VK_SHADER_STAGE_ALL));
   ASSERT_EQ(matrix_properties().size(), 1u);
   EXPECT_EQ(matrix_properties()[0].MSize, 7u);
}

/// Operations of types that the layer does not build from are operations, too.
TEST_F(Query, StepsAsideForNativeMatricesOfNewerTypes)
{
   driver.native_matrices = true;
   constexpr auto bf16 = ComponentType::bf16;
   compiler.operations = {{7, 7, 7, bf16, bf16, ComponentType::f32, ComponentType::f32, false}};
   VkCooperativeMatrixPropertiesKHR row = driver.native_properties[0];
   row.MSize = row.NSize = row.KSize = 7;
   row.AType = row.BType = VK_COMPONENT_TYPE_BFLOAT16_KHR;
   row.CType = row.ResultType = VK_COMPONENT_TYPE_FLOAT32_KHR;
   row.saturatingAccumulation = VK_FALSE;
   driver.native_properties = {row};
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   ASSERT_VK(create_instance());
   EXPECT_EQ(supported_stages(), VkShaderStageFlags(VK_SHADER_STAGE_ALL));
   EXPECT_EQ(matrix_properties().size(), 1u);
}

TEST_F(Query, HidesNativeMatricesWhenTold)
{
   const Environment registers("WEFT_LOWERING", "registers");
   driver.native_matrices = true;
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   for (const char *name :
        {VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME,
         "VK_NV_cooperative_matrix_decode_vector", "VK_EXT_cooperative_matrix_maintenance1",
         "VK_QCOM_cooperative_matrix_conversion", "VK_ARM_cooperative_matrix_layouts",
         "VK_KHR_shader_bfloat16"})
      driver.extensions.push_back(name);
   ASSERT_VK(create_instance());
   EXPECT_TRUE(advertised());
   const std::vector<std::string> names = extension_names();
   // The layer's.
   for (const char *lowered :
        {VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME, VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME,
         "VK_NV_cooperative_matrix_decode_vector", "VK_EXT_cooperative_matrix_maintenance1",
         "VK_QCOM_cooperative_matrix_conversion", "VK_ARM_cooperative_matrix_layouts"})
      EXPECT_EQ(std::ranges::count(names, std::string(lowered)), 1) << lowered;
   EXPECT_EQ(std::ranges::count(names, std::string("VK_KHR_shader_bfloat16")), 1);
   EXPECT_EQ(matrix_features().cooperativeMatrixRobustBufferAccess, VK_TRUE);
   EXPECT_EQ(supported_stages(), VkShaderStageFlags(VK_SHADER_STAGE_COMPUTE_BIT));
   EXPECT_EQ(matrix_properties().size(), 3u);

   struct {
      VkStructureType sType;
      void *pNext;
      VkBool32 type, dot_product, matrices;
   } bfloat16 = {VkStructureType(1000141000), nullptr, VK_TRUE, VK_TRUE, VK_TRUE};
   VkPhysicalDeviceCooperativeMatrix2FeaturesNV nv2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV,
      .pNext = &bfloat16,
   };
   VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                         .pNext = &nv2};
   instance_function<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2")(physical,
                                                                                       &features);
   EXPECT_EQ(nv2.cooperativeMatrixReductions, VK_TRUE);
   EXPECT_EQ(nv2.cooperativeMatrixTensorAddressing, VK_TRUE);
   EXPECT_EQ(nv2.cooperativeMatrixWorkgroupScope, VK_TRUE);
   EXPECT_EQ(nv2.cooperativeMatrixFlexibleDimensions, VK_TRUE);
   EXPECT_EQ(nv2.pNext, &bfloat16);
   EXPECT_EQ(bfloat16.type, VK_TRUE);
   EXPECT_EQ(bfloat16.matrices, VK_FALSE);

   VkPhysicalDeviceCooperativeMatrix2PropertiesNV nv2_properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV,
      .cooperativeMatrixWorkgroupScopeReservedSharedMemory = 77,
   };
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &nv2_properties};
   instance_function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(
      physical, &properties);
   EXPECT_EQ(nv2_properties.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize, 256u);
   EXPECT_EQ(nv2_properties.cooperativeMatrixWorkgroupScopeReservedSharedMemory, 32768u / 4);
   EXPECT_EQ(nv2_properties.cooperativeMatrixFlexibleDimensionsMaxDimension,
             spirv::max_matrix_dimension);
}

/// One row for each combination of types, for the subgroup and for each workgroup.
TEST_F(Query, FlexibleDimensions)
{
   compiler.operations[1].saturating = true;
   MatrixOperation other_size = compiler.operations[0];
   other_size.n = 8;
   compiler.operations.push_back(other_size);
   ASSERT_VK(create_instance());
   auto get =
      instance_function<PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV>(
         "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV");
   uint32_t count = 0;
   EXPECT_VK(get(physical, &count, nullptr));
   EXPECT_EQ(count, 9u);
   VkCooperativeMatrixFlexibleDimensionsPropertiesNV rows[9] = {};
   count = 2;
   EXPECT_EQ(get(physical, &count, rows), VK_INCOMPLETE);
   count = 9;
   EXPECT_VK(get(physical, &count, rows));
   const uint32_t workgroups[] = {0, 128, 256};
   for (size_t i = 0; i < 9; i++) {
      const MatrixOperation &op = compiler.operations[i % 3];
      EXPECT_EQ(rows[i].MGranularity, 8u);
      EXPECT_EQ(rows[i].NGranularity, 8u);
      EXPECT_EQ(rows[i].KGranularity, 8u);
      EXPECT_EQ(rows[i].AType, VkComponentTypeKHR(op.a));
      EXPECT_EQ(rows[i].BType, VkComponentTypeKHR(op.b));
      EXPECT_EQ(rows[i].CType, VkComponentTypeKHR(op.c));
      EXPECT_EQ(rows[i].ResultType, VkComponentTypeKHR(op.result));
      EXPECT_EQ(rows[i].saturatingAccumulation, VkBool32(op.saturating));
      EXPECT_EQ(rows[i].scope, i < 3 ? VK_SCOPE_SUBGROUP_KHR : VK_SCOPE_WORKGROUP_KHR);
      EXPECT_EQ(rows[i].workgroupInvocations, workgroups[i / 3]);
   }
}

/// Matrices of a workgroup that the device cannot run are not listed.
TEST_F(Query, FlexibleDimensionsOfSmallWorkgroups)
{
   const Environment lavapipe("WEFT_PROFILE", "lavapipe"); // subgroups of 8
   compiler.operations = {{8, 8, 8, ComponentType::f16, ComponentType::f16, ComponentType::f32,
                           ComponentType::f32, false}};
   for (const auto &[subgroups, largest] : {std::pair(16u, 128u), {32u, 256u}, {1024u, 256u}}) {
      driver.max_workgroup_subgroups = subgroups;
      ASSERT_VK(create_instance());
      VkPhysicalDeviceCooperativeMatrix2PropertiesNV matrices = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV};
      VkPhysicalDeviceProperties2 properties = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &matrices};
      instance_function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(
         physical, &properties);
      EXPECT_EQ(matrices.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize, largest) << subgroups;
      destroy_instance();
   }
}

/// Properties without saturation and with it, queried separately; other scopes have no properties.
TEST_F(Query, MatrixPropertiesByClass)
{
   compiler.operations[1].saturating = true;
   ASSERT_VK(create_instance());
   auto get = instance_function<PFN_vkGetPhysicalDeviceCooperativeMatrixProperties2EXT>(
      "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT");
   VkPhysicalDeviceCooperativeMatrixInfo2EXT info = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_INFO_2_EXT,
      .scope = VK_SCOPE_SUBGROUP_KHR,
   };
   uint32_t count = 0;
   EXPECT_VK(get(physical, &info, &count, nullptr));
   EXPECT_EQ(count, compiler.operations.size() - 1);
   info.flags = VK_COOPERATIVE_MATRIX_SATURATING_ACCUMULATION_BIT_EXT;
   VkCooperativeMatrixProperties2EXT rows[2] = {};
   count = 2;
   EXPECT_VK(get(physical, &info, &count, rows));
   ASSERT_EQ(count, 1u);
   EXPECT_EQ(rows[0].MGranularity, compiler.operations[1].m);
   EXPECT_EQ(rows[0].AType, VkComponentTypeKHR(compiler.operations[1].a));
   info.scope = VK_SCOPE_WORKGROUP_KHR;
   EXPECT_VK(get(physical, &info, &count, nullptr));
   EXPECT_EQ(count, 0u);
}

/// The list has no saturation, and no component types of later extensions.
TEST_F(Query, MatrixPropertiesOfNv)
{
   compiler.operations[1].saturating = true;
   compiler.operations[2].b = ComponentType::bf16;
   ASSERT_VK(create_instance());
   auto get = instance_function<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesNV>(
      "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV");
   const MatrixOperation &op = compiler.operations[0];
   for (uint32_t capacity = 0; capacity <= 2; capacity++) {
      VkCooperativeMatrixPropertiesNV list[3] = {};
      uint32_t count = capacity;
      EXPECT_EQ(get(physical, &count, list), capacity < 1 ? VK_INCOMPLETE : VK_SUCCESS);
      ASSERT_EQ(count, std::min(capacity, 1u));
      EXPECT_EQ(list[count].MSize, 0u);
      if (count == 0)
         continue;
      EXPECT_EQ(list[0].MSize, op.m);
      EXPECT_EQ(list[0].NSize, op.n);
      EXPECT_EQ(list[0].KSize, op.k);
      EXPECT_EQ(list[0].AType, VkComponentTypeNV(op.a));
      EXPECT_EQ(list[0].BType, VkComponentTypeNV(op.b));
      EXPECT_EQ(list[0].CType, VkComponentTypeNV(op.c));
      EXPECT_EQ(list[0].DType, VkComponentTypeNV(op.result));
      EXPECT_EQ(list[0].scope, VK_SCOPE_SUBGROUP_NV);
   }
   uint32_t count = 0;
   EXPECT_VK(get(physical, &count, nullptr));
   EXPECT_EQ(count, 1u);
}

/// A loader lists an implicit layer's extensions beside the driver's: that is not native support.
TEST_F(Query, DoesNotTakeItsOwnManifestForNativeSupport)
{
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   ASSERT_VK(create_instance());
   EXPECT_TRUE(advertised());
   EXPECT_EQ(matrix_properties().size(), 3u);
   driver.features12.vulkanMemoryModel = VK_FALSE;
   destroy_instance();
   ASSERT_VK(create_instance());
   EXPECT_FALSE(advertised());
}

} // namespace
} // namespace weft::layer_test
