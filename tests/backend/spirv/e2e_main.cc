// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The end-to-end tests of tests/e2e on a driver without matrices, with backend/spirv before it.
/// Each of their modules, with matrices or not, passes through the compiler. The result has to be
/// valid, and has to compute the same.

#include "backend/spirv/compiler.h"
#include "backend/spirv/driver_quirks.h"
#include "backend/spirv/words/spirv_text.h"
#include "tests/e2e/cases.h"
#include "vulkan_util/matrix_properties.h"

#include <cstdlib>

namespace weft::e2e {
namespace {

spirv::Driver driver_of(const Device &device)
{
   const auto has = [](VkBool32 feature) { return feature == VK_TRUE; };
   spirv::Driver d;
   d.spirv_version = 0x00010600;
   if (const char *version = getenv("WEFT_TEST_SPIRV_VERSION"))
      d.spirv_version = uint32_t(strtoul(version, nullptr, 0));
   d.subgroup_operations = device.properties11.subgroupSupportedOperations;
   d.subgroup_extended_types = has(device.features12.shaderSubgroupExtendedTypes);
   d.vulkan_memory_model_device_scope = has(device.features12.vulkanMemoryModelDeviceScope);
   d.int8 = has(device.features12.shaderInt8);
   d.int16 = has(device.features.shaderInt16);
   d.int64 = has(device.features.shaderInt64);
   d.float16 = has(device.features12.shaderFloat16);
   d.float64 = has(device.features.shaderFloat64);
   d.storage_buffer_8bit = has(device.features12.storageBuffer8BitAccess);
   d.storage_buffer_16bit = has(device.features11.storageBuffer16BitAccess);
   d.integer_dot_product = has(device.features13.shaderIntegerDotProduct);
   d.float16_sums = device.float16_sums;
   d.buffer_device_address = has(device.features12.bufferDeviceAddress);
   spirv::apply_driver_quirks(d, device.properties12.driverID, device.properties.driverVersion);
   return d;
}

class Backend : public Preprocessor {
public:
   void set_matrix_properties(Device &device) override
   {
      device.matrix_properties.clear();
      device.nv_matrix_properties.clear();
      for (const MatrixOperation &operation : operations(device)) {
         write_operation(operation,
                         device.matrix_properties.emplace_back(VkCooperativeMatrixPropertiesKHR{
                            VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR}));
         if (!is_nv_operation(operation))
            continue;
         write_operation(operation,
                         device.nv_matrix_properties.emplace_back(VkCooperativeMatrixPropertiesNV{
                            VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV}));
      }
      if (!device.matrix2_features.cooperativeMatrixFlexibleDimensions)
         return; // GLSL has no flexible matrices on this device
      device.flexible_properties.clear();
      for (const FlexibleOperation &operation : flexible(device)) {
         VkCooperativeMatrixFlexibleDimensionsPropertiesNV p = {
            .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV};
         write_flexible(operation, p);
         device.flexible_properties.push_back(p);
      }
      device.matrix2_properties.cooperativeMatrixFlexibleDimensionsMaxDimension =
         spirv::max_matrix_dimension;
   }

   std::vector<uint32_t> lower(const Device &device, std::span<const uint32_t> words,
                               const PipelineOptions &options) override
   {
      ShaderSource source = {words, "main", {}};
      for (const vulkan::SpecConstant &constant : options.spec_constants)
         source.spec_constants.push_back(
            {constant.id, std::as_bytes(std::span(&constant.value, 1))});
      spirv::CompileOptions compile;
      compile.driver = driver_of(device);
      compile.subgroup_size =
         options.subgroup_size ? options.subgroup_size : device.properties11.subgroupSize;
      compile.operations = operations(device);
      compile.flexible = flexible(device);
      compile.staging_bytes = device.properties.limits.maxComputeSharedMemorySize / 4;

      Result<spirv::CompiledModule> lowered = spirv::compile(source, compile);
      if (!lowered)
         throw VulkanError(VK_ERROR_INVALID_SHADER_NV, "spirv::compile", lowered.error().message);
      const Result<bool> valid = spirv::validate(lowered->words);
      EXPECT_TRUE(valid) << valid.error().message << "\n" << spirv::disassemble(lowered->words);
      if (!valid)
         throw VulkanError(VK_ERROR_INVALID_SHADER_NV, "spirv::validate", valid.error().message);
      return lowered->words;
   }

private:
   static std::vector<MatrixOperation> operations(const Device &device)
   {
      return spirv::supported_operations(driver_of(device), device.properties11.subgroupSize);
   }

   static std::vector<FlexibleOperation> flexible(const Device &device)
   {
      return with_workgroup_scope(
         flexible_operations(operations(device), spirv::max_matrix_dimension));
   }
};

} // namespace
} // namespace weft::e2e

int main(int argc, char **argv)
{
   static weft::e2e::Backend backend;
   weft::e2e::preprocessor = &backend;
   testing::InitGoogleTest(&argc, argv);
   testing::AddGlobalTestEnvironment(new weft::e2e::CaseEnvironment);
   return RUN_ALL_TESTS();
}
