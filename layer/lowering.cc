// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/lowering.h"

#include "layer/instance.h"
#include "vulkan_util/spec_constants.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace weft::layer {

namespace {

/// If the driver has matrices of flexible dimensions, they are left to it.
spirv::MatrixOwner owner_of(const Device &device, const ShaderRequest &request,
                            const ShaderSource &source)
{
   const PhysicalDevice &physical = *device.physical;
   MatrixSupport support = {physical.operations};
   if (!physical.driver_has(Extension::nv_cooperative_matrix2))
      support.flexible = physical.flexible;
   return spirv::matrix_owner(shader_cache(), source, request.subgroup_size, support,
                              {physical.native_operations, physical.operations_of_native_types});
}

/// VUID-VkPipelineShaderStageCreateInfo-pNext-02756 and -02758: conditions for the workgroup's
/// size. Returns the reason if they cannot be met.
std::string demand_subgroups(const Device &device, const spirv::CompiledModule &module,
                             uint32_t subgroup_size, LoweredShader &out)
{
   const PhysicalDevice &physical = *device.physical;
   const auto [x, y, z] = module.local_size;
   const uint64_t invocations = uint64_t(x) * y * z;
   // A driver with one size needs no required size, and would limit workgroups with it.
   out.require_size = device.can_require_size && !physical.has_one_size();
   out.require_full_subgroups =
      module.needs_full_subgroups && device.full_subgroups && x && x % subgroup_size == 0;
   if (out.require_size &&
       invocations > uint64_t(subgroup_size) * physical.subgroups.max_per_workgroup)
      return "the driver runs no workgroups of " + std::to_string(invocations) +
             " invocations in subgroups of " + std::to_string(subgroup_size);
   return {};
}

/// A pipeline may require more or less robustness than the features of its device.
void apply(const VkPipelineRobustnessCreateInfo &robustness, spirv::CompileOptions &options)
{
   const auto has_exact_bounds = [&](VkPipelineRobustnessBufferBehavior behavior) {
      return behavior == VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DEVICE_DEFAULT
                ? options.driver.robust_buffer_access_2
                : behavior == VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_2;
   };
   options.driver.robust_buffer_access_2 =
      has_exact_bounds(robustness.storageBuffers) || has_exact_bounds(robustness.uniformBuffers);
   options.robust_access &=
      robustness.storageBuffers != VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED;
}

/// Lowers a shader, or returns the reason against it. If it would have to compile and may not, it
/// returns an empty reason, and the form stays `original`. `native`: the driver could take the
/// shader.
std::string compile(const Device &device, const ShaderRequest &request, const ShaderSource &source,
                    bool native, LoweredShader &out)
{
   const Settings &settings = device.instance->settings;
   const auto start = std::chrono::steady_clock::now();
   spirv::CompileOptions options = {
      .driver = device.driver,
      .subgroup_size = request.subgroup_size,
      .operations = device.physical->operations,
      .flexible = device.physical->flexible,
      .native_operations = device.physical->native_operations,
      .robust_access = device.robust_access,
      .staging_bytes = device.physical->staging_bytes,
      .subgroups_are_blocks = device.physical->subgroups_are_blocks,
      .max_shared_bytes = device.physical->max_shared_bytes,
      .dump = {},
   };
   if (!native) {
      std::ranges::copy(device.physical->operations_of_native_types,
                        std::back_inserter(options.operations));
      std::ranges::copy(device.physical->flexible_of_native_types,
                        std::back_inserter(options.flexible));
   }
   if (request.robustness)
      apply(*request.robustness, options);
   if (request.capture || settings.dump_nir || settings.dump_spirv) {
      options.dump = [&](const char *phase, const std::string &text) {
         const bool nir = std::string_view(phase) == "nir",
                    spirv = std::string_view(phase) == "spirv";
         if ((nir && settings.dump_nir) || (spirv && settings.dump_spirv))
            fprintf(stderr, "weft: shader '%s' as %s\n%s\n", request.entry_point, phase,
                    text.c_str());
         if (request.capture && nir)
            out.representations.push_back({"Weft NIR", "after the layer's last pass", text});
         if (request.capture && spirv)
            out.representations.push_back({"Weft SPIR-V", "as the driver gets it", text});
      };
   }
   auto result = spirv::compile_cached(shader_cache(), source, options, request.may_compile);
   out.duration = std::chrono::steady_clock::now() - start;
   if (!result)
      return result.error().message;
   if (!*result)
      return {};
   out.form = Form::lowered;
   const std::string refusal = demand_subgroups(device, **result, request.subgroup_size, out);
   out.words = std::move((*result)->words);
   out.private_bytes = (*result)->private_bytes;
   return refusal;
}

} // namespace

VkResult lower_shader(const Device &device, const ShaderRequest &request, LoweredShader &out)
{
   const bool native = device.physical->extends_native() &&
                       !spirv::declares_any(request.words, device.unknown_to_driver.capabilities,
                                            device.unknown_to_driver.extensions);
   const bool compute = request.stage == VK_SHADER_STAGE_COMPUTE_BIT;
   out = {};
   if (!compute && native)
      return VK_SUCCESS;
   auto plain =
      spirv::without_matrices(request.words, request.stage, request.entry_point, device.matrices);
   if (plain && *plain) {
      if (!native) {
         out.form = Form::without_matrices;
         out.words = std::move(**plain);
      }
      return VK_SUCCESS;
   }
   const std::string shader = "shader '" + std::string(request.entry_point) + "': ";
   if (!compute) {
      report_error(device,
                   shader + (plain ? "cooperative matrices can be used in compute shaders only"
                                   : plain.error().message));
      return VK_ERROR_UNKNOWN;
   }

   const ShaderSource source = {request.words, request.entry_point,
                                read_spec_constants(request.specialization)};
   using enum spirv::MatrixOwner;
   const spirv::MatrixOwner owner = native ? owner_of(device, request, source) : layer_only;
   const bool is_drivers = owner == driver || owner == unknown;
   if (is_drivers && device.instance->settings.lowering != Lowering::tiles)
      return VK_SUCCESS;
   const std::string refusal = compile(device, request, source, owner != layer_only, out);
   if (refusal.empty())
      return out.form == Form::lowered ? VK_SUCCESS : VK_PIPELINE_COMPILE_REQUIRED;
   if (is_drivers || (native && device.native_extensions)) {
      report(device, VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT,
             shader + "left to the driver's own matrices: " + refusal);
      out = {};
      return VK_SUCCESS;
   }
   // VK_ERROR_INVALID_SHADER_NV belongs to VK_NV_glsl_shader. For other invalid input without a
   // code of its own, the specification has VK_ERROR_UNKNOWN.
   report_error(device, shader + refusal);
   return VK_ERROR_UNKNOWN;
}

void report_drivers_failure(const Device &device, const char *entry_point,
                            const LoweredShader &shader, VkResult result)
{
   if (shader.form == Form::lowered)
      report_error(device, "shader '" + std::string(entry_point) +
                              "': the driver does not create the lowered shader (VkResult " +
                              std::to_string(result) + "); an invocation has " +
                              std::to_string(shader.private_bytes) + " bytes of private variables");
}

} // namespace weft::layer
