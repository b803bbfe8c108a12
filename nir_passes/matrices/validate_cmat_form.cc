// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/validate_cmat_form.h"

#include "nir_passes/matrices/cmat_intrinsics.h"
#include "nir_passes/matrices/cmat_marks.h"

#include "compiler/nir/nir_deref.h"

#include <cstdio>
#include <cstdlib>
#include <optional>

namespace weft {

namespace {

class Validator {
public:
   Validator(nir_shader *nir, CmatStage stage) : impl(nir_shader_get_entrypoint(nir)), stage(stage)
   {
   }

   std::string run()
   {
      nir_foreach_function_temp_variable(variable, impl)
         check_variable(variable);
      nir_foreach_block(block, impl) {
         nir_foreach_instr(instr, block)
            check_instr(instr);
      }
      return breach;
   }

private:
   void require(bool holds, const std::string &otherwise)
   {
      if (!holds && breach.empty())
         breach = otherwise;
   }

   void check_variable(const nir_variable *variable)
   {
      if (!glsl_type_is_cmat(glsl_without_array(variable->type)))
         return;
      const std::string name = variable->name ? variable->name : "a variable";
      require(stage >= CmatStage::scope_lowered || !weft_is_workgroup_matrix(variable),
              name + " is marked as the workgroup's matrix before there is one");
      check_scope(*glsl_get_cmat_description(glsl_without_array(variable->type)), name);
   }

   void check_scope(const glsl_cmat_description &desc, const std::string &name)
   {
      require(stage < CmatStage::scope_lowered || desc.scope == SCOPE_SUBGROUP,
              name + " is a matrix of another scope than the subgroup");
   }

   void check_instr(nir_instr *instr)
   {
      require((stage >= CmatStage::accesses_lowered && stage < CmatStage::calls_expanded) ||
                 !weft_packed_decode_pointer(instr),
              "a decode function's pointer is packed");
      if (instr->type != nir_instr_type_intrinsic)
         return;
      nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
      const std::string name = nir_intrinsic_infos[intrinsic->intrinsic].name;
      if (!name.starts_with("cmat_"))
         return;
      check_matrices(intrinsic, name);
      check_expansion(intrinsic, name);
      if (nir_intrinsic_has_cmat_desc(intrinsic) && !is_whole_access(intrinsic->intrinsic))
         check_scope(nir_intrinsic_cmat_desc(intrinsic), "that of " + name);
      if (nir_intrinsic_has_matrix_layout(intrinsic))
         check_layout(intrinsic, name);
      if (const std::optional<unsigned> source = replaced_matrix(intrinsic->intrinsic))
         require(stage < CmatStage::inserts_lowered || is_same(intrinsic, 0, *source),
                 name + " writes another matrix than it reads");
   }

   /// The source of an operation that replaces components of a matrix.
   static std::optional<unsigned> replaced_matrix(nir_intrinsic_op op)
   {
      if (op == nir_intrinsic_cmat_insert || op == nir_intrinsic_cmat_insert_run_weft)
         return 2;
      return std::nullopt;
   }

   static bool is_same(const nir_intrinsic_instr *instr, unsigned x, unsigned y)
   {
      return nir_compare_derefs(nir_src_as_deref(instr->src[x]), nir_src_as_deref(instr->src[y])) &
             nir_derefs_equal_bit;
   }

   /// Operands that are derefs of matrices.
   void check_matrices(const nir_intrinsic_instr *instr, const std::string &name)
   {
      const unsigned sources = nir_intrinsic_infos[instr->intrinsic].num_srcs;
      bool writes_columns = instr->intrinsic == nir_intrinsic_cmat_insert_columns_weft ||
                            instr->intrinsic == nir_intrinsic_cmat_load_columns_weft;
      for (unsigned i = 0; i < sources; ++i) {
         const nir_deref_instr *deref = nir_src_as_deref(instr->src[i]);
         if (!deref || !glsl_type_is_cmat(deref->type))
            continue;
         const nir_variable *variable = nir_deref_instr_get_variable(deref);
         const bool is_marked = variable && weft_is_workgroup_matrix(variable);
         const bool may_be_marked =
            (i == 0 && (writes_columns || (stage >= CmatStage::split &&
                                           instr->intrinsic == nir_intrinsic_cmat_load))) ||
            (i == 2 && instr->intrinsic == nir_intrinsic_cmat_muladd);
         require(!is_marked || may_be_marked,
                 name + " reads or writes the workgroup's matrix as another operand than B");
         require(i != 0 || !writes_columns || is_marked,
                 name + " writes columns of a matrix that is not the workgroup's");
      }
   }

   void check_layout(const nir_intrinsic_instr *instr, const std::string &name)
   {
      const glsl_matrix_layout layout = nir_intrinsic_matrix_layout(instr);
      require(layout == GLSL_MATRIX_LAYOUT_ROW_MAJOR || layout == GLSL_MATRIX_LAYOUT_COLUMN_MAJOR,
              name + " has no layout");
   }

   /// Operations that a pass has expanded.
   void check_expansion(const nir_intrinsic_instr *instr, const std::string &name)
   {
      if (is_whole_access(instr->intrinsic))
         require(stage < CmatStage::accesses_lowered, name + " is whole");
      else if (nir_intrinsic_has_callee(instr))
         require(stage < CmatStage::calls_expanded, name + " is whole");
   }

   nir_function_impl *impl;
   const CmatStage stage;
   std::string breach; ///< the first
};

} // namespace

std::string find_breach(nir_shader *nir, CmatStage stage)
{
   return Validator(nir, stage).run();
}

void validate_cmat_form([[maybe_unused]] nir_shader *nir, [[maybe_unused]] CmatStage stage)
{
#ifndef NDEBUG
   const std::string breach = find_breach(nir, stage);
   if (breach.empty())
      return;
   fprintf(stderr, "matrices after stage %u: %s\n", unsigned(stage), breach.c_str());
   nir_print_shader(nir, stderr);
   abort();
#endif
}

} // namespace weft
