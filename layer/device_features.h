// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The device features that the lowering depends on: one table for queries, for enabling and for
/// the compiler.

#pragma once

#include "layer/plan/feature_set.h"
#include "layer/struct_chain.h"

#include <vulkan/vulkan_core.h>

#include <functional>
#include <span>

namespace weft::layer {

/// The place of a feature's VkBool32.
struct FeatureRow {
   Feature feature;
   VkStructureType single; ///< its extension's struct
   size_t single_offset;
   VkStructureType aggregate; ///< VkPhysicalDeviceVulkan1xFeatures, or the same as single
   size_t aggregate_offset;
   const char *extension; ///< null: Vulkan 1.0
   uint32_t core_since;   ///< the Vulkan version with the feature in its core
   /// Enabled on every device that may have matrices, because lowered shaders use it where the
   /// original does not: for example 64-bit integers for addresses. The application itself enables
   /// the other features, because its shaders have to declare them.
   bool added;
   const char *other_extension = nullptr; ///< the same extension under another name
};

std::span<const FeatureRow> feature_rows();

using HasExtension = std::function<bool(const char *name)>;

/// Queries a driver of this effective version by its vkGetPhysicalDeviceFeatures2.
FeatureSet query_features(uint32_t version, const HasExtension &,
                          const std::function<void(VkPhysicalDeviceFeatures2 *)> &query);

/// The features with `added`.
FeatureSet features_of_lowering();

/// Edits the chain of a VkDeviceCreateInfo: enables the features of both sets, in the application's
/// structs if it has them. Returns all enabled features. `core` are the features of Vulkan 1.0 if
/// the application passes them in pEnabledFeatures; null if the chain has
/// VkPhysicalDeviceFeatures2.
FeatureSet enable_features(const FeatureSet &supported, const FeatureSet &wanted,
                           VkPhysicalDeviceFeatures *core, StructChain &);

} // namespace weft::layer
