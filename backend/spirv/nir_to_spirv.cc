// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/nir_to_spirv.h"

#include "backend/spirv/translator.h"

#include "util/u_math.h"

extern "C" {
#include "compiler/spirv/spirv_info.h"
}

namespace weft::spirv {

namespace {

std::vector<BufferBinding> list_buffers(nir_shader *nir)
{
   std::vector<BufferBinding> buffers;
   for (const DescriptorBinding &d : own_bindings(nir)) {
      BufferBinding b = {};
      b.set = d.set;
      b.binding = d.binding;
      b.stride = 4;
      nir_foreach_variable_with_modes(var, nir, nir_var_mem_ubo | nir_var_mem_ssbo) {
         if (uint32_t(var->data.descriptor_set) != d.set ||
             uint32_t(var->data.binding) != d.binding)
            continue;
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
         b.access |= var->data.access;
      }
      buffers.push_back(std::move(b));
   }
   return buffers;
}

/// Whether other invocations may look at what this one has written to buffers.
bool publishes_buffers(nir_shader *nir)
{
   nir_foreach_block(block, nir_shader_get_entrypoint(nir)) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         const nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
         if (intrinsic->intrinsic == nir_intrinsic_barrier &&
             nir_intrinsic_memory_modes(intrinsic) & (nir_var_mem_ssbo | nir_var_mem_global))
            return true;
      }
   }
   return false;
}

} // namespace

Result<Words> Translator::run()
{
   buffers = list_buffers(shader);
   /* The Vulkan memory model says it at each access and barrier; the older one only of variables.
    */
   if (!vulkan_memory && publishes_buffers(shader)) {
      for (BufferBinding &b : buffers)
         b.access |= b.uniform ? 0 : ACCESS_COHERENT;
   }
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
   switch (instr->intrinsic) {
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_load_ubo:
      return emit_load_buffer(instr);
   case nir_intrinsic_store_ssbo:
      return emit_store_buffer(instr);
   case nir_intrinsic_get_ssbo_size:
      return emit_buffer_size(instr);
   case nir_intrinsic_load_push_constant:
      return emit_load_push_constant(instr);
   case nir_intrinsic_load_global:
   case nir_intrinsic_load_global_constant:
      return emit_load_global(instr);
   case nir_intrinsic_store_global:
      return emit_store_global(instr);
   case nir_intrinsic_load_deref:
      return emit_load_variable(instr);
   case nir_intrinsic_store_deref:
      return emit_store_variable(instr);
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
   case nir_intrinsic_deref_atomic:
   case nir_intrinsic_deref_atomic_swap:
      return emit_atomic(instr);
   case nir_intrinsic_barrier:
      return emit_barrier(instr);
   case nir_intrinsic_decl_reg:
      return emit_declare_register(instr);
   case nir_intrinsic_load_reg:
      return emit_load_register(instr);
   case nir_intrinsic_store_reg:
      return emit_store_register(instr);
   default:
      if (!emit_subgroup(instr) && !emit_system(instr) && !emit_image(instr) && !emit_matrix(instr))
         fail(std::string("the intrinsic ") + nir_intrinsic_infos[instr->intrinsic].name +
              " is not supported");
   }
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
   if (vulkan_memory) {
      m.capability(SpvCapabilityVulkanMemoryModel);
      extension("SPV_KHR_vulkan_memory_model", 0x00010500);
   }
   if (physical_addresses) {
      m.capability(SpvCapabilityPhysicalStorageBufferAddresses);
      extension("SPV_KHR_physical_storage_buffer", 0x00010500);
   }
   m.memory_model(physical_addresses ? SpvAddressingModelPhysicalStorageBuffer64
                                     : SpvAddressingModelLogical,
                  vulkan_memory ? SpvMemoryModelVulkan : SpvMemoryModelGLSL450);

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
   return Translator(nir, driver, source).run();
}

} // namespace weft::spirv
