// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/front_end/spirv_to_nir.h"

#include "nir_passes/compiler_options.h"
#include "nir_passes/front_end/compact_ids.h"
#include "nir_passes/front_end/spirv_limits.h"
#include "nir_passes/front_end/spirv_words.h"
#include "nir_passes/front_end/validate_spirv.h"
#include "nir_passes/front_end/vtn_handlers.h"
#include "nir_passes/matrices/cmat_coordinates.h"

extern "C" {
#include "compiler/spirv/spirv_info.h"
}

#include "compiler/spirv/nir_spirv.h"

#include <cstring>
#include <string_view>

namespace weft {

namespace {

/// The capabilities that modules for a Vulkan 1.3 compute device may declare.
spirv_capabilities make_capabilities()
{
   spirv_capabilities c = {};

   c.Matrix = true;
   c.Shader = true;
   /* Every Vulkan 1.3 device accepts these. Unsupported uses of them are refused one by one. */
   c.InputAttachment = true;
   c.Sampled1D = true;
   c.Image1D = true;
   c.SampledBuffer = true;
   c.ImageBuffer = true;
   c.ImageQuery = true;
   c.DerivativeControl = true;
   c.ComputeDerivativeGroupQuadsKHR = true;
   c.ComputeDerivativeGroupLinearKHR = true;
   c.MinLod = true;
   c.SparseResidency = true;
   c.StorageImageReadWithoutFormat = true;
   c.StorageImageWriteWithoutFormat = true;
   c.DemoteToHelperInvocation = true;
   c.MultiView = true;

   c.VulkanMemoryModel = true;
   c.VulkanMemoryModelDeviceScope = true;
   c.VariablePointers = true;
   c.VariablePointersStorageBuffer = true;
   c.PhysicalStorageBufferAddresses = true;
   c.WorkgroupMemoryExplicitLayoutKHR = true;
   c.WorkgroupMemoryExplicitLayout8BitAccessKHR = true;
   c.WorkgroupMemoryExplicitLayout16BitAccessKHR = true;
   c.ExpectAssumeKHR = true;
   c.DeviceGroup = true;

   c.Float16 = true;
   c.Float64 = true;
   c.Int8 = true;
   c.Int16 = true;
   c.Int64 = true;
   c.StorageBuffer8BitAccess = true;
   c.UniformAndStorageBuffer8BitAccess = true;
   c.StoragePushConstant8 = true;
   c.StorageBuffer16BitAccess = true;
   c.UniformAndStorageBuffer16BitAccess = true;
   c.StoragePushConstant16 = true;
   c.Int64Atomics = true;
   c.Int64ImageEXT = true;
   c.AtomicFloat32AddEXT = true;
   c.AtomicFloat64AddEXT = true;
   c.AtomicFloat32MinMaxEXT = true;
   c.AtomicFloat64MinMaxEXT = true;

   c.UniformBufferArrayDynamicIndexing = true;
   c.StorageBufferArrayDynamicIndexing = true;
   c.ImageCubeArray = true;
   c.ImageMSArray = true;
   c.StorageImageMultisample = true;
   c.SampledCubeArray = true;
   c.ImageGatherExtended = true;
   c.StorageImageExtendedFormats = true;
   c.SampledImageArrayDynamicIndexing = true;
   c.StorageImageArrayDynamicIndexing = true;
   c.UniformTexelBufferArrayDynamicIndexing = true;
   c.StorageTexelBufferArrayDynamicIndexing = true;
   c.ShaderNonUniform = true;
   c.RuntimeDescriptorArray = true;
   c.UniformBufferArrayNonUniformIndexing = true;
   c.StorageBufferArrayNonUniformIndexing = true;
   c.SampledImageArrayNonUniformIndexing = true;
   c.StorageImageArrayNonUniformIndexing = true;
   c.UniformTexelBufferArrayNonUniformIndexing = true;
   c.StorageTexelBufferArrayNonUniformIndexing = true;

   c.GroupNonUniform = true;
   c.GroupNonUniformVote = true;
   c.GroupNonUniformArithmetic = true;
   c.GroupNonUniformBallot = true;
   c.GroupNonUniformShuffle = true;
   c.GroupNonUniformShuffleRelative = true;
   c.GroupNonUniformClustered = true;
   c.GroupNonUniformQuad = true;
   c.GroupNonUniformRotateKHR = true;
   c.GroupNonUniformPartitionedNV = true;
   c.QuadControlKHR = true;
   c.ReplicatedCompositesEXT = true;
   c.ShaderClockKHR = true;
   c.SubgroupBallotKHR = true;
   c.SubgroupVoteKHR = true;

   c.DotProduct = true;
   c.DotProductInputAll = true;
   c.DotProductInput4x8Bit = true;
   c.DotProductInput4x8BitPacked = true;

   c.DenormPreserve = true;
   c.SignedZeroInfNanPreserve = true;
   c.RoundingModeRTE = true;
   c.FloatControls2 = true;

   /* Vertex shaders beside a compute shader in the module may need it. */
   c.DrawParameters = true;

   c.CooperativeMatrixKHR = true;
   return c;
}

/// The same, and the capabilities that only a GPU's driver has.
spirv_capabilities make_driver_capabilities()
{
   spirv_capabilities c = make_capabilities();

   /* NIR has no name for the device's index. */
   c.DeviceGroup = false;
   /* nir_to_spirv has no derivatives, and no sparse images. */
   c.ComputeDerivativeGroupQuadsKHR = false;
   c.ComputeDerivativeGroupLinearKHR = false;
   c.MinLod = false;
   c.SparseResidency = false;

   c.AtomicFloat16AddEXT = true;
   c.AtomicFloat16MinMaxEXT = true;
   c.DenormFlushToZero = true;
   c.RoundingModeRTZ = true;

   /* Other entry points of the module may need these, in stages that only the driver has. */
   c.Geometry = true;
   c.GeometryPointSize = true;
   c.GeometryStreams = true;
   c.Tessellation = true;
   c.TessellationPointSize = true;
   c.TransformFeedback = true;
   c.ClipDistance = true;
   c.CullDistance = true;
   c.MultiViewport = true;
   c.ShaderLayer = true;
   c.ShaderViewportIndex = true;
   c.ShaderViewportIndexLayerEXT = true;
   c.SampleRateShading = true;
   c.InterpolationFunction = true;
   c.FragmentBarycentricKHR = true;
   c.FragmentShadingRateKHR = true;
   c.FragmentShaderPixelInterlockEXT = true;
   c.FragmentShaderSampleInterlockEXT = true;
   c.StencilExportEXT = true;
   c.StorageInputOutput16 = true;
   c.MeshShadingEXT = true;
   c.InputAttachmentArrayDynamicIndexing = true;
   c.InputAttachmentArrayNonUniformIndexing = true;
   return c;
}

/// vtn only warns of capabilities that are not allowed.
Result<bool> check_capabilities(std::span<const uint32_t> spirv, const spirv_capabilities &allowed)
{
   /* SPIR-V 2.4: capabilities come first. */
   for (const auto &[opcode, operands] : Instructions(spirv)) {
      if (opcode != SpvOpCapability)
         break;
      const auto capability = SpvCapability(operands[0]);
      if (weft_is_family_capability(capability) || spirv_capabilities_get(&allowed, capability))
         continue;
      constexpr std::string_view prefix = "SpvCapability";
      std::string name = spirv_capability_to_string(capability);
      name = name.starts_with(prefix) ? name.substr(prefix.size()) : std::to_string(capability);
      return Error{"the SPIR-V capability " + name + " is not supported"};
   }
   return true;
}

/// Keeps the first message of each severity: later ones are consequences.
struct Log {
   std::string error;

   static void write(void *data, nir_spirv_debug_level level, size_t, const char *message)
   {
      Log *log = static_cast<Log *>(data);
      if (level == NIR_SPIRV_DEBUG_LEVEL_ERROR && log->error.empty())
         log->error = message;
   }
};

/// vtn's message without its banner and line breaks.
std::string one_line(std::string text)
{
   for (const char *banner : {"SPIR-V parsing FAILED:", "SPIR-V ERROR:"}) {
      if (text.starts_with(banner))
         text.erase(0, strlen(banner));
   }
   std::string line;
   for (char c : text) {
      const bool space = c == '\n' || c == '\t' || c == ' ';
      if (!space)
         line += c;
      else if (!line.empty() && line.back() != ' ')
         line += ' ';
   }
   while (!line.empty() && line.back() == ' ')
      line.pop_back();
   return line;
}

/// With private tiles, matrices without a use stay whole. A driver's tiles have uses, so above a
/// driver, matrices without a use are in registers.
struct FrontEnd : weft_front_end {
   FrontEnd(uint32_t subgroup_size, MatrixForm form)
       : weft_front_end{subgroup_size, length},
         map(form == MatrixForm::private_tiles ? cmat::Map::dense : cmat::Map::registers)
   {
   }

   const cmat::Map map;

private:
   static uint32_t length(const weft_front_end *f, const glsl_cmat_description *desc)
   {
      return cmat::length(static_cast<const FrontEnd *>(f)->map, *desc, f->subgroup_size);
   }
};

std::vector<nir_spirv_specialization> specializations(const ShaderSource &source)
{
   std::vector<nir_spirv_specialization> out;
   for (const SpecConstant &constant : source.spec_constants) {
      nir_spirv_specialization s = {};
      s.id = constant.id;
      if (constant.value.size() <= sizeof(s.value))
         memcpy(&s.value, constant.value.data(), constant.value.size());
      out.push_back(s);
   }
   return out;
}

} // namespace

Result<Shader> spirv_to_nir(const ShaderSource &source, Consumer consumer, uint32_t subgroup_size,
                            MatrixForm form)
{
   if (const Result<bool> limits = check_spirv_limits(source.spirv, source.entry_point); !limits)
      return limits.error();
   Result<bool> valid = validate_spirv(source.spirv);
   if (!valid)
      return valid.error();

   std::span<const uint32_t> words = source.spirv;
   std::vector<uint32_t> compacted;
   if (has_sparse_ids(words)) {
      Result<std::vector<uint32_t>> result = compact_ids(words);
      if (!result)
         return result.error();
      compacted = std::move(*result);
      words = compacted;
   }

   TypeTable types;
   Log log;

   spirv_to_nir_options options = {};
   options.environment = NIR_SPIRV_VULKAN;
   const bool cpu = consumer == Consumer::cpu;
   const spirv_capabilities capabilities = cpu ? make_capabilities() : make_driver_capabilities();
   Result<bool> supported = check_capabilities(source.spirv, capabilities);
   if (!supported)
      return supported.error();
   options.capabilities = &capabilities;
   FrontEnd front_end(subgroup_size, form);
   weft_set_vtn_handlers(&options, &front_end);
   options.subgroup_size = gl_subgroup_size(subgroup_size);
   options.ubo_addr_format = nir_address_format_vec2_index_32bit_offset;
   options.ssbo_addr_format = nir_address_format_vec2_index_32bit_offset;
   options.phys_ssbo_addr_format = nir_address_format_64bit_global;
   options.push_const_addr_format = nir_address_format_32bit_offset;
   options.shared_addr_format = nir_address_format_32bit_offset;
   options.global_addr_format = nir_address_format_64bit_global;
   options.temp_addr_format = nir_address_format_32bit_offset;
   options.constant_addr_format = nir_address_format_64bit_global;
   options.min_ubo_alignment = 16;
   options.min_ssbo_alignment = 16;
   options.debug.func = Log::write;
   options.debug.private_data = &log;
   options.skip_os_break_in_debug_build = true;

   std::vector<nir_spirv_specialization> constants = specializations(source);

   Shader shader(::spirv_to_nir(words.data(), words.size(), constants.data(), constants.size(),
                                MESA_SHADER_COMPUTE, source.entry_point.c_str(), &options,
                                cpu ? &llvm_compiler_options : &spirv_compiler_options));
   if (!shader) {
      return Error{log.error.empty() ? "the SPIR-V front end failed" : one_line(log.error)};
   }
   nir_validate_shader(shader.get(), "spirv_to_nir");
   return shader;
}

} // namespace weft
