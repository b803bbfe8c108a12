// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layer's decisions about a driver: the supporter of each extension, and the matrices that are
/// advertised and lowered. The facts behind them are the base class.

#pragma once

#include "backend/spirv/compiler.h"
#include "layer/plan/driver_facts.h"
#include "layer/plan/extensions.h"
#include "layer/plan/plan_settings.h"

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace weft::layer {

struct MatrixPlan : DriverFacts {
   std::array<Support, extension_count> support = {};
   std::array<std::string, extension_count> absent_because; ///< the reason, per absent extension
   std::string reason;                                      ///< the reason if nothing can be
                                                            ///< lowered
   bool hides_float8 = false;                               ///< from this program
   bool native_hidden = false;                              ///< although the driver has matrices

   /// The size of pipelines that require none; reported as subgroupSize.
   uint32_t subgroup_size = 0;
   /// Pipelines cannot require a size, and several sizes exist: lowered shaders rely on none.
   bool subgroups_are_blocks = false;
   /// The sizes that pipelines may require.
   SubgroupSizes presented_sizes = {};
   /// Whether the range of sizes is smaller than the driver's, so that no stage may vary beyond it.
   bool narrows_subgroup_sizes() const
   {
      return lowers_any() && (presented_sizes.min != subgroups.min_size ||
                              presented_sizes.max != subgroups.max_size);
   }
   /// If a profile has other sizes than the driver, each stage must require one. A stage that
   /// cannot require a size has no subgroup operations then, and workgroups are limited to the size
   /// that the driver runs.
   bool changes_subgroup_size() const
   {
      return narrows_subgroup_sizes() || (lowers_any() && subgroup_size != subgroups.size);
   }
   /// Drivers without a limit report UINT32_MAX as maxComputeWorkgroupSubgroups.
   uint32_t max_invocations_of_size() const
   {
      return uint32_t(
         std::min<uint64_t>(uint64_t(subgroup_size) * subgroups.max_per_workgroup, UINT32_MAX));
   }
   std::vector<MatrixOperation> operations; ///< for all shaders
   /// Also offered to a shader that cannot be given to the driver because it declares an extension
   /// that only the layer has.
   std::vector<MatrixOperation> operations_of_native_types;
   std::vector<FlexibleOperation> flexible_of_native_types;
   /// The layer's operations of flexible sizes. If the driver supports flexible sizes itself, they
   /// are for shaders that cannot be given to it for other reasons.
   std::vector<FlexibleOperation> flexible;
   /// The shared memory that shaders leave free for matrices of workgroup scope.
   uint32_t staging_bytes = 0;
   /// The driver's own matrices, if they are not hidden: as the driver reports them, and the
   /// operations from which others can be built.
   std::vector<VkCooperativeMatrixPropertiesKHR> native_properties;
   std::vector<MatrixOperation> native_operations;

   Support support_of(Extension extension) const { return support[size_t(extension)]; }
   /// Whether the driver gets an extension that the application enables.
   bool driver_has(Extension extension) const
   {
      return support_of(extension) == Support::native || support_of(extension) == Support::extended;
   }
   /// Whether the layer handles shaders of an extension.
   bool lowers(Extension extension) const
   {
      return support_of(extension) == Support::lowered ||
             support_of(extension) == Support::extended;
   }
   bool lowers_any() const; ///< handles shaders of any extension
   const std::string &why_absent(Extension extension) const
   {
      return absent_because[size_t(extension)];
   }
   /// Whether the driver's own matrices can be used beside the layer's.
   bool extends_native() const
   {
      return support_of(Extension::khr_cooperative_matrix) == Support::extended;
   }
};

/// Depends only on its arguments, so that a device can be planned for on any machine.
MatrixPlan plan_matrices(const DriverFacts &, const PlanSettings &);

} // namespace weft::layer
