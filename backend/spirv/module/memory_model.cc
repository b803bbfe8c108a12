// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/memory_model.h"

#include "backend/spirv/module/translator.h"

namespace weft::spirv {

void require_small_storage(Translator &t, unsigned bits)
{
   if (bits == 8) {
      t.m.capability(SpvCapabilityStorageBuffer8BitAccess);
      t.extension("SPV_KHR_8bit_storage", 0x00010500);
   } else if (bits == 16) {
      t.m.capability(SpvCapabilityStorageBuffer16BitAccess);
   }
}

Id memory_type(Translator &t, unsigned bits)
{
   /* A type that is only loaded, stored and converted needs only the storage's capability. */
   return t.held_bits(bits) == bits ? t.m.type_uint(bits) : t.m.type(SpvOpTypeInt, {bits, 0});
}

Id to_memory(Translator &t, Id value, unsigned bits)
{
   return t.held_bits(bits) == bits ? value
                                    : t.m.emit(SpvOpUConvert, memory_type(t, bits), {value});
}

Id from_memory(Translator &t, Id value, unsigned bits)
{
   return t.held_bits(bits) == bits
             ? value
             : t.m.emit(SpvOpUConvert, t.m.type_uint(t.held_bits(bits)), {value});
}

SpvScope device_scope(Translator &t)
{
   if (!t.driver.vulkan_memory_model_device_scope)
      return SpvScopeQueueFamily;
   t.m.capability(SpvCapabilityVulkanMemoryModelDeviceScope);
   return SpvScopeDevice;
}

Id scope(Translator &t, SpvScope s)
{
   return t.m.constant_uint(uint32_t(s));
}

Words memory_operands(Translator &t, unsigned access, bool store, SpvStorageClass storage,
                      unsigned alignment)
{
   uint32_t mask = 0;
   Words literals;
   if (alignment) {
      mask |= SpvMemoryAccessAlignedMask;
      literals.push_back(alignment);
   }
   if (access & ACCESS_NON_TEMPORAL)
      mask |= SpvMemoryAccessNontemporalMask;
   if (storage != SpvStorageClassFunction && storage != SpvStorageClassUniform)
      mask |= SpvMemoryAccessNonPrivatePointerMask;
   if (access & ACCESS_VOLATILE)
      mask |= SpvMemoryAccessVolatileMask;
   const bool shared = storage == SpvStorageClassWorkgroup;
   /* Drivers may turn availability into barriers. */
   if (access & ACCESS_COHERENT && (!shared || t.driver.partial_barriers)) {
      mask |=
         store ? SpvMemoryAccessMakePointerAvailableMask : SpvMemoryAccessMakePointerVisibleMask;
      literals.push_back(scope(t, shared ? SpvScopeWorkgroup : device_scope(t)));
   }
   if (!mask)
      return {};
   literals.insert(literals.begin(), mask);
   return literals;
}

void emit_barrier(Translator &t, nir_intrinsic_instr *instr)
{
   const auto to_scope = [&](mesa_scope s) {
      switch (s) {
      case SCOPE_DEVICE:
         return device_scope(t);
      case SCOPE_QUEUE_FAMILY:
         return SpvScopeQueueFamily;
      case SCOPE_WORKGROUP:
         return SpvScopeWorkgroup;
      case SCOPE_SUBGROUP:
         return SpvScopeSubgroup;
      default:
         return SpvScopeInvocation;
      }
   };

   const unsigned from = nir_intrinsic_memory_semantics(instr),
                  modes = nir_intrinsic_memory_modes(instr);
   uint32_t where = 0;
   if (modes & (nir_var_mem_ssbo | nir_var_mem_global))
      where |= SpvMemorySemanticsUniformMemoryMask;
   if (modes & nir_var_mem_shared)
      where |= SpvMemorySemanticsWorkgroupMemoryMask;
   if (modes & nir_var_image)
      where |= SpvMemorySemanticsImageMemoryMask;
   uint32_t semantics = 0;
   if (where && nir_intrinsic_memory_scope(instr) != SCOPE_NONE) {
      const bool acquire = from & NIR_MEMORY_ACQUIRE, release = from & NIR_MEMORY_RELEASE;
      if (acquire || release) {
         semantics = where | (acquire && release ? SpvMemorySemanticsAcquireReleaseMask
                              : acquire          ? SpvMemorySemanticsAcquireMask
                                                 : SpvMemorySemanticsReleaseMask);
         if (from & NIR_MEMORY_MAKE_AVAILABLE && release)
            semantics |= SpvMemorySemanticsMakeAvailableMask;
         if (from & NIR_MEMORY_MAKE_VISIBLE && acquire)
            semantics |= SpvMemorySemanticsMakeVisibleMask;
      }
   }

   const mesa_scope execution = nir_intrinsic_execution_scope(instr);
   if (!t.driver.partial_barriers && execution <= SCOPE_SUBGROUP &&
       nir_intrinsic_memory_scope(instr) <= SCOPE_WORKGROUP)
      return;
   const Id memory = scope(t, to_scope(nir_intrinsic_memory_scope(instr)));
   if (execution != SCOPE_NONE && execution != SCOPE_INVOCATION)
      t.m.emit(SpvOpControlBarrier,
               {scope(t, to_scope(execution)), memory, t.m.constant_uint(semantics)});
   else if (semantics)
      t.m.emit(SpvOpMemoryBarrier, {memory, t.m.constant_uint(semantics)});
}

} // namespace weft::spirv
