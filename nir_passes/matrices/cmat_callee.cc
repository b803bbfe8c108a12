// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/cmat_callee.h"

#include "nir_passes/matrices/cmat_marks.h"

#include "compiler/nir/nir_deref.h"

#include <cassert>
#include <unordered_map>

namespace weft {

namespace {

nir_function *function_of(const nir_shader *nir, unsigned number)
{
   if (number == WEFT_NO_CALLEE)
      return nullptr;
   nir_foreach_function(function, nir)
   {
      if (number-- == 0)
         return function;
   }
   unreachable("a function that the shader does not have");
}

/// Calls renumber(number) for each function that an intrinsic names, and sets the result.
template <typename Renumber>
void renumber_callees(nir_shader *nir, const Renumber &renumber)
{
   const auto of = [&](unsigned number) {
      return number == WEFT_NO_CALLEE ? number : renumber(number);
   };
   nir_foreach_function_impl(impl, nir) {
      nir_foreach_block(block, impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type != nir_instr_type_intrinsic)
               continue;
            nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
            if (nir_intrinsic_has_callee(intrinsic))
               nir_intrinsic_set_callee(intrinsic, of(nir_intrinsic_callee(intrinsic)));
            if (nir_intrinsic_has_run_callee(intrinsic))
               nir_intrinsic_set_run_callee(intrinsic, of(nir_intrinsic_run_callee(intrinsic)));
         }
      }
   }
}

} // namespace

nir_function *callee_of(const nir_shader *nir, const nir_intrinsic_instr *instr)
{
   return nir_intrinsic_has_callee(instr) ? function_of(nir, nir_intrinsic_callee(instr)) : nullptr;
}

nir_function *run_callee_of(const nir_shader *nir, const nir_intrinsic_instr *instr)
{
   return nir_intrinsic_has_run_callee(instr) ? function_of(nir, nir_intrinsic_run_callee(instr))
                                              : nullptr;
}

std::vector<nir_function *> functions_of(const nir_shader *nir)
{
   std::vector<nir_function *> list;
   nir_foreach_function(function, nir) list.push_back(function);
   return list;
}

std::vector<nir_function *> callees_of(std::span<nir_function *const> functions,
                                       const nir_instr *instr)
{
   std::vector<nir_function *> list;
   if (instr->type != nir_instr_type_intrinsic)
      return list;
   const nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
   const auto add = [&](unsigned number) {
      if (number != WEFT_NO_CALLEE)
         list.push_back(functions[number]);
   };
   if (nir_intrinsic_has_callee(intrinsic))
      add(nir_intrinsic_callee(intrinsic));
   if (nir_intrinsic_has_run_callee(intrinsic))
      add(nir_intrinsic_run_callee(intrinsic));
   return list;
}

void remove_unused_functions(nir_shader *nir)
{
   const std::vector<nir_function *> all = functions_of(nir);
   std::unordered_map<const nir_function *, unsigned> numbers;
   /* Only functions that are called are searched for calls: unused functions may name others. */
   std::vector<const nir_function *> work = {nir_shader_get_entrypoint(nir)->function};
   while (!work.empty()) {
      const nir_function *function = work.back();
      work.pop_back();
      if (!numbers.emplace(function, 0).second || !function->impl)
         continue;
      nir_foreach_block(block, function->impl) {
         nir_foreach_instr(instr, block) {
            for (const nir_function *callee : callees_of(all, instr))
               work.push_back(callee);
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
   renumber_callees(nir, [&](unsigned number) { return numbers.at(all[number]); });
}

bool may_change_memory(const nir_instr *instr)
{
   if (instr->type == nir_instr_type_call)
      return true;
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
   const nir_intrinsic_info &info = nir_intrinsic_infos[intrinsic->intrinsic];
   if (info.flags & NIR_INTRINSIC_CAN_ELIMINATE)
      return false;
   if (nir_intrinsic_has_callee(intrinsic))
      return true;
   /* The destination is the first source. */
   const nir_deref_instr *written =
      info.num_srcs > 0 ? nir_src_as_deref(intrinsic->src[0]) : nullptr;
   return !written || !nir_deref_mode_must_be(written, nir_var_function_temp);
}

bool has_effects(const nir_function *function)
{
   nir_foreach_block(block, function->impl) {
      nir_foreach_instr(instr, block) {
         const nir_intrinsic_instr *intrinsic =
            instr->type == nir_instr_type_intrinsic ? nir_instr_as_intrinsic(instr) : nullptr;
         const bool is_volatile = intrinsic && nir_intrinsic_has_access(intrinsic) &&
                                  nir_intrinsic_access(intrinsic) & ACCESS_VOLATILE;
         if (is_volatile || may_change_memory(instr))
            return true;
      }
   }
   return false;
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
