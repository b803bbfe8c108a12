// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/spirv/compiler.h"
#include "layer/registry.h"

#include "vk_dispatch_table.h"
#include <vulkan/vk_layer.h>

#include <string>
#include <vector>

namespace weft::layer {

struct Instance;
struct PhysicalDevice;

/// A module with matrices; the driver has a placeholder by the same handle.
struct MatrixModule {
   std::vector<uint32_t> words;
};

/// The texts of a lowered pipeline that the application asked to capture.
struct Representation {
   std::string name, description, text;
};
struct CapturedPipeline {
   std::vector<Representation> representations;
};

struct Device {
   VkDevice handle = VK_NULL_HANDLE;
   const Instance *instance = nullptr;
   const PhysicalDevice *physical = nullptr;
   PFN_vkGetDeviceProcAddr next_get_proc_addr = nullptr;

   vk_device_dispatch_table next = {};

   /// Whether the application has enabled the layer's matrices.  If not, nothing below is used, and
   /// vkGetDeviceProcAddr leads the application's calls past the layer.
   bool lowers = false;
   spirv::Driver driver;
   bool robust_access = false;         ///< of matrices to storage buffers
   bool can_require_size = false;      ///< of subgroups
   bool full_subgroups = false;        ///< pipelines may require them
   bool changes_subgroup_size = false; ///< a profile has another default than the driver

   Registry<VkShaderModule, MatrixModule> modules;
   Registry<VkPipeline, CapturedPipeline> captured;
   std::atomic<uint32_t> placeholders = 0;
};

/// Of a device, queue or command buffer.
Device *find_device(const void *dispatchable);

void report_error(const Device &, const std::string &message);

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice, const VkDeviceCreateInfo *,
                                             const VkAllocationCallbacks *, VkDevice *);
VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice, const VkAllocationCallbacks *);

} // namespace weft::layer
