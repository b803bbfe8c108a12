// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/vulkan/device.h"
#include "tests/vulkan/hooks.h"
#include "tests/vulkan/pipeline.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace weft::vulkan {

std::function<void(const std::string &)> on_validation_error;

/// A rule that the validation layers of Debian 13 (1.4.309) apply wrongly to some pipelines.
struct Misjudged {
   const char *rule;
   bool (*pipeline)(const Device &, const PipelineOptions &);
};

static bool ids_are_not_places(const Device &, const PipelineOptions &options)
{
   const std::vector<SpecConstant> &constants = options.spec_constants;
   return std::any_of(constants.begin(), constants.end(), [&](const SpecConstant &constant) {
      return constant.id != uint32_t(&constant - constants.data());
   });
}

static const Misjudged misjudged[] = {
   // The workgroup's size is compared with the device's default subgroup size, even if the pipeline
   // requires another size (KhronosGroup/Vulkan-ValidationLayers, issue 9843). Rule
   // VkPipelineShaderStageCreateInfo-pNext-02757 compares it with the required size.
   {"VUID-VkPipelineShaderStageCreateInfo-module-08987",
    [](const Device &device, const PipelineOptions &options) {
       return options.subgroup_size && device.can_require_subgroup_size() &&
              options.subgroup_size != device.properties11.subgroupSize;
    }},
   // The id of a specialization constant in a matrix type is taken for its index in the list.
   {"VUID-RuntimeSpirv-OpTypeCooperativeMatrixKHR-10163", ids_are_not_places},
   {"VUID-VkPipelineShaderStageCreateInfo-module-10169", ids_are_not_places},
};

/// Only Khronos' validation layers give a rule's name to a message of the type validation; the
/// loader and Weft's layer use the general type.
static bool is_validation_error(const Device &device,
                                VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                VkDebugUtilsMessageTypeFlagsEXT types,
                                const VkDebugUtilsMessengerCallbackDataEXT &data)
{
   if (!(severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) ||
       !(types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT) || !data.pMessageIdName ||
       !data.pMessageIdName[0])
      return false;
   return !device.creating ||
          std::none_of(std::begin(misjudged), std::end(misjudged), [&](const Misjudged &m) {
             return strcmp(data.pMessageIdName, m.rule) == 0 &&
                    m.pipeline(device, *device.creating);
          });
}

VKAPI_ATTR VkBool32 VKAPI_CALL Device::take_message(
   VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT types,
   const VkDebugUtilsMessengerCallbackDataEXT *data, void *device_pointer)
{
   Device &device = *static_cast<Device *>(device_pointer);
   if (!data->pMessage)
      return VK_FALSE;
   device.messages += std::string(data->pMessage) + "\n";
   if (on_validation_error && is_validation_error(device, severity, types, *data))
      on_validation_error(data->pMessage);
   return VK_FALSE;
}

} // namespace weft::vulkan
