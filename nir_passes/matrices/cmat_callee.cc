// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/cmat_callee.h"

#include <cassert>
#include <unordered_map>
#include <vector>

namespace weft {

namespace {

std::vector<nir_function *> functions_of(const nir_shader *nir)
{
   std::vector<nir_function *> list;
   nir_foreach_function(function, nir) list.push_back(function);
   return list;
}

template <typename Visit>
void for_each_caller(nir_shader *nir, const Visit &visit)
{
   nir_foreach_function_impl(impl, nir) {
      nir_foreach_block(block, impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_intrinsic &&
                nir_intrinsic_has_callee(nir_instr_as_intrinsic(instr)))
               visit(nir_instr_as_intrinsic(instr));
         }
      }
   }
}

} // namespace

nir_function *callee_of(const nir_shader *nir, const nir_intrinsic_instr *instr)
{
   if (!nir_intrinsic_has_callee(instr))
      return nullptr;
   unsigned number = nir_intrinsic_callee(instr);
   nir_foreach_function(function, nir)
   {
      if (number-- == 0)
         return function;
   }
   unreachable("a function that the shader does not have");
}

void remove_unused_functions(nir_shader *nir)
{
   const std::vector<nir_function *> all = functions_of(nir);
   std::unordered_map<const nir_function *, unsigned> numbers;
   /* Only functions that are called are looked into for more: those of no use may name others. */
   std::vector<nir_function *> work = {nir_shader_get_entrypoint(nir)->function};
   while (!work.empty()) {
      const nir_function *function = work.back();
      work.pop_back();
      if (!numbers.emplace(function, 0).second || !function->impl)
         continue;
      nir_foreach_block(block, function->impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_intrinsic &&
                nir_intrinsic_has_callee(nir_instr_as_intrinsic(instr)))
               work.push_back(all[nir_intrinsic_callee(nir_instr_as_intrinsic(instr))]);
         }
      }
   }
   unsigned next = 0;
   for (nir_function *function : all) {
      if (const auto known = numbers.find(function); known != numbers.end())
         known->second = next++;
      else
         exec_node_remove(&function->node);
   }
   for_each_caller(nir, [&](nir_intrinsic_instr *instr) {
      nir_intrinsic_set_callee(instr, numbers.at(all[nir_intrinsic_callee(instr)]));
   });
}

nir_def *call_function(nir_builder *b, nir_function *function, const glsl_type *result,
                       std::span<nir_def *const> arguments)
{
   assert(function->num_params == arguments.size() + 1);
   nir_variable *variable = nir_local_variable_create(b->impl, result, "result");
   nir_deref_instr *deref = nir_build_deref_var(b, variable);
   nir_call_instr *call = nir_call_instr_create(b->shader, function);
   call->params[0] = nir_src_for_ssa(&deref->def);
   for (size_t i = 0; i < arguments.size(); ++i)
      call->params[i + 1] = nir_src_for_ssa(arguments[i]);
   nir_builder_instr_insert(b, &call->instr);
   return nir_load_deref(b, deref);
}

nir_def *Combination::operator()(nir_def *x, nir_def *y) const
{
   nir_def *const operands[] = {x, y};
   return call_function(b, function, glsl_scalar_type(type), operands);
}

} // namespace weft
