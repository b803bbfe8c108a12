// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/compiler.h"

#include "nir_passes/front_end/spirv_to_nir.h"
#include "nir_passes/front_end/spirv_words.h"
#include "nir_passes/shader.h"
#include "threads/large_stack.h"

#include "compiler/spirv/spirv.h"

#include <unordered_map>

namespace weft::cpu {

namespace {

enum class Answer : uint8_t {
   no,
   yes,
   open, ///< a scope is computed, or a specialization constant
};

/// Reads the words of SPIR-V only, which suffices for nearly all modules.
Answer ask_words(std::span<const uint32_t> spirv)
{
   std::unordered_map<uint32_t, uint32_t> constants;
   Answer answer = Answer::no;
   for (const auto &[opcode, operands] : Instructions(spirv)) {
      if (opcode == SpvOpFunction)
         break;
      if (opcode == SpvOpConstant && operands.size() == 3)
         constants[operands[1]] = operands[2];
      if (opcode != SpvOpTypeCooperativeMatrixKHR || operands.size() < 3)
         continue;
      const auto scope = constants.find(operands[2]);
      if (scope == constants.end())
         answer = Answer::open;
      else if (scope->second == SpvScopeWorkgroup)
         return Answer::yes;
   }
   return answer;
}

bool holds_workgroup_matrices(const glsl_type *type)
{
   type = glsl_without_array(type);
   if (glsl_type_is_cmat(type))
      return glsl_get_cmat_description(type)->scope == SCOPE_WORKGROUP;
   for (unsigned i = 0; glsl_type_is_struct(type) && i < glsl_get_length(type); i++) {
      if (holds_workgroup_matrices(glsl_get_struct_field(type, i)))
         return true;
   }
   return false;
}

bool ask_nir(const ShaderSource &source)
{
   const Result<Shader> shader = spirv_to_nir(source, Consumer::cpu, default_subgroup_size);
   if (!shader)
      return false; // the compilation reports the error
   nir_foreach_variable_in_shader(variable, shader->get())
   {
      if (holds_workgroup_matrices(variable->type))
         return true;
   }
   nir_foreach_function_impl(impl, shader->get()) {
      nir_foreach_function_temp_variable(variable, impl) {
         if (holds_workgroup_matrices(variable->type))
            return true;
      }
   }
   return false;
}

} // namespace

bool has_workgroup_matrices(const ShaderSource &source)
{
   const Answer answer = ask_words(source.spirv);
   bool has = answer == Answer::yes;
   if (answer == Answer::open)
      (void)call_on_large_stack([&] { has = ask_nir(source); });
   return has;
}

} // namespace weft::cpu
