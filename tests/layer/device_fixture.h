// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Devices created through the layer.

#pragma once

#include "tests/layer/fixture.h"

#include <algorithm>
#include <cstring>

namespace weft::layer_test {

class DeviceTest : public LayerTest {
protected:
   bool enabled(const char *extension) const
   {
      return std::ranges::find(driver.enabled_extensions, std::string(extension)) !=
             driver.enabled_extensions.end();
   }

   size_t in_chain(VkStructureType type) const
   {
      return std::ranges::count(driver.device_chain, type);
   }

   void expect_lowering_features() const
   {
      EXPECT_TRUE(driver.enabled.shaderInt16);
      EXPECT_TRUE(driver.enabled.shaderInt64);
      EXPECT_TRUE(driver.enabled11.storageBuffer16BitAccess);
      EXPECT_TRUE(driver.enabled12.storageBuffer8BitAccess);
      EXPECT_TRUE(driver.enabled12.shaderFloat16);
      EXPECT_TRUE(driver.enabled12.shaderInt8);
      EXPECT_TRUE(driver.enabled12.vulkanMemoryModel);
      EXPECT_TRUE(driver.enabled13.subgroupSizeControl);
      EXPECT_TRUE(driver.enabled13.computeFullSubgroups);
      // Features that the driver lacks, and the application's choices.
      EXPECT_FALSE(driver.enabled12.storagePushConstant8);
      EXPECT_FALSE(driver.enabled13.shaderIntegerDotProduct);
   }

   /// The features that the compiler may use in shaders of the device.
   spirv::Driver compiled_for(const void *stage_next = nullptr, const void *next = nullptr)
   {
      const VkShaderModule module = make_module(matrix_module());
      VkComputePipelineCreateInfo info = pipeline_info(module, "main", stage_next);
      info.pNext = next;
      VkPipeline pipeline;
      EXPECT_VK(create_pipelines({&info, 1}, {&pipeline, 1}));
      destroy_pipelines({&pipeline, 1});
      destroy_module(module);
      return compiler.seen.back().options.driver;
   }
};

} // namespace weft::layer_test
