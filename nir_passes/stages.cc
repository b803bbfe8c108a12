// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/stages.h"

#include "nir_passes/front_end/spirv_words.h"
#include "nir_passes/loops/unroll_matrix_arrays.h"
#include "nir_passes/matrices/cmat_callee.h"
#include "nir_passes/matrices/cmat_intrinsics.h"
#include "nir_passes/matrices/cmat_marks.h"
#include "nir_passes/matrices/copies/lower_cmat_inserts.h"
#include "nir_passes/matrices/copies/opt_cmat_copies.h"
#include "nir_passes/matrices/copies/opt_cmat_slices.h"
#include "nir_passes/matrices/copies/split_cmat_structs.h"
#include "nir_passes/matrices/lowering/lower_cmat.h"
#include "nir_passes/matrices/lowering/lower_cmat_layouts.h"
#include "nir_passes/matrices/lowering/lower_cmat_per_element.h"
#include "nir_passes/matrices/lowering/lower_cmat_reduce.h"
#include "nir_passes/matrices/lowering/lower_decode_pointers.h"
#include "nir_passes/matrices/shapes/assign_cmat_uses.h"
#include "nir_passes/matrices/shapes/lower_cmat_scope.h"
#include "nir_passes/matrices/shapes/opt_cmat_load_columns.h"
#include "nir_passes/matrices/shapes/plan_cmat_form.h"
#include "nir_passes/matrices/shapes/split_cmat_shapes.h"
#include "nir_passes/matrices/tensors/lower_cmat_tensor_access.h"
#include "nir_passes/matrices/tensors/opt_cmat_tensor_access.h"
#include "nir_passes/matrices/validate_cmat_form.h"
#include "nir_passes/memory/lower_array_copies.h"
#include "nir_passes/memory/opt_array_copies.h"
#include "nir_passes/memory/opt_constant_arrays.h"
#include "nir_passes/memory/opt_copied_arrays.h"
#include "nir_passes/opt_quotient_factors.h"
#include "nir_passes/shader_limits.h"

#include "compiler/spirv/spirv.h"

#include <algorithm>

namespace weft {

namespace {

/// The most rounds of a loop of passes: each round may enable the next one, but pathological
/// shaders gain nothing from more rounds.
constexpr unsigned max_rounds = 16;

/// Leaves an entry point without calls, initializers or unused interface variables, as all later
/// passes assume. Only intrinsics on matrices call the other functions that remain.
void inline_functions(PassRunner &run)
{
   /* Initializers of locals become stores at the beginning of their own function, so this runs
    * before inlining. */
   RUN(run, nir_lower_variable_initializers, nir_var_function_temp);
   RUN(run, lower_cmat_per_element, PerElementOps::of_whole_matrices);
   /* Removes code that specialization constants disable, which would otherwise be copied into every
    * caller. */
   RUN(run, nir_opt_constant_folding);
   RUN(run, nir_opt_dead_cf);
   RUN(run, nir_opt_dce);
   /* The inliner handles a single exit only. */
   RUN(run, nir_lower_returns);
   RUN(run, nir_inline_functions);
   /* Parameters were copies and casts of derefs, which these passes remove. */
   RUN(run, nir_copy_prop);
   RUN(run, nir_opt_deref);
   /* No call of other functions is left. */
   remove_unused_functions(run.nir);
   /* With one entry point, the remaining initializers become stores at its beginning. */
   RUN(run, nir_lower_variable_initializers,
       nir_variable_mode(nir_var_shader_temp | nir_var_function_temp));
   /* Private variables are ordinary locals from here on. */
   RUN(run, nir_lower_global_vars_to_local);
   RUN(run, nir_split_per_member_structs);
   /* Modules declare built-ins and resources that they do not use. */
   RUN(run, nir_remove_dead_variables,
       nir_variable_mode(nir_var_shader_in | nir_var_system_value | nir_var_shader_temp |
                         nir_var_uniform | nir_var_image),
       static_cast<const nir_remove_dead_variables_options *>(nullptr));
   RUN(run, nir_propagate_invariant, false);
}

bool has_constant_length(std::span<const uint32_t> spirv)
{
   for (const auto &[opcode, operands] : Instructions(spirv)) {
      /* SPIR-V 2.4: functions come last. */
      if (opcode == SpvOpFunction)
         return false;
      if (opcode == SpvOpSpecConstantOp && operands.size() > 2 &&
          operands[2] == SpvOpCooperativeMatrixLengthKHR)
         return true;
   }
   return false;
}

/// Handles large private arrays before they are split: their elements are thousands of
/// instructions, which every later pass would visit.
void shrink_arrays(PassRunner &run)
{
   RUN(run, opt_constant_arrays);
   if (!RUN(run, opt_array_copies))
      return;
   /* Often the copy is only read. */
   RUN(run, opt_copied_arrays);
   RUN(run, nir_opt_dce);
   RUN(run, nir_remove_dead_variables, nir_var_function_temp,
       static_cast<const nir_remove_dead_variables_options *>(nullptr));
   RUN(run, lower_array_copies);
}

} // namespace

Target target_for(const ShaderSource &source, Target target)
{
   if (has_constant_length(source.spirv)) {
      target.form = MatrixForm::registers;
      target.keeps_scope_whole = true;
   }
   return target;
}

Result<Shader> read_shader(const ShaderSource &source, Consumer consumer, uint32_t subgroup_size,
                           const PassObserver &observe, PassControl *control, MatrixForm form)
{
   Result<Shader> shader = spirv_to_nir(source, consumer, subgroup_size, form);
   if (!shader)
      return shader;
   if (observe)
      observe("spirv_to_nir", shader->get());
   /* Before passes enlarge the shader. */
   if (const Result<bool> limits = check_module_limits(shader->get()); !limits)
      return limits.error();
   PassRunner run(shader->get(), observe, control);
   inline_functions(run);
   shrink_arrays(run);
   return shader;
}

namespace {

/// Divides matrices of workgroup scope among subgroups.
void lower_scope(PassRunner &run, const CmatUses &uses, const Target &target)
{
   const ScopeOptions options = {.subgroup_size = target.subgroup_size,
                                 .staging_bytes = target.staging_bytes,
                                 .cuts_b = target.cuts_b,
                                 .has_workgroup_matrices = target.form == MatrixForm::private_tiles,
                                 .keeps_whole = target.keeps_scope_whole};
   const Result<std::optional<ScopePlan>> plan = plan_cmat_scope(run.nir, uses, options);
   if (!plan)
      run.refuse(plan.error());
   if (!plan || !*plan)
      return;
   run.show_plan("plan_cmat_scope", [&] { return describe(**plan, uses.matrices); });
   RUN(run, lower_cmat_scope, **plan, target.robust_access);
   /* The lowering moved the columns' loads to their subgroup's part. */
   RUN(run, opt_cmat_load_columns);
}

/// Expands the operations that call functions, and inlines and removes these functions.
void expand_calls(PassRunner &run, const Target &target, MatrixForm form)
{
   if (exec_list_is_singular(&run.nir->functions))
      return;
   RUN(run, lower_cmat_reduce, target.subgroup_size, form);
   RUN(run, lower_cmat_per_element, PerElementOps::all);
   RUN(run, nir_inline_functions);
   RUN(run, nir_copy_prop);
   RUN(run, nir_opt_deref);
   remove_unused_functions(run.nir);
   /* Variables that only such a function and the entry point shared. */
   RUN(run, nir_lower_global_vars_to_local);
   /* Tables of these functions. */
   shrink_arrays(run);
   RUN(run, nir_lower_vars_to_ssa);
   RUN(run, nir_copy_prop);
   RUN(run, nir_opt_constant_folding);
   /* Code that specialization constants disable may use a decode function's pointer in ways that
    * cannot be lowered. */
   RUN(run, nir_opt_dead_cf);
   RUN(run, nir_opt_dce);
   RUN(run, lower_decode_pointers);
}

/// Arrays of matrices in registers cannot be indexed.
void unroll_arrays(PassRunner &run)
{
   RUN(run, unroll_matrix_arrays);
   for (unsigned round = 0; round < max_rounds; ++round) {
      const uint64_t before = run.changes;
      REPEAT(run, nir_opt_loop);
      REPEAT(run, nir_opt_if, nir_opt_if_optimize_phi_true_false);
      REPEAT(run, nir_opt_dead_cf);
      REPEAT(run, nir_opt_remove_phis);
      REPEAT(run, nir_copy_prop);
      REPEAT(run, nir_opt_constant_folding);
      REPEAT(run, nir_opt_dce);
      REPEAT(run, nir_opt_loop_unroll);
      if (run.changes == before)
         break;
   }
   RUN(run, opt_cmat_copies);
}

} // namespace

void lower_matrices(PassRunner &run, const Target &target)
{
   const auto validate = [&](CmatStage stage) {
      if (!run.refused())
         validate_cmat_form(run.nir, stage);
   };
   /* A shader's decorations of private variables must not pass for marks. */
   RUN(run, weft_clear_decorations);
   validate(CmatStage::front_end);
   /* Other passes do not separate a struct's matrices from its other members. */
   RUN(run, split_cmat_structs);
   /* Indices into arrays of matrices become values that opt_cmat_copies can compare. None of these
    * passes changes matrices. */
   RUN(run, nir_lower_vars_to_ssa);
   RUN(run, nir_copy_prop);
   RUN(run, nir_opt_constant_folding);
   RUN(run, nir_opt_cse);
   RUN(run, nir_opt_dead_cf);
   RUN(run, nir_opt_dce);
   RUN(run, assign_cmat_uses, target.form);
   /* Now that most numbers of tensors are constants. */
   const WholeOptions whole = {.is_aligned = target.form != MatrixForm::private_tiles,
                               .robust_access = target.robust_access};
   RUN(run, opt_cmat_tensor_access, whole);
   /* While a copy is one instruction. */
   RUN(run, opt_cmat_copies);
   if (run.refused())
      return;
   const Result<CmatUses> program_uses = gather_cmat_uses(run.nir);
   if (!program_uses)
      return run.refuse(program_uses.error());
   /* Later passes support only matrices of subgroup scope. */
   lower_scope(run, *program_uses, target);
   validate(CmatStage::scope_lowered);
   /* After the passes that need to know only which matrices an access reads and writes. The choices
    * that constants decide are made before the matrices' form is chosen. */
   RUN(run, lower_cmat_layouts, target.robust_access);
   if (RUN(run, lower_cmat_tensor_access, whole)) {
      RUN(run, nir_opt_constant_folding);
      RUN(run, nir_opt_dead_cf);
      RUN(run, nir_opt_dce);
   }
   validate(CmatStage::accesses_lowered);
   /* After most copies are gone; later passes require that an insertion reads and writes the same
    * matrix. */
   RUN(run, lower_cmat_inserts);
   validate(CmatStage::inserts_lowered);

   if (run.refused())
      return;
   const Result<CmatUses> uses = gather_cmat_uses(run.nir);
   const Result<FormPlan> plan = uses ? plan_cmat_form(*uses, target) : uses.error();
   if (!plan)
      return run.refuse(plan.error());
   run.show_plan("plan_cmat_form", [&] { return describe(*plan); });
   /* While matrices are whole, and their form is known. */
   expand_calls(run, target, plan->form);
   validate(CmatStage::calls_expanded);
   if (plan->split) {
      const SplitOptions options = {*plan->split, plan->form, target.subgroup_size,
                                    target.robust_access};
      RUN(run, split_cmat_shapes, options);
      validate(CmatStage::split);
   }
   const bool for_cpu = target.form == MatrixForm::private_tiles;
   if (plan->form == MatrixForm::registers && !for_cpu) {
      unroll_arrays(run);
      RUN(run, opt_cmat_slices, target.subgroup_size);
      validate(CmatStage::calls_expanded);
   }
   /* While pointers are derefs, whose types give the unit of strides. */
   RUN(run, lower_cmat, target, plan->form);
}

namespace {

bool uses_tiles(nir_shader *nir)
{
   nir_foreach_block(block, nir_shader_get_entrypoint(nir)) {
      if (uses_tile(block))
         return true;
   }
   return false;
}

/// Whether the shader accesses anything by derefs.
bool has_derefs(nir_shader *nir)
{
   nir_foreach_block(block, nir_shader_get_entrypoint(nir)) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_deref)
            return true;
      }
   }
   return false;
}

} // namespace

void optimize(PassRunner &run, bool unroll_tiles)
{
   /* Later passes create no derefs if there are none. */
   const bool derefs = has_derefs(run.nir), tiles = uses_tiles(run.nir);
   /* These passes follow values through variables; they ignore writes by tile operations. */
   const bool variables = derefs && !tiles;
   const bool unroll = !tiles || unroll_tiles;
   for (unsigned round = 0; round < max_rounds; ++round) {
      const uint64_t before = run.changes;
      if (variables) {
         REPEAT(run, nir_split_array_vars, nir_var_function_temp);
         REPEAT(run, nir_shrink_vec_array_vars, nir_var_function_temp);
      }
      if (derefs) {
         REPEAT(run, nir_opt_deref);
         REPEAT(run, nir_lower_vars_to_ssa);
      }
      if (variables) {
         REPEAT(run, nir_opt_copy_prop_vars);
         REPEAT(run, nir_opt_dead_write_vars);
      }
      REPEAT(run, nir_copy_prop);
      REPEAT(run, nir_opt_dce);
      /* Splitting arrays leaves thousands of unused variables, which the validator visits after
       * every pass. */
      REPEAT(run, nir_remove_dead_variables, nir_var_function_temp, nullptr);
      REPEAT(run, nir_opt_cse);
      REPEAT(run, nir_lower_alu_to_scalar, nullptr, nullptr);
      REPEAT(run, nir_lower_phis_to_scalar, true);
      REPEAT(run, nir_opt_algebraic);
      REPEAT(run, nir_opt_constant_folding);
      REPEAT(run, nir_opt_remove_phis);
      /* Executes both sides of small branches: a select is cheaper than masks. */
      REPEAT(run, nir_opt_peephole_select, 8, true, true);
      if (REPEAT(run, nir_opt_loop)) {
         /* nir_opt_if and unrolling need its result cleaned up. */
         REPEAT(run, nir_copy_prop);
         REPEAT(run, nir_opt_dce);
         REPEAT(run, nir_opt_remove_phis);
      }
      REPEAT(run, nir_opt_if, nir_opt_if_optimize_phi_true_false);
      REPEAT(run, nir_opt_dead_cf);
      REPEAT(run, nir_opt_remove_phis);
      REPEAT(run, nir_opt_undef);
      if (unroll)
         REPEAT(run, nir_opt_loop_unroll);
      if (run.changes == before)
         return;
   }
}

void optimize_late(PassRunner &run)
{
   RUN(run, opt_quotient_factors);
   for (unsigned round = 0; round < max_rounds; ++round) {
      if (!REPEAT(run, nir_opt_algebraic_late))
         break;
      REPEAT(run, nir_opt_constant_folding);
      REPEAT(run, nir_copy_prop);
      REPEAT(run, nir_opt_dce);
      REPEAT(run, nir_opt_cse);
   }
   RUN(run, nir_lower_alu_to_scalar, nullptr, nullptr);
   RUN(run, nir_lower_load_const_to_scalar);
   RUN(run, nir_copy_prop);
   RUN(run, nir_opt_cse);
   RUN(run, nir_opt_dce);
}

} // namespace weft
