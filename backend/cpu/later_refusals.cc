// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/later_refusals.h"

#include "backend/cpu/codegen/passes/validate_final_form.h"

#include "nir_passes/compile_limits.h"
#include "nir_passes/memory/lower_descriptors.h"
#include "nir_passes/shader_limits.h"

#include "util/u_math.h"

#include <algorithm>

namespace weft::cpu {

namespace {

/// At least the bytes that these variables will take.
class Bytes {
public:
   void add(const nir_variable *var)
   {
      unsigned size, alignment;
      glsl_get_natural_size_align_bytes(var->type, &size, &alignment);
      sum = align64(sum, std::max(alignment, 1u)) + size;
   }
   bool exceeds(uint64_t limit) const { return sum > limit; }

private:
   uint64_t sum = 0;
};

bool needs_much_memory(nir_shader *nir)
{
   Bytes shared, scratch;
   nir_foreach_variable_with_modes(var, nir, nir_var_mem_shared)
      shared.add(var);
   nir_foreach_function_temp_variable(var, nir_shader_get_entrypoint(nir))
      scratch.add(var);
   // Later passes add packed factors of matrices to private memory.
   return shared.exceeds(limits::shared_bytes) || scratch.exceeds(limits::scratch_bytes / 4);
}

bool lacks_binding(const nir_intrinsic_instr *index, std::span<const BindingLayout> bindings)
{
   const Result<BindingLayout> binding =
      find_binding(bindings, nir_intrinsic_desc_set(index), nir_intrinsic_binding(index));
   return !binding || (binding->inline_data && binding->count > max_inline_bytes);
}

/// Pointers to memory become addresses, with any use. Built-ins have no address.
bool may_stay(nir_deref_instr *deref)
{
   constexpr auto memory = nir_variable_mode(
      nir_var_mem_ubo | nir_var_mem_ssbo | nir_var_mem_push_const | nir_var_mem_shared |
      nir_var_mem_global | nir_var_mem_constant | nir_var_function_temp);
   if (deref->modes & ~(memory | nir_var_system_value))
      return true;
   if (!(deref->modes & nir_var_system_value))
      return false;
   nir_foreach_use_including_if(use, &deref->def) {
      if (nir_src_is_if(use) || nir_src_parent_instr(use)->type != nir_instr_type_intrinsic)
         return true;
   }
   return false;
}

/// Whether a later pass may fail to lower the instruction.
bool may_stay(nir_instr *instr, std::span<const BindingLayout> bindings)
{
   switch (instr->type) {
   case nir_instr_type_deref:
      return may_stay(nir_instr_as_deref(instr));
   case nir_instr_type_intrinsic: {
      const nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
      return intrinsic->intrinsic == nir_intrinsic_vulkan_resource_index &&
             lacks_binding(intrinsic, bindings);
   }
   default:
      return false;
   }
}

bool may_keep_instructions(nir_shader *nir, std::span<const BindingLayout> bindings)
{
   nir_foreach_block(block, nir_shader_get_entrypoint(nir)) {
      nir_foreach_instr(instr, block) {
         if (may_stay(instr, bindings))
            return true;
      }
   }
   return false;
}

} // namespace

bool may_be_refused_later(nir_shader *nir, std::span<const BindingLayout> bindings)
{
   return !check_shader_limits(nir) || needs_much_memory(nir) ||
          may_keep_instructions(nir, bindings) || !validate_private_memory(nir);
}

} // namespace weft::cpu
