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

/// A module with matrices. The driver has another module with the same handle.
struct MatrixModule {
   std::vector<uint32_t> words;
};

/// A lowered pipeline with captured texts.
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
   /// relies on a subgroup size that is not the driver's. If not, all members below are unused, and
   /// vkGetDeviceProcAddr returns the driver's own functions.
   bool edits_shaders = false;
   /// The declarations of modules with the layer's matrices; none unless the application has
   /// enabled matrices.
   spirv::Declarations matrices;
   /// Capabilities that only the layer understands.  A capability may belong to two extensions, one
   /// of which the driver has.
   spirv::Declarations unknown_to_driver;
   /// The application has enabled the driver's own extensions on top of matrices. The driver may
   /// then have more shapes and types than it lists.
   bool native_extensions = false;
   spirv::Driver driver;
   bool robust_access = false;    ///< of matrices in storage buffers
   bool can_require_size = false; ///< of subgroups
   bool full_subgroups = false;   ///< pipelines may require them
   SizeRules size_rules;

   Registry<VkShaderModule, MatrixModule> modules;
   Registry<VkPipeline, CapturedPipeline> captured;
   /// The changes to the descriptions of lowered shaders that may have binaries, of these binaries,
   /// and of pipelines whose data is captured for binaries.
   Registry<VkShaderEXT, StagePlan> lowered_shaders;
   Registry<VkPipelineBinaryKHR, StagePlan> lowered_binaries;
   Registry<VkPipeline, StagePlan> lowered_pipelines;
   std::atomic<uint32_t> placeholders = 0;
};

/// The device of a device, queue or command buffer.
Device *find_device(const void *dispatchable);

/// Sends a message about the device to the application's messengers.
void report(const Device &, VkDebugUtilsMessageSeverityFlagBitsEXT, const std::string &message);
void report_error(const Device &, const std::string &message);

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice, const VkDeviceCreateInfo *,
                                             const VkAllocationCallbacks *, VkDevice *);
VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice, const VkAllocationCallbacks *);

} // namespace weft::layer
