// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The device features that bear on lowering: one table for asking, enabling and passing on.

#pragma once

#include "layer/plan/features.h"
#include "layer/struct_chain.h"

#include <vulkan/vulkan_core.h>

#include <functional>
#include <span>

namespace weft::layer {

/// Where a feature's VkBool32 is.
struct FeatureRow {
   Feature feature;
   VkStructureType single; ///< its extension's struct
   size_t single_offset;
   VkStructureType aggregate; ///< VkPhysicalDeviceVulkan1xFeatures, or the same as single
   size_t aggregate_offset;
   const char *extension; ///< null: Vulkan 1.0
   uint32_t core_since;   ///< the Vulkan version that needs no extension for it
   /// Enabled on every device that may have matrices: lowered shaders use it where the original
   /// does not, such as 64-bit integers for the addresses of buffers.  The others are the
   /// application's own choice, as its shaders have to declare them.
   bool added;
   const char *other_extension = nullptr; ///< the same extension under another name
};

std::span<const FeatureRow> feature_rows();

using HasExtension = std::function<bool(const char *name)>;

/// Asks a driver, of this effective version, through its vkGetPhysicalDeviceFeatures2.
FeatureSet query_features(uint32_t version, const HasExtension &,
                          const std::function<void(VkPhysicalDeviceFeatures2 *)> &query);

/// The `added` ones.
FeatureSet features_of_lowering();

/// Edits the chain of a VkDeviceCreateInfo: enables what is supported and wanted, by the structs
/// that the application has there if it has some.  Returns what is enabled in the end.
/// `core` are the features of Vulkan 1.0 where the application gave them apart (pEnabledFeatures);
/// null where the chain has VkPhysicalDeviceFeatures2.
FeatureSet enable_features(const FeatureSet &supported, const FeatureSet &wanted,
                           VkPhysicalDeviceFeatures *core, StructChain &);

} // namespace weft::layer
