// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/nir_to_spirv.h"

#include "backend/spirv/emit/emit.h"
#include "backend/spirv/emit/validate_spirv_form.h"
#include "backend/spirv/module/memory_model.h"
#include "backend/spirv/module/reconvergence_modes.h"
#include "backend/spirv/module/translator.h"

extern "C" {
#include "compiler/spirv/spirv_info.h"
}

namespace weft::spirv {

namespace {

void define_constant(Translator &t, nir_load_const_instr *instr)
{
   const Kind kind = instr->def.bit_size == 1 ? Kind::boolean : Kind::integer;
   for (unsigned i = 0; i < instr->def.num_components; ++i) {
      const uint64_t value = nir_const_value_as_uint(instr->value[i], instr->def.bit_size);
      t.define(instr->def, i, t.constant(kind, instr->def.bit_size, value), kind);
   }
}

/// Any value is allowed.
void define_undefined(Translator &t, nir_undef_instr *instr)
{
   const Kind kind = instr->def.bit_size == 1 ? Kind::boolean : Kind::integer;
   for (unsigned i = 0; i < instr->def.num_components; ++i)
      t.define(instr->def, i, t.zero(kind, instr->def.bit_size), kind);
}

void emit_intrinsic(Translator &t, nir_intrinsic_instr *instr)
{
   bool translated = true;
   switch (group_of(instr->intrinsic)) {
   case IntrinsicGroup::load_buffer:
      return t.buffers.emit_load(instr);
   case IntrinsicGroup::store_buffer:
      return t.buffers.emit_store(instr);
   case IntrinsicGroup::buffer_size:
      return t.buffers.emit_size(instr);
   case IntrinsicGroup::push_constant:
      return t.push_constants.emit_load(instr);
   case IntrinsicGroup::load_global:
      return t.global_memory.emit_load(instr);
   case IntrinsicGroup::store_global:
      return t.global_memory.emit_store(instr);
   case IntrinsicGroup::load_variable:
      return t.variables.emit_load(instr);
   case IntrinsicGroup::store_variable:
      return t.variables.emit_store(instr);
   case IntrinsicGroup::atomic:
      return emit_atomic(t, instr);
   case IntrinsicGroup::barrier:
      return emit_barrier(t, instr);
   case IntrinsicGroup::declare_register:
      return t.variables.emit_declare_register(instr);
   case IntrinsicGroup::load_register:
      return t.variables.emit_load_register(instr);
   case IntrinsicGroup::store_register:
      return t.variables.emit_store_register(instr);
   case IntrinsicGroup::subgroup:
      translated = emit_subgroup(t, instr);
      break;
   case IntrinsicGroup::system:
      translated = emit_system(t, instr);
      break;
   case IntrinsicGroup::image:
      translated = emit_image(t, instr);
      break;
   case IntrinsicGroup::matrix:
      translated = emit_matrix(t, instr);
      break;
   case IntrinsicGroup::unsupported:
      translated = false;
      break;
   }
   if (!translated)
      t.fail(std::string("the intrinsic ") + nir_intrinsic_infos[instr->intrinsic].name +
             " passed validation but has no translation");
}

} // namespace

void emit_instruction(Translator &t, nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_alu:
      emit_alu(t, nir_instr_as_alu(instr));
      break;
   case nir_instr_type_intrinsic:
      emit_intrinsic(t, nir_instr_as_intrinsic(instr));
      break;
   case nir_instr_type_tex:
      emit_texture(t, nir_instr_as_tex(instr));
      break;
   case nir_instr_type_load_const:
      define_constant(t, nir_instr_as_load_const(instr));
      break;
   case nir_instr_type_undef:
      define_undefined(t, nir_instr_as_undef(instr));
      break;
   case nir_instr_type_deref:
      /* Uses emit their derefs. */
      break;
   default:
      t.fail("an instruction is not supported");
   }
}

namespace {

/// Emits the declarations that depend on the finished function.
void emit_header(Translator &t, Id function, const ShaderSource &source)
{
   ModuleBuilder &m = t.m;
   t.buffers.decorate();
   m.capability(SpvCapabilityShader);
   m.capability(SpvCapabilityVulkanMemoryModel);
   t.extension("SPV_KHR_vulkan_memory_model", 0x00010500);
   const bool physical = t.global_memory.is_used();
   if (physical) {
      m.capability(SpvCapabilityPhysicalStorageBufferAddresses);
      t.extension("SPV_KHR_physical_storage_buffer", 0x00010500);
   }
   m.memory_model(physical ? SpvAddressingModelPhysicalStorageBuffer64 : SpvAddressingModelLogical,
                  SpvMemoryModelVulkan);

   /* Before SPIR-V 1.4 the interface lists only inputs and outputs. */
   std::vector<Id> interface;
   if (t.driver.spirv_version >= 0x00010400) {
      interface = m.global_variables();
   } else {
      for (const auto &[built_in, id] : t.built_ins.all())
         interface.push_back(id);
   }
   m.entry_point(SpvExecutionModelGLCompute, function, source.entry_point, interface);
   const uint16_t *size = t.shader->info.workgroup_size;
   m.execution_mode(function, SpvExecutionModeLocalSize, {size[0], size[1], size[2]});
   for (const SpvExecutionMode mode : reconvergence_modes(source.spirv, source.entry_point)) {
      t.extension(extension_of(mode));
      m.execution_mode(function, mode);
   }
   t.float_controls.declare(t, function);
}

} // namespace

Result<std::vector<uint32_t>> nir_to_spirv(nir_shader *nir, const Driver &driver,
                                           const ShaderSource &source)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   nir_index_ssa_defs(impl);
   Translator t(nir, driver, source);
   const Id function = t.m.new_id();
   t.m.begin_function(function, t.m.type(SpvOpTypeFunction, {t.m.type_void()}));
   emit_control_flow(t, &impl->body);
   t.m.end_function();
   emit_header(t, function, source);

   if (!t.failure().empty())
      return Error{t.failure()};
   for (SpvCapability capability : t.m.used_capabilities()) {
      if (const char *feature = lacks(driver, capability))
         return Error{std::string("the shader needs the capability ") +
                      spirv_capability_to_string(capability) + ", and the driver lacks " + feature};
   }
   return t.m.finish(driver.spirv_version);
}

} // namespace weft::spirv
