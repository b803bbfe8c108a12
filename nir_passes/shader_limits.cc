// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/shader_limits.h"

#include "nir_passes/matrices/cmat_callee.h"

#include "util/macros.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft {

namespace {

/// The number of scalars in a type; saturates above any limit.
uint64_t components(const glsl_type *type)
{
   constexpr uint64_t enough = std::max(limits::private_components, limits::shared_components) + 1;
   if (glsl_type_is_array(type))
      return std::min(glsl_get_length(type) * components(glsl_get_array_element(type)), enough);
   if (glsl_type_is_struct_or_ifc(type)) {
      uint64_t sum = 0;
      for (unsigned i = 0; i < glsl_get_length(type) && sum < enough; ++i)
         sum += components(glsl_get_struct_field(type, i));
      return std::min(sum, enough);
   }
   if (glsl_type_is_cmat(type)) {
      /* Counts the components per invocation in a large subgroup: a matrix is no NIR value, and
       * code for it is loops. */
      const glsl_cmat_description *desc = glsl_get_cmat_description(type);
      return DIV_ROUND_UP(uint64_t(desc->rows) * desc->cols, uint64_t(64));
   }
   return glsl_get_components(type);
}

/// SPIR-V's arrays have a length of at least 1. Its validator cannot check that if the length is a
/// specialization constant.
bool has_empty_array(const glsl_type *type)
{
   if (glsl_type_is_array(type))
      return glsl_get_length(type) == 0 || has_empty_array(glsl_get_array_element(type));
   if (glsl_type_is_struct_or_ifc(type)) {
      for (unsigned i = 0; i < glsl_get_length(type); ++i) {
         if (has_empty_array(glsl_get_struct_field(type, i)))
            return true;
      }
   }
   return false;
}

/// Roughly the number of instructions that a pass makes of one, without its callees' instructions.
uint64_t expanded_size(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return 1;
   switch (nir_instr_as_intrinsic(instr)->intrinsic) {
   case nir_intrinsic_cmat_load_tensor_weft:
   case nir_intrinsic_cmat_store_tensor_weft:
      return 256;
   case nir_intrinsic_cmat_per_element_weft:
   case nir_intrinsic_cmat_reduce_weft:
      return 32;
   default:
      return 1;
   }
}

/// The number of a function's instructions with all callees inlined.
class InlinedSize {
public:
   explicit InlinedSize(const nir_shader *nir) : functions(functions_of(nir)) {}

   /// Nothing if the function calls itself.
   std::optional<uint64_t> of(nir_function *function)
   {
      const auto [it, inserted] = sizes.try_emplace(function, std::nullopt);
      if (!inserted || !function->impl)
         return it->second;

      uint64_t size = 0;
      nir_foreach_block(block, function->impl) {
         nir_foreach_instr(instr, block) {
            size += expanded_size(instr);
            for (nir_function *called : callees(instr)) {
               const std::optional<uint64_t> inlined = of(called);
               if (!inlined)
                  return std::nullopt;
               size = std::min(size + *inlined, limits::instructions + 1);
            }
         }
      }
      sizes[function] = size;
      return size;
   }

private:
   std::vector<nir_function *> callees(nir_instr *instr) const
   {
      if (instr->type == nir_instr_type_call)
         return {nir_instr_as_call(instr)->callee};
      return callees_of(functions, instr);
   }

   const std::vector<nir_function *> functions;

   std::unordered_map<nir_function *, std::optional<uint64_t>> sizes;
};

Error too_large(const char *what, uint64_t size, uint64_t limit)
{
   return {std::string("the shader needs ") + std::to_string(size) + " " + what + "; at most " +
           std::to_string(limit) + " are supported"};
}

/// Checks a variable outside of buffers.
Result<bool> check_variable(const nir_variable *var)
{
   const std::string name =
      std::string("the variable ") + (var->name ? var->name : "without a name");
   if (has_empty_array(var->type))
      return Error{name + " has an array of length 0"};
   const uint64_t limit =
      var->data.mode == nir_var_mem_shared ? limits::shared_components : limits::private_components;
   if (components(var->type) > limit)
      return Error{name + " is too large: at most " + std::to_string(limit) +
                   " components are supported there"};
   return true;
}

/// NIR's offsets in structs are signed; they are negative without an explicit layout.
Result<bool> check_offsets(nir_function_impl *impl)
{
   constexpr auto laid_out =
      nir_variable_mode(nir_var_mem_ubo | nir_var_mem_ssbo | nir_var_mem_push_const |
                        nir_var_mem_global | nir_var_mem_constant);
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_deref)
            continue;
         const nir_deref_instr *deref = nir_instr_as_deref(instr);
         if (deref->deref_type != nir_deref_type_struct || !nir_deref_mode_must_be(deref, laid_out))
            continue;
         const glsl_type *type = nir_deref_instr_parent(deref)->type;
         if (glsl_get_struct_field_offset(type, deref->strct.index) < 0)
            return Error{"member " + std::to_string(deref->strct.index) +
                         " of a block has no offset"};
      }
   }
   return true;
}

} // namespace

Result<bool> check_module_limits(nir_shader *nir)
{
   const uint16_t *size = nir->info.workgroup_size;
   const uint64_t invocations = uint64_t(size[0]) * size[1] * size[2];
   if (invocations == 0)
      return Error{"the workgroup has no invocations"};
   if (invocations > limits::workgroup_invocations)
      return too_large("invocations per workgroup", invocations, limits::workgroup_invocations);

   nir_foreach_variable_with_modes(var, nir, nir_var_shader_temp | nir_var_mem_shared) {
      if (Result<bool> good = check_variable(var); !good)
         return good.error();
   }
   nir_foreach_function_impl(impl, nir) {
      nir_foreach_function_temp_variable(var, impl) {
         if (Result<bool> good = check_variable(var); !good)
            return good.error();
      }
      if (Result<bool> good = check_offsets(impl); !good)
         return good.error();
   }

   const std::optional<uint64_t> instructions =
      InlinedSize(nir).of(nir_shader_get_entrypoint(nir)->function);
   if (!instructions)
      return Error{"a function calls itself"};
   if (*instructions > limits::instructions)
      return Error{"the shader has more than " + std::to_string(limits::instructions) +
                   " instructions once its functions are inlined"};
   return true;
}

Result<bool> check_shader_limits(nir_shader *nir)
{
   if (nir->info.shared_size > limits::shared_bytes)
      return too_large("bytes of shared memory", nir->info.shared_size, limits::shared_bytes);
   if (nir->scratch_size > limits::scratch_bytes)
      return too_large("bytes of private memory", nir->scratch_size, limits::scratch_bytes);
   if (nir->num_uniforms > limits::push_constant_bytes)
      return too_large("bytes of push constants", nir->num_uniforms, limits::push_constant_bytes);
   return true;
}

} // namespace weft
