// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/plan/matrix_plan.h"

#include "vulkan_util/matrix_properties.h"

#include <algorithm>
#include <iterator>

namespace weft::layer {

namespace {

/// The smallest and largest subgroups that the compiler lowers for.
constexpr uint32_t min_subgroup_size = 4, max_subgroup_size = 128;

/// The least value that Vulkan allows: maxComputeWorkgroupInvocations of the table "Required
/// Limits".
uint32_t least_max_invocations(const MatrixPlan &device)
{
   return device.version >= VK_API_VERSION_1_4 ? 256 : 128;
}

/// The subgroup size of pipelines that require none, or 0 with a reason.
uint32_t choose_subgroup_size(const PlanSettings &settings, MatrixPlan &device)
{
   const Subgroups &reported = device.subgroups;
   const bool can_require = device.can_require_size(device.features);
   device.subgroups_are_blocks = !device.has_one_size() && !can_require;
   uint32_t size = reported.size;
   device.presented_sizes = {reported.min_size, reported.max_size};
   if (settings.profile && can_require) {
      const uint32_t wanted = settings.profile->subgroup_size;
      if (wanted >= reported.min_size && wanted <= reported.max_size &&
          uint64_t(wanted) * reported.max_per_workgroup >= least_max_invocations(device)) {
         size = wanted;
         device.presented_sizes = presented_sizes(device.presented_sizes, settings.identity, size);
      }
   }
   if (size < min_subgroup_size || size > max_subgroup_size) {
      device.reason = "subgroups of " + std::to_string(size) + " invocations";
      return 0;
   }
   return size;
}

/// Copies the driver's matrices, which are not hidden.
void take_native_matrices(MatrixPlan &plan)
{
   plan.native_properties = plan.listed_matrices;
   for (const VkCooperativeMatrixPropertiesKHR &p : plan.native_properties) {
      const std::optional<MatrixOperation> operation = read_operation(p);
      if (operation && spirv::may_be_native(*operation))
         plan.native_operations.push_back(*operation);
   }
}

/// The workgroups whose matrices the layer may have to lower: if the driver supports matrices of
/// workgroup scope, the sizes that it reports.
std::vector<uint32_t> find_matrix_workgroups(const MatrixPlan &plan)
{
   std::vector<uint32_t> sizes(matrix_workgroups.begin(), matrix_workgroups.end());
   if (plan.driver_has(Extension::nv_cooperative_matrix2) && plan.listed_workgroups)
      sizes = *plan.listed_workgroups;
   const uint32_t max_invocations = plan.max_invocations_of_size();
   std::erase_if(sizes, [&](uint32_t invocations) {
      return invocations > plan.max_workgroup_invocations ||
             (max_invocations && invocations > max_invocations);
   });
   return sizes;
}

bool is_float8(ComponentType type)
{
   return type == ComponentType::e4m3 || type == ComponentType::e5m2;
}

bool contains(std::span<const MatrixOperation> operations, const MatrixOperation &operation)
{
   return std::ranges::find(operations, operation) != operations.end();
}

/// The operations that compile at every subgroup size that a pipeline may require.
std::vector<MatrixOperation> list_operations(const PlanSettings &settings, const MatrixPlan &device)
{
   const spirv::Driver driver = device.driver(device.features);
   std::vector<MatrixOperation> operations =
      spirv::supported_operations(driver, device.subgroup_size);
   const auto keep = [&](std::span<const MatrixOperation> others) {
      std::erase_if(operations,
                    [&](const MatrixOperation &operation) { return !contains(others, operation); });
   };
   if (device.can_require_size(device.features)) {
      const auto [first, last] = device.presented_sizes;
      for (uint32_t size = std::max(first, min_subgroup_size);
           size <= std::min(last, max_subgroup_size); size *= 2)
         keep(spirv::supported_operations(driver, size));
   }
   if (device.hides_float8)
      std::erase_if(operations, [](const MatrixOperation &operation) {
         return is_float8(operation.a) || is_float8(operation.c);
      });
   return advertised_operations(std::move(operations), settings.profile, device.subgroup_size);
}

/// Chooses the subgroup size and lists the operations. Returns the reason if nothing can be lowered
/// for the device, else an empty text.
std::string plan_operations(const PlanSettings &settings, MatrixPlan &device)
{
   if (!settings.refused.empty())
      return settings.refused;
   if (device.version < VK_API_VERSION_1_1)
      return "the application or the driver is below Vulkan 1.1";
   if (!device.has_compute_queue)
      return "no compute queue";
   if (!(device.subgroups.stages & VK_SHADER_STAGE_COMPUTE_BIT))
      return "no subgroup operations in compute shaders";
   if (!device.features.has(Feature::vulkan_memory_model))
      return "no vulkanMemoryModel";
   device.subgroup_size = choose_subgroup_size(settings, device);
   if (!device.subgroup_size)
      return device.reason;
   device.operations = list_operations(settings, device);
   return {};
}

/// The reason why programs would lose by an extension, so that a setting leaves it out; null: they
/// gain. Programs that find matrices use them instead of their plain shaders.
const char *why_slow(Extension extension, const MatrixPlan &device)
{
   // A lowered product is the arithmetic of a plain shader, with more loads. Drivers for CPUs that
   // have matrices themselves keep them.
   if (device.device_type == VK_PHYSICAL_DEVICE_TYPE_CPU)
      return "on a CPU, programs are faster without lowered matrices (WEFT_LOWERING=gain)";
   // Only NVIDIA's driver had the extension. Shaders like ncnn's divide their invocations by 32
   // instead of gl_SubgroupSize: in smaller subgroups several compute the same matrix, in larger
   // ones several matrices share a subgroup.
   if (extension == Extension::nv_cooperative_matrix && device.subgroup_size != 32)
      return "programs for it rely on subgroups of 32 invocations (WEFT_LOWERING=gain)";
   return nullptr;
}

/// The reason why the layer does not support an extension; empty if it does.
std::string reason_against(const ExtensionRow &row, const PlanSettings &settings,
                           const MatrixPlan &device)
{
   if (!device.reason.empty())
      return device.reason;
   if (settings.identity && !settings.identity->lists(row.name))
      return std::string("the device is presented as ") + settings.identity->device_name +
             ", whose driver lacks the extension";
   if (const char *obstacle = row.why_not_lowered(device))
      return obstacle;
   const char *loss = settings.hides_slow_matrices() ? why_slow(row.extension, device) : nullptr;
   return loss ? loss : "";
}

/// Decides which of driver and layer support an extension, after its base.
void decide(const ExtensionRow &row, const PlanSettings &settings, bool has_native,
            MatrixPlan &device)
{
   const bool native = has_native && !device.native_hidden &&
                       (row.base == Extension::none || device.driver_has(row.base));
   std::string obstacle = reason_against(row, settings, device);
   const bool lowers = obstacle.empty();
   Support &support = device.support[size_t(row.extension)];
   if (native)
      support =
         lowers && row.adds_to_native(settings, device) ? Support::extended : Support::native;
   else
      support = lowers ? Support::lowered : Support::absent;
   if (support == Support::absent)
      device.absent_because[size_t(row.extension)] = std::move(obstacle);
}

/// Leaves matrices of the driver's own types to it, if it can have the shader.
void leave_native_types(MatrixPlan &plan, Extension extension,
                        std::initializer_list<ComponentType> types)
{
   if (plan.support_of(extension) != Support::native)
      return;
   const auto is_native = [&](const MatrixOperation &operation) {
      return std::ranges::any_of(types, [&](ComponentType type) {
         return operation.a == type || operation.b == type || operation.c == type;
      });
   };
   std::ranges::copy_if(plan.operations, std::back_inserter(plan.operations_of_native_types),
                        is_native);
   std::erase_if(plan.operations, is_native);
}

void plan_flexible(MatrixPlan &plan)
{
   const std::vector<uint32_t> workgroups = find_matrix_workgroups(plan);
   const auto flexible_of = [&](const std::vector<MatrixOperation> &operations) {
      return with_workgroup_scope(flexible_operations(operations, spirv::max_matrix_dimension),
                                  workgroups);
   };
   plan.flexible = flexible_of(plan.operations);
   plan.flexible_of_native_types = flexible_of(plan.operations_of_native_types);
   // A quarter of shared memory: of 32 KiB, enough for a matrix of 64×64 components of 16 bits. If
   // the driver has matrices of workgroup scope, programs leave memory only for its own.
   if (plan.lowers(Extension::nv_cooperative_matrix2))
      plan.staging_bytes = plan.max_shared_bytes / 4;
}

} // namespace

bool MatrixPlan::lowers_any() const
{
   return std::ranges::any_of(extension_rows(),
                              [&](const ExtensionRow &row) { return lowers(row.extension); });
}

MatrixPlan plan_matrices(const DriverFacts &facts, const PlanSettings &settings)
{
   MatrixPlan plan = {facts};
   if (!plan.has_queries) {
      plan.reason = "neither Vulkan 1.1 nor VK_KHR_get_physical_device_properties2 is on";
      return plan;
   }
   const ExtensionSet &native = facts.native_extensions;
   plan.hides_float8 = settings.hides_float8 && !native.has(Extension::ext_shader_float8);
   plan.native_hidden = !native.empty() && settings.hides_native();
   if (!plan.native_hidden)
      take_native_matrices(plan);
   plan.reason = plan_operations(settings, plan);
   for (const ExtensionRow &row : extension_rows())
      decide(row, settings, native.has(row.extension), plan);
   leave_native_types(plan, Extension::khr_shader_bfloat16, {ComponentType::bf16});
   leave_native_types(plan, Extension::ext_shader_float8,
                      {ComponentType::e4m3, ComponentType::e5m2});
   plan_flexible(plan);
   if (plan.driver_has(Extension::khr_cooperative_matrix)) {
      // A shader may use both, and also operations that only the layer has.
      std::ranges::copy_if(
         plan.native_operations, std::back_inserter(plan.operations),
         [&](const auto &operation) { return !contains(plan.operations, operation); });
   }
   return plan;
}

} // namespace weft::layer
