// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/plan/plan_text.h"

#include "vulkan_util/matrix_properties.h"

#include <algorithm>
#include <cstdio>

namespace weft::layer {

namespace {

std::string text_of(const MatrixOperation &op)
{
   std::string text =
      std::to_string(op.m) + "x" + std::to_string(op.n) + "x" + std::to_string(op.k);
   for (const ComponentType type : {op.a, op.b, op.c, op.result})
      text += std::string(" ") + component_type_name(type);
   return text + (op.saturating ? " saturating" : "");
}

std::string support_text(const MatrixPlan &plan, Extension extension)
{
   switch (plan.support_of(extension)) {
   case Support::native:
      return "native";
   case Support::extended:
      return "native, and the layer adds to it";
   case Support::lowered:
      return "lowered by the layer";
   case Support::absent:
      break;
   }
   const std::string &why = plan.why_absent(extension);
   return "absent: " + (why.empty() ? plan.reason : why);
}

std::string subgroups_text(const MatrixPlan &plan)
{
   const std::string size = std::to_string(plan.subgroup_size);
   if (plan.subgroups_are_blocks)
      return "blocks of " + size + " invocations";
   std::string text = size + " invocations";
   if (plan.can_require_size(plan.features))
      text += "; a pipeline may require " + std::to_string(plan.presented_sizes.min) + " to " +
              std::to_string(plan.presented_sizes.max);
   return text;
}

std::string operations_text(const MatrixPlan &plan)
{
   std::string text = "operations\n";
   const auto append = [&](const MatrixOperation &op, bool native) {
      text += "  " + text_of(op) + (native ? " (the driver's own)" : "") + "\n";
   };
   // The order of vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR.
   for (const VkCooperativeMatrixPropertiesKHR &properties : plan.native_properties) {
      if (const std::optional<MatrixOperation> op = read_operation(properties))
         append(*op, true);
   }
   if (plan.lowers(Extension::khr_cooperative_matrix)) {
      for (const MatrixOperation &op : plan.operations) {
         if (!std::ranges::count(plan.native_operations, op))
            append(op, false);
      }
   }
   return text;
}

std::string flexible_text(const MatrixPlan &plan)
{
   std::string text = "multiples of these, from the layer\n";
   for (const FlexibleOperation &flexible : plan.flexible) {
      text +=
         "  " + text_of(flexible.granularity) + ", up to " + std::to_string(flexible.max_dimension);
      if (flexible.workgroup_invocations)
         text += ", in workgroups of " + std::to_string(flexible.workgroup_invocations);
      text += "\n";
   }
   return text;
}

} // namespace

std::string plan_text(const MatrixPlan &plan)
{
   std::string text = plan.name + "\n";
   for (const ExtensionRow &row : extension_rows()) {
      char line[512];
      snprintf(line, sizeof(line), "%-40s %s\n", row.name,
               support_text(plan, row.extension).c_str());
      text += line;
   }
   if (plan.lowers_any())
      text += "subgroups                                " + subgroups_text(plan) + "\n";
   if (plan.lowers_any() || plan.driver_has(Extension::khr_cooperative_matrix))
      text += operations_text(plan);
   if (plan.lowers(Extension::nv_cooperative_matrix2))
      text += flexible_text(plan);
   return text;
}

} // namespace weft::layer
