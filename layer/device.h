// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/spirv/compiler.h"
#include "layer/registry.h"
#include "layer/stage_plan.h"
#include "vulkan_util/text.h"

#include "vk_dispatch_table.h"
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_beta.h>

#include <string>
#include <vector>

namespace weft::layer {

struct Instance;
struct PhysicalDevice;

/// A module with matrices; the driver has a placeholder by the same handle.
struct MatrixModule {
   std::vector<uint32_t> words;
};

/// A lowered pipeline whose texts the application asked to capture.
struct CapturedPipeline {
   std::vector<Representation> representations;
};

struct Device {
   VkDevice handle = VK_NULL_HANDLE;
   const Instance *instance = nullptr;
   const PhysicalDevice *physical = nullptr;
   PFN_vkGetDeviceProcAddr next_get_proc_addr = nullptr;

   vk_device_dispatch_table next = {};
   PFN_vkCreateExecutionGraphPipelinesAMDX next_create_execution_graph_pipelines = nullptr;

   /// Whether shaders may have to be edited: the application has enabled the layer's matrices, or
   /// relies on a subgroup size that is not the driver's.  If not, nothing below is used, and
   /// vkGetDeviceProcAddr leads the application's calls past the layer.
   bool edits_shaders = false;
   /// What a module declares that has matrices of the layer's: nothing, unless the application has
   /// enabled them.
   spirv::Declarations matrices;
   /// Capabilities that only the layer understands.  A capability may belong to two extensions, one
   /// of which the driver has.
   spirv::Declarations unknown_to_driver;
   /// The application has enabled extensions of the driver's own on top of them, with which more
   /// shapes and types may be the driver's than it lists.
   bool native_extensions = false;
   spirv::Driver driver;
   bool robust_access = false;    ///< of matrices to storage buffers
   bool can_require_size = false; ///< of subgroups
   bool full_subgroups = false;   ///< pipelines may require them
   SizeRules size_rules;

   Registry<VkShaderModule, MatrixModule> modules;
   Registry<VkPipeline, CapturedPipeline> captured;
   std::atomic<uint32_t> placeholders = 0;
};

/// Of a device, queue or command buffer.
Device *find_device(const void *dispatchable);

/// Tells the application's messengers about the device.
void report(const Device &, VkDebugUtilsMessageSeverityFlagBitsEXT, const std::string &message);
void report_error(const Device &, const std::string &message);

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice, const VkDeviceCreateInfo *,
                                             const VkAllocationCallbacks *, VkDevice *);
VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice, const VkAllocationCallbacks *);

} // namespace weft::layer
