// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/lowering.h"

#include "layer/instance.h"

#include <cstdio>

namespace weft::layer {

namespace {

constexpr uint32_t op_execution_mode = 16, mode_local_size = 17;

void read_local_size(std::span<const uint32_t> words, uint32_t (&out)[3])
{
   constexpr size_t header = 5;
   for (size_t at = header; at < words.size();) {
      const uint32_t length = words[at] >> 16, opcode = words[at] & 0xffff;
      if (length == 0 || length > words.size() - at)
         return;
      if (opcode == op_execution_mode && length == 6 && words[at + 2] == mode_local_size) {
         for (uint32_t i = 0; i < 3; i++)
            out[i] = words[at + 3 + i];
         return;
      }
      at += length;
   }
}

std::vector<SpecConstant> read_spec_constants(const VkSpecializationInfo *info)
{
   std::vector<SpecConstant> constants;
   if (!info)
      return constants;
   const auto *data = static_cast<const std::byte *>(info->pData);
   for (uint32_t i = 0; i < info->mapEntryCount; i++) {
      const VkSpecializationMapEntry &entry = info->pMapEntries[i];
      if (entry.offset <= info->dataSize && entry.size <= info->dataSize - entry.offset)
         constants.push_back({entry.constantID, {data + entry.offset, entry.size}});
   }
   return constants;
}

} // namespace

bool is_for_driver(const Device &device, std::span<const uint32_t> words, const char *entry_point,
                   const VkSpecializationInfo *specialization, uint32_t subgroup_size)
{
   const PhysicalDevice &physical = *device.physical;
   if (!physical.extends_native() || device.instance->settings.lowering == Lowering::tiles)
      return false;
   const ShaderSource source = {words, entry_point, read_spec_constants(specialization)};
   return !spirv::needs_lowering(source, subgroup_size, physical.operations,
                                 physical.native_operations);
}

VkResult lower_shader(const Device &device, std::span<const uint32_t> words,
                      const char *entry_point, const VkSpecializationInfo *specialization,
                      uint32_t subgroup_size, bool capture, LoweredShader &out)
{
   const Settings &settings = device.instance->settings;
   const auto start = std::chrono::steady_clock::now();
   const ShaderSource source = {words, entry_point, read_spec_constants(specialization)};
   spirv::CompileOptions options = {
      .driver = device.driver,
      .subgroup_size = subgroup_size,
      .operations = device.physical->operations,
      .native_operations = device.physical->native_operations,
      .robust_access = device.robust_access,
      .dump = {},
   };
   if (capture || settings.dump_nir || settings.dump_spirv) {
      options.dump = [&](const char *phase, const std::string &text) {
         const bool nir = std::string_view(phase) == "nir",
                    spirv = std::string_view(phase) == "spirv";
         if ((nir && settings.dump_nir) || (spirv && settings.dump_spirv))
            fprintf(stderr, "weft: shader '%s' as %s\n%s\n", entry_point, phase, text.c_str());
         if (capture && nir)
            out.representations.push_back({"Weft NIR", "after the layer's last pass", text});
         if (capture && spirv)
            out.representations.push_back({"Weft SPIR-V", "as the driver gets it", text});
      };
   }
   auto result = spirv::compile(source, options);
   out.duration = std::chrono::steady_clock::now() - start;
   if (!result) {
      // VK_ERROR_INVALID_SHADER_NV is for VK_NV_glsl_shader only; input that cannot be used and has
      // no code of its own is VK_ERROR_UNKNOWN.
      report_error(device, "shader '" + std::string(entry_point) + "': " + result.error().message);
      return VK_ERROR_UNKNOWN;
   }
   out.words = std::move(*result);
   read_local_size(out.words, out.local_size);
   return VK_SUCCESS;
}

VkResult demand_subgroups(const Device &device, const LoweredShader &shader, uint32_t subgroup_size,
                          SubgroupDemand &out)
{
   const PhysicalDevice &physical = *device.physical;
   const auto [x, y, z] = shader.local_size;
   out = {};
   // A driver with one size needs not be told, and limits workgroups if it is.
   if (device.can_require_size &&
       physical.sizes.minSubgroupSize != physical.sizes.maxSubgroupSize) {
      if (uint64_t(x) * y * z > uint64_t(subgroup_size) * physical.max_workgroup_subgroups) {
         report_error(device, "the driver runs no workgroups of " + std::to_string(x * y * z) +
                                 " invocations in subgroups of " + std::to_string(subgroup_size));
         return VK_ERROR_UNKNOWN;
      }
      out.require_size = true;
   }
   out.require_full = device.full_subgroups && x && x % subgroup_size == 0;
   return VK_SUCCESS;
}

} // namespace weft::layer
