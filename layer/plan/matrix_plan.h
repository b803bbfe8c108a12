// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What the layer makes of a driver: which of both supports each extension, and the matrices that
/// are advertised and lowered. The facts that it was made from are its base.

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
   std::string reason;                                      ///< why nothing can be lowered
   bool hides_float8 = false;  ///< from this program, which has no matrices of it then
   bool native_hidden = false; ///< although the driver has matrices

   /// Of pipelines that do not ask for one; reported as subgroupSize.
   uint32_t subgroup_size = 0;
   /// Pipelines cannot be told a size, and there may be several: lowered shaders rely on none.
   bool subgroups_are_blocks = false;
   /// Those that pipelines may require.
   SubgroupSizes presented_sizes = {};
   /// Whether the sizes are fewer than the driver's: no stage may be left to vary beyond them.
   bool narrows_subgroup_sizes() const
   {
      return lowers() && (presented_sizes.min != subgroups.min_size ||
                          presented_sizes.max != subgroups.max_size);
   }
   /// Where a profile has other sizes than the driver, each stage must require one.  Stages that
   /// cannot have no subgroup operations, and workgroups are as large as the driver can run them.
   bool changes_subgroup_size() const
   {
      return narrows_subgroup_sizes() || (lowers() && subgroup_size != subgroups.size);
   }
   /// Drivers without a limit report UINT32_MAX as maxComputeWorkgroupSubgroups.
   uint32_t max_invocations_of_size() const
   {
      return uint32_t(
         std::min<uint64_t>(uint64_t(subgroup_size) * subgroups.max_per_workgroup, UINT32_MAX));
   }
   std::vector<MatrixOperation> operations; ///< all that a shader may use
   /// Also offered to a shader that cannot be given to the driver because it declares an extension
   /// that only the layer has.
   std::vector<MatrixOperation> operations_of_native_types;
   std::vector<FlexibleOperation> flexible_of_native_types;
   /// The layer's operations of flexible sizes.  Where the driver supports such sizes itself, they
   /// are for shaders that cannot be given to it for other reasons.
   std::vector<FlexibleOperation> flexible;
   /// Shared memory that shaders leave free for matrices of workgroup scope.
   uint32_t staging_bytes = 0;
   /// The driver's own, where they are not hidden: as the driver reports them, and those from which
   /// others can be built.
   std::vector<VkCooperativeMatrixPropertiesKHR> native_properties;
   std::vector<MatrixOperation> native_operations;

   Support support_of(Extension extension) const { return support[size_t(extension)]; }
   /// Whether the driver is given an extension where the application has it.
   bool driver_has(Extension extension) const
   {
      return support_of(extension) == Support::native || support_of(extension) == Support::extended;
   }
   /// Whether the layer has anything to do with an extension's shaders.
   bool lowers(Extension extension) const
   {
      return support_of(extension) == Support::lowered ||
             support_of(extension) == Support::extended;
   }
   bool lowers() const; ///< any
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

/// Depends on its arguments alone, so that a device can be planned without owning it.
MatrixPlan plan_matrices(const DriverFacts &, const PlanSettings &);

} // namespace weft::layer
