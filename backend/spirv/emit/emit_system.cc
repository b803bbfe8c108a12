// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// System values: built-in inputs, and clocks.

#include "backend/spirv/emit/emit.h"
#include "backend/spirv/module/built_ins.h"
#include "backend/spirv/module/memory_model.h"
#include "backend/spirv/module/translator.h"

namespace weft::spirv {

void BuiltIns::load(Translator &t, nir_intrinsic_instr *instr, SpvBuiltIn built_in)
{
   const Id type = t.m.type_vector(t.m.type_uint(32), instr->def.num_components);
   Id &variable = variables[built_in];
   if (!variable) {
      variable =
         t.m.global_variable(t.m.type_pointer(SpvStorageClassInput, type), SpvStorageClassInput);
      t.m.decorate(variable, SpvDecorationBuiltIn, {uint32_t(built_in)});
   }
   if (instr->def.bit_size != 32)
      return t.fail("a built-in input of a size other than 32 bits is not supported");
   t.define_vector(instr->def, t.m.emit(SpvOpLoad, type, {variable}), Kind::integer);
}

bool emit_system(Translator &t, nir_intrinsic_instr *instr)
{
   const auto subgroup = [&](SpvBuiltIn built_in, SpvCapability capability) {
      t.m.capability(capability);
      t.built_ins.load(t, instr, built_in);
      return true;
   };
   const auto plain = [&](SpvBuiltIn built_in) {
      t.built_ins.load(t, instr, built_in);
      return true;
   };

   switch (instr->intrinsic) {
   case nir_intrinsic_load_workgroup_id:
      return plain(SpvBuiltInWorkgroupId);
   case nir_intrinsic_load_num_workgroups:
      return plain(SpvBuiltInNumWorkgroups);
   case nir_intrinsic_load_local_invocation_id:
      return plain(SpvBuiltInLocalInvocationId);
   case nir_intrinsic_load_local_invocation_index:
      return plain(SpvBuiltInLocalInvocationIndex);
   case nir_intrinsic_load_global_invocation_id:
      return plain(SpvBuiltInGlobalInvocationId);
   case nir_intrinsic_load_subgroup_size:
      return subgroup(SpvBuiltInSubgroupSize, SpvCapabilityGroupNonUniform);
   case nir_intrinsic_load_subgroup_id:
      return subgroup(SpvBuiltInSubgroupId, SpvCapabilityGroupNonUniform);
   case nir_intrinsic_load_num_subgroups:
      return subgroup(SpvBuiltInNumSubgroups, SpvCapabilityGroupNonUniform);
   case nir_intrinsic_load_subgroup_invocation:
      return subgroup(SpvBuiltInSubgroupLocalInvocationId, SpvCapabilityGroupNonUniform);
   case nir_intrinsic_load_subgroup_eq_mask:
      return subgroup(SpvBuiltInSubgroupEqMask, SpvCapabilityGroupNonUniformBallot);
   case nir_intrinsic_load_subgroup_ge_mask:
      return subgroup(SpvBuiltInSubgroupGeMask, SpvCapabilityGroupNonUniformBallot);
   case nir_intrinsic_load_subgroup_gt_mask:
      return subgroup(SpvBuiltInSubgroupGtMask, SpvCapabilityGroupNonUniformBallot);
   case nir_intrinsic_load_subgroup_le_mask:
      return subgroup(SpvBuiltInSubgroupLeMask, SpvCapabilityGroupNonUniformBallot);
   case nir_intrinsic_load_subgroup_lt_mask:
      return subgroup(SpvBuiltInSubgroupLtMask, SpvCapabilityGroupNonUniformBallot);
   case nir_intrinsic_shader_clock: {
      t.m.capability(SpvCapabilityShaderClockKHR);
      t.m.extension("SPV_KHR_shader_clock");
      // The clock of a device does not depend on the memory model.
      const bool of_subgroup = nir_intrinsic_memory_scope(instr) == SCOPE_SUBGROUP;
      const Id of = scope(t, of_subgroup ? SpvScopeSubgroup : SpvScopeDevice);
      const Id type = t.m.type_vector(t.m.type_uint(32), 2);
      t.define_vector(instr->def, t.m.emit(SpvOpReadClockKHR, type, {of}), Kind::integer);
      return true;
   }
   default:
      return false;
   }
}

} // namespace weft::spirv
