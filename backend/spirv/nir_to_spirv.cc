// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/nir_to_spirv.h"

#include "backend/spirv/translator.h"
#include "backend/spirv/validate_spirv_form.h"

#include "util/u_math.h"

extern "C" {
#include "compiler/spirv/spirv_info.h"
}

namespace weft::spirv {

namespace {

std::vector<BufferBinding> list_buffers(nir_shader *nir)
{
   std::vector<BufferBinding> buffers;
   for (const BindingLayout &d : own_bindings(nir)) {
      BufferBinding b = {};
      b.set = d.set;
      b.binding = d.binding;
      b.stride = 4;
      nir_foreach_variable_with_modes(var, nir, nir_var_mem_ubo | nir_var_mem_ssbo) {
         if (uint32_t(var->data.descriptor_set) != d.set ||
             uint32_t(var->data.binding) != d.binding)
            continue;
         /* Qualifiers of a block are promises: they hold if all variables make them. */
         b.access = b.var ? b.access & var->data.access : var->data.access;
         if (!b.var)
            b.var = var;
         b.uniform |= var->data.mode == nir_var_mem_ubo;
         b.is_array |= glsl_type_is_array(var->type);
         if (glsl_type_is_array(var->type))
            b.length = std::max(b.length, glsl_get_aoa_size(var->type));
         const glsl_type *block = glsl_without_array(var->type);
         b.bytes = std::max(b.bytes, glsl_get_explicit_size(block, false));
         const unsigned fields = glsl_type_is_struct_or_ifc(block) ? glsl_get_length(block) : 0;
         if (fields) {
            const glsl_type *last = glsl_get_struct_field(block, fields - 1);
            const unsigned offset =
               unsigned(std::max(glsl_get_struct_field_offset(block, fields - 1), 0));
            const unsigned stride = glsl_get_explicit_stride(last);
            const unsigned odd = offset | stride | 4;
            b.stride = std::min(b.stride, odd & -odd);
         }
      }
      buffers.push_back(std::move(b));
   }
   return buffers;
}

} // namespace

Result<Words> Translator::run()
{
   buffers = list_buffers(shader);
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   nir_index_ssa_defs(impl);
   values.resize(impl->ssa_alloc);

   const Id function = m.new_id();
   m.begin_function(function, m.type(SpvOpTypeFunction, {m.type_void()}));
   emit_list(&impl->body);
   m.end_function();
   emit_header(function);

   if (!error.empty())
      return Error{error};
   for (SpvCapability capability : m.used_capabilities()) {
      if (const char *feature = lacks(driver, capability))
         return Error{std::string("the shader needs the capability ") +
                      spirv_capability_to_string(capability) + ", and the driver lacks " + feature};
   }
   return m.finish(driver.spirv_version);
}

void Translator::emit_instruction(nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_alu:
      emit_alu(nir_instr_as_alu(instr));
      break;
   case nir_instr_type_intrinsic:
      emit_intrinsic(nir_instr_as_intrinsic(instr));
      break;
   case nir_instr_type_tex:
      emit_texture(nir_instr_as_tex(instr));
      break;
   case nir_instr_type_load_const:
      define_constant(nir_instr_as_load_const(instr));
      break;
   case nir_instr_type_undef:
      define_undefined(nir_instr_as_undef(instr));
      break;
   case nir_instr_type_deref:
      /* Where it is used. */
      break;
   default:
      fail("an instruction is not supported");
   }
}

void Translator::define_constant(nir_load_const_instr *instr)
{
   const Kind kind = instr->def.bit_size == 1 ? Kind::boolean : Kind::integer;
   for (unsigned i = 0; i < instr->def.num_components; ++i) {
      const uint64_t value = nir_const_value_as_uint(instr->value[i], instr->def.bit_size);
      define(instr->def, i, constant(kind, instr->def.bit_size, value), kind);
   }
}

/// Any value will do.
void Translator::define_undefined(nir_undef_instr *instr)
{
   const Kind kind = instr->def.bit_size == 1 ? Kind::boolean : Kind::integer;
   for (unsigned i = 0; i < instr->def.num_components; ++i)
      define(instr->def, i, zero(kind, instr->def.bit_size), kind);
}

void Translator::emit_intrinsic(nir_intrinsic_instr *instr)
{
   bool translated = true;
   switch (group_of(instr->intrinsic)) {
   case IntrinsicGroup::load_buffer:
      return emit_load_buffer(instr);
   case IntrinsicGroup::store_buffer:
      return emit_store_buffer(instr);
   case IntrinsicGroup::buffer_size:
      return emit_buffer_size(instr);
   case IntrinsicGroup::push_constant:
      return emit_load_push_constant(instr);
   case IntrinsicGroup::load_global:
      return emit_load_global(instr);
   case IntrinsicGroup::store_global:
      return emit_store_global(instr);
   case IntrinsicGroup::load_variable:
      return emit_load_variable(instr);
   case IntrinsicGroup::store_variable:
      return emit_store_variable(instr);
   case IntrinsicGroup::atomic:
      return emit_atomic(instr);
   case IntrinsicGroup::barrier:
      return emit_barrier(instr);
   case IntrinsicGroup::declare_register:
      return emit_declare_register(instr);
   case IntrinsicGroup::load_register:
      return emit_load_register(instr);
   case IntrinsicGroup::store_register:
      return emit_store_register(instr);
   case IntrinsicGroup::subgroup:
      translated = emit_subgroup(instr);
      break;
   case IntrinsicGroup::system:
      translated = emit_system(instr);
      break;
   case IntrinsicGroup::image:
      translated = emit_image(instr);
      break;
   case IntrinsicGroup::matrix:
      translated = emit_matrix(instr);
      break;
   case IntrinsicGroup::unsupported:
      translated = false;
      break;
   }
   if (!translated)
      fail(std::string("the intrinsic ") + nir_intrinsic_infos[instr->intrinsic].name +
           " is in the form and has no translation");
}

/// Everything that is known only when the function is there.
void Translator::emit_header(Id function)
{
   for (const BufferBinding &b : buffers) {
      for (const auto &[type, view] : b.views) {
         if (b.uniform)
            continue;
         if (b.views.size() > 1 || !(b.access & ACCESS_RESTRICT))
            m.decorate(view.variable, SpvDecorationAliased);
         else if (restricted.contains({b.set, b.binding}))
            m.decorate(view.variable, SpvDecorationRestrict);
      }
   }
   m.capability(SpvCapabilityShader);
   m.capability(SpvCapabilityVulkanMemoryModel);
   extension("SPV_KHR_vulkan_memory_model", 0x00010500);
   if (physical_addresses) {
      m.capability(SpvCapabilityPhysicalStorageBufferAddresses);
      extension("SPV_KHR_physical_storage_buffer", 0x00010500);
   }
   m.memory_model(physical_addresses ? SpvAddressingModelPhysicalStorageBuffer64
                                     : SpvAddressingModelLogical,
                  SpvMemoryModelVulkan);

   /* Before SPIR-V 1.4 the interface is inputs and outputs only. */
   std::vector<Id> interface;
   if (driver.spirv_version >= 0x00010400) {
      interface = m.global_variables();
   } else {
      for (const auto &[built_in, id] : built_ins)
         interface.push_back(id);
   }
   m.entry_point(SpvExecutionModelGLCompute, function, entry_name, interface);
   const uint16_t *size = shader->info.workgroup_size;
   m.execution_mode(function, SpvExecutionModeLocalSize, {size[0], size[1], size[2]});
   for (const SpvExecutionMode mode : reconvergence) {
      extension(extension_of(mode));
      m.execution_mode(function, mode);
   }
   float_controls(function);
}

void Translator::float_controls(Id function)
{
   struct Mode {
      unsigned flag;
      SpvExecutionMode mode;
      SpvCapability capability;
      unsigned bits;
   };
   static const Mode modes[] = {
      {FLOAT_CONTROLS_DENORM_PRESERVE_FP16, SpvExecutionModeDenormPreserve,
       SpvCapabilityDenormPreserve, 16},
      {FLOAT_CONTROLS_DENORM_PRESERVE_FP32, SpvExecutionModeDenormPreserve,
       SpvCapabilityDenormPreserve, 32},
      {FLOAT_CONTROLS_DENORM_PRESERVE_FP64, SpvExecutionModeDenormPreserve,
       SpvCapabilityDenormPreserve, 64},
      {FLOAT_CONTROLS_DENORM_FLUSH_TO_ZERO_FP16, SpvExecutionModeDenormFlushToZero,
       SpvCapabilityDenormFlushToZero, 16},
      {FLOAT_CONTROLS_DENORM_FLUSH_TO_ZERO_FP32, SpvExecutionModeDenormFlushToZero,
       SpvCapabilityDenormFlushToZero, 32},
      {FLOAT_CONTROLS_DENORM_FLUSH_TO_ZERO_FP64, SpvExecutionModeDenormFlushToZero,
       SpvCapabilityDenormFlushToZero, 64},
      {FLOAT_CONTROLS_SIGNED_ZERO_PRESERVE_FP16, SpvExecutionModeSignedZeroInfNanPreserve,
       SpvCapabilitySignedZeroInfNanPreserve, 16},
      {FLOAT_CONTROLS_SIGNED_ZERO_PRESERVE_FP32, SpvExecutionModeSignedZeroInfNanPreserve,
       SpvCapabilitySignedZeroInfNanPreserve, 32},
      {FLOAT_CONTROLS_SIGNED_ZERO_PRESERVE_FP64, SpvExecutionModeSignedZeroInfNanPreserve,
       SpvCapabilitySignedZeroInfNanPreserve, 64},
      {FLOAT_CONTROLS_ROUNDING_MODE_RTE_FP16, SpvExecutionModeRoundingModeRTE,
       SpvCapabilityRoundingModeRTE, 16},
      {FLOAT_CONTROLS_ROUNDING_MODE_RTE_FP32, SpvExecutionModeRoundingModeRTE,
       SpvCapabilityRoundingModeRTE, 32},
      {FLOAT_CONTROLS_ROUNDING_MODE_RTE_FP64, SpvExecutionModeRoundingModeRTE,
       SpvCapabilityRoundingModeRTE, 64},
      {FLOAT_CONTROLS_ROUNDING_MODE_RTZ_FP16, SpvExecutionModeRoundingModeRTZ,
       SpvCapabilityRoundingModeRTZ, 16},
      {FLOAT_CONTROLS_ROUNDING_MODE_RTZ_FP32, SpvExecutionModeRoundingModeRTZ,
       SpvCapabilityRoundingModeRTZ, 32},
      {FLOAT_CONTROLS_ROUNDING_MODE_RTZ_FP64, SpvExecutionModeRoundingModeRTZ,
       SpvCapabilityRoundingModeRTZ, 64},
   };
   /* Single instructions may keep them too (SPV_KHR_float_controls2); then all do, if the driver
    * can. */
   const unsigned can_preserve = (driver.preserve_nan_16 ? 16 : 0) |
                                 (driver.preserve_nan_32 ? 32 : 0) |
                                 (driver.preserve_nan_64 ? 64 : 0);
   for (const Mode &mode : modes) {
      const bool asked = shader->info.float_controls_execution_mode & mode.flag;
      const bool implied = mode.mode == SpvExecutionModeSignedZeroInfNanPreserve &&
                           preserved_sizes & can_preserve & mode.bits;
      if (!asked && !implied)
         continue;
      m.capability(mode.capability);
      extension("SPV_KHR_float_controls", 0x00010400);
      m.execution_mode(function, mode.mode, {mode.bits});
   }
}

Result<std::vector<uint32_t>> nir_to_spirv(nir_shader *nir, const Driver &driver,
                                           const ShaderSource &source)
{
   /* Variables instead of phis: drivers make values of them again. */
   nir_convert_from_ssa(nir, true, false);
   Result<bool> form = validate_spirv_form(nir);
   if (!form)
      return form.error();
   return Translator(nir, driver, source).run();
}

} // namespace weft::spirv
