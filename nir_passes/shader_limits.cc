// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/shader_limits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

namespace weft {

namespace {

/// Scalars in a type, saturating somewhere above max_variable_components.
uint64_t components(const glsl_type *type)
{
   constexpr uint64_t enough = max_variable_components + 1;
   if (glsl_type_is_array(type))
      return std::min(glsl_get_length(type) * components(glsl_get_array_element(type)), enough);
   if (glsl_type_is_struct_or_ifc(type)) {
      uint64_t sum = 0;
      for (unsigned i = 0; i < glsl_get_length(type) && sum < enough; ++i)
         sum += components(glsl_get_struct_field(type, i));
      return std::min(sum, enough);
   }
   if (glsl_type_is_cmat(type)) {
      const glsl_cmat_description *desc = glsl_get_cmat_description(type);
      return uint64_t(desc->rows) * desc->cols;
   }
   return glsl_get_components(type);
}

/// How many instructions a function has with all its callees inlined.
class InlinedSize {
public:
   /// Nothing if the function calls itself.
   std::optional<uint64_t> of(nir_function *function)
   {
      const auto [it, inserted] = sizes.try_emplace(function, std::nullopt);
      if (!inserted || !function->impl)
         return it->second;

      uint64_t size = 0;
      nir_foreach_block(block, function->impl) {
         nir_foreach_instr(instr, block) {
            ++size;
            if (instr->type != nir_instr_type_call)
               continue;
            const std::optional<uint64_t> callee = of(nir_instr_as_call(instr)->callee);
            if (!callee)
               return std::nullopt;
            size = std::min(size + *callee, max_instructions + 1);
         }
      }
      sizes[function] = size;
      return size;
   }

private:
   std::unordered_map<nir_function *, std::optional<uint64_t>> sizes;
};

Error too_large(const char *what, uint64_t size, uint64_t limit)
{
   return {std::string("the shader needs ") + std::to_string(size) + " " + what + "; at most " +
           std::to_string(limit) + " are supported"};
}

bool is_too_large(const nir_variable *var)
{
   return components(var->type) > max_variable_components;
}

Error too_large(const nir_variable *var)
{
   return {std::string("the variable ") + (var->name ? var->name : "without a name") +
           " is too large: at most " + std::to_string(max_variable_components) +
           " components are supported outside buffers"};
}

} // namespace

Result<bool> check_module_limits(nir_shader *nir)
{
   const uint16_t *size = nir->info.workgroup_size;
   const uint64_t invocations = uint64_t(size[0]) * size[1] * size[2];
   if (invocations == 0)
      return Error{"the workgroup has no invocations"};
   if (invocations > max_workgroup_invocations)
      return too_large("invocations per workgroup", invocations, max_workgroup_invocations);

   nir_foreach_variable_with_modes(var, nir, nir_var_shader_temp | nir_var_mem_shared) {
      if (is_too_large(var))
         return too_large(var);
   }
   nir_foreach_function_impl(impl, nir) {
      nir_foreach_function_temp_variable(var, impl) {
         if (is_too_large(var))
            return too_large(var);
      }
   }

   const std::optional<uint64_t> instructions =
      InlinedSize().of(nir_shader_get_entrypoint(nir)->function);
   if (!instructions)
      return Error{"a function calls itself"};
   if (*instructions > max_instructions)
      return Error{"the shader has more than " + std::to_string(max_instructions) +
                   " instructions once its functions are inlined"};
   return true;
}

Result<bool> check_shader_limits(nir_shader *nir)
{
   if (nir->info.shared_size > max_shared_bytes)
      return too_large("bytes of shared memory", nir->info.shared_size, max_shared_bytes);
   if (nir->scratch_size > max_scratch_bytes)
      return too_large("bytes of private memory", nir->scratch_size, max_scratch_bytes);
   if (nir->num_uniforms > max_push_constant_bytes)
      return too_large("bytes of push constants", nir->num_uniforms, max_push_constant_bytes);
   return true;
}

} // namespace weft
