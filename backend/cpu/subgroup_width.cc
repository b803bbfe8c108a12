// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/subgroup_width.h"

#include "backend/cpu/codegen/facts/vector_registers.h"
#include "backend/cpu/cpu_features.h"
#include "nir_passes/front_end/spirv_words.h"

#include "compiler/spirv/spirv.h"

#include <algorithm>

namespace weft::cpu {

namespace {

/// Larger modules keep the default size: they would be lowered twice if they need many registers,
/// and twice the lanes are up to twice the code.
constexpr size_t most_words = 4096;
constexpr uint32_t most_instructions = 512;

constexpr unsigned register_bits = 512, registers = 32;
/// A barrier spills all registers in any case, and wide subgroups have half of the barriers.
constexpr unsigned registers_with_barriers = 40;

/// Capabilities of instructions and built-ins that do not depend on subgroups. A missing one
/// costs only speed.
constexpr SpvCapability without_subgroups[] = {
   SpvCapabilityMatrix,
   SpvCapabilityShader,
   SpvCapabilityFloat16,
   SpvCapabilityFloat64,
   SpvCapabilityInt64,
   SpvCapabilityInt64Atomics,
   SpvCapabilityInt16,
   SpvCapabilityInt8,
   SpvCapabilityStorageBuffer16BitAccess,
   SpvCapabilityUniformAndStorageBuffer16BitAccess,
   SpvCapabilityStoragePushConstant16,
   SpvCapabilityStorageBuffer8BitAccess,
   SpvCapabilityUniformAndStorageBuffer8BitAccess,
   SpvCapabilityStoragePushConstant8,
   SpvCapabilityVariablePointersStorageBuffer,
   SpvCapabilityVariablePointers,
   SpvCapabilityPhysicalStorageBufferAddresses,
   SpvCapabilityVulkanMemoryModel,
   SpvCapabilityVulkanMemoryModelDeviceScope,
   SpvCapabilityDotProduct,
   SpvCapabilityDotProductInputAll,
   SpvCapabilityDotProductInput4x8Bit,
   SpvCapabilityDotProductInput4x8BitPacked,
   SpvCapabilityAtomicFloat32AddEXT,
   SpvCapabilityAtomicFloat64AddEXT,
   SpvCapabilityDenormPreserve,
   SpvCapabilitySignedZeroInfNanPreserve,
   SpvCapabilityRoundingModeRTE,
   SpvCapabilityFloatControls2,
   SpvCapabilityWorkgroupMemoryExplicitLayoutKHR,
};

bool sees_subgroups(std::span<const uint32_t> spirv)
{
   for (const auto &[opcode, operands] : Instructions(spirv)) {
      // SPIR-V 2.4: capabilities come first.
      if (opcode != SpvOpCapability)
         return false;
      if (operands.empty() || std::ranges::find(without_subgroups, SpvCapability(operands[0])) ==
                                 std::end(without_subgroups))
         return true;
   }
   return false;
}

/// Each instruction for a sampled image becomes more than most_instructions.
bool reads_sampled_images(std::span<const uint32_t> spirv)
{
   for (const auto &[opcode, operands] : Instructions(spirv)) {
      if ((opcode >= SpvOpImageSampleImplicitLod && opcode <= SpvOpImageDrefGather) ||
          (opcode >= SpvOpImageSparseSampleImplicitLod && opcode <= SpvOpImageSparseDrefGather))
         return true;
   }
   return false;
}

} // namespace

bool may_prefer_wide_subgroups(const ShaderSource &source, const CpuFeatures &cpu)
{
   return cpu.target.vector_bits == register_bits && source.spirv.size() <= most_words &&
          !sees_subgroups(source.spirv) && !reads_sampled_images(source.spirv);
}

bool prefers_wide_subgroups(LoweredShader &shader)
{
   nir_shader *nir = shader.nir.get();
   const uint16_t *size = nir->info.workgroup_size;
   if (uint32_t(size[0]) * size[1] * size[2] % wide_subgroup_size)
      return false;
   // A default subgroup would be a part of one row of invocations, which usually access one run of
   // memory. A wide one would be parts of two rows.
   if (size[0] % default_subgroup_size == 0 && size[0] % wide_subgroup_size != 0)
      return false;
   uint32_t instructions = 0;
   nir_foreach_block(block, nir_shader_get_entrypoint(nir))
      instructions += exec_list_length(&block->instr_list);
   if (instructions > most_instructions)
      return false;
   nir_divergence_analysis(nir);
   const LaneAnalysis patterns(nir, wide_subgroup_size);
   const unsigned available =
      program_info(nir, wide_subgroup_size).uses_barrier ? registers_with_barriers : registers;
   return most_live_bits(nir, patterns) * wide_subgroup_size <= available * register_bits;
}

} // namespace weft::cpu
