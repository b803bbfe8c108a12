// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/plan/extensions.h"

#include "layer/plan/matrix_plan.h"
#include "layer/plan/plan_settings.h"
#include "vulkan_util/matrix_properties.h"

#include <algorithm>
#include <cstring>

namespace weft::layer {

namespace {

const char *has_no_operations(const MatrixPlan &device)
{
   return device.operations.empty() ? "no matrix operation can be lowered to what the driver has"
                                    : nullptr;
}

bool has_type(const MatrixPlan &device, std::initializer_list<ComponentType> types)
{
   return std::ranges::any_of(device.operations, [&](const MatrixOperation &operation) {
      return std::ranges::find(types, operation.a) != types.end();
   });
}

const char *has_no_bfloat16(const MatrixPlan &device)
{
   return has_type(device, {ComponentType::bf16}) ? nullptr : "no matrices of bfloat16";
}

const char *has_no_float8(const MatrixPlan &device)
{
   if (device.hides_float8)
      return "hidden from this program, which would select a heavier model "
             "(WEFT_FLOAT8=always shows it)";
   return has_type(device, {ComponentType::e4m3}) ? nullptr : "no matrices of float8";
}

bool adds_nothing(const PlanSettings &, const MatrixPlan &)
{
   return false;
}

/// Whether the driver lists the operation, also of types that no other matrix is built from.
bool is_listed(const MatrixPlan &device, const MatrixOperation &operation)
{
   return std::ranges::any_of(device.native_properties, [&](const auto &properties) {
      return read_operation(properties) == operation;
   });
}

bool adds_operations(const PlanSettings &settings, const MatrixPlan &device)
{
   return settings.lowering == Lowering::tiles ||
          std::ranges::any_of(device.operations, [&](const MatrixOperation &operation) {
             return !is_listed(device, operation);
          });
}

/// Elements move between invocations.
const char *has_no_elements(const MatrixPlan &device)
{
   if (const char *obstacle = has_no_operations(device))
      return obstacle;
   if (device.subgroups_are_blocks)
      return "its matrices exchange elements between invocations, but pipelines cannot require a "
             "subgroup size";
   return device.subgroups.operations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT
             ? nullptr
             : "the driver has no subgroup shuffles";
}

void write_matrix_properties(const MatrixPlan &, void *structure)
{
   static_assert(sizeof(VkPhysicalDeviceCooperativeMatrixPropertiesKHR) ==
                 sizeof(VkPhysicalDeviceCooperativeMatrixPropertiesNV));
   static_cast<VkPhysicalDeviceCooperativeMatrixPropertiesKHR *>(structure)
      ->cooperativeMatrixSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
}

void write_matrix2_properties(const MatrixPlan &device, void *structure)
{
   uint32_t workgroup = 0;
   for (const FlexibleOperation &operation : device.flexible)
      workgroup = std::max(workgroup, operation.workgroup_invocations);
   auto *properties = static_cast<VkPhysicalDeviceCooperativeMatrix2PropertiesNV *>(structure);
   properties->cooperativeMatrixWorkgroupScopeMaxWorkgroupSize = workgroup;
   properties->cooperativeMatrixFlexibleDimensionsMaxDimension = spirv::max_matrix_dimension;
   properties->cooperativeMatrixWorkgroupScopeReservedSharedMemory = device.staging_bytes;
}

constexpr uint32_t all(uint32_t count)
{
   return (1u << count) - 1;
}

const ExtensionRow rows[] = {
   {
      .extension = Extension::khr_cooperative_matrix,
      .name = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
      .spec_version = VK_KHR_COOPERATIVE_MATRIX_SPEC_VERSION,
      .base = Extension::none,
      .has_other_uses = false,
      .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .feature_count = 2, // cooperativeMatrix, cooperativeMatrixRobustBufferAccess
      .matrix_features = all(2),
      .lowered_features = all(2),
      .properties = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR,
      .property_words = 1,
      .write_properties = write_matrix_properties,
      .query = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
      .spirv_capabilities = {6022}, // CooperativeMatrixKHR
      .spirv_extensions = {"SPV_KHR_cooperative_matrix"},
      .why_not_lowered = has_no_operations,
      .adds_to_native = adds_operations,
   },
   {
      .extension = Extension::nv_cooperative_matrix,
      .name = VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME,
      .spec_version = VK_NV_COOPERATIVE_MATRIX_SPEC_VERSION,
      .base = Extension::none,
      .has_other_uses = false,
      .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV,
      .feature_count = 2, // cooperativeMatrix, cooperativeMatrixRobustBufferAccess
      .matrix_features = all(2),
      .lowered_features = all(2),
      .properties = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_NV,
      .property_words = 1,
      .write_properties = write_matrix_properties,
      .query = "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV",
      .spirv_capabilities = {5357}, // CooperativeMatrixNV
      .spirv_extensions = {"SPV_NV_cooperative_matrix"},
      .why_not_lowered = has_no_elements,
      .adds_to_native = adds_nothing,
   },
   {
      .extension = Extension::nv_cooperative_matrix2,
      .name = VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME,
      .spec_version = VK_NV_COOPERATIVE_MATRIX_2_SPEC_VERSION,
      .base = Extension::khr_cooperative_matrix,
      .has_other_uses = false,
      .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV,
      // cooperativeMatrixWorkgroupScope, …FlexibleDimensions, …Reductions, …Conversions,
      // …PerElementOperations, …TensorAddressing, …BlockLoads
      .feature_count = 7,
      .matrix_features = all(7),
      .lowered_features = all(7),
      .properties = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV,
      .property_words = 3, // of workgroup scope and of flexible dimensions
      .write_properties = write_matrix2_properties,
      .query = "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
      // CooperativeMatrixReductionsNV, …ConversionsNV, …PerElementOperationsNV,
      // …TensorAddressingNV, …BlockLoadsNV, TensorAddressingNV
      .spirv_capabilities = {5430, 5431, 5432, 5433, 5434, 5439},
      .spirv_extensions = {"SPV_NV_cooperative_matrix2", "SPV_NV_tensor_addressing"},
      .why_not_lowered = has_no_elements,
      .adds_to_native = adds_nothing,
   },
   {
      .extension = Extension::nv_cooperative_matrix_decode_vector,
      .name = VK_NV_COOPERATIVE_MATRIX_DECODE_VECTOR_EXTENSION_NAME,
      .spec_version = VK_NV_COOPERATIVE_MATRIX_DECODE_VECTOR_SPEC_VERSION,
      .base = Extension::nv_cooperative_matrix2,
      .has_other_uses = false,
      .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_DECODE_VECTOR_FEATURES_NV,
      .feature_count = 1, // cooperativeMatrixDecodeVector
      .matrix_features = all(1),
      .lowered_features = all(1),
      .spirv_capabilities = {5447}, // CooperativeMatrixDecodeVectorNV
      .spirv_extensions = {"SPV_NV_cooperative_matrix_decode_vector"},
      .why_not_lowered = has_no_elements,
      .adds_to_native = adds_nothing,
   },
   {
      .extension = Extension::ext_cooperative_matrix_maintenance1,
      .name = VK_EXT_COOPERATIVE_MATRIX_MAINTENANCE_1_EXTENSION_NAME,
      .spec_version = VK_EXT_COOPERATIVE_MATRIX_MAINTENANCE_1_SPEC_VERSION,
      .base = Extension::khr_cooperative_matrix,
      .has_other_uses = false,
      .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_MAINTENANCE_1_FEATURES_EXT,
      // cooperativeMatrixProperties2, …Reductions, …Conversions, …PerElementOperations,
      // …GetCoordinate
      .feature_count = 5,
      .matrix_features = all(5),
      .lowered_features = all(5),
      .query = "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT",
      // CooperativeMatrixConversionsEXT, …ReductionsEXT, …PerElementOperationsEXT,
      // …GetCoordinateEXT
      .spirv_capabilities = {5429, 5430, 5432, 5438},
      .spirv_extensions = {"SPV_EXT_cooperative_matrix_maintenance1"},
      .why_not_lowered = has_no_elements,
      .adds_to_native = adds_nothing,
   },
   {
      .extension = Extension::qcom_cooperative_matrix_conversion,
      .name = VK_QCOM_COOPERATIVE_MATRIX_CONVERSION_EXTENSION_NAME,
      .spec_version = VK_QCOM_COOPERATIVE_MATRIX_CONVERSION_SPEC_VERSION,
      .base = Extension::khr_cooperative_matrix,
      .has_other_uses = false,
      .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_CONVERSION_FEATURES_QCOM,
      .feature_count = 1, // cooperativeMatrixConversion
      .matrix_features = all(1),
      .lowered_features = all(1),
      .spirv_capabilities = {4496}, // CooperativeMatrixConversionQCOM
      .spirv_extensions = {"SPV_QCOM_cooperative_matrix_conversion"},
      .why_not_lowered = has_no_elements,
      .adds_to_native = adds_nothing,
   },
   {
      .extension = Extension::arm_cooperative_matrix_layouts,
      .name = VK_ARM_COOPERATIVE_MATRIX_LAYOUTS_EXTENSION_NAME,
      .spec_version = VK_ARM_COOPERATIVE_MATRIX_LAYOUTS_SPEC_VERSION,
      .base = Extension::khr_cooperative_matrix,
      .has_other_uses = false,
      .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_LAYOUTS_FEATURES_ARM,
      .feature_count = 1, // cooperativeMatrixArmLayouts
      .matrix_features = all(1),
      .lowered_features = all(1),
      .spirv_capabilities = {4201}, // CooperativeMatrixLayoutsARM
      .spirv_extensions = {"SPV_ARM_cooperative_matrix_layouts"},
      .why_not_lowered = has_no_operations,
      .adds_to_native = adds_nothing,
   },
   {
      .extension = Extension::khr_shader_bfloat16,
      .name = VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME,
      .spec_version = VK_KHR_SHADER_BFLOAT16_SPEC_VERSION,
      .base = Extension::khr_cooperative_matrix,
      .has_other_uses = true,
      .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR,
      .feature_count = 3, // shaderBFloat16Type, …DotProduct, …CooperativeMatrix
      .matrix_features = 1u << 2,
      .lowered_features = all(3),
      .spirv_capabilities = {5116, 5117,
                             5118}, // BFloat16TypeKHR, …DotProductKHR, …CooperativeMatrixKHR
      .spirv_extensions = {"SPV_KHR_bfloat16"},
      .why_not_lowered = has_no_bfloat16,
      .adds_to_native = adds_nothing,
   },
   {
      .extension = Extension::ext_shader_float8,
      .name = VK_EXT_SHADER_FLOAT8_EXTENSION_NAME,
      .spec_version = VK_EXT_SHADER_FLOAT8_SPEC_VERSION,
      .base = Extension::khr_cooperative_matrix,
      .has_other_uses = true,
      .features = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT8_FEATURES_EXT,
      .feature_count = 2, // shaderFloat8, shaderFloat8CooperativeMatrix
      .matrix_features = 1u << 1,
      .lowered_features = all(2),
      .spirv_capabilities = {4212, 4213}, // Float8EXT, Float8CooperativeMatrixEXT
      .spirv_extensions = {"SPV_EXT_float8"},
      .why_not_lowered = has_no_float8,
      .adds_to_native = adds_nothing,
   },
};
static_assert(std::size(rows) == extension_count);

} // namespace

std::span<const ExtensionRow> extension_rows()
{
   return rows;
}

const ExtensionRow *find_extension(const char *name)
{
   const auto found = std::ranges::find_if(
      rows, [&](const ExtensionRow &row) { return strcmp(row.name, name) == 0; });
   return found == std::end(rows) ? nullptr : found;
}

uint32_t read_features(const ExtensionRow &row, const void *structure)
{
   const auto *bools =
      reinterpret_cast<const VkBool32 *>(static_cast<const VkBaseInStructure *>(structure) + 1);
   uint32_t mask = 0;
   for (uint32_t i = 0; i < row.feature_count; i++)
      mask |= bools[i] ? 1u << i : 0;
   return mask;
}

void write_features(const ExtensionRow &row, void *structure, uint32_t which, uint32_t values)
{
   auto *bools = reinterpret_cast<VkBool32 *>(static_cast<VkBaseOutStructure *>(structure) + 1);
   for (uint32_t i = 0; i < row.feature_count; i++) {
      if (which & 1u << i)
         bools[i] = values & 1u << i ? VK_TRUE : VK_FALSE;
   }
}

} // namespace weft::layer
